//! What is counted in days, weeks, months and years: "the last 10 days", "two weeks ago", "3 days from Nov 1".

use super::days::ordinal_at;
use super::periods::within;
use super::the;
use crate::reading::dates::calendar::{self, Unit};
use crate::reading::dates::expr::{Expr, Part};
use crate::reading::dates::frames::{self, frame_at};
use crate::reading::dates::lengths::{self, Length};
use crate::reading::dates::{self, Atom, inner_at};
use crate::reading::fold::Folded;
use crate::reading::{Context, Reading, numbers};

/// "The last 10 days", "past two weeks", "the past month".
pub(super) fn recent(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (word, at) = text.any_at(the(text, i), &["last ", "past ", "previous "])?;
    let (n, unit, end) = match frames::count_of(text, at).filter(|_| text.any_at(at, &["a ", "an "]).is_none()) {
        Some(counted) => counted,
        // "The past week" is so long a time; "last week" is that week.
        None if word == "past " || text.word_at(at, "fortnight").is_some() => {
            const UNITS: [(&str, (i64, Unit)); 5] = [
                ("week", (1, Unit::Week)),
                ("fortnight", (2, Unit::Week)),
                ("month", (1, Unit::Month)),
                ("year", (1, Unit::Year)),
                ("day", (1, Unit::Day)),
            ];
            let ((n, unit), end) = text.lookup(at, &UNITS)?;
            (n, unit, end)
        }
        None => return None,
    };
    // "The last 10 days of October" are others.
    let of = text.word_at(text.skip_spaces(end), "of ");
    if let Some((_, end)) = of.and_then(|of| frame_at(text, of, context)) {
        return Some(Atom::nothing(end));
    }
    lengths::recent(Length { n, unit, marked: true, end }, context)
}

/// "The first week of November", "the last week of October", "the first 10 days of …": nobody agrees, or more than is
/// read here.
pub(super) fn vague(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    const VAGUE: [&str; 12] = [
        "third",
        "fortnight",
        "week",
        "weeks",
        "weekend",
        "few days",
        "few weeks",
        "days",
        "business day",
        "working day",
        "month",
        "months",
    ];
    let named = text.any_at(the(text, i), &["final ", "opening ", "closing "]).map(|(_, end)| end);
    let (_, at) = ordinal_at(text, the(text, i)).or_else(|| named.map(|end| (0, end)))?;
    let at = text.skip_spaces(at);
    let at = numbers::count_at(text, at).map_or(at, |(_, end)| text.skip_spaces(end));
    let (_, at) = text.any_at(at, &VAGUE)?;
    let (_, of) = text.any_at(text.skip_spaces(at), &["of ", "in "])?;
    let (_, end) = frame_at(text, of, context)?;
    Some(Atom::nothing(end))
}

const FROM: [&str; 6] = ["from ", "starting on ", "starting from ", "starting ", "beginning ", "on "];

/// "3 days from": the words go on to a date.
pub(super) fn from(text: &Folded, i: usize) -> bool {
    frames::count_of(text, i).is_some_and(|(_, _, end)| text.any_at(text.skip_spaces(end), &FROM).is_some())
}

