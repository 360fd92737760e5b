//! The reads: SQL over customers and sales, always within the departments of the person who asks.
//!
//! Each function takes the staff record and nothing else about the person. A row of another department is treated
//! exactly as one that does not exist: it is in no row, no count, no total and no error.

use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::types::Json;
use sqlx::{Row as _, SqliteExecutor};

use super::super::answer::{
    CustomerRow, Customers, Failure, GroupRow, Period, RegistrationRow, Registrations, SaleRow, Sales, Summary,
};
use super::super::arguments::{
    DEFAULT_ROWS, GetCustomers, GetSales, GroupBy, ListRegistrations, MAX_ROWS, Range, SummarizeSales,
};
use super::super::search_form;
use super::super::store::unknown_customer;
use crate::domain::{Person, Role};
use crate::staff::{self, Staff};

/// The departments SQL may touch, as a JSON array; `NULL` for an admin stands for all.
fn scope(staff: &Staff) -> Option<Json<&[String]>> {
    (staff.role != Role::Admin).then_some(Json(&staff.departments))
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// What is said of all matches stands in every row; without rows, and over nothing but cancelled sales, it is zero.
fn over_all(rows: &[SqliteRow], column: &str) -> Result<i64, sqlx::Error> {
    rows.first().map_or(Ok(0), |row| Ok(row.try_get::<Option<i64>, _>(column)?.unwrap_or(0)))
}

fn departments_of(rows: &[SqliteRow]) -> Result<Vec<String>, sqlx::Error> {
    let Some(row) = rows.first() else { return Ok(Vec::new()) };
    let mut departments = row.try_get::<Json<Vec<String>>, _>("all_departments")?.0;
    departments.sort();
    departments.dedup();
    Ok(departments)
}

pub(super) async fn get_customers(
    db: impl SqliteExecutor<'_>,
    staff: &Staff,
    args: &GetCustomers,
) -> Result<Customers, Failure> {
    let name = args.name_str_customer.as_deref().map(search_form);
    let rows = sqlx::query(
        "WITH m AS MATERIALIZED (
             SELECT code_customer, name_customer, address, phone, department FROM customers
             WHERE ($1 IS NULL OR department IN (SELECT value FROM json_each($1)))
               AND ($2 IS NULL OR code_customer = $2)
               AND ($3 IS NULL OR instr(name_search, $3) > 0))
         SELECT *, (SELECT count(*) FROM m) AS matches,
                (SELECT json_group_array(DISTINCT department) FROM m) AS all_departments
         FROM m ORDER BY code_customer LIMIT $4",
    )
    .bind(scope(staff))
    .bind(&args.code_customer)
    .bind(name)
    .bind(DEFAULT_ROWS)
    .fetch_all(db)
    .await?;
    let matches = over_all(&rows, "matches")?;
    let customers = rows
        .iter()
        .map(|row| {
            Ok(CustomerRow {
                code_customer: row.try_get("code_customer")?,
                name_customer: row.try_get("name_customer")?,
                address: row.try_get("address")?,
                phone: row.try_get("phone")?,
                department: row.try_get("department")?,
            })
        })
        .collect::<Result<Vec<_>, sqlx::Error>>()?;
    Ok(Customers {
        truncated: matches > count(customers.len()),
        count: matches,
        departments: departments_of(&rows)?,
        customers,
    })
}

/// A customer as far as this person may know of them.
pub(super) struct Customer {
    pub name: String,
    pub department: String,
}

/// The customer of a code, or the one refusal for "unknown" and "another department's".
pub(super) async fn customer(
    db: impl SqliteExecutor<'_>,
    staff: &Staff,
    code_customer: &str,
) -> Result<Customer, Failure> {
    let row = sqlx::query("SELECT name_customer, department FROM customers WHERE code_customer = $1")
        .bind(code_customer)
        .fetch_optional(db)
        .await?;
    if let Some(row) = row {
        let customer = Customer { name: row.try_get("name_customer")?, department: row.try_get("department")? };
        if staff.sees(&customer.department) {
            return Ok(customer);
        }
    }
    Err(unknown_customer())
}

