//! What people get to see of a turn: its answer, in the open or for the asker alone, its cards, and the host's own sentences.

use super::{HOLD, JobError, NOTHING_LEFT, Outcome, Run, Turns, card_key, place};
use crate::agent::Asker;
use crate::domain::{Lang, Proposal, ProposalState, Role};
use crate::outbox::{self, Driven, Place};
use crate::proposals;
use crate::slack::feedback;
use crate::slack::text::{self, Body};
use crate::thread::asker::Refusal;
use crate::thread::audience::Rows;
use crate::thread::queue::MessageJob;
use crate::thread::{claims, footer, trail};
use crate::words::replies;

impl Turns {
    pub(super) async fn post(&self, run: &Run<'_>, outcome: Outcome, is_continuation: bool) -> Result<(), JobError> {
        self.still_ours(run).await?;
        let lang = run.asker.lang;
        let cards = proposals::of_turn(self.records.read(), run.turn).await?;
        let waiting = cards.iter().filter(|p| p.state == ProposalState::Pending).count();
        let rows = rows(run.asker, &outcome, &cards);
        let is_open = self.audience.may_read(run.thread, run.asker, &rows).await?;
        let nothing = outcome.text.trim().is_empty() || outcome.text.trim() == NOTHING_LEFT;
        if !(is_continuation && nothing && outcome.stop.is_none()) {
            let given = claims::Given::of(&outcome.known, &run.asker.person);
            let mut said = outcome.text.trim().to_owned();
            if let Some(stop) = outcome.stop {
                let sentence = stop.sentence(lang, self.agent.limits());
                said = if said.is_empty() { sentence } else { format!("{said}\n\n{sentence}") };
            }
            // The line names what was searched for, and those words are the model's too.
            let lines: Vec<String> = footer::lines(lang, &outcome.done, waiting, outcome.shortened)
                .iter()
                .map(|line| given.only(lang, &text::visible(line)))
                .collect();
            let drawn = |said: &str| {
                let mut bodies = text::reply_checked(said, &lines, lang, &|text| given.only(lang, text));
                if let Some(last) = bodies.last_mut().filter(|_| outcome.stop.is_none()) {
                    feedback::ask(last, run.turn, lang);
                }
                bodies
            };
            if is_open {
                let here = place(run.thread);
                let key = format!("reply:{}", run.turn);
                let delivered = self.deliver(&key, &here, &drawn(&said)).await?;
                // The person is not left waiting where the bot cannot speak any more. Whoever deleted the question is.
                if delivered == Driven::GivenUp
                    && !here.channel.as_str().starts_with('D')
                    && self.outbox.refused(&format!("{key}:0")).await?.is_some_and(|code| is_closed_to_us(&code))
                {
                    self.answer_by_dm(run, &format!("private:{}", run.turn), &said, &drawn).await?;
                }
            } else {
                self.answer_privately(run, &said, &drawn, !cards.is_empty()).await?;
            }
        }
        for proposal in cards {
            if self.outbox.drive(&card_key(&proposal)).await? == Driven::GivenUp {
                self.withdraw(run, &proposal).await?;
            }
        }
        Ok(())
    }

    /// To the asker alone: in the thread where it is short, else in their direct message; the thread gets a line that
    /// says so and shows nothing of it.
    pub(super) async fn answer_privately(
        &self,
        run: &Run<'_>,
        said: &str,
        drawn: &(dyn Fn(&str) -> Vec<Body> + Sync),
        with_cards: bool,
    ) -> Result<(), JobError> {
        let (key, lang) = (format!("private:{}", run.turn), run.asker.lang);
        let short = match drawn(said).as_slice() {
            [only] if !with_cards => Some(only.clone()),
            _ => None,
        };
        let by_dm = match short {
            Some(body) => {
                let here = Place { only: Some(run.asker.person.user.clone()), ..place(run.thread) };
                self.outbox.say(&key, &here, &body, HOLD).await? == Driven::GivenUp
            }
            None => true,
        };
        if by_dm {
            self.answer_by_dm(run, &key, said, drawn).await?;
        }
        let pointer = if by_dm { replies::answered_by_dm } else { replies::answered_privately };
        let pointer = text::plain(&pointer(lang, &run.asker.name), &[]);
        self.deliver(&format!("pointer:{}", run.turn), &place(run.thread), &pointer).await.map(drop)
    }

