//! Reads Rust sources as far as the tidy tests need: tokens with their lines, and what is production code.
//!
//! Not a parser: it knows comments, literals, attributes and brackets, and that is enough to tell a path in code from
//! one in prose. The compiler has read the same files, so they are well-formed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What a file is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A name, a keyword or a number.
    Word(String),
    /// What a string literal holds, escapes as written.
    Text(String),
    /// Any other character; `::` is one token, since paths are what is looked for.
    Mark(&'static str),
}

/// A token and the line it begins in, from 1.
#[derive(Clone, Debug)]
pub struct At {
    pub token: Token,
    pub line: usize,
}

impl At {
    pub fn is(&self, mark: &str) -> bool {
        matches!(&self.token, Token::Mark(m) if *m == mark)
    }

    pub fn word(&self) -> Option<&str> {
        match &self.token {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match &self.token {
            Token::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// One file of `src`, without its tests.
#[derive(Debug)]
pub struct File {
    /// From the repository's root.
    pub path: PathBuf,
    /// The production tokens.
    pub tokens: Vec<At>,
    /// How many lines are production code, comments included.
    pub lines: usize,
}

impl File {
    /// The top-level module the file belongs to: `thread` for `src/thread/turn.rs`; `lib` and `main` for the roots.
    pub fn module(&self) -> String {
        let inside = self.path.strip_prefix("src").expect("a file of src");
        let first = inside.components().next().expect("a name").as_os_str().to_string_lossy();
        first.trim_end_matches(".rs").to_owned()
    }

    /// How many `super`s lead from the file's own module to the crate's root.
    pub fn depth(&self) -> usize {
        let inside = self.path.strip_prefix("src").expect("a file of src").with_extension("");
        let parts: Vec<_> = inside.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
        match parts.last().map(String::as_str) {
            Some("lib" | "main") if parts.len() == 1 => 0,
            Some("mod") => parts.len() - 1,
            _ => parts.len(),
        }
    }
}

/// The folder that holds Cargo.toml.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A file of the repository.
pub fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files under a folder whose name ends so, sorted.
pub fn files(folder: &str, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display())) {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(end) {
                found.push(path.strip_prefix(root()).expect("inside").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// The production code of `src`: without items under `#[cfg(test)]` and without the files such items name.
pub fn production() -> &'static [File] {
    static READ: OnceLock<Vec<File>> = OnceLock::new();
    READ.get_or_init(read_production)
}

fn read_production() -> Vec<File> {
    let mut all = Vec::new();
    let mut tests: BTreeSet<PathBuf> = BTreeSet::new();
    for path in files("src", ".rs") {
        let text = read(&path);
        let (tokens, cut) = without_tests(tokens(&text));
        let folder = match path.file_name().and_then(|n| n.to_str()) {
            Some("mod.rs" | "lib.rs" | "main.rs") => path.parent().expect("a folder").to_owned(),
            _ => path.with_extension(""),
        };
        for module in cut.modules {
            tests.extend([folder.join(format!("{module}.rs")), folder.join(module)]);
        }
        all.push(File { path, tokens, lines: text.lines().count() - cut.lines });
    }
    all.retain(|file| !tests.iter().any(|test| file.path.starts_with(test)));
    assert!(all.len() > 50, "src was not read");
    all
}

/// What was left out of a file.
#[derive(Debug, Default)]
struct Cut {
    modules: Vec<String>,
    lines: usize,
}

fn without_tests(tokens: Vec<At>) -> (Vec<At>, Cut) {
    let (mut kept, mut cut, mut i) = (Vec::new(), Cut::default(), 0);
    while i < tokens.len() {
        let Some(mut end) = attribute(&tokens, i) else {
            kept.push(tokens[i].clone());
            i += 1;
            continue;
        };
        let words: Vec<&str> = tokens[i..end].iter().filter_map(At::word).collect();
        if words.first() != Some(&"cfg") || !words.contains(&"test") || words.contains(&"not") {
            kept.extend_from_slice(&tokens[i..end]);
            i = end;
            continue;
        }
        while let Some(next) = attribute(&tokens, end) {
            end = next;
        }
        let begin = end;
        end = item(&tokens, begin);
        let words: Vec<&str> = tokens[begin..end].iter().filter_map(At::word).filter(|w| *w != "pub").collect();
        if tokens[end - 1].is(";")
            && let Some(at) = words.iter().position(|w| *w == "mod")
        {
            cut.modules.push(words[at + 1].to_owned());
        }
        cut.lines += tokens[end - 1].line - tokens[i].line + 1;
        i = end;
    }
    (kept, cut)
}

/// The end of the attribute that begins here.
fn attribute(tokens: &[At], at: usize) -> Option<usize> {
    (tokens.get(at)?.is("#") && tokens.get(at + 1)?.is("[")).then(|| closing(tokens, at + 1) + 1)
}

/// The end of the item that begins here: its semicolon, or the brace that closes its body.
fn item(tokens: &[At], begin: usize) -> usize {
    let mut i = begin;
    while i < tokens.len() {
        if tokens[i].is(";") {
            return i + 1;
        }
        if tokens[i].is("{") {
            return closing(tokens, i) + 1;
        }
        i = if tokens[i].is("(") || tokens[i].is("[") { closing(tokens, i) + 1 } else { i + 1 };
    }
    i
}

/// The bracket that closes the one here.
pub fn closing(tokens: &[At], open: usize) -> usize {
    let mut depth = 0_usize;
    for (i, at) in tokens.iter().enumerate().skip(open) {
        match at.token {
            Token::Mark("(" | "[" | "{") => depth += 1,
            Token::Mark(")" | "]" | "}") => {
                depth -= 1;
                if depth == 0 {
                    return i;
                }
            }
            _ => {}
        }
    }
    panic!("line {}: a bracket is not closed", tokens[open].line)
}

/// Splits a source into tokens; comments are dropped.
pub fn tokens(source: &str) -> Vec<At> {
    let text: Vec<char> = source.chars().collect();
    let (mut found, mut i, mut line) = (Vec::new(), 0, 1);
    while i < text.len() {
        let begun = (i, line);
        let rest = &text[i..];
        let token = match rest {
            ['/', '/', ..] => {
                i += rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
                None
            }
            ['/', '*', ..] => {
                i += block_comment(rest);
                None
            }
            ['r' | 'b' | 'c', ..] if raw(rest).is_some() => {
                let (hashes, prefix) = raw(rest).expect("just looked");
                let close: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
                let inner = &rest[prefix..];
                let length = inner.windows(close.len()).position(|w| w == close).expect("a raw string ends");
                i += prefix + length + close.len();
                Some(Token::Text(inner[..length].iter().collect()))
            }
            ['b' | 'c', '"', ..] | ['"', ..] => {
                let prefix = if rest[0] == '"' { 1 } else { 2 };
                let length = quoted(&rest[prefix..], '"');
                i += prefix + length + 1;
                Some(Token::Text(rest[prefix..prefix + length].iter().collect()))
            }
            ['\'', '\\', ..] | ['\'', _, '\'', ..] => {
                i += 1 + quoted(&rest[1..], '\'') + 1;
                None
            }
            [c, ..] if c.is_alphanumeric() || *c == '_' => {
                let length = rest.iter().position(|c| !(c.is_alphanumeric() || *c == '_')).unwrap_or(rest.len());
                i += length;
                Some(Token::Word(rest[..length].iter().collect()))
            }
            [':', ':', ..] => {
                i += 2;
                Some(Token::Mark("::"))
            }
            [c, ..] => {
                i += 1;
                // Any other character stands for itself; only these are looked for.
                ["(", ")", "[", "]", "{", "}", ";", ",", "#", "|", "=", "<", ">", "*", "$", "!", "&"]
                    .into_iter()
                    .find(|mark| mark.starts_with(*c))
                    .map(Token::Mark)
            }
            [] => None,
        };
        line += text[begun.0..i].iter().filter(|c| **c == '\n').count();
        found.extend(token.map(|token| At { token, line: begun.1 }));
    }
    found
}

/// Hashes and length of the beginning of a raw string.
fn raw(rest: &[char]) -> Option<(usize, usize)> {
    let r = rest.iter().take(2).position(|c| *c == 'r')?;
    let hashes = rest[r + 1..].iter().take_while(|c| **c == '#').count();
    (rest.get(r + 1 + hashes) == Some(&'"')).then_some((hashes, r + 2 + hashes))
}

fn quoted(rest: &[char], end: char) -> usize {
    let mut i = 0;
    while rest[i] != end {
        i += if rest[i] == '\\' { 2 } else { 1 };
    }
    i
}

fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut i) = (0_usize, 0);
    loop {
        match rest[i..] {
            ['/', '*', ..] => {
                depth += 1;
                i += 2;
            }
            ['*', '/', ..] => {
                depth -= 1;
                i += 2;
                if depth == 0 {
                    return i;
                }
            }
            _ => i += 1,
        }
    }
}
