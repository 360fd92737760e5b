//! `read`: shows how dates, amounts and quantities in sentences are read, one JSON line for each line of input.

use std::io::{self, BufRead, Write};

use chrono::NaiveDate;
use chrono_tz::Tz;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::reading::{self, Found, Meaning, Reading, Refusal};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    text: String,
    today: Option<NaiveDate>,
    zone: Option<Tz>,
}

/// Reads sentences, or JSON lines `{"text","today"?,"zone"?}`, and prints one JSON line for each.
///
/// `today` gives the reference day in a zone: a fixed day, or the clock's; `zone` is the one of lines that name none.
/// A line that begins with `{` must be such an object; the answer to one that is not is `{"error":"…"}`, and the
/// following lines are still read.
///
/// # Errors
/// When reading or writing fails.
pub fn run(today: impl Fn(Tz) -> NaiveDate, zone: Tz, reader: impl BufRead, mut writer: impl Write) -> io::Result<()> {
    for line in reader.lines() {
        let line = line?;
        let answer = if line.trim_start().starts_with('{') {
            match serde_json::from_str::<Line>(&line) {
                Ok(l) => reading_of(&l.text, l.today.unwrap_or_else(|| today(l.zone.unwrap_or(zone)))),
                Err(error) => json!({ "error": format!("not a line this command reads: {error}") }),
            }
        } else {
            reading_of(&line, today(zone))
        };
        writeln!(writer, "{answer}")?;
    }
    writer.flush()
}

fn reading_of(text: &str, today: NaiveDate) -> Value {
    let dates: Vec<Value> = reading::dates(text, today).iter().map(date).collect();
    let amounts: Vec<Value> = reading::amounts(text)
        .iter()
        .map(|a| json!({"words": a.words, "start_char": a.start_char, "end_char": a.end_char, "yen": a.yen}))
        .collect();
    let quantities: Vec<Value> = reading::quantities(text)
        .iter()
        .map(|q| {
            json!({"words": q.words, "start_char": q.start_char, "end_char": q.end_char, "number": q.number, "unit": q.unit})
        })
        .collect();
    json!({ "dates": dates, "amounts": amounts, "quantities": quantities })
}

fn date(found: &Found) -> Value {
    let mut value = json!({"words": found.words, "start_char": found.start_char, "end_char": found.end_char});
    let more = match &found.meaning {
        Meaning::Clear(only) => reading_value(only),
        Meaning::Ambiguous(several) => json!({ "readings": several.iter().map(reading_value).collect::<Vec<_>>() }),
        Meaning::Refused(why) => json!({ "refused": reason(*why) }),
    };
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
    }
    value
}

fn reading_value(reading: &Reading) -> Value {
    match reading {
        Reading::Day(day) => json!({ "date": day }),
        Reading::Range(start, end) => json!({ "start": start, "end": end }),
    }
}

/// A stable word for scripts.
fn reason(why: Refusal) -> &'static str {
    match why {
        Refusal::NoSuchDay => "no_such_day",
        Refusal::OtherWeekday => "other_weekday",
        Refusal::EndsBeforeItBegins => "ends_before_it_begins",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(input: &str) -> Vec<Value> {
        let mut out = Vec::new();
        let today =
            |zone: Tz| if zone == chrono_tz::Asia::Tokyo { "2026-11-29" } else { "2026-11-28" }.parse().unwrap();
        run(today, chrono_tz::Asia::Tokyo, input.as_bytes(), &mut out).unwrap();
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
        let got = output("12/3\n2月30日\n");
        assert_eq!(got[0]["dates"][0]["readings"], json!([{"date": "2025-12-03"}, {"date": "2026-12-03"}]));
        assert_eq!(got[1]["dates"][0]["refused"], "no_such_day");
    }
}
