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
}

/// Declares what the page says, and [`all`] of it by name. A value in double braces is filled in by the page.
macro_rules! page_words {
    ($($(#[$doc:meta])* $name:ident() { ja: $ja:literal, en: $en:literal $(,)? })*) => {
        words! { $($(#[$doc])* $name() { ja: $ja, en: $en })* }

        /// Every word of the page with its name.
        pub fn all(lang: crate::domain::Lang) -> Vec<(&'static str, String)> {
            vec![$((stringify!($name), $name(lang))),*]
        }
    };
}

page_words! {
    // --- the frame

    /// Label of the navigation.
    sidebar() { ja: "移動と操作する人", en: "Navigation and person" }
    /// Label of the person switcher.
    people() { ja: "操作する人", en: "Acting as" }
    /// Label of the field that searches the list of conversations.
    find() { ja: "チャンネルを検索（Ctrl+K）", en: "Find a channel (Ctrl+K)" }
    /// Heading.
    channels() { ja: "チャンネル", en: "Channels" }
    /// Heading.
    direct_message() { ja: "ダイレクトメッセージ", en: "Direct messages" }
    /// A conversation with unread messages, for a screen reader.
    unread_in() { ja: "{{name}}、未読 {{n}} 件", en: "{{name}}, {{n}} unread" }
    /// Mark of a private channel.
    private() { ja: "非公開", en: "Private" }
    /// Mark of a channel shared with another company.
    external() { ja: "社外と共有", en: "Shared externally" }
    /// Mark of a channel in which nobody can write any more.
    archived() { ja: "アーカイブ済み（書き込めません）", en: "Archived (read-only)" }
    /// Label of a button.
    menu() { ja: "メニュー", en: "Menu" }
    /// Label of a button.
    back() { ja: "戻る", en: "Back" }
    /// Label of a button.
    close() { ja: "閉じる", en: "Close" }
    /// Label of the switch of colours: what it shows now.
    theme_auto() { ja: "配色: 自動", en: "Colours: automatic" }
    /// The same.
    theme_dark() { ja: "配色: ダーク", en: "Colours: dark" }
    /// The same.
    theme_light() { ja: "配色: ライト", en: "Colours: light" }
    /// A search without a result.
    nothing_found() { ja: "見つかりません", en: "Nothing found" }
    /// The tab with the app's Home.
    home() { ja: "ホーム", en: "Home" }
    /// The tab with messages, and the label of the list.
    messages() { ja: "メッセージ", en: "Messages" }
    /// A Home tab that the app has not filled.
    empty_home() { ja: "このアプリは、まだホームに何も表示していません。", en: "This app has not put anything on its Home yet." }

    // --- names

    /// Instead of the id of an unknown person.
    somebody() { ja: "不明なユーザー", en: "unknown user" }
    /// Instead of the id of a channel that the person is not in.
    a_private_channel() { ja: "非公開チャンネル", en: "private channel" }
    /// Instead of the id of an unknown user group.
    a_group() { ja: "不明なグループ", en: "unknown group" }
    /// Instead of a date that cannot be shown.
    a_date() { ja: "日付", en: "a date" }
    /// Beside the bot's name.
    app_badge() { ja: "アプリ", en: "APP" }
    /// Beside a guest's name.
    guest() { ja: "ゲスト", en: "Guest" }
    /// Beside the name of somebody of another company.
    outside() { ja: "社外", en: "External" }
    /// Between names.
    comma() { ja: "、", en: ", " }

    // --- messages

    /// Over the messages of today.
    today() { ja: "今日", en: "Today" }
    /// Over the messages of yesterday.
    yesterday() { ja: "昨日", en: "Yesterday" }
    /// The line before the first unread message.
    new_line() { ja: "ここから新着", en: "New" }
    /// At the top of a list that goes on when scrolled.
    loading_older() { ja: "以前のメッセージを読み込んでいます…", en: "Loading earlier messages…" }
    /// Label of a button.
    older_replies() { ja: "以前の返信を表示", en: "Show earlier replies" }
    /// Label of a button.
    to_newest() { ja: "最新のメッセージへ", en: "To the newest message" }
    /// Over an ephemeral message.
    only_you() { ja: "あなただけに表示されています", en: "Only visible to you" }
    /// Mark.
    edited() { ja: "（編集済み）", en: "(edited)" }
    /// In place of a deleted message.
    deleted() { ja: "このメッセージは削除されました。", en: "This message was deleted." }
    /// In place of a message that is being written.
    writing() { ja: "書き込み中…", en: "Writing…" }
    /// Label of a button that unfolds a long message.
    show_all() { ja: "すべて表示", en: "Show all" }
    /// In an empty channel.
    empty_channel() {
        ja: "まだメッセージはありません。ボットにメンションして話しかけてください。",
        en: "No messages yet. Mention the bot to talk to it.",
    }
    /// In an empty DM.
    empty_dm() { ja: "顧客や販売のことを、ふだんの言葉で聞いてください。", en: "Ask about customers and sales in your own words." }
    /// In a channel without the bot.
    no_bot_here() { ja: "このチャンネルにボットはいません。", en: "The bot is not in this channel." }
    /// Before the description of an image.
    image() { ja: "［画像: {{alt}}］", en: "[Image: {{alt}}]" }
    /// In place of something the page does not know.
    cannot_show() { ja: "［表示できない要素: {{kind}}］", en: "[Cannot be shown: {{kind}}]" }
    /// Label of preformatted text.
    show_code() { ja: "整形済みテキスト", en: "Preformatted text" }
    /// Tooltip of a link.
    link_hint() { ja: "リンク先: {{url}}", en: "Goes to {{url}}" }
    /// Label of a table.
    table() { ja: "表（{{rows}} 行）", en: "Table with {{rows}} rows" }
    /// Label of a row of cards.
    cards() { ja: "カード一覧", en: "Cards" }
    /// Label of a link to a file.
    download() { ja: "{{name}} をダウンロード", en: "Download {{name}}" }

    // --- threads

    /// Heading.
    thread() { ja: "スレッド", en: "Thread" }
    /// Label of a button.
    close_thread() { ja: "スレッドを閉じる", en: "Close thread" }
    /// Label of the button that opens a thread.
    reply_one() { ja: "{{n}} 件の返信", en: "{{n}} reply" }
    /// The same for several.
    reply_many() { ja: "{{n}} 件の返信", en: "{{n}} replies" }
    /// Beside it: when the last reply came.
    last_reply() { ja: "最終返信 {{when}}", en: "Last reply {{when}}" }
    /// Beside it: unread replies.
    n_new() { ja: "新着 {{n}}", en: "{{n}} new" }
    /// Label of the button that opens a thread without replies.
    new_thread() { ja: "スレッドで返信", en: "Reply in thread" }

    // --- what one can do with a message

    /// Label of a message's buttons.
    message_actions() { ja: "メッセージの操作", en: "Message actions" }
    /// Label of a button.
    add_reaction() { ja: "リアクションを追加", en: "Add a reaction" }
    /// A reaction, for a screen reader.
    reaction_by() { ja: "{{name}} {{n}} 件: {{people}}", en: "{{name}}, {{n}}: {{people}}" }
    /// Label of a button.
    more_actions() { ja: "その他の操作", en: "More actions" }
    /// Entry of a menu.
    copy_text() { ja: "テキストをコピー", en: "Copy text" }
    /// Said afterwards.
    copied() { ja: "コピーしました", en: "Copied" }
    /// Entry of a menu.
    edit_message() { ja: "メッセージを編集", en: "Edit message" }
    /// Entry of a menu.
    delete_message() { ja: "メッセージを削除", en: "Delete message" }
    /// Title of the question.
    delete_title() { ja: "メッセージを削除しますか？", en: "Delete this message?" }
    /// The question.
    delete_text() { ja: "元に戻すことはできません。", en: "This cannot be undone." }
    /// Label of a button.
    delete() { ja: "削除する", en: "Delete" }
    /// Label of a button.
    save() { ja: "保存", en: "Save" }
    /// Label of a button.
    cancel() { ja: "キャンセル", en: "Cancel" }
    /// Label of a button.
    ok() { ja: "OK", en: "OK" }

    // --- writing

    /// Placeholder of the composer.
    write_to() { ja: "#{{name}} へのメッセージ", en: "Message #{{name}}" }
    /// Placeholder.
    write_reply() { ja: "返信を書く…", en: "Reply…" }
    /// Placeholder.
    write_dm() { ja: "コンシェルジュへのメッセージ", en: "Message the concierge" }
    /// Label of a button.
    send() { ja: "送信", en: "Send" }
    /// Beside it.
    enter_sends() { ja: "Enter で送信、Shift+Enter で改行", en: "Enter sends, Shift+Enter makes a line" }
    /// Label of a button.
    mention_bot() { ja: "ボットにメンションする", en: "Mention the bot" }
    /// Label of a button.
    attach() { ja: "ファイルを添付", en: "Attach a file" }
    /// Said while a file is sent.
    uploading() { ja: "{{name}} を送信しています", en: "Sending {{name}}" }
    /// The file was not taken.
    file_refused() { ja: "{{name}} は送信できませんでした。", en: "{{name}} could not be sent." }
    /// Heading over example requests.
    examples() { ja: "たとえば、こんなふうに", en: "Try one of these" }
    /// On the way.
    sending() { ja: "送信中…", en: "Sending…" }
    /// A message was refused.
    not_sent() { ja: "送信できませんでした。", en: "Could not be sent." }
    /// A message could not be handed over.
    not_sent_offline() { ja: "接続がないため、まだ送信できていません。", en: "Not sent yet: there is no connection." }
    /// A command was not taken.
    command_failed() { ja: "コマンドを実行できませんでした。", en: "The command did not work." }
    /// Label of a button.
    try_again() { ja: "もう一度送信", en: "Try again" }
    /// Label of a button: back into the composer.
    discard() { ja: "取りやめて入力欄に戻す", en: "Take back" }
    /// Something other than a message was refused.
    not_done() { ja: "できませんでした。", en: "That did not work." }
    /// Something other than a message could not be handed over.
    not_done_offline() { ja: "接続がないため、できませんでした。", en: "That did not work: there is no connection." }

    // --- how things stand

    /// The connection is lost.
    reconnecting() {
        ja: "ワークスペースに接続できません。再接続しています。書いたメッセージは、つながりしだい送信されます。",
        en: "The workspace cannot be reached. Reconnecting; what you write is sent as soon as it is back.",
    }
    /// The connection is back.
    online_again() { ja: "再び接続しました", en: "Connected again" }
    /// The bot works and has not said on what.
    working() { ja: "作業中です…", en: "Working…" }
    /// Label of a button.
    stop() { ja: "停止", en: "Stop" }
    /// Said afterwards.
    stopping() { ja: "停止を依頼しました", en: "Asked to stop" }
    /// No answer for a while.
    bot_slow() { ja: "時間がかかっています。もう少しお待ちください。", en: "This is taking a while. Please wait a little longer." }
    /// The bot cannot be reached.
    bot_away() {
        ja: "ボットに届けられません（再起動中かもしれません）。届くまで自動的に再送されます。",
        en: "The bot cannot be reached; it may be restarting. The message is delivered again by itself.",
    }

    // --- controls of the bot's messages, modals and Home

    /// The bot did not accept a press in time.
    press_failed() { ja: "応答がありませんでした。もう一度お試しください。", en: "No answer. Please try again." }
    /// Label of a button.
    more_choices() { ja: "その他の選択肢", en: "More choices" }
    /// Placeholder of a list to choose from.
    choose() { ja: "選択してください", en: "Choose" }
    /// Label of a date without one.
    choose_date() { ja: "日時を選択", en: "Choose a date or time" }
    /// Label of a field without one.
    enter_text() { ja: "入力してください", en: "Enter text" }
    /// Label of a button that removes something chosen.
    remove_it() { ja: "{{name}} を外す", en: "Remove {{name}}" }
    /// A list could not be loaded.
    cannot_load() { ja: "読み込めませんでした", en: "Could not be loaded" }
    /// Beside the label of an input.
    optional() { ja: "（任意）", en: "(optional)" }
    /// Label of the thumbs.
    feedback() { ja: "この回答の評価", en: "Rate this answer" }
    /// A modal could not be submitted.
    modal_failed() { ja: "送信できませんでした。もう一度お試しください。", en: "That did not work. Please try again." }

    // --- underneath

    /// Label of the panel and of the button that opens it.
    underneath() { ja: "舞台裏", en: "Behind the scenes" }
    /// Under that heading.
    underneath_about() {
        ja: "この会話の裏で起きたことを、時刻の順に表示します。",
        en: "What happened behind this conversation, in order of time.",
    }
    /// When there is nothing to show.
    underneath_empty() {
        ja: "まだ何も起きていません。メッセージを送ると、ここに表示されます。",
        en: "Nothing yet. Send a message and watch.",
    }
    /// Label of a button.
    shut_underneath() { ja: "舞台裏を閉じる", en: "Close behind the scenes" }
    /// When the bot did not answer a request.
    no_answer() { ja: "応答なし", en: "no answer" }
    /// A signed event sent to the bot.
    step_event() { ja: "署名付きイベント", en: "Signed event" }
    /// A press or another act, sent to the bot.
    step_interaction() { ja: "署名付き操作", en: "Signed interaction" }
    /// A call of Slack's Web API by the bot.
    step_api() { ja: "Web API", en: "Web API" }
    /// A job in the queue.
    step_job() { ja: "ジョブ", en: "Job" }
    /// What the person wrote, as stored.
    step_said() { ja: "依頼", en: "Message" }
    /// A tool call of the model.
    step_call() { ja: "モデル: ツール呼び出し", en: "Model: tool call" }
    /// The result of a tool call.
    step_result() { ja: "ツールの結果", en: "Tool result" }
    /// A fact the host added to the conversation.
    step_note() { ja: "ボットからモデルへ", en: "Bot to model" }
    /// The model's answer.
    step_answer() { ja: "モデル: 返信", en: "Model: answer" }
    /// A proposal was made.
    step_proposed() { ja: "登録の提案", en: "Proposal" }
    /// A press was stored.
    step_press() { ja: "ボタン操作を保存", en: "Press stored" }
    /// A proposal was decided.
    step_decided() { ja: "提案の決定", en: "Decided" }
    /// A proposal reached its end.
    step_settled() { ja: "提案の完了", en: "Settled" }
    /// A message of the bot: what it should show and what Slack has.
    step_message() { ja: "送信箱", en: "Outbox" }

    // --- disturbances

    /// Label of the part with disturbances.
    chaos() { ja: "いたずら", en: "Chaos" }
    /// What they are for.
    chaos_about() {
        ja: "次の操作に障害を起こします。何をしても、登録は1回だけのはずです。",
        en: "Disturbs what comes next. Whatever you do, a sale should be registered exactly once.",
    }
    /// A disturbance.
    chaos_deliver_twice() { ja: "次のメッセージを2回届ける", en: "Deliver the next message twice" }
    /// A disturbance.
    chaos_ack_lost() { ja: "次のメッセージを再送する", en: "Retry the next message" }
    /// A disturbance.
    chaos_reorder() { ja: "次の2件を逆の順に届ける", en: "Deliver the next two in reverse" }
    /// A disturbance.
    chaos_slow_slack() { ja: "Slackを4秒遅くする", en: "Make Slack 4 s slow" }
    /// A disturbance.
    chaos_rate_limit() { ja: "Slackが一度断る（429）", en: "Make Slack refuse once (429)" }
    /// A disturbance.
    chaos_lose_answer() { ja: "投稿後にSlackの応答を失う", en: "Lose Slack's answer to a post" }
    /// A disturbance.
    chaos_kill_sales_server() { ja: "販売サーバーを止める", en: "Kill the sales server" }
    /// A disturbance.
    chaos_press_twice() { ja: "次のボタンを2回押す", en: "Press the next button twice" }
    /// Said when a disturbance is ready.
    chaos_armed() { ja: "準備できました。", en: "Ready." }
    /// Said when a disturbance is no longer wanted.
    chaos_disarmed() { ja: "取りやめました。", en: "Called off." }
    /// Said when a disturbance cannot be had.
    chaos_refused() { ja: "今はできません。", en: "Not possible now." }
}
