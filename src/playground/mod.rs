//! The try-out without an account: a local Slack workspace with a page, a fictional farm's data, the demo model.
//!
//! Nothing here is a short cut: the bot is reached by signed HTTP requests and answers through the Web API, exactly as
//! with Slack. The integration tests use the same workspace.

pub(crate) mod page;
pub mod sample;
pub mod workspace;
