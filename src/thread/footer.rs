//! The small line under an answer: what was done, in words, and that nothing was written.
//!
//! Made by code from what was really called, so no model can claim a look-up, a period or a registration here.

use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation;

use crate::agent::Footer;
use crate::domain::Lang;
use crate::words::{replies, work};

/// The longest argument shown, in graphemes: the line is a reminder, not a record.
const MAX_WORD: usize = 20;

/// The lines under a turn's answer: each tool use once, then what the turn wrote, which is never anything: only a press
/// writes. `cards` is the number of cards that wait; `shortened` tells that older messages were left out.
pub fn lines(lang: Lang, done: &[Footer], cards: usize, shortened: bool) -> Vec<String> {
    let mut uses: Vec<String> = Vec::new();
    for words in done.iter().map(|footer| one(lang, footer)) {
        if !uses.contains(&words) {
            uses.push(words);
        }
    }
    let looked = if uses.is_empty() { replies::nothing_looked_up(lang) } else { uses.join(" / ") };
    let wrote = if cards == 0 { replies::nothing_registered(lang) } else { replies::nothing_done_yet(lang) };
    let mut lines = vec![format!("🔧 {looked} · {wrote}")];
    lines.extend(shortened.then(|| work::shortened(lang)));
    lines
}

fn one(lang: Lang, footer: &Footer) -> String {
    let mut line = match footer.tool.as_str() {
        "get_customers" => replies::tool_get_customers(lang),
        "get_sales" => replies::tool_get_sales(lang),
        "list_registrations" => replies::tool_list_registrations(lang),
        "summarize_sales" => replies::tool_summarize_sales(lang),
        "add_sale" => replies::tool_add_sale(lang),
        "cancel_sale" => replies::tool_cancel_sale(lang),
        _ => replies::tool_other(lang),
    };
    for key in ["code_customer", "name_str_customer", "code_sales", "group_by"] {
        if let Some(word) = footer.arguments.get(key).and_then(Value::as_str).filter(|w| !w.is_empty()) {
            line.push(' ');
            line.push_str(&if key == "group_by" { grouping(lang, word) } else { short(word) });
        }
    }
    if let Some((begin, end)) = footer.period {
        line.push_str(" · ");
        line.push_str(&if begin == end { begin.to_string() } else { replies::period(lang, begin, end) });
    }
    if !footer.ok {
        line.push_str(&replies::tool_gave_nothing(lang));
    }
    line
}

/// A model's word, on one line.
fn short(word: &str) -> String {
    let flat: String = word.chars().filter(|c| !c.is_control()).collect();
    flat.graphemes(true).take(MAX_WORD).collect()
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

    fn footer(tool: &str, arguments: Value, period: Option<(&str, &str)>, ok: bool) -> Footer {
        let period = period.map(|(b, e)| (b.parse().unwrap(), e.parse().unwrap()));
        Footer { tool: tool.into(), arguments: arguments.as_object().unwrap().clone(), period, ok }
    }

    #[test]
    fn the_line_says_what_was_looked_up_and_that_nothing_was_written() {
        let october = Some(("2026-10-01", "2026-10-31"));
        let sales = footer("get_sales", json!({"code_customer": "0002"}), october, true);
        let month = footer("summarize_sales", json!({"group_by": "month"}), october, true);
        insta::assert_snapshot!(lines(Lang::Ja, &[sales.clone(), sales.clone()], 0, false).join("\n"), @"🔧 販売検索 0002 · 2026-10-01〜2026-10-31 · この返信による登録はありません");
        insta::assert_snapshot!(lines(Lang::En, &[sales, month], 1, false).join("\n"), @"🔧 sales search 0002 · 2026-10-01 to 2026-10-31 / sales totals by month · 2026-10-01 to 2026-10-31 · nothing is carried out until the card's button is pressed");
    }

    #[test]
    fn i15_an_answer_without_any_tool_still_carries_the_line() {
        insta::assert_snapshot!(lines(Lang::Ja, &[], 0, false).join("\n"), @"🔧 データは検索していません · この返信による登録はありません");
        let failed = footer("get_customers", json!({"name_str_customer": "x\ny"}), None, false);
        insta::assert_snapshot!(lines(Lang::En, &[failed], 0, true).join("\n"), @r"
        🔧 customer search xy (no result) · nothing was registered by this reply
        older messages were left out
        ");
    }
}
