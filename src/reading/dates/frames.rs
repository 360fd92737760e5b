//! The weeks, months and years of English that other words point into: "last week", "November 2025", "the year before
//! last", FY2025.

use chrono::{Datelike, NaiveDate};

use super::calendar::{self, Unit};
use super::expr::{Expr, OfMonth, OfYear, Year, fiscal_start};
use crate::reading::fold::Folded;
use crate::reading::{Context, Reading, numbers};

pub(super) const MONTHS: [(&str, u32); 24] = [
    ("january", 1),
    ("february", 2),
    ("march", 3),
    ("april", 4),
    ("may", 5),
    ("june", 6),
    ("july", 7),
    ("august", 8),
    ("september", 9),
    ("october", 10),
    ("november", 11),
    ("december", 12),
    ("jan", 1),
    ("feb", 2),
    ("mar", 3),
    ("apr", 4),
    ("jun", 6),
    ("jul", 7),
    ("aug", 8),
    ("sept", 9),
    ("sep", 9),
    ("oct", 10),
    ("nov", 11),
    ("dec", 12),
];
pub(super) const SIDES: [(&str, i64); 6] =
    [("last ", -1), ("previous ", -1), ("prior ", -1), ("this ", 0), ("current ", 0), ("next ", 1)];
const UNITS: [(&str, Unit); 8] = [
    ("weeks", Unit::Week),
    ("week", Unit::Week),
    ("fortnight", Unit::Week),
    ("months", Unit::Month),
    ("month", Unit::Month),
    ("years", Unit::Year),
    ("year", Unit::Year),
    ("yr", Unit::Year),
];
const FISCAL: [&str; 4] = ["fiscal year", "financial year", "business year", "fy"];

/// A period that other words point into.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Frame {
    /// The week that begins on a Monday.
    Week(NaiveDate),
    Month {
        year: Option<Year>,
        month: u32,
    },
    /// The quarter so many from this one.
    Quarter(i64),
    Year(Year),
    /// "The month", of which nothing else is said.
    TheMonth,
    TheQuarter,
    TheYear,
    TheFiscalYear,
}

impl Frame {
    /// All of it.
    pub(super) fn whole(self, context: &Context) -> Option<Expr> {
        match self {
            Self::Week(monday) => {
                let (first, last) = calendar::week(monday)?;
                Some(Expr { week: Some(monday), ..Expr::given(Reading::Range(first, last)) })
            }
            Self::Month { year, month } => Some(Expr::in_month(year, Some(month), OfMonth::Whole)),
            Self::Quarter(by) => Expr::period(super::quarter(context, by)),
            Self::Year(year) => Some(Expr::in_year(Some(year), OfYear::Whole)),
            Self::TheMonth | Self::TheQuarter | Self::TheYear | Self::TheFiscalYear => None,
        }
    }

    /// A part of it, when it is a month.
    pub(super) fn part_of_month(self, part: OfMonth) -> Option<Expr> {
        match self {
            Self::Month { year, month } => Some(Expr::in_month(year, Some(month), part)),
            Self::TheMonth => Some(Expr::in_month(None, None, part)),
            _ => None,
        }
    }
}

/// The frame that begins at `i`. Whether `the` before it belongs to the words is said by [`needs_the`].
pub(super) fn frame_at(text: &Folded, i: usize, context: &Context) -> Option<(Frame, usize)> {
    sided(text, i, context)
        .or_else(|| before_last(text, i, context))
        .or_else(|| the_period(text, i))
        .or_else(|| ago(text, i, context))
        .or_else(|| named_month(text, i, context))
        .or_else(|| named_year(text, i))
}

/// The words begin with "the" when they go on like this: "the current week".
pub(super) fn needs_the(text: &Folded, i: usize) -> bool {
    text.any_at(i, &["current ", "previous ", "prior "]).is_some()
}

