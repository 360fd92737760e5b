//! Words made of tool results. Every figure is copied from a result; none is worked out here.

use chrono::{Datelike, NaiveDate, Weekday};
use serde_json::Value;

use super::request::Period;
use crate::domain::{Lang, Yen};
use crate::reading::Refusal;
use crate::words::demo as words;

/// The rows of a table that are shown; the result says how many there are.
const MAX_ROWS: usize = 50;

/// A tool's result, or what it says went wrong.
pub(super) enum Outcome {
    Data(Value),
    /// The error's code, and the sentence when there is one.
    Error {
        code: String,
        sentence: String,
    },
}

/// Reads a tool result. Text that is no JSON is a refusal in the host's words.
pub(super) fn outcome(content: &str) -> Outcome {
    let Ok(value) = serde_json::from_str::<Value>(content) else {
        return Outcome::Error { code: String::new(), sentence: content.trim().to_owned() };
    };
    let data = value.get("data").cloned().unwrap_or_else(|| value.clone());
    let failed = value.get("status").and_then(Value::as_str) == Some("error") || data.get("error").is_some();
    if !failed {
        return Outcome::Data(data);
    }
    let field =
        |name: &str| data.get(name).or_else(|| value.get(name)).and_then(Value::as_str).unwrap_or_default().to_owned();
    Outcome::Error { code: field("code"), sentence: field("error") }
}

pub(super) fn error(lang: Lang, code: &str, sentence: &str) -> String {
    match code {
        "customer_not_found" => words::error_customer_not_found(lang),
        "sale_not_found" => words::error_sale_not_found(lang),
        "invalid_date" => words::error_invalid_date(lang),
        "invalid_price" => words::error_invalid_price(lang),
        "invalid_products" => words::error_invalid_products(lang),
        _ if sentence.is_empty() => words::error_other(lang, code),
        _ => words::error_other(lang, cell(sentence)),
    }
}

pub(super) fn refusal(lang: Lang, date_words: &str, why: Refusal) -> String {
    match why {
        Refusal::OtherWeekday => words::other_weekday(lang, date_words),
        Refusal::EndsBeforeItBegins => words::ends_before_it_begins(lang, date_words),
        // The era had no such day; the last three are of amounts and never come here.
        Refusal::NoSuchDay | Refusal::OutsideEra | Refusal::NotWhole | Refusal::Grouping | Refusal::Negative => {
            words::no_such_day(lang, date_words)
        }
    }
}

/// Why words are no amount.
pub(super) fn refused_amount(lang: Lang, said: &str, why: Refusal) -> String {
    match why {
        Refusal::NotWhole => words::amount_not_whole(lang, said),
        Refusal::Grouping => words::amount_grouping(lang, said),
        _ => words::amount_negative(lang, said),
    }
}

/// `2026-11-17（火）`, `2026-11-17 (Tue)`.
pub(super) fn day(lang: Lang, day: NaiveDate) -> String {
    match lang {
        Lang::Ja => {
            let weekday = match day.weekday() {
                Weekday::Mon => '月',
                Weekday::Tue => '火',
                Weekday::Wed => '水',
                Weekday::Thu => '木',
                Weekday::Fri => '金',
                Weekday::Sat => '土',
                Weekday::Sun => '日',
            };
            format!("{day}（{weekday}）")
        }
        Lang::En => format!("{day} ({})", day.weekday()),
    }
}

pub(super) fn period(lang: Lang, period: Option<Period>) -> String {
    match period {
        None => words::all_time(lang),
        Some(p) if p.start == p.end => day(lang, p.start),
        Some(p) => words::period(lang, day(lang, p.start), day(lang, p.end)),
    }
}

/// A value of a row as text that keeps a Markdown table whole.
pub(super) fn field(row: &Value, name: &str) -> String {
    match row.get(name) {
        Some(Value::String(s)) => cell(s),
        Some(Value::Number(n)) => n.to_string(),
        _ => String::new(),
    }
}

fn cell(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().replace('|', "｜")
}

pub(super) fn yen(row: &Value, name: &str) -> String {
    row.get(name).and_then(Value::as_i64).map(|n| Yen(n).to_string()).unwrap_or_default()
}

pub(super) fn count(data: &Value) -> u64 {
    data.get("count").and_then(Value::as_u64).unwrap_or_default()
}

