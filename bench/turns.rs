//! Figure 1: from an event to the posted reply. One person asks; the model looks the customer up, then the sales.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::Options;
use crate::bot::{Bot, Sender, folder};
use crate::machine;
use crate::numbers::{Row, Sample, ms};
use crate::wire::Wire;

/// Asks in a new thread and waits for the reply.
pub async fn ask(sender: &Sender, wire: &mut Wire, ts: &str) -> anyhow::Result<(Duration, Duration)> {
    let begun = Instant::now();
    sender.say(ts, "今月の売上は？").await?;
    let acknowledged = begun.elapsed();
    loop {
        let posted =
            tokio::time::timeout(Duration::from_secs(10), wire.posted.recv()).await.context("no reply in 10 s")?;
        let posted = posted.context("the stand-in for Slack is gone")?;
        if posted.thread == ts {
            return Ok((posted.at.saturating_duration_since(begun), acknowledged));
        }
    }
}

/// One question after another.
pub async fn measure(options: &Options) -> anyhow::Result<Vec<Row>> {
    let dir = folder().await?;
    let mut wire = Wire::start().await?;
    let bot = Bot::serve(dir.path(), &wire).await?;
    let sender = Sender::new(&bot.address)?;
    for n in 0..20 {
        ask(&sender, &mut wire, &format!("1700000000.{n:06}")).await?;
    }
    let pids = bot.pids();
    let (cpu, writes) = (machine::cpu_ms(&pids), machine::writes(&pids));
    let turns = options.pick(1_000_u32, 200);
    let (mut replies, mut acks) = (Sample::default(), Sample::default());
    for n in 0..turns {
        let (reply, ack) = ask(&sender, &mut wire, &format!("1700000001.{n:06}")).await?;
        replies.push(reply);
        acks.push(ack);
    }
    let turns = f64::from(turns);
    let (cpu, writes) = (machine::cpu_ms(&pids) - cpu, machine::writes(&pids) - writes);
    bot.stop().await?;
    ensure!(wire.wrong() == 0, "{} tool answers were not what was asked for", wire.wrong());
    Ok(vec![
        Row::at_most("1. event to posted reply, one person, p50", replies.p50(), 5.0, "ms"),
        Row::info("   event to posted reply, p99", ms(replies.p99())),
        Row::info("   ack, p50 / p99", format!("{} / {}", ms(acks.p50()), ms(acks.p99()))),
        Row::info("   CPU of bot and sales server per turn", ms(cpu / turns)),
        Row::info("   writing system calls per turn", format!("{:.0}", writes as f64 / turns)),
    ])
}
