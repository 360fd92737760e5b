//! Months of Japanese with what follows them: 先月の第2火曜, 11月上旬, 11月20日分.

use chrono::Datelike;

use super::numbered::{day_of_several, day_word, edge_days, no_day, unmarked_day};
use super::weeks::weekday_at;
use super::{MONTH_PARTS, end_at, skip_no};
use crate::reading::dates::Atom;
use crate::reading::dates::calendar::{self, Unit};
use crate::reading::dates::expr::{Expr, OfMonth, Year};
use crate::reading::fold::Folded;
use crate::reading::{Context, numbers};

const MONTHS: [(&str, i64); 12] = [
    ("前々月", -2),
    ("来々月", 2),
    ("来来月", 2),
    ("先々月", -2),
    ("先先月", -2),
    ("先月", -1),
    ("前月", -1),
    ("今月", 0),
    ("当月", 0),
    ("再来月", 2),
    ("さ来月", 2),
    ("来月", 1),
];
/// After a week, month or year: a part of it that is too vague for days.
pub(super) const VAGUE_PARTS: [&str; 20] = [
    "この時期",
    "今頃",
    "今ごろ",
    "いまごろ",
    "同曜日",
    "同じ曜日",
    "と同じ",
    "半ば",
    "なかば",
    "中頃",
    "中ごろ",
    "中盤",
    "序盤",
    "終盤",
    "前後",
    "同じ時期",
    "同時期",
    "同期",
    "同じ頃",
    "平日",
];
const VAGUE_IN_MONTH: [&str; 4] = ["週末", "土日", "連休", "祝日"];

pub(super) fn month(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    if let Some((by, end)) = text.lookup(i, &MONTHS) {
        return relative_month(text, end, by, context);
    }
    None
}

/// 先月 and the like.
pub(super) fn is_relative(text: &Folded, i: usize) -> bool {
    text.lookup(i, &MONTHS).is_some()
}

/// After 先月 or 3ヶ月前の: that month or what of it is meant.
pub(in crate::reading::dates) fn relative_month(text: &Folded, end: usize, by: i64, context: &Context) -> Option<Atom> {
    let (first, _) = calendar::whole(context.today, Unit::Month, by)?;
    let at = skip_no(text, end);
    if let Some((_, end)) = text.any_at(at, &["今日", "同日", "同じ日"]) {
        return Atom::one(Expr::day(calendar::shifted(context.today, Unit::Month, by))?, end);
    }
    Some(within_month(text, end, Some(Year::Calendar(first.year())), Some(first.month())))
}

/// `11月`, unless it is a name or a length.
pub(super) fn month_number(text: &Folded, i: usize) -> Option<(u32, usize)> {
    if numbers::joins_left(text, i) {
        return None;
    }
    let (month, at) = numbers::small_at(text, i)?;
    let end = text.word_at(text.skip_spaces(at), "月")?;
    // 三月前: months ago.
    let ago = text.at(i).is_some_and(numbers::is_kanji_numeral)
        && text.any_at(end, &["前", "ほど前"]).is_some_and(|(_, end)| text.at(end) != Some('半'));
    let none = month > 99 || ago || text.any_at(end, &["間", "曜", "目", "ごと", "おき"]).is_some();
    (!none).then_some((month, end))
}

/// After a month: what of it is meant, or all of it.
pub(super) fn within_month(text: &Folded, end: usize, year: Option<Year>, month: Option<u32>) -> Atom {
    let at = skip_no(text, end);
    let vague = text.any_at(at, &VAGUE_PARTS).or_else(|| text.any_at(at, &VAGUE_IN_MONTH));
    if let Some(end) = vague.map(|(_, end)| end).or_else(|| nth_week(text, at)).or_else(|| any_weekday(text, end)) {
        return Atom::nothing(end);
    }
    if let Some(end) = no_day(text, at).or_else(|| edge_days(text, at)) {
        return Atom::nothing(end);
    }
    // 十一月廿日: a numeral that is not read.
    if text.at(at).is_some_and(|c| "廿卅".contains(c)) {
        return Atom::nothing(at + 1);
    }
    if let Some((day, end)) = unmarked_day(text, end) {
        return Atom { day_may_follow: true, ..Atom::new(Expr::in_month(year, month, OfMonth::Day(day)), end) };
    }
    let (part, end) = part_of_month(text, at).unwrap_or((OfMonth::Whole, end));
    let day_may_follow = matches!(part, OfMonth::Day(_));
    Atom { day_may_follow, ..Atom::new(Expr::in_month(year, month, part), end) }
}

/// A day or part of a month that is named before: 10日, 上旬, 末, 第2火曜.
pub(in crate::reading::dates) fn part_of_month(text: &Folded, at: usize) -> Option<(OfMonth, usize)> {
    day_word(text, at)
        .or_else(|| text.word_at(at, "ついたち").map(|end| (1, end)))
        .or_else(|| day_of_several(text, at))
        .map(|(day, end)| (OfMonth::Day(day), end))
        .or_else(|| text.lookup(at, &MONTH_PARTS).filter(|_| text.at(at) != Some('末') || end_at(text, at).is_some()))
        .or_else(|| nth(text, at))
}

/// `第2週`, `2週目の火曜`, `最終週`: which days that is, is not agreed on. Gives the end.
pub(super) fn nth_week(text: &Folded, at: usize) -> Option<usize> {
    let end = text.word_at(at, "最終週").or_else(|| {
        let number = text.word_at(at, "第").unwrap_or(at);
        let (_, end) = numbers::small_at(text, number).filter(|(n, _)| *n < 6)?;
        let week = if number > at { text.any_at(end, &["週目", "週"]) } else { text.any_at(end, &["週目"]) };
        week.map(|(_, end)| end)
    })?;
    Some(weekday_at(text, skip_no(text, end)).map_or(end, |(_, end)| end))
}

/// `の火曜日` after a month or year, which has many. Gives the end.
pub(super) fn any_weekday(text: &Folded, end: usize) -> Option<usize> {
    weekday_at(text, text.word_at(text.skip_spaces(end), "の")?).map(|(_, end)| end)
}

/// `第2火曜`, `最終金曜日`, `最後の金曜`.
pub(super) fn nth(text: &Folded, at: usize) -> Option<(OfMonth, usize)> {
    if let Some((_, end)) = text.any_at(at, &["最終", "最後の"]) {
        let (weekday, end) = weekday_at(text, end)?;
        return Some((OfMonth::LastWeekday(weekday), end));
    }
    if let Some((_, end)) = text.any_at(at, &["最初の"]) {
        let (weekday, end) = weekday_at(text, end)?;
        return Some((OfMonth::Nth(1, weekday), end));
    }
    let (n, end) = numbers::small_at(text, text.word_at(at, "第")?)?;
    let (weekday, end) = match weekday_at(text, skip_no(text, end)) {
        Some(found) => found,
        // 第2、第4土曜.
        None => {
            let next = text.any_at(end, &["、", "・", "と", ","]).map_or(end, |(_, at)| at);
            let (_, at) = numbers::small_at(text, text.word_at(next, "第")?)?;
            (weekday_at(text, skip_no(text, at))?.0, end)
        }
    };
    (1..=5).contains(&n).then_some((OfMonth::Nth(n, weekday), end))
}
