//! One connection to the server: how it is made, when it is of no more use, how it ends.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{ClientConfig, Implementation, Tool};
use rmcp::service::{NotificationContext, Peer, RoleClient, RunningService};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rmcp::transport::{DynamicTransportError, TokioChildProcess};
use rmcp::{ClientHandler, ServiceExt as _};
use tokio::time::Instant;
use url::Url;

use super::http::Bearing;
use super::{McpError, Opener};
use crate::domain::Clock;
use crate::tokens::CallerSigner;

/// How long the server may take to end after its input was closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Over HTTP a server can be replaced by one of another version unseen, so its tools are listed again this often.
const HTTP_LIFETIME: Duration = Duration::from_secs(60);
/// Requests over HTTP at a time; more wait. Above the turns that run side by side and the presses beside them.
const HTTP_REQUESTS: usize = 64;
/// The largest answer that is read; far above what the tools' own limits let through.
const MAX_ANSWER: usize = 8 << 20;

/// Where the server is.
#[derive(Clone, Debug)]
pub enum Server {
    /// A child process, over standard input and output.
    Child {
        /// The executable.
        command: PathBuf,
        /// Its arguments.
        args: Vec<OsString>,
        /// Its whole environment; nothing is inherited.
        env: Vec<(OsString, OsString)>,
    },
    /// A server of its own, over Streamable HTTP: its address, up to and including `/mcp`.
    Http(Url),
}

/// How connections are made.
pub(super) enum Source {
    Child { command: PathBuf, args: Vec<OsString>, env: Vec<(OsString, OsString)> },
    Http { url: Arc<str>, client: Bearing },
    Pipe(Opener),
}

/// Who we are, and whether the server said that its tools changed.
struct Host(Arc<AtomicBool>);

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let me = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        ClientConfig::new(Default::default(), me)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A connection. The service is kept to be closed.
pub(super) struct Connection {
    pub peer: Peer<RoleClient>,
    pub pid: Option<u32>,
    service: RunningService<RoleClient, Host>,
    /// No new call is to be made on it.
    outdated: Arc<AtomicBool>,
    until: Option<Instant>,
}

impl Source {
    pub fn of(server: Server, signer: &CallerSigner, clock: &Clock) -> Result<Self, McpError> {
        Ok(match server {
            Server::Child { command, args, env } => Self::Child { command, args, env },
            Server::Http(url) => {
                let client = Bearing::new(signer.clone(), clock.clone());
                let client = client.map_err(|e| McpError::Unavailable(e.to_string()))?;
                Self::Http { url: url.as_str().into(), client }
            }
        })
    }

    /// Connects and lists the tools.
    pub async fn open(&self) -> Result<(Connection, Vec<Tool>), McpError> {
        let outdated = Arc::new(AtomicBool::new(false));
        let host = Host(Arc::clone(&outdated));
        let mut until = None;
        let (service, pid) = match self {
            Self::Child { command, args, env } => {
                let mut command = tokio::process::Command::new(command);
                command.args(args).env_clear().envs(env.iter().map(|(k, v)| (k, v)));
                let child = TokioChildProcess::new(command).map_err(|e| McpError::Unavailable(e.to_string()))?;
                let pid = child.id();
                (host.serve(child).await, pid)
            }
            Self::Http { url, client } => {
                until = Some(Instant::now() + HTTP_LIFETIME);
                let config = StreamableHttpClientTransportConfig::with_uri(Arc::clone(url))
                    .max_concurrent_requests(HTTP_REQUESTS)
                    .max_json_response_size(MAX_ANSWER);
                let transport = StreamableHttpClientTransport::with_client(client.clone(), config);
                (host.serve(transport).await, None)
            }
            Self::Pipe(open) => {
                let pipe = open().map_err(|e| McpError::Unavailable(e.to_string()))?;
                (host.serve(pipe).await, None)
            }
        };
        let service = service
            .map_err(|e| if e.auth_challenge().is_some() { refused() } else { McpError::Unavailable(e.to_string()) })?;
        let tools = service.list_all_tools().await.map_err(|e| McpError::Unavailable(e.to_string()))?;
        Ok((Connection { peer: service.peer().clone(), pid, service, outdated, until }, tools))
    }
}

impl Connection {
    pub fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// Whether a new call may be made on it.
    pub fn is_good(&self) -> bool {
        !self.is_closed() && !self.outdated.load(Ordering::Relaxed) && self.until.is_none_or(|t| Instant::now() < t)
    }

    /// What a message that could not be sent, or had no answer, means for its call.
    pub fn send_failed(&self, error: &DynamicTransportError) -> McpError {
        match error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            // It lives and is busy.
            Some(StreamableHttpError::HttpStatus(_)) => {}
            Some(StreamableHttpError::AuthRequired(_)) => return refused(),
            // Whoever answers next may be another one, with other tools.
            _ => self.outdated.store(true, Ordering::Relaxed),
        }
        McpError::Unavailable(error.to_string())
    }
}

fn refused() -> McpError {
    McpError::Protocol(
        "it refuses this bot's tokens: compare its caller_keys with `sales-concierge keys show`, and both clocks"
            .into(),
    )
}

/// Ends it; calls that are still made on it lose their answer.
pub(super) async fn close(connection: Arc<Connection>) {
    match Arc::try_unwrap(connection) {
        Ok(mut connection) => {
            if let Err(error) = connection.service.close_with_timeout(CLOSE_TIMEOUT).await {
                tracing::warn!(%error, "the tool server's connection did not close cleanly");
            }
        }
        Err(shared) => shared.service.cancellation_token().cancel(),
    }
}
