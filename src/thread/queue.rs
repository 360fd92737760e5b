//! The job queue: first-seen mark and job in one atomic step, one job at a time in a thread.
//!
//! What it promises: a job that was pushed is run until it is finished, by one worker at a time for each thread and in
//! the order of arrival. A worker that died is replaced when its lease runs out; a worker that was only asleep finds its
//! epoch outdated and can write nothing more.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::{MessageTs, Person, ThreadKey, TurnId};
use crate::work::{self, Work};

pub(super) mod redis;
mod sqlite;

/// Marks are kept longer than Slack may deliver an event again: three retries, then hourly for 24 h, and slack.
const SEEN_FOR: Duration = Duration::from_hours(26);

/// A thread in which nothing was asked for so long is forgotten: its history, and that the bot took part.
pub(super) const KEPT_FOR: Duration = Duration::from_hours(90 * 24);

/// What a thread has to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Job {
    /// Answer a person's message.
    Message(MessageJob),
    /// Carry out what remained of a request, now that its proposals are decided.
    Continuation {
        /// The turn that began the request.
        origin: TurnId,
        /// The conversation.
        thread: ThreadKey,
        /// For whom.
        requester: Person,
        /// How many continuations this makes.
        depth: u32,
        /// The hold on its row; none in jobs of versions that had no such hold.
        #[serde(default)]
        taken: Option<Taken>,
    },
}

/// A continuation's row as a bot took it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// The turn whose proposals are decided.
    pub turn: TurnId,
    /// Fences earlier holders off.
    pub epoch: i64,
}

/// A message for the bot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageJob {
    /// The turn that answers it.
    pub turn: TurnId,
    /// The conversation.
    pub thread: ThreadKey,
    /// Who wrote it.
    pub sender: Person,
    /// Where; a DM is answered in the open, elsewhere refusals are for the sender's eyes only.
    pub in_dm: bool,
    /// What was written, without the mention.
    pub text: String,
    /// The message's own timestamp.
    pub ts: MessageTs,
    /// A channel shared with another organisation.
    pub is_ext_shared: bool,
    /// A mention or a DM. `false` for a reply in a thread where the bot takes part: whoever may not ask is not told so
    /// then, since the words may have been meant for the others.
    #[serde(default = "yes")]
    pub addressed: bool,
    /// Files came with it; they are not read.
    #[serde(default)]
    pub has_files: bool,
    /// What became of the message, when this is about a message that was there before.
    #[serde(default)]
    pub change: Option<Change>,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Its author changed the words; the job has the new ones.
    Edited {
        /// When: tells one edit from the next.
        at: MessageTs,
    },
    /// It is gone.
    Deleted,
}

fn yes() -> bool {
    true
}

impl Job {
    /// The conversation.
    pub fn thread(&self) -> &ThreadKey {
        match self {
            Self::Message(m) => &m.thread,
            Self::Continuation { thread, .. } => thread,
        }
    }

    fn json(&self) -> Result<String, work::Error> {
        Ok(serde_json::to_string(self).map_err(|error| sqlx::Error::Encode(Box::new(error)))?)
    }

    /// The marks under which this job counts as seen: the event, and the message it speaks of.
    pub fn marks(&self, event_id: Option<&str>) -> Vec<String> {
        match self {
            Self::Message(m) => {
                let message = message_mark(&m.thread, &m.ts);
                let mut marks = vec![match &m.change {
                    None => message,
                    Some(Change::Edited { at }) => format!("edit:{message}:{at}"),
                    Some(Change::Deleted) => format!("gone:{message}"),
                }];
                marks.extend(event_id.map(|id| format!("e:{id}")));
                marks
            }
            // Taken again, it is another job.
            Self::Continuation { origin, depth, taken, .. } => {
                vec![format!("c:{origin}:{depth}:{}", taken.as_ref().map_or(0, |taken| taken.epoch))]
            }
        }
    }
}

/// The mark of a message, under which it counts as seen.
fn message_mark(thread: &ThreadKey, ts: &MessageTs) -> String {
    format!("m:{}:{}:{ts}", thread.team, thread.channel)
}

