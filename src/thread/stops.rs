//! The Stop button: what runs for a person in a conversation ends when they press it.
//!
//! What it promises: a press is stored before Slack is answered and reaches the run within about a second, whichever bot
//! it runs in and also after a crash. It ends what was begun for that person there before the press, by Slack's clock,
//! and nothing of anybody else. Cards that wait stay as they are.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::domain::{Clock, MessageTs, Person, ThreadKey};
use crate::records::{self, Records};

/// How often a run looks for a press that another bot stored.
const LOOK: Duration = Duration::from_secs(1);
/// Nothing runs for so long, in milliseconds.
const KEPT_MS: i64 = 24 * 60 * 60 * 1000;

/// Where presses of the button are kept.
#[derive(Clone, Debug)]
pub struct Stops {
    records: Records,
    clock: Clock,
    pressed: Arc<Notify>,
}

impl Stops {
    /// Over a store.
    pub fn new(records: Records, clock: Clock) -> Self {
        Self { records, clock, pressed: Arc::default() }
    }

    /// As Slack writes the time: when something begins that no message begins.
    pub fn now(&self) -> MessageTs {
        let ms = self.clock.now_ms();
        MessageTs::new(format!("{}.{:03}000", ms.div_euclid(1_000), ms.rem_euclid(1_000)))
    }

    /// Keeps a press, and tells the runs of this process.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn store(&self, thread: &ThreadKey, who: &Person, ts: &MessageTs) -> Result<(), sqlx::Error> {
        records::query(
            "INSERT INTO stops (team, channel, root, user_team, \"user\", ts, stored_at)
             SELECT $1, $2, $3, $4, $5, $6, now_ms() WHERE true
             ON CONFLICT (team, channel, root, user_team, \"user\") DO UPDATE SET ts = excluded.ts, stored_at = excluded.stored_at",
        )
        .bind(thread.team.as_str())
        .bind(thread.channel.as_str())
        .bind(thread.root.as_str())
        .bind(who.team.as_str())
        .bind(who.user.as_str())
        .bind(ts.as_str())
        .execute(self.records.quick())
        .await?;
        self.pressed.notify_waiters();
        records::query("DELETE FROM stops WHERE stored_at < now_ms() - $1")
            .bind(KEPT_MS)
            .execute(self.records.quick())
            .await
            .map(drop)
    }

    /// Whether the person has pressed Stop in a conversation after something was begun.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn pressed_after(
        &self,
        thread: &ThreadKey,
        who: &Person,
        begun: &MessageTs,
    ) -> Result<bool, sqlx::Error> {
        let pressed: Option<String> = records::query(
            "SELECT ts FROM stops WHERE team = $1 AND channel = $2 AND root = $3 AND user_team = $4 AND \"user\" = $5",
        )
        .bind(thread.team.as_str())
        .bind(thread.channel.as_str())
        .bind(thread.root.as_str())
        .bind(who.team.as_str())
        .bind(who.user.as_str())
        .scalar_optional(self.records.read())
        .await?;
        Ok(pressed.is_some_and(|pressed| micros(&pressed) > micros(begun.as_str())))
    }

    /// Waits until the person presses Stop. The first look comes after a moment: most runs are over by then. A store that
    /// does not answer is asked again.
    pub async fn wait(&self, thread: &ThreadKey, who: &Person, begun: &MessageTs) {
        loop {
            let pressed = self.pressed.notified();
            tokio::select! {
                () = pressed => {}
                () = tokio::time::sleep(LOOK) => {}
            }
            match self.pressed_after(thread, who, begun).await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => tracing::debug!(%error, "not known whether the person pressed Stop"),
            }
        }
    }
}

/// Slack's time as a number; what is none is older than everything.
fn micros(ts: &str) -> u64 {
    let (seconds, rest) = ts.split_once('.').unwrap_or((ts, "0"));
    let rest: String = rest.chars().chain(std::iter::repeat('0')).take(6).collect();
    let number = |text: &str| text.parse::<u64>().ok();
    number(seconds)
        .zip(number(&rest))
        .map_or(0, |(seconds, rest)| seconds.saturating_mul(1_000_000).saturating_add(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::postgres::Group;
    use crate::records::testing::on_both_engines;

    fn thread(root: &str) -> ThreadKey {
        ThreadKey {
            team: crate::domain::TeamId::new("T1"),
            channel: crate::domain::ChannelId::new("D1"),
            root: MessageTs::new(root),
        }
    }

    on_both_engines! {
    async fn a_press_ends_what_was_begun_before_it_for_that_person_in_that_conversation(engine) {
        let (_kept, records) = engine.open(Group::Bot).await;
        let stops = Stops::new(records, Clock::system());
        let (aoki, emma) = (Person::new("T1", "U1"), Person::new("T1", "U2"));
        let at = |ts: &str| MessageTs::new(ts);
        stops.store(&thread("1.0"), &aoki, &at("1700000010.000200")).await.unwrap();
        for (root, who, begun, ends) in [
            ("1.0", &aoki, "1700000010.000100", true),
            ("1.0", &aoki, "999999999.9", true),
            ("1.0", &aoki, "1700000010.000200", false),
            ("1.0", &aoki, "1700000011.0", false),
            ("1.0", &emma, "1700000010.000100", false),
            ("2.0", &aoki, "1700000010.000100", false),
        ] {
            assert_eq!(stops.pressed_after(&thread(root), who, &at(begun)).await.unwrap(), ends, "{root} {begun}");
        }
        stops.store(&thread("1.0"), &aoki, &at("1700000020.000000")).await.unwrap();
        assert!(stops.pressed_after(&thread("1.0"), &aoki, &at("1700000011.0")).await.unwrap());
    }
    }

    on_both_engines! {
    async fn a_press_that_another_bot_stored_is_found(engine) {
        let (_kept, records) = engine.open(Group::Bot).await;
        let (here, elsewhere) = (Stops::new(records.clone(), Clock::system()), Stops::new(records, Clock::system()));
        let (aoki, begun) = (Person::new("T1", "U1"), MessageTs::new("1.0"));
        let thread = thread("1.0");
        let waits = here.wait(&thread, &aoki, &begun);
        tokio::pin!(waits);
        assert!(tokio::time::timeout(Duration::from_millis(50), &mut waits).await.is_err());
        elsewhere.store(&thread, &aoki, &MessageTs::new("2.0")).await.unwrap();
        tokio::time::timeout(Duration::from_secs(10), waits).await.expect("found");
    }
    }
}
