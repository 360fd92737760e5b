//! The workspace of the page's tests, and a bot of a few lines that shows everything a page must draw.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Form, State};
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use hyper_util::rt::TokioExecutor;
use sales_concierge::domain::{Clock, Lang, UserId};
use sales_concierge::playground::workspace::{Channel, Group, Seed, Settings, Workspace};
use serde_json::{Value, json};
use tokio::net::TcpListener;

pub async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

/// A bot that can be told to be away: it then answers everything with 503.
#[derive(Clone)]
pub struct Bot {
    pub workspace: Workspace,
    pub away: Arc<AtomicBool>,
}

/// Two people, two channels and a private one, a banner and an example.
pub fn settings() -> Settings {
    let mut seed = Seed::small();
    seed.users[0].title = "販売担当".into();
    let id = UserId::new("U2");
    seed.groups
        .push(Group { id: "S1".into(), handle: "卸担当".into(), name: "卸担当".into(), members: vec![id] });
    seed.channels.push(Channel::private("C3", "直販チーム", &["U1", "UBOT"]));
    let known = Settings::new(seed, Clock::system());
    Settings {
        banner: Some(|lang| if lang == Lang::Ja { "お知らせ".into() } else { "Notice".into() }),
        examples: |_| vec!["0002の先週の販売は？".into()],
        // More than the manifest asks for today: the page shows all that a bot may come to do.
        home_tab: true,
        limits: false,
        events: [known.events.clone(), vec!["agent_session_stopped".into()]].concat(),
        scopes: [
            known.scopes.clone(),
            ["commands", "reactions:write", "assistant:write", "files:write"].map(String::from).into(),
        ]
        .concat(),
        ..known
    }
}

pub async fn workspace() -> Workspace {
    bot(Workspace::start(listener().await, settings()).await.unwrap()).await.workspace
}

/// Puts a bot beside a workspace.
pub async fn bot(workspace: Workspace) -> Bot {
    let bot = Bot { workspace: workspace.clone(), away: Arc::default() };
    let app = Router::new()
        .route("/events", post(on_event))
        .route("/interactions", post(on_interaction))
        .route("/options", post(on_options))
        .route("/commands", post(on_command))
        .with_state(bot.clone());
    let listener = listener().await;
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    workspace.set_bot_urls(&format!("{base}/events"), &format!("{base}/interactions"));
    workspace.set_more_urls(&format!("{base}/commands"), &format!("{base}/options"));
    bot
}

/// A Web API call that must succeed.
pub async fn api(workspace: &Workspace, method: &str, args: Value) -> Value {
    let client: hyper_util::client::legacy::Client<_, Body> =
        hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build_http();
    let request = Request::post(format!("{}{method}", workspace.api_url()))
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {}", workspace.bot_token().reveal()))
        .body(Body::from(args.to_string()))
        .unwrap();
    let body = client.request(request).await.unwrap().into_body();
    let answer: Value =
        serde_json::from_slice(&axum::body::to_bytes(Body::new(body), usize::MAX).await.unwrap()).unwrap();
    assert_eq!(answer["ok"], true, "{method}: {answer}");
    answer
}

pub fn plain(text: &str) -> Value {
    json!({"type": "plain_text", "text": text})
}

pub fn mrkdwn(text: &str) -> Value {
    json!({"type": "mrkdwn", "text": text})
}

fn option(text: &str, value: &str) -> Value {
    json!({"text": plain(text), "value": value})
}

pub fn button(action: &str, text: &str) -> Value {
    json!({"type": "button", "action_id": action, "value": "P1", "text": plain(text)})
}

/// The card of a proposed sale.
pub fn card() -> Value {
    let mut yes = button("yes", "登録する");
    yes["style"] = "primary".into();
    json!([
        {"type": "header", "text": plain("販売を登録しますか？")},
        {"type": "section", "fields": [plain("顧客\n見本商店（0002）"), plain("金額\n600円")]},
        {"type": "section", "text": plain("商品\nかぼちゃ4個")},
        {"type": "context", "elements": [plain("まだ登録されていません")]},
        {"type": "actions", "elements": [yes, button("no", "やめる")]},
    ])
}

