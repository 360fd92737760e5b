//! The words on cards and receipts.

words! {
    /// The label of the confirm button.
    confirm() { ja: "登録する", en: "Register" }
}
