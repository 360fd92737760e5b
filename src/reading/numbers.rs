//! Numbers as people write them: 1,800, 3万5千, 1.5万, 二千, "two hundred and ten".

use super::fold::Folded;

/// A number and what it was made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    /// The value in millionths, so that 1.2345万 stays exact.
    pub(super) micro: u128,
    /// The position after it.
    pub(super) end: usize,
    /// Has 万, 千, thousand or the like: says an amount even without a currency.
    pub(super) scaled: bool,
    /// A figure stands in it, not only kanji or words.
    pub(super) figures: bool,
    /// The other value of 3万5, which people say for 35,000.
    pub(super) spoken: Option<u128>,
    /// The commas stand where no number has them.
    pub(super) misgrouped: bool,
    /// It has more decimals than are kept.
    pub(super) cut: bool,
    /// A dot stands before exactly three figures: 10.000 is ten thousand in other countries.
    pub(super) dotted: bool,
    /// The one scale it has, 10,000 for 5万; none for 1万5千.
    pub(super) scale: Option<u128>,
}

impl Number {
    /// The value when it is whole.
    pub(super) fn whole(self) -> Option<u64> {
        let whole = self.micro.is_multiple_of(ONE) && !self.cut;
        if whole { u64::try_from(self.micro / ONE).ok() } else { None }
    }

    fn plain(micro: u128, end: usize) -> Self {
        Self {
            micro,
            end,
            scaled: false,
            figures: true,
            spoken: None,
            misgrouped: false,
            cut: false,
            dotted: false,
            scale: None,
        }
    }
}

/// One, in millionths.
const ONE: u128 = 1_000_000;

const LARGE: [(char, u128); 3] = [('兆', 1_000_000_000_000), ('億', 100_000_000), ('万', 10_000)];
const SMALL: [(char, u128); 3] = [('千', 1000), ('百', 100), ('十', 10)];
const KANJI_DIGITS: &str = "〇一二三四五六七八九";

/// English numbers below a hundred that are one word.
pub(super) const WORDS: [(&str, u128); 28] = [
    ("seventeen", 17),
    ("thirteen", 13),
    ("fourteen", 14),
    ("eighteen", 18),
    ("nineteen", 19),
    ("fifteen", 15),
    ("sixteen", 16),
    ("seventy", 70),
    ("eleven", 11),
    ("twelve", 12),
    ("twenty", 20),
    ("thirty", 30),
    ("eighty", 80),
    ("ninety", 90),
    ("seven", 7),
    ("three", 3),
    ("eight", 8),
    ("forty", 40),
    ("fifty", 50),
    ("sixty", 60),
    ("four", 4),
    ("five", 5),
    ("nine", 9),
    ("zero", 0),
    ("ten", 10),
    ("one", 1),
    ("two", 2),
    ("six", 6),
];

const SCALES: [(&str, u128); 3] = [("hundred", 100), ("thousand", 1000), ("million", 1_000_000)];

/// The number that begins at `i`: digits with separators, kanji numerals, and their mixture.
pub(super) fn at(text: &Folded, i: usize) -> Option<Number> {
    let first = text.at(i)?;
    if !first.is_ascii_digit() && !is_kanji_numeral(first) {
        return None;
    }
    let mut number = Number { figures: false, ..Number::plain(0, i) };
    let mut least = u128::MAX;
    while let Some(section) = section(text, number.end) {
        // 3 万円 with a space.
        let spaced = text.skip_spaces(section.end);
        let unit_at = if text.word_at(spaced, "万円").is_some() { spaced } else { section.end };
        let large = text.at(unit_at).and_then(|c| LARGE.iter().find(|(u, _)| *u == c)).map(|(_, v)| *v);
        let unit = large.unwrap_or(1);
        // Each further section must have a smaller unit: 3万5千 is one number, 3万5万 is not.
        if unit >= least {
            break;
        }
        // 3万5 may be a short way of saying 3万5千.
        if large.is_none()
            && least < u128::MAX
            && text.at(number.end) == Some('0')
            && text.at(section.end) != Some('円')
        {
            // 3万0016: the code of a customer follows.
            break;
        }
        if large.is_none() && least < u128::MAX && section.end == number.end + 1 && !section.scaled {
            number.spoken = number.micro.checked_add(section.micro.checked_mul(least / 10)?);
        }
        number.micro = number.micro.checked_add(section.micro.checked_mul(unit)?)?;
        number.scaled |= section.scaled || large.is_some();
        number.figures |= section.figures;
        number.misgrouped |= section.misgrouped;
        number.cut |= section.cut;
        number.dotted |= section.dotted;
        least = unit;
        number.end = if large.is_some() { unit_at + 1 } else { section.end };
        if large.is_none() {
            break;
        }
    }
    let units = text.chars().get(i..number.end).unwrap_or_default().iter().filter_map(|c| unit(*c));
    let mut units = units.fuse();
    if let (Some(only), None) = (units.next(), units.next()) {
        number.scale = text.before(number.end).and_then(unit).filter(|last| *last == only);
    }
    (number.end > i).then_some(number)
}

