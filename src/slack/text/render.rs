//! Blocks drawn as Block Kit and packed into messages.
//!
//! The one splitter for all limits: each message has at most [`TEXT_BYTES`] of text, which bounds the characters of its
//! blocks as well (Slack's limits on those are higher), at most [`BLOCKS`] blocks and one table.

use pulldown_cmark::Alignment;
use serde_json::{Value, json};

use super::markdown::{Block, Item, Span, Style};
use super::split::{clamp_bytes, escaped_bytes, pieces, utf16_units};
use super::{Body, escape, one_line};

/// `chat.update` refuses more: bytes, counted after escaping.
const TEXT_BYTES: usize = 4000;
/// Slack takes 50; a few are left for what Slack may count itself.
const BLOCKS: usize = 45;
/// Of one text object; a larger text element is cut into several.
const ELEMENT_UNITS: usize = 3000;
/// Of one table.
const TABLE_ROWS: usize = 100;
const TABLE_COLUMNS: usize = 20;
/// The footer never takes more than this of a message.
const FOOTER_BYTES: usize = 1500;
/// The largest indent of a list that clients draw.
const INDENT: usize = 8;
/// Slack refuses a table with an empty cell.
const EMPTY_CELL: &str = "–";

/// Packs blocks into messages, the footer under each: a message can be read, or forwarded, without the others.
pub(super) fn bodies(blocks: Vec<Block>, footer: &[String]) -> Vec<Body> {
    let footer = footer.iter().map(|line| one_line(line)).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n");
    let footer = clamp_bytes(&footer, FOOTER_BYTES);
    let budget = TEXT_BYTES - escaped_bytes(&footer) - 1;

    let mut pages = vec![Page::default()];
    for block in blocks.into_iter().flat_map(|b| fitting(b, budget)) {
        let text = text_of(&block);
        if !pages.last().is_some_and(|page| page.has_room(&block, &text, budget)) {
            pages.push(Page::default());
        }
        if let Some(page) = pages.last_mut() {
            page.tables += usize::from(matches!(block, Block::Table { .. }));
            page.blocks.push(draw(block));
            page.text.push(text);
        }
    }
    for page in pages.iter_mut().filter(|_| !footer.is_empty()) {
        page.text.push(escape(&footer));
        page.blocks.push(json!({ "type": "context", "elements": [{ "type": "plain_text", "text": footer }] }));
    }
    pages.retain(|page| !page.blocks.is_empty());
    pages.into_iter().map(|page| Body { text: page.text.join("\n"), blocks: Value::Array(page.blocks) }).collect()
}

#[derive(Default)]
struct Page {
    text: Vec<String>,
    blocks: Vec<Value>,
    tables: usize,
}

impl Page {
    fn has_room(&self, block: &Block, text: &str, budget: usize) -> bool {
        let used: usize = self.text.iter().map(|t| t.len() + 1).sum();
        used + text.len() <= budget
            && self.blocks.len() < BLOCKS
            && !(self.tables > 0 && matches!(block, Block::Table { .. }))
    }
}

/// The block, or several that say the same, each within the budget.
fn fitting(block: Block, budget: usize) -> Vec<Block> {
    match block {
        Block::Table { ref rows, .. } if rows.first().is_none_or(|head| head.len() > TABLE_COLUMNS) => {
            fitting(Block::Code { lang: String::new(), text: table_text(rows) }, budget)
        }
        Block::Table { align, rows } => split_table(&align, rows, budget),
        block if text_of(&block).len() <= budget => vec![block],
        Block::Paragraph(spans) => split_spans(spans, budget).into_iter().map(Block::Paragraph).collect(),
        Block::Quote(spans) => split_spans(spans, budget - QUOTE.len()).into_iter().map(Block::Quote).collect(),
        Block::Code { lang, text } => pieces(&text, budget - FENCES, escaped_bytes)
            .into_iter()
            .map(|text| Block::Code { lang: lang.clone(), text })
            .collect(),
        Block::List(items) => split_list(items, budget),
        Block::Rule => vec![Block::Rule],
    }
}

