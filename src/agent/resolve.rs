//! Turns a write the model asked for into the write a card can show.
//!
//! Promises that a [`Write`] made here names a customer the asker may see, with the name and department the sales
//! server gave on the asker's behalf, and values within the server's bounds; what cannot be resolved is told to the
//! model as the call's result. Defaults are filled in here, before the card: the date is the asker's today.

use chrono::NaiveDate;
use serde_json::{Map, Value, json};

use crate::domain::{Write, Yen};
use crate::mcp::{Mcp, McpError, ToolOutput};
use crate::policy::{self, AllowedCall, ProposedCall};

use super::{Asker, NOT_RUN};

/// The server's bound on free text.
const MAX_TEXT: usize = 1_000;
/// The server's bound on an amount.
const MAX_PRICE: i64 = 999_999_999_999;

/// Why there is no write, as the result for the model.
#[derive(Debug)]
pub(super) enum NotResolved {
    /// Something to tell the model; the departments of what it shows.
    Told(String, Vec<String>),
    /// The sales server gave no answer.
    NoAnswer(McpError),
}

/// A result made by the host, in the form of the server's errors, so that a model reads one form only.
pub(super) fn host_error(code: &str, sentence: &str) -> String {
    json!({"status": "error", "data": {"error": sentence, "code": code}, NOT_RUN: true}).to_string()
}

fn told<T>(code: &str, sentence: &str) -> Result<T, NotResolved> {
    Err(NotResolved::Told(host_error(code, sentence), Vec::new()))
}

/// Resolves one proposed call on behalf of the asker.
pub(super) async fn resolve(mcp: &Mcp, asker: &Asker, proposed: &ProposedCall) -> Result<Write, NotResolved> {
    let arguments = proposed.arguments();
    match proposed.tool() {
        "add_sale" => {
            only(arguments, &["code_customer", "products", "price", "date_sales_str"])?;
            add_sale(mcp, asker, arguments).await
        }
        "cancel_sale" => {
            only(arguments, &["code_sales", "reason"])?;
            cancel_sale(mcp, asker, arguments).await
        }
        _ => told("unknown_tool", "This tool cannot be proposed."),
    }
}

/// A misspelled argument must not be dropped: the default in its place would look like what was asked.
fn only(arguments: &Map<String, Value>, known: &[&str]) -> Result<(), NotResolved> {
    if arguments.keys().all(|key| known.contains(&key.as_str())) {
        return Ok(());
    }
    told("invalid_arguments", &format!("Unknown arguments. This tool takes only: {}.", known.join(", ")))
}

async fn add_sale(mcp: &Mcp, asker: &Asker, arguments: &Map<String, Value>) -> Result<Write, NotResolved> {
    let code = text(arguments, "code_customer", "customer_not_found")?;
    let products = text(arguments, "products", "invalid_products")?;
    let Some(price) = arguments.get("price").and_then(whole_yen) else {
        return told(
            "invalid_price",
            "price must be a whole number of yen from 0 to 999999999999, without separators.",
        );
    };
    let date_sales = match arguments.get("date_sales_str") {
        None => asker.today,
        Some(Value::String(s)) if s.trim().is_empty() => asker.today,
        Some(value) => match value.as_str().and_then(calendar_day) {
            Some(day) => day,
            None => return told("invalid_date", "date_sales_str must be an existing day, YYYY-MM-DD."),
        },
    };
    let customer = customer(mcp, asker, &code).await?;
    Ok(Write::AddSale {
        code_customer: code,
        name_customer: customer.name,
        department: customer.department,
        products,
        price,
        date_sales,
    })
}

async fn cancel_sale(mcp: &Mcp, asker: &Asker, arguments: &Map<String, Value>) -> Result<Write, NotResolved> {
    let code_sales = text(arguments, "code_sales", "sale_not_found")?;
    let reason = text(arguments, "reason", "invalid_reason")?;
    let sale = sale(mcp, asker, &code_sales).await?;
    if sale.cancelled {
        return told("already_cancelled", "This sale is cancelled already.");
    }
    let customer = customer(mcp, asker, &sale.code_customer).await?;
    Ok(Write::CancelSale {
        code_sales,
        code_customer: sale.code_customer,
        name_customer: customer.name,
        department: customer.department,
        products: sale.products,
        price: sale.price,
        date_sales: sale.date_sales,
        reason,
    })
}

struct Customer {
    name: String,
    department: String,
}

