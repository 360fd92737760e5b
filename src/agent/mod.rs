//! The loop: model, calls, model, within the bounds of a turn.

use std::sync::Arc;

use chrono::NaiveDate;
use chrono_tz::Tz;
use serde_json::{Map, Value};

use crate::domain::{Lang, Person, ProposalId, Role, ToolCall, Write};
use crate::mcp::Mcp;
use crate::policy::Table;

pub mod items;
pub mod limits;
pub mod model;
pub mod prompt;

pub use items::Item;
pub use limits::{Budget, Limits, Stop};
pub use model::{AskedCall, Message, Model, ModelError, ModelReply, ModelRequest, Usage};

/// For whom a turn runs, read from the staff record and Slack's profile when it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Asker {
    /// Who.
    pub person: Person,
    /// The name the model may use.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// Whose rows they may see; an admin sees all whatever stands here.
    pub departments: Vec<String>,
    /// The language they read.
    pub lang: Lang,
    /// Their zone.
    pub zone: Tz,
    /// Their calendar day.
    pub today: NaiveDate,
}

/// What all turns share.
pub struct Agent {
    model: Arc<dyn Model>,
    mcp: Arc<Mcp>,
    table: Table,
    limits: Limits,
}

impl Agent {
    /// Puts the parts together.
    pub fn new(model: Arc<dyn Model>, mcp: Arc<Mcp>, table: Table, limits: Limits) -> Self {
        Self { model, mcp, table, limits }
    }

    /// The bounds in force.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// One turn's run, driven round by round so that each round can be stored before the next.
pub struct Session<'a> {
    agent: &'a Agent,
    asker: Asker,
    budget: Budget,
}

/// What one round gave.
#[derive(Debug)]
pub enum Step {
    /// The model called tools; another round follows.
    Round {
        /// Words, calls and results to append to the history; the results of `drafts` come from
        /// [`Session::answer_drafts`].
        items: Vec<Item>,
        /// Writes to make proposals of.
        drafts: Vec<Draft>,
        /// What was done, for the line under the answer.
        done: Vec<Footer>,
        /// What the round cost.
        usage: Usage,
    },
    /// The turn is over.
    Final {
        /// The model's words, possibly none.
        text: String,
        /// The departments whose rows the words may show.
        departments: Vec<String>,
        /// Set when a limit or a failure ended it; [`Stop::sentence`] says it to the person.
        stop: Option<Stop>,
        /// What the round cost.
        usage: Usage,
    },
}

/// A write the model asked for, resolved into what the card will show.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The model's call.
    pub call: ToolCall,
    /// Its place among the calls of its round.
    pub index: usize,
    /// The write.
    pub write: Write,
    /// The proposal the model says this one replaces; not checked.
    pub replaces: Option<ProposalId>,
}

/// One tool use, for the line under the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Footer {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// The period it used, if one was asked.
    pub period: Option<(NaiveDate, NaiveDate)>,
    /// Whether it gave rows rather than an error.
    pub ok: bool,
}

impl<'a> Session<'a> {
    /// A turn over `history` (earlier turns) and `message` (this turn so far: the person's words, and the rounds
    /// stored before a restart).
    pub fn new(agent: &'a Agent, asker: Asker, _history: Vec<Item>, _message: Vec<Item>, budget: Budget) -> Self {
        Self { agent, asker, budget }
    }

    /// What is left.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// One model request and the calls it asks for.
    pub async fn round(&mut self) -> Step {
        let _ = (&self.agent.model, &self.agent.mcp, &self.agent.table, &self.asker);
        Step::Final { text: String::new(), departments: Vec::new(), stop: None, usage: Usage::default() }
    }

    /// What each draft of the last round became, in order; returns their results for the history.
    pub fn answer_drafts(&mut self, _answers: Vec<String>) -> Vec<Item> {
        Vec::new()
    }
}
