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
            has_files: false,
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
fn a_mention_in_a_changed_message_is_an_edit_of_its_author() {
    let edited = |by: &str| dm(json!({ "type": "app_mention", "edited": { "user": by, "ts": "1795000009.000000" } }));
    let Inbound::Edited { message, at } = read(&edited("U0MORI")) else { unreachable!() };
    assert_eq!((message.ts.as_str(), at.as_str()), ("1795000000.000100", "1795000009.000000"));
    assert!(message.mentions_me);
    assert_eq!(read(&edited("U0ADMIN")), Inbound::Ignored("edit"));
}

/// A person's message as it stands within events about it.
fn inner(text: &str, more: Value) -> Value {
    let mut message = json!({ "type": "message", "user": "U0MORI", "text": text, "ts": "1795000000.000100" });
    for (k, v) in more.as_object().unwrap() {
        message[k] = v.clone();
    }
    message
}

fn change(after: Value, before: Value) -> Value {
    envelope(json!({
        "type": "message", "subtype": "message_changed", "hidden": true, "channel": "D0MORI", "channel_type": "im",
        "ts": "1795000009.000200", "event_ts": "1795000009.000200", "message": after, "previous_message": before,
    }))
}

fn by(user: &str) -> Value {
    json!({ "edited": { "user": user, "ts": "1795000009.000000" } })
}

#[test]
fn a_changed_text_is_an_edit_with_the_messages_own_place_and_words() {
    let thread = json!({ "thread_ts": "1794999999.000001", "edited": { "user": "U0MORI", "ts": "1795000009.000000" } });
    for (was, is, words) in [
        ("600円", "700円", "700円"),
        ("", "700円", "700円"),
        ("700円", "", ""),
        ("<@U0MATE> 700円", "700円", "700円"),
        ("700円", "<@U0BOT> 700円", "700円"),
    ] {
        let Inbound::Edited { message, at } = read(&change(inner(is, thread.clone()), inner(was, json!({})))) else {
            unreachable!("{was} → {is}")
        };
        assert_eq!((message.text.as_str(), at.as_str()), (words, "1795000009.000000"));
        assert_eq!(message.ts.as_str(), "1795000000.000100", "not the event's");
        assert_eq!(message.thread_ts, Some(MessageTs::new("1794999999.000001")));
        assert_eq!((message.sender.user.as_str(), message.channel_kind), ("U0MORI", ChannelKind::Dm));
    }
}

#[test]
fn what_changed_in_a_message_without_its_author_changing_words_is_no_edit() {
    let edited = by("U0MORI");
    let preview = json!({ "attachments": [{ "from_url": "https://x.example" }] });
    let both = |mut a: Value, b: &Value| {
        a.as_object_mut().unwrap().extend(b.as_object().unwrap().clone());
        a
    };
    for (after, before) in [
        // A preview, before and after the person changed the words; a translation; a reply below.
        (inner("<https://x.example>", preview.clone()), inner("<https://x.example>", json!({}))),
        (inner("a", both(preview, &edited)), inner("a", edited.clone())),
        (inner("a", json!({ "reply_count": 3, "latest_reply": "1.1" })), inner("a", json!({ "reply_count": 2 }))),
        (inner("a", json!({ "reply_count": 3 })), Value::Null),
        (inner("a", edited.clone()), Value::Null),
        (inner("other words", json!({})), inner("a", json!({}))),
        // White space; the same link with and without its label.
        (inner("a  b\n", edited.clone()), inner(" a b", json!({}))),
        (inner("<https://x.example|x.example>", edited.clone()), inner("<https://x.example>", json!({}))),
        // Somebody else did it, or nobody who is named.
        (inner("b", by("U0ADMIN")), inner("a", json!({}))),
        (inner("b", json!({ "edited": {} })), inner("a", json!({}))),
        (inner("b", json!({ "edited": "yes" })), inner("a", json!({}))),
        // No plain message.
        (inner("b", both(edited.clone(), &json!({ "subtype": "channel_topic" }))), inner("a", json!({}))),
        (inner("b", both(edited.clone(), &json!({ "user": null }))), inner("a", json!({}))),
        (inner("b", both(edited.clone(), &json!({ "ts": null }))), inner("a", json!({}))),
        (Value::Null, inner("a", json!({}))),
        (json!("b"), json!("a")),
    ] {
        assert_eq!(read(&change(after.clone(), before.clone())), Inbound::Ignored("edit"), "{after} {before}");
    }
    // Our own edits and streams, and those of other programs.
    for (who, reason) in [
        (json!({ "user": "U0BOT" }), "own_message"),
        (json!({ "bot_id": "B0BOT" }), "own_message"),
        (json!({ "bot_id": "B0CI" }), "bot_message"),
        (json!({ "bot_profile": { "app_id": "A0CI" } }), "bot_message"),
        (json!({ "subtype": "bot_message", "user": null }), "bot_message"),
        (json!({ "user": "USLACKBOT" }), "slackbot"),
    ] {
        let after = inner("b", both(by("U0BOT"), &who));
        assert_eq!(read(&change(after, inner("a", json!({})))), Inbound::Ignored(reason), "{who}");
    }
}

