//! The rows behind the tools, in either engine.
//!
//! Both keep the same rules: SQLite by what `sqlite` checks inside its transactions, PostgreSQL by functions of the
//! database (migrations/postgres), which other clients of the database go through as well. One suite of tests runs
//! over both.

use chrono::{NaiveDate, TimeDelta};
use chrono_tz::Tz;

use super::answer::{Cancelled, Code, Customers, Failure, Refusal, Registered, Registrations, Sales, Summary};
use super::arguments::{GetCustomers, GetSales, ListRegistrations, Range, SummarizeSales};
use super::{postgres, search_form, sqlite};
use crate::domain::{Person, Role};
use crate::records::postgres::Group;
use crate::records::{self, Db, OpenError, Records, Source};
use crate::staff::{self, Staff};
use crate::tokens::Approval;

/// What a company decides about writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Rules sale numbers and the default date.
    pub zone: Tz,
    /// How long a salesperson may cancel an own registration.
    pub undo_window: TimeDelta,
}

/// What `add_sale` would write; its text and numbers are checked already.
pub(super) struct NewSale {
    pub code_customer: String,
    pub products: String,
    pub price: i64,
    /// `None`: today, in the company's zone.
    pub date: Option<NaiveDate>,
}

/// What `cancel_sale` would write.
pub(super) struct Cancellation {
    pub code_sales: String,
    pub reason: String,
}

/// The store of record as the tools use it.
pub(super) enum Store {
    Sqlite(sqlite::Sales),
    Postgres(postgres::Sales),
}

impl Store {
    /// Opens the store of record for reads and writes of sales. `writes`: whether a login that cannot write is an error
    /// now, and not at the first sale.
    pub(super) async fn open(source: &Source, rules: Rules, writes: bool) -> Result<Self, OpenError> {
        Ok(match (Records::open(source, Group::Reader).await?, source) {
            (Records::Sqlite(records), _) => Self::Sqlite(sqlite::Sales::new(records, rules).await?),
            (Records::Postgres(records), Source::Postgres(settings)) => {
                let sales = postgres::Sales::new(records, settings, rules)?;
                if writes {
                    sales.can_write().await?;
                }
                Self::Postgres(sales)
            }
            (Records::Postgres(_), Source::File(_)) => return Err(OpenError::Schema),
        })
    }

