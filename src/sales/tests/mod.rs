//! The server as a client meets it: a real MCP client, a real store, a pipe in memory between them. Each test runs over
//! both engines.

mod callers;
mod database;
mod http;
mod protocol;
mod reads;
mod writes;

use std::sync::Arc;

use chrono::{NaiveDate, TimeDelta};
use rmcp::model::{CallToolRequestParams, CallToolResult, ClientConfig, MetaObject, RequestMetaObject};
use rmcp::service::{QuitReason, RunningService, ServiceError};
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Map, Value, json};
use sqlx::postgres::PgPool;
use tokio::io::DuplexStream;
use tokio::task::{JoinError, JoinHandle};

use super::store::Store;
use super::{Settings, search_form, serve};
use crate::domain::{Clock, Person, ProposalId, Role, Write, Yen};
use crate::records::testing::{Database, Engine};
use crate::records::{self, Db, Source, SqliteRecords};
use crate::staff::{self, Staff};
use crate::tokens::{Approval, Keys, META_APPROVAL, META_CALLER, digest};

/// How long a salesperson may cancel an own registration.
const UNDO_WINDOW: TimeDelta = TimeDelta::hours(24);

/// The people, by first letter of their role; `other` sells in the other department, `gone` is revoked.
pub(super) fn person(user: &str) -> Person {
    Person::new("T0TEST", format!("U0{}", user.to_uppercase()))
}

/// One server over one file, and a client connected to it.
pub(super) struct Shop {
    pub store: Arc<Store>,
    desk: Desk,
    pub keys: Keys,
    pub clock: Clock,
    pub client: RunningService<RoleClient, ClientConfig>,
    pub server: JoinHandle<Result<QuitReason, JoinError>>,
}

/// What a test changes and reads behind the server's back.
enum Desk {
    Sqlite { records: SqliteRecords, _dir: tempfile::TempDir },
    Postgres { admin: PgPool, _database: Database },
}

/// What came back of a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    pub is_error: bool,
    pub value: Value,
}

impl Reply {
    fn of(result: CallToolResult) -> Self {
        let value = result.structured_content.expect("every answer is structured");
        let text = result.content.first().and_then(|c| c.as_text()).expect("every answer is also text").text.clone();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value, "text and structure say the same");
        let is_error = result.is_error.unwrap_or(false);
        assert_eq!(value["status"], if is_error { "error" } else { "success" });
        Self { is_error, value }
    }

    pub fn data(&self) -> &Value {
        assert!(!self.is_error, "{:?}", self.value);
        &self.value["data"]
    }

    pub fn code(&self) -> &str {
        assert!(self.is_error, "{:?}", self.value);
        assert!(!self.value["data"]["error"].as_str().unwrap().is_empty());
        self.value["data"]["code"].as_str().unwrap()
    }
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

impl Shop {
    pub async fn open(engine: Engine) -> Self {
        Self::open_with(engine, async |pipe| ClientConfig::default().serve(pipe).await.unwrap()).await
    }

    pub async fn open_with(
        engine: Engine,
        connect: impl AsyncFnOnce(DuplexStream) -> RunningService<RoleClient, ClientConfig>,
    ) -> Self {
        let (source, opened) = match engine {
            Engine::Sqlite => {
                let dir = tempfile::tempdir().unwrap();
                (Source::File(dir.path().join("records.db")), Err(dir))
            }
            Engine::Postgres => {
                let database = Database::create().await;
                (Source::Postgres(database.settings()), Ok(database))
            }
        };
        let keys = Keys::generate().unwrap();
        let clock = Clock::system();
        let settings = Settings {
            records: source,
            callers: super::Callers::Tokens(keys.public.clone()),
            zone: chrono_tz::Asia::Tokyo,
            undo_window: UNDO_WINDOW,
        };
        let store = Arc::new(Store::open(&settings.records, settings.rules(), true).await.unwrap());
        let desk = match (opened, &*store) {
            (Ok(database), _) => Desk::Postgres { admin: database.admin(), _database: database },
            (Err(dir), Store::Sqlite(sales)) => Desk::Sqlite { records: sales.records.clone(), _dir: dir },
            (Err(_), Store::Postgres(_)) => unreachable!("a file was asked for"),
        };
        desk.seed().await;
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        // Of the newest revision, the server's side of the handshake ends with the first request only.
        let server = {
            let (store, clock) = (Arc::clone(&store), clock.clone());
            tokio::spawn(async move { serve(store, &settings, clock, theirs).await.unwrap().waiting().await })
        };
        Self { store, desk, keys, clock, client: connect(ours).await, server }
    }

