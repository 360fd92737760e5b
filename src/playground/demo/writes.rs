//! Registrations and cancellations: what is checked and asked before a card, and what is said of it.

use serde_json::json;

use super::calls::{self, Call, arguments};
use super::plan::{Plan, Step};
use super::request::{Condition, Day, Price, Registration, Target, Who};
use super::say::{self, Outcome};
use super::turns;
use crate::words::{cards, demo as words};

impl Plan<'_> {
    pub(super) fn register(&self, registration: &Registration, from: usize) -> Step {
        let button = cards::confirm(self.lang);
        let shown = match registration.replaces {
            Some(_) => words::card_replaced(self.lang, button),
            None => words::card_shown(self.lang, button),
        };
        let ready = self.registration(registration, from);
        ready.and_then(|(call, remarks)| self.write(call, remarks, shown, from)).unwrap_or_else(|step| step)
    }

    /// The call that proposes a registration, with remarks for the person; or what comes before it.
    pub(super) fn registration(&self, r: &Registration, from: usize) -> Result<(Call, Vec<String>), Step> {
        if r.condition.as_ref().is_some_and(|c| c.test.is_none()) {
            return Err(Step::Say(words::condition_unclear(self.lang)));
        }
        if let Some(question) = self.question(r) {
            return Err(Step::Say(question));
        }
        let (Some(who), Some(goods), Price::Yen(price)) = (&r.who, &r.goods, &r.price) else {
            return Err(Step::Say(self.missing(r)));
        };
        let (code, _) = self.resolve(who, from)?;
        let mut remarks = Vec::new();
        if let Some(condition) = &r.condition {
            remarks.push(self.condition(condition, who, from)?);
        }
        let mut args = arguments(json!({ "code_customer": code, "products": goods, "price": price.0 }));
        if let Day::One { day, words: said, other } = &r.day {
            args.insert("date_sales_str".into(), day.to_string().into());
            let read_as =
                |other| words::date_read_as(self.lang, said, say::day(self.lang, *day), say::day(self.lang, other));
            remarks.extend(other.map(read_as));
            remarks.extend((*day > self.today).then(|| words::future_day(self.lang, say::day(self.lang, *day))));
        }
        args.extend(r.replaces.as_ref().map(|id| ("replaces_proposal".to_owned(), id.clone().into())));
        Ok((("add_sale", args), remarks))
    }

    /// What has to be asked because the words leave it open or say what cannot be.
    fn question(&self, r: &Registration) -> Option<String> {
        let lang = self.lang;
        match (&r.price, &r.day) {
            (Price::Several, _) => Some(words::several_prices(lang)),
            (Price::PerPiece(price), _) => Some(words::price_per_piece(lang, price)),
            (Price::Refused { words, why }, _) => Some(say::refused_amount(lang, words, *why)),
            (_, Day::Longer { words: period, .. }) => Some(words::which_day(lang, period)),
            (_, Day::Refused { words, why }) => Some(say::refusal(lang, words, *why)),
            (_, Day::Several(days)) => {
                let days: Vec<String> = days.iter().map(|d| say::day(lang, *d)).collect();
                Some(words::several_days(lang, days.join(&words::and(lang))))
            }
            (_, Day::Unsettled { words: said, days }) => {
                let days: Vec<String> = days.iter().map(|d| say::day(lang, *d)).collect();
                Some(words::which_of_days(lang, said, days.join(&words::or(lang))))
            }
            _ => None,
        }
    }

    fn missing(&self, r: &Registration) -> String {
        let lang = self.lang;
        let parts = [
            (r.who.is_none(), words::missing_customer(lang)),
            (r.goods.is_none(), words::missing_products(lang)),
            (r.price == Price::Missing, words::missing_price(lang)),
        ];
        let missing: Vec<String> = parts.into_iter().filter_map(|(is, what)| is.then_some(what)).collect();
        let missing = missing.join(&words::and(lang));
        match &r.goods {
            Some(goods) => words::missing_of(lang, goods, missing),
            None => words::missing(lang, missing),
        }
    }

    /// Looks whether the condition holds; then what was found.
    fn condition(&self, condition: &Condition, who: &Who, from: usize) -> Result<String, Step> {
        let lang = self.lang;
        let (of, label) = self.resolve(condition.who.as_ref().unwrap_or(who), from)?;
        let (call, outcome) = self.fetch(calls::sales(&of, condition.when.as_ref().map(|w| w.period)), from)?;
        match outcome {
            Outcome::Error { code, sentence } => {
                Err(Step::Say(words::could_not_read(lang, label, say::error(lang, &code, &sentence))))
            }
            Outcome::Data(data) => {
                let (count, shown) = (say::count(&data), say::period(lang, calls::period_of(&call)));
                if condition.test.is_some_and(|test| test.holds(count)) {
                    return Ok(words::condition_holds(lang, label, shown, count));
                }
                Err(Step::Say(words::condition_fails(lang, label, shown, count)))
            }
        }
    }

    pub(super) fn cancel(&self, sale: &Target, reason: Option<&str>, from: usize) -> Step {
        let found = self.sale_to_cancel(sale, from).and_then(|(number, about)| match reason {
            Some(reason) => {
                let call = calls::cancellation(&number, reason);
                self.write(call, Vec::new(), words::cancel_card_shown(self.lang), from)
            }
            None => {
                let ask = words::which_reason(self.lang, &number);
                Ok(Step::Say(about.map_or(ask.clone(), |about| format!("{about}\n\n{ask}"))))
            }
        });
        found.unwrap_or_else(|step| step)
    }

    /// The number of the sale, with a line about it when it had to be looked for.
    pub(super) fn sale_to_cancel(&self, sale: &Target, from: usize) -> Result<(String, Option<String>), Step> {
        if let Target::Number(number) = sale {
            return Ok((number.clone(), None));
        }
        if let Some(press) = self.press_the_card() {
            return Err(Step::Say(press));
        }
        if let Some(number) = turns::written(self.earlier()) {
            return Ok((number, None));
        }
        if *sale == Target::Missing {
            return Err(Step::Say(words::which_sale(self.lang)));
        }
        let (_, outcome) = self.fetch(calls::registrations(None, None), from)?;
        let label = words::my_last_registration(self.lang);
        match outcome {
            Outcome::Error { code, sentence } => {
                Err(Step::Say(words::could_not_read(self.lang, label, say::error(self.lang, &code, &sentence))))
            }
            Outcome::Data(data) => {
                // A number begins with the time of the registration.
                let rows = say::rows(&data, "registrations").iter().filter(|r| !say::is_cancelled(r));
                let Some(row) = rows.max_by_key(|r| say::field(r, "code_sales")) else {
                    return Err(Step::Say(words::which_sale(self.lang)));
                };
                Ok((say::field(row, "code_sales"), Some(format!("{label}\n\n{}", say::registration(self.lang, row)))))
            }
        }
    }

    /// The write's card, when the host made one.
    fn write(&self, call: Call, remarks: Vec<String>, shown: String, from: usize) -> Result<Step, Step> {
        let (call, content) = self.content(call, from)?;
        if turns::proposal(content).is_some() {
            return Ok(Step::Card { remarks, shown });
        }
        let why = match say::outcome(content) {
            Outcome::Error { code, sentence } => say::error(self.lang, &code, &sentence),
            Outcome::Data(_) => words::error_other(self.lang, call.0),
        };
        Ok(Step::Say(words::not_prepared(self.lang, why)))
    }
}
