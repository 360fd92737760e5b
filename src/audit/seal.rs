//! Seals the trail: a seal holds the hash of each row of its batch, and its own hash covers them and the seal before.
//!
//! Only rows are sealed before which no other can appear any more. Two processes may seal at once: the store takes one
//! seal after each other seal, and whoever comes second does nothing.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Stored, rows};
use crate::records::{self, Records, Row};

/// The hash that the first seal names as the one before it.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// At most this many rows in one seal.
const BATCH: u32 = 1_000;

/// A seal as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// The first row's number.
    pub first_id: i64,
    /// The last row's number.
    pub last_id: i64,
    /// How many rows.
    pub rows: i64,
    /// `number:hash` of each row, comma separated.
    pub row_hashes: String,
    /// Of all the above and below.
    pub hash: String,
    /// The hash of the seal before.
    pub previous: String,
    /// When, in milliseconds since the epoch.
    pub sealed_at: i64,
}

impl Seal {
    pub(super) fn read(row: &Row) -> Result<Self, sqlx::Error> {
        Ok(Self {
            first_id: row.try_get("first_id")?,
            last_id: row.try_get("last_id")?,
            rows: row.try_get("rows")?,
            row_hashes: row.try_get("row_hashes")?,
            hash: row.try_get("hash")?,
            previous: row.try_get("previous")?,
            sealed_at: row.try_get("sealed_at")?,
        })
    }

    /// The hash that the other fields give.
    pub fn computed(&self) -> String {
        hash(&json!({
            "first_id": self.first_id,
            "last_id": self.last_id,
            "previous": self.previous,
            "row_hashes": self.row_hashes,
            "rows": self.rows,
            "sealed_at": self.sealed_at,
        }))
    }
}

/// What one round of sealing found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sealed {
    /// The last seal's hash, if a seal was added.
    pub head: Option<String>,
    /// How many rows were sealed.
    pub rows: i64,
}

/// The SHA-256 of a row: of its canonical JSON (RFC 8785).
pub fn row_hash(row: &Stored) -> String {
    hash(&row.to_json())
}

fn hash(value: &Value) -> String {
    // Canonical JSON of numbers and text cannot fail; an empty one would not verify.
    hex::encode(Sha256::digest(serde_json_canonicalizer::to_vec(value).unwrap_or_default()))
}

/// The newest seal.
///
/// # Errors
/// When the store does not answer.
pub async fn head(records: &Records) -> Result<Option<Seal>, sqlx::Error> {
    let row = records::query(
        "SELECT first_id, last_id, rows, row_hashes, hash, previous, sealed_at FROM audit_seals
         ORDER BY last_id DESC LIMIT 1",
    )
    .fetch_optional(records.read())
    .await?;
    row.as_ref().map(Seal::read).transpose()
}

/// The newest seal's last row and hash: all that the next one needs, where the hashes of a thousand rows can be left.
async fn end(records: &Records) -> Result<Option<(i64, String)>, sqlx::Error> {
    let row = records::query("SELECT last_id, hash FROM audit_seals ORDER BY last_id DESC LIMIT 1")
        .fetch_optional(records.read())
        .await?;
    row.map(|row| Ok((row.try_get("last_id")?, row.try_get("hash")?))).transpose()
}

/// How long the oldest unsealed row has been waiting, in milliseconds; 0 when there is none.
///
/// # Errors
/// When the store does not answer.
pub async fn waiting_ms(records: &Records) -> Result<i64, sqlx::Error> {
    let waiting: Option<i64> = records::query(
        "SELECT now_ms() - at FROM audit WHERE id > (SELECT coalesce(max(last_id), 0) FROM audit_seals)
         ORDER BY id LIMIT 1",
    )
    .scalar_optional(records.read())
    .await?;
    Ok(waiting.unwrap_or(0).max(0))
}

/// Seals every row before which no other can appear any more.
///
/// # Errors
/// When the store does not answer, or rows that are being appended cannot be waited for; the next round seals them.
pub async fn run(records: &Records) -> Result<Sealed, sqlx::Error> {
    let mut sealed = Sealed::default();
    let mut last = end(records).await?;
    let sealed_up_to = last.as_ref().map_or(0, |(last_id, _)| *last_id);
    let newer = "SELECT id FROM audit WHERE id > $1 ORDER BY id LIMIT 1";
    if records::query(newer).bind(sealed_up_to).scalar_optional::<i64>(records.read()).await?.is_none() {
        return Ok(sealed);
    }
    let barrier = barrier(records).await?;
    loop {
        let (previous, from) =
            last.map_or((GENESIS.to_owned(), 1), |(last_id, hash)| (hash, last_id.saturating_add(1)));
        let batch = rows(records.read(), from, barrier, BATCH).await?;
        let (Some(first), Some(end)) = (batch.first(), batch.last()) else { return Ok(sealed) };
        let hashes: Vec<String> = batch.iter().map(|row| format!("{}:{}", row.id, row_hash(row))).collect();
        let mut seal = Seal {
            first_id: first.id,
            last_id: end.id,
            rows: i64::try_from(batch.len()).unwrap_or(i64::MAX),
            row_hashes: hashes.join(","),
            hash: String::new(),
            previous,
            sealed_at: records::now_ms(records.read()).await?,
        };
        seal.hash = seal.computed();
        if !store(records, &seal).await? {
            return Ok(sealed);
        }
        sealed = Sealed { head: Some(seal.hash.clone()), rows: sealed.rows + seal.rows };
        last = Some((seal.last_id, seal.hash));
    }
}

/// The newest row before which no other can appear any more. SQLite has one writer, so its numbers are in the order of
/// commits; PostgreSQL gives numbers before it commits, and its function waits for who may have one.
async fn barrier(records: &Records) -> Result<i64, sqlx::Error> {
    match records {
        Records::Sqlite(_) => records::query("SELECT coalesce(max(id), 0) FROM audit").scalar(records.read()).await,
        Records::Postgres(_) => records::query("SELECT audit_barrier()").scalar(records.quick()).await,
    }
}

/// `false`: another process has sealed these rows.
async fn store(records: &Records, seal: &Seal) -> Result<bool, sqlx::Error> {
    let added = records::query(
        "INSERT INTO audit_seals (first_id, last_id, rows, row_hashes, hash, previous, sealed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
    )
    .bind(seal.first_id)
    .bind(seal.last_id)
    .bind(seal.rows)
    .bind(&seal.row_hashes)
    .bind(&seal.hash)
    .bind(&seal.previous)
    .bind(seal.sealed_at)
    .execute(records.durable())
    .await?;
    Ok(added == 1)
}
