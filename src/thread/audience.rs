//! Who reads a conversation, and whether all of them may see some rows (I17).
//!
//! What it promises: rows are shown in a conversation only when a setting says for whom it is, or when every person in it
//! has an active staff record that covers the rows and is a full member of the workspace. It fails closed: a channel that
//! is shared, a guest, somebody without a record, more people than can be looked at, or a Slack
//! that does not answer in time, and the answer goes to the asker alone. Staff records are read each time; who is in a
//! conversation is believed for some minutes, and what Slack says of a person for half an hour.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use serde::Deserialize;
use tokio::time::{Instant, timeout};

use crate::agent::Asker;
use crate::domain::{ChannelId, Person, Role, ThreadKey, UserId};
use crate::policy::{self, Table};
use crate::records::Records;
use crate::slack::client::{Client, Conversation, SlackError};
use crate::staff::{self, Staff};
use crate::thread::asker::{Askers, Standing};

/// How long a turn waits until it is known who reads along.
const WAITS: Duration = Duration::from_secs(5);

/// People of a conversation who are looked at; where there are more, a setting has to say for whom it is.
const MOST: usize = 500;

/// How long what Slack says of a person is believed here.
const KNOWN_FOR: Duration = Duration::from_mins(30);

/// Profiles asked for in a minute, so that the rest of Slack's hundred is left to those who ask something.
const PROFILES_PER_MINUTE: NonZeroU32 = NonZeroU32::new(60).unwrap();

/// Profiles asked for side by side.
const SIDE_BY_SIDE: usize = 8;

/// Conversations remembered at most; all are forgotten when it is full.
const KEPT: usize = 1_000;

/// `[audience]`: where figures may be shown.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Channels by id, and the departments whose rows may be shown there, whoever is in them.
    pub channels: BTreeMap<String, Departments>,
    /// No figures in public channels that are not named: everybody in the workspace can open one without being in it.
    pub public_closed: bool,
    /// How long the members of a conversation are believed without asking again, in seconds.
    pub members_s: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { channels: BTreeMap::new(), public_closed: false, members_s: 180 }
    }
}

impl Settings {
    /// The departments a channel is for. Slack's ids are capitals, names of variables are not always.
    fn of(&self, channel: &ChannelId) -> Option<&Departments> {
        self.channels.iter().find(|(id, _)| id.eq_ignore_ascii_case(channel.as_str())).map(|(_, of)| of)
    }
}

/// Names of departments, as a list or separated by commas.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Listed")]
pub struct Departments(Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Listed {
    List(Vec<String>),
    Text(String),
}

impl From<Listed> for Departments {
    fn from(listed: Listed) -> Self {
        let names = match listed {
            Listed::List(names) => names,
            Listed::Text(text) => text.split(',').map(str::to_owned).collect(),
        };
        Self(names.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect())
    }
}

/// Whose rows somebody wants to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// None: it may be shown to anybody.
    None,
    /// Of these departments.
    Of(Vec<String>),
    /// Of all departments there are.
    All,
}

impl Rows {
    fn visible_to(&self, staff: &Staff) -> bool {
        match self {
            Self::None => true,
            Self::Of(departments) => departments.iter().all(|d| staff.sees(d)),
            Self::All => staff.active && staff.role == Role::Admin,
        }
    }
}

/// Why rows are not shown in a conversation; a metric label.
type Closed = &'static str;

/// What is known of a conversation.
#[derive(Clone, Debug)]
struct Room {
    at: Instant,
    name: Option<String>,
    /// Everybody in it, or why it does not matter who is.
    members: Result<Arc<Vec<UserId>>, Closed>,
}

/// Finds out who reads along.
#[derive(Debug)]
pub struct Audience {
    records: Records,
    slack: Client,
    askers: Arc<Askers>,
    table: Table,
    me: UserId,
    settings: Settings,
    rooms: Mutex<HashMap<ChannelId, Room>>,
    direct: Mutex<HashMap<UserId, ChannelId>>,
    profiles: DefaultDirectRateLimiter,
}

