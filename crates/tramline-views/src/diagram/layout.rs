//! Layered layout of a diagram: ranks from top to bottom, few crossings, curved edges.
//!
//! The four phases of a Sugiyama layout, one per file: ranks, order within a rank, coordinates,
//! edge routing.

use super::WorkflowDiagram;
use std::fmt;

mod crossings;
mod edge_path;
mod edge_routing;
mod positions;
mod ranks;
mod sizes;

pub(super) use edge_path::{edge_path, is_down};
pub(super) use sizes::{DETAIL_SIZE, LABEL_SIZE, LINE_HEIGHT, TITLE_SIZE, node_lines};

/// Nodes in a rendered diagram; larger ones are unreadable.
const NODES_MAX: usize = 5_000;
/// Edges in a rendered diagram; larger ones are unreadable.
const LINKS_MAX: usize = 20_000;
/// The margin around the diagram, in pixels.
const MARGIN: f64 = 24.0;

/// A point in a diagram, in pixels from the upper left corner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// The distance from the left.
    pub x: f64,
    /// The distance from the top.
    pub y: f64,
}

/// The position and size of a node or label.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlacedBox {
    /// The centre.
    pub middle: Point,
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
}

/// The route of an edge through these points; it is vertical at each of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoutedEdge {
    /// From the source node to the target node.
    pub points: Vec<Point>,
    /// The position and size of its label.
    pub label: Option<PlacedBox>,
}

/// The layout of a diagram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiagramLayout {
    /// The width of the diagram.
    pub width: f64,
    /// The height of the diagram.
    pub height: f64,
    /// The nodes, in diagram order.
    pub nodes: Vec<PlacedBox>,
    /// The edges, in diagram order.
    pub edges: Vec<RoutedEdge>,
}

/// The error for a diagram that is too large to render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiagramTooLarge {
    nodes: usize,
    links: usize,
}

impl fmt::Display for DiagramTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} nodes and {} edges exceed the limits of {NODES_MAX} and {LINKS_MAX} for rendering; \
             use --mermaid or --dot, which have no limit",
            self.nodes, self.links
        )
    }
}

impl std::error::Error for DiagramTooLarge {}

/// What is laid out: sizes and connections, but no text.
#[derive(Clone, Debug, Default)]
pub(super) struct LayoutInput {
    pub(super) nodes: Vec<NodeSpace>,
    pub(super) edges: Vec<EdgeSpace>,
    /// Whether each node is as high up as its inputs allow, so that ranks are layers; otherwise
    /// nodes without inputs are close to their successors.
    pub(super) is_earliest: bool,
}

/// The space that a node takes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NodeSpace {
    pub(super) width: f64,
    pub(super) height: f64,
    /// The length of its upper and lower border at which edges may end.
    pub(super) room: f64,
    /// Whether the borders slope down from the middle.
    pub(super) is_diamond: bool,
    /// How far inside its box an edge to itself starts.
    pub(super) inset: f64,
    /// Whether cycles are broken as seen from here.
    pub(super) is_start: bool,
}

/// An edge and the space that its label takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct EdgeSpace {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: Option<(f64, f64)>,
}

/// Computes the layout.
pub fn layout(picture: &WorkflowDiagram) -> Result<DiagramLayout, DiagramTooLarge> {
    place(&sizes::spaces(picture))
}

/// Computes the layout of nodes and edges whose sizes are known.
pub(super) fn place(picture: &LayoutInput) -> Result<DiagramLayout, DiagramTooLarge> {
    let (nodes, links) = (picture.nodes.len(), picture.edges.len());
    if nodes > NODES_MAX || links > LINKS_MAX {
        return Err(DiagramTooLarge { nodes, links });
    }
    let mut layered = ranks::assign_ranks(picture);
    crossings::reduce_crossings(&mut layered);
    let placed = positions::assign_positions(&layered);
    Ok(edge_routing::route_edges(picture, &layered, &placed))
}
