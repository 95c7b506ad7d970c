//! Warnings about the procedure as a whole.

use super::{ChartNodes, SopReader};
use std::collections::HashSet;
use tramline_syntax::mermaid::{ByteSpan, Flowchart};
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::sop::{DECISION_SHAPE, END_SHAPE};
use tramline_workflow::sop::{Sop, SopNode};

impl SopReader<'_> {
    pub(super) fn warn_about_chart(&mut self, chart: &Flowchart, drawn: &ChartNodes, sop: &Sop) {
        self.warn_relabelled(chart);
        let mut ways = vec![Vec::new(); sop.nodes.len()];
        for (at, edge) in sop.edges.iter().enumerate() {
            ways[edge.from.index()].push(at);
        }
        self.warn_unreachable(drawn, sop, &ways);
        let has_prompts = sop.nodes.iter().any(|node| node.prompt.is_some());
        for (at, node) in sop.nodes.iter().enumerate() {
            let (spot, out) = (drawn.spans[at], ways[at].as_slice());
            let is_entry = sop.entry.index() == at;
            let is_round = node.shape == END_SHAPE;
            let is_decision = node.shape == DECISION_SHAPE;
            if is_decision {
                self.warn_about_decision(chart, drawn, sop, node, spot, out);
            }
            if is_round && !is_entry && !out.is_empty() {
                let message = format!("`{}` is drawn as an end but has outgoing edges", node.id);
                let hint = "draw it as a rectangle, or remove its outgoing edges";
                self.warn(FlawCode::EndWithEdges, spot, message, hint);
            }
            if out.is_empty() && !is_round && !is_decision {
                let message = format!(
                    "`{}` has no outgoing edges and is not drawn as an end",
                    node.id
                );
                let hint = "draw it as `([text])`, or add an edge from it";
                self.warn(FlawCode::UnmarkedEnd, spot, message, hint);
            }
            let acts = !is_decision && !is_round && !is_entry && node.procedure.is_none();
            if has_prompts && acts && !node.section {
                let message = format!("`{}` has no instructions, unlike other nodes", node.id);
                self.warn(
                    FlawCode::MissingInstructions,
                    spot,
                    message,
                    "add a section for it",
                );
            }
        }
    }

    pub(super) fn warn(&mut self, code: FlawCode, spot: ByteSpan, message: String, hint: &str) {
        // A flaw beyond the limit is dropped, so it needs no location.
        if !self.flaws.is_full() {
            let place = self.lines.source_span(spot.start..spot.end);
            self.flaws.add(code, place, message, hint);
        }
    }

    /// Warns about vertices that are drawn twice with different texts.
    fn warn_relabelled(&mut self, chart: &Flowchart) {
        for vertex in &chart.vertices {
            if let Some(spot) = vertex.second_label.0 {
                let message = format!("`{}` is drawn twice with different texts", vertex.id);
                self.warn(
                    FlawCode::Duplicate,
                    spot,
                    message,
                    "give one of the two another id",
                );
            }
        }
    }

    fn warn_about_decision(
        &mut self,
        chart: &Flowchart,
        drawn: &ChartNodes,
        sop: &Sop,
        node: &SopNode,
        spot: ByteSpan,
        out: &[usize],
    ) {
        if out.len() < 2 {
            let count = if out.is_empty() {
                "no outgoing edge"
            } else {
                "only one outgoing edge"
            };
            let message = format!("the decision `{}` has {count}", node.id);
            self.warn(
                FlawCode::AmbiguousDecision,
                spot,
                message,
                "add the other edges, or make it a rectangle",
            );
            return;
        }
        let labels = out
            .iter()
            .filter_map(|way| sop.edges[*way].condition.as_deref());
        let opposite = labels
            .filter_map(opposite_label)
            .next()
            .filter(|_| out.len() == 2);
        let mut seen = HashSet::new();
        for way in out {
            let link = drawn.link(chart, *way);
            let message = match &sop.edges[*way].condition {
                None => format!("an edge from the decision `{}` has no label", node.id),
                Some(text) if !seen.insert(text) => {
                    format!(
                        "two edges from the decision `{}` have the same label",
                        node.id
                    )
                }
                Some(_) => continue,
            };
            let is_plain = self.text.get(link.span.start..link.span.end) == Some("-->");
            let hint = match opposite.filter(|_| is_plain) {
                Some(label) => format!("write `-->|{label}|`"),
                None => "add a label that says when it applies: `-->|text|`".to_owned(),
            };
            self.warn(FlawCode::AmbiguousDecision, link.span, message, &hint);
        }
    }

    fn warn_unreachable(&mut self, drawn: &ChartNodes, sop: &Sop, ways: &[Vec<usize>]) {
        let mut reached = vec![false; sop.nodes.len()];
        let hubs = (0..sop.nodes.len()).filter(|at| sop.nodes[*at].hub);
        let mut open: Vec<usize> = hubs.chain([sop.entry.index()]).collect();
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut reached[at], true) {
                open.extend(ways[at].iter().map(|way| sop.edges[*way].to.index()));
            }
        }
        for (at, node) in sop.nodes.iter().enumerate() {
            if !reached[at] {
                let message = format!("`{}` cannot be reached", node.id);
                let hint = "add an edge to it, or make it a hub";
                self.warn(FlawCode::Unreachable, drawn.spans[at], message, hint);
            }
        }
    }
}

/// The label of the other edge of a decision with two.
fn opposite_label(label: &str) -> Option<&'static str> {
    const PAIRS: [(&str, &str); 10] = [
        ("yes", "no"),
        ("Yes", "No"),
        ("YES", "NO"),
        ("true", "false"),
        ("True", "False"),
        ("ok", "error"),
        ("success", "failure"),
        ("valid", "invalid"),
        ("found", "not found"),
        ("approved", "rejected"),
    ];
    PAIRS.iter().find_map(|(one, other)| match label {
        _ if label == *one => Some(*other),
        _ if label == *other => Some(*one),
        _ => None,
    })
}
