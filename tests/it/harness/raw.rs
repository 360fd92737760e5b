//! Requests as an attacker, a broken proxy or Slack itself may send them: built by hand, signed or mis-signed.

use hmac::{Hmac, Mac};
use sales_concierge::playground::sample;
use sales_concierge::playground::workspace::SignedRequest;
use serde_json::{Value, json};
use sha2::Sha256;

use super::Rig;

pub const JSON: &str = "application/json";
pub const FORM: &str = "application/x-www-form-urlencoded";

/// Everything the bot keeps, as counts: two equal ones mean that nothing was stored in between.
#[derive(Debug, PartialEq, Eq)]
pub struct Stored(Vec<(&'static str, i64)>);

/// An HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub body: String,
}

pub const EVENTS: &str = "/slack/events";
pub const INTERACTIONS: &str = "/slack/interactions";

impl Rig {
    /// `POST` with a signature that is right at the present time.
    pub async fn send(&self, path: &str, body: &[u8], content_type: &str) -> Answer {
        self.send_signed(path, self.signed(body, content_type, 0), &[]).await
    }

    /// `POST` of a request that may have been spoilt, with further headers.
    pub async fn send_signed(&self, path: &str, request: SignedRequest, more: &[(&str, &str)]) -> Answer {
        let mut headers = vec![
            ("Content-Type", request.content_type.as_str()),
            ("X-Slack-Request-Timestamp", request.timestamp.as_str()),
            ("X-Slack-Signature", request.signature.as_str()),
        ];
        headers.extend(more);
        self.send_raw(path, &headers, &request.body).await
    }

    /// A signed `POST` to another bot of the same installation.
    pub async fn send_to(&self, address: &str, path: &str, body: Vec<u8>, content_type: &str) -> Answer {
        let request = self.signed(&body, content_type, 0);
        let headers = [
            ("Content-Type", request.content_type.as_str()),
            ("X-Slack-Request-Timestamp", request.timestamp.as_str()),
            ("X-Slack-Signature", request.signature.as_str()),
        ];
        post(address, path, &headers, &request.body).await
    }

    /// `POST` with exactly these headers.
    pub async fn send_raw(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let address = self.bot.as_ref().expect("a running bot").address.clone();
        post(&address, path, headers, body).await
    }

    /// A signed event, once.
    pub async fn event(&self, envelope: &Value) -> Answer {
        self.send(EVENTS, envelope.to_string().as_bytes(), JSON).await
    }

    /// A signed interaction, once.
    pub async fn interaction(&self, payload: &Value) -> Answer {
        self.send(INTERACTIONS, &form(payload), FORM).await
    }

    /// A person writes, and the bot is not told: the test tells it in its own way.
    pub async fn unheard(&self, user: &str, channel: &str, thread: Option<&str>, text: &str) -> String {
        self.workspace.set_bot_urls("", "");
        let ts = self.workspace.say(user, channel, thread, text).await.expect("said");
        self.workspace.set_bot_urls(&self.bot_url(EVENTS), &self.bot_url(INTERACTIONS));
        ts.as_str().to_owned()
    }

    /// A request with a signature that is right at a time so many seconds from now.
    pub fn signed(&self, body: &[u8], content_type: &str, seconds: i64) -> SignedRequest {
        let now = sales_concierge::domain::Clock::system().now().timestamp();
        let timestamp = (now + seconds).to_string();
        let secret = self.workspace.signing_secret();
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.reveal().as_bytes()).expect("any length");
        mac.update(format!("v0:{timestamp}:").as_bytes());
        mac.update(body);
        let signature = format!("v0={}", hex::encode(mac.finalize().into_bytes()));
        SignedRequest { timestamp, signature, content_type: content_type.to_owned(), body: body.to_vec() }
    }

    /// One number of the bot's own, by name and, if there are labels, one of them. `None` before it was first counted.
    pub async fn metric(&self, name: &str, label: &str) -> f64 {
        let address = self.metrics_address();
        let text = get(&address, "/metrics").await;
        let lines = text.lines().filter(|l| !l.starts_with('#'));
        let of_name = lines.filter(|l| l.split(['{', ' ']).next() == Some(name) && l.contains(label));
        of_name.filter_map(|l| l.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    fn metrics_address(&self) -> String {
        self.bot.as_ref().and_then(|b| b.metrics.clone()).expect("started with metrics")
    }

    /// What is stored now.
    pub async fn stored(&self) -> Stored {
        let records = self.records().await;
        let work = sales_concierge::work::Work::open_file(&self.dir.path().join("work.sqlite")).await.expect("work");
        let sales_concierge::work::Work::Sqlite { read, .. } = &work else { unreachable!("a file") };
        let mut counts = Vec::new();
        for (table, sql) in [
            ("sales", "SELECT count(*) FROM sales"),
            ("cancelled", "SELECT count(*) FROM sales WHERE cancelled_at IS NOT NULL"),
            ("proposals", "SELECT count(*) FROM proposals"),
            ("decided", "SELECT count(*) FROM proposals WHERE decided_at IS NOT NULL"),
            ("clicks", "SELECT count(*) FROM clicks"),
            ("outbox", "SELECT count(*) FROM outbox"),
            ("audit", "SELECT count(*) FROM audit"),
        ] {
            counts.push((table, sqlx::query_scalar(sql).fetch_one(records.read()).await.expect(sql)));
        }
        for (table, sql) in [
            ("jobs", "SELECT count(*) FROM jobs"),
            ("seen", "SELECT count(*) FROM seen"),
            ("threads", "SELECT count(*) FROM threads"),
        ] {
            counts.push((table, sqlx::query_scalar(sql).fetch_one(read).await.expect(sql)));
        }
        records.close().await;
        work.close().await;
        Stored(counts)
    }
}

/// A form with one field of JSON, as Slack sends interactions.
pub fn form(payload: &Value) -> Vec<u8> {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("payload", &payload.to_string()).finish().into_bytes()
}

/// An envelope around an inner event, in the sample farm's workspace.
pub fn envelope(event_id: &str, event: Value) -> Value {
    let seed = sample::seed();
    json!({
        "token": "deprecated", "team_id": seed.team, "context_team_id": seed.team, "api_app_id": seed.bot.app_id,
        "type": "event_callback", "event_id": event_id, "event_time": 1_700_000_000, "is_ext_shared_channel": false,
        "authorizations": [{"enterprise_id": null, "team_id": seed.team, "user_id": seed.bot.user, "is_bot": true}],
        "event": event,
    })
}

/// A person's message in their DM with the bot.
pub fn dm_message(user: &str, ts: &str, text: &str) -> Value {
    json!({
        "type": "message", "channel": dm_of(user), "channel_type": "im", "user": user, "team": sample::TEAM,
        "ts": ts, "event_ts": ts, "text": text,
    })
}

/// A small HTTP GET.
pub async fn get(address: &str, path: &str) -> String {
    exchange(address, format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes()).await
}

async fn post(address: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut head = format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    let text = exchange(address, &[head.as_bytes(), body].concat()).await;
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or_else(|| panic!("no status in {text:?}"));
    Answer { status, body: body.to_owned() }
}

/// One request, one answer, as text. What the server did not want to read may go unsent.
async fn exchange(address: &str, request: &[u8]) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("connects");
    let _ = stream.write_all(request).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// A person's DM with the bot.
pub fn dm_of(user: &str) -> String {
    sales_concierge::playground::workspace::Seed::dm(&sales_concierge::domain::UserId::new(user)).as_str().to_owned()
}
