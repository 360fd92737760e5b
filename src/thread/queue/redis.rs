//! The queue in Redis. Each step is one script over keys of one partition, so it is whole and the clock is the server's.
//!
//! **Why the marks may stand beside the job.** A message is marked by installation, channel and timestamp, and its event
//! by id. Both marks lie in the partition of the channel, whatever thread Slack says the message is in, and an event that
//! is delivered again is the same event, so it speaks of the same channel and meets its mark there. Marks and job
//! are therefore set in one step: nothing is marked that is not stored, and nothing stored that is not marked.
//!
//! **The line.** `ready` orders threads with work by when they may be claimed: now when they are free, later while they
//! rest, at the end of the lease while a worker has them. So the line, the leases and the take-over are one thing. A
//! thread that was served goes to its end.
//!
//! **Fencing.** An epoch is never below the server's clock in milliseconds, so that one from before a loss of
//! all data is not given out a second time.

use std::time::Duration;

use ::redis::ScriptInvocation;

use super::{Claimed, Job, KEPT_FOR, Lease, Pushed, SEEN_FOR, Waiting, millis, unreadable};
use crate::domain::ThreadKey;
use crate::work;
use crate::work::redis::{Lua, Redis, lua};

static PUSH: Lua = lua!("lua/push.lua");
static CLAIM: Lua = lua!("lua/claim.lua");
static RENEW: Lua = lua!("lua/renew.lua");
static RELEASE: Lua = lua!("lua/release.lua");

/// The keys of a thread and of the partition it is in.
pub struct Keys {
    /// Number of the partition.
    pub partition: u32,
    /// What its keys begin with.
    prefix: String,
    thread: String,
}

impl Keys {
    /// Of a thread's stored key.
    pub fn of(redis: &Redis, thread: &str) -> Self {
        let partition = redis.partition_of(thread);
        Self { partition, prefix: redis.keys(partition), thread: thread.to_owned() }
    }

    fn own(&self, kind: &str) -> String {
        format!("{}{kind}:{}", self.prefix, self.thread)
    }

    /// Sorted set of the threads with work.
    fn ready(&self) -> String {
        format!("{}ready", self.prefix)
    }

    /// Counts the jobs of the partition.
    fn depth(&self) -> String {
        depth_key(&self.prefix)
    }

    fn mark(&self, mark: &str) -> String {
        format!("{}{mark}", self.prefix)
    }

    /// Hash: epoch, lease, counts, whether the bot takes part.
    pub fn state(&self) -> String {
        self.own("t")
    }

    /// List of jobs, the first being the one that is run: id, time, job.
    pub fn jobs(&self) -> String {
        self.own("j")
    }

    /// List of the rounds of the history.
    pub fn history(&self) -> String {
        self.own("h")
    }

    /// Set of the names of those rounds.
    pub fn rounds(&self) -> String {
        self.own("r")
    }
}

fn depth_key(prefix: &str) -> String {
    format!("{prefix}depth")
}

pub(super) async fn push(redis: &Redis, job: &Job, event_id: Option<&str>) -> Result<Pushed, work::Error> {
    let thread = job.thread().to_string();
    let keys = Keys::of(redis, &thread);
    let (channel, word) = redis.call(keys.partition);
    let takes_part = match job {
        Job::Message(message) => message.addressed,
        Job::Continuation { .. } => true,
    };
    let mut push = PUSH.prepare_invoke();
    push.key(keys.ready()).key(keys.depth()).key(keys.state()).key(keys.jobs()).key(keys.history()).key(keys.rounds());
    for mark in job.marks(event_id) {
        push.key(keys.mark(&mark));
    }
    push.arg(&thread).arg(job.json()?).arg(u8::from(takes_part)).arg(millis(KEPT_FOR)).arg(millis(SEEN_FOR));
    push.arg(channel).arg(word);
    let fresh: bool = redis.run(&push).await?;
    if fresh {
        redis.is_due(keys.partition);
        redis.hear(job.thread().channel.as_str());
    }
    Ok(if fresh { Pushed::New } else { Pushed::Duplicate })
}

pub(super) async fn seen(redis: &Redis, thread: &ThreadKey, mark: &str) -> Result<bool, work::Error> {
    let keys = Keys::of(redis, &thread.to_string());
    let found: i64 = redis.command(::redis::cmd("EXISTS").arg(keys.mark(mark))).await?;
    Ok(found == 1)
}

pub(super) async fn see(redis: &Redis, thread: &ThreadKey, mark: &str) -> Result<(), work::Error> {
    let keys = Keys::of(redis, &thread.to_string());
    let mut set = ::redis::cmd("SET");
    // Without an answer of its own when the mark is there already.
    let _: Option<String> =
        redis.command(set.arg(keys.mark(mark)).arg("").arg("NX").arg("PX").arg(millis(SEEN_FOR))).await?;
    Ok(())
}

