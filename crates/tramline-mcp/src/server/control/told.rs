//! How a workflow stands, in the words of this toolset.

use super::super::reply;
use super::super::toolset::Means;
use super::layers::{End, Layers, Task};
use super::wrong::{Code, Wrong};
use tramline_core::graph::Graph;
use tramline_core::ids::{Checkpoint, NodeIx, Seq};
use tramline_core::journal::{Answer, Event, Outcome, Pause, Policy};
use tramline_core::run::Run;
use tramline_core::workflow::{Action, Template};
use tramline_core::{Map, Value, question, trace};
use tramline_engine::seams::Status;
use tramline_engine::{Fault, Loaded};

/// What is to be told, and whether it is an error.
pub(super) type Told = Result<Map, Wrong>;

/// How a run stands: ended, or waiting.
pub(super) fn standing(loaded: &Loaded) -> Told {
    let run = &loaded.run;
    match &run.outcome {
        Some(outcome) => ended(loaded, outcome),
        None if run.pauses.is_empty() => {
            let mut told = begun(run, "running");
            told.insert("message", "the workflow goes on".into());
            Ok(told)
        }
        None => Ok(waiting(loaded)),
    }
}

fn begun(run: &Run, status: &'static str) -> Map {
    let mut told = Map::new();
    told.insert("status", status.into());
    told.insert("workflow_id", run.id.as_str().into());
    told
}

/// A run that has ended.
fn ended(loaded: &Loaded, outcome: &Outcome) -> Told {
    let run = &loaded.run;
    let layers = Layers::of(loaded);
    let results = || results(&run.graph, layers.tasks.iter());
    match outcome {
        Outcome::Completed { .. } => {
            let mut told = begun(run, "complete");
            told.insert("results", results());
            count(&mut told, &layers);
            told.insert("total_layers", layers.total.into());
            let took = run.updated_ms.saturating_sub(run.started_ms);
            told.insert("duration_ms", took.into());
            Ok(told)
        }
        Outcome::Aborted { why, .. } => {
            let mut told = begun(run, outcome.word());
            told.insert("partial_results", results());
            told.insert("completed_layers", layers.completed.into());
            told.insert("reason", why.clone().unwrap_or_default().into());
            Ok(told)
        }
        Outcome::Rejected { why, .. } => {
            let mut told = begun(run, "rejected");
            if let Some(seq) = refused_at(loaded) {
                told.insert("checkpoint_id", point(run, seq).into());
            }
            if let Some(why) = why {
                told.insert("feedback", why.as_str().into());
            }
            told.insert("partial_results", results());
            told.insert("completed_layers", layers.completed.into());
            Ok(told)
        }
        Outcome::Failed { failure, .. } => {
            let how = trace::outcome(&run.graph, outcome);
            let cause = how.get("error").cloned().unwrap_or_default();
            Err(Wrong::new(Code::Internal, failure.message.clone())
                .of(&run.id)
                .with("status", "failed")
                .with("cause", cause)
                .with("partial_results", results()))
        }
    }
}

/// The question that was answered with a no.
fn refused_at(loaded: &Loaded) -> Option<Seq> {
    loaded
        .entries
        .iter()
        .rev()
        .find_map(|entry| match &entry.event {
            Event::Answered {
                pause,
                answer: Answer::Reject,
                ..
            } => Some(*pause),
            _ => None,
        })
}