/// The rows of a result.
pub(super) fn rows<'d>(data: &'d Value, name: &str) -> &'d [Value] {
    data.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn table(heads: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut lines = vec![format!("| {} |", heads.join(" | ")), format!("|{}", " --- |".repeat(heads.len()))];
    lines.extend(rows.take(MAX_ROWS).map(|r| format!("| {} |", r.join(" | "))));
    lines.join("\n")
}

fn cut(lang: Lang, data: &Value, shown: usize) -> String {
    let truncated = data.get("truncated").and_then(Value::as_bool) == Some(true) || shown > MAX_ROWS;
    if truncated { format!("\n\n{}", words::truncated(lang)) } else { String::new() }
}

/// Customers as a table, with what tells them apart.
pub(super) fn customers(lang: Lang, data: &Value) -> String {
    let customers = rows(data, "customers");
    let heads = [words::head_code(lang), words::head_name(lang), words::head_address(lang), words::head_phone(lang)];
    let lines = customers
        .iter()
        .map(|c| ["code_customer", "name_customer", "address", "phone"].iter().map(|name| field(c, name)).collect());
    table(&heads, lines) + &cut(lang, data, customers.len())
}

/// Sales as a table that names the customer.
pub(super) fn sales_and_customer(lang: Lang, data: &Value) -> String {
    let sales = rows(data, "sales");
    registration_table(lang, sales) + &cut(lang, data, sales.len())
}

/// Sales of one customer as a table.
pub(super) fn sales(lang: Lang, data: &Value) -> String {
    let sales = rows(data, "sales");
    let heads = [words::head_date(lang), words::head_products(lang), words::head_price(lang), words::head_sale(lang)];
    let lines = sales.iter().map(|s| vec![date_of(lang, s), field(s, "products"), yen(s, "price"), sale_of(lang, s)]);
    table(&heads, lines) + &cut(lang, data, sales.len())
}

/// Registrations as a table.
pub(super) fn registrations(lang: Lang, data: &Value) -> String {
    let sales = rows(data, "registrations");
    registration_table(lang, sales) + &cut(lang, data, sales.len())
}

/// One registration as a table.
pub(super) fn registration(lang: Lang, row: &Value) -> String {
    registration_table(lang, std::slice::from_ref(row))
}

fn registration_table(lang: Lang, sales: &[Value]) -> String {
    let heads = [
        words::head_date(lang),
        words::head_customer(lang),
        words::head_products(lang),
        words::head_price(lang),
        words::head_sale(lang),
    ];
    let lines = sales.iter().map(|s| {
        let customer = format!("{} {}", field(s, "code_customer"), field(s, "name_customer"));
        vec![date_of(lang, s), customer, field(s, "products"), yen(s, "price"), sale_of(lang, s)]
    });
    table(&heads, lines)
}

/// Where a customer is.
pub(super) fn contact(lang: Lang, row: &Value) -> String {
    words::the_contact(lang, field(row, "address"), field(row, "phone"))
}

/// The groups of a total as a table; nothing when there is one or none.
pub(super) fn groups(lang: Lang, data: &Value) -> Option<String> {
    let groups = rows(data, "groups");
    if groups.is_empty() {
        return None;
    }
    let heads = [words::head_group(lang), words::head_count(lang), words::head_price(lang)];
    let lines = groups.iter().map(|g| {
        let (key, label) = (field(g, "key"), field(g, "label"));
        // The key of a person is an id that only programs read.
        let id = key.starts_with("slack:") && !label.is_empty();
        let name = if id {
            label
        } else if label == key {
            key
        } else {
            format!("{key} {label}")
        };
        vec![name.trim().to_owned(), field(g, "count"), yen(g, "total_price")]
    });
    Some(table(&heads, lines))
}

fn date_of(lang: Lang, row: &Value) -> String {
    let text = field(row, "date_sales");
    text.parse().map_or(text, |d| day(lang, d))
}

/// Marked as cancelled.
pub(super) fn is_cancelled(row: &Value) -> bool {
    row.get("cancelled").and_then(Value::as_bool) == Some(true)
}

fn sale_of(lang: Lang, row: &Value) -> String {
    let mark = if is_cancelled(row) { words::cancelled_mark(lang) } else { String::new() };
    format!("{}{mark}", field(row, "code_sales"))
}
