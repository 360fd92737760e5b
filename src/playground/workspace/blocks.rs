//! What Slack refuses in Block Kit, with its error texts and JSON pointers.
//!
//! Where Slack's documentation leaves a limit open the stricter reading is taken: what passes here passes there.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Blocks were refused.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Invalid {
    /// `invalid_blocks_format`: not a list of objects.
    Format,
    /// `msg_blocks_too_long`: too much text in all.
    TooLong,
    /// `only_one_table_allowed`.
    Tables,
    /// `invalid_blocks` with the faults found.
    Blocks(Vec<String>),
}

/// Where blocks are shown.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Surface {
    Message,
    View,
}

/// All text of one message's blocks; Slack does not document it, people measured about 13,200.
const TOTAL_TEXT: usize = 13_200;

/// Checks blocks and fills in missing `block_id`s and `action_id`s, as Slack does. `number` makes them unique.
pub(super) fn accept(blocks: &Value, surface: Surface, mut number: impl FnMut() -> u64) -> Result<Value, Invalid> {
    let Some(list) = blocks.as_array() else { return Err(Invalid::Format) };
    if list.iter().any(|b| !b.is_object()) {
        return Err(Invalid::Format);
    }
    let mut check = Check::default();
    let most = if surface == Surface::Message { 50 } else { 100 };
    if list.len() > most {
        check.fault(format!("no more than {most} items allowed"), "/blocks");
    }
    let mut ids = BTreeSet::new();
    for (i, block) in list.iter().enumerate() {
        let at = format!("/blocks/{i}");
        if let Some(id) = check.string(block, "block_id", 255, &at)
            && !ids.insert(id)
        {
            check.fault("`block_id` already exists", &format!("{at}/block_id"));
        }
        check.block(block, &at);
    }
    if check.markdown > 12_000 {
        check.fault("must be less than 12001 characters", "/blocks");
    }
    if check.table > 10_000 {
        check.fault("must be less than 10001 characters", "/blocks");
    }
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
        fill_in(block, "block_id", &mut number);
        for element in block.get_mut("elements").and_then(Value::as_array_mut).into_iter().flatten() {
            if element.get("type").and_then(Value::as_str) == Some("button") {
                fill_in(element, "action_id", &mut number);
            }
        }
    }
    Ok(blocks)
}

fn fill_in(object: &mut Value, key: &str, number: &mut impl FnMut() -> u64) {
    if let Some(object) = object.as_object_mut()
        && object.get(key).and_then(Value::as_str).is_none_or(str::is_empty)
    {
        object.insert(key.into(), json!(format!("w{:04}", number())));
    }
}

/// Checks a modal or Home.
pub(super) fn accept_view(view: &Value, number: impl FnMut() -> u64) -> Result<Map<String, Value>, Invalid> {
    let Some(object) = view.as_object() else { return Err(Invalid::Format) };
    let mut check = Check::default();
    let modal = match object.get("type").and_then(Value::as_str) {
        Some("modal") => true,
        Some("home") => false,
        _ => {
            check.fault("unsupported type", "/view/type");
            false
        }
    };
    if modal {
        check.text(object.get("title"), true, 24, "/view/title");
    }
    for key in ["submit", "close"] {
        if object.contains_key(key) {
            check.text(object.get(key), true, 24, &format!("/view/{key}"));
        }
    }
    for (key, most) in [("private_metadata", 3000), ("callback_id", 255), ("external_id", 255)] {
        check.string(view, key, most, "/view");
    }
    let blocks = object.get("blocks").cloned().unwrap_or(Value::Null);
    let inputs = blocks.as_array().into_iter().flatten().any(|b| b.get("type") == Some(&json!("input")));
    if modal && inputs && !object.contains_key("submit") {
        check.fault("missing required field: submit", "/view/submit");
    }
    if !check.faults.is_empty() {
        return Err(Invalid::Blocks(check.faults));
    }
    let blocks = accept(&blocks, Surface::View, number)?;
    let mut object = object.clone();
    object.insert("blocks".into(), blocks);
    Ok(object)
}

#[derive(Default)]
struct Check {
    faults: Vec<String>,
    total: usize,
    markdown: usize,
    table: usize,
    tables: usize,
}

/// UTF-16 units: the strictest of the readings of "characters", bytes aside.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

impl Check {
    fn fault(&mut self, what: impl std::fmt::Display, at: &str) {
        self.faults.push(format!("[ERROR] {what} [json-pointer:{at}]"));
    }

