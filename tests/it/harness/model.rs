//! A model on the wire: an OpenAI Responses endpoint that answers from a script and checks every request.
//!
//! A request in which a tool result is unpaired is refused with 400, as the real endpoints do, and fails the test.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// One answer of the model.
#[derive(Clone, Debug)]
pub enum Say {
    /// Words; the turn ends.
    Text(String),
    /// Calls, and perhaps words beside them.
    Calls(Vec<(String, Value)>),
    /// Anything, as it is.
    Raw(u16, String),
    /// Words, after a while.
    Late(Duration, Box<Say>),
    /// No answer.
    Never,
}

impl Say {
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub fn call(tool: &str, arguments: Value) -> Self {
        Self::Calls(vec![(tool.to_owned(), arguments)])
    }

    pub fn calls(calls: &[(&str, Value)]) -> Self {
        Self::Calls(calls.iter().map(|(t, a)| ((*t).to_owned(), a.clone())).collect())
    }
}

type Rule = Box<dyn FnMut(&Value) -> Option<Say> + Send>;

#[derive(Default)]
struct Inner {
    script: VecDeque<Say>,
    rule: Option<Rule>,
    requests: Vec<Value>,
    faults: Vec<String>,
    calls: usize,
}

#[derive(Clone)]
pub struct Model {
    inner: Arc<Mutex<Inner>>,
    url: String,
}

impl Model {
    pub async fn start() -> Self {
        let inner = Arc::new(Mutex::new(Inner::default()));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let router = Router::new().route("/v1/responses", post(respond)).with_state(Arc::clone(&inner));
        tokio::spawn(async move { axum::serve(listener, router).await.expect("serves") });
        Self { inner, url }
    }

    pub fn base_url(&self) -> String {
        self.url.clone()
    }

    /// Answers in this order, whoever asks. Out of answers it says "(no script)".
    pub fn script(&self, says: impl IntoIterator<Item = Say>) {
        self.lock().script.extend(says);
    }

    /// Answers by looking at the request; what the rule does not answer comes from the script.
    pub fn rule(&self, rule: impl FnMut(&Value) -> Option<Say> + Send + 'static) {
        self.lock().rule = Some(Box::new(rule));
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Value> {
        self.lock().requests.clone()
    }

    /// The last request's items that follow the asker's last message: calls and results of the turn so far.
    pub fn last(&self) -> Value {
        self.lock().requests.last().cloned().expect("a request")
    }

    /// Requests that a real endpoint would have refused.
    pub fn faults(&self) -> Vec<String> {
        self.lock().faults.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().expect("not poisoned")
    }
}

/// The words of the last message that a person wrote.
pub fn last_words(request: &Value) -> String {
    let items = request["input"].as_array().cloned().unwrap_or_default();
    items.iter().rev().find(|i| i["role"] == "user").map(|i| content(&i["content"])).unwrap_or_default()
}

/// The results given to the model, in order.
pub fn results(request: &Value) -> Vec<Value> {
    let items = request["input"].as_array().cloned().unwrap_or_default();
    items
        .iter()
        .filter(|i| i["type"] == "function_call_output")
        .map(|i| {
            let text = i["output"].as_str().unwrap_or_default();
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
        })
        .collect()
}

/// Host notes given to the model.
pub fn notes(request: &Value) -> Vec<String> {
    let items = request["input"].as_array().cloned().unwrap_or_default();
    items.iter().filter(|i| i["role"] == "developer" || i["role"] == "system").map(|i| content(&i["content"])).collect()
}

pub fn content(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|p| p["text"].as_str()).collect::<Vec<_>>().join(""),
        _ => String::new(),
    }
}

async fn respond(State(inner): State<Arc<Mutex<Inner>>>, Json(request): Json<Value>) -> Response {
    let say = {
        let mut inner = inner.lock().expect("not poisoned");
        if let Err(fault) = check(&request) {
            inner.faults.push(fault.clone());
            return (
                StatusCode::BAD_REQUEST,
                Json(json!({"error": {"message": fault, "type": "invalid_request_error"}})),
            )
                .into_response();
        }
        inner.requests.push(request.clone());
        let by_rule = match inner.rule.as_mut() {
            Some(rule) => rule(&request),
            None => None,
        };
        by_rule.or_else(|| inner.script.pop_front()).unwrap_or_else(|| Say::text("(no script)"))
    };
    let mut say = say;
    while let Say::Late(by, then) = say {
        tokio::time::sleep(by).await;
        say = *then;
    }
    match say {
        Say::Text(text) => reply(vec![json!({
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        })]),
        Say::Calls(calls) => {
            let mut inner = inner.lock().expect("not poisoned");
            let items = calls
                .into_iter()
                .map(|(name, arguments)| {
                    inner.calls += 1;
                    let arguments = match arguments {
                        Value::String(raw) => raw,
                        other => other.to_string(),
                    };
                    json!({
                        "type": "function_call", "id": format!("fc_{}", inner.calls), "status": "completed",
                        "call_id": format!("call_{}", inner.calls), "name": name, "arguments": arguments,
                    })
                })
                .collect();
            drop(inner);
            reply(items)
        }
        Say::Raw(status, body) => (StatusCode::from_u16(status).expect("a status"), body).into_response(),
        Say::Late(..) => unreachable!("waited for above"),
        Say::Never => {
            tokio::time::sleep(Duration::from_secs(600)).await;
            StatusCode::GATEWAY_TIMEOUT.into_response()
        }
    }
}

fn reply(output: Vec<Value>) -> Response {
    Json(json!({
        "id": "resp_1", "object": "response", "created_at": 1_700_000_000, "status": "completed", "model": "scripted",
        "output": output, "usage": {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120},
    }))
    .into_response()
}

/// Every call has its result and every result its call, once each.
fn check(request: &Value) -> Result<(), String> {
    let items = request["input"].as_array().ok_or("the input is no list")?;
    let ids = |kind: &str| -> Vec<String> {
        let of_kind = items.iter().filter(|i| i["type"] == kind);
        of_kind.filter_map(|i| i["call_id"].as_str().map(str::to_owned)).collect()
    };
    let (calls, outputs) = (ids("function_call"), ids("function_call_output"));
    for (name, list) in [("call", &calls), ("result", &outputs)] {
        let unique: HashSet<&String> = list.iter().collect();
        if unique.len() != list.len() {
            return Err(format!("a {name} id appears twice"));
        }
    }
    let (calls, outputs): (HashSet<_>, HashSet<_>) = (calls.into_iter().collect(), outputs.into_iter().collect());
    if calls == outputs { Ok(()) } else { Err("a tool result is unpaired".to_owned()) }
}
