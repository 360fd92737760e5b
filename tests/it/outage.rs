//! The sales server while its database is gone, stopped, slow or cut off: it answers in bounded time that it does not
//! know, never that it refused, and goes on by itself when the database is back.

use std::time::{Duration, Instant};

use sales_concierge::domain::Write;
use sales_concierge::records::testing::Database;
use serde_json::json;
use sqlx::PgPool;

use crate::harness::PATIENCE;
use crate::harness::database::{Cable, Cluster};
use crate::harness::shop::{Call, Engine, Over, Reply, Server, Shop, pumpkins};

/// One statement may take this long in these tests.
const STATEMENT_MS: &str = "1500";
/// A call has been answered by then: a connection, a statement, and a row in the audit.
const BOUND: Duration = Duration::from_secs(6);

const SETTINGS: [(&str, &str); 2] = [
    ("SALES_CONCIERGE__RECORDS__STATEMENT_TIMEOUT_MS", STATEMENT_MS),
    ("SALES_CONCIERGE__RECORDS__MAX_CONNECTIONS", "3"),
];

fn reads(shop: &Shop) -> Vec<Call> {
    let day = json!({ "date_sales_begin_str": "2026-01-01", "date_sales_end_str": "2026-12-31", "group_by": "total" });
    vec![
        shop.read("get_customers", json!({})),
        shop.read("get_sales", json!({ "code_customer": "0002" })),
        shop.read("list_registrations", json!({})),
        shop.read("summarize_sales", day),
    ]
}

/// Asked all at once, each is answered in time and says that nobody knows.
async fn nobody_knows(server: &Server, calls: Vec<Call>, when: &str) {
    let begun = Instant::now();
    let replies = futures::future::join_all(calls.iter().map(|call| server.call(call))).await;
    assert!(begun.elapsed() < BOUND, "{when}: {:?}", begun.elapsed());
    for (call, reply) in calls.iter().zip(replies) {
        assert!(!reply.is_refusal(), "{when}: {} {reply:?}", call.tool);
        assert_eq!((reply.status, reply.code().as_str()), (200, "unavailable"), "{when}: {} {reply:?}", call.tool);
    }
}

async fn all_answered(server: &Server, calls: Vec<Call>) {
    for call in calls {
        server.call(&call).await.data();
    }
}

