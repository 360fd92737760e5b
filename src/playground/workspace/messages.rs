//! The methods about messages: posting, changing, deleting, and what a `response_url` takes.

use std::sync::Arc;

use serde_json::{Value, json};

use super::blocks::{Invalid, Surface, accept};
use super::composer::{escape, unescape};
use super::hub::{Hub, ResponseUrl};
use super::message::Message;
use super::methods::{Args, is_true, place, place_to_write, str_arg, thread_arg};
use super::seed::Channel;
use super::streams;
use super::web_api::{Answer, ApiError};
use super::world::World;
use crate::domain::{ChannelId, MessageTs, UserId};

/// `chat.update` refuses more, counted in bytes after escaping; `chat.postMessage` cuts at ten times as many characters.
const UPDATE_BYTES: usize = 4_000;
const POST_CHARS: usize = 40_000;
/// Of `markdown_text`, in UTF-16 units.
pub(super) const MARKDOWN_TEXT: usize = 12_000;
/// Of `metadata`, in bytes; Slack documents no number.
const METADATA_BYTES: usize = 4_000;
/// Attachments of one message.
const ATTACHMENTS: usize = 100;

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
        (Some(m), None) if too_many(m, MARKDOWN_TEXT) => return Err("msg_too_long".into()),
        (Some(m), None) => (m.to_owned(), Some(json!([{"type": "markdown", "text": m}]))),
        (None, blocks) => (text, blocks.cloned()),
    };
    let attachments = args.get("attachments").and_then(Value::as_array).map_or(0, Vec::len);
    if attachments > ATTACHMENTS {
        return Err("too_many_attachments".into());
    }
    if text.trim().is_empty() && blocks.is_none() && attachments == 0 {
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
    let metadata = checked_metadata(args)?;
    if text.chars().count() > POST_CHARS {
        let text = text.chars().take(POST_CHARS).collect();
        return Ok(Content { text, blocks, metadata, warning: Some("message_truncated") });
    }
    Ok(Content { text, blocks, metadata, warning: None })
}

/// `metadata`, if there is any and it is fine.
pub(super) fn checked_metadata(args: &Args) -> Result<Option<Value>, ApiError> {
    let Some(metadata) = args.get("metadata").filter(|m| *m != &json!({})) else { return Ok(None) };
    let event_type = metadata.get("event_type").and_then(Value::as_str).unwrap_or("");
    let well_named = event_type.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if event_type.is_empty() || !well_named || !metadata.get("event_payload").is_some_and(Value::is_object) {
        return Err("invalid_metadata_format".into());
    }
    if metadata.to_string().len() > METADATA_BYTES {
        return Err("metadata_too_large".into());
    }
    Ok(Some(metadata.clone()))
}

/// Whether a text has more UTF-16 units than this.
pub(super) fn too_many(text: &str, units: usize) -> bool {
    text.encode_utf16().nth(units).is_some()
}

pub(super) fn refuse(invalid: Invalid) -> ApiError {
    match invalid {
        Invalid::Format => "invalid_blocks_format".into(),
        Invalid::TooLong => "msg_blocks_too_long".into(),
        Invalid::Tables => "only_one_table_allowed".into(),
        Invalid::TooLarge => "view_too_large".into(),
        Invalid::Blocks(messages) => ApiError { messages, ..ApiError::from("invalid_blocks") },
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

pub(super) fn thread_in(world: &World, channel: &Channel, args: &Args) -> Result<Option<MessageTs>, ApiError> {
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

pub(super) fn post_message(hub: &Arc<Hub>, args: &Args) -> Answer {
    let channel = place_to_write(hub, args, "channel")?;
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

pub(super) fn post_ephemeral(hub: &Arc<Hub>, args: &Args) -> Answer {
    let channel = place_to_write(hub, args, "channel")?;
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

/// The bytes of a text as Slack keeps it: what is no entity and no `<…>` token is escaped.
fn stored_bytes(text: &str) -> usize {
    let mut bytes = 0;
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        bytes += escape(&unescape(before)).len();
        let token = from.split_once('>').map(|(token, _)| token).filter(|t| {
            let inside = t.trim_start_matches('<');
            inside.starts_with(['@', '#', '!']) || ["http", "mailto:", "tel:"].iter().any(|s| inside.starts_with(s))
        });
        let whole = token.map_or(0, |t| t.len() + 1);
        // A bracket that begins no token becomes `&lt;`.
        bytes += if token.is_some() { whole } else { 4 };
        rest = from.split_at_checked(whole.max(1)).map_or("", |(_, rest)| rest);
    }
    bytes + escape(&unescape(rest)).len()
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

pub(super) fn update(hub: &Arc<Hub>, args: &Args) -> Answer {
    let before = own_message(hub, args, "cant_update_message")?;
    if place(hub, args, "channel")?.is_archived {
        return Err("is_inactive".into());
    }
    if str_arg(args, "text").is_some_and(|t| stored_bytes(t) > UPDATE_BYTES) {
        return Err("msg_too_long".into());
    }
    if streams::is_open(hub, &before) {
        return Err("streaming_state_conflict".into());
    }
    let content = content(hub, args)?;
    let metadata = if args.contains_key("metadata") { content.metadata } else { before.metadata.clone() };
    let after = Message { text: content.text, blocks: content.blocks, metadata, streaming: false, ..before.clone() };
    let after = hub.update(&before, after);
    Ok(json!({"channel": after.channel, "ts": after.ts, "text": after.text, "message": shown(hub, &after)}))
}

pub(super) fn delete(hub: &Arc<Hub>, args: &Args) -> Answer {
    let message = own_message(hub, args, "cant_delete_message")?;
    hub.delete(&message);
    Ok(json!({"channel": message.channel, "ts": message.ts}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_counted_as_slack_keeps_it() {
        for (text, bytes) in [
            ("abc", 3),
            ("あ", 3),
            ("&", 5),
            ("&amp;", 5),
            ("a<b", 6),
            ("<@U1> > x", 5 + 1 + 4 + 2),
            ("<https://a.example|a>", 21),
            ("<", 4),
        ] {
            assert_eq!(stored_bytes(text), bytes, "{text}");
        }
    }
}
