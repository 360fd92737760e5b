//! PostgreSQL as it is met by a login of each group, stolen or mistaken: what it may do, and that it may do no more.

use std::str::FromStr as _;

use sales_concierge::domain::Secret;
use sales_concierge::records::postgres::{Group, Settings, Synced, pool};
use sales_concierge::records::testing::Database;
use sqlx::postgres::{PgConnectOptions, PgPool};
use sqlx::{AssertSqlSafe, Executor as _, PgConnection};

/// SQLSTATE of what the login has no right to.
const NO_RIGHT: &str = "42501";

const GROUPS: [Group; 5] = [Group::Owner, Group::Bot, Group::Reader, Group::Committer, Group::Auditor];

/// A login that is a member of one group, and nothing else.
struct Login {
    name: String,
    pool: PgPool,
}

impl Login {
    async fn of(group: Group, database: &Database, admin: &PgPool) -> Self {
        let name = database.url().rsplit(['/', '?']).find(|part| part.starts_with("test_")).expect("a name");
        let name = format!("{name}_{}", group.role().rsplit('_').next().expect("a name"));
        let sql = format!("CREATE ROLE {name} LOGIN IN ROLE {}", group.role());
        admin.execute(AssertSqlSafe(sql)).await.expect("a login");
        let url = PgConnectOptions::from_str(database.url()).expect("an address").username(&name);
        let settings =
            Settings { url: Secret::new(sqlx::ConnectOptions::to_url_lossy(&url).to_string()), ..database.settings() };
        Self { pool: pool(&settings, group, Synced::No).expect("a pool"), name }
    }

    /// The SQLSTATE of a statement; empty when it was carried out. Nothing of it stays.
    async fn tries(&self, sql: &'static str) -> String {
        let mut tx = self.pool.begin().await.expect("a transaction");
        match sqlx::raw_sql(sql).execute(&mut *tx).await {
            Ok(_) => String::new(),
            Err(error) => error.as_database_error().and_then(|e| e.code()).unwrap_or_default().into_owned(),
        }
    }

    async fn gone(self, admin: &PgPool) {
        self.pool.close().await;
        admin.execute(AssertSqlSafe(format!("DROP ROLE {}", self.name))).await.expect("dropped");
    }
}

const TABLES: [&str; 16] = [
    "customers",
    "customer_grams",
    "sales",
    "sales_daily",
    "staff",
    "proposals",
    "clicks",
    "outbox",
    "history_events",
    "continuations",
    "stops",
    "feedback",
    "audit",
    "audit_seals",
    "facts",
    "amount_limits",
];

/// What each group may do with each table: S(elect), I(nsert), U(pdate some column), D(elete). Nobody but the owner may
/// TRUNCATE, and nobody but the owner gets any further right.
const RIGHTS: [(Group, [(&str, &str); 16]); 4] = [
    (
        Group::Bot,
        [
            ("customers", ""),
            ("customer_grams", ""),
            ("sales", ""),
            ("sales_daily", ""),
            ("staff", "S"),
            ("proposals", "SIU"),
            ("clicks", "SIU"),
            ("outbox", "SIUD"),
            ("history_events", "SID"),
            ("continuations", "SIUD"),
            ("stops", "SIUD"),
            ("feedback", "SIU"),
            ("audit", "SI"),
            ("audit_seals", "SI"),
            ("facts", "S"),
            ("amount_limits", "S"),
        ],
    ),
    (
        Group::Reader,
        [
            ("customers", "S"),
            ("customer_grams", ""),
            ("sales", "S"),
            ("sales_daily", "S"),
            ("staff", "S"),
            ("proposals", ""),
            ("clicks", ""),
            ("outbox", ""),
            ("history_events", ""),
            ("continuations", ""),
            ("stops", ""),
            ("feedback", ""),
            ("audit", "I"),
            ("audit_seals", ""),
            ("facts", ""),
            ("amount_limits", ""),
        ],
    ),
    (
        Group::Committer,
        [
            ("customers", ""),
            ("customer_grams", ""),
            ("sales", ""),
            ("sales_daily", ""),
            ("staff", ""),
            ("proposals", ""),
            ("clicks", ""),
            ("outbox", ""),
            ("history_events", ""),
            ("continuations", ""),
            ("stops", ""),
            ("feedback", ""),
            ("audit", ""),
            ("audit_seals", ""),
            ("facts", ""),
            ("amount_limits", ""),
        ],
    ),
    (
        Group::Auditor,
        [
            ("customers", ""),
            ("customer_grams", ""),
            ("sales", ""),
            ("sales_daily", ""),
            ("staff", ""),
            ("proposals", ""),
            ("clicks", ""),
            ("outbox", ""),
            ("history_events", ""),
            ("continuations", ""),
            ("stops", ""),
            ("feedback", ""),
            ("audit", "S"),
            ("audit_seals", "SI"),
            ("facts", ""),
            ("amount_limits", ""),
        ],
    ),
];

