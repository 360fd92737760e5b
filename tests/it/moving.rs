//! `import --from` from outside: what of an embedded file is in the database afterwards, and what keeps it out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use sales_concierge::audit::{seal, verify};
use sales_concierge::playground::sample;
use sales_concierge::records::postgres::Group;
use sales_concierge::records::testing::Database;
use sales_concierge::records::{self, Records, SqliteRecords};
use serde_json::Value;
use sqlx::{AssertSqlSafe, PgPool};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::harness::desk::clerk;
use crate::harness::{AOKI, Options, PATIENCE, Rig, file, today};

/// The tables of the file that hold records.
const TABLES: &str = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
                      AND name <> '_sqlx_migrations' ORDER BY name";

/// A data folder with records in it.
struct Folder(TempDir);

impl Folder {
    fn path(&self) -> &Path {
        self.0.path()
    }

    fn records(&self) -> PathBuf {
        self.path().join("records.sqlite")
    }

    /// The sample farm.
    async fn farm() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let records = file(&dir.path().join("records.sqlite")).await;
        sample::load(&records, today()).await.expect("sample data");
        records.close().await;
        Self(dir)
    }

    /// The farm after some work: rows in every table, of every kind, with letters that are easily lost.
    async fn worked_in() -> Self {
        let folder = Self::farm().await;
        let records = file(&folder.records()).await;
        run(&records, WORK).await;
        let sealed = seal::run(&Records::Sqlite(records.clone())).await.expect("sealed");
        assert_eq!(sealed.rows, 3);
        run(
            &records,
            "INSERT INTO audit (at, actor, on_behalf, event, risk, detail) VALUES (8, 'a', 'b', 'c', 'low', '{}')",
        )
        .await;
        records.close().await;
        folder
    }

    async fn change(&self, sql: &str) {
        let records = file(&self.records()).await;
        run(&records, sql).await;
        records.close().await;
    }

    fn command(&self, database: &Database, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sales-concierge"));
        command.args(["import", "--from"]).arg(self.path()).args(more).current_dir(self.path());
        command.env_clear().env("DATABASE_URL", database.url()).env("RUST_LOG", "error").kill_on_drop(true);
        command
    }

    /// The exit code, and what was said on either output.
    async fn import(&self, database: &Database, more: &[&str]) -> (i32, String) {
        ended(self.command(database, more)).await
    }
}

async fn ended(mut command: Command) -> (i32, String) {
    let output: Output = timeout(Duration::from_secs(60), command.output()).await.expect("it ends").expect("it runs");
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text")).concat();
    (output.status.code().expect("it ended by itself"), said)
}

async fn run(records: &SqliteRecords, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(records.durable()).await.expect(sql);
}

