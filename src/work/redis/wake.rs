//! Who is told of new work: the workers of all processes, at once.
//!
//! A lost word costs one interval of polling and no more, so nothing here is ever repeated or waited for.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Redis;

/// Work that another process took in is left to it for a moment: it was awake first. It also makes one look of many
/// words.
const COURTESY: Duration = Duration::from_millis(3);

/// How long a connection that only listens may take to come about.
const CONNECT: Duration = Duration::from_secs(2);

/// Between attempts to listen.
const PAUSE: Duration = Duration::from_millis(500);

/// So many words are read at once.
const WORDS: usize = 256;

impl Redis {
    /// Wakes this process's workers when another one took in something to do, until told to stop.
    pub async fn listen(&self, wake: Arc<Notify>, stop: CancellationToken) {
        while !stop.is_cancelled() {
            stop.run_until_cancelled(self.listen_once(&wake)).await;
            stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
        }
    }

    /// Until the connection ends.
    async fn listen_once(&self, wake: &Notify) {
        let (channel, _) = self.call(0);
        let connected = tokio::time::timeout(CONNECT, async {
            let mut pubsub = self.0.link.pubsub().await?;
            pubsub.subscribe(&channel).await.map(|()| pubsub)
        });
        let Ok(Ok(pubsub)) = connected.await else { return };
        // What was said before is not heard.
        self.all_due();
        wake.notify_one();
        let mut words = pubsub.into_on_message().ready_chunks(WORDS);
        while let Some(heard) = words.next().await {
            let mut others = false;
            for word in heard {
                let Ok(word) = word.get_payload::<String>() else { continue };
                let Some((partition, by)) = word.split_once(':') else { continue };
                if by == self.0.name {
                    continue;
                }
                if let Ok(partition) = partition.parse() {
                    self.is_due(partition);
                    others = true;
                }
            }
            if others {
                tokio::time::sleep(COURTESY).await;
                wake.notify_one();
            }
        }
    }
}
