//! Conditions on a registration (まだ0件の場合, if there are no sales yet) and reasons of a cancellation.
//!
//! A condition that is seen but not understood stays one: the registration is then not proposed.

use std::ops::Range;

use chrono::NaiveDate;

use super::cues;
use super::grammar::Test;
use super::names;
use super::text::{Mark, Text};
use crate::domain::Lang;

const MARKERS_JA: [&str; 12] = [
    "場合のみ",
    "場合だけ",
    "場合に限り",
    "場合は",
    "場合に",
    "場合",
    "であれば",
    "なければ",
    "無ければ",
    "なかったら",
    "だったら",
    "なら",
];
const MARKERS_JA_SOME: [&str; 3] = ["あれば", "あったら", "ある時"];
const ABOUT_JA: [&str; 12] =
    ["販売", "売上", "売り上げ", "件", "登録", "購入", "取引", "注文", "データ", "実績", "記録", "何も"];
const NONE_JA: [&str; 14] = [
    "0件",
    "ゼロ",
    "〇件",
    "零件",
    "なし",
    "ない",
    "なければ",
    "無い",
    "無し",
    "無けれ",
    "なかった",
    "まだな",
    "未登録",
    "一件も",
];
const SOME_JA: [&str; 9] =
    ["1件以上", "一件以上", "ある場合", "あれば", "あったら", "あるなら", "既に", "すでに", "1件でも"];

const MARKERS_EN: [&str; 9] = [
    "but only if ",
    "only if ",
    "provided that ",
    "provided ",
    "as long as ",
    "in case ",
    "if ",
    "unless ",
    "only when ",
];
const ABOUT_EN: [&str; 14] = [
    "none",
    "there are no",
    "sale",
    "sales",
    "sold",
    "registered",
    "orders",
    "order",
    "purchase",
    "purchases",
    "bought",
    "nothing",
    "anything",
    "transactions",
];
const NONE_EN: [&str; 13] = [
    "no",
    "zero",
    "0",
    "nothing",
    "none",
    "not",
    "hasn't",
    "haven't",
    "isn't",
    "aren't",
    "wasn't",
    "weren't",
    "without any",
];
const SOME_EN: [&str; 10] = [
    "already",
    "at least one",
    "there are sales",
    "there is a sale",
    "there are",
    "there is",
    "has sales",
    "some",
    "anything",
    "exist",
];

/// The stretch of the message that is a condition, and what it tests.
pub(super) fn find(text: &Text, lang: Lang) -> Option<(Range<usize>, Test)> {
    match lang {
        Lang::Ja => japanese(text),
        Lang::En => english(text),
    }
}

fn japanese(text: &Text) -> Option<(Range<usize>, Test)> {
    let all = 0..text.len();
    let marker = text.find(all.clone(), &MARKERS_JA).or_else(|| text.find(all, &MARKERS_JA_SOME))?;
    let breaks = |i: &usize| text.low.get(*i).is_some_and(|c| "。、,!?！？\n".contains(*c));
    let mut start = (0..marker.start).rev().find(breaks).map_or(0, |i| i + 1);
    // With no comma between: what is to be registered stands before, up to its amount.
    let after_amount = text.amounts.iter().map(|a| a.end_char).filter(|e| (start..marker.start).contains(e)).max();
    start = after_amount.unwrap_or(start);
    let mut end = marker.end;
    while text.low.get(end).is_some_and(|c| "、,はにのみだけ ".contains(*c)) && text.marked(end) == Some(Mark::Free)
    {
        end += 1;
    }
    let range = start..end;
    let says = |words: &[&str]| text.find(range.clone(), words).is_some();
    let test = if !says(&ABOUT_JA) || says(&["未満", "以下", "超え", "より"]) {
        Test::Unclear
    } else if says(&SOME_JA) && !says(&["0件", "ゼロ", "ない", "なければ", "なかった"]) {
        Test::SomeAlready
    } else if says(&NONE_JA) {
        Test::NoneYet
    } else {
        Test::Unclear
    };
    Some((range, test))
}

