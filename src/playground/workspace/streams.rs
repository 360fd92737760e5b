//! Streamed messages: `chat.startStream`, `chat.appendStream`, `chat.stopStream`.
//!
//! What it promises: Slack's refusals, documented or only observed, among them that a stream ends by itself some minutes
//! after its start, whatever is appended; its message then stays unfinished until it is updated.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::blocks::{Surface, accept};
use super::hub::Hub;
use super::message::Message;
use super::messages::{MARKDOWN_TEXT, checked_metadata, refuse, thread_in, too_many};
use super::methods::{Args, place_to_write, str_arg};
use super::surfaces::session;
use super::web_api::{Answer, ApiError};
use crate::domain::{ChannelId, MessageTs, UserId};

/// Blocks that may come in chunks of one stream, and once more with its end.
const BLOCKS: usize = 50;

/// A stream that was begun in this run.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    started: i64,
    state: State,
    /// The message so far.
    pieces: Vec<Value>,
    blocks: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Closed,
    StoppedByUser,
}

impl Stream {
    /// Whether words can still be added.
    fn is_open(&self, now: i64, life: i64) -> bool {
        self.state == State::Open && now - self.started < life
    }

    fn close(&mut self) {
        self.state = State::Closed;
    }

    fn stop_by_user(&mut self) {
        self.state = State::StoppedByUser;
    }

    fn write(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let last = self.pieces.last_mut().filter(|p| p.get("type").and_then(Value::as_str) == Some("markdown"));
        match last.and_then(Value::as_object_mut) {
            Some(piece) => {
                let before = piece.get("text").and_then(Value::as_str).unwrap_or("");
                let longer = format!("{before}{text}");
                piece.insert("text".into(), longer.into());
            }
            None => {
                let id = format!("stream{}", self.pieces.len());
                self.pieces.push(json!({"type": "markdown", "text": text, "block_id": id}));
            }
        }
    }

    /// Adds what a call brings.
    fn take(&mut self, hub: &Hub, args: &Args) -> Result<(), ApiError> {
        let text = str_arg(args, "markdown_text").unwrap_or("");
        if too_many(text, MARKDOWN_TEXT) {
            return Err("msg_too_long".into());
        }
        self.write(text);
        let chunks = match args.get("chunks") {
            None => &[],
            Some(Value::Array(list)) => list.as_slice(),
            Some(_) => return Err("invalid_chunks".into()),
        };
        for chunk in chunks {
            self.chunk(hub, chunk)?;
        }
        Ok(())
    }

    fn chunk(&mut self, hub: &Hub, chunk: &Value) -> Result<(), ApiError> {
        let text = |key: &str| chunk.get(key).and_then(Value::as_str).filter(|t| !t.is_empty());
        match chunk.get("type").and_then(Value::as_str) {
            Some("markdown_text") => {
                let words = text("text").ok_or("invalid_chunks")?;
                if too_many(words, MARKDOWN_TEXT) {
                    return Err("msg_too_long".into());
                }
                self.write(words);
            }
            Some("task_update") => {
                let (id, title) = (text("id").ok_or("invalid_chunks")?, text("title").ok_or("invalid_chunks")?);
                let status = text("status").ok_or("invalid_chunks")?;
                if !matches!(status, "pending" | "in_progress" | "complete" | "error") {
                    return Err("invalid_chunks".into());
                }
                let mut card = json!({
                    "type": "task_card", "block_id": format!("task-{id}"), "task_id": id, "title": title, "status": status,
                });
                for key in ["details", "output", "sources"] {
                    if let (Some(value), Some(card)) = (chunk.get(key), card.as_object_mut()) {
                        card.insert(key.into(), value.clone());
                    }
                }
                self.put(card, "task_id");
            }
            Some("plan_update") => {
                let title = text("title").ok_or("invalid_chunks")?;
                self.put(json!({"type": "plan", "block_id": "plan", "title": title}), "block_id");
            }
            Some("blocks") => {
                let blocks = chunk.get("blocks").ok_or("invalid_chunks")?;
                let blocks = accept(blocks, Surface::Message, || hub.world().next_id()).map_err(refuse)?;
                self.add(blocks)?;
            }
            _ => return Err("invalid_chunks".into()),
        }
        Ok(())
    }

