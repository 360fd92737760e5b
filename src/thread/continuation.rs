//! One more run of the loop, for what remained of a request once its cards are decided.
//!
//! The transaction that decides the last card leaves a row. One bot takes it, makes a job of it and keeps its lease
//! until the run has ended; whoever wants to run, propose or answer asks the row first. What that promises: however
//! many bots look, one of them runs it, and it is run although the bot that took it died. A bot that was only asleep
//! finds a higher epoch and leaves no trace.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::domain::{Person, Proposal, ThreadKey, TurnId};
use crate::records::{self, Db, Records, Tx};
use crate::thread::queue::{Job, Taken};
use crate::thread::turn::MAX_DEPTH;

/// One more run for a request all of whose proposals are decided, at least one of them by a person. Unique for each
/// turn and request, whoever settles last. `true` when this made it.
///
/// # Errors
/// When the store does not answer.
pub async fn begin_if_decided(tx: &mut Tx, proposal: &Proposal) -> Result<bool, sqlx::Error> {
    let depth = proposal.depth + 1;
    if depth > MAX_DEPTH {
        return Ok(false);
    }
    let begun = records::query(
        "INSERT INTO continuations (turn, origin_turn, thread, team, \"user\", depth, created_at)
         SELECT $1, $2, $3, $4, $5, $6, now_ms()
         WHERE NOT EXISTS (SELECT 1 FROM proposals WHERE origin_turn = $2
                           AND state IN ('pending', 'awaiting_manager', 'claimed'))
           AND EXISTS (SELECT 1 FROM proposals WHERE origin_turn = $2 AND turn_id = $1 AND decided_user IS NOT NULL)
         ON CONFLICT (turn, origin_turn) DO NOTHING",
    )
    .bind(proposal.turn.as_str())
    .bind(proposal.origin_turn.as_str())
    .bind(serde_json::to_string(&proposal.thread).map_err(|e| sqlx::Error::Encode(Box::new(e)))?)
    .bind(proposal.requester.team.as_str())
    .bind(proposal.requester.user.as_str())
    .bind(depth)
    .execute(tx)
    .await?;
    Ok(begun == 1)
}

/// A continuation that no living bot has taken.
#[derive(Debug)]
pub struct Continuation {
    /// The turn whose proposals are decided.
    pub turn: TurnId,
    /// The turn that began the request they belong to.
    pub origin: TurnId,
    /// How long ago the last card was decided, in milliseconds.
    pub age_ms: i64,
    /// What has to be done, unless the row cannot be read.
    pub remaining: Option<Remaining>,
}

/// Whose request goes on, and where.
#[derive(Clone, Debug)]
pub struct Remaining {
    /// The conversation.
    pub thread: ThreadKey,
    requester: Person,
    depth: u32,
}

impl Remaining {
    /// Of a row's columns. `None` when they are not what this program writes.
    pub fn read(thread: &str, requester: Person, depth: &str) -> Option<Self> {
        Some(Self { thread: serde_json::from_str(thread).ok()?, requester, depth: depth.parse().ok()? })
    }
}

/// One process's hold on continuations.
#[derive(Clone, Debug)]
pub struct Continuations {
    records: Records,
    /// The process, under a name that no other has.
    by: Arc<str>,
    span: Duration,
    /// It may have some; leases are renewed only then.
    holding: Arc<AtomicBool>,
}

