//! Status replies of the control toolset.

use super::error::{ControlError, ReplyCode};
use crate::pause_reply::{answer_options, checkpoint_type};
use crate::reply;
use crate::tool::CallContext;
use tramline_engine::ports::RunStatus;
use tramline_engine::{Engine, Fault, QuestionReader};
use tramline_expr::{Map, Value};
use tramline_views::pause_view::Extent;
use tramline_views::{pause_view, trace};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, NodeIx, Seq};
use tramline_workflow::journal::{Outcome, Pause, SchedulePolicy};
use tramline_workflow::run::Run;
use tramline_workflow::task_layers::{DagTask, TaskLayers, TaskResult};
use tramline_workflow::workflow::{Action, Template};

/// A status reply, or an error.
pub(super) type StatusReply = Result<Map, ControlError>;

/// The status of a run: ended, running or waiting.
pub(super) async fn run_status(engine: &Engine, run: &Run) -> StatusReply {
    match &run.outcome {
        Some(outcome) => outcome_status(run, outcome),
        None if run.pauses.is_empty() => {
            let mut told = status_fields(run, "running");
            told.insert("message", "the workflow is running".into());
            Ok(told)
        }
        None => Ok(paused_status(engine, run).await),
    }
}

fn status_fields(run: &Run, status: &'static str) -> Map {
    let mut told = Map::new();
    told.insert("status", status.into());
    told.insert("workflow_id", run.id.as_str().into());
    told
}

/// Status of a run that has ended.
fn outcome_status(run: &Run, outcome: &Outcome) -> StatusReply {
    let layers = TaskLayers::of(run);
    let results = || task_results(&run.graph, layers.tasks.iter());
    match outcome {
        Outcome::Completed { .. } => {
            let mut told = status_fields(run, "complete");
            told.insert("results", results());
            add_counts(&mut told, &layers);
            told.insert("total_layers", layers.total.into());
            let took = run.updated_ms.saturating_sub(run.started_ms);
            told.insert("duration_ms", took.into());
            Ok(told)
        }
        Outcome::Aborted { why, .. } => {
            let mut told = status_fields(run, outcome.status());
            told.insert("partial_results", results());
            told.insert("completed_layers", layers.completed.into());
            told.insert("reason", why.clone().unwrap_or_default().into());
            add_unconfirmed_calls(&mut told, run);
            Ok(told)
        }
        Outcome::Rejected { why, .. } => {
            let mut told = status_fields(run, "rejected");
            if let Some(seq) = run.rejected_at() {
                told.insert("checkpoint_id", checkpoint_id(run, seq).into());
            }
            if let Some(why) = why {
                told.insert("feedback", why.as_str().into());
            }
            told.insert("partial_results", results());
            told.insert("completed_layers", layers.completed.into());
            add_unconfirmed_calls(&mut told, run);
            Ok(told)
        }
        Outcome::Failed { failure, .. } => {
            let how = trace::outcome_value(&run.graph, outcome);
            let cause = how.get("error").cloned().unwrap_or_default();
            let error = ControlError::new(ReplyCode::Internal, failure.message.clone())
                .with_workflow(&run.id)
                .with("status", "failed")
                .with("cause", cause)
                .with("partial_results", results());
            Err(match run.unconfirmed_calls.is_empty() {
                true => error,
                false => error.with("may_have_happened", unconfirmed_calls(run)),
            })
        }
    }
}

/// Adds the calls that were sent and whose results are unknown because the run ended.
fn add_unconfirmed_calls(told: &mut Map, run: &Run) {
    if run.unconfirmed_calls.is_empty() {
        return;
    }
    let nodes = run.unconfirmed_calls.iter();
    let names: Vec<_> = nodes
        .map(|node| format!("`{}`", run.graph.node(*node).id))
        .collect();
    told.insert("may_have_happened", unconfirmed_calls(run));
    let says = format!(
        "the run ended before the result of {} was known: the call may have happened; check before you repeat it",
        names.join(", ")
    );
    told.insert("message", says.into());
}

fn unconfirmed_calls(run: &Run) -> Value {
    Value::array(run.unconfirmed_calls.iter().map(|node| {
        let node = run.graph.node(*node);
        let mut told = Map::new();
        told.insert("node", node.id.clone().into());
        if let Action::Call { tool, .. } = &node.action {
            told.insert("tool", tool.to_string().into());
        }
        told.into()
    }))
}

