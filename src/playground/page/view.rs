//! What the page is given to draw, as one person may see it.

use serde_json::{Map, Value, json};

use super::summary::Threads;
use crate::domain::{ChannelId, MessageTs, UserId};
use crate::playground::workspace::{Change, Channel, Hub, Message, Refused, Seed, User, World};
use crate::words::page as words;

/// How many messages of a conversation the page gets at first, and with each step backwards.
const PAGE: usize = 60;
/// The same for the replies of a thread.
const REPLIES: usize = 100;

/// Who can be chosen, before anybody is.
pub(super) fn people(hub: &Hub) -> Value {
    let world = hub.world();
    let people: Vec<Value> = world.users().iter().map(|u| person_view(&world, u)).collect();
    json!({"people": people})
}

fn person_view(world: &World, user: &User) -> Value {
    let guest = user.is_restricted || user.is_ultra_restricted;
    let note = if user.team_id != world.team { Some("outside") } else { guest.then_some("guest") };
    json!({
        "id": user.id,
        "name": user.real_name,
        "handle": user.name,
        "title": user.title,
        "lang": user.lang().code(),
        "note": note,
    })
}

/// Everything one person sees: of each conversation the newest messages.
pub(super) fn state(hub: &Hub, user: &str) -> Result<Value, Refused> {
    let world = hub.world();
    let me = world.user(user).ok_or(Refused::UserNotFound)?;
    let lang = me.lang();
    let channels = world.channels_of(&me.id);
    let rooms: Map<String, Value> =
        channels.iter().map(|c| (c.id.to_string(), page_of(&world, &me.id, &c.id, None))).collect();
    let privates: Vec<Value> =
        world.ephemerals(user).iter().map(|m| message_view(&world, &me.id, m, Value::Null)).collect();
    let statuses: Vec<Value> = world
        .active_statuses(hub.now_ms())
        .filter(|(c, ..)| world.is_in(&me.id, c))
        .map(|(channel, thread, text, loading)| {
            json!({"channel": channel, "thread_ts": thread, "text": text, "loading": loading})
        })
        .collect();
    let mine = |channel: &ChannelId| world.is_in(&me.id, channel);
    let sessions: Vec<Value> = world
        .sessions()
        .filter(|(c, ..)| mine(c))
        .map(|(channel, thread, status)| json!({"channel": channel, "thread_ts": thread, "status": status}))
        .collect();
    let titles: Vec<Value> = world
        .titles()
        .filter(|(c, ..)| mine(c))
        .map(|(channel, thread, title)| json!({"channel": channel, "thread_ts": thread, "title": title}))
        .collect();
    let groups: Map<String, Value> = world.groups().iter().map(|g| (g.id.clone(), g.handle.clone().into())).collect();
    let dm = Seed::dm(&me.id);
    let people: Vec<Value> = world.users().iter().map(|u| person_view(&world, u)).collect();
    Ok(json!({
        "me": {
            "id": me.id, "name": me.real_name, "handle": me.name, "title": me.title, "zone": me.tz, "lang": lang.code(),
        },
        "team": world.team_name,
        "bot": {"id": world.bot.user, "name": world.bot.real_name, "handle": world.bot.name},
        "people": people,
        "names": names(&world, &me.id),
        "groups": groups,
        "channels": channels.iter().map(|c| channel_view(&world, &me.id, c)).collect::<Vec<_>>(),
        "rooms": rooms,
        "privates": privates,
        "dm": dm,
        "statuses": statuses,
        "sessions": sessions,
        "can_stop": hub.subscribes("agent_session_stopped"),
        "titles": titles,
        "prompts": world.prompts(dm.as_str()),
        "home": world.home(user),
        "home_tab": hub.has_home_tab(),
        "modals": world.modals_of(user),
        "banner": hub.banner(lang),
        "examples": hub.examples(lang),
        "words": words::all(lang).into_iter().map(|(k, v)| (k.to_owned(), v.into())).collect::<Map<String, Value>>(),
    }))
}

