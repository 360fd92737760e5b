//! `import`: customers, staff and sales from CSV files, or everything from the embedded file.

mod moving;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::app::{DataDir, open_records};
use crate::commands::Failure;
use crate::config::Config;
use crate::import::{self, Encoding, EncodingChoice, Kind, Lines, Load, Problem, Report, Summary};
use crate::records::postgres::Group;

/// How many lines pass between two lines of progress where there is no terminal.
const SAY_EVERY: u64 = 100_000;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// Customers, found by their code; a line replaces what the records have
    Customers,
    /// Members of staff, found by Slack team and user; a line replaces what the records have
    Staff,
    /// Sales, found by their number; a sale that is there is never changed
    Sales,
}

/// The character set of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CharacterSet {
    /// Found out from the whole file
    Auto,
    /// With or without a byte order mark
    #[value(name = "utf-8")]
    Utf8,
    /// As Windows writes it
    #[value(name = "shift_jis")]
    ShiftJis,
}

/// What is imported.
#[derive(Clone, Debug, Args)]
pub struct Import {
    /// What the file holds
    #[arg(value_enum, required_unless_present = "from")]
    kind: Option<What>,
    /// The file; its first line names the columns
    #[arg(required_unless_present = "from")]
    file: Option<PathBuf>,
    /// Move everything from the records file of this data folder into the database (DATABASE_URL)
    #[arg(long, value_name = "DATA_DIR",
          conflicts_with_all = ["kind", "file", "encoding", "map", "delimiter", "report", "go_on", "data_dir"])]
    from: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
    /// Where the embedded records are
    #[arg(long, default_value = "data", value_name = "DIR")]
    data_dir: PathBuf,
}

/// How the file is read and what happens to it.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The file's character set
    #[arg(long, value_enum, default_value_t = CharacterSet::Auto)]
    encoding: CharacterSet,
    /// Which header stands for which column, where it is not recognised
    #[arg(long, value_name = "COLUMN=HEADER,…", value_delimiter = ',', value_parser = pair)]
    map: Vec<(String, String)>,
    /// What stands between fields: one character, or tab
    #[arg(long, value_name = "SIGN", default_value = ",", value_parser = delimiter)]
    delimiter: u8,
    /// Check everything and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write the bad lines, with their values, into this CSV file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// One JSON object instead of sentences
    #[arg(long)]
    json: bool,
    /// Load the good lines although others are bad
    #[arg(long = "continue")]
    go_on: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((column, header)) if !column.trim().is_empty() && !header.trim().is_empty() => {
            Ok((column.trim().to_owned(), header.trim().to_owned()))
        }
        _ => Err("write it as code_customer=得意先コード".to_owned()),
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" | b"\t" => Ok(b'\t'),
        // Any other byte can be the second half of a Shift_JIS character, or is part of values.
        b"," => Ok(b','),
        b";" => Ok(b';'),
        _ => Err("one of: a comma, a semicolon, tab".to_owned()),
    }
}

/// Loads a file into the records that are configured, or moves all records there.
///
/// # Errors
/// When what is to be imported cannot be read or is not good, or the records cannot be used.
pub async fn run(config: Config, import: Import) -> Result<(), Failure> {
    let Import { kind, file, from, options, data_dir } = import;
    match (kind, file, from) {
        (_, _, Some(from)) => moving::run(config, &from, options.dry_run, options.json).await,
        (Some(kind), Some(file), None) => load(config, data_dir, kind, file, options).await,
        _ => Err(Failure::Usage(anyhow!("name what to import and its file, or --from DATA_DIR"))),
    }
}

/// Loads a file into the records that are configured.
///
/// # Errors
/// When the file cannot be read or holds bad lines, or the records cannot be used.
pub async fn load(
    config: Config,
    data_dir: PathBuf,
    what: What,
    file: PathBuf,
    options: Options,
) -> Result<(), Failure> {
    let kind = match what {
        What::Customers => Kind::Customers,
        What::Staff => Kind::Staff,
        What::Sales => Kind::Sales,
    };
    let reading = import::Options {
        encoding: match options.encoding {
            CharacterSet::Auto => EncodingChoice::Auto,
            CharacterSet::Utf8 => EncodingChoice::Fixed(Encoding::Utf8),
            CharacterSet::ShiftJis => EncodingChoice::Fixed(Encoding::ShiftJis),
        },
        delimiter: Some(options.delimiter),
        map: options.map,
    };
    let lines = Lines::open(&file, kind, &reading).map_err(|problem| match problem {
        Problem::Io(..) | Problem::TooLong(_) => Failure::Running(problem.into()),
        Problem::NotAFile(_) | Problem::Utf16(_) | Problem::Empty(_) | Problem::Header(_) => {
            Failure::Usage(problem.into())
        }
    })?;
    let mut report = Report::new(options.report.as_deref())
        .context("the report cannot be written; give --report a name that is not taken yet")
        .map_err(Failure::Usage)?;
    let about = json!({
        "file": file.display().to_string(),
        "kind": kind.word(),
        "encoding": lines.encoding().name(),
        "columns": lines.mapping().pairs(kind).into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        "ignored": lines.mapping().ignored(),
    });

    let signals = Signals::watch().map_err(|error| Failure::Running(error.into()))?;
    let dir = DataDir::open(&data_dir).map_err(Failure::Usage)?;
    let records = open_records(&config, &dir, Group::Owner).await.map_err(Failure::Unreachable)?;
    let shown = Shown::new(lines.size(), " of the file");
    let how = Load { dry_run: options.dry_run, go_on: options.go_on };
    let done = import::load(
        &records,
        lines,
        how,
        &mut report,
        |at| shown.set(at.bytes, at.lines, &format!("{} lines", at.lines)),
        signals.came(),
    )
    .await;
    shown.clear();
    records.close().await;
    let summary = done.map_err(|failure| Failure::Running(failure.into()))?;

    if options.json {
        say!("{}", as_json(about, &summary, options.dry_run, &report));
    } else {
        as_sentences(&about, &summary, options.dry_run, &report);
    }
    if summary.bad > 0 && !options.go_on {
        let what = if options.dry_run { "would be loaded" } else { "was loaded" };
        return Err(Failure::Running(anyhow!(
            "{} of {} lines are bad; nothing {what}. Correct them, or load the others with --continue",
            summary.bad,
            summary.lines
        )));
    }
    Ok(())
}

