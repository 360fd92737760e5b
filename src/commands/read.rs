//! `read`: shows how dates, amounts and quantities in sentences are read, one JSON line for each line of input.

use std::io::{self, BufRead, Write};

use chrono::NaiveDate;
use chrono_tz::Tz;
use clap::ValueEnum;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::domain::Yen;
use crate::reading::{self, Amount, Context, Found, Meaning, Quantity, Reading, Refusal, Tax};

/// What the sentences are read for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Something that already happened.
    #[default]
    Sale,
    /// A search.
    Search,
}

/// What holds for lines that say nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// The zone whose day is the reference day.
    pub zone: Tz,
    /// What the sentences are read for.
    pub purpose: Purpose,
    /// The month in which the fiscal year begins, 1 to 12.
    pub fiscal_start: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    text: String,
    today: Option<NaiveDate>,
    zone: Option<Tz>,
    purpose: Option<Purpose>,
    fiscal_start: Option<u32>,
}

/// Reads sentences, or JSON lines `{"text","today"?,"zone"?,"purpose"?,"fiscal_start"?}`, and prints one JSON line for
/// each as soon as it is read.
///
/// `today` gives the reference day in a zone: a fixed day, or the clock's. A line that begins with `{` must be such an
/// object; the answer to one that is not is `{"error":"…"}`, and the following lines are still read.
///
/// # Errors
/// When reading or writing fails.
pub fn run(
    today: impl Fn(Tz) -> NaiveDate,
    defaults: Defaults,
    reader: impl BufRead,
    mut writer: impl Write,
) -> io::Result<()> {
    for line in reader.lines() {
        let answer = answer(&line?, &today, defaults);
        writeln!(writer, "{answer}")?;
        writer.flush()?;
    }
    Ok(())
}

fn answer(line: &str, today: impl Fn(Tz) -> NaiveDate, defaults: Defaults) -> Value {
    let plain = || Line { text: line.to_owned(), today: None, zone: None, purpose: None, fiscal_start: None };
    let parsed = if line.trim_start().starts_with('{') { serde_json::from_str(line) } else { Ok(plain()) };
    let error = |what: &dyn std::fmt::Display| json!({ "error": format!("not a line this command reads: {what}") });
    let line: Line = match parsed {
        Ok(line) => line,
        Err(why) => return error(&why),
    };
    let fiscal_start = line.fiscal_start.unwrap_or(defaults.fiscal_start);
    if !(1..=12).contains(&fiscal_start) {
        return error(&"fiscal_start is a month, 1 to 12");
    }
    let context = Context {
        today: line.today.unwrap_or_else(|| today(line.zone.unwrap_or(defaults.zone))),
        purpose: match line.purpose.unwrap_or(defaults.purpose) {
            Purpose::Sale => reading::Purpose::Sale,
            Purpose::Search => reading::Purpose::Search,
        },
        fiscal_start,
    };
    let found = reading::read(&line.text, &context);
    json!({
        "dates": found.dates.iter().map(date).collect::<Vec<_>>(),
        "amounts": found.amounts.iter().map(amount).collect::<Vec<_>>(),
        "quantities": found.quantities.iter().map(quantity).collect::<Vec<_>>(),
    })
}

fn date(found: &Found) -> Value {
    item(&found.words, found.start_char, found.end_char, meaning(&found.meaning, reading_value)).into()
}

fn amount(amount: &Amount) -> Value {
    let mut value = meaning(&amount.meaning, |yen: &Yen| json!({ "yen": yen }));
    if let Some(tax) = amount.tax {
        let word = match tax {
            Tax::Included => "included",
            Tax::Excluded => "excluded",
        };
        value.insert("tax".into(), word.into());
    }
    item(&amount.words, amount.start_char, amount.end_char, value).into()
}

fn quantity(quantity: &Quantity) -> Value {
    let value = fields(json!({ "number": quantity.number, "unit": quantity.unit }));
    item(&quantity.words, quantity.start_char, quantity.end_char, value).into()
}

fn item(words: &str, start_char: usize, end_char: usize, more: Map<String, Value>) -> Map<String, Value> {
    let mut value = fields(json!({ "words": words, "start_char": start_char, "end_char": end_char }));
    value.extend(more);
    value
}

