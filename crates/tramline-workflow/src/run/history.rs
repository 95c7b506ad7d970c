//! The visits of a run: counts and latest outputs always, older outputs only if expressions use
//! them.

use crate::ids::NodeIx;
use tramline_expr::Value;

/// The visits of a run in the order they finished. No operation scans them.
#[derive(Clone, Debug, Default)]
pub(crate) struct VisitHistory {
    visits: Vec<FinishedVisit>,
    by_node: Vec<NodeVisits>,
}

#[derive(Clone, Debug)]
struct FinishedVisit {
    node: NodeIx,
    /// `None` once another visit followed and no expression looks back that far.
    output: Option<Value>,
}

#[derive(Clone, Debug, Default)]
struct NodeVisits {
    count: u64,
    latest: Option<u32>,
    /// The positions of all visits, kept only for nodes that expressions look back to.
    places: Vec<u32>,
}

impl VisitHistory {
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            visits: Vec::new(),
            by_node: vec![NodeVisits::default(); nodes],
        }
    }

    pub(crate) fn grow(&mut self, nodes: usize) {
        self.by_node.resize(nodes, NodeVisits::default());
    }

    /// Adds a visit and returns its position.
    pub(crate) fn add(&mut self, node: NodeIx, output: Value, keep: bool) -> u32 {
        let place = self.visits.len() as u32;
        let past = &mut self.by_node[node.index()];
        if keep {
            past.places.push(place);
        } else if let Some(before) = past.latest {
            self.visits[before as usize].output = None;
        }
        past.count += 1;
        past.latest = Some(place);
        self.visits.push(FinishedVisit {
            node,
            output: Some(output),
        });
        place
    }

    /// The position of the last finished visit.
    pub(crate) fn last(&self) -> Option<u32> {
        (self.visits.len() as u32).checked_sub(1)
    }

    /// How often the node was visited.
    pub(crate) fn count(&self, node: Option<NodeIx>) -> u64 {
        node.map_or(0, |node| self.by_node[node.index()].count)
    }

    /// The output `back` visits before a token that came from `from` (1 is that visit itself).
    pub(crate) fn before(&self, from: Option<u32>, back: u64) -> Option<Value> {
        let place = u64::from(from?).checked_sub(back - 1)?;
        let visit = self.visits.get(place as usize)?;
        // The visit was superseded before its token was used: the node's latest output replaces it.
        visit.output.clone().or_else(|| self.latest(visit.node))
    }

    fn latest(&self, node: NodeIx) -> Option<Value> {
        self.visits
            .get(self.by_node[node.index()].latest? as usize)?
            .output
            .clone()
    }

    /// The output of the node's visit at `index`; a negative index counts from the end.
    pub(crate) fn nth(&self, node: Option<NodeIx>, index: i64) -> Option<Value> {
        let past = &self.by_node[node?.index()];
        let at = if index < 0 {
            past.places.len() as i64 + index
        } else {
            index
        };
        let place = *past.places.get(usize::try_from(at).ok()?)?;
        self.visits[place as usize].output.clone()
    }

    /// All outputs of a node, oldest first.
    pub(crate) fn all(&self, node: Option<NodeIx>) -> Vec<Value> {
        let places = node.map_or(&[][..], |node| &self.by_node[node.index()].places);
        places
            .iter()
            .filter_map(|&at| self.visits[at as usize].output.clone())
            .collect()
    }
}
