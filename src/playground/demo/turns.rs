//! Where in the conversation the model stands: a new message, an answer to its question, or the rest of a request whose
//! card was decided.

use std::collections::BTreeMap;
use std::ops::Range;

use chrono::NaiveDate;
use serde_json::{Map, Value};

use super::conversation::{Conversation, Event};
use super::follow_up::{self, Before};
use super::grammar;
use super::message::Message;
use super::request::Intent;
use super::talk::{self, Talk};
use crate::domain::{Lang, ToolCall};

/// How many messages are read again to know what a short one is about.
const MAX_BACK: usize = 8;

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
    let said = |i: usize| events.get(i);
    let mut at = events.len();
    while at > 0 && matches!(said(at - 1), Some(Event::Call(_) | Event::Result { .. })) {
        at -= 1;
    }
    let last_note = at.checked_sub(1).filter(|i| matches!(said(*i), Some(Event::Note(_))));
    while at > 0 && matches!(said(at - 1), Some(Event::Note(_))) {
        at -= 1;
    }
    match (said(at.checked_sub(1)?), last_note) {
        (Some(Event::User(_)), _) => replayed(conversation, at - 1, today),
        (Some(_), Some(note)) => {
            let mut task = replayed(conversation, origin(events, note)?, today)?;
            task.continues = Some(note);
            Some(task)
        }
        _ => replayed(conversation, events.iter().rposition(|e| matches!(e, Event::User(_)))?, today),
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

/// Reads the messages up to the one at `last` in their order, each in the light of those before.
fn replayed(conversation: &Conversation, last: usize, today: NaiveDate) -> Option<Task> {
    let events = &conversation.events;
    let users = events.iter().enumerate().take(last + 1).filter(|(_, e)| matches!(e, Event::User(_))).map(|(i, _)| i);
    let users: Vec<usize> = users.collect();
    let mut before: Option<Task> = None;
    for user in users.iter().skip(users.len().saturating_sub(MAX_BACK)) {
        before = read(conversation, *user, today, before);
    }
    before
}

fn read(conversation: &Conversation, user: usize, today: NaiveDate, before: Option<Task>) -> Option<Task> {
    let events = &conversation.events;
    let Some(Event::User(text)) = events.get(user) else { return before };
    let default = conversation.lang.unwrap_or(Lang::Ja);
    let message = Message::read(spoken(conversation, text), today);
    let plain = talk::plain(&message);
    let spoken_lang = message.lang;
    let request = grammar::read(message, default);
    let lang = spoken_lang.or(before.as_ref().map(|b| b.lang)).unwrap_or(default);
    let task = |intents, talk| Task { intents, talk, lang, chosen: BTreeMap::new(), since: user, continues: None };
    if let Some(talk) = plain {
        return Some(task(Vec::new(), talk));
    }
    let earlier = events.get(..user).unwrap_or_default();
    let context = Before {
        question: before.as_ref().and_then(|b| question(events.get(b.since..user)?)),
        cards: waiting(earlier).into_iter().filter(|(_, shown)| shown.contains_key("products")).collect(),
        last_sale: earlier.iter().rev().find_map(|e| match e {
            Event::Call(call) if call.name == "add_sale" => Some(call.arguments.clone()),
            _ => None,
        }),
        intents: before.as_ref().map(|b| b.intents.clone()).unwrap_or_default(),
        chosen: before.as_ref().map(|b| b.chosen.clone()).unwrap_or_default(),
    };
    let meaning = follow_up::understand(&request, &context);
    let since = before.filter(|_| meaning.goes_on).map_or(user, |b| b.since);
    Some(Task { chosen: meaning.chosen, since, ..task(meaning.intents, talk::other(&request)) })
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

/// The name that fitted several customers in a turn, and their rows.
fn question(turn: &[Event]) -> Option<(String, Vec<Value>)> {
    turn.iter().rev().find_map(|e| match e {
        Event::Call(call) if call.name == "get_customers" => {
            let name = call.arguments.get("name_str_customer")?.as_str()?.to_owned();
            let content: Value = serde_json::from_str(result(turn, call)?).ok()?;
            let rows = content.pointer("/data/customers")?.as_array()?.clone();
            (rows.len() > 1).then_some((name, rows))
        }
        _ => None,
    })
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

/// The results of equal calls within a range of events, oldest first.
pub(super) fn results_within<'e>(
    events: &'e [Event],
    range: Range<usize>,
    tool: &str,
    arguments: &Map<String, Value>,
) -> Vec<&'e str> {
    let calls = events.get(range).unwrap_or_default().iter().filter_map(|e| match e {
        Event::Call(call) if call.name == tool && call.arguments == *arguments => Some(call),
        _ => None,
    });
    calls.filter_map(|call| result(events, call)).collect()
}

/// The proposal that the host made of a call; `None` when it refused.
pub(super) fn proposal(content: &str) -> Option<String> {
    let value: Value = serde_json::from_str(content).ok()?;
    let waits = value.get("status").and_then(Value::as_str) == Some("waiting");
    value.get("proposal").and_then(Value::as_str).filter(|_| waits).map(str::to_owned)
}

/// A note names the proposal that was made of the call, or another card took its place.
fn decided(events: &[Event], call: &ToolCall) -> bool {
    let Some(id) = result(events, call).and_then(proposal) else { return false };
    events.iter().any(|e| match e {
        Event::Note(note) => note.contains(&id),
        Event::Call(other) => other.arguments.get("replaces_proposal").and_then(Value::as_str) == Some(id.as_str()),
        _ => false,
    })
}

/// The sales on cards that still wait, as far as the events tell, with their proposals, oldest first.
pub(super) fn waiting(events: &[Event]) -> Vec<(String, Map<String, Value>)> {
    let calls = events.iter().filter_map(|e| if let Event::Call(call) = e { Some(call) } else { None });
    calls
        .filter(|call| is_write(call) && !decided(events, call))
        .filter_map(|call| Some((result(events, call).and_then(proposal)?, call.arguments.clone())))
        .collect()
}

/// The number of the sale that the host last said was written.
pub(super) fn written(events: &[Event]) -> Option<String> {
    events.iter().rev().find_map(|e| match e {
        Event::Note(note) => {
            let after = note.split_once("\"code_sales\":\"")?.1;
            after.split_once('"').map(|(number, _)| number.to_owned())
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_recognised_and_a_refusal_is_none() {
        assert_eq!(proposal(r#"{"status":"waiting","proposal":"abc"}"#).as_deref(), Some("abc"));
        assert_eq!(proposal(r#"{"status":"error","data":{"error":"no","code":"customer_not_found"}}"#), None);
        assert_eq!(proposal("Not run: no proposal is left in this turn."), None);
    }
}
