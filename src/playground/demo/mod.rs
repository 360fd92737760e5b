//! The demo model: a deterministic endpoint in the shape of OpenAI's, for trying the bot without a key.
//!
//! What it promises: it sees only what a model sees (instructions, messages, tools, results), keeps nothing between
//! requests, and gives the same answer to the same request. It reads a small grammar over known words of Japanese and
//! English; days, amounts and quantities are read by [`crate::reading`]. It never says that a sale was registered, never
//! works out a figure, and says plainly what it did not understand. It is no AI and says so. It does not know the bot:
//! `conversation` is the whole of its world, and the bot does not know it.
//!
//! A request takes this way: `wire` reads it into a `conversation`; `turns` finds the message that is to be answered;
//! `message` is its text as tokens (`cutting`, `lexicon`), of which `grammar` makes parts (`clauses`, `names`, `goods`,
//! `registrations`, `conditions`, `cancelling`); `follow_up` and `ellipsis` give the parts what earlier messages said
//! (`choices`), as a list of what is asked (`request`); `plan` goes through the list to the next calls or the answer
//! (`lookups`, `writes`, `calls`, `say`). `talk` is what asks for nothing.

mod calls;
mod cancelling;
mod choices;
mod clauses;
mod conditions;
mod conversation;
mod cutting;
mod ellipsis;
mod follow_up;
mod goods;
mod grammar;
mod lexicon;
mod lookups;
mod message;
mod names;
mod plan;
mod registrations;
mod request;
mod say;
mod script;
mod spellings;
mod talk;
mod turns;
mod wire;
mod writes;

use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use wire::Invalid;

/// Long histories with many tool results stay well below this.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// The endpoint: `POST /v1/responses`, `POST /v1/chat/completions`, `GET /v1/models`. The caller binds it, on loopback.
pub fn router() -> Router {
    Router::new()
        .route("/v1/responses", post(responses))
        .route("/v1/chat/completions", post(chat))
        .route("/v1/models", get(models))
        .layer(DefaultBodyLimit::max(MAX_BODY))
}

async fn models() -> Json<Value> {
    Json(json!({
        "object": "list",
        "data": [{ "id": wire::MODEL, "object": "model", "created": 0, "owned_by": "sales-concierge" }],
    }))
}

async fn responses(body: Bytes) -> Response {
    refused_or(|| {
        let body = object(&body)?;
        if streams(&body) {
            return Err(Invalid::new("This model does not stream responses.", Some("stream")));
        }
        let conversation = wire::responses_request(&body)?;
        let answer = plan::answer(&conversation);
        Ok(Json(wire::responses_answer(&body, &conversation, &answer)).into_response())
    })
}

async fn chat(body: Bytes) -> Response {
    refused_or(|| {
        let body = object(&body)?;
        let conversation = wire::chat_request(&body)?;
        let answer = plan::answer(&conversation);
        if streams(&body) {
            let events = wire::chat_stream(&body, &conversation, &answer);
            return Ok(([(header::CONTENT_TYPE, "text/event-stream")], events).into_response());
        }
        Ok(Json(wire::chat_answer(&body, &conversation, &answer)).into_response())
    })
}

fn refused_or(answer: impl FnOnce() -> Result<Response, Invalid>) -> Response {
    answer().unwrap_or_else(|invalid| (StatusCode::BAD_REQUEST, Json(invalid.body())).into_response())
}

fn object(body: &[u8]) -> Result<Value, Invalid> {
    serde_json::from_slice::<Value>(body)
        .ok()
        .filter(Value::is_object)
        .ok_or_else(|| Invalid::new("We could not parse the JSON body of your request.", None))
}

fn streams(body: &Value) -> bool {
    body.get("stream").and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests;
