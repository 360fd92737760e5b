//! The one place where a workspace changes: write the line, alter the world, tell everybody.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::Value;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::delivery::{Courier, deliver};
use super::faults::Orders;
use super::files::Upload;
use super::journal::Journal;
use super::limits::Limits;
use super::message::Message;
use super::methods::Method;
use super::people::Refused;
use super::seed::{Channel, Seed};
use super::streams::Stream;
use super::web_api::ApiError;
use super::world::{Change, World};
use super::{Installation, Settings, Underneath, events};
use crate::domain::{ChannelId, Clock, Lang, MessageTs, UserId};

/// Slack's life of a `response_url` and how often it may be used.
const RESPONSE_URL_MS: i64 = 30 * 60 * 1000;
const RESPONSE_URL_USES: u32 = 5;
/// Slack's life of a `trigger_id`.
const TRIGGER_MS: i64 = 3_000;

/// What a `response_url` leads to.
#[derive(Clone, Debug)]
pub(super) struct ResponseUrl {
    pub(super) user: UserId,
    pub(super) channel: ChannelId,
    /// The message that was pressed; none after a command.
    pub(super) message: Option<Message>,
    expires: i64,
    left: u32,
}

/// Why a handle handed out with a press is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handle {
    Unknown,
    Expired,
    Used,
}

#[derive(Debug)]
pub(crate) struct Hub {
    pub(super) clock: Clock,
    pub(super) courier: Courier,
    pub(super) settings: Settings,
    /// `http://ADDRESS`
    pub(super) base: String,
    pub(super) stop: CancellationToken,
    pub(super) tasks: TaskTracker,
    world: Mutex<World>,
    journal: Mutex<Option<Journal>>,
    changes: broadcast::Sender<Arc<Change>>,
    version: watch::Sender<u64>,
    response_urls: Mutex<HashMap<String, ResponseUrl>>,
    triggers: Mutex<HashMap<String, (UserId, i64, bool)>>,
    streams: Mutex<HashMap<(ChannelId, MessageTs), Stream>>,
    uploads: Mutex<HashMap<String, Upload>>,
    limits: Option<Limits>,
    held: Mutex<Vec<Value>>,
    /// Misbehaviour to come.
    pub(crate) orders: Orders,
    installation: Mutex<Installation>,
    /// What the page can see of the bot, if whoever started both allows it.
    pub(crate) underneath: OnceLock<Underneath>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    pub(super) fn new(settings: Settings, base: String, journal: Option<Journal>, past: &[Change]) -> Self {
        let mut world = World::new(settings.seed.clone(), settings.clock.now_ms());
        for change in past {
            world.apply(change);
        }
        world.end_streams();
        let (changes, _) = broadcast::channel(1024);
        let limits = settings.limits.then(|| Limits::new(settings.clock.clone(), settings.limit_scale));
        Self {
            courier: Courier::new(settings.signing_secret.clone(), settings.clock.clone(), settings.retry_scale),
            clock: settings.clock.clone(),
            settings,
            base,
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            world: Mutex::new(world),
            journal: Mutex::new(journal),
            changes,
            version: watch::Sender::new(0),
            response_urls: Mutex::default(),
            triggers: Mutex::default(),
            streams: Mutex::default(),
            uploads: Mutex::default(),
            limits,
            held: Mutex::default(),
            orders: Orders::default(),
            installation: Mutex::default(),
            underneath: OnceLock::new(),
        }
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.world)
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Arc<Change>> {
        self.changes.subscribe()
    }

    /// Ends when the workspace stops.
    pub(crate) fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    pub(crate) fn banner(&self, lang: Lang) -> Option<String> {
        self.settings.banner.map(|banner| banner(lang))
    }

    pub(crate) fn examples(&self, lang: Lang) -> Vec<String> {
        (self.settings.examples)(lang)
    }

    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Wakes those who wait for something.
    pub(super) fn changed(&self) {
        self.version.send_modify(|v| *v += 1);
    }

    /// Makes a change while the world is locked, so that file, world and listeners see the same order.
    pub(super) fn commit(&self, world: &mut World, change: Change) {
        if change.is_durable()
            && let Some(journal) = lock(&self.journal).as_mut()
            && let Err(error) = journal.append(&change)
        {
            tracing::error!(%error, "the workspace's file cannot be written: this change will be lost at a restart");
        }
        world.apply(&change);
        // Nobody listening is no fault: no page is open.
        let _ = self.changes.send(Arc::new(change));
        self.changed();
    }

