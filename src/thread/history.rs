//! What was said in a thread, for the model's next turn.
//!
//! Rows are rounds: the message (round 0), each model round with all its results, the answer. Appending is fenced by the
//! lease's epoch, so a worker that lost its thread writes nothing. What settled proposals add is written in the store
//! of record by the transaction that settles them and copied here, once and in order, before the next turn.

use futures::TryStreamExt;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::agent::Item;
use crate::domain::{ThreadKey, TurnId};
use crate::records::{self, Records, Tx};
use crate::thread::queue::Lease;
use crate::work::Work;

/// The round number of a turn's answer: after all others.
const ANSWER: i64 = 1_000;

/// Stands before the number of a fact that a settled proposal left, in place of a turn's id.
const EVENT: &str = "event:";

/// Bytes that remain of a tool result in a turn that is kept although it is too large.
const SHORT: usize = 1_500;

/// What is known of a thread when a turn begins or begins again.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Earlier turns, oldest first, as many whole ones as the token budget holds.
    pub before: Vec<Item>,
    /// What people wrote in those turns, the newest first.
    pub said: Vec<Said>,
    /// Earlier turns exist that were left out.
    pub shortened: bool,
    /// The rounds of this very turn that were stored before a crash; the first begins with the message.
    pub rounds: Vec<Vec<Item>>,
    /// The number of the turn's next round, the first being 1.
    pub next_round: u32,
    /// The answer of this very turn, if it was stored before a crash.
    pub answer: Option<Vec<Item>>,
}

/// What a person wrote.
#[derive(Clone, Debug)]
pub struct Said {
    /// The turn that it began.
    pub turn: String,
    /// When it was stored, in milliseconds since the epoch.
    pub at: i64,
    /// The words, an [`Item::User`].
    pub item: Item,
}

/// The lease is another's now.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Another worker has the thread; this one must stop.
    #[error("the lease on the thread was lost")]
    Fenced,
    /// The store did not answer.
    #[error("the store of work failed")]
    Store(#[from] sqlx::Error),
}

/// Reads a thread for a turn. `budget` is in tokens, counted as one for three bytes of JSON.
///
/// Whole turns only: half a turn would show calls without their results. The newest earlier turn is kept whatever it
/// cost, with its tool results cut short where it is too large: a follow-up or a continuation that could not see what
/// was asked would be worse than one that has to look something up again.
///
/// # Errors
/// When the store does not answer or holds what this program did not write.
pub async fn load(work: &Work, thread: &ThreadKey, turn: &TurnId, budget: i64) -> Result<Loaded, HistoryError> {
    let Work::Sqlite { read, .. } = work;
    let mut loaded = Loaded { next_round: 1, ..Loaded::default() };
    let mut earlier = Earlier { left: budget, turns: Vec::new() };
    // Newest first and only as far as needed: a thread of a thousand turns costs what one of fifty does.
    let mut rows =
        sqlx::query("SELECT turn, round, items, tokens, at FROM history WHERE thread = $1 ORDER BY seq DESC")
            .bind(thread.to_string())
            .fetch(read);
    while let Some(row) = rows.try_next().await? {
        let of: String = row.try_get("turn")?;
        let items: Vec<Item> =
            serde_json::from_str(&row.try_get::<String, _>("items")?).map_err(|e| sqlx::Error::Decode(Box::new(e)))?;
        if of == turn.as_str() {
            let round: i64 = row.try_get("round")?;
            if round == ANSWER {
                loaded.answer = Some(items);
            } else {
                loaded.next_round = loaded.next_round.max(u32::try_from(round).unwrap_or(u32::MAX - 1) + 1);
                loaded.rounds.push(items);
            }
        } else {
            let at: i64 = row.try_get("at")?;
            let said: Vec<Said> = items
                .iter()
                .filter(|item| matches!(item, Item::User { .. }))
                .map(|item| Said { turn: of.clone(), at, item: item.clone() })
                .collect();
            if !earlier.take(of, items, row.try_get("tokens")?) {
                loaded.shortened = true;
                break;
            }
            loaded.said.extend(said);
        }
    }
    loaded.rounds.reverse();
    loaded.shortened |= earlier.shorten();
    loaded.before = earlier.turns.into_iter().rev().flat_map(|t| t.rounds.into_iter().rev().flatten()).collect();
    Ok(loaded)
}

