use std::fmt::Write;

use chrono::{Datelike, NaiveDate};
use proptest::prelude::*;

use super::{Context, Findings, Meaning, Purpose, Reading, Refusal, Tax, read};

/// The tables of each language were written before the code; "more" holds what was thought of with it.
const DATES: [(&str, &str); 3] = [
    ("dates.ja", include_str!("tables/dates.ja.tsv")),
    ("dates.en", include_str!("tables/dates.en.tsv")),
    ("dates.more", include_str!("tables/dates.more.tsv")),
];
const MONEY: [(&str, &str); 3] = [
    ("money.ja", include_str!("tables/money.ja.tsv")),
    ("money.en", include_str!("tables/money.en.tsv")),
    ("money.more", include_str!("tables/money.more.tsv")),
];

/// A Sunday.
fn sunday() -> NaiveDate {
    "2026-11-29".parse().unwrap()
}

fn rows<'t>(tables: &'t [(&'t str, &'t str)]) -> impl Iterator<Item = (String, Vec<&'t str>)> + 't {
    tables.iter().flat_map(|(name, table)| {
        let lines = table.lines().zip(1..).filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
        lines.map(move |(line, n)| (format!("{name}:{n}"), line.split('\t').collect()))
    })
}

fn column<'r>(row: &[&'r str], n: usize) -> Option<&'r str> {
    row.get(n).copied().filter(|value| !value.is_empty())
}

fn context(row: &[&str]) -> Context {
    Context {
        today: column(row, 3).map_or_else(sunday, |day| day.parse().unwrap()),
        purpose: if column(row, 4) == Some("search") { Purpose::Search } else { Purpose::Sale },
        fiscal_start: column(row, 5).map_or(4, |month| month.parse().unwrap()),
    }
}

fn reason(why: Refusal) -> &'static str {
    match why {
        Refusal::NoSuchDay => "no_such_day",
        Refusal::OtherWeekday => "other_weekday",
        Refusal::EndsBeforeItBegins => "ends_before_it_begins",
        Refusal::OutsideEra => "outside_era",
        Refusal::NotWhole => "not_whole",
        Refusal::Grouping => "grouping",
        Refusal::Negative => "negative",
    }
}

fn shown<T>(meaning: &Meaning<T>, one: impl Fn(&T) -> String) -> String {
    match meaning {
        Meaning::Refused(why) => reason(*why).to_owned(),
        _ => meaning.readings().iter().map(one).collect::<Vec<_>>().join(" | "),
    }
}

fn shown_date(reading: &Reading) -> String {
    match reading {
        Reading::Day(day) => day.to_string(),
        Reading::Range(first, last) => format!("{first}..{last}"),
        Reading::Since(first) => format!("{first}.."),
        Reading::Until(last) => format!("..{last}"),
    }
}

/// One cell of a table.
fn cell(found: Vec<String>) -> String {
    if found.is_empty() { "-".to_owned() } else { found.join("; ") }
}

fn date_cells(found: &Findings) -> [String; 2] {
    let words = found.dates.iter().map(|d| d.words.clone()).collect();
    [cell(words), cell(found.dates.iter().map(|d| shown(&d.meaning, shown_date)).collect())]
}

fn money_cells(found: &Findings) -> [String; 2] {
    let amounts = found.amounts.iter().map(|a| {
        let tax = match a.tax {
            None => "",
            Some(Tax::Included) => " tax:included",
            Some(Tax::Excluded) => " tax:excluded",
        };
        format!("{}={}{tax}", a.words, shown(&a.meaning, |yen| yen.0.to_string()))
    });
    let quantities =
        found.quantities.iter().map(|q| format!("{}={} {}", q.words, q.number, q.unit).trim_end().to_owned());
    [cell(amounts.collect()), cell(quantities.collect())]
}

/// The rows that are read otherwise, as a table.
fn differing<'t>(tables: &'t [(&'t str, &'t str)], read_as: impl Fn(&str, &[&str]) -> [String; 2]) -> (usize, String) {
    let mut report = String::new();
    let mut n = 0;
    for (place, row) in rows(tables) {
        let sentence = column(&row, 0).unwrap();
        let want = [column(&row, 1).unwrap(), column(&row, 2).unwrap()];
        let got = read_as(sentence, &row);
        if got != want {
            n += 1;
            writeln!(report, "{place}\t{sentence}\t{:?}", &row[3.min(row.len())..]).unwrap();
            writeln!(report, "\twant\t{}\t{}", want[0], want[1]).unwrap();
            writeln!(report, "\tgot\t{}\t{}", got[0], got[1]).unwrap();
        }
    }
    (n, report)
}

#[test]
fn every_date_of_the_tables_is_read_as_they_say() {
    let (n, report) = differing(&DATES, |sentence, row| date_cells(&read(sentence, &context(row))));
    assert!(n == 0, "{n} rows are read otherwise:\n{report}");
}

