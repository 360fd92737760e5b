//! Conditions on a registration: まだ0件の場合, "if there are no sales yet".
//!
//! A condition that is seen but not understood stays one: the registration is then not proposed.

use std::ops::Range;

use super::lexicon::Term;
use super::message::{Kind, Message, Token};
use super::request::Test;
use crate::domain::Lang;

/// The tokens that are a condition, and the numbers of sales with which it holds; `None` when it cannot be checked.
pub(super) fn find(message: &Message, lang: Lang) -> Option<(Range<usize>, Option<Test>)> {
    let tokens = &message.tokens;
    let marks = |t: &Token| matches!(t.kind, Kind::Term(Term::If | Term::IfNone | Term::IfSome));
    let polite = |i: usize| tokens.get(i + 1).is_some_and(|t| t.is(Term::Polite) && t.low.starts_with("possible"));
    let marker = (0..tokens.len()).find(|i| tokens.get(*i).is_some_and(marks) && !polite(*i))?;
    let range = match lang {
        Lang::Ja => before(tokens, marker),
        Lang::En => behind(tokens, marker),
    };
    let part = tokens.get(range.clone()).unwrap_or_default();
    let stops = |t: &Token| t.is(Term::Never) || (t.is(Term::No) && t.low.starts_with("やめ"));
    let turned = tokens.get(marker).is_some_and(|t| t.low == "unless") || tokens.iter().any(stops);
    let test = test(message, part, lang).and_then(|t| match (turned, t) {
        (false, t) => Some(t),
        (true, Test::NONE_YET) => Some(Test::SOME_ALREADY),
        (true, Test::SOME_ALREADY) => Some(Test::NONE_YET),
        (true, _) => None,
    });
    Some((range, test))
}

/// In Japanese it ends with the marker and begins after a comma, a stop, or what is to be registered.
fn before(tokens: &[Token], marker: usize) -> Range<usize> {
    let breaks = |t: &Token| matches!(t.kind, Kind::Comma | Kind::Stop | Kind::Amount(_));
    let verb = |t: &Token| t.kind == Kind::Particle || t.is(Term::Register) || t.is(Term::Polite);
    let mut start = (0..marker).rev().find(|i| tokens.get(*i).is_some_and(breaks)).map_or(0, |i| i + 1);
    while start > 0 && start < marker && tokens.get(start).is_some_and(verb) {
        start += 1;
    }
    let mut end = marker + 1;
    while tokens
        .get(end)
        .is_some_and(|t| matches!(t.kind, Kind::Particle | Kind::Comma) || (t.is(Term::Label) && t.low != "日付"))
    {
        end += 1;
    }
    start..end
}

/// In English it begins with the marker and ends at a comma, a stop, or the verb of what is to be registered.
fn behind(tokens: &[Token], marker: usize) -> Range<usize> {
    let ends = |t: &Token| {
        matches!(t.kind, Kind::Comma | Kind::Stop | Kind::Term(Term::Register))
            || (t.is(Term::And) && t.low.starts_with("then"))
    };
    let end = (marker + 1..tokens.len()).find(|i| tokens.get(*i).is_some_and(ends)).unwrap_or(tokens.len());
    let check = marker > 0 && tokens.get(marker - 1).is_some_and(|t| t.is(Term::Check));
    (if check { marker - 1 } else { marker })..end
}

fn test(message: &Message, part: &[Token], lang: Lang) -> Option<Test> {
    let says = |term: Term| part.iter().any(|t| t.is(term));
    let asks = |t: &Token| {
        matches!(
            t.kind,
            Kind::Term(
                Term::Sales | Term::Sold | Term::Counted | Term::Register | Term::Registered | Term::RegisterThen
            )
        ) || (t.is(Term::Total) && t.low.contains('件'))
    };
    let bare_none = part.iter().any(|t| t.is(Term::IfNone));
    let unknown = part.iter().any(|t| matches!(t.kind, Kind::Amount(_) | Kind::Term(Term::Outside | Term::Beyond)));
    if unknown || !(part.iter().any(asks) || bare_none || says(Term::None)) {
        return None;
    }
    let compares = [Term::AtLeast, Term::AtMost, Term::Below, Term::Above].into_iter().find(|t| says(*t));
    if let Some(compares) = compares {
        let n: u64 = part.iter().find(|t| t.kind == Kind::Number)?.low.parse().ok()?;
        return match compares {
            Term::AtLeast => Some(Test { least: n, most: u64::MAX }),
            Term::AtMost => Some(Test { least: 0, most: n }),
            Term::Below => Some(Test { least: 0, most: n.checked_sub(1)? }),
            _ => Some(Test { least: n.checked_add(1)?, most: u64::MAX }),
        };
    }
    let text = match (part.first(), part.last()) {
        (Some(a), Some(b)) => message.words(a.at.start..b.at.end).to_lowercase(),
        _ => String::new(),
    };
    let negated = match lang {
        Lang::Ja => {
            ["ない", "なけれ", "なかった", "無い", "無けれ", "無かった", "なし"].iter().any(|w| text.contains(w))
        }
        Lang::En => part.iter().any(|t| t.is(Term::Not)),
    };
    if bare_none || says(Term::None) || negated {
        Some(Test::NONE_YET)
    } else if let Some(n) = part.iter().find(|t| t.kind == Kind::Number).and_then(|t| t.low.parse().ok()) {
        Some(Test { least: n, most: n })
    } else if says(Term::IfSome) || says(Term::Some) || text.contains("there are") || text.contains("has sales") {
        Some(Test::SOME_ALREADY)
    } else {
        None
    }
}
