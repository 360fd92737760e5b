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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Clock;
    use crate::playground::workspace::{Seed, Settings, Workspace};

    #[tokio::test]
    async fn a_thread_is_counted_for_the_person_who_looks() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let settings = Settings::new(Seed::small(), Clock::system());
        let workspace = Workspace::start(listener, settings).await.unwrap();
        let say = async |user: &str, thread: Option<&MessageTs>, text: &str| {
            workspace.say(user, "C1", thread.map(MessageTs::as_str), text).await.unwrap()
        };
        let root = say("U1", None, "root").await;
        let theirs = say("U2", Some(&root), "one").await;
        let own = say("U1", Some(&root), "two").await;
        let foreign = say("U2", None, "about <@U1>").await;
        say("U2", Some(&foreign), "three").await;
        let alone = say("U2", None, "alone").await;

        let messages = workspace.messages("C1");
        let seen = |user: &str, ts: &MessageTs| {
            let me = UserId::new(user);
            let root = messages.iter().find(|m| m.ts == *ts).unwrap();
            Threads::of(&messages, &me).under(root, &me)
        };
        let mine = seen("U1", &root);
        assert_eq!(mine["count"], 2);
        assert_eq!(mine["last"], own.as_str());
        assert_eq!(mine["users"], json!(["U2", "U1"]));
        assert_eq!(mine["recent"], json!([theirs.as_str()]), "one's own replies are not new");
        assert_eq!(mine["mine"], true);
        assert_eq!(seen("U1", &foreign)["mine"], true, "a mention makes it one's own");
        assert_eq!(seen("U2", &root)["recent"], json!([own.as_str()]));
        assert_eq!(seen("U1", &alone), Value::Null);
        workspace.stop().await;
    }
}
