//! Finds customers' names in a stretch of a message. A name found is only ever looked up, so a part of it will do.

use std::ops::Range;

use super::text::{Mark, Text, is_hiragana, is_kana, is_kanji};
use crate::domain::Lang;

const HONORIFICS: [&str; 9] = ["さん", "さま", "様", "御中", "殿", "氏", "くん", "ちゃん", "君"];
const PARTICLES: &str = "のにはをがとへもでてや";
const CONNECTORS: [&str; 12] = [
    "それから",
    "そのあと",
    "その後",
    "ついでに",
    "それと",
    "そして",
    "ちなみに",
    "あと",
    "また",
    "次に",
    "まず",
    "では",
];

/// Words that no name contains.
const NEVER_IN_NAMES: [&str; 25] = [
    "教え",
    "見せ",
    "くださ",
    "下さ",
    "知り",
    "お願い",
    "お客",
    "顧客",
    "すみません",
    "こんにちは",
    "すべて",
    "みんな",
    "金額",
    "一覧",
    "情報",
    "データ",
    "ランキング",
    "合わせ",
    "内訳",
    "ヶ月",
    "か月",
    "カ月",
    "したら",
    "全体",
    "会社全体",
];
/// Words that are no name by themselves.
const NO_NAMES: [&str; 51] = [
    "全部",
    "全",
    "全社",
    "全員",
    "会社",
    "私",
    "自分",
    "うち",
    "各",
    "この",
    "その",
    "あの",
    "現在",
    "最新",
    "状況",
    "詳細",
    "部署",
    "間",
    "期間",
    "まで",
    "から",
    "まだ",
    "もう",
    "部門",
    "ただし",
    "但し",
    "もし",
    "今回",
    "今度",
    "販売員",
    "何",
    "どの",
    "いつ",
    "今",
    "弊社",
    "当社",
    "わたし",
    "ぼく",
    "僕",
    "俺",
    "ところ",
    "分",
    "こちら",
    "最近",
    "ここ",
    "以下",
    "以上",
    "以外",
    "年間",
    "月間",
    "週間",
];

const STOP_EN: [&str; 147] = [
    "me",
    "my",
    "mine",
    "the",
    "a",
    "an",
    "this",
    "that",
    "these",
    "those",
    "it",
    "its",
    "us",
    "all",
    "each",
    "every",
    "everyone",
    "everything",
    "everybody",
    "anyone",
    "which",
    "who",
    "whom",
    "what",
    "whose",
    "what's",
    "who's",
    "how",
    "many",
    "much",
    "sales",
    "please",
    "and",
    "or",
    "in",
    "on",
    "at",
    "last",
    "for",
    "to",
    "of",
    "by",
    "with",
    "from",
    "buy",
    "purchase",
    "total",
    "both",
    "months",
    "month",
    "week",
    "weeks",
    "year",
    "day",
    "days",
    "period",
    "combined",
    "there",
    "are",
    "is",
    "was",
    "were",
    "be",
    "been",
    "have",
    "has",
    "had",
    "any",
    "also",
    "then",
    "i",
    "we",
    "you",
    "your",
    "our",
    "they",
    "them",
    "code",
    "customer",
    "customers",
    "client",
    "price",
    "date",
    "amount",
    "yet",
    "so",
    "far",
    "together",
    "do",
    "does",
    "did",
    "can",
    "could",
    "would",
    "will",
    "show",
    "tell",
    "give",
    "get",
    "list",
    "check",
    "see",
    "know",
    "let",
    "let's",
    "thanks",
    "hi",
    "hello",
    "when",
    "where",
    "if",
    "no",
    "not",
    "yen",
    "need",
    "want",
    "like",
    "i'd",
    "company",
    "as",
    "hey",
    "only",
    "but",
    "provided",
    "unless",
    "nothing",
    "zero",
    "none",
    "sum",
    "after",
    "before",
    "next",
    "first",
    "new",
    "register",
    "name",
    "number",
    "phone",
    "address",
    "anything",
    "some",
    "ok",
    "okay",
    "more",
    "i'm",
    "looking",
    "search",
];

/// Names in a stretch, in order, with the stretch each takes up (title included).
pub(super) fn find(text: &Text, range: Range<usize>, lang: Lang, writing: bool) -> Vec<(Range<usize>, String)> {
    let mut names = titled(text, range.clone());
    if names.is_empty() {
        names = match lang {
            Lang::Ja if writing => receiver(text, range).into_iter().collect(),
            Lang::Ja => before_cue(text, range),
            Lang::En => english(text, range, writing),
        };
    }
    names
}

