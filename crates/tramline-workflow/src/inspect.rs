//! Evaluates expressions over a run from outside, with its complete history.
//!
//! A driven run keeps only the outputs that its own expressions can use. An inspector may need any
//! of them, so it folds the journal again and keeps them all.

use crate::graph::{Graph, Problem};
use crate::ids::{NodeIx, RunId};
use crate::journal::Entry;
use crate::journal::InvalidEvent;
use crate::run::Run;
use crate::scope::{EvalMoment, RunView};
use std::cell::Cell;
use std::sync::Arc;
use tramline_expr::{Host, Value};

/// A run with every output it produced.
pub struct RunInspector(Run);

impl RunInspector {
    /// Folds the journal up to some event.
    pub fn at(id: RunId, entries: &[Entry]) -> Result<Self, InvalidEvent> {
        let whole = |workflow| -> Result<Arc<Graph>, Vec<Problem>> {
            let (mut graph, _) = Graph::build(workflow)?;
            graph.retention.all = true;
            Ok(Arc::new(graph))
        };
        let run = Run::fold(id, entries.iter().cloned(), |started| {
            whole(Arc::clone(&started.workflow))
        })?;
        Ok(Self(run))
    }

    /// The run.
    pub fn run(&self) -> &Run {
        &self.0
    }

    /// The data that expressions are evaluated over.
    pub fn scope(&self) -> &Value {
        self.0.outputs()
    }

    /// The history functions as seen by a node that is about to be entered.
    pub fn host_at(&self, node: NodeIx, moment: EvalMoment) -> impl Host + '_ {
        let ready = self.0.flow.ready.iter().find(|token| token.node == node);
        RunView {
            run: &self.0,
            from: ready.map_or_else(|| self.0.seen_from(), |token| token.from),
            moment,
            draws: Cell::new(0),
        }
    }

    /// The history functions as seen by the node at which the run stopped or that it would enter
    /// next.
    pub fn host(&self, moment: EvalMoment) -> impl Host + '_ {
        RunView {
            run: &self.0,
            from: self.0.seen_from(),
            moment,
            draws: Cell::new(0),
        }
    }
}
