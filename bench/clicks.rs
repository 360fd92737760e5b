//! Figure 5: a thousand presses on a hundred cards, in bursts, make a hundred sales.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use sales_concierge::records::{self, Records};
use tokio::task::JoinSet;

use crate::Options;
use crate::bot::{Bot, Card, Sender, folder, records_path};
use crate::numbers::{Row, Sample, ms};
use crate::wire::Wire;

const BURST: usize = 64;

/// Presses on each card.
const PRESSES: usize = 10;

pub async fn measure(options: &Options) -> anyhow::Result<Vec<Row>> {
    let wanted = options.pick(100_usize, 30);
    let dir = folder().await?;
    let mut wire = Wire::start().await?;
    let bot = Bot::serve(dir.path(), &wire).await?;
    let sender = Sender::new(&bot.address)?;
    let mut cards = Vec::new();
    for n in 0..wanted {
        sender.say(&format!("1700000000.{n:06}"), "0002に600円で登録して").await?;
    }
    while cards.len() < wanted {
        let posted =
            tokio::time::timeout(Duration::from_secs(10), wire.posted.recv()).await.context("a card is missing")?;
        cards.extend(Card::of(&posted.context("the stand-in for Slack is gone")?));
    }

    // All presses on a card are neighbours, so that a burst holds the hardest races.
    let presses: Vec<(Card, usize)> =
        cards.iter().flat_map(|card| (0..PRESSES).map(move |n| (card.clone(), n))).collect();
    let mut acks = Sample::default();
    let begun = Instant::now();
    for burst in presses.chunks(BURST) {
        let mut running = JoinSet::new();
        for (card, n) in burst.iter().cloned() {
            let sender = sender.clone();
            running.spawn(async move {
                let begun = Instant::now();
                sender.press(&card, n).await.map(|()| begun.elapsed())
            });
        }
        while let Some(done) = running.join_next().await {
            acks.push(done??);
        }
    }
    let acknowledged = begun.elapsed();

    let records = Records::open_file(&records_path(dir.path())).await?;
    let count = |sql: &'static str| records::query(sql).scalar::<i64>(records.read());
    while count("SELECT count(*) FROM clicks WHERE handled_at IS NULL").await? > 0 {
        ensure!(begun.elapsed() < Duration::from_secs(60), "presses are still not handled after a minute");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let handled = begun.elapsed();
    let stored = count("SELECT count(*) FROM clicks").await?;
    let sales = count("SELECT count(*) FROM sales WHERE origin = 'approval'").await?;
    records.close().await;
    bot.stop().await?;
    let total = presses.len();
    Ok(vec![
        Row::exactly(format!("5. sales after {total} presses on {wanted} cards"), sales, i64::try_from(wanted)?),
        Row::exactly("   presses stored", stored, i64::try_from(total)?),
        Row::info(
            format!("   ack in bursts of {BURST}, p50 / p99"),
            format!("{} / {}", ms(acks.p50()), ms(acks.p99())),
        ),
        Row::info(
            "   synced to disk and acknowledged, per press",
            ms(acknowledged.as_secs_f64() * 1_000.0 / total as f64),
        ),
        Row::info("   all presses carried out or answered", format!("{:.2} s", handled.as_secs_f64())),
    ])
}
