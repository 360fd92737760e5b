//! Tables: `table`, whose texts count together over a message, and `data_table`.

use serde_json::Value;

use super::{Check, TABLE_TEXT, kind};

/// All text of one `data_table`.
const DATA_TEXT: usize = 20_000;

impl Check {
    pub(super) fn table(&mut self, table: &Value, at: &str) {
        self.only(table, &["rows", "column_settings"], at);
        self.tables += 1;
        let before = self.total;
        for (r, row) in self.list(table, "rows", 1, 100, at).iter().enumerate() {
            self.row(row, TABLE_TEXT, &format!("{at}/rows/{r}"));
        }
        self.table += self.total - before;
        if let Some(settings) = table.get("column_settings") {
            match settings.as_array() {
                Some(list) if list.len() <= 20 && list.iter().all(Value::is_object) => {
                    for (c, column) in list.iter().enumerate() {
                        let at = format!("{at}/column_settings/{c}");
                        self.one_of(column, "align", &["left", "center", "right"], &at);
                    }
                }
                _ => self.fault("must be at most 20 objects", &format!("{at}/column_settings")),
            }
        }
    }

    fn row(&mut self, row: &Value, most: usize, at: &str) {
        let Some(cells) = row.as_array() else {
            self.fault("must be an array", at);
            return;
        };
        if cells.is_empty() || cells.len() > 20 {
            self.fault("must have 1 to 20 items", at);
        }
        for (c, cell) in cells.iter().enumerate() {
            let at = format!("{at}/{c}");
            match kind(cell) {
                "raw_text" => self.total += self.filled(cell, "text", most, &at),
                "raw_number" => {
                    if !cell.get("value").or_else(|| cell.get("number")).is_some_and(Value::is_number) {
                        self.fault("must be a number", &at);
                    }
                }
                "rich_text" => self.rich_text(cell, &at),
                other => self.fault(format_args!("unsupported type: {other}"), &format!("{at}/type")),
            }
        }
    }

    pub(super) fn data_table(&mut self, table: &Value, at: &str) {
        let before = self.total;
        self.filled(table, "caption", 2000, at);
        for (r, row) in self.list(table, "rows", 2, 201, at).iter().enumerate() {
            let at = format!("{at}/rows/{r}");
            self.row(row, DATA_TEXT, &at);
            let header = row.as_array().filter(|_| r == 0);
            if header.is_some_and(|cells| cells.iter().any(|c| kind(c) == "rich_text")) {
                self.fault("unsupported type: rich_text", &at);
            }
        }
        if self.total - before > DATA_TEXT {
            self.fault(format_args!("must be less than {} characters", DATA_TEXT + 1), at);
        }
        if table.get("page_size").is_some_and(|n| n.as_u64().is_none_or(|n| !(1..=100).contains(&n))) {
            self.fault("must be between 1 and 100", &format!("{at}/page_size"));
        }
    }
}
