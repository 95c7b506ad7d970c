//! Foreign text made harmless for terminals.
//!
//! A terminal obeys some of what it is given: escape sequences clear the screen, rename the window
//! or move the cursor, and controls of direction let a text read otherwise than it is written. Such
//! characters are shown as escapes, `\\u{1b}`, so that a reader sees that they are there.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character steers a terminal or reorders what stands beside it: controls (C0, DEL and
/// C1), controls of direction, separators of lines and paragraphs, and invisible tags.
pub(super) fn steers(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{206f}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// A text that stays on one line: ends of lines and tabs are escaped too, so that no field can look
/// like a line of its own.
pub fn printable_line(text: &str) -> Cow<'_, str> {
    escaped(text, steers, |c, out| out.extend(c.escape_default()))
}

/// A text of several lines.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    let bad = |c: char| steers(c) && c != '\n' && c != '\t';
    escaped(text, bad, |c, out| out.extend(c.escape_default()))
}

/// JSON, which stays JSON with the same meaning: inside of strings every character can be escaped,
/// and outside of them there is none that steers but the ends of lines.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    let bad = |c: char| steers(c) && c != '\n' && c != '\t';
    escaped(json, bad, |c, out| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

fn escaped(
    text: &str,
    bad: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    let Some(first) = text.find(&bad) else {
        return Cow::Borrowed(text);
    };
    let mut clean = String::with_capacity(text.len() + 16);
    clean.push_str(&text[..first]);
    for c in text[first..].chars() {
        if bad(c) {
            escape(c, &mut clean);
        } else {
            clean.push(c);
        }
    }
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str =
        "a\u{1b}[2Jb\u{7}\r\n\tc\u{7f}\u{9b}1m\u{202e}d\u{2066}\u{200f}\u{61c}\u{2028}\u{e0041}é";

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        let line = printable_line(HOSTILE);
        assert!(!line.chars().any(steers), "{line:?}");
        assert!(
            line.starts_with("a\\u{1b}[2Jb\\u{7}\\r\\n\\tc\\u{7f}"),
            "{line}"
        );
        assert!(line.ends_with('é'));
        let lines = printable_lines(HOSTILE);
        let kept: Vec<char> = lines.chars().filter(|c| steers(*c)).collect();
        assert_eq!(kept, ['\n', '\t']);
        assert!(matches!(
            printable_line("plain text, 日本語 שלום"),
            Cow::Borrowed(_)
        ));
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = serde_json::json!({ HOSTILE: [HOSTILE, 1, true] });
        for json in [
            value.to_string(),
            serde_json::to_string_pretty(&value).unwrap(),
        ] {
            let clean = printable_json(&json);
            assert!(!clean.chars().any(|c| steers(c) && c != '\n'), "{clean:?}");
            let read: serde_json::Value = serde_json::from_str(&clean).unwrap();
            assert_eq!(read, value);
        }
    }
}
