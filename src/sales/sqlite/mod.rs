//! Sales in a SQLite file.

use tokio::sync::Mutex;

use super::answer::{Customers, Failure, Registrations, Sales as Found, Summary};
use super::arguments::{GetCustomers, GetSales, ListRegistrations, Range, SummarizeSales};
use super::search::{SEARCH_FORM, search_form};
use super::store::{Rules, no_access};
use crate::domain::Person;
use crate::records::SqliteRecords;
use crate::staff::{self, Staff};

mod commit;
mod reads;

/// The file, and what a company decides about writes.
pub(super) struct Sales {
    pub records: SqliteRecords,
    rules: Rules,
    /// Writes wait here rather than for the store's only writing connection, where waiting ends in an error. Correctness
    /// does not hang on it: other processes write too.
    turn: Mutex<()>,
}

impl Sales {
    pub(super) async fn new(records: SqliteRecords, rules: Rules) -> Result<Self, sqlx::Error> {
        keep_search_forms(&records).await?;
        Ok(Self { records, rules, turn: Mutex::default() })
    }

    pub(super) async fn get_customers(&self, person: &Person, args: &GetCustomers) -> Result<Customers, Failure> {
        let mut db = self.records.read().acquire().await?;
        let staff = member(&mut db, person).await?;
        reads::get_customers(&mut *db, &staff, args).await
    }

    pub(super) async fn get_sales(&self, person: &Person, args: &GetSales, range: Range) -> Result<Found, Failure> {
        let mut db = self.records.read().acquire().await?;
        let staff = member(&mut db, person).await?;
        reads::get_sales(&mut db, &staff, args, range).await
    }

    pub(super) async fn list_registrations(
        &self,
        person: &Person,
        args: &ListRegistrations,
        range: Range,
    ) -> Result<Registrations, Failure> {
        let mut db = self.records.read().acquire().await?;
        let staff = member(&mut db, person).await?;
        reads::list_registrations(&mut db, &staff, args, range).await
    }

    pub(super) async fn summarize_sales(
        &self,
        person: &Person,
        args: &SummarizeSales,
        range: Range,
    ) -> Result<Summary, Failure> {
        let mut db = self.records.read().acquire().await?;
        let staff = member(&mut db, person).await?;
        reads::summarize_sales(&mut db, &staff, args, range).await
    }
}

/// Writes the search form of each name anew when it was written by a program with another idea of it.
async fn keep_search_forms(records: &SqliteRecords) -> Result<(), sqlx::Error> {
    let version = SEARCH_FORM.to_string();
    let stored = "SELECT value FROM facts WHERE name = 'search_form'";
    let stored: Option<String> = sqlx::query_scalar(stored).fetch_optional(records.read()).await?;
    if stored.as_ref() == Some(&version) {
        return Ok(());
    }
    let mut tx = records.begin_durable().await?;
    let names: Vec<(String, String)> =
        sqlx::query_as("SELECT code_customer, name_customer FROM customers").fetch_all(&mut *tx).await?;
    for (code, name) in names {
        sqlx::query("UPDATE customers SET name_search = $2 WHERE code_customer = $1")
            .bind(code)
            .bind(search_form(&name))
            .execute(&mut *tx)
            .await?;
    }
    sqlx::query(
        "INSERT INTO facts (name, value) VALUES ('search_form', $1)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    )
    .bind(version)
    .execute(&mut *tx)
    .await?;
    tx.commit().await
}

/// The caller's record, if it gives any right at this moment.
async fn member(db: &mut sqlx::SqliteConnection, person: &Person) -> Result<Staff, Failure> {
    staff::find(db, person).await?.filter(|staff| staff.active).ok_or_else(no_access)
}
