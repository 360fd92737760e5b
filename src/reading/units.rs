//! Counters, units and currencies: what a number is a number of.

use super::fold::Folded;

const YEN_AFTER: [&str; 6] = ["円", "yen", "-yen", "jpy", "えん", "エン"];
const YEN_BEFORE: [&str; 4] = ["¥", "jpy", "yen", "\\"];
const OTHER_CURRENCY: [&str; 19] = [
    "ドル",
    "ユーロ",
    "ウォン",
    "ポンド",
    "人民元",
    "元",
    "バーツ",
    "dollars",
    "dollar",
    "usd",
    "euros",
    "euro",
    "eur",
    "pounds",
    "gbp",
    "won",
    "cents",
    "bucks",
    "$",
];

/// Counters and units of things, longer ones first.
const UNITS: [&str; 134] = [
    "キログラム",
    "ミリリットル",
    "リットル",
    "パック",
    "グラム",
    "ケース",
    "ダース",
    "セット",
    "ネット",
    "ポット",
    "トレー",
    "ホール",
    "ピース",
    "シート",
    "ロール",
    "ボトル",
    "バッグ",
    "カップ",
    "キロ",
    "カゴ",
    "かご",
    "ふさ",
    "切れ",
    "たば",
    "はこ",
    "ふくろ",
    "まい",
    "トン",
    "kilograms",
    "kilogram",
    "packages",
    "package",
    "bunches",
    "baskets",
    "bottles",
    "basket",
    "bottle",
    "pallets",
    "pallet",
    "litres",
    "liters",
    "litre",
    "liter",
    "metres",
    "meters",
    "kilos",
    "boxes",
    "bunch",
    "cases",
    "crates",
    "crate",
    "packs",
    "dozen",
    "trays",
    "pieces",
    "piece",
    "sheets",
    "sheet",
    "heads",
    "grams",
    "pairs",
    "rolls",
    "kilo",
    "bags",
    "cans",
    "case",
    "sets",
    "jars",
    "pots",
    "sacks",
    "units",
    "unit",
    "pack",
    "tray",
    "head",
    "pair",
    "roll",
    "sack",
    "cups",
    "pcs",
    "pc",
    "box",
    "bag",
    "can",
    "kg",
    "mg",
    "ml",
    "cm",
    "mm",
    "set",
    "jar",
    "pot",
    "cup",
    "個",
    "本",
    "箱",
    "袋",
    "束",
    "玉",
    "枚",
    "杯",
    "台",
    "株",
    "缶",
    "瓶",
    "房",
    "尾",
    "匹",
    "鉢",
    "食",
    "客",
    "冊",
    "足",
    "丁",
    "点",
    "件",
    "人",
    "名",
    "膳",
    "樽",
    "斤",
    "升",
    "合",
    "羽",
    "頭",
    "組",
    "籠",
    "粒",
    "皿",
    "つ",
    "コ",
    "ヶ",
    "こ",
    "g",
];
const LETTER_UNITS: [&str; 2] = ["l", "m"];

/// After a number these make it neither an amount nor a number of things.
const OTHER: [&str; 37] = [
    "年",
    "月",
    "日",
    "時",
    "分",
    "秒",
    "週",
    "ヶ月",
    "か月",
    "カ月",
    "ケ月",
    "ヵ月",
    "回",
    "番",
    "号",
    "位",
    "歩",
    "字",
    "石",
    "票",
    "社",
    "店",
    "軒",
    "世帯",
    "種類",
    "割",
    "倍",
    "坪",
    "畳",
    "様",
    "度",
    "階",
    "歳",
    "才",
    "%",
    "km",
    "パーセント",
];
/// After a counter these make the two another word: 八つ橋, 六本木, 千枚漬け, 2個目.
const OTHER_WORD: [(&str, &str); 21] = [
    ("つ", "葉"),
    ("つ", "橋"),
    ("つ", "星"),
    ("つ", "子"),
    ("つ", "巴"),
    ("本", "木"),
    ("本", "店"),
    ("本", "社"),
    ("枚", "漬"),
    ("枚", "目"),
    ("人", "前"),
    ("人", "参"),
    ("人", "気"),
    ("名", "様"),
    ("足", "りない"),
    ("点", "検"),
    ("合", "計"),
    ("台", "風"),
    ("食", "品"),
    ("組", "合"),
    ("束", "の間"),
];

