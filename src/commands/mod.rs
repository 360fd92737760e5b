//! The command line: one file per subcommand.
//!
//! Exit codes: 0 done, 1 failed while running, 2 wrong usage or configuration, 3 a needed service cannot be reached.
#![allow(rustdoc::bare_urls, reason = "the comments are what --help prints, where brackets would be noise")]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use chrono::NaiveDate;
use chrono_tz::Tz;
use clap::{Parser, Subcommand, ValueEnum};

use crate::config::{Config, ConfigError};
use crate::domain::Clock;
use crate::records::postgres::Group;
use crate::telemetry;

/// A line of a result, like `println!`; but what a command has done stays done, and said with its exit code, when nobody
/// reads it any more.
macro_rules! say {
    ($($line:tt)*) => { $crate::commands::say(format_args!($($line)*)) };
}

fn say(line: std::fmt::Arguments<'_>) {
    use std::io::{ErrorKind, Write as _, stderr, stdout};
    if let Err(error) = writeln!(stdout(), "{line}")
        && error.kind() != ErrorKind::BrokenPipe
    {
        drop(writeln!(stderr(), "the result cannot be written: {error}"));
    }
}

pub mod audit;
pub mod explain;
pub mod import;
pub mod keys;
pub mod limits;
pub mod manifest;
pub mod migrate;
pub mod playground;
pub mod read;
pub mod sales_server;
pub mod serve;
pub mod staff;

/// A Slack bot for a sales database: answers questions and registers sales, each after the press of a button.
#[derive(Debug, Parser)]
#[command(name = "sales-concierge", version, about)]
pub struct Cli {
    /// Settings file [default: sales-concierge.toml in the working folder, if there is one]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Try it on this machine: page, sample data, no account, nothing to install
    ///
    /// Example: sales-concierge playground --port 3210
    Playground {
        /// The page's port; 0 picks a free one
        #[arg(long, default_value_t = 3210)]
        port: u16,
        /// Where its files are kept
        #[arg(long, default_value = "data/playground", value_name = "DIR")]
        data_dir: PathBuf,
        /// Begin anew: its files in the data folder are removed first
        #[arg(long)]
        fresh: bool,
    },
    /// Run the bot against Slack
    ///
    /// Example: SLACK_BOT_TOKEN=xoxb-… SLACK_SIGNING_SECRET=… OPENAI_API_KEY=… sales-concierge serve
    Serve {
        /// Where the embedded stores and keys are kept
        #[arg(long, default_value = "data", value_name = "DIR")]
        data_dir: PathBuf,
    },
    /// Run the MCP sales server by itself
    ///
    /// Example: sales-concierge sales-server --transport http --listen 127.0.0.1:3100
    /// Example, for a desktop MCP client: sales-concierge sales-server --as slack:T0123:U0456 --data-dir /srv/concierge
    #[command(verbatim_doc_comment)]
    SalesServer {
        /// How clients reach it
        #[arg(long, value_enum, default_value_t = Transport::Stdio)]
        transport: Transport,
        /// The address for http [default: sales_server.listen]; port 0 picks a free one
        #[arg(long, value_name = "ADDRESS")]
        listen: Option<SocketAddr>,
        /// Read for this person without tokens, over stdio; writes are refused
        #[arg(long = "as", value_name = "slack:TEAM:USER")]
        one: Option<String>,
        /// Where the records are
        #[arg(long, default_value = "data", value_name = "DIR")]
        data_dir: PathBuf,
    },
    /// The signing keys: what to set at a sales server, and tokens for looking at it
    ///
    /// Example: sales-concierge keys show --data-dir data
    Keys {
        /// Where the key file is
        #[arg(long, default_value = "data", value_name = "DIR", global = true)]
        data_dir: PathBuf,
        #[command(subcommand)]
        action: keys::Action,
    },
    /// Create or update the stores
    ///
    /// Example: sales-concierge migrate --data-dir data
    Migrate {
        /// Where the stores are
        #[arg(long, default_value = "data", value_name = "DIR")]
        data_dir: PathBuf,
    },
    /// Who may use the bot, and with which role
    ///
    /// Example: sales-concierge staff add --team T0123 --user U0456 --role sales --department "Direct sales"
    Staff {
        /// Where the records are
        #[arg(long, default_value = "data", value_name = "DIR", global = true)]
        data_dir: PathBuf,
        #[command(subcommand)]
        action: staff::Action,
    },
    /// Above which amount a sale needs a manager, for each department
    ///
    /// Example: sales-concierge limits set --department Wholesale --yen 1000000
    Limits {
        /// Where the records are
        #[arg(long, default_value = "data", value_name = "DIR", global = true)]
        data_dir: PathBuf,
        #[command(subcommand)]
        action: limits::Action,
    },
    /// Load customers, staff or sales from a CSV file (UTF-8 or Shift_JIS), or move all records into PostgreSQL
    ///
    /// Example: sales-concierge import sales 売上.csv --dry-run --report bad-lines.csv
    /// Example: DATABASE_URL=postgres://… sales-concierge import --from data
    #[command(verbatim_doc_comment)]
    Import(import::Import),
    /// Show how dates, amounts and quantities in sentences are read (standard input, one per line)
    ///
    /// Example: echo "先週火曜かぼちゃ4個600円" | sales-concierge read --today 2026-12-02 --zone Asia/Tokyo
    Read {
        /// The reference day [default: today]
        #[arg(long, value_name = "YYYY-MM-DD")]
        today: Option<NaiveDate>,
        /// The zone for lines that name none [default: the company's]
        #[arg(long)]
        zone: Option<Tz>,
        /// What the sentences are read for: it orders readings
        #[arg(long, value_enum, default_value_t)]
        purpose: read::Purpose,
        /// The month in which the fiscal year begins [default: the company's]
        #[arg(long, value_name = "MONTH", value_parser = clap::value_parser!(u32).range(1..=12))]
        fiscal_start: Option<u32>,
    },
    /// Print the life of one proposal from the records
    ///
    /// Example: sales-concierge explain 3q2-7wZ… --data-dir data
    Explain {
        /// The proposal's id, as in the log or the audit
        proposal: String,
        /// Where the records are
        #[arg(long, default_value = "data", value_name = "DIR")]
        data_dir: PathBuf,
    },
    /// Check or export the audit trail
    ///
    /// Example: sales-concierge audit verify --data-dir data
    Audit {
        /// Where the records are
        #[arg(long, default_value = "data", value_name = "DIR", global = true)]
        data_dir: PathBuf,
        #[command(subcommand)]
        action: audit::Action,
    },
    /// Print the Slack app manifest, with your URL filled in
    ///
    /// Example: sales-concierge manifest --url https://concierge.example.com
    Manifest {
        /// The public address under which Slack reaches the bot
        #[arg(long)]
        url: Option<String>,
    },
}

