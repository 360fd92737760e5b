//! `sales-server`: the MCP server as a process of its own.

use crate::sales::{self, ServerError, Settings};

/// Serves until standard input closes.
///
/// # Errors
/// See [`ServerError`].
pub async fn run(settings: Settings) -> Result<(), ServerError> {
    sales::run_stdio(settings).await
}
