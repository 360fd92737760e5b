//! Makes up for what Redis lost: messages that were accepted and not answered are read from Slack again.
//!
//! What it promises: a message of the last hour, in a conversation that the records know, is answered although everything
//! in Redis is gone, or in one that a living bot has just heard of; and none is answered twice, since the records tell
//! which turn has an answer and each message is always the same turn. One bot reads what the records know, and another goes
//! on where that one dies; each reads what it heard of itself. Pending cards need none of this, and what was said before
//! is read when a conversation goes on. Where nothing was lost it finds nothing to do.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::domain::{ChannelId, Clock, MessageTs, ThreadKey};
use crate::http::{self, Edge};
use crate::outbox;
use crate::records::{self, Records};
use crate::slack::client::{Client, SlackError};
use crate::slack::inbound::{self, Message};
use crate::thread::continuation::Continuations;
use crate::thread::queue;
use crate::thread::trouble::Trouble;
use crate::work;
use crate::work::redis::{LOOKED_BACK, Loss, Redis};

/// Conversations in which the bot said nothing for so long are not read again.
const RECENT: Duration = Duration::from_hours(7 * 24);

/// The most conversations, and the most threads, that are read again: those in which the bot spoke last.
const MOST: i64 = 200;

/// Of one conversation. A page has 200 messages.
const PAGES: usize = 10;

/// How often a call is made again that Slack did not answer or wants later.
const TRIES: usize = 5;

/// See the module.
pub struct Recovery {
    redis: Redis,
    records: Records,
    slack: Client,
    edge: Arc<Edge>,
    clock: Clock,
    continuations: Continuations,
    interval: Duration,
    /// How long a bot may be silent about what it makes up for.
    trust: Duration,
}

