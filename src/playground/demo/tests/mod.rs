//! What the endpoint promises, seen from the bot's side.

mod person;
mod tables;

use proptest::prelude::*;
use serde_json::{Value, json};

use self::person::{Event, Person, TOOLS, instructions, post, serve};
use crate::domain::{Lang, ToolCall};

#[tokio::test]
async fn both_apis_carry_a_conversation_from_the_calls_to_the_answer() {
    let tools: Vec<Value> = TOOLS.iter().map(|t| json!({"type": "function", "name": t, "parameters": {}})).collect();
    let mut input = vec![json!({"role": "user", "content": "0002と0016の先週の売上は？"})];
    let ask = |input: &[Value]| json!({"model": "m", "instructions": instructions(Lang::Ja), "input": input, "tools": tools, "store": false});
    let (status, body) = post("/v1/responses", &ask(&input)).await;
    assert_eq!(status, 200);
    let body: Value = serde_json::from_str(&body).unwrap();
    let output = body["output"].as_array().unwrap();
    assert_eq!(output.len(), 2);
    for item in output {
        assert_eq!(item["type"], "function_call");
        let call = ToolCall {
            id: item["call_id"].as_str().unwrap().into(),
            name: item["name"].as_str().unwrap().into(),
            arguments: serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap(),
        };
        input.push(item.clone());
        input.push(json!({"type": "function_call_output", "call_id": call.id, "output": serve(&call, 0)}));
    }
    let (_, body) = post("/v1/responses", &ask(&input)).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert!(body["output"][0]["content"][0]["text"].as_str().unwrap().contains("トマト3箱"));
    assert_eq!(body["output"][0]["content"][0]["type"], "output_text");
    assert!(body["usage"]["total_tokens"].as_u64().unwrap() > 0);

    let tools: Vec<Value> = TOOLS.iter().map(|t| json!({"type": "function", "function": {"name": t}})).collect();
    let mut messages = vec![
        json!({"role": "system", "content": instructions(Lang::En)}),
        json!({"role": "user", "content": [{"type": "text", "text": "What's Green Cafe's code?"}]}),
    ];
    let ask = |messages: &[Value], stream: bool| json!({"model": "m", "messages": messages, "tools": tools, "stream": stream});
    let (_, body) = post("/v1/chat/completions", &ask(&messages, false)).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["choices"][0]["finish_reason"], "tool_calls");
    let message = &body["choices"][0]["message"];
    let call = &message["tool_calls"][0];
    assert_eq!(call["function"]["arguments"], r#"{"name_str_customer":"Green Cafe"}"#);
    let call = ToolCall {
        id: call["id"].as_str().unwrap().into(),
        name: call["function"]["name"].as_str().unwrap().into(),
        arguments: serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap(),
    };
    messages.push(message.clone());
    messages.push(json!({"role": "tool", "tool_call_id": call.id, "content": serve(&call, 0)}));
    let (_, body) = post("/v1/chat/completions", &ask(&messages, false)).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert!(body["choices"][0]["message"]["content"].as_str().unwrap().contains("0007"));
    let (_, events) = post("/v1/chat/completions", &ask(&messages, true)).await;
    assert!(events.starts_with("data: {") && events.ends_with("data: [DONE]\n\n") && events.contains("0007"));
}

#[tokio::test]
async fn what_the_apis_refuse_is_refused_in_their_shape() {
    let orphan_call = json!([{"role": "user", "content": "a"}, {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}]);
    let orphan_result = json!([{"type": "function_call_output", "call_id": "c", "output": "x"}]);
    for input in [orphan_call, orphan_result, json!(null), json!([{"role": "robot", "content": "x"}])] {
        let (status, body) = post("/v1/responses", &json!({"model": "m", "input": input})).await;
        assert_eq!(status, 400, "{input}");
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["error"]["type"], "invalid_request_error");
    }
    assert_eq!(post("/v1/chat/completions", &json!([])).await.0, 400);
    assert_eq!(post("/v1/chat/completions", &json!({"messages": [{"role": "user", "content": "hi"}]})).await.0, 200);
}

#[tokio::test]
async fn the_answer_is_in_the_language_of_the_message_or_else_of_the_person() {
    for (lang, message, part) in [
        (Lang::Ja, "What can you do?", "not an AI"),
        (Lang::En, "何ができますか？", "AI ではなく"),
        (Lang::Ja, "0016", "顧客コード"),
        (Lang::En, "0016", "customer code"),
    ] {
        let (_, text) = Person::new(lang).says(message).await;
        assert!(text.contains(part), "{message}: {text}");
    }
}

