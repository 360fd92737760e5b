//! The edge over HTTP: what is answered before MCP sees a request, and that over HTTP, too, only the token counts.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use chrono::TimeDelta;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tower::ServiceExt as _;

use super::super::Callers;
use super::super::http::{Http, router};
use super::{Settings, Shop, carrots, object, person};
use crate::records::Source;
use crate::records::testing::{Engine, on_both_engines};
use crate::tokens::{Keys, META_APPROVAL, META_CALLER};

const TYPES: [(&str, &str); 3] = [
    ("host", "127.0.0.1:3100"),
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
];

/// A shop whose server is asked over HTTP.
struct Booth {
    shop: Shop,
    router: Router,
}

/// What came back.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect(&self.body)
    }

    /// The code of a tool's refusal.
    fn code(&self) -> String {
        assert_eq!(self.status, StatusCode::OK, "{self:?}");
        self.json()["result"]["structuredContent"]["data"]["code"].as_str().unwrap_or_default().to_owned()
    }

    fn challenge(&self) -> &str {
        assert_eq!(self.status, StatusCode::UNAUTHORIZED, "{self:?}");
        self.headers.get(header::WWW_AUTHENTICATE).unwrap().to_str().unwrap()
    }
}

impl Booth {
    async fn open(engine: Engine) -> Self {
        Self::open_with(engine, |_| {}).await
    }

    async fn open_with(engine: Engine, shape: impl FnOnce(&mut Http)) -> Self {
        let shop = Shop::open(engine).await;
        let settings = Settings {
            records: Source::File("unused".into()),
            callers: Callers::Tokens(shop.keys.public.clone()),
            zone: chrono_tz::Asia::Tokyo,
            undo_window: super::UNDO_WINDOW,
        };
        let listen = ([127, 0, 0, 1], 3100).into();
        let mut http = Http {
            listen,
            public_url: None,
            allowed_hosts: vec!["sales.example".into()],
            allowed_origins: vec!["https://page.example:443".into()],
            requests_per_second: NonZeroU32::new(10_000).unwrap(),
            concurrent_requests: 100,
            time_limit: Duration::from_secs(5),
        };
        shape(&mut http);
        let router = router(Arc::clone(&shop.store), &settings, &http, shop.clock.clone(), listen).unwrap();
        Self { shop, router }
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, 1 << 22).await.unwrap();
        Answer { status: parts.status, headers: parts.headers, body: String::from_utf8_lossy(&body).into_owned() }
    }

    /// A POST with these lines of `Authorization`.
    async fn post(&self, authorization: &[&str], body: String) -> Answer {
        let mut request = Request::post("/mcp");
        for (name, value) in TYPES {
            request = request.header(name, value);
        }
        for line in authorization {
            request = request.header(header::AUTHORIZATION, *line);
        }
        self.send(request.body(Body::from(body)).unwrap()).await
    }

    async fn call(&self, token: &str, tool: &str, args: &Map<String, Value>, meta: Value) -> Answer {
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": args, "_meta": meta },
        });
        self.post(&[&format!("Bearer {token}")], call.to_string()).await
    }

    fn service(&self) -> String {
        self.shop.keys.caller.sign_service(self.shop.clock.now())
    }
}

fn get_sales() -> Map<String, Value> {
    object(json!({ "code_customer": "0002" }))
}

fn ping() -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string()
}

