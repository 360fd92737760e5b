//! The MCP server over the sales tables: the only way from the bot to sales data.
//!
//! It trusts nothing about a person but a verified caller token, and reads role and departments from the staff table
//! on each call. It writes nothing without an approval token whose proposal a person confirmed. It does not know Slack,
//! models or conversations.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use chrono_tz::Tz;
use rmcp::ServiceExt as _;
use rmcp::model::Tool;
use rmcp::service::{QuitReason, RunningService, ServerInitializeError};
use rmcp::transport::IntoTransport;
use rmcp::{RoleServer, transport::io::stdio_pipes};

use crate::domain::{Clock, Person};
use crate::records::{OpenError, Source};
use crate::tokens::{KeyError, PublicKeys, Verifier};

mod answer;
mod arguments;
mod catalogue;
mod guide;
mod http;
mod postgres;
mod search;
mod server;
mod sqlite;
mod store;
#[cfg(test)]
mod tests;

pub use http::{Http, run_http};
pub use search::search_form;
use server::Identity;
use store::{Rules, Store};

/// How the audit names this program.
const ACTOR: &str = "sales-server";

/// Calls that are still running when standard input closes get this long to commit or to fail.
const DRAIN: Duration = Duration::from_secs(5);

/// Whose calls are carried out.
#[derive(Clone, Debug)]
pub enum Callers {
    /// Whoever a token signed with one of these keys names.
    Tokens(PublicKeys),
    /// One person, for a client on their own machine; reads only.
    One(Person),
}

/// What the server needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The store of record.
    pub records: Source,
    /// Whose calls are carried out.
    pub callers: Callers,
    /// The company's zone: rules sale numbers and the default date.
    pub zone: Tz,
    /// How long a salesperson may cancel an own registration.
    pub undo_window: TimeDelta,
}

impl Settings {
    fn rules(&self) -> Rules {
        Rules { zone: self.zone, undo_window: self.undo_window }
    }
}

/// Why the server could not start or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// A public key is not one.
    #[error("the sales server cannot use its keys")]
    Keys(#[from] KeyError),
    /// The store of record cannot be opened.
    #[error("the sales server cannot open its records")]
    Records(#[from] OpenError),
    /// A tool's schema does not compile.
    #[error("a tool's schema is not a JSON Schema")]
    Schema(#[from] jsonschema::ValidationError<'static>),
    /// The client did not speak MCP.
    #[error("the client did not complete the MCP handshake")]
    Handshake(#[from] Box<ServerInitializeError>),
    /// The address cannot be used.
    #[error("{0} cannot be listened on; is another process using it?")]
    Listen(SocketAddr, #[source] std::io::Error),
    /// The task that serves the connection was lost.
    #[error("the MCP connection was lost")]
    Connection(#[from] tokio::task::JoinError),
}

impl ServerError {
    /// The host went away before it said anything.
    fn is_gone_host(&self) -> bool {
        matches!(self, Self::Handshake(e) if matches!(**e, ServerInitializeError::ConnectionClosed(_)))
    }
}

/// Serves MCP over standard input and output until standard input closes.
///
/// # Errors
/// See [`ServerError`].
pub async fn run_stdio(settings: Settings) -> Result<(), ServerError> {
    let writes = matches!(settings.callers, Callers::Tokens(_));
    let store = Arc::new(Store::open(&settings.records, settings.rules(), writes).await?);
    let running = match serve(Arc::clone(&store), &settings, Clock::system(), stdio_pipes()).await {
        // Nothing was asked, nothing is wrong.
        Err(e) if e.is_gone_host() => return Ok(()),
        started => started?,
    };
    let reason = running.waiting().await?;
    let closed = tokio::time::timeout(DRAIN, store.close()).await;
    if closed.is_err() {
        tracing::warn!("a call was still running when the server stopped");
    }
    match reason {
        QuitReason::JoinError(e) => Err(e.into()),
        _ => Ok(()),
    }
}

/// Serves one connection over any transport. The returned handle ends it when dropped.
async fn serve<T, E, A>(
    store: Arc<Store>,
    settings: &Settings,
    clock: Clock,
    transport: T,
) -> Result<RunningService<RoleServer, server::Server>, ServerError>
where
    T: IntoTransport<RoleServer, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let identity = match &settings.callers {
        Callers::Tokens(keys) => Identity::Meta(Verifier::new(keys)?),
        Callers::One(person) => Identity::Fixed(person.clone()),
    };
    let server = server(store, clock, identity)?;
    server.serve(transport).await.map_err(|e| ServerError::Handshake(Box::new(e)))
}

fn server(store: Arc<Store>, clock: Clock, identity: Identity) -> Result<server::Server, ServerError> {
    Ok(server::Server { store, identity, clock, catalogue: catalogue::Catalogue::new()? })
}

/// The tools as this build lists them: what a host pins.
///
/// # Errors
/// When a schema does not compile.
pub fn tools() -> Result<Vec<Tool>, ServerError> {
    Ok(catalogue::Catalogue::new()?.tools())
}
