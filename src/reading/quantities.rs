//! Numbers of things: 15本, 8個, 3 boxes, a dozen, 4 pumpkins, ten.

use std::ops::Range;

use super::fold::Folded;
use super::numbers::{self, Number};
use super::{Quantity, Taken, units};

/// The quantities of a text, given the places of its dates and amounts.
pub(super) fn quantities(text: &Folded, taken: &[Range<usize>]) -> Vec<Quantity> {
    let mut found = Vec::new();
    let mut taken = Taken::new(taken);
    let mut i = 0;
    while let Some(c) = text.at(i) {
        let other = taken.after(i);
        if let Some(other) = other.filter(|t| t.contains(&i)) {
            i = other.end;
            continue;
        }
        let begins = c.is_ascii_alphanumeric() || numbers::is_kanji_numeral(c);
        let counted = if begins { quantity_at(text, i) } else { None };
        match counted.filter(|(_, _, end)| other.is_none_or(|t| *end <= t.start)) {
            Some((number, unit, end)) => {
                let (start_char, end_char) = text.span(i, end);
                found.push(Quantity { words: text.words(i, end), start_char, end_char, number, unit });
                i = end;
            }
            None => i += 1,
        }
    }
    found
}

fn quantity_at(text: &Folded, i: usize) -> Option<(f64, String, usize)> {
    if text.at(i) == Some('x') && text.at(i + 1).is_some_and(|c| c.is_ascii_digit()) {
        let (n, end) = numbers::small_at(text, i + 1).filter(|_| !numbers::joins_left(text, i))?;
        let ends = text.at(end).is_none_or(|c| !c.is_ascii_alphanumeric()) && !units::currency_at(text, end);
        return ends.then(|| (f64::from(n), "x".to_owned(), end));
    }
    if let Some((number, end)) = text.lookup(i, &[("half a dozen", 0.5), ("a dozen", 1.0)]) {
        return Some((number, "dozen".to_owned(), end));
    }
    // 2、3個 and 2〜3個 say "about".
    if numbers::joins_left(text, i) || follows_code(text, i) || numbers::vague_pair(text, i, "~-") {
        return None;
    }
    let number = match numbers::at(text, i) {
        Some(number) => numbers::with_scale(text, number),
        None => numbers::words_at(text, i)?,
    };
    let latin = text.at(i).is_some_and(|c| c.is_ascii_alphabetic());
    // 0002 is a code.
    let code = text.at(i) == Some('0') && text.at(i + 1).is_some_and(|c| c.is_ascii_digit());
    if code || number.misgrouped {
        return None;
    }
    let value = value(number)?;
    let next = text.skip_spaces(number.end);
    if text.word_at(next, "and a half").is_some() {
        return None;
    }
    if let Some((unit, end)) = units::unit_at(text, next) {
        return Some((value, unit.to_owned(), end));
    }
    if next > number.end
        && let Some((noun, end)) = units::plural_at(text, next)
    {
        let report = ["sales", "orders", "figures", "results", "totals"].contains(&noun.as_str());
        let year = (1900.0..2200.0).contains(&value) && report;
        return (!year).then_some((value, noun, end));
    }
    // A number word alone; "one" and "a hundred" say too little.
    let alone = latin
        && value > 1.0
        && !number.scaled
        && text.any_at(i, &["a ", "an "]).is_none()
        && stands_alone(text, i, number.end);
    alone.then(|| (value, String::new(), number.end))
}

/// The number is the rest of a code, a room, a telephone number, a fraction.
fn follows_code(text: &Folded, i: usize) -> bool {
    let digit_before = |at: usize| text.before(at).is_some_and(|c| c.is_ascii_alphanumeric());
    match text.before(i) {
        Some('-' | '/') => {
            text.at(i).is_some_and(|c| c.is_ascii_digit()) && i > 0 && digit_before(i - 1) && !after_unit(text, i - 1)
        }
        Some(c) => "第#".contains(c) || text.word_before(i, "no.").is_some(),
        None => false,
    }
}

/// A counter or word, not a figure, ends at `i`: "shelf/2 pcs".
fn after_unit(text: &Folded, i: usize) -> bool {
    text.before(i).is_some_and(|c| c.is_ascii_alphabetic())
}

fn stands_alone(text: &Folded, from: usize, end: usize) -> bool {
    const COUNTS_OTHERS: [&str; 19] = [
        "quarters", "quarter", "nights", "days", "day", "weeks", "week", "months", "month", "years", "year", "hours",
        "hour", "minutes", "times", "of ", "dollars", "euros", "percent",
    ];
    let next = text.skip_spaces(end);
    let joined = text.at(end).is_some_and(|c| c == '-' || c.is_ascii_alphanumeric()) || text.before(from) == Some('-');
    !joined && text.any_at(next, &COUNTS_OTHERS).is_none() && !units::is_other(text, end)
}

/// The value as a double, which holds millionths exactly far beyond any harvest.
fn value(number: Number) -> Option<f64> {
    let whole = u32::try_from(number.micro / 1_000_000).ok()?;
    let rest = u32::try_from(number.micro % 1_000_000).ok()?;
    Some(f64::from(whole) + f64::from(rest) / 1_000_000.0)
}
