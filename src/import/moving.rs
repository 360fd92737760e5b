//! Moves everything from the embedded file into PostgreSQL: whole, checked, or not at all.
//!
//! One transaction of the database, which holds everybody else's writes off; it ends well only if both sides, read anew,
//! hold the same rows. A move goes into empty tables, so a second one is refused.
//!
//! A sale of origin `approval` was registered by an approval that is settled by now, which the trigger of the sales does
//! not let through. The owner of the table turns that one trigger off inside the transaction, which nobody else may, and
//! what it would have asked is asked of all sales together afterwards.

use futures::TryStreamExt as _;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sqlx::postgres::{PgConnection, PgDatabaseError};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Postgres, Row as _, Transaction};

use super::content::{self, Content};
use super::postgres::field_into;
use super::tables::{DERIVED, TABLES, Table};
use crate::records::snapshot::Snapshot;
use crate::records::{self, PostgresRecords};

/// Rows that are sent together, and bytes: the memory that a move takes.
const ROWS: usize = 20_000;
const BYTES: usize = 4 * 1024 * 1024;

/// SQLSTATE of a lock that was not to be had in time.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// How far a move is. Each row is copied, and then compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The table at work.
    pub table: &'static str,
    /// Whether its rows are being compared, no longer copied.
    pub comparing: bool,
    /// Rows copied, or compared.
    pub done: u64,
    /// Rows of the file.
    pub total: u64,
}

/// A table that was moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Its name.
    pub name: &'static str,
    /// What both sides hold.
    #[serde(flatten)]
    pub content: Content,
}

/// Why a move ended early. But for the last one, the database is as it was.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The file cannot be read further.
    #[error("the records file cannot be read; nothing was moved")]
    File(#[source] sqlx::Error),
    /// The database does not answer, or does not allow it.
    #[error("the database does not take the records; nothing was moved")]
    Database(#[source] sqlx::Error),
    /// Others use the database, or another move is under way.
    #[error("others are writing into the database, or another move is under way; stop them, and run this again")]
    Busy,
    /// Somebody has used the database already.
    #[error(
        "the database has rows already (in {0}), and a move goes into an empty one; make a new database, migrate it, and \
         move into that"
    )]
    NotEmpty(String),
    /// The file holds what the database does not allow.
    #[error("{table}: the database refuses {row}: {reason}; nothing was moved")]
    Refused {
        /// The table.
        table: &'static str,
        /// The row's key, as far as it is known.
        row: String,
        /// In the database's words.
        reason: String,
    },
    /// An approved write without its approval.
    #[error(
        "sales: {count} were registered or cancelled without an approval of theirs ({first} is one); nothing was moved"
    )]
    Unapproved {
        /// How many.
        count: i64,
        /// The number of the first one.
        first: String,
    },
    /// Something on the way changed a row.
    #[error("{0}: the database does not hold what the file holds; nothing was moved")]
    Differs(&'static str),
    /// Another program wrote into the file.
    #[error(
        "the records file was written to meanwhile; nothing was moved. Stop what writes into it, and run this again"
    )]
    Changed,
    /// The person stopped it.
    #[error("stopped; nothing was moved")]
    Stopped,
    /// The end of the transaction was asked for, and no answer came.
    #[error("the database did not say whether it kept the records; run this again: if it did, its tables have rows")]
    Unknown(#[source] sqlx::Error),
}

/// Moves all tables. `stop` ends it, as long as it is not being made real.
///
/// # Errors
/// See [`Failure`].
pub async fn move_all(
    file: Snapshot,
    records: &PostgresRecords,
    dry_run: bool,
    mut progress: impl FnMut(Step),
    stop: impl Future<Output = ()>,
) -> Result<Vec<Moved>, Failure> {
    let (tx, moved) = tokio::select! {
        done = transfer(file, records, &mut progress) => done?,
        () = stop => return Err(Failure::Stopped),
    };
    fail::fail_point!("import::moved");
    if dry_run {
        tx.rollback().await.map_err(Failure::Database)?;
    } else {
        tx.commit().await.map_err(Failure::Unknown)?;
    }
    Ok(moved)
}

