//! What stands beside an amount about the tax: 税込, +税, "incl. 10% tax".

use super::Tax;
use super::amounts::Price;
use super::fold::Folded;

const JAPANESE: [(&str, Tax); 24] = [
    ("税込み", Tax::Included),
    ("税込", Tax::Included),
    ("税こみ", Tax::Included),
    ("税コミ", Tax::Included),
    ("ぜいこみ", Tax::Included),
    ("tax込", Tax::Included),
    ("込み込み", Tax::Included),
    ("内税", Tax::Included),
    ("税抜き", Tax::Excluded),
    ("税抜", Tax::Excluded),
    ("税ぬき", Tax::Excluded),
    ("税ヌキ", Tax::Excluded),
    ("ぜいぬき", Tax::Excluded),
    ("tax抜", Tax::Excluded),
    ("税別", Tax::Excluded),
    ("外税", Tax::Excluded),
    ("+税", Tax::Excluded),
    ("+ 税", Tax::Excluded),
    ("+消費税", Tax::Excluded),
    ("+ 消費税", Tax::Excluded),
    ("プラス税", Tax::Excluded),
    ("プラス消費税", Tax::Excluded),
    ("(抜)", Tax::Excluded),
    ("(込)", Tax::Included),
];
/// Only behind an amount: the tax in it, and what would be another word elsewhere.
const BEHIND: [(&str, Tax); 5] = [
    ("内消費税", Tax::Included),
    ("うち消費税", Tax::Included),
    ("うち税", Tax::Included),
    ("込み", Tax::Included),
    ("抜)", Tax::Excluded),
];
/// Before "tax", with words like "10%" between.
const ENGLISH_BEFORE: [(&str, Tax); 24] = [
    ("inclusive of ", Tax::Included),
    ("exclusive of ", Tax::Excluded),
    ("w/o ", Tax::Excluded),
    ("w/ ", Tax::Included),
    ("not including ", Tax::Excluded),
    ("not incl. ", Tax::Excluded),
    ("including ", Tax::Included),
    ("incl. ", Tax::Included),
    ("incl ", Tax::Included),
    ("inc. ", Tax::Included),
    ("inc ", Tax::Included),
    ("with ", Tax::Included),
    ("after ", Tax::Included),
    ("excluding ", Tax::Excluded),
    ("excl. ", Tax::Excluded),
    ("excl ", Tax::Excluded),
    ("ex. ", Tax::Excluded),
    ("ex ", Tax::Excluded),
    ("ex-", Tax::Excluded),
    ("without ", Tax::Excluded),
    ("before ", Tax::Excluded),
    ("plus ", Tax::Excluded),
    ("+ ", Tax::Excluded),
    ("+", Tax::Excluded),
];
const RATES: [&str; 8] = ["10% ", "8% ", "10 % ", "8 % ", "consumption ", "sales ", "the ", "japanese "];
const NAMES: [&str; 3] = ["tax", "vat", "gst"];
/// After "tax".
const ENGLISH_AFTER: [(&str, Tax); 14] = [
    (" not included", Tax::Excluded),
    ("-included", Tax::Included),
    (" included", Tax::Included),
    (" inclusive", Tax::Included),
    (" incl.", Tax::Included),
    (" incl", Tax::Included),
    ("-inclusive", Tax::Included),
    ("-in", Tax::Included),
    (" excluded", Tax::Excluded),
    ("-excluded", Tax::Excluded),
    (" excl.", Tax::Excluded),
    (" excl", Tax::Excluded),
    (" exclusive", Tax::Excluded),
    (" extra", Tax::Excluded),
];
/// What may stand between the tax and its amount.
const BETWEEN: [&str; 22] = [
    "で",
    "の",
    "は",
    "だと",
    "なら",
    "価格",
    "単価",
    "合計",
    "小計",
    "金額",
    "総額",
    "計",
    "額",
    "合わせて",
    ":",
    "=",
    " ",
    "is",
    ")",
    "]",
    "】",
    "@",
];

/// What is said about the tax beside each amount.
pub(super) fn taxes(text: &Folded, prices: &[Price]) -> Vec<Option<Tax>> {
    let mut taxes: Vec<Option<Tax>> = Vec::with_capacity(prices.len());
    let mut claimed = 0;
    if !text.chars().iter().any(|c| matches!(c, '税' | 'x' | 't' | '込' | '抜' | 'ぜ')) {
        return prices.iter().map(|_| None).collect();
    }
    for (n, price) in prices.iter().enumerate() {
        let from = n.checked_sub(1).and_then(|p| prices.get(p)).map_or(0, |p| p.to).max(claimed);
        let next = prices.get(n + 1).map(|p| p.from);
        let found = before(text, from, price.from).or_else(|| {
            let (tax, end) = behind(text, price.to)?;
            // 1,800円、税込1,980円 and 1,637円(税込1,800円) say it of the second.
            let touches = text.skip_spaces(price.to) == price.to && text.at(price.to) != Some('(');
            let within = text.lookup(text.skip_spaces(price.to) + 1, &BEHIND).is_some();
            let own = next.is_none_or(|next| touches || within || closed(text, end) || !leads_to(text, end, next));
            claimed = if own { end } else { claimed };
            own.then_some(tax)
        });
        taxes.push(found);
    }
    taxes
}

/// What is said right before an amount at `to`, not before `from`.
pub(super) fn before(text: &Folded, from: usize, to: usize) -> Option<Tax> {
    let begin = from.max(to.saturating_sub(20));
    (begin..to).find_map(|i| {
        let (tax, end) = tax_at(text, i)?;
        // "Tax included, 660 yen".
        let end = text.word_at(end, ", ").unwrap_or(end);
        leads_to(text, end, to).then_some(tax)
    })
}

fn closed(text: &Folded, i: usize) -> bool {
    text.at(i).is_some_and(|c| matches!(c, ')' | ']' | '】')) || text.before(i) == Some(')')
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

/// What is said behind an amount that ends at `end`, and where that ends.
pub(super) fn behind(text: &Folded, end: usize) -> Option<(Tax, usize)> {
    if let Some(found) = tax_at(text, end) {
        return Some(found);
    }
    let mut at = text.skip_spaces(end);
    for word in ["each", "apiece", "也", "-", "で", ",", "、", "/", "・", "(", "[", "【", "の"] {
        at = text.word_at(at, word).map_or(at, |end| text.skip_spaces(end));
    }
    let japanese = text.lookup(at, &BEHIND).filter(|_| at == end || text.before(at) == Some('('));
    tax_at(text, at).or(japanese)
}

/// Words about the tax at `i`. Gives the end.
fn tax_at(text: &Folded, i: usize) -> Option<(Tax, usize)> {
    if let Some(found) = text.lookup(i, &JAPANESE) {
        return Some(found);
    }
    let name = |at: usize| text.any_at(at, &NAMES).map(|(_, end)| end);
    if let Some(end) = name(i) {
        let end = if text.at(end) == Some(',') && text.word_at(text.skip_spaces(end + 1), "extra").is_some() {
            end + 1
        } else {
            end
        };
        return text.lookup(end, &ENGLISH_AFTER);
    }
    let (tax, mut at) = text.lookup(i, &ENGLISH_BEFORE)?;
    for _ in 0..2 {
        at = text.any_at(at, &RATES).map_or(at, |(_, end)| end);
    }
    name(at).map(|end| (tax, end))
}
