//! The state machine of a proposed write: create, claim, settle, cancel, expire, supersede.
//!
//! What it promises: each change is one conditional statement inside the caller's transaction, so whichever of two
//! racing changes comes second finds nothing to change and is told what happened instead. A [`ClaimedProposal`] is the
//! only key to carrying a write out, and only [`claim`] and [`take_over`] make one. The lease on a claim saves work;
//! correctness comes from the proposal's id being unique at the sales server and from the epoch checked by [`settle`].
//!
//! ```text
//! pending ──► claimed ──► done | failed
//!    ├──► cancelled
//!    ├──► expired
//!    └──► superseded
//! ```

use std::time::Duration;

use serde_json::Value;

use crate::domain::{Grounds, Lang, Person, Proposal, ProposalId, ProposalState, ThreadKey, TurnId, Write};
use crate::records::{self, Db, Records, Row, Tx, now_ms};
use crate::tokens;

mod retraction;
mod row;

pub use retraction::{Retraction, of_message, retract, retracted_by};
pub(crate) use row::columns;
use row::{corrupt, read};

/// A claimed proposal's columns, with the name that its card shows.
macro_rules! claimed_columns {
    () => {
        concat!(
            columns!(""),
            ", (SELECT display_name FROM staff WHERE staff.team = requester_team AND staff.\"user\" = requester_user)
               AS requester_name"
        )
    };
}

/// What may be set about proposals.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How long a card waits for its person, in seconds.
    pub expiry_s: u64,
    /// How long a claim is left alone before another executor takes it over, in milliseconds.
    pub claim_lease_ms: u64,
    /// How long an executor waits before a call whose outcome is unknown is made again, in milliseconds.
    pub retry_pause_ms: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { expiry_s: 24 * 3600, claim_lease_ms: 20_000, retry_pause_ms: 2_000 }
    }
}

/// Where in a turn a proposal was made: at most one proposal for each, however often the turn is run again.
#[derive(Clone, Debug)]
pub struct Slot {
    /// The turn.
    pub turn: TurnId,
    /// The model round within the turn.
    pub round: u32,
    /// The call within the round.
    pub call_index: u32,
    /// The turn whose continuation the decision may start.
    pub origin_turn: TurnId,
    /// How many continuations led to this turn.
    pub depth: u32,
}

/// A new proposal, before it has an id.
#[derive(Clone, Debug)]
pub struct New {
    /// Where it was made.
    pub slot: Slot,
    /// The conversation.
    pub thread: ThreadKey,
    /// For whom; the only one who may press.
    pub requester: Person,
    /// The card's language.
    pub lang: Lang,
    /// The write as the card will show it.
    pub write: Write,
    /// Where its values came from, for the card.
    pub grounds: Grounds,
    /// How long the card waits.
    pub expiry: Duration,
}

/// The one permission to carry a write out. Not `Clone`, and no other module can make one.
#[derive(Debug)]
pub struct ClaimedProposal {
    proposal: Proposal,
    approver: Person,
    epoch: i64,
    click: String,
    requester_name: Option<String>,
    trouble: Option<String>,
    tries: u32,
}

impl ClaimedProposal {
    /// The write as shown on the card.
    pub fn write(&self) -> &Write {
        &self.proposal.write
    }

    /// The proposal as it stood when it was claimed.
    pub fn proposal(&self) -> &Proposal {
        &self.proposal
    }

    /// Who pressed.
    pub fn approver(&self) -> &Person {
        &self.approver
    }

    /// The press it is carried out for.
    pub fn click(&self) -> &str {
        &self.click
    }

    /// What colleagues call the requester, if there is a record.
    pub fn requester_name(&self) -> Option<&str> {
        self.requester_name.as_deref()
    }

    /// How often its outcome stayed unknown for this reason, if it does so once more; 1 when the reason is a new one.
    pub fn tries(&self, trouble: &str) -> u32 {
        if self.trouble.as_deref() == Some(trouble) { self.tries.saturating_add(1) } else { 1 }
    }
}

/// A proposal as it was read, before a press is weighed.
#[derive(Debug)]
pub struct Standing {
    /// The proposal.
    pub proposal: Proposal,
    claim_click: Option<String>,
}

