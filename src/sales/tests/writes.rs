//! The two writes and their approvals.

use chrono::TimeDelta;
use futures::future::join_all;
use serde_json::{Value, json};

use super::{Reply, Shop, cancellation, carrots, day, object, person};
use crate::domain::{ProposalId, Write, Yen};
use crate::records;
use crate::records::testing::{Engine, on_both_engines};
use crate::tokens::{Approval, Keys, META_APPROVAL, META_CALLER, digest};

fn with_price(price: i64) -> Write {
    match carrots() {
        Write::AddSale { code_customer, name_customer, department, products, date_sales, .. } => {
            Write::AddSale { code_customer, name_customer, department, products, price: Yen(price), date_sales }
        }
        other => other,
    }
}

on_both_engines! {
    async fn an_approved_sale_is_written_as_the_card_showed_it(engine) {
        let shop = Shop::open(engine).await;
        let approval = shop.proposal("P1", "sales", &carrots(), "claimed").await;
        let reply = shop.commit(&approval, &carrots()).await;
        let row = &reply.data()["sales_registered"];
        let code = row["code_sales"].as_str().unwrap();
        let (time, letters) = code.strip_prefix('S').unwrap().split_once('-').unwrap();
        assert!(time.len() == 14 && time.chars().all(|c| c.is_ascii_digit()), "{code}");
        assert!(letters.len() == 4 && letters.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit()), "{code}");
        let today = shop.clock.today(chrono_tz::Asia::Tokyo).format("%Y%m%d").to_string();
        assert!(time.starts_with(&today), "the number tells the company's day: {code}");
        assert_eq!(
            *row,
            json!({
                "code_sales": code, "code_customer": "0002", "name_customer": "佐藤 太郎", "department": "野菜",
                "date_sales": "2026-10-05", "products": "人参 10kg", "price": 1800,
                "registered_by": "slack:T0TEST:U0SALES", "registered_by_name": "営業 はな", "cancelled": false,
            })
        );
        assert_eq!(reply.data()["departments"], json!(["野菜"]));
        let listed = shop.call("sales", "get_sales", json!({ "code_customer": "0002", "code_sales": code })).await;
        assert_eq!(listed.data()["sales"][0], *row, "what is read back is what was said");
        let audit: String = records::query("SELECT proposal || event || risk FROM audit WHERE proposal IS NOT NULL").scalar(shop.db())
            .await
            .unwrap();
        assert_eq!(audit, "P1sale_registeredmedium");
    }
}

on_both_engines! {
    async fn k10_the_same_approval_again_gives_the_first_row_back(engine) {
        let shop = Shop::open(engine).await;
        let approval = shop.proposal("P1", "sales", &carrots(), "claimed").await;
        let first = shop.commit(&approval, &carrots()).await;
        assert_eq!(first.data().get("repeated"), None);
        let check = async |when: &str| {
            let again = shop.commit(&approval, &carrots()).await;
            assert_eq!(again.data()["repeated"], true, "{when}");
            assert_eq!(
                again.data()["sales_registered"]["code_sales"],
                first.data()["sales_registered"]["code_sales"],
                "{when}"
            );
            assert_eq!(shop.approved_sales().await, 1, "{when}");
        };
        check("at once").await;
        shop.set_state("P1", "done").await;
        check("settled").await;
        shop.execute("UPDATE customers SET name_customer = $1 WHERE code_customer = '0002'", &["佐藤 次郎"]).await;
        check("the customer was renamed since").await;
        shop.execute("UPDATE staff SET active = FALSE WHERE \"user\" = $1", &["U0SALES"]).await;
        check("the person was revoked since").await;
        let other = shop.commit(&approval, &with_price(1801)).await;
        assert_eq!(other.code(), "approval_mismatch", "other arguments under the same approval");
        let forged = Approval { digest: digest(&with_price(1801)), ..approval.clone() };
        assert_eq!(shop.commit(&forged, &with_price(1801)).await.code(), "approval_mismatch");
        assert_eq!(shop.approved_sales().await, 1);
    }
}

