//! One day said in two ways side by side: "yesterday (30 Nov)", "last Friday the 27th", "last week (Tue)". It is one
//! finding, with what both allow.

use chrono::NaiveDate;

use super::expr::{Expr, Part};
use super::{Item, beside};
use crate::reading::fold::Folded;
use crate::reading::{Context, Reading, Refusal};

/// How the second way stands beside the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    /// "(30 Nov)": it can only be the same day.
    Bracket(usize),
    /// "last Friday the 27th", "(Tue) 11/24".
    Apart(usize),
    /// "yesterday, Nov 28", "last month (November)": the same if they can be, else two.
    Perhaps(usize),
}

/// Puts together what is said twice.
pub(super) fn merged(text: &Folded, items: Vec<Item>, context: &Context) -> Vec<Item> {
    let mut merged: Vec<Item> = Vec::new();
    for item in items {
        let both = merged.last().and_then(|first| same(text, first, &item, context));
        match (both, merged.last_mut()) {
            (Some(both), Some(last)) => *last = both,
            _ => merged.push(item),
        }
    }
    merged
}

/// One item for two that say the same.
fn same(text: &Folded, a: &Item, b: &Item, context: &Context) -> Option<Item> {
    if a.exprs.is_empty() || b.exprs.is_empty() {
        return None;
    }
    let beside = stands(text, a, b)?;
    let (first, second) = (readings(&a.exprs, context)?, readings(&b.exprs, context)?);
    let (from, to) = match beside {
        Beside::Bracket(end) | Beside::Perhaps(end) => (a.from, end),
        Beside::Apart(from) => (from, b.to),
    };
    let common: Vec<Reading> = first.iter().flat_map(|a| second.iter().filter_map(|b| common(*a, *b))).collect();
    let part = match common.is_empty() {
        false => Part::Given(common),
        true if matches!(beside, Beside::Perhaps(_)) => return None,
        true if weekday_alone(&b.exprs) => Part::Given(vec![in_week(&first, &b.exprs)?]),
        true => Part::Refused(Refusal::OtherWeekday),
    };
    Some(Item { from, to, exprs: vec![part.into()], ..a.clone() })
}

fn readings(exprs: &[Expr], context: &Context) -> Option<Vec<Reading>> {
    let found: Vec<Reading> = exprs.iter().filter_map(|e| e.readings(context).ok()).flatten().collect();
    (!found.is_empty()).then_some(found)
}

fn weekday_alone(exprs: &[Expr]) -> bool {
    exprs.iter().all(|e| matches!(e.part, Part::Weekday(_)) && e.week.is_none())
}

/// "Last week (Tue)": the day of that week.
fn in_week(weeks: &[Reading], exprs: &[Expr]) -> Option<Reading> {
    let (Some(Reading::Range(monday, last)), Some(Part::Weekday(weekday))) =
        (weeks.first(), exprs.first().map(|e| e.part.clone()))
    else {
        return None;
    };
    let day = monday.iter_days().take(7).find(|d| chrono::Datelike::weekday(d) == weekday)?;
    ((*last - *monday).num_days() == 6).then_some(Reading::Day(day))
}

/// What two readings have in common: the same day or period, or the day that lies in a week.
fn common(a: Reading, b: Reading) -> Option<Reading> {
    let holds = |first: NaiveDate, last: NaiveDate, day: NaiveDate| (first..=last).contains(&day);
    match (a, b) {
        _ if a == b => Some(a),
        (Reading::Range(first, last), Reading::Day(day)) if holds(first, last, day) => Some(b),
        _ => None,
    }
}

/// How the second stands beside the first, when it can be the same day said again.
fn stands(text: &Folded, a: &Item, b: &Item) -> Option<Beside> {
    let relative = a.exprs.iter().all(|e| matches!(e.part, Part::Given(_)) && beside::is_day(e));
    let week = a.exprs.iter().all(|e| e.week.is_some() && matches!(e.part, Part::Given(_)));
    let named = weekday_alone(&a.exprs);
    // A date with its month, or "the 27th"; a weekday only beside a week.
    let dated = b.exprs.iter().all(|e| beside::is_day(e) && (e.month.is_some() || e.year.is_none()))
        && !b.exprs.iter().any(|e| matches!(e.part, Part::Given(_)));
    let fits = ((relative || named) && dated) || ((week || relative) && weekday_alone(&b.exprs));
    let at = text.skip_spaces(a.to);
    if !fits {
        let inside = text.word_at(at, "(").filter(|at| text.skip_spaces(*at) == b.from && !weekday_alone(&b.exprs))?;
        let end = text.word_at(text.skip_spaces(b.to), ")").filter(|_| inside <= b.from)?;
        return Some(Beside::Perhaps(end));
    }
    if let Some(inside) = text.word_at(at, "(").map(|at| text.skip_spaces(at)) {
        let end = text.word_at(text.skip_spaces(b.to), ")").filter(|_| inside == b.from)?;
        return Some(Beside::Bracket(end));
    }
    // (Tue) 11/24.
    let closed = text.word_at(at, ")").map(|at| text.skip_spaces(at));
    if let Some(from) = text.word_before(a.from, "(").filter(|_| named && closed == Some(b.from)) {
        return Some(Beside::Apart(from));
    }
    if relative && text.word_at(at, ",").map(|at| text.skip_spaces(at)) == Some(b.from) {
        return Some(Beside::Perhaps(b.to));
    }
    let said = text.any_at(b.from, &["the "]).is_some() || text.any_at(a.from, &["last ", "this ", "next "]).is_some();
    let beside = relative && at == b.from && at > a.to;
    beside.then_some(if said && dated { Beside::Apart(a.from) } else { Beside::Perhaps(b.to) })
}
