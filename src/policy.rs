//! Who may call what. Pure: a table, a role, a call and the counters in; run, propose or deny out.
//!
//! Promises that [`AllowedCall`], the only thing [`crate::mcp`] carries out, is made here and nowhere else: for a read
//! of the role's allow-list, for the host's own lookups, or for a proposal that a person's press has claimed. A write
//! asked for by a model never becomes one. Which tools write is code; which role may call what is a table from the
//! settings; a tool no row names, or that only looks like one that is named, is denied. A server's annotations decide
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::domain::{Role, ToolCall};
use crate::proposals::ClaimedProposal;

/// What a tool does to the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Changes nothing; may be retried.
    Read,
    /// Changes something; only ever proposed.
    Write,
}

/// The tools of the sales server and what they do. A tool that is not here is unknown, whatever a server says.
const TOOLS: [(&str, Kind); 6] = [
    ("get_customers", Kind::Read),
    ("get_sales", Kind::Read),
    ("list_registrations", Kind::Read),
    ("summarize_sales", Kind::Read),
    ("add_sale", Kind::Write),
    ("cancel_sale", Kind::Write),
];

/// The optional argument the host adds to write tools: the proposal that this one replaces.
pub const REPLACES: &str = "replaces_proposal";

/// What a known tool does; `None` for every name that is not, byte for byte, one of ours.
pub fn kind(tool: &str) -> Option<Kind> {
    TOOLS.iter().find(|(name, _)| *name == tool).map(|(_, kind)| *kind)
}

/// The tools that change nothing.
pub fn reads() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().filter(|(_, kind)| *kind == Kind::Read).map(|(name, _)| *name)
}

/// Role → tools. A role without a row may call nothing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Table(BTreeMap<Role, BTreeSet<String>>);

impl Default for Table {
    fn default() -> Self {
        let row = |writes: bool| {
            TOOLS.iter().filter(|(_, k)| writes || *k == Kind::Read).map(|(name, _)| (*name).to_owned()).collect()
        };
        Self(BTreeMap::from([
            (Role::Viewer, row(false)),
            (Role::Sales, row(true)),
            (Role::Manager, row(true)),
            (Role::Admin, row(true)),
        ]))
    }
}

impl Table {
    /// Whether a role's row names the tool and the tool is a known one.
    pub fn allows(&self, role: Role, tool: &str) -> bool {
        kind(tool).is_some() && self.0.get(&role).is_some_and(|tools| tools.contains(tool))
    }
}

/// A call that may reach a server. Made only here; neither cloned nor read from anywhere.
#[derive(Debug)]
pub struct AllowedCall {
    tool: String,
    arguments: Map<String, Value>,
    kind: Kind,
}

impl AllowedCall {
    /// The tool's name as the server knows it.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The arguments as they will be sent and signed.
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Whether it changes something.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

/// A write the model asked for and the role may ask for. Its arguments are not validated yet, and it can only become
/// a card.
#[derive(Debug)]
pub struct ProposedCall {
    tool: String,
    arguments: Map<String, Value>,
    replaces: Option<String>,
}

impl ProposedCall {
    /// The tool's name.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The arguments without the host's own [`REPLACES`].
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// The proposal the model says this one replaces; not checked.
    pub fn replaces(&self) -> Option<&str> {
        self.replaces.as_deref()
    }
}

/// What was counted for one call before it is decided; see [`crate::agent::Limits`] for the bounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// The turn has no tool call left.
    pub calls_spent: bool,
    /// The tool was used in too many rounds in a row.
    pub rounds_in_a_row: bool,
    /// The same tool was called with the same arguments too often in this turn.
    pub repeated: bool,
    /// The person called this tool too often in the last minute.
    pub too_often: bool,
    /// The turn has no proposal left.
    pub proposals_spent: bool,
    /// The arguments are longer than allowed.
    pub arguments_too_long: bool,
}

/// What becomes of a call.
#[derive(Debug)]
pub enum Decision {
    /// A read: run it.
    Run(AllowedCall),
    /// A write: make a card of it.
    Propose(ProposedCall),
    /// Neither.
    Deny(Deny),
}

