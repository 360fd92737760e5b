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

fn option(text: &str, value: &str) -> Value {
    json!({"text": {"type": "plain_text", "text": text}, "value": value})
}

fn actions(element: Value) -> Value {
    json!([{"type": "actions", "elements": [element]}])
}

fn plain(text: &str) -> Value {
    json!({"type": "plain_text", "text": text})
}

#[test]
fn each_limit_of_an_element_is_refused_where_it_is_broken() {
    let select = |options: Vec<Value>| actions(json!({"type": "static_select", "options": options}));
    let overflow = |n: usize| actions(json!({"type": "overflow", "options": vec![option("a", "v"); n]}));
    let with = |key: &str, value: Value| {
        let mut b = button("a", "v");
        b[key] = value;
        actions(b)
    };
    let confirm = |key: &str, text: &str| {
        let mut confirm =
            json!({"title": plain("t"), "text": plain("t"), "confirm": plain("yes"), "deny": plain("no")});
        confirm[key] = plain(text);
        with("confirm", confirm)
    };
    let feedback = |value: &str| {
        let one = json!({"text": plain("good"), "value": value});
        json!([{"type": "context_actions", "elements": [
            {"type": "feedback_buttons", "positive_button": one, "negative_button": one}]}])
    };
    let input = |element: Value| json!([{"type": "input", "label": plain("l"), "element": element}]);
    let at = "/blocks/0/elements/0";
    for (blocks, pointer) in [
        (with("style", json!("default")), format!("{at}/style]")),
        (with("url", json!("u".repeat(3001))), format!("{at}/url]")),
        (with("accessibility_label", json!("a".repeat(76))), format!("{at}/accessibility_label]")),
        (with("action_id", json!("a".repeat(256))), format!("{at}/action_id]")),
        (with("colour", json!("red")), format!("{at}]")),
        (confirm("title", &"t".repeat(101)), format!("{at}/confirm/title/text]")),
        (confirm("text", &"t".repeat(301)), format!("{at}/confirm/text/text]")),
        (confirm("confirm", &"t".repeat(31)), format!("{at}/confirm/confirm/text]")),
        (confirm("deny", &"t".repeat(31)), format!("{at}/confirm/deny/text]")),
        (select(vec![option("a", "v"); 101]), format!("{at}/options]")),
        (select(vec![]), format!("{at}/options]")),
        (select(vec![option(&"a".repeat(76), "v")]), format!("{at}/options/0/text/text]")),
        (select(vec![option("a", &"v".repeat(151))]), format!("{at}/options/0/value]")),
        (overflow(6), format!("{at}/options]")),
        (actions(json!({"type": "radio_buttons", "options": vec![option("a", "v"); 11]})), format!("{at}/options]")),
        (
            actions(
                json!({"type": "static_select", "options": [option("a", "1")], "initial_option": option("b", "2")}),
            ),
            format!("{at}/initial_option]"),
        ),
        (actions(json!({"type": "datepicker", "initial_date": "24/11/2026"})), format!("{at}/initial_date]")),
        (
            actions(json!({"type": "users_select", "placeholder": plain(&"p".repeat(151))})),
            format!("{at}/placeholder/text]"),
        ),
        (actions(json!({"type": "multi_users_select"})), format!("{at}/type]")),
        (actions(json!({"type": "plain_text_input"})), format!("{at}/type]")),
        (feedback(&"v".repeat(2001)), format!("{at}/positive_button/value]")),
        (feedback(""), format!("{at}/negative_button/value]")),
        (
            json!([{"type": "context_actions", "elements": vec![json!({"type": "icon_button", "icon": "trash", "text": plain("x")}); 6]}]),
            "/blocks/0/elements]".into(),
        ),
        (
            json!([{"type": "context_actions", "elements": [{"type": "icon_button", "icon": "bomb", "text": plain("x")}]}]),
            format!("{at}/icon]"),
        ),
        (
            json!([{"type": "actions", "elements": vec![json!({"type": "datepicker"}); 26]}]),
            "/blocks/0/elements]".into(),
        ),
        (input(json!({"type": "button", "text": plain("a")})), "/blocks/0/element/type]".into()),
        (input(json!({"type": "number_input"})), "/blocks/0/element]".into()),
        (input(json!({"type": "plain_text_input", "max_length": 3001})), "/blocks/0/element/max_length]".into()),
        (
            json!([{"type": "input", "label": plain(&"l".repeat(2001)), "element": {"type": "datepicker"}}]),
            "/blocks/0/label/text]".into(),
        ),
    ] {
        let found = faults(blocks);
        assert!(found.iter().any(|f| f.ends_with(&pointer)), "{pointer}: {found:?}");
    }
}

