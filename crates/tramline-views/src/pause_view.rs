//! Renders a pause: as text for people and as data for programs, the same everywhere.

use tramline_expr::{Map, Value};
use tramline_workflow::authority::{BudgetSource, approval_source};
use tramline_workflow::form::{FormQuestion, form_fields};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId, Seq};
use tramline_workflow::journal::Entry;
use tramline_workflow::journal::{Budget, Pause};
use tramline_workflow::run::Run;

mod call;
mod context;
mod file_change;
mod planned_call;
mod text_lines;

pub use call::{Extent, annotations_value, fixed_fields, is_editable, truncated, value_at};
pub use context::session_calls_value;
pub use file_change::FileChange;
pub use planned_call::planned_call_value;
pub use text_lines::detail_lines;

/// The pause as a sentence.
pub fn message(graph: &Graph, pause: &Pause) -> String {
    let id = pause.node().map_or("", |node| graph.node(node).id.as_str());
    match pause {
        Pause::Layer { index } => format!("layer {index} is finished; the next one is ready"),
        Pause::Approval { reason, .. } => format!("{id} waits for approval: {reason}"),
        Pause::InDoubt { .. } => {
            format!(
                "{id} was called, but its result is unknown: the process or the connection \
                 was lost, or no response arrived; did the call happen?"
            )
        }
        Pause::Break { reason, .. } => format!("paused before {id} ({reason})"),
        Pause::Effect { .. } => {
            format!("{id} is about to repeat a call that was already made; allow it?")
        }
        Pause::Form { form, .. } => format!("{id} asks: {}", form.message),
        Pause::Child { run, .. } => {
            format!("{id} waits for {run}, which is waiting for an answer; answer it there")
        }
        Pause::Budget {
            what, used, limit, ..
        } => {
            let unit = what.unit();
            format!(
                "the budget of {limit} {unit} is exhausted ({used} used); extend it to continue"
            )
        }
    }
}

/// The same amount again of the exhausted part: what a plain yes to a budget pause grants.
pub fn default_extension(pause: &Pause) -> Option<Budget> {
    match pause {
        Pause::Budget {
            what, used, limit, ..
        } => Some(Budget::of_part(*what, (*used).max(*limit).max(1))),
        Pause::Layer { .. }
        | Pause::Approval { .. }
        | Pause::InDoubt { .. }
        | Pause::Break { .. }
        | Pause::Effect { .. }
        | Pause::Form { .. }
        | Pause::Child { .. } => None,
    }
}

/// A pause as data: `checkpoint_id`, `kind`, `message`, `options`, and its details.
pub fn pause_value(graph: &Graph, run: &RunId, seq: Seq, pause: &Pause) -> Value {
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
            told.insert("source", source.as_str().into());
            told.insert("reason", reason.clone().into())
        }
        Pause::Break { reason, .. } => told.insert("reason", reason.clone().into()),
        Pause::InDoubt { step, .. } => told.insert("step", (*step).into()),
        Pause::Effect { .. } => None,
        Pause::Form { form, .. } => told.insert("form", form_value(form, Extent::Bounded)),
        Pause::Child { run, .. } => told.insert("run_id", run.as_str().into()),
        Pause::Budget {
            what,
            used,
            limit,
            source,
        } => {
            let source = source.map_or("operator", BudgetSource::as_str);
            told.insert("source", source.into());
            told.insert("spent", what.field().into());
            told.insert("used", (*used).into());
            told.insert("limit", (*limit).into())
        }
    };
    told.insert("message", message(graph, pause).into());
    let options = pause.options().iter().map(|option| Value::from(*option));
    told.insert("options", Value::array(options));
    if let Some(call) = call_value(pause, Extent::Bounded) {
        told.insert("call", call);
    }
    told.into()
}

/// The question of a form as data: `message`, `schema`, `fields` in the flat subset that every client
/// draws, `defaults`, `answered_by`, and `until_ms` if it times out. Lists have no `fields`.
fn form_value(form: &FormQuestion, extent: Extent) -> Value {
    let fields = form_fields(form).into_iter().map(|field| {
        Value::object([
            ("name", Value::from(field.name)),
            ("schema", field.schema),
            ("required", field.is_required.into()),
            ("json", field.is_json.into()),
        ])
    });
    let mut told = Map::new();
    told.insert("message", form.message.clone().into());
    told.insert("schema", form.schema.clone());
    if extent == Extent::Whole {
        told.insert("fields", Value::array(fields));
    }
    if !form.defaults.is_null() {
        told.insert("defaults", form.defaults.clone());
    }
    told.insert("answered_by", form.answered_by.as_str().into());
    if let Some(until_ms) = form.until_ms {
        told.insert("until_ms", until_ms.into());
    }
    told.into()
}

/// The call that a pause asks about, as data, if there is one.
pub fn call_value(pause: &Pause, extent: Extent) -> Option<Value> {
    let proposed = pause.call()?;
    Some(call::value(pause, proposed, extent))
}

/// A pause with everything the journal knows about it, including who requested the run and what it
/// has done.
pub fn detailed_value(
    run: &Run,
    entries: &[Entry],
    seq: Seq,
    pause: &Pause,
    extent: Extent,
) -> Value {
    let mut told = match pause_value(&run.graph, &run.id, seq, pause) {
        Value::Object(map) => (*map).clone(),
        other => return other,
    };
    if let Some(call) = call_value(pause, extent) {
        told.insert("call", call);
    }
    if let Some(form) = pause.form() {
        told.insert("form", form_value(form, Extent::Whole));
    }
    told.insert("requested", context::requester_value(run));
    told.insert("done", context::calls_value(run, entries));
    told.into()
}
