//! The `import` command from outside, on both engines: what is in the records afterwards, and what a person is told.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use sales_concierge::records::postgres::Group;
use sales_concierge::records::testing::Database;
use sales_concierge::records::{self, Records};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

/// An engine with nothing in it, and a folder for files.
struct Place {
    dir: TempDir,
    database: Option<Database>,
}

impl Place {
    fn sqlite() -> Self {
        Self { dir: tempfile::tempdir().expect("a folder"), database: None }
    }

    async fn both() -> [Self; 2] {
        let dir = tempfile::tempdir().expect("a folder");
        [Self::sqlite(), Self { dir, database: Some(Database::create().await) }]
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        path
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn command(&self, kind: &str, file: &Path, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sales-concierge"));
        command.args(["import", kind]).arg(file).args(more).arg("--data-dir").arg(self.data());
        command.current_dir(self.dir.path()).env_clear().kill_on_drop(true);
        if let Some(database) = &self.database {
            command.env("DATABASE_URL", database.url());
        }
        command
    }

    async fn import(&self, kind: &str, file: &Path, more: &[&str]) -> Output {
        let output = self.command(kind, file, more).output();
        timeout(Duration::from_secs(60), output).await.expect("it ends").expect("it runs")
    }

    /// The exit code and the summary.
    async fn json(&self, kind: &str, file: &Path, more: &[&str]) -> (i32, Value) {
        let output = self.import(kind, file, &[&["--json"], more].concat()).await;
        let said = String::from_utf8_lossy(&output.stdout);
        let summary = serde_json::from_str(&said);
        let summary = summary.unwrap_or_else(|_| panic!("{said}{}", String::from_utf8_lossy(&output.stderr)));
        (output.status.code().expect("it ended by itself"), summary)
    }

    async fn records(&self) -> Records {
        match &self.database {
            Some(database) => database.records(Group::Owner).await,
            None => Records::open_file(&self.data().join("records.sqlite")).await.expect("the file opens"),
        }
    }

    async fn rows(&self, sql: &'static str) -> Vec<String> {
        let records = self.records().await;
        let rows = records::query(sql).scalars(records.read()).await.expect(sql);
        records.close().await;
        rows
    }

    async fn sales(&self) -> Vec<String> {
        self.rows(
            "SELECT code_sales || '|' || code_customer || '|' || CAST(sales_date AS TEXT) || '|' || products || '|' ||
                    price || '|' || registered_by || '|' || origin FROM sales ORDER BY code_sales",
        )
        .await
    }

    /// Two customers and one member of staff.
    async fn stock(&self) {
        let customers = self.file(
            "customers.csv",
            "得意先コード,得意先名,住所,電話,部門\n0001,青木商店,みほん市1,000-0000,野菜\n0016,㈱髙橋青果,,,果物\n",
        );
        let (code, said) = self.json("customers", &customers, &[]).await;
        assert_eq!((code, &said["new"]), (0, &json!(2)), "{said}");
        let staff = self.file("staff.csv", "team,user,氏名,権限,部門\nT0MIHON,U0AOKI,青木 さゆり,営業,\"野菜,果物\"\n");
        assert_eq!(self.json("staff", &staff, &[]).await.0, 0);
    }
}

fn shift_jis(text: &str) -> Vec<u8> {
    let (bytes, _, lost) = encoding_rs::SHIFT_JIS.encode(text);
    assert!(!lost);
    bytes.into_owned()
}

const SALES: &str = "伝票番号,得意先コード,売上日,品名,金額,担当者\r\n\
    A-1,0001,2026/11/3,\"かぼちゃ\r\n4個\",\"¥1,800\",青木さゆり\r\n\
    A-2,0016,令和8年11月4日,桃 \"\"大\"\" 2箱,３０００円,見本 太郎\r\n\
    A-3,0016,20261105,①タブ\t\\n,0,\r\n";

#[tokio::test]
async fn files_of_either_character_set_are_loaded_and_loading_them_again_changes_nothing() {
    for place in Place::both().await {
        place.stock().await;
        let file = place.file(
            "sales.csv",
            shift_jis(&SALES.replace("桃 \"\"大\"\"", "\"桃 \"\"大\"\"\"").replace("\"\"\" 2箱", "\"\" 2箱\"")),
        );
        let (code, said) = place.json("sales", &file, &[]).await;
        assert_eq!((code, &said["new"], &said["bad"]), (0, &json!(3), &json!(0)), "{said}");
        assert_eq!((&said["encoding"], &said["unknown_people"]), (&json!("Shift_JIS"), &json!(1)));
        let stored = [
            "A-1|0001|2026-11-03|かぼちゃ\n4個|1800|slack:T0MIHON:U0AOKI|import",
            "A-2|0016|2026-11-04|桃 \"大\" 2箱|3000|import|import",
            "A-3|0016|2026-11-05|①タブ\t\\n|0|import|import",
        ];
        assert_eq!(place.sales().await, stored);
        let run = place.rows("SELECT DISTINCT CAST(registered_at AS TEXT) FROM sales").await;
        assert_eq!(run, [said["run"].to_string()], "a run's sales share its mark");
        let trail = place.rows("SELECT detail FROM audit WHERE event = 'imported' ORDER BY id").await;
        assert!(trail[2].contains(&format!("\"run\":{}", said["run"])), "{trail:?}");

        let again = place.json("sales", &file, &[]).await.1;
        assert_eq!((&again["new"], &again["unchanged"]), (&json!(0), &json!(3)));
        assert_eq!(place.sales().await, stored);

        let names = place
            .rows("SELECT code_customer || name_customer || address || department FROM customers ORDER BY 1")
            .await;
        assert_eq!(names, ["0001青木商店みほん市1野菜", "0016㈱髙橋青果果物"]);
        let partly = place.file(
            "customers.csv",
            "\u{feff}code_customer,name_customer,department\n0001,青木商店,果物\n0016,㈱髙橋青果,果物\n",
        );
        let said = place.json("customers", &partly, &[]).await.1;
        assert_eq!((&said["changed"], &said["unchanged"]), (&json!(1), &json!(1)), "{said}");
        let names = place.rows("SELECT address || department FROM customers ORDER BY code_customer").await;
        assert_eq!(names, ["みほん市1果物", "果物"], "what the file has no column for stays");
        if place.database.is_some() {
            let totals =
                "SELECT department || ' ' || sum(count) || ' ' || sum(total) FROM sales_daily GROUP BY department
                          HAVING sum(count) > 0 ORDER BY 1";
            assert_eq!(
                place.rows(totals).await,
                ["果物 3 4800"],
                "totals follow the customer into the other department"
            );
        }
    }
}

/// A load into a table without sales takes its indexes and keys away while it runs.
#[tokio::test]
async fn the_first_load_and_a_later_one_leave_the_table_as_they_found_it() {
    let [_, place] = Place::both().await;
    place.stock().await;
    let shape = async || {
        let mut shape = place
            .rows("SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'sales'::regclass ORDER BY 1")
            .await;
        shape.extend(place.rows("SELECT conname || pg_get_constraintdef(oid) || convalidated FROM pg_constraint WHERE conrelid = 'sales'::regclass ORDER BY 1").await);
        shape.extend(place.rows("SELECT tgname || tgenabled::text FROM pg_trigger WHERE tgrelid = 'sales'::regclass AND NOT tgisinternal ORDER BY 1").await);
        shape.extend(
            place
                .rows("SELECT relrowsecurity::text || relforcerowsecurity FROM pg_class WHERE oid = 'sales'::regclass")
                .await,
        );
        shape
    };
    let totals = async || {
        place.rows("SELECT sales_date || department || sum(count) || ' ' || sum(total) FROM sales_daily GROUP BY sales_date, department ORDER BY 1").await
    };
    let recount = async || {
        place.rows("SELECT sales_date || department || count(*) || ' ' || sum(price) FROM sales GROUP BY sales_date, department ORDER BY 1").await
    };
    let before = shape().await;
    assert!(before.len() > 15, "{before:?}");
    let header = "伝票番号,得意先コード,売上日,品名,金額\n";
    for (name, lines) in [
        ("first.csv", "A-1,0001,2026-11-03,桃,100\nA-2,0016,2026-11-03,桃,50\nA-3,0001,2026-11-03,梨,7\n"),
        ("second.csv", "A-3,0001,2026-11-03,梨,7\nA-4,0001,2026-11-03,梨,1000\n"),
    ] {
        let file = place.file(name, format!("{header}{lines}"));
        let (code, said) = place.json("sales", &file, &[]).await;
        assert_eq!(code, 0, "{said}");
        assert_eq!(shape().await, before, "{name}");
        assert_eq!(totals().await, recount().await, "{name}");
    }
    assert_eq!(totals().await, ["2026-11-03果物1 50", "2026-11-03野菜3 1107"]);
    let twice = place.file("twice.csv", format!("{header}B-1,0001,2026-11-03,桃,100\nB-1,0016,2026-11-03,桃,50\n"));
    assert_eq!(place.json("sales", &twice, &[]).await.0, 1, "a number twice in one file");
    assert_eq!(shape().await, before);
}

#[tokio::test]
async fn a_dry_run_into_a_file_holds_nobody_up() {
    let place = Place::sqlite();
    place.stock().await;
    let records = place.records().await;
    let writing = records.begin_durable().await.expect("the write lock");
    let files = [
        ("customers", "code_customer,name_customer,department\n0001,青木,果物\n0002,赤木,果物\n"),
        ("staff", "team,user,role,departments\nT0MIHON,U0NEW,viewer,野菜\n"),
        (
            "sales",
            "code_sales,code_customer,date_sales,products,price\nA,0001,2026-11-03,なす,600\nA,0001,2026-11-03,なす,600\n",
        ),
    ];
    for (kind, text) in files {
        let file = place.file(kind, text);
        let said = place.json(kind, &file, &["--dry-run", "--continue"]).await.1;
        assert_eq!((&said["new"], &said["bad"]), (&json!(1), &json!(u8::from(kind == "sales"))), "{said}");
    }
    drop(writing);
    records.close().await;
}

#[tokio::test]
async fn staff_import_loads_what_import_staff_loads() {
    for place in Place::both().await {
        place.stock().await;
        let file = place.file(
            "staff.csv",
            "team,user,氏名,権限,部門\nT0MIHON,U0AOKI,青木,マネージャー,野菜\nT0MIHON,U0MIHON,見本,viewer,果物\n",
        );
        let command = place.command("staff", &file, &["--json"]);
        let mut other = Command::new(env!("CARGO_BIN_EXE_sales-concierge"));
        other.args(["staff", "import"]).args(command.as_std().get_args().skip(2)).current_dir(place.dir.path());
        other.env_clear().envs(place.database.iter().map(|d| ("DATABASE_URL", d.url())));
        let output = other.output().await.expect("it runs");
        let said: Value = serde_json::from_slice(&output.stdout).expect("one object");
        assert_eq!((&said["new"], &said["changed"], &said["written"]), (&json!(1), &json!(1), &json!(true)), "{said}");
        let staff = place.rows("SELECT \"user\" || ' ' || role FROM staff ORDER BY 1").await;
        assert_eq!(staff, ["U0AOKI manager", "U0MIHON viewer"]);
    }
}

#[tokio::test]
async fn a_report_never_replaces_a_file_and_least_of_all_the_one_that_is_loaded() {
    let place = Place::sqlite();
    place.stock().await;
    let text = "code_sales,code_customer,date_sales,products,price\nB-1,0001,2026-11-03,なす,600\n";
    let file = place.file("sales.csv", text);
    for more in [&["--dry-run"][..], &[]] {
        let more = [&["--report", file.to_str().expect("a path")], more].concat();
        let output = place.import("sales", &file, &more).await;
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("--report") && said.contains("not taken"), "{said}");
        assert_eq!(std::fs::read_to_string(&file).expect("the file"), text);
    }
    assert!(place.sales().await.is_empty());
}

