//! The two writes. Each is one durable transaction that begins by taking the write lock, so what it checks is still
//! true when it commits.
//!
//! What must hold before a row is written: the claimed proposal exists, was decided by the approver the token names,
//! belongs to the requester, and its digest equals the token's and the one computed here from the call's arguments and
//! the customer's name and department as they are stored now. The person's rights are read inside the transaction.
//!
//! The same approval again gives the first row back. That question comes before every other one, rights included: a
//! person revoked between the commit and the repeat must not turn a sale that exists into a refusal.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use chrono_tz::Tz;
use serde_json::json;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::super::ACTOR;
use super::super::answer::{Cancelled, Failure, Registered, SaleRow};
use super::super::store::{
    Cancellation, NewSale, above_limit, cancelled_already, may_not_write, mismatch, not_approved, not_own_sale,
    too_late_to_cancel, unknown_sale,
};
use super::Sales;
use super::reads::{customer, sale_row};
use crate::audit::{self, Entry};
use crate::domain::{ProposalState, Risk, Role, Write, Yen};
use crate::records;
use crate::staff::{self, Staff};
use crate::tokens::{Approval, digest};

macro_rules! sale_where {
    ($condition:literal) => {
        concat!(
            "SELECT s.code_sales, s.code_customer, c.name_customer, c.department, s.sales_date, s.products, s.price,
                    s.registered_by, s.registered_at, s.digest, s.cancelled_at IS NOT NULL AS cancelled,
                    s.cancel_reason, s.cancel_digest,
                    (SELECT p.display_name FROM staff p WHERE 'slack:' || p.team || ':' || p.user = s.registered_by)
                        AS registered_by_name
             FROM sales s JOIN customers c USING (code_customer) WHERE ",
            $condition
        )
    };
}

async fn sale(
    db: &mut SqliteConnection,
    sql: &'static str,
    key: &str,
) -> Result<Option<(SqliteRow, SaleRow)>, sqlx::Error> {
    let Some(row) = sqlx::query(sql).bind(key).fetch_optional(db).await? else { return Ok(None) };
    let sale = sale_row(&row)?;
    Ok(Some((row, sale)))
}

impl Sales {
    /// Registers an approved sale, or gives back what this approval registered before.
    pub(in crate::sales) async fn add_sale(&self, approval: &Approval, new: &NewSale) -> Result<Registered, Failure> {
        let _turn = self.turn.lock().await;
        // A repeat is answered from a read: it needs neither the write lock nor a sync.
        if let Some(first) = registered_before(&mut *self.records.read().acquire().await?, approval, new).await? {
            return Ok(first);
        }
        let mut tx = self.records.begin_durable().await?;
        if let Some(first) = registered_before(&mut tx, approval, new).await? {
            return Ok(first);
        }
        let done = register(&mut tx, self.rules.zone, approval, new).await?;
        fail::fail_point!("sales::committing");
        tx.commit().await?;
        fail::fail_point!("sales::committed");
        Ok(done)
    }

    /// Cancels a sale by an approved cancellation, or gives back what this approval cancelled before.
    pub(in crate::sales) async fn cancel_sale(
        &self,
        approval: &Approval,
        new: &Cancellation,
    ) -> Result<Cancelled, Failure> {
        let _turn = self.turn.lock().await;
        if let Some(first) = cancelled_before(&mut *self.records.read().acquire().await?, approval, new).await? {
            return Ok(first);
        }
        let mut tx = self.records.begin_durable().await?;
        if let Some(first) = cancelled_before(&mut tx, approval, new).await? {
            return Ok(first);
        }
        let done = cancel(&mut tx, self.rules.undo_window, approval, new).await?;
        tx.commit().await?;
        Ok(done)
    }
}

async fn registered_before(
    db: &mut SqliteConnection,
    approval: &Approval,
    new: &NewSale,
) -> Result<Option<Registered>, Failure> {
    let found = sale(db, sale_where!("s.proposal_id = $1"), approval.proposal.as_str()).await?;
    let Some((row, first)) = found else { return Ok(None) };
    let same = row.try_get::<String, _>("digest")? == approval.digest
        && first.code_customer == new.code_customer
        && first.products == new.products
        && first.price == new.price
        && new.date.is_none_or(|date| date.to_string() == first.date_sales);
    if same { Ok(Some(registered(first, true))) } else { Err(mismatch()) }
}

