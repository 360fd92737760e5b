//! A date as it is said, before it is known which one is meant: 10日 leaves out the month, 11月 the year. What is left
//! out is filled from a neighbour (11/3と5日) or tried with the near ones.

use chrono::{Datelike, NaiveDate, Weekday};

use super::calendar::{self, Period};
use super::era::Era;
use crate::reading::{Context, Reading, Refusal};

/// A day or period, with what is known of where it lies.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expr {
    pub(super) year: Option<Year>,
    pub(super) month: Option<u32>,
    /// The Monday of the week it is in.
    pub(super) week: Option<NaiveDate>,
    pub(super) part: Part,
    /// The weekday written beside it.
    pub(super) weekday: Option<Weekday>,
    /// 翌日 is 1, 前日 is -1.
    pub(super) beside: i64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Year {
    Calendar(i32),
    Era(Era, i32),
    /// Named for the calendar year in which it begins.
    Fiscal(i32),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// Nothing is left out; the readings in their order.
    Given(Vec<Reading>),
    Refused(Refusal),
    Weekday(Weekday),
    Weekend,
    OfMonth(OfMonth),
    OfYear(OfYear),
}

/// A part of a month.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum OfMonth {
    Whole,
    Day(u32),
    /// 上旬 is 0.
    Third(u32),
    /// 前半 is 0.
    Half(u32),
    First,
    Last,
    /// 第2火曜.
    Nth(u32, Weekday),
    LastWeekday(Weekday),
}

/// A part of a year.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum OfYear {
    Whole,
    First,
    Last,
    /// 前半 is 0: of the calendar year, unless the year is a fiscal one.
    Half(u32),
    /// 上期 is 0, of the fiscal year or the calendar's.
    Term(u32, System),
    /// The first is 0.
    Quarter(u32, System),
}

/// Whose halves and quarters are meant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum System {
    Fiscal,
    Calendar,
}

impl From<Part> for Expr {
    fn from(part: Part) -> Self {
        Self { year: None, month: None, week: None, part, weekday: None, beside: 0 }
    }
}

impl Expr {
    pub(super) fn given(reading: Reading) -> Self {
        Part::Given(vec![reading]).into()
    }

    pub(super) fn day(day: Option<NaiveDate>) -> Option<Self> {
        day.map(|d| Self::given(Reading::Day(d)))
    }

    pub(super) fn period(period: Option<Period>) -> Option<Self> {
        period.map(|(a, b)| Self::given(Reading::Range(a, b)))
    }

    pub(super) fn in_month(year: Option<Year>, month: Option<u32>, part: OfMonth) -> Self {
        Self { year, month, ..Part::OfMonth(part).into() }
    }

    pub(super) fn in_year(year: Option<Year>, part: OfYear) -> Self {
        Self { year, ..Part::OfYear(part).into() }
    }

    pub(super) fn in_week(monday: Option<NaiveDate>, weekday: Weekday) -> Self {
        Self { week: monday, ..Part::Weekday(weekday).into() }
    }

    /// Fills what this one leaves out with what another one says.
    pub(super) fn take_from(&mut self, other: &Self) {
        match self.part {
            Part::OfMonth(_) => {
                if self.month.is_none() && other.month.is_some() {
                    (self.year, self.month) = (other.year, other.month);
                } else if self.month.is_some() && self.year.is_none() {
                    self.year = other.year;
                }
            }
            Part::OfYear(part) if self.year.is_none() && part != OfYear::Whole => self.year = other.year,
            Part::Weekday(_) if self.week.is_none() => self.week = other.week,
            _ => {}
        }
    }

    /// All readings, the likeliest first; at least one.
    pub(super) fn readings(&self, context: &Context) -> Result<Vec<Reading>, Refusal> {
        let found = match &self.part {
            Part::Given(readings) => readings.clone(),
            Part::Refused(why) => return Err(*why),
            _ => {
                let mut candidates = self.near(context)?;
                candidates.sort_by_key(|r| nearness(*r, context.today));
                candidates
            }
        };
        if found.is_empty() {
            return Err(Refusal::NoSuchDay);
        }
        self.beside_weekday(found)
    }

