//! Cards and presses: what is shown is what is written, by one person, once, and no press is silent.

use std::collections::HashSet;
use std::time::Duration;

use futures::future::join_all;
use sales_concierge::domain::{ChannelId, MessageTs, TeamId, ThreadKey};
use sales_concierge::playground::sample;
use sales_concierge::playground::workspace::Fault;
use sales_concierge::thread::trace;
use sales_concierge::words::cards as words;
use sales_concierge::work::Work;
use serde_json::json;

use crate::harness::desk::{LOOK, RawPress, proposal};
use crate::harness::{AOKI, Rig, Say, has_buttons, model, shown, today};

const MORI: &str = "U0MORI";
const KUDO: &str = "U0KUDO";
const ISHII: &str = "U0ISHII";
const NODA: &str = "U0NODA";
const ARAI: &str = "U0ARAI";
const CHANNEL: &str = "C0HANBAI";

/// Cards, presses and presses at one time of the burst; the benchmark runs it with a hundred cards and a thousand.
const BURST_CARDS: usize = 25;
const BURST_PRESSES: usize = 256;
const BURST_WIDTH: usize = 64;

#[tokio::test(flavor = "multi_thread")]
async fn i03_the_card_shows_field_by_field_what_is_then_written() {
    let rig = Rig::start().await;
    let day = today() - chrono::Days::new(9);
    rig.model.script([
        Say::call(
            "add_sale",
            json!({"code_customer": "0002", "products": "かぼちゃ 4個", "price": 1_234_567, "date_sales_str": day.to_string()}),
        ),
        Say::text("どうぞ。"),
    ]);
    let place = rig.dm(AOKI, "登録して").await;
    let card = rig.card(&place).await;
    let lang = sales_concierge::domain::Lang::Ja;
    let text = shown(&card);
    for line in [
        "お客様\n佐藤 花子（0002）".to_owned(),
        "部門\n直販".to_owned(),
        "金額\n1,234,567円".to_owned(),
        format!("販売日\n{}", words::day(lang, day)),
        "商品\nかぼちゃ 4個".to_owned(),
        words::who_may_press(lang, "青木 さくら"),
        words::not_yet(lang),
    ] {
        assert!(text.contains(&line), "{line:?} is not on the card:\n{text}");
    }
    assert!(words::day(lang, day).contains('（'), "a day is shown with its weekday");
    rig.confirm(AOKI, &card).await;
    let receipt = shown(&rig.becomes(&card, &words::receipt_title(lang)).await);
    let records = rig.records().await;
    let row: (String, String, String, i64, String, String) = sqlx::query_as(
        "SELECT code_sales, code_customer, products, price, sales_date, registered_by FROM sales WHERE origin = 'approval'",
    )
    .fetch_one(records.read())
    .await
    .expect("one sale");
    records.close().await;
    let by = format!("slack:{}:{AOKI}", sample::TEAM);
    assert_eq!(
        (row.1.as_str(), row.2.as_str(), row.3, row.4, row.5),
        ("0002", "かぼちゃ 4個", 1_234_567, day.to_string(), by)
    );
    for line in [row.0.as_str(), "佐藤 花子（0002）", "1,234,567円", "かぼちゃ 4個", "確認: 青木 さくらさん"]
    {
        assert!(receipt.contains(line), "{line:?} is not on the receipt:\n{receipt}");
    }
    rig.in_order().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i02_presses_at_the_same_moment_make_one_sale_and_each_of_them_is_answered() {
    let rig = Rig::with_clerk(&[]).await;
    let (_, card) = rig.offered().await;
    let same = RawPress::on(&card);
    let other = RawPress { action_ts: "1700000000.000002".to_owned(), ..same.clone() };
    let pressed =
        tokio::join!(rig.press_raw(&same), rig.press_raw(&same), rig.press_raw(&other), rig.press_raw(&other));
    for press in [pressed.0, pressed.1, pressed.2, pressed.3] {
        assert_eq!((press.status, press.warning), (Some(200), false));
    }
    rig.becomes(&card, "登録しました").await;
    rig.in_order().await;
    assert_eq!(rig.approved_sales().await, 1);
    assert_eq!(rig.count("SELECT count(*) FROM clicks").await, 2, "the same press twice is one press");
    assert_eq!(rig.workspace.ephemerals(AOKI).len(), 1, "the second press was answered");
    // And long after: the number is told again, nothing else happens.
    rig.press_raw(&RawPress { action_ts: "1700000000.000003".to_owned(), ..same }).await;
    rig.whispers(AOKI, "すでに登録済みです（販売番号 S").await;
    rig.in_order().await;
    assert_eq!(rig.approved_sales().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn i04_nobody_but_the_requester_can_decide_and_whoever_tries_is_told() {
    let rig = Rig::with_clerk(&[]).await;
    let place = rig.mention(AOKI, CHANNEL, "登録 0002 かぼちゃ4個 600").await;
    let card = rig.card(&place).await;
    for user in [MORI, KUDO, ISHII, NODA, ARAI, "U0NISHI"] {
        assert_eq!(rig.confirm(user, &card).await.status, Some(200), "{user}");
        assert_eq!(rig.cancel(user, &card).await.status, Some(200), "{user}");
        rig.whispers(user, "依頼した青木 さくらさんだけです").await;
    }
    // An English reader is told in English, and the same user id in another workspace is another person.
    rig.confirm("U0LIAM", &card).await;
    rig.whispers("U0LIAM", "Only 青木 さくら").await;
    let foreign = RawPress { team: "T0OTHER".to_owned(), ..RawPress::on(&card) };
    assert_eq!(rig.press_raw(&foreign).await.status, Some(200));
    rig.until("the foreign press is refused", "SELECT count(*) FROM clicks WHERE outcome = 'not_yours'", 14).await;
    rig.in_order().await;
    assert_eq!(rig.approved_sales().await, 0);
    assert_eq!(rig.count("SELECT count(*) FROM proposals WHERE state = 'pending'").await, 1);
    let now = rig.card(&place).await;
    assert_eq!((now.blocks, now.edited), (card.blocks.clone(), None), "the card was not touched");
    assert_eq!(
        rig.count("SELECT count(*) FROM audit WHERE event = 'refused_not_requester'").await,
        14,
        "every refusal is on record"
    );
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "登録しました").await;
    assert_eq!(rig.approved_sales().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn i11_the_id_of_anothers_card_is_useless_on_a_card_of_ones_own() {
    let rig = Rig::with_clerk(&[]).await;
    let (_, aokis) = rig.offered().await;
    let place = rig.dm(KUDO, "登録 0003 とまと10袋 3000").await;
    let kudos = rig.card(&place).await;
    let press = RawPress { user: KUDO.to_owned(), proposal: proposal(&aokis), ..RawPress::on(&kudos) };
    rig.press_raw(&press).await;
    rig.press_raw(&RawPress { action: "proposal_cancel", ..press.clone() }).await;
    let unknown = RawPress { proposal: "A".repeat(27), action_ts: "1700000000.9".to_owned(), ..press };
    rig.press_raw(&unknown).await;
    rig.until("all are answered", "SELECT count(*) FROM clicks WHERE outcome IN ('not_yours', 'not_found')", 3).await;
    rig.in_order().await;
    assert_eq!(rig.count("SELECT count(*) FROM proposals WHERE state = 'pending'").await, 2);
    assert_eq!(rig.approved_sales().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn i04_whoever_lost_the_rights_after_the_card_writes_nothing_and_is_told() {
    let rig = Rig::with_clerk(&[]).await;
    let (_, card) = rig.offered().await;
    let told = "SELECT count(*) FROM clicks WHERE outcome = 'not_allowed'";
    for (n, lost) in [
        (1, "UPDATE staff SET active = 0 WHERE user = 'U0AOKI'"),
        (2, "UPDATE staff SET active = 1, role = 'viewer' WHERE user = 'U0AOKI'"),
        (3, "UPDATE staff SET role = 'sales', departments = '[\"卸\"]' WHERE user = 'U0AOKI'"),
        (4, "DELETE FROM staff WHERE user = 'U0AOKI'"),
    ] {
        rig.alter(lost).await;
        assert_eq!(rig.confirm(AOKI, &card).await.status, Some(200));
        rig.until(lost, told, n).await;
    }
    rig.whispers(AOKI, "権限がありません").await;
    rig.in_order().await;
    assert_eq!(rig.workspace.ephemerals(AOKI).len(), 4);
    assert_eq!(rig.approved_sales().await, 0);
    assert_eq!(rig.count("SELECT count(*) FROM proposals WHERE state = 'pending'").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_survives_a_restart_and_its_button_still_works() {
    let mut rig = Rig::with_clerk(&[]).await;
    let (place, card) = rig.offered().await;
    rig.settles().await;
    assert!(rig.stop_bot().await.success());
    // With nobody there the person sees Slack's warning: nothing was swallowed.
    assert!(rig.confirm(AOKI, &card).await.warning);
    rig.start_bot().await;
    assert_eq!(rig.confirm(AOKI, &card).await.status, Some(200));
    rig.becomes(&card, "登録しました").await;
    rig.in_order().await;
    assert_eq!(rig.approved_sales().await, 1);
    assert_eq!(rig.bot_messages(&place).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn i05_an_expired_card_says_so_and_a_late_press_is_told() {
    let rig = Rig::with_clerk(&[("SALES_CONCIERGE__PROPOSALS__EXPIRY_S", "1")]).await;
    let (place, card) = rig.offered().await;
    let late = RawPress::on(&card);
    let ended = rig.becomes(&card, "期限切れ").await;
    assert!(!has_buttons(&ended));
    rig.press_raw(&late).await;
    rig.press_raw(&RawPress { action: "proposal_cancel", ..late }).await;
    rig.whispers(AOKI, "このカードは期限切れです").await;
    rig.until("both are told", "SELECT count(*) FROM clicks WHERE outcome = 'expired'", 2).await;
    rig.in_order().await;
    assert_eq!(rig.approved_sales().await, 0);
    // Time alone starts nothing.
    assert_eq!(rig.count("SELECT count(*) FROM continuations").await, 0);
    assert_eq!((rig.continuations(), rig.bot_messages(&place).len()), (0, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn i05_a_declined_card_never_executes_whatever_is_pressed_afterwards() {
    let rig = Rig::with_clerk(&[]).await;
    let (_, card) = rig.offered().await;
    let press = RawPress::on(&card);
    rig.cancel(AOKI, &card).await;
    let declined = rig.becomes(&card, "登録しませんでした").await;
    assert!(shown(&declined).contains("青木 さくらさんが取りやめました"), "{}", shown(&declined));
    rig.press_raw(&press).await;
    rig.whispers(AOKI, "このカードは取りやめになっています").await;
    rig.press_raw(&RawPress { action: "proposal_cancel", ..press }).await;
    rig.until("both are told", "SELECT count(*) FROM clicks WHERE outcome = 'already_decided'", 2).await;
    rig.in_order().await;
    assert_eq!(rig.approved_sales().await, 0);
    assert_eq!(rig.continuations(), 1, "a person decided, so what remained is looked at");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_can_undo_their_own_sale_and_nobody_elses() {
    let rig = Rig::with_clerk(&[]).await;
    let (place, card) = rig.offered().await;
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "登録しました").await;
    rig.in_order().await;
    let number = number(&rig, "SELECT code_sales FROM sales WHERE origin = 'approval'").await;
    rig.reply(AOKI, &place, &format!("取消 {number} 間違えました")).await;
    let undo = rig.card(&place).await;
    for line in ["この販売の登録を取り消しますか", &number, "佐藤 花子（0002）", "600円", "間違えました"]
    {
        assert!(shown(&undo).contains(line), "{line:?} is not on the card:\n{}", shown(&undo));
    }
    rig.confirm(AOKI, &undo).await;
    rig.becomes(&undo, "販売の登録を取り消しました").await;
    rig.in_order().await;
    assert_eq!(rig.count("SELECT count(*) FROM sales WHERE cancelled_at IS NOT NULL").await, 1);

    let others = "SELECT s.code_sales FROM sales s JOIN customers c USING (code_customer)
        WHERE c.department = '直販' AND s.registered_by NOT LIKE '%:U0AOKI' ORDER BY s.registered_at DESC LIMIT 1";
    let other = self::number(&rig, others).await;
    rig.reply(AOKI, &place, &format!("取消 {other} 消したい")).await;
    let card = rig.card(&place).await;
    rig.confirm(AOKI, &card).await;
    let refused = rig.becomes(&card, "取り消せませんでした").await;
    assert!(shown(&refused).contains("権限"), "{}", shown(&refused));
    rig.in_order().await;
    assert_eq!(rig.count("SELECT count(*) FROM sales WHERE cancelled_at IS NOT NULL").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_cards_in_one_thread_settle_by_themselves_the_second_first() {
    let rig = Rig::with_clerk(&[]).await;
    let place = rig.dm(AOKI, "登録 0002 かぼちゃ4個 600; 0004 とまと2袋 500").await;
    assert_eq!(rig.cards(&place, 1).await.len(), 1, "the second request has no verb and is none");
    let place = rig.dm(AOKI, "登録 0002 かぼちゃ4個 600; 登録 0004 とまと2袋 500").await;
    let cards = rig.cards(&place, 2).await;
    let [first, second] = cards.as_slice() else { panic!("two cards, not {}", cards.len()) };
    rig.confirm(AOKI, second).await;
    let done = rig.becomes(second, "登録しました").await;
    assert!(shown(&done).contains("とまと2袋"), "{}", shown(&done));
    rig.settles().await;
    let sold = "SELECT group_concat(code_customer || ' ' || products || ' ' || price, '; ') FROM sales WHERE origin = 'approval'";
    assert_eq!(number(&rig, sold).await, "0004 とまと2袋 500");
    assert_eq!(rig.continuations(), 0, "one card still waits");
    rig.confirm(AOKI, first).await;
    rig.becomes(first, "登録しました").await;
    rig.in_order().await;
    assert_eq!(rig.approved_sales().await, 2);
    assert_eq!(rig.continuations(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_a_replaced_card_never_executes() {
    let rig = Rig::start().await;
    let sale = |price: i64| json!({"code_customer": "0002", "products": "かぼちゃ4個", "price": price});
    rig.model.script([Say::call("add_sale", sale(600)), Say::text(LOOK)]);
    let place = rig.dm(AOKI, "登録して").await;
    let old = rig.card(&place).await;
    let press = RawPress::on(&old);
    let mut changed = sale(700);
    changed["replaces_proposal"] = json!(proposal(&old));
    rig.model.script([Say::call("add_sale", changed), Say::text(LOOK), Say::text("NOTHING_LEFT")]);
    rig.reply(AOKI, &place, "700円にして").await;
    let replaced = rig.becomes(&old, "新しいカードに置き換えました").await;
    assert!(!has_buttons(&replaced));
    rig.press_raw(&press).await;
    rig.whispers(AOKI, "新しいカードに置き換えられています").await;
    rig.settles().await;
    assert_eq!(rig.approved_sales().await, 0);
    let new = rig.card(&place).await;
    assert_ne!(new.ts, old.ts);
    rig.confirm(AOKI, &new).await;
    rig.becomes(&new, "登録しました").await;
    rig.in_order().await;
    assert_eq!(number(&rig, "SELECT group_concat(price) FROM sales WHERE origin = 'approval'").await, "700");
    assert_eq!(rig.count("SELECT count(*) FROM continuations").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_press_what_remained_of_the_request_is_answered_once() {
    let rig = Rig::start().await;
    rig.model.script([
        Say::call("add_sale", json!({"code_customer": "0002", "products": "かぼちゃ4個", "price": 600})),
        Say::text("確認のあと、合計をお伝えします。"),
        Say::call("get_customers", json!({"code_customer": "0002"})),
        Say::text("残りの答えです。"),
    ]);
    let place = rig.dm(AOKI, "登録して、そのあと調べて").await;
    let card = rig.card(&place).await;
    rig.settles().await;
    assert_eq!(rig.bot_messages(&place).len(), 2);
    rig.confirm(AOKI, &card).await;
    rig.says(&place, "残りの答えです。").await;
    rig.in_order().await;
    assert_eq!(rig.bot_messages(&place).len(), 3);
    assert_eq!(rig.continuations(), 1);
    let notes = model::notes(&rig.model.last());
    let told = notes.iter().find(|n| n.contains("was confirmed by the person and is written")).expect("a note");
    assert!(told.contains(&proposal(&card)), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_just_declined_is_not_offered_again_until_the_person_asks() {
    let rig = Rig::start().await;
    let sale = json!({"code_customer": "0002", "products": "かぼちゃ4個", "price": 600});
    rig.model.script([
        Say::call("add_sale", sale.clone()),
        Say::text(LOOK),
        Say::call("add_sale", sale.clone()),
        Say::text("では登録しません。"),
    ]);
    let place = rig.dm(AOKI, "登録して").await;
    let card = rig.card(&place).await;
    rig.cancel(AOKI, &card).await;
    rig.says(&place, "では登録しません。").await;
    rig.in_order().await;
    assert_eq!(rig.count("SELECT count(*) FROM proposals").await, 1);
    let last = model::results(&rig.model.last()).pop().expect("a result");
    assert!(last.to_string().contains("Not proposed"), "{last}");
    rig.model.script([Say::call("add_sale", sale), Say::text(LOOK)]);
    rig.reply(AOKI, &place, "やっぱり登録して").await;
    rig.card(&place).await;
    rig.in_order().await;
    assert_eq!(rig.count("SELECT count(*) FROM proposals").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn i03_a_stored_proposal_that_was_tampered_with_writes_nothing() {
    let rig = Rig::with_clerk(&[]).await;
    let place = rig.dm(AOKI, "登録 0002 かぼちゃ4個 600; 登録 0004 とまと2袋 500").await;
    let cards = rig.cards(&place, 2).await;
    rig.alter(
        "DROP TRIGGER proposals_write_is_fixed;
         UPDATE proposals SET write = json_set(write, '$.price', 6) WHERE write->>'code_customer' = '0002';
         UPDATE proposals SET digest = replace(digest, substr(digest, 1, 1), 'x') WHERE write->>'code_customer' = '0004';",
    )
    .await;
    for card in &cards {
        assert_eq!(rig.confirm(AOKI, card).await.status, Some(200));
        rig.becomes(card, "登録できませんでした").await;
    }
    rig.in_order().await;
    assert_eq!(rig.approved_sales().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_that_changed_after_the_card_stops_the_write_and_the_card_says_why() {
    let rig = Rig::with_clerk(&[]).await;
    let place = rig.dm(AOKI, "登録 0002 かぼちゃ4個 600; 登録 0004 とまと2袋 500; 登録 0006 なす1袋 240").await;
    let cards = rig.cards(&place, 3).await;
    rig.alter(
        "PRAGMA foreign_keys = OFF;
         UPDATE customers SET name_customer = '佐藤 華子' WHERE code_customer = '0002';
         DELETE FROM customers WHERE code_customer = '0004';
         UPDATE customers SET department = '卸' WHERE code_customer = '0006';",
    )
    .await;
    for (card, why) in cards.iter().zip(["情報が変わった", "お客様が見つからない", "お客様が見つからない"])
    {
        rig.confirm(AOKI, card).await;
        let failed = shown(&rig.becomes(card, "登録できませんでした").await);
        assert!(failed.contains(why), "{why:?} is not the reason given:\n{failed}");
    }
    rig.in_order().await;
    assert_eq!(rig.approved_sales().await, 0);
    let notes = model::notes(&rig.model.last());
    assert_eq!(notes.iter().filter(|n| n.contains("Nothing was written")).count(), 3, "{notes:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn i02_a_storm_of_presses_makes_exactly_one_sale_for_each_card() {
    let rig = Rig::with_clerk(&[]).await;
    let offers = (0..BURST_CARDS).map(|_| rig.offered());
    let cards: Vec<_> = join_all(offers).await.into_iter().map(|(_, card)| card).collect();
    let presses: Vec<RawPress> = (0..BURST_PRESSES)
        .map(|n| RawPress {
            action_ts: format!("1700000000.{n:06}"),
            ..RawPress::on(cards.get(n % BURST_CARDS).expect("a card"))
        })
        .collect();
    for burst in presses.chunks(BURST_WIDTH) {
        for outcome in join_all(burst.iter().map(|press| rig.press_raw(press))).await {
            assert_eq!(outcome.status, Some(200));
        }
    }
    rig.in_order().await;
    assert_eq!(rig.approved_sales().await, BURST_CARDS as i64);
    assert_eq!(rig.count("SELECT count(*) FROM clicks").await, BURST_PRESSES as i64);
    let numbers: HashSet<String> = cards
        .iter()
        .filter_map(|c| rig.workspace.messages(c.channel.as_str()).into_iter().find(|m| m.ts == c.ts))
        .filter_map(|m| shown(&m).lines().find(|l| l.starts_with('S')).map(str::to_owned))
        .collect();
    assert_eq!(numbers.len(), BURST_CARDS, "each card has its own number: {numbers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn k08_a_press_while_the_sales_server_hangs_is_carried_out_later_and_never_twice() {
    let rig = Rig::with_clerk(&[
        ("SALES_CONCIERGE__SALES_SERVER__CALL_TIMEOUT_MS", "500"),
        ("SALES_CONCIERGE__PROPOSALS__RETRY_PAUSE_MS", "500"),
    ])
    .await;
    let (_, card) = rig.offered().await;
    rig.settles().await;
    let server = rig.sales_server_pid();
    rig.signal(server, "STOP").await;
    assert_eq!(rig.confirm(AOKI, &card).await.status, Some(200));
    rig.logs("outcome of a write unknown").await;
    rig.becomes(&card, "登録しています").await;
    rig.signal(server, "CONT").await;
    rig.becomes(&card, "登録しました").await;
    rig.in_order().await;
    assert_eq!(rig.approved_sales().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_stays_unknown_is_one_row_of_the_audit_for_each_reason_and_not_for_each_try() {
    let rig = Rig::with_clerk(&[
        ("SALES_CONCIERGE__SALES_SERVER__CALL_TIMEOUT_MS", "100"),
        ("SALES_CONCIERGE__PROPOSALS__RETRY_PAUSE_MS", "20"),
    ])
    .await;
    let (_, card) = rig.offered().await;
    rig.settles().await;
    let server = rig.sales_server_pid();
    rig.signal(server, "STOP").await;
    rig.confirm(AOKI, &card).await;
    rig.until("tried again and again", "SELECT tries >= 3 FROM proposals", 1).await;
    rig.signal(server, "CONT").await;
    rig.becomes(&card, "登録しました").await;
    rig.in_order().await;
    let rows = rig.count("SELECT count(*) FROM audit WHERE event = 'outcome_unknown'").await;
    let reasons = rig.count("SELECT count(DISTINCT result) FROM audit WHERE event = 'outcome_unknown'").await;
    assert!(rows >= 1 && rows == reasons, "{rows} rows for {reasons} reasons");
    assert_eq!(rig.approved_sales().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_that_has_to_wait_costs_the_machine_nothing() {
    let rig = Rig::with_clerk(&[
        ("SALES_CONCIERGE__SALES_SERVER__CALL_TIMEOUT_MS", "100"),
        ("SALES_CONCIERGE__PROPOSALS__RETRY_PAUSE_MS", "60000"),
    ])
    .await;
    let (_, card) = rig.offered().await;
    rig.settles().await;
    let server = rig.sales_server_pid();
    rig.signal(server, "STOP").await;
    rig.confirm(AOKI, &card).await;
    rig.logs("outcome of a write unknown").await;
    let before = rig.cpu_time();
    tokio::time::sleep(Duration::from_millis(600)).await;
    let spent = rig.cpu_time() - before;
    rig.signal(server, "CONT").await;
    assert!(spent < Duration::from_millis(200), "the bot was busy for {spent:?} of 600 ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn k08_a_press_after_the_sales_server_died_is_carried_out() {
    let rig = Rig::with_clerk(&[]).await;
    let (_, card) = rig.offered().await;
    rig.settles().await;
    rig.signal(rig.sales_server_pid(), "KILL").await;
    assert_eq!(rig.confirm(AOKI, &card).await.status, Some(200));
    rig.becomes(&card, "登録しました").await;
    rig.in_order().await;
    assert_eq!(rig.approved_sales().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn i01_a_typed_yes_writes_nothing_in_either_language() {
    let rig = Rig::with_clerk(&[]).await;
    let (place, card) = rig.offered().await;
    for (n, word) in ["はい", "登録する", "yes", "Register", "OK、登録しました"].into_iter().enumerate() {
        rig.reply(AOKI, &place, word).await;
        rig.answer(&place, 3 + n).await;
    }
    rig.settles().await;
    assert_eq!(rig.approved_sales().await, 0);
    assert_eq!(rig.count("SELECT count(*) FROM clicks").await, 0);
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "登録しました").await;
    rig.in_order().await;
    assert_eq!(rig.approved_sales().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_appears_although_slack_stumbles_and_although_the_card_was_deleted() {
    let rig = Rig::with_clerk(&[]).await;
    let (place, card) = rig.offered().await;
    rig.settles().await;
    rig.workspace.misbehave("chat.update", Fault::StatusAfterAccept(500), 1);
    rig.workspace.misbehave("chat.update", Fault::Html, 1);
    rig.workspace.misbehave("chat.update", Fault::OkFalse("message_not_found".to_owned()), 1);
    rig.confirm(AOKI, &card).await;
    rig.says(&place, "販売を登録しました").await;
    rig.settles().await;
    assert_eq!(rig.approved_sales().await, 1);
    let receipts = rig.bot_messages(&place).into_iter().filter(|m| shown(m).contains("販売を登録しました"));
    assert!(receipts.into_iter().any(|m| m.ts != card.ts), "what Slack calls gone is posted anew");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_is_written_within_seconds_while_slack_hangs_on_every_message() {
    let rig = Rig::with_clerk(&[]).await;
    let (_, card) = rig.offered().await;
    rig.settles().await;
    rig.workspace.misbehave("chat.postMessage", Fault::HangAfterAccept, 1_000);
    rig.alter(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 90)
         INSERT INTO outbox (key, kind, channel, thread_ts, body, due_at, created_at)
         SELECT 'test:' || i, 'message', channel, thread_ts, body, 0, 0 FROM n, (SELECT * FROM outbox LIMIT 1)",
    )
    .await;
    rig.until("all slots hang", "SELECT count(*) FROM outbox WHERE key LIKE 'test:%' AND lease_until > 0", 32).await;
    let begun = std::time::Instant::now();
    rig.confirm(AOKI, &card).await;
    rig.until("written", "SELECT count(*) FROM proposals WHERE state = 'done'", 1).await;
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    rig.becomes(&card, "登録しました").await;
    assert_eq!(rig.approved_sales().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_continuation_that_cannot_be_read_is_set_aside_and_the_next_one_is_carried_out() {
    let rig = Rig::with_clerk(&[]).await;
    rig.alter(
        "INSERT INTO continuations (turn, origin_turn, thread, team, user, depth, created_at)
         VALUES ('t', 't', '{\"of\":\"another version\"}', 'T', 'U', 1, 0)",
    )
    .await;
    let (_, card) = rig.offered().await;
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "登録しました").await;
    rig.until("both are dealt with", "SELECT count(*) FROM continuations WHERE ended_at IS NOT NULL", 2).await;
    rig.settles().await;
    assert_eq!(rig.continuations(), 1);
    assert!(rig.log().contains("a continuation cannot be read"), "{}", rig.log());
}

/// One text from the records.
async fn number(rig: &Rig, sql: &'static str) -> String {
    let records = rig.records().await;
    let text = sqlx::query_scalar(sql).fetch_one(records.read()).await.expect(sql);
    records.close().await;
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_is_shown_when_its_turn_ends_so_that_the_rest_of_the_request_is_not_lost() {
    let rig = Rig::start().await;
    let sale = |products: &str| json!({"code_customer": "0002", "products": products, "price": 600});
    rig.model.script([
        Say::call("add_sale", sale("なす5本")),
        Say::Late(Duration::from_secs(2), Box::new(Say::call("add_sale", sale("とまと3袋")))),
        Say::text("2件のカードをご確認ください。"),
        Say::text("両方登録されました。"),
    ]);
    let place = rig.dm(AOKI, "0002になす5本600円ととまと3袋600円を登録して、終わったら教えて").await;
    rig.until("the first proposal", "SELECT count(*) FROM proposals", 1).await;
    assert_eq!(rig.bot_messages(&place).len(), 0, "no card while the turn may still propose");
    let cards = rig.cards(&place, 2).await;
    rig.confirm(AOKI, &cards[0]).await;
    rig.becomes(&cards[0], "登録しました").await;
    rig.confirm(AOKI, &cards[1]).await;
    rig.becomes(&cards[1], "登録しました").await;
    rig.says(&place, "両方登録されました").await;
    rig.settles().await;
    assert_eq!((rig.continuations(), rig.approved_sales().await), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_slack_will_not_show_ends_and_its_person_is_told() {
    let rig = Rig::start().await;
    rig.model.rule(|request| {
        let proposed = crate::harness::model::results(request).iter().any(|r| r["status"] == "waiting");
        Some(if proposed {
            Say::text("カードをご確認ください。")
        } else {
            Say::call("add_sale", json!({"code_customer": "0002", "products": "なす5本", "price": 600}))
        })
    });
    // The answer passes, the card does not.
    rig.workspace.misbehave("chat.postMessage", Fault::Delay(Duration::ZERO), 1);
    rig.workspace.misbehave("chat.postMessage", Fault::OkFalse("restricted_action".into()), 1);
    let place = rig.dm(AOKI, "0002になす5本600円で登録して").await;
    rig.says(&place, "確認カードを表示できなかった").await;
    rig.settles().await;
    assert_eq!(rig.count("SELECT count(*) FROM proposals WHERE state = 'expired'").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happened_underneath_can_be_looked_at_without_any_secret_in_it() {
    let rig = Rig::with_clerk(&[]).await;
    let (place, card) = rig.offered().await;
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "販売を登録しました").await;
    rig.settles().await;
    let records = rig.records().await;
    let work = Work::open_file(&rig.data_dir().join("work.sqlite")).await.unwrap();
    let thread = ThreadKey {
        team: TeamId::new(sample::TEAM),
        channel: ChannelId::new(&place.channel),
        root: MessageTs::new(&place.root),
    };
    let steps = trace::of(&sales_concierge::records::Records::Sqlite(records.clone()), &work, &thread).await.unwrap();
    let kinds: Vec<&str> = steps.iter().map(|s| s.kind).collect();
    for kind in ["said", "call", "result", "answer", "proposed", "press", "decided", "settled", "message"] {
        assert!(kinds.contains(&kind), "{kind} missing in {kinds:?}");
    }
    assert!(steps.is_sorted_by_key(|s| s.at));
    let settled = steps.iter().find(|s| s.kind == "settled").unwrap();
    assert_eq!(settled.detail["state"], "done");
    assert!(settled.detail["code_sales"].as_str().unwrap().starts_with('S'), "{settled:?}");
    let all = serde_json::to_string(&steps).unwrap();
    for secret in [proposal(&card).as_str(), "/response/", "xoxb-", "eyJ"] {
        assert!(!all.contains(secret), "{secret} stands in {all}");
    }
    work.close().await;
    records.close().await;
}