    pub(super) async fn answer_by_dm(
        &self,
        run: &Run<'_>,
        key: &str,
        said: &str,
        drawn: &(dyn Fn(&str) -> Vec<Body> + Sync),
    ) -> Result<(), JobError> {
        let asked = match self.audience.name_of(&run.thread.channel).await {
            Some(name) => replies::asked_in(run.asker.lang, text::visible(&name)),
            None => replies::asked_elsewhere(run.asker.lang),
        };
        let there = self.dm_place(run.asker).await?;
        self.deliver(&format!("{key}:dm"), &there, &drawn(&format!("{asked}\n\n{said}"))).await.map(drop)
    }

    /// A person's direct message.
    pub(super) async fn dm_place(&self, asker: &Asker) -> Result<Place, JobError> {
        let channel = self.audience.dm(&asker.person.user).await.map_err(JobError::NoDm)?;
        Ok(Place { channel, thread: None, only: None })
    }

    pub(super) async fn refuse(&self, message: &MessageJob, refusal: Refusal, lang: Lang) -> Result<(), JobError> {
        metrics::counter!("turns_refused_total").increment(1);
        trail::refused(&self.records, &message.sender, Some(message), refusal).await?;
        // People who talk to each other in a thread that the bot takes part in are not told again and again.
        if !message.addressed {
            return Ok(());
        }
        let sentence = match refusal {
            Refusal::NotRegistered => replies::not_registered(lang, &message.sender.user),
            Refusal::Revoked => replies::revoked(lang),
            Refusal::Guest => replies::guest(lang),
            Refusal::External => replies::external(lang),
            Refusal::Unknown => replies::unknown_person(lang),
        };
        self.say(message, &sentence).await
    }

    /// A sentence of the host's own: in a DM as a message, elsewhere for the sender's eyes only.
    pub(super) async fn say(&self, message: &MessageJob, sentence: &str) -> Result<(), JobError> {
        let mut place = place(&message.thread);
        if !message.in_dm {
            place.only = Some(message.sender.user.clone());
        }
        self.deliver(&format!("said:{}", message.turn), &place, &text::plain(sentence, &[])).await.map(drop)
    }

    /// What came of the last of the messages.
    pub(super) async fn deliver(&self, key: &str, place: &Place, bodies: &[Body]) -> Result<Driven, JobError> {
        let keys: Vec<String> = (0..bodies.len()).map(|i| format!("{key}:{i}")).collect();
        if let ([key], [body]) = (keys.as_slice(), bodies) {
            // Nearly always.
            return Ok(self.outbox.say(key, place, body, HOLD).await?);
        }
        let mut tx = self.records.begin().await?;
        for (key, body) in keys.iter().zip(bodies) {
            outbox::want(&mut tx, key, place, body, HOLD).await?;
        }
        tx.commit().await?;
        let mut last = Driven::Settled;
        for key in &keys {
            if last == Driven::Later {
                // Parts come in their order: this one follows as soon as the earlier one is there.
                self.outbox.release(key).await?;
            } else {
                last = self.outbox.drive(key).await?;
            }
        }
        Ok(last)
    }
}

/// Whether Slack's code says that the bot may not speak in a channel, and not that the thread is gone.
fn is_closed_to_us(code: &str) -> bool {
    matches!(code, "not_in_channel" | "channel_not_found" | "is_archived") || code.starts_with("restricted_action")
}

/// Whose rows an answer with its cards may show.
fn rows(asker: &Asker, outcome: &Outcome, cards: &[Proposal]) -> Rows {
    let mut departments = outcome.departments.clone();
    departments.extend(cards.iter().map(|card| card.write.department().to_owned()));
    departments.sort();
    departments.dedup();
    match departments.is_empty() {
        // That there is nothing is told of all that the asker may see.
        true if outcome.done.iter().any(|used| used.ok) => match asker.role {
            Role::Admin => Rows::All,
            _ => Rows::Of(asker.departments.clone()),
        },
        true => Rows::None,
        false => Rows::Of(departments),
    }
}
