//! What surrounds the conversation: the greeting, what one may ask, what is shown while the bot works.

words! {
    /// The greeting, shown once.
    greeting() {
        ja: "こんにちは。お客様や販売のことを、ふだんの言葉でお尋ねください。",
        en: "Hello. Ask me about customers and sales in your own words.",
    }
    /// The same, to a person who may register sales.
    greeting_writes() {
        ja: "販売の登録や取り消しもお手伝いします。確認カードのボタンが押されるまで、何も登録しません。",
        en: "I can also register or cancel a sale. Nothing is written until you press the button on the card.",
    }

    /// Above the prompts.
    prompts() { ja: "たとえば", en: "For example" }
    /// A prompt, and the message it sends.
    ask_month() { ja: "今月の売上", en: "This month's sales" }
    /// See above.
    ask_month_message() { ja: "今月の売上の合計を教えてください。", en: "What is this month's sales total?" }
    /// A prompt, and the message it sends.
    ask_week() { ja: "先週の販売", en: "Last week's sales" }
    /// See above.
    ask_week_message() { ja: "先週の販売を一覧にしてください。", en: "Please list last week's sales." }
    /// A prompt, and the message it sends.
    ask_customers() { ja: "お客様別の売上", en: "Sales by customer" }
    /// See above.
    ask_customers_message() { ja: "今月のお客様別の売上を教えてください。", en: "Please show this month's sales by customer." }
    /// A prompt, and the message it sends.
    ask_staff() { ja: "担当者別の売上", en: "Sales by person" }
    /// See above.
    ask_staff_message() { ja: "今月の担当者別の売上を教えてください。", en: "Please show this month's sales by staff member." }
    /// A prompt, and the message it sends.
    ask_register() { ja: "販売を登録する", en: "Register a sale" }
    /// See above.
    ask_register_message() {
        ja: "販売を登録したいです。何をお伝えすればよいですか？",
        en: "I would like to register a sale. What do you need to know?",
    }

    /// Under the status while the bot works, in turn.
    loading_reading() { ja: "ご依頼を読んでいます", en: "Reading your message" }
    /// See above.
    loading_looking() { ja: "必要なことを調べています", en: "Looking up what is needed" }
    /// See above.
    loading_checking() { ja: "内容を確かめています", en: "Checking the details" }
    /// See above.
    loading_writing() { ja: "お返事をまとめています", en: "Putting the answer together" }

    /// The person pressed Stop.
    stopped() {
        ja: "停止のご指示により、ここで止めました。",
        en: "I stopped here, as you asked.",
    }

    /// A button under an answer.
    helpful() { ja: "役に立った", en: "Helpful" }
    /// A button under an answer.
    not_helpful() { ja: "役に立たなかった", en: "Not helpful" }
}
