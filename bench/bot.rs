//! The program under measurement, and requests as Slack signs them.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use hmac::{Hmac, Mac};
use sales_concierge::domain::Clock;
use sales_concierge::playground::sample;
use sales_concierge::records::Records;
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::wire::Wire;

/// A person of the sample farm who may register sales.
pub const PERSON: &str = "U0AOKI";

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_sales-concierge");

const SECRET: &str = "bench-signing-secret";

/// Longer than anything here takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(30);

/// A folder with the sample data.
pub async fn folder() -> anyhow::Result<tempfile::TempDir> {
    let dir = tempfile::tempdir()?;
    let records = Records::open_file(&records_path(dir.path())).await?;
    let file = records.sqlite().context("the records are a file")?;
    sample::load(file, Clock::system().today(chrono_tz::Asia::Tokyo)).await?;
    records.close().await;
    Ok(dir)
}

/// The records in a folder.
pub fn records_path(dir: &Path) -> PathBuf {
    dir.join("records.sqlite")
}

/// A running program.
pub struct Bot {
    child: Child,
    pub address: String,
    /// From the start of the process to its `ready`.
    pub ready_after: Duration,
    complaints: Arc<AtomicU64>,
}

impl Bot {
    /// `serve` against the stand-ins.
    pub async fn serve(dir: &Path, wire: &Wire) -> anyhow::Result<Self> {
        Self::serve_with(dir, wire, &[]).await
    }

    /// The same with further variables of the environment.
    pub async fn serve_with(dir: &Path, wire: &Wire, env: &[(&str, &str)]) -> anyhow::Result<Self> {
        let mut command = Command::new(PROGRAM);
        command.args(["serve", "--data-dir"]).arg(dir).current_dir(dir).env_clear().envs([
            ("SLACK_API_URL", wire.slack_url.as_str()),
            // The measured Slack takes any number; the real one's pace would be all that is measured.
            ("SALES_CONCIERGE__SLACK__POSTS_PER_MINUTE", "0"),
            ("SLACK_BOT_TOKEN", "xoxb-bench"),
            ("SLACK_SIGNING_SECRET", SECRET),
            ("OPENAI_BASE_URL", &wire.model_url),
            ("OPENAI_API_KEY", "sk-bench"),
            ("SALES_CONCIERGE__SERVER__LISTEN", "127.0.0.1:0"),
            ("SALES_CONCIERGE__SERVER__METRICS_LISTEN", ""),
            ("SALES_CONCIERGE__LOG__JSON", "true"),
            // One person stands for many.
            ("SALES_CONCIERGE__LIMITS__CALLS_PER_MINUTE", "1000000"),
            ("SALES_CONCIERGE__TURN__TURNS_PER_MINUTE", "1000000"),
        ]);
        command.envs(env.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let begun = Instant::now();
        let mut child = command.spawn().context("the program does not start")?;
        let mut lines = BufReader::new(child.stderr.take().context("no standard error")?).lines();
        let complaints = Arc::new(AtomicU64::new(0));
        let (address, ready_after) = tokio::time::timeout(PATIENCE, async {
            while let Some(line) = lines.next_line().await? {
                let entry: Value = serde_json::from_str(&line).unwrap_or_default();
                if entry["fields"]["message"] == "ready" {
                    let address = entry["fields"]["address"].as_str().context("no address")?;
                    return Ok((address.to_owned(), begun.elapsed()));
                }
                eprintln!("{line}");
            }
            bail!("the program ended before it was ready");
        })
        .await??;
        let count = Arc::clone(&complaints);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                if line.contains("\"WARN\"") || line.contains("\"ERROR\"") {
                    // The first few are enough to know what is wrong.
                    if count.fetch_add(1, Ordering::Relaxed) < 5 {
                        eprintln!("{line}");
                    }
                }
            }
        });
        Ok(Self { child, address, ready_after, complaints })
    }

    /// `playground`; nothing is asked of it.
    pub async fn playground(dir: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(PROGRAM);
        command.args(["playground", "--port", "0", "--data-dir"]).arg(dir).current_dir(dir).env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let begun = Instant::now();
        let mut child = command.spawn().context("the program does not start")?;
        let mut lines = BufReader::new(child.stdout.take().context("no standard output")?).lines();
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await??.unwrap_or_default();
        let ready_after = begun.elapsed();
        let address = line.strip_prefix("ready ").with_context(|| format!("not ready: {line}"))?.to_owned();
        Ok(Self { child, address, ready_after, complaints: Arc::default() })
    }

    /// The process and the sales server.
    pub fn pids(&self) -> Vec<u32> {
        self.child.id().map(crate::machine::family).unwrap_or_default()
    }

    /// Warnings and errors in its log so far.
    pub fn complaints(&self) -> u64 {
        self.complaints.load(Ordering::Relaxed)
    }

    /// As a service manager does it.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        let pid = self.child.id().context("it has ended by itself")?.to_string();
        Command::new("kill").args(["-TERM", &pid]).status().await?;
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await??;
        ensure!(status.success(), "it ended with {status}");
        Ok(())
    }
}

