//! Figure 8: the tools over PostgreSQL with many rows, through the real server: MCP over stdio, tokens, departments and
//! audit. Figure 9: presses on the cards of one database through three bots.
//!
//! The database is a throwaway cluster that `scripts/postgres` makes, unless `BENCH_POSTGRES_URL` names a superuser's
//! address; a database of that name is made in it and dropped again.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use chrono::NaiveDate;
use sales_concierge::domain::{
    ChannelId, Clock, Grounds, Lang, MessageTs, Person, Role, TeamId, ThreadKey, ToolCall, TurnId, Write, Yen,
};
use sales_concierge::mcp::{Mcp, Server, Settings};
use sales_concierge::playground::sample;
use sales_concierge::policy::{self, Counters, Decision, Table};
use sales_concierge::proposals::{self, New, Slot};
use sales_concierge::records::postgres::{self, Group};
use sales_concierge::records::{Records, Source};
use sales_concierge::tokens::Keys;
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::Options;
use crate::bot::{Bot, Card, PERSON, PROGRAM, Sender};
use crate::machine;
use crate::numbers::{Row, Sample, ms};
use crate::wire::Wire;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/postgres");
/// One of five; the person of the figures sees it alone.
const DEPARTMENT: &str = "部門1";
/// Whom the loaded sales are of.
const SELLERS: i64 = 200;
const ADMIN: &str = "U0ADMIN";

/// A database, and the cluster it stands in where that was made for it.
struct Database {
    url: String,
    cluster: Option<tempfile::TempDir>,
}

impl Database {
    async fn create() -> anyhow::Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "a benchmark has no settings but this")]
        let given = std::env::var("BENCH_POSTGRES_URL").ok();
        let (base, cluster) = match given {
            Some(url) => (url, None),
            None => {
                let dir = tempfile::Builder::new().permissions(std::fs::Permissions::from_mode(0o755)).tempdir()?;
                let output = Command::new(SCRIPT).arg("start").arg(place(dir.path())).output().await?;
                ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                (String::from_utf8(output.stdout)?.trim().to_owned(), Some(dir))
            }
        };
        let mut db = PgConnection::connect(&base).await?;
        sqlx::raw_sql("DROP DATABASE IF EXISTS sales_bench WITH (FORCE)").execute(&mut db).await?;
        sqlx::raw_sql("CREATE DATABASE sales_bench").execute(&mut db).await?;
        let mut url = url::Url::parse(&base)?;
        url.set_path("sales_bench");
        postgres::migrate(&sales_concierge::domain::Secret::new(url.to_string())).await?;
        Ok(Self { url: url.to_string(), cluster })
    }

    async fn connect(&self) -> anyhow::Result<PgConnection> {
        Ok(PgConnection::connect(&self.url).await?)
    }

    async fn records(&self, group: Group) -> anyhow::Result<Records> {
        let section = postgres::Section::default();
        let settings = section.settings(sales_concierge::domain::Secret::new(self.url.clone()));
        Ok(Records::open(&Source::Postgres(settings), group).await?)
    }

    async fn drop(self) -> anyhow::Result<()> {
        if let Some(cluster) = &self.cluster {
            Command::new(SCRIPT).arg("stop").arg(place(cluster.path())).status().await?;
        }
        Ok(())
    }
}

fn place(dir: &Path) -> PathBuf {
    dir.join("cluster")
}

/// Staff and customers by number. Names are made of parts, so that two characters of one find about as many as in real
/// books.
async fn fill(db: &mut PgConnection, customers: i64) -> anyhow::Result<()> {
    sqlx::query("INSERT INTO staff VALUES ($1, $2, '計測 太郎', 'sales', $3, true)")
        .bind(sample::TEAM)
        .bind(PERSON)
        .bind(json!([DEPARTMENT]).to_string())
        .execute(&mut *db)
        .await?;
    sqlx::query(
        "INSERT INTO staff SELECT $1, 'U' || n, '担当' || n, 'sales', json_build_array('部門' || n % 5)::text, true
         FROM generate_series(0, $2) AS n
         UNION ALL SELECT $1, $3, '管理', 'admin', '[]', true",
    )
    .bind(sample::TEAM)
    .bind(SELLERS - 1)
    .bind(ADMIN)
    .execute(&mut *db)
    .await?;
    sqlx::query(
        "INSERT INTO customers (code_customer, name_customer, address, phone, department)
         SELECT lpad(n::text, 6, '0'),
                (ARRAY['佐藤','鈴木','高橋','田中','伊藤','渡辺','山本','中村','小林','加藤','吉田','山田','佐々木','山口',
                       '松本','井上','木村','林','斎藤','清水'])[1 + n % 20] ||
                (ARRAY['青果','商店','水産','食品','農園','物産','商事','酒店','製菓','茶園'])[1 + n / 20 % 10] ||
                (ARRAY['東','西','南','北','中央','本','新','大','川','港','駅前','城','浜','丘','森'])[1 + n / 200 % 15] || '店' || n,
                '架空市' || n, '000-0000-0000', '部門' || n % 5
         FROM generate_series(1, $1) AS n",
    )
    .bind(customers)
    .execute(&mut *db)
    .await?;
    Ok(())
}

