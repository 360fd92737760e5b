//! A small, faithful Slack: the Web API, signed deliveries, buttons, `response_url`, and people who write and press.
//!
//! What it promises: the bot cannot tell it from Slack by anything the bot may rely on. Deliveries are signed and
//! retried on Slack's schedule with the same `event_id`; a mention in a channel arrives twice; the bot hears its own
//! messages and edits; limits are refused with Slack's error codes; a press is delivered once and never repeated.
//! What it does not promise: Slack's rate limits (ask for them with [`Workspace::misbehave`]), streaming, files.

mod seed;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::net::TcpListener;

pub use self::seed::{Bot, Channel, Seed, User};
use crate::domain::{ChannelId, Clock, Lang, MessageTs, Secret, UserId};

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
    /// Where the time comes from.
    pub clock: Clock,
    /// A line at the top of the page, such as who answers.
    pub banner: Option<fn(Lang) -> String>,
    /// Requests a person can click into the composer.
    pub examples: fn(Lang) -> Vec<String>,
}

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
    /// The message has no such button.
    #[error("no such button on the message")]
    ActionNotFound,
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

/// A message as the workspace holds it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
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
    /// When it was last edited.
    pub edited: Option<MessageTs>,
    /// A deleted root that still has replies.
    pub tombstone: bool,
    /// The only person who sees it, for an ephemeral message.
    pub only_for: Option<UserId>,
}

/// What became of a press.
#[derive(Clone, Debug, PartialEq)]
pub struct PressOutcome {
    /// The bot's HTTP status; none when it did not answer within 3 s or could not be reached.
    pub status: Option<u16>,
    /// The person sees Slack's warning triangle: anything but 200 within 3 s.
    pub warning: bool,
    /// The bot's answer, up to 64 KiB.
    pub body: String,
}

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
    /// Does nothing and answers 200 with `ok:false` and this code.
    OkFalse(String),
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

/// What a workspace holds at one moment.
#[derive(Debug, Default)]
pub struct World;

/// A running workspace. Clones are the same workspace.
#[derive(Clone, Debug)]
pub struct Workspace;

#[expect(unused_variables, clippy::unused_async, reason = "signatures first")]
impl Workspace {
    /// Serves the Web API under `/api/`, `response_url`s, and the page at `/`, until [`Workspace::stop`].
    ///
    /// # Errors
    /// When the file or the listener cannot be used.
    pub async fn start(listener: TcpListener, settings: Settings) -> Result<Self, StartError> {
        Ok(Self)
    }
    /// Stops serving and delivering.
    pub async fn stop(&self) {}
    /// `http://…/api/`
    pub fn api_url(&self) -> String {
        String::new()
    }
    /// `http://…/`
    pub fn page_url(&self) -> String {
        String::new()
    }
    /// Where deliveries go from now on.
    pub fn set_bot_urls(&self, events: &str, interactions: &str) {}
    /// A person writes; text in Slack's form. Deliveries follow in the background.
    pub async fn say(
        &self,
        user: &str,
        channel: &str,
        thread_ts: Option<&str>,
        text: &str,
    ) -> Result<MessageTs, Refused> {
        Err(Refused::UserNotFound)
    }
    /// A person opens the DM with the bot (`app_home_opened`).
    pub async fn open_dm(&self, user: &str) -> Result<ChannelId, Refused> {
        Err(Refused::UserNotFound)
    }
    /// A person presses the first button with this `action_id` on a message.
    pub async fn press(
        &self,
        user: &str,
        channel: &str,
        message_ts: &str,
        action_id: &str,
    ) -> Result<PressOutcome, Refused> {
        Err(Refused::UserNotFound)
    }
    /// Signs a body at the current time.
    pub fn signed_request(&self, body: &[u8], content_type: &str) -> SignedRequest {
        SignedRequest { timestamp: String::new(), signature: String::new(), content_type: String::new(), body: vec![] }
    }
    /// Sends a request to the events (or interactions) URL once; the status and body of the answer.
    pub async fn deliver_raw(&self, to: Endpoint, request: SignedRequest, headers: &[(&str, &str)]) -> PressOutcome {
        PressOutcome { status: None, warning: true, body: String::new() }
    }
    /// All messages of a channel, threads included, oldest first.
    pub fn messages(&self, channel: &str) -> Vec<Message> {
        vec![]
    }
    /// The root and its replies, oldest first.
    pub fn thread(&self, channel: &str, ts: &str) -> Vec<Message> {
        vec![]
    }
    /// The ephemeral messages a person has been shown, oldest first.
    pub fn ephemerals(&self, user: &str) -> Vec<Message> {
        vec![]
    }
    /// Recorded Web API calls.
    pub fn calls(&self) -> Vec<Call> {
        vec![]
    }
    /// Waits until `look` finds something, looking again after each change; none after `timeout`.
    pub async fn wait_for<T>(&self, look: impl FnMut(&World) -> Option<T>, timeout: Duration) -> Option<T> {
        None
    }
    /// Makes the next `times` calls of a method misbehave.
    pub fn misbehave(&self, method: &str, fault: Fault, times: u32) {}
}

/// Which of the bot's URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Events API.
    Events,
    /// Buttons.
    Interactions,
}
