//! The calls this model makes, and how it corrects one that the host reads otherwise.

use chrono::NaiveDate;
use serde_json::{Map, Value, json};

use super::request::{Group, Period};

/// A tool and its arguments.
pub(super) type Call = (&'static str, Map<String, Value>);

pub(super) fn arguments(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn with_period(mut args: Map<String, Value>, period: Option<Period>) -> Map<String, Value> {
    if let Some(period) = period {
        args.insert("date_sales_begin_str".into(), period.start.to_string().into());
        args.insert("date_sales_end_str".into(), period.end.to_string().into());
    }
    args
}

/// The period a call asks for.
pub(super) fn period_of(call: &Call) -> Option<Period> {
    let day = |key: &str| call.1.get(key)?.as_str()?.parse::<NaiveDate>().ok();
    Some(Period { start: day("date_sales_begin_str")?, end: day("date_sales_end_str")? })
}

pub(super) fn customers_named(name: &str) -> Call {
    ("get_customers", arguments(json!({ "name_str_customer": name })))
}

pub(super) fn customer(code: &str) -> Call {
    ("get_customers", arguments(json!({ "code_customer": code })))
}

pub(super) fn all_customers() -> Call {
    ("get_customers", Map::new())
}

pub(super) fn sales(code: &str, period: Option<Period>) -> Call {
    ("get_sales", with_period(arguments(json!({ "code_customer": code })), period))
}

pub(super) fn summary(code: Option<&str>, period: Period, group: Group) -> Call {
    let mut args = with_period(arguments(json!({ "group_by": group.code() })), Some(period));
    args.extend(code.map(|code| ("code_customer".to_owned(), code.into())));
    ("summarize_sales", args)
}

pub(super) fn registrations(by: Option<&str>, period: Option<Period>) -> Call {
    let mut args = with_period(Map::new(), period);
    args.extend(by.map(|by| ("registered_by".to_owned(), by.into())));
    ("list_registrations", args)
}

pub(super) fn sale(number: &str) -> Call {
    ("list_registrations", arguments(json!({ "code_sales": number })))
}

pub(super) fn cancellation(number: &str, reason: &str) -> Call {
    ("cancel_sale", arguments(json!({ "code_sales": number, "reason": reason })))
}

/// The host held the call back because the person's words say something else.
pub(super) fn differs(content: &str) -> bool {
    let value: Value = serde_json::from_str(content).unwrap_or_default();
    value.pointer("/data/code").and_then(Value::as_str) == Some("words_differ")
}

/// The call with what the host read in the words; `None` when its sentence says nothing to go by.
pub(super) fn corrected(call: &Call, content: &str) -> Option<Call> {
    let value: Value = serde_json::from_str(content).ok()?;
    let said = value.pointer("/data/error")?.as_str()?;
    let mut args = call.1.clone();
    let about = |what: &str| said.split_once(what).map(|(_, rest)| rest.split(['.', ';']).next().unwrap_or(rest));
    if let Some(date) = about("this date: ") {
        let mut days =
            date.split(|c: char| !(c.is_ascii_digit() || c == '-')).filter_map(|w| w.parse::<NaiveDate>().ok());
        let first = days.next()?;
        let last = days.next().filter(|_| date.contains(") to ")).unwrap_or(first);
        if call.0 == "add_sale" {
            args.insert("date_sales_str".into(), first.to_string().into());
        } else {
            args = with_period(args, Some(Period { start: first, end: last.max(first) }));
        }
    }
    if let Some(price) = about("this price: ") {
        let (before, _) = price.split_once(" yen")?;
        let yen: i64 = before.rsplit(' ').next()?.parse().ok()?;
        args.insert("price".into(), yen.into());
    }
    (args != call.1).then_some((call.0, args))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_corrected_by_what_the_host_read() {
        let held = |sentence: &str| {
            json!({"status": "error", "data": {"error": sentence, "code": "words_differ"}}).to_string()
        };
        let call = ("add_sale", arguments(json!({"price": 600, "date_sales_str": "2026-11-01"})));
        let content = held(
            "Not run: the asker's words do not say this date: “10日” may be 2026-11-10 (Tue) or 2026-10-10 (Sat), nor this price: “3万” is 30000 yen. Call again.",
        );
        assert!(differs(&content));
        let new = corrected(&call, &content).unwrap();
        assert_eq!(Value::Object(new.1), json!({"price": 30_000, "date_sales_str": "2026-11-10"}));
        let sales = sales("0002", None);
        let content = held(
            "Not run: the asker's words do not say this date: “先週” is 2026-11-16 (Mon) to 2026-11-22 (Sun). Call again.",
        );
        let period = period_of(&corrected(&sales, &content).unwrap()).unwrap();
        assert_eq!((period.start.to_string(), period.end.to_string()), ("2026-11-16".into(), "2026-11-22".into()));
        assert_eq!(corrected(&call, &held("Not run.")), None);
    }
}
