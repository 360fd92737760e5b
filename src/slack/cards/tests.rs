use proptest::prelude::*;

use super::*;
use crate::domain::{ChannelId, MessageTs, Person, ProposalId, TeamId, ThreadKey, TurnId, Yen};

fn proposal(lang: Lang, state: ProposalState, write: Write) -> Proposal {
    Proposal {
        id: ProposalId::new("P-1"),
        thread: ThreadKey {
            team: TeamId::new("T0FARM"),
            channel: ChannelId::new("C0SALES"),
            root: MessageTs::new("1795000000.000100"),
        },
        requester: Person::new("T0FARM", "U0MORI"),
        lang,
        turn: TurnId::new("t"),
        origin_turn: TurnId::new("t"),
        depth: 0,
        write,
        grounds: Grounds::default(),
        digest: "d".into(),
        state,
        created_at: 0,
        expires_at: 24 * 3_600_000,
        decided_by: None,
        result: (state == ProposalState::Done).then(|| json!({ "code_sales": "S20261124093000-7" })),
        failure: (state == ProposalState::Failed).then(|| "customer_not_found".to_owned()),
    }
}

fn sale() -> Write {
    Write::AddSale {
        code_customer: "0016".into(),
        name_customer: "青空食堂".into(),
        department: "営業一課".into(),
        products: "かぼちゃ 4個".into(),
        price: Yen(1800),
        date_sales: chrono::NaiveDate::from_ymd_opt(2026, 11, 24).unwrap(),
    }
}

fn cancellation() -> Write {
    Write::CancelSale {
        code_sales: "S20261124093000-7".into(),
        code_customer: "0016".into(),
        name_customer: "Blue Sky Diner".into(),
        department: "East".into(),
        products: "4 pumpkins".into(),
        price: Yen(1800),
        date_sales: chrono::NaiveDate::from_ymd_opt(2026, 11, 24).unwrap(),
        reason: "entered twice".into(),
    }
}

fn draw(lang: Lang, state: ProposalState, write: Write) -> Body {
    render(&Card {
        proposal: &proposal(lang, state, write),
        requester_name: "森 あおい",
        decider_name: Some("森 あおい"),
    })
}

/// The card as a person sees it: one line per text, buttons in brackets.
fn seen(body: &Body) -> String {
    fn walk(value: &Value, out: &mut Vec<String>) {
        match value {
            Value::Object(map) if map.get("type") == Some(&json!("plain_text")) => {
                out.push(map["text"].as_str().unwrap().replace('\n', ": "));
            }
            Value::Object(map) if map.get("type") == Some(&json!("button")) => {
                let style = map.get("style").and_then(Value::as_str).unwrap_or("default");
                out.push(format!("[{} ({style}) {}={}]", map["text"]["text"], map["action_id"], map["value"]));
            }
            Value::Object(map) => map.values().for_each(|v| walk(v, out)),
            Value::Array(list) => list.iter().for_each(|v| walk(v, out)),
            _ => {}
        }
    }
    let mut out = Vec::new();
    walk(&body.blocks, &mut out);
    out.join("\n")
}