/// Stands before a quote in the `text` field.
const QUOTE: &str = "&gt; ";
/// What the two fences around code cost at most, of which the language may be [`FENCE_LANG`].
const FENCES: usize = 32;
const FENCE_LANG: usize = 16;

fn split_spans(spans: Vec<Span>, budget: usize) -> Vec<Vec<Span>> {
    let whole: String = spans.iter().map(|s| s.text.as_str()).collect();
    let mut rest = spans.into_iter().peekable();
    pieces(&whole, budget, escaped_bytes)
        .into_iter()
        .map(|piece| {
            let mut wanted = piece.len();
            let mut part = Vec::new();
            while wanted > 0 {
                let Some(span) = rest.peek_mut() else { break };
                match span.text.split_at_checked(wanted) {
                    Some((head, tail)) if !tail.is_empty() => {
                        let (head, tail) = (head.to_owned(), tail.to_owned());
                        part.push(Span { text: head, style: span.style });
                        span.text = tail;
                        wanted = 0;
                    }
                    _ => {
                        wanted = wanted.saturating_sub(span.text.len());
                        part.extend(rest.next());
                    }
                }
            }
            part
        })
        .collect()
}

/// An item that is too long goes on as a paragraph.
fn split_list(items: Vec<Item>, budget: usize) -> Vec<Block> {
    let mut out = Vec::new();
    let mut open: Vec<Item> = Vec::new();
    let mut spent = 0;
    for mut item in items {
        let cost = item_text(&item).len() + 1;
        if spent + cost > budget && !open.is_empty() {
            out.push(Block::List(std::mem::take(&mut open)));
            spent = 0;
        }
        if cost <= budget {
            spent += cost;
            open.push(item);
            continue;
        }
        let mut parts = split_spans(std::mem::take(&mut item.spans), budget - ITEM_MARK).into_iter();
        item.spans = parts.next().unwrap_or_default();
        out.push(Block::List(vec![item]));
        out.extend(parts.map(Block::Paragraph));
    }
    if !open.is_empty() {
        out.push(Block::List(open));
    }
    out
}

/// What an item's indent and number cost at most.
const ITEM_MARK: usize = 2 * INDENT + 24;

/// The header is repeated on each part. A row that fits no message makes the table code, which can be cut anywhere.
fn split_table(align: &[Alignment], rows: Vec<Vec<String>>, budget: usize) -> Vec<Block> {
    let cost = |row: &Vec<String>| escape(&row_text(row)).len() + 1;
    let head = rows.first().cloned().unwrap_or_default();
    let head_cost = cost(&head);
    if rows.iter().any(|row| head_cost + cost(row) > budget) {
        return fitting(Block::Code { lang: String::new(), text: table_text(&rows) }, budget);
    }
    let mut parts = vec![vec![head.clone()]];
    let mut spent = head_cost;
    for row in rows.into_iter().skip(1) {
        let price = cost(&row);
        if spent + price > budget || parts.last().is_none_or(|part| part.len() >= TABLE_ROWS) {
            parts.push(vec![head.clone()]);
            spent = head_cost;
        }
        spent += price;
        if let Some(part) = parts.last_mut() {
            part.push(row);
        }
    }
    parts.into_iter().map(|rows| Block::Table { align: align.to_vec(), rows }).collect()
}

/// The block in the `text` field, escaped.
fn text_of(block: &Block) -> String {
    match block {
        Block::Paragraph(spans) => escape(&joined(spans)),
        Block::Quote(spans) => format!("{QUOTE}{}", escape(&joined(spans))),
        Block::Code { lang, text } => {
            format!("```{}\n{}\n```", escape(&clamp_bytes(&one_line(lang), FENCE_LANG)), escape(text))
        }
        Block::List(items) => escape(&items.iter().map(item_text).collect::<Vec<_>>().join("\n")),
        Block::Table { rows, .. } => escape(&table_text(rows)),
        Block::Rule => "―".into(),
    }
}

fn joined(spans: &[Span]) -> String {
    spans.iter().map(|s| s.text.as_str()).collect()
}

