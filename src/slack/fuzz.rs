//! Whatever comes in is read without failing, and what Slack did not sign is refused.
//!
//! `PROPTEST_CASES` sets how many cases are tried, here and in the tests of [`super::text`] and [`super::cards`].

use chrono::{DateTime, Utc};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::inbound::{self, ClickAction, Inbound, Interaction, Me};
use super::signature::Verifier;
use super::signature::tests::verified;
use crate::domain::{Secret, TeamId, UserId};

/// So many cases, and as many times more as `PROPTEST_CASES` is above its default.
pub(crate) fn budget(cases: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = u64::from(cases) * u64::from(config.cases) / 256;
    ProptestConfig { cases: u32::try_from(cases).unwrap_or(u32::MAX).max(1), ..config }
}

fn me() -> Me {
    Me { team: TeamId::new("T1"), user: UserId::new("U0BOT"), bot_id: Some("B0BOT".into()), app_id: Some("A0".into()) }
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_795_000_000, 0).unwrap()
}

/// Each byte of a form's value written in one of the ways that decode to it.
fn form_encoded(text: &str, ways: &[u8]) -> String {
    let mut ways = ways.iter().cycle();
    text.bytes()
        .map(|byte| match (byte, ways.next().copied().unwrap_or_default() % 3) {
            (b' ', 0 | 1) => "+".to_owned(),
            (b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'*', 0 | 1) => (byte as char).to_string(),
            (_, 2) => format!("%{byte:02x}"),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

/// A value for a field that should hold something else.
fn odd_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|n| json!(n)),
        any::<String>().prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([[[{ "type": "x" }]]])),
        Just(json!({ "id": 1, "text": { "text": null } })),
        Just(Value::from("x".repeat(50_000))),
    ]
}

/// All places in a value.
fn paths(value: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| paths(inner, &format!("{at}/{key}"), out)),
        Value::Array(list) => list.iter().enumerate().for_each(|(i, inner)| paths(inner, &format!("{at}/{i}"), out)),
        _ => {}
    }
}

fn changed(mut value: Value, at: prop::sample::Index, to: Value) -> Value {
    let mut places = Vec::new();
    paths(&value, "", &mut places);
    *value.pointer_mut(&places[at.index(places.len())]).unwrap() = to;
    value
}

fn message() -> Value {
    json!({
        "type": "event_callback", "team_id": "T1", "event_id": "Ev1", "is_ext_shared_channel": false,
        "authorizations": [{ "team_id": "T1", "user_id": "U0BOT" }],
        "event": {
            "type": "message", "channel": "D1", "channel_type": "im", "user": "U0AOKI", "team": "T1", "ts": "1.2",
            "text": "<@U0BOT|bot> 0002 &lt;今日&gt; <https://shop.example|店> :tomato:", "client_msg_id": "c1",
            "blocks": [{ "type": "rich_text", "elements": [{ "type": "text", "text": "今日" }] }],
            "files": [{ "id": "F1", "url_private": "https://files.example/F1" }],
            "metadata": { "event_type": "t", "event_payload": { "key": "k" } },
        },
    })
}

fn press(value: &str) -> Value {
    json!({
        "type": "block_actions", "team": { "id": "T1" }, "user": { "id": "U0AOKI", "team_id": "T1" },
        "container": { "type": "message", "channel_id": "D1", "message_ts": "1.3" },
        "response_url": "https://hooks.example/r", "trigger_id": "t",
        "actions": [{ "action_id": "proposal_confirm", "value": value, "action_ts": "1.4", "type": "button" }],
    })
}

proptest! {
    #![proptest_config(budget(256))]

    #[test]
    fn i09_no_header_but_the_right_one_signs_anything(
        signature in prop_oneof!["(v0=)?[0-9a-fA-F]{0,70}", any::<String>()],
        timestamp in prop_oneof!["[0-9+. -]{0,20}", Just("1795000000".to_owned()), any::<String>()],
        body in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let verifier = Verifier::new(vec![Secret::new("shh"), Secret::new("older")]);
        let signature = Some(signature.as_str());
        prop_assert!(verifier.verify(signature, Some(&timestamp), body.clone(), now()).is_err());
        prop_assert!(verifier.verify(signature, None, body, now()).is_err());
    }

    #[test]
    fn a_press_is_the_same_however_its_form_is_encoded(value in "[A-Za-z0-9_-]{1,40}", ways in prop::collection::vec(any::<u8>(), 1..40)) {
        let body = format!("payload={}", form_encoded(&press(&value).to_string(), &ways));
        let read = inbound::interaction(&verified(body));
        prop_assert!(matches!(read, Interaction::Click(_)), "{:?}", read);
        let Interaction::Click(click) = read else { return Ok(()) };
        prop_assert_eq!(click.proposal.as_str(), value);
        prop_assert_eq!(click.action, ClickAction::Confirm);
        prop_assert_eq!(click.response_url, "https://hooks.example/r");
    }

    #[test]
    fn i09_a_form_of_any_bytes_is_read_without_failing(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        form in "(payload|a|%70ayload)?=?[%+&=a-fA-F0-9{}\"]{0,80}",
    ) {
        inbound::interaction(&verified(bytes));
        inbound::interaction(&verified(form.clone()));
        inbound::interaction(&verified(format!("payload={form}")));
    }

    #[test]
    fn a_payload_changed_in_two_places_is_read_without_failing_and_gives_only_what_is_there(
        first in any::<prop::sample::Index>(), second in any::<prop::sample::Index>(), one in odd_value(), two in odd_value(),
    ) {
        let event = changed(changed(message(), first, one.clone()), second, two.clone());
        let read = inbound::event(&verified(event.to_string()), &me());
        if let Inbound::Message(message) = read {
            // A sender, a place and a time are never made up.
            for (path, value) in [
                ("/event/user", message.sender.user.as_str()),
                ("/event/channel", message.channel.as_str()),
                ("/event/ts", message.ts.as_str()),
            ] {
                prop_assert_eq!(event.pointer(path).and_then(Value::as_str), Some(value));
            }
        }
        let press = changed(changed(press("P1"), first, one), second, two);
        if let Interaction::Click(click) = inbound::interaction(&verified(format!("payload={}", form_encoded(&press.to_string(), &[2])))) {
            prop_assert_eq!(press.pointer("/user/id").and_then(Value::as_str), Some(click.who.user.as_str()));
            prop_assert_eq!(press.pointer("/actions/0/value").and_then(Value::as_str), Some(click.proposal.as_str()));
        }
    }
}
