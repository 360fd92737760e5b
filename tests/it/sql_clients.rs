//! The functions of the database as SQL clients call them: names, columns and status codes are a contract.

use sales_concierge::domain::{Write, Yen};
use sales_concierge::records::postgres::{Group, Synced, pool};
use sales_concierge::records::testing::Database;
use sales_concierge::tokens::digest;
use sqlx::postgres::PgPool;

/// Customers of two departments, and their sales.
async fn shop(admin: &PgPool) {
    sqlx::raw_sql(
        "INSERT INTO staff VALUES ('T', 'U', '営業 はな', 'sales', '[\"野菜\"]', true), ('T', 'M', '課長', 'manager', '[\"野菜\"]', true);
         INSERT INTO customers (code_customer, name_customer, address, phone, department) VALUES
             ('0001', 'さとう 花子', '架空市1', '000', '野菜'), ('0002', '佐藤 太郎', '架空市2', '000', '野菜'),
             ('0003', 'サトウ 次郎', '架空市3', '000', '野菜'), ('0101', '果樹園', '架空市4', '000', '果物');
         INSERT INTO sales (code_sales, code_customer, sales_date, products, price, registered_by, origin, registered_at,
                            cancelled_at, cancelled_by) VALUES
             ('S2', '0002', '2026-10-05', '人参', 200, 'slack:T:U', 'sample', 2, NULL, NULL),
             ('S1', '0002', '2026-09-28', '大根', 100, 'slack:T:U', 'sample', 1, NULL, NULL),
             ('S3', '0002', '2026-10-05', '牛蒡', 400, 'slack:T:U', 'sample', 3, 4, 'slack:T:U'),
             ('S4', '0001', '2026-10-06', '蓮根', 800, 'slack:T:M', 'sample', 4, NULL, NULL),
             ('S5', '0101', '2026-10-05', '林檎', 9000, 'slack:T:O', 'sample', 5, NULL, NULL)",
    )
    .execute(admin)
    .await
    .expect("a shop");
}

/// The rows of a call as text, NULL as `-`.
async fn ask(reader: &PgPool, departments: Option<&str>, call: &str) -> Vec<String> {
    let mut tx = reader.begin().await.expect("a transaction");
    if let Some(departments) = departments {
        let set = "SELECT set_config('sales_concierge.departments', $1, true)";
        sqlx::query(set).bind(departments).execute(&mut *tx).await.expect("set");
    }
    let sql = format!(
        "SELECT (SELECT string_agg(coalesce(v #>> '{{}}', '-'), '|' ORDER BY n) FROM json_each(row_to_json(r)) WITH ORDINALITY AS e (k, v, n))
         FROM {call} WITH ORDINALITY AS r ORDER BY r.ordinality"
    );
    let rows: Vec<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
        .fetch_all(&mut *tx)
        .await
        .unwrap_or_else(|e| panic!("{call}: {e}"));
    // Without the number of the row.
    rows.into_iter().map(|row| row.rsplit_once('|').expect("a number").0.to_owned()).collect()
}

