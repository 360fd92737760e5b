//! A message is changed or deleted after it was sent: what becomes of its card, and what its author is told.

use sales_concierge::playground::workspace::Message;
use serde_json::{Value, json};

use crate::harness::desk::{LOOK, RawPress};
use crate::harness::model::{last_words, notes};
use crate::harness::raw::{dm_message, dm_of, envelope};
use crate::harness::{AOKI, EMMA, Options, Place, Rig, Say, has_buttons, shown, texts};

const CHANNEL: &str = "C0HANBAI";
const BOT: &str = "U0CONCIERGE";
const LATE: &str = "変更される前の内容ですでに処理しました";

impl Rig {
    /// The author changes the message that began a thread.
    async fn changes(&self, user: &str, place: &Place, text: &str) {
        self.workspace.edit(user, &place.channel, &place.root, text).await.expect("changed");
    }

    /// The card with buttons that shows some words.
    async fn live_card(&self, place: &Place, words: &str) -> Message {
        let look = |w: &sales_concierge::playground::workspace::World| {
            let mut thread = w.thread(&place.channel, &place.root).into_iter();
            thread.find(|m| has_buttons(m) && shown(m).contains(words)).cloned()
        };
        self.workspace.wait_for(look, crate::harness::PATIENCE).await.unwrap_or_else(|| {
            panic!("no card with {words:?}: {:#?}\nlog:\n{}", texts(&self.bot_messages(place)), self.log())
        })
    }

    /// How often the bot said something in a thread.
    fn said(&self, place: &Place, words: &str) -> usize {
        self.bot_messages(place).iter().filter(|m| shown(m).contains(words)).count()
    }
}

