//! What shows that a server has lost something: everything, after a flush or a start without a copy on disk, or the last
//! moments, after a crash or a change of masters. Each server has an identity of its own, which it also gets anew with
//! each start; it is kept in the server itself, so that what is lost takes the memory of it along.

use std::time::Duration;

use ::redis::RedisError;

use super::{Lua, Redis, lua};

static GENERATION: Lua = lua!("generation.lua");
static TRUSTED: Lua = lua!("trusted.lua");
static RESTORED: Lua = lua!("restored.lua");

/// As long as conversations are kept.
const KEPT_MS: u64 = 90 * 24 * 3_600_000;

/// A loss that the holder makes up for.
#[derive(Debug)]
pub struct Loss {
    partition: u32,
    trust: String,
}

impl Redis {
    /// The generation of each partition, which a loss changes; and losses that nobody is making up for: now the caller is,
    /// for `trust`.
    ///
    /// # Errors
    /// As [`Redis::run`].
    pub async fn losses(&self, trust: Duration) -> Result<(Vec<String>, Vec<Loss>), RedisError> {
        let (mut generations, mut losses) = (Vec::new(), Vec::new());
        for partition in 0..self.partitions() {
            let mut ask = GENERATION.key(self.generation(partition));
            ask.arg(KEPT_MS).arg(u64::try_from(trust.as_micros()).unwrap_or(u64::MAX));
            let (generation, trust): (String, Option<String>) = self.run(&ask).await?;
            generations.push(generation);
            losses.extend(trust.map(|trust| Loss { partition, trust }));
        }
        Ok((generations, losses))
    }

    /// The caller is still at it, and is trusted for so long again.
    ///
    /// # Errors
    /// As [`Redis::run`]; others may be trusted soon.
    pub async fn still(&self, loss: &mut Loss, trust: Duration) -> Result<(), RedisError> {
        let mut tell = TRUSTED.key(self.generation(loss.partition));
        tell.arg(&loss.trust).arg(u64::try_from(trust.as_micros()).unwrap_or(u64::MAX));
        if let Some(trust) = self.run::<Option<String>>(&tell).await? {
            loss.trust = trust;
        }
        Ok(())
    }

    /// A loss is made up for.
    ///
    /// # Errors
    /// As [`Redis::run`]; it is made up for once more then.
    pub async fn restored(&self, loss: &Loss) -> Result<(), RedisError> {
        let mut tell = RESTORED.key(self.generation(loss.partition));
        self.run(tell.arg(&loss.trust)).await
    }

    fn generation(&self, partition: u32) -> String {
        format!("{}generation", self.keys(partition))
    }
}
