//! One binary for all tests that drive the real program from outside.

mod harness;

mod approval;
mod conversation;
#[cfg(feature = "failpoints")]
mod crash;
