//! The sales that a clause asks to register: customers, goods, amounts and days, put together in their order.

use std::ops::Range;

use chrono::NaiveDate;

use super::goods::{self, Goods};
use super::lexicon::Term;
use super::message::{Kind, Message, Token, is_negated};
use super::names;
use super::request::{Day, Price, Registration, Who};
use crate::domain::Lang;
use crate::reading::{self, Context, Meaning};

/// Something said of a sale, at its place in the clause.
enum Slot<'g> {
    Who(Who),
    Goods(&'g Goods),
    Price(Price),
    Day(Day),
}

/// What is said of one sale.
#[derive(Default)]
struct Group<'g> {
    who: Vec<Who>,
    goods: Vec<&'g Goods>,
    price: Price,
    day: Day,
}

/// The sales of a clause. A customer, goods or an amount that comes again begins the next sale; what a sale lacks it
/// takes from the one before, and a day at the very end belongs to all. Also gives the words that were left over.
pub(super) fn read(message: &Message, clause: &[Token], lang: Lang) -> (Vec<Registration>, Vec<String>) {
    let customers = names::customers(message, clause, lang, true);
    let taken: Vec<Range<usize>> = customers.iter().map(|n| n.tokens.clone()).collect();
    let (goods, stray): (Vec<Goods>, Vec<Goods>) =
        goods::find(message, clause, &taken, lang).into_iter().partition(|g| goods::is_sold(clause, g, lang));
    let per_piece = clause.iter().any(|t| t.is(Term::PerPiece));
    let mut slots: Vec<(usize, Slot<'_>)> = Vec::new();
    slots.extend(customers.into_iter().map(|n| (n.tokens.start, Slot::Who(n.who))));
    slots.extend(goods.iter().map(|g| (g.tokens.start, Slot::Goods(g))));
    for (i, token) in clause.iter().enumerate() {
        match token.kind {
            Kind::Amount(n) if !is_negated(clause, i, lang) => {
                let price = price(message, clause, i, n, per_piece, &goods);
                slots.push((i, Slot::Price(price)));
            }
            Kind::Date(n) if !is_negated(clause, i, lang) => {
                let day = message.sale_dates.get(n).map(|found| Day::of(&found.words, &found.meaning));
                slots.push((i, Slot::Day(day.unwrap_or_default())));
            }
            _ => {}
        }
    }
    slots.sort_by_key(|s| s.0);
    let ends_with_day = matches!(slots.last(), Some((_, Slot::Day(_))));
    let mut groups = grouped(slots, message.today, lang);
    if ends_with_day && let Some(day) = groups.last().map(|g| g.day.clone()) {
        groups.iter_mut().filter(|g| g.day == Day::Missing).for_each(|g| g.day = day.clone());
    }
    let mut made: Vec<Registration> = Vec::new();
    let mut left: Vec<String> = stray.into_iter().map(|g| g.words).filter(|words| !goods::is_filler(words)).collect();
    for mut group in groups {
        // Beside what is counted, other words are no goods; and without a price or a customer they are no sale.
        let stray = !made.is_empty() && group.price == Price::Missing && group.who.is_empty();
        if stray || group.goods.iter().any(|g| g.counted) {
            let others = group.goods.extract_if(.., |g| !g.counted).map(|g| g.words.clone());
            left.extend(others.filter(|words| !goods::is_filler(words)));
        }
        if stray && group.goods.is_empty() {
            continue;
        }
        let goods = goods::joined(clause, &group.goods, lang);
        let before = made.last().cloned();
        let one = |who: Option<Who>| {
            let own = Registration {
                who,
                goods: goods.clone(),
                price: group.price.clone(),
                day: group.day.clone(),
                ..Registration::default()
            };
            before.as_ref().map_or(own.clone(), |before| before.carried_to(own))
        };
        let sales: Vec<Registration> = if group.who.is_empty() {
            vec![one(None)]
        } else {
            group.who.iter().cloned().map(|w| one(Some(w))).collect()
        };
        made.extend(sales);
    }
    (made, left)
}

fn price(message: &Message, clause: &[Token], i: usize, n: usize, per_piece: bool, goods: &[Goods]) -> Price {
    let Some(amount) = message.amounts.get(n) else { return Price::Missing };
    let words = amount.words.clone();
    let of_goods = clause.get(i + 1).is_some_and(|t| t.is_particle(&["の"]))
        && goods.iter().any(|g| g.tokens.start == i + 2 && g.named && g.counted);
    let of_one = i.checked_sub(1).is_some_and(|b| goods::prices_one(message, clause, b));
    match &amount.meaning {
        Meaning::Refused(why) => Price::Refused { words, why: *why },
        Meaning::Ambiguous(_) => Price::Several,
        Meaning::Clear(_) if per_piece || of_goods || of_one => Price::PerPiece(words),
        Meaning::Clear(yen) => Price::Yen(*yen),
    }
}

fn grouped(slots: Vec<(usize, Slot<'_>)>, today: NaiveDate, lang: Lang) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = vec![Group::default()];
    for (_, slot) in slots {
        let Some(group) = groups.last_mut() else { break };
        let priced = group.price != Price::Missing;
        let next = match &slot {
            Slot::Who(_) => !group.who.is_empty() && (priced || !group.goods.is_empty()),
            // 0016 paid 600 yen for 4 pumpkins: what is counted takes the place of other words.
            Slot::Goods(new) => priced && group.goods.iter().any(|g| g.counted || !new.counted),
            Slot::Day(_) => group.day != Day::Missing && priced,
            Slot::Price(_) => false,
        };
        if next {
            groups.push(Group::default());
        }
        let Some(group) = groups.last_mut() else { break };
        match slot {
            Slot::Who(who) => group.who.push(who),
            Slot::Goods(goods) => group.goods.push(goods),
            Slot::Price(price) => {
                group.price = if group.price == Price::Missing { price } else { Price::Several };
            }
            Slot::Day(day) => group.day = both(std::mem::take(&mut group.day), day, today, lang),
        }
    }
    groups
}

/// Of two days said of one sale: 先週 … 火曜日 is a day of that period; two different days are one too many.
pub(super) fn both(first: Day, second: Day, today: NaiveDate, lang: Lang) -> Day {
    match (&first, &second) {
        (Day::Missing, _) => second,
        (Day::Longer { words: period, .. }, Day::One { words: day, .. }) => {
            let phrase = match lang {
                Lang::Ja => format!("{period}の{day}"),
                Lang::En => format!("{day} of {period}"),
            };
            let found = reading::dates(&phrase, &Context::on(today));
            match found.as_slice() {
                [only] => Day::of(day, &only.meaning),
                _ => first,
            }
        }
        (Day::One { day: a, .. }, Day::One { day: b, .. }) if a != b => Day::Several(vec![*a, *b]),
        _ => first,
    }
}