    /// A piece that replaces the earlier one about the same thing.
    fn put(&mut self, piece: Value, key: &str) {
        let same = |p: &&mut Value| p.get("type") == piece.get("type") && p.get(key) == piece.get(key);
        match self.pieces.iter_mut().find(same) {
            Some(old) => *old = piece,
            None => self.pieces.push(piece),
        }
    }

    fn add(&mut self, blocks: Value) -> Result<(), ApiError> {
        let Value::Array(list) = blocks else { return Err("invalid_blocks_format".into()) };
        self.blocks += list.len();
        if self.blocks > BLOCKS {
            return Err("msg_blocks_too_many".into());
        }
        self.pieces.extend(list);
        Ok(())
    }

    /// The message as it looks now.
    fn shown(&self, before: &Message) -> Message {
        let words = self.pieces.iter().filter(|p| p.get("type").and_then(Value::as_str) == Some("markdown"));
        let text: Vec<&str> = words.filter_map(|p| p.get("text").and_then(Value::as_str)).collect();
        let blocks = (!self.pieces.is_empty()).then(|| Value::Array(self.pieces.clone()));
        Message { text: text.join("\n"), blocks, ..before.clone() }
    }
}

pub(super) fn start(hub: &Arc<Hub>, args: &Args) -> Answer {
    let channel = place_to_write(hub, args, "channel")?;
    let live_for = if channel.is_im { None } else { Some(recipient(hub, args)?) };
    let mode = str_arg(args, "task_display_mode").unwrap_or("timeline");
    if !matches!(mode, "timeline" | "plan" | "dense") {
        return Err("invalid_arguments".into());
    }
    let mut stream = Stream { started: hub.clock.now_ms(), state: State::Open, pieces: Vec::new(), blocks: 0 };
    stream.take(hub, args)?;
    let blank = {
        let world = hub.world();
        // The documents call it optional here and required there; without it the call was seen to fail.
        let thread_ts = Some(thread_in(&world, &channel, args)?.ok_or("invalid_thread_ts")?);
        let bot_id = Some(world.bot.bot_id.clone());
        let blank = Message::blank(channel.id, world.bot.user.clone());
        Message { thread_ts, bot_id, streaming: true, live_for, ..blank }
    };
    let message = hub.post(stream.shown(&blank));
    hub.streams().insert((message.channel.clone(), message.ts.clone()), stream);
    Ok(json!({"channel": message.channel, "ts": message.ts}))
}

/// Outside of DMs a stream is for one person.
fn recipient(hub: &Hub, args: &Args) -> Result<UserId, ApiError> {
    let filled = |key: &str| str_arg(args, key).filter(|t| !t.is_empty());
    let team = filled("recipient_team_id").ok_or("missing_recipient_team_id")?;
    let user = filled("recipient_user_id").ok_or("missing_recipient_user_id")?;
    let world = hub.world();
    let person = world.user(user).ok_or("user_not_found")?;
    if person.team_id.as_str() == team { Ok(person.id.clone()) } else { Err("team_not_found".into()) }
}

type Streams = HashMap<(ChannelId, MessageTs), Stream>;