    /// For audit rows and questions about the store's health.
    pub(super) fn quick(&self) -> Db<'_> {
        match self {
            Self::Sqlite(s) => s.records.quick().into(),
            Self::Postgres(p) => (&p.records.quick).into(),
        }
    }

    /// Whether reads and writes would find the store.
    pub(super) async fn answers(&self) -> Result<(), sqlx::Error> {
        records::query("SELECT 1").fetch_one(self.quick()).await?;
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(p) => p.can_write().await,
        }
    }

    /// Whether an answer to a read comes with its audit row written.
    pub(super) fn audits_answers(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    pub(super) async fn close(&self) {
        match self {
            Self::Sqlite(s) => s.records.close().await,
            Self::Postgres(p) => p.close().await,
        }
    }

    /// The caller's record, if it gives any right at this moment.
    pub(super) async fn member(&self, person: &Person) -> Result<Staff, Failure> {
        let found = match self {
            Self::Sqlite(s) => staff::find(s.records.read(), person).await?,
            Self::Postgres(p) => staff::find(&p.records.quick, person).await?,
        };
        found.filter(|staff| staff.active).ok_or_else(no_access)
    }

    /// Refuses a write that carries no approval.
    pub(super) async fn needs_approval(&self, person: &Person) -> Failure {
        match self.member(person).await {
            Ok(staff) if staff.role < Role::Sales => may_not_write(),
            Ok(_) => Refusal::new(
                Code::ApprovalRequired,
                "A sale is written only after the person has confirmed it; ask for the confirmation.",
            )
            .into(),
            Err(failure) => failure,
        }
    }

    pub(super) async fn get_customers(&self, person: &Person, args: &GetCustomers) -> Result<Customers, Failure> {
        let name = args.name_str_customer.as_deref();
        if name.is_some_and(|name| search_form(name).is_empty()) {
            // Whether there are letters is nothing that a stranger may learn, but no secret either: rights first.
            self.member(person).await?;
            let sentence = "name_str_customer has no letters to search for.";
            return Err(Refusal::new(Code::InvalidArguments, sentence).into());
        }
        match self {
            Self::Sqlite(s) => s.get_customers(person, args).await,
            Self::Postgres(p) => p.get_customers(person, args).await,
        }
    }

    pub(super) async fn get_sales(&self, person: &Person, args: &GetSales, range: Range) -> Result<Sales, Failure> {
        match self {
            Self::Sqlite(s) => s.get_sales(person, args, range).await,
            Self::Postgres(p) => p.get_sales(person, args, range).await,
        }
    }

    pub(super) async fn list_registrations(
        &self,
        person: &Person,
        args: &ListRegistrations,
        range: Range,
    ) -> Result<Registrations, Failure> {
        match self {
            Self::Sqlite(s) => s.list_registrations(person, args, range).await,
            Self::Postgres(p) => p.list_registrations(person, args, range).await,
        }
    }

    pub(super) async fn summarize_sales(
        &self,
        person: &Person,
        args: &SummarizeSales,
        range: Range,
    ) -> Result<Summary, Failure> {
        match self {
            Self::Sqlite(s) => s.summarize_sales(person, args, range).await,
            Self::Postgres(p) => p.summarize_sales(person, args, range).await,
        }
    }

    /// Registers an approved sale, or gives back what this approval registered before.
    pub(super) async fn add_sale(&self, approval: &Approval, new: &NewSale) -> Result<Registered, Failure> {
        match self {
            Self::Sqlite(s) => s.add_sale(approval, new).await,
            Self::Postgres(p) => p.add_sale(approval, new).await,
        }
    }

    /// Cancels a sale by an approved cancellation, or gives back what this approval cancelled before.
    pub(super) async fn cancel_sale(&self, approval: &Approval, new: &Cancellation) -> Result<Cancelled, Failure> {
        match self {
            Self::Sqlite(s) => s.cancel_sale(approval, new).await,
            Self::Postgres(p) => p.cancel_sale(approval, new).await,
        }
    }
}

/// No stranger learns whether anything is there.
pub(super) fn no_access() -> Failure {
    Refusal::new(Code::NotAllowed, "This person has no access to sales data.").into()
}

pub(super) fn may_not_write() -> Failure {
    Refusal::new(Code::NotAllowed, "This person may not write sales.").into()
}

pub(super) fn above_limit() -> Failure {
    let sentence = "The person who confirmed it may not approve this sale: up to the department's limit only the requester may, above it only another manager of the department.";
    Refusal::new(Code::NotAllowed, sentence).into()
}

pub(super) fn not_own_sale() -> Failure {
    let sentence = "Only a manager may cancel a sale that another person registered.";
    Refusal::new(Code::NotAllowed, sentence).into()
}

pub(super) fn too_late_to_cancel() -> Failure {
    let sentence = "The time to cancel an own registration is over; a manager may still cancel it.";
    Refusal::new(Code::NotAllowed, sentence).into()
}

pub(super) fn unknown_customer() -> Failure {
    let sentence = "There is no customer with this code; search by name with get_customers.";
    Refusal::new(Code::CustomerNotFound, sentence).into()
}

pub(super) fn unknown_sale() -> Failure {
    Refusal::new(Code::SaleNotFound, "There is no sale with this number.").into()
}

pub(super) fn cancelled_already() -> Failure {
    Refusal::new(Code::AlreadyCancelled, "The sale has been cancelled already.").into()
}

pub(super) fn mismatch() -> Failure {
    Refusal::new(Code::ApprovalMismatch, "The approval is for something else than this call would write.").into()
}

pub(super) fn not_approved() -> Failure {
    Refusal::new(Code::ApprovalInvalid, "There is no such approval; the person has not confirmed this write.").into()
}
