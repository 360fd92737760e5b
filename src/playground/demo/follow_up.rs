//! What a message means after what went before: an answer to a question, a change of a waiting card, or a request that
//! leaves out what was said already ("and this month?").

use std::collections::BTreeMap;

use chrono::NaiveDate;
use serde_json::{Map, Value};

use super::cancelling;
use super::choices;
use super::grammar::{Ask, Part, Request};
use super::lexicon::Term;
use super::message::Kind;
use super::registrations;
use super::request::{Day, Group, Intent, Price, Registration, Remark, Target, When, Who};
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
    /// The card that waits: its proposal, and what it shows.
    pub(super) card: Option<(String, Map<String, Value>)>,
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
        let mut chosen = before.chosen.clone();
        chosen.insert(name.clone(), code);
        return Meaning { intents: before.intents.clone(), chosen, goes_on: false };
    }
    if let Some(intents) = reason(request, before) {
        return Meaning { goes_on: true, ..meaning(intents) };
    }
    let found = filled(request, before).or_else(|| changed(request, before)).or_else(|| repeated(request, before));
    meaning(found.unwrap_or_else(|| completed(request, before)))
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
    let intents = before.intents.iter().map(|i| match i {
        Intent::Register(pending) if lacking(i) => Intent::Register(fill(pending)),
        other => other.clone(),
    });
    Some(intents.collect())
}

/// A waiting card with what the message changes, as a card in its place.
fn changed(request: &Request, before: &Before) -> Option<Vec<Intent>> {
    let message = &request.message;
    let says_so =
        message.has(Term::Change) || message.has(Term::Not) || message.tokens.first().is_some_and(|t| t.low == "no");
    let plain = matches!(before.intents.last(), Some(Intent::Register(_))) && !is_question(request);
    let possible = says_so || (plain && request.is_fragment());
    if !possible || message.has(Term::Same) {
        return None;
    }
    if request.parts.iter().any(|p| !matches!(p.ask, None | Some(Ask::Register(_)))) {
        return None;
    }
    let said_counted = message.tokens.iter().any(|t| matches!(t.kind, Kind::Quantity(_) | Kind::Number));
    let said = said(request);
    if said == Registration::default() {
        return None;
    }
    let Some((proposal, shown)) = &before.card else {
        return says_so.then(|| vec![Intent::Remark(Remark::NoCardToChange)]);
    };
    let card = of_arguments(shown);
    // Of words that are no number, only those that are called goods are meant.
    let named = message.has(Term::Not)
        || message.tokens.iter().any(|t| t.low.starts_with("商品") || t.low.starts_with("product"));
    let said = if said_counted || named { said } else { Registration { goods: None, ..said } };
    let goods = said.goods.as_deref().map(|new| recounted(card.goods.as_deref(), new));
    let new = Registration { goods, replaces: Some(proposal.clone()), ..said };
    Some(vec![Intent::Register(new.or(&card))])
}

/// 0002にも同じ内容で: the last sale again, with what differs.
fn repeated(request: &Request, before: &Before) -> Option<Vec<Intent>> {
    let sale = before.last_sale.as_ref()?;
    let about_sale = matches!(before.intents.last(), Some(Intent::Register(_)));
    let reads = request.parts.iter().any(|p| !matches!(p.ask, None | Some(Ask::Register(_))));
    if !request.message.has(Term::Same) || !about_sale || reads {
        return None;
    }
    let codes = request.parts.iter().flat_map(|p| match &p.ask {
        Some(Ask::Register(sales)) => sales.iter().filter_map(|s| s.who.clone()).collect(),
        _ => p.who.clone(),
    });
    let who = codes.into_iter().next()?;
    let said = said(request);
    let new = Registration { who: Some(who), goods: None, ..said };
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
    let only_number = |text: &str| match reading::quantities(text).as_slice() {
        [only] if only.end_char - only.start_char == text.chars().count() => !text.contains(' '),
        _ => false,
    };
    if let Some(shown) = shown.filter(|_| only_number(new))
        && let [old] = reading::quantities(shown).as_slice()
    {
        let (before, after) = (shown.chars().take(old.start_char), shown.chars().skip(old.end_char));
        return before.chain(new.chars()).chain(after).collect();
    }
    new.to_owned()
}

/// Every part with what it leaves out.
fn completed(request: &Request, before: &Before) -> Vec<Intent> {
    let mut intents: Vec<Intent> = Vec::new();
    for part in &request.parts {
        let here = intents.iter().rev().find(|i| !matches!(i, Intent::Remark(_))).cloned();
        let earlier = before
            .intents
            .iter()
            .rev()
            .find(|i| !matches!(i, Intent::Remark(_) | Intent::Register(_) if !part.pronoun));
        let context = here.as_ref().or(earlier);
        let made = intents_of(part, context, request);
        intents.extend(made);
    }
    // 「…」 was not understood is said once.
    let mut unread: Vec<String> = Vec::new();
    intents.retain(|i| match i {
        Intent::Remark(Remark::Unread(words)) => {
            unread.extend(words.iter().cloned());
            false
        }
        _ => true,
    });
    if !unread.is_empty() && !intents.is_empty() {
        intents.push(Intent::Remark(Remark::Unread(unread)));
    }
    intents
}

