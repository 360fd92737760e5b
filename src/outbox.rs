//! Posts and updates that must happen.
//!
//! One row is one message of ours in Slack: `body` and `version` say what it should show, `sent_version` what Slack was
//! last told. [`want`] changes the row inside the caller's transaction; [`Outbox::drive`] makes Slack agree. Several
//! wishes between two calls collapse into the last, and a lease on the row keeps it to one writer.
//!
//! What it promises: a message is posted at least once, and twice only if Slack both accepted a post whose answer was
//! lost and cannot find it by its metadata. An ephemeral message is posted at most once after an unclear outcome, since
//! it cannot be looked up. Nothing is retried for ever: what Slack refuses for good is given up, logged and counted.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use serde_json::Value;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::domain::{ChannelId, MessageTs, UserId};
use crate::records::Records;
use crate::slack::client::{Client, SlackError};
use crate::slack::text;
use crate::slack::text::Body;

/// How long one writer may take for a message before another may try.
const LEASE: Duration = Duration::from_secs(20);

/// After this many failures a message is given up; with the backoff below that is about an hour.
const MAX_ATTEMPTS: i64 = 20;

/// Where a message goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The conversation.
    pub channel: ChannelId,
    /// The thread, by its root.
    pub thread: Option<MessageTs>,
    /// Set for an ephemeral message: the only person who sees it.
    pub only: Option<UserId>,
}

/// Says what a message should show from now on. The row is made or changed; nothing is sent.
///
/// `hold` keeps the background sender away for a while, so that a caller who will [`Outbox::drive`] it in a certain
/// order is not overtaken; after a crash it is sent when the time is over.
///
/// # Errors
/// When the store does not answer.
pub async fn want(
    tx: &mut SqliteConnection,
    key: &str,
    place: &Place,
    body: &Body,
    hold: Duration,
) -> Result<(), sqlx::Error> {
    let json = serde_json::to_string(body).map_err(|e| sqlx::Error::Encode(Box::new(e)))?;
    sqlx::query(
        "INSERT INTO outbox (key, kind, channel, thread_ts, user, body, due_at, created_at)
         SELECT $1, $2, $3, $4, $5, $6, now + $7, now FROM (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now)
         WHERE true
         ON CONFLICT (key) DO UPDATE SET body = excluded.body, version = version + 1, due_at = excluded.due_at
         WHERE body <> excluded.body AND kind = 'message'",
    )
    .bind(key)
    .bind(if place.only.is_some() { "ephemeral" } else { "message" })
    .bind(place.channel.as_str())
    .bind(place.thread.as_ref().map(MessageTs::as_str))
    .bind(place.only.as_ref().map(UserId::as_str))
    .bind(json)
    .bind(i64::try_from(hold.as_millis()).unwrap_or(0))
    .execute(tx)
    .await
    .map(drop)
}

/// The keys of messages whose time has come, oldest first.
///
/// # Errors
/// When the store does not answer.
pub async fn due(records: &Records) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT key FROM outbox WHERE sent_version < version AND given_up IS NULL
           AND due_at <= CAST(unixepoch('subsec') * 1000 AS INTEGER)
           AND lease_until <= CAST(unixepoch('subsec') * 1000 AS INTEGER)
         ORDER BY due_at LIMIT 100",
    )
    .fetch_all(records.read())
    .await
}

/// Ends all leases on messages, when no writer can be alive.
///
/// # Errors
/// When the store does not answer.
pub async fn free_all(records: &Records) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE outbox SET lease_until = 0 WHERE lease_until > 0").execute(records.quick()).await.map(drop)
}

/// The sender.
#[derive(Clone, Debug)]
pub struct Outbox {
    records: Records,
    slack: Client,
}

/// What [`Outbox::drive`] achieved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driven {
    /// Slack shows what it should, or another writer is at it.
    Settled,
    /// It will be tried again later.
    Later,
    /// Slack refused for good.
    GivenUp,
}

struct Message {
    key: String,
    place: Place,
    body: Body,
    version: i64,
    posted_ts: Option<MessageTs>,
    /// A post was begun before this attempt and its outcome is not known.
    uncertain: bool,
    attempts: i64,
}

impl Outbox {
    /// A sender over a store and a Slack client.
    pub fn new(records: Records, slack: Client) -> Self {
        Self { records, slack }
    }

