//! What keeps the project in the shape that docs/architecture.md describes: the documents are read by these tests, so
//! neither they nor the code can change alone.

mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use sales_concierge::config::Config;
use source::{At, File, closing, files, production, read};

/// A file above this is split. Tests do not count.
const MAX_LINES: usize = 700;

/// Fails with what only one of two sets has.
fn assert_same(left: (&str, &BTreeSet<String>), right: (&str, &BTreeSet<String>)) {
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>().join(", ");
    let (more, less) = (only(left.1, right.1), only(right.1, left.1));
    assert!(more.is_empty() && less.is_empty(), "only in {}: [{more}]; only in {}: [{less}]", left.0, right.0);
}

// --- who may import whom

/// One row of the import table.
struct Row {
    modules: Vec<String>,
    may: BTreeSet<String>,
}

/// What stands in backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The cells of the Markdown table below a heading, without its head.
fn table(document: &str, heading: &str) -> Vec<Vec<String>> {
    let text = read(document);
    let rows: Vec<Vec<String>> = text
        .lines()
        .skip_while(|line| line.trim_start_matches('#').trim() != heading || !line.starts_with('#'))
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect())
        .collect();
    assert!(!rows.is_empty(), "{document} has no table below the heading `{heading}`");
    rows
}

/// The table of docs/architecture.md. `domain` is open to all; "all above" stands for the modules of the rows above.
fn rules() -> Vec<Row> {
    let mut above = BTreeSet::new();
    let mut rows = Vec::new();
    for cells in table("docs/architecture.md", "Who may import whom") {
        let modules = quoted(&cells[0]);
        let mut may: BTreeSet<String> = quoted(&cells[1]).into_iter().collect();
        if cells[1].contains("all above") {
            may.extend(above.iter().cloned());
        }
        if !above.is_empty() {
            may.insert("domain".to_owned());
        }
        above.extend(modules.iter().cloned());
        rows.push(Row { modules, may });
    }
    rows
}

/// Each path that leads to another top-level module: the module and the line.
fn imports(file: &File) -> Vec<(String, usize)> {
    let tokens = &file.tokens;
    let mut found = Vec::new();
    for i in 0..tokens.len() {
        // A path begins here only if nothing precedes it: `a::crate` is no path, `::sales_concierge` is none of ours.
        if i > 0 && tokens[i - 1].is("::") {
            continue;
        }
        let mut at = match tokens[i].word() {
            Some("crate") => i + 1,
            Some("sales_concierge") => i + 1,
            Some("super") if file.depth() > 0 => {
                let mut at = i;
                let mut ups = 0;
                while tokens[at].word() == Some("super") {
                    ups += 1;
                    at += if tokens.get(at + 1).is_some_and(|t| t.is("::")) { 2 } else { 1 };
                }
                if ups < file.depth() {
                    continue;
                }
                at - 1
            }
            _ => continue,
        };
        if !tokens.get(at).is_some_and(|t| t.is("::")) {
            continue;
        }
        at += 1;
        if tokens[at].is("{") {
            found.extend(first_names(tokens, at));
        } else if let Some(module) = tokens[at].word() {
            found.push((module.to_owned(), tokens[at].line));
        }
    }
    found
}

/// The first name of each path in `{a::b, c::{d, e}}`.
fn first_names(tokens: &[At], open: usize) -> Vec<(String, usize)> {
    let (mut found, mut i, end) = (Vec::new(), open, closing(tokens, open));
    while i < end {
        if (i == open || tokens[i].is(","))
            && let Some(module) = tokens[i + 1].word()
        {
            found.push((module.to_owned(), tokens[i + 1].line));
        }
        i = if i != open && tokens[i].is("{") { closing(tokens, i) } else { i + 1 };
    }
    found
}

