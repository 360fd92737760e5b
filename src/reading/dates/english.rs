//! Date words of English.

use chrono::{Datelike, NaiveDate, Weekday};

use super::calendar::{self, clear, range};
use super::{Match, Meaning};
use crate::reading::Reading;
use crate::reading::fold::Folded;
use crate::reading::numbers;

const MONTHS: [(&str, u32); 24] = [
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
const WEEKDAYS: [(&str, Weekday); 16] = [
    ("monday", Weekday::Mon),
    ("tuesday", Weekday::Tue),
    ("wednesday", Weekday::Wed),
    ("thursday", Weekday::Thu),
    ("friday", Weekday::Fri),
    ("saturday", Weekday::Sat),
    ("sunday", Weekday::Sun),
    ("tues", Weekday::Tue),
    ("thurs", Weekday::Thu),
    ("tue", Weekday::Tue),
    ("wed", Weekday::Wed),
    ("thu", Weekday::Thu),
    ("fri", Weekday::Fri),
    ("mon", Weekday::Mon),
    ("sat", Weekday::Sat),
    ("sun", Weekday::Sun),
];
const SIDES: [(&str, i32); 5] = [("last ", -1), ("previous ", -1), ("past ", -1), ("this ", 0), ("next ", 1)];
const DAYS: [(&str, i64); 6] = [
    ("the day before yesterday", -2),
    ("day before yesterday", -2),
    ("the day after tomorrow", 2),
    ("yesterday", -1),
    ("tomorrow", 1),
    ("today", 0),
];

pub(super) fn at(text: &Folded, i: usize, today: NaiveDate) -> Match {
    let begins_word = text.at(i).is_some_and(|c| c.is_ascii_alphanumeric())
        && i.checked_sub(1).and_then(|p| text.at(p)).is_none_or(|c| !c.is_ascii_alphanumeric());
    if !begins_word {
        return None;
    }
    lookup(text, i, &DAYS)
        .and_then(|(by, end)| Some((clear(calendar::days(today, by))?, end)))
        .or_else(|| edge(text, i, today))
        .or_else(|| recent(text, i, today))
        .or_else(|| sided(text, i, today))
        .or_else(|| ago(text, i, today))
        .or_else(|| month_day(text, i, today))
        .or_else(|| ordinal(text, i, today))
        .or_else(|| bare_weekday(text, i, today))
}

fn lookup<T: Copy>(text: &Folded, i: usize, table: &[(&'static str, T)]) -> Option<(T, usize)> {
    table.iter().find_map(|(word, value)| text.word_at(i, word).map(|end| (*value, end)))
}

/// `end of last month`, `the beginning of this month`.
fn edge(text: &Folded, i: usize, today: NaiveDate) -> Match {
    let at = text.word_at(i, "the ").unwrap_or(i);
    let (word, at) = text.any_at(at, &["end of ", "beginning of ", "start of ", "first day of ", "last day of "])?;
    let (by, at) = lookup(text, at, &SIDES).unwrap_or_else(|| (0, text.word_at(at, "the ").unwrap_or(at)));
    let end = text.word_at(at, "month")?;
    let day = if matches!(word, "end of " | "last day of ") {
        calendar::month_end(today, by)
    } else {
        calendar::month_start(today, by)
    };
    Some((clear(day)?, end))
}

/// `the last 10 days`, `past two weeks`: up to and including today.
fn recent(text: &Folded, i: usize, today: NaiveDate) -> Match {
    let at = text.word_at(i, "the ").unwrap_or(i);
    let (_, at) = text.any_at(at, &["last ", "past ", "previous "])?;
    let (n, at) = numbers::small_at(text, at)?;
    let n = i32::try_from(n).ok().filter(|n| *n > 0)?;
    let (unit, end) = text.any_at(text.skip_spaces(at), &["days", "day", "weeks", "week", "months", "month"])?;
    let start = match unit {
        "days" | "day" => calendar::days(today, 1 - i64::from(n)),
        "weeks" | "week" => calendar::days(today, 1 - i64::from(n) * 7),
        _ => calendar::months(today, n.checked_neg()?).and_then(|d| d.succ_opt()),
    };
    Some((range(start, Some(today))?, end))
}

/// `last week`, `this month`, `last Tuesday`, `last week's Tuesday`, `last November`, `Tuesday last week`.
fn sided(text: &Folded, i: usize, today: NaiveDate) -> Match {
    if let Some((weekday, at)) = lookup(text, i, &WEEKDAYS) {
        let at = text.word_at(at, " of").unwrap_or(at);
        let at = text.word_at(at, " ")?;
        let (by, at) = lookup(text, at, &SIDES)?;
        let end = text.word_at(at, "week")?;
        return Some((clear(calendar::weekday_in_week(today, by.into(), weekday))?, end));
    }
    let (by, at) = lookup(text, i, &SIDES)?;
    if let Some((unit, end)) = text.any_at(at, &["week", "month", "year", "weekend"]) {
        return match unit {
            "week" => {
                let after = text.word_at(end, "'s").unwrap_or(end);
                let weekday = text.word_at(after, " ").and_then(|at| lookup(text, at, &WEEKDAYS));
                match weekday {
                    Some((weekday, end)) => Some((clear(calendar::weekday_in_week(today, by.into(), weekday))?, end)),
                    None => Some((calendar::week(today, by.into())?, end)),
                }
            }
            "weekend" => Some((
                range(
                    calendar::weekday_in_week(today, by.into(), Weekday::Sat),
                    calendar::weekday_in_week(today, by.into(), Weekday::Sun),
                )?,
                end,
            )),
            "month" => Some((calendar::month(today, by)?, end)),
            _ => Some((calendar::year(today.year() + by)?, end)),
        };
    }
    if let Some((weekday, end)) = lookup(text, at, &WEEKDAYS) {
        return Some((sided_weekday(today, by, weekday)?, end));
    }
    let (month, end) = lookup(text, at, &MONTHS)?;
    let year =
        today.year() + if by < 0 && month >= today.month() { -1 } else { i32::from(by > 0 && month <= today.month()) };
    Some((calendar::among(vec![calendar::month_of(year, month)?]), end))
}

/// "Last Tuesday" said on a Sunday is five days ago for some and the week before for others: both, the nearer first.
fn sided_weekday(today: NaiveDate, by: i32, weekday: Weekday) -> Option<Meaning> {
    let in_week = |by| calendar::weekday_in_week(today, by, weekday).map(Reading::Day);
    let this = calendar::weekday_in_week(today, 0, weekday)?;
    Some(match by {
        0 => calendar::among(vec![in_week(0)?]),
        b if b < 0 && this < today => calendar::among(vec![in_week(0)?, in_week(-1)?]),
        b if b < 0 => calendar::among(vec![in_week(-1)?]),
        _ if this > today => calendar::among(vec![in_week(0)?, in_week(1)?]),
        _ => calendar::among(vec![in_week(1)?]),
    })
}

/// `3 days ago`, `a week ago`, `two months ago`.
fn ago(text: &Folded, i: usize, today: NaiveDate) -> Match {
    if numbers::joins_left(text, i) {
        return None;
    }
    let (n, at) = text
        .any_at(i, &["an ", "a "])
        .map(|(_, end)| (1, end))
        .or_else(|| numbers::small_at(text, i).map(|(n, end)| (n, text.skip_spaces(end))))?;
    let (unit, at) = text.any_at(at, &["days", "day", "weeks", "week", "months", "month", "years", "year"])?;
    let end = text.word_at(at, " ago")?;
    let by = i32::try_from(n).ok()?.checked_neg()?;
    let (day, period) = match unit {
        "days" | "day" => return Some((clear(calendar::days(today, by.into()))?, end)),
        "weeks" | "week" => (calendar::days(today, i64::from(by) * 7)?, calendar::week(today, by.into())?),
        "months" | "month" => (calendar::months(today, by)?, calendar::month(today, by)?),
        _ => (calendar::months(today, by.checked_mul(12)?)?, calendar::year(today.year().checked_add(by)?)?),
    };
    let mut readings = period.readings().to_vec();
    readings.insert(0, Reading::Day(day));
    Some((Meaning::Ambiguous(readings), end))
}

/// `Nov 24`, `November 24th, 2026`, `24 Nov`, `the 24th of November`, `November 2026`, `in November`.
fn month_day(text: &Folded, i: usize, today: NaiveDate) -> Match {
    if let Some((month, at)) = lookup(text, i, &MONTHS) {
        let at = text.word_at(at, ".").unwrap_or(at);
        let at_number = text.word_at(at, " ").map_or(at, |a| text.skip_spaces(a));
        if let Some((day, 1..=2, end)) = numbers::digits_at(text, at_number) {
            let end = ordinal_end(text, end);
            if !text.at(end).is_some_and(|c| c.is_ascii_alphanumeric()) {
                return Some(with_year(text, end, today, month, day));
            }
        }
        if let Some((year, 4, end)) = numbers::digits_at(text, at_number) {
            let year = i32::try_from(year).ok().filter(|y| (1900..=2200).contains(y))?;
            return Some((calendar::among(vec![calendar::month_of(year, month)?]), end));
        }
        // "may", "march" and "mar" are words and names; alone they are months only where a month is announced.
        let announced = ["in ", "for ", "during ", "of ", "since ", "until ", "to ", "from ", "and ", "between "]
            .iter()
            .any(|w| i.checked_sub(w.len()).is_some_and(|p| text.word_at(p, w).is_some()));
        let plain = text.chars().get(i..at).is_some_and(|w| w.len() > 4) && month != 3;
        return (plain || announced).then(|| (calendar::month_in_some_year(today, month), at));
    }
    let at = text.word_at(i, "the ").unwrap_or(i);
    if numbers::joins_left(text, at) {
        return None;
    }
    let (day, _, end) = numbers::digits_at(text, at).filter(|d| d.1 <= 2)?;
    let end = ordinal_end(text, end);
    let end = text.word_at(end, " of").unwrap_or(end);
    let (month, end) = lookup(text, text.word_at(end, " ")?, &MONTHS)?;
    Some(with_year(text, end, today, month, day))
}

fn with_year(text: &Folded, end: usize, today: NaiveDate, month: u32, day: u32) -> (Meaning, usize) {
    let at = text.skip_spaces(text.word_at(end, ",").unwrap_or(end));
    if let Some((year, 4, after)) = numbers::digits_at(text, at).filter(|y| (1900..=2200).contains(&y.0))
        && let Ok(year) = i32::try_from(year)
        && at > end
    {
        return (calendar::day_of(year, month, day), after);
    }
    (calendar::day_in_some_year(today, month, day), end)
}

/// `the 3rd`.
fn ordinal(text: &Folded, i: usize, today: NaiveDate) -> Match {
    let at = text.word_at(i, "the ")?;
    let (day, _, end) = numbers::digits_at(text, at).filter(|d| d.1 <= 2)?;
    let after = ordinal_end(text, end);
    (after > end).then_some(())?;
    // "the 2nd one" is a choice, not a day.
    if text.any_at(text.skip_spaces(after), &["one", "customer", "row", "entry", "sale"]).is_some() {
        return None;
    }
    let of_month = text.word_at(after, " of ").and_then(|at| {
        let (by, at) = lookup(text, at, &SIDES).unwrap_or_else(|| (0, text.word_at(at, "the ").unwrap_or(at)));
        Some((by, text.word_at(at, "month")?))
    });
    if let Some((by, end)) = of_month {
        let first = calendar::month_start(today, by)?;
        return Some((calendar::day_of(first.year(), first.month(), day), end));
    }
    Some((calendar::day_in_some_month(today, day), after))
}

fn ordinal_end(text: &Folded, at: usize) -> usize {
    text.any_at(at, &["st", "nd", "rd", "th"])
        .filter(|(_, end)| !text.at(*end).is_some_and(|c| c.is_ascii_alphanumeric()))
        .map_or(at, |(_, end)| end)
}

/// `on Tuesday`, `Tuesday`; short forms only after `on`.
fn bare_weekday(text: &Folded, i: usize, today: NaiveDate) -> Match {
    let (weekday, end) = lookup(text, i, &WEEKDAYS)?;
    let announced = i.checked_sub(3).is_some_and(|p| text.word_at(p, "on ").is_some());
    let long = end - i > 4;
    (long || announced).then_some(())?;
    Some((calendar::weekday_near(today, weekday)?, end))
}
