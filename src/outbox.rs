//! Posts and updates that must happen.
//!
//! One row is one message of ours in Slack: `body` and `version` say what it should show, `sent_version` what Slack was
//! last told. [`want`] changes the row inside the caller's transaction; [`Outbox::drive`] makes Slack agree. Several
//! wishes between two calls collapse into the last, and a lease on the row keeps it to one writer.
//!
//! What it promises: a message is posted at least once, and twice only if Slack both accepted a post whose answer was
//! lost and cannot find it by its metadata. An ephemeral message cannot be looked up: after an unclear outcome it is
//! posted again, since a private note seen twice is harmless and one never seen is silence. What Slack refuses for good
//! is given up, logged and counted; trouble that passes is waited out for about a day. What is learned of one version
//! says nothing about a newer wish: that one is sent. The parts of an answer (`…:0`, `…:1`) are posted in their order.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

use crate::domain::{ChannelId, MessageTs, UserId};
use crate::records::{self, Db, Records, Row};
use crate::slack::client::{Client, SlackError};
use crate::slack::text;
use crate::slack::text::Body;

/// After this many refusals for an unknown reason a message is given up; with the backoff below that is about an hour.
const MAX_ATTEMPTS: i64 = 20;

/// The same where the message is not at fault (the token, the connection, Slack itself): about a day, so that what an
/// outage held up still arrives.
const MAX_ATTEMPTS_OUTAGE: i64 = 300;

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
    db: impl Into<Db<'_>>,
    key: &str,
    place: &Place,
    body: &Body,
    hold: Duration,
) -> Result<(), sqlx::Error> {
    let json = serde_json::to_string(body).map_err(|e| sqlx::Error::Encode(Box::new(e)))?;
    records::query(
        "INSERT INTO outbox (key, kind, channel, thread_ts, \"user\", body, due_at, created_at)
         SELECT $1, $2, $3, $4, $5, $6, now + $7, now FROM (SELECT now_ms() AS now) AS clock
         WHERE true
         ON CONFLICT (key) DO UPDATE SET body = excluded.body, version = outbox.version + 1, due_at = excluded.due_at,
             given_up = NULL, attempts = 0
         WHERE outbox.body <> excluded.body AND outbox.kind = 'message'",
    )
    .bind(key)
    .bind(if place.only.is_some() { "ephemeral" } else { "message" })
    .bind(place.channel.as_str())
    .bind(place.thread.as_ref().map(MessageTs::as_str))
    .bind(place.only.as_ref().map(UserId::as_str))
    .bind(json)
    .bind(i64::try_from(hold.as_millis()).unwrap_or(0))
    .execute(db)
    .await
    .map(drop)
}

/// Ends all leases on messages, when no writer can be alive.
///
/// # Errors
/// When the store does not answer.
pub async fn free_all(records: &Records) -> Result<(), sqlx::Error> {
    records::query("UPDATE outbox SET lease_until = 0 WHERE lease_until > 0").execute(records.quick()).await.map(drop)
}

/// The sender.
#[derive(Clone, Debug)]
pub struct Outbox {
    records: Records,
    slack: Client,
    lease: Duration,
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
    /// When the lease ends, which no other lease on the row shares: whoever finds another value has lost it.
    lease: i64,
    /// A post was begun before this attempt and its outcome is not known.
    uncertain: bool,
    attempts: i64,
}

/// Waiting cards whose turn has answered already are due now, and not when that turn is taken for given up.
///
/// # Errors
/// When the store does not answer.
pub async fn hurry_cards(records: &Records) -> Result<(), sqlx::Error> {
    records::query(
        "UPDATE outbox SET due_at = now_ms() WHERE sent_version < version AND given_up IS NULL AND due_at > now_ms()
           AND key IN (SELECT 'card:' || p.id FROM proposals p WHERE p.state = 'pending'
                         AND EXISTS (SELECT 1 FROM outbox r WHERE r.key = 'reply:' || p.turn_id || ':0'))",
    )
    .execute(records.quick())
    .await
    .map(drop)
}

impl Outbox {
    /// A sender over a store and a Slack client. One writer may take `lease` for a message before another may try, and at
    /// least as long as its calls may take.
    pub fn new(records: Records, slack: Client, lease: Duration) -> Self {
        Self { records, slack, lease }
    }

