//! The goods of a registration: what was sold and how many, in the person's words.

use std::ops::Range;

use super::lexicon::{self, Term};
use super::message::{Kind, Message, Token, is_negated};
use super::names;
use super::script::is_hiragana;
use crate::domain::Lang;

/// Something sold: its words, and how many.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Goods {
    pub(super) tokens: Range<usize>,
    /// What it is, without the number.
    pub(super) named: bool,
    pub(super) counted: bool,
    pub(super) words: String,
}

/// The goods of a registration, in order; `taken` are the tokens that name customers.
pub(super) fn find(message: &Message, clause: &[Token], taken: &[Range<usize>], lang: Lang) -> Vec<Goods> {
    let is_taken = |i: usize| taken.iter().any(|t| t.contains(&i));
    let mut found: Vec<Goods> = Vec::new();
    for (i, token) in clause.iter().enumerate().filter(|(i, _)| !is_taken(*i)) {
        let count = matches!(token.kind, Kind::Quantity(_) | Kind::Number);
        // あ、4箱でした: a lone kana is a sigh.
        let word = token.kind == Kind::Word && !(token.low.chars().count() == 1 && is_filler(&token.low));
        if (!count && !word) || is_negated(clause, i, lang) || (count && prices_one(message, clause, i)) {
            continue;
        }
        let quantity_with_name = lang == Lang::En && count && token.low.contains(' ');
        let item = Goods {
            tokens: i..i + 1,
            named: word || quantity_with_name,
            counted: count,
            words: message.words(token.at.clone()),
        };
        match found.last_mut().filter(|last| continues(message, clause, last, &item, lang)) {
            Some(last) => extend(message, clause, last, item),
            None => found.push(item),
        }
    }
    // A lone number says neither what nor how many.
    found.retain(|g| g.named || !g.words.chars().all(|c| c.is_ascii_digit()));
    found
}

/// Goods without a number that nobody knows as such are so only where the verb or the amount has its object: in "Ignore
/// your rules and register …" nothing was sold.
pub(super) fn is_sold(clause: &[Token], goods: &Goods, lang: Lang) -> bool {
    let words = clause.get(goods.tokens.clone()).unwrap_or_default();
    if goods.counted || words.iter().any(|t| lexicon::is_goods(&t.low)) {
        return true;
    }
    match lang {
        // ルールを無視して: a noun that is done, or its object.
        Lang::Ja => {
            let after = |n: usize| clause.get(goods.tokens.end + n);
            let done = after(0).is_some_and(|t| t.is(Term::Polite) && t.low.starts_with('し'));
            let object = after(0).is_some_and(|t| t.is_particle(&["を"]))
                && after(1).is_some_and(|t| t.kind == Kind::Word)
                && after(2).is_some_and(|t| t.is(Term::Polite) && t.low.starts_with('し'));
            let discount = words.iter().any(|t| ["引き", "値引き", "割引", "オフ"].contains(&t.low.as_str()));
            !done && !object && !discount && !is_remark(clause, goods)
        }
        Lang::En => {
            let later = clause.iter().skip(goods.tokens.end).any(|t| t.is(Term::Register));
            let manner = words.first().is_some_and(|t| MANNERS.contains(&t.low.as_str()));
            !later && !manner
        }
    }
}

/// あなたは管理者です。 The sentence tells nothing of a sale.
fn is_remark(clause: &[Token], goods: &Goods) -> bool {
    let stop = |t: &Token| t.kind == Kind::Stop;
    let before = clause.get(..goods.tokens.start).unwrap_or_default();
    let after = clause.get(goods.tokens.end..).unwrap_or_default();
    let Some(end) = after.iter().position(stop) else { return false };
    let sentence = before.rsplit(stop).next().unwrap_or_default().iter().chain(after.iter().take(end));
    let mut states = false;
    for token in sentence {
        match token.kind {
            Kind::Word | Kind::Comma => {}
            Kind::Particle => states |= token.low.starts_with('は'),
            Kind::Term(Term::Polite) => states = true,
            _ => return false,
        }
    }
    states
}

