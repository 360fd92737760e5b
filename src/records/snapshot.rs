//! A records file as it stands at one moment, for who copies it and changes nothing in it.
//!
//! The file is opened read-only: not even its write-ahead log is tidied up.

use std::path::Path;

use sqlx::migrate::{Migrate as _, MigrateError};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::MIGRATIONS;

/// The file, and the read transaction that keeps out what others write meanwhile.
#[derive(Debug)]
pub struct Snapshot {
    db: SqliteConnection,
    version: i64,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// No such file.
    #[error("there is no such file")]
    Missing,
    /// An older program made it, or never finished.
    #[error("its tables are those of an older version")]
    Older,
    /// A newer program made it, or another one.
    #[error("its tables are those of a newer version, or of another program")]
    Newer,
    /// The file cannot be read.
    #[error("it cannot be read")]
    Store(#[from] sqlx::Error),
}

impl Snapshot {
    /// The file as it is now.
    ///
    /// # Errors
    /// See [`SnapshotError`].
    pub async fn open(path: &Path) -> Result<Self, SnapshotError> {
        if !path.exists() {
            return Err(SnapshotError::Missing);
        }
        let mut db =
            SqliteConnectOptions::new().filename(path).read_only(true).disable_statement_logging().connect().await?;
        sqlx::query("BEGIN").execute(&mut db).await?;
        let own = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = '_sqlx_migrations')";
        // The first read is what the transaction begins with.
        if !sqlx::query_scalar::<_, bool>(own).fetch_one(&mut db).await? {
            return Err(SnapshotError::Older);
        }
        let applied = match db.list_applied_migrations("_sqlx_migrations").await {
            Ok(applied) => applied,
            Err(MigrateError::Execute(error)) => return Err(error.into()),
            Err(error) => return Err(sqlx::Error::from(error).into()),
        };
        let unfinished = db.dirty_version("_sqlx_migrations").await.map_err(sqlx::Error::from)?.is_some();
        let mut known = MIGRATIONS.iter();
        for migration in &applied {
            if known.next().is_none_or(|k| k.version != migration.version || k.checksum != migration.checksum) {
                return Err(SnapshotError::Newer);
            }
        }
        if unfinished || known.next().is_some() {
            return Err(SnapshotError::Older);
        }
        let version = data_version(&mut db).await?;
        Ok(Self { db, version })
    }

    /// For reads.
    pub fn db(&mut self) -> &mut SqliteConnection {
        &mut self.db
    }

    /// Ends the transaction, and says whether anybody has written into the file since it began.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn close(mut self) -> Result<bool, sqlx::Error> {
        sqlx::query("COMMIT").execute(&mut self.db).await?;
        // A look at the file: the version is that of the last one.
        sqlx::query("SELECT count(*) FROM sqlite_master").execute(&mut self.db).await?;
        let version = data_version(&mut self.db).await?;
        self.db.close().await?;
        Ok(version != self.version)
    }
}

async fn data_version(db: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("PRAGMA data_version").fetch_one(db).await
}

#[cfg(test)]
mod tests {
    use super::super::{Records, query};
    use super::*;

    #[tokio::test]
    async fn a_snapshot_does_not_see_later_writes_says_that_there_were_some_and_leaves_the_files_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("records.sqlite");
        let records = Records::open_file(&path).await.unwrap();
        let put = |name: &'static str| query("INSERT INTO facts VALUES ($1, '')").bind(name).execute(records.durable());
        put("one").await.unwrap();
        let count = "SELECT count(*) FROM facts";
        let bytes = || ["", "-wal"].map(|end| std::fs::read(dir.path().join(format!("records.sqlite{end}"))).unwrap());

        let before = bytes();
        let mut quiet = Snapshot::open(&path).await.unwrap();
        assert_eq!(sqlx::query_scalar::<_, i64>(count).fetch_one(quiet.db()).await.unwrap(), 1);
        assert!(!quiet.close().await.unwrap(), "nobody wrote");
        assert!(bytes() == before, "the file and its log are as they were");

        let mut late = Snapshot::open(&path).await.unwrap();
        put("two").await.unwrap();
        assert_eq!(sqlx::query_scalar::<_, i64>(count).fetch_one(late.db()).await.unwrap(), 1);
        assert!(late.close().await.unwrap(), "somebody wrote");
        let mut next = Snapshot::open(&path).await.unwrap();
        assert!(sqlx::query("DELETE FROM facts").execute(next.db()).await.is_err(), "it cannot be written to");
    }

    #[tokio::test]
    async fn files_of_other_versions_and_other_programs_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("records.sqlite");
        assert!(matches!(Snapshot::open(&path).await, Err(SnapshotError::Missing)));
        let records = Records::open_file(&path).await.unwrap();
        let last = MIGRATIONS.iter().last().unwrap().version;
        let run = |sql: String| {
            let db = records.sqlite().unwrap().durable().clone();
            async move { sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&db).await.unwrap() }
        };
        run("CREATE TABLE kept AS SELECT * FROM _sqlx_migrations".to_owned()).await;
        for (change, older) in [
            (format!("DELETE FROM _sqlx_migrations WHERE version = {last}"), true),
            (format!("UPDATE _sqlx_migrations SET success = 0 WHERE version = {last}"), true),
            (format!("UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = {last}"), false),
            (
                format!(
                    "INSERT INTO _sqlx_migrations SELECT {last} + 1, 'x', now, 1, x'00', 0 FROM (SELECT '' AS now)"
                ),
                false,
            ),
        ] {
            run(change.clone()).await;
            let found = match Snapshot::open(&path).await {
                Err(SnapshotError::Older) => Some(true),
                Err(SnapshotError::Newer) => Some(false),
                _ => None,
            };
            assert_eq!(found, Some(older), "{change}");
            run("DELETE FROM _sqlx_migrations; INSERT INTO _sqlx_migrations SELECT * FROM kept".to_owned()).await;
        }
        assert!(Snapshot::open(&path).await.is_ok());
        run("DROP TABLE _sqlx_migrations".to_owned()).await;
        assert!(matches!(Snapshot::open(&path).await, Err(SnapshotError::Older)), "nothing was ever migrated");
        let text = dir.path().join("text");
        std::fs::write(&text, "no database, but long enough to be looked at as one".repeat(9)).unwrap();
        assert!(matches!(Snapshot::open(&text).await, Err(SnapshotError::Store(_))));
    }
}
