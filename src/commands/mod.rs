//! One file per subcommand.

pub mod sales_server;
