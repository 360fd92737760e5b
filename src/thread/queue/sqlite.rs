//! The queue in a SQLite file. A transaction holds the write lock from its beginning, so each step is whole.

use std::time::Duration;

use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::types::Json;
use sqlx::{Row as _, SqlitePool};

use super::{Claimed, Job, KEPT_FOR, Lease, Pushed, SEEN_FOR, Waiting, millis, unreadable};
use crate::domain::ThreadKey;

/// So many threads are forgotten in one transaction, lest a message wait for it.
const FORGOTTEN_AT_ONCE: i64 = 200;

pub(super) async fn push(write: &SqlitePool, job: &Job, event_id: Option<&str>) -> Result<Pushed, sqlx::Error> {
    let marks = job.marks(event_id);
    let mut tx = write.begin_with("BEGIN IMMEDIATE").await?;
    let marked = sqlx::query(
        "INSERT INTO seen (key, at) SELECT value, CAST(unixepoch('subsec') * 1000 AS INTEGER) FROM json_each($1)
         WHERE true ON CONFLICT (key) DO NOTHING",
    )
    .bind(Json(&marks))
    .execute(&mut *tx)
    .await?
    .rows_affected();
    let fresh = usize::try_from(marked) == Ok(marks.len());
    if fresh {
        let thread = job.thread().to_string();
        sqlx::query(
            "INSERT INTO jobs (thread, job, due_at, created_at)
             SELECT $1, $2, now, now FROM (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now)",
        )
        .bind(&thread)
        .bind(Json(job))
        .execute(&mut *tx)
        .await?;
        sqlx::query(
            "INSERT INTO threads (thread, joined, at) VALUES ($1, $2, CAST(unixepoch('subsec') * 1000 AS INTEGER))
             ON CONFLICT (thread) DO UPDATE SET at = excluded.at, joined = max(joined, excluded.joined)",
        )
        .bind(&thread)
        .bind(match job {
            Job::Message(message) => message.addressed,
            Job::Continuation { .. } => true,
        })
        .execute(&mut *tx)
        .await?;
    }
    tx.commit().await?;
    Ok(if fresh { Pushed::New } else { Pushed::Duplicate })
}

pub(super) async fn seen(read: &SqlitePool, mark: &str) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM seen WHERE key = $1)").bind(mark).fetch_one(read).await
}

pub(super) async fn see(write: &SqlitePool, mark: &str) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO seen (key, at) VALUES ($1, CAST(unixepoch('subsec') * 1000 AS INTEGER)) ON CONFLICT DO NOTHING",
    )
    .bind(mark)
    .execute(write)
    .await
    .map(drop)
}

pub(super) async fn joined(read: &SqlitePool, thread: &ThreadKey) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar::<_, bool>("SELECT joined FROM threads WHERE thread = $1")
        .bind(thread.to_string())
        .fetch_optional(read)
        .await
        .map(|joined| joined.unwrap_or(false))
}

pub(super) async fn claim(write: &SqlitePool, lease: Duration) -> Result<Option<Claimed>, sqlx::Error> {
    let mut tx = write.begin_with("BEGIN IMMEDIATE").await?;
    let (id, thread, now, job): (i64, String, i64, Job) = loop {
        let Some(row) = next(&mut tx).await? else {
            tx.commit().await?;
            return Ok(None);
        };
        let id = row.try_get("id")?;
        match serde_json::from_str(&row.try_get::<String, _>("job")?) {
            Ok(job) => break (id, row.try_get("thread")?, row.try_get("now")?, job),
            Err(error) => {
                unreadable(id, &error);
                sqlx::query("DELETE FROM jobs WHERE id = $1").bind(id).execute(&mut *tx).await?;
            }
        }
    };
    let epoch: i64 = sqlx::query_scalar(
        "INSERT INTO leases (thread, epoch, until) VALUES ($1, 1, $2)
         ON CONFLICT (thread) DO UPDATE SET epoch = epoch + 1, until = $2 RETURNING epoch",
    )
    .bind(&thread)
    .bind(now.saturating_add(millis(lease)))
    .fetch_one(&mut *tx)
    .await?;
    let attempts: i64 = sqlx::query_scalar(
        "UPDATE jobs SET state = 'running', attempts = attempts + 1 WHERE id = $1 RETURNING attempts",
    )
    .bind(id)
    .fetch_one(&mut *tx)
    .await?;
    tx.commit().await?;
    let lease = Lease { thread, epoch, applied: 0 };
    Ok(Some(Claimed { id, job, attempts, lease, more: true }))
}

