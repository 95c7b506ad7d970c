//! Redaction of any secrets in any texts: nothing of them remains, and nothing else changes.

use super::redact::{Redactor, SecretStrength};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use tramline_expr::Value;

/// The encodings of a secret in these tests. Each of them must be found.
fn encoded(secret: &str, way: usize) -> String {
    let json = serde_json::Value::from(secret).to_string();
    let hex = |upper: bool| -> String {
        let coded: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        if upper { coded.to_uppercase() } else { coded }
    };
    let percent = || -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let coded = |byte: u8| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        };
        secret.bytes().map(coded).collect()
    };
    let long = secret.len() >= 8;
    match way % 10 {
        1 => json[1..json.len() - 1].to_owned(),
        2 => percent(),
        3 if long => hex(false),
        4 if long => hex(true),
        // With a prefix, at each of the three alignments of base64.
        5 if long => STANDARD.encode(format!("ab{secret}")),
        6 if long => STANDARD.encode(format!("b{secret}")),
        7 if long => STANDARD.encode(secret),
        8 if long => URL_SAFE_NO_PAD.encode(secret),
        // As a host name is shown.
        9 if super::strength::is_strong(&secret.to_ascii_lowercase()) => {
            secret.to_ascii_lowercase()
        }
        _ => secret.to_owned(),
    }
}

/// Secrets that share characters with each other, with marks and with names.
fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab]{5,9}",
        "[a-c1-3]{5,14}",
        "[a-zA-Z0-9]{5,24}",
        "[\\[\\]a-c:█⟦⟧⟪⟫]{5,10}",
        "(redacted|\\[redacted|redacted:|cted:K0|K0\\]ab|\\]ab12|x\\[red|\\[redacted:K1\\])",
        "[ -~äöü€]{5,20}",
    ]
    .prop_filter("it is redacted", |secret| {
        super::not_redacted(secret).is_none()
    })
}

/// Texts that contain many pieces of the secrets.
fn text(secrets: &[String]) -> impl Strategy<Value = String> + use<> {
    let whole = secrets.to_vec();
    let pieces = secrets.to_vec();
    let piece = prop_oneof![
        (any::<prop::sample::Index>(), 0..10_usize)
            .prop_map(move |(which, way)| encoded(&whole[which.index(whole.len())], way)),
        (
            any::<prop::sample::Index>(),
            any::<prop::sample::Index>(),
            any::<bool>()
        )
            .prop_map(move |(which, at, head)| {
                let letters: Vec<char> = pieces[which.index(pieces.len())].chars().collect();
                let at = at.index(letters.len());
                let part = if head { &letters[..at] } else { &letters[at..] };
                part.iter().collect()
            }),
        "[ -~]{0,6}",
        "[ab]{0,12}",
        "(\\[redacted:K0\\]|redacted|█|=|\\])",
    ];
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

fn case() -> impl Strategy<Value = (Vec<String>, String)> {
    prop::collection::vec(secret(), 1..5).prop_flat_map(|secrets| {
        let text = text(&secrets);
        (Just(secrets), text)
    })
}

fn redactor(secrets: &[String]) -> Redactor {
    let names: Vec<String> = (0..secrets.len()).map(|at| format!("K{at}")).collect();
    let both = names.iter().map(String::as_str).zip(secrets);
    Redactor::new(both.map(|(name, secret)| (name, secret.as_str()))).unwrap()
}

/// The bytes of a text that some secret covers, found by a naive search.
fn covered(secrets: &[String], text: &str) -> Vec<bool> {
    let mut covered = vec![false; text.len()];
    let forms = secrets
        .iter()
        .flat_map(|secret| super::encodings::encodings(secret));
    for form in forms {
        for (at, _) in text.char_indices() {
            if text[at..].starts_with(&form) {
                covered[at..at + form.len()].fill(true);
            }
        }
    }
    covered
}

/// The parts of a text that no secret covers, in order.
fn outside(covered: &[bool], text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for (at, letter) in text.char_indices() {
        match (covered[at], parts.last_mut()) {
            (false, Some(part)) => part.push(letter),
            _ if at > 0 && covered[at - 1] => {}
            _ => parts.push(String::new()),
        }
    }
    parts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nothing_of_a_secret_is_left_and_nothing_else_is_changed((secrets, text) in case()) {
        let redactor = redactor(&secrets);
        let clean = redactor.redact_text(&text).into_owned();
        // Everything outside of secrets remains, in order, with only marks in between.
        let mut rest = clean.as_str();
        for (at, part) in outside(&covered(&secrets, &text), &text).iter().enumerate() {
            let found = if at == 0 { rest.starts_with(part.as_str()).then_some(0) } else { rest.find(part.as_str()) };
            prop_assert!(found.is_some(), "{text:?} became {clean:?}");
            rest = &rest[found.unwrap_or(0) + part.len()..];
        }
        // No secret is in the result, not even one formed by marks and their surroundings.
        for secret in &secrets {
            for form in super::encodings::encodings(secret) {
                prop_assert!(!clean.contains(&form), "{form:?} of {secret:?} in {clean:?}");
            }
        }
        prop_assert_eq!(redactor.redact_text(&clean), clean.as_str());
        let dirty = text != clean;
        prop_assert_eq!(dirty, covered(&secrets, &text).contains(&true));
        prop_assert_eq!(redactor.find_secret(&text, SecretStrength::Strong).is_some() && !dirty, false);
    }

    #[test]
    fn values_of_any_shape_hold_no_secret_and_keep_every_field((secrets, text) in case(), number in any::<u64>()) {
        let redactor = redactor(&secrets);
        let value = Value::object([
            ("plain", Value::from(text.as_str())),
            (text.as_str(), Value::array([Value::from(text.as_str()), number.into(), Value::Null])),
            (secrets[0].as_str(), Value::object([(text.as_str(), Value::from(true))])),
            ("[redacted:K0]", Value::from(1)),
        ]);
        let clean = redactor.redact_value(&value).unwrap_or_else(|| value.clone());
        let fields = |value: &Value| value.as_object().unwrap().len();
        prop_assert_eq!(fields(&clean), fields(&value));
        prop_assert!(redactor.redact_value(&clean).is_none(), "{}", clean.to_json());
        let mut strings = Vec::new();
        all_strings(&clean, &mut strings);
        for secret in &secrets {
            let held = strings.iter().any(|text| text.contains(secret.as_str()));
            prop_assert!(!held, "{secret:?} in {}", clean.to_json());
        }
    }
}

fn all_strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(_) => found.push(value.to_json()),
        Value::String(text) => found.push(text.to_string()),
        Value::Array(items) => items.iter().for_each(|item| all_strings(item, found)),
        Value::Object(map) => {
            for (key, value) in map.iter() {
                found.push(key.to_string());
                all_strings(value, found);
            }
        }
    }
}

