//! The state of a run at one position: its outputs, open steps, questions and next nodes.

use super::output::shorten;
use tramline_engine::run_status;
use tramline_expr::{Map, Value};
use tramline_views::pause_view;
use tramline_workflow::ids::{Checkpoint, NodeIx};
use tramline_workflow::run::{OpenStep, Run, StepStage};

/// The last output of every node, one line each.
pub(super) fn outputs(run: &Run, most: usize) -> Vec<String> {
    let outputs = run.outputs().as_object().into_iter().flat_map(Map::iter);
    outputs
        .map(|(node, output)| format!("{node}  {}", shorten(output, most)))
        .collect()
}

/// The open steps, one line each.
pub(super) fn open_steps(run: &Run, most: usize) -> Vec<String> {
    let line = |(step, open): (&u32, &OpenStep)| {
        let node = id(run, open.node);
        let item = open.item.map_or_else(String::new, |item| {
            format!(" item {} of step {}", item.index, item.step)
        });
        let arguments = shorten(&open.arguments, most);
        format!("{step}  {node}{item}  {}  {arguments}", stage(open.stage))
    };
    run.open_steps.iter().map(line).collect()
}

/// The open questions, one line each, with their checkpoints.
pub(super) fn open_questions(run: &Run) -> Vec<String> {
    let lines = run.pauses.iter().map(|(seq, pause)| {
        let point = Checkpoint {
            run: run.id.clone(),
            seq: *seq,
        };
        format!("{}  {point}", pause_view::message(&run.graph, pause))
    });
    lines.collect()
}

/// The open questions, with the calls that wait for an answer.
pub(super) fn question_details(run: &Run) -> Vec<String> {
    let mut lines = Vec::new();
    for ((seq, pause), line) in run.pauses.iter().zip(open_questions(run)) {
        lines.push(line);
        let asked = pause_view::pause_value(&run.graph, &run.id, *seq, pause);
        let about = pause_view::detail_lines(&asked).into_iter();
        lines.extend(about.map(|line| format!("  {line}")));
    }
    lines
}

/// The nodes that come next.
pub(super) fn next_nodes(run: &Run) -> Vec<String> {
    run.ready().map(|node| id(run, node)).collect()
}

/// All of it as JSON.
pub(super) fn to_json(run: &Run) -> Map {
    let open = run.open_steps.iter().map(|(step, open)| {
        let mut told = Map::new();
        told.insert("step", (*step).into());
        told.insert("node", id(run, open.node).into());
        if let Some(item) = open.item {
            told.insert("item", item.index.into());
        }
        told.insert("attempt", open.attempt.into());
        told.insert("stage", stage(open.stage).into());
        told.insert("arguments", open.arguments.clone());
        Value::from(told)
    });
    let pauses = run.pauses.iter();
    let waiting =
        pauses.map(|(seq, pause)| pause_view::pause_value(&run.graph, &run.id, *seq, pause));
    let mut told = Map::new();
    told.insert("run_id", run.id.as_str().into());
    told.insert("workflow", run.graph.workflow.name.clone().into());
    told.insert("status", run_status(run).as_str().into());
    told.insert("event", run.seq.into());
    told.insert("scope", run.outputs().clone());
    told.insert("open", Value::array(open));
    told.insert("waiting", Value::array(waiting));
    told.insert(
        "next",
        Value::array(next_nodes(run).into_iter().map(Into::into)),
    );
    told
}

fn id(run: &Run, node: NodeIx) -> String {
    run.graph.node(node).id.to_string()
}

fn stage(stage: StepStage) -> &'static str {
    match stage {
        StepStage::Calling => "is being called",
        StepStage::Backoff => "waits before the next attempt",
        StepStage::Orphaned => "was interrupted",
        StepStage::AwaitingDecision => "waits for an answer",
        StepStage::RetryDue => "will be called again",
        StepStage::Sleeping(_) => "is sleeping",
    }
}
