//! How often in a minute somebody may do something.
//!
//! Counted for all bots together where they share a store of work, by the clock of that store, and for each bot alone
//! where they do not, or while it does not answer: a limit is never lifted by an outage, and never in the way of one.

use std::num::NonZeroU32;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::work::Work;
use crate::work::redis::{Lua, Redis, lua};

static RATE: Lua = lua!("work/redis/rate.lua");

/// Above this many names those who are idle are forgotten.
const MANY: usize = 10_000;

/// A minute, in microseconds.
const MINUTE: u64 = 60_000_000;

/// One kind of thing that is counted.
#[derive(Debug)]
pub struct Rates {
    kind: &'static str,
    per_minute: NonZeroU32,
    here: DefaultKeyedRateLimiter<String>,
    together: Option<Redis>,
}

impl Rates {
    /// So many in a minute, counted in this process alone.
    pub fn here(kind: &'static str, per_minute: NonZeroU32) -> Self {
        Self { kind, per_minute, here: RateLimiter::keyed(Quota::per_minute(per_minute)), together: None }
    }

    /// So many in a minute, counted for all processes that share a store of work.
    pub fn over(work: &Work, kind: &'static str, per_minute: NonZeroU32) -> Self {
        let together = match work {
            Work::Redis(redis) => Some(redis.clone()),
            Work::Sqlite { .. } => None,
        };
        Self { together, ..Self::here(kind, per_minute) }
    }

    /// Counts one more of `name` and says whether it may happen.
    pub async fn allows(&self, name: &str) -> bool {
        if let Some(redis) = &self.together {
            let key = format!("{}rate:{}:{name}", redis.keys(redis.partition(name)), self.kind);
            let mut rate = RATE.key(key);
            rate.arg(self.per_minute.get()).arg(MINUTE / u64::from(self.per_minute.get()));
            match redis.run(&rate).await {
                Ok(allowed) => return allowed,
                Err(error) => tracing::debug!(error = %error, "a rate is counted in this process alone"),
            }
        }
        if self.here.len() > MANY {
            self.here.retain_recent();
        }
        self.here.check_key(&name.to_owned()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::testing::{self, Server};

    const THREE: NonZeroU32 = NonZeroU32::new(3).unwrap();

    #[tokio::test]
    async fn i18_a_rate_is_counted_for_all_bots_together_and_for_each_person_alone() {
        let processes = testing::processes(testing::server().await, 2).await;
        let rates: Vec<Rates> = processes.iter().map(|work| Rates::over(work, "turns", THREE)).collect();
        for n in 0..3 {
            assert!(rates[n % 2].allows("a").await, "{n}");
        }
        assert!(!rates[0].allows("a").await && !rates[1].allows("a").await);
        assert!(rates[0].allows("b").await);
        let other = Rates::over(&processes[0], "calls", THREE);
        assert!(other.allows("a").await, "another kind is counted by itself");
    }

    #[tokio::test]
    async fn what_is_used_up_comes_back_with_time() {
        let work = testing::redis(testing::server().await).await;
        let rates = Rates::over(&work, "calls", NonZeroU32::new(600).unwrap());
        for _ in 0..600 {
            rates.allows("a").await;
        }
        let used_up = (0..20).map(|_| rates.allows("a"));
        assert!(futures::future::join_all(used_up).await.contains(&false));
        tokio::time::sleep(std::time::Duration::from_millis(250)).await;
        assert!(rates.allows("a").await && rates.allows("a").await);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn i18_while_redis_is_away_a_bot_counts_by_itself() {
        let dir = tempfile::tempdir().unwrap();
        let server = Server::start(dir.path()).await;
        let work = testing::redis(server.url()).await;
        let rates = Rates::over(&work, "turns", THREE);
        server.kill().await;
        for _ in 0..3 {
            assert!(rates.allows("a").await);
        }
        assert!(!rates.allows("a").await);
    }
}
