//! Date words of English.

use chrono::{Datelike, Weekday};

use super::calendar::{self, Unit};
use super::expr::{Expr, OfMonth, OfYear, Part, Year};
use super::frames::{self, Frame, frame_at};
use super::lengths::{self, Length};
use super::{Atom, atom_at, written};
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
const ORDINALS: [(&str, u32); 22] = [
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
/// Words after which a short or doubtful name is a date: "in May", "on Sat".
const ANNOUNCING: [&str; 22] = [
    "in", "on", "for", "of", "since", "from", "until", "till", "through", "by", "during", "between", "before", "after",
    "and", "to", "vs", "or", "early", "mid", "late", "than",
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

/// The date that begins at `i` with a word or number of English.
pub(super) fn at(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    if numbers::joins_left(text, i) {
        return None;
    }
    if let Some((by, end)) = text.lookup(i, &DAYS) {
        return Atom::one(Expr::day(calendar::days(context.today, by))?, end);
    }
    beside(text, i, context)
        .or_else(|| to_date(text, i, context))
        .or_else(|| this_day(text, i, context))
        .or_else(|| week_of(text, i, context))
        .or_else(|| part_of_frame(text, i, context))
        .or_else(|| edge(text, i, context))
        .or_else(|| recent(text, i, context))
        .or_else(|| sided(text, i, context))
        .or_else(|| counted(text, i, context))
        .or_else(|| month_day(text, i, context))
        .or_else(|| day_month(text, i, context))
        .or_else(|| nth_weekday(text, i, context))
        .or_else(|| ordinal(text, i, context))
        .or_else(|| weekday(text, i, context))
        .or_else(|| feast(text, i, context))
        .or_else(|| named_year(text, i))
}

fn the(text: &Folded, i: usize) -> usize {
    text.word_at(i, "the ").unwrap_or(i)
}

// --- days beside others

/// "The day after Nov 3".
fn beside(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (by, at) = text.lookup(the(text, i), &[("day after ", 1), ("day before ", -1)])?;
    let mut atom = atom_at(text, at, context)?;
    atom.exprs.iter_mut().for_each(|e| e.beside += by);
    Some(Atom { day_may_follow: false, ..atom })
}

/// "Year to date", MTD.
fn to_date(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    const WORDS: [(&str, (Unit, bool)); 8] = [
        ("year to date", (Unit::Year, false)),
        ("year-to-date", (Unit::Year, false)),
        ("ytd", (Unit::Year, false)),
        ("month to date", (Unit::Month, false)),
        ("month-to-date", (Unit::Month, false)),
        ("mtd", (Unit::Month, false)),
        ("quarter to date", (Unit::Month, true)),
        ("qtd", (Unit::Month, true)),
    ];
    let ((unit, quarter), end) = text.lookup(i, &WORDS)?;
    let whole = if quarter { super::quarter(context, 0) } else { calendar::whole(context.today, unit, 0) };
    Atom::one(Expr::given(Reading::Range(whole?.0, context.today)), end)
}

/// "This day last year", "the same month last year".
fn this_day(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (month, at) = text.lookup(
        the(text, i),
        &[("this day ", false), ("same day ", false), ("this month ", true), ("same month ", true)],
    )?;
    match frame_at(text, at, context)? {
        (Frame::Year(Year::Calendar(year)), end) if month => {
            Atom::one(Expr::in_month(Some(Year::Calendar(year)), Some(context.today.month()), OfMonth::Whole), end)
        }
        (Frame::Year(Year::Calendar(year)), end) => {
            let years = i64::from(year) - i64::from(context.today.year());
            Atom::one(Expr::day(calendar::shifted(context.today, Unit::Year, years))?, end)
        }
        (Frame::Month { year: Some(Year::Calendar(year)), month: m }, end) if !month => {
            let months = (i64::from(year) - i64::from(context.today.year())) * 12 + i64::from(m);
            let by = months - i64::from(context.today.month());
            Atom::one(Expr::day(calendar::shifted(context.today, Unit::Month, by))?, end)
        }
        _ => None,
    }
}

/// "The week of Nov 16", "w/c 16 November", "the week ending Nov 22".
fn week_of(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (_, at) = text.any_at(
        the(text, i),
        &["week of ", "week commencing ", "week beginning ", "week starting ", "week ending ", "w/c "],
    )?;
    let atom = atom_at(text, at, context)?;
    if !atom.exprs.iter().all(super::is_day) {
        return None;
    }
    Some(super::mapped(&atom, atom.end, context, |r| {
        calendar::week(calendar::monday(r.start()?)?).map(|(a, b)| Reading::Range(a, b))
    }))
}

// --- parts of months, quarters and years

/// "The first half of 2026", "the second quarter of 2025", Q1, H2, "early November".
fn part_of_frame(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    const THIRDS: [(&str, u32); 6] =
        [("early ", 0), ("mid-", 1), ("mid ", 1), ("middle of ", 1), ("late ", 2), ("mid", 1)];
    if let Some((third, at)) = text.lookup(i, &THIRDS) {
        let at = text.any_at(at, &["in ", "of "]).map_or(at, |(_, at)| at);
        let (frame, end) = frame_at(text, at, context)?;
        return Atom::one(frame.part_of_month(OfMonth::Third(third))?, end);
    }
    if let Some((n, end)) = written::quarter(text, i) {
        return quarter(text, n, end, context);
    }
    if let (Some('h'), Some((n @ 1..=2, 1, end))) = (text.at(i), numbers::digits_at(text, i + 1)) {
        let ends = text.at(end).is_none_or(|c| !c.is_ascii_alphanumeric());
        let (year, end) = year_of_part(text, end, context).map_or((None, end), |(y, end)| (Some(y), end));
        return ends.then(|| Atom { shares: year.is_some(), ..Atom::systems(year, |s| OfYear::Term(n - 1, s), end) });
    }
    if let Some((Frame::Year(year @ Year::Fiscal(_)), end)) = frames::named_year(text, i) {
        let at = text.skip_spaces(end);
        return match written::quarter(text, at) {
            Some((n, end)) => Some(Atom::systems(Some(year), |s| OfYear::Quarter(n, s), end)),
            None => Atom::one(Expr::in_year(Some(year), OfYear::Whole), end),
        };
    }
    let (n, at) = ordinal_at(text, the(text, i))?;
    let at = text.skip_spaces(at);
    if let (Some(end), 1..=4) = (text.word_at(at, "quarter"), n) {
        return quarter(text, n - 1, end, context);
    }
    let end = text.word_at(at, "half of ")?;
    let half = n.checked_sub(1).filter(|n| *n < 2)?;
    let (frame, end) = frame_at(text, end, context)?;
    if let Some(expr) = frame.part_of_month(OfMonth::Half(half)) {
        return Atom::one(expr, end);
    }
    let year = match frame {
        Frame::Year(year) => year,
        Frame::TheYear => Year::Calendar(context.today.year()),
        Frame::TheFiscalYear => Year::Fiscal(calendar::fiscal_year(context.today, super::expr::fiscal_start(context))?),
        _ => return None,
    };
    Atom::one(Expr::in_year(Some(year), OfYear::Half(half)), end)
}

fn quarter(text: &Folded, n: u32, end: usize, context: &Context) -> Option<Atom> {
    let (year, end) = year_of_part(text, end, context).map_or((None, end), |(y, end)| (Some(y), end));
    Some(Atom { shares: year.is_some(), ..Atom::systems(year, |s| OfYear::Quarter(n, s), end) })
}

fn year_of_part(text: &Folded, end: usize, context: &Context) -> Option<(Year, usize)> {
    frames::year_after(text, end, context).or_else(|| {
        let at = text.skip_spaces(end);
        let at = text.word_at(at, "of ").unwrap_or(at);
        match frame_at(text, at, context)? {
            (Frame::Year(year), after) if at > end => Some((year, after)),
            (Frame::TheFiscalYear, after) if at > end => {
                Some((Year::Fiscal(calendar::fiscal_year(context.today, super::expr::fiscal_start(context))?), after))
            }
            _ => None,
        }
    })
}

/// "The end of last month", "month-end", EOM, "the start of the year".
fn edge(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    const EDGES: [(&str, bool); 6] = [
        ("end of ", true),
        ("close of ", true),
        ("last day of ", true),
        ("beginning of ", false),
        ("start of ", false),
        ("first day of ", false),
    ];
    const ALONE: [(&str, Frame); 9] = [
        ("month-end", Frame::TheMonth),
        ("month end", Frame::TheMonth),
        ("eom", Frame::TheMonth),
        ("year-end", Frame::TheYear),
        ("year end", Frame::TheYear),
        ("quarter-end", Frame::TheQuarter),
        ("quarter end", Frame::TheQuarter),
        ("fiscal year end", Frame::TheFiscalYear),
        ("fiscal year-end", Frame::TheFiscalYear),
    ];
    if let Some((frame, end)) = text.lookup(i, &ALONE) {
        return Atom::one(edge_of(frame, true, context)?, end);
    }
    let (last, at) = text.lookup(the(text, i), &EDGES)?;
    let (frame, end) = frame_at(text, at, context)?;
    Atom::one(edge_of(frame, last, context)?, end)
}

fn edge_of(frame: Frame, last: bool, context: &Context) -> Option<Expr> {
    let of_month = if last { OfMonth::Last } else { OfMonth::First };
    let of_year = if last { OfYear::Last } else { OfYear::First };
    match frame {
        Frame::Month { .. } | Frame::TheMonth => frame.part_of_month(of_month),
        Frame::Year(year) => Some(Expr::in_year(Some(year), of_year)),
        Frame::TheYear => Some(Expr::in_year(None, of_year)),
        Frame::TheFiscalYear => super::unnamed_fiscal_year(of_year, context),
        Frame::TheQuarter => super::unnamed_quarter(last, context),
        Frame::Quarter(by) => {
            let (first, end) = super::quarter(context, by)?;
            Expr::day(Some(if last { end } else { first }))
        }
        Frame::Week(monday) => Expr::day(if last { calendar::days(monday, 6) } else { Some(monday) }),
    }
}

// --- lengths

/// "The last 10 days", "past two weeks", "the past month".
fn recent(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (word, at) = text.any_at(the(text, i), &["last ", "past ", "previous "])?;
    let (n, unit, end) = match frames::count_of(text, at).filter(|_| text.any_at(at, &["a ", "an "]).is_none()) {
        Some(counted) => counted,
        // "The past week" is so long a time; "last week" is that week.
        None if word == "past " || text.word_at(at, "fortnight").is_some() => {
            const UNITS: [(&str, (i64, Unit)); 5] = [
                ("week", (1, Unit::Week)),
                ("fortnight", (2, Unit::Week)),
                ("month", (1, Unit::Month)),
                ("year", (1, Unit::Year)),
                ("day", (1, Unit::Day)),
            ];
            let ((n, unit), end) = text.lookup(at, &UNITS)?;
            (n, unit, end)
        }
        None => return None,
    };
    lengths::recent(Length { n, unit, marked: true, end }, context)
}

/// "3 days ago", "in 3 days", "two weeks from today", "3 days from Nov 1", "a week on Tuesday".
fn counted(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    if let Some(at) = text.word_at(i, "in ") {
        let (n, unit, end) = frames::count_of(text, at)?;
        let open =
            text.any_at(text.skip_spaces(end), &["a row", "advance", "'"]).is_some() || text.at(end) == Some('\'');
        return if open { None } else { ahead(n, unit, end, context) };
    }
    let (n, unit, at) = frames::count_of(text, i)?;
    let next = text.skip_spaces(at);
    if let Some(end) = text.word_at(next, "ago") {
        return ago(text, n, unit, end, context);
    }
    if let Some((_, end)) = text.any_at(next, &["from now", "from today", "later today"]) {
        return if text.word_at(next, "later today").is_some() { None } else { ahead(n, unit, end, context) };
    }
    if let Some((_, from)) =
        text.any_at(next, &["from ", "starting on ", "starting from ", "starting ", "beginning ", "on "])
    {
        let on = text.word_at(next, "on ").is_some();
        let atom = atom_at(text, from, context)?;
        if atom.exprs.is_empty() {
            return None;
        }
        let near = atom.exprs.iter().all(|e| matches!(e.part, Part::Weekday(_)) && e.week.is_none());
        if near && (on || unit != Unit::Day) {
            return weekday_ahead(&atom, n, unit, context);
        }
        let length = Length { n, unit, marked: true, end: atom.end };
        let days = !on && atom.exprs.iter().all(super::is_day);
        return days.then(|| super::mapped(&atom, atom.end, context, |r| super::span_of(r.start()?, length)));
    }
    None
}

/// "A week on Tuesday": so many weeks after the next one.
fn weekday_ahead(atom: &Atom, n: i64, unit: Unit, context: &Context) -> Option<Atom> {
    let Some(Part::Weekday(weekday)) = atom.exprs.first().map(|e| e.part.clone()) else { return None };
    let next = calendar::on_or_after(context.today.succ_opt()?, weekday)?;
    Atom::one(Expr::day(calendar::shifted(next, unit, n))?, atom.end)
}

fn ahead(n: i64, unit: Unit, end: usize, context: &Context) -> Option<Atom> {
    let day = calendar::shifted(context.today, unit, n)?;
    Atom::one(Expr::day(Some(day))?, end)
}

fn ago(text: &Folded, n: i64, unit: Unit, end: usize, context: &Context) -> Option<Atom> {
    let by = n.checked_neg()?;
    let day = calendar::shifted(context.today, unit, by);
    if let Some(end) = text.word_at(text.skip_spaces(end), "today") {
        return Atom::one(Expr::day(day)?, end);
    }
    if unit == Unit::Day {
        return Atom::one(Expr::day(day)?, end);
    }
    let frame = frames::away(unit, by, context)?;
    within(text, frame, end).or_else(|| Atom::one(lengths::day_or_period(unit, by, context)?, end))
}

// --- weeks, months and years with what follows them

/// "Last week", "last week's Tuesday", "last month on the 10th", "last Tuesday", "last November", "the weekend".
fn sided(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    if let Some(atom) = weekend(text, i, context) {
        return Some(atom);
    }
    let past = text.any_at(i, &["this past ", "this coming "]);
    if let Some((word, at)) = past {
        let (weekday, end) = weekday_name(text, at)?;
        let day = if word == "this past " {
            calendar::up_to(context.today.pred_opt()?, weekday)
        } else {
            calendar::on_or_after(context.today.succ_opt()?, weekday)
        };
        return Atom::one(Expr::day(day)?, end);
    }
    if let Some((frame @ (Frame::Week(_) | Frame::Month { .. } | Frame::Quarter(_) | Frame::Year(_)), end)) =
        frame_at(text, i, context)
    {
        // Months and years by name are read further on, where more is asked of them.
        let named = text.lookup(i, &frames::MONTHS).is_some() || text.at(i).is_some_and(|c| c.is_ascii_digit());
        let counted = frames::count_of(text, i).is_some();
        if !named && !counted {
            return within(text, frame, end).or_else(|| Atom::one(frame.whole(context)?, end));
        }
    }
    let (by, at) = text.lookup(i, &frames::SIDES)?;
    if let Some((weekday, end)) = weekday_name(text, at) {
        return last_of_month(text, by, weekday, end, context)
            .or_else(|| Atom::one(sided_weekday(by, weekday, context)?, end));
    }
    let (month, end) = frames::month_at(text, at)?;
    sided_month(by, month, end, context)
}

/// A day that is named after its week or month: "last week on Thursday", "last month on the 10th".
fn within(text: &Folded, frame: Frame, end: usize) -> Option<Atom> {
    let at = text.word_at(end, "'s").unwrap_or(end);
    let at = text.skip_spaces(text.word_at(text.skip_spaces(at), ",").unwrap_or(at));
    let on = text.word_at(at, "on ").unwrap_or(at);
    match frame {
        Frame::Week(monday) => {
            let (weekday, end) = weekday_name(text, on)?;
            Atom::one(Expr::in_week(Some(monday), weekday), end)
        }
        Frame::Month { year, month } => {
            let (day, end) = ordinal_at(text, text.word_at(on, "the ")?)?;
            (on > at && day > 0).then(|| Atom::new(Expr::in_month(year, Some(month), OfMonth::Day(day)), end))
        }
        _ => None,
    }
}

/// "The weekend", "last weekend", "the weekend before last".
fn weekend(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let monday = |by: i64| calendar::days(calendar::monday(context.today)?, by * 7);
    let of = |by: i64, end: usize| Atom::one(Expr { week: Some(monday(by)?), ..Part::Weekend.into() }, end);
    if let Some((by, at)) = text.lookup(the(text, i), &frames::SIDES)
        && let Some(end) = text.word_at(at, "weekend")
    {
        return of(by, end);
    }
    let end = text.word_at(the(text, i), "weekend").filter(|_| the(text, i) > i)?;
    if let Some((by, end)) = text.lookup(text.skip_spaces(end), &[("before last", -2), ("after next", 2)]) {
        return of(by, end);
    }
    let Some(day) = text.word_at(text.skip_spaces(end), "of ") else { return Atom::one(Part::Weekend.into(), end) };
    let atom = atom_at(text, day, context).filter(|atom| atom.exprs.iter().all(super::is_day))?;
    Some(super::mapped(&atom, atom.end, context, |r| {
        calendar::weekend(calendar::monday(r.start()?)?).map(|(a, b)| Reading::Range(a, b))
    }))
}

/// "Last Tuesday" said on a Sunday is five days ago for some and the week before for others: both, the nearer first.
fn sided_weekday(by: i64, weekday: Weekday, context: &Context) -> Option<Expr> {
    let today = context.today;
    let monday = calendar::monday(today)?;
    let in_week = |by: i64| calendar::in_week(calendar::days(monday, by * 7)?, weekday);
    let days = match by {
        0 => vec![in_week(0)?],
        ..0 => vec![calendar::up_to(today.pred_opt()?, weekday)?, in_week(-1)?],
        _ => vec![calendar::on_or_after(today.succ_opt()?, weekday)?, in_week(1)?],
    };
    Some(Part::Given(days.into_iter().map(Reading::Day).collect()).into())
}

/// "Last Friday of last month".
fn last_of_month(text: &Folded, by: i64, weekday: Weekday, end: usize, context: &Context) -> Option<Atom> {
    let (_, at) = text.any_at(text.skip_spaces(end), &["of ", "in "])?;
    let (frame, end) = frame_at(text, at, context)?;
    (by < 0).then_some(())?;
    Atom::one(frame.part_of_month(OfMonth::LastWeekday(weekday))?, end)
}

/// "Last November" is the latest one that is over, or last year's; "next March" the first that has not begun.
fn sided_month(by: i64, month: u32, end: usize, context: &Context) -> Option<Atom> {
    let today = context.today;
    let of = |year: i32| calendar::month(year, month);
    let years: Vec<i32> = match by {
        0 => vec![today.year()],
        ..0 => {
            let over = of(today.year()).is_some_and(|(_, last)| last < today);
            let last = today.year().checked_sub(1)?;
            if over { vec![today.year(), last] } else { vec![last] }
        }
        _ if of(today.year()).is_some_and(|(first, _)| first > today) => vec![today.year()],
        _ => vec![today.year().checked_add(1)?],
    };
    let months = years.into_iter().filter_map(of).map(|(a, b)| Reading::Range(a, b)).collect();
    Atom::one(Part::Given(months).into(), end)
}

// --- months and days

/// "Nov 24", "November 24th, 2026", "Nov 24 last year", "November", "November 2026".
fn month_day(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (month, end) = frames::month_at(text, i)?;
    let at = text.skip_spaces(end);
    let day = numbers::digits_at(text, at)
        .filter(|(_, len, _)| *len <= 2)
        .map(|(day, _, end)| (day, suffix(text, end).unwrap_or(end)))
        .filter(|(_, end)| text.at(*end).is_none_or(|c| !c.is_ascii_alphanumeric() && !"/%".contains(c)))
        .filter(|(_, end)| {
            !(text.at(*end).is_some_and(|c| ",.:".contains(c)) && text.at(end + 1).is_some_and(|c| c.is_ascii_digit()))
        })
        .or_else(|| ordinal_at(text, text.word_at(at, "the ").unwrap_or(at)).filter(|(n, _)| at > end && *n > 0));
    if let Some((day, end)) = day {
        return Some(dated(text, month, day, end, context));
    }
    let (frame, end) = frame_at(text, i, context)?;
    let Frame::Month { year, .. } = frame else { return None };
    if year.is_none() && !is_month_name(text, i, end) {
        return None;
    }
    let atom = Atom::new(frame.whole(context)?, end);
    Some(if year.is_some() { atom.sharing() } else { atom })
}

/// "May", "march", "jan" are words or names too; then something else must say that a month is meant.
fn is_month_name(text: &Folded, i: usize, end: usize) -> bool {
    let long = end - i > 4 && text.word_at(i, "march").is_none();
    let sure = long || text.any_at(i, &["sept", "nov", "oct", "feb", "aug", "june", "july"]).is_some();
    let next = text.skip_spaces(end);
    let announced = ANNOUNCING.iter().any(|w| text.word_before(i, w).is_some());
    let listed = text.any_at(next, &["-", "~", "to ", "and ", "through ", "or "]);
    let listed = listed.is_some_and(|(_, next)| frames::month_at(text, text.skip_spaces(next)).is_some());
    let books = text.any_at(next, &["books", "calendar", "edition", "issue"]).is_some();
    let alone = i == 0 && text.at(next).is_none();
    !books && (sure || announced || listed || alone || text.any_at(next, &REPORTED).is_some())
}

fn dated(text: &Folded, month: u32, day: u32, end: usize, context: &Context) -> Atom {
    let of = |year| Expr::in_month(year, Some(month), OfMonth::Day(day));
    match frames::year_after(text, end, context) {
        Some((year, end)) => Atom::new(of(Some(year)), end).sharing(),
        None => Atom { day_may_follow: true, ..Atom::new(of(None), end) },
    }
}

/// "24 Nov", "the 24th of November", "24-Nov-2026", "3" in "3-5 November".
fn day_month(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
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
        let atom = dated(text, month, day, after, context);
        return Some(Atom { day_may_follow: false, ..atom.sharing() });
    }
    // 3-5 November, "3 and 5 November".
    let (_, next) = text.any_at(spaced, &["-", "~", "to ", "through ", "and ", "& ", ", ", "or "])?;
    let (other, 1..=2, after) = numbers::digits_at(text, text.skip_spaces(next))? else { return None };
    let after = suffix(text, after).unwrap_or(after);
    let named = frames::month_at(text, text.skip_spaces(after)).is_some()
        || day_month(text, text.skip_spaces(next), context).is_some();
    let days = (1..=31).contains(&day) && (1..=31).contains(&other) && digits > at;
    (named && days && !numbers::joins_left(text, i))
        .then(|| Atom::new(Expr::in_month(None, None, OfMonth::Day(day)), end))
}

/// `st`, `nd`, `rd`, `th` after figures.
fn suffix(text: &Folded, at: usize) -> Option<usize> {
    text.any_at(at, &["st", "nd", "rd", "th"])
        .filter(|(_, end)| text.at(*end).is_none_or(|c| !c.is_ascii_alphanumeric()))
        .filter(|_| text.before(at).is_some_and(|c| c.is_ascii_digit()))
        .map(|(_, end)| end)
}

/// `3rd`, "third", "twenty-fourth"; "last" is 0.
fn ordinal_at(text: &Folded, i: usize) -> Option<(u32, usize)> {
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
fn nth_weekday(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
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
fn ordinal(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let at = the(text, i);
    let (day, end) = ordinal_at(text, at).filter(|(n, _)| *n > 0)?;
    let of = text.skip_spaces(end);
    let of = text.any_at(of, &["of ", "in "]).map_or(of, |(_, of)| of);
    if let Some((frame @ (Frame::Month { .. } | Frame::TheMonth), after)) =
        frame_at(text, of, context).filter(|_| of > end)
    {
        return Some(Atom::new(frame.part_of_month(OfMonth::Day(day))?, after).sharing());
    }
    let figures = text.at(at).is_some_and(|c| c.is_ascii_digit());
    let the = at > i;
    let on = text.word_before(i, "on").is_some();
    let listed =
        ["and", "to", "or", "through", "since", "until", "by"].iter().any(|w| text.word_before(i, w).is_some());
    let said = if figures { the || on || listed } else { the && (on || day > 20 || is_closed(text, end)) };
    (said && !names_a_thing(text, end, figures)).then(|| Atom::new(Expr::in_month(None, None, OfMonth::Day(day)), end))
}

fn is_closed(text: &Folded, end: usize) -> bool {
    text.at(end).is_none_or(|c| ",.;:!?)".contains(c)) && text.before(end) != Some('d')
}

/// The word after an ordinal is what is counted: "the 3rd customer".
fn names_a_thing(text: &Folded, end: usize, figures: bool) -> bool {
    const THINGS: [&str; 44] = [
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
        return true;
    }
    text.any_at(next, &THINGS).is_some() || (!figures && text.at(next).is_some_and(|c| c.is_ascii_alphabetic()))
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