/// Proposals in every state; sales registered, cancelled, imported; and one row or more of everything else.
const WORK: &str = r#"
    WITH states (n, state) AS (VALUES (1, 'pending'), (2, 'awaiting_manager'), (3, 'claimed'), (4, 'done'), (5, 'failed'),
        (6, 'unknown'), (7, 'cancelled'), (8, 'expired'), (9, 'superseded'), (10, 'claimed'), (11, 'claimed'))
    INSERT INTO proposals (id, turn_id, round, call_index, origin_turn, team, channel, root, requester_team, requester_user,
        lang, tool, write, digest, state, created_at, expires_at, epoch, claim_until, claim_click, decided_team,
        decided_user, decided_at, result, failure, grounds, trouble, tries)
    SELECT 'p' || n, 'turn' || n, 1, 0, 'turn' || n, 'T0MIHON', 'D1', '1700000000.00000' || n, 'T0MIHON', 'U0AOKI',
        iif(n % 2, 'ja', 'en'), iif(n = 11, 'cancel_sale', 'add_sale'), '{"products":"なす 👨‍👩‍👧 \t \\N"}', 'digest' || n, state,
        1700000000000 + n, 9007199254740993, n, 5, 'c' || n, 'T0MIHON', 'U0AOKI', 1700000000001,
        iif(n = 4, '{"code_sales":"S1"}', NULL), iif(n = 5, 'not_allowed', NULL), '{}', iif(n = 3, 'unavailable', NULL), n FROM states;
    INSERT INTO sales (code_sales, code_customer, sales_date, products, price, registered_by, origin, proposal_id, digest,
        registered_at)
    VALUES ('S1', '0001', '2026-11-03', '桃 "大"' || char(9, 10, 13, 92) || 'N ' || char(8, 11, 12, 127, 0x3000), 999999999999,
            'slack:T0MIHON:U0AOKI', 'approval', 'p3', 'digest3', 1700000000002),
           ('S2', '0002', '2028-02-29', 'か゛ ｶﾞ が', 0, 'slack:T0MIHON:U0AOKI', 'approval', 'p10', 'digest10', 1700000000003),
           ('X-1', '0002', '2026-11-03', ' \N ', 7, 'import', 'import', NULL, NULL, 1700000000004);
    UPDATE sales SET cancelled_at = 1700000000005, cancelled_by = 'slack:T0MIHON:U0AOKI', cancel_reason = '',
        cancel_proposal = 'p11', cancel_digest = 'digest11' WHERE code_sales = 'S2';
    UPDATE proposals SET state = 'done', settled_at = 1700000000006 WHERE id IN ('p10', 'p11');
    INSERT INTO staff VALUES ('T0MIHON', 'U0GONE', '去った人', 'manager', '["直販","*"]', 0);
    INSERT INTO clicks VALUES ('c1', 'p1', 'confirm', 'T0MIHON', 'U0AOKI', 'D1', '1.2', 'http://a/b?c=d&e', 'f00', 1, NULL, NULL),
        ('c4', 'p4', 'cancel', 'T0MIHON', 'U0AOKI', 'D1', '1.2', '', 'f00', 1, 2, 'already_decided');
    INSERT INTO outbox VALUES ('card:p1', 'message', 'D1', '1.2', NULL, '{"a":"\u0041\"\\"}', 3, 2, '1.5', 1, 2, 3, 4, NULL, 5),
        ('e:1', 'ephemeral', 'D1', NULL, 'U0AOKI', '[]', 1, 0, NULL, 0, 9, 3, 4, 'gone', 5);
    INSERT INTO history_events (thread, event, created_at) VALUES ('v1:T:D1:1', '{"a": 1, "a" : 2}', 1), ('v1:T:D1:1', '{}', 2), ('z', '1', 3);
    DELETE FROM history_events WHERE id = 3;
    INSERT INTO continuations (turn, origin_turn, thread, team, user, depth, created_at, ended_at, taken_by, taken_until, epoch)
    VALUES ('turn1', 'turn1', '{"root":"1"}', 'T0MIHON', 'U0AOKI', 1, 2, NULL, 'bot', 9, 4), ('turn1', 'turn2', '{}', 'T0MIHON', 'U0AOKI', 1, 2, 3, NULL, 0, 0);
    INSERT INTO stops VALUES ('T0MIHON', 'D1', '1.2', 'T0MIHON', 'U0AOKI', '1700000000.000100', 9);
    INSERT INTO feedback VALUES ('turn1', 'T0MIHON', 'U0AOKI', 'good', 'D1', '1.5', 9);
    INSERT INTO amount_limits VALUES ('*', 500000), ('直販', 0);
    INSERT INTO audit (at, actor, on_behalf, event, tool, risk, proposal, detail, message, digest, model, prompt_hash, tools_hash, result)
    VALUES (1, 'bot', 'slack:T0MIHON:U0AOKI', 'tool_called', 'get_sales', 'low', NULL, '{"n":1.50}', 'T:D:1', NULL, 'gpt', 'aa', 'bb', 'ok'),
           (2, 'sales-server', 'slack:T0MIHON:U0AOKI', 'sale_registered', 'add_sale', 'medium', 'p3', '{"code_sales":"S1"}', NULL, 'digest3', NULL, NULL, NULL, 'ok'),
           (3, 'x', '', 'y', NULL, 'critical', NULL, '{}', NULL, NULL, NULL, NULL, NULL, NULL);
"#;

