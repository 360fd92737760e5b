//! The page in a real browser, against the workspace and a bot of a few lines.

use std::process::Stdio;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Form, State};
use axum::http::{Request, StatusCode};
use axum::routing::post;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use sales_concierge::domain::{Clock, Lang};
use sales_concierge::playground::workspace::{Seed, Settings, Workspace};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

const SOON: Duration = Duration::from_secs(15);

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

/// A workspace whose bot shows a card for each message in a DM, and on a press updates it; `no` is answered with 500.
async fn workspace() -> Workspace {
    let mut seed = Seed::small();
    seed.users[0].title = "販売担当".into();
    let settings = Settings {
        banner: Some(|lang| if lang == Lang::Ja { "お知らせ".into() } else { "Notice".into() }),
        examples: |_| vec!["0002の先週の販売は？".into()],
        ..Settings::new(seed, Clock::system())
    };
    let workspace = Workspace::start(listener().await, settings).await.unwrap();
    let app = Router::new()
        .route("/events", post(on_event))
        .route("/interactions", post(on_press))
        .with_state(workspace.clone());
    let bot = listener().await;
    let base = format!("http://{}", bot.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(bot, app).await.unwrap() });
    workspace.set_bot_urls(&format!("{base}/events"), &format!("{base}/interactions"));
    workspace
}

async fn api(workspace: &Workspace, method: &str, args: Value) -> Value {
    let client: hyper_util::client::legacy::Client<_, Body> =
        hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build_http();
    let request = Request::post(format!("{}{method}", workspace.api_url()))
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {}", workspace.bot_token().reveal()))
        .body(Body::from(args.to_string()))
        .unwrap();
    let body = client.request(request).await.unwrap().into_body();
    let answer: Value =
        serde_json::from_slice(&axum::body::to_bytes(Body::new(body), usize::MAX).await.unwrap()).unwrap();
    assert_eq!(answer["ok"], true, "{answer}");
    answer
}

async fn on_event(State(workspace): State<Workspace>, body: axum::body::Bytes) -> StatusCode {
    let envelope: Value = serde_json::from_slice(&body).unwrap();
    let event = &envelope["event"];
    if event["type"] == "message" && event.get("bot_id").is_none() && event["channel_type"] == "im" {
        let text = |t: &str| json!({"type": "plain_text", "text": t});
        let blocks = json!([
            {"type": "section", "text": text("登録しますか？")},
            {"type": "actions", "elements": [
                {"type": "button", "action_id": "yes", "value": "P1", "style": "primary", "text": text("登録する")},
                {"type": "button", "action_id": "no", "value": "P1", "text": text("やめる")},
            ]},
        ]);
        let thread = event.get("thread_ts").unwrap_or(&event["ts"]);
        let args = json!({"channel": event["channel"], "thread_ts": thread, "text": "card", "blocks": blocks});
        api(&workspace, "chat.postMessage", args).await;
    }
    StatusCode::OK
}

#[derive(serde::Deserialize)]
struct Pressed {
    payload: String,
}

async fn on_press(State(workspace): State<Workspace>, Form(form): Form<Pressed>) -> StatusCode {
    let payload: Value = serde_json::from_str(&form.payload).unwrap();
    if payload["actions"][0]["action_id"] == "no" {
        return StatusCode::INTERNAL_SERVER_ERROR;
    }
    let args = json!({
        "channel": payload["channel"]["id"], "ts": payload["message"]["ts"], "text": "登録しました S1",
    });
    tokio::spawn(async move { api(&workspace, "chat.update", args).await });
    StatusCode::OK
}

pub struct Browser {
    pub client: Client,
    base: String,
    _driver: Child,
}

impl Browser {
    async fn start(workspace: &Workspace, phone: bool) -> Self {
        Self::at(&workspace.page_url(), phone).await
    }

