//! Histories in Redis: a list of rounds for each thread, and a set of their names so that each is stored once.
//!
//! A thread's memory is bounded: beside the request in progress at most [`Redis::history_bytes`] are kept, and what goes
//! goes by whole turns.

use super::{ANSWER, EVENT, HistoryError, Row};
use crate::domain::{ThreadKey, TurnId};
use crate::thread::queue::redis::Keys;
use crate::thread::queue::{KEPT_FOR, Lease};
use crate::work;
use crate::work::redis::{Lua, Redis, lua};

static APPEND: Lua = lua!("lua/append.lua");
static LOAD: Lua = lua!("lua/load.lua");

fn keys(redis: &Redis, thread: &ThreadKey) -> Keys {
    Keys::of(redis, &thread.to_string())
}

/// Turn and number, as they stand in a row and in the set of names.
fn name(turn: &str, round: i64) -> String {
    format!("{turn}\n{round}")
}

/// Of the form that `append.lua` writes: turn, round, tokens, time, tokens used, items.
fn parse(row: &str) -> Result<Row, work::Error> {
    let mut parts = row.splitn(6, '\n');
    let turn = parts.next().unwrap_or_default().to_owned();
    let mut number = || parts.next().and_then(|part| part.parse().ok()).ok_or(work::Error::Unreadable);
    let (round, tokens, at, spent) = (number()?, number()?, number()?, number()?);
    let items = parts.next().ok_or(work::Error::Unreadable)?.to_owned();
    Ok(Row { turn, round, tokens, at, spent, items })
}

fn parse_all(rows: &[String]) -> Result<Vec<Row>, work::Error> {
    rows.iter().map(|row| parse(row)).collect()
}

/// The newest rounds, the newest first, and not many more than the budget holds.
pub(super) async fn newest(
    redis: &Redis,
    thread: &ThreadKey,
    turn: &TurnId,
    budget: i64,
) -> Result<Vec<Row>, work::Error> {
    let mut load = LOAD.key(keys(redis, thread).history());
    load.arg(turn.as_str()).arg(budget).arg(EVENT);
    parse_all(&redis.run::<Vec<String>>(&load).await?)
}

pub(super) async fn last(redis: &Redis, thread: &ThreadKey, count: i64) -> Result<Vec<Row>, work::Error> {
    let mut range = ::redis::cmd("LRANGE");
    range.arg(keys(redis, thread).history()).arg(-count).arg(-1);
    parse_all(&redis.command::<Vec<String>>(&range).await?)
}

/// The rounds, without answers, of a request's turn and of its continuations.
pub(super) async fn of_request(redis: &Redis, thread: &ThreadKey, origin: &TurnId) -> Result<Vec<Row>, work::Error> {
    let mut rows = last(redis, thread, i64::from(u32::MAX)).await?;
    rows.retain(|row| (1..ANSWER).contains(&row.round) && request(&row.turn) == request(origin.as_str()));
    Ok(rows)
}

/// The turn that began the request which a turn belongs to: a continuation is named after it.
fn request(turn: &str) -> &str {
    turn.split_once('.').map_or(turn, |(origin, _)| origin)
}

pub(super) async fn session_tokens(redis: &Redis, thread: &ThreadKey) -> Result<i64, work::Error> {
    let tokens = ::redis::cmd("HGET").arg(keys(redis, thread).state()).arg("tokens").clone();
    Ok(redis.command::<Option<i64>>(&tokens).await?.unwrap_or(0))
}

/// A turn that was run has a first round or an answer.
pub(super) async fn has(redis: &Redis, thread: &ThreadKey, turn: &TurnId) -> Result<bool, work::Error> {
    let mut any = ::redis::cmd("SMISMEMBER");
    any.arg(keys(redis, thread).rounds()).arg(name(turn.as_str(), 1)).arg(name(turn.as_str(), ANSWER));
    Ok(redis.command::<Vec<bool>>(&any).await?.contains(&true))
}

pub(super) async fn store(
    redis: &Redis,
    lease: &Lease,
    rows: &[Row],
    applied: Option<i64>,
) -> Result<(), HistoryError> {
    let keys = Keys::of(redis, &lease.thread);
    // Facts are copied, and lost texts restored, before a turn begins: only with an answer anything goes, and that is one
    // row.
    let request = rows.first().map_or("", |row| request(&row.turn));
    let mut append = APPEND.key(keys.state());
    append.key(keys.history()).key(keys.rounds());
    append.arg(lease.epoch).arg(i64::try_from(KEPT_FOR.as_millis()).unwrap_or(i64::MAX));
    let is_answer = matches!(rows, [row] if row.round == ANSWER);
    append.arg(if is_answer { redis.history_bytes().to_string() } else { String::new() });
    append.arg(request).arg(applied.map_or_else(String::new, |id| id.to_string()));
    for row in rows {
        append.arg(name(&row.turn, row.round)).arg(row.tokens).arg(row.at).arg(row.spent).arg(&row.items);
    }
    let held: bool = redis.run(&append).await.map_err(work::Error::from)?;
    if held { Ok(()) } else { Err(HistoryError::Fenced) }
}
