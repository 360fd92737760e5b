//! Whether Slack still takes the bot's token.
//!
//! What it promises: once Slack says that the token or the app is no more, nothing is sent to Slack but one call now and
//! then that finds out whether it is again, so that neither waiting messages nor waiting turns become a storm; whoever
//! runs the bot is told once, in the log, and by readiness and a metric for as long as it lasts.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::client::SlackError;

/// Before the first call that finds out; doubled by each that finds nothing new.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// See [`FIRST_PAUSE`].
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The state of one installation, shared by all who call Slack.
#[derive(Debug, Default)]
pub struct Installation {
    ended: Mutex<Option<Ended>>,
}

#[derive(Debug)]
struct Ended {
    why: String,
    /// When the next call may find out.
    next: Instant,
    pause: Duration,
}

impl Installation {
    /// Why nothing is sent to Slack, if so.
    pub fn ended(&self) -> Option<String> {
        self.lock().as_ref().map(|ended| ended.why.clone())
    }

    /// Slack says that it has ended.
    pub fn end(&self, why: &str) {
        let mut state = self.lock();
        if state.is_some() {
            return;
        }
        *state = Some(Ended { why: why.to_owned(), next: Instant::now() + FIRST_PAUSE, pause: FIRST_PAUSE });
        metrics::gauge!("slack_installation_ended").set(1.0);
        tracing::error!(
            reason = why,
            "Slack does not take the bot's token any more: nothing is posted, and the bot says that it is not ready. \
             Install the app again (its settings in Slack, Install App), set SLACK_BOT_TOKEN to the new token and restart"
        );
    }

    /// Whether a call may be made; else why not.
    pub(super) fn allows(&self, now: Instant) -> Result<(), String> {
        let mut state = self.lock();
        let Some(ended) = state.as_mut() else { return Ok(()) };
        if now < ended.next {
            return Err(ended.why.clone());
        }
        ended.next = now + ended.pause;
        ended.pause = (ended.pause * 2).min(LONGEST_PAUSE);
        Ok(())
    }

    /// What a call's answer says of it.
    pub(super) fn learn<T>(&self, answer: &Result<T, SlackError>) {
        match answer {
            Err(SlackError::Rejected { error, .. }) if is_end(error) => self.end(error),
            // Slack looks at the token before anything else.
            Ok(_) => self.goes_on(),
            Err(_) => {}
        }
    }

    fn goes_on(&self) {
        if self.lock().take().is_some() {
            metrics::gauge!("slack_installation_ended").set(0.0);
            tracing::info!("Slack takes the bot's token again");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Ended>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Error codes that say so of every call with this token.
fn is_end(error: &str) -> bool {
    matches!(error, "token_revoked" | "token_expired" | "account_inactive" | "invalid_auth" | "not_authed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(error: &str) -> Result<(), SlackError> {
        Err(SlackError::Rejected { error: error.to_owned(), messages: Vec::new() })
    }

    #[test]
    fn an_ended_installation_lets_one_call_through_now_and_then_until_one_succeeds() {
        let installation = Installation::default();
        let now = Instant::now();
        installation.learn(&rejected("channel_not_found"));
        installation.learn(&Err::<(), _>(SlackError::Uncertain("no answer".into())));
        assert_eq!((installation.ended(), installation.allows(now)), (None, Ok(())));
        installation.learn(&rejected("account_inactive"));
        let calls = (0..600).filter(|s| installation.allows(now + Duration::from_secs(*s)).is_ok()).count();
        assert!((10..20).contains(&calls), "{calls} calls in ten minutes");
        installation.learn(&rejected("channel_not_found"));
        assert_eq!(installation.ended().as_deref(), Some("account_inactive"));
        let later = now + Duration::from_secs(1_000);
        assert_eq!(installation.allows(later), Ok(()));
        assert!(installation.allows(later).is_err(), "one at a time");
        installation.learn(&Ok::<_, SlackError>(()));
        assert_eq!((installation.ended(), installation.allows(later)), (None, Ok(())));
    }
}
