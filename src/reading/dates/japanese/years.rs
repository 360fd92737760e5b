//! Years of Japanese with what follows them: 去年の12月3日, 2025年4〜9月, 令和7年度上期, 今年前半.

use chrono::Datelike;

use super::months::{VAGUE_PARTS, any_weekday, month_number, nth, within_month};
use super::numbered::{day_number, month_of_several};
use super::{TERMS, YEAR_PARTS, end_at, feast, skip_no};
use crate::reading::dates::calendar::{self, Unit};
use crate::reading::dates::era::Era;
use crate::reading::dates::expr::{self, Expr, OfMonth, OfYear, Year};
use crate::reading::dates::{Atom, written};
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
