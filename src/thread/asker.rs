//! Who is asking: the staff record, read anew for each turn, and Slack's profile, kept for a few minutes.
//!
//! Rights come from the staff record alone. The profile gives language and zone, and says who is a guest or belongs to
//! another organisation. It fails closed: when Slack does not answer, the last known profile stands, however old, and
//! without one nobody is served. Nobody waits long for that: a turn two seconds, a press half of one, and a failure is
//! remembered for a moment.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chrono_tz::Tz;
use serde::Deserialize;
use tokio::time::{Instant, timeout};

use crate::agent::Asker;
use crate::domain::{Clock, Lang, Person};
use crate::records::Records;
use crate::slack::client::{Client, Profile, SlackError};
use crate::staff::{self, Staff};

/// The beginning of a turn at which a person of whom Slack says nothing is told so: it may say more in a moment.
pub const PROFILE_ATTEMPTS: i64 = 5;

/// How long a profile is believed without asking again. Language and zone change rarely; rights are not in it.
const FRESH: Duration = Duration::from_mins(5);

/// How long a turn waits for a profile.
const TURN_WAITS: Duration = Duration::from_secs(2);

/// How long a press waits for a profile: Slack gives it three seconds for everything.
const PRESS_WAITS: Duration = Duration::from_millis(500);

/// After a failure Slack is not asked again about the same person for so long.
const PAUSE: Duration = Duration::from_secs(5);

/// People remembered at most; the half that was not heard of for longest goes when it is full.
const KEPT: usize = 2_000;

/// Why a person is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No staff record.
    NotRegistered,
    /// The staff record is no longer active.
    Revoked,
    /// A guest of the workspace.
    Guest,
    /// Somebody of another organisation.
    External,
    /// Slack did not say who this is, now or before.
    Unknown,
}

impl Refusal {
    /// The code for the audit.
    pub fn code(self) -> &'static str {
        match self {
            Self::NotRegistered => "not_registered",
            Self::Revoked => "revoked",
            Self::Guest => "guest",
            Self::External => "external",
            Self::Unknown => "profile_unknown",
        }
    }
}

/// `[company]`: what holds for everybody whose profile or words do not say otherwise.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Company {
    /// The zone of sale numbers, and of people whose Slack profile has none.
    pub zone: Tz,
    /// The language of people whose Slack profile has none.
    pub language: Lang,
    /// The month in which the fiscal year begins, 1 to 12: what 今年度 and Q2 mean.
    #[serde(deserialize_with = "month")]
    pub fiscal_year_start: u32,
}

impl Default for Company {
    fn default() -> Self {
        Self { zone: Tz::Asia__Tokyo, language: Lang::Ja, fiscal_year_start: 4 }
    }
}

fn month<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let month = u32::deserialize(from)?;
    if (1..=12).contains(&month) { Ok(month) } else { Err(serde::de::Error::custom("a month is 1 to 12")) }
}

/// Finds out who is asking.
#[derive(Debug)]
pub struct Askers {
    records: Records,
    slack: Client,
    clock: Clock,
    company: Company,
    people: Mutex<HashMap<Person, Kept>>,
}

/// What is remembered of a person.
#[derive(Clone, Debug, Default)]
struct Kept {
    /// The last definite answer and when it came.
    known: Option<(Instant, Seen)>,
    /// When Slack last gave none.
    failed: Option<Instant>,
    /// When a press last stopped waiting for one.
    slow: Option<Instant>,
}

/// What is kept of a profile.
#[derive(Clone, Debug)]
struct Seen {
    lang: Lang,
    zone: Tz,
    name: String,
    standing: Standing,
}

/// What somebody is to the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A full member.
    Member,
    /// A guest of either kind, or deactivated.
    Guest,
    /// Of another organisation.
    External,
    /// No person but a program.
    Bot,
}

impl Kept {
    fn seen(&self) -> Option<Seen> {
        self.known.as_ref().map(|(_, seen)| seen.clone())
    }

    fn is_fresh(&self) -> bool {
        self.known.as_ref().is_some_and(|(at, _)| at.elapsed() < FRESH)
    }

    fn last_heard(&self) -> Option<Instant> {
        [self.known.as_ref().map(|(at, _)| *at), self.failed, self.slow].into_iter().flatten().max()
    }
}

fn is_recent(at: Option<Instant>) -> bool {
    at.is_some_and(|at| at.elapsed() < PAUSE)
}

