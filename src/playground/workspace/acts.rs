//! What tests let people do, in a person's words: each is an act of [`Hub`](super::Hub), which says what it promises.

use axum::body::Bytes;
use serde_json::Value;

use super::{Place, PressOutcome, Refused, SubmitOutcome, Workspace};
use crate::domain::{ChannelId, MessageTs, UserId};

#[expect(clippy::unused_async, reason = "a person's action may come to wait for something")]
impl Workspace {
    /// A person writes, in Slack's form: `& < >` escaped, mentions as `<@U…>`. Deliveries follow in the background.
    ///
    /// # Errors
    /// When the person is unknown or may not write there, or the thread does not exist.
    pub async fn say(
        &self,
        user: &str,
        channel: &str,
        thread_ts: Option<&str>,
        text: &str,
    ) -> Result<MessageTs, Refused> {
        self.hub.say(user, channel, thread_ts, text)
    }

    /// A person changes a message of theirs.
    ///
    /// # Errors
    /// When there is no such message or it is not theirs.
    pub async fn edit(&self, user: &str, channel: &str, ts: &str, text: &str) -> Result<(), Refused> {
        self.hub.edit(user, channel, ts, text)
    }

    /// A person deletes a message of theirs.
    ///
    /// # Errors
    /// When there is no such message or it is not theirs.
    pub async fn remove(&self, user: &str, channel: &str, ts: &str) -> Result<(), Refused> {
        self.hub.remove(user, channel, ts)
    }

    /// A person gives a reaction (`on`) or takes it back.
    ///
    /// # Errors
    /// When there is no such message for them.
    pub async fn react(&self, user: &str, channel: &str, ts: &str, name: &str, on: bool) -> Result<(), Refused> {
        self.hub.react(user, channel, ts, name, on)
    }

    /// A person sends a file; the message's `ts`.
    ///
    /// # Errors
    /// When they may not write there or the file is too large.
    pub async fn upload(
        &self,
        user: &str,
        channel: &str,
        thread_ts: Option<&str>,
        name: &str,
        bytes: Bytes,
    ) -> Result<MessageTs, Refused> {
        self.hub.upload(user, channel, thread_ts, name, &bytes)
    }

    /// A person opens the DM with the bot, which is told by `app_home_opened`.
    ///
    /// # Errors
    /// When the person is unknown.
    pub async fn open_dm(&self, user: &str) -> Result<ChannelId, Refused> {
        self.hub.open_dm(&UserId::new(user)).map(|c| c.id)
    }

    /// People begin a direct message of several, with the bot among them.
    ///
    /// # Errors
    /// When one of them is unknown.
    pub async fn open_group_dm(&self, users: &[&str]) -> Result<ChannelId, Refused> {
        self.hub.group_dm(users).map(|c| c.id)
    }

    /// A person opens the app's Home tab.
    ///
    /// # Errors
    /// When the person is unknown or the app has no such tab.
    pub async fn open_home(&self, user: &str) -> Result<(), Refused> {
        self.hub.open_home(user)
    }

    /// A person presses Stop in a thread in which the agent works.
    ///
    /// # Errors
    /// When there is no such thread for them, or the app did not ask for `agent_session_stopped`.
    pub async fn press_stop(&self, user: &str, channel: &str, thread_ts: &str) -> Result<(), Refused> {
        self.hub.press_stop(user, channel, thread_ts)
    }

    /// A person presses the first button with this `action_id` on a message they see, also an ephemeral one.
    ///
    /// # Errors
    /// When there is no such person, message or button.
    pub async fn press(
        &self,
        user: &str,
        channel: &str,
        message_ts: &str,
        action_id: &str,
    ) -> Result<PressOutcome, Refused> {
        self.hub.press(user, channel, message_ts, None, action_id).await
    }

    /// A person uses any element: `chosen` is what its kind adds to the action, `state` what they entered so far.
    ///
    /// # Errors
    /// When there is no such person, surface or element, or the element does not offer what is chosen.
    pub async fn press_with(
        &self,
        user: &str,
        place: Place<'_>,
        block_id: Option<&str>,
        action_id: &str,
        chosen: Value,
        state: Value,
    ) -> Result<PressOutcome, Refused> {
        self.hub.press_with(user, place, block_id, action_id, chosen, state).await
    }

    /// The options the app has for what a person typed into an external select.
    ///
    /// # Errors
    /// When there is no such element, or the app has no URL for options.
    pub async fn suggest(
        &self,
        user: &str,
        place: Place<'_>,
        block_id: &str,
        action_id: &str,
        query: &str,
    ) -> Result<Vec<Value>, Refused> {
        self.hub.suggest(user, place, block_id, action_id, query).await
    }

    /// A person submits the modal they see, with `block_id` to `action_id` to `{type, value | selected_option | …}`.
    ///
    /// # Errors
    /// When it is not what they see.
    pub async fn submit(&self, user: &str, view_id: &str, values: Value) -> Result<SubmitOutcome, Refused> {
        self.hub.submit(user, view_id, values).await
    }

    /// A person closes the modal they see.
    ///
    /// # Errors
    /// When it is not what they see.
    pub async fn dismiss(&self, user: &str, view_id: &str) -> Result<(), Refused> {
        self.hub.dismiss(user, view_id).await
    }

    /// A person runs a slash command, such as `/sales`.
    ///
    /// # Errors
    /// When they may not write there, or the app has no URL for commands.
    pub async fn command(&self, user: &str, channel: &str, name: &str, text: &str) -> Result<PressOutcome, Refused> {
        self.hub.command(user, channel, name, text).await
    }
}
