//! The layout for pages that draw nodes and labels themselves: they send sizes, and get positions.
//!
//! It is the layout of the SVG files, drawn top down or left to right.

use super::layout::{self, EdgeSpace, LayoutInput, NodeSpace, edge_path};
use super::{PlacedBox, Point};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The longest side of a node or label, in pixels; larger ones are not text.
const SIDE_PX_MAX: f64 = 4_000.0;
/// The share of a node's side at which edges may end: corners are round or slanted.
const ROOM_SHARE: f64 = 0.7;
/// How far inside its box an edge from a node to itself starts, in pixels.
const INSET_PX: f64 = 2.0;

/// The direction in which edges lead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum FlowDirection {
    /// Top down.
    #[default]
    #[serde(rename = "TB")]
    Down,
    /// Left to right.
    #[serde(rename = "LR")]
    Across,
}

/// A graph to lay out.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutRequest {
    /// The direction.
    #[serde(default)]
    pub direction: FlowDirection,
    /// The nodes.
    pub nodes: Vec<SizedNode>,
    /// The edges; those to unknown nodes are omitted.
    pub edges: Vec<SizedEdge>,
}

/// A node with the size in which the page draws it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizedNode {
    /// Its id.
    pub id: String,
    /// Its width in pixels.
    pub width: f64,
    /// Its height in pixels.
    pub height: f64,
    /// Whether it is where the graph starts: cycles are broken as seen from there.
    #[serde(default)]
    pub start: bool,
}

/// An edge.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizedEdge {
    /// Its id.
    pub id: String,
    /// The source node.
    pub from: String,
    /// The target node.
    pub to: String,
    /// The size of its label, if it has one.
    pub label: Option<LabelSize>,
}

/// The size of a label in pixels.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelSize {
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
}

/// Where everything is drawn, in pixels from the upper left corner.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PageLayout {
    /// The width of the diagram.
    pub width: f64,
    /// The height of the diagram.
    pub height: f64,
    /// The nodes by id.
    pub nodes: HashMap<String, PageBox>,
    /// The edges by id.
    pub edges: HashMap<String, PageEdge>,
}

/// The box of a node, by its upper left corner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PageBox {
    /// The distance from the left.
    pub x: f64,
    /// The distance from the top.
    pub y: f64,
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
}

/// The course of an edge.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PageEdge {
    /// Its curve as SVG path data.
    pub path: String,
    /// The centre of its label, or its middle.
    pub label: [f64; 2],
}

impl PageLayout {
    /// Computes the layout.
    ///
    /// # Errors
    ///
    /// Says which size is out of range, which id occurs twice, or that there are too many nodes.
    pub fn of(request: &LayoutRequest) -> Result<Self, String> {
        let is_across = request.direction == FlowDirection::Across;
        let turn = |(width, height): (f64, f64)| match is_across {
            true => (height, width),
            false => (width, height),
        };
        let mut places = HashMap::with_capacity(request.nodes.len());
        let mut input = LayoutInput {
            is_earliest: true,
            ..LayoutInput::default()
        };
        for (at, node) in request.nodes.iter().enumerate() {
            check_size(&node.id, node.width, node.height)?;
            if places.insert(node.id.as_str(), at).is_some() {
                return Err(format!("two nodes have the id `{}`", node.id));
            }
            let (width, height) = turn((node.width, node.height));
            input.nodes.push(NodeSpace {
                width,
                height,
                room: width * ROOM_SHARE,
                is_diamond: false,
                inset: INSET_PX,
                is_start: node.start,
            });
        }
        let mut drawn = Vec::with_capacity(request.edges.len());
        for edge in &request.edges {
            let (Some(&from), Some(&to)) =
                (places.get(edge.from.as_str()), places.get(edge.to.as_str()))
            else {
                continue;
            };
            if let Some(label) = edge.label {
                check_size(&edge.id, label.width, label.height)?;
            }
            let label = edge.label.map(|label| turn((label.width, label.height)));
            input.edges.push(EdgeSpace { from, to, label });
            drawn.push(edge);
        }
        let placed = layout::place(&input).map_err(|large| large.to_string())?;
        let (width, height) = turn((placed.width, placed.height));
        let boxes = request.nodes.iter().zip(&placed.nodes);
        let ways = drawn.iter().zip(&placed.edges);
        Ok(Self {
            width,
            height,
            nodes: boxes
                .map(|(node, one)| (node.id.clone(), page_box(one, is_across)))
                .collect(),
            edges: ways
                .map(|(edge, way)| {
                    let path = edge_path(&way.points, edge.from == edge.to, 0.0, is_across);
                    let label = way
                        .label
                        .map_or_else(|| middle(&way.points), |label| label.middle);
                    let (x, y) = turn((label.x, label.y));
                    (
                        edge.id.clone(),
                        PageEdge {
                            path,
                            label: [rounded(x), rounded(y)],
                        },
                    )
                })
                .collect(),
        })
    }
}