/// What a press on "confirm" led to.
#[derive(Debug)]
pub enum Claim {
    /// Go: the write may be carried out.
    Claimed(Box<ClaimedProposal>),
    /// This very press was accepted before and is being carried out by a live executor.
    Running,
    /// Another transaction is at it and has not ended.
    Busy,
    /// Somebody pressed before; the state says what came of it.
    AlreadyDecided(Box<Proposal>),
    /// The presser is not the one who asked.
    NotYours(Box<Proposal>),
    /// The card's time is over.
    Expired(Box<Proposal>),
    /// A newer card took its place.
    Superseded(Box<Proposal>),
}

/// How a claimed write ended, for certain.
#[derive(Debug, Clone, PartialEq)]
pub enum Settlement {
    /// Written; the sales server's row.
    Done(Value),
    /// Definitely refused; the sales server's error code.
    Failed(String),
}

/// Makes other transactions on this conversation's proposals wait until this one has ended: whether a request is decided
/// depends on all of its proposals, and what they leave for the history is copied in the order of its ids. A claim needs
/// no such lock: it decides nothing.
///
/// # Errors
/// When it cannot be had in time.
pub async fn lock_thread(tx: &mut Tx, thread: &ThreadKey) -> Result<(), sqlx::Error> {
    records::lock(tx, &lock_name(thread)).await
}

/// [`lock_thread`] for those who can come again: `false` when another transaction has the conversation.
///
/// # Errors
/// When the store does not answer.
pub async fn try_lock_thread(tx: &mut Tx, thread: &ThreadKey) -> Result<bool, sqlx::Error> {
    records::try_lock(tx, &lock_name(thread)).await
}

fn lock_name(thread: &ThreadKey) -> String {
    format!("{}:{}:{}", thread.team.as_str(), thread.channel.as_str(), thread.root.as_str())
}

/// Puts a proposal into its slot and returns what stands there: when the turn is run again, the first version.
///
/// # Errors
/// When the store does not answer.
pub async fn create(tx: &mut Tx, new: &New) -> Result<Proposal, sqlx::Error> {
    let now = now_ms(&mut *tx).await?;
    let write = tokens::canonical(&new.write).map_err(|e| sqlx::Error::Encode(Box::new(e)))?;
    let grounds = serde_json::to_string(&new.grounds).map_err(|e| sqlx::Error::Encode(Box::new(e)))?;
    records::query(
        "INSERT INTO proposals (id, turn_id, round, call_index, origin_turn, depth, team, channel, root,
                requester_team, requester_user, lang, tool, write, digest, state, created_at, expires_at, grounds)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 'pending', $16, $17, $18)
         ON CONFLICT (turn_id, round, call_index) DO NOTHING",
    )
    .bind(new_id()?)
    .bind(new.slot.turn.as_str())
    .bind(new.slot.round)
    .bind(new.slot.call_index)
    .bind(new.slot.origin_turn.as_str())
    .bind(new.slot.depth)
    .bind(new.thread.team.as_str())
    .bind(new.thread.channel.as_str())
    .bind(new.thread.root.as_str())
    .bind(new.requester.team.as_str())
    .bind(new.requester.user.as_str())
    .bind(new.lang.code())
    .bind(new.write.tool())
    .bind(write)
    .bind(tokens::digest(&new.write))
    .bind(now)
    .bind(now.saturating_add(i64::try_from(new.expiry.as_millis()).unwrap_or(i64::MAX)))
    .bind(grounds)
    .execute(&mut *tx)
    .await?;
    let row = records::query(concat!(
        "SELECT ",
        columns!(""),
        " FROM proposals WHERE turn_id = $1 AND round = $2 AND call_index = $3"
    ))
    .bind(new.slot.turn.as_str())
    .bind(new.slot.round)
    .bind(new.slot.call_index)
    .fetch_one(tx)
    .await?;
    read(&row)
}

/// 160 random bits in base64url.
fn new_id() -> Result<String, sqlx::Error> {
    use base64::Engine;
    let mut bytes = [0_u8; 20];
    getrandom::fill(&mut bytes).map_err(|e| sqlx::Error::Encode(e.to_string().into()))?;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
}

