//! What Slack refuses in Block Kit, with its error texts and JSON pointers.
//!
//! What it promises: what passes here passes there. Where Slack's documentation leaves a limit open the stricter reading
//! is taken: characters are UTF-16 units, lists and texts have at least one item or character, and what a kind of block
//! does not know is a fault.

mod elements;
mod newer;
mod table;
mod text;
mod view;

use std::collections::BTreeSet;

use serde_json::{Value, json};

pub(super) use self::view::accept_view;

/// Blocks were refused.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Invalid {
    /// `invalid_blocks_format`: not a list of objects.
    Format,
    /// `msg_blocks_too_long`: too much text in all.
    TooLong,
    /// `only_one_table_allowed`.
    Tables,
    /// `view_too_large`.
    TooLarge,
    /// `invalid_blocks` with the faults found.
    Blocks(Vec<String>),
}

/// Where blocks are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surface {
    Message,
    Modal,
    Home,
}

/// All text of one message's blocks; Slack does not document it, people measured about 13,200.
const TOTAL_TEXT: usize = 13_200;
/// All text of a payload's `markdown` blocks.
const MARKDOWN_TEXT: usize = 12_000;
/// All text of a message's tables.
const TABLE_TEXT: usize = 10_000;

/// Checks blocks and fills in missing `block_id`s and `action_id`s, as Slack does. `number` makes them unique.
pub(super) fn accept(blocks: &Value, surface: Surface, mut number: impl FnMut() -> u64) -> Result<Value, Invalid> {
    let Some(list) = blocks.as_array() else { return Err(Invalid::Format) };
    if list.iter().any(|b| !b.is_object()) {
        return Err(Invalid::Format);
    }
    let mut check = Check::new(surface);
    check.blocks(list);
    if !check.faults.is_empty() {
        return Err(Invalid::Blocks(check.faults));
    }
    if check.tables > 1 {
        return Err(Invalid::Tables);
    }
    if surface == Surface::Message && check.total > TOTAL_TEXT {
        return Err(Invalid::TooLong);
    }
    let mut blocks = blocks.clone();
    for block in blocks.as_array_mut().into_iter().flatten() {
        name_block(block, &mut number);
    }
    Ok(blocks)
}

/// Names a block, the elements in it, those of its cards, and the blocks that it holds.
fn name_block(block: &mut Value, number: &mut impl FnMut() -> u64) {
    fill_in(block, "block_id", number);
    name_elements(block, number);
    for key in ["child_blocks", "blocks"] {
        let inside = block.get_mut(key).and_then(Value::as_array_mut);
        inside.into_iter().flatten().for_each(|block| name_block(block, number));
    }
}

fn name_elements(holder: &mut Value, number: &mut impl FnMut() -> u64) {
    for key in ["elements", "accessory", "element", "actions"] {
        let inside = match holder.get_mut(key) {
            Some(Value::Array(list)) => list.as_mut_slice(),
            Some(one) => std::slice::from_mut(one),
            None => continue,
        };
        for element in inside {
            if elements::is_interactive(element) {
                fill_in(element, "action_id", number);
            } else if kind(element) == "card" {
                name_elements(element, number);
            }
        }
    }
}

fn fill_in(object: &mut Value, key: &str, number: &mut impl FnMut() -> u64) {
    if let Some(object) = object.as_object_mut()
        && object.get(key).and_then(Value::as_str).is_none_or(str::is_empty)
    {
        object.insert(key.into(), json!(format!("w{:04}", number())));
    }
}

/// One pass over a payload: the faults found so far and the sums that have limits of their own.
struct Check {
    surface: Surface,
    faults: Vec<String>,
    total: usize,
    markdown: usize,
    table: usize,
    tables: usize,
    charts: usize,
}

fn kind(object: &Value) -> &str {
    object.get("type").and_then(Value::as_str).unwrap_or("")
}

impl Check {
    fn new(surface: Surface) -> Self {
        Self { surface, faults: Vec::new(), total: 0, markdown: 0, table: 0, tables: 0, charts: 0 }
    }

    fn fault(&mut self, what: impl std::fmt::Display, at: &str) {
        self.faults.push(format!("[ERROR] {what} [json-pointer:{at}]"));
    }

