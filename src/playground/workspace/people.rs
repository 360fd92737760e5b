//! What people do in their client apart from pressing: writing, changing their words, reacting, opening, sending files.
//!
//! What it promises: a person can do what their Slack client would let them do and nothing else, and the bot is told of
//! it exactly as Slack tells.

use std::sync::Arc;

use super::files::FILE_BYTES;
use super::hub::Hub;
use super::message::Message;
use super::seed::{Channel, Seed};
use super::world::Change;
use super::{events, streams};
use crate::domain::{ChannelId, MessageTs, UserId};
use axum::body::Bytes;

/// Why a person's action was refused by the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No such conversation.
    #[error("no such conversation")]
    ChannelNotFound,
    /// The person is not in it.
    #[error("the person is not in the conversation")]
    NotInChannel,
    /// No such person.
    #[error("no such person")]
    UserNotFound,
    /// No such message, or the person cannot see it.
    #[error("no such message")]
    MessageNotFound,
    /// The message or view has no such button or input.
    #[error("no such button on the message")]
    ActionNotFound,
    /// The element does not offer what was chosen.
    #[error("the element does not offer this")]
    NotOffered,
    /// The message is somebody else's.
    #[error("the message is somebody else's")]
    NotYours,
    /// No such modal, or another person's.
    #[error("no such view")]
    ViewNotFound,
    /// The conversation is archived.
    #[error("the conversation is archived")]
    Archived,
    /// The app has no URL for it or did not ask to be told.
    #[error("the app does not take this")]
    NotSupported,
    /// Larger than the workspace keeps.
    #[error("the file is too large")]
    TooLarge,
    /// A message must say something.
    #[error("the message is empty")]
    Empty,
}

impl Hub {
    /// A person writes.
    pub(crate) fn say(
        self: &Arc<Self>,
        user: &str,
        channel: &str,
        thread_ts: Option<&str>,
        text: &str,
    ) -> Result<MessageTs, Refused> {
        let message = self.written(user, channel, thread_ts)?;
        Ok(self.post(Message { text: text.into(), ..message }).ts)
    }

    /// A message of a person, still empty, where they may write.
    fn written(&self, user: &str, channel: &str, thread_ts: Option<&str>) -> Result<Message, Refused> {
        let user = UserId::new(user);
        if Seed::dm(&user).as_str() == channel {
            self.dm(&user)?;
        }
        self.member(&user, channel)?;
        if thread_ts.is_some_and(|t| self.world().message(channel, t).is_none()) {
            return Err(Refused::MessageNotFound);
        }
        let thread_ts = thread_ts.map(MessageTs::new);
        Ok(Message { thread_ts, ..Message::blank(ChannelId::new(channel), user) })
    }

    /// The conversation, if this person takes part and it is alive.
    pub(super) fn member(&self, user: &UserId, channel: &str) -> Result<Channel, Refused> {
        let world = self.world();
        world.user(user.as_str()).ok_or(Refused::UserNotFound)?;
        let there = world.channel(channel).ok_or(Refused::ChannelNotFound)?;
        match there.has(user) {
            false => Err(Refused::NotInChannel),
            true if there.is_archived => Err(Refused::Archived),
            true => Ok(there.clone()),
        }
    }

    /// A message in a conversation that this person is in.
    fn seen(&self, user: &str, channel: &str, ts: &str) -> Result<Message, Refused> {
        self.member(&UserId::new(user), channel)?;
        let world = self.world();
        let message = world.message(channel, ts).filter(|m| !m.tombstone).ok_or(Refused::MessageNotFound)?;
        Ok(message.clone())
    }

    fn own(&self, user: &str, channel: &str, ts: &str) -> Result<Message, Refused> {
        let message = self.seen(user, channel, ts)?;
        if message.user.as_str() == user { Ok(message) } else { Err(Refused::NotYours) }
    }

    /// A person changes their words, given in Slack's form.
    pub(crate) fn edit(self: &Arc<Self>, user: &str, channel: &str, ts: &str, text: &str) -> Result<(), Refused> {
        let before = self.own(user, channel, ts)?;
        if text.is_empty() {
            return Err(Refused::Empty);
        }
        let after = Message { text: text.into(), ..before.clone() };
        if after != before {
            self.update(&before, after);
        }
        Ok(())
    }

