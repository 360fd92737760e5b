//! Presses, modals, options and commands.

use super::*;

#[tokio::test]
async fn a_press_carries_all_that_slack_sends_and_is_not_repeated() {
    let (workspace, bot, _) = with_bot().await;
    let root = workspace.say("U1", "C1", None, "root").await.unwrap();
    let args = json!({"channel": "C1", "thread_ts": root, "text": "card", "blocks": card()});
    let ts = ok(&workspace, "chat.postMessage", args).await["ts"].as_str().unwrap().to_owned();
    delivered(&workspace, 2).await;
    let before = bot.requests().len();
    bot.answer(500, &[]);
    let outcome = workspace.press("U2", "C1", &ts, "yes").await.unwrap();
    assert_eq!((outcome.status, outcome.warning), (Some(500), true));
    let outcome = workspace.press("U2", "C1", &ts, "yes").await.unwrap();
    assert_eq!((outcome.status, outcome.warning), (Some(200), false));
    let requests = bot.requests();
    assert_eq!(requests.len(), before + 2);
    let (headers, body) = &requests[before];
    assert_eq!(headers["content-type"], "application/x-www-form-urlencoded");
    let form: Vec<(String, String)> = url::form_urlencoded::parse(body).into_owned().collect();
    assert_eq!(form[0].0, "payload");
    let payload: Value = serde_json::from_str(&form[0].1).unwrap();
    assert_eq!(payload["type"], "block_actions");
    assert_eq!(payload["user"]["id"], "U2");
    assert_eq!(
        payload["container"],
        json!({
            "type": "message", "message_ts": ts, "channel_id": "C1", "is_ephemeral": false, "thread_ts": root,
        })
    );
    assert_eq!((&payload["message"]["text"], &payload["message"]["bot_id"]), (&json!("card"), &json!("B1")));
    let action = &payload["actions"][0];
    assert_eq!(
        (&action["action_id"], &action["block_id"], &action["value"], &action["style"], &action["type"]),
        (&json!("yes"), &json!("b1"), &json!("P1"), &json!("primary"), &json!("button"))
    );
    assert_eq!(payload["state"], json!({"values": {}}));
    assert!(payload["trigger_id"].is_string() && action["action_ts"].is_string());
    assert_eq!(workspace.press("U2", "C1", &ts, "maybe").await, Err(Refused::ActionNotFound));
    assert_eq!(workspace.press("U2", "C1", "1.1", "yes").await, Err(Refused::MessageNotFound));
}