fn intents_of(part: &Part, context: Option<&Intent>, request: &Request) -> Vec<Intent> {
    let mut made = match &part.ask {
        Some(Ask::Register(sales)) => sales.iter().cloned().map(Intent::Register).collect(),
        Some(Ask::Cancel { sale, reason }) => {
            return vec![Intent::Cancel { sale: sale.clone(), reason: reason.clone() }];
        }
        Some(Ask::Remark(remark)) => return vec![Intent::Remark(remark.clone())],
        Some(Ask::Sale(number)) => return vec![Intent::Sale(number.clone())],
        Some(Ask::Registrations) => vec![registrations_of(part)],
        Some(Ask::Customer { contact, all }) => {
            let who = of_whom(part, context);
            each(&who).map(|who| Intent::Customer { all: *all && who.is_none(), who, contact: *contact }).collect()
        }
        Some(Ask::Sales) => figures(part, context, |who, when| match who {
            Some(who) => Intent::Sales { who, when },
            None => Intent::Total { who: None, when, group: Some(part.group.unwrap_or(Group::Customer)) },
        }),
        Some(Ask::Total) => {
            let several = part.when.len() > 1;
            let group = part.group.or(several.then_some(Group::Total));
            figures(part, context, |who, when| Intent::Total { who, when, group })
        }
        None => fragment(part, context, request),
    };
    if !part.unread.is_empty() && !made.is_empty() {
        made.push(Intent::Remark(Remark::Unread(part.unread.clone())));
    }
    made
}

fn registrations_of(part: &Part) -> Intent {
    let by = part.who.iter().find_map(|w| if let Who::Name(name) = w { Some(name.clone()) } else { None });
    Intent::Registrations { by, when: part.when.first().cloned() }
}

fn each(who: &[Who]) -> impl Iterator<Item = Option<Who>> {
    let nobody = who.is_empty().then_some(None);
    nobody.into_iter().chain(who.iter().cloned().map(Some))
}

/// The customers of a part: those it names, or the one spoken of before.
fn of_whom(part: &Part, context: Option<&Intent>) -> Vec<Who> {
    let of_all = part.everybody || matches!(part.group, Some(Group::Customer | Group::Staff));
    match context.and_then(Intent::who) {
        Some(who) if part.who.is_empty() && !of_all => vec![who.clone()],
        _ => part.who.clone(),
    }
}

/// One intent for each customer and period.
fn figures(part: &Part, context: Option<&Intent>, make: impl Fn(Option<Who>, Option<When>) -> Intent) -> Vec<Intent> {
    let who = of_whom(part, context);
    // 合計は？: neither customer nor period is said, so both are those of before.
    let inherited = context.and_then(Intent::when).filter(|_| part.who.is_empty() && !part.everybody);
    let when: Vec<Option<When>> = match part.when.as_slice() {
        [] => vec![inherited.cloned()],
        some => some.iter().cloned().map(Some).collect(),
    };
    each(&who).flat_map(|who| when.iter().map(|when| make(who.clone(), when.clone())).collect::<Vec<_>>()).collect()
}

/// A part without a word that says what is asked.
fn fragment(part: &Part, context: Option<&Intent>, request: &Request) -> Vec<Intent> {
    let asks_on = request.message.tokens.iter().any(|t| {
        matches!(t.low.as_str(), "?" | "？")
            || t.is_particle(&["は", "も", "だと", "では"])
            || t.is(Term::Ask)
            || t.is(Term::And)
            || t.is(Term::Polite)
            || t.is(Term::Same)
            || t.is(Term::Label)
            || t.is(Term::Show)
    });
    let known = part.certain || part.who.is_empty();
    let goes_on = context.filter(|_| part.unread.is_empty() && (known || asks_on));
    if let Some(context) = goes_on
        && (!part.who.is_empty() || !part.when.is_empty())
    {
        let changed = again(part, context);
        if !changed.is_empty() {
            return changed;
        }
    }
    if !part.certain {
        return Vec::new();
    }
    if part.when.is_empty() {
        return each(&part.who).map(|who| Intent::Customer { who, contact: false, all: false }).collect();
    }
    figures(part, None, |who, when| match who {
        Some(who) => Intent::Sales { who, when },
        None => Intent::Total { who, when, group: None },
    })
}

/// The same for another customer or another period.
fn again(part: &Part, context: &Intent) -> Vec<Intent> {
    let who = if part.who.is_empty() { context.who().cloned().into_iter().collect() } else { part.who.clone() };
    let when: Vec<Option<When>> = match part.when.as_slice() {
        [] => vec![context.when().cloned()],
        some => some.iter().cloned().map(Some).collect(),
    };
    let make = |who: Option<Who>, when: Option<When>| match context {
        Intent::Sales { .. } => who.map(|who| Intent::Sales { who, when }),
        Intent::Total { group, .. } => Some(Intent::Total { who, when, group: *group }),
        Intent::Registrations { by, .. } => Some(Intent::Registrations { by: by.clone(), when }),
        Intent::Customer { contact, .. } if when.is_none() => {
            Some(Intent::Customer { who, contact: *contact, all: false })
        }
        _ => None,
    };
    each(&who)
        .flat_map(|who| when.iter().filter_map(|when| make(who.clone(), when.clone())).collect::<Vec<_>>())
        .collect()
}