#[tokio::test]
async fn a_bad_line_keeps_the_whole_file_out_unless_told_otherwise_and_is_reported() {
    for place in Place::both().await {
        place.stock().await;
        let file = place.file(
            "sales.csv",
            "code_sales,code_customer,date_sales,products,price\nB-1,0001,2026-11-03,なす,600\nB-2,0001,2026-02-30,なす,600\n\
             B-3,0099,2026-11-03,なす,-600\nB-1,0001,2026-11-03,なす,600\n",
        );
        let mut reports = Vec::new();
        for (name, more, code, stored) in [
            ("1.csv", &["--dry-run"][..], 1, 0),
            ("2.csv", &[], 1, 0),
            ("3.csv", &["--dry-run", "--continue"], 0, 0),
            ("4.csv", &["--continue"], 0, 1),
        ] {
            let report = place.dir.path().join(name);
            let more = [&["--report", report.to_str().expect("a path")], more].concat();
            let (got, said) = place.json("sales", &file, &more).await;
            assert_eq!((got, &said["bad"], &said["new"]), (code, &json!(3), &json!(1)), "{more:?} {said}");
            assert_eq!(said["written"], stored == 1);
            assert_eq!(place.sales().await.len(), stored, "{more:?}");
            reports.push(std::fs::read_to_string(&report).expect("a report"));
        }
        assert!(reports.windows(2).all(|two| two[0] == two[1]), "a dry run reports what a run does: {reports:?}");
        assert_eq!(
            reports[0],
            "\u{feff}line,column,value,reason\n\
             3,date_sales,2026-02-30,is not a day of the calendar; write it as 2026-11-03 or 2026/11/3\n\
             4,code_customer,0099,is no customer's code; import the customer first\n\
             4,price,'-600,\"is negative, and a sale cannot be; leave the line out and cancel the sale that it corrects\"\n\
             5,code_sales,B-1,is in line 2 of this file already; keep one of the two lines\n"
        );
        let output = place.import("sales", &file, &[]).await;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("3 of 4 lines are bad; nothing was loaded"), "{said}");
        let all = format!("{}{said}", String::from_utf8_lossy(&output.stdout));
        assert!(
            all.contains("line 3: date_sales is not a day") && !all.contains("2026-02-30"),
            "values stay in the report: {all}"
        );
    }
}

