//! The local try-out: a workspace like Slack's, sample data and a demo model. The bot has no special path for any of it.

pub mod demo;
