//! The four reads.

use serde_json::{Value, json};

use super::{Reply, Shop, object, person};
use crate::records;
use crate::records::testing::{Engine, on_both_engines};
use crate::tokens::META_CALLER;

fn codes<'a>(rows: &'a Value, field: &str) -> Vec<&'a str> {
    rows.as_array().unwrap().iter().map(|row| row[field].as_str().unwrap()).collect()
}

on_both_engines! {
    async fn a_name_is_found_in_any_kana_width_case_and_spacing(engine) {
        let shop = Shop::open(engine).await;
        for (wanted, found) in [
            ("サトウ", vec!["0001"]),
            ("ｻﾄｳ", vec!["0001"]),
            ("さ と う", vec!["0001"]),
            ("佐藤太郎", vec!["0002"]),
            ("かふぇぱんだ", vec!["0003"]),
            ("JUICE", vec!["0004"]),
            ("ｊｕｉｃｅ", vec!["0004"]),
            ("100%", vec!["0004"]),
            ("さとし", vec![]),
        ] {
            let reply = shop.call("sales", "get_customers", json!({ "name_str_customer": wanted })).await;
            assert_eq!(codes(&reply.data()["customers"], "code_customer"), found, "{wanted}");
            assert_eq!(reply.data()["count"], found.len(), "{wanted}");
            assert_eq!(reply.data()["truncated"], false);
        }
    }
}

on_both_engines! {
    async fn percent_underscore_and_sql_in_a_name_are_plain_letters(engine) {
        let shop = Shop::open(engine).await;
        for (wanted, count) in [("%", 1), ("_", 1), ("%太%", 0), ("s_to", 0), ("' OR 1=1 --", 0), ("\\", 0), ("*", 0)] {
            let reply = shop.call("sales", "get_customers", json!({ "name_str_customer": wanted })).await;
            assert_eq!(reply.data()["count"], count, "{wanted}");
        }
    }
}

on_both_engines! {
    async fn i20_whatever_a_model_writes_into_an_argument_is_a_value_and_never_an_outage(engine) {
        let shop = Shop::open(engine).await;
        let period = json!({ "date_sales_begin_str": "0001-01-01", "date_sales_end_str": "9999-12-31" });
        let with = |base: &Value, field: &str, text: &str| {
            let mut args = object(base.clone());
            args.insert(field.to_owned(), text.into());
            args
        };
        let nothing = json!({});
        for (tool, field, base) in [
            ("get_customers", "code_customer", &nothing),
            ("get_customers", "name_str_customer", &nothing),
            ("get_sales", "code_customer", &period),
            ("get_sales", "code_sales", &json!({ "code_customer": "0002" })),
            ("list_registrations", "registered_by", &period),
            ("list_registrations", "code_sales", &nothing),
            ("summarize_sales", "code_customer", &with(&period, "group_by", "month").into()),
            ("add_sale", "code_customer", &json!({ "products": "x", "price": 1 })),
            ("add_sale", "products", &json!({ "code_customer": "0002", "price": 1 })),
            ("cancel_sale", "code_sales", &json!({ "reason": "x" })),
            ("cancel_sale", "reason", &json!({ "code_sales": "S1" })),
        ] {
            for text in [
                "\0", "a\0b", "'", "''; DROP TABLE sales; --", "\\", "\\x00", "$1", "%", "_", "\u{1}", "\u{fffe}", "NULL",
                "{\"a\": 1}", "' OR '1'='1", "0002' UNION SELECT * FROM staff --",
            ] {
                let args = with(base, field, text);
                let meta = json!({ META_CALLER: shop.caller("sales", tool, &args) });
                // An outage would be an error of the protocol, and five of them shut the server for everybody.
                let reply = Reply::of(shop.raw(tool, args, meta).await.unwrap());
                let found = if reply.is_error { 0 } else { reply.data()["count"].as_i64().unwrap() };
                assert!(found == 0 || ["%", "_"].contains(&text), "{tool} {field} {text:?}: {:?}", reply.value);
                if text.contains('\0') {
                    assert!(reply.code().starts_with("invalid_"), "{tool} {field}: {:?}", reply.value);
                }
            }
        }
        assert_eq!(shop.number("SELECT count(*) FROM sales").await, 6);
        assert_eq!(shop.number("SELECT count(*) FROM audit WHERE event IN ('tool_answered', 'tool_refused')").await, 11 * 15);
    }
}

