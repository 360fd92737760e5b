//! What Slack refuses, with its codes.

use super::*;

#[tokio::test]
async fn the_token_is_checked_and_unknown_methods_are_named_so() {
    let (workspace, ..) = with_bot().await;
    let url = format!("{}auth.test", workspace.api_url());
    let (_, _, body) = http(&url, None, "application/json", "{}").await;
    assert_eq!(body, r#"{"error":"not_authed","ok":false}"#);
    let (_, _, body) = http(&url, Some("xoxb-other"), "application/json", "{}").await;
    assert_eq!(body, r#"{"error":"invalid_auth","ok":false}"#);
    let (_, headers, body) = http(&url, Some("xoxb-test"), "application/json", "{}").await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&body["team_id"], &body["user_id"], &body["bot_id"]), (&json!("T1"), &json!("UBOT"), &json!("B1")));
    assert!(headers["x-oauth-scopes"].to_str().unwrap().contains("chat:write"));
    assert_eq!(error(&workspace, "chat.sendSmoke", json!({})).await, "unknown_method");
}

#[tokio::test]
async fn who_may_not_call_leaves_a_line_without_arguments_and_uses_up_no_ordered_fault() {
    let (workspace, ..) = with_bot().await;
    workspace.misbehave("chat.postMessage", Fault::RateLimited(7), 1);
    workspace.misbehave("response_url", Fault::Status(500), 1);
    let url = format!("{}chat.postMessage", workspace.api_url());
    let large = json!({"channel": "C1", "text": "x".repeat(1_000_000), "token": "xoxb-other"}).to_string();
    for token in [None, Some("xoxb-other")] {
        assert!(http(&url, token, "application/json", &large).await.2.contains("invalid_auth"));
    }
    let unknown = format!("{}{}", workspace.api_url(), "x".repeat(5_000));
    http(&unknown, Some("xoxb-test"), "application/json", &large).await;
    let wrong = workspace.api_url().replace("/api/", "/response/1.wrong");
    assert!(http(&wrong, None, "application/json", &large).await.2.contains("expired_url"));
    let calls = workspace.calls();
    let lines: Vec<_> = calls.iter().map(|c| (c.method.len(), c.refused.as_deref().unwrap())).collect();
    assert_eq!(lines, [(16, "invalid_auth"), (16, "invalid_auth"), (80, "unknown_method"), (12, "expired_url")]);
    assert!(calls.iter().all(|c| c.args.is_empty()));
    // What was ordered waits for the bot.
    assert_eq!(http(&url, Some("xoxb-test"), "application/json", &large).await.0, 429);
    let call = workspace.calls().pop().unwrap();
    assert_eq!((call.refused, &call.args["channel"]), (None, &json!("C1")));
    assert!(call.args["text"].as_str().unwrap().len() < 70_000, "of a large call a part is kept");
}

#[tokio::test]
async fn web_pages_of_elsewhere_are_refused_before_anything_is_read_or_kept() {
    let (workspace, ..) = with_bot().await;
    let base = workspace.page_url();
    for (name, value) in [("origin", "http://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")] {
        for path in ["api/chat.postMessage", "response/1.wrong", "upload/1.wrong"] {
            let client: Client<_, Body> = Client::builder(TokioExecutor::new()).build_http();
            let request = Request::post(format!("{base}{path}")).header(name, value);
            let request = request.header("authorization", "Bearer xoxb-test").body(Body::from("channel=C1&text=x"));
            assert_eq!(client.request(request.unwrap()).await.unwrap().status(), 403, "{path} {name}: {value}");
        }
    }
    assert!(workspace.calls().is_empty() && workspace.messages("C1").is_empty());
}

#[tokio::test]
async fn updates_are_refused_as_slack_refuses_them() {
    let (workspace, ..) = with_bot().await;
    let theirs = workspace.say("U1", "C1", None, "mine").await.unwrap();
    let ours = ok(&workspace, "chat.postMessage", json!({"channel": "C1", "text": "x"})).await["ts"].clone();
    let update = |ts: Value, text: String| json!({"channel": "C1", "ts": ts, "text": text});
    assert_eq!(error(&workspace, "chat.update", update(json!(theirs), "x".into())).await, "cant_update_message");
    assert_eq!(error(&workspace, "chat.update", update(json!("1.1"), "x".into())).await, "message_not_found");
    assert_eq!(error(&workspace, "chat.update", update(ours.clone(), "あ".repeat(1334))).await, "msg_too_long");
    assert_eq!(error(&workspace, "chat.update", update(ours.clone(), "あ".repeat(1333))).await, "none");
    assert_eq!(error(&workspace, "chat.delete", json!({"channel": "C1", "ts": theirs})).await, "cant_delete_message");
    ok(&workspace, "chat.delete", json!({"channel": "C1", "ts": ours})).await;
    assert_eq!(workspace.messages("C1").len(), 1);
}

