//! PostgreSQL that a test may stop, and a cable to one that a test may cut.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::str::FromStr as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/postgres");

/// A cluster of the test's own. Dropping it ends and removes it.
pub struct Cluster {
    dir: tempfile::TempDir,
    pub url: String,
}

impl Cluster {
    pub async fn start() -> Self {
        // PostgreSQL may run as another user, who has to get there.
        let open = std::fs::Permissions::from_mode(0o755);
        let dir = tempfile::Builder::new().permissions(open).tempdir().expect("a folder");
        let mut cluster = Self { dir, url: String::new() };
        cluster.url = cluster.run("start").await;
        cluster
    }

    async fn run(&self, command: &str) -> String {
        let output = tokio::process::Command::new(SCRIPT).arg(command).arg(self.path()).output();
        let output = output.await.expect("scripts/postgres runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("an address").trim().to_owned()
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("cluster")
    }

    /// As a crash would: everybody's connections are dead, and nobody is told.
    pub async fn kill(&self) {
        self.run("kill").await;
    }

    /// All connections end, and new ones are soon taken again; nothing is lost.
    pub async fn restart(&self) {
        self.run("restart").await;
    }

    /// After [`Self::kill`].
    pub async fn revive(&self) {
        self.run("start").await;
    }

    /// Nothing of it runs any more, though it is there.
    pub async fn freeze(&self) {
        self.signal("-STOP").await;
    }

    pub async fn thaw(&self) {
        self.signal("-CONT").await;
    }

    async fn signal(&self, signal: &str) {
        let sent = tokio::process::Command::new("kill").arg(signal).args(self.processes()).status().await;
        assert!(sent.expect("kill").success());
    }

    fn processes(&self) -> Vec<String> {
        let file = std::fs::read_to_string(self.path().join("data/postmaster.pid")).unwrap_or_default();
        let Some(main) = file.lines().next() else { return Vec::new() };
        let children = std::fs::read_to_string(format!("/proc/{main}/task/{main}/children")).unwrap_or_default();
        std::iter::once(main).chain(children.split_whitespace()).map(str::to_owned).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // What is frozen does not hear that it should stop.
        drop(std::process::Command::new("kill").arg("-CONT").args(self.processes()).stderr(Stdio::null()).status());
        drop(std::process::Command::new(SCRIPT).arg("stop").arg(self.path()).status());
    }
}

/// What happens on the cable.
#[derive(Clone, Debug)]
enum Mode {
    Through,
    /// The message with these bytes gets lost, and the connection with it.
    LoseRequest(Vec<u8>),
    /// It arrives, and nothing comes back on its connection, which stays as it is.
    LoseAnswer(Vec<u8>),
    /// Nothing that is sent arrives, on any connection that is there now.
    Dead,
}

/// A TCP connection to a PostgreSQL that listens on a socket in a folder.
pub struct Cable {
    /// The address of the database at this end.
    pub url: String,
    mode: Arc<Mutex<Mode>>,
    cut: watch::Sender<u64>,
    task: tokio::task::JoinHandle<()>,
}

impl Cable {
    /// To the database that this address names.
    pub async fn to(url: &str) -> Self {
        let there = PgConnectOptions::from_str(url).expect("an address");
        let (database, user) = (there.get_database().expect("a database").to_owned(), there.get_username().to_owned());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (mode, cut) = (Arc::new(Mutex::new(Mode::Through)), watch::Sender::new(0));
        let task = tokio::spawn({
            let (mode, cut) = (Arc::clone(&mode), cut.clone());
            async move {
                while let Ok((near, _)) = listener.accept().await {
                    let (there, mode, mut cut) = (there.clone(), Arc::clone(&mode), cut.subscribe());
                    tokio::spawn(async move {
                        tokio::select! {
                            () = connect(near, &there, &mode) => {}
                            _ = cut.changed() => {}
                        }
                    });
                }
            }
        });
        let url = format!("postgres://{user}@127.0.0.1:{port}/{database}");
        Self { url, mode, cut, task }
    }

    fn set(&self, mode: Mode) {
        *self.mode.lock().expect("not poisoned") = mode;
    }

    /// The next message with these bytes gets lost, and its connection breaks.
    pub fn lose_request(&self, with: &str) {
        self.set(Mode::LoseRequest(with.as_bytes().to_vec()));
    }

    /// The next message with these bytes arrives, and its answer does not.
    pub fn lose_answer(&self, with: &str) {
        self.set(Mode::LoseAnswer(with.as_bytes().to_vec()));
    }

    /// Nothing arrives any more on the connections that are there, and nobody is told.
    pub fn deaden(&self) {
        self.set(Mode::Dead);
    }

    /// New connections are good ones.
    pub fn mend(&self) {
        self.set(Mode::Through);
    }

    /// All connections break.
    pub fn cut(&self) {
        self.cut.send_modify(|n| *n += 1);
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.task.abort();
        self.cut();
    }
}

fn has(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

async fn connect(near: TcpStream, there: &PgConnectOptions, mode: &Mutex<Mode>) {
    if let Some(folder) = there.get_socket() {
        let socket = folder.join(format!(".s.PGSQL.{}", there.get_port()));
        if let Ok(far) = UnixStream::connect(socket).await {
            carry(near, far, mode).await;
        }
    } else if let Ok(far) = TcpStream::connect((there.get_host(), there.get_port())).await {
        carry(near, far, mode).await;
    }
}

/// Until one end closes. A connection that was deadened stays so.
async fn carry(near: TcpStream, far: impl AsyncRead + AsyncWrite, mode: &Mutex<Mode>) {
    let (mut from_near, mut to_near) = tokio::io::split(near);
    let (mut from_far, mut to_far) = tokio::io::split(far);
    let (dead, mute) = (AtomicBool::new(false), AtomicBool::new(false));
    let there = async {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(read @ 1..) = from_near.read(&mut buffer).await {
            let bytes = &buffer[..read];
            {
                let mut mode = mode.lock().expect("not poisoned");
                match &*mode {
                    Mode::LoseRequest(needle) if has(bytes, needle) => {
                        *mode = Mode::Through;
                        return;
                    }
                    Mode::LoseAnswer(needle) if has(bytes, needle) => {
                        *mode = Mode::Through;
                        mute.store(true, Ordering::SeqCst);
                    }
                    Mode::Dead => dead.store(true, Ordering::SeqCst),
                    _ => {}
                }
            }
            if !dead.load(Ordering::SeqCst) && to_far.write_all(bytes).await.is_err() {
                return;
            }
        }
    };
    let back = async {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(read @ 1..) = from_far.read(&mut buffer).await {
            let silent = dead.load(Ordering::SeqCst) || mute.load(Ordering::SeqCst);
            if !silent && to_near.write_all(&buffer[..read]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! { () = there => {} () = back => {} }
}
