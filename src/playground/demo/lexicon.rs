//! The words this model knows and what each of them tells. They stand in `lexicon.txt`, for a native speaker to review.
//!
//! Promises: the longest word that fits at a place counts; Latin words fit only as whole words, katakana words only as
//! whole runs, short hiragana words only where no other hiragana stands before them, and a single kanji only where no
//! other stands beside it.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::script::{is_hiragana, is_kanji, is_katakana, is_word};

/// Declares the terms, with their names in the file.
macro_rules! terms {
    ($($(#[$doc:meta])* $term:ident = $name:literal),* $(,)?) => {
        /// What a word tells.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Term {
            $($(#[$doc])* $term,)*
        }

        impl Term {
            fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$term),)*
                    _ => None,
                }
            }
        }
    };
}

terms! {
    /// A sale is to be registered.
    Register = "register",
    /// Once the registration is made: what follows comes after it.
    RegisterThen = "register_then",
    /// Somebody's registrations are asked for.
    Registered = "registered",
    Cancel = "cancel",
    Total = "total",
    Sales = "sales",
    /// Tells that something was sold, or asks what.
    Sold = "sold",
    Code = "code",
    Contact = "contact",
    /// Who a customer is.
    Customer = "customer",
    /// All customers.
    Customers = "customers",
    /// Seeks somebody, who may be no customer at all.
    Seek = "seek",
    ByCustomer = "by_customer",
    ByStaff = "by_staff",
    ByMonth = "by_month",
    ByWeek = "by_week",
    ByDay = "by_day",
    Best = "best",
    CustomerWord = "customer_word",
    StaffWord = "staff_word",
    /// One figure for each period named.
    Each = "each",
    /// One figure for all of them.
    Combined = "combined",
    Everybody = "everybody",
    Everything = "everything",
    Me = "me",
    /// The latest registration.
    Last = "last",
    /// Somebody or something named before.
    It = "it",
    Same = "same",
    /// Something said before is to be changed.
    Change = "change",
    /// What stands before it (Japanese) or after it (English) is not meant.
    Not = "not",
    PerPiece = "per_piece",
    Reason = "reason",
    /// Something is to be looked at before a condition.
    Check = "check",
    If = "if",
    IfNone = "if_none",
    IfSome = "if_some",
    None = "none",
    Some = "some",
    /// Words that make a condition one on registered sales.
    Counted = "counted",
    AtLeast = "at_least",
    AtMost = "at_most",
    Below = "below",
    Above = "above",
    /// What must not happen if the condition holds.
    Never = "never",
    /// About sales, and not to be had from this model.
    Beyond = "beyond",
    Outside = "outside",
    Hello = "hello",
    Thanks = "thanks",
    Help = "help",
    Yes = "yes",
    No = "no",
    /// After a person's or company's name.
    Title = "title",
    Show = "show",
    Ask = "ask",
    Polite = "polite",
    /// Another request follows.
    And = "and",
    Label = "label",
    Of = "of",
    /// Before the receiver of a sale.
    To = "to",
    By = "by",
    /// A plain word that looks like one with a particle.
    Plain = "plain",
    /// A plain word for something sold.
    Goods = "goods",
}

impl Term {
    /// The word tells nothing of what is asked.
    pub(super) fn is_plain(self) -> bool {
        matches!(self, Self::Plain | Self::Goods)
    }
}

struct Entry {
    word: Vec<char>,
    term: Term,
}

