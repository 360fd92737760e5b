//! The HTTP edge to a model's endpoint: every answer is valid JSON under a good status, or a [`Rejected`].
//!
//! Bodies are read here and not by the client library, which would log a body that it cannot read.

use std::time::Duration;

use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use serde::de::IgnoredAny;
use serde_json::Value;

/// The largest answer that is read; far above what any token limit lets through.
const MAX_BODY: usize = 8 << 20;
/// How long a connection may take; a request has its own deadline.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// An answer that is of no use. Keeps no body: it may quote the conversation.
#[derive(Debug, thiserror::Error)]
#[error("status {status}: {reason}")]
pub(super) struct Rejected {
    /// The status; 2xx when only the body was bad.
    pub status: u16,
    /// The endpoint's short error code, if it has the form of one.
    pub code: Option<String>,
    /// How long the endpoint asks to wait.
    pub after: Option<Duration>,
    /// What was wrong, in our words.
    pub reason: &'static str,
}

/// The client of one endpoint. No proxy on loopback: the demo model and local servers are asked directly.
pub(super) fn client(url: &url::Url) -> Result<reqwest::Client, reqwest::Error> {
    // An error only says that a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let loopback = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    };
    let builder = reqwest::Client::builder()
        .http1_only()
        .tcp_nodelay(true)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(Duration::from_secs(90))
        .redirect(reqwest::redirect::Policy::none());
    if loopback { builder.no_proxy() } else { builder }.build()
}

/// Sends once; no retry here.
pub(super) async fn send(
    http: &reqwest::Client,
    request: HttpRequestFactory,
) -> Result<reqwest::Response, OpenAIError> {
    let request = request.build().await?;
    let mut response = http.execute(request).await?;
    let status = response.status();
    let after = response.headers().get("retry-after").and_then(|v| v.to_str().ok()).and_then(seconds);
    let rejected =
        |code, reason| OpenAIError::Boxed(Box::new(Rejected { status: status.as_u16(), code, after, reason }));
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > MAX_BODY {
            return Err(rejected(None, "the body is too large"));
        }
        body.extend_from_slice(&chunk);
    }
    if !status.is_success() {
        let code = error_code(&body);
        tracing::warn!(status = status.as_u16(), code, "the model's endpoint refused");
        return Err(rejected(code, "not a success"));
    }
    if serde_json::from_slice::<IgnoredAny>(&body).is_err() {
        return Err(rejected(None, "the body is not JSON"));
    }
    Ok(reqwest::Response::from(axum::http::Response::new(body)))
}

/// `Retry-After` in seconds; a date or nonsense is ignored.
fn seconds(header: &str) -> Option<Duration> {
    header.trim().parse::<f64>().ok().and_then(|s| Duration::try_from_secs_f64(s).ok())
}

/// `error.code` or `error.type`, when it is a short plain word or number: nothing that could quote the conversation.
fn error_code(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let error = body.get("error")?;
    let code = ["code", "type"].iter().find_map(|key| error.get(key).filter(|v| !v.is_null()))?;
    let code = code.as_str().map_or_else(|| code.to_string(), str::to_owned);
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (code.len() <= 40 && code.chars().all(plain)).then_some(code)
}
