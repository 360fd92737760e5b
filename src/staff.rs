//! Who a Slack person is here, right now.
//!
//! Rights are read from this table at each use and never cached beyond it, so that a revoked person's next write fails
//! at once. A record that is not `active` gives no right at all; callers check it.

use crate::domain::{Person, Role};
use crate::records::{self, Db, Row};

/// One member of staff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staff {
    /// The Slack person the record is for.
    pub person: Person,
    /// What colleagues call them.
    pub display_name: String,
    /// What they may do.
    pub role: Role,
    /// Whose rows they may see and change; see [`Staff::sees`].
    pub departments: Vec<String>,
    /// `false` once revoked: the record stays for the audit, the rights are gone.
    pub active: bool,
}

impl Staff {
    /// Whether rows of this department may be shown to them. An admin sees all of them. A revoked person sees none.
    pub fn sees(&self, department: &str) -> bool {
        self.active && (self.role == Role::Admin || self.departments.iter().any(|d| d == department))
    }
}

fn read(row: &Row) -> Result<Staff, sqlx::Error> {
    let who = Person::new(row.try_get::<String, _>("team")?, row.try_get::<String, _>("user")?);
    record(row, who)
}

fn record(row: &Row, person: Person) -> Result<Staff, sqlx::Error> {
    let role: String = row.try_get("role")?;
    let departments: String = row.try_get("departments")?;
    Ok(Staff {
        person,
        display_name: row.try_get("display_name")?,
        role: Role::from_code(&role).ok_or_else(|| sqlx::Error::Decode(format!("unknown role {role:?}").into()))?,
        departments: serde_json::from_str(&departments).map_err(|e| sqlx::Error::Decode(e.into()))?,
        active: row.try_get("active")?,
    })
}

/// The record of `who` in a row that was joined with it: `display_name`, `role`, `departments` and `active`.
///
/// # Errors
/// When it holds what this program did not write.
pub fn beside(row: &Row, who: &Person) -> Result<Option<Staff>, sqlx::Error> {
    match row.try_get::<Option<String>, _>("role")? {
        Some(_) => record(row, who.clone()).map(Some),
        None => Ok(None),
    }
}

/// The record of a person, active or not.
///
/// # Errors
/// When the store does not answer.
pub async fn find(db: impl Into<Db<'_>>, who: &Person) -> Result<Option<Staff>, sqlx::Error> {
    records::query(
        "SELECT team, \"user\", display_name, role, departments, active FROM staff WHERE team = $1 AND \"user\" = $2",
    )
    .bind(who.team.as_str())
    .bind(who.user.as_str())
    .fetch_optional(db)
    .await?
    .map(|row| read(&row))
    .transpose()
}

/// Adds or replaces a record.
///
/// # Errors
/// When the store does not answer.
pub async fn put(db: impl Into<Db<'_>>, staff: &Staff) -> Result<(), sqlx::Error> {
    records::query(
        "INSERT INTO staff (team, \"user\", display_name, role, departments, active) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (team, \"user\") DO UPDATE SET display_name = excluded.display_name, role = excluded.role,
             departments = excluded.departments, active = excluded.active",
    )
    .bind(staff.person.team.as_str())
    .bind(staff.person.user.as_str())
    .bind(&staff.display_name)
    .bind(staff.role.code())
    .bind(serde_json::to_string(&staff.departments).map_err(|e| sqlx::Error::Encode(e.into()))?)
    .bind(staff.active)
    .execute(db)
    .await?;
    Ok(())
}

/// All records, in the order of team and user.
///
/// # Errors
/// When the store does not answer.
pub async fn list(db: impl Into<Db<'_>>) -> Result<Vec<Staff>, sqlx::Error> {
    records::query("SELECT team, \"user\", display_name, role, departments, active FROM staff ORDER BY team, \"user\"")
        .fetch_all(db)
        .await?
        .iter()
        .map(read)
        .collect()
}

/// Revokes a person or gives the rights back. `false` when there is no such record.
///
/// # Errors
/// When the store does not answer.
pub async fn set_active(db: impl Into<Db<'_>>, who: &Person, active: bool) -> Result<bool, sqlx::Error> {
    let done = records::query("UPDATE staff SET active = $3 WHERE team = $1 AND \"user\" = $2")
        .bind(who.team.as_str())
        .bind(who.user.as_str())
        .bind(active)
        .execute(db)
        .await?;
    Ok(done > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::postgres::Group;
    use crate::records::testing::on_both_engines;

    fn hana(role: Role, active: bool) -> Staff {
        Staff {
            person: Person::new("T1", "U1"),
            display_name: "営業 はな".into(),
            role,
            departments: vec!["野菜".into()],
            active,
        }
    }

    on_both_engines! {
    async fn a_record_reads_back_as_it_was_put_and_is_replaced_by_the_next(engine) {
        let (_kept, records) = engine.open(Group::Owner).await;
        let mut tx = records.begin_durable().await.unwrap();
        put(&mut tx, &hana(Role::Sales, true)).await.unwrap();
        put(&mut tx, &hana(Role::Manager, true)).await.unwrap();
        tx.commit().await.unwrap();
        let who = Person::new("T1", "U1");
        assert_eq!(find(records.read(), &who).await.unwrap(), Some(hana(Role::Manager, true)));
        assert_eq!(find(records.read(), &Person::new("T2", "U1")).await.unwrap(), None, "the team is part of who");
        let mut tx = records.begin_durable().await.unwrap();
        assert!(set_active(&mut tx, &who, false).await.unwrap());
        assert!(!set_active(&mut tx, &Person::new("T1", "U2"), false).await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(list(records.read()).await.unwrap(), [hana(Role::Manager, false)]);
    }
    }

    #[test]
    fn a_department_is_seen_by_its_people_and_admins_while_they_are_active() {
        assert!(hana(Role::Sales, true).sees("野菜"));
        assert!(!hana(Role::Manager, true).sees("果物"));
        assert!(hana(Role::Admin, true).sees("果物"));
        assert!(!hana(Role::Admin, false).sees("野菜"));
    }
}