    /// Makes Slack show what the row says.
    ///
    /// # Errors
    /// When the store does not answer; trouble with Slack is recorded in the row instead.
    pub async fn drive(&self, key: &str) -> Result<Driven, sqlx::Error> {
        loop {
            let Some(row) = self.begin(key).await? else { return Ok(Driven::Settled) };
            if let Some(driven) = self.attempt(row).await? {
                return Ok(driven);
            }
        }
    }

    /// [`want`] and [`Outbox::drive`] in one, for a message that is most likely new: its row is made with the lease
    /// taken and the post begun, which is one write less before it is on its way.
    ///
    /// # Errors
    /// As [`Outbox::drive`].
    pub async fn say(&self, key: &str, place: &Place, body: &Body, hold: Duration) -> Result<Driven, sqlx::Error> {
        let json = serde_json::to_string(body).map_err(|e| sqlx::Error::Encode(Box::new(e)))?;
        let made = records::query(
            "INSERT INTO outbox (key, kind, channel, thread_ts, \"user\", body, due_at, created_at, lease_until, begun, attempts)
             SELECT $1, $2, $3, $4, $5, $6, now + $7, now, now + $8, 1, 1
             FROM (SELECT now_ms() AS now) AS clock
             WHERE true
             ON CONFLICT (key) DO NOTHING
             RETURNING key, channel, thread_ts, \"user\", body, version, posted_ts, lease_until, begun, attempts",
        )
        .bind(key)
        .bind(if place.only.is_some() { "ephemeral" } else { "message" })
        .bind(place.channel.as_str())
        .bind(place.thread.as_ref().map(MessageTs::as_str))
        .bind(place.only.as_ref().map(UserId::as_str))
        .bind(json)
        .bind(i64::try_from(hold.as_millis()).unwrap_or(0))
        .bind(self.lease())
        .fetch_optional(self.records.quick())
        .await?;
        let Some(row) = made else {
            want(self.records.quick(), key, place, body, hold).await?;
            return self.drive(key).await;
        };
        match self.attempt(read(&row)?).await? {
            Some(driven) => Ok(driven),
            None => self.drive(key).await,
        }
    }

