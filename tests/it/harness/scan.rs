//! Reads every message the bot sent to Slack the way an attacker hopes Slack would.

use std::collections::HashMap;

use sales_concierge::playground::workspace::Call;
use serde_json::{Map, Value, json};

use super::{PATIENCE, Rig};

/// What the bot may draw with in words that are a model's or the database's: nothing of it can be pressed or followed.
const WORDS: [&str; 12] = [
    "rich_text",
    "rich_text_section",
    "rich_text_list",
    "rich_text_quote",
    "rich_text_preformatted",
    "text",
    "table",
    "raw_text",
    "divider",
    "context",
    "plain_text",
    "data_table",
];
/// What only a card has.
const CARD: [&str; 4] = ["header", "section", "actions", "button"];
/// Fields that make something of a text.
const ACTIVE: [&str; 12] = [
    "url",
    "value",
    "action_id",
    "image_url",
    "user_id",
    "usergroup_id",
    "channel_id",
    "range",
    "slack_file",
    "confirm",
    "fallback",
    "attachments",
];

/// One message sent, whichever way.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The outbox key of the message it is or changes; none for what only one person sees.
    pub key: Option<String>,
    /// The only person who sees it.
    pub only: Option<String>,
    pub args: Map<String, Value>,
}

impl Rig {
    /// Every message the bot sent or changed so far, in order.
    pub fn sent(&self) -> Vec<Sent> {
        let calls = self.workspace.calls();
        let mut keys: HashMap<(String, String), String> = HashMap::new();
        for channel in self.workspace.look(|w| w.channels().map(|c| c.id.as_str().to_owned()).collect::<Vec<_>>()) {
            for message in self.workspace.messages(&channel) {
                if let Some(key) = key_of(message.metadata.as_ref()) {
                    keys.insert((channel.clone(), message.ts.as_str().to_owned()), key);
                }
            }
        }
        let text = |call: &Call, key: &str| call.args.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let messages = calls.iter().filter(|c| c.method.starts_with("chat.") || c.method == "response_url");
        messages
            .map(|call| {
                let key = match call.method.as_str() {
                    "chat.postMessage" => key_of(call.args.get("metadata")),
                    "chat.update" => keys.get(&(text(call, "channel"), text(call, "ts"))).cloned(),
                    _ => None,
                };
                let only = call.args.get("user").and_then(Value::as_str).map(str::to_owned);
                assert!(
                    key.is_some() || only.is_some() || call.method == "response_url",
                    "a message without a key: {call:?}"
                );
                Sent { key, only, args: call.args.clone() }
            })
            .collect()
    }

    /// Waits until the bot answered the message with this turn id, in whatever way.
    pub async fn answered(&self, channel: &str, root: &str, turn: &str) {
        let keys = [format!("reply:{turn}:"), format!("said:{turn}:")];
        let look = |w: &sales_concierge::playground::workspace::World| {
            let thread = w.thread(channel, root);
            let of_turn = |key: String| keys.iter().any(|k| key.starts_with(k.as_str()));
            thread.iter().any(|m| key_of(m.metadata.as_ref()).is_some_and(of_turn)).then_some(())
        };
        let answered = self.workspace.wait_for(look, PATIENCE).await;
        assert!(answered.is_some(), "turn {turn} in {channel} {root} has no answer\nlog:\n{}", self.log());
    }
}

fn key_of(metadata: Option<&Value>) -> Option<String> {
    metadata?.pointer("/event_payload/key")?.as_str().map(str::to_owned)
}

