//! `staff`: who may use the bot.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::app::{DataDir, open_records};
use crate::audit::{self as trail, Entry};
use crate::commands::{Failure, import};
use crate::config::Config;
use crate::domain::{Person, Risk, Role};
use crate::records::postgres::Group;
use crate::records::{Records, Tx};
use crate::staff::{self, Staff};

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Action {
    #[command(flatten)]
    /// With single records.
    Single(Single),
    /// Load a CSV file, as `import staff` does
    Import {
        /// The file; its first line names the columns
        file: PathBuf,
        /// How it is read
        #[command(flatten)]
        options: import::Options,
    },
}

/// What to do with single records.
#[derive(Debug, Subcommand)]
pub enum Single {
    /// Give a Slack user a role, or change it
    Add {
        /// The Slack workspace, T…
        #[arg(long, value_parser = crate::import::team)]
        team: String,
        /// The Slack user, U…
        #[arg(long, value_parser = crate::import::user)]
        user: String,
        /// viewer, sales, manager or admin
        #[arg(long, value_parser = role)]
        role: Role,
        /// The departments whose customers they see
        #[arg(long, value_delimiter = ',', required = true, value_parser = crate::import::department)]
        department: Vec<String>,
        /// The name on cards [default: the user's id]
        #[arg(long, value_parser = crate::import::display_name)]
        name: Option<String>,
    },
    /// Show everybody
    List {
        /// One JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Take somebody's rights away; what they registered stays
    Remove {
        /// The Slack workspace, T…
        #[arg(long)]
        team: String,
        /// The Slack user, U…
        #[arg(long)]
        user: String,
    },
}

fn role(text: &str) -> Result<Role, String> {
    Role::from_code(text).ok_or_else(|| "one of viewer, sales, manager, admin".to_owned())
}

/// Changes or shows the staff records.
///
/// # Errors
/// When the records cannot be used, or nobody of that name is there.
pub async fn run(config: Config, data_dir: PathBuf, action: Action) -> Result<(), Failure> {
    let action = match action {
        Action::Single(action) => action,
        Action::Import { file, options } => {
            return import::load(config, data_dir, import::What::Staff, file, options).await;
        }
    };
    let dir = DataDir::open(&data_dir).map_err(Failure::Usage)?;
    let records = open_records(&config, &dir, Group::Owner).await.map_err(Failure::Unreachable)?;
    let done = carry_out(&records, action).await;
    records.close().await;
    done
}

/// Who has which rights since when is the first question of an auditor.
async fn audit(tx: &mut Tx, event: &'static str, person: &Person, detail: Value) -> Result<(), sqlx::Error> {
    let entry =
        Entry { actor: "staff", on_behalf: person, event, tool: None, risk: Risk::High, proposal: None, detail };
    trail::append(tx, entry).await
}

async fn carry_out(records: &Records, action: Single) -> Result<(), Failure> {
    let failed = |error: sqlx::Error| Failure::Running(anyhow::Error::new(error).context("the records do not answer"));
    match action {
        Single::Add { team, user, role, department, name } => {
            let record = Staff {
                display_name: name.unwrap_or_else(|| user.clone()),
                person: Person::new(team, user),
                role,
                departments: department,
                active: true,
            };
            let mut tx = records.begin_durable().await.map_err(failed)?;
            staff::put(&mut tx, &record).await.map_err(failed)?;
            let detail = json!({ "role": role, "departments": record.departments });
            audit(&mut tx, "staff_put", &record.person, detail).await.map_err(failed)?;
            tx.commit().await.map_err(failed)?;
            say!("{} is {}", record.person.subject(), role.code());
        }
        Single::Remove { team, user } => {
            let person = Person::new(team, user);
            let mut tx = records.begin_durable().await.map_err(failed)?;
            let found = staff::set_active(&mut tx, &person, false).await.map_err(failed)?;
            if found {
                audit(&mut tx, "staff_removed", &person, json!({})).await.map_err(failed)?;
            }
            tx.commit().await.map_err(failed)?;
            if !found {
                return Err(Failure::Usage(anyhow::anyhow!(
                    "{} has no staff record; see `staff list`",
                    person.subject()
                )));
            }
            say!("{} has no rights any more", person.subject());
        }
        Single::List { json } => {
            for s in staff::list(records.read()).await.map_err(failed)? {
                if json {
                    let line = serde_json::json!({
                        "team": s.person.team, "user": s.person.user, "name": s.display_name,
                        "role": s.role, "departments": s.departments, "active": s.active,
                    });
                    say!("{line}");
                } else {
                    let state = if s.active { "" } else { "  (revoked)" };
                    say!(
                        "{}  {}  {}  {}{state}",
                        s.person.subject(),
                        s.role.code(),
                        s.departments.join(","),
                        s.display_name
                    );
                }
            }
        }
    }
    Ok(())
}
