use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::slack::fuzz::budget;

fn reply(markdown: &str, footer: &[String], lang: Lang) -> Vec<Body> {
    reply_checked(markdown, footer, lang, &str::to_owned)
}

fn bodies(markdown: &str) -> Vec<Body> {
    reply(markdown, &[], Lang::Ja)
}

/// Blocks as a reader sees them: `*bold*`, `_italic_`, `` `code` ``, one line per block.
fn seen(markdown: &str) -> String {
    let spans = |section: &Value| -> String {
        section["elements"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| {
                assert_eq!(e["type"], "text");
                let mut text = e["text"].as_str().unwrap().to_owned();
                for (style, mark) in [("code", '`'), ("italic", '_'), ("strike", '~'), ("bold", '*')] {
                    if e["style"][style] == true {
                        text = format!("{mark}{text}{mark}");
                    }
                }
                text
            })
            .collect()
    };
    let block = |b: &Value| match b["type"].as_str().unwrap() {
        "rich_text" => b["elements"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| match part["type"].as_str().unwrap() {
                "rich_text_list" => part["elements"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .enumerate()
                    .map(|(i, item)| {
                        let indent = "  ".repeat(part["indent"].as_u64().unwrap() as usize);
                        let mark = match part["style"].as_str().unwrap() {
                            "ordered" => format!("{}.", part["offset"].as_u64().unwrap_or(0) + 1 + i as u64),
                            _ => "-".to_owned(),
                        };
                        format!("{indent}{mark} {}", spans(item))
                    })
                    .collect::<Vec<_>>()
                    .join("\n"),
                kind => format!("{}{}", kind.replace("rich_text_", "").replace("section", "") + ":", spans(part)),
            })
            .collect::<Vec<_>>()
            .join("\n"),
        "table" => b["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                let cells = row.as_array().unwrap().iter();
                cells
                    .map(|c| c["text"].as_str().map_or_else(|| spans(&c["elements"][0]), str::to_owned))
                    .collect::<Vec<_>>()
                    .join("|")
            })
            .collect::<Vec<_>>()
            .join("\n"),
        other => other.to_owned(),
    };
    let all: Vec<String> = bodies(markdown)
        .iter()
        .flat_map(|b| b.blocks.as_array().unwrap().iter().map(block).collect::<Vec<_>>())
        .collect();
    all.join("\n").replace("\n:", "\n").trim_start_matches(':').to_owned()
}

/// All text elements of all bodies, joined.
fn joined(bodies: &[Body]) -> String {
    fn walk(value: &Value, out: &mut String) {
        match value {
            Value::Object(map) if matches!(map.get("type").and_then(Value::as_str), Some("text" | "raw_text")) => {
                out.push_str(map["text"].as_str().unwrap());
            }
            Value::Object(map) => map.values().for_each(|v| walk(v, out)),
            Value::Array(list) => list.iter().for_each(|v| walk(v, out)),
            _ => {}
        }
    }
    let mut out = String::new();
    bodies.iter().for_each(|b| walk(&b.blocks, &mut out));
    out
}

#[test]
fn bold_works_beside_japanese() {
    for (markdown, text) in [
        ("これは**重要**です", "これは*重要*です"),
        ("**この文は太字になります。**この文", "*この文は太字になります。*この文"),
        ("**「ビット」**で", "*「ビット」*で"),
        ("**マークダウン(Markdown)**の", "*マークダウン(Markdown)*の"),
        ("한글**강조**한글", "한글*강조*한글"),
        ("中文`程式`中文", "中文`程式`中文"),
        ("**A「x」**で**B**", "*A「x」*で*B*"),
        ("2 ** 3 と **b** と **", "2 ** 3 と *b* と **"),
        ("`**コード**` と \\*\\*文字\\*\\*", "`**コード**` と **文字**"),
        ("**`code` 1,800円**", "*`code`** 1,800円*"),
        ("*斜体* ~~取消~~ __太字__", "_斜体_ ~取消~ *太字*"),
    ] {
        assert_eq!(seen(markdown), text, "{markdown}");
    }
}

