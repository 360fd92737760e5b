//! The form in which names are compared.

use unicode_normalization::UnicodeNormalization as _;

/// The form of a name that a search compares: NFKC, katakana for hiragana, lower case, no white space. `さとう`,
/// `サトウ`, `ｻﾄｳ` and `サ ト ウ` are the same. Stored in `customers.name_search`.
pub fn search_form(name: &str) -> String {
    // Lower case follows NFKC, which makes capitals of signs such as ㎅; NFKC comes again at the end, since a mark and
    // its letter may have been apart until the white space between them went.
    let folded = name.nfkc().collect::<String>().to_lowercase();
    folded.chars().filter(|c| !c.is_whitespace()).map(katakana).nfkc().collect()
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
