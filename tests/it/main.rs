//! One binary for all tests that drive the real program from outside.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test that finds something unexpected has failed; the lints know only functions marked #[test]"
)]

mod harness;
mod import;

mod approval;
mod audience;
mod audit;
#[cfg(feature = "failpoints")]
mod cluster;
mod conversation;
#[cfg(feature = "failpoints")]
mod crash;
#[cfg(feature = "failpoints")]
mod deployment;
mod edits;
#[cfg(feature = "failpoints")]
mod http_server;
mod installation;
mod invariants;
#[cfg(feature = "failpoints")]
mod limits;
#[cfg(feature = "failpoints")]
mod matrix;
#[cfg(feature = "failpoints")]
mod moving;
#[cfg(feature = "failpoints")]
mod outage;
mod outbound;
mod page;
mod people;
mod playground;
#[cfg(feature = "failpoints")]
mod privileges;
mod read;
#[cfg(feature = "failpoints")]
mod redis;
mod refusals;
#[cfg(feature = "failpoints")]
mod rush;
mod slack_edge;
mod socket_mode;
#[cfg(feature = "failpoints")]
mod sql_clients;
mod startup;
mod surface;
mod tidy;
#[cfg(feature = "failpoints")]
mod tokens;