async fn transfer(
    mut file: Snapshot,
    records: &PostgresRecords,
    progress: &mut impl FnMut(Step),
) -> Result<(Transaction<'static, Postgres>, Vec<Moved>), Failure> {
    let mut tx = records.durable.begin().await.map_err(Failure::Database)?;
    take(&mut tx).await?;
    let mut at = Step { table: "", comparing: false, done: 0, total: count(file.db()).await.map_err(Failure::File)? };

    run(&mut tx, "ALTER TABLE sales DISABLE TRIGGER sales_need_an_approval").await?;
    for table in &TABLES {
        at.table = table.name;
        copy(file.db(), &mut tx, table, |rows| {
            at.done += rows;
            progress(at);
        })
        .await?;
    }
    run(&mut tx, "ALTER TABLE sales ENABLE TRIGGER sales_need_an_approval").await?;
    fail::fail_point!("import::copied");
    number_on(file.db(), &mut tx).await?;

    (at.comparing, at.done) = (true, 0);
    let mut moved = Vec::with_capacity(TABLES.len());
    for table in &TABLES {
        at.table = table.name;
        let (theirs, ours) = tokio::try_join!(
            async { content::of_the_file(file.db(), table, |_| ()).await.map_err(Failure::File) },
            async {
                let compared = |rows| {
                    at.done += rows;
                    progress(at);
                };
                content::of_the_database(&mut tx, table, compared).await.map_err(Failure::Database)
            }
        )?;
        if theirs != ours {
            return Err(Failure::Differs(table.name));
        }
        moved.push(Moved { name: table.name, content: ours });
    }
    check(&mut tx).await?;
    tell(&mut tx, &moved).await?;
    // What is asked first should not wait for the database to find out how much there is.
    let all: Vec<&str> = TABLES.iter().map(|t| t.name).chain(DERIVED).collect();
    run(&mut tx, &format!("ANALYZE {}", all.join(", "))).await?;
    if file.close().await.map_err(Failure::File)? {
        return Err(Failure::Changed);
    }
    Ok((tx, moved))
}

async fn run(db: &mut PgConnection, sql: &str) -> Result<(), Failure> {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(db).await.map(drop).map_err(Failure::Database)
}

/// The tables, empty and for this transaction alone.
async fn take(db: &mut PgConnection) -> Result<(), Failure> {
    // The limits of the program's everyday statements are not those of a move.
    run(
        db,
        "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = '10min';
         SET LOCAL lock_timeout = '5s'; SET LOCAL jit = off",
    )
    .await?;
    let all: Vec<&str> = TABLES.iter().map(|t| t.name).chain(DERIVED).collect();
    // Others may read on. A second move waits here, and finds rows when this one is done.
    let lock = format!("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE", all.join(", "));
    match sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut *db).await {
        Ok(_) => {}
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some(LOCK_NOT_AVAILABLE) => {
            return Err(Failure::Busy);
        }
        Err(error) => return Err(Failure::Database(error)),
    }
    let filled: Vec<String> =
        all.iter().map(|t| format!("SELECT '{t}' AS name WHERE EXISTS (SELECT FROM {t})")).collect();
    let filled: Vec<String> =
        sqlx::query_scalar(AssertSqlSafe(filled.join(" UNION ALL "))).fetch_all(db).await.map_err(Failure::Database)?;
    if filled.is_empty() { Ok(()) } else { Err(Failure::NotEmpty(filled.join(", "))) }
}

/// Rows of the file.
async fn count(file: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
    let tables: Vec<String> = TABLES.iter().map(|t| format!("(SELECT count(*) FROM {})", t.name)).collect();
    let rows: i64 = sqlx::query_scalar(AssertSqlSafe(format!("SELECT {}", tables.join(" + ")))).fetch_one(file).await?;
    Ok(rows.unsigned_abs())
}

/// Rows on their way, as COPY wants them.
#[derive(Default)]
struct Chunk {
    text: String,
    keys: Vec<String>,
}

