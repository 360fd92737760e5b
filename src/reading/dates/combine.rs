//! Dates that belong together: AからB, A〜B, "between A and B", A以降, "since A", Aから3日間, 11/3と5日.

use chrono::NaiveDate;

use super::calendar;
use super::expr::{Expr, OfYear, Part, Year, nearness};
use super::{Item, lengths, span_of};
use crate::reading::fold::Folded;
use crate::reading::{Context, Reading, Refusal, numbers};

/// How two neighbours are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Range,
    /// と, and: a range after "between" and before の間, else a list.
    And,
    List,
    None,
}

const RANGE: [&str; 16] = [
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
const LIST: [&str; 10] = ["、", "や", "か", "・", ", and ", ",", "or", "または", "とか", "及び"];

/// What makes a period open, after a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Since,
    /// Like since, of what has begun only: "since Tuesday".
    SincePast,
    After,
    Until,
    Before,
}

const SUFFIXES: [(&str, Open); 22] = [
    ("以降", Open::Since),
    ("以後", Open::Since),
    ("以来", Open::Since),
    ("に入ってから", Open::Since),
    ("にはいってから", Open::Since),
    ("に入って", Open::Since),
    ("よりも後", Open::After),
    ("より後", Open::After),
    ("よりあと", Open::After),
    ("よりも前", Open::Before),
    ("より前", Open::Before),
    ("よりまえ", Open::Before),
    ("以前", Open::Until),
    ("まで", Open::Until),
    ("迄", Open::Until),
    (" or later", Open::Since),
    (" and later", Open::Since),
    (" onwards", Open::Since),
    (" onward", Open::Since),
    (" or earlier", Open::Until),
    (" and earlier", Open::Until),
    ("から", Open::Since),
];
const PREFIXES: [(&str, Open); 12] = [
    ("ever since", Open::SincePast),
    ("since", Open::SincePast),
    ("after", Open::After),
    ("before", Open::Before),
    ("prior to", Open::Before),
    ("up until", Open::Until),
    ("until", Open::Until),
    ("till", Open::Until),
    ("by", Open::Until),
    ("up to and including", Open::Until),
    ("up to", Open::Until),
    ("through", Open::Until),
];
const ONWARDS: [&str; 5] = [" onwards", " onward", " on", " forward", " forwards"];
/// から begins another word: 唐揚げ, からし.
const NOT_FROM: [&str; 6] = ["からあげ", "から揚", "からし菜", "からしれ", "からすみ", "から煎"];