#[tokio::test]
async fn posts_are_refused_as_slack_refuses_them() {
    let (workspace, ..) = with_bot().await;
    let root = workspace.say("U1", "C1", None, "root").await.unwrap();
    let reply = workspace.say("U1", "C1", Some(root.as_str()), "reply").await.unwrap();
    let post = |extra: Value| {
        let mut args = json!({"channel": "C1", "text": "x"});
        args.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        args
    };
    for (extra, code) in [
        (json!({"text": ""}), "no_text"),
        (json!({"thread_ts": "1.1"}), "thread_not_found"),
        (json!({"thread_ts": ""}), "invalid_thread_ts"),
        (json!({"thread_ts": reply}), "cannot_reply_to_message"),
        (json!({"blocks": {}}), "invalid_blocks_format"),
        (json!({"markdown_text": "m"}), "markdown_text_conflict"),
        (json!({"metadata": {"event_type": "a b", "event_payload": {}}}), "invalid_metadata_format"),
        (json!({"metadata": {"event_type": "a", "event_payload": {"k": "v".repeat(5000)}}}), "metadata_too_large"),
    ] {
        assert_eq!(error(&workspace, "chat.postMessage", post(extra)).await, code);
    }
    let blocks = json!([{"type": "section", "text": {"type": "mrkdwn", "text": ""}}]);
    let refused = api(&workspace, "chat.postMessage", post(json!({"blocks": blocks}))).await;
    assert_eq!(refused["error"], "invalid_blocks");
    let told = refused["response_metadata"]["messages"][0].as_str().unwrap();
    assert_eq!(told, "[ERROR] must be more than 0 characters [json-pointer:/blocks/0/text/text]");
    let long = ok(&workspace, "chat.postMessage", post(json!({"text": "あ".repeat(40_001)}))).await;
    assert_eq!(long["warning"], "message_truncated");
    assert_eq!(long["message"]["text"].as_str().unwrap().chars().count(), 40_000);
    let dm = ok(&workspace, "chat.postMessage", json!({"channel": "U2", "text": "hi"})).await;
    assert_eq!(dm["channel"], "D2");
}

#[tokio::test]
async fn methods_misbehave_when_told_and_recover() {
    let (workspace, ..) = with_bot().await;
    let url = format!("{}chat.postMessage", workspace.api_url());
    let post = async || http(&url, Some("xoxb-test"), "application/json", r#"{"channel":"C1","text":"x"}"#).await;
    workspace.misbehave("chat.postMessage", Fault::RateLimited(7), 1);
    workspace.misbehave("chat.postMessage", Fault::Status(500), 1);
    workspace.misbehave("chat.postMessage", Fault::Html, 1);
    workspace.misbehave("chat.postMessage", Fault::OkFalse("fatal_error".into()), 1);
    let (status, headers, body) = post().await;
    assert_eq!((status, headers["retry-after"].to_str().unwrap()), (429, "7"));
    assert!(body.contains("ratelimited"));
    assert_eq!(post().await.0, 500);
    let (status, headers, _) = post().await;
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "text/html; charset=utf-8"));
    assert!(post().await.2.contains("fatal_error"));
    assert!(workspace.messages("C1").is_empty());
    workspace.misbehave("chat.postMessage", Fault::StatusAfterAccept(502), 1);
    assert_eq!(post().await.0, 502);
    assert_eq!(workspace.messages("C1").len(), 1);
    workspace.misbehave("chat.postMessage", Fault::HangAfterAccept, 1);
    let hung = tokio::spawn(async move {
        http(&url, Some("xoxb-test"), "application/json", r#"{"channel":"C1","text":"y"}"#).await
    });
    let two = |w: &World| (w.messages("C1").len() == 2).then_some(());
    workspace.wait_for(two, SOON).await.unwrap();
    assert!(!hung.is_finished());
    hung.abort();
    assert_eq!(workspace.calls().iter().filter(|c| c.method == "chat.postMessage").count(), 6);
    assert!(workspace.calls().iter().all(|c| !c.args.contains_key("token")));
}

#[tokio::test]
async fn a_call_without_the_scope_names_the_one_it_needs() {
    let clock = Clock::system();
    let workspace = start(Settings { scopes: vec!["users:read".into()], ..settings(&clock) }).await;
    workspace.say("U1", "C1", None, "root").await.unwrap();
    let refused = api(&workspace, "chat.postMessage", json!({"channel": "C1", "text": "x"})).await;
    assert_eq!(
        refused,
        json!({"ok": false, "error": "missing_scope", "needed": "chat:write", "provided": "users:read"})
    );
    let workspace = start(Settings { scopes: vec!["im:history".into()], ..settings(&clock) }).await;
    let root = workspace.say("U1", "C1", None, "root").await.unwrap();
    let refused = get(&workspace, "conversations.replies", &format!("channel=C1&ts={root}")).await;
    assert_eq!((&refused["error"], &refused["needed"]), (&json!("missing_scope"), &json!("channels:history")));
}

