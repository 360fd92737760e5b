//! "Last" and "next" before what has no side of its own: feasts, days of a year, the first of two.

use chrono::Datelike;

use super::days::month_day;
use super::feast;
use crate::reading::dates::calendar::Unit;
use crate::reading::dates::expr::{Expr, Year};
use crate::reading::dates::{self, Atom, frames};
use crate::reading::fold::Folded;
use crate::reading::{Context, units};

/// "This" in "this and last month".
pub(super) fn both_sides(text: &Folded, at: usize, by: i64, context: &Context) -> Option<Atom> {
    let (_, other) = text.any_at(at, &["and ", "or ", "vs "])?;
    let (_, unit) = text.lookup(other, &frames::SIDES)?;
    let (unit, _) = text.lookup(unit, &[("week", Unit::Week), ("month", Unit::Month), ("year", Unit::Year)])?;
    Atom::one(frames::away(unit, by, context)?.whole(context)?, text.skip_spaces_back(at))
}

/// "Last Christmas", "next New Year's Eve", "last Nov 24".
pub(super) fn sided_day(text: &Folded, at: usize, by: i64, context: &Context) -> Option<Atom> {
    let free = |atom: &Atom| atom.exprs.iter().all(|e| e.year.is_none() && dates::is_day(e)) && !atom.exprs.is_empty();
    let dated = || {
        let whole = |atom: &Atom| {
            !dates::counted(text, atom.end) && units::plural_at(text, text.skip_spaces(atom.end)).is_none()
        };
        month_day(text, at, context).filter(whole)
    };
    let atom = feast(text, at, context).or_else(dated).filter(free)?;
    let today = context.today;
    let day = |year: Option<i32>| {
        let expr = Expr { year: year.map(Year::Calendar), ..atom.exprs.first()?.clone() };
        expr.readings(context).ok()?.first()?.start()
    };
    let this = day(Some(today.year()))?;
    let found = match by {
        0 => Some(this),
        ..0 if this < today => Some(this),
        ..0 => day(today.year().checked_sub(1)),
        _ if this > today => Some(this),
        _ => day(today.year().checked_add(1)),
    };
    Atom::one(Expr::day(found)?, atom.end)
}

/// "From January until now": today, where it ends a period or begins one.
pub(super) fn now(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let end = text.word_at(i, "now")?;
    let ends = ["until", "till", "til", "to", "through", "up to", "up until"];
    let begins = text.word_before(i, "between").is_some() && text.word_at(text.skip_spaces(end), "and ").is_some();
    let said = begins || ends.iter().any(|w| text.word_before(i, w).is_some());
    if said { Atom::one(Expr::day(Some(context.today))?, end) } else { None }
}
