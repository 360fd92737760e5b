//! What Slack sends, read leniently from raw JSON.
//!
//! What it promises: no signed body makes it fail. Only the fields that are needed are looked at, wherever else the
//! payload is null, of another type or unknown; what cannot be used is named by a reason that is a metric label. Only
//! words that a person wrote become a [`Message`]: not the bot's own, not another bot's. An edit is one only where its
//! author changed the words: previews, replies below and translations arrive in the same form and are none.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::signature::VerifiedBody;
use crate::domain::{ChannelId, MessageTs, Person, ProposalId, TeamId, UserId};

mod words;

pub use words::{Readable, readable, unescape};

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
    /// A person changed the words of a message of theirs.
    Edited {
        /// The message as it is now.
        message: Message,
        /// When: tells one edit from the next, and is the same in all events about it.
        at: MessageTs,
    },
    /// A person's message is gone. It has no words any more.
    Deleted(Message),
    /// The installation has ended, or the bot's token has; the reason is a metric label.
    Ended(&'static str),
    /// Slack drops events because there are too many.
    RateLimited,
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
    /// Files came with it; they are not read.
    pub has_files: bool,
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

/// Why a payload comes to nothing.
#[derive(Clone, Copy)]
enum Dropped {
    Ignored(&'static str),
    NotUnderstood(&'static str),
}

impl From<Dropped> for Inbound {
    fn from(dropped: Dropped) -> Self {
        match dropped {
            Dropped::Ignored(reason) => Self::Ignored(reason),
            Dropped::NotUnderstood(reason) => Self::NotUnderstood(reason),
        }
    }
}

impl From<Dropped> for Interaction {
    fn from(dropped: Dropped) -> Self {
        match dropped {
            Dropped::Ignored(reason) => Self::Ignored(reason),
            Dropped::NotUnderstood(reason) => Self::NotUnderstood(reason),
        }
    }
}

/// Reads a signed event.
pub fn event(body: &VerifiedBody, me: &Me) -> Inbound {
    read_event(body, me).unwrap_or_else(Inbound::from)
}

/// Reads a message that Slack gave when it was asked what was said in a conversation. It is read as the event that it was
/// once, but for what such an answer does not say: whether other companies share the conversation.
pub fn reread(channel: &ChannelId, said: &Value, me: &Me) -> Option<Message> {
    let mut event = said.clone();
    let fields = event.as_object_mut()?;
    fields.insert("channel".into(), channel.as_str().into());
    // The words are those of the last edit.
    fields.remove("edited");
    match message(&serde_json::json!({ "event": event }), me) {
        Ok(Inbound::Message(message)) => Some(message),
        Ok(_) | Err(_) => None,
    }
}

fn read_event(body: &VerifiedBody, me: &Me) -> Result<Inbound, Dropped> {
    let envelope = json(body.body())?;
    // Of Slack itself and not of a workspace: nobody subscribes to it, and it comes in either place.
    if first_text(&envelope, &["/event/type", "/type"]) == Some("app_rate_limited") {
        return Ok(Inbound::RateLimited);
    }
    match text_at(&envelope, "/type") {
        Some("url_verification") => {
            let challenge = text_at(&envelope, "/challenge").ok_or(Dropped::NotUnderstood("no_challenge"))?;
            Ok(Inbound::Challenge(challenge.to_owned()))
        }
        Some("event_callback") => match text_at(&envelope, "/event/type") {
            Some("message" | "app_mention") => message(&envelope, me),
            Some("app_home_opened") => home_opened(&envelope, me),
            Some("app_uninstalled") => ended(&envelope, me, "app_uninstalled"),
            Some("tokens_revoked") => revoked(&envelope, me),
            Some(_) => Err(Dropped::Ignored("other_event")),
            None => Err(Dropped::NotUnderstood("no_event")),
        },
        Some(_) => Err(Dropped::NotUnderstood("unknown_type")),
        None => Err(Dropped::NotUnderstood("no_type")),
    }
}

fn json(bytes: &[u8]) -> Result<Value, Dropped> {
    let text = std::str::from_utf8(bytes).map_err(|_| Dropped::NotUnderstood("not_utf8"))?;
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(Dropped::NotUnderstood("not_an_object")),
        Err(_) => Err(Dropped::NotUnderstood("not_json")),
    }
}

fn text_at<'a>(value: &'a Value, path: &str) -> Option<&'a str> {
    value.pointer(path).and_then(Value::as_str).filter(|s| !s.is_empty())
}

