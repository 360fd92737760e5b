//! What stands under a message that has replies.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::domain::{MessageTs, UserId};
use crate::playground::workspace::Message;

/// Faces beside the number of replies.
const FACES: usize = 4;
/// Replies of others that the page can count as unread.
const RECENT: usize = 30;

/// The threads of a conversation, as one person sees them.
#[derive(Debug, Default)]
pub(super) struct Threads<'m> {
    by_root: HashMap<&'m MessageTs, Thread<'m>>,
}

#[derive(Debug, Default)]
struct Thread<'m> {
    count: usize,
    last: Option<&'m MessageTs>,
    users: Vec<&'m UserId>,
    /// The person wrote in it.
    wrote: bool,
    /// Newest last.
    others: Vec<&'m MessageTs>,
}

impl<'m> Threads<'m> {
    /// Reads messages, oldest first, in one pass.
    pub(super) fn of(messages: impl IntoIterator<Item = &'m Message>, me: &UserId) -> Self {
        let mut threads = Self::default();
        for message in messages.into_iter().filter(|m| m.is_reply() && m.only_for.is_none()) {
            let thread = threads.by_root.entry(message.root()).or_default();
            thread.count += 1;
            thread.last = Some(&message.ts);
            if thread.users.len() < FACES && !thread.users.contains(&&message.user) {
                thread.users.push(&message.user);
            }
            if message.user == *me {
                thread.wrote = true;
            } else {
                thread.others.push(&message.ts);
            }
        }
        threads
    }

    /// The summary for a root; `null` without replies.
    pub(super) fn under(&self, root: &Message, me: &UserId) -> Value {
        let Some(thread) = self.by_root.get(&root.ts) else { return Value::Null };
        let recent = thread.others.get(thread.others.len().saturating_sub(RECENT)..).unwrap_or(&thread.others);
        json!({
            "count": thread.count,
            "last": thread.last,
            "users": thread.users,
            "mine": thread.wrote || root.user == *me || root.text.contains(&format!("<@{me}>")),
            "recent": recent,
        })
    }
}
