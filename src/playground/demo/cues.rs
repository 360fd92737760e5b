//! The words that tell what is asked.

use super::text::{Mark, Text};

/// What a word asks for, the strongest first: of several in one clause the first of this order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cue {
    Cancel,
    Mine,
    Register,
    Total,
    Sales,
    Code,
    Contact,
    Find,
    /// Words that seek somebody, who may be no customer at all.
    Seek,
}

impl Cue {
    pub(super) fn is_figures(self) -> bool {
        matches!(self, Self::Total | Self::Sales)
    }

    pub(super) fn is_customer(self) -> bool {
        matches!(self, Self::Code | Self::Contact | Self::Find | Self::Seek)
    }
}

/// A cue in a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct CueAt {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) cue: Cue,
}

/// Longer words stand before the shorter ones they contain.
const WORDS: [(Cue, &[&str]); 16] = [
    (
        Cue::Mine,
        &[
            "登録した販売",
            "登録した売上",
            "登録した分",
            "登録したもの",
            "登録したやつ",
            "登録した内容",
            "登録したデータ",
            "登録した件",
            "登録した一覧",
            "登録したの",
            "登録された販売",
            "登録された売上",
            "登録済みの販売",
            "登録済み",
            "登録一覧",
            "登録履歴",
            "登録状況",
            "登録内容の一覧",
            "登録件数",
            "登録分",
            "登録を見せ",
            "登録を一覧",
            "登録は何件",
            "何を登録した",
            "my registrations",
            "my registration",
            "my recent registrations",
            "registrations",
            "did i register",
            "have i registered",
            "i've registered",
            "i have registered",
            "i registered",
            "did i enter",
            "have i entered",
            "i entered",
            "did i record",
            "i recorded",
            "have i recorded",
            "registered by me",
        ],
    ),
    (Cue::Find, &["登録されていますか", "登録されてますか", "登録されている", "登録がありますか"]),
    (
        Cue::Cancel,
        &[
            "取り消し",
            "取り消す",
            "取消し",
            "取消",
            "取り消",
            "キャンセル",
            "削除",
            "無効に",
            "cancel",
            "undo",
            "delete",
            "void",
            "revoke",
            "cancellation",
        ],
    ),
    (Cue::Sales, &["販売記録を見", "販売履歴", "販売実績", "sales records", "sales record", "sales history"]),
    (
        Cue::Register,
        &[
            "販売登録",
            "売上登録",
            "販売の登録",
            "売上の登録",
            "登録",
            "記録して",
            "記録を",
            "記録お願い",
            "記録し",
            "入力",
            "計上",
            "追加",
            "売上を立て",
            "売上に入れ",
            "つけておいて",
            "つけといて",
            "入れておいて",
            "入れといて",
            "registering",
            "registered",
            "registration",
            "register",
            "record",
            "log",
            "enter",
            "add",
            "put in",
            "put down",
            "note down",
            "create a sale",
            "new sale",
        ],
    ),
    (
        Cue::Total,
        &[
            "販売金額合計",
            "販売金額の合計",
            "売上合計",
            "合計金額",
            "合計",
            "総額",
            "トータル",
            "総計",
            "累計",
            "集計",
            "いくら",
            "何円",
            "売上高",
            "販売件数",
            "件数",
            "何件",
            "ランキング",
            "内訳",
            "grand total",
            "total sales",
            "sales total",
            "total",
            "totals",
            "sum",
            "how much",
            "how many",
            "altogether",
            "revenue",
            "turnover",
            "breakdown",
            "add up",
            "summary",
            "summarize",
            "summarise",
        ],
    ),
    (
        Cue::Total,
        &[
            "顧客別",
            "お客様別",
            "得意先別",
            "担当者別",
            "担当別",
            "スタッフ別",
            "月別",
            "週別",
            "日別",
            "月ごと",
            "週ごと",
            "日ごと",
        ],
    ),
    (
        Cue::Total,
        &["by customer", "per customer", "by staff", "per staff", "by month", "per month", "by week", "per week"],
    ),
    (
        Cue::Sales,
        &[
            "売上",
            "売り上げ",
            "うりあげ",
            "販売",
            "購入",
            "買った",
            "買って",
            "買い物",
            "お買い上げ",
            "取引",
            "注文",
            "売れ",
            "売った",
            "sales",
            "sale",
            "sold",
            "sell",
            "bought",
            "buy",
            "purchases",
            "purchased",
            "purchase",
            "orders",
            "ordered",
            "order",
            "transactions",
        ],
    ),
    (
        Cue::Code,
        &[
            "顧客コード",
            "お客様コード",
            "得意先コード",
            "取引先コード",
            "顧客番号",
            "コード番号",
            "コード",
            "customer code",
            "customer codes",
            "customer number",
            "customer id",
            "codes",
            "code",
        ],
    ),
    (
        Cue::Contact,
        &[
            "電話番号",
            "電話",
            "住所",
            "連絡先",
            "所在地",
            "phone number",
            "phone",
            "telephone",
            "address",
            "contact details",
            "contact",
        ],
    ),
    (
        Cue::Find,
        &[
            "顧客情報",
            "お客様情報",
            "顧客一覧",
            "お客様一覧",
            "顧客を",
            "お客様を",
            "お客さんを",
            "という顧客",
            "というお客",
        ],
    ),
    (
        Cue::Find,
        &["customer list", "list customers", "all customers", "list of customers", "customers", "customer details"],
    ),
    (Cue::Seek, &["look up", "who is", "find", "search for", "search", "do we have a customer"]),
    (Cue::Seek, &["だれ", "誰", "どなた", "検索", "探して", "さがして"]),
    (Cue::Find, &["customer"]),
];

/// Finds the cues among the characters nobody has claimed, and claims theirs.
pub(super) fn find(text: &mut Text) -> Vec<CueAt> {
    let mut found = Vec::new();
    let mut i = 0;
    while i < text.len() {
        let hit = WORDS
            .iter()
            .flat_map(|(cue, words)| words.iter().map(|w| (*cue, *w)))
            .filter_map(|(cue, word)| text.word_at(i, word).map(|to| CueAt { from: i, to, cue }))
            // いくら3パック is salmon roe.
            .filter(|c| {
                text.word_at(c.from, "いくら") != Some(c.to) || !text.low.get(c.to).is_some_and(char::is_ascii_digit)
            })
            .filter(|c| (c.from..c.to).all(|k| text.marked(k) == Some(Mark::Free)))
            .max_by_key(|c| (c.to, std::cmp::Reverse(c.cue)));
        match hit {
            Some(cue) => {
                text.mark(cue.from..cue.to, Mark::Cue);
                i = cue.to;
                // 登録したら, once registered: says when, after what was asked before.
                match says_when(text, &cue).filter(|_| found.iter().any(|c: &CueAt| c.cue == Cue::Register)) {
                    Some(end) => {
                        text.mark(cue.to..end, Mark::Cue);
                        i = end;
                    }
                    None => found.push(cue),
                }
            }
            None => i += 1,
        }
    }
    found
}

/// The end of words like 登録したら.
fn says_when(text: &Text, cue: &CueAt) -> Option<usize> {
    if cue.cue != Cue::Register {
        return None;
    }
    let after = ["したら", "できたら", "後に", "後", "が終わったら", "が済んだら", "が完了したら", "ができたら"];
    let announced = |w: &&str| cue.from.checked_sub(w.len()).is_some_and(|p| text.word_at(p, w).is_some());
    let before = ["after ", "once ", "when ", "it is ", "that is "].iter().any(announced);
    text.any_at(cue.to, &after).or(before.then_some(cue.to))
}
