//! Bearers of HTTP requests: a caller token, or a service token, which proves that the host asks and names nobody.
//!
//! A bearer is checked before the request's body is read, so a caller token is opened here and its call compared later.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{CALLER_TYP, CallerClaims, CallerSigner, TokenError, Verifier, arguments_hash, open};
use crate::domain::Person;

const SERVICE_TYP: &str = "service+jwt";

/// What a good bearer proves.
#[derive(Clone, Debug)]
pub enum Bearer {
    /// The host asks for itself: what is the same for everybody, never a tool.
    Service,
    /// The host makes one call for a person.
    Caller(Grant),
}

/// One call that a caller token was made for.
#[derive(Clone, Debug)]
pub struct Grant {
    person: Person,
    tool: String,
    arguments_hash: String,
}

impl Grant {
    /// Whom the call is made for, if it is this call.
    ///
    /// # Errors
    /// [`TokenError::OtherCall`].
    pub fn person(&self, tool: &str, arguments: &Map<String, Value>) -> Result<&Person, TokenError> {
        let same = self.tool == tool && self.arguments_hash == arguments_hash(arguments);
        if same { Ok(&self.person) } else { Err(TokenError::OtherCall) }
    }
}

/// A service token names nobody.
#[derive(Deserialize)]
struct ServiceClaims {}

impl CallerSigner {
    /// A token for connecting and listing.
    pub fn sign_service(&self, now: DateTime<Utc>) -> String {
        self.0.sign(SERVICE_TYP, json!({}), now)
    }
}

impl Verifier {
    /// What a bearer proves at `now`.
    ///
    /// # Errors
    /// See [`TokenError`].
    pub fn bearer(&self, token: &str, now: DateTime<Utc>) -> Result<Bearer, TokenError> {
        match open::<CallerClaims>(&self.caller, CALLER_TYP, token, now) {
            Ok(claims) => {
                let person = Person::from_subject(&claims.sub).ok_or(TokenError::Malformed)?;
                Ok(Bearer::Caller(Grant { person, tool: claims.tool, arguments_hash: claims.args }))
            }
            // The use is looked at before the signature, so this costs no second check.
            Err(TokenError::Use) => {
                open::<ServiceClaims>(&self.caller, SERVICE_TYP, token, now).map(|_| Bearer::Service)
            }
            Err(error) => Err(error),
        }
    }
}