#[tokio::test]
async fn an_app_that_is_no_longer_installed_is_told_how_it_ended() {
    let (workspace, ..) = with_bot().await;
    for (installation, code) in [
        (Installation::Revoked, "token_revoked"),
        (Installation::Expired, "token_expired"),
        (Installation::Inactive, "account_inactive"),
        (Installation::Active, "none"),
    ] {
        workspace.set_installation(installation);
        assert_eq!(error(&workspace, "chat.postMessage", json!({"channel": "C1", "text": "x"})).await, code);
    }
    let url = format!("{}auth.test", workspace.api_url());
    let (_, _, body) = http(&url, Some("xapp-1"), "application/json", "{}").await;
    assert!(body.contains("not_allowed_token_type"), "{body}");
}

#[tokio::test]
async fn who_calls_too_often_is_told_how_long_to_wait() {
    let (workspace, _, clock) = with_bot().await;
    let url = format!("{}chat.postMessage", workspace.api_url());
    let post = async |channel: &str| {
        let body = json!({"channel": channel, "text": "x"}).to_string();
        http(&url, Some("xoxb-test"), "application/json", &body).await
    };
    for _ in 0..10 {
        assert_eq!(post("C1").await.0, 200);
    }
    // The clock moves while the test runs: at most a few more are let through.
    let mut refused = post("C1").await;
    while refused.0 == 200 {
        refused = post("C1").await;
    }
    assert_eq!((refused.0, refused.1["retry-after"].to_str().unwrap()), (429, "1"));
    assert!(refused.2.contains("ratelimited"));
    assert_eq!(post("D1").await.0, 200, "another channel goes on");
    let before = workspace.messages("C1").len();
    clock.advance(TimeDelta::seconds(1));
    assert_eq!(post("C1").await.0, 200);
    assert_eq!(workspace.messages("C1").len(), before + 1, "nothing was done when it was refused");
}

#[tokio::test]
async fn places_the_bot_may_not_write_to_are_refused_each_with_its_own_code() {
    let clock = Clock::system();
    let mut seed = Seed::small();
    seed.channels.push(Channel::public("C3", "old", &["U1", "UBOT"]).archived());
    seed.channels.push(Channel::private("C4", "secret", &["U1"]));
    let workspace = start(Settings { seed, ..settings(&clock) }).await;
    for (channel, code) in [
        ("C2", "not_in_channel"),
        ("C3", "is_archived"),
        ("C4", "channel_not_found"),
        ("C9", "channel_not_found"),
        ("", "channel_not_found"),
        ("U9", "channel_not_found"),
    ] {
        for method in ["chat.postMessage", "chat.postEphemeral"] {
            let args = json!({"channel": channel, "user": "U1", "text": "x"});
            assert_eq!(error(&workspace, method, args).await, code, "{method} {channel}");
        }
        let args = json!({"channel_id": channel, "thread_ts": "1.1", "status": "x"});
        assert_eq!(error(&workspace, "assistant.threads.setStatus", args).await, code);
    }
    let info = get(&workspace, "conversations.info", "channel=C3").await;
    assert_eq!(info["channel"]["is_archived"], true);
    assert_eq!(get(&workspace, "conversations.info", "channel=C4").await["error"], "channel_not_found");
    assert_eq!(get(&workspace, "conversations.replies", "channel=C2&ts=1.1").await["error"], "not_in_channel");
    assert_eq!(workspace.say("U1", "C3", None, "x").await, Err(Refused::Archived));
    assert_eq!(workspace.say("U2", "C4", None, "x").await, Err(Refused::NotInChannel));
}

#[tokio::test]
async fn a_text_of_an_update_is_counted_in_bytes_after_escaping() {
    let (workspace, ..) = with_bot().await;
    let ts = ok(&workspace, "chat.postMessage", json!({"channel": "C1", "text": "x"})).await["ts"].clone();
    let update =
        async |text: String| error(&workspace, "chat.update", json!({"channel": "C1", "ts": ts, "text": text})).await;
    assert_eq!(update("&".repeat(800)).await, "none");
    assert_eq!(update("&".repeat(801)).await, "msg_too_long");
    assert_eq!(update("&amp;".repeat(800)).await, "none");
    assert_eq!(update("a".repeat(4001)).await, "msg_too_long");
}

#[test]
fn what_the_app_is_granted_and_told_is_what_the_manifest_asks_for() {
    let manifest = include_str!("../../../../manifest.yaml");
    let list = |key: &str| -> Vec<&str> {
        let lines = manifest.lines().skip_while(|l| l.trim() != key).skip(1);
        lines.map_while(|l| l.trim().strip_prefix("- ")).map(|l| l.split('#').next().unwrap().trim()).collect()
    };
    assert_eq!(list("bot:"), SCOPES);
    assert_eq!(list("bot_events:"), EVENTS);
    let settings = Settings::new(Seed::small(), Clock::system());
    assert!(manifest.contains(&format!("home_tab_enabled: {}", settings.home_tab)));
}
