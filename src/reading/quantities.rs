//! Numbers of things: 15本, 8個, 3〜5箱, 3 boxes, a dozen, 4 pumpkins, ten, x4.

use std::ops::Range;

use super::fold::Folded;
use super::numbers::{self, Number};
use super::{Quantity, Taken, nouns, number_words, units};

/// A number of things with its place in the folded text.
struct Counted {
    from: usize,
    to: usize,
    number: f64,
    unit: String,
}

/// Between two ends of a range.
const ENDS: [&str; 5] = ["~", "-", "から", "to ", "or "];
/// What is sold by halves.
const HALVED: [&str; 12] = ["ダース", "玉", "個", "本", "丁", "斤", "束", "袋", "箱", "株", "切れ", "キロ"];
/// Containers, of which 25kg or 5 l is the size.
const CONTAINERS: [&str; 14] =
    ["bags", "bag", "cans", "can", "packs", "pack", "bottles", "bottle", "tins", "tin", "drums", "drum", "sets", "set"];
/// After 3x: a comparison.
const MORE: [&str; 7] = ["faster", "more", "as ", "the ", "bigger", "better", "larger"];
/// Before a number word alone: an hour, an order, a part.
const NOT_ALONE: [&str; 20] = [
    "past",
    "first",
    "last",
    "since",
    "by",
    "until",
    "till",
    "at",
    "in",
    "top",
    "next",
    "point",
    "day or",
    "days or",
    "hour or",
    "week or",
    "month or",
    "half past",
    "quarter to",
    "the",
];

/// The quantities of a text, given the places of its dates and amounts.
pub(super) fn quantities(text: &Folded, taken: &[Range<usize>]) -> Vec<Quantity> {
    let mut found = Vec::new();
    let mut taken = Taken::new(taken);
    let (mut i, mut ended) = (0, usize::MAX - 1);
    while let Some(c) = text.at(i) {
        let other = taken.after(i);
        if let Some(other) = other.filter(|t| t.contains(&i)) {
            i = other.end;
            ended = i;
            continue;
        }
        let counted = if may_begin(c) { counted_at(text, i, i == ended + 1) } else { None };
        match counted.filter(|all| all.iter().all(|q| other.is_none_or(|t| q.to <= t.start))) {
            Some(counted) => {
                i = counted.last().map_or(i + 1, |q| q.to);
                found.extend(counted.into_iter().map(|q| quantity(text, q)));
            }
            None => i += 1,
        }
    }
    found
}

fn quantity(text: &Folded, counted: Counted) -> Quantity {
    let (start_char, end_char) = text.span(counted.from, counted.to);
    let words = text.words(counted.from, counted.to);
    Quantity { words, start_char, end_char, number: counted.number, unit: counted.unit }
}

fn may_begin(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || numbers::is_kanji_numeral(c)
        || numbers::part(c).is_some()
        || matches!(c, '半' | 'ひ' | 'ふ' | '×' | '.')
}

/// One quantity, or the two ends of a range. `dated`: a date ends before the separator before `i`.
fn counted_at(text: &Folded, i: usize, dated: bool) -> Option<Vec<Counted>> {
    if let Some(counted) = by_words(text, i).or_else(|| times(text, i)) {
        return Some(vec![counted]);
    }
    // 2、3個 says "about".
    let part = !dated && (numbers::joins_left(text, i) || follows_code(text, i)) || follows_scale(text, i);
    if part || is_negative(text, i) || numbers::is_vague(text, i) || numbers::vague_pair(text, i, "") {
        return None;
    }
    range(text, i).or_else(|| one(text, i).map(|counted| vec![counted]))
}

/// "A dozen", 半ダース, ひと袋.
fn by_words(text: &Folded, i: usize) -> Option<Counted> {
    const DOZENS: [(&str, f64); 3] = [("half a dozen", 0.5), ("half dozen", 0.5), ("a dozen", 1.0)];
    if let Some((number, to)) = text.lookup(i, &DOZENS) {
        return Some(Counted { from: i, to, number, unit: "dozen".to_owned() });
    }
    let (number, at) = text.lookup(i, &[("半", 0.5), ("ひと", 1.0), ("ふた", 2.0)])?;
    let (unit, to) = units::unit_at(text, at)?;
    let half = text.at(i) == Some('半');
    let inside = text.before(i).is_some_and(|c| {
        if half {
            "前後上下大過折夜一".contains(c)
        } else {
            matches!(c, 'ぁ'..='ゖ') && !"をとにはがもで".contains(c)
        }
    });
    let fits = if half {
        HALVED.contains(&unit)
    } else {
        ["袋", "箱", "山", "束", "房", "玉", "切れ", "パック", "缶", "株", "皿", "鉢", "組"].contains(&unit)
    };
    (fits && !inside).then(|| Counted { from: i, to, number, unit: unit.to_owned() })
}

