//! The composition root of the bot: builds it from a [`Config`], knows its port, runs it, drains it.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, openai};
use crate::config::{self, Config};
use crate::domain::{Clock, Secret, ThreadKey};
use crate::duties::Duties;
use crate::http::{self, Edge};
use crate::listen;
use crate::mcp::{self, Mcp, Pins};
use crate::outbox::{self, Outbox};
use crate::rates::Rates;
use crate::records::postgres::Group;
use crate::records::{Records, Source};
use crate::recovery::Recovery;
use crate::sales;
use crate::slack::client::Client;
use crate::slack::scopes;
use crate::slack::signature::Verifier;
use crate::slack::socket::{Socket, Times};
use crate::telemetry;
use crate::thread::asker::Askers;
use crate::thread::audience::Audience;
use crate::thread::click::{self, Clicks};
use crate::thread::continuation::{self, Continuations};
use crate::thread::feedback::Opinions;
use crate::thread::home::{Homes, Opened};
use crate::thread::press::{Press, Presses};
use crate::thread::stops::Stops;
use crate::thread::turn::Turns;
use crate::thread::{queue, trace, worker};
use crate::tokens::{Keys, PublicKeys};
use crate::work::{self, Work};

/// How long running turns may take to end after the signal to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// The embedded stores and keys of one data folder.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    /// Held open by the bot; the kernel frees the lock when the process ends, however it ends.
    _lock: Option<File>,
}

impl DataDir {
    /// The folder, made for its owner alone if it is not there. For commands that work beside a running bot.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .with_context(|| format!("the data folder {} cannot be made", path.display()))?;
        // The child process gets this path, and its working folder may be another.
        let path = std::path::absolute(path).context("the data folder has no absolute path")?;
        Ok(Self { path, _lock: None })
    }

    /// The same for a bot: no other bot can have the folder until this value is dropped or the process ends.
    ///
    /// # Errors
    /// When it cannot be made, or another bot has it.
    pub fn open_alone(path: &Path) -> anyhow::Result<Self> {
        let dir = Self::open(path)?;
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(dir.path.join("lock"))
            .with_context(|| format!("the data folder {} cannot be written to", path.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => anyhow::bail!(
                "another sales-concierge is running on {}; stop it or give another --data-dir",
                path.display()
            ),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("the data folder {} cannot be locked", path.display()));
            }
        }
        let mode = std::fs::metadata(&dir.path).context("the data folder cannot be looked at")?.permissions().mode();
        // Not changed by us: the folder may be shared on purpose, with a group that makes backups.
        if mode & 0o077 != 0 {
            tracing::warn!(
                folder = %dir.path.display(),
                mode = format!("{:03o}", mode & 0o777),
                "the data folder is open to other users of this machine; its mode should be 700"
            );
        }
        Ok(Self { _lock: Some(lock), ..dir })
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The store of record.
    pub fn records(&self) -> PathBuf {
        self.path.join("records.sqlite")
    }

    /// The store of work.
    pub fn work(&self) -> PathBuf {
        self.path.join("work.sqlite")
    }

    /// The signing keys, made at the first start and readable by the owner only.
    ///
    /// # Errors
    /// When the key file cannot be used.
    pub fn keys(&self) -> anyhow::Result<Keys> {
        Keys::load_or_create(&self.path.join("keys.json")).context("the signing keys cannot be used")
    }

    /// A file of the folder; if it is not there, it is made empty and readable by the owner only.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn private_file(&self, name: &str) -> std::io::Result<PathBuf> {
        let path = self.path.join(name);
        OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
        Ok(path)
    }
}

/// A look at a running bot from beside it.
#[derive(Clone)]
pub struct Watch {
    records: Records,
    work: Work,
    mcp: Arc<Mcp>,
}

impl Watch {
    /// What the stores hold of a conversation, oldest first.
    ///
    /// # Errors
    /// When a store does not answer.
    pub async fn thread(&self, thread: &ThreadKey) -> Result<Vec<trace::Step>, work::Error> {
        trace::of(&self.records, &self.work, thread).await
    }

    /// The process of the sales server, while it runs.
    pub fn sales_server_pid(&self) -> Option<u32> {
        self.mcp.server_pid()
    }
}

/// A bot that is connected to everything and not yet running.
pub struct App {
    listener: TcpListener,
    metrics: Option<TcpListener>,
    router: Router,
    edge: Arc<Edge>,
    records: Records,
    work: Work,
    mcp: Arc<Mcp>,
    turns: Arc<Turns>,
    duties: Duties,
    recovery: Option<Recovery>,
    pressed: UnboundedReceiver<Press>,
    homes: Homes,
    opened: UnboundedReceiver<Opened>,
    wake_worker: Arc<Notify>,
    worker: worker::Settings,
}

