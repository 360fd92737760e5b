//! What stands beside a single date and changes it: its weekday, the day after it, the week it is in; and what stands
//! before it and makes it another one.

use super::calendar::{self, Unit};
use super::expr::{Expr, OfMonth, OfYear, Part};
use super::{Atom, english, inner_at, japanese, lengths};
use crate::reading::fold::Folded;
use crate::reading::{Context, Reading, numbers};

/// What stands beside a single date: its weekday, the day after it, the week it is in.
pub(super) fn beside(text: &Folded, mut atom: Atom, context: &Context) -> Atom {
    if atom.exprs.is_empty() || atom.length.is_some() {
        return atom;
    }
    let at = text.skip_spaces(atom.end);
    if atom.exprs.iter().all(|e| matches!(e.part, Part::Weekday(_)) && e.week.is_none())
        && let Some(dated) = bracketed_date(text, at, &atom, context)
    {
        return dated;
    }
    if let Some(day) = japanese::said_twice(text, &atom, context) {
        atom = day;
    }
    let at = text.skip_spaces(atom.end);
    let named = japanese::bracketed_weekday(text, at).or_else(|| {
        let day = atom.exprs.iter().all(|e| matches!(e.part, Part::OfMonth(OfMonth::Day(_))));
        let written = || {
            let no = text.word_at(at, "の").map_or(at, |at| text.skip_spaces(at));
            japanese::weekday_at(text, no).or_else(|| english::weekday_beside(text, atom.end))
        };
        let given = atom.exprs.iter().all(|e| matches!(e.part, Part::Given(_)) && is_day(e));
        let said = || japanese::weekday_at(text, text.word_at(at, "の").unwrap_or(at));
        if day { written().or_else(|| listed_weekday(text, at, &atom, context)) } else { said().filter(|_| given) }
    });
    if let Some((weekday, end)) = named
        && atom.exprs.iter().all(|e| e.weekday.is_none() && is_day(e))
    {
        atom.exprs.iter_mut().for_each(|e| e.weekday = Some(weekday));
        atom.end = end;
    }
    after_no(text, atom, context)
}

/// `10月1日、木曜日`: the weekday of that day, not another day.
fn listed_weekday(text: &Folded, at: usize, atom: &Atom, context: &Context) -> Option<(chrono::Weekday, usize)> {
    let (_, at) = text.any_at(at, &["、", "・"])?;
    let (weekday, end) = japanese::weekday_at(text, at)?;
    let falls = |e: &Expr| Expr { weekday: Some(weekday), ..e.clone() }.readings(context).is_ok();
    atom.exprs.iter().any(falls).then_some((weekday, end))
}

pub(super) fn is_day(expr: &Expr) -> bool {
    match &expr.part {
        Part::OfMonth(part) => matches!(part, OfMonth::Day(_) | OfMonth::First | OfMonth::Last),
        Part::Given(readings) => readings.iter().all(|r| matches!(r, Reading::Day(_))),
        _ => false,
    }
}

/// `火曜日（11/24）`: the day in brackets, which must be such a weekday.
fn bracketed_date(text: &Folded, at: usize, atom: &Atom, context: &Context) -> Option<Atom> {
    let Some(Part::Weekday(weekday)) = atom.exprs.first().map(|e| e.part.clone()) else { return None };
    let inside = text.skip_spaces(text.word_at(at, "(")?);
    if japanese::weekday_at(text, inside).is_some() || english::weekday_name(text, inside).is_some() {
        return None;
    }
    let inner = inner_at(text, inside, context)?;
    let end = text.word_at(text.skip_spaces(inner.end), ")")?;
    let day = !inner.exprs.is_empty() && inner.exprs.iter().all(|e| is_day(e) && e.weekday.is_none());
    let exprs = inner.exprs.into_iter().map(|e| Expr { weekday: Some(weekday), ..e }).collect();
    day.then(|| Atom { exprs, ..Atom::nothing(end) })
}

