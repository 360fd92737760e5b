//! What the tools take. The JSON Schema a client sees and the check the server makes are derived from the same types,
//! so no length, pattern or range is only promised.
//!
//! Nothing here says who asks: a field of that kind is an unknown argument and refuses the call.

use chrono::{Datelike as _, NaiveDate};
use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::answer::{Code, Refusal};

/// The most rows one answer holds.
pub(super) const MAX_ROWS: u32 = 500;
/// The rows an answer holds when the call does not say.
pub(super) const DEFAULT_ROWS: u32 = 50;

/// Arguments of `get_customers`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetCustomers {
    /// The customer's code, exact.
    #[serde(default)]
    #[schemars(length(min = 1, max = 64))]
    pub code_customer: Option<String>,
    /// A part of the customer's name, in any kana, width or case.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    pub name_str_customer: Option<String>,
}

/// Arguments of `get_sales`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetSales {
    /// The customer's code; `get_customers` finds it by name.
    #[schemars(length(min = 1, max = 64))]
    pub code_customer: String,
    /// One sale's number.
    #[serde(default)]
    #[schemars(length(min = 1, max = 64))]
    pub code_sales: Option<String>,
    /// First day of the sales, YYYY-MM-DD, inclusive.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))]
    pub date_sales_begin_str: Option<String>,
    /// Last day of the sales, YYYY-MM-DD, inclusive.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))]
    pub date_sales_end_str: Option<String>,
    /// How many of the newest sales to return; count and total always cover all of them. Left out: 50.
    #[serde(default, deserialize_with = "rows")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
}

/// Arguments of `list_registrations`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListRegistrations {
    /// First day of the sales, YYYY-MM-DD, inclusive.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))]
    pub date_sales_begin_str: Option<String>,
    /// Last day of the sales, YYYY-MM-DD, inclusive.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))]
    pub date_sales_end_str: Option<String>,
    /// Whose registrations: `slack:TEAM:USER` or a colleague's name. Left out: those of the person who asks.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    pub registered_by: Option<String>,
    /// One sale's number; finds the sale whoever registered it.
    #[serde(default)]
    #[schemars(length(min = 1, max = 64))]
    pub code_sales: Option<String>,
    /// Also list cancelled ones. Left out: no.
    #[serde(default)]
    pub include_cancelled: Option<bool>,
    /// How many of the newest to return; count and total always cover all of them. Left out: 50.
    #[serde(default, deserialize_with = "rows")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
}

/// What `summarize_sales` groups by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum GroupBy {
    Total,
    Day,
    Week,
    Month,
    Customer,
    Staff,
}

impl GroupBy {
    /// The name in calls.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Customer => "customer",
            Self::Staff => "staff",
        }
    }
}

/// Arguments of `summarize_sales`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SummarizeSales {
    /// First day of the sales, YYYY-MM-DD, inclusive.
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))]
    pub date_sales_begin_str: String,
    /// Last day of the sales, YYYY-MM-DD, inclusive.
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))]
    pub date_sales_end_str: String,
    /// Only this customer's sales.
    #[serde(default)]
    #[schemars(length(min = 1, max = 64))]
    pub code_customer: Option<String>,
    /// One total, or one for each day, week (Monday to Sunday), month, customer, or member of staff.
    pub group_by: GroupBy,
}

/// Arguments of `add_sale`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddSale {
    /// The customer's code; `get_customers` finds it by name.
    #[schemars(length(min = 1, max = 64))]
    pub code_customer: String,
    /// What was sold, as the person said it.
    #[schemars(length(min = 1, max = 1000), regex(pattern = r"\S"))]
    pub products: String,
    /// The whole amount in yen.
    #[serde(deserialize_with = "yen")]
    #[schemars(range(min = 0, max = 999_999_999_999_i64))]
    pub price: i64,
    /// The day of the sale, YYYY-MM-DD. Left out: today.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))]
    pub date_sales_str: Option<String>,
}

/// Arguments of `cancel_sale`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelSale {
    /// The sale's number.
    #[schemars(length(min = 1, max = 64))]
    pub code_sales: String,
    /// Why, as the person said it.
    #[schemars(length(min = 1, max = 1000), regex(pattern = r"\S"))]
    pub reason: String,
}

