//! Everything that knows Slack: its signatures, payloads, Web API, limits and ways to show text.
//!
//! What it promises: nothing unsigned gets past [`signature`] or beside [`socket`], nothing a model or a database wrote gets out as a ping,
//! a link or a button ([`text`], [`cards`]), and a call never hangs or hides whether it may have happened ([`client`]).
//! It knows no agent, no store and no policy.

pub mod cards;
pub mod client;
pub mod feedback;
pub mod inbound;
pub mod installation;
mod pace;
pub mod scopes;
pub mod signature;
pub mod socket;
pub mod text;

#[cfg(test)]
pub(crate) mod fuzz;
