//! The Japanese eras that a sale can lie in, with their first and last days.

use chrono::NaiveDate;

use crate::reading::Reading;
use crate::reading::fold::Folded;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    Showa,
    Heisei,
    Reiwa,
}

const NAMES: [(&str, Era); 3] = [("令和", Era::Reiwa), ("平成", Era::Heisei), ("昭和", Era::Showa)];
const LETTERS: [(char, Era); 3] = [('r', Era::Reiwa), ('h', Era::Heisei), ('s', Era::Showa)];

impl Era {
    /// 令和, 平成, 昭和 at a position. Gives the end.
    pub(super) fn named_at(text: &Folded, i: usize) -> Option<(Self, usize)> {
        text.lookup(i, &NAMES)
    }

    /// R, H, S at a position.
    pub(super) fn letter_at(text: &Folded, i: usize) -> Option<Self> {
        let c = text.at(i)?;
        LETTERS.iter().find(|(letter, _)| *letter == c).map(|(_, era)| *era)
    }

    /// The calendar year of the era's n-th, whether or not the era lasted so long; years begin with 1.
    pub(super) fn year(self, n: i32) -> Option<i32> {
        let first = match self {
            Self::Showa => 1926,
            Self::Heisei => 1989,
            Self::Reiwa => 2019,
        };
        if (1..=999).contains(&n) { Some(first + n - 1) } else { None }
    }

    /// What of a reading lies within the era.
    pub(super) fn clip(self, reading: Reading) -> Option<Reading> {
        let (first, last) = match self {
            Self::Showa => (NaiveDate::from_ymd_opt(1926, 12, 25)?, NaiveDate::from_ymd_opt(1989, 1, 7)?),
            Self::Heisei => (NaiveDate::from_ymd_opt(1989, 1, 8)?, NaiveDate::from_ymd_opt(2019, 4, 30)?),
            Self::Reiwa => (NaiveDate::from_ymd_opt(2019, 5, 1)?, NaiveDate::MAX),
        };
        match reading {
            Reading::Day(day) => (first..=last).contains(&day).then_some(reading),
            Reading::Range(a, b) => {
                let (a, b) = (a.max(first), b.min(last));
                (a <= b).then_some(Reading::Range(a, b))
            }
            Reading::Since(_) | Reading::Until(_) => None,
        }
    }
}