/// The turn that answers a message: a function of where it stands, so that every delivery of it is the same turn.
pub fn turn_id(thread: &ThreadKey, ts: &MessageTs) -> TurnId {
    use sha2::{Digest, Sha256};
    let hash = Sha256::digest(format!("turn:v1:{}:{}:{ts}", thread.team, thread.channel));
    TurnId::new(hex::encode(hash).chars().take(32).collect::<String>())
}

/// The turn that answers a message as it was changed at a time. It begins with the turn of the message itself.
pub fn edited_turn_id(thread: &ThreadKey, ts: &MessageTs, at: &MessageTs) -> TurnId {
    use sha2::{Digest, Sha256};
    let hash: String = hex::encode(Sha256::digest(at.as_str())).chars().take(8).collect();
    TurnId::new(format!("{}e{hash}", turn_id(thread, ts)))
}

/// What [`push`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// Stored; a worker will run it.
    New,
    /// Seen before; nothing was stored.
    Duplicate,
}

/// A job in a worker's hands, with the lease on its thread.
#[derive(Debug)]
pub struct Claimed {
    id: i64,
    /// What to do.
    pub job: Job,
    /// How often it was begun, this time included.
    pub attempts: i64,
    /// The lease on the job's thread.
    pub lease: Lease,
    /// There may be more to claim at this moment. What comes in later wakes the workers.
    pub more: bool,
}

/// The right to write a thread's history until it runs out.
#[derive(Clone, Debug)]
pub struct Lease {
    /// The thread's stored key.
    pub thread: String,
    /// Fences earlier holders off.
    pub epoch: i64,
    /// On Redis, the last fact that was copied into the history: told by the claim, which saves a step.
    pub(super) applied: i64,
}

/// Stores a job unless one of its marks was seen.
///
/// # Errors
/// When the store does not answer; on SQLite nothing was stored then, on Redis the job may have been.
pub async fn push(work: &Work, job: &Job, event_id: Option<&str>) -> Result<Pushed, work::Error> {
    match work {
        Work::Sqlite { write, .. } => Ok(sqlite::push(write, job, event_id).await?),
        Work::Redis(redis) => redis::push(redis, job, event_id).await,
    }
}

/// Whether a message was taken in, during the last day.
///
/// # Errors
/// When the store does not answer.
pub async fn seen(work: &Work, thread: &ThreadKey, ts: &MessageTs) -> Result<bool, work::Error> {
    let mark = message_mark(thread, ts);
    match work {
        Work::Sqlite { read, .. } => Ok(sqlite::seen(read, &mark).await?),
        Work::Redis(redis) => redis::seen(redis, thread, &mark).await,
    }
}

/// Lets a message count as seen: whatever brings its first version later comes too late.
///
/// # Errors
/// When the store does not answer.
pub async fn see(work: &Work, thread: &ThreadKey, ts: &MessageTs) -> Result<(), work::Error> {
    let mark = message_mark(thread, ts);
    match work {
        Work::Sqlite { write, .. } => Ok(sqlite::see(write, &mark).await?),
        Work::Redis(redis) => redis::see(redis, thread, &mark).await,
    }
}

/// Whether the bot takes part in a thread, so that a reply there is meant for it without a mention.
///
/// # Errors
/// When the store does not answer.
pub async fn joined(work: &Work, thread: &ThreadKey) -> Result<bool, work::Error> {
    match work {
        Work::Sqlite { read, .. } => Ok(sqlite::joined(read, thread).await?),
        Work::Redis(redis) => redis::joined(redis, thread).await,
    }
}

/// Hands out the first job of a thread that is free, of those the one that has waited longest, and leases the thread. A
/// job that cannot be read is set aside, so that it holds up nobody.
///
/// # Errors
/// When the store does not answer; a thread may have been leased then, until the lease runs out.
pub async fn claim(work: &Work, lease: Duration) -> Result<Option<Claimed>, work::Error> {
    match work {
        Work::Sqlite { write, .. } => Ok(sqlite::claim(write, lease).await?),
        Work::Redis(redis) => redis::claim(redis, lease).await,
    }
}

