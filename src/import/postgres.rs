//! The statements of an import into PostgreSQL.
//!
//! Sales come by COPY into a temporary table, a few thousand at a time, and go from there into theirs with one
//! statement: COPY itself is not allowed into a table with row security, and the totals are kept once for each statement.

use std::collections::HashMap;

use sqlx::Row as _;
use sqlx::postgres::PgConnection;

use super::Kind;
use super::rows::Sale;
use super::store::{Existing, StoredCustomer};

/// Settings and tables of the transaction.
pub(super) async fn prepare(db: &mut PgConnection, kind: Kind, dry_run: bool) -> Result<(), sqlx::Error> {
    // The limits of the program's everyday statements are not those of a load. Keys are looked up by the thousand, for
    // which the planner would rather read the whole table.
    sqlx::raw_sql(
        "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = '10min';
         SET LOCAL lock_timeout = '1min'; SET LOCAL enable_seqscan = off; SET LOCAL jit = off",
    )
    .execute(&mut *db)
    .await?;
    if kind == Kind::Sales {
        let sql = if dry_run {
            "CREATE TEMPORARY TABLE import_seen (code_sales text COLLATE \"C\" PRIMARY KEY) ON COMMIT DROP"
        } else {
            "CREATE TEMPORARY TABLE import_sales (code_sales text, code_customer text, department text, sales_date date,
                 products text, price bigint, registered_by text) ON COMMIT DROP"
        };
        sqlx::raw_sql(sql).execute(db).await?;
    }
    Ok(())
}

pub(super) async fn customers(
    db: &mut PgConnection,
    codes: &[&str],
) -> Result<HashMap<String, StoredCustomer>, sqlx::Error> {
    let rows = sqlx::query(
        "SELECT code_customer, name_customer, address, phone, department FROM customers WHERE code_customer = ANY($1)",
    )
    .bind(codes)
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

async fn with_customers(
    db: &mut PgConnection,
    sql: &'static str,
    customers: &[(String, StoredCustomer)],
) -> Result<(), sqlx::Error> {
    if customers.is_empty() {
        return Ok(());
    }
    let column = |value: fn(&(String, StoredCustomer)) -> &str| customers.iter().map(value).collect::<Vec<_>>();
    sqlx::query(sql)
        .bind(column(|(code, _)| code))
        .bind(column(|(_, c)| &c.name))
        .bind(column(|(_, c)| &c.address))
        .bind(column(|(_, c)| &c.phone))
        .bind(column(|(_, c)| &c.department))
        .execute(db)
        .await
        .map(drop)
}

pub(super) async fn insert_customers(
    db: &mut PgConnection,
    customers: &[(String, StoredCustomer)],
) -> Result<(), sqlx::Error> {
    let sql = "INSERT INTO customers (code_customer, name_customer, address, phone, department)
               SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])";
    with_customers(db, sql, customers).await
}

pub(super) async fn update_customers(
    db: &mut PgConnection,
    customers: &[(String, StoredCustomer)],
) -> Result<(), sqlx::Error> {
    let sql = "UPDATE customers c
               SET name_customer = n.name, address = n.address, phone = n.phone, department = n.department
               FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
                    AS n (code, name, address, phone, department)
               WHERE c.code_customer = n.code";
    with_customers(db, sql, customers).await
}

/// Other departments for customers, with their sales: those are locked before any total is.
pub(super) async fn move_customers(
    db: &mut PgConnection,
    customers: &[(String, StoredCustomer)],
) -> Result<(), sqlx::Error> {
    let codes: Vec<&str> = customers.iter().map(|(code, _)| code.as_str()).collect();
    let sql =
        "SELECT count(*) FROM (SELECT FROM sales WHERE code_customer = ANY($1) ORDER BY code_sales FOR UPDATE) AS s";
    sqlx::query(sql).bind(codes).execute(&mut *db).await?;
    update_customers(db, customers).await
}

/// Which of the codes are taken, and by what.
pub(super) async fn sales(
    db: &mut PgConnection,
    codes: &[&str],
    dry_run: bool,
) -> Result<HashMap<String, Existing>, sqlx::Error> {
    let rows = sqlx::query(
        "SELECT code_sales, code_customer, sales_date::text, products, price, xmin = pg_current_xact_id()::xid
         FROM sales WHERE code_sales = ANY($1)",
    )
    .bind(codes)
    .fetch_all(&mut *db)
    .await?;
    let mut found = HashMap::with_capacity(rows.len());
    for row in rows {
        let existing = Existing {
            customer: row.try_get(1)?,
            date: row.try_get(2)?,
            products: row.try_get(3)?,
            price: row.try_get(4)?,
            from_here: row.try_get(5)?,
        };
        found.insert(row.try_get(0)?, existing);
    }
    if dry_run {
        let sql = "SELECT code_sales FROM import_seen WHERE code_sales = ANY($1)";
        let seen: Vec<String> = sqlx::query_scalar(sql).bind(codes).fetch_all(db).await?;
        found.extend(seen.into_iter().map(|code| (code, Existing::further_up())));
    }
    Ok(found)
}

/// A dry run writes no sales; it only remembers which codes it would have.
pub(super) async fn remember_sales(db: &mut PgConnection, sales: &[Sale]) -> Result<(), sqlx::Error> {
    let codes: Vec<&str> = sales.iter().map(|s| s.code.as_str()).collect();
    sqlx::query("INSERT INTO import_seen SELECT unnest($1::text[])").bind(codes).execute(db).await.map(drop)
}

pub(super) async fn insert_sales(db: &mut PgConnection, sales: &[Sale], began: i64) -> Result<(), sqlx::Error> {
    let mut text = String::with_capacity(sales.len() * 128);
    for sale in sales {
        for field in [&sale.code, &sale.customer, &*sale.department] {
            field_into(&mut text, field);
            text.push('\t');
        }
        text.push_str(&sale.date.to_string());
        text.push('\t');
        field_into(&mut text, &sale.products);
        text.push('\t');
        text.push_str(&sale.price.to_string());
        text.push('\t');
        field_into(&mut text, &sale.registered_by);
        text.push('\n');
    }
    sqlx::raw_sql("TRUNCATE import_sales").execute(&mut *db).await?;
    let mut copy = db.copy_in_raw("COPY import_sales FROM STDIN").await?;
    copy.send(text.as_bytes()).await?;
    copy.finish().await?;
    let done = sqlx::query(
        "INSERT INTO sales (code_sales, code_customer, department, sales_date, products, price, registered_by, origin,
                            registered_at)
         SELECT code_sales, code_customer, department, sales_date, products, price, registered_by, 'import', $1
         FROM import_sales",
    )
    .bind(began)
    .execute(db)
    .await?;
    if done.rows_affected() == sales.len() as u64 {
        Ok(())
    } else {
        Err(sqlx::Error::Protocol("the database stored another number of rows than it was sent".into()))
    }
}

/// As COPY's text format wants it.
pub(super) fn field_into(text: &mut String, field: &str) {
    for c in field.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            c => text.push(c),
        }
    }
}
