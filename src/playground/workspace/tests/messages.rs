//! Messages and what is read back of them.

use super::*;

#[tokio::test]
async fn an_update_without_blocks_removes_them_and_the_bot_hears_of_it() {
    let (workspace, bot, _) = with_bot().await;
    let metadata = json!({"event_type": "outbox", "event_payload": {"key": "k1"}});
    let posted = ok(
        &workspace,
        "chat.postMessage",
        json!({"channel": "C1", "text": "card", "blocks": card(), "metadata": metadata}),
    )
    .await;
    ok(&workspace, "chat.update", json!({"channel": "C1", "ts": posted["ts"], "text": "done"})).await;
    let message = &workspace.messages("C1")[0];
    assert_eq!((message.text.as_str(), &message.blocks), ("done", &None));
    assert_eq!(message.metadata, Some(metadata), "metadata survives");
    assert!(message.edited.is_some());
    delivered(&workspace, 2).await;
    let changed = bot.events().into_iter().find(|e| e["event"]["subtype"] == "message_changed").unwrap();
    assert_eq!(changed["event"]["message"]["text"], "done");
    assert_eq!(changed["event"]["previous_message"]["text"], "card");
    assert_eq!(changed["event"]["message"]["ts"], posted["ts"]);
}

#[tokio::test]
async fn replies_come_oldest_first_in_pages_that_repeat_the_root() {
    let (workspace, ..) = with_bot().await;
    let root = workspace.say("U1", "C1", None, "root").await.unwrap();
    workspace.say("U1", "C1", None, "elsewhere").await.unwrap();
    let metadata = json!({"event_type": "outbox", "event_payload": {"key": "k"}});
    for n in 1..=5 {
        let args = json!({"channel": "C1", "thread_ts": root, "text": format!("r{n}"), "metadata": metadata});
        ok(&workspace, "chat.postMessage", args).await;
    }
    let texts = |page: &Value| -> Vec<String> {
        page["messages"].as_array().unwrap().iter().map(|m| m["text"].as_str().unwrap().to_owned()).collect()
    };
    let first = get(&workspace, "conversations.replies", &format!("channel=C1&ts={root}&limit=3")).await;
    assert_eq!(texts(&first), ["root", "r1", "r2", "r3"]);
    assert_eq!((&first["has_more"], &first["messages"][0]["reply_count"]), (&json!(true), &json!(5)));
    assert!(first["messages"][1].get("metadata").is_none());
    let cursor = first["response_metadata"]["next_cursor"].as_str().unwrap().replace('=', "%3D");
    let query = format!("channel=C1&ts={root}&limit=3&cursor={cursor}&include_all_metadata=true");
    let second = get(&workspace, "conversations.replies", &query).await;
    assert_eq!(texts(&second), ["root", "r4", "r5"]);
    assert_eq!(second["has_more"], false);
    assert_eq!(second["messages"][1]["metadata"], metadata);
    let none = get(&workspace, "conversations.replies", "channel=C1&ts=1.1").await;
    assert_eq!(none["error"], "thread_not_found");
    let json = api(&workspace, "conversations.replies", json!({"channel": "C1", "ts": root})).await;
    assert_eq!(json["error"], "invalid_arguments", "Slack does not read JSON here");
}

#[tokio::test]
async fn an_ephemeral_message_is_seen_by_one_person_and_its_press_has_no_message() {
    let (workspace, bot, _) = with_bot().await;
    let args = json!({"channel": "C1", "user": "U2", "text": "psst", "blocks": card()});
    let ts = ok(&workspace, "chat.postEphemeral", args).await["message_ts"].as_str().unwrap().to_owned();
    assert!(workspace.messages("C1").is_empty());
    assert_eq!(workspace.ephemerals("U2").len(), 1);
    let payload = pressed(&workspace, &bot, "U2", &ts).await;
    assert!(payload.get("message").is_none());
    assert_eq!(payload["container"]["is_ephemeral"], true);
    assert_eq!(workspace.press("U1", "C1", &ts, "yes").await, Err(Refused::MessageNotFound));
    let args = json!({"channel": "C1", "user": "U9", "text": "psst"});
    assert_eq!(error(&workspace, "chat.postEphemeral", args).await, "user_not_in_channel");
}

