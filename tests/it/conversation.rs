//! What people ask and get: the conversations the product must be able to have.

use serde_json::json;

use crate::harness::{AOKI, Rig, Say, shown};

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_in_the_thread_with_what_was_looked_up_under_it() {
    let rig = Rig::start().await;
    rig.model.script([Say::call("get_customers", json!({"code_customer": "0002"})), Say::text("見つかりました。")]);
    let place = rig.dm(AOKI, "0002のお客様は？").await;
    let answer = rig.answer(&place, 1).await;
    assert!(shown(&answer).contains("見つかりました。"), "{}", shown(&answer));
    assert!(shown(&answer).contains("🔧"), "{}", shown(&answer));
    assert_eq!(rig.model.faults(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sale_is_registered_by_the_press_and_the_receipt_has_its_number() {
    let rig = Rig::start().await;
    rig.model.script([
        Say::call("add_sale", json!({"code_customer": "0002", "products": "かぼちゃ4個", "price": 600})),
        Say::text("カードのボタンを押してください。"),
        Say::text("NOTHING_LEFT"),
    ]);
    let place = rig.dm(AOKI, "0002にかぼちゃ4個600円で登録して").await;
    let card = rig.card(&place).await;
    assert_eq!(rig.approved_sales().await, 0);
    assert_eq!(rig.confirm(AOKI, &card).await.status, Some(200));
    let receipt = rig.becomes(&card, "登録しました").await;
    assert_eq!(rig.approved_sales().await, 1);
    assert!(shown(&receipt).contains('S'), "{}", shown(&receipt));
    rig.settles().await;
    assert_eq!(rig.bot_messages(&place).len(), 2, "an answer and a card, nothing after a continuation without rest");
}
