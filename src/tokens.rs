//! Stand-in until the token module is merged: only the signature the MCP host needs.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::domain::Person;

/// `_meta` key of the caller token.
pub const META_CALLER: &str = "sales-concierge/caller";
/// `_meta` key of the approval token.
pub const META_APPROVAL: &str = "sales-concierge/approval";

/// Signs who is calling.
#[derive(Clone, Debug)]
pub struct CallerSigner;

impl CallerSigner {
    /// One short token for one call.
    pub fn sign(&self, who: &Person, tool: &str, _args: &Map<String, Value>, _now: DateTime<Utc>) -> String {
        format!("{}|{tool}", who.subject())
    }
}

/// The private halves.
#[derive(Debug)]
pub struct Keys {
    /// Signs callers.
    pub caller: CallerSigner,
}

impl Keys {
    /// New keys.
    ///
    /// # Errors
    /// Never here; the real one when there is no randomness.
    pub fn generate() -> Result<Self, std::convert::Infallible> {
        Ok(Self { caller: CallerSigner })
    }
}
