//! One more run of the loop, for what remained of a request once its cards are decided.
//!
//! The transaction that decides the last card leaves a row; a duty makes a job of it. Both can happen twice without
//! harm: the row is unique for a turn and its request, and the job for a request and its depth.

use crate::domain::{Person, Proposal, TurnId};
use crate::proposals;
use crate::records::{self, Records, Row, Tx, now_ms};
use crate::thread::queue::Job;
use crate::thread::turn::MAX_DEPTH;

/// One more run for a request all of whose proposals are decided, at least one of them by a person. Unique for each
/// turn and request, whoever settles last.
///
/// # Errors
/// When the store does not answer.
pub async fn begin_if_decided(tx: &mut Tx, proposal: &Proposal) -> Result<(), sqlx::Error> {
    let all = proposals::of_origin(&mut *tx, &proposal.origin_turn).await?;
    let open = all.iter().any(|p| !p.state.is_final());
    let by_a_person = all.iter().any(|p| p.decided_by.is_some() && p.turn == proposal.turn);
    let depth = proposal.depth + 1;
    if open || !by_a_person || depth > MAX_DEPTH {
        return Ok(());
    }
    let now = now_ms(&mut *tx).await?;
    records::query(
        "INSERT INTO continuations (turn, origin_turn, thread, team, \"user\", depth, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (turn, origin_turn) DO NOTHING",
    )
    .bind(proposal.turn.as_str())
    .bind(proposal.origin_turn.as_str())
    .bind(serde_json::to_string(&proposal.thread).map_err(|e| sqlx::Error::Encode(Box::new(e)))?)
    .bind(proposal.requester.team.as_str())
    .bind(proposal.requester.user.as_str())
    .bind(depth)
    .bind(now)
    .execute(tx)
    .await
    .map(drop)
}

/// A continuation that no job was stored for yet.
#[derive(Debug)]
pub struct Continuation {
    /// The turn whose proposals are decided.
    pub turn: TurnId,
    /// The turn that began the request they belong to.
    pub origin: TurnId,
    /// The job that carries on, unless the row cannot be read.
    pub job: Result<Job, sqlx::Error>,
}

/// The continuations that no job was stored for yet, oldest first.
///
/// # Errors
/// When the store does not answer.
pub async fn due(records: &Records) -> Result<Vec<Continuation>, sqlx::Error> {
    let rows = records::query(
        "SELECT turn, origin_turn, thread, team, \"user\", depth FROM continuations WHERE enqueued_at IS NULL
         ORDER BY created_at LIMIT 100",
    )
    .fetch_all(records.read())
    .await?;
    let id = |row: &Row, column: &str| row.try_get::<String, _>(column).map(TurnId::new);
    rows.iter()
        .map(|row| Ok(Continuation { turn: id(row, "turn")?, origin: id(row, "origin_turn")?, job: job(row) }))
        .collect()
}

fn job(row: &Row) -> Result<Job, sqlx::Error> {
    Ok(Job::Continuation {
        origin: TurnId::new(row.try_get::<String, _>("origin_turn")?),
        thread: serde_json::from_str(&row.try_get::<String, _>("thread")?)
            .map_err(|e| sqlx::Error::Decode(Box::new(e)))?,
        requester: Person::new(row.try_get::<String, _>("team")?, row.try_get::<String, _>("user")?),
        depth: u32::try_from(row.try_get::<i64, _>("depth")?).map_err(|e| sqlx::Error::Decode(e.into()))?,
    })
}

/// A continuation's job is stored, or its row is set aside.
///
/// # Errors
/// When the store does not answer; the job is then pushed again and found to be a duplicate.
pub async fn enqueued(records: &Records, continuation: &Continuation) -> Result<(), sqlx::Error> {
    records::query(
        "UPDATE continuations SET enqueued_at = now_ms()
         WHERE turn = $1 AND origin_turn = $2",
    )
    .bind(continuation.turn.as_str())
    .bind(continuation.origin.as_str())
    .execute(records.quick())
    .await
    .map(drop)
}
