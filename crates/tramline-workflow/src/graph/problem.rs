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
    /// The text with references that was probably meant, for the reader to write in the syntax of its format.
    pub meant: Option<Vec<MeantPart>>,
}

/// A part of a text with references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeantPart {
    /// Plain text.
    Text(String),
    /// A path into the output of a node, or into a variable with its `$`, as JSONata.
    Path {
        /// The node's id, or the variable with its `$`.
        root: Str,
        /// The rest of the path, as JSONata: empty, `.key` or `[0]`.
        rest: String,
    },
}

impl MeantPart {
    /// These parts as one JSONata expression.
    pub fn expression(parts: &[Self]) -> String {
        let written = parts.iter().map(|part| match part {
            Self::Text(text) => tramline_expr::Value::from(text.as_str()).to_json(),
            Self::Path { root, rest } => format!("{root}{rest}"),
        });
        let written: Vec<_> = written.collect();
        written.join(" & ")
    }
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

impl ProblemLocation {
    /// Whether both are the same text of the same node.
    pub(super) fn is_at(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Inside {
                    node,
                    part,
                    pointer,
                    ..
                },
                Self::Inside {
                    node: its_node,
                    part: its_part,
                    pointer: its_pointer,
                    ..
                },
            ) => (node, part, pointer) == (its_node, its_part, its_pointer),
            (Self::Workflow | Self::Node(_) | Self::Edge(_) | Self::Inside { .. }, _) => false,
        }
    }
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
    /// The name of the tool that is called.
    ToolName,
    /// The items of a fan-out call.
    Items,
    /// The time of a wait.
    Time,
    /// The expression of a transform.
    Expression,
    /// One rule of a switch, by index.
    Rule(usize),
    /// The branch that a rule of a switch picks, by index; the one after the last rule is the default.
    Branch(usize),
    /// The schema of the input or of the result.
    Schema(&'static str),
}
