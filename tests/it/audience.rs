//! Who reads along: figures are shown in a conversation only when everybody in it may see them, and else to the asker
//! alone.

use std::time::Duration;

use sales_concierge::playground::workspace::{Channel, Fault, Message, Settings, World};
use serde_json::json;

use crate::harness::desk::is_continuation;
use crate::harness::model::results;
use crate::harness::raw::dm_of;
use crate::harness::{AOKI, EMMA, Options, PATIENCE, Place, Rig, Say, has_buttons, shown, texts};

const MORI: &str = "U0MORI";
const HARA: &str = "U0HARA";
const KUDO: &str = "U0KUDO";
const NISHI: &str = "U0NISHI";
const NODA_GUEST: &str = "U0NODA";
const ARAI_UNKNOWN: &str = "U0ARAI";
const ISHII_REVOKED: &str = "U0ISHII";
const MARKET: &str = "U0OKUBO";
const BOT: &str = "U0CONCIERGE";

/// All may see direct sales.
const COVERED: &str = "C0COVERED";
const NAMED: &str = "C0NAMED";

/// What a look-up of 0002 gives, and nobody else may read.
const FIGURES: [&str; 3] = ["佐藤 花子", "000-0000-0002", "0002"];

fn rooms(settings: &mut Settings) {
    let private = |id: &str, more: &[&str]| {
        let members: Vec<&str> = [AOKI, MORI, BOT].iter().chain(more).copied().collect();
        Channel::private(id, id, &members)
    };
    settings.seed.channels.extend([
        private(COVERED, &[HARA, NISHI, EMMA]),
        private("C0KUDO", &[KUDO]),
        private("C0NODA", &[NODA_GUEST]),
        private("C0ARAI", &[ARAI_UNKNOWN]),
        private("C0ISHII", &[ISHII_REVOKED]),
        private("C0MARKET", &[MARKET]),
        private("C0SHARED", &[]).shared(),
        Channel::public("C0OPEN", "open", &[AOKI, MORI, BOT]),
        private(NAMED, &[NODA_GUEST, ARAI_UNKNOWN, EMMA]),
    ]);
}

