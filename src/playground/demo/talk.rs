//! Messages that ask for no figures: greetings, a typed yes, and what lies outside sales.

use super::grammar::Request;
use super::text::is_kanji;

/// What kind of talk a message without a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Talk {
    /// A greeting, or the question what this can do.
    Help,
    Thanks,
    /// A typed yes or no, which never counts as a press.
    Yes,
    /// About something else than sales.
    Outside,
    /// Perhaps about sales, and not understood.
    Unclear,
}

const YES: [&str; 40] = [
    "はい",
    "ハイ",
    "はいはい",
    "うん",
    "ええ",
    "お願いします",
    "おねがいします",
    "はいお願いします",
    "それでお願いします",
    "これでお願いします",
    "ok",
    "okです",
    "okay",
    "オッケー",
    "いいです",
    "いいですよ",
    "よいです",
    "大丈夫",
    "大丈夫です",
    "それで",
    "承認",
    "承認します",
    "確認しました",
    "登録して",
    "登録してください",
    "yes",
    "yesplease",
    "yep",
    "yeah",
    "sure",
    "goahead",
    "confirm",
    "confirmed",
    "doit",
    "approve",
    "approved",
    "registerit",
    "pleasedo",
    "no",
    "いいえ",
];
const HELP: [&str; 24] = [
    "使い方",
    "ヘルプ",
    "何ができ",
    "なにができ",
    "できること",
    "何をして",
    "あなたは誰",
    "あなたはだれ",
    "こんにちは",
    "こんばんは",
    "おはよう",
    "はじめまして",
    "help",
    "hello",
    "hi",
    "hey",
    "good morning",
    "good afternoon",
    "good evening",
    "what can you do",
    "who are you",
    "what are you",
    "how do i use",
    "how does this work",
];
const THANKS: [&str; 7] = ["ありがと", "有難う", "サンキュー", "助かりました", "thanks", "thank you", "cheers"];
const SALES: [&str; 22] = [
    "売",
    "販",
    "登録",
    "顧客",
    "お客",
    "コード",
    "円",
    "件",
    "商品",
    "取引",
    "注文",
    "金額",
    "合計",
    "sale",
    "customer",
    "register",
    "yen",
    "code",
    "price",
    "amount",
    "order",
    "total",
];
const ASKS: [&str; 46] = [
    "?",
    "教え",
    "して",
    "ください",
    "下さい",
    "何",
    "どう",
    "どこ",
    "いつ",
    "だれ",
    "誰",
    "なぜ",
    "ですか",
    "ますか",
    "知り",
    "書いて",
    "作って",
    "話して",
    "語って",
    "たい",
    "か。",
    "天気",
    "what",
    "who",
    "why",
    "when",
    "where",
    "how",
    "which",
    "can",
    "could",
    "tell",
    "write",
    "make",
    "give",
    "show",
    "please",
    "translate",
    "explain",
    "play",
    "sing",
    "recommend",
    "book",
    "is",
    "are",
    "do",
];

/// A typed yes, or the like.
pub(super) fn is_yes(message: &str) -> bool {
    use unicode_normalization::UnicodeNormalization;
    let bare: String =
        message.nfkc().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric() || *c == 'ー').collect();
    YES.contains(&bare.as_str())
}

pub(super) fn read(request: &Request, message: &str) -> Talk {
    let text = &request.text;
    let all = 0..text.len();
    let says = |words: &[&str]| text.find(all.clone(), words).is_some();
    // Latin words match as whole words, so "hi" is not found in "which"; the others anywhere.
    if is_yes(message) {
        Talk::Yes
    } else if says(&THANKS) {
        Talk::Thanks
    } else if says(&HELP) {
        Talk::Help
    } else if says(&SALES) || !text.codes.is_empty() || !text.amounts.is_empty() {
        Talk::Unclear
    } else if says(&ASKS) && text.low.iter().filter(|c| c.is_alphabetic() || is_kanji(**c)).count() >= 4 {
        Talk::Outside
    } else {
        Talk::Unclear
    }
}
