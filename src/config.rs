//! Settings: built-in defaults, then a TOML file, then the environment.
//!
//! The only reader of the environment. Each module owns the struct of its section; this one collects them and reports
//! every fault at once, each with its key and its variable, never with its value.

use std::collections::HashMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use config::{Config as Source, File, FileFormat, Map, Value};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::domain::Secret;
use crate::records::Source as RecordsSource;
use crate::records::postgres::{Group, Section as RecordsSection};
use crate::{agent, audit, duties, policy, proposals, telemetry, thread, work};

const PREFIX: &str = "SALES_CONCIERGE";
const FILE: &str = "sales-concierge.toml";

/// Bytes of history that Redis keeps of a thread, however little of it is shown.
const LEAST_HISTORY: u64 = 128 * 1024;

/// Everything that can be set.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Addresses.
    pub server: Server,
    /// The Slack installation.
    pub slack: Slack,
    /// The company.
    pub company: thread::asker::Company,
    /// The language model.
    pub model: Model,
    /// The bounds of a turn.
    pub limits: agent::Limits,
    /// Role → tools.
    pub policy: policy::Table,
    /// Where figures may be shown.
    pub audience: thread::audience::Settings,
    /// Turns.
    pub turn: thread::turn::Settings,
    /// Workers.
    pub worker: thread::worker::Settings,
    /// Background duties.
    pub duties: duties::Settings,
    /// The trail.
    pub audit: audit::Settings,
    /// Proposals.
    pub proposals: proposals::Settings,
    /// Where the records are.
    pub records: RecordsSection,
    /// Where the work is.
    pub work: work::Section,
    /// The sales server.
    pub sales_server: SalesServer,
    /// Logs.
    pub log: telemetry::Settings,
}

/// `[server]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// Where Slack's requests arrive.
    pub listen: SocketAddr,
    /// Where `/metrics` is served; port 0 picks a free one, an empty value turns it off.
    pub metrics_listen: String,
}

impl Default for Server {
    fn default() -> Self {
        Self { listen: SocketAddr::from(([127, 0, 0, 1], 3000)), metrics_listen: "127.0.0.1:9464".into() }
    }
}

/// `[slack]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Slack {
    /// The Web API's base, with or without a trailing slash.
    pub api_url: String,
    /// `xoxb-…`
    pub bot_token: Option<Secret>,
    /// Checks that requests come from Slack.
    pub signing_secret: Option<Secret>,
    /// The former signing secret, while it is being rotated.
    pub former_signing_secret: Option<Secret>,
    /// How long one Web API call may take, in milliseconds.
    pub timeout_ms: u64,
    /// Deliveries come over sockets that the bot opens, not over HTTP.
    pub socket_mode: bool,
    /// `xapp-…`, for Socket Mode.
    pub app_token: Option<Secret>,
    /// How long a socket may take to be open, in milliseconds.
    pub socket_connect_ms: u64,
    /// How often a socket is asked for a sign of life, in milliseconds; without one for three times as long it is replaced.
    pub socket_ping_ms: u64,
}

impl Default for Slack {
    fn default() -> Self {
        Self {
            api_url: "https://slack.com/api".into(),
            bot_token: None,
            signing_secret: None,
            former_signing_secret: None,
            timeout_ms: 10_000,
            socket_mode: false,
            app_token: None,
            socket_connect_ms: 10_000,
            socket_ping_ms: 10_000,
        }
    }
}

/// `[model]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Model {
    /// Which API the endpoint speaks.
    pub api: agent::openai::Api,
    /// The endpoint, up to and including `/v1`; OpenAI's own when absent.
    pub base_url: Option<String>,
    /// The model's name there.
    pub name: String,
    /// The key, if the endpoint wants one.
    pub api_key: Option<Secret>,
    /// Left to the endpoint when absent.
    pub temperature: Option<f32>,
    /// Left to the endpoint when absent.
    pub max_output_tokens: Option<u32>,
    /// Left to the endpoint when absent.
    pub parallel_tool_calls: Option<bool>,
    /// What a million tokens read by the model cost, in a currency of your choice; for `model_cost_total`.
    pub input_price: f64,
    /// What a million tokens written by the model cost.
    pub output_price: f64,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            api: agent::openai::Api::Responses,
            base_url: None,
            name: "gpt-5-mini".into(),
            api_key: None,
            temperature: None,
            max_output_tokens: None,
            parallel_tool_calls: None,
            input_price: 0.0,
            output_price: 0.0,
        }
    }
}

