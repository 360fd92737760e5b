//! The loop: model, calls, model, until it answers or a limit is reached.
//!
//! Promises: each step ends, within the turn's bounds, whatever the model says; every call of a round has its result,
//! be it a sentence that says why it was not run; a write never runs here, it becomes a [`Draft`]; the model is shown
//! nothing that the asker may not see. The loop holds no state that outlives a turn but the per-minute rates, posts
//! nothing to Slack and stores nothing: its caller keeps each round before asking for the next.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::NaiveDate;
use chrono_tz::Tz;
use futures::future::join_all;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};

use crate::domain::{Lang, Person, ProposalId, Role, ToolCall, Write};
use crate::mcp::{Mcp, McpError, ToolOutput, ToolSpec};
use crate::policy::{self, AllowedCall, Counters, Decision, Deny, ProposedCall, Table};

pub mod items;
pub mod limits;
pub mod model;
pub mod openai;
pub mod prompt;
mod resolve;
#[cfg(test)]
mod tests;

pub use items::Item;
pub use limits::{Budget, Limits, Stop};
pub use model::{AskedCall, Message, Model, ModelError, ModelReply, ModelRequest, Usage};

use items::{Names, conversation, covers, tool_name};
use prompt::Offer;
use resolve::{NotResolved, host_error, resolve};

/// The most of one tool result a model is shown, in bytes. Code sees all of it.
const MODEL_RESULT: usize = 64 << 10;
/// Above this many (person, tool) pairs the rates of those who are idle are forgotten.
const MANY_RATES: usize = 10_000;

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

/// An offer and the listing it was made from.
type Offered = (Arc<Vec<ToolSpec>>, Arc<Offer>);

/// What all turns share.
pub struct Agent {
    model: Arc<dyn Model>,
    mcp: Arc<Mcp>,
    table: Table,
    limits: Limits,
    rates: DefaultKeyedRateLimiter<(Person, String)>,
    /// One per role, made anew when the server was started again.
    offers: Mutex<HashMap<Role, Offered>>,
}

impl Agent {
    /// Puts the parts together.
    pub fn new(model: Arc<dyn Model>, mcp: Arc<Mcp>, table: Table, limits: Limits) -> Self {
        let per_minute = NonZeroU32::new(limits.calls_per_minute).unwrap_or(NonZeroU32::MIN);
        let rates = RateLimiter::keyed(Quota::per_minute(per_minute));
        Self { model, mcp, table, limits, rates, offers: Mutex::default() }
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

    fn too_often(&self, who: &Person, tool: &str) -> bool {
        if self.rates.len() > MANY_RATES {
            self.rates.retain_recent();
        }
        self.rates.check_key(&(who.clone(), tool.to_owned())).is_err()
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
    /// The period it used, if one with two ends was asked.
    pub period: Option<(NaiveDate, NaiveDate)>,
    /// Whether it gave rows rather than an error.
    pub ok: bool,
}

impl Footer {
    fn of(tool: String, arguments: Map<String, Value>, output: Option<&ToolOutput>) -> Self {
        let day = |key| output?.data().get("period")?.get(key)?.as_str()?.parse().ok();
        let period = day("begin").zip(day("end"));
        Self { tool, arguments, period, ok: output.is_some_and(|o| !o.is_error) }
    }
}

/// One turn's run, driven round by round so that each round can be stored before the next.
pub struct Session<'a> {
    agent: &'a Agent,
    asker: Asker,
    instructions: String,
    items: Vec<Item>,
    budget: Budget,
    uses: Uses,
    names: Names,
    /// The drafts whose results are still owed: call id and department.
    owed: Vec<(String, String)>,
    /// The limit that was reached: the next round is the last.
    closing: Option<Stop>,
    rounds: u32,
}

impl<'a> Session<'a> {
    /// A turn over `history` (earlier turns) and `message` (this turn so far: the person's words, and the rounds
    /// stored before a restart). The tool calls among the latter are counted here; the rest of the budget is the
    /// caller's to reduce.
    pub fn new(agent: &'a Agent, asker: Asker, history: Vec<Item>, message: Vec<Item>, budget: Budget) -> Self {
        let mut uses = Uses::default();
        let calls = uses.recount(&message);
        let mut budget = budget;
        budget.tool_calls_left = budget.tool_calls_left.saturating_sub(calls);
        let mut items = history;
        items.extend(message);
        let mut names = Names::default();
        for item in &items {
            if let Item::Call { call } = item {
                names.unique(&call.id);
            }
        }
        let instructions = prompt::instructions(&asker);
        let owed = Vec::new();
        Self { agent, asker, instructions, items, budget, uses, names, owed, closing: None, rounds: 0 }
    }

