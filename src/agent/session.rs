//! One turn's run of the loop, round by round.
//!
//! Promises that [`Session::round`] ends by the turn's deadline, that at most so many rounds, calls, tokens and proposals
//! are used as the budget has, and that each call of a round gets its result.

use std::collections::BTreeSet;

use futures::future::join_all;
use tokio::time::{Instant, timeout_at};

use crate::domain::ToolCall;
use crate::policy::{self, Counters, Decision, Deny};

use super::calls::{self, Became, Plan};
use super::heard::{self, Heard};
use super::items::{self, Names, conversation, covers, tool_name};
use super::model::Message;
use super::resolve::host_error;
use super::uses::Uses;
use super::{Agent, AskedCall, Asker, Budget, Item, ModelError, ModelReply, ModelRequest, Step, Stop, Usage, prompt};

/// The most of a model's words that is kept, in characters; some seven Slack messages.
pub(super) const MODEL_TEXT: usize = 20_000;

/// What was decided of one call, for the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The tool, if it is one of ours; any other name is a model's word.
    pub tool: Option<String>,
    /// `call_allowed`, `call_proposable`, `call_held_back` or `call_denied`.
    pub event: &'static str,
    /// Why not, where it was not.
    pub code: Option<&'static str>,
    /// SHA-256 of the arguments, as hex.
    pub arguments: String,
}

/// One turn's run, driven round by round so that each round can be stored before the next.
pub struct Session<'a> {
    agent: &'a Agent,
    asker: Asker,
    instructions: String,
    heard: Heard,
    /// The days and periods of the asker's words that calls of this turn have taken up.
    met: BTreeSet<usize>,
    /// The tools of which a call was held back because it does not fit the words: once each.
    told: BTreeSet<String>,
    items: Vec<Item>,
    budget: Budget,
    uses: Uses,
    names: Names,
    /// The drafts whose results are still owed: call id and department.
    owed: Vec<(String, String)>,
    /// The limit that was reached: the next round is the last.
    closing: Option<Stop>,
    rounds: u32,
    decided: Vec<Decided>,
}

impl<'a> Session<'a> {
    /// A turn over `history` (earlier turns) and `message` (this turn so far: the person's words, and the rounds
    /// stored before a restart); `heard` are the asker's words. The tool calls of `message` are counted here; the rest of
    /// the budget is the caller's to reduce.
    pub fn new(
        agent: &'a Agent,
        asker: Asker,
        heard: Heard,
        history: Vec<Item>,
        message: Vec<Item>,
        budget: Budget,
    ) -> Self {
        let mut uses = Uses::default();
        let calls = uses.recount(&message);
        // A continuation goes on with a request that earlier calls have carried out in part.
        let goes_on = !message.iter().any(|item| matches!(item, Item::User { .. }));
        let (mut met, told) = taken_up(&heard, &message);
        if goes_on {
            met.append(&mut taken_up(&heard, &history).0);
        }
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
        Self {
            agent,
            asker,
            instructions,
            heard,
            met,
            told,
            items,
            budget,
            uses,
            names,
            owed,
            closing: None,
            rounds: 0,
            decided: Vec::new(),
        }
    }

    /// What was decided since this was last asked.
    pub fn take_decided(&mut self) -> Vec<Decided> {
        std::mem::take(&mut self.decided)
    }

