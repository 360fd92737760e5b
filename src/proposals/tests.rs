//! The state machine one step at a time, and all of its interleavings.

use std::collections::{HashMap, HashSet, VecDeque};

use chrono::NaiveDate;

use super::*;
use crate::domain::{ChannelId, MessageTs, TeamId, Yen};
use crate::records::postgres::Group;
use crate::records::testing::on_both_engines;

const LEASE: Duration = Duration::from_secs(60);

fn me() -> Person {
    Person::new("T1", "U1")
}

fn new(call_index: u32) -> New {
    New {
        slot: Slot { turn: TurnId::new("turn"), round: 1, call_index, origin_turn: TurnId::new("turn"), depth: 0 },
        thread: ThreadKey { team: TeamId::new("T1"), channel: ChannelId::new("D1"), root: MessageTs::new("1.1") },
        requester: me(),
        lang: Lang::Ja,
        write: Write::AddSale {
            code_customer: "0001".to_owned(),
            name_customer: "見本 太郎".to_owned(),
            department: "直販".to_owned(),
            products: "かぼちゃ4個".to_owned(),
            price: Yen(600),
            date_sales: NaiveDate::from_ymd_opt(2026, 11, 30).unwrap(),
        },
        grounds: crate::domain::Grounds::default(),
        expiry: LEASE,
    }
}

/// A press on the card as it stands.
pub(crate) async fn claim(
    tx: &mut Tx,
    id: &ProposalId,
    click: &str,
    who: &Person,
    lease: Duration,
) -> Result<Claim, sqlx::Error> {
    let standing = stand(tx, id).await;
    crate::proposals::claim(tx, standing, click, who, lease).await
}

async fn stand(tx: &mut Tx, id: &ProposalId) -> Standing {
    let row = records::query(concat!("SELECT ", columns!(""), " FROM proposals WHERE id = $1")).bind(id.as_str());
    standing(&row.fetch_one(tx).await.unwrap()).unwrap().unwrap()
}

async fn run(tx: &mut Tx, sql: &'static str) {
    match tx {
        Tx::Sqlite(tx) => drop(sqlx::raw_sql(sql).execute(&mut **tx).await.unwrap()),
        Tx::Postgres(tx) => drop(sqlx::raw_sql(sql).execute(&mut **tx).await.unwrap()),
    }
}

on_both_engines! {
async fn k05_a_slot_holds_its_first_version_however_often_the_turn_is_run(engine) {
    let (_kept, records) = engine.open(Group::Bot).await;
    let mut tx = records.begin_durable().await.unwrap();
    let first = create(&mut tx, &new(0)).await.unwrap();
    let mut changed = new(0);
    if let Write::AddSale { price, .. } = &mut changed.write {
        *price = Yen(999);
    }
    assert_eq!(create(&mut tx, &changed).await.unwrap(), first);
    assert_ne!(create(&mut tx, &new(1)).await.unwrap().id, first.id);
    assert_eq!(first.id.as_str().len(), 27, "160 random bits");
}
}

on_both_engines! {
async fn where_values_came_from_in_a_form_that_is_not_known_keeps_no_press_from_being_carried_out(engine) {
    let (_kept, records) = engine.open(Group::Owner).await;
    let mut tx = records.begin_durable().await.unwrap();
    let proposal = create(&mut tx, &new(0)).await.unwrap();
    let unlock = match tx {
        Tx::Sqlite(_) => "DROP TRIGGER proposals_write_is_fixed",
        Tx::Postgres(_) => "DROP TRIGGER proposals_write_is_fixed ON proposals",
    };
    run(&mut tx, unlock).await;
    run(&mut tx, "UPDATE proposals SET grounds = '{\"date\":{\"from\":\"stars\"}}'").await;
    let read = find(&mut tx, &proposal.id).await.unwrap().unwrap();
    assert_eq!(read.grounds, crate::domain::Grounds::default());
    assert!(matches!(claim(&mut tx, &proposal.id, "c", &me(), LEASE).await.unwrap(), Claim::Claimed(_)));
}
}

