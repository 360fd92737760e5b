//! The bot's HTTP edge.
//!
//! What it promises: nothing is done for a request that Slack did not sign; a 200 means that the event or the press is
//! stored, was stored before, or is knowingly ignored; no model, tool or Slack call happens before the answer. A signed
//! request that cannot be read is answered with 200 and counted, since Slack would only send it again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use crate::domain::{Clock, ThreadKey};
use crate::records::{self, Records};
use crate::slack::inbound::{self, ChannelKind, Inbound, Interaction, Me};
use crate::slack::installation::Installation;
use crate::slack::signature::{SIGNATURE_HEADER, SignatureError, TIMESTAMP_HEADER, VerifiedBody, Verifier};
use crate::slack::socket::{Delivery, NotStored, Socket};
use crate::thread::press::{self, Press, Presses};
use crate::thread::queue::{self, Change, Job, MessageJob, Pushed};
use crate::thread::rebuilt;
use crate::work::{self, Work};

/// Slack's own payloads stay far below this.
const BODY_LIMIT: usize = 1024 * 1024;

/// Slack waits 3 s for an answer; a store that takes longer than this counts as down.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);

/// What the edge needs.
pub struct Edge {
    /// Checks signatures.
    pub verifier: Verifier,
    /// Who the bot is.
    pub me: Me,
    /// Whether Slack still takes the bot's token.
    pub installation: Arc<Installation>,
    /// Where jobs go.
    pub work: Work,
    /// Where presses go.
    pub presses: Presses,
    /// The store of record, asked whether it lives.
    pub records: Records,
    /// The time, for stale signatures.
    pub clock: Clock,
    /// Tells the workers of a new job.
    pub wake_worker: Arc<Notify>,
    /// Where a new press is carried out.
    pub pressed: UnboundedSender<Press>,
    /// Where deliveries come from, if not over HTTP.
    pub socket: Option<Socket>,
}

/// The routes Slack calls, and the two for whoever watches the process.
pub fn router(edge: Arc<Edge>) -> Router {
    Router::new()
        .route("/slack/events", post(events))
        .route("/slack/interactions", post(interactions))
        .route("/slack/commands", post(not_offered))
        .route("/slack/options", post(not_offered))
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(ready))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(edge)
}

/// What came of a request; the label of `events_total`.
type Outcome = &'static str;

/// A message was stored and will be answered.
pub(crate) const ACCEPTED: Outcome = "accepted";

/// Reads and stores one signed event. The answer's text is the challenge, when Slack asks for one.
///
/// # Errors
/// When the store does not answer in time; nothing was promised then.
pub async fn accept(edge: &Edge, body: &VerifiedBody) -> Result<(Outcome, String), StoreDown> {
    match inbound::event(body, &edge.me) {
        Inbound::Challenge(challenge) => Ok(("challenge", challenge)),
        Inbound::Message(message) => {
            bounded(store_message(edge, message)).await.map(|outcome| (outcome, String::new()))
        }
        Inbound::Edited { message, at } => {
            let change = Change::Edited { at };
            bounded(store_change(edge, message, change)).await.map(|outcome| (outcome, String::new()))
        }
        Inbound::Deleted(message) => {
            bounded(store_change(edge, message, Change::Deleted)).await.map(|outcome| (outcome, String::new()))
        }
        Inbound::Ended(why) => {
            edge.installation.end(why);
            Ok((why, String::new()))
        }
        Inbound::RateLimited => {
            tracing::error!(
                "Slack drops events of this minute: more than 30,000 in one. People whose message was dropped have to \
                 send it again; find out which channels are that busy, and take the bot out of them"
            );
            Ok(("app_rate_limited", String::new()))
        }
        Inbound::HomeOpened { .. } => Ok(("home_opened", String::new())),
        Inbound::Ignored(reason) => {
            tracing::debug!(reason, "event ignored");
            Ok(("ignored", String::new()))
        }
        Inbound::NotUnderstood(reason) => {
            tracing::warn!(reason, "signed event not understood");
            Ok(("not_understood", String::new()))
        }
    }
}

