//! What the end of a proposal is called: to the state machine, to its person, to the model.

use serde_json::Value;

use crate::domain::{Lang, Proposal, ProposalState, Write};
use crate::proposals::Retraction;
use crate::words::presses as words;

/// Error codes after which nothing was written and nothing will be: everything that the arguments, the rights or the
/// records cause. What a token, the clock or the connection causes says nothing about an earlier attempt.
pub fn is_refusal(code: &str) -> bool {
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

/// The row that the sales server wrote or changed.
pub fn row(write: &Write, data: &Value) -> Value {
    let key = match write {
        Write::AddSale { .. } => "sales_registered",
        Write::CancelSale { .. } => "sale_cancelled",
    };
    data.get(key).cloned().unwrap_or(Value::Null)
}

/// What whoever presses too late is told.
pub fn already(lang: Lang, proposal: &Proposal) -> String {
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

/// What whoever presses a card that was replaced or taken back is told.
pub fn replaced(lang: Lang, proposal: &Proposal) -> String {
    match Retraction::of(proposal) {
        None => words::superseded(lang),
        Some(Retraction::Edited) => words::message_edited(lang),
        Some(Retraction::Deleted) => words::message_deleted(lang),
    }
}

/// What the model is told of a proposal's end. Host-made words only: this reaches the model with the host's authority,
/// so no free text of a person or of a row may stand in it. The call with its arguments is in the history already.
pub fn note(proposal: &Proposal) -> String {
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
        ProposalState::Superseded if Retraction::of(proposal) == Some(Retraction::Edited) => format!(
            "Proposal {id} ({what}) was withdrawn because the person changed the message it was made from. Nothing was \
             written. The message as it is now follows."
        ),
        ProposalState::Superseded if Retraction::of(proposal).is_some() => format!(
            "Proposal {id} ({what}) was withdrawn because the person deleted the message it was made from. Nothing was \
             written."
        ),
        ProposalState::Expired => format!("Proposal {id} ({what}) expired without a decision. Nothing was written."),
        state => format!("Proposal {id} ({what}) is {}.", state.code()),
    }
}
