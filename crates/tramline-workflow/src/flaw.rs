//! What can be wrong with a document. All flaws are collected, each with its location.

use serde::Serialize;
use std::fmt;

/// Something wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The kind of flaw; it has an error page (`tramline explain T0012`).
    pub code: FlawCode,
    /// The location in the document.
    pub span: SourceSpan,
    /// What is wrong, as readable text.
    pub message: String,
    /// How to fix it.
    pub suggestion: Option<String>,
}

/// A location in a document. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceSpan {
    /// The first line.
    pub line: usize,
    /// The column of the first character.
    pub column: usize,
    /// The last line.
    pub end_line: usize,
    /// The column after the last character.
    pub end_column: usize,
    /// The JSON pointer of the value.
    pub pointer: String,
}

/// Whether a document with this flaw can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The document can be used.
    Warning,
    /// The document cannot be used.
    Error,
}

/// The kinds of flaw. Closed: each has a code, a severity and a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FlawCode {
    /// Not text, too large, too deep, or empty.
    Unreadable,
    /// Not YAML, or not Mermaid.
    Syntax,
    /// A required field is missing.
    MissingField,
    /// A value of the wrong type or out of range.
    WrongType,
    /// An unknown field.
    UnknownField,
    /// An unknown node type.
    UnknownKind,
    /// A name that is used twice.
    Duplicate,
    /// An edge to a node that does not exist.
    UnknownNode,
    /// No edge leads to the node.
    Unreachable,
    /// A node without outgoing edges that is not an exit.
    DeadEnd,
    /// No path from the entry to an exit.
    NoExit,
    /// No entry, or several.
    NoEntry,
    /// A node that waits for all incoming edges is on a cycle.
    JoinOnCycle,
    /// An invalid JSONata expression.
    BadExpression,
    /// An invalid JSON Logic rule.
    BadRule,
    /// A server that is not configured.
    UnknownServer,
    /// A tool that its server does not have.
    UnknownTool,
    /// A schema that is not valid JSON Schema.
    BadSchema,
    /// An invalid server entry.
    BadServer,
    /// Too many of something.
    TooMany,
    /// A feature of the format that Tramline does not support.
    Unsupported,
    /// A tool that a node uses but the file does not list.
    UnlistedTool,
    /// Instructions for a node that is not in the flowchart.
    StrayInstructions,
    /// A decision with fewer than two edges, or with missing or repeated labels.
    AmbiguousDecision,
    /// A node without instructions, although other nodes have some.
    MissingInstructions,
    /// A node drawn as an end that has outgoing edges.
    EndWithEdges,
    /// A node without outgoing edges that is not drawn as an end.
    UnmarkedEnd,
    /// An unknown field that is probably a typo.
    MistypedField,
    /// A name that none of the file's lists contains.
    UnknownName,
    /// Two guards of a node that can be true at the same time.
    GuardOverlap,
    /// A case that no guard of a node covers.
    GuardGap,
    /// A tool that writes but is listed as read-only.
    WritingTool,
    /// A function or variable that does not exist.
    UnknownVariable,
    /// A field that an output does not have.
    UnknownOutputField,
    /// A field that the schema of an output does not declare.
    UndeclaredField,
    /// A reference to a node that cannot have run before.
    NotYetRun,
    /// An argument that does not match the schema of its tool.
    BadArgument,
    /// A rule that does not depend on data.
    ConstantRule,
    /// Text that looks like a reference in the syntax of another format.
    LooksLikeReference,
    /// The items of a fan-out that are no list.
    NotAList,
    /// A tool that is not what the lock file recorded.
    ChangedTool,
    /// A tool whose change may break a workflow that calls it.
    BrokenTool,
}

impl FlawCode {
    /// Every code, for error pages and tests.
    pub const ALL: [Self; 42] = [
        Self::Unreadable,
        Self::Syntax,
        Self::MissingField,
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
        Self::UnlistedTool,
        Self::StrayInstructions,
        Self::AmbiguousDecision,
        Self::MissingInstructions,
        Self::EndWithEdges,
        Self::UnmarkedEnd,
        Self::MistypedField,
        Self::UnknownName,
        Self::GuardOverlap,
        Self::GuardGap,
        Self::WritingTool,
        Self::UnknownVariable,
        Self::UnknownOutputField,
        Self::UndeclaredField,
        Self::NotYetRun,
        Self::BadArgument,
        Self::ConstantRule,
        Self::LooksLikeReference,
        Self::NotAList,
        Self::ChangedTool,
        Self::BrokenTool,
    ];

    /// The code as shown to users.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "T0001",
            Self::Syntax => "T0002",
            Self::MissingField => "T0003",
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
            Self::UnlistedTool => "T0030",
            Self::StrayInstructions => "T0031",
            Self::AmbiguousDecision => "T0032",
            Self::MissingInstructions => "T0033",
            Self::EndWithEdges => "T0034",
            Self::UnmarkedEnd => "T0035",
            Self::MistypedField => "T0036",
            Self::UnknownName => "T0037",
            Self::GuardOverlap => "T0038",
            Self::GuardGap => "T0039",
            Self::WritingTool => "T0040",
            Self::UnknownVariable => "T0041",
            Self::UnknownOutputField => "T0042",
            Self::UndeclaredField => "T0043",
            Self::NotYetRun => "T0044",
            Self::BadArgument => "T0045",
            Self::ConstantRule => "T0046",
            Self::LooksLikeReference => "T0047",
            Self::NotAList => "T0048",
            Self::ChangedTool => "T0050",
            Self::BrokenTool => "T0051",
        }
    }

    /// Whether this flaw may only be a consequence of another part that could not be read.
    pub fn may_be_consequence(self) -> bool {
        match self {
            Self::Unreachable | Self::DeadEnd | Self::NoExit | Self::NoEntry | Self::NotYetRun => {
                true
            }
            Self::Unreadable
            | Self::Syntax
            | Self::MissingField
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
            | Self::UnlistedTool
            | Self::StrayInstructions
            | Self::AmbiguousDecision
            | Self::MissingInstructions
            | Self::EndWithEdges
            | Self::UnmarkedEnd
            | Self::MistypedField
            | Self::UnknownName
            | Self::GuardOverlap
            | Self::GuardGap
            | Self::WritingTool
            | Self::UnknownVariable
            | Self::UnknownOutputField
            | Self::UndeclaredField
            | Self::BadArgument
            | Self::ConstantRule
            | Self::LooksLikeReference
            | Self::NotAList
            | Self::ChangedTool
            | Self::BrokenTool => false,
        }
    }

    /// Whether a document with this flaw can still be used.
    pub fn severity(self) -> Severity {
        match self {
            Self::UnknownField
            | Self::Unreachable
            | Self::UnlistedTool
            | Self::StrayInstructions
            | Self::AmbiguousDecision
            | Self::MissingInstructions
            | Self::EndWithEdges
            | Self::UnmarkedEnd
            | Self::GuardOverlap
            | Self::GuardGap
            | Self::WritingTool
            | Self::UndeclaredField
            | Self::ConstantRule
            | Self::LooksLikeReference
            | Self::NotAList
            | Self::ChangedTool => Severity::Warning,
            Self::Unreadable
            | Self::Syntax
            | Self::MissingField
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
            | Self::MistypedField
            | Self::UnknownName
            | Self::UnknownVariable
            | Self::UnknownOutputField
            | Self::NotYetRun
            | Self::BadArgument
            | Self::BrokenTool => Severity::Error,
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SourceSpan {
            line,
            column,
            pointer,
            ..
        } = &self.span;
        match line {
            // Binary input has no lines.
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