#[test]
fn each_limit_of_a_block_is_refused_where_it_is_broken() {
    let chart = |chart: Value| json!([{"type": "data_visualization", "title": "t", "chart": chart}]);
    let rows = |n: usize| vec![json!([{"type": "raw_text", "text": "a"}]); n];
    for (blocks, pointer) in [
        (json!([{"type": "header", "text": plain(&"h".repeat(151))}]), "/blocks/0/text/text]"),
        (json!([{"type": "section", "fields": vec![plain("f"); 11]}]), "/blocks/0/fields]"),
        (json!([{"type": "section", "fields": [plain(&"f".repeat(2001))]}]), "/blocks/0/fields/0/text]"),
        (json!([{"type": "section", "text": plain("t"), "expand": "yes"}]), "/blocks/0/expand]"),
        (json!([{"type": "section", "text": plain("t"), "blocks": []}]), "/blocks/0]"),
        (json!([{"type": "context", "elements": vec![plain("c"); 11]}]), "/blocks/0/elements]"),
        (json!([{"type": "image", "image_url": "u", "alt_text": "a".repeat(2001)}]), "/blocks/0/alt_text]"),
        (json!([{"type": "image", "image_url": "u".repeat(3001), "alt_text": "a"}]), "/blocks/0/image_url]"),
        (json!([{"type": "image", "image_url": "u"}]), "/blocks/0]"),
        (json!([{"type": "divider", "block_id": "b".repeat(256)}]), "/blocks/0/block_id]"),
        (json!([{"type": "table", "rows": rows(101)}]), "/blocks/0/rows]"),
        (json!([{"type": "table", "rows": [vec![json!({"type": "raw_text", "text": "a"}); 21]]}]), "/blocks/0/rows/0]"),
        (
            json!([{"type": "table", "rows": [[{"type": "raw_text", "text": "a".repeat(6000)}], [{"type": "raw_text", "text": "a".repeat(6000)}]]}]),
            "/blocks]",
        ),
        (
            json!([{"type": "table", "column_settings": vec![json!({}); 21], "rows": rows(1)}]),
            "/blocks/0/column_settings]",
        ),
        (
            json!([{"type": "markdown", "text": "a".repeat(7000)}, {"type": "markdown", "text": "a".repeat(7000)}]),
            "/blocks]",
        ),
        (json!([{"type": "data_table", "caption": "c", "rows": rows(1)}]), "/blocks/0/rows]"),
        (json!([{"type": "data_table", "rows": rows(2)}]), "/blocks/0]"),
        (json!([{"type": "data_table", "caption": "c", "page_size": 101, "rows": rows(2)}]), "/blocks/0/page_size]"),
        (
            chart(json!({"type": "pie", "segments": vec![json!({"label": "l", "value": 1}); 13]})),
            "/blocks/0/chart/segments]",
        ),
        (chart(json!({"type": "pie", "segments": [{"label": "l", "value": 0}]})), "/blocks/0/chart/segments/0/value]"),
        (chart(json!({"type": "spider"})), "/blocks/0/chart/type]"),
        (json!(vec![json!({"type": "data_visualization", "chart": {"type": "bar"}}); 3]), "/blocks]"),
        (json!([{"type": "card", "title": "t".repeat(151)}]), "/blocks/0/title]"),
        (json!([{"type": "card", "actions": vec![button("a", "v"); 4]}]), "/blocks/0/actions]"),
        (
            json!([{"type": "carousel", "elements": vec![json!({"type": "card", "title": "t"}); 11]}]),
            "/blocks/0/elements]",
        ),
        (
            json!([{"type": "container", "title": "t", "blocks": vec![json!({"type": "divider"}); 11]}]),
            "/blocks/0/blocks]",
        ),
        (json!([{"type": "task_card", "task_id": "1", "title": "t", "status": "pending"}]), "/blocks/0/status]"),
        (json!([{"type": "plan", "title": plain("t")}]), "/blocks/0/title]"),
        (
            json!([{"type": "plan", "title": "t", "tasks": vec![json!({"title": "t", "status": "pending"}); 51]}]),
            "/blocks/0/tasks]",
        ),
        (json!([{"type": "alert", "text": "only in modals"}]), "/blocks/0/type]"),
    ] {
        let found = faults(blocks);
        assert!(found.iter().any(|f| f.ends_with(pointer)), "{pointer}: {found:?}");
    }
}

#[test]
fn characters_are_counted_as_utf_16_so_that_what_passes_here_passes_by_any_reading() {
    assert_eq!(faults(json!([section(&"🎃".repeat(1500))])), Vec::<String>::new());
    assert!(!faults(json!([section(&"🎃".repeat(1501))])).is_empty());
    let in_all = |n: usize| {
        json!([
            section(&"a".repeat(3000)),
            section(&"a".repeat(3000)),
            section(&"a".repeat(3000)),
            section(&"a".repeat(3000)),
            section(&"a".repeat(n))
        ])
    };
    assert_eq!(faults(in_all(1200)), Vec::<String>::new());
    assert_eq!(faults(in_all(1201)), ["TooLong"]);
}