/// x4, × 15, "4 x pumpkin", "6 x 500ml".
fn times(text: &Folded, i: usize) -> Option<Counted> {
    let is_times = |at: usize| matches!(text.at(at), Some('x' | '×'));
    let digit = |c: char| c.is_ascii_digit();
    if is_times(i) {
        let at = text.skip_spaces(i + 1);
        let joined =
            text.before(i).is_some_and(|c| c.is_ascii_alphanumeric()) || (at > i + 1 && text.before(i) != Some(' '));
        let (n, 1..=4, end) = numbers::digits_at(text, at)? else { return None };
        let next = text.skip_spaces(end);
        let more = text.at(end).is_some_and(|c| c.is_ascii_alphanumeric() || "-/.,:×".contains(c));
        let other =
            units::unit_at(text, next).is_some() || units::currency_at(text, next) || units::is_other(text, end);
        // ThinkPad X100, an X86 server, X1 Carbon.
        let name = text.at(next).is_some_and(|c| c.is_ascii_alphabetic())
            && text.any_at(next, &["to ", "for ", "at "]).is_none();
        let code = text.at(at) == Some('0') || (at == i + 1 && (name || [11, 32, 64, 86].contains(&n)));
        return (!joined && !more && !other && !code && !after_counter(text, i)).then(|| Counted {
            from: i,
            to: end,
            number: f64::from(n),
            unit: String::new(),
        });
    }
    let (n, 1..=4, end) = numbers::digits_at(text, i)? else { return None };
    let sign = text.skip_spaces(end);
    let next = text.skip_spaces(sign + 1);
    if !is_times(sign) || numbers::joins_left(text, i) || follows_code(text, i) || text.at(i) == Some('0') {
        return None;
    }
    let word = next > sign + 1 && text.at(next).is_some_and(char::is_alphabetic) && text.any_at(next, &MORE).is_none();
    let measured = text.at(next).is_some_and(digit)
        && numbers::at(text, next)
            .and_then(|size| units::unit_at(text, text.skip_spaces(size.end)))
            .is_some_and(|(unit, _)| ["g", "kg", "mg", "l", "ml", "oz", "lb"].contains(&unit));
    (word || measured).then(|| Counted { from: i, to: sign + 1, number: f64::from(n), unit: String::new() })
}

/// A counter with its number ends right before `i`: in 2コx180 a price follows.
fn after_counter(text: &Folded, i: usize) -> bool {
    (1..=6).filter_map(|back| i.checked_sub(back)).any(|at| {
        let numbered =
            text.before(text.skip_spaces_back(at)).is_some_and(|c| c.is_ascii_digit() || numbers::is_kanji_numeral(c));
        numbered && units::unit_at(text, at).is_some_and(|(_, end)| end == i)
    })
}

/// The 5 of 3万5本, which is 35,000 or 30,005.
fn follows_scale(text: &Folded, i: usize) -> bool {
    text.before(i).is_some_and(|c| "千万億".contains(c))
        && text.before(i - 1).is_some_and(|c| c.is_ascii_digit() || numbers::is_kanji_numeral(c))
}

/// -2 boxes, マイナス1本.
fn is_negative(text: &Folded, i: usize) -> bool {
    match text.before(i) {
        Some('-') => text.before(i - 1).is_none_or(|c| matches!(c, ' ' | '(' | ':')),
        Some('▲' | '△') => true,
        _ => text.word_before(i, "マイナス").is_some() || text.word_before(i, "minus").is_some(),
    }
}

/// 3〜5本, "10 to 12 boxes": two quantities, of which the first leaves out the unit.
fn range(text: &Folded, i: usize) -> Option<Vec<Counted>> {
    let first = number_at(text, i).filter(|n| !n.scaled)?;
    let (_, at) = text.any_at(text.skip_spaces(first.end), &ENDS)?;
    let last = one(text, text.skip_spaces(at)).filter(|last| !last.unit.is_empty())?;
    let low = value(first).filter(|low| *low < last.number && *low > 0.0)?;
    let unit = last.unit.clone();
    Some(vec![Counted { from: i, to: first.end, number: low, unit }, last])
}

/// A number at `i` that is no code and has one value.
fn number_at(text: &Folded, i: usize) -> Option<Number> {
    // 0002 is a code.
    if text.at(i) == Some('0') && text.at(i + 1).is_some_and(|c| c.is_ascii_digit()) {
        return None;
    }
    let number = match numbers::at(text, i) {
        Some(number) => number_words::with_scale(text, number),
        None => number_words::words_at(text, i)?,
    };
    let open = number.misgrouped || number.spoken.is_some() || numbers::vague_before(text, number.end);
    (!open).then_some(number)
}

