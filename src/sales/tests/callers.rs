//! Who may call: tokens, the staff table, and nothing else.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::super::Callers;
use super::{Reply, Settings, Shop, UNDO_WINDOW, carrots, object, person, serve};
use crate::records::testing::on_both_engines;
use crate::tokens::{Keys, META_APPROVAL, META_CALLER};

on_both_engines! {
    async fn i10_a_call_without_a_good_caller_token_is_refused_and_audited(engine) {
        let shop = Shop::open(engine).await;
        let args = object(json!({ "code_customer": "0002" }));
        let good = shop.caller("sales", "get_sales", &args);
        let stranger = Keys::generate().unwrap();
        let now = shop.clock.now();
        let approval = shop.proposal("P1", "sales", &carrots(), "claimed").await;
        let mut altered = good.clone();
        altered.pop();
        for (meta, code) in [
            (json!({}), "caller_required"),
            (json!({ META_CALLER: null }), "caller_required"),
            (json!({ META_CALLER: 7 }), "caller_required"),
            (json!({ "caller": good, "Sales-Concierge/Caller": good }), "caller_required"),
            (json!({ META_APPROVAL: good }), "caller_required"),
            (json!({ META_CALLER: "" }), "caller_invalid"),
            (json!({ META_CALLER: person("sales").subject() }), "caller_invalid"),
            (json!({ META_CALLER: altered }), "caller_invalid"),
            (json!({ META_CALLER: format!("{good}.{good}") }), "caller_invalid"),
            (json!({ META_CALLER: stranger.caller.sign(&person("sales"), "get_sales", &args, now) }), "caller_invalid"),
            (json!({ META_CALLER: shop.caller("sales", "get_customers", &args) }), "caller_invalid"),
            (json!({ META_CALLER: shop.caller("sales", "get_sales", &object(json!({}))) }), "caller_invalid"),
            (json!({ META_CALLER: shop.keys.approval.sign(&approval, now) }), "caller_invalid"),
            (
                json!({ META_CALLER: shop.keys.caller.sign(&person("sales"), "get_sales", &args, now - TimeDelta::seconds(61)) }),
                "caller_expired",
            ),
            (
                json!({ META_CALLER: shop.keys.caller.sign(&person("sales"), "get_sales", &args, now + TimeDelta::minutes(10)) }),
                "caller_expired",
            ),
        ] {
            let reply = Reply::of(shop.raw("get_sales", args.clone(), meta.clone()).await.unwrap());
            assert_eq!(reply.code(), code, "{meta}");
        }
        let refused = shop.number("SELECT count(*) FROM audit WHERE event = 'tool_refused' AND risk = 'critical'").await;
        assert_eq!(refused, 15, "each refusal has its row");
        let reply = Reply::of(shop.raw("get_sales", args, json!({ META_CALLER: good })).await.unwrap());
        assert_eq!(reply.data()["count"], 3);
    }
}

on_both_engines! {
    async fn an_unknown_or_revoked_person_is_not_allowed_anything(engine) {
        let shop = Shop::open(engine).await;
        for who in ["gone", "nobody"] {
            for (tool, args) in [
                ("get_customers", json!({})),
                ("get_sales", json!({ "code_customer": "0002" })),
                ("list_registrations", json!({})),
                (
                    "summarize_sales",
                    json!({ "date_sales_begin_str": "2026-10-01", "date_sales_end_str": "2026-10-31", "group_by": "total" }),
                ),
                ("add_sale", json!({ "code_customer": "0002", "products": "x", "price": 1 })),
                ("cancel_sale", json!({ "code_sales": "S1", "reason": "x" })),
            ] {
                assert_eq!(shop.call(who, tool, args).await.code(), "not_allowed", "{who} {tool}");
            }
        }
    }
}

