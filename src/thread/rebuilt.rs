//! What a thread was about, after the store of work lost it: from the records, and from Slack by reading the thread again.
//!
//! What it promises: the texts come back, and tool results do not, since they can be fetched again. Only what was part of
//! the conversation comes back: messages whose turn the records know an answer of, and those answers. No department is
//! written on a text in Slack, so an answer counts as made from all rows that its reader may see now, and one to
//! somebody else as made from rows that only an admin may see.

use std::collections::HashMap;

use serde_json::Value;

use crate::agent::{Asker, Item};
use crate::domain::{MessageTs, Person, Role, ThreadKey, TurnId, UserId};
use crate::records::{self, Records};
use crate::slack::client::{Client, SlackError, outbox_key};
use crate::slack::inbound::{self, Me};
use crate::thread::history::{self, HistoryError, Loaded, Restored};
use crate::thread::queue::{self, Lease};
use crate::work::Work;

/// Of a thread, the last so many pages of 200 messages are read again.
const PAGES: usize = 5;

/// In place of departments that nobody knows: no department of this name can be anybody's.
const UNKNOWN: &str = "(unknown)";

/// Whether the bot has said something in a thread, so that a reply there is meant for it without a mention.
///
/// # Errors
/// When the records do not answer.
pub async fn took_part(records: &Records, thread: &ThreadKey) -> Result<bool, sqlx::Error> {
    let said = records::query("SELECT key FROM outbox WHERE channel = $1 AND thread_ts = $2 LIMIT 1")
        .bind(thread.channel.as_str())
        .bind(thread.root.as_str())
        .scalar_optional::<String>(records.read())
        .await?;
    Ok(said.is_some())
}

/// Nobody has said anything here, and yet it goes on: only a thread's own root begins one.
pub fn may_be_lost(thread: &ThreadKey, turn: &TurnId, loaded: &Loaded) -> bool {
    *turn != queue::turn_id(thread, &thread.root) && loaded.said.is_empty() && loaded.rounds.is_empty()
}

/// The turn that a message of ours answers, by the key of its row.
fn answered(key: &str) -> Option<&str> {
    let (kind, rest) = key.split_once(':')?;
    let (turn, _) = rest.rsplit_once(':')?;
    matches!(kind, "reply" | "said" | "pointer").then_some(turn)
}

/// Reads a thread from Slack into its history. `origin` is the turn of the request that goes on, whose message is part of
/// it although the records know no answer yet. Without Slack the turn begins without the earlier texts.
///
/// # Errors
/// When a store does not answer, or the thread is another worker's.
pub async fn rebuild(
    (work, records, slack): (&Work, &Records, &Client),
    lease: &Lease,
    thread: &ThreadKey,
    asker: &Asker,
    origin: &TurnId,
) -> Result<(), HistoryError> {
    let keys: Vec<String> = records::query("SELECT key FROM outbox WHERE channel = $1 AND thread_ts = $2")
        .bind(thread.channel.as_str())
        .bind(thread.root.as_str())
        .scalars(records.read())
        .await?;
    let known: Vec<&str> = keys.iter().filter_map(|key| answered(key)).collect();
    if known.is_empty() {
        return Ok(());
    }
    let said = match read(slack, thread).await {
        Ok(said) => said,
        Err(error) => {
            tracing::warn!(error = %error, "a thread cannot be read again; its turn begins without what was said");
            return Ok(());
        }
    };
    // Who the bot is does not matter: its own messages are told by their keys.
    let nobody = Me { team: thread.team.clone(), user: UserId::new(""), bot_id: None, app_id: None };
    let mut senders: HashMap<TurnId, Person> = HashMap::new();
    let mut restored: Vec<Restored> = Vec::new();
    for message in &said {
        if let Some(key) = outbox_key(message) {
            let Some(turn) = answered(key).filter(|_| key.starts_with("reply:")) else { continue };
            let turn = TurnId::new(turn);
            let to = senders.get(&turn).cloned().unwrap_or_else(|| asker.person.clone());
            let item = Item::Assistant {
                text: inbound::unescape(message.get("text").and_then(Value::as_str).unwrap_or_default()),
                departments: departments(asker, &to),
                fetched_for: Some(to),
            };
            match restored.iter_mut().find(|row| row.turn == turn && row.is_answer) {
                Some(row) => row.items.push(item),
                None => restored.push(Restored { turn, is_answer: true, at: 0, items: vec![item] }),
            }
        } else if let Some(message) = inbound::reread(&thread.channel, message, &nobody) {
            let turn = queue::turn_id(thread, &message.ts);
            if turn != *origin && !known.contains(&turn.as_str()) {
                continue;
            }
            let name =
                if message.sender == asker.person { asker.name.clone() } else { message.sender.user.to_string() };
            senders.insert(turn.clone(), message.sender.clone());
            let item = Item::User { person: message.sender, name, text: message.text };
            restored.push(Restored { turn, is_answer: false, at: millis(&message.ts), items: vec![item] });
        }
    }
    history::restore(work, lease, &restored).await
}

fn departments(asker: &Asker, to: &Person) -> Vec<String> {
    if *to == asker.person && asker.role != Role::Admin { asker.departments.clone() } else { vec![UNKNOWN.to_owned()] }
}

async fn read(slack: &Client, thread: &ThreadKey) -> Result<Vec<Value>, SlackError> {
    let (mut all, mut cursor) = (Vec::new(), None::<String>);
    for _ in 0..PAGES {
        let (said, next) = slack.said(&thread.channel, Some(&thread.root), "0", cursor.as_deref()).await?;
        // The root heads every page.
        all.extend(said.into_iter().skip(usize::from(cursor.is_some())));
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    Ok(all)
}

/// Slack's time of a message: seconds, a point, and digits that tell messages of one second apart.
fn millis(ts: &MessageTs) -> i64 {
    let (seconds, rest) = ts.as_str().split_once('.').unwrap_or((ts.as_str(), ""));
    let part = rest.get(..3).and_then(|digits| digits.parse().ok()).unwrap_or(0);
    seconds.parse::<i64>().map_or(0, |seconds| seconds.saturating_mul(1_000).saturating_add(part))
}