/// Loads that many sales from a CSV file as a person would, and says how fast, and with how much memory.
async fn load(database: &Database, customers: i64, sales: i64) -> anyhow::Result<Vec<Row>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("sales.csv");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path)?);
    writeln!(file, "伝票番号,得意先コード,売上日,品名,金額,担当者")?;
    let first = NaiveDate::from_ymd_opt(2022, 1, 1).context("a day")?;
    for n in 1..=sales {
        let customer = 1 + (n * 7_919) % customers;
        let day = first + chrono::Days::new((n % 1_780).unsigned_abs());
        let (product, price) = (n % 500, 100 + n % 90_000);
        writeln!(file, "S{n:014},{customer:06},{day},品物 {product},{price},担当{}", n % SELLERS)?;
    }
    file.flush()?;
    let begun = Instant::now();
    let mut child = Command::new(PROGRAM)
        .args(["import", "sales"])
        .arg(&path)
        .args(["--json", "--data-dir"])
        .arg(dir.path())
        .env("DATABASE_URL", &database.url)
        .stdout(std::process::Stdio::null())
        .spawn()?;
    let pid = child.id().context("it runs")?;
    let mut memory = 0.0_f64;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            () = tokio::time::sleep(Duration::from_millis(100)) => memory = memory.max(machine::pss_mb(pid)),
        }
    };
    let taken = begun.elapsed();
    ensure!(status.success(), "the import ended with {status}");
    let mut db = database.connect().await?;
    let stored: i64 = sqlx::query_scalar("SELECT count(*) FROM sales").fetch_one(&mut db).await?;
    ensure!(stored == sales, "{stored} sales are stored");
    sqlx::raw_sql("ANALYZE").execute(&mut db).await?;
    sqlx::raw_sql("VACUUM").execute(&mut db).await?;
    Ok(vec![
        Row::at_least(
            format!("8. load of {sales} sales from CSV into an empty table"),
            sales as f64 / taken.as_secs_f64(),
            50_000.0,
            "rows/s",
        ),
        Row::info("   memory of the load (PSS)", format!("{memory:.0} MB")),
    ])
}

async fn call(mcp: &Mcp, who: &Person, tool: &str, arguments: Value) -> anyhow::Result<(Duration, Value)> {
    let Value::Object(arguments) = arguments else { bail!("arguments are an object") };
    let call = ToolCall { id: "1".to_owned(), name: tool.to_owned(), arguments };
    let Decision::Run(call) = policy::decide(&Table::default(), Role::Sales, &call, &Counters::default()) else {
        bail!("{tool} is a read")
    };
    let begun = Instant::now();
    let output = mcp.call(call, who, None).await?;
    let taken = begun.elapsed();
    ensure!(!output.is_error, "{tool}: {:?}", output.code());
    Ok((taken, output.data().clone()))
}

pub async fn measure_reads(options: &Options) -> anyhow::Result<Vec<Row>> {
    let (customers, sales) = options.pick((200_000, 5_000_000), (20_000, 200_000));
    let database = Database::create().await?;
    fill(&mut database.connect().await?, customers).await?;
    let mut rows = load(&database, customers, sales).await?;
    let measured = reads(options, &database, customers).await;
    database.drop().await?;
    rows.extend(measured?);
    Ok(rows)
}

