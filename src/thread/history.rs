//! What was said in a thread, for the model's next turn.
//!
//! Rows are rounds: the message (round 0), each model round with all its results, the answer. Appending is fenced by the
//! lease's epoch, so a worker that lost its thread writes nothing. What settled proposals add is written in the store
//! of record by the transaction that settles them and copied here, once and in order, before the next turn.

use crate::agent::Item;
use crate::domain::{ThreadKey, TurnId};
use crate::records::{self, Records, Tx};
use crate::thread::queue::Lease;
use crate::work::{self, Work};

mod gathered;
mod redis;
mod sqlite;

use gathered::Gathered;
pub use gathered::{Loaded, Said};

/// The round number of a turn's answer: after all others.
const ANSWER: i64 = 1_000;

/// Stands before the number of a fact that a settled proposal left, in place of a turn's id.
const EVENT: &str = "event:";

/// The lease is another's now.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Another worker has the thread; this one must stop.
    #[error("the lease on the thread was lost")]
    Fenced,
    /// The store did not answer.
    #[error("the store of work failed")]
    Store(#[from] work::Error),
}

impl From<sqlx::Error> for HistoryError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

/// One stored round.
struct Row {
    turn: String,
    round: i64,
    /// What it costs when it is shown to a model again.
    tokens: i64,
    /// When it was stored, in milliseconds since the epoch.
    at: i64,
    /// What the model used for the turn, on its answer.
    spent: i64,
    /// A list of [`Item`]s in JSON.
    items: String,
}

impl Row {
    fn new(turn: impl Into<String>, round: i64, items: &[Item], spent: u64) -> Result<Self, work::Error> {
        let items = serde_json::to_string(items).map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
        let tokens = i64::try_from(items.len() / 3).unwrap_or(i64::MAX);
        let spent = i64::try_from(spent).unwrap_or(i64::MAX);
        Ok(Self { turn: turn.into(), round, tokens, at: 0, spent, items })
    }

    /// The error itself may quote what people said.
    fn items(&self) -> Result<Vec<Item>, work::Error> {
        serde_json::from_str(&self.items).map_err(|_| work::Error::Unreadable)
    }
}

/// Reads a thread for a turn. `budget` is in tokens, counted as one for three bytes of JSON.
///
/// # Errors
/// When the store does not answer or holds what this program did not write.
pub async fn load(work: &Work, thread: &ThreadKey, turn: &TurnId, budget: i64) -> Result<Loaded, HistoryError> {
    let mut gathered = Gathered::new(turn, budget);
    match work {
        Work::Sqlite { read, .. } => sqlite::newest(read, thread, |row| gathered.take(row)).await?,
        Work::Redis(redis) => {
            for row in redis::newest(redis, thread, turn, budget).await? {
                if !gathered.take(row)? {
                    break;
                }
            }
        }
    }
    Ok(gathered.end())
}

/// Stores one round of a turn. Storing it again changes nothing.
///
/// # Errors
/// [`HistoryError::Fenced`] when the thread is another worker's.
pub async fn append(work: &Work, lease: &Lease, turn: &TurnId, round: u32, items: &[Item]) -> Result<(), HistoryError> {
    store(work, lease, &[Row::new(turn.as_str(), i64::from(round), items, 0)?], None).await
}

/// Stores a turn's answer, after all its rounds, and adds the tokens it used to the thread's count.
///
/// # Errors
/// [`HistoryError::Fenced`] when the thread is another worker's.
pub async fn append_answer(
    work: &Work,
    lease: &Lease,
    turn: &TurnId,
    items: &[Item],
    tokens: u64,
) -> Result<(), HistoryError> {
    store(work, lease, &[Row::new(turn.as_str(), ANSWER, items, tokens)?], None).await
}

/// Copies what settled proposals left for this thread.
///
/// # Errors
/// [`HistoryError::Fenced`] when the thread is another worker's.
pub async fn absorb(work: &Work, records: &Records, lease: &Lease) -> Result<(), HistoryError> {
    let applied = match work {
        Work::Sqlite { read, .. } => sqlite::applied(read, lease).await?,
        // The claim told it. Copied again, a fact is found to be there.
        Work::Redis(_) => lease.applied,
    };
    let events =
        records::query("SELECT id, event FROM history_events WHERE thread = $1 AND id > $2 ORDER BY id LIMIT 200")
            .bind(&lease.thread)
            .bind(applied)
            .fetch_all(records.read())
            .await?;
    let mut rows = Vec::with_capacity(events.len());
    let mut last = None;
    for event in events {
        let id: i64 = event.try_get("id")?;
        let item: Item = serde_json::from_str(&event.try_get::<String, _>("event")?)
            .map_err(|e| sqlx::Error::Decode(Box::new(e)))?;
        rows.push(Row::new(format!("{EVENT}{id}"), 0, &[item], 0)?);
        last = Some(id);
    }
    if rows.is_empty() { Ok(()) } else { store(work, lease, &rows, last).await }
}

