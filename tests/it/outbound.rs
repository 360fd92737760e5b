//! What the bot sends while Slack is slow, strict or out of reach: messages arrive once, in order, and the rest gives way.

use std::time::{Duration, Instant};

use sales_concierge::playground::workspace::{Call, Fault, Message};
use serde_json::{Value, json};

use crate::harness::model::{last_words, results};
use crate::harness::{AOKI, EMMA, Options, Place, Rig, Say, has_buttons, shown};

const POST: &str = "chat.postMessage";
const STATUS: &str = "assistant.threads.setStatus";

async fn echoing() -> Rig {
    let metrics = ("SALES_CONCIERGE__SERVER__METRICS_LISTEN", "127.0.0.1:0".to_owned());
    let timeout = ("SALES_CONCIERGE__SLACK__TIMEOUT_MS", "500".to_owned());
    let rig = Rig::with(Options { env: vec![metrics, timeout], ..Options::default() }).await;
    rig.model.rule(|request| Some(Say::text(&format!("聞きました「{}」", last_words(request)))));
    rig
}

fn calls(rig: &Rig, method: &str, channel: &str) -> Vec<Call> {
    let is_there = |c: &Call| ["channel", "channel_id"].iter().any(|k| c.args.get(*k) == Some(&json!(channel)));
    rig.workspace.calls().into_iter().filter(|c| c.method == method && is_there(c)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_slack_makes_wait_holds_up_no_other_and_is_not_asked_meanwhile() {
    let rig = echoing().await;
    let (aoki, emma) = (rig.dm(AOKI, "一").await, rig.dm(EMMA, "one").await);
    rig.answer(&aoki, 1).await;
    rig.answer(&emma, 1).await;
    rig.settles().await;
    rig.workspace.misbehave(POST, Fault::RateLimited(3), 1);
    let before = calls(&rig, POST, &aoki.channel).len();
    let begun = Instant::now();
    rig.reply(AOKI, &aoki, "待つ話").await;
    rig.until("put off", "SELECT count(*) FROM outbox WHERE sent_version < version", 1).await;
    rig.reply(EMMA, &emma, "at once").await;
    rig.says(&emma, "at once").await;
    assert!(begun.elapsed() < Duration::from_millis(2_500), "{:?}", begun.elapsed());
    rig.says(&aoki, "待つ話").await;
    assert!(begun.elapsed() > Duration::from_millis(2_900), "{:?}", begun.elapsed());
    rig.settles().await;
    assert_eq!(calls(&rig, POST, &aoki.channel).len(), before + 2, "refused once, then posted once");
    assert_eq!(rig.metric("slack_rate_limited_total", POST).await, 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_an_answer_waits_no_status_is_shown_in_its_conversation() {
    let rig = echoing().await;
    let place = rig.dm(AOKI, "一").await;
    rig.answer(&place, 1).await;
    rig.settles().await;
    rig.workspace.misbehave(POST, Fault::RateLimited(3), 1);
    rig.reply(AOKI, &place, "待つ話").await;
    rig.until("put off", "SELECT count(*) FROM outbox WHERE sent_version < version", 1).await;
    rig.model.rule(|request| {
        let say = Say::text(&format!("ゆっくり {}", last_words(request)));
        Some(Say::Late(Duration::from_millis(900), Box::new(say)))
    });
    rig.reply(AOKI, &place, "遅い話").await;
    rig.says(&place, "ゆっくり 遅い話").await;
    rig.settles().await;
    let shown = |c: &Call| c.args.get("status").and_then(Value::as_str).is_some_and(|s| !s.is_empty());
    assert_eq!(calls(&rig, STATUS, &place.channel).iter().filter(|c| shown(c)).count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_answer_arrives_in_its_order_whatever_happens_to_its_parts() {
    let rig = echoing().await;
    let line = |n: usize| format!("{n}番目の行です。");
    let long: Vec<String> = (0..400).map(|n| format!("{}\n\n", line(n))).collect();
    let long = long.concat();
    rig.model.rule(move |request| last_words(request).contains("全部").then(|| Say::text(&long)));
    for (n, fault) in [
        Fault::RateLimited(1),
        Fault::Status(500),
        Fault::HangAfterAccept,
        Fault::StatusAfterAccept(502),
        Fault::Html,
        Fault::OkFalse("msg_blocks_too_long".to_owned()),
    ]
    .into_iter()
    .enumerate()
    {
        rig.workspace.misbehave(POST, fault.clone(), 1);
        let place = rig.dm(AOKI, &format!("{n}回目、全部")).await;
        rig.says(&place, &line(399)).await;
        rig.settles().await;
        let messages = rig.bot_messages(&place);
        let whole: String =
            messages.iter().map(|m| if m.blocks.is_some() { shown(m) } else { m.text.clone() }).collect();
        let at: Vec<usize> =
            (0..400).map(|n| whole.find(&line(n)).unwrap_or_else(|| panic!("{n} is lost: {fault:?}"))).collect();
        assert!(at.is_sorted(), "{fault:?}");
        let parts =
            |m: &Message| m.metadata.as_ref().and_then(|m| m["event_payload"]["key"].as_str()).map(str::to_owned);
        let mut keys: Vec<String> = messages.iter().filter_map(parts).collect();
        let posted = keys.len();
        keys.dedup();
        assert_eq!((keys.len(), posted), (messages.len(), messages.len()), "each part once: {fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_whose_blocks_slack_refuses_can_still_be_pressed() {
    let rig = echoing().await;
    rig.model.rule(|request| {
        let add = json!({
            "code_customer": "0002", "products": "かぼちゃ4個", "price": 1800,
        });
        let is_proposed = results(request).iter().any(|r| r["status"] == "waiting");
        Some(if is_proposed { Say::text("カードをご確認ください。") } else { Say::call("add_sale", add) })
    });
    // The answer comes first and is given up in all three of its forms, then the card comes.
    rig.workspace.misbehave(POST, Fault::OkFalse("invalid_blocks".to_owned()), 4);
    let place = rig.dm(AOKI, "0002 にかぼちゃ4個 1800円で登録").await;
    let card = rig.card(&place).await;
    let blocks = card.blocks.clone().unwrap_or_default();
    assert_eq!(blocks.as_array().map(Vec::len), Some(2), "{blocks}");
    assert!(shown(&card).contains("かぼちゃ4個") && shown(&card).contains("1,800円"), "{}", shown(&card));
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "登録しました").await;
    assert_eq!(rig.approved_sales().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn posts_into_one_conversation_are_paced_and_all_arrive() {
    let pace = ("SALES_CONCIERGE__SLACK__POSTS_PER_MINUTE", "120".to_owned());
    let shape = |settings: &mut sales_concierge::playground::workspace::Settings| {
        settings.limits = true;
        settings.limit_scale = 3.0;
    };
    let rig = Rig::with(Options { env: vec![pace], shape: Some(shape), ..Options::default() }).await;
    rig.model.rule(|request| Some(Say::text(&format!("聞きました「{}」", last_words(request)))));
    let begun = Instant::now();
    let mut places: Vec<Place> = Vec::new();
    for n in 0..16 {
        places.push(rig.dm(AOKI, &format!("続けて{n}")).await);
    }
    for (n, place) in places.iter().enumerate() {
        rig.says(place, &format!("続けて{n}")).await;
    }
    assert!(begun.elapsed() > Duration::from_millis(2_000), "a burst, then two a second: {:?}", begun.elapsed());
    rig.settles().await;
    let refused = rig.workspace.calls().into_iter().filter(|c| c.method == POST && c.refused.is_some()).count();
    assert_eq!(refused, 0, "Slack never had to say so");
    assert!(!has_buttons(&rig.answer(&places[0], 1).await));
}
