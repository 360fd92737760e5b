//! Views: modals and Home.

use serde_json::{Map, Value, json};

use super::{Check, Invalid, Surface, accept};

/// A view's JSON may not be larger, in bytes.
const VIEW_BYTES: usize = 250 * 1024;

/// Checks a modal or Home; the view with its blocks' ids filled in.
pub(in super::super) fn accept_view(view: &Value, number: impl FnMut() -> u64) -> Result<Map<String, Value>, Invalid> {
    let Some(object) = view.as_object() else { return Err(Invalid::Format) };
    if view.to_string().len() > VIEW_BYTES {
        return Err(Invalid::TooLarge);
    }
    let modal = object.get("type").and_then(Value::as_str) == Some("modal");
    let surface = if modal { Surface::Modal } else { Surface::Home };
    let mut check = Check::new(surface);
    if !modal && object.get("type").and_then(Value::as_str) != Some("home") {
        check.fault("unsupported type", "/view/type");
    }
    if modal {
        check.text(object.get("title"), true, 24, "/view/title");
    }
    for key in ["submit", "close"] {
        if modal && object.contains_key(key) {
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
    let blocks = accept(&blocks, surface, number)?;
    let mut object = object.clone();
    object.insert("blocks".into(), blocks);
    Ok(object)
}
