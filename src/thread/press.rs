//! Stores presses before Slack is answered.
//!
//! What it promises: a press whose [`Presses::store`] returned is on disk, and storing it again changes nothing. Presses
//! that arrive while a transaction syncs are stored together by the next one, so a burst waits for two syncs and not
//! for one each. A caller who gives up does not undo the storing.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::domain::{ChannelId, Person, ProposalId};
use crate::records::{self, Db, Records};
use crate::slack::inbound::{Click, ClickAction};

/// A stored press, as far as its decision needs it.
#[derive(Clone, Debug)]
pub struct Press {
    /// Stable for one press.
    pub id: String,
    /// What the button carries; it may be anything.
    pub proposal: ProposalId,
    /// Which button.
    pub action: ClickAction,
    /// Who pressed.
    pub who: Person,
    /// Where.
    pub channel: ChannelId,
}

impl Press {
    /// Of a row's columns.
    pub fn stored(id: String, proposal: ProposalId, action: &str, who: Person, channel: ChannelId) -> Self {
        let action = if action == "confirm" { ClickAction::Confirm } else { ClickAction::Cancel };
        Self { id, proposal, action, who, channel }
    }

    fn of(click: &Click) -> Self {
        Self {
            id: click.id.clone(),
            proposal: click.proposal.clone(),
            action: click.action,
            who: click.who.clone(),
            channel: click.channel.clone(),
        }
    }
}

/// Where presses are handed in. Clones are the same place.
#[derive(Clone, Debug)]
pub struct Presses {
    records: Records,
    waiting: Arc<Mutex<Vec<Waiting>>>,
    writing: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug)]
struct Waiting {
    click: Click,
    stored: oneshot::Sender<Option<Press>>,
}

/// The press is not stored.
#[derive(Debug, thiserror::Error)]
#[error("the press could not be stored")]
pub struct NotStored;

impl Presses {
    /// Over a store.
    pub fn new(records: Records) -> Self {
        Self { records, waiting: Arc::default(), writing: Arc::default() }
    }

    /// Stores a press, synced. `None` when it was stored before.
    ///
    /// # Errors
    /// When the store does not answer; Slack is then told that it failed, and the person sees a warning.
    pub async fn store(&self, click: Click) -> Result<Option<Press>, NotStored> {
        let (stored, outcome) = oneshot::channel();
        self.lock().push(Waiting { click, stored });
        // A task of its own: a caller who stops waiting would take the others' transaction with it.
        let this = self.clone();
        tokio::spawn(async move { this.write_waiting().await });
        outcome.await.map_err(|_| NotStored)
    }

    /// Stores everything that waits. Whoever comes to it second often finds nothing left to do.
    async fn write_waiting(&self) {
        let _turn = self.writing.lock().await;
        let batch = std::mem::take(&mut *self.lock());
        if batch.is_empty() {
            return;
        }
        match self.write(&batch).await {
            Ok(new) => {
                for (waiting, new) in batch.into_iter().zip(new) {
                    // A caller who stopped waiting is no trouble: the press is stored, and found when it is looked for.
                    let _ = waiting.stored.send(new.then(|| Press::of(&waiting.click)));
                }
            }
            // Dropping the senders tells each caller.
            Err(error) => tracing::error!(error = %error, presses = batch.len(), "presses could not be stored"),
        }
    }

    /// Which of them are new.
    async fn write(&self, batch: &[Waiting]) -> Result<Vec<bool>, sqlx::Error> {
        if let [only] = batch {
            // A statement is a transaction of its own.
            return Ok(vec![insert(self.records.durable(), &only.click).await?]);
        }
        let mut new = Vec::with_capacity(batch.len());
        let mut tx = self.records.begin_durable().await?;
        for Waiting { click, .. } in batch {
            new.push(insert(&mut tx, click).await?);
        }
        tx.commit().await?;
        Ok(new)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn insert(db: impl Into<Db<'_>>, click: &Click) -> Result<bool, sqlx::Error> {
    let inserted = records::query(
        "INSERT INTO clicks (id, proposal_id, action, team, \"user\", channel, message_ts, response_url, body_hash,
                received_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now_ms())
         ON CONFLICT (id) DO NOTHING",
    )
    .bind(&click.id)
    .bind(click.proposal.as_str())
    .bind(match click.action {
        ClickAction::Confirm => "confirm",
        ClickAction::Cancel => "cancel",
    })
    .bind(click.who.team.as_str())
    .bind(click.who.user.as_str())
    .bind(click.channel.as_str())
    .bind(click.message_ts.as_str())
    .bind(&click.response_url)
    .bind(&click.body_hash)
    .execute(db)
    .await?;
    Ok(inserted == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ChannelId, MessageTs, Person, ProposalId};
    use crate::records::postgres::Group;
    use crate::records::testing::on_both_engines;

    fn press(id: &str) -> Click {
        Click {
            id: id.to_owned(),
            proposal: ProposalId::new("P"),
            action: ClickAction::Confirm,
            who: Person::new("T1", "U1"),
            channel: ChannelId::new("C1"),
            message_ts: MessageTs::new("1.1"),
            response_url: String::new(),
            body_hash: String::new(),
        }
    }

    on_both_engines! {
    async fn k08_presses_of_one_moment_are_all_stored_once_and_the_same_press_is_one(engine) {
        let (_kept, records) = engine.open(Group::Bot).await;
        let presses = Presses::new(records.clone());
        let ids: Vec<String> = (0..64).map(|n| format!("c{}", n % 48)).collect();
        let all = futures::future::join_all(ids.iter().map(|id| presses.store(press(id)))).await;
        assert!(all.iter().all(Result::is_ok));
        let new = all.iter().filter(|stored| matches!(stored, Ok(Some(_)))).count();
        assert_eq!(new, 48, "whoever brought it second is told so");
        let stored: i64 = records::query("SELECT count(*) FROM clicks").scalar(records.read()).await.unwrap();
        assert_eq!(stored, 48);
    }
    }

    on_both_engines! {
    async fn k08_whoever_gives_up_waiting_takes_nobody_elses_press_along_and_a_dead_store_says_so(engine) {
        let (_kept, records) = engine.open(Group::Bot).await;
        let presses = Presses::new(records.clone());
        let lock = records.begin_durable().await.unwrap();
        let mut hasty = Box::pin(presses.store(press("hasty")));
        assert!(futures::poll!(&mut hasty).is_pending());
        let patient = tokio::spawn({
            let presses = presses.clone();
            async move { presses.store(press("patient")).await }
        });
        tokio::task::yield_now().await;
        drop(hasty);
        drop(lock);
        assert!(patient.await.unwrap().is_ok());
        let stored: i64 = records::query("SELECT count(*) FROM clicks").scalar(records.read()).await.unwrap();
        assert_eq!(stored, 2);
        records.close().await;
        assert!(presses.store(press("late")).await.is_err());
    }
    }
}