impl Entry {
    /// Where the word ends if it stands at `i` of lower-case text; `claimed` tells what belongs to something else.
    fn end(&self, low: &[char], i: usize, claimed: &impl Fn(usize) -> bool) -> Option<usize> {
        let end = i + self.word.len();
        if low.get(i..end)? != self.word.as_slice() || (i..end).any(claimed) {
            return None;
        }
        let (first, last) = (*self.word.first()?, *self.word.last()?);
        let before = i.checked_sub(1).filter(|b| !claimed(*b)).and_then(|b| low.get(b)).copied();
        let after = low.get(end).copied().filter(|_| !claimed(end));
        let joins = |inner: char, outer: Option<char>| {
            outer.is_some_and(|o| {
                (inner.is_ascii_alphanumeric() && o.is_ascii_alphanumeric()) || (is_katakana(inner) && is_katakana(o))
            })
        };
        let short = self.word.len() <= 2 && self.word.iter().all(|c| is_hiragana(*c));
        let inside = short
            && self.term != Term::Title
            && before.is_some_and(|b| is_hiragana(b) && !"をはがにでもとの".contains(b));
        // はい is an answer, and not the beginning of はいくら.
        let answer = matches!(self.term, Term::Yes | Term::No) && after.is_some_and(is_word);
        // 今井 and 前田 are names.
        let kanji = |c: Option<char>| self.word.len() == 1 && is_kanji(first) && c.is_some_and(is_kanji);
        let name = self.term != Term::Ask && (kanji(after) || (self.term != Term::Title && kanji(before)));
        let inner = joins(first, before) || joins(last, after) || inside || name || (short && answer);
        (!inner).then_some(end)
    }
}

static ENTRIES: LazyLock<HashMap<char, Vec<Entry>>> = LazyLock::new(|| {
    let mut entries: HashMap<char, Vec<Entry>> = HashMap::new();
    for (name, words) in lines() {
        let Some(term) = Term::named(name) else { continue };
        for word in words {
            let word: Vec<char> = word.chars().collect();
            if let Some(first) = word.first() {
                entries.entry(*first).or_default().push(Entry { word, term });
            }
        }
    }
    for list in entries.values_mut() {
        // Of equal words the first in the file counts.
        list.sort_by_key(|entry| std::cmp::Reverse(entry.word.len()));
    }
    entries
});

/// The file's lines: a term's name and its words.
fn lines() -> impl Iterator<Item = (&'static str, impl Iterator<Item = &'static str>)> {
    include_str!("lexicon.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(": "))
        .map(|(name, words)| (name, words.split(" | ")))
}

/// The longest known word at `i`, and where it ends.
pub(super) fn word_at(low: &[char], i: usize, claimed: &impl Fn(usize) -> bool) -> Option<(Term, usize)> {
    let entries = ENTRIES.get(low.get(i)?)?;
    entries.iter().find_map(|entry| entry.end(low, i, claimed).map(|end| (entry.term, end)))
}

/// The terms of a whole message, when all of it is one known word but for what is no letter.
pub(super) fn whole(low: &[char]) -> Vec<Term> {
    let bare = |chars: &[char]| chars.iter().filter(|c| is_word(**c) || **c == '\'').collect::<String>();
    let message = bare(low);
    let entries = message.chars().next().and_then(|c| ENTRIES.get(&c)).map(Vec::as_slice).unwrap_or_default();
    entries.iter().filter(|e| bare(&e.word) == message).map(|e| e.term).collect()
}

/// The words name something sold, and nobody.
pub(super) fn is_goods(words: &str) -> bool {
    let low: Vec<char> = words.to_lowercase().chars().collect();
    whole(&low).contains(&Term::Goods)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_names_a_term_and_no_word_is_empty_or_upper_case() {
        for (name, words) in lines() {
            assert!(Term::named(name).is_some(), "{name}");
            for word in words {
                assert!(
                    !word.trim().is_empty() && word.trim() == word && word.to_lowercase() == word,
                    "{name}: {word}"
                );
            }
        }
    }

    #[test]
    fn each_word_stands_once_but_for_a_no_that_may_also_be_none() {
        let mut seen = HashMap::new();
        for (name, words) in lines() {
            for word in words {
                let before = seen.insert(word, name);
                assert!(
                    before.is_none() || (name == "no" && before == Some("none")),
                    "{word} in {name} and {before:?}"
                );
            }
        }
    }

    #[test]
    fn words_fit_only_where_they_stand_alone() {
        let at = |text: &str, i: usize| {
            let chars: Vec<char> = text.chars().collect();
            word_at(&chars, i, &|_| false)
        };
        assert_eq!(at("売上合計は", 0), Some((Term::Total, 4)));
        assert_eq!(at("コードは", 0), Some((Term::Code, 3)));
        assert_eq!(at("レコードは", 1), None);
        assert_eq!(at("this", 1), None);
        assert_eq!(at("さとうさん", 3), Some((Term::Title, 5)));
    }
}
