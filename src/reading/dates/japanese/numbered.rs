//! Numbered days and months of Japanese that stand alone or in a list: 10日, 3〜5日, 9、10月; and the numbers beside 日
//! that are lengths, rates and names.

use super::months::{month_number, within_month};
use super::weeks::bracketed_weekday;
use crate::reading::dates::expr::{Expr, OfMonth};
use crate::reading::dates::{Atom, lengths};
use crate::reading::fold::Folded;
use crate::reading::numbers;

/// After 2〜3日 these say a length.
const LASTING: [&str; 5] = ["で", "かか", "くらい", "ほど", "中"];

pub(super) fn numbered(text: &Folded, i: usize) -> Option<Atom> {
    if let Some((month, end)) = month_number(text, i) {
        return Some(within_month(text, end, None, Some(month)));
    }
    if let Some(end) = first_of_several(text, i, "月") {
        let (month, _) = numbers::small_at(text, i).filter(|(n, _)| (1..=12).contains(n))?;
        return Atom::one(Expr::in_month(None, Some(month), OfMonth::Whole), end);
    }
    // 3泊4日, 週3日, 三日町.
    if let Some((_, end)) = day_word(text, i).filter(|(_, end)| is_no_day(text, i, *end)) {
        return Some(Atom::nothing(end));
    }
    if let Some(end) = first_of_several(text, i, "日") {
        let (day, _) = numbers::small_at(text, i)?;
        return Atom::one(Expr::in_month(None, None, OfMonth::Day(day)), end);
    }
    // 24(火).
    if let Some((day @ 1..=31, end)) = numbers::small_at(text, i).filter(|_| !numbers::joins_left(text, i))
        && bracketed_weekday(text, end).is_some()
        && !text.before(i).is_some_and(|c| "-/.".contains(c))
    {
        return Atom::one(Expr::in_month(None, None, OfMonth::Day(day)), end);
    }
    let day = day_number(text, i).or_else(|| day_word(text, i).filter(|(_, end)| day_goes_on(text, i, *end)));
    let (day, end) = day.filter(|_| !numbers::joins_left(text, i))?;
    // 2〜3日で is a length, 2、3日 says "about".
    let lasts = lasts(text, end) && numbers::vague_pair(text, i, "~-");
    (day <= 31 && !lasts && !numbers::vague_pair(text, i, ""))
        .then(|| Atom::new(Expr::in_month(None, None, OfMonth::Day(day)), end))
}

/// `25日分` after 20日から and 30日分と: a day like the one before it.
fn day_goes_on(text: &Folded, i: usize, end: usize) -> bool {
    let link = ["から", "~", "-", "と", "、", "・"].iter().find_map(|w| text.word_before(i, w));
    let before = link.map(|at| text.word_before(at, "分").unwrap_or(at));
    let Some(at) = before.filter(|at| text.at(end) == Some('分') && text.before(*at) == Some('日')) else {
        return false;
    };
    // 3日分と5日分 may as well be lengths.
    let mut start = at - 1;
    while text.before(start).is_some_and(|c| c.is_ascii_digit() || numbers::is_kanji_numeral(c)) {
        start -= 1;
    }
    text.at(at) != Some('分') || text.before(start).is_some_and(|c| "月の".contains(c))
}

/// What stands beside 3日 makes it a length, a rate or a name.
fn is_no_day(text: &Folded, i: usize, end: usize) -> bool {
    const BEFORE: [&str; 9] = ["泊", "中", "これから", "今後", "向こう", "この先", "これからの", "今後の", "営業日"];
    const NAMES: [&str; 8] = ["市", "町", "堂", "戎", "えびす", "大根", "鼠", "講"];
    let rate = text.before(i) == Some('週') && !text.before(i - 1).is_some_and(|c| "先今来前次々".contains(c));
    let name = text.at(i).is_some_and(numbers::is_kanji_numeral) && text.any_at(end, &NAMES).is_some();
    rate || name || BEFORE.iter().any(|w| text.word_before(i, w).is_some_and(|_| text.before(i) != Some(' ')))
}

/// What follows 2〜3日 says a length: で, but not です.
fn lasts(text: &Folded, end: usize) -> bool {
    text.any_at(end, &LASTING).is_some() && text.any_at(end, &["です", "でし", "でお"]).is_none()
}

/// `10日`, unless it is a length or a habit.
pub(super) fn day_number(text: &Folded, i: usize) -> Option<(u32, usize)> {
    day_word(text, i).filter(|(_, end)| !lengths::is_length(text, *end))
}

