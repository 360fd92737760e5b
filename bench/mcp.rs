//! Figure 6: what a tool call costs beyond its SQL: two processes, JSON, a signed token and its check.

use std::time::{Duration, Instant};

use sales_concierge::audit::{self, Entry};
use sales_concierge::domain::{Clock, Person, Risk};
use sales_concierge::mcp::{Mcp, Server, Settings};
use sales_concierge::playground::sample;
use sales_concierge::policy;
use sales_concierge::records::{self, Records};
use sales_concierge::staff;
use sales_concierge::tokens::Keys;

use crate::Options;
use crate::bot::{PERSON, PROGRAM, folder, records_path};
use crate::numbers::{Row, Sample, ms};
use crate::wire::CUSTOMER;

pub async fn measure(options: &Options) -> anyhow::Result<Vec<Row>> {
    let dir = folder().await?;
    let keys = Keys::generate()?;
    let env = [
        ("SALES_CONCIERGE__SALES_SERVER__CALLER_KEYS", keys.public.caller.join(",")),
        ("SALES_CONCIERGE__SALES_SERVER__APPROVAL_KEYS", keys.public.approval.join(",")),
    ];
    let settings = Settings {
        server: Server::Child {
            command: PROGRAM.into(),
            args: vec!["sales-server".into(), "--data-dir".into(), dir.path().into()],
            env: env.into_iter().map(|(k, v)| (k.into(), v.into())).collect(),
        },
        pins: None,
        call_timeout: Duration::from_secs(10),
    };
    let mcp = Mcp::connect(settings, keys.caller, Clock::system()).await?;
    let who = Person::new(sample::TEAM, PERSON);
    let calls = options.pick(2_000, 300);
    let mut whole = Sample::default();
    for _ in 0..calls {
        let begun = Instant::now();
        mcp.call(policy::lookup_customer(CUSTOMER), &who, None).await?;
        whole.push(begun.elapsed());
    }
    mcp.close().await;

    // The statements of that call, in this process.
    let records = Records::open_file(&records_path(dir.path())).await?;
    let mut sql = Sample::default();
    for _ in 0..calls {
        let begun = Instant::now();
        staff::find(records.read(), &who).await?;
        records::query("SELECT code_customer, name_customer, department FROM customers WHERE code_customer = $1")
            .bind(CUSTOMER)
            .fetch_all(records.read())
            .await?;
        let entry = Entry {
            actor: "bench",
            on_behalf: &who,
            event: "tool_answered",
            tool: Some("get_customers"),
            risk: Risk::Low,
            proposal: None,
            detail: serde_json::json!({"count": 1, "repeated": null}),
        };
        audit::append(records.quick(), entry).await?;
        sql.push(begun.elapsed());
    }
    records.close().await;
    Ok(vec![
        Row::info("6. a tool call over stdio, p50 / p99", format!("{} / {}", ms(whole.p50()), ms(whole.p99()))),
        Row::info("   its SQL and audit row alone, p50 / p99", format!("{} / {}", ms(sql.p50()), ms(sql.p99()))),
        Row::info("   the call beyond its SQL, p50", ms(whole.p50() - sql.p50())),
    ])
}
