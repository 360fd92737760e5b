//! What passed between the workspace and the bot, for tests and for those who want to look underneath.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::SignedRequest;
use crate::domain::{ChannelId, MessageTs, UserId};

/// How many calls and deliveries are remembered; a playground may run for weeks.
const REMEMBERED: usize = 20_000;
/// Of how many deliveries and presses the exact bytes are kept.
const SHOWN: usize = 200;
/// Of one call no more is kept than this, in bytes as JSON.
const KEPT_BYTES: usize = 64 * 1024;
/// The name of a method that there is not may be of any length.
const METHOD_CHARS: usize = 80;
/// Stands for what is not kept.
const LEFT_OUT: &str = "…";

/// A recorded call of the Web API, or of a `response_url` (method `response_url`), by whoever may make it or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Such as `chat.postMessage`.
    pub method: String,
    /// The arguments, however they were sent and without the token; of more than 64 KiB a part.
    pub args: Map<String, Value>,
    /// Why the caller was turned away at the door, such as `invalid_auth`; then the arguments are not kept.
    pub refused: Option<String>,
    /// Milliseconds since the epoch, on the workspace's clock.
    pub at: i64,
}

/// An event on its way to the bot.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// When it was sent on its way: milliseconds since the epoch, on the workspace's clock.
    pub at: i64,
    /// The same on each attempt.
    pub event_id: String,
    /// The inner event's type, such as `app_mention`.
    pub kind: String,
    /// The message it is about, if it is about one.
    pub message: Option<(ChannelId, MessageTs)>,
    /// What was tried so far.
    pub attempts: Vec<Attempt>,
    /// The request of the last attempt, for the newest 200 deliveries.
    pub request: Option<SignedRequest>,
}

/// One attempt of a delivery.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Milliseconds since the epoch, on the workspace's clock.
    pub at: i64,
    /// The bot's HTTP status; none when it did not answer within 3 s or could not be reached.
    pub status: Option<u16>,
    /// How long the answer took; none when there was none.
    pub took_ms: Option<i64>,
}

/// Something a person did with what the bot has shown: a press, a modal, a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Interaction {
    /// Milliseconds since the epoch, on the workspace's clock.
    pub at: i64,
    /// Who did it.
    pub user: UserId,
    /// The payload's type, such as `block_actions`, or `command`.
    pub kind: String,
    /// The message they used, if it was one.
    pub message: Option<(ChannelId, MessageTs)>,
    /// The `action_id`, the view's id or the command.
    pub action: String,
    /// The exact request.
    pub request: SignedRequest,
    /// The bot's HTTP status; none when it did not answer within 3 s or could not be reached.
    pub status: Option<u16>,
    /// How long the answer took; none when there was none.
    pub took_ms: Option<i64>,
}

/// The newest of each kind, oldest first.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) calls: VecDeque<Call>,
    pub(super) deliveries: VecDeque<Delivery>,
    pub(super) interactions: VecDeque<Interaction>,
}

fn push<T>(list: &mut VecDeque<T>, item: T, most: usize) {
    if list.len() >= most {
        list.pop_front();
    }
    list.push_back(item);
}

/// Arguments without the token, and without the largest of them when they are too large together.
fn kept(args: &Map<String, Value>) -> Map<String, Value> {
    let sized = args.iter().filter(|(name, _)| *name != "token");
    let mut sized: Vec<_> = sized.map(|(name, value)| (name.len() + value.to_string().len(), name, value)).collect();
    sized.sort_by_key(|(size, ..)| *size);
    let mut left = KEPT_BYTES;
    let fits = |(size, name, value): (usize, &String, &Value)| {
        let room = left.checked_sub(name.len())?;
        left = left.saturating_sub(size);
        let value = match value {
            whole if size <= room => whole.clone(),
            Value::String(text) => {
                let end = text.floor_char_boundary(room);
                format!("{}{LEFT_OUT}", text.get(..end).unwrap_or_default()).into()
            }
            _ => LEFT_OUT.into(),
        };
        Some((name.clone(), value))
    };
    sized.into_iter().map_while(fits).collect()
}

impl Ledger {
    /// A call was made by somebody who may make it.
    pub(super) fn called(&mut self, method: &str, args: &Map<String, Value>, at: i64) {
        let call = Call { method: method.into(), args: kept(args), refused: None, at };
        push(&mut self.calls, call, REMEMBERED);
    }

    /// Somebody who may not make it tried a call: they decide nothing of what is kept but a name.
    pub(super) fn refused(&mut self, method: &str, code: &str, at: i64) {
        let method = method.chars().take(METHOD_CHARS).collect();
        let call = Call { method, args: Map::new(), refused: Some(code.into()), at };
        push(&mut self.calls, call, REMEMBERED);
    }

    pub(super) fn delivering(&mut self, delivery: Delivery) {
        push(&mut self.deliveries, delivery, REMEMBERED);
        let old = self.deliveries.len().checked_sub(SHOWN + 1).and_then(|i| self.deliveries.get_mut(i));
        if let Some(old) = old {
            old.request = None;
        }
    }

    /// An attempt was made. Of a delivery that is no longer among the newest the request is not kept.
    pub(super) fn attempted(&mut self, event_id: &str, attempt: Attempt, request: SignedRequest) {
        let found = self.deliveries.iter_mut().rev().enumerate().find(|(_, d)| d.event_id == event_id);
        if let Some((age, delivery)) = found {
            delivery.attempts.push(attempt);
            delivery.request = (age < SHOWN).then_some(request);
        }
    }

    pub(super) fn interacted(&mut self, interaction: Interaction) {
        push(&mut self.interactions, interaction, SHOWN);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_a_call_that_is_too_large_the_small_arguments_are_kept() {
        let text = "あ".repeat(KEPT_BYTES);
        let args = json!({"channel": "C1", "blocks": [text], "text": text, "thread_ts": "1.1", "token": "xoxb-1"});
        let kept = kept(args.as_object().unwrap());
        assert_eq!((&kept["channel"], &kept["thread_ts"]), (&json!("C1"), &json!("1.1")));
        assert!(kept["text"].as_str().unwrap().ends_with("あ…"));
        assert!(!kept.contains_key("token"));
        assert!(Value::Object(kept).to_string().len() <= KEPT_BYTES + 100);
    }

    #[test]
    fn neither_names_nor_numbers_of_arguments_grow_beyond_what_is_kept() {
        let many = (0..100_000).map(|i| (format!("argument{i}"), json!(1))).collect();
        let long = Map::from_iter([("n".repeat(KEPT_BYTES + 1), json!(1))]);
        let size =
            |args: &Map<String, Value>| kept(args).iter().map(|(k, v)| k.len() + v.to_string().len()).sum::<usize>();
        assert!((KEPT_BYTES - 100..=KEPT_BYTES + 100).contains(&size(&many)));
        assert_eq!(size(&long), 0);
    }

    #[test]
    fn a_call_that_may_be_made_is_kept_whole_up_to_that_size() {
        let args = json!({"channel": "C1", "blocks": [{"type": "markdown", "text": "x".repeat(12_000)}]});
        assert_eq!(kept(args.as_object().unwrap()), *args.as_object().unwrap());
    }
}