    /// The store with all rights.
    pub fn db(&self) -> Db<'_> {
        self.desk.db()
    }

    pub fn caller(&self, who: &str, tool: &str, args: &Map<String, Value>) -> String {
        self.keys.caller.sign(&person(who), tool, args, self.clock.now())
    }

    /// A call with whatever `_meta` it is given.
    pub async fn raw(&self, tool: &str, args: Map<String, Value>, meta: Value) -> Result<CallToolResult, ServiceError> {
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
        params.meta = Some(RequestMetaObject(MetaObject(object(meta))));
        self.client.call_tool(params).await
    }

    pub async fn call(&self, who: &str, tool: &str, args: Value) -> Reply {
        let args = object(args);
        let meta = json!({ META_CALLER: self.caller(who, tool, &args) });
        Reply::of(self.raw(tool, args, meta).await.unwrap())
    }

    /// The call of an approved write as the host makes it, each time with new tokens.
    pub async fn commit(&self, approval: &Approval, write: &Write) -> Reply {
        self.commit_args(approval, write.tool(), write.arguments()).await
    }

    pub async fn commit_args(&self, approval: &Approval, tool: &str, args: Map<String, Value>) -> Reply {
        let now = self.clock.now();
        let meta = json!({
            META_CALLER: self.keys.caller.sign(&approval.requester, tool, &args, now),
            META_APPROVAL: self.keys.approval.sign(approval, now),
        });
        Reply::of(self.raw(tool, args, meta).await.unwrap())
    }

    /// A proposal in some state, and the approval that its card's button would give.
    pub async fn proposal(&self, id: &str, who: &str, write: &Write, state: &str) -> Approval {
        let requester = person(who);
        let digest = digest(write);
        records::query(
            "INSERT INTO proposals (id, turn_id, round, call_index, origin_turn, team, channel, root, requester_team,
                 requester_user, lang, tool, write, digest, state, created_at, expires_at, claim_click, decided_team,
                 decided_user)
             VALUES ($1, $1, 0, 0, $1, 'T0TEST', 'C1', '1.0', $2, $3, 'ja', $4, $5, $6, $7, 0, 0, 'click', $2, $3)",
        )
        .bind(id)
        .bind(requester.team.as_str())
        .bind(requester.user.as_str())
        .bind(write.tool())
        .bind(serde_json::to_string(write).unwrap())
        .bind(digest.as_str())
        .bind(state)
        .execute(self.db())
        .await
        .unwrap();
        Approval { proposal: ProposalId::new(id), digest, requester: requester.clone(), approver: requester }
    }

    /// Registers a sale through its whole approved way and gives its number.
    pub async fn sell(&self, who: &str, id: &str, write: &Write) -> String {
        let approval = self.proposal(id, who, write, "claimed").await;
        let reply = self.commit(&approval, write).await;
        reply.data()["sales_registered"]["code_sales"].as_str().unwrap().to_owned()
    }

    pub async fn set_state(&self, id: &str, state: &str) {
        self.execute("UPDATE proposals SET state = $2 WHERE id = $1", &[id, state]).await;
    }

    pub async fn execute(&self, sql: &'static str, binds: &[&str]) {
        self.try_execute(sql, binds).await.unwrap();
    }

    pub async fn try_execute(&self, sql: &'static str, binds: &[&str]) -> Result<u64, sqlx::Error> {
        binds.iter().fold(records::query(sql), |query, bind| query.bind(*bind)).execute(self.db()).await
    }

    pub async fn number(&self, sql: &'static str) -> i64 {
        records::query(sql).scalar(self.db()).await.unwrap()
    }

    pub async fn approved_sales(&self) -> i64 {
        self.number("SELECT count(*) FROM sales WHERE origin = 'approval'").await
    }
}

pub(super) fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

/// A sale to 佐藤 太郎 of the vegetables department.
pub(super) fn carrots() -> Write {
    Write::AddSale {
        code_customer: "0002".into(),
        name_customer: "佐藤 太郎".into(),
        department: "野菜".into(),
        products: "人参 10kg".into(),
        price: Yen(1800),
        date_sales: day("2026-10-05"),
    }
}

