//! What holds when several processes use one Redis. Each handle has connections of its own, as a process has.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::work::testing::{self, Server};

#[tokio::test]
async fn a_thread_with_much_to_do_goes_behind_the_others_after_each_job() {
    let work = testing::redis(testing::server().await).await;
    for (ts, root) in [("1.1", None), ("1.2", Some("1.1")), ("1.3", Some("1.1")), ("2.1", None), ("3.1", None)] {
        push(&work, &message(ts, root), None).await.unwrap();
    }
    let mut order = Vec::new();
    while let Some(claimed) = claim(&work, LEASE).await.unwrap() {
        let Job::Message(message) = &claimed.job else { unreachable!() };
        order.push(message.ts.to_string());
        finish(&work, &claimed).await.unwrap();
    }
    assert_eq!(order, ["1.1", "2.1", "3.1", "1.2", "1.3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_workers_of_three_processes_run_each_job_once_in_order_and_one_at_a_time_in_a_thread() {
    const THREADS: usize = 12;
    const JOBS: usize = 8;
    let processes = testing::processes(testing::server().await, 3).await;
    let jobs: Vec<Job> = (0..JOBS)
        .flat_map(|job| (0..THREADS).map(move |thread| (thread, job)))
        .map(|(thread, job)| {
            let root = format!("{thread}.0");
            message(&format!("{thread}.{job}"), Some(&root).filter(|_| job > 0).map(String::as_str))
        })
        .collect();
    let running = Arc::new(Mutex::new(HashSet::new()));
    let ran = Arc::new(Mutex::new(HashMap::<String, Vec<String>>::new()));
    let done = CancellationToken::new();
    let mut workers = Vec::new();
    for n in 0..9 {
        let (work, running, ran, done) = (processes[n % 3].clone(), running.clone(), ran.clone(), done.clone());
        workers.push(tokio::spawn(async move {
            while !done.is_cancelled() {
                let Some(claimed) = claim(&work, LEASE).await.unwrap() else {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    continue;
                };
                let Job::Message(message) = &claimed.job else { unreachable!() };
                let thread = claimed.lease.thread.clone();
                assert!(running.lock().unwrap().insert(thread.clone()), "two workers in one thread");
                tokio::task::yield_now().await;
                ran.lock().unwrap().entry(thread.clone()).or_default().push(message.ts.to_string());
                running.lock().unwrap().remove(&thread);
                finish(&work, &claimed).await.unwrap();
            }
        }));
    }
    // Each job comes in twice, through two processes at once.
    for (n, job) in jobs.iter().enumerate() {
        let again = push(&processes[(n + 1) % 3], job, None);
        let (one, two) = tokio::join!(push(&processes[n % 3], job, None), again);
        let both = [one.unwrap(), two.unwrap()];
        assert_eq!(both.iter().filter(|pushed| **pushed == Pushed::New).count(), 1, "{job:?}");
    }
    let begun = Instant::now();
    while depth(&processes[0]).await.unwrap() > 0 {
        assert!(begun.elapsed() < Duration::from_secs(20), "not done: {:?}", ran.lock().unwrap());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    done.cancel();
    for worker in workers {
        worker.await.unwrap();
    }
    let ran = ran.lock().unwrap();
    assert_eq!(ran.len(), THREADS);
    for (thread, order) in ran.iter() {
        let number = thread.rsplit(':').next().unwrap().split('.').next().unwrap();
        let expected: Vec<String> = (0..JOBS).map(|job| format!("{number}.{job}")).collect();
        assert_eq!(*order, expected);
    }
}

#[tokio::test]
async fn a_job_that_comes_in_through_one_process_wakes_the_workers_of_another_at_once() {
    let processes = testing::processes(testing::server().await, 2).await;
    let Work::Redis(second) = processes[1].clone() else { unreachable!() };
    let (woken, stop) = (Arc::new(Notify::new()), CancellationToken::new());
    let listening = tokio::spawn({
        let (woken, stop) = (Arc::clone(&woken), stop.clone());
        async move { second.listen(woken, stop).await }
    });
    // Once when it begins to listen.
    tokio::time::timeout(Duration::from_secs(5), woken.notified()).await.unwrap();
    push(&processes[0], &message("1.1", None), None).await.unwrap();
    tokio::time::timeout(Duration::from_millis(500), woken.notified()).await.unwrap();
    assert!(claim(&processes[1], LEASE).await.unwrap().is_some());
    stop.cancel();
    listening.await.unwrap();
}

#[tokio::test]
async fn every_key_ends_by_itself_and_marks_are_kept_longer_than_slack_delivers_again() {
    let work = testing::redis(testing::server().await).await;
    for ts in ["1.1", "2.1", "3.1"] {
        push(&work, &message(ts, None), Some(&format!("Ev{ts}"))).await.unwrap();
    }
    let claimed = claim(&work, LEASE).await.unwrap().unwrap();
    let rested = claim(&work, LEASE).await.unwrap().unwrap();
    finish(&work, &claimed).await.unwrap();
    retry(&work, &rested, LEASE).await.unwrap();
    let Work::Redis(redis) = &work else { unreachable!() };
    let mut marks = 0;
    for key in testing::keys(redis).await {
        let left: i64 = redis.command(::redis::cmd("PTTL").arg(&key)).await.unwrap();
        assert!(left > 0, "{key} never ends: {left}");
        if key.contains("m:T1:") || key.contains("e:Ev") {
            marks += 1;
            assert!(left > millis(Duration::from_hours(26)) - 60_000, "{key} ends in {left} ms");
        }
    }
    assert_eq!(marks, 6);
}

#[tokio::test]
async fn i23_k17_a_worker_from_before_all_was_lost_holds_nothing_afterwards() {
    let work = testing::redis(testing::server().await).await;
    push(&work, &message("1.1", None), None).await.unwrap();
    let before = claim(&work, LEASE).await.unwrap().unwrap();
    let Work::Redis(redis) = &work else { unreachable!() };
    testing::lose_everything(redis).await;
    assert!(!renew(&work, &before.lease, LEASE).await.unwrap());
    assert_eq!(push(&work, &message("1.1", None), None).await.unwrap(), Pushed::New);
    let after = claim(&work, LEASE).await.unwrap().unwrap();
    assert!(after.lease.epoch > before.lease.epoch, "no epoch is given out twice");
    finish(&work, &before).await.unwrap();
    assert_eq!(depth(&work).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_is_gone_or_stands_still_is_an_error_within_two_seconds_and_answers_again_when_it_is_back() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path()).await;
    let work = testing::redis(server.url()).await;
    for (n, trouble) in ["stop", "kill"].into_iter().enumerate() {
        match trouble {
            "stop" => server.signal("STOP").await,
            _ => server.kill().await,
        }
        for attempt in 0..4 {
            let begun = Instant::now();
            let pushed = push(&work, &message(&format!("{n}.{attempt}"), None), None).await;
            assert!(pushed.is_err(), "{trouble}");
            assert!(begun.elapsed() < Duration::from_secs(2), "{trouble}: {:?}", begun.elapsed());
        }
        match trouble {
            "stop" => server.signal("CONT").await,
            _ => server.restart().await,
        }
        let begun = Instant::now();
        while push(&work, &message(&format!("{n}.9"), None), None).await.is_err() {
            assert!(begun.elapsed() < Duration::from_secs(5), "{trouble}: it does not come back");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
