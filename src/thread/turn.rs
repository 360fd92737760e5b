//! Answers one message, or carries out what remained of one.
//!
//! What it promises: each round is stored before the next begins and the answer before it is posted, so a turn that is
//! run again after a crash goes on where it was, proposes nothing twice and gives one answer. It holds no key that
//! could approve anything: a write ends here as a card.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio_util::task::TaskTracker;
use unicode_segmentation::UnicodeSegmentation;

use crate::agent::{self, Agent, Asker, Budget, Footer, Item, Limits, Session, Step, Stop, Usage};
use crate::audit::Origin;
use crate::domain::{MessageTs, Person, Proposal, ProposalState, ThreadKey, TurnId};
use crate::outbox::{Outbox, Place};
use crate::proposals;
use crate::rates::Rates;
use crate::records::Records;
use crate::slack::cards::{self, Card};
use crate::slack::client::{Client, SlackError};
use crate::slack::inbound::Me;
use crate::slack::text::{self, Body};
use crate::thread::asker::{Askers, PROFILE_ATTEMPTS, Refusal};
use crate::thread::audience::Audience;
use crate::thread::continuation::Continuations;
use crate::thread::history::{self, HistoryError};
use crate::thread::queue::{Change, Claimed, Job, Lease, MessageJob, Taken};
use crate::thread::status::{Shown, Status};
use crate::thread::stops::Stops;
use crate::thread::{rebuilt, trail};
use crate::words::{replies, work as words};
use crate::work::{self, Work};

mod edits;
mod overheard;
mod posting;
mod proposing;
mod recall;

use recall::{by_person, footers_of, heard, stored};

/// How long a bot that stops waits until its statuses are taken away.
const FAREWELL: Duration = Duration::from_secs(2);

/// How long the background sender leaves an answer to the turn that wrote it. After a crash the turn is run again and
/// posts it; the hold is for a turn that is given up.
const HOLD: Duration = Duration::from_secs(10);

/// A card is shown when its turn ends, so that nobody decides it while the turn may still propose more of the request:
/// the background sender leaves it alone for longer than a turn can take.
const CARD_HOLD: Duration = Duration::from_secs(60);

/// What a continuation answers when nothing remained; nothing is posted then.
pub const NOTHING_LEFT: &str = "NOTHING_LEFT";

/// Begins the stored note of why a turn was stopped.
const STOPPED: &str = "stopped: ";

/// Deeper continuations are not begun.
pub const MAX_DEPTH: u32 = 3;

/// What may be set about turns, beside the agent's limits.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Turns one person may begin in a minute.
    pub turns_per_minute: u32,
    /// Characters of a message; a longer one is declined.
    pub message_chars: usize,
    /// Tokens of earlier turns shown to the model.
    pub history_tokens: i64,
    /// Tokens of a thread above which a warning is logged.
    pub session_tokens_alert: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { turns_per_minute: 20, message_chars: 8_000, history_tokens: 12_000, session_tokens_alert: 50_000 }
    }
}

/// What the worker does with a job that was not done.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// Trouble that passes: run the job again.
    #[error("the turn has to be run again")]
    Retry(#[source] work::Error),
    /// Slack does not say who the person is: run the job again.
    #[error("the person's profile cannot be had now")]
    NoProfile,
    /// Slack does not open the direct message that something has to be shown in: run the job again.
    #[error("the direct message cannot be opened now")]
    NoDm(#[source] SlackError),
    /// The thread is another worker's now; this one stops without a trace.
    #[error("the thread was taken over")]
    Fenced,
    /// Another bot carries the request on; this one stops without a trace.
    #[error("another bot carries the request on")]
    Elsewhere,
}

impl From<sqlx::Error> for JobError {
    fn from(error: sqlx::Error) -> Self {
        Self::Retry(error.into())
    }
}

impl From<work::Error> for JobError {
    fn from(error: work::Error) -> Self {
        Self::Retry(error)
    }
}

impl From<HistoryError> for JobError {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Fenced => Self::Fenced,
            HistoryError::Store(error) => Self::Retry(error),
        }
    }
}

