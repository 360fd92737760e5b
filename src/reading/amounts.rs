//! Amounts of money: 1,800円, ３万５千円, ¥600, 2k, "six hundred yen", 3〜5万円, and what stands beside them about the tax.

use std::ops::Range;

use super::fold::Folded;
use super::numbers::{self, Number};
use super::{Amount, Meaning, Refusal, Taken, Tax, units};
use crate::domain::Yen;

/// An amount with its place in the folded text.
struct Price {
    from: usize,
    to: usize,
    meaning: Meaning<Yen>,
}

const SIGNS: [&str; 5] = ["-", "マイナス", "▲", "△", "minus "];
/// Between two ends of a range.
const ENDS: [&str; 5] = ["~", "-", "から", "to ", "and "];
/// After a number without a currency, what says that the kanji number is one: particles and ends.
const AFTER_KANJI: [&str; 13] = ["で", "に", "の", "を", "は", "が", "と", "も", "か", "だ", "、", "。", "まで"];
/// What makes an amount vague or another quantity.
const VAGUE_BEFORE: &str = "数何幾";

/// The amounts of a folded text with their places in it, given those of its dates.
pub(super) fn amounts(text: &Folded, dates: &[Range<usize>]) -> Vec<(Range<usize>, Amount)> {
    let mut prices: Vec<Price> = Vec::new();
    let mut dates = Taken::new(dates);
    let (mut i, mut ended) = (0, usize::MAX - 1);
    while let Some(c) = text.at(i) {
        let date = dates.after(i);
        if let Some(date) = date.filter(|d| d.contains(&i)) {
            i = date.end;
            ended = i;
            continue;
        }
        // 11/24,600円: the comma ends the date.
        let fresh = text.before(i) == Some(',') && i == ended + 1;
        let inner = c.is_ascii_alphabetic() && text.before(i).is_some_and(|c| c.is_ascii_alphabetic());
        let begins = !inner && may_begin(c);
        let found = if begins { pair(text, i).or_else(|| price(text, i, fresh).map(|p| vec![p])) } else { None };
        // "yen 二月" is no amount.
        let free = |p: &Price| date.is_none_or(|d| p.to <= d.start);
        match found.filter(|prices| prices.iter().all(free)) {
            Some(found) => {
                i = found.last().map_or(i + 1, |p| p.to);
                prices.extend(found);
            }
            None => i += 1,
        }
    }
    let taxes = taxes(text, &prices);
    prices.into_iter().zip(taxes).map(|(price, tax)| amount(text, price, tax)).collect()
}

fn amount(text: &Folded, price: Price, tax: Option<Tax>) -> (Range<usize>, Amount) {
    let (start_char, end_char) = text.span(price.from, price.to);
    let words = text.words(price.from, price.to);
    (price.from..price.to, Amount { words, start_char, end_char, meaning: price.meaning, tax })
}

fn may_begin(c: char) -> bool {
    c.is_ascii_alphanumeric() || numbers::is_kanji_numeral(c) || matches!(c, '-' | '\\' | '¥' | 'マ' | '▲' | '△')
}

/// The number at `i`, with a scale behind: figures, kanji, or English words.
fn number_at(text: &Folded, i: usize, currency: bool) -> Option<Number> {
    if !currency && numbers::joins_left(text, i) {
        return None;
    }
    if let Some(half) = text.any_at(i, &["half a million"]) {
        let words = numbers::words_at(text, i + 5)?;
        return Some(Number { micro: words.micro / 2, end: half.1, ..words });
    }
    let Some(number) = numbers::at(text, i) else { return numbers::words_at(text, i) };
    let number = numbers::with_scale(text, number);
    // ¥1.5M; without a currency 10 m is a length.
    let million = text.at(number.end) == Some('m')
        && !number.scaled
        && !text.at(number.end + 1).is_some_and(|c| c.is_ascii_alphanumeric())
        && (currency || units::yen_after(text, text.skip_spaces(number.end + 1)).is_some());
    if million {
        let micro = number.micro.checked_mul(1_000_000)?;
        return Some(Number { micro, end: number.end + 1, scaled: true, ..number });
    }
    // 3万 5千円.
    let next = text.skip_spaces(number.end);
    let rest = (next > number.end && text.before(number.end) == Some('万')).then(|| numbers::at(text, next)).flatten();
    match rest.filter(|r| {
        r.micro < 10_000_000_000 && units::yen_after(text, r.end).is_some() && text.before(r.end) == Some('千')
    }) {
        Some(rest) => Some(Number { micro: number.micro.checked_add(rest.micro)?, end: rest.end, ..number }),
        None => Some(number),
    }
}

