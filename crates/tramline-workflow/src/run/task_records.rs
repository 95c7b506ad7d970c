//! The layer, time and end of the latest visit of each node, and who intervened, kept as the run is folded.

use crate::failure::Failure;
use crate::ids::{NodeIx, Seq};
use tramline_expr::{Str, Value};

/// A record for each node of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskRecords {
    by_node: Vec<TaskRecord>,
    /// The number of layers that ended with a pause.
    pub(crate) passed_layers: u32,
    /// The pause that was answered with a rejection.
    pub(crate) rejected_at: Option<Seq>,
}

/// The latest visit of a node that has ended, and the start of the one that has not.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskRecord {
    started_ms: i64,
    started_layer: u32,
    /// How the latest visit ended.
    pub(crate) end: Option<TaskEnd>,
    /// The layer that it ran in, if the run pauses between layers.
    pub(crate) layer: u32,
    /// How long it took, in milliseconds.
    pub(crate) duration_ms: i64,
    /// The arguments that a person edited before approving, and the person's name.
    pub(crate) edit: Option<Box<(Value, Str)>>,
}

/// How a visit ended.
#[derive(Clone, Debug)]
pub(crate) enum TaskEnd {
    /// It succeeded; its output is the node's latest one.
    Succeeded,
    /// It failed.
    Failed(Box<Failure>),
}

impl TaskRecords {
    fn of(&mut self, node: NodeIx) -> &mut TaskRecord {
        let at = node.index();
        if self.by_node.len() <= at {
            self.by_node.resize(at + 1, TaskRecord::default());
        }
        &mut self.by_node[at]
    }

    /// The record of a node, if it was ever visited.
    pub(crate) fn get(&self, node: NodeIx) -> Option<&TaskRecord> {
        self.by_node.get(node.index())
    }

    /// A visit started.
    pub(crate) fn start(&mut self, node: NodeIx, at_ms: i64) {
        let layer = self.passed_layers;
        let record = self.of(node);
        (record.started_ms, record.started_layer) = (at_ms, layer);
    }

    /// The open visit ended.
    pub(crate) fn finish(&mut self, node: NodeIx, end: TaskEnd, at_ms: i64) {
        let record = self.of(node);
        record.end = Some(end);
        record.layer = record.started_layer;
        record.duration_ms = at_ms.saturating_sub(record.started_ms).max(0);
    }

    /// A person edited the arguments of a call.
    pub(crate) fn edit(&mut self, node: NodeIx, arguments: Value, by: Str) {
        self.of(node).edit = Some(Box::new((arguments, by)));
    }
}