on_both_engines! {
    async fn of_many_matches_the_first_by_code_are_shown_and_all_are_counted(engine) {
        let shop = Shop::open(engine).await;
        // 1,100 of one department, whose codes lie between those of three of another.
        let many = match engine {
            Engine::Sqlite => {
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1103)
                 INSERT INTO customers (code_customer, name_customer, address, phone, department, name_search)
                 SELECT 'L' || (10000 + i), '卸商店' || i, '', '', CASE WHEN i IN (2, 500, 1103) THEN '果物' ELSE '野菜' END,
                        '卸商店' || i FROM n"
            }
            Engine::Postgres => {
                "INSERT INTO customers (code_customer, name_customer, address, phone, department)
                 SELECT 'L' || (10000 + i), '卸商店' || i, '', '', CASE WHEN i IN (2, 500, 1103) THEN '果物' ELSE '野菜' END
                 FROM generate_series(1, 1103) AS i"
            }
        };
        shop.execute(many, &[]).await;
        for (who, part, count, departments) in [
            ("sales", "商", 1100, json!(["野菜"])),
            ("sales", "商店", 1100, json!(["野菜"])),
            ("sales", "卸商店", 1100, json!(["野菜"])),
            ("other", "商店", 3, json!(["果物"])),
            ("admin", "商店", 1103, json!(["果物", "野菜"])),
            ("admin", "商店11", 15, json!(["果物", "野菜"])),
        ] {
            let reply = shop.call(who, "get_customers", json!({ "name_str_customer": part })).await;
            let data = reply.data();
            assert_eq!((&data["count"], &data["departments"]), (&json!(count), &departments), "{who} {part}");
            let shown = codes(&data["customers"], "code_customer");
            let mut sorted = shown.clone();
            sorted.sort_unstable();
            assert_eq!(shown, sorted);
            assert_eq!(shown.len(), usize::try_from(count).unwrap().min(50), "{who} {part}");
            assert_eq!(data["truncated"], count > 50);
            let first = if who == "other" { "L10002" } else if part == "商店11" { "L10011" } else { "L10001" };
            assert_eq!(shown[0], first);
            if who == "admin" && part == "商店" {
                assert_eq!(shown[1], "L10002", "departments are merged by code");
            }
        }
    }
}

on_both_engines! {
    async fn the_first_and_the_last_day_are_days_and_the_year_0_is_none(engine) {
        let shop = Shop::open(engine).await;
        for (begin, right) in [("0001-01-01", true), ("0000-12-31", false), ("0000-01-01", false)] {
            let period = json!({ "date_sales_begin_str": begin, "date_sales_end_str": "9999-12-31" });
            let mut totals = period.clone();
            totals["group_by"] = "total".into();
            let reply = shop.call("sales", "summarize_sales", totals).await;
            if right {
                assert_eq!(reply.data()["period"], json!({ "begin": begin, "end": "9999-12-31" }));
                assert_eq!(reply.data()["total_price"], 1100);
            } else {
                assert_eq!(reply.code(), "invalid_date");
                assert_eq!(shop.call("sales", "list_registrations", period).await.code(), "invalid_date");
            }
        }
    }
}

on_both_engines! {
    async fn i24_a_call_of_a_tool_that_is_not_there_has_its_row(engine) {
        let shop = Shop::open(engine).await;
        let name = "drop_all_sales".repeat(20);
        let args = object(json!({}));
        let meta = json!({ META_CALLER: shop.caller("sales", &name, &args) });
        assert!(shop.raw(&name, args.clone(), meta).await.is_err());
        assert!(shop.raw("ａdd_sale", args, json!({})).await.is_err());
        let rows: Vec<String> = records::query("SELECT on_behalf || ' ' || tool || ' ' || risk || ' ' || result FROM audit ORDER BY id")
            .scalars(shop.db())
            .await
            .unwrap();
        let cut: String = name.chars().take(64).collect();
        assert_eq!(
            rows,
            [
                format!("{} {cut} critical unknown_tool", person("sales").subject()),
                "slack:unknown:unknown ａdd_sale critical unknown_tool".to_owned(),
            ]
        );
    }
}

