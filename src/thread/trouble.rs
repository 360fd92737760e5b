//! A store that does not answer: said at once, and then now and again until it does, instead of with each try.

use std::time::{Duration, Instant};

/// How often it is said.
const TOLD_EVERY: Duration = Duration::from_secs(30);

/// Of one store and one who asks it.
#[derive(Debug, Default)]
pub struct Trouble {
    since: Option<Instant>,
    told: Option<Instant>,
}

impl Trouble {
    /// It did not answer; `what` is what does not happen therefore.
    pub fn tell(&mut self, what: &'static str, error: &dyn std::error::Error) {
        let since = *self.since.get_or_insert_with(Instant::now);
        if self.told.is_none_or(|told| told.elapsed() > TOLD_EVERY) {
            self.told = Some(Instant::now());
            let cause = error.source().map(tracing::field::display);
            tracing::error!(error = %error, cause, seconds = since.elapsed().as_secs(), "{what}");
        }
    }

    /// It answered.
    pub fn is_over(&mut self) {
        if let Some(since) = self.since.take() {
            self.told = None;
            tracing::info!(seconds = since.elapsed().as_secs(), "a store answers again");
        }
    }
}