/// Asks, answers every call with the contents in turn, and gives all calls and the words.
async fn answered(person: &mut Person, message: &str, contents: &[&str]) -> (Vec<ToolCall>, String) {
    person.hears(&Event::Says(message.into()));
    let mut made = Vec::new();
    for content in contents {
        for call in person.ask().await.unwrap() {
            person.result(&call, content);
            made.push(call);
        }
    }
    (made, person.ask().await.unwrap_err())
}

#[tokio::test]
async fn a_tools_error_and_a_refused_card_are_worded() {
    let mut person = Person::new(Lang::Ja);
    let error = r#"{"status":"error","data":{"error":"no such customer","code":"customer_not_found"}}"#;
    let (_, text) = answered(&mut person, "0099の売上は？", &[error]).await;
    assert!(text.contains("見つかりませんでした"), "{text}");
    for content in [error, "The asker's role does not allow this tool."] {
        let (_, text) = answered(&mut person, "0099にかぼちゃ4個600円で登録して", &[content]).await;
        assert!(text.contains("準備ができませんでした") && !text.contains("ボタン"), "{text}");
    }
}

#[tokio::test]
async fn a_call_that_the_host_reads_otherwise_is_made_again_as_the_host_reads_it() {
    let differs = r#"{"status":"error","data":{"error":"Not run: the asker's words do not say this date: “今年度” is 2026-01-01 (Thu) to 2026-12-31 (Thu). Call again with what the words say. If something else is meant on purpose, make the same call again.","code":"words_differ"},"not_run":true}"#;
    let sales = r#"{"status":"success","data":{"sales":[],"count":0,"total_price":0,"truncated":false}}"#;
    let (calls, text) = answered(&mut Person::new(Lang::Ja), "0002の今年度の売上は？", &[differs, sales]).await;
    assert_eq!(calls[1].arguments["date_sales_begin_str"], "2026-01-01");
    assert_eq!(calls[1].arguments["date_sales_end_str"], "2026-12-31");
    assert!(text.contains("2026-01-01"), "{text}");
    // Nothing in the objection to go by: the same call once more, and no third time.
    let vague = r#"{"status":"error","data":{"error":"Not run.","code":"words_differ"},"not_run":true}"#;
    let (calls, text) = answered(&mut Person::new(Lang::Ja), "0002の先週の売上は？", &[vague, vague]).await;
    assert!(calls.len() == 2 && calls[0].arguments == calls[1].arguments, "{text}");
}

#[tokio::test]
async fn without_the_tool_it_says_so_and_calls_nothing() {
    let mut person = Person::new(Lang::Ja);
    person.tools.retain(|tool| *tool != "add_sale");
    let (rounds, text) = person.says("0016にかぼちゃ4個600円で登録して").await;
    assert!(rounds.is_empty() && text.contains("権限"), "{text}");
    person.tools.clear();
    let (rounds, _) = person.says("0016の売上は？").await;
    assert!(rounds.is_empty());
}

#[tokio::test]
async fn a_yes_with_no_card_waiting_confirms_nothing() {
    let (rounds, text) = Person::new(Lang::En).says("yes").await;
    assert!(rounds.is_empty() && text.contains("No card"), "{text}");
}

#[tokio::test]
async fn an_ambiguous_date_is_told_with_its_other_reading() {
    let message = "Register 4 pumpkins for 600 yen to 0016 last Tuesday";
    let (rounds, text) = Person::new(Lang::En).says(message).await;
    assert_eq!(rounds[0][0].arguments["date_sales_str"], "2026-11-24");
    assert!(text.contains("2026-11-24 (Tue)") && text.contains("2026-11-17 (Tue)"), "{text}");
}

#[test]
fn rows_cannot_break_out_of_the_table() {
    let row =
        json!({"sales": [{"date_sales": "x", "products": "a | b\n| c |", "price": 1, "code_sales": "S1"}], "count": 1});
    assert_eq!(super::say::sales(Lang::En, &row).lines().count(), 3);
}

proptest! {
    #[test]
    fn any_conversation_gets_an_answer_without_a_panic_and_never_a_claim_of_registration(
        messages in proptest::collection::vec(prop_oneof![
            "\\PC{0,30}",
            "(0016|佐藤さん|Sato|先週|last|火曜|の|に|と|、|。| |600円|かぼちゃ4個|登録して|合計|売上|if |場合|0件|S20261124093000|cancel|取り消し|理由|コード|to |for |はい|やっぱり|じゃなくて|同じ|の方|making it |by week|not ){0,12}",
        ], 1..4),
        en in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut person = Person::new(if en { Lang::En } else { Lang::Ja });
        for message in messages {
            let (_, text) = runtime.block_on(person.says(&message));
            prop_assert!(!text.is_empty());
            for claim in ["登録しました", "登録されました", "has been registered", "was registered", "is registered"] {
                prop_assert!(!text.contains(claim), "{}", text);
            }
        }
    }
}