/// A rig whose model repeats what it was told.
async fn echoing() -> Rig {
    let rig = Rig::start().await;
    rig.model.rule(|request| Some(Say::text(&format!("聞きました「{}」", last_words(request)))));
    rig
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_before_the_press_takes_the_card_back_and_the_new_words_are_worked_on() {
    let rig = Rig::with_clerk(&[]).await;
    let (place, first) = rig.offered().await;
    rig.changes(AOKI, &place, "登録 0002 かぼちゃ4個 700").await;
    let gone = rig.becomes(&first, "取り下げました").await;
    assert!(!has_buttons(&gone) && shown(&gone).contains("メッセージが変更されたため"), "{}", shown(&gone));
    let second = rig.live_card(&place, "700円").await;
    let told = notes(&rig.model.last()).join("\n");
    assert!(told.contains("withdrawn because the person changed the message"), "{told}");
    // Whoever presses the old card in that moment is told why, and nothing is written.
    rig.press_raw(&RawPress::on(&first)).await;
    rig.whispers(AOKI, "依頼のメッセージが変更されたため").await;
    // And once more.
    rig.settles().await;
    rig.changes(AOKI, &place, "登録 0002 かぼちゃ5個 800").await;
    rig.becomes(&second, "取り下げました").await;
    let third = rig.live_card(&place, "800円").await;
    rig.confirm(AOKI, &third).await;
    rig.becomes(&third, "登録しました").await;
    rig.settles().await;
    assert_eq!(rig.approved_sales().await, 1);
    assert_eq!(rig.count("SELECT price FROM sales WHERE origin = 'approval'").await, 800);
    let taken_back = "SELECT count(*) FROM audit WHERE event = 'proposal_superseded' AND message IS NOT NULL";
    assert_eq!(rig.count(taken_back).await, 2);
    assert_eq!(rig.said(&place, LATE), 0);
    assert_eq!(rig.model.faults(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_after_the_press_or_the_answer_is_told_to_come_too_late_once_and_changes_nothing() {
    let rig = Rig::with_clerk(&[]).await;
    let (place, card) = rig.offered().await;
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "登録しました").await;
    rig.settles().await;
    for price in [700, 800] {
        rig.changes(AOKI, &place, &format!("登録 0002 かぼちゃ4個 {price}")).await;
        rig.says(&place, LATE).await;
        rig.settles().await;
    }
    assert_eq!(rig.said(&place, LATE), 1, "once");
    // After "do not register", too.
    let (declined, card) = rig.offered().await;
    rig.cancel(AOKI, &card).await;
    rig.becomes(&card, "登録しませんでした").await;
    rig.changes(AOKI, &declined, "登録 0002 かぼちゃ4個 700").await;
    rig.says(&declined, LATE).await;
    // One of two cards is decided: the other one stays as it is.
    let two = rig.dm(AOKI, "登録 0002 なす 100;登録 0002 とまと 200").await;
    let cards = rig.cards(&two, 2).await;
    rig.confirm(AOKI, &cards[0]).await;
    rig.becomes(&cards[0], "登録しました").await;
    rig.changes(AOKI, &two, "登録 0002 なす 100;登録 0002 とまと 300").await;
    rig.says(&two, LATE).await;
    rig.settles().await;
    assert!(rig.bot_messages(&two).iter().any(|m| m.ts == cards[1].ts && has_buttons(m)));
    // In a channel it is the author's to know, in their language.
    let asked = rig.mention(EMMA, CHANNEL, "hello").await;
    rig.answer(&asked, 1).await;
    rig.settles().await;
    rig.changes(EMMA, &asked, &format!("<@{BOT}> hello again")).await;
    rig.whispers(EMMA, "I had already worked on this message").await;
    rig.settles().await;
    assert_eq!(rig.bot_messages(&asked).len(), 1);
    assert_eq!(rig.approved_sales().await, 2);
    assert_eq!(rig.count("SELECT count(*) FROM proposals").await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_was_not_worked_on_is_when_its_author_completes_it() {
    let rig = echoing().await;
    let empty = rig.mention(AOKI, CHANNEL, "").await;
    rig.whispers(AOKI, "ご用件をお書きください").await;
    rig.changes(AOKI, &empty, &format!("<@{BOT}> 用件はこれ")).await;
    rig.says(&empty, "聞きました「用件はこれ」").await;
    let long = rig.dm(AOKI, &"長".repeat(9_000)).await;
    rig.says(&long, "メッセージが長すぎる").await;
    rig.changes(AOKI, &long, "短くした").await;
    rig.says(&long, "聞きました「短くした」").await;
    rig.settles().await;
    rig.changes(AOKI, &long, "短くしたあと").await;
    rig.says(&long, LATE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mention_added_by_a_change_is_answered_once_and_other_changes_call_nobody() {
    let rig = echoing().await;
    let plain = rig.workspace.say(AOKI, CHANNEL, None, "0002は？").await.expect("said");
    let place = Place { channel: CHANNEL.to_owned(), root: plain.as_str().to_owned() };
    rig.changes(AOKI, &place, &format!("<@{BOT}> 0002は？")).await;
    rig.says(&place, "聞きました「0002は？」").await;
    rig.settles().await;
    assert_eq!(rig.bot_messages(&place).len(), 1, "one of the two events is a duplicate");
    // People talk, one of them calls the bot, and then they correct what they had said to each other.
    let root = rig.workspace.say("U0MORI", CHANNEL, None, "雑談のはじまり").await.expect("said");
    let talk = Place { channel: CHANNEL.to_owned(), root: root.as_str().to_owned() };
    let reply = rig.reply(AOKI, &talk, "雑談の続き").await;
    rig.reply(AOKI, &talk, &format!("<@{BOT}> 呼びました")).await;
    rig.says(&talk, "呼びました").await;
    rig.settles().await;
    let asked = rig.model.requests().len();
    rig.changes("U0MORI", &talk, "雑談のはじまり（訂正）").await;
    rig.workspace.edit(AOKI, CHANNEL, &reply, "雑談の続き（訂正）").await.expect("changed");
    // White space is no other word.
    let dm = rig.dm(AOKI, "同じ 言葉").await;
    rig.answer(&dm, 1).await;
    rig.changes(AOKI, &dm, " 同じ  言葉").await;
    rig.settles().await;
    assert_eq!(rig.model.requests().len(), asked + 1);
    assert_eq!(rig.bot_messages(&dm).len(), 1);
    assert_eq!(rig.bot_messages(&talk).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_message_takes_its_waiting_card_with_it_and_nothing_else() {
    let rig = Rig::with_clerk(&[]).await;
    let (place, card) = rig.offered().await;
    rig.workspace.remove(AOKI, &place.channel, &place.root).await.expect("deleted");
    let gone = rig.becomes(&card, "取り下げました").await;
    assert!(!has_buttons(&gone) && shown(&gone).contains("メッセージが削除されたため"), "{}", shown(&gone));
    rig.press_raw(&RawPress::on(&card)).await;
    rig.whispers(AOKI, "依頼のメッセージが削除されたため").await;
    // A reply in a thread: the cards of others and of other messages stay.
    let talk = rig.dm(AOKI, "登録 0002 なす 100").await;
    let first = rig.live_card(&talk, "なす").await;
    let reply = rig.reply(AOKI, &talk, "登録 0002 とまと 200").await;
    let second = rig.live_card(&talk, "とまと").await;
    rig.settles().await;
    rig.workspace.remove(AOKI, &talk.channel, &reply).await.expect("deleted");
    rig.becomes(&second, "取り下げました").await;
    rig.confirm(AOKI, &first).await;
    rig.becomes(&first, "登録しました").await;
    rig.settles().await;
    assert_eq!(rig.approved_sales().await, 1);
    let asked = rig.model.requests().len();
    // What is decided is not undone.
    rig.workspace.remove(AOKI, &talk.channel, &talk.root).await.expect("deleted");
    rig.settles().await;
    assert_eq!((rig.approved_sales().await, rig.model.requests().len()), (1, asked));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_while_the_first_words_are_worked_on_follows_in_order() {
    let rig = Rig::start().await;
    let mut n = 0;
    rig.model.rule(move |request| {
        n += 1;
        let say = crate::harness::desk::clerk(request)?;
        Some(if n == 1 { Say::Late(std::time::Duration::from_millis(700), Box::new(say)) } else { say })
    });
    let place = rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await;
    rig.changes(AOKI, &place, "登録 0002 かぼちゃ4個 700").await;
    let card = rig.live_card(&place, "700円").await;
    rig.settles().await;
    let cards: Vec<Message> = rig.bot_messages(&place).into_iter().filter(has_buttons).collect();
    assert_eq!(cards.len(), 1, "the first one is taken back: {:#?}", texts(&rig.bot_messages(&place)));
    assert_eq!(cards[0].ts, card.ts);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_words_that_arrive_after_their_change_are_not_answered_any_more() {
    let rig = echoing().await;
    let ts = rig.unheard(AOKI, &dm_of(AOKI), None, "あとから届く").await;
    let was = dm_message(AOKI, &ts, "あとから届く");
    let mut is = dm_message(AOKI, &ts, "先に届く訂正");
    is["edited"] = json!({"user": AOKI, "ts": "1900000000.000100"});
    let change = json!({
        "type": "message", "subtype": "message_changed", "hidden": true, "channel": dm_of(AOKI), "channel_type": "im",
        "ts": "1900000000.000200", "event_ts": "1900000000.000200", "message": is, "previous_message": was,
    });
    for (id, event) in [("Ev0E1", change.clone()), ("Ev0E2", was), ("Ev0E3", change)] {
        assert_eq!(rig.event(&envelope(id, event)).await.status, 200);
    }
    let place = Place { channel: dm_of(AOKI), root: ts };
    rig.says(&place, "聞きました「先に届く訂正」").await;
    rig.settles().await;
    assert_eq!(rig.bot_messages(&place).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_look_like_changes_begin_no_turn_and_take_no_card_back() {
    let rig = Rig::with_clerk(&[]).await;
    let (place, card) = rig.offered().await;
    rig.settles().await;
    let (before, asked) = (rig.stored().await, rig.model.requests().len());
    let words = "登録 0002 かぼちゃ4個 600";
    let edited = json!({"user": AOKI, "ts": "1900000000.000100"});
    let message = |more: Value| {
        let mut message = dm_message(AOKI, &place.root, words);
        message.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        message
    };
    let preview = json!({"attachments": [{"from_url": "https://x.example"}]});
    let other = json!({"text": "登録 0002 かぼちゃ4個 1"});
    let other_by =
        |by: &str| json!({"text": "登録 0002 かぼちゃ4個 1", "edited": {"user": by, "ts": "1900000000.000100"}});
    for (n, (after, previous)) in [
        (message(preview.clone()), message(json!({}))),
        (message(json!({"edited": edited, "attachments": [{}]})), message(json!({"edited": edited}))),
        (message(json!({"reply_count": 1})), json!(null)),
        (message(other.clone()), message(json!({}))),
        (message(other_by("U0MORI")), message(json!({}))),
        (message(other_by(AOKI)), json!(null)),
        (
            message(json!({"user": BOT, "bot_id": "B0CONCIERGE", "text": "x", "edited": {"user": BOT, "ts": "1.1"}})),
            message(json!({})),
        ),
        (message(json!({"user": "USLACKBOT", "text": "x", "edited": edited})), message(json!({}))),
    ]
    .into_iter()
    .enumerate()
    {
        let change = json!({
            "type": "message", "subtype": "message_changed", "hidden": true, "channel": place.channel, "channel_type": "im",
            "ts": "1900000000.000200", "event_ts": "1900000000.000200", "message": after, "previous_message": previous,
        });
        assert_eq!(rig.event(&envelope(&format!("Ev0L{n}"), change)).await.status, 200);
    }
    // Somebody else's message of the same time in another workspace's channel is not this one.
    let deleted = json!({
        "type": "message", "subtype": "message_deleted", "hidden": true, "channel": CHANNEL, "channel_type": "channel",
        "ts": "1900000000.000300", "deleted_ts": place.root, "previous_message": message(json!({})),
    });
    assert_eq!(rig.event(&envelope("Ev0L99", deleted)).await.status, 200);
    rig.settles().await;
    assert_eq!(rig.stored().await, before);
    assert_eq!(rig.model.requests().len(), asked);
    assert!(rig.bot_messages(&place).iter().any(|m| m.ts == card.ts && has_buttons(m)));
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_a_change_that_meets_a_press_ends_in_one_sale_of_the_words_that_were_pressed_or_in_none() {
    let rig = Rig::with_clerk(&[]).await;
    for n in 0..8 {
        let place = rig.dm(AOKI, &format!("登録 0002 かぼちゃ{n} 600")).await;
        let card = rig.live_card(&place, &format!("かぼちゃ{n}")).await;
        rig.settles().await;
        let press = RawPress { action_ts: format!("1700000000.00{n:04}"), ..RawPress::on(&card) };
        let change = format!("登録 0002 かぼちゃ{n} 700");
        let (_, ()) = tokio::join!(rig.press_raw(&press), rig.changes(AOKI, &place, &change));
        rig.settles().await;
        let messages = rig.bot_messages(&place);
        let face = shown(messages.iter().find(|m| m.ts == card.ts).expect("the card"));
        let live = messages.iter().filter(|m| has_buttons(m)).count();
        if face.contains("登録しました") {
            assert_eq!((live, rig.said(&place, LATE)), (0, 1), "{:#?}", texts(&messages));
        } else {
            assert!(face.contains("取り下げました"), "{face}");
            assert_eq!((live, rig.said(&place, LATE)), (1, 0), "{:#?}", texts(&messages));
        }
    }
    let sales = "SELECT count(*) FROM sales WHERE origin = 'approval' AND price <> 600";
    assert_eq!(rig.count(sales).await, 0, "nobody pressed a card that says 700");
    let done = rig.count("SELECT count(*) FROM proposals WHERE state = 'done'").await;
    assert_eq!(rig.approved_sales().await, done);
}

#[cfg(feature = "failpoints")]
#[tokio::test(flavor = "multi_thread")]
async fn k15_a_bot_that_dies_between_taking_the_card_back_and_the_new_words_works_on_them_after_all() {
    let mut rig = Rig::with_clerk(&[("FAILPOINTS", "edits::retracted=pause")]).await;
    let (place, card) = rig.offered().await;
    rig.settles().await;
    rig.changes(AOKI, &place, "登録 0002 かぼちゃ4個 700").await;
    rig.becomes(&card, "取り下げました").await;
    rig.kill_bot().await;
    rig.start_bot_with(&[("FAILPOINTS", "")]).await;
    let second = rig.live_card(&place, "700円").await;
    rig.settles().await;
    assert_eq!((rig.said(&place, LATE), rig.said(&place, LOOK)), (0, 2));
    rig.confirm(AOKI, &second).await;
    rig.becomes(&second, "登録しました").await;
    assert_eq!(rig.approved_sales().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_not_ask_any_more_changes_nothing_by_changing_words() {
    let rig = Rig::with(Options::default()).await;
    rig.model.rule(crate::harness::desk::clerk);
    let (place, card) = rig.offered().await;
    rig.settles().await;
    rig.alter("UPDATE staff SET active = 0 WHERE user = 'U0AOKI'").await;
    let said = rig.bot_messages(&place).len();
    rig.changes(AOKI, &place, "登録 0002 かぼちゃ4個 1").await;
    rig.until("the refusal is on record", "SELECT count(*) FROM audit WHERE event = 'person_refused'", 1).await;
    rig.settles().await;
    assert_eq!(rig.bot_messages(&place).len(), said);
    assert_eq!(rig.count("SELECT count(*) FROM proposals WHERE state = 'pending'").await, 1);
    assert!(rig.bot_messages(&place).iter().any(|m| m.ts == card.ts && has_buttons(m)));
}
