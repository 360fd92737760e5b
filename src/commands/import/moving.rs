//! `import --from`: everything from the embedded file into the database.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use serde_json::json;

use super::{Shown, Signals};
use crate::app::{DataDir, free_leases, open_records};
use crate::commands::Failure;
use crate::config::Config;
use crate::import::moving::{Moved, Step, move_all};
use crate::records::postgres::Group;
use crate::records::snapshot::{Snapshot, SnapshotError};
use crate::records::{Records, Source};

/// Moves the records of a data folder into the database that is configured.
///
/// # Errors
/// When there is nothing to move, or nowhere to move it; when one of them cannot be used, or they do not fit.
pub async fn run(config: Config, from: &Path, dry_run: bool, as_json: bool) -> Result<(), Failure> {
    let wrong = |sentence: String| Failure::Usage(anyhow!(sentence));
    if matches!(config.records(from.to_owned(), Group::Owner), Source::File(_)) {
        return Err(wrong(
            "--from moves records into PostgreSQL, and none is configured: set DATABASE_URL (records.url)".to_owned(),
        ));
    }
    let missing =
        || wrong(format!("{} holds no records.sqlite: --from names the data folder of a bot", from.display()));
    // Opening the folder would make it.
    if !from.join("records.sqlite").is_file() {
        return Err(missing());
    }
    let signals = Signals::watch().map_err(|error| Failure::Running(error.into()))?;
    let dir = DataDir::open_alone(from)
        .context("the records can only be moved while no bot uses them")
        .map_err(Failure::Usage)?;
    let path = dir.records();
    let file = Snapshot::open(&path).await.map_err(|error| match error {
        SnapshotError::Missing => missing(),
        SnapshotError::Older => wrong(format!(
            "{}: {error}; run `sales-concierge migrate --data-dir {}` first, with DATABASE_URL unset",
            path.display(),
            from.display()
        )),
        SnapshotError::Newer => {
            wrong(format!("{}: {error}; move it with the program that wrote it last", path.display()))
        }
        SnapshotError::Store(error) => {
            Failure::Running(anyhow::Error::new(error).context(format!("{} cannot be read", path.display())))
        }
    })?;
    let records = open_records(&config, &dir, Group::Owner).await.map_err(Failure::Unreachable)?;
    let Records::Postgres(database) = &records else { return Err(wrong("no database is configured".to_owned())) };

    let shown = std::cell::OnceCell::new();
    let progress = |at: Step| {
        // Each row is copied, and later compared.
        let shown = shown.get_or_init(|| Shown::new(at.total * 2, ""));
        let (doing, before) = if at.comparing { ("comparing", at.total) } else { ("copying", 0) };
        let steps = before + at.done;
        shown.set(steps, steps, &format!("{doing} {}, {} of {} rows", at.table, at.done, at.total));
    };
    let done = move_all(file, database, dry_run, progress, signals.came()).await;
    if let Some(shown) = shown.get() {
        shown.clear();
    }
    // They came with the rows, and the bot that held them is gone. If this fails, they run out by themselves.
    if done.is_ok()
        && !dry_run
        && let Err(error) = free_leases(&records).await
    {
        tracing::warn!(error = &error as &dyn std::error::Error, "leases of the moved bot were not ended");
    }
    records.close().await;
    let moved = done.map_err(|failure| Failure::Running(failure.into()))?;
    if as_json {
        say!(
            "{}",
            json!({
                "from": from.display().to_string(), "tables": moved, "rows": rows(&moved), "dry_run": dry_run,
                "written": !dry_run,
            })
        );
    } else {
        as_sentences(from, &moved, dry_run);
    }
    Ok(())
}

fn rows(moved: &[Moved]) -> u64 {
    moved.iter().map(|table| table.content.rows).sum()
}

fn as_sentences(from: &Path, moved: &[Moved], dry_run: bool) {
    for Moved { name, content } in moved {
        let hash: String = content.sha256.chars().take(16).collect();
        say!("  {name:<16}{:>10}  {hash}", content.rows);
    }
    let (rows, tables, from) = (rows(moved), moved.len(), from.display());
    if dry_run {
        say!("dry run: {rows} rows of {tables} tables were moved, compared and taken back; nothing was written");
        return;
    }
    say!("moved {rows} rows of {tables} tables; read again, both sides hold the same");
    say!(
        "Not in the records are the signing keys (keys.json), and the queue and conversations (work.sqlite).\n\
         The bot finds them when it is started on {from} as before, now with DATABASE_URL set. For another data\n\
         folder, copy both files there first. {from}/records.sqlite is as it was, and not used any more."
    );
}
