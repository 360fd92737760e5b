//! What a model sees of a conversation, whichever API it came by.

use std::collections::BTreeSet;

use chrono::NaiveDate;
use serde_json::{Map, Value};

use crate::domain::{Lang, ToolCall};

/// The marker of notes that the host writes.
const HOST: &str = "[host] ";
/// How the host's note begins that tells a model what code read in a message; this model reads with the same code.
const HINT: &str = "Read by code from ";

/// One request to the model.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// The day the instructions name.
    pub(super) today: Option<NaiveDate>,
    /// The language the instructions name.
    pub(super) lang: Option<Lang>,
    /// The asker's name, for taking it off the front of a message.
    pub(super) asker: String,
    /// The names of the tools offered.
    pub(super) tools: BTreeSet<String>,
    /// What happened, oldest first.
    pub(super) events: Vec<Event>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    User(String),
    Assistant(String),
    Call(ToolCall),
    Result {
        call_id: String,
        content: String,
    },
    /// A fact from the host.
    Note(String),
}

/// What the model answers: words, or calls.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    Text(String),
    Calls(Vec<(&'static str, Map<String, Value>)>),
}

impl Conversation {
    /// Takes a system or developer message: a note of the host, or instructions.
    pub(super) fn system(&mut self, text: &str) {
        match text.strip_prefix(HOST) {
            Some(hint) if hint.starts_with(HINT) => {}
            Some(note) => self.events.push(Event::Note(note.to_owned())),
            None => self.instructions(text),
        }
    }

    /// Takes a person's message, without the hint that stands in it where an API knows no other place.
    pub(super) fn user(&mut self, text: &str) {
        let said = text.split_once(&format!("\n\n{HOST}{HINT}")).map_or(text, |(said, _)| said);
        self.events.push(Event::User(said.to_owned()));
    }

    /// Takes the instructions' lines that this model understands.
    pub(super) fn instructions(&mut self, text: &str) {
        for line in text.lines().map(str::trim) {
            if let Some(day) = line.strip_prefix("today: ") {
                self.today = day.split_whitespace().next().and_then(|d| d.parse().ok()).or(self.today);
            } else if let Some(lang) = line.strip_prefix("language: ") {
                self.lang = Some(Lang::from_locale(lang));
            } else if let Some(asker) = line.strip_prefix("asker: ") {
                asker.rsplit_once(" (role ").map_or(asker, |(name, _)| name).clone_into(&mut self.asker);
            }
        }
    }

    /// What is wrong with the order of calls and results, in the words of the API this imitates.
    pub(super) fn fault(&self) -> Option<String> {
        let mut open: BTreeSet<&str> = BTreeSet::new();
        for event in &self.events {
            match event {
                Event::Call(call) => {
                    open.insert(&call.id);
                }
                Event::Result { call_id, .. } => {
                    if !open.remove(call_id.as_str()) {
                        return Some(format!("No tool call found for function call output with call_id {call_id}."));
                    }
                }
                Event::User(_) | Event::Assistant(_) | Event::Note(_) => {
                    if !open.is_empty() {
                        break;
                    }
                }
            }
        }
        open.first().map(|id| format!("No tool output found for function call {id}."))
    }

    /// An id that no call of the conversation has.
    pub(super) fn fresh_call_id(&self, index: usize) -> String {
        let used = |id: &str| self.events.iter().any(|e| matches!(e, Event::Call(c) if c.id == id));
        let mut n = self.events.len();
        loop {
            let id = format!("call_{n}_{index}");
            if !used(&id) {
                return id;
            }
            n += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_in_a_message_is_not_the_persons_word() {
        let mut conversation = Conversation::default();
        conversation.user("先週の売上は？\n\n[host] Read by code from the asker's message: “先週” is ….");
        conversation.user("[host] と書いてみる");
        let said = ["先週の売上は？", "[host] と書いてみる"].map(|text| Event::User(text.to_owned()));
        assert_eq!(conversation.events, said);
    }
}
