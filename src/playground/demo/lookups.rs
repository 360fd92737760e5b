//! Look-ups: the calls they need, and the answer made of the results.

use serde_json::Value;

use super::calls;
use super::plan::{Plan, Step};
use super::request::{Group, Intent, Period, When, Who};
use super::say::{self, Outcome};
use super::spellings;
use crate::words::demo as words;

impl Plan<'_> {
    /// The code the person has picked for a name, in either spelling.
    fn chosen(&self, name: &str) -> Option<String> {
        let chosen = &self.task.chosen;
        chosen.get(name).or_else(|| chosen.get(&spellings::other(name)?)).cloned()
    }

    /// Customers by name: as written and, when there is nobody, in the other spelling.
    fn search(&self, name: &str, from: usize) -> Result<Outcome, Step> {
        let (_, found) = self.fetch(calls::customers_named(name), from)?;
        match (&found, spellings::other(name)) {
            (Outcome::Data(data), Some(other)) if say::count(data) == 0 => {
                self.fetch(calls::customers_named(&other), from).map(|(_, found)| found)
            }
            _ => Ok(found),
        }
    }

    fn could_not_read(&self, label: &str, code: &str, sentence: &str) -> Step {
        Step::Say(words::could_not_read(self.lang, label, say::error(self.lang, code, sentence)))
    }

    fn several(&self, name: &str, data: &Value) -> Step {
        let head = words::several_named(self.lang, name, say::count(data));
        Step::Say(format!("{head}\n\n{}", say::customers(self.lang, data)))
    }

    /// The customer's code, and how to call the customer in the answer.
    pub(super) fn resolve(&self, who: &Who, from: usize) -> Result<(String, String), Step> {
        let name = match who {
            Who::Code(code) => return Ok((code.clone(), code.clone())),
            Who::Name(name) => name,
        };
        if let Some(code) = self.chosen(name) {
            return Ok((code.clone(), code));
        }
        match self.search(name, from)? {
            Outcome::Error { code, sentence } => Err(self.could_not_read(name, &code, &sentence)),
            Outcome::Data(data) => match say::rows(&data, "customers") {
                [] => Err(Step::Say(words::nobody_named(self.lang, name))),
                [only] => {
                    let code = say::field(only, "code_customer");
                    Ok((code.clone(), format!("{code} {}", say::field(only, "name_customer"))))
                }
                _ => Err(self.several(name, &data)),
            },
        }
    }

    pub(super) fn customer(&self, who: Option<&Who>, contact: bool, all: bool, from: usize) -> Step {
        let found = match who {
            None if all => self.all_customers(from),
            None => Ok(Step::Say(words::which_customer(self.lang))),
            Some(Who::Code(code)) => self.customer_of(code, from),
            Some(Who::Name(name)) => match self.chosen(name) {
                Some(code) => self.customer_of(&code, from),
                None => self.customer_named(name, contact, from),
            },
        };
        found.unwrap_or_else(|step| step)
    }

    fn all_customers(&self, from: usize) -> Result<Step, Step> {
        Ok(match self.fetch(calls::all_customers(), from)?.1 {
            Outcome::Error { code, sentence } => self.could_not_read(&words::everybody(self.lang), &code, &sentence),
            Outcome::Data(data) => {
                let head = words::all_customers(self.lang, say::count(&data));
                Step::Say(format!("{head}\n\n{}", say::customers(self.lang, &data)))
            }
        })
    }

    fn customer_of(&self, code: &str, from: usize) -> Result<Step, Step> {
        let lang = self.lang;
        Ok(match self.fetch(calls::customer(code), from)?.1 {
            Outcome::Error { code: error, sentence } => self.could_not_read(code, &error, &sentence),
            Outcome::Data(data) => match say::rows(&data, "customers") {
                [only, ..] => {
                    let name =
                        words::the_name(lang, say::field(only, "code_customer"), say::field(only, "name_customer"));
                    Step::Say(format!("{name}\n{}", say::contact(lang, only)))
                }
                [] => Step::Say(words::no_code(lang, code)),
            },
        })
    }

    fn customer_named(&self, name: &str, contact: bool, from: usize) -> Result<Step, Step> {
        let lang = self.lang;
        Ok(match self.search(name, from)? {
            Outcome::Error { code, sentence } => self.could_not_read(name, &code, &sentence),
            Outcome::Data(data) => match say::rows(&data, "customers") {
                [] => Step::Say(words::nobody_named(lang, name)),
                [only] => {
                    let code =
                        words::the_code(lang, say::field(only, "name_customer"), say::field(only, "code_customer"));
                    let contact = if contact { format!("\n{}", say::contact(lang, only)) } else { String::new() };
                    Step::Say(format!("{code}{contact}"))
                }
                _ => self.several(name, &data),
            },
        })
    }

    /// The words with the way an ambiguous period was read.
    fn with_reading(&self, text: String, when: Option<&When>) -> Step {
        let unsure = when.and_then(|w| w.unsure.as_ref().map(|unsure| (w.period, unsure)));
        let Some((period, (said, other))) = unsure else { return Step::Say(text) };
        let (period, other) = (say::period(self.lang, Some(period)), say::period(self.lang, Some(*other)));
        Step::Say(format!("{text}\n\n{}", words::period_read_as(self.lang, said, period, other)))
    }

    pub(super) fn sales(&self, who: &Who, when: Option<&When>, from: usize) -> Step {
        // Each table becomes a message of its own, without the sentence above it.
        let several = self.task.intents.iter().filter(|i| matches!(i, Intent::Sales { .. })).count() > 1;
        let table = if several { say::sales_and_customer } else { say::sales };
        let found = self.resolve(who, from).and_then(|(code, label)| {
            let (call, outcome) = self.fetch(calls::sales(&code, when.map(|w| w.period)), from)?;
            let shown = say::period(self.lang, calls::period_of(&call));
            Ok(match outcome {
                Outcome::Error { code, sentence } => self.could_not_read(&label, &code, &sentence),
                Outcome::Data(data) => {
                    let text = match say::rows(&data, "sales") {
                        [] => words::no_sales_of(self.lang, label, shown),
                        [first, ..] => {
                            let label = format!("{code} {}", say::field(first, "name_customer"));
                            let (count, total) = (say::count(&data), say::yen(&data, "total_price"));
                            let head = words::sales_of(self.lang, label, shown, count, total);
                            format!("{head}\n\n{}", table(self.lang, &data))
                        }
                    };
                    self.with_reading(text, when)
                }
            })
        });
        found.unwrap_or_else(|step| step)
    }

    pub(super) fn total(&self, who: Option<&Who>, when: Option<&When>, group: Option<Group>, from: usize) -> Step {
        let whom = match who.map(|w| self.resolve(w, from)) {
            None => Ok((None, words::everybody(self.lang))),
            Some(found) => found.map(|(code, label)| (Some(code), label)),
        };
        let found = whom.and_then(|(code, label)| {
            let Some(period) = when.map(|w| w.period).or_else(|| Period::month_of(self.today)) else {
                return Ok(Step::Say(words::not_understood(self.lang)));
            };
            let several_months = Period::month_of(period.start) != Period::month_of(period.end);
            let group = group.unwrap_or(if several_months { Group::Month } else { Group::Total });
            let (call, outcome) = self.fetch(calls::summary(code.as_deref(), period, group), from)?;
            Ok(match outcome {
                Outcome::Error { code, sentence } => self.could_not_read(&label, &code, &sentence),
                Outcome::Data(data) => {
                    let shown = say::period(self.lang, calls::period_of(&call));
                    let (total, count) = (say::yen(&data, "total_price"), say::count(&data));
                    let head = words::total_of(self.lang, label, shown, total, count);
                    let groups = say::groups(self.lang, &data).filter(|_| group != Group::Total);
                    let text = groups.map_or(head.clone(), |groups| format!("{head}\n\n{groups}"));
                    self.with_reading(text, when)
                }
            })
        });
        found.unwrap_or_else(|step| step)
    }

    pub(super) fn registrations(&self, by: Option<&str>, when: Option<&When>, from: usize) -> Step {
        let found = self.fetch(calls::registrations(by, when.map(|w| w.period)), from).map(|(call, outcome)| {
            let shown = say::period(self.lang, calls::period_of(&call));
            match outcome {
                Outcome::Error { code, sentence } => self.could_not_read(by.unwrap_or(&shown), &code, &sentence),
                Outcome::Data(data) => {
                    let rows = say::rows(&data, "registrations");
                    let text = match (rows, by) {
                        ([], Some(by)) => words::no_registrations_by(self.lang, by, shown),
                        ([], None) => words::no_registrations(self.lang, shown),
                        (_, Some(by)) => words::registrations_by(self.lang, by, shown, say::count(&data)),
                        (_, None) => words::my_registrations(self.lang, shown, say::count(&data)),
                    };
                    let table = if rows.is_empty() {
                        String::new()
                    } else {
                        format!("\n\n{}", say::registrations(self.lang, &data))
                    };
                    self.with_reading(format!("{text}{table}"), when)
                }
            }
        });
        found.unwrap_or_else(|step| step)
    }

    pub(super) fn one_sale(&self, number: &str, from: usize) -> Step {
        let found = self.fetch(calls::sale(number), from).map(|(_, outcome)| match outcome {
            Outcome::Error { code, sentence } => self.could_not_read(number, &code, &sentence),
            Outcome::Data(data) => match say::rows(&data, "registrations") {
                [] => Step::Say(words::no_sale(self.lang, number)),
                [row, ..] => {
                    let by = words::registered_by(self.lang, say::field(row, "registered_by_name"));
                    Step::Say(format!("{}\n\n{by}", say::registrations(self.lang, &data)))
                }
            },
        });
        found.unwrap_or_else(|step| step)
    }
}
