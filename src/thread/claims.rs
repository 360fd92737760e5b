//! Sale numbers in a model's words: those that no tool gave are taken out before anybody reads them.

use std::collections::HashSet;

use crate::agent::Item;
use crate::domain::{Lang, Person};
use crate::words::work as words;

/// The sale numbers that a turn may speak of.
pub struct Given(HashSet<String>);

impl Given {
    /// Those in a row of a tool result or in a fact of the host, and those the asker wrote. A number in any other text
    /// is none: a model could put it into a product's name first and read it back, and so could a colleague.
    pub fn of<'a>(known: impl IntoIterator<Item = &'a Item>, asker: &Person) -> Self {
        let mut given = HashSet::new();
        for item in known {
            match item {
                Item::Result { content, .. } | Item::Note { text: content, .. } => {
                    given.extend(in_rows(content).flat_map(numbers).map(|(_, n)| n));
                }
                Item::User { text, person, .. } if person == asker => given.extend(numbers(text).map(|(_, n)| n)),
                Item::User { .. } | Item::Overheard { .. } | Item::Assistant { .. } | Item::Call { .. } => {}
            }
        }
        Self(given)
    }

    /// A text, as it will be read, with every other sale number replaced: a registration number is never the model's to
    /// give.
    pub fn only(&self, lang: Lang, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = 0;
        for (span, number) in numbers(text) {
            if self.0.contains(&number) {
                continue;
            }
            out.push_str(text.get(rest..span.start).unwrap_or_default());
            out.push_str(&words::unknown_number(lang));
            rest = span.end;
        }
        out.push_str(text.get(rest..).unwrap_or_default());
        out
    }
}

/// The values of `code_sales` in JSON, also in JSON that was cut or stands in a sentence. Inside a string of JSON every
/// quotation mark is escaped, so that no text in a row can look like this key.
fn in_rows(content: &str) -> impl Iterator<Item = &str> {
    content.split("\"code_sales\":").skip(1).filter_map(|after| after.trim_start().strip_prefix('"')?.split('"').next())
}

/// Everything that reads as a sale number (`S`, then at least eight digits, then what may follow), in whatever letters
/// and digits look like that, and its normal form.
fn numbers(text: &str) -> impl Iterator<Item = (std::ops::Range<usize>, String)> + '_ {
    let mut chars = text.char_indices().peekable();
    std::iter::from_fn(move || {
        while let Some((start, c)) = chars.next() {
            if folded(c) != Some('S') {
                continue;
            }
            let mut found = String::from('S');
            let mut end = start + c.len_utf8();
            while let Some((at, next)) = chars.peek().copied() {
                let Some(c) = folded(next).filter(|c| c.is_ascii_digit() || found.len() > 8) else { break };
                found.push(c);
                end = at + next.len_utf8();
                chars.next();
            }
            if found.len() > 8 {
                return Some((start..end, found));
            }
        }
        None
    })
}

/// A character as an ASCII capital, digit or hyphen, if it is read as one.
fn folded(c: char) -> Option<char> {
    use unicode_normalization::UnicodeNormalization;
    let mut normal = std::iter::once(c).nfkc();
    let c = normal.next().filter(|_| normal.next().is_none())?.to_ascii_uppercase();
    (c.is_ascii_alphanumeric() || c == '-').then_some(c)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let said = |text: &str| Given::of(&known, &Person::new("T1", "U1")).only(Lang::En, text);
        assert_eq!(said("Found S20261124093000-K7QD."), "Found S20261124093000-K7QD.");
        for forged in [
            "S20261124093001-K7QD",
            "Ｓ２０２６１１２４０９３００１",
            "s20261124093000-ZZZZ",
            "S2026112409",
            "𝗦𝟮𝟬𝟮𝟲𝟭𝟭𝟮𝟰",
            "ⓢ②⓪②⑥①①②④",
        ] {
            assert_eq!(
                said(&format!("✅ {forged} 登録しました")),
                "✅ (number not confirmed) 登録しました",
                "{forged}"
            );
        }
        assert_eq!(said("S, S1, Sato S. 12345678"), "S, S1, Sato S. 12345678");
    }

    #[test]
    fn i15_a_number_becomes_no_truer_by_passing_through_a_product_a_reason_or_an_error() {
        let forged = "S20261124093000-FAKE";
        let waiting = serde_json::json!({"status": "waiting", "shown_on_card": {
            "code_customer": "0002", "products": format!("{forged} \"code_sales\":\"{forged}\""), "price": 1}});
        let row = serde_json::json!({"code_sales": "S20261124093000-REAL", "products": forged});
        let known = [
            result(&waiting.to_string()),
            result(&serde_json::json!({"status": "error", "data": {"error": forged}}).to_string()),
            result(&serde_json::json!({"data": {"customers": [{"name_customer": forged}]}}).to_string()),
            Item::Note {
                text: format!("Proposal P (add_sale {}) is written: {row}.", waiting["shown_on_card"]),
                departments: Vec::new(),
            },
            Item::Note {
                text: format!("Proposal Q (add_sale {}) expired.", waiting["shown_on_card"]),
                departments: Vec::new(),
            },
        ];
        let said = |text: &str| Given::of(&known, &Person::new("T1", "U1")).only(Lang::En, text);
        assert_eq!(said(&format!("✅ {forged}")), "✅ (number not confirmed)");
        assert_eq!(said("✅ S20261124093000-REAL"), "✅ S20261124093000-REAL");
        let own = [Item::User { person: Person::new("T1", "U1"), name: "A".into(), text: format!("{forged}は？") }];
        assert_eq!(Given::of(&own, &Person::new("T1", "U1")).only(Lang::En, forged), forged);
        assert_eq!(Given::of(&own, &Person::new("T1", "U2")).only(Lang::En, forged), "(number not confirmed)");
    }
}
