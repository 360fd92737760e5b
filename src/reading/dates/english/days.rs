//! Days and months by name and number: "Nov 24", "the 24th of November 2026", "the second Tuesday", "the 3rd".

use super::{ANNOUNCING, the, weekday_name};
use crate::reading::dates::expr::{Expr, OfMonth, Year};
use crate::reading::dates::frames::{self, Frame, frame_at};
use crate::reading::dates::{Atom, counted};
use crate::reading::fold::Folded;
use crate::reading::{Context, numbers};

pub(super) const ORDINALS: [(&str, u32); 22] = [
    ("first", 1),
    ("second", 2),
    ("third", 3),
    ("fourth", 4),
    ("fifth", 5),
    ("sixth", 6),
    ("seventh", 7),
    ("eighth", 8),
    ("ninth", 9),
    ("tenth", 10),
    ("eleventh", 11),
    ("twelfth", 12),
    ("thirteenth", 13),
    ("fourteenth", 14),
    ("fifteenth", 15),
    ("sixteenth", 16),
    ("seventeenth", 17),
    ("eighteenth", 18),
    ("nineteenth", 19),
    ("twentieth", 20),
    ("thirtieth", 30),
    ("last", 0),
];
/// Nouns after which a month's name is one: "March total".
const REPORTED: [&str; 14] = [
    "total",
    "totals",
    "sales",
    "figures",
    "orders",
    "report",
    "numbers",
    "revenue",
    "registrations",
    "results",
    "invoices",
    "data",
    "vs",
    "and",
];

/// "Nov 24", "November 24th, 2026", "Nov 24 last year", "November", "November 2026".
pub(super) fn month_day(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (month, end) = frames::month_at(text, i)?;
    let at = text.skip_spaces(end);
    if is_person(text, i, at) {
        return None;
    }
    let day = numbers::digits_at(text, at)
        .filter(|(_, len, _)| *len <= 2)
        .map(|(day, _, end)| (day, suffix(text, end).unwrap_or(end)))
        .filter(|(_, end)| text.at(*end).is_none_or(|c| !c.is_ascii_alphanumeric() && c != '%'))
        .filter(|(_, end)| !goes_on(text, *end))
        .or_else(|| ordinal_at(text, text.word_at(at, "the ").unwrap_or(at)).filter(|(n, _)| at > end && *n > 0));
    if let Some((day, end)) = day {
        return Some(dated(text, month, day, end, context));
    }
    // Nov 24hrs, Nov 24/7, Nov 24,600: not the whole month either.
    if let Some((_, 1..=2, after)) = numbers::digits_at(text, at) {
        return Some(Atom::nothing(after));
    }
    let (frame, end) = frame_at(text, i, context)?;
    let Frame::Month { year, .. } = frame else { return None };
    if year.is_none() && !is_month_name(text, i, end) {
        return None;
    }
    let atom = Atom::new(frame.whole(context)?, end);
    Some(if year.is_some() { atom.sharing() } else { atom })
}

/// After the figures of a day: 24,600 and 24.5 and 24:30 are none, but 24,2026 has a year and 28,29 another day.
fn goes_on(text: &Folded, end: usize) -> bool {
    let Some(c) = text.at(end).filter(|c| ",.:/".contains(*c)) else { return false };
    let Some((n, len, after)) = numbers::digits_at(text, end + 1) else { return false };
    let dated = match len {
        4 => (1900..=2199).contains(&n),
        1 | 2 => (1..=31).contains(&n),
        _ => false,
    };
    !(c == ',' && dated && text.at(after).is_none_or(|c| !c.is_ascii_alphanumeric()))
}

