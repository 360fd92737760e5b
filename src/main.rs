//! Parses the command line and calls [`sales_concierge::commands`].

use std::process::ExitCode;

fn main() -> ExitCode {
    sales_concierge::commands::run()
}
