//! Where in the conversation the model stands: a new message, a choice, a missing value, or the rest of a request whose
//! card was decided.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};

use super::conversation::{Conversation, Event};
use super::grammar::{self, Day, Intent, Period, Price, Request};
use super::talk::{self, Talk};
use super::text::{Mark, Text};
use crate::domain::{Lang, ToolCall};
use chrono::NaiveDate;

/// What is to be done now.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) intents: Vec<Intent>,
    pub(super) talk: Talk,
    pub(super) lang: Lang,
    /// Names that the person has already told apart.
    pub(super) chosen: BTreeMap<String, String>,
    /// The events of this request, from the message on.
    pub(super) since: usize,
    /// Set when a card of this request was decided: where the newest decision stands.
    pub(super) continues: Option<usize>,
}

/// Finds the task that the last events set.
pub(super) fn task(conversation: &Conversation, today: NaiveDate) -> Option<Task> {
    let events = &conversation.events;
    let mut at = events.len();
    while at > 0 && matches!(events.get(at - 1), Some(Event::Call(_) | Event::Result { .. })) {
        at -= 1;
    }
    let last_note = at.checked_sub(1).filter(|i| matches!(events.get(*i), Some(Event::Note(_))));
    while at > 0 && matches!(events.get(at - 1), Some(Event::Note(_))) {
        at -= 1;
    }
    let before = at.checked_sub(1)?;
    match (events.get(before), last_note) {
        (Some(Event::User(_)), _) => task_of(conversation, before, today, 0),
        (Some(_), Some(note)) => {
            let origin = origin(events, note)?;
            let mut task = task_of(conversation, origin, today, 0)?;
            task.continues = Some(note);
            Some(task)
        }
        _ => events
            .iter()
            .rposition(|e| matches!(e, Event::User(_)))
            .and_then(|user| task_of(conversation, user, today, 0)),
    }
}

/// The message whose card was decided last: the one before the newest call whose proposal a note names.
fn origin(events: &[Event], note: usize) -> Option<usize> {
    let writes = || {
        events.iter().take(note).enumerate().rev().filter_map(|(i, e)| match e {
            Event::Call(call) if is_write(call) => Some((i, call)),
            _ => None,
        })
    };
    let call = writes().find(|(_, call)| decided(events, call)).or_else(|| writes().next()).map(|(i, _)| i);
    events.iter().take(call.unwrap_or(note)).rposition(|e| matches!(e, Event::User(_)))
}

/// A note names the proposal that was made of the call.
fn decided(events: &[Event], call: &ToolCall) -> bool {
    let Some(made) = result(events, call).filter(|r| proposed(r)) else { return false };
    let id_char = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    // Proposal ids are the only words of this length in such a result.
    let ids: Vec<&str> = made.split(|c| !id_char(c)).filter(|w| w.len() >= 20).collect();
    events.iter().any(|e| matches!(e, Event::Note(note) if ids.iter().any(|id| note.contains(id))))
}

pub(super) fn is_write(call: &ToolCall) -> bool {
    matches!(call.name.as_str(), "add_sale" | "cancel_sale")
}

fn result<'e>(events: &'e [Event], call: &ToolCall) -> Option<&'e str> {
    events.iter().find_map(|e| match e {
        Event::Result { call_id, content } if *call_id == call.id => Some(content.as_str()),
        _ => None,
    })
}

/// The newest result of a call within a range of events.
pub(super) fn result_within<'e>(
    events: &'e [Event],
    range: Range<usize>,
    tool: &str,
    arguments: &Map<String, Value>,
) -> Option<&'e str> {
    events
        .get(range)?
        .iter()
        .rev()
        .find_map(|e| match e {
            Event::Call(call) if call.name == tool && call.arguments == *arguments => Some(call),
            _ => None,
        })
        .and_then(|call| result(events, call))
}

/// A message without the speaker's name before it.
fn spoken<'m>(conversation: &Conversation, message: &'m str) -> &'m str {
    let asker = &conversation.asker;
    message
        .strip_prefix(asker.as_str())
        .and_then(|rest| rest.strip_prefix(": "))
        .filter(|_| !asker.is_empty())
        .unwrap_or(message)
}

/// How far a short answer is followed back to the question it answers.
const MAX_BACK: usize = 4;

fn task_of(conversation: &Conversation, user: usize, today: NaiveDate, depth: usize) -> Option<Task> {
    let events = &conversation.events;
    let Some(Event::User(message)) = events.get(user) else { return None };
    let message = spoken(conversation, message);
    let default = conversation.lang.unwrap_or(Lang::Ja);
    let request = grammar::read(message, today, default);
    let lang = request.text.lang.unwrap_or(default);
    let new = |request: Request| Task {
        talk: talk::read(&request, message),
        intents: request.intents,
        lang,
        chosen: BTreeMap::new(),
        since: user,
        continues: None,
    };
    let previous = events.iter().take(user).rposition(|e| matches!(e, Event::User(_))).filter(|_| depth < MAX_BACK);
    let Some(previous) = previous else { return Some(new(request)) };
    // Only a message without a word that says what is asked can answer a question.
    if !request.cueless || talk::is_yes(message) {
        return Some(new(request));
    }
    let Some(mut before) = task_of(conversation, previous, today, depth + 1) else { return Some(new(request)) };
    if let Some((name, code)) = choice(events, previous..user, &request.text) {
        before.chosen.insert(name, code);
        return Some(Task { since: user, lang: request.text.lang.unwrap_or(before.lang), ..before });
    }
    if let Some(intents) = filled(conversation, previous, message, &before, today, default) {
        return Some(Task { intents, since: user, ..before });
    }
    if let Some(intents) = other_period(&before, &request) {
        return Some(Task { intents, since: user, lang, ..before });
    }
    Some(new(request))
}

