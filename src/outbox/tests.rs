use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::*;
use crate::domain::Secret;
use crate::records::postgres::Group;
use crate::records::testing::{Engine, on_both_engines};

const LEASE: Duration = Duration::from_secs(20);

/// An answer of the fake Slack, and the wish that comes in before it is given.
type Answer = (u16, Value, Option<Body>);

/// A sender between a store of its own and a Slack that answers as told, and yes after that.
struct Desk {
    _kept: Box<dyn std::any::Any + Send>,
    records: Records,
    outbox: Outbox,
    answers: Arc<Mutex<VecDeque<Answer>>>,
    calls: Arc<Mutex<Vec<(String, Value)>>>,
}

const KEY: &str = "card:P1";

impl Desk {
    async fn new(engine: Engine, timeout: Duration) -> Self {
        let (kept, records) = engine.open(Group::Bot).await;
        let (answers, calls) =
            (Arc::<Mutex<VecDeque<Answer>>>::default(), Arc::<Mutex<Vec<(String, Value)>>>::default());
        let app = Router::new().fallback({
            let (records, answers, calls) = (records.clone(), Arc::clone(&answers), Arc::clone(&calls));
            move |uri: Uri, body: Bytes| {
                let (records, answers, calls) = (records.clone(), Arc::clone(&answers), Arc::clone(&calls));
                async move {
                    let method = uri.path().rsplit('/').next().unwrap_or_default().to_owned();
                    calls.lock().unwrap().push((method, serde_json::from_slice(&body).unwrap_or_default()));
                    let next = answers.lock().unwrap().pop_front();
                    let (status, answer, wish) =
                        next.unwrap_or((200, json!({ "ok": true, "ts": "1.5", "messages": [] }), None));
                    if let Some(body) = wish {
                        wanted(&records, &body, false).await;
                    }
                    let status = StatusCode::from_u16(status).unwrap();
                    let answer: Response =
                        (status, [(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response();
                    answer
                }
            }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/api", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        let slack = Client::new(&base, Secret::new("xoxb-test"), timeout).unwrap();
        Self { _kept: kept, outbox: Outbox::new(records.clone(), slack, LEASE), records, answers, calls }
    }

    fn answers(&self, status: u16, answer: Value, wish: Option<Body>) {
        self.answers.lock().unwrap().push_back((status, answer, wish));
    }

    fn refuses(&self, error: &str, wish: Option<Body>) {
        self.answers(200, json!({ "ok": false, "error": error }), wish);
    }

    async fn wants(&self, body: &Body) {
        wanted(&self.records, body, false).await;
    }

    async fn drive(&self) -> Driven {
        self.outbox.drive(KEY).await.unwrap()
    }

    /// The methods called and the texts they carried.
    fn told(&self) -> Vec<(String, String)> {
        let text = |args: &Value| args["text"].as_str().unwrap_or_default().to_owned();
        self.calls.lock().unwrap().iter().map(|(method, args)| (method.clone(), text(args))).collect()
    }

    async fn run(&self, sql: &'static str) {
        records::query(sql).execute(self.records.quick()).await.unwrap();
    }

    async fn number(&self, sql: &'static str) -> i64 {
        records::query(sql).scalar(self.records.read()).await.unwrap()
    }
}

/// What the background sender would find.
async fn due(records: &Records) -> Result<Vec<String>, sqlx::Error> {
    records::query(
        "SELECT key FROM outbox WHERE sent_version < version AND given_up IS NULL AND due_at <= now_ms()
           AND lease_until <= now_ms()",
    )
    .scalars(records.read())
    .await
}

async fn wanted(records: &Records, body: &Body, ephemeral: bool) {
    let place = Place {
        channel: ChannelId::new("C1"),
        thread: Some(MessageTs::new("1.0")),
        only: ephemeral.then(|| UserId::new("U1")),
    };
    want(records.quick(), KEY, &place, body, Duration::ZERO).await.unwrap();
}

fn body(text: &str) -> Body {
    let block = json!({ "type": "section", "text": { "type": "plain_text", "text": text } });
    Body { text: text.to_owned(), blocks: json!([block]) }
}

fn told(calls: &[(&str, &str)]) -> Vec<(String, String)> {
    calls.iter().map(|(method, text)| ((*method).to_owned(), (*text).to_owned())).collect()
}

const SECOND: Duration = Duration::from_secs(1);

on_both_engines! {
async fn what_is_not_the_messages_fault_and_what_is_not_known_is_tried_again(engine) {
    for (error, limit) in [
        ("invalid_auth", MAX_ATTEMPTS_OUTAGE),
        ("token_revoked", MAX_ATTEMPTS_OUTAGE),
        ("account_inactive", MAX_ATTEMPTS_OUTAGE),
        ("missing_scope", MAX_ATTEMPTS_OUTAGE),
        ("http_403", MAX_ATTEMPTS_OUTAGE),
        ("a_code_of_next_year", MAX_ATTEMPTS),
    ] {
        let desk = Desk::new(engine, SECOND).await;
        desk.wants(&body("a")).await;
        let refuses = || match error.strip_prefix("http_") {
            Some(status) => desk.answers(status.parse().unwrap(), json!("no"), None),
            None => desk.refuses(error, None),
        };
        refuses();
        assert_eq!(desk.drive().await, Driven::Later, "{error}");
        assert_eq!(desk.number("SELECT begun FROM outbox").await, 0, "{error}: it is certain that nothing was posted");
        records::query("UPDATE outbox SET attempts = $1").bind(limit - 2).execute(desk.records.quick()).await.unwrap();
        refuses();
        assert_eq!(desk.drive().await, Driven::Later, "{error}");
        refuses();
        assert_eq!(desk.drive().await, Driven::GivenUp, "{error}: not for ever");
    }
}
}

on_both_engines! {
async fn what_can_never_pass_is_given_up_at_once(engine) {
    for error in ["channel_not_found", "is_archived", "restricted_action_thread_locked", "cant_update_message"] {
        let desk = Desk::new(engine, SECOND).await;
        desk.wants(&body("a")).await;
        desk.refuses(error, None);
        assert_eq!(desk.drive().await, Driven::GivenUp, "{error}");
        assert_eq!(desk.drive().await, Driven::Settled, "{error}");
        assert_eq!(desk.told().len(), 1, "{error}");
    }
}
}

on_both_engines! {
async fn a_wish_that_follows_one_given_up_is_sent(engine) {
    let desk = Desk::new(engine, SECOND).await;
    desk.wants(&body("card")).await;
    desk.refuses("not_in_channel", None);
    assert_eq!(desk.drive().await, Driven::GivenUp);
    desk.wants(&body("receipt")).await;
    assert_eq!(due(&desk.records).await.unwrap(), [KEY]);
    assert_eq!(desk.drive().await, Driven::Settled);
    assert_eq!(desk.told(), told(&[("chat.postMessage", "card"), ("chat.postMessage", "receipt")]));
}
}

on_both_engines! {
async fn a_wish_that_comes_in_while_an_older_one_is_refused_is_sent_as_it_was_wished(engine) {
    for error in ["invalid_blocks", "not_in_channel", "missing_scope"] {
        let desk = Desk::new(engine, SECOND).await;
        desk.wants(&body("card")).await;
        desk.refuses(error, Some(body("receipt")));
        // What can be sent in a simpler form is not put off.
        if error != "invalid_blocks" {
            assert_eq!(desk.drive().await, Driven::Later, "{error}");
            assert_eq!(due(&desk.records).await.unwrap(), [KEY], "{error}: due at once");
        }
        assert_eq!(desk.drive().await, Driven::Settled, "{error}");
        let calls = desk.calls.lock().unwrap();
        assert_eq!(
            (&calls[1].1["text"], &calls[1].1["blocks"]),
            (&json!("receipt"), &body("receipt").blocks),
            "{error}"
        );
    }
}
}

on_both_engines! {
async fn a_message_that_another_writer_has_posted_anew_is_kept_when_the_old_one_turns_out_gone(engine) {
    let desk = Desk::new(engine, SECOND).await;
    desk.wants(&body("card")).await;
    assert_eq!(desk.drive().await, Driven::Settled);
    desk.wants(&body("receipt")).await;
    let overtaken = desk.outbox.begin(KEY).await.unwrap().unwrap();
    desk.run("UPDATE outbox SET lease_until = 0, posted_ts = '1.9'").await;
    desk.outbox.repost(&overtaken).await.unwrap();
    assert_eq!(desk.number("SELECT count(*) FROM outbox WHERE posted_ts = '1.9'").await, 1);
}
}

on_both_engines! {
async fn a_writer_that_was_overtaken_neither_takes_back_what_was_told_nor_ends_the_others_lease(engine) {
    let desk = Desk::new(engine, SECOND).await;
    desk.wants(&body("card")).await;
    let mut overtaken = desk.outbox.begin(KEY).await.unwrap().unwrap();
    desk.run("UPDATE outbox SET lease_until = 0").await;
    desk.wants(&body("receipt")).await;
    assert_eq!(desk.drive().await, Driven::Settled);
    assert!(desk.outbox.sent(&overtaken, Some(&MessageTs::new("1.4"))).await.unwrap());
    assert_eq!(desk.number("SELECT count(*) FROM outbox WHERE sent_version = 2 AND posted_ts = '1.5'").await, 1);
    desk.wants(&body("third")).await;
    let holder = desk.outbox.begin(KEY).await.unwrap().unwrap();
    assert!(matches!(desk.outbox.renew(&mut overtaken).await, Err(Unsent::Lost)));
    desk.outbox.give_up(&overtaken, "channel_not_found").await.unwrap();
    desk.outbox.simplify(&overtaken, &body("simpler"), "invalid_blocks").await.unwrap();
    desk.outbox.paused(&overtaken, SECOND).await.unwrap();
    desk.outbox.later(&overtaken, SECOND, true, MAX_ATTEMPTS).await.unwrap();
    assert_eq!(desk.number("SELECT lease_until FROM outbox WHERE given_up IS NULL").await, holder.lease);
}
}

on_both_engines! {
async fn what_slack_will_not_show_is_sent_in_simpler_forms_and_then_given_up(engine) {
    for error in ["invalid_blocks", "msg_blocks_too_long", "msg_too_long", "no_text"] {
        let desk = Desk::new(engine, SECOND).await;
        desk.wants(&body("a long answer")).await;
        desk.refuses(error, None);
        desk.refuses("msg_too_long", None);
        assert_eq!(desk.drive().await, Driven::Settled, "{error}");
        let forms: Vec<(String, bool)> = desk.calls.lock().unwrap().iter()
            .map(|(_, args)| (args["text"].as_str().unwrap().chars().take(12).collect::<String>(), args["blocks"].is_array()))
            .collect();
        let form = |text: &str, has_blocks| (text.to_owned(), has_blocks);
        assert_eq!(forms, [form("a long answe", true), form("a long answe", false), form("I could not ", false)]);

        let desk = Desk::new(engine, SECOND).await;
        desk.wants(&body("a long answer")).await;
        (0..3).for_each(|_| desk.refuses(error, None));
        assert_eq!(desk.drive().await, Driven::GivenUp, "{error}: no loop");
        assert_eq!(desk.told().len(), 3, "{error}");
    }
}
}

on_both_engines! {
async fn a_card_that_is_refused_keeps_its_buttons_or_is_given_up(engine) {
    let desk = Desk::new(engine, SECOND).await;
    let mut card = body("card");
    card.blocks.as_array_mut().unwrap().extend([
        json!({ "type": "divider" }),
        json!({ "type": "actions", "elements": [{ "type": "button", "action_id": "proposal_confirm" }] }),
    ]);
    desk.wants(&card).await;
    desk.refuses("invalid_blocks", None);
    desk.refuses("invalid_blocks", None);
    assert_eq!(desk.drive().await, Driven::GivenUp);
    let calls = desk.calls.lock().unwrap();
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|(_, args)| args["blocks"].to_string().contains("proposal_confirm")));
}
}

on_both_engines! {
async fn parts_are_posted_in_their_order_whatever_holds_the_first_up(engine) {
    let desk = Desk::new(engine, SECOND).await;
    let place = Place { channel: ChannelId::new("C1"), thread: Some(MessageTs::new("1.0")), only: None };
    for key in ["reply:T:0", "reply:T:1", "reply:T:2"] {
        want(desk.records.quick(), key, &place, &body(key), Duration::from_secs(60)).await.unwrap();
    }
    desk.answers(429, json!({ "ok": false, "error": "ratelimited" }), None);
    assert_eq!(desk.outbox.drive("reply:T:0").await.unwrap(), Driven::Later);
    for key in ["reply:T:1", "reply:T:2"] {
        assert_eq!(desk.outbox.drive(key).await.unwrap(), Driven::Settled, "not its turn");
    }
    desk.outbox.release("reply:T:1").await.unwrap();
    assert_eq!(due(&desk.records).await.unwrap(), ["reply:T:1"]);
    // The pause that Slack asked for is over.
    let outbox = Outbox::new(desk.records.clone(), desk.outbox.slack.clone().paced(0), LEASE);
    desk.refuses("channel_not_found", None);
    assert_eq!(outbox.drive("reply:T:0").await.unwrap(), Driven::GivenUp);
    for key in ["reply:T:2", "reply:T:1", "reply:T:2"] {
        outbox.drive(key).await.unwrap();
    }
    let post = "chat.postMessage";
    let all = [(post, "reply:T:0"), (post, "reply:T:0"), (post, "reply:T:1"), (post, "reply:T:2")];
    assert_eq!(desk.told(), told(&all), "one given up does not hold the others up");
}
}

on_both_engines! {
async fn while_slack_wants_a_pause_nothing_is_sent_and_nothing_counts_as_an_attempt(engine) {
    let desk = Desk::new(engine, SECOND).await;
    desk.wants(&body("a")).await;
    desk.answers(429, json!({ "ok": false, "error": "ratelimited" }), None);
    assert_eq!(desk.drive().await, Driven::Later);
    for _ in 0..3 {
        assert_eq!(desk.drive().await, Driven::Later);
    }
    assert_eq!(desk.told().len(), 1);
    assert_eq!(desk.number("SELECT attempts FROM outbox").await, 1);
    assert_eq!(desk.number("SELECT begun FROM outbox").await, 0, "nothing may be there");
    assert!((4_000..=5_000).contains(&desk.number("SELECT due_at - now_ms() FROM outbox").await));
}
}

on_both_engines! {
async fn a_private_note_whose_arrival_is_unclear_is_shown_again(engine) {
    let desk = Desk::new(engine, SECOND).await;
    wanted(&desk.records, &body("note"), true).await;
    desk.answers(500, json!("?"), None);
    assert_eq!(desk.drive().await, Driven::Later);
    assert_eq!(desk.drive().await, Driven::Settled);
    assert_eq!(desk.told(), told(&[("chat.postEphemeral", "note"), ("chat.postEphemeral", "note")]));
}
}

on_both_engines! {
async fn the_lease_outlasts_the_calls_and_begins_anew_after_a_look_up(engine) {
    let desk = Desk::new(engine, Duration::from_secs(15)).await;
    desk.wants(&body("card")).await;
    let mut row = desk.outbox.begin(KEY).await.unwrap().unwrap();
    let left = "SELECT lease_until - now_ms() FROM outbox";
    assert!((40_000..=45_000).contains(&desk.number(left).await));
    desk.run("UPDATE outbox SET lease_until = lease_until - 44000").await;
    row.lease -= 44_000;
    desk.outbox.renew(&mut row).await.ok().unwrap();
    assert!((40_000..=45_000).contains(&desk.number(left).await));
    assert_eq!(desk.number("SELECT lease_until FROM outbox").await, row.lease);
}
}

#[test]
fn every_code_that_slack_documents_for_a_message_is_known() {
    for code in [
        "channel_not_found",
        "not_in_channel",
        "is_archived",
        "cannot_reply_to_message",
        "invalid_blocks",
        "invalid_blocks_format",
        "msg_blocks_too_long",
        "no_text",
        "markdown_text_conflict",
        "messages_tab_disabled",
        "restricted_action",
        "restricted_action_read_only_channel",
        "restricted_action_thread_locked",
        "restricted_action_thread_only_channel",
        "restricted_action_non_threadable_channel",
        "team_not_found",
        "metadata_too_large",
        "invalid_metadata_format",
        "metadata_must_be_sent_from_app",
        "message_limit_exceeded",
        "slack_connect_canvas_sharing_blocked",
        "slack_connect_file_link_sharing_blocked",
        "too_many_attachments",
        "not_authed",
        "invalid_auth",
        "account_inactive",
        "token_revoked",
        "token_expired",
        "missing_scope",
        "no_permission",
        "org_login_required",
        "ekm_access_denied",
        "team_access_not_granted",
        "fatal_error",
        "internal_error",
        "request_timeout",
        "service_unavailable",
        "team_added_to_org",
        "message_not_found",
        "cant_update_message",
        "edit_window_closed",
        "msg_too_long",
        "block_mismatch",
        "streaming_state_conflict",
        "is_inactive",
        "update_failed",
        "user_not_in_channel",
        "thread_not_found",
        "not_allowed_token_type",
    ] {
        assert_ne!(verdict(code), Verdict::Unknown, "{code}");
    }
}
