//! Texts: text objects, plain strings, lists, and `rich_text`.

use serde_json::Value;

use super::{Check, kind};

/// UTF-16 units: the strictest of the readings of "characters", bytes aside.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

impl Check {
    /// A text object.
    pub(super) fn text(&mut self, object: Option<&Value>, plain_only: bool, most: usize, at: &str) {
        let Some(object) = object.filter(|o| o.is_object()) else {
            let (parent, field) = at.rsplit_once('/').unwrap_or(("", at));
            self.fault(format_args!("missing required field: {field}"), parent);
            return;
        };
        match object.get("type").and_then(Value::as_str) {
            Some("plain_text") => self.only(object, &["text", "emoji"], at),
            Some("mrkdwn") if !plain_only => self.only(object, &["text", "verbatim"], at),
            Some(other) => self.fault(format_args!("unsupported type: {other}"), &format!("{at}/type")),
            None => self.fault("missing required field: type", at),
        }
        self.total += self.filled(object, "text", most, at);
    }

    /// A string that must be there and not empty; its length.
    pub(super) fn filled(&mut self, object: &Value, key: &str, most: usize, at: &str) -> usize {
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
    pub(super) fn string(&mut self, object: &Value, key: &str, most: usize, at: &str) -> Option<String> {
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

    /// A field that may be absent and has one of these values.
    pub(super) fn one_of(&mut self, object: &Value, key: &str, values: &[&str], at: &str) {
        if object.get(key).is_some_and(|v| v.as_str().is_none_or(|v| !values.contains(&v))) {
            self.fault("failed to match all enum values", &format!("{at}/{key}"));
        }
    }

    pub(super) fn list<'v>(
        &mut self,
        object: &'v Value,
        key: &str,
        least: usize,
        most: usize,
        at: &str,
    ) -> &'v [Value] {
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

    pub(super) fn rich_text(&mut self, block: &Value, at: &str) {
        for (i, part) in self.list(block, "elements", 1, usize::MAX, at).iter().enumerate() {
            let at = format!("{at}/elements/{i}");
            match kind(part) {
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
            match kind(element) {
                "text" => self.total += self.filled(element, "text", usize::MAX, &at),
                "link" => {
                    self.filled(element, "url", 3000, &at);
                }
                "user" => {
                    self.filled(element, "user_id", 255, &at);
                }
                "channel" => {
                    self.filled(element, "channel_id", 255, &at);
                }
                "emoji" => {
                    self.filled(element, "name", 255, &at);
                }
                "broadcast" => {
                    self.one_of(element, "range", &["here", "channel", "everyone"], &at);
                }
                "usergroup" | "team" | "date" | "color" | "message_mention" => {}
                other => self.fault(format_args!("unsupported type: {other}"), &format!("{at}/type")),
            }
        }
    }

    pub(super) fn image(&mut self, image: &Value, at: &str) {
        if image.get("slack_file").is_none() {
            self.filled(image, "image_url", 3000, at);
        }
        self.filled(image, "alt_text", 2000, at);
    }
}