pub(super) async fn joined(redis: &Redis, thread: &ThreadKey) -> Result<bool, work::Error> {
    let keys = Keys::of(redis, &thread.to_string());
    let joined: Option<u8> = redis.command(::redis::cmd("HGET").arg(keys.state()).arg("joined")).await?;
    Ok(joined == Some(1))
}

pub(super) async fn claim(redis: &Redis, lease: Duration) -> Result<Option<Claimed>, work::Error> {
    for _ in 0..redis.partitions() {
        let Some(partition) = redis.next_due() else { return Ok(None) };
        if let Some(mut claimed) = claim_in(redis, partition, lease).await? {
            if claimed.more {
                redis.is_due(partition);
            }
            claimed.more |= redis.partitions() > 1;
            return Ok(Some(claimed));
        }
    }
    Ok(None)
}

async fn claim_in(redis: &Redis, partition: u32, lease: Duration) -> Result<Option<Claimed>, work::Error> {
    let prefix = redis.keys(partition);
    let mut claim = CLAIM.key(format!("{prefix}ready"));
    claim.arg(&prefix).arg(micros(lease));
    loop {
        let found: Option<(String, i64, i64, i64, bool, String)> = redis.run(&claim).await?;
        let Some((thread, epoch, attempts, applied, more, entry)) = found else { return Ok(None) };
        let lease = Lease { thread, epoch, applied };
        let (id, _, job) = entry_parts(&entry)?;
        match serde_json::from_str(job) {
            Ok(job) => return Ok(Some(Claimed { id, job, attempts, lease, more })),
            Err(error) => {
                unreadable(id, &error);
                release(redis, &lease, id, None).await?;
            }
        }
    }
}

/// Id, time of arrival in milliseconds, and the job itself.
fn entry_parts(entry: &str) -> Result<(i64, i64, &str), work::Error> {
    let mut parts = entry.splitn(3, '\n');
    let mut number = || parts.next().and_then(|part| part.parse().ok()).ok_or(work::Error::Unreadable);
    Ok((number()?, number()?, parts.next().ok_or(work::Error::Unreadable)?))
}

pub(super) async fn renew(redis: &Redis, lease: &Lease, span: Duration) -> Result<bool, work::Error> {
    let keys = Keys::of(redis, &lease.thread);
    let mut renew = RENEW.key(keys.ready());
    renew.key(keys.state()).arg(&lease.thread).arg(lease.epoch).arg(micros(span));
    Ok(redis.run(&renew).await?)
}

pub(super) async fn finish(redis: &Redis, claimed: &Claimed) -> Result<bool, work::Error> {
    release(redis, &claimed.lease, claimed.id, None).await
}

pub(super) async fn retry(redis: &Redis, claimed: &Claimed, pause: Duration) -> Result<(), work::Error> {
    release(redis, &claimed.lease, claimed.id, Some(pause)).await.map(drop)
}

/// `true` when the thread has more to do.
async fn release(redis: &Redis, lease: &Lease, job: i64, rest: Option<Duration>) -> Result<bool, work::Error> {
    let keys = Keys::of(redis, &lease.thread);
    let mut release: ScriptInvocation<'_> = RELEASE.prepare_invoke();
    release.key(keys.ready()).key(keys.depth()).key(keys.state()).key(keys.jobs());
    release.arg(&lease.thread).arg(lease.epoch).arg(job);
    release.arg(rest.map_or_else(String::new, |rest| micros(rest).to_string()));
    let more: bool = redis.run(&release).await?;
    if more {
        redis.is_due(keys.partition);
    }
    Ok(more)
}

pub(super) async fn depth(redis: &Redis) -> Result<i64, work::Error> {
    let partitions = (0..redis.partitions()).map(|partition| async move {
        let jobs: Option<i64> = redis.command(::redis::cmd("GET").arg(depth_key(&redis.keys(partition)))).await?;
        Ok::<_, work::Error>(jobs.unwrap_or(0))
    });
    Ok(futures::future::try_join_all(partitions).await?.into_iter().sum())
}

pub(super) async fn of_thread(redis: &Redis, thread: &ThreadKey, count: i64) -> Result<Vec<Waiting>, work::Error> {
    let keys = Keys::of(redis, &thread.to_string());
    let jobs: Vec<String> = redis.command(::redis::cmd("LRANGE").arg(keys.jobs()).arg(0).arg(count - 1)).await?;
    let mut state = ::redis::cmd("HMGET");
    state.arg(keys.state()).arg("held").arg("attempts");
    let (held, attempts): (Option<String>, Option<i64>) = redis.command(&state).await?;
    let waiting = |(at, entry): (usize, &String)| {
        let (_, came, _) = entry_parts(entry)?;
        let is_first = at == 0;
        let attempts = if is_first { attempts.unwrap_or(0) } else { 0 };
        Ok(Waiting { at: came, runs: is_first && held.is_some(), attempts })
    };
    jobs.iter().enumerate().map(waiting).collect()
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}