fn check_size(id: &str, width: f64, height: f64) -> Result<(), String> {
    let fits = |side: f64| (0.0..=SIDE_PX_MAX).contains(&side);
    match fits(width) && fits(height) {
        true => Ok(()),
        false => Err(format!(
            "the size of `{id}` is not between 0 and {SIDE_PX_MAX} pixels"
        )),
    }
}

fn page_box(one: &PlacedBox, is_across: bool) -> PageBox {
    let (x, y) = (
        one.middle.x - one.width / 2.0,
        one.middle.y - one.height / 2.0,
    );
    let ((x, y), (width, height)) = match is_across {
        true => ((y, x), (one.height, one.width)),
        false => ((x, y), (one.width, one.height)),
    };
    PageBox {
        x: rounded(x),
        y: rounded(y),
        width,
        height,
    }
}

/// The middle of an edge without a label.
fn middle(points: &[Point]) -> Point {
    let (Some(&before), Some(&after)) = (
        points.get(points.len().saturating_sub(1) / 2),
        points.get(points.len() / 2),
    ) else {
        return Point::default();
    };
    Point {
        x: (before.x + after.x) / 2.0,
        y: (before.y + after.y) / 2.0,
    }
}

/// Tenths of a pixel are enough.
fn rounded(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(direction: FlowDirection, edges: &[(&str, &str, Option<f64>)]) -> LayoutRequest {
        let mut ids: Vec<_> = edges
            .iter()
            .flat_map(|(from, to, _)| [*from, *to])
            .collect();
        ids.sort_unstable();
        ids.dedup();
        let node = |id: &str| SizedNode {
            id: id.to_owned(),
            width: 200.0,
            height: 60.0,
            start: id == "a",
        };
        let edge = |(at, (from, to, label)): (usize, &(&str, &str, Option<f64>))| SizedEdge {
            id: format!("e{at}"),
            from: (*from).to_owned(),
            to: (*to).to_owned(),
            label: label.map(|width| LabelSize {
                width,
                height: 18.0,
            }),
        };
        LayoutRequest {
            direction,
            nodes: ids.into_iter().map(node).collect(),
            edges: edges.iter().enumerate().map(edge).collect(),
        }
    }

    #[test]
    fn both_directions_have_the_same_ranks() {
        let edges = [
            ("a", "b", None),
            ("a", "c", Some(90.0)),
            ("b", "d", None),
            ("c", "d", None),
            ("d", "b", None),
        ];
        let down = PageLayout::of(&request(FlowDirection::Down, &edges)).unwrap();
        let across = PageLayout::of(&request(FlowDirection::Across, &edges)).unwrap();
        for (before, after) in [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")] {
            assert!(down.nodes[before].y + 60.0 < down.nodes[after].y);
            assert!(across.nodes[before].x + 200.0 < across.nodes[after].x);
        }
        assert_eq!(down.nodes["b"].y, down.nodes["c"].y);
        assert_eq!(across.nodes["b"].x, across.nodes["c"].x);
        // The labelled edge leaves room for its label.
        let gap = across.nodes["c"].x - across.nodes["a"].x - 200.0;
        assert!(gap > 90.0, "{gap}");
    }

    #[test]
    fn sources_are_in_the_first_layer() {
        let edges = [("a", "b", None), ("b", "c", None), ("s", "c", None)];
        let placed = PageLayout::of(&request(FlowDirection::Down, &edges)).unwrap();
        assert_eq!(placed.nodes["s"].y, placed.nodes["a"].y);
    }

    #[test]
    fn edges_start_and_end_at_their_nodes() {
        let edges = [("a", "b", None), ("b", "b", Some(40.0)), ("b", "c", None)];
        for direction in [FlowDirection::Down, FlowDirection::Across] {
            let placed = PageLayout::of(&request(direction, &edges)).unwrap();
            for (at, (from, _, _)) in edges.iter().enumerate() {
                let path = &placed.edges[&format!("e{at}")].path;
                let first: Vec<f64> = path[1..]
                    .split(['C', 'L'])
                    .next()
                    .unwrap()
                    .split(' ')
                    .map(|number| number.parse().unwrap())
                    .collect();
                let node = placed.nodes[*from];
                assert!(
                    first[0] >= node.x - 0.1 && first[0] <= node.x + node.width + 0.1,
                    "{path}"
                );
                assert!(
                    first[1] >= node.y - 0.1 && first[1] <= node.y + node.height + 0.1,
                    "{path}"
                );
            }
        }
    }

    #[test]
    fn sizes_and_ids_are_checked() {
        let mut bad = request(FlowDirection::Down, &[("a", "b", None)]);
        bad.nodes[0].width = f64::NAN;
        assert!(PageLayout::of(&bad).unwrap_err().contains("`a`"));
        let mut twice = request(FlowDirection::Down, &[("a", "b", None)]);
        twice.nodes[1].id = "a".to_owned();
        assert!(PageLayout::of(&twice).unwrap_err().contains("two nodes"));
        let mut lost = request(FlowDirection::Down, &[("a", "b", None)]);
        lost.edges[0].to = "nowhere".to_owned();
        assert!(PageLayout::of(&lost).unwrap().edges.is_empty());
    }
}
