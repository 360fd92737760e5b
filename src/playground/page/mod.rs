//! The Slack-like page at `/`.

use std::sync::Arc;

use axum::Router;

use super::workspace::Hub;

pub(crate) fn router(hub: Arc<Hub>) -> Router {
    Router::new().with_state(hub)
}
