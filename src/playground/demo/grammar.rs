//! From a message to its parts: what each asks for, of whom, and for which days.
//!
//! A message is cut between the words that tell what is asked; each clause becomes one part. What a part leaves out
//! ("and this month?") stays open: [`super::follow_up`] fills it from what went before.

use std::ops::Range;

use super::lexicon::Term;
use super::message::{Kind, Message, Token};
use super::request::{Condition, Group, Period, Registration, Remark, Target, When, Who};
use super::script::is_hiragana;
use super::{cancelling, conditions, registrations, slots};
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
    let asked = |range: &Range<usize>| {
        (0..tokens.len())
            .filter(|i| !range.contains(i))
            .any(|i| is_ask(&tokens, i) || tokens.get(i).is_some_and(|t| matches!(t.kind, Kind::Amount(_))))
    };
    // 今月の場合は？ is no condition of anything.
    let condition = conditions::find(message, lang).filter(|(range, _)| asked(range));
    if let Some((range, _)) = &condition {
        // What stood on both sides of it must not seem to adjoin.
        let stop = tokens.get(range.start).map(|t| Token { kind: Kind::Stop, ..t.clone() });
        tokens.splice(range.clone(), stop);
    }
    let mut parts: Vec<Part> = Vec::new();
    for clause in clauses(&tokens, lang) {
        let clause = tokens.get(clause).unwrap_or_default();
        for segment in outside(clause) {
            parts.push(remark(Remark::Unread(vec![text(message, segment)])));
        }
        let kept: Vec<Token> =
            clause.iter().filter(|t| !outside(clause).any(|s| s.iter().any(|o| o.at == t.at))).cloned().collect();
        parts.extend(part(message, &kept, lang));
    }
    if let Some((range, test)) = condition {
        let about = Part { ask: None, ..looked_up(message, message.tokens.get(range).unwrap_or_default(), lang) };
        condition_of(message, &mut parts, about, test);
    }
    parts
}

fn remark(remark: Remark) -> Part {
    Part { ask: Some(Ask::Remark(remark)), ..Part::default() }
}

fn text(message: &Message, tokens: &[Token]) -> String {
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => message.words(first.at.start..last.at.end),
        _ => String::new(),
    }
}

/// A word that tells what is asked. いくら behind an amount, or 合計 before one, only says what the amount is.
fn is_ask(tokens: &[Token], i: usize) -> bool {
    let Some(Kind::Term(term)) = tokens.get(i).map(|t| t.kind) else { return false };
    let amount = |t: Option<&Token>| t.is_some_and(|t| matches!(t.kind, Kind::Amount(_)));
    let beside = amount(tokens.get(i + 1))
        || (tokens.get(i + 1).is_some_and(|t| t.kind == Kind::Particle || t.low == "of") && amount(tokens.get(i + 2)))
        || amount(i.checked_sub(1).and_then(|b| tokens.get(b)));
    // 顧客コード：0016 names a customer.
    let labels = tokens.get(i + 1).is_some_and(|t| t.kind == Kind::Code)
        || (tokens.get(i + 1).is_some_and(|t| t.low == ":") && tokens.get(i + 2).is_some_and(|t| t.kind == Kind::Code));
    match term {
        Term::Total => !beside,
        Term::Code => !labels,
        Term::Register
        | Term::RegisterThen
        | Term::Registered
        | Term::Sales
        | Term::Sold
        | Term::Contact
        | Term::Customer
        | Term::Customers
        | Term::Seek
        | Term::ByCustomer
        | Term::ByStaff
        | Term::ByMonth
        | Term::ByWeek
        | Term::ByDay => true,
        _ => false,
    }
}

/// 月ごとの, 登録した: says how or which, and what is asked follows.
fn announces(token: &Token) -> bool {
    let by = asks_for_total(token.kind) && !token.is(Term::Total);
    by || (token.is(Term::Registered) && token.low.ends_with('た'))
}

fn asks_about_customer(term: Kind) -> bool {
    matches!(term, Kind::Term(Term::Code | Term::Contact | Term::Customer | Term::Customers | Term::Seek))
}

