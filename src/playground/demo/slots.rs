//! Customers' names and goods: the plain words of a clause, told apart by what stands around them.
//!
//! A name found is only ever looked up, so a part of it will do.

use std::ops::Range;

use super::lexicon::Term;
use super::message::{Kind, Message, Token};
use super::request::Who;
use super::script::is_hiragana;
use crate::domain::Lang;

/// A run of plain words with nothing but spaces between, as places in the clause.
#[derive(Clone, Debug)]
pub(super) struct Phrase {
    pub(super) tokens: Range<usize>,
    pub(super) words: String,
}

pub(super) fn phrases(message: &Message, clause: &[Token]) -> Vec<Phrase> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (i, token) in clause.iter().enumerate().filter(|(_, t)| t.kind == Kind::Word) {
        match runs.last_mut() {
            Some(run) if run.end == i && clause.get(i - 1).is_some_and(|t| message.adjoin(t, token)) => run.end = i + 1,
            _ => runs.push(i..i + 1),
        }
    }
    runs.into_iter().map(|run| Phrase { words: words(message, clause, run.clone()), tokens: run }).collect()
}

/// Short words in hiragana are most often endings: nothing is said of them when they are left over.
pub(super) fn is_filler(words: &str) -> bool {
    words.chars().count() <= 3 && words.chars().all(is_hiragana)
}

fn words(message: &Message, clause: &[Token], run: Range<usize>) -> String {
    match clause.get(run).unwrap_or_default() {
        [] => String::new(),
        [only] => message.words(only.at.clone()),
        [first, .., last] => message.words(first.at.start..last.at.end),
    }
}

/// A customer and the tokens that name it.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) who: Who,
    pub(super) tokens: Range<usize>,
    /// Named so that it can be nothing else: by code, or with a title.
    pub(super) certain: bool,
}

/// The customers of a clause, in order. With `writing`, only who receives something counts among plain words.
pub(super) fn customers(message: &Message, clause: &[Token], lang: Lang, writing: bool) -> Vec<Named> {
    let code = |(i, t): (usize, &Token)| Named { who: Who::Code(t.low.clone()), tokens: i..i + 1, certain: true };
    let negated = |i: usize| match lang {
        Lang::Ja => clause.get(i + 1).is_some_and(|t| t.is(Term::Not)),
        Lang::En => i.checked_sub(1).and_then(|b| clause.get(b)).is_some_and(|t| t.is(Term::Not)),
    };
    let codes: Vec<Named> =
        clause.iter().enumerate().filter(|(i, t)| t.kind == Kind::Code && !negated(*i)).map(code).collect();
    if !codes.is_empty() {
        return codes;
    }
    let phrases = phrases(message, clause);
    let titled: Vec<Named> = phrases.iter().filter_map(|p| titled(clause, p)).collect();
    if !titled.is_empty() {
        return titled;
    }
    match lang {
        Lang::Ja => phrases.iter().filter(|p| named_in_japanese(clause, p, writing)).map(plain).collect(),
        Lang::En => english(message, clause, &phrases, writing),
    }
}

fn plain(phrase: &Phrase) -> Named {
    Named { who: Who::Name(phrase.words.clone()), tokens: phrase.tokens.clone(), certain: false }
}

/// 佐藤さん, Green Cafe-san.
fn titled(clause: &[Token], phrase: &Phrase) -> Option<Named> {
    let end = phrase.tokens.end;
    let title = clause.get(end).is_some_and(|t| t.is(Term::Title));
    let latin = ["-san", "-sama"].iter().find_map(|t| phrase.words.strip_suffix(t));
    let tokens = phrase.tokens.start..if title { end + 1 } else { end };
    (title || latin.is_some()).then(|| Named {
        who: Who::Name(latin.unwrap_or(&phrase.words).to_owned()),
        tokens,
        certain: true,
    })
}

fn named_in_japanese(clause: &[Token], phrase: &Phrase, writing: bool) -> bool {
    let count = phrase.words.chars().count();
    let long_enough = if phrase.words.chars().all(is_hiragana) { 3..=10 } else { 1..=30 };
    if !long_enough.contains(&count) {
        return false;
    }
    let next = clause.get(phrase.tokens.end);
    // くれる, 大きい: a verb or an adjective.
    if phrase.words.ends_with(['る', 'い', 'た', 'て', 'す', 'く']) {
        return false;
    }
    if writing {
        let before = next.is_some_and(|t| t.is_particle(&["に", "へ", "には", "にも"]));
        let buys = next.is_some_and(|t| t.is_particle(&["が", "は"])) && clause.iter().any(|t| t.is(Term::Sold));
        return count >= 2 && (before || buys);
    }
    true
}

