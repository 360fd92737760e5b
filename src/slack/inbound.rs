//! What Slack sends.

use super::signature::VerifiedBody;
use crate::domain::{ChannelId, MessageTs, Person, ProposalId, TeamId, UserId};

/// Who the bot is, from `auth.test`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Me {
    /// The installation's workspace.
    pub team: TeamId,
    /// The bot user.
    pub user: UserId,
    /// The bot id that our own messages carry.
    pub bot_id: Option<String>,
    /// The app's id.
    pub app_id: Option<String>,
}

/// A signed event, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    /// Slack checks the URL; answer with this.
    Challenge(String),
    /// A person wrote something.
    Message(Message),
    /// A person opened the app's home or messages tab.
    HomeOpened {
        /// Who.
        who: Person,
        /// Their conversation with the bot.
        channel: ChannelId,
        /// `home` or `messages`.
        tab: String,
    },
    /// Understood and not for us; the reason is a metric label.
    Ignored(&'static str),
    /// Signed but not readable; the reason is a metric label.
    NotUnderstood(&'static str),
}

/// What kind of conversation, as far as the event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// With one person.
    Dm,
    /// With several people.
    GroupDm,
    /// A public channel.
    Channel,
    /// A private channel.
    Private,
    /// The event does not say (mentions do not).
    Unknown,
}

/// A person's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Slack's id of the delivery's event.
    pub event_id: Option<String>,
    /// The installation's workspace.
    pub team: TeamId,
    /// Where.
    pub channel: ChannelId,
    /// What kind of conversation.
    pub channel_kind: ChannelKind,
    /// Who wrote it. The team is the event's if it names one, else the installation's.
    pub sender: Person,
    /// Readable: unescaped, without the bot's own mention, other tokens as people see them.
    pub text: String,
    /// The bot itself is mentioned.
    pub mentions_me: bool,
    /// Someone or some group besides the bot is mentioned.
    pub mentions_others: bool,
    /// The message.
    pub ts: MessageTs,
    /// The thread it is in, if any.
    pub thread_ts: Option<MessageTs>,
    /// The conversation is shared with another company.
    pub is_ext_shared: bool,
}

/// A signed interaction, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interaction {
    /// A press of one of a card's buttons.
    Click(Click),
    /// Understood and not for us; the reason is a metric label.
    Ignored(&'static str),
    /// Signed but not readable; the reason is a metric label.
    NotUnderstood(&'static str),
}

/// Which button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClickAction {
    /// Carry it out.
    Confirm,
    /// Do not.
    Cancel,
}

/// A press.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Click {
    /// Stable for one press, however often the transport repeats it.
    pub id: String,
    /// What the button carries.
    pub proposal: ProposalId,
    /// Which button.
    pub action: ClickAction,
    /// Who pressed, with their own workspace.
    pub who: Person,
    /// Where the card is.
    pub channel: ChannelId,
    /// The card.
    pub message_ts: MessageTs,
    /// For private answers to the presser; empty when Slack gave none.
    pub response_url: String,
    /// Hex SHA-256 of the signed body.
    pub body_hash: String,
}

/// Reads a signed event.
pub fn event(body: &VerifiedBody, me: &Me) -> Inbound {
    let _ = (body, me);
    Inbound::Ignored("temporary")
}

/// Reads a signed interaction.
pub fn interaction(body: &VerifiedBody) -> Interaction {
    let _ = body;
    Interaction::Ignored("temporary")
}
