//! `keys`: what the holder of the key file tells a sales server, new keys in place of the old, and a token to look at one.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use clap::Subcommand;

use crate::app::DataDir;
use crate::commands::Failure;
use crate::domain::Clock;
use crate::tokens::{Keys, PublicKeys};

/// The keys that are to come, beside those in use.
const NEXT: &str = "keys.next.json";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Print the public keys as the variables of the sales server; makes the key file if there is none
    Show,
    /// Exchange the keys of a sales server that runs by itself, without a break
    ///
    /// First without --finish: makes new keys and prints variables with the old and the new ones. Restart the sales
    /// server with them. Then with --finish: the new keys take the place of the old ones; restart the bot. What is
    /// printed then is for the sales server's next restart.
    #[command(verbatim_doc_comment)]
    Rotate {
        /// Put the new keys in the place of the old ones
        #[arg(long)]
        finish: bool,
    },
    /// Print a service token, valid for a minute: it connects and lists, and calls no tool
    ///
    /// Example: curl -H "Authorization: Bearer $(sales-concierge keys token)" …
    Token,
}

/// Prints to standard output.
///
/// # Errors
/// When the key file cannot be used, or there are no new keys to finish with.
pub fn run(data_dir: &Path, action: &Action, clock: &Clock) -> Result<(), Failure> {
    let dir = DataDir::open(data_dir).map_err(Failure::Usage)?;
    let keys = dir.keys().map_err(Failure::Usage)?;
    match action {
        Action::Show => show(&[&keys.public]),
        Action::Rotate { finish: false } => {
            let next = Keys::load_or_create(&dir.path().join(NEXT)).map_err(|e| Failure::Usage(e.into()))?;
            show(&[&keys.public, &next.public]);
        }
        Action::Rotate { finish: true } => show(&[&finish(&dir).map_err(Failure::Usage)?.public]),
        Action::Token => say!("{}", keys.caller.sign_service(clock.now())),
    }
    Ok(())
}

/// One rename: whenever the program dies, there are either the old keys or the new ones.
fn finish(dir: &DataDir) -> anyhow::Result<Keys> {
    let next = dir.path().join(NEXT);
    if !next.exists() {
        return Err(anyhow!("there are no new keys; run `sales-concierge keys rotate` first"));
    }
    // Read before they are used: a damaged file is not put in the place of a good one.
    let keys = Keys::load_or_create(&next).context("the new keys cannot be used")?;
    std::fs::rename(&next, dir.path().join("keys.json")).context("the new keys cannot be put in place")?;
    Ok(keys)
}

fn show(accepted: &[&PublicKeys]) {
    let list =
        |of: fn(&PublicKeys) -> &Vec<String>| accepted.iter().flat_map(|k| of(k).clone()).collect::<Vec<_>>().join(",");
    say!("SALES_CONCIERGE__SALES_SERVER__CALLER_KEYS={}", list(|k| &k.caller));
    say!("SALES_CONCIERGE__SALES_SERVER__APPROVAL_KEYS={}", list(|k| &k.approval));
}
