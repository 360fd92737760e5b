//! OpenAI-compatible endpoints: the Responses and the Chat Completions API, at any base URL.
//!
//! Promises: one request asks at most [`Settings::retries`] times more, within the request's deadline, and only when the
//! endpoint was unwell; whatever an endpoint answers becomes a [`ModelReply`] or one of four errors; no body of an
//! endpoint reaches a person or the log. Replies are read leniently from raw JSON, since servers that call themselves
//! compatible add fields, invent enum values and leave ids out.

use std::time::Duration;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use backon::{ExponentialBuilder, Retryable};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};

use crate::breaker::Breaker;
use crate::domain::{Secret, ToolCall};

use super::model::{AskedCall, Model, ModelError, ModelReply, ModelRequest, Usage};

mod chat;
mod http;
mod responses;

/// The first pause before a retry; doubles, with jitter.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause, also when the endpoint asks for a longer one: a person is waiting.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Which API the endpoint speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// `POST /responses`.
    #[default]
    Responses,
    /// `POST /chat/completions`.
    Chat,
}

/// One endpoint.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which API.
    pub api: Api,
    /// Base URL, up to and including `/v1`.
    pub base_url: String,
    /// The model's name there.
    pub name: String,
    /// The key, if the endpoint wants one.
    pub api_key: Option<Secret>,
    /// Left to the endpoint when absent.
    pub temperature: Option<f32>,
    /// Left to the endpoint when absent.
    pub max_output_tokens: Option<u32>,
    /// Left to the endpoint when absent.
    pub parallel_tool_calls: Option<bool>,
    /// How often a failed try is repeated.
    pub retries: usize,
    /// What a million tokens cost, read and written, in a currency of the operator's choice; for `model_cost_total`.
    pub price_per_million: (f64, f64),
}

impl Settings {
    /// An endpoint with everything optional left out.
    pub fn new(api: Api, base_url: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            api,
            base_url: base_url.into(),
            name: name.into(),
            api_key: None,
            temperature: None,
            max_output_tokens: None,
            parallel_tool_calls: None,
            retries: 2,
            price_per_million: (0.0, 0.0),
        }
    }
}

/// The endpoint cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The base URL is none.
    #[error("the model's base URL is not a URL")]
    BaseUrl(#[from] url::ParseError),
    /// The key has a character that no header can carry, often a line break at its end.
    #[error("the model's API key cannot be sent in a header")]
    ApiKey,
    /// The HTTP client cannot be built.
    #[error("the model's HTTP client cannot be built")]
    Http(#[from] reqwest::Error),
}

/// A model behind an OpenAI-compatible endpoint.
pub struct OpenAi {
    client: Client<OpenAIConfig>,
    settings: Settings,
    breaker: Breaker,
    /// Host and port of the base URL: what logs and metrics call the endpoint.
    endpoint: String,
}

impl OpenAi {
    /// One connection pool for the endpoint.
    ///
    /// # Errors
    /// See [`SetupError`].
    pub fn new(settings: Settings) -> Result<Self, SetupError> {
        let url = url::Url::parse(&settings.base_url)?;
        let host = url.host_str().unwrap_or("model");
        let endpoint = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let http = http::client(&url)?;
        let key = settings.api_key.as_ref().map_or("", |key| key.reveal());
        // The library panics on a key that is no header value.
        reqwest::header::HeaderValue::from_str(key).map_err(|_| SetupError::ApiKey)?;
        // The library takes what is not set here from the environment, which is the settings' business.
        let config = OpenAIConfig::new()
            .with_api_base(settings.base_url.trim_end_matches('/'))
            .with_api_key(key)
            .with_org_id("")
            .with_project_id("");
        let service_http = http.clone();
        let service = tower::service_fn(move |request: HttpRequestFactory| {
            let http = service_http.clone();
            async move { http::send(&http, request).await }
        });
        let client = Client::build(http, config).with_http_service(service);
        Ok(Self { client, settings, breaker: Breaker::new(endpoint.clone()), endpoint })
    }

    async fn once(&self, request: &ModelRequest) -> Result<ModelReply, Failure> {
        let outcome: Result<Value, OpenAIError> = match self.settings.api {
            Api::Responses => {
                let body = responses::Body::of(&self.settings, request);
                self.client.responses().create_byot(&body).await
            }
            Api::Chat => {
                let body = chat::Body::of(&self.settings, request);
                self.client.chat().create_byot(&body).await
            }
        };
        let reply = outcome.map_err(Failure::of)?;
        if let Some(failure) = Failure::in_body(&reply) {
            return Err(failure);
        }
        let mut read = match self.settings.api {
            Api::Responses => responses::read(&reply),
            Api::Chat => chat::read(&reply),
        }
        .ok_or_else(|| Failure::new(ModelError::Nonsense("the reply has no output".to_owned())))?;
        if read.usage == Usage::default() {
            read.usage = estimated(request, &read);
        }
        Ok(read)
    }

    async fn ask(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        let retries = ExponentialBuilder::new()
            .with_min_delay(FIRST_PAUSE)
            .with_max_delay(MAX_PAUSE)
            .with_max_times(self.settings.retries)
            .with_jitter();
        (|| self.once(request))
            .retry(retries)
            .when(|failure| failure.again)
            .adjust(|failure, pause| pause.map(|p| failure.after.map_or(p, |after| after.min(MAX_PAUSE))))
            .notify(|failure, pause| {
                tracing::warn!(endpoint = %self.endpoint, error = %failure.error, ?pause, "the model is asked again");
            })
            .await
            .map_err(|failure| failure.error)
    }
}

impl Model for OpenAi {
    fn respond(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            if !self.breaker.allows() {
                return Err(ModelError::Unavailable("failed too often just now".to_owned()));
            }
            let started = Instant::now();
            let outcome = timeout_at(request.deadline, self.ask(&request))
                .await
                .unwrap_or_else(|_| Err(ModelError::Unavailable("no answer in time".to_owned())));
            metrics::histogram!("model_seconds", "endpoint" => self.endpoint.clone()).record(started.elapsed());
            match &outcome {
                Ok(reply) => {
                    self.breaker.succeeded();
                    metrics::counter!("model_tokens_total", "kind" => "input").increment(reply.usage.input);
                    metrics::counter!("model_tokens_total", "kind" => "output").increment(reply.usage.output);
                    let (read, written) = self.settings.price_per_million;
                    let cost = read * reply.usage.input as f64 + written * reply.usage.output as f64;
                    // A gauge, since a counter of the metrics crate takes whole numbers only; it never falls.
                    metrics::gauge!("model_cost_total").increment(cost / 1e6);
                }
                Err(ModelError::Unavailable(_) | ModelError::RateLimited) => self.breaker.failed(),
                // The endpoint lives; this request or this answer was bad.
                Err(ModelError::Refused(_) | ModelError::Nonsense(_)) => self.breaker.succeeded(),
            }
            outcome
        })
    }

    fn name(&self) -> &str {
        &self.endpoint
    }

    fn model(&self) -> &str {
        &self.settings.name
    }
}

