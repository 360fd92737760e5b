use super::seal::{self, GENESIS};
use super::verify::{self, Fault};
use super::*;
use crate::records::Records;
use crate::records::postgres::Group;
use crate::records::testing::Database;

fn entry<'a>(person: &'a Person, event: &'static str) -> Entry<'a> {
    let detail = serde_json::json!({ "digest": "d1gest", "count": 1 });
    Entry { actor: "test", on_behalf: person, event, tool: None, risk: Risk::Low, proposal: None, detail }
}

async fn append_some(records: &Records, count: u32) {
    let person = Person::new("T1", "U1");
    for _ in 0..count {
        append(records.quick(), entry(&person, "tool_answered")).await.unwrap();
    }
}

/// A store of each engine, and a way to do to it what only its owner can.
enum Store {
    Sqlite(Records, #[expect(dead_code, reason = "the folder is there until the test ends")] tempfile::TempDir),
    Postgres(Records, Database),
}

impl Store {
    async fn sqlite() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self::Sqlite(Records::open_file(&dir.path().join("records.db")).await.unwrap(), dir)
    }

    async fn postgres() -> Self {
        let database = Database::create().await;
        Self::Postgres(database.records(Group::Bot).await, database)
    }

    fn records(&self) -> &Records {
        match self {
            Self::Sqlite(records, _) | Self::Postgres(records, _) => records,
        }
    }

    /// Past all triggers.
    async fn as_owner(&self, sql: &'static str) {
        match self {
            Self::Sqlite(records, _) => {
                let pool = records.sqlite().unwrap().durable();
                for trigger in ["audit_is_append_only", "audit_seals_are_append_only"] {
                    for way in ["update", "delete"] {
                        let sql = format!("DROP TRIGGER IF EXISTS {trigger}_{way}");
                        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(pool).await.unwrap();
                    }
                }
                sqlx::raw_sql(sql).execute(pool).await.unwrap();
            }
            Self::Postgres(_, database) => {
                let mut db = database.admin().acquire().await.unwrap();
                sqlx::raw_sql("SET session_replication_role = replica").execute(&mut *db).await.unwrap();
                sqlx::raw_sql(sql).execute(&mut *db).await.unwrap();
            }
        }
    }
}

/// Ten rows in two seals, one row after them; then `sql` as the owner.
async fn tampered(store: &Store, sql: &'static str) -> verify::Report {
    let records = store.records();
    append_some(records, 5).await;
    assert_eq!(seal::run(records).await.unwrap().rows, 5);
    append_some(records, 5).await;
    assert_eq!(seal::run(records).await.unwrap().rows, 5);
    append_some(records, 1).await;
    let before = verify::run(records, None).await.unwrap();
    assert_eq!((before.seals, before.rows, before.unsealed, before.finding), (2, 10, 1, None));
    store.as_owner(sql).await;
    verify::run(records, before.head.as_deref()).await.unwrap()
}