fn english(text: &Text) -> Option<(Range<usize>, Test)> {
    // "check if …; if there are none": the first asks, the second is the condition.
    let asks = |m: &Range<usize>| {
        ["check ", "see "].iter().any(|w| m.start.checked_sub(w.len()).is_some_and(|p| text.word_at(p, w).is_some()))
    };
    let first = text.find(0..text.len(), &MARKERS_EN)?;
    let marker = if asks(&first) { text.find(first.end..text.len(), &MARKERS_EN)? } else { first };
    let polite =
        text.find(marker.end..text.len(), &["possible", "you can", "you could", "you please", "you don't mind"]);
    if polite.is_some_and(|p| p.start == marker.end) {
        return None;
    }
    let ends =
        [", ", ". ", "! ", "? ", "; ", "\n", " then ", "register", "record", "add", "log", "enter", "book", "please"];
    let end = text.find(marker.end..text.len(), &ends).map_or(text.len(), |e| {
        if text.low.get(e.start).is_some_and(|c| c.is_ascii_alphabetic()) { e.start } else { e.end }
    });
    let range = marker.start..end;
    let says = |words: &[&str]| text.find(range.clone(), words).is_some();
    let mut test = if !says(&ABOUT_EN) || says(&["fewer", "less than", "more than", "under", "over"]) {
        Test::Unclear
    } else if says(&NONE_EN) {
        Test::NoneYet
    } else if says(&SOME_EN) {
        Test::SomeAlready
    } else {
        Test::Unclear
    };
    if text.word_at(marker.start, "unless ").is_some() {
        test = match test {
            Test::NoneYet => Test::SomeAlready,
            Test::SomeAlready => Test::NoneYet,
            Test::Unclear => Test::Unclear,
        };
    }
    Some((range, test))
}

/// The customer a condition names.
pub(super) fn name(text: &Text, range: Range<usize>, lang: Lang) -> Option<String> {
    // The stretch is read as a message of its own; dates in it only need to be seen, not valued.
    let words = text.words(range).replace(" if ", " ").replace("if ", "").replace("unless ", "");
    let mut part = Text::new(&words, NaiveDate::default());
    cues::find(&mut part);
    names::find(&part, 0..part.len(), lang, false).into_iter().next().map(|(_, name)| name)
}

/// Why a sale is to be cancelled, in the person's words.
pub(super) fn reason(text: &Text, lang: Lang) -> Option<String> {
    let tidy = |range: Range<usize>| {
        let words = text.words(range);
        let words = words.trim_matches(|c: char| c.is_whitespace() || "、。,.:;()「」\"-".contains(c)).to_owned();
        (words.chars().count() >= 2).then_some(words)
    };
    let all = 0..text.len();
    match lang {
        Lang::Ja => {
            if let Some(label) = text.find(all, &["理由は", "理由:", "理由 ", "理由、", "理由"]) {
                let end = text
                    .find(label.end..text.len(), &["。", "\n", "で取り消", "で取消", "でキャンセル"])
                    .map_or(text.len(), |r| r.start);
                let words = tidy(label.end..end)?;
                let words =
                    ["です", "だから", "のため", "でした"].iter().find_map(|w| words.strip_suffix(w)).unwrap_or(&words);
                return Some(words.to_owned());
            }
            let because = text.find(
                0..text.len(),
                &["のため", "だったので", "なので", "ので", "ため", "だから", "につき", "により", "だったから"],
            )?;
            // Between the sale's number and the reason stand particles and the verb.
            let start = (0..because.start)
                .rev()
                .find(|i| {
                    text.marked(*i) != Some(Mark::Free) || text.low.get(*i).is_some_and(|c| "。、\n,".contains(*c))
                })
                .map_or(0, |i| i + 1);
            let words = tidy(start..because.start)?;
            Some(words.trim_start_matches(['は', 'を', 'の', 'が']).to_owned()).filter(|w| !w.is_empty())
        }
        Lang::En => {
            let label = text.find(
                all,
                &[
                    "because of ",
                    "because ",
                    "the reason is ",
                    "reason is ",
                    "reason: ",
                    "reason ",
                    "due to ",
                    "since ",
                    "as it ",
                    "as the ",
                    "- ",
                ],
            );
            if let Some(label) = label {
                let end = text.find(label.end..text.len(), &[". ", "\n"]).map_or(text.len(), |r| r.start);
                return tidy(label.end..end);
            }
            // "cancel S…, wrong quantity"
            let last = text.sale_codes.last()?;
            let comma = text.find(last.0.end..text.len(), &[", ", ": ", ". "]).filter(|c| c.start == last.0.end)?;
            tidy(comma.end..text.len()).filter(|w| !w.to_lowercase().starts_with("please"))
        }
    }
}
