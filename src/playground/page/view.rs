//! What the page is given to draw, as one person may see it.

use serde_json::{Map, Value, json};

use crate::domain::{Lang, UserId};
use crate::playground::workspace::{Change, Channel, Hub, Message, Refused, Seed, World};
use crate::words::page as words;

/// The newest messages of a conversation that are sent to the page.
const SHOWN: usize = 600;

/// Who can be chosen, before anybody is.
pub(super) fn people(hub: &Hub) -> Value {
    let world = hub.world();
    let people: Vec<Value> = world
        .users()
        .iter()
        .map(|u| json!({"id": u.id, "name": u.real_name, "handle": u.name, "title": u.title, "lang": u.lang().code()}))
        .collect();
    json!({"people": people})
}

/// Everything one person sees.
pub(super) fn state(hub: &Hub, user: &str) -> Result<Value, Refused> {
    let world = hub.world();
    let me = world.user(user).ok_or(Refused::UserNotFound)?;
    let lang = me.lang();
    let mut channels: Vec<Value> = Vec::new();
    let mut messages: Vec<Value> = Vec::new();
    for channel in world.channels_of(&me.id) {
        channels.push(channel_view(&world, channel));
        let all = world.messages(channel.id.as_str());
        let newest = all.len().saturating_sub(SHOWN);
        messages.extend(all.into_iter().skip(newest).map(|m| message_view(&world, m)));
    }
    messages.extend(world.ephemerals(user).iter().map(|m| message_view(&world, m)));
    let statuses: Vec<Value> = world
        .active_statuses(hub.now_ms())
        .filter(|(c, ..)| world.is_in(&me.id, c))
        .map(|(channel, thread, text, _)| json!({"channel": channel, "thread_ts": thread, "text": text}))
        .collect();
    let dm = Seed::dm(&me.id);
    Ok(json!({
        "me": {"id": me.id, "name": me.real_name, "title": me.title, "zone": me.tz, "lang": lang.code()},
        "team": world.team_name,
        "bot": {"id": world.bot.user, "name": world.bot.real_name, "handle": world.bot.name},
        "names": names(&world, &me.id),
        "channels": channels,
        "dm": dm,
        "messages": messages,
        "statuses": statuses,
        "prompts": world.prompts(dm.as_str()).cloned().unwrap_or(Value::Null),
        "banner": hub.banner(lang),
        "examples": hub.examples(lang),
        "words": labels(lang),
    }))
}

/// A change, if the person may see it.
pub(super) fn change(hub: &Hub, user: &UserId, change: &Change) -> Option<Value> {
    let world = hub.world();
    match change {
        Change::Posted { message } | Change::Updated { message } => {
            let mine = message.only_for.as_ref().is_none_or(|u| u == user);
            (mine && world.is_in(user, &message.channel)).then(|| json!({"message": message_view(&world, message)}))
        }
        Change::Deleted { channel, ts, only_for, .. } => {
            let mine = only_for.as_ref().is_none_or(|u| u == user);
            (mine && world.is_in(user, channel)).then(|| json!({"deleted": {"channel": channel, "ts": ts}}))
        }
        Change::Opened { channel } => channel.has(user).then(|| json!({"channel": channel_view(&world, channel)})),
        Change::Status { channel, thread_ts, text, .. } => world
            .is_in(user, channel)
            .then(|| json!({"status": {"channel": channel, "thread_ts": thread_ts, "text": text}})),
        Change::Prompts { channel, prompts } => (Seed::dm(user) == *channel).then(|| json!({"prompts": prompts})),
        Change::Title { .. } | Change::Session { .. } | Change::Home { .. } | Change::Modal { .. } => None,
        Change::Reacted { .. } | Change::Filed { .. } | Change::ModalClosed { .. } => None,
    }
}

/// Whether the person may act in a conversation.
pub(super) fn visible(hub: &Hub, user: &str, channel: &str) -> Result<(), Refused> {
    let world = hub.world();
    let channel = world.channel(channel).ok_or(Refused::ChannelNotFound)?;
    if channel.has(&UserId::new(user)) { Ok(()) } else { Err(Refused::NotInChannel) }
}

fn channel_view(world: &World, channel: &Channel) -> Value {
    json!({
        "id": channel.id,
        "name": channel.name,
        "is_private": channel.is_private,
        "is_im": channel.is_im,
        "has_bot": channel.has(&world.bot.user),
    })
}

fn message_view(world: &World, message: &Message) -> Value {
    json!({
        "channel": message.channel,
        "ts": message.ts,
        "thread_ts": message.thread_ts,
        "user": message.user,
        "is_bot": message.bot_id.is_some() && message.user == world.bot.user,
        "text": message.text,
        "blocks": message.blocks,
        "edited": message.edited.is_some(),
        "tombstone": message.tombstone,
        "ephemeral": message.only_for.is_some(),
    })
}

/// Names for the ids that texts and blocks mention.
fn names(world: &World, me: &UserId) -> Map<String, Value> {
    let people = world.users().iter().map(|u| (u.id.to_string(), u.real_name.clone().into()));
    let bot = (world.bot.user.to_string(), world.bot.real_name.clone().into());
    let known = world.channels().filter(|c| !c.is_private || c.has(me));
    let channels = known.map(|c| (c.id.to_string(), c.name.clone().into()));
    people.chain([bot]).chain(channels).collect()
}

fn labels(lang: Lang) -> Map<String, Value> {
    macro_rules! labels {
        ($($name:ident),* $(,)?) => { [$((stringify!($name).to_owned(), words::$name(lang).into())),*] };
    }
    Map::from_iter(labels!(
        title,
        people,
        private,
        channels,
        direct_message,
        messages,
        thread,
        close_thread,
        back,
        menu,
        reply_one,
        reply_many,
        write_to,
        write_reply,
        write_dm,
        send,
        mention_bot,
        only_you,
        edited,
        deleted,
        sending,
        press_failed,
        not_sent,
        reconnecting,
        examples,
        empty_channel,
        empty_dm,
        no_bot_here,
        app_badge,
        new_thread,
        image,
        cannot_show,
        today,
        yesterday,
        sidebar,
        composer,
        show_code,
        link_hint,
    ))
}
