//! Renders a diagram as self-contained SVG with light and dark styles.

use super::layout::{
    DETAIL_SIZE, LABEL_SIZE, LINE_HEIGHT, PlacedBox, Point, RoutedEdge, TITLE_SIZE, edge_path,
    is_down, node_lines,
};
use super::{DiagramEdge, DiagramLayout, DiagramNode, WorkflowDiagram};
use std::fmt::Write;
use tramline_workflow::node_kind::NodeShape;

const STYLE: &str = "\
.page{fill:#fff}\
.node path{fill:#f8fafc;stroke:#64748b;stroke-width:1.4}\
.entry path,.exit path{fill:#ecfdf5;stroke:#059669}\
.exit .ring{fill:none;stroke-width:1}\
.compute path{fill:#f5f3ff;stroke:#7c3aed}\
.choose path{fill:#fffbeb;stroke:#d97706}\
.call path{fill:#eff6ff;stroke:#2563eb}\
text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;\
text-anchor:middle;fill:#0f172a}\
.title{font-weight:600}.detail{fill:#475569}.notes{fill:#9a3412}\
.way{fill:none;stroke:#64748b;stroke-width:1.4}.head{fill:#64748b}\
.failure.way{stroke:#dc2626;stroke-dasharray:5 4}.failure.head{fill:#dc2626}\
.plate{fill:#fff}.label{fill:#334155}.failure.label{fill:#b91c1c}\
@media (prefers-color-scheme:dark){\
.page,.plate{fill:#0f172a}\
.node path{fill:#1e293b;stroke:#94a3b8}\
.entry path,.exit path{fill:#06281f;stroke:#34d399}\
.exit .ring{fill:none}\
.compute path{fill:#221a3d;stroke:#a78bfa}\
.choose path{fill:#2e2008;stroke:#fbbf24}\
.call path{fill:#13233f;stroke:#60a5fa}\
text{fill:#f1f5f9}.detail{fill:#cbd5e1}.notes{fill:#fdba74}\
.way{stroke:#94a3b8}.head{fill:#94a3b8}\
.failure.way{stroke:#f87171}.failure.head{fill:#f87171}\
.label{fill:#e2e8f0}.failure.label{fill:#fca5a5}}";

/// The diagram as SVG text.
pub fn svg(picture: &WorkflowDiagram, layout: &DiagramLayout) -> String {
    let (width, height) = (layout.width.ceil(), layout.height.ceil());
    let name = escape(&picture.name);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{name}\">\n\
         <title>{name}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n"
    );
    for (link, way) in picture.edges.iter().zip(&layout.edges) {
        draw_edge(&mut text, link, way);
    }
    for (shape, placed) in picture.nodes.iter().zip(&layout.nodes) {
        draw_node(&mut text, shape, placed);
    }
    // Labels come last, so that no edge is drawn over them.
    for (link, way) in picture.edges.iter().zip(&layout.edges) {
        draw_label(&mut text, link, way);
    }
    text.push_str("</svg>\n");
    text
}

fn draw_edge(text: &mut String, link: &DiagramEdge, way: &RoutedEdge) {
    let class = if link.is_failure { " failure" } else { "" };
    let Some(&last) = way.points.last() else {
        return;
    };
    let sideways = link.from == link.to;
    // The line ends inside the arrow head, whose tip touches the node.
    const HEAD: f64 = 7.0;
    let down = is_down(&way.points);
    let line = edge_path(&way.points, sideways, HEAD, false);
    let _ = writeln!(text, "<path class=\"way{class}\" d=\"{line}\"/>");
    let (x, y) = (last.x, last.y);
    let head = if sideways {
        format!("M{x:.1} {y:.1}l8.5 -4.5v9z")
    } else {
        format!("M{x:.1} {y:.1}l-4.5 {0:.1}h9z", -down * 8.5)
    };
    let _ = writeln!(text, "<path class=\"head{class}\" d=\"{head}\"/>");
}

