//! What can be asked of this model, as far as a message says it.

use chrono::NaiveDate;

use crate::domain::Yen;
use crate::reading::{Meaning, Reading, Refusal};

/// A customer as the message names one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Code(String),
    Name(String),
}

/// A period, both days included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    pub(super) start: NaiveDate,
    pub(super) end: NaiveDate,
}

impl Period {
    /// What a reading covers; the tools need both ends, and an open one goes as far as any sale.
    pub(super) fn of(reading: Reading) -> Self {
        let (first, last) = (NaiveDate::from_ymd_opt(2000, 1, 1), NaiveDate::from_ymd_opt(2099, 12, 31));
        let start = reading.start().or(first).unwrap_or_default();
        Self { start, end: reading.end().or(last).unwrap_or_default().max(start) }
    }

    /// The month of a day.
    pub(super) fn month_of(day: NaiveDate) -> Option<Self> {
        use chrono::{Datelike, Months};
        let start = day.with_day(1)?;
        Some(Self { start, end: start.checked_add_months(Months::new(1))?.pred_opt()? })
    }
}

/// The period of a look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct When {
    pub(super) period: Period,
    /// The words, and the next likely period they can mean.
    pub(super) unsure: Option<(String, Period)>,
}

impl When {
    /// The likeliest reading; `None` when the words were refused.
    pub(super) fn of(words: &str, meaning: &Meaning<Reading>) -> Option<Self> {
        let mut readings = meaning.readings().iter().copied().map(Period::of);
        let period = readings.next()?;
        Some(Self { period, unsure: readings.find(|p| *p != period).map(|other| (words.to_owned(), other)) })
    }
}

/// How a total is divided; the words of the tool's argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Total,
    Day,
    Week,
    Month,
    Customer,
    Staff,
}

impl Group {
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Customer => "customer",
            Self::Staff => "staff",
        }
    }
}

/// One thing that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Intent {
    /// A customer's code, address, phone; all customers when `all`.
    Customer {
        who: Option<Who>,
        contact: bool,
        all: bool,
    },
    Sales {
        who: Who,
        when: Option<When>,
    },
    /// A total of one customer or of everybody; without a group, by month when the period has several.
    Total {
        who: Option<Who>,
        when: Option<When>,
        group: Option<Group>,
    },
    /// Registrations of the asker, or of a colleague.
    Registrations {
        by: Option<String>,
        when: Option<When>,
    },
    /// One sale by its number.
    Sale(String),
    Register(Registration),
    Cancel {
        sale: Target,
        reason: Option<String>,
    },
    /// Nothing to look up: only something to say.
    Remark(Remark),
}

impl Intent {
    /// The customer the intent is about.
    pub(super) fn who(&self) -> Option<&Who> {
        match self {
            Self::Customer { who, .. } | Self::Total { who, .. } => who.as_ref(),
            Self::Sales { who, .. } => Some(who),
            Self::Register(r) => r.who.as_ref(),
            Self::Registrations { .. } | Self::Sale(_) | Self::Cancel { .. } | Self::Remark(_) => None,
        }
    }

    pub(super) fn when(&self) -> Option<&When> {
        match self {
            Self::Sales { when, .. } | Self::Total { when, .. } | Self::Registrations { when, .. } => when.as_ref(),
            _ => None,
        }
    }

    /// Asks for a write.
    pub(super) fn writes(&self) -> bool {
        matches!(self, Self::Register(_) | Self::Cancel { .. })
    }
}

/// The sale to cancel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Number(String),
    /// The latest registration.
    Last,
    Missing,
}

/// What is said without looking anything up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Remark {
    /// Words that look like a day or an amount and are none.
    Refused { words: String, why: Refusal },
    /// About sales, and not to be had from this model.
    Beyond,
    /// A condition on something else than a registration.
    OnlyRegistrations,
    /// A part of the message that was not understood.
    Unread(Vec<String>),
    /// Goods or amounts that a look-up would have to be narrowed down to: nothing is looked up.
    NoFilter(Vec<String>),
    /// The same of a list, which is shown whole.
    Unfiltered(Vec<String>),
    /// A change, and no card that could be changed.
    NoCardToChange,
    /// The person asks for nothing to be registered.
    NotToRegister,
    /// A change that does not say what.
    WhatToChange,
    /// A change, and several cards that could be meant.
    WhichCard,
}

