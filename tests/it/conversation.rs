//! The ten conversations the product must be able to have, with a model scripted on the wire: what it is given by the
//! real sales server, and what people see of it.

use chrono::{Datelike, Days, NaiveDate};
use serde_json::{Value, json};

use crate::harness::model::{notes, results};
use crate::harness::{AOKI, EMMA, Rig, Say, has_buttons, shown, today};

/// Monday to Sunday of the week before the one `day` is in.
fn last_week(day: NaiveDate) -> (NaiveDate, NaiveDate) {
    let monday = day.week(chrono::Weekday::Mon).first_day() - Days::new(7);
    (monday, monday + Days::new(6))
}

fn last_tuesday(day: NaiveDate) -> NaiveDate {
    last_week(day).0 + Days::new(1)
}

/// The results of the newest request to the model, by the tool that gave them.
fn newest_results(rig: &Rig) -> Vec<Value> {
    results(&rig.model.last())
}

fn no_faults(rig: &Rig) {
    assert_eq!(rig.model.faults(), Vec::<String>::new(), "every result belongs to a call");
}

#[tokio::test(flavor = "multi_thread")]
async fn c01_a_name_that_two_customers_share_lists_both_and_asks_which() {
    let rig = Rig::start().await;
    rig.model.script([
        Say::call("get_customers", json!({"name_str_customer": "佐藤"})),
        Say::text("佐藤様は2名いらっしゃいます。どちらですか？\n\n| コード | お名前 |\n|---|---|\n| 0002 | 佐藤 花子 |\n| 0016 | 佐藤 健太 |"),
    ]);
    let place = rig.dm(AOKI, "佐藤さんの顧客コードは？").await;
    let answer = shown(&rig.answer(&place, 1).await);
    for part in ["0002", "佐藤 花子", "0016", "佐藤 健太", "どちら", "🔧 顧客検索 佐藤"] {
        assert!(answer.contains(part), "{part} missing in {answer}");
    }
    let result = &newest_results(&rig)[0];
    assert_eq!((result["data"]["count"].as_i64(), result["status"].as_str()), (Some(2), Some("success")));
    for customer in result["data"]["customers"].as_array().unwrap() {
        for field in ["code_customer", "name_customer", "address", "phone"] {
            assert!(customer[field].as_str().is_some_and(|v| !v.is_empty()), "{field} missing in {customer}");
        }
    }
    no_faults(&rig);
}

#[tokio::test(flavor = "multi_thread")]
async fn c02_two_codes_and_last_week_are_looked_up_from_monday_to_sunday_in_one_round() {
    let rig = Rig::start().await;
    let (begin, end) = last_week(today());
    let asked = |code: &str| json!({"code_customer": code, "date_sales_begin_str": begin.to_string(), "date_sales_end_str": end.to_string()});
    rig.model.script([
        Say::calls(&[("get_sales", asked("0002")), ("get_sales", asked("0016"))]),
        Say::text("0002 は先週の販売があります。0016 は先週の販売がありません。"),
    ]);
    let place = rig.dm(AOKI, "0002と0016の先週の販売を教えて").await;
    let answer = shown(&rig.answer(&place, 1).await);
    let same_year = begin.format("%Y").to_string() == end.format("%Y").to_string();
    let shown_end = end.format(if same_year { "%m-%d" } else { "%Y-%m-%d" });
    for part in ["販売検索 0002", "販売検索 0016", &format!("{begin}〜{shown_end}")] {
        assert!(answer.contains(part), "{part} missing in {answer}");
    }
    let found = newest_results(&rig);
    assert!(found[0]["data"]["count"].as_i64().unwrap() > 0, "{}", found[0]);
    assert_eq!(found[1]["data"]["count"], 0, "nothing found is a success with a count of 0: {}", found[1]);
    assert_eq!(found[1]["status"], "success");
    assert_eq!(rig.model.requests().len(), 2, "both calls belong to one round");
    no_faults(&rig);
}

