//! Streamed messages.

use super::*;

async fn began(workspace: &Workspace) -> (String, String) {
    let dm = workspace.open_dm("U1").await.unwrap();
    let root = workspace.say("U1", dm.as_str(), None, "hi").await.unwrap();
    let args = json!({"channel": dm, "thread_ts": root, "markdown_text": "One "});
    let ts = ok(workspace, "chat.startStream", args).await["ts"].as_str().unwrap().to_owned();
    (dm.as_str().to_owned(), ts)
}

fn last(workspace: &Workspace, channel: &str) -> Message {
    workspace.messages(channel).pop().unwrap()
}

#[tokio::test]
async fn a_stream_grows_by_words_tasks_and_blocks_and_ends_with_buttons() {
    let (workspace, bot, _) = with_bot().await;
    let (dm, ts) = began(&workspace).await;
    let task = |status: &str| json!([{"type": "task_update", "id": "t", "title": "Looking", "status": status}]);
    ok(&workspace, "chat.appendStream", json!({"channel": dm, "ts": ts, "chunks": task("in_progress")})).await;
    ok(&workspace, "chat.appendStream", json!({"channel": dm, "ts": ts, "chunks": task("complete")})).await;
    ok(&workspace, "chat.appendStream", json!({"channel": dm, "ts": ts, "markdown_text": "two"})).await;
    let now = last(&workspace, &dm);
    assert!(now.streaming && now.edited.is_none());
    let blocks = now.blocks.unwrap();
    assert_eq!(
        (&blocks[0]["text"], &blocks[1]["status"], &blocks[2]["text"]),
        (&json!("One "), &json!("complete"), &json!("two"))
    );
    let metadata = json!({"event_type": "a", "event_payload": {}});
    let args = json!({"channel": dm, "ts": ts, "markdown_text": ".", "blocks": card(), "metadata": metadata});
    ok(&workspace, "chat.stopStream", args).await;
    let now = last(&workspace, &dm);
    assert!(!now.streaming);
    assert_eq!(now.metadata, Some(metadata));
    assert!(workspace.press("U1", &dm, &ts, "yes").await.is_ok());
    assert_eq!(bot.payload()["message"]["ts"], ts.as_str());
    let more = json!({"channel": dm, "ts": ts, "markdown_text": "x"});
    assert_eq!(error(&workspace, "chat.appendStream", more).await, "message_not_in_streaming_state");
}

#[tokio::test]
async fn streams_are_refused_as_slack_refuses_them() {
    let (workspace, ..) = with_bot().await;
    let root = workspace.say("U1", "C1", None, "root").await.unwrap();
    let start = |extra: Value| {
        let mut args =
            json!({"channel": "C1", "thread_ts": root, "recipient_user_id": "U1", "recipient_team_id": "T1"});
        args.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        args
    };
    for (extra, code) in [
        (json!({"channel": "C2"}), "not_in_channel"),
        (json!({"thread_ts": "1.1"}), "thread_not_found"),
        (json!({"thread_ts": null}), "invalid_thread_ts"),
        (json!({"recipient_user_id": null}), "missing_recipient_user_id"),
        (json!({"recipient_team_id": null}), "missing_recipient_team_id"),
        (json!({"recipient_user_id": "U9"}), "user_not_found"),
        (json!({"recipient_team_id": "T9"}), "team_not_found"),
        (json!({"markdown_text": "a".repeat(12_001)}), "msg_too_long"),
        (json!({"chunks": [{"type": "smoke"}]}), "invalid_chunks"),
        (json!({"chunks": [{"type": "task_update", "id": "1", "title": "t", "status": "?"}]}), "invalid_chunks"),
        (json!({"chunks": [{"type": "blocks", "blocks": [{"type": "section"}]}]}), "invalid_blocks"),
        (
            json!({"chunks": [{"type": "blocks", "blocks": vec![json!({"type": "divider"}); 30]},
                           {"type": "blocks", "blocks": vec![json!({"type": "divider"}); 30]}]}),
            "msg_blocks_too_many",
        ),
    ] {
        assert_eq!(error(&workspace, "chat.startStream", start(extra.clone())).await, code, "{extra}");
    }
    let ts = ok(&workspace, "chat.startStream", start(json!({}))).await["ts"].clone();
    let plain = ok(&workspace, "chat.postMessage", json!({"channel": "C1", "text": "x"})).await["ts"].clone();
    for (ts, words, code) in [
        (json!("1.1"), "x", "message_not_found"),
        (json!(root), "x", "message_not_owned_by_app"),
        (plain, "x", "message_not_in_streaming_state"),
        (ts.clone(), "", "no_text"),
    ] {
        let args = json!({"channel": "C1", "ts": ts, "markdown_text": words});
        assert_eq!(error(&workspace, "chat.appendStream", args).await, code);
    }
    let update = json!({"channel": "C1", "ts": ts, "text": "x"});
    assert_eq!(error(&workspace, "chat.update", update).await, "streaming_state_conflict");
}