/// A part of a turn that comes from elsewhere than its run.
#[derive(Debug)]
pub struct Restored {
    /// The turn.
    pub turn: TurnId,
    /// Its answer, and not what it began with.
    pub is_answer: bool,
    /// When it was said, in milliseconds since the epoch; 0 for now.
    pub at: i64,
    /// What was said.
    pub items: Vec<Item>,
}

/// Stores what was lost. What is there already stays.
///
/// # Errors
/// [`HistoryError::Fenced`] when the thread is another worker's.
pub async fn restore(work: &Work, lease: &Lease, parts: &[Restored]) -> Result<(), HistoryError> {
    let row = |part: &Restored| {
        let round = if part.is_answer { ANSWER } else { 1 };
        Row::new(part.turn.as_str(), round, &part.items, 0).map(|row| Row { at: part.at, ..row })
    };
    let rows = parts.iter().map(row).collect::<Result<Vec<_>, _>>()?;
    if rows.is_empty() { Ok(()) } else { store(work, lease, &rows, None).await }
}

/// Leaves something for the thread's history, in the transaction that makes it true.
///
/// # Errors
/// When the store does not answer.
pub async fn leave(tx: &mut Tx, thread: &ThreadKey, item: &Item) -> Result<(), sqlx::Error> {
    records::query("INSERT INTO history_events (thread, event, created_at) VALUES ($1, $2, now_ms())")
        .bind(thread.to_string())
        .bind(serde_json::to_string(item).map_err(|e| sqlx::Error::Encode(Box::new(e)))?)
        .execute(tx)
        .await
        .map(drop)
}

/// Whether a turn of a thread was run on this store.
///
/// # Errors
/// When the store does not answer.
pub async fn has(work: &Work, thread: &ThreadKey, turn: &TurnId) -> Result<bool, work::Error> {
    match work {
        Work::Sqlite { read, .. } => Ok(sqlite::has(read, thread, turn).await?),
        Work::Redis(redis) => redis::has(redis, thread, turn).await,
    }
}

/// What a request has used so far: model rounds and tool calls of its turn and of its continuations.
///
/// # Errors
/// When the store does not answer or holds what this program did not write.
pub async fn used(work: &Work, thread: &ThreadKey, origin: &TurnId) -> Result<(u32, u32), work::Error> {
    let rows = match work {
        Work::Sqlite { read, .. } => sqlite::of_request(read, thread, origin).await?,
        Work::Redis(redis) => redis::of_request(redis, thread, origin).await?,
    };
    let mut calls = 0;
    for row in &rows {
        calls += row.items()?.iter().filter(|item| matches!(item, Item::Call { .. })).count();
    }
    Ok((u32::try_from(rows.len()).unwrap_or(u32::MAX), u32::try_from(calls).unwrap_or(u32::MAX)))
}

/// The tokens a thread has used so far.
///
/// # Errors
/// When the store does not answer.
pub async fn session_tokens(work: &Work, thread: &ThreadKey) -> Result<i64, work::Error> {
    match work {
        Work::Sqlite { read, .. } => Ok(sqlite::session_tokens(read, thread).await?),
        Work::Redis(redis) => redis::session_tokens(redis, thread).await,
    }
}

/// The newest rounds of a thread, the oldest of them first.
pub(super) async fn last(work: &Work, thread: &ThreadKey, count: i64) -> Result<Vec<Shown>, work::Error> {
    let rows = match work {
        Work::Sqlite { read, .. } => sqlite::last(read, thread, count).await?,
        Work::Redis(redis) => redis::last(redis, thread, count).await?,
    };
    let shown =
        |row: Row| Ok(Shown { items: row.items()?, turn: row.turn, round: row.round, at: row.at, spent: row.spent });
    rows.into_iter().map(shown).collect()
}

/// A stored round, for who wants to look at it.
pub(super) struct Shown {
    /// Its turn.
    pub turn: String,
    /// Its number in the turn.
    pub round: i64,
    /// When it was stored, in milliseconds since the epoch.
    pub at: i64,
    /// What the model used for the turn, on its answer.
    pub spent: i64,
    /// What it holds.
    pub items: Vec<Item>,
}

/// Rounds that are all stored or none. `applied`: the last fact that is among them.
async fn store(work: &Work, lease: &Lease, rows: &[Row], applied: Option<i64>) -> Result<(), HistoryError> {
    match work {
        Work::Sqlite { write, .. } => sqlite::store(write, lease, rows, applied).await,
        Work::Redis(redis) => redis::store(redis, lease, rows, applied).await,
    }
}

#[cfg(test)]
mod tests;