/// The proposal, if there is one.
///
/// # Errors
/// When the store does not answer or holds what this program did not write.
pub async fn find(db: impl Into<Db<'_>>, id: &ProposalId) -> Result<Option<Proposal>, sqlx::Error> {
    records::query(concat!("SELECT ", columns!(""), " FROM proposals WHERE id = $1"))
        .bind(id.as_str())
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(read)
        .transpose()
}

/// The proposals made by one turn, in the order they were made.
///
/// # Errors
/// When the store does not answer.
pub async fn of_turn(db: impl Into<Db<'_>>, turn: &TurnId) -> Result<Vec<Proposal>, sqlx::Error> {
    records::query(concat!("SELECT ", columns!(""), " FROM proposals WHERE turn_id = $1 ORDER BY round, call_index"))
        .bind(turn.as_str())
        .fetch_all(db)
        .await?
        .iter()
        .map(read)
        .collect()
}

/// All proposals that belong to one request: those of its turn and of its continuations.
///
/// # Errors
/// When the store does not answer.
pub async fn of_origin(db: impl Into<Db<'_>>, origin: &TurnId) -> Result<Vec<Proposal>, sqlx::Error> {
    records::query(concat!(
        "SELECT ",
        columns!(""),
        " FROM proposals WHERE origin_turn = $1 ORDER BY created_at, round, call_index"
    ))
    .bind(origin.as_str())
    .fetch_all(db)
    .await?
    .iter()
    .map(read)
    .collect()
}

/// What [`Claim`] weighs, of a row with `columns!`. `None` when it holds no proposal.
///
/// # Errors
/// When it holds what this program did not write.
pub fn standing(row: &Row) -> Result<Option<Standing>, sqlx::Error> {
    if row.try_get::<Option<String>, _>("id")?.is_none() {
        return Ok(None);
    }
    Ok(Some(Standing { proposal: read(row)?, claim_click: row.try_get("claim_click")? }))
}

/// Claims for a press on "confirm". Whether the presser still has the rights is checked by the caller before, in the
/// same transaction; that the presser is the requester is checked here.
///
/// # Errors
/// When the store does not answer.
pub async fn claim(
    tx: &mut Tx,
    standing: Standing,
    click: &str,
    who: &Person,
    lease: Duration,
) -> Result<Claim, sqlx::Error> {
    let Standing { mut proposal, mut claim_click } = standing;
    if proposal.requester == *who && proposal.state == ProposalState::Pending {
        if let Some(claimed) = claim_pending(tx, &proposal.id, click, who, lease).await? {
            return Ok(Claim::Claimed(Box::new(claimed)));
        }
        // Its time is over, or it was decided since it was read, or is being decided.
        let now = records::query(concat!(
            "SELECT ",
            columns!(""),
            ", expires_at <= now_ms() AS is_overdue FROM proposals WHERE id = $1"
        ))
        .bind(proposal.id.as_str())
        .fetch_one(&mut *tx)
        .await?;
        (proposal, claim_click) = (read(&now)?, now.try_get("claim_click")?);
        if proposal.state == ProposalState::Pending && !now.try_get::<bool, _>("is_overdue")? {
            return Ok(Claim::Busy);
        }
    }
    if proposal.requester != *who {
        return Ok(Claim::NotYours(Box::new(proposal)));
    }
    let ours = claim_click.as_deref() == Some(click);
    Ok(match proposal.state {
        ProposalState::Claimed if ours => match take_over(tx, &proposal.id, lease).await? {
            Some(claimed) => Claim::Claimed(Box::new(claimed)),
            None => Claim::Running,
        },
        ProposalState::Expired | ProposalState::Pending => Claim::Expired(Box::new(proposal)),
        ProposalState::Superseded => Claim::Superseded(Box::new(proposal)),
        _ => Claim::AlreadyDecided(Box::new(proposal)),
    })
}