pub(super) fn sale_row(row: &SqliteRow) -> Result<SaleRow, sqlx::Error> {
    Ok(SaleRow {
        code_sales: row.try_get("code_sales")?,
        code_customer: row.try_get("code_customer")?,
        name_customer: row.try_get("name_customer")?,
        department: row.try_get("department")?,
        date_sales: row.try_get("sales_date")?,
        products: row.try_get("products")?,
        price: row.try_get("price")?,
        registered_by: row.try_get("registered_by")?,
        registered_by_name: row.try_get("registered_by_name")?,
        cancelled: row.try_get("cancelled")?,
    })
}

pub(super) async fn get_sales(
    db: &mut SqliteConnection,
    staff: &Staff,
    args: &GetSales,
    range: Range,
) -> Result<Sales, Failure> {
    let customer = customer(&mut *db, staff, &args.code_customer).await?;
    let rows = sqlx::query(
        "WITH m AS MATERIALIZED (
             SELECT s.*, c.name_customer, c.department, s.cancelled_at IS NOT NULL AS cancelled
             FROM sales s JOIN customers c USING (code_customer)
             WHERE s.code_customer = $1
               AND ($2 IS NULL OR s.code_sales = $2)
               AND s.sales_date BETWEEN coalesce($3, '0000-00-00') AND coalesce($4, '9999-99-99'))
         SELECT *,
                (SELECT p.display_name FROM staff p WHERE 'slack:' || p.team || ':' || p.user = m.registered_by)
                    AS registered_by_name,
                (SELECT count(*) FROM m) AS matches,
                (SELECT sum(price) FILTER (WHERE NOT cancelled) FROM m) AS total_price
         FROM m ORDER BY sales_date DESC, registered_at DESC, code_sales DESC LIMIT $5",
    )
    .bind(&args.code_customer)
    .bind(&args.code_sales)
    .bind(range.begin)
    .bind(range.end)
    .bind(args.limit.unwrap_or(DEFAULT_ROWS))
    .fetch_all(db)
    .await?;
    let matches = over_all(&rows, "matches")?;
    Ok(Sales {
        sales: rows.iter().rev().map(sale_row).collect::<Result<_, _>>()?,
        count: matches,
        total_price: over_all(&rows, "total_price")?,
        truncated: matches > count(rows.len()),
        period: Period::of(range),
        departments: vec![customer.department],
    })
}

/// Whose registrations are meant: subjects, as a JSON array for SQL.
async fn registrants(
    db: &mut SqliteConnection,
    caller: &Person,
    args: &ListRegistrations,
) -> Result<Option<Vec<String>>, sqlx::Error> {
    let Some(wanted) = &args.registered_by else {
        return Ok(args.code_sales.is_none().then(|| vec![caller.subject()]));
    };
    let mut subjects = vec![wanted.clone()];
    let form = search_form(wanted);
    if !form.is_empty() {
        let named = staff::list(db).await?;
        let matching = named.iter().filter(|s| search_form(&s.display_name).contains(&form));
        subjects.extend(matching.map(|s| s.person.subject()));
    }
    Ok(Some(subjects))
}

pub(super) async fn list_registrations(
    db: &mut SqliteConnection,
    staff: &Staff,
    args: &ListRegistrations,
    range: Range,
) -> Result<Registrations, Failure> {
    let registrants = registrants(&mut *db, &staff.person, args).await?;
    let rows = sqlx::query(
        "WITH m AS MATERIALIZED (
             SELECT s.*, c.name_customer, c.department, s.cancelled_at IS NOT NULL AS cancelled
             FROM sales s JOIN customers c USING (code_customer)
             WHERE ($1 IS NULL OR c.department IN (SELECT value FROM json_each($1)))
               AND ($2 IS NULL OR s.registered_by IN (SELECT value FROM json_each($2)))
               AND ($3 IS NULL OR s.code_sales = $3)
               AND s.sales_date BETWEEN coalesce($4, '0000-00-00') AND coalesce($5, '9999-99-99')
               AND ($6 OR s.cancelled_at IS NULL))
         SELECT *,
                (SELECT p.display_name FROM staff p WHERE 'slack:' || p.team || ':' || p.user = m.registered_by)
                    AS registered_by_name,
                (SELECT count(*) FROM m) AS matches,
                (SELECT sum(price) FILTER (WHERE NOT cancelled) FROM m) AS total_price,
                (SELECT json_group_array(DISTINCT department) FROM m) AS all_departments
         FROM m ORDER BY sales_date DESC, registered_at DESC, code_sales DESC LIMIT $7",
    )
    .bind(scope(staff))
    .bind(registrants.map(Json))
    .bind(&args.code_sales)
    .bind(range.begin)
    .bind(range.end)
    .bind(args.include_cancelled.unwrap_or(false))
    .bind(args.limit.unwrap_or(DEFAULT_ROWS))
    .fetch_all(db)
    .await?;
    let matches = over_all(&rows, "matches")?;
    let registrations = rows
        .iter()
        .rev()
        .map(|row| Ok(RegistrationRow { sale: sale_row(row)?, origin: row.try_get("origin")? }))
        .collect::<Result<Vec<_>, sqlx::Error>>()?;
    Ok(Registrations {
        truncated: matches > count(registrations.len()),
        count: matches,
        total_price: over_all(&rows, "total_price")?,
        period: Period::of(range),
        departments: departments_of(&rows)?,
        registrations,
    })
}

