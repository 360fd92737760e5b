//! The bounds of a turn, and what is said when one is reached.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use crate::domain::Lang;
use crate::words::replies;

/// The bounds of a turn, from the settings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Tool calls per turn.
    pub tool_calls: u32,
    /// Model rounds per turn; the last is sent without tools.
    pub rounds: u32,
    /// In how many rounds in a row the same tool may be used. Calls side by side in one round count once.
    pub rounds_in_a_row: u32,
    /// How often the same tool may be called with the same arguments in a turn.
    pub same_call: u32,
    /// Calls per minute, person and tool.
    pub calls_per_minute: u32,
    /// Seconds per turn.
    pub turn_seconds: u64,
    /// Model tokens per turn, both ways.
    pub tokens: u64,
    /// Proposals per turn.
    pub proposals: u32,
    /// Characters of one call's arguments as JSON.
    pub argument_chars: usize,
}

impl Limits {
    /// [`Limits::calls_per_minute`]; none at all would be a bot that does nothing.
    pub fn calls_a_minute(&self) -> NonZeroU32 {
        NonZeroU32::new(self.calls_per_minute).unwrap_or(NonZeroU32::MIN)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            tool_calls: 15,
            rounds: 8,
            rounds_in_a_row: 3,
            same_call: 3,
            calls_per_minute: 10,
            turn_seconds: 120,
            tokens: 100_000,
            proposals: 5,
            argument_chars: 10_000,
        }
    }
}

/// What is left of a turn. A continuation inherits what its turn left, with a fresh deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Tool calls.
    pub tool_calls_left: u32,
    /// Model rounds.
    pub rounds_left: u32,
    /// Model tokens.
    pub tokens_left: u64,
    /// Proposals.
    pub proposals_left: u32,
    /// When the turn ends, whatever happens.
    pub deadline: Instant,
}

impl Budget {
    /// A whole turn's worth, beginning now.
    pub fn fresh(limits: &Limits) -> Self {
        Self {
            tool_calls_left: limits.tool_calls,
            rounds_left: limits.rounds,
            tokens_left: limits.tokens,
            proposals_left: limits.proposals,
            deadline: Instant::now() + Duration::from_secs(limits.turn_seconds),
        }
    }
}

/// Why a turn ended otherwise than by an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// No tool call was left.
    ToolCalls,
    /// No model round was left.
    Rounds,
    /// The same tool in too many rounds in a row.
    RoundsInARow,
    /// The same call too often.
    SameCall,
    /// The same tool too often in a minute.
    CallsPerMinute,
    /// No proposal was left.
    Proposals,
    /// A call's arguments were too long.
    ArgumentsTooLong,
    /// The time was used up.
    Time,
    /// The tokens were used up.
    Tokens,
    /// The model cannot be reached or is overloaded.
    ModelUnavailable,
    /// The model's endpoint refuses the request.
    ModelRefused,
    /// The model answered nothing that can be understood.
    ModelNonsense,
    /// The tools' server cannot be reached.
    ToolsUnavailable,
}

impl Stop {
    const ALL: [Self; 13] = [
        Self::ToolCalls,
        Self::Rounds,
        Self::RoundsInARow,
        Self::SameCall,
        Self::CallsPerMinute,
        Self::Proposals,
        Self::ArgumentsTooLong,
        Self::Time,
        Self::Tokens,
        Self::ModelUnavailable,
        Self::ModelRefused,
        Self::ModelNonsense,
        Self::ToolsUnavailable,
    ];

    /// The sentence for the person.
    pub fn sentence(self, lang: Lang, limits: &Limits) -> String {
        match self {
            Self::ToolCalls => replies::stop_tool_calls(lang, limits.tool_calls),
            Self::Rounds => replies::stop_rounds(lang, limits.rounds),
            Self::RoundsInARow => replies::stop_rounds_in_a_row(lang, limits.rounds_in_a_row),
            Self::SameCall => replies::stop_same_call(lang, limits.same_call),
            Self::CallsPerMinute => replies::stop_calls_per_minute(lang, limits.calls_per_minute),
            Self::Proposals => replies::stop_proposals(lang, limits.proposals),
            Self::ArgumentsTooLong => replies::stop_arguments_too_long(lang, limits.argument_chars),
            Self::Time => replies::stop_time(lang, limits.turn_seconds),
            Self::Tokens => replies::stop_tokens(lang, limits.tokens),
            Self::ModelUnavailable => replies::model_unavailable(lang),
            Self::ModelRefused => replies::model_refused(lang),
            Self::ModelNonsense => replies::model_nonsense(lang),
            Self::ToolsUnavailable => replies::tools_unavailable(lang),
        }
    }

    /// Reads [`Stop::code`].
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stop| stop.code() == code)
    }

    /// The short code for logs, audit, metrics and the stored answer.
    pub fn code(self) -> &'static str {
        match self {
            Self::ToolCalls => "tool_calls",
            Self::Rounds => "rounds",
            Self::RoundsInARow => "rounds_in_a_row",
            Self::SameCall => "same_call",
            Self::CallsPerMinute => "calls_per_minute",
            Self::Proposals => "proposals",
            Self::ArgumentsTooLong => "arguments_too_long",
            Self::Time => "time",
            Self::Tokens => "tokens",
            Self::ModelUnavailable => "model_unavailable",
            Self::ModelRefused => "model_refused",
            Self::ModelNonsense => "model_nonsense",
            Self::ToolsUnavailable => "tools_unavailable",
        }
    }
}
