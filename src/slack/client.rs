//! The Web API, with a deadline on every call and an honest account of what may have happened.
//!
//! Calls go through slack-morphism's HTTP client as raw JSON: its typed responses reject shapes that Slack really sends,
//! and a message that was posted must never look like a failure. A call is never repeated here; whether it may be is
//! the caller's decision, and [`SlackError`] says what the decision needs.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{Request, header};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Map, Value, json};
use slack_morphism::errors::SlackClientError;
use slack_morphism::hyper_tokio::SlackClientHyperHttpsConnector;
use slack_morphism::{SlackApiToken, SlackClient, SlackClientApiCallContext, SlackClientHttpConnector};
use tracing::Span;

use super::inbound::Me;
use super::installation::Installation;
use super::text::Body;
use crate::domain::{ChannelId, MessageTs, Secret, TeamId, UserId};

mod conversations;

pub use conversations::Conversation;

/// Marks our messages so that a post whose answer was lost can be found again.
const OUTBOX_EVENT: &str = "sales_concierge_outbox";
/// For a refusal by rate that does not say how long.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(5);
/// A thread longer than pages times this is not searched to its end.
const PAGE: &str = "200";
/// See [`PAGE`].
const MAX_PAGES: usize = 25;

/// How a call failed, by what the caller may do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlackError {
    /// Not carried out; try again later.
    #[error("Slack asks to wait {} ms", after.as_millis())]
    RateLimited {
        /// How long.
        after: Duration,
    },
    /// Slack answered no; the same call will fail again.
    #[error("Slack refused: {error}")]
    Rejected {
        /// Slack's error code.
        error: String,
        /// Slack's details, such as which block is invalid.
        messages: Vec<String>,
    },
    /// It was sent and may have been carried out.
    #[error("no usable answer from Slack: {0}")]
    Uncertain(String),
    /// It was never sent.
    #[error("Slack cannot be reached: {0}")]
    Unreachable(String),
}

/// A user as `users.info` tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The user's own workspace.
    pub team: TeamId,
    /// Such as `ja-JP`.
    pub locale: Option<String>,
    /// An IANA name.
    pub tz: Option<String>,
    /// The display name, else the real name, else the id.
    pub real_name: String,
    /// A guest of either kind, or a stranger.
    pub is_guest: bool,
    /// A bot or workflow.
    pub is_bot: bool,
    /// Deactivated.
    pub deleted: bool,
}

/// The Web API of one installation. Cheap to clone; clones share connections.
#[derive(Clone, Debug)]
pub struct Client {
    http: SlackClient<SlackClientHyperHttpsConnector>,
    /// For what the library does not show of an answer.
    raw: HyperClient<HttpsConnector<HttpConnector>, axum::body::Body>,
    api_url: Arc<str>,
    token: Arc<SlackApiToken>,
    timeout: Duration,
    installation: Arc<Installation>,
}

