//! How a run stands at one moment: its scope, what is under way, what it waits for, what is next.

use super::output::brief;
use tramline_core::ids::{Checkpoint, NodeIx};
use tramline_core::run::{Open, Run, Stage};
use tramline_core::{Map, Value, question};
use tramline_engine::status;

/// What every node gave last, a line each.
pub(super) fn outputs(run: &Run, most: usize) -> Vec<String> {
    let outputs = run.outputs().as_object().into_iter().flat_map(Map::iter);
    outputs
        .map(|(node, output)| format!("{node}  {}", brief(output, most)))
        .collect()
}

/// What is under way, a line each.
pub(super) fn open(run: &Run, most: usize) -> Vec<String> {
    let line = |(step, open): (&u32, &Open)| {
        let node = id(run, open.node);
        let item = open.of.map_or_else(String::new, |item| {
            format!(" item {} of step {}", item.index, item.step)
        });
        let arguments = brief(&open.arguments, most);
        format!("{step}  {node}{item}  {}  {arguments}", stage(open.stage))
    };
    run.open.iter().map(line).collect()
}

/// What it waits for, a line each, with the checkpoints to answer at.
pub(super) fn waiting(run: &Run) -> Vec<String> {
    let lines = run.pauses.iter().map(|(seq, pause)| {
        let point = Checkpoint {
            run: run.id.clone(),
            seq: *seq,
        };
        format!("{}  {point}", question::says(&run.graph, pause))
    });
    lines.collect()
}

/// What it waits for, with the calls that wait for an answer.
pub(super) fn asked(run: &Run) -> Vec<String> {
    let mut lines = Vec::new();
    for ((seq, pause), line) in run.pauses.iter().zip(waiting(run)) {
        lines.push(line);
        let asked = question::value(&run.graph, &run.id, *seq, pause);
        let about = question::lines(&asked).into_iter();
        lines.extend(about.map(|line| format!("  {line}")));
    }
    lines
}

/// The nodes that come next.
pub(super) fn ready(run: &Run) -> Vec<String> {
    run.ready().map(|node| id(run, node)).collect()
}

/// All of it, for scripts.
pub(super) fn value(run: &Run) -> Map {
    let open = run.open.iter().map(|(step, open)| {
        let mut told = Map::new();
        told.insert("step", (*step).into());
        told.insert("node", id(run, open.node).into());
        if let Some(item) = open.of {
            told.insert("item", item.index.into());
        }
        told.insert("attempt", open.attempt.into());
        told.insert("stage", stage(open.stage).into());
        told.insert("arguments", open.arguments.clone());
        Value::from(told)
    });
    let pauses = run.pauses.iter();
    let waiting = pauses.map(|(seq, pause)| question::value(&run.graph, &run.id, *seq, pause));
    let mut told = Map::new();
    told.insert("run_id", run.id.as_str().into());
    told.insert("workflow", run.graph.workflow.name.clone().into());
    told.insert("status", status(run).as_str().into());
    told.insert("event", run.seq.into());
    told.insert("scope", run.outputs().clone());
    told.insert("open", Value::array(open));
    told.insert("waiting", Value::array(waiting));
    told.insert("next", Value::array(ready(run).into_iter().map(Into::into)));
    told
}

fn id(run: &Run, node: NodeIx) -> String {
    run.graph.node(node).id.to_string()
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Calling => "is being called",
        Stage::Resting => "waits before another attempt",
        Stage::Adrift => "was cut off",
        Stage::Doubted => "waits for an answer",
        Stage::Again => "is to be called again",
        Stage::Sleeping(_) => "lets time pass",
    }
}
