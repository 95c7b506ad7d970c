//! Makes untrusted text safe for terminals.
//!
//! A terminal interprets some characters: escape sequences clear the screen, rename the window or
//! move the cursor, and bidirectional controls change the order of displayed text. Such characters
//! are shown as escapes, `\\u{1b}`, so that they are visible.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character controls a terminal or reorders the text around it: controls (C0, DEL and
/// C1), bidirectional controls, line and paragraph separators, and invisible tags.
pub(super) fn is_terminal_control(c: char) -> bool {
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

/// Text that stays on one line: line breaks and tabs are escaped too, so that no field can look
/// like a separate line.
pub fn printable_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_terminal_control, |c, out| {
        out.extend(c.escape_default())
    })
}

/// Text that may have several lines.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    let bad = |c: char| is_terminal_control(c) && c != '\n' && c != '\t';
    escaped(text, bad, |c, out| out.extend(c.escape_default()))
}

/// JSON that keeps its meaning: inside strings every character can be escaped, and outside of them
/// only line breaks are control characters.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    let bad = |c: char| is_terminal_control(c) && c != '\n' && c != '\t';
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
        assert!(!line.chars().any(is_terminal_control), "{line:?}");
        assert!(
            line.starts_with("a\\u{1b}[2Jb\\u{7}\\r\\n\\tc\\u{7f}"),
            "{line}"
        );
        assert!(line.ends_with('é'));
        let lines = printable_lines(HOSTILE);
        let kept: Vec<char> = lines.chars().filter(|c| is_terminal_control(*c)).collect();
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
            assert!(
                !clean.chars().any(|c| is_terminal_control(c) && c != '\n'),
                "{clean:?}"
            );
            let read: serde_json::Value = serde_json::from_str(&clean).unwrap();
            assert_eq!(read, value);
        }
    }
}
