//! What must happen without a request: due presses, abandoned claims, expiries, unsent messages, continuations, seals.
//!
//! Each duty takes no input: it looks at the stores and repairs what it finds, so the first try, a retry and a restart
//! are the same code. Doing one twice at the same time is harmless. A look waits for nothing but the stores: what finds
//! no slot stays due, and each kind of work has slots of its own, so that neither a slow Slack nor a sales server that
//! stands still keeps a press waiting.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::audit::seal;
use crate::domain::ProposalId;
use crate::outbox::{self, Outbox};
use crate::proposals;
use crate::records::Records;
use crate::thread::click::{self, Clicks};
use crate::thread::continuation::{Continuation, Continuations};
use crate::thread::history;
use crate::thread::queue::{self, Pushed};
use crate::work::Work;

/// How duties are run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How often the stores are looked at, in milliseconds.
    pub interval_ms: u64,
    /// How many presses are worked on side by side; of claimed and overdue cards as many again, and of messages.
    pub parallel: usize,
    /// What remains of a request is left to the bot that has its conversation, and to a bot that took it and is silent,
    /// for so long, in milliseconds; then any other bot on the database carries it on.
    pub continuation_lease_ms: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { interval_ms: 1_000, parallel: 32, continuation_lease_ms: 30_000 }
    }
}

/// The duties of one process.
pub struct Duties {
    records: Records,
    work: Work,
    clicks: Arc<Clicks>,
    outbox: Outbox,
    continuations: Continuations,
    wake_worker: Arc<Notify>,
    wake: Arc<Notify>,
    settings: Settings,
    seal_interval: Duration,
    presses: Slots,
    cards: Slots,
    messages: Slots,
    running: TaskTracker,
    /// What this process is at, so that a slow piece of work is not begun again at every look.
    busy: Arc<Mutex<HashSet<String>>>,
}

/// The slots of one kind of work.
#[derive(Clone)]
struct Slots {
    free: Arc<Semaphore>,
    /// Due work found none.
    short: Arc<AtomicBool>,
}

impl Slots {
    fn new(count: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(count.max(1))), short: Arc::default() }
    }
}

/// One piece of due work.
enum Due {
    Click(String),
    Abandoned(ProposalId),
    Overdue(ProposalId),
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
    #[expect(clippy::too_many_arguments, reason = "the composition root calls it once, by name")]
    pub fn new(
        records: Records,
        work: Work,
        clicks: Arc<Clicks>,
        outbox: Outbox,
        continuations: Continuations,
        wake_worker: Arc<Notify>,
        wake: Arc<Notify>,
        settings: Settings,
        seal_interval: Duration,
    ) -> Self {
        let slots = || Slots::new(settings.parallel);
        let (presses, cards, messages) = (slots(), slots(), slots());
        Self {
            records,
            work,
            clicks,
            outbox,
            continuations,
            wake_worker,
            wake,
            settings,
            seal_interval,
            presses,
            cards,
            messages,
            running: TaskTracker::new(),
            busy: Arc::default(),
        }
    }

    /// Looks and repairs until told to stop, then waits for what runs and seals what it left.
    pub async fn run(self, stop: CancellationToken) {
        tokio::join!(self.keep_looking(&stop), self.keep_sealing(&stop), self.keep_renewing(&stop));
        self.running.close();
        self.running.wait().await;
        self.seal().await;
    }

    /// By itself, so that no press waits for a seal.
    async fn keep_sealing(&self, stop: &CancellationToken) {
        let interval = self.seal_interval.max(Duration::from_secs(1));
        while stop.run_until_cancelled(tokio::time::sleep(interval)).await.is_some() {
            self.seal().await;
        }
    }

