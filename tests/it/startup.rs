//! Starting and failing to start, as an operator meets it: exit codes, what is said, who has the data folder.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use sales_concierge::playground::workspace::Settings;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::harness::{AOKI, Options, PATIENCE, Rig, Say};

/// What `serve` needs, with nobody at Slack's address.
const COMPLETE: [(&str, &str); 6] = [
    ("SLACK_API_URL", "http://127.0.0.1:1/api"),
    ("SLACK_BOT_TOKEN", "xoxb-test"),
    ("SLACK_SIGNING_SECRET", "s3cr3t"),
    ("OPENAI_API_KEY", "sk-test"),
    ("SALES_CONCIERGE__SERVER__LISTEN", "127.0.0.1:0"),
    ("SALES_CONCIERGE__SERVER__METRICS_LISTEN", ""),
];

/// Arguments, environment, and what has to be said.
type Case = (&'static [&'static str], Vec<(&'static str, &'static str)>, &'static [&'static str]);

fn program(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sales-concierge"));
    command.args(args).current_dir(dir).env_clear().stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Runs the program to its end in a folder: its exit code and what it said on standard error.
async fn ends<K: AsRef<OsStr>, V: AsRef<OsStr>>(
    dir: &Path,
    args: &[&str],
    env: impl IntoIterator<Item = (K, V)>,
) -> (i32, String) {
    let output = program(dir, args).envs(env).output();
    let output = tokio::time::timeout(PATIENCE, output).await.expect("it ends").expect("it runs");
    (output.status.code().expect("a code"), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())).permissions().mode() & 0o777
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_bot_on_the_same_folder_ends_and_the_first_goes_on_unharmed() {
    let mut rig = Rig::start().await;
    let dir = rig.data_dir().to_owned();
    let folder = dir.to_str().expect("text");
    let sentence = format!("another sales-concierge is running on {folder}; stop it or give another --data-dir");
    let elsewhere = tempfile::tempdir().expect("a folder");
    for args in [
        &["serve", "--data-dir", folder][..],
        &["playground", "--port", "0", "--data-dir", folder],
        &["playground", "--port", "0", "--fresh", "--data-dir", folder],
    ] {
        let (code, said) = ends(elsewhere.path(), args, COMPLETE).await;
        assert_eq!(code, 2, "{args:?}: {said}");
        assert!(said.contains(&sentence), "{args:?}: {said}");
    }
    for args in [&["staff", "list", "--data-dir", folder][..], &["migrate", "--data-dir", folder]] {
        let (code, said) = ends(elsewhere.path(), args, COMPLETE).await;
        assert_eq!(code, 0, "{args:?} works beside the bot: {said}");
    }
    rig.model.script([Say::text("お答えします。")]);
    let place = rig.dm(AOKI, "こんにちは").await;
    rig.says(&place, "お答えします").await;

    // Nothing is left behind that has to be removed by hand, whichever way the process ends.
    rig.kill_bot().await;
    rig.start_bot().await;
    assert!(rig.stop_bot().await.success());
    rig.start_bot().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_bot_keeps_is_its_owners_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let new = dir.path().join("var").join("data");
    let (code, said) = ends(dir.path(), &["migrate", "--data-dir", "var/data"], COMPLETE).await;
    assert_eq!(code, 0, "{said}");
    assert_eq!((mode(&new), mode(&new.join("records.sqlite")), mode(&new.join("work.sqlite"))), (0o700, 0o600, 0o600));

    // A folder that was there and is open to all stays as it is; the files do not rely on it.
    let open = dir.path().join("open");
    std::fs::create_dir(&open).expect("a folder");
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    let log = std::fs::File::create(dir.path().join("log")).expect("a log");
    let mut child = program(dir.path(), &["playground", "--port", "0", "--data-dir", "open"])
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let ready = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("in time").expect("readable");
    assert!(ready.is_some_and(|line| line.starts_with("ready ")));
    let files: Vec<_> = std::fs::read_dir(&open).expect("a folder").map(|f| f.expect("a file").path()).collect();
    for name in ["records.sqlite", "records.sqlite-wal", "work.sqlite", "workspace.jsonl", "keys.json", "lock"] {
        assert!(files.contains(&open.join(name)), "{name} is not in {files:?}");
    }
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    child.kill().await.expect("killed");
    assert_eq!(mode(&open), 0o755);
    let said = std::fs::read_to_string(dir.path().join("log")).expect("a log");
    assert_eq!(said.matches("open to other users").count(), 1, "{said}");
}

#[tokio::test]
async fn a_wrong_configuration_ends_with_2_and_all_faults_and_without_a_secret() {
    let dir = tempfile::tempdir().expect("a folder");
    let with = |more: &[(&'static str, &'static str)]| COMPLETE.into_iter().chain(more.to_vec()).collect::<Vec<_>>();
    let cases: [Case; 8] = [
        (
            &["serve"],
            with(&[("SALES_CONCIERGE__SERVER__METRICS_LISTEN", "nowhere"), ("OPENAI_BASE_URL", "no-url")]),
            &["server.metrics_listen", "model.base_url"],
        ),
        (&["playground"], vec![("OPENAI_BASE_URL", "no-url")], &["model.base_url"]),
        (&["sales-server"], vec![], &["sales_server.caller_keys", "sales_server.approval_keys"]),
        (
            &["sales-server"],
            vec![
                ("SALES_CONCIERGE__SALES_SERVER__CALLER_KEYS", "x"),
                ("SALES_CONCIERGE__SALES_SERVER__APPROVAL_KEYS", "y"),
            ],
            &["not an Ed25519 key"],
        ),
        (
            &["serve"],
            with(&[("DATABASE_URL", "mysql://u:s3cr3t@db/x"), ("REDIS_URL", "redis-s3cr3t")]),
            &["DATABASE_URL", "postgres://", "REDIS_URL", "redis://"],
        ),
        (
            &["serve"],
            with(&[("SALES_CONCIERGE__SALES_SERVER__DATABASE_URL", "postgres://u:s3cr3t@db/x")]),
            &["records.url", "must be in one database"],
        ),
        (
            &["migrate"],
            vec![
                ("DATABASE_URL", "postgres://u:s3cr3t@db/x"),
                ("SALES_CONCIERGE__RECORDS__MAX_CONNECTIONS", "0"),
                ("SALES_CONCIERGE__RECORDS__STATEMENT_TIMEOUT_MS", "0"),
            ],
            &["records.max_connections", "records.statement_timeout_ms"],
        ),
        (&["staff", "list"], vec![("DATABASE_URL", "mysql://u:s3cr3t@db/x")], &["DATABASE_URL"]),
    ];
    for (args, env, parts) in cases {
        let (code, said) = ends(dir.path(), args, env).await;
        assert_eq!(code, 2, "{args:?}: {said}");
        assert!(parts.iter().all(|part| said.contains(part)) && !said.contains("s3cr3t"), "{args:?}: {said}");
    }
    assert!(!dir.path().join("data").exists(), "nothing was made");

    let broken = [("SALES_CONCIERGE__LOG__FILTER", OsString::from_vec(vec![b'x', 0xff]))];
    let (code, said) = ends(dir.path(), &["manifest"], broken).await;
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("SALES_CONCIERGE__LOG__FILTER: not valid UTF-8"), "{said}");

    std::fs::write(dir.path().join("sales-concierge.toml"), "[slack]\nbot_token = s3cr3t\n").expect("written");
    let (code, said) = ends(dir.path(), &["serve"], COMPLETE).await;
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("sales-concierge.toml: not valid TOML at line 2") && !said.contains("s3cr3t"), "{said}");
}