/// One failed try.
struct Failure {
    error: ModelError,
    again: bool,
    after: Option<Duration>,
}

impl Failure {
    fn new(error: ModelError) -> Self {
        let again = matches!(error, ModelError::Unavailable(_) | ModelError::RateLimited);
        Self { error, again, after: None }
    }

    fn of(error: OpenAIError) -> Self {
        match error {
            OpenAIError::Boxed(error) => match error.downcast::<http::Rejected>() {
                Ok(rejected) => Self::rejected(&rejected),
                Err(other) => Self::new(ModelError::Unavailable(other.to_string())),
            },
            // `without_url`: a base URL may carry a key in its query.
            OpenAIError::Reqwest(error) => Self::new(ModelError::Unavailable(error.without_url().to_string())),
            OpenAIError::JSONDeserialize(error, _) => Self::new(ModelError::Nonsense(error.to_string())),
            other => Self::new(ModelError::Nonsense(other.to_string())),
        }
    }

    fn rejected(rejected: &http::Rejected) -> Self {
        let error = match rejected.status {
            // Not JSON although the status was fine.
            200..=299 => ModelError::Nonsense(rejected.reason.to_owned()),
            429 => ModelError::RateLimited,
            408 | 409 | 425 | 500..=599 => ModelError::Unavailable(format!("status {}", rejected.status)),
            status => ModelError::Refused(status),
        };
        // Waiting does not pay a bill.
        let again = rejected.code.as_deref() != Some("insufficient_quota");
        let failure = Self::new(error);
        Self { again: failure.again && again, after: rejected.after, ..failure }
    }

    /// Some gateways answer 200 with an `error` object, its code a number or a word.
    fn in_body(reply: &Value) -> Option<Self> {
        let error = reply.get("error").filter(|e| !e.is_null())?;
        let code = error.get("code").and_then(|c| c.as_u64().or_else(|| c.as_str()?.parse().ok()));
        let status = code.and_then(|c| u16::try_from(c).ok()).filter(|c| *c >= 400);
        Some(match status {
            Some(status) => Self::rejected(&http::Rejected { status, code: None, after: None, reason: "" }),
            None => Self::new(ModelError::Nonsense("an error object in place of an answer".to_owned())),
        })
    }
}

/// Reads a call's arguments: a JSON object, or a string that holds one.
fn asked(id: Option<&Value>, name: Option<&Value>, arguments: Option<&Value>) -> AskedCall {
    let text = |v: Option<&Value>| v.and_then(Value::as_str).unwrap_or_default().to_owned();
    let (arguments, broken) = match arguments {
        None | Some(Value::Null) => (Map::new(), false),
        Some(Value::Object(map)) => (map.clone(), false),
        // Several servers send the empty string for a call without arguments.
        Some(Value::String(s)) if s.trim().is_empty() => (Map::new(), false),
        Some(Value::String(s)) => match serde_json::from_str(s) {
            Ok(Value::Object(map)) => (map, false),
            _ => (Map::new(), true),
        },
        Some(_) => (Map::new(), true),
    };
    AskedCall { call: ToolCall { id: text(id), name: text(name), arguments }, broken }
}

/// Text as a string, or as parts that have `text` (or, when the model declines, `refusal`).
fn text_of(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| {
                part.as_str().or_else(|| part.get("text")?.as_str()).or_else(|| part.get("refusal")?.as_str())
            })
            .collect(),
        _ => String::new(),
    }
}

fn usage_of(reply: &Value, input: &str, output: &str) -> Usage {
    let count = |key| reply.get("usage").and_then(|u| u.get(key)).and_then(Value::as_u64).unwrap_or(0);
    Usage { input: count(input), output: count(output) }
}

/// For endpoints that do not count: a third of the characters, of tools too.
fn estimated(request: &ModelRequest, reply: &ModelReply) -> Usage {
    let calls: usize = reply.calls.iter().map(|c| arguments_text(&c.call).len()).sum();
    Usage { input: request.estimated_tokens(), output: ((reply.text.chars().count() + calls) / 3) as u64 }
}

fn arguments_text(call: &ToolCall) -> String {
    serde_json::to_string(&call.arguments).unwrap_or_else(|_| "{}".to_owned())
}

#[cfg(test)]
mod tests;
