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
    japanese: bool,
}

impl Folded {
    /// Folds a text, keeping capitals apart only in [`Folded::words`].
    pub(crate) fn new(text: &str) -> Self {
        let original: Vec<char> = text.chars().collect();
        let mut folded = Self {
            chars: Vec::with_capacity(original.len()),
            origin: Vec::with_capacity(original.len()),
            japanese: false,
            original,
        };
        let mut at = 0;
        if folded.original.iter().all(|c| is_simple(*c)) {
            for c in &folded.original {
                let c = *c;
                folded.chars.push(plain(half_width(c).to_ascii_lowercase()));
                folded.origin.push((at, at + 1));
                at += 1;
            }
        } else {
            // Grapheme by grapheme: a half-width kana and its voicing mark are two characters that fold into one.
            for cluster in text.graphemes(true) {
                let end = at + cluster.chars().count();
                if let Some(mark) = cluster.chars().next().filter(|c| is_mark(*c)) {
                    folded.chars.push(mark);
                    folded.origin.push((at, end));
                    at = end;
                    continue;
                }
                for c in cluster.nfkc().flat_map(char::to_lowercase) {
                    folded.chars.push(plain(c));
                    folded.origin.push((at, end));
                }
                at = end;
            }
        }
        formal_numerals(&mut folded.chars);
        // 〜 is on Japanese keyboards only: 11/1〜30 is of November.
        folded.japanese = folded.chars.iter().any(|c| is_japanese(*c)) || folded.original.contains(&'\u{301c}');
        folded
    }

    /// The folded characters.
    pub(crate) fn chars(&self) -> &[char] {
        &self.chars
    }

    /// Kana, kanji or Japanese punctuation stand in it.
    pub(crate) fn is_japanese(&self) -> bool {
        self.japanese
    }

    /// The folded character at a position.
    pub(crate) fn at(&self, i: usize) -> Option<char> {
        self.chars.get(i).copied()
    }

    /// The folded character before a position.
    pub(crate) fn before(&self, i: usize) -> Option<char> {
        self.at(i.checked_sub(1)?)
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

    /// Whether `word` (already folded) stands at `i`; for Latin words, as a whole word. A space in it stands for any
    /// number of spaces. Gives the end.
    pub(crate) fn word_at(&self, i: usize, word: &str) -> Option<usize> {
        let mut at = i;
        let mut last = ' ';
        for expected in word.chars() {
            if self.at(at) != Some(expected) {
                return None;
            }
            at = if expected == ' ' { self.skip_spaces(at) } else { at + 1 };
            last = expected;
        }
        let latin = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphabetic());
        let first_joins = latin(word.chars().next()) && latin(self.before(i));
        let last_joins = last.is_ascii_alphabetic() && latin(self.at(at));
        (!first_joins && !last_joins).then_some(at)
    }

    /// The first of `words` that stands at `i`, with its end. List longer words first.
    pub(crate) fn any_at<'w>(&self, i: usize, words: &[&'w str]) -> Option<(&'w str, usize)> {
        words.iter().find_map(|w| self.word_at(i, w).map(|end| (*w, end)))
    }

    /// The value of the first word of a table that stands at `i`, with its end. List longer words first.
    pub(crate) fn lookup<T: Copy>(&self, i: usize, table: &[(&str, T)]) -> Option<(T, usize)> {
        let first = self.at(i)?;
        table
            .iter()
            .filter(|(word, _)| word.starts_with(first))
            .find_map(|(word, value)| self.word_at(i, word).map(|end| (*value, end)))
    }

    /// Where `word` begins when it stands right before `i`, spaces aside.
    pub(crate) fn word_before(&self, i: usize, word: &str) -> Option<usize> {
        let end = self.skip_spaces_back(i);
        let word = word.trim_end();
        let mut at = end;
        for expected in word.chars().rev() {
            if self.before(at) != Some(expected) {
                return None;
            }
            at = if expected == ' ' { self.skip_spaces_back(at) } else { at - 1 };
        }
        (self.word_at(at, word) == Some(end)).then_some(at)
    }

    /// The position after any spaces at `i`.
    pub(crate) fn skip_spaces(&self, mut i: usize) -> usize {
        while self.at(i) == Some(' ') {
            i += 1;
        }
        i
    }

    /// The position before any spaces that end at `i`.
    pub(crate) fn skip_spaces_back(&self, mut i: usize) -> usize {
        while self.before(i) == Some(' ') {
            i -= 1;
        }
        i
    }
}

/// Characters that fold one by one: ASCII in both widths, kana and the plain kanji. Nearly every text has no other.
fn is_simple(c: char) -> bool {
    matches!(c, ' '..='~' | '\t' | '\n' | '！'..='～' | '\u{3000}'..='\u{3007}' | '〜' | '「'..='】')
        || matches!(c, 'ぁ'..='ゖ' | 'ァ'..='ー' | '\u{4e00}'..='\u{9fff}')
}

/// Numbers that mark an item (①, ⑴, ㈠), stand raised (²) or are a part (½): as plain figures they would become a part of
/// the number beside them.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{2460}'..='\u{24ff}' | '\u{2070}'..='\u{209c}' | '²' | '³' | '¹' | '¼' | '½' | '¾' | '\u{2150}'..='\u{215f}')
        || matches!(c, '\u{3220}'..='\u{3229}' | '\u{3251}'..='\u{325f}' | '\u{3280}'..='\u{3289}' | '\u{32b1}'..='\u{32bf}')
        || matches!(c, '\u{3358}'..='\u{3370}' | '\u{33e0}'..='\u{33fe}')
}

/// 壱, 弐, 参, 拾, 萬: the numerals of receipts and contracts become the usual ones where they stand in a number.
fn formal_numerals(chars: &mut [char]) {
    const UNITS: &str = "十百千万億拾佰阡仟萬";
    const NUMERALS: &str = "〇一二三四五六七八九壱弐";
    let mut before = ' ';
    for i in 0..chars.len() {
        let next = chars.get(i + 1).copied().unwrap_or(' ');
        let Some(c) = chars.get_mut(i) else { return };
        let in_number = UNITS.contains(next) || "円圓".contains(next) || UNITS.contains(before);
        *c = match *c {
            '壱' => '一',
            '弐' => '二',
            '伍' if in_number => '五',
            '参' if in_number && before != '人' => '三',
            '拾' if in_number || NUMERALS.contains(before) => '十',
            '佰' => '百',
            '阡' | '仟' => '千',
            '萬' => '万',
            '圓' => '円',
            other => other,
        };
        before = *c;
    }
}

fn half_width(c: char) -> char {
    match c {
        '！'..='～' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        _ => c,
    }
}

fn is_japanese(c: char) -> bool {
    matches!(c, '、' | '。' | '「' | '」' | '々' | '〇' | 'ぁ'..='ゖ' | 'ァ'..='ヺ' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
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