/// The value of 万, 千 and their like.
fn unit(c: char) -> Option<u128> {
    LARGE.iter().chain(&SMALL).find(|(unit, _)| *unit == c).map(|(_, value)| *value)
}

/// The part before 万 or 億.
fn section(text: &Folded, i: usize) -> Option<Number> {
    let mut sum = Number { figures: false, ..Number::plain(0, i) };
    let mut least = u128::MAX;
    loop {
        let digits = digits(text, sum.end).or_else(|| kanji_digits(text, sum.end));
        let (micro, end) = digits.map_or((ONE, sum.end), |d| (d.micro, d.end));
        let small = text.at(end).and_then(|c| SMALL.iter().find(|(u, _)| *u == c)).map(|(_, v)| *v);
        match (digits, small) {
            (_, Some(unit)) if unit < least => {
                sum.micro = sum.micro.checked_add(micro.checked_mul(unit)?)?;
                sum.scaled |= unit == 1000;
                sum.figures |= digits.is_some_and(|d| d.figures);
                sum.misgrouped |= digits.is_some_and(|d| d.misgrouped);
                sum.cut |= digits.is_some_and(|d| d.cut);
                least = unit;
                sum.end = end + 1;
            }
            (Some(last), None) if least > 1 => {
                sum.micro = sum.micro.checked_add(micro)?;
                sum.figures |= last.figures;
                sum.misgrouped |= last.misgrouped;
                sum.cut |= last.cut;
                sum.dotted |= last.dotted;
                sum.end = end;
                return Some(sum);
            }
            _ => return (sum.end > i).then_some(sum),
        }
    }
}

fn digits(text: &Folded, i: usize) -> Option<Number> {
    let digit = |at: usize| text.at(at).and_then(|c| c.to_digit(10));
    let mut at = i;
    let mut whole: u128 = 0;
    let mut in_group: Option<u32> = None;
    let mut misgrouped = false;
    loop {
        if let Some(d) = digit(at) {
            whole = whole.checked_mul(10)?.checked_add(u128::from(d))?;
            in_group = in_group.map(|n| n + 1);
        } else if text.at(at) == Some(',') && at > i && digit(at + 1).is_some() {
            misgrouped |= in_group.map_or(at - i > 3, |n| n != 3);
            in_group = Some(0);
        } else {
            break;
        }
        at += 1;
    }
    if at == i {
        return None;
    }
    misgrouped |= in_group.is_some_and(|n| n != 3);
    let mut micro = whole.checked_mul(ONE)?;
    let mut cut = false;
    let whole_end = at;
    if text.at(at) == Some('.') && digit(at + 1).is_some() {
        let mut place = ONE / 10;
        at += 1;
        while let Some(d) = digit(at) {
            micro = micro.checked_add(u128::from(d) * place)?;
            cut |= place == 0 && d > 0;
            place /= 10;
            at += 1;
        }
    }
    // 2½ is folded into 21⁄2.
    let dotted = at == whole_end + 4;
    (text.at(at) != Some('\u{2044}')).then(|| Number { misgrouped, cut, dotted, ..Number::plain(micro, at) })
}

fn kanji_digits(text: &Folded, i: usize) -> Option<Number> {
    let mut at = i;
    let mut value: u128 = 0;
    while let Some(d) = text.at(at).and_then(kanji_digit) {
        value = value.checked_mul(10)?.checked_add(d)?;
        at += 1;
    }
    (at > i).then_some(Number { figures: false, ..Number::plain(value.checked_mul(ONE)?, at) })
}

fn kanji_digit(c: char) -> Option<u128> {
    KANJI_DIGITS.chars().position(|k| k == c).and_then(|d| u128::try_from(d).ok())
}

/// A kanji that numbers are made of.
pub(super) fn is_kanji_numeral(c: char) -> bool {
    KANJI_DIGITS.contains(c) || SMALL.iter().chain(&LARGE).any(|(unit, _)| *unit == c)
}

/// A small whole number at `i` in figures or kanji, as dates have: no separators, at most four figures.
pub(super) fn small_at(text: &Folded, i: usize) -> Option<(u32, usize)> {
    if text.at(i)?.is_ascii_digit() {
        let (value, len, end) = digits_at(text, i)?;
        return (len <= 4).then_some((value, end));
    }
    let number = at(text, i)?;
    if number.figures {
        return None;
    }
    Some((u32::try_from(number.whole()?).ok().filter(|n| *n <= 9999)?, number.end))
}

/// A whole number below a thousand at `i` in figures or as English words: 10, ten, "twenty-five".
pub(super) fn count_at(text: &Folded, i: usize) -> Option<(u32, usize)> {
    if let Some((value, len, end)) = digits_at(text, i) {
        return (len <= 3).then_some((value, end));
    }
    let (value, end) = below_hundred(text, i)?;
    Some((u32::try_from(value).ok()?, end))
}

/// English words for a number below a hundred.
fn below_hundred(text: &Folded, i: usize) -> Option<(u128, usize)> {
    let (tens, end) = text.lookup(i, &WORDS)?;
    if tens < 20 {
        return Some((tens, end));
    }
    let joined = if text.at(end) == Some('-') { end + 1 } else { text.skip_spaces(end) };
    match text.lookup(joined, &WORDS) {
        Some((ones, after)) if joined > end && (1..10).contains(&ones) => Some((tens + ones, after)),
        _ => Some((tens, end)),
    }
}

