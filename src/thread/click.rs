//! A press: decided by one conditional update, carried out, settled in one transaction.
//!
//! What it promises: a stored press is carried out without another one, whatever dies; an approval writes at most one
//! sale; every press ends in something its person sees. `failed` is recorded only when the sales server definitely
//! refused: an unknown outcome stays `claimed` and the same call is made again, which returns the first row.
//!
//! A transaction locks the press first, then the conversation where it ends a proposal, then the proposal. None waits
//! for another one: it makes room and comes again, so that one that stands still holds up its own presses only.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::agent::Item;
use crate::audit::{self, Entry};
use crate::domain::{Clock, Lang, Person, Proposal, ProposalId, ProposalState, Risk, ThreadKey};
use crate::mcp::Mcp;
use crate::outbox::{self, Outbox, Place};
use crate::policy;
use crate::proposals::{self, Claim, ClaimedProposal, Settlement, Standing};
use crate::records::{self, Records, Tx};
use crate::slack::inbound::ClickAction;
use crate::slack::text;
use crate::staff::{self, Staff};
use crate::thread::again::{Pauses, Trouble};
use crate::thread::asker::Askers;
use crate::thread::outcome::{already, is_refusal, note, replaced, row};
use crate::thread::press::Press;
use crate::thread::turn::{card, card_key, count, place};
use crate::thread::{continuation, history};
use crate::tokens::{Approval, ApprovalSigner};
use crate::words::presses as words;

/// A write that is faster shows no "working" on its card: it would be replaced at once.
const WORKING_AFTER: Duration = Duration::from_millis(700);

/// The background senders leave a message to the executor that wished for it, and will drive it at once, for so long.
const HOLD: Duration = Duration::from_secs(2);

/// Carries presses out. The only holder of the key that signs approvals.
pub struct Clicks {
    records: Records,
    outbox: Outbox,
    mcp: Arc<Mcp>,
    table: policy::Table,
    askers: Arc<Askers>,
    approvals: ApprovalSigner,
    clock: Clock,
    settings: proposals::Settings,
    /// Decisions and settlements queue here and not at the store: a press that Slack waits for is never behind many.
    turnstile: Semaphore,
}

/// What came of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// It is done.
    Done,
    /// It is done, and left work behind.
    More,
    /// It is due still: looking again at once would find the same.
    StillDue,
}

impl Ran {
    fn left(more: bool) -> Self {
        if more { Self::More } else { Self::Done }
    }
}

/// What a press came to, decided in one transaction.
enum Decided {
    /// Carry the write out.
    Execute(Box<ClaimedProposal>),
    /// Done with: these messages may have changed.
    Tell(Vec<String>),
    /// The same, and work was left behind.
    TellAndMore(Vec<String>),
    /// Done with, and the card's time is over without anybody having ended it.
    TooLate(Vec<String>, Box<Proposal>),
    /// Somebody else is at it, or it was handled before.
    Nothing,
}

/// What a press is about, as it stands when the press is decided.
struct Card {
    standing: Option<Standing>,
    presser: Option<Staff>,
}

/// How the audit names what happens without a press.
const ACTOR: &str = "duties";

/// Ends all leases on claimed writes, when no executor can be alive.
///
/// # Errors
/// When the store does not answer.
pub async fn free_all(records: &Records) -> Result<(), sqlx::Error> {
    proposals::free_all(records).await
}

impl Clicks {
    /// Puts the parts together.
    #[expect(clippy::too_many_arguments, reason = "the composition root calls it once, by name")]
    pub fn new(
        records: Records,
        outbox: Outbox,
        mcp: Arc<Mcp>,
        table: policy::Table,
        askers: Arc<Askers>,
        approvals: ApprovalSigner,
        clock: Clock,
        settings: proposals::Settings,
    ) -> Self {
        let turnstile = Semaphore::new(records.writers());
        Self { records, outbox, mcp, table, askers, approvals, clock, settings, turnstile }
    }

