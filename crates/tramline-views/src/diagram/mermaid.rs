//! Renders a diagram as a Mermaid flowchart, which many Markdown viewers can display.

use super::{DiagramNode, WorkflowDiagram};
use std::collections::HashSet;
use std::fmt::Write;
use tramline_workflow::node_kind::NodeShape;

/// Words that Mermaid does not accept as ids.
const RESERVED: [&str; 13] = [
    "end",
    "graph",
    "flowchart",
    "subgraph",
    "style",
    "linkstyle",
    "classdef",
    "class",
    "click",
    "call",
    "href",
    "default",
    "direction",
];

/// The diagram as Mermaid text.
pub fn mermaid(picture: &WorkflowDiagram) -> String {
    let ids = ids(picture);
    let mut text = String::from("flowchart TD\n");
    for (shape, id) in picture.nodes.iter().zip(&ids) {
        let (open, close) = brackets(shape.kind.shape);
        let _ = writeln!(text, "    {id}{open}\"{}\"{close}", node_text(shape));
    }
    for link in &picture.edges {
        let arrow = if link.is_failure { "-.->" } else { "-->" };
        let label = match &link.label {
            Some(label) => format!("|\"{}\"|", escape(label)),
            None => String::new(),
        };
        let _ = writeln!(
            text,
            "    {} {arrow}{label} {}",
            ids[link.from], ids[link.to]
        );
    }
    text
}

fn brackets(shape: NodeShape) -> (&'static str, &'static str) {
    match shape {
        NodeShape::Start => ("([", "])"),
        NodeShape::Box => ("[", "]"),
        NodeShape::Slanted => ("[/", "/]"),
        NodeShape::Diamond => ("{", "}"),
        NodeShape::Hexagon => ("{{", "}}"),
        NodeShape::End => ("(((", ")))"),
    }
}

fn node_text(shape: &DiagramNode) -> String {
    let mut lines = vec![escape(&shape.id)];
    lines.extend(shape.detail.as_deref().map(escape));
    if !shape.notes.is_empty() {
        lines.push(escape(&shape.notes.join(", ")));
    }
    lines.join("<br/>")
}

/// Escapes text for double quotes: every character that Mermaid or HTML would interpret becomes an
/// entity.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | ' ' => escaped.push(c),
            '.' | ',' | ':' | '_' | '-' | '/' | '=' | '+' | '(' | ')' | '!' | '?' | '\'' | '$' => {
                escaped.push(c);
            }
            _ if c.is_alphanumeric() || matches!(c, '…' | '≠' | '≤' | '≥') => {
                escaped.push(c)
            }
            _ => {
                let _ = write!(escaped, "#{};", u32::from(c));
            }
        }
    }
    escaped
}

/// An id for each node: its own if Mermaid accepts it, otherwise a generated one.
fn ids(picture: &WorkflowDiagram) -> Vec<String> {
    let own = |shape: &DiagramNode| {
        let mut letters = shape.id.chars();
        let plain = letters.next().is_some_and(|c| c.is_ascii_alphabetic())
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
        (plain && !RESERVED.contains(&shape.id.to_lowercase().as_str())).then(|| shape.id.clone())
    };
    let mut taken: HashSet<String> = picture.nodes.iter().filter_map(own).collect();
    let mut next = 0;
    let mut fresh = || loop {
        next += 1;
        let id = format!("n{next}");
        if taken.insert(id.clone()) {
            return id;
        }
    };
    picture
        .nodes
        .iter()
        .map(|shape| own(shape).unwrap_or_else(&mut fresh))
        .collect()
}
