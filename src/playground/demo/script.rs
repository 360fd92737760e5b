//! Which script a character belongs to.

pub(super) fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}')
}

pub(super) fn is_katakana(c: char) -> bool {
    // ・ stands between words.
    matches!(c, '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}')
}

pub(super) fn is_kana(c: char) -> bool {
    is_hiragana(c) || is_katakana(c)
}

pub(super) fn is_kanji(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{f900}'..='\u{faff}' | '々' | '〆')
}

/// Can be a part of a word in any script.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || is_kana(c)
}
