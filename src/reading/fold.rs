//! One spelling for many: full-width, half-width and decomposed characters, capitals and typographic dashes become one
//! form, and every folded character remembers which characters of the text it came from.

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// A text in its folded form.
#[derive(Clone, Debug)]
pub(crate) struct Folded {
    chars: Vec<char>,
    /// For each folded character: begin and end (exclusive) in the text, in Unicode scalar values.
    origin: Vec<(usize, usize)>,
    original: Vec<char>,
}

impl Folded {
    /// Folds a text, keeping capitals apart only in [`Folded::words`].
    pub(crate) fn new(text: &str) -> Self {
        let mut folded = Self { chars: Vec::new(), origin: Vec::new(), original: text.chars().collect() };
        let mut at = 0;
        // Grapheme by grapheme: a half-width kana and its voicing mark are two characters that fold into one.
        for cluster in text.graphemes(true) {
            let end = at + cluster.chars().count();
            for c in cluster.nfkc().flat_map(char::to_lowercase) {
                folded.chars.push(plain(c));
                folded.origin.push((at, end));
            }
            at = end;
        }
        folded
    }

    /// The folded characters.
    pub(crate) fn chars(&self) -> &[char] {
        &self.chars
    }

    /// The folded character at a position.
    pub(crate) fn at(&self, i: usize) -> Option<char> {
        self.chars.get(i).copied()
    }

    /// The span in the text of a span of folded characters.
    pub(crate) fn span(&self, from: usize, to: usize) -> (usize, usize) {
        let start = self.origin.get(from).map_or(self.original.len(), |o| o.0);
        let end = to.checked_sub(1).and_then(|last| self.origin.get(last)).map_or(start, |o| o.1);
        (start, end.max(start))
    }

    /// The words as written of a span of folded characters.
    pub(crate) fn words(&self, from: usize, to: usize) -> String {
        let (start, end) = self.span(from, to);
        self.original.get(start..end).unwrap_or_default().iter().collect()
    }

    /// Whether `word` (already folded) stands at `i`; for Latin words, as a whole word. Gives the end.
    pub(crate) fn word_at(&self, i: usize, word: &str) -> Option<usize> {
        let mut at = i;
        for expected in word.chars() {
            if self.at(at) != Some(expected) {
                return None;
            }
            at += 1;
        }
        let latin = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphabetic());
        let first_joins = latin(word.chars().next()) && latin(i.checked_sub(1).and_then(|p| self.at(p)));
        let last_joins = latin(word.chars().next_back()) && latin(self.at(at));
        (!first_joins && !last_joins).then_some(at)
    }

    /// The first of `words` that stands at `i`, with its index and end. List longer words first.
    pub(crate) fn any_at<'w>(&self, i: usize, words: &[&'w str]) -> Option<(&'w str, usize)> {
        words.iter().find_map(|w| self.word_at(i, w).map(|end| (*w, end)))
    }

    /// The position after any spaces at `i`.
    pub(crate) fn skip_spaces(&self, mut i: usize) -> usize {
        while self.at(i) == Some(' ') {
            i += 1;
        }
        i
    }
}

/// Characters that compatibility normalisation keeps apart and people do not.
fn plain(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        '\u{301c}' | '\u{ff5e}' => '~',
        '\t' | '\u{a0}' | '\u{3000}' => ' ',
        _ => c,
    }
}