pub(super) fn cancellation(code_sales: &str) -> Write {
    Write::CancelSale {
        code_sales: code_sales.into(),
        code_customer: "0002".into(),
        name_customer: "佐藤 太郎".into(),
        department: "野菜".into(),
        products: "人参 10kg".into(),
        price: Yen(1800),
        date_sales: day("2026-10-05"),
        reason: "金額違い".into(),
    }
}

impl Desk {
    fn db(&self) -> Db<'_> {
        match self {
            Self::Sqlite { records, .. } => records.durable().into(),
            Self::Postgres { admin, .. } => admin.into(),
        }
    }

    async fn seed(&self) {
        for (user, name, role, departments, active) in [
            ("viewer", "見学 みる", Role::Viewer, &["野菜"][..], true),
            ("sales", "営業 はな", Role::Sales, &["野菜"], true),
            ("colleague", "Ken Sample", Role::Sales, &["野菜"], true),
            ("manager", "課長 まなぶ", Role::Manager, &["野菜"], true),
            ("other", "果物 もも", Role::Manager, &["果物"], true),
            ("admin", "管理 あや", Role::Admin, &[], true),
            ("gone", "元社員 さる", Role::Admin, &["野菜", "果物"], false),
        ] {
            let departments = departments.iter().map(|&d| d.to_owned()).collect();
            let staff = Staff { person: person(user), display_name: name.into(), role, departments, active };
            staff::put(self.db(), &staff).await.unwrap();
        }
        for (code, name, department) in [
            ("0001", "さとう 花子", "野菜"),
            ("0002", "佐藤 太郎", "野菜"),
            ("0003", "ｶﾌｪ ﾊﾟﾝﾀﾞ", "野菜"),
            ("0004", "100% Juice_Bar", "野菜"),
            ("0101", "サトウ果樹園", "果物"),
        ] {
            // PostgreSQL fills the form itself and takes nobody's word for it.
            let (sql, form) = match self {
                Self::Sqlite { .. } => (
                    "INSERT INTO customers (code_customer, name_customer, department, address, phone, name_search)
                 VALUES ($1, $2, $3, '架空市1-2-3', '00-0000-0000', $4)",
                    Some(search_form(name)),
                ),
                Self::Postgres { .. } => (
                    "INSERT INTO customers (code_customer, name_customer, department, address, phone)
                 VALUES ($1, $2, $3, '架空市1-2-3', '00-0000-0000')",
                    None,
                ),
            };
            let query = records::query(sql).bind(code).bind(name).bind(department);
            form.into_iter().fold(query, |query, form| query.bind(form)).execute(self.db()).await.unwrap();
        }
        for (code, customer, date, price, by, cancelled) in [
            ("S1", "0002", "2026-09-28", 100, "sales", false),     // a Monday
            ("S2", "0002", "2026-10-04", 200, "colleague", false), // the Sunday of that week
            ("S3", "0002", "2026-10-05", 400, "sales", true),
            ("S4", "0001", "2026-10-05", 800, "sales", false),
            ("S5", "0101", "2026-10-05", 1_000_000, "other", false),
            // Registered for a person who has moved on to another department since.
            ("S6", "0101", "2026-10-06", 2_000_000, "sales", false),
        ] {
            records::query(match self {
                Self::Sqlite { .. } => {
                    "INSERT INTO sales (code_sales, code_customer, sales_date, products, price, registered_by, origin,
                     registered_at, cancelled_at, cancelled_by)
                 VALUES ($1, $2, $3, '品物', $4, $5, 'sample', 0, $6, $7)"
                }
                Self::Postgres { .. } => {
                    "INSERT INTO sales (code_sales, code_customer, sales_date, products, price, registered_by, origin,
                     registered_at, cancelled_at, cancelled_by)
                 VALUES ($1, $2, $3::date, '品物', $4, $5, 'sample', 0, $6, $7)"
                }
            })
            .bind(code)
            .bind(customer)
            .bind(date)
            .bind(i64::from(price))
            .bind(person(by).subject())
            .bind(cancelled.then_some(1_i64))
            .bind(cancelled.then(|| person(by).subject()))
            .execute(self.db())
            .await
            .unwrap();
        }
    }
}