/// An English number that begins with a word: "six hundred", "a thousand", "two hundred and ten thousand".
pub(super) fn words_at(text: &Folded, i: usize) -> Option<Number> {
    let scale_after = |at: usize| text.lookup(text.skip_spaces(at), &SCALES);
    let article = text.any_at(i, &["a ", "an "]).filter(|(_, end)| scale_after(*end).is_some());
    let mut group;
    let mut number = Number { figures: false, ..Number::plain(0, i) };
    match article {
        Some((_, end)) => (group, number.end) = (1, end),
        None => (group, number.end) = below_hundred(text, i)?,
    }
    let mut total: u128 = 0;
    loop {
        while let Some((scale, end)) = scale_after(number.end) {
            group = group.checked_mul(scale)?;
            number.end = end;
            number.scaled |= scale >= 1000;
            if scale >= 1000 {
                total = total.checked_add(group)?;
                group = 0;
            }
        }
        let next = text.skip_spaces(number.end);
        let next = text.word_at(next, "and ").unwrap_or(next);
        // Only after a hundred or a thousand does a further number belong to this one.
        let room = group.is_multiple_of(100) && (group > 0 || total > 0);
        match below_hundred(text, next).filter(|_| room && next > number.end) {
            Some((value, end)) => {
                group = group.checked_add(value)?;
                number.end = end;
            }
            None => break,
        }
    }
    number.micro = total.checked_add(group)?.checked_mul(ONE)?;
    Some(number)
}

/// Figures with a word behind: "2 thousand", "1.2 million", 2k.
pub(super) fn with_scale(text: &Folded, number: Number) -> Number {
    let scaled = |by: u128, end: usize| Number {
        micro: number.micro.saturating_mul(by),
        end,
        scaled: true,
        scale: Some(by),
        ..number
    };
    if text.at(number.end) == Some('k') && !text.at(number.end + 1).is_some_and(|c| c.is_ascii_alphanumeric()) {
        return scaled(1000, number.end + 1);
    }
    match text.lookup(text.skip_spaces(number.end), &SCALES) {
        Some((by, end)) => scaled(by, end),
        None => number,
    }
}

/// Plain digits at `i`: their value, how many there are, and the end.
pub(super) fn digits_at(text: &Folded, i: usize) -> Option<(u32, usize, usize)> {
    let mut end = i;
    let mut value: u32 = 0;
    while let Some(d) = text.at(end).and_then(|c| c.to_digit(10)) {
        value = value.checked_mul(10)?.checked_add(d)?;
        end += 1;
    }
    (end > i && text.at(end) != Some('\u{2044}')).then_some((value, end - i, end))
}

/// What stands just before `i` makes a number at `i` only the rest of something: a digit, a letter, a separator after
/// a digit.
pub(super) fn joins_left(text: &Folded, i: usize) -> bool {
    let Some(before) = text.before(i) else { return false };
    if before.is_ascii_digit() || (is_kanji_numeral(before) && text.at(i).is_some_and(is_kanji_numeral)) {
        return true;
    }
    let separated = matches!(before, '.' | ',') && text.before(i - 1).is_some_and(|c| c.is_ascii_digit());
    separated || (before.is_ascii_alphabetic() && !unit_before(text, i)) || matches!(before, '_' | '\u{2044}')
}

/// The letters before `i` are a unit after a number: in 5kg600円 two numbers stand side by side.
fn unit_before(text: &Folded, i: usize) -> bool {
    let mut start = i;
    while i - start < 3 && text.before(start).is_some_and(|c| c.is_ascii_alphabetic()) {
        start -= 1;
    }
    ["kg", "g", "l", "ml", "pcs", "pc"].iter().any(|u| text.word_at(start, u) == Some(i))
        && text.before(start).is_some_and(|c| c.is_ascii_digit())
}

/// The number at `i` is the second of two neighbours, which together say "about": 2、3日前. With one of `ranging`
/// between them any smaller one before says so: 3〜5日前; other dashes make a range.
pub(super) fn vague_pair(text: &Folded, i: usize, ranging: &str) -> bool {
    let back = text.skip_spaces_back(i);
    let Some(separator) = text.before(back).filter(|c| "、,・~-".contains(*c)) else { return false };
    let end = text.skip_spaces_back(back - 1);
    let numeral = |c: char| c.is_ascii_digit() || is_kanji_numeral(c);
    let mut start = end;
    while end - start < 2 && text.before(start).is_some_and(numeral) {
        start -= 1;
    }
    let (Some((left, at)), Some((right, _))) = (small_at(text, start), small_at(text, i)) else { return false };
    let alone = text.before(start).is_none_or(|c| !numeral(c) && !"/.月日".contains(c));
    let listed = "、,・".contains(separator) && left + 1 == right;
    let near = listed || (left < right && ranging.contains(separator));
    start < end && at == end && alone && near
}
