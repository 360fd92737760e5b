//! Date words of Japanese: years, months, weeks and weekdays with what follows them, day words, edges, feast days.

use chrono::{Datelike, NaiveDate, Weekday};

use super::calendar::{self, Unit};
use super::era::Era;
use super::expr::{Expr, OfMonth, OfYear, Part, Year};
use super::{Atom, lengths, written};
use crate::reading::fold::Folded;
use crate::reading::{Context, Reading, numbers};

const DAYS: [(&str, i64); 24] = [
    ("一昨々日", -3),
    ("一昨昨日", -3),
    ("さきおととい", -3),
    ("一昨日", -2),
    ("おととい", -2),
    ("おとつい", -2),
    ("昨日", -1),
    ("昨夜", -1),
    ("昨晩", -1),
    ("きのう", -1),
    ("ゆうべ", -1),
    ("今日", 0),
    ("本日", 0),
    ("今朝", 0),
    ("きょう", 0),
    ("けさ", 0),
    ("明々後日", 3),
    ("明明後日", 3),
    ("しあさって", 3),
    ("明後日", 2),
    ("あさって", 2),
    ("明日", 1),
    ("あした", 1),
    ("あす", 1),
];
const YEARS: [(&str, i32); 11] = [
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
const MONTHS: [(&str, i64); 9] = [
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
const WEEKS: [(&str, i64); 9] = [
    ("先々週", -2),
    ("先先週", -2),
    ("先週", -1),
    ("前週", -1),
    ("今週", 0),
    ("当週", 0),
    ("再来週", 2),
    ("さ来週", 2),
    ("来週", 1),
];
const MONTH_PARTS: [(&str, OfMonth); 22] = [
    ("上旬", OfMonth::Third(0)),
    ("初旬", OfMonth::Third(0)),
    ("中旬", OfMonth::Third(1)),
    ("下旬", OfMonth::Third(2)),
    ("前半", OfMonth::Half(0)),
    ("後半", OfMonth::Half(1)),
    ("月初め", OfMonth::First),
    ("月はじめ", OfMonth::First),
    ("月初", OfMonth::First),
    ("月頭", OfMonth::First),
    ("初日", OfMonth::First),
    ("初め", OfMonth::First),
    ("始め", OfMonth::First),
    ("はじめ", OfMonth::First),
    ("頭", OfMonth::First),
    ("あたま", OfMonth::First),
    ("月末日", OfMonth::Last),
    ("月末", OfMonth::Last),
    ("末日", OfMonth::Last),
    ("末", OfMonth::Last),
    ("終わり", OfMonth::Last),
    ("おわり", OfMonth::Last),
];
/// What of [`MONTH_PARTS`] says a month by itself.
const MONTH_PARTS_ALONE: [&str; 10] =
    ["月初め", "月はじめ", "月初", "月頭", "月末日", "月末", "上旬", "初旬", "中旬", "下旬"];
const YEAR_PARTS: [(&str, OfYear); 12] = [
    ("年末", OfYear::Last),
    ("年始", OfYear::First),
    ("年初", OfYear::First),
    ("年明け", OfYear::First),
    ("前半", OfYear::Half(0)),
    ("後半", OfYear::Half(1)),
    ("初め", OfYear::First),
    ("始め", OfYear::First),
    ("はじめ", OfYear::First),
    ("頭", OfYear::First),
    ("終わり", OfYear::Last),
    ("末", OfYear::Last),
];
const TERMS: [(&str, u32); 4] = [("上半期", 0), ("上期", 0), ("下半期", 1), ("下期", 1)];
const FEASTS: [(&str, (u32, u32)); 8] = [
    ("クリスマスイブ", (12, 24)),
    ("クリスマスイヴ", (12, 24)),
    ("クリスマス", (12, 25)),
    ("大晦日", (12, 31)),
    ("大みそか", (12, 31)),
    ("おおみそか", (12, 31)),
    ("元日", (1, 1)),
    ("元旦", (1, 1)),
];
/// Words that begin like a date and are none: vague, a habit, a thing, a name.
const NO_DATES: [&str; 31] = [
    "年末年始",
    "年末調整",
    "月末締",
    "月末払",
    "日曜大工",
    "明日葉",
    "明日香",
    "明日美",
    "明日菜",
    "明日奈",
    "明日花さ",
    "今日子さ",
    "今日子ち",
    "三日月",
    "二日酔",
    "二日坊主",
    "三日坊主",
    "四日市",
    "五日市",
    "八日市",
    "十日市",
    "廿日市",
    "六日町",
    "七日町",
    "十日町",
    "五月女",
    "五月雨",
    "五月人形",
    "五月晴",
    "一日中",
    "六月雪",
];
/// After a week, month or year: a part of it that is too vague for days.
const VAGUE_PARTS: [&str; 13] = [
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
const VAGUE_IN_YEAR: [&str; 14] = [
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
const VAGUE_IN_WEEK: [&str; 7] = ["前半", "後半", "初め", "はじめ", "あたま", "頭", "明け"];
/// After 2〜3日 these say a length.
const LASTING: [&str; 4] = ["で", "かか", "くらい", "ほど"];
/// What may follow a day word in kana, which otherwise may be the beginning of another word.
const AFTER_KANA: [&str; 20] = [
    "の", "は", "に", "と", "が", "も", "を", "まで", "から", "で", "へ", "や", "、", "。", " ", "!", "?", ",", "以",
    "って",
];

/// The date that begins at `i` with a word of Japanese or a number with one.
pub(super) fn at(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    if let Some((_, end)) = text.any_at(i, &NO_DATES) {
        return Some(Atom::nothing(end));
    }
    year(text, i, context)
        .or_else(|| week(text, i, context))
        .or_else(|| month(text, i, context))
        .or_else(|| day_word(text, i, context))
        .or_else(|| weekday(text, i, context))
        .or_else(|| edge(text, i, context))
        .or_else(|| lengths::japanese(text, i, context))
        .or_else(|| numbered(text, i))
        .or_else(|| feast(text, i, None))
}

/// The position after an optional の, spaces around it included.
pub(super) fn skip_no(text: &Folded, at: usize) -> usize {
    let next = text.skip_spaces(at);
    text.word_at(next, "の").map_or(next, |end| text.skip_spaces(end))
}

/// `火曜日`, `火曜`. Gives the end.
pub(super) fn weekday_at(text: &Folded, i: usize) -> Option<(Weekday, usize)> {
    let weekday = kanji_weekday(text, i)?;
    let (_, end) = text.any_at(i + 1, &["曜日", "曜"])?;
    Some((weekday, end))
}

/// The one letter that stands for a weekday: 火.
pub(super) fn kanji_weekday(text: &Folded, i: usize) -> Option<Weekday> {
    let index = text.at(i).and_then(|c| "月火水木金土日".chars().position(|k| k == c))?;
    calendar::WEEKDAYS.get(index).copied()
}

fn day_word(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (by, end) = text.lookup(i, &DAYS)?;
    let kana = text.at(end - 1).is_some_and(|c| matches!(c, 'ぁ'..='ゖ'));
    let whole = text.at(end).is_none_or(|c| !matches!(c, 'ぁ'..='ゖ')) || text.any_at(end, &AFTER_KANA).is_some();
    if kana && !whole {
        return None;
    }
    Atom::one(Expr::day(calendar::days(context.today, by))?, end)
}

// --- years

fn year(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (year, end) = year_at(text, i, context)?;
    Some(within_year(text, end, year, context))
}

fn year_at(text: &Folded, i: usize, context: &Context) -> Option<(Year, usize)> {
    let after_year = |at: usize| text.word_at(text.skip_spaces(at), "年");
    let fiscal = |end: usize, year: i32| match text.word_at(end, "度") {
        Some(end) => (Year::Fiscal(year), end),
        None => (Year::Calendar(year), end),
    };
    if let Some((by, end)) = text.lookup(i, &YEARS) {
        let base = match text.word_at(end, "度") {
            Some(_) => calendar::fiscal_year(context.today, super::expr::fiscal_start(context))?,
            None => context.today.year(),
        };
        return Some(fiscal(end, base.checked_add(by)?));
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
    let length = text.any_at(end, &["間", "目", "後", "分", "ぶり", "以上", "連続", "もの"]).is_some()
        || (text.at(end) == Some('前') && text.at(end + 1) != Some('半'));
    let year = i32::try_from(year).ok().filter(|y| *y >= 1000 && !length)?;
    Some(fiscal(end, year))
}

/// After a year: what of it is meant, or all of it.
fn within_year(text: &Folded, end: usize, year: Year, context: &Context) -> Atom {
    let at = skip_no(text, end);
    let vague = text.any_at(at, &VAGUE_PARTS).or_else(|| text.any_at(at, &VAGUE_IN_YEAR));
    if vague.is_some() || season(text, at) {
        return Atom::nothing(vague.map_or(at, |(_, end)| end));
    }
    part_of_year(text, at, year, context).unwrap_or_else(|| Atom::new(Expr::in_year(Some(year), OfYear::Whole), end))
}

/// `夏` by itself, not the beginning of 夏みかん.
fn season(text: &Folded, at: usize) -> bool {
    let next = text.at(at + 1);
    text.at(at).is_some_and(|c| "春夏秋冬".contains(c)) && next.is_none_or(|c| "のにはがもごか頃場、。?! ".contains(c))
}

pub(super) fn part_of_year(text: &Folded, at: usize, year: Year, context: &Context) -> Option<Atom> {
    if let (Some((_, end)), Year::Calendar(y)) = (text.any_at(at, &["今日", "同日", "きょう", "同じ日"]), year)
    {
        let years = i64::from(y) - i64::from(context.today.year());
        return Atom::one(Expr::day(calendar::shifted(context.today, Unit::Year, years))?, end);
    }
    if let Some((_, end)) = text.any_at(at, &["今月", "同月", "同じ月"]) {
        return Atom::one(Expr::in_month(Some(year), Some(context.today.month()), OfMonth::Whole), end);
    }
    if let Some((month, end)) = month_number(text, at) {
        return Some(within_month(text, end, Some(year), Some(month)));
    }
    if let Some((month, day, end)) = written::month_and_day(text, at) {
        return Atom::one(Expr::in_month(Some(year), Some(month), OfMonth::Day(day)), end);
    }
    if let Some((part, end)) = text.lookup(at, &YEAR_PARTS) {
        return Atom::one(Expr::in_year(Some(year), part), end);
    }
    if let Some((n, end)) = text.lookup(at, &TERMS) {
        return Some(Atom::systems(Some(year), |system| OfYear::Term(n, system), end));
    }
    if let Some((n, end)) = written::quarter(text, at) {
        return Some(Atom::systems(Some(year), |system| OfYear::Quarter(n, system), end));
    }
    feast(text, at, Some(year))
}

fn feast(text: &Folded, i: usize, year: Option<Year>) -> Option<Atom> {
    let ((month, day), end) = text.lookup(i, &FEASTS)?;
    // クリスマスケーキ is a thing.
    let katakana = |c: Option<char>| c.is_some_and(|c| matches!(c, 'ァ'..='ー'));
    let thing = katakana(text.at(end)) && katakana(text.before(end));
    (!thing).then(|| Atom::new(Expr::in_month(year, Some(month), OfMonth::Day(day)), end))
}

// --- months

fn month(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    if let Some((by, end)) = text.lookup(i, &MONTHS) {
        return relative_month(text, end, by, context);
    }
    None
}

/// After 先月 or 3ヶ月前の: that month or what of it is meant.
pub(super) fn relative_month(text: &Folded, end: usize, by: i64, context: &Context) -> Option<Atom> {
    let (first, _) = calendar::whole(context.today, Unit::Month, by)?;
    let at = skip_no(text, end);
    if let Some((_, end)) = text.any_at(at, &["今日", "同日", "同じ日"]) {
        return Atom::one(Expr::day(calendar::shifted(context.today, Unit::Month, by))?, end);
    }
    Some(within_month(text, end, Some(Year::Calendar(first.year())), Some(first.month())))
}

/// `11月`, unless it is a name or a length.
fn month_number(text: &Folded, i: usize) -> Option<(u32, usize)> {
    if numbers::joins_left(text, i) {
        return None;
    }
    let (month, at) = numbers::small_at(text, i)?;
    let end = text.word_at(text.skip_spaces(at), "月")?;
    let none = month > 99 || text.any_at(end, &["間", "曜", "目", "ごと", "おき"]).is_some();
    (!none).then_some((month, end))
}

/// After a month: what of it is meant, or all of it.
fn within_month(text: &Folded, end: usize, year: Option<Year>, month: Option<u32>) -> Atom {
    let at = skip_no(text, end);
    let vague = text.any_at(at, &VAGUE_PARTS).or_else(|| text.any_at(at, &VAGUE_IN_MONTH));
    if vague.is_some() || nth_week(text, at) {
        return Atom::nothing(vague.map_or(at, |(_, end)| end));
    }
    let part = day_number(text, at)
        .or_else(|| day_of_several(text, at))
        .map(|(day, end)| (OfMonth::Day(day), end))
        .or_else(|| text.lookup(at, &MONTH_PARTS))
        .or_else(|| nth(text, at));
    let (part, end) = part.unwrap_or((OfMonth::Whole, end));
    Atom::new(Expr::in_month(year, month, part), end)
}

/// `第2週`, `2週目`: which days that is, is not agreed on.
fn nth_week(text: &Folded, at: usize) -> bool {
    let number = text.word_at(at, "第").unwrap_or(at);
    numbers::small_at(text, number).is_some_and(|(n, end)| n < 6 && text.any_at(end, &["週目", "週"]).is_some())
}

/// `第2火曜`, `最終金曜日`, `最後の金曜`.
fn nth(text: &Folded, at: usize) -> Option<(OfMonth, usize)> {
    if let Some((_, end)) = text.any_at(at, &["最終", "最後の"]) {
        let (weekday, end) = weekday_at(text, end)?;
        return Some((OfMonth::LastWeekday(weekday), end));
    }
    let (n, end) = numbers::small_at(text, text.word_at(at, "第")?)?;
    let (weekday, end) = weekday_at(text, skip_no(text, end))?;
    (1..=5).contains(&n).then_some((OfMonth::Nth(n, weekday), end))
}

// --- weeks and weekdays

fn week(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (by, end) = text.lookup(i, &WEEKS)?;
    within_week(text, end, by, context)
}

/// After 先週 or 2週間前の: that week or what of it is meant.
pub(super) fn within_week(text: &Folded, end: usize, by: i64, context: &Context) -> Option<Atom> {
    let (monday, sunday) = calendar::whole(context.today, Unit::Week, by)?;
    let at = skip_no(text, end);
    if let Some((weekday, end)) = weekday_at(text, at) {
        return Atom::one(Expr::in_week(Some(monday), weekday), end);
    }
    if let Some((weekday, end)) = short_weekday(text, at) {
        return Some(Atom { day_may_follow: true, ..Atom::new(Expr::in_week(Some(monday), weekday), end) });
    }
    if let Some((weekday, end)) = bracketed_weekday(text, text.skip_spaces(end)) {
        return Atom::one(Expr::in_week(Some(monday), weekday), end);
    }
    if let Some((_, end)) = text.any_at(at, &["週末", "土日"]).or_else(|| text.any_at(end, &["末"])) {
        return Atom::one(Expr { week: Some(monday), ..Part::Weekend.into() }, end);
    }
    if let Some((_, end)) = text.any_at(at, &["今日", "同じ日", "同日", "同じ曜日"]) {
        return Atom::one(Expr::day(calendar::shifted(context.today, Unit::Week, by))?, end);
    }
    let vague = text.any_at(at, &VAGUE_PARTS).or_else(|| text.any_at(at, &VAGUE_IN_WEEK));
    if let Some((_, end)) = vague {
        return Some(Atom::nothing(end));
    }
    Atom::one(Expr { week: Some(monday), ..Expr::given(Reading::Range(monday, sunday)) }, end)
}

/// The first of 月〜水 and 月・水 after a week.
fn short_weekday(text: &Folded, i: usize) -> Option<(Weekday, usize)> {
    let weekday = kanji_weekday(text, i)?;
    further_weekday(text, i + 1).map(|_| (weekday, i + 1))
}

/// The next of 月〜水 and 月・水・金. Gives where it begins and ends.
pub(super) fn further_weekday(text: &Folded, end: usize) -> Option<(Weekday, usize, usize)> {
    let (_, at) = text.any_at(end, &["~", "-", "・", "から", "と"])?;
    let weekday = kanji_weekday(text, at)?;
    if let Some((weekday, end)) = weekday_at(text, at) {
        return Some((weekday, at, end));
    }
    text.at(at + 1).is_none_or(|c| !is_kanji(c)).then_some((weekday, at, at + 1))
}

fn is_kanji(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '々')
}

/// `(火)`, `(火曜日)`, `(Tue)`.
pub(super) fn bracketed_weekday(text: &Folded, i: usize) -> Option<(Weekday, usize)> {
    let at = text.skip_spaces(text.word_at(i, "(")?);
    let (weekday, end) = weekday_at(text, at)
        .or_else(|| kanji_weekday(text, at).map(|w| (w, at + 1)))
        .or_else(|| super::english::weekday_name(text, at))?;
    Some((weekday, text.word_at(text.skip_spaces(end), ")")?))
}

fn weekday(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let before = ["この前の", "こないだの", "この間の", "このあいだの", "前の"];
    let after = ["今度の", "こんどの", "次の", "つぎの"];
    if let Some((weekday, end)) = text.any_at(i, &before).and_then(|(_, at)| weekday_at(text, at)) {
        return Atom::one(Expr::day(calendar::up_to(context.today.pred_opt()?, weekday))?, end);
    }
    if let Some((weekday, end)) = text.any_at(i, &after).and_then(|(_, at)| weekday_at(text, at)) {
        return Atom::one(Expr::day(calendar::on_or_after(context.today.succ_opt()?, weekday))?, end);
    }
    if let Some((_, end)) = text.any_at(i, &["週末", "土日"]) {
        return Atom::one(Part::Weekend.into(), end);
    }
    if let Some((part, end)) = nth(text, i) {
        return Atom::one(Expr::in_month(None, None, part), end);
    }
    let (weekday, end) = weekday_at(text, i)?;
    let habit = text.any_at(end, &["ごと", "毎", "定休", "別", "休み", "限定"]).is_some();
    Some(if habit { Atom::nothing(end) } else { Atom::new(Expr::in_week(None, weekday), end) })
}

// --- parts of a month or year that is not named

fn edge(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    // 翌月末, 各月末: of another month than this one.
    if text.before(i).is_some_and(|c| "翌各隔毎".contains(c)) {
        return None;
    }
    if let Some((_, end)) = text.any_at(i, &MONTH_PARTS_ALONE) {
        let (part, _) = text.lookup(i, &MONTH_PARTS)?;
        return Atom::one(Expr::in_month(None, None, part), end);
    }
    if let Some(end) = text.word_at(i, "年初来") {
        let first = NaiveDate::from_ymd_opt(context.today.year(), 1, 1)?;
        return Atom::one(Expr::given(Reading::Range(first, context.today)), end);
    }
    if let Some((part, end)) = text.lookup(i, &YEAR_PARTS).filter(|_| text.at(i) == Some('年')) {
        return Atom::one(Expr::in_year(None, part), end);
    }
    if let Some(end) = text.word_at(i, "年度") {
        return fiscal_year(text, end, context);
    }
    if let Some((n, end)) = text.lookup(i, &TERMS) {
        return Some(Atom::systems(None, |system| OfYear::Term(n, system), end));
    }
    if let Some((by, end)) = text.lookup(i, &[("今四半期", 0), ("当四半期", 0), ("前四半期", -1), ("来四半期", 1)])
    {
        return quarter_from_now(by, end, context);
    }
    let (n, end) = written::quarter(text, i)?;
    Some(Atom::systems(None, |system| OfYear::Quarter(n, system), end))
}

/// The fiscal quarter so many from this one.
pub(super) fn quarter_from_now(by: i64, end: usize, context: &Context) -> Option<Atom> {
    let (first, last) = super::quarter(context, by)?;
    Atom::one(Expr::given(Reading::Range(first, last)), end)
}

/// 年度末, 年度初め, 年度 without saying which.
fn fiscal_year(text: &Folded, end: usize, context: &Context) -> Option<Atom> {
    let this = calendar::fiscal_year(context.today, super::expr::fiscal_start(context))?;
    if let Some((part, after)) = text.lookup(end, &YEAR_PARTS) {
        return Some(Atom::new(super::unnamed_fiscal_year(part, context)?, after));
    }
    let habit = text.any_at(end, &["ごと", "別", "毎", "途中", "替"]).is_some();
    Some(if habit { Atom::nothing(end) } else { within_year(text, end, Year::Fiscal(this), context) })
}

// --- numbers of days and months

fn numbered(text: &Folded, i: usize) -> Option<Atom> {
    if let Some((month, end)) = month_number(text, i) {
        return Some(within_month(text, end, None, Some(month)));
    }
    if let Some(end) = first_of_several(text, i, "月") {
        let (month, _) = numbers::small_at(text, i)?;
        return Atom::one(Expr::in_month(None, Some(month), OfMonth::Whole), end);
    }
    if let Some(end) = first_of_several(text, i, "日") {
        let (day, _) = numbers::small_at(text, i)?;
        return Atom::one(Expr::in_month(None, None, OfMonth::Day(day)), end);
    }
    let (day, end) = day_number(text, i).filter(|_| !numbers::joins_left(text, i))?;
    // 2〜3日で is a length, 2、3日 says "about".
    let lasts = text.any_at(end, &LASTING).is_some() && numbers::vague_pair(text, i, "~-");
    (day <= 31 && !lasts && !numbers::vague_pair(text, i, ""))
        .then(|| Atom::new(Expr::in_month(None, None, OfMonth::Day(day)), end))
}

/// `10日`, unless it is a length or a habit.
fn day_number(text: &Folded, i: usize) -> Option<(u32, usize)> {
    let (day, at) = numbers::small_at(text, i)?;
    let end = text.word_at(text.skip_spaces(at), "日")?;
    (day <= 99 && !lengths::is_length(text, end)).then_some((day, end))
}

/// `3` in 11月3〜5日 and 11月3、5日.
fn day_of_several(text: &Folded, i: usize) -> Option<(u32, usize)> {
    let (day, end) = numbers::small_at(text, i)?;
    let (_, at) = text.any_at(text.skip_spaces(end), &["~", "-", "から", "、", "・", ","])?;
    day_number(text, text.skip_spaces(at)).map(|_| (day, end))
}

/// `10` in 10〜12月 and 3〜5日.
fn first_of_several(text: &Folded, i: usize, counter: &str) -> Option<usize> {
    if numbers::joins_left(text, i) || text.before(i).is_some_and(|c| "-/~#".contains(c)) {
        return None;
    }
    let (_, end) = numbers::small_at(text, i)?;
    let (_, at) = text.any_at(text.skip_spaces(end), &["~", "-"])?;
    let at = text.skip_spaces(at);
    let named = if counter == "月" { month_number(text, at) } else { day_number(text, at) };
    let (_, after) = named?;
    (counter == "月" || text.any_at(after, &LASTING).is_none()).then_some(end)
}
