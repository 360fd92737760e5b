//! As much of a thread as a turn is shown, out of stored rounds that come in the newest first.
//!
//! Whole turns only: half a turn would show calls without their results. The newest earlier turn is kept whatever it
//! cost, with its tool results cut short where it is too large: a follow-up or a continuation that could not see what
//! was asked would be worse than one that has to look something up again.

use super::{ANSWER, EVENT, Row};
use crate::agent::Item;
use crate::domain::TurnId;
use crate::work;

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

/// A thread while it is being read.
pub(super) struct Gathered<'a> {
    turn: &'a TurnId,
    loaded: Loaded,
    earlier: Earlier,
}

impl<'a> Gathered<'a> {
    pub(super) fn new(turn: &'a TurnId, budget: i64) -> Self {
        let loaded = Loaded { next_round: 1, ..Loaded::default() };
        Self { turn, loaded, earlier: Earlier { left: budget, turns: Vec::new() } }
    }

    /// Takes one more row; `false` when nothing older is wanted.
    pub(super) fn take(&mut self, row: Row) -> Result<bool, work::Error> {
        let items = row.items()?;
        if row.turn == self.turn.as_str() {
            if row.round == ANSWER {
                self.loaded.answer = Some(items);
            } else {
                let next = u32::try_from(row.round).unwrap_or(u32::MAX - 1) + 1;
                self.loaded.next_round = self.loaded.next_round.max(next);
                self.loaded.rounds.push(items);
            }
            return Ok(true);
        }
        let said: Vec<Said> = items
            .iter()
            .filter(|item| matches!(item, Item::User { .. }))
            .map(|item| Said { turn: row.turn.clone(), at: row.at, item: item.clone() })
            .collect();
        if !self.earlier.take(row.turn, items, row.tokens) {
            self.loaded.shortened = true;
            return Ok(false);
        }
        self.loaded.said.extend(said);
        Ok(true)
    }

    pub(super) fn end(self) -> Loaded {
        let Self { mut loaded, mut earlier, .. } = self;
        loaded.rounds.reverse();
        loaded.shortened |= earlier.shorten();
        loaded.before = earlier.turns.into_iter().rev().flat_map(|t| t.rounds.into_iter().rev().flatten()).collect();
        loaded
    }
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