#[test]
fn every_amount_and_quantity_of_the_tables_is_read_as_they_say() {
    let (n, report) = differing(&MONEY, |sentence, _| money_cells(&read(sentence, &Context::on(sunday()))));
    assert!(n == 0, "{n} rows are read otherwise:\n{report}");
}

#[test]
fn the_tables_are_as_large_as_they_were_meant_to_be() {
    let of = |name: &str| rows(&DATES).chain(rows(&MONEY)).filter(|(place, _)| place.contains(name)).count();
    assert!(of(".ja") >= 600, "{}", of(".ja"));
    assert!(of(".en") >= 400, "{}", of(".en"));
}

/// What a text says, without its words.
fn values(text: &str, context: &Context) -> (Vec<String>, Vec<String>) {
    let found = read(text, context);
    let dates = found.dates.iter().map(|d| format!("{}..{} {:?}", d.start_char, d.end_char, d.meaning));
    let amounts = found.amounts.iter().map(|a| format!("{}..{} {:?} {:?}", a.start_char, a.end_char, a.meaning, a.tax));
    let quantities =
        found.quantities.iter().map(|q| format!("{}..{} {} {}", q.start_char, q.end_char, q.number, q.unit));
    (dates.collect(), amounts.chain(quantities).collect())
}

fn wide(text: &str) -> String {
    let wider = |c: char| if c.is_ascii_graphic() { char::from_u32(c as u32 + 0xfee0).unwrap() } else { c };
    text.chars().map(wider).collect()
}

#[test]
fn full_width_characters_say_the_same_as_half_width_ones() {
    for (place, row) in rows(&DATES).chain(rows(&MONEY)) {
        let (narrow, context) = (row[0], Context::on(sunday()));
        assert_eq!(values(narrow, &context), values(&wide(narrow), &context), "{place} {narrow}");
    }
}

#[test]
fn capitals_and_decomposed_kana_say_the_same() {
    use unicode_normalization::UnicodeNormalization;
    let meanings = |text: &str| {
        let found = read(text, &Context::on(sunday()));
        let dates = found.dates.iter().map(|d| format!("{:?}", d.meaning));
        let amounts = found.amounts.iter().map(|a| format!("{:?} {:?}", a.meaning, a.tax));
        dates
            .chain(amounts)
            .chain(found.quantities.iter().map(|q| format!("{} {}", q.number, q.unit)))
            .collect::<Vec<_>>()
    };
    for (place, row) in rows(&DATES).chain(rows(&MONEY)) {
        let plain = meanings(row[0]);
        assert_eq!(plain, meanings(&row[0].nfd().collect::<String>()), "{place} {}", row[0]);
        assert_eq!(plain, meanings(&row[0].to_uppercase()), "{place} {}", row[0]);
    }
}

#[test]
fn the_reference_day_moves_the_readings_and_never_the_words() {
    let spans = |text: &str, day: &str| {
        let found = read(text, &Context::on(day.parse().unwrap()));
        found.dates.iter().map(|d| (d.start_char, d.end_char)).collect::<Vec<_>>()
    };
    for (place, row) in rows(&DATES) {
        for day in ["2028-02-29", "2027-01-01", "1999-12-31"] {
            assert_eq!(spans(row[0], "2026-11-29"), spans(row[0], day), "{place} {} on {day}", row[0]);
        }
    }
}

#[test]
fn several_readings_are_different_and_at_least_two() {
    for (place, row) in rows(&DATES) {
        for found in read(row[0], &context(&row)).dates {
            if let Meaning::Ambiguous(readings) = &found.meaning {
                let repeated = readings.iter().enumerate().any(|(n, r)| readings[..n].contains(r));
                assert!(readings.len() > 1 && !repeated, "{place} {} {readings:?}", found.words);
            }
        }
    }
}

#[test]
fn a_fiscal_year_of_no_month_is_the_usual_one() {
    for month in [0, 13, u32::MAX] {
        let odd = Context { fiscal_start: month, ..Context::on(sunday()) };
        assert_eq!(values("今年度", &odd), values("今年度", &Context::on(sunday())));
    }
}

#[test]
fn a_text_of_any_length_and_nesting_is_read_to_its_end() {
    for part in [
        "the day after ",
        "the week of ",
        "3 days from ",
        "火曜日(",
        "Tuesday (",
        "9、",
        "3, ",
        "3-",
        "11/3と",
        "今年の",
        "年の",
        "一",
        "千",
        "万",
        "1,",
        "1.",
        "600円",
        "one hundred ",
        "a ",
        "the ",
        "from ",
        "先月と",
        "11/1〜",
        "昨日の翌日の",
        "Nov 3 and 5, ",
        "から",
        "- ",
        " ",
        "\u{301}",
        "thousand ",
        "税込",
        "first ",
        "Monday, ",
        "Q1 ",
        "1/",
        "20261124-",
        "¥",
        "5万",
    ] {
        let long = part.repeat(10_000 / part.len());
        let found = read(&long, &Context::on(sunday()));
        assert!(found.dates.iter().all(|d| d.end_char <= long.chars().count()), "{part}");
    }
}