impl App {
    /// Opens the stores, starts the sales server, asks Slack who we are, and listens.
    ///
    /// # Errors
    /// When any of these fails; the message says which and what to do.
    pub async fn build(config: &Config, dir: &DataDir, keys: Keys, clock: Clock) -> anyhow::Result<Self> {
        let records = open_records(config, dir, Group::Bot).await?;
        let stores = async {
            let work = open_work(config, dir).await?;
            // Whoever held these leases is gone: one process at a time uses the files. A database has other users.
            queue::free_all(&work).await.context("the work file does not answer")?;
            if !records.is_shared() {
                free_leases(&records).await.context("the records do not answer")?;
            }
            anyhow::Ok(work)
        };
        let token = config.slack.bot_token.clone().unwrap_or_else(|| Secret::new(""));
        let slack = Client::new(&config.slack.api_url, token, Duration::from_millis(config.slack.timeout_ms))
            .context("the Slack client cannot be made")?
            .paced(config.slack.posts_per_minute);
        let server = sales_server(config, dir, &keys.public)?;
        // Side by side: a child takes longest, and needs only that the records are there.
        let server = Mcp::connect(server, keys.caller.clone(), clock.clone());
        let (mcp, me, granted, work) = tokio::join!(server, slack.auth_test(), slack.granted_scopes(), stores);
        let work = work?;
        let me =
            me.with_context(|| format!("Slack at {} did not say who the bot token belongs to", config.slack.api_url))?;
        if let Ok(Some(granted)) = granted {
            let missing = scopes::missing(&granted).join(", ");
            // No reason not to start: the rest works, and an older installation shall not fall silent by an upgrade.
            if !missing.is_empty() {
                tracing::error!(
                    missing,
                    "the installed Slack app lacks scopes, and what needs them will fail: add them to its settings (the \
                     command `manifest` prints them all), and reinstall it to the workspace"
                );
            }
        }
        let mcp = Arc::new(mcp.context("the sales server cannot be used")?);

        let model =
            Arc::new(openai::OpenAi::new(config.model.endpoint()).context("the model's settings cannot be used")?);
        let calls = Rates::over(&work, "calls", config.limits.calls_a_minute());
        let (reader, reader_clock) = (slack.clone(), clock.clone());
        let hold = Duration::from_millis(config.duties.message_lease_ms);
        let outbox = Outbox::new(records.clone(), slack.clone(), hold);
        let askers = Arc::new(Askers::new(records.clone(), slack.clone(), clock.clone(), config.company));
        let audience = Audience::new(
            records.clone(),
            slack.clone(),
            Arc::clone(&askers),
            config.policy.clone(),
            me.user.clone(),
            config.audience.clone(),
        );
        let installation = Arc::clone(slack.installation());
        let lease = Duration::from_millis(config.duties.continuation_lease_ms.max(1));
        let continuations = Continuations::new(records.clone(), lease).context("no random bytes")?;
        let stops = Stops::new(records.clone(), clock.clone());
        let homes = Homes::new(slack.clone(), outbox.clone(), Arc::clone(&askers), config.policy.clone());
        let turns = Arc::new(Turns::new(
            records.clone(),
            work.clone(),
            slack,
            outbox.clone(),
            Agent::new(model, Arc::clone(&mcp), config.policy.clone(), config.limits.clone(), calls),
            Arc::clone(&askers),
            audience,
            me.clone(),
            continuations.clone(),
            stops.clone(),
            config.turn.clone(),
            Duration::from_secs(config.proposals.expiry_s),
        ));
        let clicks = Arc::new(Clicks::new(
            records.clone(),
            outbox.clone(),
            Arc::clone(&mcp),
            config.policy.clone(),
            askers,
            keys.approval,
            clock.clone(),
            config.proposals.clone(),
        ));
        let socket = socket(config)?;
        if let Some(socket) = &socket {
            socket.check().await.context(
                "Slack opened no socket; check slack.app_token (SLACK_APP_TOKEN, an app-level token with the scope \
                 connections:write) and that Socket Mode is on in the app's settings",
            )?;
        }
        let wake_worker = Arc::new(Notify::new());
        let (handed, pressed) = unbounded_channel();
        let (opening, opened) = unbounded_channel();
        let secrets = [&config.slack.signing_secret, &config.slack.former_signing_secret];
        let edge = Arc::new(Edge {
            verifier: Verifier::new(secrets.into_iter().flatten().cloned().collect()),
            me,
            installation,
            work: work.clone(),
            presses: Presses::new(records.clone()),
            records: records.clone(),
            clock,
            wake_worker: Arc::clone(&wake_worker),
            pressed: handed,
            stops,
            opinions: Opinions::new(records.clone()),
            opened: opening,
            socket,
        });
        let recovery = match &work {
            Work::Redis(redis) => {
                let interval = Duration::from_millis(config.duties.interval_ms.max(1));
                let edge = Arc::clone(&edge);
                let trust = Duration::from_millis(config.worker.lease_ms.max(1));
                let (redis, records) = (redis.clone(), records.clone());
                let own = continuations.clone();
                Some(Recovery::new(redis, records, reader, edge, reader_clock, own, interval, trust))
            }
            Work::Sqlite { .. } => None,
        };
        let duties = Duties::new(
            records.clone(),
            work.clone(),
            clicks,
            outbox,
            continuations,
            Arc::clone(&wake_worker),
            config.duties.clone(),
            Duration::from_secs(config.audit.seal_interval_s),
        );
        let listener = listen(config.server.listen).await?;
        let metrics = match config::optional_address(&config.server.metrics_listen)? {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        telemetry::metrics();
        Ok(Self {
            listener,
            metrics,
            router: http::router(Arc::clone(&edge)),
            edge,
            records,
            work,
            mcp,
            turns,
            duties,
            recovery,
            pressed,
            homes,
            opened,
            wake_worker,
            worker: config.worker.clone(),
        })
    }

    /// Where Slack's requests arrive.
    ///
    /// # Errors
    /// When the listener is gone.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Where the metrics are, if they are served.
    ///
    /// # Errors
    /// When the listener is gone.
    pub fn metrics_address(&self) -> std::io::Result<Option<SocketAddr>> {
        self.metrics.as_ref().map(TcpListener::local_addr).transpose()
    }

    /// For who wants to see what happens while it runs.
    pub fn watch(&self) -> Watch {
        Watch { records: self.records.clone(), work: self.work.clone(), mcp: Arc::clone(&self.mcp) }
    }

    /// Serves until `stop`, then lets running turns end and closes everything.
    ///
    /// # Errors
    /// None at present.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let wake_worker = Arc::clone(&self.wake_worker);
        let worker =
            tokio::spawn(worker::run(self.work.clone(), self.turns, self.wake_worker, stop.clone(), self.worker));
        let duties = tokio::spawn(self.duties.run(self.pressed, stop.clone()));
        let homes = tokio::spawn(self.homes.run(self.opened, stop.clone()));
        let upkeep = tokio::spawn(telemetry::upkeep());
        if let Work::Redis(redis) = &self.work {
            let (redis, wake, stop) = (redis.clone(), wake_worker, stop.clone());
            tokio::spawn(async move { redis.listen(wake, stop).await });
        }
        if let Some(recovery) = self.recovery {
            tokio::spawn(recovery.run(stop.clone()));
        }
        if let Some(listener) = self.metrics {
            let router = Router::new()
                .route("/metrics", get(|| async { telemetry::metrics().map(|m| m.render()).unwrap_or_default() }));
            let stop = stop.clone();
            tokio::spawn(listen::serve(listener, router, stop, Duration::ZERO));
        }
        let sockets = self.edge.socket.clone().map(|socket| {
            let edge = self.edge;
            let store = move |delivery| {
                let edge = Arc::clone(&edge);
                async move { http::accept_delivery(&edge, delivery).await }
            };
            tokio::spawn(socket.run(store, stop.clone()))
        });
        listen::serve(self.listener, self.router, stop, DRAIN).await;
        if let Some(sockets) = sockets {
            let _ = tokio::time::timeout(DRAIN, sockets).await;
        }
        let ended = tokio::time::timeout(DRAIN, async { tokio::join!(worker, duties, homes) }).await;
        if ended.is_err() {
            tracing::warn!("work was still running at the end; it goes on at the next start");
        }
        upkeep.abort();
        self.mcp.close().await;
        self.work.close().await;
        self.records.close().await;
        Ok(())
    }
}

