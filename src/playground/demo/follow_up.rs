//! What a message means after what went before: an answer to a question, a change of a waiting card, a sale once more,
//! or a request by itself ([`super::ellipsis`] fills what that one leaves out).

use std::collections::BTreeMap;

use chrono::NaiveDate;
use serde_json::{Map, Value};

use super::cancelling;
use super::choices;
use super::ellipsis;
use super::grammar::{Ask, Part, Request};
use super::lexicon::Term;
use super::message::Kind;
use super::registrations;
use super::request::{Day, Intent, Price, Registration, Remark, Target, Who};
use super::spellings;
use crate::domain::Yen;
use crate::reading;

/// What the conversation holds before a message.
#[derive(Debug, Default)]
pub(super) struct Before {
    pub(super) intents: Vec<Intent>,
    /// Names that the person has told apart.
    pub(super) chosen: BTreeMap<String, String>,
    /// A name that fitted several customers, and their rows, when the last answer asked which.
    pub(super) question: Option<(String, Vec<Value>)>,
    /// The cards that wait: their proposals, and what they show.
    pub(super) cards: Vec<(String, Map<String, Value>)>,
    /// What was last asked to be registered.
    pub(super) last_sale: Option<Map<String, Value>>,
}

/// What a message asks for, all told.
#[derive(Debug)]
pub(super) struct Meaning {
    pub(super) intents: Vec<Intent>,
    pub(super) chosen: BTreeMap<String, String>,
    /// Goes on with the request before: its results count.
    pub(super) goes_on: bool,
}

/// Understands a message that is more than talk.
pub(super) fn understand(request: &Request, before: &Before) -> Meaning {
    let meaning = |intents| Meaning { intents, chosen: before.chosen.clone(), goes_on: false };
    if let Some((name, rows)) = &before.question
        && request.is_fragment()
        && let Some(code) = choices::choice(&request.message, rows)
    {
        // The rest of that request has been carried out.
        let intents = before.intents.iter().filter(|i| concerns(i, name)).cloned().collect();
        let mut chosen = before.chosen.clone();
        chosen.insert(name.clone(), code);
        return Meaning { intents, chosen, goes_on: false };
    }
    if let Some(intents) = reason(request, before) {
        return Meaning { goes_on: true, ..meaning(intents) };
    }
    let found = filled(request, before)
        .or_else(|| added(request, before))
        .or_else(|| changed(request, before))
        .or_else(|| repeated(request, before));
    meaning(found.unwrap_or_else(|| ellipsis::completed(&request.parts, &request.message, &before.intents)))
}

/// The intent waits for the customer of this name, in either spelling.
fn concerns(intent: &Intent, name: &str) -> bool {
    let is_meant = |who: &Who| match who {
        Who::Name(own) => own == name || spellings::other(own).is_some_and(|other| other == name),
        Who::Code(_) => false,
    };
    let of_condition = match intent {
        Intent::Register(r) => r.condition.as_ref().and_then(|c| c.who.as_ref()),
        _ => None,
    };
    intent.who().into_iter().chain(of_condition).any(is_meant)
}

fn has_slots(request: &Request, kinds: fn(Kind) -> bool) -> bool {
    request.message.tokens.iter().any(|t| kinds(t.kind))
}

fn is_question(request: &Request) -> bool {
    let mark = request.message.tokens.iter().any(|t| t.low == "?");
    request.message.has(Term::Ask) || request.message.has(Term::Show) || (mark && !request.message.has(Term::Polite))
}

