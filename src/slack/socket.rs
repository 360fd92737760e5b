//! Socket Mode: Slack's deliveries over WebSockets that this side opens, for a bot without a public address.
//!
//! What it promises: a delivery is acknowledged when it was stored, and not at all when it was not, so that Slack sends
//! it again; a connection that is silent, that cannot be made or that Slack is about to close is replaced, and a second
//! one is open meanwhile. What arrives is as good as signed: Slack gives these connections only to who has the app-level
//! token.
//!
//! Source: <https://docs.slack.dev/apis/events-api/using-socket-mode>

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use futures::stream::FuturesUnordered;
use futures::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};
use tokio_util::sync::CancellationToken;

use super::client::{Client, SlackError};
use super::signature::VerifiedBody;

/// Open side by side, so that one of them takes deliveries while Slack replaces the other. Slack allows ten.
const CONNECTIONS: usize = 2;

/// Larger than anything Slack sends.
const FRAME_LIMIT: usize = 16 * 1024 * 1024;

/// Deliveries of one connection that are being stored at a time; the others wait in the network.
const STORING: usize = 64;

/// A connection that lasted for so long was a good one: the next is opened at once.
const GOOD: Duration = Duration::from_secs(10);

/// How long storing what has arrived may take once the connection is given up.
const LAST_ACKS: Duration = Duration::from_secs(3);

/// Times that tests shorten.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// For the TCP connection, TLS and the upgrade together, and again for Slack's `hello`.
    pub connect: Duration,
    /// Between our pings; after three without any sign of life the connection counts as dead.
    pub ping: Duration,
}

/// What Slack delivered.
#[derive(Debug)]
pub enum Delivery {
    /// What would be the body of a request to the events URL.
    Event(VerifiedBody),
    /// What would be the body of a request to the interactivity URL.
    Interaction(VerifiedBody),
}

/// The delivery was not stored: no acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct NotStored;

/// The connections of one bot. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Socket {
    /// With the app-level token.
    client: Client,
    times: Times,
    /// Connections that said `hello`.
    open: Arc<AtomicUsize>,
}

/// One frame of Slack's.
#[derive(Deserialize)]
struct Frame {
    #[serde(rename = "type")]
    kind: String,
    envelope_id: Option<String>,
    payload: Option<Box<RawValue>>,
    reason: Option<String>,
}

/// How a connection ended.
#[derive(Debug)]
enum End {
    /// The bot stops.
    Stopped,
    /// Slack said so before.
    Announced(String),
}

