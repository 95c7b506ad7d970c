//! The token file: who may call over HTTP, one caller per line.

use super::read_bounded;
use std::path::Path;
use tramline_mcp_server::NamedToken;

/// The largest token file, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The longest caller name, in characters: names are written to journals.
const NAME_CHARS_MAX: usize = 64;

/// Marks a token whose caller may answer operator approvals.
const APPROVER: &str = "approver";

/// Reads lines of `name=token` or `name=token approver`; ignores empty lines and lines that start
/// with `#`.
pub fn read(path: &Path) -> Result<Vec<NamedToken>, String> {
    let bytes = read_bounded(path, FILE_BYTES_MAX)?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{} is not text", path.display()))?;
    parse(&text).map_err(|(line, says)| format!("{}:{line}: {says}", path.display()))
}

fn parse(text: &str) -> Result<Vec<NamedToken>, (usize, &'static str)> {
    let mut all: Vec<NamedToken> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |says| (at + 1, says);
        let (name, token) = line.split_once('=').ok_or(wrong("write name=token"))?;
        let (name, token) = (name.trim(), token.trim());
        let (token, mark) = match token.split_once(char::is_whitespace) {
            Some((token, mark)) => (token, Some(mark.trim())),
            None => (token, None),
        };
        if mark.is_some_and(|mark| mark != APPROVER) {
            return Err(wrong(
                "only `approver` may follow a token; a token has no spaces",
            ));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@');
        if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.chars().all(plain) {
            return Err(wrong("a name has letters, digits and . _ - @, at most 64"));
        }
        if token.is_empty() {
            return Err(wrong("the token is empty"));
        }
        if all.iter().any(|known| known.name == name) {
            return Err(wrong("duplicate name"));
        }
        if all.iter().any(|known| known.token == token) {
            return Err(wrong("duplicate token; each caller needs its own"));
        }
        all.push(NamedToken {
            name: name.into(),
            token: token.to_owned(),
            approver: mark.is_some(),
        });
    }
    if all.is_empty() {
        return Err((1, "the file has no name=token line"));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_tokens_are_read_and_slips_are_told_by_line() {
        let read = parse("# who\n\nann = a1\nbob=b=2\n").unwrap();
        assert_eq!(
            (read[0].name.as_str(), read[0].token.as_str()),
            ("ann", "a1")
        );
        assert_eq!(read[1].token, "b=2");
        assert!(!read[0].approver && !read[1].approver);
        let marked = parse("ann=a1 approver\nbob = b2\tapprover \ncid=c3").unwrap();
        let marks: Vec<_> = marked
            .iter()
            .map(|one| (one.token.as_str(), one.approver))
            .collect();
        assert_eq!(marks, [("a1", true), ("b2", true), ("c3", false)]);
        for (text, line) in [
            ("", 1),
            ("ann", 1),
            ("ann=\n", 1),
            ("a=1\na=2", 2),
            ("a=1\nb=1", 2),
            ("a b=1", 1),
            ("a=1 aprover", 1),
            ("a=1 x approver", 1),
        ] {
            assert_eq!(parse(text).unwrap_err().0, line, "{text}");
        }
    }
}