    /// Handles one stored press, as far as nobody else is doing so.
    ///
    /// # Errors
    /// When the store does not answer; the press stays due.
    pub async fn run(&self, press: &Press) -> Result<Ran, sqlx::Error> {
        fail::fail_point!("click::found");
        let (lang, _) = self.askers.reader(&press.who).await;
        let outsider = self.askers.is_outsider(&press.who).await;
        match self.decide(press, lang, outsider).await? {
            Decided::Execute(claimed) => {
                fail::fail_point!("click::claimed");
                self.execute_in_sight(*claimed).await
            }
            Decided::Tell(keys) => self.drive(&keys).await.map(|()| Ran::Done),
            Decided::TellAndMore(keys) => self.drive(&keys).await.map(|()| Ran::More),
            Decided::TooLate(keys, proposal) => {
                let (told, ended) = tokio::join!(self.drive(&keys), self.expire_one(&proposal));
                told?;
                ended
            }
            Decided::Nothing => Ok(Ran::StillDue),
        }
    }

    /// Goes on with a claimed write whose executor is gone.
    ///
    /// # Errors
    /// When the store does not answer; the claim stays abandoned.
    pub async fn take_over(&self, id: &ProposalId) -> Result<Ran, sqlx::Error> {
        match proposals::take_over(self.records.durable(), id, self.lease()).await? {
            Some(claimed) => self.execute(claimed).await,
            None => Ok(Ran::StillDue),
        }
    }

