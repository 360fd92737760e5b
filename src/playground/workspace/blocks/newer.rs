//! The kinds of blocks that came for agents in 2026: cards, plans, charts, alerts. Only their documented limits are
//! checked; fields that they may have beside these pass.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Check, kind};

/// The text of a field that is a string here and a text object there.
fn words(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.get("text").and_then(Value::as_str))
}

impl Check {
    fn bounded(&mut self, object: &Value, key: &str, most: usize, at: &str) {
        let Some(value) = object.get(key) else { return };
        let Some(text) = words(value) else {
            self.fault("must be a string", &format!("{at}/{key}"));
            return;
        };
        let n = text.encode_utf16().count();
        self.total += n;
        if n == 0 {
            self.fault("must be more than 0 characters", &format!("{at}/{key}"));
        } else if n > most {
            self.fault(format_args!("must be less than {} characters", most + 1), &format!("{at}/{key}"));
        }
    }

    pub(super) fn card(&mut self, card: &Value, at: &str) {
        for (key, most) in [("title", 150), ("subtitle", 150), ("body", 200), ("subtext", 200)] {
            self.bounded(card, key, most, at);
        }
        for (i, button) in self.list(card, "actions", 0, 3, at).iter().enumerate() {
            self.button(button, &format!("{at}/actions/{i}"));
        }
    }

    pub(super) fn carousel(&mut self, carousel: &Value, at: &str) {
        for (i, card) in self.list(carousel, "elements", 1, 10, at).iter().enumerate() {
            self.card(card, &format!("{at}/elements/{i}"));
        }
    }

    pub(super) fn container(&mut self, container: &Value, at: &str) {
        self.bounded(container, "title", 150, at);
        let key = if container.get("child_blocks").is_some() { "child_blocks" } else { "blocks" };
        for (i, block) in self.list(container, key, 1, 10, at).iter().enumerate() {
            let at = format!("{at}/{key}/{i}");
            if kind(block) == "container" {
                self.fault("unsupported type: container", &format!("{at}/type"));
            } else {
                self.block(block, &at);
            }
        }
    }

    pub(super) fn alert(&mut self, alert: &Value, at: &str) {
        if alert.get("text").is_none() {
            self.fault("missing required field: text", at);
        }
        self.bounded(alert, "text", 200, at);
    }

    pub(super) fn task_card(&mut self, task: &Value, alone: bool, at: &str) {
        self.filled(task, "title", 3000, at);
        if alone && task.get("status").and_then(Value::as_str) == Some("pending") {
            self.fault("failed to match all enum values", &format!("{at}/status"));
        }
        self.one_of(task, "status", &["pending", "in_progress", "complete", "error"], at);
    }

    pub(super) fn plan(&mut self, plan: &Value, at: &str) {
        if !plan.get("title").is_some_and(Value::is_string) {
            self.fault("must be a string", &format!("{at}/title"));
        }
        for (i, task) in self.list(plan, "tasks", 0, 50, at).iter().enumerate() {
            self.task_card(task, false, &format!("{at}/tasks/{i}"));
        }
    }

    pub(super) fn chart(&mut self, block: &Value, at: &str) {
        self.charts += 1;
        self.bounded(block, "title", 50, at);
        let chart = block.get("chart").unwrap_or(&Value::Null);
        let at = format!("{at}/chart");
        self.one_of(chart, "type", &["pie", "bar", "area", "line"], &at);
        for (i, segment) in self.list(chart, "segments", 0, 12, &at).iter().enumerate() {
            let at = format!("{at}/segments/{i}");
            self.bounded(segment, "label", 20, &at);
            if segment.get("value").and_then(Value::as_f64).is_none_or(|v| v <= 0.0) {
                self.fault("must be more than 0", &format!("{at}/value"));
            }
        }
        let mut names = BTreeSet::new();
        for (i, series) in self.list(chart, "series", 0, 12, &at).iter().enumerate() {
            let at = format!("{at}/series/{i}");
            self.bounded(series, "name", 20, &at);
            if !names.insert(series.get("name").map(Value::to_string)) {
                self.fault("must be unique", &format!("{at}/name"));
            }
        }
        let axis = chart.get("axis_config").unwrap_or(&Value::Null);
        let at = format!("{at}/axis_config");
        self.list(axis, "categories", 0, 20, &at);
        for key in ["x_label", "y_label"] {
            self.bounded(axis, key, 50, &at);
        }
    }
}
