use chrono::NaiveDate;
use proptest::prelude::*;

use crate::reading::{Context, Found, Meaning, Reading, Refusal, amounts, quantities};

/// A Sunday.
fn today() -> NaiveDate {
    "2026-11-29".parse().unwrap()
}

fn dates(text: &str, today: NaiveDate) -> Vec<Found> {
    crate::reading::dates(text, &Context::on(today))
}

fn shown(meaning: &Meaning<Reading>) -> String {
    let one = |r: &Reading| match r {
        Reading::Day(d) => d.to_string(),
        Reading::Range(a, b) => format!("{a}..{b}"),
        Reading::Since(a) => format!("{a}.."),
        Reading::Until(b) => format!("..{b}"),
    };
    match meaning {
        Meaning::Refused(Refusal::NoSuchDay) => "no such day".into(),
        Meaning::Refused(Refusal::OtherWeekday) => "other weekday".into(),
        Meaning::Refused(Refusal::EndsBeforeItBegins) => "ends before it begins".into(),
        Meaning::Refused(why) => format!("{why:?}"),
        clear_or_not => clear_or_not.readings().iter().map(one).collect::<Vec<_>>().join(" | "),
    }
}

#[test]
fn date_words_of_both_languages_are_read() {
    let table = include_str!("table.tsv");
    let mut wrong = Vec::new();
    for line in table.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let mut columns = line.split('\t');
        let (text, words, want) = (columns.next().unwrap(), columns.next().unwrap(), columns.next().unwrap());
        let today = columns.next().map_or_else(today, |d| d.parse().unwrap());
        let got: Vec<(String, String)> = dates(text, today).into_iter().map(|f| (f.words, shown(&f.meaning))).collect();
        let got_words = got.iter().map(|g| g.0.as_str()).collect::<Vec<_>>().join("; ");
        let got_values = got.iter().map(|g| g.1.as_str()).collect::<Vec<_>>().join("; ");
        if (got_words.as_str(), got_values.as_str()) != (words, want) {
            wrong.push(format!("{text}: {got_words} = {got_values}, want {words} = {want}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn wide(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_digit() { char::from_u32(c as u32 + 0xfee0).unwrap() } else { c }).collect()
}

#[test]
fn full_width_digits_say_the_same_as_half_width_ones() {
    for line in include_str!("table.tsv").lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let text = line.split('\t').next().unwrap();
        let read =
            |t: &str| dates(t, today()).into_iter().map(|f| (f.start_char, f.end_char, f.meaning)).collect::<Vec<_>>();
        assert_eq!(read(text), read(&wide(text)), "{text}");
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("先週".to_owned()),
        Just("の".to_owned()),
        Just("火曜日".to_owned()),
        Just("月".to_owned()),
        Just("日".to_owned()),
        Just("last ".to_owned()),
        Just("the ".to_owned()),
        Just("nov ".to_owned()),
        Just("/".to_owned()),
        Just("万".to_owned()),
        Just("千".to_owned()),
        Just("円".to_owned()),
        Just("から".to_owned()),
        Just("令和".to_owned()),
        Just("年".to_owned()),
        Just("前".to_owned()),
        Just("ｶﾞ".to_owned()),
        Just("e\u{301}".to_owned()),
        "[0-9]{1,12}",
        "\\PC{0,3}",
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|p| p.concat())
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic_and_spans_cut_out_the_words(text in pieces(), day in 0..4_000_000u32) {
        let today = NaiveDate::from_num_days_from_ce_opt(i32::try_from(day).unwrap()).unwrap_or_default();
        let cut = |a: usize, b: usize| text.chars().skip(a).take(b - a).collect::<String>();
        let mut last = 0;
        for found in dates(&text, today) {
            prop_assert!(found.start_char >= last && found.end_char > found.start_char);
            prop_assert_eq!(cut(found.start_char, found.end_char), found.words);
            last = found.end_char;
        }
        for found in amounts(&text) {
            prop_assert_eq!(cut(found.start_char, found.end_char), found.words);
            prop_assert!(found.meaning.readings().iter().all(|y| y.0 >= 0));
        }
        for found in quantities(&text) {
            prop_assert_eq!(cut(found.start_char, found.end_char), found.words);
        }
    }
}
