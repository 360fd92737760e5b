//! What happens underneath a conversation, for the curious, and ways to disturb it.
//!
//! What it promises: it shows what passed between workspace and bot and what the bot has stored, in order of time, and
//! no secret: addresses that let their holder answer, triggers, values of buttons and signatures are cut short.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::view;
use crate::domain::{ChannelId, MessageTs};
use crate::playground::workspace::{Fault, Hub, Misdelivery, Refused, SignedRequest, World};

/// Calls, deliveries and presses that are looked through, the newest.
const LOOKED_AT: usize = 2_000;
/// The longest text shown of one value, in characters.
const SHOWN: usize = 600;
/// How late Slack answers when it is made slow: long enough to be seen, short enough to be waited for.
const SLOW: Duration = Duration::from_secs(4);
/// Keys whose values let their holder do something, or prove something.
const SECRETS: [&str; 6] = ["response_url", "trigger_id", "token", "value", "private_metadata", "url_private"];

pub(super) fn router(hub: Arc<Hub>) -> Router {
    Router::new().route("/page/underneath", get(look)).route("/page/chaos", post(disturb)).with_state(hub)
}

#[derive(Deserialize)]
struct Where {
    #[serde(rename = "as")]
    user: String,
    channel: String,
    /// The root of a thread.
    ts: String,
}

/// `{"steps": [{at, kind, detail}]}`, oldest first; times in milliseconds since the epoch.
async fn look(State(hub): State<Arc<Hub>>, Query(at): Query<Where>) -> Result<Json<Value>, Refused> {
    view::visible(&hub, &at.user, &at.channel)?;
    let mut steps = passed(&hub.world(), &at.channel, &at.ts);
    if let Some(underneath) = hub.underneath.get()
        && let Value::Array(inside) = (underneath.look)(ChannelId::new(at.channel), MessageTs::new(at.ts)).await
    {
        steps.extend(inside);
    }
    steps.sort_by_key(|step| step.get("at").and_then(Value::as_i64));
    Ok(Json(json!({ "steps": steps })))
}

/// What passed between the workspace and the bot about a thread.
fn passed(world: &World, channel: &str, root: &str) -> Vec<Value> {
    let thread: BTreeSet<&str> = world.thread(channel, root).into_iter().map(|m| m.ts.as_str()).collect();
    let about = |message: &Option<(ChannelId, MessageTs)>| {
        message.as_ref().is_some_and(|(c, ts)| c.as_str() == channel && thread.contains(ts.as_str()))
    };
    let mut steps = Vec::new();
    let newest = |count: usize| count.saturating_sub(LOOKED_AT);
    for delivery in world.deliveries().skip(newest(world.deliveries().count())).filter(|d| about(&d.message)) {
        let attempts: Vec<Value> =
            delivery.attempts.iter().map(|a| json!({"at": a.at, "status": a.status, "took_ms": a.took_ms})).collect();
        let at = delivery.attempts.first().map(|a| a.at);
        steps.push(json!({"at": at, "kind": "event", "detail": {
            "type": delivery.kind, "event_id": delivery.event_id, "attempts": attempts,
            "request": delivery.request.as_ref().map(request),
        }}));
    }
    for press in world.interactions().filter(|i| about(&i.message)) {
        steps.push(json!({"at": press.at, "kind": "interaction", "detail": {
            "type": press.kind, "action": press.action, "user": press.user, "status": press.status,
            "took_ms": press.took_ms, "request": request(&press.request),
        }}));
    }
    for call in world.calls().skip(newest(world.calls().count())) {
        let text = |key: &str| call.args.get(key).and_then(Value::as_str);
        let here = text("channel").or_else(|| text("channel_id")) == Some(channel);
        let named = ["thread_ts", "ts", "message_ts"].iter().any(|key| text(key).is_some_and(|ts| thread.contains(ts)));
        if here && named {
            let args = without_secrets(&Value::Object(call.args.clone()));
            steps.push(json!({"at": call.at, "kind": "api", "detail": {"method": call.method, "args": args}}));
        }
    }
    steps
}

