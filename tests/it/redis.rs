//! Bots whose queue and conversations are in Redis: one, several, and with a Redis that comes and goes.

use std::time::{Duration, Instant};

use sales_concierge::playground::sample;
use sales_concierge::records::testing::Database;
use sales_concierge::work::testing::{self, Server};
use serde_json::{Value, json};

use crate::cluster::furnish;
use crate::harness::desk::{clerk, is_continuation};
use crate::harness::model::last_words;
use crate::harness::raw::{EVENTS, JSON, dm_of};
use crate::harness::{AOKI, EMMA, Options, PATIENCE, Place, Rig, Say, shown, texts};

fn over(url: &str) -> Vec<(&'static str, String)> {
    vec![("REDIS_URL", url.to_owned()), ("SALES_CONCIERGE__WORK__PREFIX", testing::prefix())]
}

async fn shared() -> Options {
    Options { env: over(testing::server().await), ..Options::default() }
}

/// Says back what it was asked, so that a test sees which message an answer belongs to.
fn echo(request: &Value) -> Option<Say> {
    Some(Say::text(&format!("「{}」ですね。", last_words(request).lines().last().unwrap_or_default())))
}

/// Answers of the bot in a thread, without notes beside them.
fn answers(rig: &Rig, place: &Place, words: &str) -> usize {
    texts(&rig.bot_messages(place)).iter().filter(|text| text.contains(words)).count()
}

/// A message of a DM as an event, delivered to a bot of the test's choice.
async fn tell(rig: &Rig, address: &str, place: &Place, ts: &str, text: &str) -> u16 {
    let event = json!({
        "type": "event_callback", "team_id": sample::TEAM, "event_id": format!("Ev{ts}"),
        "event": {"type": "message", "channel_type": "im", "channel": place.channel, "user": AOKI, "text": text,
            "ts": ts, "thread_ts": (ts != place.root).then_some(&place.root)},
    });
    rig.send_to(address, EVENTS, event.to_string().into_bytes(), JSON).await.status
}

