//! Finds what was sold in a stretch of a message: the words around a quantity, or what is left over.

use std::ops::Range;

use super::names::{Token, TokenKind, gaps, pieces, tokens};
use super::text::{Mark, Text};
use crate::domain::Lang;

/// The products of a registration, as written; `None` when nothing that can be goods is left.
pub(super) fn find(text: &Text, range: Range<usize>, customer: &[Range<usize>], lang: Lang) -> Option<String> {
    let found = match lang {
        Lang::Ja => japanese(text, range, customer),
        Lang::En => english(text, range, customer),
    };
    found.filter(|p| !p.is_empty() && p.chars().count() <= 1000)
}

const LABELS: [&str; 22] = [
    "商品名は",
    "商品名",
    "商品は",
    "商品",
    "品名は",
    "品名",
    "品目は",
    "品目",
    "品物は",
    "内容は",
    "金額は",
    "金額",
    "価格は",
    "値段は",
    "日付は",
    "日付で",
    "日付",
    "販売日は",
    "顧客は",
    "相手は",
    "単価",
    "数量は",
];
const FILLERS: [&str; 23] = [
    "ただし",
    "但し",
    "もし",
    "お願い",
    "くださ",
    "下さ",
    "して",
    "ます",
    "です",
    "たい",
    "ほしい",
    "欲しい",
    "すみません",
    "もらえ",
    "いただ",
    "頂",
    "こんにちは",
    "お疲れ",
    "した",
    "よろしく",
    "行う",
    "行って",
    "する",
];
/// Goods whose names begin like a particle.
const LIKE_PARTICLES: [&str; 15] = [
    "にんじん",
    "にんにく",
    "にら",
    "にがうり",
    "にしん",
    "はくさい",
    "はちみつ",
    "はっさく",
    "はと",
    "のり",
    "のざわな",
    "でこぽん",
    "とうもろこし",
    "とまと",
    "とうふ",
];

fn japanese(text: &Text, range: Range<usize>, customer: &[Range<usize>]) -> Option<String> {
    let mut counted: Vec<String> = Vec::new();
    let mut rest: Vec<String> = Vec::new();
    for gap in gaps(text, range) {
        for piece in pieces(text, gap) {
            for piece in without(piece, customer) {
                let after_code = piece.start.checked_sub(1).and_then(|b| text.marked(b)) == Some(Mark::Code);
                let has_quantity = text.quantities.iter().any(|q| piece.start <= q.start && q.end <= piece.end);
                let goods = strip(&text.words(piece), after_code);
                if goods.is_empty() {
                    continue;
                }
                if has_quantity {
                    counted.push(goods);
                } else if !FILLERS.iter().any(|f| goods.contains(f)) {
                    rest.push(goods);
                }
            }
        }
    }
    if counted.is_empty() {
        return rest.into_iter().filter(|r| r.chars().count() > 1).max_by_key(|r| r.chars().count());
    }
    // 大根、2本: a quantity by itself belongs to the words before it.
    if let [only] = counted.as_slice()
        && only.starts_with(|c: char| c.is_ascii_digit())
        && let Some(name) = rest.first()
    {
        return Some(format!("{name}{only}"));
    }
    Some(counted.join("、"))
}

/// The parts of a piece that no customer takes.
fn without(piece: Range<usize>, taken: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut parts = vec![piece];
    for t in taken {
        parts = parts
            .into_iter()
            .flat_map(|p| [p.start..p.end.min(t.start.max(p.start)), p.start.max(t.end.min(p.end))..p.end])
            .filter(|p| !p.is_empty())
            .collect();
    }
    parts
}

fn strip(words: &str, after_code: bool) -> String {
    let mut s = words.trim();
    if after_code {
        s = s.trim_start_matches(['さ', 'ん']).trim_start();
        s = s.strip_prefix("様").unwrap_or(s);
        s = ["に", "へ", "の", "は", "が", "、"].iter().find_map(|p| s.strip_prefix(p)).unwrap_or(s);
    }
    loop {
        let before = s;
        for label in LABELS {
            s = s.strip_prefix(label).unwrap_or(s);
        }
        if !LIKE_PARTICLES.iter().any(|g| s.starts_with(g)) {
            for lead in [
                "として",
                "について",
                "分の",
                "分で",
                "から",
                "には",
                "に",
                "へ",
                "は",
                "を",
                "が",
                "の",
                "で",
                "と",
                ":",
            ] {
                s = s.strip_prefix(lead).unwrap_or(s);
            }
        }
        for trail in ["として", "を", "で", "が", "は", "の", "と", "分", "、", "税込", "税抜"] {
            s = s.strip_suffix(trail).unwrap_or(s);
        }
        s = s.trim_matches(|c: char| c.is_whitespace() || "「」『』、。,.;:()\"".contains(c));
        if s == before {
            return s.to_owned();
        }
    }
}

const EDGE: [&str; 61] = [
    "please",
    "a",
    "an",
    "the",
    "sale",
    "sales",
    "of",
    "for",
    "to",
    "at",
    "on",
    "in",
    "as",
    "by",
    "and",
    "can",
    "could",
    "you",
    "i",
    "i'd",
    "want",
    "need",
    "would",
    "like",
    "it",
    "new",
    "under",
    "customer",
    "client",
    "price",
    "priced",
    "date",
    "dated",
    "product",
    "products",
    "item",
    "items",
    "sold",
    "total",
    "was",
    "were",
    "has",
    "have",
    "they",
    "just",
    "me",
    "us",
    "with",
    "from",
    "costing",
    "worth",
    "then",
    "so",
    "that",
    "is",
    "be",
    "bought",
    "purchased",
    "them",
    "also",
    "quantity",
];

fn english(text: &Text, range: Range<usize>, customer: &[Range<usize>]) -> Option<String> {
    let tokens = tokens(text, range);
    let taken = |t: &Token| customer.iter().any(|c| c.start <= t.range.start && t.range.end <= c.end);
    let mut runs: Vec<Vec<&Token>> = vec![Vec::new()];
    for token in &tokens {
        let goods = token.kind == TokenKind::Word && !taken(token);
        match runs.last_mut() {
            Some(run) if goods => run.push(token),
            _ => runs.push(Vec::new()),
        }
    }
    let mut counted = Vec::new();
    let mut rest = Vec::new();
    for run in runs {
        let edge = |t: &&&Token| EDGE.contains(&t.low.as_str());
        let lead = run.iter().take_while(edge).count();
        let trail = run.iter().rev().take_while(edge).count();
        let Some(kept) = run.get(lead..run.len().saturating_sub(trail).max(lead)) else { continue };
        let (Some(first), Some(last)) = (kept.first(), kept.last()) else { continue };
        let words = text.words(first.range.start..last.range.end);
        let number = kept.iter().any(|t| t.low.chars().any(|c| c.is_ascii_digit()))
            || text.quantities.iter().any(|q| first.range.start <= q.start && q.end <= last.range.end);
        if number { counted.push(words) } else { rest.push(words) }
    }
    if counted.is_empty() {
        return rest.into_iter().max_by_key(|r| r.chars().count());
    }
    Some(counted.join(", "))
}
