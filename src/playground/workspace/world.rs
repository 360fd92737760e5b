//! What a workspace holds, and the changes that alone alter it.
//!
//! Every alteration is a [`Change`], so that the file, the page and the tests see the same history. The file keeps what
//! Slack would keep: messages, DMs, titles, Home. Ephemeral messages, statuses and open modals are lost at a restart.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ledger::{Call, Delivery, Interaction, Ledger};
use super::message::{File, Message, Reaction};
use super::seed::{Bot, Channel, Group, Seed, User};
use crate::domain::{ChannelId, MessageTs, TeamId, UserId};

/// Of what a client forgets when it is loaded anew, so much is kept for each person.
const EPHEMERALS: usize = 50;
/// So many threads have a status or a session at once.
const BUSY_THREADS: usize = 500;

/// One alteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub(crate) enum Change {
    /// A new message, also an ephemeral one.
    Posted { message: Message },
    /// A message has new content.
    Updated { message: Message },
    /// A message is gone; an ephemeral one when `only_for` is set.
    Deleted {
        channel: ChannelId,
        ts: MessageTs,
        /// The thread it stood in, for a reply.
        #[serde(default)]
        thread_ts: Option<MessageTs>,
        only_for: Option<UserId>,
    },
    /// A DM exists from now on.
    Opened { channel: Channel },
    /// Somebody gave or took back a reaction.
    Reacted { channel: ChannelId, ts: MessageTs, user: UserId, name: String, on: bool },
    /// A file's bytes, in base64, from now on to be had.
    Filed { file: File, data: String },
    /// The line "… is looking it up"; empty text ends it.
    Status {
        channel: ChannelId,
        thread_ts: MessageTs,
        text: String,
        until: i64,
        /// What a client shows in turns instead of `text`.
        #[serde(default)]
        loading: Vec<String>,
    },
    /// The title of a thread with the bot.
    Title { channel: ChannelId, thread_ts: MessageTs, title: String },
    /// What the bot suggests to ask.
    Prompts { channel: ChannelId, prompts: Value },
    /// State of a session with the agent.
    Session { channel: ChannelId, thread_ts: MessageTs, status: String },
    /// A person's Home tab.
    Home { user: UserId, view: Value },
    /// A modal was opened or updated.
    Modal { view: Value, user: UserId },
    /// A modal is no longer open.
    ModalClosed { view_id: String, user: UserId },
}

impl Change {
    /// Whether Slack would still know it tomorrow.
    pub(super) fn is_durable(&self) -> bool {
        match self {
            Self::Posted { message } => message.only_for.is_none(),
            // A stream is kept as it began and as it ended, not each of its words.
            Self::Updated { message } => message.only_for.is_none() && !message.streaming,
            Self::Deleted { only_for, .. } => only_for.is_none(),
            Self::Reacted { .. } | Self::Filed { .. } => true,
            Self::Opened { .. } | Self::Title { .. } | Self::Home { .. } => true,
            Self::Status { .. } | Self::Prompts { .. } | Self::Session { .. } => false,
            Self::Modal { .. } | Self::ModalClosed { .. } => false,
        }
    }
}

#[derive(Debug)]
struct Conversation {
    channel: Channel,
    messages: BTreeMap<MessageTs, Message>,
}

/// A status line.
#[derive(Debug)]
struct Shown {
    text: String,
    until: i64,
    loading: Vec<String>,
}

/// What a workspace holds at one moment.
#[derive(Debug)]
pub struct World {
    pub(crate) team: TeamId,
    pub(crate) team_name: String,
    pub(crate) bot: Bot,
    /// Tells the runs of one workspace apart: milliseconds at its start, in hexadecimal.
    pub(super) run: String,
    users: Vec<User>,
    groups: Vec<Group>,
    order: Vec<ChannelId>,
    conversations: BTreeMap<ChannelId, Conversation>,
    ephemerals: BTreeMap<UserId, Vec<Message>>,
    statuses: BTreeMap<(ChannelId, MessageTs), Shown>,
    titles: BTreeMap<(ChannelId, MessageTs), String>,
    prompts: BTreeMap<ChannelId, Value>,
    sessions: BTreeMap<(ChannelId, MessageTs), String>,
    homes: BTreeMap<UserId, Value>,
    /// What each person has open, the first at the bottom.
    modals: BTreeMap<UserId, Vec<Value>>,
    files: BTreeMap<String, (File, String)>,
    pub(super) ledger: Ledger,
    last_us: i64,
    last_id: u64,
}

