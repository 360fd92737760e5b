//! What a turn leaves in the audit: each decision of the loop, who was refused, what became a proposal.

use crate::agent::{Asker, Decided, Stop};
use crate::audit::{self, Entry, Origin};
use crate::domain::{Person, Proposal, ProposalId, Risk, TurnId};
use crate::records::Records;
use crate::thread::asker::Refusal;
use crate::thread::queue::MessageJob;

/// How the audit names this part of the program.
const ACTOR: &str = "agent";

/// What a round decided, in one transaction; none when it decided nothing.
///
/// # Errors
/// When the store does not answer.
pub async fn round(
    records: &Records,
    asker: &Asker,
    from: &Origin,
    (turn, round): (&TurnId, u32),
    decided: &[Decided],
    stop: Option<Stop>,
) -> Result<(), sqlx::Error> {
    if decided.is_empty() && stop.is_none() {
        return Ok(());
    }
    let mut tx = records.begin().await?;
    for call in decided {
        let tool = call.tool.as_deref();
        let of_tool = tool.map_or(Risk::Critical, Risk::of);
        let risk = if call.code.is_some() { of_tool.max(Risk::Medium) } else { of_tool };
        let detail = serde_json::json!({
            "turn": turn.as_str(), "round": round, "arguments_sha256": call.arguments,
        });
        let detail = audit::with(detail, "code", call.code);
        let entry = entry(&asker.person, call.event, tool, risk, None, detail);
        audit::append_from(&mut tx, entry, from).await?;
    }
    if let Some(stop) = stop {
        let detail = serde_json::json!({ "turn": turn.as_str(), "round": round, "code": stop.code() });
        let entry = entry(&asker.person, "turn_stopped", None, Risk::Medium, None, detail);
        audit::append_from(&mut tx, entry, from).await?;
    }
    tx.commit().await
}

/// A person of ours whose message was not worked on.
///
/// # Errors
/// When the store does not answer.
pub async fn declined(
    records: &Records,
    who: &Person,
    message: &MessageJob,
    code: &'static str,
) -> Result<(), sqlx::Error> {
    let detail = serde_json::json!({ "turn": message.turn.as_str(), "code": code });
    let from = Origin::message(Some(reference(message)));
    audit::append_from(records.quick(), entry(who, "message_declined", None, Risk::Medium, None, detail), &from).await
}

/// Somebody who may not ask.
///
/// # Errors
/// When the store does not answer.
pub async fn refused(
    records: &Records,
    who: &Person,
    message: Option<&MessageJob>,
    refusal: Refusal,
) -> Result<(), sqlx::Error> {
    let detail = serde_json::json!({ "code": refusal.code() });
    let from = Origin::message(message.map(reference));
    audit::append_from(records.quick(), entry(who, "person_refused", None, Risk::Medium, None, detail), &from).await?;
    Ok(())
}

/// How the audit names a message.
pub fn reference(message: &MessageJob) -> String {
    format!("{}:{}:{}", message.thread.team, message.thread.channel, message.ts)
}

/// A row of the audit for what this part of the program decided.
fn entry<'a>(
    on_behalf: &'a Person,
    event: &'static str,
    tool: Option<&'a str>,
    risk: Risk,
    proposal: Option<&'a ProposalId>,
    detail: serde_json::Value,
) -> Entry<'a> {
    Entry { actor: ACTOR, on_behalf, event, tool, risk, proposal, detail }
}

/// A row for what became of a proposal.
pub fn of_proposal<'a>(proposal: &'a Proposal, event: &'static str) -> Entry<'a> {
    let tool = proposal.write.tool();
    let detail = serde_json::json!({ "turn": proposal.turn.as_str(), "digest": proposal.digest });
    entry(&proposal.requester, event, Some(tool), Risk::of(tool), Some(&proposal.id), detail)
}