/// Earlier turns, newest first, while they are being gathered.
struct Earlier {
    /// Tokens that may still be used.
    left: i64,
    turns: Vec<EarlierTurn>,
}

struct EarlierTurn {
    turn: String,
    /// Newest first.
    rounds: Vec<Vec<Item>>,
    /// Began within the budget and outgrew it.
    too_large: bool,
}

impl EarlierTurn {
    /// Not a turn but a fact that a settled proposal left.
    fn is_event(&self) -> bool {
        self.turn.starts_with(EVENT)
    }
}

impl Earlier {
    /// Takes one more round; `false` when it does not fit and nothing older is wanted.
    fn take(&mut self, turn: String, round: Vec<Item>, tokens: i64) -> bool {
        let newest = self.turns.iter().all(EarlierTurn::is_event);
        let begins = self.turns.last().is_none_or(|last| last.turn != turn);
        let only = newest || (self.turns.iter().filter(|t| !t.is_event()).count() == 1 && !begins);
        self.left -= tokens;
        if self.left < 0 && !only {
            if !begins {
                self.turns.pop();
            }
            return false;
        }
        if begins {
            self.turns.push(EarlierTurn { turn, rounds: Vec::new(), too_large: false });
        }
        if let Some(last) = self.turns.last_mut() {
            last.rounds.push(round);
            last.too_large |= self.left < 0;
        }
        true
    }

    /// Cuts the results of a turn that is kept although it is too large; `true` when there was one.
    fn shorten(&mut self) -> bool {
        let mut cut = false;
        for turn in self.turns.iter_mut().filter(|t| t.too_large) {
            cut = true;
            for item in turn.rounds.iter_mut().flatten() {
                if let Item::Result { content, .. } = item
                    && content.len() > SHORT
                {
                    content.truncate(content.floor_char_boundary(SHORT));
                    content.push_str("… [cut short by the host: call the tool again for the rest]");
                }
            }
        }
        cut
    }
}

/// Stores one round of a turn. Storing it again changes nothing.
///
/// # Errors
/// [`HistoryError::Fenced`] when the thread is another worker's.
pub async fn append(work: &Work, lease: &Lease, turn: &TurnId, round: u32, items: &[Item]) -> Result<(), HistoryError> {
    let Work::Sqlite { write, .. } = work;
    insert(&mut *write.acquire().await?, lease, turn.as_str(), i64::from(round), items, 0).await
}

/// Stores a turn's answer, after all its rounds, and adds the tokens it used to the thread's count.
///
/// # Errors
/// [`HistoryError::Fenced`] when the thread is another worker's.
pub async fn append_answer(
    work: &Work,
    lease: &Lease,
    turn: &TurnId,
    items: &[Item],
    tokens: u64,
) -> Result<(), HistoryError> {
    let Work::Sqlite { write, .. } = work;
    insert(&mut *write.acquire().await?, lease, turn.as_str(), ANSWER, items, tokens).await
}

