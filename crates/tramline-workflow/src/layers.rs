//! The layers of an acyclic graph: which nodes can run together, and how many layers there are.

use crate::graph::Graph;
use crate::ids::NodeIx;
use crate::workflow::Action;

/// The layer of each node: the length of the longest path to it from a start node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    of: Vec<u32>,
    count: u32,
}

impl Layers {
    /// The layers of a graph. `None` if it has a cycle, because its layers are only known at run
    /// time.
    ///
    /// The entry is not a layer of its own: the nodes after it are in the first layer, as in a
    /// layered run.
    pub fn of(graph: &Graph) -> Option<Self> {
        let nodes = || (0..graph.len() as u32).map(NodeIx);
        let mut missing = vec![0u32; graph.len()];
        for out in nodes().flat_map(|at| graph.out_edges(at)) {
            missing[out.to.index()] += 1;
        }
        let mut of = vec![0u32; graph.len()];
        let mut ready: Vec<NodeIx> = nodes().filter(|at| missing[at.index()] == 0).collect();
        let (mut done, mut count) = (0, 0);
        while let Some(at) = ready.pop() {
            done += 1;
            let is_entry = graph.node(at).action == Action::Entry;
            let after = of[at.index()] + u32::from(!is_entry);
            count = count.max(after);
            for out in graph.out_edges(at) {
                let to = out.to.index();
                of[to] = of[to].max(after);
                missing[to] -= 1;
                if missing[to] == 0 {
                    ready.push(out.to);
                }
            }
        }
        (done == graph.len()).then_some(Self { of, count })
    }

    /// The layer of a node, from 0.
    pub fn layer(&self, node: NodeIx) -> u32 {
        self.of.get(node.index()).copied().unwrap_or_default()
    }

    /// The number of layers.
    pub fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::{Edge, Node, UnhandledFailure, Workflow};
    use std::time::{Duration, Instant};
    use tramline_expr::Value;

    fn graph(nodes: &[(&str, bool)], edges: &[(&str, &str)]) -> Graph {
        let node = |(id, entry): &(&str, bool)| {
            let action = match entry {
                true => Action::Entry,
                false => Action::Compute {
                    expression: "1".into(),
                },
            };
            Node::new(*id, action)
        };
        let workflow = Workflow {
            name: "w".into(),
            nodes: nodes.iter().map(node).collect(),
            edges: edges
                .iter()
                .map(|(from, to)| Edge::new(*from, *to))
                .collect(),
            unhandled: UnhandledFailure::SkipsDependents,
            input_schema: Some(Value::Bool(true)),
            ..Workflow::default()
        };
        Graph::build(workflow).unwrap().0
    }

    #[test]
    fn a_layer_is_the_longest_way_and_the_entry_is_none() {
        let all = [("e", true), ("a", false), ("b", false), ("c", false)];
        let edges = [("e", "a"), ("e", "b"), ("a", "c"), ("b", "c"), ("a", "b")];
        let graph = graph(&all, &edges);
        let layers = Layers::of(&graph).unwrap();
        let of = |id| layers.layer(graph.find(id).unwrap());
        assert_eq!([of("e"), of("a"), of("b"), of("c")], [0, 0, 1, 2]);
        assert_eq!(layers.count(), 3);
    }

    #[test]
    fn a_cycle_has_no_layers() {
        let all = [("e", true), ("a", false), ("b", false)];
        let graph = graph(&all, &[("e", "a"), ("a", "b"), ("b", "a")]);
        assert_eq!(Layers::of(&graph), None);
    }

    #[test]
    fn ten_thousand_nodes_take_milliseconds() {
        let names: Vec<String> = (0..10_000).map(|at| format!("n{at}")).collect();
        let nodes: Vec<_> = names.iter().map(|name| (name.as_str(), false)).collect();
        let from = |at: usize, back: usize| (nodes[at - back].0, nodes[at].0);
        let edges: Vec<_> = (3..10_000)
            .flat_map(|at| [from(at, 1), from(at, 3)])
            .collect();
        let graph = graph(&nodes, &edges);
        let begun = Instant::now();
        let layers = Layers::of(&graph).unwrap();
        assert!(
            begun.elapsed() < Duration::from_millis(500),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(layers.count(), 9_998);
    }
}
