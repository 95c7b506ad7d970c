//! Finds a name inside the references that a document writes in its own syntax.
//!
//! Readers translate `${list.entries}` and `$OUTPUT[list].entries` to expressions. A problem of such
//! an expression names what is wrong; here it is found in the text that was translated.

use super::reference::parse_steps;
use std::ops::Range;
use tramline_expr::Value;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::SourceSpan;
use tramline_workflow::graph::problem::ReferencedName;

/// Strings that are searched for a name; a larger value is reported as a whole.
const STRINGS_MAX: usize = 200;

/// The place of a name in the references of a value.
pub(super) fn find(at: Spanned<'_>, wanted: &ReferencedName) -> Option<SourceSpan> {
    let root = wanted.of.split(['.', '[']).next().unwrap_or_default();
    let root = root.trim_matches('`');
    let mut left = STRINGS_MAX;
    search(at, Some(root), &wanted.name, &mut left).or_else(|| {
        left = STRINGS_MAX;
        search(at, None, &wanted.name, &mut left)
    })
}

fn search(at: Spanned<'_>, root: Option<&str>, name: &str, left: &mut usize) -> Option<SourceSpan> {
    match at.value {
        Value::String(text) => {
            *left = left.checked_sub(1)?;
            let bytes = references(text)
                .filter(|region| {
                    let inside = &text[region.clone()];
                    root.is_none_or(|root| inside.trim_start_matches(['"', '\'']).starts_with(root))
                })
                .find_map(|region| word(text, region, name))?;
            Some(at.span_inside(&bytes))
        }
        Value::Array(_) => at.items().find_map(|item| search(item, root, name, left)),
        Value::Object(_) => at
            .fields()
            .find_map(|(_, field)| search(field, root, name, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The insides of the references of a text.
fn references(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let dollar = text[done..].find('$').map(|at| done + at)?;
        let rest = &text[dollar..];
        let (inside, end) = if rest.starts_with("${") {
            let inside = dollar + "${".len();
            (
                inside,
                text[inside..]
                    .find('}')
                    .map_or(text.len(), |at| inside + at),
            )
        } else if rest.starts_with("$OUTPUT[") {
            let inside = dollar + "$OUTPUT[".len();
            let close = text[inside..]
                .find(']')
                .map_or(text.len(), |at| inside + at + 1);
            let (_, length) = parse_steps(&text[close.min(text.len())..]);
            (inside, close.min(text.len()) + length)
        } else {
            (dollar + 1, dollar + 1)
        };
        done = end.max(dollar + 1);
        Some(inside..end)
    })
}

/// The bytes of a whole word inside a part of a text.
fn word(text: &str, part: Range<usize>, name: &str) -> Option<Range<usize>> {
    let is_inner = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let inside = &text[part.clone()];
    let mut found = inside.match_indices(name);
    found.find_map(|(at, _)| {
        let before = inside[..at].chars().next_back();
        let after = inside[at + name.len()..].chars().next();
        let whole = !before.is_some_and(is_inner) && !after.is_some_and(is_inner);
        whole.then(|| part.start + at..part.start + at + name.len())
    })
}