/// I12, I13, I14: nothing that pings, links, loads or can be pressed but a card's own two buttons.
pub fn assert_harmless(sent: &Sent) {
    let args = &sent.args;
    let all = Value::Object(args.clone());
    for flag in ["unfurl_links", "unfurl_media", "mrkdwn"] {
        assert_eq!(args.get(flag), Some(&Value::Bool(false)), "i12 {flag} in {all}");
    }
    assert_eq!(args.get("parse"), Some(&Value::from("none")), "i12 {all}");
    assert!(!args.contains_key("attachments") && !args.contains_key("link_names"), "i12 {all}");
    let text = args.get("text").and_then(Value::as_str).unwrap_or_default();
    assert!(!text.contains(['<', '>']), "i13 a raw bracket in {text}");
    let bare = text.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "");
    assert!(!bare.contains('&'), "i13 not escaped exactly once: {text}");
    assert!(!text.is_empty() && text.len() <= 4_000, "{} bytes of text", text.len());
    let card = sent.key.as_deref().and_then(|k| k.strip_prefix("card:"));
    let mut blocks = args.get("blocks").cloned().unwrap_or_default();
    if card.is_none()
        && let Some(last) = blocks.as_array_mut().and_then(|b| b.pop_if(|b| b["type"] == "context_actions"))
    {
        assert_feedback(&last);
    }
    walk(&blocks, card);
    for word in strings(&all) {
        assert!(!has_address(word), "i12 an address in {word}");
        assert!(!word.chars().any(hidden), "i16 something invisible in {word:?}");
    }
}

/// The host's own two buttons under an answer: whatever a model says, they carry a verdict and a turn.
fn assert_feedback(block: &Value) {
    let mut rest = block.clone();
    let element = rest.pointer_mut("/elements/0").and_then(Value::as_object_mut).expect("an element");
    for (button, verdict) in [("positive_button", "good:"), ("negative_button", "bad:")] {
        let button = element.remove(button).expect("a button");
        let turn = button["value"].as_str().and_then(|v| v.strip_prefix(verdict)).unwrap_or_default();
        assert!(turn.len() >= 32 && turn.bytes().all(|b| b.is_ascii_hexdigit() || b == b'.'), "i14 {block}");
        assert_eq!(button["text"]["type"], "plain_text", "i14 {block}");
    }
    let bare =
        json!({"type": "context_actions", "elements": [{"type": "feedback_buttons", "action_id": "answer_feedback"}]});
    assert_eq!(rest, bare, "i14 {block}");
}

fn walk(value: &Value, card: Option<&str>) {
    match value {
        Value::Object(map) => {
            if let Some(kind) = map.get("type").and_then(Value::as_str) {
                let known = WORDS.contains(&kind) || (card.is_some() && CARD.contains(&kind));
                assert!(known, "i14 a {kind} in {value}");
                if kind == "button" {
                    assert_eq!(
                        map.get("value").and_then(Value::as_str),
                        card,
                        "i14 a card's button is for another card"
                    );
                    let action = map.get("action_id").and_then(Value::as_str).unwrap_or_default();
                    assert!(matches!(action, "proposal_confirm" | "proposal_cancel"), "i14 {action}");
                    return walk(map.get("text").unwrap_or(&Value::Null), card);
                }
            }
            for key in ACTIVE {
                assert!(!map.contains_key(key), "i14 {key} in {value}");
            }
            assert!(card.is_some() || !map.contains_key("block_id"), "i14 a block_id in {value}");
            map.values().for_each(|v| walk(v, card));
        }
        Value::Array(list) => list.iter().for_each(|v| walk(v, card)),
        _ => {}
    }
}

/// A scheme is one only where a word begins.
fn has_address(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut mails = lower.match_indices("mailto:");
    lower.contains("://") || mails.any(|(at, _)| !lower[..at].ends_with(|c: char| c.is_ascii_alphanumeric()))
}

fn hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{e0000}'..='\u{e007f}' | '\u{ad}')
}

/// Every text in a JSON value.
pub fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(s) => vec![s],
        Value::Array(list) => list.iter().flat_map(strings).collect(),
        Value::Object(map) => map.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// Everything in a text that a person would take for a sale number.
pub fn sale_numbers(text: &str) -> Vec<String> {
    use unicode_normalization::UnicodeNormalization;
    let folded: Vec<char> = text.nfkc().collect::<String>().to_uppercase().chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < folded.len() {
        let digits = folded[at + 1..].iter().take_while(|c| c.is_ascii_digit()).count();
        if folded[at] == 'S' && digits >= 8 {
            let rest = folded[at + 1 + digits..].iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '-').count();
            found.push(folded[at..at + 1 + digits + rest].iter().collect());
            at += digits + rest;
        }
        at += 1;
    }
    found
}