    /// Why Slack refused a message for good: its error code.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn refused(&self, key: &str) -> Result<Option<String>, sqlx::Error> {
        let reason: Option<Option<String>> = records::query("SELECT given_up FROM outbox WHERE key = $1")
            .bind(key)
            .fetch_optional(self.records.read())
            .await?
            .map(|row| row.try_get("given_up"))
            .transpose()?;
        Ok(reason.flatten())
    }

    /// One attempt with a row whose lease is held. `None`: there is something else to send, a newer wish or a simpler form
    /// of what was refused.
    async fn attempt(&self, mut row: Message) -> Result<Option<Driven>, sqlx::Error> {
        let sent = self.send(&mut row).await;
        fail::fail_point!("outbox::told");
        match sent {
            Ok(ts) => Ok(self.sent(&row, ts.as_ref()).await?.then_some(Driven::Settled)),
            Err(Unsent::Lost) => Ok(Some(Driven::Settled)),
            Err(Unsent::Store(error)) => Err(error),
            Err(Unsent::Slack(error)) => self.failed(&row, error).await,
        }
    }

    /// Takes the row's lease and marks a post as begun, before anything is sent.
    async fn begin(&self, key: &str) -> Result<Option<Message>, sqlx::Error> {
        let row = records::query(
            "UPDATE outbox SET lease_until = now_ms() + $2, attempts = attempts + 1,
                    begun = CASE WHEN posted_ts IS NULL THEN begun + 1 ELSE begun END
             WHERE key = $1 AND sent_version < version AND given_up IS NULL
               AND lease_until <= now_ms()
               AND NOT EXISTS (SELECT 1 FROM outbox AS earlier
                               WHERE earlier.key = $3 AND earlier.posted_ts IS NULL AND earlier.given_up IS NULL
                                 AND earlier.sent_version < earlier.version)
             RETURNING key, channel, thread_ts, \"user\", body, version, posted_ts, lease_until, begun, attempts",
        )
        .bind(key)
        .bind(self.lease())
        .bind(earlier_part(key))
        .fetch_optional(self.records.quick())
        .await?;
        row.as_ref().map(read).transpose()
    }

    /// Whether there is such a message, sent or not.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn has(&self, key: &str) -> Result<bool, sqlx::Error> {
        let found = records::query("SELECT key FROM outbox WHERE key = $1").bind(key);
        Ok(found.fetch_optional(self.records.read()).await?.is_some())
    }

    /// The background sender need not wait for the hold's end: whoever held the message is done with it.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn release(&self, key: &str) -> Result<(), sqlx::Error> {
        records::query(
            "UPDATE outbox SET due_at = now_ms() WHERE key = $1 AND sent_version < version AND due_at > now_ms()",
        )
        .bind(key)
        .execute(self.records.quick())
        .await
        .map(drop)
    }

    /// In milliseconds: longer than any one call takes, with room for the store.
    fn lease(&self) -> i64 {
        i64::try_from(self.lease.max(self.slack.timeout() * 3).as_millis()).unwrap_or(i64::MAX)
    }

    /// The lease from its beginning, for the call after a look-up whose pages may have used it up.
    async fn renew(&self, row: &mut Message) -> Result<(), Unsent> {
        let renewed: Option<i64> = records::query(
            "UPDATE outbox SET lease_until = CASE WHEN lease_until >= now_ms() + $3 THEN lease_until + 1 ELSE now_ms() + $3 END
             WHERE key = $1 AND lease_until = $2 RETURNING lease_until",
        )
        .bind(&row.key)
        .bind(row.lease)
        .bind(self.lease())
        .scalar_optional(self.records.quick())
        .await?;
        row.lease = renewed.ok_or(Unsent::Lost)?;
        Ok(())
    }

    async fn send(&self, row: &mut Message) -> Result<Option<MessageTs>, Unsent> {
        if let Some(user) = &row.place.only {
            self.slack.ephemeral(&row.place.channel, user, row.place.thread.as_ref(), &row.body).await?;
            return Ok(None);
        }
        if let Some(ts) = &row.posted_ts {
            self.slack.update(&row.place.channel, ts, &row.body).await?;
            return Ok(Some(ts.clone()));
        }
        if row.uncertain {
            let found = self.slack.find_by_outbox_key(&row.place.channel, row.place.thread.as_ref(), &row.key).await?;
            self.renew(row).await?;
            if let Some(ts) = found {
                self.slack.update(&row.place.channel, &ts, &row.body).await?;
                return Ok(Some(ts));
            }
        }
        let place = &row.place;
        Ok(Some(self.slack.post(&place.channel, place.thread.as_ref(), &row.body, Some(&row.key)).await?))
    }

    /// Whether the row is now as wished; `false` when a newer wish came in meanwhile.
    async fn sent(&self, row: &Message, ts: Option<&MessageTs>) -> Result<bool, sqlx::Error> {
        let version: Option<i64> = records::query(
            "UPDATE outbox SET posted_ts = coalesce($2, posted_ts), sent_version = $3, begun = 0, attempts = 0,
                    lease_until = CASE WHEN lease_until = $4 THEN 0 ELSE lease_until END
             WHERE key = $1 AND sent_version < $3 RETURNING version",
        )
        .bind(&row.key)
        .bind(ts.map(MessageTs::as_str))
        .bind(row.version)
        .bind(row.lease)
        .scalar_optional(self.records.quick())
        .await?;
        // No row: a writer that took over has told Slack this or more.
        Ok(version.is_none_or(|version| version <= row.version))
    }

    async fn failed(&self, row: &Message, error: SlackError) -> Result<Option<Driven>, sqlx::Error> {
        let reason = error.to_string();
        let driven = match error {
            SlackError::Paused { after } => return self.paused(row, after).await.map(Some),
            SlackError::RateLimited { after } => self.later(row, after, true, MAX_ATTEMPTS_OUTAGE).await,
            SlackError::Unreachable(_) => self.later(row, pause(row.attempts), true, MAX_ATTEMPTS_OUTAGE).await,
            SlackError::Uncertain(_) => self.later(row, pause(row.attempts), false, MAX_ATTEMPTS_OUTAGE).await,
            SlackError::Rejected { error, .. } => match verdict(&error) {
                Verdict::TooMuch => match text::fallback(&row.body) {
                    Some(simpler) => return self.simplify(row, &simpler, &error).await.map(|()| None),
                    None => self.give_up(row, &error).await,
                },
                // Ours no longer: a person or an admin deleted it. The next wish posts a new one.
                Verdict::Gone if row.posted_ts.is_some() => self.repost(row).await,
                // Found by its key and deleted since: the next look finds nothing.
                Verdict::Gone | Verdict::Unknown => self.later(row, pause(row.attempts), true, MAX_ATTEMPTS).await,
                Verdict::Retry => self.later(row, pause(row.attempts), true, MAX_ATTEMPTS_OUTAGE).await,
                Verdict::GiveUp => self.give_up(row, &error).await,
            },
        }?;
        // What is given up is logged where that is decided.
        if driven == Driven::Later {
            tracing::warn!(outbox.key = row.key, outbox.attempts = row.attempts, reason, "message not delivered yet");
        }
        Ok(Some(driven))
    }

    /// Nothing was sent, so this was no attempt: whoever waits for their turn is not given up for it.
    async fn paused(&self, row: &Message, pause: Duration) -> Result<Driven, sqlx::Error> {
        records::query(
            "UPDATE outbox SET lease_until = 0, begun = CASE WHEN begun > 0 THEN begun - 1 ELSE 0 END,
                    attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END,
                    due_at = CASE WHEN version = $4 THEN now_ms() + $2 ELSE due_at END
             WHERE key = $1 AND lease_until = $3",
        )
        .bind(&row.key)
        .bind(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX))
        .bind(row.lease)
        .bind(row.version)
        .execute(self.records.quick())
        .await?;
        tracing::debug!(outbox.key = row.key, "message waits for its turn");
        Ok(Driven::Later)
    }

    async fn later(&self, row: &Message, pause: Duration, certain: bool, limit: i64) -> Result<Driven, sqlx::Error> {
        if row.attempts >= limit {
            return self.give_up(row, "too many attempts").await;
        }
        records::query(
            "UPDATE outbox SET lease_until = 0, begun = CASE WHEN $3 AND begun = 1 THEN 0 ELSE begun END,
                    due_at = CASE WHEN version = $5 THEN now_ms() + $2 ELSE due_at END
             WHERE key = $1 AND lease_until = $4",
        )
        .bind(&row.key)
        .bind(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX))
        .bind(certain)
        .bind(row.lease)
        .bind(row.version)
        .execute(self.records.quick())
        .await?;
        Ok(Driven::Later)
    }

    /// Slack would not have the message as it is: a simpler form. A newer wish has a form of its own.
    async fn simplify(&self, row: &Message, simpler: &Body, error: &str) -> Result<(), sqlx::Error> {
        tracing::warn!(outbox.key = row.key, error, "message refused as it is; a simpler form is sent");
        let body = serde_json::to_string(simpler).map_err(|e| sqlx::Error::Encode(Box::new(e)))?;
        records::query(
            "UPDATE outbox SET lease_until = 0, begun = CASE WHEN begun = 1 THEN 0 ELSE begun END, due_at = 0,
                    body = CASE WHEN version = $4 THEN $2 ELSE body END
             WHERE key = $1 AND lease_until = $3",
        )
        .bind(&row.key)
        .bind(body)
        .bind(row.lease)
        .bind(row.version)
        .execute(self.records.quick())
        .await
        .map(drop)
    }

    /// The message is gone for every version, but only the one that this writer wanted to change.
    async fn repost(&self, row: &Message) -> Result<Driven, sqlx::Error> {
        records::query(
            "UPDATE outbox SET lease_until = 0, begun = 0, due_at = 0, posted_ts = NULL
             WHERE key = $1 AND lease_until = $2 AND posted_ts = $3",
        )
        .bind(&row.key)
        .bind(row.lease)
        .bind(row.posted_ts.as_ref().map(MessageTs::as_str))
        .execute(self.records.quick())
        .await?;
        Ok(Driven::Later)
    }

    /// No more of this version. A newer wish is due and tried for itself.
    async fn give_up(&self, row: &Message, error: &str) -> Result<Driven, sqlx::Error> {
        let given_up: Option<bool> = records::query(
            "UPDATE outbox SET lease_until = 0, begun = CASE WHEN begun = 1 THEN 0 ELSE begun END,
                    given_up = CASE WHEN version = $4 THEN $2 END
             WHERE key = $1 AND lease_until = $3 RETURNING given_up IS NOT NULL",
        )
        .bind(&row.key)
        .bind(error)
        .bind(row.lease)
        .bind(row.version)
        .scalar_optional(self.records.quick())
        .await?;
        if given_up != Some(true) {
            return Ok(Driven::Later);
        }
        metrics::counter!("outbox_given_up_total").increment(1);
        tracing::error!(outbox.key = row.key, error, "message given up");
        Ok(Driven::GivenUp)
    }
}

