//! Coverage of a procedure by many sessions: nodes and edges taken, where sessions stopped, and a
//! chart of it.

use super::Procedure;
use super::audit::SopAudit;
use crate::formats::mermaid::{
    self, ArrowHead, ChartLink, Diagram, Stroke, StyleStatement, Vertex,
};
use crate::ids::NodeIx;
use crate::journal::SopPosition;
use std::collections::{BTreeMap, HashMap};
use tramline_expr::Str;

/// How sessions covered a procedure.
#[derive(Clone, Debug, Default)]
pub struct SopCoverage {
    /// The number of sessions.
    pub sessions: usize,
    /// How often each node was entered, in node order.
    pub nodes: Vec<u64>,
    /// How often each edge was taken, in edge order.
    pub edges: Vec<u64>,
    /// How many sessions stopped at each node without it being an end.
    pub stopped: Vec<u64>,
    /// Moves along no edge (from, to), with their counts.
    pub off_edge_moves: BTreeMap<(Option<NodeIx>, NodeIx), u64>,
}

impl SopCoverage {
    /// Empty coverage of a procedure.
    pub fn new(procedure: &Procedure) -> Self {
        Self {
            nodes: vec![0; procedure.sop.nodes.len()],
            stopped: vec![0; procedure.sop.nodes.len()],
            edges: vec![0; procedure.sop.edges.len()],
            ..Self::default()
        }
    }

    /// Adds one session's coverage of the procedure with this index.
    pub fn add(&mut self, procedure: &Procedure, number: usize, audit: &SopAudit) {
        let is_here = |at: &SopPosition| at.sop as usize == number;
        let taken = audit.moves_taken.iter().filter(|(_, to, _)| is_here(to));
        let mut taken = taken.peekable();
        // Not every session enters a nested procedure.
        self.sessions += usize::from(number == 0 || taken.peek().is_some());
        let edges = &procedure.sop.edges;
        for (from, to, legal) in taken {
            let (from, to) = (from.map(|at| at.node), &to.node);
            if let Some(count) = self.nodes.get_mut(to.index()) {
                *count += 1;
            }
            let edge =
                from.and_then(|from| edges.iter().position(|it| (it.from, it.to) == (from, *to)));
            match edge {
                Some(edge) => self.edges[edge] += 1,
                // Moves to a hub or the entry need no edge.
                None if *legal => {}
                None => *self.off_edge_moves.entry((from, *to)).or_default() += 1,
            }
        }
        if let (Some(last), false) = (audit.last_position.filter(is_here), audit.reached_end)
            && let Some(count) = self.stopped.get_mut(last.node.index())
        {
            *count += 1;
        }
    }

    /// The number of nodes and edges taken at least once.
    pub fn covered(&self) -> (usize, usize) {
        let taken = |counts: &[u64]| counts.iter().filter(|count| **count > 0).count();
        (taken(&self.nodes), taken(&self.edges))
    }

    /// The flowchart with counts and colours, and with moves along no edge in red.
    pub fn mermaid(&self, procedure: &Procedure) -> Option<String> {
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
            let (count, dropped) = (self.nodes[place], self.stopped[place]);
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
        for ((from, to), count) in &self.off_edge_moves {
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
}
