//! "Thinking…" while a turn runs.
//!
//! What it promises: nothing is shown for a turn that takes no time, and whatever was shown is taken away.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::domain::{Lang, ThreadKey};
use crate::slack::client::Client;
use crate::words::work as words;

/// A turn faster than this shows no status: setting and clearing one would take longer.
const STATUS_AFTER: Duration = Duration::from_millis(400);

/// How long the end of a turn waits for a status that is just being shown.
const STATUS_GRACE: Duration = Duration::from_secs(2);

/// "Thinking…" under the person's message, shown only when a turn takes a moment, and always taken away.
pub struct Status {
    task: tokio::task::JoinHandle<bool>,
    stop: CancellationToken,
    slack: Client,
    thread: ThreadKey,
}

impl Status {
    /// From the moment a turn begins.
    pub fn begin(slack: Client, thread: ThreadKey, lang: Lang) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn({
            let (stop, slack, thread) = (stop.clone(), slack.clone(), thread.clone());
            async move {
                let mut shown = false;
                let mut pause = STATUS_AFTER;
                while stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
                    shown = true;
                    // A failure to show a status is nobody's trouble.
                    if let Err(error) =
                        slack.set_status(&thread.channel, &thread.root, &words::thinking(lang), &[]).await
                    {
                        tracing::debug!(%error, "status not shown");
                        break;
                    }
                    // A status lapses after two minutes.
                    pause = Duration::from_secs(90);
                }
                shown
            }
        });
        Self { task, stop, slack, thread }
    }

    /// At its end, however it ended.
    pub async fn clear(mut self) {
        self.stop.cancel();
        // A call under way is left to end: broken off, it could still arrive at Slack, and after the one that clears.
        let shown = tokio::time::timeout(STATUS_GRACE, &mut self.task).await;
        self.task.abort();
        if matches!(shown, Ok(Ok(false))) {
            return;
        }
        if let Err(error) = self.slack.set_status(&self.thread.channel, &self.thread.root, "", &[]).await {
            tracing::debug!(%error, "status not cleared");
        }
    }
}
