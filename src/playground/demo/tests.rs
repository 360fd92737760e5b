use axum::body::Body;
use axum::http::Request;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tower::ServiceExt;

use super::conversation::{Answer, Conversation, Event};
use super::{plan, router};
use crate::domain::{Lang, ToolCall};

const TOOLS: [&str; 6] =
    ["get_customers", "get_sales", "list_registrations", "summarize_sales", "add_sale", "cancel_sale"];

/// A sales server of four customers, one of whom bought something, in every period.
fn serve(call: &ToolCall) -> String {
    let customers = [
        ("0002", "佐藤一郎", "Sato Ichiro", "山の町1-1"),
        ("0005", "佐藤花子", "Sato Hanako", "海の町2-2"),
        ("0007", "Green Cafe", "Green Cafe", "川の町3-3"),
        ("0016", "青空農園", "Aozora Farm", "空の町4-4"),
    ];
    let text = |key: &str| call.arguments.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let data = match call.name.as_str() {
        "get_customers" => {
            let (code, name) = (text("code_customer"), text("name_str_customer"));
            let rows: Vec<Value> = customers
                .iter()
                .filter(|c| if code.is_empty() { [c.1, c.2].iter().any(|n| n.to_lowercase().contains(&name.to_lowercase())) } else { c.0 == code })
                .map(|c| json!({"code_customer": c.0, "name_customer": c.1, "address": c.3, "phone": format!("000-0000-{}", c.0), "department": "east"}))
                .collect();
            json!({"count": rows.len(), "customers": rows, "truncated": false, "departments": ["east"]})
        }
        "get_sales" if text("code_customer") == "0002" => json!({
            "sales": [{"code_sales": "S20261117090000-1", "code_customer": "0002", "name_customer": "佐藤一郎",
                       "date_sales": "2026-11-17", "products": "トマト3箱", "price": 1800, "registered_by": "x", "cancelled": false}],
            "count": 1, "total_price": 1800, "truncated": false, "departments": ["east"]}),
        "get_sales" => json!({"sales": [], "count": 0, "total_price": 0, "truncated": false, "departments": []}),
        "summarize_sales" => json!({
            "groups": [{"key": "2026-10", "label": "2026-10", "count": 3, "total_price": 5000},
                       {"key": "2026-11", "label": "2026-11", "count": 4, "total_price": 7345}],
            "count": 7, "total_price": 12345, "departments": ["east"]}),
        "list_registrations" => json!({
            "registrations": [{"code_sales": "S20261117090000-1", "code_customer": "0002", "name_customer": "佐藤一郎",
                               "date_sales": "2026-11-17", "products": "トマト3箱", "price": 1800, "cancelled": false, "origin": "sample"}],
            "departments": ["east"]}),
        _ => {
            let waiting =
                json!({"status": "waiting", "proposal": "AbCdEfGhIjKlMnOpQrStUvWx", "shown_on_card": call.arguments});
            return waiting.to_string();
        }
    };
    json!({"status": "success", "data": data}).to_string()
}

fn instructions(lang: Lang) -> String {
    format!(
        "Rules.\n\ntoday: 2026-11-29 (Sunday)\nzone: Asia/Tokyo\nlanguage: {}\nasker: Hana (role sales)\n",
        lang.code()
    )
}

fn conversation(lang: Lang) -> Conversation {
    let mut conversation = Conversation::default();
    conversation.instructions(&instructions(lang));
    conversation.tools = TOOLS.iter().map(|t| (*t).to_owned()).collect();
    conversation
}

/// Asks until words come. Gives the rounds of calls and the words, and appends all of it.
fn run(conversation: &mut Conversation, event: Event) -> (Vec<Vec<ToolCall>>, String) {
    conversation.events.push(event);
    let mut rounds = Vec::new();
    loop {
        match plan::answer(conversation) {
            Answer::Text(text) => {
                conversation.events.push(Event::Assistant(text.clone()));
                return (rounds, text);
            }
            Answer::Calls(calls) => {
                assert!(rounds.len() < 5, "goes on for ever: {rounds:?}");
                let calls: Vec<ToolCall> = calls
                    .into_iter()
                    .enumerate()
                    .map(|(i, (name, arguments))| ToolCall {
                        id: conversation.fresh_call_id(i),
                        name: name.into(),
                        arguments,
                    })
                    .collect();
                conversation.events.extend(calls.iter().cloned().map(Event::Call));
                for call in &calls {
                    conversation.events.push(Event::Result { call_id: call.id.clone(), content: serve(call) });
                }
                rounds.push(calls);
            }
        }
    }
}

