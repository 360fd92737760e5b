//! The amounts above which a sale needs a manager, from the command that sets them to the write they stop.

use serde_json::{Value, json};

use sales_concierge::domain::Person;
use sales_concierge::playground::sample;
use sales_concierge::records;
use sales_concierge::tokens::Approval;

use crate::harness::shop::{Engine, Over, Server, Shop, everywhere, pumpkins};

async fn listed(shop: &Shop) -> Vec<Value> {
    let text = shop.program(&["limits", "list", "--json"]).await;
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

everywhere! {
    async fn i04_a_limit_that_is_set_holds_from_the_next_write_on_until_it_is_removed(over, engine) {
        let shop = Shop::open(engine).await;
        let server = Server::start(&shop, over, &[]).await;
        let attempt = async |id: &str, price: i64, approver: Option<&str>| {
            let write = pumpkins(price);
            let mut approval = shop.claimed(id, &write).await;
            if let Some(user) = approver {
                shop.execute("UPDATE proposals SET decided_user = $2 WHERE id = $1", &[id, user]).await;
                approval = Approval { approver: Person::new(sample::TEAM, user), ..approval };
            }
            let reply = server.call(&shop.write(&write, &approval)).await;
            if reply.is_refusal() { reply.code() } else { reply.data()["sales_registered"]["price"].to_string() }
        };
        assert_eq!(listed(&shop).await, Vec::<Value>::new());
        assert_eq!(attempt("free", 999_999_999_999, None).await, "999999999999", "there is no limit at first");

        shop.program(&["limits", "set", "--department", "*", "--yen", "100"]).await;
        assert_eq!(attempt("all-1", 101, None).await, "not_allowed");
        assert_eq!(attempt("all-2", 100, None).await, "100", "the limit itself is below it");
        let said = shop.program(&["limits", "set", "--department", "直販", "--yen", "500"]).await;
        assert_eq!(said, "直販: a sale above 500 yen needs a manager\n");
        assert_eq!(attempt("own-1", 500, None).await, "500", "a department's own limit comes before that of all");
        assert_eq!(attempt("own-2", 501, None).await, "not_allowed");
        assert_eq!(attempt("own-3", 501, Some("U0MORI")).await, "501", "a manager of the department");
        assert_eq!(attempt("own-4", 501, Some("U0LIAM")).await, "not_allowed", "a manager of another department");
        assert_eq!(
            listed(&shop).await,
            [json!({ "department": "*", "limit_yen": 100 }), json!({ "department": "直販", "limit_yen": 500 })]
        );

        shop.program(&["limits", "set", "--department", "直販", "--yen", "0"]).await;
        assert_eq!(attempt("zero-1", 1, None).await, "not_allowed");
        assert_eq!(attempt("zero-2", 0, None).await, "0");
        shop.program(&["limits", "remove", "--department", "直販"]).await;
        assert_eq!(attempt("all-3", 101, None).await, "not_allowed", "that of all counts again");
        shop.program(&["limits", "remove", "--department", "*"]).await;
        assert_eq!(attempt("free-2", 1_000_000, None).await, "1000000");

        let sql = "SELECT actor || ' ' || on_behalf || ' ' || risk || ' ' || detail FROM audit WHERE event = 'limit_changed' ORDER BY id";
        let rows: Vec<String> = records::query(sql).scalars(shop.db()).await.expect("rows");
        let told = |department: &str, before: Value, now: Value| {
            format!("limits operator high {}", json!({ "department": department, "before": before, "now": now }))
        };
        assert_eq!(
            rows,
            [
                told("*", Value::Null, json!(100)),
                told("直販", Value::Null, json!(500)),
                told("直販", json!(500), json!(0)),
                told("直販", json!(0), Value::Null),
                told("*", json!(100), Value::Null),
            ]
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_cannot_be_is_refused_with_what_to_do() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let shop = Shop::open(engine).await;
        for (args, sentence) in [
            (vec!["set", "--department", " ", "--yen", "1"], "--department is empty; name one, or * for all others"),
            (vec!["set", "--department", "直販", "--yen=-1"], "not in 0..=999999999999"),
            (vec!["set", "--department", "直販", "--yen", "1000000000000"], "not in 0..=999999999999"),
            (vec!["set", "--department", "直販", "--yen", "10.5"], "invalid digit"),
            (vec!["set", "--department", "直販"], "--yen <YEN>"),
            (vec!["remove", "--department", "直販"], "直販 has no limit; see `limits list`"),
        ] {
            let (code, said) = shop.program_ends(&[&["limits"][..], &args].concat()).await;
            assert!(code == 2 && said.contains(sentence), "{args:?}: {code} {said}");
        }
        assert_eq!(listed(&shop).await, Vec::<Value>::new());
        assert_eq!(shop.number("SELECT count(*) FROM audit").await, 0);
        // A name nobody's customers have is taken, and said to be strange.
        let (code, said) = shop.program_ends(&["limits", "set", "--department", "直版", "--yen", "1"]).await;
        assert!(code == 0 && said.contains("no customer is of the department 直版"), "{code} {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i24_who_was_given_which_rights_and_who_lost_them_is_in_the_trail() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let shop = Shop::open(engine).await;
        let of = ["--team", sample::TEAM, "--user", "U0NEW"];
        let add = [&["staff", "add"], &of[..], &["--role", "manager", "--department", "直販,卸"]].concat();
        shop.program(&add).await;
        shop.program(&[&["staff", "remove"], &of[..]].concat()).await;
        let sql = "SELECT event || ' ' || on_behalf || ' ' || risk || ' ' || detail FROM audit WHERE actor = 'staff' ORDER BY id";
        let rows: Vec<String> = records::query(sql).scalars(shop.db()).await.expect("rows");
        let person = Person::new(sample::TEAM, "U0NEW").subject();
        assert_eq!(
            rows,
            [
                format!("staff_put {person} high {}", json!({ "role": "manager", "departments": ["直販", "卸"] })),
                format!("staff_removed {person} high {{}}"),
            ]
        );
    }
}
