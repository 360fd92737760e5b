//! The small line under an answer, and the status while working.

words! {
    /// Looked up customers.
    tool_get_customers() { ja: "顧客検索", en: "Customers" }
    /// Looked up sales.
    tool_get_sales() { ja: "販売検索", en: "Sales" }
    /// Looked up registrations.
    tool_list_registrations() { ja: "登録一覧", en: "Registrations" }
    /// Added figures up.
    tool_summarize_sales() { ja: "販売集計", en: "Totals" }
    /// Prepared a registration.
    tool_add_sale() { ja: "販売登録の準備", en: "Sale prepared" }
    /// Prepared a cancellation.
    tool_cancel_sale() { ja: "登録取消の準備", en: "Cancellation prepared" }
    /// A use of a tool that gave an error.
    failed() { ja: "結果なし", en: "no result" }
    /// A period, both days included.
    period(from, to) { ja: "{from}〜{to}", en: "{from} to {to}" }
    /// No tool was used.
    nothing_looked_up() { ja: "データは参照していません", en: "no data was looked up" }
    /// Nothing was written in this turn: the host's own word, under every such answer.
    nothing_registered() { ja: "この返信では何も登録されていません", en: "nothing was registered by this reply" }
    /// Cards wait for a press.
    cards_wait(count) { ja: "まだ登録されていません（カード{count}件が確認待ち）", en: "nothing registered yet ({count} waiting on a card)" }
    /// Earlier turns were left out.
    shortened() { ja: "古いやり取りは省略しました", en: "older messages were left out" }
    /// Stands where the model wrote a sale number that no tool gave.
    unknown_number() { ja: "（確認できない番号）", en: "(number not confirmed)" }

    /// Status: working on it.
    thinking() { ja: "確認しています…", en: "is looking into it…" }

    /// The message is too long to be read.
    too_long(limit) {
        ja: "メッセージが長すぎるため処理していません（上限{limit}文字）。短く分けてお送りください。",
        en: "This message is too long, so I did not work on it (limit {limit} characters). Please send it in shorter parts.",
    }
    /// Too many messages from one person.
    too_many_turns(limit) {
        ja: "1分間にお受けできるのは{limit}件までです。少し待ってからもう一度お送りください。",
        en: "I can take {limit} messages a minute from one person. Please wait a moment and send it again.",
    }
    /// Something broke on our side; the reference is in the log.
    broken(reference) {
        ja: "内部の問題で処理できませんでした。もう一度お試しください（参照番号 {reference}）。",
        en: "Something went wrong on our side. Please try again (reference {reference}).",
    }
}
