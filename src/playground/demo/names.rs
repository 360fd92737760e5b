//! The customers a clause names: by code, with a title, or by plain words where a name stands.
//!
//! A name found is only ever looked up, so a part of it will do.

use std::ops::Range;

use super::clauses;
use super::lexicon::{self, Term};
use super::message::{Kind, Message, Token, is_negated};
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

pub(super) fn words(message: &Message, clause: &[Token], run: Range<usize>) -> String {
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
    /// Begins with a capital, or with what has none.
    pub(super) capital: bool,
}

/// The customers of a clause, in order. With `writing`, only who receives something counts among plain words.
pub(super) fn customers(message: &Message, clause: &[Token], lang: Lang, writing: bool) -> Vec<Named> {
    let code = |(i, t): (usize, &Token)| Named {
        who: Who::Code(t.low.clone()),
        tokens: i..i + 1,
        certain: true,
        capital: true,
    };
    let codes = clause
        .iter()
        .enumerate()
        .filter(|(i, t)| t.kind == Kind::Code && !is_negated(clause, *i, lang) && !clauses::is_limit(clause, *i, lang));
    let mut found: Vec<Named> = codes.map(code).collect();
    let mut phrases = phrases(message, clause);
    let title = |p: &Phrase| titled(clause, p).is_some();
    phrases.retain(|p| title(p) || !lexicon::is_goods(&p.words));
    let titled: Vec<Named> = phrases.iter().filter_map(|p| titled(clause, p)).collect();
    let only_codes = titled.is_empty() && !found.is_empty();
    let untitled = || match lang {
        Lang::Ja => phrases.iter().filter(|p| named_in_japanese(clause, p, writing)).map(plain).collect(),
        Lang::En => english(message, clause, &phrases, writing),
    };
    let others = match (found.is_empty() && titled.is_empty(), writing) {
        (true, _) => untitled(),
        // Beside a code only a name that can be nothing else: a wrong customer is worse than a question.
        (false, true) if only_codes => untitled().into_iter().filter(|n| lang == Lang::Ja || n.capital).collect(),
        (false, _) => Vec::new(),
    };
    for named in titled.into_iter().chain(others) {
        match found.iter_mut().find(|known| is_the_same(clause, known, &named)) {
            Some(known) => {
                known.tokens = known.tokens.start.min(named.tokens.start)..known.tokens.end.max(named.tokens.end);
            }
            None => found.push(named),
        }
    }
    found.sort_by_key(|n| n.tokens.start);
    found
}

/// 0016の佐藤さん, 佐藤さん（0016）: a code and a name with nothing but a link between are one customer.
fn is_the_same(clause: &[Token], code: &Named, name: &Named) -> bool {
    let (from, to) = if code.tokens.start < name.tokens.start {
        (code.tokens.end, name.tokens.start)
    } else {
        (name.tokens.end, code.tokens.start)
    };
    let links = |t: &Token| t.is_particle(&["の"]) || "(（".contains(t.low.as_str());
    matches!(code.who, Who::Code(_)) && clause.get(from..to).is_some_and(|between| between.iter().all(links))
}

fn plain(phrase: &Phrase) -> Named {
    Named { who: Who::Name(phrase.words.clone()), tokens: phrase.tokens.clone(), certain: false, capital: true }
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
        capital: true,
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
        let verb = clause.get(phrase.tokens.end + 1);
        // 大根にして makes it radishes.
        let becomes = verb.is_some_and(|t| t.is(Term::Change) || (t.is(Term::Polite) && t.low.starts_with('し')));
        let before = next.is_some_and(|t| t.is_particle(&["に", "へ", "には", "にも"])) && !becomes;
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
        let begins = capital(tokens.start);
        if begins {
            tokens.end = tokens.clone().find(|i| !capital(*i)).unwrap_or(tokens.end);
        }
        Named { who: Who::Name(words(message, clause, tokens.clone())), tokens, certain: false, capital: begins }
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