impl Client {
    /// `api_url` is the Web API's base, with or without a trailing slash. `timeout` bounds each call.
    ///
    /// Over plain HTTP, which only a workspace on this machine has, no root certificates are loaded: such a workspace
    /// hands out URLs of itself, and it must start quickly and on machines without any.
    ///
    /// # Errors
    /// When the machine has no usable root certificates.
    pub fn new(api_url: &str, token: Secret, timeout: Duration) -> std::io::Result<Self> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(timeout / 2));
        let provider = rustls::crypto::ring::default_provider();
        let tls = if api_url.starts_with("http://") {
            let config = rustls::ClientConfig::builder_with_provider(Arc::new(provider))
                .with_safe_default_protocol_versions()
                .map_err(std::io::Error::other)?
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
            hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(config)
        } else {
            hyper_rustls::HttpsConnectorBuilder::new().with_provider_and_native_roots(provider)?
        };
        let https = tls.https_or_http().enable_http1().enable_http2().wrap_connector(tcp);
        let api_url = api_url.trim_end_matches('/');
        let raw = HyperClient::builder(TokioExecutor::new()).build(https.clone());
        let connector = SlackClientHyperHttpsConnector::from(https).with_slack_api_url(api_url);
        Ok(Self {
            http: SlackClient::new(connector),
            raw,
            api_url: api_url.into(),
            token: Arc::new(SlackApiToken::new(token.reveal().into())),
            timeout,
            installation: Arc::default(),
        })
    }

    /// Whether Slack still takes the token.
    pub fn installation(&self) -> &Arc<Installation> {
        &self.installation
    }

    /// Calls a method with JSON arguments.
    ///
    /// # Errors
    /// As [`SlackError`] tells.
    pub async fn call(&self, method: &str, args: Value) -> Result<Value, SlackError> {
        let span = Span::none();
        let sent = self.http.http_api.connector.http_post::<_, Value>(method, &args, self.context(&span));
        self.answered(sent).await
    }

    /// Calls a reading method with query arguments; those do not take JSON.
    ///
    /// # Errors
    /// As [`SlackError`] tells.
    pub async fn get(&self, method: &str, args: &[(&str, &str)]) -> Result<Value, SlackError> {
        let span = Span::none();
        let args: Vec<(&str, Option<&str>)> = args.iter().map(|(k, v)| (*k, Some(*v))).collect();
        let sent = self.http.http_api.connector.http_get::<Value, _, _>(method, &args, self.context(&span));
        self.answered(sent).await
    }

    /// What bounds each call.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    fn context<'a>(&'a self, span: &'a Span) -> SlackClientApiCallContext<'a> {
        SlackClientApiCallContext {
            rate_control_params: None,
            token: Some(&self.token),
            tracing_span: span,
            is_sensitive_url: false,
        }
    }

    /// A call that is not made where it could only be refused, and whose answer tells whether it would be.
    async fn answered(&self, call: impl Future<Output = Result<Value, SlackClientError>>) -> Result<Value, SlackError> {
        if let Err(error) = self.installation.allows(tokio::time::Instant::now()) {
            return Err(SlackError::Rejected { error, messages: Vec::new() });
        }
        let answer = self.bounded(call).await.and_then(accepted);
        self.installation.learn(&answer);
        answer
    }

    async fn bounded(&self, call: impl Future<Output = Result<Value, SlackClientError>>) -> Result<Value, SlackError> {
        match tokio::time::timeout(self.timeout, call).await {
            Ok(answer) => answer.or_else(classify),
            Err(_) => Err(SlackError::Uncertain(format!("no answer within {} ms", self.timeout.as_millis()))),
        }
    }

    /// Who the token makes us.
    ///
    /// # Errors
    /// As [`SlackError`] tells.
    pub async fn auth_test(&self) -> Result<Me, SlackError> {
        let answer = self.call("auth.test", json!({})).await?;
        Ok(Me {
            team: TeamId::new(required(&answer, "/team_id")?),
            user: UserId::new(required(&answer, "/user_id")?),
            bot_id: string(&answer, "/bot_id"),
            app_id: string(&answer, "/app_id"),
        })
    }

    /// The scopes that the token has, separated by commas, in the words of the header in which Slack names them; `None`
    /// when it does not.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn granted_scopes(&self) -> Result<Option<String>, SlackError> {
        let request = Request::post(format!("{}/auth.test", self.api_url))
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token.token_value.0))
            .body(axum::body::Body::empty())
            .map_err(|_| SlackError::Unreachable("the address of the Web API is none".into()))?;
        let answer = tokio::time::timeout(self.timeout, self.raw.request(request)).await;
        match answer {
            Ok(Ok(answer)) => {
                let named = answer.headers().get("x-oauth-scopes").and_then(|value| value.to_str().ok());
                Ok(named.map(str::to_owned))
            }
            Ok(Err(_)) => Err(SlackError::Unreachable("the connection could not be made".into())),
            Err(_) => Err(SlackError::Uncertain(format!("no answer within {} ms", self.timeout.as_millis()))),
        }
    }

    /// Who a user is.
    ///
    /// # Errors
    /// As [`SlackError`] tells; `user_not_found` and `user_not_visible` mean a stranger.
    pub async fn user(&self, user: &UserId) -> Result<Profile, SlackError> {
        let answer = self.get("users.info", &[("user", user.as_str()), ("include_locale", "true")]).await?;
        let flag = |path: &str| answer.pointer(path).and_then(Value::as_bool).unwrap_or(false);
        let name = ["/user/profile/display_name", "/user/profile/real_name", "/user/real_name", "/user/name"]
            .into_iter()
            .find_map(|path| string(&answer, path));
        Ok(Profile {
            team: TeamId::new(required(&answer, "/user/team_id")?),
            locale: string(&answer, "/user/locale"),
            tz: string(&answer, "/user/tz"),
            real_name: name.unwrap_or_else(|| user.to_string()),
            is_guest: flag("/user/is_restricted") || flag("/user/is_ultra_restricted") || flag("/user/is_stranger"),
            is_bot: flag("/user/is_bot"),
            deleted: flag("/user/deleted"),
        })
    }

    /// Posts a message. `outbox_key` goes into its metadata, where [`Client::find_by_outbox_key`] finds it.
    ///
    /// # Errors
    /// As [`SlackError`] tells. After `Uncertain` the message may be there.
    pub async fn post(
        &self,
        channel: &ChannelId,
        thread_ts: Option<&MessageTs>,
        body: &Body,
        outbox_key: Option<&str>,
    ) -> Result<MessageTs, SlackError> {
        let mut args = outgoing(channel, body);
        if let Some(ts) = thread_ts {
            args.insert("thread_ts".into(), json!(ts));
        }
        if let Some(key) = outbox_key {
            // Strings only: clients of other make stop reading messages whose metadata holds a number.
            args.insert("metadata".into(), json!({ "event_type": OUTBOX_EVENT, "event_payload": { "key": key } }));
        }
        let answer = self.call("chat.postMessage", Value::Object(args)).await?;
        required(&answer, "/ts").map(MessageTs::new)
    }

    /// Replaces a message of ours; its metadata stays.
    ///
    /// # Errors
    /// As [`SlackError`] tells. Updating twice does no harm.
    pub async fn update(&self, channel: &ChannelId, ts: &MessageTs, body: &Body) -> Result<(), SlackError> {
        let mut args = outgoing(channel, body);
        args.insert("ts".into(), json!(ts));
        // An update without blocks keeps the old ones in some clients; an empty list removes them in all.
        args.entry("blocks").or_insert_with(|| json!([]));
        self.call("chat.update", Value::Object(args)).await.map(drop)
    }

    /// Shows a message to one person only. Slack does not promise that it arrives.
    ///
    /// # Errors
    /// As [`SlackError`] tells.
    pub async fn ephemeral(
        &self,
        channel: &ChannelId,
        user: &UserId,
        thread_ts: Option<&MessageTs>,
        body: &Body,
    ) -> Result<(), SlackError> {
        let mut args = outgoing(channel, body);
        args.insert("user".into(), json!(user));
        if let Some(ts) = thread_ts {
            args.insert("thread_ts".into(), json!(ts));
        }
        self.call("chat.postEphemeral", Value::Object(args)).await.map(drop)
    }

    /// Finds the message that was posted with this outbox key in a thread, or in none.
    ///
    /// # Errors
    /// As [`SlackError`] tells; `Uncertain` when the thread is too long to be read to its end, so that "not there" is
    /// never said without having looked everywhere.
    pub async fn find_by_outbox_key(
        &self,
        channel: &ChannelId,
        thread_ts: Option<&MessageTs>,
        key: &str,
    ) -> Result<Option<MessageTs>, SlackError> {
        let Some(thread_ts) = thread_ts else { return self.find_at_the_top(channel, key).await };
        let mut cursor = String::new();
        for _ in 0..MAX_PAGES {
            let mut args = vec![
                ("channel", channel.as_str()),
                ("ts", thread_ts.as_str()),
                ("include_all_metadata", "true"),
                ("limit", PAGE),
            ];
            if !cursor.is_empty() {
                args.push(("cursor", &cursor));
            }
            let answer = self.get("conversations.replies", &args).await?;
            let Some(messages) = answer.get("messages").and_then(Value::as_array) else {
                return Err(SlackError::Uncertain("the answer has no messages".into()));
            };
            let ours = messages.iter().find(|m| outbox_key(m) == Some(key));
            if let Some(ts) = ours.and_then(|m| string(m, "/ts")) {
                return Ok(Some(MessageTs::new(ts)));
            }
            match string(&answer, "/response_metadata/next_cursor") {
                Some(next) => cursor = next,
                None if answer.get("has_more").and_then(Value::as_bool) == Some(true) => {
                    return Err(SlackError::Uncertain("the thread goes on and there is no cursor".into()));
                }
                None => return Ok(None),
            }
        }
        Err(SlackError::Uncertain("the thread is too long to be searched".into()))
    }

    /// Such a message is looked for soon after it was posted, so it is among the newest of its conversation.
    async fn find_at_the_top(&self, channel: &ChannelId, key: &str) -> Result<Option<MessageTs>, SlackError> {
        let args = [("channel", channel.as_str()), ("include_all_metadata", "true"), ("limit", PAGE)];
        let answer = self.get("conversations.history", &args).await?;
        let Some(messages) = answer.get("messages").and_then(Value::as_array) else {
            return Err(SlackError::Uncertain("the answer has no messages".into()));
        };
        Ok(messages.iter().find(|m| outbox_key(m) == Some(key)).and_then(|m| string(m, "/ts")).map(MessageTs::new))
    }

    /// One page of what was said in a conversation since `oldest` (seconds since the epoch), or in one of its threads, and
    /// where the next page begins. Roots come newest first, replies oldest first behind their root.
    ///
    /// # Errors
    /// As [`SlackError`] tells.
    pub async fn said(
        &self,
        channel: &ChannelId,
        thread_ts: Option<&MessageTs>,
        oldest: &str,
        cursor: Option<&str>,
    ) -> Result<(Vec<Value>, Option<String>), SlackError> {
        let mut args =
            vec![("channel", channel.as_str()), ("oldest", oldest), ("include_all_metadata", "true"), ("limit", PAGE)];
        if let Some(ts) = thread_ts {
            args.push(("ts", ts.as_str()));
        }
        if let Some(cursor) = cursor {
            args.push(("cursor", cursor));
        }
        let method = if thread_ts.is_some() { "conversations.replies" } else { "conversations.history" };
        let mut answer = self.get(method, &args).await?;
        let next = string(&answer, "/response_metadata/next_cursor");
        match answer.get_mut("messages").map(Value::take) {
            Some(Value::Array(messages)) => Ok((messages, next)),
            _ => Err(SlackError::Uncertain("the answer has no messages".into())),
        }
    }

    /// Shows what the bot is doing in a thread; an empty status clears it.
    ///
    /// # Errors
    /// As [`SlackError`] tells; never a reason to stop the work.
    pub async fn set_status(
        &self,
        channel: &ChannelId,
        thread_ts: &MessageTs,
        status: &str,
        loading: &[String],
    ) -> Result<(), SlackError> {
        let mut args = json!({ "channel_id": channel, "thread_ts": thread_ts, "status": status });
        if let Some(args) = args.as_object_mut().filter(|_| !loading.is_empty()) {
            let ten: Vec<&String> = loading.iter().take(10).collect();
            args.insert("loading_messages".into(), json!(ten));
        }
        self.call("assistant.threads.setStatus", args).await.map(drop)
    }
}

