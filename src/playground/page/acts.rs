//! What a person does on the page, one route for each act; all go through the workspace.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::routing::post;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{As, view};
use crate::domain::{MessageTs, UserId};
use crate::playground::workspace::{Hub, Place, Refused};

/// What a person can type in one message; Slack's composer stops earlier.
const TYPED_CHARS: usize = 40_000;
/// What the page takes of a file; the workspace may take less.
const UPLOAD_BYTES: usize = 32 * 1024 * 1024;
/// How many messages are remembered by the page's key for them.
const REMEMBERED: usize = 512;

/// The workspace, and what was sent under which key.
struct Desk {
    hub: Arc<Hub>,
    /// A page that lost the answer sends again under the same key, and must not say it twice.
    said: Mutex<VecDeque<(String, MessageTs)>>,
}

type Shared = State<Arc<Desk>>;
type Done = Result<Json<Value>, Refused>;

pub(super) fn router(hub: Arc<Hub>) -> Router {
    Router::new()
        .route("/page/say", post(say))
        .route("/page/edit", post(edit))
        .route("/page/remove", post(remove))
        .route("/page/react", post(react))
        .route("/page/act", post(act))
        .route("/page/suggest", post(suggest))
        .route("/page/submit", post(submit))
        .route("/page/dismiss", post(dismiss))
        .route("/page/command", post(command))
        .route("/page/open", post(open))
        .route("/page/home", post(home))
        .route("/page/stop", post(stop))
        .route("/page/upload", post(upload).layer(DefaultBodyLimit::max(UPLOAD_BYTES)))
        .with_state(Arc::new(Desk { hub, said: Mutex::default() }))
}

/// Text as typed, in Slack's form; `@handle` mentions somebody.
fn typed(hub: &Hub, text: &str) -> String {
    let short: String = text.chars().take(TYPED_CHARS).collect();
    hub.typed(&short)
}

#[derive(Deserialize)]
struct Say {
    #[serde(rename = "as")]
    user: String,
    channel: String,
    thread_ts: Option<String>,
    text: String,
    /// The page's own name for this message.
    #[serde(default)]
    key: String,
}

async fn say(State(desk): Shared, Json(say): Json<Say>) -> Done {
    let text = typed(&desk.hub, &say.text);
    let key = format!("{} {}", say.user, say.key);
    let mut said = desk.said.lock().unwrap_or_else(PoisonError::into_inner);
    let known = said.iter().find(|(k, _)| !say.key.is_empty() && *k == key).map(|(_, ts)| ts.clone());
    let ts = match known {
        Some(ts) => ts,
        None => {
            let ts = desk.hub.say(&say.user, &say.channel, say.thread_ts.as_deref(), &text)?;
            if said.len() == REMEMBERED {
                said.pop_front();
            }
            said.push_back((key, ts.clone()));
            ts
        }
    };
    Ok(Json(json!({"ts": ts})))
}

/// A message that is there.
#[derive(Deserialize)]
struct One {
    #[serde(rename = "as")]
    user: String,
    channel: String,
    ts: String,
    /// For an edit: the new text, as typed.
    #[serde(default)]
    text: String,
    /// For a reaction: its name, and whether it is given or taken back.
    #[serde(default)]
    name: String,
    #[serde(default)]
    on: bool,
}

async fn edit(State(desk): Shared, Json(one): Json<One>) -> Done {
    let text = typed(&desk.hub, &one.text);
    desk.hub.edit(&one.user, &one.channel, &one.ts, &text)?;
    Ok(Json(json!({})))
}

async fn remove(State(desk): Shared, Json(one): Json<One>) -> Done {
    desk.hub.remove(&one.user, &one.channel, &one.ts)?;
    Ok(Json(json!({})))
}

async fn react(State(desk): Shared, Json(one): Json<One>) -> Done {
    desk.hub.react(&one.user, &one.channel, &one.ts, &one.name, one.on)?;
    Ok(Json(json!({})))
}

async fn stop(State(desk): Shared, Json(one): Json<One>) -> Done {
    desk.hub.press_stop(&one.user, &one.channel, &one.ts)?;
    Ok(Json(json!({})))
}