#[tokio::test]
async fn a_key_file_that_is_open_to_others_or_damaged_ends_with_2() {
    let dir = tempfile::tempdir().expect("a folder");
    let keys = dir.path().join("keys.json");
    for (text, mode, part) in [("{}", 0o644, "its mode must be 0600"), ("{}", 0o600, "is damaged")] {
        std::fs::write(&keys, text).expect("written");
        std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(mode)).expect("its mode");
        for args in [&["serve", "--data-dir", "."][..], &["playground", "--port", "0", "--data-dir", "."]] {
            let (code, said) = ends(dir.path(), args, COMPLETE).await;
            assert_eq!(code, 2, "{args:?}: {said}");
            assert!(said.contains(part), "{args:?}: {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slack_that_does_not_answer_and_a_port_in_use_end_with_3() {
    let dir = tempfile::tempdir().expect("a folder");
    let (code, said) = ends(dir.path(), &["serve"], COMPLETE).await;
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("Slack at http://127.0.0.1:1/api"), "{said}");

    let rig = Rig::start().await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let (api, token) = (rig.workspace.api_url(), rig.workspace.bot_token().reveal().to_owned());
    for name in ["SALES_CONCIERGE__SERVER__LISTEN", "SALES_CONCIERGE__SERVER__METRICS_LISTEN"] {
        let more = [("SLACK_API_URL", api.clone()), ("SLACK_BOT_TOKEN", token.clone()), (name, address.to_string())];
        let env = COMPLETE.into_iter().map(|(k, v)| (k, v.to_owned())).chain(more);
        let (code, said) = ends(dir.path(), &["serve"], env).await;
        assert_eq!(code, 3, "{name}: {said}");
        assert!(said.contains(&format!("{address} cannot be listened on")), "{name}: {said}");
    }
    let port = address.port().to_string();
    let (code, said) = ends(dir.path(), &["playground", "--port", &port], Vec::<(&str, &str)>::new()).await;
    assert_eq!(code, 3, "{said}");
    assert!(said.contains(&format!("port {port} cannot be used")), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_that_the_installation_lacks_are_named_at_the_start() {
    let rig = Rig::start().await;
    assert!(!rig.log().contains("lacks scopes"), "{}", rig.log());
    let shape: fn(&mut Settings) = |to| to.scopes.retain(|s| !matches!(s.as_str(), "assistant:write" | "im:history"));
    let rig = Rig::with(Options { shape: Some(shape), ..Options::default() }).await;
    assert!(rig.log().contains(r#""missing":"assistant:write, im:history""#), "{}", rig.log());
    assert!(rig.log().contains("reinstall"), "{}", rig.log());
}
