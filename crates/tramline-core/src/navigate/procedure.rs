//! A procedure that was indexed and whose guards are compiled; all its conversations share it.

use super::demands::Dominators;
use super::guard::Guard;
use super::rules::Book;
use crate::formats::mermaid::Shape;
use crate::ids::NodeIx;
use crate::sop::{Edge, Node, Slot, Sop};
use std::collections::HashMap;
use std::sync::Arc;
use tramline_expr::Str;

/// An SOP ready to be walked.
#[derive(Debug)]
pub struct Procedure {
    /// What it was made of.
    pub sop: Arc<Sop>,
    index: HashMap<Str, NodeIx>,
    /// The edges out of each node, by their places.
    out: Vec<Vec<usize>>,
    guards: Vec<Option<Guard>>,
    /// The nodes that list each tool.
    at_tool: HashMap<Str, Vec<NodeIx>>,
    slots: HashMap<Str, Slot>,
    /// Which nodes lie on every path to each node.
    pub(super) dominators: Dominators,
    rules: Book,
}

impl Procedure {
    /// Indexes an SOP and compiles its guards. Only a guard can be wrong: the reader saw to the rest.
    pub fn build(sop: Arc<Sop>) -> Result<Self, String> {
        if sop.entry.at() >= sop.nodes.len() {
            return Err("the procedure has no entry".to_owned());
        }
        for (at, edge) in sop.edges.iter().enumerate() {
            let ends = [edge.from, edge.to];
            if ends.iter().any(|end| end.at() >= sop.nodes.len()) {
                return Err(format!("edge {at} leads out of the procedure"));
            }
        }
        let index = sop.nodes.iter().map(|it| it.id.clone());
        let index = index.zip((0..).map(NodeIx)).collect();
        let mut made = Self {
            index,
            out: vec![Vec::new(); sop.nodes.len()],
            guards: Vec::with_capacity(sop.edges.len()),
            at_tool: HashMap::new(),
            slots: HashMap::new(),
            dominators: Dominators::of(&sop),
            rules: Book::compile(&sop)?,
            sop: Arc::clone(&sop),
        };
        for (at, edge) in sop.edges.iter().enumerate() {
            made.out[edge.from.at()].push(at);
            made.guards
                .push(edge.guard.as_ref().map(Guard::compile).transpose()?);
        }
        for (at, node) in sop.nodes.iter().enumerate() {
            for tool in &node.tools {
                let nodes = made.at_tool.entry(tool.clone()).or_default();
                nodes.push(NodeIx(at as u32));
            }
            for slot in &node.slots {
                made.slots
                    .entry(slot.name.clone())
                    .or_insert_with(|| slot.clone());
            }
        }
        Ok(made)
    }

    pub(super) fn rules(&self) -> &Book {
        &self.rules
    }

    /// The node with this id.
    pub fn find(&self, id: &str) -> Option<NodeIx> {
        self.index.get(id).copied()
    }

    /// A node.
    pub fn node(&self, at: NodeIx) -> &Node {
        &self.sop.nodes[at.at()]
    }

    /// The ids of all nodes.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.sop.nodes.iter().map(|it| it.id.as_str())
    }

    /// The edges out of a node.
    pub fn out(&self, at: NodeIx) -> impl ExactSizeIterator<Item = &Edge> {
        self.out[at.at()].iter().map(|edge| &self.sop.edges[*edge])
    }

    /// The edges out of a node with their guards.
    pub(super) fn guarded(&self, at: NodeIx) -> impl Iterator<Item = (&Edge, Option<&Guard>)> {
        let edges = self.out[at.at()].iter();
        edges.map(|edge| (&self.sop.edges[*edge], self.guards[*edge].as_ref()))
    }

    /// The edge between two nodes.
    pub fn way(&self, from: NodeIx, to: NodeIx) -> Option<&Edge> {
        self.out(from).find(|edge| edge.to == to)
    }

    /// Whether a node may be gone to from anywhere.
    pub fn is_anywhere(&self, at: NodeIx) -> bool {
        self.sop.entry == at || self.node(at).hub
    }

    /// Whether a procedure ends at a node: nothing leads on, or it is drawn so.
    pub fn is_terminal(&self, at: NodeIx) -> bool {
        let round = self.node(at).shape == Shape::STADIUM.word();
        self.out[at.at()].is_empty() || (round && self.sop.entry != at)
    }

    /// Whether a node is drawn as a decision.
    pub fn is_decision(&self, at: NodeIx) -> bool {
        self.node(at).shape == Shape::RHOMBUS.word()
    }

    /// The slot of this name, wherever it is collected.
    pub fn slot(&self, name: &str) -> Option<&Slot> {
        self.slots.get(name)
    }

    /// The names of all slots.
    pub fn slot_names(&self) -> impl Iterator<Item = &str> {
        self.slots.keys().map(Str::as_str)
    }

    /// The nodes that list a tool by its whole name.
    pub(super) fn nodes_with_exactly(&self, tool: &str) -> Vec<NodeIx> {
        self.at_tool.get(tool).cloned().unwrap_or_default()
    }

    /// The nodes that list a tool, by its whole name or without its server.
    pub fn nodes_with(&self, tool: &str) -> Vec<NodeIx> {
        let short = tool.rsplit_once(':').map_or(tool, |(_, short)| short);
        let mut found = self.at_tool.get(tool).cloned().unwrap_or_default();
        if short != tool {
            found.extend(self.at_tool.get(short).into_iter().flatten());
            found.sort_unstable();
            found.dedup();
        }
        found
    }
}