#[derive(Default)]
struct Step {
    event: Option<Event>,
    rounds: Vec<String>,
    has: Vec<String>,
    lacks: Vec<String>,
}

struct Case {
    name: String,
    ways: Vec<String>,
    steps: Vec<Step>,
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in include_str!("paraphrases.txt").lines() {
        if let Some(name) = line.strip_prefix("## ") {
            cases.push(Case { name: name.into(), ways: vec![], steps: vec![Step::default()] });
            continue;
        }
        let Some(case) = cases.last_mut() else { continue };
        let list = |text: &str| text.split(" | ").map(str::to_owned).collect::<Vec<_>>();
        if let Some(way) = line.strip_prefix("- ") {
            case.ways.push(way.into());
        } else if let Some(calls) = line.strip_prefix("=> ") {
            case.steps.last_mut().unwrap().rounds.push(calls.into());
        } else if let Some(has) = line.strip_prefix("has: ") {
            case.steps.last_mut().unwrap().has = list(has);
        } else if let Some(lacks) = line.strip_prefix("lacks: ") {
            case.steps.last_mut().unwrap().lacks = list(lacks);
        } else if let Some(message) = line.strip_prefix("> ") {
            case.steps.push(Step { event: Some(Event::User(message.into())), ..Step::default() });
        } else if let Some(note) = line.strip_prefix("! ") {
            case.steps.push(Step { event: Some(Event::Note(note.into())), ..Step::default() });
        }
    }
    cases
}

fn fits(calls: &[ToolCall], want: &str) -> bool {
    let want: Vec<&str> = want.split(" & ").collect();
    want.len() == calls.len()
        && want.iter().zip(calls).all(|(want, call)| {
            let (name, args) = want.split_once(' ').unwrap();
            name == call.name
                && (args == "*" || serde_json::from_str::<Map<String, Value>>(args).unwrap() == call.arguments)
        })
}

fn check(case: &Case, way: &str) -> Result<(), String> {
    let lang = if case.name.split(' ').any(|w| w == "en") { Lang::En } else { Lang::Ja };
    let mut conversation = conversation(lang);
    for step in &case.steps {
        let event = step.event.clone().unwrap_or_else(|| Event::User(way.into()));
        let (rounds, text) = run(&mut conversation, event.clone());
        let shown: Vec<String> = rounds
            .iter()
            .map(|r| {
                r.iter()
                    .map(|c| format!("{} {}", c.name, Value::Object(c.arguments.clone())))
                    .collect::<Vec<_>>()
                    .join(" & ")
            })
            .collect();
        let here = format!("[{}] {way} / {event:?}\n   calls {shown:?}\n   text {text:?}", case.name);
        if rounds.len() != step.rounds.len() || !rounds.iter().zip(&step.rounds).all(|(r, w)| fits(r, w)) {
            return Err(format!("{here}\n   want calls {:?}", step.rounds));
        }
        if let Some(has) = step.has.iter().find(|h| !text.contains(h.as_str())) {
            return Err(format!("{here}\n   lacks {has}"));
        }
        if let Some(has) = step.lacks.iter().find(|h| text.contains(h.as_str())) {
            return Err(format!("{here}\n   says {has}"));
        }
    }
    Ok(())
}

