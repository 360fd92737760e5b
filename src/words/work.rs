//! What the engine adds to an answer, and the status while working.

words! {
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
}