#[tokio::test]
async fn a_number_that_another_sale_has_is_a_bad_line_and_that_sale_stays() {
    for place in Place::both().await {
        place.stock().await;
        let head = "code_sales,code_customer,date_sales,products,price\n";
        let first = place.file("first.csv", format!("{head}C-1,0001,2026-11-03,なす,600\n"));
        assert_eq!(place.json("sales", &first, &[]).await.0, 0);
        let before = place.sales().await;
        // Far apart: the second comes with a later batch.
        let many: String = (0..45_000).map(|n| format!("D-{n},0001,2026-11-03,なす,600\n")).collect();
        let second = place
            .file("second.csv", format!("{head}C-1,0001,2026-11-03,なす,601\n{many}D-7,0001,2026-11-03,なす,600\n"));
        for more in [&["--dry-run"][..], &[]] {
            let (code, said) = place.json("sales", &second, more).await;
            assert_eq!((code, &said["bad"], &said["new"]), (1, &json!(2), &json!(45_000)), "{said}");
            let reasons = said["first_faults"].as_array().expect("a list");
            let reason = |i: usize| reasons[i]["reason"].as_str().expect("a sentence");
            assert_eq!((&reasons[0]["line"], &reasons[1]["line"]), (&json!(2), &json!(45_003)));
            assert!(reason(0).contains("another sale in the records") && reason(1).contains("further up"), "{said}");
            assert_eq!(place.sales().await, before);
        }
    }
}

