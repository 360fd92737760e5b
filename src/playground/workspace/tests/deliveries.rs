//! What the bot is told, and how it is told again.

use super::*;

#[tokio::test]
async fn a_mention_in_a_channel_arrives_twice_with_one_ts_and_valid_signatures() {
    let (workspace, bot, _) = with_bot().await;
    let ts = workspace.say("U1", "C1", None, "<@UBOT> hello &amp; 今日").await.unwrap();
    delivered(&workspace, 2).await;
    let events = bot.events();
    let kinds: std::collections::BTreeSet<_> = events.iter().map(|e| e["event"]["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["app_mention", "message"].into());
    assert!(events.iter().all(|e| e["event"]["ts"] == ts.as_str() && e["event"]["user"] == "U1"));
    assert_ne!(events[0]["event_id"], events[1]["event_id"]);
    assert_eq!(events[0]["authorizations"][0]["user_id"], "UBOT");
    for (headers, body) in bot.requests() {
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(b"sign").unwrap();
        mac.update(format!("v0:{}:", headers["x-slack-request-timestamp"].to_str().unwrap()).as_bytes());
        mac.update(&body);
        assert_eq!(headers["x-slack-signature"], format!("v0={}", hex::encode(mac.finalize().into_bytes())));
        assert!(!headers.contains_key("x-slack-retry-num"));
    }
}

#[tokio::test]
async fn a_dm_a_reply_and_what_the_bot_says_itself_arrive_once_as_messages() {
    let (workspace, bot, _) = with_bot().await;
    let dm = workspace.open_dm("U1").await.unwrap();
    let root = workspace.say("U1", dm.as_str(), None, "hi <@UBOT>").await.unwrap();
    delivered(&workspace, 2).await;
    ok(&workspace, "chat.postMessage", json!({"channel": dm, "thread_ts": root, "text": "answer"})).await;
    workspace.say("U1", dm.as_str(), Some(root.as_str()), "thanks").await.unwrap();
    delivered(&workspace, 4).await;
    let events: Vec<Value> = bot.events().into_iter().map(|e| e["event"].clone()).collect();
    assert_eq!(events[0]["type"], "app_home_opened");
    assert_eq!((&events[0]["tab"], &events[0]["channel"]), (&json!("messages"), &json!(dm)));
    let texts = |text: &str| events.iter().filter(|e| e["text"] == text).cloned().collect::<Vec<_>>();
    let mentioned = texts("hi <@UBOT>");
    assert_eq!(mentioned.len(), 1, "a mention in a DM is only a message");
    assert_eq!((&mentioned[0]["type"], &mentioned[0]["channel_type"]), (&json!("message"), &json!("im")));
    assert_eq!(texts("answer")[0]["bot_id"], "B1");
    assert_eq!(texts("thanks")[0]["thread_ts"], root.as_str());
    assert_eq!(texts("thanks")[0]["parent_user_id"], "U1");
}

#[tokio::test]
async fn nothing_is_delivered_from_a_channel_the_bot_is_not_in() {
    let (workspace, bot, _) = with_bot().await;
    workspace.say("U1", "C2", None, "<@UBOT> are you there?").await.unwrap();
    workspace.say("U1", "C1", None, "a plain message").await.unwrap();
    delivered(&workspace, 1).await;
    assert_eq!(bot.events().len(), 1);
    assert_eq!(error(&workspace, "chat.postMessage", json!({"channel": "C2", "text": "x"})).await, "not_in_channel");
    assert_eq!(error(&workspace, "chat.postMessage", json!({"channel": "C9", "text": "x"})).await, "channel_not_found");
    assert_eq!(workspace.say("U9", "C1", None, "x").await, Err(Refused::UserNotFound));
}

#[tokio::test]
async fn a_failed_delivery_is_repeated_with_the_same_event_id_and_a_fresh_signature() {
    let (workspace, bot, _) = with_bot().await;
    bot.answer(500, &[]);
    bot.answer(503, &[]);
    workspace.say("U1", "C1", None, "hello").await.unwrap();
    delivered(&workspace, 1).await;
    let requests = bot.requests();
    assert_eq!(requests.len(), 3);
    let ids: std::collections::BTreeSet<_> = bot.events().iter().map(|e| e["event_id"].to_string()).collect();
    assert_eq!(ids.len(), 1);
    let header = |i: usize, name: &str| requests[i].0.get(name).map(|v| v.to_str().unwrap().to_owned());
    assert_eq!(header(0, "x-slack-retry-num"), None);
    assert_eq!(header(1, "x-slack-retry-num").as_deref(), Some("1"));
    assert_eq!(header(2, "x-slack-retry-num").as_deref(), Some("2"));
    assert_eq!(header(2, "x-slack-retry-reason").as_deref(), Some("http_error"));
    let statuses: Vec<_> = workspace.deliveries()[0].attempts.iter().map(|a| a.status).collect();
    assert_eq!(statuses, [Some(500), Some(503), Some(200)]);
}

#[tokio::test]
async fn a_delivery_ends_after_three_retries_or_when_the_bot_says_so() {
    let (workspace, bot, _) = with_bot().await;
    bot.answer(500, &[("x-slack-no-retry", "1")]);
    workspace.say("U1", "C1", None, "one").await.unwrap();
    let attempts = |n: usize, of: usize| {
        move |w: &World| (w.deliveries().nth(of).is_some_and(|d| d.attempts.len() == n)).then_some(())
    };
    workspace.wait_for(attempts(1, 0), SOON).await.unwrap();
    (0..4).for_each(|_| bot.answer(500, &[]));
    workspace.say("U1", "C1", None, "two").await.unwrap();
    workspace.wait_for(attempts(4, 1), SOON).await.unwrap();
    workspace.say("U1", "C1", None, "three").await.unwrap();
    delivered(&workspace, 1).await;
    assert_eq!(bot.requests().len(), 1 + 4 + 1);
}

#[tokio::test]
async fn a_raw_request_is_delivered_as_it_is() {
    let (workspace, bot, _) = with_bot().await;
    let request = workspace.signed_request(b"\xff\xfe", "application/json");
    let outcome = workspace.deliver_raw(Endpoint::Events, request.clone(), &[("x-slack-retry-num", "1")]).await;
    assert_eq!(outcome.status, Some(200));
    let (headers, body) = &bot.requests()[0];
    assert_eq!(&body[..], b"\xff\xfe");
    assert_eq!(headers["x-slack-signature"], request.signature.as_str());
    assert_eq!(headers["x-slack-retry-num"], "1");
}

#[tokio::test]
async fn only_what_the_app_asked_for_is_delivered() {
    let clock = Clock::system();
    let workspace = start(Settings { events: vec!["message.im".into()], ..settings(&clock) }).await;
    let bot = Bot::start(&workspace).await;
    workspace.say("U1", "C1", None, "<@UBOT> in a channel").await.unwrap();
    let dm = workspace.open_dm("U1").await.unwrap();
    workspace.say("U1", dm.as_str(), None, "in a DM").await.unwrap();
    delivered(&workspace, 1).await;
    let texts: Vec<_> = bot.events().iter().map(|e| e["event"]["text"].clone()).collect();
    assert_eq!(texts, ["in a DM"]);
    assert_eq!(
        workspace.press_stop("U1", "C1", workspace.messages("C1")[0].ts.as_str()).await,
        Err(Refused::NotSupported)
    );
}

/// What arrived at the bot, in order: type, text, retry.
fn arrived(bot: &super::Bot) -> Vec<String> {
    let line = |(headers, body): &(HeaderMap, Bytes)| {
        let envelope: Value = serde_json::from_slice(body).unwrap();
        let retry = headers.get("x-slack-retry-reason").map_or("", |r| r.to_str().unwrap());
        format!(
            "{} {} {retry}",
            envelope["event"]["type"].as_str().unwrap(),
            envelope["event"]["text"].as_str().unwrap()
        )
    };
    bot.requests().iter().map(line).collect()
}

async fn after(workspace: &Workspace, bot: &super::Bot, n: usize) -> Vec<String> {
    workspace.wait_for(|_| (bot.requests().len() >= n).then_some(()), SOON).await.expect("arrived");
    arrived(bot)
}

#[tokio::test]
async fn deliveries_go_wrong_as_ordered() {
    let (workspace, bot, _) = with_bot().await;
    workspace.misdeliver(Misdelivery::MessageBeforeMention, 1);
    workspace.say("U1", "C1", None, "<@UBOT> a").await.unwrap();
    assert_eq!(after(&workspace, &bot, 2).await, ["message <@UBOT> a ", "app_mention <@UBOT> a "]);
    workspace.misdeliver(Misdelivery::MentionBeforeMessage, 1);
    workspace.say("U1", "C1", None, "<@UBOT> b").await.unwrap();
    assert_eq!(after(&workspace, &bot, 4).await[2..], ["app_mention <@UBOT> b ", "message <@UBOT> b "]);

    workspace.misdeliver(Misdelivery::Duplicate, 1);
    workspace.say("U1", "C1", None, "c").await.unwrap();
    assert_eq!(after(&workspace, &bot, 6).await[4..], ["message c ", "message c "]);
    let ids: Vec<_> = bot.events().iter().map(|e| e["event_id"].clone()).collect();
    assert_eq!(ids[4], ids[5]);
    workspace.misdeliver(Misdelivery::AckLost, 1);
    workspace.say("U1", "C1", None, "d").await.unwrap();
    assert_eq!(after(&workspace, &bot, 8).await[6..], ["message d ", "message d http_timeout"]);

    workspace.misdeliver(Misdelivery::Reordered, 1);
    workspace.say("U1", "C1", None, "e").await.unwrap();
    workspace.say("U1", "C1", None, "f").await.unwrap();
    assert_eq!(after(&workspace, &bot, 10).await[8..], ["message f ", "message e "]);
    workspace.misdeliver(Misdelivery::Reordered, 1);
    workspace.say("U1", "C1", None, "g").await.unwrap();
    assert_eq!(after(&workspace, &bot, 11).await[10..], ["message g "], "also when nothing follows");

    workspace.misdeliver(Misdelivery::Lost, 1);
    workspace.misdeliver(Misdelivery::Delayed(Duration::from_millis(300)), 1);
    workspace.say("U1", "C1", None, "h").await.unwrap();
    workspace.say("U1", "C1", None, "i").await.unwrap();
    workspace.say("U1", "C1", None, "j").await.unwrap();
    assert_eq!(after(&workspace, &bot, 13).await[11..], ["message j ", "message i "]);
}

#[tokio::test]
async fn the_newest_requests_are_kept_with_how_long_they_took() {
    let (workspace, bot, _) = with_bot().await;
    let ts = workspace.say("U1", "C1", None, "hello").await.unwrap();
    delivered(&workspace, 1).await;
    let delivery = workspace.deliveries().pop().unwrap();
    assert_eq!(delivery.message, Some((crate::domain::ChannelId::new("C1"), ts)));
    assert_eq!(delivery.request.unwrap().body, bot.requests()[0].1);
    assert!(delivery.attempts[0].took_ms.is_some());
    let card = posted_card(&workspace).await;
    workspace.press("U1", "C1", &card, "yes").await.unwrap();
    let press = workspace.interactions().pop().unwrap();
    assert_eq!((press.kind.as_str(), press.action.as_str(), press.status), ("block_actions", "yes", Some(200)));
    assert_eq!(press.message.unwrap().1.as_str(), card);
}

#[tokio::test]
async fn an_event_that_is_still_on_its_way_has_the_time_at_which_it_left() {
    let clock = Clock::system();
    let workspace = start(settings(&clock)).await;
    // A bot that takes the connection and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    workspace.set_bot_urls(&url, &url);
    let before = clock.now_ms();
    workspace.say("U1", "C1", None, "hello").await.unwrap();
    let sent = workspace.look(|w| w.deliveries().next().cloned()).unwrap();
    assert!(sent.attempts.is_empty());
    assert!((before..=clock.now_ms()).contains(&sent.at));
}
