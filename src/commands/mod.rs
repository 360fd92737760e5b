//! One file per subcommand.

pub mod read;
