//! Markdown as models write it, read into the few shapes that Slack can show.
//!
//! What it promises: every character that is not markup comes out, in order, with addresses unlinked. HTML, mention
//! syntax and anything else unknown is ordinary text. Emphasis follows a rule of its own (see [`super::marks`]), since
//! CommonMark's leaves `**「これ」**は` unread and reads `10*3` as a mark.

use std::mem;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::links::unlink;
use super::marks::{self, Mark, unmark};
use crate::domain::Lang;
use crate::words;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    pub bold: bool,
    pub italic: bool,
    pub strike: bool,
    pub code: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub text: String,
    pub style: Style,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub indent: usize,
    /// `None` for a bullet.
    pub number: Option<u64>,
    pub spans: Vec<Span>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Block {
    Paragraph(Vec<Span>),
    Quote(Vec<Span>),
    Code {
        lang: String,
        text: String,
    },
    List(Vec<Item>),
    /// The first row is the header; all rows are as long as `align`.
    Table {
        align: Vec<Alignment>,
        rows: Vec<Vec<String>>,
    },
    Rule,
}

impl Block {
    /// Text without any markup.
    pub fn plain(text: &str) -> Self {
        Self::Paragraph(vec![Span { text: unlink(text), style: Style::default() }])
    }

    /// Puts every text through `check` as it will be read: marks that stand inside a word do not hide the word. What is
    /// changed loses its styles.
    pub fn checked(self, check: &dyn Fn(&str) -> String) -> Self {
        let spans = |spans: Vec<Span>| {
            let whole: String = spans.iter().map(|s| s.text.as_str()).collect();
            let checked = check(&whole);
            if checked == whole { spans } else { vec![Span { text: checked, style: Style::default() }] }
        };
        match self {
            Self::Paragraph(text) => Self::Paragraph(spans(text)),
            Self::Quote(text) => Self::Quote(spans(text)),
            Self::Code { lang, text } => Self::Code { lang: check(&lang), text: check(&text) },
            Self::List(items) => Self::List(
                items
                    .into_iter()
                    .map(|mut item| Item { spans: spans(std::mem::take(&mut item.spans)), ..item })
                    .collect(),
            ),
            Self::Table { align, rows } => {
                let rows = rows.iter().map(|row| row.iter().map(|cell| check(cell)).collect()).collect();
                Self::Table { align, rows }
            }
            Self::Rule => Self::Rule,
        }
    }
}

/// Reads Markdown that [`super::visible()`] has cleaned.
pub(super) fn parse(markdown: &str, lang: Lang) -> Vec<Block> {
    let marked = marks::mark(markdown);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut reader = Reader::new(lang);
    for event in Parser::new_ext(&marked, options) {
        reader.event(event);
    }
    reader.end_text();
    reader.end_list();
    reader.blocks
}

struct Reader {
    lang: Lang,
    blocks: Vec<Block>,
    spans: Vec<Span>,
    style: Style,
    strong_depth: usize,
    /// What our own marks have begun.
    marked: Style,
    heading: bool,
    quote_depth: usize,
    /// The next number of each open list, outermost first; `None` for bullets.
    lists: Vec<Option<u64>>,
    items: Vec<Item>,
    /// The marker of an item that has no text yet.
    fresh: Option<Option<u64>>,
    code: Option<(String, String)>,
    table: Option<(Vec<Alignment>, Vec<Vec<String>>)>,
    /// Address and where its label begins in `spans`.
    links: Vec<(String, usize)>,
}

