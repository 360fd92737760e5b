//! The local try-out: a workspace that behaves as Slack does, its page, sample data, and a demo model.

pub mod demo;
pub(crate) mod page;
pub mod sample;
pub mod workspace;