/// A change, what is found, at which row, and in which batch.
type Tampering = (&'static str, Fault, i64, Option<(i64, i64)>);

const TAMPERING: [Tampering; 8] = [
    ("UPDATE audit SET on_behalf = 'slack:T1:U2' WHERE id = 7", Fault::Changed, 7, Some((6, 10))),
    ("UPDATE audit SET at = at + 1 WHERE id = 1", Fault::Changed, 1, Some((1, 5))),
    ("DELETE FROM audit WHERE id = 3", Fault::Missing, 3, Some((1, 5))),
    ("DELETE FROM audit WHERE id = 10", Fault::Missing, 10, Some((6, 10))),
    (
        "INSERT INTO audit (id, at, actor, on_behalf, event, risk, detail) VALUES (-1, 1, 'x', 'y', 'z', 'low', '{}')",
        Fault::Added,
        -1,
        Some((1, 5)),
    ),
    ("UPDATE audit_seals SET sealed_at = 1 WHERE first_id = 6", Fault::SealChanged, 6, Some((6, 10))),
    ("DELETE FROM audit_seals WHERE first_id = 1", Fault::ChainBroken, 6, Some((6, 10))),
    ("DELETE FROM audit_seals WHERE first_id = 6", Fault::HeadMissing, 5, None),
];

#[tokio::test]
async fn i24_what_is_changed_taken_out_or_put_in_after_sealing_is_found_with_its_row() {
    for (sql, fault, row, span) in TAMPERING {
        let store = Store::sqlite().await;
        let found = tampered(&store, sql).await.finding.unwrap();
        assert_eq!((found.fault, found.row, found.seal), (fault, row, span), "{sql}");
    }
}

#[tokio::test]
async fn i24_the_same_is_found_in_a_postgresql_database() {
    for (sql, fault, row, span) in TAMPERING {
        let store = Store::postgres().await;
        let found = tampered(&store, sql).await.finding.unwrap();
        assert_eq!((found.fault, found.row, found.seal), (fault, row, span), "{sql}");
    }
}

#[tokio::test]
async fn i24_a_row_once_appended_can_be_neither_changed_nor_deleted() {
    let store = Store::sqlite().await;
    append_some(store.records(), 1).await;
    seal::run(store.records()).await.unwrap();
    for sql in [
        "UPDATE audit SET risk = 'high'",
        "DELETE FROM audit",
        "UPDATE audit_seals SET hash = 'x'",
        "DELETE FROM audit_seals",
    ] {
        assert!(records::query(sql).execute(store.records().durable()).await.is_err(), "{sql}");
    }
    let row = records::query("SELECT on_behalf, risk, digest, result FROM audit")
        .fetch_one(store.records().read())
        .await
        .unwrap();
    let text = |column: &str| row.try_get::<String, _>(column).unwrap();
    let all = [text("on_behalf"), text("risk"), text("digest"), text("result")];
    assert_eq!(all, ["slack:T1:U1", "low", "d1gest", "ok"]);
    assert_eq!(verify::run(store.records(), None).await.unwrap().finding, None);
}

#[tokio::test]
async fn i24_the_bots_login_of_a_database_can_neither_change_delete_nor_empty_the_trail() {
    let store = Store::postgres().await;
    append_some(store.records(), 1).await;
    seal::run(store.records()).await.unwrap();
    for sql in [
        "UPDATE audit SET risk = 'high'",
        "DELETE FROM audit",
        "TRUNCATE audit",
        "UPDATE audit_seals SET hash = 'x'",
        "DELETE FROM audit_seals",
        "TRUNCATE audit_seals",
        "ALTER TABLE audit DISABLE TRIGGER ALL",
    ] {
        assert!(records::query(sql).execute(store.records().durable()).await.is_err(), "{sql}");
    }
    let report = verify::run(store.records(), None).await.unwrap();
    assert_eq!((report.rows, report.finding), (1, None));
}

#[tokio::test]
async fn two_processes_that_seal_at_once_make_one_chain() {
    let store = Store::postgres().await;
    let records = store.records();
    for _ in 0..5 {
        append_some(records, 3).await;
        let (one, two) = tokio::join!(seal::run(records), seal::run(records));
        // Whoever could not wait for the other is right to give up.
        assert!(one.is_ok() || two.is_ok());
    }
    seal::run(records).await.unwrap();
    let report = verify::run(records, None).await.unwrap();
    assert_eq!((report.rows, report.unsealed, report.finding), (15, 0, None));
}

#[tokio::test]
async fn a_row_whose_transaction_is_still_open_is_waited_for_and_not_skipped() {
    let store = Store::postgres().await;
    let records = store.records();
    let person = Person::new("T1", "U1");
    let mut open = records.begin().await.unwrap();
    append(&mut open, entry(&person, "early")).await.unwrap();
    append_some(records, 1).await;
    assert!(seal::run(records).await.is_err(), "it does not wait for ever");
    open.commit().await.unwrap();
    assert_eq!(seal::run(records).await.unwrap().rows, 2);
    assert_eq!(verify::run(records, None).await.unwrap().finding, None);
}

#[tokio::test]
async fn sealing_holds_up_nobody_who_appends_and_needs_no_lock_that_a_vacuum_has() {
    let store = Store::postgres().await;
    let records = store.records();
    let person = Person::new("T1", "U1");
    let mut open = records.begin().await.unwrap();
    append(&mut open, entry(&person, "early")).await.unwrap();
    append_some(records, 1).await;
    let sealing = tokio::spawn({
        let records = records.clone();
        async move { seal::run(&records).await }
    });
    let begun = std::time::Instant::now();
    let mut appended = 0;
    while !sealing.is_finished() {
        append_some(records, 1).await;
        appended += 1;
    }
    assert!(sealing.await.unwrap().is_err(), "the open transaction may hold any number");
    assert!(appended > 10, "{appended} rows in {:?}", begun.elapsed());
    open.commit().await.unwrap();
    // What autovacuum and ANALYZE hold.
    let Store::Postgres(_, database) = &store else { unreachable!("made above") };
    let admin = database.admin();
    let mut vacuum = admin.begin().await.unwrap();
    sqlx::query("LOCK TABLE audit IN SHARE UPDATE EXCLUSIVE MODE").execute(&mut *vacuum).await.unwrap();
    assert_eq!(seal::run(records).await.unwrap().rows, 2 + appended);
    assert_eq!(verify::run(records, None).await.unwrap().finding, None);
}

#[tokio::test]
async fn the_hashes_are_those_that_the_documents_describe() {
    use sha2::{Digest, Sha256};
    let row = Stored { id: 1, at: 2, texts: std::iter::repeat_n(Some("é\"".to_owned()), 12).chain([None]).collect() };
    let canonical = r#"{"actor":"é\"","at":2,"detail":null,"digest":"é\"","event":"é\"","id":1,"message":"é\"","model":"é\"","on_behalf":"é\"","prompt_hash":"é\"","proposal":"é\"","result":"é\"","risk":"é\"","tool":"é\"","tools_hash":"é\""}"#;
    assert_eq!(seal::row_hash(&row), hex::encode(Sha256::digest(canonical)));
    let store = Store::sqlite().await;
    append_some(store.records(), 1).await;
    seal::run(store.records()).await.unwrap();
    let seal = seal::head(store.records()).await.unwrap().unwrap();
    assert_eq!(seal.previous, GENESIS);
    let text = format!(
        r#"{{"first_id":1,"last_id":1,"previous":"{GENESIS}","row_hashes":"{}","rows":1,"sealed_at":{}}}"#,
        seal.row_hashes, seal.sealed_at
    );
    assert_eq!(seal.hash, hex::encode(Sha256::digest(text)));
}
