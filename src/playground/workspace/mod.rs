//! A small, faithful Slack: the Web API, signed deliveries, buttons and modals, commands, streams, files, and people who
//! write and press.
//!
//! What it promises: the bot cannot tell it from Slack by anything the bot may rely on. Deliveries are signed, made only
//! for events the app asked for, and retried on Slack's schedule with the same `event_id`; a mention in a channel arrives
//! twice; the bot hears its own messages and edits; what Slack refuses (sizes, rates, scopes, places) is refused with its
//! error codes; a press is delivered once and never repeated. It misbehaves as Slack does when it is told to.
//! What it does not promise: anything the bot does not use and Slack documents elsewhere, such as pins, canvases,
//! workflows, link previews, several workspaces, or Socket Mode; redirects of deliveries; and the `message_changed` of a
//! root when a reply lands in its thread.

mod acts;
mod blocks;
mod composer;
mod conversations;
mod delivery;
mod directory;
mod events;
mod faults;
mod files;
mod forms;
mod hub;
mod interactions;
mod journal;
mod ledger;
mod limits;
mod message;
mod messages;
mod methods;
mod people;
mod reactions;
mod seed;
mod streams;
mod surfaces;
#[cfg(test)]
mod tests;
mod underneath;
mod views;
mod web_api;
mod world;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt;
use tokio::net::TcpListener;

pub(crate) use self::faults::Order;
pub use self::faults::{Fault, Installation, Misdelivery};
pub(crate) use self::hub::Hub;
pub use self::interactions::{Place, PressOutcome, SubmitOutcome};
use self::journal::Journal;
pub use self::ledger::{Attempt, Call, Delivery, Interaction};
pub use self::message::{File, Message, Reaction};
pub use self::people::Refused;
pub use self::seed::{Bot, Channel, Group, Seed, User};
pub use self::underneath::Underneath;
pub(crate) use self::world::Change;
pub use self::world::World;
use super::page;
use crate::domain::{Clock, Lang, Secret};

/// How a workspace is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The append-only file that keeps the messages; none: in memory.
    pub store: Option<PathBuf>,
    /// Signs deliveries.
    pub signing_secret: Secret,
    /// What the bot authenticates with.
    pub bot_token: Secret,
    /// Factor on Slack's retry schedule (at once, 1 min, 5 min): 1.0, or less in tests.
    pub retry_scale: f64,
    /// People, channels, bot.
    pub seed: Seed,
    /// What the app was granted at its installation.
    pub scopes: Vec<String>,
    /// The events the app asked to be told, with `message.channels`, `message.im` and their like.
    pub events: Vec<String>,
    /// Whether the app has a Home tab; `views.publish` is refused without.
    pub home_tab: bool,
    /// Whether calls above Slack's rate limits are refused.
    pub limits: bool,
    /// Factor on how often methods may be called: 1.0, or more in tests.
    pub limit_scale: f64,
    /// How long a stream can be appended to: about five minutes with Slack.
    pub stream_life: Duration,
    /// Where the time comes from.
    pub clock: Clock,
    /// A line at the top of the page, such as who answers.
    pub banner: Option<fn(Lang) -> String>,
    /// Requests a person can click into the composer.
    pub examples: fn(Lang) -> Vec<String>,
}

/// Why a workspace did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The file with the messages.
    #[error("the workspace's file cannot be used: {0}")]
    Store(std::io::Error),
    /// The listener.
    #[error("the workspace's listener cannot be used: {0}")]
    Listener(std::io::Error),
}

/// A signed request, ready to be sent (or to be spoilt first).
#[derive(Clone, Debug, PartialEq)]
pub struct SignedRequest {
    /// `X-Slack-Request-Timestamp`, seconds.
    pub timestamp: String,
    /// `X-Slack-Signature`.
    pub signature: String,
    /// `Content-Type`.
    pub content_type: String,
    /// The exact bytes that were signed.
    pub body: Vec<u8>,
}

