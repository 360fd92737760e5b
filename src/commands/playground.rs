//! `playground`: the very same bot, against a workspace on this machine.

use std::path::{Path, PathBuf};

use anyhow::Context;
use base64::Engine;
use tokio::net::TcpListener;

use crate::app::{App, DataDir, Watch};
use crate::commands::Failure;
use crate::commands::serve::stop_on_signal;
use crate::config::Config;
use crate::domain::{Clock, Secret, TeamId, ThreadKey};
use crate::playground::workspace::{self, Workspace};
use crate::playground::{demo, sample};
use crate::records::Records;
use crate::words::playground as words;

/// How it is run.
#[derive(Debug)]
pub struct Options {
    /// The page's port; 0 picks a free one.
    pub port: u16,
    /// Where its files are kept.
    pub data_dir: PathBuf,
    /// Remove its files first.
    pub fresh: bool,
}

/// The workspace's messages.
const MESSAGES: &str = "workspace.jsonl";

/// What a playground leaves in its folder; nothing else is ever removed.
const FILES: [&str; 8] = [
    "records.sqlite",
    "records.sqlite-wal",
    "records.sqlite-shm",
    "work.sqlite",
    "work.sqlite-wal",
    "work.sqlite-shm",
    "keys.json",
    MESSAGES,
];

/// Runs until SIGINT or SIGTERM; prints `ready http://…` when it can be used.
///
/// # Errors
/// When a port or a file cannot be used.
pub async fn run(config: Config, options: Options) -> Result<(), Failure> {
    config.check_playground()?;
    let stop = stop_on_signal().map_err(|error| Failure::Running(error.into()))?;
    let dir = DataDir::open_alone(&options.data_dir).map_err(Failure::Usage)?;
    if options.fresh {
        remove_files(dir.path()).map_err(Failure::Usage)?;
    }
    let keys = dir.keys().map_err(Failure::Usage)?;
    let clock = Clock::system();
    let (config, workspace) = prepare(config, &dir, options.port, &clock).await.map_err(Failure::Unreachable)?;
    let app = App::build(&config, &dir, keys, clock).await.map_err(Failure::Unreachable)?;
    workspace.set_underneath(underneath(app.watch()));
    let bot = app.address().map_err(|error| Failure::Running(error.into()))?;
    workspace.set_bot_urls(&format!("http://{bot}/slack/events"), &format!("http://{bot}/slack/interactions"));
    say!("ready {}", workspace.page_url().trim_end_matches('/'));
    let ran = app.run(stop).await.map_err(Failure::Running);
    workspace.stop().await;
    ran
}

/// Sample data, the workspace and, when no model is set, the demo model; then the settings that point the bot at them.
async fn prepare(mut config: Config, dir: &DataDir, port: u16, clock: &Clock) -> anyhow::Result<(Config, Workspace)> {
    // The playground keeps everything in its folder, whatever is configured for `serve`.
    (config.records.url, config.records.migrate_url, config.sales_server.database_url) = (None, None, None);
    config.work.url = None;
    let today = clock.today(config.company.zone);
    let records = Records::open_file(&dir.records()).await.context("the records cannot be opened")?;
    if let Some(file) = records.sqlite() {
        sample::load(file, today).await.context("the sample data cannot be loaded")?;
        sample::redate(file, today).await.context("the sample data cannot be dated anew")?;
    }
    records.close().await;

    let (signing_secret, bot_token) = (secret()?, secret()?);
    let is_demo = config.model.api_key.is_none() && config.model.base_url.is_none();
    let settings = workspace::Settings {
        store: Some(dir.private_file(MESSAGES).with_context(|| format!("{MESSAGES} cannot be made"))?),
        signing_secret: signing_secret.clone(),
        bot_token: bot_token.clone(),
        banner: is_demo.then_some(words::demo_banner),
        examples: sample::examples,
        ..workspace::Settings::new(sample::seed(), clock.clone())
    };
    let listener = listen(port).await?;
    let workspace = Workspace::start(listener, settings).await.context("the workspace did not start")?;

    if is_demo {
        let listener = listen(0).await?;
        config.model.base_url = Some(format!("http://{}/v1", listener.local_addr()?));
        config.model.name = "demo".to_owned();
        tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, demo::router()).await {
                tracing::error!(%error, "the demo model stopped");
            }
        });
    }
    config.slack.api_url = workspace.api_url();
    config.slack.bot_token = Some(bot_token);
    config.slack.signing_secret = Some(signing_secret);
    config.server.listen = ([127, 0, 0, 1], 0).into();
    config.server.metrics_listen = String::new();
    Ok((config, workspace))
}

/// Lets the page look into the bot that runs beside it, and kill its sales server.
fn underneath(watch: Watch) -> workspace::Underneath {
    let look = watch.clone();
    workspace::Underneath {
        look: Box::new(move |channel, root| {
            let watch = look.clone();
            Box::pin(async move {
                let thread = ThreadKey { team: TeamId::new(sample::TEAM), channel, root };
                let steps = watch.thread(&thread).await.inspect_err(|error| tracing::warn!(%error, "no look inside"));
                serde_json::to_value(steps.unwrap_or_default()).unwrap_or_default()
            })
        }),
        stop_sales_server: Box::new(move || {
            let pid = watch.sales_server_pid();
            Box::pin(async move {
                let Some(pid) = pid else { return false };
                let killed = tokio::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status().await;
                killed.is_ok_and(|status| status.success())
            })
        }),
    }
}

async fn listen(port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind(("127.0.0.1", port))
        .await
        .with_context(|| format!("port {port} cannot be used; is another playground running? Try --port 0"))
}

fn secret() -> anyhow::Result<Secret> {
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no random numbers: {error}"))?;
    Ok(Secret::new(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)))
}

fn remove_files(dir: &Path) -> anyhow::Result<()> {
    for file in FILES {
        match std::fs::remove_file(dir.join(file)) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("{file} cannot be removed")),
        }
    }
    Ok(())
}
