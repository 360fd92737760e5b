//! `explain`: one proposal's life, from the records alone.

use std::path::PathBuf;

use anyhow::Context;
use chrono::DateTime;

use crate::app::{DataDir, open_records};
use crate::commands::Failure;
use crate::config::Config;
use crate::domain::ProposalId;
use crate::proposals;
use crate::records::postgres::Group;
use crate::records::{self, Records};

/// Prints what was asked, shown, pressed, written and told, in order of time.
///
/// # Errors
/// When there is no such proposal or the records cannot be used.
pub async fn run(config: Config, data_dir: PathBuf, id: String) -> Result<(), Failure> {
    let dir = DataDir::open(&data_dir).map_err(Failure::Usage)?;
    let records = open_records(&config, &dir, Group::Bot).await.map_err(Failure::Unreachable)?;
    let lines = timeline(&records, &ProposalId::new(id)).await;
    records.close().await;
    let lines = lines
        .context("the records do not answer")
        .map_err(Failure::Running)?
        .ok_or_else(|| Failure::Usage(anyhow::anyhow!("there is no proposal of this id in the records")))?;
    for line in lines {
        say!("{line}");
    }
    Ok(())
}

/// The lines, or `None` when there is no such proposal.
///
/// # Errors
/// When the store does not answer.
pub async fn timeline(records: &Records, id: &ProposalId) -> Result<Option<Vec<String>>, sqlx::Error> {
    let Some(proposal) = proposals::find(records.read(), id).await? else { return Ok(None) };
    let mut events: Vec<(i64, String)> = Vec::new();
    events.push((
        proposal.created_at,
        format!("proposed for {} in {}: {}", proposal.requester.subject(), proposal.thread, proposal.write.tool()),
    ));
    let row =
        records::query("SELECT decided_at, settled_at, epoch, claim_click, superseded_by FROM proposals WHERE id = $1")
            .bind(id.as_str())
            .fetch_one(records.read())
            .await?;
    if let (Some(at), Some(by)) = (row.try_get::<Option<i64>, _>("decided_at")?, &proposal.decided_by) {
        events.push((at, format!("decided by {}", by.subject())));
    }
    if let Some(at) = row.try_get::<Option<i64>, _>("settled_at")? {
        let mut what = format!("settled: {}", proposal.state.code());
        if let Some(number) = proposal.result.as_ref().and_then(|r| r.get("code_sales")).and_then(|n| n.as_str()) {
            what = format!("{what}, {number}");
        }
        if let Some(code) = &proposal.failure {
            what = format!("{what}, {code}");
        }
        events.push((at, what));
    }
    for row in records::query(
        "SELECT id, action, team, \"user\", received_at, handled_at, outcome, body_hash FROM clicks WHERE proposal_id = $1",
    )
    .bind(id.as_str())
    .fetch_all(records.read())
    .await?
    {
        let text = |column: &str| row.try_get::<String, _>(column);
        events.push((
            row.try_get("received_at")?,
            format!(
                "press {} of {} by slack:{}:{}, signed body {}",
                text("id")?,
                text("action")?,
                text("team")?,
                text("user")?,
                text("body_hash")?.chars().take(16).collect::<String>()
            ),
        ));
        if let (Some(at), Some(outcome)) =
            (row.try_get::<Option<i64>, _>("handled_at")?, row.try_get::<Option<String>, _>("outcome")?)
        {
            events.push((at, format!("press {} handled: {outcome}", text("id")?)));
        }
    }
    events.extend(audit_rows(records, id).await?);
    events.sort_by_key(|(at, _)| *at);
    let mut lines = vec![
        format!("proposal {id}"),
        format!("write    {}", serde_json::to_string(&proposal.write).unwrap_or_default()),
        format!("digest   {}", proposal.digest),
        format!("turn     {} (request {}, depth {})", proposal.turn, proposal.origin_turn, proposal.depth),
        format!("claims   {}", row.try_get::<i64, _>("epoch")?),
    ];
    lines.extend(origin(records, id).await?);
    lines.extend(events.into_iter().map(|(at, what)| format!("{}  {what}", time(at))));
    if let Some(row) = records::query("SELECT posted_ts, version, sent_version, given_up FROM outbox WHERE key = $1")
        .bind(format!("card:{id}"))
        .fetch_optional(records.read())
        .await?
    {
        lines.push(format!(
            "card     ts {}, version {} of {} shown{}",
            row.try_get::<Option<String>, _>("posted_ts")?.as_deref().unwrap_or("none yet"),
            row.try_get::<i64, _>("sent_version")?,
            row.try_get::<i64, _>("version")?,
            row.try_get::<Option<String>, _>("given_up")?.map(|e| format!(", given up: {e}")).unwrap_or_default()
        ));
    }
    Ok(Some(lines))
}

/// Each row of the audit about it, and the seal that covers the row.
async fn audit_rows(records: &Records, id: &ProposalId) -> Result<Vec<(i64, String)>, sqlx::Error> {
    let rows = records::query(
        "SELECT id, at, actor, event, risk, result,
                (SELECT CASE WHEN s.first_id <= a.id THEN s.hash END FROM audit_seals s
                 WHERE s.last_id >= a.id ORDER BY s.last_id LIMIT 1) AS seal
         FROM audit a WHERE proposal = $1 ORDER BY id",
    )
    .bind(id.as_str())
    .fetch_all(records.read())
    .await?;
    let line = |row: &records::Row| {
        let text = |column: &str| row.try_get::<Option<String>, _>(column);
        let result = text("result")?.filter(|r| r != "ok").map(|r| format!(", {r}")).unwrap_or_default();
        let seal = text("seal")?.map_or_else(
            || "not sealed yet".to_owned(),
            |hash| format!("seal {}", hash.chars().take(16).collect::<String>()),
        );
        let (event, actor, risk) = (text("event")?, text("actor")?, text("risk")?);
        let [event, actor, risk] = [event, actor, risk].map(Option::unwrap_or_default);
        let number = row.try_get::<i64, _>("id")?;
        Ok((row.try_get("at")?, format!("audit {number}: {event} by {actor} ({risk}{result}), {seal}")))
    };
    rows.iter().map(line).collect()
}

/// What led to it: the message, the model, and what the model had been told and offered.
async fn origin(records: &Records, id: &ProposalId) -> Result<Vec<String>, sqlx::Error> {
    let row = records::query(
        "SELECT message, model, prompt_hash, tools_hash FROM audit WHERE proposal = $1 AND event = 'proposal_created'
         ORDER BY id LIMIT 1",
    )
    .bind(id.as_str())
    .fetch_optional(records.read())
    .await?;
    // Proposals of earlier versions have none.
    let Some(row) = row else { return Ok(Vec::new()) };
    let names =
        [("message ", "message"), ("model   ", "model"), ("prompt  ", "prompt_hash"), ("tools   ", "tools_hash")];
    let lines = names
        .iter()
        .map(|(name, column)| Ok(row.try_get::<Option<String>, _>(*column)?.map(|value| format!("{name} {value}"))));
    lines.filter_map(Result::transpose).collect()
}

fn time(ms: i64) -> String {
    DateTime::from_timestamp_millis(ms)
        .map_or_else(|| ms.to_string(), |t| t.format("%Y-%m-%d %H:%M:%S%.3fZ").to_string())
}