#[test]
fn a_secret_in_another_case_is_hidden_if_it_is_no_word() {
    let redactor =
        Redactor::new([("KEY", "Q7hZ2mK9xR4tB8wL"), ("NAME", "ADMINISTRATION")]).unwrap();
    let shown =
        redactor.redact_text("http://q7hz2mk9xr4tb8wl/ cannot be reached by the administration");
    assert_eq!(
        shown,
        "http://[redacted:KEY]/ cannot be reached by the administration"
    );
    let shown = redactor.redact_text("UNKNOWN KEY Q7HZ2MK9XR4TB8WL");
    assert_eq!(shown, "UNKNOWN KEY [redacted:KEY]");
}

#[test]
fn overlapping_secrets_are_hidden_whole() {
    let token = "ghp_9aB3xKq77LmNzz0PqRsTuVwX";
    let redactor = Redactor::new([
        ("G", "zzzzghp"),
        ("TOKEN", token),
        ("token:bob", "bobbobbobbob123g"),
        ("INNER", "xKq77"),
    ])
    .unwrap();
    for (text, wanted) in [
        (
            format!("zzzz{token}!"),
            "[redacted:G][redacted:INNER][redacted:TOKEN]!",
        ),
        (
            format!("bobbobbobbob123{token}"),
            "[redacted:token:bob][redacted:INNER][redacted:TOKEN]",
        ),
        (
            format!("a {token} b"),
            "a [redacted:INNER][redacted:TOKEN] b",
        ),
        (
            "a xKq77 zzzzghp".to_owned(),
            "a [redacted:INNER] [redacted:G]",
        ),
        ("xKq77xKq77".to_owned(), "[redacted:INNER][redacted:INNER]"),
    ] {
        assert_eq!(redactor.redact_text(&text), wanted);
    }
    assert_eq!(
        redactor
            .find_secret(&format!("zzzz{token}"), SecretStrength::Strong)
            .unwrap(),
        "TOKEN"
    );
}

#[test]
fn one_value_under_two_names_has_both_marks() {
    let redactor = Redactor::new([("A", "same-value"), ("B", "same-value")]).unwrap();
    assert_eq!(
        redactor.redact_text("is same-value"),
        "is [redacted:A][redacted:B]"
    );
}

#[test]
fn a_mark_never_holds_a_secret() {
    // The word in the mark, another setting's name, a mark's end, and a whole mark.
    for (secret, text, wanted) in [
        ("redacted:", "swordfish", "[redacted]"),
        ("redacted", "swordfish", "█"),
        ("MY_PASSWORD", "swordfish", "[redacted]"),
        ("]tail1", "swordfishtail1", "⟦redacted:MY_PASSWORD⟧tail1"),
        ("head1[", "head1swordfish", "head1⟦redacted:MY_PASSWORD⟧"),
        (
            "Bearer [redacted:MY_PASSWORD]",
            "Bearer swordfish",
            "Bearer ⟦redacted:MY_PASSWORD⟧",
        ),
    ] {
        let redactor = Redactor::new([("MY_PASSWORD", "swordfish"), ("B", secret)]).unwrap();
        assert_eq!(redactor.redact_text(text), wanted, "{secret}");
        assert_eq!(redactor.redact_text(wanted), wanted, "{secret}");
    }
}

#[test]
fn numbers_are_searched_for_parts_that_are_numbers() {
    let redactor = Redactor::new([("PIN", "482133")]).unwrap();
    let value = Value::from_json(r#"[482133,1482133.5,48213]"#).unwrap();
    let clean = redactor.redact_value(&value).unwrap().to_json();
    assert_eq!(clean, r#"["[redacted:PIN]","1[redacted:PIN].5",48213]"#);
}