/// Why a call is denied. [`Deny::sentence`] is for the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deny {
    /// Not a tool of ours.
    UnknownTool,
    /// A tool of ours that the person's role may not use.
    NotYourRole,
    /// See [`Counters::calls_spent`].
    CallsSpent,
    /// See [`Counters::rounds_in_a_row`].
    RoundsInARow,
    /// See [`Counters::repeated`].
    Repeated,
    /// See [`Counters::too_often`].
    TooOften,
    /// See [`Counters::proposals_spent`].
    ProposalsSpent,
    /// See [`Counters::arguments_too_long`].
    ArgumentsTooLong,
}

impl Deny {
    /// What the model is told as the call's result.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::UnknownTool => "There is no tool of this name. Use only the tools that are offered.",
            Self::NotYourRole => "The asker's role does not allow this tool. Say so to the asker.",
            Self::CallsSpent => "Not run: no tool call is left in this turn.",
            Self::RoundsInARow => "Not run: this tool was used in too many rounds in a row.",
            Self::Repeated => "Not run: this tool was already called with the same arguments too often.",
            Self::TooOften => "Not run: the asker has used this tool too often in the last minute.",
            Self::ProposalsSpent => "Not proposed: no further proposal is possible in this turn.",
            Self::ArgumentsTooLong => "Not run: the arguments are too long.",
        }
    }

    /// The short code for the audit and the metrics.
    pub fn code(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::NotYourRole => "not_your_role",
            Self::CallsSpent => "calls_spent",
            Self::RoundsInARow => "rounds_in_a_row",
            Self::Repeated => "repeated",
            Self::TooOften => "too_often",
            Self::ProposalsSpent => "proposals_spent",
            Self::ArgumentsTooLong => "arguments_too_long",
        }
    }
}

/// Decides one call of a model.
pub fn decide(table: &Table, role: Role, call: &ToolCall, counters: &Counters) -> Decision {
    let Some(kind) = kind(&call.name) else { return Decision::Deny(Deny::UnknownTool) };
    if !table.allows(role, &call.name) {
        return Decision::Deny(Deny::NotYourRole);
    }
    let limits = [
        (counters.arguments_too_long, Deny::ArgumentsTooLong),
        (counters.calls_spent, Deny::CallsSpent),
        (counters.rounds_in_a_row, Deny::RoundsInARow),
        (counters.repeated, Deny::Repeated),
        (counters.too_often, Deny::TooOften),
        (counters.proposals_spent && kind == Kind::Write, Deny::ProposalsSpent),
    ];
    if let Some((_, deny)) = limits.into_iter().find(|(reached, _)| *reached) {
        return Decision::Deny(deny);
    }
    // Models in strict mode send every optional argument, as null; the server takes absent ones only.
    let mut arguments: Map<String, Value> =
        call.arguments.iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k.clone(), v.clone())).collect();
    match kind {
        Kind::Read => Decision::Run(AllowedCall { tool: call.name.clone(), arguments, kind }),
        Kind::Write => {
            let replaces = arguments.remove(REPLACES).and_then(|v| v.as_str().map(str::to_owned));
            let replaces = replaces.filter(|p| !p.trim().is_empty());
            Decision::Propose(ProposedCall { tool: call.name.clone(), arguments, replaces })
        }
    }
}

/// The write of a proposal that a press has claimed: the only way a write becomes an allowed call.
pub fn allow_claimed(claimed: &ClaimedProposal) -> AllowedCall {
    let write = claimed.write();
    AllowedCall { tool: write.tool().to_owned(), arguments: write.arguments(), kind: Kind::Write }
}

/// The host's own read while it resolves a proposal: one customer by its exact code.
pub fn lookup_customer(code: &str) -> AllowedCall {
    host_read("get_customers", [("code_customer", code.into())])
}

/// The host's own read while it resolves a proposal: one sale by its number, whoever registered it.
pub fn lookup_sale(code: &str) -> AllowedCall {
    host_read("list_registrations", [("code_sales", code.into()), ("include_cancelled", true.into())])
}

