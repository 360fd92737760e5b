//! Figure 3: memory of the bot and its sales server, idle after the start, and idle after work.

use std::time::Duration;

use crate::Options;
use crate::bot::{Bot, Sender, folder};
use crate::machine::pss_mb;
use crate::numbers::Row;
use crate::turns::ask;
use crate::wire::Wire;

pub async fn measure(options: &Options) -> anyhow::Result<Vec<Row>> {
    let dir = folder().await?;
    let mut wire = Wire::start().await?;
    let bot = Bot::serve(dir.path(), &wire).await?;
    let parts = || bot.pids().iter().map(|pid| pss_mb(*pid)).collect::<Vec<f64>>();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let idle = parts();
    let sender = Sender::new(&bot.address)?;
    let turns = options.pick(500, 100);
    for n in 0..turns {
        ask(&sender, &mut wire, &format!("1700000000.{n:06}")).await?;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let after = parts();
    bot.stop().await?;
    let split = |parts: &[f64]| parts.iter().map(|mb| format!("{mb:.1}")).collect::<Vec<_>>().join(" + ");
    Ok(vec![
        Row::at_most("3. idle memory (PSS), bot and sales server", idle.iter().sum(), 40.0, "MB"),
        Row::info("   of which bot + sales server", format!("{} MB", split(&idle))),
        Row::info(
            format!("   idle after {turns} turns"),
            format!("{:.2} MB ({})", after.iter().sum::<f64>(), split(&after)),
        ),
    ])
}
