//! How the page looks and is read out: names of controls, contrast, hostile words, widths, both languages.

use serde_json::{Value, json};

use super::bot::{api, card, gallery, mrkdwn, plain, workspace};
use super::browser::{Browser, ENTER, PHONE, TAB, UP};

/// What is wrong with the page as a screen reader would meet it: controls without a name, ids that are there twice,
/// references that lead nowhere, focusable things that are hidden.
const FAULTS: &str = r#"
const faults = [];
const shown = (e) => e.checkVisibility({ visibilityProperty: true });
const name = (e) => {
  const by = e.getAttribute('aria-labelledby');
  if (by) return by.split(' ').map((id) => document.getElementById(id)?.textContent || '').join(' ').trim();
  const label = e.labels && [...e.labels].map((l) => l.textContent).join(' ').trim();
  return (e.getAttribute('aria-label') || label || e.textContent || e.alt || '').trim();
};
const say = (what, e) => faults.push(what + ': ' + e.outerHTML.slice(0, 160));
const controls = 'button, a[href], input:not([type=hidden]), select, textarea, [role=tab], [role=menuitem], [role=listbox], [role=group], [role=radiogroup], nav, aside, dialog[open], img, [tabindex="0"]';
for (const e of document.querySelectorAll(controls)) {
  if (shown(e) && !name(e) && !(e.tagName === 'IMG' && e.alt === '')) say('no name', e);
}
const ids = new Set();
for (const e of document.querySelectorAll('[id]')) { if (ids.has(e.id)) say('id twice', e); ids.add(e.id); }
for (const attribute of ['aria-labelledby', 'aria-describedby', 'aria-activedescendant']) {
  for (const e of document.querySelectorAll('[' + attribute + ']')) {
    for (const id of e.getAttribute(attribute).split(' ')) if (shown(e) && !document.getElementById(id)) say(attribute + ' leads nowhere', e);
  }
}
for (const e of document.querySelectorAll('[aria-hidden=true]')) {
  if (e.matches('button, a, input, [tabindex]') || e.querySelector('button, a, input, [tabindex="0"]')) say('hidden and focusable', e);
}
for (const e of document.querySelectorAll('ul, ol')) {
  for (const child of e.children) if (child.tagName !== 'LI') say('not an item', child);
}
return faults;
"#;

/// Text whose contrast with what lies behind it is below WCAG's AA.
const PALE: &str = r#"
const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
const over = (top, below) => { const a = top[3] / 255; return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a)); };
const behind = (e) => {
  const layers = [];
  for (let n = e; n; n = n.parentElement) {
    const style = getComputedStyle(n);
    const gradient = /(rgba?\([^)]*\)|color\([^)]*\))/.exec(style.backgroundImage);
    layers.push(rgba(gradient ? gradient[1] : style.backgroundColor));
    if (layers[layers.length - 1][3] === 255) break;
  }
  return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
};
const light = ([r, g, b]) => [r, g, b].map((c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }).reduce((s, c, i) => s + c * [0.2126, 0.7152, 0.0722][i], 0);
const pale = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const e = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !e.checkVisibility({ visibilityProperty: true }) || e.closest('.unseen, option, .emoji, [aria-disabled=true], .pending')) continue;
  const style = getComputedStyle(e);
  const back = behind(e);
  const [a, b] = [light(over(rgba(style.color), back)), light(back)].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
  if (ratio < (large ? 3 : 4.5)) pale.push(ratio.toFixed(2) + ' ' + e.className + ': ' + walker.currentNode.data.trim().slice(0, 40));
}
return [...new Set(pale)];
"#;

async fn is_sound(page: &Browser, state: &str) {
    assert_eq!(page.run(FAULTS).await, json!([]), "{state}");
    assert_eq!(page.run(PALE).await, json!([]), "{state}");
    let wide = "const d = document.documentElement; return d.scrollWidth <= d.clientWidth";
    assert_eq!(page.run(wide).await, true, "{state} is wider than the window");
}