#[test]
fn the_usual_shapes_of_an_answer() {
    let answer = "# 先月の売上\n\n合計は **12,300円** です。\n内訳:\n\n- 0002 佐藤\n  - かぼちゃ\n- 0016\n\n3. 三\n4. 四\n\n> 引用\n\n---\n\n```sql\nSELECT 1;\n  **x**\n```\n\n| 月 | 金額 |\n|---|---:|\n| 10 | 1,800円 |\n| | |\n";
    insta::assert_snapshot!(seen(answer), @r"
    *先月の売上*
    合計は *12,300円* です。
    内訳:
    - 0002 佐藤
      - かぼちゃ
    - 0016
    3. 三
    4. 四
    quote:引用
    divider
    preformatted:SELECT 1;
      **x**
    *月*|*金額*
    10|1,800円
    –|–
    ");
}

#[test]
fn a_short_row_is_padded_and_an_escaped_pipe_stays() {
    assert_eq!(seen("| a | b |\n|---|---|\n| x\\|y |\n"), "*a*|*b*\nx|y|–");
}

#[test]
fn code_in_a_list_and_text_after_it_are_kept() {
    assert_eq!(seen("1. 一\n\n   ```\n   x\n   ```\n\n   続き\n2. 二"), "1. 一\npreformatted:x\n続き\n2. 二");
}

#[test]
fn column_settings_are_objects() {
    let body = &bodies("| a | b |\n|:--|--:|\n| 1 | 2 |\n")[0];
    let settings = &body.blocks[0]["column_settings"];
    assert_eq!(*settings, json!([{ "align": "left", "is_wrapped": true }, { "align": "right", "is_wrapped": true }]));
}

#[test]
fn a_line_of_code_that_begins_with_backticks_does_not_close_the_fence() {
    assert_eq!(seen("````\n``` not a close\n````\n後"), "preformatted:``` not a close\n後");
}

#[test]
fn nothing_gives_no_message_and_a_footer_alone_gives_one() {
    assert_eq!(bodies(" \n\u{200b}\n"), []);
    let body = &reply("", &["データは参照していません".into()], Lang::Ja)[0];
    assert_eq!(body.text, "データは参照していません");
    assert_eq!(
        body.blocks,
        json!([{ "type": "context", "elements": [{ "type": "plain_text", "text": "データは参照していません" }] }])
    );
}

#[test]
fn i15_the_footer_stands_under_every_message_and_in_its_text() {
    let long = "あいうえお。".repeat(800);
    let bodies = reply(&long, &["🔧 販売検索 <0002>".into(), "登録なし\n✅ 登録しました".into()], Lang::Ja);
    assert!(bodies.len() > 1);
    for body in &bodies {
        assert!(body.text.ends_with("🔧 販売検索 &lt;0002&gt;\n登録なし ✅ 登録しました"), "{}", body.text);
        assert_eq!(body.blocks.as_array().unwrap().last().unwrap()["type"], "context");
    }
    assert_eq!(joined(&bodies), long);
}

#[test]
fn i15_no_mark_hides_a_word_from_the_one_who_checks_it() {
    let check = |text: &str| text.replace("S20261124", "（？）");
    for hidden in [
        "S2026**1124**",
        "S2026*11*24",
        "S`20261124`",
        "S2026\\\u{200b}1124",
        "S20261\u{202e}124",
        "S2026&#49;124",
        "S2026~~1124~~",
        "> S2026**1124**",
        "- S2026**1124**",
        "| S2026**1124** |\n|--|\n| S2026`1124` |",
        "```\nS20261124\n```",
        "**S2026**1124",
    ] {
        let bodies = reply_checked(hidden, &[], Lang::Ja, &check);
        assert!(bodies.iter().all(|b| !b.text.contains("20261124")), "{hidden}: {}", bodies[0].text);
    }
}

#[test]
fn i13_no_syntax_pings_and_each_is_escaped_once() {
    for syntax in [
        "<!channel>",
        "<!here|x>",
        "<!everyone>",
        "<!subteam^S1>",
        "<@U0MORI>",
        "<#C1|x>",
        "<!chan\nnel>",
        "&lt;!channel&gt;",
    ] {
        for markdown in [
            syntax.to_owned(),
            format!("**{syntax}**"),
            format!("| a |\n|--|\n| {syntax} |"),
            format!("```\n{syntax}\n```"),
            format!("- {syntax}"),
            format!("> {syntax}"),
            format!("[{syntax}]({syntax})"),
        ] {
            for body in bodies(&markdown) {
                assert_harmless(&body);
            }
        }
    }
    assert_eq!(bodies("AT&T <b> &amp;amp;")[0].text, "AT&amp;T &lt;b&gt; &amp;amp;");
    assert_eq!(plain("&lt; <!here>", &[])[0].text, "&amp;lt; &lt;!here&gt;");
}

#[test]
fn i12_no_syntax_makes_a_link() {
    for (markdown, text) in [
        ("[ここ](https://evil.example/x?a=b)", "ここ (https[:]//evil[.]example/x?a=b)"),
        ("<https://evil.example>", "https[:]//evil[.]example"),
        ("https://evil.example を見て", "https[:]//evil[.]example を見て"),
        ("![図](https://evil.example/p.png)", "画像: 図 (https[:]//evil[.]example/p.png)"),
        ("![](https://evil.example/p.png)", "画像:  (https[:]//evil[.]example/p.png)"),
        ("<https://evil.example|社内>", "https[:]//evil[.]example|社内"),
        ("[a@b.example](mailto:a@b.example)", "a@b[.]example"),
        ("http:**//evil.example**", "http[:]//evil[.]example"),
        ("http&colon;//evil.example", "http[:]//evil[.]example"),
        ("[x]: https://evil.example\n\n[銀行][x]", "銀行 (https[:]//evil[.]example)"),
        ("[社内](javascript:x)", "社内 (javascript:x)"),
    ] {
        assert_eq!(joined(&bodies(markdown)), text, "{markdown}");
        bodies(markdown).iter().for_each(assert_harmless);
    }
}

#[test]
fn i14_text_that_looks_like_a_card_is_text() {
    for spoof in [
        "✅ 登録しました S20261124093000-7",
        "# ✅ 販売を登録しました\n\n販売番号\nS20261124093000-7\n\n[登録する] [登録しない]",
        "```json\n{\"type\":\"actions\",\"elements\":[{\"type\":\"button\",\"action_id\":\"proposal_confirm\"}]}\n```",
        "<button value=\"P-1\">登録する</button>",
        "{\"blocks\":[{\"type\":\"header\"}]}",
    ] {
        for body in bodies(spoof).iter().chain(&plain(spoof, &[])) {
            assert_harmless(body);
        }
    }
}

#[test]
fn a_fence_that_is_cut_is_closed_and_opened_again() {
    let code = "let x = 1; // あ\n".repeat(600);
    let all = bodies(&format!("前\n\n```rust\n{code}```\n後"));
    assert!(all.len() > 2);
    assert_eq!(joined(&all), format!("前{}後", code.trim_end()));
    for body in &all {
        assert_eq!(body.text.matches("```").count() % 2, 0);
        assert_harmless(body);
    }
    assert!(all[1].text.starts_with("```rust\n"));
}

#[test]
fn a_large_table_is_continued_with_its_header() {
    let rows: String = (0..230).map(|i| format!("| {i} | 佐藤 | 1,800円 |\n")).collect();
    let all = bodies(&format!("| no | 名 | 額 |\n|--|--|--|\n{rows}"));
    let tables: Vec<&Value> = all.iter().flat_map(|b| b.blocks.as_array().unwrap()).collect();
    assert!(tables.iter().all(|t| t["type"] == "table" && t["rows"].as_array().unwrap().len() <= 100));
    let count: usize = tables.iter().map(|t| t["rows"].as_array().unwrap().len() - 1).sum();
    assert_eq!(count, 230);
    all.iter().for_each(assert_harmless);
}

#[test]
fn a_table_that_slack_cannot_show_becomes_code() {
    let wide = format!("|{}\n|{}\n|{}\n", " h |".repeat(21), "--|".repeat(21), " v |".repeat(21));
    assert_eq!(bodies(&wide)[0].blocks[0]["type"], "rich_text");
    let deep = format!("| a |\n|--|\n| {} |\n", "あ".repeat(5000));
    let all = bodies(&deep);
    assert!(joined(&all).contains(&"あ".repeat(1000)));
    all.iter().for_each(assert_harmless);
}

#[test]
fn two_tables_are_two_messages() {
    let table = "| a |\n|--|\n| 1 |\n\n";
    assert_eq!(bodies(&table.repeat(2)).len(), 2);
}

#[test]
fn many_blocks_are_several_messages() {
    let all = bodies(&"a\n\n".repeat(120));
    assert_eq!(all.len(), 3);
    all.iter().for_each(assert_harmless);
}

#[test]
fn the_fallback_is_text_that_says_the_same_then_a_short_sentence_then_nothing() {
    for (answer, said, notice) in [
        ("| a | b |\n|--|--|\n| | 2 |\n\n**合計** 2", "a | b\n– | 2\n合計 2", "お返事をSlackに表示できませんでした"),
        ("the **total** is 2", "the total is 2", "I could not show my answer in Slack"),
    ] {
        let text_only = fallback(&bodies(answer)[0]).unwrap();
        assert_eq!((&text_only.blocks, text_only.text.as_str()), (&Value::Null, said));
        let short = fallback(&text_only).unwrap();
        assert!(short.blocks.is_null() && short.text.starts_with(notice), "{}", short.text);
        assert_eq!(fallback(&short), None);
    }
}

#[test]
fn a_card_is_reduced_to_its_words_and_buttons_and_never_to_a_text_that_nobody_can_press() {
    let plain_text = |text: &str| json!({ "type": "plain_text", "text": text, "emoji": false });
    let buttons = json!({ "type": "actions", "block_id": "b", "elements": [{ "type": "button", "action_id": "x" }] });
    let card = Body {
        text: "登録の確認\nお客様: 佐藤 &amp; 森".into(),
        blocks: json!([
            { "type": "header", "text": plain_text("登録の確認") },
            { "type": "section", "fields": [plain_text("お客様\n佐藤 & 森"), plain_text(&"長".repeat(2000))] },
            { "type": "context", "elements": [plain_text(&"注".repeat(2000))] },
            buttons,
        ]),
    };
    let simple = fallback(&card).unwrap();
    let words = simple.blocks[0]["text"]["text"].as_str().unwrap();
    assert!(words.starts_with("登録の確認\nお客様\n佐藤 & 森\n長") && words.encode_utf16().count() == 3000, "{words}");
    assert_eq!((simple.blocks[1].clone(), simple.blocks.as_array().unwrap().len()), (buttons, 2));
    assert_eq!(simple.text, card.text);
    assert_eq!(fallback(&simple), None);
}

/// Strings in all blocks, in UTF-16 units: what Slack counts against the size of a message.
fn size(body: &Body) -> usize {
    fn units(value: &Value) -> usize {
        match value {
            Value::Object(map) => {
                let text = map.get("text").and_then(Value::as_str).map_or(0, |t| t.encode_utf16().count());
                text + map.values().map(units).sum::<usize>()
            }
            Value::Array(list) => list.iter().map(units).sum(),
            _ => 0,
        }
    }
    units(&body.blocks)
}

#[test]
fn whatever_the_length_each_message_keeps_the_limits_of_a_post_and_of_an_update() {
    for (text, least) in [
        ("あ".repeat(1400), 2),
        (format!("{}👨‍👩‍👧‍👦", "a".repeat(3990)), 2),
        ("&".repeat(1000), 2),
        ("<".repeat(999), 1),
        ("a".repeat(45_000), 12),
        (format!("{}\n\n", "b".repeat(2900)).repeat(5), 4),
        ("c".repeat(3042), 1),
        ("𠮷".repeat(3000), 3),
        ("か\u{3099}".repeat(3000), 5),
        ("詳細 at line 1\n".repeat(700), 3),
    ] {
        let all = bodies(&text);
        assert!(all.len() >= least, "{} messages of {}…", all.len(), text.chars().take(9).collect::<String>());
        all.iter().for_each(assert_harmless);
        let bare = |s: &str| s.split_whitespace().collect::<String>();
        assert!(bare(&joined(&all)) == bare(&visible(&text)));
    }
}

#[test]
fn a_text_of_exactly_the_limit_is_one_message_and_the_footer_counts() {
    let exact = "a".repeat(3999);
    assert_eq!(bodies(&exact).len(), 1);
    let with_footer = reply(&exact, &["登録なし".into()], Lang::Ja);
    assert_eq!(with_footer.len(), 2);
    with_footer.iter().for_each(assert_harmless);
    let clamped = clamp(&"a".repeat(151), 150);
    assert_eq!((clamped.encode_utf16().count(), clamped.ends_with('…')), (150, true));
}

#[test]
fn marks_work_beside_japanese_chinese_and_korean_and_never_eat_a_sign_between_figures() {
    for (markdown, shown) in [
        ("これは**重要**です", "これは*重要*です"),
        ("한글**강조**한글", "한글*강조*한글"),
        ("这是**粗体**文字\n- 一\n  - **二**", "这是*粗体*文字\n- 一\n  - *二*"),
        ("中文`程式`中文", "中文`程式`中文"),
        ("**この文は太字になりません。**この文", "*この文は太字になりません。*この文"),
        ("**「ビット」**で", "*「ビット」*で"),
        ("**マークダウン(Markdown)**の", "*マークダウン(Markdown)*の"),
        ("*「斜体」*と~~「取消」~~は", "_「斜体」_と~「取消」~は"),
        ("***「両方」***は", "*_「両方」_*は"),
        ("10*3=30、4*5=20", "10*3=30、4*5=20"),
        ("100円*1 200円*2", "100円*1 200円*2"),
        ("9~17時、10~20日", "9~17時、10~20日"),
        ("2**3**4", "2**3**4"),
        ("売上_2026_11 と file_name_x", "売上_2026_11 と file_name_x"),
        ("| 式 |\n|--|\n| 10*3 と 4*5 |", "*式*\n10*3 と 4*5"),
        ("    10*3 **x** ~y~", "preformatted:10*3 **x** ~y~"),
        ("`10*3*4 ~~x~~`", "`10*3*4 ~~x~~`"),
    ] {
        assert_eq!(seen(markdown), shown, "{markdown}");
    }
}

#[test]
fn rows_of_real_queries_make_a_table_that_slack_takes() {
    for (markdown, shown) in [
        ("| | |\n|---|---|\n| Owner | |", "*–*|*–*\nOwner|–"),
        ("| a | b |\n|---|---|\n| 1 | 2 | 3 |", "*a*|*b*\n1|2"),
        ("| a |\n|---|\n| &nbsp; |\n| \u{200b} |", "*a*\n–\n–"),
        (
            "| a |\n|---|\n| **太字** [銀行](https://evil.example) <!here> |",
            "*a*\n太字 銀行 (https[:]//evil[.]example) <!here>",
        ),
    ] {
        assert_eq!(seen(markdown), shown, "{markdown}");
        bodies(markdown).iter().for_each(assert_harmless);
    }
    let two = format!("| a |\n|--|\n| {} |\n\n", "い".repeat(600)).repeat(2);
    let wide = |columns: usize| {
        format!("|{}\n|{}\n|{}", " h |".repeat(columns), "--|".repeat(columns), " v |".repeat(columns))
    };
    for markdown in [two, wide(20), wide(21), format!("| a |\n|--|\n{}", "| r |\n".repeat(101))] {
        for body in bodies(&markdown) {
            assert_harmless(&body);
            for table in body.blocks.as_array().unwrap().iter().filter(|b| b["type"] == "table") {
                let rows = table["rows"].as_array().unwrap();
                assert!(rows.len() <= 100 && rows.iter().all(|row| row.as_array().unwrap().len() <= 20));
            }
        }
    }
}

#[test]
fn a_label_with_signs_of_slacks_own_syntax_stays_text() {
    assert_eq!(
        joined(&bodies("[a|b>c](https://shop.example/?x=1&y=2|z)")),
        "a|b>c (https[:]//shop[.]example/?x=1&y=2|z)"
    );
    assert_eq!(bodies("AT&amp;T")[0].text, "AT&amp;T");
    assert_eq!(plain("AT&T &amp;", &[])[0].text, "AT&amp;T &amp;amp;");
}

/// What must hold for every message of text, whatever went in.
fn assert_harmless(body: &Body) {
    fn walk(value: &Value) {
        match value {
            Value::Object(map) => {
                if let Some(kind) = map.get("type").and_then(Value::as_str) {
                    let known = [
                        "rich_text",
                        "rich_text_section",
                        "rich_text_list",
                        "rich_text_quote",
                        "rich_text_preformatted",
                        "text",
                        "table",
                        "raw_text",
                        "divider",
                        "context",
                        "plain_text",
                    ];
                    assert!(known.contains(&kind), "{kind}");
                }
                assert!(
                    !["action_id", "url", "value", "image_url", "user_id", "range", "block_id"]
                        .iter()
                        .any(|k| map.contains_key(*k))
                );
                if let Some(text) = map.get("text").and_then(Value::as_str) {
                    assert!(!text.is_empty() && text.encode_utf16().count() <= 3000);
                    assert!(!text.contains("://") && visible(text) == text, "{text}");
                }
                map.values().for_each(walk);
            }
            Value::Array(list) => {
                assert!(!list.is_empty());
                list.iter().for_each(walk);
            }
            _ => {}
        }
    }
    walk(&body.blocks);
    assert!(body.blocks.as_array().unwrap().len() <= 50 && size(body) <= 12_000);
    assert!(!body.text.is_empty() && body.text.len() <= 4000, "{}", body.text.len());
    assert!(!body.text.contains(['<', '>']) && !body.text.contains("://"), "{}", body.text);
    let bare = body.text.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "");
    assert!(!bare.contains('&'), "{bare}");
}