/// Which of the bot's URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// Events API.
    Events,
    /// Buttons and modals.
    Interactions,
    /// Slash commands.
    Commands,
    /// Options of external selects.
    Options,
}

/// What `manifest.yaml` asks to be granted.
const SCOPES: [&str; 12] = [
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:read",
    "chat:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:write",
    "mpim:history",
    "mpim:read",
    "users:read",
];

/// What `manifest.yaml` asks to be told.
const EVENTS: [&str; 9] = [
    "agent_session_stopped",
    "app_home_opened",
    "app_mention",
    "app_uninstalled",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
    "tokens_revoked",
];

impl Settings {
    /// In memory, with secrets made for this run, Slack's own schedule, no banner and no examples.
    pub fn new(seed: Seed, clock: Clock) -> Self {
        let mut random = [0_u8; 32];
        if let Err(error) = getrandom::fill(&mut random) {
            tracing::error!(%error, "no random numbers: the workspace's secrets can be guessed on this machine");
        }
        let text = hex::encode(random);
        let (token, secret) = text.split_at(text.len() / 2);
        Self {
            store: None,
            signing_secret: Secret::new(secret),
            bot_token: Secret::new(format!("xoxb-local-{token}")),
            retry_scale: 1.0,
            seed,
            scopes: SCOPES.map(str::to_owned).to_vec(),
            events: EVENTS.map(str::to_owned).to_vec(),
            home_tab: false,
            limits: true,
            limit_scale: 1.0,
            stream_life: Duration::from_secs(300),
            clock,
            banner: None,
            examples: |_| Vec::new(),
        }
    }
}

/// A running workspace. Clones are the same workspace.
#[derive(Clone, Debug)]
pub struct Workspace {
    hub: Arc<Hub>,
}

