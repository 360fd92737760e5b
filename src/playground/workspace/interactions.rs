//! Presses, modals, external options and slash commands: what a person does with what the bot has shown.
//!
//! What it promises: each is one signed, form-encoded request, answered within 3 s or shown to the person as failed, and
//! never repeated. Whoever sees an element may use it: who may decide is the bot's question.

use std::sync::Arc;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Endpoint;
use super::delivery::outcome;
use super::hub::{Hub, ResponseUrl};
use super::message::{Message, element_in};
use super::people::Refused;
use super::seed::User;
use super::world::World;
use crate::domain::UserId;

/// What holds the element a person uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// A message they see, also an ephemeral one.
    Message {
        /// Its conversation.
        channel: &'a str,
        /// Its identity there.
        ts: &'a str,
    },
    /// A modal they have open, or their Home tab.
    View {
        /// `V…`.
        id: &'a str,
    },
}

/// What became of a press.
#[derive(Clone, Debug, PartialEq)]
pub struct PressOutcome {
    /// The bot's HTTP status; none when it did not answer within 3 s or could not be reached.
    pub status: Option<u16>,
    /// The person sees Slack's warning triangle: anything but 200 within 3 s.
    pub warning: bool,
    /// The bot's answer, up to 64 KiB.
    pub body: String,
}

/// What became of a submitted modal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubmitOutcome {
    /// The bot's HTTP status; none when nothing was sent or no answer came.
    pub status: Option<u16>,
    /// The person is told that it did not work.
    pub warning: bool,
    /// What is wrong with which input: `block_id` to a sentence, of the client or of the bot.
    pub errors: BTreeMap<String, String>,
    /// This modal is no longer open.
    pub closed: bool,
}

/// A surface with elements, as it is now.
struct Surface {
    /// What a payload holds of it beside the ordinary.
    fields: Map<String, Value>,
    blocks: Value,
    /// A message gives a `response_url`.
    message: Option<Message>,
}

impl Hub {
    /// A person presses the first button with this `action_id` on a message.
    pub(crate) async fn press(
        &self,
        user: &str,
        channel: &str,
        message_ts: &str,
        block_id: Option<&str>,
        action_id: &str,
    ) -> Result<PressOutcome, Refused> {
        let place = Place::Message { channel, ts: message_ts };
        self.press_with(user, place, block_id, action_id, json!({}), json!({})).await
    }

    /// A person uses an element. `chosen` is what its kind adds to the action, such as `{"selected_date": "…"}`; `state`
    /// what they have entered so far on that surface: `block_id` to `action_id` to value.
    pub(crate) async fn press_with(
        &self,
        user: &str,
        place: Place<'_>,
        block_id: Option<&str>,
        action_id: &str,
        chosen: Value,
        state: Value,
    ) -> Result<PressOutcome, Refused> {
        let payload = self.block_actions(user, place, block_id, action_id, &chosen, state)?;
        Ok(outcome(self.courier.post_payload(Endpoint::Interactions, &payload).await))
    }

    fn block_actions(
        &self,
        user: &str,
        place: Place<'_>,
        block_id: Option<&str>,
        action_id: &str,
        chosen: &Value,
        state: Value,
    ) -> Result<Value, Refused> {
        let mut world = self.world();
        let person = world.user(user).ok_or(Refused::UserNotFound)?.clone();
        let surface = surface(&world, &person, place)?;
        let (block_id, element) = element_in(&surface.blocks, block_id, action_id).ok_or(Refused::ActionNotFound)?;
        let mut action = json!({
            "action_id": action_id,
            "block_id": block_id,
            "type": element.get("type"),
            "action_ts": world.next_ts(self.clock.now().timestamp_micros()),
        });
        if let Some(action) = action.as_object_mut() {
            for key in ["text", "value", "style"] {
                if let Some(value) = element.get(key) {
                    action.insert(key.into(), value.clone());
                }
            }
            action.extend(chosen.as_object().cloned().unwrap_or_default());
        }
        let trigger = self.new_trigger(&mut world, &person.id);
        let mut payload = interaction(&world, "block_actions", &person);
        payload.insert("trigger_id".into(), trigger.into());
        payload.insert("state".into(), json!({"values": state}));
        payload.insert("actions".into(), json!([action]));
        payload.extend(surface.fields);
        if let Some(message) = surface.message {
            let url = self.new_response_url(&mut world, &person.id, message.channel.clone(), Some(message));
            payload.insert("response_url".into(), url.into());
        }
        Ok(Value::Object(payload))
    }

