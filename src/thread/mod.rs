//! One turn at a time in a thread.
//!
//! [`queue`] stores jobs and hands them out under a lease, [`worker`] runs them, [`turn`] answers one message,
//! [`history`] is what was said, [`press`] stores a press and [`click`] carries it out (it needs no lease: the
//! proposal's row is the lock), [`continuation`] begins what remained of a request, [`stops`] ends what a person no
//! longer wants, [`home`] greets. [`audience`] says who reads along. [`trace`] shows all of it to the
//! curious.

mod again;
pub mod asker;
pub mod audience;
pub mod claims;
pub mod click;
pub mod continuation;
pub mod feedback;
pub mod footer;
pub mod history;
pub mod home;
mod outcome;
pub mod press;
pub mod queue;
pub mod rebuilt;
mod status;
pub mod stops;
pub mod trace;
mod trail;
pub mod trouble;
pub mod turn;
pub mod worker;