/// "3 days ago", "in 3 days", "two weeks from today", "3 days from Nov 1", "a week on Tuesday".
pub(super) fn counted(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    if let Some(at) = text.word_at(i, "in ") {
        let (n, unit, end) = frames::count_of(text, at)?;
        let open =
            text.any_at(text.skip_spaces(end), &["a row", "advance", "'"]).is_some() || text.at(end) == Some('\'');
        return if open { None } else { ahead(n, unit, end, context) };
    }
    let (n, unit, at) = frames::count_of(text, i)?;
    let next = text.skip_spaces(at);
    // "3-4 days ago", "over a week ago".
    if text.word_at(next, "ago").is_some() && (numbers::vague_pair(text, i, "~-") || is_about(text, i)) {
        return Some(Atom::nothing(next));
    }
    if let Some((_, date)) = text.any_at(next, &["ending ", "ended ", "ending on ", "up to "]) {
        let atom = inner_at(text, date, context)?;
        let length = Length { n, unit, marked: true, end: atom.end };
        let up_to = |r: Reading| {
            let start = calendar::days(calendar::shifted(r.end()?, unit, n.checked_neg()?)?, 1)?;
            (length.n > 0).then_some(Reading::Range(start, r.end()?))
        };
        // Months and years end with a month, which has its own length.
        let plain = matches!(unit, Unit::Day | Unit::Week) && atom.exprs.iter().all(dates::is_day);
        return Some(if plain { dates::mapped(&atom, atom.end, context, up_to) } else { Atom::nothing(atom.end) });
    }
    if let Some(end) = text.word_at(next, "ago") {
        return ago(text, n, unit, end, context);
    }
    if let Some((_, end)) = text.any_at(next, &["from now", "from today"]) {
        return ahead(n, unit, end, context);
    }
    if let Some((_, from)) = text.any_at(next, &FROM) {
        let on = text.word_at(next, "on ").is_some();
        let atom = inner_at(text, from, context)?;
        if atom.exprs.is_empty() {
            return None;
        }
        let near = atom.exprs.iter().all(|e| matches!(e.part, Part::Weekday(_)) && e.week.is_none());
        if near && (on || unit != Unit::Day) {
            return weekday_ahead(&atom, n, unit, context);
        }
        let length = Length { n, unit, marked: true, end: atom.end };
        let days = !on && atom.exprs.iter().all(dates::is_day);
        return days.then(|| dates::mapped(&atom, atom.end, context, |r| dates::span_of(r.start()?, length)));
    }
    None
}

/// "Over", "3 or" before a count: nobody knows the day.
fn is_about(text: &Folded, i: usize) -> bool {
    let about = ["over", "more than", "less than", "under"].iter().any(|w| text.word_before(i, w).is_some());
    let other = ["or", "to"].iter().find_map(|w| text.word_before(i, w)).map(|at| text.skip_spaces_back(at));
    let number = |end: usize| {
        let mut at = end;
        while text.before(at).is_some_and(|c| c.is_ascii_alphanumeric()) {
            at -= 1;
        }
        numbers::count_at(text, at).is_some_and(|(_, to)| to == end)
    };
    about || other.is_some_and(number)
}

/// "Year ended March 31, 2026", "quarter ending December": a period that is named by its end.
pub(super) fn ended(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (_, at) =
        text.any_at(the(text, i), &["fiscal year ", "financial year ", "year ", "quarter ", "month ", "half year "])?;
    let (_, date) = text.any_at(at, &["ending ", "ended "])?;
    Some(Atom::nothing(inner_at(text, date, context)?.end))
}

/// "A week on Tuesday": so many weeks after the next one.
fn weekday_ahead(atom: &Atom, n: i64, unit: Unit, context: &Context) -> Option<Atom> {
    let Some(Part::Weekday(weekday)) = atom.exprs.first().map(|e| e.part.clone()) else { return None };
    let next = calendar::on_or_after(context.today.succ_opt()?, weekday)?;
    Atom::one(Expr::day(calendar::shifted(next, unit, n))?, atom.end)
}

fn ahead(n: i64, unit: Unit, end: usize, context: &Context) -> Option<Atom> {
    let day = calendar::shifted(context.today, unit, n)?;
    Atom::one(Expr::day(Some(day))?, end)
}

fn ago(text: &Folded, n: i64, unit: Unit, end: usize, context: &Context) -> Option<Atom> {
    let by = n.checked_neg()?;
    let day = calendar::shifted(context.today, unit, by);
    if let Some((away, end)) = text.lookup(text.skip_spaces(end), &[("today", 0), ("yesterday", -1), ("tomorrow", 1)]) {
        return Atom::one(Expr::day(calendar::days(day?, away))?, end);
    }
    if unit == Unit::Day {
        return Atom::one(Expr::day(day)?, end);
    }
    let frame = frames::away(unit, by, context)?;
    within(text, frame, end, context).or_else(|| Atom::one(lengths::day_or_period(unit, by, context)?, end))
}
