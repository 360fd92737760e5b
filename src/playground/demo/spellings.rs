//! Other spellings of a name, tried when nobody is found under the one that was written: Sato and さとう for 佐藤.
//!
//! A language model knows these; this one has a short list of common family names, and otherwise spells Latin letters
//! in kana, which the search folds.

use super::script::{is_hiragana, is_kana};

/// Family names: kana, and the kanji most people write.
const FAMILIES: [(&str, &str); 44] = [
    ("さとう", "佐藤"),
    ("すずき", "鈴木"),
    ("たかはし", "高橋"),
    ("たなか", "田中"),
    ("いとう", "伊藤"),
    ("わたなべ", "渡辺"),
    ("やまもと", "山本"),
    ("なかむら", "中村"),
    ("こばやし", "小林"),
    ("かとう", "加藤"),
    ("よしだ", "吉田"),
    ("やまだ", "山田"),
    ("ささき", "佐々木"),
    ("やまぐち", "山口"),
    ("まつもと", "松本"),
    ("いのうえ", "井上"),
    ("きむら", "木村"),
    ("はやし", "林"),
    ("しみず", "清水"),
    ("やまざき", "山崎"),
    ("もり", "森"),
    ("あべ", "阿部"),
    ("いけだ", "池田"),
    ("はしもと", "橋本"),
    ("やました", "山下"),
    ("いしかわ", "石川"),
    ("なかじま", "中島"),
    ("まえだ", "前田"),
    ("ふじた", "藤田"),
    ("おがわ", "小川"),
    ("ごとう", "後藤"),
    ("おかだ", "岡田"),
    ("はせがわ", "長谷川"),
    ("むらかみ", "村上"),
    ("こんどう", "近藤"),
    ("いしい", "石井"),
    ("さいとう", "斎藤"),
    ("さかもと", "坂本"),
    ("えんどう", "遠藤"),
    ("あおき", "青木"),
    ("ふじい", "藤井"),
    ("にしむら", "西村"),
    ("ふくだ", "福田"),
    ("おおた", "太田"),
];

/// The spelling to try next.
pub(super) fn other(name: &str) -> Option<String> {
    let written = name.split([' ', '-', '　']);
    let parts = written.clone().count();
    let words: Vec<String> = written.filter_map(kana).collect();
    let family = words.iter().find_map(|w| FAMILIES.iter().find(|(kana, _)| plain(kana) == plain(w)).map(|f| f.1));
    match family {
        Some(kanji) => Some(kanji.to_owned()),
        None if name.is_ascii() && words.len() == parts => words.first().filter(|w| w.chars().count() >= 2).cloned(),
        None => None,
    }
}

/// Long vowels are left out as often as written: Sato, Satou, Satō.
fn plain(kana: &str) -> String {
    let mut out = String::new();
    for c in kana.chars() {
        let long = matches!(c, 'う' | 'ー')
            && out
                .chars()
                .next_back()
                .is_some_and(|p| "おこそとのほもよろごぞどぼぽょうくすつぬふむゆるぐずぶぷゅ".contains(p));
        let double = c == 'お' && out.ends_with('お');
        if !(long || double) {
            out.push(c);
        }
    }
    out
}

/// A word in hiragana, from hiragana, katakana or Latin letters; `None` when it cannot be.
fn kana(word: &str) -> Option<String> {
    if !word.is_empty() && word.chars().all(is_kana) {
        // The two kana blocks lie 0x60 apart.
        return Some(
            word.chars()
                .map(|c| if is_hiragana(c) || c == 'ー' { c } else { char::from_u32(u32::from(c) - 0x60).unwrap_or(c) })
                .collect(),
        );
    }
    romaji(&word.to_lowercase().replace(['ō', 'ô'], "o").replace(['ū', 'û'], "u"))
}

const SYLLABLES: [(&str, &str); 25] = [
    ("sha", "しゃ"),
    ("shu", "しゅ"),
    ("sho", "しょ"),
    ("shi", "し"),
    ("cha", "ちゃ"),
    ("chu", "ちゅ"),
    ("cho", "ちょ"),
    ("chi", "ち"),
    ("tsu", "つ"),
    ("kyo", "きょ"),
    ("kyu", "きゅ"),
    ("kya", "きゃ"),
    ("ryo", "りょ"),
    ("ryu", "りゅ"),
    ("nyo", "にょ"),
    ("hyo", "ひょ"),
    ("jo", "じょ"),
    ("ju", "じゅ"),
    ("ja", "じゃ"),
    ("ji", "じ"),
    ("fu", "ふ"),
    ("wa", "わ"),
    ("ya", "や"),
    ("yu", "ゆ"),
    ("yo", "よ"),
];
const ROWS: [(char, &str); 14] = [
    ('k', "かきくけこ"),
    ('s', "さしすせそ"),
    ('t', "たちつてと"),
    ('n', "なにぬねの"),
    ('h', "はひふへほ"),
    ('m', "まみむめも"),
    ('r', "らりるれろ"),
    ('g', "がぎぐげご"),
    ('z', "ざじずぜぞ"),
    ('d', "だぢづでど"),
    ('b', "ばびぶべぼ"),
    ('p', "ぱぴぷぺぽ"),
    ('l', "らりるれろ"),
    ('v', "ばびぶべぼ"),
];

fn romaji(word: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = word;
    while !rest.is_empty() {
        if let Some((latin, kana)) = SYLLABLES.iter().find(|(latin, _)| rest.starts_with(latin)) {
            out.push_str(kana);
            rest = rest.strip_prefix(latin)?;
            continue;
        }
        let mut chars = rest.chars();
        let (first, second) = (chars.next()?, chars.next());
        if let Some(vowel) = "aiueo".chars().position(|v| v == first) {
            out.extend("あいうえお".chars().nth(vowel));
            rest = rest.strip_prefix(first)?;
        } else if let Some(vowel) = second.and_then(|s| "aiueo".chars().position(|v| v == s)) {
            let row = ROWS.iter().find(|(c, _)| *c == first)?;
            out.extend(row.1.chars().nth(vowel));
            rest = chars.as_str();
        } else if first == 'n' || (first == 'm' && second.is_some_and(|s| "bpm".contains(s))) {
            out.push('ん');
            rest = rest.strip_prefix(first)?;
        } else if second == Some(first) {
            out.push('っ');
            rest = rest.strip_prefix(first)?;
        } else {
            return None;
        }
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::other;

    #[test]
    fn a_name_in_latin_letters_or_kana_has_its_usual_spelling() {
        for (name, want) in [
            ("Sato", Some("佐藤")),
            ("satou", Some("佐藤")),
            ("Satō", Some("佐藤")),
            ("さとう", Some("佐藤")),
            ("サトウ", Some("佐藤")),
            ("Kenta Sato", Some("佐藤")),
            ("Ito", Some("伊藤")),
            ("Kobayashi", Some("小林")),
            ("Hayashi", Some("林")),
            ("Ota", Some("太田")),
            ("Maruyama", Some("まるやま")),
            ("Kodama", Some("こだま")),
            ("Green", None),
            ("Anna Miller", None),
            ("佐藤", None),
            ("", None),
        ] {
            assert_eq!(other(name).as_deref(), want, "{name}");
        }
    }
}
