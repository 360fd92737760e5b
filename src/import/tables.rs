//! The tables of the records, as a move carries them: which columns, in which order of rows, and how either engine writes
//! a value as text. A test holds the list to both schemas.

/// A table that both engines have.
#[derive(Debug)]
pub(super) struct Table {
    pub name: &'static str,
    /// What a row is found by; rows go in its order.
    pub key: &'static [&'static str],
    pub columns: &'static [(&'static str, Kind)],
    /// COPY is not allowed into a table with row security: rows go there from a temporary one.
    pub secured: bool,
    /// The database numbers new rows.
    pub numbered: bool,
}

/// What a column holds, as far as the engines write it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Integer,
    /// 1 or 0 in the file, a boolean in the database.
    Flag,
    /// YYYY-MM-DD in the file, a date in the database.
    Day,
    /// The customer's, which the database keeps beside each sale and the file does not.
    Department,
}

use Kind::{Day, Department, Flag, Integer, Text};

impl Table {
    const fn new(name: &'static str, key: &'static [&'static str], columns: &'static [(&'static str, Kind)]) -> Self {
        Self { name, key, columns, secured: false, numbered: false }
    }

    const fn secured(self) -> Self {
        Self { secured: true, ..self }
    }

    const fn numbered(self) -> Self {
        Self { numbered: true, ..self }
    }

    /// The names of the columns, for a list in SQL.
    pub fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
    }

    /// All rows of the file, each value as text or NULL.
    pub fn of_the_file(&self) -> String {
        self.select("", |name, kind| match kind {
            Text | Day => format!("t.\"{name}\""),
            Integer | Flag => format!("CAST(t.\"{name}\" AS TEXT)"),
            Department => "(SELECT c.department FROM customers c WHERE c.code_customer = t.code_customer)".to_owned(),
        })
    }

    /// All rows of the database, each value as the file has it.
    pub fn of_the_database(&self) -> String {
        self.select(" COLLATE \"C\"", |name, kind| match kind {
            Text | Department => format!("t.\"{name}\""),
            Integer => format!("t.\"{name}\"::text"),
            Flag => format!("t.\"{name}\"::int::text"),
            Day => format!("to_char(t.\"{name}\", 'YYYY-MM-DD')"),
        })
    }

    /// Sorted by the bytes of the key, as both engines can.
    fn select(&self, bytes: &str, value: impl Fn(&str, Kind) -> String) -> String {
        let values: Vec<String> = self.columns.iter().map(|(name, kind)| value(name, *kind)).collect();
        let order: Vec<String> = self
            .key
            .iter()
            .map(|key| {
                let text = self.columns.iter().any(|(name, kind)| name == key && *kind == Text);
                format!("t.\"{key}\"{}", if text { bytes } else { "" })
            })
            .collect();
        format!("SELECT {} FROM {} t ORDER BY {}", values.join(", "), self.name, order.join(", "))
    }
}

/// What follows from other tables: the database counts it anew. It must be empty before and right afterwards.
pub(super) const DERIVED: [&str; 2] = ["sales_daily", "customer_grams"];

/// All of them, those that others refer to first.
pub(super) static TABLES: [Table; 14] = [
    Table::new(
        "staff",
        &["team", "user"],
        &[
            ("team", Text),
            ("user", Text),
            ("display_name", Text),
            ("role", Text),
            ("departments", Text),
            ("active", Flag),
        ],
    ),
    Table::new(
        "customers",
        &["code_customer"],
        &[("code_customer", Text), ("name_customer", Text), ("address", Text), ("phone", Text), ("department", Text)],
    )
    .secured(),
    Table::new(
        "proposals",
        &["id"],
        &[
            ("id", Text),
            ("turn_id", Text),
            ("round", Integer),
            ("call_index", Integer),
            ("origin_turn", Text),
            ("depth", Integer),
            ("team", Text),
            ("channel", Text),
            ("root", Text),
            ("requester_team", Text),
            ("requester_user", Text),
            ("lang", Text),
            ("tool", Text),
            ("write", Text),
            ("digest", Text),
            ("state", Text),
            ("created_at", Integer),
            ("expires_at", Integer),
            ("epoch", Integer),
            ("claim_until", Integer),
            ("claim_click", Text),
            ("decided_team", Text),
            ("decided_user", Text),
            ("decided_at", Integer),
            ("settled_at", Integer),
            ("result", Text),
            ("failure", Text),
            ("superseded_by", Text),
            ("trouble", Text),
            ("tries", Integer),
            ("grounds", Text),
        ],
    ),
    Table::new(
        "sales",
        &["code_sales"],
        &[
            ("code_sales", Text),
            ("code_customer", Text),
            ("department", Department),
            ("sales_date", Day),
            ("products", Text),
            ("price", Integer),
            ("registered_by", Text),
            ("origin", Text),
            ("proposal_id", Text),
            ("digest", Text),
            ("registered_at", Integer),
            ("cancelled_at", Integer),
            ("cancelled_by", Text),
            ("cancel_reason", Text),
            ("cancel_proposal", Text),
            ("cancel_digest", Text),
        ],
    )
    .secured(),
    Table::new(
        "clicks",
        &["id"],
        &[
            ("id", Text),
            ("proposal_id", Text),
            ("action", Text),
            ("team", Text),
            ("user", Text),
            ("channel", Text),
            ("message_ts", Text),
            ("response_url", Text),
            ("body_hash", Text),
            ("received_at", Integer),
            ("handled_at", Integer),
            ("outcome", Text),
        ],
    ),
    Table::new(
        "outbox",
        &["key"],
        &[
            ("key", Text),
            ("kind", Text),
            ("channel", Text),
            ("thread_ts", Text),
            ("user", Text),
            ("body", Text),
            ("version", Integer),
            ("sent_version", Integer),
            ("posted_ts", Text),
            ("begun", Integer),
            ("attempts", Integer),
            ("due_at", Integer),
            ("lease_until", Integer),
            ("given_up", Text),
            ("created_at", Integer),
        ],
    ),
    Table::new(
        "history_events",
        &["id"],
        &[("id", Integer), ("thread", Text), ("event", Text), ("created_at", Integer)],
    )
    .numbered(),
    Table::new(
        "continuations",
        &["turn", "origin_turn"],
        &[
            ("turn", Text),
            ("origin_turn", Text),
            ("thread", Text),
            ("team", Text),
            ("user", Text),
            ("depth", Integer),
            ("created_at", Integer),
            ("ended_at", Integer),
            ("taken_by", Text),
            ("taken_until", Integer),
            ("epoch", Integer),
        ],
    ),
    Table::new(
        "stops",
        &["team", "channel", "root", "user_team", "user"],
        &[
            ("team", Text),
            ("channel", Text),
            ("root", Text),
            ("user_team", Text),
            ("user", Text),
            ("ts", Text),
            ("stored_at", Integer),
        ],
    ),
    Table::new(
        "feedback",
        &["turn", "team", "user"],
        &[
            ("turn", Text),
            ("team", Text),
            ("user", Text),
            ("verdict", Text),
            ("channel", Text),
            ("message_ts", Text),
            ("given_at", Integer),
        ],
    ),
    Table::new(
        "audit",
        &["id"],
        &[
            ("id", Integer),
            ("at", Integer),
            ("actor", Text),
            ("on_behalf", Text),
            ("message", Text),
            ("event", Text),
            ("tool", Text),
            ("risk", Text),
            ("proposal", Text),
            ("digest", Text),
            ("model", Text),
            ("prompt_hash", Text),
            ("tools_hash", Text),
            ("result", Text),
            ("detail", Text),
        ],
    )
    .numbered(),
    Table::new(
        "audit_seals",
        &["id"],
        &[
            ("id", Integer),
            ("first_id", Integer),
            ("last_id", Integer),
            ("rows", Integer),
            ("row_hashes", Text),
            ("hash", Text),
            ("previous", Text),
            ("sealed_at", Integer),
        ],
    )
    .numbered(),
    Table::new("facts", &["name"], &[("name", Text), ("value", Text)]),
    Table::new("amount_limits", &["department"], &[("department", Text), ("limit_yen", Integer)]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::records::Records;
    use crate::records::testing::Database;

    /// `table.column` of what is moved, without what only the database has.
    fn moved(kinds: impl Fn(Kind) -> bool) -> BTreeSet<String> {
        let columns = |t: &Table| t.columns.iter().map(|c| (t.name, c.0, c.1)).collect::<Vec<_>>();
        let all = TABLES.iter().flat_map(columns).filter(|(_, _, kind)| kinds(*kind));
        all.map(|(table, column, _)| format!("{table}.{column}")).collect()
    }

    #[tokio::test]
    async fn no_table_and_no_column_of_either_engine_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records::open_file(&dir.path().join("records.sqlite")).await.unwrap();
        let file: BTreeSet<String> = sqlx::query_scalar(
            "SELECT m.name || '.' || c.name FROM sqlite_master m, pragma_table_info(m.name) c
             WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite!_%' ESCAPE '!' AND m.name <> '_sqlx_migrations'",
        )
        .fetch_all(records.sqlite().unwrap().read())
        .await
        .unwrap()
        .into_iter()
        .collect();
        let mut carried = moved(|kind| kind != Department);
        // The form in which names are searched follows from the name: the database computes it.
        carried.insert("customers.name_search".to_owned());
        assert_eq!(file, carried, "left: the file's schema; right: what a move carries");

        let database = Database::create().await;
        let kept: BTreeSet<String> = sqlx::query_scalar(
            "SELECT table_name || '.' || column_name FROM information_schema.columns JOIN information_schema.tables
                 USING (table_schema, table_name)
             WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND is_generated = 'NEVER'
               AND table_name <> '_sqlx_migrations'",
        )
        .fetch_all(&database.admin())
        .await
        .unwrap()
        .into_iter()
        .filter(|column: &String| !DERIVED.iter().any(|table| column.starts_with(&format!("{table}."))))
        .collect();
        assert_eq!(kept, moved(|_| true), "left: the database's schema; right: what a move carries");
        let numbered: BTreeSet<String> = sqlx::query_scalar(
            "SELECT table_name::text FROM information_schema.columns WHERE table_schema = 'public' AND is_identity = 'YES'",
        )
        .fetch_all(&database.admin())
        .await
        .unwrap()
        .into_iter()
        .collect();
        assert_eq!(numbered, TABLES.iter().filter(|t| t.numbered).map(|t| t.name.to_owned()).collect());
        let secured: BTreeSet<String> =
            sqlx::query_scalar("SELECT relname::text FROM pg_class WHERE relrowsecurity AND relforcerowsecurity")
                .fetch_all(&database.admin())
                .await
                .unwrap()
                .into_iter()
                .filter(|table: &String| !DERIVED.contains(&table.as_str()))
                .collect();
        assert_eq!(secured, TABLES.iter().filter(|t| t.secured).map(|t| t.name.to_owned()).collect());
    }
}