impl World {
    pub(super) fn new(seed: Seed, started_ms: i64) -> Self {
        let order: Vec<_> = seed.channels.iter().map(|c| c.id.clone()).collect();
        let conversations = seed
            .channels
            .into_iter()
            .map(|channel| (channel.id.clone(), Conversation { channel, messages: BTreeMap::new() }))
            .collect();
        Self {
            team: seed.team,
            team_name: seed.team_name,
            bot: seed.bot,
            run: format!("{started_ms:X}"),
            users: seed.users,
            groups: seed.groups,
            order,
            conversations,
            ephemerals: BTreeMap::new(),
            statuses: BTreeMap::new(),
            titles: BTreeMap::new(),
            prompts: BTreeMap::new(),
            sessions: BTreeMap::new(),
            homes: BTreeMap::new(),
            modals: BTreeMap::new(),
            files: BTreeMap::new(),
            ledger: Ledger::default(),
            last_us: 0,
            last_id: 0,
        }
    }

    /// Everybody but the bot, in the seed's order.
    pub fn users(&self) -> &[User] {
        &self.users
    }

    /// A person; not the bot.
    pub fn user(&self, id: &str) -> Option<&User> {
        self.users.iter().find(|u| u.id.as_str() == id)
    }

    /// The user groups.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// A conversation.
    pub fn channel(&self, id: &str) -> Option<&Channel> {
        self.conversations.get(&ChannelId::new(id)).map(|c| &c.channel)
    }

    /// All conversations.
    pub fn channels(&self) -> impl Iterator<Item = &Channel> {
        self.conversations.values().map(|c| &c.channel)
    }

    /// The conversations a person is in: the seed's in its order, then DMs.
    pub fn channels_of(&self, user: &UserId) -> Vec<&Channel> {
        self.order
            .iter()
            .filter_map(|id| self.conversations.get(id))
            .map(|c| &c.channel)
            .filter(|c| c.has(user))
            .collect()
    }

    /// All messages of a conversation, replies included, oldest first; no ephemeral ones.
    pub fn messages(&self, channel: &str) -> Vec<&Message> {
        self.conversations.get(&ChannelId::new(channel)).map_or_else(Vec::new, |c| c.messages.values().collect())
    }

    /// One message.
    pub fn message(&self, channel: &str, ts: &str) -> Option<&Message> {
        self.conversations.get(&ChannelId::new(channel))?.messages.get(&MessageTs::new(ts))
    }

    /// A root and its replies, oldest first.
    pub fn thread(&self, channel: &str, ts: &str) -> Vec<&Message> {
        let root = MessageTs::new(ts);
        let Some(c) = self.conversations.get(&ChannelId::new(channel)) else { return Vec::new() };
        c.messages.range(root.clone()..).map(|(_, m)| m).filter(|m| *m.root() == root).collect()
    }

    /// The ephemeral messages a person has been shown, oldest first; the last 50.
    pub fn ephemerals(&self, user: &str) -> &[Message] {
        self.ephemerals.get(&UserId::new(user)).map_or(&[], Vec::as_slice)
    }

    /// The status line of a thread, if one is shown at `now` (milliseconds).
    pub fn status(&self, channel: &str, thread_ts: &str, now: i64) -> Option<&str> {
        let shown = self.statuses.get(&(ChannelId::new(channel), MessageTs::new(thread_ts)))?;
        (shown.until > now).then_some(shown.text.as_str())
    }

    /// The title the bot gave a thread.
    pub fn title(&self, channel: &str, thread_ts: &str) -> Option<&str> {
        self.titles.get(&(ChannelId::new(channel), MessageTs::new(thread_ts))).map(String::as_str)
    }

    /// The bot's suggested prompts in a DM: `[{title, message}]`.
    pub fn prompts(&self, channel: &str) -> Option<&Value> {
        self.prompts.get(&ChannelId::new(channel))
    }

    /// The state of an agent session.
    pub fn session(&self, channel: &str, thread_ts: &str) -> Option<&str> {
        self.sessions.get(&(ChannelId::new(channel), MessageTs::new(thread_ts))).map(String::as_str)
    }

