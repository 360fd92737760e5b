//! The words the engine says by itself: limits, refusals, failures.

words! {
    /// A message with nothing in it but the mention.
    what_do_you_need() { ja: "ご用件をお書きください。", en: "What can I do for you?" }

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
    /// To a person whose access was withdrawn, privately.
    revoked() {
        ja: "ご利用の権限が停止されています。心当たりがない場合は、社内の管理者にご確認ください。",
        en: "Your access has been withdrawn. Please ask your administrator if you did not expect this.",
    }
    /// A typed "yes" is no press.
    press_the_button() {
        ja: "文字でのお返事では実行されません。カードのボタンを押してください。",
        en: "A typed answer does not count. Please press the button on the card.",
    }
    /// Something went wrong inside; the reference finds it in the log.
    failed(reference) {
        ja: "申し訳ありません、処理中に問題が起きました。もう一度お試しください（参照番号 {reference}）。",
        en: "I'm sorry, something went wrong. Please try again (reference {reference}).",
    }
    /// Several cards of one answer could not all be shown: Slack refused one.
    card_not_shown() {
        ja: "確認カードを表示できませんでした。何も登録されていません。もう一度ご依頼ください。",
        en: "The card could not be shown. Nothing was registered. Please ask again.",
    }
}