/// A modal with every kind of input.
pub fn modal() -> Value {
    let input = |id: &str, label: &str, element: Value| json!({"type": "input", "block_id": id, "label": plain(label), "element": element});
    let products: Vec<Value> = ["かぼちゃ", "とまと", "なす", "きゅうり"].map(|p| option(p, p)).into();
    let mut note = input("note", "メモ", json!({"type": "plain_text_input", "action_id": "v", "multiline": true}));
    let mut marks = input(
        "marks",
        "印",
        json!({"type": "checkboxes", "action_id": "v", "options": [option("急ぎ", "urgent"), option("贈答用", "gift")]}),
    );
    (note["optional"], marks["optional"]) = (true.into(), true.into());
    note["hint"] = plain("社内だけに表示されます");
    json!({
        "type": "modal", "callback_id": "sale", "notify_on_close": true,
        "title": plain("販売を編集"), "submit": plain("保存する"), "close": plain("閉じる"),
        "blocks": [
            {"type": "section", "text": mrkdwn("*見本商店（0002）* の販売を直します")},
            input("day", "日付", json!({"type": "datepicker", "action_id": "v", "initial_date": "2026-11-24"})),
            input("product", "商品", json!({"type": "static_select", "action_id": "v", "options": products, "placeholder": plain("商品を選ぶ")})),
            input("customer", "顧客", json!({"type": "external_select", "action_id": "v", "min_query_length": 1})),
            input("amount", "金額", json!({"type": "number_input", "action_id": "v", "is_decimal_allowed": false, "initial_value": "600"})),
            input("tax", "税", json!({"type": "radio_buttons", "action_id": "v", "options": [option("税込", "in"), option("税抜", "out")], "initial_option": option("税込", "in")})),
            marks,
            note,
        ],
    })
}

