//! Slack's side of Socket Mode, in front of the workspace: what the workspace would send to the bot's URLs goes through
//! sockets that the bot opens, and an acknowledgement there is the answer 200.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{any, post};
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::tungstenite::Message;

/// The app-level token that opens sockets.
pub const APP_TOKEN: &str = "xapp-1-A0TEST-1-abc";

/// The relay.
#[derive(Clone)]
pub struct Sockets(Arc<Inner>);

struct Inner {
    /// Where the workspace's Web API is.
    api: Mutex<String>,
    http: reqwest::Client,
    /// Of the WebSockets.
    port: u16,
    /// Of the relay's own HTTP.
    base: String,
    open: Mutex<Vec<mpsc::UnboundedSender<Message>>>,
    waiting: Mutex<HashMap<String, oneshot::Sender<()>>>,
    next: AtomicUsize,
    /// Connections that were opened so far.
    opened: AtomicUsize,
    /// `apps.connections.open` calls so far.
    asked: AtomicUsize,
    /// New connections hear nothing, not even the end of the handshake.
    deaf: AtomicBool,
    /// Open connections are read no more, so that no ping of theirs is answered.
    frozen: AtomicBool,
    /// What Slack says instead of an address.
    refusal: Mutex<Option<String>>,
}

impl Sockets {
    pub async fn start() -> Self {
        super::crypto();
        let http = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let sockets = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let inner = Arc::new(Inner {
            api: Mutex::default(),
            http: reqwest::Client::new(),
            port: sockets.local_addr().expect("an address").port(),
            base: format!("http://{}", http.local_addr().expect("an address")),
            open: Mutex::default(),
            waiting: Mutex::default(),
            next: AtomicUsize::new(0),
            opened: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
            deaf: AtomicBool::new(false),
            frozen: AtomicBool::new(false),
            refusal: Mutex::default(),
        });
        let router = Router::new()
            .route("/api/{method}", any(api))
            .route("/events", post(event))
            .route("/interactions", post(interaction))
            .with_state(Arc::clone(&inner));
        tokio::spawn(async move { axum::serve(http, router).await.expect("serves") });
        let accepting = Arc::clone(&inner);
        tokio::spawn(async move {
            while let Ok((stream, _)) = sockets.accept().await {
                tokio::spawn(connection(Arc::clone(&accepting), stream));
            }
        });
        Self(inner)
    }

    /// What the bot gets as the address of the Web API. `workspace` is where it really is.
    pub fn api_url(&self, workspace: &str) -> String {
        *self.0.api.lock().expect("whole") = workspace.trim_end_matches('/').to_owned();
        format!("{}/api", self.0.base)
    }

    /// Where the workspace delivers: events, interactions.
    pub fn urls(&self) -> (String, String) {
        (format!("{}/events", self.0.base), format!("{}/interactions", self.0.base))
    }

    /// Connections that are open now.
    pub fn open(&self) -> usize {
        self.0.open.lock().expect("whole").iter().filter(|socket| !socket.is_closed()).count()
    }

    /// Connections that were opened so far.
    pub fn opened(&self) -> usize {
        self.0.opened.load(Ordering::SeqCst)
    }

    /// How often an address was asked for.
    pub fn asked(&self) -> usize {
        self.0.asked.load(Ordering::SeqCst)
    }

    /// Sends a text over one of the open connections, as it is.
    pub fn send(&self, text: impl Into<String>) {
        let open = self.0.open.lock().expect("whole");
        let socket = open.iter().rfind(|socket| !socket.is_closed()).expect("an open socket");
        socket.send(Message::Text(text.into().into())).expect("sent");
    }

    /// Slack says on each connection that it will be closed, and for what reason.
    pub fn announce_the_end(&self, reason: &str) {
        for socket in self.0.open.lock().expect("whole").iter() {
            let _ = socket.send(Message::Text(json!({"type": "disconnect", "reason": reason}).to_string().into()));
        }
    }

    /// New connections are accepted and never answered.
    pub fn deaf(&self, deaf: bool) {
        self.0.deaf.store(deaf, Ordering::SeqCst);
    }

    /// Open connections, and those that come, are read no more, as if a cable had been cut.
    pub fn freeze(&self, frozen: bool) {
        self.0.frozen.store(frozen, Ordering::SeqCst);
    }

    /// Slack opens no sockets, for this reason.
    pub fn refuse(&self, error: Option<&str>) {
        *self.0.refusal.lock().expect("whole") = error.map(str::to_owned);
    }

    /// Whether an envelope of this id is acknowledged within some time.
    pub async fn deliver(&self, envelope: Value, within: Duration) -> bool {
        self.0.deliver(envelope, within).await
    }
}