/// Texts of the parts that the readers look for, in any order, and of anything else.
fn any_text() -> impl Strategy<Value = String> {
    let parts: Vec<&'static str> = "先週 の 火曜日 火 月 日 年 度 末 上旬 第 半期 四半期 から まで 以降 ~ - / . , 、 ( ) 万 千 億 円 個 本 税込 前 後 間 \
        令和 平成 元 昭和 年末 過去 翌日 今日 昨日 去年 先月 月末 last next this the of and to from between since until by on in for ago \
        days weeks months years nov may tuesday sat st th q1 h2 fy quarter half end start weekend week month year k yen ¥ million \
        hundred ten a dozen boxes tax ｶﾞ e\u{301} R8. ' 二 十 三 〇"
        .split_whitespace()
        .collect();
    let part = prop_oneof![
        6 => proptest::sample::select(parts).prop_map(str::to_owned),
        3 => "[0-9]{1,9}",
        1 => Just(" ".to_owned()),
        1 => "\\PC{0,3}",
    ];
    proptest::collection::vec((part, any::<bool>()), 0..14)
        .prop_map(|parts| parts.into_iter().map(|(part, space)| if space { part + " " } else { part }).collect())
}

fn any_day() -> impl Strategy<Value = NaiveDate> {
    let edges =
        [NaiveDate::MIN, NaiveDate::MAX, NaiveDate::from_ymd_opt(1, 1, 1).unwrap(), "9999-12-31".parse().unwrap()];
    let span = NaiveDate::MIN.num_days_from_ce()..NaiveDate::MAX.num_days_from_ce();
    prop_oneof![
        1 => proptest::sample::select(edges.to_vec()),
        1 => span.prop_map(|n| NaiveDate::from_num_days_from_ce_opt(n).unwrap()),
        2 => (730_000..750_000).prop_map(|n| NaiveDate::from_num_days_from_ce_opt(n).unwrap()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_on_any_day_is_read_and_the_spans_cut_out_the_words(
        text in any_text(), today in any_day(), search: bool, fiscal_start in 0..14_u32,
    ) {
        let purpose = if search { Purpose::Search } else { Purpose::Sale };
        let found = read(&text, &Context { today, purpose, fiscal_start });
        let cut = |a: usize, b: usize| text.chars().skip(a).take(b - a).collect::<String>();
        let mut spans = Vec::new();
        for date in &found.dates {
            prop_assert_eq!(cut(date.start_char, date.end_char), date.words.clone());
            spans.push((date.start_char, date.end_char));
            for reading in date.meaning.readings() {
                if let Reading::Range(first, last) = reading {
                    prop_assert!(first <= last, "{text}: {} {first}..{last}", date.words);
                }
            }
        }
        let mut money = Vec::new();
        for amount in &found.amounts {
            prop_assert_eq!(cut(amount.start_char, amount.end_char), amount.words.clone());
            prop_assert!(amount.meaning.readings().iter().all(|y| y.0 >= 0));
            money.push((amount.start_char, amount.end_char));
        }
        let mut counted = Vec::new();
        for quantity in &found.quantities {
            prop_assert_eq!(cut(quantity.start_char, quantity.end_char), quantity.words.clone());
            prop_assert!(quantity.number.is_finite() && quantity.number >= 0.0);
            counted.push((quantity.start_char, quantity.end_char));
        }
        for list in [&spans, &money, &counted] {
            prop_assert!(list.windows(2).all(|pair| pair[0].1 <= pair[1].0), "not in order: {:?}", list);
        }
        let mut all: Vec<_> = [spans, money, counted].concat();
        all.sort_unstable();
        prop_assert!(all.iter().all(|(a, b)| a < b));
        prop_assert!(all.windows(2).all(|pair| pair[0].1 <= pair[1].0), "overlap: {:?}", all);
    }

    #[test]
    fn any_text_in_full_width_says_the_same(text in any_text(), today in any_day()) {
        let context = Context::on(today);
        prop_assert_eq!(values(&text, &context), values(&wide(&text), &context));
    }

    #[test]
    fn the_parts_of_read_say_what_read_says(text in any_text(), today in any_day()) {
        let context = Context::on(today);
        let found = read(&text, &context);
        prop_assert_eq!(super::dates(&text, &context), found.dates);
        prop_assert_eq!(super::amounts(&text), found.amounts);
        prop_assert_eq!(super::quantities(&text), found.quantities);
    }
}
