//! Loading customers, staff and sales from CSV files, as spreadsheets and other systems write them, and moving everything
//! from the embedded file into a database ([`moving`]).
//!
//! What loading promises: a value is read or refused, never guessed; what is refused is reported with its line, its column
//! and what to do; a file is loaded in one transaction, whole or (on request) without its bad lines; loading the same
//! file again changes nothing. A file is streamed: memory does not grow with its length, but for
//! the keys of customers and staff.

mod content;
mod encoding;
mod fields;
mod header;
mod lines;
mod load;
pub mod moving;
mod postgres;
mod quotes;
mod report;
mod rows;
mod sqlite;
mod store;
mod tables;

pub use self::content::Content;
pub use self::encoding::{Encoding, EncodingChoice};
pub use self::header::{Column, Mapping};
pub use self::lines::{Lines, Options, Problem, Record};
pub use self::load::{Failure, Load, Progress, Summary, load};
pub use self::report::Report;
pub use self::rows::{Batch, Checker, Customer, Fault, Known, Rows, Sale, StaffRow};

/// A Slack workspace or organisation as the columns `team` of a file take it.
///
/// # Errors
/// With what is wrong with it.
pub fn team(value: &str) -> Result<String, String> {
    named(fields::slack_id(value, rows::TEAM.0, rows::TEAM.1).map(str::to_owned))
}

/// A Slack user, likewise.
///
/// # Errors
/// With what is wrong with it.
pub fn user(value: &str) -> Result<String, String> {
    named(fields::slack_id(value, rows::USER.0, rows::USER.1).map(str::to_owned))
}

/// One department.
///
/// # Errors
/// With what is wrong with it.
pub fn department(value: &str) -> Result<String, String> {
    named(fields::text(value, 100, false).map(std::borrow::Cow::into_owned))
}

/// A person's name.
///
/// # Errors
/// With what is wrong with it.
pub fn display_name(value: &str) -> Result<String, String> {
    named(fields::text(value, 200, false).map(std::borrow::Cow::into_owned))
}

fn named<T>(read: Result<T, fields::Reason>) -> Result<T, String> {
    read.map_err(|reason| format!("it {reason}"))
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Customers, by code.
    Customers,
    /// Members of staff, by Slack team and user.
    Staff,
    /// Sales, by number.
    Sales,
}

impl Kind {
    /// The word of the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Customers => "customers",
            Self::Staff => "staff",
            Self::Sales => "sales",
        }
    }
}
