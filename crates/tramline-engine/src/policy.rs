//! The operator's tool policy: which tools are denied, and which need approval.
//!
//! It belongs to the engine, not to the caller: no document and no argument disables it.

use crate::engine::Engine;
use std::fmt;
use tramline_expr::Str;
use tramline_workflow::ids::ToolName;

/// Bytes of a pattern; longer ones are rejected, because no tool name is that long.
const PATTERN_BYTES_MAX: usize = 512;

/// The operator's tool policy. Deny takes precedence over ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolPolicy {
    /// Tools whose calls need approval.
    pub ask: Vec<ToolPattern>,
    /// Tools that must not be called.
    pub deny: Vec<ToolPattern>,
}

/// The decision of a policy about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyVerdict<'a> {
    /// It may be called.
    Allow,
    /// It needs approval because of this pattern.
    Ask(&'a ToolPattern),
    /// It is denied because of this pattern.
    Deny(&'a ToolPattern),
}

impl ToolPolicy {
    /// The decision about a tool.
    pub fn verdict(&self, tool: &ToolName) -> PolicyVerdict<'_> {
        if self.ask.is_empty() && self.deny.is_empty() {
            return PolicyVerdict::Allow;
        }
        let name = tool.to_string();
        let hit =
            |patterns: &[ToolPattern]| patterns.iter().position(|one| one.matches_glob(&name));
        if let Some(at) = hit(&self.deny) {
            return PolicyVerdict::Deny(&self.deny[at]);
        }
        hit(&self.ask).map_or(PolicyVerdict::Allow, |at| PolicyVerdict::Ask(&self.ask[at]))
    }
}

impl Engine {
    /// Why a front end may not use a tool itself, outside of runs and SOP sessions; `None` if it
    /// may. There is no one to ask for approval, so `ask` counts as `deny`.
    pub fn own_use_denial(&self, tool: &ToolName) -> Option<String> {
        let by_policy = match self.options().policy.verdict(tool) {
            PolicyVerdict::Allow => None,
            PolicyVerdict::Deny(pattern) => Some(format!(
                "policy denies {tool} (`{pattern}`); ask the operator to change it"
            )),
            PolicyVerdict::Ask(pattern) => Some(format!(
                "policy requires approval of {tool} (`{pattern}`); call it in a step of a run, which can ask"
            )),
        };
        by_policy.or_else(|| {
            let held = !self.is_exempt_tool(tool);
            held.then(|| format!("procedures are pinned here: call {tool} in an SOP session"))
        })
    }

    /// Whether a call of this tool needs approval or is denied, as far as its annotations are
    /// known.
    pub fn needs_approval(&self, tool: &ToolName) -> bool {
        let known = self.tools().known(tool);
        let destroys = known.is_some_and(|known| known.hints.destructive == Some(true));
        destroys || self.options().policy.verdict(tool) != PolicyVerdict::Allow
    }
}

/// A pattern over `server:tool`, in which `*` matches any text: `github:delete_*`, `*:drop*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPattern(Str);

impl ToolPattern {
    /// Parses a pattern.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let message = if text.is_empty() {
            "empty pattern; write `server:tool`".to_owned()
        } else if text.len() > PATTERN_BYTES_MAX {
            format!("a pattern may have at most {PATTERN_BYTES_MAX} bytes")
        } else if text != "*" && !text.contains(':') {
            format!("`{text}` has no server; write `*:{text}` for any, or `server:{text}`")
        } else {
            return Ok(Self(text.into()));
        };
        Err(PatternError { message })
    }

    /// The pattern for one tool, and for tools whose names have a `*` in the same place.
    pub(crate) fn exactly(tool: &ToolName) -> Self {
        Self(tool.to_string().into())
    }

    /// Whether it matches a tool.
    pub fn matches(&self, tool: &ToolName) -> bool {
        self.matches_glob(&tool.to_string())
    }

    /// The pattern as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn matches_glob(&self, name: &str) -> bool {
        fits(&self.0, name)
    }
}

/// Whether a pattern with `*` matches a name. It only backtracks to the last `*`, so the work is
/// bounded by the product of the two lengths.
pub fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while seen < name.len() {
        match (pattern.get(at), star) {
            (Some(b'*'), _) => {
                star = Some((at, seen));
                at += 1;
            }
            (Some(byte), _) if *byte == name[seen] => {
                at += 1;
                seen += 1;
            }
            (_, Some((back, from))) => {
                star = Some((back, from + 1));
                at = back + 1;
                seen = from + 1;
            }
            (_, None) => return false,
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for ToolPattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        Self::parse(text)
    }
}

/// An invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    /// Why it is invalid.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fits(pattern: &str, name: &str) -> bool {
        ToolPattern::parse(pattern).unwrap().matches_glob(name)
    }

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, name, expected) in [
            ("github:delete_*", "github:delete_repo", true),
            ("github:delete_*", "github:delete_", true),
            ("github:delete_*", "github:get", false),
            ("*:drop*", "db:drop_table", true),
            ("*:drop*", "drop:table", false),
            ("*:*drop", "db:raindrop", true),
            ("*", "any:thing", true),
            ("a:b", "a:b", true),
            ("a:b", "a:bc", false),
            ("a:*b*c", "a:xbbxc", true),
            ("a:*b*c", "a:xbbx", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
        for bad in ["", "delete_*", &format!("a:{}", "x".repeat(600))] {
            assert!(ToolPattern::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn denying_goes_before_asking() {
        let pattern = |text: &str| ToolPattern::parse(text).unwrap();
        let policy = ToolPolicy {
            ask: vec![pattern("db:*")],
            deny: vec![pattern("*:drop*")],
        };
        let verdict = |tool: &str| policy.verdict(&ToolName::new("db", tool));
        assert_eq!(verdict("drop"), PolicyVerdict::Deny(&policy.deny[0]));
        assert_eq!(verdict("get"), PolicyVerdict::Ask(&policy.ask[0]));
        assert_eq!(
            policy.verdict(&ToolName::new("x", "y")),
            PolicyVerdict::Allow
        );
    }

    /// The same, directly by its definition.
    fn slowly(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern, name) {
            ([], []) => true,
            ([b'*', rest @ ..], _) => (0..=name.len()).any(|at| slowly(rest, &name[at..])),
            ([one, rest @ ..], [first, more @ ..]) if one == first => slowly(rest, more),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn a_pattern_means_what_its_stars_say(pattern in ":[ab*]{0,7}", name in ":[ab]{0,8}") {
            prop_assert_eq!(fits(&pattern, &name), slowly(pattern.as_bytes(), name.as_bytes()));
        }
    }
}
