//! `migrate`: creates or updates the stores.

use std::path::PathBuf;

use anyhow::Context;

use crate::app::DataDir;
use crate::commands::Failure;
use crate::records::Records;
use crate::work::Work;

/// Brings both stores to this program's version. Safe to run again, and while another process does the same.
///
/// # Errors
/// When a store cannot be opened.
pub async fn run(data_dir: PathBuf) -> Result<(), Failure> {
    let dir = DataDir::open(&data_dir).map_err(Failure::Usage)?;
    let records =
        Records::open(&dir.records()).await.context("the records cannot be opened").map_err(Failure::Unreachable)?;
    let work = Work::open(&dir.work()).await.context("the work file cannot be opened").map_err(Failure::Unreachable)?;
    work.close().await;
    records.close().await;
    println!("the stores in {} are up to date", dir.path().display());
    Ok(())
}
