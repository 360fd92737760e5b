//! A message, and the forms in which Slack shows it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::files::described;
use super::seed::Bot;
use crate::domain::{ChannelId, MessageTs, TeamId, UserId};

/// A message as the workspace holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Where.
    pub channel: ChannelId,
    /// Its identity within the channel.
    pub ts: MessageTs,
    /// The thread's root, for replies.
    pub thread_ts: Option<MessageTs>,
    /// Who wrote it; the bot user for the bot's.
    pub user: UserId,
    /// Set on the bot's messages.
    pub bot_id: Option<String>,
    /// Slack's escaped form.
    pub text: String,
    /// Block Kit, with the `block_id`s filled in.
    pub blocks: Option<Value>,
    /// `{event_type, event_payload}`.
    pub metadata: Option<Value>,
    /// When its text was last changed.
    pub edited: Option<MessageTs>,
    /// A deleted root that still has replies.
    pub tombstone: bool,
    /// The only person who sees it, for an ephemeral message.
    pub only_for: Option<UserId>,
    /// In the order in which each kind was first given.
    #[serde(default)]
    pub reactions: Vec<Reaction>,
    /// What is attached to it.
    #[serde(default)]
    pub files: Vec<File>,
    /// The bot still writes it (`chat.startStream`), or broke off without a word.
    #[serde(default)]
    pub streaming: bool,
    /// Who alone sees it grow while it is streamed in a channel.
    #[serde(default)]
    pub live_for: Option<UserId>,
}

/// One kind of reaction on a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reaction {
    /// Without colons, such as `thumbsup`.
    pub name: String,
    /// Who gave it, in order; never empty.
    pub users: Vec<UserId>,
}

/// A file as Slack describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// `F…`.
    pub id: String,
    /// Its name when it was uploaded.
    pub name: String,
    /// What people see as its name.
    pub title: String,
    /// Such as `image/png`, by its name's ending.
    pub mimetype: String,
    /// Bytes.
    pub size: usize,
    /// Where its bytes are, for those who may have them.
    pub url_private: String,
}

impl Message {
    /// A message that says nothing yet and has no `ts`.
    pub(super) fn blank(channel: ChannelId, user: UserId) -> Self {
        Self {
            channel,
            ts: MessageTs::new(""),
            thread_ts: None,
            user,
            bot_id: None,
            text: String::new(),
            blocks: None,
            metadata: None,
            edited: None,
            tombstone: false,
            only_for: None,
            reactions: Vec::new(),
            files: Vec::new(),
            streaming: false,
            live_for: None,
        }
    }

    /// The message as one person sees it now: while it is streamed in a channel, others than the one it is for see a
    /// placeholder without words.
    pub fn as_seen_by(&self, user: &UserId) -> Cow<'_, Self> {
        let waits = self.streaming && self.live_for.as_ref().is_some_and(|u| u != user);
        if waits { Cow::Owned(Self { text: String::new(), blocks: None, ..self.clone() }) } else { Cow::Borrowed(self) }
    }

    /// The thread it stands in or would begin.
    pub fn root(&self) -> &MessageTs {
        self.thread_ts.as_ref().unwrap_or(&self.ts)
    }

    /// A message of a thread that is not its root.
    pub fn is_reply(&self) -> bool {
        self.thread_ts.as_ref().is_some_and(|t| *t != self.ts)
    }

    /// The message object of Web API answers and payloads.
    pub(super) fn to_slack(&self, team: &TeamId, bot: &Bot, with_metadata: bool) -> Map<String, Value> {
        let mut m = Map::new();
        m.insert("type".into(), "message".into());
        if self.tombstone {
            m.insert("subtype".into(), "tombstone".into());
            m.insert("hidden".into(), true.into());
        } else if !self.files.is_empty() {
            m.insert("subtype".into(), "file_share".into());
            m.insert("upload".into(), false.into());
            m.insert("files".into(), self.files.iter().map(described).collect());
        }
        m.insert("user".into(), self.user.as_str().into());
        m.insert("ts".into(), self.ts.as_str().into());
        m.insert("team".into(), team.as_str().into());
        m.insert("text".into(), self.text.clone().into());
        if let Some(bot_id) = &self.bot_id {
            m.insert("bot_id".into(), bot_id.clone().into());
            m.insert("app_id".into(), bot.app_id.clone().into());
            m.insert(
                "bot_profile".into(),
                json!({
                    "id": bot_id, "app_id": bot.app_id, "user_id": bot.user, "name": bot.name, "deleted": false,
                    "updated": 0, "team_id": team, "icons": {},
                }),
            );
        }
        if let Some(blocks) = &self.blocks {
            m.insert("blocks".into(), blocks.clone());
        }
        if let Some(thread) = &self.thread_ts {
            m.insert("thread_ts".into(), thread.as_str().into());
        }
        if let Some(at) = &self.edited {
            m.insert("edited".into(), json!({"user": self.user, "ts": at}));
        }
        if !self.reactions.is_empty() {
            let reactions = self.reactions.iter();
            let reactions = reactions.map(|r| json!({"name": r.name, "users": r.users, "count": r.users.len()}));
            m.insert("reactions".into(), reactions.collect());
        }
        if let (true, Some(metadata)) = (with_metadata, &self.metadata) {
            m.insert("metadata".into(), metadata.clone());
        }
        m
    }
}

/// The interactive element with this `action_id` in some blocks, and its block's id.
pub(super) fn element_in<'v>(
    blocks: &'v Value,
    block_id: Option<&str>,
    action_id: &str,
) -> Option<(&'v str, &'v Value)> {
    fn list<'v>(of: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
        of.get(key).and_then(Value::as_array).into_iter().flatten()
    }
    for block in blocks.as_array()? {
        let within = block.get("child_blocks").or_else(|| block.get("blocks"));
        if let Some(found) = within.and_then(|blocks| element_in(blocks, block_id, action_id)) {
            return Some(found);
        }
        let id = block.get("block_id").and_then(Value::as_str).unwrap_or("");
        if block_id.is_some_and(|wanted| wanted != id) {
            continue;
        }
        // The buttons of a card, alone or among others.
        let cards = std::iter::once(block).chain(list(block, "elements")).flat_map(|card| list(card, "actions"));
        let mut all = list(block, "elements").chain(cards).chain(block.get("accessory")).chain(block.get("element"));
        if let Some(element) = all.find(|e| e.get("action_id").and_then(Value::as_str) == Some(action_id)) {
            return Some((id, element));
        }
    }
    None
}
