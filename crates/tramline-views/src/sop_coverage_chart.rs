//! Draws how sessions covered a procedure: its flowchart with counts and colours.

use std::collections::HashMap;
use tramline_expr::Str;
use tramline_sop::Procedure;
use tramline_sop::coverage::SopCoverage;
use tramline_syntax::mermaid::{
    self, ArrowHead, ChartLink, Diagram, Stroke, StyleStatement, Vertex,
};
use tramline_workflow::ids::NodeIx;

/// The flowchart with counts and colours, and with moves along no edge in red.
pub fn mermaid(coverage: &SopCoverage, procedure: &Procedure) -> Option<String> {
    let Diagram::Flowchart(mut chart) = mermaid::read(procedure.sop.chart.as_bytes()).ok()?;
    let at: HashMap<Str, usize> = chart
        .vertices
        .iter()
        .map(|it| it.id.clone())
        .zip(0..)
        .collect();
    for (place, node) in procedure.sop.nodes.iter().enumerate() {
        let Some(vertex) = at.get(&node.id) else {
            continue;
        };
        let (count, dropped) = (coverage.nodes[place], coverage.stopped[place]);
        let vertex: &mut Vertex = &mut chart.vertices[*vertex];
        let class = match (count, dropped) {
            (0, _) => "unseen",
            (_, 0) => "seen",
            _ => "dropped",
        };
        vertex.classes.push(class.into());
        let stopped = match dropped {
            0 => String::new(),
            dropped => format!(", {dropped} stopped"),
        };
        let mut caption = vertex.label.take().unwrap_or_default();
        let text = if caption.text.is_empty() {
            &vertex.id
        } else {
            &caption.text
        };
        caption.text = format!("{text}<br/>{count}{stopped}").into();
        vertex.label = Some(caption);
        vertex.shape = vertex.shape.or(Some(mermaid::NodeShape::RECTANGLE));
    }
    let first = chart.links.len();
    for ((from, to), count) in &coverage.off_edge_moves {
        let id = |node: &NodeIx| at.get(&procedure.sop.nodes[node.index()].id).copied();
        let (Some(from), Some(to)) = (from.as_ref().and_then(id), id(to)) else {
            continue;
        };
        chart.links.push(ChartLink {
            id: None,
            from,
            to,
            stroke: Stroke::Dotted,
            length: 1,
            tail: ArrowHead::None,
            head: ArrowHead::Cross,
            label: Some(mermaid::ChartLabel {
                text: count.to_string().into(),
                markdown: false,
            }),
            span: mermaid::ByteSpan::default(),
        });
    }
    for style in [
        "seen fill:#d5f5d5,stroke:#2a2",
        "dropped fill:#fe8,stroke:#a60",
        "unseen fill:#eee,stroke:#999",
    ] {
        chart.styles.push(StyleStatement::ClassDef(style.into()));
    }
    let off: Vec<String> = (first..chart.links.len())
        .map(|at| at.to_string())
        .collect();
    if !off.is_empty() {
        let style = format!("{} stroke:#c00", off.join(","));
        chart.styles.push(StyleStatement::LinkStyle(style.into()));
    }
    Some(mermaid::print(&Diagram::Flowchart(chart)))
}
