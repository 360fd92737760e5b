//! `serve`: the bot against real Slack.

use std::path::PathBuf;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::app::{App, DataDir};
use crate::commands::Failure;
use crate::config::Config;
use crate::domain::Clock;

/// Runs until SIGINT or SIGTERM.
///
/// # Errors
/// When the configuration is incomplete, a service cannot be reached, or the listener fails.
pub async fn run(config: Config, data_dir: PathBuf) -> Result<(), Failure> {
    config.check_serve()?;
    let stop = stop_on_signal().map_err(|error| Failure::Running(error.into()))?;
    let dir = DataDir::open_alone(&data_dir).map_err(Failure::Usage)?;
    let keys = dir.keys().map_err(Failure::Usage)?;
    let app = App::build(&config, &dir, keys, Clock::system()).await.map_err(Failure::Unreachable)?;
    let address = app.address().map_err(|error| Failure::Running(error.into()))?;
    let metrics = app.metrics_address().map_err(|error| Failure::Running(error.into()))?;
    tracing::info!(%address, metrics = metrics.map(tracing::field::display), "ready");
    app.run(stop).await.map_err(Failure::Running)
}

/// A token that is cancelled by the first SIGINT or SIGTERM.
///
/// # Errors
/// When the signals cannot be listened for.
pub fn stop_on_signal() -> std::io::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::spawn({
        let stop = stop.clone();
        async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            stop.cancel();
        }
    });
    Ok(stop)
}
