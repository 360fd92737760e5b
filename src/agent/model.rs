//! The seam to a language model: one request in, text and tool calls out.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::time::Instant;

use crate::domain::ToolCall;

use super::prompt::Offer;

/// A language model behind some API.
pub trait Model: Send + Sync {
    /// Asks once. Retries of a failing endpoint happen inside, within the request's deadline.
    fn respond(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelReply, ModelError>>;

    /// The endpoint's name, for logs and metrics.
    fn name(&self) -> &str;

    /// The model's name there, for the audit.
    fn model(&self) -> &str {
        self.name()
    }
}

/// One provider-neutral request.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// Who the model is and what holds today.
    pub instructions: String,
    /// The conversation, well formed: each call is followed by its result before anything else is said.
    pub messages: Vec<Message>,
    /// The tools offered; `None` in the round that must end the turn.
    pub tools: Option<Arc<Offer>>,
    /// When an answer is of no use any more.
    pub deadline: Instant,
}

impl ModelRequest {
    /// A third of the characters: what a request costs when nobody counts.
    pub fn estimated_tokens(&self) -> u64 {
        let messages: usize = self.messages.iter().map(Message::chars).sum();
        ((self.instructions.chars().count() + messages) / 3) as u64
    }
}

/// One entry of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A person's words.
    User(String),
    /// The model's earlier words.
    Assistant(String),
    /// A fact from the host.
    Host(String),
    /// An earlier tool call.
    Call(ToolCall),
    /// Its result.
    Result {
        /// Of which call.
        call_id: String,
        /// JSON or a sentence.
        content: String,
    },
}

impl Message {
    fn chars(&self) -> usize {
        match self {
            Self::User(text) | Self::Assistant(text) | Self::Host(text) => text.chars().count(),
            Self::Call(call) => call.arguments.iter().map(|(k, v)| k.len() + v.to_string().len()).sum(),
            Self::Result { content, .. } => content.chars().count(),
        }
    }
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelReply {
    /// The words, possibly none.
    pub text: String,
    /// The calls, in order.
    pub calls: Vec<AskedCall>,
    /// What it cost.
    pub usage: Usage,
}

/// A call as read from a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedCall {
    /// The call; its arguments are empty when they were broken.
    pub call: ToolCall,
    /// Whether the arguments were no JSON object.
    pub broken: bool,
}

/// Tokens, counted by the endpoint or estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read by the model.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
}

impl Usage {
    /// The sum of two replies' usage.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { input: self.input.saturating_add(other.input), output: self.output.saturating_add(other.output) }
    }

    /// Both together.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// Why a model gave no answer. Bodies of the endpoint go to the log, never to a person.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Not reachable, too slow, or failing.
    #[error("the model's endpoint is not available: {0}")]
    Unavailable(String),
    /// Too many requests, also after waiting.
    #[error("the model's endpoint limits the rate")]
    RateLimited,
    /// The endpoint refuses this request; the same again would be refused again.
    #[error("the model's endpoint refused the request with status {0}")]
    Refused(u16),
    /// An answer that cannot be understood.
    #[error("the model's answer cannot be understood: {0}")]
    Nonsense(String),
}
