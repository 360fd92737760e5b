//! The server over Streamable HTTP.
//!
//! What it promises: no body is read before the request's bearer is found good, whatever the method; a refused bearer
//! leaves a row in the audit, as long as there are few of them; a request ends within its time limit; after the signal
//! to stop, what runs may end. There are no sessions: any process can answer any request.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::server::Identity;
use super::store::Store;
use super::{ACTOR, Callers, ServerError, Settings, server};
use crate::audit::{self, Entry};
use crate::domain::{Clock, Risk};
use crate::listen;
use crate::tokens::{Bearer, KeyError, TokenError, Verifier};

const BODY_BYTES: usize = 1 << 20;
/// Requests that are running at the signal to stop get this long.
const DRAIN: Duration = Duration::from_secs(10);
/// And the store after them: a statement whose request is gone is not waited for.
const CLOSE: Duration = Duration::from_secs(2);
/// Rows about refused bearers in a minute: enough to see an attack, too few to fill a disk.
const REFUSALS_PER_MINUTE: u32 = 60;
const METADATA: &str = "/.well-known/oauth-protected-resource";

/// How it is reached and how much of it.
#[derive(Clone, Debug)]
pub struct Http {
    /// The address.
    pub listen: SocketAddr,
    /// The address of `/mcp` as clients see it, if another.
    pub public_url: Option<String>,
    /// Host names under which it may be asked besides loopback.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may ask it.
    pub allowed_origins: Vec<String>,
    /// Requests in a second.
    pub requests_per_second: NonZeroU32,
    /// Requests at a time.
    pub concurrent_requests: u32,
    /// How long a request may take.
    pub time_limit: Duration,
}

/// What a request passes before MCP.
struct Edge {
    store: Arc<Store>,
    verifier: Verifier,
    clock: Clock,
    rate: DefaultDirectRateLimiter,
    places: Semaphore,
    time_limit: Duration,
    /// The value of `WWW-Authenticate` without an error.
    challenge: String,
    metadata: Value,
    refusals: DefaultDirectRateLimiter,
    /// Refusals since the last row, which tells their number.
    unrecorded: AtomicU64,
}

/// Serves MCP over HTTP until `stop`, then lets running requests end. `ready` is told the address.
///
/// # Errors
/// See [`ServerError`].
pub async fn run_http(
    settings: Settings,
    http: Http,
    clock: Clock,
    ready: impl FnOnce(SocketAddr),
    stop: CancellationToken,
) -> Result<(), ServerError> {
    let store = Arc::new(Store::open(&settings.records, settings.rules(), true).await?);
    let listener = TcpListener::bind(http.listen).await.map_err(|e| ServerError::Listen(http.listen, e))?;
    let address = listener.local_addr().map_err(|e| ServerError::Listen(http.listen, e))?;
    let router = router(Arc::clone(&store), &settings, &http, clock, address)?;
    ready(address);
    listen::serve(listener, router, stop, DRAIN).await;
    if tokio::time::timeout(CLOSE, store.close()).await.is_err() {
        tracing::warn!("a call was still running when the server stopped");
    }
    Ok(())
}

/// All routes. `address`: where it listens.
pub(super) fn router(
    store: Arc<Store>,
    settings: &Settings,
    http: &Http,
    clock: Clock,
    address: SocketAddr,
) -> Result<Router, ServerError> {
    // One fixed person over HTTP would make whoever reaches the port that person.
    let Callers::Tokens(keys) = &settings.callers else { return Err(KeyError::PublicKey.into()) };
    let verifier = Verifier::new(keys)?;
    let identity = Identity::Bearer(verifier.clone());
    let service = Arc::new(server(Arc::clone(&store), clock.clone(), identity)?);
    let url = http.public_url.clone().unwrap_or_else(|| format!("http://{address}/mcp"));
    let (origin, path) = parts(&url);
    let edge = Arc::new(Edge {
        store,
        verifier,
        clock,
        rate: RateLimiter::direct(Quota::per_second(http.requests_per_second)),
        places: Semaphore::new(http.concurrent_requests as usize),
        time_limit: http.time_limit,
        challenge: format!("Bearer resource_metadata=\"{origin}{METADATA}{path}\""),
        metadata: json!({
            "resource": url,
            "resource_name": "sales-server",
            "bearer_methods_supported": ["header"],
        }),
        refusals: RateLimiter::direct(Quota::per_minute(
            NonZeroU32::new(REFUSALS_PER_MINUTE).unwrap_or(NonZeroU32::MIN),
        )),
        unrecorded: AtomicU64::new(0),
    });
    let mut hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
    hosts.extend(http.allowed_hosts.iter().cloned());
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_allowed_hosts(hosts)
        .with_allowed_origins(http.allowed_origins.iter().cloned())
        .enforce_origin_validation()
        .with_max_request_body_bytes(BODY_BYTES);
    let mcp =
        StreamableHttpService::new(move || Ok(Arc::clone(&service)), Arc::new(NeverSessionManager::default()), config);
    let guarded = Router::new().route_service("/mcp", mcp).layer(from_fn_with_state(Arc::clone(&edge), guard));
    let open = Router::new()
        .route(METADATA, get(metadata))
        .route(&format!("{METADATA}/{{*path}}"), get(metadata))
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(ready))
        .with_state(edge);
    Ok(guarded.merge(open))
}

