//! The workspace as a bot and its people see it: over HTTP.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::routing::post;
use chrono::TimeDelta;
use hmac::{Hmac, Mac};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::*;

mod deliveries;
mod interactions;
mod messages;
mod people;
mod refusals;
mod streams;
mod surfaces;

const SOON: Duration = Duration::from_secs(5);

/// A status, headers and a body.
type Reply = (u16, Vec<(&'static str, &'static str)>, String);

/// A bot that writes down what it is sent and answers what it is told to.
#[derive(Clone, Default)]
struct Bot {
    requests: Arc<Mutex<Vec<(HeaderMap, Bytes)>>>,
    answers: Arc<Mutex<VecDeque<Reply>>>,
}

impl Bot {
    async fn start(workspace: &Workspace) -> Self {
        let bot = Self::default();
        let app = Router::new().route("/{to}", post(take)).with_state(bot.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        workspace.set_bot_urls(&format!("{base}/events"), &format!("{base}/interactions"));
        workspace.set_more_urls(&format!("{base}/commands"), &format!("{base}/options"));
        bot
    }

    fn answer(&self, status: u16, headers: &[(&'static str, &'static str)]) {
        self.answers.lock().unwrap().push_back((status, headers.to_vec(), String::new()));
    }

    fn says(&self, body: &Value) {
        self.answers.lock().unwrap().push_back((200, vec![], body.to_string()));
    }

    /// The fields of the last form.
    fn form(&self) -> std::collections::BTreeMap<String, String> {
        let is_form = |h: &HeaderMap| h["content-type"] == "application/x-www-form-urlencoded";
        let (_, body) = self.requests().into_iter().rfind(|(h, _)| is_form(h)).unwrap();
        url::form_urlencoded::parse(&body).into_owned().collect()
    }

    /// The payload of the last form.
    fn payload(&self) -> Value {
        serde_json::from_str(&self.form()["payload"]).unwrap()
    }

    fn requests(&self) -> Vec<(HeaderMap, Bytes)> {
        self.requests.lock().unwrap().clone()
    }

    fn events(&self) -> Vec<Value> {
        self.requests().iter().filter_map(|(_, body)| serde_json::from_slice(body).ok()).collect()
    }
}

async fn take(State(bot): State<Bot>, headers: HeaderMap, body: Bytes) -> (StatusCode, HeaderMap, String) {
    bot.requests.lock().unwrap().push((headers, body));
    let (status, headers, body) = bot.answers.lock().unwrap().pop_front().unwrap_or((200, vec![], String::new()));
    let headers = headers.into_iter().map(|(n, v)| (n.parse().unwrap(), v.parse().unwrap())).collect();
    (StatusCode::from_u16(status).unwrap(), headers, body)
}

/// An app that was granted and asked for all there is.
fn settings(clock: &Clock) -> Settings {
    let more = ["channels:read", "groups:read", "im:read", "mpim:read", "im:write", "mpim:write", "usergroups:read"];
    let more = more.into_iter().chain(["reactions:read", "reactions:write", "files:read", "files:write"]);
    Settings {
        scopes: SCOPES.into_iter().chain(more).map(str::to_owned).collect(),
        events: EVENTS.into_iter().chain(["agent_session_stopped", "reaction_added"]).map(str::to_owned).collect(),
        home_tab: true,
        signing_secret: Secret::new("sign"),
        bot_token: Secret::new("xoxb-test"),
        retry_scale: 0.0,
        ..Settings::new(Seed::small(), clock.clone())
    }
}

async fn start(settings: Settings) -> Workspace {
    Workspace::start(TcpListener::bind("127.0.0.1:0").await.unwrap(), settings).await.unwrap()
}

async fn with_bot() -> (Workspace, Bot, Clock) {
    let clock = Clock::system();
    let workspace = start(settings(&clock)).await;
    let bot = Bot::start(&workspace).await;
    (workspace, bot, clock)
}

async fn http(url: &str, token: Option<&str>, content_type: &str, body: &str) -> (u16, HeaderMap, String) {
    let client: Client<_, Body> = Client::builder(TokioExecutor::new()).build_http();
    let mut request = Request::post(url).header("content-type", content_type);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let response = client.request(request.body(Body::from(body.to_owned())).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(Body::new(body), usize::MAX).await.unwrap();
    (parts.status.as_u16(), parts.headers, String::from_utf8(bytes.to_vec()).unwrap())
}

async fn api(workspace: &Workspace, method: &str, args: Value) -> Value {
    let url = format!("{}{method}", workspace.api_url());
    let (_, _, body) = http(&url, Some("xoxb-test"), "application/json", &args.to_string()).await;
    serde_json::from_str(&body).unwrap()
}

/// With the arguments as a form, as methods that only read want them.
async fn get(workspace: &Workspace, method: &str, form: &str) -> Value {
    let url = format!("{}{method}?{form}", workspace.api_url());
    let (_, _, body) = http(&url, Some("xoxb-test"), "application/x-www-form-urlencoded", "").await;
    serde_json::from_str(&body).unwrap()
}

async fn ok(workspace: &Workspace, method: &str, args: Value) -> Value {
    let answer = api(workspace, method, args).await;
    assert_eq!(answer["ok"], true, "{method}: {answer}");
    answer
}

async fn error(workspace: &Workspace, method: &str, args: Value) -> String {
    api(workspace, method, args).await["error"].as_str().unwrap_or("none").to_owned()
}

/// Waits until all deliveries so far were answered with success.
async fn delivered(workspace: &Workspace, n: usize) {
    let done = |w: &World| {
        let all: Vec<_> = w.deliveries().collect();
        let accepted = all.iter().filter(|d| d.attempts.last().is_some_and(|a| a.status == Some(200))).count();
        (accepted >= n).then_some(())
    };
    workspace.wait_for(done, SOON).await.expect("delivered");
}

fn card() -> Value {
    json!([
        {"type": "section", "text": {"type": "plain_text", "text": "Register?"}},
        {"type": "actions", "block_id": "b1", "elements": [
            {"type": "button", "action_id": "yes", "value": "P1", "style": "primary", "text": {"type": "plain_text", "text": "Yes"}},
            {"type": "button", "action_id": "no", "value": "P1", "text": {"type": "plain_text", "text": "No"}},
        ]},
    ])
}

/// Somebody presses the card's button; the payload.
async fn pressed(workspace: &Workspace, bot: &Bot, user: &str, ts: &str) -> Value {
    workspace.press(user, "C1", ts, "yes").await.unwrap();
    bot.payload()
}

/// A card in `C1`; its `ts`.
async fn posted_card(workspace: &Workspace) -> String {
    let args = json!({"channel": "C1", "text": "card", "blocks": card()});
    ok(workspace, "chat.postMessage", args).await["ts"].as_str().unwrap().to_owned()
}
