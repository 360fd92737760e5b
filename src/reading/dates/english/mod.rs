//! Date words of English: day words, weekdays, feast days. Months and days are read by [`days`], longer times by
//! [`periods`].

mod corrections;
mod counted;
mod days;
mod forms;
mod may;
mod periods;
mod sides;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use chrono::Weekday;

pub(super) use self::corrections::corrects;
use self::days::{dated, day_month, month_day, ordinal};
use self::sides::now;
use super::expr::{Expr, OfMonth, OfYear, Part, Year};
use super::frames::{self, Frame, frame_at};
use super::{Atom, calendar, written};
use crate::reading::fold::Folded;
use crate::reading::{Context, Reading, numbers};

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
const FEASTS: [(&str, (u32, u32)); 9] = [
    ("christmas day", (12, 25)),
    ("christmas eve", (12, 24)),
    ("christmas", (12, 25)),
    ("xmas", (12, 25)),
    ("boxing day", (12, 26)),
    ("new year's day", (1, 1)),
    ("new year's eve", (12, 31)),
    ("new years eve", (12, 31)),
    ("new years day", (1, 1)),
];
/// Words after which a short or doubtful name is a date: "in May", "on Sat".
const ANNOUNCING: [&str; 22] = [
    "in", "on", "for", "of", "since", "from", "until", "till", "through", "by", "during", "between", "before", "after",
    "and", "to", "vs", "or", "early", "mid", "late", "than",
];

/// Words that begin a date beside those of the tables.
const FIRST_WORDS: [&str; 62] = [
    "latter",
    "final",
    "opening",
    "closing",
    "reiwa",
    "heisei",
    "showa",
    "now",
    "a",
    "an",
    "the",
    "in",
    "half",
    "last",
    "past",
    "previous",
    "prior",
    "current",
    "this",
    "next",
    "coming",
    "upcoming",
    "week",
    "month",
    "year",
    "quarter",
    "fiscal",
    "financial",
    "business",
    "fy",
    "end",
    "close",
    "beginning",
    "start",
    "early",
    "mid",
    "late",
    "middle",
    "same",
    "day",
    "ytd",
    "mtd",
    "qtd",
    "eom",
    "w",
    "q",
    "h",
    "r",
    "s",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "twentieth",
];

/// All of them, sorted. Nearly every word of a sentence ends here.
static BEGINNINGS: LazyLock<BTreeSet<Vec<char>>> = LazyLock::new(|| {
    let tables = WEEKDAYS.iter().map(|(w, _)| *w).chain(frames::MONTHS.iter().map(|(w, _)| *w));
    let tables = tables.chain(DAYS.iter().map(|(w, _)| *w)).chain(FEASTS.iter().map(|(w, _)| *w));
    let words = tables.chain(numbers::WORDS.iter().map(|(w, _)| *w)).chain(days::ORDINALS.iter().map(|(w, _)| *w));
    let first = |w: &str| w.chars().take_while(char::is_ascii_alphabetic).collect();
    words.chain(FIRST_WORDS).map(first).collect()
});

/// The word at `i` can begin a date.
pub(super) fn may_begin(text: &Folded, i: usize) -> bool {
    let rest = text.chars().get(i..).unwrap_or_default();
    let letters = rest.iter().take_while(|c| c.is_ascii_alphabetic()).count();
    rest.get(..letters).is_some_and(|word| BEGINNINGS.contains(word))
}

/// The date that begins at `i` with a word or number of English.
pub(super) fn at(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    if numbers::joins_left(text, i) {
        return None;
    }
    if let Some(atom) = forms::at(text, i, context) {
        return Some(atom);
    }
    if text.at(i).is_some_and(|c| c.is_ascii_digit()) {
        return counted::counted(text, i, context)
            .or_else(|| counted::vague(text, i, context))
            .or_else(|| year_month(text, i, context))
            .or_else(|| periods::part_of_frame(text, i, context))
            .or_else(|| day_month(text, i, context))
            .or_else(|| days::nth_weekday(text, i, context))
            .or_else(|| ordinal(text, i, context))
            .or_else(|| named_year(text, i));
    }
    if let Some((by, end)) = text.lookup(i, &DAYS) {
        return Atom::one(Expr::day(calendar::days(context.today, by))?, end);
    }
    counted::vague(text, i, context)
        .or_else(|| periods::beside(text, i, context))
        .or_else(|| periods::to_date(text, i, context))
        .or_else(|| periods::this_day(text, i, context))
        .or_else(|| periods::week_of(text, i, context))
        .or_else(|| counted::ended(text, i, context))
        .or_else(|| now(text, i, context))
        .or_else(|| periods::part_of_frame(text, i, context))
        .or_else(|| periods::edge(text, i, context))
        .or_else(|| counted::recent(text, i, context))
        .or_else(|| periods::sided(text, i, context))
        .or_else(|| counted::counted(text, i, context))
        .or_else(|| month_day(text, i, context))
        .or_else(|| day_month(text, i, context))
        .or_else(|| days::nth_weekday(text, i, context))
        .or_else(|| ordinal(text, i, context))
        .or_else(|| weekday(text, i, context))
        .or_else(|| feast(text, i, context))
        .or_else(|| named_year(text, i))
}

