//! Date words of Japanese.

use chrono::{Datelike, NaiveDate, Weekday};

use super::calendar::{self, clear, range};
use super::{Match, Meaning, written};
use crate::reading::Reading;
use crate::reading::fold::Folded;
use crate::reading::numbers;

const DAYS: [(&str, i64); 18] = [
    ("一昨々日", -3),
    ("さきおととい", -3),
    ("一昨日", -2),
    ("おととい", -2),
    ("おとつい", -2),
    ("明後日", 2),
    ("あさって", 2),
    ("昨日", -1),
    ("きのう", -1),
    ("昨晩", -1),
    ("前日", -1),
    ("今日", 0),
    ("本日", 0),
    ("きょう", 0),
    ("当日", 0),
    ("明日", 1),
    ("あした", 1),
    ("翌日", 1),
];
const WEEKS: [(&str, i64); 8] =
    [("先々週", -2), ("再来週", 2), ("前の週", -1), ("先週", -1), ("前週", -1), ("今週", 0), ("来週", 1), ("翌週", 1)];
const MONTHS: [(&str, i32); 10] = [
    ("先々月", -2),
    ("再来月", 2),
    ("先月", -1),
    ("前月", -1),
    ("今月", 0),
    ("当月", 0),
    ("本月", 0),
    ("来月", 1),
    ("翌月", 1),
    ("この月", 0),
];
const YEARS: [(&str, i32); 8] = [
    ("一昨年", -2),
    ("おととし", -2),
    ("去年", -1),
    ("昨年", -1),
    ("今年", 0),
    ("本年", 0),
    ("ことし", 0),
    ("来年", 1),
];

pub(super) fn at(text: &Folded, i: usize, today: NaiveDate) -> Match {
    // Nearly every position of an English sentence ends here.
    if text.at(i).is_none_or(|c| c.is_ascii() && !c.is_ascii_digit()) {
        return None;
    }
    week(text, i, today)
        .or_else(|| month(text, i, today))
        .or_else(|| year(text, i, today))
        .or_else(|| lookup(text, i, &DAYS).and_then(|(by, end)| Some((clear(calendar::days(today, by))?, end))))
        .or_else(|| month_edge(text, i, today))
        .or_else(|| recent(text, i, today))
        .or_else(|| ago(text, i, today))
        .or_else(|| weekday(text, i, today))
}