    /// The reading that ends soonest at or after a day, trying years, months and weeks from there.
    pub(super) fn ending_after(&self, start: NaiveDate, context: &Context) -> Result<Option<Reading>, Refusal> {
        let candidates = match &self.part {
            Part::Refused(why) => return Err(*why),
            Part::Given(readings) => readings.clone(),
            Part::Weekday(weekday) if self.week.is_none() => {
                calendar::on_or_after(start, *weekday).map(Reading::Day).into_iter().collect()
            }
            Part::Weekend if self.week.is_none() => {
                calendar::monday(start).and_then(calendar::weekend).map(range).into_iter().collect()
            }
            // 11/1〜31 does not go on to the next 31st: only an end smaller than the start lies in the next month.
            Part::OfMonth(part) if self.month.is_none() => (0..last_month_tried(*part, start))
                .filter_map(|by| {
                    let first = calendar::months(start.with_day(1)?, by)?;
                    of_month(first.year(), first.month(), *part)
                })
                .collect(),
            Part::OfMonth(_) | Part::OfYear(_) if self.year.is_none() => {
                // Nine years on, every day has come again, 29 February too.
                (-1..9).filter_map(|by| self.in_calendar_year(start.year().checked_add(by)?, context)).collect()
            }
            _ => self.near(context)?,
        };
        if candidates.is_empty() {
            return Err(Refusal::NoSuchDay);
        }
        let fitting = self.beside_weekday(candidates)?;
        Ok(fitting.into_iter().filter(|r| r.end() >= Some(start)).min_by_key(|r| r.end()))
    }

    /// Keeps what falls on the weekday that is written beside, and goes to the day before or after where that is said.
    fn beside_weekday(&self, mut readings: Vec<Reading>) -> Result<Vec<Reading>, Refusal> {
        if let Some(weekday) = self.weekday {
            readings.retain(|r| matches!(r, Reading::Day(d) if d.weekday() == weekday));
            if readings.is_empty() {
                return Err(Refusal::OtherWeekday);
            }
        }
        if self.beside != 0 {
            let base = |r: &Reading| if self.beside < 0 { r.start() } else { r.end() };
            readings =
                readings.iter().filter_map(|r| calendar::days(base(r)?, self.beside).map(Reading::Day)).collect();
        }
        Ok(readings)
    }

    /// The readings of the near years, months and weeks, in no order.
    fn near(&self, context: &Context) -> Result<Vec<Reading>, Refusal> {
        let today = context.today;
        Ok(match &self.part {
            Part::Given(_) | Part::Refused(_) => Vec::new(),
            Part::Weekday(weekday) => match self.week {
                Some(monday) => calendar::in_week(monday, *weekday).map(Reading::Day).into_iter().collect(),
                None => {
                    let latest = calendar::up_to(today, *weekday);
                    let next = latest.and_then(|d| calendar::days(d, 7));
                    latest.into_iter().chain(next).map(Reading::Day).collect()
                }
            },
            Part::Weekend => {
                let monday = self.week.or_else(|| calendar::monday(today));
                let this = monday.and_then(calendar::weekend);
                let last = monday.and_then(|m| calendar::weekend(calendar::days(m, -7)?));
                let ahead = self.week.is_none() && this.is_some_and(|w| w.0 > today);
                this.into_iter().chain(last.filter(|_| ahead)).map(range).collect()
            }
            Part::OfMonth(part) => match (self.year, self.month) {
                (Some(year), Some(month)) => year_bounded(year, month, *part, context)?.into_iter().collect(),
                (None, Some(_)) => self.this_and_last_year(context),
                (_, None) => {
                    let this = of_month(today.year(), today.month(), *part);
                    let last = calendar::whole(today, calendar::Unit::Month, -1)
                        .and_then(|(first, _)| of_month(first.year(), first.month(), *part));
                    let always = matches!(part, OfMonth::Day(_) | OfMonth::Nth(..) | OfMonth::LastWeekday(_));
                    let both = always || this.is_some_and(|r| r.start() > Some(today));
                    this.into_iter().chain(last.filter(|_| both)).collect()
                }
            },
            Part::OfYear(part) => match self.year {
                Some(Year::Era(era, n)) => {
                    let reading = of_year(Year::Era(era, n), *part, context).ok_or(Refusal::OutsideEra)?;
                    vec![era.clip(reading).ok_or(Refusal::OutsideEra)?]
                }
                Some(year) => of_year(year, *part, context).into_iter().collect(),
                None => {
                    let all = self.this_and_last_year(context);
                    let always = matches!(part, OfYear::Quarter(..));
                    let ahead = all.first().is_some_and(|r| r.start() > Some(today));
                    if always || ahead { all } else { all.into_iter().take(1).collect() }
                }
            },
        })
    }