    /// A person deletes a message of theirs.
    pub(crate) fn remove(self: &Arc<Self>, user: &str, channel: &str, ts: &str) -> Result<(), Refused> {
        let message = self.own(user, channel, ts)?;
        self.delete(&message);
        Ok(())
    }

    /// A person gives a reaction (`on`) or takes it back.
    pub(crate) fn react(
        self: &Arc<Self>,
        user: &str,
        channel: &str,
        ts: &str,
        name: &str,
        on: bool,
    ) -> Result<(), Refused> {
        let message = self.seen(user, channel, ts)?;
        self.reacted(&message, &UserId::new(user), name, on);
        Ok(())
    }

    /// Whether anything changed.
    pub(super) fn reacted(self: &Arc<Self>, message: &Message, user: &UserId, name: &str, on: bool) -> bool {
        let given = message.reactions.iter().any(|r| r.name == name && r.users.contains(user));
        if given == on || message.tombstone {
            return false;
        }
        let (channel, ts) = (message.channel.clone(), message.ts.clone());
        let change = Change::Reacted { channel, ts, user: user.clone(), name: name.to_owned(), on };
        let events = {
            let mut world = self.world();
            let now = world.next_ts(self.clock.now().timestamp_micros());
            self.commit(&mut world, change);
            events::reacted(&mut world, message, user.as_str(), name, on, now.as_str())
        };
        self.tell(&events);
        true
    }

    /// A person opens the DM: the bot is told each time, as by Slack.
    pub(crate) fn open_dm(self: &Arc<Self>, user: &UserId) -> Result<Channel, Refused> {
        self.opened(user, "messages")
    }

    /// A person opens the app's Home tab.
    pub(crate) fn open_home(self: &Arc<Self>, user: &str) -> Result<(), Refused> {
        if !self.has_home_tab() {
            return Err(Refused::NotSupported);
        }
        self.opened(&UserId::new(user), "home").map(drop)
    }

    fn opened(self: &Arc<Self>, user: &UserId, tab: &str) -> Result<Channel, Refused> {
        let channel = self.dm(user)?;
        let event = {
            let mut world = self.world();
            let now = world.next_ts(self.clock.now().timestamp_micros());
            events::home_opened(&mut world, user.as_str(), &channel, tab, now.as_str())
        };
        self.tell(&[event]);
        Ok(channel)
    }

    /// A person presses the Stop button of a thread in which the agent works.
    pub(crate) fn press_stop(self: &Arc<Self>, user: &str, channel: &str, thread_ts: &str) -> Result<(), Refused> {
        let there = self.member(&UserId::new(user), channel)?;
        self.seen(user, channel, thread_ts)?;
        if !self.subscribes("agent_session_stopped") {
            return Err(Refused::NotSupported);
        }
        let stopped = streams::stop_by_user(self, channel, thread_ts);
        let event = {
            let mut world = self.world();
            let now = world.next_ts(self.clock.now().timestamp_micros());
            events::session_stopped(&mut world, user, &there, thread_ts, &stopped, now.as_str())
        };
        self.tell(&[event]);
        Ok(())
    }

    /// A person sends a file.
    pub(crate) fn upload(
        self: &Arc<Self>,
        user: &str,
        channel: &str,
        thread_ts: Option<&str>,
        name: &str,
        bytes: &Bytes,
    ) -> Result<MessageTs, Refused> {
        let message = self.written(user, channel, thread_ts)?;
        if bytes.len() > FILE_BYTES {
            return Err(Refused::TooLarge);
        }
        let id = self.world().new_id("F");
        let file = self.keep(id, name, name, bytes);
        Ok(self.post(Message { files: vec![file], ..message }).ts)
    }

    /// Whether Slack shows a Home tab beside the app's messages.
    pub(crate) fn has_home_tab(&self) -> bool {
        self.settings.home_tab
    }

    /// Whether the app asked to be told of an event, such as `agent_session_stopped`.
    pub(crate) fn subscribes(&self, event: &str) -> bool {
        self.settings.events.iter().any(|e| e == event)
    }
}