#[test]
fn modules_import_only_what_the_table_in_the_architecture_allows() {
    let rules = rules();
    let of: BTreeMap<&str, &Row> =
        rules.iter().flat_map(|row| row.modules.iter().map(move |m| (m.as_str(), row))).collect();
    let mut faults = Vec::new();
    let mut arrows = 0;
    for file in production() {
        let module = file.module();
        if module == "lib" {
            continue;
        }
        let Some(row) = of.get(module.as_str()) else {
            faults.push(format!("{}: the import table has no row for `{module}`", file.path.display()));
            continue;
        };
        for (to, line) in imports(file) {
            if to == module || !of.contains_key(to.as_str()) {
                // Its own module, or an item of the crate's root (a macro).
                continue;
            }
            arrows += 1;
            if !row.may.contains(&to) {
                let allowed = row.may.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
                let allowed = if allowed.is_empty() { "nothing of ours" } else { &allowed };
                faults.push(format!(
                    "{}:{line}: `{module}` imports `{to}`; the table in docs/architecture.md lets it import {allowed}",
                    file.path.display()
                ));
            }
        }
    }
    assert!(arrows > 100, "the imports were not found: {arrows}");
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn the_import_table_names_every_module_once_and_points_only_upwards_in_itself() {
    let mut above: BTreeSet<String> = BTreeSet::new();
    for row in rules() {
        for to in &row.may {
            assert!(above.contains(to), "{:?} may import `{to}`, which has no row above", row.modules);
        }
        for module in row.modules {
            assert!(above.insert(module.clone()), "`{module}` has two rows");
        }
    }
    let mut real: BTreeSet<String> = production().iter().map(File::module).collect();
    real.remove("lib");
    assert_same(("the import table", &above), ("src", &real));
}

#[test]
fn the_reader_of_imports_sees_every_way_of_writing_a_path_and_no_prose() {
    let text = r##"
        //! Not [`crate::prose`].
        use crate::{agent, thread::{queue, turn::{self}}, words as w};
        /* use crate::comment; */
        fn f<'a>(x: &'a str) -> crate::domain::Lang { let c = '"'; let s = "crate::text"; super::super::work::f(r#"crate::raw"#, c) }
        use super::queue;
        #[cfg(test)]
        mod tests { use crate::only_in_tests; }
        pub(crate) fn g() {}
    "##;
    let file = File { path: PathBuf::from("src/thread/turn.rs"), tokens: source::tokens(text), lines: 0 };
    let found: Vec<String> = imports(&file).into_iter().map(|(module, _)| module).collect();
    assert_eq!(found, ["agent", "thread", "words", "domain", "work", "only_in_tests"]);
}

// --- the shape of files

#[test]
fn no_file_has_more_production_lines_than_a_reader_can_hold() {
    let long: Vec<String> = production()
        .iter()
        .filter(|file| file.lines > MAX_LINES)
        .map(|file| format!("{}: {} lines, at most {MAX_LINES}", file.path.display(), file.lines))
        .collect();
    assert!(long.is_empty(), "\n{}\n", long.join("\n"));
}

#[test]
fn no_name_says_that_its_author_found_no_better_one() {
    for path in files("src", "").into_iter().chain(files("tests", "")) {
        for part in &path {
            let stem = part.to_string_lossy();
            let stem = stem.split('.').next().unwrap_or_default();
            for word in stem.split(['_', '-']) {
                let vague = ["util", "utils", "common", "types", "manager", "service", "helper", "helpers", "misc"];
                assert!(!vague.contains(&word), "{}: `{word}` says nothing of what is inside", path.display());
            }
        }
    }
}

#[test]
fn every_module_opens_with_what_it_promises() {
    for path in files("src", ".rs") {
        let test = path.components().any(|c| c.as_os_str().to_string_lossy().starts_with("tests"));
        assert!(test || read(&path).starts_with("//! "), "{}: no module doc", path.display());
    }
}

// --- guarded types

/// The type, the file that alone makes it.
const GUARDED: [(&str, &str); 3] = [
    ("VerifiedBody", "src/slack/signature.rs"),
    ("ClaimedProposal", "src/proposals.rs"),
    ("AllowedCall", "src/policy.rs"),
];

#[test]
fn i08_guarded_types_are_made_in_one_file_and_cannot_be_copied_or_read_from_anywhere() {
    let forbidden = ["Clone", "Copy", "Default", "Deserialize"];
    let all = production();
    for (name, home) in GUARDED {
        let mut defined = 0;
        for file in all {
            let at_home = file.path.to_string_lossy() == home;
            let tokens = &file.tokens;
            for i in 1..tokens.len() {
                if tokens[i].word() != Some(name) {
                    continue;
                }
                let place = format!("{}:{}", file.path.display(), tokens[i].line);
                let before = tokens[i - 1].word();
                if before == Some("struct") {
                    defined += 1;
                    assert!(at_home, "{place}: {name} is defined outside {home}");
                    let derived = derives(tokens, i);
                    assert!(
                        derived.iter().all(|d| !forbidden.contains(&d.as_str())),
                        "{place}: {name} derives {derived:?}"
                    );
                    let fields = &tokens[i + 1..closing(tokens, i + 1)];
                    assert!(fields.iter().all(|t| t.word() != Some("pub")), "{place}: {name} has a public field");
                }
                // `Name {` is a literal unless it ends the head of an item: `-> Name {`, `impl Name {`, `for Name {`.
                let literal = tokens.get(i + 1).is_some_and(|t| t.is("{") || t.is("("))
                    && !matches!(before, Some("struct" | "impl" | "for" | "mod"))
                    && !tokens[i - 1].is(">");
                assert!(at_home || !literal, "{place}: {name} is made outside {home}");
                if before == Some("for") {
                    let head = tokens[..i].iter().rev().take_while(|t| t.word() != Some("impl"));
                    let of: Vec<&str> = head.filter_map(At::word).collect();
                    assert!(of.iter().all(|w| !forbidden.contains(w)), "{place}: {name} implements {of:?}");
                }
            }
        }
        assert_eq!(defined, 1, "{name} has one definition");
    }
}

/// The last names of what the struct at `at` derives.
fn derives(tokens: &[At], at: usize) -> Vec<String> {
    let begin = tokens[..at].iter().rposition(|t| t.is(";") || t.is("}")).map_or(0, |i| i + 1);
    let head = &tokens[begin..at];
    let Some(derive) = head.iter().position(|t| t.word() == Some("derive")) else { return Vec::new() };
    let list = &head[derive + 2..closing(head, derive + 1)];
    list.split(|t| t.is(",")).filter_map(|path| path.last()?.word().map(str::to_owned)).collect()
}

// --- the Slack app's manifest

/// The items of one list of manifest.yaml.
fn manifest(key: &str) -> BTreeSet<String> {
    let found: BTreeSet<String> = read("manifest.yaml")
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != format!("{key}:"))
        .skip(1)
        .map_while(|line| line.strip_prefix("- "))
        .map(|item| item.split(" #").next().unwrap_or(item).trim().to_owned())
        .collect();
    assert!(!found.is_empty(), "the manifest has no {key}");
    found
}

fn file<'a>(all: &'a [File], path: &str) -> &'a File {
    all.iter().find(|file| file.path.to_string_lossy() == path).unwrap_or_else(|| panic!("{path} is gone"))
}

