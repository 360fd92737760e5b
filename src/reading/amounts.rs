//! Amounts of money: 1,800円, ３万５千円, ¥600, 2k, "six hundred yen", 3〜5万円.

use std::ops::Range;

use super::fold::Folded;
use super::numbers::{self, Number};
use super::{Amount, Meaning, Refusal, Taken, Tax, groups, nouns, number_words, taxes, units};
use crate::domain::Yen;

/// An amount with its place in the folded text.
pub(super) struct Price {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) meaning: Meaning<Yen>,
}

const SIGNS: [&str; 5] = ["-", "マイナス", "▲", "△", "minus "];
/// Between two ends of a range.
const ENDS: [&str; 7] = ["~", "-", "から", "と", "to ", "or ", "and "];
/// Before a number they name a thing, and the number is no end of a range.
const LABELS: [&str; 12] = ["no.", "no", "id", "room", "item", "qty", "number", "page", "ref", "order", "code", "x"];
/// Suffixes of millions and billions, which need a currency; the bool: also after a space.
const SHORT_SCALES: [(&str, u128, bool); 5] = [
    ("mil", 1_000_000, true),
    ("mn", 1_000_000, true),
    ("bn", 1_000_000_000, true),
    ("m", 1_000_000, false),
    ("b", 1_000_000_000, false),
];
/// Kanji that may follow 5万 or 2k without a currency; any other makes it a number of something.
const AFTER_SCALE: [&str; 26] = [
    "以", "未満", "程", "弱", "強", "前後", "達成", "超", "増", "減", "売", "突破", "余", "越", "到達", "目標", "入金",
    "支払", "税", "振込", "現金", "引", "近", "台", "単位", "値",
];
/// After a number without a currency, what says that the kanji number is one: particles and ends.
const AFTER_KANJI: [&str; 13] = ["で", "に", "の", "を", "は", "が", "と", "も", "か", "だ", "、", "。", "まで"];
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
        let found = if begins { amounts_at(text, i, fresh) } else { None };
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
    let taxes = taxes::taxes(text, &prices);
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

fn amounts_at(text: &Folded, i: usize, fresh: bool) -> Option<Vec<Price>> {
    pair(text, i).or_else(|| groups::grouped(text, i).or_else(|| price(text, i, fresh)).map(|price| vec![price]))
}

