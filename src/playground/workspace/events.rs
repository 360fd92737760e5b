//! What the bot is told: which events follow from a change, and their envelopes.

use serde_json::{Map, Value, json};

use super::composer::typed_blocks;
use super::message::Message;
use super::seed::Channel;
use super::world::World;
use crate::domain::MessageTs;

/// The events that follow from a new message: for a person's mention in a channel two, with the same `ts`.
pub(super) fn posted(world: &mut World, message: &Message) -> Vec<Value> {
    let Some(channel) = heard(world, message.channel.as_str()) else { return Vec::new() };
    let mut event = message.to_slack(&world.team, &world.bot, true);
    decorate(world, &mut event, &channel, message);
    let mut events = Vec::new();
    let mention = format!("<@{}", world.bot.user);
    if message.bot_id.is_none() && !channel.is_im && message.text.contains(&mention) {
        let mut mentioned = event.clone();
        mentioned.insert("type".into(), "app_mention".into());
        mentioned.remove("channel_type");
        // Of people of other workspaces mentions were seen not to say where they belong.
        if world.user(message.user.as_str()).is_some_and(|u| u.team_id != world.team) {
            mentioned.remove("team");
        }
        events.push(mentioned);
    }
    events.push(event);
    events.into_iter().map(|e| envelope(world, &channel, e)).collect()
}

/// The event of an edit: the bot hears its own edits too.
pub(super) fn changed(world: &mut World, before: &Message, after: &Message, event_ts: &str) -> Vec<Value> {
    let Some(channel) = heard(world, after.channel.as_str()) else { return Vec::new() };
    let mention = format!("<@{}", world.bot.user);
    let mut events = Vec::new();
    // A person's edit that mentions the bot is a mention again, with the message's own `ts`.
    if after.bot_id.is_none() && !channel.is_im && before.text != after.text && after.text.contains(&mention) {
        let mut mentioned = after.to_slack(&world.team, &world.bot, true);
        decorate(world, &mut mentioned, &channel, after);
        mentioned.insert("type".into(), "app_mention".into());
        mentioned.insert("event_ts".into(), event_ts.into());
        mentioned.remove("channel_type");
        events.push(mentioned);
    }
    let inner = |m: &Message| Value::Object(m.to_slack(&world.team, &world.bot, true));
    let event = hidden(&channel, "message_changed", event_ts, |e| {
        e.insert("message".into(), inner(after));
        e.insert("previous_message".into(), inner(before));
    });
    events.push(event);
    events.into_iter().map(|e| envelope(world, &channel, e)).collect()
}

/// Somebody gave or took back a reaction.
pub(super) fn reacted(world: &mut World, message: &Message, user: &str, name: &str, on: bool, ts: &str) -> Vec<Value> {
    let Some(channel) = heard(world, message.channel.as_str()) else { return Vec::new() };
    let mut event = Map::new();
    event.insert("type".into(), if on { "reaction_added" } else { "reaction_removed" }.into());
    event.insert("user".into(), user.into());
    event.insert("reaction".into(), name.into());
    event.insert("item_user".into(), message.user.as_str().into());
    event.insert("item".into(), json!({"type": "message", "channel": message.channel, "ts": message.ts}));
    event.insert("event_ts".into(), ts.into());
    vec![envelope(world, &channel, event)]
}

/// A person pressed Stop while the agent worked in a thread.
pub(super) fn session_stopped(
    world: &mut World,
    user: &str,
    channel: &Channel,
    thread_ts: &str,
    streams: &[MessageTs],
    ts: &str,
) -> Value {
    let mut event = Map::new();
    event.insert("type".into(), "agent_session_stopped".into());
    event.insert("user".into(), user.into());
    event.insert("channel".into(), channel.id.as_str().into());
    event.insert("thread_ts".into(), thread_ts.into());
    event.insert("streaming_message_ts".into(), json!(streams));
    event.insert("event_ts".into(), ts.into());
    envelope(world, channel, event)
}

