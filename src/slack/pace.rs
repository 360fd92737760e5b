//! How often Slack is asked.
//!
//! What it promises: after a refusal by rate the same method is left alone in the same conversation for as long as Slack
//! said, and everywhere once a second conversation was refused too; other methods and conversations go on. Posts into
//! one conversation keep to Slack's pace of about one a second, with short bursts. While anything waits in a
//! conversation, statuses are not sent there: messages come first.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use tokio::time::Instant;

/// Posts that a conversation takes at once after a pause.
const BURST: NonZeroU32 = match NonZeroU32::new(10) {
    Some(n) => n,
    None => NonZeroU32::MIN,
};
/// More conversations than this are not remembered once they have been quiet.
const MANY: usize = 1_000;
/// Slack may ask for no longer pause than this.
const LONGEST: Duration = Duration::from_secs(300);

/// What is known of Slack's rates; shared by all clones of a client.
#[derive(Debug)]
pub(super) struct Pace {
    pauses: Mutex<HashMap<Lane, Instant>>,
    posts: Option<DefaultKeyedRateLimiter<String>>,
    clock: DefaultClock,
}

/// What a refusal is about: a method in one conversation, or everywhere.
type Lane = (String, Option<String>);

impl Pace {
    /// `posts_per_minute` into one conversation; 0 for any number.
    pub(super) fn new(posts_per_minute: u32) -> Self {
        let quota = NonZeroU32::new(posts_per_minute).map(|n| Quota::per_minute(n).allow_burst(BURST));
        Self { pauses: Mutex::default(), posts: quota.map(RateLimiter::keyed), clock: DefaultClock::default() }
    }

    fn pauses(&self) -> MutexGuard<'_, HashMap<Lane, Instant>> {
        self.pauses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call may be sent now, else after how long; it is counted if it may.
    pub(super) fn check(&self, method: &str, channel: Option<&str>) -> Result<(), Duration> {
        self.check_at(Instant::now(), method, channel)
    }

    fn check_at(&self, now: Instant, method: &str, channel: Option<&str>) -> Result<(), Duration> {
        let pauses = self.pauses();
        // Nearly always, and nothing need be looked up then.
        if !pauses.is_empty() {
            let everywhere = pauses.get(&(method.to_owned(), None));
            let here = channel.and_then(|channel| pauses.get(&(method.to_owned(), Some(channel.to_owned()))));
            let until = everywhere.into_iter().chain(here).max().filter(|until| **until > now);
            if let Some(until) = until {
                return Err(*until - now);
            }
        }
        drop(pauses);
        let (Some(posts), Some(channel)) = (&self.posts, channel.filter(|_| method == "chat.postMessage")) else {
            return Ok(());
        };
        if posts.len() > MANY {
            posts.retain_recent();
        }
        posts.check_key(&channel.to_owned()).map_err(|not_yet| not_yet.wait_time_from(self.clock.now()))
    }

    /// Slack refused a call by rate.
    pub(super) fn refused(&self, method: &str, channel: Option<&str>, after: Duration) {
        self.refused_at(Instant::now(), method, channel, after);
    }

    fn refused_at(&self, now: Instant, method: &str, channel: Option<&str>, after: Duration) {
        let until = now + after.min(LONGEST);
        let mut pauses = self.pauses();
        pauses.retain(|_, until| *until > now);
        let elsewhere = pauses.keys().any(|(other, place)| {
            other == method && place.as_deref().is_some_and(|place| channel.is_some_and(|channel| channel != place))
        });
        if let Some(channel) = channel {
            pauses.insert((method.to_owned(), Some(channel.to_owned())), until);
        }
        if channel.is_none() || elsewhere {
            pauses.insert((method.to_owned(), None), until);
        }
    }

    /// Whether messages wait in a conversation.
    pub(super) fn is_busy(&self, channel: &str) -> bool {
        self.is_busy_at(Instant::now(), channel)
    }

    fn is_busy_at(&self, now: Instant, channel: &str) -> bool {
        let pauses = self.pauses();
        pauses.iter().any(|((method, place), until)| {
            *until > now && method.starts_with("chat.") && place.as_deref().is_none_or(|place| place == channel)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POST: &str = "chat.postMessage";
    const UPDATE: &str = "chat.update";

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn a_refusal_pauses_its_method_in_its_conversation_and_nothing_else() {
        let (pace, now) = (Pace::new(0), Instant::now());
        pace.refused_at(now, POST, Some("C1"), secs(10));
        assert_eq!(pace.check_at(now, POST, Some("C1")), Err(secs(10)));
        for (method, channel) in [(POST, Some("C2")), (UPDATE, Some("C1")), ("users.info", None)] {
            assert_eq!(pace.check_at(now, method, channel), Ok(()), "{method} {channel:?}");
        }
        assert!(pace.is_busy_at(now, "C1") && !pace.is_busy_at(now, "C2"));
        assert_eq!(pace.check_at(now + secs(10), POST, Some("C1")), Ok(()));
        assert!(!pace.is_busy_at(now + secs(10), "C1"));
    }

    #[test]
    fn a_second_conversation_refused_pauses_the_method_everywhere() {
        let (pace, now) = (Pace::new(0), Instant::now());
        pace.refused_at(now, UPDATE, Some("C1"), secs(10));
        pace.refused_at(now, UPDATE, Some("C1"), secs(10));
        assert_eq!(pace.check_at(now, UPDATE, Some("C3")), Ok(()));
        pace.refused_at(now, UPDATE, Some("C2"), secs(4));
        assert_eq!(pace.check_at(now, UPDATE, Some("C3")), Err(secs(4)));
        assert_eq!(pace.check_at(now, UPDATE, Some("C1")), Err(secs(10)), "what was said first still holds");
        assert_eq!(pace.check_at(now, POST, Some("C1")), Ok(()));
        let now = now + secs(5);
        assert_eq!(pace.check_at(now, UPDATE, Some("C3")), Ok(()));
        pace.refused_at(now, "users.info", None, secs(3));
        assert_eq!(pace.check_at(now, "users.info", None), Err(secs(3)));
        pace.refused_at(now, "users.info", None, secs(86_400));
        assert_eq!(pace.check_at(now, "users.info", None), Err(LONGEST), "no day of silence");
    }

    #[test]
    fn posts_into_one_conversation_are_paced_after_a_burst() {
        let pace = Pace::new(60);
        for _ in 0..BURST.get() {
            assert_eq!(pace.check(POST, Some("C1")), Ok(()));
        }
        let wait = pace.check(POST, Some("C1")).unwrap_err();
        assert!(wait <= Duration::from_secs(1) && wait > Duration::from_millis(500), "{wait:?}");
        assert_eq!(pace.check(POST, Some("C2")), Ok(()));
        for _ in 0..100 {
            assert_eq!(pace.check(UPDATE, Some("C1")), Ok(()), "an update is no post");
        }
    }
}
