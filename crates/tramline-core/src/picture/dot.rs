//! A picture as DOT, for Graphviz and the tools around it.

use super::{Kind, Picture, Shape};
use std::fmt::Write;

/// The picture as DOT text.
pub fn dot(picture: &Picture) -> String {
    let mut text = format!("digraph {} {{\n", quoted(&picture.name));
    text.push_str("    rankdir=TB;\n");
    text.push_str("    node [fontname=\"Helvetica\", fontsize=11, margin=\"0.15,0.08\"];\n");
    text.push_str("    edge [fontname=\"Helvetica\", fontsize=9];\n");
    for shape in &picture.shapes {
        let _ = writeln!(
            text,
            "    {} [label={}, {}];",
            quoted(&shape.id),
            quoted(&inside(shape)),
            form(shape.kind)
        );
    }
    for link in &picture.links {
        let mut says = Vec::new();
        if let Some(label) = &link.label {
            says.push(format!("label={}", quoted(label)));
        }
        if link.failure {
            says.push("style=dashed, color=firebrick, fontcolor=firebrick".to_owned());
        }
        let says = match says.as_slice() {
            [] => String::new(),
            says => format!(" [{}]", says.join(", ")),
        };
        let from = quoted(&picture.shapes[link.from].id);
        let to = quoted(&picture.shapes[link.to].id);
        let _ = writeln!(text, "    {from} -> {to}{says};");
    }
    text.push_str("}\n");
    text
}

fn form(kind: Kind) -> &'static str {
    match kind {
        Kind::Entry => "shape=box, style=rounded",
        Kind::Call => "shape=box",
        Kind::Compute => "shape=parallelogram, margin=0",
        Kind::Choose => "shape=diamond, margin=0",
        Kind::Wait => "shape=hexagon, margin=0",
        Kind::Exit => "shape=box, style=rounded, peripheries=2",
    }
}

fn inside(shape: &Shape) -> String {
    let mut lines = vec![shape.id.clone()];
    lines.extend(shape.detail.clone());
    if !shape.notes.is_empty() {
        lines.push(shape.notes.join(", "));
    }
    lines.join("\n")
}

/// Text in quotes. A backslash would begin an escape, so it is doubled; lines become `\n`.
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
