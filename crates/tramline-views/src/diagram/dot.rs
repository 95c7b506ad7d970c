//! Renders a diagram as DOT, for Graphviz and related tools.

use super::{DiagramNode, WorkflowDiagram};
use std::fmt::Write;
use tramline_workflow::node_kind::NodeShape;

/// The diagram as DOT text.
pub fn dot(picture: &WorkflowDiagram) -> String {
    let mut text = format!("digraph {} {{\n", quoted(&picture.name));
    text.push_str("    rankdir=TB;\n");
    text.push_str("    node [fontname=\"Helvetica\", fontsize=11, margin=\"0.15,0.08\"];\n");
    text.push_str("    edge [fontname=\"Helvetica\", fontsize=9];\n");
    for shape in &picture.nodes {
        let _ = writeln!(
            text,
            "    {} [label={}, {}];",
            quoted(&shape.id),
            quoted(&node_text(shape)),
            node_attributes(shape.kind.shape)
        );
    }
    for link in &picture.edges {
        let mut says = Vec::new();
        if let Some(label) = &link.label {
            says.push(format!("label={}", quoted(label)));
        }
        if link.is_failure {
            says.push("style=dashed, color=firebrick, fontcolor=firebrick".to_owned());
        }
        let says = match says.as_slice() {
            [] => String::new(),
            says => format!(" [{}]", says.join(", ")),
        };
        let from = quoted(&picture.nodes[link.from].id);
        let to = quoted(&picture.nodes[link.to].id);
        let _ = writeln!(text, "    {from} -> {to}{says};");
    }
    text.push_str("}\n");
    text
}

fn node_attributes(shape: NodeShape) -> &'static str {
    match shape {
        NodeShape::Start => "shape=box, style=rounded",
        NodeShape::Box => "shape=box",
        NodeShape::Slanted => "shape=parallelogram, margin=0",
        NodeShape::Diamond => "shape=diamond, margin=0",
        NodeShape::Hexagon => "shape=hexagon, margin=0",
        NodeShape::End => "shape=box, style=rounded, peripheries=2",
    }
}

fn node_text(shape: &DiagramNode) -> String {
    let mut lines = vec![shape.id.clone()];
    lines.extend(shape.detail.clone());
    if !shape.notes.is_empty() {
        lines.push(shape.notes.join(", "));
    }
    lines.join("\n")
}

/// Quotes text. Backslashes are doubled because they start an escape; line breaks become `\n`.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