on_both_engines! {
    async fn i10_over_http_no_request_is_heard_without_a_good_bearer_and_each_refusal_is_audited(engine) {
        let booth = Booth::open(engine).await;
        let (shop, args) = (&booth.shop, get_sales());
        let good = shop.caller("sales", "get_sales", &args);
        let now = shop.clock.now();
        let stranger = Keys::generate().unwrap();
        let approval = shop.proposal("P1", "sales", &carrots(), "claimed").await;
        let sign = |at| shop.keys.caller.sign(&person("sales"), "get_sales", &args, at);
        let bearer = |token: &str| vec![format!("Bearer {token}")];
        let mut rows = 0;
        for (what, lines) in [
            ("nothing", vec![]),
            ("empty", vec![String::new()]),
            ("no scheme", vec![good.clone()]),
            ("another scheme", vec![format!("Basic {good}")]),
            ("no token", vec!["Bearer".into()]),
            ("an empty token", bearer("")),
            ("a tab", vec![format!("Bearer\t{good}")]),
            ("white space inside", bearer(&good.replacen('.', " .", 1))),
            ("two lines", [bearer(&good), bearer(&good)].concat()),
            ("two in a line", bearer(&format!("{good}, Bearer {good}"))),
            ("a person's name", bearer(&person("sales").subject())),
            ("cut", bearer(good.get(..good.len() - 1).unwrap())),
            ("no signature", bearer(good.rsplit_once('.').unwrap().0)),
            ("oversized", bearer(&format!("{good}{}", "A".repeat(5000)))),
            ("another key", bearer(&stranger.caller.sign(&person("sales"), "get_sales", &args, now))),
            ("another's service token", bearer(&stranger.caller.sign_service(now))),
            ("an approval", bearer(&shop.keys.approval.sign(&approval, now))),
            ("expired", bearer(&sign(now - TimeDelta::seconds(61)))),
            ("not yet valid", bearer(&sign(now + TimeDelta::minutes(10)))),
            ("an expired service token", bearer(&shop.keys.caller.sign_service(now - TimeDelta::seconds(61)))),
        ] {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            // The body is no JSON: had it been read, the answer would say so.
            let answer = booth.post(&lines, "{".into()).await;
            let challenge = answer.challenge();
            let metadata = "resource_metadata=\"http://127.0.0.1:3100/.well-known/oauth-protected-resource/mcp\"";
            assert!(challenge.starts_with("Bearer ") && challenge.contains(metadata), "{what}: {challenge}");
            assert_eq!(challenge.contains("error=\"invalid_token\""), what != "nothing", "{what}: {challenge}");
            assert!(!answer.body.contains(&good) && !challenge.contains(&good));
            rows += 1;
            let written =
                shop.number("SELECT count(*) FROM audit WHERE event = 'bearer_refused' AND risk = 'critical'").await;
            assert_eq!(written, rows, "{what}");
        }
        for method in ["GET", "DELETE", "PUT"] {
            let request = Request::builder().method(method).uri("/mcp").header("host", "localhost").body(Body::empty());
            assert_eq!(booth.send(request.unwrap()).await.status, StatusCode::UNAUTHORIZED, "{method}");
        }
        // The scheme's case does not matter (RFC 9110).
        for scheme in ["Bearer", "bearer", "BEARER"] {
            let answer = booth.post(&[&format!("{scheme} {}", booth.service())], ping()).await;
            assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        }
    }
}

on_both_engines! {
    async fn i10_over_http_a_good_bearer_is_good_for_its_own_call_only(engine) {
        let booth = Booth::open(engine).await;
        let (shop, args) = (&booth.shop, get_sales());
        let good = shop.caller("sales", "get_sales", &args);
        for (token, tool, args, code) in [
            (shop.caller("sales", "get_customers", &args), "get_sales", args.clone(), "caller_invalid"),
            (shop.caller("sales", "get_sales", &Map::new()), "get_sales", args.clone(), "caller_invalid"),
            (good.clone(), "get_sales", object(json!({ "code_customer": "0001" })), "caller_invalid"),
            (booth.service(), "get_sales", args.clone(), "caller_required"),
            (
                booth.service(),
                "add_sale",
                object(json!({ "code_customer": "0002", "products": "x", "price": 1 })),
                "caller_required",
            ),
        ] {
            // A token in `_meta` is what standard input and output have; here it says nothing.
            let answer = booth.call(&token, tool, &args, json!({ META_CALLER: good })).await;
            assert_eq!(answer.code(), code, "{tool}");
        }
        let refused = shop.number("SELECT count(*) FROM audit WHERE event = 'tool_refused' AND risk = 'critical'").await;
        assert_eq!(refused, 5, "each refusal has its row");
        let answer = booth.call(&good, "get_sales", &args, json!({})).await;
        assert_eq!(answer.json()["result"]["structuredContent"]["data"]["count"], 3);
    }
}

