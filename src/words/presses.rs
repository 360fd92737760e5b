//! What the presser of a button is told privately. A press is never silent.

words! {
    /// Only the requester may press.
    not_your_card(name) {
        ja: "このカードのボタンを押せるのは、依頼した{name}さんだけです。",
        en: "Only {name}, who asked for this, can press these buttons.",
    }
    /// The requester presses on what a manager decides.
    needs_manager() {
        ja: "上限額を超えるため、依頼者以外のこの部門の責任者の承認が必要です。",
        en: "This is above your limit; a manager of the department other than you has to approve it.",
    }
    /// Registered before.
    already_done(number) {
        ja: "すでに登録済みです（販売番号 {number}）。二重には登録されません。",
        en: "Already registered as {number}. It will not be registered twice.",
    }
    /// Cancelled before, by a card that cancels.
    already_undone(number) {
        ja: "販売番号 {number} はすでに取り消し済みです。",
        en: "Sale {number} has already been cancelled.",
    }
    /// Being carried out.
    in_progress() {
        ja: "ただいま処理しています。少しお待ちください。",
        en: "This is being carried out. Please wait a moment.",
    }
    /// Declined before.
    already_cancelled() {
        ja: "このカードは取りやめになっています。必要な場合はもう一度ご依頼ください。",
        en: "This card was declined. Please ask again if you still need it.",
    }
    /// Too late.
    expired() {
        ja: "このカードは期限切れです。必要な場合はもう一度ご依頼ください。",
        en: "This card has expired. Please ask again if you still need it.",
    }
    /// A newer card replaced it.
    superseded() {
        ja: "このカードは新しいカードに置き換えられています。新しいほうをご覧ください。",
        en: "This card was replaced by a newer one. Please use that one.",
    }
    /// Its message was changed.
    message_edited() {
        ja: "依頼のメッセージが変更されたため、このカードは取り下げられています。",
        en: "The message behind this card was changed, so the card was withdrawn.",
    }
    /// Its message was deleted.
    message_deleted() {
        ja: "依頼のメッセージが削除されたため、このカードは取り下げられています。",
        en: "The message behind this card was deleted, so the card was withdrawn.",
    }
    /// Refused before; why is on the card.
    already_failed() {
        ja: "このカードの内容は受け付けられませんでした。理由はカードをご覧ください。",
        en: "This was not accepted. The card says why.",
    }
    /// Nobody knows how it ended.
    outcome_unknown() {
        ja: "このカードの結果は確認できていません。登録の有無をお確かめください。",
        en: "The outcome of this card is not known. Please check before asking again.",
    }
    /// The button belongs to no card that we know.
    unknown_card() {
        ja: "このカードは記録に見つかりません。もう一度ご依頼ください。",
        en: "This card is not on record. Please ask again.",
    }
    /// The presser has no rights (any more).
    not_allowed() {
        ja: "この操作を行う権限がありません。管理者にご確認ください。",
        en: "You are not allowed to do this. Please ask your administrator.",
    }
}
