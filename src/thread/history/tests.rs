//! Histories, on both engines.

use std::time::Duration;

use super::*;
use crate::domain::{ChannelId, MessageTs, Person, TeamId, ToolCall};
use crate::records::testing::Engine as RecordsEngine;
use crate::thread::queue::{self, Claimed, Job, MessageJob};
use crate::work::testing::{self, on_both_engines};

const LEASE: Duration = Duration::from_secs(30);

fn thread() -> ThreadKey {
    ThreadKey { team: TeamId::new("T1"), channel: ChannelId::new("C1"), root: MessageTs::new("1.1") }
}

fn words(text: &str) -> Item {
    Item::User { person: Person::new("T1", "U1"), name: "A".into(), text: text.into() }
}

fn texts(items: &[Item]) -> Vec<&str> {
    items
        .iter()
        .filter_map(|item| match item {
            Item::User { text, .. } | Item::Note { text, .. } | Item::Assistant { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

/// A worker with a job of the thread.
async fn claimed(work: &Work, ts: &str, lease: Duration) -> Claimed {
    let ts = MessageTs::new(ts);
    let job = Job::Message(MessageJob {
        turn: queue::turn_id(&thread(), &ts),
        thread: thread(),
        sender: Person::new("T1", "U1"),
        in_dm: true,
        text: "hello".into(),
        ts,
        is_ext_shared: false,
        addressed: true,
        has_files: false,
        change: None,
    });
    queue::push(work, &job, None).await.unwrap();
    queue::claim(work, lease).await.unwrap().unwrap()
}

/// A turn of a message, a round with a call and an answer.
async fn turn(work: &Work, lease: &Lease, name: &str, padding: usize) {
    let id = TurnId::new(name);
    let call = ToolCall { id: "1".into(), name: "get_sales".into(), arguments: serde_json::Map::new() };
    let result = Item::Result {
        call_id: "1".into(),
        content: "表".repeat(padding / 3),
        departments: vec![],
        fetched_for: Person::new("T1", "U1"),
    };
    append(work, lease, &id, 1, &[words(name), Item::Call { call }, result]).await.unwrap();
    let answer = Item::Assistant { text: format!("answer to {name}"), departments: Vec::new(), fetched_for: None };
    append_answer(work, lease, &id, &[answer], 100).await.unwrap();
}

on_both_engines! {
    async fn a_round_is_stored_once_and_a_turn_that_is_run_again_goes_on_where_it_was(engine) {
        let (_dir, work) = engine.open().await;
        let held = claimed(&work, "1.1", LEASE).await;
        let id = TurnId::new("t");
        assert!(!has(&work, &thread(), &id).await.unwrap());
        for text in ["first", "again"] {
            append(&work, &held.lease, &id, 1, &[words(text)]).await.unwrap();
        }
        append(&work, &held.lease, &id, 2, &[words("second")]).await.unwrap();
        let loaded = load(&work, &thread(), &id, 1_000).await.unwrap();
        let rounds: Vec<_> = loaded.rounds.iter().map(|round| texts(round)).collect();
        assert_eq!((rounds, loaded.next_round), (vec![vec!["first"], vec!["second"]], 3));
        assert!(loaded.before.is_empty() && loaded.answer.is_none() && !loaded.shortened);
        append_answer(&work, &held.lease, &id, &[words("answer")], 70).await.unwrap();
        append_answer(&work, &held.lease, &id, &[words("another")], 70).await.unwrap();
        let loaded = load(&work, &thread(), &id, 1_000).await.unwrap();
        assert_eq!(texts(&loaded.answer.unwrap()), ["answer"]);
        assert_eq!(session_tokens(&work, &thread()).await.unwrap(), 70, "counted once");
        assert!(has(&work, &thread(), &id).await.unwrap());
    }

    async fn k17_a_worker_whose_thread_was_taken_over_writes_nothing(engine) {
        let (_dir, work) = engine.open().await;
        let asleep = claimed(&work, "1.1", Duration::ZERO).await;
        let taken = queue::claim(&work, LEASE).await.unwrap().unwrap();
        let id = TurnId::new("t");
        let fenced = append(&work, &asleep.lease, &id, 1, &[words("asleep")]).await;
        assert!(matches!(fenced, Err(HistoryError::Fenced)));
        append(&work, &taken.lease, &id, 1, &[words("awake")]).await.unwrap();
        let fenced = append_answer(&work, &asleep.lease, &id, &[words("asleep")], 5).await;
        assert!(matches!(fenced, Err(HistoryError::Fenced)));
        let loaded = load(&work, &thread(), &id, 1_000).await.unwrap();
        assert_eq!((texts(&loaded.rounds[0]), loaded.answer.is_none()), (vec!["awake"], true));
        assert_eq!(session_tokens(&work, &thread()).await.unwrap(), 0);
    }

    async fn as_many_whole_turns_are_loaded_as_the_budget_holds_and_the_newest_whatever_it_costs(engine) {
        let (_dir, work) = engine.open().await;
        let held = claimed(&work, "1.1", LEASE).await;
        for (name, padding) in [("one", 300), ("two", 300), ("three", 300), ("four", 9_000)] {
            turn(&work, &held.lease, name, padding).await;
        }
        let seen = |loaded: &Loaded| -> Vec<String> {
            texts(&loaded.before).iter().filter(|t| !t.contains("answer")).map(|t| (*t).to_owned()).collect()
        };
        let current = TurnId::new("five");
        append(&work, &held.lease, &current, 1, &[words("five")]).await.unwrap();
        let all = ["one", "two", "three", "four"];
        let mut kept = 1;
        for budget in (0..6_000).step_by(40) {
            let loaded = load(&work, &thread(), &current, budget).await.unwrap();
            let seen = seen(&loaded);
            assert!(all.ends_with(&seen.iter().map(String::as_str).collect::<Vec<_>>()), "{budget}: {seen:?}");
            assert!(seen.len() == kept || seen.len() == kept + 1, "{budget}: {seen:?} after {kept} turns");
            kept = seen.len();
            assert_eq!(loaded.shortened, kept < all.len() || budget < 3_000, "{budget}: something was left out or cut");
            assert_eq!(loaded.rounds.len(), 1);
            assert_eq!(loaded.said.first().map(|said| said.turn.as_str()), Some("four"));
        }
        assert_eq!(kept, all.len());
    }

    async fn i18_what_a_request_has_used_counts_its_continuations_and_nothing_else(engine) {
        let (_dir, work) = engine.open().await;
        let held = claimed(&work, "1.1", LEASE).await;
        for name in ["a", "a.1", "ab", "b", "a.2"] {
            turn(&work, &held.lease, name, 30).await;
        }
        assert_eq!(used(&work, &thread(), &TurnId::new("a")).await.unwrap(), (3, 3));
        assert_eq!(used(&work, &thread(), &TurnId::new("c")).await.unwrap(), (0, 0));
    }

    async fn what_settled_proposals_left_is_copied_once_and_in_order(engine) {
        let (_dir, work) = engine.open().await;
        let (_records_dir, records) = RecordsEngine::Sqlite.open(records::postgres::Group::Bot).await;
        let held = claimed(&work, "1.1", LEASE).await;
        for text in ["first fact", "second fact"] {
            let mut tx = records.begin_durable().await.unwrap();
            leave(&mut tx, &thread(), &Item::Note { text: text.into(), departments: Vec::new() }).await.unwrap();
            tx.commit().await.unwrap();
        }
        for _ in 0..2 {
            absorb(&work, &records, &held.lease).await.unwrap();
        }
        let loaded = load(&work, &thread(), &TurnId::new("t"), 1_000).await.unwrap();
        assert_eq!(texts(&loaded.before), ["first fact", "second fact"]);
    }
}

#[tokio::test]
async fn a_thread_in_redis_keeps_a_bounded_number_of_bytes_and_whole_turns_and_never_the_request_in_progress_less() {
    let settings = redis_settings().await;
    let work = Work::open(&work::Source::Redis(settings)).await.unwrap();
    let held = claimed(&work, "1.1", LEASE).await;
    for n in 0..40 {
        turn(&work, &held.lease, &format!("turn{n:02}"), 900).await;
    }
    // A request whose continuation comes after a turn that alone is larger than what is kept.
    turn(&work, &held.lease, "origin", 600).await;
    append(&work, &held.lease, &TurnId::new("origin.1"), 1, &[words("large".repeat(5_000).as_str())]).await.unwrap();
    append_answer(&work, &held.lease, &TurnId::new("origin.1"), &[words("rest")], 0).await.unwrap();
    let Work::Redis(redis) = &work else { unreachable!() };
    let rows = redis::last(redis, &thread(), 1_000).await.unwrap();
    let turns: Vec<&str> = rows.iter().map(|row| row.turn.as_str()).collect();
    assert_eq!(turns, ["origin", "origin", "origin.1", "origin.1"]);
    turn(&work, &held.lease, "last", 300).await;
    let rows = redis::last(redis, &thread(), 1_000).await.unwrap();
    assert_eq!(rows.len(), 2, "what is too large goes with the next request");
    let keys = queue::redis::Keys::of(redis, &thread().to_string());
    let names: i64 = redis.command(::redis::cmd("SCARD").arg(keys.rounds())).await.unwrap();
    let bytes: i64 = redis.command(::redis::cmd("HGET").arg(keys.state()).arg("bytes")).await.unwrap();
    let real: i64 = rows.iter().map(|row| i64::try_from(row.items.len()).unwrap()).sum();
    assert!(names == 2 && bytes >= real && bytes < real + 200, "{names} names, {bytes} bytes of {real}");
    for n in 0..100 {
        turn(&work, &held.lease, &format!("later{n:02}"), 900).await;
        let bytes: i64 = redis.command(::redis::cmd("HGET").arg(keys.state()).arg("bytes")).await.unwrap();
        assert!(bytes <= 10_000, "{bytes}");
    }
    let rows = redis::last(redis, &thread(), 1_000).await.unwrap();
    assert!(rows.len() > 10 && rows.len() % 2 == 0, "{} rows", rows.len());
}

async fn redis_settings() -> crate::work::redis::Settings {
    crate::work::redis::Settings { history_bytes: 10_000, ..testing::settings(testing::server().await) }
}
