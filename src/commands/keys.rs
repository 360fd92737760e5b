//! `keys`: what the holder of the key file tells a sales server, and a token to look at one.

use std::path::Path;

use clap::Subcommand;

use crate::app::DataDir;
use crate::commands::Failure;
use crate::domain::Clock;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Print the public keys as the variables of the sales server; makes the key file if there is none
    Show,
    /// Print a service token, valid for a minute: it connects and lists, and calls no tool
    ///
    /// Example: curl -H "Authorization: Bearer $(sales-concierge keys token)" …
    Token,
}

/// Prints to standard output.
///
/// # Errors
/// When the key file cannot be used.
pub fn run(data_dir: &Path, action: &Action, clock: &Clock) -> Result<(), Failure> {
    let keys = DataDir::open(data_dir).and_then(|dir| dir.keys()).map_err(Failure::Usage)?;
    match action {
        Action::Show => {
            println!("SALES_CONCIERGE__SALES_SERVER__CALLER_KEYS={}", keys.public.caller.join(","));
            println!("SALES_CONCIERGE__SALES_SERVER__APPROVAL_KEYS={}", keys.public.approval.join(","));
        }
        Action::Token => println!("{}", keys.caller.sign_service(clock.now())),
    }
    Ok(())
}