/// One amount.
fn price(text: &Folded, i: usize, fresh: bool) -> Option<Price> {
    let (sign, at) = match text.any_at(i, &SIGNS) {
        Some((sign, at)) if is_sign(text, i, sign) => (true, at),
        _ => (false, i),
    };
    let before = units::yen_before(text, at).map(|end| text.skip_spaces(end));
    if at > 0
        && before.is_some()
        && text.before(at).is_some_and(|c| c.is_ascii_alphanumeric())
        && text.at(at) != Some('¥')
    {
        return None;
    }
    let start = before.unwrap_or(at);
    let (inner_sign, start) = match text.at(start) {
        Some('-') if before.is_some() => (true, start + 1),
        _ => (false, start),
    };
    let vague = text.before(start).is_some_and(|c| VAGUE_BEFORE.contains(c)) || numbers::vague_pair(text, start, "");
    if vague || units::other_currency_before(text, start) {
        return None;
    }
    let number = number_at(text, start, before.is_some() || fresh)?;
    let after = units::yen_after(text, number.end).or_else(|| units::yen_after(text, text.skip_spaces(number.end)));
    // 3万円台: somewhere from there on.
    if after.is_some_and(|end| text.word_at(end, "台").is_some()) {
        return None;
    }
    let to = after.unwrap_or(number.end);
    if before.is_none() && after.is_none() && !says_money(text, start, number) {
        return None;
    }
    // 090-1234; 30k-50k has a scale.
    let goes_on = text.at(number.end) == Some('-') && text.at(number.end + 1).is_some_and(|c| c.is_ascii_digit());
    // 000 in "10 000 yen", which is not grouped as numbers are here.
    let zeros = text.at(start) == Some('0') && text.at(start + 1).is_some_and(|c| c.is_ascii_digit());
    if zeros || (goes_on && before.is_none() && after.is_none() && !number.scaled) {
        return None;
    }
    let negative = sign || inner_sign;
    let meaning = if negative {
        Meaning::Refused(Refusal::Negative)
    } else {
        value(number, before.is_some() || after.is_some())?
    };
    Some(Price { from: i, to, meaning })
}

/// A dash before a number is a sign where nothing before it could be joined to the number.
fn is_sign(text: &Folded, i: usize, sign: &str) -> bool {
    if sign != "-" {
        return true;
    }
    text.before(i).is_none_or(|c| !c.is_ascii_alphanumeric() && !numbers::is_kanji_numeral(c) && !"円-)".contains(c))
}

fn value(number: Number, currency: bool) -> Option<Meaning<Yen>> {
    if number.misgrouped || (number.dotted && !number.scaled) {
        return Some(Meaning::Refused(Refusal::Grouping));
    }
    let Some(whole) = number.whole() else {
        return number_fits(number).then_some(Meaning::Refused(Refusal::NotWhole));
    };
    let yen = Yen(i64::try_from(whole).ok()?);
    let spoken = number.spoken.filter(|_| !currency).and_then(|micro| i64::try_from(micro / 1_000_000).ok());
    Some(spoken.map_or(Meaning::Clear(yen), |spoken| Meaning::Ambiguous(vec![Yen(spoken), yen])))
}

fn number_fits(number: Number) -> bool {
    i64::try_from(number.micro / 1_000_000).is_ok()
}

/// 1.5万, 3 thousand: a scale says money, unless something is counted.
fn says_money(text: &Folded, from: usize, number: Number) -> bool {
    let end = number.end;
    let next = text.skip_spaces(end);
    if !number.scaled || number.misgrouped || number.whole().is_none() {
        return false;
    }
    let counted = units::unit_at(text, end).is_some()
        || units::is_other(text, end)
        || (text.at(next).is_some_and(|c| c.is_ascii_alphabetic())
            && (units::unit_at(text, next).is_some() || units::plural_at(text, next).is_some()));
    let goes_on = text.at(end).is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, 'ァ'..='ヺ'));
    // A lone 千 or 万 begins names and words; a number in kanji needs a particle behind.
    let kanji = !number.figures && text.at(from).is_some_and(|c| !c.is_ascii());
    let closed = text.at(next).is_none_or(|c| c.is_ascii()) || text.any_at(end, &AFTER_KANJI).is_some();
    let known = !kanji || (end - from > 1 && closed);
    !counted && !goes_on && known
}

