//! Dates that belong together: AからB, A〜B, "between A and B", Aから3日間, 11/3と5日.

use chrono::Datelike;

use super::calendar;
use super::expr::{Expr, OfMonth, OfYear, Part, Year, nearness, of_month};
use super::{Item, english, japanese, lengths, linked, open, span_of, written};
use crate::reading::fold::Folded;
use crate::reading::{Context, Reading, Refusal};

/// How two neighbours are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Range,
    /// と, and: a range after "between" and before の間, else a list.
    And,
    List,
    None,
}

const RANGE: [&str; 18] = [
    "以降",
    "以降、",
    "から",
    "~",
    "-",
    "ー",
    "より",
    "through",
    "thru",
    "until",
    "untill",
    "till",
    "up until",
    "up to",
    "to",
    "til",
    "からの",
    "から、",
];
const AND: [&str; 4] = ["と", "and", "&", "および"];
const LIST: [&str; 12] = ["、", "や", "か", "・", ", and ", ",", "or", "または", "とか", "及び", "/", "+"];

/// Puts together what belongs together.
pub(super) fn combine(text: &Folded, mut items: Vec<Item>, context: &Context) -> Vec<Item> {
    let mut links: Vec<Link> = items.windows(2).map(|pair| pair_link(text, pair)).collect();
    for (link, pair) in links.iter_mut().zip(items.windows(2)) {
        let [a, b] = pair else { continue };
        if *link == Link::Range && (english::corrects(text, a.from, a.to) || linked::corrects(text, b.to)) {
            *link = Link::List;
        }
    }
    share_back(&mut items, &links);
    for (n, link) in links.iter().enumerate().rev() {
        let (before, after) = items.split_at_mut(n + 1);
        if let (Link::And | Link::List, Some(a), Some(b)) = (link, before.last_mut(), after.first()) {
            linked::share_part(text, a, b, context);
        }
    }
    inherit(text, &mut items, &links);
    let mut combined: Vec<Item> = Vec::new();
    let mut rest = items.into_iter().zip(links.into_iter().chain([Link::None])).peekable();
    while let Some((item, link)) = rest.next() {
        if let Some(length) = item.length.filter(|_| combined.last().is_some_and(|b| repeats(text, b.to, item.from))) {
            keep_as_long(text, &mut combined, length, context);
            continue;
        }
        if link == Link::List && rest.peek().is_some_and(|(next, _)| linked::corrects(text, next.to)) {
            combined.push(item);
            continue;
        }
        let long = for_until(text, &item, context).or_else(|| from_for(text, &item, context));
        if let Some(long) = long.or_else(|| from_to_next(text, &item, context)) {
            while rest.next_if(|(next, _)| next.from < long.to).is_some() {}
            combined.push(long);
            continue;
        }
        let joined = rest.peek().and_then(|(next, _)| joined(text, &item, next, link, context));
        if let Some(joined) = joined {
            rest.next();
            combined.push(joined);
            continue;
        }
        combined.push(open::open(text, item, context));
    }
    exclude(text, &mut combined);
    combined
}

/// Takes out what 以外 is said of, and what is listed before it.
fn exclude(text: &Folded, items: &mut [Item]) {
    let mut after: Option<usize> = None;
    for item in items.iter_mut().rev() {
        let listed = after.is_some_and(|from| is_listed(text, item.to, from));
        if listed || linked::is_excluded(text, item.to) {
            item.exprs.clear();
            after = Some(item.from);
        } else {
            after = None;
        }
    }
}

fn pair_link(text: &Folded, pair: &[Item]) -> Link {
    let [a, b] = pair else { return Link::None };
    // ~yesterday~ today: struck out.
    if text.before(a.from) == Some('~') && text.at(a.to) == Some('~') && text.at(a.to + 1) == Some(' ') {
        return Link::None;
    }
    match link(text, a.to, b.from) {
        Link::None => link(text, linked::skip_time(text, a.to), b.from),
        link => link,
    }
}

/// How the words between two positions join what ends and what begins there.
fn link(text: &Folded, end: usize, begin: usize) -> Link {
    let at = text.skip_spaces(end);
    let leads =
        |words: &[&str]| words.iter().any(|w| text.word_at(at, w).is_some_and(|e| text.skip_spaces(e) == begin));
    if leads(&RANGE) || (leads(&["/"]) && written::ends_interval(text, begin)) {
        Link::Range
    } else if leads(&AND) {
        Link::And
    } else if leads(&LIST) {
        Link::List
    } else {
        Link::None
    }
}

