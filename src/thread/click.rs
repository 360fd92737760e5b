//! A press: stored as a row, decided by one conditional update, carried out, settled in one transaction.
//!
//! What it promises: a stored press is carried out without another one, whatever dies; an approval writes at most one
//! sale; every press ends in something its person sees. `failed` is recorded only when the sales server definitely
//! refused: an unknown outcome stays `claimed` and the same call is made again, which returns the first row.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::agent::Item;
use crate::audit::{self, Entry, Origin};
use crate::domain::{ChannelId, Clock, Lang, Person, Proposal, ProposalId, ProposalState, Risk, Write};
use crate::mcp::Mcp;
use crate::outbox::{self, Outbox, Place};
use crate::policy;
use crate::proposals::{self, Claim, ClaimedProposal, Settlement};
use crate::records::{self, Records, Row, Tx};
use crate::slack::inbound::ClickAction;
use crate::slack::text;
use crate::staff;
use crate::thread::asker::Askers;
use crate::thread::turn::{card, card_key, count, place};
use crate::thread::{continuation, history};
use crate::tokens::{Approval, ApprovalSigner};
use crate::words::presses as words;

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
    turnstile: tokio::sync::Mutex<()>,
}

/// A stored press.
#[derive(Clone, Debug)]
struct Press {
    id: String,
    proposal: ProposalId,
    action: ClickAction,
    who: Person,
    channel: ChannelId,
}

/// What a press came to, decided in one transaction.
enum Decided {
    /// Carry the write out.
    Execute(Box<ClaimedProposal>),
    /// Done with: these messages may have changed.
    Tell(Vec<String>),
    /// Somebody else is at it, or it was handled before.
    Nothing,
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

/// The presses that are stored and not handled, oldest first.
///
/// # Errors
/// When the store does not answer.
pub async fn due(records: &Records) -> Result<Vec<String>, sqlx::Error> {
    // A press that is being carried out belongs to its proposal's claim: whoever holds that drives it on.
    records::query(
        "SELECT id FROM clicks c WHERE handled_at IS NULL
           AND NOT EXISTS (SELECT 1 FROM proposals p WHERE p.id = c.proposal_id AND p.state = 'claimed' AND p.claim_click = c.id)
         ORDER BY received_at LIMIT 100",
    )
    .scalars(records.read())
    .await
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
        Self {
            records,
            outbox,
            mcp,
            table,
            askers,
            approvals,
            clock,
            settings,
            turnstile: tokio::sync::Mutex::default(),
        }
    }

    /// Handles one stored press, as far as nobody else is doing so. `false`: it is still due, and looking again at once
    /// would find the same.
    ///
    /// # Errors
    /// When the store does not answer; the press stays due.
    pub async fn run(&self, click: &str) -> Result<bool, sqlx::Error> {
        let Some(press) = find(&self.records, click).await? else { return Ok(true) };
        fail::fail_point!("click::found");
        let (lang, _) = self.askers.reader(&press.who).await;
        let outsider = self.askers.is_outsider(&press.who).await;
        match self.decide(&press, lang, outsider).await? {
            Decided::Execute(claimed) => {
                fail::fail_point!("click::claimed");
                let card = card_key(claimed.proposal());
                let (shown, done) = tokio::join!(self.outbox.drive(&card), self.execute(*claimed));
                shown?;
                done
            }
            Decided::Tell(keys) => self.drive(&keys).await.map(|()| true),
            Decided::Nothing => Ok(false),
        }
    }

    /// Goes on with a claimed write whose executor is gone. `false`: it is not settled yet.
    ///
    /// # Errors
    /// When the store does not answer; the claim stays abandoned.
    pub async fn take_over(&self, id: &ProposalId) -> Result<bool, sqlx::Error> {
        let mut tx = self.records.begin_durable().await?;
        let claimed = proposals::take_over(&mut tx, id, self.lease()).await?;
        tx.commit().await?;
        let Some(claimed) = claimed else { return Ok(false) };
        self.execute(claimed).await
    }

