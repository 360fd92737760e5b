//! The sales server as a process of its own, asked as any client of MCP may ask it: over its standard input, or over HTTP.
//! Nothing here knows what a good request is, so that a test can send any.

use std::collections::HashMap;
use std::process::{ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sales_concierge::domain::{Person, ProposalId, Secret, Write, Yen};
use sales_concierge::playground::sample;
use sales_concierge::records::testing::Database;
use sales_concierge::records::{self, Db, Records, SqliteRecords};
use sales_concierge::tokens::{Approval, Keys, digest};
use serde_json::{Map, Value, json};
use sqlx::PgPool;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::oneshot;

use super::forger::Forger;
use super::{AOKI, PATIENCE, crypto, file, today};
use crate::cluster::furnish;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_sales-concierge");

/// How a sales server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    Stdio,
    Http,
}

/// What the records are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// Each test in every way, on every engine: `async fn name(over, engine) { … }`.
macro_rules! everywhere {
    ($(async fn $name:ident($over:ident, $engine:ident) $body:block)*) => {$(
        mod $name {
            use super::*;

            async fn check($over: Over, $engine: Engine) $body

            #[tokio::test(flavor = "multi_thread")]
            async fn over_stdio_on_sqlite() {
                check(Over::Stdio, Engine::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn over_stdio_on_postgres() {
                check(Over::Stdio, Engine::Postgres).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn over_http_on_sqlite() {
                check(Over::Http, Engine::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn over_http_on_postgres() {
                check(Over::Http, Engine::Postgres).await;
            }
        }
    )*};
}
pub(crate) use everywhere;

enum Desk {
    File(SqliteRecords),
    Database(PgPool),
}

/// Records of the sample farm, and keys to them.
pub struct Shop {
    pub dir: tempfile::TempDir,
    pub keys: Keys,
    pub forger: Forger,
    /// What every server of it is started with.
    pub env: Vec<(String, String)>,
    desk: Desk,
    _database: Option<Database>,
}

impl Shop {
    pub async fn open(engine: Engine) -> Self {
        match engine {
            Engine::Sqlite => {
                let dir = tempfile::tempdir().expect("a folder");
                let records = file(&dir.path().join("records.sqlite")).await;
                sample::load(&records, today()).await.expect("sample data");
                Self::of(dir, Desk::File(records), Vec::new(), None)
            }
            Engine::Postgres => {
                let database = Database::create().await;
                let admin = database.admin();
                furnish(&admin).await;
                let env = vec![("DATABASE_URL".to_owned(), database.url().to_owned())];
                let dir = tempfile::tempdir().expect("a folder");
                Self::of(dir, Desk::Database(admin), env, Some(database))
            }
        }
    }

    /// Over a database of the test's own, in which nothing is yet.
    pub async fn in_database(url: &str) -> Self {
        records::postgres::migrate(&Secret::new(url.to_owned())).await.expect("migrated");
        let admin = PgPool::connect(url).await.expect("the cluster answers");
        furnish(&admin).await;
        let env = vec![("DATABASE_URL".to_owned(), url.to_owned())];
        Self::of(tempfile::tempdir().expect("a folder"), Desk::Database(admin), env, None)
    }

    /// After the database was away.
    pub async fn reconnect(&mut self, url: &str) {
        self.desk = Desk::Database(PgPool::connect(url).await.expect("the cluster answers"));
    }

    fn of(dir: tempfile::TempDir, desk: Desk, mut env: Vec<(String, String)>, database: Option<Database>) -> Self {
        let path = dir.path().join("keys.json");
        let keys = Keys::load_or_create(&path).expect("keys");
        env.push(("SALES_CONCIERGE__SALES_SERVER__CALLER_KEYS".to_owned(), keys.public.caller.join(",")));
        env.push(("SALES_CONCIERGE__SALES_SERVER__APPROVAL_KEYS".to_owned(), keys.public.approval.join(",")));
        Self { forger: Forger::of(&path), dir, keys, env, desk, _database: database }
    }

    /// The records with all rights.
    pub fn db(&self) -> Db<'_> {
        match &self.desk {
            Desk::File(records) => records.durable().into(),
            Desk::Database(admin) => admin.into(),
        }
    }

    /// Where the database is.
    pub fn database_url(&self) -> String {
        self.env.iter().find(|(name, _)| name == "DATABASE_URL").expect("a database").1.clone()
    }

    pub async fn number(&self, sql: &'static str) -> i64 {
        records::query(sql).scalar(self.db()).await.expect(sql)
    }

    pub async fn execute(&self, sql: &'static str, binds: &[&str]) {
        let query = binds.iter().fold(records::query(sql), |query, bind| query.bind(*bind));
        query.execute(self.db()).await.expect(sql);
    }

    pub async fn approved_sales(&self) -> i64 {
        self.number("SELECT count(*) FROM sales WHERE origin = 'approval'").await
    }

    /// While this is held, the write of a proposal waits; on SQLite any write.
    pub async fn hold_up_writes(&self, proposal: &str) -> records::Tx {
        let records = match &self.desk {
            Desk::File(records) => Records::Sqlite(records.clone()),
            Desk::Database(admin) => {
                Records::Postgres(records::PostgresRecords { durable: admin.clone(), quick: admin.clone() })
            }
        };
        let mut tx = records.begin_durable().await.expect("a transaction");
        if records.is_shared() {
            let row = records::query("SELECT id FROM proposals WHERE id = $1 FOR UPDATE").bind(proposal);
            row.fetch_one(&mut tx).await.expect("locked");
        }
        tx
    }

    /// Runs a command of the program on these records, and gives what it printed.
    pub async fn program(&self, args: &[&str]) -> String {
        let output = self.output(args).await;
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// Its exit code, and what it said on standard error.
    pub async fn program_ends(&self, args: &[&str]) -> (i32, String) {
        let output = self.output(args).await;
        (output.status.code().expect("a code"), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    async fn output(&self, args: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.args(args).arg("--data-dir").arg(self.dir.path()).env_clear().stdin(Stdio::null());
        let output = command.envs(self.env.iter().map(|(k, v)| (k.as_str(), v.as_str()))).output();
        tokio::time::timeout(PATIENCE, output).await.expect("it ends").expect("the program runs")
    }

    /// What a pressed card leaves in the records.
    pub async fn claimed(&self, id: &str, write: &Write) -> Approval {
        self.proposal(id, write, "claimed").await
    }

    pub async fn proposal(&self, id: &str, write: &Write, state: &str) -> Approval {
        records::query(
            "INSERT INTO proposals (id, turn_id, round, call_index, origin_turn, team, channel, root, requester_team,
                 requester_user, lang, tool, write, digest, state, created_at, expires_at, claim_click, decided_team,
                 decided_user)
             VALUES ($1, $1, 0, 0, $1, $2, 'C1', '1.0', $2, $3, 'ja', $4, $5, $6, $7, 0, 0, 'click', $2, $3)",
        )
        .bind(id)
        .bind(sample::TEAM)
        .bind(AOKI)
        .bind(write.tool())
        .bind(serde_json::to_string(write).expect("JSON"))
        .bind(digest(write))
        .bind(state)
        .execute(self.db())
        .await
        .expect("a proposal");
        let (requester, approver) = (aoki(), aoki());
        Approval { proposal: ProposalId::new(id), digest: digest(write), requester, approver }
    }

    /// The call of a write as the host makes it.
    pub fn write(&self, write: &Write, approval: &Approval) -> Call {
        let now = now();
        let mut call = Call::of(write.tool(), write.arguments());
        call.callers.push(self.keys.caller.sign(&approval.requester, write.tool(), &write.arguments(), now).into());
        call.approval = Some(self.keys.approval.sign(approval, now).into());
        call
    }

    /// The call of a read as the host makes it, for Aoki.
    pub fn read(&self, tool: &str, arguments: Value) -> Call {
        let arguments = arguments.as_object().expect("an object").clone();
        let token = self.keys.caller.sign(&aoki(), tool, &arguments, now());
        let mut call = Call::of(tool, arguments);
        call.callers.push(token.into());
        call
    }
}

pub fn now() -> chrono::DateTime<chrono::Utc> {
    sales_concierge::domain::Clock::system().now()
}

pub fn aoki() -> Person {
    Person::new(sample::TEAM, AOKI)
}

/// A sale of Aoki's department.
pub fn pumpkins(price: i64) -> Write {
    Write::AddSale {
        code_customer: "0002".into(),
        name_customer: "佐藤 花子".into(),
        department: "直販".into(),
        products: "かぼちゃ4個".into(),
        price: Yen(price),
        date_sales: today(),
    }
}

/// One call of a tool, with whatever tokens.
#[derive(Clone, Debug)]
pub struct Call {
    pub tool: String,
    /// JSON text, so that its order and spelling are the test's.
    pub arguments: String,
    /// Over HTTP the lines of `Authorization` after `Bearer `, else the value in `_meta`, of which there is at most one.
    pub callers: Vec<Value>,
    pub approval: Option<Value>,
}

impl Call {
    pub fn of(tool: &str, arguments: Map<String, Value>) -> Self {
        let arguments = Value::Object(arguments).to_string();
        Self { tool: tool.to_owned(), arguments, callers: Vec::new(), approval: None }
    }
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Reply {
    /// 200 over standard output.
    pub status: u16,
    pub challenge: Option<String>,
    /// As it came.
    pub text: String,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// The code of a tool's refusal or of a JSON-RPC error; empty for a success.
    pub fn code(&self) -> String {
        let json = self.json();
        let code = json.pointer("/result/structuredContent/data/code").or(json.pointer("/error/data/code"));
        code.and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// Whether it says no, for certain: a tool's refusal.
    pub fn is_refusal(&self) -> bool {
        self.json().pointer("/result/isError") == Some(&Value::Bool(true))
    }

    /// `data` of a success.
    pub fn data(&self) -> Value {
        let json = self.json();
        assert_eq!(json.pointer("/result/structuredContent/status"), Some(&json!("success")), "{self:?}");
        json.pointer("/result/structuredContent/data").expect("data").clone()
    }

    /// The number of the sale that was written.
    pub fn number(&self) -> String {
        let data = self.data();
        let row = data.get("sales_registered").or(data.get("sale_cancelled")).expect("a sale");
        row["code_sales"].as_str().expect("a number").to_owned()
    }
}

type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<String>>>>;

enum Way {
    Stdio { input: tokio::sync::Mutex<Option<ChildStdin>>, waiting: Waiting },
    Http { client: reqwest::Client, url: String },
}

/// The running process.
pub struct Server {
    child: Child,
    way: Way,
    said: Arc<Mutex<String>>,
    id: AtomicU64,
}

impl Server {
    /// Started, and answering.
    pub async fn start(shop: &Shop, over: Over, env: &[(&str, &str)]) -> Self {
        Self::start_at(shop, over, 0, env).await
    }

    /// The same at a port of the test's choosing, where there are ports.
    pub async fn start_at(shop: &Shop, over: Over, port: u16, env: &[(&str, &str)]) -> Self {
        crypto();
        let mut command = Command::new(PROGRAM);
        command.args(["sales-server", "--data-dir"]).arg(shop.dir.path()).env_clear();
        if over == Over::Http {
            command.args(["--transport", "http", "--listen", &format!("127.0.0.1:{port}")]);
        }
        command.envs(shop.env.iter().map(|(k, v)| (k.as_str(), v.as_str()))).envs(env.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("the server starts");
        let said = Arc::new(Mutex::new(String::new()));
        let (mut log, kept) = (BufReader::new(child.stderr.take().expect("piped")).lines(), Arc::clone(&said));
        tokio::spawn(async move {
            while let Ok(Some(line)) = log.next_line().await {
                let mut said = kept.lock().expect("not poisoned");
                said.push_str(&line);
                said.push('\n');
            }
        });
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let way = match over {
            Over::Stdio => {
                let waiting = Waiting::default();
                let asked = Arc::clone(&waiting);
                tokio::spawn(async move {
                    while let Ok(Some(line)) = lines.next_line().await {
                        let answer: Value = serde_json::from_str(&line).expect("JSON on standard output");
                        let asker =
                            answer["id"].as_u64().and_then(|id| asked.lock().expect("not poisoned").remove(&id));
                        if let Some(asker) = asker {
                            let _ = asker.send(line);
                        }
                    }
                    asked.lock().expect("not poisoned").clear();
                });
                Way::Stdio { input: tokio::sync::Mutex::new(child.stdin.take()), waiting }
            }
            Over::Http => {
                let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("ready in time");
                let line = line.expect("its output").unwrap_or_default();
                let url = line.strip_prefix("ready ").unwrap_or_else(|| panic!("{}", said.lock().expect("log")));
                let client = reqwest::Client::builder().no_proxy().build().expect("a client");
                Way::Http { client, url: url.to_owned() }
            }
        };
        let server = Self { child, way, said, id: AtomicU64::new(0) };
        if over == Over::Stdio {
            let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "test", "version": "0" } });
            server.ask("initialize", &hello.to_string(), &[]).await;
            server.put(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        }
        server
    }

    pub fn is_http(&self) -> bool {
        matches!(self.way, Way::Http { .. })
    }

    /// Where it is asked over HTTP.
    pub fn url(&self) -> &str {
        let Way::Http { url, .. } = &self.way else { panic!("it is asked over standard input") };
        url
    }

    pub fn pid(&self) -> u32 {
        self.child.id().expect("running")
    }

    /// Everything it logged so far.
    pub fn log(&self) -> String {
        self.said.lock().expect("not poisoned").clone()
    }

    /// Without a chance to say goodbye.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("killed");
    }

    /// Its end, whoever caused it.
    pub async fn ended(&mut self) -> ExitStatus {
        tokio::time::timeout(PATIENCE, self.child.wait()).await.expect("it ends").expect("a status")
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a status").is_none()
    }

    async fn put(&self, line: &str) {
        let Way::Stdio { input, .. } = &self.way else { return };
        let mut input = input.lock().await;
        let input = input.as_mut().expect("not hung up");
        input.write_all(format!("{line}\n").as_bytes()).await.expect("it reads");
    }

    pub async fn call(&self, call: &Call) -> Reply {
        let (params, bearers) = self.params(call);
        self.ask("tools/call", &params, &bearers).await
    }

    /// Sends a call over standard input and does not wait.
    pub async fn begin(&self, call: &Call) {
        let (params, _) = self.params(call);
        self.put(&format!(r#"{{"jsonrpc":"2.0","id":"later","method":"tools/call","params":{params}}}"#)).await;
    }

    /// Closes its standard input.
    pub async fn hang_up(&mut self) {
        if let Way::Stdio { input, .. } = &self.way {
            *input.lock().await = None;
        }
    }

    fn params(&self, call: &Call) -> (String, Vec<String>) {
        let mut meta = Map::new();
        if let Some(approval) = &call.approval {
            meta.insert("sales-concierge/approval".to_owned(), approval.clone());
        }
        let mut bearers = Vec::new();
        match self.way {
            Way::Stdio { .. } => {
                let token = call.callers.first().map(|token| ("sales-concierge/caller".to_owned(), token.clone()));
                meta.extend(token);
            }
            Way::Http { .. } => {
                let text = |token: &Value| token.as_str().map_or_else(|| token.to_string(), str::to_owned);
                bearers.extend(call.callers.iter().map(|token| format!("Bearer {}", text(token))));
            }
        }
        let params = format!(
            r#"{{"name":{},"arguments":{},"_meta":{}}}"#,
            json!(call.tool),
            call.arguments,
            Value::Object(meta)
        );
        (params, bearers)
    }

    /// Any request, with these lines of `Authorization` where there are such.
    pub async fn ask(&self, method: &str, params: &str, authorization: &[String]) -> Reply {
        let id = self.id.fetch_add(1, Ordering::Relaxed);
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        let answered = async {
            match &self.way {
                Way::Stdio { waiting, .. } => {
                    let (tell, told) = oneshot::channel();
                    waiting.lock().expect("not poisoned").insert(id, tell);
                    self.put(&message).await;
                    let text = told.await.unwrap_or_else(|_| panic!("it ended:\n{}", self.log()));
                    Reply { status: 200, challenge: None, text }
                }
                Way::Http { client, url } => {
                    let mut request = client
                        .post(url)
                        .header("Content-Type", "application/json")
                        .header("Accept", "application/json, text/event-stream");
                    for line in authorization {
                        request = request.header("Authorization", line);
                    }
                    let response = request.body(message).send().await.expect("an answer");
                    let status = response.status().as_u16();
                    let challenge =
                        response.headers().get("WWW-Authenticate").map(|v| v.to_str().expect("text").into());
                    Reply { status, challenge, text: response.text().await.expect("a body") }
                }
            }
        };
        let answer = tokio::time::timeout(PATIENCE, answered).await;
        answer.unwrap_or_else(|_| panic!("no answer to {method}\nlog:\n{}", self.log()))
    }
}