on_both_engines! {
async fn i04_only_the_requester_of_that_very_workspace_can_claim_or_cancel(engine) {
    let (_kept, records) = engine.open(Group::Bot).await;
    let mut tx = records.begin_durable().await.unwrap();
    let proposal = create(&mut tx, &new(0)).await.unwrap();
    for stranger in [Person::new("T1", "U2"), Person::new("T2", "U1"), Person::new("", "U1"), Person::new("T1", "u1")] {
        assert!(matches!(claim(&mut tx, &proposal.id, "c", &stranger, LEASE).await.unwrap(), Claim::NotYours(_)));
        assert_eq!(cancel(&mut tx, &proposal.id, &stranger).await.unwrap(), None);
    }
    assert_eq!(find(&mut tx, &proposal.id).await.unwrap(), Some(proposal.clone()));
    assert!(matches!(claim(&mut tx, &proposal.id, "c", &me(), LEASE).await.unwrap(), Claim::Claimed(_)));
}
}

on_both_engines! {
async fn i05_a_newer_card_replaces_only_a_waiting_one_of_the_same_person_and_conversation(engine) {
    let (_kept, records) = engine.open(Group::Bot).await;
    let mut tx = records.begin_durable().await.unwrap();
    let old = create(&mut tx, &new(0)).await.unwrap();
    let by = create(&mut tx, &new(1)).await.unwrap();
    let mut elsewhere = by.clone();
    elsewhere.thread.root = MessageTs::new("2.2");
    let mut others = by.clone();
    others.requester = Person::new("T1", "U2");
    for not in [&elsewhere, &others] {
        assert_eq!(supersede(&mut tx, &old.id, not).await.unwrap(), None);
    }
    assert_eq!(supersede(&mut tx, &by.id, &by).await.unwrap(), None, "nothing replaces itself");
    assert!(supersede(&mut tx, &old.id, &by).await.unwrap().is_some());
    assert!(matches!(claim(&mut tx, &old.id, "c", &me(), LEASE).await.unwrap(), Claim::Superseded(_)));
    assert!(matches!(claim(&mut tx, &by.id, "c", &me(), LEASE).await.unwrap(), Claim::Claimed(_)));
    assert_eq!(supersede(&mut tx, &by.id, &old).await.unwrap(), None, "a claimed one is not replaced any more");
}
}

on_both_engines! {
async fn k17_an_executor_that_lost_its_claim_settles_nothing_and_gives_nothing_back(engine) {
    let (_kept, records) = engine.open(Group::Bot).await;
    let mut tx = records.begin_durable().await.unwrap();
    let proposal = create(&mut tx, &new(0)).await.unwrap();
    let Claim::Claimed(slow) = claim(&mut tx, &proposal.id, "c", &me(), Duration::ZERO).await.unwrap() else {
        unreachable!("nobody else claims")
    };
    let quick = take_over(&mut tx, &proposal.id, LEASE).await.unwrap().unwrap();
    assert!(!retry_after(&mut tx, &slow, "timeout", Duration::ZERO).await.unwrap());
    assert!(take_over(&mut tx, &proposal.id, LEASE).await.unwrap().is_none(), "the new lease still holds");
    let failed = Settlement::Failed("not_allowed".to_owned());
    assert_eq!(settle(&mut tx, &slow, &failed).await.unwrap(), None);
    let done = settle(&mut tx, &quick, &Settlement::Done(serde_json::json!({"code_sales": "S1"}))).await.unwrap();
    assert_eq!(done.unwrap().state, ProposalState::Done);
    assert_eq!(settle(&mut tx, &quick, &failed).await.unwrap(), None, "settled once");
}
}

