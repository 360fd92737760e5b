//! Who and what a workspace begins with.

use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::domain::{ChannelId, Lang, TeamId, UserId};

/// A workspace's people, channels and bot.
#[derive(Clone, Debug)]
pub struct Seed {
    /// The workspace the bot is installed in.
    pub team: TeamId,
    /// The workspace's name.
    pub team_name: String,
    /// Everybody but the bot, in the order of the page's person switcher.
    pub users: Vec<User>,
    /// Channels, private channels and, if wanted, DMs. DMs with the bot are made on demand: see [`Seed::dm`].
    pub channels: Vec<Channel>,
    /// The installed app.
    pub bot: Bot,
    /// What `@handle`s name that are no person.
    pub groups: Vec<Group>,
}

/// A user group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// `S…`.
    pub id: String,
    /// What people type after `@`.
    pub handle: String,
    /// The name shown.
    pub name: String,
    /// Who is in it.
    pub members: Vec<UserId>,
}

/// The installed app and its bot user.
#[derive(Clone, Debug)]
pub struct Bot {
    /// The bot user: what a mention names.
    pub user: UserId,
    /// `B…`, on every message of the bot.
    pub bot_id: String,
    /// `A…`.
    pub app_id: String,
    /// The handle people type after `@`.
    pub name: String,
    /// The name shown.
    pub real_name: String,
}

/// A person, with the fields of Slack's user object that matter here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct User {
    /// `U…` or `W…`.
    pub id: UserId,
    /// The person's own workspace; another than the seed's for people of Slack Connect channels.
    pub team_id: TeamId,
    /// The handle.
    pub name: String,
    /// The name shown.
    pub real_name: String,
    /// What stands under the name (Slack's `profile.title`); the sample data puts the role here.
    pub title: String,
    /// IETF tag, such as `ja-JP`. Told only with `include_locale`.
    pub locale: String,
    /// IANA name; absent for some people of other workspaces.
    pub tz: Option<Tz>,
    /// A guest.
    pub is_restricted: bool,
    /// A guest of one channel.
    pub is_ultra_restricted: bool,
    /// Another bot.
    pub is_bot: bool,
    /// Deactivated.
    pub deleted: bool,
}

impl User {
    /// A full member of `team` who reads Japanese in Tokyo.
    pub fn new(team: &TeamId, id: &str, name: &str, real_name: &str) -> Self {
        Self {
            id: UserId::new(id),
            team_id: team.clone(),
            name: name.into(),
            real_name: real_name.into(),
            title: String::new(),
            locale: "ja-JP".into(),
            tz: Some(chrono_tz::Asia::Tokyo),
            is_restricted: false,
            is_ultra_restricted: false,
            is_bot: false,
            deleted: false,
        }
    }

    /// The same person reading English in `tz`.
    #[must_use]
    pub fn english(mut self, tz: Tz) -> Self {
        self.locale = "en-US".into();
        self.tz = Some(tz);
        self
    }

    /// The same person with a title.
    #[must_use]
    pub fn titled(mut self, title: &str) -> Self {
        self.title = title.into();
        self
    }

    /// The language this person's page is in.
    pub fn lang(&self) -> Lang {
        Lang::from_locale(&self.locale)
    }
}

/// A conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Channel {
    /// `C…`, or `D…` for a DM.
    pub id: ChannelId,
    /// The name without `#`; empty for a DM.
    pub name: String,
    /// Only members know that it exists.
    pub is_private: bool,
    /// A DM.
    pub is_im: bool,
    /// Shared with another workspace.
    pub is_ext_shared: bool,
    /// A DM of several people.
    #[serde(default)]
    pub is_mpim: bool,
    /// Read-only for ever.
    #[serde(default)]
    pub is_archived: bool,
    /// Everybody in it, the bot included where it was invited.
    pub members: Vec<UserId>,
}

impl Channel {
    /// A public channel with these members.
    pub fn public(id: &str, name: &str, members: &[&str]) -> Self {
        Self {
            id: ChannelId::new(id),
            name: name.into(),
            is_private: false,
            is_im: false,
            is_ext_shared: false,
            is_mpim: false,
            is_archived: false,
            members: members.iter().map(|m| UserId::new(*m)).collect(),
        }
    }

    /// A private channel with these members.
    pub fn private(id: &str, name: &str, members: &[&str]) -> Self {
        Self { is_private: true, ..Self::public(id, name, members) }
    }

    /// What events call its kind: `im`, `mpim`, `group` or `channel`.
    pub(super) fn channel_type(&self) -> &'static str {
        match (self.is_im, self.is_mpim, self.is_private) {
            (true, ..) => "im",
            (_, true, _) => "mpim",
            (.., true) => "group",
            _ => "channel",
        }
    }

    /// The name that payloads give it.
    pub(super) fn payload_name(&self) -> &str {
        match (self.is_im, self.is_private) {
            (true, _) => "directmessage",
            (false, true) => "privategroup",
            (false, false) => &self.name,
        }
    }

    /// The same channel, archived.
    #[must_use]
    pub fn archived(self) -> Self {
        Self { is_archived: true, ..self }
    }

    /// The same channel, shared with another workspace.
    #[must_use]
    pub fn shared(self) -> Self {
        Self { is_ext_shared: true, ..self }
    }

    /// Whether the person takes part.
    pub fn has(&self, user: &UserId) -> bool {
        self.members.contains(user)
    }
}

impl Seed {
    /// A small workspace for tests: `T1` with the bot `UBOT` (`B1`, `A1`), the people `U1` (Japanese, Tokyo) and `U2`
    /// (English, London), the public channel `C1` with all three and the public channel `C2` without the bot.
    pub fn small() -> Self {
        let team = TeamId::new("T1");
        let users = vec![
            User::new(&team, "U1", "ichiro", "見本 一郎"),
            User::new(&team, "U2", "jane", "Jane Sample").english(chrono_tz::Europe::London),
        ];
        Self {
            users,
            channels: vec![
                Channel::public("C1", "sales", &["U1", "U2", "UBOT"]),
                Channel::public("C2", "lunch", &["U1", "U2"]),
            ],
            bot: Bot {
                user: UserId::new("UBOT"),
                bot_id: "B1".into(),
                app_id: "A1".into(),
                name: "concierge".into(),
                real_name: "Concierge".into(),
            },
            groups: Vec::new(),
            team_name: "Sample".into(),
            team,
        }
    }

    /// The DM between a person and the bot: `D` and the rest of the person's id. The same at every start.
    pub fn dm(user: &UserId) -> ChannelId {
        let rest: String = user.as_str().chars().skip(1).collect();
        ChannelId::new(format!("D{rest}"))
    }
}
