//! How a server is reached: alone, through Sentinels that know the master, or as a Cluster.
//!
//! The library reconnects. Added here: a connection that no longer answers is replaced, a new master is looked up, and
//! no call waits longer than it was told to.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use ::redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig, PubSub};
use ::redis::cluster::ClusterClient;
use ::redis::cluster_async::ClusterConnection;
use ::redis::io::tcp::TcpSettings;
use ::redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use ::redis::{
    Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, FromRedisValue, IntoConnectionInfo as _, Pipeline,
    RedisError, RedisFuture, ScriptInvocation, ServerErrorKind, TlsMode, Value,
};
use tokio::sync::Mutex;

use super::Settings;
use crate::domain::Secret;

/// How long connecting may take.
const CONNECT: Duration = Duration::from_millis(500);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_millis(1_000);
/// After a failed attempt nobody tries again for so long.
const PAUSE: Duration = Duration::from_millis(100);
/// So many failures in a row, and the connection is replaced: it may lead to nowhere without knowing.
const FAILURES: u32 = 3;

/// See the module.
pub(super) struct Link {
    how: How,
    current: RwLock<Option<Connection>>,
    /// One connects, the others wait. The time of the last failure.
    connecting: Mutex<Option<Instant>>,
    failures: AtomicU32,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Link")
    }
}

enum How {
    Alone(Client),
    // The lookup remembers connections to the Sentinels.
    Sentinels(Mutex<SentinelClient>),
    Cluster { client: ClusterClient, nodes: Vec<ConnectionInfo> },
}

#[derive(Clone)]
enum Connection {
    One(ConnectionManager),
    Cluster(ClusterConnection),
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::One(one) => one.req_packed_command(cmd),
            Self::Cluster(cluster) => cluster.req_packed_command(cmd),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Self::One(one) => one.req_packed_commands(pipeline, offset, count),
            Self::Cluster(cluster) => cluster.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::One(one) => one.get_db(),
            Self::Cluster(cluster) => cluster.get_db(),
        }
    }
}

/// What is wrong with the addresses, in words that hold none of them.
pub(super) fn faults(settings: &Settings) -> Vec<&'static str> {
    let mut faults = Vec::new();
    let urls = urls(&settings.url);
    let read: Vec<Option<ConnectionInfo>> = urls.iter().map(|url| info(url).ok()).collect();
    if read.is_empty() || read.iter().any(Option::is_none) {
        faults.push("not an address that begins with redis://, rediss:// or unix://");
    }
    let several = settings.cluster || settings.sentinel_master.is_some();
    if settings.cluster && settings.sentinel_master.is_some() {
        faults.push("work.cluster and work.sentinel_master exclude each other");
    }
    if urls.len() > 1 && !several {
        faults.push("several addresses need work.cluster or work.sentinel_master");
    }
    if several && read.iter().flatten().any(|info| matches!(info.addr(), ConnectionAddr::Unix(_))) {
        faults.push("a Cluster and Sentinels are not reached through a socket");
    }
    if settings.cluster && read.iter().flatten().any(|info| info.redis_settings().db() != 0) {
        faults.push("a Cluster has no database but 0");
    }
    faults
}

fn urls(url: &Secret) -> Vec<&str> {
    url.reveal().split(',').map(str::trim).filter(|url| !url.is_empty()).collect()
}

fn info(url: &str) -> Result<ConnectionInfo, RedisError> {
    // Small commands, each waited for.
    Ok(url.into_connection_info()?.set_tcp_settings(tcp()))
}

fn tcp() -> TcpSettings {
    TcpSettings::default().set_nodelay(true)
}

impl Link {
    pub(super) fn new(settings: &Settings) -> Result<Self, RedisError> {
        let infos = urls(&settings.url).into_iter().map(info).collect::<Result<Vec<_>, _>>()?;
        let Some(first) = infos.first().cloned() else { return Err(no_address()) };
        let how = if settings.cluster {
            let client = ClusterClient::builder(infos.clone())
                .connection_timeout(CONNECT)
                .response_timeout(ANSWER)
                .retries(2)
                .tcp_settings(tcp())
                .build()?;
            How::Cluster { client, nodes: infos }
        } else if let Some(master) = &settings.sentinel_master {
            How::Sentinels(Mutex::new(sentinels(settings, &infos, &first, master)?))
        } else {
            How::Alone(Client::open(first)?)
        };
        Ok(Self { how, current: RwLock::default(), connecting: Mutex::default(), failures: AtomicU32::new(0) })
    }

    pub(super) async fn command<T: FromRedisValue>(&self, cmd: &Cmd, limit: Duration) -> Result<T, RedisError> {
        let result = within(limit, async { cmd.query_async(&mut self.connection().await?).await }).await;
        self.judge(result)
    }