/// Older messages of a conversation.
pub(super) fn history(hub: &Hub, user: &str, channel: &str, before: &str) -> Result<Value, Refused> {
    visible(hub, user, channel)?;
    let world = hub.world();
    Ok(page_of(&world, &UserId::new(user), &ChannelId::new(channel), Some(&MessageTs::new(before))))
}

/// Messages that are no replies, oldest first: the newest, or those before one.
fn page_of(world: &World, me: &UserId, channel: &ChannelId, before: Option<&MessageTs>) -> Value {
    let all = world.messages(channel.as_str());
    let roots: Vec<&Message> =
        all.iter().copied().filter(|m| !m.is_reply() && before.is_none_or(|b| m.ts < *b)).collect();
    let skipped = roots.len().saturating_sub(PAGE);
    let shown = roots.get(skipped..).unwrap_or_default();
    // Replies are younger than their roots: what is older than all of these is no reply to them.
    let oldest = shown.first().map(|m| &m.ts);
    let threads = Threads::of(all.into_iter().filter(|m| oldest.is_some_and(|o| m.ts > *o)), me);
    let messages: Vec<Value> = shown.iter().map(|m| message_view(world, me, m, threads.under(m, me))).collect();
    json!({"messages": messages, "more": skipped > 0})
}

/// A root and its newest replies, or the replies before one.
pub(super) fn thread(hub: &Hub, user: &str, channel: &str, ts: &str, before: Option<&str>) -> Result<Value, Refused> {
    visible(hub, user, channel)?;
    let world = hub.world();
    let me = UserId::new(user);
    let all = world.thread(channel, ts);
    let root = world.message(channel, ts).map(|m| {
        let threads = Threads::of(all.iter().copied(), &me);
        message_view(&world, &me, m, threads.under(m, &me))
    });
    let replies: Vec<&&Message> =
        all.iter().filter(|m| m.is_reply() && before.is_none_or(|b| m.ts.as_str() < b)).collect();
    let skipped = replies.len().saturating_sub(REPLIES);
    let messages: Vec<Value> =
        replies.into_iter().skip(skipped).map(|m| message_view(&world, &me, m, Value::Null)).collect();
    Ok(json!({"root": root, "messages": messages, "more": skipped > 0}))
}

/// Whether the bot has taken a message; none when no delivery of it was tried yet.
pub(super) fn delivered(hub: &Hub, user: &str, channel: &str, ts: &str) -> Result<Option<bool>, Refused> {
    visible(hub, user, channel)?;
    let world = hub.world();
    let about = |m: &(ChannelId, MessageTs)| m.0.as_str() == channel && m.1.as_str() == ts;
    let tried: Vec<bool> = world
        .deliveries()
        .filter(|d| d.message.as_ref().is_some_and(about))
        .flat_map(|d| &d.attempts)
        .map(|a| a.status.is_some_and(|s| (200..300).contains(&s)))
        .collect();
    Ok((!tried.is_empty()).then(|| tried.contains(&true)))
}