    /// Ends a proposal whose time is over, if no press was faster.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn expire(&self, id: &ProposalId) -> Result<Ran, sqlx::Error> {
        match proposals::find(self.records.read(), id).await? {
            Some(proposal) => self.expire_one(&proposal).await,
            None => Ok(Ran::Done),
        }
    }

    async fn expire_one(&self, proposal: &Proposal) -> Result<Ran, sqlx::Error> {
        let Some((turn, mut tx)) = self.begin_in(&proposal.thread).await? else { return Ok(Ran::StillDue) };
        let Some(ended) = proposals::expire(&mut tx, &proposal.id).await? else { return Ok(Ran::Done) };
        let name = self.name_of(&mut tx, &ended.requester).await?;
        let more = self.ended(&mut tx, &ended, &name).await?;
        tx.commit().await?;
        drop(turn);
        self.outbox.drive(&card_key(&ended)).await?;
        Ok(Ran::left(more))
    }

    fn lease(&self) -> Duration {
        Duration::from_millis(self.settings.claim_lease_ms)
    }

    async fn turn(&self) -> Result<SemaphorePermit<'_>, sqlx::Error> {
        // It is never closed.
        self.turnstile.acquire().await.map_err(|_| sqlx::Error::PoolClosed)
    }

    /// A synced transaction that has the conversation. `None`: another one kept it all the time.
    async fn begin_in(&self, thread: &ThreadKey) -> Result<Option<(SemaphorePermit<'_>, Tx)>, sqlx::Error> {
        let mut pauses = Pauses::new();
        loop {
            let turn = self.turn().await?;
            let mut tx = self.records.begin_durable().await?;
            if proposals::try_lock_thread(&mut tx, thread).await? {
                return Ok(Some((turn, tx)));
            }
            drop((turn, tx));
            if !pauses.wait().await {
                return Ok(None);
            }
        }
    }

    /// The decision and everything that makes it visible, in one synced transaction.
    async fn decide(&self, press: &Press, lang: Lang, outsider: bool) -> Result<Decided, sqlx::Error> {
        let mut pauses = Pauses::new();
        loop {
            if let Some(decided) = self.try_decide(press, lang, outsider).await? {
                return Ok(decided);
            }
            if !pauses.wait().await {
                return Ok(Decided::Nothing);
            }
        }
    }

    /// `None`: another transaction has the conversation or the card.
    async fn try_decide(&self, press: &Press, lang: Lang, outsider: bool) -> Result<Option<Decided>, sqlx::Error> {
        let _turn = self.turn().await?;
        let mut tx = self.records.begin_durable().await?;
        let Some(Card { standing, presser }) = look(&mut tx, press).await? else { return Ok(Some(Decided::Nothing)) };
        let decided = match (standing, press.action) {
            (None, _) => self.tell(&mut tx, press, None, "not_found", &words::unknown_card(lang)).await?,
            (Some(standing), ClickAction::Confirm) => {
                match self.confirm(&mut tx, press, standing, presser, (lang, outsider)).await? {
                    Some(decided) => decided,
                    None => return Ok(None),
                }
            }
            (Some(Standing { proposal, .. }), ClickAction::Cancel) => {
                if !proposals::try_lock_thread(&mut tx, &proposal.thread).await? {
                    return Ok(None);
                }
                self.cancel(&mut tx, press, proposal, presser, lang).await?
            }
        };
        tx.commit().await?;
        Ok(Some(decided))
    }

    async fn confirm(
        &self,
        tx: &mut Tx,
        press: &Press,
        standing: Standing,
        presser: Option<Staff>,
        (lang, outsider): (Lang, bool),
    ) -> Result<Option<Decided>, sqlx::Error> {
        let proposal = &standing.proposal;
        if proposal.requester == press.who && proposal.state == ProposalState::Pending {
            // Whoever became a guest, or left, may not press what they asked for before.
            let allowed = presser.is_some_and(|s| {
                !outsider
                    && s.active
                    && self.table.allows(s.role, proposal.write.tool())
                    && s.sees(proposal.write.department())
            });
            if !allowed {
                self.audit(tx, press, "refused_without_rights", proposal).await?;
                let sentence = words::not_allowed(lang);
                return self.tell(tx, press, Some(proposal), "not_allowed", &sentence).await.map(Some);
            }
        }
        let decided = match proposals::claim(tx, standing, &press.id, &press.who, self.lease()).await? {
            Claim::Busy => return Ok(None),
            Claim::Claimed(claimed) => {
                self.audit(tx, press, "claimed", claimed.proposal()).await?;
                let mut shown = claimed.proposal().clone();
                shown.state = ProposalState::Claimed;
                count(&shown);
                self.show(tx, &shown, &name(&claimed), WORKING_AFTER).await?;
                Decided::Execute(claimed)
            }
            Claim::Running => Decided::Nothing,
            Claim::NotYours(p) => self.tell_not_yours(tx, press, lang, &p).await?,
            Claim::Expired(p) => self.too_late(tx, press, lang, *p).await?,
            Claim::Superseded(p) => self.tell(tx, press, Some(&p), "superseded", &replaced(lang, &p)).await?,
            Claim::AlreadyDecided(p) => self.tell(tx, press, Some(&p), "already_decided", &already(lang, &p)).await?,
        };
        Ok(Some(decided))
    }

    async fn cancel(
        &self,
        tx: &mut Tx,
        press: &Press,
        proposal: Proposal,
        presser: Option<Staff>,
        lang: Lang,
    ) -> Result<Decided, sqlx::Error> {
        if let Some(cancelled) = proposals::cancel(tx, &press.proposal, &press.who).await? {
            self.audit(tx, press, "cancelled", &cancelled).await?;
            handled(tx, &press.id, "cancelled").await?;
            let name = presser.map_or_else(|| press.who.user.to_string(), |s| s.display_name);
            let more = self.ended(tx, &cancelled, &name).await?;
            let keys = vec![card_key(&cancelled)];
            return Ok(if more { Decided::TellAndMore(keys) } else { Decided::Tell(keys) });
        }
        // As it stands now: a press on "confirm" waits for no conversation.
        let p = proposals::find(&mut *tx, &press.proposal).await?.unwrap_or(proposal);
        if p.requester != press.who {
            return self.tell_not_yours(tx, press, lang, &p).await;
        }
        match p.state {
            ProposalState::Pending | ProposalState::Expired => self.too_late(tx, press, lang, p).await,
            ProposalState::Superseded => self.tell(tx, press, Some(&p), "superseded", &replaced(lang, &p)).await,
            _ => self.tell(tx, press, Some(&p), "already_decided", &already(lang, &p)).await,
        }
    }

    async fn tell_not_yours(
        &self,
        tx: &mut Tx,
        press: &Press,
        lang: Lang,
        proposal: &Proposal,
    ) -> Result<Decided, sqlx::Error> {
        self.audit(tx, press, "refused_not_requester", proposal).await?;
        let requester = self.name_of(tx, &proposal.requester).await?;
        self.tell(tx, press, Some(proposal), "not_yours", &words::not_your_card(lang, requester)).await
    }

    /// The press came too late: the card is ended afterwards if the sweep has not done so. Not here, since whoever ends
    /// a proposal asks for its conversation before the proposal's row.
    async fn too_late(
        &self,
        tx: &mut Tx,
        press: &Press,
        lang: Lang,
        proposal: Proposal,
    ) -> Result<Decided, sqlx::Error> {
        let told = self.tell(tx, press, Some(&proposal), "expired", &words::expired(lang)).await?;
        Ok(match told {
            Decided::Tell(keys) if proposal.state == ProposalState::Pending => {
                Decided::TooLate(keys, Box::new(proposal))
            }
            Decided::Tell(mut keys) => {
                keys.push(card_key(&proposal));
                Decided::Tell(keys)
            }
            other => other,
        })
    }

    /// The card says "working" if it takes a moment; the outbox has been told so already.
    async fn execute_in_sight(&self, claimed: ClaimedProposal) -> Result<Ran, sqlx::Error> {
        let card = card_key(claimed.proposal());
        let (over, waits) = tokio::sync::oneshot::channel();
        let execute = async {
            let ran = self.execute(claimed).await;
            // Nobody waits for it any more when the card shows "working" already.
            let _ = over.send(matches!(ran, Ok(Ran::Done | Ran::More)));
            ran
        };
        // Never broken off: it would leave the card to a lease that nobody uses.
        let show = async {
            match tokio::time::timeout(WORKING_AFTER, waits).await {
                Ok(Ok(true)) => Ok(()),
                _ => self.outbox.drive(&card).await.map(drop),
            }
        };
        let (shown, ran) = tokio::join!(show, execute);
        shown?;
        ran
    }

    /// The call, then the settlement. An unknown outcome leaves the claim to be driven on.
    async fn execute(&self, claimed: ClaimedProposal) -> Result<Ran, sqlx::Error> {
        let proposal = claimed.proposal();
        let token = self.approvals.sign(
            &Approval {
                proposal: proposal.id.clone(),
                digest: proposal.digest.clone(),
                requester: proposal.requester.clone(),
                approver: claimed.approver().clone(),
            },
            self.clock.now(),
        );
        let call = policy::allow_claimed(&claimed);
        let settlement = match self.mcp.call(call, &proposal.requester, Some(token)).await {
            Ok(output) if !output.is_error => Ok(Settlement::Done(row(&proposal.write, output.data()))),
            Ok(output) => match output.code() {
                Some(code) if is_refusal(code) => Ok(Settlement::Failed(code.to_owned())),
                code => Err(Trouble::answered(code.unwrap_or("other"))),
            },
            Err(error) => Err(Trouble::of(&error)),
        };
        fail::fail_point!("click::called");
        let settlement = match settlement {
            Ok(settlement) => settlement,
            Err(trouble) => return self.left_unknown(&claimed, &trouble).await,
        };
        let mut pauses = Pauses::new();
        let more = loop {
            if let Some(more) = self.try_settle(&claimed, &settlement).await? {
                break more;
            }
            if !pauses.wait().await {
                tracing::warn!(proposal = %proposal.id, "its conversation is held; the settlement is tried again later");
                return Ok(Ran::StillDue);
            }
        };
        fail::fail_point!("click::settled");
        self.outbox.drive(&card_key(proposal)).await?;
        fail::fail_point!("click::shown");
        Ok(Ran::left(more))
    }

    /// Whether it left work behind. `None`: another transaction has the conversation.
    async fn try_settle(
        &self,
        claimed: &ClaimedProposal,
        settlement: &Settlement,
    ) -> Result<Option<bool>, sqlx::Error> {
        let _turn = self.turn().await?;
        let mut tx = self.records.begin_durable().await?;
        let outcome = match settlement {
            Settlement::Done(_) => "done",
            Settlement::Failed(_) => "failed",
        };
        handled(&mut tx, claimed.click(), outcome).await?;
        if !proposals::try_lock_thread(&mut tx, &claimed.proposal().thread).await? {
            return Ok(None);
        }
        // A later executor has taken over: the transaction is dropped, and the press with it.
        let Some(settled) = proposals::settle(&mut tx, claimed, settlement).await? else { return Ok(Some(false)) };
        let more = self.ended(&mut tx, &settled, &name(claimed)).await?;
        fail::fail_point!("click::settling");
        tx.commit().await?;
        Ok(Some(more))
    }

    /// One row in the audit for each reason, not for each try.
    async fn left_unknown(&self, claimed: &ClaimedProposal, trouble: &Trouble) -> Result<Ran, sqlx::Error> {
        let proposal = claimed.proposal();
        let tries = claimed.tries(&trouble.code);
        let pause = trouble.pause(Duration::from_millis(self.settings.retry_pause_ms), tries);
        if tries > 1 {
            proposals::retry_after(self.records.durable(), claimed, &trouble.code, pause).await?;
            return Ok(Ran::StillDue);
        }
        let reason = &trouble.reason;
        tracing::warn!(proposal = %proposal.id, reason, "outcome of a write unknown; it will be driven on");
        let mut tx = self.records.begin_durable().await?;
        if proposals::retry_after(&mut tx, claimed, &trouble.code, pause).await? {
            let detail =
                serde_json::json!({ "click": claimed.click(), "digest": proposal.digest, "code": trouble.code });
            append(&mut tx, ACTOR, "outcome_unknown", proposal, detail).await?;
        }
        tx.commit().await?;
        Ok(Ran::StillDue)
    }

    /// What every end of a proposal brings with it: the card's last face, a note for the model, perhaps a continuation
    /// (`true`).
    async fn ended(&self, tx: &mut Tx, proposal: &Proposal, requester: &str) -> Result<bool, sqlx::Error> {
        count(proposal);
        let event = match proposal.state {
            ProposalState::Done => Some("proposal_done"),
            ProposalState::Failed => Some("proposal_failed"),
            ProposalState::Expired => Some("proposal_expired"),
            // The press that ended it has its row.
            _ => None,
        };
        if let Some(event) = event {
            let detail = serde_json::json!({ "digest": proposal.digest });
            let detail = audit::with(detail, "code", proposal.failure.as_deref());
            append(tx, ACTOR, event, proposal, detail).await?;
        }
        self.show(tx, proposal, requester, HOLD).await?;
        let note = Item::Note { text: note(proposal), departments: vec![proposal.write.department().to_owned()] };
        history::leave(tx, &proposal.thread, &note).await?;
        continuation::begin_if_decided(tx, proposal).await
    }

    async fn show(&self, tx: &mut Tx, proposal: &Proposal, requester: &str, hold: Duration) -> Result<(), sqlx::Error> {
        let decider = match &proposal.decided_by {
            Some(who) if *who == proposal.requester => Some(requester.to_owned()),
            Some(who) => Some(self.name_of(tx, who).await?),
            None => None,
        };
        let body = card(proposal, requester, decider.as_deref());
        outbox::want(tx, &card_key(proposal), &place(&proposal.thread), &body, hold).await
    }

    /// The name on cards: the staff record's, as it stands now.
    async fn name_of(&self, tx: &mut Tx, who: &Person) -> Result<String, sqlx::Error> {
        let record = staff::find(tx, who).await?;
        Ok(record.map_or_else(|| who.user.to_string(), |s| s.display_name))
    }

    /// Answers the presser alone, and the press is handled.
    async fn tell(
        &self,
        tx: &mut Tx,
        press: &Press,
        proposal: Option<&Proposal>,
        outcome: &'static str,
        sentence: &str,
    ) -> Result<Decided, sqlx::Error> {
        tracing::info!(click.outcome = outcome, "a press changed nothing");
        handled(tx, &press.id, outcome).await?;
        let key = format!("press:{}", press.id);
        self.audit_refused(tx, press, outcome, proposal).await?;
        let place = Place {
            channel: press.channel.clone(),
            thread: proposal.filter(|p| p.thread.channel == press.channel).map(|p| p.thread.root.clone()),
            only: Some(press.who.user.clone()),
        };
        for body in text::plain(sentence, &[]).iter().take(1) {
            outbox::want(&mut *tx, &key, &place, body, HOLD).await?;
        }
        Ok(Decided::Tell(vec![key]))
    }

    /// The presses that are refused for who pressed have a row of their own.
    async fn audit_refused(
        &self,
        tx: &mut Tx,
        press: &Press,
        outcome: &'static str,
        proposal: Option<&Proposal>,
    ) -> Result<(), sqlx::Error> {
        if matches!(outcome, "not_allowed" | "not_yours") {
            return Ok(());
        }
        let detail = serde_json::json!({ "click": press.id, "code": outcome });
        let presser = press.who.subject();
        match proposal {
            Some(proposal) => {
                let detail = audit::with(detail, "digest", Some(&proposal.digest));
                append(tx, &presser, "press_refused", proposal, detail).await
            }
            None => {
                // The id may be anything; a card of ours always has a proposal.
                let entry = Entry {
                    actor: &presser,
                    on_behalf: &press.who,
                    event: "press_refused",
                    tool: None,
                    risk: Risk::Critical,
                    proposal: None,
                    detail,
                };
                audit::append(&mut *tx, entry).await
            }
        }
    }

    async fn audit(
        &self,
        tx: &mut Tx,
        press: &Press,
        event: &'static str,
        proposal: &Proposal,
    ) -> Result<(), sqlx::Error> {
        let detail = serde_json::json!({ "click": press.id, "digest": proposal.digest });
        let detail = audit::with(detail, "code", event.strip_prefix("refused_"));
        append(tx, &press.who.subject(), event, proposal, detail).await
    }

    async fn drive(&self, keys: &[String]) -> Result<(), sqlx::Error> {
        for key in keys {
            self.outbox.drive(key).await?;
        }
        Ok(())
    }
}

