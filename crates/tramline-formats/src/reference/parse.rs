//! Recognises references in expressions, and parses path steps in the syntax of other formats.

use super::{
    OutputReference, ReferenceOperand, ReferencePath, ReferenceStep, TextPart, concat_expression,
};
use tramline_expr::{Str, Value};

/// The steps at the start of a text, like `.a.b[0]["c d"]`, and their length in bytes.
pub(crate) fn parse_steps(text: &str) -> (Vec<ReferenceStep>, usize) {
    let mut steps = Vec::new();
    let mut at = 0;
    while let Some((step, length)) = parse_step(&text[at..]) {
        steps.push(step);
        at += length;
    }
    (steps, at)
}

fn parse_step(text: &str) -> Option<(ReferenceStep, usize)> {
    if let Some(rest) = text.strip_prefix('.') {
        let length = name_length(rest);
        return (length > 0).then(|| (ReferenceStep::Key(rest[..length].into()), length + 1));
    }
    let rest = text.strip_prefix('[')?;
    if rest.starts_with(['"', '\'']) {
        let quote = &rest[..1];
        let end = rest[1..].find(quote)? + 1;
        let closed = rest[end + 1..].starts_with(']');
        return closed.then(|| (ReferenceStep::Key(rest[1..end].into()), end + 3));
    }
    let end = rest.find(']')?;
    let index = rest[..end].parse().ok()?;
    Some((ReferenceStep::Index(index), end + 2))
}

/// The length of a name in bytes. A hyphen belongs to it only if the name continues after it.
fn name_length(text: &str) -> usize {
    let mut letters = text.char_indices().peekable();
    while let Some((at, c)) = letters.next() {
        let goes_on = letters
            .peek()
            .is_some_and(|(_, next)| next.is_alphanumeric() || *next == '_');
        let inside = c.is_alphanumeric() || c == '_' || (c == '-' && at > 0 && goes_on);
        if !inside {
            return at;
        }
    }
    text.len()
}

/// The reference, if the expression is exactly one.
pub(crate) fn reference_of(source: &str) -> Option<OutputReference> {
    let (reference, length) = reference_prefix(source)?;
    (length == source.len()).then_some(reference)
}

/// The path, if the expression is exactly one.
pub(crate) fn path_of(source: &str) -> Option<ReferencePath> {
    let (path, length) = path_prefix(source)?;
    (length == source.len()).then_some(path)
}

/// The pieces, if the expression is a concatenation of strings and references.
pub(crate) fn pieces_of(source: &str) -> Option<Vec<TextPart>> {
    let mut pieces = Vec::new();
    let mut rest = source;
    loop {
        if let Some(inside) = rest.strip_prefix("$string(") {
            let (reference, length) = reference_prefix(inside)?;
            pieces.push(TextPart::Reference(reference));
            rest = inside[length..].strip_prefix(')')?;
        } else {
            let (value, length) =
                json_prefix(rest).filter(|(value, _)| value.as_str().is_some())?;
            pieces.push(TextPart::Text(value.as_str()?.to_owned()));
            rest = &rest[length..];
        }
        if rest.is_empty() {
            // Only the exact form that we write is recognised.
            return (concat_expression(&pieces) == source).then_some(pieces);
        }
        rest = rest.strip_prefix(" & ")?;
    }
}

/// The reference at the start of a source, and its length in bytes.
fn reference_prefix(source: &str) -> Option<(OutputReference, usize)> {
    let mut operands = Vec::new();
    let mut at = 0;
    loop {
        let rest = &source[at..];
        let (operand, length) = match path_prefix(rest) {
            Some((path, length)) => (ReferenceOperand::Path(path), length),
            None => json_prefix(rest)
                .map(|(value, length)| (ReferenceOperand::Literal(value), length))?,
        };
        operands.push(operand);
        at += length;
        match source[at..].strip_prefix(" ?? ") {
            Some(rest) if !rest.starts_with("$error(") => at += " ?? ".len(),
            Some(_) | None => break,
        }
    }
    if !matches!(operands.first(), Some(ReferenceOperand::Path(_))) {
        return None;
    }
    // Only the exact form that we write is recognised.
    [true, false].into_iter().find_map(|sure| {
        let reference = OutputReference {
            operands: operands.clone(),
            is_certain: sure,
        };
        let written = reference.jsonata();
        let goes_on = source.get(written.len()..)?.starts_with(" ?? ");
        (source.starts_with(&written) && !goes_on).then_some((reference, written.len()))
    })
}

