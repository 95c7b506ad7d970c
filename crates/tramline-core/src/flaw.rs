//! What can be wrong with a document: collected, never one at a time, each with its place.

use serde::Serialize;
use std::fmt;

/// Something wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Which kind; has a page (`tramline explain T0012`).
    pub code: Code,
    /// Where in the document.
    pub place: Place,
    /// What is wrong, for a person.
    pub message: String,
    /// What would mend it.
    pub suggestion: Option<String>,
}

/// Where in a document: lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column of its first character.
    pub column: usize,
    /// The line of its last character.
    pub end_line: usize,
    /// The column after its last character.
    pub end_column: usize,
    /// The JSON pointer of the value.
    pub pointer: String,
}

/// Whether a document can be used in spite of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It can.
    Warning,
    /// It cannot.
    Error,
}

/// The kinds of flaw. Closed: each has a code, a severity and a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// Not text, too large, too deep, or empty.
    Unreadable,
    /// Not YAML, or not Mermaid.
    Syntax,
    /// A field that must be there is not.
    Missing,
    /// A value of the wrong type or out of range.
    WrongType,
    /// A field nobody knows.
    UnknownField,
    /// A node type nobody knows.
    UnknownKind,
    /// A name that is used twice.
    Duplicate,
    /// An edge to a node that is not there.
    UnknownNode,
    /// A node that no way leads to.
    Unreachable,
    /// A node with no way out that is no exit.
    DeadEnd,
    /// No way from the entry to an exit.
    NoExit,
    /// No entry, or several.
    NoEntry,
    /// A node that waits for all lies on a cycle.
    JoinOnCycle,
    /// A bad JSONata expression.
    BadExpression,
    /// A bad JSON Logic rule.
    BadRule,
    /// A server that is not configured.
    UnknownServer,
    /// A tool that its server does not have.
    UnknownTool,
    /// A schema that is no JSON Schema.
    BadSchema,
    /// A server entry that cannot be used.
    BadServer,
    /// More of something than is allowed.
    TooMany,
    /// Something its format knows and Tramline does not do.
    Unsupported,
    /// A tool that a node names and its file does not list.
    Unlisted,
    /// Instructions for a node that is not drawn.
    Stray,
    /// A decision that does not say how it is made.
    Undecided,
    /// A node without instructions among others that have some.
    Unprompted,
    /// A node that is drawn as an end and has ways out.
    GoesOn,
    /// A node without a way out that is not drawn as an end.
    Abrupt,
    /// A field that is probably another one, mistyped.
    Mistyped,
    /// A name that no list of the file contains.
    UnknownName,
    /// Two guards of a node that can hold at once.
    GuardOverlap,
    /// A case that no guard of a node covers.
    GuardHole,
    /// A tool that writes, under those that only read.
    WritingTool,
}

impl Code {
    /// Every code, for pages and tests.
    pub const ALL: [Self; 32] = [
        Self::Unreadable,
        Self::Syntax,
        Self::Missing,
        Self::WrongType,
        Self::UnknownField,
        Self::UnknownKind,
        Self::Duplicate,
        Self::UnknownNode,
        Self::Unreachable,
        Self::DeadEnd,
        Self::NoExit,
        Self::NoEntry,
        Self::JoinOnCycle,
        Self::BadExpression,
        Self::BadRule,
        Self::UnknownServer,
        Self::UnknownTool,
        Self::BadSchema,
        Self::BadServer,
        Self::TooMany,
        Self::Unsupported,
        Self::Unlisted,
        Self::Stray,
        Self::Undecided,
        Self::Unprompted,
        Self::GoesOn,
        Self::Abrupt,
        Self::Mistyped,
        Self::UnknownName,
        Self::GuardOverlap,
        Self::GuardHole,
        Self::WritingTool,
    ];

    /// The code as users read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "T0001",
            Self::Syntax => "T0002",
            Self::Missing => "T0003",
            Self::WrongType => "T0004",
            Self::UnknownField => "T0005",
            Self::UnknownKind => "T0006",
            Self::Duplicate => "T0007",
            Self::UnknownNode => "T0008",
            Self::Unreachable => "T0009",
            Self::DeadEnd => "T0010",
            Self::NoExit => "T0011",
            Self::NoEntry => "T0012",
            Self::JoinOnCycle => "T0013",
            Self::BadExpression => "T0014",
            Self::BadRule => "T0015",
            Self::UnknownServer => "T0016",
            Self::UnknownTool => "T0017",
            Self::BadSchema => "T0018",
            Self::BadServer => "T0019",
            Self::TooMany => "T0020",
            Self::Unsupported => "T0021",
            Self::Unlisted => "T0030",
            Self::Stray => "T0031",
            Self::Undecided => "T0032",
            Self::Unprompted => "T0033",
            Self::GoesOn => "T0034",
            Self::Abrupt => "T0035",
            Self::Mistyped => "T0036",
            Self::UnknownName => "T0037",
            Self::GuardOverlap => "T0038",
            Self::GuardHole => "T0039",
            Self::WritingTool => "T0040",
        }
    }

    /// Whether such a problem may be there only because something else could not be read.
    pub(crate) fn may_follow(self) -> bool {
        match self {
            Self::Unreachable | Self::DeadEnd | Self::NoExit | Self::NoEntry => true,
            Self::Unreadable
            | Self::Syntax
            | Self::Missing
            | Self::WrongType
            | Self::UnknownField
            | Self::UnknownKind
            | Self::Duplicate
            | Self::UnknownNode
            | Self::JoinOnCycle
            | Self::BadExpression
            | Self::BadRule
            | Self::UnknownServer
            | Self::UnknownTool
            | Self::BadSchema
            | Self::BadServer
            | Self::TooMany
            | Self::Unsupported
            | Self::Unlisted
            | Self::Stray
            | Self::Undecided
            | Self::Unprompted
            | Self::GoesOn
            | Self::Abrupt
            | Self::Mistyped
            | Self::UnknownName
            | Self::GuardOverlap
            | Self::GuardHole
            | Self::WritingTool => false,
        }
    }

    /// Whether a document with this flaw can be used all the same.
    pub fn severity(self) -> Severity {
        match self {
            Self::UnknownField
            | Self::Unreachable
            | Self::Unlisted
            | Self::Stray
            | Self::Undecided
            | Self::Unprompted
            | Self::GoesOn
            | Self::Abrupt
            | Self::GuardOverlap
            | Self::GuardHole
            | Self::WritingTool => Severity::Warning,
            Self::Unreadable
            | Self::Syntax
            | Self::Missing
            | Self::WrongType
            | Self::UnknownKind
            | Self::Duplicate
            | Self::UnknownNode
            | Self::DeadEnd
            | Self::NoExit
            | Self::NoEntry
            | Self::JoinOnCycle
            | Self::BadExpression
            | Self::BadRule
            | Self::UnknownServer
            | Self::UnknownTool
            | Self::BadSchema
            | Self::BadServer
            | Self::TooMany
            | Self::Unsupported
            | Self::Mistyped
            | Self::UnknownName => Severity::Error,
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place {
            line,
            column,
            pointer,
            ..
        } = &self.place;
        match line {
            // What was never text has no lines.
            0 => write!(f, "{}", if pointer.is_empty() { "/" } else { pointer })?,
            _ => write!(f, "{line}:{column}")?,
        }
        write!(f, " [{}] {}", self.code.as_str(), self.message)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, " ({suggestion})"),
            None => Ok(()),
        }
    }
}
