//! From what is asked, and the results so far, to the next calls or the answer.

use chrono::{Datelike, NaiveDate};
use serde_json::{Map, Value, json};

use super::conversation::{Answer, Conversation, Event};
use super::grammar::{Day, Intent, Period, Price, Registration, Test, Who};
use super::say::{self, Outcome};
use super::spellings;
use super::talk::Talk;
use super::turns::{self, Task};
use crate::domain::Lang;
use crate::words::{cards, demo as words};

type Call = (&'static str, Map<String, Value>);

/// What one intent comes to for now.
enum Step {
    /// Calls whose results are needed first.
    Need(Vec<Call>),
    /// Words for the answer.
    Say(String),
    /// A card was made.
    Card(String),
}

struct Plan<'c> {
    conversation: &'c Conversation,
    task: Task,
    today: NaiveDate,
    lang: Lang,
}

/// Answers a request to the model.
pub(super) fn answer(conversation: &Conversation) -> Answer {
    let lang = conversation.lang.unwrap_or(Lang::Ja);
    let Some(today) = conversation.today else { return Answer::Text(words::no_today(lang)) };
    let Some(task) = turns::task(conversation, today) else { return Answer::Text(words::help(lang)) };
    let lang = task.lang;
    Plan { conversation, task, today, lang }.answer()
}