/// Status of a run that waits: for a decision if there is one, otherwise after its layer.
async fn paused_status(engine: &Engine, run: &Run) -> Map {
    let decision = run.pauses.iter().find(|(_, pause)| needs_decision(pause));
    let Some((seq, pause)) = decision.or_else(|| run.pauses.iter().next()) else {
        return status_fields(run, "running");
    };
    let mut told = status_fields(run, paused_status_word(run, pause));
    told.insert("checkpoint_id", checkpoint_id(run, *seq).into());
    told.insert("checkpoint_type", checkpoint_type(pause).into());
    if let Some(at_ms) = run.expires_ms() {
        told.insert("expires_at", reply::timestamp(at_ms).into());
    }
    let layers = TaskLayers::of(run);
    let layer = match pause {
        Pause::Layer { index } => *index,
        Pause::Approval { .. }
        | Pause::InDoubt { .. }
        | Pause::Break { .. }
        | Pause::Effect { .. }
        | Pause::Form { .. }
        | Pause::Budget { .. }
        | Pause::Child { .. } => layers.completed.min(layers.total.saturating_sub(1)),
    };
    told.insert("layer_index", layer.into());
    told.insert("total_layers", layers.total.into());
    let of_layer = || layers.tasks.iter().filter(|task| task.layer == layer);
    told.insert("layer_results", task_results(&run.graph, of_layer()));
    let failed = of_layer().filter(|task| task.is_failed()).count();
    told.insert("failed", failed.into());
    match pause {
        Pause::Layer { .. } => {
            if failed > 0 {
                let says = format!(
                    "{} failed in this layer; replan, continue or abort",
                    task_count_text(failed)
                );
                told.insert("message", says.into());
            }
            told.insert("next_layer", next_layer(run));
            told.insert("options", available_tools(run, pause));
        }
        Pause::Break { .. } => {
            told.insert("message", pause_view::message(&run.graph, pause).into());
            told.insert("options", available_tools(run, pause));
        }
        Pause::Approval { .. }
        | Pause::InDoubt { .. }
        | Pause::Effect { .. }
        | Pause::Form { .. }
        | Pause::Budget { .. }
        | Pause::Child { .. } => add_decision(&mut told, run, pause),
    }
    if let Pause::Child { run: child, .. } = pause
        && let Some(questions) = engine.child_questions(child, QuestionReader::Agent).await
    {
        told.insert("child", questions);
    }
    if run.pauses.len() > 1 {
        let mut all = Vec::new();
        for (seq, pause) in &run.pauses {
            all.push(engine.pause_summary(run, *seq, pause).await);
        }
        told.insert("waiting", Value::array(all));
    }
    told
}

/// Whether a pause needs a decision, and not only `continue`.
pub(super) fn needs_decision(pause: &Pause) -> bool {
    match pause {
        Pause::Layer { .. } | Pause::Break { .. } => false,
        Pause::Approval { .. }
        | Pause::InDoubt { .. }
        | Pause::Effect { .. }
        | Pause::Form { .. }
        | Pause::Budget { .. }
        | Pause::Child { .. } => true,
    }
}

/// The status of a run that waits. With per-layer validation an approval counts as a pause between layers;
/// `checkpoint_type` distinguishes it.
fn paused_status_word(run: &Run, pause: &Pause) -> &'static str {
    match (run.started.policy, pause) {
        (SchedulePolicy::Layered, Pause::Approval { .. } | Pause::Effect { .. }) => {
            "layer_complete"
        }
        (SchedulePolicy::Layered | SchedulePolicy::Eager, pause) => checkpoint_type(pause),
    }
}

/// When a waiting run expires unless it is used, according to the store.
pub(super) async fn expires_at(
    means: &CallContext,
    run: &Run,
) -> Result<Option<String>, ControlError> {
    let Some(ttl_ms) = run.started.ttl_ms else {
        return Ok(None);
    };
    let row = means.engine.store().row(&run.id).await;
    let row = row.map_err(Fault::from)?;
    let row = row.filter(|row| row.index_row.status == RunStatus::Paused);
    let due_ms = row.map(|row| row.index_row.updated_ms.saturating_add_unsigned(ttl_ms));
    Ok(due_ms.map(reply::timestamp))
}

/// A number of tasks as text.
fn task_count_text(count: usize) -> String {
    match count {
        1 => "1 task".to_owned(),
        many => format!("{many} tasks"),
    }
}

