//! Everybody at once at one sales server: each approval counts once, and every total is one that some order of the
//! writes gives.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sales_concierge::domain::{Write, Yen};
use serde_json::{Value, json};

use crate::harness::shop::{Engine, Over, Server, Shop, everywhere, pumpkins};
use crate::harness::today;

/// Calls at a time.
const MANY: i64 = 64;

/// What `summarize_sales` says of today: total and count.
async fn total(server: &Server, shop: &Shop, group_by: &str) -> (i64, i64) {
    let day = today().to_string();
    let args = json!({ "date_sales_begin_str": day, "date_sales_end_str": day, "group_by": group_by });
    let data = server.call(&shop.read("summarize_sales", args)).await.data();
    let number = |value: &Value| value.as_i64().expect("a number");
    let groups = data["groups"].as_array().expect("groups");
    let sum: i64 = groups.iter().map(|group| number(&group["total_price"])).sum();
    let count: i64 = groups.iter().map(|group| number(&group["count"])).sum();
    assert_eq!((sum, count), (number(&data["total_price"]), number(&data["count"])), "{group_by}");
    (sum, count)
}

/// The same from the rows alone.
async fn recount(shop: &Shop) -> (i64, i64) {
    let sum =
        "SELECT CAST(coalesce(sum(price), 0) AS bigint) FROM sales WHERE cancelled_at IS NULL AND origin = 'approval'";
    let count = "SELECT count(*) FROM sales WHERE cancelled_at IS NULL AND origin = 'approval'";
    (shop.number(sum).await, shop.number(count).await)
}

everywhere! {
    async fn i02_sixty_four_approvals_at_once_are_sixty_four_sales_and_each_of_them_one(over, engine) {
        let shop = Shop::open(engine).await;
        let server = Server::start(&shop, over, &[]).await;
        let before = total(&server, &shop, "total").await;
        let mut calls = Vec::new();
        for n in 0..MANY {
            let write = pumpkins(1_000 + n);
            let approval = shop.claimed(&format!("P{n}"), &write).await;
            calls.push((write, approval));
        }
        let made: Vec<_> = calls.iter().map(|(write, approval)| shop.write(write, approval)).collect();
        let replies = futures::future::join_all(made.iter().map(|call| server.call(call))).await;
        let numbers: BTreeSet<String> = replies.iter().map(crate::harness::shop::Reply::number).collect();
        assert_eq!(numbers.len(), made.len(), "each has a number of its own");
        assert!(replies.iter().all(|reply| reply.data().get("repeated").is_none()));
        let sold: i64 = (0..MANY).map(|n| 1_000 + n).sum();
        assert_eq!(recount(&shop).await, (sold, MANY));
        for unit in ["total", "day", "week", "month", "customer", "staff"] {
            assert_eq!(total(&server, &shop, unit).await, (before.0 + sold, before.1 + MANY), "{unit}");
        }

        let write = pumpkins(7);
        let approval = shop.claimed("one", &write).await;
        let made: Vec<_> = (0..MANY).map(|_| shop.write(&write, &approval)).collect();
        let replies = futures::future::join_all(made.iter().map(|call| server.call(call))).await;
        let numbers: BTreeSet<String> = replies.iter().map(crate::harness::shop::Reply::number).collect();
        let firsts = replies.iter().filter(|reply| reply.data().get("repeated").is_none()).count();
        assert_eq!((numbers.len(), firsts), (1, 1), "one wrote, the others were told what it wrote");
        assert_eq!(recount(&shop).await, (sold + 7, MANY + 1));
        let audited = "SELECT count(*) FROM audit WHERE event = 'sale_registered'";
        assert_eq!(shop.number(audited).await, MANY + 1);
    }
}

/// When something was asked for and when it was answered.
#[derive(Clone, Copy, Debug)]
struct Span(Instant, Instant);

/// What is known of one sale, whose price is a power of two: a total tells which sales are in it.
#[derive(Clone, Copy, Debug, Default)]
struct Life {
    added: Option<Span>,
    cancelled: Option<Span>,
}

/// One answer of a total.
#[derive(Debug)]
struct Look {
    asked: Span,
    total: i64,
    count: i64,
}

fn cancellation(number: &str, price: i64) -> Write {
    Write::CancelSale {
        code_sales: number.to_owned(),
        code_customer: "0002".into(),
        name_customer: "佐藤 花子".into(),
        department: "直販".into(),
        products: "かぼちゃ4個".into(),
        price: Yen(price),
        date_sales: today(),
        reason: "数量違い".into(),
    }
}