impl Inner {
    async fn deliver(&self, envelope: Value, within: Duration) -> bool {
        let id = envelope["envelope_id"].as_str().expect("an id").to_owned();
        let (acknowledged, heard) = oneshot::channel();
        self.waiting.lock().expect("whole").insert(id.clone(), acknowledged);
        {
            let open = self.open.lock().expect("whole");
            let alive: Vec<_> = open.iter().filter(|socket| !socket.is_closed()).collect();
            let Some(socket) = alive.get(self.next.fetch_add(1, Ordering::SeqCst) % alive.len().max(1)) else {
                return false;
            };
            let _ = socket.send(Message::Text(envelope.to_string().into()));
        }
        let done = tokio::time::timeout(within, heard).await.is_ok_and(|heard| heard.is_ok());
        self.waiting.lock().expect("whole").remove(&id);
        done
    }

    async fn relay(&self, kind: &str, payload: Value) -> StatusCode {
        let n = self.next.fetch_add(1, Ordering::SeqCst);
        let envelope = json!({
            "envelope_id": format!("envelope-{n}"), "type": kind, "payload": payload,
            "accepts_response_payload": kind == "interactive", "retry_attempt": 0, "retry_reason": "",
        });
        if self.deliver(envelope, Duration::from_secs(3)).await { StatusCode::OK } else { StatusCode::BAD_GATEWAY }
    }
}

async fn connection(inner: Arc<Inner>, stream: TcpStream) {
    if inner.deaf.load(Ordering::SeqCst) {
        tokio::time::sleep(Duration::from_secs(60)).await;
        drop(stream);
        return;
    }
    let Ok(socket) = tokio_tungstenite::accept_async(stream).await else { return };
    inner.opened.fetch_add(1, Ordering::SeqCst);
    let (mut out, mut frames) = socket.split();
    let (sender, mut to_send) = mpsc::unbounded_channel();
    sender.send(Message::Text(json!({"type": "hello", "num_connections": 1}).to_string().into())).expect("kept below");
    inner.open.lock().expect("whole").push(sender);
    loop {
        if inner.frozen.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(20)).await;
            // Neither read nor closed: the bot has to find out by itself.
            to_send.close();
            continue;
        }
        tokio::select! {
            message = to_send.recv() => {
                let Some(message) = message else { return };
                if out.send(message).await.is_err() { return }
            }
            frame = frames.next() => {
                let Some(Ok(frame)) = frame else { return };
                let Message::Text(text) = frame else { continue };
                let ack: Value = serde_json::from_str(&text).expect("acknowledgements are JSON");
                let id = ack["envelope_id"].as_str().expect("with an id");
                if let Some(waiting) = inner.waiting.lock().expect("whole").remove(id) {
                    let _ = waiting.send(());
                }
            }
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
    }
}

async fn api(
    State(inner): State<Arc<Inner>>,
    Path(method): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    verb: axum::http::Method,
    body: Bytes,
) -> impl IntoResponse {
    if method == "apps.connections.open" {
        inner.asked.fetch_add(1, Ordering::SeqCst);
        let token = headers.get("authorization").and_then(|v| v.to_str().ok()).unwrap_or("");
        let refusal = inner.refusal.lock().expect("whole").clone();
        let answer = match refusal {
            Some(error) => json!({"ok": false, "error": error}),
            None if token != format!("Bearer {APP_TOKEN}") => json!({"ok": false, "error": "invalid_auth"}),
            None => json!({"ok": true, "url": format!("ws://127.0.0.1:{}/link/?ticket=1", inner.port)}),
        };
        return (StatusCode::OK, [("content-type", "application/json".to_owned())], Bytes::from(answer.to_string()));
    }
    let api = inner.api.lock().expect("whole").clone();
    let url = format!("{api}/{method}?{}", query.unwrap_or_default());
    let mut request = inner.http.request(verb, url).body(body);
    for name in ["authorization", "content-type"] {
        if let Some(value) = headers.get(name) {
            request = request.header(name, value.clone());
        }
    }
    match request.send().await {
        Ok(answer) => {
            let kind = answer.headers().get("content-type").and_then(|v| v.to_str().ok()).unwrap_or("").to_owned();
            (answer.status(), [("content-type", kind)], answer.bytes().await.unwrap_or_default())
        }
        Err(_) => (StatusCode::BAD_GATEWAY, [("content-type", String::new())], Bytes::new()),
    }
}

async fn event(State(inner): State<Arc<Inner>>, body: Bytes) -> StatusCode {
    inner.relay("events_api", serde_json::from_slice(&body).expect("an event")).await
}

async fn interaction(State(inner): State<Arc<Inner>>, body: Bytes) -> StatusCode {
    let payload = url::form_urlencoded::parse(&body).find(|(key, _)| key == "payload").expect("a payload").1;
    inner.relay("interactive", serde_json::from_str(&payload).expect("JSON")).await
}
