//! The page's figures, measured in the browser. They are printed (`--nocapture`) and hold with head-room.

use std::time::Duration;

use serde_json::json;

use super::bot::{api, gallery, workspace};
use super::browser::Browser;

/// What is promised, in milliseconds; the limit of the test leaves room for a machine that is busy with other tests.
const PROMISED: f64 = 300.0;
const SHOWN: f64 = 100.0;
const ROOM: f64 = 3.0;

/// Takes the best of several: the machine runs other tests beside this one, and only the best says what the page can.
fn report(what: &str, all: &[f64], promised: f64) {
    let best = all.iter().copied().fold(f64::INFINITY, f64::min);
    println!("page: {what}: {best:.0} ms at best of {all:.0?} (promised: {promised:.0} ms)");
    assert!(best <= promised * ROOM, "{what} took {best:.0} ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_painted_soon_and_a_message_is_on_the_screen_at_once() {
    let workspace = workspace().await;
    gallery(&workspace).await;
    let page = Browser::start(&workspace, false).await;
    let mut paints = Vec::new();
    let mut drawn = Vec::new();
    for _ in 0..6 {
        page.open("as=U1&c=C1").await;
        page.client.refresh().await.unwrap();
        page.says("#log", "期間を選んでください").await;
        page.shows("return performance.getEntriesByName('first-contentful-paint').length > 0").await;
        let number = async |script: &str| page.run(script).await.as_f64().unwrap();
        paints.push(number("return performance.getEntriesByName('first-contentful-paint')[0].startTime").await);
        drawn.push(number("return performance.getEntriesByName('drawn')[0].startTime").await);
    }
    report("first paint", &paints, PROMISED);
    report("first paint with all data", &drawn, PROMISED);

    // Both clocks are this machine's: the answer of the Web API, and the moment at which the words were in the page.
    page.run(
        "window.seen = {};
         new MutationObserver(() => {
           for (const e of document.querySelectorAll('#log .message .text')) {
             const n = /^tick (\\d+)$/.exec(e.textContent);
             if (n && !window.seen[n[1]]) requestAnimationFrame(() => { window.seen[n[1]] ||= Date.now(); });
           }
         }).observe(document.getElementById('log'), {childList: true, subtree: true, characterData: true})",
    )
    .await;
    let mut shown = Vec::new();
    for n in 0..10 {
        let before = workspace.calls().len();
        api(&workspace, "chat.postMessage", json!({"channel": "C1", "text": format!("tick {n}")})).await;
        let called = workspace.calls()[before].at;
        page.shows(&format!("return Boolean(window.seen[{n}])")).await;
        let at = page.run(&format!("return window.seen[{n}]")).await.as_f64().unwrap();
        shown.push(at - called as f64);
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    report("a message on the screen after the bot posted it", &shown, SHOWN);
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_of_five_thousand_messages_opens_as_fast_as_a_small_one() {
    let workspace = workspace().await;
    for n in 0..5000 {
        let thread = (n % 5 == 4).then(|| workspace.look(|w| w.messages("C2")[0].ts.clone()));
        let text = format!("メッセージ {n}: *見本商店* の販売は 1,{:03}円でした", n % 1000);
        workspace.say("U2", "C2", thread.as_ref().map(|t| t.as_str()), &text).await.unwrap();
    }
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C1").await;
    let open = "
        const [channel, done] = arguments;
        const begun = performance.now();
        document.querySelector('[data-channel=' + channel + ']').click();
        const look = () => {
          if (document.getElementById('where').textContent === (channel === 'C2' ? 'lunch' : 'sales')
              && (channel !== 'C2' || document.getElementById('log').innerText.includes('メッセージ 4998'))) {
            requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
          } else requestAnimationFrame(look);
        };
        look();";
    let mut times = Vec::new();
    for _ in 0..5 {
        let took = page.client.execute_async(open, vec![json!("C2")]).await.unwrap().as_f64().unwrap();
        times.push(took);
        page.client.execute_async(open, vec![json!("C1")]).await.unwrap();
    }
    report("a channel of 5,000 messages opens", &times, PROMISED);
    page.client.execute_async(open, vec![json!("C2")]).await.unwrap();
    let nodes = page.run("return document.querySelectorAll('#log .message').length").await;
    assert!(nodes.as_u64().unwrap() <= 70, "only what is near the end is drawn: {nodes}");

    // A message that comes draws one message.
    page.run(
        "window.touched = new Set();
         new MutationObserver((all) => all.forEach((m) => { const li = m.target.nodeType === 1 && m.target.closest('.message'); if (li) window.touched.add(li); }))
           .observe(document.getElementById('log'), {childList: true, subtree: true, characterData: true})",
    )
    .await;
    workspace.say("U2", "C2", None, "one more").await.unwrap();
    page.says("#log", "one more").await;
    assert_eq!(page.run("return window.touched.size").await, 0, "other messages were drawn anew");
    let mut reloads = Vec::new();
    for _ in 0..4 {
        page.client.refresh().await.unwrap();
        page.says("#log", "one more").await;
        reloads.push(page.run("return performance.getEntriesByName('drawn')[0].startTime").await.as_f64().unwrap());
    }
    report("a reload in a channel of 5,000 messages", &reloads, PROMISED);
    page.close().await;
    workspace.stop().await;
}
