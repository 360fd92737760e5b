//! Dates in figures, of both languages: 2026-11-24, 20261124, 12/3, 3/4/2026, R8.11.24, Q1.

use chrono::Datelike;

use super::era::Era;
use super::expr::{Expr, OfMonth, Part, Year};
use super::{Atom, expr, frames, japanese};
use crate::reading::fold::Folded;
use crate::reading::{Context, Reading, numbers, units};

/// Years that four figures can mean.
const PLAUSIBLE: std::ops::RangeInclusive<u32> = 1900..=2199;

/// What before eight figures says that they number something.
const CODES: [&str; 10] = ["sku", "ref", "no.", "#", "order", "invoice", "item", "code", "lot", "id"];

/// What after 3/4 says that it is a fraction, a size or a ratio.
const AFTER_FRACTION: [&str; 22] = [
    "スケール",
    "の人",
    "の確率",
    "の大きさ",
    "に減",
    " of ",
    "サイズ",
    "カット",
    "切",
    "個",
    "本",
    "玉",
    "箱",
    "袋",
    "株",
    "量",
    "程度",
    "ほど",
    "の量",
    "の割合",
    "%",
    "倍",
];

/// The date in figures that begins at `i`.
pub(super) fn at(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    if let Some(era) = Era::letter_at(text, i) {
        return era_letter(text, i, era, context);
    }
    if text.at(i) == Some('\'') {
        let (year, 2, end) = numbers::digits_at(text, i + 1)? else { return None };
        return year_first(text, end, 2000 + year);
    }
    let joins = text.before(i).is_some_and(|c| "/#".contains(c)) && !ends_interval(text, i);
    let joined = numbers::joins_left(text, i) && !is_next_cell(text, i);
    if joined || joins || dash_joins(text, i) {
        return None;
    }
    let (first, len, end) = numbers::digits_at(text, i)?;
    match len {
        8 => compact(text, i, first, end),
        4 => year_first(text, end, first).or_else(|| {
            let (month, day, after) = month_and_day(text, text.word_at(end, " ")?)?;
            PLAUSIBLE.contains(&first).then(|| Atom::new(ymd(first, month, day), after))
        }),
        1 | 2 => short(text, i, first, end, context),
        _ => None,
    }
}

/// A comma before it parts it from another date or a code: 11/20,11/21 and 0002,2026/11/20.
fn is_next_cell(text: &Folded, i: usize) -> bool {
    let (Some(','), Some((_, len, end))) = (text.before(i), numbers::digits_at(text, i)) else { return false };
    let mut start = i - 1;
    while text.before(start).is_some_and(|c| c.is_ascii_digit() || c == '/') {
        start -= 1;
    }
    let dated = text.chars().get(start..i).is_some_and(|cell| cell.contains(&'/'));
    let dashed = len == 4 && text.at(end) == Some('-');
    dashed || (text.at(end) == Some('/') && (dated || len == 4))
}

/// The second date of 2026-11-03/2026-11-05.
pub(super) fn ends_interval(text: &Folded, i: usize) -> bool {
    let back = |n: usize| i.checked_sub(n).and_then(|at| text.at(at));
    let year = numbers::digits_at(text, i).is_some_and(|(_, len, end)| len == 4 && text.at(end) == Some('-'));
    year && back(1) == Some('/') && back(4) == Some('-') && back(2).is_some_and(|c| c.is_ascii_digit())
}

/// A dash before that follows a digit or letter: telephone numbers, codes. A date before it is a range's first end.
fn dash_joins(text: &Folded, i: usize) -> bool {
    let Some('-') = text.before(i) else { return false };
    let mut start = i - 1;
    while text.before(start).is_some_and(|c| c.is_ascii_alphanumeric()) {
        start -= 1;
    }
    // 0120-11-1124, a-11/24; but 11/1-11/10.
    start < i - 1 && text.before(start).is_none_or(|c| !"/-.".contains(c))
}

fn ymd(year: u32, month: u32, day: u32) -> Expr {
    Expr::in_month(i32::try_from(year).ok().map(Year::Calendar), Some(month), OfMonth::Day(day))
}

/// 20261124; other numbers of eight figures are no dates.
fn compact(text: &Folded, i: usize, value: u32, end: usize) -> Option<Atom> {
    let (year, month, day) = (value / 10_000, value / 100 % 100, value % 100);
    let real = chrono::NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day).is_some();
    let ends = text.at(end).is_none_or(|c| !c.is_ascii_alphanumeric() && !"-/".contains(c));
    let figures =
        text.at(end).is_some_and(|c| ",.".contains(c)) && text.at(end + 1).is_some_and(|c| c.is_ascii_digit());
    let coded = CODES.iter().any(|w| text.word_before(i, w).is_some());
    // ¥20261124, "20261124 yen".
    let amount = text.before(i) == Some('¥') || units::currency_at(text, text.skip_spaces(end));
    let ends = ends && !figures && !coded && !amount;
    (PLAUSIBLE.contains(&year) && real && ends).then(|| Atom::new(ymd(year, month, day), end))
}

