//! Repairs of invalid YAML that were tried: another indentation of one line, quotes around one value.
//!
//! A parser reports where it got stuck, which is often a line later than the mistake. Each candidate is parsed, and only
//! one that makes the document valid is suggested.

use saphyr_parser::Parser;
use tramline_workflow::flaw::SourceSpan;

/// Largest text that is repaired, in bytes: each candidate is parsed whole.
const TEXT_BYTES_MAX: usize = 256 << 10;
/// Most candidates that are tried.
const CANDIDATES_MAX: usize = 16;

/// A line replaced by another one.
struct Candidate {
    /// The number of the line, from 0.
    line: usize,
    text: String,
    /// The columns of the line that are marked, from 0.
    marked: (usize, usize),
    hint: String,
}

/// The place of the mistake and the repair, for an error reported at a line, from 1.
pub(super) fn find(text: &str, reported: usize) -> Option<(SourceSpan, String)> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let lines: Vec<&str> = text.lines().collect();
    let reported = reported.checked_sub(1)?;
    let mut candidates = Vec::new();
    for line in [Some(reported), reported.checked_sub(1)]
        .into_iter()
        .flatten()
    {
        let Some(written) = lines.get(line) else {
            continue;
        };
        candidates.extend(quoted(line, written));
        candidates.extend(indented(line, &lines));
    }
    let sound = candidates
        .into_iter()
        .take(CANDIDATES_MAX)
        .find(|candidate| {
            let changed = lines
                .iter()
                .enumerate()
                .map(|(at, line)| match at == candidate.line {
                    true => candidate.text.as_str(),
                    false => line,
                });
            is_valid(&changed.collect::<Vec<_>>().join("\n"))
        })?;
    let place = SourceSpan {
        line: sound.line + 1,
        column: sound.marked.0 + 1,
        end_line: sound.line + 1,
        end_column: sound.marked.1 + 1,
        pointer: String::new(),
    };
    Some((place, sound.hint))
}

fn is_valid(text: &str) -> bool {
    Parser::new_from_str(text).all(|event| event.is_ok())
}

/// The line with quotes around its value: `key: text: more`.
fn quoted(line: usize, written: &str) -> Option<Candidate> {
    let (key, value) = written.split_once(": ")?;
    let value = value.trim();
    if value.is_empty() || value.starts_with(['"', '\'', '{', '[', '|', '>']) {
        return None;
    }
    let value_text = tramline_expr::Value::from(value).to_json();
    let from = key.chars().count()
        + 2
        + (written[key.len() + 2..].len() - written[key.len() + 2..].trim_start().len());
    Some(Candidate {
        line,
        text: format!("{key}: {value_text}"),
        marked: (from, from + value.chars().count()),
        hint: format!("write `{value_text}`"),
    })
}

/// The line with the indentation of the lines around it.
fn indented(line: usize, lines: &[&str]) -> Vec<Candidate> {
    let written = lines[line].trim_start();
    let own = lines[line].len() - written.len();
    let is_text = |at: &usize| !lines[*at].trim().is_empty();
    let before = (0..line).rev().find(is_text);
    let after = (line + 1..lines.len()).find(is_text);
    let mut columns = Vec::new();
    for other in [before, after].into_iter().flatten() {
        let bare = lines[other].trim_start();
        let column = lines[other].len() - bare.len();
        columns.push(column);
        // Fields of a list item start after its dash.
        if let Some(field) = bare.strip_prefix('-') {
            columns.push(column + 1 + field.len() - field.trim_start().len());
        }
        columns.push(column + 2);
        columns.push(column.saturating_sub(2));
    }
    columns.retain(|column| *column != own || lines[line].contains('\t'));
    columns.dedup();
    let candidate = |column: usize| Candidate {
        line,
        text: format!("{}{written}", " ".repeat(column)),
        marked: (0, own.max(1)),
        hint: format!("indent this line with {column} spaces"),
    };
    columns.into_iter().map(candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn the_line_that_is_wrong_is_found() {
        let cases = [
            ("a:\n  b: 1\n   c: 2\n", 3, "indent this line with 2 spaces"),
            (
                "a:\n  - b: 1\n  c: 2\n",
                3,
                "indent this line with 4 spaces",
            ),
            ("a: x: y\n", 1, "write `\"x: y\"`"),
        ];
        for (text, line, hint) in cases {
            let reported = text.lines().count();
            let (place, found) = find(text, reported).unwrap();
            assert_eq!((place.line, found.as_str()), (line, hint), "{text}");
        }
        assert!(find("a: [1, 2\n", 1).is_none());
    }
}
