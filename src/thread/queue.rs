//! The job queue: first-seen mark and job in one atomic step, one job at a time in a thread.
//!
//! What it promises: a job that was pushed is run until it is finished, by one worker at a time for each thread and in
//! the order of arrival. A worker that died is replaced when its lease runs out; a worker that was only asleep finds its
//! epoch outdated and can write nothing more.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use sqlx::{Row, SqliteConnection};

use crate::domain::{MessageTs, Person, ThreadKey, TurnId};
use crate::work::Work;

/// Marks are kept longer than Slack may deliver an event again: three retries, then hourly for 24 h, and slack.
const SEEN_FOR: Duration = Duration::from_hours(26);

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
    },
}

/// A message addressed to the bot.
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
}

impl Job {
    /// The conversation.
    pub fn thread(&self) -> &ThreadKey {
        match self {
            Self::Message(m) => &m.thread,
            Self::Continuation { thread, .. } => thread,
        }
    }

    /// The marks under which this job counts as seen: the event, and the message it speaks of.
    pub fn marks(&self, event_id: Option<&str>) -> Vec<String> {
        match self {
            Self::Message(m) => {
                let mut marks = vec![format!("m:{}:{}:{}", m.thread.team, m.thread.channel, m.ts)];
                marks.extend(event_id.map(|id| format!("e:{id}")));
                marks
            }
            Self::Continuation { origin, depth, .. } => vec![format!("c:{origin}:{depth}")],
        }
    }
}

/// The turn that answers a message: a function of where it stands, so that every delivery of it is the same turn.
pub fn turn_id(thread: &ThreadKey, ts: &MessageTs) -> TurnId {
    use sha2::{Digest, Sha256};
    let hash = Sha256::digest(format!("turn:v1:{}:{}:{ts}", thread.team, thread.channel));
    TurnId::new(hex::encode(hash).chars().take(32).collect::<String>())
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
}

/// The right to write a thread's history until it runs out.
#[derive(Clone, Debug)]
pub struct Lease {
    /// The thread's stored key.
    pub thread: String,
    /// Fences earlier holders off.
    pub epoch: i64,
}

/// Stores a job unless one of its marks was seen.
///
/// # Errors
/// When the store does not answer; nothing was stored then.
pub async fn push(work: &Work, job: &Job, event_id: Option<&str>) -> Result<Pushed, sqlx::Error> {
    let Work::Sqlite { write, .. } = work;
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
            "INSERT INTO threads (thread, joined, at) VALUES ($1, 1, CAST(unixepoch('subsec') * 1000 AS INTEGER))
             ON CONFLICT (thread) DO UPDATE SET at = excluded.at, joined = 1",
        )
        .bind(&thread)
        .execute(&mut *tx)
        .await?;
    }
    tx.commit().await?;
    Ok(if fresh { Pushed::New } else { Pushed::Duplicate })
}

/// Whether the bot takes part in a thread, so that a reply there is meant for it without a mention.
///
/// # Errors
/// When the store does not answer.
pub async fn joined(work: &Work, thread: &ThreadKey) -> Result<bool, sqlx::Error> {
    let Work::Sqlite { read, .. } = work;
    sqlx::query_scalar::<_, bool>("SELECT joined FROM threads WHERE thread = $1")
        .bind(thread.to_string())
        .fetch_optional(read)
        .await
        .map(|joined| joined.unwrap_or(false))
}