on_both_engines! {
async fn k14_a_press_that_read_a_waiting_card_is_told_what_became_of_it_meanwhile(engine) {
    let (_kept, records) = engine.open(Group::Bot).await;
    let mut tx = records.begin_durable().await.unwrap();
    for (n, expected) in ["already", "expired", "superseded", "running"].into_iter().enumerate() {
        let card = create(&mut tx, &new(10 * n as u32)).await.unwrap();
        let as_read = stand(&mut tx, &card.id).await;
        assert_eq!(as_read.proposal.state, ProposalState::Pending);
        match expected {
            "already" => drop(cancel(&mut tx, &card.id, &me()).await.unwrap().unwrap()),
            "expired" => drop(withdraw(&mut tx, &card.id).await.unwrap().unwrap()),
            "superseded" => {
                let newer = create(&mut tx, &new(10 * n as u32 + 1)).await.unwrap();
                assert!(supersede(&mut tx, &card.id, &newer).await.unwrap().is_some());
            }
            _ => assert!(matches!(claim(&mut tx, &card.id, "c", &me(), LEASE).await.unwrap(), Claim::Claimed(_))),
        }
        let told = match crate::proposals::claim(&mut tx, as_read, "c", &me(), LEASE).await.unwrap() {
            Claim::AlreadyDecided(p) if p.state == ProposalState::Cancelled => "already",
            Claim::Expired(_) => "expired",
            Claim::Superseded(_) => "superseded",
            Claim::Running => "running",
            other => unreachable!("{other:?}"),
        };
        assert_eq!(told, expected);
    }
}
}

on_both_engines! {
async fn the_reason_of_an_unknown_outcome_is_counted_until_it_changes(engine) {
    let (_kept, records) = engine.open(Group::Bot).await;
    let mut tx = records.begin_durable().await.unwrap();
    let proposal = create(&mut tx, &new(0)).await.unwrap();
    let Claim::Claimed(mut claimed) = claim(&mut tx, &proposal.id, "c", &me(), LEASE).await.unwrap() else {
        unreachable!("nobody else claims")
    };
    for (trouble, tries) in [("timeout", 1), ("timeout", 2), ("approval_invalid", 1), ("timeout", 1)] {
        assert_eq!(claimed.tries(trouble), tries);
        assert!(retry_after(&mut tx, &claimed, trouble, Duration::ZERO).await.unwrap());
        *claimed = take_over(&mut tx, &proposal.id, LEASE).await.unwrap().unwrap();
    }
    tx.commit().await.unwrap();
    let waiting = unfinished(&records).await.unwrap();
    assert_eq!((waiting.writes, waiting.trouble.as_deref()), (1, Some("timeout")));
}
}

on_both_engines! {
async fn i03_what_a_card_showed_cannot_be_changed(engine) {
    let (_kept, records) = engine.open(Group::Owner).await;
    let mut tx = records.begin_durable().await.unwrap();
    create(&mut tx, &new(0)).await.unwrap();
    tx.commit().await.unwrap();
    for sql in [
        "UPDATE proposals SET write = '{}'",
        "UPDATE proposals SET digest = ''",
        "UPDATE proposals SET requester_user = 'U2'",
        "UPDATE proposals SET tool = 'cancel_sale'",
    ] {
        let mut tx = records.begin_durable().await.unwrap();
        assert!(records::query(sql).execute(&mut tx).await.is_err(), "{sql}");
    }
}
}

