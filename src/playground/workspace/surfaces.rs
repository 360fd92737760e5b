//! The methods about what surrounds messages: statuses, titles, prompts, sessions.

use std::sync::Arc;

use serde_json::{Value, json};

use super::hub::Hub;
use super::methods::{Args, place_to_write, str_arg, thread_arg};
use super::web_api::{Answer, ApiError};
use super::world::Change;
use crate::domain::{ChannelId, MessageTs};

/// Slack's own lapse of a status line.
const STATUS_MS: i64 = 2 * 60 * 1000;
/// Of a session's title, in UTF-16 units.
const TITLE: usize = 200;

/// The thread an assistant method names.
fn assistant_thread(hub: &Hub, args: &Args) -> Result<(ChannelId, MessageTs), ApiError> {
    let channel = place_to_write(hub, args, "channel_id")?.id;
    let thread = thread_arg(args)?.ok_or("invalid_thread_ts")?;
    let known = hub.world().message(channel.as_str(), thread.as_str()).is_some_and(|m| !m.is_reply());
    if known { Ok((channel, thread)) } else { Err("invalid_thread_ts".into()) }
}

pub(super) fn set_status(hub: &Arc<Hub>, args: &Args) -> Answer {
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

pub(super) fn set_title(hub: &Arc<Hub>, args: &Args) -> Answer {
    let (channel, thread_ts) = assistant_thread(hub, args)?;
    let title = str_arg(args, "title").filter(|t| !t.is_empty()).ok_or("invalid_arguments")?.to_owned();
    hub.commit(&mut hub.world(), Change::Title { channel, thread_ts, title });
    Ok(json!({}))
}

pub(super) fn set_prompts(hub: &Arc<Hub>, args: &Args) -> Answer {
    let channel = place_to_write(hub, args, "channel_id")?;
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

pub(super) fn session_status(hub: &Arc<Hub>, args: &Args) -> Answer {
    let (channel, thread_ts) = assistant_thread(hub, args)?;
    session(hub, &channel, &thread_ts, str_arg(args, "status").unwrap_or(""))?;
    let title = str_arg(args, "title").filter(|t| !t.is_empty());
    if title.is_some_and(|t| t.encode_utf16().count() > TITLE) {
        return Err("invalid_arguments".into());
    }
    // A session has its title from its beginning.
    if let Some(title) = title.map(str::to_owned)
        && hub.world().title(channel.as_str(), thread_ts.as_str()).is_none()
    {
        hub.commit(&mut hub.world(), Change::Title { channel, thread_ts, title });
    }
    if hub.subscribes("agent_session_stopped") {
        return Ok(json!({}));
    }
    let warning = "missing_agent_session_stopped_event_subscription";
    Ok(json!({"warning": warning, "response_metadata": {"warnings": [warning]}}))
}

/// Gives a session a state.
pub(super) fn session(hub: &Hub, channel: &ChannelId, thread_ts: &MessageTs, status: &str) -> Result<(), ApiError> {
    if !matches!(status, "active" | "processing" | "suspended" | "closed") {
        return Err("invalid_arguments".into());
    }
    let (channel, thread_ts, status) = (channel.clone(), thread_ts.clone(), status.to_owned());
    hub.commit(&mut hub.world(), Change::Session { channel, thread_ts, status });
    Ok(())
}

pub(super) fn session_rename(hub: &Arc<Hub>, args: &Args) -> Answer {
    let (channel, thread_ts) = assistant_thread(hub, args)?;
    if hub.world().session(channel.as_str(), thread_ts.as_str()).is_none() {
        return Err("not_authorized".into());
    }
    let title = str_arg(args, "title").unwrap_or("").to_owned();
    if title.is_empty() || title.encode_utf16().count() > TITLE {
        return Err("invalid_arguments".into());
    }
    hub.commit(&mut hub.world(), Change::Title { channel, thread_ts, title });
    Ok(json!({}))
}
