//! Every bad token, over both transports and on both engines, at the real program: the right code, no effect, a row in the
//! audit, and none of its bytes anywhere.

use sales_concierge::domain::Person;
use sales_concierge::playground::sample;
use sales_concierge::records;
use sales_concierge::tokens::Keys;
use serde_json::{Map, Value, json};

use crate::harness::AOKI;
use crate::harness::forger::{Forgery, claims, eddsa, forgeries, hash, jws, with};
use crate::harness::shop::{Call, Engine, Over, Server, Shop, aoki, everywhere, now, pumpkins};

/// The log of a server in such a test: everything there is.
const LOUD: [(&str, &str); 1] = [("SALES_CONCIERGE__LOG__FILTER", "trace")];

/// Refused bearers that one server certainly writes down; see `REFUSALS_PER_MINUTE`.
const WRITTEN_DOWN: usize = 50;

/// What must be found nowhere.
#[derive(Default)]
struct Secrets(Vec<String>);

impl Secrets {
    fn keep(&mut self, token: &str) {
        self.0.extend(token.split('.').filter(|piece| piece.len() >= 20).map(str::to_owned));
    }

    fn are_not_in(&self, what: &str, text: &str) {
        let found: Vec<_> = self.0.iter().filter(|piece| text.contains(piece.as_str())).collect();
        assert!(found.is_empty(), "{what} has {found:?}");
    }
}

fn get_sales() -> Map<String, Value> {
    json!({ "code_customer": "0002" }).as_object().expect("an object").clone()
}

async fn audited(shop: &Shop) -> i64 {
    shop.number("SELECT count(*) FROM audit").await
}

/// The newest row of the audit: event, risk and result.
async fn newest(shop: &Shop) -> String {
    let sql = "SELECT event || ' ' || risk || ' ' || coalesce(result, '-') FROM audit ORDER BY id DESC LIMIT 1";
    records::query(sql).scalar(shop.db()).await.expect("a row")
}

async fn trail(shop: &Shop) -> String {
    let sql =
        "SELECT actor || on_behalf || coalesce(message, '') || event || coalesce(proposal, '') || coalesce(digest, '')
        || coalesce(result, '') || detail FROM audit";
    records::query(sql).scalars::<String>(shop.db()).await.expect("rows").join("\n")
}

/// Makes a call that must be refused with this code, before a body is read if `at_edge`.
async fn refused(shop: &Shop, server: &Server, call: &Call, code: &str, at_edge: bool, secrets: &Secrets, what: &str) {
    let before = audited(shop).await;
    let reply = server.call(call).await;
    let over_http_edge = at_edge && server.is_http();
    if over_http_edge {
        assert_eq!(reply.status, 401, "{what}: {reply:?}");
        let challenge = reply.challenge.clone().unwrap_or_default();
        assert!(challenge.contains("resource_metadata="), "{what}: {challenge}");
        assert_eq!(challenge.contains("error=\"invalid_token\""), code != "caller_required", "{what}: {challenge}");
    } else {
        assert!(reply.is_refusal(), "{what}: {reply:?}");
        assert_eq!((reply.status, reply.code().as_str()), (200, code), "{what}: {reply:?}");
    }
    assert_eq!(audited(shop).await, before + 1, "{what} leaves one row");
    let event = if over_http_edge { "bearer_refused" } else { "tool_refused" };
    let risk = if matches!(code, "approval_expired" | "approval_required") { "medium" } else { "critical" };
    assert_eq!(newest(shop).await, format!("{event} {risk} {code}"), "{what}");
    secrets.are_not_in("the answer", &format!("{reply:?}"));
}

