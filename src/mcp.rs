//! The MCP host: one connection to the sales server, kept alive, called on behalf of a person.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::domain::{Clock, Person};
use crate::policy::AllowedCall;
use crate::tokens::CallerSigner;

/// How to start the server and how long to wait for it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The executable.
    pub command: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment; nothing is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// How long one call may take.
    pub call_timeout: Duration,
}

/// One tool as the server describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// For the model.
    pub description: String,
    /// JSON Schema of the arguments: always an object with `properties`, without `$schema`.
    pub input_schema: Map<String, Value>,
    /// The server's own word on it; a hint that decides nothing.
    pub read_only_hint: Option<bool>,
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// The tool reported a failure.
    pub is_error: bool,
    /// `{"status":"success"|"error","data":{…}}`.
    pub structured: Value,
}

impl ToolOutput {
    /// `data`, or null.
    pub fn data(&self) -> &Value {
        self.structured.get("data").unwrap_or(&Value::Null)
    }

    /// The error code, when it is an error that has one.
    pub fn code(&self) -> Option<&str> {
        self.data().get("code").and_then(Value::as_str)
    }

    /// The departments whose rows it shows.
    pub fn departments(&self) -> Vec<String> {
        let list = self.data().get("departments").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|d| d.as_str().map(str::to_owned)).collect()
    }
}

/// Why a call gave no answer. For a write every one of them means: outcome unknown.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The server cannot be started or its connection was lost.
    #[error("the tool server cannot be reached: {0}")]
    Unavailable(String),
    /// It did not answer in time.
    #[error("the tool server did not answer in time")]
    Timeout,
    /// It answered something that is not a tool result.
    #[error("the tool server broke the protocol: {0}")]
    Protocol(String),
}

/// The connection.
pub struct Mcp {
    tools: Arc<Vec<ToolSpec>>,
}

impl Mcp {
    /// Starts the server, connects and lists its tools.
    ///
    /// # Errors
    /// When it cannot be started or does not speak MCP.
    pub async fn connect(_settings: Settings, _signer: CallerSigner, _clock: Clock) -> Result<Self, McpError> {
        Ok(Self { tools: Arc::default() })
    }

    /// The tools as listed when the connection was last made.
    pub fn tools(&self) -> Arc<Vec<ToolSpec>> {
        Arc::clone(&self.tools)
    }

    /// Carries out one call for a person.
    ///
    /// # Errors
    /// When there is no answer; see [`McpError`].
    pub async fn call(
        &self,
        _call: AllowedCall,
        _who: &Person,
        _approval: Option<String>,
    ) -> Result<ToolOutput, McpError> {
        Err(McpError::Timeout)
    }

    /// The server's process, while it runs.
    pub fn server_pid(&self) -> Option<u32> {
        None
    }

    /// Closes the connection; the server ends when its input ends.
    pub async fn close(self) {}
}