/// 3〜5万円, 1000-2000 yen, ¥1,000-2,000: two amounts, of which one leaves out the currency or the scale.
fn pair(text: &Folded, i: usize) -> Option<Vec<Price>> {
    let before = units::yen_before(text, i).map(|end| text.skip_spaces(end));
    let start = before.unwrap_or(i);
    if !text.at(start)?.is_ascii_digit()
        || numbers::joins_left(text, start)
        || text.before(i).is_some_and(|c| "-/#.".contains(c))
    {
        return None;
    }
    let first = numbers::with_scale(text, numbers::at(text, start)?);
    if first.misgrouped || first.whole().is_none() || (before.is_none() && first.scaled) {
        return None;
    }
    let (word, at) = text.any_at(text.skip_spaces(first.end), &ENDS)?;
    if word == "and " && text.word_before(i, "between").is_none() {
        return None;
    }
    let at = text.skip_spaces(at);
    if !text.at(at)?.is_ascii_digit() {
        return None;
    }
    let last = number_at(text, at, before.is_some())?;
    let after = units::yen_after(text, text.skip_spaces(last.end));
    let money = before.is_some()
        && !units::is_other(text, last.end)
        && units::unit_at(text, text.skip_spaces(last.end)).is_none();
    if after.is_none() && !(money || (last.scaled && says_money(text, at, last))) {
        return None;
    }
    let (low, high) = (first.whole()?, last.whole()?);
    if last.misgrouped || (text.at(last.end) == Some('-') && text.at(last.end + 1).is_some_and(|c| c.is_ascii_digit()))
    {
        return None;
    }
    // The scale of the second holds for the first, if that leaves it the smaller.
    let scale = last.scale.and_then(|s| u64::try_from(s).ok());
    let shared = scale.map(|s| low.saturating_mul(s)).filter(|shared| *shared < high && !first.scaled);
    let low = Yen(i64::try_from(shared.unwrap_or(low)).ok()?);
    let high = Yen(i64::try_from(high).ok()?);
    Some(vec![
        Price { from: i, to: first.end, meaning: Meaning::Clear(low) },
        Price { from: at, to: after.unwrap_or(last.end), meaning: Meaning::Clear(high) },
    ])
}

// --- tax

const TAX: [(&str, Tax); 39] = [
    ("税込み", Tax::Included),
    ("税込", Tax::Included),
    ("税こみ", Tax::Included),
    ("込み込み", Tax::Included),
    ("内税", Tax::Included),
    ("税抜き", Tax::Excluded),
    ("税抜", Tax::Excluded),
    ("税ぬき", Tax::Excluded),
    ("税別", Tax::Excluded),
    ("外税", Tax::Excluded),
    ("+税", Tax::Excluded),
    ("+ 税", Tax::Excluded),
    ("プラス税", Tax::Excluded),
    ("tax included", Tax::Included),
    ("tax-included", Tax::Included),
    ("tax incl.", Tax::Included),
    ("tax incl", Tax::Included),
    ("tax inclusive", Tax::Included),
    ("including tax", Tax::Included),
    ("incl. tax", Tax::Included),
    ("incl tax", Tax::Included),
    ("inc. tax", Tax::Included),
    ("inc tax", Tax::Included),
    ("with tax", Tax::Included),
    ("after tax", Tax::Included),
    ("tax excluded", Tax::Excluded),
    ("tax-excluded", Tax::Excluded),
    ("tax excl.", Tax::Excluded),
    ("tax excl", Tax::Excluded),
    ("excluding tax", Tax::Excluded),
    ("excl. tax", Tax::Excluded),
    ("excl tax", Tax::Excluded),
    ("ex. tax", Tax::Excluded),
    ("ex tax", Tax::Excluded),
    ("without tax", Tax::Excluded),
    ("before tax", Tax::Excluded),
    ("plus tax", Tax::Excluded),
    ("+ tax", Tax::Excluded),
    ("+tax", Tax::Excluded),
];
/// What may stand between the tax and its amount.
const BETWEEN: [&str; 14] =
    ["で", "の", "は", "価格", "単価", "合計", "金額", "総額", "計", "合わせて", ":", "=", " ", "is"];

/// What is said about the tax beside each amount.
fn taxes(text: &Folded, prices: &[Price]) -> Vec<Option<Tax>> {
    let mut taxes: Vec<Option<Tax>> = Vec::with_capacity(prices.len());
    let mut claimed = 0;
    if !text.chars().iter().any(|c| matches!(c, '税' | 'x')) {
        return prices.iter().map(|_| None).collect();
    }
    for (n, price) in prices.iter().enumerate() {
        let from = n.checked_sub(1).and_then(|p| prices.get(p)).map_or(0, |p| p.to).max(claimed);
        let next = prices.get(n + 1).map(|p| p.from);
        let found = tax_before(text, from, price.from).or_else(|| {
            let (tax, end) = tax_after(text, price.to)?;
            // 1,800円、税込1,980円 says it of the second.
            let own = next.is_none_or(|next| !leads_to(text, end, next) || text.skip_spaces(price.to) == price.to);
            claimed = end;
            own.then_some(tax)
        });
        taxes.push(found);
    }
    taxes
}

fn tax_before(text: &Folded, from: usize, to: usize) -> Option<Tax> {
    let begin = from.max(to.saturating_sub(20));
    (begin..to).find_map(|i| {
        let (tax, end) = text.lookup(i, &TAX)?;
        leads_to(text, end, to).then_some(tax)
    })
}

/// Nothing but small words stands between two positions.
fn leads_to(text: &Folded, mut at: usize, to: usize) -> bool {
    while at < to {
        match text.any_at(at, &BETWEEN) {
            Some((_, end)) => at = end,
            None => return false,
        }
    }
    at == to
}

fn tax_after(text: &Folded, end: usize) -> Option<(Tax, usize)> {
    let mut at = text.skip_spaces(end);
    for word in ["each", "apiece", ",", "、", "(", "[", "の"] {
        at = text.word_at(at, word).map_or(at, |end| text.skip_spaces(end));
    }
    text.lookup(at, &TAX)
}