impl Model {
    /// The endpoint's settings.
    pub fn endpoint(&self) -> agent::openai::Settings {
        let base_url = self.base_url.as_deref().unwrap_or("https://api.openai.com/v1");
        agent::openai::Settings {
            api_key: self.api_key.clone(),
            temperature: self.temperature,
            max_output_tokens: self.max_output_tokens,
            parallel_tool_calls: self.parallel_tool_calls,
            price_per_million: (self.input_price, self.output_price),
            ..agent::openai::Settings::new(self.api, base_url, self.name.clone())
        }
    }
}

/// `[sales_server]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SalesServer {
    /// Where the bot asks it over HTTP, up to and including `/mcp`. Empty: the bot starts one as its child process.
    pub url: String,
    /// Public keys of accepted caller tokens, comma separated. Set by the bot for its child process.
    pub caller_keys: String,
    /// Public keys of accepted approval tokens, comma separated. Set by the bot for its child process.
    pub approval_keys: String,
    /// The database login of the sales server; the bot's when absent.
    pub database_url: Option<Secret>,
    /// How long one tool call may take, in milliseconds.
    pub call_timeout_ms: u64,
    /// How long after a registration its own person may cancel it, in hours.
    pub undo_window_h: u32,
    /// For `sales-server --transport http`: the address.
    pub listen: SocketAddr,
    /// Its address as clients see it, if another; named in its metadata.
    pub public_url: String,
    /// Names, comma separated, under which it may be asked besides loopback.
    pub allowed_hosts: String,
    /// Origins of web pages, comma separated, that may ask it. Empty: none.
    pub allowed_origins: String,
    /// Requests it takes in a second; more are answered with 429.
    pub requests_per_second: NonZeroU32,
    /// Requests it works on at a time; more are answered with 503.
    pub concurrent_requests: u32,
}

impl Default for SalesServer {
    fn default() -> Self {
        Self {
            url: String::new(),
            caller_keys: String::new(),
            approval_keys: String::new(),
            database_url: None,
            call_timeout_ms: 30_000,
            undo_window_h: 24,
            listen: SocketAddr::from(([127, 0, 0, 1], 3100)),
            public_url: String::new(),
            allowed_hosts: String::new(),
            allowed_origins: String::new(),
            requests_per_second: NonZeroU32::new(2000).unwrap_or(NonZeroU32::MIN),
            concurrent_requests: 256,
        }
    }
}

/// All faults of a configuration, one line each.
#[derive(Debug, thiserror::Error)]
#[error("the configuration has {} fault(s):\n{}", .0.len(), .0.join("\n"))]
pub struct ConfigError(pub Vec<String>);

/// Names that are usual elsewhere, and the keys they stand for. Ours win over them.
const USUAL: [(&str, &str); 9] = [
    ("DATABASE_URL", "records.url"),
    ("REDIS_URL", "work.url"),
    ("OPENAI_API_KEY", "model.api_key"),
    ("OPENAI_BASE_URL", "model.base_url"),
    ("SLACK_BOT_TOKEN", "slack.bot_token"),
    ("SLACK_SIGNING_SECRET", "slack.signing_secret"),
    ("SLACK_APP_TOKEN", "slack.app_token"),
    ("SLACK_API_URL", "slack.api_url"),
    ("RUST_LOG", "log.filter"),
];