/// Nothing but と, "and" and the like stands between two positions.
pub(super) fn is_listed(text: &Folded, end: usize, begin: usize) -> bool {
    matches!(link(text, end, begin), Link::And | Link::List)
}

/// "Monday and Wednesday of last week": what the last one says holds for those before it.
fn share_back(items: &mut [Item], links: &[Link]) {
    for (n, link) in links.iter().enumerate().rev() {
        let (before, after) = items.split_at_mut(n + 1);
        let (Some(a), Some(b)) = (before.last_mut(), after.first()) else { continue };
        if *link == Link::None || !b.shares {
            continue;
        }
        let Some(source) = b.exprs.first() else { continue };
        let bare = a.exprs.iter().any(|e| e.month.is_none() && e.year.is_none() && e.week.is_none());
        for expr in &mut a.exprs {
            let had_year = expr.year.is_some();
            expr.take_from(source);
            // Dec 28 to Jan 3, 2026.
            if let (Link::Range, false, Some(Year::Calendar(y))) = (link, had_year, expr.year)
                && expr.month > source.month
            {
                expr.year = y.checked_sub(1).map(Year::Calendar);
            }
        }
        a.shares |= bare;
    }
}

/// 去年の10月と11月: what one leaves out is taken from the one before it. The end of a range keeps its own freedom.
fn inherit(text: &Folded, items: &mut [Item], links: &[Link]) {
    let mut carried: Option<Vec<Expr>> = None;
    for (n, item) in items.iter_mut().enumerate() {
        let link = n.checked_sub(1).and_then(|p| links.get(p)).copied().unwrap_or(Link::None);
        let mut filled = item.exprs.clone();
        if let Some(before) = carried.as_ref().filter(|_| link != Link::None) {
            let paired = before.len() == filled.len();
            for (k, expr) in filled.iter_mut().enumerate() {
                if let Some(source) = before.get(if paired { k } else { 0 }) {
                    expr.take_from(source);
                }
            }
            let open = item.exprs.iter().all(|e| e.month.is_none());
            if filled.len() < before.len() && filled.len() == 1 && open {
                // 11/3 and 5: both orders of 11/3 pass on their month.
                let Some(own) = item.exprs.first() else { continue };
                filled = before
                    .iter()
                    .map(|source| {
                        let mut expr = own.clone();
                        expr.take_from(source);
                        expr
                    })
                    .collect();
            }
        }
        if matches!(link, Link::List | Link::And) {
            // "Nov 2025 and 2026" are two Novembers.
            if let (
                Some(before),
                [Expr { year: Some(year @ Year::Calendar(_)), part: Part::OfYear(OfYear::Whole), .. }],
            ) = (carried.as_ref(), item.exprs.as_slice())
                && before.iter().all(|e| {
                    e.year.is_some() && (e.month.is_some() || matches!(e.part, Part::OfYear(OfYear::Quarter(..))))
                })
                && text.at(item.from).is_some_and(|c| c.is_ascii_digit())
            {
                filled = before.iter().map(|e| Expr { year: Some(*year), ..e.clone() }).collect();
            }
            item.exprs.clone_from(&filled);
        }
        carried = Some(filled);
    }
}

/// A length right after a period says how long that is: 先月と今月の2ヶ月間.
fn repeats(text: &Folded, end: usize, from: usize) -> bool {
    let at = text.skip_spaces(end);
    let at = text.any_at(at, &["までの", "での", "の"]).map_or(at, |(_, end)| text.skip_spaces(end));
    at == from
}

/// A period with a length of another size (先週の3日間) says no days that are known; a list may add up to it.
fn keep_as_long(text: &Folded, combined: &mut [Item], length: lengths::Length, context: &Context) {
    let Some((last, before)) = combined.split_last_mut() else { return };
    let listed = before.last().is_some_and(|b| is_listed(text, b.to, last.from));
    let as_long = |r: &Reading| r.start().and_then(|start| span_of(start, length)) == Some(*r);
    let fits = last.exprs.iter().any(|e| e.readings(context).is_ok_and(|readings| readings.iter().any(as_long)));
    if !listed && !fits {
        last.exprs.clear();
    }
}

