//! Presses, modals, external options and slash commands: what a person does with what the bot has shown.
//!
//! What it promises: each is one signed, form-encoded request, answered within 3 s or shown to the person as failed, and
//! never repeated. Whoever sees an element may use it: who may decide is the bot's question.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::delivery::{Used, outcome};
use super::hub::Hub;
use super::message::{Message, element_in};
use super::people::Refused;
use super::seed::User;
use super::world::{Change, World};
use super::{Endpoint, forms, messages, views};
use crate::domain::{ChannelId, MessageTs, UserId};

/// A client shows no more options than this.
const MOST_OPTIONS: usize = 100;

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
        let used = used(user, "block_actions", place, action_id);
        Ok(outcome(self.post_payload(Endpoint::Interactions, used, &payload).await))
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
        offered(element, chosen)?;
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
        let payload = {
            let world = self.world();
            let person = world.user(user).ok_or(Refused::UserNotFound)?;
            let surface = surface(&world, person, place)?;
            element_in(&surface.blocks, Some(block_id), action_id).ok_or(Refused::ActionNotFound)?;
            let mut payload = interaction(&world, "block_suggestion", person);
            payload.extend(surface.fields);
            payload.insert("block_id".into(), block_id.into());
            payload.insert("action_id".into(), action_id.into());
            payload.insert("value".into(), query.into());
            Value::Object(payload)
        };
        self.courier.url(Endpoint::Options).ok_or(Refused::NotSupported)?;
        let used = used(user, "block_suggestion", place, action_id);
        let answer = self.post_payload(Endpoint::Options, used, &payload).await;
        let body = answer.ok().filter(|a| a.status == 200).map(|a| a.body).unwrap_or_default();
        let answer: Value = serde_json::from_str(&body).unwrap_or_default();
        let list = ["options", "option_groups"].iter().find_map(|key| answer.get(*key)?.as_array().cloned());
        Ok(list.unwrap_or_default().into_iter().take(MOST_OPTIONS).collect())
    }

    /// A person submits the modal they see. `values`: `block_id` to `action_id` to `{type, value | selected_option | …}`.
    /// What the client can see to be wrong is not sent.
    pub(crate) async fn submit(
        self: &Arc<Self>,
        user: &str,
        view_id: &str,
        values: Value,
    ) -> Result<SubmitOutcome, Refused> {
        let (person, payload) = {
            let mut world = self.world();
            let person = world.user(user).ok_or(Refused::UserNotFound)?.clone();
            let mut view = top(&world, &person.id, view_id)?;
            let entered = forms::entered(view.get("blocks").unwrap_or(&Value::Null), &values, person.lang());
            if !entered.errors.is_empty() {
                return Ok(SubmitOutcome { errors: entered.errors, ..SubmitOutcome::default() });
            }
            if let Some(view) = view.as_object_mut() {
                view.insert("state".into(), json!({"values": entered.values}));
            }
            let trigger = self.new_trigger(&mut world, &person.id);
            let mut payload = interaction(&world, "view_submission", &person);
            payload.insert("trigger_id".into(), trigger.into());
            payload.insert("view".into(), view);
            payload.insert("response_urls".into(), json!([]));
            (person.id, Value::Object(payload))
        };
        let used = used(user, "view_submission", Place::View { id: view_id }, view_id);
        let answer = outcome(self.post_payload(Endpoint::Interactions, used, &payload).await);
        let mut seen = SubmitOutcome { status: answer.status, warning: answer.warning, ..SubmitOutcome::default() };
        if answer.warning {
            return Ok(seen);
        }
        if answer.body.trim().is_empty() {
            self.close(&person, view_id);
            seen.closed = true;
            return Ok(seen);
        }
        let told: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let view = told.get("view").unwrap_or(&Value::Null);
        match told.get("response_action").and_then(Value::as_str) {
            Some("clear") => {
                self.close_all(&person);
                seen.closed = true;
            }
            Some("errors") => {
                let errors = told.get("errors").and_then(Value::as_object).into_iter().flatten();
                seen.errors = errors.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect();
                seen.warning = seen.errors.is_empty();
            }
            Some("update") => seen.warning = views::replace(self, &person, view_id, view).is_err(),
            Some("push") => seen.warning = views::push(self, &person, view).is_err(),
            // An object without an action, such as `{}`, closes like no words at all.
            None if told.is_object() => {
                self.close(&person, view_id);
                seen.closed = true;
            }
            _ => seen.warning = true,
        }
        Ok(seen)
    }

    /// A person closes the modal they see, and all below it if it says so; the app is told if it asked for that.
    pub(crate) async fn dismiss(self: &Arc<Self>, user: &str, view_id: &str) -> Result<(), Refused> {
        let (payload, whole) = {
            let world = self.world();
            let person = world.user(user).ok_or(Refused::UserNotFound)?;
            let view = top(&world, &person.id, view_id)?;
            let flag = |key: &str| view.get(key).and_then(Value::as_bool).unwrap_or(false);
            let (wanted, whole) = (flag("notify_on_close"), flag("clear_on_close"));
            let mut payload = interaction(&world, "view_closed", person);
            payload.insert("view".into(), view);
            payload.insert("is_cleared".into(), whole.into());
            (wanted.then_some(Value::Object(payload)), whole)
        };
        if whole {
            self.close_all(&UserId::new(user));
        } else {
            self.close(&UserId::new(user), view_id);
        }
        if let Some(payload) = payload {
            // A closed modal shows no warning, whatever the app answers.
            let used = used(user, "view_closed", Place::View { id: view_id }, view_id);
            drop(self.post_payload(Endpoint::Interactions, used, &payload).await);
        }
        Ok(())
    }

    fn close(&self, user: &UserId, view_id: &str) {
        let change = Change::ModalClosed { view_id: view_id.to_owned(), user: user.clone() };
        self.commit(&mut self.world(), change);
    }

    pub(super) fn close_all(&self, user: &UserId) {
        let mut world = self.world();
        let open: Vec<String> = world.modals_of(user.as_str()).into_iter().rev().filter_map(id_of).collect();
        for view_id in open {
            self.commit(&mut world, Change::ModalClosed { view_id, user: user.clone() });
        }
    }

    /// A person runs a slash command, such as `/sales`, with what follows it. What the bot answers at once is shown to
    /// them, or to all if it says so.
    pub(crate) async fn command(
        self: &Arc<Self>,
        user: &str,
        channel: &str,
        name: &str,
        text: &str,
    ) -> Result<PressOutcome, Refused> {
        let user = UserId::new(user);
        let there = self.member(&user, channel)?;
        self.courier.url(Endpoint::Commands).ok_or(Refused::NotSupported)?;
        let (fields, url) = {
            let mut world = self.world();
            let person = world.user(user.as_str()).ok_or(Refused::UserNotFound)?.clone();
            let trigger = self.new_trigger(&mut world, &user);
            let url = self.new_response_url(&mut world, &user, there.id.clone(), None);
            let fields: Vec<(&str, String)> = vec![
                ("token", "deprecated".into()),
                ("team_id", world.team.to_string()),
                ("team_domain", "local".into()),
                ("channel_id", there.id.to_string()),
                ("channel_name", there.payload_name().into()),
                ("user_id", user.to_string()),
                ("user_name", person.name),
                ("command", name.into()),
                ("text", text.into()),
                ("api_app_id", world.bot.app_id.clone()),
                ("is_enterprise_install", "false".into()),
                ("response_url", url.clone()),
                ("trigger_id", trigger),
            ];
            (fields, url)
        };
        let fields: Vec<(&str, &str)> = fields.iter().map(|(k, v)| (*k, v.as_str())).collect();
        let used = Used { user, kind: "command", message: None, action: name.to_owned() };
        let outcome = outcome(self.post_form(Endpoint::Commands, used, &fields).await);
        if !outcome.warning && !outcome.body.trim().is_empty() {
            let said = match serde_json::from_str(&outcome.body) {
                Ok(Value::Object(said)) => said,
                _ => Map::from_iter([("text".to_owned(), outcome.body.clone().into())]),
            };
            let secret = url.rsplit('/').next().unwrap_or("");
            let shown = self.use_response_url(secret).map(|url| messages::respond(self, &url, &said));
            if !matches!(shown, Ok(Ok(_))) {
                tracing::warn!("what the bot answered to a command cannot be shown");
            }
        }
        Ok(outcome)
    }
}

