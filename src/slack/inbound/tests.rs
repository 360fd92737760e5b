use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::slack::signature::tests::verified;

fn me() -> Me {
    Me {
        team: TeamId::new("T0FARM"),
        user: UserId::new("U0BOT"),
        bot_id: Some("B0BOT".into()),
        app_id: Some("A0APP".into()),
    }
}

fn envelope(event: Value) -> Value {
    json!({
        "type": "event_callback", "team_id": "T0FARM", "api_app_id": "A0APP", "event_id": "Ev1",
        "authorizations": [{ "team_id": "T0FARM", "user_id": "U0BOT", "is_bot": true }], "event": event,
    })
}

fn dm(extra: Value) -> Value {
    let mut event = json!({
        "type": "message", "channel": "D0MORI", "channel_type": "im", "user": "U0MORI", "text": "0002の売上は？",
        "ts": "1795000000.000100",
    });
    for (k, v) in extra.as_object().unwrap() {
        event[k] = v.clone();
    }
    envelope(event)
}

fn read(envelope: &Value) -> Inbound {
    event(&verified(envelope.to_string()), &me())
}

fn message(envelope: &Value) -> Message {
    match read(envelope) {
        Inbound::Message(message) => message,
        other => unreachable!("{other:?}"),
    }
}

fn said(text: &str) -> Message {
    message(&dm(json!({ "text": text })))
}

#[test]
fn the_challenge_is_returned() {
    assert_eq!(read(&json!({ "type": "url_verification", "challenge": "c1" })), Inbound::Challenge("c1".into()));
}

#[test]
fn a_direct_message_is_read() {
    assert_eq!(
        message(&dm(json!({ "thread_ts": "1794999999.000001" }))),
        Message {
            event_id: Some("Ev1".into()),
            team: TeamId::new("T0FARM"),
            channel: ChannelId::new("D0MORI"),
            channel_kind: ChannelKind::Dm,
            sender: Person::new("T0FARM", "U0MORI"),
            text: "0002の売上は？".into(),
            mentions_me: false,
            mentions_others: false,
            ts: MessageTs::new("1795000000.000100"),
            thread_ts: Some(MessageTs::new("1794999999.000001")),
            is_ext_shared: false,
        }
    );
}

#[test]
fn a_mention_and_its_message_read_the_same_but_for_the_kind_of_channel() {
    let text = json!({ "channel": "C0SALES", "text": "<@U0BOT> 先月は？" });
    let mut as_message = dm(text.clone());
    as_message["event"]["channel_type"] = json!("channel");
    let mut as_mention = dm(text);
    as_mention["event"]["type"] = json!("app_mention");
    as_mention["event"].as_object_mut().unwrap().remove("channel_type");
    let (a, b) = (message(&as_message), message(&as_mention));
    assert_eq!((a.channel_kind, b.channel_kind), (ChannelKind::Channel, ChannelKind::Unknown));
    assert_eq!(Message { channel_kind: b.channel_kind, ..a }, b);
    assert_eq!(b.text, "先月は？");
    assert!(b.mentions_me);
}

#[test]
fn only_the_bots_own_mention_is_removed() {
    for (raw, text, me, others) in [
        ("<@U0BOT|concierge> hi", "hi", true, false),
        ("<@U0BOT2> hi", "@U0BOT2 hi", false, true),
        ("<@U0MATE> <@U0BOT> fix this", "@U0MATE fix this", true, true),
        ("Hello <@U0BOT> test", "Hello test", true, false),
        ("<@U0BOT> ping <@U0MATE|aki> now", "ping @aki now", true, true),
        ("<@U0OTHER> can you look?", "@U0OTHER can you look?", false, true),
        ("<@U0BOT>", "", true, false),
        ("<@U0BOT>　今月は？", "今月は？", true, false),
        ("&lt;@U0BOT&gt; とは？", "<@U0BOT> とは？", false, false),
    ] {
        let message = said(raw);
        assert_eq!((message.text.as_str(), message.mentions_me, message.mentions_others), (text, me, others), "{raw}");
    }
}