#[tokio::test]
async fn i24_each_group_has_the_rights_of_its_part_on_each_table_and_no_other() {
    let database = Database::create().await;
    let admin = database.admin();
    let listed: Vec<String> = sqlx::query_scalar(
        "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND c.relname <> '_sqlx_migrations' ORDER BY 1",
    )
    .fetch_all(&admin)
    .await
    .expect("tables");
    let mut tables = TABLES.map(str::to_owned).to_vec();
    tables.sort();
    assert_eq!(listed, tables, "a new table stands in this test");
    for (group, of_tables) in RIGHTS {
        for (table, rights) in of_tables {
            let found: String = sqlx::query_scalar(
                "SELECT concat(CASE WHEN has_table_privilege($1, $2, 'SELECT') OR has_any_column_privilege($1, $2, 'SELECT') THEN 'S' END,
                               CASE WHEN has_any_column_privilege($1, $2, 'INSERT') THEN 'I' END,
                               CASE WHEN has_any_column_privilege($1, $2, 'UPDATE') THEN 'U' END,
                               CASE WHEN has_table_privilege($1, $2, 'DELETE') THEN 'D' END,
                               CASE WHEN has_table_privilege($1, $2, 'TRUNCATE, REFERENCES, TRIGGER') THEN '!' END)",
            )
            .bind(group.role())
            .bind(table)
            .fetch_one(&admin)
            .await
            .expect("rights");
            assert_eq!(found, rights, "{group:?} {table}");
        }
    }
    // Functions that run as the owner are the other way in.
    for (group, functions) in [
        (Group::Bot, &["audit_barrier"][..]),
        (Group::Reader, &["find_customers"]),
        (Group::Committer, &["add_sale", "cancel_sale"]),
        (Group::Auditor, &["audit_barrier"]),
    ] {
        let open: Vec<String> = sqlx::query_scalar(
            "SELECT p.proname::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
             WHERE n.nspname = 'public' AND p.prosecdef AND has_function_privilege($1, p.oid, 'EXECUTE') ORDER BY 1",
        )
        .bind(group.role())
        .fetch_all(&admin)
        .await
        .expect("functions");
        assert_eq!(open, functions, "{group:?}");
    }
    let loose: Vec<String> = sqlx::query_scalar(
        "SELECT p.proname::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
         WHERE n.nspname = 'public' AND p.prosecdef
           AND NOT coalesce('search_path=pg_catalog, public, pg_temp' = ANY (p.proconfig), false)",
    )
    .fetch_all(&admin)
    .await
    .expect("functions");
    assert_eq!(loose, Vec::<String>::new(), "a function that runs as the owner without a search path of its own");
}

