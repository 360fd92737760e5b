//! From a message to its parts: what each asks for, of whom, and for which days.
//!
//! A message is cut between the words that tell what is asked; each clause becomes one part. What a part leaves out
//! ("and this month?") stays open: [`super::follow_up`] fills it from what went before.

use std::ops::Range;

use super::clauses::{self, Clause};
use super::lexicon::{self, Term};
use super::message::{Kind, Message, Token};
use super::request::{Condition, Group, Period, Price, Registration, Remark, Target, Test, When, Who};
use super::{cancelling, conditions, goods, names, registrations};
use crate::domain::Lang;
use crate::reading::Meaning;

/// What a part asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ask {
    Customer { contact: bool, all: bool },
    Sales,
    Total,
    Registrations,
    Sale(String),
    Register(Vec<Registration>),
    Cancel { sale: Target, reason: Option<String> },
    Remark(Remark),
}

/// One part of a message.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// `None` when no word says it.
    pub(super) ask: Option<Ask>,
    pub(super) who: Vec<Who>,
    /// The customers can be nothing else.
    pub(super) certain: bool,
    pub(super) when: Vec<When>,
    pub(super) group: Option<Group>,
    pub(super) everybody: bool,
    /// Speaks of somebody or something named before.
    pub(super) pronoun: bool,
    /// Words that were not understood.
    pub(super) unread: Vec<String>,
    /// Goods and amounts that a look-up is to be narrowed down to, which no tool can do.
    pub(super) narrowed: Vec<String>,
}

/// A message, understood as far as it goes.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) message: Message,
    pub(super) parts: Vec<Part>,
    pub(super) lang: Lang,
}

impl Request {
    /// No word says what is asked.
    pub(super) fn is_fragment(&self) -> bool {
        self.parts.iter().all(|p| p.ask.is_none())
    }
}

/// Reads a message.
pub(super) fn read(message: Message, default: Lang) -> Request {
    let lang = message.lang.unwrap_or(default);
    let parts = parts(&message, lang);
    Request { message, parts, lang }
}

fn parts(message: &Message, lang: Lang) -> Vec<Part> {
    if let Some((sale, reason)) = cancelling::read(message, lang) {
        return vec![Part { ask: Some(Ask::Cancel { sale, reason }), ..Part::default() }];
    }
    let mut tokens = message.tokens.clone();
    // 今月の場合は？ is no condition of anything.
    let governs =
        |i: usize| clauses::is_ask(&tokens, i) || tokens.get(i).is_some_and(|t| matches!(t.kind, Kind::Amount(_)));
    let condition = conditions::find(message, lang)
        .filter(|(range, _)| (0..tokens.len()).any(|i| !range.contains(&i) && governs(i)));
    if let Some((range, _)) = &condition {
        // What stood on both sides of it must not seem to adjoin.
        let stop = tokens.get(range.start).map(|t| Token { kind: Kind::Stop, ..t.clone() });
        tokens.splice(range.clone(), stop);
    }
    if message.has(Term::Never) && condition.is_none() {
        return vec![remark(Remark::NotToRegister)];
    }
    let mut parts: Vec<Part> = Vec::new();
    for range in clauses::cut(&tokens, lang) {
        let clause = Clause { message, tokens: tokens.get(range).unwrap_or_default(), lang };
        parts.extend(clause.outside().map(|part| remark(Remark::Unread(vec![part.words()]))));
        let inside = |t: &&Token| !clause.outside().any(|part| part.tokens.iter().any(|o| o.at == t.at));
        let kept: Vec<Token> = clause.tokens.iter().filter(inside).cloned().collect();
        parts.extend(part(&Clause { tokens: &kept, ..clause }));
    }
    if let Some((range, test)) = condition {
        let tokens = message.tokens.get(range).unwrap_or_default();
        let about = looked_up(&Clause { message, tokens, lang });
        govern(message, &mut parts, about, test);
    }
    parts
}

fn remark(remark: Remark) -> Part {
    Part { ask: Some(Ask::Remark(remark)), ..Part::default() }
}

