//! What a signed request costs here when nothing is done with it. A busy or slow machine shows in this figure first.

use std::time::{Duration, Instant};

use anyhow::ensure;
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;

use crate::Options;
use crate::bot::{self, Sender};
use crate::numbers::{Row, Sample, ms};

async fn verify(headers: HeaderMap, body: Bytes) -> StatusCode {
    let header = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
    match bot::sign(header("x-slack-request-timestamp"), &body) {
        Ok(expected) if expected == header("x-slack-signature") => StatusCode::OK,
        _ => StatusCode::UNAUTHORIZED,
    }
}

/// One after the other, then 50 a second.
pub async fn measure(options: &Options) -> anyhow::Result<Vec<Row>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let server =
        tokio::spawn(async move { axum::serve(listener, Router::new().route("/slack/events", post(verify))).await });
    let sender = Sender::new(&address)?;
    let mut closed = Sample::default();
    for n in 0..options.pick(2_000, 500) {
        let begun = Instant::now();
        sender.say(&format!("1.{n:06}"), "今月の売上は？").await?;
        closed.push(begun.elapsed());
    }
    let open = crate::load::at_rate(&sender, 50, Duration::from_secs(options.pick(10, 3)), "今月の売上は？").await?;
    server.abort();
    ensure!(open.failed == 0, "the floor itself fails");
    Ok(vec![
        Row::info(
            "floor: signed request, one at a time, p50 / p99",
            format!("{} / {}", ms(closed.p50()), ms(closed.p99())),
        ),
        Row::info(
            "floor: signed request, 50/s, p50 / p99",
            format!("{} / {}", ms(open.acks.p50()), ms(open.acks.p99())),
        ),
    ])
}
