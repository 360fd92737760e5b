//! Socket Mode: the same conversations without a public address, over connections that break.

use std::time::Duration;

use sales_concierge::playground::sample;
use serde_json::{Value, json};
use sqlx::{ConnectOptions, Connection};

use crate::harness::model::last_words;
use crate::harness::raw::{dm_message, dm_of, envelope, get};
use crate::harness::sockets::{APP_TOKEN, Sockets};
use crate::harness::{AOKI, Options, PATIENCE, Rig, Say, shown, texts};

/// Longer than storing takes, shorter than Slack waits.
const MOMENT: Duration = Duration::from_secs(3);

/// A bot that has only sockets: without a signing secret, and with nobody who calls its URLs.
async fn started(ping_ms: u64) -> (Rig, Sockets) {
    let sockets = Sockets::start().await;
    let env = [
        ("SLACK_APP_TOKEN", APP_TOKEN.to_owned()),
        ("SALES_CONCIERGE__SLACK__SOCKET_MODE", "true".to_owned()),
        ("SALES_CONCIERGE__SLACK__SOCKET_PING_MS", ping_ms.to_string()),
        ("SALES_CONCIERGE__SLACK__SOCKET_CONNECT_MS", "500".to_owned()),
        ("SLACK_SIGNING_SECRET", String::new()),
    ];
    let mut rig = Rig::prepare(Options { env: env.into(), ..Options::default() }).await;
    let api = sockets.api_url(&rig.workspace.api_url());
    rig.start_bot_with(&[("SLACK_API_URL", &api)]).await;
    let (events, interactions) = sockets.urls();
    rig.workspace.set_bot_urls(&events, &interactions);
    until("two sockets", || sockets.open() == 2).await;
    (rig, sockets)
}

