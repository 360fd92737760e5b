//! A message prepared for the grammar: one spelling, and a mark on every character that some reader has claimed.

use std::ops::Range;

use chrono::NaiveDate;
use unicode_normalization::UnicodeNormalization;

use crate::domain::Lang;
use crate::reading::{self, Amount, Context, Findings, Found};

/// What a character belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Free,
    Date,
    Amount,
    Code,
    SaleCode,
    Condition,
    Cue,
}

/// The message. `chars` and `low` have the same length; all positions are indices into both.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) chars: Vec<char>,
    pub(super) low: Vec<char>,
    pub(super) marks: Vec<Mark>,
    pub(super) dates: Vec<Found>,
    pub(super) amounts: Vec<Amount>,
    pub(super) quantities: Vec<Range<usize>>,
    pub(super) codes: Vec<(Range<usize>, String)>,
    pub(super) sale_codes: Vec<(Range<usize>, String)>,
    /// The language it is written in, when it shows.
    pub(super) lang: Option<Lang>,
}

const CODE_LABELS: [&str; 24] = [
    "顧客コード:",
    "顧客コード: ",
    "顧客:",
    "顧客: ",
    "コード:",
    "customer code: ",
    "customer: ",
    "code: ",
    "顧客コードが",
    "顧客コードは",
    "顧客コード",
    "お客様コード",
    "コードが",
    "コードは",
    "コード",
    "顧客番号",
    "顧客は",
    "顧客",
    "customer code ",
    "customer number ",
    "customer no. ",
    "customer ",
    "code ",
    "client ",
];
const AMOUNT_LABELS: [&str; 10] =
    ["合計金額は", "合計で", "合計", "総額", "total of ", "total: ", "total ", "計", "totaling ", "altogether "];

impl Text {
    pub(super) fn new(message: &str, today: NaiveDate) -> Self {
        let normal: String = message.nfkc().map(plain).collect();
        let chars: Vec<char> = normal.chars().collect();
        let low: Vec<char> = chars.iter().map(|c| c.to_lowercase().next().unwrap_or(*c)).collect();
        let Findings { dates, amounts, quantities } = reading::read(&normal, &Context::on(today));
        let mut text = Self {
            marks: vec![Mark::Free; chars.len()],
            dates,
            amounts,
            quantities: quantities.into_iter().map(|q| q.start_char..q.end_char).collect(),
            codes: Vec::new(),
            sale_codes: Vec::new(),
            lang: language(&chars),
            chars,
            low,
        };
        text.mark_sale_codes();
        let sale_codes: Vec<Range<usize>> = text.sale_codes.iter().map(|c| c.0.clone()).collect();
        let free = |from: usize, to: usize| !sale_codes.iter().any(|c| from < c.end && c.start < to);
        text.dates.retain(|d| free(d.start_char, d.end_char));
        text.amounts.retain(|a| free(a.start_char, a.end_char));
        for (from, to) in text.dates.iter().map(|d| (d.start_char, d.end_char)).collect::<Vec<_>>() {
            text.mark(from..to, Mark::Date);
        }
        for (from, to) in text.amounts.iter().map(|a| (a.start_char, a.end_char)).collect::<Vec<_>>() {
            let from = text.with_label(from, &AMOUNT_LABELS);
            text.mark(from..to, Mark::Amount);
        }
        text.mark_codes();
        text
    }

    pub(super) fn len(&self) -> usize {
        self.low.len()
    }

    pub(super) fn mark(&mut self, range: Range<usize>, mark: Mark) {
        if let Some(marks) = self.marks.get_mut(range) {
            marks.fill(mark);
        }
    }

    pub(super) fn marked(&self, i: usize) -> Option<Mark> {
        self.marks.get(i).copied()
    }

    /// The words as written, in normal form.
    pub(super) fn words(&self, range: Range<usize>) -> String {
        self.chars.get(range).unwrap_or_default().iter().collect()
    }

    /// `word` (lower case) stands at `i`; Latin words only as whole words. Gives the end.
    pub(super) fn word_at(&self, i: usize, word: &str) -> Option<usize> {
        let mut at = i;
        for c in word.chars() {
            if self.low.get(at) != Some(&c) {
                return None;
            }
            at += 1;
        }
        let latin = |c: Option<&char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        let starts = word.starts_with(|c: char| c.is_ascii_alphanumeric());
        let ends = word.ends_with(|c: char| c.is_ascii_alphanumeric());
        let joined =
            (starts && latin(i.checked_sub(1).and_then(|p| self.low.get(p)))) || (ends && latin(self.low.get(at)));
        (!joined).then_some(at)
    }

    pub(super) fn any_at(&self, i: usize, words: &[&str]) -> Option<usize> {
        words.iter().find_map(|w| self.word_at(i, w))
    }

    /// Where the first of `words` stands within a range.
    pub(super) fn find(&self, range: Range<usize>, words: &[&str]) -> Option<Range<usize>> {
        range.clone().find_map(|i| self.any_at(i, words).filter(|end| *end <= range.end).map(|end| i..end))
    }

    fn with_label(&self, at: usize, labels: &[&str]) -> usize {
        labels
            .iter()
            .find_map(|label| {
                let from = at.checked_sub(label.chars().count())?;
                let free = self.marks.get(from..at)?.iter().all(|m| *m == Mark::Free);
                (free && self.word_at(from, label).is_some()).then_some(from)
            })
            .unwrap_or(at)
    }

    fn mark_sale_codes(&mut self) {
        let mut i = 0;
        while i < self.len() {
            let end = self.run_end(i + 1, |c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
            let digits = self.run_end(i + 1, |c| c.is_ascii_digit());
            let fresh = i.checked_sub(1).and_then(|p| self.low.get(p)).is_none_or(|c| !c.is_ascii_alphanumeric());
            if self.low.get(i) == Some(&'s') && fresh && digits >= i + 9 {
                let mut code = self.words(i..end);
                code.replace_range(0..1, "S");
                self.sale_codes.push((i..end, code));
                self.mark(i..end, Mark::SaleCode);
                i = end;
            } else {
                i += 1;
            }
        }
    }

    fn mark_codes(&mut self) {
        let mut i = 0;
        while i < self.len() {
            let end = self.run_end(i, |c| c.is_ascii_digit());
            if end == i {
                i += 1;
                continue;
            }
            let free = self.marks.get(i..end).is_some_and(|m| m.iter().all(|m| *m == Mark::Free));
            let counted = self.quantities.iter().any(|q| q.start < end && i < q.end);
            let joins =
                |c: Option<&char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '/' | '_' | '件'));
            let joined = joins(i.checked_sub(1).and_then(|p| self.low.get(p))) || joins(self.low.get(end));
            let looks = end - i == 4 || ((3..=8).contains(&(end - i)) && self.low.get(i) == Some(&'0'));
            if free && !counted && !joined && looks {
                let code = self.words(i..end);
                let from = self.with_label(i, &CODE_LABELS);
                self.codes.push((from..end, code));
                self.mark(from..end, Mark::Code);
            }
            i = end;
        }
    }

    fn run_end(&self, from: usize, belongs: impl Fn(char) -> bool) -> usize {
        let mut end = from;
        while self.low.get(end).is_some_and(|c| belongs(*c)) {
            end += 1;
        }
        end
    }
}

fn plain(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        '\u{3000}' | '\t' | '\u{a0}' => ' ',
        _ => c,
    }
}

pub(super) fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}')
}

pub(super) fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}')
}

pub(super) fn is_kanji(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{f900}'..='\u{faff}' | '々' | '〆')
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
