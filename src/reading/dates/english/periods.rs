//! Longer times and what points into them: "the first half of 2026", "the last 10 days", "two weeks ago", "last week's
//! Tuesday".

use chrono::{Datelike, Weekday};

use super::days::{month_day, ordinal_at};
use super::may::is_verb_may;
use super::sides::{both_sides, sided_day};
use super::{feast, the, weekday_name};
use crate::reading::dates::calendar::{self, Unit};
use crate::reading::dates::expr::{self, Expr, OfMonth, OfYear, Part, Year};
use crate::reading::dates::frames::{self, Frame, frame_at};
use crate::reading::dates::{self, Atom, inner_at, japanese, written};
use crate::reading::fold::Folded;
use crate::reading::{Context, Reading, numbers};

// --- days beside others

pub(super) const WEEK_OF: [&str; 6] =
    ["week of ", "week commencing ", "week beginning ", "week starting ", "week ending ", "w/c "];

/// "The day after Nov 3".
pub(super) fn beside(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (by, at) = text.lookup(the(text, i), &[("day after ", 1), ("day before ", -1)])?;
    let mut atom = inner_at(text, at, context)?;
    atom.exprs.iter_mut().for_each(|e| e.beside += by);
    Some(Atom { day_may_follow: false, ..atom })
}

/// "Year to date", MTD.
pub(super) fn to_date(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
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
    let whole = if quarter { dates::quarter(context, 0) } else { calendar::whole(context.today, unit, 0) };
    Atom::one(Expr::given(Reading::Range(whole?.0, context.today)), end)
}

/// "This day last year", "the same month last year".
pub(super) fn this_day(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
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
        (Frame::Week(monday), end) if !month => {
            Atom::one(Expr::day(calendar::in_week(monday, context.today.weekday()))?, end)
        }
        _ => None,
    }
}

/// "The week of Nov 16", "w/c 16 November", "the week ending Nov 22".
pub(super) fn week_of(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let (_, at) = text.any_at(the(text, i), &WEEK_OF)?;
    let atom = inner_at(text, at, context)?;
    if !atom.exprs.iter().all(dates::is_day) {
        return None;
    }
    Some(dates::mapped(&atom, atom.end, context, |r| {
        calendar::week(calendar::monday(r.start()?)?).map(|(a, b)| Reading::Range(a, b))
    }))
}

// --- parts of months, quarters and years

/// "The first half of 2026", "the second quarter of 2025", Q1, H2, "early November".
pub(super) fn part_of_frame(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    const THIRDS: [(&str, u32); 6] =
        [("early ", 0), ("mid-", 1), ("mid ", 1), ("middle of ", 1), ("late ", 2), ("mid", 1)];
    let middle = text.word_at(i, "the ").filter(|at| text.word_at(*at, "middle of ").is_some());
    if let Some((third, at)) = text.lookup(middle.unwrap_or(i), &THIRDS) {
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
    if let (Some((n @ 1..=2, 1, h)), None) = (numbers::digits_at(text, i), text.word_at(i, "1st"))
        && let Some(end) = text.word_at(h, "h")
        && let Some((year, end)) = year_of_part(text, end, context)
    {
        return Some(Atom::systems(Some(year), |s| OfYear::Term(n - 1, s), end));
    }
    if let Some((Frame::Year(year), end)) = frames::named_year(text, i) {
        let at = text.skip_spaces(end);
        let part = match written::quarter(text, at) {
            Some((n, end)) => Some(Atom::systems(Some(year), |s| OfYear::Quarter(n, s), end)),
            None if text.at(at).is_some_and(|c| !c.is_ascii()) => japanese::part_of_year(text, at, year, context),
            None => None,
        };
        if part.is_some() || matches!(year, Year::Fiscal(_)) {
            return part.or_else(|| Atom::one(Expr::in_year(Some(year), OfYear::Whole), end));
        }
    }
    if let Some(end) = text.any_at(the(text, i), &["latter half of ", "second half of "]).map(|(_, end)| end)
        && let Some((frame, end)) = frame_at(text, end, context)
        && let Some(expr) = frame.part_of_month(OfMonth::Half(1))
    {
        return Atom::one(expr, end);
    }
    let (n, at) = ordinal_at(text, the(text, i))?;
    let at = text.skip_spaces(at);
    if let (Some(end), 1..=4) = (text.word_at(at, "quarter"), n) {
        return quarter(text, n - 1, end, context);
    }
    // "The last quarter of 2025" is its fourth.
    if let Some(end) = text.word_at(at, "quarter").filter(|_| n == 0)
        && let Some((year, end)) = text.word_at(text.skip_spaces(end), "of ").and(year_of_part(text, end, context))
    {
        return Some(Atom::systems(Some(year), |s| OfYear::Quarter(3, s), end));
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
        Frame::TheFiscalYear => Year::Fiscal(calendar::fiscal_year(context.today, expr::fiscal_start(context))?),
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
                Some((Year::Fiscal(calendar::fiscal_year(context.today, expr::fiscal_start(context))?), after))
            }
            _ => None,
        }
    })
}

