use super::*;

pub(crate) fn asker(role: Role) -> Asker {
    Asker {
        person: Person::new("T1", "U1"),
        name: "Hana".into(),
        role,
        departments: vec!["east".into()],
        lang: Lang::Ja,
        zone: chrono_tz::Asia::Tokyo,
        today: NaiveDate::from_ymd_opt(2026, 11, 29).unwrap(),
    }
}

/// What a strict endpoint demands: calls have usable, distinct ids and names, and all results of a run of calls follow
/// it at once, in any order, and nowhere else.
pub(crate) fn check_well_formed(messages: &[Message]) {
    let mut seen = std::collections::HashSet::new();
    let mut open = std::collections::HashSet::new();
    let mut answering = false;
    for message in messages {
        match message {
            Message::Call(call) => {
                assert!(!answering || open.is_empty(), "a call before the results of the last ones: {messages:?}");
                answering = false;
                assert!((1..=64).contains(&call.id.len()), "{messages:?}");
                assert!(call.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'));
                assert!((1..=64).contains(&call.name.len()));
                assert!(seen.insert(call.id.clone()), "an id twice: {messages:?}");
                open.insert(call.id.clone());
            }
            Message::Result { call_id, content } => {
                answering = true;
                assert!(open.remove(call_id), "a result of no call: {messages:?}");
                assert!(!content.is_empty());
            }
            Message::User(text) | Message::Assistant(text) | Message::Host(text) => {
                assert!(open.is_empty(), "words before the results: {messages:?}");
                assert!(!text.trim().is_empty());
                answering = false;
            }
        }
    }
    assert!(open.is_empty(), "a call without a result: {messages:?}");
}