fn host_read<const N: usize>(tool: &str, arguments: [(&str, Value); N]) -> AllowedCall {
    let arguments = arguments.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
    AllowedCall { tool: tool.to_owned(), arguments, kind: Kind::Read }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::domain::Risk;

    fn call(name: &str, arguments: Value) -> ToolCall {
        ToolCall { id: "c".into(), name: name.into(), arguments: arguments.as_object().cloned().unwrap() }
    }

    fn denied(table: &Table, role: Role, name: &str) -> Option<Deny> {
        match decide(table, role, &call(name, json!({})), &Counters::default()) {
            Decision::Deny(deny) => Some(deny),
            Decision::Run(_) | Decision::Propose(_) => None,
        }
    }

    #[test]
    fn i08_the_default_table_is_the_contract() {
        let table = Table::default();
        for (tool, kind) in TOOLS {
            let viewer = denied(&table, Role::Viewer, tool);
            assert_eq!(viewer, (kind == Kind::Write).then_some(Deny::NotYourRole), "{tool}");
            for role in [Role::Sales, Role::Manager, Role::Admin] {
                assert_eq!(denied(&table, role, tool), None, "{tool}");
            }
        }
    }

    #[test]
    fn i08_a_table_from_the_settings_narrows_and_cannot_name_new_tools() {
        let table: Table = serde_json::from_value(json!({"sales": ["get_sales", "drop_tables"]})).unwrap();
        assert_eq!(denied(&table, Role::Sales, "get_sales"), None);
        assert_eq!(denied(&table, Role::Sales, "add_sale"), Some(Deny::NotYourRole));
        assert_eq!(denied(&table, Role::Sales, "drop_tables"), Some(Deny::UnknownTool));
        assert_eq!(denied(&table, Role::Admin, "get_sales"), Some(Deny::NotYourRole));
    }

    #[test]
    fn only_reads_are_of_low_risk() {
        for (tool, kind) in TOOLS {
            assert_eq!(Risk::of(tool) == Risk::Low, kind == Kind::Read, "{tool}");
        }
    }

    #[test]
    fn i08_a_write_is_proposed_without_the_hosts_own_argument() {
        let asked = call("add_sale", json!({"price": 600, "replaces_proposal": "P1", "products": null}));
        match decide(&Table::default(), Role::Sales, &asked, &Counters::default()) {
            Decision::Propose(proposed) => {
                assert_eq!(proposed.replaces(), Some("P1"));
                assert_eq!(Value::Object(proposed.arguments().clone()), json!({"price": 600}));
            }
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn each_counter_denies_in_its_own_words() {
        let none = Counters::default();
        let reached = [
            (Deny::CallsSpent, Counters { calls_spent: true, ..none }),
            (Deny::RoundsInARow, Counters { rounds_in_a_row: true, ..none }),
            (Deny::Repeated, Counters { repeated: true, ..none }),
            (Deny::TooOften, Counters { too_often: true, ..none }),
            (Deny::ProposalsSpent, Counters { proposals_spent: true, ..none }),
            (Deny::ArgumentsTooLong, Counters { arguments_too_long: true, ..none }),
        ];
        let mut sentences = BTreeSet::new();
        for (deny, counters) in reached {
            let decided = decide(&Table::default(), Role::Sales, &call("add_sale", json!({})), &counters);
            assert!(matches!(decided, Decision::Deny(d) if d == deny), "{decided:?}");
            assert!(sentences.insert(deny.sentence()));
        }
        let spent = Counters { proposals_spent: true, ..Counters::default() };
        let read = decide(&Table::default(), Role::Sales, &call("get_sales", json!({})), &spent);
        assert!(matches!(read, Decision::Run(_)), "reads go on");
    }

    proptest! {
        #[test]
        fn i08_no_name_but_the_six_is_ever_run_or_proposed(
            name in prop_oneof![
                "\\PC{0,12}",
                "[gｇɡ][eеｅ][tｔ]_[sѕ][aаａ][l1][eе][sѕ]\u{200b}?",
                "(add|cancel)[_ -]sale[s\u{0}\u{fe00} ]",
            ],
        ) {
            let known = TOOLS.iter().any(|(tool, _)| *tool == name);
            let denied = denied(&Table::default(), Role::Admin, &name);
            prop_assert_eq!(denied == Some(Deny::UnknownTool), !known, "{:?}", name);
            prop_assert_eq!(Risk::of(&name) == Risk::Critical, !known, "{:?}", name);
        }
    }
}
