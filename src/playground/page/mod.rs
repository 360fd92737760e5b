//! The Slack-like page at `/`: people, conversations, threads, buttons, modals, Home.
//!
//! What it promises: it does what a person does in Slack's client and nothing else; every act goes through the
//! workspace and reaches the bot as a signed request. Since the page speaks as anybody, it answers only to this machine
//! and only to itself: other addresses, other host names (rebinding) and other origins are refused.

mod acts;
mod files;
mod summary;
mod underneath;
mod view;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Query, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use futures::Stream;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::workspace::{Hub, Refused};
use crate::domain::UserId;

pub(crate) fn router(hub: Arc<Hub>) -> Router {
    Router::new()
        .merge(files::router())
        .route("/page/people", get(people))
        .route("/page/state", get(state))
        .route("/page/history", get(history))
        .route("/page/thread", get(thread))
        .route("/page/delivered", get(delivered))
        .route("/page/events", get(events))
        .with_state(Arc::clone(&hub))
        .merge(underneath::router(Arc::clone(&hub)))
        .merge(acts::router(hub))
        .route_layer(middleware::from_fn(only_this_machine))
}

pub(in crate::playground) async fn only_this_machine(
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    if peer.ip().to_canonical().is_loopback() && is_ours(request.headers()) {
        next.run(request).await
    } else {
        (StatusCode::FORBIDDEN, "this page is for the machine it runs on").into_response()
    }
}

/// Keeps web pages of elsewhere from what programs use: a browser says where a request comes from, a program does not.
pub(in crate::playground) async fn no_other_page(request: Request, next: Next) -> Response {
    if is_of_another_page(request.headers()) {
        (StatusCode::FORBIDDEN, "this is for programs").into_response()
    } else {
        next.run(request).await
    }
}

fn is_of_another_page(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site");
    let browser = site.is_some() || headers.contains_key(header::ORIGIN);
    browser && !(is_ours(headers) && site.is_none_or(|site| site == "same-origin" || site == "none"))
}

/// The host is this machine's, and a page that sends this is our own.
fn is_ours(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|v| v.to_str().ok());
    let Some(host) = text(header::HOST) else { return false };
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let local = matches!(authority.host(), "localhost" | "127.0.0.1" | "[::1]");
    local && text(header::ORIGIN).is_none_or(|origin| origin.strip_prefix("http://") == Some(host))
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = match self {
            Self::NotInChannel | Self::NotYours | Self::Archived => StatusCode::FORBIDDEN,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Empty | Self::NotOffered => StatusCode::UNPROCESSABLE_ENTITY,
            Self::NotSupported => StatusCode::NOT_IMPLEMENTED,
            _ => StatusCode::NOT_FOUND,
        };
        (status, Json(json!({"error": self.to_string()}))).into_response()
    }
}

#[derive(Deserialize)]
struct As {
    #[serde(rename = "as")]
    user: String,
}

async fn people(State(hub): State<Arc<Hub>>) -> Json<Value> {
    Json(view::people(&hub))
}

async fn state(State(hub): State<Arc<Hub>>, Query(who): Query<As>) -> Result<Json<Value>, Refused> {
    view::state(&hub, &who.user).map(Json)
}

#[derive(Deserialize)]
struct Before {
    #[serde(rename = "as")]
    user: String,
    channel: String,
    /// Messages older than this one are wanted.
    before: String,
}

async fn history(State(hub): State<Arc<Hub>>, Query(page): Query<Before>) -> Result<Json<Value>, Refused> {
    view::history(&hub, &page.user, &page.channel, &page.before).map(Json)
}

/// A message, or the thread that it begins.
#[derive(Deserialize)]
struct Thread {
    #[serde(rename = "as")]
    user: String,
    channel: String,
    ts: String,
    /// Replies older than this one are wanted; without it the newest.
    before: Option<String>,
}

async fn thread(State(hub): State<Arc<Hub>>, Query(page): Query<Thread>) -> Result<Json<Value>, Refused> {
    view::thread(&hub, &page.user, &page.channel, &page.ts, page.before.as_deref()).map(Json)
}

/// Whether the bot has taken a message; `null` while nobody has tried to hand it over.
async fn delivered(State(hub): State<Arc<Hub>>, Query(of): Query<Thread>) -> Result<Json<Value>, Refused> {
    let taken = view::delivered(&hub, &of.user, &of.channel, &of.ts)?;
    Ok(Json(json!({"taken": taken})))
}

/// Changes as they happen, as far as the person may see them. After a gap the page is told to load everything anew.
async fn events(
    State(hub): State<Arc<Hub>>,
    Query(who): Query<As>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let user = UserId::new(who.user);
    let changes = hub.subscribe();
    let stop = hub.stopping();
    let stream = futures::stream::unfold((hub, changes, stop, user, true), |mut s| async move {
        if s.4 {
            s.4 = false;
            return Some((Ok(Event::default().event("hello").data("{}")), s));
        }
        loop {
            let change = s.2.run_until_cancelled(s.1.recv()).await?;
            let event = match change {
                Ok(change) => match view::change(&s.0, &s.3, &change) {
                    Some(seen) => Event::default().event("change").data(seen.to_string()),
                    None => continue,
                },
                Err(RecvError::Lagged(_)) => Event::default().event("hello").data("{}"),
                Err(RecvError::Closed) => return None,
            };
            return Some((Ok(event), s));
        }
    });
    Sse::new(stream).keep_alive(KeepAlive::default())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_the_page_itself_on_this_machine_is_answered() {
        let ours = |host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
            }
            is_ours(&headers)
        };
        assert!(ours("127.0.0.1:3210", None));
        assert!(ours("localhost:3210", Some("http://localhost:3210")));
        assert!(ours("[::1]:3210", None));
        assert!(!ours("evil.example:3210", None));
        assert!(!ours("127.0.0.1.evil.example", None));
        assert!(!ours("127.0.0.1:3210", Some("http://evil.example")));
        assert!(!ours("127.0.0.1:3210", Some("http://127.0.0.1:9999")));
        assert!(!ours("127.0.0.1:3210", Some("null")));
        assert!(!is_ours(&HeaderMap::new()));
    }

    #[test]
    fn a_program_is_let_through_and_a_page_of_elsewhere_is_not() {
        let other = |headers: &[(&'static str, &'static str)]| {
            let known = headers.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
            is_of_another_page(&known.collect())
        };
        assert!(!other(&[]));
        assert!(!other(&[("host", "playground:3210")]), "a program beside it in a container");
        assert!(!other(&[
            ("host", "127.0.0.1:1"),
            ("origin", "http://127.0.0.1:1"),
            ("sec-fetch-site", "same-origin")
        ]));
        assert!(!other(&[("host", "127.0.0.1:1"), ("sec-fetch-site", "none")]), "somebody types the address");
        assert!(other(&[("host", "127.0.0.1:1"), ("origin", "http://evil.example")]));
        assert!(other(&[("host", "127.0.0.1:1"), ("origin", "null")]));
        assert!(other(&[("host", "127.0.0.1:1"), ("sec-fetch-site", "cross-site")]), "an image or a link");
        assert!(other(&[("host", "localhost:1"), ("sec-fetch-site", "same-site")]), "another port");
        assert!(other(&[("host", "evil.example:1"), ("origin", "http://evil.example:1")]), "a name bound anew");
    }
}