/// Why there is no connection, or none any more.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("Slack opened no socket: {0}")]
    Refused(#[from] SlackError),
    #[error("no connection within {} ms", .0.as_millis())]
    Slow(Duration),
    #[error("no sign of life for {} ms", .0.as_millis())]
    Silent(Duration),
    #[error("the connection broke: {0}")]
    Network(#[from] WsError),
    #[error("Slack closed the connection")]
    Closed,
}

impl Socket {
    /// `client` has the app-level token.
    pub fn new(client: Client, times: Times) -> Self {
        Self { client, times, open: Arc::default() }
    }

    /// Asks for a connection without using it: whether the token is one that may.
    ///
    /// # Errors
    /// As [`SlackError`] tells.
    pub async fn check(&self) -> Result<(), SlackError> {
        self.address().await.map(drop)
    }

    /// Whether deliveries arrive at present.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }

    /// Takes deliveries until `stop`. `store` makes one durable before it returns.
    pub async fn run<F, Stored>(self, store: F, stop: CancellationToken)
    where
        F: Fn(Delivery) -> Stored + Clone + Send + Sync + 'static,
        Stored: Future<Output = Result<(), NotStored>> + Send,
    {
        let mut connections = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let (socket, store, stop) = (self.clone(), store.clone(), stop.clone());
            connections.spawn(async move { socket.keep_open(&store, &stop).await });
        }
        while connections.join_next().await.is_some() {}
    }

    /// One connection after the other.
    async fn keep_open<F, Stored>(&self, store: &F, stop: &CancellationToken)
    where
        F: Fn(Delivery) -> Stored,
        Stored: Future<Output = Result<(), NotStored>>,
    {
        let (mut pauses, mut replaced) = (pauses(), false);
        while !stop.is_cancelled() {
            let begun = Instant::now();
            let mut least = Duration::ZERO;
            match self.connection(store, stop).await {
                Ok(End::Stopped) => return,
                Ok(End::Announced(reason)) => {
                    tracing::info!(reason, "Slack replaces a socket");
                    // At once, unless Slack does nothing but that.
                    if !std::mem::replace(&mut replaced, true) {
                        continue;
                    }
                }
                Err(Broken::Refused(SlackError::RateLimited { after })) => {
                    least = after;
                    tracing::warn!(after_ms = after.as_millis(), "Slack asks to wait with a new socket");
                }
                Err(error @ Broken::Refused(SlackError::Rejected { .. })) => tracing::error!(
                    %error,
                    "no socket: check slack.app_token (SLACK_APP_TOKEN, scope connections:write) and that Socket Mode is on"
                ),
                Err(error) => tracing::warn!(%error, "a socket is opened again"),
            }
            metrics::counter!("socket_reconnects_total").increment(1);
            if begun.elapsed() >= GOOD {
                (pauses, replaced) = (self::pauses(), false);
                continue;
            }
            tokio::select! {
                () = sleep(pauses.next().unwrap_or(least).max(least)) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    /// Where the next connection goes; good for one, and for a short time.
    async fn address(&self) -> Result<String, SlackError> {
        let answer = self.client.call("apps.connections.open", json!({})).await?;
        let url = answer.get("url").and_then(serde_json::Value::as_str);
        url.map(str::to_owned).ok_or_else(|| SlackError::Uncertain("apps.connections.open gave no url".into()))
    }

    async fn connect(&self) -> Result<WebSocketStream<MaybeTlsStream<TcpStream>>, Broken> {
        let url = self.address().await?;
        let mut config = WebSocketConfig::default();
        config.max_message_size = Some(FRAME_LIMIT);
        config.max_frame_size = Some(FRAME_LIMIT);
        // The last argument: acknowledgements are not held back to fill a packet.
        let connecting = connect_async_with_config(url, Some(config), true);
        let (socket, _) =
            timeout(self.times.connect, connecting).await.map_err(|_| Broken::Slow(self.times.connect))??;
        Ok(socket)
    }

    /// One connection from its opening to its end.
    async fn connection<F, Stored>(&self, store: &F, stop: &CancellationToken) -> Result<End, Broken>
    where
        F: Fn(Delivery) -> Stored,
        Stored: Future<Output = Result<(), NotStored>>,
    {
        let connecting = self.connect();
        let socket = tokio::select! {
            socket = connecting => socket?,
            () = stop.cancelled() => return Ok(End::Stopped),
        };
        let (mut out, mut frames) = socket.split();
        let mut storing = FuturesUnordered::new();
        let mut greeted: Option<Greeted> = None;
        let mut pings = interval(self.times.ping);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (opened, mut heard) = (Instant::now(), Instant::now());
        let ended = loop {
            let frame = tokio::select! {
                biased;
                () = stop.cancelled() => break Ok(End::Stopped),
                Some(ack) = storing.next(), if !storing.is_empty() => {
                    if let Some(ack) = ack && let Err(error) = out.send(ack).await { break Err(error.into()) }
                    continue;
                }
                _ = pings.tick() => {
                    let silence = self.times.ping * 3;
                    if heard.elapsed() > silence { break Err(Broken::Silent(silence)) }
                    if greeted.is_none() && opened.elapsed() > self.times.connect { break Err(Broken::Slow(self.times.connect)) }
                    if let Err(error) = out.send(Message::Ping(Vec::new().into())).await { break Err(error.into()) }
                    continue;
                }
                frame = frames.next(), if storing.len() < STORING => frame,
            };
            heard = Instant::now();
            let text = match frame {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Close(_))) | None => break Err(Broken::Closed),
                // The library answers pings; Slack sends no binary frames.
                Some(Ok(_)) => continue,
                Some(Err(error)) => break Err(error.into()),
            };
            let Ok(frame) = serde_json::from_str::<Frame>(&text) else {
                tracing::warn!("a frame of Slack's socket is not understood");
                continue;
            };
            match frame.kind.as_str() {
                "hello" => {
                    greeted.get_or_insert_with(|| Greeted::new(&self.open));
                    tracing::debug!("a socket is open");
                }
                "disconnect" => break Ok(End::Announced(frame.reason.unwrap_or_default())),
                _ => storing.push(acknowledged(store, frame)),
            }
        };
        drop(greeted);
        // What has arrived is stored and acknowledged, where the connection still carries it.
        let last = async {
            while let Some(ack) = storing.next().await {
                if let Some(ack) = ack {
                    out.send(ack).await?;
                }
            }
            out.close().await
        };
        let _ = timeout(LAST_ACKS, last).await;
        ended
    }
}

/// Stores a delivery; the acknowledgement, if it is due one.
async fn acknowledged<F, Stored>(store: &F, frame: Frame) -> Option<Message>
where
    F: Fn(Delivery) -> Stored,
    Stored: Future<Output = Result<(), NotStored>>,
{
    let payload = frame.payload.as_deref().map(RawValue::get);
    let delivery = match (frame.kind.as_str(), payload) {
        ("events_api", Some(payload)) => Some(Delivery::Event(VerifiedBody::of_socket(payload.into()))),
        // The form in which the other way carries it.
        ("interactive", Some(payload)) => {
            let form = url::form_urlencoded::Serializer::new(String::new()).append_pair("payload", payload).finish();
            Some(Delivery::Interaction(VerifiedBody::of_socket(form.into_bytes())))
        }
        // Slash commands and what is yet to come: acknowledged, so that nobody sees an error.
        _ => None,
    };
    if let Some(delivery) = delivery {
        store(delivery).await.ok()?;
    }
    let envelope_id = frame.envelope_id?;
    Some(Message::Text(json!({ "envelope_id": envelope_id }).to_string().into()))
}

/// Counts a connection while it is open.
struct Greeted(Arc<AtomicUsize>);

impl Greeted {
    fn new(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        metrics::gauge!("socket_connections").increment(1.0);
        Self(Arc::clone(open))
    }
}

impl Drop for Greeted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
        metrics::gauge!("socket_connections").decrement(1.0);
    }
}

fn pauses() -> backon::ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(500))
        .with_max_delay(Duration::from_secs(30))
        .without_max_times()
        .with_jitter()
        .build()
}
