//! Who is asking: the staff record, read anew for each turn, and Slack's profile, kept for a few minutes.
//!
//! Rights come from the staff record alone. The profile gives language and zone, and says who is a guest or from
//! another workspace; when Slack does not tell, the person counts as neither admitted nor refused by it: without a
//! staff record of the same workspace nobody gets in anyway.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chrono_tz::Tz;
use tokio::time::Instant;

use crate::agent::Asker;
use crate::domain::{Clock, Lang, Person};
use crate::records::Records;
use crate::slack::client::{Client, Profile, SlackError};
use crate::staff::{self, Staff};

/// How long a profile is believed. Language and zone change rarely; rights are not in it.
const FRESH: Duration = Duration::from_mins(5);

/// Profiles kept in memory at most; the oldest half goes when it is full.
const KEPT: usize = 2_000;

/// Why a person is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No staff record.
    NotRegistered,
    /// The staff record is no longer active.
    Revoked,
    /// A guest of the workspace, or somebody from another one.
    Guest,
}

/// Finds out who is asking.
#[derive(Debug)]
pub struct Askers {
    records: Records,
    slack: Client,
    clock: Clock,
    /// The company's language and zone, for people whose profile does not say.
    company: (Lang, Tz),
    profiles: Mutex<HashMap<Person, (Instant, Seen)>>,
}

/// What is kept of a profile.
#[derive(Clone, Debug)]
struct Seen {
    lang: Lang,
    zone: Tz,
    name: String,
    outsider: bool,
}

impl Askers {
    /// Over a store and a Slack client.
    pub fn new(records: Records, slack: Client, clock: Clock, company: (Lang, Tz)) -> Self {
        Self { records, slack, clock, company, profiles: Mutex::default() }
    }

    /// The person with their rights as of now, or why not, with the language to say it in.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn admit(&self, who: &Person) -> Result<Result<Asker, (Refusal, Lang)>, sqlx::Error> {
        let (record, seen) = tokio::join!(staff::find(self.records.read(), who), self.profile(who));
        let refusal = match record? {
            _ if seen.outsider => Refusal::Guest,
            None => Refusal::NotRegistered,
            Some(Staff { active: false, .. }) => Refusal::Revoked,
            Some(record) => {
                return Ok(Ok(Asker {
                    today: self.clock.today(seen.zone),
                    person: record.person,
                    name: record.display_name,
                    role: record.role,
                    departments: record.departments,
                    lang: seen.lang,
                    zone: seen.zone,
                }));
            }
        };
        Ok(Err((refusal, seen.lang)))
    }

    /// The language a person reads and the name Slack shows for them.
    pub async fn reader(&self, who: &Person) -> (Lang, String) {
        let seen = self.profile(who).await;
        (seen.lang, seen.name)
    }

    async fn profile(&self, who: &Person) -> Seen {
        if let Some((at, seen)) = self.lock().get(who)
            && at.elapsed() < FRESH
        {
            return seen.clone();
        }
        let (lang, zone) = self.company;
        match self.slack.user(&who.user).await {
            Ok(profile) => {
                let seen = read(&profile, who, lang, zone);
                let mut kept = self.lock();
                if kept.len() >= KEPT {
                    kept.retain(|_, (at, _)| at.elapsed() < FRESH / 2);
                }
                kept.insert(who.clone(), (Instant::now(), seen.clone()));
                seen
            }
            Err(error) => {
                // Slack says of strangers that they do not exist; anything else is trouble that passes.
                let outsider = matches!(&error, SlackError::Rejected { error, .. } if error.starts_with("user_not_"));
                tracing::warn!(error = %error, "profile not available");
                Seen { lang, zone, name: who.user.to_string(), outsider }
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Person, (Instant, Seen)>> {
        self.profiles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(profile: &Profile, who: &Person, lang: Lang, zone: Tz) -> Seen {
    Seen {
        lang: profile.locale.as_deref().map_or(lang, Lang::from_locale),
        zone: profile.tz.as_deref().and_then(|tz| Tz::from_str(tz).ok()).unwrap_or(zone),
        name: profile.real_name.clone(),
        outsider: profile.is_guest || profile.is_bot || profile.deleted || profile.team != who.team,
    }
}