/// The reason that the last answer asked for.
fn reason(request: &Request, before: &Before) -> Option<Vec<Intent>> {
    let [Intent::Cancel { sale, reason: None }] = before.intents.as_slice() else { return None };
    if *sale == Target::Missing {
        let number = request.message.tokens.iter().find(|t| t.kind == Kind::Sale)?;
        let number = cancelling::number(&request.message, number);
        return Some(vec![Intent::Cancel { sale: Target::Number(number), reason: None }]);
    }
    let other =
        |kind| matches!(kind, Kind::Code | Kind::Amount(_) | Kind::Date(_) | Kind::Sale | Kind::Term(Term::Cancel));
    if has_slots(request, other) || is_question(request) {
        return None;
    }
    let reason = cancelling::bare_reason(&request.message)?;
    Some(vec![Intent::Cancel { sale: sale.clone(), reason: Some(reason) }])
}

/// The sale a message speaks of, as far as it does.
fn said(request: &Request) -> Registration {
    let message = &request.message;
    registrations::read(message, &message.tokens, request.lang).0.into_iter().next().unwrap_or_default()
}

/// A registration that lacked something, with what the message adds.
fn filled(request: &Request, before: &Before) -> Option<Vec<Intent>> {
    let lacking = |i: &Intent| matches!(i, Intent::Register(r) if !r.is_complete());
    if before.intents.iter().filter(|i| lacking(i)).count() != 1 {
        return None;
    }
    let answers = |p: &Part| match &p.ask {
        None => true,
        Some(Ask::Register(sales)) => sales.len() == 1,
        Some(_) => false,
    };
    if !request.parts.iter().all(answers) || is_question(request) {
        return None;
    }
    let said = said(request);
    if said == Registration::default() || said.is_complete() {
        return None;
    }
    let fill = |pending: &Registration| {
        let day = registrations::both(pending.day.clone(), said.day.clone(), request.message.today, request.lang);
        let day = if matches!(pending.day, Day::Longer { .. }) { day } else { said.day.clone() };
        Registration { day, ..said.clone() }.or(pending)
    };
    // Whatever else was asked has been carried out.
    before.intents.iter().find_map(|i| match i {
        Intent::Register(pending) if lacking(i) => Some(vec![Intent::Register(fill(pending))]),
        _ => None,
    })
}

/// A waiting card with what the message changes, as a card in its place.
fn changed(request: &Request, before: &Before) -> Option<Vec<Intent>> {
    let message = &request.message;
    let says_so =
        message.has(Term::Change) || message.has(Term::Not) || message.tokens.first().is_some_and(|t| t.low == "no");
    let plain = matches!(before.intents.last(), Some(Intent::Register(_))) && !is_question(request);
    let possible = says_so || (plain && request.is_fragment());
    let others = request.parts.iter().any(|p| !matches!(p.ask, None | Some(Ask::Register(_))));
    if !possible || others || message.has(Term::Same) {
        return None;
    }
    let said = said(request);
    let (proposal, shown) = match before.cards.as_slice() {
        [] if said == Registration::default() => return None,
        [] => return says_so.then(|| vec![Intent::Remark(Remark::NoCardToChange)]),
        [only] => only,
        several => {
            let mut meant = several.iter().filter(|(_, shown)| is_named(&of_arguments(shown), &said));
            match (meant.next(), meant.next()) {
                (Some(card), None) => card,
                _ => return Some(vec![Intent::Remark(Remark::WhichCard)]),
            }
        }
    };
    let card = of_arguments(shown);
    let goods = said.goods.as_deref().filter(|_| means_goods(request));
    let goods = goods.map(|new| recounted(card.goods.as_deref(), new));
    let new = Registration { goods, ..said };
    if new == Registration::default() {
        return says_so.then(|| vec![Intent::Remark(Remark::WhatToChange)]);
    }
    Some(vec![Intent::Register(Registration { replaces: Some(proposal.clone()), ..new }.or(&card))])
}

/// Of words without a number only those are other goods that are called so: 商品は大根, 大根にして, かぼちゃじゃなくて大根.
fn means_goods(request: &Request) -> bool {
    let tokens = &request.message.tokens;
    let counted = has_slots(request, |kind| matches!(kind, Kind::Quantity(_) | Kind::Number));
    let called = tokens.iter().any(|t| t.low.starts_with("商品") || t.low.starts_with("product"));
    let becomes = tokens.windows(3).any(|t| match t {
        [word, to, verb] => {
            word.kind == Kind::Word && to.is_particle(&["に"]) && (verb.is(Term::Polite) || verb.is(Term::Change))
        }
        _ => false,
    });
    counted || called || becomes || request.message.has(Term::Not)
}

