//! Signed requests to the bot: events with Slack's retries, presses without.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Request};
use hmac::{Hmac, Mac};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use sha2::Sha256;
use tokio::task::JoinHandle;

use super::{Attempt, Delivery, Endpoint, Hub, Interaction, Misdelivery, PressOutcome, SignedRequest};
use crate::domain::{ChannelId, Clock, MessageTs, Secret, UserId};

/// How long Slack waits for an answer.
const ACK: Duration = Duration::from_secs(3);
/// Slack's schedule: nearly at once, after a minute, after five; scaled by the settings.
const RETRIES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(60), Duration::from_secs(300)];
/// An answer is a status and, at most, a few field errors.
const ANSWER_BYTES: usize = 64 * 1024;
/// How long an event that others shall overtake waits for them.
const OVERTAKEN: Duration = Duration::from_secs(2);

/// Why an attempt failed, in Slack's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Timeout,
    Connection,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

#[derive(Debug)]
pub(super) struct Courier {
    client: Client<HttpConnector, Body>,
    urls: RwLock<HashMap<Endpoint, String>>,
    secret: Secret,
    clock: Clock,
    retry_scale: f64,
}

impl Courier {
    pub(super) fn new(secret: Secret, clock: Clock, retry_scale: f64) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(ACK));
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            urls: RwLock::default(),
            secret,
            clock,
            retry_scale,
        }
    }

    /// An empty URL is none.
    pub(super) fn set_url(&self, to: Endpoint, url: &str) {
        self.urls.write().unwrap_or_else(PoisonError::into_inner).insert(to, url.into());
    }

    /// Where deliveries go; none until the bot's URLs are set.
    pub(super) fn url(&self, to: Endpoint) -> Option<String> {
        let urls = self.urls.read().unwrap_or_else(PoisonError::into_inner);
        urls.get(&to).filter(|url| !url.is_empty()).cloned()
    }

    pub(super) fn sign(&self, body: &[u8], content_type: &str) -> SignedRequest {
        let timestamp = self.clock.now().timestamp().to_string();
        let signature = signature(self.secret.reveal(), &timestamp, body);
        SignedRequest { timestamp, signature, content_type: content_type.into(), body: body.to_vec() }
    }

    /// One request, one answer within 3 s.
    pub(super) async fn send(
        &self,
        url: &str,
        request: SignedRequest,
        headers: &[(&str, &str)],
    ) -> Result<Answer, Failure> {
        let mut builder = Request::builder()
            .method(Method::POST)
            .uri(url)
            .header("content-type", request.content_type)
            .header("user-agent", "Slackbot 1.0 (+https://api.slack.com/robots)")
            .header("x-slack-request-timestamp", request.timestamp)
            .header("x-slack-signature", request.signature);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let built = builder.body(Body::from(request.body)).map_err(|_| Failure::Connection)?;
        let exchange = async {
            let response = self.client.request(built).await.map_err(|e| {
                tracing::debug!(error = %e, "the bot could not be reached");
                Failure::Connection
            })?;
            let (parts, body) = response.into_parts();
            let bytes = axum::body::to_bytes(Body::new(body), ANSWER_BYTES).await.map_err(|_| Failure::Connection)?;
            let body = String::from_utf8_lossy(&bytes).into_owned();
            Ok(Answer { status: parts.status.as_u16(), headers: parts.headers, body })
        };
        tokio::time::timeout(ACK, exchange).await.unwrap_or(Err(Failure::Timeout))
    }
}

/// An answer's status and how many milliseconds it took.
fn seen(answer: &Result<Answer, Failure>, begun: Instant) -> (Option<u16>, Option<i64>) {
    let status = answer.as_ref().ok().map(|a| a.status);
    (status, status.and_then(|_| i64::try_from(begun.elapsed().as_millis()).ok()))
}

/// What a person used, for the ledger.
pub(super) struct Used {
    pub(super) user: UserId,
    pub(super) kind: &'static str,
    pub(super) message: Option<(ChannelId, MessageTs)>,
    pub(super) action: String,
}

impl Hub {
    /// Sends a payload as a form, once, whatever comes of it.
    pub(super) async fn post_payload(&self, to: Endpoint, used: Used, payload: &Value) -> Result<Answer, Failure> {
        self.post_form(to, used, &[("payload", &payload.to_string())]).await
    }

