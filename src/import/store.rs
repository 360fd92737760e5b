//! Rows meet the records: new, changed, unchanged, or refused because the records have something else under the key.
//!
//! Everything happens in one transaction that only [`Store::commit`] makes real.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;

use super::Kind;
use super::rows::{Known, Rows, Sale, StaffRow};
use super::{postgres, sqlite};
use crate::records::{self, Records, Tx};
use crate::staff::{self, Staff};

/// What became of some rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Put {
    pub inserted: u64,
    pub updated: u64,
    pub unchanged: u64,
    pub refused: Vec<Refused>,
}

/// A row that the records refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub line: u64,
    pub key: String,
    pub reason: &'static str,
}

/// A sale that the records have under the code of a row.
pub(super) struct Existing {
    pub customer: String,
    pub date: String,
    pub products: String,
    pub price: i64,
    /// This run wrote it.
    pub from_here: bool,
}

/// A customer that the records have.
#[derive(PartialEq, Eq)]
pub(super) struct StoredCustomer {
    pub name: String,
    pub address: String,
    pub phone: String,
    pub department: String,
}

/// The transaction of a run.
pub(super) struct Store {
    tx: Tx,
    dry_run: bool,
    /// When the run began, by the database clock: the mark its sales share.
    began: i64,
    /// On SQLite: the last row of the sales before this run.
    last_row: i64,
    /// On PostgreSQL: what is paid at the end where there were no sales.
    first_load: Option<postgres::FirstLoad>,
}

impl Store {
    pub async fn begin(records: &Records, kind: Kind, dry_run: bool) -> Result<Self, sqlx::Error> {
        let mut tx = records.begin_durable().await?;
        let (last_row, first_load) = match &mut tx {
            Tx::Sqlite(tx) => (sqlite::last_row(tx).await?, None),
            Tx::Postgres(tx) => (0, postgres::prepare(tx, kind, dry_run).await?),
        };
        let began = records::now_ms(&mut tx).await?;
        Ok(Self { tx, dry_run, began, last_row, first_load })
    }

    /// What the lines of a file of `kind` are checked against.
    pub async fn known(&mut self, kind: Kind) -> Result<Known, sqlx::Error> {
        if kind != Kind::Sales {
            return Ok(Known::default());
        }
        let rows = records::query("SELECT code_customer, department FROM customers").fetch_all(&mut self.tx).await?;
        let mut departments: HashMap<String, Arc<str>> = HashMap::new();
        let mut customers = HashMap::with_capacity(rows.len());
        for row in rows {
            let department: String = row.try_get(1)?;
            let department = departments.entry(department).or_insert_with_key(|name| name.as_str().into());
            customers.insert(row.try_get(0)?, Arc::clone(department));
        }
        Ok(Known::new(customers, &staff::list(&mut self.tx).await?))
    }

    pub async fn put(&mut self, rows: Rows) -> Result<Put, sqlx::Error> {
        if rows.is_empty() {
            return Ok(Put::default());
        }
        match rows {
            Rows::Staff(rows) => self.staff(rows).await,
            Rows::Customers(rows) => {
                let codes: Vec<&str> = rows.iter().map(|row| row.code.as_str()).collect();
                let mut stored = match &mut self.tx {
                    Tx::Sqlite(tx) => sqlite::customers(tx, &codes).await?,
                    Tx::Postgres(tx) => postgres::customers(tx, &codes).await?,
                };
                let mut put = Put::default();
                let (mut new, mut changed) = (Vec::new(), Vec::new());
                for row in rows {
                    let old = stored.remove(&row.code);
                    let wanted = StoredCustomer {
                        name: row.name,
                        address: row
                            .address
                            .unwrap_or_else(|| old.as_ref().map(|o| o.address.clone()).unwrap_or_default()),
                        phone: row.phone.unwrap_or_else(|| old.as_ref().map(|o| o.phone.clone()).unwrap_or_default()),
                        department: row.department,
                    };
                    match old {
                        None => new.push((row.code, wanted)),
                        Some(old) if old == wanted => put.unchanged += 1,
                        Some(_) => changed.push((row.code, wanted)),
                    }
                }
                (put.inserted, put.updated) = (new.len() as u64, changed.len() as u64);
                match &mut self.tx {
                    Tx::Sqlite(tx) => {
                        sqlite::insert_customers(tx, &new).await?;
                        sqlite::update_customers(tx, &changed).await?;
                    }
                    Tx::Postgres(_) if self.dry_run => {}
                    Tx::Postgres(tx) => {
                        postgres::insert_customers(tx, &new).await?;
                        postgres::update_customers(tx, &changed).await?;
                    }
                }
                Ok(put)
            }
            Rows::Sales(rows) => self.sales(rows).await,
        }
    }

