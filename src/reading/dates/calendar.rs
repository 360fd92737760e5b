//! The calendar: weeks, months, and days that may not exist.

use chrono::{Datelike, Days, Months, NaiveDate, Weekday};

use super::Meaning;
use crate::reading::fold::Folded;
use crate::reading::{Reading, Refusal};

pub(super) const WEEKDAYS: [Weekday; 7] =
    [Weekday::Mon, Weekday::Tue, Weekday::Wed, Weekday::Thu, Weekday::Fri, Weekday::Sat, Weekday::Sun];

/// One reading, or several without repetition.
pub(super) fn among(readings: Vec<Reading>) -> Meaning {
    let mut distinct: Vec<Reading> = Vec::new();
    for reading in readings {
        if !distinct.contains(&reading) {
            distinct.push(reading);
        }
    }
    match distinct.as_slice() {
        [] => Meaning::Refused(Refusal::NoSuchDay),
        [only] => Meaning::Clear(*only),
        _ => Meaning::Ambiguous(distinct),
    }
}

pub(super) fn clear(day: Option<NaiveDate>) -> Option<Meaning> {
    Some(Meaning::Clear(Reading::Day(day?)))
}

pub(super) fn range(start: Option<NaiveDate>, end: Option<NaiveDate>) -> Option<Meaning> {
    Some(Meaning::Clear(Reading::Range(start?, end?)))
}

pub(super) fn days(day: NaiveDate, by: i64) -> Option<NaiveDate> {
    let size = Days::new(by.unsigned_abs());
    if by < 0 { day.checked_sub_days(size) } else { day.checked_add_days(size) }
}

pub(super) fn months(day: NaiveDate, by: i32) -> Option<NaiveDate> {
    let size = Months::new(by.unsigned_abs());
    if by < 0 { day.checked_sub_months(size) } else { day.checked_add_months(size) }
}

/// The day of a weekday in the week `by` weeks from this one.
pub(super) fn weekday_in_week(today: NaiveDate, by: i64, weekday: Weekday) -> Option<NaiveDate> {
    let monday = days(today, -i64::from(today.weekday().num_days_from_monday()))?;
    days(monday, by.checked_mul(7)? + i64::from(weekday.num_days_from_monday()))
}

/// A whole week.
pub(super) fn week(today: NaiveDate, by: i64) -> Option<Meaning> {
    range(weekday_in_week(today, by, Weekday::Mon), weekday_in_week(today, by, Weekday::Sun))
}

/// The first day of the month `by` months from this one.
pub(super) fn month_start(today: NaiveDate, by: i32) -> Option<NaiveDate> {
    months(today.with_day(1)?, by)
}

/// The last day of the month `by` months from this one.
pub(super) fn month_end(today: NaiveDate, by: i32) -> Option<NaiveDate> {
    month_start(today, by.checked_add(1)?)?.pred_opt()
}

/// The month `by` months from this one.
pub(super) fn month(today: NaiveDate, by: i32) -> Option<Meaning> {
    range(month_start(today, by), month_end(today, by))
}

/// A whole year.
pub(super) fn year(year: i32) -> Option<Meaning> {
    range(NaiveDate::from_ymd_opt(year, 1, 1), NaiveDate::from_ymd_opt(year, 12, 31))
}

/// A month of a year as a period.
pub(super) fn month_of(year: i32, month: u32) -> Option<Reading> {
    let first = NaiveDate::from_ymd_opt(year, month, 1)?;
    Some(Reading::Range(first, month_end(first, 0)?))
}

/// A day of a year, refused when the calendar has none.
pub(super) fn day_of(year: i32, month: u32, day: u32) -> Meaning {
    NaiveDate::from_ymd_opt(year, month, day)
        .map_or(Meaning::Refused(Refusal::NoSuchDay), |d| Meaning::Clear(Reading::Day(d)))
}

/// A month and day without a year: this year's and the one on the other side of today, those not after today first.
pub(super) fn day_in_some_year(today: NaiveDate, month: u32, day: u32) -> Meaning {
    let this = NaiveDate::from_ymd_opt(today.year(), month, day);
    let last = NaiveDate::from_ymd_opt(today.year() - 1, month, day);
    among(past_first(today, [this, last]).into_iter().map(Reading::Day).collect())
}

/// A day without a month: this month's and last month's, those not after today first.
pub(super) fn day_in_some_month(today: NaiveDate, day: u32) -> Meaning {
    let this = today.with_day(day);
    let last = month_start(today, -1).and_then(|m| m.with_day(day));
    among(past_first(today, [this, last]).into_iter().map(Reading::Day).collect())
}

/// A month without a year.
pub(super) fn month_in_some_year(today: NaiveDate, month: u32) -> Meaning {
    let mut readings: Vec<Reading> =
        [today.year(), today.year() - 1].into_iter().filter_map(|y| month_of(y, month)).collect();
    readings.sort_by_key(|r| r.start() > Some(today));
    among(readings)
}

/// A weekday without a week: the latest one up to today and the next one.
pub(super) fn weekday_near(today: NaiveDate, weekday: Weekday) -> Option<Meaning> {
    let back = i64::from(weekday.num_days_from_monday()) - i64::from(today.weekday().num_days_from_monday());
    let latest = days(today, if back > 0 { back - 7 } else { back })?;
    Some(among(vec![Reading::Day(latest), Reading::Day(days(latest, 7)?)]))
}

fn past_first(today: NaiveDate, days: [Option<NaiveDate>; 2]) -> Vec<NaiveDate> {
    let mut days: Vec<NaiveDate> = days.into_iter().flatten().collect();
    days.sort_by_key(|d| *d > today);
    days
}

/// `火曜日`, `火曜`, or bare `火` where nothing but a weekday can stand. Gives the end.
pub(super) fn kanji_weekday(text: &Folded, i: usize, spelled_out: bool) -> Option<(Weekday, usize)> {
    let index = text.at(i).and_then(|c| "月火水木金土日".chars().position(|k| k == c))?;
    let weekday = WEEKDAYS.get(index).copied()?;
    match text.any_at(i + 1, &["曜日", "曜"]) {
        Some((_, end)) => Some((weekday, end)),
        None => (!spelled_out).then_some((weekday, i + 1)),
    }
}
