//! The customers a clause names: by code, with a title, or by plain words where a name stands.
//!
//! A name found is only ever looked up, so a part of it will do.

use std::ops::Range;

use super::lexicon::Term;
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
}

/// The customers of a clause, in order. With `writing`, only who receives something counts among plain words.
pub(super) fn customers(message: &Message, clause: &[Token], lang: Lang, writing: bool) -> Vec<Named> {
    let code = |(i, t): (usize, &Token)| Named { who: Who::Code(t.low.clone()), tokens: i..i + 1, certain: true };
    let codes: Vec<Named> = clause
        .iter()
        .enumerate()
        .filter(|(i, t)| t.kind == Kind::Code && !is_negated(clause, *i, lang))
        .map(code)
        .collect();
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
