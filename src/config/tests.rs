//! Settings as an operator writes them, and the faults they are told of.

use super::*;

fn load(env: &[(&str, &str)]) -> Result<Config, ConfigError> {
    Config::from_parts(None, env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
}

#[test]
fn our_own_variable_wins_over_the_usual_name() {
    let config = load(&[
        ("SLACK_BOT_TOKEN", "xoxb-usual"),
        ("SALES_CONCIERGE__SLACK__BOT_TOKEN", "xoxb-ours"),
        ("SALES_CONCIERGE__LIMITS__ROUNDS", "5"),
        ("SALES_CONCIERGE__COMPANY__ZONE", "Europe/London"),
        ("UNRELATED", "x"),
    ])
    .unwrap();
    assert_eq!(config.slack.bot_token.unwrap().reveal(), "xoxb-ours");
    assert_eq!((config.limits.rounds, config.company.zone), (5, chrono_tz::Tz::Europe__London));
}

#[test]
fn all_faults_are_listed_with_key_and_variable_and_without_the_value() {
    let error = load(&[
        ("SALES_CONCIERGE__LIMITS__ROUNDS", "many-secret"),
        ("SALES_CONCIERGE__LIMITS__NONSENSE", "1"),
        ("SALES_CONCIERGE__SERVER__LISTEN", "here-secret"),
        ("SALES_CONCIERGE__NOWHERE__KEY", "1"),
        ("SLACK_SIGNING_SECRET_FILE", "/no/such/file"),
    ])
    .unwrap_err();
    let text = error.to_string();
    for part in [
        "limits.rounds (SALES_CONCIERGE__LIMITS__ROUNDS)",
        "limits.nonsense (SALES_CONCIERGE__LIMITS__NONSENSE): no such setting",
        "server.listen (SALES_CONCIERGE__SERVER__LISTEN)",
        "[nowhere] is not a section",
        "SLACK_SIGNING_SECRET_FILE: cannot read /no/such/file",
    ] {
        assert!(text.contains(part), "{part} missing in:\n{text}");
    }
    assert!(!text.contains("-secret"), "{text}");
}

#[test]
fn a_secret_is_read_from_a_file_and_never_printed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("secret");
    std::fs::write(&path, "s3cr3t\n").unwrap();
    let config = load(&[("SLACK_SIGNING_SECRET_FILE", path.to_str().unwrap())]).unwrap();
    assert_eq!(config.slack.signing_secret.as_ref().unwrap().reveal(), "s3cr3t");
    assert!(!format!("{config:?}").contains("s3cr3t"));
}

#[test]
fn what_serve_cannot_do_without_or_cannot_use_is_named_at_once() {
    let faulty = [
        ("SALES_CONCIERGE__SERVER__METRICS_LISTEN", "here-secret"),
        ("SLACK_API_URL", "ftp://secret"),
        ("DATABASE_URL", "mysql://u:secret@db"),
    ];
    let text = load(&faulty).unwrap().check_serve().unwrap_err().to_string();
    let missing = ["SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET", "OPENAI_API_KEY"];
    for name in missing.into_iter().chain(["server.metrics_listen", "slack.api_url", "DATABASE_URL"]) {
        assert!(text.contains(name), "{name} missing in:\n{text}");
    }
    assert!(!text.contains("secret@") && !text.contains("-secret") && !text.contains("ftp:"), "{text}");
}

#[test]
fn a_base_url_or_a_key_that_cannot_be_sent_is_a_fault() {
    for (name, value) in [
        ("OPENAI_BASE_URL", "localhost"),
        ("OPENAI_BASE_URL", "localhost:8080/v1"),
        ("OPENAI_BASE_URL", "unix:/x"),
        ("OPENAI_API_KEY", "sk-a\nb"),
    ] {
        let text = load(&[(name, value)]).unwrap().check_playground().unwrap_err().to_string();
        assert!(text.contains("model.") && !text.contains(value), "{value}: {text}");
    }
    load(&[("OPENAI_BASE_URL", "http://localhost:8080/v1")]).unwrap().check_playground().unwrap();
}

#[test]
fn a_file_that_is_no_toml_is_named_with_line_and_column_and_without_its_text_beside_all_other_faults() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.toml");
    let env = || HashMap::from([("SALES_CONCIERGE__LIMITS__ROUNDS".to_owned(), "many".to_owned())]);
    for (text, place) in [
        ("[slack]\nsigning_secret = s3cr3t\n", " at line 2, column 18"),
        ("[slack]\nsigning_secret = \"s3cr3t\nx", " at line "),
        ("s3cr3t = 99999999999999999999999999", ""),
    ] {
        std::fs::write(&path, text).unwrap();
        let text = Config::read(Some(&path), env(), vec!["an earlier fault".to_owned()]).unwrap_err().to_string();
        assert!(text.contains(&format!("s.toml: not valid TOML{place}")), "{text}");
        assert!(text.contains("limits.rounds") && text.contains("an earlier fault"), "{text}");
        assert!(!text.contains("s3cr3t") && !text.contains("9999"), "{text}");
    }
    let missing = Config::from_parts(Some(&dir.path().join("none.toml")), env()).unwrap_err().to_string();
    assert!(missing.contains("none.toml: cannot be read") && missing.contains("limits.rounds"), "{missing}");
}