fn one(text: &Folded, i: usize) -> Option<Counted> {
    let number = number_at(text, i)?;
    let mut value = value(number)?;
    let mut next = text.skip_spaces(number.end);
    if let Some(end) = text.word_at(next, "and a half ") {
        value += 0.5;
        next = end;
    }
    let noun = if next > number.end { nouns::skip_adjectives(text, next) } else { next };
    if let Some((unit, to)) = units::unit_at(text, noun) {
        // One can order online.
        let verb = text.at(i).is_some_and(|c| c.is_ascii_alphabetic())
            && ["can", "set", "pack", "head", "roll"].contains(&unit)
            && nouns::plain_word(text, text.skip_spaces(to))
                .is_some_and(|word| !["of", "at", "for", "to", "each", "and"].contains(&word.as_str()));
        let size = verb || units::is_measure(unit) && text.any_at(text.skip_spaces(to), &CONTAINERS).is_some();
        let (half, to) = half_after(text, to);
        return (!size).then(|| Counted { from: i, to, number: value + half, unit: unit.to_owned() });
    }
    if next > number.end
        && let Some((unit, to)) = nouns::plural_at(text, noun)
    {
        let year = number.end == i + 4 && text.at(i).is_some_and(|c| c.is_ascii_digit()) && is_year(value, &unit);
        return (!year && !nouns::says_which(text, i)).then_some(Counted { from: i, to, number: value, unit });
    }
    // A number word alone; "one" and "a hundred" say too little.
    let alone = text.at(i).is_some_and(|c| c.is_ascii_alphabetic())
        && value > 1.0
        && !number.scaled
        && next == text.skip_spaces(number.end)
        && text.any_at(i, &["a ", "an "]).is_none()
        && stands_alone(text, i, number.end);
    alone.then(|| Counted { from: i, to: number.end, number: value, unit: String::new() })
}

/// 1個半, 一箱と半分, but not 1個半額.
fn half_after(text: &Folded, to: usize) -> (f64, usize) {
    if let Some(end) = text.word_at(to, "と半分") {
        return (0.5, end);
    }
    match text.word_at(to, "半") {
        Some(end)
            if text.any_at(end, &["額", "分", "端", "値", "年", "月", "期", "日", "減", "ば", "々"]).is_none() =>
        {
            (0.5, end)
        }
        _ => (0.0, to),
    }
}

/// 2026 calendars, 2025 sales.
fn is_year(value: f64, noun: &str) -> bool {
    let report = ["sales", "orders", "figures", "results", "totals"].contains(&noun);
    ((1900.0..2200.0).contains(&value) && report) || ((1950.0..2100.0).contains(&value) && (value - 2000.0).abs() > 0.5)
}

/// The number is the rest of a code, a room, a telephone number, a fraction, a time, a sum.
fn follows_code(text: &Folded, i: usize) -> bool {
    let digit_before = |at: usize| text.before(at).is_some_and(|c| c.is_ascii_alphanumeric());
    match text.before(i) {
        Some('-' | '/' | ':' | '+') => {
            text.at(i).is_some_and(|c| c.is_ascii_digit()) && i > 0 && digit_before(i - 1) && !after_unit(text, i - 1)
        }
        Some(c) => {
            let of = text
                .word_before(i, "of")
                .is_some_and(|at| text.before(text.skip_spaces_back(at)).is_some_and(|c| c.is_ascii_digit()));
            "第#".contains(c) || text.word_before(i, "no.").is_some() || of
        }
        None => false,
    }
}

/// A counter or word, not a figure, ends at `i`: "shelf/2 pcs".
fn after_unit(text: &Folded, i: usize) -> bool {
    text.before(i).is_some_and(|c| c.is_ascii_alphabetic())
}

fn stands_alone(text: &Folded, from: usize, end: usize) -> bool {
    const COUNTS_OTHERS: [&str; 19] = [
        "quarters", "quarter", "nights", "days", "day", "weeks", "week", "months", "month", "years", "year", "hours",
        "hour", "minutes", "times", "of ", "dollars", "euros", "percent",
    ];
    let next = text.skip_spaces(end);
    let joined = text.at(end).is_some_and(|c| c == '-' || c.is_ascii_alphanumeric()) || text.before(from) == Some('-');
    let ordered = NOT_ALONE.iter().any(|word| text.word_before(from, word).is_some());
    !joined
        && !ordered
        && !number_words::beside_number_word(text, from, end)
        && text.any_at(next, &COUNTS_OTHERS).is_none()
        && text.any_at(next, &["point "]).is_none()
        && nouns::plain_word(text, next).is_none_or(|word| !nouns::is_no_thing(&word))
        && !units::is_other(text, end)
}

/// The value as a double, which holds millionths exactly far beyond any harvest.
fn value(number: Number) -> Option<f64> {
    let whole = u32::try_from(number.micro / 1_000_000).ok()?;
    let rest = u32::try_from(number.micro % 1_000_000).ok()?;
    Some(f64::from(whole) + f64::from(rest) / 1_000_000.0)
}
