//! Arguments that the wish says as they are.

use super::literals::{Kind, Literal};
use tramline_core::Value;

/// Takes the first literal that an argument can be.
pub(super) fn take(literals: &mut Vec<Literal>, name: &str, about: &Value) -> Option<Value> {
    let kinds = kinds(name, about);
    let at = kinds
        .iter()
        .find_map(|kind| literals.iter().position(|literal| literal.kind == *kind))?;
    Some(literals.remove(at).value)
}

/// What an argument can be, best first.
fn kinds(name: &str, about: &Value) -> &'static [Kind] {
    let name = name.to_lowercase();
    let speaks_of = |words: &[&str]| words.iter().any(|word| name.contains(word));
    match about.get("type").and_then(Value::as_str) {
        Some("integer") => &[Kind::Whole],
        Some("number") => &[Kind::Whole, Kind::Fraction],
        Some("boolean") => &[Kind::Truth],
        Some("string") | None if speaks_of(&["url", "uri"]) => &[Kind::Url],
        Some("string") | None if speaks_of(&["path", "file", "dir", "folder"]) => {
            &[Kind::Path, Kind::Quoted]
        }
        Some("string") => &[Kind::Quoted, Kind::Path, Kind::Url],
        Some(_) | None => &[],
    }
}