impl Chunk {
    fn is_full(&self) -> bool {
        self.keys.len() >= ROWS || self.text.len() >= BYTES
    }

    fn add(&mut self, table: &Table, row: &SqliteRow) -> Result<(), Failure> {
        let mut key = String::new();
        for (at, (name, _)) in table.columns.iter().enumerate() {
            if at > 0 {
                self.text.push('\t');
            }
            let value: Option<&str> = row.try_get(at).map_err(Failure::File)?;
            if table.key.contains(name) {
                key.push_str(if key.is_empty() { "" } else { " " });
                key.push_str(value.unwrap_or_default());
            }
            match value {
                Some(text) if text.contains('\0') => {
                    let reason = format!("{name} holds a NUL character, which PostgreSQL cannot keep");
                    return Err(Failure::Refused { table: table.name, row: key, reason });
                }
                Some(text) => field_into(&mut self.text, text),
                None => self.text.push_str("\\N"),
            }
        }
        self.text.push('\n');
        self.keys.push(key);
        Ok(())
    }

    /// What the database says of one of these rows. Its message names constraints; what it says of values is left out.
    fn failed(&self, table: &Table, error: sqlx::Error) -> Failure {
        let sqlx::Error::Database(said) = &error else { return Failure::Database(error) };
        // Data exceptions, and constraints.
        if !said.code().is_some_and(|code| code.starts_with("22") || code.starts_with("23")) {
            return Failure::Database(error);
        }
        // "COPY sales, line 3, column …"
        let place = said.try_downcast_ref::<PgDatabaseError>().and_then(PgDatabaseError::r#where);
        let place = place.and_then(|text| text.strip_prefix("COPY "));
        let line = place.and_then(|text| text.split_once(", line ")?.1.split([',', ':']).next()?.parse::<usize>().ok());
        let row = match line.and_then(|line| self.keys.get(line.checked_sub(1)?)) {
            Some(key) => key.clone(),
            None => match self.keys.as_slice() {
                [only] => only.clone(),
                [first, .., last] => format!("a row from {first} to {last}"),
                [] => "a row".to_owned(),
            },
        };
        Failure::Refused { table: table.name, row, reason: said.message().to_owned() }
    }

    async fn send(&self, db: &mut PgConnection, table: &Table) -> Result<(), sqlx::Error> {
        let (name, columns) = (table.name, table.names());
        let to = if table.secured { format!("move_{name}") } else { name.to_owned() };
        let mut copy = db.copy_in_raw(&format!("COPY {to} ({columns}) FROM STDIN")).await?;
        copy.send(self.text.as_bytes()).await?;
        copy.finish().await?;
        if table.secured {
            let put = format!("INSERT INTO {name} ({columns}) SELECT {columns} FROM {to}; TRUNCATE {to}");
            sqlx::raw_sql(AssertSqlSafe(put)).execute(db).await?;
        }
        Ok(())
    }
}

async fn copy(
    file: &mut SqliteConnection,
    db: &mut PgConnection,
    table: &Table,
    mut copied: impl FnMut(u64),
) -> Result<(), Failure> {
    if table.secured {
        let (name, columns) = (table.name, table.names());
        run(
            db,
            &format!("CREATE TEMPORARY TABLE move_{name} ON COMMIT DROP AS SELECT {columns} FROM {name} WITH NO DATA"),
        )
        .await?;
    }
    let mut rows = sqlx::query(AssertSqlSafe(table.of_the_file())).fetch(file);
    let mut chunk = Chunk::default();
    loop {
        let row = rows.try_next().await.map_err(Failure::File)?;
        if let Some(row) = &row {
            chunk.add(table, row)?;
        }
        if chunk.is_full() || (row.is_none() && !chunk.keys.is_empty()) {
            chunk.send(db, table).await.map_err(|error| chunk.failed(table, error))?;
            copied(chunk.keys.len() as u64);
            chunk.text.clear();
            chunk.keys.clear();
        }
        if row.is_none() {
            return Ok(());
        }
    }
}

/// New rows get numbers that no row ever had: a conversation knows by number which of its events it has seen.
async fn number_on(file: &mut SqliteConnection, db: &mut PgConnection) -> Result<(), Failure> {
    for Table { name, .. } in TABLES.iter().filter(|t| t.numbered) {
        let last = format!(
            "SELECT max(coalesce((SELECT max(id) FROM {name}), 0),
                        coalesce((SELECT seq FROM sqlite_sequence WHERE name = '{name}'), 0))"
        );
        let last: i64 = sqlx::query_scalar(AssertSqlSafe(last)).fetch_one(&mut *file).await.map_err(Failure::File)?;
        if last > 0 {
            run(db, &format!("SELECT setval(pg_get_serial_sequence('{name}', 'id'), {last})")).await?;
        }
    }
    Ok(())
}