/// All rows of a table, each with the values of the file's columns as text, whatever the program thinks it moves.
async fn rows_of_file(records: &SqliteRecords, table: &str) -> Vec<Vec<Option<String>>> {
    let columns = columns(records, table).await;
    let values: Vec<String> = columns.iter().map(|c| format!("CAST(\"{c}\" AS TEXT)")).collect();
    let sql = format!("SELECT json_array({}) FROM {table}", values.join(", "));
    let rows: Vec<Value> = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(records.read()).await.expect(table);
    sorted(rows)
}

async fn rows_of_database(records: &SqliteRecords, admin: &PgPool, table: &str) -> Vec<Vec<Option<String>>> {
    let columns = columns(records, table).await;
    let values: Vec<String> = columns
        .iter()
        .map(|c| if c == "active" { format!("\"{c}\"::int::text") } else { format!("\"{c}\"::text") })
        .collect();
    let newer = if table == "audit" { " WHERE event <> 'moved'" } else { "" };
    let sql = format!("SELECT json_build_array({}) FROM {table}{newer}", values.join(", "));
    let rows: Vec<Value> = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(admin).await.expect(table);
    sorted(rows)
}

async fn columns(records: &SqliteRecords, table: &str) -> Vec<String> {
    sqlx::query_scalar("SELECT name FROM pragma_table_info(?1)")
        .bind(table)
        .fetch_all(records.read())
        .await
        .expect(table)
}

fn sorted(rows: Vec<Value>) -> Vec<Vec<Option<String>>> {
    let mut rows: Vec<_> = rows.into_iter().map(|row| serde_json::from_value(row).expect("texts")).collect();
    rows.sort();
    rows
}

async fn number(admin: &PgPool, sql: &str) -> i64 {
    sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(admin).await.expect(sql)
}

/// Rows in the database's tables.
async fn filled(admin: &PgPool) -> Vec<String> {
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' AND tablename <> '_sqlx_migrations' ORDER BY 1",
    )
    .fetch_all(admin)
    .await
    .expect("the tables");
    assert!(tables.len() > 12, "{tables:?}");
    let mut filled = Vec::new();
    for table in tables {
        if number(admin, &format!("SELECT count(*) FROM {table}")).await > 0 {
            filled.push(table);
        }
    }
    filled
}