impl Reader {
    fn new(lang: Lang) -> Self {
        Self {
            lang,
            blocks: Vec::new(),
            spans: Vec::new(),
            style: Style::default(),
            strong_depth: 0,
            marked: Style::default(),
            heading: false,
            quote_depth: 0,
            lists: Vec::new(),
            items: Vec::new(),
            fresh: None,
            code: None,
            table: None,
            links: Vec::new(),
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => {
                let style = Style { code: true, ..self.current() };
                self.push(&unmark(&text), style);
            }
            Event::Html(html) | Event::InlineHtml(html) => match html.trim() {
                "<br>" | "<br/>" | "<br />" => self.text("\n"),
                _ => self.text(&html),
            },
            Event::SoftBreak | Event::HardBreak => self.text("\n"),
            Event::Rule => {
                self.end_list();
                self.blocks.push(Block::Rule);
            }
            Event::TaskListMarker(done) => self.text(if done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.end_text();
                self.heading = true;
            }
            Tag::Paragraph | Tag::HtmlBlock => self.end_text(),
            Tag::BlockQuote(_) => {
                self.end_text();
                self.quote_depth += 1;
            }
            Tag::CodeBlock(kind) => {
                self.end_text();
                let lang = match kind {
                    CodeBlockKind::Fenced(lang) => unmark(&lang),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((lang, String::new()));
            }
            Tag::List(first) => {
                self.end_text();
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_text();
                let next = self.lists.last_mut().and_then(Option::as_mut);
                self.fresh = Some(next.map(|next| mem::replace(next, next.saturating_add(1))));
            }
            Tag::Table(align) => {
                self.end_list();
                self.table = Some((align, Vec::new()));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some((_, rows)) = &mut self.table {
                    rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.style.italic = true,
            Tag::Strong => self.strong_depth += 1,
            Tag::Strikethrough => self.style.strike = true,
            Tag::Link { dest_url, .. } => self.links.push((unmark(&dest_url), self.spans.len())),
            Tag::Image { dest_url, .. } => {
                self.links.push((unmark(&dest_url), self.spans.len()));
                self.text(&format!("{}: ", words::replies::image(self.lang)));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_text(),
            TagEnd::Item => {
                self.end_text();
                self.fresh = None;
            }
            TagEnd::Heading(_) => {
                self.end_text();
                self.heading = false;
            }
            TagEnd::BlockQuote(_) => {
                self.end_text();
                self.quote_depth = self.quote_depth.saturating_sub(1);
            }
            TagEnd::CodeBlock => {
                if let Some((lang, text)) = self.code.take() {
                    self.end_list();
                    let text = unlink(&unmark(text.strip_suffix('\n').unwrap_or(&text)));
                    self.blocks.push(Block::Code { lang, text });
                }
            }
            TagEnd::List(_) => {
                self.end_text();
                self.lists.pop();
                if self.lists.is_empty() {
                    self.end_list();
                }
            }
            TagEnd::TableCell => {
                let cell: String = mem::take(&mut self.spans).into_iter().map(|s| s.text).collect();
                self.marked = Style::default();
                if let Some(row) = self.table.as_mut().and_then(|(_, rows)| rows.last_mut()) {
                    row.push(unlink(&cell.replace('\n', " ")));
                }
            }
            TagEnd::Table => {
                if let Some((align, rows)) = self.table.take() {
                    self.blocks.push(Block::Table { align, rows });
                }
            }
            TagEnd::Emphasis => self.style.italic = false,
            TagEnd::Strong => self.strong_depth = self.strong_depth.saturating_sub(1),
            TagEnd::Strikethrough => self.style.strike = false,
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    /// The address follows its label, unless the label is the address.
    fn end_link(&mut self) {
        let Some((url, from)) = self.links.pop() else { return };
        let label: String = self.spans.iter().skip(from).map(|s| s.text.as_str()).collect();
        let same = |address: &str| address.trim_end_matches('/') == label.trim_end_matches('/');
        if url.is_empty()
            || same(&url)
            || url.split_once(':').is_some_and(|(_, rest)| same(rest.trim_start_matches('/')))
        {
            if label.is_empty() {
                self.text(&url);
            }
        } else if label.is_empty() {
            self.text(&url);
        } else {
            self.text(&format!(" ({url})"));
        }
    }

    fn current(&self) -> Style {
        Style {
            bold: self.heading || self.marked.bold || self.strong_depth > 0,
            italic: self.style.italic || self.marked.italic,
            strike: self.style.strike || self.marked.strike,
            code: self.style.code,
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.code {
            code.push_str(text);
            return;
        }
        for part in text.split_inclusive(Mark::is) {
            let (words, mark) = Mark::split(part);
            let style = self.current();
            self.push(&unmark(words), style);
            match mark {
                Some(Mark::Strong) => self.marked.bold = !self.marked.bold,
                Some(Mark::Emphasis) => self.marked.italic = !self.marked.italic,
                Some(Mark::Strike) => self.marked.strike = !self.marked.strike,
                None => {}
            }
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        if text.is_empty() {
            return;
        }
        // A label must keep its own spans, so that its beginning stays where `links` says.
        let label_begins = self.links.last().is_some_and(|(_, from)| *from == self.spans.len());
        match self.spans.last_mut() {
            Some(last) if last.style == style && !label_begins => last.text.push_str(text),
            _ => self.spans.push(Span { text: text.to_owned(), style }),
        }
    }

    /// Ends the running text and puts it where it belongs.
    fn end_text(&mut self) {
        self.marked = Style::default();
        let mut spans = unlinked(mem::take(&mut self.spans));
        if let Some(last) = spans.last_mut() {
            last.text.truncate(last.text.trim_end_matches('\n').len());
        }
        spans.retain(|s| !s.text.is_empty());
        if spans.is_empty() {
            return;
        }
        let depth = self.lists.len();
        if let Some(number) = self.fresh.take().filter(|_| depth > 0) {
            self.items.push(Item { indent: depth - 1, number, spans });
        } else if let Some(item) = self.items.last_mut() {
            item.spans.push(Span { text: "\n".into(), style: Style::default() });
            item.spans.append(&mut spans);
        } else if self.quote_depth > 0 {
            self.blocks.push(Block::Quote(spans));
        } else {
            self.blocks.push(Block::Paragraph(spans));
        }
    }

    fn end_list(&mut self) {
        self.end_text();
        if !self.items.is_empty() {
            self.blocks.push(Block::List(mem::take(&mut self.items)));
        }
    }
}

/// Unlinks each span. Where an address runs over several spans, their styles are given up: the text of a message is
/// the spans joined, and there it would be whole again.
fn unlinked(spans: Vec<Span>) -> Vec<Span> {
    let whole: String = spans.iter().map(|s| s.text.as_str()).collect();
    let each: Vec<Span> = spans.into_iter().map(|s| Span { text: unlink(&s.text), style: s.style }).collect();
    let joined: String = each.iter().map(|s| s.text.as_str()).collect();
    let safe = unlink(&whole);
    if joined == safe { each } else { vec![Span { text: safe, style: Style::default() }] }
}
