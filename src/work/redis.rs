//! Redis as the store of work: connection, keys, and who is told of new work.
//!
//! What it promises: every command ends in bounded time, whatever became of the server; every step that must not be
//! torn apart is one script, whose keys share a hash slot. The scripts stand beside the types they serve; the clock is
//! the server's own. Nothing in it survives the loss of the server, and nothing has to: see `thread::recovery`.
//!
//! Keys are `prefix:{partition}:kind:name`. All keys of a channel are in one partition, so its threads, the marks of its
//! messages and the line in which its threads wait can be changed together. A server of its own has one partition and so
//! one line, which is fair to all; a Cluster has a fixed number of them, spread over its masters.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ::redis::{FromRedisValue, RedisError, Script, ScriptInvocation};
use sha2::{Digest, Sha256};

use crate::domain::Secret;

mod generation;
mod link;
mod wake;

pub use generation::Loss;
use link::Link;

/// Of a Cluster. More would spread no better over the few masters that one has, and each is asked for work.
const CLUSTER_PARTITIONS: u32 = 16;

/// Slack waits 3 s for an answer, and the edge 2 s for a store.
const LIMIT: Duration = Duration::from_millis(1_500);

/// A message that waited for longer than this was not lost by Redis.
pub const LOOKED_BACK: Duration = Duration::from_secs(3_600);

/// So many channels are remembered.
const MOST_HEARD: usize = 10_000;

/// Where Redis is, and how it is used.
#[derive(Clone, Debug)]
pub struct Settings {
    /// One or several addresses, comma separated.
    pub url: Secret,
    /// They are nodes of a Cluster.
    pub cluster: bool,
    /// They are Sentinels that know the master of this name.
    pub sentinel_master: Option<String>,
    /// Of the Sentinels themselves.
    pub sentinel_password: Option<Secret>,
    /// Begins every key.
    pub prefix: String,
    /// Bytes of history kept of a thread beside the request in progress.
    pub history_bytes: u64,
}

/// A connection that is always there and may fail. Clones share it.
#[derive(Clone, Debug)]
pub struct Redis(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    link: Link,
    prefix: String,
    partitions: u32,
    /// One bit for each partition in which there may be something to do.
    due: AtomicU32,
    looks: AtomicU32,
    history_bytes: u64,
    /// Tells this process's own calls from those of others.
    name: String,
    /// The channels whose messages came in through this process, and when the last one did.
    heard: Mutex<HashMap<String, Instant>>,
}

/// What is wrong with addresses and how they are to be understood.
pub fn faults(settings: &Settings) -> Vec<&'static str> {
    link::faults(settings)
}

impl Redis {
    /// Connects and asks whether the server answers.
    ///
    /// # Errors
    /// When it does not, or the addresses are not what they should be.
    pub async fn open(settings: &Settings) -> Result<Self, RedisError> {
        let redis = Self::lazily(settings)?;
        redis.command::<::redis::Value>(&::redis::cmd("PING")).await?;
        Ok(redis)
    }

    /// The same without asking.
    ///
    /// # Errors
    /// When the addresses are not what they should be.
    pub fn lazily(settings: &Settings) -> Result<Self, RedisError> {
        let partitions = if settings.cluster { CLUSTER_PARTITIONS } else { 1 };
        let mut name = [0_u8; 8];
        getrandom::fill(&mut name).map_err(std::io::Error::other)?;
        Ok(Self(Arc::new(Inner {
            link: Link::new(settings)?,
            prefix: settings.prefix.clone(),
            partitions,
            due: AtomicU32::new(u32::MAX),
            looks: AtomicU32::new(0),
            history_bytes: settings.history_bytes,
            name: hex::encode(name),
            heard: Mutex::default(),
        })))
    }

    /// Bytes of history kept of a thread beside the request in progress.
    pub fn history_bytes(&self) -> u64 {
        self.0.history_bytes
    }

    /// A message of a channel came in through this process.
    pub fn hear(&self, channel: &str) {
        let mut heard = self.0.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if heard.len() >= MOST_HEARD {
            heard.retain(|_, at| at.elapsed() < LOOKED_BACK / 2);
        }
        if heard.len() < MOST_HEARD {
            heard.insert(channel.to_owned(), Instant::now());
        }
    }

