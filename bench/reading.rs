//! Figure 7: what reading a sentence costs: all sentences of the readers' tables, dates, amounts and quantities at once.

use std::hint::black_box;
use std::time::Instant;

use chrono::NaiveDate;
use sales_concierge::reading::{self, Context};

use crate::Options;
use crate::numbers::Row;

/// The tables that the readers are held to; the first column is a sentence.
const TABLES: [(&str, &str); 4] = [
    ("ja", include_str!("../src/reading/tables/dates.ja.tsv")),
    ("ja", include_str!("../src/reading/tables/money.ja.tsv")),
    ("en", include_str!("../src/reading/tables/dates.en.tsv")),
    ("en", include_str!("../src/reading/tables/money.en.tsv")),
];

pub fn measure(options: &Options) -> anyhow::Result<Vec<Row>> {
    let context = Context::on(NaiveDate::from_ymd_opt(2026, 11, 29).ok_or_else(|| anyhow::anyhow!("a day"))?);
    let mut rows = Vec::new();
    for lang in ["ja", "en"] {
        let sentences: Vec<&str> = TABLES
            .iter()
            .filter(|(of, _)| *of == lang)
            .flat_map(|(_, table)| table.lines())
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split('\t').next())
            .collect();
        let mut fastest = f64::INFINITY;
        for _ in 0..options.pick(50, 5) {
            let begun = Instant::now();
            for sentence in &sentences {
                black_box(reading::read(black_box(sentence), &context));
            }
            // The machine may be busy with something else in any one run.
            fastest = fastest.min(begun.elapsed().as_secs_f64() * 1e6 / sentences.len() as f64);
        }
        let begins = if lang == "ja" { "7." } else { "  " };
        let name = format!("{begins} reading a sentence, mean of {} ({lang})", sentences.len());
        rows.push(Row::at_most(name, fastest, 20.0, "µs"));
    }
    Ok(rows)
}