async fn register(
    tx: &mut SqliteConnection,
    zone: Tz,
    approval: &Approval,
    new: &NewSale,
) -> Result<Registered, Failure> {
    claimed(tx, approval, "add_sale").await?;
    let staff = writer(tx, approval).await?;
    let now_ms = records::now_ms(&mut *tx).await?;
    let now = DateTime::<Utc>::from_timestamp_millis(now_ms).unwrap_or_default().with_timezone(&zone);
    let customer = customer(&mut *tx, &staff, &new.code_customer).await?;
    let date = new.date.unwrap_or_else(|| now.date_naive());
    let write = Write::AddSale {
        code_customer: new.code_customer.clone(),
        name_customer: customer.name.clone(),
        department: customer.department.clone(),
        products: new.products.clone(),
        price: Yen(new.price),
        date_sales: date,
    };
    if digest(&write) != approval.digest {
        return Err(mismatch());
    }
    if !may_approve(tx, approval, &customer.department, new.price).await? {
        return Err(above_limit());
    }
    let code_sales = insert(tx, approval, new, date, now_ms, now).await?;
    audit::append(
        &mut *tx,
        Entry {
            actor: ACTOR,
            on_behalf: &approval.requester,
            event: "sale_registered",
            tool: Some("add_sale"),
            risk: Risk::of("add_sale"),
            proposal: Some(&approval.proposal),
            detail: json!({ "code_sales": code_sales, "digest": approval.digest, "approver": approval.approver.subject() }),
        },
    )
    .await?;
    let row = SaleRow {
        code_sales,
        code_customer: new.code_customer.clone(),
        name_customer: customer.name,
        department: customer.department,
        date_sales: date.to_string(),
        products: new.products.clone(),
        price: new.price,
        registered_by: approval.requester.subject(),
        registered_by_name: Some(staff.display_name),
        cancelled: false,
    };
    Ok(registered(row, false))
}

fn registered(row: SaleRow, repeated: bool) -> Registered {
    Registered { departments: vec![row.department.clone()], sales_registered: row, repeated }
}

/// Two sales of one second differ in four random letters; where even those meet, the primary key says so and other
/// letters are tried.
async fn insert(
    tx: &mut SqliteConnection,
    approval: &Approval,
    new: &NewSale,
    date: NaiveDate,
    now_ms: i64,
    now: DateTime<Tz>,
) -> Result<String, Failure> {
    loop {
        let code_sales = format!("S{}-{}", now.format("%Y%m%d%H%M%S"), suffix()?);
        let inserted = sqlx::query(
            "INSERT INTO sales (code_sales, code_customer, sales_date, products, price, registered_by, origin,
                                proposal_id, digest, registered_at)
             VALUES ($1, $2, $3, $4, $5, $6, 'approval', $7, $8, $9) ON CONFLICT (code_sales) DO NOTHING",
        )
        .bind(&code_sales)
        .bind(&new.code_customer)
        .bind(date)
        .bind(&new.products)
        .bind(new.price)
        .bind(approval.requester.subject())
        .bind(approval.proposal.as_str())
        .bind(&approval.digest)
        .bind(now_ms)
        .execute(&mut *tx)
        .await?;
        if inserted.rows_affected() == 1 {
            return Ok(code_sales);
        }
    }
}

/// Four letters of Crockford's alphabet, which has none that a person could mistake for another.
fn suffix() -> Result<String, sqlx::Error> {
    const LETTERS: [char; 32] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'J', 'K', 'M', 'N',
        'P', 'Q', 'R', 'S', 'T', 'V', 'W', 'X', 'Y', 'Z',
    ];
    let mut bytes = [0_u8; 4];
    getrandom::fill(&mut bytes).map_err(|e| sqlx::Error::Io(std::io::Error::other(e)))?;
    Ok(bytes.iter().filter_map(|b| LETTERS.get(usize::from(b % 32))).collect())
}

async fn cancelled_before(
    db: &mut SqliteConnection,
    approval: &Approval,
    new: &Cancellation,
) -> Result<Option<Cancelled>, Failure> {
    let found = sale(db, sale_where!("s.cancel_proposal = $1"), approval.proposal.as_str()).await?;
    let Some((row, first)) = found else { return Ok(None) };
    let same = row.try_get::<String, _>("cancel_digest")? == approval.digest
        && first.code_sales == new.code_sales
        && row.try_get::<String, _>("cancel_reason")? == new.reason;
    if same { Ok(Some(cancelled(first, true))) } else { Err(mismatch()) }
}

