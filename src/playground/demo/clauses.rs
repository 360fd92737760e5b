//! Cuts a message into clauses: one for each thing that is asked.
//!
//! In Japanese the verb ends a request, so what is named after it belongs to the next one; in English the verb begins
//! it, so the last comma or "and" before the next verb divides.

use std::ops::Range;

use super::lexicon::Term;
use super::message::{Kind, Message, Token};
use crate::domain::Lang;

/// One clause of a message.
#[derive(Clone, Copy)]
pub(super) struct Clause<'m> {
    pub(super) message: &'m Message,
    pub(super) tokens: &'m [Token],
    pub(super) lang: Lang,
}

impl<'m> Clause<'m> {
    pub(super) fn says(&self, term: Term) -> bool {
        self.tokens.iter().any(|t| t.is(term))
    }

    pub(super) fn has(&self, kind: impl Fn(Kind) -> bool) -> bool {
        self.tokens.iter().any(|t| kind(t.kind))
    }

    /// The words that tell what is asked.
    pub(super) fn asks(&self) -> impl Iterator<Item = Term> {
        (0..self.tokens.len()).filter(|i| is_ask(self.tokens, *i)).filter_map(|i| match self.tokens.get(i)?.kind {
            Kind::Term(term) => Some(term),
            _ => None,
        })
    }

    pub(super) fn asked(&self, term: Term) -> bool {
        self.asks().any(|t| t == term)
    }

    /// 先月より多い？ asks for one figure for each period.
    pub(super) fn compares(&self) -> bool {
        let measured = self.has(|k| matches!(k, Kind::Amount(_) | Kind::Number | Kind::Quantity(_)));
        let than = self.says(Term::Above) || self.says(Term::Below);
        self.says(Term::Each) || (self.lang == Lang::Ja && than && !measured)
    }

    /// Asks for what the asker has sold.
    pub(super) fn is_mine(&self) -> bool {
        let sells = |pair: &[Token]| matches!(pair, [i, verb] if i.low == "i" && verb.is(Term::Sold));
        self.says(Term::Me) || self.tokens.windows(2).any(sells)
    }

    pub(super) fn is_question(&self) -> bool {
        is_question(self.tokens)
    }

    pub(super) fn words(&self) -> String {
        match (self.tokens.first(), self.tokens.last()) {
            (Some(first), Some(last)) => self.message.words(first.at.start..last.at.end),
            _ => String::new(),
        }
    }

    /// The segments that are about something else than sales, beside one that asks for something.
    pub(super) fn outside(&self) -> impl Iterator<Item = Clause<'m>> + use<'m> {
        let (whole, tokens) = (*self, self.tokens);
        let is_outside = move |part: &Clause<'m>| {
            part.says(Term::Outside) && part.asks().next().is_none() && !part.has(|k| k == Kind::Code)
        };
        let parts = tokens.split(separates).map(move |tokens| Clause { tokens, ..whole });
        parts.filter(move |part| is_outside(part) && whole.asks().next().is_some())
    }
}

/// A word that tells what is asked. 合計 beside an amount only says what the amount is, and 顧客コード：0016 names a
/// customer.
pub(super) fn is_ask(tokens: &[Token], i: usize) -> bool {
    let Some(Kind::Term(term)) = tokens.get(i).map(|t| t.kind) else { return false };
    let kind = |at: Option<usize>| at.and_then(|at| tokens.get(at)).map(|t| t.kind);
    let amount = |at: Option<usize>| matches!(kind(at), Some(Kind::Amount(_)));
    let linked = tokens.get(i + 1).is_some_and(|t| t.kind == Kind::Particle || t.low == "of");
    let label = tokens.get(i + 1).is_some_and(|t| t.low == ":");
    match term {
        Term::Total => !(amount(Some(i + 1)) || (linked && amount(Some(i + 2))) || amount(i.checked_sub(1))),
        Term::Code => kind(Some(i + 1)) != Some(Kind::Code) && !(label && kind(Some(i + 2)) == Some(Kind::Code)),
        Term::Register | Term::RegisterThen | Term::Registered | Term::Sales | Term::Sold => true,
        term => is_of_customer(term) || is_of_total(term),
    }
}

/// Asks who or where a customer is.
fn is_of_customer(term: Term) -> bool {
    matches!(term, Term::Code | Term::Contact | Term::Customer | Term::Customers | Term::Seek)
}

/// Asks for a total, or says how to divide one.
fn is_of_total(term: Term) -> bool {
    matches!(term, Term::Total | Term::ByCustomer | Term::ByStaff | Term::ByMonth | Term::ByWeek | Term::ByDay)
}

pub(super) fn asks_of_customer(token: &Token) -> bool {
    matches!(token.kind, Kind::Term(term) if is_of_customer(term))
}