/// How MCP clients reach the sales server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// Standard input and output.
    Stdio,
    /// Streamable HTTP, at /mcp.
    Http,
}

/// Why a command failed, as far as the exit code tells.
#[derive(Debug)]
pub enum Failure {
    /// While running.
    Running(anyhow::Error),
    /// Wrong usage or configuration.
    Usage(anyhow::Error),
    /// Something it needs cannot be reached.
    Unreachable(anyhow::Error),
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Usage(error.into())
    }
}

/// Runs the command of the process's arguments.
pub fn run() -> ExitCode {
    // Takes the points at which a crash test wants this process stopped from the environment.
    #[cfg(feature = "failpoints")]
    let _scenario = fail::FailScenario::setup();
    let cli = Cli::parse();
    let (code, error) = match dispatch(cli) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Running(error)) => (1, error),
        Err(Failure::Usage(error)) => (2, error),
        Err(Failure::Unreachable(error)) => (3, error),
    };
    eprintln!("sales-concierge: {}", sentence(&error));
    ExitCode::from(code)
}

/// The error and its causes, without a cause that the one before it ends with: some libraries say theirs twice.
fn sentence(error: &anyhow::Error) -> String {
    let mut said: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if !said.last().is_some_and(|last| last.ends_with(&cause)) {
            said.push(cause);
        }
    }
    said.join(": ")
}

fn dispatch(cli: Cli) -> Result<(), Failure> {
    let config = Config::load(cli.config.as_deref())?;
    telemetry::start(&config.log);
    // Both HTTP stacks take the process's default cryptography; without one the first TLS use panics.
    drop(rustls::crypto::ring::default_provider().install_default());
    match cli.command {
        Command::Playground { port, data_dir, fresh } => {
            block_on(2, playground::run(config, playground::Options { port, data_dir, fresh }))
        }
        Command::Serve { data_dir } => block_on(2, serve::run(config, data_dir)),
        Command::SalesServer { transport, listen, one, data_dir } => {
            let workers = if transport == Transport::Http { 2 } else { 0 };
            block_on(workers, sales_server::run(config, sales_server::Options { transport, data_dir, listen, one }))
        }
        Command::Keys { data_dir, action } => keys::run(&data_dir, &action, &Clock::system()),
        Command::Migrate { data_dir } => {
            config.check_stores(Group::Owner)?;
            block_on(0, migrate::run(config, data_dir))
        }
        Command::Staff { data_dir, action } => {
            config.check_stores(Group::Owner)?;
            block_on(0, staff::run(config, data_dir, action))
        }
        Command::Limits { data_dir, action } => {
            config.check_stores(Group::Owner)?;
            block_on(0, limits::run(config, data_dir, action))
        }
        Command::Import(import) => {
            config.check_stores(Group::Owner)?;
            block_on(0, import::run(config, import))
        }
        Command::Read { today, zone, purpose, fiscal_start } => {
            let clock = Clock::system();
            let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
            let company = config.company;
            let fiscal_start = fiscal_start.unwrap_or(company.fiscal_year_start);
            read::run(
                |zone| today.unwrap_or_else(|| clock.today(zone)),
                read::Defaults { zone: zone.unwrap_or(company.zone), purpose, fiscal_start },
                input,
                output,
            )
            .map_err(|error| Failure::Running(error.into()))
        }
        Command::Explain { proposal, data_dir } => {
            config.check_stores(Group::Bot)?;
            block_on(0, explain::run(config, data_dir, proposal))
        }
        Command::Audit { data_dir, action } => {
            config.check_stores(Group::Auditor)?;
            block_on(0, audit::run(config, data_dir, action))
        }
        Command::Manifest { url } => manifest::run(url.as_deref()),
    }
}

/// `workers` 0: everything on this thread, for commands that do one thing at a time.
fn block_on(workers: usize, command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let mut builder = if workers == 0 {
        tokio::runtime::Builder::new_current_thread()
    } else {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(workers);
        builder
    };
    builder.enable_all().build().map_err(|error| Failure::Running(error.into()))?.block_on(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_told_with_each_cause_once() {
        let refused = std::io::Error::other("connection refused");
        let error = anyhow::Error::new(sqlx::Error::Io(refused)).context("the records cannot be opened");
        assert_eq!(
            sentence(&error),
            "the records cannot be opened: error communicating with database: connection refused"
        );
    }
}