/// Whether some moment between question and answer may have had just these sales.
fn explains(look: &Look, lives: &[Life]) -> Result<(), String> {
    let Span(asked, answered) = look.asked;
    for (bit, life) in lives.iter().enumerate() {
        let is_in = look.total >> bit & 1 == 1;
        let never_added = life.added.is_none_or(|Span(begun, _)| begun > answered);
        let surely_added = life.added.is_some_and(|Span(_, done)| done < asked);
        let never_cancelled = life.cancelled.is_none_or(|Span(begun, _)| begun > answered);
        let surely_cancelled = life.cancelled.is_some_and(|Span(_, done)| done < asked);
        if is_in && (never_added || surely_cancelled) || !is_in && surely_added && never_cancelled {
            return Err(format!(
                "sale {bit} is {} in {look:?}, and its life is {life:?}",
                if is_in { "" } else { "not" }
            ));
        }
    }
    let wanted = i64::from(look.total.count_ones());
    if wanted == look.count { Ok(()) } else { Err(format!("{look:?} counts other sales than it adds up")) }
}

everywhere! {
    async fn every_total_amid_adds_and_cancels_is_one_that_some_order_of_them_gives(over, engine) {
        const SALES: usize = 36;
        const WRITERS: usize = 6;
        let shop = Arc::new(Shop::open(engine).await);
        // Only what this test sells.
        shop.execute("UPDATE sales SET sales_date = '2020-01-01'", &[]).await;
        let server = Arc::new(Server::start(&shop, over, &[]).await);
        assert_eq!(total(&server, &shop, "total").await, (0, 0));
        let (lives, looks) = (Arc::new(Mutex::new(vec![Life::default(); SALES])), Arc::new(Mutex::new(Vec::new())));
        let over = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = ["total", "day", "month", "customer"]
            .into_iter()
            .map(|unit| {
                let (shop, server, looks, over) =
                    (Arc::clone(&shop), Arc::clone(&server), Arc::clone(&looks), Arc::clone(&over));
                tokio::spawn(async move {
                    while !over.load(Ordering::SeqCst) {
                        let asked = Instant::now();
                        let (total, count) = total(&server, &shop, unit).await;
                        let asked = Span(asked, Instant::now());
                        looks.lock().expect("not poisoned").push(Look { asked, total, count });
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                })
            })
            .collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (shop, server, lives) = (Arc::clone(&shop), Arc::clone(&server), Arc::clone(&lives));
                tokio::spawn(async move {
                    for sale in (writer..SALES).step_by(WRITERS) {
                        let write = pumpkins(1 << sale);
                        let approval = shop.claimed(&format!("add{sale}"), &write).await;
                        let begun = Instant::now();
                        let number = server.call(&shop.write(&write, &approval)).await.number();
                        lives.lock().expect("not poisoned")[sale].added = Some(Span(begun, Instant::now()));
                        if sale % 3 == 0 {
                            continue;
                        }
                        let write = cancellation(&number, 1 << sale);
                        let approval = shop.claimed(&format!("cancel{sale}"), &write).await;
                        let begun = Instant::now();
                        assert_eq!(server.call(&shop.write(&write, &approval)).await.number(), number);
                        lives.lock().expect("not poisoned")[sale].cancelled = Some(Span(begun, Instant::now()));
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.expect("it wrote");
        }
        over.store(true, Ordering::SeqCst);
        for reader in readers {
            reader.await.expect("it read");
        }
        let lives = lives.lock().expect("not poisoned").clone();
        let looks = std::mem::take(&mut *looks.lock().expect("not poisoned"));
        let wrong: Vec<String> = looks.iter().filter_map(|look| explains(look, &lives).err()).collect();
        assert!(wrong.is_empty(), "{} of {}: {}", wrong.len(), looks.len(), wrong.join("\n"));
        let amid = looks.iter().filter(|look| look.total > 0).count();
        assert!(amid > 10, "{} looks, {amid} of them amid the writes", looks.len());
        let left: i64 = (0..SALES).filter(|sale| sale % 3 == 0).map(|sale| 1_i64 << sale).sum();
        for unit in ["total", "day", "week", "month", "customer", "staff"] {
            assert_eq!(total(&server, &shop, unit).await, (left, 12), "{unit}");
        }
        assert_eq!(recount(&shop).await, (left, 12));
    }
}
