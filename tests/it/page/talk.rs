//! Reading and writing: threads, unread marks, reactions, edits, what the bot is doing, files, commands.

use serde_json::json;

use super::bot::{api, bot, listener, mrkdwn, settings, workspace};
use super::browser::{Browser, DELETE, DOWN, END, ENTER, ESCAPE, RIGHT, TAB, UP, holds};
use sales_concierge::playground::workspace::{Message, Workspace};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_unread_is_marked_for_each_channel_and_thread_until_it_is_read() {
    let workspace = workspace().await;
    let root = workspace.say("U1", "C1", None, "誰か在庫を見てもらえますか").await.unwrap();
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C2").await;
    workspace.say("U2", "C1", None, "lunch is at noon").await.unwrap();
    workspace.say("U2", "C1", Some(root.as_str()), "見ました").await.unwrap();
    workspace.say("U2", "C1", Some(root.as_str()), "10個です").await.unwrap();
    page.says("[data-channel=C1].unread .number", "3").await;
    page.shows("return document.title.startsWith('(3) ')").await;
    let label = page.run("return document.querySelector('[data-channel=C1]').getAttribute('aria-label')").await;
    assert_eq!(label, "sales、未読 3 件");
    page.picture("unread-ja").await;

    page.client.refresh().await.unwrap();
    page.says("[data-channel=C1].unread .number", "3").await;
    page.click("[data-channel=C1]").await;
    page.says("#log .new-line", "ここから新着").await;
    page.says("#log .more.unread", "新着 2").await;
    page.says("#log .new-line + .message", "lunch is at noon").await;
    page.picture("new-line-ja").await;
    page.click("#log .more.unread").await;
    page.says("#thread-log .new-line + .message", "見ました").await;
    page.lacks("#log .more.unread").await;
    page.click("[data-channel=C2]").await;
    page.lacks("#places .unread").await;
    page.shows("return !document.title.startsWith('(')").await;

    // What one has read stays read, and one's own words are never new.
    page.client.refresh().await.unwrap();
    page.says("#where", "lunch").await;
    page.lacks("#places .unread").await;
    workspace.say("U1", "C1", None, "ありがとう").await.unwrap();
    workspace.say("U2", "C2", None, "hello").await.unwrap();
    page.says("#log", "hello").await;
    page.lacks("#places .unread").await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_is_found_and_opened_from_the_keyboard() {
    let workspace = workspace().await;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C1").await;
    page.press_with_ctrl("k").await;
    page.keys("ちょくはん").await;
    page.says("#places", "見つかりません").await;
    page.press_with_ctrl("k").await;
    page.keys("直販").await;
    page.shows("return document.querySelectorAll('#places [data-channel]').length === 1").await;
    page.picture("find-ja").await;
    page.keys(ENTER).await;
    page.says("#where", "直販チーム").await;
    page.says("#about", "非公開").await;
    page.shows("return document.activeElement.id === 'text' && document.querySelectorAll('#places [data-channel]').length === 4").await;
    // Full width finds half width, in any case.
    page.press_with_ctrl("k").await;
    page.keys("ＬＵＮ").await;
    page.keys(DOWN).await;
    page.keys(ENTER).await;
    page.says("#where", "lunch").await;
    page.says("#about", "ボットはいません").await;
    page.press_with_ctrl("k").await;
    page.keys(ESCAPE).await;
    page.shows("return document.activeElement.id === 'text'").await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reactions_are_given_shown_with_names_and_taken_back() {
    let workspace = workspace().await;
    let ts = workspace.say("U2", "C1", None, "10個あります").await.unwrap();
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C1").await;
    page.run("document.querySelector('#log .message').focus()").await;
    page.keys("r").await;
    page.keys(RIGHT).await;
    page.picture("reaction-picker-ja").await;
    page.keys(ENTER).await;
    page.says("#log .reaction.mine", "1").await;
    let given = async |n: usize| {
        let count =
            |m: &Message| m.reactions.iter().find(|r| r.name == "white_check_mark").map_or(0, |r| r.users.len());
        holds(&workspace, "the reactions are counted", |w| w.messages("C1").iter().any(|m| count(m) == n)).await;
    };
    page.shows("return document.querySelector('#log .reaction').getAttribute('aria-label').includes('見本 一郎')")
        .await;
    given(1).await;
    workspace.react("U2", "C1", ts.as_str(), "white_check_mark", true).await.unwrap();
    workspace.react("U2", "C1", ts.as_str(), "made_up_name", true).await.unwrap();
    page.says("#log .reaction", ":made_up_name:").await;
    page.says("#log .reaction.mine", "2").await;
    page.picture("reactions-ja").await;
    page.click("#log .reaction.mine").await;
    page.lacks("#log .reaction.mine").await;
    page.says("#log .reaction", "1").await;
    given(1).await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ones_own_words_are_edited_and_deleted_and_others_are_not() {
    let workspace = workspace().await;
    workspace.say("U2", "C1", None, "not yours").await.unwrap();
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C1").await;
    page.write("#text", &format!("@jane <hi> & おはよ{ENTER}")).await;
    page.says("#log", "@Jane Sample <hi> & おはよ").await;

    // The arrow upwards in an empty field takes the last of one's own words, as they were typed.
    page.keys(UP).await;
    page.shows("return document.querySelector('.edit textarea')?.value === '@jane <hi> & おはよ'").await;
    page.keys("う").await;
    page.picture("edit-ja").await;
    page.run(
        "document.querySelector('.edit textarea').dispatchEvent(
           new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, cancelable: true, isComposing: true}))",
    )
    .await;
    page.keys(ENTER).await;
    page.says("#log", "@Jane Sample <hi> & おはよう").await;
    page.says("#log .message:last-child .mark", "（編集済み）").await;
    assert_eq!(workspace.messages("C1")[1].text, "<@U2> &lt;hi&gt; &amp; おはよう");

    // Deleting asks first; the safe answer has the focus.
    page.shows("return document.activeElement.matches('.message')").await;
    page.keys(DELETE).await;
    page.says("#ask", "削除しますか").await;
    page.picture("delete-ja").await;
    page.keys(ENTER).await;
    page.lacks("#ask[open]").await;
    assert_eq!(workspace.messages("C1").len(), 2);
    page.keys(DELETE).await;
    page.says("#ask", "削除しますか").await;
    page.keys(TAB).await;
    page.keys(ENTER).await;
    page.shows("return document.querySelectorAll('#log .message').length === 1").await;
    assert_eq!(workspace.messages("C1").len(), 1);
    page.shows("return document.activeElement.matches('.message')").await;

    // A root with replies leaves a trace; nobody can change another's words.
    let root = workspace.say("U1", "C1", None, "消えます").await.unwrap();
    workspace.say("U2", "C1", Some(root.as_str()), "reply").await.unwrap();
    workspace.remove("U1", "C1", root.as_str()).await.unwrap();
    page.says("#log .gone", "削除されました").await;
    page.says("#log", "1 件の返信").await;
    page.run("document.querySelector('#log .message').focus()").await;
    page.keys("e").await;
    page.keys(DELETE).await;
    page.click_anywhere("#log .message [data-do=more]").await;
    page.says(".menu", "テキストをコピー").await;
    assert_eq!(page.run("return document.querySelector('.menu').innerText.includes('削除')").await, false);
    page.lacks(".edit").await;
    page.lacks("#ask[open]").await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_bot_is_doing_is_told_and_can_be_stopped() {
    let workspace = workspace().await;
    let dm = workspace.open_dm("U1").await.unwrap();
    let root = workspace.say("U1", dm.as_str(), None, "quiet").await.unwrap();
    let page = Browser::start(&workspace, false).await;
    page.open(&format!("as=U1&c=D1&t={root}")).await;
    let thread = json!({"channel_id": dm, "thread_ts": root});
    let with = |more: serde_json::Value| {
        let mut args = thread.clone();
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        args
    };
    let loading = ["顧客を探しています…", "販売を集計しています…"];
    let status = with(json!({"status": "考えています…", "loading_messages": loading}));
    api(&workspace, "assistant.threads.setStatus", status).await;
    api(&workspace, "agents.sessions.setStatus", with(json!({"status": "processing"}))).await;
    page.says("#status", loading[0]).await;
    page.says("#log .status", loading[0]).await;
    page.picture("status-ja").await;
    page.says("#status", loading[1]).await;
    page.click("#status .stop").await;
    holds(&workspace, "the bot was told", |w| w.deliveries().any(|d| d.kind == "agent_session_stopped")).await;
    api(&workspace, "agents.sessions.setStatus", with(json!({"status": "active"}))).await;
    api(&workspace, "chat.postMessage", json!({"channel": dm, "thread_ts": root, "text": "停止しました"})).await;
    page.says("#thread-log", "停止しました").await;
    page.lacks("#status:not([hidden])").await;
    api(&workspace, "assistant.threads.setTitle", with(json!({"title": "在庫の確認"}))).await;
    page.says("#thread-title", "在庫の確認").await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streamed_answer_grows_in_its_place_and_others_wait_for_its_end() {
    let workspace = workspace().await;
    let root = workspace.say("U1", "C1", None, "まとめてください").await.unwrap();
    let page = Browser::start(&workspace, false).await;
    page.open(&format!("as=U1&c=C1&t={root}")).await;
    let started = api(
        &workspace,
        "chat.startStream",
        json!({"channel": "C1", "thread_ts": root, "recipient_user_id": "U1", "recipient_team_id": "T1", "markdown_text": "## まとめ\n\n"}),
    )
    .await;
    page.says("#thread-log .streaming", "まとめ").await;
    // In a channel it grows before the eyes of one person; the others see that something is coming.
    let other = Browser::start(&workspace, true).await;
    other.open(&format!("as=U2&c=C1&t={root}")).await;
    other.says("#thread-log .streaming", "Writing…").await;
    page.run("window.first = document.querySelector('#thread-log .message'); window.grown = document.querySelector('#thread-log .streaming')").await;
    for line in ["- **直販**は12件です\n", "- 卸は3件です\n"] {
        api(&workspace, "chat.appendStream", json!({"channel": "C1", "ts": started["ts"], "markdown_text": line}))
            .await;
    }
    page.says("#thread-log .streaming", "卸は3件です").await;
    page.shows("return Boolean(document.querySelector('#thread-log .streaming .caret'))").await;
    page.picture("streaming-ja").await;
    let rating = json!([{"type": "context_actions", "elements": [{
        "type": "feedback_buttons", "action_id": "rate",
        "positive_button": {"text": {"type": "plain_text", "text": "良い"}, "value": "good"},
        "negative_button": {"text": {"type": "plain_text", "text": "悪い"}, "value": "bad"},
    }]}]);
    api(
        &workspace,
        "chat.stopStream",
        json!({"channel": "C1", "ts": started["ts"], "markdown_text": "以上です。", "blocks": rating}),
    )
    .await;
    page.says("#thread-log", "以上です。").await;
    page.lacks(".caret").await;
    page.shows("return document.querySelectorAll('#thread-log .body li').length === 2 && document.querySelector('#thread-log .body li b').textContent === '直販'").await;
    // The message grew; it was not drawn anew, and neither was the one before it.
    page.shows("return window.first.isConnected && window.grown.isConnected").await;
    page.click("#thread-log [data-do=feel]").await;
    page.shows("return document.querySelector('#thread-log [data-do=feel]').getAttribute('aria-pressed') === 'true'")
        .await;
    page.says("#thread-log .ephemeral", "chosen: \"good\"").await;
    other.says("#thread-log", "以上です。").await;
    other.close().await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_sent_shown_and_offered_for_download() {
    let workspace = workspace().await;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C1").await;
    let dir = tempfile::tempdir().unwrap();
    let (table, picture) = (dir.path().join("販売 一覧.csv"), dir.path().join("写真.png"));
    std::fs::write(&table, "日付,金額\n2026-11-24,600\n").unwrap();
    std::fs::write(&picture, png()).unwrap();
    for path in [&table, &picture] {
        page.run("document.querySelector('#composer input[type=file]').hidden = false").await;
        page.write("#composer input[type=file]", path.to_str().unwrap()).await;
    }
    page.says("#log .file", "販売 一覧.csv").await;
    page.shows("return document.querySelector('#log .picture-file img')?.naturalWidth === 2").await;
    page.picture("files-ja").await;
    let read = "return (await fetch(document.querySelector('#log .file a[download]').href)).text()";
    assert_eq!(page.run(read).await, "日付,金額\n2026-11-24,600\n");
    assert_eq!(workspace.messages("C1").iter().map(|m| m.files.len()).sum::<usize>(), 2);
    page.close().await;
    workspace.stop().await;
}

/// Two red pixels.
fn png() -> Vec<u8> {
    hex(
        "89504e470d0a1a0a0000000d49484452000000020000000108020000007b40e8dd0000000d49444154789c633860220b440008c40223cb7ae1f70000000049454e44ae426082",
    )
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_mentions_and_lines_are_typed_and_half_a_word_is_never_sent() {
    let workspace = workspace().await;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C1").await;
    page.write("#text", &format!("/sales 今月{ENTER}")).await;
    page.says("#log .ephemeral", "/sales を受け付けました: 今月").await;
    page.says("#log .ephemeral", "あなただけに表示されています").await;
    assert!(workspace.messages("C1").is_empty());

    // A name is offered as soon as it is begun, and Enter takes it without sending.
    page.write("#text", "@con").await;
    page.says(".list", "Concierge").await;
    page.picture("mention-ja").await;
    page.keys(ENTER).await;
    page.shows("return document.getElementById('text').value === '@concierge ' && !document.querySelector('.list')")
        .await;
    page.keys("先週の\u{E008}\u{E007}\u{E000}販売").await;
    page.run(
        "const t = document.getElementById('text');
         for (const how of [{isComposing: true}, {keyCode: 229}])
           t.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, cancelable: true, ...how}))",
    )
    .await;
    assert_eq!(page.run("return document.getElementById('text').value").await, "@concierge 先週の\n販売");
    assert!(workspace.messages("C1").is_empty());
    // What is being written is kept for each place, and across a reload.
    page.click("[data-channel=C2]").await;
    page.says("#where", "lunch").await;
    page.shows("return document.getElementById('text').value === ''").await;
    page.client.refresh().await.unwrap();
    page.says("#where", "lunch").await;
    page.click("[data-channel=C1]").await;
    page.shows("return document.getElementById('text').value === '@concierge 先週の\\n販売'").await;
    page.write("#text", ENTER).await;
    page.says("#thread-log", "先週の").await;
    assert_eq!(workspace.messages("C1")[0].text, "<@UBOT> 先週の\n販売");
    page.shows("return document.getElementById('text').value === ''").await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_of_many_messages_is_read_backwards() {
    let workspace = workspace().await;
    for n in 0..200 {
        workspace.say("U2", "C2", None, &format!("message {n}.")).await.unwrap();
    }
    let root = workspace.messages("C2")[0].ts.clone();
    for n in 0..150 {
        workspace.say("U2", "C2", Some(root.as_str()), &format!("reply {n}.")).await.unwrap();
    }
    let page = Browser::start(&workspace, false).await;
    page.open("as=U1&c=C2").await;
    page.says("#log", "message 199.").await;
    assert!(page.run("return document.querySelectorAll('#log .message').length").await.as_u64().unwrap() < 100);
    // The message that was at the top stays where it was when older ones come above it.
    page.run("document.getElementById('scroll').scrollTop = 300").await;
    page.says("#log", "message 100.").await;
    page.shows("return document.getElementById('scroll').scrollTop > 1000").await;
    page.shows("document.getElementById('scroll').scrollTop = 0; return document.getElementById('log').innerText.includes('message 0.')").await;
    page.lacks("#log .older").await;
    page.says("#log .more", "150 件の返信").await;
    workspace.say("U2", "C2", None, "the newest").await.unwrap();
    page.shows("return !document.getElementById('newer').hidden").await;
    page.click_anywhere("#log .more").await;
    page.says("#thread-log", "reply 149.").await;
    page.click("#thread-log [data-do=older-replies]").await;
    page.says("#thread-log", "reply 0.").await;
    page.click("#close").await;
    page.click("#newer").await;
    page.says("#log", "the newest").await;
    page.shows("const s = document.getElementById('scroll'); return s.scrollHeight - s.scrollTop - s.clientHeight < 5")
        .await;
    page.keys(END).await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_of_the_bot_and_examples_are_one_click_away() {
    let workspace = bot(Workspace::start(listener().await, settings()).await.unwrap()).await.workspace;
    let dm = workspace.open_dm("U2").await.unwrap();
    let prompts = json!([{"title": "This month", "message": "What did we sell this month?"}]);
    api(&workspace, "assistant.threads.setSuggestedPrompts", json!({"channel_id": dm, "prompts": prompts})).await;
    let page = Browser::start(&workspace, true).await;
    page.open("as=U2").await;
    page.says("#examples", "This month").await;
    page.picture("prompts-phone-en").await;
    page.click("#examples .chip").await;
    page.shows("return document.getElementById('text').value === 'What did we sell this month?'").await;
    page.click("#send").await;
    page.says("#thread-log", "登録しますか").await;
    assert_eq!(workspace.messages("D2")[0].text, "What did we sell this month?");
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ephemeral_message_and_a_private_channel_are_seen_by_those_they_are_for() {
    let workspace = workspace().await;
    api(&workspace, "chat.postEphemeral", json!({"channel": "C1", "user": "U2", "text": "psst"})).await;
    let blocks = json!([{"type": "section", "text": mrkdwn("<#C3> <#C2|other> <@U404> <!subteam^S404|@admins> <!subteam^S1|@x> <!here>")}]);
    api(&workspace, "chat.postMessage", json!({"channel": "C1", "text": "names", "blocks": blocks})).await;
    let page = Browser::start(&workspace, false).await;
    page.open("as=U2&c=C1").await;
    page.says("#log .ephemeral", "psst").await;
    page.says("#log .ephemeral", "Only visible to you").await;
    page.says("#log", "#private channel #lunch @unknown user @unknown group @卸担当 @here").await;
    page.lacks("[data-channel=C3]").await;
    page.run("const w = document.getElementById('who'); w.value = 'U1'; w.dispatchEvent(new Event('change'))").await;
    page.says("#places", "直販チーム").await;
    page.click("[data-channel=C1]").await;
    page.says("#log", "#直販チーム #lunch @不明なユーザー @不明なグループ @卸担当 @here").await;
    page.lacks("#log .ephemeral").await;
    page.close().await;
    workspace.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_in_a_list_is_kept_behind_a_thread_and_the_newest_is_shown_after_home() {
    let workspace = workspace().await;
    workspace.open_dm("U1").await.unwrap();
    for n in 0..50 {
        workspace.say("U1", "D1", None, &format!("quiet {n}.")).await.unwrap();
    }
    let root = workspace.messages("D1")[20].ts.clone();
    workspace.say("U1", "D1", Some(root.as_str()), "quiet reply").await.unwrap();
    let page = Browser::start(&workspace, true).await;
    page.open("as=U1").await;
    page.says("#log", "quiet 49.").await;
    page.run("document.querySelector('#log .more').scrollIntoView({block: 'center'}); window.top0 = document.getElementById('scroll').scrollTop").await;
    page.click("#log .more").await;
    page.says("#thread-log", "quiet reply").await;
    page.click("#back").await;
    page.shows("return Math.abs(document.getElementById('scroll').scrollTop - window.top0) < 5").await;
    page.click("#tab-home").await;
    page.says("#home", "今月の販売").await;
    page.click("#tab-messages").await;
    page.shows("const s = document.getElementById('scroll'); return s.scrollTop > 0 && s.scrollHeight - s.scrollTop - s.clientHeight < 5").await;
    page.close().await;
    workspace.stop().await;
}
