//! What each Web API method does.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::blocks::{Invalid, Surface, accept, accept_view};
use super::hub::{Handle, Hub, ResponseUrl};
use super::message::Message;
use super::seed::Channel;
use super::web_api::{Answer, ApiError};
use super::world::{Change, World};
use crate::domain::{ChannelId, MessageTs, UserId};

type Args = Map<String, Value>;

/// `chat.update` refuses more, counted in bytes; `chat.postMessage` cuts at ten times as many characters.
const UPDATE_BYTES: usize = 4_000;
const POST_CHARS: usize = 40_000;
/// Slack's own lapse of a status line.
const STATUS_MS: i64 = 2 * 60 * 1000;

pub(super) fn call(hub: &Arc<Hub>, method: &str, args: &Args) -> Answer {
    match method {
        "auth.test" => Ok(auth_test(hub)),
        "chat.postMessage" => post_message(hub, args),
        "chat.postEphemeral" => post_ephemeral(hub, args),
        "chat.update" => update(hub, args),
        "chat.delete" => delete(hub, args),
        "conversations.replies" => replies(hub, args),
        "conversations.info" => info(hub, args),
        "conversations.members" => members(hub, args),
        "conversations.open" => open(hub, args),
        "users.info" => user_info(hub, args),
        "views.open" => view_open(hub, args),
        "views.update" => view_update(hub, args),
        "views.publish" => view_publish(hub, args),
        "assistant.threads.setStatus" => set_status(hub, args),
        "assistant.threads.setTitle" => set_title(hub, args),
        "assistant.threads.setSuggestedPrompts" => set_prompts(hub, args),
        "agents.sessions.setStatus" => session_status(hub, args),
        _ => Err("unknown_method".into()),
    }
}

/// A POST to a `response_url`.
pub(super) fn respond(hub: &Arc<Hub>, url: &ResponseUrl, args: &Args) -> Answer {
    let flag = |key: &str| is_true(args.get(key));
    let world = hub.world();
    let original = &url.message;
    let current = match &original.only_for {
        Some(user) => world.ephemerals(user.as_str()).iter().find(|m| m.ts == original.ts).cloned(),
        None => world.message(original.channel.as_str(), original.ts.as_str()).cloned(),
    };
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
        channel: original.channel.clone(),
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

fn refuse(invalid: Invalid) -> ApiError {
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
        channel: ChannelId::new(""),
        ts: MessageTs::new(""),
        thread_ts: None,
        user: world.bot.user.clone(),
        bot_id: Some(world.bot.bot_id.clone()),
        text: content.text,
        blocks: content.blocks,
        metadata: content.metadata,
        edited: None,
        tombstone: false,
        only_for: None,
    }
}

