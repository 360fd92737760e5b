//! Caller tokens and approval tokens: who may make one, and what a valid one proves.
//!
//! A caller token says "the host makes this one call, with these arguments, for this person"; an approval token says
//! "this person pressed the button of this card". The two are signed with different keys, live for at most
//! [`LIFETIME_S`] seconds and name their use in the header, so that neither can stand in for the other. A token gives
//! no right by itself: role and department are read from the staff table by whoever verifies it.
//!
//! The form is a JWT (compact JWS). Exactly one algorithm exists, Ed25519, checked strictly, so there is nothing to
//! negotiate and nothing to downgrade; that is why the few lines below need no JWT library. A test reads our tokens
//! with one.

use std::collections::HashSet;
use std::fmt;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::domain::{Person, ProposalId, Write};

mod bearer;

pub use bearer::{Bearer, Grant};

/// The only receiver of our tokens.
pub const AUDIENCE: &str = "sales-server";
/// The only issuer of our tokens.
pub const ISSUER: &str = "sales-concierge";
/// How long a token is valid, in seconds: long enough for one call, too short to be worth stealing.
pub const LIFETIME_S: i64 = 60;
/// The request `_meta` key that carries the caller token.
pub const META_CALLER: &str = "sales-concierge/caller";
/// The request `_meta` key that carries the approval token.
pub const META_APPROVAL: &str = "sales-concierge/approval";

/// How far in the future `iat` may lie, in seconds: signer and verifier may run on two machines.
const SKEW_S: i64 = 5;
const CALLER_TYP: &str = "caller+jwt";
const APPROVAL_TYP: &str = "approval+jwt";
/// No valid token is longer; a longer one is not even decoded.
const MAX_TOKEN_BYTES: usize = 4096;

/// Why a token proves nothing.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// Not a compact JWS of the form we sign, or a claim is missing.
    #[error("the token is malformed")]
    Malformed,
    /// Another algorithm, another key, or altered bytes.
    #[error("the token's signature does not verify")]
    Signature,
    /// Made for another use, by another issuer or for another audience.
    #[error("the token was made for another use")]
    Use,
    /// Too old, not valid yet, or made to live too long.
    #[error("the token is outside its lifetime")]
    Expired,
    /// Made for another tool or for other arguments.
    #[error("the token was made for another call")]
    OtherCall,
    /// The value has no canonical JSON form.
    #[error("the value has no canonical form")]
    Canonical(#[source] serde_json::Error),
}

/// Why keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The key file cannot be read or written.
    #[error("cannot use the key file {path}")]
    Io {
        /// The key file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The key file can be read by other users.
    #[error("the key file {0} is open to other users; its mode must be 0600")]
    Exposed(PathBuf),
    /// The key file holds something else.
    #[error("the key file {0} is damaged")]
    Damaged(PathBuf),
    /// A public key is not 32 bytes in base64url that name a point of the curve.
    #[error("a public key is not an Ed25519 key in base64url")]
    PublicKey,
    /// The system gave no randomness.
    #[error("the system gave no random bytes")]
    Random(#[source] getrandom::Error),
}

/// The canonical JSON text of a value (RFC 8785).
///
/// # Errors
/// When the value cannot be JSON.
pub fn canonical<T: Serialize>(value: &T) -> Result<String, TokenError> {
    serde_json_canonicalizer::to_string(value).map_err(TokenError::Canonical)
}

/// Hex SHA-256 over the canonical form of a write: tool, arguments, and the name and department the card shows.
pub fn digest(write: &Write) -> String {
    canonical_hash(write)
}

/// Hex SHA-256 over the canonical form of a call's arguments.
pub fn arguments_hash(arguments: &Map<String, Value>) -> String {
    canonical_hash(arguments)
}

#[expect(clippy::expect_used, reason = "only non-finite floats and non-string keys fail; neither type can hold one")]
fn canonical_hash<T: Serialize>(value: &T) -> String {
    hex::encode(Sha256::digest(canonical(value).expect("strings, integers and JSON values have a canonical form")))
}

/// One Ed25519 private key. Its `Debug` shows nothing and dropping it erases it.
#[derive(Clone)]
struct Key {
    key: Arc<SigningKey>,
    /// `jti` is a random prefix and a counter: unique without asking the system for randomness on each call.
    prefix: Arc<str>,
    counter: Arc<AtomicU64>,
}

impl Key {
    fn new(seed: &[u8; 32]) -> Result<Self, KeyError> {
        Ok(Self {
            key: Arc::new(SigningKey::from_bytes(seed)),
            prefix: URL_SAFE_NO_PAD.encode(random::<16>()?).into(),
            counter: Arc::default(),
        })
    }

    fn public(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.key.verifying_key().as_bytes())
    }

    fn sign(&self, typ: &str, mut claims: Value, now: DateTime<Utc>) -> String {
        let jti = format!("{}-{}", self.prefix, self.counter.fetch_add(1, Ordering::Relaxed));
        if let Some(claims) = claims.as_object_mut() {
            claims.insert("iss".into(), ISSUER.into());
            claims.insert("aud".into(), AUDIENCE.into());
            claims.insert("iat".into(), now.timestamp().into());
            claims.insert("exp".into(), (now.timestamp() + LIFETIME_S).into());
            claims.insert("jti".into(), jti.into());
        }
        let header = json!({ "alg": "EdDSA", "typ": typ }).to_string();
        let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims.to_string()));
        let signature = self.key.sign(signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()))
    }
}

