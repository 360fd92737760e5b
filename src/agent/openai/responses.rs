//! The Responses API.

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
    instructions: &'a str,
    input: Vec<Value>,
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
    max_output_tokens: Option<u32>,
}

impl<'a> Body<'a> {
    pub(super) fn of(settings: &'a Settings, request: &'a ModelRequest) -> Self {
        let tools = request.tools.as_deref().and_then(|offer| offer.responses(tools));
        Self {
            model: &settings.name,
            instructions: &request.instructions,
            input: request.messages.iter().map(input).collect(),
            store: false,
            stream: false,
            tools,
            parallel_tool_calls: settings.parallel_tool_calls.filter(|_| tools.is_some()),
            temperature: settings.temperature,
            max_output_tokens: settings.max_output_tokens,
        }
    }
}

fn input(message: &Message) -> Value {
    match message {
        Message::User(text) => json!({"role": "user", "content": text}),
        Message::Assistant(text) => json!({"role": "assistant", "content": text}),
        Message::Host(text) => json!({"role": "developer", "content": text}),
        Message::Call(call) => json!({
            "type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments_text(call),
        }),
        Message::Result { call_id, content } => {
            json!({"type": "function_call_output", "call_id": call_id, "output": content})
        }
    }
}

fn tools(tools: &[ToolSpec]) -> Value {
    let tool = |t: &ToolSpec| {
        json!({
            "type": "function", "name": t.name, "description": t.description, "parameters": t.input_schema,
            // Strict schemas need every property required; ours have optional ones.
            "strict": false,
        })
    };
    tools.iter().map(tool).collect()
}

/// `None` when there is no list of output at all. Items of unknown types are skipped.
pub(super) fn read(reply: &Value) -> Option<ModelReply> {
    let mut read = ModelReply { usage: usage_of(reply, "input_tokens", "output_tokens"), ..ModelReply::default() };
    for item in reply.get("output")?.as_array()? {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or("message");
        match kind {
            "message" => {
                let text = text_of(item.get("content"));
                if !read.text.is_empty() && !text.is_empty() {
                    read.text.push_str("\n\n");
                }
                read.text.push_str(&text);
            }
            "function_call" => {
                let id = item.get("call_id").filter(|id| id.is_string()).or_else(|| item.get("id"));
                read.calls.push(asked(id, item.get("name"), item.get("arguments")));
            }
            _ => {}
        }
    }
    Some(read)
}
