//! How a workspace can be told to misbehave, for tests and the curious.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How a Web API method misbehaves.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Answers late.
    Delay(Duration),
    /// Does nothing and answers this status.
    Status(u16),
    /// Does nothing and answers 429 with `Retry-After`, in seconds.
    RateLimited(u64),
    /// Does it, and never answers.
    HangAfterAccept,
    /// Does it, and answers this status.
    StatusAfterAccept(u16),
    /// Does nothing and answers 200 with a page of HTML.
    Html,
    /// Does nothing and answers 200 with this body as JSON, whatever it is.
    Garbled(String),
    /// Does it, and answers 200 with this body as JSON, whatever it is.
    GarbledAfterAccept(String),
    /// Does nothing and answers 200 with `ok:false` and this code.
    OkFalse(String),
    /// Ends the stream that the call is about, as Slack does after some minutes; then carries the call out.
    StreamCloses,
}

/// How the events of one happening are delivered otherwise than they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misdelivery {
    /// Twice, at the same time, as if by two of Slack's machines.
    Duplicate,
    /// Again after they were accepted, as a retry: Slack has not seen the answer.
    AckLost,
    /// After those of the next happening; after two seconds if nothing happens.
    Reordered,
    /// Late.
    Delayed(Duration),
    /// Never: Slack delivers at least once, but a bot must bear a disabled subscription.
    Lost,
    /// The two events of a mention one after the other, `message` first.
    MessageBeforeMention,
    /// The two events of a mention one after the other, `app_mention` first.
    MentionBeforeMessage,
}

/// What Slack says of the app's token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Installation {
    /// It is good.
    #[default]
    Active,
    /// `token_revoked`: the app was uninstalled.
    Revoked,
    /// `token_expired`.
    Expired,
    /// `account_inactive`: the bot user or the workspace is no more.
    Inactive,
}

/// One thing ordered of a workspace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Order {
    /// Of a call of this method.
    Call(&'static str, Fault),
    /// Of the next message of a person.
    Delivery(Misdelivery),
}

/// What was ordered of misbehaviour and not yet done.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    faults: Mutex<HashMap<String, VecDeque<Fault>>>,
    misdeliveries: Mutex<VecDeque<Misdelivery>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Orders {
    pub(super) fn misdeliver(&self, how: Misdelivery, times: u32) {
        lock(&self.misdeliveries).extend((0..times).map(|_| how));
    }

    pub(super) fn next_misdelivery(&self) -> Option<Misdelivery> {
        lock(&self.misdeliveries).pop_front()
    }

    pub(super) fn misbehave(&self, method: &str, fault: &Fault, times: u32) {
        let mut faults = lock(&self.faults);
        faults.entry(method.into()).or_default().extend((0..times).map(|_| fault.clone()));
    }

    pub(super) fn next_fault(&self, method: &str) -> Option<Fault> {
        lock(&self.faults).get_mut(method)?.pop_front()
    }

    pub(super) fn behave(&self) {
        lock(&self.faults).clear();
        lock(&self.misdeliveries).clear();
    }

    /// Has this done once (`on`), however often it was ordered before, or not at all.
    pub(crate) fn arm(&self, order: &Order, on: bool) {
        match order {
            Order::Call(method, fault) => {
                let mut faults = lock(&self.faults);
                let ready = faults.entry((*method).to_owned()).or_default();
                ready.retain(|f| f != fault);
                ready.extend(on.then(|| fault.clone()));
            }
            Order::Delivery(how) => {
                let mut ready = lock(&self.misdeliveries);
                ready.retain(|m| m != how);
                ready.extend(on.then_some(*how));
            }
        }
    }

    /// Whether this is still to be done.
    pub(crate) fn is_armed(&self, order: &Order) -> bool {
        match order {
            Order::Call(method, fault) => lock(&self.faults).get(*method).is_some_and(|ready| ready.contains(fault)),
            Order::Delivery(how) => lock(&self.misdeliveries).contains(how),
        }
    }
}
