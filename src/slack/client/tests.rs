use std::sync::Mutex;

use axum::Router;
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::*;

/// What the fake Slack saw: path with query, headers, body.
type Seen = Arc<Mutex<Vec<(String, HeaderMap, Value)>>>;

/// A server that answers every request with what `answer` makes of its path.
async fn slack<F>(answer: F) -> (String, Seen)
where
    F: Fn(&str) -> Response + Clone + Send + Sync + 'static,
{
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    let app = Router::new().fallback(move |request: Request| {
        let (log, answer) = (Arc::clone(&log), answer.clone());
        async move {
            let path = request.uri().path_and_query().unwrap().to_string();
            let headers = request.headers().clone();
            let body: Bytes = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
            log.lock().unwrap().push((path.clone(), headers, serde_json::from_slice(&body).unwrap_or(Value::Null)));
            answer(&path)
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/api", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (base, seen)
}

fn client(base: &str) -> Client {
    Client::new(base, Secret::new("xoxb-test"), Duration::from_millis(400)).unwrap()
}

fn json_answer(value: Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json; charset=utf-8")], value.to_string()).into_response()
}

fn body() -> Body {
    Body { text: "a &lt; b".into(), blocks: json!([{ "type": "divider" }]) }
}

#[tokio::test]
async fn i12_a_post_never_unfurls_and_carries_its_key_as_text() {
    let (base, seen) = slack(|_| {
        json_answer(json!({ "ok": true, "ts": "1.5", "message": { "metadata": { "event_payload": { "n": 1 } } } }))
    })
    .await;
    for base in [base.clone(), format!("{base}/")] {
        let client = client(&base);
        let ts = client.post(&ChannelId::new("C1"), Some(&MessageTs::new("1.0")), &body(), Some("k1")).await.unwrap();
        assert_eq!(ts.as_str(), "1.5");
    }
    let seen = seen.lock().unwrap();
    for (path, headers, args) in seen.iter() {
        assert_eq!(path, "/api/chat.postMessage");
        assert_eq!(headers[header::AUTHORIZATION], "Bearer xoxb-test");
        assert_eq!(
            *args,
            json!({
                "channel": "C1", "thread_ts": "1.0", "text": "a &lt; b", "blocks": [{ "type": "divider" }],
                "unfurl_links": false, "unfurl_media": false, "parse": "none", "mrkdwn": false,
                "metadata": { "event_type": "sales_concierge_outbox", "event_payload": { "key": "k1" } },
            })
        );
    }
    assert_eq!(seen.len(), 2);
}

#[tokio::test]
async fn an_update_without_blocks_removes_them() {
    let (base, seen) = slack(|_| json_answer(json!({ "ok": true }))).await;
    let text_only = Body { text: "x".into(), blocks: Value::Null };
    client(&base).update(&ChannelId::new("C1"), &MessageTs::new("1.5"), &text_only).await.unwrap();
    assert_eq!(seen.lock().unwrap()[0].2["blocks"], json!([]));
}

#[tokio::test]
async fn each_failure_says_what_may_have_happened() {
    let (base, _) = slack(|path| match path.rsplit('/').next().unwrap() {
        "ok_odd_shape" => json_answer(json!({ "ok": true, "warnings": { "not": "a list" }, "n": 1 })),
        "refused" => json_answer(json!({
            "ok": false, "error": "invalid_blocks", "response_metadata": { "messages": ["[json-pointer:/blocks/0]"] },
        })),
        "slow_down" => (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "7")], "").into_response(),
        "slow_down_in_words" => json_answer(json!({ "ok": false, "error": "ratelimited" })),
        "half_done" => json_answer(json!({ "ok": false, "error": "fatal_error" })),
        "unnamed" => json_answer(json!({ "ok": false })),
        "html" => ([(header::CONTENT_TYPE, "text/html")], "<html>sign in</html>").into_response(),
        "garbage" => ([(header::CONTENT_TYPE, "application/json")], "{\"ok\":tr").into_response(),
        "no_ok" => json_answer(json!({ "hello": 1 })),
        "gateway" => (StatusCode::BAD_GATEWAY, "secret detail").into_response(),
        "gone" => (StatusCode::NOT_FOUND, "secret detail").into_response(),
        _ => StatusCode::IM_A_TEAPOT.into_response(),
    })
    .await;
    let client = client(&base);
    let call = |method: &'static str| client.call(method, json!({}));
    let rejected = |error: &str, messages: &[&str]| {
        Err(SlackError::Rejected { error: error.into(), messages: messages.iter().map(|m| (*m).to_owned()).collect() })
    };
    assert_eq!(call("ok_odd_shape").await.unwrap()["n"], 1);
    assert_eq!(call("refused").await, rejected("invalid_blocks", &["[json-pointer:/blocks/0]"]));
    assert_eq!(call("slow_down").await, Err(SlackError::RateLimited { after: Duration::from_secs(7) }));
    assert_eq!(call("slow_down_in_words").await, Err(SlackError::RateLimited { after: DEFAULT_RETRY_AFTER }));
    assert_eq!(call("unnamed").await, rejected("unnamed_error", &[]));
    assert_eq!(call("gone").await, rejected("http_404", &[]));
    for method in ["half_done", "html", "garbage", "no_ok", "gateway"] {
        let error = call(method).await.unwrap_err();
        assert!(matches!(error, SlackError::Uncertain(_)), "{method}: {error:?}");
        assert!(!error.to_string().contains("secret") && !error.to_string().contains("sign in"));
    }
}

#[tokio::test]
async fn a_call_without_an_answer_is_uncertain_and_one_without_a_server_was_never_sent() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/api", listener.local_addr().unwrap());
    let silent = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    let client = client(&base);
    assert!(matches!(client.call("chat.postMessage", json!({})).await, Err(SlackError::Uncertain(_))));
    silent.abort();
    assert!(silent.await.is_err());
    assert!(matches!(client.call("chat.postMessage", json!({})).await, Err(SlackError::Unreachable(_))));
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_request_is_uncertain() {
    use tokio::io::AsyncReadExt;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/api", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer).await;
        }
    });
    assert!(matches!(client(&base).call("chat.postMessage", json!({})).await, Err(SlackError::Uncertain(_))));
}