/// Signs caller tokens. Held by the MCP host only.
#[derive(Clone)]
pub struct CallerSigner(Key);

/// Signs approval tokens. Given to the click path only.
#[derive(Clone)]
pub struct ApprovalSigner(Key);

impl fmt::Debug for CallerSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallerSigner(…)")
    }
}

impl fmt::Debug for ApprovalSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApprovalSigner(…)")
    }
}

impl CallerSigner {
    /// A token for one call of one tool with exactly these arguments, made for `who`.
    pub fn sign(&self, who: &Person, tool: &str, arguments: &Map<String, Value>, now: DateTime<Utc>) -> String {
        self.0.sign(CALLER_TYP, json!({ "sub": who.subject(), "tool": tool, "args": arguments_hash(arguments) }), now)
    }
}

/// What a press of a card's button proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The card's proposal.
    pub proposal: ProposalId,
    /// The digest of what the card showed.
    pub digest: String,
    /// Who asked for the write.
    pub requester: Person,
    /// Who pressed.
    pub approver: Person,
}

impl ApprovalSigner {
    /// A token for one attempt to carry out an approved write; minted anew for each attempt.
    pub fn sign(&self, approval: &Approval, now: DateTime<Utc>) -> String {
        let claims = json!({
            "proposal": approval.proposal,
            "digest": approval.digest,
            "requester": approval.requester.subject(),
            "approver": approval.approver.subject(),
        });
        self.0.sign(APPROVAL_TYP, claims, now)
    }
}

/// The public halves, each as base64url of the raw 32 bytes. Lists, so that an old and a new key are both accepted
/// while keys are exchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKeys {
    /// Accepted for caller tokens.
    pub caller: Vec<String>,
    /// Accepted for approval tokens.
    pub approval: Vec<String>,
}

/// Both private keys and their public halves.
#[derive(Clone, Debug)]
pub struct Keys {
    /// For the MCP host.
    pub caller: CallerSigner,
    /// For the click path.
    pub approval: ApprovalSigner,
    /// For the sales server.
    pub public: PublicKeys,
}

/// The key file: two seeds in base64url.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    caller: String,
    approval: String,
}

impl Keys {
    /// New random keys.
    ///
    /// # Errors
    /// When the system gives no randomness.
    pub fn generate() -> Result<Self, KeyError> {
        Self::from_seeds(&random()?, &random()?)
    }

    /// Reads the key file, making it (mode 0600) when there is none. When two processes make it at once, both end
    /// with the same keys.
    ///
    /// # Errors
    /// When the file cannot be used, is damaged, or is open to other users.
    pub fn load_or_create(path: &Path) -> Result<Self, KeyError> {
        match std::fs::read(path) {
            Ok(bytes) => Self::read(path, &bytes),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                create(path).map_err(|source| KeyError::Io { path: path.into(), source })?;
                let bytes = std::fs::read(path).map_err(|source| KeyError::Io { path: path.into(), source })?;
                Self::read(path, &bytes)
            }
            Err(source) => Err(KeyError::Io { path: path.into(), source }),
        }
    }

    fn read(path: &Path, bytes: &[u8]) -> Result<Self, KeyError> {
        let meta = std::fs::metadata(path).map_err(|source| KeyError::Io { path: path.into(), source })?;
        if meta.permissions().mode() & 0o077 != 0 {
            return Err(KeyError::Exposed(path.into()));
        }
        let damaged = || KeyError::Damaged(path.into());
        let file: KeyFile = serde_json::from_slice(bytes).map_err(|_| damaged())?;
        let seed = |text: &str| bytes32(text).ok_or_else(damaged);
        Self::from_seeds(&seed(&file.caller)?, &seed(&file.approval)?)
    }

    fn from_seeds(caller: &[u8; 32], approval: &[u8; 32]) -> Result<Self, KeyError> {
        let (caller, approval) = (Key::new(caller)?, Key::new(approval)?);
        let public = PublicKeys { caller: vec![caller.public()], approval: vec![approval.public()] };
        Ok(Self { caller: CallerSigner(caller), approval: ApprovalSigner(approval), public })
    }
}

/// Writes a complete file under another name first: a process killed half-way leaves no half key file, and linking
/// fails where another process was quicker, so nobody's keys are replaced.
fn create(path: &Path) -> io::Result<()> {
    let seeds = (random::<32>(), random::<32>(), random::<8>());
    let (Ok(caller), Ok(approval), Ok(suffix)) = seeds else {
        return Err(io::Error::other("no random bytes"));
    };
    let file = json!({ "caller": URL_SAFE_NO_PAD.encode(caller), "approval": URL_SAFE_NO_PAD.encode(approval) });
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", hex::encode(suffix)));
    let temporary = PathBuf::from(name);
    let written = (|| {
        let mut out = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        out.write_all(file.to_string().as_bytes())?;
        out.sync_all()?;
        match std::fs::hard_link(&temporary, path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    })();
    let removed = std::fs::remove_file(&temporary);
    written.and(removed)
}

fn random<const N: usize>() -> Result<[u8; N], KeyError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(KeyError::Random)?;
    Ok(bytes)
}

