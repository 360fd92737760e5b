//! The front door of the tests: a real bot process, a real sales server, a workspace that behaves as Slack does, and a
//! model that is scripted on the wire.
//!
//! Methods read like what a person does. A test waits for what a person would see, never for a length of time.

pub mod books;
#[cfg(feature = "failpoints")]
pub mod database;
pub mod desk;
#[cfg(feature = "failpoints")]
pub mod forger;
pub mod model;
pub mod raw;
pub mod scan;
#[cfg(feature = "failpoints")]
pub mod shop;
pub mod sockets;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Once;
use std::time::Duration;

use chrono::NaiveDate;
use sales_concierge::domain::Clock;
use sales_concierge::playground::sample;
use sales_concierge::playground::workspace::{Message, PressOutcome, Settings, Workspace};
use sales_concierge::records::{Records, SqliteRecords};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

pub use model::{Model, Say};

/// Longer than anything takes on a busy machine; a test that waits this long has failed.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// People of the sample farm.
pub const AOKI: &str = "U0AOKI";
/// Reads English, lives in London.
pub const EMMA: &str = "U0EMMA";

/// A bot with everything around it. Dropping it kills the processes and removes the folder.
pub struct Rig {
    pub dir: tempfile::TempDir,
    pub workspace: Workspace,
    pub model: Model,
    env: Vec<(String, String)>,
    bot: Option<Bot>,
}

/// The running process.
pub struct Bot {
    child: Child,
    pub address: String,
    /// Where `/metrics` is, when a test asked for it.
    pub metrics: Option<String>,
    log: tokio::task::JoinHandle<()>,
}

/// How a rig differs from the ordinary.
#[derive(Default)]
pub struct Options {
    pub env: Vec<(&'static str, String)>,
    /// Factor on Slack's schedule of retries; none: all retries within a second.
    pub retry_scale: Option<f64>,
    /// What else differs in the workspace.
    pub shape: Option<fn(&mut Settings)>,
}

/// What every HTTP client of this process needs.
pub fn crypto() {
    static CRYPTO: Once = Once::new();
    CRYPTO.call_once(|| {
        rustls::crypto::ring::default_provider().install_default().expect("the first provider");
    });
}

/// The records in a file.
pub async fn file(path: &Path) -> SqliteRecords {
    let Records::Sqlite(file) = Records::open_file(path).await.expect("records") else { unreachable!("a file") };
    file
}

impl Bot {
    /// Its process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// `kill -9` of it and of its sales server, and waits until both are gone.
    pub async fn kill(mut self) {
        let server = self.pid().map(children).unwrap_or_default();
        self.child.kill().await.expect("killed");
        for pid in server {
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).stderr(Stdio::null()).status().await;
        }
        self.log.await.expect("the log ends");
    }

    /// The process of its sales server.
    pub fn sales_server_pid(&self) -> Option<u32> {
        children(self.pid()?).first().copied()
    }
}

/// The child processes of a process.
pub fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    tasks
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok())
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>())
        .collect()
}

impl Rig {
    /// Everything started, sample data of today loaded.
    pub async fn start() -> Self {
        Self::with(Options::default()).await
    }

    pub async fn with(options: Options) -> Self {
        let mut rig = Self::prepare(options).await;
        rig.start_bot().await;
        rig
    }

    /// Everything but the bot.
    pub async fn prepare(options: Options) -> Self {
        crypto();
        let dir = tempfile::tempdir().expect("a folder");
        let records = file(&dir.path().join("records.sqlite")).await;
        sample::load(&records, today()).await.expect("sample data");
        records.close().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let mut settings = Settings {
            retry_scale: options.retry_scale.unwrap_or(0.002),
            limits: false,
            ..Settings::new(sample::seed(), Clock::system())
        };
        // The greeting comes when it comes: only tests about it ask to be told who opens a conversation.
        settings.events.retain(|event| event != "app_home_opened");
        if let Some(shape) = options.shape {
            shape(&mut settings);
        }
        let workspace = Workspace::start(listener, settings).await.expect("the workspace");
        let model = Model::start().await;
        let env = [
            ("SLACK_API_URL", workspace.api_url()),
            ("SLACK_BOT_TOKEN", workspace.bot_token().reveal().to_owned()),
            ("SLACK_SIGNING_SECRET", workspace.signing_secret().reveal().to_owned()),
            ("OPENAI_BASE_URL", model.base_url()),
            ("OPENAI_API_KEY", "sk-test".to_owned()),
            ("SALES_CONCIERGE__SERVER__LISTEN", "127.0.0.1:0".to_owned()),
            ("SALES_CONCIERGE__SERVER__METRICS_LISTEN", String::new()),
            ("SALES_CONCIERGE__LOG__JSON", "true".to_owned()),
            ("SALES_CONCIERGE__LIMITS__CALLS_PER_MINUTE", "1000".to_owned()),
            ("SALES_CONCIERGE__TURN__TURNS_PER_MINUTE", "1000".to_owned()),
            ("SALES_CONCIERGE__SLACK__POSTS_PER_MINUTE", "0".to_owned()),
            ("SALES_CONCIERGE__DUTIES__INTERVAL_MS", "100".to_owned()),
            // The farm's own channel is for all of its figures; tests of who reads along use others.
            ("SALES_CONCIERGE__AUDIENCE__CHANNELS__C0HANBAI", "直販,卸".to_owned()),
        ];
        let env = env.into_iter().chain(options.env).map(|(k, v)| (k.to_owned(), v)).collect();
        Self { dir, workspace, model, env, bot: None }
    }

