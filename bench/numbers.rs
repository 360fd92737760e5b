//! Percentiles, and the table.

use std::fmt::Write as _;
use std::time::Duration;

/// Durations, sorted when asked.
#[derive(Debug, Default)]
pub struct Sample(Vec<Duration>);

impl Sample {
    pub fn push(&mut self, taken: Duration) {
        self.0.push(taken);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The smallest value that at least `percent` of all values do not exceed, in milliseconds.
    pub fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100).max(1);
        sorted.get(rank - 1).map_or(f64::NAN, |d| d.as_secs_f64() * 1_000.0)
    }

    pub fn p50(&self) -> f64 {
        self.percentile(50)
    }

    pub fn p99(&self) -> f64 {
        self.percentile(99)
    }
}

impl FromIterator<Duration> for Sample {
    fn from_iter<I: IntoIterator<Item = Duration>>(durations: I) -> Self {
        Self(durations.into_iter().collect())
    }
}

/// One line of the table.
#[derive(Debug)]
pub struct Row {
    name: String,
    measured: String,
    target: Option<(String, bool)>,
}

impl Row {
    /// A figure that has to stay at or below a limit.
    pub fn at_most(name: impl Into<String>, measured: f64, limit: f64, unit: &str) -> Self {
        Self {
            name: name.into(),
            measured: format!("{measured:.2} {unit}"),
            // `<=` is false for a figure that could not be computed.
            target: Some((format!("≤ {limit} {unit}"), measured <= limit)),
        }
    }

    /// A figure that has to reach a limit.
    pub fn at_least(name: impl Into<String>, measured: f64, limit: f64, unit: &str) -> Self {
        Self {
            name: name.into(),
            measured: format!("{measured:.0} {unit}"),
            target: Some((format!("≥ {limit} {unit}"), measured >= limit)),
        }
    }

    /// A count that has to be exactly so.
    pub fn exactly(name: impl Into<String>, measured: i64, wanted: i64) -> Self {
        Self {
            name: name.into(),
            measured: measured.to_string(),
            target: Some((format!("= {wanted}"), measured == wanted)),
        }
    }

    /// A figure without a target.
    pub fn info(name: impl Into<String>, measured: impl Into<String>) -> Self {
        Self { name: name.into(), measured: measured.into(), target: None }
    }

    pub fn is_met(&self) -> bool {
        self.target.as_ref().is_none_or(|(_, met)| *met)
    }
}

/// Milliseconds as text.
pub fn ms(value: f64) -> String {
    format!("{value:.2} ms")
}

/// A Markdown table.
pub fn table(rows: &[Row]) -> String {
    let mut cells = vec![["figure", "target", "measured", "met"].map(str::to_owned)];
    cells.push(["---", "---", "---", "---"].map(str::to_owned));
    cells.extend(rows.iter().map(|row| {
        let (target, met) = match &row.target {
            Some((target, met)) => (target.as_str(), if *met { "yes" } else { "NO" }),
            None => ("", ""),
        };
        [row.name.clone(), target.to_owned(), row.measured.clone(), met.to_owned()]
    }));
    let width = |column: usize| cells.iter().map(|c| c[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    let mut out = String::new();
    for line in &cells {
        for (cell, width) in line.iter().zip(widths) {
            let _ = write!(out, "| {cell:<width$} ");
        }
        out.push_str("|\n");
    }
    out
}