async fn colours(page: &Browser, theme: &str) {
    page.run(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_state_is_sound_in_both_languages_both_colours_and_both_widths() {
    let workspace = workspace().await;
    gallery(&workspace).await;
    let root = workspace.messages("C1")[1].ts.clone();
    for phone in [false, true] {
        let page = Browser::start(&workspace, phone).await;
        let width = if phone { "phone" } else { "desktop" };
        for (person, lang) in [("U1", "ja"), ("U2", "en")] {
            page.open(&format!("as={person}&c=C1")).await;
            page.client.refresh().await.unwrap();
            let state = async |name: &str| {
                for theme in ["light", "dark"] {
                    let name = format!("{name}-{width}-{theme}-{lang}");
                    colours(&page, theme).await;
                    is_sound(&page, &name).await;
                    page.picture(&name).await;
                }
            };
            page.says("#log", "期間を選んでください").await;
            state("channel-end").await;
            page.run("document.getElementById('scroll').scrollTop = 0").await;
            state("channel").await;
            page.run(&format!("location.hash = 'as={person}&c=C1&t={root}'")).await;
            page.says("#thread-log", "合計 3,000円").await;
            state("thread").await;
            page.run(&format!("location.hash = 'as={person}'")).await;
            page.says("#where", "Concierge").await;
            state("dm").await;
            page.run("document.getElementById('tab-home').click()").await;
            page.says("#home", "12件").await;
            state("home").await;
            page.click_anywhere("#home [data-action=open]").await;
            page.says("#modal", "販売を編集").await;
            state("modal").await;
            page.click_anywhere("#modal [data-view=dismiss]").await;
            page.lacks("#modal[open]").await;
            if phone {
                page.click("#menu").await;
                page.shows("return document.getElementById('side').getBoundingClientRect().left === 0").await;
                state("side").await;
            }
        }
        page.close().await;
    }
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn asking_reading_the_card_and_pressing_need_nothing_but_the_keyboard() {
    let workspace = workspace().await;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C2").await;
    page.press_with_ctrl("k").await;
    page.keys(&format!("conc{ENTER}")).await;
    page.says("#where", "Concierge").await;
    page.keys(&format!("かぼちゃを登録して{ENTER}")).await;
    page.says("#thread-log", "販売を登録しますか？").await;
    // The field of the thread has the focus; before it in the order come the card's buttons.
    page.shows("return document.activeElement.id === 'thread-text'").await;
    let focus =
        async || page.run("return document.activeElement.dataset.action || document.activeElement.className").await;
    for _ in 0..8 {
        page.press_shift_tab().await;
        if focus().await == "no" {
            break;
        }
    }
    assert_eq!(focus().await, "no");
    page.shows("return getComputedStyle(document.activeElement).outlineStyle === 'solid'").await;
    page.picture("keyboard-ja").await;
    // The list of messages is walked with the arrows, from the card to the question and back.
    page.run("document.activeElement.closest('.message').focus()").await;
    page.keys(UP).await;
    page.shows("return document.activeElement.innerText.includes('かぼちゃを登録して')").await;
    page.keys("\u{E015}").await;
    page.shows("return document.activeElement.innerText.includes('販売を登録しますか')").await;
    page.keys(TAB).await;
    assert_eq!(focus().await, "yes");
    page.keys(ENTER).await;
    page.says("#thread-log", "登録しました S1").await;
    page.shows("return document.activeElement !== document.body").await;
    page.says("#said", "Concierge: card").await;
    page.keys("\u{E00C}").await;
    page.lacks("#thread:not([hidden])").await;
    page.shows("return document.activeElement !== document.body").await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_words_stay_words_and_within_their_place() {
    let workspace = workspace().await;
    let evil = "<img src=x onerror=window.owned=1> &lt;script&gt;window.owned=1&lt;/script&gt; <javascript:owned()|x>";
    let cell = |text: &str| json!({"type": "raw_text", "text": text});
    let wide: Vec<Value> = (0..20).map(|n| cell(&format!("column {n} {}", "x".repeat(16)))).collect();
    let rows: Vec<Value> = (0..10).map(|_| json!(wide)).collect();
    let cases = [
        json!([{"type": "section", "text": mrkdwn(evil)}]),
        json!([{"type": "markdown", "text": "[x](javascript:owned()) <i>raw</i> [https://bank.example](https://evil.example/a)"}]),
        json!([{"type": "context", "elements": [mrkdwn(evil)]}]),
        json!([{"type": "section", "text": mrkdwn("<@U2|admin> <@U404|Jane Sample> \u{202E}txet gnorw\u{202C} after")}]),
        json!([{"type": "section", "text": plain(&"long".repeat(700))}]),
        json!([{"type": "section", "text": mrkdwn(&"*_~`<".repeat(500))}]),
        json!([{"type": "table", "rows": rows}]),
        json!([{"type": "header", "text": plain("\u{202E}header")}]),
        json!([{"type": "data_visualization", "title": "月別", "chart": {"type": "pie", "segments": [{"label": "直販", "value": 12}, {"label": "卸", "value": 3}]}}]),
    ];
    for blocks in cases {
        api(&workspace, "chat.postMessage", json!({"channel": "C1", "text": evil, "blocks": blocks})).await;
    }
    // A person's own words may be long, and made to be slow to read.
    for text in
        ["*a ".repeat(6000), "```".repeat(5000), "[](".repeat(6000), "\u{202E}rtl".repeat(10), "w".repeat(20_000)]
    {
        workspace.say("U1", "C1", None, &text).await.unwrap();
    }
    workspace.say("U1", "C1", None, "the end").await.unwrap();
    for phone in [false, true] {
        let page = Browser::start(&workspace, phone).await;
        page.open("as=U1&c=C1").await;
        page.says("#log", "the end").await;
        page.says("#log", "<script>window.owned=1</script>").await;
        page.says("#log", "@Jane Sample @不明なユーザー").await;
        page.says("#log", "https://bank.example (evil.example)").await;
        let markup = "return document.querySelectorAll('#log :is(img, script, u, a[href^=javascript])').length";
        assert_eq!(page.run(markup).await, 0);
        assert_eq!(page.run("return window.owned === undefined").await, true);
        assert_eq!(page.run(FAULTS).await, json!([]));
        let out = "const edge = document.getElementById('scroll').clientWidth;
            return [...document.querySelectorAll('#log .message > *, #log .body > *')].filter((e) => e.getBoundingClientRect().right > edge + 300).length";
        assert_eq!(page.run(out).await, 0);
        let width = page.run("return document.documentElement.scrollWidth").await;
        assert_eq!(
            width,
            if phone { json!(PHONE) } else { page.run("return document.documentElement.clientWidth").await }
        );
        // Words written from right to left turn no other words around.
        let alone = "return [...document.querySelectorAll('#log .body .text, #log .body .header')].every((e) => ['plaintext', 'isolate'].includes(getComputedStyle(e).unicodeBidi))";
        assert_eq!(page.run(alone).await, true);
        page.run("document.querySelector('#log .table').scrollIntoView({block: 'center'})").await;
        page.picture(if phone { "hostile-phone" } else { "hostile-desktop" }).await;
        page.close().await;
    }
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn colours_follow_the_system_until_somebody_chooses_and_the_choice_is_kept() {
    let workspace = workspace().await;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1").await;
    // The checks of this file see what they are there for.
    is_sound(&page, "an empty conversation").await;
    page.run(
        "document.getElementById('where').style.color = '#999';
         document.querySelector('#composer').append(document.createElement('button'))",
    )
    .await;
    assert_eq!(page.run(PALE).await.as_array().unwrap().len(), 1);
    assert_eq!(page.run(FAULTS).await.as_array().unwrap().len(), 1);
    page.client.refresh().await.unwrap();
    page.says("#where", "Concierge").await;

    let back = "return getComputedStyle(document.body).backgroundColor";
    assert_eq!(page.run(back).await, "rgb(255, 255, 255)");
    page.click("#theme").await;
    page.shows("return getComputedStyle(document.body).backgroundColor === 'rgb(23, 26, 28)'").await;
    page.shows("return document.getElementById('theme').getAttribute('aria-label') === '配色: ダーク'").await;
    page.client.refresh().await.unwrap();
    page.says("#where", "Concierge").await;
    assert_eq!(page.run(back).await, "rgb(23, 26, 28)");
    page.click("#theme").await;
    page.click("#theme").await;
    page.shows("return document.documentElement.dataset.theme === undefined && localStorage.getItem('theme') === null")
        .await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_speaks_the_language_of_the_person_in_it() {
    let workspace = workspace().await;
    let dm = workspace.open_dm("U2").await.unwrap();
    api(&workspace, "chat.postMessage", json!({"channel": dm, "text": "card", "blocks": card()})).await;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U2").await;
    page.shows("return document.documentElement.lang === 'en'").await;
    page.says("#send", "Send").await;
    page.says("#tabs", "Home").await;
    page.run("const w = document.getElementById('who'); w.value = 'U1'; w.dispatchEvent(new Event('change'))").await;
    page.shows("return document.documentElement.lang === 'ja'").await;
    page.says("#send", "送信").await;
    page.says("#tabs", "ホーム").await;
    // Back and forward lead through people and places.
    page.client.back().await.unwrap();
    page.says("#send", "Send").await;
    page.close().await;
    workspace.stop().await;
}

/// Text as Slack has it, and what of it is seen: marks as `tag(words)`.
const MRKDWN: [(&str, &str); 31] = [
    ("*太字* と _斜体_ と ~消し線~", "b(太字) と i(斜体) と s(消し線)"),
    ("日本語*太字*日本語", "日本語*太字*日本語"),
    ("（*太字*）、*次*。", "（b(太字)）、b(次)。"),
    ("snake_case_word 2*3*4", "snake_case_word 2*3*4"),
    ("* 空白 *", "* 空白 *"),
    ("*a* *b*", "b(a) b(b)"),
    ("*一行\n二行*", "*一行\n二行*"),
    ("*_両方_*", "b(i(両方))"),
    ("`*code*` と `a", "code(*code*) と `a"),
    ("```\n*x*\n```", "pre(*x*)"),
    ("前 ```x``` 後", "前 |pre(x)| 後"),
    ("```閉じない", "```閉じない"),
    ("&lt;b&gt; &amp;amp; &amp;lt;", "<b> &amp; &lt;"),
    ("<https://example.com/a?b=1&amp;c=2|資料>", "a(資料)"),
    ("<https://example.com>", "a(https://example.com)"),
    ("https://example.com/a.", "a(https://example.com/a)."),
    ("（https://example.com/あ）", "（a(https://example.com/あ)）"),
    ("<https://evil.example/x|www.bank.example>", "a(www.bank.example) (evil.example)"),
    ("<mailto:a@example.com|a@example.com>", "a(a@example.com)"),
    ("<javascript:alert(1)|x>", "x"),
    ("<data:text/html,x>", "data:text/html,x"),
    ("<@U1> <@U2|boss>", "@見本 一郎 @Jane Sample"),
    ("<#C1|other>", "#sales"),
    ("<!channel> <!everyone|x>", "@channel @everyone"),
    ("<!date^1796000000^{date_num} {time}|昔>", "time(2026/11/30 09:53)"),
    ("<!date^x^{date}|昔>", "time(昔)"),
    (":tada: :no_such_thing: 10:30", "🎉 :no_such_thing: 10:30"),
    ("&gt; 引用\n&gt; 続き\n外", "blockquote(引用\n続き)|外"),
    ("a < b > c", "a < b > c"),
    ("\n\n前後の空行\n\n", "前後の空行"),
    ("", ""),
];

#[tokio::test(flavor = "multi_thread")]
async fn words_are_formatted_as_slack_formats_them() {
    let workspace = workspace().await;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C1").await;
    let read = "
        const [cases, done] = arguments;
        const said = (n) => n.nodeType === 3 ? n.data : ['SPAN', 'DIV'].includes(n.tagName) ? [...n.childNodes].map(said).join('')
          : n.tagName.toLowerCase() + '(' + [...n.childNodes].map(said).join('') + ')';
        import('/text.js').then((text) => done(cases.map((c) => text.mrkdwn(c).map(said).join('|'))), (e) => done(String(e)));";
    let texts: Vec<&str> = MRKDWN.iter().map(|c| c.0).collect();
    let seen = page.client.execute_async(read, vec![json!(texts)]).await.unwrap();
    let wrong: Vec<String> = (MRKDWN.iter().enumerate())
        .filter(|(i, (_, wanted))| seen[i] != *wanted)
        .map(|(i, (text, wanted))| format!("{text:?} is shown as {}, not as {wanted:?}", seen[i]))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    page.close().await;
    workspace.stop().await;
}
