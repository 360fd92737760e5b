//! One SQL text for both engines.
//!
//! What the bot keeps (proposals, presses, messages, staff, audit) is read and written with SQL that SQLite and
//! PostgreSQL understand alike: `$1` parameters, `ON CONFLICT`, `RETURNING`, quoted `"user"`. Three things differ and are
//! hidden here: the database clock, written `now_ms()`; the lock on a row, which SQLite does not know and does not need,
//! since a transaction there has the whole file; and the types of connection. A value is only ever bound, never written
//! into the text.

use sqlx::postgres::{PgConnection, PgPool, PgRow};
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{AssertSqlSafe, ColumnIndex, Decode, Postgres, Row as _, SqlSafeStr as _, SqlStr, Sqlite, Type};

use super::{PgTx, Tx, within};

/// What `now_ms()` is in SQLite, which knows no functions of ours.
const SQLITE_NOW_MS: &str = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

/// Locks the rows of `c`, and passes over those that another transaction has locked. Left out for SQLite.
const OF_NOBODY_ELSE: &str = " FOR UPDATE OF c SKIP LOCKED";

/// Where a statement is carried out: a pool, a transaction or a connection of either engine.
#[derive(Debug)]
pub struct Db<'a>(Target<'a>);

#[derive(Debug)]
enum Target<'a> {
    SqlitePool(&'a SqlitePool),
    Sqlite(&'a mut SqliteConnection),
    PostgresPool(&'a PgPool),
    PostgresTx(&'a mut PgTx),
    Postgres(&'a mut PgConnection),
}

impl<'a> From<&'a SqlitePool> for Db<'a> {
    fn from(pool: &'a SqlitePool) -> Self {
        Self(Target::SqlitePool(pool))
    }
}

impl<'a> From<&'a mut SqliteConnection> for Db<'a> {
    fn from(connection: &'a mut SqliteConnection) -> Self {
        Self(Target::Sqlite(connection))
    }
}

impl<'a> From<&'a PgPool> for Db<'a> {
    fn from(pool: &'a PgPool) -> Self {
        Self(Target::PostgresPool(pool))
    }
}

impl<'a> From<&'a mut PgConnection> for Db<'a> {
    fn from(connection: &'a mut PgConnection) -> Self {
        Self(Target::Postgres(connection))
    }
}

impl<'a> From<&'a mut Tx> for Db<'a> {
    fn from(tx: &'a mut Tx) -> Self {
        match tx {
            Tx::Sqlite(tx) => Self(Target::Sqlite(tx)),
            Tx::Postgres(tx) => Self(Target::PostgresTx(tx)),
        }
    }
}

/// A value for a parameter.
#[derive(Clone, Debug)]
pub enum Parameter {
    /// Text, or a NULL of that type.
    Text(Option<String>),
    /// A 64-bit integer, or a NULL of that type.
    Integer(Option<i64>),
    /// A truth value.
    Boolean(bool),
}

impl From<&str> for Parameter {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<String> for Parameter {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<&String> for Parameter {
    fn from(text: &String) -> Self {
        Self::Text(Some(text.clone()))
    }
}

impl From<Option<&str>> for Parameter {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(str::to_owned))
    }
}

impl From<Option<String>> for Parameter {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Parameter {
    fn from(number: i64) -> Self {
        Self::Integer(Some(number))
    }
}

impl From<u32> for Parameter {
    fn from(number: u32) -> Self {
        Self::Integer(Some(number.into()))
    }
}

impl From<Option<i64>> for Parameter {
    fn from(number: Option<i64>) -> Self {
        Self::Integer(number)
    }
}

impl From<bool> for Parameter {
    fn from(truth: bool) -> Self {
        Self::Boolean(truth)
    }
}

/// A row of either engine.
#[derive(Debug)]
pub enum Row {
    /// Of SQLite.
    Sqlite(SqliteRow),
    /// Of PostgreSQL.
    Postgres(PgRow),
}

impl Row {
    /// The value of a column, by name or by number.
    ///
    /// # Errors
    /// When there is no such column, or it is of another type.
    pub fn try_get<T, I>(&self, column: I) -> Result<T, sqlx::Error>
    where
        T: for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres>,
        I: ColumnIndex<SqliteRow> + ColumnIndex<PgRow>,
    {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
    }
}

/// A statement and its parameters.
#[derive(Clone, Debug)]
#[must_use = "a statement does nothing until it is carried out"]
pub struct Query {
    sql: &'static str,
    parameters: Vec<Parameter>,
}

/// A statement; see the head of this module for what its text may use.
pub fn query(sql: &'static str) -> Query {
    Query { sql, parameters: Vec::new() }
}

macro_rules! carry_out {
    ($query:ident, $db:ident, $method:ident) => {
        match $db.into().0 {
            Target::SqlitePool(db) => $query.sqlite().$method(db).await.map(Into::into).map_err(Into::into),
            Target::Sqlite(db) => $query.sqlite().$method(db).await.map(Into::into).map_err(Into::into),
            Target::PostgresPool(db) => {
                let query = $query.postgres();
                within(db, |db| Box::pin(query.$method(db))).await.map(Into::into)
            }
            Target::PostgresTx(tx) => {
                let query = $query.postgres();
                tx.within(|db| Box::pin(query.$method(db))).await.map(Into::into)
            }
            Target::Postgres(db) => $query.postgres().$method(db).await.map(Into::into).map_err(Into::into),
        }
    };
}

/// What the two engines give back, as one type each.
struct Rows(Vec<Row>);
struct MaybeRow(Option<Row>);
struct Changed(u64);

impl From<SqliteRow> for Row {
    fn from(row: SqliteRow) -> Self {
        Self::Sqlite(row)
    }
}

impl From<PgRow> for Row {
    fn from(row: PgRow) -> Self {
        Self::Postgres(row)
    }
}

impl<R: Into<Row>> From<Vec<R>> for Rows {
    fn from(rows: Vec<R>) -> Self {
        Self(rows.into_iter().map(Into::into).collect())
    }
}

impl<R: Into<Row>> From<Option<R>> for MaybeRow {
    fn from(row: Option<R>) -> Self {
        Self(row.map(Into::into))
    }
}

impl From<sqlx::sqlite::SqliteQueryResult> for Changed {
    fn from(result: sqlx::sqlite::SqliteQueryResult) -> Self {
        Self(result.rows_affected())
    }
}

impl From<sqlx::postgres::PgQueryResult> for Changed {
    fn from(result: sqlx::postgres::PgQueryResult) -> Self {
        Self(result.rows_affected())
    }
}

impl Query {
    /// The next parameter.
    pub fn bind(mut self, value: impl Into<Parameter>) -> Self {
        self.parameters.push(value.into());
        self
    }