/// After a year: `-11-24`, `/11/24`, `.11.24`, `/11`.
fn year_first(text: &Folded, at: usize, year: u32) -> Option<Atom> {
    let spaced = text.word_at(at, " / ").map(|next| ('/', next)).filter(|(_, next)| spaced_day(text, *next));
    let (separator, next) = spaced.or_else(|| text.at(at).map(|c| (c, at + 1)))?;
    if !"-/.".contains(separator) || !PLAUSIBLE.contains(&year) {
        return None;
    }
    let (month, 1..=2, end) = numbers::digits_at(text, next)? else { return None };
    if let (true, Some((_, day))) = (spaced.is_some(), spaced.and(text.any_at(end, &[" / "]))) {
        let (day, 1..=2, end) = numbers::digits_at(text, day)? else { return None };
        return Some(Atom::new(ymd(year, month, day), end));
    }
    // 2025/26 is a season or a fiscal year.
    if separator != '.' && month > 12 && month == (year + 1) % 100 {
        return Some(Atom::nothing(end));
    }
    let goes_on = |end: usize| text.at(end) == Some(separator) && text.at(end + 1).is_some_and(|c| c.is_ascii_digit());
    // 2026-11-24T10:30 goes on with the time.
    let time = |end: usize| text.at(end) == Some('t') && text.at(end + 1).is_some_and(|c| c.is_ascii_digit());
    let letter = |end: usize| text.at(end).is_some_and(|c| c.is_ascii_alphanumeric()) && !time(end);
    if !goes_on(end) {
        let whole = separator != '.' && !letter(end);
        // 2025/4〜9 ends with a month.
        if let Some((last, 1..=2, to)) = text.word_at(end, "~").and_then(|at| numbers::digits_at(text, at))
            && whole
            && text.at(to).is_none_or(|c| "のにはをで、。 ".contains(c))
        {
            let of = |month| expr::of_month(i32::try_from(year).ok()?, month, OfMonth::Whole);
            let months = of(month).zip(of(last)).filter(|_| month < last)?;
            return Atom::one(Expr::given(Reading::Range(months.0.start()?, months.1.end()?)), to);
        }
        return whole.then(|| Atom::new(Expr { part: Part::OfMonth(OfMonth::Whole), ..ymd(year, month, 1) }, end));
    }
    let (day, 1..=2, end) = numbers::digits_at(text, end + 1)? else { return None };
    let another = text.at(end + 1).is_some_and(|c| c.is_ascii_digit()) && !spans_to_year(text, end + 1);
    // 2026/11/24-01 is a number of something, 2026/11/24-26 a range.
    let later = numbers::digits_at(text, end + 1)
        .is_some_and(|(d, len, _)| (len == 2 || text.at(end + 1) != Some('0')) && d > day && d < 32);
    let dashed = text.at(end) == Some('-') && another && !later && separator != '-';
    let part = letter(end) || dashed || (text.at(end) == Some(separator) && another);
    (!part).then(|| Atom {
        day_may_follow: separator != '-' || text.at(end) != Some('-'),
        ..Atom::new(ymd(year, month, day), end)
    })
}

/// `11 / 24` after `2026 / `.
fn spaced_day(text: &Folded, at: usize) -> bool {
    let month = numbers::digits_at(text, at).filter(|(_, len, _)| *len <= 2);
    month.is_some_and(|(.., end)| text.word_at(end, " / ").is_some_and(|at| numbers::digits_at(text, at).is_some()))
}

/// Four figures: the other end of 2026/11/1-2026/11/10.
fn spans_to_year(text: &Folded, at: usize) -> bool {
    numbers::digits_at(text, at).is_some_and(|(year, len, _)| len == 4 && PLAUSIBLE.contains(&year))
}

