//! The tools as a client sees them: names, descriptions with example requests, schemas, hints.
//!
//! The hints are for clients that want them. What a call may do is decided by tokens and the staff table alone.

use std::sync::Arc;

use jsonschema::Validator;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::answer::{Cancelled, Customers, Envelope, Registered, Registrations, Sales, Summary};
use super::arguments::{AddSale, CancelSale, GetCustomers, GetSales, ListRegistrations, SummarizeSales};

/// The six tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    GetCustomers,
    GetSales,
    ListRegistrations,
    SummarizeSales,
    AddSale,
    CancelSale,
}

impl Name {
    const ALL: [Self; 6] = [
        Self::GetCustomers,
        Self::GetSales,
        Self::ListRegistrations,
        Self::SummarizeSales,
        Self::AddSale,
        Self::CancelSale,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::GetCustomers => "get_customers",
            Self::GetSales => "get_sales",
            Self::ListRegistrations => "list_registrations",
            Self::SummarizeSales => "summarize_sales",
            Self::AddSale => "add_sale",
            Self::CancelSale => "cancel_sale",
        }
    }

    pub(super) fn is_write(self) -> bool {
        matches!(self, Self::AddSale | Self::CancelSale)
    }

    fn title(self) -> &'static str {
        match self {
            Self::GetCustomers => "Find customers",
            Self::GetSales => "Sales of a customer",
            Self::ListRegistrations => "Who registered what",
            Self::SummarizeSales => "Sales totals",
            Self::AddSale => "Register a sale",
            Self::CancelSale => "Cancel a sale",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::GetCustomers => {
                "Finds customers by code or by a part of their name (kana, width and case do not matter); without \
                 arguments, lists them. Returns code, name, address, phone and department. Use it first whenever a \
                 person names a customer by name.\n\
                 Examples: 「青山さんのコードは?」 → {\"name_str_customer\": \"青山\"} · \"Who is customer 0002?\" → \
                 {\"code_customer\": \"0002\"} · 「顧客の一覧」 → {}"
            }
            Self::GetSales => {
                "Lists the sales of one customer, the newest last, with count and total over all matches; a period \
                 is inclusive and may be open at either end. Cancelled sales are marked and not in the total.\n\
                 Examples: 「0002の10月の売上」 → {\"code_customer\": \"0002\", \"date_sales_begin_str\": \"2026-10-01\", \
                 \"date_sales_end_str\": \"2026-10-31\"} · \"What did customer 0005 buy?\" → {\"code_customer\": \"0005\"} · \
                 「S20261001093000-7K3Qの内容」 → {\"code_customer\": \"0002\", \"code_sales\": \"S20261001093000-7K3Q\"}"
            }
            Self::ListRegistrations => {
                "Lists registrations of sales, the newest last: those of the person who asks, of a named colleague, or \
                 the one with a given number. The period is about the day of the sale.\n\
                 Examples: 「私が今日登録した売上は?」 → {\"date_sales_begin_str\": \"2026-10-07\", \
                 \"date_sales_end_str\": \"2026-10-07\"} · \"What did Hana register last week?\" → {\"registered_by\": \
                 \"Hana\", \"date_sales_begin_str\": \"2026-09-28\", \"date_sales_end_str\": \"2026-10-04\"} · \
                 「S20261001093000-7K3Qは誰が登録した?」 → {\"code_sales\": \"S20261001093000-7K3Q\"}"
            }
            Self::SummarizeSales => {
                "Counts and adds up sales of a period (both days inclusive): one total, or one for each day, week \
                 (Monday to Sunday), month, customer, or member of staff. Cancelled sales are left out.\n\
                 Examples: 「先月の合計」 → {\"date_sales_begin_str\": \"2026-09-01\", \"date_sales_end_str\": \"2026-09-30\", \
                 \"group_by\": \"total\"} · \"Top customers this year\" → {\"date_sales_begin_str\": \"2026-01-01\", \
                 \"date_sales_end_str\": \"2026-10-07\", \"group_by\": \"customer\"} · 「0002の週ごとの売上」 → \
                 {\"code_customer\": \"0002\", \"date_sales_begin_str\": \"2026-09-01\", \"date_sales_end_str\": \
                 \"2026-09-30\", \"group_by\": \"week\"}"
            }
            Self::AddSale => {
                "Registers one sale. It is written only after the person has confirmed it; without that confirmation \
                 the call is refused with approval_required.\n\
                 Examples: 「0002に人参を600円で登録して」 → {\"code_customer\": \"0002\", \"products\": \"人参\", \"price\": \
                 600} · \"Register 3 boxes of apples for 0005, 5,400 yen, yesterday\" → {\"code_customer\": \"0005\", \
                 \"products\": \"3 boxes of apples\", \"price\": 5400, \"date_sales_str\": \"2026-10-06\"}"
            }
            Self::CancelSale => {
                "Cancels a registered sale; the row stays and is marked. It is done only after the person has confirmed \
                 it. A salesperson may cancel an own registration for a limited time, a manager any of the department.\n\
                 Examples: 「S20261001093000-7K3Qを取り消して、金額違い」 → {\"code_sales\": \"S20261001093000-7K3Q\", \
                 \"reason\": \"金額違い\"} · \"Cancel S20261001093000-7K3Q, entered twice\" → {\"code_sales\": \
                 \"S20261001093000-7K3Q\", \"reason\": \"entered twice\"}"
            }
        }
    }

    fn annotations(self) -> ToolAnnotations {
        let hints = ToolAnnotations::with_title(self.title()).read_only(!self.is_write()).open_world(false);
        match self {
            Self::AddSale => hints.destructive(false).idempotent(true),
            Self::CancelSale => hints.destructive(true).idempotent(true),
            _ => hints.destructive(false).idempotent(true),
        }
    }
}

