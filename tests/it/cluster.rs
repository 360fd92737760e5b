//! Several bots, each with its own work file, on one PostgreSQL database.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sales_concierge::domain::{
    ChannelId, Grounds, Lang, MessageTs, Person, Secret, TeamId, ThreadKey, TurnId, Write, Yen,
};
use sales_concierge::playground::sample;
use sales_concierge::proposals::{self, New, Slot};
use sales_concierge::records::postgres::Group;
use sales_concierge::records::testing::Database;
use sales_concierge::records::{self, Records};
use serde_json::json;
use sqlx::PgPool;

use crate::harness::database::Cluster;
use crate::harness::desk::clerk;
use crate::harness::raw::{FORM, INTERACTIONS, dm_of, form};
use crate::harness::{AOKI, Options, Rig, Say, file, today};

/// The people and customers of the sample farm.
pub async fn furnish(admin: &PgPool) {
    let dir = tempfile::tempdir().expect("a folder");
    let sample = file(&dir.path().join("records.sqlite")).await;
    sample::load(&sample, today()).await.expect("sample data");
    let staff: Vec<(String, String, String, String, String, bool)> =
        sqlx::query_as("SELECT team, user, display_name, role, departments, active FROM staff")
            .fetch_all(sample.read())
            .await
            .expect("staff");
    for (team, user, name, role, departments, active) in staff {
        sqlx::query("INSERT INTO staff VALUES ($1, $2, $3, $4, $5, $6)")
            .bind(team)
            .bind(user)
            .bind(name)
            .bind(role)
            .bind(departments)
            .bind(active)
            .execute(admin)
            .await
            .expect("a person");
    }
    let customers: Vec<(String, String, String, String, String)> =
        sqlx::query_as("SELECT code_customer, name_customer, address, phone, department FROM customers")
            .fetch_all(sample.read())
            .await
            .expect("customers");
    for (code, name, address, phone, department) in customers {
        sqlx::query(
            "INSERT INTO customers (code_customer, name_customer, address, phone, department) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(code)
        .bind(name)
        .bind(address)
        .bind(phone)
        .bind(department)
        .execute(admin)
        .await
        .expect("a customer");
    }
    sample.close().await;
}

async fn count(admin: &PgPool, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(admin).await.expect(sql)
}

fn over(database: &Database) -> Options {
    Options { env: vec![("DATABASE_URL", database.url().to_owned())], ..Options::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn i03_a_card_pressed_becomes_one_row_of_the_database_and_the_file_stays_empty() {
    let database = Database::create().await;
    let admin = database.admin();
    furnish(&admin).await;
    let rig = Rig::with(over(&database)).await;
    rig.model.rule(clerk);
    let place = rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await;
    let card = rig.card(&place).await;
    assert_eq!(count(&admin, "SELECT count(*) FROM sales").await, 0, "nothing is written before the press");
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "登録しました").await;
    let row: (String, String, i64, String, String) =
        sqlx::query_as("SELECT code_customer, products, price, registered_by, origin FROM sales")
            .fetch_one(&admin)
            .await
            .expect("one sale");
    let by = format!("slack:{}:{AOKI}", sample::TEAM);
    assert_eq!(row, ("0002".to_owned(), "かぼちゃ4個".to_owned(), 600, by, "approval".to_owned()));
    assert_eq!(rig.approved_sales().await, 0, "the file of the data folder is not used");
    assert_eq!(count(&admin, "SELECT count(*) FROM audit WHERE event = 'sale_registered'").await, 1);
}

/// Waiting cards of one person, each in a conversation of its own.
async fn propose(records: &Records, rig: &Rig, wanted: u32) -> Vec<(String, ThreadKey)> {
    let who = Person::new(sample::TEAM, AOKI);
    let mut made = Vec::new();
    let channel = dm_of(AOKI);
    for n in 0..wanted {
        let thread = ThreadKey {
            team: TeamId::new(sample::TEAM),
            channel: ChannelId::new(channel.clone()),
            root: MessageTs::new(rig.unheard(AOKI, &channel, None, "登録して").await),
        };
        let turn = TurnId::new(format!("turn{n}"));
        let new = New {
            slot: Slot { turn: turn.clone(), round: 1, call_index: 0, origin_turn: turn, depth: 0 },
            thread: thread.clone(),
            requester: who.clone(),
            lang: Lang::Ja,
            write: Write::AddSale {
                code_customer: "0002".into(),
                name_customer: "佐藤 花子".into(),
                department: "直販".into(),
                products: format!("品物{n}"),
                price: Yen(i64::from(n)),
                date_sales: today(),
            },
            grounds: Grounds::default(),
            expiry: Duration::from_secs(3600),
        };
        let mut tx = records.begin_durable().await.expect("a transaction");
        let proposal = proposals::create(&mut tx, &new).await.expect("a proposal");
        tx.commit().await.expect("committed");
        made.push((proposal.id.to_string(), thread));
    }
    made
}

#[tokio::test(flavor = "multi_thread")]
async fn i02_presses_on_three_bots_at_once_make_one_sale_for_each_card() {
    const CARDS: u32 = 60;
    let database = Database::create().await;
    let admin = database.admin();
    furnish(&admin).await;
    let rig = Rig::with(over(&database)).await;
    let others = [rig.another().await, rig.another().await];
    rig.model.rule(|_| Some(Say::text("はい。")));
    let records = database.records(Group::Bot).await;
    let cards = propose(&records, &rig, CARDS).await;

    // Three presses on each card, of which two are the same one delivered twice; 64 are on their way at any moment.
    let presses: Vec<_> = (0..3_usize)
        .flat_map(|n| cards.iter().enumerate().map(move |(at, (id, thread))| (n, at, id.clone(), thread.clone())))
        .collect();
    let addresses = [rig.address(), others[0].1.address.clone(), others[1].1.address.clone()];
    for burst in presses.chunks(64) {
        let sent = burst.iter().map(|(n, at, id, thread)| {
            let payload = json!({
                "type": "block_actions", "team": {"id": sample::TEAM}, "user": {"id": AOKI, "team_id": sample::TEAM},
                "api_app_id": "A1",
                "container": {"type": "message", "message_ts": thread.root, "channel_id": thread.channel, "thread_ts": thread.root},
                "channel": {"id": thread.channel, "name": "directmessage"}, "trigger_id": "1.2.3", "response_url": "",
                "actions": [{"type": "button", "action_id": "proposal_confirm", "block_id": "b", "value": id,
                    "action_ts": format!("1900000000.{:06}", at * 10 + n.min(&1))}],
            });
            let address = &addresses[(at + n) % 3];
            rig.send_to(address, INTERACTIONS, form(&payload), FORM)
        });
        for answer in futures::future::join_all(sent).await {
            assert_eq!(answer.status, 200);
        }
    }
    let begun = Instant::now();
    while count(&admin, "SELECT count(*) FROM clicks WHERE handled_at IS NULL").await > 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "presses are not handled");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(count(&admin, "SELECT count(*) FROM sales").await, i64::from(CARDS));
    assert_eq!(count(&admin, "SELECT count(DISTINCT proposal_id) FROM sales").await, i64::from(CARDS));
    assert_eq!(count(&admin, "SELECT count(*) FROM proposals WHERE state = 'done'").await, i64::from(CARDS));
    assert_eq!(count(&admin, "SELECT count(*) FROM audit WHERE event = 'sale_registered'").await, i64::from(CARDS));
    assert_eq!(count(&admin, "SELECT count(*) FROM continuations").await, i64::from(CARDS), "one for each request");
    let outcomes: BTreeMap<String, i64> = records::query("SELECT outcome, count(*) FROM clicks GROUP BY outcome")
        .fetch_all(records.read())
        .await
        .expect("clicks")
        .iter()
        .map(|row| (row.try_get(0).expect("an outcome"), row.try_get(1).expect("a count")))
        .collect();
    let both = i64::from(CARDS);
    assert_eq!(outcomes, BTreeMap::from([("already_decided".to_owned(), both), ("done".to_owned(), both)]));
    records.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_and_pressed_while_the_database_is_away_is_done_once_when_it_is_back() {
    let cluster = Cluster::start().await;
    let url = cluster.url.clone();
    records::postgres::migrate(&Secret::new(url.clone())).await.expect("migrated");
    let admin = PgPool::connect(&url).await.expect("the cluster answers");
    furnish(&admin).await;
    let rig = Rig::with(Options { env: vec![("DATABASE_URL", url.clone())], ..Options::default() }).await;
    rig.model.rule(clerk);
    let card = rig.card(&rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await).await;
    // That the card is posted is committed without waiting for the disk, and written within three times
    // `wal_writer_delay`; a database that dies before forgets it, and the card is posted again.
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    // Everybody's connections are dead afterwards, and nobody is told.
    cluster.kill().await;
    let away = rig.dm(AOKI, "登録 0002 かぼちゃ5個 700").await;
    assert!(rig.confirm(AOKI, &card).await.warning, "the press cannot be stored, and its person sees that");
    cluster.revive().await;
    let second = rig.card(&away).await;
    // Whoever pressed meanwhile was warned, and presses again.
    assert_eq!(rig.confirm(AOKI, &card).await.status, Some(200));
    rig.becomes(&card, "登録しました").await;
    rig.confirm(AOKI, &second).await;
    rig.becomes(&second, "登録しました").await;
    let admin = PgPool::connect(&url).await.expect("the cluster answers");
    assert_eq!(count(&admin, "SELECT count(*) FROM sales").await, 2);
    drop(rig);
}