/// Reads and stores one signed interaction.
///
/// # Errors
/// When the store does not answer in time; nothing was promised then.
pub async fn accept_interaction(edge: &Edge, body: &VerifiedBody) -> Result<Outcome, StoreDown> {
    match inbound::interaction(body) {
        Interaction::Click(press) => {
            fail::fail_point!("http::press");
            let stored = bounded(edge.presses.store(press)).await?;
            fail::fail_point!("http::pressed");
            if let Some(press) = stored {
                // Without a receiver the process is about to end, and the press is found by who comes next.
                let _ = edge.pressed.send(press);
            }
            Ok("pressed")
        }
        Interaction::Ignored(reason) => {
            tracing::debug!(reason, "interaction ignored");
            Ok("ignored")
        }
        Interaction::NotUnderstood(reason) => {
            tracing::warn!(reason, "signed interaction not understood");
            Ok("not_understood")
        }
    }
}

/// The store did not take it.
#[derive(Debug, thiserror::Error)]
pub enum StoreDown {
    /// Too slow for Slack.
    #[error("the store did not answer in time")]
    Timeout,
    /// The records failed.
    #[error("the store failed")]
    Failed(#[from] sqlx::Error),
    /// The queue failed.
    #[error("the store of work failed")]
    Work(#[from] work::Error),
    /// A press was not taken; why is in the log.
    #[error(transparent)]
    Press(#[from] press::NotStored),
}

async fn bounded<T, E>(store: impl Future<Output = Result<T, E>>) -> Result<T, StoreDown>
where
    StoreDown: From<E>,
{
    match tokio::time::timeout(STORE_TIMEOUT, store).await {
        Ok(stored) => Ok(stored?),
        Err(_) => Err(StoreDown::Timeout),
    }
}

pub(crate) async fn store_message(edge: &Edge, message: inbound::Message) -> Result<Outcome, work::Error> {
    let thread = ThreadKey::of(&message.team, &message.channel, &message.ts, message.thread_ts.as_ref());
    let in_dm = message.channel_kind == ChannelKind::Dm;
    let addressed = in_dm || message.mentions_me;
    // A reply without a mention is for the bot only where it takes part and nobody else is spoken to.
    if !addressed && (message.thread_ts.is_none() || message.mentions_others || !takes_part(edge, &thread).await?) {
        return Ok("not_addressed");
    }
    let event_id = message.event_id.clone();
    fail::fail_point!("http::event");
    push(edge, job(message, thread, addressed, None), event_id.as_deref()).await
}

/// Of a message that was taken in before, or is addressed to the bot only as it is now.
async fn store_change(edge: &Edge, message: inbound::Message, change: Change) -> Result<Outcome, work::Error> {
    let thread = ThreadKey::of(&message.team, &message.channel, &message.ts, message.thread_ts.as_ref());
    let addressed = message.channel_kind == ChannelKind::Dm || message.mentions_me;
    let seen = queue::seen(&edge.work, &thread, &message.ts).await?;
    if !seen && (!addressed || change == Change::Deleted) {
        return Ok("not_addressed");
    }
    if !seen {
        // Its first version may be on its way still, and would be answered after the one that replaces it.
        queue::see(&edge.work, &thread, &message.ts).await?;
    }
    let event_id = message.event_id.clone();
    push(edge, job(message, thread, addressed, Some(change)), event_id.as_deref()).await
}

fn job(message: inbound::Message, thread: ThreadKey, addressed: bool, change: Option<Change>) -> Job {
    Job::Message(MessageJob {
        turn: match &change {
            Some(Change::Edited { at }) => queue::edited_turn_id(&thread, &message.ts, at),
            Some(Change::Deleted) | None => queue::turn_id(&thread, &message.ts),
        },
        thread,
        sender: message.sender,
        in_dm: message.channel_kind == ChannelKind::Dm,
        text: message.text,
        ts: message.ts,
        is_ext_shared: message.is_ext_shared,
        addressed,
        has_files: message.has_files,
        change,
    })
}

async fn push(edge: &Edge, job: Job, event_id: Option<&str>) -> Result<Outcome, work::Error> {
    Ok(match queue::push(&edge.work, &job, event_id).await? {
        Pushed::New => {
            fail::fail_point!("http::stored");
            edge.wake_worker.notify_one();
            ACCEPTED
        }
        Pushed::Duplicate => "duplicate",
    })
}

/// Whether the bot takes part in a thread. Redis may have lost it; then the records know where the bot has spoken.
async fn takes_part(edge: &Edge, thread: &ThreadKey) -> Result<bool, work::Error> {
    let joined = queue::joined(&edge.work, thread).await?;
    Ok(joined || (edge.work.is_shared() && rebuilt::took_part(&edge.records, thread).await?))
}

async fn events(State(edge): State<Arc<Edge>>, headers: HeaderMap, body: Bytes) -> Response {
    let begun = Instant::now();
    let answer = match verify(&edge, &headers, body) {
        Ok(body) => match accept(&edge, &body).await {
            Ok((outcome, text)) => answer(outcome, StatusCode::OK, text),
            Err(error) => down(&error),
        },
        Err(error) => unsigned(&error),
    };
    metrics::histogram!("slack_ack_seconds").record(begun.elapsed().as_secs_f64());
    answer
}

async fn interactions(State(edge): State<Arc<Edge>>, headers: HeaderMap, body: Bytes) -> Response {
    let begun = Instant::now();
    let answer = match verify(&edge, &headers, body) {
        Ok(body) => match accept_interaction(&edge, &body).await {
            Ok(outcome) => answer(outcome, StatusCode::OK, String::new()),
            Err(error) => down(&error),
        },
        Err(error) => unsigned(&error),
    };
    metrics::histogram!("slack_ack_seconds").record(begun.elapsed().as_secs_f64());
    answer
}

/// What came over a socket: as what a request brings, and without a 503 for what was not stored.
///
/// # Errors
/// When it was not stored; it must not be acknowledged then.
pub async fn accept_delivery(edge: &Edge, delivery: Delivery) -> Result<(), NotStored> {
    let begun = Instant::now();
    let outcome = match delivery {
        Delivery::Event(body) => accept(edge, &body).await.map(|(outcome, _)| outcome),
        Delivery::Interaction(body) => accept_interaction(edge, &body).await,
    };
    let (outcome, stored) = match outcome {
        Ok(outcome) => (outcome, Ok(())),
        Err(error) => (not_stored(&error), Err(NotStored)),
    };
    metrics::counter!("events_total", "outcome" => outcome).increment(1);
    metrics::histogram!("slack_ack_seconds").record(begun.elapsed().as_secs_f64());
    stored
}

/// Slash commands and option lists are in no manifest of ours yet: acknowledged, so that nobody sees an error.
async fn not_offered(State(edge): State<Arc<Edge>>, headers: HeaderMap, body: Bytes) -> Response {
    match verify(&edge, &headers, body) {
        Ok(_) => answer("ignored", StatusCode::OK, String::new()),
        Err(error) => unsigned(&error),
    }
}

async fn ready(State(edge): State<Arc<Edge>>) -> Response {
    let stores = async {
        records::query("SELECT 1").execute(edge.records.read()).await?;
        queue::depth(&edge.work).await
    };
    if let Some(why) = edge.installation.ended() {
        return (StatusCode::SERVICE_UNAVAILABLE, format!("Slack does not take the bot's token: {why}"))
            .into_response();
    }
    match bounded(stores).await {
        Ok(_) if edge.socket.as_ref().is_some_and(|socket| !socket.is_open()) => {
            (StatusCode::SERVICE_UNAVAILABLE, "no socket to Slack").into_response()
        }
        Ok(_) => (StatusCode::OK, "ready").into_response(),
        Err(error) => down(&error),
    }
}

fn verify(edge: &Edge, headers: &HeaderMap, body: Bytes) -> Result<VerifiedBody, SignatureError> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    edge.verifier.verify(header(SIGNATURE_HEADER), header(TIMESTAMP_HEADER), body, edge.clock.now())
}

fn unsigned(error: &SignatureError) -> Response {
    // A wrong clock refuses everything: say how wrong it is.
    if let SignatureError::Stale { skew_s } = error {
        tracing::warn!(skew_s, "request refused: its timestamp is too far from this machine's clock");
    } else {
        tracing::warn!(reason = %error, "request refused");
    }
    answer("unsigned", StatusCode::UNAUTHORIZED, String::new())
}

fn answer(outcome: Outcome, status: StatusCode, text: String) -> Response {
    metrics::counter!("events_total", "outcome" => outcome).increment(1);
    (status, text).into_response()
}

fn down(error: &StoreDown) -> Response {
    answer(not_stored(error), StatusCode::SERVICE_UNAVAILABLE, String::new())
}

fn not_stored(error: &StoreDown) -> Outcome {
    tracing::error!(error = %error, cause = ?std::error::Error::source(error), "a delivery of Slack's could not be stored");
    "store_down"
}