impl Continuations {
    /// Of this process. A lease that is not renewed for `span` is over.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn new(records: Records, span: Duration) -> Result<Self, sqlx::Error> {
        let mut bytes = [0_u8; 12];
        getrandom::fill(&mut bytes).map_err(|e| sqlx::Error::Encode(e.to_string().into()))?;
        Ok(Self { records, by: hex::encode(bytes).into(), span, holding: Arc::default() })
    }

    /// How long a bot may be silent about what it has.
    pub fn span(&self) -> Duration {
        self.span
    }

    /// Takes one, and gives the job to be stored. `None` when another bot was faster.
    ///
    /// # Errors
    /// When the store does not answer; the lease then runs out by itself.
    pub async fn take(&self, of: &Continuation, remaining: &Remaining) -> Result<Option<Job>, sqlx::Error> {
        self.holding.store(true, Ordering::Relaxed);
        let epoch = records::query(
            "UPDATE continuations SET epoch = epoch + 1, taken_by = $3, taken_until = now_ms() + $4
             WHERE turn = $1 AND origin_turn = $2 AND ended_at IS NULL AND taken_until <= now_ms() RETURNING epoch",
        )
        .bind(of.turn.as_str())
        .bind(of.origin.as_str())
        .bind(&*self.by)
        .bind(millis(self.span))
        .scalar_optional::<i64>(self.records.durable())
        .await?;
        Ok(epoch.map(|epoch| Job::Continuation {
            origin: of.origin.clone(),
            thread: remaining.thread.clone(),
            requester: remaining.requester.clone(),
            depth: remaining.depth,
            taken: Some(Taken { turn: of.turn.clone(), epoch }),
        }))
    }

    /// Keeps what this process has.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn renew(&self) -> Result<(), sqlx::Error> {
        if !self.holding.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        let renewed = records::query(
            "UPDATE continuations SET taken_until = now_ms() + $2 WHERE taken_by = $1 AND ended_at IS NULL",
        )
        .bind(&*self.by)
        .bind(millis(self.span))
        .execute(self.records.quick())
        .await;
        if !matches!(renewed, Ok(0)) {
            self.holding.store(true, Ordering::Relaxed);
        }
        renewed.map(drop)
    }

    /// Gives back what this process has: the jobs may be lost. What still runs finds a higher epoch as soon as somebody
    /// has taken it again.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn give_back(&self) -> Result<(), sqlx::Error> {
        records::query("UPDATE continuations SET taken_until = 0 WHERE taken_by = $1 AND ended_at IS NULL")
            .bind(&*self.by)
            .execute(self.records.durable())
            .await
            .map(drop)
    }

    /// Whether the run is still this process's to do. In a transaction nobody else can take it before that has ended.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn hold(&self, db: impl Into<Db<'_>>, origin: &TurnId, taken: &Taken) -> Result<bool, sqlx::Error> {
        self.holding.store(true, Ordering::Relaxed);
        let held = records::query(
            "UPDATE continuations SET taken_by = $4, taken_until = now_ms() + $5
             WHERE turn = $1 AND origin_turn = $2 AND epoch = $3 AND ended_at IS NULL",
        )
        .bind(taken.turn.as_str())
        .bind(origin.as_str())
        .bind(taken.epoch)
        .bind(&*self.by)
        .bind(millis(self.span))
        .execute(db)
        .await?;
        Ok(held == 1)
    }

    /// [`Continuations::hold`] by itself.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn holds(&self, origin: &TurnId, taken: &Taken) -> Result<bool, sqlx::Error> {
        self.hold(self.records.durable(), origin, taken).await
    }

    /// The run has ended.
    ///
    /// # Errors
    /// When the store does not answer; the job is then run again and finds its answer.
    pub async fn end(&self, origin: &TurnId, taken: &Taken) -> Result<(), sqlx::Error> {
        records::query(
            "UPDATE continuations SET ended_at = now_ms()
             WHERE turn = $1 AND origin_turn = $2 AND epoch = $3 AND ended_at IS NULL",
        )
        .bind(taken.turn.as_str())
        .bind(origin.as_str())
        .bind(taken.epoch)
        .execute(self.records.durable())
        .await
        .map(drop)
    }

    /// A row that cannot be read is set aside: it stays to be looked at and holds up nobody. `false` when another bot did
    /// so.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn set_aside(&self, of: &Continuation) -> Result<bool, sqlx::Error> {
        let set = records::query(
            "UPDATE continuations SET ended_at = now_ms() WHERE turn = $1 AND origin_turn = $2 AND ended_at IS NULL",
        )
        .bind(of.turn.as_str())
        .bind(of.origin.as_str())
        .execute(self.records.quick())
        .await?;
        Ok(set == 1)
    }
}

/// Ends all leases, when no holder can be alive.
///
/// # Errors
/// When the store does not answer.
pub async fn free_all(records: &Records) -> Result<(), sqlx::Error> {
    records::query("UPDATE continuations SET taken_until = 0 WHERE ended_at IS NULL AND taken_until > 0")
        .execute(records.quick())
        .await
        .map(drop)
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
