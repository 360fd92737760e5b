//! What a person entered into a modal, as Slack's client checks and describes it before anything is sent.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use url::Url;

use crate::domain::Lang;
use crate::words::workspace as words;

/// What was entered, in the form of `view.state.values`, and what is wrong with which block.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Entered {
    pub(super) values: Map<String, Value>,
    pub(super) errors: BTreeMap<String, String>,
}

/// Reads `given` (`block_id` to `action_id` to value) against a view's blocks. An element of which nothing is given has
/// its initial value, as in a client in which nothing was touched.
pub(super) fn entered(blocks: &Value, given: &Value, lang: Lang) -> Entered {
    let mut entered = Entered::default();
    for block in blocks.as_array().into_iter().flatten() {
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or("");
        let block_id = text("block_id");
        let inside = block.get("elements").and_then(Value::as_array).into_iter().flatten();
        let mut values = Map::new();
        for element in inside.chain(block.get("accessory")).chain(block.get("element")) {
            let (Some(kind), Some(action_id)) = (kind(element), element.get("action_id").and_then(Value::as_str))
            else {
                continue;
            };
            let Some((key, initial)) = holds(kind) else { continue };
            let given = given.get(block_id).and_then(|b| b.get(action_id)).and_then(|v| v.get(key));
            let value = given.or_else(|| element.get(initial)).cloned().unwrap_or(Value::Null);
            if text("type") == "input" {
                let optional = block.get("optional").and_then(Value::as_bool).unwrap_or(false);
                if let Some(error) = fault(element, kind, &value, optional, lang) {
                    entered.errors.insert(block_id.to_owned(), error);
                }
            }
            values.insert(action_id.to_owned(), json!({"type": kind, key: value}));
        }
        if !values.is_empty() {
            entered.values.insert(block_id.to_owned(), Value::Object(values));
        }
    }
    entered
}

fn kind(element: &Value) -> Option<&str> {
    element.get("type").and_then(Value::as_str)
}

/// Under which key an element's kind keeps its value, and under which it is given a first one; none for buttons.
fn holds(kind: &str) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        "plain_text_input" | "number_input" | "email_text_input" | "url_text_input" => ("value", "initial_value"),
        "static_select" | "external_select" | "radio_buttons" => ("selected_option", "initial_option"),
        "multi_static_select" | "multi_external_select" | "checkboxes" => ("selected_options", "initial_options"),
        "datepicker" => ("selected_date", "initial_date"),
        "timepicker" => ("selected_time", "initial_time"),
        "datetimepicker" => ("selected_date_time", "initial_date_time"),
        "users_select" => ("selected_user", "initial_user"),
        "conversations_select" => ("selected_conversation", "initial_conversation"),
        "channels_select" => ("selected_channel", "initial_channel"),
        "multi_users_select" => ("selected_users", "initial_users"),
        "multi_conversations_select" => ("selected_conversations", "initial_conversations"),
        "multi_channels_select" => ("selected_channels", "initial_channels"),
        "rich_text_input" => ("rich_text_value", "initial_value"),
        "file_input" => ("files", "initial_files"),
        _ => return None,
    })
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

