//! References known again in expressions, and their steps as other formats write them.

use super::{Operand, Path, Piece, Reference, Step, joined};
use tramline_expr::{Str, Value};

/// The steps that a text begins with, like `.a.b[0]["c d"]`, and how many bytes they take.
pub(in crate::formats) fn steps(text: &str) -> (Vec<Step>, usize) {
    let mut steps = Vec::new();
    let mut at = 0;
    while let Some((step, length)) = step(&text[at..]) {
        steps.push(step);
        at += length;
    }
    (steps, at)
}

fn step(text: &str) -> Option<(Step, usize)> {
    if let Some(rest) = text.strip_prefix('.') {
        let length = name_length(rest);
        return (length > 0).then(|| (Step::Key(rest[..length].into()), length + 1));
    }
    let rest = text.strip_prefix('[')?;
    if rest.starts_with(['"', '\'']) {
        let quote = &rest[..1];
        let end = rest[1..].find(quote)? + 1;
        let closed = rest[end + 1..].starts_with(']');
        return closed.then(|| (Step::Key(rest[1..end].into()), end + 3));
    }
    let end = rest.find(']')?;
    let index = rest[..end].parse().ok()?;
    Some((Step::Index(index), end + 2))
}

/// How many bytes a name takes. A hyphen belongs to it only where the name goes on.
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

/// The reference that an expression is, if it is one.
pub(in crate::formats) fn reference_of(source: &str) -> Option<Reference> {
    let (reference, length) = begin(source)?;
    (length == source.len()).then_some(reference)
}

/// The path that an expression is, if it is nothing else.
pub(in crate::formats) fn path_of(source: &str) -> Option<Path> {
    let (path, length) = path(source)?;
    (length == source.len()).then_some(path)
}

/// The pieces of the text that an expression puts together, if it does just that.
pub(in crate::formats) fn pieces_of(source: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = source;
    loop {
        if let Some(inside) = rest.strip_prefix("$string(") {
            let (reference, length) = begin(inside)?;
            pieces.push(Piece::Reference(reference));
            rest = inside[length..].strip_prefix(')')?;
        } else {
            let (value, length) = literal(rest).filter(|(value, _)| value.as_str().is_some())?;
            pieces.push(Piece::Text(value.as_str()?.to_owned()));
            rest = &rest[length..];
        }
        if rest.is_empty() {
            // Only what would be written just so is known again.
            return (joined(&pieces) == source).then_some(pieces);
        }
        rest = rest.strip_prefix(" & ")?;
    }
}

/// The reference that a source begins with, and how many bytes it takes.
fn begin(source: &str) -> Option<(Reference, usize)> {
    let mut operands = Vec::new();
    let mut at = 0;
    loop {
        let rest = &source[at..];
        let (operand, length) = match path(rest) {
            Some((path, length)) => (Operand::Path(path), length),
            None => literal(rest).map(|(value, length)| (Operand::Literal(value), length))?,
        };
        operands.push(operand);
        at += length;
        match source[at..].strip_prefix(" ?? ") {
            Some(rest) if !rest.starts_with("$error(") => at += " ?? ".len(),
            Some(_) | None => break,
        }
    }
    if !matches!(operands.first(), Some(Operand::Path(_))) {
        return None;
    }
    // Only what would be written just so is known again.
    [true, false].into_iter().find_map(|sure| {
        let reference = Reference {
            operands: operands.clone(),
            sure,
        };
        let written = reference.jsonata();
        let goes_on = source.get(written.len()..)?.starts_with(" ?? ");
        (source.starts_with(&written) && !goes_on).then_some((reference, written.len()))
    })
}

/// The path that a source begins with.
fn path(source: &str) -> Option<(Path, usize)> {
    let (root, variable, mut at) = match source.strip_prefix('$') {
        Some(rest) if !rest.starts_with('`') => {
            let (root, length) = name(rest)?;
            (root, true, length + 1)
        }
        Some(_) => return None,
        None => {
            let (root, length) = name(source)?;
            (root, false, length)
        }
    };
    let mut steps = Vec::new();
    loop {
        let rest = &source[at..];
        if let Some((key, length)) = rest.strip_prefix('.').and_then(name) {
            steps.push(Step::Key(key));
            at += length + 1;
        } else if rest.starts_with('[')
            && let Some((step @ Step::Index(_), length)) = step(rest)
        {
            steps.push(step);
            at += length;
        } else {
            let path = Path {
                root,
                variable,
                steps,
            };
            // `$name(` is a function.
            return (!source[at..].starts_with('(')).then_some((path, at));
        }
    }
}

fn name(source: &str) -> Option<(Str, usize)> {
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

/// The JSON value that a source begins with.
fn literal(source: &str) -> Option<(Value, usize)> {
    let mut values = serde_json::Deserializer::from_str(source).into_iter::<serde_json::Value>();
    let value = values.next()?.ok()?;
    Some((value.into(), values.byte_offset()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(root: &str, rest: &str) -> Path {
        let (steps, length) = steps(rest);
        assert_eq!(length, rest.len());
        Path::new(root, steps)
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
            assert_eq!(steps(text).1, length, "{text}");
        }
    }

    #[test]
    fn references_are_known_again() {
        let literal = |json: &str| Operand::Literal(Value::from_json(json).unwrap());
        let cases = [
            (vec![Operand::Path(made("a", ""))], true, "a"),
            (
                vec![Operand::Path(made("a-b", ""))],
                false,
                "`a-b` ?? $error(\"there is no `a-b`\")",
            ),
            (
                vec![Operand::Path(made("a", ".b[0].c"))],
                false,
                "a.b[0].c ?? $error(\"there is no a.b[0].c; a.b[0] has \" & $join($keys(a.b[0]), \", \"))",
            ),
            (
                vec![Operand::Path(made("a", ".b"))],
                true,
                "a.b ?? $error(\"there is no a.b\")",
            ),
            (
                vec![
                    Operand::Path(made("a", ".b")),
                    Operand::Path(made("in", "")),
                    literal("[1,\" ?? \"]"),
                ],
                true,
                "a.b ?? `in` ?? [1,\" ?? \"]",
            ),
        ];
        for (operands, sure, source) in cases {
            let reference = Reference { operands, sure };
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
            Piece::Text("from \"x\" & ".into()),
            Piece::Reference(Reference::sure(made("a", ".b"))),
            Piece::Text("\n".into()),
            Piece::Reference(Reference::sure(made("b", ""))),
        ];
        let source = joined(&pieces);
        let again = pieces_of(&source).unwrap();
        assert_eq!(joined(&again), source);
        assert_eq!(again.len(), 4);
        assert_eq!(pieces_of("\"a\" & b"), None);
    }
}