/// A frame of a unit so many from now.
pub(super) fn away(unit: Unit, by: i64, context: &Context) -> Option<Frame> {
    let (first, _) = calendar::whole(context.today, unit, by)?;
    Some(match unit {
        Unit::Day => return None,
        Unit::Week => Frame::Week(first),
        Unit::Month => Frame::Month { year: Some(Year::Calendar(first.year())), month: first.month() },
        Unit::Year => Frame::Year(Year::Calendar(first.year())),
    })
}

fn unit_at(text: &Folded, i: usize) -> Option<(Unit, usize)> {
    text.lookup(i, &UNITS).filter(|(_, end)| text.at(*end) != Some('-'))
}

fn fiscal_away(by: i64, context: &Context) -> Option<Frame> {
    let this = calendar::fiscal_year(context.today, fiscal_start(context))?;
    Some(Frame::Year(Year::Fiscal(this.checked_add(i32::try_from(by).ok()?)?)))
}

/// "Last week", "the current month", "this quarter", "next fiscal year".
fn sided(text: &Folded, i: usize, context: &Context) -> Option<(Frame, usize)> {
    let i = text.word_at(i, "the ").filter(|at| needs_the(text, *at)).unwrap_or(i);
    let (by, at) = text.lookup(i, &SIDES)?;
    if let Some((_, end)) = text.any_at(at, &FISCAL) {
        return Some((fiscal_away(by, context)?, end));
    }
    if let Some((_, end)) = text.any_at(at, &["quarter", "qtr"]) {
        return Some((Frame::Quarter(by), end));
    }
    let (unit, end) = unit_at(text, at).filter(|_| text.word_at(at, "fortnight").is_none())?;
    Some((away(unit, by, context)?, end))
}

/// "The week before last", "the month after next".
fn before_last(text: &Folded, i: usize, context: &Context) -> Option<(Frame, usize)> {
    let at = text.word_at(i, "the ").unwrap_or(i);
    let (unit, at) = unit_at(text, at)?;
    let (by, end) = text.lookup(text.skip_spaces(at), &[("before last", -2), ("after next", 2)])?;
    Some((away(unit, by, context)?, end))
}

/// "The month", "the fiscal year".
fn the_period(text: &Folded, i: usize) -> Option<(Frame, usize)> {
    let at = text.word_at(i, "the ").unwrap_or(i);
    text.lookup(
        at,
        &[
            ("fiscal year", Frame::TheFiscalYear),
            ("financial year", Frame::TheFiscalYear),
            ("quarter", Frame::TheQuarter),
            ("month", Frame::TheMonth),
            ("year", Frame::TheYear),
        ],
    )
}

/// "Two weeks ago", "a month ago".
fn ago(text: &Folded, i: usize, context: &Context) -> Option<(Frame, usize)> {
    let (n, unit, at) = count_of(text, i)?;
    let end = text.word_at(text.skip_spaces(at), "ago")?;
    Some((away(unit, n.checked_neg()?, context)?, end))
}

/// "Three weeks", "a month", "a fortnight". Gives the number, the unit and the end.
pub(super) fn count_of(text: &Folded, i: usize) -> Option<(i64, Unit, usize)> {
    const DAYS: [(&str, Unit); 2] = [("days", Unit::Day), ("day", Unit::Day)];
    if let Some((_, end)) = text.any_at(i, &["half a year", "a half year", "a half-year"]) {
        return Some((6, Unit::Month, end));
    }
    let (n, at) = match text.any_at(i, &["a ", "an "]) {
        Some((_, at)) => (1, at),
        None => {
            let (n, end) = numbers::count_at(text, i).filter(|_| !numbers::joins_left(text, i))?;
            (i64::from(n), text.skip_spaces(end))
        }
    };
    let (unit, end) = unit_at(text, at).or_else(|| text.lookup(at, &DAYS))?;
    let size = if text.word_at(at, "fortnight").is_some() { 2 } else { 1 };
    (text.at(end) != Some('-')).then_some((n * size, unit, end))
}

