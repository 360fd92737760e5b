//! What Slack, a broken network or somebody else may send to the bot, and what Slack and the model may answer it.
//!
//! Each test sends something odd and then makes sure that the bot still answers the next person.

use std::time::{Duration, Instant};

use sales_concierge::playground::sample;
use sales_concierge::playground::workspace::Fault;
use serde_json::{Value, json};

use crate::harness::model::last_words;
use crate::harness::raw::{EVENTS, FORM, INTERACTIONS, JSON, dm_message, dm_of, envelope, form};
use crate::harness::{AOKI, Options, PATIENCE, Place, Rig, Say, has_buttons, shown};

const EMMA: &str = "U0EMMA";
const HARA: &str = "U0HARA";
const NODA_GUEST: &str = "U0NODA";
const ARAI_UNKNOWN: &str = "U0ARAI";
const ISHII_REVOKED: &str = "U0ISHII";
const CHANNEL: &str = "C0HANBAI";
const BOT: &str = "U0CONCIERGE";

/// A rig whose model repeats what it was told, and whose metrics can be read.
async fn echoing(env: &[(&'static str, &str)]) -> Rig {
    let env = env.iter().map(|(k, v)| (*k, (*v).to_owned()));
    let metrics = ("SALES_CONCIERGE__SERVER__METRICS_LISTEN", "127.0.0.1:0".to_owned());
    let rig = Rig::with(Options { env: env.chain([metrics]).collect(), ..Options::default() }).await;
    rig.model.rule(|request| Some(Say::text(&format!("聞きました「{}」", last_words(request)))));
    rig
}

/// The bot answers a new message.
async fn answers(rig: &Rig) {
    let place = rig.dm(AOKI, "まだ動いていますか").await;
    rig.says(&place, "聞きました「まだ動いていますか」").await;
    assert_eq!(rig.model.faults(), Vec::<String>::new());
}

/// How many turns reached the model with these words.
fn turns_with(rig: &Rig, words: &str) -> usize {
    rig.model.requests().iter().filter(|r| last_words(r).contains(words)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn i09_what_slack_did_not_sign_is_refused_and_changes_nothing() {
    let rig = echoing(&[]).await;
    let event = envelope("Ev0UNSIGNED", dm_message(AOKI, "1700000000.000100", "こんにちは")).to_string().into_bytes();
    let press = form(&json!({
        "type": "block_actions", "user": {"id": AOKI, "team_id": sample::TEAM},
        "container": {"channel_id": dm_of(AOKI), "message_ts": "1700000000.000200"},
        "actions": [{"action_id": "proposal_confirm", "value": "AAAAAAAAAAAAAAAAAAAAAAAAAAA", "action_ts": "1.1"}],
    }));
    let before = rig.stored().await;
    let mut refused = 0;
    for (path, body, kind) in [(EVENTS, &event, JSON), (INTERACTIONS, &press, FORM), ("/slack/commands", &press, FORM)]
    {
        let good = rig.signed(body, kind, 0);
        let (stamp, sign) = (good.timestamp.as_str(), good.signature.as_str());
        let t = ("X-Slack-Request-Timestamp", stamp);
        let s = ("X-Slack-Signature", sign);
        let upper = format!("V0={}", sign.trim_start_matches("v0=").to_uppercase());
        let cut = &sign[..sign.len() - 2];
        for headers in [
            vec![],
            vec![t],
            vec![s],
            vec![t, ("X-Slack-Signature", "")],
            vec![t, ("X-Slack-Signature", "v0=")],
            vec![t, ("X-Slack-Signature", "v0=zz")],
            vec![t, ("X-Slack-Signature", cut)],
            vec![t, ("X-Slack-Signature", upper.trim_start_matches("V0="))],
            vec![s, ("X-Slack-Request-Timestamp", "")],
            vec![s, ("X-Slack-Request-Timestamp", "now")],
            vec![s, ("X-Slack-Request-Timestamp", "-1")],
            vec![s, ("X-Slack-Request-Timestamp", "99999999999999999999")],
        ] {
            let answer = rig.send_raw(path, &headers, body).await;
            assert_eq!(answer.status, 401, "{path} {headers:?}");
            refused += 1;
        }
        for seconds in [-86_400, -302, 302, 86_400] {
            let answer = rig.send_signed(path, rig.signed(body, kind, seconds), &[]).await;
            assert_eq!(answer.status, 401, "{path} signed {seconds} s from now");
            refused += 1;
        }
        let mut altered = rig.signed(body, kind, 0);
        altered.body.push(b' ');
        assert_eq!(rig.send_signed(path, altered, &[]).await.status, 401);
        refused += 1;
    }
    assert_eq!(rig.stored().await, before);
    assert_eq!(rig.metric("events_total", "unsigned").await, f64::from(refused));
    // The clock may differ by minutes.
    for seconds in [-290, 290] {
        assert_eq!(rig.send_signed(EVENTS, rig.signed(b"{}", JSON, seconds), &[]).await.status, 200);
    }
    answers(&rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_signed_and_not_understood_is_acknowledged_and_counted() {
    let rig = echoing(&[]).await;
    let before = rig.stored().await;
    let not_understood: Vec<(&str, Vec<u8>, &str)> = vec![
        (EVENTS, b"".to_vec(), JSON),
        (EVENTS, b"[]".to_vec(), JSON),
        (EVENTS, b"null".to_vec(), JSON),
        (EVENTS, b"\"event_callback\"".to_vec(), JSON),
        (EVENTS, br#"{"type":"event_callback","event":{"type":"mess"#.to_vec(), JSON),
        (EVENTS, b"{\"type\":\"event_callback\",\"event\":{\"text\":\"\xff\xfe\"}}".to_vec(), JSON),
        (EVENTS, b"{}".to_vec(), JSON),
        (EVENTS, br#"{"type":7}"#.to_vec(), JSON),
        (EVENTS, br#"{"type":"something_new"}"#.to_vec(), JSON),
        (EVENTS, br#"{"type":"url_verification"}"#.to_vec(), JSON),
        (EVENTS, br#"{"type":"url_verification","challenge":{"a":1}}"#.to_vec(), JSON),
        (EVENTS, br#"{"type":"event_callback"}"#.to_vec(), JSON),
        (EVENTS, br#"{"type":"event_callback","event":[]}"#.to_vec(), JSON),
        (EVENTS, br#"{"type":"event_callback","event":{"type":"message","user":"U0AOKI"}}"#.to_vec(), JSON),
        (
            EVENTS,
            br#"{"type":"event_callback","event":{"type":"message","user":"U0AOKI","channel":"D0AOKI"}}"#.to_vec(),
            JSON,
        ),
        (EVENTS, format!("{}1{}", "[".repeat(5000), "]".repeat(5000)).into_bytes(), JSON),
        (INTERACTIONS, b"".to_vec(), FORM),
        (INTERACTIONS, b"payload=%ZZ".to_vec(), FORM),
        (INTERACTIONS, b"payload=%FF%FE".to_vec(), FORM),
        (INTERACTIONS, b"payload=[]".to_vec(), FORM),
        (INTERACTIONS, b"payload={}".to_vec(), FORM),
        (INTERACTIONS, br#"{"type":"block_actions"}"#.to_vec(), JSON),
        (INTERACTIONS, form(&json!({"type": "block_actions"})), FORM),
        (INTERACTIONS, form(&json!({"type": "block_actions", "actions": "x"})), FORM),
        (INTERACTIONS, press_of(&json!("has spaces and <b>")), FORM),
        (INTERACTIONS, press_of(&json!(null)), FORM),
        (INTERACTIONS, press_of(&json!("A".repeat(5000))), FORM),
    ];
    for (path, body, kind) in &not_understood {
        let answer = rig.send(path, body, kind).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, ""), "{}", String::from_utf8_lossy(body));
    }
    assert_eq!(rig.metric("events_total", "not_understood").await, not_understood.len() as f64);
    let ignored = [
        envelope("Ev0A", json!({"type": "reaction_added", "user": AOKI})),
        envelope("Ev0B", json!({"type": "brand_new_event", "anything": [null, 1, {"x": "y"}]})),
        envelope("Ev0C", json!({"type": "message", "channel": "C0HANBAI", "ts": "1.1", "text": "誰もいない"})),
        envelope(
            "Ev0D",
            json!({"type": "message", "subtype": "channel_join", "user": AOKI, "channel": "C0HANBAI", "ts": "1.2"}),
        ),
        envelope(
            "Ev0E",
            json!({"type": "message", "subtype": "brand_new", "user": AOKI, "channel": "D0AOKI", "ts": "1.3"}),
        ),
        json!({"type": "app_rate_limited", "minute_rate_limited": 1}),
    ];
    for event in &ignored {
        assert_eq!(rig.event(event).await.status, 200, "{event}");
    }
    for kind in ["view_submission", "view_closed", "shortcut", "message_action", "brand_new"] {
        assert_eq!(rig.interaction(&json!({"type": kind, "user": {"id": AOKI}})).await.status, 200, "{kind}");
    }
    let other = json!({"type": "block_actions", "actions": [{"action_id": "link", "value": "x"}]});
    assert_eq!(rig.interaction(&other).await.status, 200);
    assert_eq!(rig.send("/slack/commands", b"command=%2Fx&text=", FORM).await.status, 200);
    assert_eq!(rig.send("/slack/options", b"payload={}", FORM).await.status, 200);
    assert_eq!(rig.metric("events_total", "ignored").await, 13.0);
    assert_eq!(rig.metric("events_total", "app_rate_limited").await, 1.0);
    assert_eq!(rig.stored().await, before);
    answers(&rig).await;
}

fn press_of(value: &Value) -> Vec<u8> {
    form(&json!({
        "type": "block_actions", "user": {"id": AOKI, "team_id": sample::TEAM},
        "container": {"channel_id": dm_of(AOKI), "message_ts": "1.1"},
        "actions": [{"action_id": "proposal_confirm", "value": value, "action_ts": "1.1"}],
    }))
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_fields_around_a_persons_words_do_not_keep_them_from_being_answered() {
    let rig = echoing(&[]).await;
    for (n, odd) in [
        json!({"team": null, "user_team": null, "source_team": 5}),
        json!({"metadata": {"event_type": 3, "event_payload": {"id": 12, "nested": [1.5, null]}}}),
        json!({"blocks": [{"type": "holodeck", "block_id": 7}, {"type": "rich_text", "elements": null}, null]}),
        json!({"blocks": "not a list", "attachments": [{"id": 1}], "files": null}),
        json!({"client_msg_id": 5, "edited": null, "bot_id": null, "bot_profile": null, "subtype": null, "hidden": false}),
        json!({"channel_type": "brand_new", "thread_ts": null, "parent_user_id": null}),
        json!({"subtype": "file_share", "files": [{"id": "F1", "mode": "tombstone"}]}),
        json!({"subtype": "me_message"}),
    ]
    .into_iter()
    .enumerate()
    {
        let words = format!("変わった知らせ{n}番");
        let ts = rig.unheard(AOKI, &dm_of(AOKI), None, &words).await;
        let mut event = dm_message(AOKI, &ts, &words);
        event.as_object_mut().expect("an object").extend(odd.as_object().expect("an object").clone());
        let mut whole = envelope(&format!("Ev0ODD{n}"), event);
        whole["authorizations"] = if n % 2 == 0 { json!(null) } else { json!([{"team_id": sample::TEAM, "user_id": 1}]) };
        whole["event_context"] = json!({"new": true});
        // Slack sends JSON under another name, or with a byte order of its own, after each change of theirs.
        let kind = ["application/json", "application/json; charset=utf-8", "text/plain", "application/octet-stream"][n % 4];
        let answer = rig.send(EVENTS, whole.to_string().as_bytes(), kind).await;
        assert_eq!(answer.status, 200, "{odd}");
        rig.says(&Place { channel: dm_of(AOKI), root: ts }, &format!("聞きました「{words}」")).await;
    }
    assert_eq!(rig.model.faults(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_above_one_mebibyte_is_refused_and_one_below_is_read() {
    let rig = echoing(&[]).await;
    let before = rig.stored().await;
    for path in [EVENTS, INTERACTIONS] {
        let large = vec![b' '; (1 << 20) + 1];
        assert_eq!(rig.send(path, &large, JSON).await.status, 413, "{path}");
        let fits = vec![b' '; 1 << 20];
        assert_eq!(rig.send(path, &fits, JSON).await.status, 200, "{path}");
    }
    assert_eq!(rig.stored().await, before);
    let challenge = json!({"type": "url_verification", "token": "t", "challenge": "3eZbrw1a-.~<&\"あ"});
    let answer = rig.event(&challenge).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "3eZbrw1a-.~<&\"あ"));
    let unsigned = rig.send_raw(EVENTS, &[("Content-Type", JSON)], challenge.to_string().as_bytes()).await;
    assert_eq!((unsigned.status, unsigned.body.as_str()), (401, ""));
    answers(&rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_delivered_again_and_again_is_one_turn() {
    let rig = echoing(&[]).await;
    let ts = rig.unheard(AOKI, &dm_of(AOKI), None, "四度目の正直").await;
    let event = envelope("Ev0AGAIN", dm_message(AOKI, &ts, "四度目の正直")).to_string();
    for attempt in 0..4 {
        let num = attempt.to_string();
        let retry = [("X-Slack-Retry-Num", num.as_str()), ("X-Slack-Retry-Reason", "http_timeout")];
        let more = if attempt == 0 { &[][..] } else { &retry[..] };
        let answer = rig.send_signed(EVENTS, rig.signed(event.as_bytes(), JSON, 0), more).await;
        assert_eq!(answer.status, 200);
    }
    let place = Place { channel: dm_of(AOKI), root: ts };
    rig.says(&place, "聞きました「四度目の正直」").await;
    rig.settles().await;
    assert_eq!(turns_with(&rig, "四度目の正直"), 1);
    assert_eq!(rig.bot_messages(&place).len(), 1);
    assert_eq!(rig.metric("events_total", "duplicate").await, 3.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_whose_first_delivery_never_arrived_is_processed() {
    let rig = echoing(&[]).await;
    let ts = rig.unheard(AOKI, &dm_of(AOKI), None, "最初の便は届かない").await;
    let event = envelope("Ev0LOST", dm_message(AOKI, &ts, "最初の便は届かない")).to_string();
    let retry = [("X-Slack-Retry-Num", "2"), ("X-Slack-Retry-Reason", "connection_failed")];
    assert_eq!(rig.send_signed(EVENTS, rig.signed(event.as_bytes(), JSON, 0), &retry).await.status, 200);
    rig.says(&Place { channel: dm_of(AOKI), root: ts }, "聞きました「最初の便は届かない」").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_two_events_of_a_mention_are_one_turn_in_either_order() {
    let rig = echoing(&[]).await;
    for (n, order) in [["app_mention", "message"], ["message", "app_mention"]].into_iter().enumerate() {
        let words = format!("二通で一つ{n}");
        let ts = rig.unheard(AOKI, CHANNEL, None, &format!("<@{BOT}> {words}")).await;
        for (m, kind) in order.into_iter().enumerate() {
            let mut event = json!({
                "type": kind, "channel": CHANNEL, "user": AOKI, "team": sample::TEAM, "ts": ts, "event_ts": ts,
                "text": format!("<@{BOT}> {words}"),
            });
            if kind == "message" {
                event["channel_type"] = json!("channel");
            }
            assert_eq!(rig.event(&envelope(&format!("Ev0PAIR{n}{m}"), event)).await.status, 200);
        }
        let place = Place { channel: CHANNEL.to_owned(), root: ts };
        rig.says(&place, &words).await;
        rig.settles().await;
        assert_eq!(rig.bot_messages(&place).len(), 1);
        assert_eq!(turns_with(&rig, &words), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_person_wrote_begins_no_turn() {
    let rig = echoing(&[]).await;
    let place = rig.dm(AOKI, "会話を始めます").await;
    rig.answer(&place, 1).await;
    rig.settles().await;
    let (before, asked) = (rig.stored().await, rig.model.requests().len());
    let dm = |more: Value| {
        let mut event = dm_message(AOKI, "1900000000.000100", "機械の言葉");
        event["thread_ts"] = json!(place.root);
        for (key, value) in more.as_object().expect("an object") {
            event[key] = value.clone();
        }
        event
    };
    let edited = json!({"user": AOKI, "ts": "1900000000.000200"});
    let inner = dm(json!({"edited": edited}));
    for (n, event) in [
        dm(json!({"user": BOT, "bot_id": "B0CONCIERGE", "app_id": "A0CONCIERGE"})),
        dm(json!({"user": BOT})),
        dm(json!({"user": "U0OTHER", "bot_id": "B0OTHER"})),
        dm(json!({"user": null, "bot_id": "B0OTHER", "subtype": "bot_message", "username": "hook"})),
        dm(json!({"bot_profile": {"id": "B0OTHER"}})),
        dm(json!({"user": "USLACKBOT"})),
        dm(json!({"subtype": "message_changed", "hidden": true, "message": inner, "previous_message": inner})),
        dm(json!({"subtype": "message_changed", "message": inner})),
        dm(json!({"subtype": "message_deleted", "hidden": true, "deleted_ts": place.root, "previous_message": inner})),
        dm(json!({"subtype": "message_replied", "message": inner})),
        dm(json!({"subtype": "message_changed", "message": {"user": AOKI, "text": "https://x.example", "attachments": [{"from_url": "https://x.example"}]}})),
        dm(json!({"edited": edited})),
        dm(json!({"hidden": true})),
        dm(json!({"subtype": "channel_topic", "topic": "x"})),
        dm(json!({"subtype": "reminder_add"})),
        json!({"type": "app_mention", "user": BOT, "bot_id": "B0CONCIERGE", "channel": CHANNEL, "ts": "1900000000.000300", "text": format!("<@{BOT}> 自分へ")}),
        json!({"type": "app_mention", "user": "U0OTHER", "bot_id": "B0OTHER", "channel": CHANNEL, "ts": "1900000000.000400", "text": format!("<@{BOT}> 機械から")}),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(rig.event(&envelope(&format!("Ev0BOT{n}"), event.clone())).await.status, 200, "{event}");
    }
    rig.settles().await;
    assert_eq!(rig.stored().await, before);
    assert_eq!(rig.model.requests().len(), asked);
    answers(&rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bot_speaks_when_spoken_to_and_is_silent_otherwise() {
    let rig = echoing(&[]).await;
    // Labelled, in the middle of a sentence, without a space.
    let labelled =
        rig.workspace.say(AOKI, CHANNEL, None, &format!("ねえ<@{BOT}|concierge>、名札つき")).await.expect("said");
    let place = Place { channel: CHANNEL.to_owned(), root: labelled.as_str().to_owned() };
    assert!(shown(&rig.answer(&place, 1).await).contains("名札つき"));
    // In a thread it takes part in, a reply needs no mention.
    rig.reply(AOKI, &place, "続きの質問").await;
    rig.says(&place, "続きの質問").await;
    rig.reply("U0MORI", &place, "別の人の質問").await;
    rig.says(&place, "別の人の質問").await;
    // What is said to others, or elsewhere, is none of its business.
    for text in [
        "<@U0MORI> どう思う？",
        "<@U0MORI|mori> どう思う？",
        "<!channel> 皆さん",
        "<!here> 誰か",
        "<!subteam^S0123|@team> 見て",
    ] {
        rig.reply(AOKI, &place, &format!("他人への言葉 {text}")).await;
    }
    let apart = rig.workspace.say(AOKI, CHANNEL, None, "他人への言葉 ただの雑談").await.expect("said");
    let apart = Place { channel: CHANNEL.to_owned(), root: apart.as_str().to_owned() };
    rig.reply("U0MORI", &apart, "他人への言葉 雑談の返事").await;
    // The typed look of a mention is no mention.
    rig.reply(AOKI, &apart, &format!("他人への言葉 &lt;@{BOT}&gt; concierge")).await;
    // A mention of both is for the bot too.
    rig.reply(AOKI, &place, &format!("<@U0MORI> <@{BOT}> 二人への言葉")).await;
    rig.says(&place, "二人への言葉").await;
    // Called into a conversation, it stays.
    rig.reply(AOKI, &apart, &format!("<@{BOT}> 途中から")).await;
    rig.says(&apart, "途中から").await;
    rig.reply(AOKI, &apart, "呼ばれた後").await;
    rig.says(&apart, "呼ばれた後").await;
    rig.settles().await;
    assert_eq!(turns_with(&rig, "他人への言葉"), 0);
    assert_eq!(rig.bot_messages(&apart).len(), 2);
    // A direct message needs nothing at all.
    let dm = rig.dm(AOKI, "ここだけの話").await;
    rig.says(&dm, "ここだけの話").await;
    assert_eq!(rig.model.faults(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_texts_are_answered() {
    let rig = echoing(&[]).await;
    for text in ["", "   ", "\u{3000}", "\u{200b}\u{202e}", "\u{0}"] {
        let ts = rig.unheard(AOKI, &dm_of(AOKI), None, "（空）").await;
        assert_eq!(rig.event(&envelope(&format!("Ev0E{ts}"), dm_message(AOKI, &ts, text))).await.status, 200);
        rig.says(&Place { channel: dm_of(AOKI), root: ts }, "ご用件をお書きください").await;
    }
    let place = rig.mention(AOKI, CHANNEL, "").await;
    rig.whispers(AOKI, "ご用件をお書きください").await;
    assert_eq!(rig.bot_messages(&place).len(), 0);
    let asked = rig.model.requests().len();
    let long = rig.dm(EMMA, &"長".repeat(40_000)).await;
    rig.says(&long, "This message is too long").await;
    assert_eq!(rig.model.requests().len(), asked, "what is too long is not worked on");
    for text in [
        "👨‍👩‍👧‍👦🍅🇯🇵",
        "か\u{3099}き\u{3099}く\u{3099}",
        "Ｎｏ．０００２　ﾄﾏﾄ ５個",
        "𠮷野家の辻\u{e0100}さん",
        "a &amp; b &lt;c&gt; *d* _e_ `f`",
    ] {
        let place = rig.dm(AOKI, text).await;
        let answer = rig.answer(&place, 1).await;
        assert!(shown(&answer).contains("聞きました"), "{text}: {}", shown(&answer));
    }
    // Slack's own most: 40,000 characters in one event, also in an unknown language and without any break.
    let place = rig.dm(AOKI, &"あ".repeat(7_900)).await;
    rig.says(&place, "聞きました").await;
    assert_eq!(rig.model.faults(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn people_who_may_not_are_told_so_privately_and_nothing_is_looked_up() {
    let rig = echoing(&[]).await;
    for (user, words) in [
        (NODA_GUEST, "ゲストの方"),
        (ARAI_UNKNOWN, "ご利用には登録が必要です"),
        (ISHII_REVOKED, "ご利用の権限が停止されています"),
    ] {
        let place = rig.mention(user, CHANNEL, "0002の売上を教えて").await;
        rig.whispers(user, words).await;
        assert_eq!(rig.bot_messages(&place).len(), 0, "{user}");
        let dm = rig.dm(user, "0002の売上を教えて").await;
        rig.says(&dm, words).await;
    }
    // The same user id in another workspace is another person.
    for (n, more) in [
        json!({"user_team": "T0OTHER"}),
        json!({"source_team": "T0OTHER", "team": sample::TEAM}),
        json!({"team": "T0OTHER"}),
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("<@{BOT}> よその会社から");
        let ts = rig.unheard(AOKI, CHANNEL, None, &text).await;
        let mut event = json!({"type": "app_mention", "channel": CHANNEL, "user": AOKI, "ts": ts, "text": text});
        event.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let mut whole = envelope(&format!("Ev0EXT{n}"), event);
        whole["is_ext_shared_channel"] = json!(true);
        assert_eq!(rig.event(&whole).await.status, 200);
        rig.settles().await;
        let place = Place { channel: CHANNEL.to_owned(), root: ts };
        assert_eq!(rig.bot_messages(&place).len(), 0);
        assert_eq!(rig.workspace.ephemerals(AOKI).len(), n + 1);
    }
    assert_eq!(rig.model.requests().len(), 0);
    let external = "SELECT count(*) FROM audit WHERE result = 'external' AND message LIKE 'T%:C%:%'";
    assert_eq!(rig.count(external).await, 3, "with the message");
    let refused = "SELECT count(*) FROM audit WHERE event = 'person_refused'";
    assert_eq!(rig.count(refused).await, 9, "each refusal is on record");
    assert_eq!(rig.count("SELECT count(*) FROM audit").await, 9, "and nothing else is");
    answers(&rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k01_while_the_store_is_down_slack_is_told_so_and_its_retry_is_processed() {
    let rig = echoing(&[]).await;
    answers(&rig).await;
    rig.settles().await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(rig.data_dir().join("work.sqlite"));
    let mut lock = sqlx::ConnectOptions::connect(&options).await.expect("connects");
    sqlx::query("BEGIN EXCLUSIVE").execute(&mut lock).await.expect("locked");
    let ts = rig.unheard(AOKI, &dm_of(AOKI), None, "倉庫が閉まっている").await;
    let event = envelope("Ev0DOWN", dm_message(AOKI, &ts, "倉庫が閉まっている"));
    let begun = Instant::now();
    assert_eq!(rig.event(&event).await.status, 503);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(rig.metric("events_total", "store_down").await, 1.0);
    sqlx::query("ROLLBACK").execute(&mut lock).await.expect("unlocked");
    sqlx::Connection::close(lock).await.expect("closed");
    let begun = Instant::now();
    while rig.event(&event).await.status != 200 {
        assert!(begun.elapsed() < PATIENCE, "the store is up again");
    }
    let place = Place { channel: dm_of(AOKI), root: ts };
    rig.says(&place, "倉庫が閉まっている").await;
    rig.settles().await;
    assert_eq!(turns_with(&rig, "倉庫が閉まっている"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn k02_an_event_that_was_stored_before_the_process_died_is_one_turn_after_slacks_retry() {
    let mut rig = echoing(&[]).await;
    rig.model.rule(|_| Some(Say::Never));
    let ts = rig.unheard(AOKI, &dm_of(AOKI), None, "途中で倒れた").await;
    let event = envelope("Ev0DIED", dm_message(AOKI, &ts, "途中で倒れた"));
    assert_eq!(rig.event(&event).await.status, 200);
    rig.kill_bot().await;
    rig.model.rule(|request| Some(Say::text(&format!("聞きました「{}」", last_words(request)))));
    rig.start_bot().await;
    assert_eq!(rig.event(&event).await.status, 200);
    let place = Place { channel: dm_of(AOKI), root: ts };
    rig.says(&place, "聞きました「途中で倒れた」").await;
    rig.settles().await;
    assert_eq!(rig.bot_messages(&place).len(), 1);
    assert_eq!(rig.metric("events_total", "duplicate").await, 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_model_delays_no_acknowledgement() {
    let rig = echoing(&[]).await;
    rig.model.rule(|_| Some(Say::Never));
    for n in 0..5 {
        let ts = rig.unheard(AOKI, &dm_of(AOKI), None, "遅い").await;
        let begun = Instant::now();
        let answer = rig.event(&envelope(&format!("Ev0SLOW{n}"), dm_message(AOKI, &ts, "遅い"))).await;
        assert_eq!(answer.status, 200);
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_arrives_once_however_slack_misbehaves() {
    let rig = echoing(&[("SALES_CONCIERGE__SLACK__TIMEOUT_MS", "400")]).await;
    for (n, fault) in [
        Fault::RateLimited(1),
        Fault::Status(500),
        Fault::Status(503),
        Fault::StatusAfterAccept(500),
        Fault::Html,
        Fault::HangAfterAccept,
        Fault::OkFalse("internal_error".to_owned()),
        Fault::OkFalse("service_unavailable".to_owned()),
        Fault::Status(403),
        Fault::OkFalse("token_revoked".to_owned()),
        Fault::OkFalse("a_code_of_next_year".to_owned()),
    ]
    .into_iter()
    .enumerate()
    {
        rig.workspace.misbehave("chat.postMessage", fault.clone(), 1);
        let words = format!("届くはず{n}");
        let place = rig.dm(AOKI, &words).await;
        rig.says(&place, &words).await;
        rig.settles().await;
        assert_eq!(rig.bot_messages(&place).len(), 1, "{fault:?}");
        assert_eq!(turns_with(&rig, &words), 1, "{fault:?}");
    }
    assert_eq!(rig.metric("outbox_given_up_total", "").await, 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_that_slack_refuses_become_text_that_says_the_same() {
    let rig = echoing(&[]).await;
    for code in ["invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"] {
        rig.workspace.misbehave("chat.postMessage", Fault::OkFalse(code.to_owned()), 1);
        let place = rig.dm(AOKI, &format!("{code} でも届く")).await;
        let answer = rig.answer(&place, 1).await;
        assert!(answer.blocks.is_none() || answer.blocks == Some(json!([])), "{:?}", answer.blocks);
        assert!(answer.text.contains("でも届く") && answer.text.contains("登録はありません"), "{}", answer.text);
        rig.settles().await;
        assert_eq!(rig.bot_messages(&place).len(), 1, "{code}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_slack_refuses_for_good_is_given_up_without_a_loop() {
    let rig = echoing(&[]).await;
    let posts = |rig: &Rig| rig.workspace.calls().iter().filter(|c| c.method == "chat.postMessage").count();
    for (n, code) in ["not_in_channel", "channel_not_found", "is_archived"].into_iter().enumerate() {
        let before = posts(&rig);
        rig.workspace.misbehave("chat.postMessage", Fault::OkFalse(code.to_owned()), 1);
        let place = rig.dm(AOKI, "届かない").await;
        rig.until("given up", "SELECT count(*) FROM outbox WHERE given_up IS NOT NULL", n as i64 + 1).await;
        rig.settles().await;
        assert_eq!(posts(&rig), before + 1, "{code}");
        assert_eq!(rig.bot_messages(&place).len(), 0);
        // The same thread goes on.
        rig.reply(AOKI, &place, "もう一度").await;
        rig.says(&place, "聞きました「もう一度」").await;
        rig.settles().await;
    }
    assert_eq!(rig.metric("outbox_given_up_total", "").await, 3.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_harms_no_turn_and_is_never_left_behind() {
    let rig = echoing(&[("SALES_CONCIERGE__SLACK__TIMEOUT_MS", "300")]).await;
    rig.model.rule(|request| {
        Some(Say::Late(Duration::from_millis(600), Box::new(Say::text(&format!("遅い答え {}", last_words(request))))))
    });
    let faults = [
        None,
        Some(Fault::OkFalse("not_allowed_token_type".to_owned())),
        Some(Fault::Status(500)),
        Some(Fault::HangAfterAccept),
        Some(Fault::Html),
        // Under way when the turn ends: it must not be set after it was cleared.
        Some(Fault::Delay(Duration::from_millis(280))),
        // No other status is shown in this conversation for a while.
        Some(Fault::RateLimited(30)),
    ];
    for (n, fault) in faults.into_iter().enumerate() {
        if let Some(fault) = &fault {
            rig.workspace.misbehave("assistant.threads.setStatus", fault.clone(), 1);
        }
        let words = format!("状態{n}");
        let place = rig.dm(AOKI, &words).await;
        rig.says(&place, &format!("遅い答え {words}")).await;
        rig.settles().await;
        let now = sales_concierge::domain::Clock::system().now_ms();
        let left = rig.workspace.look(|w| w.status(&place.channel, &place.root, now).map(str::to_owned));
        assert_eq!(left, None, "{fault:?}");
        let statuses = rig.workspace.calls();
        let statuses = statuses.iter().filter(|c| c.method == "assistant.threads.setStatus");
        let of_thread = statuses.filter(|c| c.args.get("thread_ts") == Some(&json!(place.root)));
        assert!(of_thread.count() >= 1, "a slow turn shows that it is at work");
    }
    assert_eq!(rig.model.faults(), Vec::<String>::new());
}

/// What it is called, what the model does until the turn is over, and what comes of it: the sentences in Japanese and
/// English, and the counter's label.
type Case = (&'static str, Vec<Say>, (&'static str, &'static str, &'static str));

#[tokio::test(flavor = "multi_thread")]
async fn i25_a_model_that_talks_nonsense_ends_in_a_sentence_and_the_thread_goes_on() {
    let rig = echoing(&[("SALES_CONCIERGE__LIMITS__TURN_SECONDS", "2")]).await;
    let raw = |status: u16, body: &str| Say::Raw(status, body.to_owned());
    let completed = |output: Value| {
        raw(200, &json!({"id": "r", "object": "response", "status": "completed", "output": output}).to_string())
    };
    let forever = |say: Say| std::iter::repeat_n(say, 12).collect::<Vec<_>>();
    let nonsense = ("正しい回答を得られませんでした", "gave no usable answer", "model_nonsense");
    let unavailable = ("AIモデルに接続できません", "cannot reach the language model", "model_unavailable");
    let refused = ("受け付けてもらえませんでした", "refused the request", "model_refused");
    let time = ("2秒以内に終わらなかったため", "took longer than 2 seconds", "time");
    let cases: Vec<Case> = vec![
        ("nothing at all", forever(completed(json!([]))), nonsense),
        ("white space", forever(Say::text(" \n\u{3000}")), nonsense),
        ("no JSON", forever(raw(200, "I am a teapot")), nonsense),
        ("HTML", forever(raw(200, "<!DOCTYPE html><title>gateway</title>")), nonsense),
        ("an empty body", forever(raw(200, "")), nonsense),
        ("another shape", forever(raw(200, r#"{"choices":[]}"#)), nonsense),
        ("items of unknown types", forever(completed(json!([{"type": "hologram"}, null, 7]))), nonsense),
        ("500", forever(raw(500, "boom sk-secret")), unavailable),
        ("502 HTML", forever(raw(502, "<html>bad gateway</html>")), unavailable),
        ("429", forever(raw(429, r#"{"error":{"message":"slow down","type":"requests"}}"#)), unavailable),
        ("401", forever(raw(401, r#"{"error":{"message":"bad key sk-secret","type":"auth"}}"#)), refused),
        ("400", forever(raw(400, r#"{"error":{"message":"no such model","type":"invalid_request_error"}}"#)), refused),
        ("silence", forever(Say::Never), time),
    ];
    for (what, says, (ja, en, counter)) in cases {
        let before = rig.metric("turns_stopped_total", counter).await;
        let (mut to_aoki, mut to_emma) = (says.clone().into_iter(), says.into_iter());
        rig.model.rule(move |request| match last_words(request).as_str() {
            "困らせて" => to_aoki.next(),
            "trouble me" => to_emma.next(),
            words => Some(Say::text(&format!("聞きました「{words}」"))),
        });
        let one = async |user: &str, trouble: &str, sentence: &str| {
            let place = rig.dm(user, trouble).await;
            let answer = shown(&rig.says(&place, sentence).await);
            assert!(!["secret", "html", "teapot"].iter().any(|raw| answer.contains(raw)), "{what}: {answer}");
            rig.reply(user, &place, "次の質問").await;
            rig.says(&place, "聞きました「次の質問」").await;
        };
        tokio::join!(one(AOKI, "困らせて", ja), one(EMMA, "trouble me", en));
        rig.settles().await;
        assert_eq!(rig.metric("turns_stopped_total", counter).await, before + 2.0, "{what}");
    }
    assert_eq!(rig.model.faults(), Vec::<String>::new());
    assert!(!rig.log().contains("sk-secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn i08_a_tool_that_only_looks_like_one_of_ours_is_none_and_broken_calls_are_told_so() {
    let rig = echoing(&[]).await;
    let sale = json!({"code_customer": "0002", "products": "かぼちゃ", "price": 600});
    let calls: Vec<(&str, Value)> = vec![
        ("\u{430}dd_sale", sale.clone()),
        ("add_sale ", sale.clone()),
        (" add_sale", sale.clone()),
        ("ADD_SALE", sale.clone()),
        ("add_sal\u{435}", sale.clone()),
        ("ａｄｄ_ｓａｌｅ", sale.clone()),
        ("add\u{200b}_sale", sale.clone()),
        ("add_sale\u{0}", sale.clone()),
        ("sales__add_sale", sale.clone()),
        ("add-sale", sale.clone()),
        ("", sale.clone()),
        ("../add_sale", sale),
        ("delete_everything", json!({})),
    ];
    for batch in calls.chunks(7) {
        let batch: Vec<(&str, Value)> = batch.to_vec();
        rig.model.rule(|_| None);
        rig.model.script([Say::calls(&batch), Say::text("おわり")]);
        let place = rig.dm(AOKI, "登録して").await;
        rig.says(&place, "おわり").await;
        let last = rig.model.last();
        let results = crate::harness::model::results(&last);
        assert_eq!(results.len(), batch.len());
        assert!(results.iter().all(|r| r["data"]["code"] == "unknown_tool"), "{results:?}");
        assert!(!rig.bot_messages(&place).iter().any(has_buttons));
    }
    assert_eq!(rig.metric("tool_call_errors_total", "code=\"unknown_tool\"").await, 13.0);
    for (arguments, code) in [
        (json!("{\"code_customer\": \"0002\", \"products\":"), "invalid_arguments"),
        (json!("[1,2]"), "invalid_arguments"),
        (json!("nonsense"), "invalid_arguments"),
        (json!({}), "customer_not_found"),
        (json!({"code_customer": 2, "products": "x", "price": 1}), "customer_not_found"),
        (json!({"code_customer": ["0002"], "products": "x", "price": 1}), "customer_not_found"),
        (json!({"code_customer": "0002", "products": {"a": 1}, "price": 1}), "invalid_products"),
        (json!({"code_customer": "0002", "products": "x", "price": "千円"}), "invalid_price"),
        (json!({"code_customer": "0002", "products": "x", "price": -1}), "invalid_price"),
        (json!({"code_customer": "0002", "products": "x", "price": 1.5}), "invalid_price"),
        (json!({"code_customer": "0002", "products": "x", "price": 1e30}), "invalid_price"),
        (json!({"code_customer": "0002", "products": "x", "price": 1, "date_sales_str": "きのう"}), "invalid_date"),
        (json!({"code_customer": "0002", "products": "x", "price": 1, "date_sales_str": 20260101}), "invalid_date"),
        (json!({"code_customer": "9999", "products": "x", "price": 1}), "customer_not_found"),
        (json!({"code_customer": "' OR 1=1 --", "products": "x", "price": 1}), "customer_not_found"),
        (json!({"code_customer": "0003", "products": "x", "price": 1}), "customer_not_found"),
    ] {
        rig.model.script([Say::call("add_sale", arguments.clone()), Say::text("おわり")]);
        let place = rig.dm(AOKI, "登録して").await;
        rig.says(&place, "おわり").await;
        let results = crate::harness::model::results(&rig.model.last());
        assert_eq!(results.last().expect("a result")["data"]["code"], code, "{arguments}");
    }
    assert_eq!(rig.count("SELECT count(*) FROM proposals").await, 0);
    // A viewer's model cannot even propose.
    rig.model.script([
        Say::call("add_sale", json!({"code_customer": "0002", "products": "x", "price": 1})),
        Say::text("おわり"),
    ]);
    let place = rig.dm(HARA, "登録して").await;
    rig.says(&place, "おわり").await;
    assert_eq!(rig.count("SELECT count(*) FROM proposals").await, 0);
    assert_eq!(rig.model.faults(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn i18_a_model_that_calls_tools_for_ever_is_stopped_with_a_sentence_and_starves_nobody() {
    let rig = echoing(&[]).await;
    let mut n = 0;
    rig.model.rule(move |request| {
        let words = last_words(request);
        if !words.contains("止まらない") {
            return Some(Say::text(&format!("聞きました「{words}」")));
        }
        n += 1;
        let name = if words.contains("同じ道具") {
            "get_customers"
        } else {
            ["get_customers", "get_sales", "summarize_sales"][n % 3]
        };
        let one = (name, json!({"name_str_customer": format!("{n}"), "code_customer": "0002"}));
        let many = if words.contains("横並び") { 40 } else { 1 };
        let same = ("get_customers", json!({"code_customer": "0002"}));
        let writes: Vec<(&str, Value)> = (0..8)
            .map(|i| ("add_sale", json!({"code_customer": "0002", "products": format!("品{n}-{i}"), "price": 1})))
            .collect();
        Some(match () {
            () if words.contains("同じ呼び出し") => Say::calls(&[same.clone(), same.clone(), same.clone(), same]),
            () if words.contains("登録") => Say::calls(&writes),
            () if words.contains("長い") => {
                Say::call("get_customers", json!({"name_str_customer": "長".repeat(20_000)}))
            }
            () => Say::calls(&vec![one; many]),
        })
    });
    for (words, ja, en, stop) in [
        ("止まらない 交互", "進められるのは8段階まで", "at most 8 steps", "\"rounds\""),
        ("止まらない 同じ道具", "同じ操作が3段階を超えて", "more than 3 steps in a row", "rounds_in_a_row"),
        ("止まらない 同じ呼び出し", "同じ条件の検索が3回を超えた", "more than 3 times", "same_call"),
        ("止まらない 登録", "確認カードは5件まで", "at most 5 cards", "proposals"),
        ("止まらない 長い", "10000文字を超えた", "at most 10000 characters", "arguments_too_long"),
    ] {
        let before = rig.metric("turns_stopped_total", stop).await;
        for (user, sentence) in [(AOKI, ja), (EMMA, en)] {
            let place = rig.dm(user, words).await;
            rig.says(&place, sentence).await;
            rig.reply(user, &place, "次の質問").await;
            rig.says(&place, "聞きました「次の質問」").await;
        }
        assert_eq!(rig.metric("turns_stopped_total", stop).await, before + 2.0, "{words}");
    }
    let place = rig.dm(AOKI, "止まらない 横並び").await;
    rig.says(&place, "ここで止めました").await;
    assert_eq!(rig.model.faults(), Vec::<String>::new());
    assert_eq!(rig.approved_sales().await, 0);
}