#[tokio::test(flavor = "multi_thread")]
async fn c03_a_total_over_two_months_comes_from_the_database_with_its_parts() {
    let rig = Rig::start().await;
    let this_month = today().with_day(1).unwrap();
    let begin = this_month - chrono::Months::new(1);
    rig.model.rule(move |request| {
        let given = results(request);
        Some(match given.last() {
            None => Say::call(
                "summarize_sales",
                json!({"date_sales_begin_str": begin.to_string(), "date_sales_end_str": today().to_string(), "group_by": "month", "code_customer": "0002"}),
            ),
            Some(result) => Say::text(&format!("合計は {} 円です。", result["data"]["total_price"])),
        })
    });
    let place = rig.dm(AOKI, "0002の先月と今月の2ヶ月間の販売金額合計は？").await;
    let answer = shown(&rig.answer(&place, 1).await);
    let data = newest_results(&rig)[0]["data"].clone();
    let parts: i64 = data["groups"].as_array().unwrap().iter().map(|g| g["total_price"].as_i64().unwrap()).sum();
    assert_eq!(data["total_price"].as_i64(), Some(parts));
    assert!(data["groups"].as_array().unwrap().len() <= 2 && parts > 0, "{data}");
    assert!(answer.contains(&parts.to_string()) && answer.contains("販売集計 0002"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn c04_two_unrelated_requests_are_answered_in_one_turn() {
    let rig = Rig::start().await;
    rig.model.script([
        Say::calls(&[
            ("get_sales", json!({"code_customer": "0002"})),
            ("get_customers", json!({"name_str_customer": "ｱﾝﾅ"})),
            ("get_customers", json!({"name_str_customer": "miller"})),
        ]),
        Say::text("両方お調べしました。"),
    ]);
    let place = rig.mention(AOKI, "C0HANBAI", "0002の販売と、Millerさんのコードを教えて").await;
    let answer = shown(&rig.answer(&place, 1).await);
    assert!(answer.contains("販売検索 0002") && answer.contains("顧客検索 miller"), "{answer}");
    let found = newest_results(&rig);
    assert_eq!(found[2]["data"]["customers"][0]["code_customer"], "0015", "{}", found[2]);
    rig.settles().await;
    assert_eq!(rig.bot_messages(&place).len(), 1, "one answer for one message, however often Slack delivers it");
    no_faults(&rig);
}

#[tokio::test(flavor = "multi_thread")]
async fn c05_last_tuesday_stands_on_the_card_with_its_weekday() {
    let rig = Rig::start().await;
    let tuesday = last_tuesday(today());
    rig.model.script([
        Say::call(
            "add_sale",
            json!({"code_customer": "0016", "products": "かぼちゃ4個", "price": 600, "date_sales_str": tuesday.to_string()}),
        ),
        Say::text("カードをご確認ください。"),
    ]);
    let place = rig.dm(AOKI, "0016に先週火曜かぼちゃ4個600円で販売登録して").await;
    let card = shown(&rig.card(&place).await);
    for part in [&format!("{tuesday}（火）"), "佐藤 健太", "0016", "かぼちゃ4個", "600円", "青木 さくら"]
    {
        assert!(card.contains(part), "{part} missing on the card:\n{card}");
    }
    assert_eq!(rig.approved_sales().await, 0, "a card writes nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn c06_a_condition_is_looked_up_before_anything_is_proposed() {
    let rig = Rig::start().await;
    let month = json!({"code_customer": "0016", "date_sales_begin_str": today().with_day(1).unwrap().to_string(), "date_sales_end_str": today().to_string()});
    rig.model.rule(move |request| {
        let given = results(request);
        Some(match given.last() {
            None => Say::call("get_sales", month.clone()),
            Some(result) if result["data"]["count"] == 0 => {
                Say::call("add_sale", json!({"code_customer": "0016", "products": "とまと3袋", "price": 900}))
            }
            Some(result) if result["status"] == "waiting" => Say::text("今月は0件でしたので、カードを用意しました。"),
            Some(_) => Say::text("今月はすでに販売があります。"),
        })
    });
    let place = rig.dm(AOKI, "0016の今月の販売件数がまだ0件の場合、とまと3袋900円で登録を行う").await;
    let card = rig.card(&place).await;
    assert!(shown(&card).contains("とまと3袋"), "{}", shown(&card));
    let answer = shown(&rig.says(&place, "今月は0件でした").await);
    assert!(answer.contains("カードのボタンを押すまで実行されません"), "{answer}");
    no_faults(&rig);
}

#[tokio::test(flavor = "multi_thread")]
async fn c07_what_remained_of_a_request_is_carried_out_after_the_press() {
    let rig = Rig::start().await;
    let ask = json!({"code_customer": "0016", "date_sales_begin_str": today().to_string(), "date_sales_end_str": today().to_string()});
    rig.model.script([
        Say::call("add_sale", json!({"code_customer": "0016", "products": "なす5本", "price": 500})),
        Say::text("登録後に今日の販売をお調べします。"),
        Say::call("get_sales", ask),
    ]);
    // The number is the host's to give: the model may repeat the one from the note, and no other.
    rig.model.rule(|request| {
        let note = notes(request).into_iter().find_map(|n| n.split("\"code_sales\":\"").nth(1).map(str::to_owned))?;
        let number = note.split('"').next()?.to_owned();
        let looked = results(request).iter().any(|r| r["data"]["sales"].is_array());
        looked.then(|| Say::text(&format!("本日の販売は1件です（{number}、S20990101000000-ZZZZ）。")))
    });
    let place = rig.dm(AOKI, "0016になす5本500円で登録して、そのあと今日の販売を見せて").await;
    let card = rig.card(&place).await;
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "登録しました").await;
    let rest = shown(&rig.says(&place, "本日の販売は1件です").await);
    assert!(rest.contains("販売検索 0016"), "{rest}");
    let number = rig.bot_messages(&place).iter().find_map(|m| shown(m).split("販売番号\n").nth(1).map(str::to_owned));
    let number = number.and_then(|n| n.lines().next().map(str::to_owned)).expect("a number on the receipt");
    assert!(rest.contains(&number) && rest.contains("確認できない番号") && !rest.contains("S2099"), "{rest}");
    let found = newest_results(&rig);
    assert_eq!(found.last().unwrap()["data"]["sales"][0]["products"], "なす5本", "the new sale is found");
    let told = notes(&rig.model.last()).join("\n");
    assert!(told.contains("is written") && told.contains("Carry out now what remained"), "{told}");
    rig.settles().await;
    assert_eq!(rig.bot_messages(&place).len(), 3, "answer, card, and one continuation");
    no_faults(&rig);
}

#[tokio::test(flavor = "multi_thread")]
async fn c08_what_has_nothing_to_do_with_sales_is_declined_without_a_tool() {
    let rig = Rig::start().await;
    rig.model.script([Say::text("申し訳ありませんが、販売に関することだけお手伝いできます。")]);
    let place = rig.dm(AOKI, "明日の天気は？").await;
    let answer = shown(&rig.answer(&place, 1).await);
    assert!(answer.contains("データは検索していません"), "{answer}");
    let instructions = rig.model.last()["instructions"].as_str().unwrap().to_owned();
    for line in ["language: ja", "zone: Asia/Tokyo", &format!("today: {}", today())] {
        assert!(instructions.contains(line), "{line} missing in:\n{instructions}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c09_a_person_in_london_is_served_in_english_and_in_their_own_day() {
    let rig = Rig::start().await;
    rig.model.script([
        Say::call("add_sale", json!({"code_customer": "0015", "products": "4 pumpkins", "price": 600})),
        Say::text("Please press the button on the card."),
    ]);
    let place = rig.dm(EMMA, "register 4 pumpkins for 600 yen to 0015, today").await;
    let here = sales_concierge::domain::Clock::system().today(chrono_tz::Europe::London);
    let card = rig.card(&place).await;
    let text = shown(&card);
    for part in [
        "Anna Miller",
        "¥600",
        "4 pumpkins",
        &here.to_string(),
        &here.format("%a").to_string(),
        "Register",
        "Emma Clarke",
    ] {
        assert!(text.contains(part), "{part} missing on the card:\n{text}");
    }
    let instructions = rig.model.last()["instructions"].as_str().unwrap().to_owned();
    assert!(instructions.contains("language: en") && instructions.contains("zone: Europe/London"), "{instructions}");
    rig.confirm(EMMA, &card).await;
    rig.becomes(&card, "Sale registered").await;
    let stored = rig
        .count("SELECT count(*) FROM sales WHERE origin = 'approval' AND code_customer = '0015' AND price = 600")
        .await;
    assert_eq!(stored, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn c10_a_question_is_answered_while_a_card_waits_and_the_card_stays_alive() {
    let rig = Rig::start().await;
    rig.model.script([
        Say::call("add_sale", json!({"code_customer": "0002", "products": "いちご2箱", "price": 1200})),
        Say::text("カードをご確認ください。"),
        Say::call("get_customers", json!({"code_customer": "0009"})),
        Say::text("渡辺 千尋様です。"),
        Say::text("NOTHING_LEFT"),
    ]);
    let place = rig.dm(AOKI, "0002にいちご2箱1200円で登録して").await;
    let card = rig.card(&place).await;
    rig.reply(AOKI, &place, "0009はどなた？").await;
    rig.says(&place, "渡辺 千尋様です").await;
    let still = rig.workspace.thread(&place.channel, &place.root).into_iter().find(|m| m.ts == card.ts).unwrap();
    assert!(has_buttons(&still), "the card lost its buttons");
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "登録しました").await;
    assert_eq!(rig.approved_sales().await, 1);
    no_faults(&rig);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_fetched_for_one_person_is_not_shown_to_the_model_for_another_without_the_department() {
    let rig = Rig::start().await;
    rig.model.script([
        Say::call("get_customers", json!({"code_customer": "0002"})),
        Say::text("佐藤 花子様です。"),
        Say::text("わかりません。"),
    ]);
    let place = rig.mention(AOKI, "C0HANBAI", "0002はどなた？").await;
    rig.answer(&place, 1).await;
    rig.reply("U0KUDO", &place, "その方の電話番号は？").await;
    rig.answer(&place, 2).await;
    let request = rig.model.last().to_string();
    assert!(
        !request.contains("000-0000-0002") && !request.contains("若葉台2-4-1"),
        "the wholesale clerk's turn shows a row of direct sales"
    );
    no_faults(&rig);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_week_is_told_to_the_model_once_and_the_right_one_answers() {
    let rig = Rig::start().await;
    let (begin, end) = last_week(today());
    let week = |shift: i64| {
        let by = chrono::TimeDelta::days(shift);
        json!({"code_customer": "0002", "date_sales_begin_str": (begin + by).to_string(), "date_sales_end_str": (end + by).to_string()})
    };
    // A week that begins on Sunday, as models like to have it.
    rig.model.script([
        Say::call("get_sales", week(-1)),
        Say::call("get_sales", week(0)),
        Say::text("先週の販売です。"),
    ]);
    let place = rig.dm(AOKI, "0002の先週の販売を教えて").await;
    let answer = shown(&rig.answer(&place, 1).await);
    let requests = rig.model.requests();
    let hint = format!("“先週” is {begin} (Mon) to {end} (Sun)");
    assert!(notes(&requests[0]).iter().any(|n| n.contains(&hint)), "{:?}", notes(&requests[0]));
    assert_eq!(results(&requests[1])[0]["data"]["code"], "words_differ");
    assert!(answer.contains(&format!("{begin}〜")) && answer.contains("（「先週」）"), "{answer}");
    assert!(!answer.contains('⚠') && !answer.contains(&(begin.pred_opt().unwrap()).to_string()), "{answer}");
    assert_eq!(
        rig.count("SELECT count(*) FROM audit WHERE event = 'tool_answered' AND tool = 'get_sales'").await,
        1,
        "the wrong one was not run"
    );
    let held =
        "SELECT count(*) FROM audit WHERE event = 'call_held_back' AND result = 'words_differ' AND tool = 'get_sales'";
    assert_eq!(rig.count(held).await, 1);
    no_faults(&rig);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_insists_gets_its_call_and_the_person_sees_the_difference() {
    let rig = Rig::start().await;
    let (begin, end) = last_week(today());
    let wrong = json!({"code_customer": "0002", "date_sales_begin_str": (begin - Days::new(1)).to_string(), "date_sales_end_str": end.to_string()});
    rig.model.script([
        Say::call("get_sales", wrong.clone()),
        Say::call("get_sales", wrong),
        Say::text("先週の販売です。"),
    ]);
    let place = rig.dm(AOKI, "0002の先週の販売を教えて").await;
    let answer = shown(&rig.answer(&place, 1).await);
    assert!(answer.contains(&format!("（⚠ 「先週」は {begin}〜")), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_at_odds_with_the_words_is_held_back_once_and_then_marked() {
    let rig = Rig::start().await;
    let tuesday = last_tuesday(today());
    let sale = |day: NaiveDate, price: i64| {
        let products = "かぼちゃ4個";
        Say::call(
            "add_sale",
            json!({"code_customer": "0016", "products": products, "price": price, "date_sales_str": day.to_string()}),
        )
    };
    let wrong = tuesday + Days::new(1);
    rig.model.script([sale(wrong, 35_000), sale(wrong, 35_000), Say::text("カードをご確認ください。")]);
    let words = "0016に先週の火曜日かぼちゃ4個を3万5千円で販売登録して";
    let place = rig.dm(AOKI, words).await;
    let card = shown(&rig.card(&place).await);
    assert_eq!(results(&rig.model.requests()[1])[0]["data"]["code"], "words_differ");
    assert!(card.contains(&format!("⚠ 「先週の火曜日」は {tuesday}（火） と読めますが")), "{card}");
    assert!(card.contains("「3万5千円」→ 35,000円"), "{card}");
    assert_eq!(rig.count("SELECT count(*) FROM proposals").await, 1, "what was held back is no proposal");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_shows_how_the_words_were_read_and_what_was_assumed() {
    let rig = Rig::start().await;
    let tuesday = last_tuesday(today());
    let sale = |day: Option<NaiveDate>| {
        let mut arguments = json!({"code_customer": "0016", "products": "かぼちゃ4個", "price": 600});
        if let Some(day) = day {
            arguments["date_sales_str"] = day.to_string().into();
        }
        Say::call("add_sale", arguments)
    };
    rig.model.script([sale(Some(tuesday)), Say::text("どうぞ。"), sale(None), Say::text("どうぞ。")]);
    let place = rig.dm(AOKI, "0016に先週火曜日かぼちゃ4個600円で販売登録して").await;
    let card = shown(&rig.card(&place).await);
    assert!(card.contains(&format!("「先週火曜日」→ {tuesday}（火）")), "{card}");
    assert!(!card.contains('⚠') && !card.contains("「600円」"), "what is plain needs no explanation: {card}");
    let place = rig.dm(AOKI, "0016にかぼちゃ4個600円で販売登録して").await;
    let card = shown(&rig.card(&place).await);
    assert!(card.contains("日付の指定がないため、今日の日付にしています。"), "{card}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rest_of_a_request_after_the_press_is_held_to_the_words_of_the_request() {
    let rig = Rig::start().await;
    let yesterday = today().pred_opt().unwrap();
    let sale = |code: &str, price: i64, day: Option<NaiveDate>| {
        let mut arguments = json!({"code_customer": code, "products": "かぼちゃ", "price": price});
        if let Some(day) = day {
            arguments["date_sales_str"] = day.to_string().into();
        }
        Say::call("add_sale", arguments)
    };
    rig.model.script([
        sale("0016", 600, Some(yesterday)),
        Say::text("登録後に続けます。"),
        // Forgets the day, is told, and does it right.
        sale("0002", 300, None),
        sale("0002", 300, Some(yesterday)),
        Say::text("次のカードです。"),
    ]);
    let words = "0016に昨日かぼちゃ600円を登録。登録できたら0002に昨日かぼちゃ300円も登録して";
    let place = rig.dm(AOKI, words).await;
    let card = rig.card(&place).await;
    rig.confirm(AOKI, &card).await;
    rig.says(&place, "次のカードです").await;
    let second = shown(&rig.card(&place).await);
    assert!(second.contains("300円") && second.contains(&format!("「昨日」→ {yesterday}")), "{second}");
    assert!(!second.contains('⚠'), "{second}");
    let told = rig.model.requests().iter().flat_map(results).filter(|r| r["data"]["code"] == "words_differ").count();
    assert!(told > 0, "the day was missing once");
}
