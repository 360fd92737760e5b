//! What is in a table, as one number and one hash: the same for the same rows, whichever engine holds them.
//!
//! The hash is SHA-256 over the rows in the order of their keys. A row is its values in the order of the columns, each as
//! its length in bytes, a colon and its text, or `-` for NULL; then a line feed.

use std::io::Write as _;

use futures::{Stream, TryStreamExt as _};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row as _};

use super::tables::Table;

/// After so many rows, whoever waits is told.
const SAY_EVERY: u64 = 10_000;

/// The content of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Content {
    /// How many rows.
    pub rows: u64,
    /// Of all rows, as hex.
    pub sha256: String,
}

/// Of a table of the file, read from it anew.
pub(super) async fn of_the_file(
    db: &mut SqliteConnection,
    table: &Table,
    seen: impl FnMut(u64),
) -> Result<Content, sqlx::Error> {
    let rows = sqlx::query(AssertSqlSafe(table.of_the_file())).fetch(db);
    of(rows, table.columns.len(), |row, column| row.try_get(column), seen).await
}

/// Of a table of the database, as this transaction sees it.
pub(super) async fn of_the_database(
    db: &mut PgConnection,
    table: &Table,
    seen: impl FnMut(u64),
) -> Result<Content, sqlx::Error> {
    let rows = sqlx::query(AssertSqlSafe(table.of_the_database())).fetch(db);
    of(rows, table.columns.len(), |row, column| row.try_get(column), seen).await
}

async fn of<R>(
    mut rows: impl Stream<Item = Result<R, sqlx::Error>> + Unpin,
    columns: usize,
    value: impl for<'r> Fn(&'r R, usize) -> Result<Option<&'r str>, sqlx::Error>,
    mut seen: impl FnMut(u64),
) -> Result<Content, sqlx::Error> {
    let (mut count, mut hash, mut line) = (0, Sha256::new(), Vec::new());
    while let Some(row) = rows.try_next().await? {
        line.clear();
        for column in 0..columns {
            match value(&row, column)? {
                None => line.push(b'-'),
                Some(text) => {
                    write!(line, "{}:", text.len()).map_err(sqlx::Error::Io)?;
                    line.extend_from_slice(text.as_bytes());
                }
            }
        }
        line.push(b'\n');
        hash.update(&line);
        count += 1;
        if count % SAY_EVERY == 0 {
            seen(SAY_EVERY);
        }
    }
    seen(count % SAY_EVERY);
    Ok(Content { rows: count, sha256: hex::encode(hash.finalize()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn hash(rows: &[&[Option<&str>]]) -> String {
        let rows = futures::stream::iter(rows.iter().map(|row| Ok(row.to_vec())));
        let width = 2;
        of(rows, width, |row: &Vec<Option<&str>>, column| Ok(row[column]), |_| ()).await.unwrap().sha256
    }

    #[tokio::test]
    async fn rows_that_differ_in_anything_have_another_hash() {
        let all: [&[&[Option<&str>]]; 9] = [
            &[],
            &[&[None, None]],
            &[&[Some(""), None]],
            &[&[Some("-"), None]],
            &[&[Some("a"), Some("b")]],
            &[&[Some("ab"), Some("")]],
            &[&[Some("a"), Some("b")], &[Some("c"), Some("d")]],
            &[&[Some("c"), Some("d")], &[Some("a"), Some("b")]],
            &[&[Some("a"), Some("b\n1:c1:d")]],
        ];
        let mut seen = std::collections::BTreeSet::new();
        for rows in all {
            assert!(seen.insert(hash(rows).await), "{rows:?}");
        }
        let known = "1:a2:\u{e9}\n-1:b\n".as_bytes();
        assert_eq!(hash(&[&[Some("a"), Some("\u{e9}")], &[None, Some("b")]]).await, hex::encode(Sha256::digest(known)));
    }
}
