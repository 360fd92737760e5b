//! The MCP host: one connection to the sales server, kept alive, called on behalf of a person.
//!
//! Promises: only an [`AllowedCall`] is carried out; each call carries a token signed for exactly the arguments sent; a
//! read that finds no server or no store is tried a few times more, a write is sent at most once; every call ends within
//! its timeout; an answer that does not fit the tool's output schema is refused and never shown to a model; a tool whose
//! definition is not the pinned one is neither offered nor called. Calls run side by side on the one connection, and a
//! dead server is started, or connected to, again by the next call.
//!
//! Not promised: that a write which ended in an error was not carried out. For a write every [`McpError`] means that the
//! outcome is unknown.

use std::io;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use governor::Jitter;
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResult, ErrorCode, JsonObject, RequestMetaObject};
use rmcp::service::ServiceError;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout};

use crate::breaker::Breaker;
use crate::domain::{Clock, Person};
use crate::policy::{AllowedCall, Kind};
use crate::tokens::{CallerSigner, META_APPROVAL, META_CALLER};

mod catalogue;
mod connection;
#[cfg(test)]
pub(crate) mod fake;
mod http;
#[cfg(test)]
mod tests;

use catalogue::Catalogue;
pub use catalogue::{Pins, ToolSpec};
pub use connection::Server;
use connection::{Connection, Source};

/// How long a new server may take until it has listed its tools.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The first pause after a failed start; doubles up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause between two starts, short enough that a person's next message finds a server that came back.
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// How often a read is tried again. With the pauses below that is about as long as a server takes to start again.
const TRIES: usize = 4;
/// The longest pause before the first of them; doubles with each.
const FIRST_RETRY: Duration = Duration::from_millis(200);

/// Where the server is and how long to wait for it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How it is reached.
    pub server: Server,
    /// The tools as they must be; without, whatever the server lists is offered.
    pub pins: Option<Pins>,
    /// How long one call may take.
    pub call_timeout: Duration,
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// The tool reported a failure.
    pub is_error: bool,
    /// `{"status":"success"|"error","data":{…}}`.
    pub structured: Value,
}

impl ToolOutput {
    /// `data`, or null.
    pub fn data(&self) -> &Value {
        self.structured.get("data").unwrap_or(&Value::Null)
    }

    /// The error code, when it is an error that has one.
    pub fn code(&self) -> Option<&str> {
        self.data().get("code").and_then(Value::as_str)
    }

    /// The departments whose rows it shows.
    pub fn departments(&self) -> Vec<String> {
        let list = self.data().get("departments").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|d| d.as_str().map(str::to_owned)).collect()
    }
}

/// Why a call gave no answer. For a write every one of them means: outcome unknown.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The server cannot be started, its connection was lost, or it failed too often just now.
    #[error("the tool server cannot be reached: {0}")]
    Unavailable(String),
    /// It did not answer in time.
    #[error("the tool server did not answer in time")]
    Timeout,
    /// It answered something that is not a result of this tool.
    #[error("the tool server broke the protocol: {0}")]
    Protocol(String),
}

impl McpError {
    /// A name for it that stays the same.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "unavailable",
            Self::Timeout => "timeout",
            Self::Protocol(_) => "protocol",
        }
    }
}

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;
type Opener = Box<dyn Fn() -> io::Result<(Reader, Writer)> + Send + Sync>;

struct Restart {
    pause: Duration,
    not_before: Instant,
}

/// The connection to the sales server.
pub struct Mcp {
    source: Source,
    pins: Option<Pins>,
    call_timeout: Duration,
    signer: CallerSigner,
    clock: Clock,
    /// A call holds the connection it is made on, so that one that is replaced ends after its last call.
    current: Mutex<Option<Arc<Connection>>>,
    catalogue: RwLock<Arc<Catalogue>>,
    /// Held while a server is being started, and only then: calls on a live connection never wait for it.
    restart: tokio::sync::Mutex<Restart>,
    breaker: Breaker,
}

impl Mcp {
    /// Starts the server if it is a child, connects and lists its tools.
    ///
    /// # Errors
    /// When it cannot be reached or does not speak MCP.
    pub async fn connect(settings: Settings, signer: CallerSigner, clock: Clock) -> Result<Self, McpError> {
        let source = Source::of(settings.server, &signer, &clock)?;
        Self::over(source, settings.pins, settings.call_timeout, signer, clock).await
    }