/// The message a call names and its stream, if that can still be written to. The streams stay locked while it is
/// written, so that words that come at the same time follow one another.
fn open<'s>(hub: &Hub, args: &Args, streams: &'s mut Streams) -> Result<(Message, &'s mut Stream), ApiError> {
    let channel = place_to_write(hub, args, "channel")?;
    let message = {
        let world = hub.world();
        let ts = str_arg(args, "ts").unwrap_or("");
        let message = world.message(channel.id.as_str(), ts).filter(|m| !m.tombstone).ok_or("message_not_found")?;
        if message.bot_id.as_ref() != Some(&world.bot.bot_id) {
            return Err("message_not_owned_by_app".into());
        }
        message.clone()
    };
    let key = (message.channel.clone(), message.ts.clone());
    let stream = streams.get_mut(&key).ok_or("message_not_in_streaming_state")?;
    if stream.state == State::StoppedByUser {
        return Err("stopped_by_user".into());
    }
    if !stream.is_open(hub.clock.now_ms(), hub.stream_life_ms()) {
        return Err("message_not_in_streaming_state".into());
    }
    Ok((message, stream))
}

pub(super) fn append(hub: &Arc<Hub>, args: &Args) -> Answer {
    let mut streams = hub.streams();
    let (before, stream) = open(hub, args, &mut streams)?;
    if str_arg(args, "markdown_text").is_none_or(str::is_empty) && !args.contains_key("chunks") {
        return Err("no_text".into());
    }
    let mut longer = stream.clone();
    longer.take(hub, args)?;
    *stream = longer;
    let after = hub.replace(&before, stream.shown(&before));
    Ok(json!({"channel": after.channel, "ts": after.ts}))
}

pub(super) fn stop(hub: &Arc<Hub>, args: &Args) -> Answer {
    let mut streams = hub.streams();
    let (before, open) = open(hub, args, &mut streams)?;
    let mut stream = open.clone();
    stream.take(hub, args)?;
    let metadata = checked_metadata(args)?;
    if let Some(blocks) = args.get("blocks").filter(|b| b.as_array().is_none_or(|l| !l.is_empty())) {
        let blocks = accept(blocks, Surface::Message, || hub.world().next_id()).map_err(refuse)?;
        stream.blocks = 0;
        stream.add(blocks)?;
    }
    let status = str_arg(args, "session_status");
    if let Some(status) = status {
        session(hub, &before.channel, before.root(), status)?;
    }
    stream.close();
    *open = stream;
    let shown = open.shown(&before);
    let after = hub.replace(&before, Message { streaming: false, metadata, ..shown });
    let world = hub.world();
    let object = Value::Object(after.to_slack(&world.team, &world.bot, true));
    Ok(json!({"channel": after.channel, "ts": after.ts, "message": object}))
}

/// Whether the bot still writes this message.
pub(super) fn is_open(hub: &Hub, message: &Message) -> bool {
    let key = (message.channel.clone(), message.ts.clone());
    hub.streams().get(&key).is_some_and(|s| s.is_open(hub.clock.now_ms(), hub.stream_life_ms()))
}

/// A person stops what the bot writes in a thread; the messages that end so.
pub(super) fn stop_by_user(hub: &Arc<Hub>, channel: &str, thread_ts: &str) -> Vec<MessageTs> {
    let now = hub.clock.now_ms();
    let mut streams = hub.streams();
    let messages: Vec<Message> = hub.world().thread(channel, thread_ts).into_iter().cloned().collect();
    let mut stopped = Vec::new();
    for message in messages.iter().filter(|m| m.streaming) {
        let key = (message.channel.clone(), message.ts.clone());
        if let Some(stream) = streams.get_mut(&key).filter(|s| s.is_open(now, hub.stream_life_ms())) {
            stream.stop_by_user();
            hub.replace(message, Message { streaming: false, ..message.clone() });
            stopped.push(message.ts.clone());
        }
    }
    stopped
}

/// Ends the stream a call is about, as Slack does by itself.
pub(super) fn close(hub: &Hub, args: &Args) {
    let key = |k: &str| str_arg(args, k).unwrap_or("");
    let key = (ChannelId::new(key("channel")), MessageTs::new(key("ts")));
    if let Some(stream) = hub.streams().get_mut(&key) {
        stream.close();
    }
}