fn tool(database: &Database, dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sales-concierge"));
    command.args(args).arg("--data-dir").arg(dir).current_dir(dir).env_clear().env("DATABASE_URL", database.url());
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn i24_everything_of_a_file_is_in_the_database_afterwards_and_the_trail_goes_on() {
    let (folder, database) = (Folder::worked_in().await, Database::create().await);
    let admin = database.admin();
    let bytes = std::fs::read(folder.records()).expect("the file");

    let (code, said) = folder.import(&database, &["--dry-run", "--json"]).await;
    let dry: Value = serde_json::from_str(&said).expect("one object");
    assert_eq!((code, &dry["written"]), (0, &Value::Bool(false)), "{said}");
    assert_eq!(filled(&admin).await, [""; 0], "a dry run leaves nothing");

    let (code, said) = folder.import(&database, &["--json"]).await;
    let told: Value = serde_json::from_str(&said).expect("one object");
    assert_eq!((code, &told["written"]), (0, &Value::Bool(true)), "{said}");
    assert_eq!(told["tables"], dry["tables"], "a dry run says what a run does");
    assert!(std::fs::read(folder.records()).expect("the file") == bytes, "the file is as it was");

    let records = file(&folder.records()).await;
    // All that is not as it was: leases, whose holder is gone.
    for sql in [
        "UPDATE proposals SET claim_until = 0 WHERE state = 'claimed'",
        "UPDATE outbox SET lease_until = 0",
        "UPDATE continuations SET taken_until = 0",
    ] {
        sqlx::query(sql).execute(records.durable()).await.expect(sql);
    }
    let tables: Vec<String> = sqlx::query_scalar(TABLES).fetch_all(records.read()).await.expect("tables");
    let mut moved = 0;
    for table in &tables {
        let (theirs, ours) = (rows_of_file(&records, table).await, rows_of_database(&records, &admin, table).await);
        assert!(!theirs.is_empty(), "{table}: this test brings rows for every table");
        assert_eq!(theirs, ours, "{table}");
        moved += theirs.len();
    }
    assert_eq!(
        (told["rows"].as_u64(), told["tables"].as_array().map(Vec::len)),
        (Some(moved as u64), Some(tables.len()))
    );
    let states = number(&admin, "SELECT count(DISTINCT state) FROM proposals").await;
    assert_eq!(states, 9, "every state of the contract was among them");
    let totals = "SELECT count(*) FROM (SELECT department, sales_date, sum(count) n, sum(total) t FROM sales_daily GROUP BY 1, 2) d
                  FULL JOIN (SELECT c.department, sales_date, count(*) n, sum(price) t FROM sales JOIN customers c USING (code_customer)
                             WHERE cancelled_at IS NULL GROUP BY 1, 2) s USING (department, sales_date)
                  WHERE (d.n, d.t) IS DISTINCT FROM (s.n, s.t)";
    assert_eq!(number(&admin, totals).await, 0, "the totals are those of the sales");
    let off = "SELECT count(*) FROM pg_trigger WHERE tgenabled <> 'O'";
    assert_eq!(number(&admin, off).await, 0, "every trigger is on again");

    // Numbers go on behind the largest that ever was: history event 3 was deleted.
    let bot = database.records(Group::Bot).await;
    let next = "INSERT INTO history_events (thread, event, created_at) VALUES ('z', '1', 4) RETURNING id";
    assert_eq!(number(&admin, next).await, 4);
    let trail = number(&admin, "SELECT id FROM audit WHERE event = 'moved'").await;
    assert_eq!(trail, 5, "the move itself is the newest row of the trail");

    // The chain is whole, and its next seal covers what came with the move unsealed, and the move.
    let found = verify::run(&bot, None).await.expect("read");
    assert_eq!((found.finding, found.seals, found.rows, found.unsealed), (None, 1, 3, 2));
    assert_eq!(seal::run(&bot).await.expect("sealed").rows, 2);
    let (code, said) = ended(tool(&database, folder.path(), &["audit", "verify"])).await;
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("5 rows in 2 seals fit"), "{said}");

    let (code, said) = folder.import(&database, &[]).await;
    assert_eq!(code, 1, "{said}");
    for table in &tables {
        assert!(said.contains(table), "it says where rows are: {said}");
    }
    records.close().await;
    bot.close().await;
}

#[tokio::test]
async fn a_move_that_cannot_begin_says_what_to_do() {
    let (folder, database) = (Folder::farm().await, Database::create().await);
    let (admin, dir) = (database.admin(), folder.path().to_owned());

    let mut command = folder.command(&database, &[]);
    command.env_remove("DATABASE_URL");
    let (code, said) = ended(command).await;
    assert_eq!((code, said.contains("set DATABASE_URL")), (2, true), "{said}");

    let nowhere = dir.join("nowhere");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sales-concierge"));
    command.args(["import", "--from"]).arg(&nowhere).env_clear().env("DATABASE_URL", database.url());
    let (code, said) = ended(command).await;
    assert_eq!((code, said.contains("holds no records.sqlite"), nowhere.exists()), (2, true, false), "{said}");

    let mut command = folder.command(&database, &[]);
    command.env("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none");
    let (code, said) = ended(command).await;
    assert_eq!((code, said.contains("DATABASE_URL")), (3, true), "{said}");

    let empty = Database::unmigrated().await;
    let (code, said) = folder.import(&empty, &[]).await;
    assert_eq!((code, said.contains("run `sales-concierge migrate`")), (3, true), "{said}");

    let lock = std::fs::File::create(dir.join("lock")).expect("the lock");
    lock.try_lock().expect("as a bot has it");
    let (code, said) = folder.import(&database, &[]).await;
    assert_eq!((code, said.contains("is running on") && said.contains("no bot uses them")), (2, true), "{said}");
    drop(lock);

    for (change, words) in [
        (
            "DELETE FROM _sqlx_migrations WHERE version = (SELECT max(version) FROM _sqlx_migrations)",
            "migrate --data-dir",
        ),
        (
            "UPDATE _sqlx_migrations SET version = version + 1 WHERE version = (SELECT max(version) FROM _sqlx_migrations)",
            "newer version",
        ),
    ] {
        let other = Folder::farm().await;
        let db = file(&other.records()).await;
        run(&db, change).await;
        db.close().await;
        let (code, said) = other.import(&database, &[]).await;
        assert_eq!((code, said.contains(words)), (2, true), "{said}");
    }

    for more in [["customers", "a.csv"], ["--report", "b.csv"], ["--data-dir", "c"]] {
        let (code, said) = folder.import(&database, &more).await;
        assert_eq!((code, said.contains("cannot be used with")), (2, true), "{said}");
    }

    sqlx::raw_sql("INSERT INTO staff VALUES ('T', 'U', 'n', 'viewer', '[]', true)")
        .execute(&admin)
        .await
        .expect("a row");
    let (code, said) = folder.import(&database, &[]).await;
    assert_eq!((code, said.contains("has rows already (in staff)")), (1, true), "{said}");
    assert_eq!(filled(&admin).await, ["staff"]);
}