/// Puts together what belongs together.
pub(super) fn combine(text: &Folded, mut items: Vec<Item>, context: &Context) -> Vec<Item> {
    let links: Vec<Link> = items.windows(2).map(|pair| pair_link(text, pair)).collect();
    share_back(&mut items, &links);
    inherit(&mut items, &links);
    let mut combined: Vec<Item> = Vec::new();
    let mut rest = items.into_iter().zip(links.into_iter().chain([Link::None])).peekable();
    while let Some((item, link)) = rest.next() {
        if item.length && combined.last().is_some_and(|before| repeats(text, before.to, item.from)) {
            continue;
        }
        if let Some(long) = from_for(text, &item, context) {
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
        combined.push(open(text, item, context));
    }
    combined
}

fn pair_link(text: &Folded, pair: &[Item]) -> Link {
    let [a, b] = pair else { return Link::None };
    let at = text.skip_spaces(a.to);
    let leads =
        |words: &[&str]| words.iter().any(|w| text.word_at(at, w).is_some_and(|e| text.skip_spaces(e) == b.from));
    if leads(&RANGE) {
        Link::Range
    } else if leads(&AND) {
        Link::And
    } else if leads(&LIST) {
        Link::List
    } else {
        Link::None
    }
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
fn inherit(items: &mut [Item], links: &[Link]) {
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
            if filled.len() < before.len() && filled.len() == 1 {
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

/// `11/1から1週間`: so many days, weeks, months from a day on.
fn from_for(text: &Folded, item: &Item, context: &Context) -> Option<Item> {
    let (_, at) = text.any_at(text.skip_spaces(item.to), &["からの", "から"])?;
    let length = lengths::japanese_length(text, text.skip_spaces(at))?;
    let counts = length.marked || length.unit != calendar::Unit::Day;
    let away = text.any_at(length.end, &["前", "後", "以内", "末"]).is_some();
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
    Some(Item { to: length.end, exprs: exprs.collect(), ..item.clone() })
}

/// One period of two dates, when words join them.
fn joined(text: &Folded, a: &Item, b: &Item, link: Link, context: &Context) -> Option<Item> {
    if b.length {
        return None;
    }
    let between = text.word_before(a.from, "between");
    let (from, to) = match link {
        Link::Range => {
            let from = text.word_before(a.from, "from").or(between).unwrap_or(a.from);
            (from, text.any_at(text.skip_spaces(b.to), &["まで", "迄"]).map_or(b.to, |(_, end)| end))
        }
        Link::And if between.is_some() => (between?, b.to),
        Link::And => (a.from, text.any_at(b.to, &["の間", "のあいだ"])?.1),
        Link::List | Link::None => return None,
    };
    Some(Item { from, to, exprs: spans(&a.exprs, &b.exprs, context), shares: false, length: false })
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
    for start in starts.iter().filter_map(|r| r.start()) {
        match b.ending_after(start, context) {
            Ok(Some(last)) => readings.extend(last.end().map(|end| Reading::Range(start, end))),
            Ok(None) => {}
            Err(why) => return (Vec::new(), Some(why)),
        }
    }
    (readings, None)
}

/// A period open at one end, or the item as it is.
fn open(text: &Folded, item: Item, context: &Context) -> Item {
    let at = text.skip_spaces(item.to);
    let onwards = text.word_before(item.from, "from").zip(text.any_at(item.to, &ONWARDS));
    if let Some((from, (_, to))) = onwards {
        return opened(Item { from, to, ..item }, Open::Since, context);
    }
    let suffix =
        if item.length { None } else { text.lookup(item.to, &SUFFIXES).or_else(|| text.lookup(at, &SUFFIXES)) };
    if let Some((open, to)) = suffix.filter(|_| text.any_at(at, &NOT_FROM).is_none()) {
        return opened(Item { to, ..item }, open, context);
    }
    for (word, open) in PREFIXES {
        if let Some(from) = text.word_before(item.from, word) {
            return match counted_before(text, from) {
                None => opened(Item { from, ..item }, open, context),
                Some(counted) => away(item, counted, open),
            };
        }
    }
    item
}

/// "Three days before Nov 3": where that begins and how many days; none when it is not counted in days or weeks.
fn counted_before(text: &Folded, from: usize) -> Option<(usize, Option<i64>)> {
    const UNITS: [(&str, Option<i64>); 8] = [
        ("days", Some(1)),
        ("day", Some(1)),
        ("weeks", Some(7)),
        ("week", Some(7)),
        ("months", None),
        ("month", None),
        ("years", None),
        ("year", None),
    ];
    let (start, days) = UNITS.iter().find_map(|(w, days)| text.word_before(from, w).map(|start| (start, *days)))?;
    let back = text.skip_spaces_back(start);
    let mut begin = back;
    while text.before(begin).is_some_and(|c| c.is_ascii_alphanumeric()) {
        begin -= 1;
    }
    let n = text
        .any_at(begin, &["a ", "one "])
        .map(|_| 1)
        .or_else(|| numbers::count_at(text, begin).filter(|(_, end)| *end == back).map(|(n, _)| i64::from(n)));
    Some((begin, n.and_then(|n| n.checked_mul(days?))))
}

fn away(mut item: Item, (from, days): (usize, Option<i64>), open: Open) -> Item {
    let sign = match open {
        Open::Before => -1,
        Open::After => 1,
        _ => return Item { exprs: Vec::new(), ..item },
    };
    match days {
        Some(days) => item.exprs.iter_mut().for_each(|e| e.beside += sign * days),
        // The week before Christmas: nobody agrees which days that is.
        None => item.exprs.clear(),
    }
    Item { from, ..item }
}

fn opened(item: Item, open: Open, context: &Context) -> Item {
    let today = context.today;
    let since = |day: NaiveDate| if day > today { Reading::Since(day) } else { Reading::Range(day, today) };
    let one = |reading: Reading| match open {
        Open::Since | Open::SincePast => reading.start().map(since),
        Open::After => reading.end().and_then(|d| d.succ_opt()).map(since),
        Open::Until => reading.end().map(Reading::Until),
        Open::Before => reading.start().and_then(|d| d.pred_opt()).map(Reading::Until),
    };
    let exprs = item.exprs.iter().map(|expr| {
        let part = match expr.readings(context) {
            Ok(mut readings) => {
                if open == Open::SincePast && readings.iter().any(|r| r.start() <= Some(today)) {
                    readings.retain(|r| r.start() <= Some(today));
                }
                Part::Given(readings.into_iter().filter_map(one).collect())
            }
            Err(why) => Part::Refused(why),
        };
        Expr::from(part)
    });
    Item { exprs: exprs.collect(), ..item }
}
