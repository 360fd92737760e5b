//! What stands under an answer: the host's own account of what was done, and numbers the model made up taken out.

use std::collections::HashSet;

use serde_json::Value;

use crate::agent::{Footer, Item};
use crate::domain::Lang;
use crate::words::work as words;

/// The lines under a turn's answer. There always is one, and it always says that nothing was written by the turn:
/// a turn never writes, only a press does.
pub fn lines(lang: Lang, done: &[Footer], cards: usize, shortened: bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for footer in done {
        let line = format!("🔧 {}", one(lang, footer));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if done.is_empty() {
        lines.push(format!("🔧 {}", words::nothing_looked_up(lang)));
    }
    let mut status = match cards {
        0 => words::nothing_registered(lang),
        n => words::cards_wait(lang, n),
    };
    if shortened {
        status = format!("{status} · {}", words::shortened(lang));
    }
    lines.push(status);
    lines
}

fn one(lang: Lang, footer: &Footer) -> String {
    let name = match footer.tool.as_str() {
        "get_customers" => words::tool_get_customers(lang),
        "get_sales" => words::tool_get_sales(lang),
        "list_registrations" => words::tool_list_registrations(lang),
        "summarize_sales" => words::tool_summarize_sales(lang),
        "add_sale" => words::tool_add_sale(lang),
        "cancel_sale" => words::tool_cancel_sale(lang),
        other => other.to_owned(),
    };
    let mut parts = vec![name];
    for key in ["code_customer", "name_str_customer", "code_sales", "group_by"] {
        if let Some(Value::String(value)) = footer.arguments.get(key) {
            parts.push(short(value));
        }
    }
    let mut line = parts.join(" ");
    if let Some((from, to)) = footer.period {
        line = format!("{line} · {}", if from == to { from.to_string() } else { words::period(lang, from, to) });
    }
    if !footer.ok {
        line = format!("{line} · {}", words::failed(lang));
    }
    line
}

/// An argument in the line: the model chose it, so it is cut short and cannot break the line.
fn short(value: &str) -> String {
    use unicode_segmentation::UnicodeSegmentation;
    let flat = crate::slack::text::visible(value).replace(['\n', '\r', '\t'], " ");
    let mut cut: String = flat.graphemes(true).take(30).collect();
    if cut.len() < flat.len() {
        cut.push('…');
    }
    cut
}

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
        for forged in ["S20261124093001-K7QD", "Ｓ２０２６１１２４０９３００１", "s20261124093000-XXXX", "S2026112409"] {
            assert_eq!(said(&format!("✅ {forged} 登録しました")), "✅ (number not confirmed) 登録しました", "{forged}");
        }
        assert_eq!(said("S, S1, Sato S. 12345678"), "S, S1, Sato S. 12345678");
    }

    #[test]
    fn i15_every_answer_says_that_it_registered_nothing() {
        for (cards, says) in [(0, "nothing was registered"), (2, "nothing registered yet (2 waiting")] {
            let lines = lines(Lang::En, &[], cards, false);
            assert!(lines.iter().any(|l| l.contains(says)), "{lines:?}");
        }
    }
}