/// Where the resource is, and its path there: between the two stands the well-known part of its metadata's address (RFC
/// 9728, section 3.1).
fn parts(url: &str) -> (&str, &str) {
    let url = url.trim_end_matches('/');
    let host = url.find("://").map_or(0, |at| at + 3);
    let path = url.get(host..).and_then(|rest| rest.find('/')).map_or(url.len(), |at| host + at);
    url.split_at_checked(path).unwrap_or((url, ""))
}

async fn metadata(State(edge): State<Arc<Edge>>) -> Json<Value> {
    Json(edge.metadata.clone())
}

async fn ready(State(edge): State<Arc<Edge>>) -> (StatusCode, &'static str) {
    match tokio::time::timeout(Duration::from_secs(2), edge.store.answers()).await {
        Ok(Ok(())) => (StatusCode::OK, "ready"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "the store does not answer"),
    }
}

/// Why a bearer is refused.
enum Refused {
    Missing,
    Bad(&'static str),
}

async fn guard(State(edge): State<Arc<Edge>>, mut request: Request, next: Next) -> Response {
    let bearer = match bearer(&edge, request.headers()) {
        Ok(bearer) => bearer,
        Err(refused) => return edge.refuse(refused).await,
    };
    if edge.rate.check().is_err() {
        return busy(StatusCode::TOO_MANY_REQUESTS, "too many requests in this second; ask again in a moment");
    }
    let Ok(_place) = edge.places.try_acquire() else {
        return busy(StatusCode::SERVICE_UNAVAILABLE, "too many requests at a time; ask again in a moment");
    };
    // Checked, and of no use to anything further in.
    request.headers_mut().remove(header::AUTHORIZATION);
    request.extensions_mut().insert(bearer);
    match tokio::time::timeout(edge.time_limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => (StatusCode::GATEWAY_TIMEOUT, "the request took too long; its outcome is not known").into_response(),
    }
}

/// One `Authorization: Bearer TOKEN`, the scheme in any case (RFC 9110).
fn bearer(edge: &Edge, headers: &HeaderMap) -> Result<Bearer, Refused> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Err(Refused::Missing) };
    if values.next().is_some() {
        return Err(Refused::Bad("caller_invalid"));
    }
    let text = value.to_str().map_err(|_| Refused::Bad("caller_invalid"))?;
    let (scheme, token) = text.split_once(' ').ok_or(Refused::Bad("caller_invalid"))?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Refused::Bad("caller_invalid"));
    }
    edge.verifier.bearer(token.trim_matches(' '), edge.clock.now()).map_err(|error| match error {
        TokenError::Expired => Refused::Bad("caller_expired"),
        _ => Refused::Bad("caller_invalid"),
    })
}

fn busy(status: StatusCode, sentence: &'static str) -> Response {
    (status, [(header::RETRY_AFTER, "1")], sentence).into_response()
}

impl Edge {
    async fn refuse(&self, refused: Refused) -> Response {
        let (code, error) = match refused {
            Refused::Missing => ("caller_required", ""),
            Refused::Bad(code) => (code, ", error=\"invalid_token\""),
        };
        metrics::counter!("tool_call_errors_total", "tool" => "none", "code" => code).increment(1);
        if self.refusals.check().is_ok() {
            let unrecorded = self.unrecorded.swap(0, Ordering::Relaxed);
            let entry = Entry {
                actor: ACTOR,
                on_behalf: &audit::nobody(),
                event: "bearer_refused",
                tool: None,
                risk: Risk::Critical,
                proposal: None,
                detail: json!({ "code": code, "unrecorded": unrecorded }),
            };
            if let Err(error) = audit::append(self.store.quick(), entry).await {
                // Refused all the same; only the row is missing.
                tracing::error!(error = &error as &dyn std::error::Error, "a refused bearer is not in the audit");
            }
        } else {
            self.unrecorded.fetch_add(1, Ordering::Relaxed);
        }
        let mut response = (StatusCode::UNAUTHORIZED, "a valid bearer token is required").into_response();
        if let Ok(value) = HeaderValue::try_from(format!("{}{error}", self.challenge)) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
        response
    }
}
