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

const SOON: Duration = Duration::from_secs(5);

/// A status and headers.
type Reply = (u16, Vec<(&'static str, &'static str)>);

/// A bot that writes down what it is sent and answers what it is told to.
#[derive(Clone, Default)]
struct Bot {
    requests: Arc<Mutex<Vec<(HeaderMap, Bytes)>>>,
    answers: Arc<Mutex<VecDeque<Reply>>>,
}

impl Bot {
    async fn start(workspace: &Workspace) -> Self {
        let bot = Self::default();
        let app = Router::new().route("/events", post(take)).route("/interactions", post(take)).with_state(bot.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        workspace.set_bot_urls(&format!("{base}/events"), &format!("{base}/interactions"));
        bot
    }

    fn answer(&self, status: u16, headers: &[(&'static str, &'static str)]) {
        self.answers.lock().unwrap().push_back((status, headers.to_vec()));
    }

    fn requests(&self) -> Vec<(HeaderMap, Bytes)> {
        self.requests.lock().unwrap().clone()
    }

    fn events(&self) -> Vec<Value> {
        self.requests().iter().filter_map(|(_, body)| serde_json::from_slice(body).ok()).collect()
    }
}

async fn take(State(bot): State<Bot>, headers: HeaderMap, body: Bytes) -> (StatusCode, HeaderMap) {
    bot.requests.lock().unwrap().push((headers, body));
    let (status, headers) = bot.answers.lock().unwrap().pop_front().unwrap_or((200, vec![]));
    let headers = headers.into_iter().map(|(n, v)| (n.parse().unwrap(), v.parse().unwrap())).collect();
    (StatusCode::from_u16(status).unwrap(), headers)
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

#[tokio::test]
async fn a_mention_in_a_channel_arrives_twice_with_one_ts_and_valid_signatures() {
    let (workspace, bot, _) = with_bot().await;
    let ts = workspace.say("U1", "C1", None, "<@UBOT> hello &amp; 今日").await.unwrap();
    delivered(&workspace, 2).await;
    let events = bot.events();
    let kinds: std::collections::BTreeSet<_> = events.iter().map(|e| e["event"]["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["app_mention", "message"].into());
    assert!(events.iter().all(|e| e["event"]["ts"] == ts.as_str() && e["event"]["user"] == "U1"));
    assert_ne!(events[0]["event_id"], events[1]["event_id"]);
    assert_eq!(events[0]["authorizations"][0]["user_id"], "UBOT");
    for (headers, body) in bot.requests() {
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(b"sign").unwrap();
        mac.update(format!("v0:{}:", headers["x-slack-request-timestamp"].to_str().unwrap()).as_bytes());
        mac.update(&body);
        assert_eq!(headers["x-slack-signature"], format!("v0={}", hex::encode(mac.finalize().into_bytes())));
        assert!(!headers.contains_key("x-slack-retry-num"));
    }
}

#[tokio::test]
async fn a_dm_a_reply_and_what_the_bot_says_itself_arrive_once_as_messages() {
    let (workspace, bot, _) = with_bot().await;
    let dm = workspace.open_dm("U1").await.unwrap();
    let root = workspace.say("U1", dm.as_str(), None, "hi <@UBOT>").await.unwrap();
    delivered(&workspace, 2).await;
    ok(&workspace, "chat.postMessage", json!({"channel": dm, "thread_ts": root, "text": "answer"})).await;
    workspace.say("U1", dm.as_str(), Some(root.as_str()), "thanks").await.unwrap();
    delivered(&workspace, 4).await;
    let events: Vec<Value> = bot.events().into_iter().map(|e| e["event"].clone()).collect();
    assert_eq!(events[0]["type"], "app_home_opened");
    assert_eq!((&events[0]["tab"], &events[0]["channel"]), (&json!("messages"), &json!(dm)));
    let texts = |text: &str| events.iter().filter(|e| e["text"] == text).cloned().collect::<Vec<_>>();
    let mentioned = texts("hi <@UBOT>");
    assert_eq!(mentioned.len(), 1, "a mention in a DM is only a message");
    assert_eq!((&mentioned[0]["type"], &mentioned[0]["channel_type"]), (&json!("message"), &json!("im")));
    assert_eq!(texts("answer")[0]["bot_id"], "B1");
    assert_eq!(texts("thanks")[0]["thread_ts"], root.as_str());
    assert_eq!(texts("thanks")[0]["parent_user_id"], "U1");
}

#[tokio::test]
async fn nothing_is_delivered_from_a_channel_the_bot_is_not_in() {
    let (workspace, bot, _) = with_bot().await;
    workspace.say("U1", "C2", None, "<@UBOT> are you there?").await.unwrap();
    workspace.say("U1", "C1", None, "a plain message").await.unwrap();
    delivered(&workspace, 1).await;
    assert_eq!(bot.events().len(), 1);
    assert_eq!(error(&workspace, "chat.postMessage", json!({"channel": "C2", "text": "x"})).await, "not_in_channel");
    assert_eq!(error(&workspace, "chat.postMessage", json!({"channel": "C9", "text": "x"})).await, "channel_not_found");
    assert_eq!(workspace.say("U9", "C1", None, "x").await, Err(Refused::UserNotFound));
}

#[tokio::test]
async fn a_failed_delivery_is_repeated_with_the_same_event_id_and_a_fresh_signature() {
    let (workspace, bot, _) = with_bot().await;
    bot.answer(500, &[]);
    bot.answer(503, &[]);
    workspace.say("U1", "C1", None, "hello").await.unwrap();
    delivered(&workspace, 1).await;
    let requests = bot.requests();
    assert_eq!(requests.len(), 3);
    let ids: std::collections::BTreeSet<_> = bot.events().iter().map(|e| e["event_id"].to_string()).collect();
    assert_eq!(ids.len(), 1);
    let header = |i: usize, name: &str| requests[i].0.get(name).map(|v| v.to_str().unwrap().to_owned());
    assert_eq!(header(0, "x-slack-retry-num"), None);
    assert_eq!(header(1, "x-slack-retry-num").as_deref(), Some("1"));
    assert_eq!(header(2, "x-slack-retry-num").as_deref(), Some("2"));
    assert_eq!(header(2, "x-slack-retry-reason").as_deref(), Some("http_error"));
    let statuses: Vec<_> = workspace.deliveries()[0].attempts.iter().map(|a| a.status).collect();
    assert_eq!(statuses, [Some(500), Some(503), Some(200)]);
}

#[tokio::test]
async fn a_delivery_ends_after_three_retries_or_when_the_bot_says_so() {
    let (workspace, bot, _) = with_bot().await;
    bot.answer(500, &[("x-slack-no-retry", "1")]);
    workspace.say("U1", "C1", None, "one").await.unwrap();
    let attempts = |n: usize, of: usize| {
        move |w: &World| (w.deliveries().nth(of).is_some_and(|d| d.attempts.len() == n)).then_some(())
    };
    workspace.wait_for(attempts(1, 0), SOON).await.unwrap();
    (0..4).for_each(|_| bot.answer(500, &[]));
    workspace.say("U1", "C1", None, "two").await.unwrap();
    workspace.wait_for(attempts(4, 1), SOON).await.unwrap();
    workspace.say("U1", "C1", None, "three").await.unwrap();
    delivered(&workspace, 1).await;
    assert_eq!(bot.requests().len(), 1 + 4 + 1);
}

#[tokio::test]
async fn the_token_is_checked_and_unknown_methods_are_named_so() {
    let (workspace, ..) = with_bot().await;
    let url = format!("{}auth.test", workspace.api_url());
    let (_, _, body) = http(&url, None, "application/json", "{}").await;
    assert_eq!(body, r#"{"error":"not_authed","ok":false}"#);
    let (_, _, body) = http(&url, Some("xoxb-other"), "application/json", "{}").await;
    assert_eq!(body, r#"{"error":"invalid_auth","ok":false}"#);
    let (_, headers, body) = http(&url, Some("xoxb-test"), "application/json", "{}").await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&body["team_id"], &body["user_id"], &body["bot_id"]), (&json!("T1"), &json!("UBOT"), &json!("B1")));
    assert!(headers["x-oauth-scopes"].to_str().unwrap().contains("chat:write"));
    assert_eq!(error(&workspace, "chat.sendSmoke", json!({})).await, "unknown_method");
}

#[tokio::test]
async fn an_update_without_blocks_removes_them_and_the_bot_hears_of_it() {
    let (workspace, bot, _) = with_bot().await;
    let metadata = json!({"event_type": "outbox", "event_payload": {"key": "k1"}});
    let posted = ok(
        &workspace,
        "chat.postMessage",
        json!({"channel": "C1", "text": "card", "blocks": card(), "metadata": metadata}),
    )
    .await;
    ok(&workspace, "chat.update", json!({"channel": "C1", "ts": posted["ts"], "text": "done"})).await;
    let message = &workspace.messages("C1")[0];
    assert_eq!((message.text.as_str(), &message.blocks), ("done", &None));
    assert_eq!(message.metadata, Some(metadata), "metadata survives");
    assert!(message.edited.is_some());
    delivered(&workspace, 2).await;
    let changed = bot.events().into_iter().find(|e| e["event"]["subtype"] == "message_changed").unwrap();
    assert_eq!(changed["event"]["message"]["text"], "done");
    assert_eq!(changed["event"]["previous_message"]["text"], "card");
    assert_eq!(changed["event"]["message"]["ts"], posted["ts"]);
}

#[tokio::test]
async fn updates_are_refused_as_slack_refuses_them() {
    let (workspace, ..) = with_bot().await;
    let theirs = workspace.say("U1", "C1", None, "mine").await.unwrap();
    let ours = ok(&workspace, "chat.postMessage", json!({"channel": "C1", "text": "x"})).await["ts"].clone();
    let update = |ts: Value, text: String| json!({"channel": "C1", "ts": ts, "text": text});
    assert_eq!(error(&workspace, "chat.update", update(json!(theirs), "x".into())).await, "cant_update_message");
    assert_eq!(error(&workspace, "chat.update", update(json!("1.1"), "x".into())).await, "message_not_found");
    assert_eq!(error(&workspace, "chat.update", update(ours.clone(), "あ".repeat(1334))).await, "msg_too_long");
    assert_eq!(error(&workspace, "chat.update", update(ours.clone(), "あ".repeat(1333))).await, "none");
    assert_eq!(error(&workspace, "chat.delete", json!({"channel": "C1", "ts": theirs})).await, "cant_delete_message");
    ok(&workspace, "chat.delete", json!({"channel": "C1", "ts": ours})).await;
    assert_eq!(workspace.messages("C1").len(), 1);
}

#[tokio::test]
async fn posts_are_refused_as_slack_refuses_them() {
    let (workspace, ..) = with_bot().await;
    let root = workspace.say("U1", "C1", None, "root").await.unwrap();
    let reply = workspace.say("U1", "C1", Some(root.as_str()), "reply").await.unwrap();
    let post = |extra: Value| {
        let mut args = json!({"channel": "C1", "text": "x"});
        args.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        args
    };
    for (extra, code) in [
        (json!({"text": ""}), "no_text"),
        (json!({"thread_ts": "1.1"}), "thread_not_found"),
        (json!({"thread_ts": ""}), "invalid_thread_ts"),
        (json!({"thread_ts": reply}), "cannot_reply_to_message"),
        (json!({"blocks": {}}), "invalid_blocks_format"),
        (json!({"markdown_text": "m"}), "markdown_text_conflict"),
        (json!({"metadata": {"event_type": "a b", "event_payload": {}}}), "invalid_metadata_format"),
        (json!({"metadata": {"event_type": "a", "event_payload": {"k": "v".repeat(5000)}}}), "metadata_too_large"),
    ] {
        assert_eq!(error(&workspace, "chat.postMessage", post(extra)).await, code);
    }
    let blocks = json!([{"type": "section", "text": {"type": "mrkdwn", "text": ""}}]);
    let refused = api(&workspace, "chat.postMessage", post(json!({"blocks": blocks}))).await;
    assert_eq!(refused["error"], "invalid_blocks");
    let told = refused["response_metadata"]["messages"][0].as_str().unwrap();
    assert_eq!(told, "[ERROR] must be more than 0 characters [json-pointer:/blocks/0/text/text]");
    let long = ok(&workspace, "chat.postMessage", post(json!({"text": "あ".repeat(40_001)}))).await;
    assert_eq!(long["warning"], "message_truncated");
    assert_eq!(long["message"]["text"].as_str().unwrap().chars().count(), 40_000);
    let dm = ok(&workspace, "chat.postMessage", json!({"channel": "U2", "text": "hi"})).await;
    assert_eq!(dm["channel"], "D2");
}

#[tokio::test]
async fn replies_come_oldest_first_in_pages_that_repeat_the_root() {
    let (workspace, ..) = with_bot().await;
    let root = workspace.say("U1", "C1", None, "root").await.unwrap();
    workspace.say("U1", "C1", None, "elsewhere").await.unwrap();
    let metadata = json!({"event_type": "outbox", "event_payload": {"key": "k"}});
    for n in 1..=5 {
        let args = json!({"channel": "C1", "thread_ts": root, "text": format!("r{n}"), "metadata": metadata});
        ok(&workspace, "chat.postMessage", args).await;
    }
    let texts = |page: &Value| -> Vec<String> {
        page["messages"].as_array().unwrap().iter().map(|m| m["text"].as_str().unwrap().to_owned()).collect()
    };
    let first = get(&workspace, "conversations.replies", &format!("channel=C1&ts={root}&limit=3")).await;
    assert_eq!(texts(&first), ["root", "r1", "r2", "r3"]);
    assert_eq!((&first["has_more"], &first["messages"][0]["reply_count"]), (&json!(true), &json!(5)));
    assert!(first["messages"][1].get("metadata").is_none());
    let cursor = first["response_metadata"]["next_cursor"].as_str().unwrap().replace('=', "%3D");
    let query = format!("channel=C1&ts={root}&limit=3&cursor={cursor}&include_all_metadata=true");
    let second = get(&workspace, "conversations.replies", &query).await;
    assert_eq!(texts(&second), ["root", "r4", "r5"]);
    assert_eq!(second["has_more"], false);
    assert_eq!(second["messages"][1]["metadata"], metadata);
    let none = get(&workspace, "conversations.replies", "channel=C1&ts=1.1").await;
    assert_eq!(none["error"], "thread_not_found");
    let json = api(&workspace, "conversations.replies", json!({"channel": "C1", "ts": root})).await;
    assert_eq!(json["error"], "invalid_arguments", "Slack does not read JSON here");
}

#[tokio::test]
async fn people_and_conversations_are_described() {
    let (workspace, ..) = with_bot().await;
    let user = get(&workspace, "users.info", "user=U2&include_locale=true").await;
    assert_eq!((&user["user"]["locale"], &user["user"]["tz"]), (&json!("en-US"), &json!("Europe/London")));
    let user = get(&workspace, "users.info", "user=U2").await;
    assert!(user["user"].get("locale").is_none());
    assert_eq!(get(&workspace, "users.info", "user=U9").await["error"], "user_not_found");
    assert_eq!(get(&workspace, "users.info", "user=UBOT").await["user"]["is_bot"], true);
    let opened = ok(&workspace, "conversations.open", json!({"users": "U1"})).await;
    assert_eq!(opened["channel"]["id"], "D1");
    let info = get(&workspace, "conversations.info", "channel=D1").await;
    assert_eq!((&info["channel"]["is_im"], &info["channel"]["user"]), (&json!(true), &json!("U1")));
    let members = get(&workspace, "conversations.members", "channel=C1&limit=2").await;
    assert_eq!(members["members"], json!(["U1", "U2"]));
    assert_ne!(members["response_metadata"]["next_cursor"], "");
}

#[tokio::test]
async fn a_press_carries_all_that_slack_sends_and_is_not_repeated() {
    let (workspace, bot, _) = with_bot().await;
    let root = workspace.say("U1", "C1", None, "root").await.unwrap();
    let args = json!({"channel": "C1", "thread_ts": root, "text": "card", "blocks": card()});
    let ts = ok(&workspace, "chat.postMessage", args).await["ts"].as_str().unwrap().to_owned();
    delivered(&workspace, 2).await;
    let before = bot.requests().len();
    bot.answer(500, &[]);
    let outcome = workspace.press("U2", "C1", &ts, "yes").await.unwrap();
    assert_eq!((outcome.status, outcome.warning), (Some(500), true));
    let outcome = workspace.press("U2", "C1", &ts, "yes").await.unwrap();
    assert_eq!((outcome.status, outcome.warning), (Some(200), false));
    let requests = bot.requests();
    assert_eq!(requests.len(), before + 2);
    let (headers, body) = &requests[before];
    assert_eq!(headers["content-type"], "application/x-www-form-urlencoded");
    let form: Vec<(String, String)> = url::form_urlencoded::parse(body).into_owned().collect();
    assert_eq!(form[0].0, "payload");
    let payload: Value = serde_json::from_str(&form[0].1).unwrap();
    assert_eq!(payload["type"], "block_actions");
    assert_eq!(payload["user"]["id"], "U2");
    assert_eq!(
        payload["container"],
        json!({
            "type": "message", "message_ts": ts, "channel_id": "C1", "is_ephemeral": false, "thread_ts": root,
        })
    );
    assert_eq!((&payload["message"]["text"], &payload["message"]["bot_id"]), (&json!("card"), &json!("B1")));
    let action = &payload["actions"][0];
    assert_eq!(
        (&action["action_id"], &action["block_id"], &action["value"], &action["style"], &action["type"]),
        (&json!("yes"), &json!("b1"), &json!("P1"), &json!("primary"), &json!("button"))
    );
    assert_eq!(payload["state"], json!({"values": {}}));
    assert!(payload["trigger_id"].is_string() && action["action_ts"].is_string());
    assert_eq!(workspace.press("U2", "C1", &ts, "maybe").await, Err(Refused::ActionNotFound));
    assert_eq!(workspace.press("U2", "C1", "1.1", "yes").await, Err(Refused::MessageNotFound));
}

async fn pressed(workspace: &Workspace, bot: &Bot, user: &str, ts: &str) -> Value {
    workspace.press(user, "C1", ts, "yes").await.unwrap();
    let (_, body) = bot.requests().into_iter().rfind(|(_, b)| b.starts_with(b"payload=")).unwrap();
    let form: Vec<(String, String)> = url::form_urlencoded::parse(&body).into_owned().collect();
    serde_json::from_str(&form[0].1).unwrap()
}

#[tokio::test]
async fn a_response_url_works_five_times_within_half_an_hour() {
    let (workspace, bot, clock) = with_bot().await;
    let args = json!({"channel": "C1", "text": "card", "blocks": card()});
    let ts = ok(&workspace, "chat.postMessage", args).await["ts"].as_str().unwrap().to_owned();
    let url = pressed(&workspace, &bot, "U1", &ts).await["response_url"].as_str().unwrap().to_owned();
    let respond = async |body: Value| {
        let (_, _, answer) = http(&url, None, "application/json", &body.to_string()).await;
        serde_json::from_str::<Value>(&answer).unwrap()
    };
    assert_eq!(respond(json!({"text": "only for you"})).await["ok"], true);
    assert_eq!(workspace.ephemerals("U1")[0].text, "only for you");
    assert!(workspace.ephemerals("U2").is_empty());
    respond(json!({"text": "for all", "response_type": "in_channel"})).await;
    assert_eq!(workspace.messages("C1")[1].text, "for all");
    respond(json!({"replace_original": true, "text": "replaced"})).await;
    assert_eq!((workspace.messages("C1")[0].text.as_str(), &workspace.messages("C1")[0].blocks), ("replaced", &None));
    respond(json!({"delete_original": true})).await;
    assert_eq!(workspace.messages("C1").len(), 1);
    respond(json!({"text": "five"})).await;
    assert_eq!(respond(json!({"text": "six"})).await["error"], "used_url");

    let args = json!({"channel": "C1", "text": "card", "blocks": card()});
    let ts = ok(&workspace, "chat.postMessage", args).await["ts"].as_str().unwrap().to_owned();
    let url = pressed(&workspace, &bot, "U1", &ts).await["response_url"].as_str().unwrap().to_owned();
    clock.advance(TimeDelta::minutes(31));
    let (_, _, answer) = http(&url, None, "application/json", r#"{"text":"late"}"#).await;
    assert!(answer.contains("expired_url"), "{answer}");
}

#[tokio::test]
async fn an_ephemeral_message_is_seen_by_one_person_and_its_press_has_no_message() {
    let (workspace, bot, _) = with_bot().await;
    let args = json!({"channel": "C1", "user": "U2", "text": "psst", "blocks": card()});
    let ts = ok(&workspace, "chat.postEphemeral", args).await["message_ts"].as_str().unwrap().to_owned();
    assert!(workspace.messages("C1").is_empty());
    assert_eq!(workspace.ephemerals("U2").len(), 1);
    let payload = pressed(&workspace, &bot, "U2", &ts).await;
    assert!(payload.get("message").is_none());
    assert_eq!(payload["container"]["is_ephemeral"], true);
    assert_eq!(workspace.press("U1", "C1", &ts, "yes").await, Err(Refused::MessageNotFound));
    let args = json!({"channel": "C1", "user": "U9", "text": "psst"});
    assert_eq!(error(&workspace, "chat.postEphemeral", args).await, "user_not_in_channel");
}

#[tokio::test]
async fn a_trigger_lives_three_seconds_and_opens_one_modal() {
    let (workspace, bot, clock) = with_bot().await;
    let args = json!({"channel": "C1", "text": "card", "blocks": card()});
    let ts = ok(&workspace, "chat.postMessage", args).await["ts"].as_str().unwrap().to_owned();
    let view = json!({"type": "modal", "title": {"type": "plain_text", "text": "t"}, "blocks": []});
    let trigger = pressed(&workspace, &bot, "U1", &ts).await["trigger_id"].clone();
    let opened = ok(&workspace, "views.open", json!({"trigger_id": trigger, "view": view})).await;
    assert_eq!(
        error(&workspace, "views.open", json!({"trigger_id": trigger, "view": view})).await,
        "exchanged_trigger_id"
    );
    let id = opened["view"]["id"].clone();
    let update = json!({"view_id": id, "hash": "old", "view": view});
    assert_eq!(error(&workspace, "views.update", update).await, "hash_conflict");
    ok(&workspace, "views.update", json!({"view_id": id, "hash": opened["view"]["hash"], "view": view})).await;
    assert!(workspace.look(|w| w.modal_of("U1").is_some()));
    let trigger = pressed(&workspace, &bot, "U1", &ts).await["trigger_id"].clone();
    clock.advance(TimeDelta::milliseconds(3_100));
    assert_eq!(
        error(&workspace, "views.open", json!({"trigger_id": trigger, "view": view})).await,
        "expired_trigger_id"
    );
    let long = json!({"type": "modal", "title": {"type": "plain_text", "text": "t".repeat(25)}, "blocks": []});
    assert_eq!(error(&workspace, "views.open", json!({"trigger_id": "x", "view": long})).await, "invalid_arguments");
    let home = json!({"type": "home", "blocks": []});
    ok(&workspace, "views.publish", json!({"user_id": "U1", "view": home})).await;
    assert!(workspace.look(|w| w.home("U1").is_some()));
}

#[tokio::test]
async fn a_status_ends_with_the_bots_message_or_after_two_minutes() {
    let (workspace, _, clock) = with_bot().await;
    let root = workspace.say("U1", "C1", None, "root").await.unwrap();
    let status = json!({"channel_id": "C1", "thread_ts": root, "status": "is looking"});
    let shown = || workspace.look(|w| w.status("C1", root.as_str(), clock.now_ms()).map(str::to_owned));
    ok(&workspace, "assistant.threads.setStatus", status.clone()).await;
    assert_eq!(shown().as_deref(), Some("is looking"));
    ok(&workspace, "chat.postMessage", json!({"channel": "C1", "thread_ts": root, "text": "found"})).await;
    assert_eq!(shown(), None);
    ok(&workspace, "assistant.threads.setStatus", status).await;
    clock.advance(TimeDelta::seconds(121));
    assert_eq!(shown(), None);
    ok(&workspace, "assistant.threads.setTitle", json!({"channel_id": "C1", "thread_ts": root, "title": "t"})).await;
    assert_eq!(workspace.look(|w| w.title("C1", root.as_str()).map(str::to_owned)).as_deref(), Some("t"));
    let bad = json!({"channel_id": "C1", "thread_ts": "1.1", "status": "x"});
    assert_eq!(error(&workspace, "assistant.threads.setStatus", bad).await, "invalid_thread_ts");
    let session = json!({"channel_id": "C1", "thread_ts": root, "status": "processing"});
    ok(&workspace, "agents.sessions.setStatus", session).await;
    assert_eq!(workspace.look(|w| w.session("C1", root.as_str()).map(str::to_owned)).as_deref(), Some("processing"));
}

#[tokio::test]
async fn suggested_prompts_for_a_thread_do_nothing() {
    let (workspace, ..) = with_bot().await;
    let dm = workspace.open_dm("U1").await.unwrap();
    let prompts = json!([{"title": "t", "message": "m"}]);
    let args = json!({"channel_id": dm, "thread_ts": "1.1", "prompts": prompts});
    ok(&workspace, "assistant.threads.setSuggestedPrompts", args).await;
    assert!(workspace.look(|w| w.prompts(dm.as_str()).is_none()));
    ok(&workspace, "assistant.threads.setSuggestedPrompts", json!({"channel_id": dm, "prompts": prompts})).await;
    assert_eq!(workspace.look(|w| w.prompts(dm.as_str()).cloned()), Some(prompts));
}

#[tokio::test]
async fn methods_misbehave_when_told_and_recover() {
    let (workspace, ..) = with_bot().await;
    let url = format!("{}chat.postMessage", workspace.api_url());
    let post = async || http(&url, Some("xoxb-test"), "application/json", r#"{"channel":"C1","text":"x"}"#).await;
    workspace.misbehave("chat.postMessage", Fault::RateLimited(7), 1);
    workspace.misbehave("chat.postMessage", Fault::Status(500), 1);
    workspace.misbehave("chat.postMessage", Fault::Html, 1);
    workspace.misbehave("chat.postMessage", Fault::OkFalse("fatal_error".into()), 1);
    let (status, headers, body) = post().await;
    assert_eq!((status, headers["retry-after"].to_str().unwrap()), (429, "7"));
    assert!(body.contains("ratelimited"));
    assert_eq!(post().await.0, 500);
    let (status, headers, _) = post().await;
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "text/html; charset=utf-8"));
    assert!(post().await.2.contains("fatal_error"));
    assert!(workspace.messages("C1").is_empty());
    workspace.misbehave("chat.postMessage", Fault::StatusAfterAccept(502), 1);
    assert_eq!(post().await.0, 502);
    assert_eq!(workspace.messages("C1").len(), 1);
    workspace.misbehave("chat.postMessage", Fault::HangAfterAccept, 1);
    let hung = tokio::spawn(async move {
        http(&url, Some("xoxb-test"), "application/json", r#"{"channel":"C1","text":"y"}"#).await
    });
    let two = |w: &World| (w.messages("C1").len() == 2).then_some(());
    workspace.wait_for(two, SOON).await.unwrap();
    assert!(!hung.is_finished());
    hung.abort();
    assert_eq!(workspace.calls().iter().filter(|c| c.method == "chat.postMessage").count(), 6);
    assert!(workspace.calls().iter().all(|c| !c.args.contains_key("token")));
}

#[tokio::test]
async fn messages_are_there_after_a_restart_and_time_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::system();
    let with_store = || Settings { store: Some(dir.path().join("workspace.jsonl")), ..settings(&clock) };
    let workspace = start(with_store()).await;
    let dm = workspace.open_dm("U1").await.unwrap();
    let root = workspace.say("U1", dm.as_str(), None, "root").await.unwrap();
    let posted = ok(&workspace, "chat.postMessage", json!({"channel": dm, "thread_ts": root, "text": "one"})).await;
    ok(&workspace, "chat.update", json!({"channel": dm, "ts": posted["ts"], "text": "two"})).await;
    let args = json!({"channel": dm, "user": "U1", "text": "gone tomorrow"});
    ok(&workspace, "chat.postEphemeral", args).await;
    let before = workspace.messages(dm.as_str());
    assert_eq!(before.len(), 2);
    workspace.stop().await;

    clock.advance(TimeDelta::hours(-1));
    let workspace = start(with_store()).await;
    assert_eq!(workspace.messages(dm.as_str()), before);
    assert!(workspace.ephemerals("U1").is_empty());
    let next = workspace.say("U1", dm.as_str(), None, "later").await.unwrap();
    assert!(next > before[1].ts, "also when the clock was set back");
}

#[tokio::test]
async fn a_raw_request_is_delivered_as_it_is() {
    let (workspace, bot, _) = with_bot().await;
    let request = workspace.signed_request(b"\xff\xfe", "application/json");
    let outcome = workspace.deliver_raw(Endpoint::Events, request.clone(), &[("x-slack-retry-num", "1")]).await;
    assert_eq!(outcome.status, Some(200));
    let (headers, body) = &bot.requests()[0];
    assert_eq!(&body[..], b"\xff\xfe");
    assert_eq!(headers["x-slack-signature"], request.signature.as_str());
    assert_eq!(headers["x-slack-retry-num"], "1");
}

#[test]
fn a_typed_handle_becomes_a_mention_and_everything_else_is_escaped() {
    let hub = Hub::new(settings(&Clock::system()), String::new(), None, &[]);
    for (typed, text) in [
        ("@concierge 佐藤さん", "<@UBOT> 佐藤さん"),
        ("@conciergeさん、@jane?", "<@UBOT>さん、<@U2>?"),
        ("a@concierge.example @nobody @", "a@concierge.example @nobody @"),
        ("<@UBOT> & <!channel>", "&lt;@UBOT&gt; &amp; &lt;!channel&gt;"),
    ] {
        assert_eq!(hub.typed(typed), text);
    }
}
