//! Which of several customers an answer picks: by code, by place in the list, by a part of the name or address.

use serde_json::Value;

use super::message::{Kind, Message};
use super::script::{is_hiragana, is_word};

const FIRST: [&str; 16] = [
    "上の",
    "上です",
    "上で",
    "1番目",
    "一番目",
    "1つ目",
    "一つ目",
    "ひとつめ",
    "最初",
    "前者",
    "first",
    "1st",
    "top",
    "upper",
    "former",
    "number one",
];
const SECOND: [&str; 11] =
    ["2番目", "二番目", "2つ目", "二つ目", "ふたつめ", "後者", "second", "2nd", "latter", "number two", "number 2"];
const LAST: [&str; 8] = ["下の", "下です", "下で", "最後", "last one", "bottom", "lower", "last"];

/// The code of the row that a message picks.
pub(super) fn choice(message: &Message, rows: &[Value]) -> Option<String> {
    let field = |row: &Value, key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let code_of = |row: &Value| field(row, "code_customer");
    let codes: Vec<&str> = message.tokens.iter().filter(|t| t.kind == Kind::Code).map(|t| t.low.as_str()).collect();
    if let [code] = codes.as_slice() {
        return rows.iter().map(code_of).find(|c| c == code);
    }
    if !codes.is_empty() || message.tokens.iter().any(|t| matches!(t.kind, Kind::Amount(_))) {
        return None;
    }
    let end = message.tokens.last()?.at.end;
    let text = message.words(0..end).to_lowercase();
    let says = |words: &[&str]| words.iter().any(|w| text.contains(w));
    let row = if says(&SECOND) {
        rows.get(1)
    } else if says(&FIRST) {
        rows.first()
    } else if says(&LAST) {
        rows.last()
    } else {
        // A part of one row's name or address, and of no other's: 札幌の方.
        let whole = text.split_whitespace().map(|w| w.trim_end_matches("です").trim_end_matches("の方"));
        let pieces = text.split(|c: char| is_hiragana(c) || !is_word(c));
        let words: Vec<&str> = whole
            .chain(pieces)
            .filter(|w| w.chars().count() >= 2 && !matches!(*w, "the" | "one" | "in" | "san" | "please" | "mr" | "ms"))
            .collect();
        let fits = |row: &&Value| {
            let place = format!("{} {}", field(row, "name_customer"), field(row, "address")).to_lowercase();
            words.iter().any(|w| place.contains(w))
        };
        let mut fitting = rows.iter().filter(fits);
        fitting.next().filter(|_| fitting.next().is_none())
    }?;
    Some(code_of(row))
}