#[test]
fn tokens_read_as_people_see_them() {
    for (raw, text) in [
        ("AT&amp;T &amp;lt; &lt;b&gt;", "AT&T &lt; <b>"),
        ("<#C0SALES|sales> と <#C0PRIV|>", "#sales と #C0PRIV"),
        ("<!here> <!channel|channel> <!subteam^S1|@farm> <!subteam^S2>", "@here @channel @farm @S2"),
        ("<!date^1795000000^{date}^https://x.example|11月>", "11月"),
        ("<!new_thing|label> <!new_thing>", "label new_thing"),
        ("<https://a.b/c?x=1&amp;y=2|資料>", "資料 (https://a.b/c?x=1&y=2)"),
        ("<https://a.b/c>", "https://a.b/c"),
        ("<http://a.example|a.example>", "http://a.example"),
        ("<mailto:a@b.example|a@b.example> <tel:0120|0120>", "a@b.example 0120"),
        ("<https://a.b|x|y>", "x|y (https://a.b)"),
        ("1 < 2", "1 < 2"),
    ] {
        assert_eq!(said(raw).text, text, "{raw}");
    }
}

#[test]
fn i16_invisible_characters_do_not_enter() {
    assert_eq!(said("0002\u{200b}の\u{202e}合計\u{e0041}").text, "0002の合計");
}

#[test]
fn i09_what_no_person_just_wrote_is_ignored() {
    for (extra, reason) in [
        (json!({ "bot_id": "B0BOT" }), "own_message"),
        (json!({ "user": "U0BOT" }), "own_message"),
        (json!({ "bot_profile": { "app_id": "A0APP" } }), "own_message"),
        (json!({ "bot_id": "B0CI", "user": null }), "bot_message"),
        (json!({ "bot_profile": { "app_id": "A0CI" } }), "bot_message"),
        (json!({ "subtype": "bot_message", "user": null }), "bot_message"),
        (json!({ "user": "USLACKBOT" }), "slackbot"),
        (json!({ "subtype": "message_changed", "hidden": true, "user": null, "message": { "text": "x" } }), "edit"),
        (json!({ "subtype": "message_deleted" }), "edit"),
        (json!({ "edited": { "user": "U0MORI", "ts": "1" } }), "edit"),
        (json!({ "subtype": "tabbed_canvas_updated" }), "subtype"),
        (json!({ "subtype": "assistant_app_thread" }), "subtype"),
        (json!({ "hidden": true }), "hidden"),
        (json!({ "user": null }), "no_user"),
        (json!({ "type": "reaction_added" }), "other_event"),
        (json!({ "type": "some_new_event" }), "other_event"),
    ] {
        assert_eq!(read(&dm(extra.clone())), Inbound::Ignored(reason), "{extra}");
    }
    for subtype in ["file_share", "thread_broadcast", "me_message"] {
        message(&dm(json!({ "subtype": subtype })));
    }
}

#[test]
fn a_mention_added_by_an_edit_is_a_message() {
    message(&dm(json!({ "type": "app_mention", "edited": { "user": "U0MORI", "ts": "1795000009.000000" } })));
}

#[test]
fn the_text_survives_whatever_surrounds_it() {
    for extra in [
        json!({ "metadata": { "event_type": "x", "event_payload": { "n": 1, "deep": [null, 1.5] } } }),
        json!({ "attachments": [{ "id": "1", "fields": [{ "value": 3 }] }] }),
        json!({ "files": [{ "url_private": "" }] }),
        json!({ "blocks": [{ "type": "rich_text", "elements": [{ "type": "message_mention" }, 7, "http://[bad"] }] }),
        json!({ "blocks": "nonsense", "thread_ts": null, "subtype": null, "bot_id": null }),
    ] {
        assert_eq!(message(&dm(extra.clone())).text, "0002の売上は？", "{extra}");
    }
    assert_eq!(message(&dm(json!({ "text": null, "files": [{}] }))).text, "");
    assert_eq!(said(&"あ".repeat(40_000)).text.chars().count(), 40_000);
}

