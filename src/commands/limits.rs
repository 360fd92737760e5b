//! `limits`: above which amount a sale needs a manager.
//!
//! The sales server looks at each write, so a change counts for the next press. Each change is a row of the audit.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Subcommand;
use serde_json::json;

use crate::app::{DataDir, open_records};
use crate::commands::Failure;
use crate::config::Config;
use crate::records::postgres::Group;
use crate::records::{self, Records, Tx};

/// Stands for all departments that have no limit of their own.
const OTHERS: &str = "*";
/// The largest price there is; a limit of that much is none.
const MAX_YEN: i64 = 999_999_999_999;
/// Two that change limits at once follow each other, so that each row of the audit tells what was before.
const LOCK: &str = "limits";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Let a sale above this amount need a manager of the department, other than the person who asks for it
    Set {
        /// The department, or `*` for all that have no limit of their own
        #[arg(long)]
        department: String,
        /// Whole yen; a sale of exactly this much needs no manager
        #[arg(long, value_parser = clap::value_parser!(i64).range(0..=MAX_YEN))]
        yen: i64,
    },
    /// Show all limits
    List {
        /// One JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Take a department's limit away; that of `*`, if there is one, counts for it then
    Remove {
        /// The department, or `*`
        #[arg(long)]
        department: String,
    },
}

/// Changes or shows the limits.
///
/// # Errors
/// When the records cannot be used, or there is no such limit.
pub async fn run(config: Config, data_dir: PathBuf, action: Action) -> Result<(), Failure> {
    let dir = DataDir::open(&data_dir).map_err(Failure::Usage)?;
    let records = open_records(&config, &dir, Group::Owner).await.map_err(Failure::Unreachable)?;
    let done = carry_out(&records, action).await;
    records.close().await;
    done
}

async fn carry_out(records: &Records, action: Action) -> Result<(), Failure> {
    let failed = |error: sqlx::Error| Failure::Running(anyhow::Error::new(error).context("the records do not answer"));
    match action {
        Action::Set { department, yen } => {
            let department = department.trim();
            if department.is_empty() {
                return Err(Failure::Usage(anyhow!("--department is empty; name one, or * for all others")));
            }
            let mut tx = records.begin_durable().await.map_err(failed)?;
            let known = set(&mut tx, department, yen).await.map_err(failed)?;
            tx.commit().await.map_err(failed)?;
            say!("{}: a sale above {yen} yen needs a manager", named(department));
            if !known {
                eprintln!(
                    "no customer is of the department {department} so far; is it written as in the customers' records?"
                );
            }
        }
        Action::Remove { department } => {
            let department = department.trim();
            let mut tx = records.begin_durable().await.map_err(failed)?;
            let found = remove(&mut tx, department).await.map_err(failed)?;
            tx.commit().await.map_err(failed)?;
            if !found {
                return Err(Failure::Usage(anyhow!("{} has no limit; see `limits list`", named(department))));
            }
            say!("{} has no limit of its own any more", named(department));
        }
        Action::List { json } => {
            let rows = records::query("SELECT department, limit_yen FROM amount_limits ORDER BY department");
            for row in rows.fetch_all(records.read()).await.map_err(failed)? {
                let department: String = row.try_get("department").map_err(failed)?;
                let yen: i64 = row.try_get("limit_yen").map_err(failed)?;
                if json {
                    say!("{}", json!({ "department": department, "limit_yen": yen }));
                } else {
                    say!("{}  {yen}", named(&department));
                }
            }
        }
    }
    Ok(())
}

fn named(department: &str) -> &str {
    if department == OTHERS { "* (all others)" } else { department }
}

/// Whether the department is one of a customer, or all of them.
async fn set(tx: &mut Tx, department: &str, yen: i64) -> Result<bool, sqlx::Error> {
    records::lock(tx, LOCK).await?;
    let before = limit(tx, department).await?;
    records::query(
        "INSERT INTO amount_limits (department, limit_yen) VALUES ($1, $2)
         ON CONFLICT (department) DO UPDATE SET limit_yen = excluded.limit_yen",
    )
    .bind(department)
    .bind(yen)
    .execute(&mut *tx)
    .await?;
    note(tx, department, before, Some(yen)).await?;
    let known: Option<String> = records::query("SELECT department FROM customers WHERE department = $1 LIMIT 1")
        .bind(department)
        .scalar_optional(&mut *tx)
        .await?;
    Ok(department == OTHERS || known.is_some())
}

/// Whether there was one.
async fn remove(tx: &mut Tx, department: &str) -> Result<bool, sqlx::Error> {
    records::lock(tx, LOCK).await?;
    let Some(before) = limit(tx, department).await? else { return Ok(false) };
    records::query("DELETE FROM amount_limits WHERE department = $1").bind(department).execute(&mut *tx).await?;
    note(tx, department, Some(before), None).await?;
    Ok(true)
}

async fn limit(tx: &mut Tx, department: &str) -> Result<Option<i64>, sqlx::Error> {
    records::query("SELECT limit_yen FROM amount_limits WHERE department = $1")
        .bind(department)
        .scalar_optional(&mut *tx)
        .await
}

/// Whoever may run the command is nobody the records know.
async fn note(tx: &mut Tx, department: &str, before: Option<i64>, now: Option<i64>) -> Result<(), sqlx::Error> {
    let detail = json!({ "department": department, "before": before, "now": now });
    records::query(
        "INSERT INTO audit (at, actor, on_behalf, event, risk, result, detail)
         VALUES (now_ms(), 'limits', 'operator', 'limit_changed', 'high', 'ok', $1)",
    )
    .bind(detail.to_string())
    .execute(&mut *tx)
    .await?;
    Ok(())
}
