//! The methods that read: threads, conversations, people.

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

pub(super) fn replies(hub: &Hub, args: &Args) -> Answer {
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

pub(super) fn info(hub: &Hub, args: &Args) -> Answer {
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

pub(super) fn members(hub: &Hub, args: &Args) -> Answer {
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

pub(super) fn open(hub: &Hub, args: &Args) -> Answer {
    let users: Vec<&str> = str_arg(args, "users").unwrap_or("").split(',').filter(|u| !u.is_empty()).collect();
    let channel = match users.as_slice() {
        [] => return Err("users_list_not_supplied".into()),
        [user] => hub.dm(&UserId::new(*user)).map_err(|_| "user_not_found")?,
        // Group DMs do not exist in this workspace.
        _ => return Err("not_enough_users".into()),
    };
    Ok(json!({"channel": {"id": channel.id}}))
}

pub(super) fn user_info(hub: &Hub, args: &Args) -> Answer {
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
