//! What a drawing says, whatever order and spacing it is written in.

use crate::formats::mermaid::{Caption, Flowchart, Link, Shape, Vertex};
use std::collections::BTreeMap;

/// A drawing without its order.
#[derive(Debug, PartialEq)]
pub(super) struct Meaning {
    /// Vertices by their ids: the shape and the text, and the rest.
    pub(super) vertices: BTreeMap<String, Drawn>,
    /// Links, sorted.
    links: Vec<String>,
    /// Everything else, as it stands.
    rest: String,
}

/// A vertex.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Drawn {
    pub(super) shape: Option<Shape>,
    pub(super) caption: Option<Caption>,
    rest: String,
}

impl Drawn {
    fn of(vertex: &Vertex) -> Self {
        Self {
            shape: vertex.shape,
            caption: vertex.caption.clone(),
            rest: format!("{:?}", (&vertex.classes, &vertex.attributes, vertex.group)),
        }
    }

    /// A new vertex.
    pub(super) fn new(shape: Shape, text: &str) -> Self {
        let caption = Caption {
            text: text.into(),
            markdown: false,
        };
        let vertex = Vertex {
            shape: Some(shape),
            caption: Some(caption),
            ..Vertex::default()
        };
        Self::of(&vertex)
    }
}

/// A link between two others than it was drawn between.
pub(super) fn linked(link: &Link, from: &str, to: &str) -> String {
    let looks = (&link.id, link.stroke, link.length, link.tail, link.head);
    format!("{from} > {to} {looks:?} {:?}", link.caption)
}

impl Meaning {
    pub(super) fn of(chart: &Flowchart) -> Self {
        let id = |at: usize| chart.vertices[at].id.as_str();
        let vertices = chart.vertices.iter();
        let links = chart.links.iter();
        let links = links.map(|it| linked(it, id(it.from), id(it.to)));
        Self {
            vertices: vertices
                .map(|it| (it.id.to_string(), Drawn::of(it)))
                .collect(),
            links: Vec::new(),
            rest: format!(
                "{:?}",
                (&chart.direction, chart.groups.len(), &chart.decorations)
            ),
        }
        .with(links.collect())
    }

    /// The same with these links.
    pub(super) fn with(mut self, mut links: Vec<String>) -> Self {
        links.sort();
        self.links = links;
        self
    }

    /// The same with one more link.
    pub(super) fn and(mut self, link: String) -> Self {
        self.links.push(link);
        let links = std::mem::take(&mut self.links);
        self.with(links)
    }

    /// The same with one link drawn as two others.
    pub(super) fn instead(mut self, link: &str, two: [String; 2]) -> Self {
        if let Some(at) = self.links.iter().position(|it| it == link) {
            self.links.remove(at);
        }
        two.into_iter().fold(self, Self::and)
    }
}
