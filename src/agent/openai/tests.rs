use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::*;
use crate::agent::Message;
use crate::agent::prompt::Offer;
use crate::domain::Role;
use crate::mcp::ToolSpec;
use crate::policy::Table;

type Reply = Arc<dyn Fn(usize) -> Response + Send + Sync>;

/// An endpoint on the wire. Refuses what a strict one refuses: a tool result or call that is not paired.
#[derive(Clone)]
struct Endpoint {
    reply: Reply,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Endpoint {
    async fn start(reply: impl Fn(usize) -> Response + Send + Sync + 'static) -> (Self, String) {
        let endpoint = Self { reply: Arc::new(reply), requests: Arc::default() };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let app = Router::new().fallback(Self::answer).with_state(endpoint.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        (endpoint, url)
    }

    async fn answer(State(endpoint): State<Self>, uri: Uri, body: String) -> Response {
        let body: Value = serde_json::from_str(&body).unwrap();
        let paired = paired(&body);
        let number = {
            let mut requests = endpoint.requests.lock().unwrap();
            requests.push((uri.path().to_owned(), body));
            requests.len()
        };
        if !paired {
            return (StatusCode::BAD_REQUEST, "a tool call without its result").into_response();
        }
        (endpoint.reply)(number)
    }

    fn hits(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    fn last(&self) -> (String, Value) {
        self.requests.lock().unwrap().last().cloned().unwrap()
    }
}

fn paired(body: &Value) -> bool {
    let (mut calls, mut results) = (HashSet::new(), HashSet::new());
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    for item in body["input"].as_array().into_iter().flatten() {
        match item["type"].as_str() {
            Some("function_call") => assert!(calls.insert(text(&item["call_id"]))),
            Some("function_call_output") => assert!(results.insert(text(&item["call_id"]))),
            _ => {}
        }
    }
    for message in body["messages"].as_array().into_iter().flatten() {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            assert!(calls.insert(text(&call["id"])));
        }
        if message["role"] == "tool" {
            assert!(results.insert(text(&message["tool_call_id"])));
        }
    }
    calls == results
}

fn json_reply(value: Value) -> Response {
    axum::Json(value).into_response()
}

fn fine() -> Value {
    json!({"output": [{"type": "message", "content": [{"type": "output_text", "text": "はい"}]}],
           "choices": [{"message": {"content": "はい"}}]})
}

fn model(api: Api, url: &str) -> OpenAi {
    let settings = Settings { api_key: Some(Secret::new("sk-canary")), ..Settings::new(api, url, "test-model") };
    OpenAi::new(settings).unwrap()
}

fn request() -> ModelRequest {
    let call = |id: &str| {
        let arguments = json!({"code_customer": "0002"}).as_object().cloned().unwrap();
        Message::Call(ToolCall { id: id.into(), name: "get_sales".into(), arguments })
    };
    let result = |id: &str| Message::Result { call_id: id.into(), content: "{}".into() };
    let tool = ToolSpec {
        name: "get_sales".into(),
        description: "Sales of a customer.".into(),
        input_schema: json!({"type": "object", "properties": {}}).as_object().cloned().unwrap(),
        read_only_hint: None,
    };
    ModelRequest {
        instructions: "Be brief.".into(),
        messages: vec![
            Message::User("売上は？".into()),
            Message::Assistant("調べます。".into()),
            call("c1"),
            call("c2"),
            result("c1"),
            result("c2"),
            Message::Host("[host] proposal P was registered".into()),
        ],
        tools: Some(Arc::new(Offer::of(&[tool], &Table::default(), Role::Viewer))),
        deadline: Instant::now() + Duration::from_secs(20),
    }
}

#[tokio::test]
async fn the_responses_request_is_golden() {
    let (endpoint, url) = Endpoint::start(|_| json_reply(fine())).await;
    let reply = model(Api::Responses, &url).respond(request()).await.unwrap();
    assert_eq!(reply.text, "はい");
    let (path, body) = endpoint.last();
    assert_eq!(path, "/v1/responses");
    assert_eq!(
        body,
        json!({
            "model": "test-model", "instructions": "Be brief.", "store": false, "stream": false,
            "input": [
                {"role": "user", "content": "売上は？"},
                {"role": "assistant", "content": "調べます。"},
                {"type": "function_call", "call_id": "c1", "name": "get_sales",
                 "arguments": "{\"code_customer\":\"0002\"}"},
                {"type": "function_call", "call_id": "c2", "name": "get_sales",
                 "arguments": "{\"code_customer\":\"0002\"}"},
                {"type": "function_call_output", "call_id": "c1", "output": "{}"},
                {"type": "function_call_output", "call_id": "c2", "output": "{}"},
                {"role": "developer", "content": "[host] proposal P was registered"},
            ],
            "tools": [{"type": "function", "name": "get_sales", "description": "Sales of a customer.",
                       "parameters": {"type": "object", "properties": {}}, "strict": false}],
        })
    );
}

#[tokio::test]
async fn the_chat_request_is_golden() {
    let (endpoint, url) = Endpoint::start(|_| json_reply(fine())).await;
    let reply = model(Api::Chat, &url).respond(request()).await.unwrap();
    assert_eq!(reply.text, "はい");
    let (path, body) = endpoint.last();
    assert_eq!(path, "/v1/chat/completions");
    let call = |id: &str| {
        json!({"type": "function", "id": id,
               "function": {"name": "get_sales", "arguments": "{\"code_customer\":\"0002\"}"}})
    };
    assert_eq!(
        body,
        json!({
            "model": "test-model", "store": false, "stream": false,
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "売上は？"},
                {"role": "assistant", "content": "調べます。", "tool_calls": [call("c1"), call("c2")]},
                {"role": "tool", "tool_call_id": "c1", "content": "{}"},
                {"role": "tool", "tool_call_id": "c2", "content": "{}"},
                {"role": "system", "content": "[host] proposal P was registered"},
            ],
            "tools": [{"type": "function", "function": {"name": "get_sales", "description": "Sales of a customer.",
                       "parameters": {"type": "object", "properties": {}}}}],
        })
    );
}

