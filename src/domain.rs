//! Plain data that three or more modules share. No IO, no policy, nothing that can fail to build.
//!
//! Identifiers are newtypes so that a user cannot be passed where a channel is expected. All of them are opaque
//! strings: a Slack `ts` in particular is never parsed into a float, which would lose its last digits.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps the identifier as Slack or the store spelled it.
            pub fn new(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// The identifier as Slack or the store spells it.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// A Slack workspace, such as `T0FARM`.
    TeamId
);
id!(
    /// A Slack user, such as `U0SATO`; begins with `U` or `W`.
    UserId
);
id!(
    /// A Slack conversation: channel, private channel, group DM or DM.
    ChannelId
);
id!(
    /// A Slack message timestamp, the message's identity within its channel.
    MessageTs
);
id!(
    /// A proposal: 160 random bits in base64url. The only thing a card's buttons carry.
    ProposalId
);
id!(
    /// One turn: a function of (installation, channel, ts), or of the turn it continues.
    TurnId
);

/// A person in Slack. Rights hang on this pair alone, never on a name or on anything a model says.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Person {
    /// The workspace the person belongs to (not necessarily the installation's).
    pub team: TeamId,
    /// The person within that workspace.
    pub user: UserId,
}

impl Person {
    /// Builds the pair.
    pub fn new(team: impl Into<String>, user: impl Into<String>) -> Self {
        Self { team: TeamId::new(team), user: UserId::new(user) }
    }

    /// The `sub` of a caller token: `slack:TEAM:USER`.
    pub fn subject(&self) -> String {
        format!("slack:{}:{}", self.team, self.user)
    }

    /// Reads what [`Person::subject`] wrote.
    pub fn from_subject(subject: &str) -> Option<Self> {
        let (team, user) = subject.strip_prefix("slack:")?.split_once(':')?;
        if team.is_empty() || user.is_empty() || user.contains(':') {
            return None;
        }
        Some(Self::new(team, user))
    }
}

/// The key of a conversation. Its text form is stored, so it is versioned: see its `Display`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ThreadKey {
    /// The installation's workspace.
    pub team: TeamId,
    /// Where the conversation is.
    pub channel: ChannelId,
    /// `thread_ts` of the message, or its own `ts` when it begins a thread. The same rule in channels and DMs.
    pub root: MessageTs,
}

impl ThreadKey {
    /// The conversation a message belongs to.
    pub fn of(team: &TeamId, channel: &ChannelId, ts: &MessageTs, thread_ts: Option<&MessageTs>) -> Self {
        Self { team: team.clone(), channel: channel.clone(), root: thread_ts.unwrap_or(ts).clone() }
    }
}

impl fmt::Display for ThreadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v1:{}:{}:{}", self.team, self.channel, self.root)
    }
}

/// The language a person reads. Everything a person sees exists in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lang {
    /// Japanese.
    Ja,
    /// English; also for every locale we have no words for.
    En,
}

impl Lang {
    /// From a Slack locale such as `ja-JP`.
    pub fn from_locale(locale: &str) -> Self {
        if locale.to_ascii_lowercase().starts_with("ja") { Self::Ja } else { Self::En }
    }

    /// `ja` or `en`.
    pub fn code(self) -> &'static str {
        match self {
            Self::Ja => "ja",
            Self::En => "en",
        }
    }
}

/// What a member of staff may do. Read from the staff record on each use, never from a token or a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads of the own departments.
    Viewer,
    /// Reads, registers, cancels own registrations.
    Sales,
    /// Also cancels any of the department and approves above the limit.
    Manager,
    /// All departments.
    Admin,
}

impl Role {
    /// The name in the staff table and the settings.
    pub fn code(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Sales => "sales",
            Self::Manager => "manager",
            Self::Admin => "admin",
        }
    }

    /// Reads [`Role::code`].
    pub fn from_code(code: &str) -> Option<Self> {
        match code {
            "viewer" => Some(Self::Viewer),
            "sales" => Some(Self::Sales),
            "manager" => Some(Self::Manager),
            "admin" => Some(Self::Admin),
            _ => None,
        }
    }
}

/// A tool call as a model asked for it. Nothing in it is trusted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call; the result must name it.
    pub id: String,
    /// The tool's name as the model spelled it.
    pub name: String,
    /// The arguments, always a JSON object.
    pub arguments: Map<String, Value>,
}

/// How much harm a misuse could do; stands beside each event of the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// A read within the person's rights.
    Low,
    /// A write within the ordinary, or a read that was refused.
    Medium,
    /// Takes something back.
    High,
    /// A sign of forgery or of a broken rule; a tool nobody knows.
    Critical,
}

