//! What words around two dates make of them: a correction (11/20から11/21に変更) is no period, 去年と今年の11月 are two
//! Novembers, 月曜以外 asks for everything else.

use super::expr::{OfMonth, OfYear, Part};
use super::japanese::Begins;
use super::{Item, japanese};
use crate::reading::fold::Folded;
use crate::reading::{Context, Reading};

/// What may stand between a day and から or まで without moving it: 20日分から, 金曜の夕方まで.
const TIMES: [&str; 20] = [
    "分",
    "頃",
    "ごろ",
    "ころ",
    "あたり",
    "の朝",
    "朝",
    "の昼",
    "昼",
    "の夕方",
    "夕方",
    "の夜",
    "夜",
    "の晩",
    "晩",
    "の午前中",
    "午前中",
    "の午後",
    "午後",
    "の午前",
];

/// The position after a time of day, 頃 or 分.
pub(super) fn skip_time(text: &Folded, at: usize) -> usize {
    text.any_at(text.skip_spaces(at), &TIMES).map_or(at, |(_, end)| text.skip_spaces(end))
}

/// `に変更` after the second date: the first was wrong, and the second is put in its place.
pub(super) fn corrects(text: &Folded, end: usize) -> bool {
    const CHANGES: [&str; 17] = [
        "変更",
        "変え",
        "かえて",
        "直し",
        "直す",
        "直せ",
        "直さ",
        "なおし",
        "修正",
        "訂正",
        "移動",
        "移し",
        "移す",
        "ずら",
        "延期",
        "更新",
        "書き換え",
    ];
    let at = text.skip_spaces(skip_time(text, end));
    let Some((word, at)) = text.any_at(at, &["に", "へ"]) else { return false };
    let at = text.any_at(at, &["日付を", "日にちを", "販売日を", "、"]).map_or(at, |(_, end)| end);
    let closes = word == "へ" && text.at(at).is_none_or(|c| "。!".contains(c));
    closes || text.any_at(text.skip_spaces(at), &CHANGES).is_some()
}

/// `以外`, `を除く`: everything but this day or period.
pub(super) fn is_excluded(text: &Folded, end: usize) -> bool {
    const BUT: [&str; 11] =
        ["以外", "いがい", "を除", "をのぞ", "は除", "はのぞ", "抜き", "を抜", "を含ま", "は含ま", "を含め"];
    let kept = text.any_at(end, &["を含めて", "を含めた", "を含める", "抜き出"]).is_some();
    !kept && text.any_at(end, &BUT).is_some()
}

/// `夏から` and the like right before it: where the period begins is not known.
pub(super) fn begins_unknown(text: &Folded, from: usize) -> bool {
    const UNKNOWN: [&str; 14] =
        ["春", "夏", "秋", "冬", "半ば", "なかば", "期初", "期首", "明け", "頭", "初め", "はじめ", "中頃", "発売"];
    let Some(at) = text.word_before(from, "から").or_else(|| text.word_before(from, "~")) else { return false };
    UNKNOWN.iter().any(|w| text.word_before(at, w).is_some())
}

/// 去年と今年の11月, 先月と今月の20日, 先週と今週の火曜: the part is one of both.
pub(super) fn share_part(text: &Folded, before: &mut Item, after: &Item, context: &Context) {
    let of = text.chars().get(after.from..after.to).is_some_and(|words| words.contains(&'の'));
    let ([whole], Some(part)) = (before.exprs.as_slice(), after.exprs.first()) else { return };
    let kind = japanese::begins(text, before.from, context);
    if !of || kind != japanese::begins(text, after.from, context) || before.length.is_some() {
        return;
    }
    let shared = match (&whole.part, kind) {
        (Part::OfYear(OfYear::Whole), Some(Begins::Year)) => part.year.is_some(),
        (Part::OfMonth(OfMonth::Whole), Some(Begins::Month)) => {
            matches!(part.part, Part::OfMonth(_)) && part.month.is_some()
        }
        (Part::Given(readings), Some(Begins::Week)) => {
            matches!(readings.as_slice(), [Reading::Range(..)]) && part.week.is_some()
        }
        _ => false,
    };
    if !shared {
        return;
    }
    let (year, month, week) = (whole.year, whole.month, whole.week);
    let mut exprs = after.exprs.clone();
    for expr in &mut exprs {
        expr.year = year;
        if month.is_some() {
            expr.month = month;
        }
        expr.week = week;
    }
    before.exprs = exprs;
}
