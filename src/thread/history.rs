//! What was said in a thread, for the model's next turn.
//!
//! Rows are rounds: the message (round 0), each model round with all its results, the answer. Appending is fenced by the
//! lease's epoch, so a worker that lost its thread writes nothing. What settled proposals add is written in the store
//! of record by the transaction that settles them and copied here, once and in order, before the next turn.

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::agent::Item;
use crate::domain::{ThreadKey, TurnId};
use crate::records::{Records, now_ms};
use crate::thread::queue::Lease;
use crate::work::Work;

/// The round number of a turn's answer: after all others.
const ANSWER: i64 = 1_000;

/// What is known of a thread when a turn begins or begins again.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Earlier turns, oldest first, as many whole ones as the token budget holds.
    pub before: Vec<Item>,
    /// Earlier turns exist that were left out.
    pub shortened: bool,
    /// The rounds of this very turn that were stored before a crash, the message included.
    pub rounds: Vec<Vec<Item>>,
    /// The answer of this very turn, if it was stored before a crash.
    pub answer: Option<Vec<Item>>,
}

/// The lease is another's now.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Another worker has the thread; this one must stop.
    #[error("the lease on the thread was lost")]
    Fenced,
    /// The store did not answer.
    #[error("the store of work failed")]
    Store(#[from] sqlx::Error),
}

/// Reads a thread for a turn. `budget` is in tokens, counted as one for three bytes of JSON.
///
/// # Errors
/// When the store does not answer or holds what this program did not write.
pub async fn load(work: &Work, thread: &ThreadKey, turn: &TurnId, budget: i64) -> Result<Loaded, HistoryError> {
    let Work::Sqlite { read, .. } = work;
    let mut loaded = Loaded::default();
    // Newest first, and never more rows than could matter: a thread of a thousand turns costs what one of fifty does.
    let rows =
        sqlx::query("SELECT turn, round, items, tokens FROM history WHERE thread = $1 ORDER BY seq DESC LIMIT 400")
            .bind(thread.to_string())
            .fetch_all(read)
            .await?;
    let mut turns: Vec<(String, Vec<Vec<Item>>)> = Vec::new();
    let (mut spent, mut turn_tokens) = (0_i64, 0_i64);
    for row in &rows {
        let of: String = row.try_get("turn")?;
        let items: Vec<Item> =
            serde_json::from_str(&row.try_get::<String, _>("items")?).map_err(|e| sqlx::Error::Decode(Box::new(e)))?;
        if of == turn.as_str() {
            if row.try_get::<i64, _>("round")? == ANSWER {
                loaded.answer = Some(items);
            } else {
                loaded.rounds.push(items);
            }
            continue;
        }
        let tokens: i64 = row.try_get("tokens")?;
        match turns.last_mut() {
            Some((last, parts)) if *last == of => {
                turn_tokens += tokens;
                parts.push(items);
            }
            _ => {
                spent += turn_tokens;
                turn_tokens = tokens;
                turns.push((of, vec![items]));
            }
        }
        if spent + turn_tokens > budget {
            // Whole turns only: half a turn would show calls without their results.
            turns.pop();
            loaded.shortened = true;
            break;
        }
    }
    loaded.rounds.reverse();
    loaded.before = turns.into_iter().rev().flat_map(|(_, parts)| parts.into_iter().rev().flatten()).collect();
    Ok(loaded)
}

/// Stores one round of a turn. Storing it again changes nothing.
///
/// # Errors
/// [`HistoryError::Fenced`] when the thread is another worker's.
pub async fn append(work: &Work, lease: &Lease, turn: &TurnId, round: u32, items: &[Item]) -> Result<(), HistoryError> {
    let Work::Sqlite { write, .. } = work;
    insert(&mut *write.acquire().await?, lease, turn.as_str(), i64::from(round), items).await
}

/// Stores a turn's answer, after all its rounds.
///
/// # Errors
/// [`HistoryError::Fenced`] when the thread is another worker's.
pub async fn append_answer(work: &Work, lease: &Lease, turn: &TurnId, items: &[Item]) -> Result<(), HistoryError> {
    let Work::Sqlite { write, .. } = work;
    insert(&mut *write.acquire().await?, lease, turn.as_str(), ANSWER, items).await
}