fn asks_for_total(term: Kind) -> bool {
    matches!(
        term,
        Kind::Term(Term::Total | Term::ByCustomer | Term::ByStaff | Term::ByMonth | Term::ByWeek | Term::ByDay)
    )
}

fn is_slot(token: &Token) -> bool {
    matches!(
        token.kind,
        Kind::Date(_) | Kind::Amount(_) | Kind::Quantity(_) | Kind::Number | Kind::Code | Kind::Sale | Kind::Word
    )
}

fn separates(token: &Token) -> bool {
    matches!(token.kind, Kind::Comma | Kind::Stop | Kind::Term(Term::And)) || token.is_particle(&["と"])
}

/// Cuts the message between the words that tell what is asked.
fn clauses(tokens: &[Token], lang: Lang) -> Vec<Range<usize>> {
    let asks: Vec<usize> = (0..tokens.len()).filter(|i| is_ask(tokens, *i)).collect();
    let mut cuts = vec![0];
    let mut registering = false;
    for pair in asks.windows(2) {
        let [a, b] = *pair else { continue };
        let (Some(first), Some(second)) = (tokens.get(a), tokens.get(b)) else { continue };
        registering |= first.is(Term::Register);
        // 登録したら after a registration only says when.
        if second.is(Term::RegisterThen) && registering {
            continue;
        }
        let between = a + 1..b;
        let writes = |t: &Token| t.is(Term::Register) || t.is(Term::Sold);
        let begins = cuts.last().is_none_or(|cut| asks.iter().all(|i| *i >= a || i < cut));
        if lang == Lang::Ja && begins && announces(first) {
            continue;
        }
        let statement = writes(first) && writes(second) && !asks_a_question(tokens.get(a..=b).unwrap_or_default());
        if !statement && let Some(cut) = divide(tokens, between, (first, second), lang) {
            cuts.push(cut);
        }
    }
    cuts.push(tokens.len());
    cuts.windows(2).filter_map(|w| if let [a, b] = *w { Some(a..b) } else { None }).filter(|r| !r.is_empty()).collect()
}

fn asks_a_question(tokens: &[Token]) -> bool {
    tokens.iter().any(|t| t.is(Term::Show) || t.is(Term::Ask) || t.low == "?" || t.low == "？")
}

/// Where the second request begins, if there are two.
fn divide(tokens: &[Token], between: Range<usize>, asks: (&Token, &Token), lang: Lang) -> Option<usize> {
    let slice = tokens.get(between.clone()).unwrap_or_default();
    let slot = slice.iter().position(is_slot).map(|i| between.start + i);
    let separator = slice.iter().rposition(separates).map(|i| between.start + i + 1);
    let (first, second) = asks;
    if slot.is_none() {
        let together = asks_about_customer(first.kind) && asks_about_customer(second.kind);
        let own = asks_for_total(second.kind) || asks_about_customer(second.kind) || second.is(Term::Registered);
        let divided = slice.iter().any(|t| (separates(t) && t.kind != Kind::Comma) || t.is(Term::Show));
        return separator.filter(|_| own && !together && divided);
    }
    match lang {
        // The verb ends a Japanese request, so what is named after it belongs to the next one.
        Lang::Ja => {
            let linked = slot.is_some_and(|s| {
                tokens.get(between.start..s).unwrap_or_default().iter().all(|t| t.kind == Kind::Particle)
            });
            let same =
                linked && first.is(Term::Sales) && (second.is(Term::Sales) || second.low.starts_with(&first.low));
            slot.filter(|_| !same)
        }
        // The verb begins an English one, so the last division before the next verb counts.
        Lang::En => separator,
    }
}

/// The segments of a clause that are about something else than sales.
fn outside(clause: &[Token]) -> impl Iterator<Item = &[Token]> {
    let has_ask = (0..clause.len()).any(|i| is_ask(clause, i));
    clause.split(separates).filter(move |segment| {
        has_ask
            && segment.iter().any(|t| t.is(Term::Outside))
            && !(0..segment.len()).any(|i| is_ask(segment, i))
            && !segment.iter().any(|t| t.kind == Kind::Code)
    })
}

