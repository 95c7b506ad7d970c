//! Patches: what a replan adds to a graph. They only add, so every step taken stays true.

use super::{Graph, Problem};
use crate::workflow::{Edge, Node, Workflow};
use serde::{Deserialize, Serialize};

/// Nodes and edges to be added.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Patch {
    /// The nodes to add.
    #[serde(default)]
    pub nodes: Vec<Node>,
    /// The edges to add, between new nodes or from old ones to new ones.
    #[serde(default)]
    pub edges: Vec<Edge>,
}

impl Patch {
    /// The graph with the patch in it, if that is a sound graph.
    pub fn apply(&self, graph: &Graph) -> Result<Graph, Vec<Problem>> {
        let mut workflow = Workflow::clone(&graph.workflow);
        workflow.nodes.extend(self.nodes.iter().cloned());
        workflow.edges.extend(self.edges.iter().cloned());
        let (mut grown, _) = Graph::build(workflow)?;
        grown.memory.all |= graph.memory.all;
        Ok(grown)
    }
}
