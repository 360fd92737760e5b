//! Counts what a turn has used, for the limits on repetition.

use std::collections::HashMap;

use crate::domain::ToolCall;

use super::Item;

/// How often each tool and each call was used in this turn.
#[derive(Debug, Default)]
pub(super) struct Uses {
    round: u32,
    /// Per tool: the last round that used it, and how many in a row up to there.
    streaks: HashMap<String, (u32, u32)>,
    /// Per tool and arguments.
    same: HashMap<String, u32>,
}

impl Uses {
    pub(super) fn next_round(&mut self) {
        self.round += 1;
    }

    /// Counts a call; returns the rounds in a row of its tool and the number of calls equal to it, this one included.
    pub(super) fn count(&mut self, call: &ToolCall) -> (u32, u32) {
        let streak = self.streaks.entry(call.name.clone()).or_insert((0, 0));
        if streak.1 == 0 || streak.0 + 1 < self.round {
            *streak = (self.round, 1);
        } else if streak.0 + 1 == self.round {
            *streak = (self.round, streak.1 + 1);
        }
        let in_a_row = streak.1;
        let arguments = serde_json_canonicalizer::to_string(&call.arguments).unwrap_or_default();
        let same = self.same.entry(format!("{}\n{arguments}", call.name)).or_insert(0);
        *same += 1;
        (in_a_row, *same)
    }

    /// Counts the rounds of a turn that was begun before a restart: a call after a result begins a round.
    /// Returns the number of calls.
    pub(super) fn recount(&mut self, message: &[Item]) -> u32 {
        let mut calls = 0;
        let mut in_calls = false;
        for item in message {
            if let Item::Call { call } = item {
                if !in_calls {
                    self.next_round();
                }
                self.count(call);
                calls += 1;
            }
            in_calls = matches!(item, Item::Call { .. });
        }
        calls
    }
}