#[test]
fn the_installation_is_where_the_bot_is_and_the_sender_keeps_their_own_team() {
    let mut shared = dm(json!({ "user_team": "T0OTHER" }));
    shared["team_id"] = json!("T0OTHER");
    shared["is_ext_shared_channel"] = json!(true);
    let m = message(&shared);
    assert_eq!((m.team.as_str(), m.sender.team.as_str(), m.is_ext_shared), ("T0FARM", "T0OTHER", true));
    for (at, expected) in [("source_team", "T0OTHER"), ("team", "T0OTHER"), ("nothing", "T0FARM")] {
        assert_eq!(message(&dm(json!({ at: "T0OTHER" }))).sender.team.as_str(), expected, "{at}");
    }
}

#[test]
fn a_null_team_is_the_bots_own() {
    let mut org = dm(json!({}));
    org["team_id"] = Value::Null;
    org["authorizations"] = json!([{ "team_id": null }]);
    assert_eq!(message(&org).team.as_str(), "T0FARM");
    org["context_team_id"] = json!("T0CONTEXT");
    assert_eq!(message(&org).team.as_str(), "T0CONTEXT");
}

#[test]
fn what_cannot_be_read_is_named() {
    for (body, reason) in [
        (&b"\xff\xfe"[..], "not_utf8"),
        (b"", "not_json"),
        (b"{\"type\":", "not_json"),
        (b"[1]", "not_an_object"),
        (b"null", "not_an_object"),
        (b"{}", "no_type"),
        (b"{\"type\":7}", "no_type"),
        (b"{\"type\":\"novel\"}", "unknown_type"),
        (b"{\"type\":\"url_verification\"}", "no_challenge"),
        (b"{\"type\":\"event_callback\"}", "no_event"),
        (b"{\"type\":\"event_callback\",\"event\":[]}", "no_event"),
    ] {
        assert_eq!(event(&verified(body), &me()), Inbound::NotUnderstood(reason));
    }
    assert_eq!(read(&dm(json!({ "channel": null }))), Inbound::NotUnderstood("no_channel"));
    assert_eq!(read(&dm(json!({ "ts": 1.5 }))), Inbound::NotUnderstood("no_ts"));
    assert_eq!(read(&json!({ "type": "app_rate_limited", "team_id": null })), Inbound::Ignored("app_rate_limited"));
}

#[test]
fn an_opened_home_is_read() {
    let opened =
        envelope(json!({ "type": "app_home_opened", "user": "U0MORI", "channel": "D0MORI", "tab": "messages" }));
    let who = Person::new("T0FARM", "U0MORI");
    assert_eq!(read(&opened), Inbound::HomeOpened { who, channel: ChannelId::new("D0MORI"), tab: "messages".into() });
}

fn press(change: impl FnOnce(&mut Value)) -> Interaction {
    let mut payload = json!({
        "type": "block_actions",
        "user": { "id": "U0MORI", "team_id": "T0FARM" }, "team": { "id": "T0FARM" },
        "container": { "type": "message", "message_ts": "1795000001.000200", "channel_id": "C0SALES" },
        "channel": { "id": "C0SALES" },
        "message": { "ts": "1795000001.000200", "metadata": { "event_payload": { "n": 1 } } },
        "response_url": "https://hooks.example/r/1",
        "actions": [{ "action_id": "proposal_confirm", "block_id": "b", "value": "Abc-_123", "action_ts": "1795000002.5" }],
    });
    change(&mut payload);
    let form: String =
        url::form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish();
    interaction(&verified(form))
}