    fn sqlite(self) -> sqlx::query::Query<'static, Sqlite, sqlx::sqlite::SqliteArguments> {
        let differs = self.sql.contains("now_ms()") || self.sql.contains(OF_NOBODY_ELSE);
        let sql: SqlStr = if differs {
            AssertSqlSafe(self.sql.replace("now_ms()", SQLITE_NOW_MS).replace(OF_NOBODY_ELSE, "")).into_sql_str()
        } else {
            self.sql.into_sql_str()
        };
        self.parameters.into_iter().fold(sqlx::query(sql), |query, parameter| match parameter {
            Parameter::Text(text) => query.bind(text),
            Parameter::Integer(number) => query.bind(number),
            Parameter::Boolean(truth) => query.bind(truth),
        })
    }

    fn postgres(self) -> sqlx::query::Query<'static, Postgres, sqlx::postgres::PgArguments> {
        self.parameters.into_iter().fold(sqlx::query(self.sql), |query, parameter| match parameter {
            Parameter::Text(text) => query.bind(text),
            Parameter::Integer(number) => query.bind(number),
            Parameter::Boolean(truth) => query.bind(truth),
        })
    }

    /// Carries it out and counts the rows it changed.
    ///
    /// # Errors
    /// When the store does not answer or refuses.
    pub async fn execute(self, db: impl Into<Db<'_>>) -> Result<u64, sqlx::Error> {
        let changed: Result<Changed, sqlx::Error> = carry_out!(self, db, execute);
        changed.map(|changed| changed.0)
    }

    /// All rows.
    ///
    /// # Errors
    /// When the store does not answer or refuses.
    pub async fn fetch_all(self, db: impl Into<Db<'_>>) -> Result<Vec<Row>, sqlx::Error> {
        let rows: Result<Rows, sqlx::Error> = carry_out!(self, db, fetch_all);
        rows.map(|rows| rows.0)
    }

    /// The first row, if there is one.
    ///
    /// # Errors
    /// When the store does not answer or refuses.
    pub async fn fetch_optional(self, db: impl Into<Db<'_>>) -> Result<Option<Row>, sqlx::Error> {
        let row: Result<MaybeRow, sqlx::Error> = carry_out!(self, db, fetch_optional);
        row.map(|row| row.0)
    }

    /// The first row.
    ///
    /// # Errors
    /// When there is none; when the store does not answer or refuses.
    pub async fn fetch_one(self, db: impl Into<Db<'_>>) -> Result<Row, sqlx::Error> {
        self.fetch_optional(db).await?.ok_or(sqlx::Error::RowNotFound)
    }

    /// The first column of each row.
    ///
    /// # Errors
    /// When the store does not answer or refuses, or the column is of another type.
    pub async fn scalars<T>(self, db: impl Into<Db<'_>>) -> Result<Vec<T>, sqlx::Error>
    where
        T: for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres>,
    {
        self.fetch_all(db).await?.iter().map(|row| row.try_get(0)).collect()
    }

    /// The first column of the first row, if there is one.
    ///
    /// # Errors
    /// When the store does not answer or refuses, or the column is of another type.
    pub async fn scalar_optional<T>(self, db: impl Into<Db<'_>>) -> Result<Option<T>, sqlx::Error>
    where
        T: for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres>,
    {
        self.fetch_optional(db).await?.map(|row| row.try_get(0)).transpose()
    }

    /// The first column of the first row.
    ///
    /// # Errors
    /// As [`Query::fetch_one`], and when the column is of another type.
    pub async fn scalar<T>(self, db: impl Into<Db<'_>>) -> Result<T, sqlx::Error>
    where
        T: for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres>,
    {
        self.fetch_one(db).await?.try_get(0)
    }
}
