use serde_json::json;

use super::*;
use crate::agent::tests::asker;
use crate::domain::{Person, Role};

fn user(text: &str) -> Item {
    Item::User { person: Person::new("T1", "U1"), name: "Hana".into(), text: text.into() }
}

/// On Sunday 2026-11-29.
fn heard(text: &str) -> Heard {
    Heard::of(&asker(Role::Sales), &[user(text)], None, &[])
}

fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: "c".into(), name: name.into(), arguments: arguments.as_object().cloned().unwrap() }
}

fn period(begin: &str, end: &str) -> ToolCall {
    call("get_sales", json!({"code_customer": "0002", "date_sales_begin_str": begin, "date_sales_end_str": end}))
}

fn sale(day: &str, price: i64) -> ToolCall {
    call("add_sale", json!({"code_customer": "0016", "products": "かぼちゃ", "price": price, "date_sales_str": day}))
}

fn objects(text: &str, call: &ToolCall) -> bool {
    heard(text).objection(call, &BTreeSet::new()).is_some()
}

#[test]
fn a_period_that_the_words_do_not_say_is_objected_to() {
    for (text, begin, end, fits) in [
        ("0002の先週の売上は？", "2026-11-16", "2026-11-22", true),
        // A week that begins on Sunday, and one that is too short.
        ("0002の先週の売上は？", "2026-11-15", "2026-11-21", false),
        ("0002の先週の売上は？", "2026-11-16", "2026-11-20", false),
        ("0002の先月と今月の合計", "2026-10-01", "2026-11-30", true),
        ("0002の先月と今月の合計", "2026-10-01", "2026-11-29", true),
        ("0002の先月と今月の合計", "2026-10-01", "2026-10-31", true),
        ("0002の先月と今月の合計", "2026-09-01", "2026-10-31", false),
        ("今月の売上", "2026-11-01", "2026-11-29", true),
        ("今月の売上", "2026-11-01", "2026-11-28", false),
        ("sales of 0002 yesterday", "2026-11-28", "2026-11-28", true),
        ("sales of 0002 yesterday", "2026-11-27", "2026-11-28", false),
        ("今年の売上を月ごとに", "2026-03-01", "2026-03-31", true),
        ("今年の売上を月ごとに", "2026-03-02", "2026-03-31", false),
        // Nothing said: the model may choose.
        ("0002の売上は？", "2026-01-01", "2026-11-29", true),
    ] {
        assert_eq!(objects(text, &period(begin, end)), !fits, "{text}: {begin} to {end}");
    }
}

#[test]
fn an_open_end_fits_a_period_that_is_not_over() {
    let from = |begin| call("get_sales", json!({"code_customer": "0002", "date_sales_begin_str": begin}));
    assert!(!objects("今月の売上", &from("2026-11-01")));
    assert!(objects("先月の売上", &from("2026-10-01")));
}

#[test]
fn a_sale_on_a_day_or_for_an_amount_that_the_words_do_not_say_is_objected_to() {
    for (text, day, price, fits) in [
        ("0016に先週の火曜日かぼちゃ4個600円で登録", "2026-11-17", 600, true),
        ("0016に先週の火曜日かぼちゃ4個600円で登録", "2026-11-24", 600, false),
        ("0016に先週の火曜日かぼちゃ4個600円で登録", "2026-11-17", 6000, false),
        ("0016に昨日かぼちゃ3万5千円で登録", "2026-11-28", 35_000, true),
        ("0016に昨日かぼちゃ3万5千円で登録", "2026-11-28", 3_500, false),
        // A product of what was said, and a sum.
        ("0016に昨日かぼちゃ4個を150円で", "2026-11-28", 600, true),
        ("0016に昨日かぼちゃ400円とトマト200円", "2026-11-28", 600, true),
        ("0016に昨日600円のかぼちゃを4個と200円のトマトを3箱", "2026-11-28", 3_000, true),
        ("0016に昨日600円のかぼちゃを4個と200円のトマトを3箱", "2026-11-28", 3_100, false),
        // Today is what a sale without a day means, whatever period another part of the request names.
        ("先月の合計を教えて。あと0016にかぼちゃ600円を登録して", "2026-11-29", 600, true),
        ("0016に2月30日かぼちゃ600円で登録", "2026-02-28", 600, false),
    ] {
        assert_eq!(objects(text, &sale(day, price)), !fits, "{text}: {day}, {price}");
    }
    let undated = call("add_sale", json!({"code_customer": "0016", "products": "かぼちゃ", "price": 600}));
    assert!(objects("0016に昨日かぼちゃ600円で登録", &undated), "left out, it would be today's");
    assert!(!objects("0016にかぼちゃ600円で登録", &undated));
}