#[tokio::test]
async fn in_a_channel_one_person_sees_the_words_come_and_the_others_see_them_at_the_end() {
    let (workspace, ..) = with_bot().await;
    let root = workspace.say("U1", "C1", None, "root").await.unwrap();
    let args = json!({"channel": "C1", "thread_ts": root, "recipient_user_id": "U1", "recipient_team_id": "T1", "markdown_text": "secret until the end"});
    let ts = ok(&workspace, "chat.startStream", args).await["ts"].clone();
    let seen = |user: &str| last(&workspace, "C1").as_seen_by(&crate::domain::UserId::new(user)).text.clone();
    assert_eq!((seen("U1").as_str(), seen("U2").as_str()), ("secret until the end", ""));
    ok(&workspace, "chat.stopStream", json!({"channel": "C1", "ts": ts})).await;
    assert_eq!(seen("U2"), "secret until the end");
}

#[tokio::test]
async fn a_stream_ends_by_itself_and_its_message_can_then_be_updated() {
    let (workspace, _, clock) = with_bot().await;
    let (dm, ts) = began(&workspace).await;
    let more = json!({"channel": dm, "ts": ts, "markdown_text": "x"});
    clock.advance(TimeDelta::seconds(299));
    ok(&workspace, "chat.appendStream", more.clone()).await;
    clock.advance(TimeDelta::seconds(2));
    assert_eq!(error(&workspace, "chat.appendStream", more.clone()).await, "message_not_in_streaming_state");
    assert_eq!(error(&workspace, "chat.stopStream", more).await, "message_not_in_streaming_state");
    assert!(last(&workspace, &dm).streaming, "it looks unfinished");
    ok(&workspace, "chat.update", json!({"channel": dm, "ts": ts, "text": "whole"})).await;
    assert!(!last(&workspace, &dm).streaming);
}

#[tokio::test]
async fn a_stream_that_is_told_to_close_is_closed_for_the_next_words() {
    let (workspace, ..) = with_bot().await;
    let (dm, ts) = began(&workspace).await;
    workspace.misbehave("chat.appendStream", Fault::StreamCloses, 1);
    let more = json!({"channel": dm, "ts": ts, "markdown_text": "x"});
    assert_eq!(error(&workspace, "chat.appendStream", more.clone()).await, "message_not_in_streaming_state");
    assert_eq!(error(&workspace, "chat.stopStream", more).await, "message_not_in_streaming_state");
}

#[tokio::test]
async fn a_person_stops_what_is_being_written_and_the_bot_is_told() {
    let (workspace, bot, _) = with_bot().await;
    let (dm, ts) = began(&workspace).await;
    let root = workspace.messages(&dm)[0].ts.clone();
    workspace.press_stop("U1", &dm, root.as_str()).await.unwrap();
    let more = json!({"channel": dm, "ts": ts, "markdown_text": "x"});
    assert_eq!(error(&workspace, "chat.appendStream", more).await, "stopped_by_user");
    assert!(!last(&workspace, &dm).streaming);
    // app_home_opened, the message, the stream's beginning and end, the stop
    delivered(&workspace, 5).await;
    let stopped = bot.events().into_iter().find(|e| e["event"]["type"] == "agent_session_stopped").unwrap();
    assert_eq!(
        (&stopped["event"]["streaming_message_ts"], &stopped["event"]["thread_ts"]),
        (&json!([ts]), &json!(root))
    );
}

#[tokio::test]
async fn a_message_of_an_unfinished_stream_is_an_ordinary_one_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::system();
    let with_store = || Settings { store: Some(dir.path().join("workspace.jsonl")), ..settings(&clock) };
    let workspace = start(with_store()).await;
    let (dm, ts) = began(&workspace).await;
    workspace.stop().await;
    let workspace = start(with_store()).await;
    assert!(!last(&workspace, &dm).streaming);
    ok(&workspace, "chat.update", json!({"channel": dm, "ts": ts, "text": "whole"})).await;
}

#[tokio::test]
async fn words_that_come_at_the_same_time_are_all_there_and_a_reaction_given_meanwhile_stays() {
    let (workspace, ..) = with_bot().await;
    let (dm, ts) = began(&workspace).await;
    workspace.react("U1", &dm, &ts, "eyes", true).await.unwrap();
    let append = |n: usize| {
        let (workspace, args) = (&workspace, json!({"channel": dm, "ts": ts, "markdown_text": format!("[{n}]")}));
        async move { ok(workspace, "chat.appendStream", args).await }
    };
    futures::future::join_all((0..20).map(append)).await;
    let now = last(&workspace, &dm);
    assert!((0..20).all(|n| now.text.contains(&format!("[{n}]"))), "{}", now.text);
    assert_eq!(now.reactions.len(), 1);
    let half = json!({"channel": dm, "ts": ts, "chunks": [{"type": "markdown_text", "text": "half"}, {"type": "?"}]});
    assert_eq!(error(&workspace, "chat.appendStream", half).await, "invalid_chunks");
    assert!(!last(&workspace, &dm).text.contains("half"), "a refused call does nothing");
}
