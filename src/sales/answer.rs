//! What the tools give back: one envelope for success and refusal, the rows, and the codes.
//!
//! Every code is a definite "no, and nothing was written", with two exceptions that say only that a token was too old:
//! `caller_expired` and `approval_expired`. An outcome nobody knows (the store did not answer, the server has a bug) is
//! never a tool result but a JSON-RPC error.

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::Range;
use crate::domain::ProposalId;
use crate::tokens::Approval;

/// Why a call was refused. The names are a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Code {
    /// The call carries no caller token.
    CallerRequired,
    /// The caller token is forged, damaged, or for another call.
    CallerInvalid,
    /// The caller token was good once, or will be; ask again with a new one.
    CallerExpired,
    /// Not staff, revoked, or not the role for it.
    NotAllowed,
    /// An argument is missing, unknown, or not as the schema says.
    InvalidArguments,
    /// Not a day of the calendar, or a period that ends before it begins.
    InvalidDate,
    /// Not whole yen within the range.
    InvalidPrice,
    /// Empty, too long, or with control characters.
    InvalidProducts,
    /// No such customer within the person's departments.
    CustomerNotFound,
    /// No such sale within the person's departments.
    SaleNotFound,
    /// The sale was cancelled before, by another approval.
    AlreadyCancelled,
    /// A write without an approval token.
    ApprovalRequired,
    /// The approval token is forged, or its proposal was not approved by this person.
    ApprovalInvalid,
    /// The approval token is outside its lifetime; the proposal may be fine.
    ApprovalExpired,
    /// The approval is for something else than this call would write.
    ApprovalMismatch,
}

impl Code {
    /// The name in answers.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::CallerRequired => "caller_required",
            Self::CallerInvalid => "caller_invalid",
            Self::CallerExpired => "caller_expired",
            Self::NotAllowed => "not_allowed",
            Self::InvalidArguments => "invalid_arguments",
            Self::InvalidDate => "invalid_date",
            Self::InvalidPrice => "invalid_price",
            Self::InvalidProducts => "invalid_products",
            Self::CustomerNotFound => "customer_not_found",
            Self::SaleNotFound => "sale_not_found",
            Self::AlreadyCancelled => "already_cancelled",
            Self::ApprovalRequired => "approval_required",
            Self::ApprovalInvalid => "approval_invalid",
            Self::ApprovalExpired => "approval_expired",
            Self::ApprovalMismatch => "approval_mismatch",
        }
    }
}

/// A refusal: the code for programs, the sentence for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub code: Code,
    pub sentence: String,
    /// The approval it was asked with, where that was good: for the audit, which tells it by proposal and digest.
    pub approval: Option<(ProposalId, String)>,
}

impl Refusal {
    pub(super) fn new(code: Code, sentence: impl Into<String>) -> Self {
        Self { code, sentence: sentence.into(), approval: None }
    }

    pub(super) fn to_value(&self) -> Value {
        serde_json::json!({ "status": "error", "data": { "error": self.sentence, "code": self.code.name() } })
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// A definite refusal.
    Refused(Refusal),
    /// The store did not answer: nobody knows the outcome.
    Store(sqlx::Error),
}

impl Failure {
    /// The same, where it is a refusal, as one of a write that this approval asked for.
    pub(super) fn under(self, approval: &Approval) -> Self {
        match self {
            Self::Refused(refusal) => {
                let approval = Some((approval.proposal.clone(), approval.digest.clone()));
                Self::Refused(Refusal { approval, ..refusal })
            }
            store @ Self::Store(_) => store,
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error)
    }
}

/// The envelope; only its schema is derived, success and refusal are built where they happen.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the type stands for the shape of an answer in the output schema")]
pub(super) struct Envelope<T> {
    status: Status,
    data: Data<T>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[expect(dead_code, reason = "the type stands for the shape of an answer in the output schema")]
enum Status {
    Success,
    Error,
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(dead_code, reason = "the type stands for the shape of an answer in the output schema")]
enum Data<T> {
    Success(T),
    Error {
        /// A sentence for the model.
        error: String,
        /// Why, for programs.
        code: Code,
    },
}

/// The period a read covered; an open end is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Period {
    pub begin: Option<NaiveDate>,
    pub end: Option<NaiveDate>,
}

impl Period {
    /// `None` when the call asked for no period.
    pub(super) fn of(range: Range) -> Option<Self> {
        (!range.is_open()).then_some(Self { begin: range.begin, end: range.end })
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct CustomerRow {
    pub code_customer: String,
    pub name_customer: String,
    pub address: String,
    pub phone: String,
    pub department: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct SaleRow {
    pub code_sales: String,
    pub code_customer: String,
    pub name_customer: String,
    pub department: String,
    /// YYYY-MM-DD
    pub date_sales: String,
    pub products: String,
    /// Whole yen.
    pub price: i64,
    /// `slack:TEAM:USER` of the person it was registered for.
    pub registered_by: String,
    /// The name of that person, where they are staff.
    pub registered_by_name: Option<String>,
    pub cancelled: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct RegistrationRow {
    #[serde(flatten)]
    pub sale: SaleRow,
    /// `approval`, `import` or `sample`.
    pub origin: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct GroupRow {
    /// A day, the Monday of a week, a month (YYYY-MM), a customer's code, `slack:TEAM:USER`, or `total`.
    pub key: String,
    /// The key as a person would read it.
    pub label: String,
    pub count: i64,
    /// Whole yen.
    pub total_price: i64,
}

/// `data` of `get_customers`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Customers {
    pub customers: Vec<CustomerRow>,
    /// All matches, returned or not.
    pub count: i64,
    pub truncated: bool,
    pub departments: Vec<String>,
}

/// `data` of `get_sales`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Sales {
    /// The newest last.
    pub sales: Vec<SaleRow>,
    /// All matches, returned or not.
    pub count: i64,
    /// Whole yen over all matches; cancelled sales count nothing.
    pub total_price: i64,
    pub truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Period>,
    pub departments: Vec<String>,
}

/// `data` of `list_registrations`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Registrations {
    /// The newest last.
    pub registrations: Vec<RegistrationRow>,
    /// All matches, returned or not.
    pub count: i64,
    /// Whole yen over all matches; cancelled sales count nothing.
    pub total_price: i64,
    pub truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Period>,
    pub departments: Vec<String>,
}

/// `data` of `summarize_sales`. Cancelled sales are not in it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Summary {
    pub groups: Vec<GroupRow>,
    pub count: i64,
    /// Whole yen.
    pub total_price: i64,
    pub truncated: bool,
    pub period: Period,
    pub departments: Vec<String>,
}

/// `data` of `add_sale`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Registered {
    pub sales_registered: SaleRow,
    /// This approval had been carried out before; the row is the first one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub repeated: bool,
    pub departments: Vec<String>,
}

/// `data` of `cancel_sale`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Cancelled {
    pub sale_cancelled: SaleRow,
    /// This approval had been carried out before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub repeated: bool,
    pub departments: Vec<String>,
}
