//! Messages that ask for no figures: greetings, a typed yes, and what lies outside sales.

use super::grammar::Request;
use super::lexicon::Term;
use super::message::{Kind, Message, Token};

/// What kind of talk a message without a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Talk {
    /// A greeting, or the question what this can do.
    Help,
    Thanks,
    /// A typed yes or no, which never counts as a press.
    Answer,
    /// About something else than sales.
    Outside,
    /// Perhaps about sales, and not understood.
    Unclear,
}

/// Talk that is nothing else, whatever went before.
pub(super) fn plain(message: &Message) -> Option<Talk> {
    if let Some(talk) = message.whole.iter().copied().filter_map(of_term).next() {
        return Some(talk);
    }
    if message.whole.contains(&Term::Polite) {
        return Some(Talk::Answer);
    }
    let tokens = &message.tokens;
    let slots = |t: &Token| {
        matches!(t.kind, Kind::Code | Kind::Amount(_) | Kind::Date(_) | Kind::Quantity(_) | Kind::Sale)
            || matches!(
                t.kind,
                Kind::Term(
                    Term::Sales
                        | Term::Total
                        | Term::Sold
                        | Term::Code
                        | Term::Contact
                        | Term::Register
                        | Term::Registered
                        | Term::Cancel
                        | Term::Outside
                        | Term::Beyond
                )
            )
    };
    if tokens.iter().any(slots) {
        return None;
    }
    if message.has(Term::Help) {
        return Some(Talk::Help);
    }
    let bare = tokens.iter().all(|t| {
        matches!(t.kind, Kind::Particle | Kind::Comma | Kind::Stop)
            || matches!(
                t.kind,
                Kind::Term(
                    Term::Yes
                        | Term::No
                        | Term::None
                        | Term::Polite
                        | Term::Change
                        | Term::Hello
                        | Term::Thanks
                        | Term::It
                        | Term::Ask
                        | Term::Label
                        | Term::And
                )
            )
    });
    let first = [Term::Thanks, Term::Yes, Term::No, Term::Hello].into_iter().find(|t| message.has(*t));
    first.filter(|_| bare).and_then(of_term)
}

fn of_term(term: Term) -> Option<Talk> {
    match term {
        Term::Hello | Term::Help => Some(Talk::Help),
        Term::Thanks => Some(Talk::Thanks),
        Term::Yes | Term::No => Some(Talk::Answer),
        _ => None,
    }
}

/// What a message is that asks for nothing this model can find.
pub(super) fn other(request: &Request) -> Talk {
    let message = &request.message;
    let about_sales = message.tokens.iter().any(|t| {
        matches!(t.kind, Kind::Code | Kind::Amount(_) | Kind::Sale)
            || matches!(
                t.kind,
                Kind::Term(
                    Term::Sales
                        | Term::Total
                        | Term::Sold
                        | Term::Code
                        | Term::Register
                        | Term::Registered
                        | Term::CustomerWord
                        | Term::Customers
                        | Term::Cancel
                )
            )
    });
    let asks = message.tokens.iter().any(|t| {
        matches!(t.kind, Kind::Term(Term::Ask | Term::Show | Term::Polite | Term::Customer | Term::Seek))
            || matches!(t.low.as_str(), "?" | "？")
    });
    if message.has(Term::Outside)
        || (asks && !about_sales && message.tokens.iter().any(|t| matches!(t.kind, Kind::Word | Kind::Number)))
    {
        Talk::Outside
    } else {
        Talk::Unclear
    }
}
