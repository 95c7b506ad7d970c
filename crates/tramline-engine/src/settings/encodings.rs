//! The encodings in which a secret may come back: as it is, and as other programs write it.

use super::strength::{SECRET_BYTES_MIN, is_strong};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::collections::BTreeSet;

/// Shortest secret that is searched for in base64 and hexadecimal, in bytes. Fewer characters occur in any image by
/// chance.
const ENCODED_BYTES_MIN: usize = 8;

/// Shortest line of a multi-line secret that is searched for on its own, in bytes, if it is strong. Shorter lines and
/// plain words may be boilerplate that other texts contain too.
const LINE_BYTES_MIN: usize = 16;

/// The characters besides letters and digits that percent-encoders leave unchanged: RFC 3986, the same for paths,
/// JavaScript's two functions, and browsers in queries.
const UNESCAPED_CHARS: [&str; 5] = [
    "-._~",
    "-._~/",
    "-._~!*'()",
    "-._~!*'();/?:@&=+$,#",
    "-._~!*();/?:@&=+$,{}|\\^`[]%",
];

/// Every encoding of a secret that is searched for.
pub(super) fn encodings(secret: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let trimmed = secret.trim();
    for part in parts(secret, trimmed) {
        all.insert(escaped(part, false));
        all.insert(escaped(part, true));
        all.insert(part.replace('/', "\\/"));
        // As Rust and Python programs quote it in messages.
        all.insert(part.escape_debug().to_string());
        for upper in [true, false] {
            for kept in UNESCAPED_CHARS {
                all.insert(percent(part, kept, "%20", upper));
            }
            all.insert(percent(part, "*-._", "+", upper));
        }
        if part.len() >= ENCODED_BYTES_MIN {
            let hex: String = part.bytes().map(|byte| format!("{byte:02x}")).collect();
            all.insert(hex.to_uppercase());
            all.insert(hex);
            for before in 0..3 {
                all.insert(base64(part, before, &STANDARD_NO_PAD));
                all.insert(base64(part, before, &URL_SAFE_NO_PAD));
            }
        }
        // As host names and header names are shown, and as some programs quote what they reject. A weak one may be a word of any text.
        for changed in [part.to_ascii_lowercase(), part.to_ascii_uppercase()] {
            if is_strong(&changed) {
                all.insert(changed);
            }
        }
        all.insert(part.to_owned());
    }
    all
}

/// The secret, the trimmed secret, and its longer lines.
fn parts<'s>(secret: &'s str, trimmed: &'s str) -> impl Iterator<Item = &'s str> {
    let several = trimmed.contains('\n');
    let lines = trimmed.lines().map(str::trim);
    let lines =
        lines.filter(move |line| several && line.len() >= LINE_BYTES_MIN && is_strong(line));
    let whole = [secret, trimmed].into_iter();
    whole
        .filter(|part| part.len() >= SECRET_BYTES_MIN)
        .chain(lines)
}

/// A text as it appears inside a JSON string.
fn escaped(text: &str, ascii: bool) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inner = &quoted[1..quoted.len() - 1];
    if !ascii {
        return inner.to_owned();
    }
    let mut plain = String::with_capacity(inner.len());
    for letter in inner.chars() {
        if letter.is_ascii() {
            plain.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                plain.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    plain
}

fn percent(text: &str, kept: &str, space: &str, upper: bool) -> String {
    let mut coded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) {
            coded.push(char::from(byte));
        } else if byte == b' ' {
            coded.push_str(space);
        } else if upper {
            coded.push_str(&format!("%{byte:02X}"));
        } else {
            coded.push_str(&format!("%{byte:02x}"));
        }
    }
    coded
}

/// The base64 characters that depend on the secret alone, if it is preceded by `before` bytes (modulo 3) in a longer
/// text.
fn base64(
    secret: &str,
    before: usize,
    alphabet: &base64::engine::general_purpose::GeneralPurpose,
) -> String {
    let mut bytes = vec![0; before];
    bytes.extend(secret.bytes());
    let coded = alphabet.encode(&bytes);
    // Each character encodes six bits: those at the ends contain bits of the surrounding text.
    let begin = (before * 8).div_ceil(6);
    let end = bytes.len() * 8 / 6;
    coded[begin..end].to_owned()
}
