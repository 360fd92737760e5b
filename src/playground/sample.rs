//! The fictional farm ひなた農園: people, customers and sales that are never out of date.
//!
//! What it promises: whatever the day, "last week", "this week", "last month" and "this month" find sales of several
//! customers, customer 0009 has none last week, 0016 has none last week and none this month, and 0021 has none at all.
//! Each sale has a place relative to today (a weekday of some week, a day of some month); opening an old folder puts
//! every sample sale back in its place. A registered sale is never moved, nor a sample sale that somebody cancelled or
//! is about to cancel: a card has shown its date.

use chrono::{Datelike, Days, Months, NaiveDate, NaiveTime};
use chrono_tz::Tz;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::workspace::{Bot, Channel, Group, Seed, User};
use crate::domain::{Lang, Person, TeamId, UserId};
use crate::records::SqliteRecords;
use crate::sales::search_form;
use crate::words::page as words;

/// The farm's workspace.
pub const TEAM: &str = "T0HINATA";
/// The workspace of a market that shares a channel with the farm.
const MARKET: &str = "T0MIHON";

const CUSTOMERS: &str = include_str!("sample/customers.csv");
const PRODUCTS: &str = include_str!("sample/products.csv");
const STAFF: &str = include_str!("sample/staff.csv");

/// When the sales were first loaded (their numbers are of that day) and for which day they are dated now.
const LOADED: &str = "sample_loaded";
const DATED: &str = "sample_dated";

/// The lines of an embedded file, cut at commas. The files are ours: no quotes, a fixed number of fields.
fn rows<const N: usize>(csv: &'static str) -> impl Iterator<Item = [&'static str; N]> {
    csv.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        fields.try_into().ok()
    })
}

/// The people and channels of the farm's workspace.
pub fn seed() -> Seed {
    let team = TeamId::new(TEAM);
    let mut users: Vec<User> = rows::<8>(STAFF)
        .map(|[id, name, real_name, role, _, locale, zone, title]| User {
            locale: locale.into(),
            tz: zone.parse::<Tz>().ok(),
            is_restricted: role == "guest",
            ..User::new(&team, id, name, real_name).titled(title)
        })
        .collect();
    let bot = Bot {
        user: UserId::new("U0CONCIERGE"),
        bot_id: "B0CONCIERGE".into(),
        app_id: "A0CONCIERGE".into(),
        name: "concierge".into(),
        real_name: "Sales Concierge".into(),
    };
    let everybody: Vec<&str> = users.iter().map(|u| u.id.as_str()).chain([bot.user.as_str()]).collect();
    let direct: Vec<&str> = rows::<8>(STAFF)
        // Whoever lost the rights has left the team's channel.
        .filter(|[_, _, _, role, departments, ..]| departments.contains("直販") && *role != "revoked")
        .map(|[id, ..]| id)
        .chain([bot.user.as_str()])
        .collect();
    let mut channels =
        vec![Channel::public("C0HANBAI", "販売", &everybody), Channel::private("C0CHOKUHAN", "直販チーム", &direct)];
    // A channel shared with a market of another workspace: who of its people may do what is the bot's question.
    let market = User::new(&TeamId::new(MARKET), "U0OKUBO", "okubo", "大久保 実").titled("みほん青果市場（社外）");
    let shared = ["U0MORI", "U0KUDO", "U0NISHI", market.id.as_str(), bot.user.as_str()];
    channels.push(Channel::public("C0ICHIBA", "みほん市場連絡", &shared).shared());
    users.push(market);
    let group = |id: &str, handle: &str, name: &str, members: &[&str]| Group {
        id: id.into(),
        handle: handle.into(),
        name: name.into(),
        members: members.iter().map(|m| UserId::new(*m)).collect(),
    };
    let groups = vec![
        group("S0HANBAI", "hanbai", "販売担当", &["U0AOKI", "U0KUDO", "U0EMMA"]),
        group("S0MANAGER", "managers", "マネージャー", &["U0MORI", "U0LIAM"]),
    ];
    Seed { team, team_name: "ひなた農園".into(), users, channels, bot, groups }
}

/// Requests to try, in the person's language.
pub fn examples(lang: Lang) -> Vec<String> {
    vec![
        words::example_code(lang),
        words::example_last_week(lang),
        words::example_total(lang),
        words::example_register(lang),
        words::example_condition(lang),
    ]
}

