//! What many conversations made of a procedure: nodes and edges taken, where they left it, drawn.

use super::Procedure;
use super::audit::Audit;
use crate::formats::mermaid::{self, Decoration, Diagram, Head, Link, Stroke, Vertex};
use crate::ids::NodeIx;
use crate::journal::Stand;
use std::collections::{BTreeMap, HashMap};
use tramline_expr::Str;

/// What conversations took of a procedure.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// How many conversations there are.
    pub conversations: usize,
    /// How often each node was entered, in the order of nodes.
    pub nodes: Vec<u64>,
    /// How often each edge was taken, in the order of edges.
    pub edges: Vec<u64>,
    /// How many conversations stopped at each node without it being an end.
    pub dropped: Vec<u64>,
    /// Moves along no edge, with how often: from, to.
    pub off: BTreeMap<(Option<NodeIx>, NodeIx), u64>,
}

impl Coverage {
    /// Nothing taken of a procedure.
    pub fn new(procedure: &Procedure) -> Self {
        Self {
            nodes: vec![0; procedure.sop.nodes.len()],
            dropped: vec![0; procedure.sop.nodes.len()],
            edges: vec![0; procedure.sop.edges.len()],
            ..Self::default()
        }
    }

    /// Adds what one conversation took of the procedure with this number.
    pub fn add(&mut self, procedure: &Procedure, number: usize, audit: &Audit) {
        let is_here = |at: &Stand| at.sop as usize == number;
        let taken = audit.taken.iter().filter(|(_, to, _)| is_here(to));
        let mut taken = taken.peekable();
        // Not every conversation comes into a procedure inside another.
        self.conversations += usize::from(number == 0 || taken.peek().is_some());
        let edges = &procedure.sop.edges;
        for (from, to, legal) in taken {
            let (from, to) = (from.map(|at| at.node), &to.node);
            if let Some(count) = self.nodes.get_mut(to.at()) {
                *count += 1;
            }
            let edge =
                from.and_then(|from| edges.iter().position(|it| (it.from, it.to) == (from, *to)));
            match edge {
                Some(edge) => self.edges[edge] += 1,
                // To a hub or the entry no edge is needed.
                None if *legal => {}
                None => *self.off.entry((from, *to)).or_default() += 1,
            }
        }
        if let (Some(last), false) = (audit.last.filter(is_here), audit.ended)
            && let Some(count) = self.dropped.get_mut(last.node.at())
        {
            *count += 1;
        }
    }

    /// How many nodes and edges were taken at least once.
    pub fn covered(&self) -> (usize, usize) {
        let taken = |counts: &[u64]| counts.iter().filter(|count| **count > 0).count();
        (taken(&self.nodes), taken(&self.edges))
    }

    /// The flowchart with counts, colours, and the moves along no edge in red.
    pub fn picture(&self, procedure: &Procedure) -> Option<String> {
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
            let (count, dropped) = (self.nodes[place], self.dropped[place]);
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
            let mut caption = vertex.caption.take().unwrap_or_default();
            let text = if caption.text.is_empty() {
                &vertex.id
            } else {
                &caption.text
            };
            caption.text = format!("{text}<br/>{count}{stopped}").into();
            vertex.caption = Some(caption);
            vertex.shape = vertex.shape.or(Some(mermaid::Shape::RECTANGLE));
        }
        let first = chart.links.len();
        for ((from, to), count) in &self.off {
            let id = |node: &NodeIx| at.get(&procedure.sop.nodes[node.at()].id).copied();
            let (Some(from), Some(to)) = (from.as_ref().and_then(id), id(to)) else {
                continue;
            };
            chart.links.push(Link {
                id: None,
                from,
                to,
                stroke: Stroke::Dotted,
                length: 1,
                tail: Head::None,
                head: Head::Cross,
                caption: Some(mermaid::Caption {
                    text: count.to_string().into(),
                    markdown: false,
                }),
                spot: mermaid::Spot::default(),
            });
        }
        for style in [
            "seen fill:#d5f5d5,stroke:#2a2",
            "dropped fill:#fe8,stroke:#a60",
            "unseen fill:#eee,stroke:#999",
        ] {
            chart.decorations.push(Decoration::ClassDef(style.into()));
        }
        let off: Vec<String> = (first..chart.links.len())
            .map(|at| at.to_string())
            .collect();
        if !off.is_empty() {
            let style = format!("{} stroke:#c00", off.join(","));
            chart.decorations.push(Decoration::LinkStyle(style.into()));
        }
        Some(mermaid::print(&Diagram::Flowchart(chart)))
    }
}
