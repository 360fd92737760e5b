//! The form in which names are compared.

use unicode_normalization::UnicodeNormalization as _;

/// The form of a name that a search compares: NFKC, katakana for hiragana, lower case, no white space. `さとう`,
/// `サトウ`, `ｻﾄｳ` and `サ ト ウ` are the same. Stored in `customers.name_search`.
pub fn search_form(name: &str) -> String {
    // Lower case can produce what NFKC would fold again, so it comes first; NFKC also joins half-width voicing marks.
    name.to_lowercase().nfkc().filter(|c| !c.is_whitespace()).map(katakana).collect()
}

/// Hiragana and katakana stand in the same order, 96 code points apart.
fn katakana(c: char) -> char {
    match c {
        '\u{3041}'..='\u{3096}' | '\u{309D}'..='\u{309E}' => char::from_u32(u32::from(c) + 0x60).unwrap_or(c),
        _ => c,
    }
}