#[tokio::test]
async fn i24_what_a_login_tries_beyond_its_group_is_refused_by_the_database() {
    let database = Database::create().await;
    let admin = database.admin();
    let everybody: [&str; 16] = [
        "UPDATE audit SET risk = 'low'",
        "DELETE FROM audit",
        "TRUNCATE audit",
        "UPDATE audit_seals SET hash = ''",
        "DELETE FROM audit_seals",
        "ALTER TABLE audit DISABLE TRIGGER ALL",
        "DROP TRIGGER audit_is_append_only ON audit",
        "ALTER TABLE sales DISABLE ROW LEVEL SECURITY",
        "CREATE TABLE mine (x int)",
        "CREATE FUNCTION search_form(x int) RETURNS int LANGUAGE sql RETURN 1",
        "CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql RETURN 0",
        "SET ROLE sales_concierge_owner",
        "SET SESSION AUTHORIZATION postgres",
        "GRANT sales_concierge_owner TO CURRENT_USER",
        "UPDATE amount_limits SET limit_yen = 0",
        "UPDATE staff SET role = 'admin'",
    ];
    let no_sales: [&str; 7] = [
        "SELECT count(*) FROM sales",
        "SELECT count(*) FROM customers",
        "SELECT count(*) FROM customer_grams",
        "SELECT count(*) FROM sales_daily",
        "SELECT count(*) FROM sale_rows",
        "SELECT * FROM get_customers(NULL, NULL)",
        "SELECT * FROM server_get_customers('slack:T:U', NULL, NULL, 1)",
    ];
    let writes: [&str; 5] = [
        "SELECT add_sale('P', 'd', 'slack:T:U', 'slack:T:U', '1', 'x', 1, NULL, 'UTC')",
        "SELECT cancel_sale('P', 'd', 'slack:T:U', 'slack:T:U', 'S1', 'x', 1)",
        "INSERT INTO sales (code_sales, code_customer, sales_date, products, price, registered_by, origin, registered_at)
         VALUES ('S1', '1', '2026-01-01', 'x', 1, 'x', 'import', 0)",
        "UPDATE sales SET price = 0",
        "UPDATE customers SET department = 'mine'",
    ];
    let claims: [&str; 4] = [
        "UPDATE proposals SET state = 'claimed'",
        "INSERT INTO proposals (id) VALUES ('P')",
        "SELECT write FROM proposals",
        "SELECT count(*) FROM clicks",
    ];
    let helpers: [&str; 3] = [
        "SELECT audit_write('x', 'x', 'x', 'x', 'x', 'x', 'x')",
        "SELECT may_approve('a', 'b', 'c', 1)",
        "SELECT refusal_of_approval('a', 'b', 'c', 'd', 'e')",
    ];
    let content: [&str; 2] = ["UPDATE proposals SET write = '{}'", "UPDATE proposals SET digest = ''"];
    let notes: [&str; 2] = [
        "INSERT INTO audit (at, actor, on_behalf, event, risk, detail) VALUES (0, 'a', 'b', 'c', 'low', '{}')",
        "SELECT count(*) FROM audit",
    ];
    for (group, more) in [
        (Group::Bot, vec![&no_sales[..], &writes, &helpers, &content]),
        (Group::Reader, vec![&writes[..], &claims, &helpers, &notes[1..]]),
        (Group::Committer, vec![&no_sales[..], &writes[2..], &claims, &helpers, &notes]),
        (Group::Auditor, vec![&no_sales[..], &writes, &claims, &helpers, &notes[..1]]),
    ] {
        let login = Login::of(group, &database, &admin).await;
        for sql in everybody.iter().chain(more.into_iter().flatten()) {
            assert_eq!(login.tries(sql).await, NO_RIGHT, "{group:?}: {sql}");
        }
        // It does its own work, so that a login that may do nothing at all would be noticed.
        let own = match group {
            Group::Bot => "UPDATE proposals SET state = 'claimed'",
            Group::Reader => "SELECT * FROM server_get_customers('slack:T:U', NULL, NULL, 1)",
            Group::Committer => writes[0],
            Group::Auditor | Group::Owner => "SELECT audit_barrier()",
        };
        assert_eq!(login.tries(own).await, "", "{group:?}: {own}");
        // One group's login becomes no other.
        for other in GROUPS.into_iter().filter(|other| *other != group) {
            let sql: &'static str = format!("SET ROLE {}", other.role()).leak();
            assert_eq!(login.tries(sql).await, NO_RIGHT, "{group:?} as {other:?}");
        }
        login.gone(&admin).await;
    }
}

