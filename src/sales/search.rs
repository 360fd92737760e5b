//! The form in which names are compared.

use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization as _;

/// Which letters count as one: pairs of the form that is written and the form that is compared. PostgreSQL's
/// `search_form` holds the same pairs.
const VARIANTS: &str = include_str!("variants.txt");

/// The version of [`search_form`]. What is stored is written anew when it is of another.
pub const SEARCH_FORM: i64 = 2;

/// The form of a name that a search compares: NFKC, katakana for hiragana, lower case, one form for letters that names
/// write in several, no white space, no variation selectors. `さとう`, `サトウ`, `ｻﾄｳ` and `サ ト ウ` are the same; so
/// are `髙橋` and `高橋`. Stored in `customers.name_search`.
pub fn search_form(name: &str) -> String {
    // Lower case follows NFKC, which makes capitals of signs such as ㎅; NFKC comes again at the end, since a mark and
    // its letter may have been apart until the white space between them went.
    let folded = name.nfkc().collect::<String>().to_lowercase();
    folded.chars().filter(|c| !is_left_out(*c)).map(katakana).map(one_form).nfkc().collect()
}

/// White space, and the marks that choose one of several drawings of the letter before them.
fn is_left_out(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

fn one_form(c: char) -> char {
    static PAIRS: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
        let pairs = VARIANTS.split_whitespace().map(|pair| (pair.chars().next(), pair.chars().nth(1)));
        pairs.filter_map(|(written, compared)| written.zip(compared)).collect()
    });
    PAIRS.get(&c).copied().unwrap_or(c)
}

/// Hiragana and katakana stand in the same order, 96 code points apart.
fn katakana(c: char) -> char {
    match c {
        '\u{3041}'..='\u{3096}' | '\u{309D}'..='\u{309E}' => char::from_u32(u32::from(c) + 0x60).unwrap_or(c),
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::search_form;

    #[test]
    fn kana_width_case_voicing_marks_and_spaces_do_not_matter() {
        for same in [
            &["さとう", "サトウ", "ｻﾄｳ", "サ ト\u{3000}ウ"][..],
            &["がぎぐ", "ガギグ", "ｶﾞｷﾞｸﾞ", "か\u{3099}ぎぐ"],
            &["Green Farm", "ＧＲＥＥＮ　ＦＡＲＭ", "greenfarm"],
            &["㈱みどり", "(株)ミドリ"],
            &["ゔぇる", "ヴェル"],
            &["髙橋", "高橋", "高\u{E0100}橋", "高\u{FE00}橋"],
            &["渡邊", "渡邉", "渡辺"],
            &["齋藤", "齊藤", "斉藤", "斎藤"],
            &["山﨑", "山嵜", "山崎"],
            &["𠮷田", "吉田"],
        ] {
            for name in same {
                assert_eq!(search_form(name), search_form(same[0]), "{name}");
            }
        }
        assert_ne!(search_form("佐藤"), search_form("さとう"));
        assert_eq!(search_form(" \u{3000}"), "");
    }

    proptest::proptest! {
        #[test]
        fn a_form_is_its_own_form(name in "\\PC{0,20}") {
            let form = search_form(&name);
            proptest::prop_assert_eq!(search_form(&form), form);
        }
    }
}