/// A message that Slack has and no bot was told of.
async fn written(rig: &Rig, place: Option<&Place>, text: &str) -> (Place, String) {
    let channel = dm_of(AOKI);
    let ts = rig.unheard(AOKI, &channel, place.map(|place| place.root.as_str()), text).await;
    let root = place.map_or_else(|| ts.clone(), |place| place.root.clone());
    (Place { channel, root }, ts)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_kept_in_redis_and_goes_on_after_a_restart_without_the_data_folder() {
    let mut rig = Rig::with(shared().await).await;
    rig.model.rule(echo);
    let place = rig.dm(AOKI, "一つ目").await;
    rig.says(&place, "「一つ目」").await;
    rig.stop_bot().await;
    assert!(!rig.data_dir().join("work.sqlite").exists(), "no file is made");
    rig.start_bot().await;
    rig.reply(AOKI, &place, "二つ目").await;
    rig.says(&place, "「二つ目」").await;
    let shown = rig.model.last()["input"].to_string();
    assert!(shown.contains("一つ目") && shown.contains("「一つ目」ですね。"), "the model sees what was said: {shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn three_bots_share_conversations_whichever_of_them_is_told() {
    const TALKS: usize = 4;
    const ROUNDS: usize = 6;
    let database = Database::create().await;
    furnish(&database.admin()).await;
    let mut options = shared().await;
    options.env.push(("DATABASE_URL", database.url().to_owned()));
    let rig = Rig::with(options).await;
    let others = [rig.another().await, rig.another().await];
    let addresses = [rig.address(), others[0].1.address.clone(), others[1].1.address.clone()];
    rig.model.rule(echo);
    let talks = (0..TALKS).map(|talk| {
        let (rig, addresses) = (&rig, &addresses);
        async move {
            let mut place: Option<Place> = None;
            for round in 0..ROUNDS {
                let text = format!("話{talk}の{round}");
                let (at, ts) = written(rig, place.as_ref(), &text).await;
                // Twice, to two bots at once.
                let (one, two) = (&addresses[(talk + round) % 3], &addresses[(talk + round + 1) % 3]);
                let (one, two) = tokio::join!(tell(rig, one, &at, &ts, &text), tell(rig, two, &at, &ts, &text));
                assert_eq!((one, two), (200, 200));
                place = Some(at);
            }
            let place = place.unwrap();
            rig.says(&place, &format!("「話{talk}の{}」", ROUNDS - 1)).await;
            place
        }
    });
    let places = futures::future::join_all(talks).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    for (talk, place) in places.iter().enumerate() {
        let said: Vec<String> = texts(&rig.bot_messages(place))
            .iter()
            .filter_map(|text| text.split_once('「')?.1.split_once('」').map(|(words, _)| words.to_owned()))
            .collect();
        let expected: Vec<String> = (0..ROUNDS).map(|round| format!("話{talk}の{round}")).collect();
        assert_eq!(said, expected, "in order, and each once");
    }
    let last = rig.model.requests().into_iter().filter(|r| last_words(r).contains("話0の5")).collect::<Vec<_>>();
    assert!(last.len() == 1 && last[0]["input"].to_string().contains("話0の0"), "whoever answers knows the beginning");
}

#[tokio::test(flavor = "multi_thread")]
async fn k03_k12_another_bot_takes_over_the_messages_and_what_remains_of_a_bot_that_dies() {
    let database = Database::create().await;
    let admin = database.admin();
    furnish(&admin).await;
    let mut options = shared().await;
    options.env.push(("DATABASE_URL", database.url().to_owned()));
    options.env.push(("SALES_CONCIERGE__WORKER__LEASE_MS", "1000".to_owned()));
    let mut rig = Rig::with(options).await;
    rig.model.rule(clerk);
    let place = rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await;
    let card = rig.card(&place).await;
    // The only bot there is gets a message and dies while the model thinks.
    rig.model.rule(|_| Some(Say::Never));
    let waiting = rig.dm(AOKI, "待っています").await;
    let begun = Instant::now();
    while rig.model.requests().iter().all(|r| !last_words(r).contains("待っています")) {
        assert!(begun.elapsed() < PATIENCE, "the model is never asked\nlog:\n{}", rig.log());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    rig.model
        .rule(|request| clerk(request).filter(|_| !last_words(request).contains("待って")).or_else(|| echo(request)));
    let (_other_dir, other) = rig.another().await;
    rig.kill_bot().await;
    let died = Instant::now();
    rig.says(&waiting, "「待っています」").await;
    assert!(died.elapsed() < Duration::from_secs(5), "{:?}", died.elapsed());
    rig.workspace.set_bot_urls(
        &format!("http://{}/slack/events", other.address),
        &format!("http://{}/slack/interactions", other.address),
    );
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "登録しました").await;
    let begun = Instant::now();
    let ended = "SELECT count(*) FROM continuations WHERE ended_at IS NOT NULL";
    while sqlx::query_scalar::<_, i64>(ended).fetch_one(&admin).await.unwrap() == 0 {
        assert!(begun.elapsed() < PATIENCE, "what remains is not carried out");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i23_while_redis_is_away_events_get_503_at_once_cards_go_on_and_all_is_answered_once_it_is_back() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path()).await;
    let rig = Rig::with(Options { env: over(server.url()), ..Options::default() }).await;
    rig.model.rule(|request| clerk(request).filter(|_| !last_words(request).contains("話")).or_else(|| echo(request)));
    let place = rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await;
    let card = rig.card(&place).await;
    server.kill().await;
    let (talk, ts) = written(&rig, None, "話の途中").await;
    for _ in 0..3 {
        let begun = Instant::now();
        assert_eq!(tell(&rig, &rig.address(), &talk, &ts, "話の途中").await, 503);
        assert!(begun.elapsed() < Duration::from_millis(2_500), "{:?}", begun.elapsed());
    }
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "登録しました").await;
    assert_eq!(rig.approved_sales().await, 1);
    server.restart().await;
    let begun = Instant::now();
    while tell(&rig, &rig.address(), &talk, &ts, "話の途中").await != 200 {
        assert!(begun.elapsed() < PATIENCE, "it does not come back\nlog:\n{}", rig.log());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    rig.says(&talk, "「話の途中」").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(answers(&rig, &talk, "話の途中"), 1);
    assert!(!rig.log().contains("panicked"), "{}", rig.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn i23_messages_that_wait_while_all_of_redis_is_lost_are_each_answered_once_and_cards_stay_usable() {
    const WAITING: usize = 5;
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path()).await;
    let mut env = over(server.url());
    env.push(("SALES_CONCIERGE__WORKER__WORKERS", "1".to_owned()));
    let rig = Rig::with(Options { env, ..Options::default() }).await;
    rig.model.rule(|request| clerk(request).filter(|_| !last_words(request).contains("話")).or_else(|| echo(request)));
    let card = rig.card(&rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await).await;
    let old = rig.dm(AOKI, "話の初め").await;
    rig.says(&old, "「話の初め」").await;
    let emma = rig.dm(EMMA, "話 of Emma").await;
    rig.says(&emma, "「話 of Emma」").await;
    // The only worker is kept busy, so that the rest waits.
    rig.model.rule(|request| {
        let busy = last_words(request).contains("話を考える");
        let say = clerk(request).filter(|_| !last_words(request).contains("話")).or_else(|| echo(request))?;
        Some(if busy { Say::Late(Duration::from_millis(1_500), Box::new(say)) } else { say })
    });
    let slow = rig.dm(AOKI, "話を考える").await;
    let mut waiting = Vec::new();
    for n in 0..WAITING {
        waiting.push((rig.dm(if n % 2 == 0 { AOKI } else { EMMA }, &format!("話その{n}")).await, format!("話その{n}")));
    }
    // A reply in a thread that is older, and to which only the records still say that the bot takes part.
    rig.reply(AOKI, &old, "話の続き").await;
    waiting.push((old.clone(), "話の続き".to_owned()));
    waiting.push((slow, "話を考える".to_owned()));
    let begun = Instant::now();
    while rig.model.requests().iter().all(|r| !last_words(r).contains("話を考える")) {
        assert!(begun.elapsed() < PATIENCE, "the model is never asked");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.flush().await;
    for (place, words) in &waiting {
        rig.says(place, &format!("「{words}」")).await;
    }
    // What was said before the loss is known to whoever goes on.
    let last = rig.model.requests().into_iter().rfind(|r| last_words(r).contains("話の続き")).unwrap();
    assert!(last["input"].to_string().contains("話の初め"), "{}", last["input"]);
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "登録しました").await;
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    for (place, words) in
        waiting.iter().chain([&(old.clone(), "話の初め".to_owned()), &(emma, "話 of Emma".to_owned())])
    {
        assert_eq!(answers(&rig, place, &format!("「{words}」")), 1, "{words}\nlog:\n{}", rig.log());
    }
    assert_eq!(rig.approved_sales().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn k17_a_bot_that_was_asleep_while_another_took_its_conversation_over_leaves_no_second_answer() {
    let database = Database::create().await;
    furnish(&database.admin()).await;
    let mut options = shared().await;
    options.env.push(("DATABASE_URL", database.url().to_owned()));
    options.env.push(("SALES_CONCIERGE__WORKER__LEASE_MS", "1000".to_owned()));
    let rig = Rig::with(options).await;
    let mut asked = 0;
    rig.model.rule(move |request| {
        asked += 1;
        let say = echo(request)?;
        // The first one's answer is on its way while it sleeps.
        Some(if asked == 1 { Say::Late(Duration::from_millis(700), Box::new(say)) } else { say })
    });
    let place = rig.dm(AOKI, "おやすみ").await;
    let begun = Instant::now();
    while rig.model.requests().is_empty() {
        assert!(begun.elapsed() < PATIENCE, "the model is never asked\nlog:\n{}", rig.log());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let asleep = rig.bot_pid();
    rig.signal(asleep, "STOP").await;
    let (_dir, other) = rig.another().await;
    rig.says(&place, "「おやすみ」").await;
    rig.signal(asleep, "CONT").await;
    // Both answer what comes next, each once.
    for (n, address) in [rig.address(), other.address.clone()].iter().enumerate() {
        let (at, ts) = written(&rig, Some(&place), &format!("つぎ{n}")).await;
        assert_eq!(tell(&rig, address, &at, &ts, &format!("つぎ{n}")).await, 200);
        rig.says(&place, &format!("「つぎ{n}」")).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(rig.bot_messages(&place).len(), 3, "{:#?}", texts(&rig.bot_messages(&place)));
}

#[tokio::test(flavor = "multi_thread")]
async fn i23_a_bot_that_starts_on_an_empty_redis_answers_what_waited_when_bot_and_redis_were_lost_together() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path()).await;
    let mut rig = Rig::with(Options { env: over(server.url()), ..Options::default() }).await;
    rig.model.rule(echo);
    let answered = rig.dm(AOKI, "済んだ話").await;
    rig.says(&answered, "「済んだ話」").await;
    let channel = sample::seed().channels.iter().find(|c| !c.id.as_str().starts_with('D')).unwrap().id.to_string();
    let thread = rig.mention(AOKI, &channel, "売上の話").await;
    rig.says(&thread, "売上の話」").await;
    rig.model.rule(|_| Some(Say::Never));
    let waiting = rig.dm(AOKI, "待っている話").await;
    let begun = Instant::now();
    while rig.model.requests().iter().all(|r| !last_words(r).contains("待っている話")) {
        assert!(begun.elapsed() < PATIENCE, "the model is never asked");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    rig.kill_bot().await;
    server.kill().await;
    server.restart().await;
    rig.model.rule(echo);
    rig.start_bot().await;
    rig.says(&waiting, "「待っている話」").await;
    // Only the records still know that the bot takes part here: nobody mentions it.
    rig.reply(AOKI, &thread, "その続き").await;
    rig.says(&thread, "「その続き」").await;
    assert!(rig.model.last()["input"].to_string().contains("売上の話"), "what was said before is read again");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(answers(&rig, &answered, "「済んだ話」"), 1);
    assert_eq!(answers(&rig, &waiting, "「待っている話」"), 1);
    assert_eq!(rig.bot_messages(&thread).len(), 2, "{:#?}", texts(&rig.bot_messages(&thread)));
}

#[tokio::test(flavor = "multi_thread")]
async fn i23_k12_what_remains_of_a_request_is_carried_out_although_its_job_was_lost_with_redis() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path()).await;
    let mut env = over(server.url());
    env.push(("SALES_CONCIERGE__WORKER__LEASE_MS", "1000".to_owned()));
    let rig = Rig::with(Options { env, ..Options::default() }).await;
    rig.model.rule(|request| {
        let is_rest = request["input"].as_array().is_some_and(|items| items.last().is_some_and(is_continuation));
        if is_rest { Some(Say::Never) } else { clerk(request) }
    });
    let card = rig.card(&rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await).await;
    rig.confirm(AOKI, &card).await;
    let begun = Instant::now();
    while rig.continuations() == 0 {
        assert!(begun.elapsed() < PATIENCE, "what remains is never begun\nlog:\n{}", rig.log());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    rig.model.rule(clerk);
    server.flush().await;
    rig.until("what remains is carried out", "SELECT count(*) FROM continuations WHERE ended_at IS NOT NULL", 1).await;
    assert_eq!(rig.approved_sales().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn k17_a_bot_that_slept_until_another_had_answered_leaves_the_decided_card_alone() {
    let database = Database::create().await;
    let admin = database.admin();
    furnish(&admin).await;
    let mut options = shared().await;
    options.env.push(("DATABASE_URL", database.url().to_owned()));
    options.env.push(("SALES_CONCIERGE__WORKER__LEASE_MS", "500".to_owned()));
    let rig = Rig::with(options).await;
    let mut asked = 0;
    rig.model.rule(move |request| {
        asked += 1;
        let say = clerk(request)?;
        Some(if asked == 1 { Say::Late(Duration::from_millis(300), Box::new(say)) } else { say })
    });
    let place = rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await;
    let begun = Instant::now();
    while rig.model.requests().is_empty() {
        assert!(begun.elapsed() < PATIENCE, "the model is never asked");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    rig.signal(rig.bot_pid(), "STOP").await;
    let (_other_dir, other) = rig.another().await;
    let card = rig.card(&place).await;
    rig.workspace.set_bot_urls(
        &format!("http://{}/slack/events", other.address),
        &format!("http://{}/slack/interactions", other.address),
    );
    rig.confirm(AOKI, &card).await;
    let receipt = shown(&rig.becomes(&card, "登録しました").await);
    rig.signal(rig.bot_pid(), "CONT").await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let unsent = "SELECT count(*) FROM outbox WHERE sent_version < version";
    let unsent: i64 = sqlx::query_scalar(unsent).fetch_one(&admin).await.unwrap();
    assert_eq!(unsent, 0, "nothing is to be shown once more\nlog:\n{}", rig.log());
    let now = rig.workspace.messages(&place.channel).into_iter().find(|m| m.ts == card.ts).unwrap();
    assert_eq!(shown(&now), receipt);
    assert_eq!(rig.bot_messages(&place).len(), 2, "an answer and a card");
    let sales = "SELECT count(*) FROM sales WHERE origin = 'approval'";
    assert_eq!(sqlx::query_scalar::<_, i64>(sales).fetch_one(&admin).await.unwrap(), 1);
}