/// Loads the sample data once, for `today` in the company's zone. A store that has it keeps its staff and customers as
/// they are now, and only its sales are re-dated. One transaction.
///
/// # Errors
/// When the store does not answer.
pub async fn load(records: &SqliteRecords, today: NaiveDate) -> Result<(), sqlx::Error> {
    let mut tx = records.begin_durable().await?;
    if fact(&mut tx, LOADED).await?.is_none() {
        insert(&mut tx, today).await?;
        set_fact(&mut tx, LOADED, today).await?;
        set_fact(&mut tx, DATED, today).await?;
    } else {
        move_sales(&mut tx, today).await?;
    }
    tx.commit().await
}

/// Puts the sample sales back in their places relative to `today`; nothing when they already are or were never loaded.
///
/// # Errors
/// When the store does not answer.
pub async fn redate(records: &SqliteRecords, today: NaiveDate) -> Result<(), sqlx::Error> {
    let mut tx = records.begin_durable().await?;
    move_sales(&mut tx, today).await?;
    tx.commit().await
}

async fn insert(tx: &mut SqliteConnection, today: NaiveDate) -> Result<(), sqlx::Error> {
    let staff: Vec<Value> = rows::<8>(STAFF)
        .filter(|[_, _, _, role, ..]| !matches!(*role, "guest" | "none"))
        .map(|[id, _, name, role, departments, ..]| {
            let departments = json!(departments.split(' ').collect::<Vec<_>>()).to_string();
            let (role, active) = if role == "revoked" { ("sales", 0) } else { (role, 1) };
            json!([TEAM, id, name, role, departments, active])
        })
        .collect();
    sqlx::query(
        "INSERT INTO staff (team, user, display_name, role, departments, active)
         SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 FROM json_each(?1) WHERE true
         ON CONFLICT DO NOTHING",
    )
    .bind(Value::from(staff).to_string())
    .execute(&mut *tx)
    .await?;
    let customers: Vec<Value> = rows::<5>(CUSTOMERS)
        .map(|[code, name, address, phone, department]| {
            json!([code, name, search_form(name), address, phone, department])
        })
        .collect();
    sqlx::query(
        "INSERT INTO customers (code_customer, name_customer, name_search, address, phone, department)
         SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 FROM json_each(?1) WHERE true
         ON CONFLICT DO NOTHING",
    )
    .bind(Value::from(customers).to_string())
    .execute(&mut *tx)
    .await?;
    let sales: Vec<Value> = sales(today)
        .iter()
        .map(|s| json!([s.code, s.customer, s.date, s.products, s.price, s.registered_by, s.registered_at]))
        .collect();
    sqlx::query(
        "INSERT INTO sales (code_sales, code_customer, sales_date, products, price, registered_by, origin, registered_at)
         SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, 'sample', value->>6
         FROM json_each(?1) WHERE true
         ON CONFLICT DO NOTHING",
    )
    .bind(Value::from(sales).to_string())
    .execute(&mut *tx)
    .await?;
    Ok(())
}

async fn move_sales(tx: &mut SqliteConnection, today: NaiveDate) -> Result<(), sqlx::Error> {
    let (Some(loaded), Some(dated)) = (fact(tx, LOADED).await?, fact(tx, DATED).await?) else { return Ok(()) };
    if dated == today {
        return Ok(());
    }
    // A sale keeps its number; its place in the list leads from the number of the first day to the date of today.
    let moved: Vec<Value> = sales(loaded)
        .into_iter()
        .zip(sales(today))
        .map(|(old, new)| json!([old.code, new.date, new.registered_at]))
        .collect();
    sqlx::query(
        "UPDATE sales SET sales_date = place.date, registered_at = place.at
         FROM (SELECT value->>0 AS code, value->>1 AS date, value->>2 AS at FROM json_each(?1)) AS place
         WHERE sales.code_sales = place.code AND sales.origin = 'sample' AND sales.cancelled_at IS NULL
           AND NOT EXISTS (SELECT 1 FROM proposals p
                           WHERE p.state IN ('pending', 'awaiting_manager', 'claimed') AND p.tool = 'cancel_sale'
                             AND p.write->>'code_sales' = sales.code_sales)",
    )
    .bind(Value::from(moved).to_string())
    .execute(&mut *tx)
    .await?;
    set_fact(tx, DATED, today).await
}

