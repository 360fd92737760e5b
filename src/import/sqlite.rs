//! The statements of an import into the file.

use std::collections::HashMap;

use serde_json::{Value, json};
use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use super::rows::Sale;
use super::store::{Existing, StoredCustomer};
use crate::sales::search_form;

/// Sales of higher row numbers come later.
pub(super) async fn last_row(db: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT coalesce(max(rowid), 0) FROM sales").fetch_one(db).await
}

/// A dry run writes no sales; it only remembers which codes it would have.
pub(super) async fn prepare_dry_run(db: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(
        "DROP TABLE IF EXISTS temp.import_seen; CREATE TEMPORARY TABLE import_seen (code_sales TEXT PRIMARY KEY) STRICT",
    )
    .execute(db)
    .await
    .map(drop)
}

pub(super) async fn remember_sales(db: &mut SqliteConnection, sales: &[Sale]) -> Result<(), sqlx::Error> {
    let codes: Vec<&str> = sales.iter().map(|s| s.code.as_str()).collect();
    sqlx::query("INSERT INTO temp.import_seen SELECT value FROM json_each($1)")
        .bind(json!(codes).to_string())
        .execute(db)
        .await
        .map(drop)
}

/// Which of the codes are taken, by the records or further up in the file.
pub(super) async fn sales_of_dry_run(
    db: &mut SqliteConnection,
    codes: &[&str],
) -> Result<HashMap<String, Existing>, sqlx::Error> {
    let mut found = sales(&mut *db, codes, i64::MAX).await?;
    let sql = "SELECT code_sales FROM temp.import_seen WHERE code_sales IN (SELECT value FROM json_each($1))";
    let seen: Vec<String> = sqlx::query_scalar(sql).bind(json!(codes).to_string()).fetch_all(db).await?;
    found.extend(seen.into_iter().map(|code| (code, Existing::further_up())));
    Ok(found)
}

pub(super) async fn customers(
    db: &mut SqliteConnection,
    codes: &[&str],
) -> Result<HashMap<String, StoredCustomer>, sqlx::Error> {
    let rows = sqlx::query(
        "SELECT code_customer, name_customer, address, phone, department FROM customers
         WHERE code_customer IN (SELECT value FROM json_each($1))",
    )
    .bind(json!(codes).to_string())
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            let stored = StoredCustomer {
                name: row.try_get(1)?,
                address: row.try_get(2)?,
                phone: row.try_get(3)?,
                department: row.try_get(4)?,
            };
            Ok((row.try_get(0)?, stored))
        })
        .collect()
}

fn values(customers: &[(String, StoredCustomer)]) -> String {
    let rows =
        customers.iter().map(|(code, c)| json!([code, c.name, search_form(&c.name), c.address, c.phone, c.department]));
    Value::from_iter(rows).to_string()
}

pub(super) async fn insert_customers(
    db: &mut SqliteConnection,
    customers: &[(String, StoredCustomer)],
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO customers (code_customer, name_customer, name_search, address, phone, department)
         SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 FROM json_each($1)",
    )
    .bind(values(customers))
    .execute(db)
    .await
    .map(drop)
}

pub(super) async fn update_customers(
    db: &mut SqliteConnection,
    customers: &[(String, StoredCustomer)],
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE customers SET name_customer = value->>1, name_search = value->>2, address = value->>3,
                phone = value->>4, department = value->>5
         FROM json_each($1) WHERE code_customer = value->>0",
    )
    .bind(values(customers))
    .execute(db)
    .await
    .map(drop)
}

pub(super) async fn sales(
    db: &mut SqliteConnection,
    codes: &[&str],
    last_row: i64,
) -> Result<HashMap<String, Existing>, sqlx::Error> {
    let rows = sqlx::query(
        "SELECT code_sales, code_customer, sales_date, products, price, rowid > $2 FROM sales
         WHERE code_sales IN (SELECT value FROM json_each($1))",
    )
    .bind(json!(codes).to_string())
    .bind(last_row)
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            let existing = Existing {
                customer: row.try_get(1)?,
                date: row.try_get(2)?,
                products: row.try_get(3)?,
                price: row.try_get(4)?,
                from_here: row.try_get(5)?,
            };
            Ok((row.try_get(0)?, existing))
        })
        .collect()
}

pub(super) async fn insert_sales(db: &mut SqliteConnection, sales: &[Sale], began: i64) -> Result<(), sqlx::Error> {
    let rows = sales.iter().map(|s| json!([s.code, s.customer, s.date, s.products, s.price, s.registered_by]));
    sqlx::query(
        "INSERT INTO sales (code_sales, code_customer, sales_date, products, price, registered_by, origin, registered_at)
         SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, 'import', $2 FROM json_each($1)",
    )
    .bind(Value::from_iter(rows).to_string())
    .bind(began)
    .execute(db)
    .await
    .map(drop)
}