/// Copies what settled proposals left for this thread.
///
/// # Errors
/// [`HistoryError::Fenced`] when the thread is another worker's.
pub async fn absorb(work: &Work, records: &Records, lease: &Lease) -> Result<(), HistoryError> {
    let Work::Sqlite { read, write } = work;
    let applied: i64 = sqlx::query_scalar("SELECT applied_event FROM threads WHERE thread = $1")
        .bind(&lease.thread)
        .fetch_optional(read)
        .await?
        .unwrap_or(0);
    let events =
        sqlx::query("SELECT id, event FROM history_events WHERE thread = $1 AND id > $2 ORDER BY id LIMIT 200")
            .bind(&lease.thread)
            .bind(applied)
            .fetch_all(records.read())
            .await?;
    if events.is_empty() {
        return Ok(());
    }
    let mut tx = write.begin_with("BEGIN IMMEDIATE").await?;
    for row in events {
        let id: i64 = row.try_get("id")?;
        let item: Item =
            serde_json::from_str(&row.try_get::<String, _>("event")?).map_err(|e| sqlx::Error::Decode(Box::new(e)))?;
        insert(&mut tx, lease, &format!("event:{id}"), 0, &[item]).await?;
        sqlx::query(
            "INSERT INTO threads (thread, applied_event, at) VALUES ($1, $2, 0)
             ON CONFLICT (thread) DO UPDATE SET applied_event = max(applied_event, $2)",
        )
        .bind(&lease.thread)
        .bind(id)
        .execute(&mut *tx)
        .await?;
    }
    Ok(tx.commit().await?)
}

/// Leaves something for the thread's history, in the transaction that makes it true.
///
/// # Errors
/// When the store does not answer.
pub async fn leave(tx: &mut SqliteConnection, thread: &ThreadKey, item: &Item) -> Result<(), sqlx::Error> {
    let now = now_ms(tx).await?;
    sqlx::query("INSERT INTO history_events (thread, event, created_at) VALUES ($1, $2, $3)")
        .bind(thread.to_string())
        .bind(serde_json::to_string(item).map_err(|e| sqlx::Error::Encode(Box::new(e)))?)
        .bind(now)
        .execute(tx)
        .await
        .map(drop)
}

/// Adds a turn's tokens to the thread's count and returns the new sum.
///
/// # Errors
/// When the store does not answer.
pub async fn count_tokens(work: &Work, lease: &Lease, tokens: u64) -> Result<i64, sqlx::Error> {
    let Work::Sqlite { write, .. } = work;
    sqlx::query_scalar("UPDATE threads SET tokens = tokens + $2 WHERE thread = $1 RETURNING tokens")
        .bind(&lease.thread)
        .bind(i64::try_from(tokens).unwrap_or(i64::MAX))
        .fetch_optional(write)
        .await
        .map(|sum| sum.unwrap_or(0))
}

/// One statement, so that a round costs one step to the store: the lease is looked at by the insert itself.
async fn insert(
    db: &mut SqliteConnection,
    lease: &Lease,
    turn: &str,
    round: i64,
    items: &[Item],
) -> Result<(), HistoryError> {
    let json = serde_json::to_string(items).map_err(|e| sqlx::Error::Encode(Box::new(e)))?;
    let inserted = sqlx::query(
        "INSERT INTO history (thread, seq, turn, round, items, tokens, at)
         SELECT $1, (SELECT coalesce(max(seq), 0) + 1 FROM history WHERE thread = $1), $2, $3, $4, $5,
                CAST(unixepoch('subsec') * 1000 AS INTEGER)
         WHERE EXISTS (SELECT 1 FROM leases WHERE thread = $1 AND epoch = $6)
         ON CONFLICT (thread, turn, round) DO NOTHING",
    )
    .bind(&lease.thread)
    .bind(turn)
    .bind(round)
    .bind(&json)
    .bind(i64::try_from(json.len() / 3).unwrap_or(i64::MAX))
    .bind(lease.epoch)
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