/// One moment of a proposal's life with two executors about it. Epochs are kept as "the current one or not": that is
/// all they are compared for, and it makes the number of moments finite.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Moment {
    state: ProposalState,
    /// The press it was claimed for.
    click: Option<&'static str>,
    leased: bool,
    /// Its time is over.
    overdue: bool,
    /// The sale is in the books.
    sold: bool,
    /// The sales server refuses from now on: the customer is gone, or the rights are. That is taken to last.
    refusing: bool,
    executors: [Option<Executor>; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Executor {
    current: bool,
    heard: Heard,
}

/// What an executor has heard from the sales server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Heard {
    Nothing,
    Written,
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Confirm(usize, &'static str),
    TakeOver(usize),
    /// The sales server gets the call; the answer may be lost on its way.
    Call(usize, bool),
    Settle(usize),
    Die(usize),
    Cancel,
    Expire,
    Supersede,
    LeaseEnds,
    TimeIsOver,
    ServerRefuses,
}

fn steps(m: &Moment) -> Vec<Step> {
    let mut steps = vec![Step::Cancel, Step::Expire, Step::Supersede];
    if m.leased {
        steps.push(Step::LeaseEnds);
    }
    // Once decided, the clock and the customer matter no more or are covered by the other order.
    if m.state == ProposalState::Pending && !m.overdue {
        steps.push(Step::TimeIsOver);
    }
    if !m.refusing {
        steps.push(Step::ServerRefuses);
    }
    for (n, executor) in m.executors.iter().enumerate() {
        match executor {
            None => steps.extend([Step::Confirm(n, "a"), Step::Confirm(n, "b"), Step::TakeOver(n)]),
            Some(e) if e.heard == Heard::Nothing => {
                steps.extend([Step::Call(n, true), Step::Call(n, false), Step::Die(n)])
            }
            Some(_) => steps.extend([Step::Settle(n), Step::Die(n)]),
        }
    }
    steps
}

/// The real functions on a real file, put into one moment, moved by one step and looked at again.
struct Bench {
    records: Records,
    id: ProposalId,
    other: Proposal,
}

impl Bench {
    async fn after(&self, before: &Moment, step: Step) -> Moment {
        let mut tx = self.records.begin_durable().await.unwrap();
        let mut held = self.put(&mut tx, before).await;
        let mut m = before.clone();
        match step {
            Step::Confirm(n, click) => {
                if let Claim::Claimed(claimed) = claim(&mut tx, &self.id, click, &me(), LEASE).await.unwrap() {
                    held[n] = Some(*claimed);
                    m.executors[n] = Some(Executor { current: true, heard: Heard::Nothing });
                }
            }
            Step::TakeOver(n) => {
                if let Some(claimed) = take_over(&mut tx, &self.id, LEASE).await.unwrap() {
                    held[n] = Some(claimed);
                    m.executors[n] = Some(Executor { current: true, heard: Heard::Nothing });
                }
            }
            Step::Call(n, answered) => {
                let heard = self.call(&mut tx, before.refusing).await;
                match (&mut m.executors[n], heard) {
                    (Some(executor), Some(heard)) if answered => executor.heard = heard,
                    // An unknown outcome: the lease is given back and somebody else drives on.
                    (executor, _) => {
                        retry_after(&mut tx, held[n].as_ref().unwrap(), "timeout", Duration::ZERO).await.unwrap();
                        *executor = None;
                    }
                }
            }
            Step::Settle(n) => {
                let heard = before.executors[n].map(|e| e.heard);
                let settlement = match heard {
                    Some(Heard::Written) => Settlement::Done(Value::Null),
                    _ => Settlement::Failed("not_allowed".to_owned()),
                };
                settle(&mut tx, held[n].as_ref().unwrap(), &settlement).await.unwrap();
                m.executors[n] = None;
            }
            Step::Die(n) => m.executors[n] = None,
            Step::Cancel => drop(cancel(&mut tx, &self.id, &me()).await.unwrap()),
            Step::Expire => drop(expire(&mut tx, &self.id).await.unwrap()),
            Step::Supersede => drop(supersede(&mut tx, &self.id, &self.other).await.unwrap()),
            Step::LeaseEnds => run(&mut tx, "UPDATE proposals SET claim_until = 0").await,
            Step::TimeIsOver => run(&mut tx, "UPDATE proposals SET expires_at = 0").await,
            Step::ServerRefuses => m.refusing = true,
        }
        let row = records::query(
            "SELECT *, (SELECT count(*) FROM sales) AS sales, claim_until > 0 AND state = 'claimed'
                AND claim_until > now_ms() AS leased FROM proposals WHERE id = $1",
        )
        .bind(self.id.as_str())
        .fetch_one(&mut tx)
        .await
        .unwrap();
        let epoch: i64 = row.try_get("epoch").unwrap();
        for (executor, held) in m.executors.iter_mut().zip(&held) {
            if let (Some(executor), Some(held)) = (executor, held) {
                executor.current = held.epoch == epoch;
            }
        }
        let sales: i64 = row.try_get("sales").unwrap();
        assert!(sales <= 1, "{before:?} {step:?}");
        m.sold = sales == 1;
        m.state = read(&row).unwrap().state;
        m.leased = row.try_get("leased").unwrap();
        m.click = row.try_get::<Option<String>, _>("claim_click").unwrap().map(|c| if c == "a" { "a" } else { "b" });
        m.overdue = m.state == ProposalState::Pending && row.try_get::<i64, _>("expires_at").unwrap() == 0;
        drop(tx);
        m
    }

    /// The sales server's part, down to the trigger that guards the table. `None`: it says neither yes nor no.
    async fn call(&self, tx: &mut Tx, refusing: bool) -> Option<Heard> {
        let sold: i64 = records::query("SELECT count(*) FROM sales").scalar(&mut *tx).await.unwrap();
        if sold > 0 {
            return Some(Heard::Written);
        }
        let state = find(&mut *tx, &self.id).await.unwrap().unwrap().state;
        if state != ProposalState::Claimed {
            return None;
        }
        if refusing {
            return Some(Heard::Refused);
        }
        sell(tx).await;
        Some(Heard::Written)
    }

    async fn put(&self, tx: &mut Tx, m: &Moment) -> [Option<ClaimedProposal>; 2] {
        if m.sold {
            run(tx, "UPDATE proposals SET state = 'claimed', claim_click = 'a', decided_team = 'T1', decided_user = 'U1' WHERE call_index = 0").await;
            sell(tx).await;
        }
        records::query(
            "UPDATE proposals SET state = $2, claim_click = $3, claim_until = $4, epoch = 5, decided_team = $5,
                decided_user = $6, expires_at = CASE WHEN $7 THEN 0 ELSE expires_at END WHERE id = $1",
        )
        .bind(self.id.as_str())
        .bind(m.state.code())
        .bind(m.click)
        .bind(if m.leased { i64::MAX } else { 0 })
        .bind(m.click.map(|_| "T1"))
        .bind(m.click.map(|_| "U1"))
        .bind(m.overdue)
        .execute(&mut *tx)
        .await
        .unwrap();
        let proposal = find(&mut *tx, &self.id).await.unwrap().unwrap();
        let hold = |executor: &Option<Executor>| {
            executor.as_ref().map(|e| ClaimedProposal {
                proposal: proposal.clone(),
                approver: me(),
                epoch: if e.current { 5 } else { 4 },
                click: "a".to_owned(),
                requester_name: None,
                trouble: None,
                tries: 0,
            })
        };
        [hold(&m.executors[0]), hold(&m.executors[1])]
    }
}

async fn sell(tx: &mut Tx) {
    let sql = match tx {
        Tx::Sqlite(_) => {
            "INSERT INTO sales (code_sales, code_customer, sales_date, products, price, registered_by, origin,
                 proposal_id, digest, registered_at)
             SELECT 'S1', '0001', '2026-11-30', 'x', 600, 'slack:T1:U1', 'approval', id, digest, 0
             FROM proposals WHERE call_index = 0"
        }
        Tx::Postgres(_) => {
            "INSERT INTO sales (code_sales, code_customer, department, sales_date, products, price, registered_by, origin,
                 proposal_id, digest, registered_at)
             SELECT 'S1', '0001', '直販', '2026-11-30', 'x', 600, 'slack:T1:U1', 'approval', id, digest, 0
             FROM proposals WHERE call_index = 0"
        }
    };
    run(tx, sql).await;
}