/// Why a message was not sent.
enum Unsent {
    /// Another writer has the row now.
    Lost,
    /// The store did not answer.
    Store(sqlx::Error),
    /// Slack did not take it.
    Slack(SlackError),
}

impl From<sqlx::Error> for Unsent {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error)
    }
}

impl From<SlackError> for Unsent {
    fn from(error: SlackError) -> Self {
        Self::Slack(error)
    }
}

/// What to do after Slack said `ok: false`.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// The blocks or the text are at fault; a simpler form may pass.
    TooMuch,
    /// The message to update is gone.
    Gone,
    /// The message is not at fault: Slack, the token, or something on the way. It passes, or an admin repairs it.
    Retry,
    /// It can never pass.
    GiveUp,
    /// A code that this program does not know.
    Unknown,
}

fn verdict(error: &str) -> Verdict {
    match error {
        "invalid_blocks"
        | "invalid_blocks_format"
        | "msg_blocks_too_long"
        | "msg_blocks_too_many"
        | "only_one_table_allowed"
        | "msg_too_long"
        | "block_mismatch"
        | "no_text"
        | "markdown_text_conflict" => Verdict::TooMuch,
        "message_not_found" => Verdict::Gone,
        "fatal_error"
        | "internal_error"
        | "request_timeout"
        | "service_unavailable"
        | "team_added_to_org"
        | "update_failed"
        | "streaming_state_conflict"
        | "invalid_auth"
        | "not_authed"
        | "token_revoked"
        | "token_expired"
        | "account_inactive"
        | "missing_scope"
        | "not_allowed_token_type"
        | "team_access_not_granted"
        | "ekm_access_denied"
        | "access_denied"
        | "no_permission"
        | "two_factor_setup_required"
        | "accesslimited"
        | "org_login_required"
        | "external_channel_migrating" => Verdict::Retry,
        "channel_not_found"
        | "not_in_channel"
        | "is_archived"
        | "is_inactive"
        | "cannot_reply_to_message"
        | "thread_not_found"
        | "invalid_thread_ts"
        | "user_not_in_channel"
        | "messages_tab_disabled"
        | "cant_update_message"
        | "edit_window_closed"
        | "team_not_found"
        | "user_not_found"
        | "invalid_metadata_format"
        | "metadata_too_large"
        | "metadata_must_be_sent_from_app"
        | "too_many_attachments"
        | "message_limit_exceeded" => Verdict::GiveUp,
        _ if error.starts_with("http_") => Verdict::Retry,
        _ if error.starts_with("restricted_action") || error.starts_with("slack_connect_") => Verdict::GiveUp,
        _ => Verdict::Unknown,
    }
}

/// The part that is posted before this one: keys of parts are `kind:what:number`.
fn earlier_part(key: &str) -> Option<String> {
    let (head, number) = key.rsplit_once(':').filter(|(head, _)| head.contains(':'))?;
    let number: u32 = number.parse().ok()?;
    Some(format!("{head}:{}", number.checked_sub(1)?))
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

fn read(row: &Row) -> Result<Message, sqlx::Error> {
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
        lease: row.try_get("lease_until")?,
        attempts: row.try_get("attempts")?,
    })
}

#[cfg(test)]
mod tests;
