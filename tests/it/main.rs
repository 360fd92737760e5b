//! One binary for all tests that drive the real program from outside.

mod harness;

mod conversation;
mod page;
