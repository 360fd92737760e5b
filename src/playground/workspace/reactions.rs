//! The methods about reactions.

use std::sync::Arc;

use serde_json::{Value, json};

use super::hub::Hub;
use super::message::Message;
use super::methods::{Args, place_to_write, str_arg};
use super::web_api::{Answer, ApiError};
use crate::domain::UserId;

fn named(hub: &Hub, args: &Args) -> Result<(Message, UserId, String), ApiError> {
    let channel = place_to_write(hub, args, "channel")?;
    let name = str_arg(args, "name").unwrap_or("").trim_matches(':').to_owned();
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | ':');
    if name.is_empty() || !name.chars().all(word) {
        return Err("invalid_name".into());
    }
    let world = hub.world();
    let ts = str_arg(args, "timestamp").filter(|t| !t.is_empty()).ok_or("no_item_specified")?;
    let message = world.message(channel.id.as_str(), ts).filter(|m| !m.tombstone).ok_or("message_not_found")?;
    Ok((message.clone(), world.bot.user.clone(), name))
}

pub(super) fn add(hub: &Arc<Hub>, args: &Args) -> Answer {
    let (message, bot, name) = named(hub, args)?;
    if hub.reacted(&message, &bot, &name, true) { Ok(json!({})) } else { Err("already_reacted".into()) }
}

pub(super) fn remove(hub: &Arc<Hub>, args: &Args) -> Answer {
    let (message, bot, name) = named(hub, args)?;
    if hub.reacted(&message, &bot, &name, false) { Ok(json!({})) } else { Err("no_reaction".into()) }
}

pub(super) fn get(hub: &Arc<Hub>, args: &Args) -> Answer {
    let channel = super::methods::place(hub, args, "channel")?;
    let world = hub.world();
    let ts = str_arg(args, "timestamp").filter(|t| !t.is_empty()).ok_or("no_item_specified")?;
    let message = world.message(channel.id.as_str(), ts).ok_or("message_not_found")?;
    let message = Value::Object(message.to_slack(&world.team, &world.bot, true));
    Ok(json!({"type": "message", "channel": channel.id, "message": message}))
}
