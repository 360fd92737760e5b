//! The words on cards and receipts. They go into `plain_text`, so nothing in them needs escaping.

use chrono::{Datelike, NaiveDate, Weekday};

use crate::domain::{Lang, Yen};

words! {
    /// The heading of a card that asks to register a sale.
    title_add() { ja: "この内容で販売を登録しますか？", en: "Register this sale?" }
    /// The heading of a card that asks to cancel a registered sale.
    title_cancel() { ja: "この販売の登録を取り消しますか？", en: "Cancel this sale?" }
    /// A label.
    customer() { ja: "お客様", en: "Customer" }
    /// A label.
    department() { ja: "部門", en: "Department" }
    /// A label.
    products() { ja: "商品", en: "Products" }
    /// A label.
    amount() { ja: "金額", en: "Amount" }
    /// A label: the day of the sale.
    date() { ja: "販売日", en: "Date of sale" }
    /// A label.
    sale_number() { ja: "販売番号", en: "Sale number" }
    /// A label: why a sale is cancelled.
    reason() { ja: "取り消しの理由", en: "Reason" }
    /// A customer by name and code.
    name_and_code(name, code) { ja: "{name}（{code}）", en: "{name} ({code})" }

    /// How words of the person were read.
    read_as(words, value) { ja: "「{words}」→ {value}", en: "“{words}” → {value}" }
    /// How words with several meanings were read.
    read_as_or(words, value, others) {
        ja: "「{words}」→ {value}（{others}とも読めます。違う場合は登録せずに、書き直してご依頼ください）",
        en: "“{words}” → {value} (it can also mean {others}; if so, don't register and ask again)",
    }
    /// Between several readings.
    or() { ja: "、", en: " or " }
    /// A day taken from a period.
    day_within(words, day) {
        ja: "「{words}」のうち {day} としています。ご確認ください。",
        en: "{day} is one day of “{words}”. Please check it.",
    }
    /// The day was not said.
    day_assumed() {
        ja: "このメッセージに日付の指定がないため、今日の日付にしています。",
        en: "This message gives no date, so it is today's.",
    }
    /// The day was not said in this message, but in an earlier one.
    day_assumed_not(words) {
        ja: "⚠ このメッセージに日付の指定がないため、今日の日付にしています（前のメッセージの「{words}」ではありません）。",
        en: "⚠ This message gives no date, so it is today's, not “{words}” of an earlier message.",
    }
    /// A period.
    from_to(start, end) { ja: "{start}〜{end}", en: "{start} to {end}" }
    /// A period without an end.
    from_on(start) { ja: "{start} 以降", en: "{start} or later" }
    /// A period without a beginning.
    up_to(end) { ja: "{end} まで", en: "{end} or earlier" }
    /// The day was not said, and it is not today.
    day_unsaid(day) {
        ja: "⚠ {day} という日付はメッセージから読み取れませんでした。ご確認ください。",
        en: "⚠ Your message does not seem to say {day}. Please check the date.",
    }
    /// A value at odds with the words.
    differs(words, says, value) {
        ja: "⚠ 「{words}」は {says} と読めますが、このカードは {value} です。ご確認ください。",
        en: "⚠ “{words}” reads as {says}, but this card says {value}. Please check it.",
    }
    /// An amount at odds with the plain one of the message.
    amount_differs(says, value) {
        ja: "⚠ メッセージの金額は {says} ですが、このカードは {value} です。ご確認ください。",
        en: "⚠ Your message says {says}, but this card says {value}. Please check it.",
    }
    /// A day that words which are no day became.
    no_such_day(words, day) {
        ja: "⚠ 「{words}」という日付はありません。このカードは {day} です。ご確認ください。",
        en: "⚠ “{words}” is not a valid date; this card says {day}. Please check it.",
    }
    /// The amount was not said.
    amount_unsaid(amount) {
        ja: "⚠ {amount} という金額はメッセージから読み取れませんでした。ご確認ください。",
        en: "⚠ Your message does not seem to say {amount}. Please check the amount.",
    }
    /// An amount that words which are no amount became.
    no_such_amount(words, amount) {
        ja: "⚠ 「{words}」は金額として読み取れません。このカードは {amount} です。ご確認ください。",
        en: "⚠ “{words}” is not a valid amount; this card says {amount}. Please check it.",
    }
    /// What the words say of the tax.
    tax_included() { ja: "税込みと書かれています（税の計算はしていません）。", en: "Your message says tax is included (no tax was worked out)." }
    /// What the words say of the tax.
    tax_excluded() {
        ja: "税抜きと書かれています（税の計算はしていません）。",
        en: "Your message says tax is not included (no tax was worked out).",
    }

    /// The label of the confirm button.
    confirm() { ja: "登録する", en: "Register" }
    /// The label of the other button beside [`confirm`].
    cancel() { ja: "登録しない", en: "Don't register" }
    /// The label of the confirm button of a cancellation.
    confirm_cancel() { ja: "取り消す", en: "Cancel the sale" }
    /// The label of the other button beside [`confirm_cancel`].
    keep() { ja: "取り消さない", en: "Keep the sale" }

    /// Who asked, and that nobody else may press.
    who_may_press(name) {
        ja: "依頼: {name}さん・ボタンを押せるのは依頼したご本人だけです。",
        en: "Asked by {name}, the only person who can press these buttons.",
    }
    /// Who asked, and that a manager decides.
    who_may_approve(name) {
        ja: "依頼: {name}さん・上限額を超えるため、依頼者以外のこの部門の責任者の承認が必要です。",
        en: "Asked by {name}. Above the limit: a manager of this department other than the requester has to approve.",
    }
    /// Who asked, on a card without buttons.
    asked_by(name) { ja: "依頼: {name}さん", en: "Asked by {name}" }
    /// That nothing is written yet.
    not_yet() { ja: "まだ登録されていません。", en: "Nothing has been registered yet." }
    /// That nothing is cancelled yet.
    not_yet_cancelled() { ja: "まだ取り消されていません。", en: "Nothing has been cancelled yet." }
    /// How long a card can be used.
    valid_hours(hours) { ja: "有効期間: {hours}時間", en: "Valid for {hours} h" }
    /// How long a card can be used.
    valid_minutes(minutes) { ja: "有効期間: {minutes}分", en: "Valid for {minutes} min" }

    /// The heading while the write is being carried out.
    working_add() { ja: "⏳ 登録しています…", en: "⏳ Registering…" }
    /// The heading while the cancellation is being carried out.
    working_cancel() { ja: "⏳ 取り消しています…", en: "⏳ Cancelling the sale…" }
    /// The heading of a receipt.
    receipt_title() { ja: "✅ 販売を登録しました", en: "✅ Sale registered" }
    /// The heading of a cancellation's receipt.
    receipt_cancel_title() { ja: "✅ 販売の登録を取り消しました", en: "✅ Sale cancelled" }
    /// Who pressed, under a receipt.
    confirmed_by(name) { ja: "確認: {name}さん", en: "Confirmed by {name}" }
    /// The heading after a press of the other button.
    cancelled_add() { ja: "登録しませんでした", en: "Not registered" }
    /// The heading after a press of the other button of a cancellation.
    cancelled_cancel() { ja: "取り消しませんでした", en: "The sale was kept" }
    /// Who declined.
    cancelled_by(name) { ja: "{name}さんが取りやめました。", en: "Declined by {name}." }
    /// The heading of a card that nobody decided in time.
    expired_title() { ja: "期限切れ", en: "Expired" }
    /// That nothing happened and what to do.
    expired_add() {
        ja: "期限内に確認されなかったため、登録していません。必要な場合はもう一度ご依頼ください。",
        en: "Nobody confirmed in time, so nothing was registered. Please ask again if you still need it.",
    }
    /// That nothing happened and what to do.
    expired_cancel() {
        ja: "期限内に確認されなかったため、取り消していません。必要な場合はもう一度ご依頼ください。",
        en: "Nobody confirmed in time, so the sale was kept. Please ask again if you still need it.",
    }
    /// The heading of a card that a newer one replaced.
    superseded_title() { ja: "新しいカードに置き換えました", en: "Replaced by a newer card" }
    /// That nothing happened and where to look.
    superseded() {
        ja: "このカードからは何も行っていません。新しいカードをご覧ください。",
        en: "Nothing was done from this card. Please use the newer one.",
    }
    /// The heading of a card whose message was changed or deleted.
    withdrawn_title() { ja: "取り下げました", en: "Withdrawn" }
    /// Why a card was withdrawn, and where to look.
    withdrawn_edited() {
        ja: "依頼のメッセージが変更されたため、このカードからは何も行っていません。変更後の内容への回答をご覧ください。",
        en: "The message was changed, so nothing was done from this card. Please see the answer to the changed message.",
    }
    /// Why a card was withdrawn.
    withdrawn_deleted() {
        ja: "依頼のメッセージが削除されたため、このカードからは何も行っていません。",
        en: "The message was deleted, so nothing was done from this card.",
    }
    /// The heading while a manager has not decided.
    awaiting_title() { ja: "責任者の承認待ちです", en: "Waiting for a manager's approval" }
    /// The heading after a definite refusal.
    failed_add_title() { ja: "⚠ 登録できませんでした", en: "⚠ Not registered" }
    /// The heading after a definite refusal.
    failed_cancel_title() { ja: "⚠ 取り消せませんでした", en: "⚠ The sale was not cancelled" }
    /// The heading when nobody knows whether a write happened.
    unknown_title() { ja: "⚠ 結果を確認できませんでした", en: "⚠ The outcome is not known" }
    /// What to do when nobody knows whether a write happened.
    unknown() {
        ja: "処理されたかどうかを確認できません。もう一度ご依頼いただく前に、登録の有無をお確かめください。",
        en: "It may or may not have been carried out. Please check before asking again.",
    }

    /// A refusal: the customer is not there, or not the person's to see.
    customer_not_found() {
        ja: "お客様が見つからないか、担当部門のお客様ではありません。",
        en: "There is no such customer in your departments.",
    }
    /// A refusal: the sale is not there, or not the person's to see.
    sale_not_found() {
        ja: "販売が見つからないか、担当部門の販売ではありません。",
        en: "There is no such sale in your departments.",
    }
    /// A refusal.
    invalid_date() { ja: "販売日が正しくありません。", en: "The date of the sale is not valid." }
    /// A refusal.
    invalid_price() { ja: "金額が正しくありません。", en: "The amount is not valid." }
    /// A refusal.
    invalid_products() { ja: "商品の内容が正しくありません。", en: "The products are not valid." }
    /// A refusal: an argument is not as it should be.
    invalid_arguments() { ja: "内容に正しくない項目があります。", en: "One of the values is not valid." }
    /// A refusal: no rights, no longer, above a limit or too late.
    not_allowed() {
        ja: "この内容で行う権限がないか、行える期間を過ぎています。責任者にご確認ください。",
        en: "This is not, or no longer, within your rights. Please ask your manager.",
    }
    /// A refusal: the press could not be proven to the sales system.
    not_proven() {
        ja: "確認の操作を販売システムで確かめられませんでした。もう一度ご依頼ください。",
        en: "The sales system could not verify the confirmation. Please ask again.",
    }
    /// A refusal: the sale was cancelled before.
    already_cancelled() { ja: "この販売はすでに取り消されています。", en: "This sale has already been cancelled." }
    /// A refusal: the customer's name or department changed after the card was drawn.
    changed_since_card() {
        ja: "カードを表示したあとにお客様の情報が変わったため、中止しました。もう一度ご依頼ください。",
        en: "The customer's details changed after this card was shown, so it was stopped. Please ask again.",
    }
    /// A refusal with a code that has no words of its own.
    refused(code) {
        ja: "販売システムが受け付けませんでした（{code}）。",
        en: "The sales system did not accept it ({code}).",
    }

    /// A date with its weekday.
    date_with_weekday(date, weekday) { ja: "{date}（{weekday}）", en: "{weekday}, {date}" }
    /// Yen, the digits grouped.
    yen(digits) { ja: "{digits}円", en: "¥{digits}" }
}