/// A counter or unit at `i`. Gives it and the end.
pub(super) fn unit_at(text: &Folded, i: usize) -> Option<(&'static str, usize)> {
    let first = text.at(i)?;
    let (unit, end) = UNITS
        .iter()
        .filter(|u| u.starts_with(first))
        .find_map(|u| text.word_at(i, u).map(|e| (*u, e)))
        .or_else(|| text.any_at(i, &LETTER_UNITS))?;
    let other = text.word_at(end, "目").is_some()
        // 3Lサイズ.
        || (LETTER_UNITS.contains(&unit) && text.at(end).is_some_and(|c| matches!(c, 'ァ'..='ヺ')))
        || (unit == "ヶ" && text.any_at(end, &["月", "所", "国"]).is_some())
        || (unit == "合" && text.before(i) == Some('百'))
        || OTHER_WORD.iter().any(|(u, next)| *u == unit && text.word_at(end, next).is_some())
        // 4こ, but not the beginning of a word in kana.
        || (matches!(unit, "こ" | "コ") && text.at(end).is_some_and(|c| matches!(c, 'ぁ'..='ゖ' | 'ァ'..='ー') && !"をでとのにはがも".contains(c)));
    (!other).then_some((unit, end))
}

/// Yen stand at `i`.
pub(super) fn currency_at(text: &Folded, i: usize) -> bool {
    yen_after(text, i).is_some()
}

/// `円`, `yen` after a number. Gives the end.
pub(super) fn yen_after(text: &Folded, i: usize) -> Option<usize> {
    text.any_at(i, &YEN_AFTER).map(|(_, end)| end)
}

/// `¥`, `JPY` before a number. Gives the end.
pub(super) fn yen_before(text: &Folded, i: usize) -> Option<usize> {
    text.any_at(i, &YEN_BEFORE).map(|(_, end)| end)
}

/// What stands at `i` counts time, order or another currency.
pub(super) fn is_other(text: &Folded, i: usize) -> bool {
    text.any_at(i, &OTHER).is_some() || text.any_at(text.skip_spaces(i), &OTHER_CURRENCY).is_some()
}

/// Another currency stands right before `i`.
pub(super) fn other_currency_before(text: &Folded, i: usize) -> bool {
    text.before(text.skip_spaces_back(i)).is_some_and(|c| "$€£₩".contains(c))
        || ["usd", "eur", "us$"].iter().any(|w| text.word_before(i, w).is_some())
}

/// An English plural that things are counted in: 4 pumpkins. Gives the word and the end.
pub(super) fn plural_at(text: &Folded, i: usize) -> Option<(String, usize)> {
    const NO_THINGS: [&str; 58] = [
        "is",
        "was",
        "this",
        "has",
        "his",
        "hers",
        "ours",
        "yours",
        "its",
        "as",
        "us",
        "yes",
        "plus",
        "minus",
        "vs",
        "pls",
        "thanks",
        "thus",
        "less",
        "across",
        "days",
        "weeks",
        "months",
        "years",
        "hours",
        "minutes",
        "mins",
        "hrs",
        "secs",
        "seconds",
        "quarters",
        "fortnights",
        "nights",
        "times",
        "percents",
        "thousands",
        "millions",
        "hundreds",
        "dollars",
        "euros",
        "pounds",
        "cents",
        "bucks",
        "yens",
        "works",
        "does",
        "goes",
        "says",
        "needs",
        "wants",
        "buys",
        "takes",
        "pays",
        "looks",
        "seems",
        "always",
        "others",
        "towards",
    ];
    let mut end = i;
    while text.at(end).is_some_and(|c| c.is_ascii_alphabetic()) {
        end += 1;
    }
    let word: String = text.chars().get(i..end).unwrap_or_default().iter().collect();
    let plural = word == "people" || (word.len() > 2 && word.ends_with('s') && !word.ends_with("ss"));
    let part = text.at(end).is_some_and(|c| c.is_ascii_alphanumeric());
    (plural && !part && !NO_THINGS.contains(&word.as_str())).then_some((word, end))
}
