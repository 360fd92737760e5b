//! Dates in digits, shared by both languages: 2026-11-24, 2026/11/24, 12/3, 2026年11月24日, 12月3日, 10日, 令和8年.

use chrono::{Datelike, NaiveDate};

use super::calendar;
use super::{Match, Meaning};
use crate::reading::Refusal;
use crate::reading::fold::Folded;
use crate::reading::numbers;

pub(super) fn at(text: &Folded, i: usize, today: NaiveDate) -> Match {
    if numbers::joins_left(text, i) || slash_before(text, i) {
        return None;
    }
    era_year(text, i, today)
        .or_else(|| separated(text, i, today))
        .or_else(|| japanese_year(text, i, today))
        .or_else(|| japanese_month(text, i, today, None))
        .or_else(|| japanese_day(text, i, today))
}

fn slash_before(text: &Folded, i: usize) -> bool {
    i.checked_sub(1).and_then(|p| text.at(p)).is_some_and(|c| c == '/')
}

fn era_year(text: &Folded, i: usize, today: NaiveDate) -> Match {
    let (era, at) = text.any_at(i, &["令和", "平成"])?;
    let (n, at) = match text.word_at(at, "元") {
        Some(end) => (1, end),
        None => numbers::small_at(text, at)?,
    };
    let at = text.word_at(at, "年")?;
    let first = if era == "令和" { 2019 } else { 1989 };
    let year = first + i32::try_from(n).ok()? - 1;
    within_year(text, at, today, year)
}

fn japanese_year(text: &Folded, i: usize, today: NaiveDate) -> Match {
    let (year, digits, at) = numbers::digits_at(text, i)?;
    let at = text.word_at(at, "年")?;
    (digits == 4).then_some(())?;
    within_year(text, at, today, i32::try_from(year).ok()?)
}

/// After a year: its month and day, its month, or all of it.
pub(super) fn within_year(text: &Folded, at: usize, today: NaiveDate, year: i32) -> Match {
    let rest = text.word_at(at, "の").unwrap_or(at);
    japanese_month(text, rest, today, Some(year)).or_else(|| Some((calendar::year(year)?, at)))
}

fn japanese_month(text: &Folded, i: usize, today: NaiveDate, year: Option<i32>) -> Match {
    let (month, at) = numbers::small_at(text, i)?;
    let at = text.word_at(at, "月")?;
    // 3月 is March; 3月間 and 3月曜 are no dates of ours.
    if text.any_at(at, &["間", "曜"]).is_some() {
        return None;
    }
    let refused = Meaning::Refused(Refusal::NoSuchDay);
    if let Some((day, end)) = numbers::small_at(text, at).and_then(|(d, end)| Some((d, text.word_at(end, "日")?))) {
        let possible = NaiveDate::from_ymd_opt(2024, month, day).is_some();
        return Some(match year {
            _ if !possible => (refused, end),
            Some(year) => (calendar::day_of(year, month, day), end),
            None => (calendar::day_in_some_year(today, month, day), end),
        });
    }
    if !(1..=12).contains(&month) {
        return Some((refused, at));
    }
    let first = |year| NaiveDate::from_ymd_opt(year, month, 1);
    if let Some(end) = text.any_at(at, &["末日", "末"]).map(|m| m.1) {
        let years = year.map_or_else(|| vec![today.year(), today.year() - 1], |y| vec![y]);
        let mut ends: Vec<NaiveDate> = years.into_iter().filter_map(|y| calendar::month_end(first(y)?, 0)).collect();
        ends.sort_by_key(|d| *d > today);
        return Some((calendar::among(ends.into_iter().map(crate::reading::Reading::Day).collect()), end));
    }
    match year {
        Some(year) => Some((calendar::among(vec![calendar::month_of(year, month)?]), at)),
        None => Some((calendar::month_in_some_year(today, month), at)),
    }
}

/// `10日`, unless it is a length of time.
fn japanese_day(text: &Folded, i: usize, today: NaiveDate) -> Match {
    let (day, at) = numbers::small_at(text, i)?;
    let end = text.word_at(at, "日")?;
    if text.any_at(end, &["間", "前", "後", "以内", "以上", "ごと", "分", "曜"]).is_some() {
        return None;
    }
    Some((calendar::day_in_some_month(today, day), end))
}

/// `2026-11-24`, `2026/11/24`, `2026.11.24`, `2026/11`, `12/3`.
fn separated(text: &Folded, i: usize, today: NaiveDate) -> Match {
    let (first, first_len, at) = numbers::digits_at(text, i)?;
    let separator = text.at(at).filter(|c| matches!(c, '-' | '/' | '.'))?;
    let (second, second_len, end) = numbers::digits_at(text, at + 1)?;
    if second_len > 2 {
        return None;
    }
    let third = (text.at(end) == Some(separator)).then(|| numbers::digits_at(text, end + 1)).flatten();
    match (first_len, third) {
        (4, Some((day, 1..=2, end))) => Some((calendar::day_of(i32::try_from(first).ok()?, second, day), end)),
        (4, None) if separator != '.' => {
            let whole = calendar::month_of(i32::try_from(first).ok()?, second);
            Some((whole.map_or(Meaning::Refused(Refusal::NoSuchDay), |r| calendar::among(vec![r])), end))
        }
        (1..=2, Some((year, 4, end))) if separator == '/' => {
            let year = i32::try_from(year).ok()?;
            let (month, day) = month_first(first, second);
            Some((calendar::day_of(year, month, day), end))
        }
        (1..=2, None) if separator == '/' => {
            let (month, day) = month_first(first, second);
            Some((calendar::day_in_some_year(today, month, day), end))
        }
        _ => None,
    }
}

/// The month stands first, unless no month can be meant.
fn month_first(first: u32, second: u32) -> (u32, u32) {
    if first > 12 && second <= 12 { (second, first) } else { (first, second) }
}