fn part(message: &Message, clause: &[Token], lang: Lang) -> Option<Part> {
    if clause.is_empty() {
        return None;
    }
    let says = |term: Term| clause.iter().any(|t| t.is(term));
    let asks: Vec<Kind> =
        (0..clause.len()).filter(|i| is_ask(clause, *i)).filter_map(|i| clause.get(i)).map(|t| t.kind).collect();
    let asked = |term: Term| asks.contains(&Kind::Term(term));
    if says(Term::Beyond) && !clause.iter().any(|t| matches!(t.kind, Kind::Amount(_) | Kind::Quantity(_))) {
        return Some(remark(Remark::Beyond));
    }
    let question = asks_a_question(clause);
    let amount = clause.iter().any(|t| matches!(t.kind, Kind::Amount(_)));
    let tells = amount && !question && !asked(Term::Total);
    let registers = asked(Term::Register) || asked(Term::RegisterThen);
    let mine = says(Term::Me) && !amount;
    let named = clause.iter().any(|t| matches!(t.kind, Kind::Code | Kind::Quantity(_) | Kind::Number));
    let best = says(Term::Best)
        && (says(Term::CustomerWord) || says(Term::StaffWord) || asked(Term::Sales) || asked(Term::Sold));
    let of_goods = clause.iter().any(|t| t.low.starts_with("商品") || t.low.starts_with("product"));
    let edits = says(Term::Change) && asks.iter().copied().any(asks_about_customer);
    if (best && of_goods) || edits {
        return Some(remark(Remark::Beyond));
    }
    if (registers && !mine && (amount || !says(Term::Outside)) && (amount || !question))
        || (tells && asked(Term::Registered))
        || (tells && (asked(Term::Sold) || asked(Term::Sales)))
        || (tells && asks.is_empty() && named && !fragment(clause))
    {
        let (sales, unread) = registrations::read(message, clause, lang);
        return Some(Part { ask: Some(Ask::Register(sales)), pronoun: says(Term::Same), unread, ..Part::default() });
    }
    let mut part = looked_up(message, clause, lang);
    if let Some(refused) = refused(message, clause) {
        return Some(remark(refused));
    }
    if let Some(number) = clause.iter().find(|t| t.kind == Kind::Sale) {
        let number = message.words(number.at.clone());
        part.ask = Some(Ask::Sale(number.replacen('s', "S", 1)));
        return Some(part);
    }
    let all = asked(Term::Customers)
        || (says(Term::Everything) && (says(Term::CustomerWord) || (asked(Term::Customer) && part.who.is_empty())));
    let outside = says(Term::Outside) && !part.certain;
    // フランスの首都を探して seeks no customer.
    let weak = !best && asks.iter().all(|k| matches!(k, Kind::Term(Term::Seek | Term::Customer))) && !part.certain;
    let seeks = weak && !all && (lang == Lang::Ja || !part.unread.is_empty() || part.who.is_empty());
    // "Order me a taxi" asks for no sales.
    let stray = part.who.is_empty() && part.when.is_empty() && !part.unread.is_empty() && !part.everybody;
    part.ask = if (asks.is_empty() && !best) || outside || seeks {
        None
    } else if stray && asks.iter().all(|k| matches!(k, Kind::Term(Term::Sales | Term::Sold | Term::Total))) {
        None
    } else if asked(Term::Registered) || registers {
        Some(Ask::Registrations)
    } else if asks.iter().copied().any(asks_for_total)
        || best
        || (asked(Term::Sales) || asked(Term::Sold)) && (says(Term::Combined) || says(Term::Each))
    {
        Some(Ask::Total)
    } else if asked(Term::Sales) || asked(Term::Sold) {
        Some(Ask::Sales)
    } else {
        Some(Ask::Customer { contact: asked(Term::Contact), all })
    };
    Some(part)
}

/// 600円です: an answer, and no sale by itself.
fn fragment(clause: &[Token]) -> bool {
    !clause.iter().any(|t| t.kind == Kind::Code)
}

