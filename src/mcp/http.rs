//! The HTTP client under MCP: which bearer goes with which message.
//!
//! Promises: a call's own token goes out as the request's bearer and nowhere else; every other message carries a service
//! token made for it; no message is sent twice, sent to another address than the configured one, or given to a proxy.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};
use futures::stream::BoxStream;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta as _, JsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use serde_json::Value;
use sse_stream::Sse;

use crate::domain::Clock;
use crate::tokens::{CallerSigner, META_CALLER};

/// How long a connection may take; a call has its own deadline.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A client that puts the bearer on each request.
#[derive(Clone)]
pub(super) struct Bearing {
    http: reqwest::Client,
    signer: CallerSigner,
    clock: Clock,
}

type Headers = HashMap<HeaderName, HeaderValue>;
type Failure = StreamableHttpError<reqwest::Error>;

impl Bearing {
    pub fn new(signer: CallerSigner, clock: Clock) -> Result<Self, reqwest::Error> {
        // An error only says that a provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .http1_only()
            .tcp_nodelay(true)
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()?;
        Ok(Self { http, signer, clock })
    }

    fn service(&self) -> String {
        self.signer.sign_service(self.clock.now())
    }

    /// Takes the caller token out of the message.
    fn bearer(&self, message: &mut ClientJsonRpcMessage) -> String {
        let JsonRpcMessage::Request(envelope) = message else { return self.service() };
        let ClientRequest::CallToolRequest(call) = &mut envelope.request else { return self.service() };
        let typed = call.params.meta.as_mut().and_then(|meta| meta.remove(META_CALLER));
        let merged = envelope.request.get_meta_mut().remove(META_CALLER);
        match merged.or(typed) {
            Some(Value::String(token)) => token,
            _ => self.service(),
        }
    }
}

/// The address is in the settings; it need not be in each error.
fn anonymous(failure: Failure) -> Failure {
    match failure {
        StreamableHttpError::Client(error) => StreamableHttpError::Client(error.without_url()),
        other => other,
    }
}

impl StreamableHttpClient for Bearing {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session_id, auth_header, custom_headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        mut message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let bearer = Some(self.bearer(&mut message));
        let http = &self.http;
        http.post_message_with_response_limits(uri, message, session_id, bearer, custom_headers, limits)
            .await
            .map_err(anonymous)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Failure> {
        self.http.delete_session(uri, session_id, Some(self.service()), custom_headers).await.map_err(anonymous)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let bearer = Some(self.service());
        self.http.get_stream(uri, session_id, last_event_id, bearer, custom_headers).await.map_err(anonymous)
    }
}
