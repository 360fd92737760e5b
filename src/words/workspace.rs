//! What the local workspace's client says of an input that it does not send.

words! {
    /// An input is empty.
    required() { ja: "この項目は必須です。", en: "Please complete this required field." }
    /// A text is too short.
    too_short(n) { ja: "{n}文字以上で入力してください。", en: "Please enter at least {n} characters." }
    /// A text is too long.
    too_long(n) { ja: "{n}文字以内で入力してください。", en: "Please enter no more than {n} characters." }
    /// No number.
    not_a_number() { ja: "数値を入力してください。", en: "Please enter a number." }
    /// A fraction where none may be.
    not_whole() { ja: "整数を入力してください。", en: "Please enter a whole number." }
    /// Below the least.
    too_small(n) { ja: "{n}以上の数値を入力してください。", en: "Please enter {n} or more." }
    /// Above the most.
    too_large(n) { ja: "{n}以下の数値を入力してください。", en: "Please enter {n} or less." }
    /// No mail address.
    not_an_email() { ja: "メールアドレスを入力してください。", en: "Please enter an email address." }
    /// No web address.
    not_a_url() { ja: "URLを入力してください。", en: "Please enter a URL." }
}