/// A change, if the person may see it.
pub(super) fn change(hub: &Hub, user: &UserId, change: &Change) -> Option<Value> {
    let world = hub.world();
    let mine = |only_for: &Option<UserId>| only_for.as_ref().is_none_or(|u| u == user);
    let here = |channel: &ChannelId| world.is_in(user, channel);
    match change {
        Change::Posted { message } | Change::Updated { message } => {
            let posted = matches!(change, Change::Posted { .. });
            (mine(&message.only_for) && here(&message.channel)).then(|| message_change(&world, user, message, posted))
        }
        Change::Reacted { channel, ts, .. } => {
            let message = world.message(channel.as_str(), ts.as_str())?;
            here(channel).then(|| message_change(&world, user, message, false))
        }
        Change::Deleted { channel, ts, thread_ts, only_for } => (mine(only_for) && here(channel)).then(|| {
            let root = thread_ts.as_ref().and_then(|t| under_root(&world, user, channel, t));
            json!({"deleted": {"channel": channel, "ts": ts, "thread_ts": thread_ts}, "root": root})
        }),
        Change::Opened { channel } => {
            channel.has(user).then(|| json!({"channel": channel_view(&world, user, channel)}))
        }
        Change::Status { channel, thread_ts, text, loading, .. } => here(channel)
            .then(|| json!({"status": {"channel": channel, "thread_ts": thread_ts, "text": text, "loading": loading}})),
        Change::Session { channel, thread_ts, status } => {
            here(channel).then(|| json!({"session": {"channel": channel, "thread_ts": thread_ts, "status": status}}))
        }
        Change::Title { channel, thread_ts, title } => {
            here(channel).then(|| json!({"title": {"channel": channel, "thread_ts": thread_ts, "title": title}}))
        }
        Change::Prompts { channel, prompts } => (Seed::dm(user) == *channel).then(|| json!({"prompts": prompts})),
        Change::Home { user: of, view } => (of == user).then(|| json!({"home": view})),
        Change::Modal { view, user: of } => (of == user).then(|| json!({"modal": view})),
        Change::ModalClosed { view_id, user: of } => (of == user).then(|| json!({"modal_closed": view_id})),
        Change::Filed { .. } => None,
    }
}

/// A message, and for a reply what now stands under its root.
fn message_change(world: &World, user: &UserId, message: &Message, posted: bool) -> Value {
    let under = under_root(world, user, &message.channel, message.root());
    let own = under.as_ref().filter(|_| !message.is_reply()).and_then(|u| u.get("thread")).cloned();
    json!({
        "message": message_view(world, user, message, own.unwrap_or_default()),
        "root": under.filter(|_| message.is_reply()),
        "posted": posted,
    })
}

/// What stands under a root.
fn under_root(world: &World, user: &UserId, channel: &ChannelId, root: &MessageTs) -> Option<Value> {
    let root = world.message(channel.as_str(), root.as_str())?;
    let threads = Threads::of(world.thread(channel.as_str(), root.ts.as_str()), user);
    Some(json!({"ts": root.ts, "thread": threads.under(root, user)}))
}

/// Whether the person may act in a conversation.
pub(super) fn visible(hub: &Hub, user: &str, channel: &str) -> Result<(), Refused> {
    let world = hub.world();
    let channel = world.channel(channel).ok_or(Refused::ChannelNotFound)?;
    if channel.has(&UserId::new(user)) { Ok(()) } else { Err(Refused::NotInChannel) }
}

fn channel_view(world: &World, me: &UserId, channel: &Channel) -> Value {
    let others = channel.members.iter().filter(|u| *u != me && **u != world.bot.user);
    let people: Vec<&str> = others.filter_map(|u| world.user(u.as_str())).map(|u| u.real_name.as_str()).collect();
    let name = if channel.is_mpim { people.join("、") } else { channel.name.clone() };
    json!({
        "id": channel.id,
        "name": name,
        "is_group": channel.is_mpim,
        "is_private": channel.is_private,
        "is_im": channel.is_im,
        "is_external": channel.is_ext_shared,
        "is_archived": channel.is_archived,
        "has_bot": channel.has(&world.bot.user),
    })
}

/// A message; `thread` is what stands under it.
fn message_view(world: &World, me: &UserId, message: &Message, thread: Value) -> Value {
    let message = message.as_seen_by(me);
    json!({
        "channel": message.channel,
        "ts": message.ts,
        "thread_ts": message.thread_ts,
        "user": message.user,
        "is_bot": message.bot_id.is_some() && message.user == world.bot.user,
        "text": message.text,
        "blocks": message.blocks,
        "files": message.files,
        "reactions": message.reactions,
        "edited": message.edited.is_some(),
        "tombstone": message.tombstone,
        "streaming": message.streaming,
        "ephemeral": message.only_for.is_some(),
        "thread": thread,
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
