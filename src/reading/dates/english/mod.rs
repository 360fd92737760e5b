//! Date words of English: day words, weekdays, feast days. Months and days are read by [`days`], longer times by
//! [`periods`].

mod days;
mod periods;

use chrono::Weekday;

use self::days::{dated, day_month, month_day, ordinal};
use super::expr::{Expr, OfMonth, OfYear, Part};
use super::frames::{self, Frame, frame_at};
use super::{Atom, calendar, written};
use crate::reading::fold::Folded;
use crate::reading::{Context, numbers};

const WEEKDAYS: [(&str, Weekday); 18] = [
    ("monday", Weekday::Mon),
    ("tuesday", Weekday::Tue),
    ("wednesday", Weekday::Wed),
    ("thursday", Weekday::Thu),
    ("friday", Weekday::Fri),
    ("saturday", Weekday::Sat),
    ("sunday", Weekday::Sun),
    ("tues", Weekday::Tue),
    ("weds", Weekday::Wed),
    ("thurs", Weekday::Thu),
    ("thur", Weekday::Thu),
    ("mon", Weekday::Mon),
    ("tue", Weekday::Tue),
    ("wed", Weekday::Wed),
    ("thu", Weekday::Thu),
    ("fri", Weekday::Fri),
    ("sat", Weekday::Sat),
    ("sun", Weekday::Sun),
];
const DAYS: [(&str, i64); 9] = [
    ("the day before yesterday", -2),
    ("day before yesterday", -2),
    ("the day after tomorrow", 2),
    ("day after tomorrow", 2),
    ("yesterday", -1),
    ("last night", -1),
    ("this morning", 0),
    ("today", 0),
    ("tomorrow", 1),
];
const FEASTS: [(&str, (u32, u32)); 8] = [
    ("christmas day", (12, 25)),
    ("christmas eve", (12, 24)),
    ("christmas", (12, 25)),
    ("xmas", (12, 25)),
    ("boxing day", (12, 26)),
    ("new year's day", (1, 1)),
    ("new year's eve", (12, 31)),
    ("new years eve", (12, 31)),
];
/// Words after which a short or doubtful name is a date: "in May", "on Sat".
const ANNOUNCING: [&str; 22] = [
    "in", "on", "for", "of", "since", "from", "until", "till", "through", "by", "during", "between", "before", "after",
    "and", "to", "vs", "or", "early", "mid", "late", "than",
];

/// The date that begins at `i` with a word or number of English.
pub(super) fn at(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    if numbers::joins_left(text, i) {
        return None;
    }
    if let Some((by, end)) = text.lookup(i, &DAYS) {
        return Atom::one(Expr::day(calendar::days(context.today, by))?, end);
    }
    periods::beside(text, i, context)
        .or_else(|| periods::to_date(text, i, context))
        .or_else(|| periods::this_day(text, i, context))
        .or_else(|| periods::week_of(text, i, context))
        .or_else(|| periods::part_of_frame(text, i, context))
        .or_else(|| periods::edge(text, i, context))
        .or_else(|| periods::recent(text, i, context))
        .or_else(|| periods::sided(text, i, context))
        .or_else(|| periods::counted(text, i, context))
        .or_else(|| month_day(text, i, context))
        .or_else(|| day_month(text, i, context))
        .or_else(|| days::nth_weekday(text, i, context))
        .or_else(|| ordinal(text, i, context))
        .or_else(|| weekday(text, i, context))
        .or_else(|| feast(text, i, context))
        .or_else(|| named_year(text, i))
}

fn the(text: &Folded, i: usize) -> usize {
    text.word_at(i, "the ").unwrap_or(i)
}

// --- weekdays

/// A weekday's name, long or short. Gives the end, the full stop of a short one not included.
pub(super) fn weekday_name(text: &Folded, i: usize) -> Option<(Weekday, usize)> {
    text.lookup(i, &WEEKDAYS)
}

/// The weekday written after a day: "11/24 Tue", "Nov 24, Tuesday".
pub(super) fn weekday_beside(text: &Folded, end: usize) -> Option<(Weekday, usize)> {
    let at = text.skip_spaces(text.word_at(end, ",").unwrap_or(end));
    let (weekday, after) = weekday_name(text, at).filter(|_| at > end)?;
    let linked = text.any_at(text.skip_spaces(after), &["and ", "or ", "to ", "last ", "this ", "next "]).is_some();
    let sure = after - at > 3 || text.any_at(at, &["tue", "thu", "fri", "mon", "wed"]).is_some();
    (sure && !linked).then_some((weekday, after))
}

