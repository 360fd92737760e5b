//! What people think of answers.
//!
//! What it promises: the last press of each person on each answer is kept, and each change of mind is counted once.

use crate::records::{self, Records};
use crate::slack::inbound::Feedback;

/// Where opinions are kept.
#[derive(Clone, Debug)]
pub struct Opinions {
    records: Records,
}

impl Opinions {
    /// Over a store.
    pub fn new(records: Records) -> Self {
        Self { records }
    }

    /// Keeps one.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn store(&self, feedback: &Feedback) -> Result<(), sqlx::Error> {
        let changed = records::query(
            "INSERT INTO feedback (turn, team, \"user\", verdict, channel, message_ts, given_at)
             SELECT $1, $2, $3, $4, $5, $6, now_ms() WHERE true
             ON CONFLICT (turn, team, \"user\") DO UPDATE SET verdict = excluded.verdict, channel = excluded.channel,
                 message_ts = excluded.message_ts, given_at = excluded.given_at
             WHERE feedback.verdict <> excluded.verdict",
        )
        .bind(feedback.turn.as_str())
        .bind(feedback.who.team.as_str())
        .bind(feedback.who.user.as_str())
        .bind(feedback.verdict.code())
        .bind(feedback.channel.as_str())
        .bind(feedback.message_ts.as_str())
        .execute(self.records.quick())
        .await?;
        if changed > 0 {
            metrics::counter!("feedback_total", "verdict" => feedback.verdict.code()).increment(1);
        }
        Ok(())
    }
}