    fn block(&mut self, block: &Value, at: &str) {
        match block.get("type").and_then(Value::as_str).unwrap_or("") {
            "section" => {
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
                if let Some(element) = block.get("accessory") {
                    self.element(element, &format!("{at}/accessory"));
                }
            }
            "header" => self.text(block.get("text"), true, 150, &format!("{at}/text")),
            "context" => {
                for (i, element) in self.list(block, "elements", 1, 10, at).iter().enumerate() {
                    let at = format!("{at}/elements/{i}");
                    if element.get("type").and_then(Value::as_str) == Some("image") {
                        self.image(element, &at);
                    } else {
                        self.text(Some(element), false, 3000, &at);
                    }
                }
            }
            "actions" => self.elements(block, 25, at),
            "context_actions" => self.elements(block, 5, at),
            "input" => {
                self.text(block.get("label"), true, 2000, &format!("{at}/label"));
                match block.get("element") {
                    Some(element) => self.element(element, &format!("{at}/element")),
                    None => self.fault("missing required field: element", at),
                }
            }
            "image" => self.image(block, at),
            "divider" => {}
            "markdown" => {
                let text = self.filled(block, "text", 12_000, at);
                self.markdown += text;
                self.total += text;
            }
            "rich_text" => self.rich_text(block, at),
            "table" => self.table(block, at),
            // Kinds this workspace knows by name only.
            "video" | "file" | "data_table" | "data_visualization" | "card" | "carousel" | "container"
            | "task_card" | "plan" | "alert" => {}
            other => self.fault(format_args!("unsupported type: {other}"), &format!("{at}/type")),
        }
    }

    fn elements(&mut self, block: &Value, most: usize, at: &str) {
        let mut ids = BTreeSet::new();
        for (i, element) in self.list(block, "elements", 1, most, at).iter().enumerate() {
            let at = format!("{at}/elements/{i}");
            self.element(element, &at);
            if let Some(id) = element.get("action_id").and_then(Value::as_str)
                && !ids.insert(id.to_owned())
            {
                self.fault("`action_id` already exists", &format!("{at}/action_id"));
            }
        }
    }

    fn element(&mut self, element: &Value, at: &str) {
        self.string(element, "action_id", 255, at);
        match element.get("type").and_then(Value::as_str).unwrap_or("") {
            "button" => {
                self.text(element.get("text"), true, 75, &format!("{at}/text"));
                self.string(element, "value", 2000, at);
                self.string(element, "url", 3000, at);
                self.string(element, "accessibility_label", 75, at);
                if let Some(style) = element.get("style")
                    && !matches!(style.as_str(), Some("primary" | "danger"))
                {
                    self.fault("failed to match all enum values", &format!("{at}/style"));
                }
                if let Some(confirm) = element.get("confirm") {
                    for (key, most) in [("title", 100), ("text", 300), ("confirm", 30), ("deny", 30)] {
                        self.text(confirm.get(key), key != "text", most, &format!("{at}/confirm/{key}"));
                    }
                }
            }
            "feedback_buttons" => {
                for key in ["positive_button", "negative_button"] {
                    let at = format!("{at}/{key}");
                    let button = element.get(key).unwrap_or(&Value::Null);
                    self.text(button.get("text"), true, 75, &format!("{at}/text"));
                    self.string(button, "value", 2000, &at);
                }
            }
            "image" => self.image(element, at),
            "icon_button"
            | "overflow"
            | "static_select"
            | "multi_static_select"
            | "external_select"
            | "users_select"
            | "conversations_select"
            | "channels_select"
            | "datepicker"
            | "timepicker"
            | "datetimepicker"
            | "radio_buttons"
            | "checkboxes"
            | "plain_text_input"
            | "number_input"
            | "email_text_input"
            | "url_text_input"
            | "rich_text_input"
            | "workflow_button"
            | "multi_users_select"
            | "multi_conversations_select"
            | "multi_channels_select"
            | "multi_external_select"
            | "file_input" => {}
            other => self.fault(format_args!("unsupported type: {other}"), &format!("{at}/type")),
        }
    }

    fn image(&mut self, image: &Value, at: &str) {
        if image.get("slack_file").is_none() {
            self.filled(image, "image_url", 3000, at);
        }
        self.filled(image, "alt_text", 2000, at);
    }

