//! Carries one decided call out: a read through the MCP host, a write as far as a draft.
//!
//! Promises that every call ends in an [`Outcome`] by the deadline, whatever the server does.

use serde_json::json;
use tokio::time::{Instant, timeout_at};

use crate::domain::{Grounds, ProposalId, ToolCall};
use crate::mcp::{McpError, ToolOutput};
use crate::policy::{AllowedCall, ProposedCall};

use super::resolve::{NotResolved, resolve};
use super::{Agent, Asker, Draft, Footer, Stop};

/// The most of one tool result a model is shown, in bytes. Code sees all of it.
pub(super) const MODEL_RESULT: usize = 64 << 10;

/// What is to be done with one call.
pub(super) enum Plan {
    /// Tell the model why not, and perhaps end the turn.
    Tell(String, Option<Stop>),
    Run(AllowedCall),
    Propose(ProposedCall),
}

/// What one call gave.
pub(super) struct Outcome {
    pub call_id: String,
    pub became: Became,
    pub footer: Option<Footer>,
    pub stop: Option<Stop>,
}

/// The call's result and its departments, or a write whose result is still owed.
pub(super) enum Became {
    Result(String, Vec<String>),
    Draft(Box<Draft>),
}

/// Carries out the call at `index` of its round, for `asker`.
pub(super) async fn run(
    agent: &Agent,
    asker: &Asker,
    deadline: Instant,
    index: usize,
    call: ToolCall,
    plan: Plan,
) -> Outcome {
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
            let work = resolve(&agent.mcp, asker, &proposed);
            let timed_out = Err(NotResolved::NoAnswer(McpError::Timeout));
            match timeout_at(deadline, work).await.unwrap_or(timed_out) {
                Ok(write) => {
                    let replaces = proposed.replaces().map(ProposalId::new);
                    let draft = Box::new(Draft { call, index, write, grounds: Grounds::default(), replaces });
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

fn no_answer(call_id: String, tool: &str, error: &McpError) -> Outcome {
    tracing::warn!(tool, %error, "a tool gave no answer");
    let (code, sentence, stop) = match error {
        McpError::Unavailable(_) => {
            ("unavailable", "The sales data cannot be reached now.", Some(Stop::ToolsUnavailable))
        }
        McpError::Timeout => ("timeout", "The tool did not answer in time.", None),
        McpError::Protocol(_) => ("invalid_result", "The tool's answer was not valid and was dropped.", None),
    };
    let content = json!({"status": "error", "data": {"error": sentence, "code": code}}).to_string();
    Outcome { call_id, became: Became::Result(content, Vec::new()), footer: None, stop }
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