#[test]
fn the_ten_conversations_work_in_every_paraphrase() {
    let failures: Vec<String> =
        cases().iter().flat_map(|case| case.ways.iter().filter_map(move |way| check(case, way).err())).collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn each_conversation_has_at_least_five_paraphrases_in_each_language() {
    for number in ["1", "2", "3", "4", "5", "6", "7", "8", "10"] {
        for lang in ["ja", "en"] {
            let prefix = format!("{number} {lang} ");
            let ways: usize = cases().iter().filter(|c| c.name.starts_with(&prefix)).map(|c| c.ways.len()).sum();
            assert!(ways >= 5, "{prefix} has {ways}");
        }
    }
}

async fn post(path: &str, body: &Value) -> (u16, String) {
    let request =
        Request::post(path).header("content-type", "application/json").body(Body::from(body.to_string())).unwrap();
    let response = router().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}

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
        input.push(json!({"type": "function_call_output", "call_id": call.id, "output": serve(&call)}));
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
    messages.push(json!({"role": "tool", "tool_call_id": call.id, "content": serve(&call)}));
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

#[test]
fn the_answer_is_in_the_language_of_the_message_or_else_of_the_person() {
    for (lang, message, part) in [
        (Lang::Ja, "What can you do?", "not an AI"),
        (Lang::En, "何ができますか？", "AI ではなく"),
        (Lang::Ja, "0016", "顧客コード"),
        (Lang::En, "0016", "customer code"),
    ] {
        let (_, text) = run(&mut conversation(lang), Event::User(message.into()));
        assert!(text.contains(part), "{message}: {text}");
    }
}

#[test]
fn a_tools_error_and_a_refused_card_are_worded() {
    let mut c = conversation(Lang::Ja);
    let say = |c: &mut Conversation, message: &str, content: &str| {
        c.events.push(Event::User(message.into()));
        let Answer::Calls(calls) = plan::answer(c) else { unreachable!("no call") };
        let id = c.fresh_call_id(0);
        c.events.push(Event::Call(ToolCall { id: id.clone(), name: calls[0].0.into(), arguments: calls[0].1.clone() }));
        c.events.push(Event::Result { call_id: id, content: content.into() });
        let Answer::Text(text) = plan::answer(c) else { unreachable!("no text") };
        c.events.push(Event::Assistant(text.clone()));
        text
    };
    let error = r#"{"status":"error","data":{"error":"no such customer","code":"customer_not_found"}}"#;
    assert!(say(&mut c, "0099の売上は？", error).contains("見つかりませんでした"));
    let text = say(&mut c, "0099にかぼちゃ4個600円で登録して", error);
    assert!(text.contains("準備ができませんでした") && !text.contains("ボタン"), "{text}");
    let text = say(&mut c, "0016にかぼちゃ4個600円で登録して", "The asker's role does not allow this tool.");
    assert!(text.contains("準備ができませんでした") && !text.contains("ボタン"), "{text}");
}

#[test]
fn without_the_tool_it_says_so_and_calls_nothing() {
    let mut c = conversation(Lang::Ja);
    c.tools.remove("add_sale");
    let (rounds, text) = run(&mut c, Event::User("0016にかぼちゃ4個600円で登録して".into()));
    assert!(rounds.is_empty() && text.contains("権限"), "{text}");
    c.tools.clear();
    let (rounds, _) = run(&mut c, Event::User("0016の売上は？".into()));
    assert!(rounds.is_empty());
}

#[test]
fn a_yes_with_no_card_waiting_confirms_nothing() {
    let (rounds, text) = run(&mut conversation(Lang::En), Event::User("yes".into()));
    assert!(rounds.is_empty() && text.contains("No card"), "{text}");
}

#[test]
fn an_ambiguous_date_is_told_with_its_other_reading() {
    let (rounds, text) =
        run(&mut conversation(Lang::En), Event::User("Register 4 pumpkins for 600 yen to 0016 last Tuesday".into()));
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
            "(0016|佐藤さん|Sato|先週|last|火曜|の|に|と|、|。| |600円|かぼちゃ4個|登録して|合計|売上|if |場合|0件|S20261124093000|cancel|取り消し|理由|コード|to |for |はい){0,12}",
        ], 1..4),
        en in any::<bool>(),
    ) {
        let mut c = conversation(if en { Lang::En } else { Lang::Ja });
        for message in messages {
            let (_, text) = run(&mut c, Event::User(message));
            prop_assert!(!text.is_empty());
            for claim in ["登録しました", "登録されました", "has been registered", "was registered", "is registered"] {
                prop_assert!(!text.contains(claim), "{}", text);
            }
        }
    }
}

#[test]
fn full_width_digits_ask_for_the_same_as_half_width_ones() {
    let wide = |c: char| if c.is_ascii_digit() { char::from_u32(c as u32 + 0xfee0).unwrap() } else { c };
    for way in cases().iter().flat_map(|c| &c.ways) {
        let calls = |message: String| {
            let (rounds, _) = run(&mut conversation(Lang::Ja), Event::User(message));
            rounds.into_iter().flatten().map(|c| (c.name, c.arguments)).collect::<Vec<_>>()
        };
        assert_eq!(calls(way.clone()), calls(way.chars().map(wide).collect()), "{way}");
    }
}