    /// What is left.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// One model request and the calls it asks for, side by side.
    pub async fn round(&mut self) -> Step {
        self.answer_drafts(Vec::new());
        let last = self.closing.is_some() || self.budget.rounds_left <= 1;
        let stop = self.closing.or((self.budget.rounds_left <= 1).then_some(Stop::Rounds));
        if self.budget.rounds_left == 0 {
            return self.end(String::new(), stop, Usage::default());
        }
        self.budget.rounds_left -= 1;
        self.rounds += 1;
        let (reply, usage) = match self.ask(last).await {
            Ok(answered) => answered,
            // A limit that was reached says more than the closing words that failed.
            Err((why, usage)) => return self.end(String::new(), self.closing.or(Some(why)), usage),
        };
        if last || reply.calls.is_empty() {
            return self.end(reply.text, stop, usage);
        }
        if self.budget.tokens_left == 0 {
            return self.end(reply.text, Some(Stop::Tokens), usage);
        }
        self.carry_out(reply, usage).await
    }

    /// What each draft of the last round became, in order; returns their results for the history. A draft without an
    /// answer gets a result that says so.
    pub fn answer_drafts(&mut self, answers: Vec<String>) -> Vec<Item> {
        let mut answers = answers.into_iter();
        let results: Vec<Item> = std::mem::take(&mut self.owed)
            .into_iter()
            .map(|(call_id, department)| Item::Result {
                call_id,
                content: answers.next().unwrap_or_else(|| items::NO_RESULT.to_owned()),
                departments: vec![department],
                fetched_for: self.asker.person.clone(),
            })
            .collect();
        self.items.extend(results.iter().cloned());
        results
    }

    /// Asks the model, once more when it said nothing at all.
    async fn ask(&mut self, last: bool) -> Result<(ModelReply, Usage), (Stop, Usage)> {
        let tools = (!last).then(|| self.agent.offer(self.asker.role));
        let request = ModelRequest {
            instructions: self.instructions.clone(),
            messages: conversation(&self.items, &self.asker),
            tools,
            deadline: self.budget.deadline,
        };
        let mut spent = Usage::default();
        let mut tries = if last { 1 } else { 2 };
        loop {
            if Instant::now() >= self.budget.deadline {
                return Err((Stop::Time, spent));
            }
            if request.estimated_tokens() >= self.budget.tokens_left {
                return Err((Stop::Tokens, spent));
            }
            tries -= 1;
            let asked = timeout_at(self.budget.deadline, self.agent.model.respond(request.clone())).await;
            let error = match asked {
                Err(_) => return Err((Stop::Time, spent)),
                Ok(Ok(reply)) => {
                    spent = spent.plus(reply.usage);
                    self.budget.tokens_left = self.budget.tokens_left.saturating_sub(reply.usage.total());
                    if last || !reply.text.trim().is_empty() || !reply.calls.is_empty() {
                        return Ok((reply, spent));
                    }
                    ModelError::Nonsense("neither words nor calls".to_owned())
                }
                Ok(Err(error)) => error,
            };
            let stop = match &error {
                ModelError::Nonsense(_) if tries > 0 => None,
                ModelError::Nonsense(_) => Some(Stop::ModelNonsense),
                ModelError::Refused(_) => Some(Stop::ModelRefused),
                _ if Instant::now() >= self.budget.deadline => Some(Stop::Time),
                ModelError::Unavailable(_) | ModelError::RateLimited => Some(Stop::ModelUnavailable),
            };
            tracing::warn!(endpoint = self.agent.model.name(), %error, again = stop.is_none(), "no answer of the model");
            if let Some(stop) = stop {
                return Err((stop, spent));
            }
        }
    }

    async fn carry_out(&mut self, reply: ModelReply, usage: Usage) -> Step {
        let mut items = Vec::new();
        if !reply.text.trim().is_empty() {
            items.push(Item::Assistant {
                text: reply.text,
                departments: self.departments(),
                fetched_for: Some(self.asker.person.clone()),
            });
        }
        self.uses.next_round();
        // One more than allowed is enough to notice; the rest of an endless list is not even stored.
        let keep = self.budget.tool_calls_left as usize + 1;
        let mut jobs = Vec::new();
        let mut proposed = 0;
        for (index, asked) in reply.calls.into_iter().take(keep).enumerate() {
            let (call, plan) = self.plan(asked);
            proposed += u32::from(matches!(plan, Plan::Propose(_)));
            items.push(Item::Call { call: call.clone() });
            jobs.push(self.run(index, call, plan));
        }
        let outcomes = join_all(jobs).await;
        let mut done = Vec::new();
        let mut drafts = Vec::new();
        let mut owed = Vec::new();
        for outcome in outcomes {
            done.extend(outcome.footer);
            if let Some(stop) = outcome.stop {
                self.closing = self.closing.or(Some(stop));
            }
            match outcome.became {
                Became::Result(content, departments) => items.push(Item::Result {
                    call_id: outcome.call_id,
                    content,
                    departments,
                    fetched_for: self.asker.person.clone(),
                }),
                Became::Draft(draft) => {
                    owed.push((outcome.call_id, draft.write.department().to_owned()));
                    drafts.push(*draft);
                }
            }
        }
        // What could not be resolved was no proposal; its call is counted anyway.
        self.budget.proposals_left += proposed - drafts.len() as u32;
        self.items.extend(items.iter().cloned());
        self.owed = owed;
        Step::Round { items, drafts, done, usage }
    }

