//! The small line under an answer: what was done, in words, and that nothing was written.
//!
//! Made by code from what was really called, so no model can claim a look-up, a period or a registration here.

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::Lang;
use crate::mcp::ToolOutput;
use crate::words::replies;

/// The period a read used; an open end is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Period {
    /// First day.
    pub begin: Option<NaiveDate>,
    /// Last day.
    pub end: Option<NaiveDate>,
}

/// One tool use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Footer {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// The period it used, if one was asked.
    pub period: Option<Period>,
    /// Whether it gave rows rather than an error.
    pub ok: bool,
}

/// The longest argument shown; the line is a reminder, not a record.
const MAX_WORD: usize = 20;

impl Footer {
    /// Of a call and what it gave: `None` when it gave no answer.
    pub(super) fn of(tool: &str, arguments: &Map<String, Value>, output: Option<&ToolOutput>) -> Self {
        Self {
            tool: tool.to_owned(),
            arguments: arguments.clone(),
            period: output.and_then(|o| Period::deserialize(o.data().get("period")?).ok()),
            ok: output.is_some_and(|o| !o.is_error),
        }
    }

    /// `販売検索 0002 · 2026-10-01〜2026-10-31`. The arguments are a model's words: the caller escapes the line.
    pub fn words(&self, lang: Lang) -> String {
        let mut line = name(lang, &self.tool);
        for key in ["code_customer", "name_str_customer", "code_sales", "group_by"] {
            if let Some(word) = self.arguments.get(key).and_then(Value::as_str).filter(|w| !w.is_empty()) {
                line.push(' ');
                let word = if key == "group_by" { grouping(lang, word) } else { word.to_owned() };
                line.extend(word.chars().filter(|c| !c.is_control()).take(MAX_WORD));
            }
        }
        if let Some(period) = self.period {
            let day = |d: Option<NaiveDate>| d.map(|d| d.to_string()).unwrap_or_default();
            let (begin, end) = (day(period.begin), day(period.end));
            line.push_str(" · ");
            line.push_str(&if begin == end { begin } else { replies::period(lang, begin, end) });
        }
        if !self.ok {
            line.push_str(&replies::tool_gave_nothing(lang));
        }
        line
    }
}

/// The line under an answer: each tool use once, then what this message wrote. `cards` is the number of cards made
/// with it.
pub fn line(lang: Lang, done: &[Footer], cards: usize) -> String {
    let mut uses: Vec<String> = Vec::new();
    for words in done.iter().map(|f| f.words(lang)) {
        if !uses.contains(&words) {
            uses.push(words);
        }
    }
    let looked = if uses.is_empty() { replies::nothing_looked_up(lang) } else { uses.join(" / ") };
    let wrote = if cards == 0 { replies::nothing_registered(lang) } else { replies::nothing_registered_yet(lang) };
    format!("🔧 {looked} · {wrote}")
}

/// What the tool is called in the line and in the status while working.
pub fn name(lang: Lang, tool: &str) -> String {
    match tool {
        "get_customers" => replies::tool_get_customers(lang),
        "get_sales" => replies::tool_get_sales(lang),
        "list_registrations" => replies::tool_list_registrations(lang),
        "summarize_sales" => replies::tool_summarize_sales(lang),
        "add_sale" => replies::tool_add_sale(lang),
        "cancel_sale" => replies::tool_cancel_sale(lang),
        _ => replies::tool_other(lang),
    }
}

fn grouping(lang: Lang, group_by: &str) -> String {
    match group_by {
        "total" => replies::by_total(lang),
        "day" => replies::by_day(lang),
        "week" => replies::by_week(lang),
        "month" => replies::by_month(lang),
        "customer" => replies::by_customer(lang),
        "staff" => replies::by_staff(lang),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn footer(tool: &str, arguments: Value, data: Value) -> Footer {
        let output = ToolOutput { is_error: false, structured: json!({"status": "success", "data": data}) };
        Footer::of(tool, arguments.as_object().unwrap(), Some(&output))
    }

    #[test]
    fn the_line_says_what_was_looked_up_and_that_nothing_was_written() {
        let period = json!({"period": {"begin": "2026-10-01", "end": "2026-10-31"}});
        let sales = footer("get_sales", json!({"code_customer": "0002"}), period.clone());
        let month = footer("summarize_sales", json!({"group_by": "month"}), period);
        insta::assert_snapshot!(line(Lang::Ja, &[sales.clone(), sales.clone()], 0), @"🔧 販売検索 0002 · 2026-10-01〜2026-10-31 · この返信による登録はありません");
        insta::assert_snapshot!(line(Lang::En, &[sales, month], 1), @"🔧 sales search 0002 · 2026-10-01 to 2026-10-31 / sales totals by month · 2026-10-01 to 2026-10-31 · nothing is registered until the card's button is pressed");
    }

    #[test]
    fn i15_an_answer_without_any_tool_still_carries_the_line() {
        insta::assert_snapshot!(line(Lang::Ja, &[], 0), @"🔧 データは検索していません · この返信による登録はありません");
        insta::assert_snapshot!(line(Lang::En, &[], 0), @"🔧 no data was looked up · nothing was registered by this reply");
        let failed = Footer::of("get_customers", json!({"name_str_customer": "x\ny"}).as_object().unwrap(), None);
        insta::assert_snapshot!(line(Lang::En, &[failed], 0), @"🔧 customer search xy (no result) · nothing was registered by this reply");
    }
}