/// The path at the start of a source.
fn path_prefix(source: &str) -> Option<(ReferencePath, usize)> {
    let (root, variable, mut at) = match source.strip_prefix('$') {
        Some(rest) if !rest.starts_with('`') => {
            let (root, length) = name_prefix(rest)?;
            (root, true, length + 1)
        }
        Some(_) => return None,
        None => {
            let (root, length) = name_prefix(source)?;
            (root, false, length)
        }
    };
    let mut steps = Vec::new();
    loop {
        let rest = &source[at..];
        if let Some((key, length)) = rest.strip_prefix('.').and_then(name_prefix) {
            steps.push(ReferenceStep::Key(key));
            at += length + 1;
        } else if rest.starts_with('[')
            && let Some((step @ ReferenceStep::Index(_), length)) = parse_step(rest)
        {
            steps.push(step);
            at += length;
        } else {
            let path = ReferencePath {
                root,
                is_variable: variable,
                steps,
            };
            // `$name(` is a function.
            return (!source[at..].starts_with('(')).then_some((path, at));
        }
    }
}

fn name_prefix(source: &str) -> Option<(Str, usize)> {
    if let Some(rest) = source.strip_prefix('`') {
        let end = rest.find('`')?;
        return Some((rest[..end].into(), end + 2));
    }
    let end = source
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(source.len());
    let name = &source[..end];
    let word = matches!(name, "true" | "false" | "null");
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (begins && !word).then(|| (name.into(), end))
}

/// The JSON value at the start of a source.
fn json_prefix(source: &str) -> Option<(Value, usize)> {
    let mut values = serde_json::Deserializer::from_str(source).into_iter::<serde_json::Value>();
    let value = values.next()?.ok()?;
    Some((value.into(), values.byte_offset()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(root: &str, rest: &str) -> ReferencePath {
        let (steps, length) = parse_steps(rest);
        assert_eq!(length, rest.len());
        ReferencePath::new(root, steps)
    }

    #[test]
    fn steps_end_where_a_text_goes_on() {
        for (text, length) in [
            (".a.b[0].c", 9),
            (".a. And so on", 2),
            (".content-type", 13),
            (".a-", 2),
            ("[0][-1]x", 7),
            ("[\"a b\"].c", 9),
            ("[x]", 0),
            (".", 0),
        ] {
            assert_eq!(parse_steps(text).1, length, "{text}");
        }
    }

    #[test]
    fn references_are_known_again() {
        let literal = |json: &str| ReferenceOperand::Literal(Value::from_json(json).unwrap());
        let cases = [
            (vec![ReferenceOperand::Path(made("a", ""))], true, "a"),
            (
                vec![ReferenceOperand::Path(made("a-b", ""))],
                false,
                "`a-b` ?? $error(\"there is no `a-b`\")",
            ),
            (
                vec![ReferenceOperand::Path(made("a", ".b[0].c"))],
                false,
                "a.b[0].c ?? $error(\"there is no a.b[0].c; a.b[0] has \" & $join($keys(a.b[0]), \", \"))",
            ),
            (
                vec![ReferenceOperand::Path(made("a", ".b"))],
                true,
                "a.b ?? $error(\"there is no a.b\")",
            ),
            (
                vec![
                    ReferenceOperand::Path(made("a", ".b")),
                    ReferenceOperand::Path(made("in", "")),
                    literal("[1,\" ?? \"]"),
                ],
                true,
                "a.b ?? `in` ?? [1,\" ?? \"]",
            ),
        ];
        for (operands, sure, source) in cases {
            let reference = OutputReference {
                operands,
                is_certain: sure,
            };
            assert_eq!(reference.jsonata(), source);
            let again = reference_of(source).unwrap();
            assert_eq!(again.operands, reference.operands, "{source}");
            assert_eq!(again.jsonata(), source);
        }
        for other in ["a + b", "$.a", "a.b[x = 1]", "a.b ?? $error(\"other\")", ""] {
            assert_eq!(reference_of(other), None, "{other}");
        }
    }

    #[test]
    fn texts_are_known_again() {
        let pieces = vec![
            TextPart::Text("from \"x\" & ".into()),
            TextPart::Reference(OutputReference::certain(made("a", ".b"))),
            TextPart::Text("\n".into()),
            TextPart::Reference(OutputReference::certain(made("b", ""))),
        ];
        let source = concat_expression(&pieces);
        let again = pieces_of(&source).unwrap();
        assert_eq!(concat_expression(&again), source);
        assert_eq!(again.len(), 4);
        assert_eq!(pieces_of("\"a\" & b"), None);
    }
}