/// A signed request as it went over the wire, with its body read.
fn request(request: &SignedRequest) -> Value {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_else(|_| {
        let form = url::form_urlencoded::parse(&request.body);
        let fields = form.map(|(name, value)| {
            let read = serde_json::from_str(&value).unwrap_or_else(|_| Value::String(value.into_owned()));
            (name.into_owned(), read)
        });
        Value::Object(fields.collect())
    });
    json!({
        "X-Slack-Request-Timestamp": request.timestamp,
        "X-Slack-Signature": beginning(&request.signature),
        "Content-Type": request.content_type,
        "body": without_secrets(&body),
    })
}

fn without_secrets(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| match value {
                Value::String(secret) if SECRETS.contains(&key.as_str()) => (key.clone(), beginning(secret).into()),
                other => (key.clone(), without_secrets(other)),
            })
            .collect(),
        Value::Array(list) => list.iter().map(without_secrets).collect(),
        Value::String(text) => match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()).into(),
            None => text.clone().into(),
        },
        other => other.clone(),
    }
}

fn beginning(secret: &str) -> String {
    let short: String = secret.chars().take(8).collect();
    if short.len() < secret.len() { format!("{short}…") } else { short }
}

/// What can be done to the bot from the page. Pressing twice is the page's own: it presses twice.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Disturbance {
    /// The next message is delivered twice at once.
    DeliverTwice,
    /// The next message is delivered again as a retry.
    AckLost,
    /// The next message arrives after the one that follows it.
    Reorder,
    /// The next answer of the bot hangs for a while.
    SlowSlack,
    /// Slack refuses the bot's next message for a few seconds.
    RateLimit,
    /// Slack takes the bot's next message and says that it failed.
    LoseAnswer,
    /// The sales server is killed.
    KillSalesServer,
}

#[derive(Deserialize)]
struct Disturb {
    what: Disturbance,
}

async fn disturb(State(hub): State<Arc<Hub>>, Json(wish): Json<Disturb>) -> Result<Json<Value>, Refused> {
    const POST: &str = "chat.postMessage";
    match wish.what {
        Disturbance::DeliverTwice => hub.misdeliver(Misdelivery::Duplicate, 1),
        Disturbance::AckLost => hub.misdeliver(Misdelivery::AckLost, 1),
        Disturbance::Reorder => hub.misdeliver(Misdelivery::Reordered, 1),
        Disturbance::SlowSlack => hub.misbehave(POST, Fault::Delay(SLOW), 1),
        Disturbance::RateLimit => hub.misbehave(POST, Fault::RateLimited(3), 1),
        Disturbance::LoseAnswer => hub.misbehave(POST, Fault::StatusAfterAccept(500), 1),
        Disturbance::KillSalesServer => {
            let underneath = hub.underneath.get().ok_or(Refused::NotSupported)?;
            if !(underneath.stop_sales_server)().await {
                return Err(Refused::NotSupported);
            }
        }
    }
    Ok(Json(json!({})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lets_its_holder_act_is_cut_short_wherever_it_stands() {
        let body = json!({
            "payload": {"response_url": "http://127.0.0.1/response/abcdefgh", "actions": [{"value": "0123456789abcdef"}],
                "message": {"blocks": [{"elements": [{"value": "0123456789abcdef"}]}]}, "trigger_id": "123456789.987"},
        });
        let form = format!(
            "payload={}",
            url::form_urlencoded::byte_serialize(body["payload"].to_string().as_bytes()).collect::<String>()
        );
        let shown = request(&SignedRequest {
            timestamp: "1".into(),
            signature: "v0=0123456789abcdef".into(),
            content_type: "application/x-www-form-urlencoded".into(),
            body: form.into_bytes(),
        });
        let text = shown.to_string();
        for secret in ["response/abc", "89abcdef", ".987"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        assert!(text.contains("01234567…"), "{text}");
    }
}
