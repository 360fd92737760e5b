//! Years, months and numbered days of Japanese, with what follows them: 去年の12月3日, 先月の第2火曜, 11月上旬, 10日.

use chrono::Datelike;

use super::weeks::{bracketed_weekday, weekday_at};
use super::{MONTH_PARTS, TERMS, YEAR_PARTS, end_at, feast, skip_no};
use crate::reading::dates::calendar::{self, Unit};
use crate::reading::dates::era::Era;
use crate::reading::dates::expr::{self, Expr, OfMonth, OfYear, Year};
use crate::reading::dates::{Atom, lengths, written};
use crate::reading::fold::Folded;
use crate::reading::{Context, numbers};

const YEARS: [(&str, i32); 12] = [
    ("前々年", -2),
    ("一昨年", -2),
    ("おととし", -2),
    ("去年", -1),
    ("昨年", -1),
    ("前年", -1),
    ("今年", 0),
    ("本年", 0),
    ("ことし", 0),
    ("当年", 0),
    ("再来年", 2),
    ("来年", 1),
];
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
pub(super) const VAGUE_PARTS: [&str; 13] = [
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
const VAGUE_IN_YEAR: [&str; 22] = [
    "今週",
    "先週",
    "来週",
    "同四半期",
    "暮れ",
    "決算期",
    "同じ週",
    "同週",
    "年末年始",
    "正月",
    "お正月",
    "お盆",
    "盆",
    "ゴールデンウィーク",
    "gw",
    "連休",
    "夏休み",
    "冬休み",
    "春休み",
    "彼岸",
    "お彼岸",
    "梅雨",
];
const VAGUE_IN_MONTH: [&str; 4] = ["週末", "土日", "連休", "祝日"];
/// After 2〜3日 these say a length.
const LASTING: [&str; 5] = ["で", "かか", "くらい", "ほど", "中"];

// --- years

pub(super) fn year(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    match year_at(text, i, context) {
        Some((year, end)) => Some(within_year(text, same_year(text, end, year, context), year, context)),
        None if numbers::joins_left(text, i) => None,
        None if first_of_years(text, i, context).is_some() => first_of_years(text, i, context),
        None => short_year(text, i, context),
    }
}

/// `25年11月`, `26年度`: of this century when it can be; 7年11月 may be of an era or not.
fn short_year(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    if numbers::joins_left(text, i) {
        return None;
    }
    let (year, at) = numbers::small_at(text, i)?;
    let end = text.word_at(text.skip_spaces(at), "年").filter(|_| year < 100)?;
    let counted = ["明治", "大正", "築", "創業", "開業", "勤続"].iter().any(|w| text.word_before(i, w).is_some());
    let fiscal = text.word_at(end, "度");
    let (month, after) = month_number(text, skip_no(text, end)).map_or((None, end), |(m, after)| (Some(m), after));
    let part = text.lookup(end, &YEAR_PARTS).is_some() && text.any_at(end, &["前", "後"]).is_none();
    let part = part || text.lookup(end, &TERMS).is_some() || month_of_several(text, end).is_some();
    if fiscal.is_none() && month.is_none() && !part {
        return None;
    }
    let year = i32::try_from(year).ok().filter(|y| (20..40).contains(y) && !counted).and_then(|y| y.checked_add(2000));
    Some(match (year, fiscal) {
        (Some(year), Some(end)) => within_year(text, end, Year::Fiscal(year), context),
        (Some(year), None) => within_year(text, end, Year::Calendar(year), context),
        (None, Some(end)) => Atom::nothing(end),
        (None, None) => Atom::nothing(within_month(text, after, None, month).end),
    })
}

/// The position after the other name of a year: 2025年(令和7年)4月1日.
fn same_year(text: &Folded, end: usize, year: Year, context: &Context) -> usize {
    let calendar = |year| match year {
        Year::Calendar(y) => Some(y),
        Year::Era(era, n) => era.year(n),
        Year::Fiscal(_) => None,
    };
    let other = |at: usize| {
        let figures =
            || numbers::small_at(text, at).map(|(y, end)| (Year::Calendar(i32::try_from(y).unwrap_or(0)), end));
        let (other, end) = year_at(text, at, context).or_else(figures)?;
        text.word_at(end, ")").filter(|_| calendar(year).is_some() && calendar(other) == calendar(year))
    };
    text.word_at(end, "(").and_then(other).unwrap_or(end)
}

/// `2024` in 2024〜2026年 and 2024・2025年度.
fn first_of_years(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (year, 4, end) = numbers::digits_at(text, i)? else { return None };
    let (_, at) = text.any_at(text.skip_spaces(end), &["~", "-", "・", "、"])?;
    let (last, _) = year_at(text, text.skip_spaces(at), context)?;
    let year = i32::try_from(year).ok().filter(|y| (1900..2200).contains(y))?;
    let year = match last {
        Year::Calendar(_) => Year::Calendar(year),
        Year::Fiscal(_) => Year::Fiscal(year),
        Year::Era(..) => return None,
    };
    Atom::one(Expr::in_year(Some(year), OfYear::Whole), end)
}

pub(super) fn year_at(text: &Folded, i: usize, context: &Context) -> Option<(Year, usize)> {
    let after_year = |at: usize| text.word_at(text.skip_spaces(at), "年");
    let fiscal = |end: usize, year: i32| match text.word_at(end, "度") {
        Some(end) => (Year::Fiscal(year), end),
        None => (Year::Calendar(year), end),
    };
    if let Some((by, end)) = text.lookup(i, &YEARS) {
        let base = match text.word_at(end, "度") {
            Some(_) => calendar::fiscal_year(context.today, expr::fiscal_start(context))?,
            None => context.today.year(),
        };
        return Some(fiscal(end, base.checked_add(by)?));
    }
    if let Some(end) = text.word_at(i, "先年度") {
        let this = calendar::fiscal_year(context.today, expr::fiscal_start(context))?;
        return Some((Year::Fiscal(this.checked_sub(1)?), end));
    }
    if let Some((era, at)) = Era::named_at(text, i) {
        let at = text.skip_spaces(at);
        let (n, at) = match text.word_at(at, "元") {
            Some(end) => (1, end),
            None => numbers::small_at(text, at)?,
        };
        let n = i32::try_from(n).ok()?;
        let end = after_year(at)?;
        return Some(match text.word_at(end, "度") {
            Some(end) => (Year::Fiscal(era.year(n)?), end),
            None => (Year::Era(era, n), end),
        });
    }
    if numbers::joins_left(text, i) {
        return None;
    }
    let (year, at) = numbers::small_at(text, i)?;
    let end = after_year(at)?;
    let length = text
        .any_at(end, &["間", "目", "後", "分", "ぶり", "以上", "連続", "もの"])
        .is_some_and(|(_, end)| text.word_at(end, "すご").is_none())
        || (text.at(end) == Some('前') && text.at(end + 1) != Some('半'));
    let year = i32::try_from(year).ok().filter(|y| *y >= 1000 && !length)?;
    Some(fiscal(end, year))
}

/// After a year: what of it is meant, or all of it.
pub(in crate::reading::dates) fn within_year(text: &Folded, end: usize, year: Year, context: &Context) -> Atom {
    let at = skip_no(text, end);
    // 令和7年産: of the goods, not of the sale.
    if let Some((_, end)) =
        text.any_at(end, &["産", "製", "式", "型", "版", "モデル", "生まれ", "生れ", "卒", "入社", "創業"])
    {
        return Atom::nothing(end);
    }
    // 2020年代, but 2026年代金.
    if let Some(end) = text.word_at(end, "代").filter(|end| !text.at(*end).is_some_and(|c| "金理表わ".contains(c)))
    {
        return Atom::nothing(end);
    }
    let vague = text.any_at(at, &VAGUE_PARTS).or_else(|| text.any_at(at, &VAGUE_IN_YEAR));
    let vague = vague.map(|(_, end)| end).or_else(|| any_weekday(text, end));
    if vague.is_some() || season(text, at) {
        return Atom::nothing(vague.unwrap_or(at));
    }
    part_of_year(text, at, year, context).unwrap_or_else(|| Atom::new(Expr::in_year(Some(year), OfYear::Whole), end))
}

/// `年末`, and the day of 年末の30日.
pub(super) fn edge_of_year(text: &Folded, year: Option<Year>, part: OfYear, end: usize) -> Atom {
    let month = match part {
        OfYear::First => 1,
        OfYear::Last => 12,
        _ => return Atom::new(Expr::in_year(year, part), end),
    };
    match day_number(text, skip_no(text, end)) {
        Some((day, end)) => Atom::new(Expr::in_month(year, Some(month), OfMonth::Day(day)), end),
        None => Atom::new(Expr::in_year(year, part), end),
    }
}

/// `夏` by itself, not the beginning of 夏みかん.
fn season(text: &Folded, at: usize) -> bool {
    let next = text.at(at + 1);
    text.at(at).is_some_and(|c| "春夏秋冬".contains(c))
        && next.is_none_or(|c| "のにはがもごかでをとまよへ頃場、。?!~- ".contains(c))
}

pub(in crate::reading::dates) fn part_of_year(text: &Folded, at: usize, year: Year, context: &Context) -> Option<Atom> {
    if let (Some((_, end)), Year::Calendar(y)) =
        (text.any_at(at, &["今日", "同月同日", "同日", "きょう", "同じ日"]), year)
    {
        let years = i64::from(y) - i64::from(context.today.year());
        return Atom::one(Expr::day(calendar::shifted(context.today, Unit::Year, years))?, end);
    }
    if let Some((_, end)) = text.any_at(at, &["今月", "同月", "同じ月"]) {
        return Atom::one(Expr::in_month(Some(year), Some(context.today.month()), OfMonth::Whole), end);
    }
    if let Some(end) = text.word_at(at, "先月") {
        let (first, _) = calendar::whole(context.today, Unit::Month, -1)?;
        let Year::Calendar(y) = year else { return Some(Atom::nothing(end)) };
        let of = y.checked_add(first.year() - context.today.year())?;
        return Atom::one(Expr::in_month(Some(Year::Calendar(of)), Some(first.month()), OfMonth::Whole), end);
    }
    if let Some((month, end)) = month_number(text, at) {
        return Some(within_month(text, end, Some(year), Some(month)));
    }
    if let Some((month, end)) = month_of_several(text, at) {
        return Atom::one(Expr::in_month(Some(year), Some(month), OfMonth::Whole), end);
    }
    if let Some((part, end)) = nth(text, at) {
        // 今年最後の金曜: of its last month, 最初の of its first.
        let month = match part {
            OfMonth::LastWeekday(_) => 12,
            _ => 1,
        };
        let dated = matches!(part, OfMonth::LastWeekday(_) | OfMonth::Nth(1, _)) && matches!(year, Year::Calendar(_));
        let atom = Atom::new(Expr::in_month(Some(year), Some(month), part), end);
        return Some(if dated { atom } else { Atom::nothing(end) });
    }
    if let Some((month, day, end)) = written::month_and_day(text, at) {
        return Atom::one(Expr::in_month(Some(year), Some(month), OfMonth::Day(day)), end);
    }
    let named = text.at(at) == Some('末') && end_at(text, at).is_none();
    if let Some((part, end)) = text.lookup(at, &YEAR_PARTS).filter(|_| !named) {
        return Some(edge_of_year(text, Some(year), part, end));
    }
    if let Some((n, end)) = text.lookup(at, &TERMS) {
        return Some(Atom::systems(Some(year), |system| OfYear::Term(n, system), end));
    }
    if let Some((n, end)) = written::quarter(text, at) {
        return Some(Atom::systems(Some(year), |system| OfYear::Quarter(n, system), end));
    }
    feast(text, at, Some(year))
}

// --- months

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
fn within_month(text: &Folded, end: usize, year: Option<Year>, month: Option<u32>) -> Atom {
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
fn any_weekday(text: &Folded, end: usize) -> Option<usize> {
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

// --- numbers of days and months

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
fn day_word(text: &Folded, i: usize) -> Option<(u32, usize)> {
    let (day, at) = numbers::small_at(text, i)?;
    let end = text.word_at(text.skip_spaces(at), "日")?;
    (day <= 99).then_some((day, end))
}

/// `3日間`, `24日前後` after a month: neither a day of it nor all of it. Gives the end.
fn no_day(text: &Folded, i: usize) -> Option<usize> {
    let (_, end) = day_word(text, i)?;
    let words = ["間", "前", "まえ", "後", "以内", "ごと", "毎", "おき", "連続", "ぶり", "目", "曜"];
    text.any_at(end, &words).filter(|_| !lengths::is_family_name(text, end)).map(|(_, end)| end)
}

/// `最後の10日間` of a month: not all of it. Gives the end.
fn edge_days(text: &Folded, at: usize) -> Option<usize> {
    let (_, at) = text.any_at(at, &["最初の", "最後の", "終わりの", "初めの"])?;
    lengths::japanese_length(text, at).map(|length| length.end)
}

/// `20` in 11月20に: a day, though 日 is left out.
fn unmarked_day(text: &Folded, i: usize) -> Option<(u32, usize)> {
    let (day @ 1..=31, 1..=2, end) = numbers::digits_at(text, i)? else { return None };
    let ends = text.at(end).is_none_or(|c| "にはの、。(".contains(c));
    ends.then_some((day, end))
}

/// `3` in 11月3〜5日 and 11月3、5日.
fn day_of_several(text: &Folded, i: usize) -> Option<(u32, usize)> {
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
fn month_of_several(text: &Folded, i: usize) -> Option<(u32, usize)> {
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
