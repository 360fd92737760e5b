//! What the bot offers to be filled in and pressed: modals, Home, lists, questions before a press.

use std::sync::atomic::Ordering;

use serde_json::json;

use super::bot::{api, bot, button, gallery, listener, mrkdwn, plain, settings, workspace};
use super::browser::{Browser, DOWN, ENTER, ESCAPE, TAB, holds};
use sales_concierge::playground::workspace::{Settings, Workspace};

/// Replaces what stands in a field of the open modal.
async fn fill(page: &Browser, block: &str, text: &str) {
    page.run(&format!("const f = document.querySelector('#modal [data-block={block}]'); f.focus(); f.select()")).await;
    page.keys(text).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modal_is_filled_in_with_the_keyboard_alone_and_says_what_is_wrong_where_it_is() {
    let workspace = workspace().await;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1").await;
    page.write("#text", &format!("edit{ENTER}")).await;
    page.says("#thread-log", "編集").await;
    page.run("document.querySelector('#thread-log [data-action=open]').focus()").await;
    page.keys(ENTER).await;
    page.says("#modal", "販売を編集").await;
    page.shows("return document.activeElement.dataset.block === 'day'").await;
    page.says("#modal .picker", "2026年11月24日(火)").await;
    page.picture("modal-ja").await;

    // The client checks what must be there before the bot is asked.
    page.run("document.querySelector('#modal [type=submit]').focus()").await;
    page.keys(ENTER).await;
    page.shows("return document.querySelectorAll('#modal .wrong').length === 2").await;
    page.shows("const f = document.activeElement; return f.dataset.block === 'product' && f.getAttribute('aria-invalid') === 'true' && document.getElementById(f.getAttribute('aria-describedby')).textContent !== ''").await;
    page.picture("modal-errors-ja").await;

    // A list is searched; the field says which option is meant, and Esc closes the list, not the modal.
    page.keys("とま").await;
    page.says("#modal .list", "とまと").await;
    page.shows("const f = document.activeElement; return document.getElementById(f.getAttribute('aria-activedescendant'))?.textContent === 'とまと'").await;
    page.keys(ESCAPE).await;
    page.lacks("#modal .list").await;
    page.shows("return document.getElementById('modal').open").await;
    page.keys(DOWN).await;
    page.says("#modal .list", "とまと").await;
    page.keys(ENTER).await;
    page.shows("return document.querySelector('#modal [data-block=product]').value === 'とまと'").await;
    page.keys(TAB).await;
    page.keys("見本").await;
    page.says("#modal .list", "見本青果").await;
    page.picture("modal-suggest-ja").await;
    page.keys(DOWN).await;
    page.keys(ENTER).await;
    page.shows("return document.querySelector('#modal [data-block=customer]').value === '見本青果'").await;

    // The bot's own objection stands at its field; nothing that was entered is lost.
    fill(&page, "amount", &format!("0{ENTER}")).await;
    page.says("#modal .wrong", "1円以上を入力してください").await;
    page.shows("return document.querySelector('#modal [data-block=customer]').value === '見本青果'").await;

    // One modal on top of another, and back again.
    fill(&page, "amount", &format!("999{ENTER}")).await;
    page.says("#modal", "999円でよろしいですか？").await;
    page.picture("modal-stacked-ja").await;
    page.keys(ESCAPE).await;
    page.shows("return document.querySelector('#modal [data-block=amount]')?.value === '999'").await;
    fill(&page, "amount", "１，８００").await;
    page.write("#modal textarea", "二行の\nメモ").await;
    page.click_anywhere("#modal [type=radio][value=out]").await;
    page.click("#modal [type=submit]").await;
    page.says("#log", "保存: 2026-11-24 とまと 0003 1800円 out 二行の").await;
    page.shows("return !document.getElementById('modal').open && document.activeElement.dataset.action === 'open'")
        .await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn focus_stays_within_a_modal_and_esc_closes_it() {
    let workspace = workspace().await;
    let page = Browser::start(&workspace, true).await;
    page.open("as=U1").await;
    page.write("#text", &format!("edit{ENTER}")).await;
    page.click("#thread-log [data-action=open]").await;
    page.says("#modal", "販売を編集").await;
    page.picture("modal-phone-ja").await;
    assert_eq!(page.run("return document.getElementById('modal').getBoundingClientRect().width").await, 375);
    for _ in 0..14 {
        page.keys(TAB).await;
        let out = "return document.activeElement !== document.body && !document.activeElement.closest('#modal')";
        assert_eq!(page.run(out).await, false);
    }
    page.keys(ESCAPE).await;
    page.shows("return !document.getElementById('modal').open").await;
    holds(&workspace, "no modal is open", |w| w.modals_of("U1").is_empty()).await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modal_that_cannot_be_sent_says_so_and_keeps_what_was_entered() {
    let bot = bot(Workspace::start(listener().await, settings()).await.unwrap()).await;
    let page = Browser::start(&bot.workspace, false).await;
    page.open("as=U1").await;
    page.write("#text", &format!("edit{ENTER}")).await;
    page.click("#thread-log [data-action=open]").await;
    page.says("#modal", "販売を編集").await;
    for (block, text) in [("product", "なす"), ("customer", "例示")] {
        fill(&page, block, text).await;
        page.says("#modal .list", text).await;
        page.keys(ENTER).await;
    }
    bot.away.store(true, Ordering::SeqCst);
    page.click("#modal [type=submit]").await;
    page.says("#modal footer", "もう一度お試しください").await;
    page.picture("modal-failed-ja").await;
    bot.away.store(false, Ordering::SeqCst);
    page.click("#modal [type=submit]").await;
    page.says("#log", "保存: 2026-11-24 なす 0016 600円 in -").await;
    page.close().await;
    bot.workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn home_is_shown_beside_the_messages_and_its_buttons_work() {
    let workspace = workspace().await;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1").await;
    page.click("#tab-home").await;
    page.says("#home", "12件").await;
    page.lacks("#talk:not([hidden])").await;
    page.picture("home-ja").await;
    page.client.refresh().await.unwrap();
    page.says("#home", "今月の販売").await;
    page.click("#home [data-action=open]").await;
    page.says("#modal", "販売を編集").await;
    page.keys(ESCAPE).await;
    page.run("document.getElementById('tab-home').focus()").await;
    page.keys("\u{E012}").await;
    page.shows("return document.getElementById('home').hidden && document.activeElement.id === 'tab-messages'").await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_without_a_home_tab_has_no_tabs_whatever_the_address_says() {
    let settings = Settings { home_tab: false, ..settings() };
    let workspace = bot(Workspace::start(listener().await, settings).await.unwrap()).await.workspace;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=D1&tab=home").await;
    page.shows("return performance.getEntriesByName('drawn').length > 0").await;
    page.lacks("#tabs:not([hidden])").await;
    page.lacks("#home:not([hidden])").await;
    page.write("#text", &format!("quiet{ENTER}")).await;
    page.says("#thread-log", "quiet").await;
    let asked = "return fetch('/page/home', {method: 'POST', headers: {'content-type': 'application/json'}, body: '{\"as\":\"U1\"}'}).then(r => r.status)";
    assert_eq!(page.run(asked).await, 501);
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_buttons_of_cards_in_a_row_reach_the_bot() {
    let workspace = workspace().await;
    let card = |action: &str, text: &str| json!({"type": "card", "title": plain("見本商店"), "actions": [button(action, text)]});
    let blocks = json!([{"type": "carousel", "elements": [card("first", "一つ目"), card("second", "二つ目")]}]);
    api(&workspace, "chat.postMessage", json!({"channel": "C1", "text": "cards", "blocks": blocks})).await;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C1").await;
    page.click("#log [data-action=second]").await;
    page.says("#log .ephemeral", "chosen").await;
    let pressed = workspace.look(|w| w.interactions().map(|i| i.action.clone()).collect::<Vec<_>>());
    assert_eq!(pressed, ["second"]);
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_dates_menus_and_questions_of_a_message_reach_the_bot() {
    let workspace = workspace().await;
    gallery(&workspace).await;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C1").await;
    page.says("#log", "期間を選んでください").await;

    page.click("#log [data-action=period]").await;
    page.says(".list", "先月").await;
    page.picture("select-ja").await;
    page.keys(DOWN).await;
    page.keys(ENTER).await;
    page.says("#log .ephemeral", "chosen: last").await;
    page.shows("return document.querySelector('#log [data-action=period]').value === '先週'").await;

    page.click_anywhere("#log [data-action=menu]").await;
    page.says(".menu", "CSVで保存").await;
    page.keys(DOWN).await;
    page.keys(ENTER).await;
    page.says("#log .ephemeral", "chosen: csv").await;
    page.shows("return document.activeElement.dataset.action === 'menu'").await;

    page.run("const d = document.querySelector('#log [data-action=date]'); d.value = '2026-12-24'; d.dispatchEvent(new Event('change', {bubbles: true}))").await;
    page.says("#log .ephemeral", "chosen: 2026-12-24").await;
    page.says("#log .picker", "2026年12月24日(木)").await;
    page.click_anywhere("#log [type=radio][value=out]").await;
    page.says("#log .ephemeral", "chosen: out").await;

    // A question first; "no" leaves everything as it is.
    let before = workspace.ephemerals("U1").len();
    page.click_anywhere("#log [data-action=wipe]").await;
    page.says("#ask", "S1を取り消します。").await;
    page.picture("confirm-ja").await;
    page.keys(ENTER).await;
    page.lacks("#ask[open]").await;
    assert_eq!(workspace.ephemerals("U1").len(), before);
    page.click_anywhere("#log [data-action=wipe]").await;
    page.says("#ask", "取り消しますか").await;
    page.click("#ask .danger-full").await;
    page.says("#log .ephemeral", "chosen: \"x\"").await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_shows_that_it_is_on_its_way_keeps_the_focus_and_is_not_sent_twice() {
    let workspace = workspace().await;
    let blocks = json!([
        {"type": "section", "text": mrkdwn("時間のかかるボタン")},
        {"type": "actions", "elements": [button("slow", "集計する"), button("yes", "登録する")]},
    ]);
    let posted = api(&workspace, "chat.postMessage", json!({"channel": "C1", "text": "slow", "blocks": blocks})).await;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C1").await;
    page.run("document.querySelector('#log [data-action=slow]').focus()").await;
    page.keys(ENTER).await;
    page.keys(ENTER).await;
    page.says("#log [data-action=slow]", "送信中…").await;
    page.picture("sending-ja").await;
    page.shows("return document.activeElement.dataset.action === 'slow'").await;
    holds(&workspace, "it was pressed", |w| w.interactions().count() == 1).await;
    // The message changes under the person's hands: the focus stays on the button that is still there.
    let blocks = json!([
        {"type": "section", "text": plain("集計しました")},
        {"type": "actions", "elements": [button("slow", "もう一度")]},
    ]);
    let args = json!({"channel": "C1", "ts": posted["ts"], "text": "done", "blocks": blocks});
    api(&workspace, "chat.update", args).await;
    page.says("#log [data-action=slow]", "もう一度").await;
    page.shows("return document.activeElement.dataset.action === 'slow'").await;
    assert_eq!(workspace.look(|w| w.interactions().count()), 1);
    page.close().await;
    workspace.stop().await;
}