/// Copies what settled proposals left for this thread.
///
/// # Errors
/// [`HistoryError::Fenced`] when the thread is another worker's.
pub async fn absorb(work: &Work, records: &Records, lease: &Lease) -> Result<(), HistoryError> {
    let Work::Sqlite { read, write } = work;
    let applied: i64 = sqlx::query_scalar("SELECT applied_event FROM threads WHERE thread = $1")
        .bind(&lease.thread)
        .fetch_optional(read)
        .await?
        .unwrap_or(0);
    let events =
        records::query("SELECT id, event FROM history_events WHERE thread = $1 AND id > $2 ORDER BY id LIMIT 200")
            .bind(&lease.thread)
            .bind(applied)
            .fetch_all(records.read())
            .await?;
    if events.is_empty() {
        return Ok(());
    }
    let mut tx = write.begin_with("BEGIN IMMEDIATE").await?;
    for row in events {
        let id: i64 = row.try_get("id")?;
        let item: Item =
            serde_json::from_str(&row.try_get::<String, _>("event")?).map_err(|e| sqlx::Error::Decode(Box::new(e)))?;
        insert(&mut tx, lease, &format!("{EVENT}{id}"), 0, &[item], 0).await?;
        sqlx::query(
            "INSERT INTO threads (thread, applied_event, at) VALUES ($1, $2, 0)
             ON CONFLICT (thread) DO UPDATE SET applied_event = max(applied_event, $2)",
        )
        .bind(&lease.thread)
        .bind(id)
        .execute(&mut *tx)
        .await?;
    }
    Ok(tx.commit().await?)
}

/// Leaves something for the thread's history, in the transaction that makes it true.
///
/// # Errors
/// When the store does not answer.
pub async fn leave(tx: &mut Tx, thread: &ThreadKey, item: &Item) -> Result<(), sqlx::Error> {
    records::query("INSERT INTO history_events (thread, event, created_at) VALUES ($1, $2, now_ms())")
        .bind(thread.to_string())
        .bind(serde_json::to_string(item).map_err(|e| sqlx::Error::Encode(Box::new(e)))?)
        .execute(tx)
        .await
        .map(drop)
}

/// Whether a turn of a thread was run on this store.
///
/// # Errors
/// When the store does not answer.
pub async fn has(work: &Work, thread: &ThreadKey, turn: &TurnId) -> Result<bool, sqlx::Error> {
    let Work::Sqlite { read, .. } = work;
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM history WHERE thread = $1 AND turn = $2)")
        .bind(thread.to_string())
        .bind(turn.as_str())
        .fetch_one(read)
        .await
}

/// What a request has used so far: model rounds and tool calls of its turn and of its continuations.
///
/// # Errors
/// When the store does not answer or holds what this program did not write.
pub async fn used(work: &Work, thread: &ThreadKey, origin: &TurnId) -> Result<(u32, u32), sqlx::Error> {
    let Work::Sqlite { read, .. } = work;
    let rows: Vec<String> = sqlx::query_scalar(
        "SELECT items FROM history WHERE thread = $1 AND (turn = $2 OR substr(turn, 1, length($2) + 1) = $2 || '.')
           AND round BETWEEN 1 AND 999",
    )
    .bind(thread.to_string())
    .bind(origin.as_str())
    .fetch_all(read)
    .await?;
    let mut calls = 0;
    for row in &rows {
        let items: Vec<Item> = serde_json::from_str(row).map_err(|e| sqlx::Error::Decode(Box::new(e)))?;
        calls += items.iter().filter(|item| matches!(item, Item::Call { .. })).count();
    }
    Ok((u32::try_from(rows.len()).unwrap_or(u32::MAX), u32::try_from(calls).unwrap_or(u32::MAX)))
}

/// The tokens a thread has used so far.
///
/// # Errors
/// When the store does not answer.
pub async fn session_tokens(work: &Work, thread: &ThreadKey) -> Result<i64, sqlx::Error> {
    let Work::Sqlite { read, .. } = work;
    sqlx::query_scalar("SELECT tokens FROM threads WHERE thread = $1")
        .bind(thread.to_string())
        .fetch_optional(read)
        .await
        .map(|sum| sum.unwrap_or(0))
}

