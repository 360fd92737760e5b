//! The further days that bare numbers and letters name after a day: Nov 3-5, "Nov 3, 5 and 10", 先週の月〜金.

use super::expr::{Expr, OfMonth, Part};
use super::{Item, counted, frames, japanese};
use crate::reading::fold::Folded;
use crate::reading::{Context, numbers, units};

/// The further days of 先週の月〜金.
fn further_weekdays(text: &Folded, mut end: usize) -> Vec<Item> {
    let mut items = Vec::new();
    while let Some((weekday, from, to)) = japanese::further_weekday(text, end) {
        items.push(Item { from, to, exprs: vec![Expr::in_week(None, weekday)], shares: false, length: None });
        end = to;
    }
    items
}

/// The further days of Nov 3-5 and of "Nov 3, 5 and 10", when nothing says that the numbers count something.
pub(super) fn further_days(text: &Folded, end: usize, first: &[Expr], context: &Context) -> Vec<Item> {
    if first.iter().any(|e| matches!(e.part, Part::Weekday(_))) {
        return further_weekdays(text, end);
    }
    let mut items = Vec::new();
    let mut at = end;
    let mut lists = false;
    loop {
        let next = text.skip_spaces(at);
        let range = text.any_at(next, &["~", "-", "ー", "から", "through ", "thru ", "until ", "till ", "to "]);
        let list = text.any_at(next, &["and ", "& ", ", and ", ",", "or ", "・", "と", "/", "+"]);
        let (link, after) = match (range, list) {
            (Some((word, after)), _) if items.is_empty() => (word, after),
            (_, Some((word, after))) => (word, after),
            _ => break,
        };
        let tightly = || if link == "," && text.is_japanese() { tight_day(text, after) } else { None };
        let Some((day, to)) = bare_day(text, text.skip_spaces(after)).or_else(tightly) else { break };
        let spaced = next > at || link.len() > 1;
        let ends = match range {
            Some(_) if items.is_empty() => ends_range(text, to),
            _ => ends_day(text, to, spaced) || link == ",",
        };
        if !ends {
            break;
        }
        if link == "と" && text.at(to).is_some_and(|c| !"のにはとをで、。".contains(c)) {
            break;
        }
        // 12/30,31の.
        let tight = next == at && text.skip_spaces(after) == after && text.is_japanese();
        let said = text.at(to).is_none_or(|c| "のにはとをで、。".contains(c));
        lists = link == ","
            && !(tight && said)
            && !closes_list(text, at, to, day, items.last().map_or(first, |i: &Item| &i.exprs));
        let from = text.skip_spaces(after);
        let mut expr = Expr::in_month(None, None, OfMonth::Day(day));
        // Nov 16-20, 2026.
        let year = frames::year_after(text, to, context).filter(|_| link != ",");
        let to = year.map_or(to, |(_, end)| end);
        if let (Some((year, _)), Some(month)) = (year, first.first().and_then(|e| e.month)) {
            (expr.year, expr.month) = (Some(year), Some(month));
        }
        items.push(Item { from, to, exprs: vec![expr], shares: year.is_some(), length: None });
        at = to;
    }
    // "Nov 3, 5": only a closing "and" tells a list of days from other numbers.
    if lists { Vec::new() } else { items }
}

fn bare_day(text: &Folded, i: usize) -> Option<(u32, usize)> {
    let (day, 1..=2, end) = numbers::digits_at(text, i)? else { return None };
    let end = ["st", "nd", "rd", "th"].iter().find_map(|s| text.word_at(end, s)).unwrap_or(end);
    let figures = text.at(end + 1).is_some_and(|c| c.is_ascii_digit());
    let another = figures && text.at(end) == Some(',') && numbers::digits_at(text, end + 1).is_some_and(|n| n.1 <= 2);
    // 3-5: 4 boxes; but 10:30.
    let ends = text.at(end).is_none_or(|c| !c.is_ascii_alphanumeric() && !"%月日時".contains(c))
        && !(text.at(end).is_some_and(|c| ".,-:/".contains(c)) && figures && !another);
    (ends && (1..=31).contains(&day)).then_some((day, end))
}

/// `21` of 11/20,21,22の: more days follow, and then no unit or amount.
fn tight_day(text: &Folded, i: usize) -> Option<(u32, usize)> {
    let (day @ 1..=31, 1..=2, end) = numbers::digits_at(text, i)? else { return None };
    let mut at = end;
    while let Some((1..=31, 1..=2, next)) = text.word_at(at, ",").and_then(|at| numbers::digits_at(text, at)) {
        at = next;
    }
    let said = text.at(at).is_none_or(|c| "のにはとをで、。".contains(c));
    (at > end && said).then_some((day, end))
}

/// The end of a range counts something only when a thing that is counted follows: "Nov 3 to 10 from Sato" is ten days.
fn ends_range(text: &Folded, end: usize) -> bool {
    let next = text.skip_spaces(end);
    let times = text.any_at(next, &["x ", "×", "@"]).is_some();
    !times
        && !counted(text, end)
        && (next == end || units::plural_at(text, next).is_none() || ends_day(text, end, true))
}

/// The last of days in rising order that nothing follows: "Dec 1, 8, 15", "Nov 28,29".
fn closes_list(text: &Folded, at: usize, to: usize, day: u32, before: &[Expr]) -> bool {
    let tight = text.at(at + 1).is_some_and(|c| c.is_ascii_digit());
    // "Nov 3, 12" alone may have twelve of something; of three numbers the last two are of a kind.
    let next = |n: u32| if tight { n < day } else { n + 1 == day };
    let rising = matches!(before, [Expr { part: Part::OfMonth(OfMonth::Day(n)), month, .. }, ..]
        if next(*n) || (month.is_none() && *n < day));
    let ends = text.at(to).is_none_or(|c| ".;:)\n".contains(c));
    let goes_on = text.at(text.skip_spaces(to)).is_some_and(|c| c.is_ascii_alphabetic()) && ends_day(text, to, true);
    rising && (ends || (tight && goes_on))
}

/// What follows does not make the number before it one of things.
fn ends_day(text: &Folded, end: usize, spaced: bool) -> bool {
    const CLOSING: [&str; 14] =
        ["for ", "by ", "in ", "at ", "please", "pls", "total", "totals", "sales", "with ", "only", "and ", "2", "- "];
    let next = text.skip_spaces(end);
    if counted(text, end) {
        return false;
    }
    match text.at(next) {
        None => true,
        Some(c) if c.is_ascii_alphabetic() => !spaced || text.any_at(next, &CLOSING).is_some(),
        Some(c) if c.is_ascii_digit() => !spaced,
        Some(_) => true,
    }
}