/// Hands out the oldest job whose thread is free, and leases the thread.
///
/// # Errors
/// When the store does not answer.
pub async fn claim(work: &Work, lease: Duration) -> Result<Option<Claimed>, sqlx::Error> {
    let Work::Sqlite { write, .. } = work;
    let mut tx = write.begin_with("BEGIN IMMEDIATE").await?;
    let Some(row) = sqlx::query(
        "WITH clock AS MATERIALIZED (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now)
         SELECT j.id, j.thread, j.job, now FROM clock, jobs j LEFT JOIN leases l ON l.thread = j.thread
         WHERE j.due_at <= now AND coalesce(l.until, 0) <= now
           AND NOT EXISTS (SELECT 1 FROM jobs k WHERE k.thread = j.thread AND k.id < j.id)
         ORDER BY j.id LIMIT 1",
    )
    .fetch_optional(&mut *tx)
    .await?
    else {
        return Ok(None);
    };
    let (id, thread): (i64, String) = (row.try_get("id")?, row.try_get("thread")?);
    let epoch: i64 = sqlx::query_scalar(
        "INSERT INTO leases (thread, epoch, until) VALUES ($1, 1, $2)
         ON CONFLICT (thread) DO UPDATE SET epoch = epoch + 1, until = $2 RETURNING epoch",
    )
    .bind(&thread)
    .bind(row.try_get::<i64, _>("now")?.saturating_add(millis(lease)))
    .fetch_one(&mut *tx)
    .await?;
    let attempts: i64 = sqlx::query_scalar(
        "UPDATE jobs SET state = 'running', attempts = attempts + 1 WHERE id = $1 RETURNING attempts",
    )
    .bind(id)
    .fetch_one(&mut *tx)
    .await?;
    let job = serde_json::from_str(&row.try_get::<String, _>("job")?).map_err(|e| sqlx::Error::Decode(Box::new(e)))?;
    tx.commit().await?;
    Ok(Some(Claimed { id, job, attempts, lease: Lease { thread, epoch } }))
}