/// One reading's own fields, the list of several, or the reason of a refusal.
fn meaning<T>(meaning: &Meaning<T>, one: impl Fn(&T) -> Value) -> Map<String, Value> {
    fields(match meaning {
        Meaning::Clear(only) => one(only),
        Meaning::Ambiguous(several) => json!({ "readings": several.iter().map(one).collect::<Vec<_>>() }),
        Meaning::Refused(why) => json!({ "refused": reason(*why) }),
    })
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn reading_value(reading: &Reading) -> Value {
    match reading {
        Reading::Day(day) => json!({ "date": day }),
        Reading::Range(start, end) => json!({ "start": start, "end": end }),
        Reading::Since(start) => json!({ "start": start }),
        Reading::Until(end) => json!({ "end": end }),
    }
}

/// A stable word for scripts.
fn reason(why: Refusal) -> &'static str {
    match why {
        Refusal::NoSuchDay => "no_such_day",
        Refusal::OtherWeekday => "other_weekday",
        Refusal::EndsBeforeItBegins => "ends_before_it_begins",
        Refusal::OutsideEra => "outside_era",
        Refusal::NotWhole => "not_whole",
        Refusal::Grouping => "grouping",
        Refusal::Negative => "negative",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(input: &str) -> Vec<Value> {
        let mut out = Vec::new();
        let today =
            |zone: Tz| if zone == chrono_tz::Asia::Tokyo { "2026-11-29" } else { "2026-11-28" }.parse().unwrap();
        let defaults = Defaults { zone: chrono_tz::Asia::Tokyo, purpose: Purpose::Sale, fiscal_start: 4 };
        run(today, defaults, input.as_bytes(), &mut out).unwrap();
        String::from_utf8(out).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect()
    }

    #[test]
    fn each_line_gives_one_json_line_with_spans_in_characters() {
        let got = output("0016に先週火曜かぼちゃ4個600円\n\n先月の売上\n");
        assert_eq!(
            got,
            [
                json!({
                    "dates": [{"words": "先週火曜", "start_char": 5, "end_char": 9, "date": "2026-11-17"}],
                    "amounts": [{"words": "600円", "start_char": 15, "end_char": 19, "yen": 600}],
                    "quantities": [{"words": "4個", "start_char": 13, "end_char": 15, "number": 4.0, "unit": "個"}],
                }),
                json!({"dates": [], "amounts": [], "quantities": []}),
                json!({
                    "dates": [{"words": "先月", "start_char": 0, "end_char": 2, "start": "2026-10-01", "end": "2026-10-31"}],
                    "amounts": [], "quantities": [],
                }),
            ]
        );
    }

    #[test]
    fn a_json_line_brings_its_own_day_or_zone() {
        let got = output(concat!(
            r#"{"text":"昨日","today":"2026-03-01"}"#,
            "\n",
            r#"{"text":"today","zone":"America/New_York"}"#,
            "\n",
            r#"{"text":1}"#,
            "\n",
            "today"
        ));
        assert_eq!(got[0]["dates"][0]["date"], "2026-02-28");
        assert_eq!(got[1]["dates"][0]["date"], "2026-11-28");
        assert!(got[2]["error"].is_string());
        assert_eq!(got[3]["dates"][0]["date"], "2026-11-29");
    }

    #[test]
    fn ambiguity_and_refusal_are_shown() {
        let got = output("12/3に\n2月30日\n");
        assert_eq!(got[0]["dates"][0]["readings"], json!([{"date": "2025-12-03"}, {"date": "2026-12-03"}]));
        assert_eq!(got[1]["dates"][0]["refused"], "no_such_day");
    }

    #[test]
    fn open_periods_taxes_and_refused_amounts_are_shown() {
        let got = output("先月以降\n来週以降\n昨日まで\n600円（税込）と500円+税\n1,80円\n3万5で\n");
        assert_eq!(got[0]["dates"][0]["end"], "2026-11-29");
        assert_eq!((&got[1]["dates"][0]["start"], &got[1]["dates"][0]["end"]), (&json!("2026-11-30"), &Value::Null));
        assert_eq!((&got[2]["dates"][0]["start"], &got[2]["dates"][0]["end"]), (&Value::Null, &json!("2026-11-28")));
        assert_eq!([&got[3]["amounts"][0]["tax"], &got[3]["amounts"][1]["tax"]], ["included", "excluded"]);
        assert_eq!(got[4]["amounts"][0]["refused"], "grouping");
        assert_eq!(got[5]["amounts"][0]["readings"], json!([{"yen": 35_000}, {"yen": 30_005}]));
    }
}