/// "The end of last month", "month-end", EOM, "the start of the year".
pub(super) fn edge(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
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
        if let Some((year, end)) = frames::year_after(text, end, context).filter(|_| frame == Frame::TheYear) {
            return Atom::one(edge_of(Frame::Year(year), true, context)?, end);
        }
        return Atom::one(edge_of(frame, true, context)?, end);
    }
    // "End Nov" is business English, "end last month" too.
    let bare = text.word_at(i, "end ").filter(|at| {
        frames::month_at(text, *at).is_some() || text.any_at(*at, &["last month", "this month", "next month"]).is_some()
    });
    let (last, at) = bare.map(|at| (true, at)).or_else(|| text.lookup(the(text, i), &EDGES))?;
    let Some((frame, end)) = frame_at(text, at, context) else { return edge_of_part(text, at, last, context) };
    // "End of year 2025".
    match frames::year_after(text, end, context).filter(|_| frame == Frame::TheYear) {
        Some((year, end)) => Atom::one(edge_of(Frame::Year(year), last, context)?, end),
        None => Atom::one(edge_of(frame, last, context)?, end),
    }
}

/// "The end of Q3".
fn edge_of_part(text: &Folded, at: usize, last: bool, context: &Context) -> Option<Atom> {
    let (n, end) = written::quarter(text, at)?;
    let atom = quarter(text, n, end, context)?;
    let edge = |r: Reading| if last { r.end() } else { r.start() };
    let quarters = atom.exprs.iter().filter_map(|e| e.readings(context).ok()).flatten();
    let mut days: Vec<Reading> = quarters.filter_map(edge).map(Reading::Day).collect();
    days.sort_by_key(|r| expr::nearness(*r, context.today));
    Atom::one(Part::Given(days).into(), atom.end)
}

fn edge_of(frame: Frame, last: bool, context: &Context) -> Option<Expr> {
    let of_month = if last { OfMonth::Last } else { OfMonth::First };
    let of_year = if last { OfYear::Last } else { OfYear::First };
    match frame {
        Frame::Month { .. } | Frame::TheMonth => frame.part_of_month(of_month),
        Frame::Year(year) => Some(Expr::in_year(Some(year), of_year)),
        Frame::TheYear => Some(Expr::in_year(None, of_year)),
        Frame::TheFiscalYear => dates::unnamed_fiscal_year(of_year, context),
        Frame::TheQuarter => dates::unnamed_quarter(last, context),
        Frame::Quarter(by) => {
            let (first, end) = dates::quarter(context, by)?;
            Expr::day(Some(if last { end } else { first }))
        }
        Frame::Week(monday) => Expr::day(if last { calendar::days(monday, 6) } else { Some(monday) }),
    }
}

// --- weeks, months and years with what follows them