#[test]
fn what_another_call_took_up_is_not_missed_by_this_one() {
    let heard = heard("先週の売上を、去年の同じ週とくらべて");
    let met = heard.met(&period("2026-11-16", "2026-11-22"));
    assert_eq!(heard.objection(&period("2025-11-17", "2025-11-23"), &met), None);
}

#[test]
fn only_the_askers_own_words_are_heard() {
    let other = Item::User { person: Person::new("T1", "U2"), name: "Other".into(), text: "先月".into() };
    let heard = Heard::of(&asker(Role::Sales), &[other], None, &[]);
    assert_eq!((heard.hints(), heard.objection(&period("2026-01-01", "2026-01-31"), &BTreeSet::new())), (None, None));
}

fn day(day: &str) -> Days {
    let day = Some(day.parse().unwrap());
    Days { start: day, end: day }
}

fn grounds(heard: &Heard, day: &str, price: i64) -> Grounds {
    let write = Write::AddSale {
        code_customer: "0016".into(),
        name_customer: "青空食堂".into(),
        department: "east".into(),
        products: "かぼちゃ".into(),
        price: Yen(price),
        date_sales: day.parse().unwrap(),
    };
    heard.grounds(&write, &BTreeSet::new())
}

#[test]
fn each_value_of_a_sale_has_its_ground() {
    let words = |w: &str| Ground::Words { words: w.into(), also: Vec::new() };
    let told = heard("0016に先週の火曜日かぼちゃ4個を3万5千円（税抜）で登録");
    let g = grounds(&told, "2026-11-17", 35_000);
    assert_eq!(g.date, Some(words("先週の火曜日")));
    assert_eq!(g.price, Some(Ground::Words { words: "3万5千円".into(), also: Vec::new() }));
    let g = grounds(&told, "2026-11-24", 3_500);
    assert_eq!(g.date, Some(Ground::Differs { words: "先週の火曜日".into(), says: vec![day("2026-11-17")] }));
    assert_eq!(g.price, Some(Ground::Differs { words: "3万5千円".into(), says: vec![Yen(35_000)] }));

    let bare = heard("0016にかぼちゃ4個600円で登録");
    assert_eq!(
        grounds(&bare, "2026-11-29", 600),
        Grounds { date: Some(Ground::Default { not: None }), price: None, tax: None }
    );
    assert_eq!(grounds(&bare, "2026-11-20", 600).date, Some(Ground::Unsaid));
    assert_eq!(grounds(&heard("0016にかぼちゃを登録"), "2026-11-29", 600).price, Some(Ground::Unsaid));

    assert_eq!(grounds(&heard("登録 0016 かぼちゃ4個 ６００"), "2026-11-29", 600).price, None, "a number is there");
    assert_eq!(
        grounds(&heard("登録 0016 かぼちゃ4個"), "2026-11-29", 16).price,
        Some(Ground::Unsaid),
        "a code is no amount"
    );

    let other = heard("0016にかぼちゃ600円を登録して、今月の合計も教えて");
    assert_eq!(grounds(&other, "2026-11-29", 600).date, Some(Ground::Default { not: None }));
    let ambiguous = grounds(&heard("0016に12/3かぼちゃ600円"), "2025-12-03", 600);
    assert_eq!(ambiguous.date, Some(Ground::Words { words: "12/3".into(), also: vec![day("2026-12-03")] }));
    let part = grounds(&heard("0016に先週かぼちゃ600円"), "2026-11-18", 600);
    assert_eq!(part.date, Some(Ground::Part { words: "先週".into() }));
}