/// The free stretches of a range.
pub(super) fn gaps(text: &Text, range: Range<usize>) -> Vec<Range<usize>> {
    let mut gaps: Vec<Range<usize>> = Vec::new();
    for i in range {
        if text.marked(i) != Some(Mark::Free) {
            continue;
        }
        match gaps.last_mut() {
            Some(gap) if gap.end == i => gap.end = i + 1,
            _ => gaps.push(i..i + 1),
        }
    }
    gaps
}

fn at(text: &Text, i: usize) -> Option<char> {
    text.low.get(i).copied()
}

fn name_char(c: char) -> bool {
    is_kana(c) || is_kanji(c) || c.is_alphanumeric() || matches!(c, '・' | 'ー' | '&' | '.' | '\'' | '-')
}

/// `佐藤さん`, `株式会社青空様`.
fn titled(text: &Text, range: Range<usize>) -> Vec<(Range<usize>, String)> {
    let mut found: Vec<(Range<usize>, String)> = Vec::new();
    let mut floor = range.start;
    let mut i = range.start;
    while i < range.end {
        let Some(end) = text.any_at(i, &HONORIFICS).filter(|e| *e <= range.end && text.marked(i) == Some(Mark::Free))
        else {
            i += 1;
            continue;
        };
        let start = name_start(text, floor, i);
        let name = text.words(start..i).trim().to_owned();
        let generic = matches!(
            name.as_str(),
            "" | "お客" | "客" | "皆" | "みな" | "奥" | "お客さ" | "同" | "仕" | "模" | "たく" | "さ"
        );
        if !generic {
            found.push((start..end, name));
        }
        floor = end;
        i = end;
    }
    found
}

fn name_start(text: &Text, floor: usize, end: usize) -> usize {
    let mut start = end;
    while let Some(before) = start.checked_sub(1).filter(|b| *b >= floor) {
        let Some(c) = at(text, before) else { break };
        let inner_space = c == ' '
            && start < end
            && before.checked_sub(1).and_then(|b| at(text, b)).is_some_and(|c| name_char(c) && !is_hiragana(c))
            && text.marked(before.saturating_sub(1)) == Some(Mark::Free);
        if text.marked(before) != Some(Mark::Free) || !(name_char(c) || inner_space) {
            break;
        }
        start = before;
    }
    // 今回の佐藤さん: what stands before the last particle that a kanji, katakana or Latin letter follows is no name.
    let cut = (start..end.saturating_sub(1)).rev().find(|k| {
        at(text, *k).is_some_and(|c| PARTICLES.contains(c)) && at(text, k + 1).is_some_and(|c| !is_hiragana(c))
    });
    if let Some(cut) = cut {
        return cut + 1;
    }
    if let Some(after) = text.any_at(start, &CONNECTORS).filter(|a| *a < end) {
        start = after;
    }
    // 昨日のさとうさん: after a claimed word, the first of three or more hiragana is a particle.
    let claimed = start.checked_sub(1).and_then(|b| text.marked(b)).is_some_and(|m| m != Mark::Free);
    if claimed && end - start >= 3 && at(text, start).is_some_and(|c| "のには".contains(c)) {
        start + 1
    } else {
        start
    }
}

/// Names without a title before the word that tells what is asked: `青空農園の売上`.
fn before_cue(text: &Text, range: Range<usize>) -> Vec<(Range<usize>, String)> {
    let last_cue = range.clone().rev().find(|i| text.marked(*i) == Some(Mark::Cue)).unwrap_or(range.end);
    let mut found = Vec::new();
    for gap in gaps(text, range.start..last_cue) {
        for piece in pieces(text, gap).into_iter().filter(|p| !connects(text, p)) {
            let splits = split_at_to(text, piece);
            for piece in splits {
                let trimmed =
                    trim(text, piece, &["の", "は", "が", "に", "へ", "と", "で", "を", "も", "って", "という", "さ"]);
                let name = text.words(trimmed.clone());
                if plausible(&name) {
                    found.push((trimmed, name));
                }
            }
        }
    }
    found
}

fn connects(text: &Text, piece: &Range<usize>) -> bool {
    CONNECTORS.contains(&text.words(piece.clone()).trim())
}