    /// Starts the bot (again), with further variables of the environment.
    pub async fn start_bot_with(&mut self, env: &[(&str, &str)]) {
        assert!(self.bot.is_none(), "the bot is running");
        let bot = self.spawn(self.dir.path(), env).await;
        let address = &bot.address;
        self.workspace
            .set_bot_urls(&format!("http://{address}/slack/events"), &format!("http://{address}/slack/interactions"));
        self.bot = Some(bot);
    }

    /// One more bot of the same installation, with a data folder of its own. Slack does not know of it.
    pub async fn another(&self) -> (tempfile::TempDir, Bot) {
        let dir = tempfile::tempdir().expect("a folder");
        let bot = self.spawn(dir.path(), &[]).await;
        (dir, bot)
    }

    /// A bot with a data folder; Slack is not told of it.
    pub async fn spawn(&self, dir: &Path, env: &[(&str, &str)]) -> Bot {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sales-concierge"))
            .args(["serve", "--data-dir"])
            .arg(dir)
            .current_dir(dir)
            .env_clear()
            .envs(self.env.iter().map(|(k, v)| (k.as_str(), v.as_str())))
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the bot starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let mut said = Vec::new();
        let (address, metrics, said) = tokio::time::timeout(PATIENCE, async {
            while let Some(line) = lines.next_line().await.expect("readable") {
                let json: Value = serde_json::from_str(&line).unwrap_or_default();
                if json["fields"]["message"] == "ready" {
                    let address = json["fields"]["address"].as_str().expect("an address").to_owned();
                    return (address, json["fields"]["metrics"].as_str().map(str::to_owned), said);
                }
                said.push(line);
            }
            panic!("the bot ended before it was ready:\n{}", said.join("\n"));
        })
        .await
        .expect("ready in time");
        let path = dir.join("bot.log");
        // At once, so that a test can look at it.
        let early: String = said.iter().map(|line| format!("{line}\n")).collect();
        let open = || std::fs::OpenOptions::new().create(true).append(true).open(&path);
        std::io::Write::write_all(&mut open().expect("a log"), early.as_bytes()).expect("written");
        let log = tokio::spawn(async move {
            use tokio::io::AsyncWriteExt;
            let mut file = tokio::fs::OpenOptions::new().create(true).append(true).open(path).await.expect("a log");
            while let Ok(Some(line)) = lines.next_line().await {
                let _ = file.write_all(format!("{line}\n").as_bytes()).await;
                let _ = file.flush().await;
            }
        });
        Bot { child, address, metrics, log }
    }

