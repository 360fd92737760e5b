//! The MCP side: from a request to an answer.
//!
//! Order of a call: tool name, caller token, arguments, staff record, approval token, SQL, audit. Nothing about the
//! caller is remembered between calls, and of the request's `_meta` only the two token keys are looked at. A call that
//! panics is answered like one the store did not answer: its outcome is not known.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::http::request::Parts;
use futures::FutureExt as _;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, GetPromptRequestParams, GetPromptResponse,
    Implementation, ListPromptsResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::ACTOR;
use super::answer::{Code, Failure, Refusal};
use super::arguments::{self, AddSale, CancelSale, Range};
use super::catalogue::{Catalogue, Definition, Name};
use super::guide;
use super::store::{Cancellation, NewSale, Store};
use crate::audit::{self, Entry};
use crate::domain::{Clock, Person, ProposalId, Risk};
use crate::tokens::{Approval, Bearer, META_APPROVAL, META_CALLER, TokenError, Verifier};

/// Lists and texts are compiled in and the same for everyone; a client that keeps them longer only misses an upgrade.
const FRESH_MS: u64 = 60_000;

/// Characters of an unknown tool's name that the audit keeps.
const NAME_KEPT: usize = 64;

/// How the server knows whom a call is made for.
pub(super) enum Identity {
    /// A caller token in the call's `_meta`: over standard input and output.
    Meta(Verifier),
    /// The request's bearer, which the HTTP edge has checked.
    Bearer(Verifier),
    /// One person, given by whoever started the process; reads only.
    Fixed(Person),
}

/// The MCP server over one store of record.
pub(super) struct Server {
    pub store: Arc<Store>,
    pub identity: Identity,
    pub clock: Clock,
    pub catalogue: Catalogue,
}

/// An answer and what the audit keeps of it.
struct Answered {
    data: Value,
    proposal: Option<ProposalId>,
    /// The write's own transaction holds its audit row already.
    audited: bool,
}