    /// By itself, so that no look that takes long loses a lease.
    async fn keep_renewing(&self, stop: &CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(self.continuations.span() / 3)).await.is_some() {
            if let Err(error) = self.continuations.renew().await {
                tracing::warn!(error = %error, "leases on continuations not renewed; tried again in a moment");
            }
        }
    }

    async fn seal(&self) {
        match seal::run(&self.records).await {
            Ok(seal::Sealed { head: Some(head), rows }) => tracing::info!(audit.head = head, rows, "audit rows sealed"),
            Ok(_) => {}
            Err(error) => tracing::warn!(error = %error, "audit rows not sealed; tried again at the next interval"),
        }
        if let Ok(waiting) = seal::waiting_ms(&self.records).await {
            metrics::gauge!("audit_unsealed_seconds").set(waiting as f64 / 1_000.0);
        }
    }

    async fn keep_looking(&self, stop: &CancellationToken) {
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
    }

    async fn look(&self) -> Result<(), sqlx::Error> {
        for id in click::due(&self.records).await? {
            self.begin(Due::Click(id));
        }
        for id in proposals::abandoned(self.records.read()).await? {
            self.begin(Due::Abandoned(id));
        }
        for id in proposals::overdue(self.records.read()).await? {
            self.begin(Due::Overdue(id));
        }
        for key in outbox::due(&self.records).await? {
            self.begin(Due::Message(key));
        }
        for continuation in self.continuations.due().await? {
            self.go_on(&continuation).await?;
        }
        metrics::gauge!("queue_depth").set(queue::depth(&self.work).await? as f64);
        Ok(())
    }

    /// Takes a continuation and makes a job of it, if it is this bot's to carry on. A bot without the conversation could
    /// only guess what the person wanted: it leaves the one that has it time to come.
    async fn go_on(&self, continuation: &Continuation) -> Result<(), sqlx::Error> {
        let work = match &continuation.work {
            Ok(work) => work,
            Err(_) => {
                if self.continuations.set_aside(continuation).await? {
                    metrics::counter!("continuations_unreadable_total").increment(1);
                    tracing::error!(turn = %continuation.turn, "a continuation cannot be read and is set aside");
                }
                return Ok(());
            }
        };
        let patience = i64::try_from(self.continuations.span().as_millis()).unwrap_or(i64::MAX);
        if self.records.is_shared()
            && continuation.age_ms < patience
            && !history::has(&self.work, &work.thread, &continuation.origin).await?
        {
            return Ok(());
        }
        let Some(job) = self.continuations.take(continuation, work).await? else { return Ok(()) };
        fail::fail_point!("duties::continuing");
        if queue::push(&self.work, &job, None).await? == Pushed::Duplicate {
            // Another turn's cards belonged to the same request, and its run is this one.
            self.continuations.set_aside(continuation).await?;
        }
        fail::fail_point!("duties::pushed");
        self.wake_worker.notify_one();
        Ok(())
    }

    /// Begins a piece of work unless this process is at it or no slot is free; it stays due then.
    fn begin(&self, due: Due) {
        let name = due.name();
        let slots = match due {
            Due::Click(_) => &self.presses,
            Due::Abandoned(_) | Due::Overdue(_) => &self.cards,
            Due::Message(_) => &self.messages,
        };
        let mut at_it = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        if at_it.contains(&name) {
            return;
        }
        let Ok(slot) = Arc::clone(&slots.free).try_acquire_owned() else {
            slots.short.store(true, Ordering::Relaxed);
            return;
        };
        at_it.insert(name.clone());
        drop(at_it);
        let (clicks, outbox, busy, wake, short) = (
            Arc::clone(&self.clicks),
            self.outbox.clone(),
            Arc::clone(&self.busy),
            Arc::clone(&self.wake),
            Arc::clone(&slots.short),
        );
        self.running.spawn(async move {
            // A press may have begun a continuation: look again when it is done.
            let may_bring_more = matches!(due, Due::Click(_) | Due::Abandoned(_));
            let done = tokio::spawn(async move {
                match due {
                    Due::Click(id) => clicks.run(&id).await,
                    Due::Abandoned(id) => clicks.take_over(&id).await,
                    Due::Overdue(id) => clicks.expire(&id).await.map(|()| true),
                    Due::Message(key) => outbox.drive(&key).await.map(|_| true),
                }
            })
            .await;
            let is_done = match done {
                Ok(Ok(done)) => done,
                Ok(Err(error)) => {
                    tracing::error!(due = name, error = %error, "due work failed and stays due");
                    false
                }
                Err(_) => {
                    tracing::error!(due = name, "due work panicked and stays due");
                    false
                }
            };
            busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
            drop(slot);
            // While it is not done, looking again at once would find it due and never rest.
            if is_done && (short.swap(false, Ordering::Relaxed) || may_bring_more) {
                wake.notify_one();
            }
        });
    }
}
