//! The edge: only a body that Slack signed within the last five minutes becomes a [`VerifiedBody`].
//!
//! The signature is computed over the bytes as received, before any decoding, so bodies that are not UTF-8 or whose
//! re-serialisation would differ verify like any other. An expected signature is never formatted, logged or compared
//! outside constant time. What a signed body means is not decided here.

use chrono::{DateTime, Utc};
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

use crate::domain::Secret;

/// The header with `v0=` and the hex HMAC.
pub const SIGNATURE_HEADER: &str = "x-slack-signature";
/// The header with the seconds since the epoch at which Slack signed.
pub const TIMESTAMP_HEADER: &str = "x-slack-request-timestamp";
/// How far Slack's clock and ours may differ, either way. Slack's own recommendation.
const WINDOW_S: u64 = 300;

/// A request body that Slack signed. Holding one is the proof; only [`Verifier::verify`] makes it.
#[derive(Debug)]
pub struct VerifiedBody {
    bytes: Vec<u8>,
}

impl VerifiedBody {
    /// The bytes as received.
    pub fn body(&self) -> &[u8] {
        &self.bytes
    }

    /// Hex SHA-256 of the bytes: what a click row keeps of the request.
    pub fn hash_hex(&self) -> String {
        hex::encode(Sha256::digest(&self.bytes))
    }
}

/// Why a request is refused. None of them carries a digest or any of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// A header is absent.
    #[error("a signature header is missing")]
    Missing,
    /// A header is not of its form.
    #[error("a signature header is malformed")]
    Malformed,
    /// Too far from our clock. Many of these in a row mean that the clock is wrong.
    #[error("the request is {skew_s} s away from this machine's clock")]
    Stale {
        /// Ours minus Slack's, in seconds.
        skew_s: i64,
    },
    /// Signed with another secret, or altered on the way.
    #[error("the signature does not match the body")]
    Mismatch,
}

/// Checks signatures against one secret, or against two while rotating.
#[derive(Clone, Debug)]
pub struct Verifier {
    secrets: Vec<Secret>,
}

impl Verifier {
    /// Accepts bodies signed with any of the secrets. With none, or an empty one, nothing verifies against it.
    pub fn new(secrets: Vec<Secret>) -> Self {
        Self { secrets: secrets.into_iter().filter(|s| !s.reveal().is_empty()).collect() }
    }

    /// Turns a received body into a verified one. `signature` and `timestamp` are the two headers' values.
    ///
    /// # Errors
    /// When the body is not proven to be Slack's; all of them answer 401.
    pub fn verify(
        &self,
        signature: Option<&str>,
        timestamp: Option<&str>,
        body: impl Into<Vec<u8>>,
        now: DateTime<Utc>,
    ) -> Result<VerifiedBody, SignatureError> {
        let (signature, timestamp) = signature.zip(timestamp).ok_or(SignatureError::Missing)?;
        let stamp = seconds(timestamp).ok_or(SignatureError::Malformed)?;
        let claimed = signature
            .strip_prefix("v0=")
            .filter(|digits| digits.len() == 64)
            .and_then(|digits| hex::decode(digits).ok())
            .ok_or(SignatureError::Malformed)?;
        let skew_s = now.timestamp().saturating_sub(stamp);
        if skew_s.unsigned_abs() > WINDOW_S {
            return Err(SignatureError::Stale { skew_s });
        }
        let bytes = body.into();
        let matches = |secret: &Secret| {
            Hmac::<Sha256>::new_from_slice(secret.reveal().as_bytes()).is_ok_and(|mac| {
                mac.chain_update(b"v0:")
                    .chain_update(timestamp.as_bytes())
                    .chain_update(b":")
                    .chain_update(&bytes)
                    .verify_slice(&claimed)
                    .is_ok()
            })
        };
        if self.secrets.iter().any(matches) { Ok(VerifiedBody { bytes }) } else { Err(SignatureError::Mismatch) }
    }
}

/// Whole seconds, digits only: `parse` alone would also take a sign.
fn seconds(header: &str) -> Option<i64> {
    header.bytes().all(|b| b.is_ascii_digit()).then(|| header.parse().ok()).flatten()
}