    /// Sends a signed form, once.
    pub(super) async fn post_form(&self, to: Endpoint, used: Used, fields: &[(&str, &str)]) -> Result<Answer, Failure> {
        let url = self.courier.url(to).ok_or(Failure::Connection)?;
        let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = self.courier.sign(form.as_bytes(), "application/x-www-form-urlencoded");
        let (at, begun) = (self.clock.now_ms(), Instant::now());
        let answer = self.courier.send(&url, request.clone(), &[]).await;
        let (status, took_ms) = seen(&answer, begun);
        let Used { user, kind, message, action } = used;
        let kind = kind.to_owned();
        let done = Interaction { at, user, kind, message, action, request, status, took_ms };
        self.world().ledger.interacted(done);
        self.changed();
        answer
    }
}

/// What the person who pressed sees of an answer.
pub(super) fn outcome(answer: Result<Answer, Failure>) -> PressOutcome {
    match answer {
        Ok(a) => PressOutcome { status: Some(a.status), warning: a.status != 200, body: a.body },
        Err(_) => PressOutcome { status: None, warning: true, body: String::new() },
    }
}

/// `v0=` and the HMAC-SHA256 over `v0:timestamp:body`, as Slack documents it.
fn signature(secret: &str, timestamp: &str, body: &[u8]) -> String {
    // HMAC takes keys of every length; the alternative only satisfies the signature.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(b"v0:");
    mac.update(timestamp.as_bytes());
    mac.update(b":");
    mac.update(body);
    format!("v0={}", hex::encode(mac.finalize().into_bytes()))
}

/// One event on its way.
#[derive(Clone)]
struct Parcel {
    url: String,
    event_id: String,
    kind: String,
    message: Option<(ChannelId, MessageTs)>,
    body: Bytes,
}

/// Delivers the events of one happening with retries, in the background, or otherwise if so ordered.
pub(super) fn deliver(hub: &Arc<Hub>, envelopes: Vec<Value>) {
    let odd = envelopes.first().filter(|e| is_a_persons_message(e)).and_then(|_| hub.orders.next_misdelivery());
    if odd == Some(Misdelivery::Reordered) {
        hub.held().extend(envelopes);
        let (waiting, tasks) = (Arc::clone(hub), hub.tasks.clone());
        tasks.spawn(async move {
            let stop = waiting.stop.clone();
            if stop.run_until_cancelled(tokio::time::sleep(OVERTAKEN)).await.is_some() {
                let held = std::mem::take(&mut *waiting.held());
                let parcels = parcels(&waiting, &held);
                spawn(&waiting, parcels, None);
            }
        });
        return;
    }
    if envelopes.is_empty() {
        return;
    }
    let first = spawn(hub, parcels(hub, &envelopes), odd);
    let held = std::mem::take(&mut *hub.held());
    if !held.is_empty() {
        let (later, tasks) = (Arc::clone(hub), hub.tasks.clone());
        tasks.spawn(async move {
            for task in first {
                // A task that ended badly has ended.
                drop(task.await);
            }
            let parcels = parcels(&later, &held);
            spawn(&later, parcels, None);
        });
    }
}

fn is_a_persons_message(envelope: &Value) -> bool {
    let event = envelope.get("event").unwrap_or(&Value::Null);
    let kind = event.get("type").and_then(Value::as_str);
    matches!(kind, Some("message" | "app_mention")) && event.get("bot_id").is_none() && event.get("hidden").is_none()
}