impl Config {
    /// Reads the process's environment and the file: `file`, else `sales-concierge.toml` in the working folder if there
    /// is one.
    ///
    /// # Errors
    /// With all faults found.
    #[expect(clippy::disallowed_methods, reason = "this module is the one that reads the environment")]
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        let file = match file {
            Some(file) => Some(file.to_owned()),
            None => Some(PathBuf::from(FILE)).filter(|file| file.exists()),
        };
        let (env, faults) = readable(std::env::vars_os());
        Self::read(file.as_deref(), env, faults)
    }

    /// The same over a given environment.
    ///
    /// # Errors
    /// With all faults found.
    pub fn from_parts(file: Option<&Path>, env: HashMap<String, String>) -> Result<Self, ConfigError> {
        Self::read(file, env, Vec::new())
    }

    /// `faults`: those found so far. A part that cannot be read is left out, so that the others are still checked.
    fn read(file: Option<&Path>, env: HashMap<String, String>, mut faults: Vec<String>) -> Result<Self, ConfigError> {
        let env = with_files(env, &mut faults);
        let mut builder = Source::builder();
        if let Some(file) = file {
            match parsed(file) {
                Ok(source) => builder = builder.add_source(source),
                Err(fault) => faults.push(fault),
            }
        }
        for (name, key) in USUAL {
            if let Some(value) = env.get(name).filter(|v| !v.is_empty()) {
                match builder.clone().set_override(key, value.clone()) {
                    Ok(more) => builder = more,
                    Err(_) => faults.push(format!("{name}: cannot be used as {key}")),
                }
            }
        }
        let ours: HashMap<String, String> =
            env.into_iter().filter(|(name, _)| name.starts_with(&format!("{PREFIX}__"))).collect();
        // `set_override` beats every source, so our own variables are applied the same way and after the usual names.
        for (name, value) in &ours {
            let key = name.trim_start_matches(&format!("{PREFIX}__")).to_lowercase().replace("__", ".");
            match builder.clone().set_override(&key, value.clone()) {
                Ok(more) => builder = more,
                Err(_) => faults.push(format!("{name}: not the name of a setting")),
            }
        }
        // The library's own words would hold the values.
        let sections = match builder.build().and_then(Source::try_deserialize::<Map<String, Value>>) {
            Ok(sections) => sections,
            Err(_) => {
                faults.push("the settings of the file and those of the environment do not go together".to_owned());
                Map::new()
            }
        };
        let mut sections = Sections { sections, faults };
        let config = Self {
            server: sections.take("server"),
            slack: sections.take("slack"),
            company: sections.take("company"),
            model: sections.take("model"),
            limits: sections.take("limits"),
            policy: sections.take("policy"),
            audience: sections.take("audience"),
            turn: sections.take("turn"),
            worker: sections.take("worker"),
            duties: sections.take("duties"),
            audit: sections.take("audit"),
            proposals: sections.take("proposals"),
            records: sections.take("records"),
            sales_server: sections.take("sales_server"),
            work: sections.take("work"),
            log: sections.take("log"),
        };
        sections.finish()?;
        Ok(config)
    }

    /// What `serve` cannot do without, and values that only it uses.
    ///
    /// # Errors
    /// With everything that is missing or unusable.
    pub fn check_serve(&self) -> Result<(), ConfigError> {
        let mut faults = self.store_faults(Group::Bot);
        faults.extend(self.work_faults());
        if self.slack.bot_token.is_none() {
            faults.push(missing("slack.bot_token", "SLACK_BOT_TOKEN", "the bot token of the installed app, xoxb-…"));
        }
        if self.slack.socket_mode && self.slack.app_token.is_none() {
            faults.push(missing(
                "slack.app_token",
                "SLACK_APP_TOKEN",
                "Socket Mode needs an app-level token, xapp-…, with the scope connections:write",
            ));
        }
        if self.slack.signing_secret.is_none() && !self.slack.socket_mode {
            faults.push(missing("slack.signing_secret", "SLACK_SIGNING_SECRET", "Basic Information › App Credentials"));
        }
        if self.model.api_key.is_none() && self.model.base_url.is_none() {
            faults.push(missing("model.api_key", "OPENAI_API_KEY", "or set model.base_url for a server without keys"));
        }
        faults.extend(not_a_url("slack.api_url", Some(&self.slack.api_url)));
        faults.extend(no_header("slack.bot_token", self.slack.bot_token.as_ref()));
        faults.extend(no_header("slack.app_token", self.slack.app_token.as_ref()));
        faults.extend(zeros(&[
            ("slack.socket_connect_ms", self.slack.socket_connect_ms),
            ("slack.socket_ping_ms", self.slack.socket_ping_ms),
        ]));
        faults.extend(self.model_faults());
        faults.extend(self.sales_server_faults());
        if let Err(ConfigError(found)) = optional_address(&self.server.metrics_listen) {
            faults.extend(found);
        }
        all(faults)
    }

    /// The values that `playground` uses.
    ///
    /// # Errors
    /// With everything that is unusable.
    pub fn check_playground(&self) -> Result<(), ConfigError> {
        all(self.model_faults().into_iter().chain(self.sales_server_faults()).collect())
    }

    /// What `sales-server` cannot do without when it checks tokens.
    ///
    /// # Errors
    /// With everything that is missing.
    pub fn check_sales_server(&self) -> Result<(), ConfigError> {
        let keys = [
            ("sales_server.caller_keys", &self.sales_server.caller_keys),
            ("sales_server.approval_keys", &self.sales_server.approval_keys),
        ];
        let missing = keys.into_iter().filter(|(_, keys)| list(keys).is_empty()).map(|(key, _)| {
            format!("{key} is not set ({}): public keys, comma separated; the bot sets it for its own", variable(key))
        });
        all(self.store_faults(Group::Reader).into_iter().chain(missing).chain(self.sales_server_faults()).collect())
    }

    /// For each command that reads or writes the stores: where they are is said in a way that can be used.
    ///
    /// # Errors
    /// With each setting that cannot.
    pub fn check_stores(&self, group: Group) -> Result<(), ConfigError> {
        all(self.store_faults(group))
    }

    fn store_faults(&self, group: Group) -> Vec<String> {
        self.database_faults().into_iter().chain(self.login_faults(group)).collect()
    }

    fn work_faults(&self) -> Vec<String> {
        let section = &self.work;
        let fault = |what: &str| format!("work.url (REDIS_URL or {}): {what}", variable("work.url"));
        let Some(url) = &section.url else {
            let others = [
                ("work.cluster", section.cluster),
                ("work.sentinel_master", !section.sentinel_master.is_empty()),
                ("work.sentinel_password", section.sentinel_password.is_some()),
            ];
            let set = others.into_iter().filter(|(_, set)| *set);
            return set.map(|(key, _)| fault(&format!("not set, and {key} is"))).collect();
        };
        let faults = work::redis::faults(&self.redis(url.clone()));
        let mut faults: Vec<String> = faults.into_iter().map(fault).collect();
        if section.prefix.is_empty() || section.prefix.contains(['{', '}']) {
            faults.push(format!("work.prefix ({}): must be a word without curly brackets", variable("work.prefix")));
        }
        faults
    }

    fn redis(&self, url: Secret) -> work::redis::Settings {
        let section = &self.work;
        // Twice what is shown to a model, in bytes: a turn that is shown ends somewhere in one that is not.
        let shown = u64::try_from(self.turn.history_tokens).unwrap_or(0).saturating_mul(3);
        work::redis::Settings {
            url,
            cluster: section.cluster,
            sentinel_master: Some(section.sentinel_master.clone()).filter(|name| !name.is_empty()),
            sentinel_password: section.sentinel_password.clone(),
            prefix: section.prefix.clone(),
            history_bytes: shown.saturating_mul(2).max(LEAST_HISTORY),
        }
    }

    /// Where the work is: `file`, unless Redis is configured.
    pub fn work(&self, file: PathBuf) -> work::Source {
        match &self.work.url {
            None => work::Source::File(file),
            Some(url) => work::Source::Redis(self.redis(url.clone())),
        }
    }

    /// A login for another part of the program says that the records are in a database, but not how this part gets there.
    fn login_faults(&self, group: Group) -> Vec<String> {
        if self.login(group).is_some() {
            return Vec::new();
        }
        let others = [
            ("records.migrate_url", &self.records.migrate_url),
            ("sales_server.database_url", &self.sales_server.database_url),
        ];
        let set = others.iter().filter(|(_, url)| url.is_some());
        set.map(|(key, _)| {
            format!(
                "records.url (DATABASE_URL or {}) is not set, and {key} is: all records must be in one database",
                variable("records.url")
            )
        })
        .collect()
    }

    fn database_faults(&self) -> Vec<String> {
        let urls = [
            ("records.url", &self.records.url),
            ("records.migrate_url", &self.records.migrate_url),
            ("sales_server.database_url", &self.sales_server.database_url),
        ];
        let is_database = |secret: &Secret| {
            let url = url::Url::parse(secret.reveal());
            url.is_ok_and(|u| matches!(u.scheme(), "postgres" | "postgresql"))
        };
        let faulty = urls.iter().filter(|(_, url)| url.as_ref().is_some_and(|url| !is_database(url)));
        let records = &self.records;
        let zero = zeros(&[
            ("records.max_connections", records.max_connections.into()),
            ("records.statement_timeout_ms", records.statement_timeout_ms),
            ("duties.interval_ms", self.duties.interval_ms),
            ("duties.parallel", self.duties.parallel as u64),
        ]);
        faulty
            .map(|(key, _)| {
                let usual = if *key == "records.url" { "DATABASE_URL or " } else { "" };
                format!("{key} ({usual}{}): not an address that begins with postgres://", variable(key))
            })
            .chain(zero)
            .collect()
    }

    /// Where the records are for a part of the program: `file`, unless a database is configured.
    pub fn records(&self, file: PathBuf, group: Group) -> RecordsSource {
        match self.login(group) {
            None => RecordsSource::File(file),
            Some(url) => RecordsSource::Postgres(self.records.settings(url.clone())),
        }
    }

    fn login(&self, group: Group) -> Option<&Secret> {
        let own = match group {
            Group::Owner => &self.records.migrate_url,
            Group::Reader | Group::Committer => &self.sales_server.database_url,
            Group::Bot | Group::Auditor => &None,
        };
        own.as_ref().or(self.records.url.as_ref())
    }

    fn sales_server_faults(&self) -> Vec<String> {
        let server = &self.sales_server;
        let urls = [("sales_server.url", &server.url), ("sales_server.public_url", &server.public_url)];
        let urls = urls.into_iter();
        let urls = urls.filter_map(|(key, url)| not_a_url(key, Some(url.as_str()).filter(|url| !url.is_empty())));
        urls.chain(zeros(&[
            ("sales_server.call_timeout_ms", server.call_timeout_ms),
            ("sales_server.concurrent_requests", server.concurrent_requests.into()),
        ]))
        .collect()
    }

    fn model_faults(&self) -> Vec<String> {
        let url = not_a_url("model.base_url", self.model.base_url.as_deref());
        url.into_iter().chain(no_header("model.api_key", self.model.api_key.as_ref())).collect()
    }
}