/// A sale to register.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Registration {
    pub(super) who: Option<Who>,
    pub(super) goods: Option<String>,
    pub(super) price: Price,
    pub(super) day: Day,
    pub(super) condition: Option<Condition>,
    /// The proposal whose card it takes the place of.
    pub(super) replaces: Option<String>,
}

impl Registration {
    pub(super) fn is_complete(&self) -> bool {
        self.who.is_some()
            && self.goods.is_some()
            && matches!(self.price, Price::Yen(_))
            && matches!(self.day, Day::Missing | Day::One { .. })
    }

    /// What the next sale of a message takes over from this one: customer and day; goods and price only together.
    pub(super) fn carried_to(&self, next: Self) -> Self {
        let alike = next.goods.is_none() && next.price == Price::Missing;
        let own = if alike { self.clone() } else { Self { goods: None, price: Price::Missing, ..self.clone() } };
        next.or(&own)
    }

    /// Takes what it lacks from another.
    pub(super) fn or(self, other: &Self) -> Self {
        Self {
            who: self.who.or_else(|| other.who.clone()),
            goods: self.goods.or_else(|| other.goods.clone()),
            price: if self.price == Price::Missing { other.price.clone() } else { self.price },
            day: if self.day == Day::Missing { other.day.clone() } else { self.day },
            condition: self.condition.or_else(|| other.condition.clone()),
            replaces: self.replaces.or_else(|| other.replaces.clone()),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Price {
    #[default]
    Missing,
    Yen(Yen),
    /// Several amounts: which is whose would be a guess.
    Several,
    /// A price for one piece: multiplying is not this model's to do.
    PerPiece(String),
    Refused {
        words: String,
        why: Refusal,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Day {
    #[default]
    Missing,
    /// A day, its words, and the next likely day they can mean.
    One {
        day: NaiveDate,
        words: String,
        other: Option<NaiveDate>,
    },
    /// A period where a day is needed.
    Longer {
        words: String,
        period: Period,
    },
    /// Different days, and nothing that tells them apart.
    Unsettled {
        words: String,
        days: Vec<NaiveDate>,
    },
    /// More than one day for one sale.
    Several(Vec<NaiveDate>),
    Refused {
        words: String,
        why: Refusal,
    },
}

impl Day {
    /// The likeliest day of the past: of words that mean the same day of another week, month or year the nearest one.
    pub(super) fn of(words: &str, meaning: &Meaning<Reading>) -> Self {
        use chrono::Datelike;
        let words = words.to_owned();
        if let Meaning::Refused(why) = meaning {
            return Self::Refused { words, why: *why };
        }
        let mut days =
            meaning.readings().iter().filter_map(|r| if let Reading::Day(day) = r { Some(*day) } else { None });
        let Some(day) = days.next() else {
            return match meaning.readings().first() {
                Some(reading) => Self::Longer { words, period: Period::of(*reading) },
                None => Self::Missing,
            };
        };
        let others: Vec<NaiveDate> = days.collect();
        let alike = |other: &NaiveDate| {
            let weeks = (*other - day).num_days().abs();
            other.day() == day.day() || (other.weekday() == day.weekday() && weeks <= 21)
        };
        match others.iter().find(|other| !alike(other)) {
            Some(other) => Self::Unsettled { words, days: vec![day, *other] },
            None => Self::One { day, words, other: others.first().copied() },
        }
    }
}

/// A condition on what is already registered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    pub(super) who: Option<Who>,
    pub(super) when: Option<When>,
    pub(super) test: Option<Test>,
}

/// The numbers of sales with which a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) least: u64,
    pub(super) most: u64,
}

impl Test {
    pub(super) const NONE_YET: Self = Self { least: 0, most: 0 };
    pub(super) const SOME_ALREADY: Self = Self { least: 1, most: u64::MAX };

    pub(super) fn holds(self, count: u64) -> bool {
        (self.least..=self.most).contains(&count)
    }
}
