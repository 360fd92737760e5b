//! The methods about what surrounds messages: modals, Home, statuses, titles, prompts, sessions.

use serde_json::{Map, Value, json};

use super::blocks::{Invalid, accept_view};
use super::hub::{Handle, Hub};
use super::methods::{Args, place, refuse, str_arg, thread_arg};
use super::web_api::{Answer, ApiError};
use super::world::Change;
use crate::domain::{ChannelId, MessageTs, UserId};

/// Slack's own lapse of a status line.
const STATUS_MS: i64 = 2 * 60 * 1000;

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

pub(super) fn view_open(hub: &Hub, args: &Args) -> Answer {
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

pub(super) fn view_update(hub: &Hub, args: &Args) -> Answer {
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

pub(super) fn view_publish(hub: &Hub, args: &Args) -> Answer {
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

pub(super) fn set_status(hub: &Hub, args: &Args) -> Answer {
    let (channel, thread_ts) = assistant_thread(hub, args)?;
    let text = str_arg(args, "status").ok_or("invalid_arguments")?.to_owned();
    let until = hub.clock.now_ms() + STATUS_MS;
    let loading = args.get("loading_messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if loading.len() > 10 {
        return Err("invalid_arguments".into());
    }
    let loading = loading.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    hub.commit(&mut hub.world(), Change::Status { channel, thread_ts, text, until, loading });
    Ok(json!({}))
}

pub(super) fn set_title(hub: &Hub, args: &Args) -> Answer {
    let (channel, thread_ts) = assistant_thread(hub, args)?;
    let title = str_arg(args, "title").filter(|t| !t.is_empty()).ok_or("invalid_arguments")?.to_owned();
    hub.commit(&mut hub.world(), Change::Title { channel, thread_ts, title });
    Ok(json!({}))
}

pub(super) fn set_prompts(hub: &Hub, args: &Args) -> Answer {
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

pub(super) fn session_status(hub: &Hub, args: &Args) -> Answer {
    let (channel, thread_ts) = assistant_thread(hub, args)?;
    let status = str_arg(args, "status").unwrap_or("").to_owned();
    if !matches!(status.as_str(), "active" | "processing" | "suspended" | "closed") {
        return Err("invalid_arguments".into());
    }
    hub.commit(&mut hub.world(), Change::Session { channel, thread_ts, status });
    Ok(json!({}))
}