on_both_engines! {
    async fn i08_over_http_a_write_needs_an_approval_and_gets_one_row(engine) {
        let booth = Booth::open(engine).await;
        let shop = &booth.shop;
        let write = carrots();
        let (tool, args) = (write.tool(), write.arguments());
        let caller = || shop.caller("sales", tool, &args);
        assert_eq!(booth.call(&caller(), tool, &args, json!({})).await.code(), "approval_required");
        let as_approval = json!({ META_APPROVAL: caller() });
        assert_eq!(booth.call(&caller(), tool, &args, as_approval).await.code(), "approval_invalid");
        assert_eq!(shop.approved_sales().await, 0);
        let approval = shop.proposal("P1", "sales", &write, "claimed").await;
        for _ in 0..2 {
            let meta = json!({ META_APPROVAL: shop.keys.approval.sign(&approval, shop.clock.now()) });
            let answer = booth.call(&caller(), tool, &args, meta).await;
            assert_eq!(answer.json()["result"]["structuredContent"]["status"], "success", "{answer:?}");
        }
        assert_eq!(shop.approved_sales().await, 1);
    }
}

#[tokio::test]
async fn a_service_token_connects_and_lists() {
    let booth = Booth::open(Engine::Sqlite).await;
    let hello =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } });
    for (method, params) in
        [("initialize", hello), ("tools/list", json!({})), ("resources/list", json!({})), ("prompts/list", json!({}))]
    {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = booth.post(&[&format!("Bearer {}", booth.service())], body.to_string()).await;
        assert!(answer.status == StatusCode::OK && answer.json()["result"].is_object(), "{method}: {answer:?}");
    }
}