/// Some months are words or names too; then something else must say that a month is meant: "in May", "March total".
fn is_month_name(text: &Folded, i: usize, end: usize) -> bool {
    const NAMES: [&str; 7] = ["may", "march", "mar", "april", "june", "august", "jan"];
    const ABBREVIATIONS: [&str; 6] = ["sept", "sep", "nov", "oct", "feb", "aug"];
    // After these a name may stand as well: "for April Tanaka".
    const WEAK: [&str; 8] = ["on", "for", "of", "from", "and", "to", "vs", "or"];
    let next = text.skip_spaces(end);
    // What is said of a month more than of a person: "June for 0002", "August was slow".
    const SAID: [&str; 26] = [
        "for", "to", "in", "at", "was", "were", "is", "had", "go", "went", "order", "orders", "sold", "so", "by",
        "with", "looks", "looked", "please", "pls", "vs", "than", "compared", "against", "this", "only",
    ];
    let name = text.any_at(i, &NAMES).is_some();
    let coded = text.word_at(next, "from ").is_some_and(|at| numbers::digits_at(text, at).is_some());
    let closed = text.at(next).is_none_or(|c| !c.is_ascii_alphabetic()) || coded || text.any_at(next, &SAID).is_some();
    let long = text.any_at(i, &["april", "june", "august"]).is_some();
    let sure = if name { long && closed } else { end - i > 4 || text.any_at(i, &ABBREVIATIONS).is_some() };
    let weak = WEAK.iter().any(|w| text.word_before(i, w).is_some());
    let announced = ANNOUNCING.iter().any(|w| text.word_before(i, w).is_some()) && (!name || !weak || closed);
    let listed = text.any_at(next, &["-", "~", "to ", "and ", "through ", "or "]);
    let listed = listed.is_some_and(|(_, next)| frames::month_at(text, text.skip_spaces(next)).is_some());
    if super::may::is_verb_may(text, i)
        && !["in", "since", "until", "by"].iter().any(|w| text.word_before(i, w).is_some())
    {
        return false;
    }
    let books = text.any_at(next, &["books", "calendar", "edition", "issue"]).is_some();
    let listed =
        listed || follows_month(text, i) || frames::month_at(text, next).is_some_and(|(m, _)| m != 5 && m != 3);
    let alone = i == 0 && text.at(next).is_none();
    !books && (sure || announced || listed || alone || text.any_at(next, &REPORTED).is_some())
}

/// A name like a month's: "Ms. June Park"; "sold to June 3 boxes" has three boxes.
fn is_person(text: &Folded, i: usize, after: usize) -> bool {
    let back = text.skip_spaces_back(i);
    let back = if text.before(back) == Some('.') { back - 1 } else { back };
    if ["mr", "mrs", "ms", "miss", "dr"].iter().any(|w| text.word_before(back, w).is_some()) {
        return true;
    }
    let name = text.any_at(i, &["june", "april", "august", "may"]).is_some();
    let counts = numbers::digits_at(text, after).is_some_and(|(.., end)| counted(text, end));
    let from = (i.saturating_sub(40)..i).any(|at| text.word_at(at, "from").is_some());
    let given = ["sold to", "to", "call", "ask"].iter().any(|w| text.word_before(i, w).is_some());
    name && given && !from && (counts || text.word_before(i, "call").is_some() || text.word_before(i, "ask").is_some())
}

/// A month and a separator stand before: the last of Oct-Dec.
fn follows_month(text: &Folded, i: usize) -> bool {
    let back = text.skip_spaces_back(i);
    let separated = text.before(back).is_some_and(|c| "-~/&,".contains(c));
    let end = if separated { text.skip_spaces_back(back - 1) } else { back };
    separated && frames::MONTHS.iter().any(|(w, _)| text.word_before(end, w).is_some())
}

pub(super) fn dated(text: &Folded, month: u32, day: u32, end: usize, context: &Context) -> Atom {
    let of = |year| Expr::in_month(year, Some(month), OfMonth::Day(day));
    match frames::year_after(text, end, context) {
        Some((year, end)) => Atom::new(of(Some(year)), end).sharing(),
        None => Atom { day_may_follow: true, ..Atom::new(of(None), end) },
    }
}

/// "24 Nov", "the 24th of November", "24-Nov-2026", "3" in "3-5 November".
pub(super) fn day_month(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let at = the(text, i);
    let (day, digits) = match numbers::digits_at(text, at) {
        Some((day, 1..=2, end)) => (day, end),
        _ => ordinal_at(text, at)?,
    };
    let end = suffix(text, digits).unwrap_or(digits);
    if let Some('-') = text.at(end) {
        let (month, after) = frames::month_at(text, end + 1).unwrap_or((0, end));
        if let (1.., Some((year, 4, stop))) = (month, numbers::digits_at(text, after + 1)) {
            let year = i32::try_from(year).ok().map(Year::Calendar);
            let dashed = text.at(after) == Some('-');
            return dashed.then(|| Atom::new(Expr::in_month(year, Some(month), OfMonth::Day(day)), stop));
        }
    }
    let spaced = text.skip_spaces(end);
    let of = text.word_at(spaced, "of ").unwrap_or(spaced);
    if day > 0
        && (1..=99).contains(&day)
        && let Some((month, after)) = frames::month_at(text, of)
    {
        // In "12 November 24th" the month's day stands behind it.
        if end == digits && of == spaced && day_is_behind(text, after, context) {
            return None;
        }
        if let Some((year, stop)) = short_year(text, after).filter(|_| end == digits && digits > at) {
            return Some(Atom::new(Expr::in_month(Some(year), Some(month), OfMonth::Day(day)), stop).sharing());
        }
        let atom = dated(text, month, day, after, context);
        return Some(Atom { day_may_follow: false, ..atom.sharing() });
    }
    let days = (1..=31).contains(&day) && digits > at && !numbers::joins_left(text, i);
    (days && lists_to_month(text, day, end)).then(|| Atom::new(Expr::in_month(None, None, OfMonth::Day(day)), end))
}

