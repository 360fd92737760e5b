//! The bot, the sales server over HTTP and PostgreSQL, each a process of its own as a company runs them; and how a sales
//! server ends.

use std::time::{Duration, Instant};

use sales_concierge::domain::Secret;
use sales_concierge::records::testing::Database;
use serde_json::json;

use crate::harness::database::Cable;
use crate::harness::desk::clerk;
use crate::harness::shop::{Engine, Over, Server, Shop, pumpkins};
use crate::harness::{AOKI, Options, PATIENCE, Rig};

/// A port that was free just now.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port()
}

/// A bot that asks a sales server, which has a database; each can be had alone.
struct Company {
    shop: Shop,
    port: u16,
    rig: Rig,
}

impl Company {
    async fn open(bot: &[(&'static str, &str)], server: &[(&str, &str)]) -> (Self, Server) {
        let shop = Shop::open(Engine::Postgres).await;
        let url = shop.database_url();
        Self::over(shop, &url, bot, server).await
    }

    /// The bot's own way to the database may be another one.
    async fn over(shop: Shop, bots_url: &str, bot: &[(&'static str, &str)], server: &[(&str, &str)]) -> (Self, Server) {
        let port = free_port();
        let mut env = vec![
            ("DATABASE_URL", bots_url.to_owned()),
            ("SALES_CONCIERGE__SALES_SERVER__URL", format!("http://127.0.0.1:{port}/mcp")),
            ("SALES_CONCIERGE__PROPOSALS__RETRY_PAUSE_MS", "200".to_owned()),
            ("SALES_CONCIERGE__PROPOSALS__CLAIM_LEASE_MS", "2000".to_owned()),
        ];
        env.extend(bot.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let server = Server::start_at(&shop, Over::Http, port, server).await;
        let mut rig = Rig::prepare(Options { env, ..Options::default() }).await;
        std::fs::copy(shop.dir.path().join("keys.json"), rig.dir.path().join("keys.json")).expect("the keys");
        rig.start_bot().await;
        rig.model.rule(clerk);
        (Self { shop, port, rig }, server)
    }

    /// On the same address.
    async fn restart(&self) -> Server {
        Server::start_at(&self.shop, Over::Http, self.port, &[]).await
    }

    async fn until(&self, what: &str, sql: &'static str, expected: i64) {
        let begun = Instant::now();
        while self.shop.number(sql).await != expected {
            assert!(begun.elapsed() < PATIENCE, "{what}: {}\nlog:\n{}", self.shop.number(sql).await, self.rig.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

const CLAIMED: &str = "SELECT count(*) FROM proposals WHERE state = 'claimed'";
const DONE: &str = "SELECT count(*) FROM proposals WHERE state = 'done'";
const AUDITED: &str = "SELECT count(*) FROM audit WHERE event = 'sale_registered'";

#[tokio::test(flavor = "multi_thread")]
async fn i03_a_card_becomes_a_row_and_a_server_that_is_replaced_between_is_found_again() {
    let (company, server) = Company::open(&[], &[]).await;
    let rig = &company.rig;
    let first = rig.card(&rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await).await;
    rig.confirm(AOKI, &first).await;
    rig.becomes(&first, "登録しました").await;
    assert_eq!(company.shop.approved_sales().await, 1);

    server.kill().await;
    let away = rig.dm(AOKI, "登録 0002 人参 700").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let server = company.restart().await;
    let second = rig.card(&away).await;
    server.kill().await;
    rig.confirm(AOKI, &second).await;
    company.until("the press is claimed", CLAIMED, 1).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(company.shop.approved_sales().await, 1);
    let _server = company.restart().await;
    rig.becomes(&second, "登録しました").await;
    company.until("both are done", DONE, 2).await;
    assert_eq!((company.shop.approved_sales().await, company.shop.number(AUDITED).await), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn k09_a_statement_that_dies_in_the_middle_writes_nothing_and_one_sale_in_the_end() {
    let (company, _server) = Company::open(&[], &[]).await;
    let rig = &company.rig;
    let card = rig.card(&rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await).await;
    // The write has the proposal and waits for its customer.
    let url = company.shop.database_url();
    let admin = sqlx::PgPool::connect(&url).await.expect("the database answers");
    let mut lock = admin.begin().await.expect("a transaction");
    let sql = "SELECT FROM customers WHERE code_customer = '0002' FOR UPDATE";
    sqlx::raw_sql(sql).execute(&mut *lock).await.expect("locked");
    rig.confirm(AOKI, &card).await;
    let waits = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%add_sale(%'";
    company.until("the write is in the middle", waits, 1).await;
    let ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%add_sale(%'";
    assert_eq!(company.shop.number(ended).await, 1);
    company.until("it is tried again", waits, 1).await;
    let rows = (company.shop.approved_sales().await, company.shop.number(AUDITED).await);
    assert_eq!((rows, company.shop.number(CLAIMED).await), ((0, 0), 1), "nothing is written, and nothing has failed");
    lock.rollback().await.expect("unlocked");
    rig.becomes(&card, "登録しました").await;
    company.until("it is done", DONE, 1).await;
    assert_eq!((company.shop.approved_sales().await, company.shop.number(AUDITED).await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn k10_a_commit_whose_answer_the_network_lost_is_shown_under_its_first_number() {
    let mut shop = Shop::open(Engine::Postgres).await;
    let bots_url = shop.database_url();
    let cable = Cable::to(&bots_url).await;
    shop.env.push(("DATABASE_URL".to_owned(), cable.url.clone()));
    let (company, _server) = Company::over(shop, &bots_url, &[], &[]).await;
    let rig = &company.rig;
    let card = rig.card(&rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await).await;
    // What the call of the write is sent with, and nothing else.
    cable.lose_answer(&crate::harness::desk::proposal(&card));
    rig.confirm(AOKI, &card).await;
    company.until("it is written", "SELECT count(*) FROM sales WHERE origin = 'approval'", 1).await;
    cable.cut();
    let receipt = rig.becomes(&card, "登録しました").await;
    company.until("it is done", DONE, 1).await;
    let number: String = sales_concierge::records::query("SELECT code_sales FROM sales WHERE origin = 'approval'")
        .scalar(company.shop.db())
        .await
        .expect("one sale");
    assert!(crate::harness::shown(&receipt).contains(&number), "{receipt:?}");
    assert_eq!(company.shop.number(AUDITED).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_whose_connections_to_the_database_went_dead_goes_on_when_others_are_to_be_had() {
    let shop = Shop::open(Engine::Postgres).await;
    let cable = Cable::to(&shop.database_url()).await;
    let settings = [
        ("SALES_CONCIERGE__RECORDS__STATEMENT_TIMEOUT_MS", "1500"),
        ("SALES_CONCIERGE__RECORDS__MAX_CONNECTIONS", "4"),
    ];
    let (company, _server) = Company::over(shop, &cable.url, &settings, &[]).await;
    let rig = &company.rig;
    let card = rig.card(&rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await).await;
    // Slack has the card, and that is on record: otherwise it is looked for only when the post's lease is over.
    let recorded = "SELECT count(*) FROM outbox WHERE key LIKE 'card:%' AND sent_version = version";
    company.until("the card is on record", recorded, 1).await;
    cable.deaden();
    rig.confirm(AOKI, &card).await;
    let asked = rig.dm(AOKI, "登録 0002 人参 700").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    cable.mend();
    let second = rig.card(&asked).await;
    // Whoever pressed meanwhile was warned, and presses again.
    let begun = Instant::now();
    while rig.confirm(AOKI, &card).await.status != Some(200) {
        assert!(begun.elapsed() < PATIENCE, "log:\n{}", rig.log());
    }
    rig.becomes(&card, "登録しました").await;
    rig.confirm(AOKI, &second).await;
    rig.becomes(&second, "登録しました").await;
    assert_eq!(company.shop.approved_sales().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_child_is_started_again_by_the_next_read_and_by_the_press_it_was_needed_for() {
    let database = Database::create().await;
    let admin = database.admin();
    crate::cluster::furnish(&admin).await;
    let env = vec![
        ("DATABASE_URL", database.url().to_owned()),
        ("SALES_CONCIERGE__PROPOSALS__RETRY_PAUSE_MS", "200".to_owned()),
    ];
    let rig = Rig::with(Options { env, ..Options::default() }).await;
    rig.model.rule(clerk);
    let card = rig.card(&rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await).await;
    let first = rig.sales_server_pid();
    rig.signal(first, "KILL").await;
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "登録しました").await;
    let second = rig.sales_server_pid();
    rig.signal(second, "KILL").await;
    rig.card(&rig.dm(AOKI, "登録 0002 人参 700").await).await;
    let third = rig.sales_server_pid();
    assert!(first != second && second != third, "{first} {second} {third}");
    let sales: i64 = sqlx::query_scalar("SELECT count(*) FROM sales").fetch_one(&admin).await.expect("a count");
    assert_eq!(sales, 1);
}

async fn terminate(server: &Server) {
    let sent = tokio::process::Command::new("kill").args(["-TERM", &server.pid().to_string()]).status().await;
    assert!(sent.expect("kill").success());
}

/// Holds a write for so long before its commit.
const HELD: [(&str, &str); 1] = [("FAILPOINTS", "sales::committing=sleep(1500)")];

async fn a_call_in_flight_is_answered(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut server = Server::start(&shop, Over::Http, &HELD).await;
    let write = pumpkins(600);
    let approval = shop.claimed("P1", &write).await;
    // A connection that is kept and asks nothing holds nobody up.
    server.call(&shop.read("get_customers", json!({}))).await.data();
    let (call, late) = (shop.write(&write, &approval), shop.read("get_customers", json!({})));
    let address = server.url().to_owned();
    let (reply, refused) = tokio::join!(server.call(&call), async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        terminate(&server).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let bearer = format!("Bearer {}", late.callers[0].as_str().expect("text"));
        client.post(address).header("Authorization", bearer).body("{}").send().await
    });
    assert!(reply.number().starts_with('S'), "{reply:?}");
    assert!(refused.is_err(), "who comes after the signal is not heard: {refused:?}");
    assert!(server.ended().await.success(), "{}", server.log());
    assert_eq!((shop.approved_sales().await, shop.number(AUDITED).await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_told_to_stop_answers_what_it_was_asked_before_and_ends_on_sqlite() {
    a_call_in_flight_is_answered(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_told_to_stop_answers_what_it_was_asked_before_and_ends_on_postgres() {
    a_call_in_flight_is_answered(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_over_stdio_whose_host_goes_away_finishes_the_write_it_was_at() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let shop = Shop::open(engine).await;
        let mut server = Server::start(&shop, Over::Stdio, &HELD).await;
        let write = pumpkins(600);
        let approval = shop.claimed("P1", &write).await;
        server.begin(&shop.write(&write, &approval)).await;
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert_eq!(shop.approved_sales().await, 0, "it is held");
        server.hang_up().await;
        assert!(server.ended().await.success(), "{}", server.log());
        assert_eq!(shop.approved_sales().await, 1);
    }
}

async fn a_call_that_takes_too_long(engine: Engine) {
    let shop = Shop::open(engine).await;
    let env = [("SALES_CONCIERGE__SALES_SERVER__CALL_TIMEOUT_MS", "500")];
    let server = Server::start(&shop, Over::Http, &env).await;
    let write = pumpkins(600);
    let approval = shop.claimed("P1", &write).await;
    let lock = shop.hold_up_writes("P1").await;
    let begun = Instant::now();
    let reply = server.call(&shop.write(&write, &approval)).await;
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(reply.status, 504, "{reply:?}");
    assert!(reply.text.contains("outcome is not known"), "{reply:?}");
    drop(lock);
    let begun = Instant::now();
    let written = loop {
        let reply = server.call(&shop.write(&write, &approval)).await;
        if reply.status == 200 {
            break reply;
        }
        assert!(begun.elapsed() < PATIENCE, "{reply:?}");
    };
    let number = written.number();
    assert_eq!(server.call(&shop.write(&write, &approval)).await.number(), number);
    server.call(&shop.read("get_customers", json!({}))).await.data();
    assert_eq!((shop.approved_sales().await, shop.number(AUDITED).await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_takes_too_long_is_not_known_and_one_sale_in_the_end_on_sqlite() {
    a_call_that_takes_too_long(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_takes_too_long_is_not_known_and_one_sale_in_the_end_on_postgres() {
    a_call_that_takes_too_long(Engine::Postgres).await;
}

#[tokio::test]
async fn a_server_whose_database_cannot_be_reached_at_its_start_says_so_and_ends() {
    let dir = tempfile::tempdir().expect("a folder");
    let nowhere = Secret::new("postgres://nobody@127.0.0.1:1/none".to_owned());
    let keys = sales_concierge::tokens::Keys::generate().expect("keys").public;
    for transport in ["stdio", "http"] {
        let output = tokio::process::Command::new(crate::harness::shop::PROGRAM)
            .args(["sales-server", "--transport", transport, "--data-dir"])
            .arg(dir.path())
            .env_clear()
            .env("DATABASE_URL", nowhere.reveal())
            .env("SALES_CONCIERGE__RECORDS__STATEMENT_TIMEOUT_MS", "500")
            .env("SALES_CONCIERGE__SALES_SERVER__CALLER_KEYS", &keys.caller[0])
            .env("SALES_CONCIERGE__SALES_SERVER__APPROVAL_KEYS", &keys.approval[0])
            .stdin(std::process::Stdio::null())
            .output();
        let output = tokio::time::timeout(PATIENCE, output).await.expect("it ends").expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{transport}: {said}");
        assert!(!said.contains("nobody@"), "{said}");
    }
}
