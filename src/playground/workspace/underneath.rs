//! Where the program that runs the bot lets the page look at what the workspace cannot see, and disturb it.

use std::fmt;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::domain::{ChannelId, MessageTs};

/// What a host of both offers.
pub struct Underneath {
    /// What happened to a message inside the bot: jobs, rounds of the model, calls of tools, proposals. No secret in it.
    pub look: Box<dyn Fn(ChannelId, MessageTs) -> BoxFuture<'static, Value> + Send + Sync>,
    /// Kills the sales server, which the bot starts again; whether there was one.
    pub stop_sales_server: Box<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>,
}

impl fmt::Debug for Underneath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Underneath")
    }
}
