//! The Web API's edge: arguments in any of Slack's encodings, the token, ordered misbehaviour, `response_url`s.
//!
//! What it promises: who has neither the token nor a `response_url` changes nothing here but a line of the ledger, which
//! says that they came.

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
use super::methods::Method;
use super::{Fault, Installation, messages, methods, streams};

/// Why a call fails: Slack's code and, for some, what else the answer holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ApiError {
    pub(super) code: String,
    /// `response_metadata.messages`.
    pub(super) messages: Vec<String>,
    /// Further fields of the answer.
    pub(super) extra: Vec<(&'static str, String)>,
    /// The status is 429 and this its `Retry-After`.
    pub(super) retry_after: Option<u64>,
}

impl From<&str> for ApiError {
    fn from(code: &str) -> Self {
        Self { code: code.into(), ..Self::default() }
    }
}

impl ApiError {
    fn rate_limited(seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..Self::from("ratelimited") }
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
        Err(code) => return answer(&hub, Err(code.into())),
    };
    let token = bearer(&headers).or_else(|| args.get("token").and_then(Value::as_str)).unwrap_or("");
    let method = match admitted(&hub, &method, token) {
        Ok(method) => method,
        Err(error) => return turned_away(&hub, &method, error),
    };
    record(&hub, method.name, &args);
    let tasks = hub.tasks.clone();
    // A task of its own: Slack carries out what it was sent, also for a caller who has hung up.
    let answered = tasks.spawn(async move {
        with_faults(&hub, method.name, &args, || {
            let channel = args.get("channel").and_then(Value::as_str).unwrap_or("");
            hub.limited(method, channel).map_err(ApiError::rate_limited)?;
            hub.granted(method.scopes)?;
            if json && !args.is_empty() && method.form_only {
                let messages = vec!["[ERROR] missing required field: the arguments were not sent as a form".to_owned()];
                return Err(ApiError { messages, ..ApiError::from("invalid_arguments") });
            }
            method.call(&hub, &args)
        })
        .await
    });
    answered.await.unwrap_or_else(|_| bare(500))
}

/// A method that there is, for who has the token.
fn admitted(hub: &Hub, method: &str, token: &str) -> Result<&'static Method, ApiError> {
    let method = methods::find(method).ok_or("unknown_method")?;
    authorized(hub, token)?;
    Ok(method)
}

fn authorized(hub: &Hub, token: &str) -> Result<(), ApiError> {
    if token.is_empty() {
        return Err("not_authed".into());
    }
    // A token of an app instead of one of its bot.
    if token.starts_with("xapp-") {
        return Err("not_allowed_token_type".into());
    }
    if token != hub.settings.bot_token.reveal() {
        return Err("invalid_auth".into());
    }
    match hub.installation() {
        Installation::Active => Ok(()),
        Installation::Revoked => Err("token_revoked".into()),
        Installation::Expired => Err("token_expired".into()),
        Installation::Inactive => Err("account_inactive".into()),
    }
}

async fn response_url(State(hub): State<Arc<Hub>>, Path(secret): Path<String>, body: Bytes) -> Response {
    let args = match arguments(true, None, &body) {
        Ok(args) => args,
        Err(code) => return answer(&hub, Err(code.into())),
    };
    if !hub.knows_response_url(&secret) {
        return turned_away(&hub, "response_url", "expired_url".into());
    }
    record(&hub, "response_url", &args);
    with_faults(&hub, "response_url", &args, || {
        let url = hub.use_response_url(&secret).map_err(|e| match e {
            Handle::Unknown | Handle::Expired => "expired_url",
            Handle::Used => "used_url",
        })?;
        messages::respond(&hub, &url, &args)
    })
    .await
}

fn record(hub: &Hub, method: &str, args: &Map<String, Value>) {
    hub.world().ledger.called(method, args, hub.clock.now_ms());
    hub.changed();
}

/// Refuses somebody who may be anybody: no ordered misbehaviour is spent on them.
fn turned_away(hub: &Hub, method: &str, error: ApiError) -> Response {
    hub.world().ledger.refused(method, &error.code, hub.clock.now_ms());
    hub.changed();
    answer(hub, Err(error))
}

async fn with_faults(hub: &Hub, method: &str, args: &Map<String, Value>, work: impl FnOnce() -> Answer) -> Response {
    match hub.orders.next_fault(method) {
        None => answer(hub, work()),
        Some(Fault::Delay(by)) => {
            pause(hub, by).await;
            answer(hub, work())
        }
        Some(Fault::Status(status)) => bare(status),
        Some(Fault::StatusAfterAccept(status)) => {
            drop(work());
            bare(status)
        }
        Some(Fault::RateLimited(seconds)) => answer(hub, Err(ApiError::rate_limited(seconds))),
        Some(Fault::HangAfterAccept) => {
            drop(work());
            hub.stop.cancelled().await;
            bare(503)
        }
        Some(Fault::Html) => {
            ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], "<!DOCTYPE html><title>Slack</title>")
                .into_response()
        }
        Some(Fault::Garbled(body)) => as_json(hub, body),
        Some(Fault::GarbledAfterAccept(body)) => {
            drop(work());
            as_json(hub, body)
        }
        Some(Fault::OkFalse(code)) => answer(hub, Err(code.as_str().into())),
        Some(Fault::StreamCloses) => {
            streams::close(hub, args);
            answer(hub, work())
        }
    }
}

async fn pause(hub: &Hub, by: Duration) {
    hub.stop.run_until_cancelled(tokio::time::sleep(by)).await;
}

fn bare(status: u16) -> Response {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR).into_response()
}

fn answer(hub: &Hub, result: Answer) -> Response {
    let error = match result {
        Ok(mut body) => {
            if let Some(body) = body.as_object_mut() {
                body.insert("ok".into(), true.into());
            }
            return as_json(hub, body.to_string());
        }
        Err(error) => error,
    };
    let mut body = Map::new();
    body.insert("ok".into(), false.into());
    body.insert("error".into(), error.code.into());
    body.extend(error.extra.into_iter().map(|(key, value)| (key.to_owned(), value.into())));
    if !error.messages.is_empty() {
        body.insert("response_metadata".into(), json!({"messages": error.messages}));
    }
    let mut response = as_json(hub, Value::Object(body).to_string());
    if let Some(seconds) = error.retry_after {
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

fn as_json(hub: &Hub, body: String) -> Response {
    let scopes = hub.settings.scopes.join(",");
    let headers =
        [(header::CONTENT_TYPE.as_str(), "application/json; charset=utf-8"), ("x-oauth-scopes", scopes.as_str())];
    (headers, body).into_response()
}

fn is_json(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).is_some_and(|t| t.starts_with("application/json"))
}

pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let token =
        headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok()).and_then(|v| v.strip_prefix("Bearer "));
    token.filter(|t| !t.is_empty())
}

fn arguments(json: bool, query: Option<&str>, body: &[u8]) -> Result<Map<String, Value>, &'static str> {
    let mut args = Map::new();
    let mut add = |encoded: &[u8]| {
        for (name, value) in url::form_urlencoded::parse(encoded) {
            let structured =
                matches!(name.as_ref(), "blocks" | "metadata" | "view" | "prompts" | "attachments" | "chunks");
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