#[tokio::test]
async fn a_row_that_the_database_cannot_hold_is_named_and_nothing_is_moved() {
    let database = Database::create().await;
    let admin = database.admin();
    let sale = |day: &str, products: &str| {
        format!("INSERT INTO sales (code_sales, code_customer, sales_date, products, price, registered_by, origin, registered_at)
                 VALUES ('BAD-1', '0001', '{day}', {products}, 1, 'import', 'import', 1)")
    };
    for (change, words) in [
        (sale("2026-02-30", "'a'"), ["sales", "BAD-1", "date"]),
        (sale("2026-02-28", "'a' || char(0)"), ["sales", "BAD-1", "NUL"]),
        (
            "INSERT INTO customers VALUES ('BAD-2', 'a', 'a', '', '', '*')".to_owned(),
            ["customers", "BAD-2", "department"],
        ),
        ("INSERT INTO staff VALUES ('T', 'U:BAD', 'a', 'viewer', '[]', 1)".to_owned(), ["staff", "T U:BAD", "check"]),
        (r#"INSERT INTO facts VALUES ('BAD-3' || char(0), 'a')"#.to_owned(), ["facts", "BAD-3", "NUL"]),
    ] {
        let folder = Folder::farm().await;
        folder.change(&change).await;
        let (code, said) = folder.import(&database, &[]).await;
        assert_eq!(code, 1, "{said}");
        assert!(words.iter().all(|w| said.contains(w)) && said.contains("nothing was moved"), "{words:?}: {said}");
        assert_eq!(filled(&admin).await, [""; 0]);
    }
}

#[tokio::test]
async fn i01_an_approved_sale_is_moved_only_together_with_its_approval() {
    let database = Database::create().await;
    let admin = database.admin();
    let fits = Folder::worked_in().await;
    for (n, change) in [
        "UPDATE proposals SET state = 'expired' WHERE id = 'p3'",
        "UPDATE proposals SET state = 'pending' WHERE id = 'p11'",
        "DELETE FROM proposals WHERE id = 'p3'",
        "DROP TRIGGER sales_of_an_approval_stay_as_approved; UPDATE sales SET digest = 'digest4' WHERE code_sales = 'S1'",
        "UPDATE sales SET cancel_proposal = 'p3', cancel_digest = 'digest3' WHERE code_sales = 'S2'",
        "INSERT INTO sales (code_sales, code_customer, sales_date, products, price, registered_by, origin, registered_at, cancelled_at,
             cancelled_by) VALUES ('S0', '0001', '2026-11-03', 'a', 1, 'import', 'import', 1, 1, 'nobody')",
    ]
    .iter()
    .enumerate()
    {
        let folder = Folder(tempfile::tempdir().expect("a folder"));
        std::fs::copy(fits.records(), folder.records()).expect("a copy");
        folder.change(change).await;
        let (code, said) = folder.import(&database, &[]).await;
        assert_eq!((code, said.contains("1 were registered or cancelled without an approval")), (1, true), "{n}: {said}");
        assert_eq!(filled(&admin).await, [""; 0]);
    }
    assert_eq!(fits.import(&database, &[]).await.0, 0);
}

#[tokio::test]
async fn what_changes_a_row_on_its_way_is_found_and_nothing_is_moved() {
    let (folder, database) = (Folder::worked_in().await, Database::create().await);
    let admin = database.admin();
    for (table, change) in [
        ("clicks", "NEW.body_hash := 'other'"),
        ("sales", "NEW.registered_at := NEW.registered_at + 1"),
        ("customers", "NEW.phone := NEW.phone || ' '"),
    ] {
        let sql = format!(
            "CREATE FUNCTION altered() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {change}; RETURN NEW; END $$;
             GRANT EXECUTE ON FUNCTION altered() TO PUBLIC;
             CREATE TRIGGER altered BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION altered()"
        );
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&admin).await.expect("a trigger");
        let (code, said) = folder.import(&database, &[]).await;
        assert_eq!(
            (code, said.contains(&format!("{table}: the database does not hold what the file holds"))),
            (1, true),
            "{said}"
        );
        assert_eq!(filled(&admin).await, [""; 0]);
        sqlx::raw_sql("DROP FUNCTION altered() CASCADE").execute(&admin).await.expect("dropped");
    }
    // Totals that are wrong although every sale is right.
    let sql = "CREATE FUNCTION altered() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.count := NEW.count + 1; RETURN NEW; END $$;
               GRANT EXECUTE ON FUNCTION altered() TO PUBLIC;
               CREATE TRIGGER altered BEFORE INSERT ON sales_daily FOR EACH ROW EXECUTE FUNCTION altered()";
    sqlx::raw_sql(sql).execute(&admin).await.expect("a trigger");
    let (code, said) = folder.import(&database, &[]).await;
    assert_eq!((code, said.contains("sales_daily: ")), (1, true), "{said}");
    assert_eq!(filled(&admin).await, [""; 0]);
}

