//! The job queue: first-seen mark and job in one atomic step, one job at a time in a thread.
//!
//! What it promises: a job that was pushed is run until it is finished, by one worker at a time for each thread and in
//! the order of arrival. A worker that died is replaced when its lease runs out; a worker that was only asleep finds its
//! epoch outdated and can write nothing more.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::types::Json;

use crate::domain::{MessageTs, Person, ThreadKey, TurnId};
use crate::work::Work;

/// Marks are kept longer than Slack may deliver an event again: three retries, then hourly for 24 h, and slack.
const SEEN_FOR: Duration = Duration::from_hours(26);

/// A thread in which nothing was asked for so long is forgotten: its history, and that the bot took part.
const KEPT_FOR: Duration = Duration::from_hours(90 * 24);

/// So many threads are forgotten in one transaction, lest a message wait for it.
const FORGOTTEN_AT_ONCE: i64 = 200;

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

/// Whether a message was taken in, during the last day.
///
/// # Errors
/// When the store does not answer.
pub async fn seen(work: &Work, thread: &ThreadKey, ts: &MessageTs) -> Result<bool, sqlx::Error> {
    let Work::Sqlite { read, .. } = work;
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM seen WHERE key = $1)")
        .bind(message_mark(thread, ts))
        .fetch_one(read)
        .await
}

