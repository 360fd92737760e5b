//! Histories in a SQLite file.

use futures::TryStreamExt as _;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _};

use super::{HistoryError, Row};
use crate::domain::{ThreadKey, TurnId};
use crate::thread::queue::Lease;
use crate::work;

const COLUMNS: &str = "turn, round, tokens, at, spent, items";

fn read_row(row: &SqliteRow) -> Result<Row, sqlx::Error> {
    Ok(Row {
        turn: row.try_get("turn")?,
        round: row.try_get("round")?,
        tokens: row.try_get("tokens")?,
        at: row.try_get("at")?,
        spent: row.try_get("spent")?,
        items: row.try_get("items")?,
    })
}

/// Newest first and only as far as `wanted` says: a thread of a thousand turns costs what one of fifty does.
pub(super) async fn newest(
    read: &SqlitePool,
    thread: &ThreadKey,
    mut wanted: impl FnMut(Row) -> Result<bool, work::Error>,
) -> Result<(), work::Error> {
    let sql = format!("SELECT {COLUMNS} FROM history WHERE thread = $1 ORDER BY seq DESC");
    let mut rows = sqlx::query(AssertSqlSafe(sql)).bind(thread.to_string()).fetch(read);
    while let Some(row) = rows.try_next().await? {
        if !wanted(read_row(&row)?)? {
            break;
        }
    }
    Ok(())
}

pub(super) async fn last(read: &SqlitePool, thread: &ThreadKey, count: i64) -> Result<Vec<Row>, sqlx::Error> {
    let sql = format!("SELECT {COLUMNS} FROM history WHERE thread = $1 ORDER BY seq DESC LIMIT $2");
    let rows = sqlx::query(AssertSqlSafe(sql)).bind(thread.to_string()).bind(count).fetch_all(read).await?;
    rows.iter().rev().map(read_row).collect()
}

/// The rounds, without answers, of a request's turn and of its continuations.
pub(super) async fn of_request(
    read: &SqlitePool,
    thread: &ThreadKey,
    origin: &TurnId,
) -> Result<Vec<Row>, sqlx::Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM history
         WHERE thread = $1 AND (turn = $2 OR substr(turn, 1, length($2) + 1) = $2 || '.') AND round BETWEEN 1 AND 999"
    );
    let rows = sqlx::query(AssertSqlSafe(sql)).bind(thread.to_string()).bind(origin.as_str()).fetch_all(read).await?;
    rows.iter().map(read_row).collect()
}

pub(super) async fn applied(read: &SqlitePool, lease: &Lease) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT applied_event FROM threads WHERE thread = $1")
        .bind(&lease.thread)
        .fetch_optional(read)
        .await
        .map(|applied| applied.unwrap_or(0))
}

pub(super) async fn has(read: &SqlitePool, thread: &ThreadKey, turn: &TurnId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM history WHERE thread = $1 AND turn = $2)")
        .bind(thread.to_string())
        .bind(turn.as_str())
        .fetch_one(read)
        .await
}

pub(super) async fn session_tokens(read: &SqlitePool, thread: &ThreadKey) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT tokens FROM threads WHERE thread = $1")
        .bind(thread.to_string())
        .fetch_optional(read)
        .await
        .map(|sum| sum.unwrap_or(0))
}

pub(super) async fn store(
    write: &SqlitePool,
    lease: &Lease,
    rows: &[Row],
    applied: Option<i64>,
) -> Result<(), HistoryError> {
    if let ([row], None) = (rows, applied) {
        return insert(&mut *write.acquire().await?, lease, row).await;
    }
    let mut tx = write.begin_with("BEGIN IMMEDIATE").await?;
    for row in rows {
        insert(&mut tx, lease, row).await?;
    }
    if let Some(applied) = applied {
        sqlx::query(
            "INSERT INTO threads (thread, applied_event, at) VALUES ($1, $2, 0)
             ON CONFLICT (thread) DO UPDATE SET applied_event = max(applied_event, $2)",
        )
        .bind(&lease.thread)
        .bind(applied)
        .execute(&mut *tx)
        .await?;
    }
    Ok(tx.commit().await?)
}

/// One statement, so that a round costs one step to the store: the lease is looked at by the insert itself.
async fn insert(db: &mut SqliteConnection, lease: &Lease, row: &Row) -> Result<(), HistoryError> {
    let inserted = sqlx::query(
        "INSERT INTO history (thread, seq, turn, round, items, tokens, spent, at)
         SELECT $1, (SELECT coalesce(max(seq), 0) + 1 FROM history WHERE thread = $1), $2, $3, $4, $5, $7,
                CAST(unixepoch('subsec') * 1000 AS INTEGER)
         WHERE EXISTS (SELECT 1 FROM leases WHERE thread = $1 AND epoch = $6)
         ON CONFLICT (thread, turn, round) DO NOTHING",
    )
    .bind(&lease.thread)
    .bind(&row.turn)
    .bind(row.round)
    .bind(&row.items)
    .bind(row.tokens)
    .bind(lease.epoch)
    .bind(row.spent)
    .execute(&mut *db)
    .await?
    .rows_affected();
    if inserted == 1 {
        return Ok(());
    }
    // Stored before, or not ours to store.
    let held: bool = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM leases WHERE thread = $1 AND epoch = $2)")
        .bind(&lease.thread)
        .bind(lease.epoch)
        .fetch_one(db)
        .await?;
    if held { Ok(()) } else { Err(HistoryError::Fenced) }
}