/// The words at `i` go on to another date: "the day after …", "the week of …", "3 days from …".
pub(super) fn holds_another(text: &Folded, i: usize) -> bool {
    const HOLDING: [&str; 3] = ["day after ", "day before ", "weekend of "];
    let at = the(text, i);
    text.any_at(at, &HOLDING).is_some()
        || periods::WEEK_OF.iter().any(|w| text.word_at(at, w).is_some())
        || counted::from(text, i)
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
    // "5/12 Sat", but "5/12 sat down".
    let closed = text.at(text.skip_spaces(after)).is_none_or(|c| !c.is_ascii_alphabetic());
    let sure = sure || (closed && text.before(end).is_some_and(|c| c.is_ascii_digit()));
    (sure && !linked).then_some((weekday, after))
}

/// "Tuesday", "Tuesday last week", "Tuesday, Nov 24", "Tuesday the 24th", "Friday week".
fn weekday(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (weekday, end) = weekday_name(text, i)?;
    if let Some(atom) = bare_day(text, end, weekday) {
        return Some(atom);
    }
    let dot = if text.at(end) == Some('.') && end - i <= 5 { end + 1 } else { end };
    let at = text.skip_spaces(text.word_at(text.skip_spaces(dot), ",").unwrap_or(dot));
    if let Some(day) = day_named(text, at, weekday, context).filter(|_| at > end) {
        return Some(day);
    }
    let of = text.word_at(at, "of ").unwrap_or(at);
    if let Some((Frame::Week(monday), after)) = frame_at(text, of, context).filter(|_| of > end) {
        return Some(Atom::new(Expr::in_week(Some(monday), weekday), after).sharing());
    }
    if let Some(atom) = periods::week_of(text, at, context).filter(|_| at > end) {
        let day = |r: Reading| calendar::in_week(calendar::monday(r.start()?)?, weekday).map(Reading::Day);
        return Some(super::mapped(&atom, atom.end, context, day));
    }
    // "The Tuesday before last", "Monday last".
    if let Some((_, after)) =
        text.any_at(at, &["before last", "after next", "fortnight", "last", "next", "gone"]).filter(|_| at > end)
    {
        return Some(Atom::nothing(after));
    }
    if let Some(after) = text.word_at(at, "week").filter(|_| at > end && end - i > 4) {
        let next = calendar::on_or_after(context.today.succ_opt()?, weekday)?;
        return Atom::one(Expr::day(calendar::days(next, 7))?, after);
    }
    let sure = end - i > 4 || text.any_at(i, &["tue", "tues", "weds", "thu", "thur", "fri"]).is_some();
    let announced = ANNOUNCING.iter().any(|w| text.word_before(i, w).is_some());
    let listed = text
        .any_at(
            text.skip_spaces(end),
            &["-", "~", "to ", "through ", "thru ", "until ", "till ", "and ", "& ", ",", "/"],
        )
        .is_some_and(|(_, next)| weekday_name(text, text.skip_spaces(next)).is_some());
    let listed = listed || weekday_ends(text, i) || (end - i < 6 && beside_short(text, i, end));
    // "Mon: 3 boxes".
    let listed = listed || text.at(end) == Some(':');
    let thing = NAMED_WEEKDAYS.iter().any(|w| text.word_before(i, w).is_some());
    ((sure || announced || listed) && !thing).then(|| Atom::new(Expr::in_week(None, weekday), end))
}

/// "Friday 27": a number that ends the words and counts nothing.
fn bare_day(text: &Folded, end: usize, weekday: Weekday) -> Option<Atom> {
    let at = text.skip_spaces(end);
    // Few sell 27 of a thing that they do not name, many sell two.
    let (day @ 13..=31, 2, after) = numbers::digits_at(text, at).filter(|_| at > end)? else { return None };
    let next = text.any_at(text.skip_spaces(after), &["and ", "& ", "/", ", "]).map(|(_, at)| at);
    let closed = text.at(after).is_none_or(|c| c == ')') || next.is_some_and(|at| weekday_name(text, at).is_some());
    let expr = Expr { weekday: Some(weekday), ..Expr::in_month(None, None, OfMonth::Day(day)) };
    closed.then(|| Atom::new(expr, after))
}

/// The next of "Mon Wed Fri" or the one before is a short name too.
fn beside_short(text: &Folded, i: usize, end: usize) -> bool {
    let next = text.skip_spaces(end);
    let follows = weekday_name(text, next).is_some_and(|(_, after)| after - next < 6 && next > end);
    follows || WEEKDAYS.iter().any(|(w, _)| w.len() < 6 && text.word_before(i, w).is_some())
}