fn part(clause: &Clause<'_>) -> Option<Part> {
    if clause.tokens.is_empty() {
        return None;
    }
    if beyond(clause) {
        return Some(remark(Remark::Beyond));
    }
    if registers(clause) {
        let (sales, unread) = registrations::read(clause.message, clause.tokens, clause.lang);
        let ask = Some(Ask::Register(sales));
        return Some(Part { ask, pronoun: clause.says(Term::Same), unread, ..Part::default() });
    }
    if let Some(refused) = refused(clause) {
        return Some(remark(refused));
    }
    let part = looked_up(clause);
    Some(Part { ask: ask(clause, &part), ..part })
}

/// Asks for something about sales that is not to be had: averages, the best product, another address.
fn beyond(clause: &Clause<'_>) -> bool {
    let says = |term| clause.says(term);
    let sold = clause.has(|k| matches!(k, Kind::Amount(_) | Kind::Quantity(_)));
    let of_goods = clause.tokens.iter().any(|t| t.low.starts_with("商品") || t.low.starts_with("product"));
    let of_customer = clause.tokens.iter().any(clauses::asks_of_customer);
    let deletes = says(Term::Cancel) && (of_customer || says(Term::CustomerWord));
    // 上位5件の販売 are single sales; whoever bought most is a total.
    let whose = [Term::CustomerWord, Term::StaffWord, Term::Customer, Term::ByDay, Term::ByWeek, Term::ByMonth]
        .iter()
        .any(|term| says(*term));
    let counts = |t: &&Token| matches!(t.kind, Kind::Number | Kind::Particle) || t.is(Term::Counted);
    let single = !whose
        && (0..clause.tokens.len())
            .filter(|i| clause.tokens.get(*i).is_some_and(|t| t.is(Term::Best)))
            .any(|i| clause.tokens.iter().skip(i + 1).find(|t| !counts(t)).is_some_and(|t| t.is(Term::Sales)));
    let edits = deletes || (of_customer && says(Term::Change));
    (says(Term::Beyond) && !(sold && clause.asked(Term::Register))) || (is_best(clause) && of_goods) || single || edits
}

/// Asks who bought or sold most.
fn is_best(clause: &Clause<'_>) -> bool {
    let of = [Term::CustomerWord, Term::StaffWord, Term::Sales, Term::Sold];
    clause.says(Term::Best) && of.iter().any(|term| clause.says(*term))
}

/// Asks to register a sale, or tells one with its amount.
fn registers(clause: &Clause<'_>) -> bool {
    let asked = |term| clause.asked(term);
    let amount = clause.has(|k| matches!(k, Kind::Amount(_)));
    let question = clause.is_question();
    let asks = (asked(Term::Register) || asked(Term::RegisterThen))
        && !(amount && clause.says(Term::Ask))
        && (amount || !(question || clause.says(Term::Me) || clause.says(Term::Outside)));
    let counted = clause.has(|k| matches!(k, Kind::Quantity(_)));
    let verb = asked(Term::Registered) || asked(Term::Sold) || (asked(Term::Sales) && counted);
    // 1000円以上の売上 is no sale of 1000 yen.
    let compares = [Term::AtLeast, Term::AtMost, Term::Below, Term::Above].iter().any(|term| clause.says(*term));
    // 0016 かぼちゃ4個 600円 has no verb, and 600円です is an answer.
    let bare = clause.asks().next().is_none()
        && clause.has(|k| k == Kind::Code)
        && (counted || !clause.has(|k| k == Kind::Word));
    let told = !question && !compares && !asked(Term::Total) && (verb || bare);
    // 0016にかぼちゃ4個売った: only the amount is left to ask.
    asks || (told && (amount || (counted && clause.has(|k| k == Kind::Code) && !asked(Term::Customer))))
}

