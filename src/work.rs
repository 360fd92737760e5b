//! The store of work: queue, dedupe, leases, history. Losing it loses no confirmed write.
//!
//! It is a second SQLite file and never shares a transaction with the store of record, so that both engines have the
//! same crash windows. Redis becomes the second variant.

use std::path::Path;

use sqlx::SqlitePool;
use sqlx::sqlite::SqliteSynchronous;

/// The engine.
#[derive(Clone, Debug)]
pub enum Work {
    /// One file in WAL mode: a writer and readers.
    Sqlite {
        /// The one connection that writes.
        write: SqlitePool,
        /// For reads outside a transaction.
        read: SqlitePool,
    },
}

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("migrations/sqlite/work");

impl Work {
    /// Opens the file, creating and migrating it.
    ///
    /// # Errors
    /// When the file cannot be opened or a migration fails.
    pub async fn open(path: &Path) -> Result<Self, sqlx::Error> {
        let write = crate::sqlite::pool(path, SqliteSynchronous::Normal, false, 1);
        MIGRATIONS.run(&write).await?;
        Ok(Self::Sqlite { write, read: crate::sqlite::pool(path, SqliteSynchronous::Normal, true, 2) })
    }

    /// Closes all connections.
    pub async fn close(&self) {
        match self {
            Self::Sqlite { write, read } => {
                read.close().await;
                write.close().await;
            }
        }
    }
}