async fn claim_pending(
    tx: &mut Tx,
    id: &ProposalId,
    click: &str,
    who: &Person,
    lease: Duration,
) -> Result<Option<ClaimedProposal>, sqlx::Error> {
    records::query(concat!(
        "WITH clock AS MATERIALIZED (SELECT now_ms() AS now)
         UPDATE proposals SET state = 'claimed', epoch = epoch + 1, claim_until = clock.now + $5, claim_click = $2,
                decided_team = $3, decided_user = $4, decided_at = clock.now
         FROM clock
         WHERE id = (SELECT c.id FROM proposals c WHERE c.id = $1 AND c.state = 'pending' FOR UPDATE OF c SKIP LOCKED)
           AND expires_at > clock.now AND requester_team = $3 AND requester_user = $4
         RETURNING ",
        claimed_columns!()
    ))
    .bind(id.as_str())
    .bind(click)
    .bind(who.team.as_str())
    .bind(who.user.as_str())
    .bind(millis(lease))
    .fetch_optional(tx)
    .await?
    .as_ref()
    .map(read_claimed)
    .transpose()
}

/// Takes over a claim whose executor let its lease run out.
///
/// # Errors
/// When the store does not answer.
pub async fn take_over(
    db: impl Into<Db<'_>>,
    id: &ProposalId,
    lease: Duration,
) -> Result<Option<ClaimedProposal>, sqlx::Error> {
    records::query(concat!(
        "UPDATE proposals SET epoch = epoch + 1, claim_until = now_ms() + $2
         WHERE id = $1 AND state = 'claimed' AND claim_until <= now_ms() RETURNING ",
        claimed_columns!()
    ))
    .bind(id.as_str())
    .bind(millis(lease))
    .fetch_optional(db)
    .await?
    .as_ref()
    .map(read_claimed)
    .transpose()
}

/// Ends all leases on claims, when no executor can be alive.
///
/// # Errors
/// When the store does not answer.
pub async fn free_all(records: &Records) -> Result<(), sqlx::Error> {
    records::query("UPDATE proposals SET claim_until = 0 WHERE state = 'claimed'")
        .execute(records.durable())
        .await
        .map(drop)
}

/// Gives a claim's lease back after an unknown outcome, so that the next executor need not wait the whole lease. `false`
/// when a later executor has taken over: then nothing was changed.
///
/// # Errors
/// When the store does not answer.
pub async fn retry_after(
    db: impl Into<Db<'_>>,
    claimed: &ClaimedProposal,
    trouble: &str,
    pause: Duration,
) -> Result<bool, sqlx::Error> {
    let given = records::query(
        "UPDATE proposals SET claim_until = now_ms() + $3, trouble = $4, tries = $5
         WHERE id = $1 AND state = 'claimed' AND epoch = $2",
    )
    .bind(claimed.proposal.id.as_str())
    .bind(claimed.epoch)
    .bind(millis(pause))
    .bind(trouble)
    .bind(claimed.tries(trouble))
    .execute(db)
    .await?;
    Ok(given == 1)
}

