//! The page in a real browser, against the workspace and a bot of a few lines.

mod behind;
mod bot;
mod browser;
mod forms;
mod look;
mod speed;
mod talk;
mod trouble;

use axum::body::Body;
use axum::http::Request;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::json;

use bot::{api, workspace};
pub use browser::Browser;

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
    page.close().await;
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
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_shows_one_thing_at_a_time_and_a_lost_press_is_told() {
    let workspace = workspace().await;
    let page = Browser::start(&workspace, true).await;
    page.open("as=U2").await;
    page.write("#text", "register\u{E007}").await;
    page.says("#thread-log", "登録しますか？").await;
    assert_eq!(page.run("return getComputedStyle(document.getElementById('main')).visibility").await, "hidden");
    page.click("#thread-log [data-action=no]").await;
    page.says("#thread-log .failed", "Please try again").await;
    page.click("#back").await;
    page.says("#log", "1 reply").await;
    page.click("#menu").await;
    page.click("[data-channel=C1]").await;
    page.says("#where", "sales").await;
    assert_eq!(page.run("return document.documentElement.scrollWidth").await, 375);
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_reads_or_acts_where_they_are_not_and_a_key_says_a_message_once() {
    let workspace = workspace().await;
    workspace.open_dm("U1").await.unwrap();
    let secret = workspace.say("U1", "D1", None, "quiet: a secret").await.unwrap();
    let own = workspace.say("U1", "C1", None, "mine").await.unwrap();
    let base = workspace.page_url();
    let http = |method: &str, path: &str, body: Option<serde_json::Value>| {
        let client: Client<_, Body> = Client::builder(TokioExecutor::new()).build_http();
        let request = Request::builder().method(method).uri(format!("{base}page/{path}"));
        let request = request.header("content-type", "application/json");
        let request = request.body(body.map_or_else(Body::empty, |b| Body::from(b.to_string()))).unwrap();
        async move {
            let answer = client.request(request).await.unwrap();
            let status = answer.status().as_u16();
            let bytes = axum::body::to_bytes(Body::new(answer.into_body()), usize::MAX).await.unwrap();
            (status, String::from_utf8(bytes.to_vec()).unwrap())
        }
    };
    for path in [
        "history?as=U2&channel=D1&before=9".to_owned(),
        format!("thread?as=U2&channel=D1&ts={secret}"),
        format!("delivered?as=U2&channel=D1&ts={secret}"),
    ] {
        assert_eq!(http("GET", &path, None).await.0, 403, "{path}");
    }
    let state = http("GET", "state?as=U2", None).await.1;
    assert!(!state.contains("secret") && !state.contains("直販チーム"), "{state}");
    for (path, body) in [
        ("say", json!({"as": "U2", "channel": "D1", "text": "hi"})),
        ("edit", json!({"as": "U2", "channel": "D1", "ts": secret, "text": "hi"})),
        ("edit", json!({"as": "U2", "channel": "C1", "ts": own, "text": "hi"})),
        ("remove", json!({"as": "U2", "channel": "C1", "ts": own})),
        ("react", json!({"as": "U2", "channel": "D1", "ts": secret, "name": "eyes", "on": true})),
        ("act", json!({"as": "U2", "place": {"channel": "D1", "ts": secret}, "block_id": "b", "action_id": "a"})),
        ("command", json!({"as": "U2", "channel": "D1", "name": "/sales"})),
    ] {
        assert_eq!(http("POST", path, Some(body.clone())).await.0, 403, "{path} {body}");
    }
    assert_eq!(
        http("POST", "act", Some(json!({"as": "U2", "place": {"view": "V1"}, "block_id": "b", "action_id": "a"})))
            .await
            .0,
        404
    );

    let once = json!({"as": "U2", "channel": "C1", "text": "once", "key": "k1"});
    let (first, second) = (http("POST", "say", Some(once.clone())).await, http("POST", "say", Some(once)).await);
    assert_eq!(first, second);
    // Another person's key of the same name is another key.
    http("POST", "say", Some(json!({"as": "U1", "channel": "C1", "text": "once", "key": "k1"}))).await;
    assert_eq!(workspace.messages("C1").len(), 3);
    workspace.stop().await;
}
