//! `migrate`: creates or updates the stores.

use std::path::PathBuf;

use anyhow::Context;

use crate::app::DataDir;
use crate::commands::Failure;
use crate::config::Config;
use crate::records::postgres::{self, Group};
use crate::records::{Records, Source};
use crate::work::{self, Work};

/// Brings the stores to this program's version. Safe to run again, and while another process does the same.
///
/// # Errors
/// When a store cannot be opened.
pub async fn run(config: Config, data_dir: PathBuf) -> Result<(), Failure> {
    match config.records(data_dir.clone(), Group::Owner) {
        Source::Postgres(settings) => {
            postgres::migrate(&settings.url)
                .await
                .context("the database cannot be migrated (records.migrate_url or DATABASE_URL)")
                .map_err(Failure::Unreachable)?;
            say!("the database is up to date");
        }
        Source::File(_) => {
            let dir = DataDir::open(&data_dir).map_err(Failure::Usage)?;
            let records = Records::open_file(&dir.records())
                .await
                .context("the records cannot be opened")
                .map_err(Failure::Unreachable)?;
            // Redis has no schema.
            if let work::Source::File(file) = config.work(dir.work()) {
                let work = Work::open_file(&file)
                    .await
                    .context("the work file cannot be opened")
                    .map_err(Failure::Unreachable)?;
                work.close().await;
            }
            records.close().await;
            say!("the stores in {} are up to date", dir.path().display());
        }
    }
    Ok(())
}