/// What an app must have asked for to be told of an event.
pub(super) fn subscription(envelope: &Value) -> String {
    let text = |pointer: &str| envelope.pointer(pointer).and_then(Value::as_str).unwrap_or("");
    match (text("/event/type"), text("/event/channel_type")) {
        ("message", "channel") => "message.channels".into(),
        ("message", "group") => "message.groups".into(),
        ("message", other) => format!("message.{other}"),
        (kind, _) => kind.into(),
    }
}

/// The event of a deletion.
pub(super) fn deleted(world: &mut World, before: &Message, event_ts: &str) -> Vec<Value> {
    let Some(channel) = heard(world, before.channel.as_str()) else { return Vec::new() };
    let event = hidden(&channel, "message_deleted", event_ts, |e| {
        e.insert("deleted_ts".into(), before.ts.as_str().into());
        e.insert("previous_message".into(), Value::Object(before.to_slack(&world.team, &world.bot, true)));
    });
    vec![envelope(world, &channel, event)]
}

/// A person opened a tab of the app: `messages`, its DM, or `home`.
pub(super) fn home_opened(world: &mut World, user: &str, channel: &Channel, tab: &str, event_ts: &str) -> Value {
    let mut event = Map::new();
    event.insert("type".into(), "app_home_opened".into());
    event.insert("user".into(), user.into());
    event.insert("channel".into(), channel.id.as_str().into());
    event.insert("tab".into(), tab.into());
    event.insert("event_ts".into(), event_ts.into());
    envelope(world, channel, event)
}

/// The conversation, if the bot is in it.
fn heard(world: &World, channel: &str) -> Option<Channel> {
    world.channel(channel).filter(|c| c.has(&world.bot.user)).cloned()
}

fn decorate(world: &mut World, event: &mut Map<String, Value>, channel: &Channel, message: &Message) {
    event.insert("channel".into(), channel.id.as_str().into());
    event.insert("channel_type".into(), channel.channel_type().into());
    event.insert("event_ts".into(), message.ts.as_str().into());
    if message.is_reply()
        && let Some(root) = world.message(message.channel.as_str(), message.root().as_str())
    {
        event.insert("parent_user_id".into(), root.user.as_str().into());
    }
    if message.bot_id.is_none() {
        if let Some(user) = world.user(message.user.as_str()) {
            event.insert("team".into(), user.team_id.as_str().into());
        }
        let id = world.next_id();
        event.insert("client_msg_id".into(), format!("00000000-0000-4000-8000-{id:012}").into());
        if !message.text.is_empty() {
            event.insert("blocks".into(), typed_blocks(&message.text, &format!("t{id:04}")));
        }
    }
}

fn hidden(
    channel: &Channel,
    subtype: &str,
    event_ts: &str,
    fill: impl FnOnce(&mut Map<String, Value>),
) -> Map<String, Value> {
    let mut event = Map::new();
    event.insert("type".into(), "message".into());
    event.insert("subtype".into(), subtype.into());
    event.insert("hidden".into(), true.into());
    event.insert("channel".into(), channel.id.as_str().into());
    event.insert("channel_type".into(), channel.channel_type().into());
    event.insert("ts".into(), event_ts.into());
    event.insert("event_ts".into(), event_ts.into());
    fill(&mut event);
    event
}

fn envelope(world: &mut World, channel: &Channel, event: Map<String, Value>) -> Value {
    let seconds = event.get("event_ts").and_then(Value::as_str).and_then(|ts| ts.split('.').next()).unwrap_or("0");
    let time: i64 = seconds.parse().unwrap_or(0);
    let id = world.next_id();
    json!({
        "token": "deprecated",
        "team_id": world.team,
        "context_team_id": world.team,
        "context_enterprise_id": null,
        "api_app_id": world.bot.app_id,
        "type": "event_callback",
        // Unique across restarts: the bot remembers event ids for a day.
        "event_id": format!("Ev{}{id:06}", world.run),
        "event_time": time,
        "event_context": format!("4-{}-{}", world.team, channel.id),
        "is_ext_shared_channel": channel.is_ext_shared,
        "authorizations": [{
            "enterprise_id": null, "team_id": world.team, "user_id": world.bot.user,
            "is_bot": true, "is_enterprise_install": false,
        }],
        "event": event,
    })
}
