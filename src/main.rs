//! Parses the command line and calls [`sales_concierge::commands`].

use std::process::ExitCode;

// Turns and calls are made of many small, short-lived values, which the C library's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    sales_concierge::commands::run()
}
