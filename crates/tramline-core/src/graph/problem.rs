//! What is wrong with a workflow, told by its parts; a reader turns that into places in a file.

use crate::flaw::Code;
use crate::ids::NodeIx;
use std::ops::Range;

/// Something wrong with a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which kind.
    pub code: Code,
    /// Which part.
    pub spot: Spot,
    /// What is wrong, for a person.
    pub message: String,
    /// What would mend it.
    pub suggestion: Option<String>,
}

/// A part of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spot {
    /// The workflow as a whole.
    Workflow,
    /// A node.
    Node(NodeIx),
    /// An edge, by its place in the list.
    Edge(usize),
    /// A source text inside a node.
    Inside {
        /// Which node.
        node: NodeIx,
        /// Which of its parts.
        part: Part,
        /// The JSON pointer inside that part, as the workflow's author wrote it.
        pointer: String,
        /// The bytes of the source text, if it is about some of them only.
        span: Option<Range<usize>>,
    },
}

/// The parts of a node that hold source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The arguments of a call.
    Arguments,
    /// The items that a call is spread over.
    Items,
    /// The time of a wait.
    Time,
    /// The expression of a computation.
    Expression,
    /// One rule of a choice, by its place.
    Rule(usize),
    /// The schema of the input or of the result.
    Schema(&'static str),
}