#[tokio::test]
async fn messages_are_there_after_a_restart_and_time_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::system();
    let with_store = || Settings { store: Some(dir.path().join("workspace.jsonl")), ..settings(&clock) };
    let workspace = start(with_store()).await;
    let dm = workspace.open_dm("U1").await.unwrap();
    let root = workspace.say("U1", dm.as_str(), None, "root").await.unwrap();
    let posted = ok(&workspace, "chat.postMessage", json!({"channel": dm, "thread_ts": root, "text": "one"})).await;
    ok(&workspace, "chat.update", json!({"channel": dm, "ts": posted["ts"], "text": "two"})).await;
    let args = json!({"channel": dm, "user": "U1", "text": "gone tomorrow"});
    ok(&workspace, "chat.postEphemeral", args).await;
    let before = workspace.messages(dm.as_str());
    assert_eq!(before.len(), 2);
    workspace.stop().await;

    clock.advance(TimeDelta::hours(-1));
    let workspace = start(with_store()).await;
    assert_eq!(workspace.messages(dm.as_str()), before);
    assert!(workspace.ephemerals("U1").is_empty());
    let next = workspace.say("U1", dm.as_str(), None, "later").await.unwrap();
    assert!(next > before[1].ts, "also when the clock was set back");
}

#[tokio::test]
async fn people_and_conversations_are_described() {
    let (workspace, ..) = with_bot().await;
    let user = get(&workspace, "users.info", "user=U2&include_locale=true").await;
    assert_eq!((&user["user"]["locale"], &user["user"]["tz"]), (&json!("en-US"), &json!("Europe/London")));
    let user = get(&workspace, "users.info", "user=U2").await;
    assert!(user["user"].get("locale").is_none());
    assert_eq!(get(&workspace, "users.info", "user=U9").await["error"], "user_not_found");
    assert_eq!(get(&workspace, "users.info", "user=UBOT").await["user"]["is_bot"], true);
    let opened = ok(&workspace, "conversations.open", json!({"users": "U1"})).await;
    assert_eq!(opened["channel"]["id"], "D1");
    let info = get(&workspace, "conversations.info", "channel=D1").await;
    assert_eq!((&info["channel"]["is_im"], &info["channel"]["user"]), (&json!(true), &json!("U1")));
    let members = get(&workspace, "conversations.members", "channel=C1&limit=2").await;
    assert_eq!(members["members"], json!(["U1", "U2"]));
    assert_ne!(members["response_metadata"]["next_cursor"], "");
}

#[tokio::test]
async fn history_is_newest_first_and_holds_no_replies() {
    let (workspace, ..) = with_bot().await;
    let root = workspace.say("U1", "C1", None, "one").await.unwrap();
    workspace.say("U1", "C1", Some(root.as_str()), "reply").await.unwrap();
    workspace.say("U1", "C1", None, "two").await.unwrap();
    workspace.say("U1", "C1", None, "three").await.unwrap();
    let texts = |page: &Value| -> Vec<String> {
        page["messages"].as_array().unwrap().iter().map(|m| m["text"].as_str().unwrap().to_owned()).collect()
    };
    let first = get(&workspace, "conversations.history", "channel=C1&limit=2").await;
    assert_eq!(texts(&first), ["three", "two"]);
    let cursor = first["response_metadata"]["next_cursor"].as_str().unwrap();
    let second = get(&workspace, "conversations.history", &format!("channel=C1&limit=2&cursor={cursor}")).await;
    assert_eq!(texts(&second), ["one"]);
    assert_eq!((&second["messages"][0]["reply_count"], &second["has_more"]), (&json!(1), &json!(false)));
}