impl Server {
    async fn call(
        &self,
        definition: &Definition,
        arguments: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, sqlx::Error> {
        let tool = definition.name.as_str();
        let approval = context.meta.get(META_APPROVAL).and_then(Value::as_str);
        let person = match self.caller(context, tool, &arguments) {
            Ok(person) => person,
            Err(refusal) => {
                self.audit(&audit::nobody(), tool, Risk::Critical, None, json!({ "code": refusal.code.name() }))
                    .await?;
                return Ok(CallToolResult::structured_error(refusal.to_value()));
            }
        };
        match self.run(definition, arguments, &person, approval).await {
            Ok(Answered { data, proposal, audited }) => {
                let written = audited || (Risk::of(tool) == Risk::Low && self.store.audits_answers());
                if !written {
                    let detail = json!({ "count": data.get("count"), "repeated": data.get("repeated") });
                    self.audit(&person, tool, Risk::of(tool), proposal.as_ref(), detail).await?;
                }
                Ok(CallToolResult::structured(json!({ "status": "success", "data": data })))
            }
            Err(Failure::Refused(refusal)) => {
                let risk = match refusal.code {
                    Code::ApprovalInvalid | Code::ApprovalMismatch => Risk::Critical,
                    _ => Risk::of(tool).max(Risk::Medium),
                };
                let (proposal, digest) = refusal.approval.as_ref().map(|(id, digest)| (id, digest.as_str())).unzip();
                let detail = audit::with(json!({ "code": refusal.code.name() }), "digest", digest);
                self.audit(&person, tool, risk, proposal, detail).await?;
                Ok(CallToolResult::structured_error(refusal.to_value()))
            }
            Err(Failure::Store(error)) => Err(error),
        }
    }

    async fn audit(
        &self,
        person: &Person,
        tool: &str,
        risk: Risk,
        proposal: Option<&ProposalId>,
        detail: Value,
    ) -> Result<(), sqlx::Error> {
        let event = if detail.get("code").is_some() { "tool_refused" } else { "tool_answered" };
        let entry = Entry { actor: ACTOR, on_behalf: person, event, tool: Some(tool), risk, proposal, detail };
        audit::append(self.store.quick(), entry).await
    }

    fn caller(
        &self,
        context: &RequestContext<RoleServer>,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Person, Refusal> {
        let required = || Refusal::new(Code::CallerRequired, "The call carries no caller token.");
        let person = match &self.identity {
            Identity::Fixed(person) => return Ok(person.clone()),
            Identity::Meta(verifier) => {
                let token = context.meta.get(META_CALLER).and_then(Value::as_str).ok_or_else(required)?;
                verifier.caller(token, tool, arguments, self.clock.now())
            }
            Identity::Bearer(_) => {
                let bearer = context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Bearer>());
                let Some(Bearer::Caller(grant)) = bearer else { return Err(required()) };
                grant.person(tool, arguments).cloned()
            }
        };
        person.map_err(|error| match error {
            TokenError::Expired => Refusal::new(Code::CallerExpired, "The caller token is outside its lifetime."),
            _ => Refusal::new(Code::CallerInvalid, "The caller token is not valid for this call."),
        })
    }

    async fn run(
        &self,
        definition: &Definition,
        args: Map<String, Value>,
        person: &Person,
        approval: Option<&str>,
    ) -> Result<Answered, Failure> {
        let check = &definition.validator;
        match definition.name {
            Name::GetCustomers => {
                let args = arguments::read(check, args)?;
                read_answer(&self.store.get_customers(person, &args).await?)
            }
            Name::GetSales => {
                let args: arguments::GetSales = arguments::read(check, args)?;
                let range = Range::read(args.date_sales_begin_str.as_deref(), args.date_sales_end_str.as_deref())?;
                read_answer(&self.store.get_sales(person, &args, range).await?)
            }
            Name::ListRegistrations => {
                let args: arguments::ListRegistrations = arguments::read(check, args)?;
                let range = Range::read(args.date_sales_begin_str.as_deref(), args.date_sales_end_str.as_deref())?;
                read_answer(&self.store.list_registrations(person, &args, range).await?)
            }
            Name::SummarizeSales => {
                let args: arguments::SummarizeSales = arguments::read(check, args)?;
                let range = Range::read(Some(&args.date_sales_begin_str), Some(&args.date_sales_end_str))?;
                read_answer(&self.store.summarize_sales(person, &args, range).await?)
            }
            Name::AddSale => {
                let args: AddSale = arguments::read(check, args)?;
                arguments::plain(&args.products, Code::InvalidProducts)?;
                let date = args.date_sales_str.as_deref();
                let date = date.map(|text| arguments::date("date_sales_str", text)).transpose()?;
                let approval = self.approval(person, approval).await?;
                let AddSale { code_customer, products, price, .. } = args;
                let new = NewSale { code_customer, products, price, date };
                let done = self.store.add_sale(&approval, &new).await.map_err(|f| f.under(&approval))?;
                write_answer(&done, done.repeated, approval)
            }
            Name::CancelSale => {
                let CancelSale { code_sales, reason } = arguments::read(check, args)?;
                arguments::plain(&reason, Code::InvalidArguments)?;
                let approval = self.approval(person, approval).await?;
                let new = Cancellation { code_sales, reason };
                let done = self.store.cancel_sale(&approval, &new).await.map_err(|f| f.under(&approval))?;
                write_answer(&done, done.repeated, approval)
            }
        }
    }

    /// The approval a write carries. Rights are not asked here but in the write's transaction, after the question
    /// whether this approval was carried out before.
    async fn approval(&self, person: &Person, token: Option<&str>) -> Result<Approval, Failure> {
        let verifier = match &self.identity {
            Identity::Meta(verifier) | Identity::Bearer(verifier) => verifier,
            Identity::Fixed(_) => {
                return Err(Refusal::new(
                    Code::ApprovalRequired,
                    "This connection only reads. Ask the bot in Slack to register or cancel a sale, and confirm it there.",
                )
                .into());
            }
        };
        let Some(token) = token else {
            return Err(self.store.needs_approval(person).await);
        };
        let approval = verifier.approval(token, self.clock.now()).map_err(|error| match error {
            TokenError::Expired => Refusal::new(Code::ApprovalExpired, "The approval token is outside its lifetime."),
            _ => Refusal::new(Code::ApprovalInvalid, "The approval token is not valid."),
        })?;
        if approval.requester != *person {
            return Err(Refusal::new(Code::ApprovalInvalid, "The approval belongs to another person.").into());
        }
        Ok(approval)
    }
}

fn to_value<T: Serialize>(data: &T) -> Result<Value, Failure> {
    serde_json::to_value(data).map_err(|e| Failure::Store(sqlx::Error::Encode(e.into())))
}

fn read_answer<T: Serialize>(data: &T) -> Result<Answered, Failure> {
    Ok(Answered { data: to_value(data)?, proposal: None, audited: false })
}

fn write_answer<T: Serialize>(data: &T, repeated: bool, approval: Approval) -> Result<Answered, Failure> {
    Ok(Answered { data: to_value(data)?, proposal: Some(approval.proposal), audited: !repeated })
}

/// A tool result, or the JSON-RPC error that says the outcome is not known.
pub(super) async fn guarded(
    tool: &str,
    work: impl Future<Output = Result<CallToolResult, sqlx::Error>>,
) -> Result<CallToolResult, ErrorData> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(error)) => {
            tracing::error!(tool, error = &error as &dyn std::error::Error, "the store did not answer");
            let data = json!({ "code": "unavailable" });
            Err(ErrorData::internal_error("the store did not answer; the outcome of the call is not known", Some(data)))
        }
        Err(_) => {
            tracing::error!(tool, "a tool panicked");
            Err(ErrorData::internal_error("the server failed; the outcome of the call is not known", None))
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("sales-server", env!("CARGO_PKG_VERSION")))
            .with_instructions("Customers and sales of one company. Read sales://guide for what the data means.")
    }

    fn supported_protocol_versions(&self) -> std::borrow::Cow<'static, [ProtocolVersion]> {
        const IN_USE: &[ProtocolVersion] =
            &[ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];
        std::borrow::Cow::Borrowed(IN_USE)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.catalogue.tools())
            .with_ttl_ms(FRESH_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let Some(definition) = self.catalogue.find(&request.name) else {
            let person = self.caller(&context, &request.name, &arguments).unwrap_or_else(|_| audit::nobody());
            let name: String = request.name.chars().take(NAME_KEPT).collect();
            let detail = json!({ "code": "unknown_tool" });
            if let Err(error) = self.audit(&person, &name, Risk::Critical, None, detail).await {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the call of an unknown tool is not in the audit"
                );
            }
            return Err(ErrorData::invalid_params("there is no tool of this name", None));
        };
        let work = self.call(definition, arguments, &context);
        guarded(definition.name.as_str(), work).await.map(Into::into)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(guide::resources())
            .with_ttl_ms(FRESH_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let text = guide::read(&request.uri)
            .ok_or_else(|| ErrorData::resource_not_found("there is no resource of this name", None))?;
        let contents = ResourceContents::text(text, request.uri).with_mime_type("text/markdown");
        Ok(ReadResourceResult::new(vec![contents]).with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Public).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(guide::prompts())
            .with_ttl_ms(FRESH_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        guide::prompt(&request.name, &request.arguments.unwrap_or_default())
            .map(Into::into)
            .map_err(|sentence| ErrorData::invalid_params(sentence, None))
    }
}