/// What the rows must be to each other.
async fn check(db: &mut PgConnection) -> Result<(), Failure> {
    let unapproved = sqlx::query(
        "SELECT count(*), coalesce(min(s.code_sales), '') FROM sales s
         WHERE (s.origin = 'approval' AND NOT EXISTS (
                    SELECT FROM proposals p WHERE p.id = s.proposal_id AND p.digest = s.digest AND p.tool = 'add_sale'
                                              AND p.state IN ('claimed', 'done')))
            OR (s.cancelled_at IS NOT NULL AND NOT EXISTS (
                    SELECT FROM proposals p WHERE p.id = s.cancel_proposal AND p.digest = s.cancel_digest
                                              AND p.tool = 'cancel_sale' AND p.state IN ('claimed', 'done')))",
    )
    .fetch_one(&mut *db)
    .await
    .map_err(Failure::Database)?;
    let count: i64 = unapproved.try_get(0).map_err(Failure::Database)?;
    if count > 0 {
        return Err(Failure::Unapproved { count, first: unapproved.try_get(1).map_err(Failure::Database)? });
    }
    for (table, counted_anew) in [
        (
            "sales_daily",
            "SELECT EXISTS (
                 SELECT FROM (SELECT department, sales_date, sum(count) AS n, sum(total) AS yen
                              FROM sales_daily GROUP BY department, sales_date) AS kept
                 FULL JOIN (SELECT department, sales_date, count(*) AS n, sum(price) AS yen
                            FROM sales WHERE cancelled_at IS NULL GROUP BY department, sales_date) AS counted
                     USING (department, sales_date)
                 WHERE coalesce(kept.n, 0) <> coalesce(counted.n, 0) OR coalesce(kept.yen, 0) <> coalesce(counted.yen, 0))",
        ),
        (
            "customer_grams",
            "SELECT EXISTS (
                 SELECT FROM (SELECT department, gram, sum(count) AS n FROM customer_grams GROUP BY department, gram) AS kept
                 FULL JOIN (SELECT department, gram, count(*) AS n FROM customers, unnest(grams_of(name_search)) AS gram
                            GROUP BY department, gram) AS counted USING (department, gram)
                 WHERE coalesce(kept.n, 0) <> coalesce(counted.n, 0))",
        ),
    ] {
        let wrong: bool = sqlx::query_scalar(counted_anew).fetch_one(&mut *db).await.map_err(Failure::Database)?;
        if wrong {
            return Err(Failure::Differs(table));
        }
    }
    Ok(())
}

/// The trail goes on with the move itself.
async fn tell(db: &mut PgConnection, moved: &[Moved]) -> Result<(), Failure> {
    let rows: Map<String, Value> = moved.iter().map(|t| (t.name.to_owned(), t.content.rows.into())).collect();
    records::query(
        "INSERT INTO audit (at, actor, on_behalf, event, risk, result, detail)
         VALUES (now_ms(), 'import', 'operator', 'moved', 'high', 'ok', $1)",
    )
    .bind(json!({ "rows": rows }).to_string())
    .execute(db)
    .await
    .map(drop)
    .map_err(Failure::Database)
}
