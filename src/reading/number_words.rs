//! Numbers as English words: "two hundred and ten", "half a million", "one point two million", and the words that scale
//! figures.

use super::fold::Folded;
use super::numbers::{Number, ONE};
use super::units;

/// English numbers below a hundred that are one word.
pub(super) const WORDS: [(&str, u128); 28] = [
    ("seventeen", 17),
    ("thirteen", 13),
    ("fourteen", 14),
    ("eighteen", 18),
    ("nineteen", 19),
    ("fifteen", 15),
    ("sixteen", 16),
    ("seventy", 70),
    ("eleven", 11),
    ("twelve", 12),
    ("twenty", 20),
    ("thirty", 30),
    ("eighty", 80),
    ("ninety", 90),
    ("seven", 7),
    ("three", 3),
    ("eight", 8),
    ("forty", 40),
    ("fifty", 50),
    ("sixty", 60),
    ("four", 4),
    ("five", 5),
    ("nine", 9),
    ("zero", 0),
    ("ten", 10),
    ("one", 1),
    ("two", 2),
    ("six", 6),
];

const SCALES: [(&str, u128); 4] =
    [("hundred", 100), ("thousand", 1000), ("million", 1_000_000), ("billion", 1_000_000_000)];
/// Parts of a scale: "half a million".
const PARTS: [(&str, u128); 5] = [
    ("half a", 500_000),
    ("half", 500_000),
    ("quarter of a", 250_000),
    ("quarter", 250_000),
    ("three quarters of a", 750_000),
];
/// After 4K and 10k: a picture or a way to run.
const NO_MONEY: [&str; 20] = [
    "tvs",
    "tv",
    "monitors",
    "monitor",
    "displays",
    "display",
    "videos",
    "video",
    "cameras",
    "camera",
    "screens",
    "screen",
    "projectors",
    "projector",
    "resolution",
    "runs",
    "run",
    "races",
    "race",
    "テレビ",
];

/// English words for a number below a hundred.
pub(super) fn below_hundred(text: &Folded, i: usize) -> Option<(u128, usize)> {
    let (tens, end) = text.lookup(i, &WORDS)?;
    if tens < 20 {
        return Some((tens, end));
    }
    let joined = if text.at(end) == Some('-') { end + 1 } else { text.skip_spaces(end) };
    match text.lookup(joined, &WORDS) {
        Some((ones, after)) if joined > end && (1..10).contains(&ones) => Some((tens + ones, after)),
        _ => Some((tens, end)),
    }
}

/// An English number that begins with a word: "six hundred", "a thousand", "two hundred and ten thousand".
pub(super) fn words_at(text: &Folded, i: usize) -> Option<Number> {
    if let Some(number) = part_of_scale(text, i) {
        return Some(number);
    }
    if text.word_before(i, "point").is_some() {
        return None;
    }
    let article = text.any_at(i, &["a ", "an "]).filter(|(_, end)| scale_at(text, *end).is_some());
    let (first, end) = match article {
        Some((_, end)) => (1, end),
        None => below_hundred(text, i)?,
    };
    if text.word_at(text.skip_spaces(end), "point ").is_some() {
        return decimals(text, first, end);
    }
    if let Some(number) = hundreds_and_rest(text, first, end).or_else(|| halved_scale(text, first, end)) {
        return Some(number);
    }
    let mut number = words_from(text, first, end)?;
    let last = text.lookup(last_word(text, number.end), &SCALES).map(|(scale, _)| scale).filter(|s| *s >= 1000);
    let half = text.word_at(text.skip_spaces(number.end), "and a half");
    if let (Some(scale), Some(end)) = (last, half) {
        number.micro = number.micro.checked_add(scale.checked_mul(ONE / 2)?)?;
        number.end = end;
    }
    Some(number)
}

fn scale_at(text: &Folded, i: usize) -> Option<(u128, usize)> {
    text.lookup(text.skip_spaces(i), &SCALES)
}

/// Where the last word before `end` begins.
fn last_word(text: &Folded, end: usize) -> usize {
    let mut start = end;
    while text.before(start).is_some_and(|c| c.is_ascii_alphabetic()) {
        start -= 1;
    }
    start
}

fn scaled(micro: u128, end: usize) -> Number {
    Number { figures: false, scaled: true, ..Number::plain(micro, end) }
}