everywhere! {
    async fn i10_every_bad_caller_token_is_refused_and_audited(over, engine) {
        let shop = Shop::open(engine).await;
        let (key, args) = (&shop.forger.caller, get_sales());
        let good = claims(json!({ "sub": aoki().subject(), "tool": "get_sales", "args": hash(&args) }));
        let header = json!({ "alg": "EdDSA", "typ": "caller+jwt" });
        let mut table: Vec<(Forgery, bool)> =
            forgeries("caller+jwt", key, &shop.forger.approval, &shop.forger.stranger, &good).into_iter().map(|f| (f, true)).collect();
        for (claim, value, at_edge) in [
            ("sub", Value::Null, true),
            ("sub", json!("U0NISHI"), true),
            ("sub", json!("slack:T0HINATA:"), true),
            ("sub", json!(["slack:T0HINATA:U0NISHI"]), true),
            ("tool", Value::Null, true),
            ("args", Value::Null, true),
            ("args", json!({}), true),
            ("tool", json!("get_customers"), false),
            ("tool", json!("GET_SALES"), false),
            ("tool", json!("add_sale"), false),
            ("args", json!(""), false),
            ("args", json!(hash(&Map::new())), false),
            ("args", json!(hash(json!({ "code_customer": "0001" }).as_object().expect("an object"))), false),
            ("args", json!(hash(&args).to_uppercase()), false),
        ] {
            let token = jws(&header, &with(&good, claim, value.clone()), eddsa(key));
            table.push((Forgery { what: format!("{claim} = {value}"), token, expired: false }, at_edge));
        }
        let mut secrets = Secrets::default();
        table.iter().for_each(|(forgery, _)| secrets.keep(&forgery.token));
        for some in table.chunks(WRITTEN_DOWN) {
            let server = Server::start(&shop, over, &LOUD).await;
            for (Forgery { what, token, expired }, at_edge) in some {
                let mut call = Call::of("get_sales", args.clone());
                call.callers.push(token.as_str().into());
                let code = if *expired { "caller_expired" } else { "caller_invalid" };
                refused(&shop, &server, &call, code, *at_edge, &secrets, what).await;
            }
            // The forger knows the form, and the order and spelling of arguments are nothing.
            let mut call = Call::of("get_sales", Map::new());
            call.arguments = r#"{ "limit": 5.0e0, "code_\u0063ustomer":"0002" }"#.to_owned();
            let other = json!({ "code_customer": "0002", "limit": 5 });
            let other = with(&good, "args", json!(hash(other.as_object().expect("an object"))));
            call.callers.push(jws(&header, &other, eddsa(key)).into());
            assert!(server.call(&call).await.data()["count"].is_i64());
            secrets.are_not_in("the log", &server.log());
            let log = server.log();
            assert!(log.contains("TRACE") || log.contains("DEBUG"), "the log is loud: {log}");
        }
        secrets.are_not_in("the audit", &trail(&shop).await);
    }
}

everywhere! {
    async fn i10_every_bad_approval_token_is_refused_and_audited_and_writes_nothing(over, engine) {
        let shop = Shop::open(engine).await;
        let (key, write) = (&shop.forger.approval, pumpkins(600));
        let approval = shop.claimed("P1", &write).await;
        let good = claims(json!({
            "proposal": "P1", "digest": approval.digest, "requester": aoki().subject(), "approver": aoki().subject(),
        }));
        let header = json!({ "alg": "EdDSA", "typ": "approval+jwt" });
        let mut table: Vec<(String, Value, &str)> = Vec::new();
        for Forgery { what, token, expired } in forgeries("approval+jwt", key, &shop.forger.caller, &shop.forger.stranger, &good) {
            table.push((what, token.into(), if expired { "approval_expired" } else { "approval_invalid" }));
        }
        let boss = "slack:T0HINATA:U0NISHI";
        for state in ["pending", "awaiting_manager", "cancelled", "expired", "superseded"] {
            shop.proposal(state, &write, state).await;
        }
        let mut changes: Vec<(&str, Value, &str)> = Vec::new();
        for claim in ["proposal", "digest", "requester", "approver"] {
            changes.extend([(claim, Value::Null, "approval_invalid"), (claim, json!(7), "approval_invalid")]);
        }
        for id in ["P2", "", "pending", "awaiting_manager", "cancelled", "expired", "superseded"] {
            changes.push(("proposal", json!(id), "approval_invalid"));
        }
        changes.extend([
            ("digest", json!("0".repeat(64)), "approval_mismatch"),
            ("digest", json!(approval.digest.to_uppercase()), "approval_mismatch"),
            ("requester", json!(boss), "approval_invalid"),
            ("requester", json!("U0AOKI"), "approval_invalid"),
            ("approver", json!(boss), "approval_invalid"),
            ("approver", json!(""), "approval_invalid"),
        ]);
        for (claim, value, code) in changes {
            let token = jws(&header, &with(&good, claim, value.clone()), eddsa(key));
            table.push((format!("{claim} = {value}"), token.into(), code));
        }
        let real: Value = jws(&header, &good, eddsa(key)).into();
        for value in [Value::Null, json!(7), json!(true), json!([real]), json!({ "token": real })] {
            table.push((format!("no text: {value}"), value, "approval_required"));
        }
        let mut secrets = Secrets::default();
        table.iter().filter_map(|(_, value, _)| value.as_str()).for_each(|token| secrets.keep(token));
        let server = Server::start(&shop, over, &LOUD).await;
        let with_caller = |tool: &str, args: &Map<String, Value>, approval: Value| {
            let mut call = shop.read(tool, Value::Object(args.clone()));
            call.approval = Some(approval);
            call
        };
        for (what, token, code) in &table {
            let call = with_caller("add_sale", &write.arguments(), token.clone());
            refused(&shop, &server, &call, code, false, &secrets, what).await;
        }
        // The press was for one call, and for no other.
        for (field, value) in [("price", json!(601)), ("products", json!("かぼちゃ5個")), ("code_customer", json!("0001"))] {
            let mut args = write.arguments();
            args.insert(field.to_owned(), value);
            let call = with_caller("add_sale", &args, real.clone());
            refused(&shop, &server, &call, "approval_mismatch", false, &secrets, field).await;
        }
        let args = json!({ "code_sales": "S1", "reason": "x" });
        let call = with_caller("cancel_sale", args.as_object().expect("an object"), real.clone());
        refused(&shop, &server, &call, "approval_invalid", false, &secrets, "another tool").await;
        assert_eq!(shop.approved_sales().await, 0);
        assert_eq!(shop.number("SELECT count(*) FROM sales WHERE cancel_proposal IS NOT NULL").await, 0);

        let first = server.call(&with_caller("add_sale", &write.arguments(), real.clone())).await.number();
        let mut again = with_caller("add_sale", &write.arguments(), real);
        let backwards: Vec<String> =
            write.arguments().iter().rev().map(|(name, value)| format!("{} :{value}", json!(name))).collect();
        again.arguments = format!("{{{}}}", backwards.join(" , "));
        let reply = server.call(&again).await;
        assert_eq!((reply.number(), &reply.data()["repeated"]), (first, &json!(true)), "reordered, the same call");
        assert_eq!(shop.approved_sales().await, 1);
        secrets.are_not_in("the log", &server.log());
        secrets.are_not_in("the audit", &trail(&shop).await);
    }
}

