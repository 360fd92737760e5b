//! What becomes of a message's request when its words are changed or taken back.
//!
//! What it promises: a changed message is worked on once more only as long as nobody decided anything about its first
//! words, and their waiting cards are taken back before; else its person is told, once, that it came too late. A
//! deleted message leaves no card that could be pressed. Jobs of one thread run in order, so the first version's turn is
//! over when this runs.

use std::time::Duration;

use super::{JobError, Turns, card, card_key, count, place};
use crate::agent::Item;
use crate::audit::{self, Origin};
use crate::domain::{Proposal, ProposalState, TurnId};
use crate::outbox::{self, Place};
use crate::proposals::{self, Retraction};
use crate::records::{self, Records};
use crate::slack::inbound::same_words;
use crate::slack::text;
use crate::staff;
use crate::thread::queue::{self, Claimed, MessageJob};
use crate::thread::{history, outcome, trail};
use crate::words::replies;

/// What there is of a message's earlier versions.
enum Before {
    /// Nothing was done for them, or this very change has begun to be worked on.
    Nothing,
    /// The words are the same.
    Same,
    /// Only cards that wait.
    Waiting(Vec<Proposal>),
    /// An answer, or a decision.
    Over,
}

impl Turns {
    /// Works on the new words, if it is not too late.
    pub(super) async fn edited(&self, claimed: &Claimed, message: &MessageJob) -> Result<(), JobError> {
        let is_run = match self.before(message).await? {
            Before::Nothing => true,
            Before::Same => return Ok(()),
            Before::Waiting(cards) => {
                // Whoever may not ask any more was told so, and changes nothing.
                if let Err((refusal, _)) = self.askers.admit(&message.sender).await? {
                    trail::refused(&self.records, &message.sender, Some(message), refusal).await?;
                    return Ok(());
                }
                self.retract(message, &cards, Retraction::Edited).await?
            }
            Before::Over => false,
        };
        fail::fail_point!("edits::retracted");
        if is_run { self.answer(claimed, message).await } else { self.too_late(message).await }
    }

    /// Takes back what waits for a decision.
    pub(super) async fn deleted(&self, message: &MessageJob) -> Result<(), JobError> {
        let turn = queue::turn_id(&message.thread, &message.ts);
        let cards = proposals::of_message(self.records.read(), &message.thread, &turn).await?;
        let waiting: Vec<Proposal> = cards.into_iter().filter(|p| p.state == ProposalState::Pending).collect();
        // A press that was faster is carried out; the other cards are taken back all the same.
        for card in &waiting {
            self.retract(message, std::slice::from_ref(card), Retraction::Deleted).await?;
        }
        Ok(())
    }

    async fn before(&self, message: &MessageJob) -> Result<Before, JobError> {
        let first = queue::turn_id(&message.thread, &message.ts);
        let begun = history::has(&self.work, &message.thread, &message.turn).await?
            || proposals::retracted_by(self.records.read(), &message.thread, &message.turn).await?;
        if begun {
            return Ok(Before::Nothing);
        }
        let loaded = history::load(&self.work, &message.thread, &message.turn, self.settings.history_tokens).await?;
        let said = loaded.said.iter().find(|said| said.turn.starts_with(first.as_str())).map(|said| &said.item);
        if let Some(Item::User { text: words, .. }) = said
            && same_words(words, &text::visible(&message.text))
        {
            return Ok(Before::Same);
        }
        let cards = proposals::of_message(self.records.read(), &message.thread, &first).await?;
        let (waiting, other): (Vec<Proposal>, Vec<Proposal>) =
            cards.into_iter().partition(|p| p.state == ProposalState::Pending);
        let is_decided = |p: &Proposal| !matches!(p.state, ProposalState::Superseded | ProposalState::Expired);
        if !waiting.is_empty() && !other.iter().any(is_decided) {
            return Ok(Before::Waiting(waiting));
        }
        let is_over = !waiting.is_empty() || !other.is_empty() || answered(&self.records, &first).await?;
        Ok(if is_over { Before::Over } else { Before::Nothing })
    }

    /// All of these cards, in one synced transaction, or none of them when a press was faster.
    async fn retract(&self, message: &MessageJob, cards: &[Proposal], why: Retraction) -> Result<bool, JobError> {
        let mut tx = self.records.begin_durable().await?;
        proposals::lock_thread(&mut tx, &message.thread).await?;
        let name = match staff::find(&mut tx, &message.sender).await? {
            Some(record) => record.display_name,
            None => message.sender.user.to_string(),
        };
        let from = Origin::message(Some(trail::reference(message)));
        for waiting in cards {
            let Some(ended) = proposals::retract(&mut tx, &waiting.id, why, &message.turn).await? else {
                return Ok(false);
            };
            let body = card(&ended, &name, None);
            outbox::want(&mut tx, &card_key(&ended), &place(&ended.thread), &body, Duration::ZERO).await?;
            let departments = vec![ended.write.department().to_owned()];
            let note = Item::Note { text: outcome::note(&ended), departments };
            history::leave(&mut tx, &ended.thread, &note).await?;
            audit::append_from(&mut tx, trail::of_proposal(&ended, "proposal_superseded"), &from).await?;
        }
        tx.commit().await?;
        for waiting in cards {
            count(&Proposal { state: ProposalState::Superseded, ..waiting.clone() });
            self.outbox.drive(&card_key(waiting)).await?;
        }
        Ok(true)
    }

    /// Once for each message, however often it is changed.
    async fn too_late(&self, message: &MessageJob) -> Result<(), JobError> {
        let (lang, _) = self.askers.reader(&message.sender).await;
        let only = (!message.in_dm).then(|| message.sender.user.clone());
        let place = Place { only, ..place(&message.thread) };
        let key = format!("late:{}", queue::turn_id(&message.thread, &message.ts));
        self.deliver(&key, &place, &text::plain(&replies::edit_too_late(lang), &[])).await.map(drop)
    }
}

/// Whether an answer to any version of a message was posted, or is about to be.
async fn answered(records: &Records, first: &TurnId) -> Result<bool, sqlx::Error> {
    // The ids of turns are hexadecimal digits; what follows them in a key sorts before `g`.
    let range = |kind: &str| (format!("{kind}:{first}"), format!("{kind}:{first}g"));
    let ((reply, reply_end), (private, private_end)) = (range("reply"), range("private"));
    let found: i64 =
        records::query("SELECT count(*) FROM outbox WHERE (key >= $1 AND key < $2) OR (key >= $3 AND key < $4)")
            .bind(reply)
            .bind(reply_end)
            .bind(private)
            .bind(private_end)
            .scalar(records.read())
            .await?;
    Ok(found > 0)
}
