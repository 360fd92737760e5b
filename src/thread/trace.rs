//! What the stores hold of one conversation, in order of time: for a person who wants to see what happens underneath.
//!
//! Promises: it only reads, and it shows no secret. Tokens and keys are in neither store; a proposal's id, which a
//! button carries, and the address for replies to a press are left out or cut short.

use serde::Serialize;
use serde_json::{Value, json};

use crate::agent::Item;
use crate::domain::ThreadKey;
use crate::records::{self, Records, Row};
use crate::thread::history;
use crate::thread::queue::{self, Waiting};
use crate::work::{self, Work};

/// The longest text of one step, in characters: a panel is for looking, the stores have all of it.
const SHOWN: usize = 2_000;
/// Rows of one kind that are read at most, the newest.
const ROWS: i64 = 200;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Milliseconds since the epoch.
    pub at: i64,
    /// What kind of thing: `job`, `said`, `call`, `result`, `note`, `answer`, `proposed`, `press`, `decided`, `settled`
    /// or `message`.
    pub kind: &'static str,
    /// More, by kind. Names are those of the stores' columns.
    pub detail: Value,
}

/// Everything known of a conversation, oldest first.
///
/// # Errors
/// When a store does not answer or holds what this program did not write.
pub async fn of(records: &Records, work: &Work, thread: &ThreadKey) -> Result<Vec<Step>, work::Error> {
    let mut steps = jobs(work, thread).await?;
    steps.extend(rounds(work, thread).await?);
    steps.extend(proposals(records, thread).await?);
    steps.extend(presses(records, thread).await?);
    steps.extend(messages(records, thread).await?);
    // A round is stored when it is over, the proposals it asked for a moment before.
    for i in 0..steps.len() {
        let Some(step) = steps.get(i) else { break };
        let (turn, round) = (step.detail.get("turn"), step.detail.get("round"));
        let same = |s: &&Step| s.kind == "proposed" && s.detail.get("turn") == turn && s.detail.get("round") == round;
        let began = match step.kind {
            "said" | "call" => steps.iter().filter(same).map(|s| s.at).min(),
            _ => None,
        };
        if let (Some(began), Some(step)) = (began, steps.get_mut(i)) {
            step.at = step.at.min(began);
        }
    }
    steps.sort_by_key(|step| (step.at, rank(step.kind)));
    let ids: Vec<String> = records::query("SELECT id FROM proposals WHERE team = $1 AND channel = $2 AND root = $3")
        .bind(thread.team.as_str())
        .bind(thread.channel.as_str())
        .bind(thread.root.as_str())
        .scalars(records.read())
        .await?;
    steps.iter_mut().for_each(|step| cut_short(&mut step.detail, &ids));
    Ok(steps)
}

/// What comes first of steps of one millisecond.
fn rank(kind: &str) -> usize {
    let order =
        ["job", "said", "call", "proposed", "press", "decided", "settled", "message", "result", "note", "answer"];
    order.iter().position(|k| *k == kind).unwrap_or(order.len())
}

