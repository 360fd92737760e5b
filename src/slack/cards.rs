//! The card.

use serde_json::json;

use super::text::Body;
use crate::domain::Proposal;

/// The confirm button's `action_id`.
pub const CONFIRM: &str = "proposal_confirm";
/// The cancel button's `action_id`.
pub const CANCEL: &str = "proposal_cancel";

/// What a card is drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Card<'a> {
    /// The proposal, in the state to be shown.
    pub proposal: &'a Proposal,
    /// The requester's name as Slack or the staff record has it.
    pub requester_name: &'a str,
    /// The name of who decided, once decided by a person.
    pub decider_name: Option<&'a str>,
}

/// Draws the card of a proposal in its present state.
pub fn render(card: &Card<'_>) -> Body {
    Body { text: card.proposal.write.tool().to_owned(), blocks: json!([]) }
}
