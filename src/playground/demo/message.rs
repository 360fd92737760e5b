//! A message cut into tokens: what the readers found, codes and numbers, known words, and the plain words between.
//!
//! Promises: tokens come in the order of the text and never overlap; days, amounts and quantities are those of
//! [`crate::reading`]; every letter of the message is in some token.

use std::ops::Range;

use chrono::NaiveDate;
use unicode_normalization::UnicodeNormalization;

use super::lexicon::{self, Term};
use super::script::{is_hiragana, is_kana, is_kanji, is_word};
use crate::domain::Lang;
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
        let normal: String = text.nfkc().map(plain).collect();
        let chars: Vec<char> = normal.chars().collect();
        let low: Vec<char> = chars.iter().map(|c| c.to_lowercase().next().unwrap_or(*c)).collect();
        let Findings { dates: sale_dates, amounts, quantities } = reading::read(&normal, &Context::on(today));
        let search = Context { purpose: Purpose::Search, ..Context::on(today) };
        let dates = reading::dates(&normal, &search);
        let whole = lexicon::whole(&low);
        let lang = language(&chars);
        let mut cutter = Cutter { taken: vec![false; low.len()], low, tokens: Vec::new() };
        cutter.sales();
        for (n, found) in dates.iter().enumerate() {
            cutter.claim(Kind::Date(n), found.start_char..found.end_char);
        }
        for (n, found) in amounts.iter().enumerate() {
            cutter.claim(Kind::Amount(n), found.start_char..found.end_char);
        }
        cutter.codes(&quantities);
        for (n, found) in quantities.iter().enumerate() {
            if !cutter.counts_goods(found) {
                continue;
            }
            cutter.claim(Kind::Quantity(n), found.start_char..found.end_char);
        }
        let tokens = cutter.cut();
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

/// Cuts the text: first what is claimed as a whole, then known words, then the rest.
struct Cutter {
    low: Vec<char>,
    taken: Vec<bool>,
    tokens: Vec<Token>,
}

impl Cutter {
    fn claimed(&self, i: usize) -> bool {
        self.taken.get(i) == Some(&true)
    }

    fn claim(&mut self, kind: Kind, at: Range<usize>) {
        if !at.is_empty() && !at.clone().any(|i| self.claimed(i)) {
            let low = self.low.get(at.clone()).unwrap_or_default().iter().collect();
            if let Some(taken) = self.taken.get_mut(at.clone()) {
                taken.fill(true);
            }
            self.tokens.push(Token { kind, at, low });
        }
    }

    fn run_end(&self, from: usize, belongs: impl Fn(char) -> bool) -> usize {
        let run = self.low.iter().skip(from).take_while(|c| belongs(**c)).count();
        from + run
    }

    fn at(&self, i: usize) -> Option<char> {
        self.low.get(i).copied()
    }

    fn before(&self, i: usize) -> Option<char> {
        i.checked_sub(1).and_then(|b| self.at(b))
    }

    /// Numbers of sales: S and at least eight digits.
    fn sales(&mut self) {
        for i in 0..self.low.len() {
            let digits = self.run_end(i + 1, |c| c.is_ascii_digit());
            let begins = self.before(i).is_none_or(|c| !c.is_ascii_alphanumeric());
            if self.at(i) == Some('s') && begins && digits >= i + 9 {
                self.claim(Kind::Sale, i..self.run_end(i + 1, |c| c.is_ascii_alphanumeric() || c == '-' || c == '_'));
            }
        }
    }