/// Sends as Slack sends.
#[derive(Clone)]
pub struct Sender {
    http: reqwest::Client,
    clock: Clock,
    base: String,
}

impl Sender {
    /// `address` is host and port.
    pub fn new(address: &str) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder().no_proxy().tcp_nodelay(true).http1_only().build()?;
        Ok(Self { http, clock: Clock::system(), base: format!("http://{address}") })
    }

    /// A direct message of [`PERSON`]. `ts` is the message's own.
    pub async fn say(&self, ts: &str, text: &str) -> anyhow::Result<()> {
        let team = sample::TEAM;
        let event = json!({
            "token": "bench", "team_id": team, "api_app_id": "A0BENCH", "type": "event_callback",
            "event_id": format!("Ev{ts}"), "event_time": 1_900_000_000,
            "authorizations": [{"team_id": team, "user_id": "U0BENCHBOT", "is_bot": true}],
            "is_ext_shared_channel": false,
            "event": {"type": "message", "channel_type": "im", "channel": "D0BENCH", "user": PERSON, "team": team,
                "text": text, "ts": ts, "event_ts": ts},
        });
        self.send("/slack/events", "application/json", event.to_string()).await
    }

    /// [`PERSON`] presses "confirm" on a card for the `n`th time.
    pub async fn press(&self, card: &Card, n: usize) -> anyhow::Result<()> {
        let team = sample::TEAM;
        let payload = json!({
            "type": "block_actions", "team": {"id": team}, "user": {"id": PERSON, "team_id": team}, "api_app_id": "A0BENCH",
            "container": {"type": "message", "message_ts": card.ts, "channel_id": "D0BENCH", "thread_ts": card.thread},
            "channel": {"id": "D0BENCH", "name": "directmessage"}, "trigger_id": "1.2.3", "response_url": "",
            "actions": [{"type": "button", "action_id": "proposal_confirm", "block_id": "bench", "value": card.value,
                "action_ts": format!("{}.{n:06}", 1_900_000_000)}],
        });
        let form =
            url::form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish();
        self.send("/slack/interactions", "application/x-www-form-urlencoded", form).await
    }

    /// One signed request; anything but 200 is an error.
    pub async fn send(&self, path: &str, content_type: &str, body: String) -> anyhow::Result<()> {
        let stamp = self.clock.now().timestamp().to_string();
        let signature = sign(&stamp, body.as_bytes())?;
        let request = self.http.post(format!("{}{path}", self.base)).header("content-type", content_type);
        let request = request.header("x-slack-request-timestamp", stamp).header("x-slack-signature", signature);
        let answer = request.body(body).send().await?;
        ensure!(answer.status().is_success(), "{path} answered {}", answer.status());
        answer.bytes().await?;
        Ok(())
    }
}

/// Slack's signature over a body.
pub fn sign(stamp: &str, body: &[u8]) -> anyhow::Result<String> {
    let mac =
        Hmac::<Sha256>::new_from_slice(SECRET.as_bytes())?.chain_update(format!("v0:{stamp}:")).chain_update(body);
    Ok(format!("v0={}", hex::encode(mac.finalize().into_bytes())))
}

/// A card with buttons.
#[derive(Clone, Debug)]
pub struct Card {
    pub ts: String,
    pub thread: String,
    pub value: String,
}

impl Card {
    /// The card in a posted message, if it is one.
    pub fn of(posted: &crate::wire::Posted) -> Option<Self> {
        let blocks = posted.blocks.as_array()?;
        let elements =
            blocks.iter().filter(|b| b["type"] == "actions").filter_map(|b| b["elements"].as_array()).flatten();
        let mut buttons = elements.filter(|e| e["action_id"] == "proposal_confirm");
        let value = buttons.next()?["value"].as_str()?.to_owned();
        Some(Self { ts: posted.ts.clone(), thread: posted.thread.clone(), value })
    }
}