/// `11/1から1週間`: so many days, weeks, months from a day on.
fn from_for(text: &Folded, item: &Item, context: &Context) -> Option<Item> {
    let (word, at) = text.any_at(text.skip_spaces(item.to), &["からの", "から", "~"])?;
    let length = lengths::japanese_length(text, text.skip_spaces(at))?;
    let within = text.word_at(length.end, "以内");
    let counts = length.marked || within.is_some() || (length.unit != calendar::Unit::Day && word != "~");
    let away = text.any_at(length.end, &["前", "後", "末"]).is_some();
    // 2025年から2026年 ends with a year.
    let year = length.unit == calendar::Unit::Year && length.n > 100;
    if !counts || away || year {
        return None;
    }
    let exprs = item.exprs.iter().map(|expr| {
        match expr.readings(context) {
            Ok(readings) => Part::Given(readings.iter().filter_map(|r| span_of(r.start()?, length)).collect()),
            Err(why) => Part::Refused(why),
        }
        .into()
    });
    Some(Item { to: within.unwrap_or(length.end), exprs: exprs.collect(), ..item.clone() })
}

/// `11/24から翌日まで`, `15日から翌月10日`; what else comes after から in words of that kind is not read.
fn from_to_next(text: &Folded, item: &Item, context: &Context) -> Option<Item> {
    let (_, at) = text.any_at(text.skip_spaces(item.to), &["から", "~"])?;
    let (word, at) = text.any_at(text.skip_spaces(at), &["翌日", "次の日", "翌月", "次の月", "翌", "その"])?;
    let part = match word {
        "翌月" | "次の月" => japanese::part_of_month(text, at),
        _ => None,
    };
    if part.is_none() && word != "翌日" && word != "次の日" {
        return Some(Item { to: at, exprs: Vec::new(), ..item.clone() });
    }
    let end = part.map_or(at, |(_, end)| end);
    let to = text.word_at(end, "まで").unwrap_or(end);
    let exprs = item.exprs.iter().map(|expr| {
        let through = |r: &Reading| {
            let start = r.start()?;
            let Some((part, _)) = part else { return Some(Reading::Range(start, r.end()?.succ_opt()?)) };
            let (first, _) = calendar::whole(start, calendar::Unit::Month, 1)?;
            Some(Reading::Range(start, of_month(first.year(), first.month(), part)?.end()?))
        };
        match expr.readings(context) {
            Ok(readings) => Part::Given(readings.iter().filter_map(through).collect()),
            Err(why) => Part::Refused(why),
        }
        .into()
    });
    Some(Item { to, exprs: exprs.collect(), ..item.clone() })
}

/// One period of two dates, when words join them.
fn joined(text: &Folded, a: &Item, b: &Item, link: Link, context: &Context) -> Option<Item> {
    if b.length.is_some() {
        return None;
    }
    let between = ["between", "b/w"].iter().find_map(|w| text.word_before(a.from, w));
    let (from, to) = match link {
        Link::Range => {
            // 先月より今月 compares, unless まで closes a period.
            let than = text.any_at(text.skip_spaces(a.to), &["より", "以降"]).is_some();
            if than && text.word_at(text.skip_spaces(b.to), "まで").is_none() {
                return None;
            }
            let from = text.word_before(a.from, "from").or(between).unwrap_or(a.from);
            let closed = |at: usize| text.any_at(text.skip_spaces(at), &["まで", "迄"]).map(|(_, end)| end);
            (from, closed(b.to).or_else(|| closed(linked::skip_time(text, b.to))).unwrap_or(b.to))
        }
        Link::And if between.is_some() => (between?, b.to),
        Link::And => (a.from, text.any_at(b.to, &["の間", "のあいだ"])?.1),
        Link::List | Link::None => return None,
    };
    let mut exprs = spans(&a.exprs, &b.exprs, context);
    if to == b.to && link == Link::Range && text.word_at(text.skip_spaces(a.to), "から").is_some() {
        exprs.iter_mut().for_each(|e| or_so_long(e, &b.exprs));
    }
    Some(Item { from, to, exprs, shares: false, length: None })
}

