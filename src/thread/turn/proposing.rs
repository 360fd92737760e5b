//! The proposals of a turn and their cards: made where a write is proposed, ended where Slack will not show them.
//!
//! What it promises: a proposal, its card and its record are one synced transaction; a turn that is run again proposes
//! nothing twice; a card whose readers may not all see what is on it goes to its person alone.

use std::time::Duration;

use super::{CARD_HOLD, JobError, Run, Turns, card, card_key, count, place};
use crate::agent::{Draft, Item};
use crate::audit::{self, Origin};
use crate::domain::{Proposal, ProposalState, Write};
use crate::outbox::{self, Place};
use crate::proposals::{self, New, Slot};
use crate::slack::text;
use crate::thread::audience::Rows;
use crate::thread::{history, trail};
use crate::tokens;
use crate::words::replies;

impl Turns {
    /// Makes proposals and their cards, in one synced transaction, and says of each draft what became of it.
    pub(super) async fn propose(
        &self,
        run: &Run<'_>,
        from: &Origin,
        round: u32,
        drafts: &[Draft],
        refused: &[Proposal],
    ) -> Result<Vec<String>, JobError> {
        let mut answers = Vec::with_capacity(drafts.len());
        // Before the transaction: it may mean asking Slack.
        let mut places = Vec::with_capacity(drafts.len());
        for draft in drafts {
            places.push(self.card_place(run, draft.write.department()).await?);
        }
        let mut tx = self.records.begin_durable().await?;
        proposals::lock_thread(&mut tx, run.thread).await?;
        if let Some(taken) = run.taken
            && !self.continuations.hold(&mut tx, run.origin, taken).await?
        {
            return Err(JobError::Elsewhere);
        }
        for (draft, shown_at) in drafts.iter().zip(&places) {
            let Some(write) = as_shown(&draft.write) else {
                answers.push("Not proposed: the text has no visible characters.".to_owned());
                continue;
            };
            let digest = tokens::digest(&write);
            if refused.iter().any(|p| p.digest == digest) {
                answers.push("Not proposed: the person has just cancelled exactly this. Only a new message of theirs can bring it back.".to_owned());
                continue;
            }
            // What replaces a card belongs to the request that the card belonged to.
            let replaced = match &draft.replaces {
                Some(old) => proposals::find(&mut tx, old).await?.filter(|old| replaceable(old, run)),
                None => None,
            };
            let (origin, depth) =
                replaced.as_ref().map_or((run.origin, run.depth), |old| (&old.origin_turn, old.depth));
            let new = New {
                slot: Slot {
                    turn: run.turn.clone(),
                    round,
                    call_index: u32::try_from(draft.index).unwrap_or(u32::MAX),
                    origin_turn: origin.clone(),
                    depth,
                },
                thread: run.thread.clone(),
                requester: run.asker.person.clone(),
                lang: run.asker.lang,
                write,
                grounds: draft.grounds.clone(),
                expiry: self.expiry,
            };
            let proposal = proposals::create(&mut tx, &new).await?;
            if let Some(old) = &replaced
                && let Some(old) = proposals::supersede(&mut tx, &old.id, &proposal).await?
            {
                let body = card(&old, &run.asker.name, None);
                outbox::want(&mut tx, &card_key(&old), &place(&old.thread), &body, Duration::ZERO).await?;
                count(&old);
                audit::append_from(&mut tx, trail::of_proposal(&old, "proposal_superseded"), from).await?;
            }
            // In a turn that is run again it may be decided already; how it looks then is not the turn's to say.
            if proposal.state == ProposalState::Pending {
                let body = card(&proposal, &run.asker.name, None);
                let hold = Duration::from_secs(self.agent.limits().turn_seconds) + CARD_HOLD;
                outbox::want(&mut tx, &card_key(&proposal), shown_at, &body, hold).await?;
            }
            count(&proposal);
            // A turn that is run again finds what it had proposed.
            if Origin::of_proposal(&mut tx, &proposal.id).await? == Origin::default() {
                audit::append_from(&mut tx, trail::of_proposal(&proposal, "proposal_created"), from).await?;
            }
            answers.push(created(&proposal));
        }
        tx.commit().await?;
        fail::fail_point!("turn::proposed");
        Ok(answers)
    }

    /// Where a card of a department is shown. It cannot be ephemeral, since it will have to change.
    async fn card_place(&self, run: &Run<'_>, department: &str) -> Result<Place, JobError> {
        let rows = Rows::Of(vec![department.to_owned()]);
        if self.audience.may_read(run.thread, run.asker, &rows).await? {
            return Ok(place(run.thread));
        }
        self.dm_place(run.asker).await
    }

    /// Slack will not show a card: nobody can press it, so it ends here and its person is told.
    pub(super) async fn withdraw(&self, run: &Run<'_>, proposal: &Proposal) -> Result<(), JobError> {
        let mut tx = self.records.begin_durable().await?;
        proposals::lock_thread(&mut tx, run.thread).await?;
        let Some(ended) = proposals::withdraw(&mut tx, &proposal.id).await? else { return Ok(()) };
        count(&ended);
        let from = Origin::message(run.message.clone());
        audit::append_from(&mut tx, trail::of_proposal(&ended, "proposal_withdrawn"), &from).await?;
        let note = format!("The card of proposal {} could not be shown. Nothing was written.", ended.id);
        history::leave(&mut tx, run.thread, &Item::Note { text: note, departments: Vec::new() }).await?;
        tx.commit().await?;
        let bodies = text::plain(&replies::card_not_shown(run.asker.lang), &[]);
        self.deliver(&format!("withdrawn:{}", ended.id), &place(run.thread), &bodies).await.map(drop)
    }
}

/// The write with the model's free text as a card shows it, so that the row holds what was approved and nothing that
/// nobody could see. What the records hold already is left as it is. `None` when nothing visible is left.
fn as_shown(write: &Write) -> Option<Write> {
    let mut write = write.clone();
    let (Write::AddSale { products: text, .. } | Write::CancelSale { reason: text, .. }) = &mut write;
    *text = text::visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(write)
}

/// Only a waiting card of the same person in the same conversation can be replaced.
fn replaceable(old: &Proposal, run: &Run<'_>) -> bool {
    old.state == ProposalState::Pending && old.requester == run.asker.person && old.thread == *run.thread
}

/// What the model is told of a proposal it asked for.
fn created(proposal: &Proposal) -> String {
    serde_json::json!({
        "status": "waiting",
        "proposal": proposal.id.as_str(),
        "shown_on_card": proposal.write.arguments(),
        "customer": proposal.write.name_customer(),
        "note": "A card with buttons is shown to the person. Nothing is written until they press confirm. Say so briefly; \
                 do not say that it is registered. Requests that depend on it are carried out after the press.",
    })
    .to_string()
}