/// The conversation an argument names, in which the bot must be; a person's id means their DM.
fn place(hub: &Hub, args: &Args, key: &str) -> Result<Channel, ApiError> {
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
fn thread_arg(args: &Args) -> Result<Option<MessageTs>, ApiError> {
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

fn replies(hub: &Hub, args: &Args) -> Answer {
    let channel = place(hub, args, "channel")?;
    let with_metadata = is_true(args.get("include_all_metadata"));
    let limit = int_arg(args, "limit").unwrap_or(1000).clamp(1, 1000);
    let inclusive = is_true(args.get("inclusive"));
    let after_cursor = match str_arg(args, "cursor").filter(|c| !c.is_empty()) {
        Some(cursor) => Some(read_cursor(cursor).ok_or("invalid_cursor")?),
        None => None,
    };
    let world = hub.world();
    let ts = str_arg(args, "ts").unwrap_or("");
    let asked = world.message(channel.id.as_str(), ts).ok_or("thread_not_found")?;
    let thread = world.thread(channel.id.as_str(), asked.ts.as_str());
    let count = thread.len().saturating_sub(1);
    let latest = thread.last().map(|m| m.ts.clone());
    let within = |m: &&&Message| {
        let ts = m.ts.as_str();
        let old = str_arg(args, "oldest").is_some_and(|o| ts < o || (ts == o && !inclusive));
        let new = str_arg(args, "latest").is_some_and(|l| ts > l || (ts == l && !inclusive));
        let seen = after_cursor.as_deref().is_some_and(|c| ts < c);
        m.ts != asked.ts && !old && !new && !seen
    };
    let mut rest = thread.iter().filter(within);
    let page: Vec<_> = rest.by_ref().take(limit).collect();
    let next = rest.next().map(|m| STANDARD.encode(format!("next_ts:{}", m.ts)));
    // Slack repeats the root at the head of every page.
    let messages: Vec<Value> = std::iter::once(asked)
        .chain(page.into_iter().copied())
        .map(|m| {
            let mut object = m.to_slack(&world.team, &world.bot, with_metadata);
            if m.ts == asked.ts && count > 0 {
                object.insert("thread_ts".into(), m.ts.as_str().into());
                object.insert("reply_count".into(), count.into());
                object.insert("latest_reply".into(), json!(latest));
            } else if m.is_reply() {
                object.insert("parent_user_id".into(), asked.user.as_str().into());
            }
            Value::Object(object)
        })
        .collect();
    Ok(match next {
        Some(cursor) => {
            json!({"messages": messages, "has_more": true, "response_metadata": {"next_cursor": cursor}})
        }
        None => json!({"messages": messages, "has_more": false}),
    })
}

fn read_cursor(cursor: &str) -> Option<String> {
    let text = String::from_utf8(STANDARD.decode(cursor).ok()?).ok()?;
    text.strip_prefix("next_ts:").map(str::to_owned)
}

/// A conversation the bot may know about: its own and public ones.
fn visible(world: &World, args: &Args) -> Result<Channel, ApiError> {
    let channel = world.channel(str_arg(args, "channel").unwrap_or("")).ok_or("channel_not_found")?;
    if channel.is_private && !channel.has(&world.bot.user) {
        return Err("channel_not_found".into());
    }
    Ok(channel.clone())
}

fn info(hub: &Hub, args: &Args) -> Answer {
    let world = hub.world();
    let channel = visible(&world, args)?;
    let mut object = json!({
        "id": channel.id,
        "is_channel": !channel.is_im && !channel.is_private,
        "is_group": !channel.is_im && channel.is_private,
        "is_im": channel.is_im,
        "is_mpim": false,
        "is_private": channel.is_private,
        "is_archived": false,
        "is_ext_shared": channel.is_ext_shared,
        "is_shared": channel.is_ext_shared,
        "is_member": channel.has(&world.bot.user),
        "context_team_id": world.team,
        "num_members": channel.members.len(),
    });
    if let Some(object) = object.as_object_mut() {
        if channel.is_im {
            let other = channel.members.iter().find(|m| **m != world.bot.user);
            object.insert("user".into(), json!(other));
            object.remove("num_members");
        } else {
            object.insert("name".into(), channel.name.clone().into());
        }
    }
    Ok(json!({"channel": object}))
}

fn members(hub: &Hub, args: &Args) -> Answer {
    let world = hub.world();
    let channel = visible(&world, args)?;
    let limit = int_arg(args, "limit").unwrap_or(100).clamp(1, 1000);
    let from = match str_arg(args, "cursor").filter(|c| !c.is_empty()) {
        Some(cursor) => {
            let id = read_cursor(cursor).ok_or("invalid_cursor")?;
            channel.members.iter().position(|m| m.as_str() == id).ok_or("invalid_cursor")?
        }
        None => 0,
    };
    let page: Vec<_> = channel.members.iter().skip(from).take(limit).collect();
    let next = channel.members.get(from + page.len()).map(|m| STANDARD.encode(format!("next_ts:{m}")));
    Ok(json!({"members": page, "response_metadata": {"next_cursor": next.unwrap_or_default()}}))
}

fn open(hub: &Hub, args: &Args) -> Answer {
    let users: Vec<&str> = str_arg(args, "users").unwrap_or("").split(',').filter(|u| !u.is_empty()).collect();
    let channel = match users.as_slice() {
        [] => return Err("users_list_not_supplied".into()),
        [user] => hub.dm(&UserId::new(*user)).map_err(|_| "user_not_found")?,
        // Group DMs do not exist in this workspace.
        _ => return Err("not_enough_users".into()),
    };
    Ok(json!({"channel": {"id": channel.id}}))
}

fn user_info(hub: &Hub, args: &Args) -> Answer {
    let world = hub.world();
    let id = str_arg(args, "user").unwrap_or("");
    if id == world.bot.user.as_str() {
        return Ok(json!({"user": {
            "id": id, "team_id": world.team, "name": world.bot.name, "real_name": world.bot.real_name,
            "deleted": false, "is_bot": true, "is_app_user": false, "is_restricted": false,
            "is_ultra_restricted": false, "updated": 0,
            "profile": {"real_name": world.bot.real_name, "display_name": world.bot.name, "team": world.team,
                        "bot_id": world.bot.bot_id, "api_app_id": world.bot.app_id},
        }}));
    }
    let user = world.user(id).ok_or("user_not_found")?;
    let mut object = json!({
        "id": user.id,
        "team_id": user.team_id,
        "name": user.name,
        "real_name": user.real_name,
        "deleted": user.deleted,
        "is_admin": false,
        "is_owner": false,
        "is_primary_owner": false,
        "is_restricted": user.is_restricted || user.is_ultra_restricted,
        "is_ultra_restricted": user.is_ultra_restricted,
        "is_stranger": false,
        "is_bot": user.is_bot,
        "is_app_user": false,
        "updated": 0,
        "profile": {
            "real_name": user.real_name, "display_name": user.name, "title": user.title, "team": user.team_id,
        },
    });
    if let Some(object) = object.as_object_mut() {
        if let Some(zone) = user.tz {
            use chrono::Offset;
            let offset = hub.clock.now().with_timezone(&zone).offset().fix().local_minus_utc();
            object.insert("tz".into(), zone.name().into());
            object.insert("tz_label".into(), zone.name().into());
            object.insert("tz_offset".into(), offset.into());
        }
        if is_true(args.get("include_locale")) {
            object.insert("locale".into(), user.locale.clone().into());
        }
    }
    Ok(json!({"user": object}))
}

fn view_of(hub: &Hub, args: &Args, kind: &str) -> Result<Map<String, Value>, ApiError> {
    let view = args.get("view").ok_or("invalid_arguments")?;
    let mut view = accept_view(view, || hub.world().next_id()).map_err(|e| match e {
        Invalid::Blocks(messages) => ApiError { code: "invalid_arguments".into(), messages },
        other => refuse(other),
    })?;
    if view.get("type").and_then(Value::as_str) != Some(kind) {
        return Err("invalid_arguments".into());
    }
    let mut world = hub.world();
    let number = world.next_id();
    view.insert("hash".into(), format!("{number}.h").into());
    view.insert("team_id".into(), json!(world.team));
    view.insert("bot_id".into(), json!(world.bot.bot_id));
    view.insert("app_id".into(), json!(world.bot.app_id));
    Ok(view)
}

fn view_open(hub: &Hub, args: &Args) -> Answer {
    let mut view = view_of(hub, args, "modal")?;
    let user = hub.use_trigger(str_arg(args, "trigger_id").unwrap_or("")).map_err(|e| match e {
        Handle::Unknown => "invalid_trigger_id",
        Handle::Expired => "expired_trigger_id",
        Handle::Used => "exchanged_trigger_id",
    })?;
    let mut world = hub.world();
    let id = format!("V{:08}", world.next_id());
    view.insert("id".into(), id.clone().into());
    view.insert("root_view_id".into(), id.into());
    view.insert("state".into(), json!({"values": {}}));
    let view = Value::Object(view);
    hub.commit(&mut world, Change::Modal { view: view.clone(), user });
    Ok(json!({"view": view}))
}

fn view_update(hub: &Hub, args: &Args) -> Answer {
    let mut view = view_of(hub, args, "modal")?;
    let id = str_arg(args, "view_id").unwrap_or("").to_owned();
    let mut world = hub.world();
    let (user, old) = world.modal(&id).ok_or("not_found")?;
    if str_arg(args, "hash").is_some_and(|h| Some(h) != old.get("hash").and_then(Value::as_str)) {
        return Err("hash_conflict".into());
    }
    let user = user.clone();
    view.insert("id".into(), id.clone().into());
    view.insert("root_view_id".into(), id.into());
    let view = Value::Object(view);
    hub.commit(&mut world, Change::Modal { view: view.clone(), user });
    Ok(json!({"view": view}))
}

fn view_publish(hub: &Hub, args: &Args) -> Answer {
    let mut view = view_of(hub, args, "home")?;
    let user = UserId::new(str_arg(args, "user_id").unwrap_or(""));
    let mut world = hub.world();
    world.user(user.as_str()).ok_or("user_not_found")?;
    let old = world.home(user.as_str()).and_then(|v| v.get("hash")).and_then(Value::as_str);
    if str_arg(args, "hash").is_some_and(|h| Some(h) != old) {
        return Err("hash_conflict".into());
    }
    view.insert("id".into(), format!("H{user}").into());
    let view = Value::Object(view);
    hub.commit(&mut world, Change::Home { user, view: view.clone() });
    Ok(json!({"view": view}))
}

/// The thread an assistant method names.
fn assistant_thread(hub: &Hub, args: &Args) -> Result<(ChannelId, MessageTs), ApiError> {
    let channel = place(hub, args, "channel_id")?.id;
    let thread = thread_arg(args)?.ok_or("invalid_thread_ts")?;
    let known = hub.world().message(channel.as_str(), thread.as_str()).is_some_and(|m| !m.is_reply());
    if known { Ok((channel, thread)) } else { Err("invalid_thread_ts".into()) }
}

fn set_status(hub: &Hub, args: &Args) -> Answer {
    let (channel, thread_ts) = assistant_thread(hub, args)?;
    let text = str_arg(args, "status").ok_or("invalid_arguments")?.to_owned();
    let until = hub.clock.now_ms() + STATUS_MS;
    hub.commit(&mut hub.world(), Change::Status { channel, thread_ts, text, until });
    Ok(json!({}))
}

fn set_title(hub: &Hub, args: &Args) -> Answer {
    let (channel, thread_ts) = assistant_thread(hub, args)?;
    let title = str_arg(args, "title").filter(|t| !t.is_empty()).ok_or("invalid_arguments")?.to_owned();
    hub.commit(&mut hub.world(), Change::Title { channel, thread_ts, title });
    Ok(json!({}))
}

fn set_prompts(hub: &Hub, args: &Args) -> Answer {
    let channel = place(hub, args, "channel_id")?;
    // As with Slack's newer agents: with a thread the call says yes and does nothing.
    if args.contains_key("thread_ts") {
        return Ok(json!({}));
    }
    let prompts = args.get("prompts").and_then(Value::as_array).ok_or("invalid_arguments")?;
    let whole = |p: &Value| ["title", "message"].iter().all(|k| p.get(*k).is_some_and(Value::is_string));
    if prompts.len() > 4 || !prompts.iter().all(whole) {
        return Err("invalid_arguments".into());
    }
    let prompts = Value::Array(prompts.clone());
    hub.commit(&mut hub.world(), Change::Prompts { channel: channel.id, prompts });
    Ok(json!({}))
}

fn session_status(hub: &Hub, args: &Args) -> Answer {
    let (channel, thread_ts) = assistant_thread(hub, args)?;
    let status = str_arg(args, "status").unwrap_or("").to_owned();
    if !matches!(status.as_str(), "active" | "processing" | "suspended" | "closed") {
        return Err("invalid_arguments".into());
    }
    hub.commit(&mut hub.world(), Change::Session { channel, thread_ts, status });
    Ok(json!({}))
}

fn str_arg<'a>(args: &'a Args, key: &str) -> Option<&'a str> {
    args.get(key).and_then(Value::as_str)
}

fn int_arg(args: &Args, key: &str) -> Option<usize> {
    let value = args.get(key)?;
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    usize::try_from(number).ok()
}

fn is_true(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Bool(b)) => *b,
        Some(Value::String(s)) => s == "true" || s == "1",
        Some(Value::Number(n)) => n.as_u64() == Some(1),
        _ => false,
    }
}