/// "24th", "24, 2026", "24 (Tue)" after a month.
fn day_is_behind(text: &Folded, after: usize, context: &Context) -> bool {
    let at = text.skip_spaces(after);
    let Some((1..=31, 1..=2, end)) = numbers::digits_at(text, at).filter(|_| at > after) else { return false };
    suffix(text, end).is_some()
        || (!counted(text, end) && frames::year_after(text, end, context).is_some())
        || text.word_at(text.skip_spaces(end), "(").is_some_and(|at| weekday_name(text, at).is_some())
}

/// "26" in "24 NOV 26" where nothing can be counted with it.
fn short_year(text: &Folded, after: usize) -> Option<(Year, usize)> {
    let at = text.skip_spaces(after);
    let (year @ 20..=39, 2, end) = numbers::digits_at(text, at).filter(|_| at > after)? else { return None };
    let next = text.skip_spaces(end);
    let code = text.at(next) == Some('0') && text.at(next + 1).is_some_and(|c| c.is_ascii_digit()) && next > end;
    let closed = text.at(end).is_none_or(|c| c == ')') || code;
    closed.then_some((Year::Calendar(i32::try_from(year).ok()?.checked_add(2000)?), end))
}

/// `-5 November`, ", 5 and 10 November" after a number.
fn lists_to_month(text: &Folded, first: u32, mut end: usize) -> bool {
    let (mut last, mut rising, mut in_turn) = (first, true, true);
    for members in 2..14 {
        let next = text.any_at(
            text.skip_spaces(end),
            &[
                "-", "~", "to ", "through ", "thru ", "until ", "till ", "and ", "& ", ", and ", ", ", ",", "or ", "/",
                "+",
            ],
        );
        let Some((link, at)) = next else { return false };
        let Some((day @ 1..=31, 1..=2, after)) = numbers::digits_at(text, text.skip_spaces(at)) else { return false };
        rising &= last < day;
        in_turn &= last + 1 == day;
        last = day;
        end = suffix(text, after).unwrap_or(after);
        if frames::month_at(text, text.skip_spaces(end)).is_some() {
            // "Sold 12, 24 Nov" and "1 Nov: 3, 2 Nov": "and" and the like tell a day from another number, or the days of
            // 24, 25, 26 Nov.
            return link != ", " || in_turn || (rising && members > 2);
        }
    }
    false
}

/// `st`, `nd`, `rd`, `th` after figures.
pub(super) fn suffix(text: &Folded, at: usize) -> Option<usize> {
    text.any_at(at, &["st", "nd", "rd", "th"])
        .filter(|(_, end)| text.at(*end).is_none_or(|c| !c.is_ascii_alphanumeric()))
        .filter(|_| text.before(at).is_some_and(|c| c.is_ascii_digit()))
        .map(|(_, end)| end)
}

/// `3rd`, "third", "twenty-fourth"; "last" is 0.
pub(super) fn ordinal_at(text: &Folded, i: usize) -> Option<(u32, usize)> {
    if let Some((n, 1..=2, end)) = numbers::digits_at(text, i) {
        return Some((n, suffix(text, end)?)).filter(|(n, _)| *n > 0);
    }
    if let Some((tens, end)) = text.lookup(i, &[("twenty", 20), ("thirty", 30)]) {
        let at = if text.at(end) == Some('-') { end + 1 } else { text.skip_spaces(end) };
        let (ones, end) = text.lookup(at, &ORDINALS).filter(|(n, _)| (1..10).contains(n))?;
        return Some((tens + ones, end));
    }
    text.lookup(i, &ORDINALS)
}

/// "The second Tuesday", "the last Friday of November".
pub(super) fn nth_weekday(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let at = the(text, i);
    let (n, end) = ordinal_at(text, at)?;
    let (weekday, end) = weekday_name(text, text.skip_spaces(end))?;
    let part = match n {
        0 => OfMonth::LastWeekday(weekday),
        1..=5 => OfMonth::Nth(n, weekday),
        _ => return None,
    };
    if let Some((_, of)) = text.any_at(text.skip_spaces(end), &["of ", "in "])
        && let Some((frame, after)) = frame_at(text, of, context)
        && let Some(expr) = frame.part_of_month(part)
    {
        return Some(Atom::new(expr, after).sharing());
    }
    (at > i || n > 0).then(|| Atom::new(Expr::in_month(None, None, part), end))
}

