//! How a SQLite file is opened here. Both stores use it; it knows neither.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};

/// A lazily opened pool over one file, in WAL mode. A new file, and with it its log, is readable by the owner only.
pub(crate) fn pool(path: &Path, synchronous: SqliteSynchronous, read_only: bool, connections: u32) -> SqlitePool {
    // SQLite gives its log the mode of the file, and the file the process's default mode. Only ever made here, never
    // opened: closing a second handle of a file that is in use would drop SQLite's locks on it. What else may be wrong
    // (no such folder, no rights) SQLite meets again and reports.
    if !read_only && let Err(error) = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        tracing::trace!(%error, "not made anew");
    }
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(!read_only)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous)
        .foreign_keys(true)
        // Two processes write: a writer waits for the other's transaction rather than failing.
        .busy_timeout(Duration::from_secs(5))
        .pragma("query_only", if read_only { "1" } else { "0" })
        .pragma("cache_size", "-512")
        .statement_cache_capacity(128)
        .disable_statement_logging();
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(Duration::from_secs(5))
        // The file is local: a connection does not go stale, so it is neither tested nor aged out.
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(options)
}