fn item_text(item: &Item) -> String {
    let indent = "  ".repeat(item.indent.min(INDENT));
    match item.number {
        Some(n) => format!("{indent}{n}. {}", joined(&item.spans)),
        None => format!("{indent}• {}", joined(&item.spans)),
    }
}

fn row_text(row: &[String]) -> String {
    row.iter().map(|cell| cell_text(cell)).collect::<Vec<_>>().join(" | ")
}

fn table_text(rows: &[Vec<String>]) -> String {
    rows.iter().map(|row| row_text(row)).collect::<Vec<_>>().join("\n")
}

fn cell_text(cell: &str) -> &str {
    if cell.trim().is_empty() { EMPTY_CELL } else { cell }
}

fn draw(block: Block) -> Value {
    match block {
        Block::Paragraph(spans) => rich_text(vec![section("rich_text_section", &spans)]),
        Block::Quote(spans) => rich_text(vec![section("rich_text_quote", &spans)]),
        Block::Code { text, .. } => {
            let span = Span { text, style: Style::default() };
            rich_text(vec![section("rich_text_preformatted", &[span])])
        }
        Block::List(items) => {
            let runs = items.chunk_by(|a, b| a.indent == b.indent && follows(a.number, b.number));
            rich_text(runs.map(draw_list).collect())
        }
        Block::Table { align, rows } => {
            let settings: Vec<Value> = align
                .iter()
                .map(|a| {
                    let side = match a {
                        Alignment::Right => "right",
                        Alignment::Center => "center",
                        Alignment::Left | Alignment::None => "left",
                    };
                    json!({ "align": side, "is_wrapped": true })
                })
                .collect();
            let rows: Vec<Value> = rows
                .iter()
                .enumerate()
                .map(|(i, row)| row.iter().map(|cell| draw_cell(cell_text(cell), i == 0)).collect())
                .collect();
            json!({ "type": "table", "column_settings": settings, "rows": rows })
        }
        Block::Rule => json!({ "type": "divider" }),
    }
}

fn follows(a: Option<u64>, b: Option<u64>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.checked_add(1) == Some(b),
        _ => false,
    }
}

fn draw_list(items: &[Item]) -> Value {
    let first = items.first();
    let number = first.and_then(|i| i.number);
    let sections: Vec<Value> = items.iter().map(|i| section("rich_text_section", &i.spans)).collect();
    let mut list = json!({
        "type": "rich_text_list",
        "style": if number.is_some() { "ordered" } else { "bullet" },
        "indent": first.map_or(0, |i| i.indent.min(INDENT)),
        "elements": sections,
    });
    if let (Some(list), Some(n @ 2..)) = (list.as_object_mut(), number) {
        list.insert("offset".into(), json!(n - 1));
    }
    list
}

fn draw_cell(text: &str, is_head: bool) -> Value {
    if is_head {
        let span = Span { text: text.to_owned(), style: Style { bold: true, ..Style::default() } };
        rich_text(vec![section("rich_text_section", &[span])])
    } else {
        json!({ "type": "raw_text", "text": text })
    }
}

fn rich_text(elements: Vec<Value>) -> Value {
    json!({ "type": "rich_text", "elements": elements })
}

fn section(kind: &str, spans: &[Span]) -> Value {
    let mut elements: Vec<Value> = spans
        .iter()
        .flat_map(|span| pieces(&span.text, ELEMENT_UNITS, utf16_units).into_iter().map(|text| (text, span.style)))
        .map(|(text, style)| element(&text, style))
        .collect();
    if elements.is_empty() {
        // A section without elements is refused together with the whole message.
        elements.push(element(EMPTY_CELL, Style::default()));
    }
    json!({ "type": kind, "elements": elements })
}

fn element(text: &str, style: Style) -> Value {
    let marks: serde_json::Map<String, Value> =
        [("bold", style.bold), ("italic", style.italic), ("strike", style.strike), ("code", style.code)]
            .into_iter()
            .filter(|(_, on)| *on)
            .map(|(name, on)| (name.to_owned(), json!(on)))
            .collect();
    if marks.is_empty() {
        json!({ "type": "text", "text": text })
    } else {
        json!({ "type": "text", "text": text, "style": marks })
    }
}
