//! The store of record: sales, customers, staff, proposals, clicks, outbox, audit.
//!
//! Two engines: one SQLite file, or PostgreSQL. What both promise: a transaction from [`Records::begin_durable`] is on
//! disk when `commit` returns; one from [`Records::begin`] survives the death of the process but not of the machine.
//! SQLite takes the write lock at once, so a transaction there sees nobody else's changes; on PostgreSQL a transaction
//! whose checks must still be true when it commits asks for a [`lock`] first. The store does not know what is in the
//! tables: SQL stands beside the type it serves.

use std::path::{Path, PathBuf};

use sqlx::postgres::PgPool;
use sqlx::sqlite::{SqlitePool, SqliteSynchronous};
use sqlx::{Sqlite, Transaction};

use crate::sqlite::pool;

mod patience;
pub mod postgres;
mod query;
pub mod snapshot;
#[cfg(any(test, feature = "failpoints"))]
pub mod testing;

pub use patience::{PgTx, within};
pub use query::{Db, Parameter, Query, Row, query};

/// A transaction of the store of record; dropped without [`Tx::commit`], it changes nothing.
#[derive(Debug)]
pub enum Tx {
    /// Of SQLite, with the write lock.
    Sqlite(Transaction<'static, Sqlite>),
    /// Of PostgreSQL, READ COMMITTED.
    Postgres(PgTx),
}

impl Tx {
    /// Makes the changes real.
    ///
    /// # Errors
    /// When the store does not answer; whether the changes are real is then unknown.
    pub async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(tx) => tx.commit().await,
            Self::Postgres(tx) => tx.commit().await,
        }
    }
}

/// Where the records are.
#[derive(Clone, Debug)]
pub enum Source {
    /// A SQLite file; made and migrated when it is opened.
    File(PathBuf),
    /// A PostgreSQL database; migrated by the command for it.
    Postgres(postgres::Settings),
}

/// The engine.
#[derive(Clone, Debug)]
pub enum Records {
    /// One file in WAL mode.
    Sqlite(SqliteRecords),
    /// A database that other processes use, too.
    Postgres(PostgresRecords),
}

/// Pools over one SQLite file.
#[derive(Clone, Debug)]
pub struct SqliteRecords {
    durable: SqlitePool,
    quick: SqlitePool,
    read: SqlitePool,
}

impl SqliteRecords {
    /// Cannot write.
    pub fn read(&self) -> &SqlitePool {
        &self.read
    }

    /// Commits are left to the system to write.
    pub fn quick(&self) -> &SqlitePool {
        &self.quick
    }

    /// Each commit is synced.
    pub fn durable(&self) -> &SqlitePool {
        &self.durable
    }

    /// A synced transaction with the write lock.
    ///
    /// # Errors
    /// When the write lock cannot be had in time.
    pub async fn begin_durable(&self) -> Result<Transaction<'static, Sqlite>, sqlx::Error> {
        self.durable.begin_with("BEGIN IMMEDIATE").await
    }

    /// Closes all connections; the write-ahead log is checkpointed.
    pub async fn close(&self) {
        self.read.close().await;
        self.quick.close().await;
        self.durable.close().await;
    }
}

/// Pools over one PostgreSQL database.
#[derive(Clone, Debug)]
pub struct PostgresRecords {
    /// Each commit is synced.
    pub durable: PgPool,
    /// `synchronous_commit=off`; reads go here, too.
    pub quick: PgPool,
}

/// Why the records cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be opened, or the database cannot be reached or used.
    #[error("the records cannot be opened")]
    Store(#[from] sqlx::Error),
    /// The file's schema cannot be brought up to date.
    #[error("the records cannot be migrated")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// The database's schema is not this program's.
    #[error("the database's tables are not those of this version; run `sales-concierge migrate`")]
    Schema,
}

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("migrations/sqlite/records");