fn used(user: &str, kind: &'static str, place: Place<'_>, action: &str) -> Used {
    let message = match place {
        Place::Message { channel, ts } => Some((ChannelId::new(channel), MessageTs::new(ts))),
        Place::View { .. } => None,
    };
    Used { user: UserId::new(user), kind, message, action: action.to_owned() }
}

/// A person can choose only what an element offers.
fn offered(element: &Value, chosen: &Value) -> Result<(), Refused> {
    let Some(options) = element.get("options").and_then(Value::as_array) else { return Ok(()) };
    let one = chosen.get("selected_option").filter(|v| !v.is_null());
    let mut all = one.into_iter().chain(chosen.get("selected_options").and_then(Value::as_array).into_iter().flatten());
    let known = |o: &Value| options.iter().any(|known| known.get("value") == o.get("value"));
    if all.all(known) { Ok(()) } else { Err(Refused::NotOffered) }
}

fn id_of(view: &Value) -> Option<String> {
    view.get("id").and_then(Value::as_str).map(str::to_owned)
}

/// The modal a person sees, if it is this one.
fn top(world: &World, user: &UserId, view_id: &str) -> Result<Value, Refused> {
    let seen = world.modal_of(user.as_str()).filter(|v| v.get("id").and_then(Value::as_str) == Some(view_id));
    seen.cloned().ok_or(Refused::ViewNotFound)
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