/// The Web API methods that the client calls.
fn methods(all: &[File]) -> BTreeSet<String> {
    let of_client = all.iter().filter(|file| file.path.to_string_lossy().starts_with("src/slack/client"));
    let called = of_client.flat_map(|file| file.tokens.windows(3)).filter_map(|w| {
        (matches!(w[0].word(), Some("call" | "get")) && w[1].is("(")).then(|| w[2].text().map(str::to_owned))?
    });
    let found: BTreeSet<String> = called.filter(|name| name.contains('.')).collect();
    assert!(found.contains("chat.postMessage"), "the methods were not found: {found:?}");
    found
}

/// The string patterns of the `match` over what `pointer` points to.
fn patterns(tokens: &[At], pointer: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (i, _) in tokens.iter().enumerate().filter(|(_, t)| t.text() == Some(pointer)) {
        let is_matched = tokens[i + 1].is(")") && tokens[i + 2].is("{");
        if !is_matched {
            continue;
        }
        let arms = &tokens[i + 3..closing(tokens, i + 2)];
        for (some, _) in arms.windows(2).enumerate().filter(|(_, w)| w[0].word() == Some("Some") && w[1].is("(")) {
            let inside = &arms[some + 2..closing(arms, some + 1)];
            let is_pattern = arms.get(some + 3 + inside.len()).is_some_and(|t| t.is("="));
            found.extend(inside.iter().filter(|_| is_pattern).filter_map(At::text).map(str::to_owned));
        }
    }
    found
}

/// The events that the code reads, by the names under which they are subscribed to.
fn events(all: &[File]) -> BTreeSet<String> {
    let tokens = &file(all, "src/slack/inbound.rs").tokens;
    let mut found = patterns(tokens, "/event/type");
    if found.remove("message") {
        // One event per kind of conversation.
        let kinds = patterns(tokens, "/channel_type");
        assert!(!kinds.is_empty(), "the kinds of conversations were not found");
        found.extend(kinds.iter().map(|kind| match kind.as_str() {
            "channel" | "group" => format!("message.{kind}s"),
            _ => format!("message.{kind}"),
        }));
    }
    found
}

#[test]
fn the_manifest_subscribes_to_exactly_the_events_that_the_code_reads() {
    let read = events(production());
    assert_same(("manifest.yaml", &manifest("bot_events")), ("src/slack/inbound.rs", &read));
}

