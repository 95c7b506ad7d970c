//! Toolsets: groups of tools that an operator enables as a whole, one folder for each.
//!
//! A toolset is a list of [`ToolDef`]s, with a function for each that reads its arguments, makes one engine call
//! and replies. To add one, add its folder, a variant here and the variant's list in [`Toolset::tools`].

use crate::tool::ToolDef;
use std::str::FromStr;
use tramline_core::text::nearest;

pub(crate) mod control;
pub(crate) mod debugging;
pub(crate) mod graphs;
pub(crate) mod library;
pub(crate) mod planner_loop;
pub(crate) mod sop;

/// A group of tools that is enabled as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Toolset {
    /// Every graph of the documents as a tool.
    Graphs,
    /// DAGs of tasks that an agent runs layer by layer.
    Control,
    /// Saved workflows and the node registry.
    Library,
    /// Inspecting and controlling runs.
    Debug,
    /// The planner loop: plans and runs tool calls for a message.
    Loop,
    /// Procedures that an agent follows.
    Sop,
}

/// An unknown toolset name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown toolset `{given}`; {hint}")]
pub struct UnknownToolset {
    given: String,
    hint: String,
}

impl Toolset {
    /// Every toolset.
    pub const ALL: [Self; 6] = [
        Self::Graphs,
        Self::Control,
        Self::Library,
        Self::Debug,
        Self::Loop,
        Self::Sop,
    ];

    /// The name of the toolset.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Graphs => "graphs",
            Self::Control => "control",
            Self::Library => "library",
            Self::Debug => "debug",
            Self::Loop => "loop",
            Self::Sop => "sop",
        }
    }

    /// Its built-in tools; graph tools come from documents.
    pub(crate) fn tools(self) -> &'static [ToolDef] {
        match self {
            Self::Graphs => &[],
            Self::Control => control::TOOLS,
            Self::Library => library::TOOLS,
            Self::Debug => debugging::TOOLS,
            Self::Loop => planner_loop::TOOLS,
            Self::Sop => sop::TOOLS,
        }
    }
}

impl FromStr for Toolset {
    type Err = UnknownToolset;

    fn from_str(text: &str) -> Result<Self, UnknownToolset> {
        let found = Self::ALL.into_iter().find(|set| set.as_str() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::as_str);
            let hint = match nearest(text, names.into_iter()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known toolsets: {}", names.join(", ")),
            };
            let given = tramline_core::text::display_name(text);
            UnknownToolset { given, hint }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_in_a_toolsets_name_is_understood() {
        assert_eq!("debug".parse(), Ok(Toolset::Debug));
        let slip = "graph".parse::<Toolset>().unwrap_err().to_string();
        assert_eq!(slip, "unknown toolset `graph`; did you mean `graphs`?");
        let stranger = "zzz".parse::<Toolset>().unwrap_err().to_string();
        assert_eq!(
            stranger,
            "unknown toolset `zzz`; known toolsets: graphs, control, library, debug, loop, sop"
        );
    }
}