    /// Four digits, or three to eight of which the first is 0. A counted number is none, unless it begins with 0.
    fn codes(&mut self, quantities: &[Quantity]) {
        let mut i = 0;
        while i < self.low.len() {
            let end = self.run_end(i, |c| c.is_ascii_digit()).max(i + 1);
            let zero = self.at(i) == Some('0');
            let looks = end - i == 4 || ((3..=8).contains(&(end - i)) && zero);
            let joins = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '件'));
            let counted = quantities.iter().any(|q| q.start_char < end && i < q.end_char) && !zero;
            if self.at(i).is_some_and(|c| c.is_ascii_digit())
                && looks
                && !counted
                && !joins(self.before(i))
                && !joins(self.at(end))
            {
                self.claim(Kind::Code, i..end);
            }
            i = end;
        }
    }

    /// 3件 and "2 customers" count what is not sold, and in 2ヶ月間 and 0件 the number is part of a known word.
    fn counts_goods(&self, quantity: &Quantity) -> bool {
        let unit: Vec<char> = quantity.unit.chars().collect();
        let known = lexicon::word_at(&self.low, quantity.start_char, &|k| self.claimed(k));
        lexicon::whole(&unit).iter().all(|t| *t == Term::Plain) && known.is_none_or(|(_, end)| end < quantity.end_char)
    }

    fn cut(mut self) -> Vec<Token> {
        let mut i = 0;
        while i < self.low.len() {
            let Some((term, end)) = lexicon::word_at(&self.low, i, &|k| self.claimed(k)) else {
                i += 1;
                continue;
            };
            // いくら3パック is salmon roe.
            let roe = self.low.get(i..end).is_some_and(|w| w.iter().collect::<String>() == "いくら")
                && self.at(end).is_some_and(|c| c.is_ascii_digit());
            self.claim(if term == Term::Plain || roe { Kind::Word } else { Kind::Term(term) }, i..end);
            i = end;
        }
        self.rest();
        self.tokens.sort_by_key(|t| t.at.start);
        self.tokens
    }

    /// What nobody has claimed: punctuation, numbers, words with their particles.
    fn rest(&mut self) {
        let mut i = 0;
        while let Some(c) = self.at(i) {
            if self.claimed(i) || c == ' ' {
                i += 1;
            } else if c.is_ascii_digit() {
                let end = self.unclaimed(i, |c| c.is_ascii_digit());
                self.claim(Kind::Number, i..end);
                i = end;
            } else if is_word(c) {
                let end = self.word_end(i);
                if (i..end).any(|k| self.at(k).is_some_and(is_kana)) {
                    self.japanese(i..end);
                } else {
                    self.claim(Kind::Word, i..end);
                }
                i = end;
            } else if c == '\'' && self.at(i + 1) == Some('s') && self.before(i).is_some_and(is_word) {
                self.claim(Kind::Particle, i..i + 2);
                i += 2;
            } else {
                let dot = c == '.' && self.at(i + 1).is_none_or(|c| c == ' ' || c == '\n');
                let kind = if dot || "。！？!?\n;".contains(c) { Kind::Stop } else { Kind::Comma };
                self.claim(kind, i..i + 1);
                i += 1;
            }
        }
    }

    fn unclaimed(&self, from: usize, belongs: impl Fn(char) -> bool) -> usize {
        let end = self.run_end(from, belongs);
        (from..end).find(|k| self.claimed(*k)).unwrap_or(end)
    }

    /// The end of a run of letters, with what stands inside names: B&B, カフェ・ポプラ, -san.
    fn word_end(&self, from: usize) -> usize {
        // Latin words may hold digits, Japanese ones do not: が0.
        let latin = self.at(from).is_some_and(|c| c.is_ascii_alphanumeric());
        let belongs = |c: char| is_word(c) && (latin || !c.is_ascii_digit());
        let mut end = self.unclaimed(from, belongs);
        while self.at(end).is_some_and(|c| "・&.-'".contains(c))
            && self.at(end + 1).is_some_and(|c| c.is_alphabetic() || is_kana(c))
            && !self.claimed(end + 1)
            && !(self.at(end) == Some('\'') && self.at(end + 1) == Some('s'))
        {
            end = self.unclaimed(end + 1, belongs);
        }
        end
    }

    /// お or ご before a word in kanji: お米.
    fn honours(&self, i: usize, end: usize) -> bool {
        i + 1 == end && self.at(i).is_some_and(|c| "おご".contains(c)) && self.at(end).is_some_and(is_kanji)
    }

    /// A run with kana in it: words, and the particles between and around them.
    fn japanese(&mut self, run: Range<usize>) {
        let mut start = run.start;
        let mut i = run.start;
        let after_verb =
            self.tokens.iter().any(|t| t.at.end == run.start && matches!(t.kind, Kind::Term(term) if is_verb(term)));
        while i < run.end {
            let kana = self.unclaimed(i, is_hiragana).min(run.end);
            if kana == i {
                i += 1;
                continue;
            }
            let stretch: String = self.low.get(i..kana).unwrap_or_default().iter().collect();
            if after_verb && i == run.start {
                self.claim(Kind::Particle, i..kana);
                start = kana;
            } else if PARTICLES.split_whitespace().any(|p| p == stretch) && (i > run.start || self.before(i).is_some())
            {
                self.claim(Kind::Word, start..i);
                self.claim(Kind::Particle, i..kana);
                start = kana;
            } else {
                // 食堂にとまと: a particle after a word that is not hiragana, with a word of its own behind it.
                let follows = i > run.start || self.before(i).is_some_and(|c| c != ' ' && self.claimed(i - 1));
                let lead = LEADS.contains(self.at(i).unwrap_or(' '))
                    && follows
                    && (kana - i >= 3 || self.honours(i + 1, kana))
                    && self.at(i + 1).is_some_and(|c| !"んーぁぃぅぇぉっゃゅょ".contains(c));
                if lead {
                    self.claim(Kind::Word, start..i);
                    self.claim(Kind::Particle, i..i + 1);
                    start = i + 1;
                }
                let word: String = self.low.get(start..kana).unwrap_or_default().iter().collect();
                if let Some(trail) = TRAILS
                    .split_whitespace()
                    .find(|t| word.ends_with(t) && word.chars().count() > t.chars().count() + usize::from(start >= i))
                {
                    let cut = kana - trail.chars().count();
                    self.claim(Kind::Word, start..cut);
                    self.claim(Kind::Particle, cut..kana);
                    start = kana;
                }
            }
            i = kana;
        }
        self.claim(Kind::Word, start..run.end);
    }
}

/// Hiragana that by itself is no word.
const PARTICLES: &str = "の に は が を で と も へ や か から まで って とか には では にも での との への だと より のも ね よ よね な \
     なの という といった です でした だった ですか ので のは のを のが んです なんです なんですが て し さ た い";
/// Particles that may stand between a word and one that begins with hiragana.
const LEADS: &str = "にはがをでへとのも";
/// Hiragana behind a word that does not belong to it, longer ones first.
const TRAILS: &str =
    "でした だった ですか です とか には では にも だと から まで って を で が は に の と へ も や ね か";

/// Verbs whose endings are no words of their own: 登録し|ておいて, 教えて|くれる.
fn is_verb(term: Term) -> bool {
    matches!(
        term,
        Term::Register
            | Term::RegisterThen
            | Term::Registered
            | Term::Cancel
            | Term::Sold
            | Term::Show
            | Term::Change
            | Term::Check
            | Term::Seek
            | Term::Polite
    )
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
