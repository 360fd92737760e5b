//! Two dates that "to" joins and that are no period: an old one and a new one.

use crate::reading::fold::Folded;

/// "Move it from Nov 24 to Nov 23", "compare June to April": an old date and a new one, or two to compare.
pub(in crate::reading::dates) fn corrects(text: &Folded, from: usize, to: usize) -> bool {
    const VERBS: [&str; 26] = [
        "move",
        "moved",
        "moving",
        "change",
        "changed",
        "changing",
        "correct",
        "corrected",
        "fix",
        "fixed",
        "update",
        "updated",
        "shift",
        "shifted",
        "reschedule",
        "rescheduled",
        "postpone",
        "postponed",
        "amend",
        "amended",
        "switch",
        "switched",
        "rename",
        "delayed",
        "compare",
        "compared",
    ];
    if text.word_at(text.skip_spaces(to), "to").is_none() {
        return false;
    }
    // In the same sentence, not far before it.
    let clause = (from.saturating_sub(60)..from).rev().take_while(|i| text.at(*i).is_some_and(|c| !".;\n".contains(c)));
    clause.into_iter().any(|i| text.any_at(i, &VERBS).is_some())
}
