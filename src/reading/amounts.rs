//! Amounts (1,800円, ３万５千円, ¥600, 2k) and quantities (4個, 3 boxes), kept apart.

use super::fold::Folded;
use super::numbers::{self, Number};
use super::{Amount, Meaning, Quantity};
use crate::domain::Yen;

const CURRENCY_AFTER: [&str; 4] = ["円", "yen", "jpy", "えん"];
const CURRENCY_BEFORE: [&str; 3] = ["¥", "jpy", "yen"];

/// Counters and units, longer ones first.
const UNITS: [&str; 70] = [
    "キログラム",
    "リットル",
    "パック",
    "グラム",
    "ケース",
    "ダース",
    "セット",
    "ネット",
    "カゴ",
    "キロ",
    "ポット",
    "トレー",
    "kilograms",
    "kilogram",
    "packages",
    "package",
    "bunches",
    "baskets",
    "bottles",
    "basket",
    "bottle",
    "kilos",
    "boxes",
    "bunch",
    "cases",
    "crates",
    "crate",
    "packs",
    "dozen",
    "trays",
    "pieces",
    "piece",
    "heads",
    "grams",
    "kilo",
    "bags",
    "cans",
    "case",
    "sets",
    "jars",
    "pots",
    "sacks",
    "units",
    "unit",
    "pack",
    "tray",
    "head",
    "pcs",
    "box",
    "bag",
    "can",
    "kg",
    "set",
    "jar",
    "pot",
    "個",
    "本",
    "箱",
    "袋",
    "束",
    "玉",
    "枚",
    "杯",
    "台",
    "株",
    "缶",
    "瓶",
    "つ",
    "g",
    "l",
];

/// After a number these make it neither an amount nor a quantity.
const OTHER: [&str; 14] = ["年", "月", "日", "時", "分", "週", "ヶ月", "か月", "カ月", "ケ月", "件", "番", "人", "%"];

pub(super) fn amounts(text: &str) -> Vec<Amount> {
    let text = Folded::new(text);
    let mut found = Vec::new();
    let mut i = 0;
    while i < text.chars().len() {
        match amount_at(&text, i) {
            Some((yen, end)) => {
                let (start_char, end_char) = text.span(i, end);
                found.push(Amount {
                    words: text.words(i, end),
                    start_char,
                    end_char,
                    meaning: Meaning::Clear(Yen(yen)),
                    tax: None,
                });
                i = end;
            }
            None => i += 1,
        }
    }
    found
}

fn amount_at(text: &Folded, i: usize) -> Option<(i64, usize)> {
    if numbers::joins_left(text, i) {
        return None;
    }
    if let Some((_, end)) = text.any_at(i, &CURRENCY_BEFORE) {
        let number = with_k(text, numbers::at(text, text.skip_spaces(end))?);
        // ¥600円 is one amount.
        let end = text.word_at(number.end, "円").unwrap_or(number.end);
        return Some((yen(number)?, end));
    }
    let number = with_k(text, numbers::at(text, i)?);
    let after = text.skip_spaces(number.end);
    if let Some((_, end)) = text.any_at(after, &CURRENCY_AFTER) {
        return Some((yen(number)?, end));
    }
    let counted = text.any_at(number.end, &UNITS).is_some() || text.any_at(number.end, &OTHER).is_some();
    // A lone 千 or 十 begins too many names and words; with a digit before it, it is money.
    let says_money = number.scaled && text.at(i).is_some_and(|c| c.is_ascii_digit()) && large_or_k(text, i, number.end);
    (says_money && !counted && !text.at(number.end).is_some_and(|c| c.is_ascii_alphanumeric()))
        .then(|| yen(number))
        .flatten()
        .map(|yen| (yen, number.end))
}

/// `2k` is two thousand.
fn with_k(text: &Folded, number: Number) -> Number {
    if text.at(number.end) == Some('k') && !text.at(number.end + 1).is_some_and(|c| c.is_ascii_alphanumeric()) {
        return Number { milli: number.milli.saturating_mul(1000), end: number.end + 1, scaled: true };
    }
    number
}

