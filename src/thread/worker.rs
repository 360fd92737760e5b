//! Hands jobs to workers: one at a time in a thread, several threads side by side.
//!
//! A wake-up makes a new job start at once; a slow poll makes sure that a lost wake-up costs a moment and no more. A
//! job that fails, or panics, is run again with growing pauses; the last time its person is told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBuilder};
use serde::Deserialize;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::thread::queue::{self, Claimed};
use crate::thread::trouble::Trouble;
use crate::thread::turn::{JobError, Turns};
use crate::work::{self, Work};

/// After so many beginnings a job is given up and its person told.
const MAX_ATTEMPTS: i64 = 6;

/// How long jobs wait before the installation is looked at again, once it has ended.
const WITHOUT_INSTALLATION: Duration = Duration::from_secs(1);

/// How workers are run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Turns that may run side by side.
    pub workers: usize,
    /// How long a thread stays leased without renewal, in milliseconds.
    pub lease_ms: u64,
    /// How often the queue is looked at without being told, in milliseconds.
    pub poll_ms: u64,
    /// How long turns may go on once the bot is told to stop, in milliseconds; then others have them.
    pub drain_ms: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { workers: 16, lease_ms: 15_000, poll_ms: 1_000, drain_ms: 6_000 }
    }
}

/// Runs jobs until told to stop, then waits for those that run, and hands over those that take too long.
pub async fn run(work: Work, turns: Arc<Turns>, wake: Arc<Notify>, stop: CancellationToken, settings: Settings) {
    let slots = Arc::new(Semaphore::new(settings.workers.max(1)));
    let (running, hand_over) = (TaskTracker::new(), CancellationToken::new());
    let lease = Duration::from_millis(settings.lease_ms);
    let mut trouble = Trouble::default();
    while !stop.is_cancelled() {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { break };
        if !turns.is_installed().await {
            drop(slot);
            let _ = stop.run_until_cancelled(tokio::time::sleep(WITHOUT_INSTALLATION)).await;
            continue;
        }
        // Registered before the look, so that a job stored in between is not missed.
        let woken = wake.notified();
        match queue::claim(&work, lease).await {
            Ok(Some(claimed)) => {
                trouble.is_over();
                let more = claimed.more;
                let (work, turns, wake) = (work.clone(), Arc::clone(&turns), Arc::clone(&wake));
                let hand_over = hand_over.clone();
                running.spawn(async move {
                    let more = one(&work, turns, claimed, lease, &hand_over).await;
                    drop(slot);
                    // The thread is free now: its next job may have waited for this one.
                    if more {
                        wake.notify_one();
                    }
                });
                if more {
                    continue;
                }
            }
            Ok(None) => {
                drop(slot);
                trouble.is_over();
            }
            Err(error) => {
                drop(slot);
                trouble.tell("the queue does not answer", &error);
            }
        }
        tokio::select! {
            () = woken => {}
            () = tokio::time::sleep(Duration::from_millis(settings.poll_ms)) => queue::look_everywhere(&work),
            () = stop.cancelled() => {}
        }
    }
    running.close();
    if tokio::time::timeout(Duration::from_millis(settings.drain_ms), running.wait()).await.is_err() {
        tracing::info!(turns = running.len(), "turns that still run are handed over");
        hand_over.cancel();
        running.wait().await;
    }
    turns.is_hidden().await;
}

/// Runs a job to its end; `false` when its thread has nothing more to do.
async fn one(work: &Work, turns: Arc<Turns>, claimed: Claimed, lease: Duration, hand_over: &CancellationToken) -> bool {
    let begun = Instant::now();
    metrics::gauge!("turns_in_flight").increment(1.0);
    let claimed = Arc::new(claimed);
    // A task of its own, so that a panic in a turn is an attempt that failed and not the end of the worker.
    let mut turn = tokio::spawn({
        let (turns, claimed) = (Arc::clone(&turns), Arc::clone(&claimed));
        async move { turns.run(&claimed).await }
    });
    let result = loop {
        tokio::select! {
            result = &mut turn => break result,
            () = hand_over.cancelled() => {
                turn.abort();
                // It ends at once, or has ended.
                drop((&mut turn).await);
                if let Err(error) = queue::retry(work, &claimed, Duration::ZERO).await {
                    tracing::warn!(%error, "a turn is not handed over; another bot has it when its lease ends");
                }
                metrics::gauge!("turns_in_flight").decrement(1.0);
                return true;
            }
            () = tokio::time::sleep(lease / 3) => {
                if let Ok(false) = queue::renew(work, &claimed.lease, lease).await {
                    turn.abort();
                }
            }
        }
    };
    metrics::gauge!("turns_in_flight").decrement(1.0);
    metrics::histogram!("turn_seconds").record(begun.elapsed().as_secs_f64());
    let ended = match result {
        Ok(Ok(())) => queue::finish(work, &claimed).await,
        Ok(Err(JobError::Fenced)) => Ok(true),
        Ok(Err(error)) => again(work, &turns, &claimed, &chain(&error)).await,
        Err(join) if join.is_cancelled() => Ok(true),
        Err(_) => again(work, &turns, &claimed, "the turn panicked").await,
    };
    ended.unwrap_or_else(|error| {
        tracing::error!(error = %error, "the queue does not answer");
        true
    })
}

async fn again(work: &Work, turns: &Turns, claimed: &Claimed, reason: &str) -> Result<bool, work::Error> {
    let reference = reference(claimed);
    if claimed.attempts < MAX_ATTEMPTS {
        tracing::warn!(reference, attempts = claimed.attempts, reason, "a turn failed and is run again");
        return queue::retry(work, claimed, pause(claimed.attempts)).await.map(|()| true);
    }
    metrics::counter!("turns_given_up_total").increment(1);
    tracing::error!(reference, reason, "a turn is given up");
    if let Err(error) = turns.apologise(claimed, &reference).await {
        tracing::error!(reference, error = %error, "the person could not be told");
    }
    queue::finish(work, claimed).await
}

/// What the person may quote and the log can be searched for.
fn reference(claimed: &Claimed) -> String {
    let thread = claimed.job.thread().to_string();
    use sha2::{Digest, Sha256};
    hex::encode(Sha256::digest(thread)).chars().take(8).collect()
}

fn pause(attempts: i64) -> Duration {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(500))
        .with_max_delay(Duration::from_secs(30))
        .without_max_times()
        .with_jitter()
        .build()
        .nth(usize::try_from(attempts.saturating_sub(1)).unwrap_or(0))
        .unwrap_or(Duration::from_secs(30))
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