/// Keeps a thread's lease. `false` when another worker has it.
///
/// # Errors
/// When the store does not answer.
pub async fn renew(work: &Work, lease: &Lease, span: Duration) -> Result<bool, sqlx::Error> {
    let Work::Sqlite { write, .. } = work;
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

/// The job is done: it is removed and the thread is free.
///
/// # Errors
/// When the store does not answer; the job is then run again.
pub async fn finish(work: &Work, claimed: &Claimed) -> Result<(), sqlx::Error> {
    let Work::Sqlite { write, .. } = work;
    let mut tx = write.begin_with("BEGIN IMMEDIATE").await?;
    if release(&mut tx, &claimed.lease).await? {
        sqlx::query("DELETE FROM jobs WHERE id = $1").bind(claimed.id).execute(&mut *tx).await?;
    }
    tx.commit().await
}

/// The job could not be done now: it is due again after a pause and the thread is free.
///
/// # Errors
/// When the store does not answer; the lease then runs out by itself.
pub async fn retry(work: &Work, claimed: &Claimed, pause: Duration) -> Result<(), sqlx::Error> {
    let Work::Sqlite { write, .. } = work;
    let mut tx = write.begin_with("BEGIN IMMEDIATE").await?;
    if release(&mut tx, &claimed.lease).await? {
        let now = crate::records::now_ms(&mut tx).await?;
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

/// At the start of the only process that works on this file: whoever held a lease is gone. Epochs stay, so a former
/// holder that is only asleep is fenced off all the same.
///
/// # Errors
/// When the store does not answer.
pub async fn free_all(work: &Work) -> Result<(), sqlx::Error> {
    let Work::Sqlite { write, .. } = work;
    sqlx::query("UPDATE leases SET until = 0 WHERE until > 0").execute(write).await.map(drop)
}

/// How many jobs wait or run.
///
/// # Errors
/// When the store does not answer.
pub async fn depth(work: &Work) -> Result<i64, sqlx::Error> {
    let Work::Sqlite { read, .. } = work;
    sqlx::query_scalar("SELECT count(*) FROM jobs").fetch_one(read).await
}

/// Forgets marks and free leases that are older than any repeated delivery.
///
/// # Errors
/// When the store does not answer.
pub async fn sweep(work: &Work) -> Result<(), sqlx::Error> {
    let Work::Sqlite { write, .. } = work;
    sqlx::query("DELETE FROM seen WHERE at < CAST(unixepoch('subsec') * 1000 AS INTEGER) - $1")
        .bind(millis(SEEN_FOR))
        .execute(write)
        .await
        .map(drop)
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ChannelId, TeamId};

    fn message(ts: &str, root: Option<&str>) -> Job {
        let (team, channel, ts) = (TeamId::new("T1"), ChannelId::new("C1"), MessageTs::new(ts));
        let thread = ThreadKey::of(&team, &channel, &ts, root.map(MessageTs::new).as_ref());
        Job::Message(MessageJob {
            turn: turn_id(&thread, &ts),
            thread,
            sender: Person::new("T1", "U1"),
            in_dm: false,
            text: "hello".into(),
            ts,
            is_ext_shared: false,
        })
    }

    async fn work() -> (tempfile::TempDir, Work) {
        let dir = tempfile::tempdir().unwrap();
        let work = Work::open(&dir.path().join("work.sqlite")).await.unwrap();
        (dir, work)
    }

    const LEASE: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn the_same_message_under_another_event_id_is_a_duplicate() {
        let (_dir, work) = work().await;
        assert_eq!(push(&work, &message("1.1", None), Some("Ev1")).await.unwrap(), Pushed::New);
        assert_eq!(push(&work, &message("1.1", None), Some("Ev2")).await.unwrap(), Pushed::Duplicate);
        assert_eq!(push(&work, &message("1.1", None), Some("Ev1")).await.unwrap(), Pushed::Duplicate);
        assert_eq!(push(&work, &message("1.2", None), Some("Ev3")).await.unwrap(), Pushed::New);
        assert_eq!(depth(&work).await.unwrap(), 2);
    }

    #[tokio::test]
    async fn jobs_of_one_thread_run_in_order_and_those_of_others_beside_them() {
        let (_dir, work) = work().await;
        for (ts, root) in [("1.1", None), ("1.2", Some("1.1")), ("2.1", None)] {
            push(&work, &message(ts, root), None).await.unwrap();
        }
        let first = claim(&work, LEASE).await.unwrap().unwrap();
        let beside = claim(&work, LEASE).await.unwrap().unwrap();
        assert_eq!(first.job, message("1.1", None));
        assert_eq!(beside.job, message("2.1", None));
        assert!(claim(&work, LEASE).await.unwrap().is_none(), "the second message of the thread has to wait");
        finish(&work, &first).await.unwrap();
        assert_eq!(claim(&work, LEASE).await.unwrap().unwrap().job, message("1.2", Some("1.1")));
    }

    #[tokio::test]
    async fn k03_a_job_whose_worker_died_is_handed_out_again_and_the_old_lease_is_fenced_off() {
        let (_dir, work) = work().await;
        push(&work, &message("1.1", None), None).await.unwrap();
        let dead = claim(&work, Duration::ZERO).await.unwrap().unwrap();
        let taken = claim(&work, LEASE).await.unwrap().unwrap();
        assert_eq!((taken.attempts, taken.lease.epoch), (2, dead.lease.epoch + 1));
        assert!(!renew(&work, &dead.lease, LEASE).await.unwrap());
        finish(&work, &dead).await.unwrap();
        assert_eq!(depth(&work).await.unwrap(), 1, "a fenced worker cannot finish the job");
        finish(&work, &taken).await.unwrap();
        assert_eq!(depth(&work).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_job_that_is_tried_again_waits_for_its_pause() {
        let (_dir, work) = work().await;
        push(&work, &message("1.1", None), None).await.unwrap();
        let claimed = claim(&work, LEASE).await.unwrap().unwrap();
        retry(&work, &claimed, Duration::from_secs(60)).await.unwrap();
        assert!(claim(&work, LEASE).await.unwrap().is_none());
        assert_eq!(depth(&work).await.unwrap(), 1);
    }
}
