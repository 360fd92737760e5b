//! When something about a press is tried again.

use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBuilder};

use crate::mcp::McpError;

/// How long a transaction comes again for what another one has.
const PATIENCE: Duration = Duration::from_secs(5);

/// Half the longest pause before a call is made again that the server did not answer: a try costs little, and whoever
/// waits is served soon after it is back.
const NO_ANSWER: Duration = Duration::from_secs(5);

/// The same after an answer that is neither yes nor no: somebody has to repair something first, and each try leaves a
/// row in the audit.
const BAD_ANSWER: Duration = Duration::from_secs(150);

/// Why nobody knows whether a write was made.
pub struct Trouble {
    /// A name for it that stays the same.
    pub code: String,
    /// For the log.
    pub reason: String,
    longest_pause: Duration,
}

impl Trouble {
    /// The server said something that is neither yes nor no.
    pub fn answered(code: &str) -> Self {
        Self { code: code.to_owned(), longest_pause: BAD_ANSWER, reason: format!("error {code}") }
    }

    /// It said nothing of use.
    pub fn of(error: &McpError) -> Self {
        let longest_pause = match error {
            McpError::Unavailable(_) | McpError::Timeout => NO_ANSWER,
            McpError::Protocol(_) => BAD_ANSWER,
        };
        Self { code: error.code().to_owned(), longest_pause, reason: error.to_string() }
    }

    /// Before the next try, the `tries`th for this reason: at first between `first` and twice that, then doubling.
    pub fn pause(&self, first: Duration, tries: u32) -> Duration {
        let longest = self.longest_pause.max(first);
        ExponentialBuilder::default()
            .with_min_delay(first)
            .with_max_delay(longest)
            .without_max_times()
            .with_jitter()
            .build()
            .nth(usize::try_from(tries.saturating_sub(1)).unwrap_or(usize::MAX))
            .unwrap_or(longest)
    }
}

/// The short pauses of who comes again for a conversation.
pub struct Pauses {
    begun: Instant,
    next: Duration,
}

impl Pauses {
    /// From now.
    pub fn new() -> Self {
        Self { begun: Instant::now(), next: Duration::from_millis(5) }
    }

    /// `false` when it has taken too long.
    pub async fn wait(&mut self) -> bool {
        if self.begun.elapsed() > PATIENCE {
            return false;
        }
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(Duration::from_millis(200));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_without_an_answer_is_made_again_soon_and_one_with_a_bad_answer_less_and_less() {
        let first = Duration::from_secs(2);
        for (trouble, longest) in [(Trouble::of(&McpError::Timeout), 10), (Trouble::answered("approval_invalid"), 300)]
        {
            for tries in 1..40 {
                let pause = trouble.pause(first, tries);
                let doubled = (2 << (tries - 1).min(20)).min(longest / 2);
                let (least, most) = (Duration::from_secs(doubled), Duration::from_secs(doubled * 2));
                assert!((least..=most).contains(&pause), "{} {tries}: {pause:?}", trouble.code);
            }
        }
        let slow = Duration::from_secs(60);
        assert!(Trouble::of(&McpError::Timeout).pause(slow, 9) >= slow, "never faster than the setting");
    }
}
