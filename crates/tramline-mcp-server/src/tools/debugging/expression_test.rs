//! Tests expressions over a value, or over a run after a step.

use super::{position, run_id};
use crate::reply;
use crate::tool::CallContext;
use rmcp::model::CallToolResult;
use std::time::Instant;
use tramline_engine::{Fault, clock, try_blocking};
use tramline_expr::{Map, Value};
use tramline_workflow::explanation::{
    TrialResult, TrialSource, TrialTarget, evaluate_trial, trial_limits,
};
use tramline_workflow::inspect::RunInspector;
use tramline_workflow::scope::EvalMoment;

pub(super) async fn call(means: CallContext, arguments: Value) -> CallToolResult {
    reply::reply_or_fault(evaluate(&means, &arguments).await, None)
}

async fn evaluate(means: &CallContext, arguments: &Value) -> Result<Value, Fault> {
    if trial(arguments).is_none() {
        return Err(Fault::Rejected(
            "pass either `expression` (JSONata) or `rule` (JSON Logic)".into(),
        ));
    }
    let moment = EvalMoment {
        now_ms: clock::now_ms(),
        seed: clock::random(),
    };
    let look = if arguments.get("run_id").is_some() {
        let id = run_id(arguments, "run_id")?;
        let loaded = match position(arguments) {
            Some(at) => means.engine.load_at(&id, at).await?,
            None => means.engine.load(&id).await?,
        };
        let look = RunInspector::at(id, &loaded.entries)
            .map_err(|illegal| Fault::Rejected(illegal.to_string()))?;
        Some(look)
    } else {
        None
    };
    let given = arguments.clone();
    let tried = try_blocking(move || {
        let empty = Value::Null;
        let context = given.get("context").unwrap_or(&empty);
        let on = look
            .as_ref()
            .map_or(TrialTarget::Value(context), TrialTarget::Run);
        let limits = trial_limits(Instant::now());
        trial(&given).map(|trial| evaluate_trial(trial, on, moment, &limits))
    });
    let died = || Fault::Rejected("the evaluation panicked; please report the expression".into());
    let tried = tried.await.flatten().ok_or_else(died)?;
    let explain = arguments.get("explain").and_then(Value::as_bool);
    Ok(trial_value(tried, explain.unwrap_or(false)))
}

fn trial(arguments: &Value) -> Option<TrialSource<'_>> {
    match (arguments.get("expression"), arguments.get("rule")) {
        (Some(Value::String(source)), None) => Some(TrialSource::Expression(source)),
        (None, Some(rule)) => Some(TrialSource::Rule(rule)),
        _ => None,
    }
}

fn trial_value(tried: TrialResult, explain: bool) -> Value {
    let mut told = Map::new();
    match tried.result {
        Ok(value) => {
            told.insert("valid", true.into());
            told.insert("defined", value.is_some().into());
            told.insert("value", value.unwrap_or_default());
        }
        Err(error) => {
            told.insert("valid", false.into());
            let mut wrong = Map::new();
            wrong.insert("code", error.code.as_str().into());
            wrong.insert("message", error.message.as_str().into());
            if let Some(position) = error.position {
                wrong.insert("position", position.into());
            }
            told.insert("error", wrong.into());
        }
    }
    if let (Some(tree), true) = (tried.explanation, explain) {
        told.insert("explanation", tree.to_value());
    }
    told.into()
}
