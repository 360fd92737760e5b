//! Each limit, with the pointer to the fault.

use super::*;

fn faults(blocks: Value) -> Vec<String> {
    let mut n = 0;
    match accept(&blocks, Surface::Message, || {
        n += 1;
        n
    }) {
        Err(Invalid::Blocks(faults)) => faults,
        Err(other) => vec![format!("{other:?}")],
        Ok(_) => vec![],
    }
}

fn section(text: &str) -> Value {
    json!({"type": "section", "text": {"type": "mrkdwn", "text": text}})
}

fn button(text: &str, value: &str) -> Value {
    json!({"type": "button", "action_id": "a", "value": value, "text": {"type": "plain_text", "text": text}})
}

#[test]
fn each_limit_is_refused_with_the_pointer_to_the_fault() {
    let table = |cell: Value| json!([{"type": "table", "rows": [[cell]]}]);
    for (blocks, pointer) in [
        (json!(vec![section("a"); 51]), "/blocks]"),
        (json!([section(&"あ".repeat(3001))]), "/blocks/0/text/text]"),
        (json!([section("a"), section("")]), "/blocks/1/text/text]"),
        (json!([{"type": "section"}]), "/blocks/0]"),
        (json!([{"type": "header", "text": {"type": "mrkdwn", "text": "a"}}]), "/blocks/0/text/type]"),
        (json!([{"type": "actions", "elements": [button(&"a".repeat(76), "v")]}]), "/blocks/0/elements/0/text/text]"),
        (json!([{"type": "actions", "elements": [button("a", &"v".repeat(2001))]}]), "/blocks/0/elements/0/value]"),
        (
            json!([{"type": "actions", "elements": [button("a", "1"), button("b", "2")]}]),
            "/blocks/0/elements/1/action_id]",
        ),
        (json!([{"type": "actions", "elements": []}]), "/blocks/0/elements]"),
        (json!([{"type": "divider", "block_id": "b"}, {"type": "divider", "block_id": "b"}]), "/blocks/1/block_id]"),
        (table(json!({"type": "raw_text", "text": ""})), "/blocks/0/rows/0/0/text]"),
        (
            table(json!({"type": "rich_text", "elements": [
                {"type": "rich_text_section", "elements": [{"type": "text", "text": ""}]}]})),
            "/blocks/0/rows/0/0/elements/0/elements/0/text]",
        ),
        (
            json!([{"type": "table", "column_settings": [null], "rows": [[{"type": "raw_text", "text": "a"}]]}]),
            "/blocks/0/column_settings]",
        ),
        (json!([{"type": "hologram"}]), "/blocks/0/type]"),
        (json!([{"type": "markdown", "text": "a".repeat(12_001)}]), "/blocks/0/text]"),
    ] {
        let found = faults(blocks);
        assert!(found.iter().any(|f| f.ends_with(pointer)), "{pointer}: {found:?}");
    }
}

#[test]
fn what_is_within_the_limits_is_accepted() {
    let blocks = json!([
        section(&"あ".repeat(3000)),
        {"type": "header", "text": {"type": "plain_text", "text": "h"}},
        {"type": "actions", "elements": [button(&"a".repeat(75), &"v".repeat(2000))]},
        {"type": "table", "rows": [[{"type": "raw_text", "text": "x"}]], "column_settings": [{"align": "right"}]},
    ]);
    assert_eq!(faults(blocks), Vec::<String>::new());
    assert_eq!(faults(json!(vec![section("a"); 50])), Vec::<String>::new());
}

#[test]
fn blocks_that_are_no_list_or_too_much_in_all_have_their_own_errors() {
    assert_eq!(faults(json!({})), ["Format"]);
    assert_eq!(faults(json!(["text"])), ["Format"]);
    assert_eq!(faults(json!(vec![section(&"a".repeat(2900)); 5])), ["TooLong"]);
    let table = json!({"type": "table", "rows": [[{"type": "raw_text", "text": "a"}]]});
    assert_eq!(faults(json!([table, table])), ["Tables"]);
}

#[test]
fn missing_ids_are_filled_in() {
    let blocks =
        json!([{"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "a"}}]}]);
    let mut n = 0;
    let accepted = accept(&blocks, Surface::Message, || {
        n += 1;
        n
    })
    .unwrap();
    assert_eq!(accepted[0]["block_id"], "w0001");
    assert_eq!(accepted[0]["elements"][0]["action_id"], "w0002");
}