fn first_text<'a>(value: &'a Value, paths: &[&str]) -> Option<&'a str> {
    paths.iter().find_map(|path| text_at(value, path))
}

/// The workspace the bot is installed in and sees the event through; `team_id` alone may be the other company's.
fn installation(envelope: &Value, me: &Me) -> TeamId {
    first_text(envelope, &["/authorizations/0/team_id", "/context_team_id", "/team_id"])
        .map_or_else(|| me.team.clone(), TeamId::new)
}

/// Of a message or an event: the person, with the workspace it names, else the installation's.
fn sender(of: &Value, user: &str, installation: &TeamId) -> Person {
    let team = first_text(of, &["/user_team", "/source_team", "/team"]);
    Person { team: team.map_or_else(|| installation.clone(), TeamId::new), user: UserId::new(user) }
}

fn message(envelope: &Value, me: &Me) -> Result<Inbound, Dropped> {
    let event = envelope.get("event").unwrap_or(&Value::Null);
    if let Some(reason) = not_a_person(event, me) {
        return Err(Dropped::Ignored(reason));
    }
    match text_at(event, "/subtype") {
        Some("message_changed") => return changed(envelope, event, me),
        Some("message_deleted") => return deleted(envelope, event, me),
        // Something about a thread, in the form of a message.
        Some("message_replied") => return Err(Dropped::Ignored("edit")),
        _ => {}
    }
    if let Some(reason) = no_words(event) {
        return Err(Dropped::Ignored(reason));
    }
    let message = written(envelope, event, event, me)?;
    match editor(event) {
        None => Ok(Inbound::Message(message)),
        // An edit that mentions the bot is a mention again.
        Some((by, at)) if text_at(event, "/type") == Some("app_mention") && by == message.sender.user.as_str() => {
            Ok(Inbound::Edited { at: MessageTs::new(at), message })
        }
        Some(_) => Err(Dropped::Ignored("edit")),
    }
}

/// The message `of` that an event is about; in most events it is the event itself.
fn written(envelope: &Value, event: &Value, of: &Value, me: &Me) -> Result<Message, Dropped> {
    let user = text_at(of, "/user").ok_or(Dropped::Ignored("no_user"))?;
    let channel = text_at(event, "/channel").ok_or(Dropped::NotUnderstood("no_channel"))?;
    let ts = text_at(of, "/ts").ok_or(Dropped::NotUnderstood("no_ts"))?;
    let team = installation(envelope, me);
    let readable = readable(text_at(of, "/text").unwrap_or_default(), &me.user);
    Ok(Message {
        event_id: text_at(envelope, "/event_id").map(str::to_owned),
        sender: sender(of, user, &team),
        team,
        channel: ChannelId::new(channel),
        channel_kind: match text_at(event, "/channel_type") {
            Some("im") => ChannelKind::Dm,
            Some("mpim") => ChannelKind::GroupDm,
            Some("channel") => ChannelKind::Channel,
            Some("group") => ChannelKind::Private,
            _ if channel.starts_with('D') => ChannelKind::Dm,
            _ => ChannelKind::Unknown,
        },
        text: readable.text,
        mentions_me: readable.mentions_me || text_at(event, "/type") == Some("app_mention"),
        mentions_others: readable.mentions_others,
        ts: MessageTs::new(ts),
        thread_ts: text_at(of, "/thread_ts").map(MessageTs::new),
        is_ext_shared: envelope.get("is_ext_shared_channel").and_then(Value::as_bool).unwrap_or(false),
        has_files: of.get("files").and_then(Value::as_array).is_some_and(|files| !files.is_empty()),
    })
}

