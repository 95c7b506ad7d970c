//! Writes a flowchart out again: vertices, groups, links, looks; reading that gives the same.

use super::captions::{encode, encode_line};
use super::data::written;
use super::{
    Caption, Decoration, Diagram, Direction, Flowchart, Group, Head, Link, Shape, Stroke, Vertex,
};
use std::fmt::Write;

/// The diagram as text.
pub fn print(diagram: &Diagram) -> String {
    let Diagram::Flowchart(chart) = diagram;
    let mut text = String::new();
    if let Some(front) = &chart.front {
        let _ = writeln!(text, "---\n{front}\n---");
    }
    for directive in &chart.directives {
        let _ = writeln!(text, "%%{{{directive}}}%%");
    }
    let direction = chart
        .direction
        .map_or(String::new(), |it| format!(" {}", word(it)));
    let _ = writeln!(text, "flowchart{direction}");
    for vertex in &chart.vertices {
        let _ = writeln!(text, "    {}", declared(vertex));
    }
    groups(chart, &mut text);
    for link in &chart.links {
        let _ = writeln!(text, "    {}", drawn(chart, link));
    }
    for decoration in &chart.decorations {
        let _ = writeln!(text, "    {}", decorated(decoration));
    }
    text
}

fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => "TD",
        Direction::Up => "BT",
        Direction::Right => "LR",
        Direction::Left => "RL",
    }
}

fn quoted(caption: &Caption) -> String {
    let text = encode(&caption.text);
    match caption.markdown {
        true => format!("\"`{text}`\""),
        false => format!("\"{text}\""),
    }
}

/// An id on its own; one that would end a group is named twice over.
fn bare(id: &str) -> String {
    match id {
        "end" => "end & end".to_owned(),
        id => id.to_owned(),
    }
}

fn declared(vertex: &Vertex) -> String {
    let id = &vertex.id;
    let classes: String = vertex.classes.iter().map(|it| format!(":::{it}")).collect();
    let shape = vertex.shape.unwrap_or(Shape::RECTANGLE);
    match (&vertex.caption, shape.brackets()) {
        (Some(caption), Some((open, close)))
            if vertex.attributes.is_empty() && vertex.shape.is_some() =>
        {
            format!("{id}{open}{}{close}{classes}", quoted(caption))
        }
        (None, _) if vertex.attributes.is_empty() && vertex.shape.is_none() => {
            match classes.as_str() {
                "" => bare(id),
                classes => format!("{id}{classes}"),
            }
        }
        (Some(_) | None, _) => {
            let data = data(vertex);
            match id.ends_with(':') {
                true => format!("{id}@{{ {data} }}{classes}"),
                false => format!("{id}{classes}@{{ {data} }}"),
            }
        }
    }
}

/// What `@{…}` says of a vertex.
fn data(vertex: &Vertex) -> String {
    let mut parts = Vec::new();
    if let Some(shape) = vertex.shape {
        parts.push(format!("shape: {}", shape.name()));
    }
    if let Some(caption) = &vertex.caption {
        let text = encode_line(&caption.text);
        parts.push(match caption.markdown {
            true => format!("label: \"`{text}`\""),
            false => format!("label: \"{text}\""),
        });
    }
    if !vertex.attributes.is_empty() {
        parts.push(written(&vertex.attributes));
    }
    parts.join(", ")
}

fn groups(chart: &Flowchart, text: &mut String) {
    let mut members = vec![Vec::new(); chart.groups.len()];
    for vertex in &chart.vertices {
        if let Some(group) = vertex.group {
            members[group].push(vertex.id.as_str());
        }
    }
    // Groups come in the order in which they begin: one ends when the next is not inside it.
    let mut open: Vec<usize> = Vec::new();
    for (place, group) in chart.groups.iter().enumerate() {
        while open.last().copied() != group.parent && !open.is_empty() {
            open.pop();
            let _ = writeln!(text, "    end");
        }
        let _ = writeln!(text, "    subgraph{}", titled(group));
        if let Some(direction) = group.direction {
            let _ = writeln!(text, "    direction {}", word(direction));
        }
        for member in &members[place] {
            let _ = writeln!(text, "    {}", bare(member));
        }
        open.push(place);
    }
    for _ in open {
        let _ = writeln!(text, "    end");
    }
}

fn titled(group: &Group) -> String {
    match (&group.id, &group.title) {
        (None, None) => String::new(),
        (None, Some(title)) => format!(" {}", quoted(title)),
        (Some(id), None) => format!(" {id}"),
        (Some(id), Some(title)) => format!(" {id} [{}]", quoted(title)),
    }
}

fn drawn(chart: &Flowchart, link: &Link) -> String {
    let (from, to) = (&chart.vertices[link.from].id, &chart.vertices[link.to].id);
    let id = link
        .id
        .as_ref()
        .map_or(String::new(), |id| format!("{id}@"));
    let caption = match &link.caption {
        Some(caption) => format!("|{}|", quoted(caption)),
        None => String::new(),
    };
    format!("{from} {id}{}{caption} {to}", arrow(link))
}

fn arrow(link: &Link) -> String {
    let length = link.length.max(1) as usize;
    let tail = match link.tail {
        Head::None => "",
        Head::Arrow => "<",
        Head::Cross => "x",
        Head::Circle => "o",
    };
    let head = match link.head {
        Head::None => None,
        Head::Arrow => Some(">"),
        Head::Cross => Some("x"),
        Head::Circle => Some("o"),
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

fn decorated(decoration: &Decoration) -> String {
    match decoration {
        Decoration::ClassDef(text) => format!("classDef {text}"),
        Decoration::Class(text) => format!("class {text}"),
        Decoration::Style(text) => format!("style {text}"),
        Decoration::LinkStyle(text) => format!("linkStyle {text}"),
        Decoration::Click(text) => format!("click {text}"),
        Decoration::Link { id, attributes } => format!("{id}@{{ {attributes} }}"),
        Decoration::Title(text) => format!("accTitle: {text}"),
        Decoration::Description(text) => format!("accDescr: {text}"),
    }
}