/// Adds the number of failed and skipped tasks.
fn add_counts(told: &mut Map, layers: &TaskLayers) {
    let failed = layers.tasks.iter().filter(|task| task.is_failed()).count();
    let skipped = layers.tasks.iter().filter(|task| task.is_skipped()).count();
    told.insert("failed", failed.into());
    told.insert("skipped", skipped.into());
    if failed + skipped > 0 {
        let says = format!(
            "{} failed and {} skipped",
            task_count_text(failed),
            task_count_text(skipped)
        );
        told.insert("message", says.into());
    }
}

/// Adds the decision to make, and how to answer it.
fn add_decision(told: &mut Map, run: &Run, pause: &Pause) {
    let graph = &run.graph;
    told.insert("decision_context", pause_view::message(graph, pause).into());
    if let Some(node) = pause.node() {
        for (key, value) in task_fields(graph, node) {
            told.insert(key, value);
        }
        if let Some(arguments) = call_arguments(run, pause, node) {
            told.insert("arguments", arguments);
        }
    }
    if let Some(call) = pause_view::call_value(pause, Extent::Bounded) {
        told.insert("call", call);
    }
    if let Pause::Budget {
        what, used, limit, ..
    } = pause
    {
        told.insert("spent", what.field().into());
        told.insert("used", (*used).into());
        told.insert("limit", (*limit).into());
    }
    told.insert("answers", answer_options(pause));
    told.insert("options", available_tools(run, pause));
}

/// The tools that can be used on a waiting run. Within a layer, no tasks can be added.
fn available_tools(run: &Run, pause: &Pause) -> Value {
    let on = match needs_decision(pause) {
        true => "approval_response",
        false => "continue",
    };
    let between = matches!(pause, Pause::Layer { .. });
    let grows = between || run.started.policy == SchedulePolicy::Eager;
    let all = [Some(on), grows.then_some("replan"), Some("abort")];
    Value::array(all.into_iter().flatten().map(Value::from))
}

/// The arguments of a pending or uncertain call, if known.
fn call_arguments(run: &Run, pause: &Pause, node: NodeIx) -> Option<Value> {
    if let Pause::InDoubt { step, .. } = pause {
        return run.open_steps.get(step).map(|open| open.arguments.clone());
    }
    match &run.graph.node(node).action {
        Action::Call {
            arguments: Template::Literal(value),
            ..
        } => Some(value.clone()),
        _ => None,
    }
}

fn task_fields(graph: &Graph, node: NodeIx) -> Map {
    let node = graph.node(node);
    let mut told = Map::new();
    told.insert("task_id", node.id.clone().into());
    if let Action::Call { tool, .. } = &node.action {
        told.insert("tool", tool.to_string().into());
    }
    told
}

fn next_layer(run: &Run) -> Value {
    Value::array(run.ready().map(|node| task_fields(&run.graph, node).into()))
}

/// The results of tasks; those that may still run are omitted.
fn task_results<'t>(graph: &Graph, tasks: impl Iterator<Item = &'t DagTask>) -> Value {
    let told = tasks.filter_map(|task| Some(task_result(graph, task, task.result.as_ref()?)));
    Value::array(told)
}

fn task_result(graph: &Graph, task: &DagTask, end: &TaskResult) -> Value {
    let mut told = Map::new();
    told.insert("task_id", graph.node(task.node).id.clone().into());
    match end {
        TaskResult::Success(output) => {
            told.insert("status", "success".into());
            told.insert("output", output.clone());
        }
        TaskResult::Error(failure) => {
            told.insert("status", "error".into());
            told.insert("error", failure.message.as_str().into());
            told.insert("error_code", failure.kind.code().into());
        }
        TaskResult::Skipped(because) => {
            let id = &graph.node(*because).id;
            told.insert("status", "skipped".into());
            told.insert("error", format!("`{id}` did not succeed").into());
        }
    }
    if let Some((arguments, by)) = &task.edit {
        told.insert("edited_arguments", arguments.clone());
        told.insert("edited_by", by.clone().into());
    }
    told.insert("layer_index", task.layer.into());
    told.insert("duration_ms", task.duration_ms.into());
    told.into()
}

pub(super) fn checkpoint_id(run: &Run, seq: Seq) -> String {
    let point = Checkpoint {
        run: run.id.clone(),
        seq,
    };
    point.to_string()
}
