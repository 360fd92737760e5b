//! Lengths of time and what is counted with them: 3日前, 2週間前の火曜日, 過去10日間, "in the last 10 days".

use super::calendar::{self, Unit};
use super::expr::{Expr, Part, Year};
use super::{Atom, japanese};
use crate::reading::fold::Folded;
use crate::reading::{Context, Purpose, Reading, numbers};
use chrono::Datelike;

const MONTH_COUNTERS: [&str; 7] = ["ヶ月", "か月", "カ月", "ケ月", "ヵ月", "ヵ月", "箇月"];

/// What makes 10日 a length or a habit.
const LENGTH_AFTER_DAYS: [&str; 55] = [
    "弱",
    "強",
    "余り",
    "近く",
    "天下",
    "券",
    "用",
    "パス",
    "乗車",
    "待ち",
    "休み",
    "休業",
    "有効",
    "保存",
    "保証",
    "コース",
    "ツアー",
    "熟成",
    "程",
    "続け",
    "単位",
    "間",
    "前",
    "まえ",
    "後",
    "以内",
    "以上",
    "以下",
    "未満",
    "分",
    "ごと",
    "毎",
    "おき",
    "置き",
    "連続",
    "ほど",
    "くらい",
    "ぐらい",
    "程度",
    "あたり",
    "当たり",
    "平均",
    "目",
    "ぶり",
    "曜",
    "遅れ",
    "がかり",
    "経",
    "たって",
    "たった",
    "かけて",
    "かか",
    "限定",
    "坊主",
    "もの",
];
/// What after a length says that it is no period: 3日間以内, 2週間ごと.
const NO_PERIOD_AFTER: [&str; 21] = [
    "ちょい",
    "ちょっと",
    "程",
    "以内",
    "以上",
    "以下",
    "未満",
    "分",
    "ごと",
    "毎",
    "おき",
    "置き",
    "連続",
    "ほど",
    "くらい",
    "ぐらい",
    "程度",
    "目",
    "ぶり",
    "保証",
    "後",
];
/// What before a length says that it is not the time up to today: 今後10日間.
const NO_PAST_BEFORE: [&str; 17] = [
    "これからの",
    "今後の",
    "この先",
    "今後",
    "向こう",
    "次の",
    "これから",
    "最初の",
    "最後の",
    "残り",
    "残りの",
    "あと",
    "およそ",
    "約",
    "来る",
    "先",
    "毎月",
];

/// A number and a unit: 10日間, 2週間, 3ヶ月, 半年.
#[derive(Clone, Copy, Debug)]
pub(super) struct Length {
    pub(super) n: i64,
    pub(super) unit: Unit,
    /// Has 間, so that it can be nothing but a length.
    pub(super) marked: bool,
    pub(super) end: usize,
}

/// The length in Japanese that begins at `i`.
pub(super) fn japanese_length(text: &Folded, i: usize) -> Option<Length> {
    if let Some(end) = text.word_at(i, "半年") {
        let marked = text.word_at(end, "間");
        return Some(Length { n: 6, unit: Unit::Month, marked: marked.is_some(), end: marked.unwrap_or(end) });
    }
    if numbers::joins_left(text, i) || text.before(i).is_some_and(|c| "数何幾".contains(c)) {
        return None;
    }
    let (n, at) = numbers::small_at(text, i)?;
    let at = text.skip_spaces(at);
    let (unit, at, marked) = if let Some(end) = text.word_at(at, "週間") {
        (Unit::Week, end, true)
    } else if let Some(end) = text.word_at(at, "週") {
        (Unit::Week, end, false)
    } else if let Some((_, end)) = text.any_at(at, &MONTH_COUNTERS) {
        (Unit::Month, end, false)
    } else if let Some(end) = text.word_at(at, "年") {
        (Unit::Year, end, false)
    } else {
        (Unit::Day, text.word_at(at, "日")?, false)
    };
    let between = text.word_at(at, "間").filter(|_| !marked && !is_family_name(text, at));
    Some(Length { n: i64::from(n), unit, marked: marked || between.is_some(), end: between.unwrap_or(at) })
}

