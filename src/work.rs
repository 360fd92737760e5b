//! The store of work: queue, dedupe, leases, history. Losing it loses no confirmed write.
//!
//! Two engines: a second SQLite file, for one process, or Redis, for any number of them. It never shares a transaction
//! with the store of record, so that both engines have the same crash windows.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteSynchronous;

use crate::domain::Secret;

pub mod redis;
#[cfg(any(test, feature = "failpoints"))]
pub mod testing;

pub use redis::Redis;

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
    /// Redis, which other processes use, too.
    Redis(Redis),
}

/// `[work]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Section {
    /// Where Redis is, comma separated where it is several addresses; the file of the data folder when absent.
    pub url: Option<Secret>,
    /// The addresses are nodes of a Redis Cluster.
    pub cluster: bool,
    /// The addresses are those of Sentinels, which know the master of this name. Empty: they are not.
    pub sentinel_master: String,
    /// The password of the Sentinels themselves, if they have one.
    pub sentinel_password: Option<Secret>,
    /// Begins every key. Several installations may share one Redis under different ones.
    pub prefix: String,
}

impl Default for Section {
    fn default() -> Self {
        Self {
            url: None,
            cluster: false,
            sentinel_master: String::new(),
            sentinel_password: None,
            prefix: "sales-concierge".into(),
        }
    }
}

/// Where the work is kept.
#[derive(Clone, Debug)]
pub enum Source {
    /// A SQLite file; made and migrated when it is opened.
    File(PathBuf),
    /// Redis.
    Redis(redis::Settings),
}

/// The store did not answer, or holds what this program did not write.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A SQLite file; also the records, where one step reads both stores.
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    /// Redis.
    #[error(transparent)]
    Redis(#[from] ::redis::RedisError),
    /// The content. The cause would quote it.
    #[error("the store of work holds what this program did not write")]
    Unreadable,
    /// The schema of a file.
    #[error("the work file cannot be migrated")]
    Migrate(#[from] sqlx::migrate::MigrateError),
}

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("migrations/sqlite/work");

impl Work {
    /// Opens the file, creating and migrating it, or makes sure that Redis answers.
    ///
    /// # Errors
    /// When the store cannot be reached or used.
    pub async fn open(source: &Source) -> Result<Self, Error> {
        match source {
            Source::File(path) => Self::open_file(path).await,
            Source::Redis(settings) => Ok(Self::Redis(Redis::open(settings).await?)),
        }
    }

    /// Opens a file, creating and migrating it.
    ///
    /// # Errors
    /// When the file cannot be opened or a migration fails.
    pub async fn open_file(path: &Path) -> Result<Self, Error> {
        let write = crate::sqlite::pool(path, SqliteSynchronous::Normal, false, 1);
        MIGRATIONS.run(&write).await?;
        Ok(Self::Sqlite { write, read: crate::sqlite::pool(path, SqliteSynchronous::Normal, true, 2) })
    }

    /// Whether other processes work on it, too.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Redis(_))
    }

    /// Closes all connections.
    pub async fn close(&self) {
        match self {
            Self::Sqlite { write, read } => {
                read.close().await;
                write.close().await;
            }
            // Closed with the last clone.
            Self::Redis(_) => {}
        }
    }
}