#[test]
fn a_variable_that_is_no_text_is_a_fault_if_it_is_ours_and_otherwise_nothing() {
    use std::os::unix::ffi::OsStringExt;
    let broken = || OsString::from_vec(vec![b'x', 0xff]);
    let env = [
        (OsString::from("SLACK_BOT_TOKEN"), broken()),
        (OsString::from("OPENAI_API_KEY_FILE"), broken()),
        (OsString::from("SOMETHING_ELSE"), broken()),
        (broken(), OsString::from("1")),
        (OsString::from("RUST_LOG"), OsString::from("warn")),
    ];
    let (read, faults) = readable(env.into_iter());
    assert_eq!(read, HashMap::from([("RUST_LOG".to_owned(), "warn".to_owned())]));
    assert_eq!(faults, ["SLACK_BOT_TOKEN: not valid UTF-8", "OPENAI_API_KEY_FILE: not valid UTF-8"]);
}

#[test]
fn where_redis_is_can_be_said_in_three_ways_and_each_fault_is_named_without_the_address() {
    let faults_of = |env: &[(&str, &str)]| {
        let config = load(env).unwrap();
        let text = config.check_serve().unwrap_err().to_string();
        text.lines().filter(|line| line.contains("work.")).map(str::to_owned).collect::<Vec<_>>()
    };
    let (cluster, master) = ("SALES_CONCIERGE__WORK__CLUSTER", "SALES_CONCIERGE__WORK__SENTINEL_MASTER");
    for good in [
        &[("REDIS_URL", "redis://:s3cr3t@r:6379/2")][..],
        &[("REDIS_URL", "rediss://user:s3cr3t@r")],
        &[("REDIS_URL", "unix:///run/redis/socket")],
        &[("REDIS_URL", "redis://r1:7000, redis://r2:7000"), (cluster, "true")],
        &[("REDIS_URL", "redis://s1:26379,redis://s2:26379"), (master, "mymaster")],
        &[("REDIS_URL", "")],
    ] {
        assert_eq!(faults_of(good), Vec::<String>::new(), "{good:?}");
    }
    for (bad, why) in [
        (&[("REDIS_URL", "http://s3cr3t")][..], "begins with redis://"),
        (&[("REDIS_URL", "redis://s3cr3t,redis://r2")], "several addresses need work.cluster or work.sentinel_master"),
        (&[("REDIS_URL", "redis://s3cr3t"), (cluster, "true"), (master, "m")], "exclude each other"),
        (&[("REDIS_URL", "unix:///s3cr3t"), (cluster, "true")], "through a socket"),
        (&[("REDIS_URL", "redis://s3cr3t/3"), (cluster, "true")], "no database but 0"),
        (&[(cluster, "true")], "not set, and work.cluster is"),
        (&[("REDIS_URL", "redis://s3cr3t"), ("SALES_CONCIERGE__WORK__PREFIX", "{a}")], "curly brackets"),
    ] {
        let faults = faults_of(bad);
        assert!(faults.len() == 1 && faults[0].contains(why) && !faults[0].contains("s3cr3t"), "{bad:?}: {faults:?}");
    }
    let file = PathBuf::from("work.sqlite");
    assert!(matches!(load(&[]).unwrap().work(file.clone()), work::Source::File(_)));
    assert!(matches!(load(&[("REDIS_URL", "redis://r")]).unwrap().work(file), work::Source::Redis(_)));
}

#[test]
fn a_login_of_another_part_alone_never_means_the_file() {
    let is_file = |config: &Config, group| matches!(config.records("f".into(), group), RecordsSource::File(_));
    let groups = [Group::Owner, Group::Bot, Group::Reader, Group::Committer, Group::Auditor];
    for (variable, key, own) in [
        ("SALES_CONCIERGE__RECORDS__MIGRATE_URL", "records.migrate_url", &[Group::Owner][..]),
        (
            "SALES_CONCIERGE__SALES_SERVER__DATABASE_URL",
            "sales_server.database_url",
            &[Group::Reader, Group::Committer],
        ),
    ] {
        let alone = load(&[(variable, "postgres://u:s3cr3t@db/x")]).unwrap();
        for group in groups {
            if own.contains(&group) {
                alone.check_stores(group).unwrap();
                assert!(!is_file(&alone, group), "{key} is enough for {group:?}");
            } else {
                let text = alone.check_stores(group).unwrap_err().to_string();
                assert!(text.contains(key) && text.contains("DATABASE_URL") && !text.contains("s3cr3t"), "{text}");
            }
        }
        assert!(alone.check_serve().unwrap_err().to_string().contains(&format!("is not set, and {key} is")));
        let both = load(&[(variable, "postgres://db/x"), ("DATABASE_URL", "postgres://db/y")]).unwrap();
        assert!(groups.iter().all(|group| both.check_stores(*group).is_ok() && !is_file(&both, *group)));
    }
    let none = load(&[]).unwrap();
    assert!(groups.iter().all(|group| none.check_stores(*group).is_ok() && is_file(&none, *group)));
}
