//! Tokens and JSON at random. `PROPTEST_CASES` sets how many of each are tried (256 when it is not set):
//!
//!     PROPTEST_CASES=200000 cargo test --lib mutated

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Number, Value};

use super::*;

/// One step from a good token to another text.
#[derive(Clone, Debug)]
enum Step {
    Set(usize, u8),
    Insert(usize, u8),
    Remove(usize),
    Swap(usize, usize),
    Cut(usize),
    Repeat(usize),
    /// The parts between dots, in another order or number.
    Parts(Vec<usize>),
    /// A part in other bytes.
    Replace(usize, Vec<u8>),
    /// A part's bytes in another alphabet or with padding.
    Respell(usize, u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Step::Set(at, byte)),
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Step::Insert(at, byte)),
        any::<usize>().prop_map(Step::Remove),
        (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Step::Swap(a, b)),
        any::<usize>().prop_map(Step::Cut),
        any::<usize>().prop_map(Step::Repeat),
        prop::collection::vec(0..3_usize, 0..6).prop_map(Step::Parts),
        (0..3_usize, prop::collection::vec(any::<u8>(), 0..80)).prop_map(|(part, bytes)| Step::Replace(part, bytes)),
        (0..3_usize, any::<u8>()).prop_map(|(part, how)| Step::Respell(part, how)),
    ];
    prop::collection::vec(step, 1..5)
}

