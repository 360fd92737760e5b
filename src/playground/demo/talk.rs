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
    if let Some(talk) = message.whole.iter().copied().find_map(of_term) {
        return Some(talk);
    }
    if message.whole.contains(&Term::Polite) {
        return Some(Talk::Answer);
    }
    if message.tokens.iter().any(|t| is_of_sales(t) || is_of_something(t)) {
        return None;
    }
    if message.has(Term::Help) {
        return Some(Talk::Help);
    }
    let bare = message.tokens.iter().all(carries_nothing);
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

/// Says that the message is about sales or customers.
fn is_of_sales(token: &Token) -> bool {
    match token.kind {
        Kind::Code | Kind::Amount(_) | Kind::Sale => true,
        Kind::Term(term) => matches!(
            term,
            Term::Sales
                | Term::Total
                | Term::Sold
                | Term::Code
                | Term::Register
                | Term::Registered
                | Term::CustomerWord
                | Term::Customers
                | Term::Cancel
        ),
        _ => false,
    }
}

/// Says that the message is about anything at all.
fn is_of_something(token: &Token) -> bool {
    matches!(token.kind, Kind::Date(_) | Kind::Quantity(_) | Kind::Term(Term::Contact | Term::Outside | Term::Beyond))
}

fn carries_nothing(token: &Token) -> bool {
    match token.kind {
        Kind::Particle | Kind::Comma | Kind::Stop => true,
        Kind::Term(term) => matches!(
            term,
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
        ),
        _ => false,
    }
}

/// What a message is that asks for nothing this model can find.
pub(super) fn other(request: &Request) -> Talk {
    let message = &request.message;
    let asks = message.tokens.iter().any(|t| {
        t.low == "?"
            || matches!(t.kind, Kind::Term(Term::Ask | Term::Show | Term::Polite | Term::Customer | Term::Seek))
    });
    let of_sales = message.tokens.iter().any(is_of_sales);
    let speaks = message.tokens.iter().any(|t| matches!(t.kind, Kind::Word | Kind::Number));
    if message.has(Term::Outside) || (asks && speaks && !of_sales) { Talk::Outside } else { Talk::Unclear }
}
