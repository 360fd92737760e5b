//! What a part of a message leaves out, filled from what was asked before: "and this month?", 住所は？, 0016は？.

use super::grammar::{Ask, Part};
use super::lexicon::Term;
use super::message::{Message, Token};
use super::request::{Group, Intent, Remark, When, Who};

/// Every part as what it asks for; `earlier` is what the message before asked for.
pub(super) fn completed(parts: &[Part], message: &Message, earlier: &[Intent]) -> Vec<Intent> {
    let mut intents: Vec<Intent> = Vec::new();
    let mut unread: Vec<String> = Vec::new();
    for part in parts {
        // Of a registration only "the same customer" is taken over.
        let carries = |i: &&Intent| match i {
            Intent::Remark(_) => false,
            Intent::Register(_) => part.pronoun,
            _ => true,
        };
        let here = intents.iter().rev().find(|i| !matches!(i, Intent::Remark(_)));
        let context = here.or_else(|| earlier.iter().rev().find(carries));
        let made = narrowed(part, intents_of(part, context, message), context);
        unread.extend(part.unread.iter().cloned());
        if made.is_empty() {
            unread.extend(part.who.iter().map(|who| match who {
                Who::Code(words) | Who::Name(words) => words.clone(),
            }));
        }
        for intent in made {
            match intent {
                Intent::Remark(Remark::Unread(words)) => unread.extend(words),
                intent => intents.push(intent),
            }
        }
    }
    // What was not understood is said once, beside what was.
    if !unread.is_empty() && !intents.is_empty() {
        intents.push(Intent::Remark(Remark::Unread(unread)));
    }
    intents
}

/// What no tool can narrow down: a list is shown whole and called so, a figure would answer another question.
fn narrowed(part: &Part, mut made: Vec<Intent>, context: Option<&Intent>) -> Vec<Intent> {
    let words = part.narrowed.clone();
    let lists = |i: &Intent| matches!(i, Intent::Sales { .. } | Intent::Registrations { .. });
    let figures = |i: &Intent| matches!(i, Intent::Total { .. } | Intent::Customer { who: None, .. });
    let goes_on = part.ask.is_none() && (context.is_some_and(|i| i.when().is_some()) || !part.when.is_empty());
    if words.is_empty() {
        return made;
    }
    if made.iter().any(figures) || (made.is_empty() && goes_on) {
        return vec![Intent::Remark(Remark::NoFilter(words))];
    }
    if made.iter().any(lists) {
        made.push(Intent::Remark(Remark::Unfiltered(words)));
    } else if !made.is_empty() {
        made.push(Intent::Remark(Remark::Unread(words)));
    }
    made
}

fn intents_of(part: &Part, context: Option<&Intent>, message: &Message) -> Vec<Intent> {
    match &part.ask {
        Some(Ask::Register(sales)) => sales.iter().cloned().map(Intent::Register).collect(),
        Some(Ask::Cancel { sale, reason }) => {
            vec![Intent::Cancel { sale: sale.clone(), reason: reason.clone() }]
        }
        Some(Ask::Remark(remark)) => vec![Intent::Remark(remark.clone())],
        Some(Ask::Sale(number)) => vec![Intent::Sale(number.clone())],
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
        None => fragment(part, context, message),
    }
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

/// A part without a word that says what is asked: the same as before for another customer or period; else what the
/// customer alone can mean.
fn fragment(part: &Part, context: Option<&Intent>, message: &Message) -> Vec<Intent> {
    // A plain word is a customer's name only where something is asked: 青空農園は？
    let named = part.certain || part.who.is_empty() || message.tokens.iter().any(asks_on);
    let says = !part.who.is_empty() || !part.when.is_empty();
    if let Some(context) = context.filter(|_| named && says && part.unread.is_empty()) {
        let same = again(part, context);
        if !same.is_empty() {
            return same;
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

fn asks_on(token: &Token) -> bool {
    let words = [Term::Ask, Term::Show, Term::And, Term::Same, Term::Polite, Term::Label];
    token.low == "?" || token.is_particle(&["は", "も", "だと", "では"]) || words.iter().any(|term| token.is(*term))
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