/// Slack sends this for every change of a message, most of which nobody made: a preview was added, a reply landed below,
/// a translation was stored, the bot itself changed or streamed one.
fn changed(envelope: &Value, event: &Value, me: &Me) -> Result<Inbound, Dropped> {
    let none = Dropped::Ignored("edit");
    let (after, before) = (event.get("message").unwrap_or(&Value::Null), event.get("previous_message"));
    // A root that still has replies is not deleted but emptied.
    if text_at(after, "/subtype") == Some("tombstone") {
        return deleted(envelope, event, me);
    }
    if let Some(reason) = not_a_person(after, me) {
        return Err(Dropped::Ignored(reason));
    }
    if is_no_plain_message(after) {
        return Err(none);
    }
    let (by, at) = editor(after).ok_or(none)?;
    let message = written(envelope, event, after, me).map_err(|_| none)?;
    if by != message.sender.user.as_str() {
        return Err(none);
    }
    // Without the words from before nobody can tell whether they changed.
    let was = before.filter(|before| before.is_object()).ok_or(none)?;
    let was = readable(text_at(was, "/text").unwrap_or_default(), &me.user);
    let mentions = (was.mentions_me, was.mentions_others);
    if same_words(&was.text, &message.text) && mentions == (message.mentions_me, message.mentions_others) {
        return Err(none);
    }
    Ok(Inbound::Edited { at: MessageTs::new(at), message })
}

/// Whether two texts differ in nothing but white space.
pub fn same_words(a: &str, b: &str) -> bool {
    a.split_whitespace().eq(b.split_whitespace())
}

fn deleted(envelope: &Value, event: &Value, me: &Me) -> Result<Inbound, Dropped> {
    let none = Dropped::Ignored("edit");
    let before = event.get("previous_message").unwrap_or(&Value::Null);
    if let Some(reason) = not_a_person(before, me) {
        return Err(Dropped::Ignored(reason));
    }
    let mut message = written(envelope, event, before, me).map_err(|_| none)?;
    if text_at(event, "/deleted_ts").is_some_and(|ts| ts != message.ts.as_str()) {
        return Err(none);
    }
    message.text.clear();
    Ok(Inbound::Deleted(message))
}

/// Who last changed a message, and when.
fn editor(message: &Value) -> Option<(&str, &str)> {
    let edited = message.get("edited").filter(|edited| !edited.is_null())?;
    Some((text_at(edited, "/user").unwrap_or_default(), text_at(edited, "/ts").unwrap_or_default()))
}

/// What a person said, as it is read from a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spoken {
    /// Who.
    pub sender: Person,
    /// Readable, as in [`Message::text`].
    pub text: String,
    /// The message.
    pub ts: MessageTs,
}

/// A message of a thread; `None` when it is no person's words.
pub fn spoken(message: &Value, installation: &TeamId, me: &Me) -> Option<Spoken> {
    if not_a_person(message, me).or_else(|| no_words(message)).is_some() {
        return None;
    }
    Some(Spoken {
        sender: sender(message, text_at(message, "/user")?, installation),
        text: readable(text_at(message, "/text").unwrap_or_default(), &me.user).text,
        ts: MessageTs::new(text_at(message, "/ts")?),
    })
}

/// Why a message or event is of no person: the bot itself, another bot, Slack.
fn not_a_person(message: &Value, me: &Me) -> Option<&'static str> {
    let mine = |path: &str, id: &Option<String>| text_at(message, path).is_some_and(|x| Some(x) == id.as_deref());
    if mine("/bot_id", &me.bot_id)
        || mine("/app_id", &me.app_id)
        || mine("/bot_profile/app_id", &me.app_id)
        || text_at(message, "/user") == Some(me.user.as_str())
    {
        return Some("own_message");
    }
    if ["bot_id", "bot_profile"].iter().any(|key| message.get(key).is_some_and(|v| !v.is_null()))
        || text_at(message, "/subtype") == Some("bot_message")
    {
        return Some("bot_message");
    }
    (text_at(message, "/user") == Some("USLACKBOT")).then_some("slackbot")
}

/// Why an event is none of words that a person just wrote.
fn no_words(event: &Value) -> Option<&'static str> {
    if is_no_plain_message(event) {
        return Some("subtype");
    }
    (event.get("hidden").and_then(Value::as_bool) == Some(true)).then_some("hidden")
}

/// Most subtypes tell what happened in a channel, as if it were a message.
fn is_no_plain_message(message: &Value) -> bool {
    !matches!(text_at(message, "/subtype"), None | Some("file_share" | "thread_broadcast" | "me_message"))
}

