//! The queue, on both engines.

use super::*;
use crate::domain::{ChannelId, TeamId};
use crate::work::testing::{Engine, on_both_engines};

fn message(ts: &str, root: Option<&str>) -> Job {
    let (team, channel, ts) = (TeamId::new("T1"), ChannelId::new("C1"), MessageTs::new(ts));
    let thread = ThreadKey::of(&team, &channel, &ts, root.map(MessageTs::new).as_ref());
    Job::Message(MessageJob {
        turn: turn_id(&thread, &ts),
        thread,
        sender: Person::new("T1", "U1"),
        in_dm: false,
        text: "hello".into(),
        ts,
        is_ext_shared: false,
        addressed: true,
        has_files: false,
        change: None,
    })
}

mod kinds;
mod shared;

const LEASE: Duration = Duration::from_secs(30);

on_both_engines! {
    async fn the_same_message_under_another_event_id_is_a_duplicate(engine) {
        let (_dir, work) = engine.open().await;
        assert_eq!(push(&work, &message("1.1", None), Some("Ev1")).await.unwrap(), Pushed::New);
        assert_eq!(push(&work, &message("1.1", None), Some("Ev2")).await.unwrap(), Pushed::Duplicate);
        assert_eq!(push(&work, &message("1.1", None), Some("Ev1")).await.unwrap(), Pushed::Duplicate);
        assert_eq!(push(&work, &message("1.2", None), Some("Ev3")).await.unwrap(), Pushed::New);
        assert_eq!(depth(&work).await.unwrap(), 2);
    }
}

on_both_engines! {
    async fn jobs_of_one_thread_run_in_order_and_those_of_others_beside_them(engine) {
        let (_dir, work) = engine.open().await;
        for (ts, root) in [("1.1", None), ("1.2", Some("1.1")), ("2.1", None)] {
            push(&work, &message(ts, root), None).await.unwrap();
        }
        let first = claim(&work, LEASE).await.unwrap().unwrap();
        let beside = claim(&work, LEASE).await.unwrap().unwrap();
        assert_eq!(first.job, message("1.1", None));
        assert_eq!(beside.job, message("2.1", None));
        assert!(claim(&work, LEASE).await.unwrap().is_none(), "the second message of the thread has to wait");
        finish(&work, &first).await.unwrap();
        assert_eq!(claim(&work, LEASE).await.unwrap().unwrap().job, message("1.2", Some("1.1")));
    }
}

on_both_engines! {
    async fn k03_a_job_whose_worker_died_is_handed_out_again_and_the_old_lease_is_fenced_off(engine) {
        let (_dir, work) = engine.open().await;
        push(&work, &message("1.1", None), None).await.unwrap();
        let dead = claim(&work, Duration::ZERO).await.unwrap().unwrap();
        let taken = claim(&work, LEASE).await.unwrap().unwrap();
        assert_eq!(taken.attempts, 2);
        assert!(taken.lease.epoch > dead.lease.epoch);
        assert!(!renew(&work, &dead.lease, LEASE).await.unwrap());
        finish(&work, &dead).await.unwrap();
        assert_eq!(depth(&work).await.unwrap(), 1, "a fenced worker cannot finish the job");
        finish(&work, &taken).await.unwrap();
        assert_eq!(depth(&work).await.unwrap(), 0);
    }
}

on_both_engines! {
    async fn a_job_that_is_tried_again_waits_for_its_pause(engine) {
        let (_dir, work) = engine.open().await;
        push(&work, &message("1.1", None), None).await.unwrap();
        let claimed = claim(&work, LEASE).await.unwrap().unwrap();
        retry(&work, &claimed, Duration::from_secs(60)).await.unwrap();
        assert!(claim(&work, LEASE).await.unwrap().is_none());
        assert_eq!(depth(&work).await.unwrap(), 1);
    }
}

async fn run(work: &Work, sql: &'static str) {
    let Work::Sqlite { write, .. } = work else { unreachable!("a file") };
    sqlx::raw_sql(sql).execute(write).await.unwrap();
}

/// The first job of a thread becomes one of another version.
async fn spoil(work: &Work, thread: &ThreadKey) {
    let other = r#"{"kind":"of another version"}"#;
    match work {
        Work::Sqlite { write, .. } => {
            let sql = "UPDATE jobs SET job = $2 WHERE id = (SELECT min(id) FROM jobs WHERE thread = $1)";
            sqlx::query(sql).bind(thread.to_string()).bind(other).execute(write).await.unwrap();
        }
        Work::Redis(redis) => {
            let jobs = super::redis::Keys::of(redis, &thread.to_string()).jobs();
            let (): () =
                redis.command(::redis::cmd("LSET").arg(jobs).arg(0).arg(format!("1\n0\n{other}"))).await.unwrap();
        }
    }
}

