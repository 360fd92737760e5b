//! The token tables, and the stability of canonical form and digest.

use chrono::{NaiveDate, TimeDelta};
use proptest::prelude::*;

use super::*;
use crate::domain::Yen;

mod mutated;

const SEED_A: [u8; 32] = [7; 32];
const SEED_B: [u8; 32] = [8; 32];

fn keys() -> Keys {
    Keys::from_seeds(&SEED_A, &SEED_B).unwrap()
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_790_000_000, 0).unwrap()
}

fn args() -> Map<String, Value> {
    json!({ "code_customer": "0002", "limit": 5 }).as_object().unwrap().clone()
}

fn hana() -> Person {
    Person::new("T1", "U1")
}

/// Any header and any claims under any key.
fn forge(seed: &[u8; 32], header: &Value, claims: &Value) -> String {
    let signed =
        format!("{}.{}", URL_SAFE_NO_PAD.encode(header.to_string()), URL_SAFE_NO_PAD.encode(claims.to_string()));
    let signature = SigningKey::from_bytes(seed).sign(signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()))
}

fn caller_claims() -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "iat": now().timestamp(), "exp": now().timestamp() + 60, "jti": "1",
        "sub": "slack:T1:U1", "tool": "get_sales", "args": arguments_hash(&args()),
    })
}

fn approval() -> Approval {
    Approval { proposal: ProposalId::new("P1"), digest: "d".into(), requester: hana(), approver: hana() }
}

#[test]
fn a_token_proves_who_is_called_for_and_what_was_approved() {
    let keys = keys();
    let verifier = Verifier::new(&keys.public).unwrap();
    let token = keys.caller.sign(&hana(), "get_sales", &args(), now());
    for age in [0, 1, 59] {
        let person = verifier.caller(&token, "get_sales", &args(), now() + TimeDelta::seconds(age)).unwrap();
        assert_eq!(person, hana());
    }
    let token = keys.approval.sign(&approval(), now());
    assert_eq!(verifier.approval(&token, now()).unwrap(), approval());
    assert_ne!(keys.approval.sign(&approval(), now()), token, "each token is of its own");
}

#[test]
fn i10_every_caller_token_that_differs_in_one_claim_is_refused() {
    let keys = keys();
    let verifier = Verifier::new(&keys.public).unwrap();
    let header = json!({ "alg": "EdDSA", "typ": "caller+jwt" });
    let check = |token: &str| verifier.caller(token, "get_sales", &args(), now());
    assert_eq!(check(&forge(&SEED_A, &header, &caller_claims())).unwrap(), hana(), "the forger knows the form");
    let with = |field: &str, value: Value| {
        let mut claims = caller_claims();
        claims[field] = value;
        claims
    };
    let t = now().timestamp();
    for (field, value) in [
        ("iss", json!("someone")),
        ("aud", json!("other-server")),
        ("aud", json!([AUDIENCE, "other"])),
        ("sub", json!("T1:U1")),
        ("sub", json!("slack:T1:")),
        ("sub", json!({ "role": "admin" })),
        ("tool", json!("add_sale")),
        ("tool", json!("GET_SALES")),
        ("args", json!(arguments_hash(&Map::new()))),
        ("args", json!("")),
        ("exp", json!(t)),
        ("exp", json!(t - 1)),
        ("exp", json!(t + 61)),
        ("exp", json!(i64::MAX)),
        ("exp", json!("never")),
        ("exp", Value::Null),
        ("iat", json!(t + 6)),
        ("iat", json!(t + 30)),
        ("iat", json!(i64::MIN)),
        ("iat", Value::Null),
    ] {
        let token = forge(&SEED_A, &header, &with(field, value.clone()));
        assert!(check(&token).is_err(), "{field} = {value}");
    }
    for field in ["iss", "aud", "sub", "tool", "args", "exp", "iat"] {
        let mut claims = caller_claims();
        claims.as_object_mut().unwrap().remove(field);
        assert!(check(&forge(&SEED_A, &header, &claims)).is_err(), "without {field}");
    }
}