/// JSON knows one kind of number: `1800.0` is a whole number too.
fn whole(number: &serde_json::Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let float = number.as_f64()?;
        let exact = float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_991.0;
        #[expect(clippy::cast_possible_truncation, reason = "whole and within the exact range of a double")]
        exact.then_some(float as i64)
    })
}

fn yen<'de, D: Deserializer<'de>>(d: D) -> Result<i64, D::Error> {
    whole(&serde_json::Number::deserialize(d)?).ok_or_else(|| serde::de::Error::custom("not a whole number"))
}

fn rows<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u32>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(d)? else { return Ok(None) };
    let rows = whole(&number).and_then(|n| u32::try_from(n).ok()).filter(|n| (1..=MAX_ROWS).contains(n));
    rows.map(Some).ok_or_else(|| serde::de::Error::custom("not a number of rows"))
}

/// Checks arguments against the tool's schema and reads them.
pub(super) fn read<T: for<'de> Deserialize<'de>>(
    validator: &Validator,
    arguments: Map<String, Value>,
) -> Result<T, Refusal> {
    // No name, code or text has it, PostgreSQL cannot store it, and what a database cannot read looks like one that is
    // down.
    if let Some((field, _)) = arguments.iter().find(|(_, value)| value.as_str().is_some_and(|text| text.contains('\0')))
    {
        return Err(Refusal::new(code_of(field), "The text holds control characters; send it without them."));
    }
    let arguments = Value::Object(arguments);
    if let Some(error) = validator.iter_errors(&arguments).next() {
        let path = error.instance_path().as_str();
        let field = path.trim_start_matches('/');
        // Masked: what the model sent is not repeated to it, and not to anyone's log.
        let sentence = match error.kind() {
            ValidationErrorKind::AdditionalProperties { .. } => {
                "There is an argument this tool does not have; use only those of its schema.".to_owned()
            }
            _ if field.is_empty() => format!("The arguments do not fit the schema: {}.", error.masked()),
            _ => format!("The argument {field} does not fit the schema: {}.", error.masked()),
        };
        let code = match error.kind() {
            ValidationErrorKind::AdditionalProperties { .. } => Code::InvalidArguments,
            ValidationErrorKind::Required { property } => code_of(property.as_str().unwrap_or_default()),
            _ => code_of(field),
        };
        return Err(Refusal::new(code, sentence));
    }
    serde_json::from_value(arguments)
        .map_err(|_| Refusal::new(Code::InvalidArguments, "The arguments do not fit the tool's schema."))
}

fn code_of(field: &str) -> Code {
    match field {
        "price" => Code::InvalidPrice,
        "products" => Code::InvalidProducts,
        field if field.starts_with("date_") => Code::InvalidDate,
        _ => Code::InvalidArguments,
    }
}

/// Free text goes to a person's eyes and to SQL `length()`, which both stop making sense at a control character.
pub(super) fn plain(text: &str, code: Code) -> Result<(), Refusal> {
    if text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return Err(Refusal::new(code, "The text holds control characters; send it without them."));
    }
    Ok(())
}

/// A day of the calendar.
pub(super) fn date(field: &str, text: &str) -> Result<NaiveDate, Refusal> {
    // There is no year 0, and the engines would disagree about it.
    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().filter(|day| day.year() > 0).ok_or_else(|| {
        Refusal::new(Code::InvalidDate, format!("{field} is not a day of the calendar; write it as YYYY-MM-DD."))
    })
}

/// The days a read covers, both inclusive; `None` is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub begin: Option<NaiveDate>,
    pub end: Option<NaiveDate>,
}

impl Range {
    pub(super) fn read(begin: Option<&str>, end: Option<&str>) -> Result<Self, Refusal> {
        let begin = begin.map(|text| date("date_sales_begin_str", text)).transpose()?;
        let end = end.map(|text| date("date_sales_end_str", text)).transpose()?;
        if let (Some(first), Some(last)) = (begin, end)
            && first > last
        {
            return Err(Refusal::new(Code::InvalidDate, "The period ends before it begins."));
        }
        Ok(Self { begin, end })
    }

    pub(super) fn is_open(self) -> bool {
        self.begin.is_none() && self.end.is_none()
    }
}
