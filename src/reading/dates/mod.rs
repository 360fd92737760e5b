//! Dates and periods. Three steps: the text is scanned for single dates as they are said ([`Atom`]), neighbours are put
//! together (ranges, lists, open periods) and fill what each other leaves out, and what is left is resolved against the
//! reference day.

mod calendar;
mod combine;
mod english;
mod era;
mod expr;
mod frames;
mod further;
mod japanese;
mod lengths;
mod written;

use std::ops::Range;

use chrono::{Datelike, NaiveDate};

use self::calendar::Period;
use self::expr::{Expr, OfMonth, OfYear, Part, System, Year};
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
    length: bool,
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
    let mut i = 0;
    while let Some(c) = text.at(i) {
        let Some(atom) = begins_date(c).then(|| atom_at(text, i, context)).flatten().filter(|a| a.end > i) else {
            i = skip(text, i, c);
            continue;
        };
        let mut end = atom.end;
        if !atom.exprs.is_empty() && !is_habit(text, i) {
            let further =
                if atom.day_may_follow { further::further_days(text, end, &atom.exprs, context) } else { Vec::new() };
            let length = atom.length.is_some();
            items.push(Item { from: i, to: end, exprs: atom.exprs, shares: atom.shares, length });
            end = further.last().map_or(end, |item| item.to);
            items.extend(further);
        }
        i = end;
    }
    items
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
        word.then(|| written::at(text, i, context).or_else(|| english::at(text, i, context))).flatten()
    } else if c.is_ascii() {
        written::at(text, i, context)
            .or_else(|| japanese::at(text, i, context))
            .or_else(|| english::at(text, i, context))
    } else {
        japanese::at(text, i, context)
    };
    atom.map(|atom| beside(text, atom, context))
}

/// What stands beside a single date: its weekday, the day after it, the week it is in.
fn beside(text: &Folded, mut atom: Atom, context: &Context) -> Atom {
    if atom.exprs.is_empty() || atom.length.is_some() {
        return atom;
    }
    let at = text.skip_spaces(atom.end);
    if atom.exprs.iter().all(|e| matches!(e.part, Part::Weekday(_)) && e.week.is_none())
        && let Some(dated) = bracketed_date(text, at, &atom, context)
    {
        return dated;
    }
    let named = japanese::bracketed_weekday(text, at).or_else(|| {
        let day = atom.exprs.iter().all(|e| matches!(e.part, Part::OfMonth(OfMonth::Day(_))));
        let written = || japanese::weekday_at(text, at).or_else(|| english::weekday_beside(text, atom.end));
        if day { written() } else { None }
    });
    if let Some((weekday, end)) = named
        && atom.exprs.iter().all(|e| e.weekday.is_none() && is_day(e))
    {
        atom.exprs.iter_mut().for_each(|e| e.weekday = Some(weekday));
        atom.end = end;
    }
    after_no(text, atom, context)
}

fn is_day(expr: &Expr) -> bool {
    match &expr.part {
        Part::OfMonth(part) => matches!(part, OfMonth::Day(_) | OfMonth::First | OfMonth::Last),
        Part::Given(readings) => readings.iter().all(|r| matches!(r, Reading::Day(_))),
        _ => false,
    }
}

/// `火曜日（11/24）`: the day in brackets, which must be such a weekday.
fn bracketed_date(text: &Folded, at: usize, atom: &Atom, context: &Context) -> Option<Atom> {
    let Some(Part::Weekday(weekday)) = atom.exprs.first().map(|e| e.part.clone()) else { return None };
    let inner = atom_at(text, text.skip_spaces(text.word_at(at, "(")?), context)?;
    let end = text.word_at(text.skip_spaces(inner.end), ")")?;
    let day = !inner.exprs.is_empty() && inner.exprs.iter().all(|e| is_day(e) && e.weekday.is_none());
    let exprs = inner.exprs.into_iter().map(|e| Expr { weekday: Some(weekday), ..e }).collect();
    day.then(|| Atom { exprs, ..Atom::nothing(end) })
}

/// `…の翌日`, `…の週`, `…の3日前`, `…の翌月`.
fn after_no(text: &Folded, mut atom: Atom, context: &Context) -> Atom {
    use calendar::Unit;
    const BESIDE: [(&str, i64); 4] = [("翌日", 1), ("次の日", 1), ("前日", -1), ("前の日", -1)];
    const NEXT: [(&str, (Unit, i64)); 9] = [
        ("翌週", (Unit::Week, 1)),
        ("次の週", (Unit::Week, 1)),
        ("前の週", (Unit::Week, -1)),
        ("週", (Unit::Week, 0)),
        ("翌月", (Unit::Month, 1)),
        ("次の月", (Unit::Month, 1)),
        ("前の月", (Unit::Month, -1)),
        ("翌年", (Unit::Year, 1)),
        ("次の年", (Unit::Year, 1)),
    ];
    let Some(at) = text.word_at(text.skip_spaces(atom.end), "の").map(|at| text.skip_spaces(at)) else { return atom };
    if let Some((by, end)) = text.lookup(at, &BESIDE) {
        atom.exprs.iter_mut().for_each(|e| e.beside += by);
        return Atom { end, ..atom };
    }
    // 先月の週ごと, 先月の週末: of many weeks.
    let many = |end: usize| text.any_at(end, &["末", "ごと", "毎", "別", "間", "次"]).is_some();
    let day = atom.exprs.iter().all(is_day);
    if let Some(((unit, by), end)) = text.lookup(at, &NEXT).filter(|((_, by), end)| !many(*end) && (day || *by != 0)) {
        return mapped(&atom, end, context, |r| {
            let day = if by < 0 { r.start() } else { r.end() };
            calendar::whole(day?, unit, by).map(|(a, b)| Reading::Range(a, b))
        });
    }
    let length = lengths::japanese_length(text, at);
    let away = length.and_then(|l| text.any_at(l.end, &["前", "まえ", "後"]).map(|(word, end)| (l, word, end)));
    let Some((length, word, end)) = away.filter(|(_, _, end)| text.at(*end).is_none_or(|c| !"後半回".contains(c)))
    else {
        return atom;
    };
    let by = if word == "後" { length.n } else { -length.n };
    if !atom.exprs.iter().all(is_day) {
        return Atom::nothing(end);
    }
    mapped(&atom, end, context, |r| calendar::shifted(r.start()?, length.unit, by).map(Reading::Day))
}

/// The atom with each of its readings replaced.
fn mapped(atom: &Atom, end: usize, context: &Context, to: impl Fn(Reading) -> Option<Reading>) -> Atom {
    let exprs = atom.exprs.iter().map(|expr| {
        match expr.readings(context) {
            Ok(readings) => Part::Given(readings.into_iter().filter_map(&to).collect()),
            Err(why) => Part::Refused(why),
        }
        .into()
    });
    Atom { exprs: exprs.collect(), ..Atom::nothing(end) }
}

/// 毎週, "every": what follows is said of many days.
fn is_habit(text: &Folded, from: usize) -> bool {
    const JAPANESE: [&str; 6] = ["毎週", "毎月", "毎年", "毎", "隔週", "隔月"];
    const ENGLISH: [&str; 6] = ["every", "each", "every other", "every second", "alternate", "any"];
    let back = text.skip_spaces_back(from);
    match text.before(back) {
        None => false,
        Some(c) if c.is_ascii_alphabetic() => ENGLISH.iter().any(|w| text.word_before(from, w).is_some()),
        Some(_) => {
            let back = text.word_before(back, "の").unwrap_or(back);
            JAPANESE.iter().any(|w| text.word_before(back, w).is_some())
        }
    }
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
