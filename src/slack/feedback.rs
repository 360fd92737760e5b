//! The two buttons under an answer by which a person says what they think of it.
//!
//! What it promises: they carry a verdict and the id of the answer's turn, and nothing else.

use serde_json::{Value, json};

use super::text::Body;
use crate::domain::{Lang, TurnId};
use crate::words::surface as words;

/// The buttons' `action_id`.
pub const ACTION: &str = "answer_feedback";

/// What a person thinks of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It helped.
    Good,
    /// It did not.
    Bad,
}

impl Verdict {
    /// As it is stored and counted.
    pub fn code(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
        }
    }
}

/// Puts the buttons under an answer.
pub fn ask(answer: &mut Body, turn: &TurnId, lang: Lang) {
    let Value::Array(blocks) = &mut answer.blocks else { return };
    let button = |verdict: Verdict, label: String| {
        json!({
            "text": { "type": "plain_text", "text": label, "emoji": false },
            "value": format!("{}:{turn}", verdict.code()),
        })
    };
    blocks.push(json!({
        "type": "context_actions",
        "elements": [{
            "type": "feedback_buttons",
            "action_id": ACTION,
            "positive_button": button(Verdict::Good, words::helpful(lang)),
            "negative_button": button(Verdict::Bad, words::not_helpful(lang)),
        }],
    }));
}

/// What a button carries. `None`: it is none of ours.
pub fn read(value: &str) -> Option<(Verdict, TurnId)> {
    let (verdict, turn) = value.split_once(':')?;
    let verdict = match verdict {
        "good" => Verdict::Good,
        "bad" => Verdict::Bad,
        _ => return None,
    };
    let is_turn = (1..=64).contains(&turn.len()) && turn.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.');
    is_turn.then(|| (verdict, TurnId::new(turn)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_buttons_carry_is_read_again_and_nothing_else_is() {
        let turn = TurnId::new("0123456789abcdef0123456789abcdef.2");
        let mut answer = Body { text: "x".into(), blocks: json!([]) };
        ask(&mut answer, &turn, Lang::En);
        for (button, verdict) in [("positive_button", Verdict::Good), ("negative_button", Verdict::Bad)] {
            let value = answer.blocks[0]["elements"][0][button]["value"].as_str().unwrap();
            assert_eq!(read(value), Some((verdict, turn.clone())));
        }
        for other in ["", "good", "good:", "fine:abc", "good:a b", "good:<@U1>", &format!("bad:{}", "a".repeat(65))] {
            assert_eq!(read(other), None, "{other}");
        }
        let mut text_only = Body { text: "x".into(), blocks: Value::Null };
        ask(&mut text_only, &turn, Lang::En);
        assert!(text_only.blocks.is_null());
    }
}
