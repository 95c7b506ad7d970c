//! What starting a session directly at a nested procedure would skip.

use super::SopSession;
use tramline_expr::Str;
use tramline_workflow::ids::NodeIx;
use tramline_workflow::journal::SopPosition;
use tramline_workflow::sop::SopNode;

/// Something that restricts a nested procedure where it is reached through the procedure around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkippedCondition {
    /// Nodes whose requirements come first.
    Demands(Vec<Str>),
    /// Guards decide whether this node, which enters the procedure, is reached.
    Guards(Str),
    /// This node, which enters the procedure, requires approval of each call.
    Approval(Str),
    /// The rules for calls of this procedure or node apply inside.
    Rules(Str),
    /// No path leads to the procedure.
    Unreachable,
}

impl SkippedCondition {
    /// The condition as the end of a sentence: "it is reached there after …".
    pub fn describe(&self) -> String {
        match self {
            Self::Demands(nodes) => format!("is reached there after {}", nodes.join(", ")),
            Self::Guards(node) => {
                format!("is reached there at {node}, if the guards before it allow that")
            }
            Self::Approval(node) => {
                format!("is entered there at {node}, where a person approves each call")
            }
            Self::Rules(place) => format!("is held there to the rules of {place}"),
            Self::Unreachable => "cannot be reached there".to_owned(),
        }
    }
}

impl SopSession {
    /// What a session would skip that starts at a nested procedure, given by its index; `None` if
    /// the procedure can also be reached from the entry without any condition.
    pub fn skipped_by_direct_start(&self, inner: u32) -> Option<SkippedCondition> {
        self.condition_of_entering(inner, &mut vec![inner])
    }

    /// The first condition of entering a nested procedure, if every way into it has one.
    fn condition_of_entering(&self, inner: u32, seen: &mut Vec<u32>) -> Option<SkippedCondition> {
        let mut first = None;
        for sop in 0..self.procedures.len() as u32 {
            let doors = self.positions(sop);
            let doors: Vec<SopPosition> = doors
                .filter(|at| self.nested_procedure(*at) == Some(inner))
                .collect();
            if doors.is_empty() || seen.contains(&sop) {
                continue;
            }
            let above = match sop {
                0 => None,
                sop => {
                    seen.push(sop);
                    let above = self.condition_of_entering(sop, seen);
                    seen.pop();
                    above
                }
            };
            let open = self.unguarded_positions(sop);
            for door in doors {
                let condition = above.clone().or_else(|| self.door_condition(door, &open));
                match condition {
                    None => return None,
                    Some(condition) => first = first.or(Some(condition)),
                }
            }
        }
        first.or(Some(SkippedCondition::Unreachable))
    }

    /// The condition that one procedure sets for a node which enters another.
    fn door_condition(&self, door: SopPosition, open: &[NodeIx]) -> Option<SkippedCondition> {
        let procedure = self.procedure(door.sop)?;
        let node = procedure.node(door.node);
        let unmet = self.unmet_demands_before(door);
        if !unmet.is_empty() {
            let nodes = unmet.into_iter().map(|it| it.node).collect();
            return Some(SkippedCondition::Demands(nodes));
        }
        if !procedure.sop.rules.is_empty() {
            return Some(SkippedCondition::Rules(procedure.sop.name.clone()));
        }
        if !node.rules.is_empty() {
            return Some(SkippedCondition::Rules(node.id.clone()));
        }
        if node.confirm {
            return Some(SkippedCondition::Approval(node.id.clone()));
        }
        let is_open = open.contains(&door.node);
        (!is_open).then(|| SkippedCondition::Guards(node.id.clone()))
    }

    /// The nodes of a procedure that can be reached from its entry or a hub without a guard.
    fn unguarded_positions(&self, sop: u32) -> Vec<NodeIx> {
        let Some(procedure) = self.procedure(sop) else {
            return Vec::new();
        };
        let nodes = self.positions(sop).map(|at| at.node);
        let starts = nodes.filter(|node| procedure.is_enterable_from_anywhere(*node));
        let mut open: Vec<NodeIx> = starts.collect();
        let mut found = open.clone();
        while let Some(at) = open.pop() {
            // A branch without a guard also depends on the guards of the others.
            let guarded = procedure.out_edges(at).any(|edge| edge.guard.is_some());
            let inside = self.nested_procedure(SopPosition { sop, node: at });
            if guarded || inside.is_some_and(|inside| self.has_guards(inside)) {
                continue;
            }
            for edge in procedure.out_edges(at) {
                if !found.contains(&edge.to) {
                    found.push(edge.to);
                    open.push(edge.to);
                }
            }
        }
        found
    }

    /// Whether a procedure, or one that it enters, has guards.
    fn has_guards(&self, sop: u32) -> bool {
        let (mut open, mut seen) = (vec![sop], vec![sop]);
        while let Some(sop) = open.pop() {
            let edges = self.procedure(sop).map(|it| it.sop.edges.iter());
            if edges.is_some_and(|mut edges| edges.any(|edge| edge.guard.is_some())) {
                return true;
            }
            for inside in self
                .positions(sop)
                .filter_map(|at| self.nested_procedure(at))
            {
                if !seen.contains(&inside) {
                    seen.push(inside);
                    open.push(inside);
                }
            }
        }
        false
    }

    /// Every node of a procedure.
    fn positions(&self, sop: u32) -> impl Iterator<Item = SopPosition> + use<> {
        let nodes: &[SopNode] = self.procedure(sop).map_or(&[], |it| &it.sop.nodes);
        (0..nodes.len() as u32).map(move |node| SopPosition {
            sop,
            node: NodeIx(node),
        })
    }
}
