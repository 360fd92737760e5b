//! What surrounds a conversation in Slack: the greeting and the prompts, the status and the Stop button, the opinion of an
//! answer.

use std::time::{Duration, Instant};

use sales_concierge::playground::sample;
use sales_concierge::playground::workspace::{Call, Fault, Message, Settings};
use serde_json::{Value, json};

use crate::harness::model::last_words;
use crate::harness::raw::{EVENTS, JSON, dm_of, envelope};
use crate::harness::{AOKI, EMMA, Options, PATIENCE, Place, Rig, Say, has_buttons, shown};

const NODA_GUEST: &str = "U0NODA";
const ARAI_UNKNOWN: &str = "U0ARAI";
const PROMPTS: &str = "assistant.threads.setSuggestedPrompts";
const SESSION: &str = "agents.sessions.setStatus";

/// A rig whose bot is told who opens its messages.
async fn told_of_opening() -> Rig {
    let shape = |settings: &mut Settings| settings.events.push("app_home_opened".to_owned());
    let timeout = ("SALES_CONCIERGE__SLACK__TIMEOUT_MS", "500".to_owned());
    Rig::with(Options { env: vec![timeout], shape: Some(shape), ..Options::default() }).await
}

/// What the bot posted into a DM itself, outside of threads.
fn greetings(rig: &Rig, user: &str) -> Vec<Message> {
    let messages = rig.workspace.messages(&dm_of(user));
    messages.into_iter().filter(|m| m.bot_id.is_some() && m.thread_ts.is_none()).collect()
}

