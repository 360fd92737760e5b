//! What MCP asks of the server.

use rmcp::ClientServiceExt as _;
use rmcp::model::{
    ClientConfig, GetPromptRequestParams, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
};
use rmcp::service::{ClientLifecycleMode, ServiceError};
use serde_json::{Value, json};

use super::super::{serve, server::guarded};
use super::{Shop, object};
use crate::records::testing::{Engine, on_both_engines};

on_both_engines! {
    async fn each_tool_is_listed_with_schemas_examples_and_hints(engine) {
        let shop = Shop::open(engine).await;
        let tools = shop.client.list_tools(None::<PaginatedRequestParams>).await.unwrap().tools;
        let names: Vec<_> = tools.iter().map(|t| t.name.as_ref()).collect();
        assert_eq!(
            names,
            ["get_customers", "get_sales", "list_registrations", "summarize_sales", "add_sale", "cancel_sale"]
        );
        for tool in &tools {
            let write = ["add_sale", "cancel_sale"].contains(&tool.name.as_ref());
            let hints = tool.annotations.as_ref().unwrap();
            assert_eq!(hints.read_only_hint, Some(!write), "{}", tool.name);
            assert_eq!(hints.destructive_hint, Some(tool.name == "cancel_sale"), "{}", tool.name);
            assert!(tool.description.as_ref().unwrap().matches('→').count() >= 2, "{} has example requests", tool.name);
            assert_eq!(tool.input_schema["type"], "object");
            assert_eq!(tool.input_schema["additionalProperties"], false);
            let schema = Value::Object((*tool.input_schema).clone());
            assert!(!schema.to_string().contains("$ref"), "{schema}");
            let output = tool.output_schema.as_ref().unwrap();
            assert_eq!(output["type"], "object");
            assert_eq!(output["required"], json!(["status", "data"]));
        }
        let add = tools.iter().find(|t| t.name == "add_sale").unwrap();
        assert_eq!(add.input_schema["required"], json!(["code_customer", "products", "price"]));
        let properties = &add.input_schema["properties"];
        assert_eq!(properties["price"]["minimum"], 0);
        assert_eq!(properties["price"]["maximum"], 999_999_999_999_i64);
        assert_eq!((&properties["products"]["minLength"], &properties["products"]["maxLength"]), (&json!(1), &json!(1000)));
        assert_eq!(properties["date_sales_str"]["pattern"], "^[0-9]{4}-[0-9]{2}-[0-9]{2}$");
    }
}

// The server's promise about its answers, kept by its answers.
on_both_engines! {
    async fn answers_and_refusals_fit_the_output_schema(engine) {
        let shop = Shop::open(engine).await;
        let tools = shop.client.list_tools(None::<PaginatedRequestParams>).await.unwrap().tools;
        let period =
            json!({ "date_sales_begin_str": "2026-09-01", "date_sales_end_str": "2026-10-31", "group_by": "week" });
        for (tool, args) in [
            ("get_customers", json!({})),
            ("get_sales", json!({ "code_customer": "0002", "date_sales_begin_str": "2026-09-01" })),
            ("get_sales", json!({ "code_customer": "9999" })),
            ("list_registrations", json!({ "include_cancelled": true })),
            ("summarize_sales", period),
            ("add_sale", json!({ "code_customer": "0002", "products": "人参", "price": 1 })),
            ("cancel_sale", json!({ "code_sales": "S1", "reason": "x" })),
        ] {
            let reply = shop.call("sales", tool, args).await;
            let schema = &tools.iter().find(|t| t.name == tool).unwrap().output_schema;
            let schema = Value::Object((**schema.as_ref().unwrap()).clone());
            let validator = jsonschema::validator_for(&schema).unwrap();
            let faults: Vec<_> = validator.iter_errors(&reply.value).map(|e| e.to_string()).collect();
            assert!(faults.is_empty(), "{tool}: {faults:?}\n{}", reply.value);
        }
    }
}

