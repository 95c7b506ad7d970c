//! A workflow or a procedure as data for a page that draws it itself: nodes, edges, places.
//!
//! It says the same as the other pictures: what a node does and what stands on an edge is worked
//! out once.

use super::{Kind, Picture};
use crate::flaw::Place;
use crate::formats::mermaid::Shape;
use crate::graph::Graph;
use crate::ids::NodeIx;
use crate::journal::{Entry, Event};
use crate::layers::Layers;
use crate::sop::Sop;
use crate::workflow::Action;
use serde::Serialize;
use std::collections::HashSet;

/// What is drawn, as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Drawing {
    /// The name of the workflow or procedure.
    pub name: String,
    /// Which way it runs: `TB` or `LR`.
    pub direction: &'static str,
    /// Its nodes, in its own order.
    pub nodes: Vec<Drawn>,
    /// Its edges; those between the same two nodes that say the same are one.
    pub edges: Vec<Line>,
}

/// A node as it is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Drawn {
    /// Its id.
    pub id: String,
    /// Its kind: that of a workflow's node, or `prompt`, `decision`, `terminal`, `hub`.
    pub kind: &'static str,
    /// What stands in it.
    pub label: String,
    /// What it does, in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What is special about it: approval, retries, joins.
    pub notes: Vec<String>,
    /// The tool it calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Which layer it is in, where the graph has layers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<u32>,
    /// The line of the document on which it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The shape its author drew it with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// Which patch added it, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<usize>,
}

/// An edge as it is drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Its own id.
    pub id: String,
    /// The node it leaves.
    pub from: String,
    /// The node it enters.
    pub to: String,
    /// What stands on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// `default`, `error` or `labelled`.
    pub kind: &'static str,
}

impl Drawing {
    /// What is drawn of a graph.
    pub fn of(graph: &Graph) -> Self {
        let picture = Picture::of(&graph.workflow);
        let layers = Layers::of(graph);
        let nodes = picture.shapes.iter().enumerate().map(|(at, shape)| {
            let at = NodeIx(at as u32);
            let tool = match &graph.node(at).action {
                Action::Call { tool, .. } => Some(tool.to_string()),
                Action::Entry
                | Action::Compute { .. }
                | Action::Choose { .. }
                | Action::Wait(_)
                | Action::Exit => None,
            };
            let is_end = matches!(shape.kind, Kind::Entry | Kind::Exit);
            let layer = layers.as_ref().filter(|_| !is_end);
            Drawn {
                id: shape.id.clone(),
                kind: shape.kind.name(),
                label: shape.id.clone(),
                detail: shape.detail.clone(),
                notes: shape.notes.clone(),
                tool,
                layer: layer.map(|layers| layers.layer(at)),
                ..Drawn::default()
            }
        });
        let nodes: Vec<_> = nodes.collect();
        let edges = picture.links.iter().enumerate().map(|(at, link)| Line {
            id: format!("e{at}"),
            from: nodes[link.from].id.clone(),
            to: nodes[link.to].id.clone(),
            label: link.label.clone(),
            kind: match (&link.label, link.failure) {
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

    /// What is drawn of a procedure.
    pub fn of_sop(sop: &Sop) -> Self {
        let nodes = (0..sop.nodes.len() as u32).map(|at| sop_node(sop, NodeIx(at)));
        let id = |at: NodeIx| sop.nodes[at.at()].id.to_string();
        let within = |at: NodeIx| at.at() < sop.nodes.len();
        let edges = sop.edges.iter().enumerate();
        let edges = edges.filter(|(_, edge)| within(edge.from) && within(edge.to));
        let edges = edges.map(|(at, edge)| Line {
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

    /// Says which patch of a journal added which node.
    pub fn mark_patches(&mut self, entries: &[Entry]) {
        let patches = entries.iter().filter_map(|entry| match &entry.event {
            Event::Amended { patch, .. } => Some(patch),
            _ => None,
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

    /// Says where nodes stand in the document, as far as that is known.
    pub fn place(&mut self, found: impl Fn(&str) -> Option<Place>) {
        for node in &mut self.nodes {
            if let Some(place) = found(&node.id).filter(|place| place.line > 0) {
                node.line = Some(place.line);
                node.column = Some(place.column);
            }
        }
    }
}

impl Picture {
    /// What is drawn of a procedure where only a picture is asked for.
    pub fn of_sop(sop: &Sop) -> Self {
        let drawing = Drawing::of_sop(sop);
        let shapes = drawing.nodes.iter().map(|node| super::Shape {
            id: node.id.clone(),
            kind: match node.kind {
                "entry" => Kind::Entry,
                "terminal" => Kind::Exit,
                "decision" => Kind::Choose,
                _ => Kind::Call,
            },
            detail: Some(super::brief(&node.label)),
            notes: node.notes.iter().map(|note| super::brief(note)).collect(),
        });
        let links = sop.edges.iter().map(|edge| super::Link {
            from: edge.from.at(),
            to: edge.to.at(),
            label: edge.condition.as_deref().map(super::brief),
            failure: false,
        });
        let within = |link: &super::Link| link.from.max(link.to) < sop.nodes.len();
        Self {
            name: drawing.name,
            shapes: shapes.collect(),
            links: links.filter(within).collect(),
        }
    }
}

fn sop_node(sop: &Sop, at: NodeIx) -> Drawn {
    let node = &sop.nodes[at.at()];
    let round = node.shape == Shape::STADIUM.word();
    let leads_on = sop.edges.iter().any(|edge| edge.from == at);
    let kind = if sop.entry == at {
        "entry"
    } else if node.hub {
        "hub"
    } else if round || !leads_on {
        "terminal"
    } else if node.shape == Shape::RHOMBUS.word() {
        "decision"
    } else {
        "prompt"
    };
    let mut notes: Vec<String> = Vec::new();
    if !node.tools.is_empty() {
        notes.push(format!("tools: {}", node.tools.join(", ")));
    }
    if !node.must_call.is_empty() {
        let tools: Vec<String> = node.must_call.iter().map(|it| it.says()).collect();
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
    Drawn {
        id: node.id.to_string(),
        kind,
        label: node.description.to_string(),
        detail: node.prompt.as_deref().map(super::brief),
        notes,
        shape: Some(node.shape.to_string()),
        ..Drawn::default()
    }
}

/// Which way a flowchart runs, by its first line.
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
    use crate::formats::{Elsewhere, Hint, read, sop_markdown};

    #[test]
    fn a_graph_is_told_with_its_layers_tools_and_labels() {
        let text = br#"{"tasks": [
            {"id": "a", "tool": "s:look", "arguments": {}},
            {"id": "b", "tool": "s:act", "arguments": {}, "depends_on": ["a"], "approval": "dear"}]}"#;
        let hint = Hint {
            elsewhere: Elsewhere::Any,
            ..Hint::default()
        };
        let document = read(text, hint).unwrap().document;
        let drawing = Drawing::of(&document.workflows[0]);
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
        let drawing = Drawing::of_sop(&document.sop);
        let kinds: Vec<_> = drawing.nodes.iter().map(|node| node.kind).collect();
        assert_eq!(kinds, ["entry", "decision", "terminal"]);
        assert_eq!(drawing.direction, "LR");
        assert_eq!(drawing.edges[1].label.as_deref(), Some("yes"));
    }
}