#[tokio::test]
async fn a_response_url_works_five_times_within_half_an_hour() {
    let (workspace, bot, clock) = with_bot().await;
    let args = json!({"channel": "C1", "text": "card", "blocks": card()});
    let ts = ok(&workspace, "chat.postMessage", args).await["ts"].as_str().unwrap().to_owned();
    let url = pressed(&workspace, &bot, "U1", &ts).await["response_url"].as_str().unwrap().to_owned();
    let respond = async |body: Value| {
        let (_, _, answer) = http(&url, None, "application/json", &body.to_string()).await;
        serde_json::from_str::<Value>(&answer).unwrap()
    };
    assert_eq!(respond(json!({"text": "only for you"})).await["ok"], true);
    assert_eq!(workspace.ephemerals("U1")[0].text, "only for you");
    assert!(workspace.ephemerals("U2").is_empty());
    respond(json!({"text": "for all", "response_type": "in_channel"})).await;
    assert_eq!(workspace.messages("C1")[1].text, "for all");
    respond(json!({"replace_original": true, "text": "replaced"})).await;
    assert_eq!((workspace.messages("C1")[0].text.as_str(), &workspace.messages("C1")[0].blocks), ("replaced", &None));
    respond(json!({"delete_original": true})).await;
    assert_eq!(workspace.messages("C1").len(), 1);
    respond(json!({"text": "five"})).await;
    assert_eq!(respond(json!({"text": "six"})).await["error"], "used_url");

    let args = json!({"channel": "C1", "text": "card", "blocks": card()});
    let ts = ok(&workspace, "chat.postMessage", args).await["ts"].as_str().unwrap().to_owned();
    let url = pressed(&workspace, &bot, "U1", &ts).await["response_url"].as_str().unwrap().to_owned();
    clock.advance(TimeDelta::minutes(31));
    let (_, _, answer) = http(&url, None, "application/json", r#"{"text":"late"}"#).await;
    assert!(answer.contains("expired_url"), "{answer}");
}

#[tokio::test]
async fn a_trigger_lives_three_seconds_and_opens_one_modal() {
    let (workspace, bot, clock) = with_bot().await;
    let args = json!({"channel": "C1", "text": "card", "blocks": card()});
    let ts = ok(&workspace, "chat.postMessage", args).await["ts"].as_str().unwrap().to_owned();
    let view = json!({"type": "modal", "title": {"type": "plain_text", "text": "t"}, "blocks": []});
    let trigger = pressed(&workspace, &bot, "U1", &ts).await["trigger_id"].clone();
    let opened = ok(&workspace, "views.open", json!({"trigger_id": trigger, "view": view})).await;
    assert_eq!(
        error(&workspace, "views.open", json!({"trigger_id": trigger, "view": view})).await,
        "exchanged_trigger_id"
    );
    let id = opened["view"]["id"].clone();
    let update = json!({"view_id": id, "hash": "old", "view": view});
    assert_eq!(error(&workspace, "views.update", update).await, "hash_conflict");
    ok(&workspace, "views.update", json!({"view_id": id, "hash": opened["view"]["hash"], "view": view})).await;
    assert!(workspace.look(|w| w.modal_of("U1").is_some()));
    let trigger = pressed(&workspace, &bot, "U1", &ts).await["trigger_id"].clone();
    clock.advance(TimeDelta::milliseconds(3_100));
    assert_eq!(
        error(&workspace, "views.open", json!({"trigger_id": trigger, "view": view})).await,
        "expired_trigger_id"
    );
    let long = json!({"type": "modal", "title": {"type": "plain_text", "text": "t".repeat(25)}, "blocks": []});
    assert_eq!(error(&workspace, "views.open", json!({"trigger_id": "x", "view": long})).await, "invalid_arguments");
    let home = json!({"type": "home", "blocks": []});
    ok(&workspace, "views.publish", json!({"user_id": "U1", "view": home})).await;
    assert!(workspace.look(|w| w.home("U1").is_some()));
}

fn form() -> Value {
    json!({
        "type": "modal", "callback_id": "sale", "notify_on_close": true, "private_metadata": "p",
        "title": {"type": "plain_text", "text": "Edit"}, "submit": {"type": "plain_text", "text": "Save"},
        "blocks": [
            {"type": "input", "block_id": "price", "label": {"type": "plain_text", "text": "Price"},
             "element": {"type": "number_input", "action_id": "n", "is_decimal_allowed": false, "min_value": "1"}},
            {"type": "input", "block_id": "who", "optional": true, "label": {"type": "plain_text", "text": "Customer"},
             "element": {"type": "external_select", "action_id": "pick", "min_query_length": 1}},
            {"type": "actions", "block_id": "more", "elements": [
                {"type": "button", "action_id": "next", "text": {"type": "plain_text", "text": "Next"}}]},
        ],
    })
}

/// A modal opened for `U1`; its id.
async fn opened(workspace: &Workspace, bot: &super::Bot) -> String {
    let ts = posted_card(workspace).await;
    let trigger = pressed(workspace, bot, "U1", &ts).await["trigger_id"].clone();
    let view = ok(workspace, "views.open", json!({"trigger_id": trigger, "view": form()})).await;
    view["view"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_modal_is_sent_when_it_is_filled_in_and_does_what_the_bot_answers() {
    let (workspace, bot, _) = with_bot().await;
    let id = opened(&workspace, &bot).await;
    let asked = bot.requests().len();
    let outcome = workspace.submit("U1", &id, json!({"price": {"n": {"value": "0"}}})).await.unwrap();
    assert_eq!(outcome.errors["price"], "1以上の数値を入力してください。");
    assert_eq!(bot.requests().len(), asked, "a client does not send it");

    let values = json!({"price": {"n": {"type": "number_input", "value": "600"}}});
    bot.says(&json!({"response_action": "errors", "errors": {"price": "too much"}}));
    let outcome = workspace.submit("U1", &id, values.clone()).await.unwrap();
    assert_eq!((outcome.errors["price"].as_str(), outcome.closed, outcome.warning), ("too much", false, false));
    let payload = bot.payload();
    assert_eq!((&payload["type"], &payload["view"]["callback_id"]), (&json!("view_submission"), &json!("sale")));
    assert_eq!(
        payload["view"]["state"]["values"],
        json!({"price": {"n": {"type": "number_input", "value": "600"}}, "who": {"pick": {"type": "external_select", "selected_option": null}}})
    );

    let mut second = form();
    second["title"]["text"] = json!("Sure?");
    bot.says(&json!({"response_action": "push", "view": second}));
    workspace.submit("U1", &id, values.clone()).await.unwrap();
    let open: Vec<Value> = workspace.look(|w| w.modals_of("U1").into_iter().cloned().collect());
    assert_eq!(open.len(), 2);
    assert_eq!((&open[1]["previous_view_id"], &open[1]["root_view_id"]), (&json!(id), &json!(id)));
    let top = open[1]["id"].as_str().unwrap().to_owned();
    assert_eq!(workspace.submit("U1", &id, values.clone()).await, Err(Refused::ViewNotFound), "it lies below");
    second["title"]["text"] = json!("Really?");
    bot.says(&json!({"response_action": "update", "view": second}));
    workspace.submit("U1", &top, values.clone()).await.unwrap();
    assert_eq!(workspace.look(|w| w.modal_of("U1").unwrap()["title"]["text"].clone()), "Really?");
    let outcome = workspace.submit("U1", &top, values.clone()).await.unwrap();
    assert!(outcome.closed);
    assert_eq!(workspace.look(|w| w.modals_of("U1").len()), 1);

    bot.answer(500, &[]);
    let outcome = workspace.submit("U1", &id, values.clone()).await.unwrap();
    assert_eq!((outcome.warning, outcome.closed), (true, false));
    bot.says(&json!({"response_action": "clear"}));
    assert!(workspace.submit("U1", &id, values).await.unwrap().closed);
    assert!(workspace.look(|w| w.modal_of("U1").is_none()));
}

#[tokio::test]
async fn a_person_uses_buttons_in_a_modal_looks_up_options_and_closes_it() {
    let (workspace, bot, _) = with_bot().await;
    let id = opened(&workspace, &bot).await;
    let place = Place::View { id: &id };
    workspace.press_with("U1", place, Some("more"), "next", json!({}), json!({"price": {}})).await.unwrap();
    let payload = bot.payload();
    assert_eq!(
        (&payload["container"], &payload["state"]),
        (&json!({"type": "view", "view_id": id}), &json!({"values": {"price": {}}}))
    );
    assert!(payload.get("response_url").is_none() && payload["view"]["id"] == id.as_str());
    let trigger = payload["trigger_id"].clone();
    ok(&workspace, "views.push", json!({"trigger_id": trigger, "view": form()})).await;
    let top = workspace.look(|w| w.modal_of("U1").unwrap()["id"].as_str().unwrap().to_owned());

    bot.says(&json!({"options": [{"text": {"type": "plain_text", "text": "佐藤"}, "value": "0002"}]}));
    let options = workspace.suggest("U1", Place::View { id: &top }, "who", "pick", "佐").await.unwrap();
    assert_eq!(options[0]["value"], "0002");
    let payload = bot.payload();
    assert_eq!(
        (&payload["type"], &payload["value"], &payload["action_id"]),
        (&json!("block_suggestion"), &json!("佐"), &json!("pick"))
    );
    assert_eq!(workspace.press_with("U2", place, None, "next", json!({}), json!({})).await, Err(Refused::ViewNotFound));

    workspace.dismiss("U1", &top).await.unwrap();
    assert_eq!(bot.payload()["type"], "view_closed");
    assert_eq!(workspace.look(|w| w.modals_of("U1").len()), 1);
    for _ in 0..2 {
        workspace.press_with("U1", place, None, "next", json!({}), json!({})).await.unwrap();
        let trigger = bot.payload()["trigger_id"].clone();
        // The person's own view is at the bottom, so it can be pressed only while a test looks it up by its id.
        ok(&workspace, "views.push", json!({"trigger_id": trigger, "view": form()})).await;
    }
    workspace.press_with("U1", place, None, "next", json!({}), json!({})).await.unwrap();
    let trigger = bot.payload()["trigger_id"].clone();
    assert_eq!(
        error(&workspace, "views.push", json!({"trigger_id": trigger, "view": form()})).await,
        "push_limit_reached"
    );
}

#[tokio::test]
async fn views_are_refused_as_slack_refuses_them() {
    let (workspace, ..) = with_bot().await;
    let with = |change: &dyn Fn(&mut Value)| {
        let mut view = form();
        change(&mut view);
        view
    };
    for (view, code, pointer) in [
        (with(&|v| drop(v.as_object_mut().unwrap().remove("submit"))), "invalid_arguments", "/view/submit"),
        (with(&|v| v["title"]["text"] = json!("t".repeat(25))), "invalid_arguments", "/view/title/text"),
        (with(&|v| v["private_metadata"] = json!("p".repeat(3001))), "invalid_arguments", "/view/private_metadata"),
        (with(&|v| v["blocks"] = json!(vec![json!({"type": "divider"}); 101])), "invalid_arguments", "/view/blocks"),
        (
            with(&|v| v["blocks"] = json!([{"type": "markdown", "text": "x"}])),
            "invalid_arguments",
            "/view/blocks/0/type",
        ),
        (with(&|v| v["private_metadata"] = json!("p".repeat(256_000))), "view_too_large", ""),
    ] {
        let refused = api(&workspace, "views.open", json!({"trigger_id": "x", "view": view})).await;
        assert_eq!(refused["error"], code);
        let told = refused["response_metadata"]["messages"].to_string();
        assert!(told.contains(pointer), "{pointer}: {told}");
    }
    assert_eq!(error(&workspace, "views.open", json!({"trigger_id": "x", "view": form()})).await, "invalid_trigger_id");
    assert_eq!(error(&workspace, "views.update", json!({"view_id": "V9", "view": form()})).await, "not_found");
    let home = json!({"type": "home", "blocks": []});
    assert_eq!(error(&workspace, "views.publish", json!({"user_id": "U9", "view": home})).await, "user_not_found");
    let without = start(Settings { home_tab: false, ..settings(&Clock::system()) }).await;
    assert_eq!(error(&without, "views.publish", json!({"user_id": "U1", "view": home})).await, "not_enabled");
}

#[tokio::test]
async fn buttons_of_cards_and_of_what_a_container_holds_can_be_pressed() {
    let (workspace, bot, _) = with_bot().await;
    let text = |text: &str| json!({"type": "plain_text", "text": text});
    let button = |action: &str| json!({"type": "button", "action_id": action, "value": action, "text": text("b")});
    let card = |action: &str| json!({"type": "card", "title": text("t"), "actions": [button(action)]});
    let blocks = json!([
        {"block_id": "one", "type": "card", "title": text("t"), "actions": [button("alone")]},
        {"block_id": "row", "type": "carousel", "elements": [card("left"), card("right")]},
        {"block_id": "box", "type": "container", "title": text("t"), "child_blocks": [
            {"type": "actions", "block_id": "inner", "elements": [button("inside")]},
            {"type": "card", "title": text("t"), "actions": [{"type": "button", "value": "v", "text": text("b")}]}]},
    ]);
    let posted = ok(&workspace, "chat.postMessage", json!({"channel": "C1", "text": "x", "blocks": blocks})).await;
    let ts = posted["ts"].as_str().unwrap();
    for (action, block) in [("alone", "one"), ("left", "row"), ("right", "row"), ("inside", "inner")] {
        let place = Place::Message { channel: "C1", ts };
        workspace.press_with("U1", place, Some(block), action, json!({}), json!({})).await.unwrap();
        let pressed = bot.payload()["actions"][0].clone();
        assert_eq!((&pressed["block_id"], &pressed["value"]), (&json!(block), &json!(action)));
    }
    let named = &posted["message"]["blocks"][2]["child_blocks"][1];
    assert!(named["block_id"].is_string() && named["actions"][0]["action_id"].is_string(), "{named}");
    let unknown =
        workspace.press_with("U1", Place::Message { channel: "C1", ts }, Some("one"), "left", json!({}), json!({}));
    assert_eq!(unknown.await, Err(Refused::ActionNotFound), "it is in another block");
}

#[tokio::test]
async fn what_is_chosen_stands_in_the_action_and_must_be_on_offer() {
    let (workspace, bot, _) = with_bot().await;
    let option = |value: &str| json!({"text": {"type": "plain_text", "text": value}, "value": value});
    let feedback = |text: &str, value: &str| json!({"text": {"type": "plain_text", "text": text}, "value": value});
    let blocks = json!([
        {"type": "actions", "block_id": "a", "elements": [
            {"type": "static_select", "action_id": "pick", "options": [option("1"), option("2")]},
            {"type": "datepicker", "action_id": "day"}]},
        {"type": "context_actions", "block_id": "f", "elements": [
            {"type": "feedback_buttons", "action_id": "rate", "positive_button": feedback("good", "up"), "negative_button": feedback("bad", "down")}]},
    ]);
    let ts =
        ok(&workspace, "chat.postMessage", json!({"channel": "C1", "text": "x", "blocks": blocks})).await["ts"].clone();
    let place = Place::Message { channel: "C1", ts: ts.as_str().unwrap() };
    let choose = async |action: &str, chosen: Value| {
        workspace
            .press_with("U1", place, None, action, chosen, json!({}))
            .await
            .map(|_| bot.payload()["actions"][0].clone())
    };
    assert_eq!(choose("pick", json!({"selected_option": option("2")})).await.unwrap()["selected_option"]["value"], "2");
    assert_eq!(choose("pick", json!({"selected_option": option("3")})).await, Err(Refused::NotOffered));
    assert_eq!(choose("day", json!({"selected_date": "2026-11-24"})).await.unwrap()["selected_date"], "2026-11-24");
    let rated = choose("rate", json!({"value": "down"})).await.unwrap();
    assert_eq!(
        (&rated["type"], &rated["value"], &rated["block_id"]),
        (&json!("feedback_buttons"), &json!("down"), &json!("f"))
    );
}

#[tokio::test]
async fn a_command_is_a_signed_form_and_its_answer_is_shown() {
    let (workspace, bot, _) = with_bot().await;
    bot.says(&json!({"text": "only you see this"}));
    let outcome = workspace.command("U1", "C1", "/sales", "last week").await.unwrap();
    assert_eq!((outcome.status, outcome.warning), (Some(200), false));
    let form = bot.form();
    assert_eq!(
        (form["command"].as_str(), form["text"].as_str(), form["user_id"].as_str()),
        ("/sales", "last week", "U1")
    );
    assert_eq!(workspace.ephemerals("U1")[0].text, "only you see this");
    bot.says(&json!({"text": "for all", "response_type": "in_channel"}));
    workspace.command("U1", "C1", "/sales", "").await.unwrap();
    assert_eq!(workspace.messages("C1")[0].text, "for all");
    let url = bot.form()["response_url"].clone();
    http(&url, None, "application/json", r#"{"text":"later"}"#).await;
    assert_eq!(workspace.ephemerals("U1")[1].text, "later");
    let workspace = start(settings(&Clock::system())).await;
    assert_eq!(workspace.command("U1", "C1", "/sales", "").await, Err(Refused::NotSupported));
}