everywhere! {
    async fn i10_a_token_that_is_missing_or_there_twice_is_refused(over, engine) {
        let shop = Shop::open(engine).await;
        let server = Server::start(&shop, over, &LOUD).await;
        let call = shop.read("get_sales", Value::Object(get_sales()));
        let good = call.callers[0].clone();
        let (mut secrets, token) = (Secrets::default(), good.as_str().expect("text"));
        secrets.keep(token);
        let without = Call { callers: Vec::new(), ..call.clone() };
        refused(&shop, &server, &without, "caller_required", true, &secrets, "none").await;
        let service = shop.keys.caller.sign_service(now());
        let as_host = Call { callers: vec![service.into()], ..call.clone() };
        let code = if over == Over::Http { "caller_required" } else { "caller_invalid" };
        refused(&shop, &server, &as_host, code, false, &secrets, "a service token names nobody").await;
        if over == Over::Http {
            let twice = Call { callers: vec![good.clone(), good.clone()], ..call.clone() };
            refused(&shop, &server, &twice, "caller_invalid", true, &secrets, "two lines").await;
            // Where else RFC 6750 would let a token be.
            let elsewhere = format!("{}?access_token={token}", server.url());
            let client = reqwest::Client::builder().no_proxy().build().expect("a client");
            let request = client.post(elsewhere).header("Content-Type", "application/x-www-form-urlencoded");
            let answer = request.body(format!("access_token={token}")).send().await.expect("an answer");
            assert_eq!(answer.status(), 401, "in the address and in a form");
            let in_meta = format!(
                r#"{{"name":"get_sales","arguments":{},"_meta":{{"sales-concierge/caller":{good}}}}}"#,
                call.arguments
            );
            assert_eq!(server.ask("tools/call", &in_meta, &[]).await.status, 401, "in `_meta`, as over standard input");
        } else {
            for value in [json!(null), json!(7), json!([good]), json!({ "token": good })] {
                let other = Call { callers: vec![value.clone()], ..call.clone() };
                refused(&shop, &server, &other, "caller_required", true, &secrets, &value.to_string()).await;
            }
            // Of two values of one name the last is the one that counts, and no other is looked at.
            let two = |first: &Value, last: &Value| {
                format!(
                    r#"{{"name":"get_sales","arguments":{},"_meta":{{"sales-concierge/caller":{first},"sales-concierge/caller":{last}}}}}"#,
                    call.arguments
                )
            };
            assert_eq!(server.ask("tools/call", &two(&good, &json!("x")), &[]).await.code(), "caller_invalid");
        }
        // Nor does a second value of an argument say anything that was not signed for.
        let mut doubled = call.clone();
        doubled.arguments = r#"{"code_customer":"0002","code_customer":"0001"}"#.to_owned();
        refused(&shop, &server, &doubled, "caller_invalid", false, &secrets, "an argument twice").await;
        assert!(server.call(&call).await.data()["count"].is_i64());
        secrets.are_not_in("the log", &server.log());
        secrets.are_not_in("the audit", &trail(&shop).await);
    }
}