on_both_engines! {
    async fn i02_sixty_four_calls_of_one_approval_at_once_write_one_sale(engine) {
        let shop = Shop::open(engine).await;
        let approval = shop.proposal("P1", "sales", &carrots(), "claimed").await;
        let write = carrots();
        let replies = join_all((0..64).map(|_| shop.commit(&approval, &write))).await;
        let firsts = replies.iter().filter(|r| r.data().get("repeated").is_none()).count();
        assert_eq!(firsts, 1, "one wrote, the others were told what it wrote");
        let code = &replies[0].data()["sales_registered"];
        assert!(replies.iter().all(|r| r.data()["sales_registered"] == *code));
        assert_eq!(shop.approved_sales().await, 1);
        assert_eq!(shop.number("SELECT count(*) FROM audit WHERE event = 'sale_registered'").await, 1);
    }
}

on_both_engines! {
    async fn numbers_are_unique_when_many_sales_are_registered_in_one_second(engine) {
        let shop = Shop::open(engine).await;
        let mut approvals = Vec::new();
        for i in 0..16 {
            approvals.push(shop.proposal(&format!("P{i}"), "sales", &with_price(i), "claimed").await);
        }
        let writes: Vec<_> = (0..16).map(with_price).collect();
        join_all(approvals.iter().zip(&writes).map(|(a, w)| shop.commit(a, w))).await;
        assert_eq!(shop.number("SELECT count(DISTINCT code_sales) FROM sales WHERE origin = 'approval'").await, 16);
    }
}

on_both_engines! {
    async fn i03_whatever_differs_from_the_card_is_not_written(engine) {
        let shop = Shop::open(engine).await;
        let approval = shop.proposal("P1", "sales", &carrots(), "claimed").await;
        for (field, value) in [
            ("code_customer", json!("0001")),
            ("products", json!("人参 100kg")),
            ("products", json!("人参 10kg ")),
            ("price", json!(18_000)),
            ("date_sales_str", json!("2026-10-06")),
        ] {
            let mut args = carrots().arguments();
            args.insert(field.into(), value.clone());
            let reply = shop.commit_args(&approval, "add_sale", args).await;
            assert_eq!(reply.code(), "approval_mismatch", "{field} {value}");
        }
        // A token for another digest than the proposal's, even one that fits the call.
        let forged = Approval { digest: digest(&with_price(1)), ..approval.clone() };
        assert_eq!(shop.commit(&forged, &with_price(1)).await.code(), "approval_mismatch");
        // The name the person saw on the card is part of what they approved.
        shop.execute("UPDATE customers SET name_customer = $1 WHERE code_customer = '0002'", &["佐藤 次郎"]).await;
        assert_eq!(shop.commit(&approval, &carrots()).await.code(), "approval_mismatch");
        assert_eq!(shop.approved_sales().await, 0);
    }
}

on_both_engines! {
    async fn i03_the_store_itself_refuses_to_change_what_a_card_showed(engine) {
        let shop = Shop::open(engine).await;
        shop.proposal("P1", "sales", &carrots(), "claimed").await;
        for sql in ["UPDATE proposals SET digest = 'x'", "UPDATE proposals SET requester_user = 'U0ADMIN'"] {
            assert!(shop.try_execute(sql, &[]).await.is_err(), "{sql}");
        }
    }
}

on_both_engines! {
    async fn i05_only_a_claimed_proposal_is_carried_out(engine) {
        let shop = Shop::open(engine).await;
        for state in ["pending", "awaiting_manager", "done", "failed", "unknown", "cancelled", "expired", "superseded"] {
            let approval = shop.proposal(state, "sales", &carrots(), state).await;
            assert_eq!(shop.commit(&approval, &carrots()).await.code(), "approval_invalid", "{state}");
        }
        // The approval of one proposal does not run another.
        let claimed = shop.proposal("P1", "sales", &carrots(), "claimed").await;
        let swapped = Approval { proposal: ProposalId::new("expired"), ..claimed.clone() };
        assert_eq!(shop.commit(&swapped, &carrots()).await.code(), "approval_invalid");
        let unknown = Approval { proposal: ProposalId::new("P2"), ..claimed.clone() };
        assert_eq!(shop.commit(&unknown, &carrots()).await.code(), "approval_invalid");
        let as_cancel =
            shop.commit_args(&claimed, "cancel_sale", object(json!({ "code_sales": "S1", "reason": "x" }))).await;
        assert_eq!(as_cancel.code(), "approval_invalid", "an approved sale does not cancel one");
        assert_eq!(shop.approved_sales().await, 0);
    }
}

