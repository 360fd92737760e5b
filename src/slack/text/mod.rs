//! Text on its way to Slack: whatever a model, a database or a person wrote comes out readable and harmless.
//!
//! What it promises: no ping, no clickable or previewed link, no interactive element and no invisible character ever
//! leaves here, whatever the input; every message keeps Slack's limits; nothing is lost, since what does not fit goes
//! into further messages, cut between graphemes. Text travels in `rich_text` blocks, whose text elements Slack shows
//! literally: no escaping to forget, and bold works beside Japanese, where Slack's own marks do not.

mod links;
mod markdown;
mod marks;
mod render;
mod split;
mod visible;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(super) use links::unlink;
pub(super) use split::clamp;
pub use visible::visible;

use crate::domain::Lang;
use crate::words;
use markdown::Block;

/// What is posted: the outbox stores it as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// The text for notifications and screen readers, escaped. It says all that the blocks say, in at most 4,000 bytes
    /// (the stricter limit of `chat.update`), so that it can stand alone.
    pub text: String,
    /// Block Kit blocks; `null` for a text-only message.
    pub blocks: Value,
}

/// A model's Markdown as messages, none when there is nothing to show. The footer's lines, the host's own statement of
/// what was done, stand under each of them (I15). `check` has a word to say about each paragraph, item and cell as
/// people will read it, free of marks, entities and invisible characters, before it is drawn.
pub fn reply_checked(markdown: &str, footer: &[String], lang: Lang, check: &dyn Fn(&str) -> String) -> Vec<Body> {
    let blocks = markdown::parse(&visible(markdown), lang);
    render::bodies(blocks.into_iter().map(|block| block.checked(check)).collect(), footer)
}

/// A host's sentence as messages, none when there is nothing to show; no mark in it means anything.
pub fn plain(text: &str, footer: &[String]) -> Vec<Body> {
    let text = visible(text);
    let block = (!text.trim().is_empty()).then(|| Block::plain(&text));
    render::bodies(block.into_iter().collect(), footer)
}

/// The message in a simpler form, for when Slack refuses this one: sending the same again would fail again. A card is
/// reduced to its words and buttons, everything else to its text, a text to one short sentence. `None`: there is no
/// simpler form, and what cannot be pressed is no card.
pub fn fallback(body: &Body) -> Option<Body> {
    let blocks = body.blocks.as_array().map(Vec::as_slice).unwrap_or_default();
    let is = |block: &Value, kind: &str| block.get("type").and_then(Value::as_str) == Some(kind);
    if let Some(buttons) = blocks.iter().find(|block| is(block, "actions")) {
        if blocks.len() == 2 && blocks.first().is_some_and(|block| is(block, "section")) {
            return None;
        }
        let mut lines = Vec::new();
        blocks.iter().filter(|block| !is(block, "actions")).for_each(|block| plain_texts(block, &mut lines));
        let section = json!({
            "type": "section",
            "text": { "type": "plain_text", "text": clamp(&lines.join("\n"), SECTION), "emoji": false },
        });
        return Some(Body { text: body.text.clone(), blocks: json!([section, buttons]) });
    }
    if !blocks.is_empty() {
        return Some(Body { text: body.text.clone(), blocks: Value::Null });
    }
    let notice = |lang| escape(&words::replies::not_shown(lang));
    let is_notice = [Lang::Ja, Lang::En].into_iter().any(|lang| body.text == notice(lang));
    (!is_notice).then(|| Body { text: notice(language(&body.text)), blocks: Value::Null })
}

/// Slack's limit of a section's text, in UTF-16 units.
const SECTION: usize = 3000;

/// The texts of a block's `plain_text` objects, in order.
fn plain_texts(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(map) if map.get("type").and_then(Value::as_str) == Some("plain_text") => {
            out.extend(map.get("text").and_then(Value::as_str).map(str::to_owned));
        }
        Value::Object(map) => map.values().for_each(|value| plain_texts(value, out)),
        Value::Array(list) => list.iter().for_each(|value| plain_texts(value, out)),
        _ => {}
    }
}

/// The language in which a message was written.
fn language(text: &str) -> Lang {
    if text.contains(|c| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}')) { Lang::Ja } else { Lang::En }
}

/// Text for the `text` field: Slack's three escapes, once.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            _ => out.push(c),
        }
    }
    out
}

/// As much of the text as fits the `text` field's bytes, escaped.
pub(super) fn escaped_clamp(text: &str, max: usize) -> String {
    escape(&split::clamp_bytes(text, max))
}

/// A value for one line of a card or footer: visible, without line breaks that could fake another line, unlinked.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<String> = visible(text).split_whitespace().map(str::to_owned).collect();
    unlink(&words.join(" "))
}

#[cfg(test)]
mod tests;