/// "Half a million".
fn part_of_scale(text: &Folded, i: usize) -> Option<Number> {
    let (part, end) = text.lookup(i, &PARTS)?;
    let (scale, end) = scale_at(text, end).filter(|(scale, _)| *scale >= 1000)?;
    Some(scaled(part.checked_mul(scale)?, end))
}

/// "One point two million", "three point five kilos"; alone the words are none.
fn decimals(text: &Folded, whole: u128, end: usize) -> Option<Number> {
    let mut at = text.word_at(text.skip_spaces(end), "point ")?;
    let mut micro = whole.checked_mul(ONE)?;
    let mut place = ONE / 10;
    while let Some((digit, end)) = text.lookup(at, &WORDS).filter(|(digit, _)| *digit < 10 && place > 0) {
        micro += digit * place;
        place /= 10;
        at = text.skip_spaces(end);
    }
    match scale_at(text, at) {
        Some((scale, end)) => Some(scaled(micro.checked_mul(scale)?, end)),
        None if units::unit_at(text, at).is_some() => {
            Some(Number { figures: false, ..Number::plain(micro, text.skip_spaces_back(at)) })
        }
        None => None,
    }
}

/// "Six fifty yen" is 650 yen.
fn hundreds_and_rest(text: &Folded, first: u128, end: usize) -> Option<Number> {
    let next = text.skip_spaces(end);
    let (rest, after) = below_hundred(text, next).filter(|(rest, _)| next > end && *rest >= 10 && first > 0)?;
    units::yen_after(text, text.skip_spaces(after))?;
    Some(Number { figures: false, ..Number::plain((first * 100 + rest).checked_mul(ONE)?, after) })
}

/// "One and a half million".
fn halved_scale(text: &Folded, first: u128, end: usize) -> Option<Number> {
    let (scale, end) = scale_at(text, text.word_at(text.skip_spaces(end), "and a half")?)?;
    Some(scaled((first * ONE + ONE / 2).checked_mul(scale)?, end))
}

fn words_from(text: &Folded, first: u128, end: usize) -> Option<Number> {
    let mut group = first;
    let mut number = Number { figures: false, ..Number::plain(0, end) };
    let mut total: u128 = 0;
    loop {
        while let Some((scale, end)) = scale_at(text, number.end) {
            group = group.checked_mul(scale)?;
            number.end = end;
            number.scaled |= scale >= 1000;
            if scale >= 1000 {
                total = total.checked_add(group)?;
                group = 0;
            }
        }
        let next = text.skip_spaces(number.end);
        let next = text.word_at(next, "and ").unwrap_or(next);
        // Only after a hundred or a thousand does a further number belong to this one.
        let room = group.is_multiple_of(100) && (group > 0 || total > 0);
        match below_hundred(text, next).filter(|_| room && next > number.end) {
            Some((value, end)) => {
                group = group.checked_add(value)?;
                number.end = end;
            }
            None => break,
        }
    }
    number.micro = total.checked_add(group)?.checked_mul(ONE)?;
    Some(number)
}

/// A number word ends right before `i`, or one begins right at `i`: "twenty twenty-five" is no number of things.
pub(super) fn beside_number_word(text: &Folded, from: usize, end: usize) -> bool {
    let before = text.skip_spaces_back(from);
    let after = text.skip_spaces(end);
    let ends_before =
        before < from && text.lookup(last_word(text, before), &WORDS).is_some_and(|(_, end)| end == before);
    ends_before || (after > end && text.lookup(after, &WORDS).is_some())
}

/// Figures with a word behind: "2 thousand", "1.2 million", 2k.
pub(super) fn with_scale(text: &Folded, number: Number) -> Number {
    let scaled = |by: u128, end: usize| Number {
        micro: number.micro.saturating_mul(by),
        end,
        scaled: true,
        scale: Some(by),
        ..number
    };
    let pictured = |at: usize| {
        text.any_at(if text.at(at) == Some('-') { at + 1 } else { text.skip_spaces(at) }, &NO_MONEY).is_some()
    };
    if text.at(number.end) == Some('k') && pictured(number.end + 1) {
        return number;
    }
    if text.at(number.end) == Some('k') && !text.at(number.end + 1).is_some_and(|c| c.is_ascii_alphanumeric()) {
        return scaled(1000, number.end + 1);
    }
    match text.lookup(text.skip_spaces(number.end), &SCALES) {
        Some((by, end)) => scaled(by, end),
        None => number,
    }
}
