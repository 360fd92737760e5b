//! "May" the verb, which is no month.

use crate::reading::fold::Folded;

/// "This may be wrong": not the month.
pub(super) fn is_verb_may(text: &Folded, i: usize) -> bool {
    const VERBS: [&str; 45] = [
        "be", "not", "have", "has", "take", "takes", "want", "need", "order", "or may", "or not", "and may", "also",
        "well", "come", "go", "get", "give", "make", "help", "cause", "change", "require", "contain", "include",
        "happen", "mean", "differ", "look", "seem", "become", "still", "only", "never", "even", "just", "i", "we",
        "you", "he", "she", "they", "rain", "work", "fail",
    ];
    text.word_at(i, "may").is_some_and(|end| text.any_at(text.skip_spaces(end), &VERBS).is_some())
}
