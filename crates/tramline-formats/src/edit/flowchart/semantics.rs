//! Compares flowcharts independently of order and spacing.

use std::collections::BTreeMap;
use tramline_syntax::mermaid::{ChartLabel, ChartLink, Flowchart, NodeShape, Vertex};

/// A flowchart in canonical order.
#[derive(Debug, PartialEq)]
pub(super) struct ChartSemantics {
    /// Vertices by id.
    pub(super) vertices: BTreeMap<String, VertexSemantics>,
    /// Links, sorted.
    links: Vec<String>,
    /// Everything else, in debug format.
    rest: String,
}

/// A vertex.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct VertexSemantics {
    pub(super) shape: Option<NodeShape>,
    pub(super) caption: Option<ChartLabel>,
    rest: String,
}

impl VertexSemantics {
    fn of(vertex: &Vertex) -> Self {
        Self {
            shape: vertex.shape,
            caption: vertex.label.clone(),
            rest: format!(
                "{:?}",
                (&vertex.classes, &vertex.attributes, vertex.subgraph)
            ),
        }
    }

    /// A new vertex.
    pub(super) fn new(shape: NodeShape, text: &str) -> Self {
        let caption = ChartLabel {
            text: text.into(),
            markdown: false,
        };
        let vertex = Vertex {
            shape: Some(shape),
            label: Some(caption),
            ..Vertex::default()
        };
        Self::of(&vertex)
    }
}

/// The canonical form of a link, between the given vertices.
pub(super) fn link_signature(link: &ChartLink, from: &str, to: &str) -> String {
    let looks = (&link.id, link.stroke, link.length, link.tail, link.head);
    format!("{from} > {to} {looks:?} {:?}", link.label)
}

impl ChartSemantics {
    pub(super) fn of(chart: &Flowchart) -> Self {
        let id = |at: usize| chart.vertices[at].id.as_str();
        let vertices = chart.vertices.iter();
        let links = chart.links.iter();
        let links = links.map(|it| link_signature(it, id(it.from), id(it.to)));
        Self {
            vertices: vertices
                .map(|it| (it.id.to_string(), VertexSemantics::of(it)))
                .collect(),
            links: Vec::new(),
            rest: format!(
                "{:?}",
                (&chart.direction, chart.subgraphs.len(), &chart.styles)
            ),
        }
        .with_links(links.collect())
    }

    /// The same chart with these links.
    pub(super) fn with_links(mut self, mut links: Vec<String>) -> Self {
        links.sort();
        self.links = links;
        self
    }

    /// The same chart with one more link.
    pub(super) fn with_link(mut self, link: String) -> Self {
        self.links.push(link);
        let links = std::mem::take(&mut self.links);
        self.with_links(links)
    }

    /// The same chart with one link replaced by two others.
    pub(super) fn with_link_split(mut self, link: &str, two: [String; 2]) -> Self {
        if let Some(at) = self.links.iter().position(|it| it == link) {
            self.links.remove(at);
        }
        two.into_iter().fold(self, Self::with_link)
    }
}