async fn reads(options: &Options, database: &Database, customers: i64) -> anyhow::Result<Vec<Row>> {
    let dir = tempfile::tempdir()?;
    let keys = Keys::generate()?;
    let env = [
        ("SALES_CONCIERGE__SALES_SERVER__CALLER_KEYS", keys.public.caller.join(",")),
        ("SALES_CONCIERGE__SALES_SERVER__APPROVAL_KEYS", keys.public.approval.join(",")),
        ("DATABASE_URL", database.url.clone()),
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
    let calls = options.pick(500_i64, 100);
    // Codes whose customers are of the person's department.
    let code = |n: i64| format!("{:06}", 1 + (n * 37 * 5) % customers);
    let mut rows = Vec::new();
    let mut found = (0, 0);
    for (name, limit, tool, arguments) in [
        (
            "get_customers by two Japanese characters",
            5.0,
            "get_customers",
            Box::new(|n: i64| {
                let parts = ["商店", "水産", "駅前", "中央"];
                json!({ "name_str_customer": parts[usize::try_from(n % 4).unwrap_or(0)] })
            }) as Box<dyn Fn(i64) -> Value>,
        ),
        ("get_customers by code", 1.0, "get_customers", Box::new(move |n| json!({ "code_customer": code(n) }))),
        (
            "get_sales of one customer and month",
            1.5,
            "get_sales",
            Box::new(
                move |n| json!({ "code_customer": code(n), "date_sales_begin_str": "2025-03-01", "date_sales_end_str": "2025-03-31" }),
            ),
        ),
        (
            "summarize_sales of a department by month over a year",
            5.0,
            "summarize_sales",
            Box::new(
                |_| json!({ "date_sales_begin_str": "2025-01-01", "date_sales_end_str": "2025-12-31", "group_by": "month" }),
            ),
        ),
    ] {
        let mut sample = Sample::default();
        for n in 0..calls {
            let (taken, data) = call(&mcp, &who, tool, arguments(n)).await?;
            // The first few fill caches that a running server has filled.
            if n >= 20 {
                sample.push(taken);
            }
            found = (data["count"].as_i64().unwrap_or(-1), data["total_price"].as_i64().unwrap_or(0));
            ensure!(found.0 > 0 || tool == "get_sales", "{tool} found nothing: {data}");
        }
        rows.push(Row::at_most(
            format!("8. {name}, p95 (p50 {})", ms(sample.p50())),
            sample.percentile(95),
            limit,
            "ms",
        ));
    }
    println!("the last one's answer: {} sales, {} yen", found.0, found.1);
    let admin = Person::new(sample::TEAM, ADMIN);
    let (mut all, mut direct) = (Sample::default(), Sample::default());
    for n in 0..calls {
        let part = ["商店", "水産", "駅前", "中央"][usize::try_from(n % 4).unwrap_or(0)];
        let (taken, _) = call(&mcp, &admin, "get_customers", json!({ "name_str_customer": part })).await?;
        all.push(taken);
    }
    mcp.close().await;
    let mut reader = database.connect().await?;
    sqlx::raw_sql("SET ROLE sales_concierge_reader; SET synchronous_commit = off").execute(&mut reader).await?;
    for n in 0..calls {
        let begun = Instant::now();
        sqlx::query("SELECT code, data FROM server_get_customers($1, $2, NULL, 50)")
            .bind(who.subject())
            .bind(code(n))
            .fetch_one(&mut reader)
            .await?;
        direct.push(begun.elapsed());
    }
    rows.push(Row::info("   two characters by someone who sees all departments, p50", ms(all.p50())));
    rows.push(Row::info("   the statement of a customer by code with its audit row, p50", ms(direct.p50())));
    Ok(rows)
}

pub async fn measure_presses(options: &Options) -> anyhow::Result<Vec<Row>> {
    let cards = options.pick(1_000_u32, 100);
    let database = Database::create().await?;
    let rows = presses(&database, cards).await;
    database.drop().await?;
    rows
}

async fn presses(database: &Database, wanted: u32) -> anyhow::Result<Vec<Row>> {
    let mut admin = database.connect().await?;
    fill(&mut admin, 100).await?;
    let counted = sqlx::raw_sql("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").execute(&mut admin).await.is_ok();
    let wire = Wire::start().await?;
    let dirs = [tempfile::tempdir()?, tempfile::tempdir()?, tempfile::tempdir()?];
    let mut bots = Vec::new();
    for dir in &dirs {
        bots.push(Bot::serve_with(dir.path(), &wire, &[("DATABASE_URL", &database.url)]).await?);
    }
    let senders = bots.iter().map(|bot| Sender::new(&bot.address)).collect::<anyhow::Result<Vec<_>>>()?;
    let records = database.records(Group::Bot).await?;
    let mut made = Vec::new();
    for n in 0..wanted {
        made.push(propose(&records, n).await?);
    }
    let before = statements(&mut admin, counted).await;
    let begun = Instant::now();
    // 64 clients, each with cards and bots in an order of its own; every card is pressed twice, through two bots.
    let mut clients = JoinSet::new();
    for client in 0..64_usize {
        let (senders, made) = (senders.clone(), made.clone());
        clients.spawn(async move {
            for (at, card) in made.iter().enumerate() {
                let mixed = (at * 2_654_435_761 + 17) % 64;
                for (press, who) in [mixed, (mixed + 31) % 64].into_iter().enumerate() {
                    if who == client {
                        senders[(at + press) % senders.len()].press(card, press).await?;
                    }
                }
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = clients.join_next().await {
        done??;
    }
    let acknowledged = begun.elapsed();
    let open = "SELECT count(*) FROM clicks WHERE handled_at IS NULL";
    while sqlx::query_scalar::<_, i64>(open).fetch_one(&mut admin).await? > 0 {
        ensure!(begun.elapsed() < Duration::from_secs(180), "presses are still not handled after three minutes");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let handled = begun.elapsed();
    let after = statements(&mut admin, counted).await;
    let sales: i64 = sqlx::query_scalar("SELECT count(*) FROM sales").fetch_one(&mut admin).await?;
    let done: i64 =
        sqlx::query_scalar("SELECT count(*) FROM proposals WHERE state = 'done'").fetch_one(&mut admin).await?;
    records.close().await;
    for bot in bots {
        bot.stop().await?;
    }
    let per = match (before, after) {
        (Some(before), Some(after)) => format!("{:.1}", (after - before) as f64 / f64::from(wanted)),
        _ => "not counted: pg_stat_statements is not loaded".to_owned(),
    };
    Ok(vec![
        Row::exactly(
            format!("9. sales after {} presses on {wanted} cards through three bots", wanted * 2),
            sales,
            wanted.into(),
        ),
        Row::exactly("   cards that say so", done, wanted.into()),
        Row::info(
            "   all presses acknowledged / handled",
            format!("{:.1} s / {:.1} s", acknowledged.as_secs_f64(), handled.as_secs_f64()),
        ),
        Row::info("   statements for each card, its second press, messages and looks included", per),
    ])
}

/// Statements that ended in this database so far.
async fn statements(db: &mut PgConnection, counted: bool) -> Option<i64> {
    if !counted {
        return None;
    }
    let sql = "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements
               WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())";
    sqlx::query_scalar(sql).fetch_one(db).await.ok()
}

async fn propose(records: &Records, n: u32) -> anyhow::Result<Card> {
    let ts = format!("1700000000.{n:06}");
    let turn = TurnId::new(format!("turn{n}"));
    let customer = 1 + 5 * (n % 20);
    let new = New {
        slot: Slot { turn: turn.clone(), round: 1, call_index: 0, origin_turn: turn, depth: 3 },
        thread: ThreadKey {
            team: TeamId::new(sample::TEAM),
            channel: ChannelId::new("D0BENCH"),
            root: MessageTs::new(ts.clone()),
        },
        requester: Person::new(sample::TEAM, PERSON),
        lang: Lang::Ja,
        write: Write::AddSale {
            code_customer: format!("{customer:06}"),
            name_customer: name(customer),
            department: DEPARTMENT.to_owned(),
            products: "かぼちゃ".to_owned(),
            price: Yen(i64::from(n)),
            date_sales: NaiveDate::from_ymd_opt(2026, 11, 30).context("a day")?,
        },
        grounds: Grounds::default(),
        expiry: Duration::from_secs(3_600),
    };
    let mut tx = records.begin_durable().await?;
    let proposal = proposals::create(&mut tx, &new).await?;
    tx.commit().await?;
    Ok(Card { ts: ts.clone(), thread: ts, value: proposal.id.to_string() })
}

/// The name that [`fill`] gives to a customer with a number below 100.
fn name(n: u32) -> String {
    const FAMILIES: [&str; 20] = [
        "佐藤",
        "鈴木",
        "高橋",
        "田中",
        "伊藤",
        "渡辺",
        "山本",
        "中村",
        "小林",
        "加藤",
        "吉田",
        "山田",
        "佐々木",
        "山口",
        "松本",
        "井上",
        "木村",
        "林",
        "斎藤",
        "清水",
    ];
    const TRADES: [&str; 5] = ["青果", "商店", "水産", "食品", "農園"];
    format!("{}{}東店{n}", FAMILIES[n as usize % 20], TRADES[n as usize / 20])
}
