//! What must happen without a request: due presses, abandoned claims, expiries, unsent messages, continuations.
//!
//! Each duty takes no input: it looks at the stores and repairs what it finds, so the first try, a retry and a restart
//! are the same code. Doing one twice at the same time is harmless.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::outbox::{self, Outbox};
use crate::proposals;
use crate::records::Records;
use crate::thread::click::{self, Clicks};
use crate::thread::queue;
use crate::work::Work;

/// How duties are run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How often the stores are looked at, in milliseconds.
    pub interval_ms: u64,
    /// Presses and messages worked on side by side.
    pub parallel: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { interval_ms: 1_000, parallel: 32 }
    }
}

/// The duties of one process.
pub struct Duties {
    records: Records,
    work: Work,
    clicks: Arc<Clicks>,
    outbox: Outbox,
    wake_worker: Arc<Notify>,
    wake: Arc<Notify>,
    settings: Settings,
    slots: Arc<Semaphore>,
    running: TaskTracker,
    /// What this process is at, so that a slow piece of work is not begun again at every look.
    busy: Arc<Mutex<HashSet<String>>>,
}

/// One piece of due work.
enum Due {
    Click(String),
    Abandoned(crate::domain::ProposalId),
    Overdue(crate::domain::ProposalId),
    Message(String),
}

impl Due {
    fn name(&self) -> String {
        match self {
            Self::Click(id) => format!("click {id}"),
            Self::Abandoned(id) => format!("claim {id}"),
            Self::Overdue(id) => format!("expiry {id}"),
            Self::Message(key) => format!("message {key}"),
        }
    }
}

impl Duties {
    /// Puts the parts together. `wake` is what calls for a look before the interval is over.
    pub fn new(
        records: Records,
        work: Work,
        clicks: Arc<Clicks>,
        outbox: Outbox,
        wake_worker: Arc<Notify>,
        wake: Arc<Notify>,
        settings: Settings,
    ) -> Self {
        let slots = Arc::new(Semaphore::new(settings.parallel.max(1)));
        Self {
            records,
            work,
            clicks,
            outbox,
            wake_worker,
            wake,
            settings,
            slots,
            running: TaskTracker::new(),
            busy: Arc::default(),
        }
    }

    /// Looks and repairs until told to stop, then waits for what runs.
    pub async fn run(self, stop: CancellationToken) {
        let interval = Duration::from_millis(self.settings.interval_ms.max(1));
        let mut looks = 0_u32;
        while !stop.is_cancelled() {
            let woken = self.wake.notified();
            if let Err(error) = self.look().await {
                tracing::error!(error = %error, "a store does not answer");
            }
            if looks.is_multiple_of(600)
                && let Err(error) = queue::sweep(&self.work).await
            {
                tracing::error!(error = %error, "the store of work does not answer");
            }
            looks = looks.wrapping_add(1);
            tokio::select! {
                () = woken => {}
                () = tokio::time::sleep(interval) => {}
                () = stop.cancelled() => {}
            }
        }
        self.running.close();
        self.running.wait().await;
    }

    async fn look(&self) -> Result<(), sqlx::Error> {
        for id in click::due(&self.records).await? {
            self.begin(Due::Click(id)).await;
        }
        for id in proposals::abandoned(self.records.read()).await? {
            self.begin(Due::Abandoned(id)).await;
        }
        for id in proposals::overdue(self.records.read()).await? {
            self.begin(Due::Overdue(id)).await;
        }
        for key in outbox::due(&self.records).await? {
            self.begin(Due::Message(key)).await;
        }
        for continuation in click::continuations(&self.records).await? {
            fail::fail_point!("duties::continuing");
            queue::push(&self.work, &continuation.job, None).await?;
            fail::fail_point!("duties::pushed");
            click::continuation_enqueued(&self.records, &continuation).await?;
            self.wake_worker.notify_one();
        }
        metrics::gauge!("queue_depth").set(queue::depth(&self.work).await? as f64);
        Ok(())
    }

    async fn begin(&self, due: Due) {
        let name = due.name();
        if !self.busy.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone()) {
            return;
        }
        let Ok(slot) = Arc::clone(&self.slots).acquire_owned().await else { return };
        let (clicks, outbox, busy, wake) =
            (Arc::clone(&self.clicks), self.outbox.clone(), Arc::clone(&self.busy), Arc::clone(&self.wake));
        self.running.spawn(async move {
            let done = tokio::spawn(async move {
                let look_again = |done| {
                    if done {
                        wake.notify_one();
                    }
                };
                match due {
                    // A press may have begun a continuation: look again when it is done. While it is not, looking again
                    // at once would find it due and never rest.
                    Due::Click(id) => clicks.run(&id).await.map(look_again),
                    Due::Abandoned(id) => clicks.take_over(&id).await.map(look_again),
                    Due::Overdue(id) => clicks.expire(&id).await,
                    Due::Message(key) => outbox.drive(&key).await.map(drop),
                }
            })
            .await;
            match done {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::error!(due = name, error = %error, "due work failed and stays due"),
                Err(_) => tracing::error!(due = name, "due work panicked and stays due"),
            }
            busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
            drop(slot);
        });
    }
}
