//! Date words of Japanese: day words, edges of months and years, feast days. Years, months,
//! numbered days and weeks with what follows them are read by modules of their own.

mod months;
mod numbered;
mod same;
mod weeks;
mod years;

use chrono::{Datelike, NaiveDate};

pub(super) use self::months::{part_of_month, relative_month};
pub(super) use self::same::said_twice;
pub(super) use self::weeks::{bracketed_weekday, further_weekday, weekday_at, within_week};
pub(super) use self::years::{part_of_year, within_year};
use super::calendar;
use super::expr::{self, Expr, OfMonth, OfYear, Year};
use super::frames::{self, Frame};
use super::{Atom, lengths, written};
use crate::reading::fold::Folded;
use crate::reading::{Context, Reading, numbers};

const DAYS: [(&str, i64); 26] = [
    ("先一昨日", -3),
    ("昨昨日", -2),
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
const MONTH_PARTS: [(&str, OfMonth); 23] = [
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
    ("最終日", OfMonth::Last),
    ("末", OfMonth::Last),
    ("終わり", OfMonth::Last),
    ("おわり", OfMonth::Last),
];
/// What of [`MONTH_PARTS`] says a month by itself.
const MONTH_PARTS_ALONE: [&str; 11] =
    ["末日", "月初め", "月はじめ", "月初", "月頭", "月末日", "月末", "上旬", "初旬", "中旬", "下旬"];
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
const NO_DATES: [&str; 36] = [
    "末日締",
    "末日払",
    "二十日大根",
    "廿日大根",
    "月末営業日",
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
/// What may follow a day word in kana, which otherwise may be the beginning of another word.
const AFTER_KANA: [&str; 20] = [
    "の", "は", "に", "と", "が", "も", "を", "まで", "から", "で", "へ", "や", "、", "。", " ", "!", "?", ",", "以",
    "って",
];

/// The date that begins at `i` with a word of Japanese or a number with one.
pub(super) fn at(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    if let Some(end) = text.any_at(i, &NO_DATES).map(|(_, end)| end).or_else(|| months::nth_week(text, i)) {
        return Some(Atom::nothing(end));
    }
    same::next_or_last(text, i, context)
        .or_else(|| years::year(text, i, context))
        .or_else(|| weeks::week(text, i, context))
        .or_else(|| months::month(text, i, context))
        .or_else(|| day_word(text, i, context))
        .or_else(|| weeks::weekday(text, i, context))
        .or_else(|| edge(text, i, context))
        .or_else(|| lengths::japanese(text, i, context))
        .or_else(|| numbered::numbered(text, i))
        .or_else(|| feast(text, i, None))
}

/// FY2025上期.
pub(super) fn named_year(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (Frame::Year(year), end) = frames::named_year(text, i)? else { return None };
    let at = skip_no(text, end);
    let part = text.lookup(at, &TERMS).map(|_| ());
    part.or_else(|| numbered::month_of_several(text, at).map(|_| ()))?;
    years::part_of_year(text, at, year, context)
}

/// What a period's own words say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    Year,
    Month,
    Week,
}

/// A year, or a month or week seen from today, begins at `i`: 去年, 先月, 今週.
pub(super) fn begins(text: &Folded, i: usize, context: &Context) -> Option<Begins> {
    if years::year_at(text, i, context).is_some() {
        Some(Begins::Year)
    } else if months::is_relative(text, i) {
        Some(Begins::Month)
    } else {
        weeks::is_relative(text, i).then_some(Begins::Week)
    }
}

/// The position after an optional の, spaces around it included.
pub(super) fn skip_no(text: &Folded, at: usize) -> usize {
    let next = text.skip_spaces(at);
    text.word_at(next, "の").map_or(next, |end| text.skip_spaces(end))
}

fn day_word(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (by, end) = text.lookup(i, &DAYS)?;
    let kana = text.at(end - 1).is_some_and(|c| matches!(c, 'ぁ'..='ゖ'));
    let whole = text.at(end).is_none_or(|c| !matches!(c, 'ぁ'..='ゖ')) || text.any_at(end, &AFTER_KANA).is_some();
    // 15本日野さん: the 本 counts.
    let counted = text.at(i) == Some('本') && follows_number(text, i);
    if (kana && !whole) || counted {
        return None;
    }
    Atom::one(Expr::day(calendar::days(context.today, by))?, end)
}

/// The character at `i` may belong to the number before it: the 年 of 25年末, the 月 of 3ヶ月末.
fn follows_number(text: &Folded, i: usize) -> bool {
    text.before(i).is_some_and(|c| c.is_ascii_digit() || numbers::is_kanji_numeral(c) || "ヶかカケヵ数何".contains(c))
}

/// `末`, unless a family name begins with it: 先週末永さんに.
fn end_at(text: &Folded, at: usize) -> Option<usize> {
    text.word_at(at, "末").filter(|end| !text.at(*end).is_some_and(|c| "永次広廣松吉武岡光".contains(c)))
}

// --- parts of a month or year that is not named

fn edge(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    // 翌月末, 各月末: of another month than this one.
    if text.before(i).is_some_and(|c| "翌各隔毎".contains(c)) || follows_number(text, i) {
        return None;
    }
    let half = text.word_at(i, "後半").filter(|_| {
        ["月前半と", "の前半と", "月前半、", "の前半、", "の前半・"].iter().any(|w| text.word_before(i, w).is_some())
    });
    if let Some(end) = half {
        return Atom::one(Expr::in_month(None, None, OfMonth::Half(1)), end);
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
        return Some(years::edge_of_year(text, None, part, end));
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
    let this = calendar::fiscal_year(context.today, expr::fiscal_start(context))?;
    if let Some((part, after)) = text.lookup(end, &YEAR_PARTS) {
        return Some(Atom::new(super::unnamed_fiscal_year(part, context)?, after));
    }
    let habit = text.any_at(end, &["ごと", "別", "毎", "途中", "替"]).is_some();
    Some(if habit { Atom::nothing(end) } else { years::within_year(text, end, Year::Fiscal(this), context) })
}

fn feast(text: &Folded, i: usize, year: Option<Year>) -> Option<Atom> {
    let ((month, day), end) = text.lookup(i, &FEASTS)?;
    // クリスマスケーキ is a thing.
    let katakana = |c: Option<char>| c.is_some_and(|c| matches!(c, 'ァ'..='ー'));
    let thing = katakana(text.at(end)) && katakana(text.before(end));
    (!thing).then(|| Atom::new(Expr::in_month(year, Some(month), OfMonth::Day(day)), end))
}
