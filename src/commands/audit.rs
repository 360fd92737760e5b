//! `audit`: checks the trail, and exports it.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use chrono::{DateTime, NaiveDate, SecondsFormat, TimeZone as _};
use chrono_tz::Tz;
use clap::{Subcommand, ValueEnum};
use serde_json::json;

use crate::app::{DataDir, open_records};
use crate::audit::export::Export;
use crate::audit::verify::{self, Report};
use crate::audit::{COLUMNS, Stored};
use crate::commands::Failure;
use crate::config::Config;
use crate::records::Records;
use crate::records::postgres::Group;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Recompute the chain of seals; exit code 1 when something was changed, removed or put in
    Verify {
        /// A head that was noted down earlier, from the log or an earlier run: it has to be in the chain
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
        /// The result as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Write the rows of a span of days
    Export {
        /// The first day, in the company's zone
        #[arg(long, value_name = "YYYY-MM-DD")]
        from: NaiveDate,
        /// The last day, included
        #[arg(long, value_name = "YYYY-MM-DD")]
        to: NaiveDate,
        /// How rows are written
        #[arg(long, value_enum, default_value_t)]
        format: Format,
        /// Where to; an existing file is not overwritten [default: standard output]
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// How rows are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Comma separated, with a header; cells that a spreadsheet would take for a formula begin with an apostrophe.
    #[default]
    Csv,
    /// One JSON object per line.
    Jsonl,
}

/// Checks or exports the trail.
///
/// # Errors
/// When the records cannot be used, something does not fit, or the output cannot be written.
pub async fn run(config: Config, data_dir: PathBuf, action: Action) -> Result<(), Failure> {
    let dir = DataDir::open(&data_dir).map_err(Failure::Usage)?;
    if let Action::Export { from, to, .. } = &action
        && from > to
    {
        return Err(Failure::Usage(anyhow::anyhow!("--from {from} is after --to {to}")));
    }
    let records = open_records(&config, &dir, Group::Auditor).await.map_err(Failure::Unreachable)?;
    let done = match action {
        Action::Verify { head, json } => check(&records, head.as_deref(), json).await,
        Action::Export { from, to, format, output } => {
            let span = (from, to, config.company.zone);
            export(&records, span, format, output.as_deref()).await.map_err(Failure::Running)
        }
    };
    records.close().await;
    done
}

async fn check(records: &Records, head: Option<&str>, as_json: bool) -> Result<(), Failure> {
    let report = verify::run(records, head).await.context("the records do not answer").map_err(Failure::Running)?;
    let Report { seals, rows, unsealed, head, finding } = report;
    if as_json {
        let found = finding.as_ref().map(|f| {
            json!({
                "code": f.fault.code(), "row": f.row,
                "seal": f.seal.map(|(first, last)| json!({ "first_id": first, "last_id": last })),
                "message": f.to_string(),
            })
        });
        say!(
            "{}",
            json!({ "ok": found.is_none(), "seals": seals, "rows": rows, "unsealed": unsealed, "head": head, "finding": found })
        );
    } else {
        say!("{rows} rows in {seals} seals fit; {unsealed} rows are not sealed yet");
        say!("head {}", head.as_deref().unwrap_or("none yet"));
    }
    match finding {
        None => Ok(()),
        Some(finding) => Err(Failure::Running(anyhow::anyhow!("the audit trail does not fit: {finding}"))),
    }
}

async fn export(
    records: &Records,
    (from, to, zone): (NaiveDate, NaiveDate, Tz),
    format: Format,
    output: Option<&Path>,
) -> anyhow::Result<()> {
    let end = to.succ_opt().context("--to is too far in the future")?;
    let mut rows = Export::new(records, begins(from, zone)?, begins(end, zone)?);
    let out: Box<dyn Write> = match output {
        Some(path) => Box::new(BufWriter::new(created(path)?)),
        None => Box::new(std::io::stdout().lock()),
    };
    let mut out = Writer::new(format, out)?;
    loop {
        let page = rows.next().await.context("the records do not answer")?;
        if page.is_empty() {
            return out.finish();
        }
        for row in &page {
            out.row(row)?;
        }
    }
}

/// The rows are for their reader alone.
fn created(path: &Path) -> anyhow::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("{} cannot be made; choose a name that is not taken", path.display()))
}

/// When a day begins, in milliseconds since the epoch; where clocks skip midnight, when they go on.
fn begins(day: NaiveDate, zone: Tz) -> anyhow::Result<i64> {
    let begin = (0..24).find_map(|hour| zone.from_local_datetime(&day.and_hms_opt(hour, 0, 0)?).earliest());
    Ok(begin.with_context(|| format!("{day} is no day in {zone}"))?.timestamp_millis())
}

/// Rows in one of the formats.
enum Writer {
    Csv(Box<csv::Writer<Box<dyn Write>>>),
    Jsonl(Box<dyn Write>),
}

impl Writer {
    fn new(format: Format, out: Box<dyn Write>) -> anyhow::Result<Self> {
        match format {
            Format::Jsonl => Ok(Self::Jsonl(out)),
            Format::Csv => {
                let mut csv = csv::Writer::from_writer(out);
                csv.write_record(COLUMNS)?;
                Ok(Self::Csv(Box::new(csv)))
            }
        }
    }

    fn row(&mut self, row: &Stored) -> anyhow::Result<()> {
        match self {
            Self::Csv(csv) => {
                let texts = row.texts.iter().map(|text| cell(text.as_deref().unwrap_or_default()));
                csv.write_record([row.id.to_string(), time(row.at)].into_iter().chain(texts))?;
            }
            Self::Jsonl(out) => {
                let mut line = row.to_json();
                if let Some(at) = line.get_mut("at") {
                    *at = time(row.at).into();
                }
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }

    fn finish(self) -> anyhow::Result<()> {
        match self {
            Self::Csv(mut csv) => csv.flush()?,
            Self::Jsonl(mut out) => out.flush()?,
        }
        Ok(())
    }
}

fn time(ms: i64) -> String {
    DateTime::from_timestamp_millis(ms)
        .map_or_else(|| ms.to_string(), |t| t.to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// A spreadsheet runs what begins like a formula.
fn cell(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_a_spreadsheet_would_run_is_text() {
        let shown: Vec<String> = ["=1+1", "@SUM(A1)", "-2", "+3", "\t=1", "slack:T1:U1", ""].map(cell).into();
        assert_eq!(shown, ["'=1+1", "'@SUM(A1)", "'-2", "'+3", "'\t=1", "slack:T1:U1", ""]);
    }

    #[test]
    fn a_day_begins_at_midnight_of_the_companys_zone() {
        let day = NaiveDate::from_ymd_opt(2026, 11, 30).unwrap();
        assert_eq!(time(begins(day, Tz::Asia__Tokyo).unwrap()), "2026-11-29T15:00:00.000Z");
        // Clocks went from midnight to one.
        let day = NaiveDate::from_ymd_opt(2018, 11, 4).unwrap();
        assert_eq!(time(begins(day, Tz::America__Sao_Paulo).unwrap()), "2018-11-04T03:00:00.000Z");
    }
}