everywhere! {
    async fn a_revoked_persons_next_write_and_next_read_are_refused_by_the_running_server(over, engine) {
        let shop = Shop::open(engine).await;
        let server = Server::start(&shop, over, &[]).await;
        let write = pumpkins(600);
        let first = shop.claimed("P1", &write).await;
        let number = server.call(&shop.write(&write, &first)).await.number();
        let second = shop.claimed("P2", &write).await;
        // Signed while the person still had every right.
        let (signed_write, signed_read) = (shop.write(&write, &second), shop.read("get_customers", json!({})));
        assert!(server.call(&signed_read).await.data()["count"].is_i64());

        shop.program(&["staff", "remove", "--team", sample::TEAM, "--user", AOKI]).await;
        let before = audited(&shop).await;
        for call in [&signed_write, &signed_read, &shop.write(&write, &second), &shop.read("get_customers", json!({}))] {
            let reply = server.call(call).await;
            assert!(reply.is_refusal() && reply.code() == "not_allowed", "{reply:?}");
            assert!(newest(&shop).await.ends_with(" medium not_allowed"), "{}", newest(&shop).await);
        }
        assert_eq!(audited(&shop).await, before + 4, "each refusal has its row");
        assert_eq!(shop.approved_sales().await, 1);
        // What was written before stays written, and says so to whoever asks again.
        let again = server.call(&shop.write(&write, &first)).await;
        assert_eq!((again.number(), &again.data()["repeated"]), (number, &json!(true)));
        // Nobody else is touched by it.
        let args = json!({});
        let other = Person::new(sample::TEAM, "U0HARA");
        let mut call = shop.read("get_customers", args.clone());
        call.callers = vec![shop.keys.caller.sign(&other, "get_customers", args.as_object().expect("an object"), now()).into()];
        assert!(server.call(&call).await.data()["count"].is_i64());

        shop.program(&["staff", "add", "--team", sample::TEAM, "--user", AOKI, "--role", "sales", "--department", "直販"]).await;
        assert_ne!(server.call(&shop.write(&write, &second)).await.number(), "");
        assert_eq!(shop.approved_sales().await, 2);
    }
}

/// The variables that a command of `keys` prints for the server.
async fn printed(shop: &Shop, args: &[&str]) -> Vec<(String, String)> {
    let text = shop.program(args).await;
    text.lines().filter_map(|line| line.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
}

everywhere! {
    async fn i10_old_and_new_keys_are_accepted_during_an_exchange_and_the_old_ones_never_after(over, engine) {
        let mut shop = Shop::open(engine).await;
        let write = pumpkins(600);
        let both = printed(&shop, &["keys", "rotate"]).await;
        let new_alone = printed(&shop, &["keys", "rotate", "--finish"]).await;
        let new = Keys::load_or_create(&shop.dir.path().join("keys.json")).expect("the new keys");
        let old = std::mem::replace(&mut shop.keys, new.clone());
        assert_ne!(old.public, new.public);

        let (first, second) = (shop.claimed("P1", &write).await, shop.claimed("P2", &write).await);
        let vars = |env: &[(String, String)]| env.to_vec();
        shop.env.extend(vars(&both));
        let server = Server::start(&shop, over, &[]).await;
        let mut numbers = Vec::new();
        for (keys, approval) in [(&old, &first), (&new, &second)] {
            shop.keys = keys.clone();
            assert!(server.call(&shop.read("get_customers", json!({}))).await.data()["count"].is_i64());
            numbers.push(server.call(&shop.write(&write, approval)).await.number());
        }
        // Half of the pair may come from the one and half from the other: caller and approval are checked apart.
        shop.keys = Keys { caller: old.caller.clone(), ..new.clone() };
        assert_eq!(server.call(&shop.write(&write, &first)).await.number(), numbers[0]);
        drop(server);

        shop.env.extend(vars(&new_alone));
        let server = Server::start(&shop, over, &[]).await;
        let secrets = Secrets::default();
        let third = shop.claimed("P3", &write).await;
        shop.keys = old.clone();
        let call = shop.read("get_customers", json!({}));
        refused(&shop, &server, &call, "caller_invalid", true, &secrets, "the old caller key").await;
        shop.keys = Keys { approval: old.approval.clone(), ..new.clone() };
        let call = shop.write(&write, &third);
        refused(&shop, &server, &call, "approval_invalid", false, &secrets, "the old approval key").await;
        shop.keys = new;
        assert_eq!(server.call(&shop.write(&write, &first)).await.number(), numbers[0], "k10: driven on with the new keys");
        assert_ne!(server.call(&shop.write(&write, &third)).await.number(), numbers[0]);
        assert_eq!(shop.approved_sales().await, 3);
    }
}
