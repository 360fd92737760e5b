//! The calendar: days that may not exist, weeks, months, fiscal years. Nothing here can overflow: what lies outside the
//! calendar is none.

use chrono::{Datelike, Days, Months, NaiveDate, Weekday};

pub(super) const WEEKDAYS: [Weekday; 7] =
    [Weekday::Mon, Weekday::Tue, Weekday::Wed, Weekday::Thu, Weekday::Fri, Weekday::Sat, Weekday::Sun];

/// First and last day.
pub(super) type Period = (NaiveDate, NaiveDate);

/// The lengths in which people count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Day,
    Week,
    Month,
    Year,
}

pub(super) fn days(day: NaiveDate, by: i64) -> Option<NaiveDate> {
    let size = Days::new(by.unsigned_abs());
    if by < 0 { day.checked_sub_days(size) } else { day.checked_add_days(size) }
}

/// The same day so many months away, or the last one of a shorter month.
pub(super) fn months(day: NaiveDate, by: i64) -> Option<NaiveDate> {
    let size = Months::new(u32::try_from(by.unsigned_abs()).ok()?);
    if by < 0 { day.checked_sub_months(size) } else { day.checked_add_months(size) }
}

/// The same day so many units away.
pub(super) fn shifted(day: NaiveDate, unit: Unit, by: i64) -> Option<NaiveDate> {
    match unit {
        Unit::Day => days(day, by),
        Unit::Week => days(day, by.checked_mul(7)?),
        Unit::Month => months(day, by),
        Unit::Year => months(day, by.checked_mul(12)?),
    }
}

/// The whole unit that lies so many units from the one a day is in.
pub(super) fn whole(day: NaiveDate, unit: Unit, by: i64) -> Option<Period> {
    match unit {
        Unit::Day => days(day, by).map(|d| (d, d)),
        Unit::Week => week(days(monday(day)?, by.checked_mul(7)?)?),
        Unit::Month => {
            let first = months(day.with_day(1)?, by)?;
            month(first.year(), first.month())
        }
        Unit::Year => year(day.year().checked_add(i32::try_from(by).ok()?)?),
    }
}

pub(super) fn monday(day: NaiveDate) -> Option<NaiveDate> {
    days(day, -i64::from(day.weekday().num_days_from_monday()))
}

/// The week that begins on a Monday.
pub(super) fn week(monday: NaiveDate) -> Option<Period> {
    Some((monday, days(monday, 6)?))
}

pub(super) fn in_week(monday: NaiveDate, weekday: Weekday) -> Option<NaiveDate> {
    days(monday, i64::from(weekday.num_days_from_monday()))
}

/// Saturday and Sunday of the week that begins on a Monday.
pub(super) fn weekend(monday: NaiveDate) -> Option<Period> {
    Some((days(monday, 5)?, days(monday, 6)?))
}

/// The first such weekday on or after a day.
pub(super) fn on_or_after(day: NaiveDate, weekday: Weekday) -> Option<NaiveDate> {
    let ahead = i64::from(weekday.num_days_from_monday()) - i64::from(day.weekday().num_days_from_monday());
    days(day, ahead.rem_euclid(7))
}

/// The latest such weekday up to and with a day.
pub(super) fn up_to(day: NaiveDate, weekday: Weekday) -> Option<NaiveDate> {
    days(on_or_after(day, weekday)?, if day.weekday() == weekday { 0 } else { -7 })
}

pub(super) fn month(year: i32, month: u32) -> Option<Period> {
    let first = NaiveDate::from_ymd_opt(year, month, 1)?;
    Some((first, last_of_month(first)?))
}

pub(super) fn last_of_month(day: NaiveDate) -> Option<NaiveDate> {
    months(day.with_day(1)?, 1)?.pred_opt()
}

pub(super) fn year(year: i32) -> Option<Period> {
    Some((NaiveDate::from_ymd_opt(year, 1, 1)?, NaiveDate::from_ymd_opt(year, 12, 31)?))
}

/// `n` months of a year that begins with the month `start`, after the first `skip` of them.
pub(super) fn months_of_year(year: i32, start: u32, skip: i64, n: i64) -> Option<Period> {
    let first = months(NaiveDate::from_ymd_opt(year, start, 1)?, skip)?;
    Some((first, months(first, n)?.pred_opt()?))
}

/// The fiscal year a day is in, named for the year in which it begins.
pub(super) fn fiscal_year(day: NaiveDate, start: u32) -> Option<i32> {
    if day.month() >= start { Some(day.year()) } else { day.year().checked_sub(1) }
}