    /// All titles of threads.
    pub fn titles(&self) -> impl Iterator<Item = (&ChannelId, &MessageTs, &str)> {
        self.titles.iter().map(|((c, t), title)| (c, t, title.as_str()))
    }

    /// The states of all agent sessions.
    pub fn sessions(&self) -> impl Iterator<Item = (&ChannelId, &MessageTs, &str)> {
        self.sessions.iter().map(|((c, t), state)| (c, t, state.as_str()))
    }

    /// A person's Home tab, as published.
    pub fn home(&self, user: &str) -> Option<&Value> {
        self.homes.get(&UserId::new(user))
    }

    /// A modal and who has it open.
    pub fn modal(&self, id: &str) -> Option<(&UserId, &Value)> {
        let all = self.modals.iter().flat_map(|(user, views)| views.iter().map(move |v| (user, v)));
        all.into_iter().find(|(_, v)| v.get("id").and_then(Value::as_str) == Some(id))
    }

    /// The modals a person has open, the first at the bottom.
    pub fn modals_of(&self, user: &str) -> Vec<&Value> {
        self.modals.get(&UserId::new(user)).map_or_else(Vec::new, |views| views.iter().collect())
    }

    /// The modal a person sees: the topmost.
    pub fn modal_of(&self, user: &str) -> Option<&Value> {
        self.modals.get(&UserId::new(user))?.last()
    }

    /// A file and its bytes in base64.
    pub(super) fn file(&self, id: &str) -> Option<(&File, &str)> {
        self.files.get(id).map(|(file, data)| (file, data.as_str()))
    }

