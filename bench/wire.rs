//! Stand-ins for Slack and for a model, in this process, that do nothing but answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::Context;
use axum::extract::{Path, State};
use axum::routing::post;
use axum::serve::ListenerExt;
use axum::{Json, Router};
use sales_concierge::domain::Clock;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// The customer that is asked for.
pub const CUSTOMER: &str = "0002";

/// A message that the bot posted.
#[derive(Debug)]
pub struct Posted {
    pub at: Instant,
    pub ts: String,
    pub thread: String,
    pub blocks: Value,
}

/// Both stand-ins on one port.
pub struct Wire {
    pub slack_url: String,
    pub model_url: String,
    pub posted: mpsc::UnboundedReceiver<Posted>,
    shared: Arc<Shared>,
}

struct Shared {
    posted: mpsc::UnboundedSender<Posted>,
    numbers: AtomicU64,
    /// Answers of a tool that did not hold what was asked for.
    wrong: AtomicU64,
    /// First and last day of this month.
    month: (String, String),
}

impl Wire {
    pub async fn start() -> anyhow::Result<Self> {
        let (sender, posted) = mpsc::unbounded_channel();
        let today = Clock::system().today(chrono_tz::Asia::Tokyo);
        let shared = Arc::new(Shared {
            posted: sender,
            numbers: AtomicU64::new(1),
            wrong: AtomicU64::new(0),
            month: (today.format("%Y-%m-01").to_string(), today.format("%Y-%m-%d").to_string()),
        });
        let router = Router::new()
            .route("/api/{method}", post(slack).get(slack_read))
            .route("/v1/responses", post(model))
            .with_state(Arc::clone(&shared));
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port")?;
        let address = listener.local_addr()?;
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self {
            slack_url: format!("http://{address}/api"),
            model_url: format!("http://{address}/v1"),
            posted,
            shared,
        })
    }

    /// How many tool answers did not hold what was asked for.
    pub fn wrong(&self) -> u64 {
        self.shared.wrong.load(Ordering::Relaxed)
    }
}

async fn slack_read(Path(method): Path<String>) -> Json<Value> {
    Json(match method.as_str() {
        "users.info" => json!({"ok": true, "user": {
            "id": super::bot::PERSON, "team_id": sales_concierge::playground::sample::TEAM, "name": "aoki",
            "locale": "ja-JP", "tz": "Asia/Tokyo", "real_name": "Aoki",
            "profile": {"display_name": "aoki", "real_name": "Aoki"},
        }}),
        _ => json!({"ok": true, "messages": [], "members": [], "channel": {"id": "D0BENCH", "is_im": true}}),
    })
}

async fn slack(State(shared): State<Arc<Shared>>, Path(method): Path<String>, body: axum::body::Bytes) -> Json<Value> {
    let at = Instant::now();
    match method.as_str() {
        "auth.test" => {
            Json(json!({"ok": true, "team_id": sales_concierge::playground::sample::TEAM, "user_id": "U0BENCHBOT",
            "bot_id": "B0BENCHBOT", "url": "https://bench.invalid/", "team": "bench", "user": "bot"}))
        }
        "chat.postMessage" => {
            let mut body: Value = serde_json::from_slice(&body).unwrap_or_default();
            let number = shared.numbers.fetch_add(1, Ordering::Relaxed);
            let ts = format!("{}.{:06}", 1_900_000_000 + number, 1);
            let thread = body["thread_ts"].as_str().unwrap_or_default().to_owned();
            let posted = Posted { at, ts: ts.clone(), thread, blocks: body["blocks"].take() };
            drop(shared.posted.send(posted));
            Json(json!({"ok": true, "ts": ts, "channel": body["channel"], "message": {"ts": ts}}))
        }
        _ => Json(json!({"ok": true})),
    }
}

/// Three rounds for a question, two for a registration.
async fn model(State(shared): State<Arc<Shared>>, Json(request): Json<Value>) -> Json<Value> {
    let items = request["input"].as_array().map(Vec::as_slice).unwrap_or_default();
    let asked = items.iter().rposition(|i| i["role"] == "user").unwrap_or(0);
    let turn = items.get(asked..).unwrap_or_default();
    let results: Vec<&str> = turn
        .iter()
        .filter(|i| i["type"] == "function_call_output")
        .map(|i| i["output"].as_str().unwrap_or_default())
        .collect();
    let words = turn.first().map(|i| i["content"].to_string()).unwrap_or_default();
    let (begin, end) = &shared.month;
    let output = match (results.as_slice(), words.contains("登録")) {
        ([], true) => {
            let products = format!("ベンチ{}", shared.numbers.fetch_add(1, Ordering::Relaxed));
            call(&shared, "add_sale", &json!({"code_customer": CUSTOMER, "products": products, "price": 600}))
        }
        ([], false) => call(&shared, "get_customers", &json!({"code_customer": CUSTOMER})),
        ([customer], false) => {
            check(&shared, customer);
            let arguments =
                json!({"code_customer": CUSTOMER, "date_sales_begin_str": begin, "date_sales_end_str": end});
            call(&shared, "get_sales", &arguments)
        }
        (results, _) => {
            results.iter().for_each(|result| check(&shared, result));
            json!({
                "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "今月の売上です。", "annotations": []}],
            })
        }
    };
    Json(json!({
        "id": "resp_1", "object": "response", "created_at": 1_700_000_000, "status": "completed", "model": "bench",
        "output": [output], "usage": {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120},
    }))
}

fn check(shared: &Shared, result: &str) {
    if !result.contains(CUSTOMER) || result.contains("\"error\"") {
        shared.wrong.fetch_add(1, Ordering::Relaxed);
    }
}

fn call(shared: &Shared, tool: &str, arguments: &Value) -> Value {
    let number = shared.numbers.fetch_add(1, Ordering::Relaxed);
    json!({"type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
        "status": "completed", "name": tool, "arguments": arguments.to_string()})
}
