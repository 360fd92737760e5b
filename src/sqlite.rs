//! How a SQLite file is opened here. Both stores use it; it knows neither.

use std::path::Path;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};

/// A lazily opened pool over one file, in WAL mode.
pub(crate) fn pool(path: &Path, synchronous: SqliteSynchronous, read_only: bool, connections: u32) -> SqlitePool {
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