/// The number at `i`, with a scale behind: figures, kanji, or English words.
fn number_at(text: &Folded, i: usize, currency: bool) -> Option<Number> {
    if !currency && numbers::joins_left(text, i) {
        return None;
    }
    let Some(number) = numbers::at(text, i) else { return number_words::words_at(text, i) };
    let number = number_words::with_scale(text, number);
    if let Some(short) = short_scale(text, number, currency) {
        return Some(short);
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

/// ¥1.5M, ¥3 bn; without a currency 10 m is a length.
fn short_scale(text: &Folded, number: Number, currency: bool) -> Option<Number> {
    let spaced = text.skip_spaces(number.end);
    let (by, end) = SHORT_SCALES.iter().filter(|_| !number.scaled).find_map(|(word, by, apart)| {
        let end = text.word_at(if *apart { spaced } else { number.end }, word)?;
        Some((*by, end)).filter(|_| !text.at(end).is_some_and(|c| c.is_ascii_digit()))
    })?;
    let money = currency || units::yen_after(text, text.skip_spaces(end)).is_some();
    let micro = number.micro.checked_mul(by)?;
    money.then_some(Number { micro, end, scaled: true, ..number })
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
    let vague = numbers::is_vague(text, start) || numbers::vague_pair(text, start, "");
    if vague || units::other_currency_before(text, start) {
        return None;
    }
    let number = number_at(text, start, before.is_some() || fresh)?;
    let after = units::yen_after(text, number.end).or_else(|| units::yen_after(text, text.skip_spaces(number.end)));
    if numbers::vague_before(text, number.end)
        || (before.is_none() && after.is_some_and(|end| priced_behind(text, number, end)))
    {
        return None;
    }
    // ¥1e6
    if text.at(number.end) == Some('e') && text.at(number.end + 1).is_some_and(|c| c.is_ascii_digit()) {
        return None;
    }
    // 3万円台: somewhere from there on.
    if after.is_some_and(|end| text.word_at(end, "台").is_some()) {
        return None;
    }
    let to = after.unwrap_or(number.end);
    if before.is_none() && after.is_none() && !says_money(text, start, number) && !plainly_priced(text, start, number) {
        return None;
    }
    // 090-1234; 30k-50k has a scale.
    let goes_on = text.at(number.end) == Some('-') && text.at(number.end + 1).is_some_and(|c| c.is_ascii_digit());
    // 000 in "10 000 yen", which is not grouped as numbers are here.
    let zeros = text.at(start) == Some('0') && text.at(start + 1).is_some_and(|c| c.is_ascii_digit());
    if zeros || is_heading(text, start, to) || (goes_on && before.is_none() && after.is_none() && !number.scaled) {
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

/// In 4 JPY 600 the currency belongs to the second number.
fn priced_behind(text: &Folded, number: Number, end: usize) -> bool {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let at = text.skip_spaces(end);
    let latin = text.before(end).is_some_and(|c| c.is_ascii_alphabetic());
    let code = text.at(at) == Some('0');
    let Some(second) =
        numbers::at(text, at).filter(|n| latin && !code && n.micro > number.micro && n.whole().is_some())
    else {
        return false;
    };
    let next = text.skip_spaces(second.end);
    let word: String = text.chars().iter().skip(next).take(3).collect();
    let counted = units::unit_at(text, next).is_some()
        || units::is_other(text, second.end)
        || units::yen_after(text, next).is_some()
        || nouns::plural_at(text, nouns::skip_adjectives(text, next)).is_some();
    !counted && !MONTHS.contains(&word.as_str()) && !text.at(second.end).is_some_and(|c| "-/.:".contains(c))
}

/// (千円), 単位：千円: what the figures of a table are counted in.
fn is_heading(text: &Folded, from: usize, to: usize) -> bool {
    let bracketed = text.before(from) == Some('(') && text.at(to) == Some(')');
    let named = ["単位:", "単位は", "単位"].iter().any(|word| text.word_before(from, word).is_some());
    ["千円", "百万円", "十億円"].iter().any(|word| text.word_at(from, word) == Some(to)) && (bracketed || named)
}

/// 1800(税込), 1800+税, 税込1800, @180: no currency, and no doubt.
fn plainly_priced(text: &Folded, from: usize, number: Number) -> bool {
    let end = number.end;
    let next = text.skip_spaces(end);
    let joined =
        text.at(end).is_some_and(|c| c.is_alphanumeric() && !"税込抜外内で".contains(c) || "-/.:%~".contains(c));
    if number.whole().is_none() || joined || units::unit_at(text, next).is_some() || units::is_other(text, next) {
        return false;
    }
    let at_sign = text.before(from) == Some('@')
        && !from.checked_sub(1).and_then(|at| text.before(at)).is_some_and(|c| c.is_ascii_alphanumeric());
    at_sign || taxes::behind(text, end).is_some() || taxes::before(text, 0, from).is_some()
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
    // 4K 3台
    let pictured = text.before(end) == Some('k')
        && numbers::at(text, next).is_some_and(|n| units::unit_at(text, n.end).is_some_and(|(unit, _)| unit == "台"));
    let counted = pictured
        || units::unit_at(text, end).is_some()
        || units::is_other(text, end)
        || (text.at(next).is_some_and(|c| c.is_ascii_alphabetic())
            && (units::unit_at(text, next).is_some()
                || nouns::plural_at(text, nouns::skip_adjectives(text, next)).is_some()));
    let kanji_behind = |c: char| matches!(c, '\u{4e00}'..='\u{9fff}') && text.any_at(end, &AFTER_SCALE).is_none();
    let goes_on =
        text.at(end).is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, 'ァ'..='ヺ') || kanji_behind(c));
    let thanks = text.word_before(from, "thanks").is_some() || text.word_at(next, "thanks").is_some();
    // A lone 千 or 万 begins names and words; a number in kanji needs a particle behind.
    let kanji = !number.figures && text.at(from).is_some_and(|c| !c.is_ascii());
    let closed = text.at(next).is_none_or(|c| c.is_ascii()) || text.any_at(end, &AFTER_KANJI).is_some();
    let known = !kanji || (end - from > 1 && closed && text.word_at(from, "四万十").is_none());
    !counted && !goes_on && known && !thanks
}

/// 3〜5万円, 1000-2000 yen, ¥1,000-2,000: two amounts, of which one leaves out the currency or the scale.
fn pair(text: &Folded, i: usize) -> Option<Vec<Price>> {
    let before = units::yen_before(text, i).map(|end| text.skip_spaces(end));
    let start = before.unwrap_or(i);
    if !begins_end(text, start) || numbers::joins_left(text, start) || is_named(text, i) {
        return None;
    }
    let first = number_words::with_scale(text, numbers::at(text, start)?);
    if first.misgrouped || first.cut || (before.is_none() && first.scaled && first.figures) {
        return None;
    }
    let (word, at) = text.any_at(text.skip_spaces(first.end), &ENDS)?;
    let between = text.word_before(i, "between").is_some();
    if word == "and " && !between {
        return None;
    }
    let at = text.skip_spaces(at);
    let last = Some(at).filter(|at| begins_end(text, *at)).and_then(|at| number_at(text, at, before.is_some()))?;
    let after = units::yen_after(text, text.skip_spaces(last.end));
    let next = text.skip_spaces(last.end);
    let money = before.is_some()
        && !units::is_other(text, last.end)
        && units::unit_at(text, next).is_none()
        && nouns::plural_at(text, nouns::skip_adjectives(text, next)).is_none();
    if after.is_none() && !(money || (last.scaled && says_money(text, at, last))) {
        return None;
    }
    if last.misgrouped || (text.at(last.end) == Some('-') && text.at(last.end + 1).is_some_and(|c| c.is_ascii_digit()))
    {
        return None;
    }
    // The scale of the second holds for the first, if that leaves it the smaller.
    let shared = last.scale.and_then(|by| first.micro.checked_mul(by)).filter(|low| *low < last.micro && !first.scaled);
    let (low, high) = (Number { micro: shared.unwrap_or(first.micro), ..first }.whole()?, last.whole()?);
    let near = low < high && high <= low.saturating_mul(20);
    let wide = low < high && (between || (matches!(word, "~" | "から") && (low >= 100 || first.micro == 0)));
    let falling = after.is_some() && word != "-" && high < low && low <= high.saturating_mul(20);
    if shared.is_none() && !near && !wide && !falling {
        return None;
    }
    let (low, high) = (Yen(i64::try_from(low).ok()?), Yen(i64::try_from(high).ok()?));
    Some(vec![
        Price { from: i, to: first.end, meaning: Meaning::Clear(low) },
        Price { from: at, to: after.unwrap_or(last.end), meaning: Meaning::Clear(high) },
    ])
}

/// A number may begin an end of a range at `i`: not 0002, a code.
fn begins_end(text: &Folded, i: usize) -> bool {
    let digit = |at: usize| text.at(at).is_some_and(|c| c.is_ascii_digit());
    let numeral = text.at(i).is_some_and(numbers::is_kanji_numeral);
    (digit(i) || numeral) && !(text.at(i) == Some('0') && digit(i + 1)) && !numbers::is_vague(text, i)
}

/// No. 4, Room 400, 2-4: the number at `i` is a name.
fn is_named(text: &Folded, i: usize) -> bool {
    text.before(i).is_some_and(|c| "-/#.".contains(c))
        || LABELS.iter().any(|word| text.word_before(i, word).is_some())
        || numbers::vague_pair(text, i, "")
}
