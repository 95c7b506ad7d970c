//! Names for things: each its own type, each checked where it enters.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use tramline_expr::Str;

/// Longer run ids are refused: ours have 30 characters.
const RUN_ID_CHARS_MAX: usize = 64;

/// Names one run for ever, in every process that shares its store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Str", into = "Str")]
pub struct RunId(Str);

/// A position in a run's journal. The first event is 1; 0 is "nothing seen yet".
pub type Seq = u64;

/// Counts a run's steps from 1, in the order they were decided.
pub type StepNo = u32;

/// A node's place in its graph. Patches only add, so it stays true for a run's whole life.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct NodeIx(pub u32);

impl NodeIx {
    /// The place as an index into a node list.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// A text that is not an id of the kind asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadId {
    what: &'static str,
    text: String,
}

impl fmt::Display for BadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a {}", self.text.escape_debug(), self.what)
    }
}

impl std::error::Error for BadId {}

impl BadId {
    fn new(what: &'static str, text: &str) -> Self {
        Self {
            what,
            text: text.chars().take(80).collect(),
        }
    }
}

impl RunId {
    /// Makes an id from the milliseconds of its birth and 80 random bits; ids sort by birth.
    pub fn new(at_ms: i64, random: u128) -> Self {
        const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let bits = (u128::from(at_ms.max(0) as u64) << 80) | (random & ((1 << 80) - 1));
        let mut text = String::from("run_");
        for place in (0..26).rev() {
            text.push(DIGITS[(bits >> (place * 5)) as usize & 31] as char);
        }
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let tail = text.strip_prefix("run_").unwrap_or_default();
        let plain = tail
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if tail.is_empty() || text.len() > RUN_ID_CHARS_MAX || !plain {
            return Err(BadId::new(
                "run id (they look like run_01k9…; `tramline runs` lists them)",
                text,
            ));
        }
        Ok(Self(text.into()))
    }
}

impl TryFrom<Str> for RunId {
    type Error = BadId;

    fn try_from(text: Str) -> Result<Self, BadId> {
        text.parse()
    }
}

impl From<RunId> for Str {
    fn from(id: RunId) -> Self {
        id.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A place in a run's journal that a caller can come back to: `chk_…_7`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Checkpoint {
    /// Whose journal.
    pub run: RunId,
    /// Which event.
    pub seq: Seq,
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "chk_{}_{}",
            self.run.as_str().trim_start_matches("run_"),
            self.seq
        )
    }
}

impl FromStr for Checkpoint {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = || BadId::new("checkpoint id (they look like chk_01k9…_7)", text);
        let (run, seq) = text
            .strip_prefix("chk_")
            .and_then(|tail| tail.rsplit_once('_'))
            .ok_or_else(bad)?;
        Ok(Self {
            run: format!("run_{run}").parse().map_err(|_| bad())?,
            seq: seq.parse().map_err(|_| bad())?,
        })
    }
}

/// Names something callable: a tool of a server, `builtin` among them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ToolName {
    /// The server's name in the configuration.
    pub server: Str,
    /// The tool's name as that server lists it.
    pub tool: Str,
}

impl ToolName {
    /// Names `tool` of `server`.
    pub fn new(server: impl Into<Str>, tool: impl Into<Str>) -> Self {
        Self {
            server: server.into(),
            tool: tool.into(),
        }
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.server, self.tool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ids_sort_by_birth_and_parse_back() {
        let early = RunId::new(1_000, u128::MAX);
        let late = RunId::new(1_001, 0);
        assert!(early < late);
        assert_eq!(early.as_str().parse::<RunId>(), Ok(early.clone()));
        assert_eq!(early.as_str().len(), 30);
    }

    #[test]
    fn a_checkpoint_names_its_run() {
        let point = Checkpoint {
            run: RunId::new(5, 7),
            seq: 12,
        };
        assert_eq!(point.to_string().parse(), Ok(point));
        assert!("chk_x".parse::<Checkpoint>().is_err());
    }

    #[test]
    fn paths_are_no_run_ids() {
        for text in ["", "run_", "run_../x", "run_a b", "x"] {
            assert!(text.parse::<RunId>().is_err(), "{text}");
        }
    }
}
