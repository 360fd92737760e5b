//! `sales-server`: the MCP server as a process of its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use chrono::TimeDelta;

use crate::app::DataDir;
use crate::commands::serve::stop_on_signal;
use crate::commands::{Failure, Transport};
use crate::config::{self, Config};
use crate::domain::{Clock, Person};
use crate::records::postgres::Group;
use crate::sales::{self, Callers, ServerError};
use crate::tokens::{PublicKeys, Verifier};

/// What the command line says.
#[derive(Debug)]
pub struct Options {
    /// How clients reach it.
    pub transport: Transport,
    /// Where the records are.
    pub data_dir: PathBuf,
    /// The address, if not that of the settings.
    pub listen: Option<SocketAddr>,
    /// The one person it reads for, as `slack:TEAM:USER`.
    pub one: Option<String>,
}

/// Serves until standard input closes, or over HTTP until it is told to stop.
///
/// # Errors
/// When the options, the settings or the records cannot be used.
pub async fn run(config: Config, options: Options) -> Result<(), Failure> {
    if options.listen.is_some() && options.transport == Transport::Stdio {
        return Err(Failure::Usage(anyhow!("--listen goes with --transport http")));
    }
    let callers = match &options.one {
        Some(_) if options.transport == Transport::Http => {
            return Err(Failure::Usage(anyhow!(
                "--as goes with --transport stdio only: over HTTP it would give everybody that person's rights"
            )));
        }
        Some(subject) => {
            config.check_stores(Group::Reader)?;
            Callers::One(Person::from_subject(subject).ok_or_else(|| {
                Failure::Usage(anyhow!("--as takes a person as slack:TEAM:USER, such as slack:T0123:U0456"))
            })?)
        }
        None => {
            config.check_sales_server()?;
            let keys = PublicKeys {
                caller: config::list(&config.sales_server.caller_keys),
                approval: config::list(&config.sales_server.approval_keys),
            };
            Verifier::new(&keys).map_err(|error| Failure::Usage(error.into()))?;
            Callers::Tokens(keys)
        }
    };
    let dir = DataDir::open(&options.data_dir).map_err(Failure::Usage)?;
    let settings = sales::Settings {
        records: config.records(dir.records(), Group::Reader),
        callers,
        zone: config.company.zone,
        undo_window: TimeDelta::hours(i64::from(config.sales_server.undo_window_h)),
    };
    let ended = match options.transport {
        Transport::Stdio => sales::run_stdio(settings).await,
        Transport::Http => {
            let server = &config.sales_server;
            let http = sales::Http {
                listen: options.listen.unwrap_or(server.listen),
                public_url: Some(server.public_url.clone()).filter(|url| !url.is_empty()),
                allowed_hosts: config::list(&server.allowed_hosts),
                allowed_origins: config::list(&server.allowed_origins),
                requests_per_second: server.requests_per_second,
                concurrent_requests: server.concurrent_requests,
                time_limit: Duration::from_millis(server.call_timeout_ms),
            };
            let stop = stop_on_signal().map_err(|error| Failure::Running(error.into()))?;
            // Standard output says where, for whoever asked for a free port.
            let ready = |address| say!("ready http://{address}/mcp");
            sales::run_http(settings, http, Clock::system(), ready, stop).await
        }
    };
    ended.map_err(|error| match error {
        ServerError::Records(_) | ServerError::Listen(..) => Failure::Unreachable(error.into()),
        _ => Failure::Running(error.into()),
    })
}
