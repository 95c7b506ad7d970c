//! Regular expressions: JavaScript syntax on an engine with bounded backtracking.

use crate::error::{ExprResult, Flaw};
use crate::value::Value;
use fancy_regex::{Regex, RegexBuilder};

/// Backtracking steps in one search, so that no pattern takes exponential time. Beyond it: `L0001`.
const BACKTRACKS_MAX: usize = 200_000;

/// Bytes of memory for one compiled pattern.
const COMPILED_BYTES_MAX: usize = 2 << 20;

/// Bytes of source in one pattern.
const PATTERN_BYTES_MAX: usize = 8 << 10;

/// A compiled regular expression.
#[derive(Debug)]
pub(crate) struct RegexPattern {
    regex: Regex,
    source: String,
}

/// One match in byte offsets, with the groups that took part.
pub(crate) struct RegexMatch {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) groups: Vec<Option<(usize, usize)>>,
}

impl RegexPattern {
    pub(crate) fn new(source: &str, flags: &str) -> ExprResult<Self> {
        if source.len() > PATTERN_BYTES_MAX {
            return Err(Flaw::new(
                "L0007",
                "the regular expression is longer than 8 KiB",
            ));
        }
        let mut text = String::new();
        if !flags.is_empty() {
            text.push_str("(?");
            text.push_str(if flags.contains('i') { "i" } else { "" });
            text.push_str(if flags.contains('m') { "m" } else { "" });
            text.push(')');
        }
        translate(source, &mut text);
        let built = RegexBuilder::new(&text)
            .backtrack_limit(BACKTRACKS_MAX)
            .delegate_size_limit(COMPILED_BYTES_MAX)
            .delegate_dfa_size_limit(COMPILED_BYTES_MAX)
            .build();
        match built {
            Ok(regex) => Ok(Self {
                regex,
                source: source.to_owned(),
            }),
            Err(error) => {
                let message = format!("invalid or unsupported regular expression: {error}");
                Err(Flaw::new("S0303", message).value(Value::from(source)))
            }
        }
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// The first match at or after a byte of the text.
    pub(crate) fn find(&self, text: &str, from: usize) -> ExprResult<Option<RegexMatch>> {
        let captures = match self.regex.captures_from_pos(text, from) {
            Ok(Some(captures)) => captures,
            Ok(None) => return Ok(None),
            Err(_) => {
                let message = "the regular expression needs too many steps on this text";
                return Err(Flaw::new("L0001", message));
            }
        };
        let Some(whole) = captures.get(0) else {
            return Ok(None);
        };
        let groups = (1..captures.len()).map(|at| captures.get(at).map(|m| (m.start(), m.end())));
        Ok(Some(RegexMatch {
            start: whole.start(),
            end: whole.end(),
            groups: groups.collect(),
        }))
    }
}

const SPACE: &str = r"\t\n\x0B\x0C\r \u{A0}\u{1680}\u{2000}-\u{200A}\u{2028}\u{2029}\u{202F}\u{205F}\u{3000}\u{FEFF}";

/// Rewrites the syntax that differs in JavaScript: classes are ASCII, `.` excludes four line
/// terminators, and brackets inside a class are literal.
fn translate(source: &str, out: &mut String) {
    let letters: Vec<char> = source.chars().collect();
    let mut at = 0;
    let mut class = false;
    while at < letters.len() {
        let letter = letters[at];
        at += 1;
        match letter {
            '\\' => at = escape(&letters, at, class, out),
            '[' if !class => at = open_class(&letters, at, &mut class, out),
            ']' if class => {
                class = false;
                out.push(']');
            }
            '[' | '&' | '~' | '#' if class => {
                out.push('\\');
                out.push(letter);
            }
            '.' if !class => out.push_str(r"[^\n\r\u{2028}\u{2029}]"),
            '{' if !class && !is_repeat(&letters[at..]) => out.push_str("\\{"),
            '}' if !class && !closes_repeat(&letters[..at]) => out.push_str("\\}"),
            '$' if !class => out.push('$'),
            other => out.push(other),
        }
    }
}

fn open_class(letters: &[char], at: usize, class: &mut bool, out: &mut String) -> usize {
    match (letters.get(at), letters.get(at + 1)) {
        (Some('^'), Some(']')) => {
            out.push_str("(?s:.)");
            at + 2
        }
        (Some(']'), _) => {
            out.push_str("(?!)");
            at + 1
        }
        (Some('^'), _) => {
            *class = true;
            out.push_str("[^");
            at + 1
        }
        _ => {
            *class = true;
            out.push('[');
            at
        }
    }
}

/// Whether the text after `{` makes it a repetition.
fn is_repeat(rest: &[char]) -> bool {
    let Some(close) = rest.iter().position(|letter| *letter == '}') else {
        return false;
    };
    let inner = &rest[..close];
    let mut parts = inner.split(|letter| *letter == ',');
    let digits = |part: &[char]| part.iter().all(char::is_ascii_digit);
    match (parts.next(), parts.next(), parts.next()) {
        (Some(least), None, None) => !least.is_empty() && digits(least),
        (Some(least), Some(most), None) => !least.is_empty() && digits(least) && digits(most),
        _ => false,
    }
}

fn closes_repeat(before: &[char]) -> bool {
    let Some(open) = before.iter().rposition(|letter| *letter == '{') else {
        return false;
    };
    is_repeat(&before[open + 1..])
}

fn escape(letters: &[char], at: usize, class: bool, out: &mut String) -> usize {
    let Some(&letter) = letters.get(at) else {
        out.push_str("\\\\");
        return at;
    };
    let hex = |from: usize, count: usize| -> Option<u32> {
        let digits: String = letters.get(from..from + count)?.iter().collect();
        u32::from_str_radix(&digits, 16).ok()
    };
    let (open, close) = if class { ("", "") } else { ("[", "]") };
    match letter {
        'd' => *out += &format!("{open}0-9{close}"),
        'w' => *out += &format!("{open}A-Za-z0-9_{close}"),
        's' => *out += &format!("{open}{SPACE}{close}"),
        'D' => *out += "[^0-9]",
        'W' => *out += "[^A-Za-z0-9_]",
        'S' => *out += &format!("[^{SPACE}]"),
        'b' if class => *out += "\\x08",
        'b' | 'B' => {
            // Word boundaries are ASCII in JavaScript.
            *out += match letter {
                'b' => r"(?:(?<=[A-Za-z0-9_])(?![A-Za-z0-9_])|(?<![A-Za-z0-9_])(?=[A-Za-z0-9_]))",
                _ => r"(?:(?<=[A-Za-z0-9_])(?=[A-Za-z0-9_])|(?<![A-Za-z0-9_])(?![A-Za-z0-9_]))",
            };
        }
        'n' | 'r' | 't' | 'f' | 'v' => {
            out.push('\\');
            out.push(letter);
        }
        '0' if !letters.get(at + 1).is_some_and(char::is_ascii_digit) => *out += "\\x00",
        'x' => match hex(at + 1, 2) {
            Some(code) => {
                *out += &format!("\\u{{{code:X}}}");
                return at + 3;
            }
            None => out.push('x'),
        },
        'u' => match hex(at + 1, 4) {
            Some(code) if char::from_u32(code).is_some() => {
                *out += &format!("\\u{{{code:X}}}");
                return at + 5;
            }
            _ => out.push('u'),
        },
        'k' if letters.get(at + 1) == Some(&'<') => *out += "\\k",
        '1'..='9' if !class => {
            out.push('\\');
            out.push(letter);
        }
        other if other.is_ascii_alphanumeric() => out.push(other),
        other if other.is_ascii() => {
            out.push('\\');
            out.push(other);
        }
        other => out.push(other),
    }
    at + 1
}