on_both_engines! {
    async fn i10_a_bad_approval_token_is_refused_and_an_old_one_says_so(engine) {
        let shop = Shop::open(engine).await;
        let approval = shop.proposal("P1", "sales", &carrots(), "claimed").await;
        let stranger = Keys::generate().unwrap();
        let now = shop.clock.now();
        let args = carrots().arguments();
        let mut altered = shop.keys.approval.sign(&approval, now);
        altered.replace_range(40..41, if altered.get(40..41) == Some("A") { "B" } else { "A" });
        for (token, code) in [
            (String::new(), "approval_invalid"),
            ("P1".to_owned(), "approval_invalid"),
            (altered, "approval_invalid"),
            (stranger.approval.sign(&approval, now), "approval_invalid"),
            (shop.caller("sales", "add_sale", &args), "approval_invalid"),
            (shop.keys.approval.sign(&approval, now - TimeDelta::minutes(2)), "approval_expired"),
            (shop.keys.approval.sign(&approval, now + TimeDelta::minutes(10)), "approval_expired"),
        ] {
            let meta = json!({ META_CALLER: shop.caller("sales", "add_sale", &args), META_APPROVAL: token });
            let reply = Reply::of(shop.raw("add_sale", args.clone(), meta).await.unwrap());
            assert_eq!(reply.code(), code, "{token}");
        }
        assert_eq!(shop.approved_sales().await, 0);
    }
}

on_both_engines! {
    async fn i24_what_a_write_did_and_why_it_did_not_stands_beside_its_proposal(engine) {
        let shop = Shop::open(engine).await;
        let code = shop.sell("sales", "P1", &carrots()).await;
        let undo = shop.proposal("P2", "sales", &cancellation(&code), "claimed").await;
        assert_eq!(shop.commit(&undo, &cancellation(&code)).await.data()["sale_cancelled"]["cancelled"], true);
        let late = shop.proposal("P3", "sales", &cancellation(&code), "claimed").await;
        assert_eq!(shop.commit(&late, &cancellation(&code)).await.code(), "already_cancelled");
        let other = shop.proposal("P4", "sales", &carrots(), "claimed").await;
        assert_eq!(shop.commit(&other, &with_price(5)).await.code(), "approval_mismatch");
        let rows: Vec<String> = records::query(
            "SELECT proposal || ' ' || event || ' ' || risk || ' ' || result || ' ' || digest FROM audit
             WHERE proposal IS NOT NULL ORDER BY id",
        )
        .scalars(shop.db())
        .await
        .unwrap();
        assert_eq!(
            rows,
            [
                format!("P1 sale_registered medium ok {}", digest(&carrots())),
                format!("P2 sale_cancelled high ok {}", undo.digest),
                format!("P3 tool_refused high already_cancelled {}", late.digest),
                format!("P4 tool_refused critical approval_mismatch {}", other.digest),
            ]
        );
    }
}

on_both_engines! {
    async fn i03_a_registered_sale_cannot_become_another_one(engine) {
        let shop = Shop::open(engine).await;
        let code = shop.sell("sales", "P1", &carrots()).await;
        for change in [
            "UPDATE sales SET price = 1 WHERE code_sales = $1",
            "UPDATE sales SET products = 'x' WHERE code_sales = $1",
            "UPDATE sales SET sales_date = '2020-01-01' WHERE code_sales = $1",
            "UPDATE sales SET code_customer = '0001' WHERE code_sales = $1",
            "UPDATE sales SET registered_by = 'slack:T0TEST:U0MANAGER' WHERE code_sales = $1",
            "UPDATE sales SET origin = 'import', proposal_id = NULL, digest = NULL WHERE code_sales = $1",
            "DELETE FROM sales WHERE code_sales = $1",
        ] {
            assert!(shop.try_execute(change, &[&code]).await.is_err(), "{change}");
        }
        // Its customer may still move.
        shop.execute("UPDATE customers SET department = '果物' WHERE code_customer = $1", &["0002"]).await;
        let seen = shop.call("other", "get_sales", json!({ "code_customer": "0002", "code_sales": code })).await;
        assert_eq!(seen.data()["sales"][0]["price"], 1800);
    }
}

