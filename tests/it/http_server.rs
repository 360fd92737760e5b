//! The sales server as a process of its own, over HTTP: the bot goes on when it dies and comes back.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::harness::desk::clerk;
use crate::harness::{AOKI, Options, PATIENCE, Rig};

const CLAIMED: &str = "SELECT count(*) FROM proposals WHERE state = 'claimed'";
const SALES: &str = "SELECT count(*) FROM sales WHERE origin = 'approval'";
const PROGRAM: &str = env!("CARGO_BIN_EXE_sales-concierge");

/// The running server.
struct Server {
    child: Child,
}

impl Server {
    /// Started, and answering.
    async fn start(keys: &[(String, String)], dir: &std::path::Path, port: u16, env: &[(&str, &str)]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["sales-server", "--transport", "http", "--listen", &format!("127.0.0.1:{port}"), "--data-dir"])
            .arg(dir)
            .env_clear()
            .envs(keys.iter().map(|(k, v)| (k.as_str(), v.as_str())))
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the server starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let line = lines.next_line().await.expect("its output").expect("a line");
        assert_eq!(line, format!("ready http://127.0.0.1:{port}/mcp"));
        Self { child }
    }

    /// Without a chance to say goodbye.
    async fn kill(mut self) {
        self.child.kill().await.expect("killed");
    }
}

/// A port that was free just now.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port()
}