/// 3日前, 2週間前の火曜日, 過去10日間, 10日間.
pub(super) fn japanese(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    if let Some((word, at)) = text.any_at(i, &["過去", "直近", "最近", "ここ", "この"]) {
        let at = japanese::skip_no(text, at);
        // ここ2〜3日: how many is not known.
        let several = numbers::small_at(text, at).and_then(|(_, end)| text.any_at(end, &["~", "-", "、"]));
        if let Some(length) = several.and_then(|(_, at)| japanese_length(text, at)) {
            return Some(Atom::nothing(length.end));
        }
        let length = japanese_length(text, at)?;
        // この10日 may be a day.
        let counted = length.marked || word != "この" || length.unit != Unit::Day;
        return recent(length, context).filter(|_| counted && !ends_otherwise(text, length.end));
    }
    let length = japanese_length(text, i)?;
    let side = text.any_at(length.end, &["前", "まえ", "後"]).filter(|_| !is_family_name(text, length.end));
    if let Some((word, end)) = side {
        let by = if word == "後" { length.n } else { -length.n };
        let ages = length.unit == Unit::Year && length.n > 200;
        let unnamed = ["締め日の", "締切の", "締切日の", "納品日の", "納期の", "期日の", "開始日の"];
        let ages = ages || unnamed.iter().any(|w| text.word_before(i, w).is_some());
        let other = ages || numbers::vague_pair(text, i, "~-") || text.at(end).is_some_and(|c| "後半回々".contains(c));
        return if other { Some(Atom::nothing(end)) } else { away(text, end, length.unit, by, context) };
    }
    let past = length.marked && !ends_otherwise(text, length.end) && !numbers::vague_pair(text, i, "~-");
    let other = NO_PAST_BEFORE.iter().any(|w| text.word_before(i, w).is_some());
    if !past || other {
        return length.marked.then(|| Atom::nothing(length.end));
    }
    recent(length, context).map(|atom| Atom { length: Some(length), ..atom })
}

fn ends_otherwise(text: &Folded, end: usize) -> bool {
    let habit = text.word_at(end, "に").is_some_and(|at| numbers::small_at(text, at).is_some());
    habit || text.any_at(end, &NO_PERIOD_AFTER).is_some()
}

/// After 3日前 and the like: that day, or the day or period, or a part of the period.
fn away(text: &Folded, end: usize, unit: Unit, by: i64, context: &Context) -> Option<Atom> {
    let day = calendar::shifted(context.today, unit, by)?;
    let at = japanese::skip_no(text, end);
    if let (Some((_, after)), true) = (text.any_at(at, &["今日", "同じ日", "同日"]), at > end) {
        return Atom::one(Expr::day(Some(day))?, after);
    }
    let part = match unit {
        Unit::Day => return Atom::one(Expr::day(Some(day))?, end),
        Unit::Week => japanese::within_week(text, end, by, context),
        Unit::Month => japanese::relative_month(text, end, by, context),
        Unit::Year => {
            let year = Year::Calendar(context.today.year().checked_add(i32::try_from(by).ok()?)?);
            japanese::part_of_year(text, at, year, context).filter(|_| at > end)
        }
    };
    match part.filter(|part| part.end > end) {
        Some(part) => Some(part),
        None => Atom::one(day_or_period(unit, by, context)?, end),
    }
}

/// "Two weeks ago": that day, or all of that week.
pub(super) fn day_or_period(unit: Unit, by: i64, context: &Context) -> Option<Expr> {
    let day = Reading::Day(calendar::shifted(context.today, unit, by)?);
    let (first, last) = calendar::whole(context.today, unit, by)?;
    let period = Reading::Range(first, last);
    let both = if context.purpose == Purpose::Search { vec![period, day] } else { vec![day, period] };
    Some(Part::Given(both).into())
}

/// The time up to and with today; weeks, months and years also whole and before this one.
pub(super) fn recent(length: Length, context: &Context) -> Option<Atom> {
    let Length { n, unit, end, .. } = length;
    let start = calendar::days(calendar::shifted(context.today, unit, n.checked_neg()?)?, 1)?;
    let mut readings = vec![Reading::Range(start, context.today)];
    if unit != Unit::Day {
        let (first, _) = calendar::whole(context.today, unit, -n)?;
        let (_, last) = calendar::whole(context.today, unit, -1)?;
        readings.push(Reading::Range(first, last));
    }
    if n == 0 { None } else { Atom::one(Part::Given(readings).into(), end) }
}

/// What follows 10日 makes it a length or a habit.
pub(super) fn is_length(text: &Folded, end: usize) -> bool {
    if is_family_name(text, end) {
        return false;
    }
    if text.any_at(end, &LENGTH_AFTER_DAYS).is_some() {
        return true;
    }
    // 2日に1回, 1日3回, 1日に2箱ずつ.
    let at = text.word_at(end, "に").unwrap_or(end);
    numbers::small_at(text, at).is_some_and(|(_, at)| {
        text.word_at(at, "回").is_some() || (1..=4).any(|n| text.word_at(at + n, "ずつ").is_some() && at > end)
    })
}

/// A family name that begins like the end of a length: 10日後藤さんに, 3日前川さんに; but 3日前田中さんに.
pub(super) fn is_family_name(text: &Folded, i: usize) -> bool {
    const SURE: [&str; 6] = ["後藤", "後閑", "間宮", "間瀬", "目黒", "目白"];
    const CLOSED: [&str; 10] = ["前田", "前川", "前原", "前島", "前嶋", "前野", "前沢", "前澤", "前山", "前橋"];
    let closes = |end: usize| {
        text.at(end).is_none_or(|c| !matches!(c, '\u{4e00}'..='\u{9fff}') || "様商農青水酒米食".contains(c))
    };
    text.any_at(i, &SURE).is_some() || text.any_at(i, &CLOSED).is_some_and(|(_, end)| closes(end))
}
