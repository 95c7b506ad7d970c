//! The kinds of nodes: one row each, with what people and programs see of a kind.

use crate::ids::ToolName;
use crate::workflow::{Action, SwitchRule, WORKFLOW_SERVER};
use tramline_expr::Str;

/// A kind of node. Views show these words and do not know the kinds.
#[derive(Debug, PartialEq, Eq)]
pub struct NodeKind {
    /// The name in traces, diagrams, metrics and the HTTP API.
    pub name: &'static str,
    /// The word for it in progress lines, where no tool is named.
    pub label: &'static str,
    /// The name of its spans.
    pub span: &'static str,
    /// Its outline in diagrams.
    pub shape: NodeShape,
    /// Whether it only marks the start or the end of a run.
    pub is_end: bool,
    /// Whether formats that know only tasks can express it.
    pub is_task: bool,
}

/// The outline of a node in diagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeShape {
    /// Round ends.
    Start,
    /// A box.
    Box,
    /// A parallelogram.
    Slanted,
    /// A diamond.
    Diamond,
    /// A hexagon.
    Hexagon,
    /// Round ends and a double line.
    End,
}

const fn kind(
    name: &'static str,
    label: &'static str,
    span: &'static str,
    shape: NodeShape,
) -> NodeKind {
    NodeKind {
        name,
        label,
        span,
        shape,
        is_end: matches!(shape, NodeShape::Start | NodeShape::End),
        is_task: matches!(shape, NodeShape::Box | NodeShape::Slanted),
    }
}

impl NodeKind {
    /// Where a run starts.
    pub const ENTRY: &'static Self = &kind("entry", "entry", "tramline.entry", NodeShape::Start);
    /// Calls a tool.
    pub const CALL: &'static Self = &kind("call", "call", "tramline.call", NodeShape::Box);
    /// Evaluates an expression.
    pub const COMPUTE: &'static Self = &kind(
        "compute",
        "transform",
        "tramline.compute",
        NodeShape::Slanted,
    );
    /// Picks an edge.
    pub const CHOOSE: &'static Self =
        &kind("choose", "switch", "tramline.choose", NodeShape::Diamond);
    /// Waits for a time.
    pub const WAIT: &'static Self = &kind("wait", "wait", "tramline.wait", NodeShape::Hexagon);
    /// Asks a person to fill in a form.
    pub const ASK: &'static Self = &kind("ask", "ask", "tramline.ask", NodeShape::Slanted);
    /// Where a run ends.
    pub const EXIT: &'static Self = &kind("exit", "exit", "tramline.exit", NodeShape::End);
}

impl NodeKind {
    /// The word that documents use for a kind of this name: `switch` for `choose`.
    pub fn label_of(name: &str) -> &str {
        let all = [
            Self::ENTRY,
            Self::CALL,
            Self::COMPUTE,
            Self::CHOOSE,
            Self::WAIT,
            Self::EXIT,
        ];
        let found = all.into_iter().find(|kind| kind.name == name);
        found.map_or(name, |kind| kind.label)
    }
}

impl Action {
    /// The kind of the node.
    pub fn kind(&self) -> &'static NodeKind {
        match self {
            Self::Entry => NodeKind::ENTRY,
            Self::Call { .. } => NodeKind::CALL,
            Self::Compute { .. } => NodeKind::COMPUTE,
            Self::Choose { .. } => NodeKind::CHOOSE,
            Self::Wait(_) => NodeKind::WAIT,
            Self::Ask(_) => NodeKind::ASK,
            Self::Exit => NodeKind::EXIT,
        }
    }

    /// The tool it calls.
    pub fn tool(&self) -> Option<&ToolName> {
        let Self::Call { tool, .. } = self else {
            return None;
        };
        Some(tool)
    }

    /// The rules by which it picks an edge, and the label if none of them matches.
    pub fn choice(&self) -> Option<(&[SwitchRule], Option<&Str>)> {
        let Self::Choose { rules, otherwise } = self else {
            return None;
        };
        Some((rules, otherwise.as_ref()))
    }

    /// The labels that it can pick, if it picks one.
    pub fn choice_labels(&self) -> Option<impl Iterator<Item = &Str> + Clone> {
        let (rules, otherwise) = self.choice()?;
        Some(rules.iter().map(|rule| &rule.label).chain(otherwise))
    }

    /// Whether it runs another workflow.
    pub fn is_workflow_call(&self) -> bool {
        self.tool()
            .is_some_and(|tool| tool.server == WORKFLOW_SERVER)
    }
}