    /// The channels of which a message came in through this process within [`LOOKED_BACK`].
    pub fn heard(&self) -> Vec<String> {
        let heard = self.0.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.iter().filter(|(_, at)| at.elapsed() < LOOKED_BACK).map(|(channel, _)| channel.clone()).collect()
    }

    /// Whether a channel is among [`Redis::heard`].
    pub fn has_heard(&self, channel: &str) -> bool {
        let heard = self.0.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.get(channel).is_some_and(|at| at.elapsed() < LOOKED_BACK)
    }

    /// How many partitions there are.
    pub fn partitions(&self) -> u32 {
        self.0.partitions
    }

    /// Where the keys of a channel are: `channel` is `v1:TEAM:CHANNEL`, which a thread's key begins with. A person's
    /// keys are placed by their name in the same way.
    pub fn partition(&self, channel: &str) -> u32 {
        // Not the standard library's hash, which may differ between two versions of this program on one Redis.
        let hash = Sha256::digest(channel.as_bytes());
        let first = hash.first_chunk::<4>().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        first % self.0.partitions
    }

    /// The partition of a thread's stored key.
    pub fn partition_of(&self, thread: &str) -> u32 {
        self.partition(thread.rsplit_once(':').map_or(thread, |(channel, _)| channel))
    }

    /// What the keys of a partition begin with.
    pub fn keys(&self, partition: u32) -> String {
        format!("{}:{{{partition}}}:", self.0.prefix)
    }

    /// What a message of one process to the others is published under, and by whom.
    pub(crate) fn call(&self, partition: u32) -> (String, String) {
        (format!("{}:wake", self.0.prefix), format!("{partition}:{}", self.0.name))
    }

    /// Runs a script.
    ///
    /// # Errors
    /// When the server does not answer in time, or with something else. What the script does may have been done.
    pub async fn run<T: FromRedisValue>(&self, script: &ScriptInvocation<'_>) -> Result<T, RedisError> {
        // Boxed: the compiler computes the size of whatever waits for this, and gives up where that is too deep.
        Box::pin(self.0.link.script(script, LIMIT)).await
    }

    /// Sends one command.
    ///
    /// # Errors
    /// As [`Redis::run`].
    pub async fn command<T: FromRedisValue>(&self, command: &::redis::Cmd) -> Result<T, RedisError> {
        Box::pin(self.0.link.command(command, LIMIT)).await
    }

    /// There may be something to do in a partition.
    pub fn is_due(&self, partition: u32) {
        self.0.due.fetch_or(1 << (partition % 32), Ordering::Relaxed);
    }

    /// There may be something to do everywhere: leases run out without a word.
    pub fn all_due(&self) {
        self.0.due.store(u32::MAX, Ordering::Relaxed);
    }

    /// The next partition in which there may be something to do; whoever finds something there says so by
    /// [`Redis::is_due`]. Where there is one partition it is always asked.
    pub fn next_due(&self) -> Option<u32> {
        let count = self.0.partitions;
        if count == 1 {
            return Some(0);
        }
        // Each look begins behind the last one, so that no partition is always first.
        let from = self.0.looks.fetch_add(1, Ordering::Relaxed);
        let seen = self.0.due.load(Ordering::Relaxed);
        let next = (0..count).map(|n| from.wrapping_add(n) % count).find(|p| seen & (1 << p) != 0)?;
        self.0.due.fetch_and(!(1 << next), Ordering::Relaxed);
        Some(next)
    }
}

/// A script whose text is compiled in: its hash is computed once.
pub type Lua = std::sync::LazyLock<Script>;

/// A script of a file beside the source file; in front of it stands what all scripts need.
macro_rules! lua {
    ($file:literal) => {
        std::sync::LazyLock::new(|| {
            ::redis::Script::new(concat!(
                include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/work/redis/prelude.lua")),
                include_str!($file)
            ))
        })
    };
}
pub(crate) use lua;
