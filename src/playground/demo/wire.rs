//! The two OpenAI APIs: reading their requests, writing their answers, in exactly their shapes.

use serde_json::{Map, Value, json};

use super::conversation::{Answer, Conversation, Event};
use crate::domain::ToolCall;

/// The name under which the model is served.
pub(super) const MODEL: &str = "sales-concierge-demo";

/// A request that the API refuses, in the API's words.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct Invalid {
    message: String,
    param: Option<&'static str>,
}

impl Invalid {
    pub(super) fn new(message: impl Into<String>, param: Option<&'static str>) -> Self {
        Self { message: message.into(), param }
    }

    /// The body of a 400.
    pub(super) fn body(&self) -> Value {
        json!({ "error": { "message": self.message, "type": "invalid_request_error", "param": self.param, "code": null } })
    }
}

/// Reads a request of the Responses API.
pub(super) fn responses_request(body: &Value) -> Result<Conversation, Invalid> {
    let mut conversation = Conversation::default();
    if let Some(instructions) = body.get("instructions").and_then(Value::as_str) {
        conversation.instructions(instructions);
    }
    tools(&mut conversation, body, |tool| tool.get("name"));
    match body.get("input") {
        Some(Value::String(text)) => conversation.user(text),
        Some(Value::Array(items)) => {
            for item in items {
                responses_item(&mut conversation, item)?;
            }
        }
        _ => return Err(Invalid::new("Missing required parameter: 'input'.", Some("input"))),
    }
    checked(conversation, "input")
}

fn responses_item(conversation: &mut Conversation, item: &Value) -> Result<(), Invalid> {
    let field = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    match item.get("type").and_then(Value::as_str).unwrap_or("message") {
        "message" => message(conversation, &field("role"), item.get("content"), "input"),
        "function_call" => {
            conversation.events.push(call(field("call_id"), field("name"), &field("arguments"), "input")?);
            Ok(())
        }
        "function_call_output" => {
            let content = text_of(item.get("output"));
            conversation.events.push(Event::Result { call_id: field("call_id"), content });
            Ok(())
        }
        // Another endpoint's own items say nothing to this model.
        "reasoning" | "item_reference" => Ok(()),
        other => Err(Invalid::new(format!("Invalid value: '{other}'."), Some("input"))),
    }
}

/// Reads a request of the Chat Completions API.
pub(super) fn chat_request(body: &Value) -> Result<Conversation, Invalid> {
    let mut conversation = Conversation::default();
    tools(&mut conversation, body, |tool| tool.pointer("/function/name"));
    let messages = body
        .get("messages")
        .and_then(Value::as_array)
        .ok_or_else(|| Invalid::new("Missing required parameter: 'messages'.", Some("messages")))?;
    for item in messages {
        let field = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match field("role").as_str() {
            "tool" => {
                let content = text_of(item.get("content"));
                conversation.events.push(Event::Result { call_id: field("tool_call_id"), content });
            }
            role => {
                let calls = item.get("tool_calls").and_then(Value::as_array);
                if calls.is_none() || item.get("content").is_some_and(|c| !c.is_null()) {
                    message(&mut conversation, role, item.get("content"), "messages")?;
                }
                for c in calls.into_iter().flatten() {
                    let part = |path: &str| c.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
                    let event = call(part("/id"), part("/function/name"), &part("/function/arguments"), "messages")?;
                    conversation.events.push(event);
                }
            }
        }
    }
    checked(conversation, "messages")
}

fn tools<'v>(conversation: &mut Conversation, body: &'v Value, name: impl Fn(&'v Value) -> Option<&'v Value>) {
    let offered = body.get("tool_choice").and_then(Value::as_str) != Some("none");
    let tools = body.get("tools").and_then(Value::as_array).filter(|_| offered);
    conversation.tools = tools.into_iter().flatten().filter_map(|t| name(t)?.as_str()).map(str::to_owned).collect();
}

fn message(
    conversation: &mut Conversation,
    role: &str,
    content: Option<&Value>,
    param: &'static str,
) -> Result<(), Invalid> {
    let text = text_of(content);
    match role {
        "user" => conversation.user(&text),
        "assistant" => conversation.events.push(Event::Assistant(text)),
        "system" | "developer" => conversation.system(&text),
        other => return Err(Invalid::new(format!("Invalid value: '{other}'."), Some(param))),
    }
    Ok(())
}

/// The text of a content, which is a string or a list of parts.
fn text_of(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|p| p.get("text").and_then(Value::as_str)).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn call(id: String, name: String, arguments: &str, param: &'static str) -> Result<Event, Invalid> {
    let arguments: Map<String, Value> = serde_json::from_str(arguments)
        .map_err(|_| Invalid::new("Function call arguments must be a JSON object.", Some(param)))?;
    Ok(Event::Call(ToolCall { id, name, arguments }))
}