impl Askers {
    /// Over a store and a Slack client.
    pub fn new(records: Records, slack: Client, clock: Clock, company: Company) -> Self {
        Self { records, slack, clock, company, people: Mutex::default() }
    }

    /// The person with their rights as of now, or why not, with the language to say it in.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn admit(&self, who: &Person) -> Result<Result<Asker, (Refusal, Lang)>, sqlx::Error> {
        let (record, seen) = tokio::join!(staff::find(self.records.read(), who), self.profile(who));
        let lang = seen.as_ref().map_or(self.company.language, |seen| seen.lang);
        let refusal = match (record?, seen) {
            (_, Some(Seen { standing: Standing::Guest | Standing::Bot, .. })) => Refusal::Guest,
            (_, Some(Seen { standing: Standing::External, .. })) => Refusal::External,
            (None, _) => Refusal::NotRegistered,
            (Some(Staff { active: false, .. }), _) => Refusal::Revoked,
            (Some(_), None) => Refusal::Unknown,
            (Some(record), Some(seen)) => {
                return Ok(Ok(Asker {
                    today: self.clock.today(seen.zone),
                    person: record.person,
                    name: record.display_name,
                    role: record.role,
                    departments: record.departments,
                    lang: seen.lang,
                    zone: seen.zone,
                    fiscal_start: self.company.fiscal_year_start,
                }));
            }
        };
        Ok(Err((refusal, lang)))
    }

    /// The language a person reads and the name Slack shows for them, within half a second: from a profile of any age,
    /// else the company's language and the person's id.
    pub async fn reader(&self, who: &Person) -> (Lang, String) {
        let seen = match self.kept(who).seen() {
            Some(seen) => Some(seen),
            None => self.glance(who).await,
        };
        seen.map_or_else(|| (self.company.language, who.user.to_string()), |seen| (seen.lang, seen.name))
    }

    /// Whether Slack is known to say that this is a guest or somebody of another organisation, within half a second.
    ///
    /// Without any answer, now or before, it is `false`: this is for the press of a person who was admitted when they
    /// asked, and a stored press must not be lost to a restart while Slack is down.
    pub async fn is_outsider(&self, who: &Person) -> bool {
        self.glance(who).await.is_some_and(|seen| seen.standing != Standing::Member)
    }

    /// What Slack says somebody is, or said last; `None` when it never did.
    pub async fn standing(&self, who: &Person) -> Option<Standing> {
        self.profile(who).await.map(|seen| seen.standing)
    }

    /// The same without asking, if it was said within some time.
    pub fn known(&self, who: &Person, within: Duration) -> Option<Standing> {
        let (at, seen) = self.kept(who).known?;
        (at.elapsed() < within).then_some(seen.standing)
    }

    /// As [`Self::profile`], for those who cannot wait.
    async fn glance(&self, who: &Person) -> Option<Seen> {
        let kept = self.kept(who);
        if kept.is_fresh() || is_recent(kept.slow) {
            return kept.seen();
        }
        match timeout(PRESS_WAITS, self.profile(who)).await {
            Ok(seen) => seen,
            Err(_) => {
                self.remember(who, |kept| kept.slow = Some(Instant::now()));
                kept.seen()
            }
        }
    }

    /// What Slack says of a person, else what it said last.
    async fn profile(&self, who: &Person) -> Option<Seen> {
        let kept = self.kept(who);
        if kept.is_fresh() || is_recent(kept.failed) {
            return kept.seen();
        }
        let Company { language: lang, zone, .. } = self.company;
        let seen = match timeout(TURN_WAITS, self.slack.user(&who.user)).await {
            Ok(Ok(profile)) => read(&profile, who, lang, zone),
            Ok(Err(SlackError::Rejected { error, .. })) if is_stranger(&error) => {
                let lang = kept.seen().map_or(lang, |seen| seen.lang);
                Seen { lang, zone, name: who.user.to_string(), standing: Standing::External }
            }
            failed => {
                let reason = failed.map_or_else(
                    |_| "no answer in time".to_owned(),
                    |answer| answer.err().map(|error| error.to_string()).unwrap_or_default(),
                );
                tracing::warn!(reason, known = kept.known.is_some(), "profile not available");
                self.remember(who, |kept| kept.failed = Some(Instant::now()));
                return kept.seen();
            }
        };
        let known = Some((Instant::now(), seen.clone()));
        self.remember(who, |kept| *kept = Kept { known, ..Kept::default() });
        Some(seen)
    }

    fn kept(&self, who: &Person) -> Kept {
        self.lock().get(who).cloned().unwrap_or_default()
    }

    fn remember(&self, who: &Person, change: impl FnOnce(&mut Kept)) {
        let mut people = self.lock();
        if people.len() >= KEPT && !people.contains_key(who) {
            let mut heard: Vec<Option<Instant>> = people.values().map(Kept::last_heard).collect();
            let (_, middle, _) = heard.select_nth_unstable(KEPT / 2);
            let middle = *middle;
            people.retain(|_, kept| kept.last_heard() > middle);
        }
        change(people.entry(who.clone()).or_default());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Person, Kept>> {
        self.people.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Slack's definite word that a user is none of this workspace's; every other refusal is trouble that passes.
fn is_stranger(error: &str) -> bool {
    matches!(error, "user_not_found" | "user_not_visible")
}

fn read(profile: &Profile, who: &Person, lang: Lang, zone: Tz) -> Seen {
    let standing = if profile.team != who.team {
        Standing::External
    } else if profile.is_bot {
        Standing::Bot
    } else if profile.is_guest || profile.deleted {
        Standing::Guest
    } else {
        Standing::Member
    };
    Seen {
        lang: profile.locale.as_deref().map_or(lang, Lang::from_locale),
        zone: profile.tz.as_deref().and_then(|tz| Tz::from_str(tz).ok()).unwrap_or(zone),
        name: profile.real_name.clone(),
        standing,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::Router;
    use axum::response::{IntoResponse, Response};
    use chrono_tz::Asia::Tokyo;
    use serde_json::{Value, json};

    use super::*;
    use crate::domain::{Role, Secret};

    /// What the fake Slack does with `users.info`.
    #[derive(Clone, Debug)]
    enum Slack {
        Says(Value),
        Status(u16),
        Hangs,
    }

    struct Rig {
        askers: Askers,
        slack: Arc<Mutex<Slack>>,
        calls: Arc<AtomicUsize>,
        _dir: tempfile::TempDir,
    }

    impl Rig {
        async fn new() -> Self {
            let slack = Arc::new(Mutex::new(profile(&json!({}))));
            let calls = Arc::new(AtomicUsize::new(0));
            let shared = (Arc::clone(&slack), Arc::clone(&calls));
            let app = Router::new().fallback(move || answer(shared.0.clone(), shared.1.clone()));
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let base = format!("http://{}/api", listener.local_addr().unwrap());
            tokio::spawn(async move { axum::serve(listener, app).await });
            let dir = tempfile::tempdir().unwrap();
            let records = Records::open_file(&dir.path().join("records.db")).await.unwrap();
            let staff = Staff {
                person: hana(),
                display_name: "Hana".into(),
                role: Role::Sales,
                departments: vec!["north".into()],
                active: true,
            };
            staff::put(records.durable(), &staff).await.unwrap();
            let client = Client::new(&base, Secret::new("xoxb-test"), Duration::from_secs(10)).unwrap();
            let askers = Askers::new(records, client, Clock::system(), Company { zone: Tokyo, ..Company::default() });
            Self { askers, slack, calls, _dir: dir }
        }

        fn slack(&self, does: Slack) {
            *self.slack.lock().unwrap() = does;
        }

        /// What is known of everybody becomes so old that Slack is asked again.
        fn grow_old(&self) {
            for kept in self.askers.lock().values_mut() {
                let old = |at: Instant| at.checked_sub(FRESH * 2).unwrap();
                kept.known = kept.known.take().map(|(at, seen)| (old(at), seen));
                kept.failed = kept.failed.map(old);
                kept.slow = kept.slow.map(old);
            }
        }

        async fn refusal(&self) -> Option<(Refusal, Lang)> {
            self.askers.admit(&hana()).await.unwrap().err()
        }
    }

    async fn answer(slack: Arc<Mutex<Slack>>, calls: Arc<AtomicUsize>) -> Response {
        calls.fetch_add(1, Ordering::Relaxed);
        let does = slack.lock().unwrap().clone();
        match does {
            Slack::Says(value) => axum::Json(value).into_response(),
            Slack::Status(status) => axum::http::StatusCode::from_u16(status).unwrap().into_response(),
            Slack::Hangs => std::future::pending().await,
        }
    }

    fn hana() -> Person {
        Person::new("T1", "U1")
    }

    fn profile(more: &Value) -> Slack {
        let mut user = json!({ "id": "U1", "team_id": "T1", "name": "hana", "locale": "en-GB", "tz": "Europe/Paris" });
        user.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Slack::Says(json!({ "ok": true, "user": user }))
    }

    fn refused(error: &str) -> Slack {
        Slack::Says(json!({ "ok": false, "error": error }))
    }

    #[tokio::test]
    async fn guests_and_people_of_other_organisations_are_told_apart() {
        let rig = Rig::new().await;
        assert_eq!(rig.refusal().await, None);
        assert!(!rig.askers.is_outsider(&hana()).await);
        for (slack, refusal) in [
            (profile(&json!({ "is_restricted": true })), Refusal::Guest),
            (profile(&json!({ "is_ultra_restricted": true })), Refusal::Guest),
            (profile(&json!({ "team_id": "T2" })), Refusal::External),
            (refused("user_not_found"), Refusal::External),
            (refused("user_not_visible"), Refusal::External),
        ] {
            rig.grow_old();
            rig.slack(slack.clone());
            assert_eq!(rig.refusal().await, Some((refusal, Lang::En)), "{slack:?}");
            assert!(rig.askers.is_outsider(&hana()).await, "{slack:?}");
        }
    }

    #[tokio::test]
    async fn without_a_definite_answer_the_last_known_profile_stands_and_else_nobody_is_served() {
        for trouble in [refused("internal_error"), refused("missing_scope"), Slack::Status(502), Slack::Status(429)] {
            let rig = Rig::new().await;
            rig.slack(trouble.clone());
            assert_eq!(rig.refusal().await, Some((Refusal::Unknown, Lang::Ja)), "{trouble:?}");
            assert!(!rig.askers.is_outsider(&hana()).await, "nobody said so");
            assert_eq!(rig.calls.load(Ordering::Relaxed), 1, "a failure is remembered");

            rig.grow_old();
            rig.slack(profile(&json!({})));
            assert_eq!(rig.refusal().await, None);
            rig.grow_old();
            rig.slack(trouble.clone());
            assert_eq!(rig.refusal().await, None, "{trouble:?}");

            rig.grow_old();
            rig.slack(profile(&json!({ "is_restricted": true })));
            assert_eq!(rig.refusal().await, Some((Refusal::Guest, Lang::En)));
            rig.grow_old();
            rig.slack(trouble.clone());
            assert_eq!(rig.refusal().await, Some((Refusal::Guest, Lang::En)), "{trouble:?}");
            assert!(rig.askers.is_outsider(&hana()).await);
        }
    }

    #[tokio::test]
    async fn a_slack_that_hangs_holds_up_a_turn_shortly_and_a_press_hardly() {
        let rig = Rig::new().await;
        rig.slack(Slack::Hangs);
        let begun = Instant::now();
        let press = async {
            assert_eq!(rig.askers.reader(&hana()).await, (Lang::Ja, "U1".to_owned()));
            assert!(!rig.askers.is_outsider(&hana()).await);
            begun.elapsed()
        };
        let (refusal, press) = tokio::join!(rig.refusal(), press);
        assert_eq!(refusal, Some((Refusal::Unknown, Lang::Ja)));
        assert!(press < Duration::from_millis(900), "{press:?}");
        let turn = begun.elapsed();
        assert!(turn < Duration::from_secs(3), "{turn:?}");
        assert_eq!(rig.refusal().await, Some((Refusal::Unknown, Lang::Ja)));
        assert!(begun.elapsed() - turn < Duration::from_millis(500), "a failure is remembered");
    }

    #[tokio::test]
    async fn a_press_reads_a_known_profile_of_any_age() {
        let rig = Rig::new().await;
        rig.slack(profile(&json!({ "profile": { "display_name": "Hana" } })));
        assert_eq!(rig.askers.reader(&hana()).await, (Lang::En, "Hana".to_owned()));
        rig.grow_old();
        rig.slack(Slack::Hangs);
        let begun = Instant::now();
        assert_eq!(rig.askers.reader(&hana()).await, (Lang::En, "Hana".to_owned()));
        assert!(begun.elapsed() < Duration::from_millis(250));
    }

    #[tokio::test]
    async fn the_memory_for_people_is_bounded_and_keeps_the_latest() {
        let rig = Rig::new().await;
        for n in 0..KEPT + 10 {
            rig.askers.remember(&Person::new("T1", format!("U{n}")), |kept| kept.failed = Some(Instant::now()));
        }
        let people = rig.askers.lock();
        assert!(people.len() <= KEPT && people.len() >= 10, "{}", people.len());
        assert!(people.contains_key(&Person::new("T1", format!("U{}", KEPT + 9))));
        assert!(!people.contains_key(&Person::new("T1", "U0")));
    }
}
