//! The words the engine says by itself: limits, refusals, failures.

words! {
    /// A message with nothing in it but the mention.
    what_do_you_need() { ja: "ご用件をお書きください。", en: "What can I do for you?" }

    /// A message with nothing in it but files.
    files_are_not_read() {
        ja: "ファイルの中身は読めません。ご用件を文章でお書きください。",
        en: "I cannot read files. Please write what you need in words.",
    }
    /// To its author: a message was changed when it had been answered or decided.
    edit_too_late() {
        ja: "このメッセージは、変更される前の内容ですでに処理しました。変更は反映していませんので、必要な場合は新しいメッセージでお送りください。",
        en: "I had already worked on this message before you changed it, so the change was not applied. If you need it, please send it as a new message.",
    }
    /// In a channel: an answer that its readers may not all see was shown to the asker only.
    answered_privately(name) {
        ja: "この会話には閲覧の権限がない方がいる可能性があるため、{name}さんへの回答はご本人だけに表示しました。",
        en: "Some people here may not be allowed to see the figures, so only {name} was shown the answer.",
    }
    /// The same, in a direct message.
    answered_by_dm(name) {
        ja: "この会話には閲覧の権限がない方がいる可能性があるため、{name}さんへの回答はダイレクトメッセージでお送りしました。",
        en: "Some people here may not be allowed to see the figures, so I sent the answer to {name} in a direct message.",
    }
    /// Stands above an answer in a direct message: where it was asked for.
    asked_in(channel) {
        ja: "チャンネル「{channel}」でのご依頼への回答です。",
        en: "This answers your request in the channel “{channel}”.",
    }
    /// The same where the channel's name is not known.
    asked_elsewhere() {
        ja: "チャンネルでのご依頼への回答です。",
        en: "This answers your request in a channel.",
    }

    /// Limit: tool calls of one turn.
    stop_tool_calls(limit) {
        ja: "一度のご依頼で使える検索・操作は{limit}回までのため、ここで止めました。内容を分けてお試しください。",
        en: "I stopped here: one request may use at most {limit} tool calls. Please try it in smaller parts.",
    }
    /// Limit: model rounds of one turn.
    stop_rounds(limit) {
        ja: "一度のご依頼で進められるのは{limit}段階までのため、ここで止めました。内容を分けてお試しください。",
        en: "I stopped here: one request may take at most {limit} steps. Please try it in smaller parts.",
    }
    /// Limit: the same tool round after round.
    stop_rounds_in_a_row(limit) {
        ja: "同じ操作が{limit}段階を超えて続いたため、ここで止めました。条件を絞ってお試しください。",
        en: "I stopped here: the same tool was about to be used for more than {limit} steps in a row. Please narrow the request.",
    }
    /// Limit: the same call again and again.
    stop_same_call(limit) {
        ja: "同じ条件の検索が{limit}回を超えたため、ここで止めました。条件を変えてお試しください。",
        en: "I stopped here: the same search was about to run more than {limit} times. Please change the request.",
    }
    /// Limit: calls of a tool per minute.
    stop_calls_per_minute(limit) {
        ja: "同じ操作は1分間に{limit}回までのため、ここで止めました。1分ほどおいてお試しください。",
        en: "I stopped here: you can use the same tool at most {limit} times a minute. Please try again in a minute.",
    }
    /// Limit: proposals of one turn.
    stop_proposals(limit) {
        ja: "一度のご依頼でご用意できる確認カードは{limit}件までのため、ここで止めました。残りはあらためてお送りください。",
        en: "I stopped here: one request may create at most {limit} cards. Please send the rest as a new message.",
    }
    /// Limit: length of a call's arguments.
    stop_arguments_too_long(limit) {
        ja: "操作の内容が{limit}文字を超えたため、ここで止めました。短くしてお試しください。",
        en: "I stopped here: the details of one operation may have at most {limit} characters. Please shorten them.",
    }
    /// Limit: time of one turn.
    stop_time(seconds) {
        ja: "{seconds}秒以内に終わらなかったため、ここで止めました。もう一度お試しください。",
        en: "I stopped here: this took longer than {seconds} seconds. Please try again.",
    }
    /// Limit: tokens of one turn.
    stop_tokens(limit) {
        ja: "一度のご依頼で扱える量（{limit}トークン）に達したため、ここで止めました。内容を分けてお試しください。",
        en: "I stopped here: one request may use at most {limit} tokens. Please try it in smaller parts.",
    }
    /// The model's endpoint does not answer.
    model_unavailable() {
        ja: "ただいまAIモデルに接続できません。しばらくしてからお試しください。",
        en: "I cannot reach the language model right now. Please try again later.",
    }
    /// The model's endpoint refuses the request: a fault of the set-up.
    model_refused() {
        ja: "AIモデルにご依頼を受け付けてもらえませんでした。管理者にお知らせください。",
        en: "The language model refused the request. Please tell your administrator.",
    }
    /// The model's answer cannot be understood.
    model_nonsense() {
        ja: "AIモデルから正しい回答を得られませんでした。言い方を変えてお試しください。",
        en: "The language model gave no usable answer. Please try again in other words.",
    }
    /// The sales server does not answer.
    tools_unavailable() {
        ja: "ただいま販売データに接続できません。しばらくしてからお試しください。",
        en: "I cannot reach the sales data right now. Please try again later.",
    }
    /// A tool in the line under an answer.
    tool_get_customers() { ja: "顧客検索", en: "customer search" }
    /// A tool in the line under an answer.
    tool_get_sales() { ja: "販売検索", en: "sales search" }
    /// A tool in the line under an answer.
    tool_list_registrations() { ja: "登録一覧", en: "registrations" }
    /// A tool in the line under an answer.
    tool_summarize_sales() { ja: "販売集計", en: "sales totals" }
    /// A tool in the line under an answer.
    tool_add_sale() { ja: "販売登録の準備", en: "preparing a sale" }
    /// A tool in the line under an answer.
    tool_cancel_sale() { ja: "取り消しの準備", en: "preparing a cancellation" }
    /// A tool in the line under an answer.
    tool_other() { ja: "その他の操作", en: "another tool" }
    /// After a tool that gave an error.
    tool_gave_nothing() { ja: "（結果なし）", en: " (no result)" }
    /// How totals were grouped.
    by_total() { ja: "全体", en: "in total" }
    /// How totals were grouped.
    by_day() { ja: "日別", en: "by day" }
    /// How totals were grouped.
    by_week() { ja: "週別", en: "by week" }
    /// How totals were grouped.
    by_month() { ja: "月別", en: "by month" }
    /// How totals were grouped.
    by_customer() { ja: "顧客別", en: "by customer" }
    /// How totals were grouped.
    by_staff() { ja: "担当者別", en: "by staff" }
    /// A period in the line under an answer.
    period(begin, end) { ja: "{begin}〜{end}", en: "{begin} to {end}" }
    /// A period without an end.
    period_from(begin) { ja: "{begin}〜", en: "from {begin}" }
    /// Between words of the person.
    and() { ja: "・", en: ", " }
    /// Behind a period: the words it came from.
    period_said(words) { ja: "（「{words}」）", en: " (“{words}”)" }
    /// Behind a period that is a part of what the words say.
    period_part(words) { ja: "（「{words}」の一部）", en: " (part of “{words}”)" }
    /// Behind a period that is not what the words say.
    period_differs(words, says) { ja: "（⚠ 「{words}」は {says} と読めます）", en: " (⚠ “{words}” reads as {says})" }
    /// Behind a period made from words that are no valid date.
    period_is_none(words) { ja: "（⚠ 「{words}」という日付はありません）", en: " (⚠ “{words}” is not a valid date)" }
    /// A period without a beginning.
    period_until(end) { ja: "〜{end}", en: "until {end}" }
    /// Whose registrations were listed; follows the tool's name.
    registrations_by(name) { ja: "登録者 {name}", en: "by {name}" }
    /// That cancelled registrations were listed too.
    with_cancelled() { ja: "取り消し済みを含む", en: "including cancelled ones" }
    /// Under an answer made without any tool.
    nothing_looked_up() { ja: "データは検索していません", en: "no data was looked up" }
    /// Under every answer without a card.
    nothing_registered() { ja: "この返信による登録はありません", en: "nothing was registered by this reply" }
    /// Under every answer with a card, be it of a registration or of a cancellation.
    nothing_done_yet() { ja: "カードのボタンを押すまで実行されません", en: "nothing is carried out until the card's button is pressed" }
    /// Stands before an image's description, since images are not shown.
    image() { ja: "画像", en: "Image" }

    /// To a person without a staff record, privately; the id is what the administrator needs.
    not_registered(user) {
        ja: "ご利用には登録が必要です。SlackのユーザーID（{user}）を添えて、社内の管理者に登録をご依頼ください。",
        en: "You need to be registered to use this. Please send your Slack user ID ({user}) to your administrator.",
    }
    /// To a guest, privately.
    guest() {
        ja: "申し訳ありませんが、ゲストの方はご利用いただけません。",
        en: "I'm sorry, guests cannot use this.",
    }
    /// To a member of another company, privately.
    external() {
        ja: "申し訳ありませんが、社外の方はご利用いただけません。",
        en: "I'm sorry, people from other organisations cannot use this.",
    }
    /// To a person of whom Slack says nothing at the moment, privately.
    unknown_person() {
        ja: "どなたからのご依頼かをSlackに確認できませんでした。少し待ってからもう一度お試しください。",
        en: "Slack did not say who you are. Please try again in a moment.",
    }
    /// To a person whose access was withdrawn, privately.
    revoked() {
        ja: "ご利用の権限が停止されています。心当たりがない場合は、社内の管理者にご確認ください。",
        en: "Your access has been withdrawn. Please ask your administrator if you did not expect this.",
    }
    /// Something went wrong inside; the reference finds it in the log.
    failed(reference) {
        ja: "申し訳ありません。処理中に問題が起きました。もう一度お試しください（参照番号 {reference}）。",
        en: "I'm sorry, something went wrong. Please try again (reference {reference}).",
    }
    /// Slack refused to show a card.
    card_not_shown() {
        ja: "確認カードを表示できなかったため、何も実行していません。もう一度ご依頼ください。",
        en: "The card could not be shown, so nothing was carried out. Please ask again.",
    }

    /// Slack takes neither the blocks of a message nor its text.
    not_shown() {
        ja: "お返事をSlackに表示できませんでした。短くなるように分けてお試しください。",
        en: "I could not show my answer in Slack. Please ask for a shorter part of it.",
    }
}
