//! How long PostgreSQL is waited for from this side.
//!
//! The database ends a statement that takes too long by itself, as long as it can: one that is frozen, or whose machine went
//! away without a word, says nothing ever again. So each statement outside and inside a transaction is waited for half as
//! long again as the database would let it run. A connection that has not answered by then is closed: kept, it would hold
//! its place in the pool for as long as the network cares.
//!
//! Not promised: that the statement was not carried out.

use std::io;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use futures::future::BoxFuture;
use sqlx::Postgres;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnection, PgPool};

/// Longer than any load takes.
const A_DAY: Duration = Duration::from_secs(86_400);

/// A statement on the connection it is given.
pub trait Statement<T>: for<'c> FnOnce(&'c mut PgConnection) -> BoxFuture<'c, Result<T, sqlx::Error>> {}

impl<T, S: for<'c> FnOnce(&'c mut PgConnection) -> BoxFuture<'c, Result<T, sqlx::Error>>> Statement<T> for S {}

/// Carries a statement out on a connection of the pool.
///
/// # Errors
/// When the database does not answer in time, or refuses.
pub async fn within<T>(pool: &PgPool, statement: impl Statement<T>) -> Result<T, sqlx::Error> {
    let mut connection = pool.acquire().await?;
    wait(&mut connection, patience(pool), statement).await
}

/// A connection is waited for half as long as a statement may take; see [`super::postgres::pool`].
fn patience(pool: &PgPool) -> Duration {
    pool.options().get_acquire_timeout() * 3
}

async fn wait<T>(
    connection: &mut PoolConnection<Postgres>,
    patience: Duration,
    statement: impl Statement<T>,
) -> Result<T, sqlx::Error> {
    if let Ok(done) = tokio::time::timeout(patience, statement(connection)).await {
        return done;
    }
    connection.close_on_drop();
    Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, "the database did not answer in time")))
}

/// A transaction. Dropped without [`PgTx::commit`], it is rolled back.
#[derive(Debug)]
pub struct PgTx {
    /// `None` only while it is dropped.
    connection: Option<PoolConnection<Postgres>>,
    patience: Duration,
    open: bool,
}

impl PgTx {
    pub(super) async fn begin(pool: &PgPool) -> Result<Self, sqlx::Error> {
        let connection = pool.acquire().await?;
        // Before it is begun, so that one of which nobody knows whether it was is rolled back, too.
        let mut tx = Self { connection: Some(connection), patience: patience(pool), open: true };
        tx.run("BEGIN").await?;
        Ok(tx)
    }

    /// Makes the changes real.
    ///
    /// # Errors
    /// When the database does not answer in time, or refuses; whether the changes are real is then unknown.
    pub async fn commit(mut self) -> Result<(), sqlx::Error> {
        self.run("COMMIT").await?;
        self.open = false;
        Ok(())
    }

    async fn run(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        self.within(|db| Box::pin(async move { sqlx::raw_sql(sql).execute(db).await.map(drop) })).await
    }

    /// Carries a statement out.
    ///
    /// # Errors
    /// When the database does not answer in time, or refuses.
    pub async fn within<T>(&mut self, statement: impl Statement<T>) -> Result<T, sqlx::Error> {
        let patience = self.patience;
        wait(self.inner(), patience, statement).await
    }

    /// For a load, whose statements take what they take.
    pub fn wait_for_long_statements(&mut self) {
        self.patience = A_DAY;
    }

    #[expect(clippy::expect_used, reason = "only `drop` takes it")]
    fn inner(&mut self) -> &mut PoolConnection<Postgres> {
        self.connection.as_mut().expect("a transaction in use has its connection")
    }
}

impl Deref for PgTx {
    type Target = PgConnection;

    #[expect(clippy::expect_used, reason = "only `drop` takes it")]
    fn deref(&self) -> &PgConnection {
        self.connection.as_ref().expect("a transaction in use has its connection")
    }
}

impl DerefMut for PgTx {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.inner()
    }
}

fn rollback(db: &mut PgConnection) -> BoxFuture<'_, Result<(), sqlx::Error>> {
    Box::pin(async move { sqlx::raw_sql("ROLLBACK").execute(db).await.map(drop) })
}

impl Drop for PgTx {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        if !self.open {
            return;
        }
        let patience = self.patience;
        let rolled_back = async move {
            if wait(&mut connection, patience, rollback).await.is_err() {
                connection.close_on_drop();
            }
        };
        // Without a runtime the process ends, and the connection with it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(rolled_back);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::postgres::{Group, Settings, Synced, pool};
    use super::super::testing::Database;
    use super::*;

    /// A pool of one connection: what is kept by mistake is missed at once.
    fn one(database: &Database, statement_timeout: Duration) -> PgPool {
        let settings = Settings { max_connections: 1, statement_timeout, ..database.settings() };
        pool(&settings, Group::Owner, Synced::No).unwrap()
    }

    async fn facts(pool: &PgPool) -> Result<i64, sqlx::Error> {
        within(pool, |db| Box::pin(async move { sqlx::query_scalar("SELECT count(*) FROM facts").fetch_one(db).await }))
            .await
    }

    /// A connection is made anew meanwhile.
    async fn answers_again(pool: &PgPool) -> bool {
        for _ in 0..20 {
            if facts(pool).await.is_ok() {
                return true;
            }
        }
        false
    }

    #[tokio::test]
    async fn a_transaction_that_is_dropped_changes_nothing_and_leaves_its_connection() {
        let database = Database::create().await;
        let pool = one(&database, Duration::from_secs(4));
        let insert = "INSERT INTO facts (name, value) VALUES ('a', 'b')";
        let mut tx = PgTx::begin(&pool).await.unwrap();
        sqlx::raw_sql(insert).execute(&mut *tx).await.unwrap();
        drop(tx);
        assert_eq!(facts(&pool).await.unwrap(), 0);
        let mut tx = PgTx::begin(&pool).await.unwrap();
        assert!(sqlx::raw_sql("SELECT 1 / 0").execute(&mut *tx).await.is_err());
        drop(tx);
        let mut tx = PgTx::begin(&pool).await.unwrap();
        sqlx::raw_sql(insert).execute(&mut *tx).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(facts(&pool).await.unwrap(), 1);
        assert_eq!(pool.size(), 1);
    }

    #[tokio::test]
    async fn what_the_database_never_answers_ends_and_its_place_is_free_again() {
        let database = Database::create().await;
        let pool = one(&database, Duration::from_millis(800));
        // As if the database's own limit did not work.
        let forever = "SET statement_timeout = 0; SELECT pg_sleep(60)";
        let slept = within(&pool, |db| Box::pin(async move { sqlx::raw_sql(forever).execute(db).await })).await;
        assert!(matches!(slept, Err(sqlx::Error::Io(ref e)) if e.kind() == io::ErrorKind::TimedOut), "{slept:?}");
        assert!(answers_again(&pool).await);
        let mut tx = PgTx::begin(&pool).await.unwrap();
        let slept = tx.within(|db| Box::pin(async move { sqlx::raw_sql(forever).execute(db).await })).await;
        assert!(slept.is_err());
        drop(tx);
        assert!(answers_again(&pool).await);
    }
}
