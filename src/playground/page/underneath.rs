//! What happens underneath a conversation, for the curious, and ways to disturb it.
//!
//! What it promises: it shows what passed between workspace and bot and what the bot has stored, in order of time, and
//! no secret: addresses that let their holder answer, triggers, values of buttons and signatures are cut short.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::view;
use crate::domain::{ChannelId, MessageTs};
use crate::playground::workspace::{Fault, Hub, Misdelivery, Order, Refused, SignedRequest, World};

/// Calls, deliveries and presses that are looked through, the newest.
const LOOKED_AT: usize = 2_000;
/// The longest text shown of one value, in characters.
const SHOWN: usize = 600;
/// Shorter values of buttons are words, not keys.
const SECRET_BYTES: usize = 16;
/// How late Slack answers when it is made slow: long enough to be seen, short enough to be waited for.
const SLOW: Duration = Duration::from_secs(4);
/// Keys whose values let their holder do something, or prove something.
const SECRETS: [&str; 6] = ["response_url", "trigger_id", "token", "value", "private_metadata", "url_private"];

pub(super) fn router(hub: Arc<Hub>) -> Router {
    Router::new().route("/page/underneath", get(look)).route("/page/chaos", get(armed).post(disturb)).with_state(hub)
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
    let shown = (at.channel.clone(), at.ts.clone());
    if let Some(underneath) = hub.underneath.get()
        && let Value::Array(inside) = (underneath.look)(ChannelId::new(at.channel), MessageTs::new(at.ts)).await
    {
        steps.extend(inside);
    }
    steps.sort_by_key(|step| step.get("at").and_then(Value::as_i64));
    let values = values_of_buttons(&hub.world(), &shown);
    steps.iter_mut().for_each(|step| cut_short(step, &values));
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
        steps.push(json!({"at": delivery.at, "kind": "event", "detail": {
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

/// What the buttons of a thread carry: whoever knows it could press, so it is cut short wherever else it stands, too.
fn values_of_buttons(world: &World, (channel, root): &(String, String)) -> BTreeSet<String> {
    fn collect(value: &Value, out: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) => {
                let secret = map.get("value").and_then(Value::as_str).filter(|v| v.len() > SECRET_BYTES);
                out.extend(secret.map(str::to_owned));
                map.values().for_each(|v| collect(v, out));
            }
            Value::Array(list) => list.iter().for_each(|v| collect(v, out)),
            _ => {}
        }
    }
    let mut out = BTreeSet::new();
    for blocks in world.thread(channel, root).into_iter().filter_map(|m| m.blocks.as_ref()) {
        collect(blocks, &mut out);
    }
    // A card that was decided has no buttons any more; what they carried stands in the calls that drew it.
    for call in world.calls().skip(world.calls().count().saturating_sub(LOOKED_AT)) {
        let here = call.args.get("channel").and_then(Value::as_str) == Some(channel.as_str());
        if let Some(blocks) = call.args.get("blocks").filter(|_| here) {
            collect(blocks, &mut out);
        }
    }
    out
}

fn cut_short(value: &mut Value, secrets: &BTreeSet<String>) {
    match value {
        Value::String(text) => {
            for secret in secrets.iter().filter(|s| text.contains(s.as_str())).collect::<Vec<_>>() {
                *text = text.replace(secret.as_str(), &beginning(secret));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|v| cut_short(v, secrets)),
        Value::Object(map) => map.values_mut().for_each(|v| cut_short(v, secrets)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

impl Disturbance {
    /// Those that wait for what comes next, as opposed to what is done at once.
    const ARMED: [Self; 6] =
        [Self::DeliverTwice, Self::AckLost, Self::Reorder, Self::SlowSlack, Self::RateLimit, Self::LoseAnswer];

    fn order(self) -> Option<Order> {
        const POST: &str = "chat.postMessage";
        Some(match self {
            Self::DeliverTwice => Order::Delivery(Misdelivery::Duplicate),
            Self::AckLost => Order::Delivery(Misdelivery::AckLost),
            Self::Reorder => Order::Delivery(Misdelivery::Reordered),
            Self::SlowSlack => Order::Call(POST, Fault::Delay(SLOW)),
            Self::RateLimit => Order::Call(POST, Fault::RateLimited(3)),
            Self::LoseAnswer => Order::Call(POST, Fault::StatusAfterAccept(500)),
            Self::KillSalesServer => return None,
        })
    }
}

#[derive(Deserialize)]
struct Disturb {
    what: Disturbance,
    /// Whether it shall wait for what comes next, or no longer.
    on: bool,
}

/// `{"armed": […]}`: what waits for what comes next.
async fn armed(State(hub): State<Arc<Hub>>) -> Json<Value> {
    let waits = |d: &Disturbance| d.order().is_some_and(|order| hub.orders.is_armed(&order));
    let armed: Vec<Disturbance> = Disturbance::ARMED.into_iter().filter(waits).collect();
    Json(json!({ "armed": armed }))
}

async fn disturb(State(hub): State<Arc<Hub>>, Json(wish): Json<Disturb>) -> Result<Json<Value>, Refused> {
    match wish.what.order() {
        Some(order) => hub.orders.arm(&order, wish.on),
        None => {
            let underneath = hub.underneath.get().ok_or(Refused::NotSupported)?;
            if !(underneath.stop_sales_server)().await {
                return Err(Refused::NotSupported);
            }
        }
    }
    Ok(armed(State(hub)).await)
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
