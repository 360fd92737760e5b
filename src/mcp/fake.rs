//! A sales server over an in-memory pipe, for the tests of this module and of the agent.

use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::model::{CallToolResponse, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt as _};
use serde_json::Map;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::domain::{ChannelId, Lang, MessageTs, TeamId, ThreadKey, TurnId, Write};
use crate::proposals::{self, Claim, ClaimedProposal, New, Slot};
use crate::records::Records;

/// What the fake answers.
pub(crate) enum Answer {
    Success(Value),
    Error(&'static str),
    Raw(CallToolResult),
    /// The store behind the server is gone.
    Unavailable,
    Never,
    /// The server dies with the call.
    Die,
}

/// One call as the server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub tool: String,
    pub arguments: Map<String, Value>,
    pub caller: Option<String>,
    pub approval: Option<String>,
}

pub(crate) fn signer() -> CallerSigner {
    crate::tokens::Keys::generate().unwrap().caller
}

/// A proposal that a press has claimed, made the only way there is.
pub(crate) async fn claimed(write: Write) -> ClaimedProposal {
    let dir = tempfile::tempdir().unwrap();
    let records = Records::open_file(&dir.path().join("records.sqlite")).await.unwrap();
    let mut tx = records.begin_durable().await.unwrap();
    let requester = Person::new("T1", "U1");
    let turn = TurnId::new("turn");
    let new = New {
        slot: Slot { turn: turn.clone(), round: 1, call_index: 0, origin_turn: turn, depth: 0 },
        thread: ThreadKey::of(&TeamId::new("T1"), &ChannelId::new("C1"), &MessageTs::new("1.000100"), None),
        requester: requester.clone(),
        lang: Lang::Ja,
        write,
        grounds: crate::domain::Grounds::default(),
        expiry: Duration::from_secs(60),
    };
    let proposal = proposals::create(&mut tx, &new).await.unwrap();
    match proposals::tests::claim(&mut tx, &proposal.id, "click", &requester, Duration::from_secs(60)).await.unwrap() {
        Claim::Claimed(claimed) => *claimed,
        other => unreachable!("{other:?}"),
    }
}

type Script = dyn Fn(&str, &Map<String, Value>) -> Answer + Send + Sync;

#[derive(Clone)]
pub(crate) struct Fake {
    script: Arc<Script>,
    seen: Arc<Mutex<Vec<Seen>>>,
    starts: Arc<AtomicUsize>,
    alive: Arc<Mutex<CancellationToken>>,
}

impl Fake {
    pub(crate) fn new(script: impl Fn(&str, &Map<String, Value>) -> Answer + Send + Sync + 'static) -> Self {
        Self { script: Arc::new(script), seen: Arc::default(), starts: Arc::default(), alive: Arc::default() }
    }

    /// A small farm: customers 0002 (east) and sale S1.
    pub(crate) fn farm() -> Self {
        Self::new(|tool, arguments| match tool {
            "get_customers" => match arguments.get("code_customer").and_then(Value::as_str) {
                Some("0002") | None => Answer::Success(json!({
                    "customers": [{"code_customer": "0002", "name_customer": "青空農園", "address": "a",
                        "phone": "p", "department": "east"}],
                    "count": 1, "truncated": false, "departments": ["east"],
                })),
                Some(_) => Answer::Error("customer_not_found"),
            },
            "list_registrations" if arguments.get("code_sales") == Some(&json!("S1")) => Answer::Success(json!({
                "registrations": [{"code_sales": "S1", "code_customer": "0002", "name_customer": "青空農園",
                    "date_sales": "2026-11-01", "products": "苗", "price": 600, "registered_by": "slack:T1:U1",
                    "cancelled": false, "origin": "sample"}],
                "departments": ["east"],
            })),
            _ => Answer::Success(json!({
                "sales": [], "registrations": [], "count": 0, "total_price": 0, "truncated": false,
                "departments": ["east"], "period": {"begin": "2026-10-01", "end": "2026-10-31"},
            })),
        })
    }

    pub(crate) async fn connect(&self, call_timeout: Duration) -> Mcp {
        self.connect_pinned(None, call_timeout).await
    }

    pub(crate) async fn connect_pinned(&self, pins: Option<Pins>, call_timeout: Duration) -> Mcp {
        let fake = self.clone();
        let open = move || {
            let (ours, theirs) = tokio::io::duplex(1 << 16);
            let fake = fake.clone();
            fake.starts.fetch_add(1, Ordering::SeqCst);
            let token = CancellationToken::new();
            *lock(&fake.alive) = token.clone();
            tokio::spawn(async move {
                let service = fake.serve_with_ct(tokio::io::split(theirs), token).await;
                if let Ok(service) = service {
                    let _ = service.waiting().await;
                }
            });
            Ok(tokio::io::split(ours))
        };
        Mcp::connect_pipe(open, pins, call_timeout, signer(), Clock::system()).await.unwrap()
    }

    /// What it lists.
    pub(crate) fn tools() -> Vec<Tool> {
        let input = json!({"$schema": "x", "title": "T", "type": "object"}).as_object().cloned().unwrap();
        let output = json!({
            "type": "object",
            "properties": {"data": {"properties": {"count": {"type": "integer"}}}},
        });
        let mut tools: Vec<Tool> =
            ["get_customers", "get_sales", "list_registrations", "summarize_sales", "add_sale", "cancel_sale", "drop"]
                .into_iter()
                .map(|name| Tool::new(name, format!("does {name}"), input.clone()))
                .collect();
        for tool in &mut tools {
            tool.output_schema = output.as_object().cloned().map(Arc::new);
        }
        tools
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        lock(&self.seen).clone()
    }

    pub(crate) fn starts(&self) -> usize {
        self.starts.load(Ordering::SeqCst)
    }

    pub(crate) fn kill(&self) {
        lock(&self.alive).cancel();
    }
}

impl ServerHandler for Fake {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, rmcp::ErrorData> {
        Ok(ListToolsResult::with_all_items(Self::tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, rmcp::ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let key = |key: &str| context.meta.get(key).and_then(Value::as_str).map(str::to_owned);
        lock(&self.seen).push(Seen {
            tool: request.name.to_string(),
            arguments: arguments.clone(),
            caller: key(META_CALLER),
            approval: key(META_APPROVAL),
        });
        let result = match (self.script)(&request.name, &arguments) {
            Answer::Success(data) => CallToolResult::structured(json!({"status": "success", "data": data})),
            Answer::Error(code) => CallToolResult::structured_error(
                json!({"status": "error", "data": {"error": "refused", "code": code, "departments": []}}),
            ),
            Answer::Raw(result) => result,
            Answer::Unavailable => {
                return Err(ErrorData::internal_error("no store", Some(json!({"code": "unavailable"}))));
            }
            Answer::Never => std::future::pending().await,
            Answer::Die => {
                self.kill();
                std::future::pending().await
            }
        };
        Ok(CallToolResponse::Complete(result))
    }
}