#[test]
fn i10_no_other_algorithm_key_or_use_is_accepted() {
    let keys = keys();
    let verifier = Verifier::new(&keys.public).unwrap();
    let check = |token: &str| verifier.caller(token, "get_sales", &args(), now());
    for header in [
        json!({ "alg": "none", "typ": "caller+jwt" }),
        json!({ "alg": "None", "typ": "caller+jwt" }),
        json!({ "alg": "HS256", "typ": "caller+jwt" }),
        json!({ "alg": "ES256", "typ": "caller+jwt" }),
        json!({ "alg": "EdDSA", "typ": "approval+jwt" }),
        json!({ "alg": "EdDSA", "typ": "JWT" }),
        json!({ "alg": "EdDSA" }),
        json!({ "typ": "caller+jwt" }),
    ] {
        assert!(check(&forge(&SEED_A, &header, &caller_claims())).is_err(), "{header}");
    }
    let header = json!({ "alg": "EdDSA", "typ": "caller+jwt" });
    assert!(matches!(check(&forge(&SEED_B, &header, &caller_claims())), Err(TokenError::Signature)), "the other key");
    assert!(matches!(check(&forge(&[9; 32], &header, &caller_claims())), Err(TokenError::Signature)));
    let good = forge(&SEED_A, &header, &caller_claims());
    let (signed, _) = good.rsplit_once('.').unwrap();
    for token in
        [format!("{signed}."), signed.to_owned(), format!("{good}="), format!(" {good}"), String::new(), "..".into()]
    {
        assert!(check(&token).is_err(), "{token}");
    }
    assert!(check(&format!("{good}{}", "A".repeat(5000))).is_err());
    // Neither kind of token stands in for the other.
    assert!(verifier.approval(&keys.caller.sign(&hana(), "x", &args(), now()), now()).is_err());
    assert!(check(&keys.approval.sign(&approval(), now())).is_err());
}

#[test]
fn an_old_token_is_told_from_a_false_one() {
    let keys = keys();
    let verifier = Verifier::new(&keys.public).unwrap();
    let token = keys.approval.sign(&approval(), now());
    for shift in [TimeDelta::seconds(60), TimeDelta::minutes(10), TimeDelta::minutes(-10)] {
        assert!(matches!(verifier.approval(&token, now() + shift), Err(TokenError::Expired)), "{shift}");
    }
}

#[test]
fn a_jwt_library_reads_our_tokens() {
    use jsonwebtoken::{Algorithm, DecodingKey, Validation};
    let keys = keys();
    let token = keys.caller.sign(&hana(), "get_sales", &args(), now());
    let mut validation = Validation::new(Algorithm::EdDSA);
    validation.validate_exp = false;
    validation.set_audience(&[AUDIENCE]);
    validation.set_issuer(&[ISSUER]);
    let key = DecodingKey::from_ed_components(keys.public.caller.first().unwrap()).unwrap();
    let read = jsonwebtoken::decode::<Value>(&token, &key, &validation).unwrap();
    assert_eq!(read.claims["sub"], "slack:T1:U1");
    assert_eq!(read.claims["exp"].as_i64().unwrap() - read.claims["iat"].as_i64().unwrap(), 60);
}

#[test]
fn two_keys_are_accepted_while_they_are_exchanged() {
    let (old, new) = (keys(), Keys::generate().unwrap());
    let both = PublicKeys {
        caller: [old.public.caller.clone(), new.public.caller.clone()].concat(),
        approval: [old.public.approval.clone(), new.public.approval.clone()].concat(),
    };
    let verifier = Verifier::new(&both).unwrap();
    for keys in [&old, &new] {
        assert!(verifier.caller(&keys.caller.sign(&hana(), "t", &args(), now()), "t", &args(), now()).is_ok());
        assert!(verifier.approval(&keys.approval.sign(&approval(), now()), now()).is_ok());
    }
}

#[test]
fn unusable_public_keys_are_refused() {
    let good = keys().public;
    let same = PublicKeys { approval: good.caller.clone(), ..good.clone() };
    assert!(Verifier::new(&same).is_err(), "one key for both uses");
    // The neutral element of the curve: any signature would verify with a lax check.
    let mut weak = [0_u8; 32];
    weak[0] = 1;
    for caller in [vec![], vec![String::new()], vec!["not base64!".into()], vec![URL_SAFE_NO_PAD.encode(weak)]] {
        assert!(Verifier::new(&PublicKeys { caller: caller.clone(), ..good.clone() }).is_err(), "{caller:?}");
    }
}