/// Key and label of a group. Customers and staff come by the size of their total, times in their order.
macro_rules! summary_sql {
    ($key:literal, $label:literal, $order:literal) => {
        concat!(
            "SELECT ",
            $key,
            " AS key, ",
            $label,
            " AS label, count(*) AS n, sum(s.price) AS total,
                count(*) OVER () AS all_groups, sum(count(*)) OVER () AS matches,
                sum(sum(s.price)) OVER () AS total_price,
                json_group_array(DISTINCT c.department) AS departments
             FROM sales s JOIN customers c USING (code_customer)
             WHERE s.sales_date BETWEEN $1 AND $2 AND s.cancelled_at IS NULL
               AND ($3 IS NULL OR c.department IN (SELECT value FROM json_each($3)))
               AND ($4 IS NULL OR s.code_customer = $4)
             GROUP BY 1 ORDER BY ",
            $order
        )
    };
}

fn summary_sql(group_by: GroupBy) -> &'static str {
    match group_by {
        GroupBy::Total => summary_sql!("'total'", "'total'", "1"),
        GroupBy::Day => summary_sql!("s.sales_date", "s.sales_date", "1"),
        // Six days back, then forward to a Monday: the Monday on or before the day.
        GroupBy::Week => summary_sql!(
            "date(s.sales_date, '-6 days', 'weekday 1')",
            "date(s.sales_date, '-6 days', 'weekday 1') || '/' || date(s.sales_date, 'weekday 0')",
            "1"
        ),
        GroupBy::Month => summary_sql!("substr(s.sales_date, 1, 7)", "substr(s.sales_date, 1, 7)", "1"),
        GroupBy::Customer => summary_sql!("s.code_customer", "c.name_customer", "4 DESC, 1"),
        GroupBy::Staff => summary_sql!(
            "s.registered_by",
            "coalesce((SELECT p.display_name FROM staff p
                       WHERE 'slack:' || p.team || ':' || p.user = s.registered_by), s.registered_by)",
            "4 DESC, 1"
        ),
    }
}

pub(super) async fn summarize_sales(
    db: &mut SqliteConnection,
    staff: &Staff,
    args: &SummarizeSales,
    range: Range,
) -> Result<Summary, Failure> {
    let mut departments = Vec::new();
    if let Some(code) = &args.code_customer {
        departments.push(customer(&mut *db, staff, code).await?.department);
    }
    let rows = sqlx::query(summary_sql(args.group_by))
        .bind(range.begin)
        .bind(range.end)
        .bind(scope(staff))
        .bind(&args.code_customer)
        .fetch_all(db)
        .await?;
    let mut groups = Vec::with_capacity(rows.len().min(MAX_ROWS as usize));
    for row in &rows {
        departments.extend(row.try_get::<Json<Vec<String>>, _>("departments")?.0);
        if groups.len() < MAX_ROWS as usize {
            groups.push(GroupRow {
                key: row.try_get("key")?,
                label: row.try_get("label")?,
                count: row.try_get("n")?,
                total_price: row.try_get("total")?,
            });
        }
    }
    departments.sort();
    departments.dedup();
    Ok(Summary {
        truncated: rows.len() > groups.len(),
        count: over_all(&rows, "matches")?,
        total_price: over_all(&rows, "total_price")?,
        period: Period { begin: range.begin, end: range.end },
        departments,
        groups,
    })
}