/// Waits until a session of the database rests with a statement like this behind it.
async fn rests_after(admin: &PgPool, statement: &str) {
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'
         AND query LIKE '{statement}%'"
    );
    let begun = Instant::now();
    while number(admin, &sql).await == 0 {
        assert!(begun.elapsed() < PATIENCE, "nobody rests after {statement}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn killed(mut child: Child) {
    child.kill().await.expect("killed");
}

#[tokio::test]
async fn a_move_that_is_killed_or_stopped_leaves_nothing_and_can_be_done_again() {
    let (folder, database) = (Folder::worked_in().await, Database::create().await);
    let admin = database.admin();
    for (point, statement) in [("import::copied", "ALTER TABLE sales ENABLE"), ("import::moved", "ANALYZE")] {
        let mut command = folder.command(&database, &[]);
        let child = command.env("FAILPOINTS", format!("{point}=pause")).spawn().expect("it starts");
        rests_after(&admin, statement).await;
        killed(child).await;
        assert_eq!(filled(&admin).await, [""; 0], "{point}");
    }

    folder
        .change(
            "WITH RECURSIVE n (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n WHERE n < 150000)
             INSERT INTO audit (at, actor, on_behalf, event, risk, detail) SELECT n, 'a', 'b', 'c', 'low', '{}' FROM n",
        )
        .await;
    let mut child = folder.command(&database, &[]).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut said = BufReader::new(child.stderr.take().expect("it speaks")).lines();
    let line = timeout(PATIENCE, said.next_line()).await.expect("it goes on").expect("text").expect("a line");
    assert!(line.starts_with("copying audit, 10") && line.ends_with(" rows, 33 %"), "{line}");
    let id = child.id().expect("it runs").to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().expect("kill runs").success());
    assert_eq!(timeout(PATIENCE, child.wait()).await.expect("it ends").expect("it ran").code(), Some(1));
    let rest = timeout(PATIENCE, said.next_line()).await.expect("it goes on").expect("text").unwrap_or_default();
    assert!(rest.contains("stopped; nothing was moved"), "{rest}");
    assert_eq!(filled(&admin).await, [""; 0]);

    assert_eq!(folder.import(&database, &[]).await.0, 0);
    assert_eq!(number(&admin, "SELECT count(*) FROM audit").await, 150_005);
}

