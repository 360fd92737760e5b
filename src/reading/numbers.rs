//! Numbers as people write them: 1,800, 3万5千, 1.5万, 二千, two.

use super::fold::Folded;

/// A number and what it was made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    /// The value in thousandths, so that 1.5万 stays exact.
    pub(super) milli: u64,
    /// The position after it.
    pub(super) end: usize,
    /// Has 万, 千 or the like: says an amount even without 円.
    pub(super) scaled: bool,
}

impl Number {
    /// The value when it is whole.
    pub(super) fn whole(self) -> Option<u64> {
        self.milli.is_multiple_of(1000).then_some(self.milli / 1000)
    }
}

const LARGE: [(char, u64); 3] = [('兆', 1_000_000_000_000), ('億', 100_000_000), ('万', 10_000)];
const SMALL: [(char, u64); 3] = [('千', 1000), ('百', 100), ('十', 10)];

const WORDS: [(&str, u64); 14] = [
    ("a couple of", 2),
    ("a dozen", 12),
    ("eleven", 11),
    ("twelve", 12),
    ("seven", 7),
    ("three", 3),
    ("eight", 8),
    ("four", 4),
    ("five", 5),
    ("nine", 9),
    ("ten", 10),
    ("one", 1),
    ("two", 2),
    ("six", 6),
];

/// The number that begins at `i`: digits with separators, kanji numerals, and their mixture.
pub(super) fn at(text: &Folded, i: usize) -> Option<Number> {
    let mut at = i;
    let mut scaled = false;
    let mut total: u64 = 0;
    let mut least = u64::MAX;
    let mut any = false;
    while let Some((milli, end, small)) = section(text, at) {
        let large = text.at(end).and_then(|c| LARGE.iter().find(|(u, _)| *u == c)).map(|(_, v)| *v);
        let unit = large.unwrap_or(1);
        // Each further section must have a smaller unit: 3万5千 is one number, 3万5万 is not.
        if unit >= least {
            break;
        }
        total = total.checked_add(milli.checked_mul(unit)?)?;
        any = true;
        scaled |= small || large.is_some();
        least = unit;
        at = if large.is_some() { end + 1 } else { end };
        if large.is_none() {
            break;
        }
    }
    any.then_some(Number { milli: total, end: at, scaled })
}

/// The part before 万 or 億: thousandths, the end, and whether 千, 百 or 十 was in it.
fn section(text: &Folded, i: usize) -> Option<(u64, usize, bool)> {
    let mut at = i;
    let mut total: u64 = 0;
    let mut least = u64::MAX;
    let mut scaled = false;
    let mut any = false;
    loop {
        let digits = digits(text, at).or_else(|| kanji_digits(text, at));
        let (milli, end) = digits.unwrap_or((1000, at));
        let small = text.at(end).and_then(|c| SMALL.iter().find(|(u, _)| *u == c)).map(|(_, v)| *v);
        match (digits, small) {
            (_, Some(unit)) if unit < least => {
                total = total.checked_add(milli.checked_mul(unit)?)?;
                least = unit;
                scaled = true;
                any = true;
                at = end + 1;
            }
            (Some(_), None) if least > 1 => {
                return Some((total.checked_add(milli)?, end, scaled));
            }
            _ => return any.then_some((total, at, scaled)),
        }
    }
}

fn digits(text: &Folded, i: usize) -> Option<(u64, usize)> {
    let mut at = i;
    let mut whole: u64 = 0;
    let mut since_comma: Option<u32> = None;
    let mut count = 0;
    while let Some(c) = text.at(at) {
        if let Some(d) = c.to_digit(10) {
            whole = whole.checked_mul(10)?.checked_add(u64::from(d))?;
            since_comma = since_comma.map(|n| n + 1);
            count += 1;
            at += 1;
        } else if c == ',' && count > 0 && since_comma.is_none_or(|n| n == 3) && group_follows(text, at + 1) {
            since_comma = Some(0);
            at += 1;
        } else {
            break;
        }
    }
    if count == 0 {
        return None;
    }
    let mut milli = whole.checked_mul(1000)?;
    if text.at(at) == Some('.') && text.at(at + 1).is_some_and(|c| c.is_ascii_digit()) {
        let mut place = 100;
        at += 1;
        while let Some(d) = text.at(at).and_then(|c| c.to_digit(10)) {
            milli = milli.checked_add(u64::from(d) * place)?;
            place /= 10;
            at += 1;
        }
    }
    Some((milli, at))
}

/// Exactly three digits stand at `i`.
fn group_follows(text: &Folded, i: usize) -> bool {
    let digit = |k: usize| text.at(i + k).is_some_and(|c| c.is_ascii_digit());
    digit(0) && digit(1) && digit(2) && !digit(3)
}

fn kanji_digits(text: &Folded, i: usize) -> Option<(u64, usize)> {
    let mut at = i;
    let mut value: u64 = 0;
    while let Some(d) = text.at(at).and_then(|c| "〇一二三四五六七八九".chars().position(|k| k == c)) {
        value = value.checked_mul(10)?.checked_add(u64::try_from(d).ok()?)?;
        at += 1;
    }
    (at > i).then_some((value.checked_mul(1000)?, at))
}

/// A small whole number at `i`, also as an English word.
pub(super) fn small_at(text: &Folded, i: usize) -> Option<(u32, usize)> {
    if let Some((word, end)) = text.any_at(i, &WORDS.map(|(w, _)| w)) {
        let value = WORDS.iter().find(|(w, _)| *w == word).map_or(0, |(_, v)| *v);
        return Some((u32::try_from(value).ok()?, end));
    }
    let number = at(text, i)?;
    Some((u32::try_from(number.whole()?).ok()?, number.end))
}

/// Plain digits at `i`: their value, how many there are, and the end.
pub(super) fn digits_at(text: &Folded, i: usize) -> Option<(u32, usize, usize)> {
    let mut end = i;
    let mut value: u32 = 0;
    while let Some(d) = text.at(end).and_then(|c| c.to_digit(10)) {
        value = value.checked_mul(10)?.checked_add(d)?;
        end += 1;
    }
    (end > i).then_some((value, end - i, end))
}

/// A digit, or a kanji that can begin or continue a number, stands just before `i`.
pub(super) fn joins_left(text: &Folded, i: usize) -> bool {
    let Some(before) = i.checked_sub(1).and_then(|p| text.at(p)) else { return false };
    if before.is_ascii_digit() {
        return true;
    }
    let separated =
        matches!(before, '.' | ',') && i.checked_sub(2).and_then(|p| text.at(p)).is_some_and(|c| c.is_ascii_digit());
    separated || (before.is_ascii_alphabetic() && !unit_before(text, i))
}

/// The letters before `i` are a unit after a number: in 5kg600円 two numbers stand side by side.
fn unit_before(text: &Folded, i: usize) -> bool {
    let letters =
        (1..=2).take_while(|n| i.checked_sub(*n).and_then(|p| text.at(p)).is_some_and(|c| c.is_ascii_alphabetic()));
    let start = i.saturating_sub(letters.count());
    ["kg", "g", "l", "ml"].iter().any(|u| text.word_at(start, u) == Some(i))
        && start.checked_sub(1).and_then(|p| text.at(p)).is_some_and(|c| c.is_ascii_digit())
}