/// Said when a while has passed without a word of new work: leases run out silently.
pub fn look_everywhere(work: &Work) {
    if let Work::Redis(redis) = work {
        redis.all_due();
    }
}

/// Keeps a thread's lease. `false` when another worker has it.
///
/// # Errors
/// When the store does not answer.
pub async fn renew(work: &Work, lease: &Lease, span: Duration) -> Result<bool, work::Error> {
    match work {
        Work::Sqlite { write, .. } => Ok(sqlite::renew(write, lease, span).await?),
        Work::Redis(redis) => redis::renew(redis, lease, span).await,
    }
}

/// The job is done: it is removed and the thread is free. `false` when the thread has nothing more to do; a file does not
/// say that.
///
/// # Errors
/// When the store does not answer; the job is then run again.
pub async fn finish(work: &Work, claimed: &Claimed) -> Result<bool, work::Error> {
    match work {
        Work::Sqlite { write, .. } => {
            sqlite::finish(write, claimed).await?;
            Ok(true)
        }
        Work::Redis(redis) => redis::finish(redis, claimed).await,
    }
}

/// The job could not be done now: it is due again after a pause and the thread is free.
///
/// # Errors
/// When the store does not answer; the lease then runs out by itself.
pub async fn retry(work: &Work, claimed: &Claimed, pause: Duration) -> Result<(), work::Error> {
    match work {
        Work::Sqlite { write, .. } => Ok(sqlite::retry(write, claimed, pause).await?),
        Work::Redis(redis) => redis::retry(redis, claimed, pause).await,
    }
}

/// At the start of the only process that works on a file: whoever held a lease is gone. Epochs stay, so a former
/// holder that is only asleep is fenced off all the same. On Redis others work: leases run out there.
///
/// # Errors
/// When the store does not answer.
pub async fn free_all(work: &Work) -> Result<(), work::Error> {
    match work {
        Work::Sqlite { write, .. } => Ok(sqlite::free_all(write).await?),
        Work::Redis(_) => Ok(()),
    }
}

/// How many jobs wait or run.
///
/// # Errors
/// When the store does not answer.
pub async fn depth(work: &Work) -> Result<i64, work::Error> {
    match work {
        Work::Sqlite { read, .. } => Ok(sqlite::depth(read).await?),
        Work::Redis(redis) => redis::depth(redis).await,
    }
}

/// A job that waits or runs, for who wants to look at it.
pub(super) struct Waiting {
    /// When it came in, in milliseconds since the epoch.
    pub at: i64,
    /// A worker has it.
    pub runs: bool,
    /// How often it was begun.
    pub attempts: i64,
}

/// The first jobs of a thread.
pub(super) async fn of_thread(work: &Work, thread: &ThreadKey, count: i64) -> Result<Vec<Waiting>, work::Error> {
    match work {
        Work::Sqlite { read, .. } => Ok(sqlite::of_thread(read, thread, count).await?),
        Work::Redis(redis) => redis::of_thread(redis, thread, count).await,
    }
}

/// Forgets what would grow for ever: marks older than any repeated delivery, and threads that nobody has used for months
/// with their history and their lease. In Redis each key ends by itself.
///
/// The next message in such a thread begins anew, and what its proposals came to is copied from the records once more.
/// Epochs of a file count from one again, which no worker can have slept through.
///
/// # Errors
/// When the store does not answer.
pub async fn sweep(work: &Work) -> Result<(), work::Error> {
    match work {
        Work::Sqlite { write, .. } => Ok(sqlite::sweep(write).await?),
        Work::Redis(_) => Ok(()),
    }
}

/// The error itself may quote the job, which holds a person's words.
fn unreadable(job: i64, error: &serde_json::Error) {
    metrics::counter!("jobs_unreadable_total").increment(1);
    tracing::error!(job, kind = ?error.classify(), "a job cannot be read and is removed");
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