on_both_engines! {
    async fn customers_come_with_address_phone_and_department(engine) {
        let shop = Shop::open(engine).await;
        let reply = shop.call("viewer", "get_customers", json!({ "code_customer": "0002" })).await;
        assert_eq!(
            *reply.data(),
            json!({
                "customers": [{
                    "code_customer": "0002", "name_customer": "佐藤 太郎", "address": "架空市1-2-3",
                    "phone": "00-0000-0000", "department": "野菜",
                }],
                "count": 1, "truncated": false, "departments": ["野菜"],
            })
        );
    }
}

on_both_engines! {
    async fn sales_come_newest_last_with_cancelled_ones_marked_and_not_in_the_total(engine) {
        let shop = Shop::open(engine).await;
        let reply = shop.call("viewer", "get_sales", json!({ "code_customer": "0002" })).await;
        let data = reply.data();
        assert_eq!(codes(&data["sales"], "code_sales"), ["S1", "S2", "S3"]);
        assert_eq!((&data["count"], &data["total_price"]), (&json!(3), &json!(300)));
        assert_eq!(data["departments"], json!(["野菜"]));
        assert_eq!(data.get("period"), None, "no period was asked");
        assert_eq!(
            data["sales"][2],
            json!({
                "code_sales": "S3", "code_customer": "0002", "name_customer": "佐藤 太郎", "department": "野菜",
                "date_sales": "2026-10-05", "products": "品物", "price": 400, "registered_by": "slack:T0TEST:U0SALES",
                "registered_by_name": "営業 はな", "cancelled": true,
            })
        );
    }
}

on_both_engines! {
    async fn a_period_includes_both_ends_and_is_given_back(engine) {
        let shop = Shop::open(engine).await;
        let ask = |begin: &str, end: &str| json!({ "code_customer": "0002", "date_sales_begin_str": begin, "date_sales_end_str": end });
        let reply = shop.call("viewer", "get_sales", ask("2026-09-28", "2026-10-04")).await;
        assert_eq!(codes(&reply.data()["sales"], "code_sales"), ["S1", "S2"]);
        assert_eq!(reply.data()["period"], json!({ "begin": "2026-09-28", "end": "2026-10-04" }));
        let open = json!({ "code_customer": "0002", "date_sales_begin_str": "2026-10-04" });
        let reply = shop.call("viewer", "get_sales", open).await;
        assert_eq!(codes(&reply.data()["sales"], "code_sales"), ["S2", "S3"]);
        assert_eq!(reply.data()["period"], json!({ "begin": "2026-10-04", "end": null }));
        let reply = shop.call("viewer", "get_sales", ask("2020-01-01", "2020-01-31")).await;
        assert_eq!((&reply.data()["count"], &reply.data()["total_price"]), (&json!(0), &json!(0)));
        assert_eq!(shop.call("viewer", "get_sales", ask("2026-10-04", "2026-10-03")).await.code(), "invalid_date");
        assert_eq!(shop.call("viewer", "get_sales", ask("2026-02-30", "2026-10-03")).await.code(), "invalid_date");
        assert_eq!(shop.call("viewer", "get_sales", ask("yesterday", "2026-10-03")).await.code(), "invalid_date");
    }
}

on_both_engines! {
    async fn count_and_total_cover_what_is_not_returned(engine) {
        let shop = Shop::open(engine).await;
        let reply = shop.call("viewer", "get_sales", json!({ "code_customer": "0002", "limit": 1 })).await;
        let data = reply.data();
        assert_eq!(codes(&data["sales"], "code_sales"), ["S3"]);
        assert_eq!((&data["count"], &data["total_price"], &data["truncated"]), (&json!(3), &json!(300), &json!(true)));
        for limit in [json!(0), json!(501), json!(-1), json!("1"), json!(1.5)] {
            let reply = shop.call("viewer", "get_sales", json!({ "code_customer": "0002", "limit": limit })).await;
            assert_eq!(reply.code(), "invalid_arguments", "{limit}");
        }
    }
}

