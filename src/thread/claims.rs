//! Sale numbers in a model's words: those that no tool gave are taken out before anybody reads them.

use std::collections::HashSet;

use crate::agent::Item;
use crate::domain::Lang;
use crate::words::work as words;

/// Replaces sale numbers that no tool result and no fact of the host holds: a registration number is never the
/// model's to give.
pub fn without_made_up_numbers<'a>(lang: Lang, text: &str, known: impl Iterator<Item = &'a Item>) -> String {
    if !text.contains(['S', 'Ｓ']) {
        return text.to_owned();
    }
    let mut real: HashSet<String> = HashSet::new();
    for item in known {
        match item {
            Item::Result { content, .. } => real.extend(numbers(content).map(|(_, n)| n)),
            Item::Note { text, .. } | Item::User { text, .. } => real.extend(numbers(text).map(|(_, n)| n)),
            _ => {}
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = 0;
    for (span, number) in numbers(text) {
        if real.contains(&number) {
            continue;
        }
        out.push_str(text.get(rest..span.start).unwrap_or_default());
        out.push_str(&words::unknown_number(lang));
        rest = span.end;
    }
    out.push_str(text.get(rest..).unwrap_or_default());
    out
}

/// Everything that reads as a sale number (`S`, then at least eight digits, then what may follow), in normal form.
fn numbers(text: &str) -> impl Iterator<Item = (std::ops::Range<usize>, String)> + '_ {
    use unicode_normalization::UnicodeNormalization;
    let mut chars = text.char_indices().peekable();
    std::iter::from_fn(move || {
        while let Some((start, c)) = chars.next() {
            if !matches!(c, 'S' | 's' | 'Ｓ' | 'ｓ') {
                continue;
            }
            let mut end = start + c.len_utf8();
            let mut digits = 0;
            while let Some((at, next)) = chars.peek().copied() {
                let more = matches!(next, '0'..='9' | '０'..='９')
                    || (digits >= 8 && (next == '-' || next == '－' || next.is_ascii_alphanumeric()));
                if !more {
                    break;
                }
                digits += 1;
                end = at + next.len_utf8();
                chars.next();
            }
            if digits >= 8 {
                let found: String = text.get(start..end).unwrap_or_default().nfkc().collect();
                return Some((start..end, found.to_uppercase()));
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Person;

    fn result(content: &str) -> Item {
        Item::Result {
            call_id: "1".into(),
            content: content.into(),
            departments: Vec::new(),
            fetched_for: Person::new("T1", "U1"),
        }
    }

    #[test]
    fn i15_a_sale_number_that_no_tool_gave_is_taken_out_of_the_models_words() {
        let known = [result(r#"{"code_sales":"S20261124093000-K7QD"}"#)];
        let said = |text: &str| without_made_up_numbers(Lang::En, text, known.iter());
        assert_eq!(said("Found S20261124093000-K7QD."), "Found S20261124093000-K7QD.");
        for forged in ["S20261124093001-K7QD", "Ｓ２０２６１１２４０９３００１", "s20261124093000-XXXX", "S2026112409"]
        {
            assert_eq!(
                said(&format!("✅ {forged} 登録しました")),
                "✅ (number not confirmed) 登録しました",
                "{forged}"
            );
        }
        assert_eq!(said("S, S1, Sato S. 12345678"), "S, S1, Sato S. 12345678");
    }
}