/// `…の翌日`, `…の週`, `…の3日前`, `…の翌月`.
fn after_no(text: &Folded, atom: Atom, context: &Context) -> Atom {
    let at = text.skip_spaces(atom.end);
    if let Some(found) = directly_after(text, &atom, at, context) {
        return found;
    }
    let Some((word, at)) = text.any_at(at, &["の", "から", "より"]).map(|(w, at)| (w, text.skip_spaces(at)))
    else {
        return atom;
    };
    let no = word == "の";
    let found = if no { day_beside(text, &atom, at).or_else(|| next_period(text, &atom, at, context)) } else { None };
    found.or_else(|| days_away(text, &atom, at, word, context)).unwrap_or(atom)
}

/// `上期末`, `11/16週`, `11/20を含む週`, `11/20前日`.
fn directly_after(text: &Folded, atom: &Atom, at: usize, context: &Context) -> Option<Atom> {
    let part = |e: &Expr| matches!(e.part, Part::OfYear(OfYear::Term(..) | OfYear::Quarter(..)));
    if atom.exprs.iter().all(part)
        && let Some((word, end)) = text.any_at(at, &["末", "初め", "はじめ", "頭"])
    {
        let edge = |r: Reading| if word == "末" { r.end() } else { r.start() };
        return Some(mapped(atom, end, context, |r| edge(r).map(Reading::Day)));
    }
    // 上期前半: a half of a half.
    if atom.exprs.iter().all(part)
        && let Some((_, end)) = text.any_at(at, &["前半", "後半"])
    {
        return Some(Atom::nothing(end));
    }
    if !atom.exprs.iter().all(is_day) {
        return None;
    }
    let edge = |e: &Expr| matches!(e.part, Part::OfMonth(OfMonth::Last | OfMonth::First));
    if atom.exprs.iter().all(edge)
        && let Some(day) = days_away(text, atom, at, "の", context)
    {
        return Some(day);
    }
    if let Some((_, end)) = text.any_at(at, &["を含む週", "がある週", "週"]) {
        let other = text.at(end).is_some_and(|c| "間末目次休刊".contains(c));
        let whole = |r: Reading| calendar::whole(r.start()?, Unit::Week, 0).map(|(a, b)| Reading::Range(a, b));
        return (!other).then(|| mapped(atom, end, context, whole));
    }
    day_beside(text, atom, at).filter(|day| text.at(day.end) != Some('比'))
}

/// `の翌日`, `の前日`.
fn day_beside(text: &Folded, atom: &Atom, at: usize) -> Option<Atom> {
    const BESIDE: [(&str, i64); 5] = [("翌々日", 2), ("翌日", 1), ("次の日", 1), ("前日", -1), ("前の日", -1)];
    let (by, end) = text.lookup(at, &BESIDE)?;
    let exprs = atom.exprs.iter().map(|e| Expr { beside: e.beside + by, ..e.clone() }).collect();
    Some(Atom { exprs, ..Atom::nothing(end) })
}

/// `の週`, `の翌週の火曜日`, `の翌月`.
fn next_period(text: &Folded, atom: &Atom, at: usize, context: &Context) -> Option<Atom> {
    const NEXT: [(&str, (Unit, i64)); 10] = [
        ("翌週", (Unit::Week, 1)),
        ("次の週", (Unit::Week, 1)),
        ("前の週", (Unit::Week, -1)),
        ("週", (Unit::Week, 0)),
        ("翌月", (Unit::Month, 1)),
        ("次の月", (Unit::Month, 1)),
        ("前の月", (Unit::Month, -1)),
        ("翌年", (Unit::Year, 1)),
        ("次の年", (Unit::Year, 1)),
        ("前の年", (Unit::Year, -1)),
    ];
    let ((unit, by), end) = text.lookup(at, &NEXT)?;
    // 先月の週ごと, 先月の週末: of many weeks.
    let many = text.any_at(end, &["ごと", "毎", "別", "間", "次"]).is_some();
    if many || (by == 0 && !atom.exprs.iter().all(is_day)) {
        return None;
    }
    let whole = |r: Reading| {
        let day = if by < 0 { r.start() } else { r.end() };
        calendar::whole(day?, unit, by)
    };
    let part = japanese::skip_no(text, end);
    if let (Unit::Week, Some((weekday, end))) = (unit, japanese::weekday_at(text, part)) {
        return Some(mapped(atom, end, context, |r| calendar::in_week(whole(r)?.0, weekday).map(Reading::Day)));
    }
    // 11月の翌月末, の翌月10日: more than is read here.
    let more = text.at(part).is_some_and(|c| c == '末' || c.is_ascii_digit() || numbers::is_kanji_numeral(c));
    Some(if more {
        Atom::nothing(part)
    } else {
        mapped(atom, end, context, |r| whole(r).map(|(a, b)| Reading::Range(a, b)))
    })
}