fn bytes32(text: &str) -> Option<[u8; 32]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

/// Checks tokens with the public halves alone.
#[derive(Clone, Debug)]
pub struct Verifier {
    caller: Vec<VerifyingKey>,
    approval: Vec<VerifyingKey>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    typ: String,
}

/// What both kinds of token claim.
#[derive(Deserialize)]
struct Claims<T> {
    iss: String,
    aud: String,
    iat: i64,
    exp: i64,
    #[serde(flatten)]
    rest: T,
}

#[derive(Deserialize)]
struct CallerClaims {
    sub: String,
    tool: String,
    args: String,
}

#[derive(Deserialize)]
struct ApprovalClaims {
    proposal: ProposalId,
    digest: String,
    requester: String,
    approver: String,
}

impl Verifier {
    /// A verifier of these keys.
    ///
    /// # Errors
    /// When a key is not one, when a list is empty, or when one key stands in both lists: whoever could sign calls
    /// could then approve them.
    pub fn new(keys: &PublicKeys) -> Result<Self, KeyError> {
        let parse = |keys: &[String]| -> Result<Vec<VerifyingKey>, KeyError> {
            let parsed = keys
                .iter()
                .map(|text| {
                    bytes32(text)
                        .and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok())
                        .filter(|key| !key.is_weak())
                        .ok_or(KeyError::PublicKey)
                })
                .collect::<Result<Vec<_>, _>>()?;
            if parsed.is_empty() { Err(KeyError::PublicKey) } else { Ok(parsed) }
        };
        let (caller, approval) = (parse(&keys.caller)?, parse(&keys.approval)?);
        let callers: HashSet<_> = caller.iter().map(VerifyingKey::as_bytes).collect();
        if approval.iter().any(|key| callers.contains(key.as_bytes())) {
            return Err(KeyError::PublicKey);
        }
        Ok(Self { caller, approval })
    }

    /// The person a call is made for, if the token was made for exactly this call and is valid at `now`.
    ///
    /// # Errors
    /// See [`TokenError`].
    pub fn caller(
        &self,
        token: &str,
        tool: &str,
        arguments: &Map<String, Value>,
        now: DateTime<Utc>,
    ) -> Result<Person, TokenError> {
        match self.bearer(token, now)? {
            Bearer::Caller(grant) => grant.person(tool, arguments).cloned(),
            Bearer::Service => Err(TokenError::Use),
        }
    }

    /// What was approved, if the token is valid at `now`.
    ///
    /// # Errors
    /// See [`TokenError`].
    pub fn approval(&self, token: &str, now: DateTime<Utc>) -> Result<Approval, TokenError> {
        let claims: ApprovalClaims = open(&self.approval, APPROVAL_TYP, token, now)?;
        let person = |subject: &str| Person::from_subject(subject).ok_or(TokenError::Malformed);
        Ok(Approval {
            requester: person(&claims.requester)?,
            approver: person(&claims.approver)?,
            proposal: claims.proposal,
            digest: claims.digest,
        })
    }
}

/// Signature first: nothing of an unsigned token is looked at beyond its header.
fn open<T: for<'de> Deserialize<'de>>(
    keys: &[VerifyingKey],
    typ: &str,
    token: &str,
    now: DateTime<Utc>,
) -> Result<T, TokenError> {
    if token.len() > MAX_TOKEN_BYTES {
        return Err(TokenError::Malformed);
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
    let (header, claims) = signed.split_once('.').ok_or(TokenError::Malformed)?;
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::Malformed);
    let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| TokenError::Malformed)?;
    if header.alg != "EdDSA" {
        return Err(TokenError::Signature);
    }
    if header.typ != typ {
        return Err(TokenError::Use);
    }
    let signature = Signature::from_slice(&decode(signature)?).map_err(|_| TokenError::Signature)?;
    if !keys.iter().any(|key| key.verify_strict(signed.as_bytes(), &signature).is_ok()) {
        return Err(TokenError::Signature);
    }
    let claims: Claims<T> = serde_json::from_slice(&decode(claims)?).map_err(|_| TokenError::Malformed)?;
    if claims.iss != ISSUER || claims.aud != AUDIENCE {
        return Err(TokenError::Use);
    }
    let now = now.timestamp();
    let lifetime = claims.exp.saturating_sub(claims.iat);
    if !(0..=LIFETIME_S).contains(&lifetime) || claims.iat > now.saturating_add(SKEW_S) || claims.exp <= now {
        return Err(TokenError::Expired);
    }
    Ok(claims.rest)
}

#[cfg(test)]
mod tests;
