//! What Slack can refuse to the bot, method by method, and what a person then sees: the words arrive once, later or as
//! plain text, or a sentence says what is wrong; the card stays usable; a sale is written exactly once.
//!
//! The answer's own post and the status line are put through the same in `slack_edge`, blocks that are refused too.

use std::time::Duration;

use sales_concierge::playground::workspace::{Fault, Installation, Misdelivery, World};

use crate::harness::model::last_words;
use crate::harness::{AOKI, EMMA, Options, PATIENCE, Place, Rig, Say, has_buttons, shown};

const CHANNEL: &str = "C0HANBAI";
const SHARED: &str = "C0ICHIBA";
const MORI: &str = "U0MORI";
const MARKET: &str = "U0OKUBO";
/// Everybody with rights and a Japanese profile, then those with an English one.
const COLLEAGUES: [&str; 8] = [AOKI, MORI, "U0HARA", "U0KUDO", "U0NISHI", EMMA, "U0LIAM", "U0OLIVIA"];

/// The bot waits no longer than this for Slack.
const TIMEOUT: (&str, &str) = ("SALES_CONCIERGE__SLACK__TIMEOUT_MS", "300");

fn refusal(code: &str) -> Fault {
    Fault::OkFalse(code.to_owned())
}

/// Trouble of every kind that passes: the same call later has the ordinary outcome.
fn passing() -> Vec<Fault> {
    let garbled = ["", "[]", "{}", "{\"ok\":", "{\"ok\":\"yes\"}", "{\"ok\":false}"];
    let kinds = [
        Fault::Delay(Duration::from_millis(450)),
        Fault::Status(500),
        Fault::Status(502),
        Fault::StatusAfterAccept(503),
        Fault::Status(404),
        Fault::RateLimited(1),
        Fault::HangAfterAccept,
        Fault::Html,
        Fault::GarbledAfterAccept("{\"ok\":true}".to_owned()),
        Fault::GarbledAfterAccept("<html>".to_owned()),
    ];
    let codes = [
        "internal_error",
        "fatal_error",
        "request_timeout",
        "service_unavailable",
        "team_added_to_org",
        "invalid_auth",
        "not_authed",
        "token_revoked",
        "token_expired",
        "account_inactive",
        "missing_scope",
        "no_permission",
        "org_login_required",
        "ekm_access_denied",
        "not_allowed_token_type",
        "a_code_of_next_year",
    ];
    let garbled = garbled.map(|body| Fault::Garbled(body.to_owned()));
    kinds.into_iter().chain(garbled).chain(codes.map(refusal)).collect()
}

/// A rig whose model repeats what it was told.
async fn echoing(options: Options) -> Rig {
    let metrics = ("SALES_CONCIERGE__SERVER__METRICS_LISTEN", "127.0.0.1:0".to_owned());
    let env = options.env.into_iter().chain([metrics]).collect();
    let rig = Rig::with(Options { env, ..options }).await;
    rig.model.rule(|request| Some(Say::text(&format!("聞きました「{}」", last_words(request)))));
    rig
}

fn impatient() -> Options {
    Options { env: vec![(TIMEOUT.0, TIMEOUT.1.to_owned())], ..Options::default() }
}

/// Puts every kind of trouble to a rig, several rigs side by side: most of the time is spent in pauses.
async fn each<F: Future<Output = ()>>(run: impl Fn(Vec<Fault>) -> F) {
    futures::future::join_all(passing().chunks(COLLEAGUES.len()).map(|faults| run(faults.to_vec()))).await;
}

/// Passes one call of a method through and lets the next misbehave.
fn second(rig: &Rig, method: &str, fault: Fault) {
    rig.workspace.misbehave(method, Fault::Delay(Duration::ZERO), 1);
    rig.workspace.misbehave(method, fault, 1);
}

fn cards_of(rig: &Rig, place: &Place) -> usize {
    rig.bot_messages(place).iter().filter(|m| has_buttons(m)).count()
}