    pub(super) async fn script<T: FromRedisValue>(
        &self,
        script: &ScriptInvocation<'_>,
        limit: Duration,
    ) -> Result<T, RedisError> {
        let result = within(limit, async { script.invoke_async(&mut self.connection().await?).await }).await;
        self.judge(result)
    }

    /// A connection that hears what is published.
    pub(super) async fn pubsub(&self) -> Result<PubSub, RedisError> {
        match &self.how {
            How::Alone(client) => client.get_async_pubsub().await,
            How::Sentinels(client) => {
                let client = client.lock().await.async_get_client().await?;
                client.get_async_pubsub().await
            }
            // What is published at one node is heard at all.
            How::Cluster { nodes, .. } => {
                let mut last = no_address();
                for node in nodes {
                    match within(CONNECT, async { Client::open(node.clone())?.get_async_pubsub().await }).await {
                        Ok(pubsub) => return Ok(pubsub),
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    fn judge<T>(&self, result: Result<T, RedisError>) -> Result<T, RedisError> {
        match &result {
            Err(error) if is_trouble(error) => {
                // A master that is none any more does not become one again soon.
                let patience = if matches!(self.how, How::Sentinels(_)) { 1 } else { FAILURES };
                if self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= patience {
                    self.failures.store(0, Ordering::Relaxed);
                    self.current.write().unwrap_or_else(PoisonError::into_inner).take();
                }
            }
            _ => self.failures.store(0, Ordering::Relaxed),
        }
        result
    }

    fn current(&self) -> Option<Connection> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn connection(&self) -> Result<Connection, RedisError> {
        if let Some(connection) = self.current() {
            return Ok(connection);
        }
        let mut failed = self.connecting.lock().await;
        if let Some(connection) = self.current() {
            return Ok(connection);
        }
        if failed.is_some_and(|at| at.elapsed() < PAUSE) {
            return Err(std::io::Error::from(std::io::ErrorKind::NotConnected).into());
        }
        match within(ANSWER, self.connect()).await {
            Ok(connection) => {
                *failed = None;
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(connection.clone());
                Ok(connection)
            }
            Err(error) => {
                *failed = Some(Instant::now());
                Err(error)
            }
        }
    }

    async fn connect(&self) -> Result<Connection, RedisError> {
        match &self.how {
            How::Alone(client) => manager(client.clone()).map(Connection::One),
            How::Sentinels(client) => {
                let client = client.lock().await.async_get_client().await?;
                manager(client).map(Connection::One)
            }
            How::Cluster { client, .. } => client.get_async_connection().await.map(Connection::Cluster),
        }
    }
}

/// Reconnects by itself, and lets no caller wait for long meanwhile.
fn manager(client: Client) -> Result<ConnectionManager, RedisError> {
    let config = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(CONNECT))
        .set_response_timeout(Some(ANSWER))
        .set_number_of_retries(1)
        .set_min_delay(Duration::from_millis(20))
        .set_max_delay(Duration::from_millis(200))
        .set_pipeline_buffer_size(512);
    ConnectionManager::new_lazy_with_config(client, config)
}

fn sentinels(
    settings: &Settings,
    infos: &[ConnectionInfo],
    first: &ConnectionInfo,
    master: &str,
) -> Result<SentinelClient, RedisError> {
    let addresses: Vec<ConnectionAddr> = infos.iter().map(|info| info.addr().clone()).collect();
    let mut builder = SentinelClientBuilder::new(addresses, master, SentinelServerType::Master)?
        .set_client_to_redis_tcp_settings(tcp())
        .set_client_to_sentinel_tcp_settings(tcp())
        .set_client_to_redis_db(first.redis_settings().db());
    if matches!(first.addr(), ConnectionAddr::TcpTls { .. }) {
        builder = builder.set_client_to_redis_tls_mode(TlsMode::Secure);
    }
    // The credentials of the address are those of Redis itself.
    if let Some(user) = first.redis_settings().username() {
        builder = builder.set_client_to_redis_username(user);
    }
    if let Some(password) = first.redis_settings().password() {
        builder = builder.set_client_to_redis_password(password);
    }
    if let Some(password) = &settings.sentinel_password {
        builder = builder.set_client_to_sentinel_password(password.reveal());
    }
    builder.build()
}

async fn within<T>(limit: Duration, step: impl Future<Output = Result<T, RedisError>>) -> Result<T, RedisError> {
    let late = || std::io::Error::from(std::io::ErrorKind::TimedOut).into();
    tokio::time::timeout(limit, step).await.unwrap_or_else(|_| Err(late()))
}

fn no_address() -> RedisError {
    (ErrorKind::InvalidClientConfig, "no address of Redis").into()
}

/// Not the answer of a server that could have done what it was asked for.
fn is_trouble(error: &RedisError) -> bool {
    !matches!(
        error.kind(),
        ErrorKind::Server(ServerErrorKind::ResponseError | ServerErrorKind::NoScript | ServerErrorKind::NoPerm)
            | ErrorKind::UnexpectedReturnType
    )
}
