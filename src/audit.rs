//! The trail: one row for each decision, refusal and tool call. Rows are appended, never changed (the store refuses).
//!
//! A row that belongs to a write is appended in the write's own transaction; a row about a read survives the death of
//! the process, not of the machine. `detail` holds codes, counts and argument hashes, never a person's words.
//!
//! [`seal`] chains the rows in batches, [`verify`] finds what was changed after that, [`export`] reads a span of days.

use serde::Deserialize;
use serde_json::Value;

use crate::domain::{Person, ProposalId, Risk};
use crate::records::{self, Db, Query, Row};

pub mod export;
pub mod seal;
pub mod verify;

/// `[audit]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How often new rows are sealed, in seconds.
    pub seal_interval_s: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seal_interval_s: 10 }
    }
}

/// The columns of a row in their order; what is hashed and exported.
pub const COLUMNS: [&str; 15] = [
    "id",
    "at",
    "actor",
    "on_behalf",
    "message",
    "event",
    "tool",
    "risk",
    "proposal",
    "digest",
    "model",
    "prompt_hash",
    "tools_hash",
    "result",
    "detail",
];

/// What led to a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The message it began with: `team:channel:ts`.
    pub message: Option<String>,
    /// The model that asked.
    pub model: Option<String>,
    /// SHA-256 of the instructions the model had, as hex.
    pub prompt_hash: Option<String>,
    /// SHA-256 of the definitions of the tools it was offered, as hex.
    pub tools_hash: Option<String>,
}

impl Origin {
    /// Of a message alone.
    pub fn message(message: Option<String>) -> Self {
        Self { message, ..Self::default() }
    }

    /// Of the row in which a proposal was created.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn of_proposal(db: impl Into<Db<'_>>, id: &ProposalId) -> Result<Self, sqlx::Error> {
        let message =
            records::query("SELECT message FROM audit WHERE proposal = $1 AND message IS NOT NULL ORDER BY id LIMIT 1")
                .bind(id.as_str())
                .scalar_optional(db)
                .await?;
        Ok(Self::message(message))
    }
}

/// What is written down.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// The part of the program that acted, such as `sales-server`.
    pub actor: &'a str,
    /// The person it acted for.
    pub on_behalf: &'a Person,
    /// What happened, such as `tool_called`.
    pub event: &'static str,
    /// The tool, where one was involved.
    pub tool: Option<&'a str>,
    /// How serious.
    pub risk: Risk,
    /// The proposal, where one was involved.
    pub proposal: Option<&'a ProposalId>,
    /// More facts, as a JSON object.
    pub detail: serde_json::Value,
}

/// Appends one row, stamped with the database clock.
///
/// # Errors
/// When the store does not answer.
pub async fn append(db: impl Into<Db<'_>>, entry: Entry<'_>) -> Result<(), sqlx::Error> {
    append_from(db, entry, &Origin::default()).await
}

/// The same with what led to it. The row's result is the detail's `code`, else `ok`; its digest is the detail's.
///
/// # Errors
/// When the store does not answer.
pub async fn append_from(db: impl Into<Db<'_>>, entry: Entry<'_>, origin: &Origin) -> Result<(), sqlx::Error> {
    let statement = records::query(
        "INSERT INTO audit (at, actor, on_behalf, message, event, tool, risk, proposal, digest, model, prompt_hash,
                            tools_hash, result, detail)
         VALUES (now_ms(), $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    );
    insert(statement, entry, origin).execute(db).await.map(drop)
}

/// The same about a proposal, with the message that it began with, as [`Origin::of_proposal`] has it.
///
/// # Errors
/// When the store does not answer.
pub async fn append_about(db: impl Into<Db<'_>>, entry: Entry<'_>) -> Result<(), sqlx::Error> {
    let statement = records::query(
        "INSERT INTO audit (at, actor, on_behalf, message, event, tool, risk, proposal, digest, model, prompt_hash,
                            tools_hash, result, detail)
         VALUES (now_ms(), $1, $2,
                 coalesce($3, (SELECT a.message FROM audit a WHERE a.proposal = $7 AND a.message IS NOT NULL
                               ORDER BY a.id LIMIT 1)),
                 $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    );
    insert(statement, entry, &Origin::default()).execute(db).await.map(drop)
}

fn insert(statement: Query, entry: Entry<'_>, origin: &Origin) -> Query {
    let text = |key: &str| entry.detail.get(key).and_then(Value::as_str);
    statement
        .bind(entry.actor)
        .bind(entry.on_behalf.subject())
        .bind(origin.message.clone())
        .bind(entry.event)
        .bind(entry.tool)
        .bind(entry.risk.code())
        .bind(entry.proposal.map(ProposalId::as_str))
        .bind(text("digest"))
        .bind(origin.model.clone())
        .bind(origin.prompt_hash.clone())
        .bind(origin.tools_hash.clone())
        .bind(text("code").unwrap_or("ok"))
        .bind(entry.detail.to_string())
}

/// Whom a row names where nobody is known to have acted.
pub fn nobody() -> Person {
    Person::new("unknown", "unknown")
}

/// A detail with one more text, where there is one.
pub fn with(mut detail: Value, key: &str, text: Option<&str>) -> Value {
    if let (Some(facts), Some(text)) = (detail.as_object_mut(), text) {
        facts.insert(key.to_owned(), text.into());
    }
    detail
}

/// A row as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its number.
    pub id: i64,
    /// When, in milliseconds since the epoch, by the database's clock.
    pub at: i64,
    /// The other columns in the order of [`COLUMNS`].
    pub texts: Vec<Option<String>>,
}

impl Stored {
    fn read(row: &Row) -> Result<Self, sqlx::Error> {
        let texts = COLUMNS.iter().skip(2).map(|column| row.try_get::<Option<String>, _>(*column));
        Ok(Self { id: row.try_get("id")?, at: row.try_get("at")?, texts: texts.collect::<Result<_, _>>()? })
    }

    /// Its columns as JSON, by name; numbers as numbers, what is absent as null.
    pub fn to_json(&self) -> Value {
        let texts = COLUMNS.iter().skip(2).zip(&self.texts);
        let texts = texts.map(|(column, text)| ((*column).to_owned(), Value::from(text.clone())));
        let numbers = [("id".to_owned(), Value::from(self.id)), ("at".to_owned(), Value::from(self.at))];
        Value::Object(numbers.into_iter().chain(texts).collect())
    }
}

/// The rows from `first` to `last`, both included, by number.
async fn rows(db: impl Into<Db<'_>>, first: i64, last: i64, limit: u32) -> Result<Vec<Stored>, sqlx::Error> {
    let rows = records::query(
        "SELECT id, at, actor, on_behalf, message, event, tool, risk, proposal, digest, model, prompt_hash, tools_hash,
                result, detail
         FROM audit WHERE id >= $1 AND id <= $2 ORDER BY id LIMIT $3",
    )
    .bind(first)
    .bind(last)
    .bind(limit)
    .fetch_all(db)
    .await?;
    rows.iter().map(Stored::read).collect()
}

#[cfg(test)]
mod tests;