#[tokio::test]
async fn of_two_moves_at_once_one_is_done_and_the_other_is_told_why_not() {
    let (first, second, database) = (Folder::farm().await, Folder::worked_in().await, Database::create().await);
    let (admin, staff) = (database.admin(), "SELECT count(*) FROM staff");
    let mut slow = first.command(&database, &[]);
    slow.env("FAILPOINTS", "import::copied=sleep(1000)");
    let one = tokio::spawn(ended(slow));
    rests_after(&admin, "ALTER TABLE sales ENABLE").await;
    let (code, said) = second.import(&database, &[]).await;
    assert_eq!((code, said.contains("has rows already")), (1, true), "{said}");
    assert_eq!(one.await.expect("it ran").0, 0);
    assert_eq!(number(&admin, staff).await, first_staff(&first).await, "the rows of one of them");

    // Somebody who does not let go of a table is not waited for.
    let other = Database::create().await;
    let mut holder = other.admin().begin().await.expect("a transaction");
    sqlx::raw_sql("LOCK TABLE audit IN ROW EXCLUSIVE MODE").execute(&mut *holder).await.expect("locked");
    let (code, said) = second.import(&other, &[]).await;
    assert_eq!((code, said.contains("others are writing into the database")), (1, true), "{said}");
}

async fn first_staff(folder: &Folder) -> i64 {
    let records = file(&folder.records()).await;
    sqlx::query_scalar("SELECT count(*) FROM staff").fetch_one(records.read()).await.expect("staff")
}

#[tokio::test]
async fn what_is_written_into_the_file_meanwhile_is_not_lost_in_silence() {
    let (folder, database) = (Folder::farm().await, Database::create().await);
    let admin = database.admin();
    let mut command = folder.command(&database, &[]);
    let moving = tokio::spawn(ended({
        command.env("FAILPOINTS", "import::copied=sleep(1500)");
        command
    }));
    rests_after(&admin, "ALTER TABLE sales ENABLE").await;
    folder.change("INSERT INTO staff VALUES ('T', 'ULATE', 'n', 'viewer', '[]', 1)").await;
    let (code, said) = moving.await.expect("it ran");
    assert_eq!((code, said.contains("was written to meanwhile")), (1, true), "{said}");
    assert_eq!(filled(&admin).await, [""; 0]);
    assert_eq!(folder.import(&database, &[]).await.0, 0);
    assert_eq!(number(&admin, "SELECT count(*) FROM staff WHERE \"user\" = 'ULATE'").await, 1);
}