/// One statement, so that a round costs one step to the store: the lease is looked at by the insert itself.
async fn insert(
    db: &mut SqliteConnection,
    lease: &Lease,
    turn: &str,
    round: i64,
    items: &[Item],
    spent: u64,
) -> Result<(), HistoryError> {
    let json = serde_json::to_string(items).map_err(|e| sqlx::Error::Encode(Box::new(e)))?;
    let inserted = sqlx::query(
        "INSERT INTO history (thread, seq, turn, round, items, tokens, spent, at)
         SELECT $1, (SELECT coalesce(max(seq), 0) + 1 FROM history WHERE thread = $1), $2, $3, $4, $5, $7,
                CAST(unixepoch('subsec') * 1000 AS INTEGER)
         WHERE EXISTS (SELECT 1 FROM leases WHERE thread = $1 AND epoch = $6)
         ON CONFLICT (thread, turn, round) DO NOTHING",
    )
    .bind(&lease.thread)
    .bind(turn)
    .bind(round)
    .bind(&json)
    .bind(i64::try_from(json.len() / 3).unwrap_or(i64::MAX))
    .bind(lease.epoch)
    .bind(i64::try_from(spent).unwrap_or(i64::MAX))
    .execute(&mut *db)
    .await?
    .rows_affected();
    if inserted == 1 {
        return Ok(());
    }
    // Stored before, or not ours to store.
    let held: bool = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM leases WHERE thread = $1 AND epoch = $2)")
        .bind(&lease.thread)
        .bind(lease.epoch)
        .fetch_one(db)
        .await?;
    if held { Ok(()) } else { Err(HistoryError::Fenced) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Person, ToolCall};

    fn words(text: &str) -> Item {
        Item::User { person: Person::new("T1", "U1"), name: "A".into(), text: text.into() }
    }

    fn result(content: &str) -> Vec<Item> {
        let call = ToolCall { id: "1".into(), name: "get_sales".into(), arguments: serde_json::Map::new() };
        let person = Person::new("T1", "U1");
        let content = content.to_owned();
        vec![
            Item::Call { call },
            Item::Result { call_id: "1".into(), content, departments: vec![], fetched_for: person },
        ]
    }

    /// Turns as (id, rounds, tokens of each round), newest first, as the store gives them.
    fn gather(budget: i64, turns: &[(&str, Vec<Vec<Item>>, i64)]) -> (Vec<String>, bool, Earlier) {
        let mut earlier = Earlier { left: budget, turns: Vec::new() };
        let mut stopped = false;
        'all: for (turn, rounds, tokens) in turns {
            for round in rounds {
                if !earlier.take((*turn).to_owned(), round.clone(), *tokens) {
                    stopped = true;
                    break 'all;
                }
            }
        }
        (earlier.turns.iter().map(|t| t.turn.clone()).collect(), stopped, earlier)
    }

    #[test]
    fn as_many_whole_turns_are_kept_as_the_budget_holds() {
        let turn = |id| (id, vec![vec![words("b")], vec![words("a")]], 10);
        assert_eq!(gather(45, &[turn("c"), turn("b"), turn("a")]).0, ["c", "b"]);
        assert_eq!(gather(40, &[turn("c"), turn("b"), turn("a")]).0, ["c", "b"]);
        assert_eq!(gather(39, &[turn("c"), turn("b"), turn("a")]).0, ["c"], "half a turn is none");
        assert!(!gather(60, &[turn("c"), turn("b"), turn("a")]).1);
    }

    #[test]
    fn the_newest_turn_is_kept_whatever_it_cost_with_its_results_cut_short() {
        let large = "表".repeat(5_000);
        let turns = [
            ("event:7", vec![vec![words("fact")]], 10),
            ("b", vec![result(&large), vec![words("asked")]], 5_000),
            ("a", vec![vec![words("older")]], 10),
        ];
        let (kept, stopped, mut earlier) = gather(100, &turns);
        assert_eq!((kept, stopped), (vec!["event:7".to_owned(), "b".to_owned()], true));
        assert!(earlier.shorten());
        let items: Vec<&Item> = earlier.turns[1].rounds.iter().flatten().collect();
        assert!(items.contains(&&words("asked")), "what was asked is still there");
        let Item::Result { content, .. } = items[1] else { unreachable!("{items:?}") };
        assert!(content.len() < 2_000 && content.contains("call the tool again"), "{}", content.len());
    }
}
