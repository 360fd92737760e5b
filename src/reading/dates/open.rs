//! Periods with one end: A以降, Aから, "since A", Aまで, "before A", 11/1〜; and "three days before A".

use chrono::NaiveDate;

use super::expr::{Expr, Part};
use super::{Item, linked};
use crate::reading::fold::Folded;
use crate::reading::{Context, Reading, numbers};

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

const SUFFIXES: [(&str, Open); 23] = [
    (" to date", Open::Since),
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
const PREFIXES: [(&str, Open); 24] = [
    ("on or after", Open::Since),
    ("on and after", Open::Since),
    ("no earlier than", Open::Since),
    ("not before", Open::Since),
    ("starting from", Open::Since),
    ("starting on", Open::Since),
    ("starting", Open::Since),
    ("effective", Open::Since),
    ("on or before", Open::Until),
    ("no later than", Open::Until),
    ("not later than", Open::Until),
    ("not after", Open::Until),
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

/// A period open at one end, or the item as it is.
pub(super) fn open(text: &Folded, item: Item, context: &Context) -> Item {
    let at = text.skip_spaces(item.to);
    let onwards = text.word_before(item.from, "from").zip(text.any_at(item.to, &ONWARDS));
    if let Some((from, (_, to))) = onwards {
        return opened(Item { from, to, ..item }, Open::Since, context);
    }
    let suffix = if item.length.is_some() {
        None
    } else {
        // 昨日の朝から夕方まで is one day.
        let same_day =
            |end: usize| linked::skip_time(text, end) > end || text.at(end).is_some_and(|c| c.is_ascii_digit());
        let timed = || text.lookup(linked::skip_time(text, item.to), &SUFFIXES).filter(|(_, end)| !same_day(*end));
        text.lookup(item.to, &SUFFIXES).or_else(|| text.lookup(at, &SUFFIXES)).or_else(timed)
    };
    if matches!(suffix, Some((Open::Until, _))) && linked::begins_unknown(text, item.from) {
        return Item { exprs: Vec::new(), ..item };
    }
    if let Some((open, to)) = suffix.filter(|_| text.any_at(at, &NOT_FROM).is_none()) {
        return opened(Item { to, ..item }, open, context);
    }
    if let Some(open) = tilde(text, &item) {
        let from = if open == Open::Until { text.skip_spaces_back(item.from) - 1 } else { item.from };
        let to = if open == Open::Since { at + 1 } else { item.to };
        return opened(Item { from, to, ..item }, open, context);
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

/// `11/1〜`, `〜11/10`: a side of a range that is left out. People also draw out a word with 〜.
fn tilde(text: &Folded, item: &Item) -> Option<Open> {
    let written =
        text.before(item.to).is_some_and(|c| c.is_ascii_digit() || "日月年度末".contains(c)) && item.length.is_none();
    let ends = |at: usize| text.at(at).is_none_or(|c| "の ,、。)\n".contains(c));
    let before = text.skip_spaces_back(item.from);
    if written && text.at(text.skip_spaces(item.to)) == Some('~') && ends(text.skip_spaces(item.to) + 1) {
        return Some(Open::Since);
    }
    let begins = text.before(before) == Some('~') && text.before(before - 1).is_none_or(|c| " (\n:".contains(c));
    (written && begins).then_some(Open::Until)
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
    // "The 10 days before Nov 24" are a period, "10 days before" is a day.
    let period = text.word_before(begin, "the").is_some();
    Some((begin, n.filter(|_| !period).and_then(|n| n.checked_mul(days?))))
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
