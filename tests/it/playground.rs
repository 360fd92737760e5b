//! The playground as a person meets it: one command, a browser, the demo model, a press, a reload.

use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::harness::PATIENCE;
use crate::page::Browser;

struct Playground {
    child: Child,
    url: String,
}

impl Playground {
    async fn start(dir: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sales-concierge"))
            .args(["playground", "--port", "0", "--data-dir"])
            .arg(dir)
            .current_dir(dir)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the playground starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("in time").expect("readable");
        let line = line.expect("a line");
        let url = line.strip_prefix("ready ").unwrap_or_else(|| panic!("not a ready line: {line}")).to_owned();
        Self { child, url }
    }

    async fn stop(mut self) {
        let pid = self.child.id().expect("running").to_string();
        Command::new("kill").args(["-TERM", &pid]).status().await.expect("kill");
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await.expect("it stops").expect("a status");
        assert!(status.success(), "{status}");
    }
}

/// Pictures for the documents are made only on demand: `SCREENSHOTS=dir cargo test --test it playground`.
#[expect(clippy::disallowed_methods, reason = "a switch of the test, not of the program")]
async fn picture(page: &Browser, name: &str) {
    if let Ok(dir) = std::env::var("SCREENSHOTS") {
        let png = page.client.screenshot().await.expect("a picture");
        std::fs::write(Path::new(&dir).join(name), png).expect("written");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newcomer_asks_registers_presses_and_finds_the_receipt_after_a_restart() {
    let dir = tempfile::tempdir().expect("a folder");
    let playground = Playground::start(dir.path()).await;
    let page = Browser::at(&playground.url, false).await;
    page.open("as=U0AOKI").await;
    page.says("#banner", "デモモデル").await;

    page.write("#text", "佐藤さんの顧客コードは？\u{E007}").await;
    page.says("#thread-log", "0016").await;
    page.says("#thread-log", "佐藤 花子").await;
    page.says("#thread-log", "この返信による登録はありません").await;
    picture(&page, "answer.png").await;

    page.click("#close").await;
    page.write("#text", "0016に先週火曜かぼちゃ4個600円で販売登録して\u{E007}").await;
    page.says("#thread-log", "（火）").await;
    page.says("#thread-log", "600円").await;
    picture(&page, "card.png").await;
    page.click("#thread-log [data-action=proposal_confirm]").await;
    page.says("#thread-log", "販売を登録しました").await;
    page.shows("return !document.querySelector('#thread-log [data-action=proposal_confirm]')").await;
    picture(&page, "receipt.png").await;
    page.client.refresh().await.expect("a reload");
    page.says("#thread-log", "販売を登録しました").await;
    page.client.clone().close().await.expect("closed");
    playground.stop().await;

    // The next day's start: the same folder, another port, the conversation still there and the sale still found.
    let playground = Playground::start(dir.path()).await;
    let page = Browser::at(&playground.url, true).await;
    page.open("as=U0AOKI").await;
    page.write("#text", "0016の先週の販売は？\u{E007}").await;
    page.says("#thread-log", "かぼちゃ4個").await;
    picture(&page, "phone.png").await;
    page.client.clone().close().await.expect("closed");
    playground.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_done_to_the_bot_from_the_page_there_is_one_sale_and_the_panel_tells_how() {
    let dir = tempfile::tempdir().expect("a folder");
    let playground = Playground::start(dir.path()).await;
    let page = Browser::at(&playground.url, false).await;
    page.open("as=U0AOKI").await;
    assert_eq!(page.run("return document.querySelector('#underneath').hidden").await, true, "closed at first");

    page.click("#behind").await;
    page.click(".chaos summary").await;
    page.click("[data-chaos=deliver_twice]").await;
    page.write("#text", "0016に先週火曜日かぼちゃ4個600円で販売登録して\u{E007}").await;
    page.says("#thread-log", "（火）").await;
    // The event went out twice; there is one card.
    page.says(".steps", "message ×2").await;
    for step in ["署名付きイベント", "モデル: ツール呼び出し", "登録の提案", "Web API"] {
        page.says(".steps", step).await;
    }
    assert_eq!(
        page.run("return document.querySelectorAll('#thread-log [data-action=proposal_confirm]').length").await,
        1
    );
    page.picture("panel").await;
    let proposal = page.run("return document.querySelectorAll('.steps').length && fetch(location.origin + '/page/thread?' + new URLSearchParams({as: 'U0AOKI', channel: 'D0AOKI', ts: [...document.querySelectorAll('#log .message')].find(m => m.textContent.includes('販売登録して')).dataset.ts})).then(r => r.text()).then(t => (t.match(/\"value\":\"([A-Za-z0-9_-]{20,})\"/) || [])[1])").await;
    let proposal = proposal.as_str().expect("a card's button carries an id").to_owned();

    // Now the server that writes is killed, and the button is pressed twice.
    page.click("[data-chaos=kill_sales_server]").await;
    page.click("[data-chaos=press_twice]").await;
    page.click("#thread-log [data-action=proposal_confirm]").await;
    page.says("#thread-log", "販売を登録しました").await;
    page.says(".steps", "提案の完了").await;
    page.shows("return document.querySelectorAll('.steps .step').length > 8 && [...document.querySelectorAll('.steps b')].filter(b => b.textContent === '署名付き操作').length === 2").await;
    page.picture("panel-receipt").await;
    page.write("#thread-text", "0016の先週の販売は？\u{E007}").await;
    page.says("#thread-log", "かぼちゃ4個").await;
    let rows =
        "[...document.querySelectorAll('#thread-log td')].filter(c => c.textContent.includes('かぼちゃ4個')).length";
    page.shows(&format!("return {rows} > 0")).await;
    assert_eq!(page.run(&format!("return {rows}")).await, 1, "one sale");

    // Nothing on the panel lets anybody act: not the button's value, nor the address for replies.
    page.run("document.querySelectorAll('.steps details').forEach(d => d.open = true)").await;
    let text = page.run("return document.querySelector('.steps').innerText").await.as_str().expect("text").to_owned();
    assert!(text.contains("X-Slack-Signature"), "{text}");
    for secret in [proposal.as_str(), "/response/", "xoxb-", "eyJ"] {
        assert!(!text.contains(secret), "{secret} stands on the panel");
    }
    // Escape closes it and gives the focus back.
    page.run("document.querySelector('#underneath summary').focus()").await;
    page.keys("\u{E00C}").await;
    page.shows("return document.querySelector('#underneath').hidden && document.activeElement.id === 'behind'").await;
    page.close().await;
    playground.stop().await;
}