    /// Recorded Web API calls, oldest first; the last 20,000.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.ledger.calls.iter()
    }

    /// Recorded event deliveries, oldest first; the last 20,000.
    pub fn deliveries(&self) -> impl Iterator<Item = &Delivery> {
        self.ledger.deliveries.iter()
    }

    /// Recorded presses, modals and commands, oldest first; the last 200.
    pub fn interactions(&self) -> impl Iterator<Item = &Interaction> {
        self.ledger.interactions.iter()
    }

    /// Whether somebody takes part in a conversation and may thus read it.
    pub(crate) fn is_in(&self, user: &UserId, channel: &ChannelId) -> bool {
        self.conversations.get(channel).is_some_and(|c| c.channel.has(user))
    }

    /// The status lines shown at `now` (milliseconds): place, text, and what is shown in turns instead.
    pub(crate) fn active_statuses(&self, now: i64) -> impl Iterator<Item = (&ChannelId, &MessageTs, &str, &[String])> {
        let shown = self.statuses.iter().filter(move |(_, shown)| shown.until > now);
        shown.map(|((c, t), shown)| (c, t, shown.text.as_str(), shown.loading.as_slice()))
    }

    /// Streams do not outlive the run that carried them: what is left of them is an ordinary message.
    pub(super) fn end_streams(&mut self) {
        let all = self.conversations.values_mut().flat_map(|c| c.messages.values_mut());
        all.for_each(|m| m.streaming = false);
    }

    /// A `ts` later than all before it.
    pub(super) fn next_ts(&mut self, now_us: i64) -> MessageTs {
        self.last_us = now_us.max(self.last_us + 1);
        MessageTs::new(format!("{}.{:06}", self.last_us / 1_000_000, self.last_us % 1_000_000))
    }

    /// A number never used before in this run.
    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// An id of Slack's form, such as `F…`, never used before in any run.
    pub(super) fn new_id(&mut self, letter: &str) -> String {
        let number = self.next_id();
        format!("{letter}{}{number:04}", self.run)
    }

    pub(super) fn apply(&mut self, change: &Change) {
        match change {
            Change::Posted { message } => {
                self.note_time(&message.ts);
                if message.bot_id.is_some() {
                    self.statuses.remove(&(message.channel.clone(), message.root().clone()));
                }
                self.put(message.clone());
            }
            Change::Updated { message } => self.put(message.clone()),
            Change::Deleted { channel, ts, only_for: None, .. } => {
                if let Some(c) = self.conversations.get_mut(channel) {
                    c.messages.remove(ts);
                }
            }
            Change::Deleted { ts, only_for: Some(user), .. } => {
                self.ephemerals.entry(user.clone()).or_default().retain(|m| m.ts != *ts);
            }
            Change::Opened { channel } => {
                if !self.conversations.contains_key(&channel.id) {
                    self.order.push(channel.id.clone());
                    let c = Conversation { channel: channel.clone(), messages: BTreeMap::new() };
                    self.conversations.insert(channel.id.clone(), c);
                }
            }
            Change::Reacted { channel, ts, user, name, on } => {
                let found = self.conversations.get_mut(channel).and_then(|c| c.messages.get_mut(ts));
                if let Some(message) = found {
                    react(&mut message.reactions, user, name, *on);
                }
            }
            Change::Filed { file, data } => {
                self.files.insert(file.id.clone(), (file.clone(), data.clone()));
            }
            Change::Status { channel, thread_ts, text, until, loading } => {
                let key = (channel.clone(), thread_ts.clone());
                if text.is_empty() {
                    self.statuses.remove(&key);
                } else {
                    let shown = Shown { text: text.clone(), until: *until, loading: loading.clone() };
                    self.statuses.insert(key.clone(), shown);
                    keep_newest(&mut self.statuses, &key);
                }
            }
            Change::Title { channel, thread_ts, title } => {
                self.titles.insert((channel.clone(), thread_ts.clone()), title.clone());
            }
            Change::Prompts { channel, prompts } => {
                self.prompts.insert(channel.clone(), prompts.clone());
            }
            Change::Session { channel, thread_ts, status } => {
                let key = (channel.clone(), thread_ts.clone());
                self.sessions.insert(key.clone(), status.clone());
                keep_newest(&mut self.sessions, &key);
            }
            Change::Home { user, view } => {
                self.homes.insert(user.clone(), view.clone());
            }
            Change::Modal { view, user } => {
                let open = self.modals.entry(user.clone()).or_default();
                match open.iter_mut().find(|v| v.get("id") == view.get("id")) {
                    Some(old) => *old = view.clone(),
                    None => open.push(view.clone()),
                }
            }
            Change::ModalClosed { view_id, user } => {
                let open = self.modals.entry(user.clone()).or_default();
                open.retain(|v| v.get("id").and_then(Value::as_str) != Some(view_id));
            }
        }
    }

    fn put(&mut self, message: Message) {
        if let Some(user) = message.only_for.clone() {
            let shown = self.ephemerals.entry(user).or_default();
            match shown.iter_mut().find(|m| m.ts == message.ts) {
                Some(old) => *old = message,
                None => shown.push(message),
            }
            shown.drain(..shown.len().saturating_sub(EPHEMERALS));
        } else if let Some(c) = self.conversations.get_mut(&message.channel) {
            c.messages.insert(message.ts.clone(), message);
        }
    }

    /// Keeps new timestamps above those read from the file.
    fn note_time(&mut self, ts: &MessageTs) {
        let us = ts.as_str().split_once('.').and_then(|(s, us)| {
            let seconds: i64 = s.parse().ok()?;
            let micros: i64 = us.parse().ok()?;
            seconds.checked_mul(1_000_000)?.checked_add(micros)
        });
        self.last_us = self.last_us.max(us.unwrap_or(0));
    }
}

/// Lets go of the oldest threads when there are too many; not of this one, in which something happens.
fn keep_newest<T>(threads: &mut BTreeMap<(ChannelId, MessageTs), T>, but: &(ChannelId, MessageTs)) {
    while threads.len() > BUSY_THREADS {
        let oldest = threads.keys().filter(|key| *key != but).min_by(|a, b| a.1.cmp(&b.1)).cloned();
        let Some(oldest) = oldest else { return };
        threads.remove(&oldest);
    }
}

fn react(reactions: &mut Vec<Reaction>, user: &UserId, name: &str, on: bool) {
    let given = reactions.iter_mut().find(|r| r.name == name);
    match (given, on) {
        (Some(reaction), true) if !reaction.users.contains(user) => reaction.users.push(user.clone()),
        (Some(reaction), false) => reaction.users.retain(|u| u != user),
        (None, true) => reactions.push(Reaction { name: name.to_owned(), users: vec![user.clone()] }),
        (Some(_), true) | (None, false) => {}
    }
    reactions.retain(|r| !r.users.is_empty());
}
