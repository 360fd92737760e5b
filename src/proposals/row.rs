//! A proposal as its row holds it.

use crate::domain::{
    ChannelId, Grounds, Lang, MessageTs, Person, Proposal, ProposalId, ProposalState, TeamId, ThreadKey, TurnId, Write,
};
use crate::records::Row;

/// What [`read`] reads, by name: statements that asked for all columns would break in running programs when a migration
/// adds one.
macro_rules! columns {
    ($of:literal) => {
        concat!(
            $of,
            "id, ",
            $of,
            "turn_id, ",
            $of,
            "origin_turn, ",
            $of,
            "depth, ",
            $of,
            "team, ",
            $of,
            "channel, ",
            $of,
            "root, ",
            $of,
            "requester_team, ",
            $of,
            "requester_user, ",
            $of,
            "lang, ",
            $of,
            "write, ",
            $of,
            "grounds, ",
            $of,
            "digest, ",
            $of,
            "state, ",
            $of,
            "created_at, ",
            $of,
            "expires_at, ",
            $of,
            "decided_team, ",
            $of,
            "decided_user, ",
            $of,
            "result, ",
            $of,
            "failure, ",
            $of,
            "epoch, ",
            $of,
            "claim_click, ",
            $of,
            "trouble, ",
            $of,
            "tries"
        )
    };
}
pub(crate) use columns;

/// Of a row with [`columns`].
pub(super) fn read(row: &Row) -> Result<Proposal, sqlx::Error> {
    let text = |column: &str| row.try_get::<String, _>(column);
    let write: Write = serde_json::from_str(&text("write")?).map_err(|e| sqlx::Error::Decode(Box::new(e)))?;
    let result: Option<String> = row.try_get("result")?;
    let decided_by =
        match (row.try_get::<Option<String>, _>("decided_team")?, row.try_get::<Option<String>, _>("decided_user")?) {
            (Some(team), Some(user)) => Some(Person::new(team, user)),
            _ => None,
        };
    Ok(Proposal {
        id: ProposalId::new(text("id")?),
        thread: ThreadKey {
            team: TeamId::new(text("team")?),
            channel: ChannelId::new(text("channel")?),
            root: MessageTs::new(text("root")?),
        },
        requester: Person::new(text("requester_team")?, text("requester_user")?),
        lang: if text("lang")? == "ja" { Lang::Ja } else { Lang::En },
        turn: TurnId::new(text("turn_id")?),
        origin_turn: TurnId::new(text("origin_turn")?),
        depth: u32::try_from(row.try_get::<i64, _>("depth")?).map_err(|_| corrupt("depth"))?,
        write,
        grounds: grounds(&text("grounds")?),
        digest: text("digest")?,
        state: ProposalState::from_code(&text("state")?).ok_or_else(|| corrupt("state"))?,
        created_at: row.try_get("created_at")?,
        expires_at: row.try_get("expires_at")?,
        decided_by,
        result: result.map(|r| serde_json::from_str(&r)).transpose().map_err(|e| sqlx::Error::Decode(Box::new(e)))?,
        failure: row.try_get("failure")?,
    })
}

/// They explain a card and decide nothing: a form that another version wrote must not keep a press from being carried out.
fn grounds(stored: &str) -> Grounds {
    serde_json::from_str(stored).unwrap_or_else(|error| {
        tracing::warn!(%error, "where a card's values came from cannot be read");
        Grounds::default()
    })
}

pub(super) fn corrupt(column: &str) -> sqlx::Error {
    sqlx::Error::Decode(format!("proposals.{column} holds what this program did not write").into())
}
