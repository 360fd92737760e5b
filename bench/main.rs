//! The figures of docs/performance.md, measured on this machine: `cargo bench --bench figures`.
//!
//! The release program is started as a user starts it, with its sales server as a child and its two SQLite files on
//! disk. Slack and the model are stand-ins in this process that answer at once, so what is measured is ours. Every
//! figure stands beside the time of a bare signed HTTP request on the same machine at the same moment.
//!
//! Options after `--`: `--quick` (shorter, for a first look), `--only N` (one figure; may be repeated).

#![expect(clippy::indexing_slicing, reason = "a missing field of JSON reads as null")]

mod bot;
mod clicks;
mod database;
mod floor;
mod load;
mod machine;
mod mcp;
mod memory;
mod numbers;
mod reading;
mod start;
mod turns;
mod wire;

use std::process::ExitCode;

use numbers::Row;

/// What the command line asks for.
#[derive(Debug, Default)]
pub struct Options {
    /// Shorter runs.
    pub quick: bool,
    only: Vec<u32>,
}

impl Options {
    fn read(args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        let mut args = args;
        while let Some(arg) = args.next() {
            match arg.as_str() {
                // Cargo itself passes this one.
                "--bench" => {}
                "--quick" => options.quick = true,
                "--only" => {
                    let number = args.next().and_then(|n| n.parse().ok()).filter(|n| (1..=9).contains(n));
                    options.only.push(number.ok_or("--only wants a figure's number, 1 to 9")?);
                }
                other => return Err(format!("{other}: no such option; there are --quick and --only N")),
            }
        }
        Ok(options)
    }

    fn wants(&self, figure: u32) -> bool {
        self.only.is_empty() || self.only.contains(&figure)
    }

    /// One of two numbers: the full run's or the quick one's.
    pub fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

fn main() -> ExitCode {
    if cfg!(debug_assertions) {
        eprintln!("figures of a debug build mean nothing; run: cargo bench --bench figures");
        return ExitCode::from(2);
    }
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    drop(rustls::crypto::ring::default_provider().install_default());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let measured = match runtime {
        Ok(runtime) => runtime.block_on(measure(&options)),
        Err(error) => Err(error.into()),
    };
    match measured {
        Ok(rows) => {
            println!("\n{}", numbers::table(&rows));
            if rows.iter().all(Row::is_met) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("not measured: {error:#}");
            ExitCode::from(3)
        }
    }
}

async fn measure(options: &Options) -> anyhow::Result<Vec<Row>> {
    println!("{}", machine::describe());
    let mut rows = floor::measure(options).await?;
    if options.wants(1) {
        rows.extend(turns::measure(options).await?);
    }
    if options.wants(2) {
        rows.extend(load::measure(options).await?);
    }
    if options.wants(3) {
        rows.extend(memory::measure(options).await?);
    }
    if options.wants(4) {
        rows.extend(start::measure(options).await?);
    }
    if options.wants(5) {
        rows.extend(clicks::measure(options).await?);
    }
    if options.wants(6) {
        rows.extend(mcp::measure(options).await?);
    }
    if options.wants(7) {
        rows.extend(reading::measure(options)?);
    }
    if options.wants(8) {
        rows.extend(database::measure_reads(options).await?);
    }
    if options.wants(9) {
        rows.extend(database::measure_presses(options).await?);
    }
    println!("{}", machine::load());
    Ok(rows)
}