/// Where an element is.
#[derive(Deserialize)]
#[serde(untagged)]
enum Surface {
    View { view: String },
    Message { channel: String, ts: String },
}

impl Surface {
    /// The place, if the person sees it.
    fn place(&self, hub: &Hub, user: &str) -> Result<Place<'_>, Refused> {
        match self {
            Self::View { view } => Ok(Place::View { id: view }),
            Self::Message { channel, ts } => {
                view::visible(hub, user, channel)?;
                Ok(Place::Message { channel, ts })
            }
        }
    }
}

#[derive(Deserialize)]
struct Act {
    #[serde(rename = "as")]
    user: String,
    place: Surface,
    block_id: String,
    action_id: String,
    /// What the element's kind adds to the action, such as `{"selected_date": "…"}`.
    #[serde(default)]
    chosen: Map<String, Value>,
    /// What was entered so far on the surface: block to action to value.
    #[serde(default)]
    state: Map<String, Value>,
    /// What was typed into an external select.
    #[serde(default)]
    query: String,
}

async fn act(State(desk): Shared, Json(act): Json<Act>) -> Done {
    let place = act.place.place(&desk.hub, &act.user)?;
    let (chosen, state) = (Value::Object(act.chosen), Value::Object(act.state));
    let outcome = desk.hub.press_with(&act.user, place, Some(&act.block_id), &act.action_id, chosen, state).await?;
    Ok(Json(json!({"status": outcome.status, "warning": outcome.warning})))
}

async fn suggest(State(desk): Shared, Json(act): Json<Act>) -> Done {
    let place = act.place.place(&desk.hub, &act.user)?;
    let options = desk.hub.suggest(&act.user, place, &act.block_id, &act.action_id, &act.query).await?;
    Ok(Json(json!({"options": options})))
}

#[derive(Deserialize)]
struct OfView {
    #[serde(rename = "as")]
    user: String,
    view: String,
    /// For a submission: block to action to value.
    #[serde(default)]
    values: Map<String, Value>,
}

async fn submit(State(desk): Shared, Json(of): Json<OfView>) -> Done {
    let outcome = desk.hub.submit(&of.user, &of.view, Value::Object(of.values)).await?;
    Ok(Json(json!({
        "status": outcome.status, "warning": outcome.warning, "errors": outcome.errors, "closed": outcome.closed,
    })))
}

async fn dismiss(State(desk): Shared, Json(of): Json<OfView>) -> Done {
    desk.hub.dismiss(&of.user, &of.view).await?;
    Ok(Json(json!({})))
}

#[derive(Deserialize)]
struct Command {
    #[serde(rename = "as")]
    user: String,
    channel: String,
    /// With its slash.
    name: String,
    #[serde(default)]
    text: String,
}

async fn command(State(desk): Shared, Json(command): Json<Command>) -> Done {
    view::visible(&desk.hub, &command.user, &command.channel)?;
    let text: String = command.text.chars().take(TYPED_CHARS).collect();
    let outcome = desk.hub.command(&command.user, &command.channel, &command.name, &text).await?;
    Ok(Json(json!({"status": outcome.status, "warning": outcome.warning})))
}

async fn open(State(desk): Shared, Json(who): Json<As>) -> Done {
    let channel = desk.hub.open_dm(&UserId::new(who.user))?;
    Ok(Json(json!({"channel": channel.id})))
}

async fn home(State(desk): Shared, Json(who): Json<As>) -> Done {
    desk.hub.open_home(&who.user)?;
    Ok(Json(json!({})))
}

#[derive(Deserialize)]
struct Upload {
    #[serde(rename = "as")]
    user: String,
    channel: String,
    thread_ts: Option<String>,
    name: String,
}

async fn upload(State(desk): Shared, Query(file): Query<Upload>, bytes: Bytes) -> Done {
    let ts = desk.hub.upload(&file.user, &file.channel, file.thread_ts.as_deref(), &file.name, &bytes)?;
    Ok(Json(json!({"ts": ts})))
}