async fn on_event(State(bot): State<Bot>, body: Bytes) -> StatusCode {
    if bot.away.load(Ordering::SeqCst) {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    let envelope: Value = serde_json::from_slice(&body).unwrap();
    let event = envelope["event"].clone();
    if event["type"] == "app_home_opened" && event["tab"] == "home" {
        let view = json!({"type": "home", "blocks": [
            {"type": "header", "text": plain("今月の販売")},
            {"type": "section", "text": mrkdwn("*12件* を登録しました")},
            {"type": "actions", "elements": [button("open", "販売を登録する")]},
        ]});
        tokio::spawn(async move {
            api(&bot.workspace, "views.publish", json!({"user_id": event["user"], "view": view})).await;
        });
    } else if event["type"] == "message"
        && event.get("subtype").is_none()
        && event.get("bot_id").is_none()
        && event["channel_type"] == "im"
    {
        tokio::spawn(async move { answer(&bot.workspace, &event).await });
    }
    StatusCode::OK
}

async fn answer(workspace: &Workspace, event: &Value) {
    let thread = event.get("thread_ts").unwrap_or(&event["ts"]);
    let text = event["text"].as_str().unwrap_or("");
    let to = |text: &str, blocks: Value| json!({"channel": event["channel"], "thread_ts": thread, "text": text, "blocks": blocks});
    if text.contains("quiet") {
        return;
    }
    if text.contains("edit") {
        let blocks = json!([{"type": "actions", "elements": [button("open", "編集")]}]);
        api(workspace, "chat.postMessage", to("edit", blocks)).await;
        return;
    }
    api(workspace, "chat.postMessage", to("card", card())).await;
}

#[derive(serde::Deserialize)]
struct Interaction {
    payload: String,
}

async fn on_interaction(State(bot): State<Bot>, Form(form): Form<Interaction>) -> Response {
    let payload: Value = serde_json::from_str(&form.payload).unwrap();
    if bot.away.load(Ordering::SeqCst) || payload["actions"][0]["action_id"] == "no" {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    match payload["type"].as_str() {
        Some("view_submission") => submitted(&bot.workspace, &payload),
        Some("block_actions") => {
            let workspace = bot.workspace.clone();
            tokio::spawn(async move { pressed(&workspace, &payload).await });
            StatusCode::OK.into_response()
        }
        _ => StatusCode::OK.into_response(),
    }
}

async fn pressed(workspace: &Workspace, payload: &Value) {
    let action = &payload["actions"][0];
    match action["action_id"].as_str() {
        Some("open") => {
            api(workspace, "views.open", json!({"trigger_id": payload["trigger_id"], "view": modal()})).await;
        }
        Some("yes") => {
            let args = json!({
                "channel": payload["channel"]["id"], "ts": payload["message"]["ts"], "text": "登録しました S1",
            });
            api(workspace, "chat.update", args).await;
        }
        Some("slow") => tokio::time::sleep(Duration::from_secs(1)).await,
        _ => {
            let args = json!({
                "channel": payload["channel"]["id"], "user": payload["user"]["id"], "thread_ts": payload["container"]["thread_ts"],
                "text": format!("chosen: {}", chosen(action)),
            });
            api(workspace, "chat.postEphemeral", args).await;
        }
    }
}

fn chosen(action: &Value) -> String {
    let option = action["selected_option"]["value"].as_str();
    let many = action["selected_options"].as_array();
    let many = many.map(|all| all.iter().filter_map(|o| o["value"].as_str()).collect::<Vec<_>>().join("+"));
    let date = action["selected_date"].as_str();
    option.map(str::to_owned).or(many).or(date.map(str::to_owned)).unwrap_or_else(|| action["value"].to_string())
}

/// An amount of nothing is refused; 999 is asked about in a second modal.
fn submitted(workspace: &Workspace, payload: &Value) -> Response {
    let values = &payload["view"]["state"]["values"];
    let amount = values["amount"]["v"]["value"].as_str().unwrap_or("").to_owned();
    if payload["view"]["callback_id"] == "sure" {
        return axum::Json(json!({"response_action": "clear"})).into_response();
    }
    if amount == "0" {
        let errors = json!({"response_action": "errors", "errors": {"amount": "1円以上を入力してください"}});
        return axum::Json(errors).into_response();
    }
    if amount == "999" {
        let view = json!({
            "type": "modal", "callback_id": "sure", "title": plain("確認"), "submit": plain("はい"), "close": plain("いいえ"),
            "blocks": [{"type": "section", "text": plain("999円でよろしいですか？")}],
        });
        return axum::Json(json!({"response_action": "push", "view": view})).into_response();
    }
    let text = format!(
        "保存: {} {} {} {}円 {} {}",
        values["day"]["v"]["selected_date"].as_str().unwrap_or("?"),
        values["product"]["v"]["selected_option"]["value"].as_str().unwrap_or("?"),
        values["customer"]["v"]["selected_option"]["value"].as_str().unwrap_or("?"),
        amount,
        values["tax"]["v"]["selected_option"]["value"].as_str().unwrap_or("?"),
        values["note"]["v"]["value"].as_str().unwrap_or("-"),
    );
    let (workspace, user) = (workspace.clone(), payload["user"]["id"].clone());
    tokio::spawn(async move { api(&workspace, "chat.postMessage", json!({"channel": user, "text": text})).await });
    StatusCode::OK.into_response()
}

async fn on_options(Form(form): Form<Interaction>) -> Response {
    let payload: Value = serde_json::from_str(&form.payload).unwrap();
    let query = payload["value"].as_str().unwrap_or("").to_owned();
    let all = [("見本商店", "0002"), ("見本青果", "0003"), ("例示堂", "0016")];
    let found: Vec<Value> = all
        .iter()
        .filter(|(name, code)| name.contains(&query) || code.contains(&query))
        .map(|(n, c)| option(n, c))
        .collect();
    axum::Json(json!({"options": found})).into_response()
}

#[derive(serde::Deserialize)]
struct Command {
    command: String,
    text: String,
}

async fn on_command(Form(form): Form<Command>) -> Response {
    axum::Json(json!({"text": format!("{} を受け付けました: {}", form.command, form.text)})).into_response()
}

/// Messages with all that a page must draw, in `C1`.
pub async fn gallery(workspace: &Workspace) {
    let post = async |text: &str, blocks: Value| {
        let answer = api(workspace, "chat.postMessage", json!({"channel": "C1", "text": text, "blocks": blocks})).await;
        answer["ts"].as_str().unwrap().to_owned()
    };
    workspace
        .say("U1", "C1", None, "おはようございます。<@U2> さん、先週の *集計* をお願いできますか？ :pray:")
        .await
        .unwrap();
    let root = workspace.say("U2", "C1", None, "Sure. <@UBOT> last week's sales for 0002, please").await.unwrap();
    let row = |cells: [&str; 3]| cells.map(|c| json!({"type": "raw_text", "text": c}));
    let table = json!({
        "type": "table",
        "column_settings": [{"align": "left"}, {"align": "left"}, {"align": "right"}],
        "rows": [
            row(["日付", "商品", "金額"]), row(["2026-11-24（火）", "かぼちゃ4個", "600円"]),
            row(["2026-11-25（水）", "とまと2袋", "600円"]), row(["2026-11-27（金）", "なす10本、きゅうり10本", "1,800円"]),
        ],
    });
    let feedback = json!({"type": "context_actions", "elements": [{
        "type": "feedback_buttons", "action_id": "rate",
        "positive_button": {"text": plain("役に立った"), "value": "good"},
        "negative_button": {"text": plain("役に立たない"), "value": "bad"},
    }]});
    let blocks = json!([
        {"type": "section", "text": mrkdwn("*見本商店（0002）* の先週の販売は *3件*、合計 *3,000円* です。")},
        table, {"type": "context", "elements": [mrkdwn("対象期間: 2026-11-23（月）〜 2026-11-29（日）")]}, feedback,
    ]);
    api(workspace, "chat.postMessage", json!({"channel": "C1", "thread_ts": root, "text": "answer", "blocks": blocks}))
        .await;
    workspace.say("U1", "C1", Some(root.as_str()), "ありがとうございます！").await.unwrap();
    post("card", card()).await;
    let options = json!([option("今週", "this"), option("先週", "last"), option("先月", "month")]);
    post("controls", json!([
        {"type": "section", "text": mrkdwn("期間を選んでください"),
         "accessory": {"type": "static_select", "action_id": "period", "options": options, "placeholder": plain("期間")}},
        {"type": "section", "text": mrkdwn("そのほかの操作"),
         "accessory": {"type": "overflow", "action_id": "menu", "options": [option("明細を見る", "rows"), option("CSVで保存", "csv")]}},
        {"type": "actions", "elements": [
            {"type": "datepicker", "action_id": "date", "initial_date": "2026-11-30"},
            {"type": "radio_buttons", "action_id": "tax", "options": [option("税込", "in"), option("税抜", "out")]},
            {"type": "button", "action_id": "wipe", "style": "danger", "value": "x", "text": plain("取り消す"),
             "confirm": {"title": plain("取り消しますか？"), "text": plain("S1を取り消します。"), "confirm": plain("取り消す"), "deny": plain("やめる"), "style": "danger"}},
        ]},
    ])).await;
    let markdown = "## 上半期のまとめ\n\n- **直販**: 12件\n- **卸**: 3件\n    1. 見本商店\n    2. 例示堂\n\n| 月 | 件数 | 金額 |\n|:--|--:|--:|\n| 10月 | 12 | 24,300円 |\n| 11月 | 9 | 18,100円 |\n\n> 金額は税込です\n\n```\nSELECT 1;\n```\n[資料](https://example.com/report) と `code` も ~~消し線~~ も表示します。";
    post("markdown", json!([{"type": "markdown", "text": markdown}])).await;
    workspace
        .say("U1", "C1", None, "確認しました。\n&gt; 金額は税込です\nこちらも見てください https://example.com/a?b=1 。")
        .await
        .unwrap();
}
