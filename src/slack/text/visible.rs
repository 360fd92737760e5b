//! What a reader cannot see is not there.

/// Removes characters that are invisible or reorder text (I16): controls, format characters, fillers, variation
/// selectors, noncharacters. Every kind of line break becomes `\n`. One ideographic variation selector directly after
/// an ideograph stays, since Japanese names are written with it.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut last = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let kept = match c {
            '\n' | '\t' => Some(c),
            '\r' if chars.peek() == Some(&'\n') => None,
            '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some('\n'),
            '\u{e0100}'..='\u{e01ef}' => Some(c).filter(|_| last.is_some_and(is_ideograph)),
            c if is_hidden(c) => None,
            c => Some(c),
        };
        if let Some(c) = kept {
            out.push(c);
            last = Some(c);
        }
    }
    out
}

fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{3005}' | '\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || u32::from(c) & 0xfffe == 0xfffe
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn i16_each_listed_range_is_removed() {
        for range in [
            0xe0000..=0xe007f_u32,
            0xfe00..=0xfe0f,
            0x200b..=0x200d,
            0x2060..=0x2060,
            0x202a..=0x202e,
            0x2066..=0x2069,
            0x00..=0x08,
            0x0e..=0x1f,
            0x7f..=0x84,
        ] {
            for c in range.filter_map(char::from_u32) {
                assert_eq!(visible(&format!("佐{c}藤")), "佐藤", "U+{:04X}", u32::from(c));
            }
        }
    }

    #[test]
    fn i16_one_variation_selector_after_an_ideograph_stays() {
        assert_eq!(visible("辻\u{e0100}さん"), "辻\u{e0100}さん");
        assert_eq!(visible("辻\u{e0100}\u{e0101}さん"), "辻\u{e0100}さん");
        assert_eq!(visible("a\u{e0100}"), "a");
        assert_eq!(visible("\u{e0100}辻"), "辻");
        assert_eq!(visible("辻\u{200b}\u{e0100}"), "辻\u{e0100}");
    }

    #[test]
    fn every_line_break_is_the_same() {
        assert_eq!(visible("a\r\nb\rc\u{2028}d\u{b}e"), "a\nb\nc\nd\ne");
    }

    proptest! {
        #[test]
        fn i16_nothing_invisible_survives_and_nothing_changes_twice(text in any::<String>()) {
            let once = visible(&text);
            let unseen = |c: char| c != '\n' && c != '\t' && is_hidden(c) && !('\u{e0100}'..='\u{e01ef}').contains(&c);
            prop_assert!(!once.chars().any(unseen), "{:?}", once);
            prop_assert_eq!(visible(&once), once);
        }
    }
}
