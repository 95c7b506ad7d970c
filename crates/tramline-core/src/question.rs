//! What a run asks, told: for people as words, for programs as data, everywhere the same.

use crate::authority::{BudgetSource, approval_source};
use crate::graph::Graph;
use crate::ids::{Checkpoint, RunId, Seq};
use crate::journal::Entry;
use crate::journal::{Budget, Pause};
use crate::run::Run;
use tramline_expr::{Map, Value};

mod call;
mod change;
mod context;
mod lines;
mod planned;

pub use call::{Extent, annotated, at, bounded, fixed_fields, is_editable};
pub use change::FileChange;
pub use lines::lines;
pub use planned::planned;

/// A question in a sentence.
pub fn says(graph: &Graph, pause: &Pause) -> String {
    let id = pause.node().map_or("", |node| graph.node(node).id.as_str());
    match pause {
        Pause::Layer { index } => format!("layer {index} is done; the next one waits"),
        Pause::Approval { reason, .. } => format!("{id} waits for approval: {reason}"),
        Pause::InDoubt { .. } => {
            format!(
                "{id} was called, and how that ended is not known: the process or the connection \
                 was lost, or no answer came; did it happen?"
            )
        }
        Pause::Break { reason, .. } => format!("halted before {id} ({reason})"),
        Pause::Effect { .. } => {
            format!("{id} would make a call again that was made before; may it?")
        }
        Pause::Child { run, .. } => format!("{id} waits for {run}, which waits for an answer"),
        Pause::Budget {
            what, used, limit, ..
        } => {
            let unit = what.unit();
            format!("the budget of {limit} {unit} is spent ({used} used); extend it to go on")
        }
    }
}

/// The answers that a question takes, as users say them.
pub fn options(pause: &Pause) -> &'static [&'static str] {
    match pause {
        Pause::Layer { .. } | Pause::Approval { .. } => &["proceed", "reject"],
        Pause::Break { .. } | Pause::Effect { .. } => &["proceed", "skip", "reject"],
        Pause::InDoubt { .. } | Pause::Child { .. } => &["retry", "skip", "reject"],
        Pause::Budget { .. } => &["extend", "reject"],
    }
}

/// As much again of what is spent: what a plain yes to a question about the budget means.
pub fn extension(pause: &Pause) -> Option<Budget> {
    match pause {
        Pause::Budget {
            what, used, limit, ..
        } => Some(Budget::of(*what, (*used).max(*limit).max(1))),
        Pause::Layer { .. }
        | Pause::Approval { .. }
        | Pause::InDoubt { .. }
        | Pause::Break { .. }
        | Pause::Effect { .. }
        | Pause::Child { .. } => None,
    }
}

/// A question as data: `checkpoint_id`, `kind`, `message`, `options`, and what it is about.
pub fn value(graph: &Graph, run: &RunId, seq: Seq, pause: &Pause) -> Value {
    let point = Checkpoint {
        run: run.clone(),
        seq,
    };
    let mut told = Map::new();
    told.insert("checkpoint_id", point.to_string().into());
    told.insert("kind", pause.kind().into());
    if let Some(node) = pause.node() {
        told.insert("node", graph.node(node).id.clone().into());
    }
    match pause {
        Pause::Layer { index } => told.insert("layer_index", (*index).into()),
        Pause::Approval { reason, .. } => {
            let source = approval_source(graph, pause);
            told.insert("source", source.word().into());
            told.insert("reason", reason.clone().into())
        }
        Pause::Break { reason, .. } => told.insert("reason", reason.clone().into()),
        Pause::InDoubt { step, .. } => told.insert("step", (*step).into()),
        Pause::Effect { .. } => None,
        Pause::Child { run, .. } => told.insert("run_id", run.as_str().into()),
        Pause::Budget {
            what,
            used,
            limit,
            source,
        } => {
            let source = source.map_or("operator", BudgetSource::word);
            told.insert("source", source.into());
            told.insert("spent", what.field().into());
            told.insert("used", (*used).into());
            told.insert("limit", (*limit).into())
        }
    };
    told.insert("message", says(graph, pause).into());
    let options = options(pause).iter().map(|option| Value::from(*option));
    told.insert("options", Value::array(options));
    if let Some(call) = call(pause, Extent::Bounded) {
        told.insert("call", call);
    }
    told.into()
}

/// The call that a question is about, as data; nothing if it is about none.
pub fn call(pause: &Pause, extent: Extent) -> Option<Value> {
    let proposed = pause.call()?;
    Some(call::value(pause, proposed, extent))
}

/// A question with everything that its journal knows about it: also who wants the run, and what was
/// done so far.
pub fn detailed(run: &Run, entries: &[Entry], seq: Seq, pause: &Pause, extent: Extent) -> Value {
    let mut told = match value(&run.graph, &run.id, seq, pause) {
        Value::Object(map) => (*map).clone(),
        other => return other,
    };
    if let Some(call) = call(pause, extent) {
        told.insert("call", call);
    }
    told.insert("requested", context::requested(run));
    told.insert("done", context::done(run, entries));
    told.into()
}