#[tokio::test]
async fn what_is_no_such_file_is_wrong_usage_and_says_what_to_do() {
    let place = Place::sqlite();
    for (bytes, part) in [
        (
            "番号,名\n1,a\n",
            "no column for code_customer, name_customer, department; the first line of the file has “番号”, “名”",
        ),
        ("", "its first line must name the columns"),
        ("code_customer;name_customer;department\n", "--delimiter ';'"),
    ] {
        let output = place.import("customers", &place.file("x.csv", bytes), &[]).await;
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(part), "{said}");
    }
    let mapped = place.file("y.csv", "番号;名;部門\n1;青木;野菜\n");
    let (code, said) =
        place.json("customers", &mapped, &["--delimiter", ";", "--map", "code_customer=番号,name_customer=名"]).await;
    assert_eq!((code, &said["columns"]["name_customer"]), (0, &json!("名")), "{said}");
    assert_eq!(place.import("customers", &place.dir.path().join("none.csv"), &[]).await.status.code(), Some(1));
}

#[tokio::test]
async fn a_run_that_is_interrupted_leaves_the_records_as_they_were() {
    for place in Place::both().await {
        place.stock().await;
        let mut text = "code_sales,code_customer,date_sales,products,price\n".to_owned();
        text.extend((0..180_000).map(|n| format!("E-{n},0001,2026-11-03,なす,600\n")));
        let file = place.file("long.csv", text);
        for signal in ["-INT", "-KILL"] {
            let mut child = place.command("sales", &file, &[]).stderr(Stdio::piped()).spawn().expect("it starts");
            let id = child.id().expect("it runs").to_string();
            let mut said = BufReader::new(child.stderr.take().expect("it speaks")).lines();
            let line = timeout(Duration::from_secs(120), said.next_line()).await.expect("it goes on").expect("text");
            assert!(line.is_some_and(|l| l.starts_with("100000 lines, 5")), "rows were sent and more are to come");
            assert!(std::process::Command::new("kill").args([signal, &id]).status().expect("kill runs").success());
            let ended = timeout(Duration::from_secs(30), child.wait()).await.expect("it ends").expect("it ran");
            assert_eq!(ended.code(), (signal == "-INT").then_some(1), "it was interrupted before its end");
            assert_eq!(place.sales().await, [""; 0], "{signal}");
        }
    }
}