    /// Makes Slack show what the row says.
    ///
    /// # Errors
    /// When the store does not answer; trouble with Slack is recorded in the row instead.
    pub async fn drive(&self, key: &str) -> Result<Driven, sqlx::Error> {
        loop {
            let Some(row) = self.begin(key).await? else { return Ok(Driven::Settled) };
            let sent = self.send(&row).await;
            fail::fail_point!("outbox::told");
            match sent {
                Ok(ts) => {
                    if self.sent(&row, ts.as_ref()).await? {
                        return Ok(Driven::Settled);
                    }
                }
                Err(error) => return self.failed(&row, error).await,
            }
        }
    }

    /// Takes the row's lease and marks a post as begun, before anything is sent.
    async fn begin(&self, key: &str) -> Result<Option<Message>, sqlx::Error> {
        let row = sqlx::query(
            "UPDATE outbox SET lease_until = CAST(unixepoch('subsec') * 1000 AS INTEGER) + $2, attempts = attempts + 1,
                    begun = begun + (posted_ts IS NULL)
             WHERE key = $1 AND sent_version < version AND given_up IS NULL
               AND lease_until <= CAST(unixepoch('subsec') * 1000 AS INTEGER)
             RETURNING key, channel, thread_ts, user, body, version, posted_ts, begun, attempts",
        )
        .bind(key)
        .bind(i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX))
        .fetch_optional(self.records.quick())
        .await?;
        row.as_ref().map(read).transpose()
    }

    async fn send(&self, row: &Message) -> Result<Option<MessageTs>, SlackError> {
        let place = &row.place;
        if let Some(user) = &place.only {
            if row.uncertain {
                return Ok(None);
            }
            self.slack.ephemeral(&place.channel, user, place.thread.as_ref(), &row.body).await?;
            return Ok(None);
        }
        if let Some(ts) = &row.posted_ts {
            self.slack.update(&place.channel, ts, &row.body).await?;
            return Ok(Some(ts.clone()));
        }
        // Everything we post stands in a thread; what stood in none could not be looked up.
        if row.uncertain
            && let Some(thread) = &place.thread
            && let Some(ts) = self.slack.find_by_outbox_key(&place.channel, thread, &row.key).await?
        {
            self.slack.update(&place.channel, &ts, &row.body).await?;
            return Ok(Some(ts));
        }
        self.slack.post(&place.channel, place.thread.as_ref(), &row.body, Some(&row.key)).await.map(Some)
    }

    /// Whether the row is now as wished; `false` when a newer wish came in meanwhile.
    async fn sent(&self, row: &Message, ts: Option<&MessageTs>) -> Result<bool, sqlx::Error> {
        let version: i64 = sqlx::query_scalar(
            "UPDATE outbox SET posted_ts = coalesce($2, posted_ts), sent_version = $3, begun = 0, attempts = 0, lease_until = 0
             WHERE key = $1 RETURNING version",
        )
        .bind(&row.key)
        .bind(ts.map(MessageTs::as_str))
        .bind(row.version)
        .fetch_one(self.records.quick())
        .await?;
        Ok(version <= row.version)
    }

    async fn failed(&self, row: &Message, error: SlackError) -> Result<Driven, sqlx::Error> {
        let reason = error.to_string();
        match error {
            SlackError::RateLimited { after } => self.later(row, after, true).await,
            SlackError::Unreachable(_) => self.later(row, pause(row.attempts), true).await,
            SlackError::Uncertain(_) => self.later(row, pause(row.attempts), false).await,
            SlackError::Rejected { error, .. } => match verdict(&error) {
                Verdict::TextOnly if row.body.blocks != Value::Null => self.text_only(row).await,
                // Ours no longer: a person or an admin deleted it. The next wish posts a new one.
                Verdict::Gone if row.posted_ts.is_some() => self.repost(row).await,
                Verdict::Retry => self.later(row, pause(row.attempts), true).await,
                _ => self.give_up(row, &error).await,
            },
        }
        .inspect(|driven| {
            // What is given up is logged where that is decided.
            if *driven == Driven::Later {
                tracing::warn!(
                    outbox.key = row.key,
                    outbox.attempts = row.attempts,
                    reason,
                    "message not delivered yet"
                );
            }
        })
    }

    async fn later(&self, row: &Message, pause: Duration, certain: bool) -> Result<Driven, sqlx::Error> {
        if row.attempts >= MAX_ATTEMPTS {
            return self.give_up(row, "too many attempts").await;
        }
        sqlx::query(
            "UPDATE outbox SET lease_until = 0, due_at = CAST(unixepoch('subsec') * 1000 AS INTEGER) + $2,
                    begun = CASE WHEN $3 AND begun = 1 THEN 0 ELSE begun END
             WHERE key = $1",
        )
        .bind(&row.key)
        .bind(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX))
        .bind(certain)
        .execute(self.records.quick())
        .await?;
        Ok(Driven::Later)
    }

    /// Slack would not have the blocks: the same words as plain text, once.
    async fn text_only(&self, row: &Message) -> Result<Driven, sqlx::Error> {
        let body = serde_json::to_string(&text::fallback(&row.body)).map_err(|e| sqlx::Error::Encode(Box::new(e)))?;
        self.change(row, "UPDATE outbox SET lease_until = 0, begun = 0, due_at = 0, body = $2 WHERE key = $1", &body)
            .await
    }

    async fn repost(&self, row: &Message) -> Result<Driven, sqlx::Error> {
        self.change(
            row,
            "UPDATE outbox SET lease_until = 0, begun = 0, due_at = 0, posted_ts = NULL WHERE key = $1",
            "",
        )
        .await
    }

    async fn change(&self, row: &Message, sql: &'static str, body: &str) -> Result<Driven, sqlx::Error> {
        sqlx::query(sql).bind(&row.key).bind(body).execute(self.records.quick()).await?;
        Ok(Driven::Later)
    }

    async fn give_up(&self, row: &Message, error: &str) -> Result<Driven, sqlx::Error> {
        metrics::counter!("outbox_given_up_total").increment(1);
        tracing::error!(outbox.key = row.key, error, "message given up");
        sqlx::query("UPDATE outbox SET lease_until = 0, given_up = $2 WHERE key = $1")
            .bind(&row.key)
            .bind(error)
            .execute(self.records.quick())
            .await?;
        Ok(Driven::GivenUp)
    }
}