async fn rig(env: &[(&'static str, &str)]) -> Rig {
    let named = ("SALES_CONCIERGE__AUDIENCE__CHANNELS__C0NAMED", "直販");
    let env = env.iter().copied().chain([named]).map(|(k, v)| (k, v.to_owned())).collect();
    let rig = Rig::with(Options { env, shape: Some(rooms), ..Options::default() }).await;
    rig.model.rule(|request| {
        let words = crate::harness::model::last_words(request);
        let since = request["input"].as_array()?.iter().rposition(|i| i["role"] == "user")?;
        let looked = request["input"].as_array()?.iter().skip(since).any(|i| i["type"] == "function_call_output");
        let code = |dept: &str| if dept == "卸" { "0003" } else { "0002" };
        if request["input"].as_array()?.last().is_some_and(is_continuation) {
            return Some(Say::text("NOTHING_LEFT"));
        }
        Some(match results(request).last() {
            _ if words.contains("こんにちは") => Say::text("こんにちは。ご用件をどうぞ。"),
            Some(found) if looked && found["status"] == "waiting" => Say::text("カードをご確認ください。"),
            Some(found) if looked && words.contains("長い") => Say::text(&format!(
                "{}\n\n{}",
                found["data"]["customers"][0]["name_customer"],
                "長い説明。\n\n".repeat(900)
            )),
            Some(found) if looked => Say::text(&format!("見つかりました: {}", found["data"])),
            _ if words.contains("いない") => Say::call("get_customers", json!({"code_customer": "9999"})),
            _ if words.contains("登録") => {
                Say::call("add_sale", json!({"code_customer": "0002", "products": "かぼちゃ4個", "price": 600}))
            }
            _ if words.contains("卸") => Say::call("get_customers", json!({"code_customer": code("卸")})),
            _ => Say::call("get_customers", json!({"code_customer": code("直販")})),
        })
    });
    rig
}

impl Rig {
    /// Nothing that everybody in a channel can read shows any of it.
    fn keeps(&self, channel: &str, secrets: &[&str]) {
        for message in self.workspace.messages(channel).iter().filter(|m| m.bot_id.is_some()) {
            let all = format!("{} {} {:?}", shown(message), message.text, message.metadata);
            assert!(!secrets.iter().any(|s| all.contains(s)), "shown in {channel}: {all}");
        }
    }

    /// Waits for a message of the bot in somebody's DM.
    async fn in_dm(&self, user: &str, words: &str) -> Message {
        let dm = dm_of(user);
        let look =
            |w: &World| w.messages(&dm).into_iter().find(|m| m.bot_id.is_some() && shown(m).contains(words)).cloned();
        self.workspace.wait_for(look, PATIENCE).await.unwrap_or_else(|| {
            let has = texts(&self.workspace.messages(&dm));
            panic!("{user}'s DM never says {words:?}: {has:#?}\nlog:\n{}", self.log())
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i17_figures_are_shown_where_all_may_see_them_and_else_to_the_asker_with_a_line_in_the_thread() {
    let rig = rig(&[]).await;
    let place = rig.mention(AOKI, COVERED, "0002はどなた？").await;
    let answer = shown(&rig.says(&place, "見つかりました").await);
    assert!(FIGURES.iter().all(|f| answer.contains(f)), "{answer}");
    assert_eq!(rig.workspace.ephemerals(AOKI).len(), 0);
    let place = rig.mention(AOKI, "C0OPEN", "0002はどなた？").await;
    rig.says(&place, "見つかりました").await;
    for (n, channel) in ["C0KUDO", "C0NODA", "C0ARAI", "C0ISHII", "C0MARKET", "C0SHARED"].into_iter().enumerate() {
        let place = rig.mention(AOKI, channel, "0002はどなた？").await;
        let pointer = shown(&rig.says(&place, "ご本人だけに表示しました").await);
        assert!(pointer.contains("青木 さくら"), "{pointer}");
        let look = |w: &World| (w.ephemerals(AOKI).len() == n + 1).then(|| w.ephemerals(AOKI)[n].clone());
        let private = rig.workspace.wait_for(look, PATIENCE).await.expect("a private answer");
        assert!(FIGURES.iter().all(|f| shown(&private).contains(f)), "{channel}: {}", shown(&private));
        assert_eq!(private.thread_ts.as_ref().map(|t| t.as_str()), Some(place.root.as_str()), "in the thread");
        rig.settles().await;
        rig.keeps(channel, &FIGURES[..2]);
        assert_eq!(rig.bot_messages(&place).len(), 1, "{channel}");
    }
    // What shows no row is for all.
    let greeted = rig.mention(AOKI, "C0NODA", "こんにちは").await;
    rig.says(&greeted, "ご用件をどうぞ").await;
    // That there is nothing is told of rows, too.
    let nobody = rig.mention(AOKI, "C0KUDO", "いない人は？").await;
    rig.says(&nobody, "ご本人だけに表示しました").await;
    assert_eq!(rig.model.faults(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn i17_cards_and_receipts_go_by_direct_message_where_not_all_may_see_them_and_the_press_works_there() {
    let rig = rig(&[]).await;
    let open = rig.mention(AOKI, COVERED, "かぼちゃを登録して").await;
    let card = rig.card(&open).await;
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "登録しました").await;
    let place = rig.mention(AOKI, "C0NODA", "かぼちゃを登録して").await;
    rig.says(&place, "ダイレクトメッセージでお送りしました").await;
    rig.in_dm(AOKI, "チャンネル「C0NODA」でのご依頼").await;
    let card = rig.in_dm(AOKI, "この内容で販売を登録しますか").await;
    assert!(has_buttons(&card), "{}", shown(&card));
    rig.settles().await;
    assert!(!rig.bot_messages(&place).iter().any(has_buttons), "no card in the channel");
    rig.confirm(AOKI, &card).await;
    let receipt = shown(&rig.becomes(&card, "登録しました").await);
    assert!(receipt.contains("佐藤 花子"), "{receipt}");
    rig.settles().await;
    rig.keeps("C0NODA", &["佐藤", "600", "かぼちゃ", "S20"]);
    assert_eq!(rig.approved_sales().await, 2);
    // The conversation goes on in the channel, and knows what came of it.
    rig.reply(AOKI, &place, "こんにちは、続きです").await;
    rig.whispers(AOKI, "ご用件をどうぞ").await;
    let told = rig.model.last().to_string();
    assert!(told.contains("is written"), "{told}");
    assert_eq!(rig.model.faults(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn i17_a_long_answer_goes_by_direct_message_in_the_askers_language_and_the_thread_goes_on() {
    let rig = rig(&[]).await;
    let place = rig.mention(AOKI, "C0NODA", "0002の長い説明を").await;
    rig.says(&place, "ダイレクトメッセージでお送りしました").await;
    rig.in_dm(AOKI, "長い説明").await;
    rig.settles().await;
    rig.keeps("C0NODA", &["佐藤", "長い説明"]);
    // A follow-up without a mention, by the same person.
    rig.reply(AOKI, &place, "0002をもう一度").await;
    rig.whispers(AOKI, "見つかりました").await;
    let emma = rig.mention(EMMA, NAMED, "卸の0003は？").await;
    rig.says(&emma, "only Emma Clarke was shown the answer").await;
    rig.whispers(EMMA, "見つかりました").await;
    rig.keeps("C0NODA", &["佐藤"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn i17_a_named_channel_is_for_its_departments_whoever_is_in_it_and_for_no_others() {
    let rig = rig(&[]).await;
    let direct = rig.mention(EMMA, NAMED, "直販の0002は？").await;
    rig.says(&direct, "見つかりました").await;
    let card = rig.mention(EMMA, NAMED, "登録して").await;
    rig.card(&card).await;
    let wholesale = rig.mention(EMMA, NAMED, "卸の0003は？").await;
    rig.whispers(EMMA, "見つかりました").await;
    rig.says(&wholesale, "only Emma Clarke").await;
    assert_eq!(rig.workspace.calls().iter().filter(|c| c.method == "conversations.members").count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn i17_it_fails_closed_when_slack_does_not_say_who_is_there() {
    let rig =
        rig(&[("SALES_CONCIERGE__SLACK__TIMEOUT_MS", "400"), ("SALES_CONCIERGE__AUDIENCE__MEMBERS_S", "0")]).await;
    for (n, (method, fault)) in [
        ("conversations.info", Fault::Status(500)),
        ("conversations.info", Fault::OkFalse("missing_scope".to_owned())),
        ("conversations.info", Fault::Garbled(r#"{"ok":true}"#.to_owned())),
        ("conversations.info", Fault::Garbled(r#"{"ok":true,"channel":{"is_private":true}}"#.to_owned())),
        ("conversations.info", Fault::HangAfterAccept),
        ("conversations.members", Fault::Status(503)),
        ("conversations.members", Fault::RateLimited(30)),
        ("conversations.members", Fault::Garbled(r#"{"ok":true}"#.to_owned())),
        ("conversations.members", Fault::Garbled(r#"{"ok":true,"members":["U0AOKI",7]}"#.to_owned())),
        ("conversations.members", Fault::HangAfterAccept),
    ]
    .into_iter()
    .enumerate()
    {
        rig.workspace.misbehave(method, fault.clone(), 1);
        let place = rig.mention(AOKI, COVERED, "0002は？").await;
        rig.says(&place, "ご本人だけに表示しました").await;
        let look = |w: &World| (w.ephemerals(AOKI).len() == n + 1).then_some(());
        assert!(rig.workspace.wait_for(look, PATIENCE).await.is_some(), "{method} {fault:?}");
        rig.settles().await;
        rig.workspace.behave();
    }
    rig.keeps(COVERED, &FIGURES[..2]);
    // A rate that is used up is over at some time; then figures are shown again.
    let look = async || {
        let place = rig.mention(AOKI, COVERED, "0002は？").await;
        rig.answer(&place, 1).await
    };
    let begun = std::time::Instant::now();
    while !shown(&look().await).contains("見つかりました") {
        assert!(begun.elapsed() < PATIENCE * 3, "log:\n{}", rig.log());
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i17_rights_are_read_each_time_and_members_are_believed_for_a_while() {
    let rig = rig(&[]).await;
    let shown_here = async |words: &str| {
        let place = rig.mention(AOKI, COVERED, "0002は？").await;
        rig.says(&place, words).await;
        rig.settles().await;
    };
    shown_here("見つかりました").await;
    rig.alter("UPDATE staff SET active = 0 WHERE user = 'U0HARA'").await;
    shown_here("ご本人だけに表示しました").await;
    rig.alter("UPDATE staff SET active = 1 WHERE user = 'U0HARA'").await;
    shown_here("見つかりました").await;
    rig.alter(r#"UPDATE staff SET departments = '["卸"]' WHERE user = 'U0HARA'"#).await;
    shown_here("ご本人だけに表示しました").await;
    rig.alter("DELETE FROM staff WHERE user = 'U0HARA'").await;
    shown_here("ご本人だけに表示しました").await;
    let calls = |method: &str| rig.workspace.calls().iter().filter(|c| c.method == method).count();
    assert_eq!((calls("conversations.info"), calls("conversations.members")), (1, 1));
    assert!(calls("users.info") <= 6, "{}", calls("users.info"));
}

#[tokio::test(flavor = "multi_thread")]
async fn i17_public_channels_can_be_closed_and_group_messages_are_read_by_who_is_in_them() {
    let rig = rig(&[("SALES_CONCIERGE__AUDIENCE__PUBLIC_CLOSED", "true")]).await;
    let place = rig.mention(AOKI, "C0OPEN", "0002は？").await;
    rig.says(&place, "ご本人だけに表示しました").await;
    for (others, words) in [(&[MORI][..], "見つかりました"), (&[MORI, KUDO][..], "ご本人だけに表示しました")]
    {
        let people: Vec<&str> = [AOKI].iter().chain(others).copied().collect();
        let group = rig.workspace.open_group_dm(&people).await.expect("a group");
        let place = rig.mention(AOKI, group.as_str(), "0002は？").await;
        rig.says(&place, words).await;
        rig.settles().await;
        // Without a mention people talk to each other; in a thread with the bot they talk to it.
        let apart = rig.workspace.say(MORI, group.as_str(), None, "0002のことだけど").await.expect("said");
        rig.reply(MORI, &place, "こんにちは").await;
        match others {
            [_] => rig.says(&place, "ご用件をどうぞ").await,
            // The model has seen rows in this thread.
            _ => rig.whispers(MORI, "ご用件をどうぞ").await,
        };
        rig.settles().await;
        let apart = Place { channel: group.as_str().to_owned(), root: apart.as_str().to_owned() };
        assert_eq!(rig.bot_messages(&apart).len(), 0);
    }
}