async fn rows(db: &mut PgConnection, sql: &'static str) -> Vec<String> {
    sqlx::query_scalar(sql).fetch_all(db).await.expect(sql)
}

#[tokio::test]
async fn i07_every_table_of_sales_and_what_is_made_of_them_keeps_to_the_departments_that_are_set() {
    let database = Database::create().await;
    let admin = database.admin();
    for (department, customer) in [("north", "1"), ("south", "2"), ("a \"quoted\" one", "3")] {
        sqlx::query("INSERT INTO customers (code_customer, name_customer, address, phone, department) VALUES ($1, 'x', '', '', $2)")
            .bind(customer)
            .bind(department)
            .execute(&admin)
            .await
            .expect("a customer");
        sqlx::query(
            "INSERT INTO sales (code_sales, code_customer, sales_date, products, price, registered_by, origin, registered_at)
             VALUES ('S' || $1, $1, '2026-01-01', 'x', 1, 'slack:T:U', 'import', 0)",
        )
        .bind(customer)
        .execute(&admin)
        .await
        .expect("a sale");
    }
    let login = Login::of(Group::Reader, &database, &admin).await;
    let all = ["1", "2", "3"];
    for (set, seen) in [
        (None, &[][..]),
        (Some(""), &[]),
        (Some("[]"), &[]),
        (Some("north"), &[]),
        (Some("{\"north\":1}"), &[]),
        (Some("[\"nort\"]"), &[]),
        (Some("[\"NORTH\"]"), &[]),
        (Some("[[\"north\"]]"), &[]),
        (Some("[\"north\"] "), &["1"]),
        (Some("[\"n\\u006frth\"]"), &["1"]),
        (Some("[\"south\",\"south\"]"), &["2"]),
        (Some("[\"a \\\"quoted\\\" one\"]"), &["3"]),
        (Some("[\"north\",\"south\"]"), &["1", "2"]),
        (Some("[\"*\"]"), &all),
    ] {
        for sql in [
            "SELECT code_customer FROM customers ORDER BY 1",
            "SELECT code_customer FROM sales ORDER BY 1",
            "SELECT code_customer FROM sale_rows ORDER BY 1",
            "SELECT c.code_customer FROM sales_daily d JOIN customers c USING (department) ORDER BY 1",
            "SELECT DISTINCT CASE department WHEN 'north' THEN '1' WHEN 'south' THEN '2' ELSE '3' END FROM sales_daily ORDER BY 1",
            "SELECT code_customer FROM get_customers(NULL, NULL) WHERE status_code = 200 ORDER BY 1",
            "SELECT code_customer FROM find_customers(NULL, 'x', 9) ORDER BY 1",
            "SELECT key FROM summarize_sales('2026-01-01', '2026-01-01', NULL, 'customer') WHERE status_code = 200 ORDER BY 1",
            "SELECT code_customer FROM list_registrations(NULL, NULL, 'slack:T:U') WHERE status_code = 200 ORDER BY 1",
        ] {
            let mut tx = login.pool.begin().await.expect("a transaction");
            if let Some(set) = set {
                let say = "SELECT set_config('sales_concierge.departments', $1, true)";
                sqlx::query(say).bind(set).execute(&mut *tx).await.expect("set");
            }
            assert_eq!(rows(&mut tx, sql).await, seen, "{set:?}: {sql}");
        }
    }
    // What one transaction says is over with it, and the rule cannot be switched off.
    let mut tx = login.pool.begin().await.expect("a transaction");
    sqlx::raw_sql("SELECT set_config('sales_concierge.departments', '[\"*\"]', true)")
        .execute(&mut *tx)
        .await
        .expect("set");
    tx.commit().await.expect("committed");
    let mut connection = login.pool.acquire().await.expect("a connection");
    assert!(rows(&mut connection, "SELECT code_customer FROM sales").await.is_empty());
    drop(connection);
    assert_eq!(login.tries("SET LOCAL row_security = off; SELECT count(*) FROM sales").await, NO_RIGHT);
    login.gone(&admin).await;
}