fn all(faults: Vec<String>) -> Result<(), ConfigError> {
    if faults.is_empty() { Ok(()) } else { Err(ConfigError(faults)) }
}

/// Numbers of which 0 would be a standstill, or a rush.
fn zeros(settings: &[(&str, u64)]) -> Vec<String> {
    let zero = settings.iter().filter(|(_, value)| *value == 0);
    zero.map(|(key, _)| format!("{key} ({}): must be above 0", variable(key))).collect()
}

fn not_a_url(key: &str, value: Option<&str>) -> Option<String> {
    let is_url =
        |text: &str| url::Url::parse(text).is_ok_and(|u| matches!(u.scheme(), "http" | "https") && u.has_host());
    let is_faulty = value.is_some_and(|text| !is_url(text));
    is_faulty.then(|| format!("{key} ({}): not an address that begins with https:// or http://", variable(key)))
}

/// A secret that was copied with a line break, most often.
fn no_header(key: &str, secret: Option<&Secret>) -> Option<String> {
    let is_faulty = secret.is_some_and(|secret| secret.reveal().bytes().any(|b| !(b' '..=b'~').contains(&b)));
    is_faulty.then(|| format!("{key} ({}): has a character that no HTTP header can carry", variable(key)))
}

/// The variables that are text. Of the others only ours matter.
fn readable(env: impl Iterator<Item = (OsString, OsString)>) -> (HashMap<String, String>, Vec<String>) {
    let (mut read, mut faults) = (HashMap::new(), Vec::new());
    for (name, value) in env {
        let shown = name.to_string_lossy().into_owned();
        match (name.into_string(), value.into_string()) {
            (Ok(name), Ok(value)) => drop(read.insert(name, value)),
            _ if is_ours(shown.strip_suffix("_FILE").unwrap_or(&shown)) => {
                faults.push(format!("{shown}: not valid UTF-8"));
            }
            _ => {}
        }
    }
    (read, faults)
}