impl Risk {
    /// The risk of a call by its tool alone: the same in the bot and in the sales server.
    pub fn of(tool: &str) -> Self {
        match tool {
            "get_customers" | "get_sales" | "list_registrations" | "summarize_sales" => Self::Low,
            "add_sale" => Self::Medium,
            "cancel_sale" => Self::High,
            _ => Self::Critical,
        }
    }

    /// The name in the store.
    pub fn code(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// Whole yen, never negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Yen(pub i64);

impl fmt::Display for Yen {
    /// `¥1,800`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.unsigned_abs().to_string();
        let mut grouped = String::with_capacity(digits.len() + digits.len() / 3 + 4);
        for (i, c) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                grouped.push(',');
            }
            grouped.push(c);
        }
        write!(f, "{}¥{grouped}", if self.0 < 0 { "-" } else { "" })
    }
}

/// The life of a proposal; `docs/architecture.md` has the diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposalState {
    /// A card waits for the requester.
    Pending,
    /// Above the requester's limit: a manager's card waits.
    AwaitingManager,
    /// A press was accepted; the write is being carried out and is driven to its end.
    Claimed,
    /// Written.
    Done,
    /// Definitely refused by the server; nothing was written.
    Failed,
    /// A write of a server without idempotency whose outcome nobody knows. Never ours.
    Unknown,
    /// The person pressed cancel.
    Cancelled,
    /// Nobody decided in time.
    Expired,
    /// Replaced by a newer proposal.
    Superseded,
}

impl ProposalState {
    /// The name in the store.
    pub fn code(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::AwaitingManager => "awaiting_manager",
            Self::Claimed => "claimed",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Superseded => "superseded",
        }
    }

    /// Reads [`ProposalState::code`].
    pub fn from_code(code: &str) -> Option<Self> {
        [
            Self::Pending,
            Self::AwaitingManager,
            Self::Claimed,
            Self::Done,
            Self::Failed,
            Self::Unknown,
            Self::Cancelled,
            Self::Expired,
            Self::Superseded,
        ]
        .into_iter()
        .find(|s| s.code() == code)
    }

    /// No press and no sweep can change it any more.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Pending | Self::AwaitingManager | Self::Claimed)
    }
}

/// The write exactly as it will be made and as the card shows it. The digest covers all of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "tool", rename_all = "snake_case")]
pub enum Write {
    /// `add_sale`.
    AddSale {
        /// The customer's code.
        code_customer: String,
        /// The customer's name at the time of the card.
        name_customer: String,
        /// The customer's department at the time of the card.
        department: String,
        /// What was sold, free text.
        products: String,
        /// The whole amount.
        price: Yen,
        /// The day of the sale.
        date_sales: NaiveDate,
    },
    /// `cancel_sale`.
    CancelSale {
        /// The sale's number.
        code_sales: String,
        /// The customer's code.
        code_customer: String,
        /// The customer's name at the time of the card.
        name_customer: String,
        /// The customer's department at the time of the card.
        department: String,
        /// What was sold.
        products: String,
        /// The amount of the sale to be cancelled.
        price: Yen,
        /// The day of the sale to be cancelled.
        date_sales: NaiveDate,
        /// Why.
        reason: String,
    },
}

impl Write {
    /// The tool that carries it out.
    pub fn tool(&self) -> &'static str {
        match self {
            Self::AddSale { .. } => "add_sale",
            Self::CancelSale { .. } => "cancel_sale",
        }
    }

    /// The arguments of the tool call, normalised: what the sales server receives.
    pub fn arguments(&self) -> Map<String, Value> {
        let mut map = Map::new();
        match self {
            Self::AddSale { code_customer, products, price, date_sales, .. } => {
                map.insert("code_customer".into(), code_customer.clone().into());
                map.insert("products".into(), products.clone().into());
                map.insert("price".into(), price.0.into());
                map.insert("date_sales_str".into(), date_sales.to_string().into());
            }
            Self::CancelSale { code_sales, reason, .. } => {
                map.insert("code_sales".into(), code_sales.clone().into());
                map.insert("reason".into(), reason.clone().into());
            }
        }
        map
    }

    /// The customer's name as shown.
    pub fn name_customer(&self) -> &str {
        match self {
            Self::AddSale { name_customer, .. } | Self::CancelSale { name_customer, .. } => name_customer,
        }
    }

    /// The department as shown.
    pub fn department(&self) -> &str {
        match self {
            Self::AddSale { department, .. } | Self::CancelSale { department, .. } => department,
        }
    }

    /// The amount as shown.
    pub fn price(&self) -> Yen {
        match self {
            Self::AddSale { price, .. } | Self::CancelSale { price, .. } => *price,
        }
    }
}