async fn until<T>(what: &str, rig: &Rig, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}\nlog:\n{}", rig.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn calls(rig: &Rig, method: &str) -> Vec<Call> {
    rig.workspace.calls().into_iter().filter(|c| c.method == method).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_opens_the_bot_is_greeted_once_in_their_language_and_told_what_they_may_ask() {
    let rig = told_of_opening().await;
    // Slack takes the first greeting and never says so.
    rig.workspace.misbehave("chat.postMessage", Fault::HangAfterAccept, 1);
    for n in 1..=3 {
        rig.workspace.open_dm(AOKI).await.expect("opened");
        until("prompts", &rig, || (calls(&rig, PROMPTS).len() == n).then_some(())).await;
    }
    rig.workspace.open_dm(EMMA).await.expect("opened");
    until("prompts", &rig, || (calls(&rig, PROMPTS).len() == 4).then_some(())).await;
    rig.settles().await;
    let (aoki, emma) = (greetings(&rig, AOKI), greetings(&rig, EMMA));
    assert_eq!((aoki.len(), emma.len()), (1, 1), "{aoki:?} {emma:?}");
    assert!(shown(&aoki[0]).contains("ふだんの言葉でお尋ねください"), "{}", shown(&aoki[0]));
    assert!(shown(&emma[0]).contains("in your own words"), "{}", shown(&emma[0]));
    for call in calls(&rig, PROMPTS) {
        assert!(!call.args.contains_key("thread_ts"), "Slack shows nothing then: {call:?}");
        let prompts = call.args["prompts"].as_array().expect("prompts");
        assert!((1..=4).contains(&prompts.len()), "{prompts:?}");
    }
    let said = |user: &str| {
        let channel = dm_of(user);
        let last = calls(&rig, PROMPTS).into_iter().rfind(|c| c.args["channel_id"] == json!(channel)).expect("a call");
        last.args["prompts"].to_string()
    };
    assert!(said(AOKI).contains("販売を登録する"), "{}", said(AOKI));
    assert!(said(EMMA).contains("This month's sales"), "{}", said(EMMA));
    // Those who may not use it are told so when they write, and not before.
    for user in [NODA_GUEST, ARAI_UNKNOWN] {
        rig.workspace.open_dm(user).await.expect("opened");
    }
    let place = rig.dm(ARAI_UNKNOWN, "こんにちは").await;
    rig.says(&place, "ご利用には登録が必要です").await;
    rig.settles().await;
    assert_eq!(greetings(&rig, NODA_GUEST).len() + greetings(&rig, ARAI_UNKNOWN).len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_home_tab_and_a_presentation_that_fails_greet_nobody_and_harm_nothing() {
    let rig = told_of_opening().await;
    let home =
        json!({"type": "app_home_opened", "user": AOKI, "channel": dm_of(AOKI), "tab": "home", "event_ts": "1.1"});
    assert_eq!(rig.event(&envelope("Ev0HOME", home)).await.status, 200);
    rig.workspace.misbehave(PROMPTS, Fault::OkFalse("missing_scope".to_owned()), 100);
    rig.model.script([Say::text("はい、動いています。")]);
    let place = rig.dm(AOKI, "動いていますか").await;
    rig.says(&place, "動いています").await;
    until("a greeting", &rig, || greetings(&rig, AOKI).pop()).await;
    rig.settles().await;
    assert_eq!(greetings(&rig, AOKI).len(), 1, "of the DM that was opened, not of the home tab");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_turn_shows_that_it_works_what_it_is_about_and_takes_it_all_away() {
    let rig = Rig::start().await;
    rig.model.rule(|request| {
        Some(Say::Late(Duration::from_millis(900), Box::new(Say::text(&format!("答え {}", last_words(request))))))
    });
    let place = rig.dm(AOKI, "今月の\u{202e}売上を\n教えて").await;
    rig.says(&place, "答え").await;
    rig.settles().await;
    let status = calls(&rig, "assistant.threads.setStatus");
    assert!(status[0].args["loading_messages"].as_array().is_some_and(|m| m.len() >= 3), "{:?}", status[0]);
    assert_eq!(status.last().map(|c| &c.args["status"]), Some(&json!("")));
    let sessions = calls(&rig, SESSION);
    let states: Vec<&Value> = sessions.iter().map(|c| &c.args["status"]).collect();
    assert_eq!(states, [&json!("processing"), &json!("active")]);
    assert_eq!(sessions[0].args["initiator_user_id"], json!(AOKI));
    let title = rig.workspace.look(|w| w.title(&place.channel, &place.root).map(str::to_owned));
    assert_eq!(title.as_deref(), Some("今月の売上を 教えて"));
    // In a channel there is no session, and a later message gives no title.
    let mention = rig.mention(AOKI, "C0HANBAI", "今月は").await;
    rig.says(&mention, "答え").await;
    rig.reply(AOKI, &place, "先月は").await;
    rig.says(&place, "答え 先月は").await;
    rig.settles().await;
    let sessions = calls(&rig, SESSION);
    assert!(sessions.iter().all(|c| c.args["channel_id"] == json!(place.channel)), "{sessions:?}");
    assert!(sessions[2..].iter().all(|c| !c.args.contains_key("title")), "{sessions:?}");
}

/// A model that never comes to an end, and where its request arrived.
async fn thinking(rig: &Rig, text: &str) -> Place {
    rig.model.rule(|request| last_words(request).contains("考えて").then_some(Say::Never));
    let asked = rig.model.requests().len();
    let place = rig.dm(AOKI, text).await;
    until("the model is asked", rig, || (rig.model.requests().len() > asked).then_some(())).await;
    place
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stop_button_ends_the_turn_of_who_presses_it_and_says_so() {
    let rig = Rig::start().await;
    let place = thinking(&rig, "ずっと考えて").await;
    let begun = Instant::now();
    // Somebody else's press, one of before, and one in another thread end nothing.
    for (n, user, root, ts) in [
        (0, EMMA, place.root.as_str(), "9999999999.000100"),
        (1, AOKI, place.root.as_str(), "1000000000.000100"),
        (2, AOKI, "1000000000.000900", "9999999999.000100"),
    ] {
        let stop = json!({
            "type": "agent_session_stopped", "user": user, "channel": place.channel, "thread_ts": root,
            "streaming_message_ts": [], "event_ts": ts,
        });
        let body = envelope(&format!("Ev0STOP{n}"), stop).to_string();
        assert_eq!(rig.send(EVENTS, body.as_bytes(), JSON).await.status, 200);
    }
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(rig.bot_messages(&place).len(), 0, "it still works");
    rig.workspace.press_stop(AOKI, &place.channel, &place.root).await.expect("pressed");
    let answer = rig.says(&place, "停止のご指示により、ここで止めました。").await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(shown(&answer).contains("この返信による登録はありません"), "{}", shown(&answer));
    rig.settles().await;
    let now = sales_concierge::domain::Clock::system().now_ms();
    assert_eq!(rig.workspace.look(|w| w.status(&place.channel, &place.root, now).map(str::to_owned)), None);
    let session = rig.workspace.look(|w| w.session(&place.channel, &place.root).map(str::to_owned));
    assert_eq!(session.as_deref(), Some("active"));
    // The thread goes on, and the model is told that the turn was stopped.
    rig.model.rule(|request| Some(Say::text(&format!("続き {}", last_words(request)))));
    rig.reply(AOKI, &place, "では別の話").await;
    rig.says(&place, "続き では別の話").await;
    assert_eq!(rig.bot_messages(&place).len(), 2);
    assert_eq!(rig.model.faults(), Vec::<String>::new(), "i25");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_was_stopped_is_not_begun_again_after_a_crash() {
    let mut rig = Rig::start().await;
    let place = thinking(&rig, "ずっと考えて").await;
    let address = rig.bot_url("");
    let stop = json!({
        "type": "agent_session_stopped", "user": AOKI, "channel": place.channel, "thread_ts": place.root,
        "streaming_message_ts": [], "event_ts": "9999999999.000100",
    });
    let body = envelope("Ev0STOP", stop).to_string();
    assert_eq!(rig.send(EVENTS, body.as_bytes(), JSON).await.status, 200, "{address}");
    rig.kill_bot().await;
    rig.start_bot().await;
    rig.says(&place, "停止のご指示により").await;
    rig.settles().await;
    assert_eq!(rig.bot_messages(&place).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_waits_stays_as_it_is_when_its_turn_is_stopped() {
    let rig = Rig::start().await;
    let sale = json!({"code_customer": "0002", "products": "かぼちゃ4個", "price": 1800});
    let mut asked = 0;
    rig.model.rule(move |_| {
        asked += 1;
        Some(if asked == 1 { Say::call("add_sale", sale.clone()) } else { Say::Never })
    });
    let place = rig.dm(AOKI, "0002 にかぼちゃ4個 1800円で登録").await;
    rig.until("proposed", "SELECT count(*) FROM proposals", 1).await;
    until("the model is asked again", &rig, || (rig.model.requests().len() >= 2).then_some(())).await;
    rig.workspace.press_stop(AOKI, &place.channel, &place.root).await.expect("pressed");
    rig.says(&place, "停止のご指示により").await;
    let card = rig.card(&place).await;
    rig.model.rule(|_| Some(Say::text("NOTHING_LEFT")));
    rig.confirm(AOKI, &card).await;
    let receipt = rig.becomes(&card, "登録しました").await;
    assert!(!has_buttons(&receipt));
    assert_eq!(rig.approved_sales().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_think_of_an_answer_is_kept_and_counted_once() {
    let metrics = ("SALES_CONCIERGE__SERVER__METRICS_LISTEN", "127.0.0.1:0".to_owned());
    let rig = Rig::with(Options { env: vec![metrics], ..Options::default() }).await;
    rig.model.rule(|request| Some(Say::text(&format!("答え {}", last_words(request)))));
    let place = rig.dm(AOKI, "教えて").await;
    let answer = rig.says(&place, "答え 教えて").await;
    let blocks = answer.blocks.clone().unwrap_or_default();
    let buttons = blocks.as_array().and_then(|b| b.last()).cloned().unwrap_or_default();
    assert_eq!(buttons["type"], "context_actions", "{blocks}");
    let value = |which: &str| buttons["elements"][0][which]["value"].as_str().expect("a value").to_owned();
    let press = async |user: &str, value: &str| {
        let body = json!({
            "type": "block_actions", "team": {"id": sample::TEAM}, "user": {"id": user, "team_id": sample::TEAM},
            "container": {"type": "message", "channel_id": place.channel, "message_ts": answer.ts},
            "actions": [{"type": "feedback_buttons", "action_id": "answer_feedback", "value": value, "action_ts": "1.1"}],
        });
        rig.interaction(&body).await.status
    };
    let (good, bad) = (value("positive_button"), value("negative_button"));
    for (user, value) in [(AOKI, &good), (AOKI, &good), (AOKI, &bad), (EMMA, &good)] {
        assert_eq!(press(user, value).await, 200);
    }
    for other in ["", "good", "fine:abc", "good:<!channel>", &"good:".repeat(500)] {
        assert_eq!(press(AOKI, other).await, 200, "not understood, and no error to the person");
    }
    assert_eq!(rig.count("SELECT count(*) FROM feedback").await, 2);
    assert_eq!(rig.count("SELECT count(*) FROM feedback WHERE verdict = 'bad' AND user = 'U0AOKI'").await, 1);
    assert_eq!(rig.metric("feedback_total", "good").await, 2.0);
    assert_eq!(rig.metric("feedback_total", "bad").await, 1.0);
    // A sentence of the host's own asks for no opinion.
    let refused = rig.dm(ARAI_UNKNOWN, "教えて").await;
    let sentence = rig.answer(&refused, 1).await;
    assert!(!sentence.blocks.unwrap_or_default().to_string().contains("answer_feedback"));
}
