//! Rows meet the records: new, changed, unchanged, or refused because the records have something else under the key.
//!
//! Everything happens in one transaction that only [`Store::commit`] makes real.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;

use super::Kind;
use super::load::Failure;
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

impl Existing {
    /// A sale of the same file, at a dry run: it is not written, so only its code is known.
    pub fn further_up() -> Self {
        Self { customer: String::new(), date: String::new(), products: String::new(), price: 0, from_here: true }
    }
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
    /// On PostgreSQL: customers who get another department. Their sales and totals change with them, and whoever registers
    /// or cancels a sale locks it before its totals: so does a run, at its end.
    moved: Vec<(String, StoredCustomer)>,
    /// On PostgreSQL: what is paid at the end where there were no sales.
    first_load: Option<postgres::FirstLoad>,
}

impl Store {
    pub async fn begin(records: &Records, kind: Kind, dry_run: bool) -> Result<Self, sqlx::Error> {
        let mut tx = match records {
            // Others may write meanwhile: it only reads.
            Records::Sqlite(file) if dry_run => Tx::Sqlite(file.durable().begin().await?),
            records => records.begin_durable().await?,
        };
        let (last_row, first_load) = match &mut tx {
            Tx::Sqlite(tx) if dry_run => (sqlite::prepare_dry_run(tx).await.map(|()| 0)?, None),
            Tx::Sqlite(tx) => (sqlite::last_row(tx).await?, None),
            Tx::Postgres(tx) => {
                tx.wait_for_long_statements();
                (0, postgres::prepare(tx, kind, dry_run).await?)
            }
        };
        let began = records::now_ms(&mut tx).await?;
        Ok(Self { tx, dry_run, began, last_row, moved: Vec::new(), first_load })
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
                        Some(old) => changed.push((row.code, wanted, old.department)),
                    }
                }
                (put.inserted, put.updated) = (new.len() as u64, changed.len() as u64);
                if self.dry_run {
                    return Ok(put);
                }
                let (stay, go): (Vec<_>, Vec<_>) =
                    changed.into_iter().partition(|(_, wanted, department)| wanted.department == *department);
                let pair = |(code, wanted, _)| (code, wanted);
                let mut changed: Vec<_> = stay.into_iter().map(pair).collect();
                let go = go.into_iter().map(pair);
                match &mut self.tx {
                    Tx::Sqlite(tx) => {
                        changed.extend(go);
                        sqlite::insert_customers(tx, &new).await?;
                        sqlite::update_customers(tx, &changed).await?;
                    }
                    Tx::Postgres(tx) => {
                        self.moved.extend(go);
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
            Tx::Sqlite(tx) if self.dry_run => sqlite::sales_of_dry_run(tx, &codes).await?,
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
            Tx::Sqlite(tx) if self.dry_run => sqlite::remember_sales(tx, &rows).await?,
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
            if !self.dry_run {
                staff::put(&mut self.tx, &wanted).await?;
            }
        }
        Ok(put)
    }

    /// Makes the run real, with a row in the trail. `None` at a dry run, which leaves nothing.
    pub async fn commit(mut self, kind: Kind, put: &Put) -> Result<Option<i64>, Failure> {
        if self.dry_run {
            return Ok(None);
        }
        if let Tx::Postgres(tx) = &mut self.tx {
            postgres::move_customers(tx, &self.moved).await?;
            if let Some(first) = self.first_load.take() {
                first.end(tx).await?;
            }
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
        self.tx.commit().await.map_err(Failure::Unknown)?;
        Ok(Some(self.began))
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::Customer;
    use super::*;
    use crate::records::postgres::Group;
    use crate::records::testing::Database;

    fn customer(code: &str, department: &str) -> Rows {
        let code = code.to_owned();
        Rows::Customers(vec![Customer {
            line: 1,
            name: "青木".into(),
            address: None,
            phone: None,
            department: department.into(),
            code,
        }])
    }

    #[tokio::test]
    async fn a_run_that_moves_customers_and_a_cancellation_do_not_lock_each_other_out() {
        let database = Database::create().await;
        let admin = database.admin();
        sqlx::raw_sql(
            "INSERT INTO customers (code_customer, name_customer, address, phone, department)
             VALUES ('A', '青木', '', '', '野菜'), ('B', '青木', '', '', '野菜');
             INSERT INTO sales (code_sales, code_customer, sales_date, products, price, registered_by, origin, registered_at)
             VALUES ('S-A', 'A', '2026-11-03', 'なす', 1, 'x', 'import', 1), ('S-B', 'B', '2026-11-03', 'なす', 20, 'x', 'import', 1)",
        )
        .execute(&admin)
        .await
        .unwrap();
        // As `cancel_sale` does: the sale, then its day.
        let mut cancel = admin.begin().await.unwrap();
        sqlx::query("SELECT FROM sales WHERE code_sales = 'S-B' FOR UPDATE").execute(&mut *cancel).await.unwrap();
        let records = database.records(Group::Owner).await;
        let run = tokio::spawn(async move {
            let mut store = Store::begin(&records, Kind::Customers, false).await.unwrap();
            for code in ["A", "B"] {
                assert_eq!(store.put(customer(code, "果物")).await.unwrap().updated, 1);
            }
            store.commit(Kind::Customers, &Put::default()).await
        });
        let waiting = "SELECT EXISTS (SELECT FROM pg_stat_activity
                                      WHERE datname = current_database() AND wait_event_type = 'Lock')";
        while !sqlx::query_scalar::<_, bool>(waiting).fetch_one(&admin).await.unwrap() {
            assert!(!run.is_finished(), "it has to wait for the sale");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        sqlx::query("UPDATE sales_daily SET count = count").execute(&mut *cancel).await.unwrap();
        cancel.commit().await.unwrap();
        assert!(run.await.unwrap().unwrap().is_some());
        let totals: Vec<(String, i64)> = sqlx::query_as(
            "SELECT department, sum(total)::bigint FROM sales_daily GROUP BY department HAVING sum(count) > 0",
        )
        .fetch_all(&admin)
        .await
        .unwrap();
        assert_eq!(totals, [("果物".to_owned(), 21)]);
    }
}