/// What a look-up asks for; `None` when no word says it, or the words are about something else.
fn ask(clause: &Clause<'_>, part: &Part) -> Option<Ask> {
    let says = |term| clause.says(term);
    let asked = |term| clause.asked(term);
    if let Some(number) = clause.tokens.iter().find(|t| t.kind == Kind::Sale) {
        return Some(Ask::Sale(cancelling::number(clause.message, number)));
    }
    let best = is_best(clause);
    let compares = clause.compares() && part.when.len() > 1;
    let none = clause.asks().next().is_none() && !best && !compares;
    if none || (says(Term::Outside) && !part.certain) {
        return None;
    }
    let all = asked(Term::Customers)
        || (says(Term::Everything) && (says(Term::CustomerWord) || (asked(Term::Customer) && part.who.is_empty())));
    let only = |terms: &[Term]| clause.asks().all(|t| terms.contains(&t)) && !best && !all && !compares;
    // フランスの首都を探して seeks no customer, and "order me a taxi" asks for no sales.
    let vague = clause.lang == Lang::Ja || !part.unread.is_empty() || part.who.is_empty();
    let nobody = part.who.is_empty() && part.when.is_empty() && !part.everybody && !part.unread.is_empty();
    if (only(&[Term::Seek, Term::Customer]) && !part.certain && vague)
        || (only(&[Term::Sales, Term::Sold, Term::Total]) && nobody)
    {
        return None;
    }
    let sales = asked(Term::Sales) || asked(Term::Sold);
    let total = best
        || compares
        || (0..clause.tokens.len())
            .any(|i| clauses::is_ask(clause.tokens, i) && clause.tokens.get(i).is_some_and(clauses::asks_of_total));
    Some(if asked(Term::Registered) || asked(Term::Register) || asked(Term::RegisterThen) {
        Ask::Registrations
    } else if total
        || (sales && clause.is_mine() && part.who.is_empty())
        || (sales && (says(Term::Combined) || says(Term::Each)))
    {
        Ask::Total
    } else if sales {
        Ask::Sales
    } else {
        Ask::Customer { contact: asked(Term::Contact), all }
    })
}

/// Words that look like a day and are none.
fn refused(clause: &Clause<'_>) -> Option<Remark> {
    let dates = clause.tokens.iter().filter_map(|t| if let Kind::Date(n) = t.kind { Some(n) } else { None });
    dates.filter_map(|n| clause.message.dates.get(n)).find_map(|found| match found.meaning {
        Meaning::Refused(why) => Some(Remark::Refused { words: found.words.clone(), why }),
        _ => None,
    })
}

/// Whom and which days a clause is about.
fn looked_up(clause: &Clause<'_>) -> Part {
    let Clause { message, tokens, lang } = *clause;
    let customers = names::customers(message, tokens, lang, false);
    let taken = |i: usize| customers.iter().any(|n| n.tokens.contains(&i));
    let periods: Vec<When> = tokens
        .iter()
        .filter_map(|t| if let Kind::Date(n) = t.kind { message.dates.get(n) } else { None })
        .filter_map(|found| When::of(&found.words, &found.meaning))
        .collect();
    let narrowed = narrowed(clause, &taken, customers.is_empty());
    let narrows = |i: usize| narrowed.iter().any(|range| range.contains(&i));
    let strange = |(i, t): &(usize, &Token)| {
        (t.kind == Kind::Word && !taken(*i) && !narrows(*i) && !goods::is_filler(&t.low))
            || t.is(Term::Outside)
            || t.low.starts_with('税')
    };
    Part {
        ask: None,
        certain: !customers.is_empty() && customers.iter().all(|n| n.certain),
        unread: tokens.iter().enumerate().filter(strange).map(|(_, t)| message.words(t.at.clone())).collect(),
        who: customers.into_iter().map(|n| n.who).collect(),
        when: if clause.compares() { periods } else { joined(periods) },
        group: group(clause),
        everybody: clause.says(Term::Everybody),
        pronoun: clause.says(Term::It) || clause.says(Term::Same),
        narrowed: narrowed.iter().map(|range| names::words(message, tokens, range.clone())).collect(),
    }
}

