//! The methods about people and user groups.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::conversations::read_cursor;
use super::hub::Hub;
use super::methods::{Args, int_arg, is_true, str_arg};
use super::seed::{Group, User};
use super::web_api::Answer;
use super::world::World;

pub(super) fn user_info(hub: &Arc<Hub>, args: &Args) -> Answer {
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
    // Somebody of another workspace with whom the app shares no channel.
    if is_stranger(&world, user) {
        return Err("user_not_visible".into());
    }
    Ok(json!({"user": described(hub, &world, user, is_true(args.get("include_locale")))}))
}

fn is_stranger(world: &World, user: &User) -> bool {
    let shares = |c: &super::seed::Channel| c.has(&user.id) && c.has(&world.bot.user);
    user.team_id != world.team && !world.channels().any(shares)
}

fn described(hub: &Hub, world: &World, user: &User, with_locale: bool) -> Value {
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
        "is_stranger": is_stranger(world, user),
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
        if with_locale {
            object.insert("locale".into(), user.locale.clone().into());
        }
    }
    object
}

pub(super) fn user_list(hub: &Arc<Hub>, args: &Args) -> Answer {
    let world = hub.world();
    let limit = int_arg(args, "limit").unwrap_or(200).clamp(1, 1000);
    let known: Vec<&User> = world.users().iter().filter(|u| !is_stranger(&world, u)).collect();
    let from = match str_arg(args, "cursor").filter(|c| !c.is_empty()) {
        Some(cursor) => {
            let id = read_cursor(cursor).ok_or("invalid_cursor")?;
            known.iter().position(|u| u.id.as_str() == id).ok_or("invalid_cursor")?
        }
        None => 0,
    };
    let with_locale = is_true(args.get("include_locale"));
    let page: Vec<Value> =
        known.iter().skip(from).take(limit).map(|u| described(hub, &world, u, with_locale)).collect();
    let next = known.get(from + page.len()).map(|u| STANDARD.encode(format!("next_ts:{}", u.id)));
    Ok(json!({"members": page, "response_metadata": {"next_cursor": next.unwrap_or_default()}}))
}

pub(super) fn group_list(hub: &Arc<Hub>, args: &Args) -> Answer {
    let world = hub.world();
    let with_users = is_true(args.get("include_users"));
    let shown = |group: &Group| {
        let mut object = json!({
            "id": group.id, "team_id": world.team, "is_usergroup": true, "name": group.name, "handle": group.handle,
            "is_external": false, "date_delete": 0, "user_count": group.members.len(),
        });
        if let (true, Some(object)) = (with_users, object.as_object_mut()) {
            object.insert("users".into(), json!(group.members));
        }
        object
    };
    let groups: Vec<Value> = world.groups().iter().map(shown).collect();
    Ok(json!({"usergroups": groups}))
}

pub(super) fn group_members(hub: &Arc<Hub>, args: &Args) -> Answer {
    let world = hub.world();
    let id = str_arg(args, "usergroup").unwrap_or("");
    let group = world.groups().iter().find(|g| g.id == id).ok_or("no_such_subteam")?;
    Ok(json!({"users": group.members}))
}
