//! Dates and periods. Three steps: the text is scanned for single dates as they are said ([`Atom`]), neighbours are put
//! together (ranges, lists, open periods) and fill what each other leaves out, and what is left is resolved against the
//! reference day.

mod beside;
mod calendar;
mod combine;
mod english;
mod era;
mod expr;
mod frames;
mod further;
mod japanese;
mod lengths;
mod linked;
mod open;
mod written;

use std::ops::Range;

use chrono::{Datelike, NaiveDate};

use self::beside::{is_day, mapped};
use self::calendar::Period;
use self::expr::{Expr, OfYear, Part, System, Year};
use self::lengths::Length;
use super::fold::Folded;
use super::{Context, Found, Meaning, Reading, Refusal};

/// What stands at one place of a text.
#[derive(Clone, Debug)]
struct Atom {
    /// The ways to understand it; none for words that only look like a date.
    exprs: Vec<Expr>,
    /// The position after it.
    end: usize,
    /// What it says of year, month or week also holds for a date before it: "the 3rd and 5th of last month".
    shares: bool,
    /// A number may follow that is a further day: Nov 3-5.
    day_may_follow: bool,
    /// It is a length of time, read as the time up to today.
    length: Option<Length>,
}

/// A date with its place.
#[derive(Clone, Debug)]
struct Item {
    from: usize,
    to: usize,
    exprs: Vec<Expr>,
    shares: bool,
    /// It is a length of time, read as the time up to today.
    length: Option<Length>,
}

impl Atom {
    fn nothing(end: usize) -> Self {
        Self { exprs: Vec::new(), end, shares: false, day_may_follow: false, length: None }
    }

    fn new(expr: Expr, end: usize) -> Self {
        Self { exprs: vec![expr], ..Self::nothing(end) }
    }

    // An option, because it ends the many readers that may find nothing.
    #[expect(clippy::unnecessary_wraps, reason = "keeps the readers, which may find nothing, short")]
    fn one(expr: Expr, end: usize) -> Option<Self> {
        Some(Self::new(expr, end))
    }

    /// A part of the fiscal year and of the calendar's, unless the year says which.
    fn systems(year: Option<Year>, part: impl Fn(System) -> OfYear, end: usize) -> Self {
        let expr = |system| Expr::in_year(year, part(system));
        match year {
            Some(Year::Fiscal(_)) => Self::new(expr(System::Fiscal), end),
            _ => Self { exprs: vec![expr(System::Fiscal), expr(System::Calendar)], ..Self::nothing(end) },
        }
    }

    fn sharing(self) -> Self {
        Self { shares: true, ..self }
    }
}

/// The dates of a folded text, each with its place in that.
pub(super) fn read(text: &Folded, context: &Context) -> Vec<(Range<usize>, Found)> {
    let items = combine::combine(text, scan(text, context), context);
    items
        .into_iter()
        .filter(|item| !item.exprs.is_empty())
        .map(|item| {
            let (start_char, end_char) = text.span(item.from, item.to);
            let meaning = resolve(&item.exprs, context);
            let found = Found { words: text.words(item.from, item.to), start_char, end_char, meaning };
            (item.from..item.to, found)
        })
        .collect()
}

/// The single dates, in order.
fn scan(text: &Folded, context: &Context) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let (mut i, mut habit) = (0, None);
    while let Some(c) = text.at(i) {
        let Some(atom) = begins_date(c).then(|| atom_at(text, i, context)).flatten().filter(|a| a.end > i) else {
            i = skip(text, i, c);
            continue;
        };
        let mut end = atom.end;
        // 毎月5日と20日: what is said of the first holds for the next.
        let back = beside::refers_back(text, i, end) && items.last().is_some_and(|before| !is_now(before, context));
        let another = back || beside::is_another(text, i) || habit.is_some_and(|end| combine::is_listed(text, end, i));
        habit = another.then_some(end);
        if !atom.exprs.is_empty() && !another && !beside::is_name(text, end) {
            let further =
                if atom.day_may_follow { further::further_days(text, end, &atom.exprs, context) } else { Vec::new() };
            items.push(Item { from: i, to: end, exprs: atom.exprs, shares: atom.shares, length: atom.length });
            end = further.last().map_or(end, |item| item.to);
            items.extend(further);
        }
        i = end;
    }
    items
}

/// The item is today, or this week, month or year.
fn is_now(item: &Item, context: &Context) -> bool {
    use calendar::Unit;
    let now = [Unit::Week, Unit::Month, Unit::Year].map(|unit| calendar::whole(context.today, unit, 0));
    let is_now = |r: &Reading| match r {
        Reading::Day(day) => *day == context.today,
        Reading::Range(a, b) => now.contains(&Some((*a, *b))),
        Reading::Since(_) | Reading::Until(_) => false,
    };
    item.exprs.iter().any(|e| e.readings(context).is_ok_and(|readings| readings.iter().any(is_now)))
}

/// Past a word or number that is no date, so that its rest is not taken for one.
fn skip(text: &Folded, i: usize, c: char) -> usize {
    let mut next = i + 1;
    let same = |n: Option<char>| {
        n.is_some_and(|n| if c.is_ascii_digit() { n.is_ascii_digit() } else { n.is_ascii_alphabetic() })
    };
    while c.is_ascii_alphanumeric() && same(text.at(next)) {
        next += 1;
    }
    next
}