fn is_ours(name: &str) -> bool {
    name.starts_with(&format!("{PREFIX}__")) || USUAL.iter().any(|(usual, _)| *usual == name)
}

/// The settings of a file. The fault tells where it is, and nothing of what stands there: that may be a secret.
fn parsed(file: &Path) -> Result<Source, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: cannot be read: {error}", file.display()))?;
    Source::builder().add_source(File::from_str(&text, FileFormat::Toml)).build().map_err(|error| {
        // "TOML parse error at line 3, column 9", then the line itself.
        let text = error.to_string();
        let place = text.lines().next().and_then(|first| first.strip_prefix("TOML parse error at "));
        let is_place = |place: &&str| place.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ' || c == ',');
        let place = place.filter(is_place).map(|place| format!(" at {place}")).unwrap_or_default();
        format!("{}: not valid TOML{place}", file.display())
    })
}

/// A comma-separated list of keys.
pub fn list(keys: &str) -> Vec<String> {
    keys.split(',').map(str::trim).filter(|k| !k.is_empty()).map(str::to_owned).collect()
}

/// An address that may be empty.
///
/// # Errors
/// When it is neither empty nor an address.
pub fn optional_address(text: &str) -> Result<Option<SocketAddr>, ConfigError> {
    if text.is_empty() {
        return Ok(None);
    }
    SocketAddr::from_str(text).map(Some).map_err(|_| {
        ConfigError(vec![format!(
            "server.metrics_listen ({}): not an address such as 127.0.0.1:9464",
            variable("server.metrics_listen")
        )])
    })
}