fn apply(token: &str, steps: &[Step]) -> String {
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
    let mut bytes = token.as_bytes().to_vec();
    for step in steps {
        let length = bytes.len().max(1);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut parts: Vec<String> = text.split('.').map(str::to_owned).collect();
        match step {
            _ if bytes.is_empty() => {}
            Step::Set(at, byte) => bytes[at % length] = *byte,
            Step::Insert(at, byte) => bytes.insert(at % length, *byte),
            Step::Remove(at) => drop(bytes.remove(at % length)),
            Step::Swap(a, b) => bytes.swap(a % length, b % length),
            Step::Cut(at) => bytes.truncate(at % length),
            Step::Repeat(at) => bytes.extend(bytes[at % length..].to_vec()),
            Step::Parts(order) => {
                let chosen = order.iter().map(|n| parts.get(*n).map_or("", String::as_str));
                bytes = chosen.collect::<Vec<_>>().join(".").into_bytes();
            }
            Step::Replace(part, with) => {
                if let Some(part) = parts.get_mut(*part) {
                    *part = URL_SAFE_NO_PAD.encode(with);
                }
                bytes = parts.join(".").into_bytes();
            }
            Step::Respell(part, how) => {
                if let Some(part) = parts.get_mut(*part)
                    && let Ok(decoded) = URL_SAFE_NO_PAD.decode(&*part)
                {
                    *part = match how % 4 {
                        0 => STANDARD.encode(decoded),
                        1 => STANDARD_NO_PAD.encode(decoded),
                        2 => URL_SAFE.encode(decoded),
                        _ => format!("{part}\n"),
                    };
                }
                bytes = parts.join(".").into_bytes();
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What is accepted of a text, by any of the readers.
fn accepted(verifier: &Verifier, token: &str) -> bool {
    verifier.bearer(token, now()).is_ok()
        || verifier.caller(token, "get_sales", &args(), now()).is_ok()
        || verifier.approval(token, now()).is_ok()
}

/// A member of a JSON object as text, and whether a token with it may be accepted.
type Member = (&'static str, String, bool);

/// What stands at a claim's name: the right value as often as all others.
fn members(right: &[(&'static str, String)]) -> impl Strategy<Value = Vec<Member>> + use<> {
    let strange = [
        "null",
        "true",
        "0",
        "-1",
        "1e99",
        "1790000000.0",
        "1.79e9",
        "9223372036854775808",
        "\"\"",
        "\"EdDSA\"",
        "[]",
        "{}",
        "[\"sales-server\"]",
        "\"sales-server\"",
        "\"slack:T1:U1\"",
        "\"slack:T1:\"",
        "\"get_sales\"",
        "\"\\u0000\"",
    ];
    let choices: Vec<_> = right
        .iter()
        .map(|(name, value)| {
            let (name, value) = (*name, value.clone());
            let other = prop::sample::select(strange.to_vec()).prop_map(str::to_owned);
            prop_oneof![
                24 => Just(vec![(name, value.clone(), true)]),
                1 => Just(vec![]),
                1 => Just(vec![(name, value.clone(), true), (name, value.clone(), true)]),
                2 => other.prop_map({
                    let right = value.clone();
                    move |value| { let same = value == right; vec![(name, value, same)] }
                }),
            ]
        })
        .collect();
    let more = prop::collection::vec(prop::sample::select(vec!["x", "nbf", "crit", "SUB", "role"]), 0..3);
    (choices, more).prop_map(|(choices, more)| {
        let mut all: Vec<Member> = choices.concat();
        all.extend(more.into_iter().map(|name| (name, "[{\"a\": 1}]".to_owned(), true)));
        all
    })
}

fn text(members: &[Member]) -> String {
    let members: Vec<String> = members.iter().map(|(name, value, _)| format!("{:?}:{value}", name)).collect();
    format!("{{{}}}", members.join(","))
}

/// Each name that counts, exactly once and with the right value.
fn right(members: &[Member], names: &[&str]) -> bool {
    names.iter().all(|name| {
        let of_name: Vec<_> = members.iter().filter(|(n, _, _)| n == name).collect();
        of_name.len() == 1 && of_name.iter().all(|(_, _, right)| *right)
    })
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-(1_i64 << 53)..=1 << 53).prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |f| Number::from_f64(f).map(Value::Number)),
        any::<String>().prop_map(Value::String),
        "[\\x00-\\x7f]{0,6}".prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::btree_map(
                "[a-z\\x00-\\x20é人\\u{e000}-\\u{ffff}\\u{10000}-\\u{10fff}]{0,4}",
                inner,
                0..6
            )
            .prop_map(|map: BTreeMap<String, Value>| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Equal as JSON is: a number is its value, whatever it was written as.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// An object whose members are written in this order.
struct Members<'a>(Vec<(&'a String, &'a i64)>);

impl Serialize for Members<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

proptest! {
    #[test]
    fn i10_a_good_token_with_anything_changed_is_none(kind in 0..3_u8, steps in steps()) {
        let keys = keys();
        let verifier = Verifier::new(&keys.public).unwrap();
        let good = match kind {
            0 => keys.caller.sign(&hana(), "get_sales", &args(), now()),
            1 => keys.caller.sign_service(now()),
            _ => keys.approval.sign(&approval(), now()),
        };
        prop_assert!(accepted(&verifier, &good));
        let other = apply(&good, &steps);
        prop_assert_eq!(accepted(&verifier, &other), other == good);
    }

    #[test]
    fn i10_no_text_is_a_token(text in prop_oneof![any::<String>(), "[A-Za-z0-9_.=-]{0,200}", "(eyJ[A-Za-z0-9_-]{0,60}\\.?){0,5}"]) {
        prop_assert!(!accepted(&Verifier::new(&keys().public).unwrap(), &text));
    }

    /// Signed with the right key, so that all that decides is what the token says.
    #[test]
    fn i10_a_signed_token_is_accepted_exactly_when_each_of_its_claims_is_right(
        header in members(&[("alg", "\"EdDSA\"".into()), ("typ", "\"caller+jwt\"".into())]),
        claims in members(&[
            ("iss", format!("{ISSUER:?}")),
            ("aud", format!("{AUDIENCE:?}")),
            ("iat", now().timestamp().to_string()),
            ("exp", (now().timestamp() + 60).to_string()),
            ("sub", "\"slack:T1:U1\"".into()),
            ("tool", "\"get_sales\"".into()),
            ("args", format!("{:?}", arguments_hash(&args()))),
        ]).prop_shuffle(),
    ) {
        let verifier = Verifier::new(&keys().public).unwrap();
        let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(text(&header)), URL_SAFE_NO_PAD.encode(text(&claims)));
        let signature = SigningKey::from_bytes(&SEED_A).sign(signed.as_bytes());
        let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()));
        let person = verifier.caller(&token, "get_sales", &args(), now()).ok();
        let is_right = right(&header, &["alg", "typ"])
            && right(&claims, &["iss", "aud", "iat", "exp", "sub", "tool", "args"]);
        prop_assert_eq!(person, is_right.then(hana), "{} {}", text(&header), text(&claims));
    }

    #[test]
    fn canonical_json_says_the_same_and_is_its_own_canonical_form(value in json()) {
        let canonical_text = canonical(&value).unwrap();
        let read: Value = serde_json::from_str(&canonical_text).unwrap();
        prop_assert!(same(&read, &value), "{} {}", canonical_text, value);
        prop_assert_eq!(&canonical(&read).unwrap(), &canonical_text);
    }

    /// RFC 8785 sorts by UTF-16, which puts U+10000 before U+FFFF.
    #[test]
    fn canonical_json_is_sorted_however_it_was_written(
        members in prop::collection::hash_map("[a-z\\x00-\\x20é人\u{e000}-\u{ffff}\u{10000}-\u{10fff}]{0,4}", -(1_i64 << 53)..=1 << 53, 0..9)
    ) {
        let mut sorted: Vec<(&String, &i64)> = members.iter().collect();
        sorted.sort_by_key(|(key, _)| key.encode_utf16().collect::<Vec<_>>());
        let expected: Vec<String> =
            sorted.iter().map(|(key, value)| format!("{}:{value}", serde_json::to_string(key).unwrap())).collect();
        prop_assert_eq!(canonical(&Members(members.iter().collect())).unwrap(), format!("{{{}}}", expected.join(",")));
    }

    #[test]
    fn values_of_one_canonical_form_are_the_same_value(a in json(), b in json()) {
        prop_assert_eq!(canonical(&a).unwrap() == canonical(&b).unwrap(), same(&a, &b));
    }
}
