//! English nouns that things are counted in: 4 pumpkins, 2 big red pumpkins, and the words that make a number something
//! else: size 42 shoes, top 5 products.

use super::fold::Folded;

const NO_THINGS: [&str; 73] = [
    "is",
    "was",
    "this",
    "has",
    "his",
    "hers",
    "ours",
    "yours",
    "its",
    "as",
    "us",
    "yes",
    "plus",
    "minus",
    "vs",
    "pls",
    "thanks",
    "thus",
    "less",
    "across",
    "days",
    "weeks",
    "months",
    "years",
    "hours",
    "minutes",
    "mins",
    "hrs",
    "secs",
    "seconds",
    "quarters",
    "fortnights",
    "nights",
    "times",
    "percents",
    "thousands",
    "millions",
    "hundreds",
    "dollars",
    "euros",
    "pounds",
    "cents",
    "bucks",
    "yens",
    "works",
    "does",
    "goes",
    "says",
    "needs",
    "wants",
    "buys",
    "takes",
    "pays",
    "looks",
    "seems",
    "always",
    "others",
    "towards",
    "rows",
    "results",
    "questions",
    "things",
    "reasons",
    "ways",
    "numbers",
    "mondays",
    "tuesdays",
    "wednesdays",
    "thursdays",
    "fridays",
    "saturdays",
    "sundays",
    "weekends",
];
const IRREGULAR: [&str; 8] = ["people", "children", "men", "women", "mice", "geese", "feet", "sheep"];
/// Between a number and its noun.
const ADJECTIVES: [&str; 24] = [
    "more", "big", "small", "large", "medium", "extra", "fresh", "new", "old", "whole", "ripe", "red", "green",
    "white", "black", "blue", "yellow", "orange", "hot", "iced", "cold", "long", "short", "other",
];
/// Before a number they say which, not how many.
const WHICH: [&str; 35] = [
    "size", "route", "studio", "no.", "model", "type", "item", "line", "page", "floor", "table", "room", "gate",
    "level", "version", "chapter", "class", "expo", "euro", "week", "wk", "top", "best", "first", "last", "next",
    "previous", "past", "show", "latest", "customer", "store", "branch", "shop", "team",
];

/// An English plural that things are counted in: 4 pumpkins. Gives the word and the end.
pub(super) fn plural_at(text: &Folded, i: usize) -> Option<(String, usize)> {
    let word = plain_word(text, i)?;
    let end = i + word.len();
    let plural = IRREGULAR.contains(&word.as_str()) || (word.len() > 2 && word.ends_with('s') && !word.ends_with("ss"));
    let part = text.at(end).is_some_and(|c| c.is_ascii_alphanumeric());
    // 6 bus seats: only the last word says what is counted.
    let joined = text.at(end) == Some(' ')
        && plain_word(text, text.skip_spaces(end))
            .is_some_and(|next| next.len() > 3 && next.ends_with('s') && !next.ends_with("ss") && !is_no_thing(&next));
    (plural && !part && !joined && !is_no_thing(&word)).then_some((word, end))
}

/// The Latin word at `i`.
pub(super) fn plain_word(text: &Folded, i: usize) -> Option<String> {
    let letters = text.chars().iter().skip(i).take_while(|c| c.is_ascii_alphabetic());
    Some(letters.collect::<String>()).filter(|word| !word.is_empty())
}

/// A word in -s that nothing is counted in.
pub(super) fn is_no_thing(word: &str) -> bool {
    NO_THINGS.contains(&word)
}

/// The position after up to three adjectives at `i`.
pub(super) fn skip_adjectives(text: &Folded, i: usize) -> usize {
    let mut at = i;
    for _ in 0..3 {
        match text.any_at(at, &ADJECTIVES) {
            Some((_, end)) if text.at(end) == Some(' ') => at = text.skip_spaces(end),
            _ => break,
        }
    }
    at
}

/// The number at `i` says which one: size 42, top 5, Expo 2025.
pub(super) fn says_which(text: &Folded, i: usize) -> bool {
    text.before(i) == Some(' ') && WHICH.iter().any(|word| text.word_before(i, word).is_some())
}
