//! What the model is told: the instructions, the tools on offer.

use crate::mcp::ToolSpec;

/// The tools of one role.
#[derive(Debug, Default)]
pub struct Offer {
    /// Name, description, schema; write tools have the host's own optional argument added.
    pub tools: Vec<ToolSpec>,
}