on_both_engines! {
    async fn registrations_are_the_callers_own_unless_a_colleague_or_a_number_is_named(engine) {
        let shop = Shop::open(engine).await;
        let list = async |args: Value| {
            let reply = shop.call("sales", "list_registrations", args).await;
            codes(&reply.data()["registrations"], "code_sales").join(" ")
        };
        assert_eq!(list(json!({})).await, "S1 S4");
        assert_eq!(list(json!({ "include_cancelled": true })).await, "S1 S3 S4");
        assert_eq!(list(json!({ "registered_by": "slack:T0TEST:U0COLLEAGUE" })).await, "S2");
        assert_eq!(list(json!({ "registered_by": "ken" })).await, "S2");
        assert_eq!(list(json!({ "registered_by": "nobody" })).await, "");
        assert_eq!(list(json!({ "code_sales": "S2" })).await, "S2");
        assert_eq!(list(json!({ "date_sales_begin_str": "2026-10-05", "date_sales_end_str": "2026-10-05" })).await, "S4");
        let reply = shop.call("sales", "list_registrations", json!({ "include_cancelled": true })).await;
        assert_eq!((&reply.data()["count"], &reply.data()["total_price"]), (&json!(3), &json!(900)));
        assert_eq!(reply.data()["registrations"][0]["origin"], "sample");
    }
}

