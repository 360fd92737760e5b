//! The other two ways to reach Redis: a Cluster, and Sentinels that know the master.

use std::collections::HashSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use tokio::process::{Child, Command};

use super::*;
use crate::domain::Secret;
use crate::work::redis::Settings;
use crate::work::{Source, testing};

/// Processes that end with the test.
struct Servers {
    dir: tempfile::TempDir,
    running: Vec<Child>,
}

impl Servers {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), running: Vec::new() }
    }

    /// A server on a port of loopback; `options` go to its command line.
    async fn start(&mut self, port: u16, options: &[&str]) {
        let dir = self.dir.path().join(port.to_string());
        std::fs::create_dir(&dir).unwrap();
        let port = port.to_string();
        let common = ["--port", &port, "--bind", "127.0.0.1", "--save", "", "--daemonize", "no", "--dir", "."];
        self.spawn(Command::new("redis-server").args(common).args(options).current_dir(dir));
        within(|| async { cli(&port, &["ping"]).await.contains("PONG") }).await;
    }

    fn spawn(&mut self, command: &mut Command) {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn();
        self.running.push(child.unwrap());
    }
}

async fn cli(port: &str, args: &[&str]) -> String {
    let output = Command::new("redis-cli").args(["-h", "127.0.0.1", "-p", port]).args(args).output().await.unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Until something holds, for at most twenty seconds.
async fn within<F: Future<Output = bool>>(mut holds: impl FnMut() -> F) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < Duration::from_secs(20), "it never holds");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Free ports of which the ports of a Cluster's own talk, ten thousand higher, exist too.
fn ports<const N: usize>() -> [u16; N] {
    let mut kept = Vec::new();
    let mut ports = Vec::new();
    while ports.len() < N {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        if port < 55_000 {
            ports.push(port);
        }
        kept.push(listener);
    }
    ports.try_into().unwrap()
}

fn elsewhere(channel: &str, ts: &str) -> Job {
    let Job::Message(message) = message(ts, None) else { unreachable!() };
    let thread = ThreadKey { channel: ChannelId::new(channel), ..message.thread };
    Job::Message(MessageJob { thread, ..message })
}

/// Once all masters of a new cluster answer.
async fn opened(source: &Source) -> Work {
    let begun = std::time::Instant::now();
    loop {
        match Work::open(source).await {
            Ok(work) => return work,
            Err(error) => assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{error}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_cluster_conversations_are_spread_over_the_masters_and_each_job_runs_once() {
    let ports: [u16; 3] = ports();
    let mut servers = Servers::new();
    for port in ports {
        servers.start(port, &["--cluster-enabled", "yes", "--cluster-node-timeout", "15000"]).await;
    }
    let addresses = ports.map(|port| format!("127.0.0.1:{port}"));
    let mut create = vec!["--cluster", "create"];
    create.extend(addresses.iter().map(String::as_str));
    create.extend(["--cluster-replicas", "0", "--cluster-yes"]);
    let first = ports[0].to_string();
    assert!(cli(&first, &create).await.contains("All 16384 slots covered"), "no cluster was made");
    for port in ports.map(|port| port.to_string()) {
        within(|| async { cli(&port, &["cluster", "info"]).await.contains("cluster_state:ok") }).await;
    }
    let url = addresses.map(|address| format!("redis://{address}")).join(",");
    let settings = Settings { cluster: true, url: Secret::new(url), ..testing::settings("") };
    let source = Source::Redis(settings);
    let (one, two) = (opened(&source).await, opened(&source).await);
    // Both know by now who has which slots.
    for n in 0..40 {
        let job = elsewhere(&format!("C{n}"), "1.1");
        within(|| async { joined(&one, job.thread()).await.is_ok() && joined(&two, job.thread()).await.is_ok() }).await;
    }

    for n in 0..40 {
        let job = elsewhere(&format!("C{n}"), "1.1");
        assert_eq!(push(&one, &job, Some(&format!("Ev{n}"))).await.unwrap(), Pushed::New);
        assert_eq!(push(&two, &job, Some(&format!("Ev{n}"))).await.unwrap(), Pushed::Duplicate);
    }
    assert_eq!(depth(&two).await.unwrap(), 40);
    for port in ports {
        let keys: u32 = cli(&port.to_string(), &["dbsize"]).await.trim().parse().unwrap();
        assert!(keys > 10, "{keys} keys in one of three masters");
    }
    let mut ran = HashSet::new();
    loop {
        // The other process was told nothing of what came in: it looks everywhere.
        look_everywhere(&two);
        let Some(claimed) = claim(&two, LEASE).await.unwrap() else { break };
        assert!(ran.insert(claimed.lease.thread.clone()));
        assert!(renew(&two, &claimed.lease, LEASE).await.unwrap());
        finish(&two, &claimed).await.unwrap();
    }
    assert_eq!((ran.len(), depth(&one).await.unwrap()), (40, 0));
}

fn sentinel_file(dir: &Path, port: u16, master: u16) -> std::path::PathBuf {
    let file = dir.join("sentinel.conf");
    let text = format!(
        "port {port}\nbind 127.0.0.1\nsentinel monitor farm 127.0.0.1 {master} 1\n\
         sentinel down-after-milliseconds farm 500\nsentinel failover-timeout farm 2000\n"
    );
    std::fs::write(&file, text).unwrap();
    file
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_master_dies_the_one_that_the_sentinels_choose_is_used() {
    let [master, replica, sentinel]: [u16; 3] = ports();
    let mut servers = Servers::new();
    servers.start(master, &[]).await;
    servers.start(replica, &["--replicaof", "127.0.0.1", &master.to_string()]).await;
    let file = sentinel_file(servers.dir.path(), sentinel, master);
    servers.spawn(Command::new("redis-server").arg(file).arg("--sentinel"));
    let (sentinel, replica) = (sentinel.to_string(), replica.to_string());
    within(|| async { cli(&replica, &["info", "replication"]).await.contains("master_link_status:up") }).await;
    within(|| async { cli(&sentinel, &["sentinel", "replicas", "farm"]).await.contains(&replica) }).await;
    let settings = Settings {
        url: Secret::new(format!("redis://127.0.0.1:{sentinel}")),
        sentinel_master: Some("farm".into()),
        ..testing::settings("")
    };
    let work = Work::open(&Source::Redis(settings)).await.unwrap();
    push(&work, &message("1.1", None), None).await.unwrap();
    within(|| async { cli(&replica, &["dbsize"]).await.trim() != "0" }).await;
    servers.running[0].kill().await.unwrap();
    let begun = Instant::now();
    while push(&work, &message("2.1", None), None).await.is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "no other master is used");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(depth(&work).await.unwrap(), 2, "what came in before is there");
    assert_eq!(claim(&work, LEASE).await.unwrap().unwrap().job, message("1.1", None));
}
