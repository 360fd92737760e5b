//! What passed between the workspace and the bot, for tests and for those who want to look underneath.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::SignedRequest;
use crate::domain::{ChannelId, MessageTs, UserId};

/// How many calls and deliveries are remembered; a playground may run for weeks.
const REMEMBERED: usize = 20_000;
/// Of how many deliveries and presses the exact bytes are kept.
const SHOWN: usize = 200;

/// A recorded call of the Web API, or of a `response_url` (method `response_url`).
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Such as `chat.postMessage`.
    pub method: String,
    /// The arguments, however they were sent.
    pub args: Map<String, Value>,
    /// Milliseconds since the epoch, on the workspace's clock.
    pub at: i64,
}

/// An event on its way to the bot.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
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

impl Ledger {
    pub(super) fn called(&mut self, call: Call) {
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
