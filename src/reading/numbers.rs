//! Numbers as people write them in figures and kanji: 1,800, 3万5千, 1.5万, 二千, 1½.

use super::fold::Folded;
use super::number_words;
pub(super) use super::number_words::WORDS;

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

    pub(super) fn plain(micro: u128, end: usize) -> Self {
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
pub(super) const ONE: u128 = 1_000_000;

const LARGE: [(char, u128); 3] = [('兆', 1_000_000_000_000), ('億', 100_000_000), ('万', 10_000)];
const SMALL: [(char, u128); 3] = [('千', 1000), ('百', 100), ('十', 10)];
const KANJI_DIGITS: &str = "〇一二三四五六七八九";

/// The number that begins at `i`: digits with separators, kanji numerals, and their mixture.
///
/// 五六 and 二三千 are none: they say "about".
pub(super) fn at(text: &Folded, i: usize) -> Option<Number> {
    positional(text, i).filter(|number| !has_neighbours(text, i, number.end))
}

/// Two numerals one after the other, as in 二三本 and 百二三十円, mean the one or the other.
fn has_neighbours(text: &Folded, from: usize, to: usize) -> bool {
    let numeral = |at: usize| text.at(at).and_then(kanji_digit).filter(|_| (from..to).contains(&at));
    (from..to).any(|at| match (numeral(at), numeral(at + 1)) {
        (Some(one), Some(next)) => {
            one > 0 && one + 1 == next && numeral(at + 2).is_none() && at.checked_sub(1).and_then(numeral).is_none()
        }
        _ => false,
    })
}

/// As [`at`], with 二三 for 23, as it is written after a year or a month.
fn positional(text: &Folded, i: usize) -> Option<Number> {
    let first = text.at(i)?;
    if !first.is_ascii_digit() && !is_kanji_numeral(first) && part(first).is_none() && first != '.' {
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
        } else if large.is_none() && least == 100_000_000 && section.micro >= 1000 * ONE {
            // 1億2千 is 1億2千万 for most people.
            number.spoken = number.micro.checked_add(section.micro.checked_mul(10_000)?);
        } else if let (None, Some(spoken)) = (large, section.spoken) {
            number.spoken = number.micro.checked_add(spoken);
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
    if let Some(last) = text.before(number.end).and_then(unit) {
        let alike = units.filter(|unit| last < 10_000 || *unit >= 10_000).count();
        number.scale = (alike == 1).then_some(last);
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
                if least == 1000 && end == sum.end + 1 && last.micro > 0 {
                    sum.spoken = sum.micro.checked_add(micro.checked_mul(100)?);
                }
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
    // .5 kg
    let leading_dot = at == i && text.at(i) == Some('.') && text.before(i).is_none_or(|c| c == ' ');
    if let Some(part) = text.at(at).and_then(part) {
        return Some(Number { misgrouped, ..Number::plain(whole.checked_mul(ONE)?.checked_add(part)?, at + 1) });
    }
    if at == i && !leading_dot {
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
    if at == i {
        return None;
    }
    let dotted = at == whole_end + 4 && !leading_dot;
    (text.at(at) != Some('\u{2044}')).then(|| Number { misgrouped, cut, dotted, ..Number::plain(micro, at) })
}

/// The value of ½ and the like.
pub(super) fn part(c: char) -> Option<u128> {
    let parts = [
        ('½', 500_000),
        ('¼', 250_000),
        ('¾', 750_000),
        ('⅛', 125_000),
        ('⅜', 375_000),
        ('⅝', 625_000),
        ('⅞', 875_000),
    ];
    parts.iter().find(|(part, _)| *part == c).map(|(_, micro)| *micro)
}

fn kanji_digits(text: &Folded, i: usize) -> Option<Number> {
    let mut at = i;
    let mut value: u128 = 0;
    while let Some(d) = text.at(at).and_then(kanji_digit) {
        value = value.checked_mul(10)?.checked_add(d)?;
        at += 1;
        // 一,二〇〇
        let group = |from: usize| (from..from + 3).all(|at| text.at(at).and_then(kanji_digit).is_some());
        if at - i <= 3 && text.at(at) == Some(',') && group(at + 1) && text.at(at + 4).and_then(kanji_digit).is_none() {
            at += 1;
        }
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
    let dated = text.before(i).is_some_and(|c| "年月".contains(c));
    let number = if dated { positional(text, i)? } else { at(text, i)? };
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
    let (value, end) = number_words::below_hundred(text, i)?;
    Some((u32::try_from(value).ok()?, end))
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
    // .5k and 1..5k
    let dotted = before == '.' && text.before(i - 1).is_none_or(|c| matches!(c, ' ' | '(' | '¥'))
        || text.word_before(i, "..").is_some_and(|at| text.before(at).is_some_and(|c| c.is_ascii_digit()));
    separated
        || dotted
        || (before.is_ascii_alphabetic() && !unit_before(text, i))
        || matches!(before, '_' | '\u{2044}' | '^')
        || part(before).is_some()
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

/// The number at `i` is the second of two neighbours, which together say "about": 2、3日前, 二、三千円. With one of
/// `ranging` between them any smaller one before says so: 3〜5日前.
pub(super) fn vague_pair(text: &Folded, i: usize, ranging: &str) -> bool {
    let back = text.skip_spaces_back(i);
    let Some(separator) = text.before(back).filter(|c| "、,・~-".contains(*c)) else { return false };
    let end = text.skip_spaces_back(back - 1);
    if let (Some(one), Some(next)) = (end.checked_sub(1).and_then(|at| lone_digit(text, at)), lone_digit(text, i))
        && one + 1 == next
        && "、,・".contains(separator)
        && !text.before(end - 1).is_some_and(|c| "/.月日".contains(c))
    {
        return true;
    }
    let mut start = end;
    while end - start < 2 && text.before(start).is_some_and(|c| c.is_ascii_digit() || is_kanji_numeral(c)) {
        start -= 1;
    }
    let (Some((left, at)), Some((right, to))) = (small_at(text, start), small_at(text, i)) else { return false };
    if text.at(to) == Some(',') && text.at(to + 1).is_some_and(|c| c.is_ascii_digit()) {
        return false;
    }
    let alone = text.before(start).is_none_or(|c| !c.is_ascii_digit() && !is_kanji_numeral(c) && !"/.月日".contains(c));
    let listed = "、,・".contains(separator) && left + 1 == right;
    let near = listed || (left < right && ranging.contains(separator));
    start < end && at == end && alone && near
}

/// The number that ends at `end` is the first of two such neighbours: 2万3、4千円.
pub(super) fn vague_before(text: &Folded, end: usize) -> bool {
    let next = end + 1;
    text.at(end).is_some_and(|c| "、,・".contains(c)) && lone_digit(text, next).is_some() && vague_pair(text, next, "")
}

/// A figure or numeral with no other beside it.
fn lone_digit(text: &Folded, i: usize) -> Option<u128> {
    let digit = |at: usize| text.at(at).and_then(|c| c.to_digit(10).map(u128::from).or_else(|| kanji_digit(c)));
    let grouped = text.at(i + 1).is_some_and(|c| matches!(c, ',' | '.')) && digit(i + 2).is_some();
    let alone = !grouped && digit(i + 1).is_none() && i.checked_sub(1).and_then(digit).is_none();
    digit(i).filter(|_| alone)
}

/// 数百, 何十, but not the end of 人数 or 個数: the number at `i` is unknown.
pub(super) fn is_vague(text: &Folded, i: usize) -> bool {
    match text.before(i) {
        Some('何' | '幾') => true,
        Some('数') => !text.before(i - 1).is_some_and(|c| "人個本点件枚台回口総箱袋冊部名員品束".contains(c)),
        _ => false,
    }
}