/// The words of a stretch that are neither a name nor such as stand in any question.
pub(super) fn leftover(text: &Text, range: Range<usize>, names: &[Range<usize>]) -> bool {
    tokens(text, range).iter().any(|t| {
        t.kind == TokenKind::Word
            && !STOP_EN.contains(&t.low.as_str())
            && !names.iter().any(|n| n.start <= t.range.start && t.range.end <= n.end)
    })
}

fn plausible(name: &str) -> bool {
    let count = name.chars().count();
    let hiragana_only = name.chars().all(is_hiragana);
    (if hiragana_only { 3..=8 } else { 1..=20 }).contains(&count)
        && !name.chars().any(|c| c.is_ascii_digit())
        && name.chars().any(|c| is_kana(c) || is_kanji(c) || c.is_alphabetic())
        && !NEVER_IN_NAMES.iter().any(|w| name.contains(w))
        && !NO_NAMES.contains(&name)
        && !CONNECTORS.contains(&name)
}

/// Splits a gap at punctuation and, where names can stand on both sides, at と.
pub(super) fn pieces(text: &Text, gap: Range<usize>) -> Vec<Range<usize>> {
    split(gap.clone(), |i| {
        at(text, i).is_some_and(|c| "、。,!?！？\n:;「」『』()\"/".contains(c))
            || (at(text, i) == Some(' ')
                && i.checked_sub(1)
                    .and_then(|b| at(text, b))
                    .is_some_and(|c| is_hiragana(c) || c.is_ascii_punctuation()))
    })
}

fn split_at_to(text: &Text, piece: Range<usize>) -> Vec<Range<usize>> {
    split(piece.clone(), |i| {
        at(text, i) == Some('と')
            && i > piece.start
            && at(text, i - 1).is_some_and(|c| !is_hiragana(c))
            && at(text, i + 1).is_some_and(|c| !is_hiragana(c))
    })
}

fn split(range: Range<usize>, divides: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = range.start;
    for i in range.clone() {
        if divides(i) {
            parts.push(start..i);
            start = i + 1;
        }
    }
    parts.push(start..range.end);
    parts.retain(|p| !p.is_empty());
    parts
}

/// Takes particles and spaces off both ends.
fn trim(text: &Text, mut range: Range<usize>, particles: &[&str]) -> Range<usize> {
    loop {
        let before = range.clone();
        for word in CONNECTORS.iter().chain(particles) {
            let size = word.chars().count();
            if range.len() <= size {
                continue;
            }
            // A hiragana name may begin with what looks like a particle.
            let leads = text.word_at(range.start, word).is_some()
                && (size > 1 || at(text, range.start + size).is_some_and(|c| !is_hiragana(c)));
            if leads {
                range.start += size;
            }
            if text.word_at(range.end - size, word).is_some() && range.len() > size {
                range.end -= size;
            }
        }
        while range.start < range.end && at(text, range.start) == Some(' ') {
            range.start += 1;
        }
        while range.start < range.end && at(text, range.end - 1) == Some(' ') {
            range.end -= 1;
        }
        if range.len() == 1 && at(text, range.start).is_some_and(|c| PARTICLES.contains(c)) {
            return range.start..range.start;
        }
        if range == before {
            return range;
        }
    }
}

/// The customer of a registration without a title: what stands before に or へ.
fn receiver(text: &Text, range: Range<usize>) -> Option<(Range<usize>, String)> {
    for gap in gaps(text, range) {
        for piece in pieces(text, gap).into_iter().filter(|p| !connects(text, p)) {
            for i in piece.clone().skip(1) {
                let Some(end) =
                    text.any_at(i, &["向けに", "の分で", "の分を", "には", "に", "へ"]).filter(|e| *e <= piece.end)
                else {
                    continue;
                };
                let trimmed = trim(text, piece.start..i, &["の", "は", "が", "で", "を"]);
                let name = text.words(trimmed.clone());
                // にんじん begins with a particle too.
                if plausible(&name) && name.chars().count() >= 2 && at(text, i + 1) != Some('ん') {
                    return Some((trimmed.start..end, name));
                }
            }
        }
    }
    None
}

/// A word of an English sentence, or a claimed stretch, or a stop.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) range: Range<usize>,
    pub(super) low: String,
    pub(super) kind: TokenKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word,
    Claimed(Mark),
    Stop,
}