#[test]
fn a_deleted_message_is_known_by_its_own_place_also_when_it_leaves_a_tombstone() {
    let deletion = |more: Value| {
        let mut event = json!({
            "type": "message", "subtype": "message_deleted", "hidden": true, "channel": "D0MORI", "channel_type": "im",
            "ts": "1795000009.000200", "deleted_ts": "1795000000.000100", "previous_message": inner("600円", json!({})),
        });
        for (k, v) in more.as_object().unwrap() {
            event[k] = v.clone();
        }
        envelope(event)
    };
    let tombstone = inner("This message was deleted.", json!({ "subtype": "tombstone", "user": "USLACKBOT" }));
    for event in [deletion(json!({})), change(tombstone, inner("600円", json!({})))] {
        let Inbound::Deleted(message) = read(&event) else { unreachable!("{event}") };
        assert_eq!((message.ts.as_str(), message.sender.user.as_str()), ("1795000000.000100", "U0MORI"));
        assert_eq!(message.text, "");
    }
    for (more, reason) in [
        (json!({ "previous_message": null }), "edit"),
        (json!({ "deleted_ts": "1795000000.000101" }), "edit"),
        (json!({ "previous_message": inner("x", json!({ "bot_id": "B0BOT" })) }), "own_message"),
        (json!({ "previous_message": inner("x", json!({ "bot_id": "B0CI" })) }), "bot_message"),
        (json!({ "channel": null }), "edit"),
    ] {
        assert_eq!(read(&deletion(more.clone())), Inbound::Ignored(reason), "{more}");
    }
}

#[test]
fn the_end_of_our_own_installation_is_told_from_that_of_others() {
    let event = |event: Value| read(&envelope(event));
    assert_eq!(event(json!({ "type": "app_uninstalled" })), Inbound::Ended("app_uninstalled"));
    let revoked = |tokens: Value| event(json!({ "type": "tokens_revoked", "tokens": tokens }));
    assert_eq!(revoked(json!({ "oauth": ["U0MORI"], "bot": ["U0BOT"] })), Inbound::Ended("tokens_revoked"));
    for other in
        [json!({ "oauth": ["U0BOT"], "bot": [] }), json!({ "bot": ["U0BOT2"] }), json!({ "bot": "U0BOT" }), json!(null)]
    {
        assert_eq!(revoked(other.clone()), Inbound::Ignored("other_token"), "{other}");
    }
    let mut elsewhere = envelope(json!({ "type": "app_uninstalled" }));
    elsewhere["authorizations"] = json!([{ "team_id": "T0OTHER" }]);
    assert_eq!(read(&elsewhere), Inbound::Ignored("other_team"));
    assert_eq!(read(&json!({ "type": "app_rate_limited", "team_id": null })), Inbound::RateLimited);
    assert_eq!(event(json!({ "type": "app_rate_limited", "minute_rate_limited": 1 })), Inbound::RateLimited);
}

#[test]
fn only_peoples_words_are_read_from_a_thread() {
    let said = |more: Value| {
        let message = inner("<@U0MATE|aki> 600円\u{200b}&amp;", more);
        spoken(&message, &TeamId::new("T0FARM"), &me()).map(|s| (s.sender.subject(), s.text))
    };
    let words = Some(("slack:T0FARM:U0MORI".to_owned(), "@aki 600円&".to_owned()));
    assert_eq!(said(json!({})), words);
    assert_eq!(said(by("U0MORI")), words, "as it reads now");
    assert_eq!(said(json!({ "team": "T0OTHER" })).unwrap().0, "slack:T0OTHER:U0MORI");
    for none in [
        json!({ "bot_id": "B0BOT" }),
        json!({ "bot_id": "B0CI" }),
        json!({ "user": "USLACKBOT" }),
        json!({ "user": null }),
        json!({ "subtype": "channel_join" }),
        json!({ "subtype": "tombstone", "hidden": true }),
        json!({ "ts": null }),
    ] {
        assert_eq!(said(none.clone()), None, "{none}");
    }
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
        read(&change(value.clone(), inner("a", json!({}))));
        read(&change(inner("b", json!({ "edited": value })), value.clone()));
        read(&dm(json!({ "subtype": "message_deleted", "previous_message": value })));
        press(|p| p["actions"] = value.clone());
        press(|p| *p = value.clone());
    }

    #[test]
    fn any_text_reads_without_failing(text in "[<>@!#|^&;a-zU0BOT あ]{0,60}") {
        said(&text);
    }

    /// Whatever stands around the words, and whoever is said to have changed them.
    #[test]
    fn an_edit_is_one_exactly_when_its_author_changed_the_words(
        was in "[ab<@U0BOT> ]{0,8}", is in "[ab<@U0BOT> ]{0,8}", by in prop_oneof!["U0MORI", "U0ADMIN", Just(String::new())],
        extra in prop_oneof![
            Just(json!({})),
            Just(json!({ "attachments": [{ "id": 1 }] })),
            Just(json!({ "blocks": [null], "subtype": null })),
            Just(json!({ "reply_count": 2, "metadata": { "event_payload": { "n": 1 } } })),
            Just(json!({ "subtype": "file_share", "files": [{}] })),
        ],
    ) {
        let mut after = inner(&is, extra);
        after["edited"] = json!({ "user": by, "ts": "1795000009.000000" });
        let seen = |raw: &str| {
            let seen = readable(raw, &me().user);
            let words: Vec<String> = seen.text.split_whitespace().map(str::to_owned).collect();
            (words, seen.mentions_me, seen.mentions_others)
        };
        let is_edit = matches!(read(&change(after, inner(&was, json!({})))), Inbound::Edited { .. });
        prop_assert_eq!(is_edit, by == "U0MORI" && seen(&was) != seen(&is));
    }
}
