//! From what is asked, and the results so far, to the next calls or the answer.

use std::ops::Range;

use chrono::NaiveDate;

use super::calls::{self, Call};
use super::conversation::{Answer, Conversation, Event};
use super::request::{Intent, Remark, Who};
use super::say::{self, Outcome};
use super::talk::Talk;
use super::turns::{self, Task};
use crate::domain::Lang;
use crate::words::{cards, demo as words};

/// What one intent comes to for now.
pub(super) enum Step {
    /// Calls whose results are needed first.
    Need(Vec<Call>),
    /// Words for the answer.
    Say(String),
    /// A card was made: remarks on how the words were read, and what to say of the card.
    Card { remarks: Vec<String>, shown: String },
}

pub(super) struct Plan<'c> {
    pub(super) conversation: &'c Conversation,
    pub(super) task: Task,
    pub(super) today: NaiveDate,
    pub(super) lang: Lang,
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
        if self.task.intents.is_empty() {
            return Answer::Text(self.talk());
        }
        let (first, from) = self.remaining();
        let mut calls: Vec<Call> = Vec::new();
        let mut said: Vec<String> = Vec::new();
        let mut cards: Vec<String> = Vec::new();
        let mut proposing = false;
        let mut rest = false;
        let mut unanswered = false;
        for intent in self.task.intents.iter().skip(first) {
            // What stands after a write is asked about the state after it.
            if (!cards.is_empty() || proposing) && !intent.writes() && !matches!(intent, Intent::Remark(_)) {
                rest = true;
                break;
            }
            match self.step(intent, from) {
                Step::Need(needed) => {
                    // Until it is known whether a card is made, nothing after it may start.
                    proposing |= intent.writes();
                    calls.extend(needed.into_iter().filter(|c| !calls.contains(c)).collect::<Vec<_>>());
                }
                Step::Say(text) => {
                    unanswered |= said.contains(&text) && self.is_of_nobody(intent, &text);
                    said.push(text);
                }
                Step::Card { remarks, shown } => {
                    said.extend(remarks);
                    cards.push(shown);
                }
            }
        }
        if !calls.is_empty() {
            return self.offered(calls);
        }
        said.append(&mut cards);
        if rest {
            said.push(words::rest_follows(self.lang));
        }
        if unanswered {
            said.push(words::rest_of_nobody(self.lang));
        }
        if said.is_empty() {
            said.push(self.nothing_left());
        }
        let mut texts: Vec<String> = Vec::new();
        for text in said {
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        Answer::Text(texts.join("\n\n"))
    }

    /// The words say that the customer of the intent does not exist.
    fn is_of_nobody(&self, intent: &Intent, text: &str) -> bool {
        matches!(intent.who(), Some(Who::Name(name)) if text == words::nobody_named(self.lang, name))
    }

    /// The first intent still to be done, and since when results count: after a card was decided, what came after the
    /// write is carried out with fresh results.
    fn remaining(&self) -> (usize, usize) {
        let Some(decided) = self.task.continues else { return (0, self.task.since) };
        let made = |intent: &Intent| {
            let call = self.write_of(intent)?;
            let (_, results) = self.results(call, self.task.since..decided);
            results.last().and_then(|content| turns::proposal(content))
        };
        let last = self.task.intents.iter().rposition(|intent| made(intent).is_some());
        (last.map_or(self.task.intents.len(), |l| l + 1), decided)
    }

    fn write_of(&self, intent: &Intent) -> Option<Call> {
        match intent {
            Intent::Register(r) => self.registration(r, self.task.since).ok().map(|(call, _)| call),
            Intent::Cancel { sale, reason: Some(reason) } => {
                let (number, _) = self.sale_to_cancel(sale, self.task.since).ok()?;
                Some(calls::cancellation(&number, reason))
            }
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
            Talk::Answer => self.press_the_card().unwrap_or_else(|| words::no_card_waits(self.lang)),
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

    /// What happened before this request.
    pub(super) fn earlier(&self) -> &[Event] {
        self.conversation.events.get(..self.task.since).unwrap_or_default()
    }

    /// When a card waits: that only its buttons decide.
    pub(super) fn press_the_card(&self) -> Option<String> {
        let waits = !turns::waiting(self.earlier()).is_empty();
        waits.then(|| words::press_the_card(self.lang, cards::confirm(self.lang)))
    }

    fn step(&self, intent: &Intent, from: usize) -> Step {
        match intent {
            Intent::Customer { who, contact, all } => self.customer(who.as_ref(), *contact, *all, from),
            Intent::Sales { who, when } => self.sales(who, when.as_ref(), from),
            Intent::Total { who, when, group } => self.total(who.as_ref(), when.as_ref(), *group, from),
            Intent::Registrations { by, when } => self.registrations(by.as_deref(), when.as_ref(), from),
            Intent::Sale(number) => self.one_sale(number, from),
            Intent::Register(registration) => self.register(registration, from),
            Intent::Cancel { sale, reason } => self.cancel(sale, reason.as_deref(), from),
            Intent::Remark(remark) => Step::Say(self.remark(remark)),
        }
    }

    fn remark(&self, remark: &Remark) -> String {
        match remark {
            Remark::Refused { words, why } => say::refusal(self.lang, words, *why),
            Remark::Beyond => words::beyond(self.lang),
            Remark::OnlyRegistrations => words::condition_only_registrations(self.lang),
            Remark::Unread(parts) => words::unread(self.lang, parts.join(&words::list(self.lang))),
            Remark::NoFilter(parts) => words::no_filter(self.lang, parts.join(&words::list(self.lang))),
            Remark::Unfiltered(parts) => words::unfiltered(self.lang, parts.join(&words::list(self.lang))),
            Remark::NotToRegister => words::not_to_register(self.lang),
            Remark::WhatToChange => words::what_to_change(self.lang),
            Remark::WhichCard => words::which_card(self.lang),
            Remark::NoCardToChange => words::no_card_to_change(self.lang),
        }
    }

    /// The results of a call within a range, and the call itself: as the host corrected it, if it did.
    pub(super) fn results(&self, call: Call, range: Range<usize>) -> (Call, Vec<&str>) {
        let results = turns::results_within(&self.conversation.events, range.clone(), call.0, &call.1);
        match results.last().filter(|content| calls::differs(content)).and_then(|c| calls::corrected(&call, c)) {
            Some(corrected) => self.results_of_corrected(corrected, range),
            None => (call, results),
        }
    }

    fn results_of_corrected(&self, call: Call, range: Range<usize>) -> (Call, Vec<&str>) {
        let results = turns::results_within(&self.conversation.events, range, call.0, &call.1);
        (call, results)
    }

    /// The result of a call since `from` with the call, or the call as the next step. A call that the host holds back
    /// without saying what it reads is made once more: then it is carried out.
    pub(super) fn content(&self, call: Call, from: usize) -> Result<(Call, &str), Step> {
        let (call, results) = self.results(call, from..self.conversation.events.len());
        match results.as_slice() {
            [.., last] if !calls::differs(last) || results.len() > 1 => Ok((call, last)),
            _ => Err(Step::Need(vec![call])),
        }
    }

    /// The same, read.
    pub(super) fn fetch(&self, call: Call, from: usize) -> Result<(Call, Outcome), Step> {
        let (call, content) = self.content(call, from)?;
        Ok((call, say::outcome(content)))
    }
}
