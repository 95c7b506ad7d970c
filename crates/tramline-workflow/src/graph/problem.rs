//! What is wrong with a workflow, by node and edge; a reader maps it to locations in a file.

use crate::flaw::FlawCode;
use crate::ids::NodeIx;
use std::ops::Range;
use tramline_expr::Str;

/// Something wrong with a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The kind of problem.
    pub code: FlawCode,
    /// The part of the workflow.
    pub location: ProblemLocation,
    /// What is wrong, as readable text.
    pub message: String,
    /// How to fix it.
    pub suggestion: Option<String>,
}

/// A part of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemLocation {
    /// The workflow as a whole.
    Workflow,
    /// A node.
    Node(NodeIx),
    /// An edge, by index.
    Edge(usize),
    /// Source text inside a node.
    Inside {
        /// The node.
        node: NodeIx,
        /// The part of the node.
        part: NodePart,
        /// The JSON pointer inside that part, as the author wrote it.
        pointer: String,
        /// The affected byte range of the source text, if known.
        span: Option<Range<usize>>,
        /// The name that is wrong, to find it where the document writes it in another syntax.
        name: Option<ReferencedName>,
    },
}

/// A name in an expression, and what it is looked up in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferencedName {
    /// The source of the value that should have it; empty for a node or a variable.
    pub of: String,
    /// The name, without a leading `$`.
    pub name: Str,
}

/// The parts of a node that contain source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodePart {
    /// The arguments of a call.
    Arguments,
    /// The name of an argument of a call.
    ArgumentName,
    /// The items of a fan-out call.
    Items,
    /// The time of a wait.
    Time,
    /// The expression of a transform.
    Expression,
    /// One rule of a switch, by index.
    Rule(usize),
    /// The schema of the input or of the result.
    Schema(&'static str),
}