/// Writes down what is to be delivered.
fn parcels(hub: &Hub, envelopes: &[Value]) -> Vec<Parcel> {
    let Some(url) = hub.courier.url(Endpoint::Events) else {
        tracing::debug!("no bot is connected: the events are not delivered");
        return Vec::new();
    };
    let parcel = |envelope: &Value| {
        let text = |pointer: &str| envelope.pointer(pointer).and_then(Value::as_str).unwrap_or("").to_owned();
        let (event_id, kind) = (text("/event_id"), text("/event/type"));
        let ts = ["/event/message/ts", "/event/deleted_ts", "/event/item/ts", "/event/ts"];
        let ts = ts.into_iter().map(text).find(|ts| !ts.is_empty());
        let channel = ["/event/channel", "/event/item/channel"].into_iter().map(text).find(|c| !c.is_empty());
        let message = channel.zip(ts).map(|(channel, ts)| (ChannelId::new(channel), MessageTs::new(ts)));
        let body = Bytes::from(envelope.to_string());
        Parcel { url: url.clone(), event_id, kind, message, body }
    };
    let parcels: Vec<Parcel> = envelopes.iter().map(parcel).collect();
    let (mut world, at) = (hub.world(), hub.clock.now_ms());
    for parcel in &parcels {
        let Parcel { event_id, kind, message, .. } = parcel.clone();
        world.ledger.delivering(Delivery { at, event_id, kind, message, attempts: Vec::new(), request: None });
    }
    parcels
}

fn spawn(hub: &Arc<Hub>, mut parcels: Vec<Parcel>, odd: Option<Misdelivery>) -> Vec<JoinHandle<()>> {
    let run = |work: Pin<Box<dyn Future<Output = ()> + Send>>| {
        let stop = hub.stop.clone();
        hub.tasks.spawn(async move { stop.run_until_cancelled(work).await.unwrap_or(()) })
    };
    let mention_first = match odd {
        Some(Misdelivery::Lost) => return Vec::new(),
        Some(Misdelivery::MentionBeforeMessage) => true,
        Some(Misdelivery::MessageBeforeMention) => false,
        _ => {
            let copies = if odd == Some(Misdelivery::Duplicate) { 2 } else { 1 };
            let all = parcels.into_iter().flat_map(|p| std::iter::repeat_n(p, copies));
            let one = |parcel: Parcel| {
                let hub = Arc::clone(hub);
                run(Box::pin(async move {
                    if let Some(Misdelivery::Delayed(by)) = odd {
                        tokio::time::sleep(by).await;
                    }
                    attempts(&hub, &parcel, 0).await;
                    if odd == Some(Misdelivery::AckLost) {
                        attempts(&hub, &parcel, 1).await;
                    }
                }))
            };
            return all.map(one).collect();
        }
    };
    parcels.sort_by_key(|p| (p.kind == "app_mention") != mention_first);
    let hub = Arc::clone(hub);
    vec![run(Box::pin(async move {
        for parcel in parcels {
            attempts(&hub, &parcel, 0).await;
        }
    }))]
}

/// Slack's attempts, from the one with this number on.
async fn attempts(hub: &Hub, parcel: &Parcel, from: usize) {
    let event_id = &parcel.event_id;
    let mut reason = if from == 0 { "" } else { "http_timeout" };
    for number in from..=RETRIES.len() {
        if let Some(wait) = number.checked_sub(1).and_then(|i| RETRIES.get(i)).filter(|_| number > from) {
            tokio::time::sleep(wait.mul_f64(hub.courier.retry_scale)).await;
        }
        let request = hub.courier.sign(&parcel.body, "application/json");
        let num = number.to_string();
        let retry = [("x-slack-retry-num", num.as_str()), ("x-slack-retry-reason", reason)];
        let headers: &[(&str, &str)] = if number == 0 { &[] } else { &retry };
        let (at, begun) = (hub.clock.now_ms(), Instant::now());
        let answer = hub.courier.send(&parcel.url, request.clone(), headers).await;
        let (status, took_ms) = seen(&answer, begun);
        hub.world().ledger.attempted(event_id, Attempt { at, status, took_ms }, request);
        hub.changed();
        reason = match answer {
            Ok(a) if (200..300).contains(&a.status) => return,
            Ok(a) if a.headers.get("x-slack-no-retry").is_some_and(|v| v == "1") => return,
            Ok(_) => "http_error",
            Err(Failure::Timeout) => "http_timeout",
            Err(Failure::Connection) => "connection_failed",
        };
    }
    tracing::warn!(event_id, reason, "an event was not accepted by the bot");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_the_documented_one() {
        // Computed with `openssl dgst -sha256 -hmac`.
        assert_eq!(
            signature("example-signing-secret", "1531420618", b"payload=%7B%22type%22%3A%22block_actions%22%7D"),
            "v0=7f43d52112f4dcaaa2bba3be512074b404d169e86f9c15b1cd7092a71b4def50",
        );
    }
}