fn lookup<T: Copy>(text: &Folded, i: usize, table: &[(&'static str, T)]) -> Option<(T, usize)> {
    table.iter().find_map(|(word, value)| text.word_at(i, word).map(|end| (*value, end)))
}

fn skip_no(text: &Folded, at: usize) -> usize {
    text.word_at(at, "の").unwrap_or(at)
}

/// `先週`, `先週の火曜日`, `今週末`.
fn week(text: &Folded, i: usize, today: NaiveDate) -> Match {
    let weekend = |by| {
        range(calendar::weekday_in_week(today, by, Weekday::Sat), calendar::weekday_in_week(today, by, Weekday::Sun))
    };
    let Some((by, end)) = lookup(text, i, &WEEKS) else {
        let end = text.word_at(i, "週末")?;
        return Some((weekend(0)?, end));
    };
    if let Some(end) = text.word_at(skip_no(text, end), "週末").or_else(|| text.word_at(end, "末")) {
        return Some((weekend(by)?, end));
    }
    // 先週(火) and 先週の火曜; 先週火 alone would swallow the first letter of a name.
    let open = text.at(end) == Some('(');
    let at = if open { end + 1 } else { skip_no(text, text.word_at(end, "、").unwrap_or(end)) };
    if let Some((weekday, after)) = calendar::kanji_weekday(text, at, !open) {
        let after = if open { text.word_at(after, ")")? } else { after };
        return Some((clear(calendar::weekday_in_week(today, by, weekday))?, after));
    }
    Some((calendar::week(today, by)?, end))
}

/// `先月`, `先月末`, `今月10日`, `今月の上旬`.
fn month(text: &Folded, i: usize, today: NaiveDate) -> Match {
    let (by, end) = lookup(text, i, &MONTHS)?;
    let first = calendar::month_start(today, by)?;
    let rest = skip_no(text, end);
    if let Some(after) = text.any_at(rest, &["末日", "月末", "末", "終わり"]).map(|m| m.1) {
        return Some((clear(calendar::month_end(today, by))?, after));
    }
    if let Some(after) = text.any_at(rest, &["初日", "月初", "初め", "頭", "はじめ"]).map(|m| m.1) {
        return Some((clear(Some(first))?, after));
    }
    for (word, from, to) in [("上旬", Some(1), Some(10)), ("中旬", Some(11), Some(20)), ("下旬", Some(21), None)]
    {
        if let Some(after) = text.word_at(rest, word) {
            let last = to.map_or_else(|| calendar::month_end(today, by), |d| first.with_day(d));
            return Some((range(from.and_then(|d| first.with_day(d)), last)?, after));
        }
    }
    let day = numbers::small_at(text, rest).and_then(|(d, at)| Some((d, text.word_at(at, "日")?)));
    if let Some((day, after)) = day.filter(|(_, after)| text.any_at(*after, &["間", "前", "後", "以内"]).is_none())
    {
        return Some((calendar::day_of(first.year(), first.month(), day), after));
    }
    Some((calendar::month(today, by)?, end))
}

fn year(text: &Folded, i: usize, today: NaiveDate) -> Match {
    let (by, end) = lookup(text, i, &YEARS)?;
    written::within_year(text, end, today, today.year() + by)
}

fn month_edge(text: &Folded, i: usize, today: NaiveDate) -> Match {
    if let Some((_, end)) = text.any_at(i, &["月末"]) {
        return Some((clear(calendar::month_end(today, 0))?, end));
    }
    let (_, end) = text.any_at(i, &["月初め", "月初", "月頭"])?;
    Some((clear(calendar::month_start(today, 0))?, end))
}

const MONTH_COUNTERS: [&str; 6] = ["ヶ月", "か月", "カ月", "ケ月", "ヵ月", "箇月"];

/// `過去10日間`, `直近2ヶ月`, `ここ1週間`: up to and including today.
fn recent(text: &Folded, i: usize, today: NaiveDate) -> Match {
    let (_, at) = text.any_at(i, &["過去", "直近", "最近", "ここ", "この"])?;
    let (n, at) = numbers::small_at(text, skip_no(text, at))?;
    let n = i32::try_from(n).ok()?;
    let (start, end) = if let Some((_, end)) = text.any_at(at, &MONTH_COUNTERS) {
        (calendar::months(today, n.checked_neg()?).and_then(|d| d.succ_opt()), end)
    } else if let Some(end) = text.word_at(at, "週間") {
        (calendar::days(today, 1 - i64::from(n) * 7), end)
    } else {
        (calendar::days(today, 1 - i64::from(n)), text.word_at(at, "日")?)
    };
    let end = text.word_at(end, "間").unwrap_or(end);
    (n > 0).then_some(())?;
    Some((range(start, Some(today))?, end))
}

/// `3日前`, `2週間前`, `3ヶ月前`, `1年前`. Weeks and longer say a day or the whole period.
fn ago(text: &Folded, i: usize, today: NaiveDate) -> Match {
    if numbers::joins_left(text, i) {
        return None;
    }
    let (n, at) = numbers::small_at(text, i)?;
    let n = i64::from(n);
    let sign = |at: usize| text.any_at(at, &["前", "後"]).map(|(w, end)| (if w == "前" { -n } else { n }, end));
    if let Some(at) = text.word_at(at, "日") {
        let (by, end) = sign(at)?;
        return Some((clear(calendar::days(today, by))?, end));
    }
    let (day, period, end) = if let Some((_, at)) = text.any_at(at, &["週間", "週"]) {
        let (by, end) = sign(at)?;
        (calendar::days(today, by.checked_mul(7)?)?, calendar::week(today, by)?, end)
    } else if let Some((_, at)) = text.any_at(at, &MONTH_COUNTERS) {
        let (by, end) = sign(at)?;
        let by = i32::try_from(by).ok()?;
        (calendar::months(today, by)?, calendar::month(today, by)?, end)
    } else {
        let (by, end) = sign(text.word_at(at, "年")?)?;
        let by = i32::try_from(by).ok()?;
        (calendar::months(today, by.checked_mul(12)?)?, calendar::year(today.year().checked_add(by)?)?, end)
    };
    let mut readings: Vec<Reading> = period.readings().to_vec();
    readings.insert(0, Reading::Day(day));
    Some((Meaning::Ambiguous(readings), end))
}

/// `火曜日` without a week.
fn weekday(text: &Folded, i: usize, today: NaiveDate) -> Match {
    let (weekday, end) = calendar::kanji_weekday(text, i, true)?;
    Some((calendar::weekday_near(today, weekday)?, end))
}