/// Makes the call again until it is answered, as the host does with a press it drives on.
async fn driven_on(server: &Server, shop: &Shop, write: &Write, approval: &sales_concierge::tokens::Approval) -> Reply {
    let begun = Instant::now();
    loop {
        let reply = server.call(&shop.write(write, approval)).await;
        assert!(!reply.is_refusal(), "{reply:?}");
        if reply.code().is_empty() {
            return reply;
        }
        assert!(begun.elapsed() < PATIENCE, "{reply:?}\nlog:\n{}", server.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn a_database_that_is_killed_comes_back(over: Over) {
    let cluster = Cluster::start().await;
    let mut shop = Shop::in_database(&cluster.url).await;
    let mut server = Server::start(&shop, over, &SETTINGS).await;
    let (write, pid) = (pumpkins(600), server.pid());
    let first = shop.claimed("P1", &write).await;
    let second = shop.claimed("P2", &write).await;
    let number = server.call(&shop.write(&write, &first)).await.number();
    all_answered(&server, reads(&shop)).await;

    cluster.kill().await;
    let mut calls = reads(&shop);
    calls.extend([shop.write(&write, &first), shop.write(&write, &second)]);
    nobody_knows(&server, calls.clone(), "gone").await;
    nobody_knows(&server, calls, "gone for a while").await;
    // What is wrong whatever the database says is no different.
    let mut forged = shop.read("get_customers", json!({}));
    forged.callers = vec![json!("forged")];
    let reply = server.call(&forged).await;
    assert!(reply.status == 401 || reply.code() == "unavailable", "not audited, so not answered: {reply:?}");

    cluster.revive().await;
    shop.reconnect(&cluster.url).await;
    let again = driven_on(&server, &shop, &write, &first).await;
    assert_eq!((again.number(), &again.data()["repeated"]), (number, &json!(true)));
    driven_on(&server, &shop, &write, &second).await;
    all_answered(&server, reads(&shop)).await;
    assert_eq!(shop.approved_sales().await, 2);
    assert!(server.is_running() && server.pid() == pid, "{}", server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn over_stdio_a_database_that_is_killed_costs_answers_and_no_restart() {
    a_database_that_is_killed_comes_back(Over::Stdio).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_http_a_database_that_is_killed_costs_answers_and_no_restart() {
    a_database_that_is_killed_comes_back(Over::Http).await;
}

async fn a_database_that_is_frozen_thaws(over: Over) {
    let cluster = Cluster::start().await;
    let shop = Shop::in_database(&cluster.url).await;
    let mut server = Server::start(&shop, over, &SETTINGS).await;
    let write = pumpkins(600);
    let approval = shop.claimed("P1", &write).await;
    // Connections that were just used are not tried before they are used again.
    all_answered(&server, reads(&shop)).await;
    cluster.freeze().await;
    let mut calls = reads(&shop);
    calls.push(shop.write(&write, &approval));
    nobody_knows(&server, calls.clone(), "frozen").await;
    // More than there are connections.
    nobody_knows(&server, [calls.clone(), calls].concat(), "still frozen").await;
    cluster.thaw().await;
    let number = driven_on(&server, &shop, &write, &approval).await.number();
    all_answered(&server, reads(&shop)).await;
    assert_eq!(driven_on(&server, &shop, &write, &approval).await.number(), number);
    assert_eq!(shop.approved_sales().await, 1, "whatever the database did with what it had received");
    assert!(server.is_running(), "{}", server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn over_stdio_a_database_that_is_frozen_costs_bounded_time() {
    a_database_that_is_frozen_thaws(Over::Stdio).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_http_a_database_that_is_frozen_costs_bounded_time() {
    a_database_that_is_frozen_thaws(Over::Http).await;
}

async fn locks_are_waited_for_a_while(over: Over) {
    let database = Database::create().await;
    let shop = Shop::in_database(database.url()).await;
    let server = Server::start(&shop, over, &SETTINGS).await;
    let write = pumpkins(600);
    let approval = shop.claimed("P1", &write).await;
    all_answered(&server, reads(&shop)).await;
    let admin = PgPool::connect(database.url()).await.expect("the cluster answers");
    for table in ["LOCK TABLE sales, sales_daily", "LOCK TABLE staff", "LOCK TABLE audit"] {
        let mut lock = admin.begin().await.expect("a transaction");
        sqlx::raw_sql(table).execute(&mut *lock).await.expect("locked");
        nobody_knows(&server, vec![shop.write(&write, &approval), reads(&shop).remove(1)], table).await;
        lock.rollback().await.expect("unlocked");
    }
    assert_eq!(shop.approved_sales().await, 0);
    // A short one costs nothing but time.
    let mut lock = admin.begin().await.expect("a transaction");
    sqlx::raw_sql("SELECT FROM proposals WHERE id = 'P1' FOR UPDATE").execute(&mut *lock).await.expect("locked");
    let call = shop.write(&write, &approval);
    let (reply, ()) = tokio::join!(server.call(&call), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        lock.rollback().await.expect("unlocked");
    });
    assert_eq!(reply.data().get("repeated"), None, "nothing had been written before");
    assert_eq!(shop.approved_sales().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn over_stdio_what_waits_for_a_lock_too_long_is_not_known() {
    locks_are_waited_for_a_while(Over::Stdio).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_http_what_waits_for_a_lock_too_long_is_not_known() {
    locks_are_waited_for_a_while(Over::Http).await;
}

/// A shop whose servers reach its database by a cable.
async fn by_cable() -> (Shop, Cable) {
    let mut shop = Shop::open(Engine::Postgres).await;
    let cable = Cable::to(&shop.database_url()).await;
    shop.env.push(("DATABASE_URL".to_owned(), cable.url.clone()));
    (shop, cable)
}

async fn until_written(shop: &Shop, wanted: i64) {
    let begun = Instant::now();
    while shop.approved_sales().await < wanted {
        assert!(begun.elapsed() < PATIENCE, "nothing was written");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn a_cut_around_the_commit(over: Over) {
    let (shop, cable) = by_cable().await;
    let server = Server::start(&shop, over, &SETTINGS).await;
    let write = pumpkins(600);
    for (id, arrives, breaks) in
        [("before-the-commit", false, true), ("after-the-commit", true, true), ("after-the-commit-unseen", true, false)]
    {
        let approval = shop.claimed(id, &write).await;
        let written = shop.approved_sales().await;
        if arrives {
            cable.lose_answer(id)
        } else {
            cable.lose_request(id)
        }
        let calls = vec![shop.write(&write, &approval)];
        let unknown = async {
            nobody_knows(&server, calls, id).await;
        };
        let broken = async {
            if arrives {
                until_written(&shop, written + 1).await;
            }
            if breaks {
                cable.cut();
            }
        };
        tokio::join!(unknown, broken);
        assert_eq!(shop.approved_sales().await, written + i64::from(arrives), "{id}");
        let reply = driven_on(&server, &shop, &write, &approval).await;
        assert_eq!(reply.data()["repeated"] == json!(true), arrives, "{id}");
        assert_eq!(driven_on(&server, &shop, &write, &approval).await.number(), reply.number(), "{id}");
        assert_eq!(shop.approved_sales().await, written + 1, "{id}");
    }
    assert_eq!(shop.number("SELECT count(*) FROM audit WHERE event = 'sale_registered'").await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn k10_over_stdio_a_connection_cut_around_the_commit_leaves_one_sale_of_one_number() {
    a_cut_around_the_commit(Over::Stdio).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k10_over_http_a_connection_cut_around_the_commit_leaves_one_sale_of_one_number() {
    a_cut_around_the_commit(Over::Http).await;
}

/// As when the database moves to another machine: nothing comes back, and nobody is told.
async fn connections_that_went_dead_are_replaced(over: Over) {
    let (shop, cable) = by_cable().await;
    let mut server = Server::start(&shop, over, &SETTINGS).await;
    // As many connections as there may be.
    let calls = reads(&shop);
    futures::future::join_all(calls.iter().map(|call| server.call(call))).await;
    cable.deaden();
    nobody_knows(&server, reads(&shop), "dead").await;
    cable.mend();
    let begun = Instant::now();
    while !server.call(&shop.read("get_customers", json!({}))).await.code().is_empty() {
        assert!(begun.elapsed() < PATIENCE, "log:\n{}", server.log());
    }
    all_answered(&server, reads(&shop)).await;
    assert!(server.is_running(), "{}", server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn over_stdio_connections_that_went_dead_are_replaced() {
    connections_that_went_dead_are_replaced(Over::Stdio).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_http_connections_that_went_dead_are_replaced() {
    connections_that_went_dead_are_replaced(Over::Http).await;
}