/// The signals with which the person, or the system, ends a program; from now on they no longer end it by themselves.
struct Signals(Signal, Signal);

impl Signals {
    fn watch() -> std::io::Result<Self> {
        Ok(Self(signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?))
    }

    async fn came(mut self) {
        tokio::select! {
            _ = self.0.recv() => {}
            _ = self.1.recv() => {}
        }
    }
}

/// A bar on a terminal, a line now and then elsewhere; both on standard error.
struct Shown {
    bar: Option<ProgressBar>,
    said: std::cell::Cell<u64>,
    size: u64,
    /// What a line says the percentage is of.
    whole: &'static str,
}

impl Shown {
    fn new(size: u64, whole: &'static str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(size);
            if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent:>3} %  {msg}  {eta} left") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        });
        Self { bar, said: std::cell::Cell::new(0), size, whole }
    }

    /// `position` is how much of the size is done, `count` what lines are counted in.
    fn set(&self, position: u64, count: u64, message: &str) {
        if let Some(bar) = &self.bar {
            bar.set_position(position);
            bar.set_message(message.to_owned());
        } else if count / SAY_EVERY > self.said.get() {
            self.said.set(count / SAY_EVERY);
            let percent = position.saturating_mul(100).checked_div(self.size).unwrap_or(100);
            eprintln!("{message}, {percent} %{}", self.whole);
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Values stay in the report file: what is printed here ends in logs.
fn as_json(mut about: Value, summary: &Summary, dry_run: bool, report: &Report) -> Value {
    let faults: Vec<Value> = report
        .first()
        .iter()
        .map(|fault| json!({ "line": fault.line, "column": fault.column, "reason": fault.reason }))
        .collect();
    if let (Value::Object(all), Ok(Value::Object(counts))) = (&mut about, serde_json::to_value(summary)) {
        all.extend(counts);
        all.insert("dry_run".into(), dry_run.into());
        all.insert("faults".into(), report.count().into());
        all.insert("first_faults".into(), faults.into());
    }
    about
}

fn as_sentences(about: &Value, summary: &Summary, dry_run: bool, report: &Report) {
    let text = |key: &str| about.get(key).and_then(Value::as_str).unwrap_or_default();
    say!("{}: {} {} in {}", text("file"), summary.lines, text("kind"), text("encoding"));
    let ignored = about.get("ignored").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if !ignored.is_empty() {
        let names: Vec<&str> = ignored.iter().filter_map(Value::as_str).collect();
        say!("  not used: {}", names.join(", "));
    }
    let counts =
        [("new", summary.new), ("changed", summary.changed), ("unchanged", summary.unchanged), ("bad", summary.bad)];
    for (name, count) in counts {
        say!("  {name:<10}{count:>10}");
    }
    if summary.unknown_people > 0 {
        say!("  {} sales name somebody who is none of the staff; they stand under “import”", summary.unknown_people);
    }
    for fault in report.first() {
        let column = if fault.column.is_empty() { String::new() } else { format!(" {}", fault.column) };
        say!("  line {}:{column} {}", fault.line, fault.reason);
    }
    let more = report.count().saturating_sub(report.first().len() as u64);
    if more > 0 {
        say!("  … and {more} more; --report FILE writes all of them");
    }
    match summary.run {
        Some(run) => say!("loaded as run {run}"),
        None if dry_run => say!("dry run: nothing was written"),
        None => say!("nothing was written"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_cannot_be_meant_are_refused() {
        assert_eq!(pair("price= 売価 ").unwrap(), ("price".to_owned(), "売価".to_owned()));
        for bad in ["price", "=売価", "price="] {
            assert!(pair(bad).unwrap_err().contains("code_customer=得意先コード"), "{bad}");
        }
        assert_eq!((delimiter("tab"), delimiter(","), delimiter(";")), (Ok(b'\t'), Ok(b','), Ok(b';')));
        // The second byte of ソ in Shift_JIS is a backslash, that of ポ a vertical line.
        for bad in ["\\", "|", "", "ab", "、"] {
            assert!(delimiter(bad).is_err(), "{bad}");
        }
    }
}