/// One whose model repeats what it was told.
async fn echoing(ping_ms: u64) -> (Rig, Sockets) {
    let (rig, sockets) = started(ping_ms).await;
    rig.model.rule(|request| Some(Say::text(&format!("聞きました「{}」", last_words(request)))));
    (rig, sockets)
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = tokio::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A person writes to the bot; what a socket is to carry of it.
async fn delivery(rig: &Rig, sockets: &Sockets, text: &str) -> Value {
    rig.workspace.set_bot_urls("", "");
    let ts = rig.workspace.say(AOKI, &dm_of(AOKI), None, text).await.expect("said");
    let (events, interactions) = sockets.urls();
    rig.workspace.set_bot_urls(&events, &interactions);
    let payload = envelope(&format!("Ev{ts}"), dm_message(AOKI, ts.as_str(), text));
    json!({"envelope_id": format!("id-{ts}"), "type": "events_api", "payload": payload, "accepts_response_payload": false})
}

/// How often the bot answered these words.
fn answers(rig: &Rig, words: &str) -> usize {
    let said = texts(&rig.workspace.messages(&dm_of(AOKI)));
    said.iter().filter(|text| text.contains(&format!("聞きました「{words}」"))).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sale_is_asked_for_confirmed_and_registered_over_sockets() {
    let (mut rig, sockets) = started(10_000).await;
    rig.model.script([
        Say::call("add_sale", json!({"code_customer": "0002", "products": "かぼちゃ", "price": 1200})),
        Say::text("どうぞ。"),
        Say::text("います。"),
    ]);
    let place = rig.dm(AOKI, "登録して").await;
    let card = rig.card(&place).await;
    let press = rig.confirm(AOKI, &card).await;
    assert_eq!((press.status, press.warning), (Some(200), false));
    rig.becomes(&card, "登録しました").await;
    assert_eq!(rig.approved_sales().await, 1);
    let place = rig.mention(AOKI, "C0HANBAI", "まだいますか").await;
    rig.says(&place, "います。").await;
    // What nobody signed is refused at the URLs: there is no secret to sign it with.
    let answer = rig.send_raw("/slack/events", &[], b"{}").await;
    assert_eq!(answer.status, 401);
    assert!(rig.stop_bot().await.success());
    until("the sockets are closed", || sockets.open() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k01_what_could_not_be_stored_is_not_acknowledged_and_answered_once_when_slack_sends_it_again() {
    let (rig, sockets) = echoing(10_000).await;
    let work = rig.data_dir().join("work.sqlite");
    let mut lock = sqlx::sqlite::SqliteConnectOptions::new().filename(&work).connect().await.expect("the file");
    while sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut lock).await.is_err() {}
    let sent = delivery(&rig, &sockets, "届きましたか").await;
    assert!(!sockets.deliver(sent.clone(), MOMENT).await, "nothing was stored");
    lock.close().await.expect("unlocked");
    // It may have been stored after all, once the file was free: then it is known.
    assert!(sockets.deliver(sent.clone(), MOMENT).await);
    assert!(sockets.deliver(sent, MOMENT).await);
    until("an answer", || answers(&rig, "届きましたか") > 0).await;
    rig.settles().await;
    assert_eq!(answers(&rig, "届きましたか"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_slack_replaces_its_sockets_every_message_is_answered_once() {
    let (rig, sockets) = echoing(10_000).await;
    let mut sent = Vec::new();
    for n in 0..12 {
        if n % 4 == 1 {
            // Both of the last round were replaced by now, or soon will be.
            until("two more", || sockets.opened() >= 2 + n / 4 * 2).await;
            sockets.announce_the_end(["warning", "refresh_requested", "link_disabled"][n / 4]);
        }
        let words = format!("番号{n}です");
        let envelope = delivery(&rig, &sockets, &words).await;
        let begun = tokio::time::Instant::now();
        // Slack sends it again, over another connection, until it is acknowledged.
        while !sockets.deliver(envelope.clone(), Duration::from_millis(500)).await {
            assert!(begun.elapsed() < PATIENCE, "never acknowledged: {words}\n{}", rig.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        sent.push(words);
    }
    for words in &sent {
        until(words, || answers(&rig, words) > 0).await;
    }
    rig.settles().await;
    assert!(sent.iter().all(|words| answers(&rig, words) == 1));
    until("each was replaced three times", || sockets.opened() >= 8).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_went_dead_is_replaced_and_until_then_the_bot_is_not_ready() {
    let (rig, sockets) = echoing(100).await;
    assert!(get(&rig.address(), "/readyz").await.ends_with("\r\n\r\nready"));
    sockets.deaf(true);
    sockets.freeze(true);
    let begun = tokio::time::Instant::now();
    while !get(&rig.address(), "/readyz").await.ends_with("no socket to Slack") {
        assert!(begun.elapsed() < PATIENCE, "the bot takes dead sockets for open ones");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Where nobody answers, it is tried again, with a pause.
    let asked = sockets.asked();
    until("another try", || sockets.asked() > asked + 1).await;
    sockets.deaf(false);
    sockets.freeze(false);
    let envelope = delivery(&rig, &sockets, "戻りましたか").await;
    let begun = tokio::time::Instant::now();
    while !sockets.deliver(envelope.clone(), Duration::from_millis(500)).await {
        assert!(begun.elapsed() < PATIENCE, "no socket comes back\n{}", rig.log());
    }
    until("an answer", || answers(&rig, "戻りましたか") == 1).await;
    assert!(get(&rig.address(), "/readyz").await.ends_with("\r\n\r\nready"));
}

#[tokio::test(flavor = "multi_thread")]
async fn slack_refuses_new_sockets_for_a_while_and_the_bot_goes_on_with_the_next() {
    let (rig, sockets) = echoing(10_000).await;
    sockets.refuse(Some("invalid_auth"));
    sockets.announce_the_end("refresh_requested");
    let asked = sockets.asked();
    until("it asks again", || sockets.asked() > asked + 2).await;
    assert!(rig.log().contains("SLACK_APP_TOKEN") && !rig.log().contains(APP_TOKEN), "{}", rig.log());
    sockets.refuse(None);
    until("sockets", || sockets.open() == 2).await;
    assert!(sockets.deliver(delivery(&rig, &sockets, "どうですか").await, MOMENT).await);
    until("an answer", || answers(&rig, "どうですか") == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_frames_neither_end_the_connection_nor_go_unacknowledged() {
    let (rig, sockets) = echoing(10_000).await;
    for odd in [
        "",
        "null",
        "[]",
        "{",
        "\"hello\"",
        "{}",
        r#"{"type":7}"#,
        r#"{"type":"events_api"}"#,
        r#"{"type":"hello"}"#,
        r#"{"type":"events_api","envelope_id":9,"payload":{}}"#,
        r#"{"type":"goodbye","reason":[1]}"#,
    ] {
        sockets.send(odd);
    }
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let press = json!({"type": "block_actions", "user": {"id": AOKI, "team_id": sample::TEAM}, "actions": [{"action_id": "other"}]});
    let odd = [
        ("events_api", json!(null)),
        ("events_api", json!([])),
        ("events_api", json!("text")),
        ("events_api", json!({"type": "event_callback", "event": {"type": "brand_new"}})),
        ("events_api", serde_json::from_str(&deep).expect("JSON")),
        ("interactive", json!({})),
        ("interactive", json!("payload=%7B")),
        ("interactive", press),
        ("slash_commands", json!({"command": "/uriage", "text": "今日"})),
        ("brand_new_kind", json!({"x": 1})),
    ];
    for (n, (kind, payload)) in odd.into_iter().enumerate() {
        let envelope = json!({"envelope_id": format!("odd-{n}"), "type": kind, "payload": payload});
        assert!(sockets.deliver(envelope.clone(), MOMENT).await, "{envelope}");
    }
    assert_eq!(sockets.opened(), 2, "none of them ended a connection");
    assert!(sockets.deliver(delivery(&rig, &sockets, "無事ですか").await, MOMENT).await);
    until("an answer", || answers(&rig, "無事ですか") == 1).await;
    let said = rig.workspace.messages(&dm_of(AOKI));
    assert_eq!(
        said.iter().filter(|m| m.bot_id.is_some()).count(),
        1,
        "{:?}",
        said.iter().map(shown).collect::<Vec<_>>()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_that_opens_sockets_the_bot_does_not_start_and_says_which_is_missing() {
    let sockets = Sockets::start().await;
    let rig = Rig::prepare(Options::default()).await;
    let api = sockets.api_url(&rig.workspace.api_url());
    let with = [("SLACK_API_URL", api.as_str()), ("SALES_CONCIERGE__SLACK__SOCKET_MODE", "true")];
    let (code, said) = rig.ends(&with).await;
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("SLACK_APP_TOKEN") && said.contains("connections:write"), "{said}");
    let (code, said) = rig.ends(&[with[0], with[1], ("SLACK_APP_TOKEN", "xapp-1-of-another-app")]).await;
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("SLACK_APP_TOKEN") && said.contains("invalid_auth"), "{said}");
    assert!(!said.contains("of-another-app"), "{said}");
}
