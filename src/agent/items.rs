//! The provider-neutral history of a conversation, and the rule that keeps it well formed.

use serde::{Deserialize, Serialize};

use crate::domain::{Person, ToolCall};

/// One entry of a conversation. Stored as JSON, so its form is golden-tested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "item", rename_all = "snake_case")]
pub enum Item {
    /// What a person wrote.
    User {
        /// Who.
        person: Person,
        /// The name shown to the model when several people write.
        name: String,
        /// The words.
        text: String,
    },
    /// What the model answered.
    Assistant {
        /// The words.
        text: String,
        /// The departments whose rows the words may show.
        #[serde(default)]
        departments: Vec<String>,
        /// For whom those rows were fetched.
        #[serde(default)]
        fetched_for: Option<Person>,
    },
    /// A tool call of the model.
    Call {
        /// The call.
        call: ToolCall,
    },
    /// The result of a tool call.
    Result {
        /// The call it answers.
        call_id: String,
        /// What the model is told.
        content: String,
        /// The departments whose rows it shows.
        #[serde(default)]
        departments: Vec<String>,
        /// For whom it was fetched.
        fetched_for: Person,
    },
    /// A fact the host adds: what became of a proposal.
    Note {
        /// The fact.
        text: String,
        /// The departments whose rows it mentions.
        #[serde(default)]
        departments: Vec<String>,
    },
}