/// Everything a turn needs. Shared by all workers.
pub struct Turns {
    records: Records,
    work: Work,
    slack: Client,
    outbox: Outbox,
    agent: Agent,
    askers: Arc<Askers>,
    audience: Audience,
    me: Me,
    continuations: Continuations,
    stops: Stops,
    settings: Settings,
    expiry: Duration,
    rate: Option<Rates>,
    /// What shows that turns run, and takes it away again.
    statuses: TaskTracker,
}

/// One run of the loop, as it goes.
struct Run<'a> {
    lease: &'a Lease,
    turn: &'a TurnId,
    thread: &'a ThreadKey,
    asker: &'a Asker,
    origin: &'a TurnId,
    depth: u32,
    /// The message that the request began with, for the audit.
    message: Option<String>,
    /// Of a continuation: the hold on its row.
    taken: Option<&'a Taken>,
    /// By Slack's clock: the message's time.
    begun: MessageTs,
    /// It was begun before, and may have left a status behind.
    again: bool,
    /// What the conversation is about, if this message begins it.
    title: String,
    /// The message that called the bot into a thread of people.
    called: Option<&'a MessageTs>,
}

/// What a run ended with.
struct Outcome {
    text: String,
    departments: Vec<String>,
    stop: Option<Stop>,
    done: Vec<Footer>,
    /// This turn's items and the earlier ones, for telling real numbers from made-up ones.
    known: Vec<Item>,
    shortened: bool,
}

impl Turns {
    /// Puts the parts together.
    #[expect(clippy::too_many_arguments, reason = "the composition root calls it once, by name")]
    pub fn new(
        records: Records,
        work: Work,
        slack: Client,
        outbox: Outbox,
        agent: Agent,
        askers: Arc<Askers>,
        audience: Audience,
        me: Me,
        continuations: Continuations,
        stops: Stops,
        settings: Settings,
        expiry: Duration,
    ) -> Self {
        let rate = NonZeroU32::new(settings.turns_per_minute).map(|n| Rates::over(&work, "turns", n));
        let statuses = TaskTracker::new();
        Self {
            records,
            work,
            slack,
            outbox,
            agent,
            askers,
            audience,
            me,
            continuations,
            stops,
            settings,
            expiry,
            rate,
            statuses,
        }
    }

    /// Waits, for a moment at the most, until nothing is shown any more of turns that were broken off.
    pub async fn is_hidden(&self) {
        self.statuses.close();
        let _ = tokio::time::timeout(FAREWELL, self.statuses.wait()).await;
    }

    /// Runs one job to its end.
    ///
    /// # Errors
    /// [`JobError`] says whether the job has to be run again.
    pub async fn run(&self, claimed: &Claimed) -> Result<(), JobError> {
        match &claimed.job {
            Job::Message(message) => match &message.change {
                None => self.answer(claimed, message).await,
                Some(Change::Edited { .. }) => self.edited(claimed, message).await,
                Some(Change::Deleted) => self.deleted(message).await,
            },
            Job::Continuation { origin, thread, requester, depth, taken } => {
                let taken = taken.as_ref();
                match self.go_on(claimed, origin, thread, requester, *depth, taken).await {
                    // A trace of it is the other bot's to leave.
                    Err(JobError::Elsewhere) => return Ok(()),
                    done => done?,
                }
                self.ended(origin, taken).await
            }
        }
    }

    async fn ended(&self, origin: &TurnId, taken: Option<&Taken>) -> Result<(), JobError> {
        match taken {
            Some(taken) => Ok(self.continuations.end(origin, taken).await?),
            None => Ok(()),
        }
    }

    /// A bot that slept while another took its continuation over finds out here.
    async fn still_ours(&self, run: &Run<'_>) -> Result<(), JobError> {
        match run.taken {
            Some(taken) if !self.continuations.holds(run.origin, taken).await? => Err(JobError::Elsewhere),
            _ => Ok(()),
        }
    }

    /// Whether there is an installation to work for. While Slack refuses the token, turns wait: nobody would see what they
    /// come to.
    pub async fn is_installed(&self) -> bool {
        self.slack.installation().ended().is_none() || self.slack.auth_test().await.is_ok()
    }

