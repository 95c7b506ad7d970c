//! Base64 and URL encoding.

use super::Builtin;
use crate::error::{ExprResult, Flaw};
use crate::eval::machine::Machine;
use crate::eval::val::Val;
use crate::value::Value;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Characters that `encodeURIComponent` leaves alone, besides letters and digits.
const PLAIN: &[u8] = b"-_.!~*'()";
/// Characters that `encodeURI` leaves alone as well.
const RESERVED: &[u8] = b";/?:@&=+$,#";

impl Machine<'_> {
    pub(super) fn encode(&mut self, builtin: Builtin, text: &Val) -> ExprResult<Val> {
        let Some(text) = text.as_str() else {
            return Ok(Val::Undef);
        };
        self.meter.text(text.len().saturating_mul(3))?;
        let coded = match builtin {
            Builtin::Base64Encode => Some(to_base64(text)),
            Builtin::Base64Decode => Some(from_base64(text)),
            Builtin::EncodeUrlComponent => Some(percent(text, PLAIN, b"")),
            Builtin::EncodeUrl => Some(percent(text, PLAIN, RESERVED)),
            Builtin::DecodeUrlComponent => unpercent(text, b""),
            _ => unpercent(text, RESERVED),
        };
        match coded {
            Some(coded) => Ok(Val::text(coded)),
            None => {
                let name = builtin.name();
                let flaw = Flaw::new("D3140", format!("${name} cannot read this text"));
                Err(flaw.token(name).value(Value::String(text.clone())))
            }
        }
    }
}

/// Encodes one byte per character, as `btoa` does, or UTF-8 for text beyond Latin-1.
fn to_base64(text: &str) -> String {
    let latin: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c as u32).ok()).collect();
    let bytes = latin.unwrap_or_else(|| text.as_bytes().to_vec());
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let block = chunk
            .iter()
            .fold(0u32, |block, byte| block << 8 | u32::from(*byte));
        let block = block << (8 * (3 - chunk.len()));
        for place in 0..4 {
            match place <= chunk.len() {
                true => out.push(ALPHABET[(block >> (18 - 6 * place)) as usize & 63] as char),
                false => out.push('='),
            }
        }
    }
    out
}

/// Decodes text as [`to_base64`] encodes it: as UTF-8 if that gives text beyond Latin-1, otherwise one character per
/// byte, as `atob` does.
fn from_base64(text: &str) -> String {
    let bytes = base64_bytes(text);
    let latin = |bytes: &[u8]| bytes.iter().map(|byte| char::from(*byte)).collect();
    match str::from_utf8(&bytes) {
        Ok(text) if text.chars().any(|c| c as u32 > 0xff) => text.to_owned(),
        Ok(_) | Err(_) => latin(&bytes),
    }
}

fn base64_bytes(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut block, mut bits) = (0u32, 0);
    for byte in text.bytes() {
        let byte = match byte {
            b'-' => b'+',
            b'_' => b'/',
            b'=' => break,
            other => other,
        };
        let Some(digit) = ALPHABET.iter().position(|known| *known == byte) else {
            continue;
        };
        block = block << 6 | digit as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((block >> bits) as u8);
            block &= (1 << bits) - 1;
        }
    }
    out
}

fn percent(text: &str, plain: &[u8], reserved: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte.is_ascii_alphanumeric() || plain.contains(&byte) || reserved.contains(&byte) {
            true => out.push(byte as char),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn unpercent(text: &str, keep: &[u8]) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'%' {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        let digits = text.get(at + 1..at + 3)?;
        let byte = u8::from_str_radix(digits, 16).ok()?;
        match keep.contains(&byte) {
            true => out.extend(&bytes[at..at + 3]),
            false => out.push(byte),
        }
        at += 3;
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::{from_base64, to_base64};

    #[test]
    fn base64_gives_back_what_was_encoded() {
        for text in [
            "",
            "hello:world",
            "é",
            "Ã©",
            "naïve café ÿ",
            "日本語",
            "🚋 → €",
            "é and 日",
            "\u{100}",
        ] {
            assert_eq!(from_base64(&to_base64(text)), text, "{text}");
        }
        // As the reference has them.
        assert_eq!(to_base64("é"), "6Q==");
        assert_eq!(from_base64("w6k="), "Ã©");
    }
}