fn markdownish() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z あ。]{1,12}",
        Just("**".to_owned()),
        Just("*".to_owned()),
        Just("`".to_owned()),
        Just("\n```\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("\n- ".to_owned()),
        Just("\n  1. ".to_owned()),
        Just("\n> ".to_owned()),
        Just("\n| a | b |\n|--|--|\n| ".to_owned()),
        Just(" | ".to_owned()),
        Just("[".to_owned()),
        Just("](".to_owned()),
        Just("https://evil.example".to_owned()),
        Just("http:".to_owned()),
        Just("//evil.example)".to_owned()),
        Just("<!channel>".to_owned()),
        Just("<@U0MORI|x>".to_owned()),
        Just("&amp;".to_owned()),
        Just("\u{202e}".to_owned()),
        Just("\u{fdd0}".to_owned()),
        Just("👨‍👩‍👧‍👦".to_owned()),
        Just("あ".repeat(900)),
        Just("\\".to_owned()),
        Just("<br>".to_owned()),
        Just("***".to_owned()),
        Just("~~".to_owned()),
        Just("~".to_owned()),
        Just("10*3".to_owned()),
        Just(":tomato:".to_owned()),
        Just("1,234,567円".to_owned()),
        Just("か\u{3099}".to_owned()),
        Just("a".repeat(1500)),
        Just("\n~~~rust\n".to_owned()),
        Just("\u{600}1".to_owned()),
        Just("# ".to_owned()),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(budget(128))]

    #[test]
    fn i12_i13_i14_i16_whatever_a_model_writes_is_harmless(markdown in markdownish(), footer in markdownish()) {
        reply(&markdown, std::slice::from_ref(&footer), Lang::En).iter().for_each(assert_harmless);
        plain(&markdown, &[footer]).iter().for_each(assert_harmless);
    }

    #[test]
    fn i16_any_characters_at_all_are_harmless(text in any::<String>()) {
        reply(&text, &[], Lang::En).iter().for_each(assert_harmless);
    }

    #[test]
    fn nothing_a_person_would_miss_is_lost(words in prop::collection::vec("[a-zあ-ん0-9、。]{1,40}", 1..400), gap in "[ \n]") {
        let text = words.join(&gap);
        let bodies = reply(&text, &[], Lang::Ja);
        let bare = |s: &str| s.split_whitespace().collect::<String>();
        prop_assert_eq!(bare(&joined(&bodies)), bare(&unlink(&text)));
        let all: String = bodies.iter().map(|b| b.text.as_str()).collect();
        prop_assert_eq!(bare(&all), bare(&unlink(&text)));
    }

    #[test]
    fn plain_sentences_come_out_as_they_went_in(text in "[a-z<>&*_`あ。👨‍👩‍👧‍👦\n]{1,3000}") {
        let text = visible(&text);
        prop_assume!(!text.trim().is_empty());
        prop_assert_eq!(joined(&plain(&text, &[])), unlink(&text));
    }
}

#[test]
fn forty_thousand_characters_of_nested_marks_are_read() {
    for piece in ["> ", "[", "*a ", "**a", "- ", "`a``", "![", "<", "a_", "|", "\n> - 1. ", "~~", "<!", "&"] {
        reply(&piece.repeat(40_000 / piece.len()), &[], Lang::En).iter().for_each(assert_harmless);
    }
}
