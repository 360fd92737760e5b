//! Weeks and weekdays of Japanese: 先週の火曜日, 先週の月〜金, この前の火曜, 週末.

use chrono::Weekday;

use super::{end_at, months, skip_no};
use crate::reading::dates::calendar::{self, Unit};
use crate::reading::dates::expr::{Expr, Part};
use crate::reading::dates::{Atom, english};
use crate::reading::fold::Folded;
use crate::reading::{Context, Reading};

const WEEKS: [(&str, i64); 12] = [
    ("前々週", -2),
    ("来々週", 2),
    ("来来週", 2),
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
const VAGUE_IN_WEEK: [&str; 7] = ["前半", "後半", "初め", "はじめ", "あたま", "頭", "明け"];

/// `火曜日`, `火曜`. Gives the end.
pub(in crate::reading::dates) fn weekday_at(text: &Folded, i: usize) -> Option<(Weekday, usize)> {
    let weekday = kanji_weekday(text, i)?;
    let (_, end) = text.any_at(i + 1, &["曜日", "曜"])?;
    // 土曜日曜 names two.
    Some((weekday, if text.at(end) == Some('曜') { end - 1 } else { end }))
}

/// The one letter that stands for a weekday: 火.
pub(in crate::reading::dates) fn kanji_weekday(text: &Folded, i: usize) -> Option<Weekday> {
    let index = text.at(i).and_then(|c| "月火水木金土日".chars().position(|k| k == c))?;
    calendar::WEEKDAYS.get(index).copied()
}

pub(super) fn week(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (by, end) = text.lookup(i, &WEEKS)?;
    within_week(text, end, by, context)
}

/// 先週 and the like.
pub(super) fn is_relative(text: &Folded, i: usize) -> bool {
    text.lookup(i, &WEEKS).is_some()
}

/// After 先週 or 2週間前の: that week or what of it is meant.
pub(in crate::reading::dates) fn within_week(text: &Folded, end: usize, by: i64, context: &Context) -> Option<Atom> {
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
    if let Some((_, end)) = text.any_at(at, &["週末", "土日"]).or_else(|| Some(("末", end_at(text, end)?))) {
        return Atom::one(Expr { week: Some(monday), ..Part::Weekend.into() }, end);
    }
    if let Some((_, end)) = text.any_at(at, &["今日", "同じ日", "同日", "同じ曜日"]) {
        return Atom::one(Expr::day(calendar::shifted(context.today, Unit::Week, by))?, end);
    }
    // 先週の月水金.
    if let (Some(_), Some(_)) = (kanji_weekday(text, at), kanji_weekday(text, at + 1)) {
        let end = if kanji_weekday(text, at + 2).is_some() { at + 3 } else { at + 2 };
        return Some(Atom::nothing(end)).filter(|_| text.word_at(end, "さん").is_none());
    }
    let vague = text.any_at(at, &months::VAGUE_PARTS).or_else(|| text.any_at(at, &VAGUE_IN_WEEK));
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
pub(in crate::reading::dates) fn further_weekday(text: &Folded, end: usize) -> Option<(Weekday, usize, usize)> {
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
pub(in crate::reading::dates) fn bracketed_weekday(text: &Folded, i: usize) -> Option<(Weekday, usize)> {
    let (open, at) = text.any_at(i, &["(", "[", "【"])?;
    let at = text.skip_spaces(at);
    let (weekday, end) = weekday_at(text, at)
        .or_else(|| kanji_weekday(text, at).map(|w| (w, at + 1)))
        .or_else(|| english::weekday_name(text, at))?;
    let end = text.word_at(end, ".").unwrap_or(end);
    // (火・祝).
    let end = text.any_at(end, &["・祝日", "・祝", "祝", "/祝"]).map_or(end, |(_, end)| end);
    let close = match open {
        "[" => "]",
        "【" => "】",
        _ => ")",
    };
    Some((weekday, text.word_at(text.skip_spaces(end), close)?))
}

pub(super) fn weekday(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let before = ["この前の", "こないだの", "この間の", "このあいだの", "前の"];
    let after = ["今度の", "こんどの", "次の", "つぎの"];
    if let Some((weekday, end)) = text.any_at(i, &before).and_then(|(_, at)| weekday_at(text, at)) {
        return Atom::one(Expr::day(calendar::up_to(context.today.pred_opt()?, weekday))?, end);
    }
    if let Some((weekday, end)) = text.any_at(i, &after).and_then(|(_, at)| weekday_at(text, at)) {
        return Atom::one(Expr::day(calendar::on_or_after(context.today.succ_opt()?, weekday))?, end);
    }
    if let Some((_, end)) = text.any_at(i, &["週末", "土日"]) {
        // 金土日.
        if text.at(i) == Some('土') && text.before(i).is_some_and(|c| "木金".contains(c)) {
            return Some(Atom::nothing(end));
        }
        return Atom::one(Part::Weekend.into(), end);
    }
    if let Some((part, end)) = months::nth(text, i) {
        return Atom::one(Expr::in_month(None, None, part), end);
    }
    let (weekday, end) = weekday_at(text, i)?;
    let habit = text.any_at(end, &["ごと", "毎", "定休", "別", "休み", "限定"]).is_some();
    Some(if habit { Atom::nothing(end) } else { Atom::new(Expr::in_week(None, weekday), end) })
}
