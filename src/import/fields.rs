//! The values of a line. Strict: what has two meanings is refused with what to write instead.

use std::borrow::Cow;

use chrono::NaiveDate;
use unicode_normalization::UnicodeNormalization as _;

use crate::domain::Role;
use crate::reading::{self, Context, Meaning, Reading};

/// The highest amount of a sale, as everywhere.
const MAX_YEN: i64 = 999_999_999_999;

/// Why a value is refused, and what to write instead.
pub(super) type Reason = Cow<'static, str>;

/// Text without outer white space; line breaks as `\n`, where they are allowed at all.
pub(super) fn text(value: &str, longest: usize, lines: bool) -> Result<Cow<'_, str>, Reason> {
    let value = value.trim();
    if value.is_empty() {
        return Err("the value is missing".into());
    }
    let value = if value.contains("\r\n") { Cow::Owned(value.replace("\r\n", "\n")) } else { Cow::Borrowed(value) };
    if value.chars().any(|c| c.is_control() && !(lines && matches!(c, '\n' | '\t'))) {
        let reason = if lines {
            "holds control characters; remove them"
        } else {
            "holds a line break, a tab or another control character; remove it"
        };
        return Err(reason.into());
    }
    if value.chars().nth(longest).is_some() {
        return Err(format!("has more than {longest} characters; shorten it").into());
    }
    Ok(value)
}

/// The key of a customer or a sale.
pub(super) fn code(value: &str) -> Result<Cow<'_, str>, Reason> {
    text(value, 64, false)
}

/// Full-width digits and signs as ASCII.
fn narrow(value: &str) -> Cow<'_, str> {
    let value = value.trim();
    if value.is_ascii() { Cow::Borrowed(value) } else { Cow::Owned(value.nfkc().collect()) }
}

/// `2026-11-03`, `2026/11/3`, `20261103`, `2026年11月3日`, `令和8年11月3日`, `R8.11.3`.
pub(super) fn date(value: &str) -> Result<NaiveDate, Reason> {
    const HOW: &str = "is not a date with a whole year; write it as 2026-11-03 or 2026/11/3";
    let narrow = narrow(value);
    let mut text = narrow.as_ref();
    // A spreadsheet adds midnight to a day; another time of day would be lost.
    for midnight in [" 00:00:00", " 0:00:00", " 00:00", " 0:00", "T00:00:00"] {
        text = text.strip_suffix(midnight).unwrap_or(text);
    }
    if text.is_empty() {
        return Err("the value is missing".into());
    }
    let day = match numbers(text) {
        Some((year, month, day)) => NaiveDate::from_ymd_opt(year, month, day),
        None if names_a_year(text) => words(text),
        None => return Err(HOW.into()),
    };
    match day {
        Some(day) if day >= NaiveDate::from_ymd_opt(1900, 1, 1).unwrap_or_default() => Ok(day),
        Some(_) => Err("lies before 1900; check the year".into()),
        None => Err("is not a day of the calendar; write it as 2026-11-03 or 2026/11/3".into()),
    }
}

/// Year, month and day in this order, with four digits for the year.
fn numbers(text: &str) -> Option<(i32, u32, u32)> {
    let number = |part: &str, longest: usize| {
        let fits = (1..=longest).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        fits.then(|| part.parse::<u32>().ok())?
    };
    let (year, month, day) = if text.len() == 8 && text.bytes().all(|b| b.is_ascii_digit()) {
        (text.get(..4)?, text.get(4..6)?, text.get(6..)?)
    } else {
        let sign = text.chars().find(|c| matches!(c, '-' | '/' | '.'))?;
        let mut parts = text.split(sign);
        let all = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        all
    };
    if year.len() != 4 {
        return None;
    }
    Some((i32::try_from(number(year, 4)?).ok()?, number(month, 2)?, number(day, 2)?))
}

/// Without a year of its own, a day would be read against today.
fn names_a_year(text: &str) -> bool {
    let after = |rest: &str| rest.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '元');
    let era = ["令和", "平成", "昭和"].iter().any(|name| text.strip_prefix(name).is_some_and(after))
        || text.strip_prefix(['R', 'r', 'H', 'h', 'S', 's']).is_some_and(after);
    let western =
        text.split_once('年').is_some_and(|(year, _)| year.len() == 4 && year.bytes().all(|b| b.is_ascii_digit()));
    era || western
}

/// The reader of sentences, held to one day that is the whole of the value.
fn words(text: &str) -> Option<NaiveDate> {
    let found = reading::dates(text, &Context::on(NaiveDate::default()));
    match found.as_slice() {
        [only] if only.start_char == 0 && only.end_char == text.chars().count() => match only.meaning {
            Meaning::Clear(Reading::Day(day)) => Some(day),
            _ => None,
        },
        _ => None,
    }
}

