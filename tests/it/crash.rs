//! kill -9 at every point of a press's way, and what must be true after the restart.
//!
//! The program is built with its crash points switched on: `FAILPOINTS=point=pause` holds a process exactly there, the
//! test looks at what is stored, kills, starts again without the point, and reads the books.

use std::time::Duration;

use sales_concierge::playground::workspace::{Fault, Message, World};
use serde_json::json;
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

use crate::harness::desk::{RawPress, clerk};
use crate::harness::{AOKI, Options, PATIENCE, Place, Rig, Say, has_buttons, shown};

const CLAIMED: &str = "SELECT count(*) FROM proposals WHERE state = 'claimed'";
const SALES: &str = "SELECT count(*) FROM sales WHERE origin = 'approval'";
const DONE: &str = "SELECT count(*) FROM proposals WHERE state = 'done'";
const UNHANDLED: &str = "SELECT count(*) FROM clicks WHERE handled_at IS NULL";

impl Rig {
    /// A rig whose processes stop at some points.
    async fn stopping_at(points: &str) -> Self {
        Self::with_clerk(&[("FAILPOINTS", points)]).await
    }

    /// kill -9 of the bot and of its sales server.
    async fn crash(&mut self) {
        let server = self.sales_server_pid();
        // Frozen first, so that neither sees the other die and does something about it.
        self.signal(self.bot_pid(), "STOP").await;
        self.signal(server, "KILL").await;
        self.kill_bot().await;
    }