/// Why it could not be finished; it is begun anew.
#[derive(Debug, thiserror::Error)]
enum Unfinished {
    #[error("the store of work does not answer")]
    Work(#[from] work::Error),
    #[error("the records do not answer")]
    Records(#[from] sqlx::Error),
}

impl From<::redis::RedisError> for Unfinished {
    fn from(error: ::redis::RedisError) -> Self {
        Self::Work(error.into())
    }
}

impl Recovery {
    /// Puts the parts together; `interval` is how often the server is asked who it is, and `trust` how long a bot that is
    /// at it may be silent before another one begins.
    #[expect(clippy::too_many_arguments, reason = "the composition root calls it once, by name")]
    pub fn new(
        redis: Redis,
        records: Records,
        slack: Client,
        edge: Arc<Edge>,
        clock: Clock,
        continuations: Continuations,
        interval: Duration,
        trust: Duration,
    ) -> Self {
        Self { redis, records, slack, edge, clock, continuations, interval, trust }
    }

    /// Looks until told to stop.
    pub async fn run(self, stop: CancellationToken) {
        let (mut known, mut trouble) = (None, Trouble::default());
        while !stop.is_cancelled() {
            match stop.run_until_cancelled(self.look(&mut known)).await {
                Some(Err(error)) => trouble.tell("what was lost is not looked for", &error),
                Some(Ok(())) => trouble.is_over(),
                None => {}
            }
            stop.run_until_cancelled(tokio::time::sleep(self.interval)).await;
        }
    }

    /// `known`: the generations that this process has seen last.
    async fn look(&self, known: &mut Option<Vec<String>>) -> Result<(), Unfinished> {
        let (generations, mut losses) = self.redis.losses(self.trust).await?;
        let is_new = known.as_ref().is_some_and(|known| *known != generations);
        if is_new || !losses.is_empty() {
            // A job that is lost would keep what remains of a request for ever.
            self.continuations.give_back().await?;
            // A turn that was broken off between its answer and its cards is not run again: its message is answered.
            outbox::hurry_cards(&self.records).await?;
            // The ones just heard of first.
            let mut channels = self.redis.heard();
            if !losses.is_empty() {
                metrics::counter!("work_losses_total").increment(1);
                tracing::warn!("Redis was emptied or started anew; unanswered messages are read from Slack again");
                let known = self.channels().await?;
                channels.extend(known.into_iter().filter(|channel| !self.redis.has_heard(channel)));
            }
            let found = self.reread_trusted(channels, &mut losses).await?;
            tracing::info!(messages = found, "what was lost is made up for");
        }
        for loss in &losses {
            self.redis.restored(loss).await?;
        }
        *known = Some(generations);
        Ok(())
    }

    /// Rereads, and says meanwhile that it is at it.
    async fn reread_trusted(&self, channels: Vec<String>, losses: &mut [Loss]) -> Result<usize, Unfinished> {
        let mut reread = std::pin::pin!(self.reread(channels));
        loop {
            tokio::select! {
                found = &mut reread => return found,
                () = tokio::time::sleep(self.trust / 3) => {
                    for loss in losses.iter_mut() {
                        self.redis.still(loss, self.trust).await?;
                    }
                }
            }
        }
    }

    /// How many messages were found that nobody had answered.
    async fn reread(&self, channels: Vec<String>) -> Result<usize, Unfinished> {
        let now = self.clock.now().timestamp();
        let oldest = now.saturating_sub(i64::try_from(LOOKED_BACK.as_secs()).unwrap_or(0)).to_string();
        let mut found = 0;
        let mut all_threads = self.threads().await?;
        for channel in channels.into_iter().map(ChannelId::new) {
            let mut threads = all_threads.remove(channel.as_str()).unwrap_or_default();
            for said in self.said(&channel, None, &oldest).await {
                found += usize::from(self.hear(&channel, &said).await?);
                let is_after = |latest: &str| latest > oldest.as_str();
                if said.get("latest_reply").and_then(Value::as_str).is_some_and(is_after)
                    && let Some(root) = said.get("ts").and_then(Value::as_str)
                {
                    threads.insert(root.to_owned());
                }
            }
            for root in threads {
                for said in self.said(&channel, Some(&MessageTs::new(root)), &oldest).await {
                    found += usize::from(self.hear(&channel, &said).await?);
                }
            }
        }
        Ok(found)
    }

    /// Where the bot spoke of late, or shows a card.
    async fn channels(&self) -> Result<Vec<String>, sqlx::Error> {
        records::query(
            "SELECT channel FROM outbox WHERE created_at > now_ms() - $1
             GROUP BY channel ORDER BY max(created_at) DESC LIMIT $2",
        )
        .bind(millis(RECENT))
        .bind(MOST)
        .scalars(self.records.read())
        .await
    }

    /// Threads, by channel, that may have gone on although they began long ago: those in which the bot spoke last.
    async fn threads(&self) -> Result<HashMap<String, BTreeSet<String>>, sqlx::Error> {
        let rows = records::query(
            "SELECT channel, thread_ts FROM outbox WHERE thread_ts IS NOT NULL AND created_at > now_ms() - $1
             GROUP BY channel, thread_ts ORDER BY max(created_at) DESC LIMIT $2",
        )
        .bind(millis(RECENT))
        .bind(MOST)
        .fetch_all(self.records.read())
        .await?;
        let mut threads: HashMap<String, BTreeSet<String>> = HashMap::new();
        for row in rows {
            threads.entry(row.try_get("channel")?).or_default().insert(row.try_get("thread_ts")?);
        }
        Ok(threads)
    }

    /// What Slack has. A conversation that cannot be read is passed over: the others are waiting.
    async fn said(&self, channel: &ChannelId, thread: Option<&MessageTs>, oldest: &str) -> Vec<Value> {
        let (mut all, mut cursor, mut tries) = (Vec::new(), None::<String>, 0);
        for _ in 0..PAGES {
            let page = loop {
                match self.slack.said(channel, thread, oldest, cursor.as_deref()).await {
                    Ok(page) => break Some(page),
                    Err(error) => {
                        tries += 1;
                        let wait = match &error {
                            SlackError::RateLimited { after } | SlackError::Paused { after } => *after,
                            SlackError::Uncertain(_) | SlackError::Unreachable(_) => Duration::from_secs(1),
                            SlackError::Rejected { .. } => break None,
                        };
                        if tries >= TRIES {
                            tracing::warn!(%channel, error = %error, "a conversation cannot be read again");
                            break None;
                        }
                        tokio::time::sleep(wait).await;
                    }
                }
            };
            let Some((said, next)) = page else { break };
            all.extend(said);
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        all
    }

    /// Takes a message in as if it arrived now, unless it was answered. `true` when it waits now.
    async fn hear(&self, channel: &ChannelId, said: &Value) -> Result<bool, Unfinished> {
        let Some(message) = inbound::reread(channel, said, &self.edge.me) else { return Ok(false) };
        if self.is_answered(&message).await? {
            return Ok(false);
        }
        Ok(http::store_message(&self.edge, message).await? == http::ACCEPTED)
    }

    async fn is_answered(&self, message: &Message) -> Result<bool, sqlx::Error> {
        let thread = ThreadKey::of(&message.team, &message.channel, &message.ts, message.thread_ts.as_ref());
        let turn = queue::turn_id(&thread, &message.ts);
        let answers = records::query("SELECT count(*) FROM outbox WHERE key IN ($1, $2)")
            .bind(format!("reply:{turn}:0"))
            .bind(format!("said:{turn}:0"))
            .scalar::<i64>(self.records.read())
            .await?;
        Ok(answers > 0)
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