#[tokio::test]
async fn a_hint_behind_a_question_is_no_system_message_of_its_own_in_a_chat() {
    let (endpoint, url) = Endpoint::start(|_| json_reply(fine())).await;
    let messages = vec![Message::User("先週の売上は？".into()), Message::Host("[host] Read by code: …".into())];
    model(Api::Chat, &url).respond(ModelRequest { messages, ..request() }).await.unwrap();
    let (_, body) = endpoint.last();
    let roles: Vec<&str> = body["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user"]);
    assert_eq!(body["messages"][1]["content"], "先週の売上は？\n\n[host] Read by code: …");
}

#[tokio::test]
async fn the_round_that_ends_a_turn_is_sent_without_tools() {
    let (endpoint, url) = Endpoint::start(|_| json_reply(fine())).await;
    for api in [Api::Responses, Api::Chat] {
        let model = OpenAi::new(Settings { parallel_tool_calls: Some(true), ..Settings::new(api, &url, "m") }).unwrap();
        model.respond(ModelRequest { tools: None, ..request() }).await.unwrap();
        let (_, body) = endpoint.last();
        assert!(body.get("tools").is_none() && body.get("parallel_tool_calls").is_none(), "{body}");
    }
}

/// One reply of an endpoint of either API, and what is read from it: the words and each call's id, name, whether broken.
async fn read(api: Api, value: Value) -> (String, Vec<(String, String, bool)>) {
    let (_, url) = Endpoint::start(move |_| json_reply(value.clone())).await;
    let reply = model(api, &url).respond(request()).await.unwrap();
    (reply.text, reply.calls.into_iter().map(|c| (c.call.id, c.call.name, c.broken)).collect())
}

