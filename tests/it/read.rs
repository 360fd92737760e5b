//! The `read` command from outside: what it prints does not depend on the machine, and it answers line by line.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use crate::harness::PATIENCE;

fn program(args: &[&str], zone_of_machine: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sales-concierge"));
    command.arg("read").args(args).current_dir(std::env::temp_dir()).env_clear().env("TZ", zone_of_machine);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    command
}

/// What the command prints for some lines.
async fn answers(args: &[&str], zone_of_machine: &str, lines: &str) -> Vec<Value> {
    let mut child = program(args, zone_of_machine).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("it reads");
    input.write_all(lines.as_bytes()).await.expect("it takes the lines");
    drop(input);
    let output = timeout(PATIENCE, child.wait_with_output()).await.expect("it ends").expect("it runs");
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout).lines().map(|l| serde_json::from_str(l).expect("JSON")).collect()
}

#[tokio::test]
async fn the_zone_of_the_machine_changes_nothing() {
    let lines = "昨日と先週の火曜日に3万5千円\nlast Tuesday, 3 boxes for 600 yen\n年末から\n";
    let fixed = ["--today", "2026-12-31", "--zone", "Asia/Tokyo"];
    let here = answers(&fixed, "Asia/Tokyo", lines).await;
    assert_eq!(here[0]["dates"][0]["date"], "2026-12-30");
    for zone in ["UTC", "Pacific/Kiritimati", "Pacific/Niue", "America/New_York", "no/such"] {
        assert_eq!(answers(&fixed, zone, lines).await, here, "{zone}");
    }
    // The day of the clock is taken in the zone that is asked for: these two are 25 hours apart.
    let today = async |zone: &str, machine: &str| {
        answers(&["--zone", zone], machine, "today").await[0]["dates"][0]["date"].as_str().map(str::to_owned)
    };
    let (east, west) =
        (today("Pacific/Kiritimati", "Pacific/Niue").await, today("Pacific/Niue", "Pacific/Kiritimati").await);
    assert!(east > west, "{east:?} {west:?}");
}

#[tokio::test]
async fn purpose_and_fiscal_year_come_from_the_options_or_the_line() {
    let lines = "2週間前\n今年度\n{\"text\":\"2週間前\",\"purpose\":\"sale\"}\n{\"text\":\"今年度\",\"fiscal_start\":1}\n{\"text\":\"今日\",\"fiscal_start\":13}\n";
    let got = answers(&["--today", "2026-11-29", "--purpose", "search", "--fiscal-start", "10"], "UTC", lines).await;
    let (day, week) = (json!({"date": "2026-11-15"}), json!({"start": "2026-11-09", "end": "2026-11-15"}));
    assert_eq!(got[0]["dates"][0]["readings"], json!([week, day]));
    assert_eq!(got[1]["dates"][0]["start"], "2026-10-01");
    assert_eq!(got[2]["dates"][0]["readings"], json!([day, week]));
    assert_eq!(got[3]["dates"][0]["start"], "2026-01-01");
    assert!(got[4]["error"].is_string(), "{}", got[4]);
}

#[tokio::test]
async fn a_line_is_answered_before_the_next_one_comes() {
    let mut child = program(&["--today", "2026-11-29"], "UTC").spawn().expect("it starts");
    let mut input = child.stdin.take().expect("it reads");
    let mut output = BufReader::new(child.stdout.take().expect("it writes")).lines();
    for (line, date) in [("今日\n", "2026-11-29"), ("昨日\n", "2026-11-28")] {
        input.write_all(line.as_bytes()).await.expect("it takes the line");
        let answer =
            timeout(PATIENCE, output.next_line()).await.expect("it answers").expect("it writes").expect("a line");
        assert!(answer.contains(date), "{answer}");
    }
}