/// The bot's keys, as its own command prints them for the server.
async fn keys(dir: &std::path::Path) -> Vec<(String, String)> {
    let shown = Command::new(PROGRAM).args(["keys", "show", "--data-dir"]).arg(dir).env_clear().output().await;
    let shown = shown.expect("the program runs");
    assert!(shown.status.success());
    let text = String::from_utf8(shown.stdout).expect("text");
    text.lines().filter_map(|line| line.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
}

struct Farm {
    rig: Rig,
    keys: Vec<(String, String)>,
    port: u16,
}

impl Farm {
    /// A bot whose sales server is another process, and that server.
    async fn start(env: &[(&str, &str)]) -> (Self, Server) {
        let port = free_port();
        let url = format!("http://127.0.0.1:{port}/mcp");
        let options = Options {
            env: vec![
                ("SALES_CONCIERGE__SALES_SERVER__URL", url),
                ("SALES_CONCIERGE__PROPOSALS__RETRY_PAUSE_MS", "200".to_owned()),
                ("SALES_CONCIERGE__PROPOSALS__CLAIM_LEASE_MS", "2000".to_owned()),
            ],
            ..Options::default()
        };
        let rig = Rig::prepare(options).await;
        let keys = keys(rig.dir.path()).await;
        let server = Server::start(&keys, rig.dir.path(), port, env).await;
        let mut farm = Self { rig, keys, port };
        farm.rig.start_bot().await;
        farm.rig.model.rule(clerk);
        (farm, server)
    }

    /// Waits until somebody holds the file's write lock for longer than anything takes that is not held up.
    async fn write_is_open(&self) {
        let path = self.rig.data_dir().join("records.sqlite");
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).busy_timeout(Duration::ZERO);
        let mut db = sqlx::ConnectOptions::connect(&options).await.expect("the file");
        let (begun, mut busy) = (std::time::Instant::now(), 0);
        while busy < 30 {
            assert!(begun.elapsed() < PATIENCE, "the write never got as far as the point");
            busy = match sqlx::raw_sql("BEGIN IMMEDIATE; ROLLBACK").execute(&mut db).await {
                Ok(_) => 0,
                Err(_) => busy + 1,
            };
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn restart(&self) -> Server {
        Server::start(&self.keys, self.rig.dir.path(), self.port, &[]).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_finds_the_server_that_was_killed_and_started_again() {
    let (farm, server) = Farm::start(&[]).await;
    let place = farm.rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await;
    farm.rig.card(&place).await;
    server.kill().await;
    // The resolving of the next card begins while nobody listens.
    let place = farm.rig.dm(AOKI, "登録 0002 人参 700").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let _server = farm.restart().await;
    farm.rig.card(&place).await;
}

/// Where the server is held when it is killed, and how many sales are written by then.
async fn killed_at(point: &str, written: i64) {
    let points = format!("{point}=pause");
    let (farm, server) = Farm::start(&[("FAILPOINTS", &points)]).await;
    let place = farm.rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await;
    let card = farm.rig.card(&place).await;
    farm.rig.confirm(AOKI, &card).await;
    farm.rig.until("the press is claimed", CLAIMED, 1).await;
    farm.rig.until("the write got as far as the point", SALES, written).await;
    if written == 0 {
        farm.write_is_open().await;
    }
    server.kill().await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(farm.rig.approved_sales().await, written);
    let _server = farm.restart().await;
    farm.rig.becomes(&card, "登録しました").await;
    farm.rig.settles().await;
    assert_eq!(farm.rig.approved_sales().await, 1);
    assert_eq!(farm.rig.count("SELECT count(*) FROM audit WHERE event = 'sale_registered'").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn k09_a_server_that_is_killed_inside_the_transaction_writes_one_sale_in_the_end() {
    killed_at("sales::committing", 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k10_a_server_that_is_killed_before_it_answers_has_written_one_sale() {
    killed_at("sales::committed", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_while_the_server_is_gone_is_carried_out_when_it_is_back() {
    let (farm, server) = Farm::start(&[]).await;
    let place = farm.rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await;
    let card = farm.rig.card(&place).await;
    server.kill().await;
    farm.rig.confirm(AOKI, &card).await;
    farm.rig.until("the press is claimed", CLAIMED, 1).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(farm.rig.approved_sales().await, 0);
    let _server = farm.restart().await;
    farm.rig.becomes(&card, "登録しました").await;
    farm.rig.settles().await;
    assert_eq!(farm.rig.approved_sales().await, 1);
}

/// What a command of `keys` prints for the server.
async fn rotate(dir: &std::path::Path, more: &[&str]) -> Option<String> {
    let args = ["keys", "rotate", "--data-dir"];
    let output = Command::new(PROGRAM).args(args).arg(dir).args(more).env_clear().output().await;
    let output = output.expect("the program runs");
    output.status.success().then(|| String::from_utf8(output.stdout).expect("text"))
}

#[tokio::test]
async fn keys_are_exchanged_in_two_steps_and_the_file_stays_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().expect("a folder");
    let old = keys(dir.path()).await;
    assert_eq!(rotate(dir.path(), &["--finish"]).await, None, "there is nothing to finish");
    let both = rotate(dir.path(), &[]).await.expect("new keys");
    assert_eq!(rotate(dir.path(), &[]).await.as_ref(), Some(&both), "asked again, the same ones");
    assert_eq!(keys(dir.path()).await, old, "the old ones are still in use");
    for ((name, value), line) in old.iter().zip(both.lines()) {
        assert!(line.starts_with(&format!("{name}={value},")), "{line}");
    }
    let new = rotate(dir.path(), &["--finish"]).await.expect("finished");
    for ((_, value), (new, both)) in old.iter().zip(new.lines().zip(both.lines())) {
        let (_, key) = new.split_once('=').expect("a variable");
        assert!(key != value && both.ends_with(&format!(",{key}")), "{new}");
    }
    let mode = std::fs::metadata(dir.path().join("keys.json")).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn i10_a_server_with_other_keys_is_not_used_and_the_bot_says_why() {
    let port = free_port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let dir = tempfile::tempdir().expect("a folder");
    let strange = keys(dir.path()).await;
    let _server = Server::start(&strange, dir.path(), port, &[]).await;
    let rig = Rig::prepare(Options::default()).await;
    let bot = Command::new(PROGRAM)
        .args(["serve", "--data-dir"])
        .arg(rig.dir.path())
        .env_clear()
        .envs(rig.variables().iter().map(|(k, v)| (k.as_str(), v.as_str())))
        .env("SALES_CONCIERGE__SALES_SERVER__URL", &url)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let ended = tokio::time::timeout(PATIENCE, bot).await.expect("it ends").expect("it runs");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success());
    assert!(said.contains("it refuses this bot's tokens"), "{said}");
}
