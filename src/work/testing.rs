//! Redis for tests: each its own part of a throwaway server. Not in a released program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot have its server should say so and end"
)]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use tokio::process::Command;
use tokio::sync::OnceCell;

use super::redis::{Redis, Settings};
use super::{Source, Work};
use crate::domain::Secret;

static SERVER: OnceCell<String> = OnceCell::const_new();

/// The server's address: `TEST_REDIS_URL`, else that of one which `scripts/redis` starts or has started.
pub async fn server() -> &'static str {
    SERVER
        .get_or_init(|| async {
            if let Ok(url) = std::env::var("TEST_REDIS_URL") {
                return url;
            }
            script(&[]).await
        })
        .await
}

/// Keys that nobody else uses.
pub fn prefix() -> String {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).expect("random bytes");
    format!("test_{}", hex::encode(bytes))
}

/// Settings of a part of a server.
pub fn settings(url: &str) -> Settings {
    Settings {
        url: Secret::new(url),
        cluster: false,
        sentinel_master: None,
        sentinel_password: None,
        prefix: prefix(),
        history_bytes: 128 * 1024,
    }
}

/// A store over a server, with keys of its own.
pub async fn redis(url: &str) -> Work {
    Work::open(&Source::Redis(settings(url))).await.expect("Redis answers")
}

/// Handles of as many processes over a server, with the same keys.
pub async fn processes(url: &str, count: usize) -> Vec<Work> {
    let settings = settings(url);
    let mut works = Vec::new();
    for _ in 0..count {
        works.push(Work::open(&Source::Redis(settings.clone())).await.expect("Redis answers"));
    }
    works
}

/// All keys of a store.
pub async fn keys(redis: &Redis) -> Vec<String> {
    let prefix = redis.keys(0);
    let pattern = prefix.replace("{0}", "?0?") + "*";
    redis.command(::redis::cmd("KEYS").arg(pattern)).await.expect("Redis answers")
}

/// What `FLUSHALL` does, to the keys of one store.
pub async fn lose_everything(redis: &Redis) {
    for key in keys(redis).await {
        let _: i64 = redis.command(::redis::cmd("DEL").arg(key)).await.expect("Redis answers");
    }
}

/// A server of a test's own, which it may stop and kill.
#[derive(Debug)]
pub struct Server {
    dir: PathBuf,
    url: String,
}

impl Server {
    /// Started and empty, in a folder that is there at least as long.
    pub async fn start(dir: &Path) -> Self {
        let dir = dir.join("redis");
        let url = script(&["start".as_ref(), dir.as_os_str()]).await;
        Self { dir, url }
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends a signal to the process.
    pub async fn signal(&self, name: &str) {
        let pid = std::fs::read_to_string(self.dir.join("pid")).expect("a running server");
        let sent = Command::new("kill").args([format!("-{name}"), pid.trim().to_owned()]).status().await.expect("kill");
        assert!(sent.success());
    }

    /// Ends it, with all that is in it.
    pub async fn kill(&self) {
        script(&["kill".as_ref(), self.dir.as_os_str()]).await;
    }

    /// Forgets everything, while it goes on.
    pub async fn flush(&self) {
        let client = ::redis::Client::open(self.url.as_str()).expect("an address");
        let mut connection = client.get_multiplexed_async_connection().await.expect("it answers");
        ::redis::cmd("FLUSHALL").exec_async(&mut connection).await.expect("flushed");
    }

    /// Starts it again, empty, at the same address.
    pub async fn restart(&self) {
        script(&["start".as_ref(), self.dir.as_os_str()]).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/redis");
        drop(std::process::Command::new(script).arg("stop").arg(&self.dir).output());
    }
}

async fn script(args: &[&OsStr]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/redis");
    let output = Command::new(&script).args(args).output().await.expect("scripts/redis runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("an address").trim().to_owned()
}

/// Which engine a test runs on.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A file of its own.
    Sqlite,
    /// Keys of its own.
    Redis,
}

#[cfg(test)]
impl Engine {
    /// An empty store; it is there as long as the first value.
    pub async fn open(self) -> (Option<tempfile::TempDir>, Work) {
        match self {
            Self::Sqlite => {
                let dir = tempfile::tempdir().expect("a folder");
                let work = Work::open_file(&dir.path().join("work.sqlite")).await.expect("the file opens");
                (Some(dir), work)
            }
            Self::Redis => (None, redis(server().await).await),
        }
    }
}

/// Each test on each engine: `async fn name(engine) { … }`.
#[cfg(test)]
macro_rules! on_both_engines {
    ($(async fn $name:ident($engine:ident) $body:block)*) => {$(
        mod $name {
            #[allow(unused_imports, reason = "which names the body needs differs")]
            use super::*;

            async fn on_engine($engine: $crate::work::testing::Engine) $body

            #[tokio::test]
            async fn sqlite() {
                on_engine($crate::work::testing::Engine::Sqlite).await;
            }

            #[tokio::test]
            async fn redis() {
                on_engine($crate::work::testing::Engine::Redis).await;
            }
        }
    )*};
}
#[cfg(test)]
pub(crate) use on_both_engines;
