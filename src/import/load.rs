//! A run: one thread reads and checks lines while the database takes the rows before them.

use std::io;

use serde::Serialize;
use tokio::sync::mpsc;

use super::Kind;
use super::lines::{Lines, Problem, Record};
use super::report::Report;
use super::rows::{Batch, Checker, Fault};
use super::store::{Put, Store};
use crate::records::Records;

/// Rows that are looked up and written together.
const ROWS: usize = 20_000;
/// Bad lines that are reported together.
const FAULTS: usize = 1_000;
/// Batches read ahead.
const AHEAD: usize = 2;

/// How a file is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Nothing is written.
    pub dry_run: bool,
    /// Bad lines do not keep the good ones out.
    pub go_on: bool,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Lines read.
    pub lines: u64,
    /// Bytes read.
    pub bytes: u64,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Lines that hold something, without the first.
    pub lines: u64,
    /// Rows the records did not have.
    pub new: u64,
    /// Rows that replaced others.
    pub changed: u64,
    /// Rows that the records have already.
    pub unchanged: u64,
    /// Lines that were not loaded.
    pub bad: u64,
    /// Sales whose person is none of the staff; they stand under `import`.
    pub unknown_people: u64,
    /// Whether the good lines are in the records now.
    pub written: bool,
    /// `registered_at` of all its sales, and what the trail calls it.
    pub run: Option<i64>,
}

