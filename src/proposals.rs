//! Stand-in until the proposals module is merged: only what the policy needs.

use crate::domain::Write;

/// A proposal whose claim succeeded.
#[derive(Debug)]
pub struct ClaimedProposal(Write);

impl ClaimedProposal {
    /// The write to carry out.
    pub fn write(&self) -> &Write {
        &self.0
    }
}

#[cfg(test)]
pub(crate) fn claimed_for_test(write: Write) -> ClaimedProposal {
    ClaimedProposal(write)
}
