//! What people said in a thread before the bot was called into it.
//!
//! What it promises: it is read once for each call, within bounds of pages, messages, characters and time; it is shown
//! as other people's words and never as a request; without it the turn goes on, and the model knows that it is missing.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use tokio::time::timeout;
use unicode_segmentation::UnicodeSegmentation;

use super::{Run, Turns};
use crate::agent::{Item, Overheard};
use crate::domain::{MessageTs, Person};
use crate::slack::inbound::{self, Spoken};
use crate::slack::text;
use crate::staff;
use crate::thread::history::Loaded;
use crate::thread::queue;

/// How long a turn waits for it.
const WAITS: Duration = Duration::from_secs(4);

/// The newest messages shown, beside the one that began the thread.
const MESSAGES: usize = 30;

/// Graphemes of one message.
const LENGTH: usize = 500;

/// Graphemes of all of them.
const TOTAL: usize = 6_000;

/// People whose names are looked up; of others the id stands for it.
const NAMES: usize = 10;

/// What is stored of a thread was stored a moment after it was said.
const MOMENT_MS: i64 = 120_000;

impl Turns {
    /// What was said since the bot last took notice; `None` when there is nothing.
    pub(super) async fn overheard(&self, run: &Run<'_>, called: &MessageTs, loaded: &Loaded) -> Option<Item> {
        let thread = run.thread;
        let since = since(loaded);
        let read = self.slack.thread(&thread.channel, &thread.root, since.as_ref(), called);
        let (messages, mut left_out) = match timeout(WAITS, read).await {
            Ok(Ok(read)) => read,
            failed => {
                let reason = failed.map_or_else(
                    |_| "no answer in time".to_owned(),
                    |answer| answer.err().map(|error| error.to_string()).unwrap_or_default(),
                );
                tracing::warn!(reason, "what was said in a thread cannot be read");
                metrics::counter!("threads_unread_total").increment(1);
                return Some(Item::Overheard { said: Vec::new(), left_out: true, until: called.clone() });
            }
        };
        let taken: HashSet<&str> = loaded.said.iter().map(|said| said.turn.as_str()).collect();
        let is_new = |spoken: &Spoken| {
            let later = since.as_ref().is_none_or(|since| spoken.ts.as_str() > since.as_str());
            let turn = queue::turn_id(thread, &spoken.ts);
            later && spoken.ts != *called && !taken.iter().any(|t| t.starts_with(turn.as_str()))
        };
        let mut spoken: Vec<Spoken> = messages
            .iter()
            .filter_map(|message| inbound::spoken(message, &thread.team, &self.me))
            .filter(|spoken| !spoken.text.is_empty() && is_new(spoken))
            .collect();
        if spoken.is_empty() && !left_out {
            return None;
        }
        left_out |= shorten(&mut spoken, &thread.root);
        let names = self.names(&spoken).await;
        let said = spoken
            .into_iter()
            .map(|spoken| Overheard {
                name: names.get(&spoken.sender).cloned().unwrap_or_else(|| spoken.sender.user.to_string()),
                text: spoken.text,
            })
            .collect();
        Some(Item::Overheard { said, left_out, until: called.clone() })
    }

    /// By the staff record where there is one, as the asker's is, so that the same person has one name.
    async fn names(&self, spoken: &[Spoken]) -> BTreeMap<Person, String> {
        let people: BTreeSet<&Person> = spoken.iter().map(|spoken| &spoken.sender).collect();
        let people: Vec<Person> = people.into_iter().take(NAMES).cloned().collect();
        let mut asked = Vec::with_capacity(people.len());
        for person in &people {
            asked.push(self.name(person));
        }
        let names = futures::future::join_all(asked).await;
        people.into_iter().zip(names).collect()
    }

    async fn name(&self, person: &Person) -> String {
        match staff::find(self.records.read(), person).await {
            Ok(Some(record)) => record.display_name,
            // A name is not worth a turn.
            Ok(None) | Err(_) => text::visible(&self.askers.reader(person).await.1),
        }
    }
}

/// Since when the thread was not looked at. The clocks of two stores are involved, so a little is read again; what was
/// a turn is known by its id.
fn since(loaded: &Loaded) -> Option<MessageTs> {
    let read = loaded.before.iter().rev().find_map(|item| match item {
        Item::Overheard { until, .. } => Some(until.clone()),
        _ => None,
    });
    read.or_else(|| {
        let said = loaded.said.first()?.at.saturating_sub(MOMENT_MS);
        Some(MessageTs::new(format!("{}.000000", said / 1_000)))
    })
}

/// Keeps the root and the newest; `true` when something was left out.
fn shorten(spoken: &mut Vec<Spoken>, root: &MessageTs) -> bool {
    let mut cut = false;
    for one in spoken.iter_mut() {
        if let Some((at, _)) = one.text.grapheme_indices(true).nth(LENGTH) {
            one.text.truncate(at);
            one.text.push('…');
            cut = true;
        }
    }
    let mut left = TOTAL;
    let mut kept = 0;
    let mut keep: Vec<bool> = spoken
        .iter()
        .rev()
        .map(|one| {
            let length = one.text.graphemes(true).count();
            let is_root = one.ts == *root;
            let fits = kept < MESSAGES && length <= left;
            if fits && !is_root {
                kept += 1;
                left -= length;
            }
            fits || is_root
        })
        .collect();
    keep.reverse();
    cut |= keep.contains(&false);
    let mut keep = keep.into_iter();
    spoken.retain(|_| keep.next().unwrap_or(false));
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spoken(n: usize, text: &str) -> Spoken {
        Spoken { sender: Person::new("T1", "U1"), text: text.to_owned(), ts: MessageTs::new(format!("{n}.000000")) }
    }

    #[test]
    fn the_root_and_the_newest_messages_are_kept_and_long_ones_are_cut() {
        let mut all: Vec<Spoken> = (100..200).map(|n| spoken(n, "言葉")).collect();
        assert!(shorten(&mut all, &MessageTs::new("100.000000")));
        let ts: Vec<&str> = all.iter().map(|s| s.ts.as_str()).collect();
        assert_eq!((ts.len(), ts[0], ts[1], ts[30]), (31, "100.000000", "170.000000", "199.000000"));
        let mut long = vec![spoken(1, &"が\u{3099}".repeat(2_000))];
        assert!(shorten(&mut long, &MessageTs::new("1.000000")));
        assert_eq!(long[0].text.graphemes(true).count(), LENGTH + 1);
        let mut many: Vec<Spoken> = (100..130).map(|n| spoken(n, &"長".repeat(500))).collect();
        assert!(shorten(&mut many, &MessageTs::new("1.000000")));
        assert_eq!(many.len(), TOTAL / 500);
        let mut few = vec![spoken(1, "短い"), spoken(2, "言葉")];
        assert!(!shorten(&mut few, &MessageTs::new("1.000000")));
        assert_eq!(few.len(), 2);
    }
}