/// A refusal of the sales server by its code.
pub fn failed(lang: Lang, code: &str) -> String {
    match code {
        "customer_not_found" => customer_not_found(lang),
        "sale_not_found" => sale_not_found(lang),
        "invalid_date" => invalid_date(lang),
        "invalid_price" => invalid_price(lang),
        "invalid_products" => invalid_products(lang),
        "invalid_arguments" => invalid_arguments(lang),
        "not_allowed" => not_allowed(lang),
        "already_cancelled" => already_cancelled(lang),
        "approval_required" | "approval_invalid" => not_proven(lang),
        "approval_mismatch" => changed_since_card(lang),
        other => refused(lang, other),
    }
}

/// `2026-11-24（火）` / `Tue, 2026-11-24`.
pub fn day(lang: Lang, day: NaiveDate) -> String {
    let (ja, en) = match day.weekday() {
        Weekday::Mon => ("月", "Mon"),
        Weekday::Tue => ("火", "Tue"),
        Weekday::Wed => ("水", "Wed"),
        Weekday::Thu => ("木", "Thu"),
        Weekday::Fri => ("金", "Fri"),
        Weekday::Sat => ("土", "Sat"),
        Weekday::Sun => ("日", "Sun"),
    };
    date_with_weekday(lang, day, if lang == Lang::Ja { ja } else { en })
}

/// `1,800円` / `¥1,800`.
pub fn money(lang: Lang, amount: Yen) -> String {
    yen(lang, amount.to_string().trim_start_matches('¥'))
}