fn draw_node(text: &mut String, shape: &DiagramNode, placed: &PlacedBox) {
    let _ = write!(
        text,
        "<g class=\"node {}\" data-id=\"{}\"><title>{}</title>",
        shape.kind.name,
        escape(&shape.id),
        escape(&tooltip(shape))
    );
    let _ = write!(
        text,
        "<path d=\"{}\"/>",
        outline(shape.kind.shape, placed, 0.0)
    );
    if shape.kind.shape == NodeShape::End {
        let ring = outline(shape.kind.shape, placed, 3.5);
        let _ = write!(text, "<path class=\"ring\" d=\"{ring}\"/>");
    }
    let lines = node_lines(shape);
    let top = placed.middle.y - lines.len() as f64 * LINE_HEIGHT / 2.0;
    for (at, (line, size)) in lines.iter().enumerate() {
        let class = match at {
            0 => "title",
            1 if shape.detail.is_some() => "detail",
            _ => "notes",
        };
        let size = if at == 0 {
            TITLE_SIZE
        } else {
            size.min(DETAIL_SIZE)
        };
        let y = top + (at as f64 + 0.5) * LINE_HEIGHT + size * 0.35;
        let _ = write!(
            text,
            "<text class=\"{class}\" font-size=\"{size}\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            placed.middle.x,
            escape(line)
        );
    }
    text.push_str("</g>\n");
}

fn tooltip(shape: &DiagramNode) -> String {
    let mut parts = vec![shape.id.clone()];
    parts.extend(shape.detail.clone());
    parts.extend(shape.notes.iter().cloned());
    parts.join("\n")
}

/// The outline of a node, inset by this many pixels.
fn outline(shape: NodeShape, placed: &PlacedBox, inside: f64) -> String {
    let PlacedBox {
        middle: Point { x, y },
        width,
        height,
    } = *placed;
    let (w, h) = (width / 2.0 - inside, height / 2.0 - inside);
    match shape {
        NodeShape::Box => rounded(x, y, w, h, 5.0),
        NodeShape::Start | NodeShape::End => rounded(x, y, w, h, h),
        NodeShape::Slanted => {
            let slant = 14.0;
            let (l, r, t, b) = (x - w, x + w, y - h, y + h);
            format!(
                "M{:.1} {t:.1}L{r:.1} {t:.1}L{:.1} {b:.1}L{l:.1} {b:.1}z",
                l + slant,
                r - slant
            )
        }
        NodeShape::Hexagon => {
            let slant = 14.0;
            let (l, r, t, b) = (x - w, x + w, y - h, y + h);
            let (inner, outer) = (l + slant, r - slant);
            format!(
                "M{inner:.1} {t:.1}L{outer:.1} {t:.1}L{r:.1} {y:.1}L{outer:.1} {b:.1}L{inner:.1} {b:.1}L{l:.1} {y:.1}z"
            )
        }
        NodeShape::Diamond => format!(
            "M{x:.1} {:.1}L{:.1} {y:.1}L{x:.1} {:.1}L{:.1} {y:.1}z",
            y - h,
            x + w,
            y + h,
            x - w
        ),
    }
}

fn rounded(x: f64, y: f64, w: f64, h: f64, radius: f64) -> String {
    let r = radius.min(h).min(w);
    let (across, down) = (2.0 * (w - r), 2.0 * (h - r));
    format!(
        "M{:.1} {:.1}h{across:.1}a{r:.1} {r:.1} 0 0 1 {r:.1} {r:.1}v{down:.1}\
         a{r:.1} {r:.1} 0 0 1 -{r:.1} {r:.1}h-{across:.1}a{r:.1} {r:.1} 0 0 1 -{r:.1} -{r:.1}\
         v-{down:.1}a{r:.1} {r:.1} 0 0 1 {r:.1} -{r:.1}z",
        x - w + r,
        y - h
    )
}

fn draw_label(text: &mut String, link: &DiagramEdge, way: &RoutedEdge) {
    let (Some(label), Some(placed)) = (&link.label, &way.label) else {
        return;
    };
    let PlacedBox {
        middle: Point { x, y },
        width,
        height,
    } = *placed;
    let class = if link.is_failure { " failure" } else { "" };
    let _ = writeln!(
        text,
        "<rect class=\"plate\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"3\"/>\
         <text class=\"label{class}\" font-size=\"{LABEL_SIZE}\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
        x - width / 2.0,
        y - height / 2.0,
        y + LABEL_SIZE * 0.35,
        escape(label)
    );
}

/// Escapes text for elements and attributes. XML cannot represent most control characters.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' => escaped.push('\n'),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