on_both_engines! {
    async fn lengths_patterns_and_ranges_of_the_schema_are_enforced_by_the_server(engine) {
        let shop = Shop::open(engine).await;
        let long = "あ".repeat(1001);
        for (tool, args, code) in [
            ("add_sale", json!({ "products": "x", "price": 1 }), "invalid_arguments"),
            ("add_sale", json!({ "code_customer": "0002", "price": 1 }), "invalid_products"),
            ("add_sale", json!({ "code_customer": "0002", "products": "", "price": 1 }), "invalid_products"),
            ("add_sale", json!({ "code_customer": "0002", "products": " \n", "price": 1 }), "invalid_products"),
            ("add_sale", json!({ "code_customer": "0002", "products": "a\u{0}b", "price": 1 }), "invalid_products"),
            ("add_sale", json!({ "code_customer": "0002", "products": long, "price": 1 }), "invalid_products"),
            ("add_sale", json!({ "code_customer": "0002", "products": 5, "price": 1 }), "invalid_products"),
            ("add_sale", json!({ "code_customer": "0002", "products": "x", "price": -1 }), "invalid_price"),
            ("add_sale", json!({ "code_customer": "0002", "products": "x", "price": 1.5 }), "invalid_price"),
            ("add_sale", json!({ "code_customer": "0002", "products": "x", "price": "600" }), "invalid_price"),
            (
                "add_sale",
                json!({ "code_customer": "0002", "products": "x", "price": 1_000_000_000_000_i64 }),
                "invalid_price",
            ),
            (
                "add_sale",
                json!({ "code_customer": "0002", "products": "x", "price": 1, "date_sales_str": "2026-13-01" }),
                "invalid_date",
            ),
            (
                "add_sale",
                json!({ "code_customer": "0002", "products": "x", "price": 1, "date_sales_str": "10/5" }),
                "invalid_date",
            ),
            ("get_customers", json!({ "name_str_customer": "" }), "invalid_arguments"),
            ("get_customers", json!({ "name_str_customer": "　" }), "invalid_arguments"),
            ("get_customers", json!({ "sql": "DROP TABLE sales" }), "invalid_arguments"),
            ("get_sales", json!({}), "invalid_arguments"),
            ("summarize_sales", json!({ "group_by": "total" }), "invalid_date"),
            ("cancel_sale", json!({ "code_sales": "S1" }), "invalid_arguments"),
        ] {
            let reply = shop.call("sales", tool, args.clone()).await;
            assert_eq!(reply.code(), code, "{tool} {args}");
        }
        let null = json!({ "code_customer": "0002", "code_sales": null, "date_sales_begin_str": null, "limit": null });
        assert_eq!(shop.call("sales", "get_sales", null).await.data()["count"], 3);
        let null = shop.call("sales", "get_customers", json!({ "code_customer": null, "name_str_customer": "太郎" })).await;
        assert_eq!(null.data()["count"], 1, "null is the same as left out");
    }
}

on_both_engines! {
    async fn an_unknown_tool_is_a_protocol_error_that_leaves_the_connection_working(engine) {
        let shop = Shop::open(engine).await;
        for name in ["drop_table", "ADD_SALE", "add_sаle", ""] {
            let error = shop.raw(name, object(json!({})), json!({})).await.unwrap_err();
            assert!(matches!(error, ServiceError::McpError(_)), "{name}: {error}");
        }
        assert_eq!(shop.call("sales", "get_customers", json!({})).await.data()["count"], 4);
    }
}

#[expect(clippy::panic, reason = "it is what the test is about")]
#[tokio::test]
async fn a_panicking_tool_is_answered_as_an_error() {
    let answer = guarded("get_sales", async { panic!("a bug") }).await.unwrap_err();
    assert_eq!(answer.code.0, -32603);
    assert!(answer.message.contains("not known"), "{}", answer.message);
    assert!(!answer.message.contains("a bug"));
}

on_both_engines! {
    async fn a_store_that_does_not_answer_is_an_unknown_outcome_and_not_a_refusal(engine) {
        let shop = Shop::open(engine).await;
        shop.store.close().await;
        let args = object(json!({}));
        let meta = json!({ crate::tokens::META_CALLER: shop.caller("sales", "get_customers", &args) });
        let error = shop.raw("get_customers", args, meta).await.unwrap_err();
        assert!(matches!(error, ServiceError::McpError(ref e) if e.code.0 == -32603), "{error}");
    }
}

