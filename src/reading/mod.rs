//! Dates, amounts and quantities in Japanese and English sentences, read by code: the same words always give the same
//! value.
//!
//! What it promises: it is pure (the reference day is an argument, no clock, no zone, no locale of the machine), it never
//! chooses in silence (words with several meanings give all of them, the likeliest for a past sale first), and it refuses
//! what is not a day (2月30日) with a reason instead of guessing another. Spans count Unicode scalar values of the text
//! as given. It does not decide what a sentence asks for.

mod amounts;
mod dates;
pub(crate) mod fold;
mod numbers;

use chrono::NaiveDate;

use crate::domain::Yen;

/// A date or period found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The words as written.
    pub words: String,
    /// Where they begin, in Unicode scalar values.
    pub start_char: usize,
    /// Where they end, exclusive.
    pub end_char: usize,
    /// What they say.
    pub meaning: Meaning,
}

/// What date words say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// One reading only.
    Clear(Reading),
    /// Two or more readings, the likeliest for something that already happened first.
    Ambiguous(Vec<Reading>),
    /// Looks like a date and is none.
    Refused(Refusal),
}

/// A day or a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A calendar day.
    Day(NaiveDate),
    /// From the first day to the last, both included.
    Range(NaiveDate, NaiveDate),
}

/// Why date words were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The calendar has no such day: 2月30日, 13月1日.
    NoSuchDay,
    /// The day exists, on another day of the week than the words say.
    OtherWeekday,
    /// The period ends before it begins.
    EndsBeforeItBegins,
}

/// An amount of money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amount {
    /// The words as written.
    pub words: String,
    /// Where they begin, in Unicode scalar values.
    pub start_char: usize,
    /// Where they end, exclusive.
    pub end_char: usize,
    /// The value in whole yen.
    pub yen: Yen,
}

/// A number of things: 4個, 3 boxes.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// The words as written.
    pub words: String,
    /// Where they begin, in Unicode scalar values.
    pub start_char: usize,
    /// Where they end, exclusive.
    pub end_char: usize,
    /// How many.
    pub number: f64,
    /// The counter or unit, folded: `個`, `kg`, `boxes`.
    pub unit: String,
}

/// Finds dates and periods, in the order of the text and never overlapping. Weeks run from Monday to Sunday.
pub fn dates(text: &str, today: NaiveDate) -> Vec<Found> {
    dates::read(text, today)
}

/// Finds amounts of money: numbers with a currency, or with 万 and the like. A bare number is none.
pub fn amounts(text: &str) -> Vec<Amount> {
    amounts::amounts(text)
}

/// Finds quantities: numbers with a counter or unit. Amounts and dates are none.
pub fn quantities(text: &str) -> Vec<Quantity> {
    amounts::quantities(text)
}

impl Meaning {
    /// All readings, the likeliest first; none when refused.
    pub fn readings(&self) -> &[Reading] {
        match self {
            Self::Clear(reading) => std::slice::from_ref(reading),
            Self::Ambiguous(readings) => readings,
            Self::Refused(_) => &[],
        }
    }
}

impl Reading {
    /// The first day.
    pub fn start(self) -> NaiveDate {
        match self {
            Self::Day(day) | Self::Range(day, _) => day,
        }
    }

    /// The last day.
    pub fn end(self) -> NaiveDate {
        match self {
            Self::Day(day) | Self::Range(_, day) => day,
        }
    }
}
