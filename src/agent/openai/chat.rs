//! The Chat Completions API.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::agent::model::{Message, ModelReply, ModelRequest};
use crate::mcp::ToolSpec;

use super::{Settings, arguments_text, asked, text_of, usage_of};

/// The request's body.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    messages: Vec<Value>,
    /// The provider keeps nothing: the history is ours, and so is its deletion.
    store: bool,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
}

impl<'a> Body<'a> {
    pub(super) fn of(settings: &'a Settings, request: &'a ModelRequest) -> Self {
        let tools = request.tools.as_deref().and_then(|offer| offer.chat(tools));
        Self {
            model: &settings.name,
            messages: messages(request),
            store: false,
            stream: false,
            tools,
            parallel_tool_calls: settings.parallel_tool_calls.filter(|_| tools.is_some()),
            temperature: settings.temperature,
            max_completion_tokens: settings.max_output_tokens,
        }
    }
}

/// Calls made side by side belong to one assistant message here, together with the words said before them.
fn messages(request: &ModelRequest) -> Vec<Value> {
    let mut out = vec![json!({"role": "system", "content": request.instructions})];
    let mut rest = request.messages.iter().peekable();
    while let Some(message) = rest.next() {
        let words = match message {
            Message::User(text) => {
                // Many chat templates refuse a system message between others, so what the host adds to a question stands
                // in the same message.
                let mut content = text.clone();
                while let Some(Message::Host(added)) = rest.peek() {
                    content = format!("{content}\n\n{added}");
                    rest.next();
                }
                out.push(json!({"role": "user", "content": content}));
                continue;
            }
            Message::Host(text) => {
                out.push(json!({"role": "system", "content": text}));
                continue;
            }
            Message::Result { call_id, content } => {
                out.push(json!({"role": "tool", "tool_call_id": call_id, "content": content}));
                continue;
            }
            Message::Assistant(text) => Some(text),
            Message::Call(_) => None,
        };
        let mut calls = Vec::new();
        let mut next = if words.is_some() { None } else { Some(message) };
        loop {
            if let Some(Message::Call(call)) = next {
                calls.push(json!({
                    "type": "function", "id": call.id,
                    "function": {"name": call.name, "arguments": arguments_text(call)},
                }));
            }
            next = rest.next_if(|m| matches!(m, Message::Call(_)));
            if next.is_none() {
                break;
            }
        }
        out.push(if calls.is_empty() {
            json!({"role": "assistant", "content": words})
        } else {
            json!({"role": "assistant", "content": words, "tool_calls": calls})
        });
    }
    out
}

fn tools(tools: &[ToolSpec]) -> Value {
    let tool = |t: &ToolSpec| {
        json!({
            "type": "function",
            "function": {"name": t.name, "description": t.description, "parameters": t.input_schema},
        })
    };
    tools.iter().map(tool).collect()
}

/// `None` when there is no message at all.
pub(super) fn read(reply: &Value) -> Option<ModelReply> {
    let message = reply.get("choices")?.get(0)?.get("message")?;
    let mut read = ModelReply {
        text: text_of(message.get("content")),
        calls: Vec::new(),
        usage: usage_of(reply, "prompt_tokens", "completion_tokens"),
    };
    if read.text.is_empty() {
        read.text = text_of(message.get("refusal"));
    }
    for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        let function = call.get("function");
        let part = |key| function.and_then(|f| f.get(key));
        read.calls.push(asked(call.get("id"), part("name"), part("arguments")));
    }
    Some(read)
}
