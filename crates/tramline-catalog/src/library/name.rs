//! Names of saved workflows: easy to type, safe as file names, and unambiguous.

use std::fmt;
use tramline_expr::Str;
use tramline_workflow::text::display_name;

/// Longest name, in characters. Names are typed, and some clients cut tool names at 64.
pub const NAME_CHARS_MAX: usize = 50;

/// Names with another meaning where a workflow's name is expected: built-in tools, words of the registry, and device
/// names of some operating systems.
const RESERVED: [&str; 27] = [
    "builtin",
    "workflow",
    "latest",
    "library",
    "index",
    "http",
    "llm",
    "shell",
    "read-file",
    "write-file",
    "copy-file",
    "move-file",
    "delete-file",
    "list-directory",
    "null",
    "true",
    "false",
    "con",
    "prn",
    "aux",
    "nul",
    "com1",
    "com2",
    "com3",
    "lpt1",
    "lpt2",
    "lpt3",
];

/// A valid name of a saved workflow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkflowName(Str);

/// Why a text is not a valid name, with a suggestion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidName {
    /// What is wrong.
    pub message: String,
    /// A similar valid name, if there is one.
    pub suggestion: Option<String>,
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.suggestion {
            Some(instead) => write!(f, "; try `{instead}`"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for InvalidName {}

impl WorkflowName {
    /// Validates a name: words of a-z and 0-9 separated by single hyphens, beginning with a letter.
    pub fn new(text: &str) -> Result<Self, InvalidName> {
        match problem(text) {
            None => Ok(Self(text.into())),
            Some(message) => Err(InvalidName {
                message,
                suggestion: suggest(text),
            }),
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as shared text.
    pub fn to_str(&self) -> Str {
        self.0.clone()
    }
}

impl fmt::Display for WorkflowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is wrong with a name.
fn problem(text: &str) -> Option<String> {
    let name = display_name(text);
    if text.is_empty() {
        return Some("a workflow's name is empty; write lowercase-with-hyphens".into());
    }
    if let Some(odd) = text.chars().find(|c| !c.is_ascii()) {
        let code = u32::from(odd);
        return Some(format!(
            "`{name}` contains `{odd}` (U+{code:04X}), which is not one of a-z, 0-9 and -, even if it \
             looks like one"
        ));
    }
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if let Some(odd) = text.chars().find(|c| !plain(*c)) {
        let odd = odd.escape_default();
        return Some(format!(
            "`{name}` contains `{odd}`; a workflow's name has only a-z, 0-9 and hyphens"
        ));
    }
    if text.len() > NAME_CHARS_MAX {
        let has = text.len();
        return Some(format!(
            "`{name}` has {has} characters; a workflow's name has at most {NAME_CHARS_MAX}"
        ));
    }
    if !text.starts_with(|c: char| c.is_ascii_lowercase())
        || text.ends_with('-')
        || text.contains("--")
    {
        return Some(format!(
            "`{name}` must begin with a letter and have single hyphens between its words"
        ));
    }
    if text.starts_with("mcp-") {
        return Some(format!(
            "`{name}` begins with `mcp-`, the prefix of a server's tools"
        ));
    }
    RESERVED
        .contains(&text)
        .then(|| format!("`{name}` is reserved; choose another name"))
}

/// A valid name similar to an invalid one.
fn suggest(text: &str) -> Option<String> {
    if !text.is_ascii() || text.contains("..") || text.contains('\0') {
        return None;
    }
    let mut made = String::new();
    for c in text.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_lowercase() || c.is_ascii_digit() => made.push(c),
            _ if made.is_empty() || made.ends_with('-') => {}
            _ => made.push('-'),
        }
    }
    made.truncate(NAME_CHARS_MAX);
    let made = made.trim_end_matches('-').to_owned();
    (problem(&made).is_none()).then_some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_taken() {
        for name in ["a", "count-files", "v2", "a1-b2-c3", &"a".repeat(50)] {
            assert!(WorkflowName::new(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn everything_else_is_refused_in_clear_words() {
        let long = "a".repeat(51);
        for (name, says, instead) in [
            ("", "empty", None),
            ("../etc", "contains `.`", None),
            ("a/../b", "contains `/`", None),
            ("a\0b", "`\\u{0}`", None),
            ("Count Files", "contains `C`", Some("count-files")),
            ("count_files", "contains `_`", Some("count-files")),
            ("-a", "begin with a letter", Some("a")),
            ("a--b", "single hyphens", Some("a-b")),
            ("9-lives", "begin with a letter", None),
            ("\u{440}ayments", "U+0440", None),
            ("a\u{2010}b", "U+2010", None),
            ("a\u{200d}b", "U+200D", None),
            ("mcp-x-y", "the prefix of a server's tools", None),
            ("con", "reserved", None),
            ("read-file", "reserved", None),
            (long.as_str(), "51 characters", None),
        ] {
            let bad = WorkflowName::new(name).unwrap_err();
            assert!(bad.message.contains(says), "{name:?}: {bad}");
            if instead.is_some() {
                assert_eq!(bad.suggestion.as_deref(), instead, "{name:?}");
            }
        }
    }
}
