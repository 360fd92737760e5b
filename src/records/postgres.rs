//! How PostgreSQL is opened here.

use std::str::FromStr as _;
use std::time::Duration;

use serde::Deserialize;
use sqlx::migrate::{Migrate as _, MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _};

use crate::domain::Secret;

/// How long after its last use a connection is taken to live.
const FRESH: Duration = Duration::from_secs(1);

/// SQLSTATE of a table that is not there: nothing was ever migrated.
const UNDEFINED_TABLE: &str = "42P01";

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
        .acquire_timeout(timeout / 2)
        // Testing a connection before each use would double a short statement; one that was just used is taken to live.
        .test_before_acquire(false)
        .before_acquire(move |connection, about| {
            Box::pin(async move {
                if about.idle_for > FRESH {
                    // Bounded, so that whoever waits gets past a few that went dead.
                    tokio::time::timeout(timeout / 8, connection.ping()).await.map_err(std::io::Error::from)??;
                }
                Ok(true)
            })
        })
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
        Err(MigrateError::Execute(sqlx::Error::Database(error)))
            if error.code().as_deref() == Some(UNDEFINED_TABLE) =>
        {
            return Ok(false);
        }
        Err(error) => return Err(error.into()),
    };
    let known: Vec<i64> = MIGRATIONS.iter().map(|m| m.version).collect();
    Ok(applied.iter().map(|m| m.version).collect::<Vec<_>>() == known)
}

#[cfg(test)]
mod tests {
    use std::str::FromStr as _;

    use super::super::testing::Database;
    use super::*;

    async fn current(url: &Secret) -> bool {
        is_current(&PgPool::connect(url.reveal()).await.unwrap()).await.unwrap()
    }

    #[tokio::test]
    async fn two_migrations_at_once_and_one_more_later_are_one() {
        let database = Database::unmigrated().await;
        let url = database.settings().url;
        assert!(!current(&url).await);
        let (first, second) = tokio::join!(migrate(&url), migrate(&url));
        first.unwrap();
        second.unwrap();
        assert!(current(&url).await);
        migrate(&url).await.unwrap();
        assert!(current(&url).await);
    }

    #[tokio::test]
    async fn the_owner_of_a_database_who_is_no_superuser_can_migrate_it_and_a_stranger_cannot() {
        let database = Database::unmigrated().await;
        let admin = database.admin();
        let name: String = sqlx::query_scalar("SELECT current_database()").fetch_one(&admin).await.unwrap();
        let login = |role: &str| {
            let options = PgConnectOptions::from_str(database.url()).unwrap().username(role);
            Secret::new(options.to_url_lossy().to_string())
        };
        let (owner, stranger) = (format!("{name}_owner"), format!("{name}_stranger"));
        let sql = format!(
            "CREATE ROLE {owner} LOGIN CREATEROLE; CREATE ROLE {stranger} LOGIN; ALTER DATABASE {name} OWNER TO {owner}"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&admin).await.unwrap();
        assert!(migrate(&login(&stranger)).await.is_err());
        migrate(&login(&owner)).await.unwrap();
        assert!(current(&database.settings().url).await);
        // Owning the database is not owning the tables, and a login of no group opens nothing.
        let settings = Settings { url: login(&stranger), ..database.settings() };
        assert!(pool(&settings, Group::Bot, Synced::Yes).unwrap().acquire().await.is_err());
    }

    #[tokio::test]
    async fn i24_the_bots_group_reads_no_sale_and_changes_no_trail() {
        let database = Database::create().await;
        let bot = pool(&database.settings(), Group::Bot, Synced::Yes).unwrap();
        sqlx::query(
            "INSERT INTO audit (at, actor, on_behalf, event, risk, detail) VALUES (now_ms(), 'a', 'b', 'c', 'low', '{}')",
        )
        .execute(&bot)
        .await
        .unwrap();
        for sql in [
            "SELECT count(*) FROM sales",
            "SELECT count(*) FROM customers",
            "UPDATE audit SET risk = 'high'",
            "DELETE FROM audit",
            "TRUNCATE audit",
            "UPDATE staff SET role = 'admin'",
            "UPDATE amount_limits SET limit_yen = 0",
            "UPDATE proposals SET write = '{}'",
            "ALTER TABLE audit DISABLE TRIGGER ALL",
            "SELECT * FROM get_customers(NULL, NULL)",
        ] {
            let error = sqlx::query(sql).execute(&bot).await.expect_err(sql);
            let code = error.as_database_error().and_then(|e| e.code()).unwrap_or_default().into_owned();
            assert_eq!(code, "42501", "{sql}: {error}");
        }
        // Not even the owner of the table, by mistake.
        let owner = pool(&database.settings(), Group::Owner, Synced::Yes).unwrap();
        for sql in ["UPDATE audit SET risk = 'high'", "DELETE FROM audit", "TRUNCATE audit"] {
            assert!(sqlx::query(sql).execute(&owner).await.is_err(), "{sql}");
        }
    }

    #[tokio::test]
    async fn i07_a_reader_sees_rows_of_the_departments_its_transaction_names_and_of_no_other() {
        let database = Database::create().await;
        let admin = database.admin();
        for (code, department) in [("1", "north"), ("2", "south")] {
            sqlx::query("INSERT INTO customers (code_customer, name_customer, address, phone, department) VALUES ($1, 'x', '', '', $2)")
                .bind(code)
                .bind(department)
                .execute(&admin)
                .await
                .unwrap();
        }
        let reader = pool(&database.settings(), Group::Reader, Synced::No).unwrap();
        for (set, seen) in [
            (None, 0_i64),
            (Some(""), 0),
            (Some("[]"), 0),
            (Some("not JSON"), 0),
            (Some("\"north\""), 0),
            (Some("{\"north\": 1}"), 0),
            (Some("[\"north\"]"), 1),
            (Some("[\"north\", \"south\"]"), 2),
            (Some("[\"*\"]"), 2),
        ] {
            let mut tx = reader.begin().await.unwrap();
            if let Some(set) = set {
                sqlx::query("SELECT set_config('sales_concierge.departments', $1, true)")
                    .bind(set)
                    .execute(&mut *tx)
                    .await
                    .unwrap();
            }
            let count: i64 = sqlx::query_scalar("SELECT count(*) FROM customers").fetch_one(&mut *tx).await.unwrap();
            assert_eq!(count, seen, "{set:?}");
            drop(tx);
        }
    }
}