fn click(change: impl FnOnce(&mut Value)) -> Click {
    match press(change) {
        Interaction::Click(click) => click,
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn a_press_is_read() {
    let click = click(|_| {});
    assert_eq!((click.proposal.as_str(), click.action), ("Abc-_123", ClickAction::Confirm));
    assert_eq!((click.channel.as_str(), click.message_ts.as_str()), ("C0SALES", "1795000001.000200"));
    assert_eq!(
        (click.who, click.response_url.as_str()),
        (Person::new("T0FARM", "U0MORI"), "https://hooks.example/r/1")
    );
}

#[test]
fn a_repeated_press_is_the_same_and_another_is_not() {
    let first = click(|_| {});
    assert_eq!(click(|p| p["trigger_id"] = json!("other transport")).id, first.id);
    for change in [
        (|p: &mut Value| p["user"]["id"] = json!("U0SATO")) as fn(&mut Value),
        |p| p["user"]["team_id"] = json!("T0OTHER"),
        |p| p["container"]["message_ts"] = json!("1795000001.000201"),
        |p| p["container"]["channel_id"] = json!("C0OTHER"),
        |p| p["actions"][0]["action_ts"] = json!("1795000002.6"),
        |p| p["actions"][0]["action_id"] = json!("proposal_cancel"),
    ] {
        assert_ne!(click(change).id, first.id);
    }
}

#[test]
fn i04_the_presser_keeps_their_own_team_even_when_the_teams_are_null() {
    let outsider = click(|p| {
        p["team"] = Value::Null;
        p["user"]["team_id"] = json!("T0OTHER");
    });
    assert_eq!(outsider.who, Person::new("T0OTHER", "U0MORI"));
    let without = press(|p| {
        p["team"] = Value::Null;
        p["user"]["team_id"] = Value::Null;
    });
    assert_eq!(without, Interaction::NotUnderstood("no_team"));
}

#[test]
fn a_press_on_an_ephemeral_message_or_in_an_unknown_container_is_read() {
    click(|p| {
        p.as_object_mut().unwrap().remove("message");
    });
    click(|p| p["container"]["type"] = json!("message_attachment"));
}

#[test]
fn i11_a_value_that_is_no_id_is_refused() {
    for value in
        [json!(""), json!(null), json!(7), json!("a b"), json!("{\"price\":1}"), json!("é"), json!("x".repeat(65))]
    {
        assert_eq!(
            press(|p| p["actions"][0]["value"] = value.clone()),
            Interaction::NotUnderstood("bad_value"),
            "{value}"
        );
    }
}

#[test]
fn other_interactions_are_ignored() {
    for kind in ["view_submission", "view_closed", "shortcut", "message_action", "block_suggestion", "novel"] {
        assert_eq!(press(|p| p["type"] = json!(kind)), Interaction::Ignored("other_interaction"));
    }
    assert_eq!(press(|p| p["actions"][0]["action_id"] = json!("feedback")), Interaction::Ignored("other_action"));
    assert_eq!(press(|p| p["actions"] = json!([])), Interaction::NotUnderstood("no_action"));
}

#[test]
fn the_form_is_decoded_exactly_once() {
    // The value `A%2B` would be `A+` after a second decoding; a `+` is a space and is refused; `=` cuts nothing.
    let raw = |value: &str| {
        let json = format!(r#"{{"type":"block_actions","x":"a=b","actions":[{{"action_id":"{value}"}}]}}"#);
        let form: String = url::form_urlencoded::byte_serialize(json.as_bytes()).collect();
        interaction(&verified(format!("payload={form}")))
    };
    assert_eq!(raw("A%2B"), Interaction::Ignored("other_action"));
    assert_eq!(raw("proposal_confirm"), Interaction::NotUnderstood("bad_value"));
    assert_eq!(raw("proposal%5Fconfirm"), Interaction::Ignored("other_action"));
}

#[test]
fn a_form_that_cannot_be_read_is_named() {
    for (body, reason) in [
        (&b"\xff"[..], "not_utf8"),
        (b"", "no_payload"),
        (b"other=1", "no_payload"),
        (b"payload=", "not_json"),
        (b"payload=%ZZ", "not_json"),
        (b"payload=%5B%5D", "not_an_object"),
        (b"payload={}", "no_type"),
        (b"{\"type\":\"block_actions\"}", "no_payload"),
    ] {
        assert_eq!(interaction(&verified(body)), Interaction::NotUnderstood(reason), "{body:?}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-zA-Z<@>|^!&; ]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("type|event|user|channel|ts|text|actions|container|id|value", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn i09_no_signed_body_makes_reading_fail(bytes in prop::collection::vec(any::<u8>(), 0..200), value in any_json()) {
        event(&verified(bytes.clone()), &me());
        interaction(&verified(bytes));
        read(&value);
        read(&json!({ "type": "event_callback", "event": value }));
        read(&dm(json!({ "text": value })));
        press(|p| p["actions"] = value.clone());
        press(|p| *p = value.clone());
    }

    #[test]
    fn any_text_reads_without_failing(text in "[<>@!#|^&;a-zU0BOT あ]{0,60}") {
        said(&text);
    }
}
