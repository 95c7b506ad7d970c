//! A compiled procedure: indexed, with compiled guards and rules, and shared by all its sessions.

use super::demands::Dominators;
use super::guard::Guard;
use super::rules::CompiledRules;
use std::collections::HashMap;
use std::sync::Arc;
use tramline_expr::Str;
use tramline_workflow::ids::NodeIx;
use tramline_workflow::sop::{DECISION_SHAPE, END_SHAPE, Slot, Sop, SopEdge, SopNode};

/// An SOP that is ready to run.
#[derive(Debug)]
pub struct Procedure {
    /// The SOP it was built from.
    pub sop: Arc<Sop>,
    index: HashMap<Str, NodeIx>,
    /// The outgoing edges of each node, by index.
    out_edges: Vec<Vec<usize>>,
    guards: Vec<Option<Guard>>,
    /// The nodes that list each tool.
    nodes_by_tool: HashMap<Str, Vec<NodeIx>>,
    slots: HashMap<Str, Slot>,
    /// The nodes on every path to each node.
    pub(super) dominators: Dominators,
    rules: CompiledRules,
}

impl Procedure {
    /// Indexes an SOP and compiles its guards. The reader has validated everything else.
    pub fn build(sop: Arc<Sop>) -> Result<Self, String> {
        if sop.entry.index() >= sop.nodes.len() {
            return Err("the procedure has no entry".to_owned());
        }
        for (at, edge) in sop.edges.iter().enumerate() {
            let ends = [edge.from, edge.to];
            if ends.iter().any(|end| end.index() >= sop.nodes.len()) {
                return Err(format!("edge {at} refers to a node outside the procedure"));
            }
        }
        let index = sop.nodes.iter().map(|it| it.id.clone());
        let index = index.zip((0..).map(NodeIx)).collect();
        let mut made = Self {
            index,
            out_edges: vec![Vec::new(); sop.nodes.len()],
            guards: Vec::with_capacity(sop.edges.len()),
            nodes_by_tool: HashMap::new(),
            slots: HashMap::new(),
            dominators: Dominators::of(&sop),
            rules: CompiledRules::compile(&sop)?,
            sop: Arc::clone(&sop),
        };
        for (at, edge) in sop.edges.iter().enumerate() {
            made.out_edges[edge.from.index()].push(at);
            made.guards
                .push(edge.guard.as_ref().map(Guard::compile).transpose()?);
        }
        for (at, node) in sop.nodes.iter().enumerate() {
            for tool in &node.tools {
                let nodes = made.nodes_by_tool.entry(tool.clone()).or_default();
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

    pub(super) fn rules(&self) -> &CompiledRules {
        &self.rules
    }

    /// The node with this id.
    pub fn find(&self, id: &str) -> Option<NodeIx> {
        self.index.get(id).copied()
    }

    /// A node.
    pub fn node(&self, at: NodeIx) -> &SopNode {
        &self.sop.nodes[at.index()]
    }

    /// The ids of all nodes.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.sop.nodes.iter().map(|it| it.id.as_str())
    }

    /// The outgoing edges of a node.
    pub fn out_edges(&self, at: NodeIx) -> impl ExactSizeIterator<Item = &SopEdge> {
        self.out_edges[at.index()]
            .iter()
            .map(|edge| &self.sop.edges[*edge])
    }

    /// The outgoing edges of a node with their guards.
    pub(super) fn guarded_edges(
        &self,
        at: NodeIx,
    ) -> impl Iterator<Item = (&SopEdge, Option<&Guard>)> {
        let edges = self.out_edges[at.index()].iter();
        edges.map(|edge| (&self.sop.edges[*edge], self.guards[*edge].as_ref()))
    }

    /// The edge between two nodes.
    pub fn edge(&self, from: NodeIx, to: NodeIx) -> Option<&SopEdge> {
        self.out_edges(from).find(|edge| edge.to == to)
    }

    /// Whether a node may be entered from anywhere.
    pub fn is_enterable_from_anywhere(&self, at: NodeIx) -> bool {
        self.sop.entry == at || self.node(at).hub
    }

    /// Whether the procedure ends at a node: it has no outgoing edges, or it is drawn as an end.
    pub fn is_terminal(&self, at: NodeIx) -> bool {
        let round = self.node(at).shape == END_SHAPE;
        self.out_edges[at.index()].is_empty() || (round && self.sop.entry != at)
    }

    /// Whether a node is drawn as a decision.
    pub fn is_decision(&self, at: NodeIx) -> bool {
        self.node(at).shape == DECISION_SHAPE
    }

    /// The slot with this name, whichever node collects it.
    pub fn slot(&self, name: &str) -> Option<&Slot> {
        self.slots.get(name)
    }

    /// The names of all slots.
    pub fn slot_names(&self) -> impl Iterator<Item = &str> {
        self.slots.keys().map(Str::as_str)
    }

    /// The nodes that list a tool by its full name.
    pub(super) fn nodes_with_exactly(&self, tool: &str) -> Vec<NodeIx> {
        self.nodes_by_tool.get(tool).cloned().unwrap_or_default()
    }

    /// The nodes that list a tool, by its full name or without its server.
    pub fn nodes_with(&self, tool: &str) -> Vec<NodeIx> {
        let short = tool.rsplit_once(':').map_or(tool, |(_, short)| short);
        let mut found = self.nodes_by_tool.get(tool).cloned().unwrap_or_default();
        if short != tool {
            found.extend(self.nodes_by_tool.get(short).into_iter().flatten());
            found.sort_unstable();
            found.dedup();
        }
        found
    }
}
