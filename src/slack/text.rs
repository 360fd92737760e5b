//! Text on its way to Slack.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::domain::Lang;

/// What is posted: the outbox stores it as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// The text for notifications and screen readers; escaped. Complete: it can stand alone.
    pub text: String,
    /// Block Kit blocks; `null` for a text-only message.
    pub blocks: Value,
}

/// A model's Markdown as one or more messages.
pub fn reply(markdown: &str, footer: &[String], lang: Lang) -> Vec<Body> {
    let _ = lang;
    vec![Body { text: format!("{markdown}\n{}", footer.join("\n")), blocks: json!(null) }]
}

/// A host's sentence as one or more messages.
pub fn plain(text: &str) -> Vec<Body> {
    vec![Body { text: text.to_owned(), blocks: json!(null) }]
}

/// The same message without blocks, for when Slack refuses them.
pub fn fallback(body: &Body) -> Body {
    Body { text: body.text.clone(), blocks: Value::Null }
}

/// Removes what a reader cannot see (I16).
pub fn visible(text: &str) -> String {
    text.to_owned()
}