/// Stands between a preposition and a name.
fn frames(token: &Token) -> bool {
    let words = ["the", "a", "an", "our", "mr", "mr.", "mrs", "mrs.", "ms", "ms.", "dr", "dr."];
    token.is(Term::CustomerWord) || words.contains(&token.low.as_str())
}

const SUBJECTS: [&str; 8] = ["did", "does", "has", "have", "is", "are", "about", "was"];

fn english(message: &Message, clause: &[Token], phrases: &[Phrase], writing: bool) -> Vec<Named> {
    let capital = |i: usize| {
        clause.get(i).is_some_and(|t| {
            message.words(t.at.clone()).chars().next().is_some_and(|c| c.is_uppercase() || !c.is_ascii())
        })
    };
    // A name spelled with a capital ends where the capitals end.
    let named = |phrase: &Phrase| {
        let mut tokens = phrase.tokens.clone();
        if capital(tokens.start) {
            tokens.end = tokens.clone().find(|i| !capital(*i)).unwrap_or(tokens.end);
        }
        Named { who: Who::Name(words(message, clause, tokens.clone())), tokens, certain: false }
    };
    let marked = |phrase: &&Phrase| {
        let before = clause.get(..phrase.tokens.start).and_then(|b| b.iter().rev().find(|t| !frames(t)));
        let after = clause.get(phrase.tokens.end);
        let counted = after.is_some_and(|t| matches!(t.kind, Kind::Quantity(_)) && t.low.starts_with('x'));
        let receives = before.is_some_and(|t| t.is(Term::To)) && !counted;
        let subject = before.is_some_and(|t| SUBJECTS.contains(&t.low.as_str()));
        let buys = after.is_some_and(|t| t.is(Term::Sold) && t.low != "sold");
        let owns = after.is_some_and(|t| t.is_particle(&["'s"]));
        let of = before.is_some_and(|t| t.is(Term::Of) || t.is(Term::By));
        receives || buys || if writing { false } else { owns || subject || of }
    };
    let found: Vec<Named> = phrases.iter().filter(marked).map(named).collect();
    if !found.is_empty() || writing {
        return found;
    }
    phrases.iter().filter(|p| capital(p.tokens.start)).map(named).collect()
}

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
pub(super) fn goods(message: &Message, clause: &[Token], taken: &[Range<usize>], lang: Lang) -> Vec<Goods> {
    let is_taken = |i: usize| taken.iter().any(|t| t.contains(&i));
    let mut found: Vec<Goods> = Vec::new();
    for (i, token) in clause.iter().enumerate().filter(|(i, _)| !is_taken(*i)) {
        let count = matches!(token.kind, Kind::Quantity(_) | Kind::Number);
        let word = token.kind == Kind::Word;
        if (!count && !word) || negated(clause, i, lang) || (count && prices_one(message, clause, i)) {
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

fn negated(clause: &[Token], i: usize, lang: Lang) -> bool {
    let not = |t: Option<&Token>| t.is_some_and(|t| t.is(Term::Not));
    match lang {
        Lang::Ja => not(clause.get(i + 1)),
        Lang::En => not(i.checked_sub(1).and_then(|b| clause.get(b))),
    }
}

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
    match lang {
        Lang::Ja if item.counted => {
            let link =
                |t: &Token| matches!(t.kind, Kind::Comma | Kind::Amount(_)) || t.is_particle(&["を", "が", "は", "で"]);
            // A second number needs a closer link than the first.
            let near = |t: &Token| t.is_particle(&["を", "が", "は"]);
            between.iter().all(|t| {
                if last.counted {
                    near(t)
                } else {
                    link(t) || t.is(Term::Polite) || t.is(Term::PerPiece) || matches!(t.kind, Kind::Quantity(_))
                }
            })
        }
        Lang::Ja => {
            between.is_empty()
                && clause
                    .get(last.tokens.end - 1)
                    .zip(clause.get(item.tokens.start))
                    .is_some_and(|(a, b)| message.adjoin(a, b))
                && !last.counted
        }
        Lang::En => match between {
            [] => clause
                .get(last.tokens.end - 1)
                .zip(clause.get(item.tokens.start))
                .is_some_and(|(a, b)| message.adjoin(a, b)),
            [of] => of.low == "of" && last.counted,
            _ => false,
        },
    }
}

fn extend(message: &Message, clause: &[Token], last: &mut Goods, item: Goods) {
    let plain = |t: &Token| t.low == "of";
    let between = clause.get(last.tokens.end..item.tokens.start).unwrap_or_default();
    last.words = if between.iter().all(plain) {
        words(message, clause, last.tokens.start..item.tokens.end)
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
