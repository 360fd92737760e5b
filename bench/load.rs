//! Figure 2: how fast events are acknowledged at 50 a second, while their turns run.

use std::time::{Duration, Instant};

use anyhow::ensure;
use tokio::task::JoinSet;

use crate::Options;
use crate::bot::{Bot, Sender, folder};
use crate::numbers::{Row, Sample, ms};
use crate::wire::Wire;

/// What came of events sent at a rate.
pub struct AtRate {
    pub acks: Sample,
    pub failed: usize,
    /// When each event should have been sent, by its message's timestamp.
    pub sent: std::collections::HashMap<String, Instant>,
}

/// Sends events whether or not earlier ones were answered. Latency counts from when an event should have been sent, so
/// that a stall counts for every event it delays.
pub async fn at_rate(sender: &Sender, per_second: u32, span: Duration, text: &'static str) -> anyhow::Result<AtRate> {
    let begun = tokio::time::Instant::now();
    let pause = Duration::from_secs(1) / per_second;
    let mut running = JoinSet::new();
    let mut sent = std::collections::HashMap::new();
    for n in 0..(span.as_secs_f64() * f64::from(per_second)) as u32 {
        let due = begun + pause * n;
        tokio::time::sleep_until(due).await;
        let ts = format!("1800000000.{n:06}");
        sent.insert(ts.clone(), due.into_std());
        let sender = sender.clone();
        running.spawn(async move { sender.say(&ts, text).await.map(|()| due.elapsed()) });
    }
    let (mut acks, mut failed) = (Sample::default(), 0);
    while let Some(done) = running.join_next().await {
        match done? {
            Ok(taken) => acks.push(taken),
            Err(error) => {
                failed += 1;
                eprintln!("{error:#}");
            }
        }
    }
    Ok(AtRate { acks, failed, sent })
}

/// 50 a second for a minute; every event's reply is waited for.
pub async fn measure(options: &Options) -> anyhow::Result<Vec<Row>> {
    let dir = folder().await?;
    let mut wire = Wire::start().await?;
    let bot = Bot::serve(dir.path(), &wire).await?;
    let sender = Sender::new(&bot.address)?;
    crate::turns::ask(&sender, &mut wire, "1700000000.000001").await?;
    let before = crate::machine::cpu_ms(&bot.pids());
    let span = Duration::from_secs(options.pick(60, 10));
    let run = at_rate(&sender, 50, span, "今月の売上は？").await?;
    let mut replies = Sample::default();
    while replies.len() < run.sent.len() {
        let Ok(Some(posted)) = tokio::time::timeout(Duration::from_secs(10), wire.posted.recv()).await else { break };
        if let Some(due) = run.sent.get(&posted.thread) {
            replies.push(posted.at.saturating_duration_since(*due));
        }
    }
    let cpu = crate::machine::cpu_ms(&bot.pids()) - before;
    let lost = run.sent.len() - replies.len();
    let complaints = bot.complaints();
    bot.stop().await?;
    ensure!(wire.wrong() == 0, "{} tool answers were not what was asked for", wire.wrong());
    let seconds = span.as_secs();
    Ok(vec![
        Row::at_most(format!("2. ack at 50 events/s for {seconds} s, p99"), run.acks.p99(), 10.0, "ms"),
        Row::info("   ack, p50", ms(run.acks.p50())),
        Row::exactly("   events refused or unanswered", i64::try_from(run.failed + lost)?, 0),
        Row::info("   event to reply, p50 / p99", format!("{} / {}", ms(replies.p50()), ms(replies.p99()))),
        Row::info("   CPU of bot and sales server per event", ms(cpu / run.sent.len() as f64)),
        Row::exactly("   warnings and errors in the log", i64::try_from(complaints)?, 0),
    ])
}
