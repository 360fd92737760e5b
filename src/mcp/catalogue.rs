//! The tools a server lists, made fit for models and for checking results.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Value};

/// One tool as the server describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// For the model.
    pub description: String,
    /// JSON Schema of the arguments: always an object with `properties`, without `$schema`.
    pub input_schema: Map<String, Value>,
    /// The server's own word on it; a hint that decides nothing.
    pub read_only_hint: Option<bool>,
}

/// The definitions of tools that are accepted, each as a whole.
#[derive(Clone, Debug)]
pub struct Pins(HashMap<String, Value>);

impl Pins {
    /// These and no others.
    ///
    /// # Errors
    /// When a definition is not JSON.
    pub fn of(tools: &[Tool]) -> Result<Self, serde_json::Error> {
        tools
            .iter()
            .map(|tool| Ok((tool.name.to_string(), serde_json::to_value(tool)?)))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    fn accept(&self, tool: &Tool) -> bool {
        let pinned = self.0.get(tool.name.as_ref());
        pinned.is_some_and(|pinned| serde_json::to_value(tool).is_ok_and(|listed| listed == *pinned))
    }
}

/// What the server offered when the connection was last made.
#[derive(Default)]
pub(super) struct Catalogue {
    pub tools: Arc<Vec<ToolSpec>>,
    /// The compiled output schemas.
    pub outputs: HashMap<String, jsonschema::Validator>,
    /// Listed, and not as they are pinned: not to be called.
    pub differing: HashSet<String>,
}

impl Catalogue {
    /// Leaves out what is listed twice, is not as it is pinned, or promises an output that cannot be checked.
    pub fn of(tools: Vec<Tool>, pins: Option<&Pins>) -> Self {
        let mut specs: Vec<ToolSpec> = Vec::new();
        let mut outputs = HashMap::new();
        let mut differing = HashSet::new();
        for tool in tools {
            if specs.iter().any(|s| s.name == tool.name) {
                tracing::error!(tool = %tool.name, "listed twice; only the first is offered");
                continue;
            }
            if pins.is_some_and(|pins| !pins.accept(&tool)) {
                // Another version, or somebody who wants the model to read something else.
                tracing::error!(tool = %tool.name, "not offered: its definition is not the one of this program");
                metrics::counter!("tool_definitions_refused_total").increment(1);
                differing.insert(tool.name.to_string());
                continue;
            }
            if let Some(schema) = &tool.output_schema {
                match jsonschema::validator_for(&Value::Object(schema.as_ref().clone())) {
                    Ok(validator) => outputs.insert(tool.name.to_string(), validator),
                    Err(error) => {
                        tracing::error!(tool = %tool.name, %error, "not offered: its output schema is no schema");
                        continue;
                    }
                };
            }
            specs.push(ToolSpec {
                name: tool.name.to_string(),
                description: tool.description.map(|d| d.to_string()).unwrap_or_default(),
                input_schema: normalised(tool.input_schema.as_ref().clone()),
                read_only_hint: tool.annotations.and_then(|a| a.read_only_hint),
            });
        }
        Self { tools: Arc::new(specs), outputs, differing }
    }
}

/// Some model endpoints refuse a schema that names its dialect or has no `properties`.
fn normalised(mut schema: JsonObject) -> Map<String, Value> {
    schema.remove("$schema");
    schema.remove("title");
    schema.entry("type").or_insert_with(|| "object".into());
    schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    schema
}
