//! What the playground's demo model says.

words! {
    /// What this is, what it can do and what it cannot; also the answer to a greeting.
    help() {
        ja: "こんにちは。私はこのプレイグラウンドに組み込まれたデモモデルです。AI ではなく、決まった語彙と言い回しだけを読み取ります。\n\nできること\n- お客様のコードと連絡先を調べる：「佐藤さんの顧客コードは？」\n- 売上の照会と集計（お客様・担当者・月・週・日別）：「0002の先月と今月の合計を教えて」\n- 販売の登録と取り消しの準備（カードのボタンで確定します）：「0016に先週火曜かぼちゃ4個600円で登録して」\n- 条件つきの登録、続けての質問、カードの内容の変更：「やっぱり800円で」\n- ご自身の登録の確認：「今日登録した分は？」\n\nできないこと\n- 計算（単価×個数、平均、比率）、予測、グラフ、ファイルの作成はできません。\n- お客様情報の追加や変更、販売以外のご相談にはお応えできません。",
        en: "Hello. I am the demo model built into this playground: not an AI, I only read a fixed range of words and phrases.\n\nI can\n- look up customers' codes and contact details: “What is Sato's customer code?”\n- list sales and total them by customer, staff, month, week or day: “total sales of 0002 last month and this month”\n- prepare registrations and cancellations, which the card's button confirms: “register 4 pumpkins for 600 yen to 0016 last Tuesday”\n- check a condition first, go on from what was said, change a card that waits: “actually 800 yen”\n- show what you registered: “what did I register today?”\n\nI cannot\n- calculate (unit price times quantity, averages, ratios), forecast, draw charts or make files;\n- add or change customers, or help with anything but customers and sales.",
    }
    /// The message was not understood.
    not_understood() {
        ja: "申し訳ありません。組み込みのデモモデルには、ご依頼の意味が読み取れませんでした。たとえば次のようにお書きください。\n- 「佐藤さんの顧客コードは？」\n- 「0002の先週の売上を見せて」\n- 「できること」",
        en: "Sorry, the built-in demo model could not understand that. Please try, for example:\n- “What is Sato's customer code?”\n- “Show the sales of 0002 last week”\n- “What can you do?”",
    }
    /// A part of the message was not understood; what was is answered above.
    unread(parts) {
        ja: "「{parts}」の部分は読み取れなかったため、反映していません。",
        en: "I did not understand “{parts}”, so it is not taken into account.",
    }
    /// A figure was asked for of certain goods or amounts.
    no_filter(parts) {
        ja: "申し訳ありません。「{parts}」のような商品や金額の条件では絞り込めないため、お調べしていません。デモモデルが選べるのは、お客様・期間・集計の分け方だけです。たとえば「0002の先月の売上を見せて」とお書きになると、商品と金額の一覧を表示します。",
        en: "Sorry, I cannot narrow down by goods or amounts (“{parts}”), so I looked nothing up. The demo model can only choose the customer, the period and how a total is divided. For example, “show the sales of 0002 last month” lists goods and amounts.",
    }
    /// A list was asked for of certain goods or amounts; the whole list stands above.
    unfiltered(parts) {
        ja: "「{parts}」では絞り込めないため、反映していません。上は、絞り込んでいないすべての結果です。",
        en: "I cannot narrow a list down by “{parts}”, so it is not taken into account: the above is the whole list.",
    }
    /// Between the parts of [`unread`].
    list() { ja: "」「", en: "”, “" }
    /// About sales, and not to be had.
    beyond() {
        ja: "申し訳ありませんが、それはデモモデルではできません。できるのは、お客様の検索、売上の照会と合計、販売の登録と取り消しの準備だけです。",
        en: "Sorry, the demo model cannot do that. It can only look up customers, list and total sales, and prepare registrations and cancellations.",
    }
    /// Something else than sales, in one sentence.
    outside() {
        ja: "申し訳ありませんが、お客様と販売に関すること以外にはお答えできません。",
        en: "Sorry, I can only help with customers and sales.",
    }
    /// Thanks received.
    welcome() { ja: "どういたしまして。", en: "You're welcome." }
    /// A typed yes while a card waits.
    press_the_card(button) {
        ja: "文字でのお返事では確定できません。上のカードの「{button}」ボタンか、もう一方のボタンを押してください。",
        en: "A typed answer decides nothing. Please press “{button}” on the card above, or the other button.",
    }
    /// A typed yes while none waits.
    no_card_waits() {
        ja: "確認待ちのカードはありません。ご用件をもう一度お書きください。",
        en: "No card is waiting. Please write what you need once more.",
    }
    /// No date in the instructions.
    no_today() {
        ja: "今日の日付が伝えられていないため、お答えできません。",
        en: "I was not told today's date, so I cannot answer.",
    }
    /// The tool is not offered to this person, or not in this round.
    no_tool_to_read() {
        ja: "いまデータを調べることができないため、お答えできません。",
        en: "I cannot look up the data at the moment.",
    }
    /// The write tool is not offered.
    no_tool_to_write() {
        ja: "あなたの権限では、販売の登録や取り消しを準備できません。",
        en: "Your role does not allow preparing registrations or cancellations.",
    }
    /// Nothing of a continued request is left.
    nothing_left() { ja: "ご依頼の残りはありません。", en: "Nothing else of your request is left." }

    /// No customer of this name.
    nobody_named(name) { ja: "「{name}」に当てはまるお客様は見つかりませんでした。", en: "I found no customer matching “{name}”." }
    /// No customer of this code.
    no_code(code) { ja: "顧客コード {code} のお客様は見つかりませんでした。", en: "I found no customer with the code {code}." }
    /// Several customers of this name; the list follows.
    several_named(name, count) {
        ja: "「{name}」に当てはまるお客様が {count} 件あります。どちらのお客様でしょうか。顧客コードでお答えください。",
        en: "{count} customers match “{name}”. Which one do you mean? Please answer with the code.",
    }
    /// Several customers of this name when nothing needs to be chosen.
    customers_named(name, count) { ja: "「{name}」に当てはまるお客様（{count} 件）：", en: "Customers matching “{name}” ({count}):" }
    /// One customer's code.
    the_code(name, code) { ja: "{name} 様の顧客コードは {code} です。", en: "The customer code of {name} is {code}." }
    /// A code's customer.
    the_name(code, name) { ja: "顧客コード {code} は {name} 様です。", en: "The customer code {code} belongs to {name}." }
    /// Where a customer is.
    the_contact(address, phone) { ja: "住所：{address}、電話：{phone}", en: "Address: {address}, phone: {phone}" }
    /// All customers; the list follows.
    all_customers(count) { ja: "お客様の一覧です（{count} 件）。", en: "The customers ({count}):" }
    /// The list was cut.
    truncated() { ja: "件数が多いため、一部だけを表示しています。", en: "There are more; only a part is shown." }
    /// Whose code?
    which_customer() { ja: "どのお客様についてでしょうか。顧客コードかお名前をお書きください。", en: "Which customer? Please give the code or the name." }

    /// A period.
    period(start, end) { ja: "{start}〜{end}", en: "{start} to {end}" }
    /// No period was asked.
    all_time() { ja: "全期間", en: "all dates" }
    /// Sales of a customer; the table follows.
    sales_of(who, period, count, total) {
        ja: "{who} の販売（{period}）：{count} 件、合計 {total}",
        en: "Sales of {who} ({period}): {count}, total {total}",
    }
    /// No sales of a customer.
    no_sales_of(who, period) { ja: "{who} の販売（{period}）はありません（0 件）。", en: "{who} has no sales in this period ({period})." }
    /// A total.
    total_of(who, period, total, count) {
        ja: "{who} の販売金額の合計（{period}）は {total} です（{count} 件）。",
        en: "The total of {who} ({period}) is {total} (number of sales: {count}).",
    }
    /// Everything the person may see.
    everybody() { ja: "全体", en: "all customers" }
    /// My registrations; the table follows.
    my_registrations(period, count) { ja: "あなたの登録（{period}）：{count} 件", en: "Your registrations ({period}): {count}" }
    /// A colleague's registrations; the table follows.
    registrations_by(name, period, count) { ja: "{name} さんの登録（{period}）：{count} 件", en: "Registrations by {name} ({period}): {count}" }
    /// None of a colleague's.
    no_registrations_by(name, period) { ja: "{name} さんの登録（{period}）はありません（0 件）。", en: "{name} has no registrations ({period})." }
    /// The registration that is to be cancelled; its row follows.
    my_last_registration() { ja: "あなたの最後の登録です。", en: "Your last registration:" }
    /// Who registered a sale; its row stands above.
    registered_by(name) { ja: "登録者：{name}", en: "Registered by: {name}" }
    /// No sale of this number.
    no_sale(number) { ja: "{number} という番号の販売は見つかりませんでした。", en: "I found no sale with the number {number}." }
    /// None of mine.
    no_registrations(period) { ja: "あなたの登録（{period}）はありません（0 件）。", en: "You have no registrations ({period})." }

    /// Column heads.
    head_code() { ja: "コード", en: "Code" }
    /// Column head.
    head_name() { ja: "お名前", en: "Name" }
    /// Column head.
    head_address() { ja: "住所", en: "Address" }
    /// Column head.
    head_phone() { ja: "電話", en: "Phone" }
    /// Column head.
    head_date() { ja: "日付", en: "Date" }
    /// Column head.
    head_products() { ja: "商品", en: "Products" }
    /// Column head.
    head_price() { ja: "金額", en: "Amount" }
    /// Column head.
    head_sale() { ja: "販売番号", en: "Sale" }
    /// Column head.
    head_customer() { ja: "お客様", en: "Customer" }
    /// Column head.
    head_group() { ja: "内訳", en: "Breakdown" }
    /// Column head.
    head_count() { ja: "件数", en: "Count" }
    /// Beside a sale that was cancelled.
    cancelled_mark() { ja: "（取消済）", en: " (cancelled)" }

    /// A card was made for a registration.
    card_shown(button) {
        ja: "内容を確認用のカードに表示します。まだ登録は済んでいません。間違いがなければ「{button}」ボタンを押してください。",
        en: "A card with the details is shown. Nothing is written yet: please check it and press “{button}”.",
    }
    /// A card was made in the place of one that waited.
    card_replaced(button) {
        ja: "内容を改めたカードに置き換えます。まだ登録は済んでいません。間違いがなければ「{button}」ボタンを押してください。",
        en: "A new card takes the place of the one that waited. Nothing is written yet: please check it and press “{button}”.",
    }
    /// A card was made for a cancellation.
    cancel_card_shown() {
        ja: "取り消しの内容を確認用のカードに表示します。まだ取り消しは済んでいません。間違いがなければ、カードのボタンを押してください。",
        en: "A card with the cancellation is shown. Nothing is changed yet: please check it and press its button.",
    }
    /// How an ambiguous date was read.
    date_read_as(words, day, other) {
        ja: "「{words}」は {day} と読みました。{other} のことでしたら、日付を添えてもう一度お書きください。",
        en: "I read “{words}” as {day}. If you meant {other}, please write again with the date.",
    }
    /// How an ambiguous period of a look-up was read.
    period_read_as(words, period, other) {
        ja: "「{words}」は {period} と読みました（{other} とも読めます）。",
        en: "I read “{words}” as {period}; it could also mean {other}.",
    }
    /// More than one day for one sale.
    several_days(days) { ja: "日付が複数あります（{days}）。どの日の販売でしょうか。", en: "There are several days ({days}). Which is the day of the sale?" }
    /// The day of a registration lies ahead.
    future_day(day) { ja: "{day} は今日より後の日付です。ご確認ください。", en: "{day} lies in the future: please check it." }
    /// Days that nothing tells apart.
    which_of_days(words, days) { ja: "「{words}」は {days} と読めます。どちらの日でしょうか。", en: "“{words}” can mean {days}. Which day is it?" }
    /// Between two days.
    or() { ja: " とも ", en: " or " }
    /// No card can be changed.
    no_card_to_change() {
        ja: "変更できる確認待ちのカードがありません。登録済みの販売は、番号を添えて取り消してから、登録し直してください。",
        en: "No card is waiting that could be changed. To change a registered sale, cancel it by its number and register it again.",
    }
    /// The rest waits for the card.
    rest_follows() {
        ja: "残りのご依頼は、カードのボタンが押されたあとに続けます。",
        en: "I will go on with the rest of your request once the card's button is pressed.",
    }
    /// Another part of the request is about a customer whom nobody found.
    rest_of_nobody() {
        ja: "ほかのご依頼も同じお客様についてと読み取ったため、お調べしていません。",
        en: "I took the rest of your request to be about the same customer, so it is not answered either.",
    }
    /// The write was refused before a card.
    not_prepared(why) { ja: "確認用のカードの準備ができませんでした：{why}", en: "The card could not be prepared: {why}" }
    /// The condition was checked and does not hold.
    condition_fails(who, period, count) {
        ja: "{who} の販売（{period}）は {count} 件のため、条件に当てはまりません。登録の準備はしていません。",
        en: "Number of sales of {who} ({period}): {count}, so the condition does not hold. I prepared no registration.",
    }
    /// The condition was checked and holds.
    condition_holds(who, period, count) {
        ja: "{who} の販売（{period}）は {count} 件で、条件に当てはまります。",
        en: "Number of sales of {who} ({period}): {count}, so the condition holds.",
    }
    /// The condition was not understood.
    condition_unclear() {
        ja: "条件の意味が読み取れなかったため、登録の準備はしていません。確かめられるのは販売の件数だけです。「今月の販売が0件の場合」のようにお書きください。",
        en: "I could not understand the condition, so I prepared no registration. I can only check the number of sales: please write it like “if there are no sales this month”.",
    }
    /// A condition on a look-up or the like.
    condition_only_registrations() {
        ja: "条件をつけられるのは販売の登録だけです。条件のないかたちで、もう一度お書きください。",
        en: "Only registrations can have a condition. Please write that again without one.",
    }
    /// What a registration lacks.
    missing(what) { ja: "登録には {what} が必要です。お知らせください。", en: "To prepare the registration I still need {what}." }
    /// The same of one sale among several, called by its goods.
    missing_of(goods, what) { ja: "「{goods}」の登録には {what} が必要です。お知らせください。", en: "To prepare the registration of “{goods}” I still need {what}." }
    /// Part of [`missing`].
    missing_customer() { ja: "お客様（顧客コードかお名前）", en: "the customer (code or name)" }
    /// Part of [`missing`].
    missing_products() { ja: "商品", en: "what was sold" }
    /// Part of [`missing`].
    missing_price() { ja: "金額", en: "the amount" }
    /// Between the parts of [`missing`].
    and() { ja: "、", en: " and " }
    /// Several amounts in one registration.
    several_prices() {
        ja: "金額が複数あるため、どれを登録するか判断できません。1 件ずつ、合計の金額でお書きください。",
        en: "There are several amounts, so I cannot tell which to register. Please write one sale at a time, with its whole amount.",
    }
    /// The person asked for nothing to be registered.
    not_to_register() { ja: "承知しました。登録の準備はしていません。", en: "All right: I prepared no registration." }
    /// A change that does not say what.
    what_to_change() {
        ja: "カードの内容をどのように変更しますか。「金額を800円に変更して」のようにお書きください。",
        en: "How is the card to be changed? Please write it like “change the amount to 800 yen”.",
    }
    /// Several cards could be meant by a change.
    which_card() {
        ja: "確認待ちのカードが複数あります。どのカードの変更か、顧客コードか商品を添えてお書きください。",
        en: "Several cards are waiting. Please write again with the customer's code or the goods of the one to change.",
    }
    /// A price per piece.
    price_per_piece(price) {
        ja: "「{price}」は 1 つあたりの値段と読みました。デモモデルは計算をしませんので、合計の金額をお知らせください。",
        en: "I read “{price}” as the price of one. The demo model does not multiply: please give the whole amount.",
    }
    /// A fraction of a yen.
    amount_not_whole(words) { ja: "「{words}」は円未満の端数があり、金額として扱えません。正しい金額をお書きください。", en: "“{words}” has a fraction of a yen. Please give the right amount." }
    /// Digits grouped wrongly.
    amount_grouping(words) { ja: "「{words}」は桁の区切りが正しくありません。正しい金額をお書きください。", en: "The digits of “{words}” are grouped wrongly. Please give the right amount." }
    /// Below nothing.
    amount_negative(words) { ja: "「{words}」はマイナスのため、金額として扱えません。正しい金額をお書きください。", en: "“{words}” is negative. Please give the right amount." }
    /// A period where a day is needed.
    which_day(words) { ja: "「{words}」のうち、どの日の販売でしょうか。日付をお書きください。", en: "Which day of “{words}”? Please give the date." }
    /// A day the calendar lacks.
    no_such_day(words) { ja: "「{words}」は存在しない日付です。正しい日付をお書きください。", en: "“{words}” is not a day that exists. Please give the right date." }
    /// Day and weekday disagree.
    other_weekday(words) { ja: "「{words}」は日付と曜日が合いません。正しい日付をお書きください。", en: "In “{words}” the date and the weekday disagree. Please give the right date." }
    /// A period that ends before it begins.
    ends_before_it_begins(words) { ja: "「{words}」は終わりが始まりより前です。正しい期間をお書きください。", en: "“{words}” ends before it begins. Please give the right period." }

    /// Which sale to cancel?
    which_sale() {
        ja: "取り消す販売の番号（S で始まる番号）をお書きください。番号は「今日登録した分は？」や「0002の先週の売上を見せて」で確認できます。",
        en: "Please give the number of the sale to cancel (it begins with S). “What did I register today?” or “sales of 0002 last week” shows the numbers.",
    }
    /// Why cancel?
    which_reason(sale) { ja: "{sale} を取り消す理由をお書きください。例：「{sale} を取り消して。理由は数量の間違い」", en: "Please say why {sale} is to be cancelled, for example: “cancel {sale} because the quantity is wrong”." }

    /// A tool's error.
    error_customer_not_found() { ja: "そのお客様は見つかりませんでした。", en: "that customer was not found." }
    /// A tool's error.
    error_sale_not_found() { ja: "その販売は見つかりませんでした。", en: "that sale was not found." }
    /// A tool's error.
    error_invalid_date() { ja: "日付が正しくありません。", en: "the date is not valid." }
    /// A tool's error.
    error_invalid_price() { ja: "金額が正しくありません。", en: "the amount is not valid." }
    /// A tool's error.
    error_invalid_products() { ja: "商品の内容が正しくありません。", en: "the products are not valid." }
    /// A tool's error without words of its own.
    error_other(text) { ja: "ツールからエラーが返りました（{text}）", en: "the tool returned an error ({text})" }
    /// A read failed.
    could_not_read(who, why) { ja: "{who}：調べられませんでした。{why}", en: "{who}: I could not look it up: {why}" }
}
