//! The store of record: sales, customers, staff, proposals, clicks, outbox, audit.
//!
//! What it promises: a transaction from [`Records::begin_durable`] is on disk when `commit` returns; one from
//! [`Records::begin`] survives the death of the process but not of the machine. Both take the write lock at once, so a
//! transaction never fails half-way for another writer. It does not know what is in the tables: SQL stands beside the
//! type it serves.

use std::path::Path;

use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteSynchronous};
use sqlx::{Sqlite, Transaction};

use crate::sqlite::pool;

/// A transaction of the store of record.
pub type Tx = Transaction<'static, Sqlite>;

/// The engine. PostgreSQL becomes the second variant.
#[derive(Clone, Debug)]
pub enum Records {
    /// One file in WAL mode.
    Sqlite(SqliteRecords),
}

/// Pools over one SQLite file.
#[derive(Clone, Debug)]
pub struct SqliteRecords {
    durable: SqlitePool,
    quick: SqlitePool,
    read: SqlitePool,
}

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("migrations/sqlite/records");

impl Records {
    /// Opens the file, creating and migrating it.
    ///
    /// # Errors
    /// When the file cannot be opened or a migration fails.
    pub async fn open(path: &Path) -> Result<Self, sqlx::Error> {
        let durable = pool(path, SqliteSynchronous::Full, false, 1);
        MIGRATIONS.run(&durable).await?;
        Ok(Self::Sqlite(SqliteRecords {
            quick: pool(path, SqliteSynchronous::Normal, false, 1),
            read: pool(path, SqliteSynchronous::Normal, true, 4),
            durable,
        }))
    }

    /// A transaction that is synced to disk before `commit` returns: proposals, clicks, decisions, sales.
    ///
    /// # Errors
    /// When the write lock cannot be had in time.
    pub async fn begin_durable(&self) -> Result<Tx, sqlx::Error> {
        match self {
            Self::Sqlite(s) => s.durable.begin_with("BEGIN IMMEDIATE").await,
        }
    }

    /// A transaction that survives the death of the process: outbox, audit of reads.
    ///
    /// # Errors
    /// When the write lock cannot be had in time.
    pub async fn begin(&self) -> Result<Tx, sqlx::Error> {
        match self {
            Self::Sqlite(s) => s.quick.begin_with("BEGIN IMMEDIATE").await,
        }
    }

    /// For reads outside a transaction.
    pub fn read(&self) -> &SqlitePool {
        match self {
            Self::Sqlite(s) => &s.read,
        }
    }

    /// For single statements that need not be synced.
    pub fn quick(&self) -> &SqlitePool {
        match self {
            Self::Sqlite(s) => &s.quick,
        }
    }

    /// For single statements that must be synced before they return.
    pub fn durable(&self) -> &SqlitePool {
        match self {
            Self::Sqlite(s) => &s.durable,
        }
    }

    /// Closes all connections; the write-ahead log is checkpointed.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(s) => {
                s.read.close().await;
                s.quick.close().await;
                s.durable.close().await;
            }
        }
    }
}

/// The database clock in milliseconds, inside a transaction.
///
/// # Errors
/// When the store does not answer.
pub async fn now_ms(tx: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)").fetch_one(tx).await
}
