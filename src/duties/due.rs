//! What is due, in one look at the records.

use crate::domain::{ChannelId, Person, ProposalId, TurnId};
use crate::records::{self, Records, Row};
use crate::thread::continuation::{Continuation, Remaining};
use crate::thread::press::Press;

/// A press is left to the bot that stored it for so long, in milliseconds, where there are several.
const OTHERS_WAIT: i64 = 2_000;

/// One piece of due work.
#[derive(Debug)]
pub enum Due {
    /// A press that nobody has handled.
    Press(Press),
    /// A claimed proposal that no live executor holds.
    Abandoned(ProposalId),
    /// A pending proposal whose time is over.
    Overdue(ProposalId),
    /// A message whose time has come.
    Message(String),
    /// A continuation that no living bot has taken.
    Continuation(Continuation),
}

impl Due {
    /// Tells it from all other due work.
    pub fn name(&self) -> String {
        match self {
            Self::Press(press) => format!("click {}", press.id),
            Self::Abandoned(id) => format!("claim {id}"),
            Self::Overdue(id) => format!("expiry {id}"),
            Self::Message(key) => format!("message {key}"),
            Self::Continuation(of) => format!("continuation {} {}", of.turn, of.origin),
        }
    }
}

/// Everything that is due, of each kind the oldest hundred.
///
/// # Errors
/// When the store does not answer or holds what this program did not write.
pub async fn all(records: &Records) -> Result<Vec<Due>, sqlx::Error> {
    // A press that is being carried out belongs to its proposal's claim: whoever holds that drives it on.
    let rows = records::query(
        "SELECT * FROM (
             SELECT 'press' AS kind, c.id AS a, c.proposal_id AS b, c.action AS c, c.team AS d, c.\"user\" AS e,
                    c.channel AS f, c.received_at AS n
             FROM clicks c
             WHERE c.handled_at IS NULL AND c.received_at <= (SELECT now_ms()) - $1
               AND NOT EXISTS (SELECT 1 FROM proposals p
                               WHERE p.id = c.proposal_id AND p.state = 'claimed' AND p.claim_click = c.id)
             ORDER BY c.received_at LIMIT 100) AS presses
         UNION ALL
         SELECT * FROM (
             SELECT 'abandoned', id, NULL, NULL, NULL, NULL, NULL, claim_until FROM proposals
             WHERE state = 'claimed' AND claim_until <= (SELECT now_ms()) ORDER BY claim_until LIMIT 100) AS abandoned
         UNION ALL
         SELECT * FROM (
             SELECT 'overdue', id, NULL, NULL, NULL, NULL, NULL, expires_at FROM proposals
             WHERE state = 'pending' AND expires_at <= (SELECT now_ms()) ORDER BY expires_at LIMIT 100) AS overdue
         UNION ALL
         SELECT * FROM (
             SELECT 'message', key, NULL, NULL, NULL, NULL, NULL, due_at FROM outbox
             WHERE sent_version < version AND given_up IS NULL AND due_at <= (SELECT now_ms())
               AND lease_until <= (SELECT now_ms())
             ORDER BY due_at LIMIT 100) AS messages
         UNION ALL
         SELECT * FROM (
             SELECT 'continuation', turn, origin_turn, thread, team, \"user\", CAST(depth AS TEXT),
                    (SELECT now_ms()) - created_at
             FROM continuations
             WHERE ended_at IS NULL AND taken_until <= (SELECT now_ms()) ORDER BY created_at LIMIT 100) AS continuations",
    )
    .bind(if records.is_shared() { OTHERS_WAIT } else { 0 })
    .fetch_all(records.read())
    .await?;
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> Result<Due, sqlx::Error> {
    let text = |column: &str| row.try_get::<String, _>(column);
    Ok(match text("kind")?.as_str() {
        "press" => Due::Press(Press::stored(
            text("a")?,
            ProposalId::new(text("b")?),
            &text("c")?,
            Person::new(text("d")?, text("e")?),
            ChannelId::new(text("f")?),
        )),
        "abandoned" => Due::Abandoned(ProposalId::new(text("a")?)),
        "overdue" => Due::Overdue(ProposalId::new(text("a")?)),
        "message" => Due::Message(text("a")?),
        _ => Due::Continuation(Continuation {
            turn: TurnId::new(text("a")?),
            origin: TurnId::new(text("b")?),
            age_ms: row.try_get("n")?,
            remaining: Remaining::read(&text("c")?, Person::new(text("d")?, text("e")?), &text("f")?),
        }),
    })
}