on_both_engines! {
    async fn the_resources_and_prompts_are_there(engine) {
        let shop = Shop::open(engine).await;
        let listed = shop.client.list_all_resources().await.unwrap();
        let uris: Vec<_> = listed.iter().map(|r| r.uri.as_str()).collect();
        assert_eq!(uris, ["sales://guide", "sales://schema"]);
        let guide = shop.client.read_resource(ReadResourceRequestParams::new("sales://guide")).await.unwrap();
        let text = serde_json::to_value(guide.contents.first().unwrap()).unwrap()["text"].as_str().unwrap().to_owned();
        for word in ["Monday to Sunday", "yen", "cancelled"] {
            assert!(text.contains(word), "{word}");
        }
        assert!(shop.client.read_resource(ReadResourceRequestParams::new("file:///etc/passwd")).await.is_err());
        let prompts = shop.client.list_all_prompts().await.unwrap();
        assert_eq!(prompts.len(), 3);
        let filled = shop
            .client
            .get_prompt(
                GetPromptRequestParams::new("period_report").with_arguments(object(json!({ "period": "last month" }))),
            )
            .await
            .unwrap();
        assert!(serde_json::to_string(&filled).unwrap().contains("last month"));
        assert!(shop.client.get_prompt(GetPromptRequestParams::new("period_report")).await.is_err());
    }
}

on_both_engines! {
    async fn each_protocol_revision_in_use_is_spoken(engine) {
        for version in [ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28] {
            let mut config = ClientConfig::default();
            config.protocol_version = version.clone();
            let lifecycle = if version.has_initialize() {
                ClientLifecycleMode::Initialize
            } else {
                ClientLifecycleMode::Discover { preferred_versions: vec![version.clone()] }
            };
            let shop = Shop::open_with(engine, async |pipe| config.serve_with_lifecycle(pipe, lifecycle).await.unwrap()).await;
            assert_eq!(shop.client.peer_info().unwrap().protocol_version, version);
            assert_eq!(shop.call("sales", "get_customers", json!({})).await.data()["count"], 4, "{version}");
        }
    }
}

on_both_engines! {
    async fn the_server_ends_when_the_client_goes_away(engine) {
        let shop = Shop::open(engine).await;
        shop.client.cancel().await.unwrap();
        let ended = tokio::time::timeout(std::time::Duration::from_secs(5), shop.server).await;
        assert!(ended.expect("the server ended").unwrap().is_ok());
    }
}

// What a model is offered, word for word.
#[tokio::test]
async fn the_input_schema_is_plain_enough_for_every_model() {
    let shop = Shop::open(Engine::Sqlite).await;
    let tools = shop.client.list_tools(None::<PaginatedRequestParams>).await.unwrap().tools;
    let schema = &tools.iter().find(|t| t.name == "add_sale").unwrap().input_schema;
    insta::assert_snapshot!(serde_json::to_string_pretty(&**schema).unwrap(), @r#"
    {
      "additionalProperties": false,
      "properties": {
        "code_customer": {
          "description": "The customer's code; `get_customers` finds it by name.",
          "maxLength": 64,
          "minLength": 1,
          "type": "string"
        },
        "date_sales_str": {
          "description": "The day of the sale, YYYY-MM-DD. Left out: today.",
          "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
          "type": [
            "string",
            "null"
          ]
        },
        "price": {
          "description": "The whole amount in yen.",
          "maximum": 999999999999,
          "minimum": 0,
          "type": "integer"
        },
        "products": {
          "description": "What was sold, as the person said it.",
          "maxLength": 1000,
          "minLength": 1,
          "pattern": "\\S",
          "type": "string"
        }
      },
      "required": [
        "code_customer",
        "products",
        "price"
      ],
      "type": "object"
    }
    "#);
}

on_both_engines! {
    async fn a_host_that_leaves_before_the_handshake_is_told_from_one_that_talks_nonsense(engine) {
        let shop = Shop::open(engine).await;
        let settings = super::super::Settings {
            records: crate::records::Source::File("unused".into()),
            callers: crate::sales::Callers::Tokens(shop.keys.public.clone()),
            zone: chrono_tz::Asia::Tokyo,
            undo_window: crate::sales::tests::UNDO_WINDOW,
        };
        let (ours, theirs) = tokio::io::duplex(64);
        drop(ours);
        let Err(error) = serve(std::sync::Arc::clone(&shop.store), &settings, shop.clock.clone(), theirs).await else {
            unreachable!("nobody shook hands")
        };
        assert!(error.is_gone_host(), "{error:?}");
    }
}
