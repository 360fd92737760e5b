//! The page when things go wrong: the bot is away or slow, the workspace is gone, a tab is closed too early.

use std::sync::atomic::Ordering;

use serde_json::json;
use tokio::net::TcpListener;

use super::bot::{api, bot, listener, settings};
use super::browser::{Browser, ENTER};
use sales_concierge::playground::workspace::{Settings, Workspace};

#[tokio::test(flavor = "multi_thread")]
async fn that_the_bot_is_away_is_said_and_its_late_answer_is_shown() {
    // Slack's second attempt after some seconds rather than a minute.
    let bot = bot(Workspace::start(listener().await, Settings { retry_scale: 0.1, ..settings() }).await.unwrap()).await;
    bot.away.store(true, Ordering::SeqCst);
    let page = Browser::start(&bot.workspace, false).await;
    page.open("as=U1").await;
    page.write("#text", &format!("登録して{ENTER}")).await;
    page.says("#status", "ボットに届けられません").await;
    page.says("#log .status", "ボットに届けられません").await;
    page.picture("bot-away-ja").await;
    bot.away.store(false, Ordering::SeqCst);
    page.says("#thread-log", "登録しますか").await;
    page.lacks("#status:not([hidden])").await;
    page.close().await;
    bot.workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_answer_is_announced_as_slow() {
    let workspace = bot(Workspace::start(listener().await, settings()).await.unwrap()).await.workspace;
    let page = Browser::start(&workspace, true).await;
    page.open("as=U2").await;
    page.write("#text", &format!("quiet{ENTER}")).await;
    page.says("#thread-log", "quiet").await;
    page.says("#status", "taking a while").await;
    page.picture("slow-phone-en").await;
    let root = workspace.messages("D2")[0].ts.clone();
    api(&workspace, "chat.postMessage", json!({"channel": "D2", "thread_ts": root, "text": "at last"})).await;
    page.says("#thread-log", "at last").await;
    page.lacks("#status:not([hidden])").await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_while_the_workspace_is_gone_is_kept_and_sent_once_when_it_is_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = Some(dir.path().join("workspace.jsonl"));
    let first = Workspace::start(listener().await, Settings { store: store.clone(), ..settings() }).await.unwrap();
    let port = first.page_url().rsplit(':').next().unwrap().trim_end_matches('/').to_owned();
    let page = Browser::start(&first, false).await;
    page.open("as=U1&c=C2").await;
    page.write("#text", &format!("前の言葉{ENTER}")).await;
    page.says("#log", "前の言葉").await;
    first.stop().await;

    page.says("#trouble", "再接続しています").await;
    page.write("#text", &format!("途切れた言葉{ENTER}")).await;
    page.says("#log .pending", "途切れた言葉").await;
    page.says("#log .pending", "接続がないため").await;
    page.says("#log", "前の言葉").await;
    page.write("#text", "書きかけ").await;
    page.picture("offline-ja").await;
    // A thread that was never loaded is not asked for in a hurry.
    page.run("window.asked = 0; window.real = window.fetch; window.fetch = (path, ...rest) => { if (String(path).startsWith('/page/thread')) window.asked += 1; return window.real(path, ...rest); }; document.querySelector('#log [data-do=thread]').click()").await;
    page.shows("return window.asked === 2").await;
    page.run("document.getElementById('close').click()").await;

    let again = TcpListener::bind(format!("127.0.0.1:{port}")).await.unwrap();
    let second = Workspace::start(again, Settings { store, ..settings() }).await.unwrap();
    page.lacks("#trouble:not([hidden])").await;
    page.says("#log .message:not(.pending)", "途切れた言葉").await;
    page.lacks("#log .pending").await;
    page.shows("return document.getElementById('text').value === '書きかけ'").await;
    let texts: Vec<String> = second.messages("C2").into_iter().map(|m| m.text).collect();
    assert_eq!(texts, ["前の言葉", "途切れた言葉"]);
    page.close().await;
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_was_refused_is_sent_again_or_taken_back_also_after_a_reload() {
    let workspace = bot(Workspace::start(listener().await, settings()).await.unwrap()).await.workspace;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C2").await;
    // As if the request had been lost on its way, twice.
    page.run("window.real = window.fetch; window.fetch = (path, ...rest) => String(path) === '/page/say' ? Promise.reject(new TypeError('lost')) : window.real(path, ...rest)").await;
    page.write("#text", &format!("一つ目{ENTER}")).await;
    page.says("#log .failed-to-send", "一つ目").await;
    page.write("#text", &format!("二つ目{ENTER}")).await;
    page.shows("return document.querySelectorAll('#log .failed-to-send').length === 2").await;
    page.picture("not-sent-ja").await;
    page.run("window.fetch = window.real").await;
    page.click("#log .failed-to-send:last-child [data-do=discard]").await;
    page.shows("return document.getElementById('text').value === '二つ目'").await;
    assert!(workspace.messages("C2").is_empty());
    page.client.refresh().await.unwrap();
    page.says("#log .message:not(.pending)", "一つ目").await;
    page.lacks("#log .pending").await;
    let texts: Vec<String> = workspace.messages("C2").into_iter().map(|m| m.text).collect();
    assert_eq!(texts, ["一つ目"]);
    page.shows("return document.getElementById('text').value === '二つ目'").await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_answer_was_lost_is_not_said_twice() {
    let workspace = bot(Workspace::start(listener().await, settings()).await.unwrap()).await.workspace;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C2").await;
    page.run("window.real = window.fetch; window.fetch = async (path, ...rest) => { const answer = await window.real(path, ...rest); if (String(path) === '/page/say') throw new TypeError('lost'); return answer; }").await;
    page.write("#text", &format!("一度だけ{ENTER}")).await;
    page.says("#log .failed-to-send", "一度だけ").await;
    page.run("window.fetch = window.real").await;
    page.click("#log [data-do=retry]").await;
    page.lacks("#log .pending").await;
    page.shows("return [...document.querySelectorAll('#log .message')].length === 1").await;
    assert_eq!(workspace.messages("C2").len(), 1);
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_that_the_bot_does_not_take_can_be_repeated() {
    let bot = bot(Workspace::start(listener().await, settings()).await.unwrap()).await;
    let page = Browser::start(&bot.workspace, false).await;
    page.open("as=U1").await;
    page.write("#text", &format!("登録して{ENTER}")).await;
    page.says("#thread-log", "登録しますか").await;
    bot.away.store(true, Ordering::SeqCst);
    page.click("#thread-log [data-action=yes]").await;
    page.says("#thread-log .failed", "もう一度お試しください").await;
    page.picture("press-failed-ja").await;
    bot.away.store(false, Ordering::SeqCst);
    page.click("#thread-log [data-action=yes]").await;
    page.says("#thread-log", "登録しました S1").await;
    page.lacks("#thread-log .failed").await;
    assert_eq!(bot.workspace.look(|w| w.interactions().count()), 2, "each press is one request");
    page.close().await;
    bot.workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_while_a_thread_is_being_loaded_is_not_lost() {
    let workspace = bot(Workspace::start(listener().await, settings()).await.unwrap()).await.workspace;
    let root = workspace.say("U1", "C2", None, "root").await.unwrap();
    let gone = workspace.say("U2", "C2", Some(root.as_str()), "gone soon").await.unwrap();
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C2").await;
    // The answer is held back until the test lets go of it.
    page.run("window.real = window.fetch; window.fetch = async (path, ...rest) => { const answer = await window.real(path, ...rest); if (String(path).startsWith('/page/thread')) await new Promise((go) => { window.go = go; }); return answer; }").await;
    page.click("#log .more").await;
    page.shows("return Boolean(window.go)").await;
    workspace.remove("U2", "C2", gone.as_str()).await.unwrap();
    workspace.say("U2", "C2", Some(root.as_str()), "just now").await.unwrap();
    page.says("#log .more", "1 件の返信").await;
    page.run("window.go()").await;
    page.says("#thread-log", "just now").await;
    assert_eq!(page.run("return document.getElementById('thread-log').innerText.includes('gone soon')").await, false);
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_tabs_lets_go_of_its_connection_while_nobody_looks_at_it() {
    let workspace = bot(Workspace::start(listener().await, settings()).await.unwrap()).await.workspace;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C2").await;
    page.shows("return performance.getEntriesByName('drawn').length > 1").await;
    // As if five tabs were open and another one was shown.
    page.run("window.away = true; Object.defineProperty(document, 'hidden', {get: () => window.away}); navigator.locks.query = async () => { window.counted = true; return {held: Array(5).fill({name: 'tab'})}; }; document.dispatchEvent(new Event('visibilitychange'))").await;
    page.shows("return window.counted === true").await;
    workspace.say("U2", "C2", None, "meanwhile").await.unwrap();
    assert_eq!(page.run("return document.getElementById('log').innerText.includes('meanwhile')").await, false);
    page.run("window.away = false; document.dispatchEvent(new Event('visibilitychange'))").await;
    page.says("#log", "meanwhile").await;
    workspace.say("U2", "C2", None, "and now").await.unwrap();
    page.says("#log", "and now").await;
    page.lacks("#trouble:not([hidden])").await;
    page.close().await;
    workspace.stop().await;
}
