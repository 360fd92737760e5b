//! sales-concierge: a Slack bot in front of a sales database.
//!
//! The flow, in reading order: [`http`] takes a signed request, `slack::inbound` reads it, [`thread`] answers one
//! message at a time in a thread by driving [`agent`], which asks a model and calls tools through [`mcp`] as far as
//! [`policy`] allows. A write becomes one of the [`proposals`], shown as a card by the [`outbox`]; a press is a row,
//! claimed and settled once. [`sales`] is the MCP server at the other end. `docs/architecture.md` tells the rest.

pub mod agent;
pub mod app;
pub mod audit;
pub mod breaker;
pub mod commands;
pub mod config;
pub mod domain;
pub mod duties;
pub mod http;
pub mod import;
pub mod listen;
pub mod mcp;
pub mod outbox;
pub mod playground;
pub mod policy;
pub mod proposals;
pub mod rates;
pub mod reading;
pub mod records;
pub mod recovery;
pub mod sales;
pub mod slack;
pub(crate) mod sqlite;
pub mod staff;
pub mod telemetry;
pub mod thread;
pub mod tokens;
pub mod words;
pub mod work;
