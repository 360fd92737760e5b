//! The methods about modals and Home: opening, pushing, updating, publishing.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::blocks::{Invalid, accept_view};
use super::hub::{Handle, Hub};
use super::messages::refuse;
use super::methods::{Args, str_arg};
use super::web_api::{Answer, ApiError};
use super::world::{Change, World};
use crate::domain::UserId;

/// How many modals may lie on one another.
const STACK: usize = 3;

/// A view that was checked, with what Slack adds to each.
fn checked(hub: &Hub, view: &Value, kind: &str) -> Result<Map<String, Value>, ApiError> {
    let mut view = accept_view(view, || hub.world().next_id()).map_err(|e| match e {
        Invalid::Blocks(messages) => ApiError { messages, ..ApiError::from("invalid_arguments") },
        other => refuse(other),
    })?;
    if view.get("type").and_then(Value::as_str) != Some(kind) {
        return Err("invalid_arguments".into());
    }
    let mut world = hub.world();
    let number = world.next_id();
    view.insert("hash".into(), format!("{number}.h").into());
    view.insert("team_id".into(), json!(world.team));
    view.insert("app_installed_team_id".into(), json!(world.team));
    view.insert("bot_id".into(), json!(world.bot.bot_id));
    view.insert("app_id".into(), json!(world.bot.app_id));
    for (key, value) in [
        ("state", json!({"values": {}})),
        ("private_metadata", json!("")),
        ("callback_id", json!("")),
        ("external_id", json!("")),
        ("clear_on_close", json!(false)),
        ("notify_on_close", json!(false)),
    ] {
        view.entry(key).or_insert(value);
    }
    Ok(view)
}

fn view_arg(args: &Args) -> Result<Value, ApiError> {
    match args.get("view") {
        Some(Value::String(text)) => Ok(serde_json::from_str(text).map_err(|_| "invalid_arguments")?),
        Some(view) => Ok(view.clone()),
        None => Err("invalid_arguments".into()),
    }
}

fn triggered(hub: &Hub, args: &Args) -> Result<UserId, ApiError> {
    let trigger = str_arg(args, "trigger_id").or_else(|| str_arg(args, "interactivity_pointer")).unwrap_or("");
    hub.use_trigger(trigger).map_err(|e| match e {
        Handle::Unknown => "invalid_trigger_id".into(),
        Handle::Expired => "expired_trigger_id".into(),
        Handle::Used => "exchanged_trigger_id".into(),
    })
}

/// No other open view of the app has this view's `external_id`.
fn unique(world: &World, view: &Map<String, Value>, but: Option<&str>) -> Result<(), ApiError> {
    let id = view.get("external_id").and_then(Value::as_str).filter(|id| !id.is_empty());
    let taken = id.and_then(|id| by_external_id(world, id));
    let taken = taken.and_then(|(_, v)| v.get("id")?.as_str()).is_some_and(|v| Some(v) != but);
    if taken { Err("duplicate_external_id".into()) } else { Ok(()) }
}

fn by_external_id<'w>(world: &'w World, id: &str) -> Option<(&'w UserId, &'w Value)> {
    let all = world.users().iter().flat_map(|u| world.modals_of(u.id.as_str()).into_iter().map(move |v| (&u.id, v)));
    all.into_iter().find(|(_, v)| v.get("external_id").and_then(Value::as_str) == Some(id))
}

/// Puts a view on top of what a person has open.
fn show(hub: &Hub, user: &UserId, mut view: Map<String, Value>) -> Result<Value, ApiError> {
    let mut world = hub.world();
    unique(&world, &view, None)?;
    let id = world.new_id("V");
    let open = world.modals_of(user.as_str());
    let below = |v: Option<&&Value>| v.and_then(|v| v.get("id")).cloned();
    let root = below(open.first()).unwrap_or_else(|| json!(id));
    let previous = below(open.last()).unwrap_or(Value::Null);
    view.insert("id".into(), id.into());
    view.insert("root_view_id".into(), root);
    view.insert("previous_view_id".into(), previous);
    let view = Value::Object(view);
    hub.commit(&mut world, Change::Modal { view: view.clone(), user: user.clone() });
    Ok(view)
}