/// "The 3rd", "the 10th of last month", "the 10th two months ago".
pub(super) fn ordinal(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let at = the(text, i);
    let (day, end) = ordinal_at(text, at).filter(|(n, _)| *n > 0)?;
    let of = text.skip_spaces(end);
    let of = text.any_at(of, &["of ", "in "]).map_or(of, |(_, of)| of);
    let said_of = text.word_before(of, "of").is_some() || text.word_before(of, "in").is_some();
    if let Some((frame @ (Frame::Month { .. } | Frame::TheMonth), after)) =
        frame_at(text, of, context).filter(|(frame, _)| of > end && (said_of || *frame != Frame::TheMonth))
    {
        return Some(Atom::new(frame.part_of_month(OfMonth::Day(day))?, after).sharing());
    }
    if let Some((_, after)) = text.any_at(of, &["every ", "each ", "the following ", "following "]).filter(|_| of > end)
    {
        return Some(Atom::nothing(after));
    }
    let figures = text.at(at).is_some_and(|c| c.is_ascii_digit());
    let the = at > i;
    let on = text.word_before(i, "on").is_some();
    let listed =
        ["and", "to", "or", "through", "since", "until", "by"].iter().any(|w| text.word_before(i, w).is_some())
            || follows_ordinal(text, i);
    // "The second" ends a sentence as a rank or a unit of time too.
    let closed = day != 2 && text.at(end).is_none_or(|c| ",.;:!?)".contains(c));
    let next = text.any_at(text.skip_spaces(end), &["and ", "to ", "through "]).map(|(_, at)| at);
    let between = ["between", "from"].iter().any(|w| text.word_before(i, w).is_some())
        && next.and_then(|at| text.word_at(at, "the ")).is_some_and(|at| ordinal_at(text, at).is_some());
    let range = ordinal_range(text, end) || between;
    let said = if figures { the || on || listed || range } else { the && (on || day > 20 || closed || between) };
    (said && !names_a_thing(text, end, figures)).then(|| Atom::new(Expr::in_month(None, None, OfMonth::Day(day)), end))
}

/// `-26th`, " to 26th" after an ordinal in figures.
fn ordinal_range(text: &Folded, end: usize) -> bool {
    let range =
        text.any_at(text.skip_spaces(end), &["-", "~", "to ", "through ", "and ", ", and ", ", ", ",", "/", "& ", "+"]);
    range.is_some_and(|(_, at)| {
        let at = the(text, text.skip_spaces(at));
        numbers::digits_at(text, at).is_some() && ordinal_at(text, at).is_some()
    })
}

/// An ordinal in figures and a separator stand before: the last of 28th-29th.
fn follows_ordinal(text: &Folded, i: usize) -> bool {
    let back = text.skip_spaces_back(i);
    let separated = text.before(back).is_some_and(|c| "-~/&,+".contains(c));
    let end = if separated { text.skip_spaces_back(back - 1) } else { back };
    separated && end >= 3 && suffix(text, end - 2) == Some(end)
}

/// The word after an ordinal is what is counted: "the 3rd customer".
fn names_a_thing(text: &Folded, end: usize, figures: bool) -> bool {
    const THINGS: [&str; 48] = [
        "ave",
        "st",
        "rd",
        "road",
        "one",
        "customer",
        "customers",
        "row",
        "entry",
        "item",
        "order",
        "floor",
        "party",
        "prize",
        "person",
        "client",
        "time",
        "box",
        "batch",
        "line",
        "option",
        "sale",
        "invoice",
        "largest",
        "biggest",
        "best",
        "place",
        "avenue",
        "street",
        "half",
        "quarter",
        "week",
        "month",
        "year",
        "day",
        "try",
        "attempt",
        "class",
        "grade",
        "edition",
        "anniversary",
        "birthday",
        "most",
        "store",
        "shop",
        "branch",
        "delivery",
        "visit",
    ];
    let next = text.skip_spaces(end);
    if next == end && text.at(end) == Some('-') {
        return !ordinal_range(text, end);
    }
    // "The first, second and third boxes".
    let ranks = text.word_at(next, ", ").is_some_and(|at| ordinal_at(text, at).is_some());
    (ranks && !figures)
        || text.any_at(next, &THINGS).is_some()
        || (!figures && text.at(next).is_some_and(|c| c.is_ascii_alphabetic()))
}