/// 12/3, 3/4/2026, 11/24/26, 10/2026, 11-24-2026.
fn short(text: &Folded, i: usize, first: u32, at: usize, context: &Context) -> Option<Atom> {
    let spaced = text.any_at(at, &[" / "]).map(|(_, next)| ('/', next));
    let (separator, next) = spaced.or_else(|| text.at(at).filter(|c| "-/.".contains(*c)).map(|c| (c, at + 1)))?;
    let (second, len, end) = numbers::digits_at(text, next)?;
    if separator == '/' && len == 4 && (1..=12).contains(&first) && PLAUSIBLE.contains(&second) {
        let ends = text.at(end).is_none_or(|c| !c.is_ascii_alphanumeric() && !"/-".contains(c));
        let ends = ends || begins_range(text, end);
        return ends.then(|| Atom::new(Expr { part: Part::OfMonth(OfMonth::Whole), ..ymd(second, first, 1) }, end));
    }
    if len > 2 {
        return None;
    }
    let third = if text.at(end) == Some(separator) { numbers::digits_at(text, end + 1) } else { None };
    match third {
        // 24.11.2026 is written where the day stands first.
        Some((year, 4, end)) if separator == '.' => {
            let goes_on = text.at(end) == Some('.') && text.at(end + 1).is_some_and(|c| c.is_ascii_digit());
            let ends = text.at(end).is_none_or(|c| !c.is_ascii_alphanumeric()) && !goes_on;
            let dated = PLAUSIBLE.contains(&year) && is_near_day(second, first) && ends;
            dated.then(|| Atom::new(ymd(year, second, first), end))
        }
        Some((year, 4, end)) if PLAUSIBLE.contains(&year) => with_year_last(text, first, second, year, end),
        Some((third, 2, end)) if separator == '/' && text.is_japanese() => {
            let ends = text.at(end).is_none_or(|c| !c.is_ascii_alphanumeric() && c != '/');
            (ends && is_day(second, third)).then(|| Atom::new(ymd(2000 + first, second, third), end))
        }
        // 25/11/20: no year so old ends what anyone writes here.
        Some((third, 2, end))
            if separator == '/' && third < 22 && (23..40).contains(&first) && is_day(second, third) =>
        {
            let ends = text.at(end).is_none_or(|c| !c.is_ascii_alphanumeric() && !"/-".contains(c));
            ends.then(|| Atom::new(ymd(2000 + first, second, third), end))
        }
        // 12/31/99 is no year to come.
        Some((year, 2, end)) if separator == '/' => {
            with_year_last(text, first, second, if year < 70 { 2000 } else { 1900 } + year, end)
        }
        None if separator == '/' => month_day(text, i, first, second, end, context),
        // 11-20(金): the weekday says that it is a day.
        None if japanese::bracketed_weekday(text, end).is_some() && is_day(first, second) => {
            Atom::one(Expr::in_month(None, Some(first), OfMonth::Day(second)), end)
        }
        _ => None,
    }
}

fn is_day(month: u32, day: u32) -> bool {
    // 2024 has every day.
    chrono::NaiveDate::from_ymd_opt(2024, month, day).is_some()
}

fn is_near_day(month: u32, day: u32) -> bool {
    (1..=12).contains(&month) && (1..=39).contains(&day)
}

/// `-11/15/2026` after a date with its year last: the other end.
fn begins_range(text: &Folded, at: usize) -> bool {
    let Some((_, 1..=2, end)) = text.word_at(at, "-").and_then(|at| numbers::digits_at(text, at)) else { return false };
    text.at(end) == Some('/')
}

/// 3/4/2026: month/day or day/month, both where both are dates; what has happened first.
fn with_year_last(text: &Folded, first: u32, second: u32, year: u32, end: usize) -> Option<Atom> {
    if text.at(end).is_some_and(|c| c.is_ascii_alphanumeric() || "/-".contains(c)) && !begins_range(text, end) {
        return None;
    }
    let day = |month, day| chrono::NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day);
    let mut days: Vec<_> = [day(first, second), day(second, first)].into_iter().flatten().collect();
    days.dedup();
    if days.is_empty() {
        let dated = is_near_day(first, second) || is_near_day(second, first);
        return dated.then(|| Atom::new(ymd(year, first, second), end));
    }
    // The order of month and day stays known, so that it can be the same at both ends of a range.
    let exprs = days.into_iter().map(|d| ymd(year, d.month(), d.day())).collect();
    Some(Atom { exprs, ..Atom::nothing(end) }.sharing())
}

/// 12/3: in a sentence without Japanese also the third of December's other order.
fn month_day(text: &Folded, i: usize, first: u32, second: u32, end: usize, context: &Context) -> Option<Atom> {
    let next = text.at(end);
    let goes_on = next.is_some_and(|c| c.is_ascii_alphabetic() || "/%".contains(c))
        || (next == Some('.') && text.at(end + 1).is_some_and(|c| c.is_ascii_digit()));
    let ratio = fraction(text, i, first, second, end)
        || (first, second) == (24, 7)
        || text.any_at(end, &AFTER_FRACTION).is_some()
        || super::counted(text, end);
    if goes_on || ratio {
        return None;
    }
    let month_day = |month, day| Expr::in_month(None, Some(month), OfMonth::Day(day));
    let mut exprs = Vec::new();
    if is_day(first, second) {
        exprs.push(month_day(first, second));
    }
    if !text.is_japanese() && first != second && is_day(second, first) {
        exprs.push(month_day(second, first));
    }
    if exprs.is_empty() && (is_near_day(first, second) || (!text.is_japanese() && is_near_day(second, first))) {
        exprs.push(month_day(first, second));
    }
    if exprs.is_empty() {
        return None;
    }
    match frames::year_after(text, end, context) {
        Some((year, end)) => {
            exprs.iter_mut().for_each(|e| e.year = Some(year));
            Some(Atom { exprs, shares: true, ..Atom::nothing(end) })
        }
        None => Some(Atom { exprs, day_may_follow: true, ..Atom::nothing(end) }),
    }
}