on_both_engines! {
    async fn a_job_that_cannot_be_read_is_set_aside_and_those_behind_it_run(engine) {
        let (_dir, work) = engine.open().await;
        for (ts, root) in [("1.1", None), ("1.2", Some("1.1")), ("2.1", None)] {
            push(&work, &message(ts, root), None).await.unwrap();
        }
        for root in ["1.1", "2.1"] {
            spoil(&work, message(root, None).thread()).await;
        }
        assert_eq!(claim(&work, LEASE).await.unwrap().unwrap().job, message("1.2", Some("1.1")));
        assert!(claim(&work, LEASE).await.unwrap().is_none());
        assert_eq!(depth(&work).await.unwrap(), 1);
    }
}

#[test]
fn a_job_stored_before_messages_said_whether_they_were_addressed_is_still_read() {
    let mut json = serde_json::to_value(message("1.1", None)).unwrap();
    assert!(json.as_object_mut().unwrap().remove("addressed").is_some());
    assert_eq!(serde_json::from_value::<Job>(json).unwrap(), message("1.1", None));
}

on_both_engines! {
    async fn only_an_addressed_message_makes_the_bot_take_part_and_a_reply_does_not_end_it(engine) {
        let (_dir, work) = engine.open().await;
        let overheard = |ts: &str, root| {
            let Job::Message(message) = message(ts, root) else { unreachable!() };
            Job::Message(MessageJob { addressed: false, ..message })
        };
        push(&work, &overheard("1.2", Some("1.1")), None).await.unwrap();
        assert!(!joined(&work, message("1.1", None).thread()).await.unwrap());
        push(&work, &message("1.3", Some("1.1")), None).await.unwrap();
        push(&work, &overheard("1.4", Some("1.1")), None).await.unwrap();
        assert!(joined(&work, message("1.1", None).thread()).await.unwrap());
    }
}

#[tokio::test]
async fn a_thread_that_was_idle_for_months_is_forgotten_unless_something_is_left_to_do_in_it() {
    let (_dir, work) = Engine::Sqlite.open().await;
    for ts in ["1.1", "2.1", "3.1", "4.1"] {
        push(&work, &message(ts, None), None).await.unwrap();
    }
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(claim(&work, LEASE).await.unwrap().unwrap());
    }
    // The first is done long ago, the second is done today, the third is held by a worker, the fourth waits.
    finish(&work, &held[0]).await.unwrap();
    finish(&work, &held[1]).await.unwrap();
    run(
        &work,
        "INSERT INTO history SELECT thread, 1, 't', 0, '[]', 0, 0, 0 FROM threads; DELETE FROM jobs WHERE id = 3",
    )
    .await;
    run(&work, "UPDATE threads SET at = 0 WHERE thread NOT LIKE '%2.1'").await;
    sweep(&work).await.unwrap();
    let Work::Sqlite { read, .. } = &work else { unreachable!("a file") };
    for (table, left) in [("threads", 3), ("history", 3), ("leases", 2), ("seen", 4)] {
        let sql = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
        assert_eq!(sqlx::query_scalar::<_, i64>(sql).fetch_one(read).await.unwrap(), left, "{table}");
    }
    assert!(!joined(&work, message("1.1", None).thread()).await.unwrap());
    assert_eq!(claim(&work, LEASE).await.unwrap().unwrap().job, message("4.1", None));
    push(&work, &message("1.2", Some("1.1")), None).await.unwrap();
    assert_eq!(claim(&work, LEASE).await.unwrap().unwrap().job, message("1.2", Some("1.1")));
}

on_both_engines! {
    async fn a_change_of_a_message_is_a_job_of_its_own_and_the_same_change_is_one(engine) {
        let (_dir, work) = engine.open().await;
        let changed = |change: Change| {
            let Job::Message(message) = message("1.1", None) else { unreachable!() };
            Job::Message(MessageJob { change: Some(change), ..message })
        };
        let edit = |at: &str| changed(Change::Edited { at: MessageTs::new(at) });
        push(&work, &message("1.1", None), Some("Ev1")).await.unwrap();
        for (job, event, expected) in [
            (edit("2.1"), "Ev2", Pushed::New),
            (edit("2.1"), "Ev3", Pushed::Duplicate),
            (edit("2.2"), "Ev4", Pushed::New),
            (changed(Change::Deleted), "Ev5", Pushed::New),
            (changed(Change::Deleted), "Ev6", Pushed::Duplicate),
        ] {
            assert_eq!(push(&work, &job, Some(event)).await.unwrap(), expected, "{job:?}");
        }
        let (thread, ts) = (message("1.1", None).thread().clone(), MessageTs::new("1.1"));
        assert!(seen(&work, &thread, &ts).await.unwrap());
        let other = MessageTs::new("1.2");
        assert!(!seen(&work, &thread, &other).await.unwrap());
        for _ in 0..2 {
            see(&work, &thread, &other).await.unwrap();
        }
        assert_eq!(push(&work, &message("1.2", Some("1.1")), None).await.unwrap(), Pushed::Duplicate);
        let turn = edited_turn_id(&thread, &ts, &MessageTs::new("2.1"));
        assert!(turn.as_str().starts_with(turn_id(&thread, &ts).as_str()));
        assert_ne!(turn, edited_turn_id(&thread, &ts, &MessageTs::new("2.2")));
    }
}