/// A run that waits: for a decision if there is one to make, else after its layer.
fn waiting(loaded: &Loaded) -> Map {
    let run = &loaded.run;
    let decision = run.pauses.iter().find(|(_, pause)| is_decision(pause));
    let Some((seq, pause)) = decision.or_else(|| run.pauses.iter().next()) else {
        return begun(run, "running");
    };
    let mut told = begun(run, status(run, pause));
    told.insert("checkpoint_id", point(run, *seq).into());
    told.insert("checkpoint_type", checkpoint_type(pause).into());
    if let Some(at_ms) = run.expires_ms() {
        told.insert("expires_at", reply::moment(at_ms).into());
    }
    let layers = Layers::of(loaded);
    let layer = match pause {
        Pause::Layer { index } => *index,
        Pause::Approval { .. }
        | Pause::InDoubt { .. }
        | Pause::Break { .. }
        | Pause::Effect { .. }
        | Pause::Budget { .. }
        | Pause::Child { .. } => layers.completed.min(layers.total.saturating_sub(1)),
    };
    told.insert("layer_index", layer.into());
    told.insert("total_layers", layers.total.into());
    let of_layer = || layers.tasks.iter().filter(|task| task.layer == layer);
    told.insert("layer_results", results(&run.graph, of_layer()));
    let failed = of_layer().filter(|task| task.is_failed()).count();
    told.insert("failed", failed.into());
    match pause {
        Pause::Layer { .. } => {
            if failed > 0 {
                let says = format!(
                    "{} failed in this layer; replan, continue or abort",
                    tasks(failed)
                );
                told.insert("message", says.into());
            }
            told.insert("next_layer", next_layer(run));
            told.insert("options", options(run, pause));
        }
        Pause::Break { .. } => {
            told.insert("message", question::says(&run.graph, pause).into());
            told.insert("options", options(run, pause));
        }
        Pause::Approval { .. }
        | Pause::InDoubt { .. }
        | Pause::Effect { .. }
        | Pause::Budget { .. }
        | Pause::Child { .. } => decide(&mut told, run, pause),
    }
    if run.pauses.len() > 1 {
        let all = run.pauses.iter();
        let all = all.map(|(seq, pause)| question::value(&run.graph, &run.id, *seq, pause));
        told.insert("waiting", Value::array(all));
    }
    told
}

/// Whether somebody has to decide something, and not only to let it go on.
pub(super) fn is_decision(pause: &Pause) -> bool {
    match pause {
        Pause::Layer { .. } | Pause::Break { .. } => false,
        Pause::Approval { .. }
        | Pause::InDoubt { .. }
        | Pause::Effect { .. }
        | Pause::Budget { .. }
        | Pause::Child { .. } => true,
    }
}

/// What a run waits for, in the words of every toolset that tells of runs.
pub(in super::super) fn checkpoint_type(pause: &Pause) -> &'static str {
    match pause {
        Pause::Layer { .. } => "layer_complete",
        Pause::Break { .. } => "halted",
        Pause::Approval { .. } | Pause::Effect { .. } => "approval_required",
        Pause::InDoubt { .. } | Pause::Child { .. } => "in_doubt",
        Pause::Budget { .. } => "budget_exceeded",
    }
}

/// The status of a run that waits. With per-layer validation an approval is one of the stops
/// between layers, and its type tells it apart.
fn status(run: &Run, pause: &Pause) -> &'static str {
    match (run.started.policy, pause) {
        (Policy::Layered, Pause::Approval { .. } | Pause::Effect { .. }) => "layer_complete",
        (Policy::Layered | Policy::Eager, pause) => checkpoint_type(pause),
    }
}

/// The answers that a question takes, as `approval_response` and `run_answer` do.
pub(in super::super) fn answers(pause: &Pause) -> Value {
    let answers = question::options(pause).iter().map(|option| match *option {
        "proceed" => "approve",
        other => other,
    });
    Value::array(answers.map(Value::from))
}

/// When a run that waits is over unless it is used, as it stands in the store.
pub(super) async fn expires_at(means: &Means, run: &Run) -> Result<Option<String>, Wrong> {
    let Some(ttl_ms) = run.started.ttl_ms else {
        return Ok(None);
    };
    let row = means.engine.store().row(&run.id).await;
    let row = row.map_err(Fault::from)?;
    let row = row.filter(|row| row.head.status == Status::Paused);
    let due_ms = row.map(|row| row.head.updated_ms.saturating_add_unsigned(ttl_ms));
    Ok(due_ms.map(reply::moment))
}