    /// SHA-256 of the instructions and of the definitions of the tools, as hex.
    pub fn hashes(&self) -> (String, String) {
        (prompt::hash(&self.instructions), self.agent.offer(self.asker.role).hash().to_owned())
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
            Ok((mut reply, usage)) => {
                shorten(&mut reply.text);
                (reply, usage)
            }
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
            messages: self.messages(),
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

    /// The conversation, and behind the asker's message what code read in it.
    fn messages(&self) -> Vec<Message> {
        let mut messages = conversation(&self.items, &self.asker);
        let asked = messages.iter().rposition(|m| matches!(m, Message::User(_)));
        if let (Some(at), Some(hints)) = (asked, self.heard.hints()) {
            messages.insert(at + 1, Message::Host(format!("[host] {hints}")));
        }
        messages
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
        // Calls issued side by side may come in any order: what one of them takes up, another need not.
        self.met.extend(reply.calls.iter().take(keep).flat_map(|asked| self.heard.met(&asked.call)));
        let mut held = BTreeSet::new();
        let mut planned: Vec<(ToolCall, Plan)> = Vec::new();
        for asked in reply.calls.into_iter().take(keep) {
            planned.push(self.plan(asked, &mut held).await);
        }
        self.told.append(&mut held);
        let proposed = planned.iter().filter(|(_, plan)| matches!(plan, Plan::Propose(_))).count();
        items.extend(planned.iter().map(|(call, _)| Item::Call { call: call.clone() }));
        let (agent, asker, deadline) = (self.agent, &self.asker, self.budget.deadline);
        let jobs = planned.into_iter().enumerate();
        let jobs = jobs.map(|(index, (call, plan))| calls::run(agent, asker, deadline, index, call, plan));
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
                Became::Draft(mut draft) => {
                    draft.grounds = self.heard.grounds(&draft.write, &self.met);
                    owed.push((outcome.call_id, draft.write.department().to_owned()));
                    drafts.push(*draft);
                }
            }
        }
        // What could not be resolved was no proposal; its call is counted anyway.
        self.budget.proposals_left += (proposed - drafts.len()) as u32;
        self.items.extend(items.iter().cloned());
        self.owed = owed;
        Step::Round { items, drafts, done, usage }
    }

    /// Counts one call and decides it.
    async fn plan(&mut self, asked: AskedCall, held: &mut BTreeSet<String>) -> (ToolCall, Plan) {
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
        let objection = match decision {
            Decision::Run(_) | Decision::Propose(_) if !broken => self.objection(&call, held),
            _ => None,
        };
        // A rate is used up only by what would otherwise be carried out.
        let carried_out = !broken && objection.is_none() && !matches!(decision, Decision::Deny(_));
        if carried_out && self.agent.too_often(&self.asker.person, &call.name).await {
            counters.too_often = true;
            decision = policy::decide(table, self.asker.role, &call, &counters);
        }
        let (event, code) = match &decision {
            _ if objection.is_some() => ("call_held_back", Some(heard::DIFFERS)),
            Decision::Deny(deny) => ("call_denied", Some(deny.code())),
            _ if broken => ("call_denied", Some("invalid_arguments")),
            Decision::Run(_) => ("call_allowed", None),
            Decision::Propose(_) => ("call_proposable", None),
        };
        let arguments = prompt::hash(&serde_json::Value::Object(call.arguments.clone()).to_string());
        let tool = policy::kind(&call.name).map(|_| call.name.clone());
        self.decided.push(Decided { tool, event, code, arguments });
        let plan = match decision {
            _ if let Some(objection) = objection => Plan::Tell(host_error(heard::DIFFERS, &objection), None),
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

    /// Why a call does not fit the asker's words, told in one round for each tool: a model that insists gets its call, and
    /// the person is shown the difference. `held` are the tools held back in this round.
    fn objection(&self, call: &ToolCall, held: &mut BTreeSet<String>) -> Option<String> {
        if self.told.contains(&call.name) {
            return None;
        }
        let objection = self.heard.objection(call, &self.met)?;
        held.insert(call.name.clone());
        metrics::counter!("words_differ_total", "tool" => call.name.clone()).increment(1);
        Some(objection)
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

/// What the calls of a turn that was begun before a restart have taken up, and the tools that were held back in it.
fn taken_up(heard: &Heard, message: &[Item]) -> (BTreeSet<usize>, BTreeSet<String>) {
    let calls = || message.iter().filter_map(|item| if let Item::Call { call } = item { Some(call) } else { None });
    let told = message.iter().filter_map(|item| match item {
        Item::Result { call_id, content, .. } if heard::was_told(content) => {
            calls().find(|call| call.id == *call_id).map(|call| call.name.clone())
        }
        _ => None,
    });
    (calls().flat_map(|call| heard.met(call)).collect(), told.collect())
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

/// An endless text would flood the thread, and the history after it.
fn shorten(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(MODEL_TEXT) {
        text.truncate(end);
        text.push('…');
    }
}
