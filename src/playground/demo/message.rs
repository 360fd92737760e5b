//! A message as tokens: what the readers found, codes and numbers, known words, and the plain words between.
//!
//! Promises: tokens come in the order of the text and never overlap; days, amounts and quantities are those of
//! [`crate::reading`]; every letter of the message is in some token.

use std::ops::Range;

use chrono::NaiveDate;
use unicode_normalization::UnicodeNormalization;

use super::cutting;
use super::lexicon::{self, Term};
use super::script::{is_hiragana, is_kana, is_kanji};
use crate::domain::Lang;
use crate::reading::fold::Folded;
use crate::reading::{self, Amount, Context, Findings, Found, Purpose, Quantity};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Term(Term),
    /// The nth day or period.
    Date(usize),
    /// The nth amount.
    Amount(usize),
    /// The nth quantity.
    Quantity(usize),
    Number,
    /// A customer's code.
    Code,
    /// A sale's number.
    Sale,
    /// A plain word: part of a name, of goods, or unknown.
    Word,
    /// A particle after or before a word (`の`, `'s`).
    Particle,
    Comma,
    Stop,
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// Where it stands, in characters of the normal form.
    pub(super) at: Range<usize>,
    /// Its words in lower case.
    pub(super) low: String,
}

impl Token {
    pub(super) fn is(&self, term: Term) -> bool {
        self.kind == Kind::Term(term)
    }

    pub(super) fn is_particle(&self, words: &[&str]) -> bool {
        self.kind == Kind::Particle && words.contains(&self.low.as_str())
    }
}

/// A message, read as far as words go.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) today: NaiveDate,
    chars: Vec<char>,
    pub(super) tokens: Vec<Token>,
    /// Days and periods as a search means them.
    pub(super) dates: Vec<Found>,
    /// The same, as a past sale means them.
    pub(super) sale_dates: Vec<Found>,
    pub(super) amounts: Vec<Amount>,
    pub(super) quantities: Vec<Quantity>,
    /// The language it is written in, when it shows.
    pub(super) lang: Option<Lang>,
    /// What the whole message can be: a greeting, a typed yes.
    pub(super) whole: Vec<Term>,
}

impl Message {
    pub(super) fn read(text: &str, today: NaiveDate) -> Self {
        let normal = normal(text);
        let chars: Vec<char> = normal.chars().collect();
        let low: Vec<char> = chars.iter().map(|c| c.to_lowercase().next().unwrap_or(*c)).collect();
        let Findings { dates: sale_dates, amounts, quantities } = reading::read(&normal, &Context::on(today));
        let search = Context { purpose: Purpose::Search, ..Context::on(today) };
        let dates = reading::dates(&normal, &search);
        let whole = lexicon::whole(&low);
        let lang = language(&chars);
        let tokens = cutting::tokens(low, &dates, &amounts, &quantities);
        Self { today, chars, tokens, dates, sale_dates, amounts, quantities, lang, whole }
    }

    /// The words as written, in normal form.
    pub(super) fn words(&self, at: Range<usize>) -> String {
        self.chars.get(at).unwrap_or_default().iter().collect::<String>().trim().to_owned()
    }

    /// Whether nothing but a space stands between two tokens.
    pub(super) fn adjoin(&self, a: &Token, b: &Token) -> bool {
        self.chars.get(a.at.end..b.at.start).is_some_and(|between| between.iter().all(|c| *c == ' '))
    }

    pub(super) fn has(&self, term: Term) -> bool {
        self.tokens.iter().any(|t| t.is(term))
    }
}

/// 600円じゃなくて, "not 600 yen": the token is named as what is not meant.
pub(super) fn is_negated(tokens: &[Token], i: usize, lang: Lang) -> bool {
    let not = match lang {
        Lang::Ja => tokens.get(i + 1),
        Lang::En => i.checked_sub(1).and_then(|before| tokens.get(before)),
    };
    not.is_some_and(|t| t.is(Term::Not))
}

/// Compatibility forms become plain ones, but for marks: ①15本 is no 115本.
fn normal(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    for piece in text.split_inclusive(is_mark) {
        let mark = piece.chars().next_back().filter(|c| is_mark(*c));
        let words = mark.and_then(|mark| piece.strip_suffix(mark)).unwrap_or(piece);
        normal.extend(words.nfkc().map(plain));
        normal.extend(mark);
    }
    normal
}

/// What the readers keep as it is although its plain form is another: ①, ², ½.
pub(super) fn is_mark(c: char) -> bool {
    !c.is_ascii() && c.nfkc().ne([c]) && Folded::new(c.encode_utf8(&mut [0; 4])).chars() == [c]
}

fn plain(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        '\u{3000}' | '\t' | '\u{a0}' => ' ',
        _ => c,
    }
}

/// Kana decide for Japanese; kanji alone may be a name in an English sentence.
fn language(chars: &[char]) -> Option<Lang> {
    let latin_words = chars.split(|c| !c.is_ascii_alphabetic()).filter(|w| w.len() >= 2).count();
    let kana = chars.iter().filter(|c| is_hiragana(**c)).count();
    let japanese = chars.iter().any(|c| is_kana(*c) || is_kanji(*c));
    if kana > 0 && (latin_words < 4 || kana > latin_words) {
        return Some(Lang::Ja);
    }
    match (japanese, latin_words) {
        (true, 0..=1) => Some(Lang::Ja),
        (_, 2..) => Some(Lang::En),
        (false, 1) if chars.iter().filter(|c| c.is_ascii_alphabetic()).count() > 2 => Some(Lang::En),
        _ => None,
    }
}