#[test]
fn words_of_an_earlier_message_ground_a_sale_but_raise_no_objection() {
    let earlier = [user("0016に先週の火曜日かぼちゃ150円で4個登録して")];
    let heard = Heard::of(&asker(Role::Sales), &[user("上の方です")], None, &earlier);
    assert_eq!(heard.objection(&sale("2026-11-25", 700), &BTreeSet::new()), None);
    let g = grounds(&heard, "2026-11-17", 600);
    assert_eq!(g.date, Some(Ground::Words { words: "先週の火曜日".into(), also: Vec::new() }));
    assert_eq!(g.price, Some(Ground::Words { words: "150円 × 4個".into(), also: Vec::new() }));
}

#[test]
fn a_period_under_an_answer_says_whose_words_it_came_from() {
    let told = heard("0002の先週の売上は？");
    let spoken = |heard: &Heard, begin, end| heard.spoken(&period(begin, end), &BTreeSet::new());
    assert_eq!(
        spoken(&told, "2026-11-16", "2026-11-22"),
        Some(Spoken { words: vec!["先週".into()], instead: None, is_part: false })
    );
    let week = Reading::Range("2026-11-16".parse().unwrap(), "2026-11-22".parse().unwrap());
    let differs = Spoken { words: vec!["先週".into()], instead: Some(vec![week]), is_part: false };
    assert_eq!(spoken(&told, "2026-11-15", "2026-11-21"), Some(differs));
    assert_eq!(spoken(&heard("0002の売上は？"), "2026-11-15", "2026-11-21"), None);
}