/// "Last week", "last week's Tuesday", "last month on the 10th", "last Tuesday", "last November", "the weekend".
pub(super) fn sided(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    if let Some(atom) = weekend(text, i, context) {
        return Some(atom);
    }
    const SIDES: [(&str, bool); 6] = [
        ("this past ", true),
        ("past ", true),
        ("this coming ", false),
        ("the coming ", false),
        ("coming ", false),
        ("upcoming ", false),
    ];
    if let Some((past, at)) = text.lookup(i, &SIDES) {
        let (weekday, end) = weekday_name(text, at)?;
        let day = if past {
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
        let vague = ["early", "late", "earlier", "later", "middle of", "mid", "mid-"].iter();
        if matches!(frame, Frame::Week(_)) && vague.clone().any(|w| text.word_before(i, w).is_some()) {
            return Some(Atom::nothing(end));
        }
        if !named && !counted {
            return within(text, frame, end, context).or_else(|| Atom::one(frame.whole(context)?, end));
        }
    }
    let (by, at) = text.lookup(i, &frames::SIDES)?;
    if let Some(atom) = sided_day(text, at, by, context).or_else(|| both_sides(text, at, by, context)) {
        return Some(atom);
    }
    if is_verb_may(text, at) {
        return Some(Atom::nothing(text.word_at(at, "may")?));
    }
    if let Some((weekday, end)) = weekday_name(text, at) {
        return last_of_month(text, by, weekday, end, context)
            .or_else(|| Atom::one(sided_weekday(by, weekday, context)?, end));
    }
    let (month, end) = frames::month_at(text, at)?;
    sided_month(by, month, end, context)
}

/// A day that is named after its week or month: "last week on Thursday", "last month on the 10th".
pub(super) fn within(text: &Folded, frame: Frame, end: usize, context: &Context) -> Option<Atom> {
    let at = text.word_at(end, "'s").unwrap_or(end);
    let at = text.skip_spaces(text.word_at(text.skip_spaces(at), ",").unwrap_or(at));
    let on = text.word_at(at, "on ").unwrap_or(at);
    match frame {
        Frame::Week(monday) => {
            // "Last week from Monday to Friday".
            let on = text.word_at(on, "from ").unwrap_or(on);
            let (weekday, end) = weekday_name(text, on)?;
            Atom::one(Expr::in_week(Some(monday), weekday), end)
        }
        Frame::Month { year, month } => {
            let owned = text.word_at(end, "'s").is_some();
            let the = text.word_at(on, "the ").or(if owned { Some(at) } else { None })?;
            let (day, end) = ordinal_at(text, the)?;
            let next = text.skip_spaces(end);
            if let (1..=2, Some(end)) = (day, text.word_at(next, "half")) {
                return Atom::one(Expr::in_month(year, Some(month), OfMonth::Half(day - 1)), end);
            }
            if let Some((_, end)) = text.any_at(next, &["week", "weekend", "third", "quarter"]) {
                return Some(Atom::nothing(end));
            }
            ((on > at || owned) && day > 0)
                .then(|| Atom::new(Expr::in_month(year, Some(month), OfMonth::Day(day)), end))
        }
        Frame::Year(year) => {
            // "Last year's Q3", "last year's Christmas", "last year on Nov 24", "last year in November".
            let at = text.any_at(on, &["in ", "the "]).map_or(on, |(_, at)| at);
            if at == end {
                return None;
            }
            if let Some((n, end)) = written::quarter(text, at) {
                return Some(Atom::systems(Some(year), |s| OfYear::Quarter(n, s), end));
            }
            let atom = month_day(text, at, context).or_else(|| feast(text, at, context))?;
            let free = atom.exprs.iter().all(|e| e.year.is_none());
            let exprs = atom.exprs.into_iter().map(|e| Expr { year: Some(year), ..e }).collect();
            free.then(|| Atom { exprs, ..Atom::nothing(atom.end) })
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
    let atom = inner_at(text, day, context).filter(|atom| atom.exprs.iter().all(dates::is_day))?;
    Some(dates::mapped(&atom, atom.end, context, |r| {
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
    // "This Monday and Tuesday" are of one week.
    let week = match days.as_slice() {
        [one] => calendar::monday(*one),
        [one, other] if one == other => calendar::monday(*one),
        _ => None,
    };
    Some(Expr { week, ..Part::Given(days.into_iter().map(Reading::Day).collect()).into() })
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
