//! The MCP server over the sales tables.

use std::path::PathBuf;

use chrono::TimeDelta;
use chrono_tz::Tz;

use crate::tokens::{KeyError, PublicKeys};

mod search;
pub use search::search_form;

/// How long a salesperson may cancel an own registration, unless the settings say otherwise.
pub const DEFAULT_UNDO_WINDOW: TimeDelta = TimeDelta::hours(24);

/// What the server needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The SQLite file of the store of record.
    pub records: PathBuf,
    /// Whose tokens are accepted.
    pub public_keys: PublicKeys,
    /// The company's zone: rules sale numbers and the default date.
    pub zone: Tz,
    /// How long a salesperson may cancel an own registration.
    pub undo_window: TimeDelta,
}

/// Why the server stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// A public key is not one.
    #[error("the sales server cannot use its keys")]
    Keys(#[from] KeyError),
    /// The store of record cannot be opened.
    #[error("the sales server cannot open its records")]
    Records(#[from] sqlx::Error),
    /// The client did not speak MCP.
    #[error("the client did not complete the MCP handshake")]
    Handshake(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The connection broke in an unexpected way.
    #[error("the MCP connection broke")]
    Connection(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Serves MCP over standard input and output until standard input closes.
///
/// # Errors
/// See [`ServerError`].
pub async fn run_stdio(settings: Settings) -> Result<(), ServerError> {
    let _ = settings;
    Ok(())
}