#[tokio::test]
async fn a_user_is_read_with_their_language_zone_and_standing() {
    let (base, seen) = slack(|_| {
        json_answer(json!({ "ok": true, "user": {
            "id": "U1", "team_id": "T1", "name": "mori", "real_name": "Mori", "locale": "ja-JP", "tz": "Asia/Tokyo",
            "is_ultra_restricted": true, "is_bot": false, "deleted": null, "updated": "soon",
            "profile": { "display_name": "", "real_name": "森 あおい" },
        } }))
    })
    .await;
    let profile = client(&base).user(&UserId::new("U1")).await.unwrap();
    assert_eq!(
        profile,
        Profile {
            team: TeamId::new("T1"),
            locale: Some("ja-JP".into()),
            tz: Some("Asia/Tokyo".into()),
            real_name: "森 あおい".into(),
            is_guest: true,
            is_bot: false,
            deleted: false,
        }
    );
    assert_eq!(seen.lock().unwrap()[0].0, "/api/users.info?user=U1&include_locale=true");
}

#[tokio::test]
async fn a_posted_message_is_found_by_its_key_on_a_later_page() {
    let (base, _) = slack(|path| {
        let message = |key: Value, ts: &str| {
            json!({ "ts": ts, "metadata": { "event_type": "sales_concierge_outbox", "event_payload": { "key": key } } })
        };
        if path.contains("cursor=p2") {
            json_answer(json!({ "ok": true, "messages": [message(json!(1), "1.2"), message(json!("k1"), "1.3")] }))
        } else {
            let other = json!({ "ts": "1.1", "metadata": { "event_type": "other", "event_payload": { "key": "k1" } } });
            json_answer(json!({ "ok": true, "messages": [{ "ts": "1.0" }, other], "response_metadata": { "next_cursor": "p2" } }))
        }
    })
    .await;
    let client = client(&base);
    let find = async |key: &str| {
        client.find_by_outbox_key(&ChannelId::new("C1"), Some(&MessageTs::new("1.0")), key).await.unwrap()
    };
    assert_eq!(find("k1").await, Some(MessageTs::new("1.3")));
    assert_eq!(find("k2").await, None);
}

#[tokio::test]
async fn a_thread_without_end_is_not_said_to_lack_the_message() {
    let (base, _) =
        slack(|_| json_answer(json!({ "ok": true, "messages": [], "response_metadata": { "next_cursor": "more" } })))
            .await;
    let found = client(&base).find_by_outbox_key(&ChannelId::new("C1"), Some(&MessageTs::new("1.0")), "k").await;
    assert!(matches!(found, Err(SlackError::Uncertain(_))));
}

#[tokio::test]
async fn connections_are_kept_and_the_token_never_shows() {
    let (base, seen) =
        slack(|_| json_answer(json!({ "ok": true, "team_id": "T1", "user_id": "U0BOT", "bot_id": "B1" }))).await;
    let client = client(&base);
    let me = client.auth_test().await.unwrap();
    assert_eq!(me, Me { team: TeamId::new("T1"), user: UserId::new("U0BOT"), bot_id: Some("B1".into()), app_id: None });
    client.set_status(&ChannelId::new("D1"), &MessageTs::new("1.0"), "調べています", &[]).await.unwrap();
    assert_eq!(seen.lock().unwrap()[1].2, json!({ "channel_id": "D1", "thread_ts": "1.0", "status": "調べています" }));
    assert!(!format!("{client:?}").contains("xoxb"));
}