/// Nearly every character of a sentence begins no date; this says so quickly.
fn begins_date(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '\'';
    }
    matches!(
        c,
        '一' | '二'
            | '三'
            | '四'
            | '五'
            | '六'
            | '七'
            | '八'
            | '九'
            | '十'
            | '〇'
            | '百'
            | '元'
            | '廿'
            | '半'
            | '第'
            | '最'
            | '過'
            | '直'
            | '年'
            | '月'
            | '火'
            | '水'
            | '木'
            | '金'
            | '土'
            | '日'
            | '週'
            | '今'
            | '本'
            | '昨'
            | '明'
            | '去'
            | '前'
            | '来'
            | '再'
            | '先'
            | '当'
            | '次'
            | '上'
            | '中'
            | '下'
            | '初'
            | '末'
            | '後'
            | '令'
            | '平'
            | '昭'
            | '大'
            | 'ク'
            | 'お'
            | 'き'
            | 'け'
            | 'こ'
            | 'さ'
            | 'し'
            | 'つ'
            | 'あ'
            | 'ゆ'
    )
}

/// The single date that begins at `i`, with what stands beside it.
fn atom_at(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let c = text.at(i)?;
    let atom = if c.is_ascii_alphabetic() {
        let word = text.before(i).is_none_or(|c| !c.is_ascii_alphanumeric());
        (word && english::may_begin(text, i))
            .then(|| {
                written::at(text, i, context)
                    .or_else(|| japanese::named_year(text, i, context))
                    .or_else(|| english::at(text, i, context))
            })
            .flatten()
    } else if c.is_ascii() {
        written::at(text, i, context)
            .or_else(|| japanese::at(text, i, context))
            .or_else(|| english::at(text, i, context))
    } else {
        japanese::at(text, i, context)
    };
    atom.map(|atom| beside::beside(text, atom, context))
}

/// A date inside another's words, as after "the day after". It holds no third one, so that no text goes on forever.
fn inner_at(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    if english::holds_another(text, i) { None } else { atom_at(text, i, context) }
}

/// A counter, unit or currency stands at `at`, spaces aside: the number before it counts things.
fn counted(text: &Folded, at: usize) -> bool {
    super::units::unit_at(text, text.skip_spaces(at)).is_some() || super::units::currency_at(text, text.skip_spaces(at))
}

/// The fiscal quarter so many from the one with the reference day.
fn quarter(context: &Context, by: i64) -> Option<Period> {
    let start = expr::fiscal_start(context);
    let year = calendar::fiscal_year(context.today, start)?;
    let months = i64::from(context.today.month()) - i64::from(start);
    calendar::months_of_year(year, start, months.rem_euclid(12) / 3 * 3 + by.checked_mul(3)?, 3)
}

/// A part of a fiscal year that is not named: this one, and while it has not begun also the one before.
fn unnamed_fiscal_year(part: OfYear, context: &Context) -> Option<Expr> {
    let this = calendar::fiscal_year(context.today, expr::fiscal_start(context))?;
    let of = |year| Expr::in_year(Some(Year::Fiscal(year)), part).readings(context).ok();
    let mut readings = of(this)?;
    if readings.iter().any(|r| r.start() > Some(context.today)) {
        readings.splice(0..0, of(this.checked_sub(1)?)?);
    }
    Some(Part::Given(readings).into())
}

/// The same for an edge of this quarter.
fn unnamed_quarter(last: bool, context: &Context) -> Option<Expr> {
    let edge = |by| quarter(context, by).map(|(a, b)| Reading::Day(if last { b } else { a }));
    let this = edge(0)?;
    let before = if this.start() > Some(context.today) { edge(-1) } else { None };
    Some(Part::Given(before.into_iter().chain(Some(this)).collect()).into())
}

/// The meaning of all ways to understand an item: those that give a day count, or else the first says why not.
fn resolve(exprs: &[Expr], context: &Context) -> Meaning<Reading> {
    let mut readings = Vec::new();
    let mut refusal = None;
    for expr in exprs {
        match expr.readings(context) {
            Ok(found) => readings.extend(found),
            Err(why) => refusal = refusal.or(Some(why)),
        }
    }
    // Fiscal and calendar parts of a year stand among each other; 12/3 and 3/12 do not.
    if exprs.len() > 1 && exprs.iter().all(|e| matches!(e.part, Part::OfYear(_))) {
        readings.sort_by_key(|r| expr::nearness(*r, context.today));
    }
    among(readings).unwrap_or(Meaning::Refused(refusal.unwrap_or(Refusal::NoSuchDay)))
}

/// One reading, or several without repetition.
fn among(readings: Vec<Reading>) -> Option<Meaning<Reading>> {
    let mut distinct: Vec<Reading> = Vec::new();
    for reading in readings {
        if !distinct.contains(&reading) {
            distinct.push(reading);
        }
    }
    match distinct.as_slice() {
        [] => None,
        [only] => Some(Meaning::Clear(*only)),
        _ => Some(Meaning::Ambiguous(distinct)),
    }
}

/// The number of days from a day on, as the day after the last.
fn span_of(start: NaiveDate, length: Length) -> Option<Reading> {
    let last = calendar::days(calendar::shifted(start, length.unit, length.n)?, -1)?;
    (length.n > 0).then_some(Reading::Range(start, last))
}