/// `1800`, `1,800`, `¥1,800`, `１，８００円`, `1800.00`: whole yen, not below nothing.
pub(super) fn amount(value: &str) -> Result<i64, Reason> {
    const HOW: &str = "is not an amount in whole yen; write it as 1800 or 1,800";
    const NEGATIVE: &str = "is negative, and a sale cannot be; leave the line out and cancel the sale that it corrects";
    let narrow = narrow(value);
    let mut text = narrow.as_ref();
    if text.is_empty() {
        return Err("the value is missing".into());
    }
    let negative = |text: &str| text.starts_with(['-', '\u{2212}', '\u{2010}', '\u{2013}', '▲', '△', '(']);
    if negative(text) || text.ends_with('-') {
        return Err(NEGATIVE.into());
    }
    // In Shift_JIS the sign of the yen is the byte of the backslash.
    text = text.strip_prefix(['¥', '\\']).unwrap_or(text).trim_start();
    text = text.strip_suffix('円').unwrap_or(text).trim_end();
    if negative(text) {
        return Err(NEGATIVE.into());
    }
    if let Some((whole, fraction)) = text.split_once('.') {
        if fraction.is_empty() || fraction.bytes().any(|b| b != b'0') {
            return Err(HOW.into());
        }
        text = whole;
    }
    let mut digits = String::with_capacity(text.len());
    for (i, group) in text.split(',').enumerate() {
        let grouped = text.contains(',');
        let fits = if !grouped {
            !group.is_empty()
        } else if i == 0 {
            (1..=3).contains(&group.len())
        } else {
            group.len() == 3
        };
        if !fits || group.bytes().any(|b| !b.is_ascii_digit()) {
            let reason = if grouped && group.bytes().all(|b| b.is_ascii_digit()) {
                "has commas where no thousands end; write it as 1800 or 1,800"
            } else {
                HOW
            };
            return Err(reason.into());
        }
        digits.push_str(group);
    }
    digits
        .parse()
        .ok()
        .filter(|yen| *yen <= MAX_YEN)
        .ok_or_else(|| "is above 999,999,999,999 yen; check the amount".into())
}

/// A role by its code or its Japanese name.
pub(super) fn role(value: &str) -> Result<Role, Reason> {
    let text = narrow(value).to_lowercase();
    match text.as_str() {
        "" => Err("the value is missing".into()),
        "閲覧" | "閲覧者" => Ok(Role::Viewer),
        "営業" | "販売" | "販売担当" => Ok(Role::Sales),
        "マネージャー" | "マネージャ" => Ok(Role::Manager),
        "管理者" => Ok(Role::Admin),
        other => Role::from_code(other).ok_or_else(|| "is not a role; write viewer, sales, manager or admin".into()),
    }
}

/// Whether a person has rights.
pub(super) fn active(value: &str) -> Result<bool, Reason> {
    match narrow(value).to_lowercase().as_str() {
        "true" | "yes" | "1" | "はい" | "有効" | "○" | "◯" => Ok(true),
        "false" | "no" | "0" | "いいえ" | "無効" | "×" => Ok(false),
        _ => Err("is neither yes nor no; write true or false".into()),
    }
}

/// Departments, separated by commas, semicolons or 、.
pub(super) fn departments(value: &str) -> Result<Vec<String>, Reason> {
    let mut found = Vec::new();
    for part in value.split([',', ';', '、', '，', '；', '\n']) {
        if !part.trim().is_empty() {
            let department = text(part, 100, false)?.into_owned();
            if !found.contains(&department) {
                found.push(department);
            }
        }
    }
    if found.is_empty() { Err("the value is missing".into()) } else { Ok(found) }
}

