//! Settings: built-in defaults, then a TOML file, then the environment.
//!
//! The only reader of the environment. Each module owns the struct of its section; this one collects them and reports
//! every fault at once, each with its key and its variable, never with its value.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use chrono_tz::Tz;
use config::{Config as Source, File, FileFormat, Map, Value};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::domain::{Lang, Secret};
use crate::{agent, duties, policy, proposals, telemetry, thread};

const PREFIX: &str = "SALES_CONCIERGE";
const FILE: &str = "sales-concierge.toml";

/// Everything that can be set.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Addresses.
    pub server: Server,
    /// The Slack installation.
    pub slack: Slack,
    /// The company.
    pub company: Company,
    /// The language model.
    pub model: Model,
    /// The bounds of a turn.
    pub limits: agent::Limits,
    /// Role → tools.
    pub policy: policy::Table,
    /// Turns.
    pub turn: thread::turn::Settings,
    /// Workers.
    pub worker: thread::worker::Settings,
    /// Background duties.
    pub duties: duties::Settings,
    /// Proposals.
    pub proposals: proposals::Settings,
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
}

impl Default for Slack {
    fn default() -> Self {
        Self {
            api_url: "https://slack.com/api".into(),
            bot_token: None,
            signing_secret: None,
            former_signing_secret: None,
            timeout_ms: 10_000,
        }
    }
}

/// `[company]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Company {
    /// The zone of sale numbers, and of people whose Slack profile has none.
    pub zone: Tz,
    /// The language of people whose Slack profile has none.
    pub language: Lang,
}

impl Default for Company {
    fn default() -> Self {
        Self { zone: Tz::Asia__Tokyo, language: Lang::Ja }
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
    /// Public keys of accepted caller tokens, comma separated. Set by the bot for its child process.
    pub caller_keys: String,
    /// Public keys of accepted approval tokens, comma separated. Set by the bot for its child process.
    pub approval_keys: String,
    /// How long one tool call may take, in milliseconds.
    pub call_timeout_ms: u64,
    /// How long after a registration its own person may cancel it, in hours.
    pub undo_window_h: u32,
}

impl Default for SalesServer {
    fn default() -> Self {
        Self { caller_keys: String::new(), approval_keys: String::new(), call_timeout_ms: 30_000, undo_window_h: 24 }
    }
}

/// All faults of a configuration, one line each.
#[derive(Debug, thiserror::Error)]
#[error("the configuration has {} fault(s):\n{}", .0.len(), .0.join("\n"))]
pub struct ConfigError(pub Vec<String>);

/// Names that are usual elsewhere, and the keys they stand for. Ours win over them.
const USUAL: [(&str, &str); 6] = [
    ("OPENAI_API_KEY", "model.api_key"),
    ("OPENAI_BASE_URL", "model.base_url"),
    ("SLACK_BOT_TOKEN", "slack.bot_token"),
    ("SLACK_SIGNING_SECRET", "slack.signing_secret"),
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
        Self::from_parts(file.as_deref(), std::env::vars().collect())
    }

    /// The same over a given environment.
    ///
    /// # Errors
    /// With all faults found.
    pub fn from_parts(file: Option<&Path>, env: HashMap<String, String>) -> Result<Self, ConfigError> {
        let mut faults = Vec::new();
        let env = with_files(env, &mut faults);
        let mut builder = Source::builder();
        if let Some(file) = file {
            builder = builder.add_source(File::from(file).format(FileFormat::Toml));
        }
        for (name, key) in USUAL {
            if let Some(value) = env.get(name).filter(|v| !v.is_empty()) {
                builder = match builder.set_override(key, value.clone()) {
                    Ok(builder) => builder,
                    Err(error) => return Err(ConfigError(vec![error.to_string()])),
                };
            }
        }
        let ours: HashMap<String, String> =
            env.into_iter().filter(|(name, _)| name.starts_with(&format!("{PREFIX}__"))).collect();
        // `set_override` beats every source, so our own variables are applied the same way and after the usual names.
        for (name, value) in &ours {
            let key = name.trim_start_matches(&format!("{PREFIX}__")).to_lowercase().replace("__", ".");
            builder = match builder.set_override(&key, value.clone()) {
                Ok(builder) => builder,
                Err(_) => {
                    faults.push(format!("{name}: not the name of a setting"));
                    return Err(ConfigError(faults));
                }
            };
        }
        let source = builder.build().map_err(|error| ConfigError(vec![error.to_string()]))?;
        let sections =
            source.clone().try_deserialize::<Map<String, Value>>().map_err(|e| ConfigError(vec![e.to_string()]))?;
        let mut sections = Sections { sections, faults };
        let config = Self {
            server: sections.take("server"),
            slack: sections.take("slack"),
            company: sections.take("company"),
            model: sections.take("model"),
            limits: sections.take("limits"),
            policy: sections.take("policy"),
            turn: sections.take("turn"),
            worker: sections.take("worker"),
            duties: sections.take("duties"),
            proposals: sections.take("proposals"),
            sales_server: sections.take("sales_server"),
            log: sections.take("log"),
        };
        sections.finish()?;
        Ok(config)
    }

    /// What `serve` cannot do without.
    ///
    /// # Errors
    /// With everything that is missing.
    pub fn check_serve(&self) -> Result<(), ConfigError> {
        let mut faults = Vec::new();
        if self.slack.bot_token.is_none() {
            faults.push(missing("slack.bot_token", "SLACK_BOT_TOKEN", "the bot token of the installed app, xoxb-…"));
        }
        if self.slack.signing_secret.is_none() {
            faults.push(missing("slack.signing_secret", "SLACK_SIGNING_SECRET", "Basic Information › App Credentials"));
        }
        if self.model.api_key.is_none() && self.model.base_url.is_none() {
            faults.push(missing("model.api_key", "OPENAI_API_KEY", "or set model.base_url for a server without keys"));
        }
        if faults.is_empty() { Ok(()) } else { Err(ConfigError(faults)) }
    }
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
            let ours = plain.starts_with(&format!("{PREFIX}__")) || USUAL.iter().any(|(usual, _)| *usual == plain);
            ours.then(|| (plain.to_owned(), path.clone()))
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
mod tests {
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
        assert_eq!((config.limits.rounds, config.company.zone), (5, Tz::Europe__London));
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
    fn what_serve_cannot_do_without_is_named_at_once() {
        let text = load(&[]).unwrap().check_serve().unwrap_err().to_string();
        for name in ["SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET", "OPENAI_API_KEY"] {
            assert!(text.contains(name), "{text}");
        }
    }
}
