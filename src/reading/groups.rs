//! Amounts whose figures are grouped in another way than by commas: 1、800円, 500 000 yen, 1'800円.

use super::amounts::Price;
use super::fold::Folded;
use super::{Meaning, Refusal, nouns, numbers, units};
use crate::domain::Yen;

/// The groups after the first of the longest number that is read.
const MOST: usize = 4;

/// Groups of three figures.
struct Groups {
    whole: i64,
    last: i64,
    /// Where the last one ends.
    end: usize,
    /// The first one has no more than two figures.
    short: bool,
    /// One begins with 0, so that it cannot be a number by itself.
    zero: bool,
}

/// An amount with such groups at `i`. Where they may as well be two numbers, both readings are given.
pub(super) fn grouped(text: &Folded, i: usize) -> Option<Price> {
    let before = units::yen_before(text, i).map(|end| text.skip_spaces(end));
    let start = before.unwrap_or(i);
    if numbers::joins_left(text, start) || numbers::vague_pair(text, start, "") {
        return None;
    }
    if let Some(price) = spaced_thousands(text, i) {
        return Some(price);
    }
    let (separator, groups) = groups_at(text, start)?;
    let next = text.skip_spaces(groups.end);
    let after = units::yen_after(text, next);
    let counted = units::unit_at(text, next).is_some()
        || units::is_other(text, groups.end)
        || nouns::plural_at(text, next).is_some();
    let (one, other) = (Yen(groups.whole), Yen(groups.last));
    let meaning = match (before, after) {
        (_, Some(_)) | (Some(_), None) if separator == '\'' => Meaning::Refused(Refusal::Grouping),
        (_, Some(_)) if groups.zero => Meaning::Clear(one),
        // なす3、800円 is likelier a list.
        (None, Some(_))
            if separator == '、'
                && groups.short
                && !text.before(start).is_some_and(|c| c.is_alphabetic() || matches!(c, '、' | ',')) =>
        {
            Meaning::Ambiguous(vec![one, other])
        }
        (None, Some(_)) => Meaning::Ambiguous(vec![other, one]),
        (Some(_), None) if (groups.short || groups.zero) && !counted => Meaning::Clear(one),
        _ => return None,
    };
    Some(Price { from: i, to: after.unwrap_or(groups.end), meaning })
}

/// 5 千円: 5,000 yen, or five of something for 1,000.
fn spaced_thousands(text: &Folded, i: usize) -> Option<Price> {
    let (count, 1..=2, end) = numbers::digits_at(text, i)? else { return None };
    let at = text.skip_spaces(end);
    let to = text.word_at(at, "千円").filter(|_| at > end && count > 0)?;
    Some(Price { from: i, to, meaning: Meaning::Ambiguous(vec![Yen(i64::from(count) * 1000), Yen(1000)]) })
}

fn groups_at(text: &Folded, start: usize) -> Option<(char, Groups)> {
    let (first, mut end) = figures(text, start, 3)?;
    let separator = text.at(end).filter(|c| matches!(c, '、' | ' ' | '\''))?;
    let mut groups = Groups { whole: first, last: first, end, short: end - start < 3, zero: false };
    for _ in 0..MOST {
        if text.at(end) != Some(separator) {
            break;
        }
        let Some((value, after)) = figures(text, end + 1, 3).filter(|(_, after)| after - end == 4) else { break };
        groups.zero |= text.at(end + 1).is_some_and(|c| matches!(c, '0' | '〇'));
        groups.whole = groups.whole.checked_mul(1000)?.checked_add(value)?;
        groups.last = value;
        end = after;
        groups.end = end;
    }
    let goes_on = text.at(end).is_some_and(|c| matches!(c, '.' | ',' | '-' | '/' | '\''));
    (groups.end > start + 3 && groups.whole > groups.last && first > 0 && !goes_on).then_some((separator, groups))
}

/// Up to `most` figures or kanji digits at `i`, and no further one.
fn figures(text: &Folded, i: usize, most: usize) -> Option<(i64, usize)> {
    let digit = |at: usize| {
        let c = text.at(at)?;
        c.to_digit(10)
            .map(i64::from)
            .or_else(|| "〇一二三四五六七八九".chars().zip(0..).find(|(k, _)| *k == c).map(|(_, d)| d))
    };
    let mut end = i;
    let mut value: i64 = 0;
    while let Some(d) = digit(end).filter(|_| end - i <= most) {
        value = value * 10 + d;
        end += 1;
    }
    let zero = i64::from(text.at(i) == Some('0')) * i64::from(end - i < 3);
    (end > i && end - i <= most && zero == 0).then_some((value, end))
}