    /// Waits until somebody has the records' write lock and does not let go of it.
    async fn locked(&self) {
        let file = SqliteConnectOptions::new().filename(self.data_dir().join("records.sqlite"));
        let mut db = file.busy_timeout(Duration::ZERO).connect().await.expect("the records");
        let held = async {
            let mut refusals = 0;
            while refusals < 10 {
                refusals = match sqlx::query("BEGIN IMMEDIATE").execute(&mut db).await {
                    Ok(_) => sqlx::query("ROLLBACK").execute(&mut db).await.map(|_| 0).expect("rolled back"),
                    Err(_) => refusals + 1,
                };
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, held).await.expect("a transaction that waits");
    }

    /// Starts again without the points.
    async fn again(&mut self) {
        self.start_bot_with(&[("FAILPOINTS", "")]).await;
    }

    /// Waits until Slack's first message event had an answer like this.
    async fn attempted(&self, answer: impl Fn(Option<u16>) -> bool) {
        let look = |w: &World| {
            let first = w.deliveries().find(|d| d.kind == "message")?;
            first.attempts.iter().any(|a| answer(a.status)).then_some(())
        };
        assert!(self.workspace.wait_for(look, PATIENCE).await.is_some(), "no such answer\nlog:\n{}", self.log());
    }

    /// After a press on one card and a crash: one sale, one receipt, one note, one continuation, nothing stuck.
    async fn registered_once(&self, place: &Place, card: &Message) {
        let receipt = self.becomes(card, "登録しました").await;
        self.in_order().await;
        assert_eq!(self.approved_sales().await, 1);
        assert!(!has_buttons(&receipt));
        assert_eq!(self.bot_messages(place).len(), 2, "an answer and a card");
        assert_eq!(self.count("SELECT count(*) FROM history_events").await, 1);
        assert_eq!(self.count("SELECT count(*) FROM continuations").await, 1);
        assert_eq!(self.count("SELECT count(*) FROM audit WHERE event = 'sale_registered'").await, 1);
        // Whoever presses now is told the number.
        self.press_raw(&RawPress::on_old(card)).await;
        self.whispers(AOKI, "すでに登録済みです（販売番号 S").await;
        self.in_order().await;
        assert_eq!(self.approved_sales().await, 1);
    }
}

impl RawPress {
    /// A press on a card whose buttons are gone by now.
    fn on_old(card: &Message) -> Self {
        Self { action_ts: "1800000000.000001".to_owned(), ..Self::on(card) }
    }
}

/// The way of every test of this table: card, press, held at a point until something is stored, killed, started again.
async fn killed_at(point: &str, until: &'static str, expected: i64) {
    let mut rig = Rig::stopping_at(&format!("{point}=pause")).await;
    let (place, card) = rig.offered().await;
    let press = tokio::spawn({
        let (workspace, card) = (rig.workspace.clone(), card.clone());
        async move { workspace.press(AOKI, card.channel.as_str(), card.ts.as_str(), "proposal_confirm").await }
    });
    rig.until(point, until, expected).await;
    rig.crash().await;
    press.await.expect("joined").expect("a button");
    rig.again().await;
    rig.registered_once(&place, &card).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k08_killed_after_the_press_is_stored() {
    killed_at("click::found", UNHANDLED, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k08_killed_after_the_press_is_stored_and_before_slack_is_answered() {
    killed_at("http::pressed", UNHANDLED, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k08_killed_after_the_claim() {
    killed_at("click::claimed", CLAIMED, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k09_killed_inside_the_sales_servers_transaction() {
    let mut rig = Rig::stopping_at("sales::committing=pause").await;
    let (place, card) = rig.offered().await;
    rig.confirm(AOKI, &card).await;
    rig.until("claimed", CLAIMED, 1).await;
    rig.locked().await;
    assert_eq!(rig.count(SALES).await, 0);
    rig.crash().await;
    assert_eq!(rig.count(SALES).await, 0, "nothing of it is left");
    rig.again().await;
    rig.registered_once(&place, &card).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k10_killed_after_the_sale_is_committed_and_before_the_bot_knows() {
    killed_at("sales::committed", SALES, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k10_only_the_sales_server_is_killed_after_its_commit() {
    let rig = Rig::with_clerk(&[
        ("FAILPOINTS", "sales::committed=pause"),
        ("SALES_CONCIERGE__PROPOSALS__RETRY_PAUSE_MS", "50"),
    ])
    .await;
    let (place, card) = rig.offered().await;
    rig.confirm(AOKI, &card).await;
    rig.until("committed", SALES, 1).await;
    let first = rig.count("SELECT registered_at FROM sales WHERE origin = 'approval'").await;
    rig.signal(rig.sales_server_pid(), "KILL").await;
    rig.registered_once(&place, &card).await;
    assert_eq!(rig.count("SELECT registered_at FROM sales WHERE origin = 'approval'").await, first, "the first row");
}

#[tokio::test(flavor = "multi_thread")]
async fn k10_killed_after_the_answer_and_before_the_settlement() {
    killed_at("click::called", SALES, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k09_killed_inside_the_settlement_leaves_all_of_it_or_nothing() {
    let mut rig = Rig::stopping_at("click::settling=pause").await;
    let (place, card) = rig.offered().await;
    rig.confirm(AOKI, &card).await;
    rig.until("written", SALES, 1).await;
    rig.crash().await;
    let traces = "SELECT (SELECT count(*) FROM history_events) + (SELECT count(*) FROM continuations)
        + (SELECT count(*) FROM proposals WHERE state = 'done') + (SELECT count(*) FROM clicks WHERE handled_at IS NOT NULL)";
    assert_eq!(rig.count(traces).await, 0);
    rig.again().await;
    rig.registered_once(&place, &card).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k11_killed_after_the_settlement_and_before_the_receipt() {
    killed_at("click::settled", DONE, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k11_killed_after_slack_took_the_receipt_and_before_that_is_recorded() {
    // A fast write shows no "working": the first update is the receipt.
    let mut rig = Rig::with_clerk(&[]).await;
    let (place, card) = rig.offered().await;
    rig.settles().await;
    rig.workspace.misbehave("chat.update", Fault::HangAfterAccept, 1);
    rig.confirm(AOKI, &card).await;
    rig.until("settled", DONE, 1).await;
    rig.becomes(&card, "登録しました").await;
    rig.crash().await;
    rig.again().await;
    rig.registered_once(&place, &card).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k12_killed_before_the_continuation_is_enqueued_and_after() {
    for point in ["duties::continuing", "duties::pushed"] {
        let mut rig = Rig::stopping_at(&format!("{point}=pause")).await;
        let (place, card) = rig.offered().await;
        rig.confirm(AOKI, &card).await;
        rig.until(point, "SELECT count(*) FROM continuations WHERE ended_at IS NULL", 1).await;
        rig.becomes(&card, "登録しました").await;
        rig.crash().await;
        rig.again().await;
        rig.registered_once(&place, &card).await;
        let begun = rig.continuations();
        assert!((1..=2).contains(&begun), "{point}: the model was asked {begun} times");
        let work = sales_concierge::work::Work::open_file(&rig.data_dir().join("work.sqlite")).await.expect("work");
        let sales_concierge::work::Work::Sqlite { read, .. } = &work else { unreachable!("a file") };
        let turns: i64 = sqlx::query_scalar("SELECT count(*) FROM history WHERE turn LIKE '%.1' AND round = 1000")
            .fetch_one(read)
            .await
            .expect("history");
        assert_eq!(turns, 1, "{point}: the continuation has one answer");
        work.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn k08_killed_before_the_press_is_stored_the_person_sees_it_and_presses_again() {
    let mut rig = Rig::stopping_at("http::press=panic").await;
    let (place, card) = rig.offered().await;
    rig.settles().await;
    assert!(rig.confirm(AOKI, &card).await.warning);
    rig.crash().await;
    assert_eq!(rig.count("SELECT count(*) FROM clicks").await, 0);
    rig.again().await;
    assert_eq!(rig.confirm(AOKI, &card).await.status, Some(200));
    rig.registered_once(&place, &card).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k01_k02_killed_around_the_storing_of_a_message_slacks_retry_makes_one_turn() {
    for (point, stored) in [("http::event", 0), ("http::stored", 1)] {
        // Retries after 10 ms, 600 ms and 3 s.
        let options = Options {
            env: vec![("FAILPOINTS", format!("{point}=panic"))],
            retry_scale: Some(0.01),
            ..Options::default()
        };
        let mut rig = Rig::with(options).await;
        rig.model.rule(clerk);
        let listen = rig.bot_url("").trim_start_matches("http://").to_owned();
        let place = rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await;
        rig.attempted(|status| status.is_none()).await;
        rig.crash().await;
        let work = sales_concierge::work::Work::open_file(&rig.data_dir().join("work.sqlite")).await.expect("work");
        let sales_concierge::work::Work::Sqlite { read, .. } = &work else { unreachable!("a file") };
        let seen: i64 =
            sqlx::query_scalar("SELECT count(*) FROM seen WHERE key LIKE 'm:%'").fetch_one(read).await.expect("seen");
        assert_eq!(seen, stored, "{point}");
        work.close().await;
        rig.start_bot_with(&[("FAILPOINTS", ""), ("SALES_CONCIERGE__SERVER__LISTEN", &listen)]).await;
        rig.card(&place).await;
        // Not before Slack has had its answer: until then it may deliver again.
        rig.attempted(|status| status == Some(200)).await;
        rig.in_order().await;
        assert_eq!(rig.bot_messages(&place).len(), 2, "{point}");
        assert_eq!(rig.count("SELECT count(*) FROM proposals").await, 1, "{point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn k04_killed_while_the_model_thinks_the_turn_is_run_again() {
    let mut rig = Rig::with_clerk(&[]).await;
    let mut asked = 0;
    rig.model.rule(move |request| {
        asked += 1;
        if asked == 1 { Some(Say::Never) } else { clerk(request) }
    });
    let place = rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await;
    let begun = tokio::time::Instant::now();
    while rig.model.requests().is_empty() {
        assert!(begun.elapsed() < PATIENCE, "the model is never asked");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    rig.crash().await;
    rig.again().await;
    let card = rig.card(&place).await;
    rig.confirm(AOKI, &card).await;
    rig.registered_once(&place, &card).await;
    let now = sales_concierge::domain::Clock::system().now_ms();
    let thinking = rig.workspace.look(|w| w.status(&place.channel, &place.root, now).map(str::to_owned));
    assert_eq!(thinking, None, "nobody is left thinking");
}

#[tokio::test(flavor = "multi_thread")]
async fn k06_killed_between_the_proposal_and_its_card_whatever_the_model_says_the_second_time() {
    for second in [Say::call("add_sale", sale(999)), Say::text("今度は何もしません。")] {
        let mut rig = Rig::stopping_at("turn::proposed=pause").await;
        let mut asked = 0;
        rig.model.rule(move |request| {
            asked += 1;
            match asked {
                1 => Some(Say::call("add_sale", sale(600))),
                2 => Some(second.clone()),
                _ => clerk(request),
            }
        });
        let place = rig.dm(AOKI, "登録して").await;
        rig.until("proposed", "SELECT count(*) FROM proposals", 1).await;
        assert_eq!(rig.bot_messages(&place).len(), 0);
        rig.crash().await;
        rig.again().await;
        let card = rig.card(&place).await;
        assert!(shown(&card).contains("600円"), "the first version stands: {}", shown(&card));
        rig.in_order().await;
        assert_eq!(rig.cards(&place, 1).await.len(), 1);
        rig.confirm(AOKI, &card).await;
        rig.becomes(&card, "登録しました").await;
        rig.in_order().await;
        assert_eq!(rig.count("SELECT price FROM sales WHERE origin = 'approval'").await, 600);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn k07_killed_after_slack_took_the_card_and_before_its_place_is_recorded() {
    let mut rig = Rig::with_clerk(&[]).await;
    // The first post is the answer, the second the card.
    rig.workspace.misbehave("chat.postMessage", Fault::Delay(Duration::ZERO), 1);
    rig.workspace.misbehave("chat.postMessage", Fault::HangAfterAccept, 1);
    let (place, card) = rig.offered().await;
    assert_eq!(rig.count("SELECT count(*) FROM outbox WHERE key LIKE 'card:%' AND posted_ts IS NULL").await, 1);
    rig.crash().await;
    rig.again().await;
    rig.in_order().await;
    assert_eq!(rig.cards(&place, 1).await.len(), 1, "no second card");
    rig.confirm(AOKI, &card).await;
    rig.registered_once(&place, &card).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k07_a_press_on_a_card_whose_place_is_not_recorded_turns_that_card_into_the_receipt() {
    let mut rig = Rig::with_clerk(&[]).await;
    rig.workspace.misbehave("chat.postMessage", Fault::Delay(Duration::ZERO), 1);
    rig.workspace.misbehave("chat.postMessage", Fault::HangAfterAccept, 1);
    let (place, card) = rig.offered().await;
    rig.confirm(AOKI, &card).await;
    rig.until("settled", DONE, 1).await;
    rig.crash().await;
    rig.again().await;
    rig.registered_once(&place, &card).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k14_a_press_and_the_end_of_the_cards_time_meet_and_exactly_one_of_them_counts() {
    let rig = Rig::with_clerk(&[("SALES_CONCIERGE__DUTIES__INTERVAL_MS", "5")]).await;
    let offers = (0..12).map(|_| rig.offered());
    let cards: Vec<Message> = futures::future::join_all(offers).await.into_iter().map(|(_, card)| card).collect();
    rig.settles().await;
    rig.alter("UPDATE proposals SET expires_at = CAST(unixepoch('subsec') * 1000 AS INTEGER) + 20 + 6 * (rowid % 12)")
        .await;
    let presses = cards.iter().map(|card| async { rig.press_raw(&RawPress::on(card)).await.status });
    for status in futures::future::join_all(presses).await {
        assert_eq!(status, Some(200));
    }
    rig.until("all are decided", "SELECT count(*) FROM proposals WHERE state IN ('done', 'expired')", 12).await;
    rig.in_order().await;
    assert_eq!(rig.approved_sales().await, rig.count(DONE).await);
    let told = "SELECT count(*) FROM clicks c JOIN proposals p ON p.id = c.proposal_id
        WHERE (p.state = 'done' AND c.outcome = 'done') OR (p.state = 'expired' AND c.outcome = 'expired')";
    assert_eq!(rig.count(told).await, 12, "each presser was told what won");
}

#[tokio::test(flavor = "multi_thread")]
async fn k17_an_executor_that_slept_through_its_lease_is_fenced_off() {
    let rig = Rig::with_clerk(&[
        ("FAILPOINTS", "sales::committed=1*sleep(900)"),
        ("SALES_CONCIERGE__PROPOSALS__CLAIM_LEASE_MS", "100"),
    ])
    .await;
    let (place, card) = rig.offered().await;
    rig.confirm(AOKI, &card).await;
    let by_another = "SELECT count(*) FROM proposals WHERE state = 'done' AND epoch > 1";
    rig.until("another executor has settled it", by_another, 1).await;
    rig.registered_once(&place, &card).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k17_the_whole_bot_sleeps_through_its_lease_and_goes_on() {
    let rig = Rig::with_clerk(&[
        ("FAILPOINTS", "sales::committed=1*sleep(200)"),
        ("SALES_CONCIERGE__PROPOSALS__CLAIM_LEASE_MS", "100"),
    ])
    .await;
    let (place, card) = rig.offered().await;
    rig.confirm(AOKI, &card).await;
    rig.until("claimed", "SELECT count(*) FROM proposals WHERE epoch > 0", 1).await;
    rig.signal(rig.bot_pid(), "STOP").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    rig.signal(rig.bot_pid(), "CONT").await;
    rig.registered_once(&place, &card).await;
}

/// How many random schedules the suite runs, and the first one's seed; more of them by the environment.
const SCHEDULES: u64 = 5;

#[tokio::test(flavor = "multi_thread")]
async fn i01_i02_any_schedule_of_presses_and_kills_leaves_the_books_in_order() {
    const POINTS: [&str; 12] = [
        "",
        "http::press",
        "http::pressed",
        "click::found",
        "click::claimed",
        "sales::committing",
        "sales::committed",
        "click::called",
        "click::settling",
        "click::settled",
        "duties::pushed",
        "outbox::told",
    ];
    let first = from_environment("SCHEDULE_SEED").unwrap_or(1);
    let count = from_environment("SCHEDULES").unwrap_or(SCHEDULES);
    let mut rig = Rig::with_clerk(&[("SALES_CONCIERGE__PROPOSALS__RETRY_PAUSE_MS", "50")]).await;
    for seed in first..first + count {
        let mut random = Random(seed);
        let replay = format!("replay with SCHEDULE_SEED={seed} SCHEDULES=1");
        let place = rig.dm(AOKI, "登録 0002 かぼちゃ4個 600; 登録 0004 とまと2袋 500; 登録 0006 なす1袋 240").await;
        let cards = rig.cards(&place, 3).await;
        rig.settles().await;
        rig.crash().await;
        let point = POINTS[random.below(POINTS.len() as u64) as usize];
        let points = if point.is_empty() { String::new() } else { format!("{point}={}*off->pause", random.below(3)) };
        rig.start_bot_with(&[("FAILPOINTS", &points)]).await;
        let mut presses = tokio::task::JoinSet::new();
        for n in 0..6 {
            let card = &cards[random.below(3) as usize];
            let press = RawPress {
                action: if random.below(5) == 0 { "proposal_cancel" } else { "proposal_confirm" },
                action_ts: format!("17{seed:08}.{n:06}"),
                ..RawPress::on(card)
            };
            let (workspace, pause) = (rig.workspace.clone(), Duration::from_millis(random.below(40)));
            presses.spawn(async move {
                tokio::time::sleep(pause).await;
                press.send(&workspace).await;
            });
        }
        tokio::time::sleep(Duration::from_millis(random.below(120))).await;
        rig.crash().await;
        while presses.join_next().await.is_some() {}
        rig.again().await;
        for card in &cards {
            // What the crash swallowed the person saw fail, and decides again.
            rig.press_raw(&RawPress { action_ts: format!("18{seed:08}.000000"), ..RawPress::on(card) }).await;
        }
        rig.settles().await;
        assert_eq!(rig.faults().await, Vec::<String>::new(), "{replay}\n{points}\nlog:\n{}", rig.log());
        let open = rig.count("SELECT count(*) FROM proposals WHERE state NOT IN ('done', 'cancelled')").await;
        assert_eq!(open, 0, "{replay}: every card was decided");
        assert_eq!(rig.approved_sales().await, rig.count(DONE).await, "{replay}");
    }
}

fn sale(price: i64) -> serde_json::Value {
    json!({"code_customer": "0002", "products": "かぼちゃ4個", "price": price})
}

#[expect(clippy::disallowed_methods, reason = "whoever replays a schedule names it in the environment")]
pub fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// SplitMix64: a seed is a schedule.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }
}
