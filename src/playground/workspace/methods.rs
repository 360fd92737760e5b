//! Which methods there are: what each needs to be granted, how often it may be called, and who carries it out.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::hub::Hub;
use super::limits::Rate;
use super::seed::Channel;
use super::web_api::{Answer, ApiError};
use super::{conversations, directory, files, messages, reactions, streams, surfaces, views};
use crate::domain::{MessageTs, UserId};

pub(super) type Args = Map<String, Value>;

/// A method of the Web API.
pub(super) struct Method {
    /// Such as `chat.postMessage`.
    pub(super) name: &'static str,
    /// The app needs one of these; none: a token is enough.
    pub(super) scopes: &'static [&'static str],
    pub(super) rate: Rate,
    /// Slack reads a JSON body only in methods that write; to these it is as if no argument had been given.
    pub(super) form_only: bool,
    run: fn(&Arc<Hub>, &Args) -> Answer,
}

impl Method {
    pub(super) fn call(&self, hub: &Arc<Hub>, args: &Args) -> Answer {
        (self.run)(hub, args)
    }
}

const fn writes(name: &'static str, scopes: &'static [&'static str], rate: Rate, run: Run) -> Method {
    Method { name, scopes, rate, form_only: false, run }
}

const fn reads(name: &'static str, scopes: &'static [&'static str], rate: Rate, run: Run) -> Method {
    Method { name, scopes, rate, form_only: true, run }
}

type Run = fn(&Arc<Hub>, &Args) -> Answer;

const CHAT: &[&str] = &["chat:write"];
const HISTORY: &[&str] = &["channels:history", "groups:history", "mpim:history", "im:history"];
const READ: &[&str] = &["channels:read", "groups:read", "mpim:read", "im:read"];
const OPEN: &[&str] = &["im:write", "mpim:write", "channels:manage", "groups:write"];
const USERS: &[&str] = &["users:read"];
const ASSISTANT: &[&str] = &["assistant:write"];
/// The documents disagree about these.
const CHAT_OR_ASSISTANT: &[&str] = &["chat:write", "assistant:write"];
const GROUPS: &[&str] = &["usergroups:read"];

static METHODS: [Method; 33] = [
    writes("auth.test", &[], Rate::Special, auth_test),
    writes("chat.postMessage", CHAT, Rate::Post, messages::post_message),
    writes("chat.postEphemeral", CHAT, Rate::Tier4, messages::post_ephemeral),
    writes("chat.update", CHAT, Rate::Tier3, messages::update),
    writes("chat.delete", CHAT, Rate::Tier3, messages::delete),
    writes("chat.startStream", CHAT, Rate::Tier2, streams::start),
    writes("chat.appendStream", CHAT, Rate::Tier4, streams::append),
    writes("chat.stopStream", CHAT, Rate::Tier2, streams::stop),
    reads("conversations.replies", HISTORY, Rate::Tier3, conversations::replies),
    reads("conversations.history", HISTORY, Rate::Tier3, conversations::history),
    reads("conversations.info", READ, Rate::Tier3, conversations::info),
    reads("conversations.members", READ, Rate::Tier4, conversations::members),
    reads("conversations.list", READ, Rate::Tier2, conversations::list),
    writes("conversations.open", OPEN, Rate::Tier3, conversations::open),
    reads("users.info", USERS, Rate::Tier4, directory::user_info),
    reads("users.list", USERS, Rate::Tier2, directory::user_list),
    reads("usergroups.list", GROUPS, Rate::Tier2, directory::group_list),
    reads("usergroups.users.list", GROUPS, Rate::Tier2, directory::group_members),
    writes("reactions.add", &["reactions:write"], Rate::Tier3, reactions::add),
    writes("reactions.remove", &["reactions:write"], Rate::Tier2, reactions::remove),
    reads("reactions.get", &["reactions:read"], Rate::Tier3, reactions::get),
    reads("files.getUploadURLExternal", &["files:write"], Rate::Tier4, files::upload_url),
    writes("files.completeUploadExternal", &["files:write"], Rate::Tier4, files::complete),
    reads("files.info", &["files:read"], Rate::Tier4, files::info),
    writes("views.open", &[], Rate::Tier4, views::open),
    writes("views.push", &[], Rate::Tier4, views::pushed),
    writes("views.update", &[], Rate::Tier4, views::update),
    writes("views.publish", &[], Rate::Tier4, views::publish),
    writes("assistant.threads.setStatus", CHAT_OR_ASSISTANT, Rate::Tier4, surfaces::set_status),
    writes("assistant.threads.setTitle", ASSISTANT, Rate::Tier4, surfaces::set_title),
    writes("assistant.threads.setSuggestedPrompts", ASSISTANT, Rate::Tier4, surfaces::set_prompts),
    writes("agents.sessions.setStatus", CHAT_OR_ASSISTANT, Rate::Tier3, surfaces::session_status),
    writes("agents.sessions.rename", CHAT_OR_ASSISTANT, Rate::Tier3, surfaces::session_rename),
];

pub(super) fn find(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|m| m.name == name)
}

fn auth_test(hub: &Arc<Hub>, _: &Args) -> Answer {
    let world = hub.world();
    Ok(json!({
        "url": format!("{}/", hub.base),
        "team": world.team_name,
        "team_id": world.team,
        "user": world.bot.name,
        "user_id": world.bot.user,
        "bot_id": world.bot.bot_id,
        "app_id": world.bot.app_id,
        "is_enterprise_install": false,
    }))
}

/// The conversation an argument names, in which the bot must be; a person's id means their DM.
pub(super) fn place(hub: &Hub, args: &Args, key: &str) -> Result<Channel, ApiError> {
    let id = str_arg(args, key).filter(|id| !id.is_empty()).ok_or("channel_not_found")?;
    if id.starts_with(['U', 'W']) {
        return Ok(hub.dm(&UserId::new(id)).map_err(|_| "channel_not_found")?);
    }
    let world = hub.world();
    let channel = world.channel(id).ok_or("channel_not_found")?;
    match channel.has(&world.bot.user) {
        true => Ok(channel.clone()),
        // What the bot cannot see does not exist for it.
        false if channel.is_private => Err("channel_not_found".into()),
        false => Err("not_in_channel".into()),
    }
}

/// The same, where something is to be written.
pub(super) fn place_to_write(hub: &Hub, args: &Args, key: &str) -> Result<Channel, ApiError> {
    let channel = place(hub, args, key)?;
    if channel.is_archived { Err("is_archived".into()) } else { Ok(channel) }
}

/// The thread to reply in. An empty `thread_ts` is an error: it is how bots lose threads.
pub(super) fn thread_arg(args: &Args) -> Result<Option<MessageTs>, ApiError> {
    match args.get("thread_ts") {
        None => Ok(None),
        Some(Value::String(ts)) if is_ts(ts) => Ok(Some(MessageTs::new(ts.clone()))),
        Some(_) => Err("invalid_thread_ts".into()),
    }
}

fn is_ts(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text.split_once('.').is_some_and(|(seconds, rest)| digits(seconds) && digits(rest))
}

pub(super) fn str_arg<'a>(args: &'a Args, key: &str) -> Option<&'a str> {
    args.get(key).and_then(Value::as_str)
}

pub(super) fn int_arg(args: &Args, key: &str) -> Option<usize> {
    let value = args.get(key)?;
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    usize::try_from(number).ok()
}

pub(super) fn is_true(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Bool(b)) => *b,
        Some(Value::String(s)) => s == "true" || s == "1",
        Some(Value::Number(n)) => n.as_u64() == Some(1),
        _ => false,
    }
}