async fn fact(tx: &mut SqliteConnection, name: &str) -> Result<Option<NaiveDate>, sqlx::Error> {
    let value: Option<String> =
        sqlx::query_scalar("SELECT value FROM facts WHERE name = ?1").bind(name).fetch_optional(tx).await?;
    Ok(value.and_then(|v| v.parse().ok()))
}

async fn set_fact(tx: &mut SqliteConnection, name: &str, date: NaiveDate) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO facts (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    )
    .bind(name)
    .bind(date.to_string())
    .execute(tx)
    .await?;
    Ok(())
}

/// Where a sale stands relative to today. A place in the current week that lies ahead becomes today.
#[derive(Clone, Copy, Debug)]
enum Place {
    DaysAgo(u64),
    Week { ago: u64, day: u64 },
    Month { ago: u32, day: u32 },
}

impl Place {
    fn date(self, today: NaiveDate) -> NaiveDate {
        let date = match self {
            Self::DaysAgo(days) => today.checked_sub_days(Days::new(days)),
            Self::Week { ago, day } => {
                let monday = today.week(chrono::Weekday::Mon).first_day();
                monday.checked_sub_days(Days::new(7 * ago)).and_then(|d| d.checked_add_days(Days::new(day)))
            }
            Self::Month { ago, day } => today.checked_sub_months(Months::new(ago)).and_then(|d| d.with_day(day)),
        };
        date.unwrap_or(today).min(today)
    }
}

#[derive(Debug)]
struct Sale {
    code: String,
    customer: &'static str,
    date: String,
    products: String,
    price: u64,
    registered_by: String,
    registered_at: i64,
}

