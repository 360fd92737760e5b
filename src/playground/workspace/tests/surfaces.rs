//! Statuses, titles, prompts, sessions, Home.

use super::*;
use crate::domain::{ChannelId, MessageTs, UserId};

#[tokio::test]
async fn a_status_ends_with_the_bots_message_or_after_two_minutes() {
    let (workspace, _, clock) = with_bot().await;
    let root = workspace.say("U1", "C1", None, "root").await.unwrap();
    let status = json!({"channel_id": "C1", "thread_ts": root, "status": "is looking"});
    let shown = || workspace.look(|w| w.status("C1", root.as_str(), clock.now_ms()).map(str::to_owned));
    ok(&workspace, "assistant.threads.setStatus", status.clone()).await;
    assert_eq!(shown().as_deref(), Some("is looking"));
    ok(&workspace, "chat.postMessage", json!({"channel": "C1", "thread_ts": root, "text": "found"})).await;
    assert_eq!(shown(), None);
    ok(&workspace, "assistant.threads.setStatus", status).await;
    clock.advance(TimeDelta::seconds(121));
    assert_eq!(shown(), None);
    ok(&workspace, "assistant.threads.setTitle", json!({"channel_id": "C1", "thread_ts": root, "title": "t"})).await;
    assert_eq!(workspace.look(|w| w.title("C1", root.as_str()).map(str::to_owned)).as_deref(), Some("t"));
    let bad = json!({"channel_id": "C1", "thread_ts": "1.1", "status": "x"});
    assert_eq!(error(&workspace, "assistant.threads.setStatus", bad).await, "invalid_thread_ts");
    let session = json!({"channel_id": "C1", "thread_ts": root, "status": "processing"});
    ok(&workspace, "agents.sessions.setStatus", session).await;
    assert_eq!(workspace.look(|w| w.session("C1", root.as_str()).map(str::to_owned)).as_deref(), Some("processing"));
}

#[tokio::test]
async fn suggested_prompts_for_a_thread_do_nothing() {
    let (workspace, ..) = with_bot().await;
    let dm = workspace.open_dm("U1").await.unwrap();
    let prompts = json!([{"title": "t", "message": "m"}]);
    let args = json!({"channel_id": dm, "thread_ts": "1.1", "prompts": prompts});
    ok(&workspace, "assistant.threads.setSuggestedPrompts", args).await;
    assert!(workspace.look(|w| w.prompts(dm.as_str()).is_none()));
    ok(&workspace, "assistant.threads.setSuggestedPrompts", json!({"channel_id": dm, "prompts": prompts})).await;
    assert_eq!(workspace.look(|w| w.prompts(dm.as_str()).cloned()), Some(prompts));
}

#[tokio::test]
async fn a_session_has_a_state_and_a_title_and_cannot_be_renamed_before_it_began() {
    let (workspace, ..) = with_bot().await;
    let root = workspace.say("U1", "C1", None, "root").await.unwrap();
    let args = |more: Value| {
        let mut args = json!({"channel_id": "C1", "thread_ts": root});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        args
    };
    assert_eq!(error(&workspace, "agents.sessions.rename", args(json!({"title": "t"}))).await, "not_authorized");
    let begun =
        ok(&workspace, "agents.sessions.setStatus", args(json!({"status": "processing", "title": "first"}))).await;
    assert!(begun.get("warning").is_none());
    ok(&workspace, "agents.sessions.rename", args(json!({"title": "second"}))).await;
    assert_eq!(workspace.look(|w| w.title("C1", root.as_str()).map(str::to_owned)).as_deref(), Some("second"));
    assert_eq!(
        error(&workspace, "agents.sessions.setStatus", args(json!({"status": "asleep"}))).await,
        "invalid_arguments"
    );
    assert_eq!(
        error(&workspace, "agents.sessions.rename", args(json!({"title": "t".repeat(201)}))).await,
        "invalid_arguments"
    );
    let loading = json!({"status": "is looking", "loading_messages": vec!["x"; 11]});
    assert_eq!(error(&workspace, "assistant.threads.setStatus", args(loading)).await, "invalid_arguments");
    let without = start(Settings { events: vec![], ..settings(&Clock::system()) }).await;
    let root = without.say("U1", "C1", None, "root").await.unwrap();
    let session = json!({"channel_id": "C1", "thread_ts": root, "status": "processing"});
    let begun = ok(&without, "agents.sessions.setStatus", session).await;
    assert_eq!(begun["warning"], "missing_agent_session_stopped_event_subscription");
}

#[tokio::test]
async fn the_bot_is_told_which_tab_was_opened() {
    let (workspace, bot, _) = with_bot().await;
    workspace.open_home("U1").await.unwrap();
    delivered(&workspace, 1).await;
    assert_eq!(bot.events()[0]["event"]["tab"], "home");
    assert_eq!(workspace.open_home("U9").await, Err(Refused::UserNotFound));
    let without = start(Settings { home_tab: false, ..settings(&Clock::system()) }).await;
    assert_eq!(without.open_home("U1").await, Err(Refused::NotSupported));
    without.open_dm("U1").await.unwrap();
}

#[test]
fn of_what_a_client_forgets_only_the_newest_is_kept() {
    let mut world = World::new(Seed::small(), 0);
    let (channel, user) = (ChannelId::new("C1"), UserId::new("U1"));
    let ts = |n: usize| MessageTs::new(format!("{n}.000000"));
    for n in 1_000..1_700 {
        let message =
            Message { ts: ts(n), only_for: Some(user.clone()), ..Message::blank(channel.clone(), user.clone()) };
        world.apply(&Change::Posted { message });
        let (thread_ts, status) = (ts(n), "processing".to_owned());
        world.apply(&Change::Session { channel: channel.clone(), thread_ts: thread_ts.clone(), status });
        let (text, loading) = ("is looking".to_owned(), Vec::new());
        world.apply(&Change::Status { channel: channel.clone(), thread_ts, text, until: 1, loading });
    }
    let shown = world.ephemerals("U1");
    assert_eq!((shown.len(), &shown[0].ts, &shown[49].ts), (50, &ts(1_650), &ts(1_699)));
    assert_eq!((world.sessions().count(), world.active_statuses(0).count()), (500, 500));
    assert_eq!((world.session("C1", "1199.000000"), world.session("C1", "1200.000000")), (None, Some("processing")));
    // An old thread in which something happens is not the one to go.
    world.apply(&Change::Session { channel, thread_ts: ts(1_000), status: "processing".into() });
    assert_eq!((world.session("C1", "1000.000000"), world.session("C1", "1200.000000")), (Some("processing"), None));
}