/// The customer picked from a list that the last answer showed, and the name it settles.
fn choice(events: &[Event], turn: Range<usize>, text: &Text) -> Option<(String, String)> {
    let (name, rows) = events.get(turn)?.iter().rev().find_map(|e| match e {
        Event::Call(call) if call.name == "get_customers" => {
            let name = call.arguments.get("name_str_customer")?.as_str()?.to_owned();
            let content: Value = serde_json::from_str(result(events, call)?).ok()?;
            let rows = content.pointer("/data/customers")?.as_array()?.clone();
            (rows.len() > 1).then_some((name, rows))
        }
        _ => None,
    })?;
    let field = |row: &Value, key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let code_of = |row: &Value| field(row, "code_customer");
    if let [(_, code)] = text.codes.as_slice() {
        return rows.iter().map(code_of).find(|c| c == code).map(|c| (name, c));
    }
    if !text.codes.is_empty() || !text.amounts.is_empty() {
        return None;
    }
    let says = |words: &[&str]| text.find(0..text.len(), words).is_some();
    const FIRST: [&str; 14] = [
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
        "top",
        "upper",
        "former",
    ];
    const SECOND: [&str; 9] = ["2番目", "二番目", "2つ目", "二つ目", "ふたつめ", "後者", "second", "2nd", "latter"];
    const LAST: [&str; 8] = ["下の", "下です", "下で", "最後", "last one", "bottom", "lower", "last"];
    let row = if says(&SECOND) {
        rows.get(1)
    } else if says(&LAST) {
        rows.last()
    } else if says(&FIRST) || says(&["1st"]) {
        rows.first()
    } else {
        // A part of one row's name or address, and of no other's: 札幌の方.
        let words: Vec<String> = text
            .low
            .split(|c| super::text::is_hiragana(*c) || c.is_whitespace() || "、。,.!?".contains(*c))
            .map(|w| w.iter().collect::<String>())
            .filter(|w| {
                w.chars().count() >= 2 && !matches!(w.as_str(), "the" | "one" | "in" | "san" | "please" | "mr" | "ms")
            })
            .collect();
        let fits = |row: &&Value| {
            let place = format!("{} {}", field(row, "name_customer"), field(row, "address")).to_lowercase();
            words.iter().any(|w| place.contains(w.as_str()))
        };
        let mut fitting = rows.iter().filter(fits);
        fitting.next().filter(|_| fitting.next().is_none())
    }?;
    Some((name, code_of(row)))
}

/// A registration that lacked something, read again with the words that were missing.
fn filled(
    conversation: &Conversation,
    previous: usize,
    message: &str,
    before: &Task,
    today: NaiveDate,
    default: Lang,
) -> Option<Vec<Intent>> {
    let lacks = |i: &Intent| match i {
        Intent::Register(r) => {
            r.who.is_none() || r.products.is_none() || r.price == Price::Missing || matches!(r.date, Day::Longer { .. })
        }
        _ => false,
    };
    let [only] = before.intents.as_slice() else { return None };
    if !lacks(only) {
        return None;
    }
    let Some(Event::User(first)) = conversation.events.get(previous) else { return None };
    let joint = if before.lang == Lang::Ja { "、" } else { ", " };
    let first = spoken(conversation, first).trim_end_matches(['。', '.', '!', '！', ' ']);
    let again = grammar::read(&format!("{first}{joint}{message}"), today, default);
    // The answer must have filled something, or it was about something else.
    (again.intents.len() == 1 && again.intents.first() != Some(only)).then_some(again.intents)
}

/// 先月は？ after a question about figures asks the same for another period.
fn other_period(before: &Task, request: &Request) -> Option<Vec<Intent>> {
    let found = request.text.dates.first()?;
    let only_dates = request.text.codes.is_empty()
        && request.text.amounts.is_empty()
        && request.text.marks.iter().filter(|m| **m == Mark::Free).count() <= 12;
    let reading = *found.meaning.readings().first()?;
    let new = Some(Period::of(reading));
    let changed: Option<Vec<Intent>> = before
        .intents
        .iter()
        .map(|intent| match intent.clone() {
            Intent::Sales { who, .. } => Some(Intent::Sales { who, period: new }),
            Intent::Total { who, group, .. } => Some(Intent::Total { who, period: new, group }),
            Intent::Mine { .. } => Some(Intent::Mine { period: new }),
            _ => None,
        })
        .collect();
    changed.filter(|c| only_dates && !c.is_empty() && request.intents.iter().all(|i| i.who().is_none()))
}

/// A card of the conversation still waits, as far as the events tell.
pub(super) fn card_waits(events: &[Event]) -> bool {
    events.iter().any(|e| {
        matches!(e, Event::Call(call) if is_write(call) && result(events, call).is_some_and(proposed) && !decided(events, call))
    })
}

/// The host made a card of the call.
pub(super) fn proposed(content: &str) -> bool {
    if let Ok(value) = serde_json::from_str::<Value>(content) {
        if value.get("status").and_then(Value::as_str) == Some("error") || value.get("error").is_some() {
            return false;
        }
        return content.to_lowercase().contains("proposal");
    }
    let low = content.to_lowercase();
    low.contains("proposal") && (low.contains("created") || low.contains("waiting"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_recognised_and_a_refusal_is_none() {
        assert!(proposed("proposal abc created, waiting for the person; shown: 0016 …"));
        assert!(!proposed(r#"{"status":"error","data":{"error":"no such customer","code":"customer_not_found"}}"#));
        assert!(!proposed("Not run: no proposal is left in this turn."));
    }
}