/// A number that looks random and is always the same (SplitMix64).
fn dice(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The places of one customer's sales.
fn places(code: &str, customer: u64) -> Vec<Place> {
    let weekly = |from: u64, to: u64| {
        (from..=to).filter_map(move |ago| {
            let die = dice(customer * 1000 + ago);
            (ago == from || !die.is_multiple_of(9)).then_some(Place::Week { ago, day: (die >> 8) % 7 })
        })
    };
    match code {
        "0021" => vec![],
        "0016" => (2..=5).flat_map(|ago| [5, 19].map(|day| Place::Month { ago, day })).collect(),
        "0009" => weekly(2, 13).chain([Place::DaysAgo(0)]).collect(),
        _ => {
            let mut all: Vec<Place> = weekly(1, 14).collect();
            if customer.is_multiple_of(2) {
                all.push(Place::Week { ago: 0, day: dice(customer) % 7 });
                all.push(Place::DaysAgo(0));
            } else {
                all.push(Place::DaysAgo(1));
            }
            all
        }
    }
}

/// All sample sales as they stand on `today`. Their order and number do not depend on the day.
fn sales(today: NaiveDate) -> Vec<Sale> {
    let goods: Vec<[&str; 3]> = rows(PRODUCTS).collect();
    let mut sales = Vec::with_capacity(320);
    for (customer, [code, _, _, _, department]) in (1_u64..).zip(rows::<5>(CUSTOMERS)) {
        for (nth, place) in (0_u64..).zip(places(code, customer)) {
            let die = dice(customer * 100_000 + nth);
            let wholesale = if department == "卸" { 10 } else { 1 };
            let mut products = String::new();
            let mut price = 0;
            for line in 0..1 + u64::from(die.is_multiple_of(4)) {
                let die = dice(die + line);
                let at = usize::try_from(die % 97).unwrap_or(0) % goods.len().max(1);
                let Some([name, unit, each]) = goods.get(at) else { continue };
                let quantity = (1 + (die >> 16) % 6) * wholesale;
                let separator = if products.is_empty() { "" } else { "、" };
                products.push_str(&format!("{separator}{name} {quantity}{unit}"));
                price += quantity * each.parse::<u64>().unwrap_or(0);
            }
            let staff = match (department, die >> 32 & 3) {
                ("直販", 0) => "U0EMMA",
                ("直販", _) => "U0AOKI",
                (_, 0) => "U0MORI",
                _ => "U0KUDO",
            };
            let date = place.date(today);
            // In the farm's morning, which is the previous evening in UTC at the earliest: always in the past.
            let minutes = u32::try_from((die >> 40) % 90).unwrap_or(0);
            let time = NaiveTime::from_num_seconds_from_midnight_opt(minutes * 60, 0).unwrap_or_default();
            let index = sales.len() + 1;
            sales.push(Sale {
                code: format!(
                    "S{}0{}-{index:03}",
                    date.format("%Y%m%d"),
                    60_000 + minutes / 60 * 10_000 + minutes % 60 * 100
                ),
                customer: code,
                date: date.to_string(),
                products,
                price,
                registered_by: Person::new(TEAM, staff).subject(),
                // 06:00 to 07:30 in Tokyo is 21:00 to 22:30 UTC of the day before.
                registered_at: (date.and_time(time).and_utc().timestamp() - 3 * 3600) * 1000,
            });
        }
    }
    sales
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::records::Records;

    fn day(s: &str) -> NaiveDate {
        s.parse().unwrap()
    }

    /// Over a year of days: month ends, a new year and a leap day among them.
    fn days() -> impl Iterator<Item = NaiveDate> {
        day("2027-12-01").iter_days().take(430)
    }

    fn customers_between(sales: &[Sale], from: NaiveDate, to: NaiveDate) -> BTreeSet<&'static str> {
        sales.iter().filter(|s| (from..=to).contains(&day(&s.date))).map(|s| s.customer).collect()
    }

    #[test]
    fn every_period_a_person_asks_for_finds_several_customers_on_any_day() {
        for today in days() {
            let sales = sales(today);
            let monday = today.week(chrono::Weekday::Mon).first_day();
            let first = today.with_day(1).unwrap();
            let last_month = first.pred_opt().unwrap();
            for (period, from, to) in [
                ("today", today, today),
                ("this week", monday, today),
                ("last week", monday - Days::new(7), monday - Days::new(1)),
                ("this month", first, today),
                ("last month", last_month.with_day(1).unwrap(), last_month),
            ] {
                let found = customers_between(&sales, from, to);
                assert!(found.len() >= 5, "{today} {period}: {found:?}");
                assert!(period == "today" || found.contains("0002"), "{today} {period}");
                assert!(!found.contains("0021"), "{today} {period}");
                assert!(period != "last week" || !(found.contains("0009") || found.contains("0016")), "{today}");
                assert!(period != "this month" || !found.contains("0016"), "{today}");
            }
            assert!(sales.iter().all(|s| day(&s.date) <= today), "{today}");
        }
    }

    #[test]
    fn the_number_and_order_of_the_sales_do_not_depend_on_the_day() {
        let reference: Vec<_> =
            sales(day("2027-01-01")).into_iter().map(|s| (s.customer, s.products, s.price)).collect();
        assert!((280..=340).contains(&reference.len()), "{}", reference.len());
        for today in days().step_by(13) {
            let same: Vec<_> = sales(today).into_iter().map(|s| (s.customer, s.products, s.price)).collect();
            assert_eq!(same, reference);
            let codes: BTreeSet<_> = sales(today).into_iter().map(|s| s.code).collect();
            assert_eq!(codes.len(), reference.len(), "numbers are unique");
        }
    }

    #[test]
    fn the_farm_has_the_people_and_customers_it_promises() {
        let seed = seed();
        assert_eq!(seed.users.len(), 12);
        assert_eq!(seed.users.iter().filter(|u| u.team_id != seed.team).count(), 1);
        assert!(seed.channels.iter().any(|c| c.is_ext_shared) && seed.channels.iter().any(|c| c.is_private));
        assert!(seed.groups.iter().flat_map(|g| &g.members).all(|m| seed.users.iter().any(|u| u.id == *m)));
        assert!(seed.users.iter().all(|u| u.tz.is_some() && !u.title.is_empty()));
        assert_eq!(seed.users.iter().filter(|u| u.is_restricted).count(), 1);
        let zones: BTreeSet<_> = seed.users.iter().filter_map(|u| u.tz).map(|z| z.name()).collect();
        assert_eq!(zones, BTreeSet::from(["America/Los_Angeles", "Asia/Tokyo", "Europe/London"]));
        let customers: Vec<_> = rows::<5>(CUSTOMERS).collect();
        assert_eq!(customers.len(), CUSTOMERS.lines().count());
        assert_eq!(customers.iter().filter(|[_, name, ..]| name.starts_with("佐藤")).count(), 2);
        assert_eq!(customers.iter().map(|[.., d]| *d).collect::<BTreeSet<_>>(), BTreeSet::from(["卸", "直販"]));
        assert!(customers.iter().all(|[_, _, a, p, _]| a.starts_with("架空市") && p.starts_with("000-0000-")));
        assert_eq!(rows::<3>(PRODUCTS).count(), PRODUCTS.lines().count());
        assert_eq!(rows::<8>(STAFF).count(), STAFF.lines().count());
    }

    async fn count(records: &SqliteRecords, sql: &str) -> i64 {
        sqlx::query_scalar(sqlx::AssertSqlSafe(sql.to_owned())).fetch_one(records.read()).await.unwrap()
    }

    #[tokio::test]
    async fn loading_twice_is_loading_once_and_a_removed_person_does_not_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records::open_file(&dir.path().join("records.db")).await.unwrap().sqlite().unwrap().clone();
        let today = day("2026-11-29");
        load(&records, today).await.unwrap();
        let sales = count(&records, "SELECT count(*) FROM sales WHERE origin = 'sample'").await;
        assert_eq!(sales, i64::try_from(super::sales(today).len()).unwrap());
        assert_eq!(count(&records, "SELECT count(*) FROM customers").await, 24);
        assert_eq!(count(&records, "SELECT count(*) FROM staff").await, 9);
        assert_eq!(count(&records, "SELECT count(*) FROM staff WHERE active = 0").await, 1);
        assert_eq!(count(&records, "SELECT count(DISTINCT role) FROM staff").await, 4);

        sqlx::query("DELETE FROM staff WHERE user = 'U0EMMA'").execute(records.durable()).await.unwrap();
        load(&records, today).await.unwrap();
        assert_eq!(count(&records, "SELECT count(*) FROM sales").await, sales);
        assert_eq!(count(&records, "SELECT count(*) FROM staff").await, 8);
    }

    #[tokio::test]
    async fn an_old_folder_is_redated_and_what_people_decided_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records::open_file(&dir.path().join("records.db")).await.unwrap().sqlite().unwrap().clone();
        let then = day("2026-11-29");
        load(&records, then).await.unwrap();
        let code: String = sqlx::query_scalar("SELECT code_sales FROM sales WHERE code_customer = '0002' LIMIT 1")
            .fetch_one(records.read())
            .await
            .unwrap();
        // A card about a sample sale waits, and a sale was registered by approval.
        for (id, tool, state, write) in [
            ("P1", "cancel_sale", "pending", json!({"tool": "cancel_sale", "code_sales": code})),
            ("P2", "add_sale", "claimed", json!({"tool": "add_sale"})),
        ] {
            sqlx::query(
                "INSERT INTO proposals (id, turn_id, round, call_index, origin_turn, team, channel, root, requester_team,
                     requester_user, lang, tool, write, digest, state, created_at, expires_at, claim_click, decided_user)
                 VALUES (?1, ?1, 0, 0, ?1, 'T', 'C', '1.1', 'T', 'U', 'ja', ?2, ?3, 'd', ?4, 0, 0, 'c', 'u')",
            )
            .bind(id)
            .bind(tool)
            .bind(write.to_string())
            .bind(state)
            .execute(records.durable())
            .await
            .unwrap();
        }
        sqlx::query(
            "INSERT INTO sales (code_sales, code_customer, sales_date, products, price, registered_by, origin, proposal_id,
                 digest, registered_at) VALUES ('S1', '0002', '2026-11-24', 'x', 1, 'slack:T:U', 'approval', 'P2', 'd', 5)",
        )
        .execute(records.durable())
        .await
        .unwrap();
        let kept = format!(
            "SELECT group_concat(code_sales || sales_date || registered_at) FROM sales
                            WHERE origin = 'approval' OR code_sales = '{code}'"
        );
        let read = |sql: String| {
            let records = records.clone();
            async move { sqlx::query_scalar::<_, String>(sqlx::AssertSqlSafe(sql)).fetch_one(records.read()).await.unwrap() }
        };
        let before = read(kept.clone()).await;

        let now = day("2027-03-02");
        redate(&records, now).await.unwrap();

        assert_eq!(read(kept).await, before);
        let expected = sales(now);
        let moved =
            count(&records, "SELECT count(*) FROM sales WHERE sales_date > '2026-11-29' AND origin = 'sample'").await;
        let due = expected.iter().filter(|s| day(&s.date) > then).count();
        assert!(moved >= i64::try_from(due).unwrap() - 1, "{moved} of {due}");
        assert_eq!(count(&records, "SELECT count(*) FROM sales WHERE sales_date > '2027-03-02'").await, 0);
        assert_eq!(count(&records, "SELECT count(*) FROM facts WHERE value = '2027-03-02'").await, 1);
    }
}