on_both_engines! {
    async fn rights_are_read_anew_on_each_call(engine) {
        let shop = Shop::open(engine).await;
        assert_eq!(shop.call("sales", "get_customers", json!({})).await.data()["count"], 4);
        shop.execute("UPDATE staff SET departments = $2 WHERE \"user\" = $1", &["U0SALES", r#"["果物"]"#]).await;
        assert_eq!(shop.call("sales", "get_customers", json!({})).await.data()["count"], 1);
        shop.execute("UPDATE staff SET active = FALSE WHERE \"user\" = $1", &["U0SALES"]).await;
        assert_eq!(shop.call("sales", "get_customers", json!({})).await.code(), "not_allowed");
    }
}

// The same call with and without forged fields: the same rows, or a refusal; never more.
on_both_engines! {
    async fn i06_fields_of_identity_outside_the_tokens_change_nothing(engine) {
        let shop = Shop::open(engine).await;
        let args = json!({ "name_str_customer": "さとう" });
        let honest = shop.call("sales", "get_customers", args.clone()).await;
        let boss = person("admin").subject();
        let token_of_boss = shop.caller("admin", "get_sales", &object(json!({})));
        for forged in [
            json!({ "sub": boss }),
            json!({ "role": "admin", "departments": ["果物", "野菜"] }),
            json!({ "sales-concierge/role": "admin" }),
            json!({ "sales-concierge/caller2": token_of_boss, "sales-concierge/on_behalf": boss }),
            json!({ META_APPROVAL: token_of_boss }),
            json!({ "progressToken": boss, "user": { "id": "U0ADMIN", "role": "admin" } }),
        ] {
            let mut meta = object(forged.clone());
            meta.insert(META_CALLER.into(), shop.caller("sales", "get_customers", &object(args.clone())).into());
            let reply = Reply::of(shop.raw("get_customers", object(args.clone()), Value::Object(meta)).await.unwrap());
            assert_eq!(reply, honest, "{forged}");
        }
        for field in ["user", "sub", "role", "department", "departments", "on_behalf", "caller", "as", "approved", "_meta"]
        {
            let mut with = object(args.clone());
            with.insert(field.into(), boss.clone().into());
            let reply = shop.call("sales", "get_customers", Value::Object(with)).await;
            assert_eq!(reply.code(), "invalid_arguments", "{field}");
            assert!(!reply.value.to_string().contains(&boss), "what was forged is not repeated");
        }
    }
}

on_both_engines! {
    async fn i08_a_write_without_an_approval_token_is_refused_whatever_it_says(engine) {
        let shop = Shop::open(engine).await;
        shop.proposal("P1", "sales", &carrots(), "claimed").await;
        for who in ["sales", "manager", "admin"] {
            let reply = shop.call(who, "add_sale", Value::Object(carrots().arguments())).await;
            assert_eq!(reply.code(), "approval_required", "{who}");
            let reply = shop.call(who, "cancel_sale", json!({ "code_sales": "S1", "reason": "x" })).await;
            assert_eq!(reply.code(), "approval_required", "{who}");
        }
        assert_eq!(shop.call("viewer", "add_sale", Value::Object(carrots().arguments())).await.code(), "not_allowed");
        assert_eq!(shop.approved_sales().await, 0);
        assert_eq!(shop.number("SELECT count(*) FROM sales WHERE cancelled_at IS NOT NULL").await, 1, "the seeded one");
    }
}

on_both_engines! {
    async fn i06_a_server_started_for_one_person_reads_for_them_alone_and_writes_nothing(engine) {
        use rmcp::ServiceExt as _;
        use rmcp::model::{CallToolRequestParams, ClientConfig, MetaObject, RequestMetaObject};

        let shop = Shop::open(engine).await;
        let settings = Settings {
            records: crate::records::Source::File("unused".into()),
            callers: Callers::One(person("viewer")),
            zone: chrono_tz::Asia::Tokyo,
            undo_window: UNDO_WINDOW,
        };
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (store, clock) = (std::sync::Arc::clone(&shop.store), shop.clock.clone());
        tokio::spawn(async move { serve(store, &settings, clock, theirs).await.unwrap().waiting().await });
        let client = ClientConfig::default().serve(ours).await.unwrap();
        let call = async |tool: &'static str, args: Value, meta: Value| {
            let mut params = CallToolRequestParams::new(tool).with_arguments(object(args));
            params.meta = Some(RequestMetaObject(MetaObject(object(meta))));
            Reply::of(client.call_tool(params).await.unwrap())
        };
        // Whoever else is named, and by whatever token, changes nothing.
        let everything = object(json!({}));
        for meta in [json!({}), json!({ META_CALLER: shop.caller("admin", "get_customers", &everything) }), json!({ META_CALLER: "x" })] {
            assert_eq!(call("get_customers", json!({}), meta).await.data()["count"], 4);
        }
        let write = carrots();
        let approval = shop.proposal("P1", "sales", &write, "claimed").await;
        let meta = json!({
            META_CALLER: shop.caller("sales", write.tool(), &write.arguments()),
            META_APPROVAL: shop.keys.approval.sign(&approval, shop.clock.now()),
        });
        let reply = call(write.tool(), Value::Object(write.arguments()), meta).await;
        assert_eq!(reply.code(), "approval_required");
        assert!(reply.value["data"]["error"].as_str().unwrap().contains("Slack"), "{reply:?}");
        assert_eq!(shop.approved_sales().await, 0);
        shop.execute("UPDATE staff SET active = FALSE WHERE \"user\" = $1", &["U0VIEWER"]).await;
        assert_eq!(call("get_customers", json!({}), json!({})).await.code(), "not_allowed", "read at each call");
    }
}