/// 1/2 price, 3/4 inch, 9 3/4 mugs, rated 4/5, 9/10 customers, 2/10 net 30, exp 03/27: parts, marks, terms, other months.
fn fraction(text: &Folded, i: usize, first: u32, second: u32, end: usize) -> bool {
    const AFTER: [&str; 13] = [
        "price",
        "inch",
        "inches",
        "cup",
        "cups",
        "pint",
        "mile",
        "miles",
        "full",
        "size",
        "scale",
        "customers",
        "people",
    ];
    const BEFORE: [&str; 12] =
        ["rated", "rating", "score", "scored", "exp", "expires", "expiry", "best before", "ref", "sku", "page", "step"];
    let mixed = text.before(i) == Some(' ')
        && text.before(i - 1).is_some_and(|c| c.is_ascii_digit())
        && first < second
        && matches!(second, 2 | 3 | 4 | 8)
        && units::plural_at(text, text.skip_spaces(end)).is_some();
    mixed
        || (first < second && second <= 16 && text.any_at(text.skip_spaces(end), &AFTER).is_some())
        || text.any_at(text.skip_spaces(end), &["net ", "eom"]).is_some()
        || BEFORE
            .iter()
            .any(|w| text.word_before(i, w).or_else(|| text.word_before(text.word_before(i, ":")?, w)).is_some())
}

/// `12/3` after a year.
pub(super) fn month_and_day(text: &Folded, i: usize) -> Option<(u32, u32, usize)> {
    let (month, 1..=2, at) = numbers::digits_at(text, i)? else { return None };
    let (day, 1..=2, end) = numbers::digits_at(text, text.word_at(at, "/")?)? else { return None };
    let ends = text.at(end).is_none_or(|c| !c.is_ascii_alphanumeric() && c != '/');
    (ends && is_near_day(month, day)).then_some((month, day, end))
}

/// R8.11.24, H31/4/30.
fn era_letter(text: &Folded, i: usize, era: Era, context: &Context) -> Option<Atom> {
    if text.before(i).is_some_and(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
        return None;
    }
    let (n, 1..=2, at) = numbers::digits_at(text, i + 1)? else { return None };
    if let Some(end) = text.word_at(at, "年") {
        let n = i32::try_from(n).ok()?;
        if let Some(end) = text.word_at(end, "度") {
            return Some(japanese::within_year(text, end, Year::Fiscal(era.year(n)?), context));
        }
        let year = Year::Era(era, n);
        return Some(japanese::within_year(text, end, year, context));
    }
    let separator = text.at(at).filter(|c| "./".contains(*c))?;
    let (month, 1..=2, at) = numbers::digits_at(text, at + 1)? else { return None };
    if text.at(at) != Some(separator) {
        return None;
    }
    let (day, 1..=2, end) = numbers::digits_at(text, at + 1)? else { return None };
    let ends = text.at(end).is_none_or(|c| !c.is_ascii_alphanumeric() && !"./".contains(c));
    let year = Year::Era(era, i32::try_from(n).ok()?);
    ends.then(|| Atom::new(Expr::in_month(Some(year), Some(month), OfMonth::Day(day)), end))
}

/// `第1四半期`, `Q1`, `1Q`. The first quarter is 0.
pub(super) fn quarter(text: &Folded, i: usize) -> Option<(u32, usize)> {
    let latin = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let (n, end) = if let Some(at) = text.word_at(i, "第") {
        // One character: 第三四半期 is not the thirty-fourth.
        let n = text.at(at).and_then(|c| {
            c.to_digit(10).or_else(|| "〇一二三四".chars().zip(0..).find(|(k, _)| *k == c).map(|(_, n)| n))
        })?;
        (n, text.word_at(at + 1, "四半期")?)
    } else if text.at(i) == Some('q') {
        let (n, 1, end) = numbers::digits_at(text, i + 1)? else { return None };
        (n, end)
    } else {
        let (n, 1, end) = numbers::digits_at(text, i)? else { return None };
        (n, text.word_at(end, "q")?)
    };
    let alone = text.at(i) == Some('第') || (!latin(text.before(i)) && !latin(text.at(end)));
    ((1..=4).contains(&n) && alone).then(|| (n - 1, end))
}
