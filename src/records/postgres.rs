//! How PostgreSQL is opened here.

use std::str::FromStr as _;
use std::time::Duration;

use serde::Deserialize;
use sqlx::ConnectOptions as _;
use sqlx::migrate::{Migrate as _, Migrator};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};

use crate::domain::Secret;

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/postgres");

/// The group a connection acts as. Each has exactly the rights of its part of the program; see migrations/postgres.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Owns tables and functions: `migrate`, `staff`, `import`.
    Owner,
    /// The bot: proposals, presses, messages, audit; nothing of the sales.
    Bot,
    /// The sales server's reads.
    Reader,
    /// The sales server's writes: may only call the commit functions.
    Committer,
    /// Reads and seals the audit.
    Auditor,
}

impl Group {
    /// The role of the database.
    pub fn role(self) -> &'static str {
        match self {
            Self::Owner => "sales_concierge_owner",
            Self::Bot => "sales_concierge_bot",
            Self::Reader => "sales_concierge_reader",
            Self::Committer => "sales_concierge_committer",
            Self::Auditor => "sales_concierge_auditor",
        }
    }
}

/// Where the database is, and how it is used.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `postgres://…`
    pub url: Secret,
    /// At most this many connections of each pool.
    pub max_connections: u32,
    /// How long a statement may take.
    pub statement_timeout: Duration,
}

/// Whether `commit` waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synced {
    /// Yes.
    Yes,
    /// No: a crash of the database server may lose the last moments.
    No,
}

impl Synced {
    fn setting(self) -> &'static str {
        match self {
            Self::Yes => "on",
            Self::No => "off",
        }
    }
}

/// The names of the settings are those of PostgreSQL.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Section {
    /// Where the records are; the file of the data folder when absent.
    pub url: Option<Secret>,
    /// The login of `migrate`, `staff` and `import`; `url` when absent.
    pub migrate_url: Option<Secret>,
    /// At most this many connections of each pool of a process.
    pub max_connections: u32,
    /// How long one statement may take, in milliseconds.
    pub statement_timeout_ms: u64,
}

impl Default for Section {
    fn default() -> Self {
        Self { url: None, migrate_url: None, max_connections: 10, statement_timeout_ms: 10_000 }
    }
}

impl Section {
    /// The settings of a login.
    pub fn settings(&self, url: Secret) -> Settings {
        Settings {
            url,
            max_connections: self.max_connections,
            statement_timeout: Duration::from_millis(self.statement_timeout_ms),
        }
    }
}

/// A lazily opened pool whose connections act as `group`.
///
/// # Errors
/// When the address is not one.
pub fn pool(settings: &Settings, group: Group, synced: Synced) -> Result<PgPool, sqlx::Error> {
    let timeout = settings.statement_timeout;
    let options = options(&settings.url)?
        .options([
            ("role", group.role()),
            ("search_path", "public"),
            ("synchronous_commit", synced.setting()),
            ("statement_timeout", &timeout.as_millis().to_string()),
            ("lock_timeout", &(timeout / 2).as_millis().to_string()),
            // A process that was stopped in the middle must not hold its locks for ever.
            ("idle_in_transaction_session_timeout", &(timeout * 2).as_millis().to_string()),
        ])
        .statement_cache_capacity(128);
    Ok(PgPoolOptions::new()
        .max_connections(settings.max_connections)
        .acquire_timeout(Duration::from_secs(5))
        // A connection is tested when it is given back; testing it before each use would double a short statement.
        .test_before_acquire(false)
        .connect_lazy_with(options))
}

fn options(url: &Secret) -> Result<PgConnectOptions, sqlx::Error> {
    Ok(PgConnectOptions::from_str(url.reveal())?.application_name("sales-concierge").disable_statement_logging())
}

/// A connection as the login itself, for what no group may do.
///
/// # Errors
/// When the database cannot be reached.
pub async fn connect(url: &Secret) -> Result<PgConnection, sqlx::Error> {
    options(url)?.connect().await
}

/// Brings the schema up to date. Two that start at once wait for each other; what is up to date is left alone.
///
/// # Errors
/// When the database cannot be reached, the login may not, or the schema is newer than this program.
pub async fn migrate(url: &Secret) -> Result<(), sqlx::Error> {
    let mut connection = connect(url).await?;
    MIGRATIONS.run(&mut connection).await?;
    Ok(())
}

/// What tells this program's migrations from another's.
#[cfg(any(test, feature = "failpoints"))]
pub(super) fn fingerprint() -> String {
    use sha2::Digest as _;
    let all = MIGRATIONS.iter().fold(sha2::Sha256::new(), |hash, m| hash.chain_update(&m.checksum));
    hex::encode(all.finalize()).chars().take(16).collect()
}

/// Whether the schema is the one this program was built for.
///
/// # Errors
/// When the database does not answer.
pub async fn is_current(pool: &PgPool) -> Result<bool, sqlx::Error> {
    let mut connection = pool.acquire().await?;
    let applied = match connection.list_applied_migrations("_sqlx_migrations").await {
        Ok(applied) => applied,
        // No such table: nothing was ever migrated.
        Err(sqlx::migrate::MigrateError::Execute(sqlx::Error::Database(_))) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let known: Vec<i64> = MIGRATIONS.iter().map(|m| m.version).collect();
    Ok(applied.iter().map(|m| m.version).collect::<Vec<_>>() == known)
}