fn missing(key: &str, usual: &str, hint: &str) -> String {
    format!("{key} is not set ({usual} or {}): {hint}", variable(key))
}

fn variable(key: &str) -> String {
    format!("{PREFIX}__{}", key.to_uppercase().replace('.', "__"))
}

/// `NAME_FILE` holds a path whose content is the value of `NAME`.
fn with_files(mut env: HashMap<String, String>, faults: &mut Vec<String>) -> HashMap<String, String> {
    let files: Vec<(String, String)> = env
        .iter()
        .filter_map(|(name, path)| {
            let plain = name.strip_suffix("_FILE")?;
            is_ours(plain).then(|| (plain.to_owned(), path.clone()))
        })
        .collect();
    for (plain, path) in files {
        env.remove(&format!("{plain}_FILE"));
        match std::fs::read_to_string(&path) {
            Ok(secret) => {
                env.insert(plain, secret.trim_end_matches(['\r', '\n']).to_owned());
            }
            Err(error) => faults.push(format!("{plain}_FILE: cannot read {path}: {error}")),
        }
    }
    env
}

struct Sections {
    sections: Map<String, Value>,
    faults: Vec<String>,
}

impl Sections {
    /// One section, or its defaults when it is absent or faulty.
    fn take<T: DeserializeOwned + Default>(&mut self, name: &str) -> T {
        let Some(section) = self.sections.remove(name) else { return T::default() };
        if let Ok(read) = section.clone().try_deserialize::<T>() {
            return read;
        }
        // Each key alone, so that all faulty ones are named and not only the first.
        match section.into_table() {
            Ok(table) => {
                for (key, value) in table {
                    let one = Value::new(None, Map::from_iter([(key.clone(), value)]));
                    if let Err(error) = one.try_deserialize::<T>() {
                        let path = format!("{name}.{key}");
                        self.faults.push(format!("{path} ({}): {}", variable(&path), reason(&error)));
                    }
                }
            }
            Err(_) => self.faults.push(format!("[{name}] is not a section")),
        }
        T::default()
    }

    fn finish(self) -> Result<(), ConfigError> {
        let Self { sections, mut faults } = self;
        faults.extend(sections.keys().map(|name| format!("[{name}] is not a section of this program")));
        faults.sort();
        if faults.is_empty() { Ok(()) } else { Err(ConfigError(faults)) }
    }
}

/// What was expected, without the value, which may be a secret.
fn reason(error: &config::ConfigError) -> String {
    let text = error.to_string();
    if text.contains("unknown field") {
        return "no such setting".to_owned();
    }
    match text.split_once("expected ") {
        Some((_, expected)) => format!("expected {}", expected.split(" for key").next().unwrap_or(expected)),
        None => "not a valid value".to_owned(),
    }
}

#[cfg(test)]
mod tests;
