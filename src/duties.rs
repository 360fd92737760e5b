//! What must happen without a request: due presses, abandoned claims, expiries, unsent messages, continuations, seals.
//!
//! Each duty takes no input: it looks at the stores and repairs what it finds, so the first try, a retry and a restart
//! are the same code. Doing one twice at the same time is harmless. A look waits for nothing but the stores: what finds
//! no slot stays due, and each kind of work has slots of its own, so that neither a slow Slack nor a sales server that
//! stands still keeps a press waiting.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::audit::seal;
use crate::outbox::Outbox;
use crate::proposals;
use crate::records::Records;
use crate::thread::click::{Clicks, Ran};
use crate::thread::continuation::{Continuation, Continuations};
use crate::thread::history;
use crate::thread::press::Press;
use crate::thread::queue::{self, Job, Pushed};
use crate::thread::trouble::Trouble;
use crate::work::{self, Work};

mod due;

use due::Due;

/// How often confirmed writes without an outcome are counted.
const WATCH_EVERY: Duration = Duration::from_secs(10);

/// A confirmed write without an outcome for longer is worth an operator's look, and again after as long.
const TOO_LONG: Duration = Duration::from_secs(180);

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
    /// How long a message to Slack is left to the bot that sends it before another does, in milliseconds; at least three
    /// times as long as a call may take.
    pub message_lease_ms: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { interval_ms: 1_000, parallel: 32, continuation_lease_ms: 30_000, message_lease_ms: 20_000 }
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
    /// Calls for a look before the interval is over.
    wake: Arc<Notify>,
    settings: Settings,
    seal_interval: Duration,
    presses: Slots,
    cards: Slots,
    messages: Slots,
    running: TaskTracker,
    /// Jobs of continuations that the store of work has not taken yet.
    owed: Mutex<Vec<Job>>,
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

