//! Cutting text to Slack's limits: between graphemes, losing nothing.

use unicode_segmentation::UnicodeSegmentation;

/// Where a cut reads best, best first.
const BREAKS: [fn(&str) -> bool; 3] = [
    |g| g.contains('\n'),
    |g| g.ends_with(['。', '．', '！', '？', '!', '?', '」', '）']),
    |g| g.chars().all(char::is_whitespace) || g.ends_with(['、', '，', ',']),
];

/// A token in angle brackets is at most so long, in graphemes.
const TOKEN: usize = 300;

/// Bytes of a piece in the escaped `text` field.
pub(super) fn escaped_bytes(text: &str) -> usize {
    text.chars()
        .map(|c| match c {
            '&' => 5,
            '<' | '>' => 4,
            _ => c.len_utf8(),
        })
        .sum()
}

/// UTF-16 units, the strictest reading of what Slack calls characters.
pub(super) fn utf16_units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Cuts a text into pieces that cost at most `max` each; joined they are the text. A cut is made between graphemes, in
/// the last third at the best place to break. What means something only as a whole is not cut: a word or number of
/// ASCII characters, an address, `:emoji:`, `&entity;`, `<@U1|name>`; unless it alone costs more than a third of a
/// piece. A grapheme that is itself too large is cut between characters.
pub(super) fn pieces(text: &str, max: usize, cost: fn(&str) -> usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut spent = 0;
    for atom in atoms(text, max, cost) {
        let price = cost(atom);
        while spent + price > max && !open.is_empty() {
            let rest = open.split_off(best_break(&open));
            out.push(open.concat());
            spent = rest.iter().map(|g| cost(g)).sum();
            open = rest;
        }
        open.push(atom);
        spent += price;
    }
    if !open.is_empty() {
        out.push(open.concat());
    }
    out
}

/// What is not cut, in order; joined the text.
fn atoms(text: &str, max: usize, cost: fn(&str) -> usize) -> Vec<&str> {
    let starts: Vec<(usize, &str)> = text.grapheme_indices(true).collect();
    let offset = |i: usize| starts.get(i).map_or(text.len(), |(at, _)| *at);
    let mut out = Vec::new();
    let mut i = 0;
    while let Some((from, grapheme)) = starts.get(i).copied() {
        let end = i + token(starts.get(i..).unwrap_or_default());
        let whole = text.get(from..offset(end)).unwrap_or_default();
        if end > i + 1 && cost(whole) <= max / 3 {
            out.push(whole);
            i = end;
            continue;
        }
        // A word that is too long is one to its end, so that no shorter token is seen in its middle.
        for (_, grapheme) in starts.get(i..end.max(i + 1)).unwrap_or(&[(from, grapheme)]) {
            if cost(grapheme) <= max {
                out.push(grapheme);
            } else {
                out.extend(grapheme.split("").filter(|c| !c.is_empty()));
            }
        }
        i = end.max(i + 1);
    }
    out
}

/// Of how many graphemes the token is that the text begins with; 0 for none.
fn token(text: &[(usize, &str)]) -> usize {
    let bracketed = || {
        let begins = text.get(1).is_some_and(|(_, g)| matches!(*g, "@" | "#" | "!" | "h" | "m" | "t"));
        let inside = text.iter().take(TOKEN).skip(1).take_while(|(_, g)| !g.contains(['<', '\n', '\r']));
        let end = inside.enumerate().find(|(_, (_, g))| *g == ">").map(|(i, _)| i + 2);
        end.filter(|_| begins)
    };
    let is_word = |g: &str| g.len() == 1 && g.bytes().all(|b| b.is_ascii_graphic());
    match text.first() {
        Some((_, "<")) => bracketed().unwrap_or(1),
        Some((_, g)) if is_word(g) => text.iter().take_while(|(_, g)| is_word(g) && *g != "<").count(),
        _ => 0,
    }
}

/// How many of the graphemes go before the cut: all of them unless the last third has a better place.
fn best_break(open: &[&str]) -> usize {
    let from = open.len() - open.len() / 3;
    BREAKS
        .iter()
        .find_map(|is_break| open.iter().enumerate().skip(from).rev().find(|(_, g)| is_break(g)).map(|(i, _)| i + 1))
        .unwrap_or(open.len())
}