    /// This year's, then last year's.
    fn this_and_last_year(&self, context: &Context) -> Vec<Reading> {
        let this = match self.part {
            Part::OfYear(OfYear::Term(_, System::Fiscal) | OfYear::Quarter(_, System::Fiscal)) => {
                calendar::fiscal_year(context.today, fiscal_start(context))
            }
            _ => Some(context.today.year()),
        };
        let years = this.into_iter().chain(this.and_then(|y| y.checked_sub(1)));
        years.filter_map(|y| self.in_calendar_year(y, context)).collect()
    }

    fn in_calendar_year(&self, year: i32, context: &Context) -> Option<Reading> {
        match self.part {
            Part::OfMonth(part) => of_month(year, self.month?, part),
            Part::OfYear(part) => of_year(Year::Calendar(year), part, context),
            _ => None,
        }
    }
}

/// How many months from a day on can hold the end of a period.
fn last_month_tried(part: OfMonth, start: NaiveDate) -> i64 {
    if matches!(part, OfMonth::Day(day) if day >= start.day()) { 1 } else { 4 }
}

/// The month in which the fiscal year begins.
pub(super) fn fiscal_start(context: &Context) -> u32 {
    if (1..=12).contains(&context.fiscal_start) { context.fiscal_start } else { 4 }
}

/// Sorts what has not begun after what has, and the nearer first.
pub(super) fn nearness(reading: Reading, today: NaiveDate) -> (bool, i64) {
    let begins = reading.start().unwrap_or(today);
    (begins > today, (begins - today).num_days().abs())
}

fn range((first, last): Period) -> Reading {
    Reading::Range(first, last)
}

pub(super) fn of_month(year: i32, month: u32, part: OfMonth) -> Option<Reading> {
    let (first, last) = calendar::month(year, month)?;
    let days = |from: u32, to: Option<u32>| {
        Some(Reading::Range(first.with_day(from)?, to.map_or(Some(last), |d| first.with_day(d))?))
    };
    match part {
        OfMonth::Whole => Some(Reading::Range(first, last)),
        OfMonth::Day(day) => first.with_day(day).map(Reading::Day),
        OfMonth::Third(0) => days(1, Some(10)),
        OfMonth::Third(1) => days(11, Some(20)),
        OfMonth::Third(_) => days(21, None),
        OfMonth::Half(0) => days(1, Some(15)),
        OfMonth::Half(_) => days(16, None),
        OfMonth::First => Some(Reading::Day(first)),
        OfMonth::Last => Some(Reading::Day(last)),
        OfMonth::Nth(n, weekday) => {
            let day = calendar::days(calendar::on_or_after(first, weekday)?, i64::from(n.checked_sub(1)?) * 7)?;
            (day <= last).then_some(Reading::Day(day))
        }
        OfMonth::LastWeekday(weekday) => calendar::up_to(last, weekday).map(Reading::Day),
    }
}

/// A part of a month of a known year.
fn year_bounded(year: Year, month: u32, part: OfMonth, context: &Context) -> Result<Option<Reading>, Refusal> {
    match year {
        Year::Calendar(year) => Ok(of_month(year, month, part)),
        Year::Fiscal(year) => {
            let next = i32::from(month < fiscal_start(context));
            Ok(year.checked_add(next).and_then(|y| of_month(y, month, part)))
        }
        Year::Era(era, n) => match era.year(n).and_then(|y| of_month(y, month, part)) {
            Some(reading) => era.clip(reading).map(Some).ok_or(Refusal::OutsideEra),
            None => Ok(None),
        },
    }
}

fn of_year(year: Year, part: OfYear, context: &Context) -> Option<Reading> {
    let start = fiscal_start(context);
    let (y, begins) = match year {
        Year::Calendar(y) => (y, 1),
        Year::Fiscal(y) => (y, start),
        Year::Era(era, n) => (era.year(n)?, 1),
    };
    let begins = match (year, part) {
        (Year::Fiscal(_), _) | (_, OfYear::Term(_, System::Fiscal) | OfYear::Quarter(_, System::Fiscal)) => start,
        _ => begins,
    };
    let (first, last) = calendar::months_of_year(y, begins, 0, 12)?;
    match part {
        OfYear::Whole => Some(Reading::Range(first, last)),
        OfYear::First => Some(Reading::Day(first)),
        OfYear::Last => Some(Reading::Day(last)),
        OfYear::Half(n) | OfYear::Term(n, _) => calendar::months_of_year(y, begins, i64::from(n) * 6, 6).map(range),
        OfYear::Quarter(n, _) => calendar::months_of_year(y, begins, i64::from(n) * 3, 3).map(range),
    }
}