/// The sockets to Slack, if deliveries come that way.
fn socket(config: &Config) -> anyhow::Result<Option<Socket>> {
    let Some(token) = config.slack.app_token.clone().filter(|_| config.slack.socket_mode) else { return Ok(None) };
    let client = Client::new(&config.slack.api_url, token, Duration::from_millis(config.slack.timeout_ms))
        .context("the Slack client cannot be made")?;
    let times = Times {
        connect: Duration::from_millis(config.slack.socket_connect_ms),
        ping: Duration::from_millis(config.slack.socket_ping_ms),
    };
    Ok(Some(Socket::new(client, times)))
}

/// Ends all leases of the records, where whoever held them is known to be gone.
///
/// # Errors
/// When the store does not answer.
pub async fn free_leases(records: &Records) -> Result<(), sqlx::Error> {
    click::free_all(records).await?;
    outbox::free_all(records).await?;
    continuation::free_all(records).await
}

/// The records of a data folder, or of the database that is configured.
///
/// # Errors
/// When they cannot be opened; the message says where they are.
pub async fn open_records(config: &Config, dir: &DataDir, group: Group) -> anyhow::Result<Records> {
    let source = config.records(dir.records(), group);
    let opened = Records::open(&source, group).await;
    match source {
        Source::File(file) => opened.with_context(|| format!("the records in {} cannot be opened", file.display())),
        Source::Postgres(_) => opened.context("the records in the database cannot be opened (DATABASE_URL)"),
    }
}