on_both_engines! {
    async fn a_refused_cancellation_says_why_in_the_same_words_on_both_engines(engine) {
        let shop = Shop::open(engine).await;
        let write = |code: &str| cancellation(code);
        let mut said = Vec::new();
        for (id, who, code) in [("P1", "colleague", "S1"), ("P2", "sales", "S1"), ("P3", "viewer", "S1"), ("P4", "other", "S1")] {
            let approval = shop.proposal(id, who, &write(code), "claimed").await;
            let reply = shop.commit(&approval, &write(code)).await;
            said.push(format!("{}: {}", reply.code(), reply.value["data"]["error"].as_str().unwrap()));
        }
        assert_eq!(
            said,
            [
                "not_allowed: Only a manager may cancel a sale that another person registered.",
                "not_allowed: The time to cancel an own registration is over; a manager may still cancel it.",
                "not_allowed: This person may not write sales.",
                "sale_not_found: There is no sale with this number.",
            ]
        );
    }
}

on_both_engines! {
    async fn i11_another_persons_approval_is_useless(engine) {
        let shop = Shop::open(engine).await;
        let approval = shop.proposal("P1", "sales", &carrots(), "claimed").await;
        let args = carrots().arguments();
        let meta = json!({
            META_CALLER: shop.caller("manager", "add_sale", &args),
            META_APPROVAL: shop.keys.approval.sign(&approval, shop.clock.now()),
        });
        let reply = Reply::of(shop.raw("add_sale", args, meta).await.unwrap());
        assert_eq!(reply.code(), "approval_invalid");
        // A token that names another requester does not fit the proposal.
        let stolen = Approval { requester: person("manager"), approver: person("manager"), ..approval };
        assert_eq!(shop.commit(&stolen, &carrots()).await.code(), "approval_invalid");
        assert_eq!(shop.approved_sales().await, 0);
    }
}

on_both_engines! {
    async fn i04_nobody_approves_for_another_while_there_is_no_amount_limit(engine) {
        let shop = Shop::open(engine).await;
        let approval = shop.proposal("P1", "sales", &carrots(), "claimed").await;
        let by_manager = Approval { approver: person("manager"), ..approval };
        assert_eq!(shop.commit(&by_manager, &carrots()).await.code(), "approval_invalid", "another one decided");
        shop.execute("UPDATE proposals SET decided_user = $1", &["U0MANAGER"]).await;
        assert_eq!(shop.commit(&by_manager, &carrots()).await.code(), "not_allowed");
        assert_eq!(shop.approved_sales().await, 0);
    }
}

on_both_engines! {
    async fn rights_are_read_inside_the_transaction(engine) {
        let shop = Shop::open(engine).await;
        for (id, who, code) in
            [("P1", "viewer", "not_allowed"), ("P2", "gone", "not_allowed"), ("P3", "other", "customer_not_found")]
        {
            let approval = shop.proposal(id, who, &carrots(), "claimed").await;
            assert_eq!(shop.commit(&approval, &carrots()).await.code(), code, "{who}");
        }
        assert_eq!(shop.approved_sales().await, 0);
        let approval = shop.proposal("P4", "admin", &carrots(), "claimed").await;
        assert_eq!(shop.commit(&approval, &carrots()).await.data()["sales_registered"]["price"], 1800);
    }
}

