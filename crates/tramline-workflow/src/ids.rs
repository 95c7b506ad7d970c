//! Identifiers: each has its own type and is validated where it enters the program.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use tramline_expr::Str;

/// Characters in a run id; generated ids have 30.
const RUN_ID_CHARS_MAX: usize = 64;

/// Identifies a run permanently, in every process that shares its store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Str", into = "Str")]
pub struct RunId(Str);

/// A position in a run's journal. The first event is 1; 0 means that nothing has been read yet.
pub type Seq = u64;

/// The number of a step, from 1 in the order in which steps were decided.
pub type StepNo = u32;

/// The index of a node in its graph. Patches only add nodes, so it is valid for the whole run.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct NodeIx(pub u32);

impl NodeIx {
    /// The index into a node list.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Text that is not a valid id of the expected kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidId {
    what: &'static str,
    text: String,
}

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a {}", self.text.escape_debug(), self.what)
    }
}

impl std::error::Error for InvalidId {}

impl InvalidId {
    fn new(what: &'static str, text: &str) -> Self {
        Self {
            what,
            text: text.chars().take(80).collect(),
        }
    }
}

impl RunId {
    /// Creates an id from the creation time in milliseconds and 80 random bits. Ids sort by
    /// creation time.
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
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let tail = text.strip_prefix("run_").unwrap_or_default();
        let plain = tail
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if tail.is_empty() || text.len() > RUN_ID_CHARS_MAX || !plain {
            return Err(InvalidId::new(
                "run id (they look like run_01k9…; `tramline runs` lists them)",
                text,
            ));
        }
        Ok(Self(text.into()))
    }
}

impl TryFrom<Str> for RunId {
    type Error = InvalidId;

    fn try_from(text: Str) -> Result<Self, InvalidId> {
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

/// A position in a run's journal to which a caller can return: `chk_…_7`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Checkpoint {
    /// The run that owns the journal.
    pub run: RunId,
    /// The position of the event.
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
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let bad = || InvalidId::new("checkpoint id (they look like chk_01k9…_7)", text);
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

/// The server whose tools need no configuration.
pub const BUILTIN: &str = "builtin";

/// The name of a tool of a server, including `builtin`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ToolName {
    /// The server's name in the configuration.
    pub server: Str,
    /// The tool's name as that server lists it.
    pub tool: Str,
}

impl ToolName {
    /// Creates the name of `tool` on `server`.
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
