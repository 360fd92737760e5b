//! The loop: model, calls, model, until it answers or a limit is reached.
//!
//! Promises: each step ends, within the turn's bounds, whatever the model says; every call of a round has its result,
//! be it a sentence that says why it was not run; a write never runs here, it becomes a [`Draft`]; the model is shown
//! nothing that the asker may not see. The loop holds no state that outlives a turn but the per-minute rates, posts
//! nothing to Slack and stores nothing: its caller keeps each round before asking for the next.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::NaiveDate;
use chrono_tz::Tz;
use serde_json::{Map, Value};

use crate::domain::{Grounds, Lang, Person, ProposalId, Role, ToolCall, Write};
use crate::mcp::{Mcp, ToolOutput, ToolSpec};
use crate::policy::Table;
use crate::rates::Rates;

mod calls;
pub mod heard;
pub mod items;
pub mod limits;
pub mod model;
pub mod openai;
pub mod prompt;
mod resolve;
mod session;
#[cfg(test)]
mod tests;
mod uses;

pub use heard::{Heard, Spoken};
pub use items::{Item, Overheard};
pub use limits::{Budget, Limits, Stop};
pub use model::{AskedCall, Message, Model, ModelError, ModelReply, ModelRequest, Usage};
pub use session::{Decided, Session};

use prompt::Offer;

/// Marks a result that the host made without carrying the call out.
pub(crate) const NOT_RUN: &str = "not_run";

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
    /// The month in which the company's fiscal year begins, 1 to 12.
    pub fiscal_start: u32,
}

/// An offer and the listing it was made from.
type Offered = (Arc<Vec<ToolSpec>>, Arc<Offer>);

/// What all turns share.
pub struct Agent {
    model: Arc<dyn Model>,
    mcp: Arc<Mcp>,
    table: Table,
    limits: Limits,
    rates: Rates,
    /// One per role, made anew when the server was started again.
    offers: Mutex<HashMap<Role, Offered>>,
}

impl Agent {
    /// Puts the parts together. `rates` counts the calls of a person of one tool.
    pub fn new(model: Arc<dyn Model>, mcp: Arc<Mcp>, table: Table, limits: Limits, rates: Rates) -> Self {
        Self { model, mcp, table, limits, rates, offers: Mutex::default() }
    }

    /// The model's name, as it is set.
    pub fn model(&self) -> &str {
        self.model.model()
    }

    /// The bounds in force.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    fn offer(&self, role: Role) -> Arc<Offer> {
        let listed = self.mcp.tools();
        let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((from, offer)) = offers.get(&role)
            && Arc::ptr_eq(from, &listed)
        {
            return Arc::clone(offer);
        }
        let offer = Arc::new(Offer::of(&listed, &self.table, role));
        offers.insert(role, (listed, Arc::clone(&offer)));
        offer
    }

    async fn too_often(&self, who: &Person, tool: &str) -> bool {
        !self.rates.allows(&format!("{}:{}:{tool}", who.team, who.user)).await
    }
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
    /// Where its values came from.
    pub grounds: Grounds,
    /// The proposal the model says this one replaces; not checked.
    pub replaces: Option<ProposalId>,
}

/// One tool use, for the line under the answer: made from what was really called, so that no model can claim a look-up
/// or a period.
#[derive(Clone, Debug, PartialEq)]
pub struct Footer {
    /// The tool.
    pub tool: String,
    /// Its arguments; a model's words, to be escaped for the place they are shown in.
    pub arguments: Map<String, Value>,
    /// The period it used, both days included, if one was asked; an open end is `None`, and one end is given.
    pub period: Option<(Option<NaiveDate>, Option<NaiveDate>)>,
    /// The asker's words for it, if any.
    pub spoken: Option<Spoken>,
    /// Whether it gave rows rather than an error.
    pub ok: bool,
}

impl Footer {
    /// Of a call whose result was stored, for a turn that is run again; `None` for one that the host did not carry out.
    pub fn from_result(call: &ToolCall, content: &str) -> Option<Self> {
        // A result that was cut for the model is no JSON any more; it gave rows.
        let stored: Value = serde_json::from_str(content).unwrap_or_default();
        let carried_out = stored.get(NOT_RUN).is_none();
        carried_out.then(|| Self {
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
            period: stored.get("data").and_then(period),
            spoken: None,
            ok: stored.get("status").and_then(Value::as_str) != Some("error"),
        })
    }

    /// Of a write that became a card: it was prepared.
    pub fn prepared(call: &ToolCall) -> Self {
        Self { tool: call.name.clone(), arguments: call.arguments.clone(), period: None, spoken: None, ok: true }
    }

    fn of(tool: String, arguments: Map<String, Value>, output: Option<&ToolOutput>) -> Self {
        let period = output.and_then(|output| period(output.data()));
        Self { tool, arguments, period, spoken: None, ok: output.is_some_and(|o| !o.is_error) }
    }
}

/// The footers with the words that their periods came from, as far as the asker's words of the turn have any.
pub fn with_words(heard: &Heard, mut footers: Vec<Footer>) -> Vec<Footer> {
    let calls: Vec<ToolCall> = footers.iter().map(|f| heard::as_call(&f.tool, &f.arguments)).collect();
    let met: BTreeSet<usize> = calls.iter().flat_map(|call| heard.met(call)).collect();
    for (footer, call) in footers.iter_mut().zip(&calls) {
        footer.spoken = heard.spoken(call, &met);
    }
    footers
}

fn period(data: &Value) -> Option<(Option<NaiveDate>, Option<NaiveDate>)> {
    let period = data.get("period")?;
    let day = |key| period.get(key)?.as_str()?.parse().ok();
    Some((day("begin"), day("end"))).filter(|ends| *ends != (None, None))
}
