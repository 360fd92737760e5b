//! Logs and metrics: how they are set up, and the names both use.
//!
//! A log line can be read alone and its fields can be queried. Never logged: message texts, names, amounts, tokens,
//! signatures, bodies. An error is logged once, where it is handled.

use std::sync::OnceLock;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use serde::Deserialize;
use tracing_subscriber::EnvFilter;

/// How to log.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// A `tracing` filter such as `info` or `sales_concierge=debug,warn`.
    pub filter: String,
    /// One JSON object per line instead of text.
    pub json: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { filter: "info,rmcp=warn".into(), json: false }
    }
}

/// Starts logging to standard error: standard output belongs to `ready` lines, MCP and results.
///
/// A filter that cannot be read is replaced by `info`. A second call changes nothing.
pub fn start(settings: &Settings) {
    let filter = filter(&settings.filter);
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = if settings.json { builder.json().try_init() } else { builder.with_target(false).try_init() };
    drop(started);
}

/// As it was asked for, but that MCP's library stays quiet: at `debug` it writes every argument and answer.
fn filter(wanted: &str) -> EnvFilter {
    let filter = EnvFilter::try_new(wanted).unwrap_or_else(|_| EnvFilter::new("info"));
    match "rmcp=warn".parse() {
        Ok(quiet) => filter.add_directive(quiet),
        Err(_) => filter,
    }
}

static METRICS: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Seconds, from a fast acknowledgement to the longest turn.
const SECONDS: &[f64] =
    &[0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0];

/// Model rounds of a turn.
const ROUNDS: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];

/// Tokens of a thread.
const TOKENS: &[f64] = &[1_000.0, 5_000.0, 10_000.0, 20_000.0, 50_000.0, 100_000.0, 200_000.0];

/// The process's metrics; the first call installs the recorder. `None` when another recorder is installed.
pub fn metrics() -> Option<&'static PrometheusHandle> {
    METRICS.get_or_init(install).as_ref()
}

fn install() -> Option<PrometheusHandle> {
    let buckets = [
        (Matcher::Suffix("_seconds".into()), SECONDS),
        (Matcher::Full("agent_loop_rounds".into()), ROUNDS),
        (Matcher::Full("session_tokens".into()), TOKENS),
    ];
    let mut builder = PrometheusBuilder::new();
    for (matcher, values) in buckets {
        builder = builder.set_buckets_for_metric(matcher, values).ok()?;
    }
    builder.install_recorder().ok()
}

/// Folds recorded samples into their buckets now and then: without it a histogram that nobody scrapes keeps them all.
pub async fn upkeep() {
    let Some(metrics) = metrics() else { return };
    loop {
        tokio::time::sleep(Duration::from_secs(5)).await;
        metrics.run_upkeep();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_asked_for_the_arguments_of_tools_stay_out_of_the_log() {
        for wanted in ["debug", "trace,rmcp=trace", "rmcp=debug", "not a filter ==", ""] {
            let filter = filter(wanted).to_string();
            assert!(filter.contains("rmcp=warn") && !filter.contains("rmcp=trace"), "{wanted}: {filter}");
        }
    }
}
