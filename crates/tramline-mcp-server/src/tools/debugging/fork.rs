//! Forks, replays and comparison of runs.

use super::{position, run_id, stepping};
use crate::reply;
use crate::tool::CallContext;
use rmcp::model::CallToolResult;
use tramline_engine::{EffectPolicy, Fault, ForkRequest, JournalPoint};
use tramline_expr::{Map, Value};
use tramline_views::compare::compare;
use tramline_views::trace::Trace;
use tramline_workflow::ids::RunId;

pub(super) async fn run_fork(means: CallContext, arguments: Value) -> CallToolResult {
    let id = match run_id(&arguments, "run_id") {
        Ok(id) => id,
        Err(fault) => return reply::fault_reply(&fault, None),
    };
    reply::reply_or_fault(start_fork(&means, &id, &arguments).await, Some(&id))
}

async fn start_fork(means: &CallContext, id: &RunId, arguments: &Value) -> Result<Value, Fault> {
    let repeat = arguments.get("repeat_effects").and_then(Value::as_bool);
    let effects = match repeat {
        Some(true) => {
            means.engine.may_repeat_effects(&means.respondent())?;
            EffectPolicy::Repeat
        }
        Some(false) | None => EffectPolicy::Ask,
    };
    let branch = ForkRequest {
        output: arguments.get("output").cloned(),
        effects,
        watch: Some(stepping::read_breakpoints(arguments)),
        by: Some(means.respondent().name),
        ..ForkRequest::at(position(arguments).unwrap_or(JournalPoint::Event(1)))
    };
    let made = means.engine.fork(id, branch).await?;
    let fork = made.handle.run.clone();
    let mut told = Map::new();
    told.insert("forked_from", id.as_str().into());
    let calls = made.effects.iter().map(|(node, tool)| {
        Value::object([
            ("node", node.clone().into()),
            ("tool", tool.to_string().into()),
        ])
    });
    told.insert("effects", Value::array(calls));
    let how = match effects {
        EffectPolicy::Ask => "asked about before each",
        EffectPolicy::Repeat => "made again",
    };
    told.insert("effects_are", how.into());
    let stands = stepping::state_when_settled(means, &fork).await?;
    for (key, value) in stands.as_object().into_iter().flat_map(Map::iter) {
        told.insert(key.clone(), value.clone());
    }
    Ok(told.into())
}

pub(super) async fn run_replay(means: CallContext, arguments: Value) -> CallToolResult {
    let id = match run_id(&arguments, "run_id") {
        Ok(id) => id,
        Err(fault) => return reply::fault_reply(&fault, None),
    };
    let against = match arguments.get("workflow").and_then(Value::as_str) {
        None => None,
        Some(name) => match means.engine.workflows().find(name) {
            Some(found) => Some(found.graph),
            None => {
                let fault = Fault::Rejected(format!("unknown workflow `{name}`"));
                return reply::fault_reply(&fault, Some(&id));
            }
        },
    };
    let done = means.engine.replay(&id, against).await.map(|again| {
        let mut told = comparison_fields(&again.comparison);
        told.insert(
            "unanswered",
            Value::array(again.unanswered.into_iter().map(Value::from)),
        );
        let unused = again.unused.into_iter().map(|(tool, times)| {
            let times = times as u64;
            Value::object([("tool", tool.to_string().into()), ("times", times.into())])
        });
        told.insert("recorded_calls_not_made", Value::array(unused));
        told.into()
    });
    reply::reply_or_fault(done, Some(&id))
}

pub(super) async fn runs_compare(means: CallContext, arguments: Value) -> CallToolResult {
    reply::reply_or_fault(compare_runs(&means, &arguments).await, None)
}

async fn compare_runs(means: &CallContext, arguments: &Value) -> Result<Value, Fault> {
    let (first, second) = (run_id(arguments, "first")?, run_id(arguments, "second")?);
    let (a, b) = (
        means.engine.load(&first).await?,
        means.engine.load(&second).await?,
    );
    let (a, b) = (
        Trace::of(&first, &a.run.graph, &a.entries),
        Trace::of(&second, &b.run.graph, &b.entries),
    );
    Ok(comparison_fields(&compare(&a, &b)).into())
}

fn comparison_fields(comparison: &tramline_views::compare::Comparison) -> Map {
    let value = Value::from(serde_json::to_value(comparison).unwrap_or_default());
    value.as_object().cloned().unwrap_or_default()
}
