//! Days with the month's name between separators, as spreadsheets, log files and other languages write them: 24-Nov-26,
//! Nov-24, 2024-Nov-24, 24Nov2026, "24. November", '24 Nov 3.

use super::days::{dated, month_day, suffix};
use crate::reading::dates::Atom;
use crate::reading::dates::expr::{Expr, OfMonth, Year};
use crate::reading::dates::frames;
use crate::reading::fold::Folded;
use crate::reading::{Context, numbers};

/// The day or month so written at `i`.
pub(super) fn at(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    match text.at(i)? {
        '\'' => short_year_first(text, i, context),
        c if c.is_ascii_digit() => day_first(text, i, context).or_else(|| year_first(text, i)),
        'r' | 'h' | 's' => era_name(text, i),
        _ => month_first(text, i),
    }
}

fn day_of(year: Option<Year>, month: u32, day: u32) -> Expr {
    Expr::in_month(year, Some(month), OfMonth::Day(day))
}

/// Two or four figures that end a date.
fn year_at(text: &Folded, at: usize) -> Option<(Year, usize)> {
    let (year, len, end) = numbers::digits_at(text, at)?;
    let year = match len {
        2 => i32::try_from(year).ok()?.checked_add(2000)?,
        4 => i32::try_from(year).ok().filter(|y| (1900..=2199).contains(y))?,
        _ => return None,
    };
    let goes_on = text.at(end).is_some_and(|c| c.is_ascii_alphanumeric() || "-/".contains(c));
    (!goes_on).then_some((Year::Calendar(year), end))
}

/// 24-Nov-26, 24/Nov/2024, 15-Nov, 24Nov2026, "24. November".
fn day_first(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (day @ 1..=99, 1..=2, end) = numbers::digits_at(text, i)? else { return None };
    let end = suffix(text, end).unwrap_or(end);
    let separator = text.at(end)?;
    if separator == '.' {
        let (month, after) = frames::month_at(text, text.skip_spaces(end + 1))?;
        let atom = dated(text, month, day, after, context);
        // "We sold 24. November was good." ends a sentence.
        let goes_on = text.at(text.skip_spaces(atom.end)).is_some_and(|c| c.is_ascii_alphanumeric());
        return (atom.shares || !goes_on).then_some(Atom { day_may_follow: false, ..atom });
    }
    if separator.is_ascii_alphabetic() {
        let (month, after) = frames::month_at(text, end)?;
        let (year, stop) = year_at(text, after)?;
        return Some(Atom::new(day_of(Some(year), month, day), stop).sharing());
    }
    let (month, after) = frames::month_at(text, end + 1).filter(|_| "-/".contains(separator))?;
    if text.at(after) == Some(separator)
        && let Some((year, stop)) = year_at(text, after + 1)
    {
        return Some(Atom::new(day_of(Some(year), month, day), stop).sharing());
    }
    let goes_on = text.at(after).is_some_and(|c| c.is_ascii_alphanumeric() || "-/".contains(c));
    // In 10-Nov 15 two days of a range stand side by side.
    let another = numbers::digits_at(text, text.skip_spaces(after)).is_some_and(|(_, len, _)| len <= 2);
    (!goes_on && !another).then(|| Atom::new(day_of(None, month, day), after).sharing())
}

/// 2024-Nov-24, 2024/Nov/24, 2024-Nov.
fn year_first(text: &Folded, i: usize) -> Option<Atom> {
    let (year, 4, end) = numbers::digits_at(text, i)? else { return None };
    let year = i32::try_from(year).ok().filter(|y| (1900..=2199).contains(y)).map(Year::Calendar)?;
    let separator = text.at(end).filter(|c| "-/".contains(*c))?;
    let (month, after) = frames::month_at(text, end + 1)?;
    if text.at(after) != Some(separator) {
        return Atom::one(Expr::in_month(Some(year), Some(month), OfMonth::Whole), after);
    }
    let (day, 1..=2, stop) = numbers::digits_at(text, after + 1)? else { return None };
    Atom::one(day_of(Some(year), month, day), stop)
}

/// '24 Nov 3.
fn short_year_first(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (year, 2, end) = numbers::digits_at(text, i + 1)? else { return None };
    let year = Year::Calendar(i32::try_from(year).ok()?.checked_add(2000)?);
    let at = text.skip_spaces(end);
    frames::month_at(text, at).filter(|_| at > end)?;
    let atom = month_day(text, at, context)?;
    let free = atom.exprs.iter().all(|e| e.year.is_none());
    let exprs = atom.exprs.into_iter().map(|e| Expr { year: Some(year), ..e }).collect();
    free.then(|| Atom { exprs, ..Atom::nothing(atom.end) })
}

/// Nov-24, Nov-24-2026. A spreadsheet shows the month of 2024 so, a person the day.
fn month_first(text: &Folded, i: usize) -> Option<Atom> {
    let (month, end) = frames::month_at(text, i)?;
    let separator = text.at(end).filter(|c| "-/".contains(*c))?;
    let (day, len @ (1 | 2 | 4), after) = numbers::digits_at(text, end + 1)? else { return None };
    if len == 4 {
        let year = i32::try_from(day).ok().filter(|y| (1900..=2199).contains(y)).map(Year::Calendar)?;
        return Atom::one(Expr::in_month(Some(year), Some(month), OfMonth::Whole), after);
    }
    if text.at(after) == Some(separator) {
        return match year_at(text, after + 1) {
            Some((year, stop)) => Some(Atom::new(day_of(Some(year), month, day), stop).sharing()),
            None => Some(Atom::nothing(after)),
        };
    }
    if text.at(after).is_some_and(|c| c.is_ascii_alphanumeric() || "/:%".contains(c)) {
        return Some(Atom::nothing(after));
    }
    let year = i32::try_from(day).ok().filter(|y| (20..=39).contains(y)).and_then(|y| y.checked_add(2000));
    let whole = year.map(|y| Expr::in_month(Some(Year::Calendar(y)), Some(month), OfMonth::Whole));
    let exprs = [day_of(None, month, day)].into_iter().chain(whole.filter(|_| separator == '-')).collect();
    Some(Atom { exprs, ..Atom::nothing(after) })
}

/// "Reiwa 8 Nov 24", "Reiwa 8/11/24": an era's name in Latin letters is not read, nor what it numbers.
fn era_name(text: &Folded, i: usize) -> Option<Atom> {
    let (_, mut end) = text.any_at(i, &["reiwa ", "heisei ", "showa "])?;
    let (_, 1..=2, after) = numbers::digits_at(text, end)? else { return None };
    end = after;
    while text.at(end).is_some_and(|c| c.is_ascii_digit() || "/.-".contains(c)) {
        end += 1;
    }
    let month = frames::month_at(text, text.skip_spaces(end)).map(|(_, end)| end);
    let day = month.map(|end| numbers::digits_at(text, text.skip_spaces(end)).map_or(end, |(.., end)| end));
    Some(Atom::nothing(day.unwrap_or(end)))
}