    /// Connects over any pair of streams; `open` is called again when the connection is lost.
    ///
    /// # Errors
    /// When the other end does not speak MCP.
    pub async fn connect_pipe<R, W>(
        open: impl Fn() -> io::Result<(R, W)> + Send + Sync + 'static,
        pins: Option<Pins>,
        call_timeout: Duration,
        signer: CallerSigner,
        clock: Clock,
    ) -> Result<Self, McpError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let open: Opener = Box::new(move || open().map(|(r, w)| (Box::new(r) as Reader, Box::new(w) as Writer)));
        Self::over(Source::Pipe(open), pins, call_timeout, signer, clock).await
    }

    async fn over(
        source: Source,
        pins: Option<Pins>,
        call_timeout: Duration,
        signer: CallerSigner,
        clock: Clock,
    ) -> Result<Self, McpError> {
        let mcp = Self {
            source,
            pins,
            call_timeout,
            signer,
            clock,
            current: Mutex::new(None),
            catalogue: RwLock::default(),
            restart: tokio::sync::Mutex::new(Restart { pause: FIRST_PAUSE, not_before: Instant::now() }),
            breaker: Breaker::new("sales-server"),
        };
        mcp.connection().await?;
        Ok(mcp)
    }

    /// The tools as listed when the connection was last made.
    pub fn tools(&self) -> Arc<Vec<ToolSpec>> {
        Arc::clone(&self.catalogue().tools)
    }

    /// Carries out one call for a person.
    ///
    /// # Errors
    /// When there is no answer; see [`McpError`].
    pub async fn call(
        &self,
        call: AllowedCall,
        who: &Person,
        approval: Option<String>,
    ) -> Result<ToolOutput, McpError> {
        if !self.breaker.allows() {
            return Err(McpError::Unavailable("failed too often just now".to_owned()));
        }
        let started = Instant::now();
        let outcome = match timeout(self.call_timeout, self.attempts(&call, who, approval.as_deref())).await {
            Ok(outcome) => outcome,
            Err(_) => Err(McpError::Timeout),
        };
        let tool = call.tool().to_owned();
        metrics::histogram!("tool_call_seconds", "tool" => tool.clone()).record(started.elapsed());
        match &outcome {
            Ok(output) => {
                self.breaker.succeeded();
                if output.is_error {
                    let code = output.code().unwrap_or("other").to_owned();
                    metrics::counter!("tool_call_errors_total", "tool" => tool, "code" => code).increment(1);
                }
            }
            Err(error) => {
                // A broken answer shows that the server lives, and a hostile argument must not shut it for everybody.
                if !matches!(error, McpError::Protocol(_)) {
                    self.breaker.failed();
                }
                metrics::counter!("tool_call_errors_total", "tool" => tool, "code" => error.code()).increment(1);
            }
        }
        outcome
    }

    /// The server's process, while it runs as a child.
    pub fn server_pid(&self) -> Option<u32> {
        let current = lock(&self.current);
        current.as_ref().filter(|c| !c.is_closed()).and_then(|c| c.pid)
    }

    /// Closes the connection; the server ends when its input ends. A later call would start it again.
    pub async fn close(&self) {
        let current = lock(&self.current).take();
        if let Some(connection) = current {
            connection::close(connection).await;
        }
    }

    /// Pauses are anything from none to the longest, so that the calls that failed together do not come back together.
    async fn attempts(&self, call: &AllowedCall, who: &Person, approval: Option<&str>) -> Result<ToolOutput, McpError> {
        let pauses = ExponentialBuilder::new().with_min_delay(FIRST_RETRY).with_factor(2.0).with_max_times(TRIES);
        let mut pauses = pauses.build();
        loop {
            match self.attempt(call, who, approval).await {
                Err(McpError::Unavailable(reason)) if call.kind() == Kind::Read => {
                    let Some(longest) = pauses.next() else { return Err(McpError::Unavailable(reason)) };
                    tracing::warn!(tool = call.tool(), %reason, "a read is tried again");
                    tokio::time::sleep(Jitter::up_to(longest) + Duration::ZERO).await;
                }
                outcome => return outcome,
            }
        }
    }

    async fn attempt(&self, call: &AllowedCall, who: &Person, approval: Option<&str>) -> Result<ToolOutput, McpError> {
        let connection = self.connection().await?;
        if self.catalogue().differing.contains(call.tool()) {
            return Err(McpError::Protocol("the server's definition of the tool is not this program's".to_owned()));
        }
        let token = self.signer.sign(who, call.tool(), call.arguments(), self.clock.now());
        let mut meta = JsonObject::new();
        meta.insert(META_CALLER.to_owned(), token.into());
        if let Some(approval) = approval {
            meta.insert(META_APPROVAL.to_owned(), approval.into());
        }
        let mut params = CallToolRequestParams::new(call.tool().to_owned()).with_arguments(call.arguments().clone());
        params.meta = Some(RequestMetaObject::from(meta));
        match connection.peer.call_tool(params).await {
            Ok(result) => self.read(call, result),
            // Of a write nobody knows what it did: a gateway before the server may answer so after it was carried out.
            Err(ServiceError::McpError(error))
                if error.code == ErrorCode::INVALID_PARAMS && call.kind() == Kind::Read =>
            {
                Ok(invalid_arguments(&error.message))
            }
            Err(ServiceError::McpError(error)) if is_unavailable(&error) => {
                Err(McpError::Unavailable(error.message.into_owned()))
            }
            Err(error @ (ServiceError::TransportClosed | ServiceError::Cancelled { .. })) => {
                Err(McpError::Unavailable(error.to_string()))
            }
            Err(ServiceError::TransportSend(error)) => Err(connection.send_failed(&error)),
            Err(other) => Err(McpError::Protocol(other.to_string())),
        }
    }

    /// Structured content only: the text beside it is for clients that cannot read it, and could say anything.
    fn read(&self, call: &AllowedCall, result: CallToolResult) -> Result<ToolOutput, McpError> {
        let is_error = result.is_error.unwrap_or(false);
        let Some(structured) = result.structured_content else {
            // Arguments that do not fit the input schema are refused before the tool runs, in words only.
            if is_error && call.kind() == Kind::Read {
                let text = result.content.first().and_then(|c| c.as_text()).map_or("refused", |t| t.text.as_str());
                return Ok(invalid_arguments(text));
            }
            return Err(McpError::Protocol("no structured content".to_owned()));
        };
        let status = structured.get("status").and_then(Value::as_str);
        let has_data = structured.get("data").is_some_and(Value::is_object);
        let expected = if is_error { "error" } else { "success" };
        if status != Some(expected) || !has_data {
            return Err(McpError::Protocol("the result has no status and data".to_owned()));
        }
        let catalogue = self.catalogue();
        if !is_error && catalogue.outputs.get(call.tool()).is_some_and(|schema| !schema.is_valid(&structured)) {
            return Err(McpError::Protocol("the result does not fit the tool's output schema".to_owned()));
        }
        Ok(ToolOutput { is_error, structured })
    }

    /// The live connection, made anew when there is none.
    async fn connection(&self) -> Result<Arc<Connection>, McpError> {
        if let Some(connection) = self.live() {
            return Ok(connection);
        }
        let mut restart = self.restart.lock().await;
        if let Some(connection) = self.live() {
            return Ok(connection);
        }
        tokio::time::sleep_until(restart.not_before).await;
        // Counts as failed until it has worked: a server that dies at once is not started in a tight loop.
        restart.not_before = Instant::now() + restart.pause;
        restart.pause = (restart.pause * 2).min(MAX_PAUSE);
        let opened = timeout(CONNECT_TIMEOUT, self.source.open()).await.unwrap_or(Err(McpError::Timeout));
        let (connection, tools) = opened.inspect_err(|error| {
            tracing::error!(%error, "the tool server cannot be reached");
        })?;
        restart.pause = FIRST_PAUSE;
        let connection = Arc::new(connection);
        let catalogue = Catalogue::of(tools, self.pins.as_ref());
        *self.catalogue.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(catalogue);
        *lock(&self.current) = Some(Arc::clone(&connection));
        Ok(connection)
    }

    fn live(&self) -> Option<Arc<Connection>> {
        lock(&self.current).as_ref().filter(|c| c.is_good()).cloned()
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The server works, its store does not answer.
fn is_unavailable(error: &ErrorData) -> bool {
    error.data.as_ref().and_then(|data| data.get("code")).is_some_and(|code| code == "unavailable")
}

fn invalid_arguments(sentence: &str) -> ToolOutput {
    let data = json!({ "error": sentence, "code": "invalid_arguments", "departments": [] });
    ToolOutput { is_error: true, structured: json!({ "status": "error", "data": data }) }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