    /// A fresh browser for the page at `url`.
    pub async fn at(url: &str, phone: bool) -> Self {
        let base = url.to_owned();
        let port = listener().await.local_addr().unwrap().port();
        let driver = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("chromedriver is installed (scripts/test does it)");
        let mut options = json!({"args": ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--disable-background-networking", "--window-size=1280,800"]});
        if phone {
            options["mobileEmulation"] = json!({"deviceMetrics": {"width": 375, "height": 700, "pixelRatio": 2.0}});
        }
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities([("goog:chromeOptions".to_owned(), options)].into_iter().collect());
        let url = format!("http://127.0.0.1:{port}");
        let connected = async {
            loop {
                match builder.connect(&url).await {
                    Ok(client) => return client,
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            }
        };
        let client = tokio::time::timeout(SOON * 2, connected).await.expect("a browser starts");
        Self { client, base, _driver: driver }
    }

    pub async fn open(&self, hash: &str) {
        self.client.goto(&format!("{}#{hash}", self.base)).await.unwrap();
        self.shows("return document.getElementById('where').textContent !== ''").await;
    }

    /// Waits until a script returns true.
    pub async fn shows(&self, script: &str) {
        let seen = async {
            while self.client.execute(script, vec![]).await.unwrap() != json!(true) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(SOON, seen).await.is_err() {
            let text = self.client.execute("return document.body.innerText", vec![]).await.unwrap();
            panic!("never true: {script}\nthe page says: {text}");
        }
    }

    /// Waits until an element's text contains something.
    pub async fn says(&self, selector: &str, text: &str) {
        let (selector, text) = (json!(selector), json!(text));
        self.shows(&format!(
            "return [...document.querySelectorAll({selector})].some(e => e.innerText.includes({text}))"
        ))
        .await;
    }

    pub async fn click(&self, selector: &str) {
        self.client.wait().at_most(SOON).for_element(Locator::Css(selector)).await.unwrap().click().await.unwrap();
    }

    pub async fn write(&self, selector: &str, text: &str) {
        self.client.find(Locator::Css(selector)).await.unwrap().send_keys(text).await.unwrap();
    }

    async fn run(&self, script: &str) -> Value {
        self.client.execute(script, vec![]).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_types_reads_presses_and_finds_it_all_after_a_reload() {
    let workspace = workspace().await;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1").await;
    page.says("#banner", "お知らせ").await;
    page.says("#role", "販売担当").await;

    // An example goes into the composer; Enter during a conversion stays there, the next one sends.
    page.click("#examples li button").await;
    page.write("#text", "かぼちゃ").await;
    page.run(
        "const t = document.getElementById('text');
         for (const how of [{isComposing: true}, {keyCode: 229}])
           t.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, cancelable: true, ...how}))",
    )
    .await;
    assert_eq!(page.run("return document.getElementById('text').value").await, "0002の先週の販売は？かぼちゃ");
    assert!(workspace.messages("D1").is_empty());
    page.write("#text", "\u{E007}").await;

    page.says("#thread-log", "登録しますか？").await;
    page.click("#thread-log [data-action=yes]").await;
    page.says("#thread-log", "登録しました S1").await;
    page.shows("return !document.querySelector('[data-action]')").await;

    page.client.refresh().await.unwrap();
    page.says("#thread-log", "登録しました S1").await;
    page.says("#log", "0002の先週の販売は？かぼちゃ").await;
    page.client.clone().close().await.unwrap();
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn others_see_their_own_language_no_private_message_and_no_markup() {
    let workspace = workspace().await;
    let evil = "<img src=x onerror=window.owned=1> &lt;script&gt;window.owned=1&lt;/script&gt; <javascript:owned()|x>";
    let text = |t: &str| json!({"type": "mrkdwn", "text": t});
    let cell = json!({"type": "raw_text", "text": "<b>cell</b>"});
    let blocks = json!([
        {"type": "section", "text": text(evil)},
        {"type": "markdown", "text": "[x](javascript:owned()) <i>raw</i>"},
        {"type": "table", "rows": [[cell, cell]]},
        {"type": "context", "elements": [text(evil)]},
        {"type": "card", "title": {"type": "plain_text", "text": "<u>unknown</u>"}},
    ]);
    api(&workspace, "chat.postMessage", json!({"channel": "C1", "text": evil, "blocks": blocks})).await;
    api(&workspace, "chat.postEphemeral", json!({"channel": "C1", "user": "U2", "text": "psst"})).await;

    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C1").await;
    page.says("#log", "<b>cell</b>").await;
    page.says("#log", "<script>window.owned=1</script>").await;
    page.says("#log", "<u>unknown</u>").await;
    page.says("#send", "送信").await;
    let markup = "return document.querySelectorAll('#log :is(img, script, u, a[href^=javascript])').length";
    assert_eq!(page.run(markup).await, 0);
    assert_eq!(page.run("return window.owned === undefined").await, true);
    assert_eq!(page.run("return document.body.innerText.includes('psst')").await, false);

    page.run("const w = document.getElementById('who'); w.value = 'U2'; w.dispatchEvent(new Event('change'))").await;
    page.says("#send", "Send").await;
    page.click("[data-channel=C1]").await;
    page.says("#log .ephemeral", "Only visible to you").await;

    // A mention is typed with one button, and what others write appears by itself.
    page.click("#mention").await;
    page.write("#text", "hello\u{E007}").await;
    page.says("#thread-log", "@Concierge hello").await;
    assert_eq!(workspace.messages("C1")[1].text, "<@UBOT> hello");
    workspace.say("U1", "C1", None, "あとから").await.unwrap();
    page.says("#log", "あとから").await;
    page.client.clone().close().await.unwrap();
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_shows_one_thing_at_a_time_and_a_lost_press_is_told() {
    let workspace = workspace().await;
    let page = Browser::start(&workspace, true).await;
    page.open("as=U2").await;
    page.write("#text", "register\u{E007}").await;
    page.says("#thread-log", "登録しますか？").await;
    assert_eq!(page.run("return getComputedStyle(document.getElementById('main')).display").await, "none");
    page.click("#thread-log [data-action=no]").await;
    page.says("#thread-log .failed", "Please press again").await;
    page.click("#back").await;
    page.says("#log", "1 reply").await;
    page.click("#menu").await;
    page.click("[data-channel=C1]").await;
    page.says("#where", "sales").await;
    assert_eq!(page.run("return document.documentElement.scrollWidth").await, 375);
    page.client.clone().close().await.unwrap();
    workspace.stop().await;
}