/// The key in the metadata of a message of ours.
pub fn outbox_key(message: &Value) -> Option<&str> {
    let ours = message.pointer("/metadata/event_type").and_then(Value::as_str) == Some(OUTBOX_EVENT);
    message.pointer("/metadata/event_payload/key").and_then(Value::as_str).filter(|_| ours)
}

/// The arguments that every message has: no previews, no parsing of the text, no formatting in it.
fn message_args(body: &Body) -> Map<String, Value> {
    let mut args = Map::new();
    args.insert("text".into(), json!(body.text));
    if !body.blocks.is_null() {
        args.insert("blocks".into(), body.blocks.clone());
    }
    args.insert("unfurl_links".into(), json!(false));
    args.insert("unfurl_media".into(), json!(false));
    args.insert("parse".into(), json!("none"));
    args.insert("mrkdwn".into(), json!(false));
    args
}

fn outgoing(channel: &ChannelId, body: &Body) -> Map<String, Value> {
    let mut args = message_args(body);
    args.insert("channel".into(), json!(channel));
    args
}

fn string(answer: &Value, path: &str) -> Option<String> {
    answer.pointer(path).and_then(Value::as_str).filter(|s| !s.is_empty()).map(str::to_owned)
}

/// A field without which an `ok` answer is of no use. The call was carried out, so its absence is no refusal.
fn required(answer: &Value, path: &str) -> Result<String, SlackError> {
    string(answer, path).ok_or_else(|| SlackError::Uncertain(format!("the answer has no {path}")))
}