    /// The options that the app has for what a person typed into an external select; groups as they are.
    pub(crate) async fn suggest(
        &self,
        user: &str,
        place: Place<'_>,
        block_id: &str,
        action_id: &str,
        query: &str,
    ) -> Result<Vec<Value>, Refused> {
        let _ = (user, place, block_id, action_id, query);
        Err(Refused::NotSupported)
    }

    /// A person submits a modal. `values`: `block_id` to `action_id` to `{type, value | selected_option | …}`.
    pub(crate) async fn submit(
        self: &Arc<Self>,
        user: &str,
        view_id: &str,
        values: Value,
    ) -> Result<SubmitOutcome, Refused> {
        let _ = (user, view_id, values);
        Err(Refused::NotSupported)
    }

    /// A person closes a modal.
    pub(crate) async fn dismiss(self: &Arc<Self>, user: &str, view_id: &str) -> Result<(), Refused> {
        let _ = (user, view_id);
        Err(Refused::NotSupported)
    }

    /// A person runs a slash command, such as `/sales`, with what follows it.
    pub(crate) async fn command(
        self: &Arc<Self>,
        user: &str,
        channel: &str,
        name: &str,
        text: &str,
    ) -> Result<PressOutcome, Refused> {
        let _ = (user, channel, name, text);
        Err(Refused::NotSupported)
    }
}

/// What every interaction's payload begins with.
fn interaction(world: &World, kind: &str, person: &User) -> Map<String, Value> {
    let payload = json!({
        "type": kind,
        "user": {"id": person.id, "username": person.name, "name": person.name, "team_id": person.team_id},
        "api_app_id": world.bot.app_id,
        "token": "deprecated",
        "team": {"id": world.team, "domain": "local"},
        "enterprise": null,
        "is_enterprise_install": false,
    });
    payload.as_object().cloned().unwrap_or_default()
}

/// What the person sees at a place, and how a payload describes it.
fn surface(world: &World, person: &User, place: Place<'_>) -> Result<Surface, Refused> {
    match place {
        Place::Message { channel, ts } => {
            let there = world.channel(channel).ok_or(Refused::ChannelNotFound)?;
            let private = world.ephemerals(person.id.as_str()).iter();
            let private = private.rev().find(|m| m.ts.as_str() == ts && m.channel == there.id);
            let message = private.or_else(|| world.message(channel, ts)).ok_or(Refused::MessageNotFound)?.clone();
            let ephemeral = message.only_for.is_some();
            let mut container = json!({
                "type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": ephemeral,
            });
            if let (Some(thread), Some(container)) = (&message.thread_ts, container.as_object_mut()) {
                container.insert("thread_ts".into(), thread.as_str().into());
            }
            let mut fields = Map::new();
            fields.insert("container".into(), container);
            fields.insert("channel".into(), json!({"id": channel, "name": there.payload_name()}));
            if !ephemeral {
                let object = Value::Object(message.to_slack(&world.team, &world.bot, true));
                fields.insert("message".into(), object);
            }
            let blocks = message.blocks.clone().unwrap_or_default();
            Ok(Surface { fields, blocks, message: Some(message) })
        }
        Place::View { id } => {
            let modal = world.modal(id).filter(|(owner, _)| **owner == person.id).map(|(_, view)| view);
            let home = || world.home(person.id.as_str()).filter(|v| v.get("id").and_then(Value::as_str) == Some(id));
            let view = modal.or_else(home).ok_or(Refused::ViewNotFound)?.clone();
            let mut fields = Map::new();
            fields.insert("container".into(), json!({"type": "view", "view_id": id}));
            let blocks = view.get("blocks").cloned().unwrap_or_default();
            fields.insert("view".into(), view);
            Ok(Surface { fields, blocks, message: None })
        }
    }
}
