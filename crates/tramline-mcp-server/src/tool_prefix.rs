//! A prefix of the names of all served tools, for clients that use several servers with tools of the same name.

use rmcp::model::Tool;
use std::borrow::Cow;
use std::str::FromStr;

/// The longest prefix, in characters: clients put the server's name in front of a tool's, and allow 64 in all.
const PREFIX_CHARS_MAX: usize = 24;

/// A prefix of tool names, such as `flow_`. Empty by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolPrefix(String);

/// A text that cannot be a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a prefix has 1 to {most} letters, digits, `_` and `-`: clients accept no others in names",
    most = PREFIX_CHARS_MAX
)]
pub struct InvalidPrefix;

impl FromStr for ToolPrefix {
    type Err = InvalidPrefix;

    fn from_str(text: &str) -> Result<Self, InvalidPrefix> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let fits = (1..=PREFIX_CHARS_MAX).contains(&text.len()) && text.bytes().all(plain);
        fits.then(|| Self(text.to_owned())).ok_or(InvalidPrefix)
    }
}

impl ToolPrefix {
    /// A tool as it is listed.
    pub(super) fn apply(&self, mut tool: Tool) -> Tool {
        if !self.0.is_empty() {
            tool.name = Cow::Owned(format!("{}{}", self.0, tool.name));
        }
        tool
    }

    /// The own name of a tool that a client names. Texts name tools without the prefix, so such a name is accepted too.
    pub(super) fn strip<'n>(&self, name: &'n str) -> &'n str {
        name.strip_prefix(self.0.as_str()).unwrap_or(name)
    }

    /// What agents have to know about it.
    pub(super) fn note(&self) -> Option<String> {
        let prefix = &self.0;
        (!prefix.is_empty()).then(|| {
            format!(
                "The names of this server's tools start with `{prefix}`. Descriptions and replies name them without it: \
                 where they say `x`, call `{prefix}x`."
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_added_and_taken_off() {
        let prefix: ToolPrefix = "flow_".parse().unwrap();
        let tool = Tool::new("continue", "Continues.", serde_json::Map::new());
        assert_eq!(prefix.apply(tool.clone()).name, "flow_continue");
        assert_eq!(prefix.strip("flow_continue"), "continue");
        assert_eq!(prefix.strip("continue"), "continue");
        assert!(prefix.note().unwrap().contains("`flow_x`"));
        let none = ToolPrefix::default();
        assert_eq!(none.apply(tool).name, "continue");
        assert_eq!((none.strip("continue"), none.note()), ("continue", None));
        for text in ["", "a b", "ü", "a:b", &"x".repeat(25)] {
            assert_eq!(text.parse::<ToolPrefix>(), Err(InvalidPrefix), "{text}");
        }
    }
}
