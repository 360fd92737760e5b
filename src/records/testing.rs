//! Databases for tests: each its own, made from a migrated template in a throwaway cluster. Not in a released program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot have its database should say so and end"
)]

use std::path::Path;
use std::str::FromStr as _;
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use tokio::process::Command;
use tokio::sync::OnceCell;

use super::postgres::{self, Group, Settings};
use super::{Records, Source};
use crate::domain::Secret;

/// Everybody who makes the template waits for the others.
const TEMPLATE_LOCK: i64 = 7_305_211_947;

static CLUSTER: OnceCell<String> = OnceCell::const_new();

/// The superuser's address: `TEST_POSTGRES_URL`, else that of a cluster which `scripts/postgres` starts or has started.
async fn cluster() -> &'static str {
    CLUSTER
        .get_or_init(|| async {
            if let Ok(url) = std::env::var("TEST_POSTGRES_URL") {
                return url;
            }
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/postgres");
            let output = Command::new(&script).output().await.expect("scripts/postgres runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).expect("an address").trim().to_owned()
        })
        .await
}

/// A database of its own.
#[derive(Debug)]
pub struct Database {
    name: String,
    url: String,
}

impl Database {
    /// A migrated, empty database.
    pub async fn create() -> Self {
        let cluster = PgConnectOptions::from_str(cluster().await).expect("an address");
        let mut db = cluster.clone().database("postgres").connect().await.expect("the cluster answers");
        let template = template(&cluster, &mut db).await;
        let database = Self::named(&cluster);
        create(&mut db, &database.name, Some(&template)).await;
        database
    }

    /// An empty database in which nothing was migrated.
    pub async fn unmigrated() -> Self {
        let cluster = PgConnectOptions::from_str(cluster().await).expect("an address");
        let mut db = cluster.clone().database("postgres").connect().await.expect("the cluster answers");
        let database = Self::named(&cluster);
        create(&mut db, &database.name, None).await;
        database
    }

    fn named(cluster: &PgConnectOptions) -> Self {
        let mut bytes = [0_u8; 8];
        getrandom::fill(&mut bytes).expect("random bytes");
        let name = format!("test_{}", hex::encode(bytes));
        Self { url: address(cluster, &name), name }
    }

    /// The superuser's address of it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Settings with the superuser's login, from which each pool becomes its group.
    pub fn settings(&self) -> Settings {
        Settings { url: Secret::new(self.url.clone()), max_connections: 8, statement_timeout: Duration::from_secs(10) }
    }

    /// Its records as a group sees them.
    pub async fn records(&self, group: Group) -> Records {
        Records::open(&Source::Postgres(self.settings()), group).await.expect("the records open")
    }

    /// A pool of the superuser, who is bound by nothing.
    pub fn admin(&self) -> PgPool {
        let options = PgConnectOptions::from_str(&self.url).expect("an address");
        PgPoolOptions::new().max_connections(2).connect_lazy_with(options)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // The cluster is thrown away as a whole; dropping here keeps a long run from filling the disk.
        let (name, url) = (self.name.clone(), self.url.clone());
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let Ok(runtime) = runtime else { return };
            runtime.block_on(async {
                let Ok(options) = PgConnectOptions::from_str(&url) else { return };
                if let Ok(mut db) = options.database("postgres").connect().await {
                    let sql = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
                    drop(sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut db).await);
                }
            });
        });
        drop(dropped.join());
    }
}

/// Which engine a test runs on.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A file of its own.
    Sqlite,
    /// A database of its own.
    Postgres,
}

#[cfg(test)]
impl Engine {
    /// An empty store, in the database with the rights of `group`; it is there as long as the first value.
    pub async fn open(self, group: Group) -> (Box<dyn std::any::Any + Send>, Records) {
        match self {
            Self::Sqlite => {
                let dir = tempfile::tempdir().expect("a folder");
                let records = Records::open_file(&dir.path().join("records.sqlite")).await.expect("the records open");
                (Box::new(dir), records)
            }
            Self::Postgres => {
                let database = Database::create().await;
                let records = database.records(group).await;
                (Box::new(database), records)
            }
        }
    }
}

/// Each test on each engine: `async fn name(engine) { … }`.
#[cfg(test)]
macro_rules! on_both_engines {
    ($(async fn $name:ident($engine:ident) $body:block)*) => {$(
        mod $name {
            #[allow(unused_imports, reason = "which names the body needs differs")]
            use super::*;

            async fn on_engine($engine: $crate::records::testing::Engine) $body

            #[tokio::test]
            async fn sqlite() {
                on_engine($crate::records::testing::Engine::Sqlite).await;
            }

            #[tokio::test]
            async fn postgres() {
                on_engine($crate::records::testing::Engine::Postgres).await;
            }
        }
    )*};
}
#[cfg(test)]
pub(crate) use on_both_engines;

fn address(cluster: &PgConnectOptions, database: &str) -> String {
    cluster.clone().database(database).to_url_lossy().to_string()
}

/// The template of this program's migrations, made by whoever needs it first.
async fn template(cluster: &PgConnectOptions, db: &mut PgConnection) -> String {
    let name = format!("template_{}", postgres::fingerprint());
    sqlx::query("SELECT pg_advisory_lock($1)").bind(TEMPLATE_LOCK).execute(&mut *db).await.expect("the lock");
    let exists: bool = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)")
        .bind(&name)
        .fetch_one(&mut *db)
        .await
        .expect("the cluster answers");
    if !exists {
        // Under another name until it is whole: a run that is killed half-way leaves no half template.
        let draft = format!("draft_{}", hex::encode(std::process::id().to_be_bytes()));
        let sql = format!("DROP DATABASE IF EXISTS {draft} WITH (FORCE)");
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut *db).await.expect("no leftovers");
        create(db, &draft, None).await;
        postgres::migrate(&Secret::new(address(cluster, &draft))).await.expect("the migrations apply");
        let sql = format!("ALTER DATABASE {draft} RENAME TO {name}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut *db).await.expect("renamed");
    }
    sqlx::query("SELECT pg_advisory_unlock($1)").bind(TEMPLATE_LOCK).execute(&mut *db).await.expect("unlocked");
    name
}

async fn create(db: &mut PgConnection, name: &str, template: Option<&str>) {
    let template = template.map(|t| format!(" TEMPLATE {t}")).unwrap_or_default();
    let sql = format!("CREATE DATABASE {name}{template}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(db).await.expect("a database");
}