/// Lets a message count as seen: whatever brings its first version later comes too late.
///
/// # Errors
/// When the store does not answer.
pub async fn see(work: &Work, thread: &ThreadKey, ts: &MessageTs) -> Result<(), sqlx::Error> {
    let Work::Sqlite { write, .. } = work;
    sqlx::query(
        "INSERT INTO seen (key, at) VALUES ($1, CAST(unixepoch('subsec') * 1000 AS INTEGER)) ON CONFLICT DO NOTHING",
    )
    .bind(message_mark(thread, ts))
    .execute(write)
    .await
    .map(drop)
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

/// Hands out the oldest job whose thread is free, and leases the thread. A job that cannot be read is set aside, so that
/// it holds up nobody.
///
/// # Errors
/// When the store does not answer.
pub async fn claim(work: &Work, lease: Duration) -> Result<Option<Claimed>, sqlx::Error> {
    let Work::Sqlite { write, .. } = work;
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
                metrics::counter!("jobs_unreadable_total").increment(1);
                // The error itself may quote the job, which holds a person's words.
                tracing::error!(job = id, kind = ?error.classify(), "a job cannot be read and is removed");
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
    Ok(Some(Claimed { id, job, attempts, lease: Lease { thread, epoch } }))
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

/// Forgets what would grow for ever: marks older than any repeated delivery, and threads that nobody has used for months
/// with their history and their lease.
///
/// The next message in such a thread begins anew: epochs count from one again, which no worker can have slept through,
/// and what its proposals came to is copied from the records once more.
///
/// # Errors
/// When the store does not answer.
pub async fn sweep(work: &Work) -> Result<(), sqlx::Error> {
    let Work::Sqlite { write, .. } = work;
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
            addressed: true,
            has_files: false,
            change: None,
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

    async fn run(work: &Work, sql: &'static str) {
        let Work::Sqlite { write, .. } = work;
        sqlx::raw_sql(sql).execute(write).await.unwrap();
    }

    #[tokio::test]
    async fn a_job_that_cannot_be_read_is_set_aside_and_those_behind_it_run() {
        let (_dir, work) = work().await;
        for (ts, root) in [("1.1", None), ("1.2", Some("1.1")), ("2.1", None)] {
            push(&work, &message(ts, root), None).await.unwrap();
        }
        run(&work, r#"UPDATE jobs SET job = '{"kind":"of another version"}' WHERE id IN (1, 3)"#).await;
        assert_eq!(claim(&work, LEASE).await.unwrap().unwrap().job, message("1.2", Some("1.1")));
        assert!(claim(&work, LEASE).await.unwrap().is_none());
        assert_eq!(depth(&work).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn a_change_of_a_message_is_a_job_of_its_own_and_the_same_change_is_one() {
        let (_dir, work) = work().await;
        let changed = |change: Change| {
            let Job::Message(message) = message("1.1", None) else { unreachable!() };
            Job::Message(MessageJob { change: Some(change), ..message })
        };
        let edit = |at: &str| changed(Change::Edited { at: MessageTs::new(at) });
        push(&work, &message("1.1", None), Some("Ev1")).await.unwrap();
        for (job, event, expected) in [
            (edit("2.1"), "Ev2", Pushed::New),
            (edit("2.1"), "Ev3", Pushed::Duplicate),
            (edit("2.2"), "Ev4", Pushed::New),
            (changed(Change::Deleted), "Ev5", Pushed::New),
            (changed(Change::Deleted), "Ev6", Pushed::Duplicate),
        ] {
            assert_eq!(push(&work, &job, Some(event)).await.unwrap(), expected, "{job:?}");
        }
        let (thread, ts) = (message("1.1", None).thread().clone(), MessageTs::new("1.1"));
        assert!(seen(&work, &thread, &ts).await.unwrap());
        let other = MessageTs::new("1.2");
        assert!(!seen(&work, &thread, &other).await.unwrap());
        see(&work, &thread, &other).await.unwrap();
        assert_eq!(push(&work, &message("1.2", Some("1.1")), None).await.unwrap(), Pushed::Duplicate);
        let turn = edited_turn_id(&thread, &ts, &MessageTs::new("2.1"));
        assert!(turn.as_str().starts_with(turn_id(&thread, &ts).as_str()));
        assert_ne!(turn, edited_turn_id(&thread, &ts, &MessageTs::new("2.2")));
    }

    #[test]
    fn a_job_stored_before_messages_said_whether_they_were_addressed_is_still_read() {
        let mut json = serde_json::to_value(message("1.1", None)).unwrap();
        assert!(json.as_object_mut().unwrap().remove("addressed").is_some());
        assert_eq!(serde_json::from_value::<Job>(json).unwrap(), message("1.1", None));
    }

    #[tokio::test]
    async fn only_an_addressed_message_makes_the_bot_take_part_and_a_reply_does_not_end_it() {
        let (_dir, work) = work().await;
        let overheard = |ts: &str, root| {
            let Job::Message(message) = message(ts, root) else { unreachable!() };
            Job::Message(MessageJob { addressed: false, ..message })
        };
        push(&work, &overheard("1.2", Some("1.1")), None).await.unwrap();
        assert!(!joined(&work, message("1.1", None).thread()).await.unwrap());
        push(&work, &message("1.3", Some("1.1")), None).await.unwrap();
        push(&work, &overheard("1.4", Some("1.1")), None).await.unwrap();
        assert!(joined(&work, message("1.1", None).thread()).await.unwrap());
    }

    #[tokio::test]
    async fn a_thread_that_was_idle_for_months_is_forgotten_unless_something_is_left_to_do_in_it() {
        let (_dir, work) = work().await;
        for ts in ["1.1", "2.1", "3.1", "4.1"] {
            push(&work, &message(ts, None), None).await.unwrap();
        }
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(claim(&work, LEASE).await.unwrap().unwrap());
        }
        // The first is done long ago, the second is done today, the third is held by a worker, the fourth waits.
        finish(&work, &held[0]).await.unwrap();
        finish(&work, &held[1]).await.unwrap();
        run(
            &work,
            "INSERT INTO history SELECT thread, 1, 't', 0, '[]', 0, 0, 0 FROM threads; DELETE FROM jobs WHERE id = 3",
        )
        .await;
        run(&work, "UPDATE threads SET at = 0 WHERE thread NOT LIKE '%2.1'").await;
        sweep(&work).await.unwrap();
        let Work::Sqlite { read, .. } = &work;
        for (table, left) in [("threads", 3), ("history", 3), ("leases", 2), ("seen", 4)] {
            let sql = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
            assert_eq!(sqlx::query_scalar::<_, i64>(sql).fetch_one(read).await.unwrap(), left, "{table}");
        }
        assert!(!joined(&work, message("1.1", None).thread()).await.unwrap());
        assert_eq!(claim(&work, LEASE).await.unwrap().unwrap().job, message("4.1", None));
        push(&work, &message("1.2", Some("1.1")), None).await.unwrap();
        assert_eq!(claim(&work, LEASE).await.unwrap().unwrap().job, message("1.2", Some("1.1")));
    }
}
