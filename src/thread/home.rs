//! A person opens the bot's messages: a greeting, once, and what they may ask.
//!
//! What it promises: whoever may use the bot is greeted once, in their language, however often they open it and whichever
//! bot is told; the prompts fit their role. Nobody else is addressed: they are told how to get access when they write.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::agent::Asker;
use crate::domain::{ChannelId, Lang, Person, Role};
use crate::outbox::{Outbox, Place};
use crate::policy::Table;
use crate::slack::client::{Client, Prompt};
use crate::slack::text;
use crate::thread::asker::Askers;
use crate::words::surface as words;

/// So many people are seen to side by side.
const SIDE_BY_SIDE: usize = 4;

/// A person opened the bot's messages.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Who.
    pub who: Person,
    /// Their conversation with the bot.
    pub channel: ChannelId,
}

/// Greets.
pub struct Homes {
    slack: Client,
    outbox: Outbox,
    askers: Arc<Askers>,
    table: Table,
}

impl Homes {
    /// Puts the parts together.
    pub fn new(slack: Client, outbox: Outbox, askers: Arc<Askers>, table: Table) -> Self {
        Self { slack, outbox, askers, table }
    }

    /// Sees to whoever opens the messages until told to stop.
    pub async fn run(self, mut opened: UnboundedReceiver<Opened>, stop: CancellationToken) {
        let homes = Arc::new(self);
        let mut greeting = JoinSet::new();
        while let Some(Some(next)) = stop.run_until_cancelled(opened.recv()).await {
            while greeting.len() >= SIDE_BY_SIDE {
                greeting.join_next().await;
            }
            let homes = Arc::clone(&homes);
            greeting.spawn(async move {
                if let Err(error) = homes.greet(&next).await {
                    tracing::warn!(%error, "a person was not greeted");
                }
            });
        }
        greeting.join_all().await;
    }

    async fn greet(&self, opened: &Opened) -> Result<(), sqlx::Error> {
        if opened.channel.as_str().is_empty() {
            return Ok(());
        }
        let Ok(asker) = self.askers.admit(&opened.who).await? else { return Ok(()) };
        let key = format!("greeting:{}:{}", opened.who.team, opened.who.user);
        if !self.outbox.has(&key).await? {
            let place = Place { channel: opened.channel.clone(), thread: None, only: None };
            let mut greeting = words::greeting(asker.lang);
            if self.may_write(asker.role) {
                greeting = format!("{greeting}\n{}", words::greeting_writes(asker.lang));
            }
            for body in text::plain(&greeting, &[]) {
                self.outbox.say(&key, &place, &body, std::time::Duration::ZERO).await?;
            }
        }
        // Slack forgets prompts when a conversation goes on, so they are told at each opening.
        let prompts = self.prompts(&asker);
        if let Err(error) = self.slack.set_prompts(&opened.channel, &words::prompts(asker.lang), &prompts).await {
            tracing::debug!(%error, "prompts not shown");
        }
        Ok(())
    }

    fn may_write(&self, role: Role) -> bool {
        self.table.allows(role, "add_sale")
    }

    /// Four at most, those that fit the role first.
    fn prompts(&self, asker: &Asker) -> Vec<Prompt> {
        let lang = asker.lang;
        let prompt = |title: fn(Lang) -> String, message: fn(Lang) -> String| Prompt {
            title: title(lang),
            message: message(lang),
        };
        let leads = matches!(asker.role, Role::Manager | Role::Admin);
        let first = leads.then(|| prompt(words::ask_staff, words::ask_staff_message));
        let write = self.may_write(asker.role).then(|| prompt(words::ask_register, words::ask_register_message));
        let rest = [
            prompt(words::ask_month, words::ask_month_message),
            prompt(words::ask_week, words::ask_week_message),
            prompt(words::ask_customers, words::ask_customers_message),
        ];
        first.into_iter().chain(write).chain(rest).take(4).collect()
    }
}
