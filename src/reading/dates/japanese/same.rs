//! A day that two words say: 昨日（11/28）, 本日29日, 金曜20日; and the next or last one of a date: 今度の12月3日.

use chrono::{Datelike, Weekday};

use super::months::month_number;
use super::numbered::day_number;
use crate::reading::dates::beside::is_day;
use crate::reading::dates::expr::{Expr, OfMonth, Part};
use crate::reading::dates::{Atom, calendar, written};
use crate::reading::fold::Folded;
use crate::reading::{Context, Reading, Refusal};

/// A month and day, or a day alone: 11/28, 11月28日, 28日.
fn plain_day(text: &Folded, at: usize) -> Option<(Expr, usize)> {
    if let Some((month, day, end)) = written::month_and_day(text, at) {
        return Some((Expr::in_month(None, Some(month), OfMonth::Day(day)), end));
    }
    if let Some((month, end)) = month_number(text, at) {
        let (day, end) = day_number(text, end)?;
        return Some((Expr::in_month(None, Some(month), OfMonth::Day(day)), end));
    }
    let (day, end) = day_number(text, at)?;
    Some((Expr::in_month(None, None, OfMonth::Day(day)), end))
}

/// One day of an atom and the day said again after it. None when they cannot be the same, unless the second stands in
/// brackets and so must be.
pub(in crate::reading::dates) fn said_twice(text: &Folded, atom: &Atom, context: &Context) -> Option<Atom> {
    if !text.is_japanese() || atom.exprs.iter().any(|e| e.weekday.is_some() || e.beside != 0) {
        return None;
    }
    let named: Option<Weekday> = atom.exprs.first().and_then(|e| match e.part {
        Part::Weekday(weekday) => Some(weekday),
        _ => None,
    });
    if named.is_none() && !atom.exprs.iter().all(is_day) {
        return None;
    }
    let at = text.skip_spaces(atom.end);
    let bracket = text.word_at(at, "(");
    let at = bracket.or_else(|| text.any_at(at, &["の", "、"]).map(|(_, end)| end)).unwrap_or(at);
    let dated = atom.exprs.iter().any(|e| matches!(e.part, Part::OfMonth(_)));
    if dated && bracket.is_none() {
        return None;
    }
    let (again, end) = plain_day(text, text.skip_spaces(at))?;
    let end = if bracket.is_some() { text.word_at(text.skip_spaces(end), ")")? } else { end };
    let fits = |day: chrono::NaiveDate| match again.part {
        Part::OfMonth(OfMonth::Day(d)) => d == day.day() && again.month.is_none_or(|m| m == day.month()),
        _ => false,
    };
    let loose = named.filter(|_| atom.exprs.iter().all(|e| e.week.is_none()));
    let mut days = Vec::new();
    if loose.is_some() {
        days.extend(Expr { weekday: loose, ..again.clone() }.readings(context).unwrap_or_default());
    }
    for expr in &atom.exprs {
        let readings = expr.readings(context).unwrap_or_default();
        days.extend(readings.into_iter().filter(|r| matches!(r, Reading::Day(d) if fits(*d))));
    }
    if days.is_empty() {
        let other = bracket.is_some() && named.is_some() && loose.is_none();
        return other.then(|| Atom::new(Part::Refused(Refusal::OtherWeekday).into(), end));
    }
    Atom::one(Part::Given(days).into(), end)
}

/// `今度の12月3日`, `次の土日`: the first after today; `この前の20日`, `この前の土日`: the latest before it.
pub(super) fn next_or_last(text: &Folded, i: usize, context: &Context) -> Option<Atom> {
    let tomorrow = context.today.succ_opt()?;
    let weekend = |saturday| Expr::period(calendar::weekend(calendar::monday(saturday)?));
    if let Some((_, at)) = text.any_at(i, &["今度の", "こんどの", "次の", "つぎの"]) {
        if let Some((_, end)) = text.any_at(at, &["土日", "週末"]) {
            return Atom::one(weekend(calendar::on_or_after(tomorrow, Weekday::Sat)?)?, end);
        }
        let (day, end) = plain_day(text, at)?;
        let part = match day.ending_after(tomorrow, context) {
            Ok(Some(reading)) => Part::Given(vec![reading]),
            Ok(None) => Part::Refused(Refusal::NoSuchDay),
            Err(why) => Part::Refused(why),
        };
        return Atom::one(part.into(), end);
    }
    let (_, at) = text.any_at(i, &["この前の", "こないだの", "この間の"])?;
    if let Some((_, end)) = text.any_at(at, &["土日", "週末"]) {
        return Atom::one(weekend(calendar::up_to(context.today.pred_opt()?, Weekday::Sun)?)?, end);
    }
    let (day, end) = plain_day(text, at)?;
    let part = match day.readings(context) {
        Ok(readings) => {
            let last = readings.into_iter().filter(|r| r.end() < Some(context.today)).max_by_key(|r| r.end());
            Part::Given(last.into_iter().collect())
        }
        Err(why) => Part::Refused(why),
    };
    Atom::one(part.into(), end)
}
