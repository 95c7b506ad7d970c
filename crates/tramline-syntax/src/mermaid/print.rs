//! Writes a flowchart: vertices, subgraphs, links, styles. The result reads back the same.

use super::attributes::write_pairs;
use super::labels::{encode, encode_line};
use super::{
    ArrowHead, ChartLabel, ChartLink, Diagram, Direction, Flowchart, NodeShape, Stroke,
    StyleStatement, Subgraph, Vertex,
};
use std::fmt::Write;

/// The diagram as text.
pub fn print(diagram: &Diagram) -> String {
    let Diagram::Flowchart(chart) = diagram;
    let mut text = String::new();
    if let Some(front) = &chart.front_matter {
        let _ = writeln!(text, "---\n{front}\n---");
    }
    for directive in &chart.directives {
        let _ = writeln!(text, "%%{{{directive}}}%%");
    }
    let direction = chart
        .direction
        .map_or(String::new(), |it| format!(" {}", direction_keyword(it)));
    let _ = writeln!(text, "flowchart{direction}");
    for vertex in &chart.vertices {
        let _ = writeln!(text, "    {}", vertex_statement(vertex));
    }
    write_subgraphs(chart, &mut text);
    for link in &chart.links {
        let _ = writeln!(text, "    {}", link_statement(chart, link));
    }
    for decoration in &chart.styles {
        let _ = writeln!(text, "    {}", style_text(decoration));
    }
    text
}

fn direction_keyword(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => "TD",
        Direction::Up => "BT",
        Direction::Right => "LR",
        Direction::Left => "RL",
    }
}

fn quoted_label(caption: &ChartLabel) -> String {
    let text = encode(&caption.text);
    match caption.markdown {
        true => format!("\"`{text}`\""),
        false => format!("\"{text}\""),
    }
}

/// An id alone; `end` is written twice because it would end a subgraph.
fn bare_id(id: &str) -> String {
    match id {
        "end" => "end & end".to_owned(),
        id => id.to_owned(),
    }
}

fn vertex_statement(vertex: &Vertex) -> String {
    let id = &vertex.id;
    let classes: String = vertex.classes.iter().map(|it| format!(":::{it}")).collect();
    let shape = vertex.shape.unwrap_or(NodeShape::RECTANGLE);
    match (&vertex.label, shape.brackets()) {
        (Some(caption), Some((open, close)))
            if vertex.attributes.is_empty() && vertex.shape.is_some() =>
        {
            format!("{id}{open}{}{close}{classes}", quoted_label(caption))
        }
        (None, _) if vertex.attributes.is_empty() && vertex.shape.is_none() => {
            match classes.as_str() {
                "" => bare_id(id),
                classes => format!("{id}{classes}"),
            }
        }
        (Some(_) | None, _) => {
            let data = attributes_text(vertex);
            match id.ends_with(':') {
                true => format!("{id}@{{ {data} }}{classes}"),
                false => format!("{id}{classes}@{{ {data} }}"),
            }
        }
    }
}

/// The attributes of a vertex for `@{…}`.
fn attributes_text(vertex: &Vertex) -> String {
    let mut parts = Vec::new();
    if let Some(shape) = vertex.shape {
        parts.push(format!("shape: {}", shape.name()));
    }
    if let Some(caption) = &vertex.label {
        let text = encode_line(&caption.text);
        parts.push(match caption.markdown {
            true => format!("label: \"`{text}`\""),
            false => format!("label: \"{text}\""),
        });
    }
    if !vertex.attributes.is_empty() {
        parts.push(write_pairs(&vertex.attributes));
    }
    parts.join(", ")
}

fn write_subgraphs(chart: &Flowchart, text: &mut String) {
    let mut members = vec![Vec::new(); chart.subgraphs.len()];
    for vertex in &chart.vertices {
        if let Some(group) = vertex.subgraph {
            members[group].push(vertex.id.as_str());
        }
    }
    // Subgraphs are in document order: one ends when the next is not inside it.
    let mut open: Vec<usize> = Vec::new();
    for (place, group) in chart.subgraphs.iter().enumerate() {
        while open.last().copied() != group.parent && !open.is_empty() {
            open.pop();
            let _ = writeln!(text, "    end");
        }
        let _ = writeln!(text, "    subgraph{}", subgraph_header(group));
        if let Some(direction) = group.direction {
            let _ = writeln!(text, "    direction {}", direction_keyword(direction));
        }
        for member in &members[place] {
            let _ = writeln!(text, "    {}", bare_id(member));
        }
        open.push(place);
    }
    for _ in open {
        let _ = writeln!(text, "    end");
    }
}

fn subgraph_header(group: &Subgraph) -> String {
    match (&group.id, &group.title) {
        (None, None) => String::new(),
        (None, Some(title)) => format!(" {}", quoted_label(title)),
        (Some(id), None) => format!(" {id}"),
        (Some(id), Some(title)) => format!(" {id} [{}]", quoted_label(title)),
    }
}

fn link_statement(chart: &Flowchart, link: &ChartLink) -> String {
    let (from, to) = (&chart.vertices[link.from].id, &chart.vertices[link.to].id);
    let id = link
        .id
        .as_ref()
        .map_or(String::new(), |id| format!("{id}@"));
    let caption = match &link.label {
        Some(caption) => format!("|{}|", quoted_label(caption)),
        None => String::new(),
    };
    format!("{from} {id}{}{caption} {to}", arrow(link))
}

fn arrow(link: &ChartLink) -> String {
    let length = link.length.max(1) as usize;
    let tail = match link.tail {
        ArrowHead::None => "",
        ArrowHead::Arrow => "<",
        ArrowHead::Cross => "x",
        ArrowHead::Circle => "o",
    };
    let head = match link.head {
        ArrowHead::None => None,
        ArrowHead::Arrow => Some(">"),
        ArrowHead::Cross => Some("x"),
        ArrowHead::Circle => Some("o"),
    };
    let line = |mark: &str| match head {
        Some(head) => format!("{}{head}", mark.repeat(length + 1)),
        None => mark.repeat(length + 2),
    };
    let body = match link.stroke {
        Stroke::Solid => line("-"),
        Stroke::Thick => line("="),
        Stroke::Dotted => format!("-{}-{}", ".".repeat(length), head.unwrap_or_default()),
        Stroke::Invisible => "~".repeat(length + 2),
    };
    format!("{tail}{body}")
}

fn style_text(decoration: &StyleStatement) -> String {
    match decoration {
        StyleStatement::ClassDef(text) => format!("classDef {text}"),
        StyleStatement::Class(text) => format!("class {text}"),
        StyleStatement::Style(text) => format!("style {text}"),
        StyleStatement::LinkStyle(text) => format!("linkStyle {text}"),
        StyleStatement::Click(text) => format!("click {text}"),
        StyleStatement::Link { id, attributes } => format!("{id}@{{ {attributes} }}"),
        StyleStatement::Title(text) => format!("accTitle: {text}"),
        StyleStatement::Description(text) => format!("accDescr: {text}"),
    }
}
