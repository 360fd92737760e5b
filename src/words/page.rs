//! The words of the local page. The page gets them by name for the person's language.

words! {
    /// The banner when no model is connected.
    demo_model() {
        ja: "AIモデルは接続されていません。内蔵のデモモデルが、決まった読み取りで応答しています。",
        en: "No AI model is connected: the built-in demo model answers, by fixed rules.",
    }
    /// An example request.
    example_code() { ja: "佐藤さんの顧客コードは？", en: "What is 佐藤's customer code?" }
    /// An example request.
    example_last_week() { ja: "0002と0016の先週の販売を教えてください", en: "Show me last week's sales for 0002 and 0016" }
    /// An example request.
    example_total() {
        ja: "0002の先月と今月の2ヶ月間の販売金額合計は？",
        en: "What is the total for 0002 over last month and this month?",
    }
    /// An example request.
    example_register() {
        ja: "0016に先週火曜日、かぼちゃ4個600円で販売登録してください",
        en: "Register a sale for 0016: 4 かぼちゃ for 600 yen, last Tuesday",
    }
    /// An example request.
    example_condition() {
        ja: "0016の今月の販売件数がまだ0件の場合、今日の日付でとまと2袋600円を登録してください",
        en: "If 0016 has no sales this month yet, register 2 bags of とまと for 600 yen today",
    }
}
