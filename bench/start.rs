//! Figure 4: from the start of the process to `ready`, with files that are there already.

use crate::Options;
use crate::bot::{Bot, folder};
use crate::numbers::{Row, Sample, ms};
use crate::wire::Wire;

pub async fn measure(options: &Options) -> anyhow::Result<Vec<Row>> {
    let starts = options.pick(10, 5);
    let dir = folder().await?;
    let wire = Wire::start().await?;
    // The first start makes keys and the file of work.
    Bot::serve(dir.path(), &wire).await?.stop().await?;
    let mut serve = Sample::default();
    for _ in 0..starts {
        let bot = Bot::serve(dir.path(), &wire).await?;
        serve.push(bot.ready_after);
        bot.stop().await?;
    }
    let dir = tempfile::tempdir()?;
    let first = Bot::playground(dir.path()).await?;
    let fresh = first.ready_after;
    first.stop().await?;
    let mut playground = Sample::default();
    for _ in 0..starts {
        let bot = Bot::playground(dir.path()).await?;
        playground.push(bot.ready_after);
        bot.stop().await?;
    }
    Ok(vec![
        Row::at_most(format!("4. start of `serve` to ready, median of {starts}"), serve.p50(), 150.0, "ms"),
        Row::info("   slowest", ms(serve.percentile(100))),
        Row::at_most(format!("   start of `playground` to ready, median of {starts}"), playground.p50(), 150.0, "ms"),
        Row::info("   `playground` in an empty folder, once", ms(fresh.as_secs_f64() * 1_000.0)),
    ])
}
