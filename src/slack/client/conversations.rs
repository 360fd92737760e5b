//! What a conversation is, who is in it, and what was said there.

use serde_json::{Value, json};

use super::{Client, SlackError, string};
use crate::domain::{ChannelId, MessageTs, UserId};

/// Objects asked for at a time.
const PAGE: &str = "200";

/// Pages of a thread that are read for what people said.
const THREAD_PAGES: usize = 5;

/// A conversation as `conversations.info` tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Without `#`; none for direct messages.
    pub name: Option<String>,
    /// Only its members can read it. `false` also when Slack does not say.
    pub is_private: bool,
    /// Shared with another company or another workspace of the company. `true` also when Slack does not say.
    pub is_shared: bool,
}

impl Client {
    /// What a conversation is.
    ///
    /// # Errors
    /// As [`SlackError`] tells.
    pub async fn conversation(&self, channel: &ChannelId) -> Result<Conversation, SlackError> {
        let answer = self.get("conversations.info", &[("channel", channel.as_str())]).await?;
        let flag = |name: &str| answer.pointer("/channel")?.get(name)?.as_bool();
        let shared = ["is_ext_shared", "is_org_shared", "is_shared", "is_pending_ext_shared"].map(flag);
        Ok(Conversation {
            name: string(&answer, "/channel/name"),
            is_private: ["is_private", "is_mpim", "is_im"].map(flag).contains(&Some(true)),
            // A direct message of several people has none of these marks.
            is_shared: shared.contains(&Some(true)) || (shared == [None; 4] && flag("is_mpim") != Some(true)),
        })
    }

    /// Everybody in a conversation; `None` when there are more than `most`.
    ///
    /// # Errors
    /// As [`SlackError`] tells.
    pub async fn members(&self, channel: &ChannelId, most: usize) -> Result<Option<Vec<UserId>>, SlackError> {
        let mut members: Vec<UserId> = Vec::new();
        let mut cursor = String::new();
        loop {
            let mut args = vec![("channel", channel.as_str()), ("limit", PAGE)];
            if !cursor.is_empty() {
                args.push(("cursor", &cursor));
            }
            let answer = self.get("conversations.members", &args).await?;
            let Some(page) = answer.get("members").and_then(Value::as_array) else {
                return Err(SlackError::Uncertain("the answer has no members".into()));
            };
            for member in page {
                let Some(member) = member.as_str() else {
                    return Err(SlackError::Uncertain("the answer has a member without an id".into()));
                };
                members.push(UserId::new(member));
            }
            match string(&answer, "/response_metadata/next_cursor") {
                _ if members.len() > most => return Ok(None),
                // A list that goes on without anybody on it would be asked for without end.
                Some(_) if page.is_empty() => return Err(SlackError::Uncertain("a page has no members".into())),
                Some(next) => cursor = next,
                None => return Ok(Some(members)),
            }
        }
    }

    /// The direct message with a person.
    ///
    /// # Errors
    /// As [`SlackError`] tells.
    pub async fn direct_message(&self, user: &UserId) -> Result<ChannelId, SlackError> {
        let answer = self.call("conversations.open", json!({ "users": user })).await?;
        super::required(&answer, "/channel/id").map(ChannelId::new)
    }

    /// The messages of a thread after one and before another, oldest first, as Slack gives them; the root is always among
    /// them. `true` when there are more than are read: the newest are missing then.
    ///
    /// # Errors
    /// As [`SlackError`] tells.
    pub async fn thread(
        &self,
        channel: &ChannelId,
        root: &MessageTs,
        after: Option<&MessageTs>,
        before: &MessageTs,
    ) -> Result<(Vec<Value>, bool), SlackError> {
        let mut messages: Vec<Value> = Vec::new();
        let mut cursor = String::new();
        for page in 0..THREAD_PAGES {
            let mut args = vec![
                ("channel", channel.as_str()),
                ("ts", root.as_str()),
                ("latest", before.as_str()),
                ("limit", PAGE),
            ];
            if let Some(after) = after {
                args.push(("oldest", after.as_str()));
            }
            if !cursor.is_empty() {
                args.push(("cursor", &cursor));
            }
            let answer = self.get("conversations.replies", &args).await?;
            let Some(read) = answer.get("messages").and_then(Value::as_array) else {
                return Err(SlackError::Uncertain("the answer has no messages".into()));
            };
            // The root stands at the head of every page.
            let is_root = |m: &&Value| m.get("ts").and_then(Value::as_str) == Some(root.as_str());
            messages.extend(read.iter().filter(|m| page == 0 || !is_root(m)).cloned());
            match string(&answer, "/response_metadata/next_cursor") {
                Some(next) => cursor = next,
                None => return Ok((messages, false)),
            }
        }
        Ok((messages, true))
    }
}