/// 11/24から3日 is three days, or goes on to the third of the next month.
fn or_so_long(period: &mut Expr, last: &[Expr]) {
    let ([Expr { part: Part::OfMonth(OfMonth::Day(n)), month: None, weekday: None, .. }], Part::Given(readings)) =
        (last, &mut period.part)
    else {
        return;
    };
    let crosses = |r: &Reading| matches!(r, Reading::Range(a, b) if (a.year(), a.month()) != (b.year(), b.month()));
    let short = |r: &Reading| Some(Reading::Range(r.start()?, calendar::days(r.start()?, i64::from(*n) - 1)?));
    let both = |r: &Reading| [short(r).filter(|_| crosses(r)), Some(*r)].into_iter().flatten();
    *readings = readings.iter().flat_map(both).collect();
}

/// `昨日までの3日間`: so many days, the date the last.
fn for_until(text: &Folded, item: &Item, context: &Context) -> Option<Item> {
    let (word, at) = text.any_at(
        text.skip_spaces(item.to),
        &["までの", "迄の", "から過去", "より過去", "から直近", "から遡って", "からさかのぼって"],
    )?;
    let length = lengths::japanese_length(text, text.skip_spaces(at)).filter(|l| l.n > 0)?;
    if !length.marked && word.ends_with('の') {
        return None;
    }
    let exprs = item.exprs.iter().map(|expr| {
        let back = |r: &Reading| {
            let end = r.end()?;
            let start = calendar::shifted(calendar::days(end, 1)?, length.unit, -length.n)?;
            Some(Reading::Range(start, end))
        };
        match expr.readings(context) {
            Ok(readings) => Part::Given(readings.iter().filter_map(back).collect()),
            Err(why) => Part::Refused(why),
        }
        .into()
    });
    Some(Item { to: length.end, exprs: exprs.collect(), ..item.clone() })
}

/// The periods from the first dates to the last ones, pairing the ways to understand them.
fn spans(first: &[Expr], last: &[Expr], context: &Context) -> Vec<Expr> {
    let mut found: Vec<(Vec<Reading>, Option<Refusal>)> = Vec::new();
    for (n, a) in first.iter().enumerate() {
        for (m, b) in last.iter().enumerate() {
            if first.len() != last.len() || n == m {
                found.push(span(a, b, context));
            }
        }
    }
    let length = |readings: &[Reading]| match readings.first() {
        Some(Reading::Range(a, b)) => Some(*b - *a),
        _ => None,
    };
    // 11/20 to 12/3: month and day stand in the same order at both ends, which gives the shorter period.
    if first.len() != last.len()
        && let Some(best) = found.iter().filter_map(|(r, _)| length(r)).min()
    {
        found.retain(|(r, _)| length(r) == Some(best));
    }
    let refusal = found.iter().find_map(|(_, why)| *why).unwrap_or(Refusal::EndsBeforeItBegins);
    let mut readings: Vec<Reading> = found.into_iter().flat_map(|(readings, _)| readings).collect();
    if first.iter().chain(last).any(|e| matches!(e.part, Part::OfYear(OfYear::Quarter(..) | OfYear::Term(..)))) {
        readings.sort_by_key(|r| nearness(*r, context.today));
    }
    vec![if readings.is_empty() { Part::Refused(refusal) } else { Part::Given(readings) }.into()]
}

fn span(a: &Expr, b: &Expr, context: &Context) -> (Vec<Reading>, Option<Refusal>) {
    let starts = match a.readings(context) {
        Ok(readings) => readings,
        Err(why) => return (Vec::new(), Some(why)),
    };
    let mut readings = Vec::new();
    let mut none = None;
    for start in starts.iter().filter_map(|r| r.start()) {
        match b.ending_after(start, context) {
            // 11/1〜31: only a smaller number goes on into the next month.
            Ok(Some(last)) if is_pushed_on(a, b, start, last) => none = Some(Refusal::NoSuchDay),
            Ok(Some(last)) => readings.extend(last.end().map(|end| Reading::Range(start, end))),
            Ok(None) => {}
            Err(why) => return (Vec::new(), Some(why)),
        }
    }
    (readings, none)
}

fn is_pushed_on(a: &Expr, b: &Expr, start: chrono::NaiveDate, last: Reading) -> bool {
    let days = matches!(a.part, Part::OfMonth(OfMonth::Day(_))) && b.month.is_none();
    let greater = matches!(b.part, Part::OfMonth(OfMonth::Day(n)) if n > start.day());
    days && greater && last.end().is_some_and(|end| end.month() != start.month())
}