impl Plan<'_> {
    fn answer(&self) -> Answer {
        if self.task.intents.is_empty() || self.task.talk == Talk::Yes {
            return Answer::Text(self.talk());
        }
        let (first, from) = self.remaining();
        let mut calls: Vec<Call> = Vec::new();
        let mut texts: Vec<String> = Vec::new();
        let mut card: Option<String> = None;
        let mut proposing = false;
        for intent in self.task.intents.iter().skip(first) {
            // What stands after a write is asked about the state after it.
            if (card.is_some() || proposing) && !intent.writes() {
                proposing = true;
                break;
            }
            match self.step(intent, from) {
                Step::Need(needed) => {
                    proposing |= needed.iter().any(|c| matches!(c.0, "add_sale" | "cancel_sale"));
                    // Until it is known whether a card is made, nothing after it may start.
                    proposing |= intent.writes();
                    for call in needed {
                        if !calls.contains(&call) {
                            calls.push(call);
                        }
                    }
                }
                Step::Say(text) => {
                    if !texts.contains(&text) {
                        texts.push(text);
                    }
                }
                Step::Card(text) => card = Some(text),
            }
        }
        if !calls.is_empty() {
            return self.offered(calls);
        }
        if let Some(card) = card {
            texts.push(card);
            if proposing {
                texts.push(words::rest_follows(self.lang));
            }
        }
        if texts.is_empty() {
            texts.push(self.nothing_left());
        }
        Answer::Text(texts.join("\n\n"))
    }

    /// The first intent still to be done, and since when results count: after a card was decided, what came after the
    /// write is carried out with fresh results.
    fn remaining(&self) -> (usize, usize) {
        let Some(decided) = self.task.continues else { return (0, self.task.since) };
        let last = self.task.intents.iter().rposition(|intent| {
            intent.writes()
                && self.write_of(intent).is_some_and(|(tool, args)| {
                    let range = self.task.since..decided;
                    turns::result_within(&self.conversation.events, range, tool, &args).is_some_and(turns::proposed)
                })
        });
        (last.map_or(self.task.intents.len(), |l| l + 1), decided)
    }

    fn write_of(&self, intent: &Intent) -> Option<Call> {
        match intent {
            Intent::Register(r) => match self.registration(r, self.task.since) {
                Ok((call, _)) => Some(call),
                Err(_) => None,
            },
            Intent::Cancel { sale: Some(sale), reason: Some(reason) } => Some(cancel_call(sale, reason)),
            _ => None,
        }
    }

    /// The calls, if the tools are offered; else what to say instead.
    fn offered(&self, calls: Vec<Call>) -> Answer {
        let missing = calls.iter().find(|c| !self.conversation.tools.contains(c.0));
        match missing {
            None => Answer::Calls(calls),
            Some((tool, _)) if matches!(*tool, "add_sale" | "cancel_sale") && !self.conversation.tools.is_empty() => {
                Answer::Text(words::no_tool_to_write(self.lang))
            }
            Some(_) => Answer::Text(words::no_tool_to_read(self.lang)),
        }
    }

    fn talk(&self) -> String {
        match self.task.talk {
            _ if self.task.continues.is_some() => self.nothing_left(),
            Talk::Help => words::help(self.lang),
            Talk::Thanks => words::welcome(self.lang),
            Talk::Outside => words::outside(self.lang),
            Talk::Unclear => words::not_understood(self.lang),
            Talk::Yes if self.card_waits() => words::press_the_card(self.lang, cards::confirm(self.lang)),
            Talk::Yes => words::no_card_waits(self.lang),
        }
    }

    /// What to say when nothing of the request remains: the very words the host asks for, if it does.
    fn nothing_left(&self) -> String {
        let note = match self.task.continues.and_then(|n| self.conversation.events.get(n)) {
            Some(Event::Note(note)) => note.split_once("answer exactly: ").map(|(_, words)| words.trim().to_owned()),
            _ => None,
        };
        note.filter(|words| !words.is_empty()).unwrap_or_else(|| words::nothing_left(self.lang))
    }

    fn card_waits(&self) -> bool {
        let before: Vec<Event> = self.conversation.events.iter().take(self.task.since).cloned().collect();
        turns::card_waits(&before)
    }

    fn step(&self, intent: &Intent, from: usize) -> Step {
        match intent {
            Intent::BadDate { words, why } => Step::Say(say::refusal(self.lang, words, *why)),
            Intent::Customer { who, contact, all } => self.customer(who.as_ref(), *contact, *all, from),
            Intent::Sales { who, period } => self.sales(who, *period, from),
            Intent::Total { who, period, group } => self.total(who.as_ref(), *period, *group, from),
            Intent::Mine { period } => self.mine(*period, from),
            Intent::Register(registration) => self.register(registration, from),
            Intent::Cancel { sale, reason } => self.cancel(sale.as_deref(), reason.as_deref(), from),
        }
    }

    /// The result of a call since `from`, or the call as the next step.
    fn fetch(&self, call: Call, from: usize) -> Result<Outcome, Step> {
        let range = from..self.conversation.events.len();
        match turns::result_within(&self.conversation.events, range, call.0, &call.1) {
            Some(content) => Ok(say::outcome(content)),
            None => Err(Step::Need(vec![call])),
        }
    }

    /// The code the person has picked for a name, in either spelling.
    fn chosen(&self, name: &str) -> Option<String> {
        let chosen = &self.task.chosen;
        chosen.get(name).or_else(|| chosen.get(&spellings::other(name)?)).cloned()
    }

    /// Customers by name: as written and, when there is nobody, in the other spelling.
    fn search(&self, name: &str, from: usize) -> Result<Outcome, Step> {
        let call = |name: &str| ("get_customers", arguments(json!({ "name_str_customer": name })));
        let found = self.fetch(call(name), from)?;
        match (&found, spellings::other(name)) {
            (Outcome::Data(data), Some(other)) if say::count(data) == 0 => self.fetch(call(&other), from),
            _ => Ok(found),
        }
    }

    /// The customer's code, and how to call the customer in the answer.
    fn resolve(&self, who: &Who, from: usize) -> Result<(String, String), Step> {
        let name = match who {
            Who::Code(code) => return Ok((code.clone(), code.clone())),
            Who::Name(name) => name,
        };
        if let Some(code) = self.chosen(name) {
            return Ok((code.clone(), code));
        }
        match self.search(name, from)? {
            Outcome::Error { code, sentence } => {
                Err(Step::Say(words::could_not_read(self.lang, name, say::error(self.lang, &code, &sentence))))
            }
            Outcome::Data(data) => match data.get("customers").and_then(Value::as_array).map(Vec::as_slice) {
                Some([only]) => {
                    let code = say::field(only, "code_customer");
                    Ok((code.clone(), format!("{code} {}", say::field(only, "name_customer"))))
                }
                None | Some([]) => Err(Step::Say(words::nobody_named(self.lang, name))),
                Some(_) => Err(Step::Say(format!(
                    "{}\n\n{}",
                    words::several_named(self.lang, name, say::count(&data)),
                    say::customers(self.lang, &data)
                ))),
            },
        }
    }

    fn customer(&self, who: Option<&Who>, contact: bool, all: bool, from: usize) -> Step {
        let chosen = |who: &Who| match who {
            Who::Name(name) => self.chosen(name).map(Who::Code),
            Who::Code(_) => None,
        };
        let who = who.map(|w| chosen(w).unwrap_or_else(|| w.clone()));
        let (found, label) = match &who {
            None if all => (self.fetch(("get_customers", Map::new()), from), String::new()),
            None => return Step::Say(words::which_customer(self.lang)),
            Some(Who::Code(code)) => {
                (self.fetch(("get_customers", arguments(json!({ "code_customer": code }))), from), code.clone())
            }
            Some(Who::Name(name)) => (self.search(name, from), name.clone()),
        };
        let data = match found {
            Err(step) => return step,
            Ok(Outcome::Error { code, sentence }) => {
                return Step::Say(words::could_not_read(self.lang, label, say::error(self.lang, &code, &sentence)));
            }
            Ok(Outcome::Data(data)) => data,
        };
        let rows = data.get("customers").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let lang = self.lang;
        let text = match (rows, &who) {
            (_, None) => {
                format!("{}\n\n{}", words::all_customers(lang, say::count(&data)), say::customers(lang, &data))
            }
            ([], Some(Who::Code(code))) => words::no_code(lang, code),
            ([], Some(Who::Name(name))) => words::nobody_named(lang, name),
            ([only], Some(who)) => {
                let (code, name) = (say::field(only, "code_customer"), say::field(only, "name_customer"));
                let mut text = match who {
                    Who::Code(_) => words::the_name(lang, code, name),
                    Who::Name(_) => words::the_code(lang, name, code),
                };
                if contact || matches!(who, Who::Code(_)) {
                    text.push('\n');
                    text.push_str(&words::the_contact(lang, say::field(only, "address"), say::field(only, "phone")));
                }
                text
            }
            (_, Some(Who::Code(code))) => words::customers_named(lang, code, say::count(&data)),
            (_, Some(Who::Name(name))) => {
                format!("{}\n\n{}", words::several_named(lang, name, say::count(&data)), say::customers(lang, &data))
            }
        };
        Step::Say(text)
    }

    fn sales(&self, who: &Who, period: Option<Period>, from: usize) -> Step {
        let (code, label) = match self.resolve(who, from) {
            Ok(found) => found,
            Err(step) => return step,
        };
        let shown = say::period(self.lang, period);
        match self.fetch(sales_call(&code, period), from) {
            Err(step) => step,
            Ok(Outcome::Error { code, sentence }) => {
                Step::Say(words::could_not_read(self.lang, label, say::error(self.lang, &code, &sentence)))
            }
            Ok(Outcome::Data(data)) => {
                let rows = data.get("sales").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let label = rows.first().map_or(label, |r| format!("{code} {}", say::field(r, "name_customer")));
                if rows.is_empty() {
                    return Step::Say(words::no_sales_of(self.lang, label, shown));
                }
                let head = words::sales_of(self.lang, label, shown, say::count(&data), say::yen(&data, "total_price"));
                Step::Say(format!("{head}\n\n{}", say::sales(self.lang, &data)))
            }
        }
    }

    fn total(&self, who: Option<&Who>, period: Option<Period>, group: Option<&'static str>, from: usize) -> Step {
        let (code, label) = match who.map(|w| self.resolve(w, from)) {
            None => (None, words::everybody(self.lang)),
            Some(Ok((code, label))) => (Some(code), label),
            Some(Err(step)) => return step,
        };
        let Some(period) = period.or_else(|| this_month(self.today)) else {
            return Step::Say(words::not_understood(self.lang));
        };
        let several_months = (period.start.year(), period.start.month()) != (period.end.year(), period.end.month());
        let group = group.unwrap_or(if several_months { "month" } else { "total" });
        let mut args = json!({
            "date_sales_begin_str": period.start.to_string(),
            "date_sales_end_str": period.end.to_string(),
            "group_by": group,
        });
        if let (Some(code), Some(args)) = (code, args.as_object_mut()) {
            args.insert("code_customer".into(), code.into());
        }
        match self.fetch(("summarize_sales", arguments(args)), from) {
            Err(step) => step,
            Ok(Outcome::Error { code, sentence }) => {
                Step::Say(words::could_not_read(self.lang, label, say::error(self.lang, &code, &sentence)))
            }
            Ok(Outcome::Data(data)) => {
                let shown = say::period(self.lang, Some(period));
                let mut text =
                    words::total_of(self.lang, label, shown, say::yen(&data, "total_price"), say::count(&data));
                if let Some(groups) = say::groups(self.lang, &data).filter(|_| group != "total") {
                    text.push_str("\n\n");
                    text.push_str(&groups);
                }
                Step::Say(text)
            }
        }
    }

    fn mine(&self, period: Option<Period>, from: usize) -> Step {
        let mut args = Map::new();
        put_period(&mut args, period);
        let shown = say::period(self.lang, period);
        match self.fetch(("list_registrations", args), from) {
            Err(step) => step,
            Ok(Outcome::Error { code, sentence }) => {
                Step::Say(words::could_not_read(self.lang, shown, say::error(self.lang, &code, &sentence)))
            }
            Ok(Outcome::Data(data)) => {
                let rows = data.get("registrations").and_then(Value::as_array).map_or(0, Vec::len);
                if rows == 0 {
                    return Step::Say(words::no_registrations(self.lang, shown));
                }
                let count =
                    data.get("count").and_then(Value::as_u64).map_or_else(|| rows.to_string(), |c| c.to_string());
                let head = words::my_registrations(self.lang, shown, count);
                Step::Say(format!("{head}\n\n{}", say::registrations(self.lang, &data)))
            }
        }
    }

    fn register(&self, registration: &Registration, from: usize) -> Step {
        let (call, remarks) = match self.registration(registration, from) {
            Ok(ready) => ready,
            Err(step) => return step,
        };
        self.write(call, remarks, words::card_shown(self.lang, cards::confirm(self.lang)), from)
    }

    /// The call that proposes a registration, with remarks for the person; or what comes before it.
    fn registration(&self, r: &Registration, from: usize) -> Result<(Call, Vec<String>), Step> {
        let lang = self.lang;
        if r.condition.as_ref().is_some_and(|c| c.test == Test::Unclear) {
            return Err(Step::Say(words::condition_unclear(lang)));
        }
        match r.price {
            Price::Several => return Err(Step::Say(words::several_prices(lang))),
            Price::PerPiece => return Err(Step::Say(words::price_per_piece(lang))),
            Price::Missing | Price::Whole(_) => {}
        }
        if let Day::Longer { words: period, .. } = &r.date {
            return Err(Step::Say(words::which_day(lang, period)));
        }
        let (Some(who), Some(products), Price::Whole(price)) = (&r.who, &r.products, r.price) else {
            let mut missing = Vec::new();
            if r.who.is_none() {
                missing.push(words::missing_customer(lang));
            }
            if r.products.is_none() {
                missing.push(words::missing_products(lang));
            }
            if r.price == Price::Missing {
                missing.push(words::missing_price(lang));
            }
            return Err(Step::Say(words::missing(lang, missing.join(&words::and(lang)))));
        };
        let (code, _) = self.resolve(who, from)?;
        let mut remarks = Vec::new();
        if let Some(condition) = &r.condition {
            let asked = condition.who.as_ref().unwrap_or(who);
            let (of, label) = self.resolve(asked, from)?;
            let shown = say::period(lang, condition.period);
            match self.fetch(sales_call(&of, condition.period), from)? {
                Outcome::Error { code, sentence } => {
                    return Err(Step::Say(words::could_not_read(lang, label, say::error(lang, &code, &sentence))));
                }
                Outcome::Data(data) => {
                    let count = say::count(&data);
                    if (count == 0) != (condition.test == Test::NoneYet) {
                        return Err(Step::Say(words::condition_fails(lang, label, shown, count)));
                    }
                    remarks.push(words::condition_holds(lang, label, shown, count));
                }
            }
        }
        let mut args = json!({ "code_customer": code, "products": products, "price": price.0 });
        if let (Day::One { day, words: said, others }, Some(args)) = (&r.date, args.as_object_mut()) {
            args.insert("date_sales_str".into(), day.to_string().into());
            if let Some(other) = others.first() {
                remarks.push(words::date_read_as(lang, said, say::day(lang, *day), say::day(lang, *other)));
            }
        }
        Ok((("add_sale", arguments(args)), remarks))
    }

    fn cancel(&self, sale: Option<&str>, reason: Option<&str>, from: usize) -> Step {
        match (sale, reason) {
            (None, _) if self.card_waits() => Step::Say(words::press_the_card(self.lang, cards::confirm(self.lang))),
            (None, _) => Step::Say(words::which_sale(self.lang)),
            (Some(sale), None) => Step::Say(words::which_reason(self.lang, sale)),
            (Some(sale), Some(reason)) => {
                self.write(cancel_call(sale, reason), Vec::new(), words::cancel_card_shown(self.lang), from)
            }
        }
    }

    fn write(&self, call: Call, mut remarks: Vec<String>, shown: String, from: usize) -> Step {
        let range = from..self.conversation.events.len();
        let Some(content) = turns::result_within(&self.conversation.events, range, call.0, &call.1) else {
            return Step::Need(vec![call]);
        };
        if turns::proposed(content) {
            remarks.push(shown);
            return Step::Card(remarks.join("\n\n"));
        }
        let why = match say::outcome(content) {
            Outcome::Error { code, sentence } => say::error(self.lang, &code, &sentence),
            Outcome::Data(_) => words::error_other(self.lang, call.0),
        };
        Step::Say(words::not_prepared(self.lang, why))
    }
}

fn arguments(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn put_period(args: &mut Map<String, Value>, period: Option<Period>) {
    if let Some(period) = period {
        args.insert("date_sales_begin_str".into(), period.start.to_string().into());
        args.insert("date_sales_end_str".into(), period.end.to_string().into());
    }
}

fn sales_call(code: &str, period: Option<Period>) -> Call {
    let mut args = arguments(json!({ "code_customer": code }));
    put_period(&mut args, period);
    ("get_sales", args)
}

fn cancel_call(sale: &str, reason: &str) -> Call {
    ("cancel_sale", arguments(json!({ "code_sales": sale, "reason": reason })))
}

fn this_month(today: NaiveDate) -> Option<Period> {
    let start = today.with_day(1)?;
    let end = start.checked_add_months(chrono::Months::new(1))?.pred_opt()?;
    Some(Period { start, end })
}