    fn table(&mut self, table: &Value, at: &str) {
        self.tables += 1;
        let before = self.total;
        for (r, row) in self.list(table, "rows", 1, 100, at).iter().enumerate() {
            let at = format!("{at}/rows/{r}");
            let Some(cells) = row.as_array() else {
                self.fault("must be an array", &at);
                continue;
            };
            if cells.is_empty() || cells.len() > 20 {
                self.fault("must have 1 to 20 items", &at);
            }
            for (c, cell) in cells.iter().enumerate() {
                let at = format!("{at}/{c}");
                match cell.get("type").and_then(Value::as_str).unwrap_or("") {
                    "raw_text" => self.total += self.filled(cell, "text", 10_000, &at),
                    "raw_number" => {}
                    "rich_text" => self.rich_text(cell, &at),
                    other => self.fault(format_args!("unsupported type: {other}"), &format!("{at}/type")),
                }
            }
        }
        self.table += self.total - before;
        if let Some(settings) = table.get("column_settings") {
            match settings.as_array() {
                Some(list) if list.len() <= 20 && list.iter().all(Value::is_object) => {}
                _ => self.fault("must be at most 20 objects", &format!("{at}/column_settings")),
            }
        }
    }

    fn rich_text(&mut self, block: &Value, at: &str) {
        for (i, part) in self.list(block, "elements", 1, usize::MAX, at).iter().enumerate() {
            let at = format!("{at}/elements/{i}");
            match part.get("type").and_then(Value::as_str).unwrap_or("") {
                "rich_text_section" | "rich_text_quote" | "rich_text_preformatted" => self.inline(part, &at),
                "rich_text_list" => {
                    if !matches!(part.get("style").and_then(Value::as_str), Some("bullet" | "ordered")) {
                        self.fault("failed to match all enum values", &format!("{at}/style"));
                    }
                    for (j, item) in self.list(part, "elements", 1, usize::MAX, &at).iter().enumerate() {
                        self.inline(item, &format!("{at}/elements/{j}"));
                    }
                }
                other => self.fault(format_args!("unsupported type: {other}"), &format!("{at}/type")),
            }
        }
    }

    fn inline(&mut self, part: &Value, at: &str) {
        for (i, element) in self.list(part, "elements", 0, usize::MAX, at).iter().enumerate() {
            let at = format!("{at}/elements/{i}");
            match element.get("type").and_then(Value::as_str).unwrap_or("") {
                "text" => self.total += self.filled(element, "text", usize::MAX, &at),
                "link" => {
                    self.filled(element, "url", 3000, &at);
                }
                "user" => {
                    self.filled(element, "user_id", 255, &at);
                }
                "channel" | "usergroup" | "team" | "emoji" | "date" | "broadcast" | "color" | "message_mention" => {}
                other => self.fault(format_args!("unsupported type: {other}"), &format!("{at}/type")),
            }
        }
    }

    /// A text object.
    fn text(&mut self, object: Option<&Value>, plain_only: bool, most: usize, at: &str) {
        let Some(object) = object.filter(|o| o.is_object()) else {
            let (parent, field) = at.rsplit_once('/').unwrap_or(("", at));
            self.fault(format_args!("missing required field: {field}"), parent);
            return;
        };
        match object.get("type").and_then(Value::as_str) {
            Some("plain_text") => {}
            Some("mrkdwn") if !plain_only => {}
            Some(other) => self.fault(format_args!("unsupported type: {other}"), &format!("{at}/type")),
            None => self.fault("missing required field: type", at),
        }
        self.total += self.filled(object, "text", most, at);
    }

    /// A string that must be there and not empty; its length.
    fn filled(&mut self, object: &Value, key: &str, most: usize, at: &str) -> usize {
        let Some(text) = object.get(key).and_then(Value::as_str) else {
            self.fault(format_args!("missing required field: {key}"), at);
            return 0;
        };
        let n = length(text);
        if n == 0 {
            self.fault("must be more than 0 characters", &format!("{at}/{key}"));
        } else if n > most {
            self.fault(format_args!("must be less than {} characters", most.saturating_add(1)), &format!("{at}/{key}"));
        }
        n
    }

    /// A string that may be absent.
    fn string(&mut self, object: &Value, key: &str, most: usize, at: &str) -> Option<String> {
        let value = object.get(key)?;
        let Some(text) = value.as_str() else {
            self.fault("must be a string", &format!("{at}/{key}"));
            return None;
        };
        if length(text) > most {
            self.fault(format_args!("must be less than {} characters", most + 1), &format!("{at}/{key}"));
        }
        Some(text.to_owned())
    }

