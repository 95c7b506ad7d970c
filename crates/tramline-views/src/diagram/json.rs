//! A workflow or a procedure as JSON for pages that render it themselves.
//!
//! Node descriptions and edge labels are the same as in the other diagrams.

use super::WorkflowDiagram;
use serde::Serialize;
use std::collections::HashSet;
use tramline_workflow::flaw::SourceSpan;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::NodeIx;
use tramline_workflow::journal::{Entry, Event, RunEvent};
use tramline_workflow::layers::Layers;
use tramline_workflow::node_kind::NodeKind;
use tramline_workflow::sop::{DECISION_SHAPE, END_SHAPE, Sop};

/// A diagram as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiagramJson {
    /// The name of the workflow or procedure.
    pub name: String,
    /// The direction: `TB` or `LR`.
    pub direction: &'static str,
    /// The nodes, in document order.
    pub nodes: Vec<DiagramJsonNode>,
    /// The edges; identical ones between the same two nodes are merged.
    pub edges: Vec<DiagramJsonEdge>,
}

/// A node of the diagram.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DiagramJsonNode {
    /// The id of the node.
    pub id: String,
    /// The kind: that of a workflow node, or `prompt`, `decision`, `terminal`, `hub`.
    pub kind: &'static str,
    /// The text in the node.
    pub label: String,
    /// A short description of what it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Its special properties: approval, retries, joins.
    pub notes: Vec<String>,
    /// The tool it calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The layer, if the graph has layers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<u32>,
    /// The line of the node in the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column of the node in the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The shape that the author drew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// The patch that added it, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<usize>,
}

/// An edge of the diagram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiagramJsonEdge {
    /// The id of the edge.
    pub id: String,
    /// The source node.
    pub from: String,
    /// The target node.
    pub to: String,
    /// The label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// `default`, `error` or `labelled`.
    pub kind: &'static str,
}

impl DiagramJson {
    /// The diagram of a graph.
    pub fn of(graph: &Graph) -> Self {
        let picture = WorkflowDiagram::of(&graph.workflow);
        let layers = Layers::of(graph);
        let nodes = picture.nodes.iter().enumerate().map(|(at, shape)| {
            let at = NodeIx(at as u32);
            let tool = graph.node(at).action.tool().map(ToString::to_string);
            let is_end = shape.kind.is_end;
            let layer = layers.as_ref().filter(|_| !is_end);
            DiagramJsonNode {
                id: shape.id.clone(),
                kind: shape.kind.name,
                label: shape.id.clone(),
                detail: shape.detail.clone(),
                notes: shape.notes.clone(),
                tool,
                layer: layer.map(|layers| layers.layer(at)),
                ..DiagramJsonNode::default()
            }
        });
        let nodes: Vec<_> = nodes.collect();
        let edges = picture
            .edges
            .iter()
            .enumerate()
            .map(|(at, link)| DiagramJsonEdge {
                id: format!("e{at}"),
                from: nodes[link.from].id.clone(),
                to: nodes[link.to].id.clone(),
                label: link.label.clone(),
                kind: match (&link.label, link.is_failure) {
                    (_, true) => "error",
                    (Some(_), false) => "labelled",
                    (None, false) => "default",
                },
            });
        Self {
            name: picture.name,
            direction: "TB",
            edges: edges.collect(),
            nodes,
        }
    }

    /// The diagram of a procedure.
    pub fn of_sop(sop: &Sop) -> Self {
        let nodes = (0..sop.nodes.len() as u32).map(|at| sop_node(sop, NodeIx(at)));
        let id = |at: NodeIx| sop.nodes[at.index()].id.to_string();
        let within = |at: NodeIx| at.index() < sop.nodes.len();
        let edges = sop.edges.iter().enumerate();
        let edges = edges.filter(|(_, edge)| within(edge.from) && within(edge.to));
        let edges = edges.map(|(at, edge)| DiagramJsonEdge {
            id: format!("e{at}"),
            from: id(edge.from),
            to: id(edge.to),
            label: edge.condition.as_deref().map(str::to_owned),
            kind: match edge.condition {
                Some(_) => "labelled",
                None => "default",
            },
        });
        Self {
            name: sop.name.to_string(),
            direction: direction(&sop.chart),
            nodes: nodes.collect(),
            edges: edges.collect(),
        }
    }

    /// Marks the nodes that the patches of a journal added.
    pub fn mark_patches(&mut self, entries: &[Entry]) {
        let patches = entries.iter().filter_map(|entry| {
            let Event::Run(RunEvent::GraphExtended { patch, .. }) = &entry.event else {
                return None;
            };
            Some(patch)
        });
        for (number, patch) in patches.enumerate() {
            let added: HashSet<&str> = patch.nodes.iter().map(|node| node.id.as_str()).collect();
            for node in &mut self.nodes {
                if added.contains(node.id.as_str()) {
                    node.patch = Some(number + 1);
                }
            }
        }
    }

    /// Sets the locations of nodes in the document, where they are known.
    pub fn set_locations(&mut self, found: impl Fn(&str) -> Option<SourceSpan>) {
        for node in &mut self.nodes {
            if let Some(place) = found(&node.id).filter(|place| place.line > 0) {
                node.line = Some(place.line);
                node.column = Some(place.column);
            }
        }
    }
}

