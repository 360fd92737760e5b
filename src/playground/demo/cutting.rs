//! Cuts the text of a message: first what the readers found and what has a form of its own, then known words, then the
//! rest. What is claimed once belongs to nothing else.

use std::ops::Range;

use super::lexicon::{self, Term};
use super::message::{Kind, Token, is_mark};
use super::script::{is_hiragana, is_kana, is_kanji, is_word};
use crate::reading::{Amount, Found, Quantity};

/// The tokens of a text in lower case, in its order.
pub(super) fn tokens(low: Vec<char>, dates: &[Found], amounts: &[Amount], quantities: &[Quantity]) -> Vec<Token> {
    let mut cutter = Cutter { taken: vec![false; low.len()], low, tokens: Vec::new() };
    cutter.sales();
    for (n, found) in dates.iter().enumerate() {
        cutter.claim(Kind::Date(n), found.start_char..found.end_char);
    }
    for (n, found) in amounts.iter().enumerate() {
        cutter.claim(Kind::Amount(n), found.start_char..found.end_char);
    }
    cutter.codes(quantities);
    for (n, found) in quantities.iter().enumerate() {
        if Cutter::counts_goods(found) {
            cutter.claim(Kind::Quantity(n), found.start_char..found.end_char);
        }
    }
    cutter.known_words();
    cutter.rest();
    cutter.tokens.sort_by_key(|t| t.at.start);
    cutter.tokens
}

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
            let joins = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || "-_件".contains(c));
            let alone = !joins(self.before(i)) && !joins(self.at(end));
            let counted = quantities.iter().any(|q| q.start_char < end && i < q.end_char) && !zero;
            if self.at(i).is_some_and(|c| c.is_ascii_digit()) && looks && alone && !counted {
                self.claim(Kind::Code, i..end);
            }
            i = end;
        }
    }

    /// 3件 and "2 customers" count what is not sold.
    fn counts_goods(quantity: &Quantity) -> bool {
        let unit: Vec<char> = quantity.unit.chars().collect();
        lexicon::whole(&unit).iter().all(|t| t.is_plain())
    }

    fn known_words(&mut self) {
        let mut i = 0;
        while i < self.low.len() {
            let Some((term, end)) = lexicon::word_at(&self.low, i, &|k| self.claimed(k)) else {
                i += 1;
                continue;
            };
            // いくら3パック is salmon roe.
            let roe = self.low.get(i..end).is_some_and(|w| w.iter().collect::<String>() == "いくら")
                && self.at(end).is_some_and(|c| c.is_ascii_digit());
            self.claim(if term.is_plain() || roe { Kind::Word } else { Kind::Term(term) }, i..end);
            i = end;
        }
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
            } else if is_mark(c) {
                self.claim(Kind::Comma, i..i + 1);
                i += 1;
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

    /// A run with kana in it: words, and the particles between and around them.
    fn japanese(&mut self, run: Range<usize>) {
        let mut word = run.start;
        let mut i = run.start;
        while i < run.end {
            let end = self.unclaimed(i, is_hiragana).min(run.end);
            for particle in self.particles(word, i..end, i == run.start) {
                self.claim(Kind::Word, word..particle.start);
                word = particle.end;
                self.claim(Kind::Particle, particle);
            }
            i = end.max(i + 1);
        }
        self.claim(Kind::Word, word..run.end);
    }

    /// The particles in a stretch of hiragana: all of it, or one where it begins and one where it ends. `word` is where
    /// the word before it began; `first` says that nothing of the run stands before.
    fn particles(&self, word: usize, stretch: Range<usize>, first: bool) -> Vec<Range<usize>> {
        let text = |range: Range<usize>| self.low.get(range).unwrap_or_default().iter().collect::<String>();
        let known = |words: &str, text: &str| words.split_whitespace().any(|w| w == text);
        let ending = first && self.follows_verb(stretch.start);
        if ending || (stretch.start > 0 && known(PARTICLES, &text(stretch.clone()))) {
            return vec![stretch];
        }
        let mut found = Vec::new();
        if self.leads(&stretch, first) {
            found.push(stretch.start..stretch.start + 1);
        }
        let word = found.last().map_or(word, |particle: &Range<usize>| particle.end);
        let rest = text(word..stretch.end);
        // とまと ends in no particle, unless enough is left of it.
        let least = 1 + usize::from(word >= stretch.start);
        let fits = |trail: &&str| rest.ends_with(*trail) && rest.chars().count() >= trail.chars().count() + least;
        if let Some(trail) = TRAILS.split_whitespace().find(fits).filter(|_| !stretch.is_empty()) {
            found.push(stretch.end - trail.chars().count()..stretch.end);
        }
        found
    }

    /// 食堂にとまと, 0007にお米: the stretch begins with a particle, and a word of its own follows.
    fn leads(&self, stretch: &Range<usize>, first: bool) -> bool {
        let Some(second) = self.at(stretch.start + 1).filter(|_| stretch.len() >= 2) else { return false };
        let follows = !first || (stretch.start > 0 && self.claimed(stretch.start - 1));
        let particle = self.at(stretch.start).is_some_and(|c| "にはがをでへとのも".contains(c));
        let honours = stretch.len() == 2 && "おご".contains(second) && self.at(stretch.end).is_some_and(is_kanji);
        follows && particle && (honours || (stretch.len() >= 3 && !"んーぁぃぅぇぉっゃゅょ".contains(second)))
    }

    fn follows_verb(&self, i: usize) -> bool {
        self.tokens.iter().any(|t| t.at.end == i && matches!(t.kind, Kind::Term(term) if is_verb(term)))
    }
}

/// Hiragana that by itself is no word.
const PARTICLES: &str = "の に は が を で と も へ や か から まで って とか には では にも での との への だと より のも ね よ よね な \
     なの という といった です でした だった ですか ので のは のを のが んです なんです なんですが て し さ た い";
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