    /// Adds a message and tells the bot.
    pub(super) fn post(self: &Arc<Self>, mut message: Message) -> Message {
        let events = {
            let mut world = self.world();
            message.ts = world.next_ts(self.clock.now().timestamp_micros());
            self.commit(&mut world, Change::Posted { message: message.clone() });
            if message.only_for.is_some() { Vec::new() } else { events::posted(&mut world, &message) }
        };
        self.tell(&events);
        message
    }

    /// Gives a message other content, with the mark of an edit, and tells the bot.
    pub(super) fn update(self: &Arc<Self>, before: &Message, mut after: Message) -> Message {
        if before.text != after.text {
            after.edited = Some(self.world().next_ts(self.clock.now().timestamp_micros()));
        }
        self.replace(before, after)
    }

    /// Gives a message other content and tells the bot.
    pub(super) fn replace(self: &Arc<Self>, before: &Message, mut after: Message) -> Message {
        let events = {
            let mut world = self.world();
            // Somebody may have reacted since `before` was looked at.
            if let Some(now) = world.message(after.channel.as_str(), after.ts.as_str()) {
                after.reactions = now.reactions.clone();
            }
            let now = world.next_ts(self.clock.now().timestamp_micros());
            self.commit(&mut world, Change::Updated { message: after.clone() });
            let quiet = after.only_for.is_some();
            if quiet { Vec::new() } else { events::changed(&mut world, before, &after, now.as_str()) }
        };
        self.tell(&events);
        after
    }

    /// Deletes a message; a root with replies leaves a tombstone.
    pub(super) fn delete(self: &Arc<Self>, message: &Message) {
        let events = {
            let mut world = self.world();
            let now = world.next_ts(self.clock.now().timestamp_micros());
            let alone = message.only_for.is_some()
                || message.is_reply()
                || world.thread(message.channel.as_str(), message.ts.as_str()).len() < 2;
            let change = if alone {
                let (channel, ts) = (message.channel.clone(), message.ts.clone());
                let thread_ts = message.thread_ts.clone();
                Change::Deleted { channel, ts, thread_ts, only_for: message.only_for.clone() }
            } else {
                let gone =
                    Message { tombstone: true, text: String::new(), blocks: None, metadata: None, ..message.clone() };
                Change::Updated { message: gone }
            };
            self.commit(&mut world, change);
            let quiet = message.only_for.is_some();
            if quiet { Vec::new() } else { events::deleted(&mut world, message, now.as_str()) }
        };
        self.tell(&events);
    }

    /// Delivers what the app asked to be told.
    pub(super) fn tell(self: &Arc<Self>, events: &[Value]) {
        let wanted = events.iter().filter(|e| self.subscribes(&events::subscription(e))).cloned().collect();
        deliver(self, wanted);
    }

    /// The DM of a person with the bot, made when it is first needed.
    pub(super) fn dm(&self, user: &UserId) -> Result<Channel, Refused> {
        let mut world = self.world();
        if world.user(user.as_str()).is_none() {
            return Err(Refused::UserNotFound);
        }
        let id = Seed::dm(user);
        if let Some(channel) = world.channel(id.as_str()) {
            return Ok(channel.clone());
        }
        let channel = Channel {
            id,
            name: String::new(),
            is_private: true,
            is_im: true,
            is_ext_shared: false,
            is_mpim: false,
            is_archived: false,
            members: vec![user.clone(), world.bot.user.clone()],
        };
        self.commit(&mut world, Change::Opened { channel: channel.clone() });
        Ok(channel)
    }

    /// The DM of the bot with several people, made when it is first needed.
    pub(super) fn group_dm(&self, users: &[&str]) -> Result<Channel, Refused> {
        let mut world = self.world();
        let mut members: Vec<UserId> = users.iter().map(|u| UserId::new(*u)).collect();
        if members.iter().any(|u| world.user(u.as_str()).is_none()) {
            return Err(Refused::UserNotFound);
        }
        members.push(world.bot.user.clone());
        members.sort();
        members.dedup();
        let same = |c: &&Channel| {
            let mut there = c.members.clone();
            there.sort();
            c.is_mpim && there == members
        };
        if let Some(channel) = world.channels().find(same) {
            return Ok(channel.clone());
        }
        let id = world.new_id("G");
        let names: Vec<&str> = users.iter().filter_map(|u| world.user(u)).map(|u| u.name.as_str()).collect();
        let name = format!("mpdm-{}-1", names.join("--"));
        let channel = Channel { is_mpim: true, members, ..Channel::private(&id, &name, &[]) };
        self.commit(&mut world, Change::Opened { channel: channel.clone() });
        Ok(channel)
    }