/// A weekday and a separator stand before: the last of "Mon/Wed/Sat".
fn weekday_ends(text: &Folded, i: usize) -> bool {
    let back = text.skip_spaces_back(i);
    let separated = text.before(back).is_some_and(|c| ",/&-~".contains(c));
    let end = if separated { text.skip_spaces_back(back - 1) } else { back };
    separated && WEEKDAYS.iter().any(|(w, _)| text.word_before(end, w).is_some())
}

/// The day after its weekday: "Tuesday, Nov 24", "Tue 24 Nov", "Tuesday the 24th".
fn day_named(text: &Folded, at: usize, weekday: Weekday, context: &Context) -> Option<Atom> {
    let mut atom = match text.at(at)? {
        c if c.is_ascii_digit() => {
            let of_month = || {
                // "Mon 23rd".
                let (day, end) = days::ordinal_at(text, at)?;
                Atom::one(Expr::in_month(None, None, OfMonth::Day(day)), end)
            };
            written::at(text, at, context).or_else(|| day_month(text, at, context)).or_else(of_month)?
        }
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

/// What before a weekday makes it the name of another day: Black Friday.
const NAMED_WEEKDAYS: [&str; 9] = ["black", "good", "easter", "whit", "cyber", "super", "bank holiday", "ash", "palm"];

// --- feasts and years

fn feast(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    const THINGS: [&str; 19] = [
        "week", "season", "period", "holidays", "time", "cake", "cakes", "tree", "trees", "card", "cards", "gift",
        "gifts", "present", "presents", "party", "wreath", "wreaths", "box",
    ];
    let ((month, day), end) = text.lookup(i, &FEASTS)?;
    if text.any_at(text.skip_spaces(end), &THINGS).is_some() {
        return None;
    }
    Some(Atom { day_may_follow: false, ..dated(text, month, day, end, context) })
}

/// "2026 Nov 24", "2026 November".
fn year_month(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (Frame::Year(year), end) = frames::named_year(text, i)? else { return None };
    let at = text.skip_spaces(end);
    frames::month_at(text, at).filter(|_| at > end)?;
    let atom = month_day(text, at, context)?;
    let free = atom.exprs.iter().all(|e| e.year.is_none());
    let exprs = atom.exprs.into_iter().map(|e| Expr { year: Some(year), ..e }).collect();
    free.then(|| Atom { exprs, ..Atom::nothing(atom.end) })
}

/// "2025" where a year is announced, FY2025.
fn named_year(text: &Folded, i: usize) -> Option<Atom> {
    let (Frame::Year(year), end) = frames::named_year(text, i)? else { return None };
    let announced = [
        "year", "in", "of", "for", "since", "during", "from", "to", "and", "until", "through", "than", "before",
        "after",
    ]
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
    let listed = text
        .any_at(next, &[", and ", ", ", "and ", "& ", "vs. ", "vs ", "versus "])
        .and_then(|(_, at)| frames::named_year(text, at))
        .is_some_and(|(_, after)| {
            let next = text.skip_spaces(after);
            crate::reading::units::plural_at(text, next).is_none() || text.any_at(next, &["sales", "totals"]).is_some()
        });
    let announced = announced || ["vs", "versus", "vs."].iter().any(|w| text.word_before(i, w).is_some());
    if listed && matches!(year, Year::Calendar(2000..=2049)) {
        return Some(Atom::new(Expr::in_year(Some(year), OfYear::Whole), end));
    }
    // "In 2025 boxes" counts; "for 2000 to 0002" is a price.
    let firm = ["in", "since", "during", "until", "year"].iter().any(|w| text.word_before(i, w).is_some());
    let counts = crate::reading::units::plural_at(text, next).is_some() && text.any_at(next, &FOLLOWING).is_none();
    let firm = firm && !counts && text.at(end) == Some(' ') && text.at(next).is_some_and(|c| c.is_ascii_alphabetic());
    let code = |at: usize| text.at(at) == Some('0') && numbers::digits_at(text, at).is_some_and(|(_, len, _)| len == 4);
    let from_code = text.word_at(next, "from ").is_some_and(|at| text.at(at).is_some_and(|c| c.is_ascii_digit()));
    let firm = firm || (code(next) && next > end) || from_code;
    let closed =
        firm || text.at(next).is_none_or(|c| !c.is_ascii_alphanumeric()) || text.any_at(next, &FOLLOWING).is_some();
    let price = text.word_before(i, "for").is_some()
        && text.word_at(next, "to ").is_some_and(|at| numbers::digits_at(text, at).is_none_or(|(n, ..)| n < 1900));
    (announced && closed && !price).then(|| Atom::new(Expr::in_year(Some(year), OfYear::Whole), end))
}
