//! Sales in PostgreSQL. Each operation is one call of a function of the database, which reads the person's rights,
//! applies the rules and answers in the same statement; see migrations/postgres.
//!
//! Reads run as the reader, below row security; writes as the committer, which can call the two commit functions and
//! nothing else, and wait for the disk. No statement is repeated here: after an error nobody knows what a write did,
//! and the same approval may be sent again.

use serde::de::DeserializeOwned;
use sqlx::postgres::{PgPool, PgRow};
use sqlx::types::Json;
use sqlx::{Postgres, Row as _};

use super::answer::{
    Cancelled, Customers, Failure, Period, Registered, Registrations, SaleRow, Sales as Found, Summary,
};
use super::arguments::{DEFAULT_ROWS, GetCustomers, GetSales, ListRegistrations, MAX_ROWS, Range, SummarizeSales};
use super::store::{
    Cancellation, NewSale, Rules, above_limit, cancelled_already, may_not_write, mismatch, no_access, not_approved,
    not_own_sale, too_late_to_cancel, unknown_customer, unknown_sale,
};
use crate::domain::Person;
use crate::records::postgres::{self, Group, Settings, Synced};
use crate::records::{PostgresRecords, within};
use crate::tokens::Approval;

type Statement = sqlx::query::Query<'static, Postgres, sqlx::postgres::PgArguments>;

/// The pools, and what a company decides about writes.
pub(super) struct Sales {
    /// As the reader.
    pub records: PostgresRecords,
    commits: PgPool,
    rules: Rules,
}

/// The status of a write that this call made; a repeat says 200.
const WRITTEN: i32 = 201;

impl Sales {
    pub(super) fn new(records: PostgresRecords, settings: &Settings, rules: Rules) -> Result<Self, sqlx::Error> {
        Ok(Self { records, commits: postgres::pool(settings, Group::Committer, Synced::Yes)?, rules })
    }

    /// Whether the login may act as the committer, and the database answers.
    pub(super) async fn can_write(&self) -> Result<(), sqlx::Error> {
        self.commits.acquire().await.map(drop)
    }

    pub(super) async fn close(&self) {
        self.commits.close().await;
        self.records.quick.close().await;
        self.records.durable.close().await;
    }

    async fn ask<T>(&self, statement: Statement) -> Result<T, Failure>
    where
        T: DeserializeOwned + Send + Unpin + 'static,
    {
        let row = within(&self.records.quick, |db| Box::pin(statement.fetch_one(db))).await?;
        match row.try_get::<Option<&str>, _>("code")? {
            None => Ok(row.try_get::<Json<T>, _>("data")?.0),
            Some("not_allowed") => Err(no_access()),
            Some(code) => Err(refused(code)),
        }
    }

    pub(super) async fn get_customers(&self, person: &Person, args: &GetCustomers) -> Result<Customers, Failure> {
        let statement = sqlx::query("SELECT code, data FROM server_get_customers($1, $2, $3, $4)")
            .bind(person.subject())
            .bind(args.code_customer.clone())
            .bind(args.name_str_customer.clone())
            .bind(i64::from(DEFAULT_ROWS));
        self.ask(statement).await
    }

    pub(super) async fn get_sales(&self, person: &Person, args: &GetSales, range: Range) -> Result<Found, Failure> {
        let statement = sqlx::query("SELECT code, data FROM server_get_sales($1, $2, $3, $4, $5, $6)")
            .bind(person.subject())
            .bind(args.code_customer.clone())
            .bind(args.code_sales.clone())
            .bind(range.begin)
            .bind(range.end)
            .bind(i64::from(args.limit.unwrap_or(DEFAULT_ROWS)));
        Ok(Found { period: Period::of(range), ..self.ask(statement).await? })
    }

    pub(super) async fn list_registrations(
        &self,
        person: &Person,
        args: &ListRegistrations,
        range: Range,
    ) -> Result<Registrations, Failure> {
        let statement = sqlx::query("SELECT code, data FROM server_list_registrations($1, $2, $3, $4, $5, $6, $7)")
            .bind(person.subject())
            .bind(args.registered_by.clone())
            .bind(args.code_sales.clone())
            .bind(range.begin)
            .bind(range.end)
            .bind(args.include_cancelled.unwrap_or(false))
            .bind(i64::from(args.limit.unwrap_or(DEFAULT_ROWS)));
        Ok(Registrations { period: Period::of(range), ..self.ask(statement).await? })
    }

