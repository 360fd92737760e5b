//! Sales at the desk: a model that does as it is told, cards, presses in their raw form, and the processes behind them.

use sales_concierge::playground::sample;
use sales_concierge::playground::workspace::{Endpoint, Message, PressOutcome, Workspace};
use serde_json::{Value, json};

use super::{AOKI, Place, Rig, Say, button_values};

/// What a request of [`clerk`] begins with: `登録 CODE PRODUCTS PRICE`, several of them parted by `;`.
pub const REGISTER: &str = "登録";

/// The other request of [`clerk`]: `取消 NUMBER REASON`.
pub const UNDO: &str = "取消";

/// What [`clerk`] says beside its cards.
pub const LOOK: &str = "カードをご確認ください。";

/// A model that proposes exactly what the message asks for, and finds nothing left to do afterwards.
pub fn clerk(request: &Value) -> Option<Say> {
    let items = request["input"].as_array()?;
    let asked = items.iter().rposition(|i| i["role"] == "user")?;
    let (message, since) = items.get(asked..)?.split_first()?;
    if since.last().is_some_and(is_continuation) {
        return Some(Say::text("NOTHING_LEFT"));
    }
    if since.iter().any(|i| i["type"] == "function_call_output") {
        return Some(Say::text(LOOK));
    }
    let words = super::model::content(&message["content"]);
    let calls: Vec<(String, Value)> = words
        .split(';')
        .filter_map(|part| {
            let parts: Vec<&str> = part.split_whitespace().skip_while(|w| *w != REGISTER && *w != UNDO).collect();
            match parts.as_slice() {
                [REGISTER, code, products, price] => {
                    let price: i64 = price.parse().ok()?;
                    Some(("add_sale".to_owned(), json!({"code_customer": code, "products": products, "price": price})))
                }
                [UNDO, number, reason] => {
                    Some(("cancel_sale".to_owned(), json!({"code_sales": number, "reason": reason})))
                }
                _ => None,
            }
        })
        .collect();
    Some(if calls.is_empty() { Say::text("承知しました。") } else { Say::Calls(calls) })
}

/// Whether an item is the host's note that begins a continuation.
pub fn is_continuation(item: &Value) -> bool {
    let role = item["role"].as_str().unwrap_or_default();
    matches!(role, "developer" | "system") && super::model::content(&item["content"]).contains("All cards of")
}

/// A press as Slack sends it, with every part chosen by the test.
#[derive(Clone, Debug)]
pub struct RawPress {
    pub user: String,
    pub team: String,
    pub proposal: String,
    pub action: &'static str,
    pub action_ts: String,
    pub channel: String,
    pub message_ts: String,
}

impl RawPress {
    /// The requester's own press on "confirm".
    pub fn on(card: &Message) -> Self {
        Self {
            user: AOKI.to_owned(),
            team: sample::TEAM.to_owned(),
            proposal: proposal(card),
            action: "proposal_confirm",
            action_ts: "1700000000.000001".to_owned(),
            channel: card.channel.as_str().to_owned(),
            message_ts: card.ts.as_str().to_owned(),
        }
    }

    /// Sends it, signed as Slack signs.
    pub async fn send(&self, workspace: &Workspace) -> PressOutcome {
        let payload = json!({
            "type": "block_actions",
            "user": {"id": self.user, "username": self.user, "name": self.user, "team_id": self.team},
            "api_app_id": "A0CONCIERGE",
            "team": {"id": sample::TEAM, "domain": "local"},
            "container": {"type": "message", "message_ts": self.message_ts, "channel_id": self.channel},
            "channel": {"id": self.channel, "name": "directmessage"},
            "response_url": format!("{}response/none", workspace.page_url()),
            "actions": [{
                "action_id": self.action, "block_id": "b", "type": "button", "value": self.proposal,
                "action_ts": self.action_ts,
            }],
        });
        let body =
            url::form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish();
        let request = workspace.signed_request(body.as_bytes(), "application/x-www-form-urlencoded");
        workspace.deliver_raw(Endpoint::Interactions, request, &[]).await
    }
}

/// The id on a card's buttons.
pub fn proposal(card: &Message) -> String {
    let values = button_values(card);
    assert_eq!(values.len(), 2, "a card has two buttons");
    assert_eq!(values.first(), values.last(), "both buttons are about one proposal");
    values.into_iter().next().expect("a value")
}

impl Rig {
    /// A rig whose model is the [`clerk`], with further settings.
    pub async fn with_clerk(env: &[(&'static str, &str)]) -> Self {
        let env = env.iter().map(|(k, v)| (*k, (*v).to_owned())).collect();
        let rig = Self::with(super::Options { env, ..super::Options::default() }).await;
        rig.model.rule(clerk);
        rig
    }

    /// Aoki asks the clerk for one sale and gets a card.
    pub async fn offered(&self) -> (Place, Message) {
        let place = self.dm(AOKI, "登録 0002 かぼちゃ4個 600").await;
        let card = self.card(&place).await;
        (place, card)
    }

    /// A press of the test's own making.
    pub async fn press_raw(&self, press: &RawPress) -> PressOutcome {
        press.send(&self.workspace).await
    }

    /// Changes the records behind the bot's back, as an administrator at the database would.
    pub async fn alter(&self, sql: &'static str) {
        let records = self.records().await;
        sqlx::raw_sql(sql).execute(records.durable()).await.expect(sql);
        records.close().await;
    }

    /// The process of the sales server.
    pub fn sales_server_pid(&self) -> u32 {
        let children = super::children(self.bot_pid());
        let [pid] = children.as_slice() else { panic!("one sales server, not {children:?}") };
        *pid
    }

    /// Sends a signal to a process of the rig and, for KILL, waits until the process runs no more.
    pub async fn signal(&self, pid: u32, signal: &str) {
        let sent = tokio::process::Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status().await;
        assert!(sent.expect("kill").success(), "no process {pid}");
        while signal == "KILL" && is_running(pid) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    /// Processor time that the bot has used so far.
    pub fn cpu_time(&self) -> std::time::Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.bot_pid())).expect("a running bot");
        let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
        // utime and stime, counted in hundredths of a second; the first field here is the third of the file
        let ticks: u64 = fields.iter().skip(11).take(2).filter_map(|f| f.parse::<u64>().ok()).sum();
        std::time::Duration::from_millis(ticks * 10)
    }

    /// Waits until the bot has logged some words.
    pub async fn logs(&self, words: &str) {
        let begun = tokio::time::Instant::now();
        while !self.log().contains(words) {
            assert!(begun.elapsed() < super::PATIENCE, "never logged {words:?}:\n{}", self.log());
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }

    /// How often the model was asked to carry out what remained.
    pub fn continuations(&self) -> usize {
        let requests = self.model.requests();
        requests.iter().filter(|r| r["input"].as_array().is_some_and(|i| i.last().is_some_and(is_continuation))).count()
    }
}

/// A zombie has ended: only its parent has not looked yet.
fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    state.is_some_and(|s| s != "Z" && s != "X")
}