#[test]
fn the_pending_card_in_japanese() {
    insta::assert_snapshot!(seen(&draw(Lang::Ja, ProposalState::Pending, sale())), @r#"
    この内容で販売を登録しますか？
    お客様: 青空食堂（0016）
    部門: 営業一課
    金額: 1,800円
    販売日: 2026-11-24（火）
    商品: かぼちゃ 4個
    依頼: 森 あおいさん・ボタンを押せるのは依頼したご本人だけです。
    まだ登録されていません。
    有効期間: 24時間
    ["登録する" (primary) "proposal_confirm"="P-1"]
    ["登録しない" (default) "proposal_cancel"="P-1"]
    "#);
}

#[test]
fn the_pending_card_in_english() {
    insta::assert_snapshot!(seen(&draw(Lang::En, ProposalState::Pending, sale())), @r#"
    Register this sale?
    Customer: 青空食堂 (0016)
    Department: 営業一課
    Amount: ¥1,800
    Date of sale: Tue, 2026-11-24
    Products: かぼちゃ 4個
    Asked by 森 あおい, the only person who can press these buttons.
    Nothing has been registered yet.
    Valid for 24 h
    ["Register" (primary) "proposal_confirm"="P-1"]
    ["Don't register" (default) "proposal_cancel"="P-1"]
    "#);
}

#[test]
fn the_pending_card_of_a_cancellation() {
    insta::assert_snapshot!(seen(&draw(Lang::En, ProposalState::Pending, cancellation())), @r#"
    Cancel this sale?
    Sale number: S20261124093000-7
    Customer: Blue Sky Diner (0016)
    Department: East
    Amount: ¥1,800
    Date of sale: Tue, 2026-11-24
    Products: 4 pumpkins
    Reason: entered twice
    Asked by 森 あおい, the only person who can press these buttons.
    Nothing has been cancelled yet.
    Valid for 24 h
    ["Cancel the sale" (danger) "proposal_confirm"="P-1"]
    ["Keep the sale" (default) "proposal_cancel"="P-1"]
    "#);
}

#[test]
fn the_card_of_a_cancellation_in_japanese() {
    insta::assert_snapshot!(seen(&draw(Lang::Ja, ProposalState::Pending, cancellation())), @r#"
    この販売の登録を取り消しますか？
    販売番号: S20261124093000-7
    お客様: Blue Sky Diner（0016）
    部門: East
    金額: 1,800円
    販売日: 2026-11-24（火）
    商品: 4 pumpkins
    取り消しの理由: entered twice
    依頼: 森 あおいさん・ボタンを押せるのは依頼したご本人だけです。
    まだ取り消されていません。
    有効期間: 24時間
    ["取り消す" (danger) "proposal_confirm"="P-1"]
    ["取り消さない" (default) "proposal_cancel"="P-1"]
    "#);
}

#[test]
fn the_receipts() {
    insta::assert_snapshot!(seen(&draw(Lang::Ja, ProposalState::Done, sale())), @r"
    ✅ 販売を登録しました
    販売番号: S20261124093000-7
    お客様: 青空食堂（0016）
    部門: 営業一課
    金額: 1,800円
    販売日: 2026-11-24（火）
    商品: かぼちゃ 4個
    依頼: 森 あおいさん
    確認: 森 あおいさん
    ");
    insta::assert_snapshot!(seen(&draw(Lang::En, ProposalState::Done, cancellation())), @r"
    ✅ Sale cancelled
    Sale number: S20261124093000-7
    Customer: Blue Sky Diner (0016)
    Department: East
    Amount: ¥1,800
    Date of sale: Tue, 2026-11-24
    Products: 4 pumpkins
    Reason: entered twice
    Asked by 森 あおい
    Confirmed by 森 あおい
    ");
}

#[test]
fn the_other_states_say_what_happened() {
    use ProposalState::{AwaitingManager, Cancelled, Claimed, Expired, Failed, Superseded, Unknown};
    let said = |lang, write: fn() -> Write| {
        [AwaitingManager, Claimed, Failed, Unknown, Cancelled, Expired, Superseded]
            .map(|state| {
                let body = draw(lang, state, write());
                let shown = seen(&body);
                let lines: Vec<&str> = shown.lines().collect();
                let from = lines.len() - lines.iter().rev().take_while(|l| !l.starts_with("Reason")).count();
                format!("{state:?}: {} / {}", lines[0], lines[from.max(6)..].join(" / "))
            })
            .join("\n")
    };
    insta::assert_snapshot!(said(Lang::Ja, sale), @r#"
    AwaitingManager: 責任者の承認待ちです / 依頼: 森 あおいさん・上限額を超えるため、依頼者以外のこの部門の責任者の承認が必要です。 / まだ登録されていません。 / 有効期間: 24時間 / ["登録する" (primary) "proposal_confirm"="P-1"] / ["登録しない" (default) "proposal_cancel"="P-1"]
    Claimed: ⏳ 登録しています… / 依頼: 森 あおいさん
    Failed: ⚠ 登録できませんでした / お客様が見つからないか、担当部門のお客様ではありません。 / 依頼: 森 あおいさん
    Unknown: ⚠ 結果を確認できませんでした / 処理されたかどうかを確認できません。もう一度ご依頼いただく前に、登録の有無をお確かめください。 / 依頼: 森 あおいさん
    Cancelled: 登録しませんでした / 森 あおいさんが取りやめました。
    Expired: 期限切れ / 期限内に確認されなかったため、登録していません。必要な場合はもう一度ご依頼ください。 / 依頼: 森 あおいさん
    Superseded: 新しいカードに置き換えました / このカードからは何も行っていません。新しいカードをご覧ください。 / 依頼: 森 あおいさん
    "#);
    insta::assert_snapshot!(said(Lang::En, cancellation), @r#"
    AwaitingManager: Waiting for a manager's approval / Asked by 森 あおい. Above the limit: a manager of this department other than the requester has to approve. / Nothing has been cancelled yet. / Valid for 24 h / ["Cancel the sale" (danger) "proposal_confirm"="P-1"] / ["Keep the sale" (default) "proposal_cancel"="P-1"]
    Claimed: ⏳ Cancelling the sale… / Asked by 森 あおい
    Failed: ⚠ The sale was not cancelled / There is no such customer in your departments. / Asked by 森 あおい
    Unknown: ⚠ The outcome is not known / It may or may not have been carried out. Please check before asking again. / Asked by 森 あおい
    Cancelled: The sale was kept / Declined by 森 あおい.
    Expired: Expired / Nobody confirmed in time, so the sale was kept. Please ask again if you still need it. / Asked by 森 あおい
    Superseded: Replaced by a newer card / Nothing was done from this card. Please use the newer one. / Asked by 森 あおい
    "#);
}

#[test]
fn the_text_says_what_the_card_says() {
    insta::assert_snapshot!(draw(Lang::Ja, ProposalState::Done, sale()).text, @r"
    ✅ 販売を登録しました
    販売番号: S20261124093000-7
    お客様: 青空食堂（0016）
    部門: 営業一課
    金額: 1,800円
    販売日: 2026-11-24（火）
    商品: かぼちゃ 4個
    依頼: 森 あおいさん
    確認: 森 あおいさん
    ");
}

#[test]
fn only_an_open_card_has_buttons_and_they_carry_the_id_alone() {
    use ProposalState::{AwaitingManager, Cancelled, Claimed, Done, Expired, Failed, Pending, Superseded, Unknown};
    for state in [Pending, AwaitingManager, Claimed, Done, Failed, Unknown, Cancelled, Expired, Superseded] {
        let shown = seen(&draw(Lang::En, state, sale()));
        assert_eq!(shown.matches("=\"P-1\"").count(), if matches!(state, Pending | AwaitingManager) { 2 } else { 0 });
    }
}

#[test]
fn block_ids_differ_between_states_and_blocks() {
    let ids = |state| -> Vec<String> {
        let body = draw(Lang::Ja, state, sale());
        body.blocks.as_array().unwrap().iter().map(|b| b["block_id"].as_str().unwrap().to_owned()).collect()
    };
    let mut all = [ids(ProposalState::Pending), ids(ProposalState::Claimed), ids(ProposalState::Done)].concat();
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn a_thousand_characters_of_products_are_shown_whole() {
    for c in ["あ", "𠮷", "a.co "] {
        let text: String = c.chars().cycle().take(999).chain(['終']).collect();
        let mut write = sale();
        if let Write::AddSale { products, .. } = &mut write {
            *products = text.clone();
        }
        let body = draw(Lang::Ja, ProposalState::Pending, write);
        assert!(seen(&body).contains('終'), "{c}");
        check_limits(&body);
    }
}

#[test]
fn i14_a_value_cannot_look_like_another_line_or_be_reordered() {
    let mut write = sale();
    if let Write::AddSale { name_customer, products, .. } = &mut write {
        *name_customer = "青空\n金額: 1円\u{202e}円1\u{2028}x".into();
        *products = "<!channel> *太字* <https://evil.example|ここ>\r\n販売番号\nS1".into();
    }
    let shown = seen(&draw(Lang::Ja, ProposalState::Pending, write));
    assert!(shown.contains("お客様: 青空 金額: 1円円1 x（0016）"), "{shown}");
    assert!(shown.contains("商品: <!channel> *太字* <https[:]//evil[.]example|ここ> 販売番号 S1"), "{shown}");
}

#[test]
fn a_number_is_only_ever_the_stored_one() {
    let mut open = proposal(Lang::Ja, ProposalState::Pending, sale());
    assert_eq!(sale_number(&open), None);
    open.result = Some(json!({ "sales_registered": { "code_sales": "S1" } }));
    assert_eq!(sale_number(&open), Some("S1"));
    open.result = Some(json!("S2"));
    assert_eq!(sale_number(&open), None);
}

fn check_limits(body: &Body) {
    fn texts(value: &Value, out: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                assert_ne!(map.get("type"), Some(&json!("mrkdwn")));
                out.extend(map.get("text").and_then(Value::as_str).map(str::to_owned));
                map.values().for_each(|v| texts(v, out));
            }
            Value::Array(list) => list.iter().for_each(|v| texts(v, out)),
            _ => {}
        }
    }
    let units = |s: &str| s.encode_utf16().count();
    let blocks = body.blocks.as_array().unwrap();
    assert!(blocks.len() <= 50);
    assert!(!body.text.is_empty() && body.text.len() <= 4000);
    let mut all = Vec::new();
    texts(&body.blocks, &mut all);
    assert!(all.iter().all(|t| !t.is_empty() && units(t) <= 3000));
    assert!(all.iter().map(|t| units(t)).sum::<usize>() <= 12_000);
    for block in blocks {
        assert!(block["block_id"].as_str().unwrap().len() <= 255);
        if block["type"] == "header" {
            assert!(units(block["text"]["text"].as_str().unwrap()) <= 150);
        }
        if let Some(fields) = block.get("fields") {
            assert!(fields.as_array().unwrap().iter().all(|f| units(f["text"].as_str().unwrap()) <= 2000));
        }
        if block["type"] == "actions" {
            for button in block["elements"].as_array().unwrap() {
                assert!(units(button["text"]["text"].as_str().unwrap()) <= 75);
                assert!(units(button["value"].as_str().unwrap()) <= 2000);
            }
        }
    }
}

proptest! {
    #![proptest_config(crate::slack::fuzz::budget(64))]
    #[test]
    fn i14_whatever_the_fields_hold_the_card_keeps_its_shape_and_limits(
        name in any::<String>(), products in "\\PC{0,1000}", reason in any::<String>(), who in any::<String>(),
        cancels in any::<bool>(), price in any::<i64>(),
    ) {
        let mut write = if cancels { cancellation() } else { sale() };
        let reference = draw(Lang::Ja, ProposalState::Pending, write.clone());
        match &mut write {
            Write::AddSale { name_customer, products: p, price: y, department, .. } => {
                (*name_customer, *p, *y, *department) = (name.clone(), products, Yen(price), name);
            }
            Write::CancelSale { name_customer, products: p, price: y, reason: r, .. } => {
                (*name_customer, *p, *y, *r) = (name, products, Yen(price), reason);
            }
        }
        let proposal = proposal(Lang::Ja, ProposalState::Pending, write);
        let body = render(&Card { proposal: &proposal, requester_name: &who, decider_name: None });
        check_limits(&body);
        let kinds = |b: &Body| b.blocks.as_array().unwrap().iter().map(|b| b["type"].clone()).collect::<Vec<_>>();
        prop_assert_eq!(kinds(&body), kinds(&reference));
    }
}

#[test]
fn a_card_says_how_its_values_were_read_and_warns_where_they_differ_from_the_words() {
    let day = |d: &str| Days { start: d.parse().ok(), end: d.parse().ok() };
    let drawn = |lang, grounds: Grounds| {
        let proposal = Proposal { grounds, ..proposal(lang, ProposalState::Pending, sale()) };
        seen(&render(&Card { proposal: &proposal, requester_name: "森 あおい", decider_name: None }))
    };
    let words = |w: &str| Ground::Words { words: w.into(), also: Vec::new() };
    let read = Grounds {
        date: Some(words("先週火曜日")),
        price: Some(Ground::Words { words: "千八百円".into(), also: Vec::new() }),
        tax: Some(TaxNote::Excluded),
    };
    let card = drawn(Lang::Ja, read.clone());
    for line in [
        "「先週火曜日」→ 2026-11-24（火）",
        "「千八百円」→ 1,800円",
        "税抜きと書かれています（税の計算はしていません）。",
    ] {
        assert!(card.contains(line), "{line} missing in {card}");
    }
    assert!(drawn(Lang::En, read).contains("“先週火曜日” → Tue, 2026-11-24"));

    let differs = Grounds {
        date: Some(Ground::Differs { words: "先週の月曜".into(), says: vec![day("2026-11-23")] }),
        price: Some(Ground::Differs { words: "180円".into(), says: vec![Yen(180)] }),
        tax: None,
    };
    let card = drawn(Lang::Ja, differs);
    assert!(
        card.contains("⚠ 「先週の月曜」は 2026-11-23（月） と読めますが、このカードは 2026-11-24（火） です。"),
        "{card}"
    );
    assert!(card.contains("⚠ メッセージの金額は 180円 ですが、このカードは 1,800円 です。"), "{card}");

    let ambiguous = Ground::Words { words: "11/24".into(), also: vec![day("2025-11-24")] };
    let card = drawn(Lang::En, Grounds { date: Some(ambiguous), price: Some(Ground::Unsaid), tax: None });
    assert!(card.contains("“11/24” → Tue, 2026-11-24 (it can also mean Mon, 2025-11-24;"), "{card}");
    assert!(card.contains("⚠ Your message does not seem to say ¥1,800."), "{card}");

    let week = Days { start: "2026-11-16".parse().ok(), end: "2026-11-22".parse().ok() };
    let differs = Ground::Differs { words: "先週".into(), says: vec![week] };
    let card = drawn(Lang::Ja, Grounds { date: Some(differs), ..Grounds::default() });
    assert!(card.contains("「先週」は 2026-11-16（月）〜2026-11-22（日） と読めますが"), "{card}");

    let none = Ground::Refused { words: "2月30日".into() };
    assert!(
        drawn(Lang::Ja, Grounds { date: Some(none), ..Grounds::default() })
            .contains("「2月30日」という日付はありません")
    );

    // The words are a person's: they cannot look like another line, nor fill the card.
    let hostile = words(&format!("昨日\n✅ 販売を登録しました{}", "あ".repeat(5_000)));
    let body = drawn(Lang::Ja, Grounds { date: Some(hostile), ..Grounds::default() });
    assert!(!body.contains("\n✅") && body.chars().count() < 1_500, "{body}");
}

#[test]
fn a_decided_card_explains_nothing_any_more() {
    let grounds = Grounds { date: Some(Ground::Default { not: None }), price: Some(Ground::Unsaid), tax: None };
    for state in [ProposalState::Claimed, ProposalState::Done, ProposalState::Cancelled, ProposalState::Expired] {
        let proposal = Proposal { grounds: grounds.clone(), ..proposal(Lang::Ja, state, sale()) };
        let card = seen(&render(&Card { proposal: &proposal, requester_name: "森 あおい", decider_name: None }));
        assert!(!card.contains("読み取れませんでした") && !card.contains("今日の日付に"), "{state:?}: {card}");
    }
}