/// Records how a claimed write ended. `None` when a later executor has taken over: then nothing was changed.
///
/// # Errors
/// When the store does not answer.
pub async fn settle(
    tx: &mut Tx,
    claimed: &ClaimedProposal,
    settlement: &Settlement,
) -> Result<Option<Proposal>, sqlx::Error> {
    let (state, result, failure) = match settlement {
        Settlement::Done(row) => ("done", Some(row.to_string()), None),
        Settlement::Failed(code) => ("failed", None, Some(code.as_str())),
    };
    records::query(concat!(
        "UPDATE proposals SET state = $3, result = $4, failure = $5, settled_at = now_ms(), claim_until = 0
         WHERE id = $1 AND state = 'claimed' AND epoch = $2 RETURNING ",
        columns!("")
    ))
    .bind(claimed.proposal.id.as_str())
    .bind(claimed.epoch)
    .bind(state)
    .bind(result)
    .bind(failure)
    .fetch_optional(tx)
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// A press on "cancel". `None` when it was no longer pending, or the presser is not the requester.
///
/// # Errors
/// When the store does not answer.
pub async fn cancel(tx: &mut Tx, id: &ProposalId, who: &Person) -> Result<Option<Proposal>, sqlx::Error> {
    records::query(concat!(
        "WITH clock AS MATERIALIZED (SELECT now_ms() AS now)
         UPDATE proposals SET state = 'cancelled', decided_team = $2, decided_user = $3, decided_at = clock.now,
                settled_at = clock.now
         FROM clock
         WHERE id = $1 AND state = 'pending' AND expires_at > clock.now AND requester_team = $2 AND requester_user = $3
         RETURNING ",
        columns!("")
    ))
    .bind(id.as_str())
    .bind(who.team.as_str())
    .bind(who.user.as_str())
    .fetch_optional(tx)
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// Ends a proposal whose time is over. `None` when a press was faster or its time is not over.
///
/// # Errors
/// When the store does not answer.
pub async fn expire(tx: &mut Tx, id: &ProposalId) -> Result<Option<Proposal>, sqlx::Error> {
    records::query(concat!(
        "UPDATE proposals SET state = 'expired', settled_at = now_ms()
         WHERE id = $1 AND state = 'pending' AND expires_at <= now_ms() RETURNING ",
        columns!("")
    ))
    .bind(id.as_str())
    .fetch_optional(tx)
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// Ends a proposal before its time because its card cannot be shown. `None` when it was no longer pending.
///
/// # Errors
/// When the store does not answer.
pub async fn withdraw(tx: &mut Tx, id: &ProposalId) -> Result<Option<Proposal>, sqlx::Error> {
    let now = now_ms(&mut *tx).await?;
    records::query(concat!(
        "UPDATE proposals SET state = 'expired', settled_at = $2, expires_at = $2
         WHERE id = $1 AND state = 'pending' RETURNING ",
        columns!("")
    ))
    .bind(id.as_str())
    .bind(now)
    .fetch_optional(tx)
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// Replaces a waiting proposal of the same person and conversation by a newer one. `None` when it was decided already,
/// or is not theirs.
///
/// # Errors
/// When the store does not answer.
pub async fn supersede(tx: &mut Tx, old: &ProposalId, by: &Proposal) -> Result<Option<Proposal>, sqlx::Error> {
    records::query(concat!(
        "UPDATE proposals SET state = 'superseded', superseded_by = $2, settled_at = now_ms()
         WHERE id = $1 AND id <> $2 AND state = 'pending' AND requester_team = $3 AND requester_user = $4
           AND team = $5 AND channel = $6 AND root = $7
         RETURNING ",
        columns!("")
    ))
    .bind(old.as_str())
    .bind(by.id.as_str())
    .bind(by.requester.team.as_str())
    .bind(by.requester.user.as_str())
    .bind(by.thread.team.as_str())
    .bind(by.thread.channel.as_str())
    .bind(by.thread.root.as_str())
    .fetch_optional(tx)
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// Confirmed writes whose outcome is not known yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// How many.
    pub writes: i64,
    /// For how long the oldest has waited.
    pub oldest: Duration,
    /// Why one of them waits, where that was learned.
    pub trouble: Option<String>,
}

/// Counts the confirmed writes whose outcome is not known yet.
///
/// # Errors
/// When the store does not answer.
pub async fn unfinished(records: &Records) -> Result<Unfinished, sqlx::Error> {
    let row = records::query(
        "SELECT count(*) AS writes, now_ms() - min(decided_at) AS oldest, min(trouble) AS trouble
         FROM proposals WHERE state = 'claimed'",
    )
    .fetch_one(records.read())
    .await?;
    let oldest: Option<i64> = row.try_get("oldest")?;
    let oldest = Duration::from_millis(u64::try_from(oldest.unwrap_or(0)).unwrap_or(0));
    Ok(Unfinished { writes: row.try_get("writes")?, oldest, trouble: row.try_get("trouble")? })
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

fn read_claimed(row: &Row) -> Result<ClaimedProposal, sqlx::Error> {
    let proposal = read(row)?;
    let approver = proposal.decided_by.clone().ok_or_else(|| corrupt("decided_user"))?;
    Ok(ClaimedProposal {
        approver,
        epoch: row.try_get("epoch")?,
        click: row.try_get("claim_click")?,
        requester_name: row.try_get("requester_name")?,
        trouble: row.try_get("trouble")?,
        tries: u32::try_from(row.try_get::<i64, _>("tries")?).map_err(|_| corrupt("tries"))?,
        proposal,
    })
}

#[cfg(test)]
pub(crate) mod tests;