    /// The person is told that a job could not be done, with a reference to the log.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn apologise(&self, claimed: &Claimed, reference: &str) -> Result<(), JobError> {
        match &claimed.job {
            // Nobody waits for anything there.
            Job::Message(message) if message.change == Some(Change::Deleted) => Ok(()),
            Job::Message(message) => {
                let (lang, _) = self.askers.reader(&message.sender).await;
                self.say(message, &replies::failed(lang, reference)).await
            }
            // The thread saw the card and its receipt; that the rest of the request is not done belongs there too.
            Job::Continuation { origin, thread, requester, depth, taken } => {
                let taken = taken.as_ref();
                if let Some(held) = taken
                    && !self.continuations.holds(origin, held).await?
                {
                    return Ok(());
                }
                let (lang, _) = self.askers.reader(requester).await;
                let bodies = text::plain(&replies::failed(lang, reference), &[]);
                self.deliver(&format!("said:{origin}.{depth}"), &place(thread), &bodies).await?;
                self.ended(origin, taken).await
            }
        }
    }

    async fn answer(&self, claimed: &Claimed, message: &MessageJob) -> Result<(), JobError> {
        let asker = match self.askers.admit(&message.sender).await? {
            Ok(asker) if message.is_ext_shared && asker.person.team != message.thread.team => {
                return self.refuse(message, Refusal::External, asker.lang).await;
            }
            Ok(asker) => asker,
            // An administrator of ours cannot register somebody of another organisation: do not send them to one.
            Err((Refusal::NotRegistered, lang)) if message.sender.team != message.thread.team => {
                return self.refuse(message, Refusal::External, lang).await;
            }
            // Slack says nothing to anybody now: the message waits until it does.
            Err((Refusal::Unknown, _)) if self.slack.installation().ended().is_some() => {
                return Err(JobError::NoProfile);
            }
            // Slack may say who it is in a moment.
            Err((Refusal::Unknown, _)) if claimed.attempts < PROFILE_ATTEMPTS => return Err(JobError::NoProfile),
            Err((refusal, lang)) => return self.refuse(message, refusal, lang).await,
        };
        // A turn that is run again was counted when it was first run.
        let first = claimed.attempts <= 1;
        if first
            && let Some(rate) = &self.rate
            && !rate.allows(&format!("{}:{}", asker.person.team, asker.person.user)).await
        {
            trail::declined(&self.records, &asker.person, message, "too_many_turns").await?;
            return self.say(message, &words::too_many_turns(asker.lang, self.settings.turns_per_minute)).await;
        }
        if message.text.trim().is_empty() {
            let words = if message.has_files { replies::files_are_not_read } else { replies::what_do_you_need };
            return self.say(message, &words(asker.lang)).await;
        }
        if message.text.graphemes(true).nth(self.settings.message_chars).is_some() {
            trail::declined(&self.records, &asker.person, message, "message_too_long").await?;
            return self.say(message, &words::too_long(asker.lang, self.settings.message_chars)).await;
        }
        let run = Run {
            lease: &claimed.lease,
            turn: &message.turn,
            thread: &message.thread,
            asker: &asker,
            origin: &message.turn,
            depth: 0,
            message: Some(trail::reference(message)),
            taken: None,
            begun: message.ts.clone(),
            again: !first,
            title: if message.ts == message.thread.root { message.text.clone() } else { String::new() },
            called: (message.addressed && !message.in_dm && message.ts != message.thread.root).then_some(&message.ts),
        };
        let begin = vec![Item::User {
            person: asker.person.clone(),
            name: asker.name.clone(),
            text: text::visible(&message.text),
        }];
        self.run_and_post(&run, begin, None).await
    }

    async fn go_on(
        &self,
        claimed: &Claimed,
        origin: &TurnId,
        thread: &ThreadKey,
        requester: &Person,
        depth: u32,
        taken: Option<&Taken>,
    ) -> Result<(), JobError> {
        if let Some(held) = taken
            && !self.continuations.holds(origin, held).await?
        {
            return Err(JobError::Elsewhere);
        }
        let asker = match self.askers.admit(requester).await? {
            Ok(asker) => asker,
            Err((Refusal::Unknown, _)) => return Err(JobError::NoProfile),
            // Whoever lost the rights between the press and now gets nothing more done.
            Err((refusal, _)) => return Ok(trail::refused(&self.records, requester, None, refusal).await?),
        };
        let turn = TurnId::new(format!("{origin}.{depth}"));
        let all = proposals::of_origin(self.records.read(), origin).await?;
        let message = match all.first() {
            Some(first) => Origin::of_proposal(self.records.read(), &first.id).await?.message,
            None => None,
        };
        let begun = self.stops.now();
        let run = Run {
            lease: &claimed.lease,
            turn: &turn,
            thread,
            asker: &asker,
            origin,
            depth,
            message,
            taken,
            begun,
            again: claimed.attempts > 1,
            title: String::new(),
            called: None,
        };
        let refused: Vec<Proposal> = all.into_iter().filter(|p| p.state == ProposalState::Cancelled).collect();
        let begin = vec![Item::Note {
            text: format!(
                "All cards of {}'s last request are decided; the notes above say how. Carry out now what remained of \
                 that request, if anything. Do not propose again what was decided. If nothing remains, answer exactly: {NOTHING_LEFT}",
                asker.name
            ),
            departments: Vec::new(),
        }];
        self.run_and_post(&run, begin, Some(&refused)).await
    }

    /// The loop, then the answer, then the cards.
    async fn run_and_post(
        &self,
        run: &Run<'_>,
        begin: Vec<Item>,
        refused: Option<&[Proposal]>,
    ) -> Result<(), JobError> {
        let status = Status::begin(
            self.slack.clone(),
            Shown {
                thread: run.thread.clone(),
                person: run.asker.person.user.clone(),
                lang: run.asker.lang,
                title: run.title.clone(),
                left_over: run.again,
            },
            &self.statuses,
        );
        let result = self.run_loop(run, begin, refused.unwrap_or_default()).await;
        let posted = match result {
            Ok(outcome) => match self.post(run, outcome, refused.is_some()).await {
                Ok(()) => self.watch_tokens(run).await,
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        // Posting clears the status in Slack, unless it was set at the very same moment; so it is cleared on every path.
        status.clear().await;
        posted
    }

    async fn run_loop(&self, run: &Run<'_>, begin: Vec<Item>, refused: &[Proposal]) -> Result<Outcome, JobError> {
        history::absorb(&self.work, &self.records, run.lease).await?;
        let mut loaded = history::load(&self.work, run.thread, run.turn, self.settings.history_tokens).await?;
        if self.work.is_shared() && rebuilt::may_be_lost(run.thread, run.turn, &loaded) {
            let from = (&self.work, &self.records, &self.slack);
            rebuilt::rebuild(from, run.lease, run.thread, run.asker, run.origin).await?;
            loaded = history::load(&self.work, run.thread, run.turn, self.settings.history_tokens).await?;
        }
        let limits = self.agent.limits();
        let mut round = loaded.next_round;
        let fresh = round == 1 && loaded.answer.is_none();
        let begin = match run.called {
            Some(called) if fresh => self.overheard(run, called, &loaded).await.into_iter().chain(begin).collect(),
            _ => begin,
        };
        let heard = heard(run, &begin, &loaded.said);
        let mut budget = if fresh && run.depth == 0 { Budget::fresh(limits) } else { self.budget(run, limits).await? };
        budget.rounds_left = budget.rounds_left.saturating_sub(round - 1);
        // What begins a turn is stored with its first round: until then the job holds it.
        let mut unstored = if fresh { begin.clone() } else { Vec::new() };
        let mut so_far: Vec<Item> = loaded.rounds.into_iter().flatten().collect();
        if fresh {
            so_far = begin;
        }
        let mut known = loaded.before.clone();
        known.extend(so_far.iter().cloned());
        let mut done = footers_of(&so_far);
        if let Some(answer) = loaded.answer {
            let done = agent::with_words(&heard, done);
            return Ok(stored(answer, done, known, loaded.shortened));
        }

        let mut session = Session::new(&self.agent, run.asker.clone(), heard.clone(), loaded.before, so_far, budget);
        let mut usage = Usage::default();
        let (prompt_hash, tools_hash) = session.hashes();
        let from = Origin {
            message: run.message.clone(),
            model: Some(self.agent.model().to_owned()),
            prompt_hash: Some(prompt_hash),
            tools_hash: Some(tools_hash),
        };
        let stopped = async {
            // A press may have come before a turn that was begun before.
            let pressed = run.again && self.stops.pressed_after(run.thread, &run.asker.person, &run.begun).await?;
            if !pressed {
                self.stops.wait(run.thread, &run.asker.person, &run.begun).await;
            }
            Ok::<(), sqlx::Error>(())
        };
        tokio::pin!(stopped);
        let outcome = loop {
            // Whatever the round is at ends with it: the question to the model, the calls of tools.
            let step = tokio::select! {
                step = session.round() => step,
                pressed = &mut stopped => {
                    pressed?;
                    by_person()
                }
            };
            let decided = session.take_decided();
            match step {
                Step::Round { mut items, drafts, done: now_done, usage: spent } => {
                    usage = usage.plus(spent);
                    if !drafts.is_empty() {
                        let answers = self.propose(run, &from, round, &drafts, refused).await?;
                        items.extend(session.answer_drafts(answers));
                        done.extend(drafts.iter().map(|draft| Footer::prepared(&draft.call)));
                    }
                    unstored.extend(items.iter().cloned());
                    let stored = std::mem::take(&mut unstored);
                    // Side by side: they are two stores, and the person waits for both.
                    let (audited, appended) = tokio::join!(
                        trail::round(&self.records, run.asker, &from, (run.turn, round), &decided, None),
                        history::append(&self.work, run.lease, run.turn, round, &stored)
                    );
                    audited?;
                    appended?;
                    known.extend(items);
                    done.extend(now_done);
                    round += 1;
                }
                Step::Final { text, departments, stop, usage: spent } => {
                    usage = usage.plus(spent);
                    trail::round(&self.records, run.asker, &from, (run.turn, round), &decided, stop).await?;
                    let done = agent::with_words(&heard, done);
                    break Outcome { text, departments, stop, done, known, shortened: loaded.shortened };
                }
            }
        };
        metrics::histogram!("agent_loop_rounds").record(f64::from(round));
        let answer = Item::Assistant {
            text: outcome.text.clone(),
            departments: outcome.departments.clone(),
            fetched_for: (!outcome.departments.is_empty()).then(|| run.asker.person.clone()),
        };
        unstored.push(answer);
        if let Some(stop) = outcome.stop {
            unstored.push(Item::Note { text: format!("{STOPPED}{}", stop.code()), departments: Vec::new() });
        }
        history::append_answer(&self.work, run.lease, run.turn, &unstored, usage.total()).await?;
        Ok(outcome)
    }

    /// After the answer is out: nobody waits for a count.
    async fn watch_tokens(&self, run: &Run<'_>) -> Result<(), JobError> {
        let tokens = history::session_tokens(&self.work, run.thread).await?;
        metrics::histogram!("session_tokens").record(tokens as f64);
        if tokens > self.settings.session_tokens_alert {
            tracing::warn!(thread.tokens = tokens, "a thread has used many tokens");
        }
        Ok(())
    }

    /// A turn's worth, less what the request's earlier turns used: the limits are per request of a person. A
    /// continuation has a deadline of its own, since a person's time to press lies between.
    async fn budget(&self, run: &Run<'_>, limits: &Limits) -> Result<Budget, JobError> {
        let mut budget = Budget::fresh(limits);
        if run.depth > 0 {
            let (rounds, calls) = history::used(&self.work, run.thread, run.origin).await?;
            budget.rounds_left = budget.rounds_left.saturating_sub(rounds);
            budget.tool_calls_left = budget.tool_calls_left.saturating_sub(calls);
        }
        let made = proposals::of_origin(self.records.read(), run.origin).await?.len();
        budget.proposals_left = budget.proposals_left.saturating_sub(u32::try_from(made).unwrap_or(u32::MAX));
        Ok(budget)
    }
}

/// The outbox key of a proposal's card.
pub fn card_key(proposal: &Proposal) -> String {
    format!("card:{}", proposal.id)
}

/// A thread as a place for messages that all may see.
pub fn place(thread: &ThreadKey) -> Place {
    Place { channel: thread.channel.clone(), thread: Some(thread.root.clone()), only: None }
}

/// A proposal's card as it should look now.
pub fn card(proposal: &Proposal, requester: &str, decider: Option<&str>) -> Body {
    cards::render(&Card { proposal, requester_name: requester, decider_name: decider })
}

/// Counts a proposal's new state.
pub fn count(proposal: &Proposal) {
    metrics::counter!("proposals_total", "state" => proposal.state.code()).increment(1);
}
