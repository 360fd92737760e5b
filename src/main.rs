//! Parses the command line and calls [`sales_concierge::commands`].

fn main() {}