fn check(before: &Moment, step: Step, after: &Moment) {
    use ProposalState::{Cancelled, Claimed, Done, Expired, Failed, Pending, Superseded};
    let said = format!("{before:?}\n{step:?}\n{after:?}");
    match after.state {
        Pending | Cancelled | Expired | Superseded | Failed => assert!(!after.sold, "a sale without approval: {said}"),
        Done => assert!(after.sold, "done without a sale: {said}"),
        Claimed => {}
        other => unreachable!("{other:?} belongs to amount limits: {said}"),
    }
    assert!(!before.sold || after.sold, "a sale is gone: {said}");
    if before.state.is_final() {
        assert_eq!((before.state, before.click), (after.state, after.click), "a decided one was changed: {said}");
    }
    if before.state == Claimed {
        assert!(matches!(after.state, Claimed | Done | Failed), "a claim was taken back: {said}");
        assert_eq!(before.click, after.click, "the press behind a claim was changed: {said}");
    }
    if (before.state, after.state) == (Pending, Claimed) {
        assert!(matches!(step, Step::Confirm(..)) && !before.overdue, "claimed by no press in time: {said}");
    }
    let current = after.executors.iter().flatten().filter(|e| e.current).count();
    assert!(current <= 1, "two executors believe that the claim is theirs: {said}");
}

