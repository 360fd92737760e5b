//! Slack's rate limits: per method and workspace by tier, and for posts about one a second in each channel.
//!
//! Time is the workspace's clock, so that a test can let it pass. Tiers are Slack's least promises; a caller that keeps
//! to them is never refused there.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::Clock as _;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::domain::Clock;

/// How often a method may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rate {
    /// 20 a minute.
    Tier2,
    /// 50 a minute.
    Tier3,
    /// 100 a minute.
    Tier4,
    /// Several hundred a minute.
    Special,
    /// `chat.postMessage`: one a second in each channel, and in short bursts more.
    Post,
}

/// So many channels are counted at once; then those are forgotten that have been quiet. They are named by the caller, so
/// there may be any number of them.
const CHANNELS: usize = 1_000;
/// Posts that a channel takes at once after a pause.
const POST_BURST: u32 = 10;

#[derive(Clone, Debug)]
struct Ticks(Clock);

impl governor::clock::Clock for Ticks {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Duration::from_millis(u64::try_from(self.0.now_ms()).unwrap_or(0)).into()
    }
}

type Limiter = RateLimiter<String, HashMapStateStore<String>, Ticks, NoOpMiddleware<Nanos>>;

#[derive(Debug)]
pub(super) struct Limits {
    clock: Ticks,
    tier2: Limiter,
    tier3: Limiter,
    tier4: Limiter,
    special: Limiter,
    post: Limiter,
}

impl Limits {
    /// `scale`: a factor on how often everything may be called.
    pub(super) fn new(clock: Clock, scale: f64) -> Self {
        let clock = Ticks(clock);
        let limiter = |a_minute: u32, burst: u32| {
            let scale = if scale.is_finite() && scale > 0.0 { scale } else { 1.0 };
            let period = Duration::from_secs(60).div_f64(f64::from(a_minute) * scale).max(Duration::from_nanos(1));
            let burst = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
            let quota = Quota::with_period(period).unwrap_or_else(|| Quota::per_second(burst)).allow_burst(burst);
            Limiter::new(quota, HashMapStateStore::default(), clock.clone())
        };
        Self {
            tier2: limiter(20, 20),
            tier3: limiter(50, 50),
            tier4: limiter(100, 100),
            special: limiter(600, 600),
            post: limiter(60, POST_BURST),
            clock,
        }
    }

    /// Counts a call; when it is one too many, after how many whole seconds the next may come.
    pub(super) fn check(&self, rate: Rate, method: &str, channel: &str) -> Result<(), u64> {
        match rate {
            Rate::Tier2 => self.one(&self.tier2, method),
            Rate::Tier3 => self.one(&self.tier3, method),
            Rate::Tier4 => self.one(&self.tier4, method),
            Rate::Special => self.one(&self.special, method),
            // A workspace as a whole takes several hundred a minute.
            Rate::Post => {
                if self.post.len() >= CHANNELS {
                    self.post.retain_recent();
                }
                self.one(&self.post, channel).and_then(|()| self.one(&self.special, method))
            }
        }
    }

    fn one(&self, limiter: &Limiter, key: &str) -> Result<(), u64> {
        limiter.check_key(&key.to_owned()).map_err(|early| {
            let wait = early.wait_time_from(self.clock.now());
            wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
        })
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn a_channel_takes_a_burst_and_then_one_post_a_second_while_others_go_on() {
        let clock = Clock::system();
        let limits = Limits::new(clock.clone(), 1.0);
        let post = |channel: &str| limits.check(Rate::Post, "chat.postMessage", channel);
        for _ in 0..POST_BURST {
            assert_eq!(post("C1"), Ok(()));
        }
        assert_eq!(post("C1"), Err(1));
        assert_eq!(post("C2"), Ok(()));
        clock.advance(TimeDelta::seconds(1));
        assert_eq!(post("C1"), Ok(()));
        assert_eq!(post("C1"), Err(1));
    }

    #[test]
    fn channels_that_have_been_quiet_are_forgotten_and_others_stay_counted() {
        let clock = Clock::system();
        let limits = Limits::new(clock.clone(), 1.0);
        let post = |channel: &str| limits.check(Rate::Post, "chat.postMessage", channel);
        for n in 0..CHANNELS {
            // What becomes of it is the workspace's limit, not the channel's.
            let _ = post(&format!("C{n}"));
        }
        clock.advance(TimeDelta::minutes(2));
        for _ in 0..POST_BURST {
            assert_eq!(post("C1"), Ok(()));
        }
        assert!(limits.post.len() < 10, "{}", limits.post.len());
        assert_eq!(post("C1"), Err(1));
    }

    #[test]
    fn each_method_of_a_tier_has_its_own_minute() {
        let clock = Clock::system();
        let limits = Limits::new(clock.clone(), 1.0);
        for _ in 0..20 {
            assert_eq!(limits.check(Rate::Tier2, "chat.startStream", ""), Ok(()));
        }
        assert_eq!(limits.check(Rate::Tier2, "chat.startStream", ""), Err(3));
        assert_eq!(limits.check(Rate::Tier2, "chat.stopStream", ""), Ok(()));
        let wide = Limits::new(clock, 1000.0);
        assert_eq!((0..20).map(|_| wide.check(Rate::Tier2, "m", "")).filter(Result::is_err).count(), 0);
    }
}