async fn given_up(rig: &Rig) -> i64 {
    rig.count("SELECT count(*) FROM outbox WHERE given_up IS NOT NULL").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_comes_once_and_can_be_pressed_however_its_post_went() {
    each(async |faults| {
        let rig = Rig::with_clerk(&[TIMEOUT]).await;
        for (n, fault) in faults.into_iter().enumerate() {
            // The first post of a turn is the answer.
            second(&rig, "chat.postMessage", fault.clone());
            let place = rig.dm(AOKI, &format!("登録 0002 かぼちゃ{n}個 600")).await;
            let card = rig.card(&place).await;
            rig.settles().await;
            assert_eq!(cards_of(&rig, &place), 1, "{fault:?}");
            assert!(!rig.confirm(AOKI, &card).await.warning, "{fault:?}");
            rig.becomes(&card, "登録しました").await;
            rig.settles().await;
            assert_eq!(rig.approved_sales().await, n as i64 + 1, "{fault:?}");
            assert_eq!(rig.bot_messages(&place).len(), 2, "{fault:?}: the answer and the card");
        }
        assert_eq!(given_up(&rig).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pressed_card_becomes_the_receipt_however_its_updates_went() {
    each(async |faults| {
        let rig = Rig::with_clerk(&[TIMEOUT]).await;
        for (n, fault) in faults.into_iter().enumerate() {
            let place = rig.dm(AOKI, &format!("登録 0002 なす{n}本 500")).await;
            let card = rig.card(&place).await;
            rig.settles().await;
            rig.workspace.misbehave("chat.update", fault.clone(), 2);
            rig.confirm(AOKI, &card).await;
            let receipt = rig.says(&place, "販売を登録しました").await;
            rig.settles().await;
            assert_eq!(rig.approved_sales().await, n as i64 + 1, "{fault:?}");
            assert_eq!(receipt.ts, card.ts, "{fault:?}: the card itself");
            assert_eq!(rig.bot_messages(&place).len(), 2, "{fault:?}");
            rig.workspace.behave();
        }
        assert_eq!(given_up(&rig).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_whose_updates_are_refused_for_good_still_writes_once_and_says_so_when_pressed_again() {
    let rig = Rig::with_clerk(&[TIMEOUT]).await;
    for (n, code) in ["cant_update_message", "edit_window_closed", "is_inactive", "channel_not_found", "not_in_channel"]
        .into_iter()
        .enumerate()
    {
        let place = rig.dm(AOKI, &format!("登録 0002 なす{n}本 500")).await;
        let card = rig.card(&place).await;
        rig.settles().await;
        let before = given_up(&rig).await;
        rig.workspace.misbehave("chat.update", refusal(code), 2);
        rig.confirm(AOKI, &card).await;
        rig.settles().await;
        rig.until("given up", "SELECT count(*) FROM outbox WHERE given_up IS NOT NULL", before + 1).await;
        let told = rig.workspace.ephemerals(AOKI).len();
        rig.confirm(AOKI, &card).await;
        let again = |w: &World| w.ephemerals(AOKI).get(told).cloned();
        let again = rig.workspace.wait_for(again, PATIENCE).await.expect("a press is never silent");
        assert!(shown(&again).contains("すでに登録済みです"), "{code}: {}", shown(&again));
        rig.settles().await;
        assert_eq!(rig.approved_sales().await, n as i64 + 1, "{code}");
        rig.workspace.behave();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_whose_blocks_are_refused_is_told_in_words() {
    let rig = Rig::with_clerk(&[TIMEOUT]).await;
    for (n, code) in
        ["invalid_blocks", "msg_blocks_too_long", "only_one_table_allowed", "msg_too_long", "block_mismatch"]
            .into_iter()
            .enumerate()
    {
        let place = rig.dm(AOKI, &format!("登録 0002 なす{n}本 500")).await;
        let card = rig.card(&place).await;
        rig.settles().await;
        rig.workspace.misbehave("chat.update", refusal(code), 1);
        rig.confirm(AOKI, &card).await;
        let receipt = rig.says(&place, "販売を登録しました").await;
        assert!(!has_buttons(&receipt), "{code}");
        rig.settles().await;
        assert_eq!(rig.approved_sales().await, n as i64 + 1, "{code}");
    }
    assert_eq!(given_up(&rig).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_whispered_arrives_however_slack_takes_it() {
    each(async |faults| {
        let rig = Rig::with_clerk(&[TIMEOUT]).await;
        let place = rig.mention(AOKI, CHANNEL, "登録 0002 かぼちゃ4個 600").await;
        let card = rig.card(&place).await;
        rig.settles().await;
        for fault in faults {
            let told = rig.workspace.ephemerals(MORI).len();
            rig.workspace.misbehave("chat.postEphemeral", fault.clone(), 1);
            rig.confirm(MORI, &card).await;
            let next = |w: &World| w.ephemerals(MORI).get(told).cloned();
            let next = rig.workspace.wait_for(next, PATIENCE).await;
            let next = next.unwrap_or_else(|| panic!("{fault:?}: nothing is whispered\n{}", rig.log()));
            assert!(shown(&next).contains("このカードのボタンを押せるのは"), "{fault:?}: {}", shown(&next));
            rig.settles().await;
            let now = rig.workspace.ephemerals(MORI).len() - told;
            // What cannot be looked up is said again when Slack does not say what became of it.
            assert!((1..=2).contains(&now), "{fault:?}: {now} times");
        }
        // Whoever asked is not hindered by any of it.
        rig.confirm(AOKI, &card).await;
        rig.becomes(&card, "登録しました").await;
        assert_eq!(rig.approved_sales().await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whisper_that_slack_refuses_for_good_is_not_tried_again() {
    let rig = Rig::with_clerk(&[TIMEOUT]).await;
    let place = rig.mention(AOKI, CHANNEL, "登録 0002 かぼちゃ4個 600").await;
    let card = rig.card(&place).await;
    rig.settles().await;
    for code in ["user_not_in_channel", "channel_not_found", "is_archived", "restricted_action"] {
        let calls = |rig: &Rig| rig.workspace.calls().iter().filter(|c| c.method == "chat.postEphemeral").count();
        let (before, lost) = (calls(&rig), given_up(&rig).await);
        rig.workspace.misbehave("chat.postEphemeral", refusal(code), 1);
        rig.confirm(MORI, &card).await;
        rig.until("given up", "SELECT count(*) FROM outbox WHERE given_up IS NOT NULL", lost + 1).await;
        assert_eq!(calls(&rig), before + 1, "{code}: not again");
    }
    // Whoever asked is not hindered by any of it.
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "登録しました").await;
    assert_eq!(rig.approved_sales().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_whose_post_is_unclear_comes_once_however_the_look_for_it_went() {
    each(async |faults| {
        let rig = echoing(impatient()).await;
        for (n, fault) in faults.into_iter().enumerate() {
            let post = if n % 2 == 0 { Fault::HangAfterAccept } else { Fault::Status(500) };
            rig.workspace.misbehave("chat.postMessage", post, 1);
            rig.workspace.misbehave("conversations.replies", fault.clone(), 1);
            let words = format!("一度だけ{n}番");
            let place = rig.dm(AOKI, &words).await;
            rig.says(&place, &words).await;
            rig.settles().await;
            assert_eq!(rig.bot_messages(&place).len(), 1, "{fault:?}");
        }
        assert_eq!(given_up(&rig).await, 0);
    })
    .await;
    let rig = echoing(impatient()).await;
    // Where Slack will never let it look, what is there stays there and nothing is said twice.
    for code in ["thread_not_found", "channel_not_found", "not_in_channel"] {
        let lost = given_up(&rig).await;
        rig.workspace.misbehave("chat.postMessage", Fault::HangAfterAccept, 1);
        rig.workspace.misbehave("conversations.replies", refusal(code), 1);
        let place = rig.dm(AOKI, code).await;
        rig.says(&place, code).await;
        rig.until("given up", "SELECT count(*) FROM outbox WHERE given_up IS NOT NULL", lost + 1).await;
        assert_eq!(rig.bot_messages(&place).len(), 1, "{code}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_of_whom_slack_says_nothing_for_a_moment_is_served_as_soon_as_it_does() {
    each(async |faults| {
        let rig = echoing(impatient()).await;
        for (fault, person) in faults.into_iter().zip(COLLEAGUES) {
            rig.workspace.misbehave("users.info", fault.clone(), 1);
            let place = rig.dm(person, "0002の売上は？").await;
            rig.says(&place, "聞きました").await;
            rig.settles().await;
            assert_eq!(rig.bot_messages(&place).len(), 1, "{fault:?}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_served_of_whom_slack_goes_on_to_say_nothing_and_they_are_told_so() {
    let rig = echoing(impatient()).await;
    rig.workspace.misbehave("users.info", Fault::Status(500), 20);
    let place = rig.dm(AOKI, "0002の売上は？").await;
    // The company's language: nobody said that the person reads another.
    rig.says(&place, "どなたからのご依頼かをSlackに確認できませんでした").await;
    rig.settles().await;
    assert_eq!(rig.bot_messages(&place).len(), 1);
    assert_eq!(rig.model.requests().len(), 0, "nothing of it reached the model");
}

#[tokio::test(flavor = "multi_thread")]
async fn people_whom_slack_does_not_show_are_told_that_they_cannot_use_it() {
    let rig = echoing(Options::default()).await;
    for (code, person) in [("user_not_found", AOKI), ("user_not_visible", MORI)] {
        rig.workspace.misbehave("users.info", refusal(code), 1);
        let place = rig.dm(person, "0002の売上は？").await;
        rig.says(&place, "社外の方はご利用いただけません").await;
    }
    // Somebody of another workspace in a shared channel, whichever of the two events comes first: only one says whence.
    for (n, how) in [Misdelivery::MentionBeforeMessage, Misdelivery::MessageBeforeMention].into_iter().enumerate() {
        rig.workspace.misdeliver(how, 1);
        let place = rig.mention(MARKET, SHARED, "0002の売上は？").await;
        let told = |w: &World| w.ephemerals(MARKET).get(n).cloned();
        let told = rig.workspace.wait_for(told, PATIENCE).await.expect("told");
        assert!(shown(&told).contains("社外の方はご利用いただけません"), "{how:?}: {}", shown(&told));
        rig.settles().await;
        assert_eq!(rig.bot_messages(&place).len(), 0, "nobody else reads it");
    }
    assert_eq!(rig.model.requests().len(), 0);
    let place = rig.mention("U0KUDO", SHARED, "こんにちは").await;
    rig.says(&place, "聞きました").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_that_slack_refuses_keeps_no_answer_away() {
    let codes = ["channel_not_found", "invalid_thread_ts", "reserved_username", "is_archived", "not_in_channel"];
    each(async |faults| {
        let rig = echoing(impatient()).await;
        rig.model.rule(|request| {
            Some(Say::Late(
                Duration::from_millis(500),
                Box::new(Say::text(&format!("聞きました「{}」", last_words(request)))),
            ))
        });
        for (n, fault) in faults.into_iter().chain(codes.map(refusal)).enumerate() {
            rig.workspace.misbehave("assistant.threads.setStatus", fault.clone(), 2);
            let words = format!("状態{n}番");
            let place = rig.dm(COLLEAGUES[n % COLLEAGUES.len()], &words).await;
            rig.says(&place, &words).await;
            rig.settles().await;
            assert_eq!(rig.bot_messages(&place).len(), 1, "{fault:?}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn codes_that_end_a_message_end_it_at_once_and_the_thread_goes_on() {
    let rig = echoing(Options::default()).await;
    let codes = [
        "cannot_reply_to_message",
        "thread_not_found",
        "invalid_thread_ts",
        "messages_tab_disabled",
        "restricted_action",
        "restricted_action_read_only_channel",
        "restricted_action_thread_locked",
        "metadata_too_large",
        "slack_connect_file_link_sharing_blocked",
        "message_limit_exceeded",
    ];
    for (n, code) in codes.into_iter().enumerate() {
        let posts = |rig: &Rig| rig.workspace.calls().iter().filter(|c| c.method == "chat.postMessage").count();
        let before = posts(&rig);
        rig.workspace.misbehave("chat.postMessage", refusal(code), 1);
        let place = rig.dm(AOKI, "届かない").await;
        rig.until("given up", "SELECT count(*) FROM outbox WHERE given_up IS NOT NULL", n as i64 + 1).await;
        rig.settles().await;
        assert_eq!(posts(&rig), before + 1, "{code}");
        rig.reply(AOKI, &place, "もう一度").await;
        rig.says(&place, "聞きました「もう一度」").await;
        rig.settles().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_in_one_channel_are_all_answered_at_slacks_own_pace() {
    let rig = echoing(Options { shape: Some(|s| s.limits = true), ..Options::default() }).await;
    let mut places = Vec::new();
    for n in 0..16 {
        places.push((rig.mention(AOKI, CHANNEL, &format!("一斉に{n}番")).await, format!("一斉に{n}番")));
    }
    for (place, words) in &places {
        rig.says(place, words).await;
    }
    rig.settles().await;
    for (place, _) in &places {
        assert_eq!(rig.bot_messages(place).len(), 1);
    }
    let posts = rig.workspace.calls().iter().filter(|c| c.method == "chat.postMessage").count();
    assert!(posts > places.len(), "Slack refused some of them at first: {posts}");
    assert_eq!(rig.metric("outbox_given_up_total", "").await, 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_is_deleted_while_it_is_answered_leaves_nothing_behind() {
    let rig = echoing(Options::default()).await;
    rig.model.rule(|request| {
        Some(Say::Late(
            Duration::from_millis(400),
            Box::new(Say::text(&format!("聞きました「{}」", last_words(request)))),
        ))
    });
    let place = rig.mention(AOKI, CHANNEL, "やっぱりやめる").await;
    let asked = |_: &World| (!rig.model.requests().is_empty()).then_some(());
    rig.workspace.wait_for(asked, PATIENCE).await;
    rig.workspace.remove(AOKI, CHANNEL, &place.root).await.expect("their own");
    rig.until("given up", "SELECT count(*) FROM outbox WHERE given_up IS NOT NULL", 1).await;
    rig.settles().await;
    assert_eq!(rig.bot_messages(&place).len(), 0);
    let place = rig.mention(AOKI, CHANNEL, "別の質問").await;
    rig.says(&place, "別の質問").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_waits_while_the_app_is_not_installed_and_comes_once_it_is_again() {
    let rig = echoing(Options::default()).await;
    // So that who asks is known.
    let place = rig.dm(AOKI, "最初").await;
    rig.says(&place, "最初").await;
    for installation in [Installation::Revoked, Installation::Inactive, Installation::Expired] {
        rig.workspace.set_installation(installation);
        let refused = |w: &World| w.calls().count();
        let before = rig.workspace.look(refused);
        let place = rig.dm(AOKI, "待っている").await;
        let tried = |w: &World| (refused(w) >= before + 2).then_some(());
        rig.workspace.wait_for(tried, PATIENCE).await.expect("it tries again");
        assert_eq!(rig.bot_messages(&place).len(), 0);
        rig.workspace.set_installation(Installation::Active);
        rig.says(&place, "待っている").await;
        rig.settles().await;
        assert_eq!(rig.bot_messages(&place).len(), 1, "{installation:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_answered_once_however_it_was_delivered() {
    let rig = echoing(Options::default()).await;
    for how in [
        Misdelivery::Duplicate,
        Misdelivery::AckLost,
        Misdelivery::MessageBeforeMention,
        Misdelivery::MentionBeforeMessage,
        Misdelivery::Delayed(Duration::from_millis(300)),
        Misdelivery::Reordered,
    ] {
        rig.workspace.misdeliver(how, 1);
        let words = format!("{how:?} でも一度");
        let place = rig.mention(AOKI, CHANNEL, &words).await;
        let next = rig.dm(AOKI, "次").await;
        rig.says(&place, &words).await;
        rig.says(&next, "次").await;
        let arrived = |w: &World| w.deliveries().all(|d| !d.attempts.is_empty()).then_some(());
        rig.workspace.wait_for(arrived, PATIENCE).await.expect("delivered");
        rig.settles().await;
        assert_eq!(rig.bot_messages(&place).len(), 1, "{how:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn words_changed_after_they_were_sent_begin_no_second_turn() {
    let rig = echoing(Options::default()).await;
    let place = rig.mention(AOKI, CHANNEL, "最初の言葉").await;
    rig.says(&place, "最初の言葉").await;
    rig.workspace.edit(AOKI, CHANNEL, &place.root, "<@U0CONCIERGE> 直した言葉").await.expect("their own");
    let told = |w: &World| {
        let mentions = w.deliveries().filter(|d| d.kind == "app_mention" && !d.attempts.is_empty()).count();
        (mentions == 2).then_some(())
    };
    rig.workspace.wait_for(told, PATIENCE).await.expect("told of the edit");
    rig.settles().await;
    assert_eq!(rig.bot_messages(&place).len(), 1);
    assert_eq!(rig.model.requests().len(), 1);
    assert_eq!(rig.model.faults(), Vec::<String>::new());
}