/// Words that look like a day and are none.
fn refused(message: &Message, clause: &[Token]) -> Option<Remark> {
    clause.iter().find_map(|t| match t.kind {
        Kind::Date(n) => message.dates.get(n).and_then(|found| match found.meaning {
            Meaning::Refused(why) => Some(Remark::Refused { words: found.words.clone(), why }),
            _ => None,
        }),
        _ => None,
    })
}

/// Whom and which days a clause is about.
fn looked_up(message: &Message, clause: &[Token], lang: Lang) -> Part {
    let says = |term: Term| clause.iter().any(|t| t.is(term));
    let customers = slots::customers(message, clause, lang, false);
    let taken = |i: usize| customers.iter().any(|n| n.tokens.contains(&i));
    let each = says(Term::Each);
    let periods: Vec<When> = clause
        .iter()
        .filter_map(|t| if let Kind::Date(n) = t.kind { message.dates.get(n) } else { None })
        .filter_map(|found| When::of(&found.words, &found.meaning))
        .collect();
    // Short words in hiragana are most often endings and fillers.
    let filler = |t: &Token| t.low.chars().count() <= 3 && t.low.chars().all(is_hiragana);
    let strange = |(i, t): &(usize, &Token)| {
        (t.kind == Kind::Word && !taken(*i) && !filler(t)) || matches!(t.kind, Kind::Amount(_)) || t.is(Term::Outside)
    };
    Part {
        ask: None,
        certain: !customers.is_empty() && customers.iter().all(|n| n.certain),
        unread: clause.iter().enumerate().filter(strange).map(|(_, t)| message.words(t.at.clone())).collect(),
        who: customers.into_iter().map(|n| n.who).collect(),
        when: if each { periods } else { joined(periods) },
        group: group(clause),
        everybody: says(Term::Everybody),
        pronoun: says(Term::It) || says(Term::Same),
    }
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

fn group(clause: &[Token]) -> Option<Group> {
    let says = |term: Term| clause.iter().any(|t| t.is(term));
    let best = says(Term::Best);
    [
        (says(Term::ByMonth), Group::Month),
        (says(Term::ByWeek), Group::Week),
        (says(Term::ByDay), Group::Day),
        (says(Term::ByStaff) || (best && says(Term::StaffWord)), Group::Staff),
        (says(Term::ByCustomer) || best, Group::Customer),
    ]
    .into_iter()
    .find_map(|(said, group)| said.then_some(group))
}

/// Gives a condition to the registration it governs; what that one lacks may stand in the condition.
fn condition_of(message: &Message, parts: &mut Vec<Part>, about: Part, test: Option<super::request::Test>) {
    let registers = |p: &Part| matches!(p.ask, Some(Ask::Register(_)));
    if !parts.iter().any(registers) {
        *parts = vec![remark(Remark::UnclearCondition)];
        return;
    }
    let mut who = about.who.into_iter().next();
    let mut when = about.when.into_iter().next();
    // 今月の件数を確認して、0件なら…: what is looked up first is what the condition is about.
    let first =
        parts.first().filter(|p| !registers(p) && (message.has(Term::Check) || message.has(Term::Seek))).cloned();
    if let Some(first) = first {
        parts.remove(0);
        who = who.or_else(|| first.who.into_iter().next());
        when = when.or_else(|| first.when.into_iter().next());
    }
    for part in parts.iter_mut() {
        let Some(Ask::Register(sales)) = &mut part.ask else { continue };
        for sale in sales.iter_mut() {
            sale.who = sale.who.take().or_else(|| who.clone());
            let who = who.clone().or_else(|| sale.who.clone());
            sale.condition = Some(Condition { who, when: when.clone(), test });
        }
    }
    // Bare verbs that only repeat the first: …登録したい。ただし…の場合に登録を行う.
    parts.retain(|p| !matches!(&p.ask, Some(Ask::Register(sales)) if sales.iter().all(|s| s.goods.is_none() && s.price == super::request::Price::Missing)) );
}
