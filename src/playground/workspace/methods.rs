//! What each Web API method does: the table of methods, messages, and how arguments are read.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::blocks::{Invalid, Surface, accept};
use super::hub::{Hub, ResponseUrl};
use super::message::Message;
use super::seed::Channel;
use super::web_api::{Answer, ApiError};
use super::world::World;
use super::{conversations, surfaces};
use crate::domain::{ChannelId, MessageTs, UserId};

pub(super) type Args = Map<String, Value>;

/// `chat.update` refuses more, counted in bytes; `chat.postMessage` cuts at ten times as many characters.
const UPDATE_BYTES: usize = 4_000;
const POST_CHARS: usize = 40_000;

pub(super) fn call(hub: &Arc<Hub>, method: &str, args: &Args) -> Answer {
    match method {
        "auth.test" => Ok(auth_test(hub)),
        "chat.postMessage" => post_message(hub, args),
        "chat.postEphemeral" => post_ephemeral(hub, args),
        "chat.update" => update(hub, args),
        "chat.delete" => delete(hub, args),
        "conversations.replies" => conversations::replies(hub, args),
        "conversations.info" => conversations::info(hub, args),
        "conversations.members" => conversations::members(hub, args),
        "conversations.open" => conversations::open(hub, args),
        "users.info" => conversations::user_info(hub, args),
        "views.open" => surfaces::view_open(hub, args),
        "views.update" => surfaces::view_update(hub, args),
        "views.publish" => surfaces::view_publish(hub, args),
        "assistant.threads.setStatus" => surfaces::set_status(hub, args),
        "assistant.threads.setTitle" => surfaces::set_title(hub, args),
        "assistant.threads.setSuggestedPrompts" => surfaces::set_prompts(hub, args),
        "agents.sessions.setStatus" => surfaces::session_status(hub, args),
        _ => Err("unknown_method".into()),
    }
}

/// A POST to a `response_url`.
pub(super) fn respond(hub: &Arc<Hub>, url: &ResponseUrl, args: &Args) -> Answer {
    let flag = |key: &str| is_true(args.get(key));
    let world = hub.world();
    let current = url.message.as_ref().and_then(|original| match &original.only_for {
        Some(user) => world.ephemerals(user.as_str()).iter().find(|m| m.ts == original.ts).cloned(),
        None => world.message(original.channel.as_str(), original.ts.as_str()).cloned(),
    });
    drop(world);
    if flag("delete_original") {
        if let Some(message) = current {
            hub.delete(&message);
        }
        return Ok(json!({}));
    }
    let content = content(hub, args)?;
    if flag("replace_original") {
        let before = current.ok_or("message_not_found")?;
        let after = Message { text: content.text, blocks: content.blocks, ..before.clone() };
        hub.update(&before, after);
        return Ok(json!({}));
    }
    let public = str_arg(args, "response_type") == Some("in_channel");
    let message = Message {
        channel: url.channel.clone(),
        thread_ts: thread_arg(args)?,
        only_for: (!public).then(|| url.user.clone()),
        ..bot_message(&hub.world(), content)
    };
    hub.post(message);
    Ok(json!({}))
}

fn auth_test(hub: &Hub) -> Value {
    let world = hub.world();
    json!({
        "url": format!("{}/", hub.base),
        "team": world.team_name,
        "team_id": world.team,
        "user": world.bot.name,
        "user_id": world.bot.user,
        "bot_id": world.bot.bot_id,
        "app_id": world.bot.app_id,
        "is_enterprise_install": false,
    })
}

struct Content {
    text: String,
    blocks: Option<Value>,
    metadata: Option<Value>,
    warning: Option<&'static str>,
}

/// What a message says, checked as Slack checks it.
fn content(hub: &Hub, args: &Args) -> Result<Content, ApiError> {
    let text = str_arg(args, "text").unwrap_or("").to_owned();
    let markdown = str_arg(args, "markdown_text").filter(|t| !t.is_empty());
    let blocks = args.get("blocks").filter(|b| b.as_array().is_none_or(|l| !l.is_empty()));
    let (text, blocks) = match (markdown, blocks) {
        (Some(_), Some(_)) => return Err("markdown_text_conflict".into()),
        (Some(_), None) if !text.is_empty() => return Err("markdown_text_conflict".into()),
        (Some(m), None) if m.chars().count() > 12_000 => return Err("msg_too_long".into()),
        (Some(m), None) => (m.to_owned(), Some(json!([{"type": "markdown", "text": m}]))),
        (None, blocks) => (text, blocks.cloned()),
    };
    if text.is_empty() && blocks.is_none() {
        return Err("no_text".into());
    }
    // A form carries blocks as text, which some clients do in JSON too.
    let blocks = match blocks {
        Some(Value::String(s)) => Some(serde_json::from_str(&s).map_err(|_| "invalid_blocks_format")?),
        other => other,
    };
    let blocks = match blocks {
        Some(blocks) => Some(accept(&blocks, Surface::Message, || hub.world().next_id()).map_err(refuse)?),
        None => None,
    };
    let metadata = args.get("metadata").filter(|m| *m != &json!({})).cloned();
    if let Some(metadata) = &metadata {
        let event_type = metadata.get("event_type").and_then(Value::as_str).unwrap_or("");
        let well_named = event_type.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
        if event_type.is_empty() || !well_named || !metadata.get("event_payload").is_some_and(Value::is_object) {
            return Err("invalid_metadata_format".into());
        }
        if metadata.to_string().len() > 4_000 {
            return Err("metadata_too_large".into());
        }
    }
    if text.chars().count() > POST_CHARS {
        let text = text.chars().take(POST_CHARS).collect();
        return Ok(Content { text, blocks, metadata, warning: Some("message_truncated") });
    }
    Ok(Content { text, blocks, metadata, warning: None })
}

