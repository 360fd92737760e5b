//! Interactive elements: what each kind may hold, and which block may hold it.

use std::collections::BTreeSet;

use chrono::NaiveDate;
use serde_json::Value;

use super::{Check, Surface, kind};

/// The block an element stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    Section,
    Actions,
    ContextActions,
    Input,
}

const SELECTS: [&str; 5] =
    ["static_select", "external_select", "users_select", "conversations_select", "channels_select"];
const MULTI_SELECTS: [&str; 5] = [
    "multi_static_select",
    "multi_external_select",
    "multi_users_select",
    "multi_conversations_select",
    "multi_channels_select",
];
const PICKERS: [&str; 5] = ["datepicker", "timepicker", "datetimepicker", "radio_buttons", "checkboxes"];
const FIELDS: [&str; 6] =
    ["plain_text_input", "number_input", "email_text_input", "url_text_input", "rich_text_input", "file_input"];

/// Whether a person can act on it, so that it has an `action_id`.
pub(super) fn is_interactive(element: &Value) -> bool {
    let kind = kind(element);
    let buttons = ["button", "overflow", "workflow_button", "feedback_buttons", "icon_button"];
    let all = [&buttons[..], &SELECTS, &MULTI_SELECTS, &PICKERS, &FIELDS];
    all.iter().any(|kinds| kinds.contains(&kind))
}

impl Holder {
    fn takes(self, kind: &str, surface: Surface) -> bool {
        let buttons = ["button", "overflow", "workflow_button"].contains(&kind);
        let choices = SELECTS.contains(&kind) || PICKERS.contains(&kind);
        match self {
            // Several choices at once need a submit button or room to be shown.
            Self::Actions => buttons || choices,
            Self::Section => buttons || choices || kind == "image" || MULTI_SELECTS.contains(&kind),
            Self::ContextActions => matches!(kind, "feedback_buttons" | "icon_button"),
            Self::Input if kind == "file_input" => surface == Surface::Modal,
            Self::Input => choices || MULTI_SELECTS.contains(&kind) || FIELDS.contains(&kind),
        }
    }
}

impl Check {
    pub(super) fn elements(&mut self, block: &Value, most: usize, holder: Holder, at: &str) {
        self.only(block, &["elements"], at);
        let mut ids = BTreeSet::new();
        for (i, element) in self.list(block, "elements", 1, most, at).iter().enumerate() {
            let at = format!("{at}/elements/{i}");
            self.element(element, holder, &at);
            if let Some(id) = element.get("action_id").and_then(Value::as_str)
                && !id.is_empty()
                && !ids.insert(id.to_owned())
            {
                self.fault("`action_id` already exists", &format!("{at}/action_id"));
            }
        }
    }

    pub(super) fn element(&mut self, element: &Value, holder: Holder, at: &str) {
        let kind = kind(element);
        if !holder.takes(kind, self.surface) {
            self.fault(format_args!("unsupported type: {kind}"), &format!("{at}/type"));
            return;
        }
        self.string(element, "action_id", 255, at);
        if let Some(placeholder) = element.get("placeholder") {
            self.text(Some(placeholder), true, 150, &format!("{at}/placeholder"));
        }
        if let Some(confirm) = element.get("confirm") {
            self.confirm(confirm, &format!("{at}/confirm"));
        }
        match kind {
            "button" => self.button(element, at),
            "feedback_buttons" => {
                for key in ["positive_button", "negative_button"] {
                    let at = format!("{at}/{key}");
                    let button = element.get(key).unwrap_or(&Value::Null);
                    self.text(button.get("text"), true, 75, &format!("{at}/text"));
                    self.filled(button, "value", 2000, &at);
                    self.string(button, "accessibility_label", 75, &at);
                }
            }
            "icon_button" => {
                if element.get("icon").is_none() {
                    self.fault("missing required field: icon", at);
                }
                self.one_of(element, "icon", &["trash"], at);
                self.text(element.get("text"), true, 75, &format!("{at}/text"));
                self.string(element, "value", 2000, at);
                self.string(element, "accessibility_label", 75, at);
                self.list(element, "visible_to_user_ids", 0, 10, at);
            }
            "image" => self.image(element, at),
            "overflow" => self.options(element, 1, 5, at),
            "radio_buttons" | "checkboxes" => self.options(element, 1, 10, at),
            "static_select" | "multi_static_select" => self.static_options(element, at),
            "external_select" | "multi_external_select" => self.whole_number(element, "min_query_length", at),
            "datepicker" => self.day(element, at),
            "plain_text_input" => {
                for key in ["min_length", "max_length"] {
                    let least = u64::from(key == "max_length");
                    if element.get(key).is_some_and(|n| n.as_u64().is_none_or(|n| n < least || n > 3000)) {
                        self.fault(format_args!("must be between {least} and 3000"), &format!("{at}/{key}"));
                    }
                }
                self.string(element, "initial_value", 3000, at);
            }
            "number_input" if !element.get("is_decimal_allowed").is_some_and(Value::is_boolean) => {
                self.fault("missing required field: is_decimal_allowed", at);
            }
            _ => {}
        }
        if MULTI_SELECTS.contains(&kind)
            && element.get("max_selected_items").is_some_and(|n| n.as_u64().is_none_or(|n| n < 1))
        {
            self.fault("must be more than 0", &format!("{at}/max_selected_items"));
        }
    }

