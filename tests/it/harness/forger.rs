//! Tokens made by hand, from the description in docs/architecture.md and RFC 7515: good ones and any others.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer as _, SigningKey};
use hmac::{Hmac, Mac as _};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::shop::now;

/// Whoever holds the private keys, or others.
pub struct Forger {
    pub caller: SigningKey,
    pub approval: SigningKey,
    pub stranger: SigningKey,
}

pub fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The group order of Ed25519, little-endian: added to a signature's second half it gives another that a lax check takes.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

impl Forger {
    /// With the keys of a file.
    pub fn of(path: &Path) -> Self {
        let seeds: Value = serde_json::from_slice(&std::fs::read(path).expect("keys")).expect("JSON");
        let key = |name: &str| {
            let seed = URL_SAFE_NO_PAD.decode(seeds[name].as_str().expect("a seed")).expect("base64url");
            SigningKey::from_bytes(&seed.try_into().expect("32 bytes"))
        };
        Self { caller: key("caller"), approval: key("approval"), stranger: SigningKey::from_bytes(&[7; 32]) }
    }
}

/// Header and claims with some signature.
pub fn jws(header: &Value, claims: &Value, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
    let signed = format!("{}.{}", base64(header.to_string()), base64(claims.to_string()));
    let signature = sign(signed.as_bytes());
    format!("{signed}.{}", base64(signature))
}

pub fn eddsa(key: &SigningKey) -> impl FnOnce(&[u8]) -> Vec<u8> + use<> {
    let key = key.clone();
    move |bytes| key.sign(bytes).to_vec()
}

/// HS256 under a secret that everybody knows.
pub fn hmac(secret: impl AsRef<[u8]>) -> impl FnOnce(&[u8]) -> Vec<u8> {
    move |bytes| {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_ref()).expect("any length");
        mac.update(bytes);
        mac.finalize().into_bytes().to_vec()
    }
}

/// The claims of every token, and some of its own.
pub fn claims(own: Value) -> Value {
    let t = now().timestamp();
    let mut all = json!({ "iss": "sales-concierge", "aud": "sales-server", "iat": t, "exp": t + 60, "jti": "forged" });
    all.as_object_mut().expect("an object").extend(own.as_object().expect("an object").clone());
    all
}

/// Another value of one claim; null: without it.
pub fn with(claims: &Value, claim: &str, value: Value) -> Value {
    let mut claims = claims.clone();
    let map = claims.as_object_mut().expect("an object");
    match value {
        Value::Null => map.remove(claim),
        value => map.insert(claim.to_owned(), value),
    };
    claims
}

/// Hex SHA-256 of arguments in their canonical form.
pub fn hash(arguments: &Map<String, Value>) -> String {
    hex::encode(Sha256::digest(serde_json_canonicalizer::to_vec(arguments).expect("canonical")))
}

/// One token that must not be accepted.
#[derive(Clone, Debug)]
pub struct Forgery {
    pub what: String,
    pub token: String,
    /// Its age is what is wrong with it.
    pub expired: bool,
}