/// "Tuesday", "Tuesday last week", "Tuesday, Nov 24", "Tuesday the 24th", "Friday week".
fn weekday(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (weekday, end) = weekday_name(text, i)?;
    let dot = if text.at(end) == Some('.') && end - i <= 5 { end + 1 } else { end };
    let at = text.skip_spaces(text.word_at(text.skip_spaces(dot), ",").unwrap_or(dot));
    if let Some(day) = day_named(text, at, weekday, context).filter(|_| at > end) {
        return Some(day);
    }
    let of = text.word_at(at, "of ").unwrap_or(at);
    if let Some((Frame::Week(monday), after)) = frame_at(text, of, context).filter(|_| of > end) {
        return Some(Atom::new(Expr::in_week(Some(monday), weekday), after).sharing());
    }
    if let Some(after) = text.word_at(at, "week").filter(|_| at > end && end - i > 4) {
        let next = calendar::on_or_after(context.today.succ_opt()?, weekday)?;
        return Atom::one(Expr::day(calendar::days(next, 7))?, after);
    }
    let sure = end - i > 4 || text.any_at(i, &["tue", "tues", "weds", "thu", "thur", "fri"]).is_some();
    let announced = ANNOUNCING.iter().any(|w| text.word_before(i, w).is_some());
    let listed = text
        .any_at(text.skip_spaces(end), &["-", "~", "to ", "and "])
        .is_some_and(|(_, next)| weekday_name(text, text.skip_spaces(next)).is_some());
    let thing = text.word_before(i, "black").is_some() || text.word_before(i, "good").is_some();
    ((sure || announced || listed) && !thing).then(|| Atom::new(Expr::in_week(None, weekday), end))
}

/// The day after its weekday: "Tuesday, Nov 24", "Tue 24 Nov", "Tuesday the 24th".
fn day_named(text: &Folded, at: usize, weekday: Weekday, context: &Context) -> Option<Atom> {
    let mut atom = match text.at(at)? {
        c if c.is_ascii_digit() => written::at(text, at, context).or_else(|| day_month(text, at, context))?,
        _ => month_day(text, at, context).or_else(|| day_month(text, at, context)).or_else(|| {
            let the = text.word_at(at, "the ")?;
            numbers::digits_at(text, the).and_then(|_| ordinal(text, at, context))
        })?,
    };
    let day = !atom.exprs.is_empty()
        && atom.exprs.iter().all(|e| matches!(e.part, Part::OfMonth(OfMonth::Day(_)) | Part::Given(_)));
    let single = day && atom.exprs.iter().all(super::is_day);
    atom.exprs.iter_mut().for_each(|e| e.weekday = Some(weekday));
    single.then_some(Atom { day_may_follow: false, ..atom })
}

// --- feasts and years

fn feast(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    const THINGS: [&str; 14] = [
        "cake", "cakes", "tree", "trees", "card", "cards", "gift", "gifts", "present", "presents", "party", "wreath",
        "wreaths", "box",
    ];
    let ((month, day), end) = text.lookup(i, &FEASTS)?;
    if text.any_at(text.skip_spaces(end), &THINGS).is_some() {
        return None;
    }
    Some(Atom { day_may_follow: false, ..dated(text, month, day, end, context) })
}

/// "2025" where a year is announced, FY2025.
fn named_year(text: &Folded, i: usize) -> Option<Atom> {
    let (Frame::Year(year), end) = frames::named_year(text, i)? else { return None };
    let announced =
        ["in", "of", "for", "since", "during", "from", "to", "and", "until", "through", "than", "before", "after"]
            .iter()
            .any(|w| text.word_before(i, w).is_some());
    const FOLLOWING: [&str; 15] = [
        "for ",
        "by ",
        "and ",
        "to ",
        "vs ",
        "please",
        "pls",
        "total",
        "totals",
        "sales",
        "only",
        "with ",
        "or ",
        "than ",
        "compared ",
    ];
    let next = text.skip_spaces(end);
    let closed = text.at(next).is_none_or(|c| !c.is_ascii_alphanumeric()) || text.any_at(next, &FOLLOWING).is_some();
    // "Sold for 2000 to 0002" says a price.
    let price = text.word_before(i, "for").is_some()
        && text.word_at(next, "to ").is_some_and(|at| numbers::digits_at(text, at).is_none_or(|(n, ..)| n < 1900));
    (announced && closed && !price).then(|| Atom::new(Expr::in_year(Some(year), OfYear::Whole), end))
}