async fn cancel(
    tx: &mut SqliteConnection,
    undo_window: TimeDelta,
    approval: &Approval,
    new: &Cancellation,
) -> Result<Cancelled, Failure> {
    claimed(tx, approval, "cancel_sale").await?;
    let staff = writer(tx, approval).await?;
    if approval.approver != approval.requester {
        return Err(may_not_write());
    }
    let now_ms = records::now_ms(&mut *tx).await?;
    let found = sale(tx, sale_where!("s.code_sales = $1"), &new.code_sales).await?;
    let Some((row, mut sale)) = found.filter(|(_, sale)| staff.sees(&sale.department)) else {
        return Err(unknown_sale());
    };
    if staff.role < Role::Manager {
        let age = TimeDelta::milliseconds(now_ms.saturating_sub(row.try_get("registered_at")?));
        if sale.registered_by != approval.requester.subject() {
            return Err(not_own_sale());
        }
        if age > undo_window {
            return Err(too_late_to_cancel());
        }
    }
    if sale.cancelled {
        return Err(cancelled_already());
    }
    let date_sales =
        NaiveDate::parse_from_str(&sale.date_sales, "%Y-%m-%d").map_err(|e| sqlx::Error::Decode(e.into()))?;
    let write = Write::CancelSale {
        code_sales: sale.code_sales.clone(),
        code_customer: sale.code_customer.clone(),
        name_customer: sale.name_customer.clone(),
        department: sale.department.clone(),
        products: sale.products.clone(),
        price: Yen(sale.price),
        date_sales,
        reason: new.reason.clone(),
    };
    if digest(&write) != approval.digest {
        return Err(mismatch());
    }
    sqlx::query(
        "UPDATE sales SET cancelled_at = $2, cancelled_by = $3, cancel_reason = $4, cancel_proposal = $5,
                cancel_digest = $6
         WHERE code_sales = $1 AND cancelled_at IS NULL",
    )
    .bind(&sale.code_sales)
    .bind(now_ms)
    .bind(approval.requester.subject())
    .bind(&new.reason)
    .bind(approval.proposal.as_str())
    .bind(&approval.digest)
    .execute(&mut *tx)
    .await?;
    audit::append(
        &mut *tx,
        Entry {
            actor: ACTOR,
            on_behalf: &approval.requester,
            event: "sale_cancelled",
            tool: Some("cancel_sale"),
            risk: Risk::of("cancel_sale"),
            proposal: Some(&approval.proposal),
            detail: json!({
                "code_sales": sale.code_sales,
                "digest": approval.digest,
                "approver": approval.approver.subject(),
            }),
        },
    )
    .await?;
    sale.cancelled = true;
    Ok(cancelled(sale, false))
}

fn cancelled(row: SaleRow, repeated: bool) -> Cancelled {
    Cancelled { departments: vec![row.department.clone()], sale_cancelled: row, repeated }
}

/// The proposal as the bot's own claim left it: decided by the approver, for the requester, this tool, this digest.
async fn claimed(tx: &mut SqliteConnection, approval: &Approval, tool: &str) -> Result<(), Failure> {
    let row = sqlx::query(
        "SELECT tool, digest, state, requester_team, requester_user, decided_team, decided_user
         FROM proposals WHERE id = $1",
    )
    .bind(approval.proposal.as_str())
    .fetch_optional(tx)
    .await?
    .ok_or_else(not_approved)?;
    let text = |column: &str| row.try_get::<Option<String>, _>(column);
    let is = |column: &str, expected: &str| Ok::<_, sqlx::Error>(text(column)?.as_deref() == Some(expected));
    let approved = is("state", ProposalState::Claimed.code())?
        && is("tool", tool)?
        && is("requester_team", approval.requester.team.as_str())?
        && is("requester_user", approval.requester.user.as_str())?
        && is("decided_team", approval.approver.team.as_str())?
        && is("decided_user", approval.approver.user.as_str())?;
    if !approved {
        return Err(not_approved());
    }
    if is("digest", &approval.digest)? { Ok(()) } else { Err(mismatch()) }
}

/// The requester's record, if they may write at all right now.
async fn writer(tx: &mut SqliteConnection, approval: &Approval) -> Result<Staff, Failure> {
    let staff = staff::find(tx, &approval.requester).await?;
    staff.filter(|staff| staff.active && staff.role >= Role::Sales).ok_or_else(may_not_write)
}

/// Up to the department's limit the requester alone approves, above it a manager of the department other than the
/// requester.
async fn may_approve(
    tx: &mut SqliteConnection,
    approval: &Approval,
    department: &str,
    price: i64,
) -> Result<bool, sqlx::Error> {
    let limit: Option<i64> = sqlx::query_scalar(
        "SELECT limit_yen FROM amount_limits WHERE department IN ($1, '*') ORDER BY department = '*' LIMIT 1",
    )
    .bind(department)
    .fetch_optional(&mut *tx)
    .await?;
    if limit.is_none_or(|limit| price <= limit) {
        return Ok(approval.approver == approval.requester);
    }
    let approver = staff::find(tx, &approval.approver).await?;
    Ok(approval.approver != approval.requester
        && approver.is_some_and(|staff| staff.role >= Role::Manager && staff.sees(department)))
}