async fn customer(mcp: &Mcp, asker: &Asker, code: &str) -> Result<Customer, NotResolved> {
    let output = look(mcp, asker, policy::lookup_customer(code)).await?;
    let found = rows(&output, "customers").find(|row| field(row, "code_customer") == Some(code));
    let read = found.and_then(|row| {
        Some(Customer {
            name: field(row, "name_customer")?.to_owned(),
            department: field(row, "department")?.to_owned(),
        })
    });
    match read {
        Some(customer) => Ok(customer),
        None => told("customer_not_found", "No customer with this code_customer. Look it up with get_customers."),
    }
}

struct Sale {
    code_customer: String,
    products: String,
    price: Yen,
    date_sales: NaiveDate,
    cancelled: bool,
}

/// The sale of this number, whoever registered it, as far as the asker may see it.
async fn sale(mcp: &Mcp, asker: &Asker, code: &str) -> Result<Sale, NotResolved> {
    let output = look(mcp, asker, policy::lookup_sale(code)).await?;
    match find_sale(&output, code) {
        Some(sale) => Ok(sale),
        None => told(
            "sale_not_found",
            "No sale of this code_sales was found. Find it with get_sales or list_registrations first.",
        ),
    }
}

fn find_sale(output: &ToolOutput, code: &str) -> Option<Sale> {
    let row = rows(output, "registrations").find(|row| field(row, "code_sales") == Some(code))?;
    Some(Sale {
        code_customer: field(row, "code_customer")?.to_owned(),
        products: field(row, "products")?.to_owned(),
        price: Yen(row.get("price")?.as_i64()?),
        date_sales: calendar_day(field(row, "date_sales")?)?,
        cancelled: row.get("cancelled").and_then(Value::as_bool).unwrap_or(false),
    })
}

/// One of the host's own reads. Its error result is the model's result.
async fn look(mcp: &Mcp, asker: &Asker, call: AllowedCall) -> Result<ToolOutput, NotResolved> {
    let output = mcp.call(call, &asker.person, None).await.map_err(NotResolved::NoAnswer)?;
    if output.is_error {
        return Err(NotResolved::Told(output.structured.to_string(), output.departments()));
    }
    Ok(output)
}

fn rows<'a>(output: &'a ToolOutput, list: &str) -> impl Iterator<Item = &'a Value> {
    output.data().get(list).and_then(Value::as_array).into_iter().flatten()
}

fn field<'a>(row: &'a Value, key: &str) -> Option<&'a str> {
    row.get(key).and_then(Value::as_str)
}

fn text(arguments: &Map<String, Value>, key: &str, code: &str) -> Result<String, NotResolved> {
    let given = arguments.get(key).and_then(Value::as_str).map(str::trim).unwrap_or_default();
    if given.is_empty() || given.chars().count() > MAX_TEXT {
        return told(code, &format!("{key} must be a text of 1 to {MAX_TEXT} characters."));
    }
    Ok(given.to_owned())
}

/// A whole number, or a float or a text of ASCII digits that is one. `¥1,800` is not read: a model that sends it may
/// mean something else by the comma.
fn whole_yen(value: &Value) -> Option<Yen> {
    let yen = match value {
        Value::Number(n) => n.as_i64().or_else(|| {
            let f = n.as_f64()?;
            // Far below 2^53, so the conversion is exact.
            (f.fract() == 0.0 && (0.0..=MAX_PRICE as f64).contains(&f)).then_some(f as i64)
        })?,
        Value::String(s) if !s.is_empty() && s.len() <= 12 && s.bytes().all(|b| b.is_ascii_digit()) => {
            s.parse().ok()?
        }
        _ => return None,
    };
    (0..=MAX_PRICE).contains(&yen).then_some(Yen(yen))
}

fn calendar_day(text: &str) -> Option<NaiveDate> {
    (text.len() == 10).then(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_a_whole_number_of_yen_however_it_is_spelled() {
        for (value, yen) in [
            (json!(600), Some(600)),
            (json!(600.0), Some(600)),
            (json!("600"), Some(600)),
            (json!(0), Some(0)),
            (json!(MAX_PRICE), Some(MAX_PRICE)),
            (json!(MAX_PRICE + 1), None),
            (json!(-1), None),
            (json!(600.5), None),
            (json!(1e300), None),
            (json!("¥1,800"), None),
            (json!("1,800"), None),
            (json!("６００"), None),
            (json!("-5"), None),
            (json!(""), None),
            (json!(null), None),
            (json!([600]), None),
        ] {
            assert_eq!(whole_yen(&value).map(|y| y.0), yen, "{value}");
        }
    }

    #[test]
    fn a_day_is_written_in_full() {
        assert!(calendar_day("2026-02-28").is_some());
        for bad in ["2026-02-29", "2026-2-8", "26-02-08", "2026/02/08", "", "2026-02-28 ", "二〇二六年"] {
            assert_eq!(calendar_day(bad), None, "{bad}");
        }
    }
}