impl Workspace {
    /// Serves the Web API under `/api/`, `response_url`s, and the page at `/`, until [`Workspace::stop`].
    ///
    /// # Errors
    /// When the file or the listener cannot be used.
    pub async fn start(listener: TcpListener, settings: Settings) -> Result<Self, StartError> {
        let address = listener.local_addr().map_err(StartError::Listener)?;
        let (journal, past) = match settings.store.clone() {
            Some(path) => {
                let opened = tokio::task::spawn_blocking(move || Journal::open(&path)).await;
                let opened = opened.map_err(std::io::Error::other).and_then(|o| o).map_err(StartError::Store)?;
                (Some(opened.0), opened.1)
            }
            None => (None, Vec::new()),
        };
        let hub = Arc::new(Hub::new(settings, format!("http://{address}"), journal, &past));
        let downloads = files::downloads(Arc::clone(&hub));
        let app = web_api::router(Arc::clone(&hub))
            .merge(files::uploads(Arc::clone(&hub)))
            .route_layer(axum::middleware::from_fn(page::no_other_page))
            .merge(page::router(Arc::clone(&hub)))
            .merge(downloads.route_layer(axum::middleware::from_fn(page::only_this_machine)));
        let stop = hub.stop.clone();
        let listener = listener.tap_io(|stream| {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "TCP_NODELAY was not set");
            }
        });
        let served = axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>())
            .with_graceful_shutdown(async move { stop.cancelled().await });
        hub.tasks.spawn(async move {
            if let Err(error) = served.await {
                tracing::error!(%error, "the local workspace stopped serving");
            }
        });
        Ok(Self { hub })
    }

    /// Stops serving and delivering, and waits until that is so.
    pub async fn stop(&self) {
        self.hub.stop.cancel();
        self.hub.tasks.close();
        self.hub.tasks.wait().await;
    }

    /// The Web API's base, with a trailing slash.
    pub fn api_url(&self) -> String {
        format!("{}/api/", self.hub.base)
    }

    /// Where the page is.
    pub fn page_url(&self) -> String {
        format!("{}/", self.hub.base)
    }

    /// What deliveries are signed with.
    pub fn signing_secret(&self) -> &Secret {
        &self.hub.settings.signing_secret
    }

    /// What the bot authenticates with.
    pub fn bot_token(&self) -> &Secret {
        &self.hub.settings.bot_token
    }

    /// Where deliveries go from now on; before this nothing is delivered.
    pub fn set_bot_urls(&self, events: &str, interactions: &str) {
        self.hub.courier.set_url(Endpoint::Events, events);
        self.hub.courier.set_url(Endpoint::Interactions, interactions);
    }

    /// Where slash commands and look-ups of options go; while these are not set people cannot use either.
    pub fn set_more_urls(&self, commands: &str, options: &str) {
        self.hub.courier.set_url(Endpoint::Commands, commands);
        self.hub.courier.set_url(Endpoint::Options, options);
    }

    /// Signs a body at the current time.
    pub fn signed_request(&self, body: &[u8], content_type: &str) -> SignedRequest {
        self.hub.courier.sign(body, content_type)
    }

    /// Sends a request to one of the bot's URLs, once, with further headers.
    pub async fn deliver_raw(&self, to: Endpoint, request: SignedRequest, headers: &[(&str, &str)]) -> PressOutcome {
        match self.hub.courier.url(to) {
            Some(url) => delivery::outcome(self.hub.courier.send(&url, request, headers).await),
            None => PressOutcome { status: None, warning: true, body: String::new() },
        }
    }

    /// All messages of a conversation, threads included, oldest first; no ephemeral ones.
    pub fn messages(&self, channel: &str) -> Vec<Message> {
        self.look(|w| w.messages(channel).into_iter().cloned().collect())
    }

    /// A root and its replies, oldest first.
    pub fn thread(&self, channel: &str, ts: &str) -> Vec<Message> {
        self.look(|w| w.thread(channel, ts).into_iter().cloned().collect())
    }

    /// The ephemeral messages a person has been shown, oldest first; the last 50.
    pub fn ephemerals(&self, user: &str) -> Vec<Message> {
        self.look(|w| w.ephemerals(user).to_vec())
    }

    /// Recorded Web API calls, oldest first; the last 20,000.
    pub fn calls(&self) -> Vec<Call> {
        self.look(|w| w.calls().cloned().collect())
    }

    /// Recorded event deliveries, oldest first; the last 20,000.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.look(|w| w.deliveries().cloned().collect())
    }

    /// Recorded presses, modals and commands, oldest first; the last 200.
    pub fn interactions(&self) -> Vec<Interaction> {
        self.look(|w| w.interactions().cloned().collect())
    }

    /// Lets the page look into the bot; only the first time counts.
    pub fn set_underneath(&self, underneath: Underneath) {
        if self.hub.underneath.set(underneath).is_err() {
            tracing::warn!("what is underneath was told already");
        }
    }

    /// Looks at the world at one moment.
    pub fn look<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        look(&self.hub.world())
    }

    /// Waits until `look` finds something, looking again after each change; none after `timeout`. The workspace stands
    /// still while `look` runs, so it must not call the workspace.
    pub async fn wait_for<T>(&self, mut look: impl FnMut(&World) -> Option<T>, timeout: Duration) -> Option<T> {
        let mut version = self.hub.watch();
        let search = async {
            loop {
                version.mark_unchanged();
                let found = look(&self.hub.world());
                if found.is_some() {
                    return found;
                }
                version.changed().await.ok()?;
            }
        };
        tokio::time::timeout(timeout, search).await.ok().flatten()
    }

    /// Forgets what was ordered of misbehaviour and not yet done.
    pub fn behave(&self) {
        self.hub.orders.behave();
    }

    /// Delivers the events of the next `times` messages of people otherwise than it should.
    pub fn misdeliver(&self, how: Misdelivery, times: u32) {
        self.hub.orders.misdeliver(how, times);
    }

    /// What Slack says of the app's token from now on.
    pub fn set_installation(&self, installation: Installation) {
        self.hub.set_installation(installation);
    }

    /// Makes the next `times` calls of a method (or of a `response_url`: `response_url`) misbehave.
    pub fn misbehave(&self, method: &str, fault: Fault, times: u32) {
        self.hub.orders.misbehave(method, &fault, times);
    }
}