on_both_engines! {
    async fn k09_a_sale_whose_audit_row_cannot_be_written_is_not_written_either(engine) {
        let shop = Shop::open(engine).await;
        let approval = shop.proposal("P1", "sales", &carrots(), "claimed").await;
        let (broken, whole) = match engine {
            Engine::Sqlite => (
                "CREATE TRIGGER broken BEFORE INSERT ON audit WHEN NEW.event = 'sale_registered'
                 BEGIN SELECT RAISE(ABORT, 'disk full'); END",
                "DROP TRIGGER broken",
            ),
            Engine::Postgres => (
                "ALTER TABLE audit ADD CONSTRAINT broken CHECK (event <> 'sale_registered')",
                "ALTER TABLE audit DROP CONSTRAINT broken",
            ),
        };
        shop.execute(broken, &[]).await;
        let args = carrots().arguments();
        let meta = json!({
            META_CALLER: shop.caller("sales", "add_sale", &args),
            META_APPROVAL: shop.keys.approval.sign(&approval, shop.clock.now()),
        });
        let error = shop.raw("add_sale", args, meta).await.unwrap_err();
        assert!(error.to_string().contains("not known"), "an unknown outcome, not a refusal: {error}");
        assert_eq!(shop.approved_sales().await, 0);
        shop.execute(whole, &[]).await;
        let reply = shop.commit(&approval, &carrots()).await;
        assert_eq!(reply.data().get("repeated"), None, "nothing had been written");
    }
}

on_both_engines! {
    async fn a_sale_is_cancelled_once_and_stays_in_the_list(engine) {
        let shop = Shop::open(engine).await;
        let code = shop.sell("sales", "P1", &carrots()).await;
        let write = cancellation(&code);
        let approval = shop.proposal("P2", "sales", &write, "claimed").await;
        let reply = shop.commit(&approval, &write).await;
        assert_eq!(reply.data()["sale_cancelled"]["code_sales"], code);
        assert_eq!(reply.data()["sale_cancelled"]["cancelled"], true);
        assert_eq!(reply.data().get("repeated"), None);
        shop.set_state("P2", "done").await;
        assert_eq!(shop.commit(&approval, &write).await.data()["repeated"], true, "k10: the same approval again");
        let other = shop.proposal("P3", "sales", &write, "claimed").await;
        assert_eq!(shop.commit(&other, &write).await.code(), "already_cancelled");
        let listed = shop.call("sales", "get_sales", json!({ "code_customer": "0002" })).await;
        assert_eq!((&listed.data()["count"], &listed.data()["total_price"]), (&json!(4), &json!(300)));
        let told = "SELECT cancelled_by || '/' || cancel_reason FROM sales WHERE code_sales = $1";
        let told: String = records::query(told).bind(&code).scalar(shop.db()).await.unwrap();
        assert_eq!(told, format!("{}/金額違い", person("sales").subject()));
    }
}

on_both_engines! {
    async fn a_cancellation_is_open_to_the_seller_for_a_while_and_to_the_departments_manager(engine) {
        let shop = Shop::open(engine).await;
        let code = shop.sell("sales", "P1", &carrots()).await;
        let write = cancellation(&code);
        let attempt = async |id: &str, who: &str| {
            let approval = shop.proposal(id, who, &write, "claimed").await;
            shop.commit(&approval, &write).await
        };
        assert_eq!(attempt("P2", "colleague").await.code(), "not_allowed");
        assert_eq!(attempt("P3", "viewer").await.code(), "not_allowed");
        assert_eq!(attempt("P4", "other").await.code(), "sale_not_found", "another department's manager");
        shop.execute("UPDATE sales SET registered_at = registered_at - 90000000 WHERE code_sales = $1", &[&code]).await;
        assert_eq!(attempt("P5", "sales").await.code(), "not_allowed", "25 hours later");
        assert_eq!(shop.number("SELECT count(*) FROM sales WHERE cancel_proposal IS NOT NULL").await, 0);
        assert_eq!(attempt("P6", "manager").await.data()["sale_cancelled"]["cancelled"], true);
    }
}

