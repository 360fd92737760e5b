//! Dates, amounts and quantities in Japanese and English sentences, read by code: the same words always give the same
//! value.
//!
//! What it promises: it is pure (the reference day is an argument, no clock, no zone, no locale of the machine), it never
//! chooses in silence (words with several meanings give all of them, the likeliest for the asker's purpose first), and it
//! refuses what is not a day (2月30日) with a reason instead of guessing another. Spans count Unicode scalar values of the
//! text as given. It does not decide what a sentence asks for. The rules are in `docs/reading.md`, the tables that hold
//! the code to them in `tables/`.

mod amounts;
mod dates;
pub(crate) mod fold;
mod groups;
mod nouns;
mod number_words;
mod numbers;
mod quantities;
mod taxes;
mod units;

use std::ops::Range;

use chrono::NaiveDate;

use self::fold::Folded;

use crate::domain::Yen;

/// What the words are read against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// The reference day, in the asker's zone.
    pub today: NaiveDate,
    /// What the reading is for: it orders readings, it never drops one.
    pub purpose: Purpose,
    /// The month in which the company's fiscal year begins, 1 to 12; any other counts as 4.
    pub fiscal_start: u32,
}

/// What a reading is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// Something that already happened: where words can be a day or a period, the day comes first.
    #[default]
    Sale,
    /// A search: where words can be a day or a period, the period comes first.
    Search,
}

/// Everything found in a text, each list in the order of the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Days and periods.
    pub dates: Vec<Found>,
    /// Amounts of money.
    pub amounts: Vec<Amount>,
    /// Numbers of things.
    pub quantities: Vec<Quantity>,
}

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
    pub meaning: Meaning<Reading>,
}

/// What words say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning<T> {
    /// One reading only.
    Clear(T),
    /// Two or more different readings, the likeliest first.
    Ambiguous(Vec<T>),
    /// Looks like a date or an amount and is none.
    Refused(Refusal),
}

/// A day or a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A calendar day.
    Day(NaiveDate),
    /// From the first day to the last, both included; they may be equal.
    Range(NaiveDate, NaiveDate),
    /// From a day on, which lies in the future: no end is known.
    Since(NaiveDate),
    /// Up to and with a day: no beginning is known.
    Until(NaiveDate),
}

/// Why words were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The calendar has no such day: 2月30日, 13月1日.
    NoSuchDay,
    /// The day exists, on another day of the week than the words say.
    OtherWeekday,
    /// The period ends before it begins.
    EndsBeforeItBegins,
    /// The era had no such day: 令和元年4月1日.
    OutsideEra,
    /// A fraction of a yen: 600.5円.
    NotWhole,
    /// Digits grouped as no number is: 1,80円.
    Grouping,
    /// An amount below nothing: -600円.
    Negative,
}

/// An amount of money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amount {
    /// The words as written, without those on the tax.
    pub words: String,
    /// Where they begin, in Unicode scalar values.
    pub start_char: usize,
    /// Where they end, exclusive.
    pub end_char: usize,
    /// The value in whole yen.
    pub meaning: Meaning<Yen>,
    /// What stands beside it about the tax.
    pub tax: Option<Tax>,
}

/// What is said beside an amount about the tax. Nothing is computed from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tax {
    /// 税込, "tax included".
    Included,
    /// 税抜, "plus tax".
    Excluded,
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

/// Finds everything that is found in a text.
pub fn read(text: &str, context: &Context) -> Findings {
    let folded = Folded::new(text);
    let (mut taken, dates): (Vec<Range<usize>>, Vec<Found>) = dates::read(&folded, context).into_iter().unzip();
    let (priced, amounts): (Vec<Range<usize>>, Vec<Amount>) = amounts::amounts(&folded, &taken).into_iter().unzip();
    taken.extend(priced);
    taken.sort_unstable_by_key(|place| place.start);
    let quantities = quantities::quantities(&folded, &taken);
    Findings { dates, amounts, quantities }
}

/// Finds dates and periods, in the order of the text and never overlapping. Weeks run from Monday to Sunday.
pub fn dates(text: &str, context: &Context) -> Vec<Found> {
    dates::read(&Folded::new(text), context).into_iter().map(|(_, found)| found).collect()
}

/// Finds amounts of money: numbers with a currency, or with 万 and the like. A bare number is none.
pub fn amounts(text: &str) -> Vec<Amount> {
    read(text, &Context::on(NaiveDate::default())).amounts
}

/// Finds quantities: numbers with a counter or unit. Amounts and dates are none.
pub fn quantities(text: &str) -> Vec<Quantity> {
    read(text, &Context::on(NaiveDate::default())).quantities
}

/// The places of a text that are taken, passed from left to right.
struct Taken<'p> {
    ahead: &'p [Range<usize>],
}

impl<'p> Taken<'p> {
    fn new(places: &'p [Range<usize>]) -> Self {
        Self { ahead: places }
    }

    /// The first place that ends after `i`.
    fn after(&mut self, i: usize) -> Option<&'p Range<usize>> {
        while let Some((first, rest)) = self.ahead.split_first() {
            if first.end > i {
                return Some(first);
            }
            self.ahead = rest;
        }
        None
    }
}

impl Context {
    /// A past sale, seen from a day, in a company whose fiscal year begins in April.
    pub fn on(today: NaiveDate) -> Self {
        Self { today, purpose: Purpose::Sale, fiscal_start: 4 }
    }
}

impl<T> Meaning<T> {
    /// All readings, the likeliest first; none when refused.
    pub fn readings(&self) -> &[T] {
        match self {
            Self::Clear(reading) => std::slice::from_ref(reading),
            Self::Ambiguous(readings) => readings,
            Self::Refused(_) => &[],
        }
    }
}

impl Reading {
    /// The first day; none when the beginning is open.
    pub fn start(self) -> Option<NaiveDate> {
        match self {
            Self::Day(day) | Self::Range(day, _) | Self::Since(day) => Some(day),
            Self::Until(_) => None,
        }
    }

    /// The last day; none when the end is open.
    pub fn end(self) -> Option<NaiveDate> {
        match self {
            Self::Day(day) | Self::Range(_, day) | Self::Until(day) => Some(day),
            Self::Since(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
