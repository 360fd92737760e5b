//! The end of the bot's token: what is sent to Slack then, what whoever runs the bot sees, and that nothing is lost.

use std::time::{Duration, Instant};

use sales_concierge::playground::sample;
use sales_concierge::playground::workspace::Installation;
use serde_json::json;

use crate::harness::model::last_words;
use crate::harness::raw::{envelope, get};
use crate::harness::{AOKI, Options, PATIENCE, Place, Rig, Say};

const EMMA: &str = "U0EMMA";

async fn echoing() -> Rig {
    let env = vec![("SALES_CONCIERGE__SERVER__METRICS_LISTEN", "127.0.0.1:0".to_owned())];
    let rig = Rig::with(Options { env, ..Options::default() }).await;
    rig.model.rule(|request| Some(Say::text(&format!("聞きました「{}」", last_words(request)))));
    rig
}

/// Waits until `/readyz` answers so.
async fn ready(rig: &Rig, words: &str) {
    let begun = Instant::now();
    loop {
        let answer = get(&rig.address(), "/readyz").await;
        if answer.contains(words) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "never {words:?}: {answer}\nlog:\n{}", rig.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_revoked_token_the_bot_is_not_ready_sends_next_to_nothing_and_answers_when_it_is_good_again() {
    for installation in [Installation::Revoked, Installation::Inactive, Installation::Expired] {
        let rig = echoing().await;
        let before = rig.dm(AOKI, "まだ使える").await;
        rig.says(&before, "まだ使える").await;
        rig.settles().await;
        rig.workspace.set_installation(installation);
        let mut places: Vec<Place> = vec![rig.dm(AOKI, "待っている0番").await];
        ready(&rig, "503").await;
        ready(&rig, "does not take the bot's token").await;
        let calls = rig.workspace.calls().len();
        for n in 1..6 {
            places.push(rig.dm(if n % 2 == 0 { AOKI } else { EMMA }, &format!("待っている{n}番")).await);
        }
        tokio::time::sleep(Duration::from_secs(4)).await;
        let made = rig.workspace.calls().len() - calls;
        assert!(made <= 8, "{installation:?}: {made} calls");
        assert!(rig.model.requests().len() <= 7, "turns wait: {}", rig.model.requests().len());
        assert_eq!(rig.log().matches("Slack does not take the bot's token any more").count(), 1);
        assert_eq!(rig.metric("slack_installation_ended", "").await, 1.0);
        rig.workspace.set_installation(Installation::Active);
        ready(&rig, "ready").await;
        for (n, place) in places.iter().enumerate() {
            rig.says(place, &format!("待っている{n}番")).await;
        }
        rig.settles().await;
        assert_eq!(rig.metric("slack_installation_ended", "").await, 0.0);
        assert!(places.iter().all(|place| rig.bot_messages(place).len() == 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_events_about_the_installation_are_known_counted_and_told_to_whoever_runs_the_bot() {
    let rig = echoing().await;
    let before = rig.stored().await;
    // Of others: a person's own token, another workspace.
    let revoked = |tokens: serde_json::Value| json!({"type": "tokens_revoked", "tokens": tokens});
    let mut elsewhere = envelope("Ev0I1", json!({"type": "app_uninstalled"}));
    elsewhere["authorizations"] = json!([{"team_id": "T0MIHON"}]);
    for event in [elsewhere, envelope("Ev0I2", revoked(json!({"oauth": [AOKI], "bot": []})))] {
        assert_eq!(rig.event(&event).await.status, 200);
    }
    ready(&rig, "200").await;
    let limited = json!({"type": "app_rate_limited", "minute_rate_limited": 1_700_000_000, "team_id": sample::TEAM});
    assert_eq!(rig.event(&limited).await.status, 200);
    assert_eq!(rig.metric("events_total", "app_rate_limited").await, 1.0);
    assert!(rig.log().contains("Slack drops events"));
    rig.workspace.set_installation(Installation::Revoked);
    for (n, (event, label)) in [
        (json!({"type": "app_uninstalled"}), "app_uninstalled"),
        (revoked(json!({"oauth": [], "bot": ["U0CONCIERGE"]})), "tokens_revoked"),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(rig.event(&envelope(&format!("Ev0I3{n}"), event)).await.status, 200);
        ready(&rig, "app_uninstalled").await;
        assert_eq!(rig.metric("events_total", label).await, 1.0);
    }
    assert_eq!(rig.log().matches("Install the app again").count(), 1);
    assert_eq!(rig.stored().await, before);
}
