//! A person at the endpoint: sends what the bot would send, carries out the calls on a sales server of five customers.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::domain::{Lang, ToolCall};
use crate::playground::demo::router;

pub(super) const TOOLS: [&str; 6] =
    ["get_customers", "get_sales", "list_registrations", "summarize_sales", "add_sale", "cancel_sale"];

/// The proposals of a conversation, in order.
const PROPOSALS: [&str; 4] =
    ["AbCdEfGhIjKlMnOpQrStUvWx", "AbCdEfGhIjKlMnOpQrStUvWy", "AbCdEfGhIjKlMnOpQrStUvWz", "AbCdEfGhIjKlMnOpQrStUvW0"];

/// A sales server where one customer bought something, in every period.
pub(super) fn serve(call: &ToolCall, proposals: usize) -> String {
    let customers = [
        ("0002", "佐藤一郎", "Sato Ichiro", "山の町1-1"),
        ("0005", "佐藤花子", "Sato Hanako", "海の町2-2"),
        ("0007", "Green Cafe", "Green Cafe", "川の町3-3"),
        ("0011", "まるやま食堂", "Maruyama Shokudo", "里の町5-5"),
        ("0016", "青空農園", "Aozora Farm", "空の町4-4"),
    ];
    let text = |key: &str| call.arguments.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let sale = json!({"code_sales": "S20261117090000-1", "code_customer": "0002", "name_customer": "佐藤一郎",
                      "date_sales": "2026-11-17", "products": "トマト3箱", "price": 1800, "registered_by": "x",
                      "registered_by_name": "鈴木 一郎", "cancelled": false, "origin": "sample"});
    let data = match call.name.as_str() {
        "get_customers" => {
            let (code, name) = (text("code_customer"), text("name_str_customer").to_lowercase());
            let fits = |c: &&(&str, &str, &str, &str)| match code.as_str() {
                "" => [c.1, c.2].iter().any(|n| n.to_lowercase().contains(&name)),
                code => c.0 == code,
            };
            let rows: Vec<Value> = customers
                .iter()
                .filter(fits)
                .map(|c| {
                    json!({"code_customer": c.0, "name_customer": c.1, "address": c.3,
                                "phone": format!("000-0000-{}", c.0), "department": "east"})
                })
                .collect();
            json!({"count": rows.len(), "customers": rows, "truncated": false, "departments": ["east"]})
        }
        "get_sales" if text("code_customer") == "0002" => {
            json!({"sales": [sale], "count": 1, "total_price": 1800, "truncated": false, "departments": ["east"]})
        }
        "get_sales" => json!({"sales": [], "count": 0, "total_price": 0, "truncated": false, "departments": []}),
        "summarize_sales" => json!({
            "groups": [{"key": "2026-10", "label": "2026-10", "count": 3, "total_price": 5000},
                       {"key": "2026-11", "label": "2026-11", "count": 4, "total_price": 7345}],
            "count": 7, "total_price": 12345, "truncated": false, "departments": ["east"]}),
        "list_registrations" => json!({"registrations": [sale], "count": 1, "total_price": 1800, "truncated": false,
                                       "departments": ["east"]}),
        _ => {
            let id = PROPOSALS[proposals % PROPOSALS.len()];
            return json!({"status": "waiting", "proposal": id, "shown_on_card": call.arguments}).to_string();
        }
    };
    json!({"status": "success", "data": data}).to_string()
}

pub(super) fn instructions(lang: Lang) -> String {
    format!(
        "Rules.\n\ntoday: 2026-11-29 (Sunday)\nzone: Asia/Tokyo\nlanguage: {}\nasker: Hana (role sales)\n",
        lang.code()
    )
}

/// Sends a request to the endpoint; gives the status and the body.
pub(super) async fn post(path: &str, body: &Value) -> (u16, String) {
    let request =
        Request::post(path).header("content-type", "application/json").body(Body::from(body.to_string())).unwrap();
    let response = router().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}

/// What happens next in a conversation.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// The person writes.
    Says(String),
    /// The host adds a fact and asks the model to go on.
    Note(String),
}

/// One conversation by way of the Responses API.
pub(super) struct Person {
    lang: Lang,
    pub(super) tools: Vec<&'static str>,
    input: Vec<Value>,
    proposals: usize,
}

impl Person {
    pub(super) fn new(lang: Lang) -> Self {
        Self { lang, tools: TOOLS.to_vec(), input: Vec::new(), proposals: 0 }
    }

    /// One request: calls, or words.
    pub(super) async fn ask(&mut self) -> Result<Vec<ToolCall>, String> {
        let tools: Vec<Value> = self.tools.iter().map(|t| json!({"type": "function", "name": t})).collect();
        let body = json!({"model": "m", "instructions": instructions(self.lang), "input": self.input, "tools": tools});
        let (status, answer) = post("/v1/responses", &body).await;
        assert_eq!(status, 200, "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let output = answer["output"].as_array().unwrap();
        self.input.extend(output.iter().cloned());
        if output[0]["type"] == "message" {
            return Err(output[0]["content"][0]["text"].as_str().unwrap().to_owned());
        }
        let text = |item: &Value, key: &str| item[key].as_str().unwrap().to_owned();
        let call = |item: &Value| ToolCall {
            id: text(item, "call_id"),
            name: text(item, "name"),
            arguments: serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap(),
        };
        Ok(output.iter().map(call).collect())
    }

    pub(super) fn result(&mut self, call: &ToolCall, content: &str) {
        self.input.push(json!({"type": "function_call_output", "call_id": call.id, "output": content}));
    }

    pub(super) fn hears(&mut self, event: &Event) {
        let host = |text: &str| json!({"role": "developer", "content": format!("[host] {text}")});
        match event {
            Event::Says(text) => {
                self.input.push(json!({"role": "user", "content": text}));
                self.input.push(host("Read by code from the asker's message: “words” is 2026-11-01 (Sun)."));
            }
            Event::Note(text) => self.input.push(host(text)),
        }
    }

    /// Goes on until words come: the rounds of calls, and the words.
    pub(super) async fn goes_on(&mut self, event: &Event) -> (Vec<Vec<ToolCall>>, String) {
        self.hears(event);
        let mut rounds = Vec::new();
        loop {
            match self.ask().await {
                Err(text) => return (rounds, text),
                Ok(calls) => {
                    assert!(rounds.len() < 5, "goes on for ever: {rounds:?}");
                    for call in &calls {
                        let content = serve(call, self.proposals);
                        self.proposals += usize::from(content.contains("waiting"));
                        self.result(call, &content);
                    }
                    rounds.push(calls);
                }
            }
        }
    }

    pub(super) async fn says(&mut self, message: &str) -> (Vec<Vec<ToolCall>>, String) {
        self.goes_on(&Event::Says(message.to_owned())).await
    }
}