/// Where the values of a proposed sale came from, for the person who decides. Empty for a cancellation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Grounds {
    /// Of the day.
    pub date: Option<Ground<NaiveDate>>,
    /// Of the amount; `None` also when the words are the amount, digit by digit.
    pub price: Option<Ground<Yen>>,
    /// What the words say of tax beside the amount. Noticed, never worked out.
    pub tax: Option<TaxNote>,
}

/// Where one value came from. The words are the requester's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Ground<T> {
    /// The words mean it, and perhaps something else.
    Words {
        /// As written.
        words: String,
        /// Their other meanings.
        also: Vec<T>,
    },
    /// One day of the period that the words name.
    Part {
        /// As written.
        words: String,
    },
    /// The person did not say; the host's default.
    Default,
    /// The person did not say, and it is no default.
    Unsaid,
    /// The words mean something else.
    Differs {
        /// As written.
        words: String,
        /// What they mean; nothing when they are no valid day or amount.
        says: Vec<T>,
    },
}

/// Whether tax is in an amount, as the words say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaxNote {
    /// 税込, "tax included".
    Included,
    /// 税抜, "plus tax".
    Excluded,
}

/// A proposed write and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// What the buttons carry.
    pub id: ProposalId,
    /// The conversation it came from.
    pub thread: ThreadKey,
    /// Who asked; the only one who may press (above the limit: see [`ProposalState::AwaitingManager`]).
    pub requester: Person,
    /// The requester's language when the card was made; the card stays in it.
    pub lang: Lang,
    /// The turn that proposed it.
    pub turn: TurnId,
    /// The turn whose continuation its decision may start.
    pub origin_turn: TurnId,
    /// How many continuations led here; see the limits.
    pub depth: u32,
    /// The write as shown.
    pub write: Write,
    /// Where its values came from.
    pub grounds: Grounds,
    /// Hex SHA-256 over the canonical form of `write`; see [`crate::tokens::digest`].
    pub digest: String,
    /// Where it stands.
    pub state: ProposalState,
    /// Milliseconds since the epoch, database clock.
    pub created_at: i64,
    /// Milliseconds since the epoch, database clock.
    pub expires_at: i64,
    /// Who decided, once decided by a person.
    pub decided_by: Option<Person>,
    /// The registered or cancelled sale's row, once done, as the sales server returned it.
    pub result: Option<Value>,
    /// The error code of the sales server, once failed.
    pub failure: Option<String>,
}

/// Where the time comes from. Everything that needs "now" is given this; `clippy.toml` forbids the other ways.
///
/// Tests shift it; production never does.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    shift_ms: Arc<AtomicI64>,
}

impl Clock {
    /// The system's time.
    pub fn system() -> Self {
        Self::default()
    }

    /// Moves this clock and all its clones by `by`.
    pub fn advance(&self, by: TimeDelta) {
        self.shift_ms.fetch_add(by.num_milliseconds(), Ordering::Relaxed);
    }

    /// The current time.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the system's clock")]
    pub fn now(&self) -> DateTime<Utc> {
        Utc::now() + TimeDelta::milliseconds(self.shift_ms.load(Ordering::Relaxed))
    }

    /// Milliseconds since the epoch.
    pub fn now_ms(&self) -> i64 {
        self.now().timestamp_millis()
    }

    /// The calendar day in a zone.
    pub fn today(&self, zone: Tz) -> NaiveDate {
        self.now().with_timezone(&zone).date_naive()
    }
}

/// A secret that never shows in output: tokens, keys, signing secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps it.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// The secret itself, for the one call that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_reads_back_and_nothing_else_does() {
        let p = Person::new("T1", "U1");
        assert_eq!(Person::from_subject(&p.subject()), Some(p));
        for bad in ["", "slack:", "slack:T1", "slack::U1", "slack:T1:", "slack:T1:U1:x", "T1:U1", "SLACK:T1:U1"] {
            assert_eq!(Person::from_subject(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_thread_key_is_golden() {
        let (t, c, ts) = (TeamId::new("T1"), ChannelId::new("C1"), MessageTs::new("1.000100"));
        assert_eq!(ThreadKey::of(&t, &c, &ts, None).to_string(), "v1:T1:C1:1.000100");
        assert_eq!(ThreadKey::of(&t, &c, &ts, Some(&MessageTs::new("0.9"))).to_string(), "v1:T1:C1:0.9");
    }

    #[test]
    fn yen_is_grouped_by_thousands() {
        for (n, s) in
            [(0, "¥0"), (600, "¥600"), (1800, "¥1,800"), (999_999_999_999, "¥999,999,999,999"), (-1000, "-¥1,000")]
        {
            assert_eq!(Yen(n).to_string(), s);
        }
    }
}