    /// A bot that does not get as far as to be ready: its exit code and what it said.
    pub async fn ends(&self, env: &[(&str, &str)]) -> (i32, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_sales-concierge"))
            .args(["serve", "--data-dir"])
            .arg(self.dir.path())
            .env_clear()
            .envs(self.env.iter().map(|(k, v)| (k.as_str(), v.as_str())))
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(PATIENCE, output).await.expect("it ends").expect("it runs");
        (output.status.code().expect("a code"), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// What the bot is started with.
    pub fn variables(&self) -> &[(String, String)] {
        &self.env
    }

    /// Host and port of the bot.
    pub fn address(&self) -> String {
        self.bot.as_ref().expect("a running bot").address.clone()
    }

    pub async fn start_bot(&mut self) {
        self.start_bot_with(&[]).await;
    }

    /// `kill -9`, and waits until the process is gone. Its child ends by itself when its input closes.
    pub async fn kill_bot(&mut self) {
        let mut bot = self.bot.take().expect("a running bot");
        bot.child.kill().await.expect("killed");
        bot.log.await.expect("the log ends");
    }

    /// SIGTERM, and waits for the end.
    pub async fn stop_bot(&mut self) -> std::process::ExitStatus {
        let mut bot = self.bot.take().expect("a running bot");
        let pid = bot.child.id().expect("running").to_string();
        Command::new("kill").args(["-TERM", &pid]).status().await.expect("kill");
        let status = tokio::time::timeout(PATIENCE, bot.child.wait()).await.expect("it stops").expect("a status");
        bot.log.await.expect("the log ends");
        status
    }

    pub fn bot_url(&self, path: &str) -> String {
        format!("http://{}{path}", self.bot.as_ref().expect("a running bot").address)
    }

    pub fn bot_pid(&self) -> u32 {
        self.bot.as_ref().and_then(|b| b.child.id()).expect("a running bot")
    }

    pub fn log_path(&self) -> PathBuf {
        self.dir.path().join("bot.log")
    }

    /// Everything the bot logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    pub fn data_dir(&self) -> &Path {
        self.dir.path()
    }

    /// A connection of the test's own to the records, to look at what was written.
    pub async fn records(&self) -> SqliteRecords {
        file(&self.dir.path().join("records.sqlite")).await
    }

    /// One number from the records.
    pub async fn count(&self, sql: &'static str) -> i64 {
        let records = self.records().await;
        let n = sqlx::query_scalar(sql).fetch_one(records.read()).await.expect(sql);
        records.close().await;
        n
    }

    /// Sales that came from a card.
    pub async fn approved_sales(&self) -> i64 {
        self.count("SELECT count(*) FROM sales WHERE origin = 'approval'").await
    }

    /// A person writes in their DM with the bot; returns the message's place.
    pub async fn dm(&self, user: &str, text: &str) -> Place {
        let channel = self.workspace.open_dm(user).await.expect("a DM");
        let ts = self.workspace.say(user, channel.as_str(), None, text).await.expect("said");
        Place { channel: channel.as_str().to_owned(), root: ts.as_str().to_owned() }
    }

    /// A person mentions the bot in a channel.
    pub async fn mention(&self, user: &str, channel: &str, text: &str) -> Place {
        let bot = sample::seed().bot.user;
        let text = format!("<@{bot}> {text}");
        let ts = self.workspace.say(user, channel, None, &text).await.expect("said");
        Place { channel: channel.to_owned(), root: ts.as_str().to_owned() }
    }

    /// A person writes in a thread.
    pub async fn reply(&self, user: &str, place: &Place, text: &str) -> String {
        let ts = self.workspace.say(user, &place.channel, Some(&place.root), text).await.expect("said");
        ts.as_str().to_owned()
    }

    /// What the bot has posted in a thread, in order.
    pub fn bot_messages(&self, place: &Place) -> Vec<Message> {
        let thread = self.workspace.thread(&place.channel, &place.root);
        thread.into_iter().filter(|m| m.bot_id.is_some()).collect()
    }

    /// Waits for the `n`th message of the bot in a thread (the first is 1).
    pub async fn answer(&self, place: &Place, n: usize) -> Message {
        self.find(place, |messages| messages.get(n - 1).cloned()).await.unwrap_or_else(|| {
            panic!("no answer {n} in the thread; it has {:#?}\nlog:\n{}", texts(&self.bot_messages(place)), self.log())
        })
    }

    /// Waits for a message of the bot in a thread that contains some words.
    pub async fn says(&self, place: &Place, words: &str) -> Message {
        let found = self.find(place, |messages| messages.iter().find(|m| shown(m).contains(words)).cloned()).await;
        found.unwrap_or_else(|| {
            panic!(
                "nothing says {words:?}; the thread has {:#?}\nlog:\n{}",
                texts(&self.bot_messages(place)),
                self.log()
            )
        })
    }

    /// Waits for a card with buttons.
    pub async fn card(&self, place: &Place) -> Message {
        self.cards(place, 1).await.remove(0)
    }

    /// Waits for `n` cards with buttons.
    pub async fn cards(&self, place: &Place, n: usize) -> Vec<Message> {
        let found = self
            .find(place, |messages| {
                let cards: Vec<Message> = messages.iter().filter(|m| has_buttons(m)).cloned().collect();
                (cards.len() >= n).then_some(cards)
            })
            .await;
        found.unwrap_or_else(|| {
            panic!("no {n} cards; the thread has {:#?}\nlog:\n{}", texts(&self.bot_messages(place)), self.log())
        })
    }

    /// Waits until a message shows some words (a card that changes its face).
    pub async fn becomes(&self, message: &Message, words: &str) -> Message {
        let (channel, ts) = (message.channel.clone(), message.ts.clone());
        let look = |w: &sales_concierge::playground::workspace::World| {
            w.messages(channel.as_str()).into_iter().find(|m| m.ts == ts && shown(m).contains(words)).cloned()
        };
        self.workspace.wait_for(look, PATIENCE).await.unwrap_or_else(|| {
            let now = self.workspace.messages(channel.as_str()).into_iter().find(|m| m.ts == ts);
            panic!("the message never says {words:?}; it is {:#?}\nlog:\n{}", now.map(|m| shown(&m)), self.log())
        })
    }

    /// Waits for an ephemeral message to somebody that contains some words.
    pub async fn whispers(&self, user: &str, words: &str) -> Message {
        let look = |w: &sales_concierge::playground::workspace::World| {
            w.ephemerals(user).iter().find(|m| shown(m).contains(words)).cloned()
        };
        self.workspace.wait_for(look, PATIENCE).await.unwrap_or_else(|| {
            panic!(
                "{user} is never told {words:?}; told {:#?}\nlog:\n{}",
                texts(&self.workspace.ephemerals(user)),
                self.log()
            )
        })
    }

    pub async fn confirm(&self, user: &str, card: &Message) -> PressOutcome {
        self.press(user, card, "proposal_confirm").await
    }

    pub async fn cancel(&self, user: &str, card: &Message) -> PressOutcome {
        self.press(user, card, "proposal_cancel").await
    }

    async fn press(&self, user: &str, card: &Message, action: &str) -> PressOutcome {
        self.workspace.press(user, card.channel.as_str(), card.ts.as_str(), action).await.expect("a button")
    }

    async fn find<T>(&self, place: &Place, mut look: impl FnMut(&[Message]) -> Option<T>) -> Option<T> {
        let search = |w: &sales_concierge::playground::workspace::World| {
            let thread: Vec<Message> =
                w.thread(&place.channel, &place.root).into_iter().filter(|m| m.bot_id.is_some()).cloned().collect();
            look(&thread)
        };
        self.workspace.wait_for(search, PATIENCE).await
    }

    /// Waits until something holds in the records.
    pub async fn until(&self, what: &str, sql: &'static str, expected: i64) {
        let begun = tokio::time::Instant::now();
        let records = self.records().await;
        let mut seen = -1;
        while begun.elapsed() < PATIENCE {
            seen = sqlx::query_scalar(sql).fetch_one(records.read()).await.expect(sql);
            if seen == expected {
                records.close().await;
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{what}: {sql} gives {seen}, not {expected}\nlog:\n{}", self.log());
    }

    /// Waits until no job waits or runs and no message is unsent.
    pub async fn settles(&self) {
        let begun = tokio::time::Instant::now();
        let work = sales_concierge::work::Work::open_file(&self.dir.path().join("work.sqlite")).await.expect("work");
        let records = self.records().await;
        let unsent = "SELECT (SELECT count(*) FROM outbox WHERE sent_version < version AND given_up IS NULL)
                + (SELECT count(*) FROM clicks WHERE handled_at IS NULL)
                + (SELECT count(*) FROM continuations WHERE ended_at IS NULL)";
        loop {
            let jobs = sales_concierge::thread::queue::depth(&work).await.expect("depth");
            let unsent: i64 = sqlx::query_scalar(unsent).fetch_one(records.read()).await.expect("unsent");
            if jobs + unsent == 0 {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "{jobs} jobs, {unsent} unsent\nlog:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        work.close().await;
        records.close().await;
    }
}

/// A conversation in the workspace.
#[derive(Clone, Debug)]
pub struct Place {
    pub channel: String,
    pub root: String,
}

/// The day at the farm.
pub fn today() -> NaiveDate {
    Clock::system().today(chrono_tz::Asia::Tokyo)
}

/// Everything a person reads in a message: the texts of its blocks, else its text.
pub fn shown(message: &Message) -> String {
    fn collect(value: &Value, out: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(text)) = map.get("text") {
                    out.push(text.clone());
                }
                map.iter().filter(|(_, v)| !v.is_string()).for_each(|(_, v)| collect(v, out));
            }
            Value::Array(list) => list.iter().for_each(|v| collect(v, out)),
            _ => {}
        }
    }
    let mut out = Vec::new();
    collect(message.blocks.as_ref().unwrap_or(&Value::Null), &mut out);
    if out.is_empty() { message.text.clone() } else { out.join("\n") }
}

pub fn texts(messages: &[Message]) -> Vec<String> {
    messages.iter().map(shown).collect()
}

/// Whether a person could press something.
pub fn has_buttons(message: &Message) -> bool {
    message.blocks.as_ref().is_some_and(|b| b.to_string().contains("\"proposal_confirm\""))
}

/// The ids on a card's buttons.
pub fn button_values(message: &Message) -> Vec<String> {
    let blocks = message.blocks.clone().unwrap_or_default();
    let actions = blocks.as_array().into_iter().flatten().filter(|b| b["type"] == "actions");
    actions
        .flat_map(|b| b["elements"].as_array().cloned().unwrap_or_default())
        .filter_map(|e| e["value"].as_str().map(str::to_owned))
        .collect()
}
