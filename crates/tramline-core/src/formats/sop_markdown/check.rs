//! What is odd about a procedure as a whole: told, and used all the same.

use super::{Drawn, Reader};
use crate::flaw::Code;
use crate::formats::mermaid::{Flowchart, Shape, Spot};
use crate::sop::{Node, Sop};
use std::collections::HashSet;

impl Reader<'_> {
    pub(super) fn check(&mut self, chart: &Flowchart, drawn: &Drawn, sop: &Sop) {
        self.redrawn(chart);
        let mut ways = vec![Vec::new(); sop.nodes.len()];
        for (at, edge) in sop.edges.iter().enumerate() {
            ways[edge.from.at()].push(at);
        }
        self.unreachable(drawn, sop, &ways);
        let has_prompts = sop.nodes.iter().any(|node| node.prompt.is_some());
        for (at, node) in sop.nodes.iter().enumerate() {
            let (spot, out) = (drawn.spots[at], ways[at].as_slice());
            let is_entry = sop.entry.at() == at;
            let is_round = node.shape == Shape::STADIUM.word();
            let is_decision = node.shape == Shape::RHOMBUS.word();
            if is_decision {
                self.decision(chart, drawn, sop, node, spot, out);
            }
            if is_round && !is_entry && !out.is_empty() {
                let message = format!("`{}` is drawn as an end and goes on", node.id);
                let hint = "draw it as a rectangle, or remove its ways out";
                self.odd(Code::GoesOn, spot, message, hint);
            }
            if out.is_empty() && !is_round && !is_decision {
                let message = format!("`{}` leads nowhere and is not drawn as an end", node.id);
                let hint = "draw it as `([text])`, or lead on from it";
                self.odd(Code::Abrupt, spot, message, hint);
            }
            let acts = !is_decision && !is_round && !is_entry && node.procedure.is_none();
            if has_prompts && acts && !node.section {
                let message = format!("`{}` has no instructions, other nodes have", node.id);
                self.odd(Code::Unprompted, spot, message, "add a section for it");
            }
        }
    }

    pub(super) fn odd(&mut self, code: Code, spot: Spot, message: String, hint: &str) {
        // One that is not kept needs no place.
        if !self.flaws.is_full() {
            let place = self.lines.place(spot.start..spot.end);
            self.flaws.add(code, place, message, hint);
        }
    }

    /// A vertex that is drawn twice with different texts could mean either.
    fn redrawn(&mut self, chart: &Flowchart) {
        for vertex in &chart.vertices {
            if let Some(spot) = vertex.redrawn.0 {
                let message = format!("`{}` is drawn twice with different texts", vertex.id);
                self.odd(
                    Code::Duplicate,
                    spot,
                    message,
                    "give one of the two another id",
                );
            }
        }
    }

    fn decision(
        &mut self,
        chart: &Flowchart,
        drawn: &Drawn,
        sop: &Sop,
        node: &Node,
        spot: Spot,
        out: &[usize],
    ) {
        if out.len() < 2 {
            let count = if out.is_empty() {
                "no way"
            } else {
                "only one way"
            };
            let message = format!("the decision `{}` has {count} out", node.id);
            self.odd(
                Code::Undecided,
                spot,
                message,
                "draw the other ways, or make it a rectangle",
            );
            return;
        }
        let mut seen = HashSet::new();
        for way in out {
            let link = drawn.link(chart, *way);
            let message = match &sop.edges[*way].condition {
                None => format!("a way out of the decision `{}` has no text", node.id),
                Some(text) if !seen.insert(text) => {
                    format!(
                        "two ways out of the decision `{}` have the same text",
                        node.id
                    )
                }
                Some(_) => continue,
            };
            self.odd(
                Code::Undecided,
                link.spot,
                message,
                "say when it is taken: `-->|text|`",
            );
        }
    }

    fn unreachable(&mut self, drawn: &Drawn, sop: &Sop, ways: &[Vec<usize>]) {
        let mut reached = vec![false; sop.nodes.len()];
        let hubs = (0..sop.nodes.len()).filter(|at| sop.nodes[*at].hub);
        let mut open: Vec<usize> = hubs.chain([sop.entry.at()]).collect();
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut reached[at], true) {
                open.extend(ways[at].iter().map(|way| sop.edges[*way].to.at()));
            }
        }
        for (at, node) in sop.nodes.iter().enumerate() {
            if !reached[at] {
                let message = format!("no way leads to `{}`", node.id);
                let hint = "lead to it, or make it a hub";
                self.odd(Code::Unreachable, drawn.spots[at], message, hint);
            }
        }
    }
}