impl WorkflowDiagram {
    /// The diagram of a procedure for static rendering.
    pub fn of_sop(sop: &Sop) -> Self {
        let drawing = DiagramJson::of_sop(sop);
        let shapes = drawing.nodes.iter().map(|node| super::DiagramNode {
            id: node.id.clone(),
            kind: match node.kind {
                "entry" => NodeKind::ENTRY,
                "terminal" => NodeKind::EXIT,
                "decision" => NodeKind::CHOOSE,
                _ => NodeKind::CALL,
            },
            detail: Some(super::one_line(&node.label)),
            notes: node
                .notes
                .iter()
                .map(|note| super::one_line(note))
                .collect(),
        });
        let links = sop.edges.iter().map(|edge| super::DiagramEdge {
            from: edge.from.index(),
            to: edge.to.index(),
            label: edge.condition.as_deref().map(super::one_line),
            is_failure: false,
        });
        let within = |link: &super::DiagramEdge| link.from.max(link.to) < sop.nodes.len();
        Self {
            name: drawing.name,
            nodes: shapes.collect(),
            edges: links.filter(within).collect(),
        }
    }
}

fn sop_node(sop: &Sop, at: NodeIx) -> DiagramJsonNode {
    let node = &sop.nodes[at.index()];
    let round = node.shape == END_SHAPE;
    let leads_on = sop.edges.iter().any(|edge| edge.from == at);
    let kind = if sop.entry == at {
        "entry"
    } else if node.hub {
        "hub"
    } else if round || !leads_on {
        "terminal"
    } else if node.shape == DECISION_SHAPE {
        "decision"
    } else {
        "prompt"
    };
    let mut notes: Vec<String> = Vec::new();
    if !node.tools.is_empty() {
        notes.push(format!("tools: {}", node.tools.join(", ")));
    }
    if !node.must_call.is_empty() {
        let tools: Vec<String> = node.must_call.iter().map(|it| it.describe()).collect();
        notes.push(format!("must call: {}", tools.join(", ")));
    }
    if node.confirm {
        notes.push("asks the user first".to_owned());
    }
    if let Some(most) = node.visits_max {
        notes.push(format!("at most {most} visits"));
    }
    let slots: Vec<_> = node.slots.iter().map(|slot| slot.name.as_str()).collect();
    if !slots.is_empty() {
        notes.push(format!("collects {}", slots.join(", ")));
    }
    DiagramJsonNode {
        id: node.id.to_string(),
        kind,
        label: node.description.to_string(),
        detail: node.prompt.as_deref().map(super::one_line),
        notes,
        shape: Some(node.shape.to_string()),
        ..DiagramJsonNode::default()
    }
}

/// The direction of a flowchart, from its first line.
fn direction(chart: &str) -> &'static str {
    let opens = |line: &&str| line.starts_with("flowchart") || line.starts_with("graph");
    let first = chart.lines().map(str::trim).find(opens).unwrap_or_default();
    match first
        .split_whitespace()
        .nth(1)
        .map(|it| it.trim_matches(';'))
    {
        Some("LR" | "RL") => "LR",
        Some(_) | None => "TB",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tramline_formats::{KnownServers, ReadOptions, read, sop_markdown};

    #[test]
    fn a_graph_is_told_with_its_layers_tools_and_labels() {
        let text = br#"{"tasks": [
            {"id": "a", "tool": "s:look", "arguments": {}},
            {"id": "b", "tool": "s:act", "arguments": {}, "depends_on": ["a"], "approval": "dear"}]}"#;
        let hint = ReadOptions {
            known_servers: KnownServers::Any,
            ..ReadOptions::default()
        };
        let document = read(text, hint).unwrap().document;
        let drawing = DiagramJson::of(&document.workflows[0]);
        let b = drawing.nodes.iter().find(|node| node.id == "b").unwrap();
        assert_eq!((b.kind, b.tool.as_deref()), ("call", Some("s:act")));
        assert_eq!(
            (b.layer, b.notes.as_slice()),
            (
                Some(1),
                &["waits for all".to_owned(), "asks first".to_owned()][..]
            )
        );
        let edge = drawing.edges.iter().find(|edge| edge.to == "b").unwrap();
        assert_eq!((edge.from.as_str(), edge.kind), ("a", "default"));
    }

    #[test]
    fn a_procedure_is_told_by_its_shapes() {
        let text = "```mermaid\nflowchart LR\nSTART[Ask] --> D{Ok?}\nD -->|yes| E([Done])\nD -->|no| START\n```\n";
        let document = sop_markdown::read(text.as_bytes(), "p").unwrap();
        let drawing = DiagramJson::of_sop(&document.sop);
        let kinds: Vec<_> = drawing.nodes.iter().map(|node| node.kind).collect();
        assert_eq!(kinds, ["entry", "decision", "terminal"]);
        assert_eq!(drawing.direction, "LR");
        assert_eq!(drawing.edges[1].label.as_deref(), Some("yes"));
    }
}