on_both_engines! {
async fn i01_i02_i05_k17_no_interleaving_of_two_executors_breaks_the_state_machine(engine) {
    let (_kept, records) = engine.open(Group::Owner).await;
    let mut tx = records.begin_durable().await.unwrap();
    let customer = match tx {
        Tx::Sqlite(_) => "INSERT INTO customers VALUES ('0001', '見本 太郎', '', '', '', '直販')",
        Tx::Postgres(_) => {
            "INSERT INTO customers (code_customer, name_customer, address, phone, department)
             VALUES ('0001', '見本 太郎', '', '', '直販')"
        }
    };
    run(&mut tx, customer).await;
    let id = create(&mut tx, &new(0)).await.unwrap().id;
    let other = create(&mut tx, &new(1)).await.unwrap();
    tx.commit().await.unwrap();
    let bench = Bench { records, id, other };

    let first = Moment {
        state: ProposalState::Pending,
        click: None,
        leased: false,
        overdue: false,
        sold: false,
        refusing: false,
        executors: [None, None],
    };
    let mut seen = HashSet::from([first.clone()]);
    let mut next = VecDeque::from([first]);
    let mut back: HashMap<Moment, Vec<Moment>> = HashMap::new();
    while let Some(before) = next.pop_front() {
        for step in steps(&before) {
            let after = bench.after(&before, step).await;
            check(&before, step, &after);
            if seen.insert(after.clone()) {
                next.push_back(after.clone());
            }
            back.entry(after).or_default().push(before.clone());
        }
    }
    let states: HashSet<&str> = seen.iter().map(|m| m.state.code()).collect();
    assert_eq!(states.len(), 7, "every state is reached: {states:?}");

    // Nothing is stuck: from every moment some way leads to an end.
    let mut ends: HashSet<Moment> = seen.iter().filter(|m| m.state.is_final()).cloned().collect();
    let mut queue: Vec<Moment> = ends.iter().cloned().collect();
    while let Some(moment) = queue.pop() {
        for before in back.get(&moment).into_iter().flatten() {
            if ends.insert(before.clone()) {
                queue.push(before.clone());
            }
        }
    }
    let stuck: Vec<&Moment> = seen.iter().filter(|m| !ends.contains(m)).collect();
    assert!(stuck.is_empty(), "no way out of {stuck:#?}");
    assert!(seen.len() > 100, "only {} moments", seen.len());
}
}