#[test]
fn the_manifest_requests_exactly_the_scopes_that_methods_and_events_need() {
    let all = production();
    let everywhere = |right: &str| ["channels", "groups", "im", "mpim"].map(|kind| format!("{kind}:{right}")).to_vec();
    let mut needed: BTreeSet<String> = BTreeSet::new();
    for method in methods(all) {
        needed.extend(match method.as_str() {
            "auth.test" => Vec::new(),
            "chat.postMessage" | "chat.postEphemeral" | "chat.update" | "chat.delete" => vec!["chat:write".to_owned()],
            "conversations.replies" => everywhere("history"),
            // Only of direct messages.
            "conversations.history" => vec!["im:history".to_owned()],
            "conversations.open" => vec!["im:write".to_owned()],
            // A direct message has no other readers.
            "conversations.info" | "conversations.members" => {
                ["channels", "groups", "mpim"].map(|kind| format!("{kind}:read")).to_vec()
            }
            "users.info" => vec!["users:read".to_owned()],
            "assistant.threads.setStatus" | "assistant.threads.setSuggestedPrompts" | "agents.sessions.setStatus" => {
                vec!["assistant:write".to_owned()]
            }
            other => panic!("src/slack/client.rs calls {other}: say here which scopes it needs"),
        });
    }
    for event in events(all) {
        needed.extend(match event.as_str() {
            "app_mention" => Some("app_mentions:read".to_owned()),
            "app_home_opened" | "app_uninstalled" | "tokens_revoked" | "agent_session_stopped" => None,
            other => Some(format!("{}:history", other.strip_prefix("message.").expect("a message event"))),
        });
    }
    assert_same(("manifest.yaml", &manifest("bot")), ("what src/slack needs", &needed));
    let compared = sales_concierge::slack::scopes::NEEDED.map(str::to_owned).into();
    assert_same(("manifest.yaml", &manifest("bot")), ("src/slack/scopes.rs", &compared));
}

// --- dependencies

/// The names of a section of Cargo.toml.
fn dependencies(section: &str) -> BTreeSet<String> {
    let text = read("Cargo.toml");
    let lines = text.lines().skip_while(|line| *line != format!("[{section}]")).skip(1);
    lines
        .take_while(|line| !line.starts_with('['))
        .filter_map(|l| l.split_once(" = "))
        .map(|(n, _)| n.to_owned())
        .collect()
}

