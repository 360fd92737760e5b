//! Counters, units and currencies: what a number is a number of.

use super::fold::Folded;
pub(super) use super::nouns::plural_at;

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

/// Counters and units of things in kana and of two characters, longer ones first.
const JAPANESE_UNITS: [&str; 33] = [
    "キログラム",
    "ミリリットル",
    "リットル",
    "メートル",
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
    "ロット",
    "ボトル",
    "バッグ",
    "カップ",
    "センチ",
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
    "人前",
    "名様",
];
/// Counters of one character.
const COUNTERS: [&str; 55] = [
    "個", "本", "箱", "袋", "束", "玉", "枚", "杯", "台", "株", "缶", "瓶", "房", "尾", "匹", "鉢", "食", "客", "冊",
    "足", "丁", "点", "件", "人", "名", "膳", "樽", "斤", "升", "合", "羽", "頭", "組", "籠", "粒", "皿", "着", "部",
    "通", "脚", "俵", "品", "体", "巻", "基", "把", "対", "山", "包", "式", "つ", "コ", "ケ", "ヶ", "こ",
];
/// Units and containers in English, longer ones first.
const ENGLISH_UNITS: [&str; 79] = [
    "kilograms",
    "kilogram",
    "packages",
    "package",
    "bunches",
    "baskets",
    "bottles",
    "pallets",
    "basket",
    "bottle",
    "pallet",
    "litres",
    "liters",
    "metres",
    "meters",
    "crates",
    "pieces",
    "sheets",
    "litre",
    "liter",
    "kilos",
    "boxes",
    "bunch",
    "cases",
    "crate",
    "packs",
    "dozen",
    "trays",
    "piece",
    "sheet",
    "heads",
    "grams",
    "pairs",
    "rolls",
    "sacks",
    "units",
    "metre",
    "meter",
    "kilo",
    "bags",
    "cans",
    "case",
    "sets",
    "jars",
    "pots",
    "unit",
    "pack",
    "tray",
    "head",
    "pair",
    "roll",
    "sack",
    "cups",
    "feet",
    "ctns",
    "pcs",
    "box",
    "bag",
    "can",
    "set",
    "jar",
    "pot",
    "cup",
    "ctn",
    "doz",
    "lbs",
    "pax",
    "ppl",
    "pc",
    "kg",
    "mg",
    "ml",
    "cm",
    "mm",
    "lb",
    "oz",
    "ft",
    "ea",
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
const OTHER_WORD: [(&str, &[&str]); 25] = [
    ("つ", &["葉", "橋", "星", "子", "巴"]),
    ("本", &["木", "店", "社", "数"]),
    ("枚", &["漬", "目", "数"]),
    ("人", &["参", "気", "数"]),
    ("足", &["りない"]),
    ("点", &["検", "数"]),
    ("合", &["計"]),
    ("台", &["風", "数"]),
    ("食", &["品"]),
    ("組", &["合"]),
    ("束", &["の間"]),
    ("件", &["名", "数"]),
    ("尾", &["店", "市"]),
    ("着", &["物"]),
    ("部", &["屋", "品", "長", "分", "作"]),
    ("通", &["り", "販", "常"]),
    ("脚", &["立"]),
    ("品", &["番", "種", "質", "料"]),
    ("体", &["験", "制", "型"]),
    ("巻", &["き"]),
    ("基", &["本"]),
    ("対", &["応", "策"]),
    ("包", &["装", "み"]),
    ("把", &["握"]),
    ("個", &["数"]),
];

/// A counter or unit at `i`. Gives it and the end.
pub(super) fn unit_at(text: &Folded, i: usize) -> Option<(&'static str, usize)> {
    let first = text.at(i)?;
    let named = if first.is_ascii() {
        one_of(text, i, first, &ENGLISH_UNITS).or_else(|| text.any_at(i, &LETTER_UNITS))
    } else {
        one_of(text, i, first, &JAPANESE_UNITS).or_else(|| one_of(text, i, first, &COUNTERS))
    };
    let (unit, end) = named?;
    let kana = |c: char| matches!(c, 'ぁ'..='ゖ' | 'ァ'..='ー') && !"をでとのにはがも".contains(c);
    let numeral = text.before(i).is_some_and(|c| !c.is_ascii_digit());
    let other = text.word_at(end, "目").is_some()
        // 3Lサイズ, m2.
        || (LETTER_UNITS.contains(&unit) && text.at(end).is_some_and(|c| matches!(c, 'ァ'..='ヺ') || c.is_ascii_digit()))
        || (matches!(unit, "ヶ" | "ケ") && text.any_at(end, &["月", "所", "国", "年"]).is_some())
        || (unit == "合" && text.before(i) == Some('百'))
        // 三山さん, 日本式: only 一式 and 3山 count.
        || (unit == "山" && numeral && text.before(i) != Some('一'))
        // 一部 and 一体: a part, at all.
        || (matches!(unit, "部" | "体") && text.before(i) == Some('一'))
        || (unit == "式" && text.before(i) != Some('一'))
        || (unit == "対" && text.at(end).is_some_and(|c| c.is_ascii_digit()))
        // 0本日: today, not a counter.
        || (unit == "本" && text.word_at(end, "日").is_some() && text.any_at(end, &["日曜", "日付"]).is_none())
        || OTHER_WORD.iter().any(|(u, next)| *u == unit && text.any_at(end, next).is_some())
        // 12 Unit price: a heading follows.
        || (unit == "unit" && text.any_at(text.skip_spaces(end), &["price", "cost"]).is_some())
        // 4こ, but not the beginning of a word in kana.
        || (matches!(unit, "こ" | "コ" | "ケ") && text.at(end).is_some_and(kana));
    (!other).then_some((unit, end))
}

fn one_of(text: &Folded, i: usize, first: char, units: &[&'static str]) -> Option<(&'static str, usize)> {
    units.iter().filter(|u| u.starts_with(first)).find_map(|u| text.word_at(i, u).map(|end| (*u, end)))
}

/// Yen stand at `i`.
pub(super) fn currency_at(text: &Folded, i: usize) -> bool {
    yen_after(text, i).is_some()
}

/// `円`, `yen` after a number. Gives the end.
pub(super) fn yen_after(text: &Folded, i: usize) -> Option<usize> {
    let (word, end) = text.any_at(i, &YEN_AFTER)?;
    // 2000エンジン
    let other = word == "エン" && text.at(end).is_some_and(|c| matches!(c, 'ァ'..='ー'));
    (!other).then_some(end)
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

/// A measure, of which a container holds some: "25kg bag".
pub(super) fn is_measure(unit: &str) -> bool {
    ["kg", "g", "mg", "l", "ml", "cm", "mm", "m", "oz", "lb", "ft", "litre", "liter", "piece", "pc"].contains(&unit)
}