fn checked(conversation: Conversation, param: &'static str) -> Result<Conversation, Invalid> {
    match conversation.fault() {
        Some(fault) => Err(Invalid::new(fault, Some(param))),
        None => Ok(conversation),
    }
}

/// A rough count: what matters is that longer texts cost more.
fn tokens(value: &Value) -> u64 {
    u64::try_from(value.to_string().len() / 4 + 1).unwrap_or(u64::MAX)
}

/// The day of the instructions as a timestamp: this model has no clock.
fn created(conversation: &Conversation) -> i64 {
    conversation.today.map_or(0, |d| d.and_time(chrono::NaiveTime::MIN).and_utc().timestamp())
}

fn model(body: &Value) -> Value {
    body.get("model").filter(|m| m.is_string()).cloned().unwrap_or_else(|| MODEL.into())
}

/// Writes an answer of the Responses API.
pub(super) fn responses_answer(body: &Value, conversation: &Conversation, answer: &Answer) -> Value {
    let n = conversation.events.len();
    let output: Vec<Value> = match answer {
        Answer::Text(text) => vec![json!({
            "type": "message", "id": format!("msg_{n}"), "status": "completed", "role": "assistant",
            "content": [{ "type": "output_text", "text": text, "annotations": [], "logprobs": [] }],
        })],
        Answer::Calls(calls) => calls
            .iter()
            .enumerate()
            .map(|(i, (name, arguments))| {
                json!({
                    "type": "function_call", "id": format!("fc_{n}_{i}"), "call_id": conversation.fresh_call_id(i),
                    "name": name, "arguments": Value::Object(arguments.clone()).to_string(), "status": "completed",
                })
            })
            .collect(),
    };
    let output = Value::Array(output);
    let (input_tokens, output_tokens) = (tokens(body), tokens(&output));
    json!({
        "id": format!("resp_{n}"),
        "object": "response",
        "created_at": created(conversation),
        "status": "completed",
        "error": null,
        "incomplete_details": null,
        "instructions": body.get("instructions").cloned().unwrap_or(Value::Null),
        "max_output_tokens": body.get("max_output_tokens").cloned().unwrap_or(Value::Null),
        "metadata": {},
        "model": model(body),
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "store": false,
        "temperature": body.get("temperature").cloned().unwrap_or_else(|| json!(1.0)),
        "text": { "format": { "type": "text" } },
        "tool_choice": body.get("tool_choice").cloned().unwrap_or_else(|| json!("auto")),
        "tools": body.get("tools").cloned().unwrap_or_else(|| json!([])),
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": {
            "input_tokens": input_tokens,
            "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": output_tokens,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": input_tokens + output_tokens,
        },
    })
}

/// Writes an answer of the Chat Completions API.
pub(super) fn chat_answer(body: &Value, conversation: &Conversation, answer: &Answer) -> Value {
    let (message, finish) = chat_message(conversation, answer);
    let (prompt, completion) = (tokens(body), tokens(&message));
    json!({
        "id": format!("chatcmpl-{}", conversation.events.len()),
        "object": "chat.completion",
        "created": created(conversation),
        "model": model(body),
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish }],
        "usage": { "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion },
    })
}

fn chat_message(conversation: &Conversation, answer: &Answer) -> (Value, &'static str) {
    match answer {
        Answer::Text(text) => (json!({ "role": "assistant", "content": text, "refusal": null }), "stop"),
        Answer::Calls(calls) => {
            let calls: Vec<Value> = calls
                .iter()
                .enumerate()
                .map(|(i, (name, arguments))| {
                    let arguments = Value::Object(arguments.clone()).to_string();
                    json!({
                        "id": conversation.fresh_call_id(i), "type": "function",
                        "function": { "name": name, "arguments": arguments },
                    })
                })
                .collect();
            (json!({ "role": "assistant", "content": null, "refusal": null, "tool_calls": calls }), "tool_calls")
        }
    }
}

/// The same as server-sent events: the whole answer in one piece, then the end.
pub(super) fn chat_stream(body: &Value, conversation: &Conversation, answer: &Answer) -> String {
    let (mut delta, finish) = chat_message(conversation, answer);
    if let Some(calls) = delta.get_mut("tool_calls").and_then(Value::as_array_mut) {
        for (i, call) in calls.iter_mut().enumerate() {
            if let Some(call) = call.as_object_mut() {
                call.insert("index".into(), i.into());
            }
        }
    }
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({
            "id": format!("chatcmpl-{}", conversation.events.len()),
            "object": "chat.completion.chunk",
            "created": created(conversation),
            "model": model(body),
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        })
    };
    format!("data: {}\n\ndata: {}\n\ndata: [DONE]\n\n", chunk(delta, None), chunk(json!({}), Some(finish)))
}