    /// Counts one call and decides it.
    fn plan(&mut self, asked: AskedCall) -> (ToolCall, Plan) {
        let AskedCall { mut call, broken } = asked;
        call.id = self.names.unique(&call.id);
        let calls_spent = self.budget.tool_calls_left == 0;
        self.budget.tool_calls_left = self.budget.tool_calls_left.saturating_sub(1);
        let length = serde_json::to_string(&call.arguments).map_or(usize::MAX, |s| s.chars().count());
        let (in_a_row, same) = self.uses.count(&call);
        let limits = &self.agent.limits;
        let mut counters = Counters {
            calls_spent,
            rounds_in_a_row: in_a_row > limits.rounds_in_a_row,
            repeated: same > limits.same_call,
            too_often: false,
            proposals_spent: self.budget.proposals_left == 0,
            arguments_too_long: length > limits.argument_chars,
        };
        let table = &self.agent.table;
        let mut decision = policy::decide(table, self.asker.role, &call, &counters);
        // A rate is used up only by what would otherwise be carried out.
        if !broken && !matches!(decision, Decision::Deny(_)) && self.agent.too_often(&self.asker.person, &call.name) {
            counters.too_often = true;
            decision = policy::decide(table, self.asker.role, &call, &counters);
        }
        let plan = match decision {
            Decision::Deny(deny) => {
                let code = deny.code();
                // The name is a model's word: as a label it would be a new series each time.
                let tool = if policy::kind(&call.name).is_some() { call.name.clone() } else { "unknown".to_owned() };
                metrics::counter!("tool_call_errors_total", "tool" => tool, "code" => code).increment(1);
                Plan::Tell(host_error(code, deny.sentence()), stop_of(deny))
            }
            Decision::Run(_) | Decision::Propose(_) if broken => {
                let sentence = "The arguments were not valid JSON. Call the tool again with a JSON object.";
                Plan::Tell(host_error("invalid_arguments", sentence), None)
            }
            Decision::Run(allowed) => Plan::Run(allowed),
            Decision::Propose(proposed) => {
                self.budget.proposals_left -= 1;
                Plan::Propose(proposed)
            }
        };
        // From here on the call is history: it must be one that every endpoint takes, and no larger than allowed.
        call.name = tool_name(&call.name);
        if counters.arguments_too_long {
            call.arguments.clear();
        }
        (call, plan)
    }

    /// Carries one decided call out. Borrows nothing of the session that another call of the round needs.
    fn run(&self, index: usize, call: ToolCall, plan: Plan) -> impl Future<Output = Outcome> + use<'a> {
        let (agent, asker, deadline) = (self.agent, self.asker.clone(), self.budget.deadline);
        async move {
            let call_id = call.id.clone();
            match plan {
                Plan::Tell(content, stop) => {
                    Outcome { call_id, became: Became::Result(content, Vec::new()), footer: None, stop }
                }
                Plan::Run(allowed) => {
                    let tool = allowed.tool().to_owned();
                    let arguments = allowed.arguments().clone();
                    let work = agent.mcp.call(allowed, &asker.person, None);
                    let outcome = timeout_at(deadline, work).await.unwrap_or(Err(McpError::Timeout));
                    let footer = Some(Footer::of(tool.clone(), arguments, outcome.as_ref().ok()));
                    match outcome {
                        Ok(output) => {
                            let departments = output.departments();
                            let became = Became::Result(for_model(&output), departments);
                            Outcome { call_id, became, footer, stop: None }
                        }
                        Err(error) => Outcome { footer, ..no_answer(call_id, &tool, &error) },
                    }
                }
                Plan::Propose(proposed) => {
                    let work = resolve(&agent.mcp, &asker, &proposed);
                    let timed_out = Err(NotResolved::NoAnswer(McpError::Timeout));
                    match timeout_at(deadline, work).await.unwrap_or(timed_out) {
                        Ok(write) => {
                            let replaces = proposed.replaces().map(ProposalId::new);
                            let draft = Box::new(Draft { call, index, write, replaces });
                            Outcome { call_id, became: Became::Draft(draft), footer: None, stop: None }
                        }
                        Err(NotResolved::Told(content, departments)) => {
                            Outcome { call_id, became: Became::Result(content, departments), footer: None, stop: None }
                        }
                        Err(NotResolved::NoAnswer(error)) => no_answer(call_id, proposed.tool(), &error),
                    }
                }
            }
        }
    }