impl Audience {
    /// Puts the parts together. `me` is the bot itself, which reads along everywhere.
    pub fn new(
        records: Records,
        slack: Client,
        askers: Arc<Askers>,
        table: Table,
        me: UserId,
        settings: Settings,
    ) -> Self {
        let profiles = RateLimiter::direct(Quota::per_minute(PROFILES_PER_MINUTE));
        Self {
            records,
            slack,
            askers,
            table,
            me,
            settings,
            rooms: Mutex::default(),
            direct: Mutex::default(),
            profiles,
        }
    }

    /// Whether everybody who reads a conversation may see these rows.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn may_read(&self, thread: &ThreadKey, asker: &Asker, rows: &Rows) -> Result<bool, sqlx::Error> {
        // A direct message is read by the asker alone.
        if *rows == Rows::None || thread.channel.as_str().starts_with('D') {
            return Ok(true);
        }
        let verdict = match self.settings.of(&thread.channel) {
            Some(Departments(named)) => match rows {
                Rows::Of(departments) if departments.iter().all(|d| named.contains(d)) => Ok(()),
                _ => Err("not_of_the_channel"),
            },
            None => match timeout(WAITS, self.look(thread, asker, rows)).await {
                Ok(looked) => looked?,
                Err(_) => Err("no_answer_in_time"),
            },
        };
        metrics::counter!("audience_total", "outcome" => verdict.err().unwrap_or("open")).increment(1);
        if let Err(reason) = verdict {
            tracing::debug!(reason, "figures are not shown in a conversation");
        }
        Ok(verdict.is_ok())
    }

    async fn look(&self, thread: &ThreadKey, asker: &Asker, rows: &Rows) -> Result<Result<(), Closed>, sqlx::Error> {
        let Some(room) = self.room(&thread.channel).await else { return Ok(Err("slack_does_not_say")) };
        let members = match room.members {
            Ok(members) => members,
            Err(closed) => return Ok(Err(closed)),
        };
        let staff = staff::list(self.records.read()).await?;
        let staff: HashMap<&Person, &Staff> = staff.iter().map(|record| (&record.person, record)).collect();
        let people = members.iter().filter(|user| **user != self.me);
        let people: Vec<Person> = people.map(|user| Person { team: thread.team.clone(), user: user.clone() }).collect();
        // First what costs nothing: one person without the rights is enough.
        let may = |record: &Staff| rows.visible_to(record) && self.reads_as(asker.role, record.role);
        if people.iter().filter_map(|person| staff.get(person)).any(|record| !may(record)) {
            return Ok(Err("without_rights"));
        }
        for some in people.chunks(SIDE_BY_SIDE) {
            let mut asked = Vec::with_capacity(some.len());
            for person in some {
                asked.push(self.standing(person));
            }
            for (person, standing) in some.iter().zip(join_all(asked).await) {
                match standing {
                    // Programs have no rights and no eyes.
                    Some(Standing::Bot) => {}
                    Some(Standing::Member) if staff.contains_key(person) => {}
                    Some(Standing::Member) => return Ok(Err("without_record")),
                    Some(Standing::Guest) => return Ok(Err("guest")),
                    Some(Standing::External) => return Ok(Err("external")),
                    None => return Ok(Err("unknown_member")),
                }
            }
        }
        Ok(Ok(()))
    }

    /// Whether a role may read whatever another one may.
    fn reads_as(&self, asker: Role, other: Role) -> bool {
        policy::reads().all(|tool| !self.table.allows(asker, tool) || self.table.allows(other, tool))
    }

    /// `None`: Slack does not say, or was asked too much lately.
    async fn standing(&self, person: &Person) -> Option<Standing> {
        if let Some(known) = self.askers.known(person, KNOWN_FOR) {
            return Some(known);
        }
        self.profiles.check().ok()?;
        self.askers.standing(person).await
    }

    /// The conversation as it was at most some minutes ago. `None`: Slack does not say.
    async fn room(&self, channel: &ChannelId) -> Option<Room> {
        let fresh = Duration::from_secs(self.settings.members_s);
        let known = lock(&self.rooms).get(channel).filter(|room| room.at.elapsed() < fresh).cloned();
        if known.is_some() {
            return known;
        }
        let at = Instant::now();
        let found = match self.slack.conversation(channel).await {
            Ok(conversation) => self.members(channel, &conversation).await.map(|members| (conversation, members)),
            Err(error) => Err(error),
        };
        let (conversation, members) =
            found.inspect_err(|error| tracing::warn!(%error, "who is in a conversation cannot be read")).ok()?;
        let room = Room { at, name: conversation.name, members };
        let mut rooms = lock(&self.rooms);
        if rooms.len() >= KEPT {
            rooms.clear();
        }
        rooms.insert(channel.clone(), room.clone());
        Some(room)
    }

    async fn members(
        &self,
        channel: &ChannelId,
        conversation: &Conversation,
    ) -> Result<Result<Arc<Vec<UserId>>, Closed>, SlackError> {
        if conversation.is_shared {
            return Ok(Err("shared"));
        }
        if !conversation.is_private && self.settings.public_closed {
            return Ok(Err("public"));
        }
        Ok(match self.slack.members(channel, MOST).await? {
            Some(members) => Ok(Arc::new(members)),
            None => Err("too_many_members"),
        })
    }

    /// A conversation's name, if it is known or Slack says it.
    pub async fn name_of(&self, channel: &ChannelId) -> Option<String> {
        timeout(WAITS, self.room(channel)).await.ok().flatten()?.name
    }

    /// The direct message with a person.
    ///
    /// # Errors
    /// When Slack does not open it.
    pub async fn dm(&self, user: &UserId) -> Result<ChannelId, SlackError> {
        if let Some(channel) = lock(&self.direct).get(user) {
            return Ok(channel.clone());
        }
        let channel = self.slack.direct_message(user).await?;
        let mut direct = lock(&self.direct);
        if direct.len() >= KEPT {
            direct.clear();
        }
        direct.insert(user.clone(), channel.clone());
        Ok(channel)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(json: serde_json::Value) -> Settings {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn departments_are_a_list_or_a_text_and_the_case_of_a_channels_id_does_not_matter() {
        let set = settings(serde_json::json!({"channels": {"c0one": "直販, 卸,", "C0TWO": ["直販", " 卸 "]}}));
        for channel in ["C0ONE", "C0TWO"] {
            assert_eq!(set.of(&ChannelId::new(channel)), Some(&Departments(vec!["直販".into(), "卸".into()])));
        }
        assert_eq!(set.of(&ChannelId::new("C0THREE")), None);
        assert_eq!(settings(serde_json::json!({})).of(&ChannelId::new("C0ONE")), None);
    }

    #[test]
    fn i17_rows_are_visible_to_whoever_sees_all_of_their_departments_today() {
        let of = |departments: &[&str]| Rows::Of(departments.iter().map(|d| (*d).to_owned()).collect());
        let staff = |role, departments: &[&str], active| Staff {
            person: Person::new("T1", "U1"),
            display_name: "A".into(),
            role,
            departments: departments.iter().map(|d| (*d).to_owned()).collect(),
            active,
        };
        for (rows, staff, sees) in [
            (of(&["east"]), staff(Role::Viewer, &["east", "west"], true), true),
            (of(&["east", "west"]), staff(Role::Manager, &["east"], true), false),
            (of(&["east"]), staff(Role::Admin, &[], true), true),
            (of(&["east"]), staff(Role::Admin, &["east"], false), false),
            (Rows::All, staff(Role::Admin, &[], true), true),
            (Rows::All, staff(Role::Manager, &["east", "west"], true), false),
            (Rows::All, staff(Role::Admin, &[], false), false),
            (Rows::None, staff(Role::Viewer, &[], false), true),
        ] {
            assert_eq!(rows.visible_to(&staff), sees, "{rows:?} {staff:?}");
        }
    }
}