/// The model is told the ids of proposals, so they stand in results and notes too.
fn cut_short(value: &mut Value, ids: &[String]) {
    match value {
        Value::String(text) => {
            for id in ids.iter().filter(|id| text.contains(id.as_str())).collect::<Vec<_>>() {
                *text = text.replace(id.as_str(), &format!("{}…", beginning(id)));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|v| cut_short(v, ids)),
        Value::Object(map) => map.values_mut().for_each(|v| cut_short(v, ids)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Only what still waits or runs: a finished job leaves its history.
async fn jobs(work: &Work, thread: &ThreadKey) -> Result<Vec<Step>, work::Error> {
    let step = |job: Waiting| Step {
        at: job.at,
        kind: "job",
        detail: json!({"state": if job.runs { "running" } else { "queued" }, "attempts": job.attempts}),
    };
    Ok(queue::of_thread(work, thread, ROWS).await?.into_iter().map(step).collect())
}

async fn rounds(work: &Work, thread: &ThreadKey) -> Result<Vec<Step>, work::Error> {
    let mut steps = Vec::new();
    for round in history::last(work, thread, ROWS).await? {
        for item in &round.items {
            let (kind, mut detail) = shown(item);
            if let Some(detail) = detail.as_object_mut() {
                detail.insert("turn".into(), round.turn.clone().into());
                detail.insert("round".into(), round.round.into());
                if kind == "answer" && round.spent > 0 {
                    detail.insert("tokens".into(), round.spent.into());
                }
            }
            steps.push(Step { at: round.at, kind, detail });
        }
    }
    Ok(steps)
}

fn shown(item: &Item) -> (&'static str, Value) {
    match item {
        Item::User { name, text, .. } => ("said", json!({"name": name, "text": short(text)})),
        Item::Overheard { said, .. } => {
            let lines: Vec<String> = said.iter().map(|one| format!("{}: {}", one.name, one.text)).collect();
            ("note", json!({"text": short(&lines.join("\n"))}))
        }
        Item::Assistant { text, .. } => ("answer", json!({"text": short(text)})),
        Item::Call { call } => {
            ("call", json!({"tool": call.name, "arguments": short(&Value::Object(call.arguments.clone()).to_string())}))
        }
        Item::Result { content, departments, .. } => {
            ("result", json!({"content": short(content), "departments": departments}))
        }
        Item::Note { text, .. } => ("note", json!({"text": short(text)})),
    }
}

async fn proposals(records: &Records, thread: &ThreadKey) -> Result<Vec<Step>, sqlx::Error> {
    let rows = records::query(
        "SELECT id, turn_id, round, tool, digest, state, epoch, created_at, expires_at, decided_user, decided_at, settled_at, failure,
                grounds, result
         FROM proposals WHERE team = $1 AND channel = $2 AND root = $3 ORDER BY created_at DESC LIMIT $4",
    )
    .bind(thread.team.as_str())
    .bind(thread.channel.as_str())
    .bind(thread.root.as_str())
    .bind(ROWS)
    .fetch_all(records.read())
    .await?;
    let mut steps = Vec::new();
    for row in &rows {
        let text = |column: &str| row.try_get::<String, _>(column);
        let time = |column: &str| row.try_get::<Option<i64>, _>(column);
        let (proposal, state) = (beginning(&text("id")?), text("state")?);
        steps.push(Step {
            at: row.try_get("created_at")?,
            kind: "proposed",
            detail: json!({
                "proposal": proposal, "tool": text("tool")?, "digest": beginning(&text("digest")?), "state": state,
                "turn": text("turn_id")?, "round": row.try_get::<i64, _>("round")?,
                "expires_at": row.try_get::<i64, _>("expires_at")?,
                "grounds": serde_json::from_str::<Value>(&text("grounds")?).unwrap_or_default(),
            }),
        });
        if let Some(at) = time("decided_at")? {
            let by: Option<String> = row.try_get("decided_user")?;
            steps.push(Step { at, kind: "decided", detail: json!({"proposal": proposal, "by": by}) });
        }
        if let Some(at) = time("settled_at")? {
            let result: Option<String> = row.try_get("result")?;
            let result: Value = result.and_then(|r| serde_json::from_str(&r).ok()).unwrap_or_default();
            steps.push(Step {
                at,
                kind: "settled",
                detail: json!({
                    "proposal": proposal, "state": state, "epoch": row.try_get::<i64, _>("epoch")?,
                    "code_sales": result.get("code_sales"), "failure": row.try_get::<Option<String>, _>("failure")?,
                }),
            });
        }
    }
    Ok(steps)
}

async fn presses(records: &Records, thread: &ThreadKey) -> Result<Vec<Step>, sqlx::Error> {
    let rows = records::query(
        "SELECT c.proposal_id, c.action, c.\"user\", c.body_hash, c.received_at, c.handled_at, c.outcome
         FROM clicks c JOIN proposals p ON p.id = c.proposal_id
         WHERE p.team = $1 AND p.channel = $2 AND p.root = $3 ORDER BY c.received_at DESC LIMIT $4",
    )
    .bind(thread.team.as_str())
    .bind(thread.channel.as_str())
    .bind(thread.root.as_str())
    .bind(ROWS)
    .fetch_all(records.read())
    .await?;
    let step = |row: &Row| {
        let text = |column: &str| row.try_get::<String, _>(column);
        Ok(Step {
            at: row.try_get("received_at")?,
            kind: "press",
            detail: json!({
                "proposal": beginning(&text("proposal_id")?), "action": text("action")?, "user": text("user")?,
                "signed_body_sha256": beginning(&text("body_hash")?),
                "handled_at": row.try_get::<Option<i64>, _>("handled_at")?,
                "outcome": row.try_get::<Option<String>, _>("outcome")?,
            }),
        })
    };
    rows.iter().map(step).collect()
}

/// Our own messages: what the outbox wishes and what Slack has.
async fn messages(records: &Records, thread: &ThreadKey) -> Result<Vec<Step>, sqlx::Error> {
    let rows = records::query(
        "SELECT key, kind, version, sent_version, posted_ts, attempts, given_up, created_at
         FROM outbox WHERE channel = $1 AND thread_ts = $2 ORDER BY created_at DESC LIMIT $3",
    )
    .bind(thread.channel.as_str())
    .bind(thread.root.as_str())
    .bind(ROWS)
    .fetch_all(records.read())
    .await?;
    let step = |row: &Row| {
        let key: String = row.try_get("key")?;
        let what = key.split_once(':').map_or(key.as_str(), |(what, _)| what);
        Ok(Step {
            at: row.try_get("created_at")?,
            kind: "message",
            detail: json!({
                "what": what, "kind": row.try_get::<String, _>("kind")?,
                "version": row.try_get::<i64, _>("version")?, "sent_version": row.try_get::<i64, _>("sent_version")?,
                "ts": row.try_get::<Option<String>, _>("posted_ts")?, "attempts": row.try_get::<i64, _>("attempts")?,
                "given_up": row.try_get::<Option<String>, _>("given_up")?,
            }),
        })
    };
    rows.iter().map(step).collect()
}

fn short(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Enough of an id to tell it from others on a panel, too little to use it.
fn beginning(id: &str) -> String {
    id.chars().take(8).collect()
}
