//! The Web API's edge: arguments in any of Slack's encodings, the token, ordered misbehaviour, `response_url`s.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, post};
use serde_json::{Map, Value, json};

use super::hub::{Handle, Hub};
use super::{Call, Fault, methods};

/// What the installed app may do; the header of every answer.
pub(super) const SCOPES: &str = "app_mentions:read,assistant:write,channels:history,channels:read,chat:write,\
groups:history,groups:read,im:history,im:read,im:write,mpim:history,users:read";

/// Slack reads a JSON body only in methods that write; to these it is as if no argument had been given.
const FORM_ONLY: [&str; 4] = ["conversations.info", "conversations.members", "conversations.replies", "users.info"];

/// Why a call fails: Slack's code and, for some, what else the answer holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ApiError {
    pub(super) code: String,
    pub(super) messages: Vec<String>,
}

impl From<&str> for ApiError {
    fn from(code: &str) -> Self {
        Self { code: code.into(), messages: Vec::new() }
    }
}

pub(super) type Answer = Result<Value, ApiError>;

pub(super) fn router(hub: Arc<Hub>) -> Router {
    Router::new().route("/api/{method}", any(api)).route("/response/{secret}", post(response_url)).with_state(hub)
}

async fn api(
    State(hub): State<Arc<Hub>>,
    Path(method): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let json = is_json(&headers);
    let args = match arguments(json, query.as_deref(), &body) {
        Ok(args) => args,
        Err(code) => return answer(Err(code.into())),
    };
    let token = token(&headers, &args);
    record(&hub, &method, &args);
    let tasks = hub.tasks.clone();
    // A task of its own: Slack carries out what it was sent, also for a caller who has hung up.
    let answered = tasks.spawn(async move {
        with_faults(&hub, &method, || {
            match token.as_deref() {
                None => return Err("not_authed".into()),
                Some(token) if token != hub.settings.bot_token.reveal() => return Err("invalid_auth".into()),
                Some(_) => {}
            }
            if json && !args.is_empty() && FORM_ONLY.contains(&method.as_str()) {
                let messages = vec!["[ERROR] missing required field: the arguments were not sent as a form".to_owned()];
                return Err(ApiError { code: "invalid_arguments".into(), messages });
            }
            methods::call(&hub, &method, &args)
        })
        .await
    });
    answered.await.unwrap_or_else(|_| bare(500))
}

async fn response_url(State(hub): State<Arc<Hub>>, Path(secret): Path<String>, body: Bytes) -> Response {
    let args = match arguments(true, None, &body) {
        Ok(args) => args,
        Err(code) => return answer(Err(code.into())),
    };
    record(&hub, "response_url", &args);
    with_faults(&hub, "response_url", || {
        let url = hub.use_response_url(&secret).map_err(|e| match e {
            Handle::Unknown | Handle::Expired => "expired_url",
            Handle::Used => "used_url",
        })?;
        methods::respond(&hub, &url, &args)
    })
    .await
}

fn record(hub: &Hub, method: &str, args: &Map<String, Value>) {
    let mut args = args.clone();
    args.remove("token");
    hub.world().record_call(Call { method: method.into(), args, at: hub.clock.now_ms() });
    hub.changed();
}

async fn with_faults(hub: &Hub, method: &str, work: impl FnOnce() -> Answer) -> Response {
    match hub.next_fault(method) {
        None => answer(work()),
        Some(Fault::Delay(by)) => {
            pause(hub, by).await;
            answer(work())
        }
        Some(Fault::Status(status)) => bare(status),
        Some(Fault::StatusAfterAccept(status)) => {
            drop(work());
            bare(status)
        }
        Some(Fault::RateLimited(seconds)) => {
            let mut response = answer(Err("ratelimited".into()));
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
            response
        }
        Some(Fault::HangAfterAccept) => {
            drop(work());
            hub.stop.cancelled().await;
            bare(503)
        }
        Some(Fault::Html) => {
            ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], "<!DOCTYPE html><title>Slack</title>")
                .into_response()
        }
        Some(Fault::OkFalse(code)) => answer(Err(code.as_str().into())),
    }
}

async fn pause(hub: &Hub, by: Duration) {
    hub.stop.run_until_cancelled(tokio::time::sleep(by)).await;
}

fn bare(status: u16) -> Response {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR).into_response()
}

fn answer(result: Answer) -> Response {
    let body = match result {
        Ok(mut body) => {
            if let Some(body) = body.as_object_mut() {
                body.insert("ok".into(), true.into());
            }
            body
        }
        Err(ApiError { code, messages }) if messages.is_empty() => json!({"ok": false, "error": code}),
        Err(ApiError { code, messages }) => {
            json!({"ok": false, "error": code, "response_metadata": {"messages": messages}})
        }
    };
    let headers = [(header::CONTENT_TYPE.as_str(), "application/json; charset=utf-8"), ("x-oauth-scopes", SCOPES)];
    (headers, body.to_string()).into_response()
}

fn is_json(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).is_some_and(|t| t.starts_with("application/json"))
}

fn token(headers: &HeaderMap, args: &Map<String, Value>) -> Option<String> {
    let bearer =
        headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok()).and_then(|v| v.strip_prefix("Bearer "));
    bearer.or_else(|| args.get("token").and_then(Value::as_str)).filter(|t| !t.is_empty()).map(str::to_owned)
}

fn arguments(json: bool, query: Option<&str>, body: &[u8]) -> Result<Map<String, Value>, &'static str> {
    let mut args = Map::new();
    let mut add = |encoded: &[u8]| {
        for (name, value) in url::form_urlencoded::parse(encoded) {
            let structured = matches!(name.as_ref(), "blocks" | "metadata" | "view" | "prompts" | "attachments");
            let parsed = structured.then(|| serde_json::from_str(&value).ok()).flatten();
            args.insert(name.into_owned(), parsed.unwrap_or_else(|| Value::String(value.into_owned())));
        }
    };
    add(query.unwrap_or("").as_bytes());
    if !json {
        add(body);
    } else if !body.is_empty() {
        match serde_json::from_slice(body) {
            Ok(Value::Object(object)) => args.extend(object.into_iter().filter(|(_, v)| !v.is_null())),
            Ok(_) => return Err("json_not_object"),
            Err(_) => return Err("invalid_json"),
        }
    }
    Ok(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_come_from_query_form_and_json() {
        let form = arguments(false, Some("channel=C1"), b"text=a+%26+b&blocks=%5B%5D").unwrap();
        assert_eq!(Value::Object(form), json!({"channel": "C1", "text": "a & b", "blocks": []}));
        let body = arguments(true, Some("channel=C1"), br#"{"channel":"C2","text":null,"limit":3}"#).unwrap();
        assert_eq!(Value::Object(body), json!({"channel": "C2", "limit": 3}));
        assert_eq!(arguments(true, None, b"[]"), Err("json_not_object"));
        assert_eq!(arguments(true, None, b"{"), Err("invalid_json"));
    }
}