pub(super) fn tokens(text: &Text, range: Range<usize>) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut open = false;
    for i in range {
        let (Some(c), Some(mark)) = (at(text, i), text.marked(i)) else { break };
        let inside = open && matches!(c, '.' | '&' | '\'' | '-') && at(text, i + 1).is_some_and(char::is_alphanumeric);
        let kind = if mark != Mark::Free {
            TokenKind::Claimed(mark)
        } else if c.is_alphanumeric() || c == '&' || inside || is_kana(c) {
            TokenKind::Word
        } else if c == ' ' {
            open = false;
            continue;
        } else {
            TokenKind::Stop
        };
        match tokens.last_mut() {
            Some(last) if open && last.kind == kind && kind != TokenKind::Stop && last.range.end == i => {
                last.range.end = i + 1;
                last.low.push(c);
            }
            _ => tokens.push(Token { range: i..i + 1, low: c.to_string(), kind }),
        }
        open = true;
    }
    tokens
}

fn english(text: &Text, range: Range<usize>, writing: bool) -> Vec<(Range<usize>, String)> {
    let tokens = tokens(text, range);
    let mut found: Vec<(Range<usize>, String)> = Vec::new();
    let word = |i: usize| tokens.get(i).filter(|t| t.kind == TokenKind::Word);
    let named = |i: usize| {
        word(i).filter(|t| !STOP_EN.contains(&t.low.as_str()) && !t.low.starts_with(|c: char| c.is_ascii_digit()))
    };
    let capital = |i: usize| {
        named(i).filter(|t| text.chars.get(t.range.start).is_some_and(|c| c.is_uppercase() || !c.is_ascii()))
    };
    let mut i = 0;
    while i < tokens.len() {
        // Sato's, Green Cafe's
        if let Some(token) = named(i).filter(|t| t.low.ends_with("'s") && t.low.len() > 2) {
            let mut first = i;
            while first.checked_sub(1).is_some_and(|p| capital(p).is_some()) {
                first -= 1;
            }
            let start = word(first).map_or(token.range.start, |t| t.range.start);
            push(text, &mut found, start..token.range.end, start..token.range.end - 2);
            i += 1;
            continue;
        }
        let leads: &[&str] = if writing {
            &["to", "for", "from", "under"]
        } else {
            &["of", "for", "to", "from", "by", "with", "named", "called", "about", "did", "does", "has", "had", "is"]
        };
        if word(i).is_some_and(|t| leads.contains(&t.low.as_str())) {
            let mut first = i + 1;
            while word(first).is_some_and(|t| {
                matches!(
                    t.low.as_str(),
                    "customer" | "client" | "mr" | "mrs" | "ms" | "dr" | "the" | "a" | "our" | "." | "called" | "named"
                )
            }) || tokens.get(first).is_some_and(|t| t.low == ".")
            {
                first += 1;
            }
            let mut last = first;
            // A possessive is read by itself.
            while last < first + 4 && named(last).is_some_and(|t| !t.low.ends_with("'s")) {
                last += 1;
            }
            // "for pumpkins x4" names no customer.
            let counted = tokens
                .get(last)
                .is_some_and(|t| t.kind == TokenKind::Word && t.low.starts_with(['x', '×']) && t.low.len() > 1);
            if let (Some(a), Some(b)) = (named(first), last.checked_sub(1).and_then(named))
                && last > first
                && !(writing && counted)
            {
                // A name spelled with a capital ends where the capitals end.
                let end = if capital(first).is_some() {
                    (first..last)
                        .take_while(|k| capital(*k).is_some())
                        .last()
                        .and_then(named)
                        .map_or(a.range.end, |t| t.range.end)
                } else {
                    b.range.end
                };
                push(text, &mut found, tokens.get(i).map_or(a.range.start, |t| t.range.start)..end, a.range.start..end);
                i = last;
                continue;
            }
        }
        i += 1;
    }
    if found.is_empty() && !writing {
        let mut i = 0;
        while i < tokens.len() {
            if let Some(token) = capital(i) {
                let mut last = i;
                while capital(last + 1).is_some() {
                    last += 1;
                }
                let end = named(last).map_or(token.range.end, |t| t.range.end);
                push(text, &mut found, token.range.start..end, token.range.start..end);
                i = last;
            }
            i += 1;
        }
    }
    found
}

fn push(text: &Text, found: &mut Vec<(Range<usize>, String)>, taken: Range<usize>, name: Range<usize>) {
    let words = text.words(name);
    let name = words
        .trim_end_matches("-san")
        .trim_end_matches("-sama")
        .trim_end_matches(" san")
        .trim_end_matches("さん")
        .trim_end_matches('様')
        .to_owned();
    if !name.is_empty() {
        found.push((taken, name));
    }
}