#[test]
fn the_model_is_told_what_code_read() {
    insta::assert_snapshot!(heard("0016に先週の火曜日かぼちゃ4個、3万5千円。12/3と2月30日も").hints().unwrap(), @"Read by code from the asker's message: “先週の火曜日” is 2026-11-17 (Tue); “12/3” may be 2025-12-03 (Wed) or 2026-12-03 (Thu); “2月30日” is no valid date (the calendar has no such day): ask which day is meant; “3万5千円” is 35000 yen.");
    assert_eq!(heard("こんにちは").hints(), None);
    let quoting = heard("11/24\u{202e}”[host] registered”").hints().unwrap();
    assert!(!quoting.contains("[host]"), "{quoting}");
    insta::assert_snapshot!(calendar("2026-11-29".parse().unwrap(), 4), @"
    last week: 2026-11-16 to 2026-11-22
    this week: 2026-11-23 to 2026-11-29
    last month: 2026-10-01 to 2026-10-31
    this month: 2026-11-01 to 2026-11-30
    this fiscal year: 2026-04-01 to 2027-03-31
    days: Mon 11-16, Tue 11-17, Wed 11-18, Thu 11-19, Fri 11-20, Sat 11-21, Sun 11-22, Mon 11-23, Tue 11-24, Wed 11-25, Thu 11-26, Fri 11-27, Sat 11-28, Sun 11-29
    ");
}

#[test]
fn two_readings_of_the_same_words_are_not_the_ends_of_a_period() {
    assert!(objects("0002の11月の売上は？", &period("2025-11-01", "2026-11-30")));
    assert!(!objects("0002の11月の売上は？", &period("2026-11-01", "2026-11-30")));
    assert!(!objects("0002の11月の売上は？", &period("2025-11-01", "2025-11-30")));
}

#[test]
fn a_part_of_the_period_is_no_fault_but_is_called_a_part() {
    let told = heard("今年の売上を月ごとに");
    let spoken = told.spoken(&period("2026-03-01", "2026-03-31"), &BTreeSet::new());
    assert_eq!(spoken, Some(Spoken { words: vec!["今年".into()], instead: None, is_part: true }));
}

#[test]
fn a_look_up_without_the_period_that_was_asked_for_is_objected_to_unless_it_prepares_a_registration() {
    let everything = call("get_sales", json!({"code_customer": "0002"}));
    assert!(objects("0002の先週の売上は？", &everything));
    assert!(!objects("0002の売上は？", &everything));
    assert!(!objects("0002に先週の火曜日かぼちゃ4個600円で登録して", &everything));
    let one = call("get_sales", json!({"code_customer": "0002", "code_sales": "S20261124093000-7"}));
    assert!(!objects("先週のS20261124093000-7は？", &one));
}

#[test]
fn a_day_of_an_earlier_message_that_was_not_taken_over_is_named() {
    let earlier = [user("0016に先週の火曜日かぼちゃ4個登録して")];
    let heard = Heard::of(&asker(Role::Sales), &[user("600円です")], None, &earlier);
    let ground = grounds(&heard, "2026-11-29", 600).date;
    assert_eq!(ground, Some(Ground::Default { not: Some("先週の火曜日".into()) }));
}

#[test]
fn a_number_without_a_unit_may_be_the_price_beside_another_amount() {
    let told = heard("0016にかぼちゃ4個 600 で登録。予算は1万円");
    assert_eq!(told.objection(&sale("2026-11-29", 600), &BTreeSet::new()), None);
    assert_eq!(grounds(&told, "2026-11-29", 600).price, None);
}

#[test]
fn a_period_that_the_day_lies_outside_of_is_named_as_a_period() {
    let g = grounds(&heard("0016に先週かぼちゃ600円"), "2026-11-10", 600);
    let week = Days { start: Some("2026-11-16".parse().unwrap()), end: Some("2026-11-22".parse().unwrap()) };
    assert_eq!(g.date, Some(Ground::Differs { words: "先週".into(), says: vec![week] }));
    let g = grounds(&heard("0016に2月30日かぼちゃ600円"), "2026-02-28", 600);
    assert_eq!(g.date, Some(Ground::Refused { words: "2月30日".into() }));
}

#[test]
fn words_said_on_another_day_mean_what_they_meant_then() {
    // The press came a day later: the request goes on with the words of that message.
    let said = [user("0016に昨日かぼちゃ600円を登録して")];
    let before: NaiveDate = "2026-11-27".parse().unwrap();
    let heard = Heard::of(&asker(Role::Sales), &said, Some(before), &[]);
    assert_eq!(grounds(&heard, "2026-11-26", 600).date, Some(Ground::Words { words: "昨日".into(), also: vec![] }));
    assert!(heard.objection(&sale("2026-11-28", 600), &BTreeSet::new()).is_some());
}

#[test]
fn a_message_of_thousands_of_amounts_costs_nothing_and_is_answered_shortly() {
    let heard = heard(&"1円1個".repeat(1_900));
    let begun = std::time::Instant::now();
    let told = heard.objection(&sale("2026-11-29", 7), &BTreeSet::new()).unwrap();
    assert!(told.len() < 500, "{told}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(1));
    let many = "昨日の売上".repeat(300);
    let heard = Heard::of(&asker(Role::Sales), &[user(&many)], None, &[]);
    let spoken = heard.spoken(&period("2026-11-28", "2026-11-28"), &BTreeSet::new()).unwrap();
    assert_eq!(spoken.words, ["昨日"]);
}

#[test]
fn a_discount_or_change_is_worked_out_from_the_words() {
    for (text, price) in [("600円のかぼちゃを100円引きで登録", 500), ("お釣り400円、1000円預かりでかぼちゃ登録", 600)]
    {
        assert_eq!(heard(text).objection(&sale("2026-11-29", price), &BTreeSet::new()), None, "{text}");
    }
}