/// Every way in which a token of one kind is none: `good` are its claims, `own` the claims of this kind alone, `key` signs
/// it and `other` signs the other kind.
pub fn forgeries(typ: &str, key: &SigningKey, other: &SigningKey, stranger: &SigningKey, good: &Value) -> Vec<Forgery> {
    let header = json!({ "alg": "EdDSA", "typ": typ });
    let public = key.verifying_key().to_bytes();
    let real = jws(&header, good, eddsa(key));
    let signed = real.rsplit_once('.').expect("three parts").0.to_owned();
    let mut all = Vec::new();
    let mut add = |what: String, token: String| all.push(Forgery { what, token, expired: false });

    for (what, token) in [
        ("nothing", String::new()),
        ("no JWT", "open-sesame".to_owned()),
        ("a JSON object", r#"{"sub":"slack:T0HINATA:U0NISHI"}"#.to_owned()),
        ("dots", "..".to_owned()),
        ("many dots", ".".repeat(4000)),
        ("no signature", format!("{signed}.")),
        ("no third part", signed.clone()),
        ("a fourth part", format!("{real}.{}", base64("x"))),
        ("cut", real.chars().take(real.len() - 1).collect()),
        ("padded", format!("{real}=")),
        ("twice", format!("{real}.{real}")),
        ("white space", real.replacen('.', " .", 1)),
        ("longer than any", format!("{real}{}", "A".repeat(5_000))),
        ("much longer", "A".repeat(20_000)),
    ] {
        add(what.to_owned(), token);
    }
    // Properly signed, and yet longer than any of ours.
    add("signed and too long".into(), jws(&header, &with(good, "more", "x".repeat(5_000).into()), eddsa(key)));

    // Another key.
    add("another key".into(), jws(&header, good, eddsa(stranger)));
    add("the key of the other kind".into(), jws(&header, good, eddsa(other)));
    let own_key = json!({ "kty": "OKP", "crv": "Ed25519", "x": base64(stranger.verifying_key().to_bytes()) });
    let named = json!({ "alg": "EdDSA", "typ": typ, "jwk": own_key, "kid": "../../keys.json" });
    add("a key it brings along".into(), jws(&named, good, eddsa(stranger)));

    // Another algorithm.
    for alg in ["none", "None", "NONE", "nOnE", "", "HS256", "ES256", "RS256", "eddsa", "Ed25519", "EdDSA "] {
        let header = json!({ "alg": alg, "typ": typ });
        add(format!("alg {alg:?}, no signature"), jws(&header, good, |_| Vec::new()));
        add(format!("alg {alg:?}, well signed"), jws(&header, good, eddsa(key)));
    }
    for (what, alg) in [("as HS256", "HS256"), ("as EdDSA", "EdDSA")] {
        let header = json!({ "alg": alg, "typ": typ });
        add(format!("HMAC under the public key, {what}"), jws(&header, good, hmac(public)));
        add(format!("HMAC under the public key's text, {what}"), jws(&header, good, hmac(base64(public))));
        add(format!("HMAC under nothing, {what}"), jws(&header, good, hmac("")));
    }
    for header in
        [json!({ "typ": typ }), json!({ "alg": ["EdDSA"], "typ": typ }), json!({ "alg": null, "typ": typ }), json!([])]
    {
        add(format!("header {header}"), jws(&header, good, eddsa(key)));
    }

    // Another use.
    for other in ["JWT", "", "at+jwt", "caller+jwt", "approval+jwt", "CALLER+JWT"].into_iter().filter(|t| *t != typ) {
        let header = json!({ "alg": "EdDSA", "typ": other });
        add(format!("typ {other:?}"), jws(&header, good, eddsa(key)));
    }
    add("no typ".into(), jws(&json!({ "alg": "EdDSA" }), good, eddsa(key)));
    for (claim, value) in [
        ("iss", json!("somebody")),
        ("iss", json!("Sales-Concierge")),
        ("iss", Value::Null),
        ("aud", json!("another-server")),
        ("aud", json!(["another-server", "sales-server"])),
        ("aud", json!("")),
        ("aud", Value::Null),
        ("exp", Value::Null),
        ("exp", json!("never")),
        ("exp", json!(1e300)),
        ("exp", json!([])),
        ("iat", Value::Null),
        ("iat", json!(true)),
    ] {
        add(format!("{claim} = {value}"), jws(&header, &with(good, claim, value), eddsa(key)));
    }
    add("claims that are a list".into(), jws(&header, &json!([good]), eddsa(key)));
    add("claims that are no JSON".into(), {
        let signed = format!("{}.{}", base64(header.to_string()), base64("{"));
        format!("{signed}.{}", base64(eddsa(key)(signed.as_bytes())))
    });

    // Altered after it was signed.
    let claims_of_boss = with(good, "sub", json!("slack:T0HINATA:U0NISHI"));
    let claims_of_boss = with(&claims_of_boss, "requester", json!("slack:T0HINATA:U0NISHI"));
    let parts: Vec<&str> = real.split('.').collect();
    add("other claims".into(), format!("{}.{}.{}", parts[0], base64(claims_of_boss.to_string()), parts[2]));
    for at in [0, 5, parts[0].len() + 3, real.len() - 40, real.len() - 1] {
        let mut bytes = real.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        add(format!("byte {at}"), String::from_utf8(bytes).expect("ASCII"));
    }
    let mut signature = URL_SAFE_NO_PAD.decode(parts[2]).expect("base64url");
    let mut carry = 0_u16;
    for (byte, more) in signature.iter_mut().skip(32).zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(more) + carry;
        *byte = sum.to_le_bytes()[0];
        carry = sum >> 8;
    }
    add("the signature's twin".into(), format!("{signed}.{}", base64(signature)));
    add("a signature of zeros".into(), format!("{signed}.{}", base64([0; 64])));

    // The wrong time.
    let t = now().timestamp();
    for (what, iat, exp) in [
        ("expired", t - 61, t - 1),
        ("expired at this second", t - 60, t),
        ("long expired", 0, 60),
        ("not yet valid", t + 600, t + 660),
        ("made to last", t, t + 3_600),
        ("made to last for ever", 0, i64::MAX),
        ("ending before it begins", t, t - 1),
        ("before all time", i64::MIN, i64::MIN),
    ] {
        let claims = with(&with(good, "iat", json!(iat)), "exp", json!(exp));
        all.push(Forgery { what: what.to_owned(), token: jws(&header, &claims, eddsa(key)), expired: true });
    }
    all
}