pub(super) fn asks_of_total(token: &Token) -> bool {
    matches!(token.kind, Kind::Term(term) if is_of_total(term))
}

pub(super) fn is_question(tokens: &[Token]) -> bool {
    tokens.iter().any(|t| t.is(Term::Show) || t.is(Term::Ask) || t.low == "?")
}

/// Tells something of what is asked for: whom, when, how much.
fn is_slot(token: &Token) -> bool {
    matches!(
        token.kind,
        Kind::Date(_) | Kind::Amount(_) | Kind::Quantity(_) | Kind::Number | Kind::Code | Kind::Sale | Kind::Word
    )
}

/// over 5000, 5000以上: a limit, and no customer's code.
pub(super) fn is_limit(tokens: &[Token], i: usize, lang: Lang) -> bool {
    let beside = match lang {
        Lang::Ja => tokens.get(i + 1),
        Lang::En => i.checked_sub(1).and_then(|before| tokens.get(before)),
    };
    let compares = [Term::AtLeast, Term::AtMost, Term::Below, Term::Above];
    tokens.get(i).is_some_and(|t| !t.low.starts_with('0')) && beside.is_some_and(|t| compares.iter().any(|c| t.is(*c)))
}

fn separates(token: &Token) -> bool {
    matches!(token.kind, Kind::Comma | Kind::Stop | Kind::Term(Term::And)) || token.is_particle(&["と"])
}

/// 月ごとの, 登録した: says how or which, and what is asked follows.
fn announces(token: &Token) -> bool {
    (asks_of_total(token) && !token.is(Term::Total)) || (token.is(Term::Registered) && token.low.ends_with('た'))
}

/// Cuts the tokens between the words that tell what is asked.
pub(super) fn cut(tokens: &[Token], lang: Lang) -> Vec<Range<usize>> {
    let asks: Vec<usize> = (0..tokens.len()).filter(|i| is_ask(tokens, *i)).collect();
    let mut ranges = Vec::new();
    let mut start = 0;
    for pair in asks.windows(2) {
        let [a, b] = *pair else { continue };
        let (Some(first), Some(second)) = (tokens.get(a), tokens.get(b)) else { continue };
        // 登録したら after a registration only says when.
        let said = tokens.get(..b).unwrap_or_default().iter().any(|t| t.is(Term::Register));
        let only_when = second.is(Term::RegisterThen) && said;
        let begins = asks.iter().all(|i| *i >= a || *i < start);
        let announced = lang == Lang::Ja && begins && announces(first);
        let writes = |t: &Token| t.is(Term::Register) || t.is(Term::Sold);
        let one_sale = writes(first) && writes(second) && !is_question(tokens.get(a..=b).unwrap_or_default());
        // 売上を600円登録して: the noun belongs to the verb.
        let between = tokens.get(a..b).unwrap_or_default();
        let apart = is_question(between) || between.iter().any(|t| t.kind == Kind::Stop || t.is(Term::And));
        let noun = lang == Lang::Ja && first.is(Term::Sales) && second.is(Term::Register) && !apart;
        if only_when || announced || one_sale || noun {
            continue;
        }
        if let Some(cut) = divide(tokens, a..b, lang).filter(|cut| *cut > start) {
            ranges.push(start..cut);
            start = cut;
        }
    }
    ranges.push(start..tokens.len());
    ranges
}

/// Where the second of two requests begins, if there are two; `asks` are the places of the words that ask.
fn divide(tokens: &[Token], asks: Range<usize>, lang: Lang) -> Option<usize> {
    let (first, second) = (tokens.get(asks.start)?, tokens.get(asks.end)?);
    let from = asks.start + 1;
    let between = tokens.get(from..asks.end)?;
    let separator = between.iter().rposition(separates).map(|i| from + i + 1);
    let Some(slot) = between.iter().position(is_slot) else {
        // 売上合計 is one request, 売上を見せて、合計も are two; コードと電話番号 is one.
        let together = asks_of_customer(first) && asks_of_customer(second);
        let own = asks_of_total(second) || asks_of_customer(second) || second.is(Term::Registered);
        let divided = between.iter().any(|t| (separates(t) && t.kind != Kind::Comma) || t.is(Term::Show));
        return separator.filter(|_| own && !together && divided);
    };
    match lang {
        Lang::Ja => {
            // 先月の売上と今月の売上の合計 is one request.
            let linked = between.iter().take(slot).all(|t| t.kind == Kind::Particle);
            let same = first.is(Term::Sales) && (second.is(Term::Sales) || second.low.starts_with(&first.low));
            (!(linked && same)).then_some(from + slot)
        }
        Lang::En => separator,
    }
}