/// A tool's definition and the compiled check of its arguments.
pub(super) struct Definition {
    pub name: Name,
    pub tool: Tool,
    pub validator: Validator,
}

/// All tools in the order they are listed.
pub(super) struct Catalogue(Vec<Definition>);

impl Catalogue {
    /// Builds the definitions; a schema that cannot be compiled is a bug that every start would show.
    pub(super) fn new() -> Result<Self, jsonschema::ValidationError<'static>> {
        Name::ALL.into_iter().map(definition).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn find(&self, name: &str) -> Option<&Definition> {
        self.0.iter().find(|d| d.name.as_str() == name)
    }

    pub(super) fn tools(&self) -> Vec<Tool> {
        self.0.iter().map(|d| d.tool.clone()).collect()
    }
}

fn definition(name: Name) -> Result<Definition, jsonschema::ValidationError<'static>> {
    let (input, output) = match name {
        Name::GetCustomers => (schema::<GetCustomers>(), schema::<Envelope<Customers>>()),
        Name::GetSales => (schema::<GetSales>(), schema::<Envelope<Sales>>()),
        Name::ListRegistrations => (schema::<ListRegistrations>(), schema::<Envelope<Registrations>>()),
        Name::SummarizeSales => (schema::<SummarizeSales>(), schema::<Envelope<Summary>>()),
        Name::AddSale => (schema::<AddSale>(), schema::<Envelope<Registered>>()),
        Name::CancelSale => (schema::<CancelSale>(), schema::<Envelope<Cancelled>>()),
    };
    let validator = jsonschema::validator_for(&Value::Object(input.clone()))?;
    let tool = Tool::new(name.as_str(), name.description(), Arc::new(input))
        .with_title(name.title())
        .with_raw_output_schema(Arc::new(output))
        .with_annotations(name.annotations());
    Ok(Definition { name, tool, validator })
}

/// Draft 2020-12 with everything in place and nothing that only Rust knows: some clients do not follow references, and
/// some model services refuse a `format` they have not heard of.
fn schema<T: JsonSchema>() -> JsonObject {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings = settings.with_transform(RecursiveTransform(|schema: &mut Schema| {
        if schema.get("format").and_then(Value::as_str).is_some_and(|f| f.contains("int")) {
            schema.remove("format");
        }
        if schema.get("default").is_some_and(Value::is_null) {
            schema.remove("default");
        }
    }));
    let mut value = settings.into_generator().into_root_schema_for::<T>().to_value();
    match value.as_object_mut() {
        Some(object) => {
            object.remove("title");
            // The type's own comment speaks to programmers.
            object.remove("description");
            std::mem::take(object)
        }
        None => JsonObject::new(),
    }
}