    fn blocks(&mut self, list: &[Value]) {
        let root = if self.surface == Surface::Message { "/blocks" } else { "/view/blocks" };
        let most = if self.surface == Surface::Message { 50 } else { 100 };
        if list.len() > most {
            self.fault(format_args!("no more than {most} items allowed"), root);
        }
        let mut ids = BTreeSet::new();
        for (i, block) in list.iter().enumerate() {
            let at = format!("{root}/{i}");
            if let Some(id) = self.string(block, "block_id", 255, &at)
                && !id.is_empty()
                && !ids.insert(id)
            {
                self.fault("`block_id` already exists", &format!("{at}/block_id"));
            }
            self.block(block, &at);
        }
        if self.markdown > MARKDOWN_TEXT {
            self.fault(format_args!("must be less than {} characters", MARKDOWN_TEXT + 1), root);
        }
        if self.table > TABLE_TEXT {
            self.fault(format_args!("must be less than {} characters", TABLE_TEXT + 1), root);
        }
        if self.charts > 2 {
            self.fault("no more than 2 data_visualization blocks allowed", root);
        }
    }

    fn block(&mut self, block: &Value, at: &str) {
        match kind(block) {
            "section" => self.section(block, at),
            "header" => {
                self.only(block, &["text", "level"], at);
                self.text(block.get("text"), true, 150, &format!("{at}/text"));
            }
            "context" => {
                self.only(block, &["elements"], at);
                for (i, element) in self.list(block, "elements", 1, 10, at).iter().enumerate() {
                    let at = format!("{at}/elements/{i}");
                    if kind(element) == "image" {
                        self.image(element, &at);
                    } else {
                        self.text(Some(element), false, 3000, &at);
                    }
                }
            }
            "actions" => self.elements(block, 25, elements::Holder::Actions, at),
            "context_actions" if self.surface == Surface::Message => {
                self.elements(block, 5, elements::Holder::ContextActions, at);
            }
            "input" => self.input(block, at),
            "image" => {
                self.only(block, &["image_url", "slack_file", "alt_text", "title"], at);
                if let Some(title) = block.get("title") {
                    self.text(Some(title), true, 2000, &format!("{at}/title"));
                }
                self.image(block, at);
            }
            "divider" => self.only(block, &[], at),
            "markdown" if self.surface == Surface::Message => {
                self.only(block, &["text"], at);
                let text = self.filled(block, "text", MARKDOWN_TEXT, at);
                self.markdown += text;
                self.total += text;
            }
            "rich_text" => self.rich_text(block, at),
            "table" if self.surface == Surface::Message => self.table(block, at),
            "data_table" => self.data_table(block, at),
            "data_visualization" if self.surface == Surface::Message => self.chart(block, at),
            "alert" if self.surface == Surface::Modal => self.alert(block, at),
            "card" => self.card(block, at),
            "carousel" => self.carousel(block, at),
            "container" => self.container(block, at),
            "task_card" => self.task_card(block, true, at),
            "plan" => self.plan(block, at),
            // Kinds this workspace knows by name only.
            "video" | "file" => {}
            other => self.fault(format_args!("unsupported type: {other}"), &format!("{at}/type")),
        }
    }

    fn section(&mut self, block: &Value, at: &str) {
        self.only(block, &["text", "fields", "accessory", "expand"], at);
        let fields = self.list(block, "fields", 0, 10, at);
        if block.get("text").is_none() && fields.is_empty() {
            self.fault("missing required field: text", at);
        }
        if block.get("text").is_some() {
            self.text(block.get("text"), false, 3000, &format!("{at}/text"));
        }
        for (i, field) in fields.iter().enumerate() {
            self.text(Some(field), false, 2000, &format!("{at}/fields/{i}"));
        }
        if block.get("expand").is_some_and(|e| !e.is_boolean()) {
            self.fault("must be a boolean", &format!("{at}/expand"));
        }
        if let Some(element) = block.get("accessory") {
            self.element(element, elements::Holder::Section, &format!("{at}/accessory"));
        }
    }

    fn input(&mut self, block: &Value, at: &str) {
        self.only(block, &["label", "element", "hint", "optional", "dispatch_action"], at);
        self.text(block.get("label"), true, 2000, &format!("{at}/label"));
        if let Some(hint) = block.get("hint") {
            self.text(Some(hint), true, 2000, &format!("{at}/hint"));
        }
        match block.get("element") {
            Some(element) => self.element(element, elements::Holder::Input, &format!("{at}/element")),
            None => self.fault("missing required field: element", at),
        }
    }

    /// A block has no other fields than these, `type` and `block_id`.
    fn only(&mut self, object: &Value, fields: &[&str], at: &str) {
        for key in object.as_object().into_iter().flat_map(|o| o.keys()) {
            if !matches!(key.as_str(), "type" | "block_id") && !fields.contains(&key.as_str()) {
                self.fault(format_args!("invalid additional property: {key}"), at);
            }
        }
    }
}

#[cfg(test)]
mod tests;
