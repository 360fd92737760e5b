//! A circuit breaker: after five failures in a row nothing is tried for thirty seconds, then one trial decides.
//!
//! Promises that a dead endpoint costs callers nothing but an immediate refusal, and that at most one caller at a time
//! tries a dead one. It does not decide what a failure is: the caller reports it.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

/// Failures in a row that open the breaker.
const FAILURES: u32 = 5;
/// How long an open breaker refuses; also how long a trial that never reports keeps others out.
const OPEN: Duration = Duration::from_secs(30);

/// One per endpoint.
#[derive(Debug)]
pub struct Breaker {
    target: String,
    open: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    open_until: Option<Instant>,
}

impl Breaker {
    /// A closed breaker; `target` labels the metric.
    pub fn new(target: impl Into<String>) -> Self {
        let breaker = Self { target: target.into(), open: OPEN, state: Mutex::default() };
        // So that the series is there before the first failure.
        breaker.gauge(0.0);
        breaker
    }

    /// Whether to try. When the time of an open breaker is over, the first caller who asks gets the trial.
    pub fn allows(&self) -> bool {
        let mut state = self.lock();
        match state.open_until {
            None => true,
            Some(until) if Instant::now() < until => false,
            Some(_) => {
                state.open_until = Some(Instant::now() + self.open);
                true
            }
        }
    }

    /// A try went well.
    pub fn succeeded(&self) {
        let mut state = self.lock();
        if state.failures != 0 {
            *state = State::default();
            self.gauge(0.0);
        }
    }

    /// A try failed in a way that says the endpoint is unwell.
    pub fn failed(&self) {
        let mut state = self.lock();
        state.failures = state.failures.saturating_add(1);
        if state.failures >= FAILURES {
            state.open_until = Some(Instant::now() + self.open);
            self.gauge(1.0);
        }
    }

    fn gauge(&self, value: f64) {
        metrics::gauge!("circuit_breaker_open", "target" => self.target.clone()).set(value);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn five_failures_open_it_and_then_one_trial_decides() {
        let open = Duration::from_millis(200);
        let breaker = Breaker { open, ..Breaker::new("test") };
        for _ in 0..4 {
            breaker.failed();
            assert!(breaker.allows());
        }
        breaker.failed();
        assert!(!breaker.allows());
        tokio::time::sleep(open).await;
        assert!(breaker.allows(), "one trial");
        assert!(!breaker.allows(), "and only one");
        breaker.failed();
        assert!(!breaker.allows());
        tokio::time::sleep(open).await;
        assert!(breaker.allows());
        breaker.succeeded();
        assert!(breaker.allows() && breaker.allows(), "closed again");
    }
}
