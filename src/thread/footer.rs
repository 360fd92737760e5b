//! The small line under an answer: what was done, in words, and that nothing was written.
//!
//! Made by code from what was really called, so no model can claim a look-up, a period or a registration here.

use chrono::{Datelike, NaiveDate};
use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation;

use crate::agent::{Footer, Spoken};
use crate::domain::{Lang, Person};
use crate::words::{replies, work};

/// The longest argument shown, in graphemes: the line is a reminder, not a record.
const MAX_WORD: usize = 20;

/// Readings named at most.
const READINGS: usize = 2;

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
    let word = |key| footer.arguments.get(key).and_then(Value::as_str).filter(|w| !w.is_empty());
    let whose = word("registered_by").map(|who| replies::registrations_by(lang, short(&spoken(who))));
    let group = word("group_by").map(|group_by| grouping(lang, group_by));
    let named = ["code_customer", "name_str_customer", "code_sales"].into_iter().filter_map(|key| word(key).map(short));
    for said in named.chain(whose).chain(group) {
        line.push(' ');
        line.push_str(&said);
    }
    if let Some(period) = footer.period.and_then(|(begin, end)| period(lang, begin, end)) {
        line.push_str(" · ");
        line.push_str(&period);
    }
    // Words stand behind the period they explain, or behind nothing when they name one that was not asked for.
    if let Some(spoken) =
        footer.spoken.as_ref().filter(|s| footer.period.is_some() || (footer.ok && s.instead.is_some()))
    {
        line.push_str(&said(lang, spoken));
    }
    if footer.arguments.get("include_cancelled").and_then(Value::as_bool) == Some(true) {
        line.push_str(" · ");
        line.push_str(&replies::with_cancelled(lang));
    }
    if !footer.ok {
        line.push_str(&replies::tool_gave_nothing(lang));
    }
    line
}

/// The asker's words for the period, or that they say another one.
fn said(lang: Lang, spoken: &Spoken) -> String {
    let words = spoken.words.join(&replies::and(lang));
    match &spoken.instead {
        None if spoken.is_part => replies::period_part(lang, words),
        None => replies::period_said(lang, words),
        Some(readings) if readings.is_empty() => replies::period_is_none(lang, words),
        Some(readings) => {
            let all = readings.iter().take(READINGS).filter_map(|r| period(lang, r.start(), r.end()));
            replies::period_differs(lang, words, all.collect::<Vec<_>>().join(" / "))
        }
    }
}

/// Days in a line: a second one of the same year without the year, an open end said as such.
fn period(lang: Lang, begin: Option<NaiveDate>, end: Option<NaiveDate>) -> Option<String> {
    Some(match (begin, end) {
        (Some(begin), Some(end)) if begin == end => begin.to_string(),
        (Some(begin), Some(end)) if begin.year() == end.year() => replies::period(lang, begin, end.format("%m-%d")),
        (Some(begin), Some(end)) => replies::period(lang, begin, end),
        (Some(begin), None) => replies::period_from(lang, begin),
        (None, Some(end)) => replies::period_until(lang, end),
        (None, None) => return None,
    })
}

