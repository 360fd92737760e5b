//! What is shown while a turn runs: "thinking…", and the Stop button.
//!
//! What it promises: nothing is shown for a turn that takes no time, and whatever was shown is taken away, also what a
//! run that was killed has left behind. A turn that is broken off takes away what it showed: it may have slept until
//! another bot had run it, and then nobody else would.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::domain::{Lang, ThreadKey, UserId};
use crate::slack::client::{Client, Session, SlackError};
use crate::slack::text;
use crate::words::{surface, work as words};

/// A turn faster than this shows no status: setting and clearing one would take longer.
const STATUS_AFTER: Duration = Duration::from_millis(400);

/// A status lapses after two minutes.
const REFRESH: Duration = Duration::from_secs(90);

/// How long the end of a turn waits for a status that is just being shown.
const STATUS_GRACE: Duration = Duration::from_secs(2);

/// What could not be taken away for Slack's rate is tried again once, if the pause is no longer than this.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Of a turn: where and to whom it is shown.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The conversation.
    pub thread: ThreadKey,
    /// Who asked.
    pub person: UserId,
    /// What they read.
    pub lang: Lang,
    /// What they wrote, if that begins the conversation.
    pub title: String,
    /// An earlier run of the turn may have left something behind.
    pub left_over: bool,
}

impl Shown {
    /// Slack keeps sessions, with their Stop button, in direct messages.
    fn has_session(&self) -> bool {
        self.thread.channel.as_str().starts_with('D')
    }

    async fn show(&self, slack: &Client, is_first: bool) {
        let lang = self.lang;
        let loading =
            [surface::loading_reading, surface::loading_looking, surface::loading_checking, surface::loading_writing];
        let loading = loading.map(|words| words(lang));
        let (channel, root) = (&self.thread.channel, &self.thread.root);
        // A failure to show something is nobody's trouble.
        if let Err(error) = slack.set_status(channel, root, &words::thinking(lang), &loading).await {
            tracing::debug!(%error, "status not shown");
        }
        if is_first && self.has_session() {
            let title = text::visible(&self.title).split_whitespace().collect::<Vec<_>>().join(" ");
            let session = Session::Working { person: &self.person, title: &title };
            if let Err(error) = slack.set_session(channel, root, session).await {
                tracing::debug!(%error, "session not shown");
            }
        }
    }

    /// Takes everything away. What Slack refuses for its rate is left for later.
    async fn hide(&self, slack: &Client) -> Option<Duration> {
        let (channel, root) = (&self.thread.channel, &self.thread.root);
        let status = slack.set_status(channel, root, "", &[]);
        let session =
            async { if self.has_session() { slack.set_session(channel, root, Session::Idle).await } else { Ok(()) } };
        let (status, session) = tokio::join!(status, session);
        let later = [status, session].into_iter().filter_map(|hidden| match hidden {
            Err(SlackError::RateLimited { after } | SlackError::Paused { after }) => Some(after),
            Err(error) => {
                tracing::debug!(%error, "status not cleared");
                None
            }
            Ok(()) => None,
        });
        later.max()
    }
}

/// "Thinking…" under the person's message, shown only when a turn takes a moment, and always taken away.
pub struct Status {
    task: tokio::task::JoinHandle<bool>,
    /// A turn that is broken off drops it.
    stop: DropGuard,
    /// It was not broken off, and takes the status away itself.
    in_hand: Arc<AtomicBool>,
    slack: Client,
    shown: Shown,
}

impl Status {
    /// From the moment a turn begins. `tasks` outlive the turn.
    pub fn begin(slack: Client, shown: Shown, tasks: &TaskTracker) -> Self {
        let (stop, in_hand) = (CancellationToken::new(), Arc::new(AtomicBool::new(false)));
        let task = tasks.spawn({
            let (stop, slack, shown, in_hand) = (stop.clone(), slack.clone(), shown.clone(), Arc::clone(&in_hand));
            async move {
                let mut times = 0;
                let mut pause = STATUS_AFTER;
                while stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
                    shown.show(&slack, times == 0).await;
                    times += 1;
                    pause = REFRESH;
                }
                if times > 0 && !in_hand.load(Ordering::SeqCst) {
                    shown.hide(&slack).await;
                }
                times > 0
            }
        });
        Self { task, stop: stop.drop_guard(), in_hand, slack, shown }
    }

    /// At its end, however it ended.
    pub async fn clear(self) {
        let Self { mut task, stop, in_hand, slack, shown } = self;
        in_hand.store(true, Ordering::SeqCst);
        drop(stop);
        // A call under way is left to end: broken off, it could still arrive at Slack, and after the one that clears.
        let was_shown = tokio::time::timeout(STATUS_GRACE, &mut task).await;
        task.abort();
        if matches!(was_shown, Ok(Ok(false))) && !shown.left_over {
            return;
        }
        if let Some(pause) = shown.hide(&slack).await.filter(|pause| *pause <= LONGEST_PAUSE) {
            tokio::spawn(async move {
                tokio::time::sleep(pause).await;
                shown.hide(&slack).await;
            });
        }
    }
}
