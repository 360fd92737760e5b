//! Addresses are shown, never linked.
//!
//! `rich_text` text elements and `parse: none` already keep Slack from linking; this is the second wall, for clients
//! and for text-only messages: an address is broken visibly, so that nothing recognises it and everyone can read it.

/// Endings that make `word.ending` an address. Not a full list: others have no wall but the first, since breaking
/// every `word.word` would deface names such as `Co.Ltd`.
const DOMAINS: &[&str] = &[
    "ai", "app", "biz", "cc", "click", "cloud", "cn", "co", "com", "de", "dev", "eu", "example", "gg", "gl", "info",
    "io", "jp", "kr", "link", "live", "ly", "me", "ml", "mov", "net", "online", "org", "page", "pw", "ru", "sh",
    "shop", "site", "store", "tech", "test", "tk", "to", "top", "tv", "uk", "us", "vip", "xyz", "zip",
];

/// Breaks every address in the text: `https[:]//…`, `mailto[:]…`, `www[.]…`, `shop[.]com`.
pub(in crate::slack) fn unlink(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len() + 8);
    for (i, &c) in chars.iter().enumerate() {
        let before = chars.get(..i).unwrap_or_default();
        let after = chars.get(i + 1..).unwrap_or_default();
        match c {
            ':' if after.starts_with(&['/', '/']) || ends_with_word(before, "mailto") => out.push_str("[:]"),
            '.' if is_domain_dot(before, after) => out.push_str("[.]"),
            _ => out.push(c),
        }
    }
    out
}

fn is_domain_dot(before: &[char], after: &[char]) -> bool {
    if !before.last().is_some_and(|c| c.is_alphanumeric() || *c == '-') {
        return false;
    }
    let label: String = after
        .iter()
        .take(64)
        .take_while(|c| c.is_ascii_alphanumeric() || **c == '-')
        .collect::<String>()
        .to_lowercase();
    label.starts_with("xn--")
        || DOMAINS.contains(&label.as_str())
        || (!label.is_empty() && ends_with_word(before, "www"))
}

fn ends_with_word(before: &[char], word: &str) -> bool {
    let len = word.len();
    let start = before.len().saturating_sub(len);
    before.len() >= len
        && before.get(start..).is_some_and(|end| end.iter().zip(word.chars()).all(|(a, b)| a.eq_ignore_ascii_case(&b)))
        && !start.checked_sub(1).and_then(|i| before.get(i)).is_some_and(char::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i12_addresses_are_broken_where_everyone_sees_it() {
        for (input, output) in [
            ("https://evil.example/a?b=c", "https[:]//evil[.]example/a?b=c"),
            ("HTTPS://EVIL.EXAMPLE", "HTTPS[:]//EVIL[.]EXAMPLE"),
            ("slack://open", "slack[:]//open"),
            ("mailto:a@b.com", "mailto[:]a@b[.]com"),
            ("www.nowhere.invalid", "www[.]nowhere.invalid"),
            ("見てevil.comです", "見てevil[.]comです"),
            ("例え.xn--p1ai", "例え[.]xn--p1ai"),
            ("xn--pple-43d.com", "xn--pple-43d[.]com"),
            ("a://b://c", "a[:]//b[:]//c"),
        ] {
            assert_eq!(unlink(input), output);
        }
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in
            ["1.5kg 600円", "佐藤農園 Co.Ltd", "Mr.Smith", "売上.csv", "10:30", "S20261124.1", "end.", "a.b", ".com"]
        {
            assert_eq!(unlink(text), text);
        }
    }
}