    /// All departments whose rows the model has been shown, and may have used in its words.
    fn departments(&self) -> Vec<String> {
        let shown = self.items.iter().map(Item::departments).filter(|d| covers(&self.asker, d));
        let all: BTreeSet<&String> = shown.flatten().collect();
        all.into_iter().cloned().collect()
    }

    fn end(&self, text: String, stop: Option<Stop>, usage: Usage) -> Step {
        if let Some(stop) = stop {
            metrics::counter!("turns_stopped_total", "stop" => stop.code()).increment(1);
            tracing::info!(stop = stop.code(), rounds = self.rounds, "the turn was stopped");
        }
        Step::Final { text, departments: self.departments(), stop, usage }
    }
}

/// What is to be done with one call.
enum Plan {
    Tell(String, Option<Stop>),
    Run(AllowedCall),
    Propose(ProposedCall),
}

/// What one call gave.
struct Outcome {
    call_id: String,
    became: Became,
    footer: Option<Footer>,
    stop: Option<Stop>,
}

enum Became {
    Result(String, Vec<String>),
    Draft(Box<Draft>),
}

fn no_answer(call_id: String, tool: &str, error: &McpError) -> Outcome {
    tracing::warn!(tool, %error, "a tool gave no answer");
    let (code, sentence, stop) = match error {
        McpError::Unavailable(_) => {
            ("unavailable", "The sales data cannot be reached now.", Some(Stop::ToolsUnavailable))
        }
        McpError::Timeout => ("timeout", "The tool did not answer in time.", None),
        McpError::Protocol(_) => ("invalid_result", "The tool's answer was not valid and was dropped.", None),
    };
    Outcome { call_id, became: Became::Result(host_error(code, sentence), Vec::new()), footer: None, stop }
}

/// The denials that end the turn; the others the model may learn from.
fn stop_of(deny: Deny) -> Option<Stop> {
    match deny {
        Deny::UnknownTool | Deny::NotYourRole => None,
        Deny::CallsSpent => Some(Stop::ToolCalls),
        Deny::RoundsInARow => Some(Stop::RoundsInARow),
        Deny::Repeated => Some(Stop::SameCall),
        Deny::TooOften => Some(Stop::CallsPerMinute),
        Deny::ProposalsSpent => Some(Stop::Proposals),
        Deny::ArgumentsTooLong => Some(Stop::ArgumentsTooLong),
    }
}

/// The result as JSON, cut when it is too long for a model.
fn for_model(output: &ToolOutput) -> String {
    let mut text = output.structured.to_string();
    if text.len() > MODEL_RESULT {
        text.truncate(text.floor_char_boundary(MODEL_RESULT));
        text.push_str("… [cut here by the host because it is too long: ask for less]");
    }
    text
}

/// How often each tool and each call was used in this turn.
#[derive(Debug, Default)]
struct Uses {
    round: u32,
    /// Per tool: the last round that used it, and how many in a row up to there.
    streaks: HashMap<String, (u32, u32)>,
    /// Per tool and arguments.
    same: HashMap<String, u32>,
}

impl Uses {
    fn next_round(&mut self) {
        self.round += 1;
    }

    /// Counts a call; returns the rounds in a row of its tool and the number of calls equal to it, this one included.
    fn count(&mut self, call: &ToolCall) -> (u32, u32) {
        let streak = self.streaks.entry(call.name.clone()).or_insert((0, 0));
        if streak.1 == 0 || streak.0 + 1 < self.round {
            *streak = (self.round, 1);
        } else if streak.0 + 1 == self.round {
            *streak = (self.round, streak.1 + 1);
        }
        let in_a_row = streak.1;
        let arguments = serde_json_canonicalizer::to_string(&call.arguments).unwrap_or_default();
        let same = self.same.entry(format!("{}\n{arguments}", call.name)).or_insert(0);
        *same += 1;
        (in_a_row, *same)
    }

    /// Counts the rounds of a turn that was begun before a restart: a call after a result begins a round.
    /// Returns the number of calls.
    fn recount(&mut self, message: &[Item]) -> u32 {
        let mut calls = 0;
        let mut in_calls = false;
        for item in message {
            if let Item::Call { call } = item {
                if !in_calls {
                    self.next_round();
                }
                self.count(call);
                calls += 1;
            }
            in_calls = matches!(item, Item::Call { .. });
        }
        calls
    }
}