on_both_engines! {
    async fn a_summary_groups_by_every_unit_and_leaves_cancelled_sales_out(engine) {
        let shop = Shop::open(engine).await;
        let groups = async |who: &str, by: &str| {
            let args = json!({ "date_sales_begin_str": "2026-09-01", "date_sales_end_str": "2026-10-31", "group_by": by });
            let reply = shop.call(who, "summarize_sales", args).await;
            assert_eq!(reply.data()["period"], json!({ "begin": "2026-09-01", "end": "2026-10-31" }));
            let rows = reply.data()["groups"].as_array().unwrap().clone();
            let sum: i64 = rows.iter().map(|g| g["total_price"].as_i64().unwrap()).sum();
            assert_eq!(reply.data()["total_price"], sum, "the total is the sum of the groups");
            rows.iter()
                .map(|g| {
                    format!(
                        "{}|{}|{}|{}",
                        g["key"].as_str().unwrap(),
                        g["label"].as_str().unwrap(),
                        g["count"],
                        g["total_price"]
                    )
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(groups("sales", "total").await, ["total|total|3|1100"]);
        assert_eq!(groups("sales", "month").await, ["2026-09|2026-09|1|100", "2026-10|2026-10|2|1000"]);
        assert_eq!(
            groups("sales", "week").await,
            ["2026-09-28|2026-09-28/2026-10-04|2|300", "2026-10-05|2026-10-05/2026-10-11|1|800"]
        );
        assert_eq!(
            groups("sales", "day").await,
            ["2026-09-28|2026-09-28|1|100", "2026-10-04|2026-10-04|1|200", "2026-10-05|2026-10-05|1|800"]
        );
        assert_eq!(groups("sales", "customer").await, ["0001|さとう 花子|1|800", "0002|佐藤 太郎|2|300"]);
        assert_eq!(
            groups("sales", "staff").await,
            ["slack:T0TEST:U0SALES|営業 はな|2|900", "slack:T0TEST:U0COLLEAGUE|Ken Sample|1|200"]
        );
        assert_eq!(groups("admin", "total").await, ["total|total|5|3001100"]);
        let args = json!({ "date_sales_begin_str": "2026-09-01", "date_sales_end_str": "2026-10-31", "group_by": "year" });
        assert_eq!(shop.call("sales", "summarize_sales", args).await.code(), "invalid_arguments");
    }
}

on_both_engines! {
    async fn a_summary_of_nothing_is_success_with_zero(engine) {
        let shop = Shop::open(engine).await;
        let args = json!({ "date_sales_begin_str": "2020-01-01", "date_sales_end_str": "2020-01-31", "group_by": "total" });
        let reply = shop.call("sales", "summarize_sales", args).await;
        assert_eq!(
            *reply.data(),
            json!({
                "groups": [], "count": 0, "total_price": 0, "truncated": false, "departments": [],
                "period": { "begin": "2020-01-01", "end": "2020-01-31" },
            })
        );
    }
}

// Everything a person of one department can ask, and nothing of the other department in any byte of it.
on_both_engines! {
    async fn i07_no_answer_count_or_error_shows_a_row_of_another_department(engine) {
        let shop = Shop::open(engine).await;
        let period = json!({ "date_sales_begin_str": "2026-09-01", "date_sales_end_str": "2026-10-31" });
        let with = |extra: Value| {
            let mut all = period.as_object().unwrap().clone();
            all.extend(extra.as_object().unwrap().clone());
            Value::Object(all)
        };
        for (tool, args) in [
            ("get_customers", json!({})),
            ("get_customers", json!({ "code_customer": "0101" })),
            ("get_customers", json!({ "name_str_customer": "サトウ" })),
            ("list_registrations", json!({})),
            ("list_registrations", json!({ "code_sales": "S5" })),
            ("list_registrations", json!({ "registered_by": person("other").subject() })),
            ("summarize_sales", with(json!({ "group_by": "customer" }))),
            ("summarize_sales", with(json!({ "group_by": "staff" }))),
            ("summarize_sales", with(json!({ "group_by": "total" }))),
        ] {
            let reply = shop.call("sales", tool, args.clone()).await;
            let text = reply.data().to_string();
            for canary in ["果物", "果樹園", "0101", "S5", "S6", "000000", "U0OTHER"] {
                assert!(!text.contains(canary), "{tool} {args} shows {canary}: {text}");
            }
        }
        // Another department's customer and one that does not exist are refused in the same words.
        for (tool, rest) in [("get_sales", json!({})), ("summarize_sales", with(json!({ "group_by": "total" })))] {
            let ask = |code: &str| {
                let mut args = rest.as_object().unwrap().clone();
                args.insert("code_customer".into(), code.into());
                Value::Object(args)
            };
            let theirs = shop.call("sales", tool, ask("0101")).await;
            assert_eq!(theirs.code(), "customer_not_found");
            assert_eq!(theirs, shop.call("sales", tool, ask("9999")).await);
        }
    }
}

on_both_engines! {
    async fn departments_name_whose_rows_are_shown(engine) {
        let shop = Shop::open(engine).await;
        let reply = shop.call("admin", "get_customers", json!({})).await;
        assert_eq!(reply.data()["departments"], json!(["果物", "野菜"]));
        assert_eq!(reply.data()["count"], 5);
        let args = json!({ "date_sales_begin_str": "2026-10-05", "date_sales_end_str": "2026-10-06", "group_by": "day" });
        let reply = shop.call("admin", "summarize_sales", args).await;
        assert_eq!(reply.data()["departments"], json!(["果物", "野菜"]));
    }
}

on_both_engines! {
    async fn every_read_leaves_one_row_in_the_audit_and_no_words_of_a_person(engine) {
        let shop = Shop::open(engine).await;
        shop.call("sales", "get_customers", json!({ "name_str_customer": "太郎" })).await;
        shop.call("sales", "get_sales", json!({ "code_customer": "9999" })).await;
        let rows: Vec<(String, String, String, String)> =
            records::query("SELECT on_behalf, event, tool, detail FROM audit ORDER BY id")
                .fetch_all(shop.db())
                .await
                .unwrap()
                .iter()
                .map(|row| {
                    let text = |column: usize| row.try_get::<String, _>(column).unwrap();
                    (text(0), text(1), text(2), text(3))
                })
                .collect();
        let me = person("sales").subject();
        assert_eq!(
            rows,
            [
                (me.clone(), "tool_answered".into(), "get_customers".into(), r#"{"count":1,"repeated":null}"#.into()),
                (me, "tool_refused".into(), "get_sales".into(), r#"{"code":"customer_not_found"}"#.into()),
            ]
        );
    }
}