pub(super) fn open(hub: &Arc<Hub>, args: &Args) -> Answer {
    let view = checked(hub, &view_arg(args)?, "modal")?;
    let user = triggered(hub, args)?;
    // A modal opened anew takes the place of whatever the person had open.
    hub.close_all(&user);
    Ok(json!({"view": show(hub, &user, view)?}))
}

pub(super) fn pushed(hub: &Arc<Hub>, args: &Args) -> Answer {
    let view = view_arg(args)?;
    checked(hub, &view, "modal")?;
    let user = triggered(hub, args)?;
    Ok(json!({"view": push(hub, &user, &view)?}))
}

/// Lays a view on the one a person sees.
pub(super) fn push(hub: &Hub, user: &UserId, view: &Value) -> Result<Value, ApiError> {
    let view = checked(hub, view, "modal")?;
    match hub.world().modals_of(user.as_str()).len() {
        0 => return Err("not_found".into()),
        n if n >= STACK => return Err("push_limit_reached".into()),
        _ => {}
    }
    show(hub, user, view)
}

pub(super) fn update(hub: &Arc<Hub>, args: &Args) -> Answer {
    let view = view_arg(args)?;
    checked(hub, &view, "modal")?;
    let (user, id) = {
        let world = hub.world();
        let found = match (str_arg(args, "view_id"), str_arg(args, "external_id")) {
            (Some(id), _) => world.modal(id),
            (None, Some(id)) => by_external_id(&world, id),
            (None, None) => return Err("invalid_arguments".into()),
        };
        let (user, old) = found.ok_or("not_found")?;
        let hash = old.get("hash").and_then(Value::as_str);
        if str_arg(args, "hash").is_some_and(|h| Some(h) != hash) {
            return Err("hash_conflict".into());
        }
        (user.clone(), old.get("id").and_then(Value::as_str).unwrap_or("").to_owned())
    };
    Ok(json!({"view": replace(hub, &user, &id, &view)?}))
}

/// Gives an open modal other content.
pub(super) fn replace(hub: &Hub, user: &UserId, id: &str, view: &Value) -> Result<Value, ApiError> {
    let mut view = checked(hub, view, "modal")?;
    let mut world = hub.world();
    let (_, old) = world.modal(id).filter(|(owner, _)| *owner == user).ok_or("not_found")?;
    unique(&world, &view, Some(id))?;
    for key in ["id", "root_view_id", "previous_view_id"] {
        view.insert(key.into(), old.get(key).cloned().unwrap_or(Value::Null));
    }
    let view = Value::Object(view);
    hub.commit(&mut world, Change::Modal { view: view.clone(), user: user.clone() });
    Ok(view)
}

pub(super) fn publish(hub: &Arc<Hub>, args: &Args) -> Answer {
    if !hub.settings.home_tab {
        return Err("not_enabled".into());
    }
    let mut view = checked(hub, &view_arg(args)?, "home")?;
    let user = UserId::new(str_arg(args, "user_id").unwrap_or(""));
    let mut world = hub.world();
    world.user(user.as_str()).ok_or("user_not_found")?;
    let old = world.home(user.as_str()).and_then(|v| v.get("hash")).and_then(Value::as_str);
    if str_arg(args, "hash").is_some_and(|h| Some(h) != old) {
        return Err("hash_conflict".into());
    }
    view.insert("id".into(), format!("H{user}").into());
    view.insert("root_view_id".into(), format!("H{user}").into());
    let view = Value::Object(view);
    hub.commit(&mut world, Change::Home { user, view: view.clone() });
    Ok(json!({"view": view}))
}
