//! The words of the local page. The page gets them by name for the person's language.

words! {
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
        en: "Register a sale for 0016: 4 pumpkins for 600 yen, last Tuesday",
    }
    /// An example request.
    example_condition() {
        ja: "0016の今月の販売件数がまだ0件の場合、今日の日付でとまと2袋600円を登録してください",
        en: "If 0016 has no sales this month yet, register 2 bags of tomatoes for 600 yen today",
    }
    /// The page's title.
    title() { ja: "ローカルワークスペース", en: "Local workspace" }
    /// Label of the person switcher.
    people() { ja: "操作する人", en: "Acting as" }
    /// Heading.
    channels() { ja: "チャンネル", en: "Channels" }
    /// What the padlock means.
    private() { ja: "プライベート", en: "Private" }
    /// Heading.
    direct_message() { ja: "ダイレクトメッセージ", en: "Direct messages" }
    /// Label of the list of messages.
    messages() { ja: "メッセージ", en: "Messages" }
    /// Heading.
    thread() { ja: "スレッド", en: "Thread" }
    /// Label of a button.
    close_thread() { ja: "スレッドを閉じる", en: "Close thread" }
    /// Label of a button.
    back() { ja: "戻る", en: "Back" }
    /// Label of a button.
    menu() { ja: "メニュー", en: "Menu" }
    /// Label of the button that opens a thread; `{n}` is filled in by the page.
    reply_one() { ja: "{{n}} 件の返信", en: "{{n}} reply" }
    /// The same for several.
    reply_many() { ja: "{{n}} 件の返信", en: "{{n}} replies" }
    /// Placeholder of the composer; `{name}` is filled in by the page.
    write_to() { ja: "#{{name}} へのメッセージ", en: "Message #{{name}}" }
    /// Placeholder.
    write_reply() { ja: "返信を書く", en: "Reply…" }
    /// Placeholder.
    write_dm() { ja: "コンシェルジュへのメッセージ", en: "Message the concierge" }
    /// Label of a button.
    send() { ja: "送信", en: "Send" }
    /// Label of a button.
    mention_bot() { ja: "ボットにメンションする", en: "Mention the bot" }
    /// Over an ephemeral message.
    only_you() { ja: "あなただけに表示されています", en: "Only visible to you" }
    /// Mark.
    edited() { ja: "（編集済み）", en: "(edited)" }
    /// In place of a deleted message.
    deleted() { ja: "このメッセージは削除されました。", en: "This message was deleted." }
    /// A pressed button, until the bot has answered.
    sending() { ja: "送信中…", en: "Sending…" }
    /// The bot did not accept a press in time.
    press_failed() { ja: "応答がありませんでした。もう一度押してください。", en: "No answer. Please press again." }
    /// A message could not be sent.
    not_sent() { ja: "送信できませんでした。もう一度お試しください。", en: "Could not be sent. Please try again." }
    /// The connection is lost.
    reconnecting() { ja: "接続が切れました。再接続しています…", en: "Connection lost. Reconnecting…" }
    /// Heading over example requests.
    examples() { ja: "たとえば（クリックで入力欄に入ります）", en: "Try one of these (a click puts it into the composer)" }
    /// In an empty channel.
    empty_channel() { ja: "まだメッセージはありません。ボットにメンションして話しかけてください。", en: "No messages yet. Mention the bot to talk to it." }
    /// In an empty DM.
    empty_dm() { ja: "顧客や販売のことを、ふだんの言葉で聞いてください。", en: "Ask about customers and sales in your own words." }
    /// In a channel without the bot.
    no_bot_here() { ja: "このチャンネルにボットはいません。", en: "The bot is not in this channel." }
    /// Beside the bot's name.
    app_badge() { ja: "アプリ", en: "APP" }
    /// Label of the button that opens a thread without replies.
    new_thread() { ja: "スレッドで返信", en: "Reply in thread" }
    /// Before the description of an image; `{alt}` is filled in by the page.
    image() { ja: "［画像: {{alt}}］", en: "[Image: {{alt}}]" }
    /// In place of a block the page does not know; `{kind}` is filled in by the page.
    cannot_show() { ja: "［表示できないブロック: {{kind}}］", en: "[Block that cannot be shown: {{kind}}]" }
    /// Over the messages of today.
    today() { ja: "今日", en: "Today" }
    /// Over the messages of yesterday.
    yesterday() { ja: "昨日", en: "Yesterday" }
    /// Label of the navigation.
    sidebar() { ja: "チャンネルと人", en: "Channels and people" }
    /// Label of the text field.
    composer() { ja: "メッセージを入力", en: "Write a message" }
    /// Label of preformatted text.
    show_code() { ja: "整形済みテキスト", en: "Preformatted text" }
    /// Tooltip of a link; `{url}` is filled in by the page.
    link_hint() { ja: "リンク先: {{url}}", en: "Goes to {{url}}" }
}
