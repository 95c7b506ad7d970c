//! What might have been: forks, replays, two runs side by side.

use super::super::reply;
use super::super::toolset::Means;
use super::{at, run_id, steer};
use rmcp::model::CallToolResult;
use tramline_core::compare::compare;
use tramline_core::ids::RunId;
use tramline_core::trace::Trace;
use tramline_core::{Map, Value};
use tramline_engine::{At, Branch, Effects, Fault};

pub(super) async fn fork(means: Means, arguments: Value) -> CallToolResult {
    let id = match run_id(&arguments, "run_id") {
        Ok(id) => id,
        Err(fault) => return reply::fault(&fault, None),
    };
    reply::made(branch_off(&means, &id, &arguments).await, Some(&id))
}

async fn branch_off(means: &Means, id: &RunId, arguments: &Value) -> Result<Value, Fault> {
    let repeat = arguments.get("repeat_effects").and_then(Value::as_bool);
    let effects = match repeat {
        Some(true) => {
            means.engine.may_repeat_effects(&means.respondent())?;
            Effects::Repeat
        }
        Some(false) | None => Effects::Ask,
    };
    let branch = Branch {
        output: arguments.get("output").cloned(),
        effects,
        watch: Some(steer::watch(arguments)),
        ..Branch::at(at(arguments).unwrap_or(At::Event(1)))
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
        Effects::Ask => "asked about before each",
        Effects::Repeat => "made again",
    };
    told.insert("effects_are", how.into());
    let stands = steer::settled(means, &fork).await?;
    for (key, value) in stands.as_object().into_iter().flat_map(Map::iter) {
        told.insert(key.clone(), value.clone());
    }
    Ok(told.into())
}

pub(super) async fn replay(means: Means, arguments: Value) -> CallToolResult {
    let id = match run_id(&arguments, "run_id") {
        Ok(id) => id,
        Err(fault) => return reply::fault(&fault, None),
    };
    let against = match arguments.get("workflow").and_then(Value::as_str) {
        None => None,
        Some(name) => match means.engine.workflows().find(name) {
            Some(found) => Some(found.graph),
            None => {
                let fault = Fault::Refused(format!("there is no workflow `{name}`"));
                return reply::fault(&fault, Some(&id));
            }
        },
    };
    let done = means.engine.replay(&id, against).await.map(|again| {
        let mut told = told(&again.comparison);
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
    reply::made(done, Some(&id))
}

pub(super) async fn side_by_side(means: Means, arguments: Value) -> CallToolResult {
    reply::made(compared(&means, &arguments).await, None)
}

async fn compared(means: &Means, arguments: &Value) -> Result<Value, Fault> {
    let (first, second) = (run_id(arguments, "first")?, run_id(arguments, "second")?);
    let (a, b) = (
        means.engine.load(&first).await?,
        means.engine.load(&second).await?,
    );
    let (a, b) = (
        Trace::of(&first, &a.run.graph, &a.entries),
        Trace::of(&second, &b.run.graph, &b.entries),
    );
    Ok(told(&compare(&a, &b)).into())
}

fn told(comparison: &tramline_core::compare::Comparison) -> Map {
    let value = Value::from(serde_json::to_value(comparison).unwrap_or_default());
    value.as_object().cloned().unwrap_or_default()
}
