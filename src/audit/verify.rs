//! Recomputes the chain of seals and says what does not fit.
//!
//! A row changed, taken away or put in after it was sealed is found, and so is a seal. What the chain itself cannot tell
//! is that its end was cut off: whoever kept an earlier head asks for it.

use std::collections::BTreeMap;
use std::fmt;

use super::rows;
use super::seal::{GENESIS, Seal, row_hash};
use crate::records::{self, Records};

/// So many seals are read at once.
const PAGE: i64 = 50;

/// What does not fit, the first of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong.
    pub fault: Fault,
    /// The row's number, or the seal's first one.
    pub row: i64,
    /// The numbers of the seal's first and last row, where a seal covers it.
    pub seal: Option<(i64, i64)>,
}

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The row is not what was sealed.
    Changed,
    /// The row is gone.
    Missing,
    /// The row was not there when its neighbours were sealed.
    Added,
    /// The seal is not what was stored.
    SealChanged,
    /// A seal before this one is gone, or this one was put in.
    ChainBroken,
    /// The chain does not hold the head that was asked for: its end is gone, or all of it was made anew.
    HeadMissing,
}

impl Fault {
    /// The code in the output.
    pub fn code(self) -> &'static str {
        match self {
            Self::Changed => "row_changed",
            Self::Missing => "row_missing",
            Self::Added => "row_added",
            Self::SealChanged => "seal_changed",
            Self::ChainBroken => "chain_broken",
            Self::HeadMissing => "head_missing",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.row;
        match self.fault {
            Fault::Changed => write!(f, "row {row} was changed after it was sealed"),
            Fault::Missing => write!(f, "row {row} is missing"),
            Fault::Added => write!(f, "row {row} was added after its neighbours were sealed"),
            Fault::SealChanged => write!(f, "the seal that begins with row {row} was changed"),
            Fault::ChainBroken => write!(f, "the seal before the one that begins with row {row} is missing or changed"),
            Fault::HeadMissing => write!(f, "no seal has the hash that was asked for: seals were removed or made anew"),
        }?;
        match self.seal {
            Some((first, last)) => write!(f, " (seal of rows {first} to {last})"),
            None => Ok(()),
        }
    }
}

/// What the chain says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Seals that fit, up to the first that does not.
    pub seals: u64,
    /// Rows that fit, as far.
    pub rows: u64,
    /// Rows that are not sealed yet.
    pub unsealed: i64,
    /// The hash of the last seal that fits.
    pub head: Option<String>,
    /// The first thing that does not fit.
    pub finding: Option<Finding>,
}

/// Recomputes the chain from its beginning; `expected` is a head that was noted down earlier.
///
/// # Errors
/// When the store does not answer.
pub async fn run(records: &Records, expected: Option<&str>) -> Result<Report, sqlx::Error> {
    let mut report = Report::default();
    let mut previous = GENESIS.to_owned();
    let mut last_id = 0_i64;
    let mut head_seen = expected.is_none();
    loop {
        let seals = page(records, last_id).await?;
        if seals.is_empty() {
            break;
        }
        for seal in seals {
            if let Some(finding) = check(records, &seal, &previous, last_id).await? {
                report.finding = Some(finding);
                return Ok(report);
            }
            head_seen |= expected.is_some_and(|hash| hash.eq_ignore_ascii_case(&seal.hash));
            report.seals += 1;
            report.rows += u64::try_from(seal.rows).unwrap_or(0);
            report.head = Some(seal.hash.clone());
            (previous, last_id) = (seal.hash, seal.last_id);
        }
    }
    if !head_seen {
        report.finding = Some(Finding { fault: Fault::HeadMissing, row: last_id, seal: None });
    }
    report.unsealed =
        records::query("SELECT count(*) FROM audit WHERE id > $1").bind(last_id).scalar(records.read()).await?;
    Ok(report)
}

async fn page(records: &Records, after: i64) -> Result<Vec<Seal>, sqlx::Error> {
    let rows = records::query(
        "SELECT first_id, last_id, rows, row_hashes, hash, previous, sealed_at FROM audit_seals
         WHERE last_id > $1 ORDER BY last_id LIMIT $2",
    )
    .bind(after)
    .bind(PAGE)
    .fetch_all(records.read())
    .await?;
    rows.iter().map(Seal::read).collect()
}

/// The first thing that does not fit in one seal and its rows.
async fn check(records: &Records, seal: &Seal, previous: &str, last_id: i64) -> Result<Option<Finding>, sqlx::Error> {
    let span = Some((seal.first_id, seal.last_id));
    let found = |fault, row| Ok(Some(Finding { fault, row, seal: span }));
    if seal.previous != previous || seal.first_id <= last_id || seal.last_id < seal.first_id {
        return found(Fault::ChainBroken, seal.first_id);
    }
    if seal.hash != seal.computed() {
        return found(Fault::SealChanged, seal.first_id);
    }
    let Some(sealed) = hashes(seal) else { return found(Fault::SealChanged, seal.first_id) };
    // One more than was sealed is enough to find what was added.
    let limit = u32::try_from(sealed.len() + 1).unwrap_or(u32::MAX);
    // Before the first seal there may be no row at all, whatever its number.
    let from = if last_id == 0 { i64::MIN } else { last_id + 1 };
    let rows = rows(records.read(), from, seal.last_id, limit).await?;
    let stored: BTreeMap<i64, String> = rows.iter().map(|row| (row.id, row_hash(row))).collect();
    let ids = sealed.keys().chain(stored.keys()).copied().collect::<std::collections::BTreeSet<i64>>();
    for id in ids {
        match (sealed.get(&id).copied(), stored.get(&id)) {
            (Some(then), Some(now)) if then == now => {}
            (Some(_), Some(_)) => return found(Fault::Changed, id),
            (Some(_), None) => return found(Fault::Missing, id),
            (None, _) => return found(Fault::Added, id),
        }
    }
    Ok(None)
}

/// The hash of each row by its number; `None` when the text or the count is not right.
fn hashes(seal: &Seal) -> Option<BTreeMap<i64, &str>> {
    let pairs = seal.row_hashes.split(',').map(|pair| {
        let (id, hash) = pair.split_once(':')?;
        Some((id.parse().ok()?, hash))
    });
    let all = pairs.collect::<Option<BTreeMap<i64, &str>>>()?;
    (i64::try_from(all.len()) == Ok(seal.rows)).then_some(all)
}