#[tokio::test]
async fn i01_no_other_group_can_go_the_way_by_which_a_move_brings_approved_sales() {
    let (folder, database) = (Folder::worked_in().await, Database::create().await);
    assert_eq!(folder.import(&database, &[]).await.0, 0);
    let sale =
        "INSERT INTO sales (code_sales, code_customer, department, sales_date, products, price, registered_by, origin,
                    proposal_id, digest, registered_at)
                SELECT 'S9', code_customer, department, '2026-11-03', 'a', 1, 'x', 'approval', 'p4', 'digest4', 1
                FROM customers LIMIT 1";
    for group in [Group::Bot, Group::Reader, Group::Committer, Group::Auditor] {
        let Records::Postgres(records) = database.records(group).await else { unreachable!("a database") };
        for sql in [
            sale,
            "ALTER TABLE sales DISABLE TRIGGER sales_need_an_approval",
            "ALTER TABLE sales DISABLE TRIGGER USER",
            "SET session_replication_role = replica",
            "UPDATE sales SET price = 0",
            "BEGIN; LOCK TABLE sales IN SHARE ROW EXCLUSIVE MODE",
            "COPY sales (code_sales) FROM STDIN",
            "INSERT INTO audit (id, at, actor, on_behalf, event, risk, detail) VALUES (99, 1, 'a', 'b', 'c', 'low', '{}')",
            "SELECT setval(pg_get_serial_sequence('audit', 'id'), 1)",
        ] {
            let mut connection = records.durable.acquire().await.expect("a connection");
            let refused = sqlx::raw_sql(sql).execute(&mut *connection).await;
            connection.close().await.expect("closed");
            let error = refused.expect_err(sql);
            let code = error.as_database_error().and_then(|e| e.code()).unwrap_or_default();
            assert_eq!(code, "42501", "{group:?}: {sql}: {error}");
        }
    }
    // The owner, too, meets the trigger outside a move.
    let Records::Postgres(owner) = database.records(Group::Owner).await else { unreachable!("a database") };
    let error = sqlx::raw_sql(sale).execute(&owner.durable).await.expect_err("refused");
    assert!(error.to_string().contains("approval_required"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn i02_a_card_of_the_file_is_pressed_after_the_move_and_registered_once() {
    let database = Database::create().await;
    let admin = database.admin();
    let options =
        Options { env: vec![("SALES_CONCIERGE__PROPOSALS__CLAIM_LEASE_MS", "1000".to_owned())], ..Options::default() };
    let mut rig = Rig::with(options).await;
    rig.model.rule(clerk);
    let place = rig.dm(AOKI, "登録 0002 かぼちゃ4個 600").await;
    let card = rig.card(&place).await;
    let before = rig.dm(AOKI, "登録 0002 なす1個 100").await;
    let done = rig.card(&before).await;
    rig.confirm(AOKI, &done).await;
    rig.becomes(&done, "登録しました").await;
    rig.settles().await;
    assert!(rig.stop_bot().await.success());

    // A third one, pressed and claimed: the bot dies before the sales server is asked.
    rig.start_bot_with(&[("FAILPOINTS", "click::claimed=pause")]).await;
    let claimed = rig.card(&rig.dm(AOKI, "登録 0002 桃2箱 3000").await).await;
    let press = tokio::spawn({
        let (workspace, card) = (rig.workspace.clone(), claimed.clone());
        async move { workspace.press(AOKI, card.channel.as_str(), card.ts.as_str(), "proposal_confirm").await }
    });
    rig.until("claimed", "SELECT count(*) FROM proposals WHERE state = 'claimed'", 1).await;
    rig.kill_bot().await;
    press.abort();
    // Whatever it was at when it died, nobody has to wait for it in the new place.
    let file = Records::open_file(&rig.data_dir().join("records.sqlite")).await.expect("the file");
    for sql in [
        "UPDATE outbox SET lease_until = now_ms() + 3600000",
        "UPDATE proposals SET claim_until = now_ms() + 3600000 WHERE state = 'claimed'",
    ] {
        records::query(sql).execute(file.durable()).await.expect(sql);
    }
    file.close().await;

    let (code, said) = ended(tool_from(&database, rig.data_dir())).await;
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("keys.json") && said.contains("work.sqlite"), "{said}");
    rig.start_bot_with(&[("FAILPOINTS", ""), ("DATABASE_URL", database.url())]).await;

    rig.becomes(&claimed, "登録しました").await;
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "登録しました").await;
    let approved: BTreeMap<String, i64> =
        sqlx::query_as("SELECT products, count(*) FROM sales WHERE origin = 'approval' GROUP BY products")
            .fetch_all(&admin)
            .await
            .expect("sales")
            .into_iter()
            .collect();
    let once = ["かぼちゃ4個", "なす1個", "桃2箱"].map(|p| (p.to_owned(), 1));
    assert_eq!(approved, BTreeMap::from(once));
    assert_eq!(rig.approved_sales().await, 1, "the file is not written to any more");
    assert_eq!(number(&admin, "SELECT count(*) FROM audit WHERE event = 'sale_registered'").await, 3);
    assert_eq!(number(&admin, "SELECT count(*) FROM proposals WHERE state = 'done'").await, 3);

    // The conversation goes on where it was, and knows what was registered in it.
    let reply = rig.reply(AOKI, &place, "ありがとう").await;
    rig.says(&place, "承知しました").await;
    assert!(!reply.is_empty());
    let asked = rig.model.requests().pop().expect("a request").to_string();
    assert!(asked.contains("かぼちゃ4個") && asked.contains("ありがとう"), "{asked}");
    let (code, said) = ended(tool(&database, rig.data_dir(), &["audit", "verify"])).await;
    assert_eq!(code, 0, "{said}");
}

fn tool_from(database: &Database, dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sales-concierge"));
    command.args(["import", "--from"]).arg(dir).current_dir(dir).env_clear().env("DATABASE_URL", database.url());
    command
}