impl Duties {
    /// Puts the parts together.
    #[expect(clippy::too_many_arguments, reason = "the composition root calls it once, by name")]
    pub fn new(
        records: Records,
        work: Work,
        clicks: Arc<Clicks>,
        outbox: Outbox,
        continuations: Continuations,
        wake_worker: Arc<Notify>,
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
            wake: Arc::default(),
            settings,
            seal_interval,
            presses,
            cards,
            messages,
            running: TaskTracker::new(),
            owed: Mutex::default(),
            busy: Arc::default(),
        }
    }

    /// Looks and repairs until told to stop, then waits for what runs and seals what it left. `pressed` are the presses
    /// that this process has just stored; they wait for no look.
    pub async fn run(self, pressed: UnboundedReceiver<Press>, stop: CancellationToken) {
        tokio::join!(
            self.keep_looking(&stop),
            self.take_presses(pressed, &stop),
            self.keep_sealing(&stop),
            self.keep_renewing(&stop),
            self.keep_watching(&stop)
        );
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

    /// Tells whoever runs the bot of confirmed writes that come to no end.
    async fn keep_watching(&self, stop: &CancellationToken) {
        let mut told: Option<Instant> = None;
        while stop.run_until_cancelled(tokio::time::sleep(WATCH_EVERY)).await.is_some() {
            let Ok(waiting) = proposals::unfinished(&self.records).await else { continue };
            metrics::gauge!("proposals_claimed_seconds").set(waiting.oldest.as_secs_f64());
            if waiting.oldest > TOO_LONG && told.is_none_or(|at| at.elapsed() > TOO_LONG) {
                told = Some(Instant::now());
                tracing::error!(
                    writes = waiting.writes,
                    oldest_s = waiting.oldest.as_secs(),
                    trouble = waiting.trouble,
                    "confirmed writes have no outcome yet; they are driven on, but somebody should look at the sales server"
                );
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
        let (mut looks, mut trouble) = (0_u32, Trouble::default());
        while !stop.is_cancelled() {
            let woken = self.wake.notified();
            match self.look().await {
                Ok(()) => trouble.is_over(),
                Err(error) => trouble.tell("a store does not answer", &error),
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

    async fn look(&self) -> Result<(), work::Error> {
        let mut continuations = Vec::new();
        for due in due::all(&self.records).await? {
            match due {
                Due::Continuation(continuation) => continuations.push(continuation),
                due => self.begin(due),
            }
        }
        // Behind everything else: they need the store of work, and presses do not.
        while let Some(job) = self.next_owed() {
            self.hand_over(job).await?;
        }
        for continuation in continuations {
            self.go_on(&continuation).await?;
        }
        metrics::gauge!("queue_depth").set(queue::depth(&self.work).await? as f64);
        Ok(())
    }

    /// Takes a continuation and makes a job of it, if it is this bot's to carry on. Where each bot has conversations of its
    /// own, one without this one could only guess what the person wanted: it leaves the one that has it time to come.
    async fn go_on(&self, continuation: &Continuation) -> Result<(), work::Error> {
        let Some(remaining) = &continuation.remaining else {
            if self.continuations.set_aside(continuation).await? {
                metrics::counter!("continuations_unreadable_total").increment(1);
                tracing::error!(turn = %continuation.turn, "a continuation cannot be read and is set aside");
            }
            return Ok(());
        };
        let patience = i64::try_from(self.continuations.span().as_millis()).unwrap_or(i64::MAX);
        if self.records.is_shared()
            && !self.work.is_shared()
            && continuation.age_ms < patience
            && !history::has(&self.work, &remaining.thread, &continuation.origin).await?
        {
            return Ok(());
        }
        let Some(job) = self.continuations.take(continuation, remaining).await? else { return Ok(()) };
        fail::fail_point!("duties::continuing");
        if self.hand_over(job).await? == Pushed::Duplicate {
            // Another turn's cards belonged to the same request, and its run is this one.
            self.continuations.set_aside(continuation).await?;
        }
        fail::fail_point!("duties::pushed");
        self.wake_worker.notify_one();
        Ok(())
    }

    fn next_owed(&self) -> Option<Job> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Stores the job of a continuation that this process has taken. As long as that is not known to be done, it is owed:
    /// the row is kept by this process, and nobody else would do it.
    async fn hand_over(&self, job: Job) -> Result<Pushed, work::Error> {
        let pushed = queue::push(&self.work, &job, None).await;
        if pushed.is_err() {
            self.owed.lock().unwrap_or_else(PoisonError::into_inner).push(job);
        }
        pushed
    }

    /// Begins the presses that this process has just stored, in the order of their arrival.
    async fn take_presses(&self, mut pressed: UnboundedReceiver<Press>, stop: &CancellationToken) {
        while let Some(Some(press)) = stop.run_until_cancelled(pressed.recv()).await {
            let due = Due::Press(press);
            let name = due.name();
            if !self.mark(&name) {
                continue;
            }
            let slot = stop.run_until_cancelled(Arc::clone(&self.presses.free).acquire_owned()).await;
            // What is not begun now is found by a look.
            let Some(Ok(slot)) = slot else { return };
            self.spawn(due, name, slot, Arc::clone(&self.presses.short));
        }
    }

    /// Begins a piece of work unless this process is at it or no slot is free; it stays due then.
    fn begin(&self, due: Due) {
        let name = due.name();
        let slots = match due {
            Due::Press(_) => &self.presses,
            Due::Abandoned(_) | Due::Overdue(_) | Due::Continuation(_) => &self.cards,
            Due::Message(_) => &self.messages,
        };
        if !self.mark(&name) {
            return;
        }
        match Arc::clone(&slots.free).try_acquire_owned() {
            Ok(slot) => self.spawn(due, name, slot, Arc::clone(&slots.short)),
            Err(_) => {
                slots.short.store(true, Ordering::Relaxed);
                self.unmark(&name);
            }
        }
    }

    /// `false`: this process is at it.
    fn mark(&self, name: &str) -> bool {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned())
    }

    fn unmark(&self, name: &str) {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    fn spawn(&self, due: Due, name: String, slot: OwnedSemaphorePermit, short: Arc<AtomicBool>) {
        let (clicks, outbox, busy, wake) =
            (Arc::clone(&self.clicks), self.outbox.clone(), Arc::clone(&self.busy), Arc::clone(&self.wake));
        self.running.spawn(async move {
            let done = tokio::spawn(async move {
                match due {
                    Due::Press(press) => clicks.run(&press).await,
                    Due::Abandoned(id) => clicks.take_over(&id).await,
                    Due::Overdue(id) => clicks.expire(&id).await,
                    Due::Message(key) => outbox.drive(&key).await.map(|_| Ran::Done),
                    // A look makes a job of it; the worker does the rest.
                    Due::Continuation(_) => Ok(Ran::Done),
                }
            })
            .await;
            let ran = match done {
                Ok(Ok(ran)) => ran,
                Ok(Err(error)) => {
                    tracing::error!(due = name, error = %error, "due work failed and stays due");
                    Ran::StillDue
                }
                Err(_) => {
                    tracing::error!(due = name, "due work panicked and stays due");
                    Ran::StillDue
                }
            };
            busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
            drop(slot);
            // While it is not done, looking again at once would find it due and never rest.
            if ran == Ran::More || (ran == Ran::Done && short.swap(false, Ordering::Relaxed)) {
                wake.notify_one();
            }
        });
    }
}