#[tokio::test]
async fn a_search_whose_answer_is_not_whole_has_not_looked_everywhere() {
    for answer in [json!({"ok": true}), json!({"ok": true, "messages": [], "has_more": true})] {
        let (base, _) = slack(move |_| json_answer(answer.clone())).await;
        let found = client(&base).find_by_outbox_key(&ChannelId::new("C1"), Some(&MessageTs::new("1.0")), "k").await;
        assert!(matches!(found, Err(SlackError::Uncertain(_))), "{found:?}");
    }
}

#[tokio::test]
async fn what_stands_in_no_thread_is_looked_for_among_the_newest_messages() {
    let (base, seen) = slack(|_| {
        let ours = json!({ "event_type": "sales_concierge_outbox", "event_payload": { "key": "k1" } });
        json_answer(json!({ "ok": true, "messages": [{ "ts": "1.9", "metadata": ours }], "has_more": true }))
    })
    .await;
    let client = client(&base);
    let find = async |key: &str| client.find_by_outbox_key(&ChannelId::new("D1"), None, key).await.unwrap();
    assert_eq!(find("k1").await, Some(MessageTs::new("1.9")));
    assert_eq!(find("k2").await, None);
    let seen = seen.lock().unwrap();
    assert!(seen.iter().all(|(path, ..)| path.starts_with("/api/conversations.history?channel=D1&")), "{seen:?}");
}

#[tokio::test]
async fn a_conversation_that_slack_refused_for_its_rate_is_left_alone_and_others_go_on() {
    let (base, seen) = slack(|path| match path {
        "/api/chat.postMessage" => (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "30")], "").into_response(),
        _ => json_answer(json!({ "ok": true, "ts": "1.5" })),
    })
    .await;
    let client = client(&base);
    let (c1, c2, ts) = (ChannelId::new("C1"), ChannelId::new("C2"), MessageTs::new("1.0"));
    let limited = |secs| Err(SlackError::RateLimited { after: Duration::from_secs(secs) });
    assert_eq!(client.post(&c1, None, &body(), None).await, limited(30));
    let again = client.clone().post(&c1, None, &body(), None).await;
    assert!(matches!(again, Err(SlackError::Paused { after }) if after.as_secs() >= 28), "{again:?}");
    // Statuses give way where messages wait; what takes one away does not.
    assert!(matches!(client.set_status(&c1, &ts, "…", &[]).await, Err(SlackError::Paused { .. })));
    let working = Session::Working { person: &UserId::new("U1"), title: "" };
    assert!(matches!(client.set_session(&c1, &ts, working).await, Err(SlackError::Paused { .. })));
    client.set_status(&c1, &ts, "", &[]).await.unwrap();
    client.set_session(&c1, &ts, Session::Idle).await.unwrap();
    client.update(&c1, &ts, &body()).await.unwrap();
    client.set_status(&c2, &ts, "…", &[]).await.unwrap();
    assert_eq!(client.post(&c2, None, &body(), None).await, limited(30));
    let third = client.post(&ChannelId::new("C3"), None, &body(), None).await;
    assert!(matches!(third, Err(SlackError::Paused { .. })), "two refused conversations: the method waits");
    let posts = seen.lock().unwrap().iter().filter(|(path, ..)| path == "/api/chat.postMessage").count();
    assert_eq!(posts, 2);
}

#[tokio::test]
async fn prompts_name_no_thread_and_a_session_says_who_began_it() {
    let (base, seen) = slack(|_| json_answer(json!({ "ok": true }))).await;
    let client = client(&base);
    let prompt = |n: usize| Prompt { title: format!("t{n}"), message: format!("m{n}") };
    let prompts: Vec<Prompt> = (0..6).map(prompt).collect();
    client.set_prompts(&ChannelId::new("D1"), "例", &prompts).await.unwrap();
    let title = "長".repeat(300);
    let working = Session::Working { person: &UserId::new("U1"), title: &title };
    client.set_session(&ChannelId::new("D1"), &MessageTs::new("1.0"), working).await.unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].2["prompts"].as_array().unwrap().len(), 4);
    assert!(seen[0].2.get("thread_ts").is_none());
    assert_eq!((&seen[1].2["status"], &seen[1].2["initiator_user_id"]), (&json!("processing"), &json!("U1")));
    assert!(seen[1].2["title"].as_str().unwrap().encode_utf16().count() <= 200);
}