pub(super) fn refuse(invalid: Invalid) -> ApiError {
    match invalid {
        Invalid::Format => "invalid_blocks_format".into(),
        Invalid::TooLong => "msg_blocks_too_long".into(),
        Invalid::Tables => "only_one_table_allowed".into(),
        Invalid::Blocks(messages) => ApiError { code: "invalid_blocks".into(), messages },
    }
}

/// A message of the bot, still without a place.
fn bot_message(world: &World, content: Content) -> Message {
    Message {
        bot_id: Some(world.bot.bot_id.clone()),
        text: content.text,
        blocks: content.blocks,
        metadata: content.metadata,
        ..Message::blank(ChannelId::new(""), world.bot.user.clone())
    }
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

/// The thread to reply in. An empty `thread_ts` is an error: it is how bots lose threads.
pub(super) fn thread_arg(args: &Args) -> Result<Option<MessageTs>, ApiError> {
    match args.get("thread_ts") {
        None => Ok(None),
        Some(Value::String(ts)) if !ts.is_empty() => Ok(Some(MessageTs::new(ts.clone()))),
        Some(_) => Err("invalid_thread_ts".into()),
    }
}

fn thread_in(world: &World, channel: &Channel, args: &Args) -> Result<Option<MessageTs>, ApiError> {
    let Some(ts) = thread_arg(args)? else { return Ok(None) };
    match world.message(channel.id.as_str(), ts.as_str()) {
        None => Err("thread_not_found".into()),
        Some(root) if root.is_reply() => Err("cannot_reply_to_message".into()),
        Some(_) => Ok(Some(ts)),
    }
}

fn shown(hub: &Hub, message: &Message) -> Value {
    let world = hub.world();
    Value::Object(message.to_slack(&world.team, &world.bot, true))
}

fn post_message(hub: &Arc<Hub>, args: &Args) -> Answer {
    let channel = place(hub, args, "channel")?;
    let content = content(hub, args)?;
    let warning = content.warning;
    let message = {
        let world = hub.world();
        let thread_ts = thread_in(&world, &channel, args)?;
        Message { channel: channel.id, thread_ts, ..bot_message(&world, content) }
    };
    let message = hub.post(message);
    let mut answer = json!({"channel": message.channel, "ts": message.ts, "message": shown(hub, &message)});
    if let (Some(warning), Some(answer)) = (warning, answer.as_object_mut()) {
        answer.insert("warning".into(), warning.into());
        answer.insert("response_metadata".into(), json!({"warnings": [warning]}));
    }
    Ok(answer)
}

fn post_ephemeral(hub: &Arc<Hub>, args: &Args) -> Answer {
    let channel = place(hub, args, "channel")?;
    let user = UserId::new(str_arg(args, "user").unwrap_or(""));
    if !channel.has(&user) {
        return Err("user_not_in_channel".into());
    }
    let content = content(hub, args)?;
    let message = {
        let world = hub.world();
        let thread_ts = thread_in(&world, &channel, args)?;
        Message { channel: channel.id, thread_ts, only_for: Some(user), ..bot_message(&world, content) }
    };
    let message = hub.post(message);
    Ok(json!({"message_ts": message.ts}))
}

/// The message the arguments name, which must be the bot's own.
fn own_message(hub: &Hub, args: &Args, not_ours: &'static str) -> Result<Message, ApiError> {
    let channel = place(hub, args, "channel")?;
    let world = hub.world();
    let ts = str_arg(args, "ts").unwrap_or("");
    let message = world.message(channel.id.as_str(), ts).filter(|m| !m.tombstone).ok_or("message_not_found")?;
    if message.bot_id.as_ref() != Some(&world.bot.bot_id) {
        return Err(not_ours.into());
    }
    Ok(message.clone())
}

fn update(hub: &Arc<Hub>, args: &Args) -> Answer {
    let before = own_message(hub, args, "cant_update_message")?;
    if str_arg(args, "text").is_some_and(|t| t.len() > UPDATE_BYTES) {
        return Err("msg_too_long".into());
    }
    let content = content(hub, args)?;
    let metadata = if args.contains_key("metadata") { content.metadata } else { before.metadata.clone() };
    let after = Message { text: content.text, blocks: content.blocks, metadata, ..before.clone() };
    let after = hub.update(&before, after);
    Ok(json!({"channel": after.channel, "ts": after.ts, "text": after.text, "message": shown(hub, &after)}))
}

fn delete(hub: &Arc<Hub>, args: &Args) -> Answer {
    let message = own_message(hub, args, "cant_delete_message")?;
    hub.delete(&message);
    Ok(json!({"channel": message.channel, "ts": message.ts}))
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