/// Why a run ended early; but for [`Failure::Unknown`], the records are as they were.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The file cannot be read further.
    #[error(transparent)]
    File(#[from] Problem),
    /// The report cannot be written.
    #[error("the report cannot be written")]
    Report(#[source] io::Error),
    /// The records do not answer or refuse.
    #[error("the records do not take the rows")]
    Store(#[from] sqlx::Error),
    /// The end of the transaction was asked for, and no answer came.
    #[error("the records did not say whether they kept the rows; load the file again: rows they have are left alone")]
    Unknown(#[source] sqlx::Error),
    /// The reading thread died, which is a fault of this program.
    #[error("the file was not read to its end; nothing was changed")]
    Reader,
    /// The person stopped it.
    #[error("stopped; nothing was changed")]
    Stopped,
}

/// What the reading thread says.
struct Read {
    batch: Result<Batch, Problem>,
    /// Bytes read so far.
    bytes: u64,
    /// The file ends here. Without it, silence could be taken for the end.
    last: bool,
}

/// Reads to the end, or until nobody wants more.
fn read(mut lines: Lines, mut checker: Checker, to: &mpsc::Sender<Read>) {
    let kind = lines.kind();
    let mut record = Record::default();
    let mut batch = Batch::none(kind);
    loop {
        let more = match lines.next(&mut record) {
            Ok(more) => more,
            Err(problem) => {
                drop(to.blocking_send(Read { batch: Err(problem), bytes: lines.position(), last: true }));
                return;
            }
        };
        if more {
            checker.check(&record, &mut batch);
        }
        if !more || batch.rows.len() >= ROWS || batch.faults.len() >= FAULTS {
            checker.end_batch();
            let full = std::mem::replace(&mut batch, Batch::none(kind));
            if to.blocking_send(Read { batch: Ok(full), bytes: lines.position(), last: !more }).is_err() || !more {
                return;
            }
        }
    }
}

/// Loads a file. `stop` ends the run, as long as it is not being made real.
///
/// # Errors
/// See [`Failure`].
pub async fn load(
    records: &Records,
    lines: Lines,
    how: Load,
    report: &mut Report,
    progress: impl FnMut(Progress),
    stop: impl Future<Output = ()>,
) -> Result<Summary, Failure> {
    let kind = lines.kind();
    let (store, total, mut summary) = tokio::select! {
        done = transfer(records, lines, how, report, progress) => done?,
        () = stop => return Err(Failure::Stopped),
    };
    if summary.bad == 0 || how.go_on {
        summary.run = store.commit(kind, &total).await?;
        summary.written = summary.run.is_some();
    }
    Ok(summary)
}

async fn transfer(
    records: &Records,
    lines: Lines,
    how: Load,
    report: &mut Report,
    mut progress: impl FnMut(Progress),
) -> Result<(Store, Put, Summary), Failure> {
    let kind = lines.kind();
    let mut store = Store::begin(records, kind, how.dry_run).await?;
    let checker = Checker::new(&lines, store.known(kind).await?);
    let key = checker.header(kind.key());
    let (sender, mut batches) = mpsc::channel(AHEAD);
    // Ends by itself when the receiver is gone.
    std::thread::spawn(move || read(lines, checker, &sender));
    let mut total = Put::default();
    let mut summary =
        Summary { lines: 0, new: 0, changed: 0, unchanged: 0, bad: 0, unknown_people: 0, written: false, run: None };
    let mut ended = false;
    while let Some(Read { batch, bytes, last }) = batches.recv().await {
        let batch = batch?;
        ended = last;
        summary.lines += batch.lines;
        summary.bad += batch.bad;
        summary.unknown_people += batch.strangers;
        let put = store.put(batch.rows).await?;
        total.inserted += put.inserted;
        total.updated += put.updated;
        total.unchanged += put.unchanged;
        summary.bad += put.refused.len() as u64;
        let mut faults = batch.faults;
        faults.extend(put.refused.into_iter().map(|r| Fault::new(r.line, key.clone(), &r.key, r.reason)));
        faults.sort_by_key(|fault| fault.line);
        for fault in faults {
            report.add(fault).map_err(Failure::Report)?;
        }
        progress(Progress { lines: summary.lines, bytes });
    }
    if !ended {
        return Err(Failure::Reader);
    }
    report.finish().map_err(Failure::Report)?;
    (summary.new, summary.changed, summary.unchanged) = (total.inserted, total.updated, total.unchanged);
    Ok((store, total, summary))
}

impl Kind {
    /// The column that a row is found by.
    fn key(self) -> &'static str {
        match self {
            Self::Customers => "code_customer",
            Self::Staff => "user",
            Self::Sales => "code_sales",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lines::Options;
    use super::*;
    use crate::records;

    /// A file of sales from pieces that meet in every way, or of any bytes.
    fn file() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(vec![
            "A-1",
            "A-2",
            "0001",
            "1",
            "2026-11-03",
            "20261103",
            "令和8年11月3日",
            "2026-02-30",
            "なす",
            "600",
            "-1",
            "1,000",
            "\"",
            "\"\"",
            ",",
            ",",
            ",",
            "\n",
            "\r\n",
            "\r",
            "\t",
            " ",
            "\u{0}",
            "\u{1a}end of file",
            "",
        ]);
        let good = prop::sample::select(vec![
            "A-1,0001,2026-11-03,なす,600\n",
            "A-2,0001,R8.11.3,\"な\nす\",\"1,000\"\r\n",
            "A-3,0001,2026/11/3,桃,0\n",
            "A-1,0001,20261103,なす,¥600\n",
        ]);
        let lines =
            prop::collection::vec(prop_oneof![good.prop_map(str::to_owned), piece.prop_map(str::to_owned)], 0..24);
        let tail = prop::collection::vec(any::<u8>(), 0..12);
        (lines, tail, any::<bool>()).prop_map(|(lines, tail, clean)| {
            let mut bytes = "code_sales,code_customer,date_sales,products,price\n".as_bytes().to_vec();
            bytes.extend(lines.concat().into_bytes());
            if !clean {
                bytes.extend(tail);
            }
            bytes
        })
    }

    async fn run(records: &Records, lines: Lines, dry_run: bool) -> (Summary, Vec<Fault>) {
        let mut report = Report::default();
        let how = Load { dry_run, go_on: true };
        let done = load(records, lines, how, &mut report, |_| {}, std::future::pending()).await;
        (done.expect("the records take what the checks let through"), report.first().to_vec())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]
        #[test]
        fn no_file_breaks_a_run_and_what_a_dry_run_accepts_is_loaded(bytes in file(), any in prop::collection::vec(any::<u8>(), 0..200)) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("file.csv");
            std::fs::write(&path, any).unwrap();
            for kind in [Kind::Customers, Kind::Staff, Kind::Sales] {
                drop(Lines::open(&path, kind, &Options::default()));
            }
            std::fs::write(&path, bytes).unwrap();
            let open = || Lines::open(&path, Kind::Sales, &Options::default()).unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let (dry, wet, again, stored) = runtime.block_on(async {
                let records = Records::open_file(&dir.path().join("records.sqlite")).await.unwrap();
                records::query("INSERT INTO customers VALUES ('0001', '青木', '青木', '', '', '野菜')").execute(records.durable()).await.unwrap();
                let dry = run(&records, open(), true).await;
                let none: i64 = records::query("SELECT count(*) FROM sales").scalar(records.read()).await.unwrap();
                assert_eq!(none, 0, "a dry run writes nothing");
                let wet = run(&records, open(), false).await;
                let stored: i64 = records::query("SELECT count(*) FROM sales").scalar(records.read()).await.unwrap();
                let again = run(&records, open(), false).await;
                (dry, wet, again, stored)
            });
            prop_assert_eq!(&dry.1, &wet.1);
            prop_assert_eq!((dry.0.lines, dry.0.new, dry.0.bad), (wet.0.lines, wet.0.new, wet.0.bad));
            prop_assert_eq!(wet.0.lines, wet.0.new + wet.0.bad);
            prop_assert_eq!(u64::try_from(stored).unwrap(), wet.0.new);
            prop_assert_eq!((again.0.new, again.0.changed), (0, 0));
        }
    }
}