#[tokio::test]
async fn reads_say_200_204_and_404_and_keep_to_the_departments() {
    let database = Database::create().await;
    let admin = database.admin();
    shop(&admin).await;
    let reader = pool(&database.settings(), Group::Reader, Synced::No).expect("a pool");
    let none_customer = "204|該当データなし|-|-|-|-|-";
    let (unknown, nothing) = ("404|顧客が存在しません", "204|該当データなし");
    let vegetables = Some("[\"野菜\"]");
    let hana = "200|OK|0001|さとう 花子|架空市1|000|野菜";
    let taro = "200|OK|0002|佐藤 太郎|架空市2|000|野菜";
    let jiro = "200|OK|0003|サトウ 次郎|架空市3|000|野菜";
    let orchard = "200|OK|0101|果樹園|架空市4|000|果物";
    for (departments, call, expected) in [
        (vegetables, "get_customers(NULL, NULL)", vec![hana, taro, jiro]),
        (vegetables, "get_customers('0002', NULL)", vec![taro]),
        (vegetables, "get_customers(NULL, 'ｻﾄｳ')", vec![hana, jiro]),
        (vegetables, "get_customers('0002', '太')", vec![taro]),
        (vegetables, "get_customers('0002', '花')", vec![none_customer]),
        (vegetables, "get_customers(NULL, '%')", vec![none_customer]),
        (vegetables, "get_customers('0101', NULL)", vec![none_customer]),
        (None, "get_customers(NULL, NULL)", vec![none_customer]),
        (Some("[\"*\"]"), "get_customers(NULL, NULL)", vec![hana, taro, jiro, orchard]),
        (
            vegetables,
            "get_sales('0002', NULL, NULL, NULL)",
            vec![
                "200|OK|S1|0002|佐藤 太郎|2026-09-28|大根|100|slack:T:U|false",
                "200|OK|S2|0002|佐藤 太郎|2026-10-05|人参|200|slack:T:U|false",
                "200|OK|S3|0002|佐藤 太郎|2026-10-05|牛蒡|400|slack:T:U|true",
            ],
        ),
        (
            vegetables,
            "get_sales('0002', 'S2', '2026-10-05', '2026-10-05')",
            vec!["200|OK|S2|0002|佐藤 太郎|2026-10-05|人参|200|slack:T:U|false"],
        ),
        (vegetables, "get_sales('0002', NULL, '2026-10-06', NULL)", vec!["204|該当データなし|-|0002|-|-|-|-|-|-"]),
        (vegetables, "get_sales('0003', NULL, NULL, NULL)", vec!["204|該当データなし|-|0003|-|-|-|-|-|-"]),
        (vegetables, "get_sales('0101', NULL, NULL, NULL)", vec!["404|顧客が存在しません|-|0101|-|-|-|-|-|-"]),
        (vegetables, "get_sales('9999', NULL, NULL, NULL)", vec!["404|顧客が存在しません|-|9999|-|-|-|-|-|-"]),
        (None, "get_sales('0002', NULL, NULL, NULL)", vec!["404|顧客が存在しません|-|0002|-|-|-|-|-|-"]),
        (
            vegetables,
            "list_registrations('2026-10-01', '2026-10-31', 'はな')",
            vec!["200|OK|S2|0002|佐藤 太郎|2026-10-05|人参|200|slack:T:U|false|sample"],
        ),
        (
            vegetables,
            "list_registrations('2026-10-01', NULL, 'slack:T:U', true)",
            vec![
                "200|OK|S2|0002|佐藤 太郎|2026-10-05|人参|200|slack:T:U|false|sample",
                "200|OK|S3|0002|佐藤 太郎|2026-10-05|牛蒡|400|slack:T:U|true|sample",
            ],
        ),
        (vegetables, "list_registrations(NULL, NULL, 'slack:T:O')", vec!["204|該当データなし|-|-|-|-|-|-|-|-|-"]),
        (vegetables, "summarize_sales('2026-09-01', '2026-10-31')", vec!["200|OK|total|total|3|1100"]),
        (
            vegetables,
            "summarize_sales('2026-09-01', '2026-10-31', NULL, 'month')",
            vec!["200|OK|2026-09|2026-09|1|100", "200|OK|2026-10|2026-10|2|1000"],
        ),
        (
            vegetables,
            "summarize_sales('2026-09-01', '2026-10-31', NULL, 'week')",
            vec!["200|OK|2026-09-28|2026-09-28/2026-10-04|1|100", "200|OK|2026-10-05|2026-10-05/2026-10-11|2|1000"],
        ),
        (
            vegetables,
            "summarize_sales('2026-09-01', '2026-10-31', NULL, 'customer')",
            vec!["200|OK|0001|さとう 花子|1|800", "200|OK|0002|佐藤 太郎|2|300"],
        ),
        (
            vegetables,
            "summarize_sales('2026-09-01', '2026-10-31', '0002', 'staff')",
            vec!["200|OK|slack:T:U|営業 はな|2|300"],
        ),
        (Some("[\"果物\"]"), "summarize_sales('2026-09-01', '2026-10-31')", vec!["200|OK|total|total|1|9000"]),
    ] {
        assert_eq!(ask(&reader, departments, call).await, expected, "{departments:?} {call}");
    }
    for (departments, call, begin) in [
        (vegetables, "summarize_sales('2020-01-01', '2020-12-31')", nothing),
        (None, "summarize_sales('2026-09-01', '2026-10-31')", nothing),
        (vegetables, "summarize_sales('2026-09-01', '2026-10-31', '0101')", unknown),
        (vegetables, "summarize_sales('2026-09-01', '2026-10-31', '9999', 'day')", unknown),
    ] {
        let rows = ask(&reader, departments, call).await;
        assert!(rows.len() == 1 && rows[0].starts_with(begin), "{call}: {rows:?}");
    }
    let strange =
        sqlx::raw_sql("SELECT * FROM summarize_sales('2026-01-01', '2026-01-02', NULL, 'year')").execute(&reader).await;
    assert!(strange.expect_err("no such group").to_string().contains("group_by is one of"));
}

fn carrots(price: i64) -> Write {
    Write::AddSale {
        code_customer: "0002".into(),
        name_customer: "佐藤 太郎".into(),
        department: "野菜".into(),
        products: "人参 10kg".into(),
        price: Yen(price),
        date_sales: "2026-10-05".parse().expect("a day"),
    }
}

async fn claimed(admin: &PgPool, id: &str, user: &str, state: &str, write: &Write) -> String {
    sqlx::query(
        "INSERT INTO proposals (id, turn_id, round, call_index, origin_turn, team, channel, root, requester_team,
             requester_user, lang, tool, write, digest, state, created_at, expires_at, claim_click, decided_team, decided_user)
         VALUES ($1, $1, 0, 0, $1, 'T', 'C', '1.0', 'T', $2, 'ja', $3, $4, $5, $6, 0, 0, 'click', 'T', $2)",
    )
    .bind(id)
    .bind(user)
    .bind(write.tool())
    .bind(serde_json::to_string(write).expect("JSON"))
    .bind(digest(write))
    .bind(state)
    .execute(admin)
    .await
    .expect("a proposal");
    digest(write)
}

