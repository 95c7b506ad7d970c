//! Diagrams of workflows: one model, rendered as Mermaid, DOT or SVG.
//!
//! Everything is pure, so that the command line and the studio render the same diagram.

use std::collections::HashMap;
use tramline_expr::Value;
use tramline_workflow::node_kind::NodeKind;
use tramline_workflow::workflow::{
    Action, DEFAULT_LABEL, ERROR_LABEL, Join, Node, Template, WaitTime, Workflow,
};

mod dot;
mod json;
mod layout;
mod mermaid;
mod page_layout;
mod rule_label;
mod svg;

pub use dot::dot;
pub use json::{DiagramJson, DiagramJsonEdge, DiagramJsonNode};
pub use layout::{DiagramLayout, DiagramTooLarge, PlacedBox, Point, RoutedEdge, layout};
pub use mermaid::mermaid;
pub use page_layout::{
    FlowDirection, LabelSize, LayoutRequest, PageBox, PageEdge, PageLayout, SizedEdge, SizedNode,
};
pub use svg::svg;

/// Characters of a text in a diagram; longer text does not fit a node.
const TEXT_CHARS_MAX: usize = 40;

/// The diagram of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowDiagram {
    /// The workflow's name.
    pub name: String,
    /// The nodes, in document order.
    pub nodes: Vec<DiagramNode>,
    /// The edges; identical ones between the same two nodes are merged.
    pub edges: Vec<DiagramEdge>,
}

/// A node of a diagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagramNode {
    /// The node's id.
    pub id: String,
    /// The node kind, which decides its outline.
    pub kind: &'static NodeKind,
    /// A short description of what it does.
    pub detail: Option<String>,
    /// Its special properties: approval, retries, joins.
    pub notes: Vec<String>,
}

/// An edge of a diagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagramEdge {
    /// The index of its source node.
    pub from: usize,
    /// The index of its target node.
    pub to: usize,
    /// The label.
    pub label: Option<String>,
    /// Whether it is a failure edge.
    pub is_failure: bool,
}

impl WorkflowDiagram {
    /// The diagram of a workflow. Edges to unknown nodes are omitted.
    pub fn of(workflow: &Workflow) -> Self {
        let nodes = workflow.nodes.iter().map(diagram_node).collect();
        let places: HashMap<&str, usize> = workflow
            .nodes
            .iter()
            .enumerate()
            .map(|(at, node)| (node.id.as_str(), at))
            .collect();
        let mut edges: Vec<DiagramEdge> = Vec::new();
        let mut known: HashMap<(usize, usize, Option<String>), ()> = HashMap::new();
        for edge in &workflow.edges {
            let (Some(&from), Some(&to)) =
                (places.get(edge.from.as_str()), places.get(edge.to.as_str()))
            else {
                continue;
            };
            let label = edge_label(&workflow.nodes[from], &edge.label);
            if known.insert((from, to, label.clone()), ()).is_none() {
                let failure = edge.label == ERROR_LABEL;
                edges.push(DiagramEdge {
                    from,
                    to,
                    label,
                    is_failure: failure,
                });
            }
        }
        Self {
            name: workflow.name.to_string(),
            nodes,
            edges,
        }
    }
}

fn diagram_node(node: &Node) -> DiagramNode {
    let detail = if let Action::Compute { expression } = &node.action {
        Some(one_line(expression))
    } else if let Action::Wait(time) = &node.action {
        Some(one_line(&wait_text(time)))
    } else {
        let tool = node.action.tool();
        tool.map(|tool| one_line(&tool.to_string()))
    };
    let mut notes = Vec::new();
    match node.join {
        Join::All => notes.push("waits for all".to_owned()),
        Join::Any => {}
    }
    if node.each.is_some() {
        notes.push("for each item".to_owned());
    }
    if node.approval.is_some() {
        notes.push("asks first".to_owned());
    }
    if let Some(retry) = node.retry.filter(|retry| retry.max > 0) {
        notes.push(format!("retries {}", retry.max));
    }
    DiagramNode {
        id: node.id.to_string(),
        kind: node.action.kind(),
        detail,
        notes,
    }
}

/// A text for the duration of a wait.
fn wait_text(time: &WaitTime) -> String {
    let (word, template) = match time {
        WaitTime::For(template) => ("for", template),
        WaitTime::Until(template) => ("until", template),
    };
    match template {
        Template::Literal(Value::String(text)) => format!("{word} {text}"),
        Template::Literal(value @ Value::Number(_)) if word == "for" => format!("for {value} ms"),
        Template::Literal(value) => format!("{word} {value}"),
        Template::Expr(source) => format!("{word} {source}"),
        Template::Object(_) | Template::Array(_) => word.to_owned(),
    }
}

/// The label of an edge: empty if it is the only one, the rule if it belongs to a switch.
fn edge_label(node: &Node, label: &str) -> Option<String> {
    if let Action::Choose { rules, otherwise } = &node.action {
        let mut said: Vec<String> = rules
            .iter()
            .filter(|choice| choice.label == label)
            .map(|choice| rule_label::label_text(&choice.rule))
            .collect();
        if otherwise.as_deref() == Some(label) {
            said.push("otherwise".to_owned());
        }
        if !said.is_empty() {
            return Some(one_line(&said.join(" or ")));
        }
    }
    (label != DEFAULT_LABEL).then(|| one_line(label))
}

/// Text for a diagram: on one line, and truncated.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        // The rest would be truncated, so a long text is not scanned to its end.
        if line.len() > TEXT_CHARS_MAX * 4 {
            break;
        }
    }
    truncate(&line, TEXT_CHARS_MAX)
}

/// Truncates text to this many characters.
fn truncate(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(chars_max - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests;
