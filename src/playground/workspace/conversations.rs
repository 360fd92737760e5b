//! The methods about conversations: what was said in them, what they are, and who is in them.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::hub::Hub;
use super::message::Message;
use super::methods::{Args, int_arg, is_true, place, str_arg};
use super::seed::Channel;
use super::web_api::{Answer, ApiError};
use super::world::World;
use crate::domain::UserId;

pub(super) fn replies(hub: &Arc<Hub>, args: &Args) -> Answer {
    let channel = place(hub, args, "channel")?;
    may_read(hub, &channel)?;
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

/// The app was granted the history of this kind of conversation.
fn may_read(hub: &Hub, channel: &Channel) -> Result<(), ApiError> {
    let scope = match channel.channel_type() {
        "im" => "im:history",
        "mpim" => "mpim:history",
        "group" => "groups:history",
        _ => "channels:history",
    };
    hub.granted(&[scope])
}

/// The roots of a conversation, newest first.
pub(super) fn history(hub: &Arc<Hub>, args: &Args) -> Answer {
    let channel = place(hub, args, "channel")?;
    may_read(hub, &channel)?;
    let limit = int_arg(args, "limit").unwrap_or(100).clamp(1, 999);
    let inclusive = is_true(args.get("inclusive"));
    let with_metadata = is_true(args.get("include_all_metadata"));
    let before_cursor = match str_arg(args, "cursor").filter(|c| !c.is_empty()) {
        Some(cursor) => Some(read_cursor(cursor).ok_or("invalid_cursor")?),
        None => None,
    };
    let world = hub.world();
    let within = |m: &&Message| {
        let ts = m.ts.as_str();
        let old = str_arg(args, "oldest").is_some_and(|o| ts < o || (ts == o && !inclusive));
        let new = str_arg(args, "latest").is_some_and(|l| ts > l || (ts == l && !inclusive));
        let seen = before_cursor.as_deref().is_some_and(|c| ts > c);
        !m.is_reply() && !old && !new && !seen
    };
    let all = world.messages(channel.id.as_str());
    let mut rest = all.into_iter().rev().filter(within);
    let page: Vec<_> = rest.by_ref().take(limit).collect();
    let next = rest.next().map(|m| STANDARD.encode(format!("next_ts:{}", m.ts)));
    let messages: Vec<Value> = page
        .into_iter()
        .map(|m| {
            let mut object = m.to_slack(&world.team, &world.bot, with_metadata);
            let thread = world.thread(channel.id.as_str(), m.ts.as_str());
            if let (Some(last), true) = (thread.last(), thread.len() > 1) {
                object.insert("thread_ts".into(), m.ts.as_str().into());
                object.insert("reply_count".into(), (thread.len() - 1).into());
                object.insert("latest_reply".into(), last.ts.as_str().into());
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

pub(super) fn read_cursor(cursor: &str) -> Option<String> {
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

pub(super) fn info(hub: &Arc<Hub>, args: &Args) -> Answer {
    let world = hub.world();
    let channel = visible(&world, args)?;
    Ok(json!({"channel": described(&world, &channel)}))
}

fn described(world: &World, channel: &Channel) -> Value {
    let kind = channel.channel_type();
    let mut object = json!({
        "id": channel.id,
        "is_channel": kind == "channel",
        "is_group": kind == "group",
        "is_im": kind == "im",
        "is_mpim": kind == "mpim",
        "is_private": channel.is_private,
        "is_archived": channel.is_archived,
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
    object
}

pub(super) fn list(hub: &Arc<Hub>, args: &Args) -> Answer {
    let world = hub.world();
    let types: Vec<&str> = str_arg(args, "types").unwrap_or("public_channel").split(',').map(str::trim).collect();
    let kind = |c: &Channel| match c.channel_type() {
        "im" => "im",
        "mpim" => "mpim",
        "group" => "private_channel",
        _ => "public_channel",
    };
    let seen = |c: &&Channel| types.contains(&kind(c)) && (!c.is_private || c.has(&world.bot.user));
    let left_out = is_true(args.get("exclude_archived"));
    let channels = world.channels().filter(seen).filter(|c| !(left_out && c.is_archived));
    let channels: Vec<Value> = channels.map(|c| described(&world, c)).collect();
    Ok(json!({"channels": channels, "response_metadata": {"next_cursor": ""}}))
}

pub(super) fn members(hub: &Arc<Hub>, args: &Args) -> Answer {
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

pub(super) fn open(hub: &Arc<Hub>, args: &Args) -> Answer {
    if let Some(id) = str_arg(args, "channel") {
        let known = hub.world().channel(id).is_some_and(|c| c.is_im || c.is_mpim);
        return if known { Ok(json!({"channel": {"id": id}})) } else { Err("channel_not_found".into()) };
    }
    let users: Vec<&str> = str_arg(args, "users").unwrap_or("").split(',').filter(|u| !u.is_empty()).collect();
    let channel = match users.as_slice() {
        [] => return Err("users_list_not_supplied".into()),
        [user] => hub.dm(&UserId::new(*user)).map_err(|_| "user_not_found")?,
        several if several.len() > 8 => return Err("too_many_users".into()),
        several => hub.group_dm(several).map_err(|_| "user_not_found")?,
    };
    Ok(json!({"channel": {"id": channel.id}}))
}