/// The name on a claimed proposal's card.
fn name(claimed: &ClaimedProposal) -> String {
    claimed.requester_name().map_or_else(|| claimed.proposal().requester.user.to_string(), str::to_owned)
}

async fn handled(tx: &mut Tx, click: &str, outcome: &'static str) -> Result<(), sqlx::Error> {
    records::query("UPDATE clicks SET handled_at = now_ms(), outcome = $2 WHERE id = $1")
        .bind(click)
        .bind(outcome)
        .execute(tx)
        .await
        .map(drop)
}

/// A row about a proposal, with the message it began with.
async fn append(
    tx: &mut Tx,
    actor: &str,
    event: &'static str,
    proposal: &Proposal,
    detail: Value,
) -> Result<(), sqlx::Error> {
    let tool = proposal.write.tool();
    let entry = Entry {
        actor,
        on_behalf: &proposal.requester,
        event,
        tool: Some(tool),
        risk: Risk::of(tool),
        proposal: Some(&proposal.id),
        detail,
    };
    audit::append_about(tx, entry).await
}

/// What a press is about, with the presser's rights as they are now; nobody else can decide the press before the
/// transaction has ended. `None`: it was handled, or another process is at it.
async fn look(tx: &mut Tx, press: &Press) -> Result<Option<Card>, sqlx::Error> {
    let row = records::query(concat!(
        "SELECT ",
        proposals::columns!("p."),
        ", s.display_name, s.role, s.departments, s.active
         FROM clicks c
         LEFT JOIN proposals p ON p.id = c.proposal_id
         LEFT JOIN staff s ON s.team = c.team AND s.\"user\" = c.\"user\"
         WHERE c.id = $1 AND c.handled_at IS NULL FOR UPDATE OF c SKIP LOCKED"
    ))
    .bind(&press.id)
    .fetch_optional(tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Card { standing: proposals::standing(&row)?, presser: staff::beside(&row, &press.who)? }))
}
