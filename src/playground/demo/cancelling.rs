//! Which sale a message asks to cancel, and why.

use super::lexicon::Term;
use super::message::{Kind, Message, Token};
use super::request::Target;
use crate::domain::Lang;

/// The sale to cancel and the reason, when the message asks for a cancellation.
pub(super) fn read(message: &Message, lang: Lang) -> Option<(Target, Option<String>)> {
    if !message.has(Term::Cancel) {
        return None;
    }
    let named = message.tokens.iter().find(|t| t.kind == Kind::Sale);
    let about = |terms: &[Term]| terms.iter().any(|term| message.has(*term));
    let of_customer = about(&[Term::Code, Term::Contact, Term::CustomerWord, Term::Customer])
        && !about(&[Term::Sales, Term::Register, Term::Registered, Term::Last, Term::It]);
    let sale = match named {
        Some(token) => Target::Number(number(message, token)),
        // 顧客0002を削除して is about a customer.
        None if of_customer => return None,
        None if message.has(Term::Last) || message.has(Term::It) || message.has(Term::Registered) => Target::Last,
        None => Target::Missing,
    };
    Some((sale, reason(message, lang)))
}

/// The number of a sale as the server spells it.
pub(super) fn number(message: &Message, token: &Token) -> String {
    message.words(token.at.clone()).replacen('s', "S", 1)
}

/// A message that is nothing but the reason.
pub(super) fn bare_reason(message: &Message) -> Option<String> {
    let (first, last) = (message.tokens.first()?, message.tokens.last()?);
    let label = message
        .tokens
        .iter()
        .position(|t| t.is(Term::Reason))
        .map_or(first.at.start, |i| message.tokens.get(i).map_or(first.at.start, |t| t.at.end));
    tidy(&message.words(label..last.at.end))
}

fn reason(message: &Message, lang: Lang) -> Option<String> {
    let tokens = &message.tokens;
    let end_of = |from: usize, ends: &dyn Fn(&Token) -> bool| {
        tokens.iter().skip(from).find(|t| ends(t)).map_or(usize::MAX, |t| t.at.start)
    };
    if let Some(i) = tokens.iter().position(|t| t.is(Term::Reason)) {
        let from = tokens.get(i)?.at.end;
        let end = end_of(i + 1, &|t| t.kind == Kind::Stop || (lang == Lang::Ja && t.is(Term::Cancel)));
        return tidy(&message.words(from..end.min(tokens.last()?.at.end)));
    }
    match lang {
        Lang::Ja => {
            // 数量の間違いのため、…
            let text = message.words(0..tokens.last()?.at.end);
            let because = ["のため", "だったので", "なので", "ので", "ため", "だから", "につき", "により"]
                .iter()
                .filter_map(|w| text.split_once(w))
                .min_by_key(|(before, _)| before.chars().count())?;
            let before = because.0.rsplit(['。', '、', ',', '\n']).next()?;
            // Between the sale's number and the reason stand particles.
            let after_number = tokens
                .iter()
                .filter(|t| t.kind == Kind::Sale)
                .filter_map(|t| before.split_once(&message.words(t.at.clone())).map(|(_, rest)| rest))
                .next_back();
            tidy(after_number.unwrap_or(before).trim_start_matches(['は', 'を', 'の', 'が', '、']))
        }
        Lang::En => {
            // "cancel S…, wrong quantity"
            let i = tokens.iter().position(|t| t.kind == Kind::Sale)?;
            let comma = tokens.get(i + 1).filter(|t| matches!(t.kind, Kind::Comma | Kind::Stop))?;
            let words = message.words(comma.at.end..tokens.last()?.at.end);
            tidy(&words).filter(|w| !w.to_lowercase().starts_with("please"))
        }
    }
}

/// The reason without what only frames it.
fn tidy(words: &str) -> Option<String> {
    let edge = |c: char| c.is_whitespace() || "、。,.:;!?！？()「」\"-".contains(c);
    let mut words = words.trim_matches(edge);
    for lead in ["because ", "it is because ", "since ", "は", ":"] {
        words = words.strip_prefix(lead).unwrap_or(words);
    }
    for tail in ["で", "です", "でした", "だから", "だったため", "のため", "したため", "ため", "なので", "ので"]
    {
        words = words.strip_suffix(tail).filter(|w| w.chars().count() >= 2).unwrap_or(words);
    }
    let words = words.trim_matches(edge);
    (words.chars().count() >= 2).then(|| words.to_owned())
}