/// Of our own workspace: in a channel shared with another company, that one's events arrive too.
fn ended(envelope: &Value, me: &Me, why: &'static str) -> Result<Inbound, Dropped> {
    if installation(envelope, me) == me.team { Ok(Inbound::Ended(why)) } else { Err(Dropped::Ignored("other_team")) }
}

/// People's own tokens are revoked in the same form as the bot's.
fn revoked(envelope: &Value, me: &Me) -> Result<Inbound, Dropped> {
    let bots = envelope.pointer("/event/tokens/bot").and_then(Value::as_array);
    if bots.is_some_and(|bots| bots.iter().any(|bot| bot.as_str() == Some(me.user.as_str()))) {
        ended(envelope, me, "tokens_revoked")
    } else {
        Err(Dropped::Ignored("other_token"))
    }
}

fn home_opened(envelope: &Value, me: &Me) -> Result<Inbound, Dropped> {
    let user = text_at(envelope, "/event/user").ok_or(Dropped::NotUnderstood("no_user"))?;
    Ok(Inbound::HomeOpened {
        who: sender(envelope.get("event").unwrap_or(&Value::Null), user, &installation(envelope, me)),
        channel: ChannelId::new(text_at(envelope, "/event/channel").unwrap_or_default()),
        tab: text_at(envelope, "/event/tab").unwrap_or("home").to_owned(),
    })
}

/// Reads a signed interaction: a form with one field of JSON.
pub fn interaction(body: &VerifiedBody) -> Interaction {
    read_interaction(body).unwrap_or_else(Interaction::from)
}

fn read_interaction(body: &VerifiedBody) -> Result<Interaction, Dropped> {
    let not_understood = Dropped::NotUnderstood;
    std::str::from_utf8(body.body()).map_err(|_| not_understood("not_utf8"))?;
    let payload = url::form_urlencoded::parse(body.body())
        .find_map(|(key, value)| (key == "payload").then_some(value))
        .ok_or(not_understood("no_payload"))?;
    let payload = json(payload.as_bytes())?;
    match text_at(&payload, "/type") {
        Some("block_actions") => {}
        Some(_) => return Err(Dropped::Ignored("other_interaction")),
        None => return Err(not_understood("no_type")),
    }
    let actions = payload.get("actions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if actions.is_empty() {
        return Err(not_understood("no_action"));
    }
    let (pressed, action) = actions
        .iter()
        .find_map(|a| match text_at(a, "/action_id")? {
            super::cards::CONFIRM => Some((a, ClickAction::Confirm)),
            super::cards::CANCEL => Some((a, ClickAction::Cancel)),
            _ => None,
        })
        .ok_or(Dropped::Ignored("other_action"))?;
    let need = |paths: &[&str], reason| first_text(&payload, paths).ok_or(not_understood(reason));
    let proposal = text_at(pressed, "/value").filter(|v| is_proposal_id(v)).ok_or(not_understood("bad_value"))?;
    let user = need(&["/user/id"], "no_user")?;
    // The presser's own workspace. Without one nobody can be looked up, and nobody is allowed by default.
    let team = need(&["/user/team_id", "/team/id"], "no_team")?;
    let channel = need(&["/container/channel_id", "/channel/id"], "no_channel")?;
    let message_ts = need(&["/container/message_ts", "/message/ts"], "no_message")?;
    let body_hash = body.hash_hex();
    // Without a time of its own, only the identical body is the same press.
    let action_ts = text_at(pressed, "/action_ts").unwrap_or(&body_hash);
    let action_id = text_at(pressed, "/action_id").unwrap_or_default();
    let id = click_id(&[team, channel, message_ts, action_ts, user, action_id]);
    Ok(Interaction::Click(Click {
        id,
        proposal: ProposalId::new(proposal),
        action,
        who: Person::new(team, user),
        channel: ChannelId::new(channel),
        message_ts: MessageTs::new(message_ts),
        response_url: text_at(&payload, "/response_url").unwrap_or_default().to_owned(),
        body_hash,
    }))
}

/// Buttons carry base64url of 160 bits and nothing else; anything longer than a generous bound is not ours.
fn is_proposal_id(value: &str) -> bool {
    value.len() <= 64 && value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// Each part is preceded by its length, so that no two lists of parts have the same id.
fn click_id(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex::encode(hash.finalize())
}

#[cfg(test)]
mod tests;