/// The oldest job whose thread is free, with the time by which that was judged.
async fn next(tx: &mut SqliteConnection) -> Result<Option<SqliteRow>, sqlx::Error> {
    sqlx::query(
        "WITH clock AS MATERIALIZED (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now)
         SELECT j.id, j.thread, j.job, now FROM clock, jobs j LEFT JOIN leases l ON l.thread = j.thread
         WHERE j.due_at <= now AND coalesce(l.until, 0) <= now
           AND NOT EXISTS (SELECT 1 FROM jobs k WHERE k.thread = j.thread AND k.id < j.id)
         ORDER BY j.id LIMIT 1",
    )
    .fetch_optional(tx)
    .await
}

pub(super) async fn renew(write: &SqlitePool, lease: &Lease, span: Duration) -> Result<bool, sqlx::Error> {
    sqlx::query(
        "UPDATE leases SET until = CAST(unixepoch('subsec') * 1000 AS INTEGER) + $3 WHERE thread = $1 AND epoch = $2",
    )
    .bind(&lease.thread)
    .bind(lease.epoch)
    .bind(millis(span))
    .execute(write)
    .await
    .map(|done| done.rows_affected() == 1)
}

pub(super) async fn finish(write: &SqlitePool, claimed: &Claimed) -> Result<(), sqlx::Error> {
    let mut tx = write.begin_with("BEGIN IMMEDIATE").await?;
    if release(&mut tx, &claimed.lease).await? {
        sqlx::query("DELETE FROM jobs WHERE id = $1").bind(claimed.id).execute(&mut *tx).await?;
    }
    tx.commit().await
}

pub(super) async fn retry(write: &SqlitePool, claimed: &Claimed, pause: Duration) -> Result<(), sqlx::Error> {
    let mut tx = write.begin_with("BEGIN IMMEDIATE").await?;
    if release(&mut tx, &claimed.lease).await? {
        let now = crate::records::now_ms(&mut *tx).await?;
        sqlx::query("UPDATE jobs SET state = 'queued', due_at = $2 WHERE id = $1")
            .bind(claimed.id)
            .bind(now.saturating_add(millis(pause)))
            .execute(&mut *tx)
            .await?;
    }
    tx.commit().await
}

async fn release(tx: &mut SqliteConnection, lease: &Lease) -> Result<bool, sqlx::Error> {
    sqlx::query("UPDATE leases SET until = 0 WHERE thread = $1 AND epoch = $2")
        .bind(&lease.thread)
        .bind(lease.epoch)
        .execute(tx)
        .await
        .map(|done| done.rows_affected() == 1)
}

pub(super) async fn free_all(write: &SqlitePool) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE leases SET until = 0 WHERE until > 0").execute(write).await.map(drop)
}

pub(super) async fn depth(read: &SqlitePool) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT count(*) FROM jobs").fetch_one(read).await
}

pub(super) async fn of_thread(read: &SqlitePool, thread: &ThreadKey, count: i64) -> Result<Vec<Waiting>, sqlx::Error> {
    let rows = sqlx::query("SELECT state, attempts, created_at FROM jobs WHERE thread = $1 ORDER BY id LIMIT $2")
        .bind(thread.to_string())
        .bind(count)
        .fetch_all(read)
        .await?;
    let waiting = |row: &SqliteRow| {
        let state: String = row.try_get("state")?;
        Ok(Waiting { at: row.try_get("created_at")?, runs: state == "running", attempts: row.try_get("attempts")? })
    };
    rows.iter().map(waiting).collect()
}

pub(super) async fn sweep(write: &SqlitePool) -> Result<(), sqlx::Error> {
    let mut tx = write.begin_with("BEGIN IMMEDIATE").await?;
    let now = crate::records::now_ms(&mut *tx).await?;
    sqlx::query("DELETE FROM seen WHERE at < $1").bind(now.saturating_sub(millis(SEEN_FOR))).execute(&mut *tx).await?;
    let idle: Vec<String> = sqlx::query_scalar(
        "SELECT t.thread FROM threads t LEFT JOIN leases l ON l.thread = t.thread
         WHERE t.at < $1 AND coalesce(l.until, 0) <= $2
           AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.thread = t.thread) LIMIT $3",
    )
    .bind(now.saturating_sub(millis(KEPT_FOR)))
    .bind(now)
    .bind(FORGOTTEN_AT_ONCE)
    .fetch_all(&mut *tx)
    .await?;
    for forget in [
        "DELETE FROM history WHERE thread IN (SELECT value FROM json_each($1))",
        "DELETE FROM leases WHERE thread IN (SELECT value FROM json_each($1))",
        "DELETE FROM threads WHERE thread IN (SELECT value FROM json_each($1))",
    ] {
        sqlx::query(forget).bind(Json(&idle)).execute(&mut *tx).await?;
    }
    tx.commit().await
}
