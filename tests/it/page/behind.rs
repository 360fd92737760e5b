//! The panel for the curious: what it keeps while it is drawn anew, and the disturbances that can be had there.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::bot::{bot, listener, settings};
use super::browser::{Browser, ENTER};
use sales_concierge::playground::workspace::{Underneath, Workspace};

const PRESSED: &str =
    "return [...document.querySelectorAll('[data-chaos][aria-pressed=true]')].map(b => b.dataset.chaos).join() === ";

#[tokio::test(flavor = "multi_thread")]
async fn a_disturbance_is_armed_once_shown_as_pressed_and_called_off_by_a_second_click() {
    let workspace = bot(Workspace::start(listener().await, settings()).await.unwrap()).await.workspace;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U2").await;
    page.click("#behind").await;
    page.click(".chaos summary").await;
    page.shows(
        "return document.querySelector('[data-chaos=kill_sales_server]').hasAttribute('aria-pressed') === false",
    )
    .await;
    page.click("[data-chaos=deliver_twice]").await;
    page.shows(&format!("{PRESSED}'deliver_twice'")).await;
    page.says("#said", "Ready").await;
    page.click("[data-chaos=slow_slack]").await;
    page.shows(&format!("{PRESSED}'deliver_twice,slow_slack'")).await;
    page.click("[data-chaos=slow_slack]").await;
    page.says("#said", "Called off").await;
    page.click("[data-chaos=press_twice]").await;
    page.shows(&format!("{PRESSED}'deliver_twice,press_twice'")).await;
    page.click("[data-chaos=press_twice]").await;
    page.shows(&format!("{PRESSED}'deliver_twice'")).await;
    page.picture("chaos-armed-en").await;

    // Somebody else armed it as well: it waits once all the same, and is spent with the next message.
    let ask = "fetch('/page/chaos', {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify({what: 'deliver_twice', on: true})})";
    page.run(&format!("return {ask}.then(r => r.json())")).await;
    page.write("#text", &format!("quiet one{ENTER}")).await;
    page.says(".steps", "message ×2").await;
    page.shows(&format!("{PRESSED}''")).await;
    page.click("#close").await;
    page.write("#text", &format!("quiet two{ENTER}")).await;
    page.says(".steps", "message → 200").await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unfolded_step_stays_unfolded_when_another_slips_in_before_it() {
    let workspace = Workspace::start(listener().await, settings()).await.unwrap();
    let call = |at: u64, tool: &str| json!({"at": at, "kind": "call", "detail": {"tool": tool, "arguments": "{}"}});
    let stored = Arc::new(Mutex::new(json!([call(200, "find"), call(200, "find"), call(300, "add")])));
    let told = Arc::clone(&stored);
    workspace.set_underneath(Underneath {
        look: Box::new(move |_, _| {
            let steps: Value = told.lock().unwrap().clone();
            Box::pin(async move { steps })
        }),
        stop_sales_server: Box::new(|| Box::pin(async { false })),
    });
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1").await;
    page.write("#text", &format!("hello{ENTER}")).await;
    page.click("#behind").await;
    page.shows("return document.querySelectorAll('.steps .step').length === 3").await;
    let open = "[...document.querySelectorAll('.steps .step')].map(s => s.open ? 1 : 0).join('')";
    page.run("document.querySelectorAll('.steps .step')[2].open = true").await;
    page.run("document.querySelectorAll('.steps .step')[1].open = true").await;
    page.shows(&format!("return {open} === '011'")).await;
    *stored.lock().unwrap() =
        json!([call(100, "early"), call(200, "find"), call(200, "find"), call(250, "late"), call(300, "add")]);
    page.says(".steps", "early").await;
    page.shows(&format!("return {open} === '00101'")).await;
    page.close().await;
    workspace.stop().await;
}