on_both_engines! {
    async fn an_unknown_sale_and_another_departments_are_refused_in_the_same_words(engine) {
        let shop = Shop::open(engine).await;
        let mut replies = Vec::new();
        for (id, code) in [("P1", "S404"), ("P2", "S5")] {
            let write = cancellation(code);
            let approval = shop.proposal(id, "manager", &write, "claimed").await;
            replies.push(shop.commit(&approval, &write).await);
        }
        assert_eq!(replies[0].code(), "sale_not_found");
        assert_eq!(replies[0], replies[1]);
    }
}

on_both_engines! {
    async fn i03_a_cancellation_that_differs_from_its_card_is_not_made(engine) {
        let shop = Shop::open(engine).await;
        let code = shop.sell("sales", "P1", &carrots()).await;
        let write = cancellation(&code);
        let approval = shop.proposal("P2", "manager", &write, "claimed").await;
        for args in
            [json!({ "code_sales": code, "reason": "別の理由" }), json!({ "code_sales": "S1", "reason": "金額違い" })]
        {
            let reply = shop.commit_args(&approval, "cancel_sale", object(args.clone())).await;
            assert_eq!(reply.code(), "approval_mismatch", "{args}");
        }
        shop.execute("UPDATE customers SET name_customer = $1 WHERE code_customer = '0002'", &["佐藤 次郎"]).await;
        assert_eq!(shop.commit(&approval, &write).await.code(), "approval_mismatch");
        assert_eq!(shop.number("SELECT count(*) FROM sales WHERE cancel_proposal IS NOT NULL").await, 0);
    }
}

on_both_engines! {
    async fn a_whole_number_written_with_a_point_is_the_same_amount(engine) {
        let shop = Shop::open(engine).await;
        let approval = shop.proposal("P1", "sales", &carrots(), "claimed").await;
        let mut args = carrots().arguments();
        args.insert("price".into(), Value::from(1800.0));
        let reply = shop.commit_args(&approval, "add_sale", args).await;
        assert_eq!(reply.data()["sales_registered"]["price"], json!(1800));
    }
}

on_both_engines! {
    async fn a_sale_without_a_date_is_of_today_in_the_companys_zone(engine) {
        let shop = Shop::open(engine).await;
        let mut write = carrots();
        if let Write::AddSale { date_sales, .. } = &mut write {
            *date_sales = shop.clock.today(chrono_tz::Asia::Tokyo);
        }
        let approval = shop.proposal("P1", "sales", &write, "claimed").await;
        let mut args = write.arguments();
        args.remove("date_sales_str");
        let reply = shop.commit_args(&approval, "add_sale", args).await;
        assert_eq!(reply.data()["sales_registered"]["date_sales"], write.arguments()["date_sales_str"]);
    }
}

on_both_engines! {
    async fn i04_above_the_limit_only_another_manager_of_the_department_approves(engine) {
        let shop = Shop::open(engine).await;
        shop.execute("INSERT INTO amount_limits (department, limit_yen) VALUES ('*', 0), ('野菜', 1800)", &[]).await;
        let attempt = async |id: &str, write: &Write, approver: &str| {
            let approval = shop.proposal(id, "sales", write, "claimed").await;
            let user = person(approver).user.to_string();
            shop.execute("UPDATE proposals SET decided_user = $2 WHERE id = $1", &[id, &user]).await;
            shop.commit(&Approval { approver: person(approver), ..approval }, write).await
        };
        let above = with_price(1801);
        for approver in ["sales", "colleague", "viewer", "other", "gone"] {
            assert_eq!(attempt(approver, &above, approver).await.code(), "not_allowed", "{approver}");
        }
        assert_eq!(shop.approved_sales().await, 0);
        assert_eq!(attempt("P1", &with_price(1800), "manager").await.code(), "not_allowed", "at the limit");
        assert_eq!(attempt("P2", &with_price(1800), "sales").await.data()["sales_registered"]["price"], 1800);
        assert_eq!(attempt("P3", &above, "manager").await.data()["sales_registered"]["price"], 1801);
        assert_eq!(attempt("P4", &above, "admin").await.data()["sales_registered"]["price"], 1801);
        // A manager's own request above the limit needs another manager.
        let own = shop.proposal("P5", "manager", &above, "claimed").await;
        assert_eq!(shop.commit(&own, &above).await.code(), "not_allowed");
        assert_eq!(shop.approved_sales().await, 3);
    }
}

