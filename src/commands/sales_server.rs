//! `sales-server`: the MCP server as a process of its own.

use std::path::PathBuf;

use chrono::TimeDelta;

use crate::app::DataDir;
use crate::commands::Failure;
use crate::config::{self, Config};
use crate::records::postgres::Group;
use crate::sales::{self, ServerError};
use crate::tokens::{PublicKeys, Verifier};

/// Serves until standard input closes.
///
/// # Errors
/// When the settings or the records cannot be used.
pub async fn run(config: Config, data_dir: PathBuf) -> Result<(), Failure> {
    config.check_sales_server()?;
    let public_keys = PublicKeys {
        caller: config::list(&config.sales_server.caller_keys),
        approval: config::list(&config.sales_server.approval_keys),
    };
    Verifier::new(&public_keys).map_err(|error| Failure::Usage(error.into()))?;
    let dir = DataDir::open(&data_dir).map_err(Failure::Usage)?;
    let settings = sales::Settings {
        records: config.records(dir.records(), Group::Reader),
        public_keys,
        zone: config.company.zone,
        undo_window: TimeDelta::hours(i64::from(config.sales_server.undo_window_h)),
    };
    sales::run_stdio(settings).await.map_err(|error| match error {
        ServerError::Records(_) => Failure::Unreachable(error.into()),
        _ => Failure::Running(error.into()),
    })
}
