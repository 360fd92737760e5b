//! `sales-server`: the MCP server as a process of its own.

use std::path::PathBuf;

use chrono::TimeDelta;

use crate::app::DataDir;
use crate::commands::Failure;
use crate::config::{self, Config};
use crate::sales;
use crate::tokens::PublicKeys;

/// Serves until standard input closes.
///
/// # Errors
/// When the settings or the records cannot be used.
pub async fn run(config: Config, data_dir: PathBuf) -> Result<(), Failure> {
    let dir = DataDir::open(&data_dir).map_err(Failure::Usage)?;
    let settings = sales::Settings {
        records: dir.records(),
        public_keys: PublicKeys {
            caller: config::list(&config.sales_server.caller_keys),
            approval: config::list(&config.sales_server.approval_keys),
        },
        zone: config.company.zone,
        undo_window: TimeDelta::hours(i64::from(config.sales_server.undo_window_h)),
    };
    sales::run_stdio(settings).await.map_err(|error| Failure::Running(error.into()))
}