/// `の3日前`, `から3日後`, `より3日前`.
fn days_away(text: &Folded, atom: &Atom, at: usize, word: &str, context: &Context) -> Option<Atom> {
    let length = lengths::japanese_length(text, at)?;
    let (side, end) = text.any_at(length.end, &["前", "まえ", "後"])?;
    let other = text.at(end).is_some_and(|c| "後半回".contains(c));
    // 先週から3日前まで is a range.
    let range = word == "から" && (side != "後" || text.word_at(end, "まで").is_some());
    if other || range {
        return None;
    }
    if !atom.exprs.iter().all(is_day) {
        return Some(Atom::nothing(end));
    }
    let by = if side == "後" { length.n } else { -length.n };
    Some(mapped(atom, end, context, |r| calendar::shifted(r.start()?, length.unit, by).map(Reading::Day)))
}

/// The atom with each of its readings replaced.
pub(super) fn mapped(atom: &Atom, end: usize, context: &Context, to: impl Fn(Reading) -> Option<Reading>) -> Atom {
    let exprs = atom.exprs.iter().map(|expr| {
        match expr.readings(context) {
            Ok(readings) => Part::Given(readings.into_iter().filter_map(&to).collect()),
            Err(why) => Part::Refused(why),
        }
        .into()
    });
    Atom { exprs: exprs.collect(), ..Atom::nothing(end) }
}

/// 毎週, 翌週, "every": what follows is said of many days, or of a week, month or year that is not known here.
pub(super) fn is_another(text: &Folded, from: usize) -> bool {
    const JAPANESE: [&str; 37] = [
        "毎週",
        "毎月",
        "毎年",
        "毎",
        "隔週",
        "隔月",
        "各週",
        "各月",
        "各",
        "翌週",
        "翌月",
        "翌年",
        "翌々週",
        "翌々月",
        "翌",
        "同週",
        "同月",
        "同年",
        "次週",
        "次月",
        "次の週",
        "次の月",
        "次の年",
        "前の週",
        "前の月",
        "前の年",
        "その週",
        "その月",
        "その年",
        "あの週",
        "あの月",
        "同じ週",
        "同じ月",
        "同じ年",
        "ある月",
        "何月",
        "その日の",
    ];
    const ENGLISH: [&str; 29] = [
        "every",
        "each",
        "other",
        "every second",
        "alternate",
        "any",
        "following",
        "season",
        "summer",
        "spring",
        "autumn",
        "winter",
        "season of",
        "summer of",
        "spring of",
        "autumn of",
        "winter of",
        "period",
        "time",
        "a week",
        "days to",
        "weeks to",
        "weeks",
        "same week",
        "same quarter",
        "this week",
        "this quarter",
        "half",
        "and a half",
    ];
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

/// さん, 様 right after it: 四月一日さん has a family name that looks like a day.
pub(super) fn is_name(text: &Folded, end: usize) -> bool {
    let follows = |words: &[&str], next: &str| {
        text.any_at(end, words).is_some_and(|(_, at)| !text.at(at).is_some_and(|c| next.contains(c)))
    };
    // さんま and さんしょう are goods, 様子 and 様々 other words.
    follows(&["さん", "さま"], "ましざ")
        || follows(&["様"], "々子式")
        || text.any_at(end, &["ちゃん", "くん"]).is_some()
}

/// 前年同月, "the same day last year": of the date before, if there is one, and not of today.
pub(super) fn refers_back(text: &Folded, from: usize, end: usize) -> bool {
    (from..end).any(|i| text.at(i) == Some('同') || text.word_at(i, "same").is_some())
}
