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

/// A body that Slack signed, or sent over a connection it had opened for the app. Holding one is the proof; only
/// [`Verifier::verify`] and [`super::socket`] make it.
#[derive(Debug)]
pub struct VerifiedBody {
    bytes: Vec<u8>,
}

impl VerifiedBody {
    /// What came over a socket, which only the app-level token opens.
    pub(super) fn of_socket(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

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

#[cfg(test)]
pub(in crate::slack) mod tests {
    use chrono::TimeDelta;
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_795_000_000;

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(NOW, 0).unwrap()
    }

    fn sign(secret: &str, timestamp: &str, body: &[u8]) -> String {
        let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        let mac = mac.chain_update(format!("v0:{timestamp}:")).chain_update(body);
        format!("v0={}", hex::encode(mac.finalize().into_bytes()))
    }

    /// A body as if Slack had signed it.
    pub(in crate::slack) fn verified(body: impl Into<Vec<u8>>) -> VerifiedBody {
        let body = body.into();
        let (ts, sig) = (NOW.to_string(), sign("shh", &NOW.to_string(), &body));
        Verifier::new(vec![Secret::new("shh")]).verify(Some(&sig), Some(&ts), body, now()).unwrap()
    }

    fn check(signature: Option<&str>, timestamp: Option<&str>, body: &[u8]) -> Result<VerifiedBody, SignatureError> {
        Verifier::new(vec![Secret::new("shh")]).verify(signature, timestamp, body, now())
    }

    #[test]
    fn i09_bodies_that_would_not_survive_parsing_verify_as_received() {
        let bodies: [&[u8]; 6] = [
            b"text=a+b&x=%2F",
            b"payload=%7B%22v%22%3A%22a+b%3Dc%22%7D",
            "{ \"a\":1.0,  \"é\" : \"\\u00e9\" }".as_bytes(),
            b"\xff\xfe",
            b"payload=%ZZ",
            b"",
        ];
        for body in bodies {
            let ts = NOW.to_string();
            assert_eq!(check(Some(&sign("shh", &ts, body)), Some(&ts), body).unwrap().body(), body);
        }
    }

    #[test]
    fn i09_a_stale_timestamp_is_refused_either_way() {
        for skew in [301, -301, 86_400, -86_400] {
            let ts = (now() - TimeDelta::seconds(skew)).timestamp().to_string();
            assert_eq!(
                check(Some(&sign("shh", &ts, b"x")), Some(&ts), b"x").unwrap_err(),
                SignatureError::Stale { skew_s: skew }
            );
        }
        for skew in [300, 0, -300] {
            let ts = (now() - TimeDelta::seconds(skew)).timestamp().to_string();
            assert!(check(Some(&sign("shh", &ts, b"x")), Some(&ts), b"x").is_ok());
        }
    }

    #[test]
    fn i09_a_timestamp_in_milliseconds_is_stale() {
        let ts = (NOW * 1000).to_string();
        assert!(matches!(check(Some(&sign("shh", &ts, b"x")), Some(&ts), b"x"), Err(SignatureError::Stale { .. })));
    }

    #[test]
    fn i09_missing_and_malformed_headers_are_refused() {
        let ts = NOW.to_string();
        let good = sign("shh", &ts, b"x");
        assert_eq!(check(None, Some(&ts), b"x").unwrap_err(), SignatureError::Missing);
        assert_eq!(check(Some(&good), None, b"x").unwrap_err(), SignatureError::Missing);
        for sig in [
            "",
            "v0=",
            "v0=zz",
            "v1=00",
            &format!("v0={}", "0".repeat(63)),
            &good.replace("v0=", ""),
            &format!("{good}00"),
        ] {
            assert_eq!(check(Some(sig), Some(&ts), b"x").unwrap_err(), SignatureError::Malformed, "{sig}");
        }
        for ts in ["", "now", "1.5", "-1", "+1795000000", " 1795000000", "99999999999999999999"] {
            assert_eq!(check(Some(&good), Some(ts), b"x").unwrap_err(), SignatureError::Malformed, "{ts}");
        }
    }

    #[test]
    fn two_secrets_are_accepted_while_rotating_and_an_empty_one_never() {
        let ts = NOW.to_string();
        let verifier = Verifier::new(vec![Secret::new("new"), Secret::new("old"), Secret::new("")]);
        for (secret, ok) in [("new", true), ("old", true), ("", false), ("other", false)] {
            let signature = sign(secret, &ts, b"x");
            assert_eq!(verifier.verify(Some(&signature), Some(&ts), *b"x", now()).is_ok(), ok, "{secret}");
        }
    }

    #[test]
    fn no_refusal_tells_the_expected_signature() {
        let ts = NOW.to_string();
        let expected = sign("shh", &ts, b"x");
        let error = check(Some(&sign("other", &ts, b"x")), Some(&ts), b"x").unwrap_err();
        assert!(!format!("{error:?} {error}").contains(expected.trim_start_matches("v0=")));
    }

    proptest! {
        #[test]
        fn i09_a_changed_byte_is_refused(body in prop::collection::vec(any::<u8>(), 1..200), at in any::<prop::sample::Index>(), bit in 0..8_u8) {
            let ts = NOW.to_string();
            let signature = sign("shh", &ts, &body);
            let mut other = body.clone();
            other[at.index(body.len())] ^= 1_u8 << bit;
            prop_assert_eq!(check(Some(&signature), Some(&ts), &other).unwrap_err(), SignatureError::Mismatch);
        }
    }
}
