//! The two resources and the prompts: what the data means, for a client that has never seen it.

use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Resource, Role};

pub(super) const GUIDE_URI: &str = "sales://guide";
pub(super) const SCHEMA_URI: &str = "sales://schema";

const GUIDE: &str = "\
# What the sales data means

- A customer has a code (text, leading zeros count), a name, an address, a phone number and one department.
- A sale belongs to a customer and thereby to the customer's department. It has a number such as
  `S20261001093000-7K3Q` (the time of registration in the company's zone and four letters), a day, products in free
  text, and a price: the whole amount in Japanese yen, without decimals.
- `date_sales` is the day of the sale, not of its registration. Days are calendar days; a period includes both ends.
- A week is Monday to Sunday. A month is a calendar month.
- A cancelled sale stays in the list, marked, and counts nothing in any total.
- `count` and totals cover all matches even when `truncated` says that not all rows were returned.
- A person sees the rows of their own departments only; other rows do not exist for them. An admin sees all.
- A sale is written or cancelled only after the person who asked has pressed the button of a card that shows it.
- Names are compared without regard to kana, width, case and spaces: さとう finds サトウ.
";

const SCHEMA: &str = "\
# Tables

customers(code_customer, name_customer, address, phone, department)
sales(code_sales, code_customer → customers, date_sales, products, price, registered_by, origin, cancelled)

- `registered_by`: `slack:TEAM:USER` of the person the sale was registered for; `registered_by_name` is their name.
- `origin`: `approval` (confirmed on a card), `import` (taken over from elsewhere), `sample` (demonstration data).
- `price`: integer, 0 to 999,999,999,999. `products`: 1 to 1,000 characters.

# Answers

{\"status\": \"success\", \"data\": {…, \"departments\": […], \"period\": {\"begin\": …, \"end\": …}}}
{\"status\": \"error\", \"data\": {\"error\": \"a sentence\", \"code\": \"…\"}}
";

pub(super) fn resources() -> Vec<Resource> {
    vec![
        Resource::new(GUIDE_URI, "guide")
            .with_title("What the sales data means")
            .with_description("Terms, periods, currency and who sees what.")
            .with_mime_type("text/markdown"),
        Resource::new(SCHEMA_URI, "schema")
            .with_title("Tables and answers")
            .with_description("Columns, ranges and the form of every answer.")
            .with_mime_type("text/markdown"),
    ]
}

pub(super) fn read(uri: &str) -> Option<&'static str> {
    match uri {
        GUIDE_URI => Some(GUIDE),
        SCHEMA_URI => Some(SCHEMA),
        _ => None,
    }
}

/// Prompt, its arguments, its text with `{argument}` for each.
type Task = (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str);

const TASKS: [Task; 3] = [
    (
        "customer_history",
        "The sales of one customer in a period",
        &[("customer", "The customer's name or code"), ("period", "For example: last month")],
        "Find the customer {customer} and list their sales in this period: {period}. Say the total.",
    ),
    (
        "period_report",
        "Totals of a period by customer and by week",
        &[("period", "For example: last month")],
        "Summarise the sales of this period: {period}. Give the total, the totals by customer, and the totals by week.",
    ),
    (
        "register_sale",
        "Register one sale",
        &[("customer", "The customer's name or code"), ("products", "What was sold"), ("price", "The amount in yen")],
        "Find the customer {customer}, then register a sale of {products} for {price} yen, dated today.",
    ),
];

pub(super) fn prompts() -> Vec<Prompt> {
    TASKS
        .iter()
        .map(|(name, description, arguments, _)| {
            let arguments = arguments
                .iter()
                .map(|(name, description)| {
                    PromptArgument::new(*name).with_description(*description).with_required(true)
                })
                .collect();
            Prompt::new(*name, Some(*description), Some(arguments))
        })
        .collect()
}

/// Fills a prompt in; the error is a sentence.
pub(super) fn prompt(name: &str, given: &rmcp::model::JsonObject) -> Result<GetPromptResult, String> {
    let (_, description, arguments, template) =
        TASKS.iter().find(|(task, ..)| *task == name).ok_or("There is no such prompt.")?;
    let mut text = (*template).to_owned();
    for (argument, _) in *arguments {
        let value = given
            .get(*argument)
            .and_then(serde_json::Value::as_str)
            .ok_or_else(|| format!("The prompt needs the argument {argument}."))?;
        text = text.replace(&format!("{{{argument}}}"), value);
    }
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).with_description(*description))
}