/// `10日`, whatever follows: after a month it is a day, also in 11月24日分.
pub(super) fn day_word(text: &Folded, i: usize) -> Option<(u32, usize)> {
    let (day, at) = numbers::small_at(text, i)?;
    let end = text.word_at(text.skip_spaces(at), "日")?;
    (day <= 99).then_some((day, end))
}

/// `3日間`, `24日前後` after a month: neither a day of it nor all of it. Gives the end.
pub(super) fn no_day(text: &Folded, i: usize) -> Option<usize> {
    let (_, end) = day_word(text, i)?;
    let words = ["間", "前", "まえ", "後", "以内", "ごと", "毎", "おき", "連続", "ぶり", "目", "曜"];
    text.any_at(end, &words).filter(|_| !lengths::is_family_name(text, end)).map(|(_, end)| end)
}

/// `最後の10日間` of a month: not all of it. Gives the end.
pub(super) fn edge_days(text: &Folded, at: usize) -> Option<usize> {
    let (_, at) = text.any_at(at, &["最初の", "最後の", "終わりの", "初めの"])?;
    lengths::japanese_length(text, at).map(|length| length.end)
}

/// `20` in 11月20に: a day, though 日 is left out.
pub(super) fn unmarked_day(text: &Folded, i: usize) -> Option<(u32, usize)> {
    let (day @ 1..=31, 1..=2, end) = numbers::digits_at(text, i)? else { return None };
    let ends = text.at(end).is_none_or(|c| "にはの、。(".contains(c));
    ends.then_some((day, end))
}

/// `3` in 11月3〜5日 and 11月3、5日.
pub(super) fn day_of_several(text: &Folded, i: usize) -> Option<(u32, usize)> {
    let (day, end) = numbers::small_at(text, i)?;
    let (_, at) = text.any_at(text.skip_spaces(end), &["~", "-", "から", "、", "・", ","])?;
    day_number(text, text.skip_spaces(at)).map(|_| (day, end))
}

/// `10` in 10〜12月 and 3〜5日, `9` in 9、10月.
fn first_of_several(text: &Folded, i: usize, counter: &str) -> Option<usize> {
    if numbers::joins_left(text, i) || text.before(i).is_some_and(|c| "-/~#".contains(c)) {
        return None;
    }
    let (_, end) = numbers::small_at(text, i)?;
    let next = text.skip_spaces(end);
    if counter == "月" {
        let ranges =
            text.any_at(next, &["~", "-"]).is_some_and(|(_, at)| month_number(text, text.skip_spaces(at)).is_some());
        // Before 9、10月 no word, which the 9 might count.
        let begins = text.before(i).is_none_or(|c| c == '、' || c == 'の' || (!c.is_alphanumeric() && c != '・'));
        let listed = text.before(i).is_some_and(|c| c == '・') || begins;
        return (ranges || (listed && lists_months(text, end))).then_some(end);
    }
    let (_, at) = text.any_at(next, &["~", "-"])?;
    let (_, after) = day_number(text, text.skip_spaces(at))?;
    // 2〜3日で: a length.
    (!lasts(text, after)).then_some(end)
}

/// `4` in 2025年4〜9月, 去年の10・11月 and 2025年4〜2026年3月.
pub(super) fn month_of_several(text: &Folded, i: usize) -> Option<(u32, usize)> {
    let (month, end) = numbers::small_at(text, i).filter(|(n, _)| (1..=12).contains(n))?;
    let next = text.skip_spaces(end);
    let ranges = text.any_at(next, &["~", "-"]).is_some_and(|(_, at)| {
        let at = text.skip_spaces(at);
        let year = numbers::small_at(text, at).and_then(|(_, at)| text.word_at(at, "年"));
        month_number(text, year.unwrap_or(at)).is_some()
    });
    (ranges || lists_months(text, end)).then_some((month, end))
}

/// `、10月`, `・10・11月` after a number.
fn lists_months(text: &Folded, mut end: usize) -> bool {
    for _ in 0..12 {
        let Some((_, at)) = text.any_at(text.skip_spaces(end), &["、", "・", ","]) else { return false };
        let month = numbers::small_at(text, text.skip_spaces(at)).filter(|(n, _)| (1..=12).contains(n));
        let Some((_, after)) = month else { return false };
        if text.word_at(after, "月").is_some() {
            return true;
        }
        end = after;
    }
    false
}