    /// Ends a proposal whose time is over, if no press was faster.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn expire(&self, id: &ProposalId) -> Result<(), sqlx::Error> {
        let mut tx = self.records.begin_durable().await?;
        proposals::lock(&mut tx, id).await?;
        let Some(proposal) = proposals::expire(&mut tx, id).await? else { return Ok(()) };
        self.ended(&mut tx, &proposal).await?;
        tx.commit().await?;
        self.outbox.drive(&card_key(&proposal)).await.map(drop)
    }

    fn lease(&self) -> Duration {
        Duration::from_millis(self.settings.claim_lease_ms)
    }

    /// The decision and everything that makes it visible, in one synced transaction.
    async fn decide(&self, press: &Press, lang: Lang, outsider: bool) -> Result<Decided, sqlx::Error> {
        let _one_at_a_time = self.turnstile.lock().await;
        let mut tx = self.records.begin_durable().await?;
        proposals::lock(&mut tx, &press.proposal).await?;
        let handled: Option<i64> =
            records::query("SELECT handled_at FROM clicks WHERE id = $1").bind(&press.id).scalar(&mut tx).await?;
        if handled.is_some() {
            return Ok(Decided::Nothing);
        }
        let decided = match press.action {
            ClickAction::Confirm => self.confirm(&mut tx, press, lang, outsider).await?,
            ClickAction::Cancel => self.cancel(&mut tx, press, lang).await?,
        };
        tx.commit().await?;
        Ok(decided)
    }

    async fn confirm(&self, tx: &mut Tx, press: &Press, lang: Lang, outsider: bool) -> Result<Decided, sqlx::Error> {
        let Some(proposal) = proposals::find(&mut *tx, &press.proposal).await? else {
            return self.tell(tx, press, "not_found", &words::unknown_card(lang)).await;
        };
        if proposal.requester == press.who && proposal.state == ProposalState::Pending {
            let record = staff::find(&mut *tx, &press.who).await?;
            // Whoever became a guest, or left, may not press what they asked for before.
            let allowed = record.is_some_and(|s| {
                !outsider
                    && s.active
                    && self.table.allows(s.role, proposal.write.tool())
                    && s.sees(proposal.write.department())
            });
            if !allowed {
                self.audit(tx, press, "refused_without_rights", &proposal).await?;
                return self.tell(tx, press, "not_allowed", &words::not_allowed(lang)).await;
            }
        }
        match proposals::claim(tx, &press.proposal, &press.id, &press.who, self.lease()).await? {
            Claim::Claimed(claimed) => {
                self.audit(tx, press, "claimed", claimed.proposal()).await?;
                let mut shown = claimed.proposal().clone();
                shown.state = ProposalState::Claimed;
                count(&shown);
                self.show(tx, &shown).await?;
                Ok(Decided::Execute(claimed))
            }
            Claim::Running => Ok(Decided::Nothing),
            Claim::NotYours(p) => self.tell_not_yours(tx, press, lang, &p).await,
            Claim::Expired(p) => self.expired(tx, press, lang, &p).await,
            Claim::Superseded(_) => self.tell(tx, press, "superseded", &words::superseded(lang)).await,
            Claim::AlreadyDecided(p) => self.tell(tx, press, "already_decided", &already(lang, &p)).await,
            Claim::NotFound => self.tell(tx, press, "not_found", &words::unknown_card(lang)).await,
        }
    }

    async fn cancel(&self, tx: &mut Tx, press: &Press, lang: Lang) -> Result<Decided, sqlx::Error> {
        if let Some(proposal) = proposals::cancel(tx, &press.proposal, &press.who).await? {
            self.audit(tx, press, "cancelled", &proposal).await?;
            self.handled(tx, press, "cancelled").await?;
            self.ended(tx, &proposal).await?;
            return Ok(Decided::Tell(vec![card_key(&proposal)]));
        }
        let Some(p) = proposals::find(&mut *tx, &press.proposal).await? else {
            return self.tell(tx, press, "not_found", &words::unknown_card(lang)).await;
        };
        if p.requester != press.who {
            return self.tell_not_yours(tx, press, lang, &p).await;
        }
        match p.state {
            ProposalState::Pending | ProposalState::Expired => self.expired(tx, press, lang, &p).await,
            ProposalState::Superseded => self.tell(tx, press, "superseded", &words::superseded(lang)).await,
            _ => self.tell(tx, press, "already_decided", &already(lang, &p)).await,
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
        self.tell(tx, press, "not_yours", &words::not_your_card(lang, requester)).await
    }

    /// The press came too late: the card is ended here if the sweep has not done so.
    async fn expired(
        &self,
        tx: &mut Tx,
        press: &Press,
        lang: Lang,
        proposal: &Proposal,
    ) -> Result<Decided, sqlx::Error> {
        if let Some(ended) = proposals::expire(tx, &proposal.id).await? {
            self.ended(tx, &ended).await?;
        }
        let mut decided = self.tell(tx, press, "expired", &words::expired(lang)).await?;
        if let Decided::Tell(keys) = &mut decided {
            keys.push(card_key(proposal));
        }
        Ok(decided)
    }

    /// The call, then the settlement. An unknown outcome (`false`) leaves the claim to be driven on.
    async fn execute(&self, claimed: ClaimedProposal) -> Result<bool, sqlx::Error> {
        let proposal = claimed.proposal().clone();
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
                code => Err(format!("error {}", code.unwrap_or("without a code"))),
            },
            Err(error) => Err(error.to_string()),
        };
        fail::fail_point!("click::called");
        let one_at_a_time = self.turnstile.lock().await;
        let mut tx = self.records.begin_durable().await?;
        proposals::lock(&mut tx, &proposal.id).await?;
        let settlement = match settlement {
            Ok(settlement) => settlement,
            Err(reason) => {
                tracing::warn!(proposal = %proposal.id, reason, "outcome of a write unknown; it will be driven on");
                let pause = Duration::from_millis(self.settings.retry_pause_ms);
                proposals::retry_after(&mut tx, &claimed, pause).await?;
                tx.commit().await?;
                return Ok(false);
            }
        };
        if let Some(settled) = proposals::settle(&mut tx, &claimed, &settlement).await? {
            let handled = "UPDATE clicks SET handled_at = now_ms(), outcome = $2
                 WHERE id = (SELECT claim_click FROM proposals WHERE id = $1)";
            records::query(handled).bind(settled.id.as_str()).bind(settled.state.code()).execute(&mut tx).await?;
            self.ended(&mut tx, &settled).await?;
        }
        fail::fail_point!("click::settling");
        tx.commit().await?;
        drop(one_at_a_time);
        fail::fail_point!("click::settled");
        self.outbox.drive(&card_key(&proposal)).await?;
        fail::fail_point!("click::shown");
        Ok(true)
    }

    /// What every end of a proposal brings with it: the card's last face, a note for the model, perhaps a continuation.
    async fn ended(&self, tx: &mut Tx, proposal: &Proposal) -> Result<(), sqlx::Error> {
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
        self.show(tx, proposal).await?;
        let note = Item::Note { text: note(proposal), departments: vec![proposal.write.department().to_owned()] };
        history::leave(tx, &proposal.thread, &note).await?;
        continuation::begin_if_decided(tx, proposal).await
    }

    async fn show(&self, tx: &mut Tx, proposal: &Proposal) -> Result<(), sqlx::Error> {
        let name = self.name_of(tx, &proposal.requester).await?;
        let decider = match &proposal.decided_by {
            Some(who) => Some(self.name_of(tx, who).await?),
            None => None,
        };
        let body = card(proposal, &name, decider.as_deref());
        outbox::want(tx, &card_key(proposal), &place(&proposal.thread), &body, Duration::ZERO).await
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
        outcome: &'static str,
        sentence: &str,
    ) -> Result<Decided, sqlx::Error> {
        tracing::info!(click.outcome = outcome, "a press changed nothing");
        self.handled(tx, press, outcome).await?;
        let key = format!("press:{}", press.id);
        let proposal = proposals::find(&mut *tx, &press.proposal).await?;
        self.audit_refused(tx, press, outcome, proposal.as_ref()).await?;
        let place = Place {
            channel: press.channel.clone(),
            thread: proposal.filter(|p| p.thread.channel == press.channel).map(|p| p.thread.root),
            only: Some(press.who.user.clone()),
        };
        for body in text::plain(sentence, &[]).iter().take(1) {
            outbox::want(&mut *tx, &key, &place, body, Duration::ZERO).await?;
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

    async fn handled(&self, tx: &mut Tx, press: &Press, outcome: &'static str) -> Result<(), sqlx::Error> {
        records::query("UPDATE clicks SET handled_at = now_ms(), outcome = $2 WHERE id = $1")
            .bind(&press.id)
            .bind(outcome)
            .execute(tx)
            .await
            .map(drop)
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

/// Error codes after which nothing was written and nothing will be: everything that the arguments, the rights or the
/// records cause. What a token, the clock or the connection causes says nothing about an earlier attempt.
fn is_refusal(code: &str) -> bool {
    matches!(
        code,
        "customer_not_found"
            | "sale_not_found"
            | "already_cancelled"
            | "not_allowed"
            | "invalid_date"
            | "invalid_price"
            | "invalid_products"
            | "invalid_arguments"
            | "approval_mismatch"
    )
}

fn row(write: &Write, data: &Value) -> Value {
    let key = match write {
        Write::AddSale { .. } => "sales_registered",
        Write::CancelSale { .. } => "sale_cancelled",
    };
    data.get(key).cloned().unwrap_or(Value::Null)
}

fn already(lang: Lang, proposal: &Proposal) -> String {
    let number = proposal.result.as_ref().and_then(|r| r.get("code_sales")).and_then(Value::as_str);
    match (proposal.state, number) {
        (ProposalState::Done, Some(number)) => match proposal.write {
            Write::AddSale { .. } => words::already_done(lang, number),
            Write::CancelSale { .. } => words::already_undone(lang, number),
        },
        (ProposalState::Cancelled, _) => words::already_cancelled(lang),
        (ProposalState::AwaitingManager, _) => words::needs_manager(lang),
        (ProposalState::Unknown, _) => words::outcome_unknown(lang),
        (ProposalState::Failed, _) => words::already_failed(lang),
        _ => words::in_progress(lang),
    }
}

/// What the model is told of a proposal's end. Host-made words only: this reaches the model with the host's authority,
/// so no free text of a person or of a row may stand in it. The call with its arguments is in the history already.
fn note(proposal: &Proposal) -> String {
    let what = proposal.write.tool();
    let id = &proposal.id;
    match proposal.state {
        ProposalState::Done => {
            let number = proposal.result.as_ref().and_then(|r| r.get("code_sales")).unwrap_or(&Value::Null);
            let row = serde_json::json!({ "code_sales": number });
            format!(
                "Proposal {id} ({what}) was confirmed by the person and is written: {row}. The receipt is shown already."
            )
        }
        ProposalState::Failed => {
            let code = proposal.failure.as_deref().unwrap_or("unknown");
            format!(
                "Proposal {id} ({what}) was confirmed but refused by the sales server: {code}. Nothing was written."
            )
        }
        ProposalState::Cancelled => format!("Proposal {id} ({what}) was cancelled by the person. Nothing was written."),
        ProposalState::Expired => format!("Proposal {id} ({what}) expired without a decision. Nothing was written."),
        state => format!("Proposal {id} ({what}) is {}.", state.code()),
    }
}

/// A row about a proposal, with the message it began with.
async fn append(
    tx: &mut Tx,
    actor: &str,
    event: &'static str,
    proposal: &Proposal,
    detail: Value,
) -> Result<(), sqlx::Error> {
    let from = Origin::of_proposal(&mut *tx, &proposal.id).await?;
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
    audit::append_from(tx, entry, &from).await
}

async fn find(records: &Records, click: &str) -> Result<Option<Press>, sqlx::Error> {
    let row = records::query("SELECT * FROM clicks WHERE id = $1 AND handled_at IS NULL")
        .bind(click)
        .fetch_optional(records.read())
        .await?;
    row.as_ref().map(press).transpose()
}

fn press(row: &Row) -> Result<Press, sqlx::Error> {
    let text = |column: &str| row.try_get::<String, _>(column);
    Ok(Press {
        id: text("id")?,
        proposal: ProposalId::new(text("proposal_id")?),
        action: if text("action")? == "confirm" { ClickAction::Confirm } else { ClickAction::Cancel },
        who: Person::new(text("team")?, text("user")?),
        channel: ChannelId::new(text("channel")?),
    })
}