/// Sorts an answer by its `ok`.
fn accepted(answer: Value) -> Result<Value, SlackError> {
    match answer.get("ok").and_then(Value::as_bool) {
        Some(true) => Ok(answer),
        Some(false) => Err(refusal(&answer)),
        None => Err(SlackError::Uncertain("the answer is not Slack's".into())),
    }
}

/// What an `ok:false` means.
fn refusal(answer: &Value) -> SlackError {
    let error = string(answer, "/error").unwrap_or_else(|| "unnamed_error".into());
    match error.as_str() {
        "ratelimited" | "rate_limited" => SlackError::RateLimited { after: DEFAULT_RETRY_AFTER },
        // Slack's own docs: part of the operation may have succeeded.
        "fatal_error" | "internal_error" | "request_timeout" | "service_unavailable" => SlackError::Uncertain(error),
        _ => {
            let messages = answer.pointer("/response_metadata/messages").and_then(Value::as_array);
            let messages = messages.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
            SlackError::Rejected { error, messages }
        }
    }
}

/// Sorts slack-morphism's errors. Bodies of answers are read but never put into an error: they may hold anything.
fn classify(error: SlackClientError) -> Result<Value, SlackError> {
    let parsed = |body: &Option<String>| body.as_deref().and_then(|b| serde_json::from_str::<Value>(b).ok());
    Err(match error {
        SlackClientError::RateLimitError(e) => {
            SlackError::RateLimited { after: e.retry_after.unwrap_or(DEFAULT_RETRY_AFTER) }
        }
        SlackClientError::ApiError(e) => match parsed(&e.http_response_body) {
            Some(answer) => refusal(&answer),
            None => SlackError::Rejected { error: e.code, messages: Vec::new() },
        },
        SlackClientError::HttpError(e) if e.status_code.is_client_error() && e.status_code.as_u16() != 408 => {
            match parsed(&e.http_response_body).filter(|a| a.get("error").is_some_and(Value::is_string)) {
                Some(answer) => refusal(&answer),
                None => {
                    SlackError::Rejected { error: format!("http_{}", e.status_code.as_u16()), messages: Vec::new() }
                }
            }
        }
        SlackClientError::HttpError(e) => SlackError::Uncertain(format!("HTTP {}", e.status_code.as_u16())),
        // The envelope's shape surprised the library; the raw answer may still be a plain yes or no.
        SlackClientError::ProtocolError(e) => match parsed(&e.json_body) {
            Some(answer) => return Ok(answer),
            None => SlackError::Uncertain("the answer is not JSON".into()),
        },
        SlackClientError::HttpProtocolError(e) => {
            let cause = e.cause.as_deref().and_then(|c| c.downcast_ref::<hyper_util::client::legacy::Error>());
            if cause.is_some_and(hyper_util::client::legacy::Error::is_connect) {
                SlackError::Unreachable("the connection could not be made".into())
            } else {
                SlackError::Uncertain("the connection broke".into())
            }
        }
        SlackClientError::EndOfStream(_)
        | SlackClientError::SystemError(_)
        | SlackClientError::SocketModeProtocolError(_) => SlackError::Uncertain("the call broke off".into()),
    })
}

#[cfg(test)]
mod tests;