fn large_or_k(text: &Folded, from: usize, to: usize) -> bool {
    text.chars().get(from..to).is_some_and(|s| s.iter().any(|c| "兆億万千k".contains(*c)))
}

fn yen(number: Number) -> Option<i64> {
    i64::try_from(number.whole()?).ok()
}

pub(super) fn quantities(text: &str) -> Vec<Quantity> {
    let text = Folded::new(text);
    let mut found = Vec::new();
    let mut i = 0;
    while i < text.chars().len() {
        match quantity_at(&text, i) {
            Some((number, unit, end)) => {
                let (start_char, end_char) = text.span(i, end);
                found.push(Quantity { words: text.words(i, end), start_char, end_char, number, unit: unit.to_owned() });
                i = end;
            }
            None => i += 1,
        }
    }
    found
}

fn quantity_at(text: &Folded, i: usize) -> Option<(f64, &'static str, usize)> {
    if text.at(i) == Some('x') && text.at(i + 1).is_some_and(|c| c.is_ascii_digit()) && !numbers::joins_left(text, i) {
        let (n, end) = numbers::small_at(text, i + 1)?;
        return text.any_at(end, &CURRENCY_AFTER).is_none().then_some((f64::from(n), "x", end));
    }
    if numbers::joins_left(text, i) {
        return None;
    }
    let (milli, end) = match numbers::at(text, i) {
        Some(number) => (number.milli, number.end),
        None => numbers::small_at(text, i).map(|(n, end)| (u64::from(n) * 1000, end))?,
    };
    let (unit, end) = text.any_at(text.skip_spaces(end), &UNITS)?;
    // Thousandths of a quantity fit a double exactly far beyond any harvest.
    let number = f64::from(u32::try_from(milli / 1000).ok()?) + f64::from(u32::try_from(milli % 1000).ok()?) / 1000.0;
    Some((number, unit, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_in_every_usual_spelling() {
        for (text, want) in [
            ("600円", 600),
            ("１，８００円", 1800),
            ("1,800 円", 1800),
            ("3万5千円", 35_000),
            ("1.5万", 15_000),
            ("1.5万円", 15_000),
            ("二千円", 2000),
            ("二千五百円", 2500),
            ("三万円", 30_000),
            ("1億2000万円", 120_000_000),
            ("¥600", 600),
            ("￥６００", 600),
            ("¥ 1,800", 1800),
            ("600 yen", 600),
            ("JPY 600", 600),
            ("2k yen", 2000),
            ("for 2k to", 2000),
            ("これは 7万円", 70_000),
            ("新米5kg600円", 600),
            ("４５，０００円", 45_000),
            ("十円", 10),
            ("百円", 100),
            ("千二百円", 1200),
            ("0円", 0),
        ] {
            let found = amounts(text);
            assert_eq!(found.into_iter().map(|a| a.meaning).collect::<Vec<_>>(), [Meaning::Clear(Yen(want))], "{text}");
        }
    }

    #[test]
    fn numbers_of_other_things_are_no_amounts() {
        for text in [
            "0016",
            "4個",
            "3万個",
            "2026年",
            "12月3日",
            "10日間",
            "千葉さん",
            "百合さん",
            "0件",
            "S20261124093000",
            "0.5円",
            "",
            "千代田区",
        ] {
            assert_eq!(amounts(text), [], "{text}");
        }
    }

    #[test]
    fn quantities_stay_apart_from_amounts() {
        for (text, want) in [
            ("かぼちゃ4個600円", vec![("4個", 4.0, "個")]),
            ("りんご１０箱とみかん2.5kg", vec![("１０箱", 10.0, "箱"), ("2.5kg", 2.5, "kg")]),
            ("3 boxes of apples and ten bags", vec![("3 boxes", 3.0, "boxes"), ("ten bags", 10.0, "bags")]),
            ("pumpkin x4", vec![("x4", 4.0, "x")]),
            ("600円 0016 12/3", vec![]),
        ] {
            let found = quantities(text);
            let got: Vec<_> = found.iter().map(|q| (q.words.as_str(), q.number, q.unit.as_str())).collect();
            assert_eq!(got, want, "{text}");
        }
    }
}