on_both_engines! {
    async fn boundaries_of_amount_day_and_text_are_written_as_they_are(engine) {
        let shop = Shop::open(engine).await;
        let sold = |products: &str, price: i64, date: &str| Write::AddSale {
            code_customer: "0002".into(),
            name_customer: "佐藤 太郎".into(),
            department: "野菜".into(),
            products: products.into(),
            price: Yen(price),
            date_sales: day(date),
        };
        let long = "人".repeat(1000);
        for (i, (products, price, date)) in [
            ("無料", 0, "2026-10-05"),
            ("高額", 999_999_999_999, "2026-10-05"),
            ("うるう日", 1, "2028-02-29"),
            (long.as_str(), 1, "2026-12-31"),
            ("%_' \" \\ ; -- \u{1F955} ｶﾞ か\u{3099} \u{7f}\u{2028}\t", 1, "0001-01-01"),
        ]
        .into_iter()
        .enumerate()
        {
            let write = sold(products, price, date);
            let approval = shop.proposal(&format!("P{i}"), "sales", &write, "claimed").await;
            if products.contains('\u{7f}') {
                assert_eq!(shop.commit(&approval, &write).await.code(), "invalid_products", "a control character");
                continue;
            }
            let reply = shop.commit(&approval, &write).await;
            let row = &reply.data()["sales_registered"];
            assert_eq!((&row["products"], &row["price"], &row["date_sales"]), (&json!(products), &json!(price), &json!(date)));
        }
        let write = sold("%_' \" \\ ; -- \u{1F955} ｶﾞ か\u{3099}\t\n\u{2028}", 1, "0001-01-01");
        let approval = shop.proposal("Q1", "sales", &write, "claimed").await;
        let reply = shop.commit(&approval, &write).await;
        assert_eq!(reply.data()["sales_registered"]["date_sales"], "0001-01-01");
        for (field, value, code) in [
            ("price", json!(-1), "invalid_price"),
            ("price", json!(1_000_000_000_000_i64), "invalid_price"),
            ("price", json!(0.5), "invalid_price"),
            ("products", json!("人".repeat(1001)), "invalid_products"),
            ("products", json!("人".repeat(10_000)), "invalid_products"),
            ("products", json!(""), "invalid_products"),
            ("date_sales_str", json!("2027-02-29"), "invalid_date"),
            ("date_sales_str", json!("2026-13-01"), "invalid_date"),
        ] {
            let mut args = carrots().arguments();
            args.insert(field.into(), value.clone());
            let reply = shop.commit_args(&approval, "add_sale", args).await;
            assert_eq!(reply.code(), code, "{field}");
        }
    }
}

on_both_engines! {
    async fn a_cancelled_sale_leaves_every_total(engine) {
        let shop = Shop::open(engine).await;
        let totals = async || {
            let mut all = Vec::new();
            for unit in ["total", "day", "week", "month", "customer", "staff"] {
                let args = json!({ "date_sales_begin_str": "2026-09-01", "date_sales_end_str": "2026-10-31", "group_by": unit });
                let reply = shop.call("sales", "summarize_sales", args).await;
                let sum: i64 = reply.data()["groups"].as_array().unwrap().iter().map(|g| g["total_price"].as_i64().unwrap()).sum();
                assert_eq!(reply.data()["total_price"], sum, "{unit}");
                all.push((sum, reply.data()["count"].as_i64().unwrap()));
            }
            assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "every grouping adds up to the same: {all:?}");
            all[0]
        };
        let before = totals().await;
        let code = shop.sell("sales", "P1", &carrots()).await;
        assert_eq!(totals().await, (before.0 + 1800, before.1 + 1));
        let write = cancellation(&code);
        let approval = shop.proposal("P2", "sales", &write, "claimed").await;
        shop.commit(&approval, &write).await.data();
        assert_eq!(totals().await, before);
    }
}