/// The work of a data folder, or in the Redis that is configured.
///
/// # Errors
/// When it cannot be opened; the message says where it is.
pub async fn open_work(config: &Config, dir: &DataDir) -> anyhow::Result<Work> {
    let source = config.work(dir.work());
    let opened = Work::open(&source).await;
    match source {
        work::Source::File(file) => {
            opened.with_context(|| format!("the work file {} cannot be opened", file.display()))
        }
        work::Source::Redis(_) => opened.context("Redis does not answer (REDIS_URL)"),
    }
}

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("{address} cannot be listened on; is another process using it?"))
}

/// Where the sales server is, and the tools it must list: those of this program.
fn sales_server(config: &Config, dir: &DataDir, keys: &PublicKeys) -> anyhow::Result<mcp::Settings> {
    let server = match config.sales_server.url.as_str() {
        "" => child(config, dir, keys)?,
        url => mcp::Server::Http(url.parse().context("sales_server.url is not an address")?),
    };
    let pins = Pins::of(&sales::tools()?)?;
    Ok(mcp::Settings {
        server,
        pins: Some(pins),
        call_timeout: Duration::from_millis(config.sales_server.call_timeout_ms),
    })
}

/// How the sales server is started: this program, with an environment of exactly what it needs.
fn child(config: &Config, dir: &DataDir, keys: &PublicKeys) -> anyhow::Result<mcp::Server> {
    let command = std::env::current_exe().context("this program does not know its own path")?;
    let args: Vec<OsString> =
        vec!["sales-server".into(), "--transport".into(), "stdio".into(), "--data-dir".into(), dir.path().into()];
    let env = [
        ("SALES_CONCIERGE__SALES_SERVER__CALLER_KEYS", keys.caller.join(",")),
        ("SALES_CONCIERGE__SALES_SERVER__APPROVAL_KEYS", keys.approval.join(",")),
        ("SALES_CONCIERGE__SALES_SERVER__UNDO_WINDOW_H", config.sales_server.undo_window_h.to_string()),
        ("SALES_CONCIERGE__COMPANY__ZONE", config.company.zone.name().to_owned()),
        ("SALES_CONCIERGE__LOG__FILTER", config.log.filter.clone()),
        ("SALES_CONCIERGE__LOG__JSON", config.log.json.to_string()),
    ];
    let database = match config.records(dir.records(), Group::Reader) {
        Source::File(_) => None,
        Source::Postgres(settings) => Some([
            ("SALES_CONCIERGE__RECORDS__URL", settings.url.reveal().to_owned()),
            ("SALES_CONCIERGE__RECORDS__MAX_CONNECTIONS", settings.max_connections.to_string()),
            ("SALES_CONCIERGE__RECORDS__STATEMENT_TIMEOUT_MS", settings.statement_timeout.as_millis().to_string()),
        ]),
    };
    let env = env.into_iter().chain(database.into_iter().flatten());
    // A crash test stops the sales server, too.
    #[cfg(feature = "failpoints")]
    let env = env.chain([("FAILPOINTS", failpoints())]);
    Ok(mcp::Server::Child { command, args, env: env.map(|(k, v)| (k.into(), v.into())).collect() })
}

/// The points of this process, in the form of the variable they came in.
#[cfg(feature = "failpoints")]
fn failpoints() -> String {
    fail::list().into_iter().map(|(point, action)| format!("{point}={action}")).collect::<Vec<_>>().join(";")
}