    fn list<'v>(&mut self, object: &'v Value, key: &str, least: usize, most: usize, at: &str) -> &'v [Value] {
        let at = format!("{at}/{key}");
        let list = match object.get(key) {
            None if least == 0 => return &[],
            Some(Value::Array(list)) => list.as_slice(),
            _ => {
                self.fault(format_args!("missing required field: {key}"), &at);
                return &[];
            }
        };
        if list.len() < least {
            self.fault(format_args!("no fewer than {least} items allowed"), &at);
        }
        if list.len() > most {
            self.fault(format_args!("no more than {most} items allowed"), &at);
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(blocks: Value) -> Vec<String> {
        let mut n = 0;
        match accept(&blocks, Surface::Message, || {
            n += 1;
            n
        }) {
            Err(Invalid::Blocks(faults)) => faults,
            Err(other) => vec![format!("{other:?}")],
            Ok(_) => vec![],
        }
    }

    fn section(text: &str) -> Value {
        json!({"type": "section", "text": {"type": "mrkdwn", "text": text}})
    }

    fn button(text: &str, value: &str) -> Value {
        json!({"type": "button", "action_id": "a", "value": value, "text": {"type": "plain_text", "text": text}})
    }

    #[test]
    fn each_limit_is_refused_with_the_pointer_to_the_fault() {
        let table = |cell: Value| json!([{"type": "table", "rows": [[cell]]}]);
        for (blocks, pointer) in [
            (json!(vec![section("a"); 51]), "/blocks]"),
            (json!([section(&"あ".repeat(3001))]), "/blocks/0/text/text]"),
            (json!([section("a"), section("")]), "/blocks/1/text/text]"),
            (json!([{"type": "section"}]), "/blocks/0]"),
            (json!([{"type": "header", "text": {"type": "mrkdwn", "text": "a"}}]), "/blocks/0/text/type]"),
            (
                json!([{"type": "actions", "elements": [button(&"a".repeat(76), "v")]}]),
                "/blocks/0/elements/0/text/text]",
            ),
            (json!([{"type": "actions", "elements": [button("a", &"v".repeat(2001))]}]), "/blocks/0/elements/0/value]"),
            (
                json!([{"type": "actions", "elements": [button("a", "1"), button("b", "2")]}]),
                "/blocks/0/elements/1/action_id]",
            ),
            (json!([{"type": "actions", "elements": []}]), "/blocks/0/elements]"),
            (
                json!([{"type": "divider", "block_id": "b"}, {"type": "divider", "block_id": "b"}]),
                "/blocks/1/block_id]",
            ),
            (table(json!({"type": "raw_text", "text": ""})), "/blocks/0/rows/0/0/text]"),
            (
                table(json!({"type": "rich_text", "elements": [
                    {"type": "rich_text_section", "elements": [{"type": "text", "text": ""}]}]})),
                "/blocks/0/rows/0/0/elements/0/elements/0/text]",
            ),
            (
                json!([{"type": "table", "column_settings": [null], "rows": [[{"type": "raw_text", "text": "a"}]]}]),
                "/blocks/0/column_settings]",
            ),
            (json!([{"type": "hologram"}]), "/blocks/0/type]"),
            (json!([{"type": "markdown", "text": "a".repeat(12_001)}]), "/blocks/0/text]"),
        ] {
            let found = faults(blocks);
            assert!(found.iter().any(|f| f.ends_with(pointer)), "{pointer}: {found:?}");
        }
    }

    #[test]
    fn what_is_within_the_limits_is_accepted() {
        let blocks = json!([
            section(&"あ".repeat(3000)),
            {"type": "header", "text": {"type": "plain_text", "text": "h"}},
            {"type": "actions", "elements": [button(&"a".repeat(75), &"v".repeat(2000))]},
            {"type": "table", "rows": [[{"type": "raw_text", "text": "x"}]], "column_settings": [{"align": "right"}]},
        ]);
        assert_eq!(faults(blocks), Vec::<String>::new());
        assert_eq!(faults(json!(vec![section("a"); 50])), Vec::<String>::new());
    }

    #[test]
    fn blocks_that_are_no_list_or_too_much_in_all_have_their_own_errors() {
        assert_eq!(faults(json!({})), ["Format"]);
        assert_eq!(faults(json!(["text"])), ["Format"]);
        assert_eq!(faults(json!(vec![section(&"a".repeat(2900)); 5])), ["TooLong"]);
        let table = json!({"type": "table", "rows": [[{"type": "raw_text", "text": "a"}]]});
        assert_eq!(faults(json!([table, table])), ["Tables"]);
    }

    #[test]
    fn missing_ids_are_filled_in() {
        let blocks =
            json!([{"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "a"}}]}]);
        let mut n = 0;
        let accepted = accept(&blocks, Surface::Message, || {
            n += 1;
            n
        })
        .unwrap();
        assert_eq!(accepted[0]["block_id"], "w0001");
        assert_eq!(accepted[0]["elements"][0]["action_id"], "w0002");
    }
}