impl Records {
    /// Opens the store. A file is created and migrated; a database must have been migrated before.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open(source: &Source, group: postgres::Group) -> Result<Self, OpenError> {
        match source {
            Source::File(path) => Self::open_file(path).await,
            Source::Postgres(settings) => Self::open_postgres(settings, group).await,
        }
    }

    /// Opens a file, creating and migrating it.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open_file(path: &Path) -> Result<Self, OpenError> {
        let durable = pool(path, SqliteSynchronous::Full, false, 1);
        MIGRATIONS.run(&durable).await?;
        Ok(Self::Sqlite(SqliteRecords {
            quick: pool(path, SqliteSynchronous::Normal, false, 1),
            read: pool(path, SqliteSynchronous::Normal, true, 4),
            durable,
        }))
    }

    async fn open_postgres(settings: &postgres::Settings, group: postgres::Group) -> Result<Self, OpenError> {
        let durable = postgres::pool(settings, group, postgres::Synced::Yes)?;
        if !postgres::is_current(&durable).await? {
            return Err(OpenError::Schema);
        }
        Ok(Self::Postgres(PostgresRecords { quick: postgres::pool(settings, group, postgres::Synced::No)?, durable }))
    }

    /// The pools of the file, where the records are in one.
    pub fn sqlite(&self) -> Option<&SqliteRecords> {
        match self {
            Self::Sqlite(records) => Some(records),
            Self::Postgres(_) => None,
        }
    }

    /// Whether other processes may be at work on the same rows.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// How many transactions of one kind may be at work side by side, so that they leave connections to the others.
    pub fn writers(&self) -> usize {
        match self {
            Self::Sqlite(_) => 1,
            Self::Postgres(p) => usize::try_from(p.durable.options().get_max_connections() / 2).unwrap_or(1).max(1),
        }
    }

    /// A transaction that is synced to disk before `commit` returns: proposals, clicks, decisions, sales.
    ///
    /// # Errors
    /// When no connection, or the write lock, can be had in time.
    pub async fn begin_durable(&self) -> Result<Tx, sqlx::Error> {
        match self {
            Self::Sqlite(s) => s.begin_durable().await.map(Tx::Sqlite),
            Self::Postgres(p) => PgTx::begin(&p.durable).await.map(Tx::Postgres),
        }
    }

    /// A transaction that survives the death of the process: outbox, audit of reads.
    ///
    /// # Errors
    /// When no connection, or the write lock, can be had in time.
    pub async fn begin(&self) -> Result<Tx, sqlx::Error> {
        match self {
            Self::Sqlite(s) => s.quick.begin_with("BEGIN IMMEDIATE").await.map(Tx::Sqlite),
            Self::Postgres(p) => PgTx::begin(&p.quick).await.map(Tx::Postgres),
        }
    }

    /// For reads outside a transaction.
    pub fn read(&self) -> Db<'_> {
        match self {
            Self::Sqlite(s) => (&s.read).into(),
            Self::Postgres(p) => (&p.quick).into(),
        }
    }

    /// For single statements that need not be synced.
    pub fn quick(&self) -> Db<'_> {
        match self {
            Self::Sqlite(s) => (&s.quick).into(),
            Self::Postgres(p) => (&p.quick).into(),
        }
    }

    /// For single statements that must be synced before they return.
    pub fn durable(&self) -> Db<'_> {
        match self {
            Self::Sqlite(s) => (&s.durable).into(),
            Self::Postgres(p) => (&p.durable).into(),
        }
    }

    /// Closes all connections; of a file, the write-ahead log is checkpointed.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(s) => s.close().await,
            Self::Postgres(p) => {
                p.quick.close().await;
                p.durable.close().await;
            }
        }
    }
}

/// The database clock in milliseconds, inside a transaction.
///
/// # Errors
/// When the store does not answer.
pub async fn now_ms(db: impl Into<Db<'_>>) -> Result<i64, sqlx::Error> {
    query("SELECT now_ms()").scalar(db).await
}

/// Makes other transactions that ask for a lock of this name wait until this one has ended. To be asked for before the
/// transaction changes anything, and only once, or two could wait for each other; docs/architecture.md has the order in
/// which rows are locked.
///
/// # Errors
/// When it cannot be had in time.
pub async fn lock(tx: &mut Tx, name: &str) -> Result<(), sqlx::Error> {
    match tx {
        // The transaction has the only write lock there is.
        Tx::Sqlite(_) => Ok(()),
        Tx::Postgres(tx) => {
            let statement = sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))").bind(name.to_owned());
            tx.within(|db| Box::pin(statement.execute(db))).await.map(drop)
        }
    }
}

/// The same without waiting: `false` when another transaction has the lock.
///
/// # Errors
/// When the store does not answer.
pub async fn try_lock(tx: &mut Tx, name: &str) -> Result<bool, sqlx::Error> {
    match tx {
        Tx::Sqlite(_) => Ok(true),
        Tx::Postgres(_) => {
            query("SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))").bind(name).scalar(tx).await
        }
    }
}