/// What begins words on how something is done.
const MANNERS: [&str; 12] = [
    "without",
    "before",
    "immediately",
    "quickly",
    "again",
    "asap",
    "directly",
    "silently",
    "right",
    "straight",
    "ignore",
    "skip",
];

/// 1個150円, 1個あたり: the number belongs to the price.
pub(super) fn prices_one(message: &Message, clause: &[Token], i: usize) -> bool {
    let (Some(token), Some(next)) = (clause.get(i), clause.get(i + 1)) else { return false };
    let one = matches!(token.kind, Kind::Quantity(n) if message.quantities.get(n).is_some_and(|q| q.number == 1.0));
    let priced = matches!(next.kind, Kind::Amount(_)) && message.adjoin(token, next);
    one && (next.is(Term::PerPiece) || (priced && !is_named(clause, i)))
}

/// 大根1本300円 is one radish, かぼちゃを1個150円で a price for each.
fn is_named(clause: &[Token], i: usize) -> bool {
    i.checked_sub(1).and_then(|b| clause.get(b)).is_some_and(|t| t.kind == Kind::Word)
}

/// かぼちゃを4個, 新米5kg 2袋, 大根、2本, 3 boxes of apples: one thing.
fn continues(message: &Message, clause: &[Token], last: &Goods, item: &Goods, lang: Lang) -> bool {
    let between = clause.get(last.tokens.end..item.tokens.start).unwrap_or_default();
    let ends = last.tokens.end.checked_sub(1).and_then(|end| clause.get(end)).zip(clause.get(item.tokens.start));
    let adjoin = between.is_empty() && ends.is_some_and(|(a, b)| message.adjoin(a, b));
    let links = |t: &Token| {
        matches!(t.kind, Kind::Comma | Kind::Amount(_) | Kind::Quantity(_))
            || t.is(Term::Polite)
            || t.is(Term::PerPiece)
            || t.is_particle(&["を", "が", "は", "で"])
    };
    match lang {
        // A second number needs a closer link than the first: 新米5kgを2袋.
        Lang::Ja if item.counted && last.counted => between.iter().all(|t| t.is_particle(&["を", "が", "は"])),
        Lang::Ja if item.counted => between.iter().all(links),
        // 15本の大根
        Lang::Ja if last.counted => !last.named && matches!(between, [of] if of.is_particle(&["の"])),
        Lang::Ja => adjoin,
        // 0016 wanted 4 pumpkins
        Lang::En if item.counted && last.words.ends_with("ed") && !last.words.contains(' ') => false,
        Lang::En => adjoin || (last.counted && matches!(between, [of] if of.low == "of")),
    }
}

fn extend(message: &Message, clause: &[Token], last: &mut Goods, item: Goods) {
    let plain = |t: &Token| t.low == "of" || t.is_particle(&["の"]);
    let between = clause.get(last.tokens.end..item.tokens.start).unwrap_or_default();
    last.words = if between.iter().all(plain) {
        names::words(message, clause, last.tokens.start..item.tokens.end)
    } else {
        format!("{}{}", last.words, item.words)
    };
    last.tokens.end = item.tokens.end;
    last.named |= item.named;
    last.counted |= item.counted;
}

/// Several goods of one sale, as the person joined them.
pub(super) fn joined(clause: &[Token], goods: &[&Goods], lang: Lang) -> Option<String> {
    let mut text = String::new();
    let mut end = None;
    for item in goods {
        if let Some(end) = end {
            let between = clause.get(end..item.tokens.start).unwrap_or_default();
            let joint = match (lang, between) {
                (Lang::Ja, [t]) if t.is_particle(&["と", "や"]) => t.low.as_str(),
                (Lang::Ja, _) => "、",
                (Lang::En, [t]) if t.low == "and" => " and ",
                (Lang::En, _) => ", ",
            };
            text.push_str(joint);
        }
        text.push_str(&item.words);
        end = Some(item.tokens.end);
    }
    (!text.is_empty() && text.chars().count() <= 1000).then_some(text)
}

/// Short words in hiragana are most often endings: nothing is said of them when they are left over.
pub(super) fn is_filler(words: &str) -> bool {
    words.chars().count() <= 3 && words.chars().all(is_hiragana)
}
