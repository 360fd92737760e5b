//! Reads the rows of a span of time, a page at a time.

use super::Stored;
use crate::records::{self, Records};

/// So many rows are held at once.
const PAGE: u32 = 1_000;

/// Rows of a span, oldest number first.
#[derive(Debug)]
pub struct Export<'a> {
    records: &'a Records,
    from: i64,
    to: i64,
    after: i64,
}

impl<'a> Export<'a> {
    /// The rows whose time is at or after `from` and before `to`, in milliseconds since the epoch.
    pub fn new(records: &'a Records, from: i64, to: i64) -> Self {
        Self { records, from, to, after: 0 }
    }

    /// The next rows; none when all were given.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn next(&mut self) -> Result<Vec<Stored>, sqlx::Error> {
        let rows = records::query(
            "SELECT id, at, actor, on_behalf, message, event, tool, risk, proposal, digest, model, prompt_hash,
                    tools_hash, result, detail
             FROM audit WHERE id > $1 AND at >= $2 AND at < $3 ORDER BY id LIMIT $4",
        )
        .bind(self.after)
        .bind(self.from)
        .bind(self.to)
        .bind(PAGE)
        .fetch_all(self.records.read())
        .await?;
        let rows: Vec<Stored> = rows.iter().map(Stored::read).collect::<Result<_, _>>()?;
        self.after = rows.last().map_or(self.after, |row| row.id);
        Ok(rows)
    }
}