/// A person's id without what surrounds it in tokens, else the name as the model gave it.
fn spoken(who: &str) -> String {
    Person::from_subject(who).map_or_else(|| who.to_owned(), |person| person.user.to_string())
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
    use crate::domain::ToolCall;
    use crate::reading::Reading;

    fn footer(tool: &str, arguments: Value, period: Option<(&str, &str)>, ok: bool) -> Footer {
        let day = |day: &str| (!day.is_empty()).then(|| day.parse().unwrap());
        let period = period.map(|(begin, end)| (day(begin), day(end)));
        Footer { tool: tool.into(), arguments: arguments.as_object().unwrap().clone(), period, spoken: None, ok }
    }

    #[test]
    fn the_line_says_what_was_looked_up_and_that_nothing_was_written() {
        let october = Some(("2026-10-01", "2026-10-31"));
        let sales = footer("get_sales", json!({"code_customer": "0002"}), october, true);
        let month = footer("summarize_sales", json!({"group_by": "month"}), october, true);
        insta::assert_snapshot!(lines(Lang::Ja, &[sales.clone(), sales.clone()], 0, false).join("\n"), @"🔧 販売検索 0002 · 2026-10-01〜10-31 · この返信による登録はありません");
        insta::assert_snapshot!(lines(Lang::En, &[sales, month], 1, false).join("\n"), @"🔧 sales search 0002 · 2026-10-01 to 10-31 / sales totals by month · 2026-10-01 to 10-31 · nothing is carried out until the card's button is pressed");
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

    #[test]
    fn a_period_is_shown_whichever_ends_it_has() {
        let of = |lang, begin, end| {
            let read = footer("get_sales", json!({}), Some((begin, end)), true);
            one(lang, &read).split_once(" · ").map(|(_, period)| period.to_owned())
        };
        for (begin, end, ja, en) in [
            ("2026-10-01", "2026-10-31", "2026-10-01〜10-31", "2026-10-01 to 10-31"),
            ("2025-12-01", "2026-01-31", "2025-12-01〜2026-01-31", "2025-12-01 to 2026-01-31"),
            ("2026-10-01", "2026-10-01", "2026-10-01", "2026-10-01"),
            ("2026-10-01", "", "2026-10-01〜", "from 2026-10-01"),
            ("", "2026-10-31", "〜2026-10-31", "until 2026-10-31"),
        ] {
            assert_eq!(of(Lang::Ja, begin, end).as_deref(), Some(ja));
            assert_eq!(of(Lang::En, begin, end).as_deref(), Some(en));
        }
    }

    #[test]
    fn whose_registrations_and_whether_cancelled_ones_are_among_them_is_shown() {
        let open = Some(("2026-10-01", ""));
        let named =
            footer("list_registrations", json!({"registered_by": "青木", "include_cancelled": true}), open, true);
        assert_eq!(one(Lang::Ja, &named), "登録一覧 登録者 青木 · 2026-10-01〜 · 取り消し済みを含む");
        assert_eq!(one(Lang::En, &named), "registrations by 青木 · from 2026-10-01 · including cancelled ones");
        let id = json!({"registered_by": "slack:T0123456789:U0123456789", "include_cancelled": false});
        assert_eq!(one(Lang::En, &footer("list_registrations", id, None, true)), "registrations by U0123456789");
    }

    #[test]
    fn a_stored_result_gives_the_same_line_as_when_it_was_new() {
        let call = |name: &str, arguments: Value| ToolCall {
            id: "c".into(),
            name: name.into(),
            arguments: arguments.as_object().unwrap().clone(),
        };
        let read = call("get_sales", json!({"code_customer": "0002"}));
        for (content, line) in [
            (
                json!({"status": "success", "data": {"period": {"begin": "2026-10-01", "end": null}}}).to_string(),
                "販売検索 0002 · 2026-10-01〜",
            ),
            (json!({"status": "success", "data": {"sales": []}}).to_string(), "販売検索 0002"),
            (json!({"status": "error", "data": {"code": "not_allowed"}}).to_string(), "販売検索 0002（結果なし）"),
            ("{\"data\": {\"sales\": [… [cut".to_owned(), "販売検索 0002"),
        ] {
            assert_eq!(one(Lang::Ja, &Footer::from_result(&read, &content).unwrap()), line, "{content}");
        }
        let write = call("add_sale", json!({"code_customer": "0002"}));
        assert_eq!(one(Lang::Ja, &Footer::prepared(&write)), "販売登録の準備 0002");
    }

    #[test]
    fn a_period_shows_the_words_it_came_from_or_that_they_say_another() {
        let week = Some(("2026-11-16", "2026-11-22"));
        let spoken = |words: &str, instead: Option<Vec<Reading>>| {
            Some(Spoken { words: vec![words.into()], instead, is_part: false })
        };
        let line = |lang, spoken| {
            one(lang, &Footer { spoken, ..footer("get_sales", json!({"code_customer": "0002"}), week, true) })
        };
        let other = Reading::Range("2026-11-09".parse().unwrap(), "2026-11-15".parse().unwrap());
        insta::assert_snapshot!(line(Lang::Ja, spoken("先週", None)), @"販売検索 0002 · 2026-11-16〜11-22（「先週」）");
        insta::assert_snapshot!(line(Lang::En, spoken("last week", None)), @"sales search 0002 · 2026-11-16 to 11-22 (“last week”)");
        insta::assert_snapshot!(line(Lang::Ja, spoken("先々週", Some(vec![other]))), @"販売検索 0002 · 2026-11-16〜11-22（⚠ 「先々週」は 2026-11-09〜11-15 と読めます）");
        insta::assert_snapshot!(line(Lang::En, spoken("2月30日", Some(Vec::new()))), @"sales search 0002 · 2026-11-16 to 11-22 (⚠ “2月30日” is not a valid date)");
    }

    #[test]
    fn a_call_that_the_host_held_back_is_no_use_of_a_tool() {
        let call = ToolCall { id: "c".into(), name: "get_sales".into(), arguments: serde_json::Map::new() };
        let held = r#"{"status":"error","data":{"code":"words_differ","error":"Not run."},"not_run":true}"#;
        assert_eq!(Footer::from_result(&call, held), None);
    }
}