/// もう1件、大根2本300円: one sale more, for the same customer on the same day unless it says another.
fn added(request: &Request, before: &Before) -> Option<Vec<Intent>> {
    let last = before.last_sale.as_ref()?;
    let message = &request.message;
    let after_sale = matches!(before.intents.last(), Some(Intent::Register(r)) if r.is_complete());
    let changes = message.has(Term::Change) || message.has(Term::Not);
    if !after_sale || !request.is_fragment() || changes || is_question(request) {
        return None;
    }
    let said = said(request);
    let counted = has_slots(request, |kind| matches!(kind, Kind::Quantity(_) | Kind::Number));
    let named = said.goods.as_deref().is_some_and(|goods| !is_only_number(goods));
    let whole = counted && named && said.price != Price::Missing;
    let last = Registration { goods: None, price: Price::Missing, ..of_arguments(last) };
    whole.then(|| vec![Intent::Register(said.or(&last))])
}

/// The message names the customer or the goods of a card.
fn is_named(card: &Registration, said: &Registration) -> bool {
    let goods = said.goods.as_ref().is_some_and(|said| card.goods.as_ref().is_some_and(|shown| shown.contains(said)));
    goods || (said.who.is_some() && said.who == card.who)
}

/// 0002にも同じ内容で: the last sale again, with what differs.
fn repeated(request: &Request, before: &Before) -> Option<Vec<Intent>> {
    let sale = before.last_sale.as_ref()?;
    let about_sale = matches!(before.intents.last(), Some(Intent::Register(_)));
    let reads = request.parts.iter().any(|p| !matches!(p.ask, None | Some(Ask::Register(_))));
    if !request.message.has(Term::Same) || !about_sale || reads {
        return None;
    }
    let mut named = request.parts.iter().flat_map(|p| match &p.ask {
        Some(Ask::Register(sales)) => sales.iter().filter_map(|s| s.who.clone()).collect(),
        _ => p.who.clone(),
    });
    let who = named.next();
    // Without a customer it is the same sale once more, if that is really asked.
    if who.is_none() && request.is_fragment() {
        return None;
    }
    let new = Registration { who, goods: None, ..said(request) };
    Some(vec![Intent::Register(new.or(&of_arguments(sale)))])
}

fn of_arguments(arguments: &Map<String, Value>) -> Registration {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str).map(str::to_owned);
    let day = text("date_sales_str").and_then(|d| d.parse::<NaiveDate>().ok());
    Registration {
        who: text("code_customer").map(Who::Code),
        goods: text("products"),
        price: arguments.get("price").and_then(Value::as_i64).map_or(Price::Missing, |p| Price::Yen(Yen(p))),
        day: day.map_or(Day::Missing, |day| Day::One { day, words: String::new(), other: None }),
        condition: None,
        replaces: None,
    }
}

/// 5個 takes the place of the number in かぼちゃ4個; goods with a name take the place of all.
fn recounted(shown: Option<&str>, new: &str) -> String {
    if let Some(shown) = shown.filter(|_| is_only_number(new))
        && let [old] = reading::quantities(shown).as_slice()
    {
        let (before, after) = (shown.chars().take(old.start_char), shown.chars().skip(old.end_char));
        return before.chain(new.chars()).chain(after).collect();
    }
    new.to_owned()
}

/// 5個, without a name.
fn is_only_number(goods: &str) -> bool {
    match reading::quantities(goods).as_slice() {
        [only] => only.end_char - only.start_char == goods.chars().count() && !goods.contains(' '),
        _ => false,
    }
}