    async fn sales(&mut self, rows: Vec<Sale>) -> Result<Put, sqlx::Error> {
        let codes: Vec<&str> = rows.iter().map(|row| row.code.as_str()).collect();
        let stored = match &mut self.tx {
            Tx::Sqlite(tx) => sqlite::sales(tx, &codes, self.last_row).await?,
            Tx::Postgres(tx) => postgres::sales(tx, &codes, self.dry_run).await?,
        };
        let mut put = Put::default();
        let rows = if stored.is_empty() {
            rows
        } else {
            let mut new = Vec::with_capacity(rows.len());
            for row in rows {
                match stored.get(&row.code) {
                    None => new.push(row),
                    Some(old) if old.from_here => put.refused.push(Refused {
                        line: row.line,
                        key: row.code,
                        reason: "is further up in this file already; keep one of the two lines",
                    }),
                    Some(old)
                        if old.customer == row.customer
                            && old.date == row.date.to_string()
                            && old.products == row.products
                            && old.price == row.price =>
                    {
                        put.unchanged += 1;
                    }
                    Some(_) => put.refused.push(Refused {
                        line: row.line,
                        key: row.code,
                        reason: "is the number of another sale in the records; give this one a number of its own",
                    }),
                }
            }
            new
        };
        put.inserted = rows.len() as u64;
        if rows.is_empty() {
            return Ok(put);
        }
        match &mut self.tx {
            Tx::Sqlite(tx) => sqlite::insert_sales(tx, &rows, self.began).await?,
            Tx::Postgres(tx) if self.dry_run => postgres::remember_sales(tx, &rows).await?,
            Tx::Postgres(tx) => postgres::insert_sales(tx, &rows, self.began, self.first_load.is_some()).await?,
        }
        Ok(put)
    }

    async fn staff(&mut self, rows: Vec<StaffRow>) -> Result<Put, sqlx::Error> {
        let mut put = Put::default();
        for row in rows {
            let old = staff::find(&mut self.tx, &row.person).await?;
            let display_name = row.display_name.or_else(|| old.as_ref().map(|old| old.display_name.clone()));
            let wanted = Staff {
                display_name: display_name.unwrap_or_else(|| row.person.user.as_str().to_owned()),
                person: row.person,
                role: row.role,
                departments: row.departments,
                active: row.active.unwrap_or_else(|| old.as_ref().is_none_or(|old| old.active)),
            };
            match old {
                Some(old) if old == wanted => {
                    put.unchanged += 1;
                    continue;
                }
                Some(_) => put.updated += 1,
                None => put.inserted += 1,
            }
            staff::put(&mut self.tx, &wanted).await?;
        }
        Ok(put)
    }

    /// Makes the run real, with a row in the trail. `None` at a dry run, which leaves nothing.
    pub async fn commit(mut self, kind: Kind, put: &Put) -> Result<Option<i64>, sqlx::Error> {
        if self.dry_run {
            return Ok(None);
        }
        if let (Some(first), Tx::Postgres(tx)) = (self.first_load.take(), &mut self.tx) {
            first.end(tx).await?;
        }
        let detail = json!({
            "kind": kind.word(), "inserted": put.inserted, "updated": put.updated, "unchanged": put.unchanged,
            "run": self.began,
        });
        records::query(
            "INSERT INTO audit (at, actor, on_behalf, event, risk, detail)
             VALUES (now_ms(), 'import', 'operator', 'imported', 'high', $1)",
        )
        .bind(detail.to_string())
        .execute(&mut self.tx)
        .await?;
        self.tx.commit().await?;
        Ok(Some(self.began))
    }
}