#[tokio::test]
async fn odd_but_readable_replies_are_read() {
    let one = |id: &str, broken| (String::new(), vec![(id.to_owned(), "get_sales".to_owned(), broken)]);
    let call = |more: Value| {
        let mut call = json!({"type": "function_call", "name": "get_sales", "call_id": "c9"});
        call.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        json!({"output": [{"type": "reasoning", "summary": []}, {"type": "from_the_future"}, call], "status": "new"})
    };
    for (reply, expected) in [
        (call(json!({"arguments": "{\"a\":1}"})), one("c9", false)),
        (call(json!({"arguments": {"a": 1}})), one("c9", false)),
        (call(json!({"arguments": ""})), one("c9", false)),
        (call(json!({"arguments": null})), one("c9", false)),
        (call(json!({"arguments": "{\"a\":"})), one("c9", true)),
        (call(json!({"arguments": "[1]"})), one("c9", true)),
        (call(json!({"arguments": 7})), one("c9", true)),
        (call(json!({"call_id": null, "id": "fc_1", "arguments": "{}"})), one("fc_1", false)),
        (call(json!({"call_id": 4, "arguments": "{}"})), one("", false)),
        (json!({"output": []}), (String::new(), vec![])),
        (json!({"output": [{"content": "はい"}]}), ("はい".into(), vec![])),
        (
            json!({"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]}),
            ("no".into(), vec![]),
        ),
    ] {
        assert_eq!(read(Api::Responses, reply.clone()).await, expected, "{reply}");
    }
    let message = |message: Value| json!({"choices": [{"message": message, "finish_reason": "odd"}], "created": 1.5});
    let call = |id: Value, function: Value| {
        message(json!({"content": null, "tool_calls": [{"id": id, "function": function}]}))
    };
    for (reply, expected) in [
        (call(json!("c9"), json!({"name": "get_sales", "arguments": "{}"})), one("c9", false)),
        (call(json!(null), json!({"name": "get_sales", "arguments": {"a": 1}})), one("", false)),
        (call(json!("c9"), json!({"name": "get_sales", "arguments": "oops"})), one("c9", true)),
        (message(json!({"content": [{"type": "text", "text": "は"}, {"text": "い"}]})), ("はい".into(), vec![])),
        (message(json!({"content": "はい", "reasoning_content": "hm", "tool_calls": null})), ("はい".into(), vec![])),
    ] {
        assert_eq!(read(Api::Chat, reply.clone()).await, expected, "{reply}");
    }
}

#[tokio::test]
async fn usage_is_the_endpoints_or_an_estimate() {
    let mut counted = fine();
    counted["usage"] = json!({"input_tokens": 12, "output_tokens": 3, "prompt_tokens": 12, "completion_tokens": 3});
    for api in [Api::Responses, Api::Chat] {
        let value = counted.clone();
        let (_, url) = Endpoint::start(move |_| json_reply(value.clone())).await;
        let reply = model(api, &url).respond(request()).await.unwrap();
        assert_eq!(reply.usage, Usage { input: 12, output: 3 });
        let (_, url) = Endpoint::start(|_| json_reply(fine())).await;
        let reply = model(api, &url).respond(request()).await.unwrap();
        assert!(reply.usage.input > 5, "{:?}", reply.usage);
    }
}

#[tokio::test]
async fn each_bad_answer_ends_in_its_own_error_and_none_quotes_the_body() {
    let answers: Vec<(u16, &'static str, &'static str, usize)> = vec![
        (200, "", "Nonsense", 1),
        (200, "<html>canary</html>", "Nonsense", 1),
        (200, "{\"canary\":1}", "Nonsense", 1),
        (200, "null", "Nonsense", 1),
        (200, "[]", "Nonsense", 1),
        (200, r#"{"error":{"message":"canary","code":401}}"#, "Refused(401)", 1),
        (200, r#"{"error":{"message":"canary","code":503}}"#, "Unavailable", 3),
        (200, r#"{"error":"canary"}"#, "Nonsense", 1),
        (302, "canary", "Refused(302)", 1),
        (400, r#"{"error":{"message":"canary","code":400}}"#, "Refused(400)", 1),
        (401, r#"{"error":{"message":"canary","code":"invalid_api_key"}}"#, "Refused(401)", 1),
        (404, r#"{"detail":"canary"}"#, "Refused(404)", 1),
        (429, "canary", "RateLimited", 3),
        (429, r#"{"error":{"message":"canary","code":"insufficient_quota"}}"#, "RateLimited", 1),
        (500, "<html>canary</html>", "Unavailable", 3),
        (503, "", "Unavailable", 3),
    ];
    for (status, body, expected, hits) in answers {
        let reply = move |_| (StatusCode::from_u16(status).unwrap(), [("retry-after", "0")], body).into_response();
        let (endpoint, url) = Endpoint::start(reply).await;
        let error = model(Api::Responses, &url).respond(request()).await.unwrap_err();
        let shown = format!("{error:?} {error}");
        assert!(shown.starts_with(expected), "{status} {body}: {shown}");
        assert!(!shown.contains("canary"), "{shown}");
        assert_eq!(endpoint.hits(), hits, "{status} {body}");
    }
}

#[tokio::test]
async fn a_failure_that_passes_is_waited_for() {
    let reply = |n| match n {
        1 => (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "0.1")]).into_response(),
        2 => StatusCode::BAD_GATEWAY.into_response(),
        _ => json_reply(fine()),
    };
    let (endpoint, url) = Endpoint::start(reply).await;
    let started = Instant::now();
    assert_eq!(model(Api::Chat, &url).respond(request()).await.unwrap().text, "はい");
    assert_eq!(endpoint.hits(), 3);
    assert!(started.elapsed() >= Duration::from_millis(100));
}

#[tokio::test]
async fn waiting_ends_with_the_turn() {
    let late = |_| (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "3600")]).into_response();
    let (_, url) = Endpoint::start(late).await;
    let deadline = Instant::now() + Duration::from_millis(200);
    let started = Instant::now();
    let error = model(Api::Chat, &url).respond(ModelRequest { deadline, ..request() }).await.unwrap_err();
    assert!(matches!(error, ModelError::Unavailable(_)), "{error:?}");
    assert!(started.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn a_dead_endpoint_is_left_alone_after_five_failures() {
    let (endpoint, url) = Endpoint::start(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response()).await;
    let model = OpenAi::new(Settings { retries: 0, ..Settings::new(Api::Chat, url, "m") }).unwrap();
    for _ in 0..7 {
        let error = model.respond(request()).await.unwrap_err();
        assert!(matches!(error, ModelError::Unavailable(_)), "{error:?}");
    }
    assert_eq!(endpoint.hits(), 5);
    let nowhere = OpenAi::new(Settings { retries: 0, ..Settings::new(Api::Chat, "http://127.0.0.1:1/v1", "m") });
    let error = nowhere.unwrap().respond(request()).await.unwrap_err();
    assert!(matches!(error, ModelError::Unavailable(_)), "{error:?}");
}

#[test]
fn settings_that_cannot_work_are_refused_at_the_start() {
    let keyed =
        |key: &str| Settings { api_key: Some(Secret::new(key)), ..Settings::new(Api::Chat, "http://h/v1", "m") };
    assert!(OpenAi::new(keyed("sk-1")).is_ok());
    assert!(matches!(OpenAi::new(keyed("sk-1\n")), Err(SetupError::ApiKey)));
    assert!(matches!(OpenAi::new(Settings::new(Api::Chat, "h/v1", "m")), Err(SetupError::BaseUrl(_))));
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let (_, url) = Endpoint::start(|_| json_reply(fine())).await;
    let model = model(Api::Responses, &url);
    model.respond(request()).await.unwrap();
    let started = Instant::now();
    for _ in 0..50 {
        model.respond(request()).await.unwrap();
    }
    // Without TCP_NODELAY each would wait some 40 ms for an acknowledgement.
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
}