#[test]
fn the_key_file_is_private_kept_and_never_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keys.json");
    let first = Keys::load_or_create(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(Keys::load_or_create(&path).unwrap().public, first.public);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left behind");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(Keys::load_or_create(&path), Err(KeyError::Exposed(_))));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&path, "{}").unwrap();
    assert!(matches!(Keys::load_or_create(&path), Err(KeyError::Damaged(_))));
}

#[test]
fn processes_that_start_together_end_with_the_same_keys() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keys.json");
    let public: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| Keys::load_or_create(&path).unwrap().public)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(public.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn keys_do_not_show_in_debug_output() {
    let shown = format!("{:?}", keys());
    let seed = URL_SAFE_NO_PAD.encode(SEED_A);
    assert!(!shown.contains(&seed) && !shown.contains("[7, 7"), "{shown}");
}

/// The digest is stored beside proposals and sales: a change of its form would orphan every pending card.
#[test]
fn the_digest_is_golden() {
    let write = Write::AddSale {
        code_customer: "0002".into(),
        name_customer: "佐藤 太郎".into(),
        department: "野菜".into(),
        products: "人参".into(),
        price: Yen(600),
        date_sales: NaiveDate::from_ymd_opt(2026, 10, 5).unwrap(),
    };
    assert_eq!(
        canonical(&write).unwrap(),
        r#"{"code_customer":"0002","date_sales":"2026-10-05","department":"野菜","name_customer":"佐藤 太郎","price":600,"products":"人参","tool":"add_sale"}"#
    );
    assert_eq!(digest(&write), hex::encode(Sha256::digest(canonical(&write).unwrap())));
}

fn any_write() -> impl Strategy<Value = Write> {
    let text = "\\PC{0,12}";
    (text, text, text, text, 0..=999_999_999_999_i64, 0..3_650_i64, text, any::<bool>()).prop_map(
        |(code, name, department, products, price, days, reason, add)| {
            let date_sales = NaiveDate::from_ymd_opt(2020, 1, 1).unwrap() + TimeDelta::days(days);
            let (code_customer, name_customer, price) = (code.clone(), name, Yen(price));
            if add {
                Write::AddSale { code_customer, name_customer, department, products, price, date_sales }
            } else {
                let code_sales = code;
                Write::CancelSale {
                    code_sales,
                    code_customer,
                    name_customer,
                    department,
                    products,
                    price,
                    date_sales,
                    reason,
                }
            }
        },
    )
}

proptest! {
    // Signatures are slow without optimisation.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_write_keeps_its_digest_through_the_store_and_loses_it_with_any_change(a in any_write(), b in any_write()) {
        let stored: Write = serde_json::from_str(&serde_json::to_string(&a).unwrap()).unwrap();
        prop_assert_eq!(digest(&stored), digest(&a));
        prop_assert_eq!(digest(&a) == digest(&b), a == b);
    }

    #[test]
    fn the_hash_of_arguments_ignores_the_order_of_keys_and_nothing_else(
        pairs in prop::collection::btree_map("[a-zé人\\u{10000}]{1,4}", any::<i32>(), 1..8)
    ) {
        let forward: Map<String, Value> = pairs.iter().map(|(k, v)| (k.clone(), (*v).into())).collect();
        let backward: Map<String, Value> = pairs.iter().rev().map(|(k, v)| (k.clone(), (*v).into())).collect();
        prop_assert_eq!(arguments_hash(&forward), arguments_hash(&backward));
        let mut other = forward.clone();
        if let Some((_, value)) = other.iter_mut().next() {
            *value = Value::String(value.to_string());
        }
        prop_assert_ne!(arguments_hash(&forward), arguments_hash(&other));
    }

    #[test]
    fn i10_no_altered_byte_of_a_token_survives(at in 0..10_000_usize, by in 1..=255_u8) {
        let keys = keys();
        let verifier = Verifier::new(&keys.public).unwrap();
        let mut bytes = keys.caller.sign(&hana(), "get_sales", &args(), now()).into_bytes();
        let at = at % bytes.len();
        bytes[at] = bytes[at].wrapping_add(by);
        if let Ok(token) = String::from_utf8(bytes) {
            prop_assert!(verifier.caller(&token, "get_sales", &args(), now()).is_err());
        }
    }
}
