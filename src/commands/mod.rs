//! One file per subcommand.

pub mod read;
pub mod sales_server;
