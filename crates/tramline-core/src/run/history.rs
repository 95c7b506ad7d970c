//! What a run remembers of its visits: counts and latest outputs always, older ones when asked.

use crate::ids::NodeIx;
use tramline_expr::Value;

/// The visits of a run in the order they finished. Nothing here scans.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    visits: Vec<Visit>,
    by_node: Vec<Past>,
}

#[derive(Clone, Debug)]
struct Visit {
    node: NodeIx,
    /// Absent once another visit followed and no expression looks back that far.
    output: Option<Value>,
}

#[derive(Clone, Debug, Default)]
struct Past {
    count: u64,
    latest: Option<u32>,
    /// The places of all visits, kept only for nodes that expressions look back to.
    places: Vec<u32>,
}

impl History {
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            visits: Vec::new(),
            by_node: vec![Past::default(); nodes],
        }
    }

    pub(crate) fn grow(&mut self, nodes: usize) {
        self.by_node.resize(nodes, Past::default());
    }

    /// Adds a visit and gives its place.
    pub(crate) fn add(&mut self, node: NodeIx, output: Value, keep: bool) -> u32 {
        let place = self.visits.len() as u32;
        let past = &mut self.by_node[node.at()];
        if keep {
            past.places.push(place);
        } else if let Some(before) = past.latest {
            self.visits[before as usize].output = None;
        }
        past.count += 1;
        past.latest = Some(place);
        self.visits.push(Visit {
            node,
            output: Some(output),
        });
        place
    }

    /// The place of the visit that ended last.
    pub(crate) fn last(&self) -> Option<u32> {
        (self.visits.len() as u32).checked_sub(1)
    }

    /// How often the node was visited.
    pub(crate) fn count(&self, node: Option<NodeIx>) -> u64 {
        node.map_or(0, |node| self.by_node[node.at()].count)
    }

    /// The output of the visit `back` visits before a token that came from `from` (1: that one).
    pub(crate) fn before(&self, from: Option<u32>, back: u64) -> Option<Value> {
        let place = u64::from(from?).checked_sub(back - 1)?;
        let visit = self.visits.get(place as usize)?;
        // A visit that was overtaken before its token was used: its node's latest stands for it.
        visit.output.clone().or_else(|| self.latest(visit.node))
    }

    fn latest(&self, node: NodeIx) -> Option<Value> {
        self.visits
            .get(self.by_node[node.at()].latest? as usize)?
            .output
            .clone()
    }

    /// The output of the node's visit at `index`; negative counts from the end.
    pub(crate) fn nth(&self, node: Option<NodeIx>, index: i64) -> Option<Value> {
        let past = &self.by_node[node?.at()];
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
        let places = node.map_or(&[][..], |node| &self.by_node[node.at()].places);
        places
            .iter()
            .filter_map(|&at| self.visits[at as usize].output.clone())
            .collect()
    }
}