/// "November", "Nov 2025", "November of last year".
fn named_month(text: &Folded, i: usize, context: &Context) -> Option<(Frame, usize)> {
    let (month, end) = month_at(text, i)?;
    let (year, end) = year_after(text, end, context).map_or((None, end), |(year, end)| (Some(year), end));
    Some((Frame::Month { year, month }, end))
}

/// A month's name, with the full stop of a short one.
pub(super) fn month_at(text: &Folded, i: usize) -> Option<(u32, usize)> {
    let (month, end) = text.lookup(i, &MONTHS)?;
    let short = end - i <= 4 && month != 5;
    let dotted = text.at(end) == Some('.') && short && text.at(end + 1).is_some_and(|c| c == ' ' || c.is_ascii_digit());
    Some((month, if dotted { end + 1 } else { end }))
}

/// What after a month or a day says the year: ", 2026", " last year", " of this year".
pub(super) fn year_after(text: &Folded, end: usize, context: &Context) -> Option<(Year, usize)> {
    let at = text.skip_spaces(text.word_at(end, ",").unwrap_or(end));
    // Nov '26.
    if let (Some('\''), Some((year, 2, after))) = (text.at(at), numbers::digits_at(text, at + 1)) {
        let year = i32::try_from(year).ok()?.checked_add(2000)?;
        return text.at(after).is_none_or(|c| !c.is_ascii_alphanumeric()).then_some((Year::Calendar(year), after));
    }
    if at == end {
        return None;
    }
    if let Some(found) = year_number(text, at) {
        return Some(found);
    }
    let at = text.any_at(at, &["of ", "in "]).map_or(at, |(_, at)| at);
    if let Some(found) = year_number(text, at) {
        return Some(found);
    }
    match sided(text, at, context).or_else(|| before_last(text, at, context))? {
        (Frame::Year(year), end) => Some((year, end)),
        _ => None,
    }
}

/// Four figures that can be a year and count nothing.
fn year_number(text: &Folded, i: usize) -> Option<(Year, usize)> {
    let (year, 4, end) = numbers::digits_at(text, i)? else { return None };
    let goes_on = text.at(end).is_some_and(|c| c.is_ascii_alphanumeric())
        || (text.at(end).is_some_and(|c| ",./-".contains(c)) && text.at(end + 1).is_some_and(|c| c.is_ascii_digit()));
    let year = i32::try_from(year).ok().filter(|y| (1900..=2199).contains(y))?;
    (!goes_on && !super::counted(text, end)).then_some((Year::Calendar(year), end))
}

/// FY2025, FY25, "fiscal 2025", "fiscal year 2025", 2025.
pub(super) fn named_year(text: &Folded, i: usize) -> Option<(Frame, usize)> {
    if let Some((_, at)) =
        text.any_at(i, &["fiscal year ", "financial year ", "fiscal ", "fy ", "fy"]).or_else(|| fy(text, i))
    {
        let (year, len, end) = numbers::digits_at(text, at)?;
        let year = match len {
            4 => i32::try_from(year).ok().filter(|y| (1900..=2199).contains(y))?,
            2 => 2000 + i32::try_from(year).ok()?,
            _ => return None,
        };
        // FY24/25 and FY2024-25 name one year or two.
        let pair =
            text.at(end).is_some_and(|c| "-/".contains(c)) && text.at(end + 1).is_some_and(|c| c.is_ascii_digit());
        let ends = text.at(end).is_none_or(|c| !c.is_ascii_alphanumeric()) && !pair;
        return ends.then_some((Frame::Year(Year::Fiscal(year)), end));
    }
    let (year, end) = year_number(text, i)?;
    Some((Frame::Year(year), end))
}

fn fy(text: &Folded, i: usize) -> Option<(&'static str, usize)> {
    (text.at(i) == Some('f') && text.at(i + 1) == Some('y')).then_some(("fy", i + 2))
}
