//! Estimates the sizes of nodes and labels without knowing the font.
//!
//! Text is rendered in a fixed-width font, whose characters are never wider than assumed here.

use super::{EdgeSpace, LayoutInput, NodeSpace};
use crate::diagram::{DiagramNode, WorkflowDiagram, truncate};
use tramline_workflow::node_kind::NodeShape;

/// The font size of a node's id, in pixels.
pub(in crate::diagram) const TITLE_SIZE: f64 = 13.0;
/// The font size of the lines below it, in pixels.
pub(in crate::diagram) const DETAIL_SIZE: f64 = 11.0;
/// The font size of edge labels, in pixels.
pub(in crate::diagram) const LABEL_SIZE: f64 = 11.0;
/// The height of a line of text, in pixels.
pub(in crate::diagram) const LINE_HEIGHT: f64 = 17.0;

/// The width of a character relative to its font size: 0.602 in most fixed-width fonts.
const LETTER: f64 = 0.62;
/// Characters of an id that are shown; longer ids do not fit a node.
const TITLE_CHARS_MAX: usize = 34;
/// The minimum width of a node, in pixels.
const WIDTH_MIN: f64 = 84.0;

/// The lines of text in a node, with their font sizes.
pub(in crate::diagram) fn node_lines(shape: &DiagramNode) -> Vec<(String, f64)> {
    let mut lines = vec![(truncate(&shape.id, TITLE_CHARS_MAX), TITLE_SIZE)];
    if let Some(detail) = &shape.detail {
        lines.push((detail.clone(), DETAIL_SIZE));
    }
    if !shape.notes.is_empty() {
        lines.push((shape.notes.join(" · "), DETAIL_SIZE));
    }
    lines
}

/// An upper bound for the width of a text.
fn text_width(text: &str, size: f64) -> f64 {
    let cells: usize = text.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum();
    cells as f64 * size * LETTER
}

/// Whether a character takes two cells: East Asian scripts and pictographs.
fn is_wide(c: char) -> bool {
    matches!(u32::from(c), 0x1100..=0x115f | 0x2600..=0x27bf | 0x2e80..=0xa4cf | 0xac00..=0xd7a3
        | 0xf900..=0xfaff | 0xfe30..=0xfe6f | 0xff00..=0xff60 | 0xffe0..=0xffe6
        | 0x1f000..=0x1faff | 0x20000..=0x3fffd)
}

/// The space that the nodes and labels of a diagram take.
pub(super) fn spaces(picture: &WorkflowDiagram) -> LayoutInput {
    let nodes = picture.nodes.iter().map(|shape| {
        let (width, height) = node_size(shape);
        let (room, inset) = match shape.kind.shape {
            NodeShape::Diamond => (width * 0.5, width / 4.0),
            NodeShape::Start | NodeShape::End => (width - height, 2.0),
            NodeShape::Box => (width - 24.0, 2.0),
            NodeShape::Slanted | NodeShape::Hexagon => (width - 48.0, 10.0),
        };
        NodeSpace {
            width,
            height,
            room,
            is_diamond: shape.kind.shape == NodeShape::Diamond,
            inset,
            is_start: shape.kind.shape == NodeShape::Start,
        }
    });
    let edges = picture.edges.iter().map(|link| EdgeSpace {
        from: link.from,
        to: link.to,
        label: link.label.as_deref().map(label_size),
    });
    LayoutInput {
        nodes: nodes.collect(),
        edges: edges.collect(),
        is_earliest: false,
    }
}

/// The width and height of a node.
fn node_size(shape: &DiagramNode) -> (f64, f64) {
    let lines = node_lines(shape);
    let widths = lines.iter().map(|(text, size)| text_width(text, *size));
    let width = widths.fold(0.0, f64::max);
    let height = lines.len() as f64 * LINE_HEIGHT;
    match shape.kind.shape {
        NodeShape::Box => ((width + 28.0).max(WIDTH_MIN), height + 16.0),
        // The slanted sides take space from the text.
        NodeShape::Slanted | NodeShape::Hexagon => ((width + 52.0).max(WIDTH_MIN), height + 16.0),
        NodeShape::Start | NodeShape::End => {
            ((width + height + 16.0).max(WIDTH_MIN), height + 14.0)
        }
        NodeShape::Diamond => {
            // A box fits into a rhombus if its relative width and height add up to at most one.
            let whole = height * 2.2 + 10.0;
            ((width / (1.0 - height / whole)).max(WIDTH_MIN) + 8.0, whole)
        }
    }
}

/// The width and height of a label.
fn label_size(text: &str) -> (f64, f64) {
    (text_width(text, LABEL_SIZE) + 8.0, LINE_HEIGHT)
}
