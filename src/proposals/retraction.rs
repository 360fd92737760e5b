//! What becomes of waiting proposals when the message they were made from is changed or deleted.
//!
//! What it promises: only what waits is taken back, by one conditional statement, so a press is either in time or told
//! what happened; and whoever takes a request up again finds out that it did so before.

use super::row::{columns, read};
use crate::domain::{Proposal, ProposalId, ProposalState, ThreadKey, TurnId};
use crate::records::{self, Db, Tx};

/// Why a waiting proposal is taken back without a newer one in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retraction {
    /// Its person changed the words it was made from.
    Edited,
    /// They are gone.
    Deleted,
}

impl Retraction {
    /// The name in the store.
    pub fn code(self) -> &'static str {
        match self {
            Self::Edited => "message_edited",
            Self::Deleted => "message_deleted",
        }
    }

    /// Why a superseded proposal was taken back; `None` when a newer one replaced it.
    pub fn of(proposal: &Proposal) -> Option<Self> {
        let failure = proposal.failure.as_deref().filter(|_| proposal.state == ProposalState::Superseded);
        [Self::Edited, Self::Deleted].into_iter().find(|why| failure == Some(why.code()))
    }
}

/// Takes a waiting proposal back. `by` is the turn that takes the request up again, or the message's own. `None` when it
/// was decided already.
///
/// # Errors
/// When the store does not answer.
pub async fn retract(
    tx: &mut Tx,
    id: &ProposalId,
    why: Retraction,
    by: &TurnId,
) -> Result<Option<Proposal>, sqlx::Error> {
    records::query(concat!(
        "UPDATE proposals SET state = 'superseded', failure = $2, superseded_by = $3, settled_at = now_ms()
         WHERE id = $1 AND state = 'pending' RETURNING ",
        columns!("")
    ))
    .bind(id.as_str())
    .bind(why.code())
    .bind(by.as_str())
    .fetch_optional(tx)
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// Whether a turn took proposals back to take their request up again.
///
/// # Errors
/// When the store does not answer.
pub async fn retracted_by(db: impl Into<Db<'_>>, thread: &ThreadKey, by: &TurnId) -> Result<bool, sqlx::Error> {
    let found: i64 = records::query(
        "SELECT count(*) FROM proposals WHERE team = $1 AND channel = $2 AND root = $3 AND superseded_by = $4",
    )
    .bind(thread.team.as_str())
    .bind(thread.channel.as_str())
    .bind(thread.root.as_str())
    .bind(by.as_str())
    .scalar(db)
    .await?;
    Ok(found > 0)
}

/// The proposals made for one message, in whatever version of its words, and by the continuations of those turns.
/// `turn` is the message's own; the ids of the others begin with it.
///
/// # Errors
/// When the store does not answer.
pub async fn of_message(
    db: impl Into<Db<'_>>,
    thread: &ThreadKey,
    turn: &TurnId,
) -> Result<Vec<Proposal>, sqlx::Error> {
    records::query(concat!(
        "SELECT ",
        columns!(""),
        " FROM proposals WHERE team = $1 AND channel = $2 AND root = $3 AND substr(turn_id, 1, length($4)) = $4
         ORDER BY created_at, round, call_index"
    ))
    .bind(thread.team.as_str())
    .bind(thread.channel.as_str())
    .bind(thread.root.as_str())
    .bind(turn.as_str())
    .fetch_all(db)
    .await?
    .iter()
    .map(read)
    .collect()
}