/// A Slack id: one of the first letters, then capitals and digits.
pub(super) fn slack_id<'v>(value: &'v str, first: &[char], example: &str) -> Result<&'v str, Reason> {
    let value = value.trim();
    let rest = value.strip_prefix(first).unwrap_or_default();
    let fits = (2..=30).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    if fits {
        Ok(value)
    } else if value.is_empty() {
        Err("the value is missing".into())
    } else {
        Err(format!("is not a Slack id like {example}; copy it from the person's profile in Slack").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> String {
        date(text).map_or_else(|reason| format!("! {reason}"), |d| d.to_string())
    }

    #[test]
    fn dates_are_read_in_the_forms_that_files_have() {
        for text in [
            "2026-11-03",
            "2026/11/3",
            "2026/11/03",
            "2026.11.3",
            "20261103",
            "２０２６／１１／０３",
            " 2026-11-3 ",
            "2026年11月3日",
            "令和8年11月3日",
            "令和８年１１月３日",
            "R8.11.3",
            "R8/11/3",
            "2026/11/3 0:00",
            "2026-11-03T00:00:00",
        ] {
            assert_eq!(day(text), "2026-11-03", "{text}");
        }
        assert_eq!(day("令和元年5月1日"), "2019-05-01");
        assert_eq!(day("平成31年4月30日"), "2019-04-30");
        assert_eq!(day("2028-02-29"), "2028-02-29");
    }

    #[test]
    fn a_date_with_two_meanings_or_none_is_refused_with_what_to_write() {
        for text in [
            "11/3/2026",
            "26/11/3",
            "11月3日",
            "昨日",
            "2026-11",
            "2026-11-03-04",
            "2026/11-3",
            "2026-11-03 12:30",
            "26年11月3日",
            "2026-011-03",
            "2026年11月3日 水",
            "45964",
            "2026-1１-x",
            "+026-11-03",
            "令和8年度",
        ] {
            assert!(day(text).starts_with("! is not a"), "{text}: {}", day(text));
            assert!(day(text).contains("2026-11-03"), "{text}");
        }
        for text in ["2026-02-29", "2026/13/1", "20261131", "令和8年2月30日", "令和元年4月1日", "2026-00-10"]
        {
            assert!(day(text).contains("not a day of the calendar"), "{text}: {}", day(text));
        }
        assert_eq!(day("1026-11-03"), "! lies before 1900; check the year");
        assert_eq!(day("  "), "! the value is missing");
    }

    #[test]
    fn amounts_are_read_in_the_forms_that_files_have() {
        for text in [
            "1800",
            "1,800",
            "¥1,800",
            "￥１，８００",
            "\\1,800",
            "1,800円",
            "１８００円",
            "1800.00",
            "¥ 1800",
            " 1800 ",
            "001800",
        ] {
            assert_eq!(amount(text), Ok(1800), "{text}");
        }
        assert_eq!(amount("0"), Ok(0));
        assert_eq!(amount("999,999,999,999"), Ok(999_999_999_999));
    }

    #[test]
    fn an_amount_that_is_not_plainly_one_is_refused_with_the_reason() {
        let reason = |text: &str| amount(text).unwrap_err().into_owned();
        for text in ["-1800", "－1800", "▲1,800", "△1800", "(1,800)", "¥-1800", "1800-", "−5円"] {
            assert!(reason(text).contains("negative"), "{text}: {}", reason(text));
        }
        for text in ["1,80", "12,34,567", "1,8000", ",800", "1,,800"] {
            assert!(reason(text).contains("thousands"), "{text}: {}", reason(text));
        }
        for text in ["1800.5", "1800.", "1.8E3", "abc", "1 800", "3万", "1800ドル", "$18", "円", "¥", "1.800,00"] {
            assert!(reason(text).contains("whole yen"), "{text}: {}", reason(text));
        }
        assert!(reason("1000000000000").contains("above"));
        assert!(reason("99999999999999999999999").contains("above"));
        assert_eq!(reason("\u{3000}"), "the value is missing");
    }

    #[test]
    fn text_is_trimmed_and_control_characters_are_refused() {
        assert_eq!(text("\u{3000}かぼちゃ 4個 ", 1000, true).unwrap(), "かぼちゃ 4個");
        assert_eq!(text("かぼちゃ\r\nなす", 1000, true).unwrap(), "かぼちゃ\nなす");
        assert!(text("かぼちゃ\nなす", 1000, false).is_err());
        assert!(text("a\0b", 1000, true).is_err());
        assert_eq!(text(&"あ".repeat(1000), 1000, true).unwrap().chars().count(), 1000);
        assert!(text(&"あ".repeat(1001), 1000, true).unwrap_err().contains("more than 1000"));
        assert!(code(&"1".repeat(65)).is_err());
    }

    #[test]
    fn staff_fields_are_read() {
        assert_eq!(role("Manager"), Ok(Role::Manager));
        assert_eq!(role("管理者"), Ok(Role::Admin));
        assert!(role("boss").unwrap_err().contains("viewer, sales, manager or admin"));
        assert_eq!(departments("野菜、果物; 直販,野菜").unwrap(), ["野菜", "果物", "直販"]);
        assert!(departments(" , ").is_err());
        assert_eq!(slack_id(" U0AOKI ", &['U', 'W'], "U0123ABCD"), Ok("U0AOKI"));
        for bad in ["", "T0AOKI", "U", "u0aoki", "U0 AOKI", "@aoki", "U0青木"] {
            assert!(slack_id(bad, &['U', 'W'], "U0123ABCD").is_err(), "{bad}");
        }
        assert_eq!((active("はい"), active("0")), (Ok(true), Ok(false)));
        assert!(active("maybe").is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_a_field_panic(value in "\\PC{0,30}|[0-9/.,年月日令和RHS円¥-]{0,16}") {
            let _ = (date(&value), amount(&value), code(&value), role(&value), departments(&value), active(&value));
            let _ = (text(&value, 10, true), slack_id(&value, &['U'], "U1"));
        }

        #[test]
        fn every_day_reads_back_from_each_form(n in 0_i64..80_000) {
            let date_of = NaiveDate::from_ymd_opt(1900, 1, 1).unwrap() + chrono::TimeDelta::days(n);
            for form in ["%Y-%m-%d", "%Y/%-m/%-d", "%Y%m%d", "%Y年%-m月%-d日"] {
                proptest::prop_assert_eq!(date(&date_of.format(form).to_string()), Ok(date_of), "{}", form);
            }
        }
    }
}