#[tokio::test]
async fn people_of_other_workspaces_are_known_only_where_they_meet_the_bot() {
    let clock = Clock::system();
    let mut seed = Seed::small();
    let other = crate::domain::TeamId::new("T2");
    seed.users.push(User::new(&other, "U3", "hanako", "Hanako Sample"));
    seed.users.push(User::new(&other, "U4", "taro", "Taro Sample"));
    seed.users.push(User { is_restricted: true, ..User::new(&seed.team, "U5", "guest", "Guest Sample") });
    seed.channels.push(Channel::public("C3", "shared", &["U1", "U3", "UBOT"]).shared());
    seed.groups.push(Group {
        id: "S1".into(),
        handle: "sellers".into(),
        name: "Sellers".into(),
        members: vec![crate::domain::UserId::new("U1")],
    });
    let workspace = start(Settings { seed, ..settings(&clock) }).await;
    let bot = Bot::start(&workspace).await;
    let user = get(&workspace, "users.info", "user=U3").await;
    assert_eq!((&user["user"]["team_id"], &user["user"]["is_stranger"]), (&json!("T2"), &json!(false)));
    assert_eq!(get(&workspace, "users.info", "user=U4").await["error"], "user_not_visible");
    assert_eq!(get(&workspace, "users.info", "user=U5").await["user"]["is_restricted"], true);
    let all = get(&workspace, "users.list", "").await;
    assert_eq!(all["members"].as_array().unwrap().len(), 4);
    workspace.say("U3", "C3", None, "<@UBOT> hello").await.unwrap();
    delivered(&workspace, 2).await;
    for event in bot.events() {
        assert_eq!(event["is_ext_shared_channel"], true);
        let team = if event["event"]["type"] == "app_mention" { Value::Null } else { json!("T2") };
        assert_eq!(event["event"]["team"], team);
    }
    let groups = get(&workspace, "usergroups.list", "include_users=true").await;
    assert_eq!(
        (&groups["usergroups"][0]["handle"], &groups["usergroups"][0]["users"]),
        (&json!("sellers"), &json!(["U1"]))
    );
    assert_eq!(get(&workspace, "usergroups.users.list", "usergroup=S1").await["users"], json!(["U1"]));
    assert_eq!(get(&workspace, "usergroups.users.list", "usergroup=S9").await["error"], "no_such_subteam");
    let opened = ok(&workspace, "conversations.open", json!({"users": "U1,U2"})).await["channel"]["id"].clone();
    assert_eq!(ok(&workspace, "conversations.open", json!({"users": "U2,U1"})).await["channel"]["id"], opened);
    let opened = opened.as_str().unwrap();
    assert_eq!(get(&workspace, "conversations.info", &format!("channel={opened}")).await["channel"]["is_mpim"], true);
    workspace.say("U1", opened, None, "<@UBOT> hi all").await.unwrap();
    delivered(&workspace, 4).await;
    let kinds: Vec<_> =
        bot.events().iter().filter_map(|e| e["event"]["channel_type"].as_str().map(str::to_owned)).collect();
    assert!(kinds.contains(&"mpim".to_owned()), "{kinds:?}");
}

#[tokio::test]
async fn the_bot_reacts_once_and_takes_it_back_once() {
    let (workspace, ..) = with_bot().await;
    let root = workspace.say("U1", "C1", None, "root").await.unwrap();
    let args = |name: &str| json!({"channel": "C1", "timestamp": root, "name": name});
    ok(&workspace, "reactions.add", args("eyes")).await;
    assert_eq!(error(&workspace, "reactions.add", args("eyes")).await, "already_reacted");
    let read = get(&workspace, "reactions.get", &format!("channel=C1&timestamp={root}")).await;
    assert_eq!(read["message"]["reactions"], json!([{"name": "eyes", "users": ["UBOT"], "count": 1}]));
    ok(&workspace, "reactions.remove", args("eyes")).await;
    assert_eq!(error(&workspace, "reactions.remove", args("eyes")).await, "no_reaction");
    assert_eq!(error(&workspace, "reactions.add", args("")).await, "invalid_name");
    assert!(workspace.messages("C1")[0].reactions.is_empty());
}
