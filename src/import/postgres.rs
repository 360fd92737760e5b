//! The statements of an import into PostgreSQL.
//!
//! Sales come by COPY into a temporary table, a few thousand at a time, and go from there into theirs with one
//! statement: COPY itself is not allowed into a table with row security, and the totals are kept once for each statement.
//! Into a table that has no rows yet they go straight, and what a row costs beyond itself is paid once at the end: see
//! [`FirstLoad`].

use std::collections::HashMap;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Row as _};

use super::Kind;
use super::rows::Sale;
use super::store::{Existing, StoredCustomer};

/// A load into sales without rows. Until it ends, in the same transaction and under a lock that lets nobody else see the
/// table, there are no indexes but the key's, no foreign key, no row security for the owner, and no totals.
pub(super) struct FirstLoad {
    /// Statements that bring back what the load took away.
    restore: Vec<String>,
}

impl FirstLoad {
    /// `None` where the table has rows.
    async fn begin(db: &mut PgConnection) -> Result<Option<Self>, sqlx::Error> {
        let has_rows = "SELECT EXISTS (SELECT FROM sales)";
        if sqlx::query_scalar(has_rows).fetch_one(&mut *db).await? {
            return Ok(None);
        }
        sqlx::raw_sql("LOCK TABLE sales IN ACCESS EXCLUSIVE MODE").execute(&mut *db).await?;
        if sqlx::query_scalar(has_rows).fetch_one(&mut *db).await? {
            return Ok(None);
        }
        // From the catalog, so that the migrations alone say what there is.
        let parts = sqlx::query(
            "SELECT format('ALTER TABLE sales DROP CONSTRAINT %I', conname),
                    format('ALTER TABLE sales ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid))
             FROM pg_constraint WHERE conrelid = 'sales'::regclass AND contype = 'f'
             UNION ALL
             SELECT format('DROP INDEX %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
             FROM pg_index WHERE indrelid = 'sales'::regclass AND NOT indisprimary",
        )
        .fetch_all(&mut *db)
        .await?;
        let mut take_away = String::from(
            "SET LOCAL maintenance_work_mem = '256MB';
             ALTER TABLE sales NO FORCE ROW LEVEL SECURITY, DISABLE TRIGGER sales_daily_after_insert;",
        );
        let mut restore = vec![
            "ALTER TABLE sales FORCE ROW LEVEL SECURITY, ENABLE TRIGGER sales_daily_after_insert".to_owned(),
            "INSERT INTO sales_daily (department, sales_date, shard, count, total)
             SELECT department, sales_date, 0, count(*), sum(price) FROM sales WHERE cancelled_at IS NULL GROUP BY 1, 2"
                .to_owned(),
        ];
        for part in &parts {
            take_away += part.try_get(0)?;
            take_away.push(';');
            restore.push(part.try_get(1)?);
        }
        sqlx::raw_sql(AssertSqlSafe(take_away)).execute(&mut *db).await?;
        Ok(Some(Self { restore }))
    }

    /// Brings everything back; the database checks the rows against the foreign key once more.
    pub(super) async fn end(self, db: &mut PgConnection) -> Result<(), sqlx::Error> {
        for statement in self.restore {
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *db).await?;
        }
        Ok(())
    }
}

/// Settings and tables of the transaction.
pub(super) async fn prepare(
    db: &mut PgConnection,
    kind: Kind,
    dry_run: bool,
) -> Result<Option<FirstLoad>, sqlx::Error> {
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
        sqlx::raw_sql(sql).execute(&mut *db).await?;
        if !dry_run {
            return FirstLoad::begin(db).await;
        }
    }
    Ok(None)
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

/// `straight`: into the table itself, which a [`FirstLoad`] has made ready.
pub(super) async fn insert_sales(
    db: &mut PgConnection,
    sales: &[Sale],
    began: i64,
    straight: bool,
) -> Result<(), sqlx::Error> {
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
        if straight {
            text.push_str("\timport\t");
            text.push_str(&began.to_string());
        }
        text.push('\n');
    }
    if straight {
        let mut copy = db
            .copy_in_raw(
                "COPY sales (code_sales, code_customer, department, sales_date, products, price, registered_by, origin,
                             registered_at) FROM STDIN",
            )
            .await?;
        copy.send(text.as_bytes()).await?;
        return as_many(copy.finish().await?, sales);
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
    as_many(done.rows_affected(), sales)
}

fn as_many(stored: u64, sales: &[Sale]) -> Result<(), sqlx::Error> {
    if stored == sales.len() as u64 {
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