    /// An identifier that cannot be guessed, so that a page of another origin cannot use a `response_url`.
    pub(super) fn handle(&self, world: &mut World) -> String {
        let mut random = [0_u8; 16];
        if let Err(error) = getrandom::fill(&mut random) {
            tracing::error!(%error, "no random numbers: identifiers are merely unique");
        }
        format!("{}.{}", world.next_id(), hex::encode(random))
    }

    /// A `trigger_id` for what a person just did.
    pub(super) fn new_trigger(&self, world: &mut World, user: &UserId) -> String {
        let trigger = self.handle(world);
        let now = self.clock.now_ms();
        let mut triggers = lock(&self.triggers);
        triggers.retain(|_, (_, expires, _)| *expires + RESPONSE_URL_MS > now);
        triggers.insert(trigger.clone(), (user.clone(), now + TRIGGER_MS, false));
        trigger
    }

    /// A `response_url` for what a person just did.
    pub(super) fn new_response_url(
        &self,
        world: &mut World,
        user: &UserId,
        channel: ChannelId,
        message: Option<Message>,
    ) -> String {
        let secret = self.handle(world);
        let now = self.clock.now_ms();
        let mut urls = lock(&self.response_urls);
        urls.retain(|_, u| u.expires + RESPONSE_URL_MS > now);
        let expires = now + RESPONSE_URL_MS;
        let url = ResponseUrl { user: user.clone(), channel, message, expires, left: RESPONSE_URL_USES };
        urls.insert(secret.clone(), url);
        format!("{}/response/{secret}", self.base)
    }

    /// Whether a `response_url` was handed out for this secret, be it of use or not.
    pub(super) fn knows_response_url(&self, secret: &str) -> bool {
        lock(&self.response_urls).contains_key(secret)
    }

    /// Uses a `response_url` once.
    pub(super) fn use_response_url(&self, secret: &str) -> Result<ResponseUrl, Handle> {
        let mut urls = lock(&self.response_urls);
        let url = urls.get_mut(secret).ok_or(Handle::Unknown)?;
        if url.expires < self.clock.now_ms() {
            return Err(Handle::Expired);
        }
        url.left = url.left.checked_sub(1).ok_or(Handle::Used)?;
        Ok(url.clone())
    }

    /// Uses up a `trigger_id`; the person who pressed.
    pub(super) fn use_trigger(&self, trigger: &str) -> Result<UserId, Handle> {
        let mut triggers = lock(&self.triggers);
        let (user, expires, used) = triggers.get_mut(trigger).ok_or(Handle::Unknown)?;
        if *used {
            return Err(Handle::Used);
        }
        if *expires < self.clock.now_ms() {
            return Err(Handle::Expired);
        }
        *used = true;
        Ok(user.clone())
    }

    pub(super) fn streams(&self) -> MutexGuard<'_, HashMap<(ChannelId, MessageTs), Stream>> {
        lock(&self.streams)
    }

    pub(super) fn stream_life_ms(&self) -> i64 {
        i64::try_from(self.settings.stream_life.as_millis()).unwrap_or(i64::MAX)
    }

    pub(super) fn uploads(&self) -> MutexGuard<'_, HashMap<String, Upload>> {
        lock(&self.uploads)
    }

    /// Counts a call; when it is one too many, after how many seconds the next may come.
    pub(super) fn limited(&self, method: &Method, channel: &str) -> Result<(), u64> {
        self.limits.as_ref().map_or(Ok(()), |limits| limits.check(method.rate, method.name, channel))
    }

    /// The app was granted one of these scopes.
    pub(super) fn granted(&self, one_of: &[&str]) -> Result<(), ApiError> {
        let scopes = &self.settings.scopes;
        if one_of.is_empty() || one_of.iter().any(|needed| scopes.iter().any(|s| s == needed)) {
            return Ok(());
        }
        let extra = vec![("needed", one_of.join(",")), ("provided", scopes.join(","))];
        Err(ApiError { extra, ..ApiError::from("missing_scope") })
    }

    pub(super) fn installation(&self) -> Installation {
        *lock(&self.installation)
    }

    pub(super) fn set_installation(&self, installation: Installation) {
        *lock(&self.installation) = installation;
    }

    /// Events that wait for others to overtake them.
    pub(super) fn held(&self) -> MutexGuard<'_, Vec<Value>> {
        lock(&self.held)
    }
}