/// The text, or as much of it as fits together with an ellipsis. In UTF-16 units.
pub(in crate::slack) fn clamp(text: &str, max: usize) -> String {
    shorten(text, max, utf16_units)
}

/// The same in bytes of the escaped `text` field.
pub(super) fn clamp_bytes(text: &str, max: usize) -> String {
    shorten(text, max, escaped_bytes)
}

fn shorten(text: &str, max: usize, cost: fn(&str) -> usize) -> String {
    if cost(text) <= max {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut spent = cost("…");
    for grapheme in text.graphemes(true) {
        spent += cost(grapheme);
        if spent > max {
            break;
        }
        out.push_str(grapheme);
    }
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_family_and_a_decomposed_kana_stay_whole() {
        for grapheme in ["👨‍👩‍👧‍👦", "𠮷", "か\u{3099}"] {
            let text = format!("{}{grapheme}b", "a".repeat(2999));
            let cut = pieces(&text, 3000, utf16_units);
            assert!(cut.iter().any(|p| p.contains(grapheme)), "{grapheme}");
            assert_eq!(cut.concat(), text);
        }
    }

    #[test]
    fn a_cut_prefers_the_end_of_a_line_then_of_a_sentence() {
        assert_eq!(pieces("aaaa\nbb", 6, str::len), ["aaaa\n", "bb"]);
        assert_eq!(pieces("あいうえ。おか", 18, str::len), ["あいうえ。", "おか"]);
    }

    #[test]
    fn a_clamped_text_counts_its_ellipsis() {
        assert_eq!(clamp("あいうえお", 5), "あいうえお");
        assert_eq!(clamp("あいうえおか", 5), "あいうえ…");
        assert_eq!(clamp("aか\u{3099}b", 3), "a…");
    }

    #[test]
    fn what_means_something_only_whole_is_not_cut() {
        for token in [
            "<@U0123456789|森 あおい>",
            "<https://shop.example/a?b=c|店 の 案内>",
            "<!subteam^S0123|@営業>",
            "&amp;",
            ":white_check_mark:",
            "S20261124093000-7",
            "1,234,567円",
            "https[:]//shop[.]example/a?b=c",
        ] {
            for before in 80..120 {
                let text = format!("{}{token}{}", "あ".repeat(before), "い".repeat(120));
                let cut = pieces(&text, 120, utf16_units);
                assert_eq!(cut.concat(), text);
                let digits = token.trim_end_matches('円');
                assert!(cut.iter().any(|piece| piece.contains(digits)), "{token} after {before}: {cut:?}");
            }
        }
        let endless = format!("<https://shop.example/{}", "a".repeat(500));
        assert!(pieces(&endless, 100, utf16_units).iter().all(|piece| piece.len() <= 100));
    }

    proptest! {
        #![proptest_config(crate::slack::fuzz::budget(256))]

        #[test]
        fn nothing_is_lost_no_limit_is_passed_no_grapheme_is_cut(
            text in prop_oneof![
                "([a-z<>&@!|; \n]|あ|。|👨‍👩‍👧‍👦|𠮷|か\u{3099}|<@U1>|&amp;|\r\n|🇯🇵|\u{600}){0,120}",
                any::<String>(),
            ],
            max in 40_usize..90,
        ) {
            let cut = pieces(&text, max, escaped_bytes);
            prop_assert_eq!(cut.concat(), text.clone());
            for piece in &cut {
                prop_assert!(escaped_bytes(piece) <= max);
                prop_assert!(!piece.is_empty());
            }
            let whole: Vec<&str> = text.graphemes(true).collect();
            let parts: Vec<&str> = cut.iter().flat_map(|p| p.graphemes(true)).collect();
            prop_assert_eq!(whole, parts);
        }

        #[test]
        fn an_endless_grapheme_is_still_cut(marks in 100_usize..400) {
            let text = format!("a{}", "\u{301}".repeat(marks));
            let cut = pieces(&text, 50, str::len);
            prop_assert!(cut.iter().all(|p| p.len() <= 50));
            prop_assert_eq!(cut.concat(), text);
        }
    }
}
