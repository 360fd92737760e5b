//! The trail: one row for each decision, refusal and tool call. Rows are appended, never changed (the store refuses).
//!
//! A row that belongs to a write is appended in the write's own transaction; a row about a read survives the death of
//! the process, not of the machine. `detail` holds codes, counts and argument hashes, never a person's words.

use crate::domain::{Person, ProposalId, Risk};
use crate::records::{self, Db};

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
    records::query(
        "INSERT INTO audit (at, actor, on_behalf, event, tool, risk, proposal, detail)
         VALUES (now_ms(), $1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(entry.actor)
    .bind(entry.on_behalf.subject())
    .bind(entry.event)
    .bind(entry.tool)
    .bind(entry.risk.code())
    .bind(entry.proposal.map(ProposalId::as_str))
    .bind(entry.detail.to_string())
    .execute(db)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Records;

    #[tokio::test]
    async fn i24_a_row_once_appended_can_be_neither_changed_nor_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records::open_file(&dir.path().join("records.db")).await.unwrap();
        let entry = Entry {
            actor: "test",
            on_behalf: &Person::new("T1", "U1"),
            event: "tool_answered",
            tool: None,
            risk: Risk::Low,
            proposal: None,
            detail: serde_json::json!({}),
        };
        append(records.quick(), entry).await.unwrap();
        for sql in ["UPDATE audit SET risk = 'high'", "DELETE FROM audit"] {
            assert!(records::query(sql).execute(records.durable()).await.is_err(), "{sql}");
        }
        let row = records::query("SELECT on_behalf, risk FROM audit").fetch_one(records.read()).await.unwrap();
        let text = |column: &str| row.try_get::<String, _>(column).unwrap();
        assert_eq!((text("on_behalf"), text("risk")), ("slack:T1:U1".to_owned(), "low".to_owned()));
    }
}