/// Status, message and code; the number of the sale apart.
async fn commit(committer: &PgPool, call: &str, binds: &[&str]) -> ((i32, String, Option<String>), Option<String>) {
    let sql = format!("SELECT status_code, status_message, code, code_sales FROM {call}");
    let query = binds.iter().fold(sqlx::query_as(sqlx::AssertSqlSafe(sql)), |query, bind| query.bind(bind.to_string()));
    let (status, message, code, number): (i32, String, Option<String>, Option<String>) =
        query.fetch_one(committer).await.unwrap_or_else(|e| panic!("{call}: {e}"));
    ((status, message, code), number)
}

#[tokio::test]
async fn writes_say_201_200_403_and_404() {
    let database = Database::create().await;
    let admin = database.admin();
    shop(&admin).await;
    let committer = pool(&database.settings(), Group::Committer, Synced::Yes).expect("a pool");
    let add = "add_sale($1, $2, $3, $4, $5, '人参 10kg', 1800, '2026-10-05', 'Asia/Tokyo')";
    let hana = "slack:T:U";
    let answer = |status: i32, message: &str, code: Option<&str>| (status, message.to_owned(), code.map(str::to_owned));
    let unapproved = answer(403, "承認がありません", Some("approval_invalid"));
    let write = carrots(1800);
    let of_write = digest(&write);

    assert_eq!(commit(&committer, add, &["none", &of_write, hana, hana, "0002"]).await, (unapproved.clone(), None));
    claimed(&admin, "pending", "U", "pending", &write).await;
    assert_eq!(commit(&committer, add, &["pending", &of_write, hana, hana, "0002"]).await, (unapproved.clone(), None));
    claimed(&admin, "P1", "U", "claimed", &write).await;
    let other = digest(&carrots(1));
    let mismatch = answer(403, "承認の内容と一致しません", Some("approval_mismatch"));
    assert_eq!(commit(&committer, add, &["P1", &other, hana, hana, "0002"]).await, (mismatch.clone(), None));
    assert_eq!(
        commit(&committer, add, &["P1", &of_write, "slack:T:M", hana, "0002"]).await,
        (unapproved.clone(), None)
    );
    let nobody = answer(404, "顧客が存在しません", Some("customer_not_found"));
    for customer in ["0101", "9999"] {
        assert_eq!(
            commit(&committer, add, &["P1", &of_write, hana, hana, customer]).await,
            (nobody.clone(), None),
            "{customer}"
        );
    }
    claimed(&admin, "stranger", "X", "claimed", &write).await;
    let forbidden = answer(403, "権限がありません", Some("not_allowed"));
    let strangers = ["stranger", of_write.as_str(), "slack:T:X", "slack:T:X", "0002"];
    assert_eq!(commit(&committer, add, &strangers).await, (forbidden.clone(), None));

    let (first, number) = commit(&committer, add, &["P1", &of_write, hana, hana, "0002"]).await;
    assert_eq!(first, answer(201, "OK", None));
    let again = commit(&committer, add, &["P1", &of_write, hana, hana, "0002"]).await;
    assert_eq!(again, (answer(200, "OK", None), number.clone()));
    assert_eq!(
        commit(&committer, add, &["P1", &other, hana, hana, "0002"]).await,
        (mismatch, None),
        "after the write, too"
    );

    let number = number.expect("a number");
    let cancel = |code: &str| Write::CancelSale {
        code_sales: code.into(),
        code_customer: "0002".into(),
        name_customer: "佐藤 太郎".into(),
        department: "野菜".into(),
        products: "人参 10kg".into(),
        price: Yen(1800),
        date_sales: "2026-10-05".parse().expect("a day"),
        reason: "数量違い".into(),
    };
    let undo = "cancel_sale($1, $2, $3, $3, $4, '数量違い', 3600000)";
    assert_eq!(commit(&committer, undo, &["none", "d", hana, &number]).await, (unapproved, None));
    for (id, code) in [("C1", "S404"), ("C2", "S5")] {
        let of_cancel = claimed(&admin, id, "U", "claimed", &cancel(code)).await;
        let unknown = answer(404, "売上が存在しません", Some("sale_not_found"));
        assert_eq!(commit(&committer, undo, &[id, &of_cancel, hana, code]).await, (unknown, None), "{code}");
    }
    let of_cancel = claimed(&admin, "C3", "U", "claimed", &cancel(&number)).await;
    for status in [201, 200] {
        let done = commit(&committer, undo, &["C3", &of_cancel, hana, &number]).await;
        assert_eq!(done, (answer(status, "OK", None), Some(number.clone())));
    }
    let of_cancel = claimed(&admin, "C4", "U", "claimed", &cancel(&number)).await;
    let before = answer(403, "すでに取り消されています", Some("already_cancelled"));
    assert_eq!(commit(&committer, undo, &["C4", &of_cancel, hana, &number]).await, (before, None));

    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT event, proposal FROM audit ORDER BY id").fetch_all(&admin).await.expect("rows");
    let expected = [("sale_registered", "P1"), ("sale_cancelled", "C3")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(rows, expected, "what was refused by the database alone changes nothing");
}
