//! The trail as an auditor meets it: what is on record of a sale, that the chain fits, and that tampering is found.

use std::path::Path;

use serde_json::Value;
use tokio::process::Command;

use crate::harness::desk::proposal;
use crate::harness::{AOKI, PATIENCE, Rig, today};

/// Exit code, standard output, standard error.
async fn program(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sales-concierge"));
    command.args(args).arg("--data-dir").arg(dir).current_dir(dir).env_clear();
    let output = tokio::time::timeout(PATIENCE, command.output()).await.expect("it ends").expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().expect("a code"), text(&output.stdout), text(&output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn i24_a_sale_leaves_a_row_for_each_step_and_a_changed_row_is_found() {
    let mut rig = Rig::with_clerk(&[("SALES_CONCIERGE__AUDIT__SEAL_INTERVAL_S", "1")]).await;
    let dir = rig.data_dir().to_owned();
    let (_, card) = rig.offered().await;
    let id = proposal(&card);
    rig.confirm(AOKI, &card).await;
    rig.becomes(&card, "登録しました").await;
    rig.dm("U0ARAI", "こんにちは").await;
    rig.until("the stranger is on record", "SELECT count(*) FROM audit WHERE event = 'person_refused'", 1).await;
    rig.until("the bot seals", "SELECT min(count(*), 1) FROM audit_seals", 1).await;
    assert!(rig.stop_bot().await.success());

    for event in ["call_proposable", "proposal_created", "claimed", "sale_registered", "proposal_done"] {
        let records = rig.records().await;
        let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM audit WHERE event = $1")
            .bind(event)
            .fetch_one(records.read())
            .await
            .expect("a number");
        records.close().await;
        assert_eq!(rows, 1, "{event}");
    }
    let traced = "SELECT count(*) FROM audit WHERE event IN ('call_proposable', 'proposal_created')
        AND message LIKE 'T%:D%:%.%' AND model IS NOT NULL AND length(prompt_hash) = 64 AND length(tools_hash) = 64";
    assert_eq!(rig.count(traced).await, 2);
    assert_eq!(rig.count("SELECT count(*) FROM audit WHERE detail LIKE '%かぼちゃ%' OR detail LIKE '%佐藤%'").await, 0);

    let (code, out, err) = program(&dir, &["audit", "verify", "--json"]).await;
    assert_eq!(code, 0, "{err}");
    let report: Value = serde_json::from_str(&out).expect("one JSON object");
    assert_eq!((&report["ok"], &report["unsealed"]), (&Value::Bool(true), &Value::from(0)), "{report}");
    let head = report["head"].as_str().expect("a head").to_owned();
    assert_eq!(report["rows"], rig.count("SELECT count(*) FROM audit").await);

    let day = today();
    let (from, to) = ((day - chrono::Days::new(1)).to_string(), (day + chrono::Days::new(1)).to_string());
    let file = dir.join("rows.csv");
    let name = file.to_str().expect("text");
    let (code, _, err) = program(&dir, &["audit", "export", "--from", &from, "--to", &to, "--output", name]).await;
    assert_eq!(code, 0, "{err}");
    let csv = std::fs::read_to_string(&file).expect("the file");
    assert!(csv.starts_with("id,at,actor,on_behalf,message,event,"), "{csv}");
    assert_eq!(csv.lines().count() as i64, 1 + rig.count("SELECT count(*) FROM audit").await);
    let (code, _, err) = program(&dir, &["audit", "export", "--from", &from, "--to", &to, "--output", name]).await;
    assert_eq!(code, 1, "a file that is there is left alone: {err}");
    let (code, out, _) = program(&dir, &["audit", "export", "--from", &from, "--to", &from, "--format", "jsonl"]).await;
    assert_eq!((code, out.as_str()), (0, ""), "nothing happened on the day before");

    let (code, out, err) = program(&dir, &["explain", &id]).await;
    assert_eq!(code, 0, "{err}");
    for words in ["message  T", "model    ", "prompt   ", "tools    ", "proposal_created by agent (medium), seal "] {
        assert!(out.contains(words), "{words:?} is not in:\n{out}");
    }

    rig.alter(
        "DROP TRIGGER audit_is_append_only_update; UPDATE audit SET on_behalf = 'slack:T1:U2' WHERE event = 'claimed'",
    )
    .await;
    let (code, out, err) = program(&dir, &["audit", "verify", "--json", "--head", &head]).await;
    assert_eq!(code, 1, "{out}");
    let report: Value = serde_json::from_str(&out).expect("one JSON object");
    assert_eq!(report["finding"]["code"], "row_changed");
    assert_eq!(report["finding"]["row"], rig.count("SELECT id FROM audit WHERE event = 'claimed'").await);
    assert!(err.contains("was changed after it was sealed"), "{err}");
}