#[tokio::test]
async fn strange_hosts_pages_methods_and_bodies_are_refused() {
    let booth = Booth::open(Engine::Sqlite).await;
    let service = format!("Bearer {}", booth.service());
    let request = |host: &str, origin: Option<&str>| {
        let mut request = Request::post("/mcp").header("host", host).header(header::AUTHORIZATION, &service);
        for (name, value) in &TYPES[1..] {
            request = request.header(*name, *value);
        }
        if let Some(origin) = origin {
            request = request.header(header::ORIGIN, origin);
        }
        request.body(Body::from(ping())).unwrap()
    };
    for (host, origin, status) in [
        ("localhost:3100", None, StatusCode::OK),
        ("sales.example", None, StatusCode::OK),
        ("rebound.example", None, StatusCode::FORBIDDEN),
        ("localhost:3100", Some("https://page.example"), StatusCode::OK),
        ("localhost:3100", Some("https://other.example"), StatusCode::FORBIDDEN),
        ("localhost:3100", Some("null"), StatusCode::FORBIDDEN),
    ] {
        assert_eq!(booth.send(request(host, origin)).await.status, status, "{host} {origin:?}");
    }
    for method in ["GET", "DELETE", "PUT"] {
        let request = Request::builder().method(method).uri("/mcp").header("host", "localhost");
        let request = request.header("accept", "text/event-stream").header(header::AUTHORIZATION, &service);
        let answer = booth.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {answer:?}");
    }
    let large = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": { "x": "A".repeat(1 << 20) } });
    assert_eq!(booth.post(&[&service], large.to_string()).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(booth.post(&[&service], "{".into()).await.status.is_client_error());
}

on_both_engines! {
    async fn the_metadata_of_a_server_below_a_path_stands_where_rfc_9728_puts_it(engine) {
        let booth = Booth::open_with(engine, |http| http.public_url = Some("https://host.example/sales/mcp".into())).await;
        let challenge = booth.post(&[], ping()).await;
        let there = "/.well-known/oauth-protected-resource/sales/mcp";
        assert!(challenge.challenge().contains(&format!("\"https://host.example{there}\"")), "{}", challenge.challenge());
        let answer = booth.send(Request::get(there).body(Body::empty()).unwrap()).await;
        assert_eq!(answer.json()["resource"], "https://host.example/sales/mcp");
    }
}

on_both_engines! {
    async fn the_metadata_and_the_health_are_told_to_everybody(engine) {
        let booth = Booth::open_with(engine, |http| http.public_url = Some("https://sales.example/mcp".into())).await;
        for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
            let answer = booth.send(Request::get(path).body(Body::empty()).unwrap()).await;
            assert_eq!(answer.json()["resource"], "https://sales.example/mcp");
        }
        let challenge = booth.post(&[], ping()).await;
        assert!(challenge.challenge().contains("\"https://sales.example/.well-known/oauth-protected-resource/mcp\""));
        let ask = |path: &str| Request::get(path).body(Body::empty()).unwrap();
        assert_eq!(booth.send(ask("/healthz")).await.status, StatusCode::OK);
        assert_eq!(booth.send(ask("/readyz")).await.status, StatusCode::OK);
        booth.shop.store.close().await;
        assert_eq!(booth.send(ask("/readyz")).await.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(booth.send(ask("/healthz")).await.status, StatusCode::OK);
        let args = get_sales();
        let answer = booth.call(&booth.shop.caller("sales", "get_sales", &args), "get_sales", &args, json!({})).await;
        assert_eq!(answer.json()["error"]["data"]["code"], "unavailable", "{answer:?}");
    }
}

#[tokio::test]
async fn too_many_requests_are_told_to_come_back() {
    let booth = Booth::open_with(Engine::Sqlite, |http| http.requests_per_second = NonZeroU32::new(2).unwrap()).await;
    let service = format!("Bearer {}", booth.service());
    let (mut heard, mut refused) = (0, 0);
    // However slow the machine is, sooner or later two are not enough for what comes in a second.
    while refused == 0 {
        let answer = booth.post(&[&service], ping()).await;
        match answer.status {
            StatusCode::OK => heard += 1,
            StatusCode::TOO_MANY_REQUESTS => refused += 1,
            _ => unreachable!("{answer:?}"),
        }
        assert_eq!(answer.headers.contains_key(header::RETRY_AFTER), answer.status != StatusCode::OK);
        assert!(heard < 1_000, "nobody is told to come back");
    }
    assert!(heard >= 2, "{heard}");
    let booth = Booth::open_with(Engine::Sqlite, |http| http.concurrent_requests = 0).await;
    assert_eq!(booth.post(&[&service], ping()).await.status, StatusCode::UNAUTHORIZED, "another shop's token");
    let service = format!("Bearer {}", booth.service());
    assert_eq!(booth.post(&[&service], ping()).await.status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn refused_bearers_cannot_fill_the_disk() {
    let booth = Booth::open(Engine::Sqlite).await;
    let begun = std::time::Instant::now();
    for _ in 0..200 {
        assert_eq!(booth.post(&["Bearer x"], ping()).await.status, StatusCode::UNAUTHORIZED);
    }
    // Sixty at once, and one more in each second.
    let most = 61 + i64::try_from(begun.elapsed().as_secs()).unwrap();
    let rows = booth.shop.number("SELECT count(*) FROM audit WHERE event = 'bearer_refused'").await;
    assert!((60..=most.max(60)).contains(&rows), "{rows} of at most {most}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the line of `Authorization` is made of: a bearer that is not the one we signed is refused, without a panic.
    #[test]
    fn i10_no_altered_authorization_line_is_heard(at in 0..10_000_usize, kind in 0..4_u8, by in 1..=255_u8, junk in "[ -~]{0,40}") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let booth = Arc::new(Booth::open(Engine::Sqlite).await);
            let good = format!("Bearer {}", booth.shop.caller("sales", "get_sales", &get_sales()));
            let at = 7 + at % (good.len() - 7);
            let mut line = good.clone().into_bytes();
            match kind {
                0 => line[at] = line[at].wrapping_add(by),
                1 => drop(line.remove(at)),
                2 => line.truncate(at),
                _ => drop(line.splice(at..at, junk.bytes().chain([b'!']))),
            }
            let Ok(value) = axum::http::HeaderValue::from_bytes(&line) else { return };
            let mut request = Request::post("/mcp").header(header::AUTHORIZATION, value);
            for (name, value) in TYPES {
                request = request.header(name, value);
            }
            let answer = booth.send(request.body(Body::from(ping())).unwrap()).await;
            assert!(line == good.as_bytes() || answer.status == StatusCode::UNAUTHORIZED, "{answer:?}");
        });
    }
}