    pub(super) fn button(&mut self, element: &Value, at: &str) {
        self.only(element, &["text", "action_id", "url", "value", "style", "confirm", "accessibility_label"], at);
        self.text(element.get("text"), true, 75, &format!("{at}/text"));
        self.string(element, "value", 2000, at);
        self.string(element, "url", 3000, at);
        self.string(element, "accessibility_label", 75, at);
        self.one_of(element, "style", &["primary", "danger"], at);
    }

    fn confirm(&mut self, confirm: &Value, at: &str) {
        self.only(confirm, &["title", "text", "confirm", "deny", "style"], at);
        for (key, most) in [("title", 100), ("text", 300), ("confirm", 30), ("deny", 30)] {
            self.text(confirm.get(key), key != "text", most, &format!("{at}/{key}"));
        }
        self.one_of(confirm, "style", &["primary", "danger"], at);
    }

    fn whole_number(&mut self, element: &Value, key: &str, at: &str) {
        if element.get(key).is_some_and(|n| n.as_u64().is_none()) {
            self.fault("must be an integer", &format!("{at}/{key}"));
        }
    }

    fn day(&mut self, element: &Value, at: &str) {
        let date = element.get("initial_date");
        let day = |d: &Value| d.as_str().filter(|d| d.len() == 10).is_some_and(|d| d.parse::<NaiveDate>().is_ok());
        if date.is_some_and(|d| !day(d)) {
            self.fault("must be a date in the form YYYY-MM-DD", &format!("{at}/initial_date"));
        }
    }

    fn static_options(&mut self, element: &Value, at: &str) {
        if element.get("option_groups").is_none() {
            self.options(element, 1, 100, at);
            return;
        }
        for (i, group) in self.list(element, "option_groups", 1, 100, at).iter().enumerate() {
            let at = format!("{at}/option_groups/{i}");
            self.text(group.get("label"), true, 75, &format!("{at}/label"));
            self.options(group, 1, 100, &at);
        }
    }

    /// `options`, and what is chosen of them at first.
    fn options(&mut self, element: &Value, least: usize, most: usize, at: &str) {
        let options = self.list(element, "options", least, most, at);
        for (i, option) in options.iter().enumerate() {
            let at = format!("{at}/options/{i}");
            // Only these two show bold and links in an option.
            let plain_only = !matches!(kind(element), "radio_buttons" | "checkboxes");
            self.text(option.get("text"), plain_only, 75, &format!("{at}/text"));
            self.filled(option, "value", 150, &at);
            if let Some(description) = option.get("description") {
                self.text(Some(description), plain_only, 75, &format!("{at}/description"));
            }
            self.string(option, "url", 3000, &at);
        }
        let known = |o: &Value| options.iter().any(|known| known.get("value") == o.get("value"));
        if element.get("initial_option").is_some_and(|o| !known(o)) {
            self.fault("must be one of the options", &format!("{at}/initial_option"));
        }
        let initial = element.get("initial_options").and_then(Value::as_array);
        if initial.is_some_and(|list| !list.iter().all(known)) {
            self.fault("must be one of the options", &format!("{at}/initial_options"));
        }
    }
}