#[test]
fn every_dependency_is_used_and_stands_in_the_architecture_with_its_purpose() {
    let explained: BTreeSet<String> = table("docs/architecture.md", "Dependencies")
        .iter()
        .flat_map(|cells| cells[0].split(", ").map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let all: BTreeSet<String> =
        dependencies("dependencies").union(&dependencies("dev-dependencies")).cloned().collect();
    assert_same(("Cargo.toml", &all), ("the table of dependencies", &explained));
    let code: String = ["src", "tests", "bench"]
        .iter()
        .filter(|folder| source::root().join(folder).exists())
        .flat_map(|folder| files(folder, ".rs"))
        .map(read)
        .collect();
    for name in all {
        let path = name.replace('-', "_");
        let uses = [format!("{path}::"), format!("use {path};"), format!("{path} as ")];
        assert!(uses.iter().any(|u| code.contains(u)), "Cargo.toml names {name}, and nothing uses it");
    }
}

// --- the README

const READMES: [&str; 2] = ["README.md", "README.ja.md"];

/// The command lines of this program in a document's code blocks: what follows the program's name.
fn commands(document: &str) -> Vec<String> {
    let text = read(document);
    let blocks = text.split("```").skip(1).step_by(2);
    let lines = blocks.flat_map(|block| block.lines().map(str::to_owned).collect::<Vec<_>>());
    lines
        .filter_map(|line| {
            let line = line.split(" #").next().unwrap_or_default().replace("cargo run --release --", "sales-concierge");
            let (before, after) = line.split_once("sales-concierge ")?;
            let runs = before.is_empty() || before.ends_with(['/', ' ']) && !before.contains("docker");
            runs.then(|| after.trim().to_owned())
        })
        .collect()
}

/// What `--help` prints for a subcommand; `None` when there is none.
fn help(path: &[String]) -> Option<String> {
    let help = Command::new(env!("CARGO_BIN_EXE_sales-concierge")).args(path).arg("--help").env_clear().output();
    let help = help.expect("the program runs");
    help.status.success().then(|| String::from_utf8_lossy(&help.stdout).into_owned())
}

#[test]
fn every_command_of_the_documents_exists_with_its_options() {
    let mut helps: BTreeMap<Vec<String>, Option<String>> = BTreeMap::new();
    for document in READMES.into_iter().chain(["docs/operations.md"]) {
        let commands = commands(document);
        assert!(!commands.is_empty(), "{document} shows no command");
        for command in commands {
            // Subcommands come first, then options and values.
            let is_name =
                |word: &&str| !word.starts_with('-') && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            let path: Vec<String> = command.split_whitespace().take_while(is_name).map(str::to_owned).collect();
            let text = helps.entry(path.clone()).or_insert_with(|| help(&path)).clone();
            let text = text.unwrap_or_else(|| panic!("{document}: `sales-concierge {command}`: no such command"));
            for option in command.split_whitespace().filter(|word| word.starts_with("--")) {
                let offered = text.split_whitespace().any(|word| word == option);
                assert!(offered, "{document}: `sales-concierge {command}`: no option {option}");
            }
        }
    }
}

/// Every setting with its default, as `Debug` shows them: `section.key`.
fn settings() -> BTreeSet<String> {
    let shown = format!("{:#?}", Config::default());
    let (mut section, mut found) = (String::new(), BTreeSet::new());
    for line in shown.lines() {
        let depth = line.len() - line.trim_start().len();
        let Some((name, _)) = line.trim().split_once(": ") else { continue };
        match depth {
            4 => section = name.to_owned(),
            // The role table is a map: its keys are roles.
            8 if section != "policy" => drop(found.insert(format!("{section}.{name}"))),
            _ => {}
        }
    }
    assert!(found.len() > 30, "the settings were not found: {found:?}");
    found
}

#[test]
fn the_table_of_settings_is_complete_and_its_defaults_are_the_programs() {
    for (document, heading) in READMES.into_iter().zip(["Settings", "設定"]) {
        let mut env = std::collections::HashMap::new();
        let mut listed = BTreeSet::new();
        for cells in table(document, heading) {
            let key = quoted(&cells[0]).remove(0);
            if let Some(default) = quoted(&cells[1]).first() {
                env.insert(format!("SALES_CONCIERGE__{}", key.to_uppercase().replace('.', "__")), default.clone());
            }
            listed.insert(key);
        }
        let config = Config::from_parts(None, env).unwrap_or_else(|error| panic!("{document}: {error}"));
        let (listed_defaults, real) = (format!("{config:#?}"), format!("{:#?}", Config::default()));
        for (listed, real) in listed_defaults.lines().zip(real.lines()) {
            assert_eq!(listed.trim(), real.trim(), "{document}: left: its table's default; right: the program's");
        }
        listed.retain(|key| !key.starts_with("policy."));
        assert_same((document, &listed), ("the program", &settings()));
    }
}

#[test]
fn the_links_of_the_documents_lead_somewhere() {
    let docs: Vec<PathBuf> = files("docs", ".md").into_iter().chain(READMES.map(PathBuf::from)).collect();
    for document in docs {
        let text = read(&document);
        let folder = document.parent().expect("a folder");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap_or_default();
            let is_ours = !path.is_empty() && !path.contains("://");
            assert!(
                !is_ours || source::root().join(folder).join(path).exists(),
                "{}: {link} leads nowhere",
                document.display()
            );
        }
    }
}

// --- invariants and crash windows

/// What has a test of its own: invariants (`i01`…) and the moments at which a process is killed (`k01`…).
const NUMBERS: [&str; 24] = [
    "i01", "i02", "i03", "i04", "i05", "i06", "i08", "i09", "i10", "i11", "i14", "i15", "i21", "i24", "i25", "k01",
    "k02", "k06", "k08", "k09", "k10", "k11", "k12", "k14",
];

#[test]
fn every_invariant_and_every_crash_window_has_a_test_that_carries_its_number() {
    let code: String = files("src", ".rs").into_iter().chain(files("tests", ".rs")).map(read).collect();
    let is_number = |part: &&str| part.len() == 3 && part.starts_with(['i', 'k']) && part[1..].parse::<u8>().is_ok();
    // A name may carry several: `fn k01_k02_killed_…`.
    let named: BTreeSet<&str> = code.split("fn ").flat_map(|name| name.split('_').take_while(is_number)).collect();
    let missing: Vec<&str> = NUMBERS.into_iter().filter(|n| !named.contains(n)).collect();
    assert!(missing.is_empty(), "no test is named after {missing:?}");
}

#[test]
fn i16_no_sentence_of_the_catalogue_holds_an_invisible_character() {
    let invisible = |c: char| matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{206F}' | '\u{202A}'..='\u{202E}');
    for entry in std::fs::read_dir(source::root().join("src/words")).expect("the catalogue") {
        let path = entry.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("text");
        for (number, line) in text.lines().enumerate() {
            assert!(!line.contains(invisible), "{}:{}: {line:?}", path.display(), number + 1);
        }
    }
}