fn fault(element: &Value, kind: &str, value: &Value, optional: bool, lang: Lang) -> Option<String> {
    if is_empty(value) {
        return (!optional).then(|| words::required(lang));
    }
    let text = value.as_str().unwrap_or("");
    match kind {
        "plain_text_input" => {
            let bound = |key: &str| element.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
            let length = text.chars().count();
            let short = bound("min_length").filter(|n| length < *n).map(|n| words::too_short(lang, n));
            short.or_else(|| bound("max_length").filter(|n| length > *n).map(|n| words::too_long(lang, n)))
        }
        "number_input" => {
            let Some(number) = text.trim().parse::<f64>().ok().filter(|n| n.is_finite()) else {
                return Some(words::not_a_number(lang));
            };
            let decimals = element.get("is_decimal_allowed").and_then(Value::as_bool).unwrap_or(false);
            if !decimals && number.fract() != 0.0 {
                return Some(words::not_whole(lang));
            }
            let bound = |key: &str| {
                let value = element.get(key)?;
                value.as_f64().or_else(|| value.as_str()?.parse().ok())
            };
            let low = bound("min_value").filter(|n| number < *n).map(|n| words::too_small(lang, n));
            low.or_else(|| bound("max_value").filter(|n| number > *n).map(|n| words::too_large(lang, n)))
        }
        "email_text_input" => {
            let whole = text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
            (!whole).then(|| words::not_an_email(lang))
        }
        "url_text_input" => Url::parse(text).is_err().then(|| words::not_a_url(lang)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(element: Value, optional: bool) -> Value {
        json!([{"type": "input", "block_id": "b", "optional": optional, "element": element}])
    }

    #[test]
    fn what_a_client_would_not_send_is_named_at_its_block_in_the_persons_language() {
        let text = json!({"type": "plain_text_input", "action_id": "a", "min_length": 2, "max_length": 3});
        let number = json!({"type": "number_input", "action_id": "a", "is_decimal_allowed": false, "min_value": "1", "max_value": "10"});
        let email = json!({"type": "email_text_input", "action_id": "a"});
        let url = json!({"type": "url_text_input", "action_id": "a"});
        let date = json!({"type": "datepicker", "action_id": "a"});
        for (element, value, error) in [
            (&text, json!({"value": null}), "Please complete this required field."),
            (&text, json!({"value": "あ"}), "Please enter at least 2 characters."),
            (&text, json!({"value": "あいうえ"}), "Please enter no more than 3 characters."),
            (&number, json!({"value": "many"}), "Please enter a number."),
            (&number, json!({"value": "1.5"}), "Please enter a whole number."),
            (&number, json!({"value": "0"}), "Please enter 1 or more."),
            (&number, json!({"value": "11"}), "Please enter 10 or less."),
            (&email, json!({"value": "me"}), "Please enter an email address."),
            (&url, json!({"value": "somewhere"}), "Please enter a URL."),
            (&date, json!({"selected_date": null}), "Please complete this required field."),
        ] {
            let found = entered(&input(element.clone(), false), &json!({"b": {"a": value}}), Lang::En);
            assert_eq!(found.errors.get("b").map(String::as_str), Some(error), "{value}");
        }
        let found = entered(&input(text, false), &json!({}), Lang::Ja);
        assert_eq!(found.errors["b"], "この項目は必須です。");
    }

    #[test]
    fn what_is_fine_and_what_was_not_touched_is_described_as_slack_does() {
        let blocks = json!([
            {"type": "input", "block_id": "n", "label": {}, "element": {"type": "number_input", "action_id": "a", "is_decimal_allowed": true}},
            {"type": "input", "block_id": "o", "optional": true, "element": {"type": "plain_text_input", "action_id": "a"}},
            {"type": "input", "block_id": "d", "element": {"type": "datepicker", "action_id": "a", "initial_date": "2026-11-24"}},
            {"type": "section", "block_id": "s", "accessory": {"type": "static_select", "action_id": "pick"}},
            {"type": "actions", "block_id": "x", "elements": [{"type": "button", "action_id": "go"}]},
        ]);
        let found = entered(&blocks, &json!({"n": {"a": {"value": "1.5"}}}), Lang::En);
        assert_eq!(found.errors, BTreeMap::new());
        assert_eq!(
            Value::Object(found.values),
            json!({
                "n": {"a": {"type": "number_input", "value": "1.5"}},
                "o": {"a": {"type": "plain_text_input", "value": null}},
                "d": {"a": {"type": "datepicker", "selected_date": "2026-11-24"}},
                "s": {"pick": {"type": "static_select", "selected_option": null}},
            })
        );
    }
}
