//! Looking at a run from outside: any expression over its scope, with all of its history.
//!
//! A run that is driven keeps only those outputs that its own expressions can ask for. Whoever
//! looks at it may ask for any, so a look folds the journal anew and keeps them all.

use crate::graph::{Graph, Problem};
use crate::ids::{NodeIx, RunId};
use crate::journal::Entry;
use crate::run::{Illegal, Run};
use crate::scope::{Moment, View};
use std::cell::Cell;
use std::sync::Arc;
use tramline_expr::{Host, Value};

/// A run with everything that it ever gave.
pub struct Look(Run);

impl Look {
    /// A look at a run as its journal up to some event tells it.
    pub fn at(id: RunId, entries: &[Entry]) -> Result<Self, Illegal> {
        let whole = |workflow| -> Result<Arc<Graph>, Vec<Problem>> {
            let (mut graph, _) = Graph::build(workflow)?;
            graph.memory.all = true;
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

    /// What expressions are evaluated over.
    pub fn scope(&self) -> &Value {
        self.0.outputs()
    }

    /// The history functions, as a node sees them that is about to be entered.
    pub(crate) fn host_at(&self, node: NodeIx, moment: Moment) -> impl Host + '_ {
        let ready = self.0.flow.ready.iter().find(|token| token.node == node);
        View {
            run: &self.0,
            from: ready.map_or_else(|| self.0.seen_from(), |token| token.from),
            moment,
            draws: Cell::new(0),
        }
    }

    /// The history functions, as the node sees them before which the run has halted or which it
    /// would enter next.
    pub fn host(&self, moment: Moment) -> impl Host + '_ {
        View {
            run: &self.0,
            from: self.0.seen_from(),
            moment,
            draws: Cell::new(0),
        }
    }
}
