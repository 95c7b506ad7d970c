//! What the operator says of tools: which may not be called, and which only after a person agreed.
//!
//! It is the engine's and not the caller's: no document and no argument switches it off.

use crate::engine::Engine;
use std::fmt;
use tramline_core::Str;
use tramline_core::ids::ToolName;

/// Longer patterns are refused: no name is so long.
const PATTERN_BYTES_MAX: usize = 512;

/// What the operator says of tools. Denying goes before asking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Tools that are called only after a person agreed.
    pub ask: Vec<Pattern>,
    /// Tools that are not called.
    pub deny: Vec<Pattern>,
}

/// What a policy says of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// Nothing stands in the way.
    Free,
    /// A person must agree, because of this pattern.
    Ask(&'a Pattern),
    /// It is not called, because of this pattern.
    Deny(&'a Pattern),
}

impl Policy {
    /// What it says of a tool.
    pub fn verdict(&self, tool: &ToolName) -> Verdict<'_> {
        if self.ask.is_empty() && self.deny.is_empty() {
            return Verdict::Free;
        }
        let name = tool.to_string();
        let hit = |patterns: &[Pattern]| patterns.iter().position(|one| one.fits(&name));
        if let Some(at) = hit(&self.deny) {
            return Verdict::Deny(&self.deny[at]);
        }
        hit(&self.ask).map_or(Verdict::Free, |at| Verdict::Ask(&self.ask[at]))
    }
}

impl Engine {
    /// Why a front end may not use a tool for itself, outside of runs and conversations; nothing
    /// where it may. There is nobody whom it could ask, so asking counts as denying.
    pub fn refuses_own_use(&self, tool: &ToolName) -> Option<String> {
        let by_policy = match self.options().policy.verdict(tool) {
            Verdict::Free => None,
            Verdict::Deny(pattern) => Some(format!(
                "policy denies {tool} (`{pattern}`); the operator sets it"
            )),
            Verdict::Ask(pattern) => Some(format!(
                "policy asks a person before {tool} (`{pattern}`), and only a step of a run can ask"
            )),
        };
        by_policy.or_else(|| {
            let held = !self.is_free(tool);
            held.then(|| format!("procedures are pinned here, so {tool} is called along them only"))
        })
    }

    /// Whether somebody is asked before this tool is called, or it is not called at all, as far as
    /// its server has said what it does.
    pub fn asks_before(&self, tool: &ToolName) -> bool {
        let known = self.tools().known(tool);
        let destroys = known.is_some_and(|known| known.hints.destructive == Some(true));
        destroys || self.options().policy.verdict(tool) != Verdict::Free
    }
}

/// A pattern over `server:tool`, in which `*` stands for any text: `github:delete_*`, `*:drop*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Str);

impl Pattern {
    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<Self, BadPattern> {
        let message = if text.is_empty() {
            "a pattern is empty; write `server:tool`".to_owned()
        } else if text.len() > PATTERN_BYTES_MAX {
            format!("a pattern holds more than {PATTERN_BYTES_MAX} bytes")
        } else if text != "*" && !text.contains(':') {
            format!("`{text}` names no server; write `*:{text}` for any, or `server:{text}`")
        } else {
            return Ok(Self(text.into()));
        };
        Err(BadPattern { message })
    }

    /// The pattern that fits one tool only, and those whose names have a `*` alike.
    pub(crate) fn exactly(tool: &ToolName) -> Self {
        Self(tool.to_string().into())
    }

    /// Whether it fits a tool.
    pub fn matches(&self, tool: &ToolName) -> bool {
        self.fits(&tool.to_string())
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn fits(&self, name: &str) -> bool {
        fits(&self.0, name)
    }
}

/// Whether a text in which `*` stands for anything fits a name. Goes back to the last `*` only, so
/// the work is bounded by the two lengths multiplied.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
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

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for Pattern {
    type Err = BadPattern;

    fn from_str(text: &str) -> Result<Self, BadPattern> {
        Self::parse(text)
    }
}

/// A text that is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BadPattern {
    /// Why not.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fits(pattern: &str, name: &str) -> bool {
        Pattern::parse(pattern).unwrap().fits(name)
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
            assert!(Pattern::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn denying_goes_before_asking() {
        let pattern = |text: &str| Pattern::parse(text).unwrap();
        let policy = Policy {
            ask: vec![pattern("db:*")],
            deny: vec![pattern("*:drop*")],
        };
        let verdict = |tool: &str| policy.verdict(&ToolName::new("db", tool));
        assert_eq!(verdict("drop"), Verdict::Deny(&policy.deny[0]));
        assert_eq!(verdict("get"), Verdict::Ask(&policy.ask[0]));
        assert_eq!(policy.verdict(&ToolName::new("x", "y")), Verdict::Free);
    }

    /// The same told by its definition.
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