    pub(super) async fn summarize_sales(
        &self,
        person: &Person,
        args: &SummarizeSales,
        range: Range,
    ) -> Result<Summary, Failure> {
        let statement = sqlx::query("SELECT code, data FROM server_summarize_sales($1, $2, $3, $4, $5, $6)")
            .bind(person.subject())
            .bind(range.begin)
            .bind(range.end)
            .bind(args.code_customer.clone())
            .bind(args.group_by.name())
            .bind(i64::from(MAX_ROWS));
        self.ask(statement).await
    }

    pub(super) async fn add_sale(&self, approval: &Approval, new: &NewSale) -> Result<Registered, Failure> {
        fail::fail_point!("sales::committing");
        let statement: Statement = sqlx::query("SELECT * FROM add_sale($1, $2, $3, $4, $5, $6, $7, $8, $9)")
            .bind(approval.proposal.to_string())
            .bind(approval.digest.clone())
            .bind(approval.requester.subject())
            .bind(approval.approver.subject())
            .bind(new.code_customer.clone())
            .bind(new.products.clone())
            .bind(new.price)
            .bind(new.date)
            .bind(self.rules.zone.name());
        let row = within(&self.commits, |db| Box::pin(statement.fetch_one(db))).await?;
        fail::fail_point!("sales::committed");
        let (sale, repeated) = written(&row)?;
        Ok(Registered { departments: vec![sale.department.clone()], sales_registered: sale, repeated })
    }

    pub(super) async fn cancel_sale(&self, approval: &Approval, new: &Cancellation) -> Result<Cancelled, Failure> {
        let statement: Statement = sqlx::query("SELECT * FROM cancel_sale($1, $2, $3, $4, $5, $6, $7)")
            .bind(approval.proposal.to_string())
            .bind(approval.digest.clone())
            .bind(approval.requester.subject())
            .bind(approval.approver.subject())
            .bind(new.code_sales.clone())
            .bind(new.reason.clone())
            .bind(self.rules.undo_window.num_milliseconds());
        let row = within(&self.commits, |db| Box::pin(statement.fetch_one(db))).await?;
        let (sale, repeated) = written(&row)?;
        Ok(Cancelled { departments: vec![sale.department.clone()], sale_cancelled: sale, repeated })
    }
}

/// The sale, and whether the approval had been carried out before.
fn written(row: &PgRow) -> Result<(SaleRow, bool), Failure> {
    match row.try_get::<Option<&str>, _>("code")? {
        Some("not_allowed") => return Err(may_not_write()),
        Some("above_limit") => return Err(above_limit()),
        Some("not_own_sale") => return Err(not_own_sale()),
        Some("undo_window_over") => return Err(too_late_to_cancel()),
        Some(code) => return Err(refused(code)),
        None => {}
    }
    let sale = SaleRow {
        code_sales: row.try_get("code_sales")?,
        code_customer: row.try_get("code_customer")?,
        name_customer: row.try_get("name_customer")?,
        department: row.try_get("department")?,
        date_sales: row.try_get("date_sales")?,
        products: row.try_get("products")?,
        price: row.try_get("price")?,
        registered_by: row.try_get("registered_by")?,
        registered_by_name: row.try_get("registered_by_name")?,
        cancelled: row.try_get("cancelled")?,
    };
    Ok((sale, row.try_get::<i32, _>("status_code")? != WRITTEN))
}

/// A refusal in the words of both engines.
fn refused(code: &str) -> Failure {
    match code {
        "customer_not_found" => unknown_customer(),
        "sale_not_found" => unknown_sale(),
        "already_cancelled" => cancelled_already(),
        "approval_mismatch" => mismatch(),
        "approval_invalid" => not_approved(),
        other => Failure::Store(sqlx::Error::Decode(format!("the database refused with {other:?}").into())),
    }
}
