//! What people do in their client.

use super::*;

#[tokio::test]
async fn people_change_and_delete_their_own_words_only() {
    let (workspace, bot, _) = with_bot().await;
    let ts = workspace.say("U1", "C1", None, "helo").await.unwrap();
    workspace.edit("U1", "C1", ts.as_str(), "<@UBOT> hello").await.unwrap();
    assert_eq!(workspace.edit("U2", "C1", ts.as_str(), "mine").await, Err(Refused::NotYours));
    assert_eq!(workspace.edit("U1", "C1", ts.as_str(), "").await, Err(Refused::Empty));
    delivered(&workspace, 3).await;
    let mention = bot.events().into_iter().find(|e| e["event"]["type"] == "app_mention").unwrap();
    assert_eq!((&mention["event"]["ts"], mention["event"]["edited"].is_object()), (&json!(ts), true));
    let changed = bot.events().into_iter().find(|e| e["event"]["subtype"] == "message_changed").unwrap();
    assert_eq!(changed["event"]["previous_message"]["text"], "helo");
    let reply = workspace.say("U2", "C1", Some(ts.as_str()), "hi").await.unwrap();
    workspace.remove("U1", "C1", ts.as_str()).await.unwrap();
    assert!(workspace.messages("C1")[0].tombstone, "it has a reply");
    assert_eq!(workspace.remove("U1", "C1", reply.as_str()).await, Err(Refused::NotYours));
    workspace.remove("U2", "C1", reply.as_str()).await.unwrap();
    assert_eq!(workspace.messages("C1").len(), 1);
}

#[tokio::test]
async fn reactions_are_counted_by_person_and_told() {
    let (workspace, bot, _) = with_bot().await;
    let ts = workspace.say("U1", "C1", None, "hello").await.unwrap();
    for (user, on) in [("U1", true), ("U2", true), ("U1", true), ("U1", false)] {
        workspace.react(user, "C1", ts.as_str(), "thumbsup", on).await.unwrap();
    }
    let message = workspace.messages("C1").remove(0);
    assert_eq!(
        message.reactions,
        [Reaction { name: "thumbsup".into(), users: vec![crate::domain::UserId::new("U2")] }]
    );
    delivered(&workspace, 3).await;
    let told = bot.events().into_iter().filter(|e| e["event"]["type"] == "reaction_added").count();
    assert_eq!(told, 2, "the app did not ask for reaction_removed");
}

#[tokio::test]
async fn files_go_to_those_who_may_have_them() {
    let (workspace, bot, _) = with_bot().await;
    let ts = workspace.upload("U1", "C1", None, "写真 1.png", Bytes::from_static(b"\x89PNG")).await.unwrap();
    delivered(&workspace, 1).await;
    let event = bot.events().remove(0)["event"].clone();
    assert_eq!((&event["subtype"], &event["ts"]), (&json!("file_share"), &json!(ts)));
    let file = event["files"][0].clone();
    assert_eq!(
        (&file["mimetype"], &file["size"], &file["name"]),
        (&json!("image/png"), &json!(4), &json!("写真 1.png"))
    );
    let url = file["url_private"].as_str().unwrap();
    let fetch = async |header: &str, value: &str| {
        let client: Client<_, Body> = Client::builder(TokioExecutor::new()).build_http();
        let request = Request::get(url).header(header, value).body(Body::empty()).unwrap();
        let response = client.request(request).await.unwrap();
        let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
        (response.status().as_u16(), kind)
    };
    assert_eq!(fetch("authorization", "Bearer xoxb-test").await, (200, "image/png".into()));
    assert_eq!(fetch("sec-fetch-site", "same-origin").await, (200, "image/png".into()));
    let sign_in = (200, "text/html; charset=utf-8".to_owned());
    assert_eq!(fetch("authorization", "Bearer xoxb-other").await, sign_in);
    assert_eq!(fetch("sec-fetch-site", "cross-site").await, sign_in);
    assert_eq!(fetch("accept", "*/*").await, sign_in);
    let large = Bytes::from(vec![0; files::FILE_BYTES + 1]);
    assert_eq!(workspace.upload("U1", "C1", None, "a.bin", large).await, Err(Refused::TooLarge));
}

#[tokio::test]
async fn the_bot_sends_a_file_in_three_steps() {
    let (workspace, ..) = with_bot().await;
    let root = workspace.say("U1", "C1", None, "root").await.unwrap();
    let begin = async || get(&workspace, "files.getUploadURLExternal", "filename=sales.csv&length=5").await;
    let told = begin().await;
    let (url, id) = (told["upload_url"].as_str().unwrap(), told["file_id"].clone());
    let complete = json!({"files": [{"id": id, "title": "Sales"}], "channel_id": "C1", "thread_ts": root, "initial_comment": "here"});
    assert_eq!(error(&workspace, "files.completeUploadExternal", complete.clone()).await, "file_not_found");
    assert_eq!(http(url, None, "text/csv", "a,b").await.0, 400, "not the announced length");
    assert_eq!(http(url, None, "text/csv", "a,b\n1").await.0, 200);
    ok(&workspace, "files.completeUploadExternal", complete).await;
    let message = workspace.messages("C1").pop().unwrap();
    assert_eq!((message.text.as_str(), message.files[0].title.as_str()), ("here", "Sales"));
    assert_eq!(message.thread_ts, Some(root));
    let info = get(&workspace, "files.info", &format!("file={}", id.as_str().unwrap())).await;
    assert_eq!(info["file"]["size"], 5);

    let told = begin().await;
    let form = "--x\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\na,b\n2\r\n--x--\r\n";
    let url = told["upload_url"].as_str().unwrap();
    assert_eq!(http(url, None, "multipart/form-data; boundary=x", form).await.0, 200);
    for (form, code) in [
        ("filename=a.csv&length=0", "invalid_arguments"),
        ("filename=&length=1", "invalid_arguments"),
        ("filename=a.csv&length=99999999", "file_upload_size_restricted"),
    ] {
        assert_eq!(get(&workspace, "files.getUploadURLExternal", form).await["error"], code);
    }
}
