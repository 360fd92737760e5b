//! Amounts and quantities.
use super::{Amount, Quantity};
pub(super) fn amounts(_text: &str) -> Vec<Amount> {
    Vec::new()
}
pub(super) fn quantities(_text: &str) -> Vec<Quantity> {
    Vec::new()
}