/// What to do after Slack said `ok: false`.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// The blocks are at fault; text alone may pass.
    TextOnly,
    /// The message to update is gone.
    Gone,
    /// A fault of Slack's that passes.
    Retry,
    /// It will never pass.
    GiveUp,
}

fn verdict(error: &str) -> Verdict {
    match error {
        "invalid_blocks"
        | "invalid_blocks_format"
        | "msg_blocks_too_long"
        | "msg_too_long"
        | "block_mismatch"
        | "markdown_text_conflict" => Verdict::TextOnly,
        "message_not_found" => Verdict::Gone,
        "fatal_error"
        | "internal_error"
        | "request_timeout"
        | "service_unavailable"
        | "team_added_to_org"
        | "update_failed" => Verdict::Retry,
        _ => Verdict::GiveUp,
    }
}

fn pause(attempts: i64) -> Duration {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(500))
        .with_max_delay(Duration::from_secs(300))
        .without_max_times()
        .with_jitter()
        .build()
        .nth(usize::try_from(attempts.saturating_sub(1)).unwrap_or(0))
        .unwrap_or(Duration::from_secs(300))
}

fn read(row: &SqliteRow) -> Result<Message, sqlx::Error> {
    let posted_ts: Option<String> = row.try_get("posted_ts")?;
    Ok(Message {
        key: row.try_get("key")?,
        place: Place {
            channel: ChannelId::new(row.try_get::<String, _>("channel")?),
            thread: row.try_get::<Option<String>, _>("thread_ts")?.map(MessageTs::new),
            only: row.try_get::<Option<String>, _>("user")?.map(UserId::new),
        },
        body: serde_json::from_str(&row.try_get::<String, _>("body")?).map_err(|e| sqlx::Error::Decode(Box::new(e)))?,
        version: row.try_get("version")?,
        uncertain: posted_ts.is_none() && row.try_get::<i64, _>("begun")? > 1,
        posted_ts: posted_ts.map(MessageTs::new),
        attempts: row.try_get("attempts")?,
    })
}