/// The tokens of a look-up that name goods, numbers of them or amounts.
fn narrowed(clause: &Clause<'_>, taken: &impl Fn(usize) -> bool, of_nobody: bool) -> Vec<Range<usize>> {
    let Clause { message, tokens, lang } = *clause;
    let compares = [Term::AtLeast, Term::AtMost, Term::Below, Term::Above].iter().any(|term| clause.says(*term));
    let counts = |i: usize, t: &Token| {
        matches!(t.kind, Kind::Amount(_) | Kind::Quantity(_))
            || (compares && t.kind == Kind::Number)
            || (t.kind == Kind::Code && clauses::is_limit(tokens, i, lang))
            || (t.is(Term::Me) && !of_nobody && !clause.asked(Term::Registered))
    };
    let counted = tokens.iter().enumerate().filter(|(i, t)| counts(*i, t)).map(|(i, _)| i..i + 1);
    let is_goods = |t: &Token| lexicon::is_goods(&t.low);
    // "who bought lanterns?": of nobody's purchases, what else is named is what was bought.
    let bought = of_nobody && lang == Lang::En && clause.asked(Term::Sold);
    let goods = names::phrases(message, tokens).into_iter().map(|phrase| phrase.tokens).filter(|range| {
        !range.clone().any(taken) && (bought || tokens.get(range.clone()).unwrap_or_default().iter().any(is_goods))
    });
    let mut found: Vec<Range<usize>> = counted.chain(goods).collect();
    found.sort_by_key(|range| range.start);
    found
}

/// One period over all that follow each other; else each by itself.
fn joined(periods: Vec<When>) -> Vec<When> {
    let mut sorted: Vec<Period> = periods.iter().map(|w| w.period).collect();
    sorted.sort_by_key(|p| p.start);
    let mut sorted = sorted.into_iter();
    let Some(mut whole) = sorted.next() else { return periods };
    for next in sorted {
        if whole.end.succ_opt() < Some(next.start) {
            return periods;
        }
        whole.end = whole.end.max(next.end);
    }
    match periods.as_slice() {
        [_] => periods,
        _ => vec![When { period: whole, unsure: None }],
    }
}

fn group(clause: &Clause<'_>) -> Option<Group> {
    let says = |term| clause.says(term);
    let best = says(Term::Best);
    [
        (says(Term::ByMonth), Group::Month),
        (says(Term::ByWeek), Group::Week),
        (says(Term::ByDay), Group::Day),
        (says(Term::ByStaff) || clause.is_mine() || (best && says(Term::StaffWord)), Group::Staff),
        (says(Term::ByCustomer) || best, Group::Customer),
    ]
    .into_iter()
    .find_map(|(said, group)| said.then_some(group))
}

/// Gives a condition to the registration it governs; what that one lacks may stand in the condition.
fn govern(message: &Message, parts: &mut Vec<Part>, about: Part, test: Option<Test>) {
    let registers = |p: &Part| matches!(p.ask, Some(Ask::Register(_)));
    if !parts.iter().any(registers) {
        *parts = vec![remark(Remark::OnlyRegistrations)];
        return;
    }
    // …登録したい。ただし…の場合に登録を行う: a verb that only repeats the first is no registration.
    let repeats = |p: &Part| match &p.ask {
        Some(Ask::Register(sales)) => sales.iter().all(|s| s.goods.is_none() && s.price == Price::Missing),
        _ => false,
    };
    if parts.iter().any(|p| registers(p) && !repeats(p)) {
        parts.retain(|p| !repeats(p));
    }
    let mut who = about.who.into_iter().next();
    let mut when = about.when.into_iter().next();
    // 今月の件数を確認して、0件なら…: what is looked up first is what the condition is about.
    let checks = message.has(Term::Check) || message.has(Term::Seek);
    if checks && parts.first().is_some_and(|p| !registers(p)) {
        let first = parts.remove(0);
        who = who.or_else(|| first.who.into_iter().next());
        when = when.or_else(|| first.when.into_iter().next());
    }
    let sales =
        parts.iter_mut().filter_map(|p| if let Some(Ask::Register(sales)) = &mut p.ask { Some(sales) } else { None });
    for sale in sales.flatten() {
        sale.who = sale.who.take().or_else(|| who.clone());
        let who = who.clone().or_else(|| sale.who.clone());
        sale.condition = Some(Condition { who, when: when.clone(), test });
    }
}