/// So many tasks, in words.
fn tasks(count: usize) -> String {
    match count {
        1 => "1 task".to_owned(),
        many => format!("{many} tasks"),
    }
}

/// How many tasks came to nothing.
fn count(told: &mut Map, layers: &Layers) {
    let failed = layers.tasks.iter().filter(|task| task.is_failed()).count();
    let skipped = layers.tasks.iter().filter(|task| task.is_skipped()).count();
    told.insert("failed", failed.into());
    told.insert("skipped", skipped.into());
    if failed + skipped > 0 {
        let says = format!("{} failed and {} skipped", tasks(failed), tasks(skipped));
        told.insert("message", says.into());
    }
}

/// What there is to decide, and how.
fn decide(told: &mut Map, run: &Run, pause: &Pause) {
    let graph = &run.graph;
    told.insert("decision_context", question::says(graph, pause).into());
    if let Some(node) = pause.node() {
        for (key, value) in about(graph, node) {
            told.insert(key, value);
        }
        if let Some(arguments) = arguments(run, pause, node) {
            told.insert("arguments", arguments);
        }
    }
    if let Pause::Budget {
        what, used, limit, ..
    } = pause
    {
        told.insert("spent", what.field().into());
        told.insert("used", (*used).into());
        told.insert("limit", (*limit).into());
    }
    told.insert("answers", answers(pause));
    told.insert("options", options(run, pause));
}

/// The tools that can be used on a run that waits so. In a layer nothing can be added.
fn options(run: &Run, pause: &Pause) -> Value {
    let on = match is_decision(pause) {
        true => "approval_response",
        false => "continue",
    };
    let between = matches!(pause, Pause::Layer { .. });
    let grows = between || run.started.policy == Policy::Eager;
    let all = [Some(on), grows.then_some("replan"), Some("abort")];
    Value::array(all.into_iter().flatten().map(Value::from))
}

/// What a call would be made with, or was, as far as that is known.
fn arguments(run: &Run, pause: &Pause, node: NodeIx) -> Option<Value> {
    if let Pause::InDoubt { step, .. } = pause {
        return run.open.get(step).map(|open| open.arguments.clone());
    }
    match &run.graph.node(node).action {
        Action::Call {
            arguments: Template::Literal(value),
            ..
        } => Some(value.clone()),
        _ => None,
    }
}

fn about(graph: &Graph, node: NodeIx) -> Map {
    let node = graph.node(node);
    let mut told = Map::new();
    told.insert("task_id", node.id.clone().into());
    if let Action::Call { tool, .. } = &node.action {
        told.insert("tool", tool.to_string().into());
    }
    told
}

fn next_layer(run: &Run) -> Value {
    Value::array(run.ready().map(|node| about(&run.graph, node).into()))
}

/// What became of tasks; those that may still run are left out.
fn results<'t>(graph: &Graph, tasks: impl Iterator<Item = &'t Task>) -> Value {
    let told = tasks.filter_map(|task| Some(result(graph, task, task.end.as_ref()?)));
    Value::array(told)
}

fn result(graph: &Graph, task: &Task, end: &End) -> Value {
    let mut told = Map::new();
    told.insert("task_id", graph.node(task.node).id.clone().into());
    match end {
        End::Success(output) => {
            told.insert("status", "success".into());
            told.insert("output", output.clone());
        }
        End::Error(failure) => {
            told.insert("status", "error".into());
            told.insert("error", failure.message.as_str().into());
            told.insert("error_code", failure.kind.code().into());
        }
        End::Skipped(because) => {
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

pub(super) fn point(run: &Run, seq: Seq) -> String {
    let point = Checkpoint {
        run: run.id.clone(),
        seq,
    };
    point.to_string()
}
